//! Copies: strided views, and concatenations.

use super::builder::{KernelBuilder, Lowered, MovingPlace, copy};
use super::product::for_rows;
use crate::core::{Concat, Source, View, strides};
use crate::kernel::{Copied, CopiedDim, Place, Stmt};

/// A strided copy with as few loops as possible. A dimension is (extent, from stride, to stride),
/// the outermost first.
pub(super) fn strided(
    from: Place,
    to: Place,
    dims: impl IntoIterator<Item = (usize, isize, usize)>,
) -> Stmt {
    let mut merged: Vec<CopiedDim> = Vec::new();
    for (extent, from_stride, to_stride) in dims {
        if extent == 1 {
            continue;
        }
        // one loop serves this dimension and the outer one if both strides continue the outer ones
        match merged.last_mut() {
            Some(outer)
                if outer.from_stride == from_stride * extent as isize
                    && outer.to_stride == to_stride * extent =>
            {
                *outer = CopiedDim { extent: outer.extent * extent, from_stride, to_stride };
            }
            _ => merged.push(CopiedDim { extent, from_stride, to_stride }),
        }
    }
    if merged.is_empty() {
        return copy(from, to, 1);
    }
    Stmt::Copy(Copied::new(from, to, merged))
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn view(&mut self, view: &'m View) -> Lowered {
        let to = self.lowering.source(Source::Value(view.out));
        if let Some(taps) = self.lowering.plan.delay_lines.taps.get(&view.out) {
            return match self.lowering.steps {
                1 => self.gathered(taps, to),
                _ => self.gathered_of_steps(taps, to),
            };
        }
        let shape = &self.lowering.model.values[view.out].shape;
        let steps = self.lowering.steps;
        let from = self.lowering.source(view.input).at(view.offset * steps);
        if from == to {
            return Lowered::default();
        }
        let dims = shape
            .iter()
            .zip(&view.strides)
            .zip(strides(shape))
            .map(|((&n, &from), to)| (n, from * steps.cast_signed(), to * steps))
            .chain([(steps, 1, 1)]);
        Lowered::new(
            format!("Copy in another order, to the shape {shape:?}."),
            vec![strided(from, to, dims)],
        )
    }

    pub(super) fn concat(&mut self, concat: &'m Concat) -> Lowered {
        let to = self.lowering.source(Source::Value(concat.out));
        let shape = &self.lowering.model.values[concat.out].shape;
        let outer: usize = shape[..concat.axis].iter().product();
        let steps = self.lowering.steps;
        let inner = steps * shape[concat.axis + 1..].iter().product::<usize>();
        let stride = shape[concat.axis] * inner;
        let mut at = 0;
        let mut body = Vec::new();
        for &input in &concat.inputs {
            let from = self.lowering.source(input);
            let len = self.lowering.len(input) * steps / outer;
            let place = to.at(at);
            if self.lowering.is_given(input) && (outer == 1 || from.base != place.base) {
                let rows = [
                    MovingPlace::new("input_row", from, len, false),
                    MovingPlace::new("row", to, stride, true),
                ];
                body.extend(for_rows(self, outer, &rows, |builder, places| {
                    builder.copy_elements(input, places[0], places[1].at(at), len)
                }));
                at += len;
                continue;
            }
            let from = self.flushed_tensor(&mut body, "input", input, from);
            // values computed in place need no copy
            if from.base == place.base && from != place {
                // source and destination are in one buffer and may overlap: copy to scratch memory
                // first
                let kept: Place = self.block("kept", outer * len);
                body.push(copy(from, kept, outer * len));
                body.push(strided(kept, place, [(outer, len as isize, stride), (len, 1, 1)]));
            } else if from != place {
                body.push(strided(from, place, [(outer, len as isize, stride), (len, 1, 1)]));
            }
            at += len;
        }
        let lens: Vec<_> = concat
            .inputs
            .iter()
            .map(|input| (self.lowering.len(*input) * steps / inner / outer).to_string())
            .collect();
        let doc = format!("Concatenation along axis {}: sizes {}.", concat.axis, lens.join(", "));
        Lowered::new(doc, body)
    }
}
