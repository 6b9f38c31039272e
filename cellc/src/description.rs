//! The description of a compiled model in generated files and in the command: header, bounds and
//! costs. Macros print none of it.

use crate::core::CoreModel;
use crate::emit::names::Interface;
use crate::estimate::Estimate;
use crate::header;
use crate::kernel::Program;
use crate::numerics::Precisions;
use crate::pack::Packed;
use crate::plan::Plan;
use crate::request::Options;

/// Header, error bounds and costs of a compiled model.
#[derive(Clone, Debug)]
pub struct Description {
    /// The comment at the top of the output, one element for each line.
    pub header: Vec<String>,
    /// Upper bounds of the error of one step.
    pub bounds: header::Bounds,
    /// The errors of the activations, one element for each line. Empty at the exact accuracy.
    pub activations: Vec<String>,
    /// The costs of one step on the target.
    pub estimate: Estimate,
}

impl Description {
    /// The description of a model with its plan, kernels, packed constants and names.
    pub(crate) fn new(
        model: &CoreModel,
        precisions: &Precisions,
        options: &Options,
        plan: &Plan,
        program: &Program,
        packed: &Packed,
        interface: &Interface,
    ) -> Self {
        let planned = (plan, precisions);
        let bounds = header::Bounds::new(model, planned, &options.numerics, interface);
        let mut lines = header::lines(model, planned, options, interface);
        lines.extend(header::errors(&bounds, interface, None));
        Self {
            header: lines,
            bounds,
            activations: header::activations(
                model,
                plan.accuracy,
                &plan.isas.iter().map(|planned| planned.fuses).collect::<Vec<_>>(),
            ),
            estimate: Estimate::new(model, plan, program, packed, interface),
        }
    }
}
