//! Layers that compute several steps per call and lose their states at the end of the call.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Recurrences;
use super::restarts::{WeightContents, lost, repeated_cells};
use crate::core::{CoreLoop, CoreModel, CoreOp, Source, StepOrder};
use crate::stream::dependence::{Change, Dependence};

/// By place of a layer whose state is lost at the end of every call: the number of steps per call.
type Anew = BTreeMap<usize, usize>;

/// The layers that compute several steps per call and do not continue from the previous call. Empty
/// if some layer runs in reverse or has sequence lengths: the model then reads whole sequences.
pub(crate) fn begins_anew(
    model: &CoreModel,
    recurrences: &Recurrences,
    dependence: &Dependence,
    needed: &[bool],
    continued: &HashSet<usize>,
) -> Anew {
    let mut found = Anew::new();
    if recurrences.all.iter().any(|recurrence| recurrence.order != StepOrder::Forward) {
        return found;
    }
    sequences(model, recurrences, dependence, &mut found);
    let Some(()) = loops(model, recurrences, dependence, needed, &mut found) else {
        return Anew::new();
    };
    written_out_cells(model, recurrences, dependence, continued, &mut found);
    written_out_products(model, dependence, needed, &mut found);
    found
}

/// Adds cells over several steps that start anew, apart from cells in loops of several iterations.
fn sequences(
    model: &CoreModel,
    recurrences: &Recurrences,
    dependence: &Dependence,
    found: &mut Anew,
) {
    let repeated = repeated_cells(model);
    for recurrence in recurrences.all.iter().filter(|recurrence| recurrence.steps > 1) {
        let Some((cell, state)) = recurrence.cell.filter(|_| !repeated.contains(&recurrence.layer))
        else {
            continue;
        };
        let Some(initial) = (if state == 'h' { Some(cell.h) } else { cell.c }) else { continue };
        if lost(recurrence, cell, initial, dependence).is_some() {
            found.insert(recurrence.layer, recurrence.steps);
        }
    }
}

/// Adds loops over slices of tensors that depend on inputs, if a carried value starts anew. Loops
/// with a run-time condition do not count. `None` if one of the loops reads its slices in reverse.
fn loops(
    model: &CoreModel,
    recurrences: &Recurrences,
    dependence: &Dependence,
    needed: &[bool],
    found: &mut Anew,
) -> Option<()> {
    for node in &model.nodes {
        let CoreOp::Loop(body) = &node.op else { continue };
        let mut slices = body
            .slices
            .iter()
            .filter(|slice| dependence.change(slice.whole) == Change::Inputs)
            .peekable();
        if body.trips < 2 || body.running.is_some() || slices.peek().is_none() {
            continue;
        }
        if slices.any(|slice| slice.reverse) {
            return None;
        }
        if let Some(layer) = carried_anew(body, recurrences, dependence, needed) {
            found.insert(layer, body.trips);
        }
    }
    Some(())
}

/// The place of a loop, which is the first carried value. `None` unless some carried value starts
/// from constants and depends on inputs.
fn carried_anew(
    body: &CoreLoop,
    recurrences: &Recurrences,
    dependence: &Dependence,
    needed: &[bool],
) -> Option<usize> {
    let is_constant = |initial: Source| {
        let origins = recurrences.flow.origins(initial);
        origins.is_some_and(|all| {
            all.into_iter().all(|(source, _)| dependence.change(source) <= Change::Never)
        })
    };
    let follows = |value: usize| dependence.change(Source::Value(value)) == Change::Inputs;
    let mut carried = body.carried.iter();
    let begins = carried.find(|c| {
        c.next != Source::Value(c.value)
            && needed[c.value]
            && follows(c.value)
            && is_constant(c.initial)
    });
    begins.and(body.carried.first()).map(|carried| carried.value)
}

/// True if an input of at least three dimensions has an axis of length `steps` in front of the last
/// axis.
fn is_axis_of_steps(model: &CoreModel, steps: usize) -> bool {
    let has = |shape: &[usize]| shape.len() > 2 && shape[..shape.len() - 1].contains(&steps);
    model.parameters.iter().any(|parameter| !parameter.weight && has(&parameter.shape))
}

/// Adds unrolled cells that start anew: one cell for each step.
fn written_out_cells(
    model: &CoreModel,
    recurrences: &Recurrences,
    dependence: &Dependence,
    continued: &HashSet<usize>,
    found: &mut Anew,
) {
    let mut contents = WeightContents::new(model);
    let mut groups: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, recurrence) in recurrences.all.iter().enumerate() {
        let Some((cell, 'h')) = recurrence.cell.filter(|_| recurrence.steps == 1) else { continue };
        groups
            .entry((
                contents.number(cell.weights.w),
                contents.number(cell.weights.r),
                cell.weights.set,
            ))
            .or_default()
            .push(index);
    }
    for group in
        groups.values().filter(|group| group.len() > 1 && is_axis_of_steps(model, group.len()))
    {
        let begins = group.iter().filter(|index| continued.contains(index)).find(|&&index| {
            let recurrence = &recurrences.all[index];
            recurrence
                .cell
                .is_some_and(|(cell, _)| lost(recurrence, cell, cell.h, dependence).is_some())
        });
        found.extend(begins.map(|&index| (recurrences.all[index].layer, group.len())));
    }
}

/// Adds unrolled products with a recurrent matrix that start anew: one product for each step. The
/// product of the first step may be missing: with a constant initial state, its result is a
/// constant. Adds nothing to a model with variables or state pairs.
fn written_out_products(
    model: &CoreModel,
    dependence: &Dependence,
    needed: &[bool],
    found: &mut Anew,
) {
    let mut contents = WeightContents::new(model);
    let mut groups: HashMap<_, Vec<(usize, Source)>> = HashMap::new();
    for node in &model.nodes {
        let CoreOp::Dense(dense) = &node.op else { continue };
        let gates = [1, 3, 4].into_iter().any(|gates| dense.outputs == gates * dense.inputs);
        if gates && dense.inputs > 1 && needed[dense.out] {
            groups.entry(contents.number(dense.w)).or_default().push((dense.out, dense.x));
        }
    }
    // a model with variables or state pairs keeps its states from call to call
    if !model.variables.is_empty() || !model.states.is_empty() {
        return;
    }
    for group in groups.values() {
        let Some(steps) = [group.len(), group.len() + 1]
            .into_iter()
            .find(|&steps| is_axis_of_steps(model, steps))
        else {
            continue;
        };
        let starts_constant = steps > group.len() || dependence.change(group[0].1) <= Change::Never;
        if group.len() > 1 && starts_constant && is_chain(model, group) {
            found.insert(group[0].0, steps);
        }
    }
}

/// True if each product depends on all products before it, one after the other.
fn is_chain(model: &CoreModel, products: &[(usize, Source)]) -> bool {
    let mut depth: HashMap<Source, usize> = HashMap::new();
    let outputs: HashSet<usize> = products.iter().map(|(out, _)| *out).collect();
    for node in &model.nodes {
        let read = node
            .op
            .reads()
            .iter()
            .filter_map(|source| depth.get(source))
            .max()
            .copied()
            .unwrap_or(0);
        for out in node.op.outputs() {
            let uses = read + usize::from(outputs.contains(&out));
            if uses > 0 {
                depth.insert(Source::Value(out), uses);
            }
        }
    }
    products
        .iter()
        .enumerate()
        .all(|(at, (out, _))| depth.get(&Source::Value(*out)) == Some(&(at + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{
        CoreNode, CoreValue, LayerPlace, LoopCarried, LoopResult, LoopSlice, Parameter, Pointwise,
        PointwiseFunction, ResultValue, View, needed,
    };
    use crate::model::{Binary, ElementType};

    const STATE: usize = 8;

    fn node(op: CoreOp) -> CoreNode {
        let layer = LayerPlace::default();
        CoreNode { name: String::new(), kind: String::new(), op, ledger: Vec::new(), layer }
    }

    fn parameter(name: &str, shape: Vec<usize>) -> Parameter {
        let names = vec![name.to_owned()];
        let element = ElementType::F32;
        Parameter { names, shape, element, weight: false, length: None, rows: None }
    }

    /// A loop of four steps that adds slices of `x` to a state. The initial state is a view of the
    /// input `h`.
    fn summed() -> CoreModel {
        let mut model = CoreModel {
            parameters: vec![parameter("h", vec![STATE]), parameter("x", vec![4, STATE])],
            ..CoreModel::default()
        };
        let [view, piece, state, sum, last] = [0, 1, 2, 3, 4];
        for shape in [vec![STATE], vec![1, STATE], vec![1, STATE], vec![1, STATE], vec![1, STATE]] {
            model.values.push(CoreValue { shape });
        }
        let first = View { input: Source::Parameter(0), offset: 0, strides: vec![1], out: view };
        model.nodes.push(node(CoreOp::View(first)));
        let add = Pointwise {
            function: PointwiseFunction::Binary(Binary::Add),
            inputs: vec![Source::Value(piece), Source::Value(state)],
            out: sum,
        };
        model.nodes.push(node(CoreOp::Loop(CoreLoop {
            trips: 4,
            slices: vec![LoopSlice { whole: Source::Parameter(1), axis: 0, reverse: false, piece }],
            carried: vec![LoopCarried {
                initial: Source::Value(view),
                value: state,
                next: Source::Value(sum),
            }],
            running: None,
            is_cell: false,
            body: vec![node(CoreOp::Pointwise(add))],
            results: vec![LoopResult { value: Source::Value(sum), pieces: None, out: last }],
        })));
        model.results.push(ResultValue {
            names: vec!["y".to_owned()],
            shape: vec![1, STATE],
            element: ElementType::F32,
            source: Source::Value(last),
            parts: None,
        });
        model
    }

    #[test]
    fn a_state_whose_origin_is_too_far_to_follow_does_not_count_as_constant() {
        for gives_up in [false, true] {
            let model = summed();
            let needed = needed(&model);
            let recurrences = Recurrences::new(&model, &needed);
            let dependence = Dependence::new(&model, &model.all_nodes());
            if gives_up {
                recurrences.flow.give_up();
            }
            let found =
                begins_anew(&model, &recurrences, &dependence, &needed, &HashSet::default());
            assert_eq!(found, Anew::new(), "gives up: {gives_up}");
            assert_eq!(recurrences.flow.gave_up(), gives_up);
        }
    }
}
