//! The pipeline, on one screen:
//!
//! 1. `front` reads a file, a macro or Builder calls into a [`Model`].
//! 2. `check` judges the model, `simplify` translates it to a [`CoreModel`], `stream` finds its
//!    states: the list in `passes`. `judge` calls the list again for one step of a stream.
//! 3. `numerics` chooses the precision of each product, `plan` sizes and layouts.
//! 4. `lower` makes kernels, `pass` rewrites them, `pack` orders the weights.
//! 5. `emit` spells the kernels in Rust or C.

use crate::arch::Calls;
use crate::check::{self, Hints, Judgement, Purpose, Unused, judge};
use crate::core::CoreModel;
#[cfg(feature = "builder")]
use crate::description::Description;
use crate::diagnostic::Diagnostics;
use crate::emit::{self, names::Interface};
use crate::kernel::{Program, Role, verify};
use crate::lower::lower;
use crate::model::Model;
use crate::numerics::{self, Precisions};
use crate::pack::{Packed, pack};
use crate::pass;
use crate::plan::{Plan, Unrolled, Values, fills_no_vector, plan};
use crate::request::{Options, Threads};
use crate::simplify::{sweep, translate, unpack_weights_read_as_data};
use crate::summary;

/// A compiled model, every stage of it.
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
    /// The constants, in the order of the kernels.
    pub packed: Packed,
    /// The names in generated code.
    pub interface: Interface,
    /// The header, the bounds and the costs, stated by files only.
    #[cfg(feature = "builder")]
    pub description: Description,
    /// The lines about the model in the documentation of the generated type.
    pub summary: Vec<String>,
    /// Warnings and notices.
    pub warnings: Diagnostics,
}

/// Compiles a model.
///
/// # Errors
/// All problems of the model and the options.
pub fn compile(model: &Model, options: &Options) -> Result<Compilation, Diagnostics> {
    let (model, mut warnings) = core_model(model, options)?;
    let compilation = compile_core(model, options);
    warnings.extend(compilation.warnings);
    Ok(Compilation { warnings, ..compilation })
}

/// Checks a model, fixes every open size and translates the model to core operations. Returns the
/// core model and the warnings.
///
/// # Errors
/// Everything that is wrong with the model, or with the options for it, warnings included.
pub fn core_model(
    model: &Model,
    options: &Options,
) -> Result<(CoreModel, Diagnostics), Diagnostics> {
    judge(model, options, Purpose::Compile, passes)
}

/// The errors in a partly read model: sizes may be open, values may have no producer.
pub(crate) fn problems(model: &Model) -> Diagnostics {
    check::problems(model, passes)
}

/// The checks and passes of a model whose sizes are given, in order. `None`: a pass has reported
/// why the next ones have nothing to work on.
fn passes(judgement: &mut Judgement) -> Option<()> {
    let Judgement { subject, inputs, steps, core, restart_warnings, diagnostics } = judgement;
    let (subject, model, options) = (*subject, subject.model, subject.options);
    // check
    check::structure(subject, diagnostics)?;
    check::instruction_sets(options, diagnostics);
    check::inputs(subject, inputs, diagnostics);
    // simplify: from here on the model is a core model
    translate(subject, inputs, steps, core, diagnostics)?;
    let hints = Hints { subject, inputs, steps };
    check::notice_batch_named_steps(hints, diagnostics);
    check::interface_size(model, core, diagnostics)?;
    unpack_weights_read_as_data(model, core, diagnostics);
    // stream
    check::states(hints, core, restart_warnings, diagnostics);
    sweep(core);
    // numerics
    numerics::keep_convolutions_in_f32(core);
    numerics::layers_in_f32(core);
    // check
    check::limits_of_integers(model, core, diagnostics);
    check::total_size(model, core, diagnostics);
    check::source_size(subject, core, diagnostics);
    check::precision(subject, core, diagnostics);
    check::threads(subject, core, diagnostics);
    check::common_interface(options, core, diagnostics);
    check::contradictions(options, diagnostics);
    Some(())
}

/// Compiles a judged model under the options of the judgement. The caller reports the warnings of
/// the judgement.
pub(crate) fn compile_core(model: CoreModel, options: &Options) -> Compilation {
    let arch = if fills_no_vector(&model, options) {
        options.machine.target.in_scalars()
    } else {
        options.machine.target
    };
    let options = &options.clone().with_target(arch);
    let precisions = Precisions::new(&model, &options.numerics);
    let plan = plan(&model, options, &precisions);
    let mut warnings = Diagnostics::default();
    if let Some(reasons) = plan.why_no_second_thread(options) {
        warnings.push(Unused::SecondThread(reasons).warning());
    }
    let program = program(&model, &plan);
    let packed = pack(&model, &program);
    let name = options.output.name.as_deref().or(model.name.as_deref()).unwrap_or("model");
    let pool = options.machine.threads == Threads::Two;
    let interface = Interface::new(&model, &program, name, pool, options.output.language);
    Compilation {
        options: options.clone(),
        #[cfg(feature = "builder")]
        description: Description::new(
            &model,
            &precisions,
            options,
            (&plan, &program, &packed, &interface),
        ),
        summary: summary::lines(&model, options),
        model,
        precisions,
        plan,
        program,
        packed,
        interface,
        warnings,
    }
}

/// The kernels, after all passes.
pub(crate) fn program(model: &CoreModel, plan: &Plan) -> Program {
    let mut program = lower(model, plan);
    verified(&program, "lower");
    let profiles: Vec<_> = plan.isas.iter().map(|own| own.fuses).collect();
    program.bodies.iter_mut().for_each(|body| pass::expand(body, plan.accuracy, &profiles));
    verified(&program, "expand");
    for (body, _) in program.bodies.iter_mut().zip(&plan.isas).filter(|(_, own)| !own.fuses) {
        pass::split(body);
    }
    verified(&program, "split");
    program.bodies.iter_mut().for_each(pass::unroll);
    verified(&program, "unroll");
    if plan.products.iter().any(|product| product.unrolled == Unrolled::WithoutZeros) {
        let packed = pack(model, &program);
        let is_zero = pass::zeros(&packed.bytes, |id| {
            let is_of_words = program.buffers.get(id.0)?.role == Role::Weights;
            packed.baked_at(id).filter(|_| is_of_words)
        });
        program.bodies.iter_mut().for_each(|body| pass::remove_zeros(body, &is_zero));
        verified(&program, "zeros");
    }
    pass::single(&mut program.bodies);
    verified(&program, "single");
    for (body, _) in program
        .bodies
        .iter_mut()
        .zip(&plan.isas)
        .filter(|(_, own)| own.isa.code.calls == Calls::SeveralValues)
    {
        pass::gather(body);
    }
    verified(&program, "gather");
    program
}

/// Panics if a pass has left a wrong program: a fault of cellc, never of the input.
fn verified(program: &Program, pass: &str) {
    if let Err(problem) = verify(program) {
        panic!("{pass} left a program that is wrong: {problem}");
    }
}

impl Compilation {
    /// The Rust items as tokens, the weights as one literal.
    pub fn tokens(&self) -> proc_macro2::TokenStream {
        emit::rust_tokens(&self.contents())
    }

    /// The parts of the output for Rust tokens.
    pub(crate) fn contents(&self) -> emit::Contents<'_> {
        let values = Values::of(self.options.output.language, &self.plan.isas);
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

/// Parts without use in macros: files, their header and its bounds.
#[cfg(feature = "builder")]
impl Compilation {
    /// The arithmetic of an instruction set with or without fused multiply-add, for error bounds.
    pub fn profile(&self, fused: bool) -> crate::bound::Profile {
        crate::bound::Profile::new(fused, &self.options.numerics, &self.precisions)
    }

    /// The same model in another language: the plan knows how values of kernels are spelled.
    pub fn in_language(self, language: crate::request::Language) -> Self {
        if self.options.output.language == language {
            return self;
        }
        let options = self.options.with_language(language);
        Self { warnings: self.warnings, ..compile_core(self.model, &options) }
    }

    /// The files of the output under a stem, weights first, the source last.
    pub fn emit(&self, stem: &str) -> Vec<emit::OutputFile> {
        let (header, target) = (&self.description.header, self.options.machine.target.name);
        let estimate = self.description.estimate.lines(target);
        emit::files(&emit::Contents { header, estimate, ..self.contents() }, stem)
    }

    /// Measures the growth of the model's own rounding over many steps, to tell useful error bounds
    /// from useless ones: half a second at most.
    pub fn measure(&mut self) {
        let best = self.program.body(self.program.bodies.len() - 1);
        let found = crate::free_run::measure(
            &self.model,
            best,
            &self.precisions,
            self.options.numerics.range,
        );
        // what was seen says which bounds are of use
        let known = crate::header::errors(&self.description.bounds, &self.interface, None).len();
        let Description { header, bounds, .. } = &mut self.description;
        header.truncate(header.len() - known);
        header.extend(crate::header::errors(bounds, &self.interface, found.as_ref()));
    }
}
