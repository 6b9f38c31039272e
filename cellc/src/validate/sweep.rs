//! Removes what no output and no variable depends on, and numbers the rest anew.

use crate::core::{CoreCell, CoreLoop, CoreModel, CoreNode, CoreOp, Lengths, Sequence, Source, WeightSource};

/// Removes every operation, value and constant that nothing needs.
pub(super) fn sweep(model: &mut CoreModel) {
    let needed = needed(model);
    let nodes = std::mem::take(&mut model.nodes);
    model.nodes = prune(nodes, &needed);
    renumber(model, &needed);
}

/// Which values a Result or a variable depends on.
pub(super) fn needed(model: &CoreModel) -> Vec<bool> {
    let mut reads: Vec<Vec<Source>> = vec![Vec::new(); model.values.len()];
    collect(&model.nodes, &mut reads);
    let mut needed = vec![false; model.values.len()];
    let roots = model.results.iter().map(|result| result.source).chain(model.variables.iter().filter_map(|v| v.next));
    let mut open: Vec<Source> = roots.collect();
    while let Some(source) = open.pop() {
        if let Source::Value(value) = source
            && !std::mem::replace(&mut needed[value], true)
        {
            open.append(&mut reads[value]);
        }
    }
    needed
}

/// What each value is computed from.
fn collect(nodes: &[CoreNode], reads: &mut [Vec<Source>]) {
    for node in nodes {
        let CoreOp::Loop(body) = &node.op else {
            for value in node.op.outputs() {
                reads[value] = node.op.reads();
            }
            continue;
        };
        body.slices.iter().for_each(|slice| reads[slice.piece] = vec![slice.of]);
        body.carried.iter().for_each(|carried| reads[carried.value] = vec![carried.initial, carried.next]);
        body.results.iter().for_each(|result| reads[result.out] = vec![result.of]);
        collect(&body.body, reads);
    }
}

fn prune(nodes: Vec<CoreNode>, needed: &[bool]) -> Vec<CoreNode> {
    let mut kept = Vec::new();
    for mut node in nodes {
        if !node.op.outputs().iter().any(|&value| needed[value]) {
            continue;
        }
        match &mut node.op {
            CoreOp::Cell(cell) => {
                for value in [&mut cell.y, &mut cell.h_out, &mut cell.c_out] {
                    *value = value.filter(|&value| needed[value]);
                }
            }
            CoreOp::Loop(body) => {
                body.slices.retain(|slice| needed[slice.piece]);
                body.carried.retain(|carried| needed[carried.value]);
                body.results.retain(|result| needed[result.out]);
                body.running = body.running.filter(|&value| needed[value]);
                body.body = prune(std::mem::take(&mut body.body), needed);
            }
            CoreOp::Dense(_) | CoreOp::MatMul(_) | CoreOp::Convolve(_) | CoreOp::Pointwise(_) => {}
            CoreOp::Softmax(_) | CoreOp::Reduce(_) | CoreOp::View(_) | CoreOp::Concat(_) => {}
            CoreOp::Integers(_) | CoreOp::Lookup(_) => {}
            CoreOp::TopK(top) => {
                for value in [&mut top.values, &mut top.places] {
                    *value = value.filter(|&value| needed[value]);
                }
            }
        }
        kept.push(node);
    }
    kept
}

/// New numbers, in the old order.
struct Renumbering {
    values: Vec<usize>,
    constants: Vec<usize>,
}

impl Renumbering {
    fn source(&self, source: &mut Source) {
        match source {
            Source::Value(value) => *value = self.values[*value],
            Source::Constant(constant) => *constant = self.constants[*constant],
            Source::Parameter(_) | Source::Variable(_) => {}
        }
    }

    fn weight(&self, weight: &mut WeightSource) {
        if let WeightSource::Constant(constant) = weight {
            *constant = self.constants[*constant];
        }
    }
}

fn renumber(model: &mut CoreModel, needed: &[bool]) {
    let mut read = vec![false; model.constants.len()];
    each(&mut model.nodes, &mut |name| match name {
        Name::Source(Source::Constant(i)) | Name::Weight(WeightSource::Constant(i)) => read[*i] = true,
        _ => {}
    });
    let sources = model.results.iter().map(|result| result.source).chain(model.variables.iter().filter_map(|v| v.next));
    for source in sources {
        if let Source::Constant(i) = source {
            read[i] = true;
        }
    }
    model.variables.iter().filter_map(|variable| variable.initial).for_each(|i| read[i] = true);
    let numbers = Renumbering { values: numbers(needed), constants: numbers(&read) };
    each(&mut model.nodes, &mut |name| match name {
        Name::Source(source) => numbers.source(source),
        Name::Weight(weight) => numbers.weight(weight),
        Name::Value(value) => *value = numbers.values[*value],
    });
    for result in &mut model.results {
        numbers.source(&mut result.source);
    }
    for variable in &mut model.variables {
        variable.next.iter_mut().for_each(|next| numbers.source(next));
        variable.initial.iter_mut().for_each(|i| *i = numbers.constants[*i]);
    }
    let mut at = 0..;
    model.values.retain(|_| at.next().is_some_and(|i: usize| needed[i]));
    let mut at = 0..;
    model.constants.retain(|_| at.next().is_some_and(|i: usize| read[i]));
}

/// The place of each that is kept among those that are.
fn numbers(kept: &[bool]) -> Vec<usize> {
    let mut next = 0;
    let number = |&kept: &bool| {
        let number = next;
        next += usize::from(kept);
        number
    };
    kept.iter().map(number).collect()
}

/// Something that an operation names.
enum Name<'n> {
    Source(&'n mut Source),
    Weight(&'n mut WeightSource),
    Value(&'n mut usize),
}

/// Visits everything that operations name, those of loops' bodies too.
fn each(nodes: &mut [CoreNode], visit: &mut impl FnMut(Name)) {
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
    each(&mut body.body, visit);
    for result in &mut body.results {
        visit(Name::Source(&mut result.of));
        visit(Name::Value(&mut result.out));
    }
}
