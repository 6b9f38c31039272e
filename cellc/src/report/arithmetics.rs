//! The costs of layers in each arithmetic: the model is planned and lowered once per arithmetic.

use serde::Serialize;

use super::{kernels, layers, layers_by_value, operand};
use crate::arch::Isa;
use crate::compile::{self, Compilation};
use crate::core::{CoreModel, CoreNode, FixedMatrices, FixedProduct};
use crate::encoding::Arithmetic;
use crate::numerics::Precisions;
use crate::request::Precision;

/// The arithmetics, most accurate first.
const ORDER: [Precision; 4] =
    [Precision::F32, Precision::Int16, Precision::Int8x16, Precision::Int8];

/// Two costs count as equal if the larger exceeds the smaller by at most this fraction.
const ALIKE: f64 = 0.03;

/// Two estimated times count as equal if they differ by at most this fraction: each estimate is
/// within 17 % of emulated instruction counts.
pub(crate) const ALIKE_IN_TIME: f64 = 0.2;

/// The costs of all layers with matrix products, in each arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arithmetics {
    /// The names of the arithmetics, most accurate first. Costs are in this order.
    pub names: Vec<&'static str>,
    /// The target, with the instruction set if files have several bodies. For an abstract target,
    /// the instruction set alone.
    pub machine: String,
    /// True if cycles are instruction counts.
    pub in_instructions: bool,
    /// One row for each kernel with matrix products, in execution order.
    pub rows: Vec<LayersCost>,
    /// The sums over all rows.
    pub totals: Vec<ArithmeticCost>,
    /// The index of the fastest arithmetic for all layers. Among equals, the most accurate.
    pub fastest: usize,
    /// The index of the arithmetic with the fewest bytes. Among equals, the most accurate.
    pub smallest: usize,
    /// Pairs of arithmetics with equal products in all layers, by index.
    pub same: Vec<(usize, usize)>,
    /// Arithmetics that a more accurate one matches in time and bytes, each with the more accurate
    /// one, by index.
    pub without_gain: Vec<(usize, usize)>,
}

/// Layers that stay f32 in every arithmetic, for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InF32 {
    /// The names of the layers in the model.
    pub layers: Vec<String>,
    /// The reason.
    pub why: &'static str,
}

/// The layers of a model that stay f32, by reason.
pub(super) fn in_f32(model: &CoreModel) -> Vec<InF32> {
    let reason = |(why, layers): (&'static str, Vec<&str>)| InF32 {
        layers: layers.into_iter().map(str::to_owned).collect(),
        why,
    };
    model.in_f32_by_reason(|_| true).into_iter().map(reason).collect()
}

/// The layers whose arithmetic the quantised model decides.
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
fn has_own_integers(precisions: &Precisions, node: &CoreNode) -> bool {
    node.op.has_precision() && precisions.get(node.op.first_value()).has_own_integers()
}

/// True if `int8` and `int8x16` multiply equal numbers in all layers. They do for short vectors and
/// for depthwise convolutions.
fn is_same_in_8_bits(model: &CoreModel) -> bool {
    let is_same = |len: usize| Arithmetic::Int8.largest(len) == Arithmetic::Int8x16.largest(len);
    let products = model.all_nodes().into_iter().filter_map(|node| node.op.facts().product);
    let mut planned =
        products.filter(|product| matches!(product.matrices, FixedMatrices::Planned(_)));
    planned.all(|FixedProduct { x, h, .. }| is_same(x.len) && h.is_none_or(|h| is_same(h.len)))
}

/// The costs of the layers of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayersCost {
    /// The names of the layers in the model.
    pub layers: Vec<String>,
    /// By arithmetic.
    pub costs: Vec<ArithmeticCost>,
    /// The index of the fastest arithmetic. Among equals, the most accurate.
    pub fastest: usize,
}

/// The cost of a layer, a kernel or all layers in one arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ArithmeticCost {
    /// Bytes of packed weights and biases.
    pub weight_bytes: u64,
    /// Cycles, estimated by [`super::Report::formula`].
    pub cycles: f64,
}

/// The costs of a compiled model on one of its instruction sets. `None` for run-time weights or
/// without matrix products.
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
            let cost_of = |found: &Vec<(Vec<String>, ArithmeticCost)>| {
                Some(found.iter().find(|(known, _)| known == layers)?.1)
            };
            let costs_of_others = others.iter().map(cost_of).collect::<Option<Vec<_>>>()?;
            let costs: Vec<_> = std::iter::once(*cost).chain(costs_of_others).collect();
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
    let position = |precision: Precision| ORDER.iter().position(|own| *own == precision);
    let in_8_bits = position(Precision::Int8).zip(position(Precision::Int8x16));
    let same: Vec<_> = in_8_bits.filter(|_| is_same_in_8_bits(model)).into_iter().collect();
    let without_gain = |at: usize| {
        let (own, mut exacter) =
            (totals[at], (0..at).rev().filter(|other| !same.contains(&(at, *other))));
        let better = |other: &ArithmeticCost| {
            is_alike(other.cycles, own.cycles, ALIKE)
                && is_alike(other.weight_bytes as f64, own.weight_bytes as f64, ALIKE)
        };
        exacter.find(|other| better(&totals[*other])).map(|other| (at, other))
    };
    let (arch, isas) = (compilation.plan.arch, &compilation.plan.isas);
    let isa = isas.iter().find(|planned| isa == planned.isa.name)?.isa;
    let in_instructions = arch.instructions_of(isa).is_some();
    Some(Arithmetics {
        names: ORDER.map(Precision::name).to_vec(),
        machine: if in_instructions {
            compilation.description.estimate.named(arch.name, isa)
        } else {
            isa.name.to_owned()
        },
        in_instructions,
        fastest: least(&totals, |cost| cost.cycles, ALIKE_IN_TIME),
        smallest: least(&totals, |cost| cost.weight_bytes as f64, ALIKE),
        without_gain: (0..ORDER.len()).filter_map(without_gain).collect(),
        same,
        rows,
        totals,
    })
}

/// The kernels with matrix products: the names of their layers, and their costs.
fn of_kernels(
    compilation: &Compilation,
    isa: &str,
    precision: Precision,
) -> Vec<(Vec<String>, ArithmeticCost)> {
    let model = &compilation.model;
    let options =
        compilation.options.clone().with_precision(Some(precision)).with_precision_of(Vec::new());
    let precisions = Precisions::new(model, &options.numerics);
    let (plan, program) = compile::planned(model, &options, &precisions);
    // a file without integer products has no body for an instruction set that only adds integer
    // products; machines run the extended instruction set
    let extended = Isa::from_name(isa).into_iter().flat_map(Isa::extended).map(|isa| isa.name);
    let position = |isa| plan.isas.iter().position(|planned| isa == planned.isa.name);
    let Some(at) = std::iter::once(isa).chain(extended).find_map(position) else {
        return Vec::new();
    };
    let (isa, body) = (plan.isas[at].isa, program.body(at));
    let (by_value, nodes) = (layers_by_value(model), model.all_nodes());
    let layers = layers(model, &plan, body, |source| operand(&by_value, source));
    let cost = |kernel: super::Kernel| {
        let has_choice = |node: &CoreNode| {
            node.op.has_precision() && !has_own_integers(&compilation.precisions, node)
        };
        let products: Vec<usize> =
            kernel.layers.into_iter().filter(|i| has_choice(nodes[*i])).collect();
        let weight_bytes = products.iter().map(|&i| layers[i].weight_bytes).sum();
        (
            products.iter().map(|&i| nodes[i].name.clone()).collect(),
            ArithmeticCost { weight_bytes, cycles: kernel.cycles },
        )
    };
    let costs = kernels(model, &plan, (body, isa), &layers, |_| None).into_iter().map(cost);
    costs.filter(|(layers, _): &(Vec<String>, _)| !layers.is_empty()).collect()
}

/// The index of the first cost that exceeds the smallest cost by at most the fraction `alike`.
fn least(costs: &[ArithmeticCost], time_of: impl Fn(&ArithmeticCost) -> f64, alike: f64) -> usize {
    let least = costs.iter().map(&time_of).fold(f64::INFINITY, f64::min);
    costs.iter().position(|cost| is_alike(time_of(cost), least, alike)).unwrap_or(0)
}

/// True if `cost` exceeds `other` by at most the fraction `alike`.
fn is_alike(cost: f64, other: f64, alike: f64) -> bool {
    cost <= other * (1.0 + alike)
}
