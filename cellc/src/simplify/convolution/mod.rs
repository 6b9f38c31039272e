//! Convolutions and pools. Many windows of stride 1 become a Convolve; others become patches of
//! the padded input, the rows of a dense layer. Both forms give the same bits: in a model of one
//! step, windows have one position and are rows of a dense layer.
//!
//! Sums run in the order of the weights: over input channels, and within a channel over the taps of
//! the kernel. Depthwise convolutions have one channel.

mod lines;
mod pads;
mod pools;
mod transposed;
mod windows;

use super::parts::padded_behind;
use crate::core::{
    CoreOp, Dense, DynamicLength, Geometry, Known, MOST_PRODUCTS, MatMul, Pointwise,
    PointwiseFunction, Source, WeightSource, signed, strides,
};
use crate::encoding::WeightFormat;
use crate::model::{
    Convolution, ElementType, Elementwise, Groups, Node, Op, OutputSizes, Rounding, Tensor,
};
use crate::simplify::elementwise::computed;
use crate::simplify::layout::concats::put_together;
use crate::simplify::operands::shapes_differ;
use crate::simplify::refusal::Refusal;
use crate::simplify::translator::Translator;
use lines::{Lines, MOST_OF_FOUR};
use windows::{Axis, Patches};

/// Number of window positions from which lanes run along the positions.
const LEAST_POSITIONS: usize = 8;

impl<'a> Translator<'_, 'a> {
    pub(super) fn convolution(&mut self, node: &'a Node, of: &Convolution) {
        if let Some(y) = self.convolved(node, of, None) {
            self.set(node, 0, y);
        }
    }

    /// The output of a convolution. `cut`: an axis of the windows, and a number of last elements to
    /// leave out. `None` after an error, and if a cut would change other elements.
    pub(super) fn convolved(
        &mut self,
        node: &'a Node,
        of: &Convolution,
        cut: Option<(usize, usize)>,
    ) -> Option<Known> {
        let (x, w) = (self.input(node, 0)?, self.input(node, 1)?);
        self.all_floats(node, &[x.clone(), w.clone()])?;
        let (shape, mut weights) = (self.core.shape_of(&x), self.core.shape_of(&w));
        let mut w = w;
        let valid = "data [N, C, ..], weights [M, C / groups, ..] (transposed [C, M / groups, ..]) \
            of as many dimensions";
        let groups = match of.groups {
            Groups::Count(count) => count,
            // the first dimension of the weights counts the groups
            Groups::InWeights if weights.len() == shape.len() + 1 => {
                let groups = weights.remove(0);
                weights[0] *= groups;
                w = self.view(node, &w, Geometry::reshaped(weights.clone()))?;
                groups
            }
            Groups::InWeights => 0,
        };
        let channels = shape.get(1).copied().unwrap_or(0);
        let fits = shape.len() >= 3
            && shape.len() <= 5
            && weights.len() == shape.len()
            && groups > 0
            && weights.iter().chain(&shape).all(|&size| size > 0)
            && weights[0].is_multiple_of(groups)
            && channels.is_multiple_of(groups)
            && if of.transposed { weights[0] == channels } else { weights[1] * groups == channels };
        if !fits {
            let shapes = [shape, weights];
            self.refuse(
                node,
                shapes_differ(
                    &shapes,
                    valid,
                    format!("correct the shapes, or the number of groups, {groups}"),
                ),
            );
            return None;
        }
        let kernel = weights[2..].to_vec();
        let axes = self.axes(node, &of.window, &shape[2..], &kernel)?;
        let without = |axes: &mut [Axis]| match cut {
            None => Some(()),
            Some((axis, count)) => {
                let axis = axes.get_mut(axis)?;
                axis.end -= (count * axis.stride) as i64;
                (axis.end >= 0).then_some(())
            }
        };
        if !of.transposed {
            let mut axes = axes;
            without(&mut axes)?;
            self.note_windows(node, &x, &axes);
            return self.sums(node, &x, &w, groups, &axes, &kernel);
        }
        let (x, mut axes) = self.transposed_axes(node, of, &x, axes)?;
        without(&mut axes)?;
        // weights [C, M / g, k] become [M, C / g, k], with the taps of each kernel reversed
        let (inner, outer) = (channels / groups, weights[1]);
        let own = signed(strides(&weights));
        let taps: usize = kernel.iter().product();
        let mut geometry = Geometry {
            offset: taps - 1,
            strides: vec![own[0] * inner as isize, own[1], own[0]],
            shape: vec![groups, outer, inner],
        };
        geometry.strides.extend(own[2..].iter().map(|stride| -stride));
        geometry.shape.extend(&kernel);
        let w = self.view(node, &w, geometry)?;
        let w = self.view(
            node,
            &w,
            Geometry::reshaped([&[groups * outer, inner], &kernel[..]].concat()),
        )?;
        self.sums(node, &x, &w, groups, &axes, &kernel)
    }

    /// A convolution along an axis with a run-time number of elements: zeros follow the last
    /// element. `None` unless windows move element by element along the axis, and after an error.
    pub(super) fn convolution_of_parts(
        &mut self,
        node: &'a Node,
        of: &Convolution,
        length: DynamicLength,
        along: usize,
    ) -> Option<(Known, DynamicLength)> {
        let (x, w) = (self.input(node, 0)?, self.input(node, 1)?);
        let (shape, weights) = (self.core.shape_of(&x), self.core.shape_of(&w));
        let spatial = shape.get(2..).filter(|_| !of.transposed && weights.len() >= shape.len())?;
        let kernel = &weights[weights.len() - spatial.len()..];
        let axis = *self.axes(node, &of.window, spatial, kernel)?.get(along.checked_sub(2)?)?;
        if axis.stride != 1 || axis.begin < 0 || axis.end < 0 {
            return None;
        }
        let number = |value: i64| Known::integers(Vec::new(), &[value], ElementType::I64);
        let more = number(axis.begin + axis.end - (axis.reach() as i64 - 1));
        let count = Known::Source(length.count, ElementType::I64);
        let count = self.build(node, |core| computed(core, Elementwise::Add, vec![count, more]))?;
        let count =
            self.build(node, |core| computed(core, Elementwise::Maximum, vec![count, number(0)]))?;
        let zero = Known::number_like(&x, 0.0);
        let parts = self.build(node, |core| padded_behind(core, &x, length, &zero))?;
        let whole = self.known[node.inputs[0].0].replace(parts);
        let y = self.convolved(node, of, None);
        self.known[node.inputs[0].0] = whole;
        Some((y?, DynamicLength { count: self.source(&count)?, is_zero: false, ..length }))
    }

    /// The convolution itself: x `[N, C, ..]`, w `[M, C / g, ..]`.
    fn sums(
        &mut self,
        node: &'a Node,
        x: &Known,
        w: &Known,
        groups: usize,
        axes: &[Axis],
        kernel: &[usize],
    ) -> Option<Known> {
        let counts = self.windows(node, axes, Rounding::Floor)?;
        let (batch, channels) = (self.core.shape_of(x)[0], self.core.shape_of(x)[1]);
        let (outputs, inner) = (self.core.shape_of(w)[0], channels / groups);
        let known = w.tensor();
        let (positions, count): (usize, usize) = (counts.iter().product(), kernel.iter().product());
        let to = [&[batch, outputs], &counts[..]].concat();
        self.computable(node, &to)?;
        let depthwise = known.filter(|_| inner == 1 && groups > MOST_PRODUCTS);
        // only dense layers have weights of fewer bits and integer arithmetic
        let floats =
            self.subject.options.numerics.precision_in(&node.name).stored() == WeightFormat::F32;
        if let Some(weights) =
            known.filter(|_| self.inputs.open.is_none() && (depthwise.is_some() || floats))
        {
            let line = Lines::new(axes, &counts)
                .filter(|line| line.positions * 4 <= positions * MOST_OF_FOUR);
            if let Some(lines) = line.filter(|_| positions >= LEAST_POSITIONS) {
                if depthwise.is_some() && count == 1 {
                    self.core.model.in_f32.push((node.name.clone(), "windows of one element"));
                }
                return self.along_lines(
                    node,
                    x,
                    weights,
                    [batch, groups, inner, outputs / groups],
                    &lines,
                    &counts,
                );
            }
        }
        if depthwise.is_some() {
            let why = match axes {
                _ if self.core.is_one_step => "a model that is computed step by step",
                _ if axes.iter().any(|axis| axis.stride != 1) => "windows with strides",
                _ if axes.iter().any(|axis| axis.begin < 0 || axis.end < 0) => "x cut off",
                _ if positions < LEAST_POSITIONS => "fewer than 8 positions",
                _ => "a small plane",
            };
            self.core.model.in_f32.push((node.name.clone(), why));
        }
        let x = self.padded(node, x, axes, 0.0)?;
        let patches = self.patches(x, axes, &counts);
        if let Some(weights) = depthwise {
            let y = self.channel_by_channel(
                node,
                &patches,
                weights,
                [batch, groups, outputs / groups, count],
                &counts,
            )?;
            return self.with_bias(node, y, 1);
        }
        let mut parts = Vec::new();
        for group in 0..groups {
            let sizes = [batch, inner, outputs / groups, count];
            parts.push(self.sums_of_group(node, &patches, w, group, sizes, &counts)?);
        }
        let last = counts.len() + 1;
        let y = self.build(node, |core| put_together(core, &parts, last))?;
        let y = self.with_bias(node, y, counts.len() + 1)?;
        // channels move back in front of the positions
        let shape = self.core.shape_of(&y);
        let own = signed(strides(&shape));
        let order: Vec<usize> = [0, counts.len() + 1].into_iter().chain(1..=counts.len()).collect();
        let geometry = Geometry {
            offset: 0,
            strides: order.iter().map(|&d| own[d]).collect(),
            shape: order.iter().map(|&d| shape[d]).collect(),
        };
        self.view(node, &y, geometry)
    }

    /// One group of a convolution, as a matrix product: `[N, positions.., M / g]`. `sizes`: batch
    /// size, input channels and output channels of the group, elements of the kernel.
    fn sums_of_group(
        &mut self,
        node: &'a Node,
        patches: &Patches,
        w: &Known,
        group: usize,
        [batch, inner, per_group, count]: [usize; 4],
        counts: &[usize],
    ) -> Option<Known> {
        let positions: usize = counts.iter().product();
        // [N, positions.., C, taps..] of the group's channels: a row for each position
        let stride = patches.channels.1;
        let dims =
            [&[patches.batch][..], &patches.positions, &[(inner, stride)], &patches.taps].concat();
        let rows =
            self.view(node, &patches.x, Patches::view(group * inner * stride as usize, dims))?;
        let size = inner * count;
        let source = self.source(&rows)?;
        let rows = batch * positions;
        let shape = [&[batch], counts, &[per_group]].concat();
        let offset = group * per_group * size;
        let out = if let Some(weights) = w.tensor() {
            let matrix = weights.part(offset, vec![per_group, size])?;
            let w = WeightSource::Constant(self.core.intern(&matrix));
            let out = self.core.value(shape);
            let dense = Dense {
                rows,
                inputs: size,
                outputs: per_group,
                x: source,
                w,
                transposed: true,
                chains: 1,
                out,
            };
            self.core.emit(CoreOp::Dense(dense));
            out
        } else {
            let columns =
                Geometry { offset, strides: vec![1, size as isize], shape: vec![size, per_group] };
            let b = self.view(node, w, columns)?;
            let b = self.source(&b)?;
            let out = self.core.value(shape);
            let of = MatMul { batch: 1, rows, inner: size, columns: per_group, a: source, b, out };
            self.core.emit(CoreOp::MatMul(of));
            out
        };
        self.steps.layers.insert(out, node);
        Some(Known::Source(Source::Value(out), patches.x.element()))
    }

    /// One channel for each group: the patches of each channel times its own weights.
    fn channel_by_channel(
        &mut self,
        node: &'a Node,
        patches: &Patches,
        weights: &Tensor,
        [batch, groups, each, taps]: [usize; 4],
        counts: &[usize],
    ) -> Option<Known> {
        let (element, rows) = (patches.x.element(), counts.iter().product());
        let dims =
            [&[patches.batch, patches.channels], &patches.positions[..], &patches.taps].concat();
        let rows_of_taps = self.view(node, &patches.x, Patches::view(0, dims))?;
        // [groups, taps, outputs of a group], for every row of x
        let of = |k: usize| {
            weights.get_f32((k / (taps * each) % groups * each + k % each) * taps + k / each % taps)
        };
        let shape = vec![batch * groups, taps, each];
        self.foldable(node, &shape, ElementType::F32)?;
        let matrix: Vec<f32> = (0..batch * groups * taps * each).map(of).collect();
        let b = self.source(&Known::floats(shape, &matrix, element))?;
        let a = self.source(&rows_of_taps)?;
        let out = self.core.value([&[batch, groups], counts, &[each]].concat());
        self.steps.layers.insert(out, node);
        let of = MatMul { batch: batch * groups, rows, inner: taps, columns: each, a, b, out };
        self.core.emit(CoreOp::MatMul(of));
        // the outputs of a group move in front of the positions
        let own = signed(strides(&[&[batch, groups], counts, &[each]].concat()));
        let last = counts.len() + 2;
        let order: Vec<usize> = [0, 1, last].into_iter().chain(2..last).collect();
        let shape = [&[batch, groups, each], counts].concat();
        let strides = order.iter().map(|&d| own[d]).collect();
        let y = Known::Source(Source::Value(out), element);
        let y = self.view(node, &y, Geometry { offset: 0, strides, shape })?;
        self.view(node, &y, Geometry::reshaped([&[batch, groups * each], counts].concat()))
    }

    /// Adds the optional third input: a number for each channel along `axis`.
    fn with_bias(&mut self, node: &'a Node, y: Known, axis: usize) -> Option<Known> {
        let shaped =
            matches!(&node.op, Op::Convolution(of) if of.output_sizes == OutputSizes::Input);
        if shaped || node.inputs.len() < 3 {
            return Some(y);
        }
        let bias = self.input(node, 2)?;
        if !bias.element().is_float() {
            let found = "a third input of integers";
            self.refuse(
                node,
                Refusal::new(
                    found,
                    "pads in place of a shape of the output",
                    "save the model with pads",
                ),
            );
            return None;
        }
        let to = self.core.shape_of(&y);
        let shape = self.core.shape_of(&bias);
        if shape != [to[axis]] {
            let shapes = [to, shape];
            self.refuse(
                node,
                shapes_differ(
                    &shapes,
                    "a bias for each output channel",
                    "correct the shape of the bias",
                ),
            );
            return None;
        }
        let mut wide = vec![1; to.len()];
        wide[axis] = to[axis];
        let bias = self.view(node, &bias, Geometry::reshaped(wide))?;
        self.pointwise_of(node, PointwiseFunction::Add, &[y, bias], to)
    }

    /// An operation element by element on floats of which one at least is computed.
    fn pointwise_of(
        &mut self,
        node: &Node,
        function: PointwiseFunction,
        inputs: &[Known],
        shape: Vec<usize>,
    ) -> Option<Known> {
        // the larger of two integers is an integer, so nothing is rounded
        if function != PointwiseFunction::Maximum {
            self.all_floats(node, inputs)?;
        }
        self.computable(node, &shape)?;
        let element = inputs[0].element();
        let inputs = inputs.iter().map(|input| self.source(input)).collect::<Option<_>>()?;
        let out = self.core.value(shape);
        self.core.emit(CoreOp::Pointwise(Pointwise { function, inputs, out }));
        Some(Known::Source(Source::Value(out), element))
    }
}
