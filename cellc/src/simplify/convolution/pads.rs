//! Pad, and the padding of convolutions and pools.

use super::windows::Axis;
use crate::check::limits::MOST_ALONG_AXIS;
use crate::check::step_facts::{Before, Front};
use crate::core::{Geometry, Known, signed, strides};
use crate::model::{ElementType, Node, PadMode, shape_text};
use crate::simplify::layout::concats::put_together;
use crate::simplify::refusal::Refusal;
use crate::simplify::translator::Translator;

/// The elements of padding.
pub(super) enum PadValue {
    Number(f32),
    /// One element.
    Computed(Known),
}

impl<'a> Translator<'_, 'a> {
    /// A tensor with more elements along its last axes, or fewer where a pad is negative.
    pub(super) fn padded(
        &mut self,
        node: &'a Node,
        x: &Known,
        axes: &[Axis],
        value: f32,
    ) -> Option<Known> {
        let first = self.core.shape_of(x).len() - axes.len();
        let mut x = x.clone();
        let value = PadValue::Number(value);
        for (at, axis) in axes.iter().enumerate() {
            x = self.pad_axis(
                node,
                &x,
                first + at,
                (axis.begin, axis.end),
                PadMode::Constant,
                &value,
            )?;
        }
        Some(x)
    }

    /// A tensor with more elements at the sides of an axis, or fewer.
    pub(super) fn pad_axis(
        &mut self,
        node: &'a Node,
        x: &Known,
        axis: usize,
        (begin, end): (i64, i64),
        mode: PadMode,
        value: &PadValue,
    ) -> Option<Known> {
        let part = |this: &mut Self, x: &Known, start: usize, step: isize, count: usize| {
            let mut shape = this.core.shape_of(x);
            let mut own = signed(strides(&shape));
            let offset = start * own[axis] as usize;
            own[axis] *= step;
            shape[axis] = count;
            this.view(node, x, Geometry { offset, strides: own, shape })
        };
        // negative padding is cut off before positive padding is added
        let mut x = x.clone();
        if begin < 0 || end < 0 {
            let size = self.core.shape_of(&x)[axis] as i64;
            let (start, cut) = ((-begin).max(0), (-end).max(0));
            let Some(count) = usize::try_from(size - start - cut).ok().filter(|&count| count > 0)
            else {
                let found = format!("pads of {begin} and {end} on {size} elements");
                self.refuse(
                    node,
                    Refusal::new(found, "something that is left", "correct the pads"),
                );
                return None;
            };
            x = part(self, &x, start as usize, 1, count)?;
        }
        let (begin, end) = (begin.max(0) as usize, end.max(0) as usize);
        let shape = self.core.shape_of(&x);
        let size = shape[axis];
        let most = match mode {
            PadMode::Constant => usize::MAX,
            PadMode::Edge => usize::MAX,
            PadMode::Reflect => size - 1,
            PadMode::Symmetric | PadMode::Wrap => size,
        };
        if begin > most || end > most {
            let found =
                format!("pads of {begin} and {end} by the elements of a side, on {size} elements");
            self.refuse(node, Refusal::new(found, format!("at most {most}"), "correct the pads"));
            return None;
        }
        let element = x.element();
        // the first element of the padding at either side, and the direction of the next
        let (before, after) = match mode {
            PadMode::Constant | PadMode::Edge => ((0, 0), (size - 1, 0)),
            PadMode::Reflect => ((begin, -1), (size.saturating_sub(2), -1)),
            PadMode::Symmetric => ((begin.saturating_sub(1), -1), (size - 1, -1)),
            PadMode::Wrap => ((size - begin, 1), (0, 1)),
        };
        let side = |this: &mut Self,
                    count: usize,
                    (start, step): (usize, isize)|
         -> Option<Option<Known>> {
            if count == 0 {
                return Some(None);
            }
            if mode != PadMode::Constant {
                return part(this, &x, start, step, count).map(Some);
            }
            let mut shape = shape.clone();
            shape[axis] = count;
            let number = match value {
                PadValue::Number(number) => *number,
                PadValue::Computed(value) => {
                    let strides = vec![0; shape.len()];
                    return this
                        .view(node, value, Geometry { offset: 0, strides, shape })
                        .map(Some);
                }
            };
            this.foldable(node, &shape, ElementType::F32)?;
            let len = shape.iter().product();
            Some(Some(Known::floats(shape, &vec![number; len], element)))
        };
        let (first, last) = (side(self, begin, before)?, side(self, end, after)?);
        let pieces: Vec<Known> = first.into_iter().chain([x.clone()]).chain(last).collect();
        self.build(node, |core| put_together(core, &pieces, axis))
    }

    /// Pad. The padding is given for each axis of the data, or for the axes of the fifth input.
    pub(in crate::simplify) fn pad(&mut self, node: &'a Node, mode: PadMode) {
        let Some(x) = self.input(node, 0) else { return };
        let (Some(begin), Some(end)) =
            (self.integers(node, 1, "the pads"), self.integers(node, 2, "the pads"))
        else {
            return;
        };
        let value = match self.input(node, 3) {
            None => PadValue::Number(0.0),
            Some(value) => match (value.tensor(), self.core.shape_of(&value)) {
                (Some(tensor), _) if tensor.len() == 1 => PadValue::Number(tensor.get_f32(0)),
                (None, shape) if shape.iter().product::<usize>() == 1 => PadValue::Computed(value),
                (_, shape) => {
                    let found = format!("a value for pads of shape {}", shape_text(&shape));
                    self.refuse(node, Refusal::new(found, "one number", "connect one number"));
                    return;
                }
            },
        };
        let rank = self.core.shape_of(&x).len();
        let axes: Option<Vec<usize>> = match node.inputs.len() {
            5 => match self.integers(node, 4, "the axes") {
                Some(axes) => axes.into_iter().map(|axis| self.axis(node, axis, rank)).collect(),
                None => return,
            },
            _ => Some((0..rank).collect()),
        };
        let Some(axes) = axes else { return };
        let mut once = axes.clone();
        once.sort_unstable();
        once.dedup();
        if begin.len() != axes.len() || end.len() != axes.len() || once.len() != axes.len() {
            let found = format!("{} and {} pads for {} axes", begin.len(), end.len(), axes.len());
            self.refuse(
                node,
                Refusal::new(found, "two for each axis, each axis once", "correct the pads"),
            );
            return;
        }
        if begin.iter().chain(&end).any(|pad| pad.unsigned_abs() > MOST_ALONG_AXIS as u64) {
            self.refuse(node, Refusal::new("a pad above 2^24", "smaller pads", "correct the pads"));
            return;
        }
        let shape = self.core.shape_of(&x);
        let fronts = axes.iter().zip(begin.iter().zip(&end)).filter(|(_, (begin, _))| **begin > 0);
        let fronts = fronts.map(|(&axis, (&begin, &end))| Front {
            size: shape[axis],
            reach: begin as usize,
            is_causal: end <= 0,
        });
        self.note_lookback(node, &x, Before::Pads, fronts.collect());
        let mut padded = x;
        for ((axis, begin), end) in axes.into_iter().zip(begin).zip(end) {
            let Some(next) = self.pad_axis(node, &padded, axis, (begin, end), mode, &value) else {
                return;
            };
            padded = next;
        }
        self.set(node, 0, padded);
    }
}
