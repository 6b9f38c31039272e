//! What was measured, as a table and as JSON.

use std::fmt;

use cellc::timing::floor::FloorTimes;
use cellc::timing::turns::Samples;
use serde_json::{Value, json};

use crate::check::Checked;
use crate::contender::Contender;
use crate::workload::{Variant, Workload};

/// One who was measured.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) isa: Option<String>,
    pub(crate) version: String,
    pub(crate) variant: Variant,
    pub(crate) checked: Checked,
}

impl Row {
    pub(crate) fn new(contender: &dyn Contender, checked: Checked) -> Self {
        Self {
            name: contender.name().to_owned(),
            isa: contender.isa().map(str::to_owned),
            version: contender.version().to_owned(),
            variant: contender.variant(),
            checked,
        }
    }

    /// What there is to say about it.
    fn note(&self) -> String {
        let parts = [&self.version[..], self.variant.describe()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// One measurement of everyone, by the step.
pub(crate) struct Run {
    /// The widest vectors last.
    pub(crate) floors: Vec<FloorTimes>,
    /// Of every row.
    pub(crate) samples: Vec<Samples>,
}

/// A workload's times.
pub(crate) struct Report {
    pub(crate) workload: Workload,
    pub(crate) rows: Vec<Row>,
    /// At least one.
    pub(crate) runs: Vec<Run>,
    /// Who could not take part, and why.
    pub(crate) absent: Vec<(String, String)>,
}

/// Time over a floor, or over another's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    /// Of the best run: the shortest time over the other's shortest.
    pub(crate) best: f64,
    /// The same of the worst run.
    pub(crate) worst: f64,
    /// The least of the runs' medians, and its quartiles: of the ratios round by round.
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

    fn median(&self) -> f64 {
        self.quartiles[1]
    }

    fn json(self) -> Value {
        let Self { best, worst, quartiles: [low, median, high] } = self;
        json!({ "best": best, "worst_run": worst, "median": median, "quartiles": [low, high] })
    }
}

impl Report {
    /// The floor of the row's own instruction set, by its place.
    fn own_floor(&self, row: usize) -> Option<usize> {
        self.runs[0].floors.iter().position(|f| Some(f.isa) == self.rows[row].isa.as_deref())
    }

    /// A row over a floor.
    fn over_floor(&self, row: usize, floor: usize) -> Ratio {
        Ratio::new(self.runs.iter().map(|run| (&run.samples[row], run.floors[floor].samples())))
    }

    fn over_own_floor(&self, row: usize) -> Option<Ratio> {
        Some(self.over_floor(row, self.own_floor(row)?))
    }

    /// A row over the floor of the widest vectors that the machine has.
    pub(crate) fn over_widest_floor(&self, row: usize) -> Ratio {
        self.over_floor(row, self.runs[0].floors.len() - 1)
    }

    /// The row of the fastest that cellc made for the workload itself.
    pub(crate) fn fastest(&self) -> usize {
        let own = |&row: &usize| self.rows[row].name.starts_with("cellc") && self.rows[row].variant == Variant::Itself;
        let time = |row: usize| best(self.runs.iter().map(|run| &run.samples[row]));
        (0..self.rows.len())
            .filter(own)
            .min_by(|&a, &b| time(a).total_cmp(&time(b)))
            .expect("cellc has the generic body")
    }

    /// A row over the fastest that cellc made.
    fn over_cellc(&self, row: usize) -> Ratio {
        let fastest = self.fastest();
        Ratio::new(self.runs.iter().map(|run| (&run.samples[row], &run.samples[fastest])))
    }

    pub(crate) fn json(&self) -> Value {
        let times = |all: &dyn Fn(&Run) -> &Samples| {
            let runs = || self.runs.iter().map(all);
            json!({ "best": best(runs()), "median": median(runs()), "best_by_run": runs().map(Samples::best).collect::<Vec<_>>() })
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
                "other_function": (row.variant != Variant::Itself).then(|| row.variant.describe()),
                "ns": times(&|run| &run.samples[i]),
                "over_own_floor": self.over_own_floor(i).map(Ratio::json),
                "over_widest_floor": self.over_widest_floor(i).json(),
                "over_fastest_cellc": self.over_cellc(i).json(),
                "error_ulp_of_1": row.checked.error,
                "output_bits": format!("{:08x}", row.checked.bits),
            })
        });
        json!({
            "workload": self.workload.name,
            "description": self.workload.describe(),
            "weight_bytes": self.workload.weight_count() * 4,
            "multiply_adds": self.workload.multiply_adds() / self.workload.steps,
            "rounds": self.runs.iter().map(|run| run.floors[0].stream.rounds()).collect::<Vec<_>>(),
            "floors": floors.collect::<Vec<_>>(),
            "contenders": rows.collect::<Vec<_>>(),
            "absent": self.absent.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect::<Vec<_>>(),
        })
    }
}

/// The shortest of all runs.
fn best<'a>(runs: impl Iterator<Item = &'a Samples>) -> f64 {
    runs.map(Samples::best).fold(f64::INFINITY, f64::min)
}

/// The least median of all runs.
fn median<'a>(runs: impl Iterator<Item = &'a Samples>) -> f64 {
    runs.map(|samples| samples.quantile(0.5)).fold(f64::INFINITY, f64::min)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, rows, runs, absent } = self;
        let bytes = workload.weight_count() * 4;
        writeln!(f, "{}: {}; {bytes} bytes of weights", workload.name, workload.describe())?;
        let floors = &runs[0].floors;
        let over = format!("over {}", floors.last().map_or("", |floor| floor.isa));
        // of a single run there is nothing to spread
        let spread = |worst: Option<f64>| match (runs.len(), worst) {
            (1, _) => String::new(),
            (_, worst) => format!("{:>9}", worst.map_or("worst".to_owned(), |worst| format!("{worst:.3}"))),
        };
        let column = format!("{:>8}{} {:>8}  {over:>11}{}", "floor x", spread(None), "median", spread(None));
        let head = ["ns best", "median", "x cellc", "error"];
        writeln!(f, "  {:22} {:>10} {:>10}  {column}  {:>8}  {:>6}  bits", "", head[0], head[1], head[2], head[3])?;
        for (i, floor) in floors.iter().enumerate() {
            let samples = || runs.iter().map(|run| run.floors[i].samples());
            let half = if floor.is_stream() { "stream" } else { "arithmetic" };
            let label = format!("floor {}", floor.isa);
            writeln!(f, "  {label:22} {:10.1} {:10.1}  {half}", best(samples()), median(samples()))?;
        }
        for (i, row) in rows.iter().enumerate() {
            let label = [&row.name[..], row.isa.as_deref().unwrap_or("")].join(" ");
            let samples = || runs.iter().map(|run| &run.samples[i]);
            write!(f, "  {label:22} {:10.1} {:10.1}  ", best(samples()), median(samples()))?;
            match self.over_own_floor(i) {
                Some(ratio) => write!(f, "{:8.3}{} {:8.3}  ", ratio.best, spread(Some(ratio.worst)), ratio.median())?,
                None => write!(f, "{:1$}  ", "", 17 + spread(None).len())?,
            }
            let ratio = self.over_widest_floor(i);
            write!(f, "{:11.3}{}  {:8.3}  ", ratio.best, spread(Some(ratio.worst)), self.over_cellc(i).best)?;
            writeln!(f, "{:6.2}  {:08x}  {}", row.checked.error, row.checked.bits, row.note())?;
        }
        for (name, why) in absent {
            writeln!(f, "  {name:22} {why}")?;
        }
        Ok(())
    }
}
