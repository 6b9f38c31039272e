//! What was measured, as a table and as JSON.

use std::fmt;

use serde_json::{Value, json};

use crate::check::Checked;
use crate::measure::Samples;
use crate::workload::Workload;

/// One half of a floor and the other, in samples.
pub(crate) struct FloorTimes {
    pub(crate) isa: &'static str,
    pub(crate) stream: Samples,
    pub(crate) arithmetic: Samples,
}

impl FloorTimes {
    /// The larger half.
    pub(crate) fn samples(&self) -> &Samples {
        if self.stream.quantile(0.5) >= self.arithmetic.quantile(0.5) { &self.stream } else { &self.arithmetic }
    }
}

/// A contender's times.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) isa: Option<String>,
    pub(crate) samples: Samples,
    pub(crate) checked: Checked,
}

/// A workload's times.
pub(crate) struct Report {
    pub(crate) workload: Workload,
    /// The widest vectors last.
    pub(crate) floors: Vec<FloorTimes>,
    pub(crate) rows: Vec<Row>,
}

/// Time over a floor.
#[derive(Clone, Copy)]
struct Ratio {
    /// The shortest time over the floor's shortest.
    best: f64,
    /// Round by round: quartiles.
    quartiles: [f64; 3],
}

impl Ratio {
    fn new(samples: &Samples, floor: &FloorTimes) -> Self {
        let over = samples.over(floor.samples());
        Self {
            best: samples.best() / floor.samples().best(),
            quartiles: [0.25, 0.5, 0.75].map(|part| over.quantile(part)),
        }
    }

    fn json(self) -> Value {
        let Self { best, quartiles: [low, median, high] } = self;
        json!({ "best": best, "median": median, "quartiles": [low, high] })
    }
}

impl Report {
    fn floor_of(&self, row: &Row) -> Option<&FloorTimes> {
        self.floors.iter().find(|f| Some(f.isa) == row.isa.as_deref())
    }

    /// The floor of the widest vectors that the machine has.
    fn widest(&self) -> Option<&FloorTimes> {
        self.floors.last()
    }

    pub(crate) fn json(&self) -> Value {
        let times = |s: &Samples| json!({ "best": s.best(), "median": s.quantile(0.5) });
        let floors = self.floors.iter().map(|f| {
            json!({ "isa": f.isa, "stream_ns": times(&f.stream), "arithmetic_ns": times(&f.arithmetic), "ns": times(f.samples()) })
        });
        let rows = self.rows.iter().map(|row| {
            json!({
                "name": row.name,
                "isa": row.isa,
                "ns": times(&row.samples),
                "over_own_floor": self.floor_of(row).map(|f| Ratio::new(&row.samples, f).json()),
                "over_widest_floor": self.widest().map(|f| Ratio::new(&row.samples, f).json()),
                "error_ulp_of_1": row.checked.error,
                "output_bits": format!("{:08x}", row.checked.bits),
            })
        });
        json!({
            "workload": self.workload.name,
            "description": self.workload.describe(),
            "weight_bytes": self.workload.weight_count() * 4,
            "multiply_adds": self.workload.multiply_adds(),
            "floors": floors.collect::<Vec<_>>(),
            "contenders": rows.collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Workload { name, .. } = self.workload;
        let bytes = self.workload.weight_count() * 4;
        writeln!(f, "{name}: {}; {bytes} bytes of weights", self.workload.describe())?;
        let widest = self.widest().map_or("", |floor| floor.isa);
        let over = format!("over {widest}");
        writeln!(
            f,
            "  {:20} {:>9} {:>9}  {:>8} {:>8}  {:>11}  {:>6}  bits",
            "", "ns best", "median", "floor x", "median", over, "error"
        )?;
        for floor in &self.floors {
            let half = if std::ptr::eq(floor.samples(), &raw const floor.stream) { "stream" } else { "arithmetic" };
            let (label, s) = (format!("floor {}", floor.isa), floor.samples());
            writeln!(f, "  {label:20} {:9.1} {:9.1}  {half}", s.best(), s.quantile(0.5))?;
        }
        for row in &self.rows {
            let label = format!("{} {}", row.name, row.isa.as_deref().unwrap_or(""));
            write!(f, "  {label:20} {:9.1} {:9.1}  ", row.samples.best(), row.samples.quantile(0.5))?;
            match self.floor_of(row).map(|floor| Ratio::new(&row.samples, floor)) {
                Some(ratio) => write!(f, "{:8.3} {:8.3}  ", ratio.best, ratio.quartiles[1])?,
                None => write!(f, "{:8} {:8}  ", "", "")?,
            }
            match self.widest().map(|floor| Ratio::new(&row.samples, floor)) {
                Some(ratio) => write!(f, "{:11.3}  ", ratio.best)?,
                None => write!(f, "{:11}  ", "")?,
            }
            writeln!(f, "{:6.2}  {:08x}", row.checked.error, row.checked.bits)?;
        }
        Ok(())
    }
}
