//! What was found, as tables of Markdown, and what trades give as JSON.

use std::fmt::{self, Write};

use cellc::internals::timing::report::{ContenderRow, Report};
use serde_json::{Value, json};

use crate::check::Held;
use crate::trade::Trade;
use crate::workload::Workload;

/// What was found about a row: its trade, how right it is, and what else there is to say.
pub(crate) type Found = (Option<Trade>, Held, Option<String>);

/// A workload with its trades.
pub(crate) struct Traded {
    pub(crate) report: Report,
    /// Of every row.
    pub(crate) rows: Vec<Found>,
}

impl Traded {
    /// Everything that was measured.
    pub(crate) fn json(&self) -> Value {
        let mut all = self.report.json();
        for ((_, held, remark), row) in
            self.rows.iter().zip(all["contenders"].as_array_mut().into_iter().flatten())
        {
            row["call_error"] = json!(held.error);
            row["call_bound"] = json!(held.bound);
            row["largest_share_of_a_bound"] = json!(held.share);
            row["remark"] = json!(remark);
        }
        all
    }

    /// The trades that were measured.
    fn trades(&self) -> Vec<Trade> {
        let mut all: Vec<Trade> = self.rows.iter().filter_map(|(trade, _, _)| *trade).collect();
        all.dedup();
        all
    }

    /// The rows of a language and instruction set, with default options or a trade.
    fn row(&self, name: &str, isa: &str, trade: Option<Trade>) -> Option<usize> {
        let found = |(row, (t, _, _)): (&ContenderRow, &Found)| {
            row.name == name && row.isa.as_deref() == Some(isa) && *t == trade
        };
        self.report.rows.iter().zip(&self.rows).position(found)
    }
}

impl fmt::Display for Traded {
    /// The table of the report, and what was found about single calls.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)?;
        let label = |row: &ContenderRow| {
            [Some(&row.name[..]), row.trade, row.isa.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let labels: Vec<String> = self.report.rows.iter().map(label).collect();
        let width = labels.iter().map(String::len).max().unwrap_or(0);
        for (label, (_, held, remark)) in labels.iter().zip(&self.rows) {
            let Held { error, bound, share } = held;
            let remark = remark.as_ref().map_or(String::new(), |remark| format!("; {remark}"));
            let share = 100.0 * share;
            writeln!(
                f,
                "  {label:width$}  one call: error {error:.1e}, bound {bound:.1e}, largest share {share:.1} %{remark}"
            )?;
        }
        Ok(())
    }
}

const LANGUAGES: [&str; 2] = ["cellc Rust", "cellc C"];

/// A line for each workload: kernels over the floors of their instruction sets, and other libraries
/// over the fastest of them.
pub(crate) fn overview(all: &[(&Workload, Report)]) -> String {
    let mut kernels: Vec<(&str, &str)> = Vec::new();
    let mut peers: Vec<&str> = Vec::new();
    for row in all.iter().flat_map(|(_, report)| &report.rows) {
        match &row.isa {
            // the baseline is for machines that hardly anyone measures on
            Some(isa) if isa != "generic" && !kernels.contains(&(&row.name, isa)) => {
                kernels.push((&row.name, isa))
            }
            None if row.name.starts_with("naive") => {}
            None if !peers.contains(&&*row.name) => peers.push(&row.name),
            _ => {}
        }
    }
    let mut text = "| |".to_owned();
    for (name, isa) in &kernels {
        let _ = write!(text, " {} {isa}, over its own floor |", name.trim_start_matches("cellc "));
    }
    for peer in &peers {
        let _ = write!(text, " {peer} |");
    }
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(kernels.len() + peers.len()));
    for (workload, report) in all {
        let _ = write!(text, "| {} |", workload.name);
        for (name, isa) in &kernels {
            let is = |row: &ContenderRow| {
                row.name == *name && row.isa.as_deref() == Some(isa) && row.other_function.is_none()
            };
            let ratio = report.rows.iter().position(is).and_then(|row| report.over_own_floor(row));
            let _ = match ratio.map(|ratio| [ratio.best, ratio.worst].map(short)) {
                Some([best, worst]) if best == worst => write!(text, " {best} |"),
                Some([best, worst]) => write!(text, " {best} to {worst} |"),
                None => write!(text, " |"),
            };
        }
        for peer in &peers {
            let _ = match report.rows.iter().position(|row| row.name == *peer) {
                Some(row) => {
                    let star = if report.rows[row].other_function.is_some() { " *" } else { "" };
                    write!(text, " {}{star} |", short(report.over_cellc(row).best))
                }
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }
    text
}

/// Three digits.
fn short(ratio: f64) -> String {
    format!("{ratio:.*}", (2.0 - ratio.log10().floor()).clamp(0.0, 2.0) as usize)
}

/// A line for each workload and trade: how many times faster than with default options, and where
/// that is over the floor.
///
/// Of the best times; beside a busy thread, where a best time says nothing, of the medians.
pub(crate) fn trades(all: &[Traded]) -> String {
    let mut isas: Vec<&str> = Vec::new();
    for floor in all.iter().flat_map(|traded| &traded.report.runs[0].floors) {
        if !isas.contains(&floor.isa) {
            isas.push(floor.isa);
        }
    }
    let columns: Vec<(&str, &str)> =
        LANGUAGES.iter().flat_map(|name| isas.iter().map(move |isa| (*name, *isa))).collect();
    let mut text = "| | option |".to_owned();
    for (name, isa) in &columns {
        let _ = write!(text, " {} {isa} |", name.trim_start_matches("cellc "));
    }
    let widest = isas.last().copied().unwrap_or("");
    let _ = writeln!(text, " Rust over floor | worst | C over floor | worst | error | bound |");
    let _ = writeln!(text, "|---|---|{}", "---:|".repeat(columns.len() + 6));
    for traded in all {
        for trade in [None].into_iter().chain(traded.trades().into_iter().map(Some)) {
            line(&mut text, traded, trade, &columns, widest);
        }
    }
    text
}

fn line(
    text: &mut String,
    traded: &Traded,
    trade: Option<Trade>,
    columns: &[(&str, &str)],
    widest: &str,
) {
    let Traded { report, rows } = traded;
    let by_median = trade == Some(Trade::ThreadsBusy);
    let _ = write!(text, "| {} | {} |", report.name, trade.map_or("default", Trade::name));
    for (name, isa) in columns {
        let ratio = traded.row(name, isa, trade).and_then(|row| report.over_default(row));
        let _ = match ratio.map(|ratio| if by_median { ratio.median() } else { ratio.best }) {
            Some(ratio) => write!(text, " {:.2} |", 1.0 / ratio),
            None => write!(text, " |"),
        };
    }
    for name in LANGUAGES {
        let ratio = traded.row(name, widest, trade).map(|row| report.over_widest_floor(row));
        let _ = match ratio {
            Some(ratio) if by_median => write!(text, " {:.2} | |", ratio.median()),
            Some(ratio) => write!(text, " {:.2} | {:.2} |", ratio.best, ratio.worst),
            None => write!(text, " | |"),
        };
    }
    let of_trade = rows.iter().filter(|(t, _, _)| *t == trade).map(|(_, held, _)| *held);
    let held = of_trade.reduce(|a, b| if b.error > a.error { b } else { a }).unwrap_or_default();
    let _ = writeln!(text, " {:.1e} | {:.1e} |", held.error, held.bound);
}
