//! Views of tensors with one element for each step: the test whether a view keeps the steps apart.

use super::{StepAnalysis, Why};
use crate::core::{CoreNode, View};

impl StepAnalysis<'_> {
    /// The reason against a view that combines or reorders steps, with the number of steps that the
    /// view looks ahead, if known.
    pub(super) fn looks(&self, node: &CoreNode, view: &View, axis: usize, before: usize) -> Why {
        let input = self.model.shape(view.input);
        let stride = input[axis + 1..].iter().product::<usize>().cast_signed();
        let period = self.steps + before;
        let shape = &self.model.values[view.out].shape;
        let along: Vec<(usize, isize)> = shape
            .iter()
            .zip(&view.strides)
            .filter(|&(&size, &step)| {
                size > 1
                    && step != 0
                    && step % stride == 0
                    && step % (stride * period.cast_signed()) != 0
            })
            .map(|(&size, &step)| (size, step / stride))
            .collect();
        let start = view.offset / stride.unsigned_abs() % period;
        let reflected = along.iter().find(|(_, step)| *step < 0);
        if reflected.is_some_and(|(size, step)| *size >= self.steps && *step == -1) {
            return Why::Reverses;
        }
        if let Some((size, _)) = reflected {
            let steps = if start < self.steps / 2 { start } else { *size };
            return Why::Reflects(steps);
        }
        // strided windows: one dimension has about the number of elements along the axis, divided
        // by the stride (at most a quarter more or less)
        let strided = along.iter().find(|(size, step)| {
            let windows = period / step.unsigned_abs();
            *step > 1 && size.abs_diff(windows) * 4 <= windows && windows > 1
        });
        if let Some((_, step)) = strided {
            return Why::Moves { by: step.unsigned_abs() };
        }
        let fewer = along
            .iter()
            .find(|(size, step)| *step == 1 && *size < self.steps && size * 2 > self.steps);
        match fewer {
            Some((size, _)) => Why::Shortens(self.steps - size),
            None if node.kind == "Pad" => Why::Repeats,
            None if start * 2 < period => Why::TakesSingle,
            None => Why::Across,
        }
    }

    /// True if a view reads only elements of the last step, as `y[:, -1]` does.
    pub(super) fn takes_last(&self, view: &View, axis: usize) -> bool {
        let input = self.model.shape(view.input);
        let stride: usize = input[axis + 1..].iter().product();
        let period = stride * self.steps;
        let start = view.offset % period;
        if start / stride + 1 != self.steps {
            return false;
        }
        let mut inner = start % stride;
        for (&size, &step) in self.model.values[view.out].shape.iter().zip(&view.strides) {
            match usize::try_from(step) {
                _ if size == 1 => {}
                Ok(step) if step.is_multiple_of(period) => {}
                Ok(step) => inner += step * (size - 1),
                Err(_) => return false,
            }
        }
        inner < stride
    }

    /// True if a view reads only the last `before` of the `steps + before` elements along `axis`:
    /// the elements in front of the step that follows the last step.
    pub(super) fn takes_front(&self, view: &View, axis: usize, before: usize) -> bool {
        let stride: usize = self.model.shape(view.input)[axis + 1..].iter().product();
        let period = stride * (self.steps + before);
        let start = view.offset % period;
        let (mut frame, mut inner) = (start / stride, start % stride);
        for (&size, &step) in self.model.values[view.out].shape.iter().zip(&view.strides) {
            match usize::try_from(step) {
                _ if size == 1 => {}
                Ok(step) if step.is_multiple_of(period) => {}
                Ok(step) if step.is_multiple_of(stride) => frame += step / stride * (size - 1),
                Ok(step) => inner += step * (size - 1),
                Err(_) => return false,
            }
        }
        start / stride >= self.steps && frame < self.steps + before && inner < stride
    }

    /// The axis of the output with one element for each step, and the number of elements in front
    /// of the first step along this axis. `None` if the view combines or reorders steps. `before`:
    /// the number of elements in front of the first step of the input, which windows may read.
    pub(super) fn viewed(&self, view: &View, axis: usize, before: usize) -> Option<(usize, usize)> {
        let input = self.model.shape(view.input);
        let stride: usize = input[axis + 1..].iter().product();
        let period = stride * (self.steps + before);
        let shape = &self.model.values[view.out].shape;
        let mut along = None;
        let start = view.offset % period;
        // negative strides may reverse elements within a step, but not steps
        let (mut least, mut inner, mut moved) = (start % stride, start % stride, start / stride);
        for (d, (&size, &step)) in shape.iter().zip(&view.strides).enumerate() {
            let backwards = step < 0;
            let step = step.unsigned_abs();
            if size == 1 || step == 0 || step.is_multiple_of(period) {
                continue;
            }
            if backwards {
                least = least.checked_sub(step * (size - 1))?;
                continue;
            }
            let in_front = size.checked_sub(self.steps).filter(|&in_front| in_front <= before);
            if let (Some(in_front), true, None) = (in_front, step == stride, along) {
                along = Some((d, in_front));
                moved += in_front;
            } else if before > 0 && step.is_multiple_of(stride) {
                moved += step / stride * (size - 1);
            } else {
                inner += step * (size - 1);
            }
        }
        along.filter(|_| inner < stride && moved <= before)
    }
}
