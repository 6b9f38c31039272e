//! Maxima and means of windows.

use super::pads::PadValue;
use super::windows::{Axis, Patches};
use crate::core::{CoreOp, Dense, Known, PointwiseFunction, Source, WeightSource};
use crate::model::{Node, PadMode, Pool, PoolKind, Tensor};
use crate::simplify::operands::shapes_differ;
use crate::simplify::refusal::Refusal;
use crate::simplify::translator::Translator;

/// The input and the windows of a pool.
struct Pooled {
    x: Known,
    /// The axes with the pads of the model.
    stated: Vec<Axis>,
    /// The axes with pads up to the end of the last window.
    axes: Vec<Axis>,
    /// The number of windows, by axis.
    counts: Vec<usize>,
    /// The number of elements of a window.
    taps: usize,
    /// The shape of the result.
    to: Vec<usize>,
}

impl<'a> Translator<'_, 'a> {
    pub(in crate::simplify) fn pool(&mut self, node: &'a Node, of: &Pool) {
        if let Some(y) = self.pooled(node, of) {
            self.set(node, 0, y);
        }
    }

    fn pooled(&mut self, node: &'a Node, of: &Pool) -> Option<Known> {
        if let Some(&indices) = node.outputs.get(1)
            && self.model.nodes.iter().any(|other| other.inputs.contains(&indices))
        {
            let found = "the indices of a maximum pool's elements are used";
            self.refuse(
                node,
                Refusal::new(
                    found,
                    "the elements themselves, output 0",
                    "leave the indices unused",
                ),
            );
            return None;
        }
        let x = self.input(node, 0)?;
        // the largest of integers is an integer, so nothing is rounded
        let range = (of.kind == PoolKind::Max && !x.element().is_float())
            .then(|| self.core.facts.range_of(&x));
        if range.is_none() {
            self.all_floats(node, std::slice::from_ref(&x))?;
        }
        let shape = self.core.shape_of(&x);
        if shape.len() < 3 || shape.len() > 5 {
            let valid = "[N, C, ..] with one to three more dimensions";
            self.refuse(node, shapes_differ(&[shape], valid, "reshape the input"));
            return None;
        }
        let (batch, channels, spatial) = (shape[0], shape[1], &shape[2..]);
        let kernel = if of.kernel.is_empty() { spatial.to_vec() } else { of.kernel.clone() };
        let mut axes = self.axes(node, &of.window, spatial, &kernel)?;
        if axes.iter().any(|axis| {
            axis.begin < 0 || axis.end < 0 || axis.begin.max(axis.end) >= axis.reach() as i64
        }) {
            let found = "a pad that is negative, or as long as the kernel";
            self.refuse(
                node,
                Refusal::new(found, "pads shorter than the kernel", "correct the pads"),
            );
            return None;
        }
        let counts = self.windows(node, &axes, of.rounding)?;
        let behind = |(axis, &count): (&Axis, &usize)| {
            (count - 1) as i64 * axis.stride as i64 >= axis.size as i64 + axis.begin
        };
        if axes.iter().zip(&counts).any(behind) {
            let found = "a last window that holds nothing but pads";
            let help = "round the number of windows down, or as PyTorch does, or use other pads";
            self.refuse(node, Refusal::new(found, "an element of the data in each window", help));
            return None;
        }
        self.note_windows(node, &x, &axes);
        let stated = axes.clone();
        // the elements of the last windows beyond the end
        for (axis, &count) in axes.iter_mut().zip(&counts) {
            let reached = (count - 1) * axis.stride + axis.reach();
            axis.end = axis.end.max(reached as i64 - axis.size as i64 - axis.begin);
        }
        let to = [&[batch, channels], &counts[..]].concat();
        self.computable(node, &to)?;
        let taps: usize = kernel.iter().product();
        if x.tensor().is_some() {
            self.affords(node, to.iter().product::<usize>().saturating_mul(taps))?;
        }
        let pooled = Pooled { x, stated, axes, counts, taps, to };
        match of.kind {
            PoolKind::Max => self.maximum_of_windows(node, pooled, range),
            PoolKind::Average { count_pads } => self.average_of_windows(node, pooled, count_pads),
        }
    }

    /// The largest element of each window. `range`: the range of integers.
    fn maximum_of_windows(
        &mut self,
        node: &'a Node,
        Pooled { x, axes, counts, taps, to, .. }: Pooled,
        range: Option<[f64; 2]>,
    ) -> Option<Known> {
        let gapped = axes.iter().any(|axis| axis.dilation > 1 && axis.begin.max(axis.end) > 0);
        if gapped && axes.iter().zip(&counts).any(|(axis, &count)| axis.has_window_of_pads(count)) {
            let found = "a window that holds nothing but pads";
            let help = "pad the input by an operator of its own";
            self.refuse(node, Refusal::new(found, "an element of the data in each window", help));
            return None;
        }
        // an element of the data in every window at the border may stand for the padding; without
        // such an element, and in a model of one step, the smallest number stands for it
        let (mode, least) = match self.inputs.open {
            None if !gapped => (PadMode::Edge, 0.0),
            _ => (PadMode::Constant, range.map_or(f32::NEG_INFINITY, |[least, _]| least as f32)),
        };
        let mut padded = x;
        for (at, axis) in axes.iter().enumerate() {
            padded = self.pad_axis(
                node,
                &padded,
                2 + at,
                (axis.begin, axis.end),
                mode,
                &PadValue::Number(least),
            )?;
        }
        let patches = self.patches(padded, &axes, &counts);
        let mut most: Option<Known> = None;
        for tap in 0..taps {
            let dims = [&[patches.batch, patches.channels], &patches.positions[..]].concat();
            let next = self.view(node, &patches.x, Patches::view(patches.offset(tap), dims))?;
            most = Some(match most {
                None => next,
                Some(most) => {
                    self.pointwise_of(node, PointwiseFunction::Maximum, &[next, most], to.clone())?
                }
            });
        }
        if let (Some(most), Some(range)) = (&most, range) {
            self.core.facts.set_range(most, range);
        }
        most
    }

    /// The mean of the elements of each window. `count_pads`: true if pads count as elements.
    fn average_of_windows(
        &mut self,
        node: &'a Node,
        Pooled { x, stated, axes, counts, taps, to }: Pooled,
        count_pads: bool,
    ) -> Option<Known> {
        let element = x.element();
        let padded = self.padded(node, &x, &axes, 0.0)?;
        let patches = self.patches(padded, &axes, &counts);
        let dims =
            [&[patches.batch, patches.channels], &patches.positions[..], &patches.taps].concat();
        let patches = self.view(node, &patches.x, Patches::view(0, dims))?;
        let rows: usize = to.iter().product();
        let ones = Tensor::from_f32(vec![1, taps], &vec![1.0; taps])?;
        let source = self.source(&patches)?;
        let w = WeightSource::Constant(self.core.intern(&ones));
        let out = self.core.value(to.clone());
        let dense = Dense {
            rows,
            inputs: taps,
            outputs: 1,
            x: source,
            w,
            transposed: true,
            chains: 1,
            out,
        };
        self.core.emit(CoreOp::Dense(dense));
        let sum = Known::Source(Source::Value(out), element);
        // the number of elements in each window
        let held: Vec<Vec<f32>> = stated
            .iter()
            .zip(&counts)
            .map(|(axis, &count)| {
                let inside = |window: usize| {
                    let first = (window * axis.stride) as i64 - axis.begin;
                    let places = (0..axis.kernel).map(|tap| first + (tap * axis.dilation) as i64);
                    let size = axis.size as i64;
                    let pads = if count_pads { (axis.begin, axis.end) } else { (0, 0) };
                    places.filter(|&place| place >= -pads.0 && place < size + pads.1).count() as f32
                };
                (0..count).map(inside).collect()
            })
            .collect();
        let mut counted = vec![1.0f32];
        for axis in &held {
            counted = counted.iter().flat_map(|&n| axis.iter().map(move |&m| n * m)).collect();
        }
        let mut shape = [&[1, 1], &counts[..]].concat();
        // one number suffices if all windows contain equally many elements
        if counted.iter().all(|&n| n == counted[0]) {
            counted.truncate(1);
            shape.fill(1);
        }
        let counted = Known::floats(shape, &counted, element);
        self.pointwise_of(node, PointwiseFunction::Divide, &[sum, counted], to)
    }
}
