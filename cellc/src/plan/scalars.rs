//! Networks too small for vectors.

use crate::arch::MOST_SCALAR_WEIGHTS;
use crate::core::CoreModel;
use crate::request::Options;

/// Upper limit for the elements of the longest tensor of a network computed in scalars.
const MOST_SCALAR_ELEMENTS: usize = 8;

/// True if a network is too small for vectors of any target, and the options ask neither for an
/// instruction set nor for extensions of C compilers, which scalar code does without.
pub(crate) fn fills_no_vector(model: &CoreModel, options: &Options) -> bool {
    let given = model.parameters.iter().filter(|parameter| parameter.weight);
    let given: usize = given.map(|parameter| parameter.shape.iter().product::<usize>()).sum();
    let known: usize = model.constants.iter().map(|constant| constant.len()).sum();
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    let longest = model.values.iter().map(|value| elements(&value.shape)).max().unwrap_or(0);
    options.machine.isas.is_none()
        && !options.needs_extensions()
        && given + known < MOST_SCALAR_WEIGHTS
        && longest <= MOST_SCALAR_ELEMENTS
}
