//! What layers would cost in each arithmetic: the model is planned and lowered once for each.

use serde::Serialize;

use super::{kernels, layers, layers_by_value, operand};
use crate::arch::Isa;
use crate::compile::{self, Compilation};
use crate::model::{ValidModel, ValidNode, ValidOp};
use crate::numerics::Precisions;
use crate::plan::plan;
use crate::request::{Arithmetic, Precision};

/// The most exact first.
const ORDER: [Precision; 4] = [Precision::F32, Precision::Int16, Precision::Int8x16, Precision::Int8];

/// Costs are equal if the larger exceeds the smaller by no more than this part of it.
const ALIKE: f64 = 0.03;

/// Times of two arithmetics are equal if their estimates differ by no more than this part: each
/// estimate is within 17 % of the instructions that an emulator counts.
pub(crate) const ALIKE_IN_TIME: f64 = 0.2;

/// What the layers that multiply with matrices would cost in each arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arithmetics {
    /// What they are called, the most exact first; costs are in this order.
    pub names: Vec<&'static str>,
    /// The target, with the instruction set where its files have bodies for several; or on one that
    /// is no machine of its own the instruction set.
    pub machine: String,
    /// Whether cycles are instructions.
    pub in_instructions: bool,
    /// A row for each kernel that has such layers, in the order in which they run.
    pub rows: Vec<LayersCost>,
    /// Of all rows.
    pub totals: Vec<ArithmeticCost>,
    /// The fastest one for all layers, and the one of the fewest bytes, by place; of those alike,
    /// the most exact.
    pub fastest: usize,
    /// See `fastest`.
    pub smallest: usize,
    /// Those in which all layers multiply the same numbers, by place.
    pub same: Vec<(usize, usize)>,
    /// Those for which a more exact one takes no more time and no more bytes, each with that one.
    pub without_gain: Vec<(usize, usize)>,
}

/// Layers that stay f32 whatever arithmetic is asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InF32 {
    /// Their names in the model.
    pub layers: Vec<String>,
    /// Why they do.
    pub why: &'static str,
}

/// Those of a model.
pub(super) fn in_f32(model: &ValidModel) -> Vec<InF32> {
    let reason = |(why, layers): (&'static str, Vec<&str>)| InF32 {
        layers: layers.into_iter().map(str::to_owned).collect(),
        why,
    };
    model.in_f32_by_reason(|_| true).into_iter().map(reason).collect()
}

/// The layers that have no other arithmetic than the quantised model's own.
pub(super) fn in_own_integers(compilation: &Compilation) -> Vec<String> {
    let mut names = Vec::new();
    for node in compilation.model.all_nodes() {
        if has_own_integers(&compilation.precisions, node) && !names.contains(&node.name) {
            names.push(node.name.clone());
        }
    }
    names
}

/// True if the quantised model decides the arithmetic of an operation.
fn has_own_integers(precisions: &Precisions, node: &ValidNode) -> bool {
    node.op.has_precision() && precisions.of(node.op.first_value()).has_own_integers()
}

/// Whether all layers multiply the same numbers in 8 bits, whatever bits x has: where vectors are
/// short, and in depthwise convolutions.
fn is_same_in_8_bits(model: &ValidModel) -> bool {
    let is_same = |len: usize| Arithmetic::Int8.largest(len) == Arithmetic::Int8x16.largest(len);
    model.all_nodes().iter().all(|node| match &node.op {
        ValidOp::Cell(cell) => is_same(cell.input_size) && is_same(cell.hidden_size),
        ValidOp::Dense(dense) => is_same(dense.inputs),
        _ => true,
    })
}

/// What the layers of one kernel would cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayersCost {
    /// Their names in the model.
    pub layers: Vec<String>,
    /// By arithmetic.
    pub costs: Vec<ArithmeticCost>,
    /// The fastest, by place; of those alike, the most exact.
    pub fastest: usize,
}

/// What something costs in one arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ArithmeticCost {
    /// Of packed weights and biases.
    pub weight_bytes: u64,
    /// Estimated by [`super::Report::formula`].
    pub cycles: f64,
}

/// Of a compiled model on one of its instruction sets; `None` where it has no matrices that are
/// known when compiling.
pub(super) fn arithmetics(compilation: &Compilation, isa: &str) -> Option<Arithmetics> {
    let model = &compilation.model;
    if model.parameters.iter().any(|parameter| parameter.weight) {
        return None;
    }
    let found = ORDER.map(|precision| of_kernels(compilation, isa, precision));
    let [first, others @ ..] = &found;
    if first.is_empty() {
        return None;
    }
    let rows: Vec<LayersCost> = first
        .iter()
        .map(|(layers, cost)| {
            let other =
                |found: &Vec<(Vec<String>, ArithmeticCost)>| Some(found.iter().find(|(own, _)| own == layers)?.1);
            let others = others.iter().map(other).collect::<Option<Vec<_>>>()?;
            let costs: Vec<_> = std::iter::once(*cost).chain(others).collect();
            Some(LayersCost {
                layers: layers.clone(),
                fastest: least(&costs, |cost| cost.cycles, ALIKE_IN_TIME),
                costs,
            })
        })
        .collect::<Option<_>>()?;
    let total = |at: usize| ArithmeticCost {
        weight_bytes: rows.iter().map(|row| row.costs[at].weight_bytes).sum(),
        cycles: rows.iter().map(|row| row.costs[at].cycles).sum(),
    };
    let totals: Vec<_> = (0..ORDER.len()).map(total).collect();
    let place = |precision: Precision| ORDER.iter().position(|own| *own == precision);
    let in_8_bits = place(Precision::Int8).zip(place(Precision::Int8x16));
    let same: Vec<_> = in_8_bits.filter(|_| is_same_in_8_bits(model)).into_iter().collect();
    let without_gain = |at: usize| {
        let (own, mut exacter) = (totals[at], (0..at).rev().filter(|other| !same.contains(&(at, *other))));
        let better = |other: &ArithmeticCost| {
            is_alike(other.cycles, own.cycles, ALIKE)
                && is_alike(other.weight_bytes as f64, own.weight_bytes as f64, ALIKE)
        };
        exacter.find(|other| better(&totals[*other])).map(|other| (at, other))
    };
    let (arch, isas) = (compilation.plan.arch, &compilation.plan.isas);
    let isa = isas.iter().find(|(own, _)| own.name == isa)?.0;
    let in_instructions = arch.instructions_of(isa).is_some();
    Some(Arithmetics {
        names: ORDER.map(Precision::name).to_vec(),
        machine: if in_instructions { compilation.estimate.named(arch.name, isa) } else { isa.name.to_owned() },
        in_instructions,
        fastest: least(&totals, |cost| cost.cycles, ALIKE_IN_TIME),
        smallest: least(&totals, |cost| cost.weight_bytes as f64, ALIKE),
        without_gain: (0..ORDER.len()).filter_map(without_gain).collect(),
        same,
        rows,
        totals,
    })
}

/// The kernels that multiply with matrices: the names of the layers that do so, and what they cost.
fn of_kernels(compilation: &Compilation, isa: &str, precision: Precision) -> Vec<(Vec<String>, ArithmeticCost)> {
    let model = &compilation.model;
    let options = compilation.options.clone().with_precision(Some(precision)).with_precision_of(Vec::new());
    let plan = plan(model, &options, &Precisions::new(model, &options.numerics));
    let program = compile::program(model, &plan);
    // a file that multiplies no integers has no body for what only they use: its machines run what
    // that extends
    let extended = Isa::from_name(isa).into_iter().flat_map(Isa::extended).map(|isa| isa.name);
    let place = |isa| plan.isas.iter().position(|(own, _)| own.name == isa);
    let Some(at) = std::iter::once(isa).chain(extended).find_map(place) else { return Vec::new() };
    let (isa, body) = (plan.isas[at].0, program.body(at));
    let (by_value, nodes) = (layers_by_value(model), model.all_nodes());
    let layers = layers(model, &plan, body, |source| operand(&by_value, source));
    let cost = |kernel: super::Kernel| {
        let has_choice = |node: &ValidNode| node.op.has_precision() && !has_own_integers(&compilation.precisions, node);
        let own: Vec<usize> = kernel.layers.into_iter().filter(|i| has_choice(nodes[*i])).collect();
        let weight_bytes = own.iter().map(|&i| layers[i].weight_bytes).sum();
        (own.iter().map(|&i| nodes[i].name.clone()).collect(), ArithmeticCost { weight_bytes, cycles: kernel.cycles })
    };
    let all = kernels(model, &plan, (body, isa), &layers, |_| None).into_iter().map(cost);
    all.filter(|(layers, _): &(Vec<String>, _)| !layers.is_empty()).collect()
}

/// The place of the first cost that exceeds the least one by at most the part `alike` of it.
fn least(costs: &[ArithmeticCost], of: impl Fn(&ArithmeticCost) -> f64, alike: f64) -> usize {
    let least = costs.iter().map(&of).fold(f64::INFINITY, f64::min);
    costs.iter().position(|cost| is_alike(of(cost), least, alike)).unwrap_or(0)
}

/// True if a cost exceeds another one by at most the part `alike` of it.
fn is_alike(cost: f64, other: f64, alike: f64) -> bool {
    cost <= other * (1.0 + alike)
}
