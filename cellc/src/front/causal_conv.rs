//! Convolutions over the steps of a stack, and over the features of each step.

use super::graph::Graph;
use crate::diagnostic::Origin;
use crate::model::{Op, Padding, Tensor, ValueId, Window};

/// A convolution over steps. A call computes one step; steps before the first one are zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CausalConv {
    /// `[outputs, inputs / groups, kernel]`; with features
    /// `[outputs, inputs / groups, kernel, features of the kernel]`. The tap of the newest step is
    /// the last one.
    pub(crate) weight: Tensor,
    /// `[outputs]`
    pub(crate) bias: Tensor,
    /// Steps from tap to tap.
    pub(crate) dilation: usize,
    pub(crate) groups: usize,
    /// The features of a step. `None`: a step has one value for each input.
    pub(crate) features: Option<Features>,
}

/// The features of a step: values `[features, inputs]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    /// The features that the convolution reads.
    pub(crate) count: usize,
    /// Features from output to output.
    pub(crate) stride: usize,
    /// Zeros in front of the first feature and behind the last.
    pub(crate) pads: [usize; 2],
}

impl Features {
    /// The number of features of the output, for a kernel with at most the padded features.
    pub(crate) fn outputs(self, kernel: usize) -> usize {
        (self.count + self.pads[0] + self.pads[1] - kernel) / self.stride + 1
    }
}

impl CausalConv {
    /// Steps before the newest one that the convolution reads.
    fn past(&self) -> usize {
        (self.weight.shape()[2] - 1) * self.dilation
    }

    fn inputs(&self) -> usize {
        self.weight.shape()[1] * self.groups
    }

    /// The numbers of values that a step reads and gives.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        let (inputs, outputs) = (self.inputs(), self.weight.shape()[0]);
        let [reads, gives] = self
            .features
            .map_or([1, 1], |features| [features.count, features.outputs(self.weight.shape()[3])]);
        [inputs * reads, outputs * gives]
    }

    /// Number of values of earlier steps that the convolution keeps for each row.
    pub(super) fn kept(&self) -> u64 {
        (self.past() as u64).saturating_mul(self.sizes()[0] as u64)
    }

    /// The earlier steps and the newest one along axis 2. A variable holds the earlier steps.
    /// `shape`: the shape of the newest step.
    fn with_past(
        &self,
        graph: &mut Graph,
        name: &str,
        (newest, mut shape): (ValueId, Vec<usize>),
        origin: &Origin,
    ) -> ValueId {
        if self.past() == 0 {
            return newest;
        }
        let at = |part: &str| format!("{name}_{part}");
        shape[2] = self.past();
        let before = graph.variable(&at("past"), shape, None, origin);
        let data =
            graph.computed(&at("steps"), Op::Concat { axis: 2 }, vec![before, newest], origin);
        let bounds = [("first", 1), ("end", self.past() + 1), ("stride", 1), ("axis", 2)];
        let bounds = bounds
            .map(|(part, value)| graph.integers(&at(&format!("past_{part}")), &[value], origin));
        let operands = [&[data][..], &bounds].concat();
        let next = graph.computed(&at("past_next"), Op::Slice, operands, origin);
        graph.assign(&at("past"), next, origin);
        data
    }

    /// The window over the steps, and over the features of a step.
    fn window(&self) -> Window {
        let Some(Features { stride, pads, .. }) = self.features else {
            return Window {
                strides: Vec::new(),
                dilations: vec![self.dilation],
                padding: Padding::Explicit { begin: Vec::new(), end: Vec::new() },
            };
        };
        let [begin, end] = pads.map(|pad| pad as i64);
        Window {
            strides: vec![1, stride],
            dilations: vec![self.dilation, 1],
            padding: Padding::Explicit { begin: vec![0, begin], end: vec![0, end] },
        }
    }

    /// Adds the convolution of `[rows, values of a step]`.
    pub(super) fn add_to(
        &self,
        graph: &mut Graph,
        name: &str,
        x: ValueId,
        rows: usize,
        origin: &Origin,
    ) -> ValueId {
        let (inputs, gives) = (self.inputs(), self.sizes()[1]);
        let at = |part: &str| format!("{name}_{part}");
        let (newest, shape) = match self.features {
            None => {
                let shape = vec![rows, inputs, 1];
                (graph.reshaped(&at("newest"), x, shape.clone(), origin), shape)
            }
            Some(Features { count, .. }) => {
                let shape = vec![rows, 1, count, inputs];
                let by_feature = graph.reshaped(&at("by_feature"), x, shape, origin);
                let newest = graph.transposed(&at("newest"), by_feature, &[0, 3, 1, 2], origin);
                (newest, vec![rows, inputs, 1, count])
            }
        };
        let data = self.with_past(graph, name, (newest, shape), origin);
        let weight = graph.constant(&at("weight"), &self.weight, origin);
        let bias = graph.constant(&at("bias"), &self.bias, origin);
        let operands = vec![data, weight, bias];
        let mut out = graph.convolved_in(name, operands, (self.window(), self.groups), origin);
        if self.features.is_some() {
            out = graph.transposed(&at("features"), out, &[0, 2, 3, 1], origin);
        }
        graph.reshaped(&at("out"), out, vec![rows, gives], origin)
    }
}
