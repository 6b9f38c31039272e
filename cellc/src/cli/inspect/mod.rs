//! `cellc inspect`: the layers and kernels of a compiled model, and the estimated time of each.

mod table;

use std::path::Path;

use crate::arch;
use crate::compile::{self, Compilation};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::front::read_model::ReadModel;
use crate::report::{Done, LayerReport, Measured, Report};
use crate::request::Language;

use super::arguments::InspectArguments;
use super::compile::Destination;
use super::progress::Progress;
use super::stdio::write_stdout;
use super::{Failure, report};

/// Reads and compiles a model, and prints the report.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<(), Failure> {
    arguments.model.recognise()?;
    let pictures = arguments.pictures().collect::<Vec<_>>();
    let mut destinations = Vec::new();
    for &(kind, path) in &pictures {
        kind.refuse_other_files(path)?;
        destinations.push(Destination::parse(path, kind.option(), kind.extension())?);
    }
    let to_stdout = destinations.iter().filter(|to| **to == Destination::Stdout).count();
    if to_stdout > 1 || to_stdout == 1 && arguments.json {
        let of_pictures = pictures.iter().filter(|(_, path)| *path == Path::new("-"));
        let mut asked: Vec<_> =
            of_pictures.map(|(kind, _)| format!("{} -", kind.option())).collect();
        asked.extend(arguments.json.then(|| "--json".to_owned()));
        let asked = asked.join(" and ");
        return Err(Failure::Usage(format!("{asked} both want standard output")));
    }
    let progress = Progress::start("reading the model");
    let ReadModel { model, problems: warnings } = arguments.model.read()?;
    progress.suspend(|| report(&warnings));
    progress.stage("compiling");
    let stem =
        arguments.model.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut options = arguments.options().with_name(Some(stem));
    options.output.language = Language::of_target(options.machine.target);
    let compilation = compile::compile(&model, &options)?;
    progress.suspend(|| report(&compilation.warnings));
    let plan = &compilation.plan;
    let isas: Vec<_> = plan.isas.iter().map(|planned| planned.isa.name).collect();
    // default: the body that the target's compiler selects; without a compiler, the last body
    let body = if plan.arch.c.compiler.is_empty() { isas.len() - 1 } else { plan.usual() };
    let asked = arguments.isa.as_deref().unwrap_or(isas[body]);
    let isa = isas.iter().position(|isa| *isa == asked).ok_or_else(|| {
        let (target, isas) = (compilation.options.machine.target.name, isas.join(", "));
        Failure::Usage(format!(
            "--isa: a file for --target {target} has no code for {asked}; it has: {isas}"
        ))
    })?;
    let clock = arguments.clock.map(|hertz| clock(hertz, &compilation, isa)).transpose()?;
    progress.stage("measuring the code");
    let measured = Measured::measure(&compilation, plan.isas[isa].isa).unwrap_or_else(|why| {
        let warning =
            Diagnostic::warning(Origin::Unknown, format!("code and stack are not measured: {why}"));
        progress.suspend(|| report(&Diagnostics(vec![warning])));
        None
    });
    let mut found = Report::new(&model, &compilation, isa, measured.as_ref());
    if let Some((hertz, begin)) = clock {
        found.on_target = found.on_target.map(|cost| cost.at(hertz, begin));
    }
    drop(progress);
    let read = arguments.model.files_read(&model.files);
    for ((kind, _), destination) in pictures.iter().zip(&destinations) {
        destination.write(kind.file(&found)?, &read, kind.option())?;
    }
    match (to_stdout, arguments.json) {
        (1.., _) => {}
        (0, true) => write_stdout(super::json::text(&found).as_bytes())?,
        (0, false) => write_stdout(table::table(&found).as_bytes())?,
    }
    Ok(())
}

/// The given clock frequency, and the number of instructions that the target issues per cycle.
///
/// # Errors
/// If the target has no estimate of instructions.
fn clock(hertz: f64, compilation: &Compilation, isa: usize) -> Result<(f64, u64), Failure> {
    let arch = compilation.options.machine.target;
    if arch.instructions_of(compilation.plan.isas[isa].isa).is_some() {
        return Ok((hertz, arch.instructions_per_cycle));
    }
    let known: Vec<_> = arch::TARGETS
        .iter()
        .filter(|arch| arch.instructions.is_some())
        .map(|arch| arch.name)
        .collect();
    let (target, known) = (arch.name, known.join(", "));
    Err(Failure::Usage(format!(
        "--clock: how many instructions a step takes is not known for --target {target}; it is \
         for: {known}"
    )))
}

/// The treatment of a layer by the compiler, in words.
fn done(layer: &LayerReport, report: &Report) -> String {
    let kernel = layer.kernel.map_or("", |k| &report.kernels[k].name);
    match layer.done {
        Done::Computed => kernel.to_owned(),
        Done::Fused => format!("fused into {kernel}"),
        Done::Copied => match layer.parts_copied {
            Some(parts) => format!("{parts} of {} copied by {kernel}", layer.inputs.len()),
            None => format!("copied by {kernel}"),
        },
        Done::View => "view: no work".to_owned(),
        Done::InPlace => "in place: no work".to_owned(),
    }
}
