//! The pipeline, on one screen.

use crate::arch::MOST_SCALAR_WEIGHTS;
#[cfg(feature = "builder")]
use crate::bound::Profile;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::emit::{self, names::Interface};
use crate::kernel::{Program, verify};
use crate::lower::lower;
use crate::model::{Model, ValidModel};
use crate::numerics::Precisions;
use crate::pack::{Packed, pack};
use crate::pass;
use crate::plan::{Plan, Values, plan};
#[cfg(feature = "builder")]
use crate::request::Language;
use crate::request::{Options, Threads};
use crate::summary;
use crate::validate::validate;
#[cfg(feature = "builder")]
use crate::{estimate::Estimate, free_run, header};

/// A compiled model, every stage of it.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// What was asked for.
    pub options: Options,
    /// What is computed.
    pub model: ValidModel,
    /// The precision of every product.
    pub precisions: Precisions,
    /// The sizes that were decided.
    pub plan: Plan,
    /// The kernels, for each of the plan's instruction sets.
    pub program: Program,
    /// The constants, in the order in which the kernels read them.
    pub packed: Packed,
    /// What generated code calls things.
    pub interface: Interface,
    /// The comment at the top of the output, by line.
    #[cfg(feature = "builder")]
    pub header: Vec<String>,
    /// The worst-case error of a step.
    #[cfg(feature = "builder")]
    pub bounds: header::Bounds,
    /// What the activations are off by, by line, where less than the default was asked for.
    #[cfg(feature = "builder")]
    pub activations: Vec<String>,
    /// What a step costs on the target.
    #[cfg(feature = "builder")]
    pub estimate: Estimate,
    /// What the type's documentation says of the model, by line.
    pub summary: Vec<String>,
    /// What the user should know.
    pub warnings: Diagnostics,
}

/// Compiles a model; refused with everything that is wrong with it.
pub fn compile(model: &Model, options: &Options) -> Result<Compilation, Diagnostics> {
    let (model, mut warnings) = validate(model, options)?;
    let compilation = compile_validated(model, options);
    warnings.extend(compilation.warnings);
    Ok(Compilation { warnings, ..compilation })
}

/// Compiles a model that has been judged under the same options; the warnings of that are the
/// caller's.
pub(crate) fn compile_validated(model: ValidModel, options: &Options) -> Compilation {
    let arch =
        if fills_no_vector(&model, options) { options.machine.target.in_scalars() } else { options.machine.target };
    let options = &options.clone().with_target(arch);
    let precisions = Precisions::new(&model, &options.numerics);
    let plan = plan(&model, options, &precisions);
    let mut warnings = Diagnostics::default();
    for found in plan.without_effect(options) {
        warnings.push(Diagnostic::warning(Origin::Unknown, found));
    }
    let program = program(&model, &plan);
    let packed = pack(&model, &program);
    let name = options.output.name.as_deref().or(model.name.as_deref()).unwrap_or("model");
    let pool = options.machine.threads == Threads::Two;
    let interface = Interface::new(&model, &program, name, pool);
    #[cfg(feature = "builder")]
    let bounds = header::Bounds::new(&model, (&plan, &precisions), &options.numerics, &interface);
    Compilation {
        options: options.clone(),
        #[cfg(feature = "builder")]
        header: [
            header::lines(&model, (&plan, &precisions), options, &interface),
            header::bounds(&bounds, &interface, None),
        ]
        .concat(),
        #[cfg(feature = "builder")]
        bounds,
        #[cfg(feature = "builder")]
        activations: header::activations(&model, plan.accuracy),
        #[cfg(feature = "builder")]
        estimate: Estimate::of(&model, &plan, &program, &packed, &interface),
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

/// Elements of the longest tensor of a network that is computed in scalars.
const MOST_SCALAR_ELEMENTS: usize = 8;

/// Whether a network is too small for vectors of any target, and nobody asked for an instruction
/// set.
fn fills_no_vector(model: &ValidModel, options: &Options) -> bool {
    let given = model.parameters.iter().filter(|parameter| parameter.weight);
    let given: usize = given.map(|parameter| parameter.shape.iter().product::<usize>()).sum();
    let known: usize = model.constants.iter().map(|constant| constant.len()).sum();
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    let longest = model.values.iter().map(|value| elements(&value.shape)).max().unwrap_or(0);
    options.machine.isas.is_none() && given + known < MOST_SCALAR_WEIGHTS && longest <= MOST_SCALAR_ELEMENTS
}

/// The kernels, after all passes.
pub(crate) fn program(model: &ValidModel, plan: &Plan) -> Program {
    let mut program = lower(model, plan);
    check(&program, "lower");
    program.bodies.iter_mut().for_each(|body| pass::expand(body, plan.accuracy));
    check(&program, "expand");
    for (body, _) in program.bodies.iter_mut().zip(&plan.isas).filter(|(_, (_, fused))| !fused) {
        pass::split(body);
    }
    check(&program, "split");
    program.bodies.iter_mut().for_each(pass::unroll);
    check(&program, "unroll");
    for (body, _) in program.bodies.iter_mut().zip(&plan.isas).filter(|(_, (isa, _))| isa.calls_each) {
        pass::gather(body);
    }
    check(&program, "gather");
    program
}

/// A program that is wrong is a fault of cellc, never of the input.
fn check(program: &Program, pass: &str) {
    if let Err(problem) = verify(program) {
        panic!("{pass} left a program that is wrong: {problem}");
    }
}

impl Compilation {
    /// The arithmetic of an instruction set with or without fused multiply-add, for error bounds.
    #[cfg(feature = "builder")]
    pub fn profile(&self, fused: bool) -> Profile {
        Profile::new(fused, &self.options.numerics, &self.precisions)
    }

    /// The same model in another language: the plan knows how values of kernels are spelled.
    #[cfg(feature = "builder")]
    pub fn in_language(self, language: Language) -> Self {
        if self.options.output.language == language {
            return self;
        }
        let options = self.options.with_language(language);
        Self { warnings: self.warnings, ..compile_validated(self.model, &options) }
    }

    /// The files of the output under a stem, weights first, the source last.
    #[cfg(feature = "builder")]
    pub fn emit(&self, stem: &str) -> Vec<emit::OutputFile> {
        emit::files(&self.contents(), stem)
    }

    /// Measures how far the model's own rounding carries it in many steps, by which the header
    /// tells which bounds are of use: a tenth of a second at most.
    #[cfg(feature = "builder")]
    pub fn measure(&mut self) {
        let best = self.program.body(self.program.bodies.len() - 1);
        let found = free_run::measure(&self.model, best, &self.precisions, self.options.numerics.range);
        // what was seen says which bounds are of use
        let known = header::bounds(&self.bounds, &self.interface, None).len();
        self.header.truncate(self.header.len() - known);
        self.header.extend(header::bounds(&self.bounds, &self.interface, found.as_ref()));
    }

    /// The Rust items as tokens, the weights as one literal.
    pub fn tokens(&self) -> proc_macro2::TokenStream {
        emit::rust_tokens(&self.contents())
    }

    fn contents(&self) -> emit::Contents<'_> {
        let values = Values::of(self.options.output.language, &self.plan.isas);
        assert_eq!(self.plan.values, values, "emit: the plan is for another language");
        emit::Contents {
            options: &self.options,
            isas: &self.plan.isas,
            program: &self.program,
            packed: &self.packed,
            #[cfg(feature = "builder")]
            has_passes: self.plan.values == Values::OneText,
            interface: &self.interface,
            longest: self.model.values.iter().map(|value| value.shape.iter().product()).max().unwrap_or(0),
            #[cfg(feature = "builder")]
            header: &self.header,
            #[cfg(feature = "builder")]
            estimate: self.estimate.lines(self.options.machine.target.name),
            summary: &self.summary,
            #[cfg(feature = "builder")]
            sha256: self.model.files.first().map(|file| &file.sha256[..]),
        }
    }
}
