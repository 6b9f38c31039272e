//! `cellc inspect`: the layers and kernels of a compiled model, and the estimated time of each.

mod layout;
mod svg;
mod table;

use std::ffi::OsStr;
use std::path::Path;

use crate::arch;
use crate::compile::{self, Compilation};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, in_shell};
use crate::report::{Done, Folded, Layer, Measured, Report};
use crate::request::Language;

use super::arguments::InspectArguments;
use super::compile::Destination;
use super::progress::Progress;
use super::streams::write_stdout;
use super::{Failure, report};

/// Maximum length in characters of a name in the table.
const LONGEST: usize = 40;

/// Reads and compiles a model, and prints the report.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<(), Failure> {
    arguments.model.recognise()?;
    if let Some(path) = arguments.svg.as_deref() {
        refuse_other_pictures(path)?;
    }
    let picture =
        arguments.svg.as_deref().map(|path| Destination::of(path, "--svg", "svg")).transpose()?;
    if picture == Some(Destination::Stdout) && arguments.json {
        return Err(Failure::Usage("--svg - and --json both want standard output".to_owned()));
    }
    let progress = Progress::start("reading the model");
    let (model, warnings) = arguments.model.read()?;
    progress.suspend(|| report(&warnings));
    progress.stage("compiling");
    let stem =
        arguments.model.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut options = arguments.options().with_name(Some(stem));
    options.output.language = Language::of_target(options.machine.target);
    let compilation = compile::compile(&model, &options)?;
    progress.suspend(|| report(&compilation.warnings));
    let plan = &compilation.plan;
    let isas: Vec<_> = plan.isas.iter().map(|own| own.isa.name).collect();
    // default: the body for the target's compiler, or the last body if the target has no compiler
    let own = if plan.arch.c.compiler.is_empty() { isas.len() - 1 } else { plan.usual() };
    let asked = arguments.isa.as_deref().unwrap_or(isas[own]);
    let isa = isas.iter().position(|isa| *isa == asked).ok_or_else(|| {
        let (target, isas) = (compilation.options.machine.target.name, isas.join(", "));
        Failure::Usage(format!(
            "--isa: a file for --target {target} has no code for {asked}; it has: {isas}"
        ))
    })?;
    let clock = arguments.clock.map(|hertz| clock(hertz, &compilation, isa)).transpose()?;
    progress.stage("measuring the code");
    let measured = Measured::of(&compilation, plan.isas[isa].isa).unwrap_or_else(|why| {
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
    if let Some(picture) = &picture {
        picture.write(svg::picture(&found).into_bytes(), &arguments.model, "--svg")?;
    }
    match (picture, arguments.json) {
        (Some(Destination::Stdout), _) => {}
        (_, true) => write_stdout(super::json::text(&found).as_bytes())?,
        (_, false) => write_stdout(table::table(&found).as_bytes())?,
    }
    Ok(())
}

/// Refuses a file with the extension of another picture format.
fn refuse_other_pictures(path: &Path) -> Result<(), Failure> {
    const OTHERS: [&str; 12] =
        ["png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "pdf", "eps", "ps", "html"];
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    if !OTHERS.contains(&&ending[..]) {
        return Ok(());
    }
    let (file, svg) = (path.display(), path.with_extension("svg"));
    let svg = in_shell(&svg.to_string_lossy());
    Err(Failure::Usage(format!(
        "--svg {file} asks for another format: cellc draws SVG: --svg {svg}"
    )))
}

/// The given clock frequency, and the number of instructions issued per cycle.
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

/// `12,345`
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `[1, 24], [1, 4]`
fn shapes(all: &[Vec<usize>]) -> String {
    all.iter().map(|sizes| format!("{sizes:?}")).collect::<Vec<_>>().join(", ")
}

/// Parts of the input removed by compilation. `names`: maximum number of names for each type.
fn folded(report: &Report, names: usize) -> String {
    let one = |folded: &Folded| {
        let mut shown: Vec<String> =
            folded.names.iter().take(names).map(|name| visible(name)).collect();
        if names > 0 && folded.count > names {
            shown.push("...".to_owned());
        }
        let shown =
            if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) };
        format!("{} {}{shown}", folded.count, visible(&folded.kind))
    };
    let all: Vec<_> = report.folded.iter().map(one).collect();
    let all = if all.is_empty() { "nothing".to_owned() } else { all.join(", ") };
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let (layers, constants) = (report.totals.layers_read, report.totals.constants_read);
    format!(
        "{all}, of {layers} layer{} and {constants} constant{}",
        plural(layers),
        plural(constants)
    )
}

/// A text of the model on one line: escaped, and shortened in the middle, because the end of a name
/// is the most specific.
fn visible(text: &str) -> String {
    cut(text, LONGEST)
}

/// As [`visible`], with at most `longest` characters.
fn cut(text: &str, longest: usize) -> String {
    let shown = |c: char| c.is_alphanumeric() || c == ' ' || c.is_ascii_graphic();
    let pieces: Vec<String> = text
        .chars()
        .map(|c| if shown(c) { c.to_string() } else { c.escape_unicode().to_string() })
        .collect();
    let length =
        |pieces: &[String]| pieces.iter().map(|piece| piece.chars().count()).sum::<usize>();
    if pieces.len() <= longest && length(&pieces) <= longest {
        return pieces.concat();
    }
    let (mut start, mut end) = (0, pieces.len());
    while length(&pieces[..start + 1]) < longest / 3 {
        start += 1;
    }
    while end > start && length(&pieces[end - 1..]) < longest - longest / 3 {
        end -= 1;
    }
    format!("{}…{}", pieces[..start].concat(), pieces[end..].concat())
}

/// The treatment of a layer by the compiler, in words.
fn done(layer: &Layer, report: &Report) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(n), text);
        }
    }

    #[test]
    fn names_stay_on_one_line_and_short() {
        assert_eq!(visible("module.fc1/MatMul"), "module.fc1/MatMul");
        assert_eq!(visible("größe\n\u{202e}"), "größe\\u{a}\\u{202e}");
        let cut = visible(&format!("start{}end", "x".repeat(100_000)));
        assert!(
            cut.starts_with("startx") && cut.ends_with("xend") && cut.chars().count() <= LONGEST,
            "{cut}"
        );
        assert!(visible(&"\n".repeat(100)).chars().count() <= LONGEST);
    }
}
