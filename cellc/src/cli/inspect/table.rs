//! The report as text.

use std::fmt::Write;

use crate::estimate::rounded;
use crate::report::{
    ALIKE_IN_TIME, ArithmeticCost, Arithmetics, Clock, Flash, InF32, InputRole, LayerReport, Ram,
    Report, TargetCost, TensorSource, Totals,
};

use super::done;
use crate::report::words::{folded, grouped, shapes, visible};

/// Length in characters at which lines of text are wrapped. Rows of tables may be longer.
const COLUMNS: usize = 110;

/// The whole report for a terminal.
pub(super) fn table(report: &Report) -> String {
    let mut text = String::new();
    let profile = if report.fused_multiply_add { "fused" } else { "unfused" };
    // writing to a string cannot fail
    _ = writeln!(
        text,
        "{}, on {}: {} lanes, {profile} multiply-add\n",
        visible(&report.model),
        report.isa,
        report.lanes
    );
    text.push_str(&interface(report));
    text.push('\n');
    text.push_str(&layers(report));
    text.push('\n');
    text.push_str(&kernels(report));
    text.push('\n');
    if let Some(precisions) = &report.precisions {
        text.push_str(&in_each_arithmetic(precisions));
    }
    for InF32 { layers, why } in &report.in_f32 {
        let layers: Vec<_> = layers.iter().map(|layer| visible(layer)).collect();
        for line in wrap(&format!("f32 in each precision, {why}: {}", layers.join(", "))) {
            _ = writeln!(text, "{line}");
        }
    }
    if !report.in_own_integers.is_empty() {
        let layers: Vec<_> = report.in_own_integers.iter().map(|layer| visible(layer)).collect();
        for line in
            wrap(&format!("the model's own integers in each precision: {}", layers.join(", ")))
        {
            _ = writeln!(text, "{line}");
        }
    }
    if report.precisions.is_some()
        || !report.in_f32.is_empty()
        || !report.in_own_integers.is_empty()
    {
        text.push('\n');
    }
    for line in totals(report) {
        for line in wrap(&line) {
            _ = writeln!(text, "{line}");
        }
    }
    text
}

fn interface(report: &Report) -> String {
    let mut rows = Vec::new();
    for input in &report.inputs {
        let role = match input.role {
            InputRole::Data => "input",
            InputRole::State => "input, state",
            InputRole::Lengths => "input, lengths",
            InputRole::Weights => "input, weights",
        };
        rows.push([
            role.to_owned(),
            visible(&input.name),
            format!("{} {:?}", input.element, input.shape),
        ]);
    }
    for output in &report.outputs {
        let role = match output.state {
            Some(input) => format!("output, next {}", visible(&report.inputs[input].name)),
            None => "output".to_owned(),
        };
        let written =
            if ["f64", "f16", "bf16"].contains(&output.element) { ", written as f32" } else { "" };
        let type_and_shape = format!("{} {:?}{written}", output.element, output.shape);
        rows.push([role, visible(&output.name), type_and_shape]);
    }
    for variable in &report.variables {
        let kept = if variable.next.is_some() { "variable" } else { "variable, never assigned" };
        rows.push([kept.to_owned(), visible(&variable.name), format!("f32 {:?}", variable.shape)]);
    }
    columns(&rows, [false; 3])
}

fn layers(report: &Report) -> String {
    let head = ["", "layer", "type", "reads", "shape", "multiply-adds", "weight bytes", "done by"]
        .map(str::to_owned);
    let mut rows = vec![head];
    for (i, layer) in report.layers.iter().enumerate() {
        let reads: Vec<_> =
            layer.inputs.iter().map(|operand| operand_text(*operand, report)).collect();
        rows.push([
            i.to_string(),
            format!("{}{}", "  ".repeat(depth(layer, report)), visible(&layer.name)),
            visible(&layer.kind),
            reads.join(", "),
            shapes(&layer.shapes),
            count(layer.multiply_adds),
            count(layer.weight_bytes),
            done(layer, report),
        ]);
    }
    columns(&rows, [true, false, false, false, false, true, true, false])
}

fn kernels(report: &Report) -> String {
    let head = [
        "kernel",
        "layers",
        "multiply-adds",
        "weight bytes",
        "bytes read",
        "operations",
        "cycles",
        "time",
        "plan",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for kernel in &report.kernels {
        let plan =
            if kernel.note.is_empty() { kernel.plan.join("; ") } else { kernel.note.clone() };
        rows.push([
            kernel.name.clone(),
            ranges(&kernel.layers),
            count(kernel.multiply_adds),
            count(kernel.weight_bytes),
            count(kernel.weight_bytes_read),
            count(kernel.operations),
            format!("{:.0}", kernel.cycles),
            format!("{:.1} %", kernel.share * 100.0),
            plan,
        ]);
    }
    let totals = &report.totals;
    rows.push([
        "all kernels".to_owned(),
        String::new(),
        count(totals.multiply_adds),
        count(totals.weight_bytes),
        count(report.kernels.iter().map(|k| k.weight_bytes_read).sum()),
        count(totals.operations),
        format!("{:.0}", totals.cycles),
        String::new(),
        String::new(),
    ]);
    columns(&rows, [false, false, true, true, true, true, true, true, false])
}

/// Costs of the layers in each arithmetic, and the best arithmetics for the target.
fn in_each_arithmetic(arithmetics: &Arithmetics) -> String {
    let Arithmetics { names, machine, rows, totals, fastest, smallest, .. } = arithmetics;
    let unit = if arithmetics.in_instructions { "instructions" } else { "cycles" };
    let row = |layers: String, costs: &[ArithmeticCost], fastest: usize| -> [String; 10] {
        let bytes = costs.iter().map(|cost| grouped(cost.weight_bytes));
        let cycles = costs.iter().map(|cost| grouped(cost.cycles.round() as u64));
        let mut cells =
            std::iter::once(layers).chain(bytes).chain(cycles).chain([names[fastest].to_owned()]);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    };
    let names_twice = names.iter().chain(names).map(|name| (*name).to_owned());
    let mut words =
        ["layer".to_owned()].into_iter().chain(names_twice).chain(["fastest".to_owned()]);
    let mut head: [String; 10] = std::array::from_fn(|_| words.next().unwrap_or_default());
    head[1] = format!("bytes: {}", head[1]);
    head[5] = format!("{unit}: {}", head[5]);
    let mut lines = vec![head];
    for cost in rows {
        let layers: Vec<_> = cost.layers.iter().map(|layer| visible(layer)).collect();
        lines.push(row(layers.join(", "), &cost.costs, cost.fastest));
    }
    if rows.len() > 1 {
        lines.push(row("all of these".to_owned(), totals, *fastest));
    }
    let mut text =
        format!("Bytes and estimated {unit} of one step for each --precision on {machine}:\n");
    text += &columns(&lines, [false, true, true, true, true, true, true, true, true, false]);
    let is_least = totals.iter().all(|cost| cost.cycles >= totals[*fastest].cycles);
    let within = match is_least {
        true => String::new(),
        false => format!(" within the error of the estimates, {:.0} %", 100.0 * ALIKE_IN_TIME),
    };
    text += &match fastest == smallest {
        true => {
            format!("{} is the fastest on {machine}{within}, and the smallest.\n", names[*fastest])
        }
        false => {
            format!(
                "{} is the fastest on {machine}{within}, {} the smallest.\n",
                names[*fastest], names[*smallest]
            )
        }
    };
    for (at, other) in &arithmetics.same {
        text += &format!("{} and {} give the same results.\n", names[*at], names[*other]);
    }
    for (at, other) in &arithmetics.without_gain {
        let (name, other) = (names[*at], names[*other]);
        text += &format!("{other} is as small and as fast as {name}, and rounds less.\n");
    }
    text
}

fn totals(report: &Report) -> Vec<String> {
    let totals = &report.totals;
    let when = if totals.weights_at_run_time { ", packed at run time" } else { "" };
    let format = if totals.precision == "f32" {
        String::new()
    } else {
        format!(", as {}", totals.precision)
    };
    let mut lines = vec![
        format!("weights        {} bytes{format}{when}", grouped(totals.weight_bytes)),
        format!("state          {} bytes", grouped(totals.state_bytes)),
        format!("block          {} bytes for intermediate values", grouped(totals.block_bytes)),
    ];
    if report.on_target.is_none() {
        lines.push(format!(
            "flash          {} bytes of weights and constants, in addition to the code",
            grouped(totals.flash_bytes)
        ));
        lines.push(format!("memory         {} bytes", grouped(totals.memory_bytes)));
    }
    lines.push(format!("source         {} kB", grouped(totals.source_bytes.div_ceil(1000))));
    lines.push(format!("folded         {}", folded(report, COLUMNS - 15)));
    lines.push(format!("time           an estimate: {}", report.formula));
    if let Some(cost) = &report.on_target {
        lines.push(String::new());
        lines.extend(on_target(cost, totals));
    }
    lines
}

/// The costs of a step on the target.
fn on_target(cost: &TargetCost, totals: &Totals) -> Vec<String> {
    let about = if cost.measured_by.is_some() { "" } else { "about " };
    let part = |bytes: Option<u64>, what: &str| match bytes {
        Some(bytes) => format!(", {about}{} of {what}", grouped(bytes)),
        None => String::new(),
    };
    let whole = |bytes: u64, without: Option<&str>| match without {
        Some(part) => format!("{} bytes without the {part}", grouped(bytes)),
        None => format!("{about}{} bytes", grouped(bytes)),
    };
    let Flash { weights, constants, code, total } = cost.flash;
    let constants = if constants > 0 {
        format!(", {} of constants", grouped(constants))
    } else {
        String::new()
    };
    let mut lines = vec![
        format!("A step on {}, C by {} -O2:", cost.name, cost.compiler),
        format!(
            "flash          {}: {} of weights{constants}{}",
            whole(total, code.is_none().then_some("code")),
            grouped(weights),
            part(code, "code")
        ),
    ];
    let Ram { state, isa, scratch, packed_weights, stack, total } = cost.ram;
    let packed = if packed_weights > 0 {
        format!(", {} of packed weights", grouped(packed_weights))
    } else {
        String::new()
    };
    let isa = if isa > 0 { format!(", {isa} for the instruction set") } else { String::new() };
    lines.push(format!(
        "RAM            {}: {} of state{isa}, {} of scratch memory{packed}{}; and the arrays of \
         inputs and outputs",
        whole(total, stack.is_none().then_some("stack")),
        grouped(state),
        grouped(scratch),
        part(stack, "stack")
    ));
    let instructions = match cost.instructions_estimate {
        Some(instructions) => {
            let of_kernels = grouped(rounded(totals.cycles.round() as u64));
            format!(
                "about {} instructions (an estimate), {of_kernels} of them in kernels",
                grouped(instructions)
            )
        }
        None => "how many instructions is not known for this target".to_owned(),
    };
    lines.push(format!(
        "work           {} multiply-adds, {instructions}",
        grouped(cost.multiply_adds)
    ));
    lines.push(match &cost.measured_by {
        Some(compiler) => format!("code, stack    measured with {compiler}"),
        None => {
            let why = match cost.measurer {
                _ if !cost.measurable => {
                    "the compiler of this target does not make this code".to_owned()
                }
                Some(compiler) => format!("{compiler} is not installed"),
                None => "no compiler is tried for this target".to_owned(),
            };
            let known = match code {
                Some(_) => "code is an estimate, stack is not known",
                None => "not known",
            };
            format!("code, stack    {known}: {why}")
        }
    });
    if let Some(Clock { hertz, instructions_a_cycle, least_seconds }) = cost.clock {
        let begin = match instructions_a_cycle {
            1 => "an instruction".to_owned(),
            several => format!("{several} instructions"),
        };
        lines.push(format!(
            "least time     {} at {}, if {begin} began in every cycle; wait states of the flash \
             are not modelled",
            seconds(least_seconds),
            frequency(hertz)
        ));
    }
    lines
}

/// A time with its unit: `1.19 ms`.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} us", s * 1e6),
    }
}

/// A frequency with its unit: `80 MHz`.
fn frequency(hertz: f64) -> String {
    match hertz {
        hz if hz >= 1e6 => format!("{} MHz", hz / 1e6),
        hz if hz >= 1e3 => format!("{} kHz", hz / 1e3),
        hz => format!("{hz} Hz"),
    }
}

/// The number of loops around a layer.
fn depth(layer: &LayerReport, report: &Report) -> usize {
    let around = |layer: &&LayerReport| layer.within.map(|i| &report.layers[i]);
    std::iter::successors(Some(layer), around).count() - 1
}

fn operand_text(operand: TensorSource, report: &Report) -> String {
    match operand {
        TensorSource::Input(i) => visible(&report.inputs[i].name),
        TensorSource::Variable(i) => visible(&report.variables[i].name),
        TensorSource::Constant(_) => "constant".to_owned(),
        TensorSource::Layer(i) => i.to_string(),
    }
}

fn count(n: u64) -> String {
    if n == 0 { "-".to_owned() } else { grouped(n) }
}

/// Sorted numbers as ranges: `0-2, 5`.
fn ranges(sorted: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &i in sorted {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == i => *last = i,
            _ => ranges.push((i, i)),
        }
    }
    let text = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Aligns cells in columns. `right`: true for columns aligned to the right.
fn columns<const N: usize>(rows: &[[String; N]], right: [bool; N]) -> String {
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), right) in row.iter().zip(widths).zip(right) {
            _ = match right {
                true => write!(line, "{cell:>width$}  "),
                false => write!(line, "{cell:<width$}  "),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Breaks a line at [`COLUMNS`] characters. Continuation lines are indented.
fn wrap(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is a line");
        if last.chars().count() + word.trim_end().chars().count() > COLUMNS {
            lines.push(format!("{:15}{word}", ""));
        } else {
            last.push_str(word);
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}
