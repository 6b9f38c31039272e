//! Convolutions, pools and LRN.

use super::attributes::{Data, Presence};
use super::layers::GraphReader;
use super::operations::{InputRewrite, Ports, ReadOperation};
use crate::diagnostic::Diagnostic;
use crate::front::local_norm::{LocalNorm, Neighbours};
use crate::model::{
    Convolution, ElementType, Groups, Op, OutputSizes, Padding, Pool, PoolKind, Rounding, ValueId,
    Window, shape_text,
};

impl GraphReader<'_, '_> {
    /// Strides, dilations and padding. `dilations`: `None` for an operation without dilations.
    /// `None` after an error.
    fn window(&mut self, data: &mut Data, dilations: Option<Presence>) -> Option<Window> {
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
        let auto = self.word(data, "auto_pad", "explicit", &words);
        let strides = self.sizes(data, "strides", Presence::Required);
        let dilations = match dilations {
            Some(presence) => self.sizes(data, "dilations", presence),
            None => Some(Vec::new()),
        };
        let [begin, end] =
            ["pads_begin", "pads_end"].map(|name| self.integers(data, name, Presence::Optional));
        let (auto, strides, dilations, begin, end) = (auto?, strides?, dilations?, begin?, end?);
        // files of OpenVINO state the pads that follow from `auto_pad`, so a notice is enough
        if !matches!(auto, Auto::Explicit) && begin.iter().chain(&end).any(|&pad| pad != 0) {
            let (begin, end) = (shape_text(&begin), shape_text(&end));
            let found = format!("pads {begin} and {end} have no effect beside auto_pad");
            let origin = data.origin_of(self.document, "auto_pad");
            let origin = origin.unwrap_or_else(|| self.origin(data.index));
            self.report(data.index, Diagnostic::notice(origin, found));
        }
        let padding = match auto {
            Auto::Explicit => Padding::Explicit { begin, end },
            Auto::SameUpper => Padding::SameUpper,
            Auto::SameLower => Padding::SameLower,
            Auto::Valid => Padding::Valid,
        };
        Some(Window { strides, dilations, padding })
    }

    /// The attributes of a convolution.
    pub(super) fn convolution(&mut self, data: &mut Data, groups: Groups) -> Option<ReadOperation> {
        let window = self.window(data, Some(Presence::Required))?;
        Some(ReadOperation::new(Op::Convolution(Box::new(Convolution {
            kernel: Vec::new(),
            window,
            groups,
            transposed: false,
            output_padding: Vec::new(),
            output_sizes: OutputSizes::Follow,
        }))))
    }

    /// The attributes of a transposed convolution. A third input is the shape of the output.
    pub(super) fn transposed_convolution(
        &mut self,
        data: &mut Data,
        groups: Groups,
    ) -> Option<ReadOperation> {
        let window = self.window(data, Some(Presence::Required));
        let output_padding = self.sizes(data, "output_padding", Presence::Optional);
        let (mut window, output_padding) = (window?, output_padding?);
        let output_sizes = match self.port_ids(data.index, "input").len() {
            3.. => OutputSizes::Input,
            _ => OutputSizes::Follow,
        };
        // auto_pad derives the pads from the shape of the output; without this third input there
        // are no pads
        if output_sizes == OutputSizes::Follow
            && !matches!(window.padding, Padding::Explicit { .. })
        {
            window.padding = Padding::Valid;
        }
        Some(ReadOperation::new(Op::Convolution(Box::new(Convolution {
            kernel: Vec::new(),
            window,
            groups,
            transposed: true,
            output_padding,
            output_sizes,
        }))))
    }

    /// The rounding of the number of windows. `ceil_torch` is new in opset14. `None` after an
    /// error.
    fn rounding(&mut self, data: &mut Data) -> Option<Rounding> {
        let words = [
            ("floor", Rounding::Floor),
            ("ceil", Rounding::Ceil),
            ("ceil_torch", Rounding::CeilInside),
        ];
        let known = if data.set >= 14 { 3 } else { 2 };
        self.word(data, "rounding_type", "floor", &words[..known])
    }

    /// MaxPool.
    pub(super) fn max_pool(&mut self, data: &mut Data) -> Option<ReadOperation> {
        let window = self.window(data, (data.set >= 8).then_some(Presence::Optional));
        let kernel = self.sizes(data, "kernel", Presence::Required);
        let rounding = self.rounding(data);
        let mut indices = None;
        if data.set >= 8 {
            let types = [("i64", ElementType::I64), ("i32", ElementType::I32)];
            indices = Some(self.word(data, "index_element_type", "i64", &types)?);
            // only the second output, the indices, depends on the axis, and indices are not
            // computed
            self.integer(data, "axis", Some(0), i64::MIN..=i64::MAX)?;
        }
        let (window, kernel, rounding) = (window?, kernel?, rounding?);
        let read = ReadOperation::new(Op::Pool(Box::new(Pool {
            kind: PoolKind::Max,
            kernel,
            window,
            rounding,
        })));
        Some(match indices {
            Some(element) => {
                read.ports(Ports::Exactly(2)).rewrite_inputs(InputRewrite::Indices(element))
            }
            None => read,
        })
    }

    /// AvgPool.
    pub(super) fn average_pool(&mut self, data: &mut Data) -> Option<ReadOperation> {
        let window = self.window(data, (data.set >= 16).then_some(Presence::Optional));
        let kernel = self.sizes(data, "kernel", Presence::Required);
        let rounding = self.rounding(data);
        let excludes = self.boolean(data, "exclude-pad", Some(false));
        let (window, kernel, rounding) = (window?, kernel?, rounding?);
        let kind = PoolKind::Average { count_pads: !excludes? };
        Some(ReadOperation::new(Op::Pool(Box::new(Pool { kind, kernel, window, rounding }))))
    }

    /// The attributes of an LRN, and its number of neighbours. `None` after an error.
    pub(super) fn local_norm(&mut self, data: &mut Data) -> Option<(LocalNorm, usize)> {
        let [alpha, beta, bias] = ["alpha", "beta", "bias"].map(|name| self.finite(data, name));
        let size = self.integer(data, "size", None, 1..=i64::MAX);
        let (alpha, beta, bias) = (alpha?, beta?, bias?);
        Some((LocalNorm { alpha, beta, bias }, usize::try_from(size?).ok()?))
    }

    /// Replaces LRN's second input, the axes, by the divisor. Neighbours beyond the ends of an axis
    /// count as 0. Does nothing for another number of inputs than two. `None` after an error.
    pub(super) fn norm_of_neighbours(
        &mut self,
        index: usize,
        (norm, size): (LocalNorm, usize),
        inputs: &mut [ValueId],
    ) -> Option<()> {
        let &[x, axes] = &inputs[..] else { return Some(()) };
        let rank = self.input_rank(index);
        let known = self.known(axes);
        let axes: Option<Vec<i64>> =
            known.and_then(|axes| (0..axes.len()).map(|i| axes.get_i64(i)).collect());
        let of_channels = axes.as_deref() == Some(&[1]) && matches!(rank, 2..=4);
        let axes = axes
            .filter(|axes| of_channels || axes.iter().all(|&axis| axis > 1 && axis < rank as i64))
            .filter(|axes| axes.iter().enumerate().all(|(at, axis)| !axes[..at].contains(axis)));
        let Some(axes) = axes else {
            let found = "LRN over other axes than the channels, or those behind them";
            let help = "write it as AvgPool, Power and Divide";
            let valid = "axis 1 of two to four dimensions, or axes behind it, each once";
            return self.inexpressible(index, found, valid, help);
        };
        let pad = (size - 1) / 2;
        let first = if of_channels { 1 } else { 2 };
        let pads = |axis: i64| if axes.contains(&axis) { [pad; 2] } else { [0; 2] };
        let neighbours =
            Neighbours { of_channels, around: (first..rank as i64).map(pads).collect() };
        // for an even size the window has size - 1 elements, and the mean still divides by size
        let axes = axes.len() as i32;
        let share = ((2 * pad + 1) as f64).powi(axes) as f32 / (size as f64).powi(axes) as f32;
        let norm = LocalNorm { alpha: norm.alpha * share, ..norm };
        inputs[1] = norm.divisor(x, &neighbours, &mut |op, of| self.extra(index, op, of));
        Some(())
    }

    /// The number of dimensions declared at a layer's first input port.
    fn input_rank(&self, index: usize) -> usize {
        let document = self.document;
        let side = document.children_named(self.layers[index].element, "input").next();
        let port = side.and_then(|side| document.children_named(side, "port").next());
        port.map_or(0, |port| document.children_named(port, "dim").count())
    }
}
