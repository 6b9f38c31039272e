//! If, Loop and Scan: operators with nested graphs.

use super::graph::{Call, GraphReader, Level, Outputs};
use super::lists::{Appended, Sequence};
use super::proto::GraphProto;
use crate::diagnostic::{Diagnostic, Problem, Severity};
use crate::model::{
    Binary, Branch, ElementType, If, Loop, LoopInput, LoopOutput, Op, Slicing, Tensor, ValueId,
};

/// The element types of a body's Results.
fn results(level: &Level) -> Vec<ElementType> {
    let model = &level.graph.model;
    model.results.iter().map(|&node| model.values[model.nodes[node].inputs[0].0].element).collect()
}

/// Reads a branch. `Some(Err)` with the errors if all errors are about layers of the branch. `None`
/// after an error of the node or of the file.
fn branch(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    name: &str,
) -> Option<Result<Level, Vec<Diagnostic>>> {
    let Some(graph) = call.attributes.graph(name) else {
        return reader.missing(name, "a graph for either case");
    };
    let outer_names = reader.named();
    reader.enter();
    let (before, said, outputs) = (reader.errors(), reader.diagnostics.0.len(), graph.output.len());
    (reader.read_body)(reader, graph, Some(&[]));
    let level = reader.leave();
    reader.rename(outer_names);
    // an error of the file as a whole has no layer, and refuses the file whether or not the branch
    // is taken
    let new = &reader.diagnostics.0[said..];
    let is_of_layer =
        |problem: &Diagnostic| problem.severity != Severity::Error || problem.layer.is_some();
    if reader.errors() > before && new.iter().all(is_of_layer) {
        let new = reader.diagnostics.0.split_off(said);
        return Some(Err(new
            .into_iter()
            .filter(|problem| problem.severity == Severity::Error)
            .collect()));
    }
    finish_body(reader, level, before, outputs).map(Ok)
}

/// A branch of [`Op::Unread`] operations. Compilation fails unless the branch is never taken.
fn unread(
    reader: &mut GraphReader<'_>,
    problems: Vec<Diagnostic>,
    elements: &[ElementType],
) -> Option<Level> {
    let outer_names = reader.named();
    reader.enter();
    for (at, problem) in problems.into_iter().enumerate() {
        let label = problem.layer.unwrap_or_default();
        let (name, _) = label.split_once(" (").unwrap_or_default();
        reader.rename((label.clone(), name.trim_matches('"').to_owned()));
        let (valid, help) = (problem.valid.unwrap_or_default(), problem.help.unwrap_or_default());
        let op = Op::Unread(Box::new(Problem { found: problem.found, valid, help }));
        // the first operation has the outputs of the branch
        let types = if at == 0 { elements.to_vec() } else { Vec::new() };
        for value in reader.ops_of(op, Vec::new(), types, Vec::new()) {
            reader.result("", value);
        }
    }
    let level = reader.leave();
    reader.rename(outer_names);
    Some(level)
}

/// The body, if no error followed the first `errors_before` errors and the body has `outputs`
/// Results. The errors in an incomplete body are reported already.
pub(super) fn finish_body(
    reader: &mut GraphReader<'_>,
    level: Level,
    errors_before: usize,
    outputs: usize,
) -> Option<Level> {
    (reader.errors() == errors_before && level.graph.model.results.len() == outputs)
        .then_some(level)
}

/// If.
pub(super) fn choice(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    if let Some(outputs) = reader.too_deep(call) {
        return Some(outputs);
    }
    let then = branch(reader, call, "then_branch");
    let otherwise = branch(reader, call, "else_branch");
    let (then, otherwise) = match (then?, otherwise?) {
        (Ok(then), Ok(otherwise)) => (then, otherwise),
        // compilation may prove the faulty branch unreachable
        (Ok(then), Err(problems)) => {
            let otherwise = unread(reader, problems, &results(&then))?;
            (then, otherwise)
        }
        (Err(problems), Ok(otherwise)) => {
            (unread(reader, problems, &results(&otherwise))?, otherwise)
        }
        (Err(of_then), Err(of_otherwise)) => {
            reader.diagnostics.0.extend(of_then.into_iter().chain(of_otherwise));
            return None;
        }
    };
    let elements = results(&then);
    if elements.len() != results(&otherwise).len() {
        let found =
            format!("branches with {} and {} outputs", elements.len(), results(&otherwise).len());
        reader.error(found, "as many", "export the model again");
        return None;
    }
    let mut inputs = vec![call.x()];
    let mut made = |level: Level| {
        let mut input_of = vec![0; level.graph.model.parameters.len()];
        for (outer, parameter) in level.captured {
            input_of[parameter] = inputs.len();
            inputs.push(outer);
        }
        Branch { body: level.graph.model, inputs: input_of }
    };
    let op = Op::If(Box::new(If { then: made(then), otherwise: made(otherwise) }));
    Some(reader.ops_of(op, inputs, elements, Vec::new()))
}

/// The axis of each scanned input and of each scanned output, and true for the direction from the
/// last element to the first. `None` if a list does not have one number for each input or output.
fn scan_slicings(
    call: &mut Call<'_>,
    inputs: usize,
    outputs: usize,
) -> Option<[Vec<(i64, bool)>; 2]> {
    let mut list = |name: &str, len: usize| {
        let given = call.attributes.ints(name).unwrap_or_default();
        if given.is_empty() {
            Some(vec![0; len])
        } else {
            Some(given).filter(|given| given.len() == len)
        }
    };
    let in_axes = list("scan_input_axes", inputs);
    let out_axes = list("scan_output_axes", outputs);
    let in_ways = list("scan_input_directions", inputs);
    let out_ways = list("scan_output_directions", outputs);
    let pairs = |axes: Vec<i64>, ways: Vec<i64>| {
        axes.into_iter().zip(ways.into_iter().map(|way| way == 1)).collect()
    };
    Some([pairs(in_axes?, in_ways?), pairs(out_axes?, out_ways?)])
}

/// The trip count of a loop, and the condition of the first iteration.
fn trips_and_condition(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
) -> Option<(ValueId, ValueId)> {
    let trips = match call.input(0) {
        // a negative count means 0 iterations in ONNX, and -1 means no limit in Op::Loop
        Some(trips) => {
            let none = reader.number_like(trips, 0.0);
            reader.elementwise(Binary::Maximum, &[trips, none])
        }
        // without a trip count, the condition alone ends the loop
        None => reader.integer(-1),
    };
    let condition = match call.input(1) {
        Some(condition) => condition,
        None => {
            let yes =
                Tensor::new(Vec::new(), ElementType::Bool, std::sync::Arc::new(vec![1]), 0..1)?;
            reader.constant(&yes)
        }
    };
    Some((trips, condition))
}

/// True if the trip count of a loop is a constant below 1.
fn is_never_run(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> bool {
    let trips = call.input(0).and_then(|trips| reader.known(trips)?.get_i64(0));
    trips.is_some_and(|trips| trips <= 0)
}

/// The body of a Loop, and the initial values of the loop-carried values.
fn body_of_loop(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
) -> Option<(GraphProto, Vec<ValueId>)> {
    let Some(graph) = call.attributes.graph("body") else {
        return reader.missing("body", "a graph");
    };
    let carried: Vec<ValueId> = call.inputs.iter().skip(2).copied().collect::<Option<_>>()?;
    let count = carried.len();
    if graph.input.len() != count + 2 || graph.output.len() < count + 1 {
        let found =
            format!("a body with {} inputs and {} outputs", graph.input.len(), graph.output.len());
        let valid = format!("{} inputs and at least {} outputs", count + 2, count + 1);
        reader.error(found, valid, "export the model again");
        return None;
    }
    Some((graph, carried))
}

/// Adds the Parameters of a Loop's body: the number of the iteration, the condition, and the
/// carried values. `elements`: the element types of the condition and of the carried values.
/// `sequences`: the carried values that are sequences.
fn parameters_of_loop(
    reader: &mut GraphReader<'_>,
    graph: &GraphProto,
    elements: &[ElementType],
    sequences: &[usize],
) -> Vec<ValueId> {
    let mut parameters = Vec::new();
    for (at, input) in graph.input.iter().enumerate() {
        let name = input.name.clone().unwrap_or_default();
        parameters.push(match at {
            0 => reader.parameter(&name, ElementType::I64, None),
            at if at > 1 && sequences.contains(&(at - 2)) => {
                reader.carried_sequence(at - 2, elements[at - 1])
            }
            at => reader.parameter(&name, elements[at - 1], None),
        });
    }
    parameters
}

/// The outputs of [`Op::Loop`]: the final values of carried tensors (`tensors` of them), stacked
/// outputs (`scans` of them), then the stacks for sequences. Result 0 of the body is the condition.
fn outputs_of_loop(tensors: usize, scans: usize, appended: &[Appended]) -> Vec<LoopOutput> {
    let of_tensors = (0..tensors + scans).map(|at| LoopOutput {
        result: at + 1,
        concatenation: (at >= tensors).then(|| Slicing::one_by_one(0, false)),
    });
    let mut outputs: Vec<LoopOutput> = of_tensors.collect();
    for list in appended {
        outputs.extend(list.outputs(outputs.len() + 1));
    }
    outputs
}

/// Loop.
pub(super) fn iterate(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    if let Some(outputs) = reader.too_deep(call) {
        return Some(outputs);
    }
    let (graph, carried) = body_of_loop(reader, call)?;
    let count = carried.len();
    let (trips, condition) = trips_and_condition(reader, call)?;
    let carried: Vec<(ValueId, Option<Sequence>)> =
        carried.iter().map(|&value| (value, reader.sequence(value).cloned())).collect();
    let sequences: Vec<usize> = (0..count).filter(|&k| carried[k].1.is_some()).collect();
    if !sequences.is_empty() && is_never_run(reader, call) {
        let found = "a loop of 0 iterations that hands on a sequence";
        let help = "remove the loop: what reads its sequence may read the one that is given to it";
        reader.error(found, "1 iteration or more", help);
        return None;
    }
    let tensors: Vec<usize> = (0..count).filter(|k| !sequences.contains(k)).collect();
    let elements: Vec<ElementType> = std::iter::once(condition)
        .chain(carried.iter().map(|(value, _)| *value))
        .map(|value| reader.element(value))
        .collect();
    let scans = graph.output.len() - count - 1;
    let outer_names = reader.named();
    reader.enter();
    let depth = reader.levels.len();
    reader.level().sequence_outputs = Some(Vec::new());
    let parameters = parameters_of_loop(reader, &graph, &elements, &sequences);
    let (before, outputs) = (reader.errors(), graph.output.len() - sequences.len());
    (reader.read_body)(reader, graph, Some(&parameters));
    let appended =
        if reader.errors() == before { reader.sequence_results(depth, &sequences) } else { None };
    with_dimension(reader, tensors.len() + 1, &[]);
    let lasts = if appended.is_some() { reader.last_results(&carried) } else { None };
    let level = reader.leave();
    reader.rename(outer_names);
    let (appended, lasts) = (appended?, lasts?);
    let stacks: usize =
        appended.iter().map(|appended| appended.front.len() + appended.back.len()).sum();
    let level = finish_body(reader, level, before, outputs + stacks + lasts.len())?;
    let mut elements = results(&level);
    elements.remove(0);
    elements.truncate(tensors.len() + scans + stacks);
    // the loop carries the condition in front of all other values
    let mut given = vec![(condition, 1, Some(0))];
    given.extend(tensors.iter().enumerate().map(|(k, &at)| (carried[at].0, k + 2, Some(k + 1))));
    given.extend(lasts.iter().map(|last| (last.initial, last.parameter, Some(last.result))));
    given.extend(level.captured.iter().map(|&(value, parameter)| (value, parameter, None)));
    let mut inputs = vec![trips, condition];
    let mut loop_inputs = Vec::new();
    for (value, parameter, back_edge) in given {
        loop_inputs.push(LoopInput { parameter, input: inputs.len(), slice: None, back_edge });
        inputs.push(value);
    }
    let outputs = outputs_of_loop(tensors.len(), scans, &appended);
    let op = Op::Loop(Box::new(Loop {
        body: level.graph.model,
        counted: true,
        inputs: loop_inputs,
        outputs,
        current_iteration: Some(0),
        condition: Some(0),
    }));
    let made = reader.ops_of(op, inputs, elements, Vec::new());
    Some(in_order(reader, &carried, &made, &appended))
}

/// The outputs of a loop in the node's order. `made`: the outputs of [`Op::Loop`], which are
/// tensors, stacked outputs, then stacks for sequences.
fn in_order(
    reader: &mut GraphReader<'_>,
    carried: &[(ValueId, Option<Sequence>)],
    made: &[ValueId],
    appended: &[Appended],
) -> Vec<ValueId> {
    let stacks: usize =
        appended.iter().map(|appended| appended.front.len() + appended.back.len()).sum();
    let (mut tensors, mut stacks) =
        (made[..made.len() - stacks].iter(), &made[made.len() - stacks..]);
    let mut outputs = Vec::new();
    for (at, (value, sequence)) in carried.iter().enumerate() {
        let appending = appended.iter().find(|appending| appending.at == at);
        let (Some(initial), Some(appending)) = (sequence, appending) else {
            outputs.extend(tensors.next());
            continue;
        };
        let (own, rest) = stacks.split_at(appending.front.len() + appending.back.len());
        stacks = rest;
        let sequence = reader.appended(initial, appending, own);
        let element = reader.element(own.first().copied().unwrap_or(*value));
        outputs.push(reader.sequence_value(sequence, element));
    }
    outputs.extend(tensors);
    outputs
}

/// Inserts a dimension of 1 into all Results from index `from` on. `axes`: an axis for each of
/// these Results, 0 by default.
fn with_dimension(reader: &mut GraphReader<'_>, from: usize, axes: &[i64]) {
    let results: Vec<usize> =
        reader.level().graph.model.results.iter().skip(from).copied().collect();
    for (at, node) in results.into_iter().enumerate() {
        let value = reader.level().graph.model.nodes[node].inputs[0];
        // the new operations are appended behind the Results, and moved in front of them below
        let axis = reader.integers(&[axes.get(at).copied().unwrap_or(0)]);
        let wide = reader.op(Op::Unsqueeze, vec![value, axis]);
        let model = &mut reader.level().graph.model;
        model.nodes[node].inputs[0] = wide;
    }
    // restores the order of computation by moving the Results behind all other nodes
    let model = &mut reader.level().graph.model;
    let mut order: Vec<usize> = (0..model.nodes.len()).collect();
    order.sort_by_key(|&node| model.nodes[node].op == Op::Result);
    let mut new_index = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        new_index[old] = new;
    }
    let mut nodes: Vec<Option<_>> =
        std::mem::take(&mut model.nodes).into_iter().map(Some).collect();
    model.nodes = order.iter().filter_map(|&old| nodes[old].take()).collect();
    for index in model.results.iter_mut().chain(&mut model.parameters) {
        *index = new_index[*index];
    }
}

/// The body of a Scan, and the uses of its inputs and outputs.
struct ScanBody {
    graph: GraphProto,
    /// The inputs: states, then scanned inputs.
    all: Vec<ValueId>,
    /// The number of states.
    count: usize,
    /// By scanned input: the axis, and true for the reverse direction.
    read: Vec<(i64, bool)>,
    /// By scanned output: the axis, and true for the reverse direction.
    written: Vec<(i64, bool)>,
}

fn body_of_scan(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<ScanBody> {
    let Some(graph) = call.attributes.graph("body") else {
        return reader.missing("body", "a graph");
    };
    let wrong = |reader: &mut GraphReader<'_>, found: String| {
        reader.error(found, "as the definition of Scan has it", "export the model again");
        None
    };
    let scanned =
        call.attributes.int("num_scan_inputs").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let inputs: Vec<ValueId> = call.inputs.iter().copied().collect::<Option<_>>()?;
    if scanned == 0 || scanned > inputs.len() || graph.input.len() != inputs.len() {
        return wrong(
            reader,
            format!(
                "{} inputs, {scanned} of them scanned, a body with {}",
                inputs.len(),
                graph.input.len()
            ),
        );
    }
    let count = inputs.len() - scanned;
    if graph.output.len() < count {
        return wrong(
            reader,
            format!("{count} states, and a body with {} outputs", graph.output.len()),
        );
    }
    let Some([read, written]) = scan_slicings(call, scanned, graph.output.len() - count) else {
        return wrong(reader, "axes or directions of another number".to_owned());
    };
    Some(ScanBody { graph, all: inputs, count, read, written })
}

/// Scan.
pub(super) fn scan(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    if let Some(outputs) = reader.too_deep(call) {
        return Some(outputs);
    }
    let ScanBody { graph, all, count, read, written } = body_of_scan(reader, call)?;
    let outer: Vec<ElementType> = all.iter().map(|&value| reader.element(value)).collect();
    let outer_names = reader.named();
    reader.enter();
    let mut parameters = Vec::new();
    for (at, input) in graph.input.iter().enumerate() {
        let name = input.name.clone().unwrap_or_default();
        let mut value = reader.parameter(&name, outer[at], None);
        if at >= count {
            let axis = reader.integers(&[read[at - count].0]);
            value = reader.op(Op::Squeeze { skip: false }, vec![value, axis]);
        }
        parameters.push(value);
    }
    let (before, outputs) = (reader.errors(), graph.output.len());
    (reader.read_body)(reader, graph, Some(&parameters));
    let out_axes: Vec<i64> = written.iter().map(|(axis, _)| *axis).collect();
    with_dimension(reader, count, &out_axes);
    let level = reader.leave();
    reader.rename(outer_names);
    let level = finish_body(reader, level, before, outputs)?;
    let elements = results(&level);
    let slicing = |positions: &[(i64, bool)], at: usize| {
        let (axis, reverse) = positions[at.checked_sub(count)?];
        Some(Slicing::one_by_one(axis, reverse))
    };
    let of_given = (0..all.len()).map(|at| LoopInput {
        parameter: at,
        input: at,
        slice: slicing(&read, at),
        back_edge: (at < count).then_some(at),
    });
    let of_captured = level.captured.iter().enumerate().map(|(at, &(_, parameter))| LoopInput {
        parameter,
        input: all.len() + at,
        slice: None,
        back_edge: None,
    });
    let branch_inputs = of_given.chain(of_captured).collect();
    let inputs =
        all.iter().copied().chain(level.captured.iter().map(|(value, _)| *value)).collect();
    let outputs = (0..elements.len())
        .map(|at| LoopOutput { result: at, concatenation: slicing(&written, at) });
    let op = Op::Loop(Box::new(Loop {
        body: level.graph.model,
        counted: false,
        inputs: branch_inputs,
        outputs: outputs.collect(),
        current_iteration: None,
        condition: None,
    }));
    Some(reader.ops_of(op, inputs, elements, Vec::new()))
}
