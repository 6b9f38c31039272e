//! Choices for a model: instruction sets, branches, fused operations, delay lines, steps together.

use std::collections::{BTreeMap, BTreeSet};

use super::choose::most_tile_rows;
use super::product_planner::ProductPlanner;
use super::step_blocks::step_block;
use super::values::Values;
use super::{Branches, DelayLines, Fusion, Multiples, Plan, ProductPlan};
use crate::arch::{Arch, Isa, PlannedIsa};
use crate::core::{CoreModel, FixedMatrices, PlannedProduct};
use crate::encoding::Arithmetic;
use crate::kernel::FrameOrder;
use crate::numerics::{Precisions, Vector, flush_below};
use crate::request::{Fma, Language, Options};

/// The instruction sets to write, the baseline first, the best last.
pub fn instruction_sets(options: &Options, precisions: &Precisions) -> Vec<&'static Isa> {
    let asked = |isa: &&'static Isa| match &options.machine.isas {
        Some(list) => list.contains(isa),
        None => isa.words().is_empty() || precisions.multiply_packed(&isa.words()),
    };
    let baseline = options.machine.target.baseline;
    // an instruction set that flushes denormals to zero needs the set of one lane, too
    let flushes = options.known_isas().any(|isa| isa.c.flushes.is_some() && asked(&isa));
    options
        .known_isas()
        .filter(|isa| *isa == baseline || asked(isa) || flushes && isa.lanes == 1)
        .collect()
}

/// Plans a model.
pub fn plan(model: &CoreModel, options: &Options, precisions: &Precisions) -> Plan {
    let isas = instruction_sets(options, precisions);
    let plan = plan_for(model, options, precisions, &isas);
    // without products in tiles, an instruction set with tiles equals the one that it extends and
    // is left out
    let unused = |at: usize, isa: &Isa| {
        options.machine.isas.is_none()
            && most_tile_rows(isa) > 0
            && plan.products.iter().all(|plan| !plan.uses_tiles(at, isa))
    };
    let unused = |at: usize, isa: &Isa| unused(at, isa) || is_too_wide(&plan, (at, isa), options);
    let used: Vec<_> = isas
        .iter()
        .enumerate()
        .filter(|(at, isa)| !unused(*at, isa))
        .map(|(_, isa)| *isa)
        .collect();
    if used.len() == isas.len() { plan } else { plan_for(model, options, precisions, &used) }
}

/// True if an instruction set would only add padding: the only product of the model is a padded
/// cell, the vectors of the instruction set before cover a panel, and the user asked for no
/// instruction sets.
fn is_too_wide(plan: &Plan, (at, isa): (usize, &Isa), options: &Options) -> bool {
    let [product] = &plan.products[..] else { return false };
    let before = at.checked_sub(1).map(|before| plan.isas[before].isa);
    let covers = |before: &Isa| {
        before.fma == isa.fma
            && isa.lanes > before.lanes
            && product.panels.iter().all(|panels| panels.columns <= before.lanes)
    };
    options.machine.isas.is_none() && product.is_padded() && before.is_some_and(covers)
}

/// The delay lines of a model, with the products that read taps in place.
fn delay_lines(
    model: &CoreModel,
    products: &[ProductPlan],
    isas: &[PlannedIsa],
    order: FrameOrder,
) -> DelayLines {
    let mut lines = DelayLines::new(model, order);
    let nodes = model.all_nodes().into_iter().filter(|node| node.op.is_product());
    for (node, product) in nodes.zip(products) {
        if let Some(PlannedProduct::Dense(dense)) = node.op.planned()
            && product.reads_elements(isas)
        {
            lines.read_in_place(model, dense);
        }
    }
    lines
}

/// The delay lines of a model, and the most steps that a call computes together.
fn stream(
    model: &CoreModel,
    products: &[ProductPlan],
    branches: &Branches,
    target: (&[PlannedIsa], &Arch, Option<f32>),
) -> (DelayLines, usize) {
    let lines = delay_lines(model, products, target.0, FrameOrder::Rows);
    match step_block(model, &lines, products, branches, target) {
        1 => (lines, 1),
        steps => (delay_lines(model, products, target.0, FrameOrder::Rings { steps }), steps),
    }
}

/// Plans a model for these instruction sets.
fn plan_for(
    model: &CoreModel,
    options: &Options,
    precisions: &Precisions,
    isas: &[&'static Isa],
) -> Plan {
    let arch = options.machine.target;
    // generated Rust has no fused multiply-add for some machines
    let spelled =
        |isa: &Isa| options.output.language == Language::C || !isa.rust.mul_add.is_empty();
    let fused = |isa: &Isa| isa.fma && options.numerics.fma == Fma::Auto && spelled(isa);
    let isas: Vec<_> = isas.iter().map(|isa| PlannedIsa { isa, fuses: fused(isa) }).collect();
    let planner = ProductPlanner::new(model, options, &isas);
    let (mut products, mut unfused) = (Vec::new(), BTreeSet::new());
    for node in model.all_nodes() {
        let Some(operation) = node.op.planned() else { continue };
        let value = node.op.first_value();
        let product = planner.plan(operation, precisions.get(value));
        let is_alone = product.halves.is_some() || product.is_padded();
        unfused.extend(is_alone.then_some(value));
        products.push(product);
    }
    let flush_below = flush_below(&options.numerics);
    let fuses = options.tuning.fuse != Some(false);
    let lanes = isas.iter().map(|planned| planned.isa.lanes).max().unwrap_or(1);
    let branches = Branches::new(model, lanes, options.tuning.branches);
    let fusion = if fuses { Fusion::new(model, &unfused, &branches) } else { Fusion::default() };
    let values = Values::new(options.output.language, &isas);
    let target = (&isas[..], arch, flush_below);
    let (delay_lines, step_block) = stream(model, &products, &branches, target);
    Plan {
        arch,
        products,
        windows: integer_windows(model, precisions),
        branches,
        fusion,
        delay_lines,
        step_block,
        accuracy: options.numerics.accuracy,
        flush_below,
        values,
        isas,
    }
}

/// By the value of a convolution in integers: the arithmetic of its windows, and the quantisation
/// of x if the model quantises x.
fn integer_windows(
    model: &CoreModel,
    precisions: &Precisions,
) -> BTreeMap<usize, (Arithmetic, Option<Multiples>)> {
    let mut windows = BTreeMap::new();
    for node in model.all_nodes() {
        let Some(product) = node.op.facts().product else { continue };
        let FixedMatrices::Windows(convolution) = product.matrices else { continue };
        let precision = precisions.get(convolution.out);
        if precision.arithmetic() != Arithmetic::F32 {
            windows.insert(
                convolution.out,
                (precision.arithmetic().of_windows(), precision.own(Vector::X, product.x.len)),
            );
        }
    }
    windows
}
