//! Convolutions, pools and pads: their attributes.

use super::attributes::Data;
use super::layers::GraphReader;
use super::operations::{Ports, ReadOperation};
use super::text::parse_signed;
use crate::diagnostic::quoted;
use crate::model::{Convolution, Groups, Op, PadMode, Padding, Pool, PoolKind, Rounding, Window};

/// The most sizes of a list.
const MOST_SIZES: usize = 16;

impl GraphReader<'_, '_> {
    /// Integers separated by commas. `None` after an error.
    fn sizes(&mut self, index: usize, data: &mut Data, name: &'static str, required: bool) -> Option<Vec<i64>> {
        const VALID: &str = "integers separated by commas, one for each dimension";
        let given = match required {
            true => self.required(index, data, name, VALID)?,
            false => match data.take(self.document, name) {
                Some(given) => given,
                None => return Some(Vec::new()),
            },
        };
        if given.text.trim().is_empty() {
            return Some(Vec::new());
        }
        let sizes: Option<Vec<i64>> = given.text.split(',').take(MOST_SIZES + 1).map(parse_signed).collect();
        let sizes = sizes.filter(|sizes| sizes.len() <= MOST_SIZES);
        if sizes.is_none() {
            let help = "save the model again with OpenVINO's save_model";
            self.error(index, given.origin, format!("{name}={}", quoted(given.text)), VALID, help);
        }
        sizes
    }

    /// The same, 0 or more.
    fn counts(&mut self, index: usize, data: &mut Data, name: &'static str, required: bool) -> Option<Vec<usize>> {
        let sizes = self.sizes(index, data, name, required)?;
        let counts: Option<Vec<usize>> = sizes.iter().map(|&size| usize::try_from(size).ok()).collect();
        if counts.is_none() {
            let found = format!("{name} with a negative number");
            self.error(index, self.origin(index), found, "0 or more", "correct the attribute");
        }
        counts
    }

    fn window(&mut self, index: usize, data: &mut Data, dilations: bool) -> Option<Window> {
        let strides = self.counts(index, data, "strides", true);
        let dilations = if dilations { self.counts(index, data, "dilations", false) } else { Some(Vec::new()) };
        let (begin, end) = (self.sizes(index, data, "pads_begin", false), self.sizes(index, data, "pads_end", false));
        let words = [("explicit", 0), ("notset", 0), ("same_upper", 1), ("same_lower", 2), ("valid", 3)];
        let auto = self.word(index, data, "auto_pad", "explicit", &words);
        let (strides, dilations, begin, end) = (strides?, dilations?, begin?, end?);
        let padding = match auto? {
            0 => Padding::Explicit { begin, end },
            1 => Padding::SameUpper,
            2 => Padding::SameLower,
            _ => Padding::Valid,
        };
        Some(Window { strides, dilations, padding })
    }

    pub(super) fn convolution(
        &mut self,
        index: usize,
        data: &mut Data,
        groups: Groups,
        transposed: bool,
    ) -> Option<ReadOperation> {
        let window = self.window(index, data, true);
        let output_padding =
            if transposed { self.counts(index, data, "output_padding", false) } else { Some(Vec::new()) };
        let of = Convolution {
            window: window?,
            groups,
            transposed,
            output_padding: output_padding?,
            output_shape: Vec::new(),
        };
        Some(ReadOperation::new(Op::Convolution(Box::new(of))))
    }

    pub(super) fn pool(&mut self, index: usize, set: u64, data: &mut Data, maximum: bool) -> Option<ReadOperation> {
        let window = self.window(index, data, set >= if maximum { 8 } else { 16 });
        let kernel = self.counts(index, data, "kernel", true);
        let words = [("floor", Rounding::Floor), ("ceil", Rounding::Ceil), ("ceil_torch", Rounding::CeilInside)];
        let words = if set >= 14 { &words[..] } else { &words[..2] };
        let rounding = self.word(index, data, "rounding_type", "floor", words);
        let kind = match maximum {
            true => Some(PoolKind::Max),
            false => {
                self.boolean(index, data, "exclude-pad", None).map(|exclude| PoolKind::Average { count_pads: !exclude })
            }
        };
        let indices = maximum && set >= 8;
        if indices {
            // they say what the indices are, which nothing may read
            let _ = (data.take(self.document, "axis"), data.take(self.document, "index_element_type"));
        }
        let of = Pool { kind: kind?, kernel: kernel?, window: window?, rounding: rounding? };
        let ports = Ports::Exactly(if indices { 2 } else { 1 });
        Some(ReadOperation::new(Op::Pool(Box::new(of))).ports(ports))
    }

    pub(super) fn pad(&mut self, index: usize, data: &mut Data) -> Option<ReadOperation> {
        let words = [
            ("constant", PadMode::Constant),
            ("edge", PadMode::Edge),
            ("reflect", PadMode::Reflect),
            ("symmetric", PadMode::Symmetric),
        ];
        const REQUIRED: &str = "constant, edge, reflect, symmetric";
        if data.peek(self.document, "pad_mode").is_none() {
            self.required(index, data, "pad_mode", REQUIRED)?;
        }
        Some(ReadOperation::new(Op::Pad(self.word(index, data, "pad_mode", "constant", &words)?)))
    }
}
