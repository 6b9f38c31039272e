//! Delay lines: memory of the last frames of a stream.
//!
//! A frame holds the elements of one step. The order of frames in memory serves either single
//! steps or blocks of steps.

use std::fmt::{self, Display, Formatter};

/// The period of a ring is a multiple of this number, so that rings begin at whole vectors.
const UNIT: usize = 16;

/// The layout of a delay line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayLine {
    /// The greatest common divisor of the history's length and the taps' ages, in steps.
    pub phases: usize,
    /// Frames per phase: the line holds `phases * frames` frames.
    pub frames: usize,
    /// Elements of a frame before the axis of time: channels.
    pub outer: usize,
    /// Elements of a frame after the axis of time.
    pub inner: usize,
    /// The order of the frames.
    pub order: FrameOrder,
}

/// The order of the frames of a delay line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOrder {
    /// `[phases][frames][outer][inner]`. Frames whose numbers are equal modulo `phases` share a
    /// row, so that an operation with taps at multiples of `phases` finds all taps in one row, at
    /// constant places, the oldest first. A step moves the frames of its own row by one place and
    /// writes its frame after them. All other rows stay untouched.
    Rows,
    /// `[outer][inner][pitch]`: a ring for each element of a frame. Every frame has two places in
    /// the ring, one period apart, so that the frames before a step and a block of steps are
    /// contiguous wherever the ring begins.
    Rings {
        /// The most steps of a block.
        steps: usize,
    },
}

impl Display for DelayLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { phases, frames, order, .. } = self;
        match order {
            FrameOrder::Rows => {
                write!(f, "a delay line [{phases}][{frames}][{}]", self.frame())
            }
            FrameOrder::Rings { .. } => {
                write!(f, "{} rings of {} steps", self.frame(), self.period())
            }
        }
    }
}

impl DelayLine {
    /// Elements of a frame.
    pub fn frame(&self) -> usize {
        self.outer * self.inner
    }

    /// Elements of the frames with numbers that are equal modulo `phases`.
    pub fn row(&self) -> usize {
        self.frames * self.frame()
    }

    /// Elements of the delay line.
    pub fn len(&self) -> usize {
        match self.order {
            FrameOrder::Rows => self.phases * self.row(),
            FrameOrder::Rings { .. } => self.frame() * self.pitch(),
        }
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements that a step writes.
    pub fn written(&self) -> usize {
        match self.order {
            FrameOrder::Rows => self.row(),
            FrameOrder::Rings { .. } => 2 * self.frame(),
        }
    }

    /// The number of frames in the line.
    pub fn history(&self) -> usize {
        self.phases * self.frames
    }

    /// The number of steps after which a step uses the same places again.
    pub fn period(&self) -> usize {
        match self.order {
            FrameOrder::Rows => self.phases,
            FrameOrder::Rings { steps } => (self.history() + steps).next_multiple_of(UNIT),
        }
    }

    /// Elements between the rings of neighbouring elements of a frame.
    pub fn pitch(&self) -> usize {
        match self.order {
            FrameOrder::Rows => 1,
            FrameOrder::Rings { steps } => 2 * self.period() + steps,
        }
    }

    /// The place of an element of a frame, relative to the row of a step or to the oldest frame in
    /// the rings. `number` counts the frames from the oldest; in rows, `number` is a multiple of
    /// `phases`.
    pub fn offset(&self, element: usize, number: usize) -> usize {
        match self.order {
            FrameOrder::Rows => number / self.phases * self.frame() + element,
            FrameOrder::Rings { .. } => element * self.pitch() + number,
        }
    }

    /// The memory before a step with this phase, from an array `[outer][history][inner]` in order
    /// of time.
    ///
    /// # Panics
    /// If the array is shorter.
    pub fn in_rows<T: Copy>(&self, values: &[T], phase: usize) -> Vec<T> {
        let mut memory = values.to_vec();
        if let FrameOrder::Rings { .. } = self.order {
            // a place without a frame holds the oldest frame
            let oldest = |element: usize| {
                values[element / self.inner * self.history() * self.inner + element % self.inner]
            };
            memory = (0..self.len()).map(|at| oldest(at / self.pitch())).collect();
        }
        for (at, offset) in self.places(phase).enumerate() {
            memory[offset] = values[at];
            if let Some(twin) = self.twin(offset) {
                memory[twin] = values[at];
            }
        }
        memory
    }

    /// The inverse of [`Self::in_rows`].
    ///
    /// # Panics
    /// If the memory has another length.
    pub fn in_order_of_time<T: Copy>(&self, memory: &[T], phase: usize) -> Vec<T> {
        assert_eq!(memory.len(), self.len(), "the memory of a delay line");
        self.places(phase).map(|offset| memory[offset]).collect()
    }

    /// For each element in order of time: its place in memory.
    fn places(&self, phase: usize) -> impl Iterator<Item = usize> {
        let Self { phases, inner, order, .. } = *self;
        let (frame, row, history, pitch) = (self.frame(), self.row(), self.history(), self.pitch());
        (0..frame * history).map(move |at| {
            let (channel, number) = (at / inner / history, at / inner % history);
            let element = channel * inner + at % inner;
            match order {
                FrameOrder::Rows => {
                    (phase + number) % phases * row + number / phases * frame + element
                }
                FrameOrder::Rings { steps } => element * pitch + steps + phase + number,
            }
        })
    }

    /// The other place of an element in its ring. `None` if no step reads the other place.
    fn twin(&self, offset: usize) -> Option<usize> {
        let FrameOrder::Rings { steps } = self.order else { return None };
        let (at, period) = (offset % self.pitch(), self.period());
        match at {
            _ if at < period => Some(offset + period),
            _ if at >= period + steps => Some(offset - period),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DelayLine, FrameOrder};

    /// Frames that are written step by step, each into the row of its step, stand where the order
    /// of time says.
    #[test]
    fn rows_hold_the_frames_of_their_steps() {
        let order = FrameOrder::Rows;
        let line = DelayLine { phases: 3, frames: 2, outer: 2, inner: 2, order };
        // the digits are the frame, the channel and the element
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

    /// A ring holds the last frames in order after blocks of any length, of which some write more
    /// frames than they keep.
    #[test]
    fn rings_hold_the_last_frames_in_order() {
        for (phases, frames, steps) in [(1, 2, 4), (3, 2, 4), (5, 7, 16), (1, 1, 16)] {
            let order = FrameOrder::Rings { steps };
            let line = DelayLine { phases, frames, outer: 1, inner: 1, order };
            let (history, period) = (line.history(), line.period());
            let mut memory = line.in_rows(&vec![0; history], 0);
            let (mut t, mut taken) = (0, 0);
            while t < 40 * period {
                taken = (taken * 7 + 3) % (steps + 1);
                let (written, kept) = if taken == 0 { (1, 1) } else { (steps, taken) };
                let at = steps + t % period + history;
                let twin = if at < period { at + period } else { at - period };
                for i in 0..written {
                    memory[at + i] = t + i + 1;
                    memory[twin + i] = t + i + 1;
                }
                t += kept;
                let last: Vec<usize> =
                    (0..history).map(|k| (t + k + 1).saturating_sub(history)).collect();
                assert_eq!(line.in_order_of_time(&memory, t % period), last, "{line} after {t}");
                let again = line.in_rows(&last, t % period);
                assert_eq!(line.in_order_of_time(&again, t % period), last, "{line} after {t}");
            }
        }
    }
}
