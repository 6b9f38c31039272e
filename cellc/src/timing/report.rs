//! Measured times as a table and as JSON.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::agreement::Agreement;
use super::floor::{Floor, FloorTimes, LeastWork};
use super::turns::{Samples, Turn, measure};
use crate::arch::Isa;

/// A contender: generated code or another library.
pub struct ContenderRow {
    /// The language or library.
    pub name: String,
    /// The instruction set. `None` if unknown.
    pub isa: Option<String>,
    /// The version of the library.
    pub version: String,
    /// The function that the contender computes. `None`: the function of the workload.
    pub other_function: Option<&'static str>,
    /// The non-default option of this row, if another row has default options.
    pub trade: Option<&'static str>,
    /// The accuracy of the outputs.
    pub agreement: Agreement,
}

impl ContenderRow {
    /// True for code by cellc with default options and the workload's function.
    fn is_cellc(&self) -> bool {
        self.name.starts_with("cellc") && self.other_function.is_none() && self.trade.is_none()
    }

    fn label(&self) -> String {
        [Some(&self.name[..]), self.trade, self.isa.as_deref()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// A note with the version, and with [`Self::other_function`], if any.
    fn note(&self) -> String {
        let deviation = self.other_function.map(|what| format!("other function: {what}"));
        [Some(self.version.clone()), deviation]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }
}

/// One measurement of all contenders, per step.
pub struct Run {
    /// The floors of all instruction sets, widest vectors last.
    pub floors: Vec<FloorTimes>,
    /// The samples of all rows.
    pub samples: Vec<Samples>,
}

impl Run {
    /// Times floors and contenders in turns. Each call makes `steps` steps.
    ///
    /// # Errors
    /// The first error of a turn.
    pub fn measure<'a>(
        floors: &'a [Floor],
        work: &'a LeastWork,
        others: &mut Vec<Turn<'a>>,
        steps: usize,
        rounds: usize,
        time: Duration,
    ) -> Result<Self, String> {
        let mut turns: Vec<Turn<'_>> = floors.iter().flat_map(|floor| floor.turns(work)).collect();
        turns.append(others);
        let mut samples =
            measure(&mut turns, rounds, time)?.into_iter().map(|samples| samples.a_step(steps));
        let mut next = || samples.next().expect("samples of everyone");
        let floors = floors
            .iter()
            .map(|f| FloorTimes { isa: f.isa, stream: next(), arithmetic: next() })
            .collect();
        Ok(Self { floors, samples: samples.collect() })
    }

    /// The number of samples per contender.
    pub fn rounds(&self) -> usize {
        self.floors[0].stream.rounds()
    }
}

/// The times of one workload, or of one model.
pub struct Report {
    /// The name of the workload or model.
    pub name: String,
    /// A description in words.
    pub description: String,
    /// Steps per call. Times are per step.
    pub steps: usize,
    /// The work of a call.
    pub work: LeastWork,
    /// The contenders.
    pub rows: Vec<ContenderRow>,
    /// The runs, at least one.
    pub runs: Vec<Run>,
    /// Contenders that cannot run, with the reason.
    pub absent: Vec<(String, String)>,
}

/// A time relative to a floor or to another contender's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The quotient of the two shortest times, in the run with the smallest quotient.
    pub best: f64,
    /// The quotient of the two shortest times, in the run with the largest quotient.
    pub worst: f64,
    /// Quartiles of ratios round by round, from the run with the smallest median.
    quartiles: [f64; 3],
}

impl Ratio {
    fn new<'a>(runs: impl Iterator<Item = (&'a Samples, &'a Samples)>) -> Self {
        let nothing = Self { best: f64::INFINITY, worst: 0.0, quartiles: [f64::INFINITY; 3] };
        runs.fold(nothing, |all, (samples, floor)| {
            let (best, over) = (samples.best() / floor.best(), samples.over(floor));
            let quartiles = [0.25, 0.5, 0.75].map(|part| over.quantile(part));
            Self {
                best: all.best.min(best),
                worst: all.worst.max(best),
                quartiles: if quartiles[1] < all.quartiles[1] { quartiles } else { all.quartiles },
            }
        })
    }

    /// The smallest median of any run, of the ratios round by round.
    pub fn median(&self) -> f64 {
        self.quartiles[1]
    }

    fn json(self) -> Value {
        let Self { best, worst, quartiles: [low, median, high] } = self;
        json!({ "best": best, "worst_run": worst, "median": median, "quartiles": [low, high] })
    }
}

impl Report {
    /// The index of the floor for the row's instruction set.
    fn own_floor(&self, row: usize) -> Option<usize> {
        self.runs[0].floors.iter().position(|f| Some(f.isa) == self.rows[row].isa.as_deref())
    }

    /// A row relative to a floor.
    fn over_floor(&self, row: usize, floor: usize) -> Ratio {
        Ratio::new(self.runs.iter().map(|run| (&run.samples[row], run.floors[floor].samples())))
    }

    /// A row relative to the floor of its instruction set. `None` without a known instruction set.
    pub fn over_own_floor(&self, row: usize) -> Option<Ratio> {
        Some(self.over_floor(row, self.own_floor(row)?))
    }

    /// A row relative to the floor of the machine's widest vectors.
    pub fn over_widest_floor(&self, row: usize) -> Ratio {
        self.over_floor(row, self.runs[0].floors.len() - 1)
    }

    /// A row with a non-default option, relative to the row of its language and instruction set
    /// with default options.
    pub fn over_default(&self, row: usize) -> Option<Ratio> {
        let this = &self.rows[row];
        let default = |isa: Option<&str>| {
            let is_it = |row: &ContenderRow| {
                row.is_cellc() && row.name == this.name && row.isa.as_deref() == isa
            };
            self.rows.iter().position(is_it).filter(|_| this.trade.is_some())
        };
        // without a default row for the row's instruction set, machines run a body of an
        // instruction set that the row's instruction set extends
        let mut extended =
            this.isa.as_deref().and_then(Isa::from_name).into_iter().flat_map(Isa::extended);
        let default = default(this.isa.as_deref())
            .or_else(|| extended.find_map(|isa| default(Some(isa.name))))?;
        Some(Ratio::new(self.runs.iter().map(|run| (&run.samples[row], &run.samples[default]))))
    }

    /// The row of the fastest code by cellc.
    fn fastest(&self) -> usize {
        let is_cellc = |&row: &usize| self.rows[row].is_cellc();
        let time = |row: usize| best(self.runs.iter().map(|run| &run.samples[row]));
        (0..self.rows.len())
            .filter(is_cellc)
            .min_by(|&a, &b| time(a).total_cmp(&time(b)))
            .expect("cellc has the generic body")
    }

    /// A row relative to the fastest code by cellc.
    pub fn over_cellc(&self, row: usize) -> Ratio {
        let fastest = self.fastest();
        Ratio::new(self.runs.iter().map(|run| (&run.samples[row], &run.samples[fastest])))
    }

    /// All measurements.
    pub fn json(&self) -> Value {
        let times = |all: &dyn Fn(&Run) -> &Samples| {
            let runs = || self.runs.iter().map(all);
            let by_run: Vec<_> = runs().map(Samples::best).collect();
            json!({ "best": best(runs()), "median": median(runs()), "best_by_run": by_run })
        };
        let floors = self.runs[0].floors.iter().enumerate().map(|(i, floor)| {
            json!({
                "isa": floor.isa,
                "stream_ns": times(&|run| &run.floors[i].stream),
                "arithmetic_ns": times(&|run| &run.floors[i].arithmetic),
                "ns": times(&|run| run.floors[i].samples()),
            })
        });
        let rows = self.rows.iter().enumerate().map(|(i, row)| {
            json!({
                "name": row.name,
                "isa": row.isa,
                "version": row.version,
                "other_function": row.other_function,
                "trade": row.trade,
                "over_default_options": self.over_default(i).map(Ratio::json),
                "ns": times(&|run| &run.samples[i]),
                "over_own_floor": self.over_own_floor(i).map(Ratio::json),
                "over_widest_floor": self.over_widest_floor(i).json(),
                "over_fastest_cellc": self.over_cellc(i).json(),
                "error_ulp_of_1": row.agreement.error(),
                "output_bits": format!("{:08x}", row.agreement.bits),
            })
        });
        let absent = self.absent.iter().map(|(name, why)| json!({ "name": name, "why": why }));
        json!({
            "name": self.name,
            "description": self.description,
            "steps_in_a_call": self.steps,
            "weight_bytes": self.work.weight_bytes(),
            "multiply_adds": self.work.multiply_adds() / self.steps,
            "rounds": self.runs.iter().map(Run::rounds).collect::<Vec<_>>(),
            "floors": floors.collect::<Vec<_>>(),
            "contenders": rows.collect::<Vec<_>>(),
            "absent": absent.collect::<Vec<_>>(),
        })
    }
}

/// The shortest time of all runs.
fn best<'a>(runs: impl Iterator<Item = &'a Samples>) -> f64 {
    runs.map(Samples::best).fold(f64::INFINITY, f64::min)
}

/// The smallest median of all runs.
fn median<'a>(runs: impl Iterator<Item = &'a Samples>) -> f64 {
    runs.map(|samples| samples.quantile(0.5)).fold(f64::INFINITY, f64::min)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, description, work, rows, runs, absent, .. } = self;
        writeln!(f, "{name}: {description}; {} bytes to stream", work.weight_bytes())?;
        let floors = &runs[0].floors;
        let over = format!("over {}", floors.last().map_or("", |floor| floor.isa));
        // a single run has no spread
        let spread = |worst: Option<f64>| match (runs.len(), worst) {
            (1, _) => String::new(),
            (_, worst) => {
                format!("{:>9}", worst.map_or("worst".to_owned(), |worst| format!("{worst:.3}")))
            }
        };
        let column =
            format!("{:>8}{} {:>8}  {over:>11}{}", "floor x", spread(None), "median", spread(None));
        let head = ["ns best", "median", "x cellc", "error"];
        let labels: Vec<String> = rows.iter().map(ContenderRow::label).collect();
        let width = labels.iter().map(String::len).fold(22, usize::max);
        writeln!(
            f,
            "  {:width$} {:>10} {:>10}  {column}  {:>8}  {:>6}  bits",
            "", head[0], head[1], head[2], head[3]
        )?;
        for (i, floor) in floors.iter().enumerate() {
            let samples = || runs.iter().map(|run| run.floors[i].samples());
            let half = if floor.is_stream() { "stream" } else { "arithmetic" };
            let label = format!("floor {}", floor.isa);
            writeln!(
                f,
                "  {label:width$} {:10.1} {:10.1}  {half}",
                best(samples()),
                median(samples())
            )?;
        }
        for (i, (row, label)) in rows.iter().zip(&labels).enumerate() {
            let samples = || runs.iter().map(|run| &run.samples[i]);
            write!(f, "  {label:width$} {:10.1} {:10.1}  ", best(samples()), median(samples()))?;
            match self.over_own_floor(i) {
                Some(ratio) => write!(
                    f,
                    "{:8.3}{} {:8.3}  ",
                    ratio.best,
                    spread(Some(ratio.worst)),
                    ratio.median()
                )?,
                None => write!(f, "{:1$}  ", "", 17 + spread(None).len())?,
            }
            let ratio = self.over_widest_floor(i);
            write!(
                f,
                "{:11.3}{}  {:8.3}  ",
                ratio.best,
                spread(Some(ratio.worst)),
                self.over_cellc(i).best
            )?;
            writeln!(
                f,
                "{:6.2}  {:08x}  {}",
                row.agreement.error(),
                row.agreement.bits,
                row.note()
            )?;
        }
        for (name, why) in absent {
            writeln!(f, "  {name:width$} {why}")?;
        }
        Ok(())
    }
}
