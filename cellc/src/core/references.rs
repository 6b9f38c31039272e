//! The references of core operations to tensors, for passes that renumber or remove tensors.

use super::{CoreCell, CoreLoop, CoreNode, CoreOp, Lengths, Sequence, Source, WeightSource};

impl CoreOp {
    /// Drops optional outputs, and a loop's slices, carried values and results, unless needed.
    /// `needed`: by value, true if a Result or a variable depends on the value.
    pub(crate) fn drop_outputs(&mut self, needed: &[bool]) {
        let keep = |value: &mut Option<usize>| *value = value.filter(|&value| needed[value]);
        match self {
            Self::Cell(cell) => {
                [&mut cell.y, &mut cell.h_out, &mut cell.c_out].into_iter().for_each(keep)
            }
            Self::TopK(top) => [&mut top.values, &mut top.places].into_iter().for_each(keep),
            Self::Loop(body) => {
                body.slices.retain(|slice| needed[slice.piece]);
                body.carried.retain(|carried| needed[carried.value]);
                body.results.retain(|result| needed[result.out]);
                keep(&mut body.running);
            }
            _ => {}
        }
    }
}

/// A reference of an operation to a tensor, for renumbering.
pub(crate) enum Name<'n> {
    /// An operand.
    Source(&'n mut Source),
    /// The weights of a product.
    Weight(&'n mut WeightSource),
    /// A value that the operation computes.
    Value(&'n mut usize),
}

/// Visits the references of operations to tensors, in bodies of loops too.
pub(crate) fn visit_names(nodes: &mut [CoreNode], visit: &mut impl FnMut(Name)) {
    for node in nodes {
        match &mut node.op {
            CoreOp::Cell(cell) => each_of_cell(cell, visit),
            CoreOp::Dense(dense) => {
                visit(Name::Source(&mut dense.x));
                visit(Name::Weight(&mut dense.w));
                visit(Name::Value(&mut dense.out));
            }
            CoreOp::MatMul(product) => {
                visit(Name::Source(&mut product.a));
                visit(Name::Source(&mut product.b));
                visit(Name::Value(&mut product.out));
            }
            CoreOp::Convolve(convolve) => {
                visit(Name::Source(&mut convolve.x));
                visit(Name::Source(&mut convolve.w));
                visit(Name::Value(&mut convolve.out));
            }
            CoreOp::Pointwise(pointwise) => {
                pointwise.inputs.iter_mut().for_each(|input| visit(Name::Source(input)));
                visit(Name::Value(&mut pointwise.out));
            }
            CoreOp::Softmax(softmax) => {
                visit(Name::Source(&mut softmax.input));
                visit(Name::Value(&mut softmax.out));
            }
            CoreOp::Reduce(reduce) => {
                visit(Name::Source(&mut reduce.input));
                visit(Name::Value(&mut reduce.out));
            }
            CoreOp::View(view) => {
                visit(Name::Source(&mut view.input));
                visit(Name::Value(&mut view.out));
            }
            CoreOp::Concat(concat) => {
                concat.inputs.iter_mut().for_each(|input| visit(Name::Source(input)));
                visit(Name::Value(&mut concat.out));
            }
            CoreOp::Loop(body) => each_of_loop(body, visit),
            CoreOp::Integers(integers) => visit(Name::Value(&mut integers.out)),
            CoreOp::Lookup(lookup) => {
                visit(Name::Source(&mut lookup.table));
                visit(Name::Source(&mut lookup.indices));
                visit(Name::Value(&mut lookup.out));
            }
            CoreOp::TopK(top) => {
                visit(Name::Source(&mut top.input));
                let values = [top.values.as_mut(), top.places.as_mut()];
                values.into_iter().flatten().for_each(|value| visit(Name::Value(value)));
            }
        }
    }
}

fn each_of_cell(cell: &mut CoreCell, visit: &mut impl FnMut(Name)) {
    let sources = [Some(&mut cell.x), Some(&mut cell.h), cell.c.as_mut(), cell.a.as_mut()];
    sources.into_iter().flatten().for_each(|source| visit(Name::Source(source)));
    let weights = [&mut cell.w, &mut cell.r].into_iter().chain(&mut cell.b).chain(&mut cell.p);
    weights.for_each(|weight| visit(Name::Weight(weight)));
    if let Some(Sequence { lengths: Lengths::Computed(source), .. }) = &mut cell.sequence {
        visit(Name::Source(source));
    }
    let values = [cell.y.as_mut(), cell.h_out.as_mut(), cell.c_out.as_mut()];
    values.into_iter().flatten().for_each(|value| visit(Name::Value(value)));
}

fn each_of_loop(body: &mut CoreLoop, visit: &mut impl FnMut(Name)) {
    for slice in &mut body.slices {
        visit(Name::Source(&mut slice.of));
        visit(Name::Value(&mut slice.piece));
    }
    for carried in &mut body.carried {
        visit(Name::Source(&mut carried.initial));
        visit(Name::Value(&mut carried.value));
        visit(Name::Source(&mut carried.next));
    }
    body.running.iter_mut().for_each(|value| visit(Name::Value(value)));
    visit_names(&mut body.body, visit);
    for result in &mut body.results {
        visit(Name::Source(&mut result.of));
        visit(Name::Value(&mut result.out));
    }
}
