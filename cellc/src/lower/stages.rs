//! Stages: the parts of a step that a block of steps computes one after the other, each for all
//! steps of the block. Kernels that hand something on to the next step are of one stage.

use std::collections::BTreeMap;

use super::Lowering;
use crate::arch::Isa;
use crate::core::{CoreModel, Denormals};
use crate::kernel::{BodyRef, BufferId, Kernel, Role};
use crate::plan::Plan;

/// The most steps of a block.
const STEPS: usize = 16;

/// Upper limit for the scratch memory of a block, in elements: it stays in the cache.
const MOST_SCRATCH: usize = 1 << 16;

/// The most steps of a block: 1 for models whose steps must follow each other, and for targets
/// without vectors, on which memory is scarce.
pub(super) fn steps_at_once(model: &CoreModel, plan: &Plan, denormals: &Denormals) -> usize {
    let is_one_array = model.steps.as_ref().is_some_and(|steps| {
        steps.parameters[..] == [true]
            && steps.results[..] == [true]
            && model.results[0].element.is_float()
            && model.parameters[0].element.is_float()
            && [&model.parameters[0].shape, &model.results[0].shape]
                .iter()
                .all(|shape| !matches!(shape[..], [rows, _] if rows > 1))
    });
    let is_wide = |isa: &Isa| isa.lanes > 1 && isa.c.flushes.is_none();
    let fits = is_one_array
        && !plan.delay_lines.histories.is_empty()
        && model.states.is_empty()
        && denormals.before().next().is_none()
        && !plan.alternates(model)
        && plan.products.iter().all(|product| product.halves.is_none())
        && plan.isas.iter().all(|own| is_wide(own.isa));
    if fits { STEPS } else { 1 }
}

/// The steps of a block with the memory of a body.
pub(super) fn with_memory(steps: usize, body: BodyRef<'_>) -> usize {
    let fits = body.stages.len() > 1 && body.block_len * steps <= MOST_SCRATCH;
    if fits { steps } else { 1 }
}

/// The number of kernels in each stage.
pub(super) fn stages(body: BodyRef<'_>) -> Vec<usize> {
    let mut spans: BTreeMap<BufferId, (usize, usize)> = BTreeMap::new();
    for (at, kernel) in body.kernels.iter().enumerate() {
        for id in kernel.params.iter().map(|(id, _)| body.whole(*id).0) {
            if matches!(body.buffer(id).role, Role::Variable(_)) {
                spans.entry(id).or_insert((at, at)).1 = at;
            }
        }
    }
    let mut stages = Vec::new();
    let mut first = 0;
    for next in 1..=body.kernels.len() {
        if spans.values().all(|(from, to)| next <= *from || next > *to) {
            stages.push(next - first);
            first = next;
        }
    }
    stages
}

impl Lowering<'_> {
    /// Moves the kernels from `first` on, which assign to variables, each to the place behind the
    /// last kernel that must precede it.
    pub(super) fn settle(&mut self, first: usize) {
        for kernel in self.body.kernels.split_off(first) {
            let precedes = |other: &Kernel| {
                let body = self.body_ref();
                other.params.iter().any(|(id, written)| {
                    let whole = body.whole(*id).0;
                    let own = |(own, writes): &(BufferId, bool)| {
                        body.whole(*own).0 == whole && (*written || *writes)
                    };
                    kernel.params.iter().any(own)
                })
            };
            let at = self.body.kernels.iter().rposition(precedes).map_or(0, |at| at + 1);
            self.body.kernels.insert(at, kernel);
        }
    }
}
