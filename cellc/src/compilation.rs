//! A compiled model with the results of all stages, and its output.

use crate::core::CoreModel;
use crate::diagnostic::Diagnostics;
use crate::emit::{self, names::Interface};
use crate::kernel::Program;
use crate::numerics::Precisions;
use crate::pack::Packed;
use crate::plan::{Plan, Values};
use crate::request::Options;

/// The results of all stages of a compilation.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// The options.
    pub options: Options,
    /// The core model.
    pub model: CoreModel,
    /// The precision of every product.
    pub precisions: Precisions,
    /// The sizes of panels, tiles and loops.
    pub plan: Plan,
    /// The kernels, for each of the plan's instruction sets.
    pub program: Program,
    /// The packed weights and constants, in the order of the kernels.
    pub packed: Packed,
    /// The names in generated code.
    pub interface: Interface,
    /// Header, error bounds and costs. Macros have none of them.
    #[cfg(feature = "builder")]
    pub description: crate::description::Description,
    /// The lines about the model in the documentation of the generated type.
    pub summary: Vec<String>,
    /// Warnings and notices.
    pub warnings: Diagnostics,
}

impl Compilation {
    /// The Rust items as tokens, the weights as one literal.
    pub fn tokens(&self) -> proc_macro2::TokenStream {
        emit::rust_tokens(&self.contents())
    }

    /// The input of emission, without header and costs.
    pub(crate) fn contents(&self) -> emit::Contents<'_> {
        let values = Values::new(self.options.output.language, &self.plan.isas);
        assert_eq!(self.plan.values, values, "emit: the plan is for another language");
        emit::Contents {
            options: &self.options,
            isas: &self.plan.isas,
            program: &self.program,
            packed: &self.packed,
            passes: match self.plan.values {
                Values::OneText => emit::Passes::Looped,
                _ => emit::Passes::Separate,
            },
            interface: &self.interface,
            longest: self
                .model
                .values
                .iter()
                .map(|value| value.shape.iter().product())
                .max()
                .unwrap_or(0),
            header: &[],
            estimate: Vec::new(),
            summary: &self.summary,
            sha256: self.model.files.iter().map(|file| &file.sha256[..]).collect(),
        }
    }
}

/// Methods that macros do not use: files, header and error bounds.
#[cfg(feature = "builder")]
impl Compilation {
    /// The arithmetic of an instruction set with or without fused multiply-add, for error bounds.
    pub fn profile(&self, fused: bool) -> crate::bound::Profile {
        crate::bound::Profile::new(fused, &self.options.numerics, &self.precisions)
    }

    /// The files of the output, named after `stem`: weights first, the source last.
    pub fn emit(&self, stem: &str) -> Vec<emit::OutputFile> {
        let (header, target) = (&self.description.header, self.options.machine.target.name);
        let estimate = self.description.estimate.lines(target);
        let estimate = estimate.into_iter().flat_map(crate::header::wrap).collect();
        emit::files(&emit::Contents { header, estimate, ..self.contents() }, stem)
    }

    /// Measures the errors of the model over many steps, and rewrites the header: measured values
    /// tell useful error bounds from useless ones. Takes half a second at most. Run-time weights
    /// are not measured.
    pub fn measure(&mut self) {
        if self.packed.loaded.is_some() {
            // other weights have other errors: measured values would not hold
            return;
        }
        let best = self.program.body(self.program.bodies.len() - 1);
        let found = crate::free_run::measure(
            &self.model,
            best,
            &self.precisions,
            self.options.numerics.range,
        );
        // replace the lines about errors: measured values decide which bounds are useful
        let known = crate::header::errors(&self.description.bounds, &self.interface, None).len();
        let crate::description::Description { header, bounds, .. } = &mut self.description;
        header.truncate(header.len() - known);
        header.extend(crate::header::errors(bounds, &self.interface, found.as_ref()));
    }
}
