//! Delay lines: memory of the last frames of a stream.
//!
//! A frame holds the elements of one step. Frames whose numbers are equal modulo [`phases`] share a
//! row, so that an operation with taps at multiples of `phases` finds all of them in one row, at
//! constant places, the oldest first. A step moves the frames of its own row by one place and
//! writes its frame behind them. All other rows stay untouched.
//!
//! [`phases`]: DelayLine::phases

use std::fmt::{self, Display, Formatter};

/// The layout of a delay line: `[phases][frames][outer][inner]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayLine {
    /// Rows: the distance between taps, in steps.
    pub phases: usize,
    /// Frames of a row.
    pub frames: usize,
    /// Elements of a frame in front of the axis of time: channels.
    pub outer: usize,
    /// Elements of a frame behind the axis of time.
    pub inner: usize,
}

impl Display for DelayLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { phases, frames, .. } = self;
        write!(f, "a delay line [{phases}][{frames}][{}]", self.frame())
    }
}

impl DelayLine {
    /// Elements of a frame.
    pub fn frame(&self) -> usize {
        self.outer * self.inner
    }

    /// Elements of a row.
    pub fn row(&self) -> usize {
        self.frames * self.frame()
    }

    /// Elements of the delay line.
    pub fn len(&self) -> usize {
        self.phases * self.row()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The frames of the line.
    pub fn history(&self) -> usize {
        self.phases * self.frames
    }

    /// The contents before a step with this phase, from an array `[outer][history][inner]` in order
    /// of time.
    ///
    /// # Panics
    /// If the array has another length.
    pub fn in_rows<T: Copy>(&self, values: &[T], phase: usize) -> Vec<T> {
        let mut memory = values.to_vec();
        for (at, place) in self.places(phase).enumerate() {
            memory[place] = values[at];
        }
        memory
    }

    /// The opposite of [`Self::in_rows`].
    ///
    /// # Panics
    /// If the memory has another length.
    pub fn in_order_of_time<T: Copy>(&self, memory: &[T], phase: usize) -> Vec<T> {
        assert_eq!(memory.len(), self.len(), "the memory of a delay line");
        self.places(phase).map(|place| memory[place]).collect()
    }

    /// For each element in order of time: its place in memory.
    fn places(&self, phase: usize) -> impl Iterator<Item = usize> {
        let Self { phases, inner, .. } = *self;
        let (frame, row, history) = (self.frame(), self.row(), self.history());
        (0..self.len()).map(move |at| {
            let (channel, number) = (at / inner / history, at / inner % history);
            (phase + number) % phases * row + number / phases * frame + channel * inner + at % inner
        })
    }
}

#[cfg(test)]
mod tests {
    use super::DelayLine;

    /// Frames that are written step by step, each into the row of its step, stand where the order
    /// of time says.
    #[test]
    fn rows_hold_the_frames_of_their_steps() {
        let line = DelayLine { phases: 3, frames: 2, outer: 2, inner: 2 };
        // of frame t: channel, number, element
        let value = |channel: usize, t: usize, element: usize| 100 * t + 10 * channel + element;
        let mut memory = vec![0; line.len()];
        for t in 0..20 {
            let row = t % line.phases * line.row();
            memory.copy_within(row + line.frame()..row + line.row(), row);
            for at in 0..line.frame() {
                memory[row + line.row() - line.frame() + at] = value(at / 2, t, at % 2);
            }
            let Some(first) = (t + 1).checked_sub(line.history()) else { continue };
            let in_order: Vec<usize> =
                (0..line.len()).map(|at| value(at / 12, first + at / 2 % 6, at % 2)).collect();
            let phase = (t + 1) % line.phases;
            assert_eq!(line.in_order_of_time(&memory, phase), in_order, "{t}");
            assert_eq!(line.in_rows(&in_order, phase), memory, "{t}");
        }
    }
}
