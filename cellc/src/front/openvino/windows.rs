//! Convolutions and pools.

use super::attributes::Data;
use super::layers::GraphReader;
use super::operations::{Ports, ReadOperation, Then};
use crate::model::{Convolution, ElementType, Groups, Op, OutputSizes, Padding, Pool, PoolKind, Rounding, Window};

impl GraphReader<'_, '_> {
    /// How windows move; `dilated`: whether dilations are an attribute, and a required one.
    fn window(&mut self, index: usize, data: &mut Data, dilated: Option<bool>) -> Option<Window> {
        #[derive(Clone, Copy)]
        enum Auto {
            Explicit,
            SameUpper,
            SameLower,
            Valid,
        }
        let words = [
            ("explicit", Auto::Explicit),
            ("notset", Auto::Explicit),
            ("same_upper", Auto::SameUpper),
            ("same_lower", Auto::SameLower),
            ("valid", Auto::Valid),
        ];
        let auto = self.word(index, data, "auto_pad", "explicit", &words);
        let strides = self.sizes(index, data, "strides", true);
        let dilations = match dilated {
            Some(required) => self.sizes(index, data, "dilations", required),
            None => Some(Vec::new()),
        };
        let [begin, end] = ["pads_begin", "pads_end"].map(|name| self.integers(index, data, name, false));
        let (auto, strides, dilations, begin, end) = (auto?, strides?, dilations?, begin?, end?);
        let padding = match auto {
            Auto::Explicit => Padding::Explicit { begin, end },
            Auto::SameUpper => Padding::SameUpper,
            Auto::SameLower => Padding::SameLower,
            Auto::Valid => Padding::Valid,
        };
        Some(Window { strides, dilations, padding })
    }

    pub(super) fn convolution(
        &mut self,
        index: usize,
        data: &mut Data,
        grouped: bool,
        transposed: bool,
    ) -> Option<ReadOperation> {
        let window = self.window(index, data, Some(true));
        let groups = if grouped { Groups::InWeights } else { Groups::Count(1) };
        let output_padding =
            if transposed { self.sizes(index, data, "output_padding", false) } else { Some(Vec::new()) };
        let (mut window, output_padding) = (window?, output_padding?);
        let shaped = transposed && self.port_ids(index, "input").len() > 2;
        // the pads follow from the shape of the output; without it there are none
        if transposed && !shaped && !matches!(window.padding, Padding::Explicit { .. }) {
            window.padding = Padding::Valid;
        }
        let output_sizes = if shaped { OutputSizes::Input } else { OutputSizes::Follow };
        let op = Op::Convolution(Box::new(Convolution { window, groups, transposed, output_padding, output_sizes }));
        Some(ReadOperation::new(op))
    }

    /// How the number of windows is rounded, by the definition of the operation set `set`.
    fn rounding(&mut self, index: usize, set: u64, data: &mut Data) -> Option<Rounding> {
        let words = [("floor", Rounding::Floor), ("ceil", Rounding::Ceil), ("ceil_torch", Rounding::CeilInside)];
        let known = if set >= 14 { 3 } else { 2 };
        self.word(index, data, "rounding_type", "floor", &words[..known])
    }

    pub(super) fn max_pool(&mut self, index: usize, set: u64, data: &mut Data) -> Option<ReadOperation> {
        let window = self.window(index, data, (set >= 8).then_some(false));
        let kernel = self.sizes(index, data, "kernel", true);
        let rounding = self.rounding(index, set, data);
        let mut indices = None;
        if set >= 8 {
            let types = [("i64", ElementType::I64), ("i32", ElementType::I32)];
            indices = Some(self.word(index, data, "index_element_type", "i64", &types)?);
            // where the indices start, which are not computed
            self.whole(index, data, "axis", Some(0), i64::MIN..=i64::MAX)?;
        }
        let (window, kernel, rounding) = (window?, kernel?, rounding?);
        let read = ReadOperation::new(Op::Pool(Box::new(Pool { kind: PoolKind::Max, kernel, window, rounding })));
        Some(match indices {
            Some(element) => read.ports(Ports::Exactly(2)).then(Then::Indices(element)),
            None => read,
        })
    }

    pub(super) fn average_pool(&mut self, index: usize, set: u64, data: &mut Data) -> Option<ReadOperation> {
        let window = self.window(index, data, (set >= 16).then_some(false));
        let kernel = self.sizes(index, data, "kernel", true);
        let rounding = self.rounding(index, set, data);
        let excludes = self.boolean(index, data, "exclude-pad", Some(false));
        let (window, kernel, rounding) = (window?, kernel?, rounding?);
        let kind = PoolKind::Average { count_pads: !excludes? };
        Some(ReadOperation::new(Op::Pool(Box::new(Pool { kind, kernel, window, rounding }))))
    }
}
