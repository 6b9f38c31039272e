//! The variables that are kept as delay lines.
//!
//! In the model, the history of a stream is a variable. A Concat appends the frame of the step, a
//! view of all frames but the first is the next history, and further views are the taps of windows.
//! If views are the only readers of the Concat, the variable becomes a delay line, and nothing is
//! concatenated: a view gathers its taps from the delay line and from the frame.

use std::collections::BTreeMap;

use crate::core::{Concat, CoreModel, CoreOp, Dense, Source, View, signed, strides};
use crate::kernel::{DelayLine, FrameOrder};

/// A history that is kept as a delay line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptHistory {
    /// The layout.
    pub line: DelayLine,
    /// The variable.
    pub variable: usize,
    /// The frame of the step.
    pub frame: Source,
    /// The Concat of the history and the frame: a value without memory.
    pub concat: usize,
    /// The next history: a value without memory.
    pub next: usize,
}

/// Elements that a view takes: `out[to + sum i_d * to_d] = from[from + sum i_d * from_d]` for all
/// `i_d < extent_d`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedElements {
    /// The first element to read.
    pub from: usize,
    /// The first element of the view.
    pub to: usize,
    /// The loops, outermost first: (extent, distance between reads, distance between writes).
    pub dims: Vec<(usize, usize, usize)>,
}

/// A view of a history and the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taps {
    /// The index of the history in [`DelayLines::histories`].
    pub history: usize,
    /// The age of the first and oldest tap, in steps. 0: the frame of the step.
    pub oldest: usize,
    /// Steps between taps.
    pub distance: usize,
    /// The number of taps.
    pub count: usize,
    /// The elements taken from the delay line. `None`: the frame of the step is the only tap.
    pub earlier: Option<CopiedElements>,
    /// The elements taken from the frame of the step. `None`: the frame is no tap.
    pub newest: Option<CopiedElements>,
}

/// Taps as the x of a product: for each channel the earlier taps, the oldest first, then the
/// newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapRow {
    /// The index of the history in [`DelayLines::histories`].
    pub history: usize,
    /// The number of channels.
    pub channels: usize,
    /// Taps of a channel, without the newest.
    pub earlier: usize,
    /// The first channel's oldest tap in a row of the delay line.
    pub first: usize,
    /// Elements between the earlier taps of a channel.
    pub distance: usize,
    /// The first channel's newest tap in the frame.
    pub newest: usize,
    /// Elements between the earlier taps of neighbouring channels.
    pub stride: usize,
    /// Elements between the newest taps of neighbouring channels.
    pub newest_stride: usize,
}

/// The delay lines of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayLines {
    /// The histories, in the order of their variables.
    pub histories: Vec<KeptHistory>,
    /// By value of a view: its taps.
    pub taps: BTreeMap<usize, Taps>,
    /// By value of a view without memory: its taps, which a product reads in place.
    pub rows: BTreeMap<usize, TapRow>,
}

impl DelayLines {
    /// The delay lines of a model, with frames in the given order.
    pub fn new(model: &CoreModel, order: FrameOrder) -> Self {
        let mut lines = Self::default();
        for variable in 0..model.variables.len() {
            if let Some((history, shown)) = history(model, variable, order) {
                let index = lines.histories.len();
                let taps = shown.iter().map(|shown| (shown.out, shown.taps(index, &history)));
                lines.taps.extend(taps);
                lines.histories.push(history);
            }
        }
        lines
    }

    /// The history of a variable.
    pub fn of_variable(&self, variable: usize) -> Option<&KeptHistory> {
        self.histories.iter().find(|history| history.variable == variable)
    }

    /// The history whose Concat computes a value.
    pub fn of_concat(&self, value: usize) -> Option<&KeptHistory> {
        self.histories.iter().find(|history| history.concat == value)
    }

    /// Lets a dense layer of one row read its taps in place, if nothing else reads them.
    pub fn read_in_place(&mut self, model: &CoreModel, dense: &Dense) {
        let Source::Value(value) = dense.x else { return };
        let reads = |op: &CoreOp| op.reads().iter().filter(|read| **read == dense.x).count();
        let readers: usize = model.all_nodes().into_iter().map(|node| reads(&node.op)).sum();
        let is_result = model.results.iter().any(|result| result.source == dense.x);
        let row = self.taps.get(&value).and_then(|taps| taps.row(dense.inputs));
        if dense.rows == 1 && readers == 1 && !is_result {
            self.rows.extend(row.map(|row| (value, row)));
        }
    }

    /// True for a value without memory: the frames of a history in order, and taps that are read
    /// in place.
    pub fn has_no_memory(&self, value: usize) -> bool {
        self.rows.contains_key(&value)
            || self.histories.iter().any(|history| [history.concat, history.next].contains(&value))
    }
}

impl Taps {
    /// The taps as a row of `len` elements of a product. `None` without earlier taps, without the
    /// newest tap, or for another order of elements.
    fn row(&self, len: usize) -> Option<TapRow> {
        let (earlier, newest) = (self.earlier.as_ref()?, self.newest.as_ref()?);
        let taps = newest.to + 1;
        let channels = len / taps;
        // the taps of a channel are neighbours, the oldest first
        let (own, of_earlier) = match earlier.dims[..] {
            [ref own @ .., (count, distance, 1)] if count + 1 == taps => (own, (count, distance)),
            ref own if taps == 2 => (own, (1, 0)),
            _ => return None,
        };
        let (stride, newest_stride) = match (own, &newest.dims[..]) {
            ([], []) => (0, 0),
            ([(count, stride, to)], [(newest_count, newest_stride, newest_to)])
                if (count, to) == (newest_count, newest_to) && *to == taps =>
            {
                (*stride, *newest_stride)
            }
            _ => return None,
        };
        let is_whole = channels * taps == len && own.iter().all(|dim| dim.0 == channels);
        (is_whole && (channels == 1 || stride > 0)).then_some(TapRow {
            history: self.history,
            channels,
            earlier: of_earlier.0,
            first: earlier.from,
            distance: of_earlier.1,
            newest: newest.from,
            stride,
            newest_stride,
        })
    }
}

/// The history in a variable, and the views with its taps. `None` if the variable is no history, if
/// anything but one Concat of history and frame reads the variable, if anything but the variable
/// takes the next history, if anything but views outside of loops reads the Concat, or if a view
/// has no regular taps.
fn history(
    model: &CoreModel,
    variable: usize,
    order: FrameOrder,
) -> Option<(KeptHistory, Vec<Shown>)> {
    let source = Source::Variable(variable);
    let axis = model.variables[variable].history?;
    let Some(Source::Value(next)) = model.variables[variable].next else { return None };
    let reads_variable = |op: &&CoreOp| op.reads().contains(&source);
    let operations: Vec<&CoreOp> = model.all_nodes().into_iter().map(|node| &node.op).collect();
    let mut readers = operations.iter().copied().filter(reads_variable);
    let (Some(CoreOp::Concat(concat)), None) = (readers.next(), readers.next()) else {
        return None;
    };
    let Concat { inputs, out, .. } = concat;
    let [first, frame] = inputs[..] else { return None };
    let is_frame = first == source && concat.axis == axis && model.shape(frame)[axis] == 1;
    let is_read = |value: usize| {
        let value = Source::Value(value);
        model.results.iter().any(|result| result.source == value)
            || operations.iter().any(|op| op.reads().contains(&value))
    };
    let is_result = model.results.iter().any(|result| result.source == Source::Value(*out));
    let own_next =
        model.variables.iter().filter(|other| other.next == Some(Source::Value(next))).count();
    if !is_frame || is_result || is_read(next) || own_next != 1 {
        return None;
    }
    let shape = &model.values[*out].shape;
    let (history, inner) = (shape[axis] - 1, shape[axis + 1..].iter().product::<usize>());
    let frames = Frames { history, outer: shape[..axis].iter().product(), inner };
    let mut shown = Vec::new();
    let top: Vec<&CoreOp> = model.nodes.iter().map(|node| &node.op).collect();
    for op in operations.iter().filter(|op| op.reads().contains(&Source::Value(*out))) {
        // a reader inside a loop needs the frames as one array
        let CoreOp::View(view) = op else { return None };
        if !top.iter().any(|other| std::ptr::eq(*other, *op)) {
            return None;
        }
        if view.out != next {
            shown.push(Shown::new(model, view, &frames)?);
        } else if view.offset != inner || view.strides != signed(strides(shape)) {
            return None;
        }
    }
    let distances = shown.iter().flat_map(|shown| shown.frames().map(|frame| history - frame));
    let phases = distances.fold(history, gcd);
    let Frames { outer, inner, .. } = frames;
    let line = DelayLine { phases, frames: history / phases, outer, inner, order };
    Some((KeptHistory { line, variable, frame, concat: *out, next }, shown))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The shape of a history and a frame behind it: `[outer][history + 1][inner]`.
struct Frames {
    history: usize,
    outer: usize,
    inner: usize,
}

/// A place in [`Frames`], or a distance between places.
#[derive(Clone, Copy)]
struct FrameStep {
    outer: usize,
    frame: usize,
    inner: usize,
}

impl Frames {
    /// The place of an element.
    fn coordinates(&self, element: usize) -> FrameStep {
        let (line, inner) = (element / self.inner, element % self.inner);
        let frames = self.history + 1;
        FrameStep { outer: line / frames, frame: line % frames, inner }
    }

    /// A stride of a view as a distance along one axis. `None` for a negative stride, or one along
    /// several axes.
    fn step(&self, stride: isize) -> Option<FrameStep> {
        let step = self.coordinates(usize::try_from(stride).ok()?);
        let axes = [step.outer, step.frame, step.inner];
        (axes.iter().filter(|part| **part > 0).count() <= 1).then_some(step)
    }
}

/// A view of a history and a frame.
struct Shown {
    out: usize,
    /// The place of the first element.
    first: FrameStep,
    /// By dimension of more than one element: the size, the step, and the distance in the view.
    dims: Vec<(usize, FrameStep, usize)>,
    /// The dimension along the frames. `None`: all elements are of one frame.
    along: Option<usize>,
    history: usize,
}

impl Shown {
    /// The view. `None` if a dimension moves along several axes or backwards, if several dimensions
    /// move along the frames, or if the view reaches into the next row of an axis.
    fn new(model: &CoreModel, view: &View, frames: &Frames) -> Option<Self> {
        let first = frames.coordinates(view.offset);
        let shape = &model.values[view.out].shape;
        let mut last = first;
        let mut dims: Vec<(usize, FrameStep, usize)> = Vec::new();
        for ((&size, &stride), to) in shape.iter().zip(&view.strides).zip(strides(shape)) {
            if size == 1 {
                continue;
            }
            let step = frames.step(stride)?;
            last.outer += step.outer * (size - 1);
            last.frame += step.frame * (size - 1);
            last.inner += step.inner * (size - 1);
            dims.push((size, step, to));
        }
        if last.outer >= frames.outer || last.frame > frames.history || last.inner >= frames.inner {
            return None;
        }
        let mut moving = (0..dims.len()).filter(|dim| dims[*dim].1.frame > 0);
        let (along, None) = (moving.next(), moving.next()) else { return None };
        Some(Self { out: view.out, first, dims, along, history: frames.history })
    }

    /// The numbers of the frames that the view shows, the oldest first.
    fn frames(&self) -> impl Iterator<Item = usize> {
        let (count, step) =
            self.along.map_or((1, 0), |dim| (self.dims[dim].0, self.dims[dim].1.frame));
        (0..count).map(move |k| self.first.frame + k * step)
    }

    fn taps(&self, history: usize, line: &KeptHistory) -> Taps {
        let line = &line.line;
        let (count, newest) =
            (self.frames().count(), self.frames().any(|frame| frame == self.history));
        let earlier = count - usize::from(newest);
        let in_frame = |step: &FrameStep| step.outer * line.inner + step.inner;
        let in_line = |step: &FrameStep| line.offset(in_frame(step), step.frame);
        let dims = |frames: usize, position: &dyn Fn(&FrameStep) -> usize| {
            let dims = self.dims.iter().enumerate().map(|(dim, (size, step, to))| {
                let along = self.along == Some(dim);
                (if along { frames } else { *size }, position(step), *to)
            });
            dims.filter(|(size, ..)| *size > 1).collect::<Vec<_>>()
        };
        let last = self.along.map_or(0, |dim| self.dims[dim].2 * earlier);
        Taps {
            history,
            oldest: self.history - self.first.frame,
            distance: self.along.map_or(0, |dim| self.dims[dim].1.frame),
            count,
            earlier: (earlier > 0).then(|| CopiedElements {
                from: in_line(&self.first),
                to: 0,
                dims: dims(earlier, &in_line),
            }),
            newest: newest.then(|| CopiedElements {
                from: in_frame(&self.first),
                to: last,
                dims: dims(1, &in_frame),
            }),
        }
    }
}
