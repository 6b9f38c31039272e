//! How many steps of a stream a call computes together.

use super::{Branches, DelayLines, ProductPlan};
use crate::arch::{Arch, Isa, PlannedIsa};
use crate::core::{CoreModel, CoreOp, Denormals, KernelForm, PlannedProduct, Source};
use crate::encoding::{Arithmetic, WeightFormat};

/// The most steps of a block: two vectors of the widest instruction set.
const MOST_STEPS: usize = 32;

/// The fewest steps for which a block is worth its code.
const LEAST_STEPS: usize = 16;

/// Upper limit for the values of a block of steps, in elements: they stay in the cache.
const MOST_VALUES: usize = 1 << 17;

/// The most steps that a call computes together. 1 for models without delay lines, and for models
/// with other memory, whose steps must follow each other; with several inputs or results, or
/// integers among them; with branches, operations without kernels of several steps, or products
/// that are not [plain](is_plain); with denormals flushed before operations; with more than
/// [`MOST_VALUES`] elements in [`LEAST_STEPS`] steps; and if an instruction set has one lane or
/// flushes denormals itself, as memory is scarce on these targets.
pub(super) fn step_block(
    model: &CoreModel,
    lines: &DelayLines,
    products: &[ProductPlan],
    branches: &Branches,
    (isas, arch, flush_below): (&[PlannedIsa], &Arch, Option<f32>),
) -> usize {
    let is_wide = |isa: &Isa| isa.lanes > 1 && isa.c.flushes.is_none();
    let is_alone = lines.histories.len() == model.variables.len()
        && !lines.histories.is_empty()
        && model.states.is_empty();
    let fits = is_alone
        && is_one_array(model)
        && matches!(model.results[0].source, Source::Value(_))
        && isas.iter().all(|planned| is_wide(planned.isa))
        && products.iter().all(is_plain)
        && model.nodes.iter().all(|node| {
            let value = node.op.first_value();
            takes_any_steps(&node.op)
                && branches.sides(value).is_empty()
                && !branches.is_join(value)
        })
        && Denormals::new(model, flush_below, arch.memory.stack_limit).before().next().is_none();
    let len = |value: usize| model.values[value].shape.iter().product::<usize>();
    let kept = (0..model.values.len()).filter(|value| !lines.has_no_memory(*value));
    let values: usize = kept.map(len).sum();
    let mut steps = MOST_STEPS;
    while steps >= LEAST_STEPS && steps * values > MOST_VALUES {
        steps /= 2;
    }
    if fits && steps >= LEAST_STEPS { steps } else { 1 }
}

/// True if a step takes one array of floats and returns one.
fn is_one_array(model: &CoreModel) -> bool {
    model.steps.as_ref().is_some_and(|steps| {
        steps.parameters[..] == [true]
            && steps.results[..] == [true]
            && model.results[0].element.is_float()
            && model.parameters[0].element.is_float()
    })
}

/// True for the products that have one sum for each unit, multiplied in f32 by all weights in one
/// thread.
fn is_plain(plan: &ProductPlan) -> bool {
    let layout = &plan.product.layout;
    plan.product.sums.len() == 1
        && plan.arithmetic == Arithmetic::F32
        && layout.format == WeightFormat::F32
        && layout.blocks.is_none()
        && layout.words_together() == 1
        && plan.multiples.x.is_none()
        && plan.halves.is_none()
}

/// True if an operation has kernels for several steps.
fn takes_any_steps(op: &CoreOp) -> bool {
    let is_constant = |operand: &Source| matches!(operand, Source::Constant(_));
    let facts = op.facts();
    match facts.kernel {
        KernelForm::Elements => true,
        KernelForm::Viewed | KernelForm::Joined => !facts.operands.iter().any(is_constant),
        KernelForm::Rows(_) => match op.planned() {
            Some(PlannedProduct::Dense(dense)) => !is_constant(&dense.x),
            Some(PlannedProduct::Cell(_)) | None => false,
        },
        KernelForm::Alone | KernelForm::NewState(_) | KernelForm::Body => false,
    }
}
