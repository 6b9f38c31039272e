//! Explanations: the printed plan and the words of its reasons.

use std::fmt;
use std::ops::Range;

use super::cost::LEAST_TILE_ROWS;
use super::delay_lines::KeptHistory;
use super::panels::Panels;
use super::passes::Tiling;
use super::product::{Phase, Product};
use super::reason::{
    Alternation, InputFirst, NoTiles, PanelWidth, Reason, RowByRow, RowsTogether, Sharing,
    Threading, Unrolling,
};
use super::threads::Half;
use super::{Plan, ProductPlan};
use crate::arch::{Isa, PlannedIsa};
use crate::emit::hints;
use crate::encoding::{Arithmetic, WeightFormat};
use crate::model::counted;
use crate::numerics::Multiples;
use crate::request::{Accuracy, Options, Threads};

impl ProductPlan {
    /// The reasons of the loops over rows.
    pub(super) fn reasons_of_loops(&self, isas: &[PlannedIsa]) -> Vec<Reason> {
        self.unrolled_rows(isas).into_iter().chain(self.added_chains(isas)).collect()
    }

    /// The instruction sets with chains in integer sums, and the largest number of chains.
    fn added_chains(&self, isas: &[PlannedIsa]) -> Option<Reason> {
        let (isas, most) = self.on_isas(isas, |at, isa, phase| {
            let sums = self.tilings[at]
                .iter()
                .map(|tiling| tiling.most_vectors() * self.product.active(phase));
            let chains = self.choice(phase, self.panels[0].columns, 1, isa).chains;
            let most = sums.map(|sums| chains.count(sums)).max();
            most.filter(|chains| *chains > 1 && self.product.layout.format.is_of_integers())
        })?;
        Some(Reason::Chains { isas, most })
    }

    /// The instruction sets with unrolled loops over rows, and the largest factor.
    fn unrolled_rows(&self, isas: &[PlannedIsa]) -> Option<Reason> {
        let size = self.product.layout.element_bytes();
        let (isas, most) = self.on_isas(isas, |at, isa, phase| {
            let of_panels = |(panels, tiling): (&Panels, &Tiling)| {
                let choice = self.choice(phase, panels.columns, 1, isa);
                let chains =
                    choice.chains.count(tiling.most_vectors() * self.product.active(phase));
                let rows = choice.rows_at_once(chains);
                let bytes = rows * self.product.row_of(phase, panels.columns, 0).1 * size;
                Some(rows * choice.unroll_factor(self.product.packed_rows(phase) / rows, bytes)?)
            };
            self.panels.iter().zip(&self.tilings[at]).filter_map(of_panels).max()
        })?;
        let in_c = hints::is_unrolled_in_c_alone(self.product.layout.format);
        Some(Reason::UnrolledRows { isas, in_c, most })
    }

    /// The names of the instruction sets for which `number` returns a value in some phase, and the
    /// largest value. Omits instruction sets that compute several rows together.
    fn on_isas(
        &self,
        isas: &[PlannedIsa],
        number: impl Fn(usize, &Isa, Phase) -> Option<usize>,
    ) -> Option<(String, usize)> {
        let Product { rows, together, .. } = self.product;
        let is_alone = |at: usize| rows == 1 || together == 1 || self.rows_at_once[at] == 1;
        let phases = || Phase::ALL.into_iter().filter(|phase| self.product.active(*phase) > 0);
        let most = |(at, PlannedIsa { isa, .. }): (usize, &PlannedIsa)| {
            let most = phases().filter_map(|phase| number(at, isa, phase)).max()?;
            Some((isa.name, most))
        };
        let found: Vec<_> =
            isas.iter().enumerate().filter(|(at, _)| is_alone(*at)).filter_map(most).collect();
        let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
        Some((names.join(", "), found.iter().map(|(_, most)| *most).max()?))
    }
}

impl Plan {
    /// The reasons why no cell is shared by two threads. Equal neighbours count once. `None` if a
    /// cell is shared, or if the options have one thread.
    pub fn why_no_second_thread(&self, options: &Options) -> Option<Vec<String>> {
        let cells = || self.products.iter().filter(|plan| plan.product.recurs());
        if options.machine.threads == Threads::One || cells().any(|plan| plan.halves.is_some()) {
            return None;
        }
        let one_thread = |reason: &Reason| match reason {
            Reason::Threading(Threading::One(why)) => Some(why.to_string()),
            _ => None,
        };
        let mut why: Vec<String> =
            cells().flat_map(|plan| &plan.reasons).filter_map(one_thread).collect();
        why.dedup();
        Some(why)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PlannedIsa { isa, fuses } in &self.isas {
            let profile = if *fuses { "fused" } else { "unfused" };
            match self.shared_body(isa) {
                None => {
                    let lanes = counted(isa.lanes, "lane");
                    let (name, registers) = (isa.name, isa.registers);
                    writeln!(f, "{name}: {lanes}, {registers} registers, {profile} multiply-add")?;
                }
                Some(other) => {
                    writeln!(f, "{}: as {}, {profile} multiply-add", isa.name, other.name)?
                }
            }
        }
        if self.accuracy != Accuracy::Exact {
            writeln!(f, "activations: {}", self.accuracy.name())?;
        }
        if self.flush_below.is_none() {
            writeln!(f, "denormals are kept")?;
        }
        for ((condition, side), count) in self.branches.counts() {
            let side = if side { "holds" } else { "does not hold" };
            writeln!(f, "{} only where {condition} {side}", counted(count, "operation"))?;
        }
        for chain in self.fusion.chains() {
            let links = chain.links.iter().chain(&chain.reduced);
            let links: Vec<_> = links.map(|v| format!("value {v}")).collect();
            writeln!(f, "value {}: continued to {} in registers", chain.root, links.join(", "))?;
        }
        for KeptHistory { variable, line, concat, .. } in &self.delay_lines.histories {
            writeln!(f, "variable {variable}: {line}; value {concat} has no memory")?;
        }
        if self.step_block > 1 {
            writeln!(f, "up to {} steps are computed together", self.step_block)?;
        }
        for (value, row) in &self.delay_lines.rows {
            let variable = self.delay_lines.histories[row.history].variable;
            writeln!(f, "value {value}: taps of variable {variable}, read in place")?;
        }
        for (value, (arithmetic, x)) in &self.windows {
            let x = x.map_or(String::new(), |x| format!(", x is {}", integers(x)));
            writeln!(f, "value {value}: windows multiplied in {}{x}", arithmetic.name())?;
        }
        self.products.iter().enumerate().try_for_each(|(i, plan)| self.print(f, i, plan))
    }
}

impl Plan {
    /// The instruction set of the plan whose body an instruction set shares.
    fn shared_body(&self, isa: &Isa) -> Option<&'static Isa> {
        isa.body_of.filter(|isa| self.isas.iter().any(|planned| planned.isa == *isa))
    }

    /// Prints the plan of the `i`-th product.
    fn print(&self, f: &mut fmt::Formatter<'_>, i: usize, plan: &ProductPlan) -> fmt::Result {
        let (count, bytes) = (plan.weights + plan.biases, plan.bytes());
        let precision = plan.precision();
        writeln!(f, "product {i}: {count} packed weights{precision} ({bytes} bytes)")?;
        for reason in &plan.reasons {
            writeln!(f, "  {reason}")?;
        }
        if let Some([here, there]) = &plan.halves {
            writeln!(f, "  at the same time: {here}, {there}")?;
        }
        for (p, panels) in plan.panels.iter().enumerate() {
            let (count, columns) =
                (counted(panels.count, "panel"), counted(panels.columns, "column"));
            writeln!(f, "  {count} of {columns} from column {}", panels.first)?;
            for (PlannedIsa { isa, .. }, tilings) in self.isas.iter().zip(&plan.tilings) {
                if self.shared_body(isa).is_none() {
                    writeln!(f, "    {}: {}", isa.name, tilings[p])?;
                }
            }
        }
        Ok(())
    }
}

impl ProductPlan {
    /// The format of the weights and the arithmetic, as the end of a sentence. Empty for f32.
    fn precision(&self) -> String {
        let format = match self.product.layout.format {
            WeightFormat::F32 => String::new(),
            other => format!(" as {}", other.name()),
        };
        let operands = [("x", self.multiples.x), ("h", self.multiples.h)];
        let operands: Vec<_> = operands
            .into_iter()
            .filter_map(|(name, multiples)| Some((name, integers(multiples?))))
            .collect();
        match (self.arithmetic, &operands[..]) {
            (Arithmetic::F32, []) => format,
            (Arithmetic::F32, [(_, x)]) => format!("{format}, multiplied with {x}"),
            (arithmetic, operands) => {
                let multiplied = match arithmetic {
                    Arithmetic::F32 => "integers",
                    other => other.name(),
                };
                let operand = |(name, own): &(&str, String)| format!(", {name} is {own}");
                let operands: String = operands.iter().map(operand).collect();
                format!("{format}, multiplied in {multiplied}{operands}")
            }
        }
    }
}

/// The integers of an operand that the model quantises.
fn integers(x: Multiples) -> String {
    match x.scale {
        1.0 => format!("whole numbers up to {}", x.magnitude()),
        scale => format!("whole numbers up to {} times {scale:e}", x.magnitude()),
    }
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Columns(passes) = self else { return f.write_str("gates as runs of lanes") };
        let pass = |pass: &Vec<(usize, usize)>| {
            pass.iter().map(|(_, lanes)| lanes.to_string()).collect::<Vec<_>>().join("+")
        };
        let passes: Vec<_> = passes.iter().map(pass).collect();
        write!(f, "passes over columns {}", passes.join(", "))
    }
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, Range { start, end }) =
            if self.is_of_rows { ("row", &self.rows) } else { ("unit", &self.units) };
        match end - start {
            1 => write!(f, "{what} {start}"),
            _ => write!(f, "{what}s {start} to {}", end - 1),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panels(columns, why) => {
                write!(f, "panels of {}: {why}", counted(*columns, "column"))
            }
            Self::RowByRow(why) => write!(f, "one row at a time: {why}"),
            Self::Threading(Threading::Unasked) => Ok(()),
            Self::Threading(Threading::Two(why)) => write!(f, "two threads: {why}"),
            Self::Threading(Threading::One(why)) => write!(f, "one thread: {why}"),
            Self::Unrolling(why) => why.fmt(f),
            Self::RowsTogether(rows) => rows.fmt(f),
            Self::Alternation(why) => write!(f, "panels in alternating order: {why}"),
            Self::InputFirst(why) => why.fmt(f),
            Self::Chains { isas, most } => write!(
                f,
                "{isas}: each sum is added up in up to {most} chains, which hide the latency of \
                 instructions"
            ),
            Self::UnrolledRows { isas, in_c, most } => {
                let language = if *in_c { hints::PAIRS_SPLIT.printed } else { "" };
                write!(
                    f,
                    "{isas}: {language}loops over rows of weights are unrolled by up to {most}: \
                     {}",
                    hints::PREFETCHED.printed
                )
            }
        }
    }
}

impl fmt::Display for PanelWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllOf(asked) => write!(f, "all, {asked} are asked for"),
            Self::Asked => f.write_str("asked for"),
            Self::OneText(units) => write!(f, "one text for all of {units} units"),
            Self::Padded(units) => write!(f, "whole vectors, padded from {units} units"),
            Self::FirstLevel => f.write_str("fits the L1 cache, for several rows"),
            Self::ResetGate => {
                f.write_str("reset gate before the product: r.h is needed for all columns at once")
            }
            Self::BeyondSecondLevel(kib) => {
                write!(f, "{kib} KiB of weights are read from beyond the L2 cache")
            }
            Self::KeptInFirstLevel => {
                f.write_str("the L1 cache holds several of these panels from step to step")
            }
            Self::Registers => f.write_str(
                "the sums of more columns and a row of their weights do not fit the registers",
            ),
            Self::OnePass => f.write_str("one pass, as blocks of zeros are left out"),
            Self::Block => f.write_str("one block, as blocks of zeros are left out"),
            Self::SlowRow(cycles) => write!(
                f,
                "a row of so few takes {cycles:.1} cycles from the L2 cache, longer than a \
                 multiply-add"
            ),
            Self::Fewest(cycles) => {
                write!(f, "{cycles:.0} cycles, the fewest among the widths that fit the registers")
            }
        }
    }
}

impl fmt::Display for RowByRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steps => "several steps",
            Self::Lengths => "each has a length",
            Self::Peepholes => "peepholes",
            Self::Attention => "attention",
        })
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("asked for"),
            Self::NoCell => f.write_str("no cell"),
            Self::OnePanel => f.write_str("one panel"),
            Self::Cycles(half, synchronisation) => write!(
                f,
                "{half:.0} cycles for half a step, {synchronisation:.0} for synchronisation"
            ),
        }
    }
}

impl fmt::Display for Unrolling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AskedFull => f.write_str("unrolled: asked for"),
            Self::AskedNone => f.write_str("loops kept: asked for"),
            Self::Within(vectors, limit) => {
                write!(f, "unrolled: {vectors} vectors of weights are within the limit of {limit}")
            }
            Self::Beyond(vectors, limit) => {
                write!(f, "loops kept: {vectors} vectors of weights exceed the limit of {limit}")
            }
            Self::WithoutZeros { present, all, shape: [rows, inputs] } => write!(
                f,
                "unrolled where one instruction multiplies a block, without zeros: {present} of \
                 {all} blocks of {rows} x {inputs} weights are left ({} %)",
                present * 100 / all
            ),
            Self::Indexed { present, all, shape: [rows, inputs], instructions: [own, dense] } => {
                write!(
                    f,
                    "loops over an index of the blocks that are not zero: {present} of {all} \
                     blocks of {rows} x {inputs} weights ({} %), about {own} instructions \
                     instead of {dense}",
                    present * 100 / all
                )
            }
            Self::Batch => f.write_str("loops kept: batch above 1"),
            Self::Steps => f.write_str("loops kept: several steps"),
            Self::Rows(limit) => write!(f, "loops kept: more than {limit} rows of weights"),
        }
    }
}

impl fmt::Display for RowsTogether {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = |of_input: bool| if of_input { "x terms of " } else { "" };
        match self {
            Self::Asked(rows) => write!(f, "rows at once: {rows}, asked for"),
            Self::Narrow(isa) => write!(f, "{isa}: one row at a time, the shorter code"),
            Self::InTiles { isa, rows, of_input } => {
                let (input_terms, rows) = (terms(*of_input), counted(*rows, "row"));
                write!(f, "{isa}: {input_terms}{rows} at once, in tiles")
            }
            Self::InVectors { isa, rows, of_input, cycles } => {
                let (input_terms, rows) = (terms(*of_input), counted(*rows, "row"));
                write!(
                    f,
                    "{isa}: {input_terms}{rows} at once, {cycles:.1} cycles for a row of a panel"
                )
            }
            Self::NoTiles(isa, why) => write!(f, "{isa}: no tiles: {why}"),
        }
    }
}

impl fmt::Display for NoTiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("asked for"),
            Self::Rows(most) => write!(f, "they take 2 to {most} rows"),
            Self::Slower { rows, by_tiles, by_vectors } => {
                write!(f, "{by_tiles} cycles for {}, {by_vectors} without", counted(*rows, "row"))?;
                match *rows < LEAST_TILE_ROWS {
                    true => write!(f, ": fewer than {LEAST_TILE_ROWS} rows"),
                    false => write!(f, ": saves less than a tenth"),
                }
            }
        }
    }
}

impl fmt::Display for Alternation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("asked for"),
            Self::FirstLevel => f.write_str("the L1 cache holds a part of the weights"),
            Self::MoreThan(bytes) => write!(f, "more than {} KiB of weights", bytes >> 10),
        }
    }
}

impl fmt::Display for InputFirst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("x terms of all steps first: asked for"),
            Self::Memory(bytes) => {
                write!(f, "x terms at every step: those of all steps would take {bytes} bytes")
            }
            Self::Cycles { rows, first, each } => {
                let rows = counted(*rows, "row");
                let of_all =
                    format!("of all steps first, {rows} at once: {first:.0} cycles a step");
                match self.is_first() {
                    true => write!(f, "x terms {of_all}; at every step {each:.0} or more"),
                    false => {
                        write!(
                            f,
                            "x terms at every step: {each:.0} cycles a step or more; {of_all}"
                        )
                    }
                }
            }
        }
    }
}
