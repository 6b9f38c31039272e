//! Passes: transformations of bodies. Results stay equal unless a pass documents a difference.

mod expand;
mod gather;
mod single;
mod split;
mod unroll;
mod zeros;

pub(crate) use expand::expand;
pub(crate) use gather::gather;
pub(crate) use single::single;
pub(crate) use split::split;
pub(crate) use unroll::unroll;
use zeros::{remove_zeros, zeros};

use crate::arch::Calls;
use crate::core::CoreModel;
use crate::kernel::{Program, Role, verify};
use crate::pack::pack;
use crate::plan::{Plan, Unrolled};

/// Runs all passes on the kernels of `lower`.
pub(crate) fn run(mut program: Program, model: &CoreModel, plan: &Plan) -> Program {
    verified(&program, "lower");
    let profiles: Vec<_> = plan.isas.iter().map(|planned| planned.fuses).collect();
    program.bodies.iter_mut().for_each(|body| expand(body, plan.accuracy, &profiles));
    verified(&program, "expand");
    for (body, _) in program.bodies.iter_mut().zip(&plan.isas).filter(|(_, planned)| !planned.fuses)
    {
        split(body);
    }
    verified(&program, "split");
    program.bodies.iter_mut().for_each(unroll);
    verified(&program, "unroll");
    if plan.products.iter().any(|product| product.unrolled == Unrolled::WithoutZeros) {
        let packed = pack(model, &program);
        let is_zero = zeros(&packed.bytes, |id| {
            let is_of_words = program.buffers.get(id.0)?.role == Role::Weights;
            packed.baked_at(id).filter(|_| is_of_words)
        });
        program.bodies.iter_mut().for_each(|body| remove_zeros(body, &is_zero));
        verified(&program, "zeros");
    }
    single(&mut program.bodies);
    verified(&program, "single");
    for (body, _) in program
        .bodies
        .iter_mut()
        .zip(&plan.isas)
        .filter(|(_, planned)| planned.isa.code.calls == Calls::SeveralValues)
    {
        gather(body);
    }
    verified(&program, "gather");
    program
}

/// Panics if a pass has left an invalid program: a bug of cellc, not a fault of the input.
fn verified(program: &Program, pass: &str) {
    if let Err(problem) = verify(program) {
        panic!("{pass} left a program that is wrong: {problem}");
    }
}
