//! Transposed convolutions, as convolutions of stride 1 over spread elements.

use super::windows::Axis;
use crate::check::limits::MOST_ALONG_AXIS;
use crate::core::{Geometry, Known, signed, strides};
use crate::model::{Convolution, ElementType, Node, OutputSizes, Padding, shape_text};
use crate::simplify::layout::concats::put_together;
use crate::simplify::refusal::Refusal;
use crate::simplify::translator::Translator;

impl<'a> Translator<'_, 'a> {
    /// A transposed convolution as a convolution of stride 1 over an input with zeros: `stride - 1`
    /// between neighbours along each axis.
    pub(super) fn transposed_axes(
        &mut self,
        node: &'a Node,
        of: &Convolution,
        x: &Known,
        axes: Vec<Axis>,
    ) -> Option<(Known, Vec<Axis>)> {
        let sizes = match &of.output_sizes {
            OutputSizes::Follow => None,
            OutputSizes::Given(sizes) => Some(sizes.iter().map(|&size| size as i64).collect()),
            OutputSizes::Input => Some(self.integers(node, 2, "the shape of the output")?),
        };
        // an exporter may state the whole shape, with N and C
        let sizes: Option<Vec<i64>> = sizes.map(|sizes: Vec<i64>| match &of.output_sizes {
            OutputSizes::Given(_) if sizes.len() == axes.len() + 2 => sizes[2..].to_vec(),
            _ => sizes,
        });
        if let Some(sizes) = sizes.as_ref().filter(|sizes| {
            sizes.len() != axes.len()
                || sizes.iter().any(|size| !(1..=MOST_ALONG_AXIS as i64).contains(size))
        }) {
            let found = format!("an output of {} for {} dimensions", shape_text(sizes), axes.len());
            self.refuse(
                node,
                Refusal::new(
                    found,
                    "a size of 1 or more for each",
                    "correct the shape of the output",
                ),
            );
            return None;
        }
        let mut x = x.clone();
        let mut all = Vec::new();
        for (at, axis) in axes.into_iter().enumerate() {
            let extra = of.output_padding.get(at).copied().unwrap_or(0);
            if extra >= axis.stride.max(axis.dilation) && extra > 0 {
                let found = format!("an output padding of {extra}");
                self.refuse(
                    node,
                    Refusal::new(
                        found,
                        "less than the stride or the dilation",
                        "correct the attribute",
                    ),
                );
                return None;
            }
            let full = axis.stride * (axis.size - 1) + axis.reach() + extra;
            let (mut begin, mut end) = (axis.begin, axis.end);
            let same = matches!(of.window.padding, Padding::SameUpper | Padding::SameLower);
            let wanted = match &sizes {
                Some(sizes) => Some(sizes[at]),
                None if same => Some((axis.size * axis.stride) as i64),
                None => None,
            };
            if let Some(wanted) = wanted {
                let total = full as i64 - wanted;
                let less = total.max(0) / 2;
                // what is cut before the first element: for an input with the output's shape
                // (OpenVINO), the larger half with same_upper, the smaller half with same_lower,
                // else pads_begin; for ONNX's output_shape, the smaller half with SAME_UPPER, else
                // the larger half
                begin = match (&of.output_sizes, &of.window.padding) {
                    (OutputSizes::Input, Padding::SameUpper) => total.max(0) - less,
                    (OutputSizes::Input, Padding::SameLower) => less,
                    (OutputSizes::Input, _) => begin,
                    (_, Padding::SameUpper) => less,
                    _ => total.max(0) - less,
                };
                if matches!(of.output_sizes, OutputSizes::Given(_)) && -total >= axis.stride as i64
                {
                    let found = format!("an output of {wanted} elements along an axis");
                    let valid = format!(
                        "at most {}, {full} and less than a stride more",
                        full + axis.stride - 1
                    );
                    self.refuse(
                        node,
                        Refusal::new(
                            found,
                            valid,
                            format!("correct {}", node.spelling.output_shape),
                        ),
                    );
                    return None;
                }
                end = total - begin;
            }
            let out = full as i64 - begin - end;
            if !(1..=MOST_ALONG_AXIS as i64).contains(&out) {
                let found = format!("an output of {out} elements along an axis");
                self.refuse(node, Refusal::new(found, "1 or more", "correct the pads"));
                return None;
            }
            let reach = axis.reach() as i64 - 1;
            x = self.spread_out(node, &x, 2 + at, axis.stride)?;
            all.push(Axis {
                size: axis.stride * (axis.size - 1) + 1,
                stride: 1,
                begin: reach - begin,
                end: reach - end + extra as i64,
                ..axis
            });
        }
        Some((x, all))
    }

    /// A tensor with zeros between the elements along an axis.
    fn spread_out(
        &mut self,
        node: &'a Node,
        x: &Known,
        axis: usize,
        stride: usize,
    ) -> Option<Known> {
        let shape = self.core.shape_of(x);
        if stride == 1 || shape[axis] == 1 {
            return Some(x.clone());
        }
        let mut column = shape.clone();
        column.insert(axis + 1, 1);
        let x = self.view(node, x, Geometry::reshaped(column.clone()))?;
        column[axis + 1] = stride - 1;
        self.foldable(node, &column, ElementType::F32)?;
        let len = column.iter().product();
        let zeros = Known::floats(column, &vec![0.0; len], x.element());
        let whole = self.build(node, |core| put_together(core, &[x, zeros], axis + 1))?;
        let mut wide = shape;
        wide[axis] *= stride;
        let whole = self.view(node, &whole, Geometry::reshaped(wide.clone()))?;
        // no zeros follow the last element
        let own = signed(strides(&wide));
        wide[axis] -= stride - 1;
        self.view(node, &whole, Geometry { offset: 0, strides: own, shape: wide })
    }
}
