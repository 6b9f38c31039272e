//! The report as text.

use std::fmt::Write;

use crate::arch::Arch;
use crate::bound;
use crate::cli::arguments::{CheckArguments, MaxError};
use crate::core::CoreModel;
use crate::diagnostic::quoted;
use crate::emit::names::Field;
use crate::header::integers;
use crate::model::ElementType;
use crate::numerics::Loss;
use crate::request::{Range, Threads};

use super::inputs::Source;
use super::table::{Broken, Table};
use super::{Checked, TooFar, too_far};

/// The report of one precision.
pub(super) fn table(arguments: &CheckArguments, source: &Source, checked: &Checked) -> String {
    let mut text = title(arguments, source, checked);
    for line in notes(checked) {
        text += &line;
        text.push('\n');
    }
    let interface = &checked.compilation.interface;
    for (field, table) in interface.outputs.iter().chain(&interface.variables).zip(&checked.tables)
    {
        text += &output(arguments, checked, field, table);
    }
    text.push('\n');
    text += &verdict(arguments, std::slice::from_ref(checked));
    text
}

/// The first line: model, steps, code and inputs.
fn title(arguments: &CheckArguments, source: &Source, checked: &Checked) -> String {
    let options = &checked.compilation.options;
    let code = match (options.output.language, options.machine.target) {
        (language, arch) if arch.name != <&Arch>::default().name => {
            format!("generated {} for {}, run on this machine", language.name(), arch.name)
        }
        (language, _) => format!("generated {}", language.name()),
    };
    let profile = if checked.fused { "fused" } else { "unfused" };
    let inputs = inputs(source, &checked.compilation.model);
    let steps = checked.steps;
    let plural = if steps == 1 { "" } else { "s" };
    format!(
        "{}: {steps} step{plural} of the {code} on {} ({profile} multiply-add), {inputs}\n",
        arguments.model.shown(),
        checked.isa
    )
}

/// The source of the inputs.
pub(super) fn inputs(source: &Source, model: &CoreModel) -> String {
    match source {
        Source::Recorded(recording) => format!("inputs from {}", recording.from),
        Source::Drawn { seed, range: Range { x, h } } => {
            let of_states =
                if bound::has_states(model) { format!(", |h| <= {h}") } else { String::new() };
            format!("inputs drawn from seed {seed} with |x| <= {x}{of_states}")
        }
    }
}

/// Notes about the arithmetic.
fn notes(checked: &Checked) -> Vec<String> {
    let compilation = &checked.compilation;
    let model = &compilation.model;
    let mut lines = integers(model, &compilation.precisions, &compilation.options.numerics);
    lines.extend(Loss::by_format(model, &compilation.precisions).iter().map(Loss::to_string));
    let floats = model.parameters.iter().map(|p| p.element).filter(|e| e.is_float());
    let elements = floats.chain(model.results.iter().map(|r| r.element));
    let mut others: Vec<_> =
        elements.filter(|e| *e != ElementType::F32).map(ElementType::name).collect();
    others.sort_unstable();
    others.dedup();
    if !others.is_empty() {
        lines.push(format!("tensors of type {} are computed in f32", others.join(", ")));
    }
    if compilation.options.machine.threads == Threads::Two {
        let products =
            compilation.plan.products.iter().filter_map(|product| product.halves.as_ref());
        let halves: Vec<_> = products.map(|[here, there]| format!("{here} and {there}")).collect();
        let halves =
            if halves.is_empty() { "no cell is divided".to_owned() } else { halves.join("; ") };
        lines.push(format!("two threads: {halves}"));
    }
    lines.extend(compilation.description.activations.iter().cloned());
    lines
}

/// The section of one output.
fn output(arguments: &CheckArguments, checked: &Checked, field: &Field, table: &Table) -> String {
    let interface = &checked.compilation.interface;
    let mut text = format!("\n{} {:?}", field.name, field.shape);
    if interface.variables.iter().any(|variable| variable == field) {
        text += ", the variable";
    } else if let Some(state) =
        interface.states.iter().find(|s| interface.outputs[s.output] == *field)
    {
        text += &format!(", the next {}", interface.inputs[state.input].name);
    }
    text.push('\n');
    let units = |value: f64| {
        let units = value / (table.largest() * f64::from(f32::EPSILON));
        match units.is_finite() {
            true if units < 1e6 => format!("{units:.2}"),
            true => format!("{units:.2e}"),
            false => "-".to_owned(),
        }
    };
    let line =
        |what: &str, value: f64| format!("    {what:<32}{value:>12.3e}{:>20}\n", units(value));
    let plain = |what: &str, value: String| format!("    {what:<32}{value:>12}\n");
    text += &format!("{:<36}{:>12}{:>20}\n", "", "absolute", "2^-23 of largest");
    text += &format!("  {:<34}{:>12.3e}\n", "largest value of the reference", table.largest());
    text +=
        if checked.keeps() { "  one step, from the reference's state\n" } else { "  one step\n" };
    text += &line("largest error", table.error);
    match table.useless() {
        None => {
            text += &line("bound of the same value", table.bound);
            text += &plain("largest error / bound", format!("{:.1} %", 100.0 * table.share));
            if table.unbounded > 0 {
                text += &plain("values without a finite bound", table.unbounded.to_string());
            }
        }
        Some(why) => text += &format!("    no useful bound for {}: {why}\n", field.name),
    }
    if let Some(Broken { step, element, exact, got, bound }) = &table.first_broken {
        text += &format!(
            "    BROKEN: {} values have errors above their bounds; the first is element {element} \
             (counted in C order) of step {step}: computed {got:e}, exact {exact:e}, bound \
             {bound:.3e}\n",
            table.broken
        );
    }
    text += if checked.keeps() { "  all steps, from the code's state\n" } else { "  all steps\n" };
    if checked.keeps() {
        text += &line("largest error", table.own_state.error);
    }
    text += &line("rms error", table.own_state.rms());
    text += &plain("SNR", decibels(table.own_state.snr()));
    text += &recording(arguments, table, line, plain);
    if !table.layers.is_empty() {
        text += &format!("  {:<34}{:>12}{:>20}\n", "one layer alone in integers", "largest", "rms");
    }
    for (layer, found) in &table.layers {
        text += &format!("    {:<32}{:>12.3e}{:>20.3e}\n", quoted(layer), found.error, found.rms());
    }
    text
}

/// The lines that compare an output with its recording.
fn recording(
    arguments: &CheckArguments,
    table: &Table,
    line: impl Fn(&str, f64) -> String,
    plain: impl Fn(&str, String) -> String,
) -> String {
    let Some(compared) = &table.recording else { return String::new() };
    let mut text = "  against the recording\n".to_owned();
    text += &line("largest error", compared.error);
    text += &line("rms error", compared.rms());
    text += &plain("SNR", decibels(compared.snr()));
    text += &plain("cosine", cosine(compared.cosine()));
    if compared.rows > 0 {
        text +=
            &plain("arg max differs", format!("{} of {}", compared.other_places, compared.rows));
    }
    if let Some(threshold) = arguments.threshold {
        let label = format!("on the other side of {threshold}");
        text += &plain(&label, format!("{} of {}", compared.other_sides, compared.elements));
    }
    text
}

/// The last lines: whether errors exceed bounds or `--max-error`.
fn verdict(arguments: &CheckArguments, all: &[Checked]) -> String {
    let broken = all.iter().any(Checked::is_broken);
    let tables = || all.iter().flat_map(|checked| &checked.tables);
    let (outputs, useless) =
        (tables().count(), tables().filter(|table| table.useless().is_some()).count());
    let mut text = match useless {
        _ if broken => "the error bound is broken\n".to_owned(),
        0 => "every error is within its bound\n".to_owned(),
        _ if useless == outputs => {
            "no output has a useful bound: read the measured errors\n".to_owned()
        }
        _ => format!(
            "every error is within its bound, for the {} of {outputs} outputs with a useful \
             bound\n",
            outputs - useless
        ),
    };
    text += &beyond_range(all);
    if arguments.max_error.is_empty() {
        text += &recorded(all);
        return text;
    }
    let far = too_far(all, arguments);
    for TooFar { precision, output, error, most } in &far {
        let suffix =
            if all.len() > 1 { format!(" in {}", precision.name()) } else { String::new() };
        _ = writeln!(text, "the largest error of {output}{suffix}, {error:.3e}, is above {most}");
    }
    if far.is_empty() {
        let limits: Vec<String> = arguments.max_error.iter().map(MaxError::to_string).collect();
        _ = writeln!(text, "no error is above {}", limits.join(" "));
    }
    text
}

/// The line about recorded inputs outside the range of the bound in generated files.
fn beyond_range(all: &[Checked]) -> String {
    let Some(Checked { recorded_range: Some(found), compilation, .. }) = all.first() else {
        return String::new();
    };
    let has_states = bound::has_states(&compilation.model);
    let Range { x, h } = Range::default();
    if found.x <= x && (found.h <= h || !has_states) {
        return String::new();
    }
    let up = |found: f32, stated: f32| if found > stated { found.ceil() } else { stated };
    let beyond = |name: &str, found: f32, stated: f32| {
        let reached = format!("|{name}| up to {}", digits(found));
        (found > stated).then(|| (reached, format!("|{name}| <= {stated}")))
    };
    let of_h = beyond("h", found.h, h).filter(|_| has_states);
    let (reached, stated): (Vec<_>, Vec<_>) =
        beyond("x", found.x, x).into_iter().chain(of_h).unzip();
    let of_states = if has_states { format!(",{}", up(found.h, h)) } else { String::new() };
    format!(
        "the recording has {}: generated files state their bound for {}; compile with --range \
         {}{of_states}\n",
        reached.join(" and "),
        stated.join(", "),
        up(found.x, x)
    )
}

/// A positive number with two decimals; below 0.1, with two digits: `3.14`, `2.1e-3`.
fn digits(value: f32) -> String {
    if value < 0.1 && value > 0.0 { format!("{value:.1e}") } else { format!("{value:.2}") }
}

/// Largest distances from recordings, if `--max-error` is not given.
fn recorded(all: &[Checked]) -> String {
    let mut text = String::new();
    for checked in all {
        let suffix =
            if all.len() > 1 { format!(" in {}", checked.precision.name()) } else { String::new() };
        for (table, field) in checked.tables.iter().zip(&checked.compilation.interface.outputs) {
            let Some(compared) = &table.recording else { continue };
            _ = writeln!(
                text,
                "the largest error of {}{suffix} against the recording is {:.3e}",
                field.name, compared.error
            );
        }
    }
    if !text.is_empty() {
        text += "these errors have no limit: --max-error X sets a limit\n";
    }
    text
}

/// The report of several precisions: a table per output, with a row per precision.
pub(super) fn precisions(arguments: &CheckArguments, source: &Source, all: &[Checked]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let mut text = title(arguments, source, first);
    let fields = &first.compilation.interface.outputs;
    for (i, field) in fields.iter().enumerate() {
        let largest = first.tables[i].largest();
        text += &format!(
            "\n{} {:?}, values up to {largest:.3e}; errors of all steps",
            field.name, field.shape
        );
        text += if first.keeps() { ", from the code's state\n" } else { "\n" };
        let recorded = first.tables[i].recording.is_some();
        let mut head = vec!["precision", "largest error", "rms", "SNR"];
        if recorded {
            head.extend(["from the recording", "SNR", "arg max differs"]);
            head.extend(arguments.threshold.map(|_| "other side"));
        }
        let row = |checked: &Checked| row(arguments, checked.precision.name(), &checked.tables[i]);
        let head = head.into_iter().map(str::to_owned).collect();
        text += &columns(&[vec![head], all.iter().map(row).collect()].concat());
    }
    let options = &first.compilation.options;
    let (target, language) = (options.machine.target.name, options.output.language.name());
    let parts = match (first.costs.with_code, options.machine.target.c.compiler.is_empty()) {
        (true, true) => "weights, constants and code (an estimate)",
        (true, false) => "weights, constants and code (an estimate; cellc inspect measures it)",
        (false, _) => "weights and constants",
    };
    text +=
        &format!("\na step of the generated {language} for --target {target}; flash: {parts}\n");
    let mut costs = vec![vec![
        "precision".to_owned(),
        "flash, bytes".to_owned(),
        "instructions (estimate)".to_owned(),
    ]];
    for checked in all {
        let instructions =
            checked.costs.instructions.map_or("not known".to_owned(), |n| n.to_string());
        costs.push(vec![
            checked.precision.name().to_owned(),
            checked.costs.flash.to_string(),
            instructions,
        ]);
    }
    text += &columns(&costs);
    text.push('\n');
    text += &verdict(arguments, all);
    text
}

/// The row of an output in one precision.
fn row(arguments: &CheckArguments, name: &str, table: &Table) -> Vec<String> {
    let state_error = &table.own_state;
    let mut cells = vec![
        name.to_owned(),
        format!("{:.3e}", state_error.error),
        format!("{:.3e}", state_error.rms()),
        decibels(state_error.snr()),
    ];
    if let Some(compared) = &table.recording {
        cells.extend([format!("{:.3e}", compared.error), decibels(compared.snr())]);
        cells.push(match compared.rows {
            0 => "-".to_owned(),
            rows => format!("{} of {rows}", compared.other_places),
        });
        cells.extend(
            arguments
                .threshold
                .map(|_| format!("{} of {}", compared.other_sides, compared.elements)),
        );
    }
    cells
}

/// Aligns rows of cells in columns: the first column left, all others right.
fn columns(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells =
            row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("  {cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            });
        text += cells.collect::<String>().trim_end();
        text.push('\n');
    }
    text
}

fn decibels(value: f64) -> String {
    match value {
        _ if value.is_nan() => "-".to_owned(),
        f64::INFINITY => "exact".to_owned(),
        f64::NEG_INFINITY => "none".to_owned(),
        _ => format!("{value:.1} dB"),
    }
}

/// A cosine with nine decimals: cosines near 1 differ in late decimals.
fn cosine(value: f64) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.9}") }
}
