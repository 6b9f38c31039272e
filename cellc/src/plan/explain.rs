//! Explanations: the printed plan and its reasons.

use std::fmt;
use std::ops::Range;

use super::panels::Panels;
use super::passes::Tiling;
use super::product::{Phase, Product};
use super::threads::{Half, ONE_THREAD};
use super::{Plan, ProductPlan, cost};
use crate::arch::Isa;
use crate::encoding::{Arithmetic, WeightFormat};
use crate::model::counted;
use crate::numerics::Multiples;
use crate::request::{Accuracy, Options, Threads};

impl ProductPlan {
    /// The description of the loops over rows.
    pub(super) fn said_of_loops(&self, isas: &[(&'static Isa, bool)]) -> Vec<String> {
        self.unrolled_rows(isas).into_iter().chain(self.said_chains(isas)).collect()
    }

    /// The instruction sets with chains in integer sums, and the largest number of chains.
    fn said_chains(&self, isas: &[(&'static Isa, bool)]) -> Option<String> {
        let (names, most) = self.on_isas(isas, |at, isa, phase| {
            let sums = self.tilings[at]
                .iter()
                .map(|tiling| tiling.most_vectors() * self.product.active(phase));
            let most = sums.map(|sums| self.chains(phase, sums, isa)).max();
            most.filter(|chains| *chains > 1 && self.product.format.is_of_integers())
        })?;
        Some(format!(
            "{names}: each sum is added up in up to {most} chains, which hide the latency of \
             instructions"
        ))
    }

    /// The instruction sets with unrolled loops over rows, and the largest factor.
    fn unrolled_rows(&self, isas: &[(&'static Isa, bool)]) -> Option<String> {
        let size = self.product.format.encoding(0).element().size();
        let (names, most) = self.on_isas(isas, |at, isa, phase| {
            let of_panels = |(panels, tiling): (&Panels, &Tiling)| {
                let chains =
                    self.chains(phase, tiling.most_vectors() * self.product.active(phase), isa);
                let rows = self.turn_rows(chains, isa);
                let bytes = rows * self.product.row_of(phase, panels.columns, 0).1 * size;
                Some(
                    rows * self.turns_at_once(
                        self.product.packed_rows(phase) / rows,
                        bytes,
                        isa,
                    )?,
                )
            };
            self.panels.iter().zip(&self.tilings[at]).filter_map(of_panels).max()
        })?;
        // Rust keeps loops over 16-bit weights: `emit::rust::unroll`
        let language = if self.product.format == WeightFormat::Int16 { "in C " } else { "" };
        Some(format!(
            "{names}: {language}loops over rows of weights are unrolled by up to {most}: faster \
             where weights are in the L2 cache"
        ))
    }

    /// The instruction sets with a property of a phase, for products of single rows, and the
    /// largest value.
    fn on_isas(
        &self,
        isas: &[(&'static Isa, bool)],
        number: impl Fn(usize, &Isa, Phase) -> Option<usize>,
    ) -> Option<(String, usize)> {
        let Product { rows, together, .. } = self.product;
        let is_alone = |at: usize| rows == 1 || together == 1 || self.rows_at_once[at] == 1;
        let phases = || Phase::ALL.into_iter().filter(|phase| self.product.active(*phase) > 0);
        let most = |(at, (isa, _)): (usize, &(&'static Isa, bool))| {
            let most = phases().filter_map(|phase| number(at, isa, phase)).max()?;
            Some((isa.name, most))
        };
        let found: Vec<_> =
            isas.iter().enumerate().filter(|(at, _)| is_alone(*at)).filter_map(most).collect();
        let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
        Some((names.join(", "), found.iter().map(|(_, most)| *most).max()?))
    }
}

impl Product {
    /// The reason against tiles for `rows` rows, on an instruction set with tiles.
    pub(super) fn without_tiles(
        &self,
        rows: usize,
        panels: &[Panels],
        asked: Option<bool>,
        isa: &Isa,
    ) -> String {
        match asked {
            Some(false) => "asked for".to_owned(),
            _ if !(2..=isa.tile_rows()).contains(&rows) => {
                format!("they take 2 to {} rows", isa.tile_rows())
            }
            _ => cost::TileCycles::new(self, panels, rows, isa).to_string(),
        }
    }
}

impl Plan {
    /// Options without effect on the model, one sentence each.
    pub fn without_effect(&self, options: &Options) -> Vec<String> {
        let mut said = Vec::new();
        let cells = || self.products.iter().filter(|plan| plan.product.recurs());
        if options.machine.threads == Threads::Two && cells().all(|plan| plan.halves.is_none()) {
            let mut why: Vec<&str> = cells()
                .flat_map(|plan| &plan.reasons)
                .filter_map(|reason| reason.strip_prefix(ONE_THREAD))
                .collect();
            why.dedup();
            said.push(format!(
                "a second thread has nothing to do, as no cell is shared: {}",
                why.join("; ")
            ));
        }
        said
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (isa, fused) in &self.isas {
            let profile = if *fused { "fused" } else { "unfused" };
            match self.shared_body(isa) {
                None => {
                    let lanes = counted(isa.lanes, "lane");
                    let (name, registers) = (isa.name, isa.registers);
                    writeln!(f, "{name}: {lanes}, {registers} registers, {profile} multiply-add")?;
                }
                Some(of) => writeln!(f, "{}: as {}, {profile} multiply-add", isa.name, of.name)?,
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
            let links: Vec<_> = chain.links.iter().map(|v| format!("value {v}")).collect();
            writeln!(f, "value {}: continued to {} in registers", chain.root, links.join(", "))?;
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
        isa.body_of.filter(|of| self.isas.iter().any(|(other, _)| other == of))
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
            for ((isa, _), tilings) in self.isas.iter().zip(&plan.tilings) {
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
        let format = match self.product.format {
            WeightFormat::F32 => String::new(),
            other => format!(" as {}", other.name()),
        };
        let operands = [("x", self.own_x), ("h", self.own_h)];
        let operands: Vec<_> =
            operands.into_iter().filter_map(|(name, of)| Some((name, integers(of?)))).collect();
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
