//! Convolutions.

use super::{
    ConstantId, CoreModel, CoreOp, Factor, Facts, FixedMatrices, FixedProduct, KernelForm,
    Notation, Operation, OutputNumbers, OverTime, Reach, Reference, Source, StateEndsMut,
    StreamRows, Treatment, Work, Zeros,
};
use crate::model::counted;

/// A convolution whose windows move by one element over channels of `length` elements: `out[n, g
/// outputs + m, q] = sum over c and t of w[g outputs + m, c, t] * x[n, g inputs + c, start + q +
/// offset of tap t]`, summed in order from zero.
///
/// A channel is x in C order with padding, or x in [phases](Phased).
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
    /// Zeros before the first line of a channel of x, and after the last line. Not used with
    /// phases.
    pub pads: (usize, usize),
    /// Lines per channel of x, and zeros before each line. Not used with phases.
    pub lines: (usize, usize),
    /// The axes of x, if windows have strides. Empty: a channel is x in C order with padding.
    pub phases: Vec<Phased>,
    /// The first element of a channel of x that windows read.
    pub start: usize,
    /// Elements of a channel of the output.
    pub positions: usize,
    /// Valid elements of a channel of the output. Windows over several dimensions also produce
    /// elements across line ends.
    pub wanted: usize,
    /// The loops over taps, by dimension. The loops of one dimension run one after the other.
    pub taps: Vec<Vec<TapLoop>>,
    /// `[batch, groups * inputs, ..]`, [`Self::unpadded_length`] elements for each channel.
    pub x: Source,
    /// `[groups * outputs, inputs, taps]`.
    pub w: ConstantId,
    /// True if a depthwise convolution multiplies in f32 whatever precision the options ask for: x
    /// is in phases, the output has few positions, or the model has run-time weights.
    pub stays_f32: bool,
    /// The output as a value, `[batch, groups * outputs, positions]`.
    pub out: usize,
}

/// Taps at regular distances along one dimension, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapLoop {
    /// The offset of the first tap.
    pub first: usize,
    /// The outer loop: the number of iterations and their distance.
    pub outer: (usize, usize),
    /// The inner loop, over taps in successive phases: their number and their distance.
    pub inner: (usize, usize),
}

impl TapLoop {
    /// A number of taps at equal distances.
    pub fn even(count: usize, step: usize) -> Self {
        Self { first: 0, outer: (count, step), inner: (1, 0) }
    }

    /// The offsets of the taps, in order.
    pub fn offsets(self) -> impl Iterator<Item = usize> {
        let Self { first, outer, inner } = self;
        (0..outer.0).flat_map(move |i| (0..inner.0).map(move |j| first + i * outer.1 + j * inner.1))
    }
}

/// The polyphase layout of one axis of x. One tap of successive windows reads every `stride`th
/// element. A phase stores these elements next to each other, so that kernels load vectors.
///
/// Phase `i` contains the elements of the padded axis whose index is `i * dilation` modulo
/// `stride`, in ascending order. Its first element is stored at `i * phase`, the following ones
/// `step` elements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phased {
    /// Elements of x along the axis.
    pub size: usize,
    /// Zeros before the first element. Negative: elements of x before the first window.
    pub before: isize,
    /// Elements between windows.
    pub stride: usize,
    /// Elements between taps.
    pub dilation: usize,
    /// The number of phases.
    pub count: usize,
    /// Elements of a phase.
    pub len: usize,
    /// The distance between phases.
    pub phase: usize,
    /// The distance between neighbours of a phase.
    pub step: usize,
}

/// Elements of x along one axis that a phase stores as neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseRun {
    /// The index of the first element, along the axis of x.
    pub from: usize,
    /// The offset of the first element in the phases of the axis.
    pub to: usize,
    /// The number of elements.
    pub count: usize,
}

impl Phased {
    /// The elements of x that phase `i` contains.
    pub fn run(&self, i: usize) -> PhaseRun {
        let first = (i * self.dilation % self.stride).cast_signed() - self.before;
        let stride = self.stride.cast_signed();
        // elements of the phase that are zeros in front of x
        let skipped = if first < 0 { (-first).cast_unsigned().div_ceil(self.stride) } else { 0 };
        let from = (first + skipped.cast_signed() * stride).cast_unsigned();
        let most = self.size.saturating_sub(from).div_ceil(self.stride);
        let count = most.min(self.len.saturating_sub(skipped));
        PhaseRun { from, to: i * self.phase + skipped * self.step, count }
    }
}

/// The taps of a depthwise convolution in pairs, packed for dot products of two integers. A pair
/// has one tap of the first half and one of the second half of the taps along the first dimension
/// with several taps. If this dimension has an odd number of taps, the last pair along the
/// dimension has one tap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// The pairs by dimension, as [`Convolve::taps`].
    pub taps: Vec<Vec<TapLoop>>,
    /// The distance between the taps of a pair.
    pub second: usize,
}

impl Pairs {
    /// The pairs of windows with several elements at even distances.
    pub fn new(convolution: &Convolve) -> Self {
        let mut taps = convolution.taps.clone();
        let halved = taps
            .iter()
            .position(|loops| loops[0].outer.0 > 1)
            .expect("plan: a window of several elements");
        let (count, step) = &mut taps[halved][0].outer;
        *count = count.div_ceil(2);
        let second = *count * *step;
        Self { taps, second }
    }

    /// Pairs per window.
    pub fn count(&self) -> usize {
        offsets(&self.taps).len()
    }
}

/// The most groups of one input channel in a convolution that is not depthwise.
pub const MOST_DENSE_GROUPS: usize = 4;

impl Convolve {
    /// True for a depthwise convolution whose precision the options choose: more than
    /// [`MOST_DENSE_GROUPS`] groups of one input channel, and windows of several elements. Integer
    /// arithmetic pays for these convolutions alone, as each rounded element is multiplied several
    /// times.
    pub fn is_depthwise(&self) -> bool {
        let has_own_input = self.inputs == 1 && self.groups > MOST_DENSE_GROUPS;
        has_own_input && self.offsets().len() > 1 && !self.stays_f32
    }

    /// The offset of each tap in a channel of x, from the start of its window, in order.
    pub fn offsets(&self) -> Vec<usize> {
        offsets(&self.taps)
    }

    /// Elements of a channel of x, without padding.
    pub fn unpadded_length(&self) -> usize {
        match &self.phases[..] {
            [] => self.lines.0 * (self.line() - self.lines.1),
            phases => phases.iter().map(|axis| axis.size).product(),
        }
    }

    /// By element of a channel with padding, or in phases: the index of the element in x. `None`
    /// for a zero.
    pub fn sources(&self) -> Vec<Option<usize>> {
        if self.phases.is_empty() {
            let (line, gap) = (self.line(), self.lines.1);
            let element = |at: usize| {
                let at = at.checked_sub(self.pads.0)?;
                let on_line = at / line * (line - gap) + (at % line).checked_sub(gap)?;
                (on_line < self.unpadded_length()).then_some(on_line)
            };
            return (0..self.length).map(element).collect();
        }
        // (index in x, offset in the channel) of all elements along the axes so far
        let mut pairs = vec![(0, 0)];
        for axis in &self.phases {
            let runs = (0..axis.count).map(|i| axis.run(i));
            let along: Vec<(usize, usize)> = runs
                .flat_map(|run| {
                    (0..run.count)
                        .map(move |k| (run.from + k * axis.stride, run.to + k * axis.step))
                })
                .collect();
            let inner = |(from, to): (usize, usize)| {
                along.iter().map(move |(k, target)| (from * axis.size + k, to + target))
            };
            pairs = pairs.into_iter().flat_map(inner).collect();
        }
        let mut sources = vec![None; self.length];
        for (from, to) in pairs {
            sources[to] = Some(from);
        }
        sources
    }

    /// Elements of a line, including the zeros before the line.
    pub fn line(&self) -> usize {
        (self.length - self.pads.0 - self.pads.1) / self.lines.0
    }

    /// The multiply-adds for valid outputs.
    pub fn multiply_adds(&self) -> usize {
        let taps = self.offsets().len();
        let channels =
            self.batch.saturating_mul(self.groups).saturating_mul(self.inputs * self.outputs);
        channels.saturating_mul(taps).saturating_mul(self.wanted)
    }
}

/// The offset of each tap in a channel of x, from the start of its window, in order.
pub fn offsets(taps: &[Vec<TapLoop>]) -> Vec<usize> {
    let mut distances = vec![0];
    for loops in taps {
        let along = |at| loops.iter().flat_map(|taps| taps.offsets()).map(move |tap| at + tap);
        distances = distances.into_iter().flat_map(along).collect();
    }
    distances
}

/// The number of taps along each dimension.
pub fn window_shape(taps: &[Vec<TapLoop>]) -> Vec<usize> {
    let count = |loops: &Vec<TapLoop>| loops.iter().map(|taps| taps.outer.0 * taps.inner.0).sum();
    taps.iter().map(count).collect()
}

impl Operation for Convolve {
    fn facts(&self) -> Facts<'_> {
        let product = self.is_depthwise().then(|| {
            let x = Factor { source: Some(self.x), len: self.offsets().len() };
            FixedProduct { x, h: None, matrices: FixedMatrices::Windows(self) }
        });
        Facts {
            name: "convolve",
            operands: vec![self.x, self.w.into()],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::Products { steps: 1, each: self.multiply_adds() },
            over_time: OverTime::Windows,
            zeros: Zeros::IfOne,
            numbers: OutputNumbers::Any,
            product,
            kernel: KernelForm::Rows(self.positions),
            notation: Notation::Weighted,
            functions: Vec::new(),
            denormals: Treatment::Computes,
            constants: "filters",
            reach: Reach::Far,
            between_streams: None,
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        Vec::new()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        self.batch *= rows.count;
        rows.copy(&mut self.x);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let key =
            |convolution: &Self| (convolution.groups, convolution.inputs, convolution.outputs);
        matches!(other, CoreOp::Convolve(other) if key(self) == key(other))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.x));
        visit(Reference::Constant(&mut self.w));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a convolution in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        let counts = |tap_loop: &TapLoop| match tap_loop.inner.0 {
            1 => format!("{} by {}", tap_loop.outer.0, tap_loop.outer.1),
            inner => format!(
                "{} by {} of {inner} by {}",
                tap_loop.outer.0, tap_loop.outer.1, tap_loop.inner.1
            ),
        };
        let along = |loops: &Vec<TapLoop>| {
            loops
                .iter()
                .map(|tap_loop| match tap_loop.first {
                    0 => counts(tap_loop),
                    first => format!("{} from {first}", counts(tap_loop)),
                })
                .collect::<Vec<_>>()
                .join(" and ")
        };
        let taps: Vec<String> = self.taps.iter().map(along).collect();
        let (taps, groups) = (taps.join(", "), counted(self.groups, "group"));
        let Self { inputs, outputs, positions, length, start, x, w, .. } = self;
        let (pads, lines, rows) = (self.pads, self.lines, self.batch * self.groups);
        let head = format!(
            "convolution of {x} with {w}, {rows} of {inputs} to {outputs} channels in {groups}, \
             {positions} of {length} elements"
        );
        if !self.phases.is_empty() {
            let phases: Vec<String> = self
                .phases
                .iter()
                .map(|axis| {
                    let Phased { size, before, count, stride, .. } = axis;
                    format!(
                        "{} of {size} behind {before} pads by {stride}",
                        counted(*count, "phase")
                    )
                })
                .collect();
            return format!("{head}, {}, taps {taps}", phases.join(", "));
        }
        format!(
            "{head}, {} and {} pads, {} before each of {} lines, from {start}, taps {taps}",
            pads.0, pads.1, lines.1, lines.0,
        )
    }
}
