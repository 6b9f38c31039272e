//! The contents of a compiled model and its expected time, for `cellc inspect`.

mod arithmetics;
mod cost;
pub mod drawing;
mod measured;
mod target;
pub mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::arch::Isa;
use crate::compile::Compilation;
use crate::core::{
    CoreModel, CoreNode, CoreOp, FixedMatrices, KernelForm, Pairs, Parameter, Source, WeightSource,
};
use crate::encoding::WeightFormat;
use crate::estimate;
use crate::kernel::{BodyRef, BufferId, Role, Stmt};
use crate::model::{LedgerEntry, Model, Node, Op, counted};
use crate::plan::{Half, Plan, ProductPlan, Tiling, Unrolled};
pub(crate) use arithmetics::ALIKE_IN_TIME;
pub use arithmetics::{ArithmeticCost, Arithmetics, InF32};
use cost::{Cost, formula};
pub use measured::Measured;
pub use target::{Clock, Flash, Ram, TargetCost};

/// The report on a compiled model and one instruction set. `cellc inspect --json` prints the report
/// as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The model's name.
    pub model: String,
    /// The instruction set.
    pub isa: &'static str,
    /// The number of f32 lanes.
    pub lanes: usize,
    /// True if multiply-adds are fused.
    pub fused_multiply_add: bool,
    /// The inputs, including states kept by the struct.
    pub inputs: Vec<Input>,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// The variables of ReadValue and Assign.
    pub variables: Vec<Variable>,
    /// The remaining operations, each after its operands; operations of a loop's body come after
    /// the loop.
    pub layers: Vec<LayerReport>,
    /// The kernels in the order of execution.
    pub kernels: Vec<Kernel>,
    /// Eliminated layers of the model file, by type: computed when compiling, or without effect.
    pub folded: Vec<Folded>,
    /// The totals.
    pub totals: Totals,
    /// The costs of a step on the target. `None` if the target is not one machine.
    pub on_target: Option<TargetCost>,
    /// The costs of matrix products in each precision. `None` without matrices, or with run-time
    /// weights.
    pub precisions: Option<Arithmetics>,
    /// The layers that stay f32 in each precision.
    pub in_f32: Vec<InF32>,
    /// The layers that multiply the model's integers in each precision.
    pub in_own_integers: Vec<String>,
    /// The formula of the estimate of cycles.
    pub formula: String,
}

/// An input.
#[derive(Clone, Debug, Serialize)]
pub struct Input {
    /// The name in generated code.
    pub name: String,
    /// The element type in the model.
    pub element: &'static str,
    /// The shape.
    pub shape: Vec<usize>,
    /// The role.
    pub role: InputRole,
}

/// The role of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InputRole {
    /// Given at every step.
    Data,
    /// Held by the struct, see [`Output::state`].
    State,
    /// Lengths of sequences.
    Lengths,
    /// Weights given at run time. Generated code packs them once.
    Weights,
}

/// An output.
#[derive(Clone, Debug, Serialize)]
pub struct Output {
    /// The name in generated code.
    pub name: String,
    /// The element type in the model. Generated code writes f32 for all floating-point types.
    pub element: &'static str,
    /// The shape.
    pub shape: Vec<usize>,
    /// The tensor that the output holds.
    pub from: TensorSource,
    /// The index of the input that receives this output at the next step.
    pub state: Option<usize>,
}

/// A tensor that is kept between steps.
#[derive(Clone, Debug, Serialize)]
pub struct Variable {
    /// The name in generated code.
    pub name: String,
    /// The shape.
    pub shape: Vec<usize>,
    /// The next state. `None`: the state does not change.
    pub next: Option<TensorSource>,
}

/// The source of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorSource {
    /// The i-th input.
    Input(usize),
    /// A compile-time tensor, by its number in the model.
    Constant(usize),
    /// The i-th variable, before the step.
    Variable(usize),
    /// The i-th layer; for a layer of a body, also a value passed in by the loop.
    Layer(usize),
}

/// An operation.
#[derive(Clone, Debug, Serialize)]
pub struct LayerReport {
    /// The name in the model; any text.
    pub name: String,
    /// The type in the model.
    pub kind: String,
    /// The index of the loop that contains the layer.
    pub within: Option<usize>,
    /// Runs per step.
    pub runs: u64,
    /// The operands, without weights.
    pub inputs: Vec<TensorSource>,
    /// The shapes of the results.
    pub shapes: Vec<Vec<usize>>,
    /// Multiply-adds per step, over all runs.
    pub multiply_adds: u64,
    /// Bytes of the packed weights with padding, and of constants that no earlier layer reads.
    pub weight_bytes: u64,
    /// The treatment of the layer.
    pub done: Done,
    /// The index of the layer's kernel. `None` if the layer needs no work.
    pub kernel: Option<usize>,
    /// The operation in words, with its operands and sizes.
    pub operation: String,
    /// The attributes of the model's operator, each with its meaning.
    pub attributes: Vec<String>,
    /// For a concatenation with a kernel: the number of copied inputs. The other inputs are
    /// computed in place.
    pub parts_copied: Option<usize>,
}

/// The treatment of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// Computed.
    Computed,
    /// Computed in registers, in the kernel of the operand.
    Fused,
    /// Some or all elements are copied.
    Copied,
    /// No work: the layer is a view of its input.
    View,
    /// No work: the parts are computed in place.
    InPlace,
}

/// A kernel of generated code.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// The name in generated code.
    pub name: String,
    /// The purpose of a kernel without layers. Empty if the kernel has layers.
    pub note: String,
    /// The layers of the kernel, by index.
    pub layers: Vec<usize>,
    /// The outputs that the kernel writes, by index.
    pub writes_outputs: Vec<usize>,
    /// The variables that the kernel writes, by index.
    pub writes_variables: Vec<usize>,
    /// The decisions of the plan.
    pub plan: Vec<String>,
    /// Multiply-adds per step.
    pub multiply_adds: u64,
    /// Bytes of packed weights with padding, and of constants that no earlier kernel reads.
    pub weight_bytes: u64,
    /// Bytes of weights and constants read per step, with repetitions.
    pub weight_bytes_read: u64,
    /// Vector operations in one step.
    pub operations: u64,
    /// The estimate by [`Report::formula`].
    pub cycles: f64,
    /// The share of the cycles of all kernels, 0 to 1.
    pub share: f64,
}

/// Eliminated layers of one type.
#[derive(Clone, Debug, Serialize)]
pub struct Folded {
    /// The type.
    pub kind: String,
    /// The number of layers.
    pub count: usize,
    /// The names of the layers.
    pub names: Vec<String>,
}

/// The totals of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Layers of the model file on which a result depends, without inputs, outputs and constants.
    pub layers_read: usize,
    /// Constants of the model file on which a result depends.
    pub constants_read: usize,
    /// Multiply-adds per step.
    pub multiply_adds: u64,
    /// Bytes of all packed weights and constants.
    pub weight_bytes: u64,
    /// The format of all matrices, or `mixed`.
    pub precision: &'static str,
    /// True if weights are packed at run time.
    pub weights_at_run_time: bool,
    /// Bytes of state inputs and variables.
    pub state_bytes: u64,
    /// Bytes of the block of intermediate values, shared by all instruction sets.
    pub block_bytes: u64,
    /// Bytes of constant data of a program: compile-time weights, constants and initial values.
    pub flash_bytes: u64,
    /// Bytes of writable memory: state, block and packed run-time weights.
    pub memory_bytes: u64,
    /// Bytes of the generated source, including inline weights.
    pub source_bytes: u64,
    /// Vector operations in one step.
    pub operations: u64,
    /// The estimate by [`Report::formula`].
    pub cycles: f64,
}

impl Report {
    /// The report on a model and one body of its program, by index.
    pub fn new(
        model: &Model,
        compilation: &Compilation,
        isa: usize,
        measured: Option<&Measured>,
    ) -> Self {
        let Compilation { model: valid, plan, program, interface, packed, .. } = compilation;
        let (isa, body) = (plan.isas[isa].isa, program.body(isa));
        let by_value = layers_by_value(valid);
        let operand = |source| operand(&by_value, source);
        let layers = layers(valid, plan, body, operand);
        let kernels = kernels(valid, plan, (body, isa), &layers, |id| packed.baked_at(id));
        let inputs = inputs(compilation);
        let variables: Vec<_> = valid
            .variables
            .iter()
            .zip(&interface.variables)
            .map(|(variable, field)| Variable {
                name: field.name.clone(),
                shape: variable.shape.clone(),
                next: variable.next.map(operand),
            })
            .collect();
        let outputs =
            valid.results.iter().zip(&interface.outputs).enumerate().map(|(i, (result, field))| {
                Output {
                    name: field.name.clone(),
                    element: result.element.name(),
                    shape: result.shape.clone(),
                    from: operand(result.source),
                    state: valid
                        .states
                        .iter()
                        .find(|pair| pair.result == i)
                        .map(|pair| pair.parameter),
                }
            });
        let outputs = outputs.collect();
        let mut read = (0, 0);
        count_layers(model, &mut read);
        let state_bytes = compilation.description.estimate.state_bytes;
        let block_bytes = bytes(interface.block_len);
        let files = compilation.emit(&interface.function);
        let source = files.iter().filter(|file| !file.name.ends_with(".bin"));
        let totals = Totals {
            layers_read: read.0,
            constants_read: read.1,
            multiply_adds: layers.iter().map(|l| l.multiply_adds).sum(),
            weight_bytes: kernels.iter().map(|k| k.weight_bytes).sum(),
            weights_at_run_time: !packed.is_baked(),
            state_bytes,
            block_bytes,
            precision: precision(&compilation.plan),
            flash_bytes: (packed.bytes.len() + program.index_bytes()) as u64,
            memory_bytes: state_bytes + block_bytes + packed.run_time_bytes() as u64,
            source_bytes: source.map(|file| file.bytes.len() as u64).sum(),
            operations: kernels.iter().map(|k| k.operations).sum(),
            cycles: kernels.iter().map(|k| k.cycles).sum(),
        };
        let share = |cycles: f64| if totals.cycles > 0.0 { cycles / totals.cycles } else { 0.0 };
        Self {
            model: valid.name.clone().unwrap_or_else(|| interface.function.clone()),
            isa: isa.name,
            lanes: isa.lanes,
            fused_multiply_add: plan.isas.iter().any(|planned| planned.isa == isa && planned.fuses),
            inputs,
            outputs,
            variables,
            folded: folded(model, valid),
            kernels: kernels.into_iter().map(|k| Kernel { share: share(k.cycles), ..k }).collect(),
            layers,
            totals,
            on_target: TargetCost::new(compilation, isa, measured),
            precisions: arithmetics::arithmetics(compilation, isa.name),
            in_f32: arithmetics::in_f32(valid),
            in_own_integers: arithmetics::in_own_integers(compilation),
            formula: match plan.arch.instructions_of(isa) {
                Some(known) => {
                    format!(
                        "cycles = instructions, an estimate for C by {} -O2, one a cycle",
                        known.compiler
                    )
                }
                None => formula(&plan.arch.costs),
            },
        }
    }
}

fn bytes(elements: usize) -> u64 {
    4 * elements as u64
}

fn inputs(compilation: &Compilation) -> Vec<Input> {
    let Compilation { model, interface, .. } = compilation;
    let named =
        |i: usize| interface.inputs.iter().chain(&interface.weights).find(|field| field.index == i);
    let input = |(i, parameter): (usize, &Parameter)| Input {
        name: named(i).map_or_else(String::new, |field| field.name.clone()),
        element: parameter.element.name(),
        shape: parameter.shape.clone(),
        role: match parameter {
            Parameter { weight: true, .. } => InputRole::Weights,
            Parameter { length: Some(_), .. } => InputRole::Lengths,
            _ if model.states.iter().any(|pair| pair.parameter == i) => InputRole::State,
            _ => InputRole::Data,
        },
    };
    model.parameters.iter().enumerate().map(input).collect()
}

/// The index of the layer that computes each value. A value that a loop passes to its body has the
/// index of the loop.
fn layers_by_value(model: &CoreModel) -> BTreeMap<usize, usize> {
    let mut by_value = BTreeMap::new();
    for (i, node) in model.all_nodes().into_iter().enumerate() {
        let mut values = node.op.outputs();
        if let CoreOp::Loop(body) = &node.op {
            values.extend(body.slices.iter().map(|slice| slice.piece));
            values.extend(body.carried.iter().map(|carried| carried.value));
        }
        by_value.extend(values.into_iter().map(|value| (value, i)));
    }
    by_value
}

fn operand(by_value: &BTreeMap<usize, usize>, source: Source) -> TensorSource {
    match source {
        Source::Parameter(i) => TensorSource::Input(i),
        Source::Constant(i) => TensorSource::Constant(i),
        Source::Variable(i) => TensorSource::Variable(i),
        Source::Value(value) => TensorSource::Layer(by_value[&value]),
    }
}

/// The operands of an operation. The operands inside a loop's body are left out.
fn own_reads(op: &CoreOp) -> Vec<Source> {
    let CoreOp::Loop(body) = op else { return op.reads() };
    let carried = body.carried.iter().map(|carried| carried.initial);
    body.slices.iter().map(|slice| slice.whole).chain(carried).collect()
}

/// Every operation, in the order of [`CoreModel::all_nodes`].
fn layers(
    model: &CoreModel,
    plan: &Plan,
    body: BodyRef<'_>,
    operand: impl Fn(Source) -> TensorSource,
) -> Vec<LayerReport> {
    let mut layers = Vec::new();
    level(model, &model.nodes, None, 1, &operand, &mut layers);
    let nodes = model.all_nodes();
    let mut products = plan.products.iter();
    let (mut read, mut packed) = (BTreeSet::new(), BTreeSet::new());
    let done_at = |value: usize| {
        let chain = plan.fusion.chains().iter().find(|chain| chain.contains(value));
        chain.map_or(value, |chain| chain.done_at())
    };
    let by_value = layers_by_value(model);
    for (i, node) in nodes.iter().enumerate() {
        let layer = &mut layers[i];
        let (facts, value) = (node.op.facts(), node.op.first_value());
        layer.multiply_adds = facts.work.multiply_adds() as u64 * layer.runs;
        let mut packed_taps = None;
        match facts.product.map(|product| product.matrices) {
            Some(FixedMatrices::Planned(_)) => {
                let plan = products.next().expect("a plan for every product");
                if packed.insert((weights_of(&node.op), plan.bytes())) {
                    layer.weight_bytes = plan.bytes() as u64;
                }
            }
            Some(FixedMatrices::Windows(c)) if plan.windows.contains_key(&value) => {
                // packed words, and one scale for each row
                layer.weight_bytes = bytes(c.groups * c.outputs * (Pairs::new(c).count() + 1));
                packed_taps = Some(Source::from(c.w));
            }
            Some(FixedMatrices::Windows(_)) | None => {}
        }
        for source in own_reads(&node.op) {
            if let Source::Constant(constant) = source
                && packed_taps != Some(source)
                && read.insert(constant)
            {
                layer.weight_bytes += bytes(model.len(source));
            }
        }
        let at = by_value[&done_at(value)];
        layer.kernel = body.of_step().iter().position(|kernel| kernel.nodes.contains(&at));
        if let (KernelForm::Viewed, [Source::Value(input)]) = (facts.kernel, &facts.operands[..])
            && plan.fusion.is_inner(value)
        {
            // a view inside a fused chain: the value stays in registers
            layers[i].kernel = layers[by_value[input]].kernel;
            layers[i].done = Done::Fused;
            continue;
        }
        if let (KernelForm::Joined, Some(k)) = (facts.kernel, layer.kernel) {
            layer.parts_copied = parts_copied(&body.kernels[k].body);
        }
        let linked = plan.fusion.chains().iter().any(|chain| {
            // with a reduction, the root is fused, too: the kernel of the reduction computes it
            chain.links.contains(&value) || chain.reduced.is_some() && chain.root == value
        });
        layer.done = match (facts.kernel, layer.kernel) {
            (KernelForm::Joined, None) => Done::InPlace,
            (_, None) => Done::View,
            (KernelForm::Viewed | KernelForm::Joined, Some(_)) => Done::Copied,
            (_, Some(_)) if linked => Done::Fused,
            (_, Some(_)) => Done::Computed,
        };
    }
    layers
}

/// A key of a product's packed weights: their sources, and for a cell the index of the set.
/// Products with equal keys share the packed weights.
fn weights_of(op: &CoreOp) -> (Vec<WeightSource>, usize) {
    let set = if let CoreOp::Cell(cell) = op { cell.weights.set } else { 0 };
    (op.facts().weights, set)
}

/// The number of copied parts, for a kernel that only copies parts of one tensor. `None` for other
/// kernels.
fn parts_copied(body: &[Stmt]) -> Option<usize> {
    let target =
        |stmt: &Stmt| if let Stmt::Copy(copied) = stmt { Some(copied.to.base) } else { None };
    let targets: Vec<_> = body.iter().map(target).collect::<Option<_>>()?;
    // only copies to the last target count: other copies preserve a part in a second buffer first
    let whole = targets.last()?;
    Some(targets.iter().filter(|to| *to == whole).count())
}

/// Adds the operations of one level and of the bodies of its loops, with the properties known from
/// the model.
fn level(
    model: &CoreModel,
    nodes: &[CoreNode],
    within: Option<usize>,
    runs: u64,
    operand: &impl Fn(Source) -> TensorSource,
    layers: &mut Vec<LayerReport>,
) {
    for node in nodes {
        layers.push(LayerReport {
            name: node.name.clone(),
            kind: node.kind.clone(),
            within,
            runs,
            inputs: own_reads(&node.op).into_iter().map(operand).collect(),
            shapes: node
                .op
                .outputs()
                .into_iter()
                .map(|value| model.values[value].shape.clone())
                .collect(),
            multiply_adds: 0,
            weight_bytes: 0,
            done: Done::Computed,
            kernel: None,
            operation: node.op.text(model),
            attributes: node.ledger.iter().map(attribute).collect(),
            parts_copied: None,
        });
        if let CoreOp::Loop(body) = &node.op {
            let loop_layer = layers.len() - 1;
            level(model, &body.body, Some(loop_layer), runs * body.trips as u64, operand, layers);
        }
    }
}

/// An attribute with its meaning: `clip = 0.5: values are limited`.
fn attribute(entry: &LedgerEntry) -> String {
    let LedgerEntry { attribute, text, meaning, .. } = entry;
    match text {
        Some(text) => format!("{attribute} = {text}: {meaning}"),
        None => format!("{attribute} absent: {meaning}"),
    }
}

/// The kernels of a step, with their work. `offset_of`: the offset of a buffer in the constant
/// block, if any. Buffers with equal offsets count once.
fn kernels(
    model: &CoreModel,
    plan: &Plan,
    (body, isa): (BodyRef<'_>, &Isa),
    layers: &[LayerReport],
    offset_of: impl Fn(BufferId) -> Option<usize>,
) -> Vec<Kernel> {
    let nodes = model.all_nodes();
    let position = plan
        .isas
        .iter()
        .position(|planned| *planned.isa == *isa)
        .expect("the plan is for every instruction set");
    let product = |i: usize| {
        &plan.products[nodes[..i].iter().copied().filter(|node| node.op.is_product()).count()]
    };
    // weights and constants that an earlier kernel reads
    let mut read = BTreeSet::new();
    let mut kernels = Vec::new();
    for (k, kernel) in body.of_step().iter().enumerate() {
        let kernel_layers: Vec<usize> =
            (0..layers.len()).filter(|&i| layers[i].kernel == Some(k)).collect();
        let mut plans = Vec::new();
        for &i in &kernel_layers {
            if nodes[i].op.is_product() {
                plans.push(tiles(product(i), position));
            } else if let CoreOp::Loop(body) = &nodes[i].op {
                plans.push(counted(body.trips, "trip"));
            }
        }
        let written = |kind: fn(Role) -> Option<usize>| {
            let buffers = kernel.params.iter().filter(|(_, written)| *written);
            buffers.filter_map(|(id, _)| kind(body.buffer(body.whole(*id).0).role)).collect()
        };
        let cost = Cost::new(kernel, body, isa);
        let half = kernel.nodes.first().filter(|i| matches!(nodes[**i].op, CoreOp::Cell(_)));
        let half = half.and_then(|&i| Some((i, product(i), product(i).halves.as_ref()?)));
        let bytes = |id: &BufferId| {
            let buffer = body.buffer(*id);
            let first = read.insert(offset_of(*id).map_or(Err(*id), |at| Ok((at, buffer.bytes()))));
            let bytes = buffer.bytes() as u64;
            match (buffer.role, half) {
                // each half counts the weights of its units
                (Role::Weights, Some((_, ProductPlan { product, .. }, [here, _])))
                    if !here.is_of_rows =>
                {
                    let half_bytes = bytes * here.units.len() as u64 / product.units as u64;
                    if kernel.concurrent { bytes - half_bytes } else { half_bytes }
                }
                (Role::Weights | Role::Constant(_), _) if first => bytes,
                _ => 0,
            }
        };
        let weight_bytes = kernel.params.iter().map(|(id, _)| id).map(bytes).sum();
        let multiply_adds = match half {
            None => kernel_layers.iter().map(|&i| layers[i].multiply_adds).sum(),
            Some((i, ProductPlan { product, .. }, halves)) => {
                let Half { rows, units, .. } = &halves[usize::from(kernel.concurrent)];
                layers[i].multiply_adds * (rows.len() * units.len()) as u64
                    / (product.rows * product.units) as u64
            }
        };
        kernels.push(Kernel {
            name: kernel.name.clone(),
            note: match (kernel_layers.is_empty(), kernel.doc.last()) {
                (true, Some(half)) if kernel.concurrent => {
                    format!("at the same time as the one above. {half}")
                }
                (true, _) => kernel.doc.join(" "),
                (false, _) => String::new(),
            },
            writes_outputs: written(|role| if let Role::Result(i) = role { Some(i) } else { None }),
            writes_variables: written(
                |role| if let Role::Variable(i) = role { Some(i) } else { None },
            ),
            plan: plans,
            multiply_adds,
            layers: kernel_layers,
            weight_bytes,
            weight_bytes_read: cost.weight_bytes,
            operations: cost.operations,
            cycles: match plan.arch.instructions_of(isa) {
                Some(instructions) => estimate::of_kernel(kernel, body, isa, instructions),
                None => cost.cycles(isa, &plan.arch.costs),
            },
            share: 0.0,
        });
    }
    kernels
}

/// Panels, tiles and loops of a product: `3 x 32 columns (tiles 32), loops`.
fn tiles(plan: &ProductPlan, isa: usize) -> String {
    let panels = plan.panels.iter().zip(&plan.tilings[isa]).map(|(panels, tiling)| {
        let how = match tiling {
            Tiling::Runs => "runs of gates".to_owned(),
            Tiling::Columns(passes) => {
                let pass = |vectors: &Vec<(usize, usize)>| {
                    vectors.iter().map(|(_, lanes)| lanes).sum::<usize>()
                };
                let passes: Vec<_> =
                    passes.iter().map(|vectors| pass(vectors).to_string()).collect();
                format!("tiles {}", passes.join("+"))
            }
        };
        let columns = if panels.columns == 1 { "column" } else { "columns" };
        match panels.count {
            1 => format!("{} {columns} ({how})", panels.columns),
            n => format!("{n} x {} {columns} ({how})", panels.columns),
        }
    });
    let panels: Vec<_> = panels.collect();
    format!(
        "{}, {}",
        panels.join(", "),
        match plan.unrolled {
            Unrolled::Fully => "unrolled",
            Unrolled::WithoutZeros => "unrolled without zeros",
            _ if plan.product.layout.indexed().is_some() => "loops without zeros",
            Unrolled::SeveralRows | Unrolled::RowByRow => "loops",
        }
    )
}

/// The graphs inside an operation.
fn bodies(op: &Op) -> Vec<&Model> {
    match op {
        Op::Loop(body) => vec![&body.body],
        Op::If(choice) => vec![&choice.then.body, &choice.otherwise.body],
        _ => Vec::new(),
    }
}

/// The layers of a graph, each with the indices of its nodes. An operator may have become several
/// nodes, consecutive except for constants.
fn layers_of(model: &Model) -> Vec<Vec<usize>> {
    let is_layer = |node: &Node| !matches!(node.op, Op::Parameter | Op::Result | Op::Constant(_));
    let places: Vec<usize> =
        (0..model.nodes.len()).filter(|&node| is_layer(&model.nodes[node])).collect();
    let layer = |node: usize| (&model.nodes[node].name, &model.nodes[node].kind);
    places.chunk_by(|&a, &b| layer(a) == layer(b)).map(<[usize]>::to_vec).collect()
}

/// Adds the numbers of layers and of constants in a graph and in the bodies of its operations.
fn count_layers(model: &Model, counts: &mut (usize, usize)) {
    counts.0 += layers_of(model).len();
    counts.1 += model.nodes.iter().filter(|node| matches!(node.op, Op::Constant(_))).count();
    for body in model.nodes.iter().flat_map(|node| bodies(&node.op)) {
        count_layers(body, counts);
    }
}

/// Eliminated layers by type. Layers of bodies are matched by name and type: of n equal layers with
/// m remaining ones, n - m count as eliminated.
fn folded(model: &Model, valid: &CoreModel) -> Vec<Folded> {
    let mut remaining: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut places: BTreeSet<usize> = BTreeSet::new();
    for node in valid.all_nodes() {
        *remaining.entry((node.name.clone(), node.kind.to_lowercase())).or_default() += 1;
        places.insert(node.layer.outer);
    }
    let mut gone: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    collect_folded(model, &mut |node, _| places.contains(&node), &mut gone);
    let mut is_left = |_, node: &Node| match remaining
        .get_mut(&(node.name.clone(), node.operator().to_lowercase()))
    {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    let mut open: Vec<&Model> = model.nodes.iter().flat_map(|node| bodies(&node.op)).collect();
    while let Some(body) = open.pop() {
        collect_folded(body, &mut is_left, &mut gone);
        open.extend(body.nodes.iter().flat_map(|node| bodies(&node.op)));
    }
    gone.into_iter()
        .map(|(kind, names)| Folded { kind: kind.to_owned(), count: names.len(), names })
        .collect()
}

/// Adds the layers of one graph that have no remaining node, except variables. `is_left`: true for
/// a remaining node.
fn collect_folded<'a>(
    model: &'a Model,
    is_left: &mut dyn FnMut(usize, &Node) -> bool,
    gone: &mut BTreeMap<&'a str, Vec<String>>,
) {
    for layer in layers_of(model) {
        let first = &model.nodes[layer[0]];
        let is_variable = matches!(first.op, Op::ReadValue { .. } | Op::Assign { .. });
        let remaining = layer.iter().filter(|&&node| is_left(node, &model.nodes[node])).count();
        if remaining == 0 && !is_variable {
            gone.entry(first.operator()).or_default().push(first.name.clone());
        }
    }
}

/// The format of the matrices of all layers, or `mixed`.
fn precision(plan: &Plan) -> &'static str {
    let mut names = plan.products.iter().map(|product| product.product.layout.format.name());
    let first = names.next().unwrap_or(WeightFormat::F32.name());
    if names.all(|name| name == first) { first } else { "mixed" }
}
