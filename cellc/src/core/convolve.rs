//! Convolutions.

use super::{
    ConstantId, CoreModel, CoreOp, Facts, Numbers, Operation, OverTime, Reference, Source, Work,
    Zeros,
};
use crate::model::{Activation, counted};

/// A convolution with windows that move element by element over channels of `length` elements, in C
/// order: `out[n, g outputs + m, q] = sum over c and t of w[g outputs + m, c, t] * x[n, g inputs +
/// c, start + q + offset of tap t]`, summed in order from zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolve {
    /// Batch size of x.
    pub batch: usize,
    /// Groups of channels.
    pub groups: usize,
    /// Channels of x in a group.
    pub inputs: usize,
    /// Channels of the output in a group.
    pub outputs: usize,
    /// Elements of a channel of x, including padding.
    pub length: usize,
    /// Zeros before the first line of a channel of x, and after the last line.
    pub pads: (usize, usize),
    /// Lines per channel of x, and zeros before each line.
    pub lines: (usize, usize),
    /// The first element to read.
    pub start: usize,
    /// Elements of a channel of the output.
    pub positions: usize,
    /// Valid elements of a channel of the output. Windows over several dimensions also produce
    /// elements across line ends.
    pub wanted: usize,
    /// The taps by dimension: their number and their distance.
    pub taps: Vec<(usize, usize)>,
    /// `[batch, groups * inputs, length]`, without padding.
    pub x: Source,
    /// `[groups * outputs, inputs, taps]`.
    pub w: ConstantId,
    /// True if the model also has run-time weights: `pack` then packs these weights, too, but not
    /// as words of integers.
    pub has_run_time_weights: bool,
    /// The output as a value, `[batch, groups * outputs, positions]`.
    pub out: usize,
}

/// The taps of a depthwise convolution in pairs, as in words of integers. A pair has one tap of the
/// first half and one of the second half, along the first dimension with several taps. The last of
/// an odd number is single.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// The pairs by dimension: their number and their distance.
    pub taps: Vec<(usize, usize)>,
    /// The distance between the taps of a pair.
    pub second: usize,
}

impl Pairs {
    /// The pairs of windows with several elements.
    pub fn new(of: &Convolve) -> Self {
        let mut taps = of.taps.clone();
        let halved = taps
            .iter()
            .position(|(count, _)| *count > 1)
            .expect("plan: a window of several elements");
        taps[halved].0 = taps[halved].0.div_ceil(2);
        let second = taps[halved].0 * taps[halved].1;
        Self { taps, second }
    }

    /// Words per window.
    pub fn count(&self) -> usize {
        self.taps.iter().map(|(count, _)| count).product()
    }
}

/// The most groups of one channel. A convolution with more groups of one channel is
/// depthwise.
pub const MOST_DENSE_GROUPS: usize = 4;

impl Convolve {
    /// True for a depthwise convolution: separate weights per channel of x and windows of several
    /// elements. Integer arithmetic pays, as each rounded element is multiplied several times.
    pub fn is_depthwise(&self) -> bool {
        let is_apart = self.inputs == 1 && self.groups > MOST_DENSE_GROUPS;
        is_apart && self.taps.iter().any(|(count, _)| *count > 1) && !self.has_run_time_weights
    }

    /// The distance of each tap from the first tap, in order.
    pub fn offsets(&self) -> Vec<usize> {
        offsets(&self.taps)
    }

    /// Elements of a channel of x, without padding.
    pub fn unpadded_length(&self) -> usize {
        self.lines.0 * (self.line() - self.lines.1)
    }

    /// Elements of a line, including the zeros before the line.
    pub fn line(&self) -> usize {
        (self.length - self.pads.0 - self.pads.1) / self.lines.0
    }

    /// The multiply-adds for valid outputs.
    pub fn multiply_adds(&self) -> usize {
        let taps: usize = self.taps.iter().map(|(count, _)| count).product();
        let channels =
            self.batch.saturating_mul(self.groups).saturating_mul(self.inputs * self.outputs);
        channels.saturating_mul(taps).saturating_mul(self.wanted)
    }
}

/// The distances of taps from the first tap, in order.
pub fn offsets(taps: &[(usize, usize)]) -> Vec<usize> {
    let mut all = vec![0];
    for &(count, step) in taps {
        all = all.iter().flat_map(|at| (0..count).map(move |tap| at + tap * step)).collect();
    }
    all
}

impl Operation for Convolve {
    fn facts(&self) -> Facts {
        Facts {
            name: "convolve",
            operands: vec![self.x, self.w.into()],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::Products { steps: 1, each: self.multiply_adds() },
            over_time: OverTime::Windows,
            zeros: Zeros::IfOne,
            numbers: Numbers::Any,
        }
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let key = |of: &Self| (of.groups, of.inputs, of.outputs);
        matches!(other, CoreOp::Convolve(other) if key(self) == key(other))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.x));
        visit(Reference::Constant(&mut self.w));
        visit(Reference::Value(&mut self.out));
    }

    fn activations(&self) -> Vec<Activation> {
        Vec::new()
    }

    fn text(&self, _: &CoreModel) -> String {
        let taps: Vec<String> =
            self.taps.iter().map(|(count, step)| format!("{count} by {step}")).collect();
        let (taps, groups) = (taps.join(", "), counted(self.groups, "group"));
        let Self { inputs, outputs, positions, length, start, x, w, .. } = self;
        let (pads, lines, rows) = (self.pads, self.lines, self.batch * self.groups);
        format!(
            "convolution of {x} with {w}, {rows} of {inputs} to {outputs} channels in {groups}, \
             {positions} of {length} elements, {} and {} pads, {} before each of {} lines, from \
             {start}, taps {taps}",
            pads.0, pads.1, lines.1, lines.0,
        )
    }
}
