//! What one core of the machine can do at most, by the loops of the floors: read from each level of
//! its memory, and multiply and add.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellc::internals::timing::floor::{Floor, LeastWork};
use cellc::internals::timing::turns::{Samples, Turn, measure};
use serde_json::{Value, json};

/// Bytes of working sets beyond the second level of most caches.
const LARGE: [usize; 3] = [1_500_000, 6_000_000, 25_000_000];

/// Sizes of the first two levels where the system does not say.
const USUAL: [usize; 2] = [32 << 10, 1 << 20];

/// Multiply-adds of a call: long beside what begins and ends it.
const MULTIPLY_ADDS: usize = 1 << 20;

/// Samples of each.
const ROUNDS: usize = 200;

/// The ceilings of one core, with the vectors of one instruction set.
pub(crate) struct Ceilings {
    isa: &'static str,
    /// Bytes of a working set, and nanoseconds in which all of it is read.
    reads: Vec<(usize, Samples)>,
    /// Nanoseconds for [`MULTIPLY_ADDS`].
    arithmetic: Samples,
}

impl Ceilings {
    /// Half of each of the first two levels, then sizes beyond them.
    ///
    /// # Errors
    /// None that this machine is known to have.
    pub(crate) fn measure(floor: &Floor) -> Result<Self, String> {
        let halves = [cache(1), cache(2)]
            .into_iter()
            .zip(USUAL)
            .map(|(size, usual)| size.unwrap_or(usual) / 2);
        let sizes: Vec<usize> = halves.chain(LARGE).collect();
        let work: Vec<LeastWork> =
            sizes.iter().map(|bytes| LeastWork::new(bytes / 4, MULTIPLY_ADDS)).collect();
        let mut turns: Vec<Turn<'_>> = Vec::new();
        for (i, work) in work.iter().enumerate() {
            let [stream, arithmetic] = floor.turns(work);
            turns.push(stream);
            if i + 1 == sizes.len() {
                turns.push(arithmetic);
            }
        }
        let mut samples = measure(&mut turns, ROUNDS, Duration::from_secs(2))?;
        let arithmetic = samples.pop().expect("samples of everyone");
        Ok(Self { isa: floor.isa, reads: sizes.into_iter().zip(samples).collect(), arithmetic })
    }

    /// Everything that was measured.
    pub(crate) fn json(&self) -> Value {
        let reads = self.reads.iter().map(|(bytes, samples)| {
            let rate = |ns: f64| *bytes as f64 / ns;
            json!({ "bytes": bytes, "bytes_per_ns": rate(samples.best()), "median": rate(samples.quantile(0.5)) })
        });
        json!({
            "isa": self.isa,
            "reads": reads.collect::<Vec<_>>(),
            "gflops": gflops(self.arithmetic.best()),
            "gflops_median": gflops(self.arithmetic.quantile(0.5)),
        })
    }
}

/// A multiply-add is two operations.
fn gflops(ns: f64) -> f64 {
    2.0 * MULTIPLY_ADDS as f64 / ns
}

impl fmt::Display for Ceilings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { isa, reads, arithmetic } = self;
        writeln!(
            f,
            "ceilings of a core, {isa}, best (median): {}",
            Both(arithmetic, &gflops, "GFLOP/s")
        )?;
        for (bytes, samples) in reads {
            let rate = |ns: f64| *bytes as f64 / ns;
            writeln!(
                f,
                "  {:>9.0} kB read again and again: {}",
                *bytes as f64 / 1e3,
                Both(samples, &rate, "bytes/ns")
            )?;
        }
        Ok(())
    }
}

/// Samples as a rate, the best and the median.
struct Both<'a>(&'a Samples, &'a dyn Fn(f64) -> f64, &'static str);

impl fmt::Display for Both<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(samples, rate, unit) = self;
        write!(f, "{:.1} ({:.1}) {unit}", rate(samples.best()), rate(samples.quantile(0.5)))
    }
}

/// Bytes of a level of the data cache, where the system says.
fn cache(level: u32) -> Option<usize> {
    let folders = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let folders: Vec<PathBuf> = folders.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let read = |folder: &Path, name| {
        fs::read_to_string(folder.join(name)).unwrap_or_default().trim().to_owned()
    };
    let is_data = |folder: &&PathBuf| {
        read(folder, "level") == level.to_string()
            && ["Data", "Unified"].contains(&&*read(folder, "type"))
    };
    bytes(&read(folders.iter().find(is_data)?, "size"))
}

/// As the system writes it: 32K.
fn bytes(size: &str) -> Option<usize> {
    match size.strip_suffix('K') {
        Some(kibibytes) => Some(kibibytes.parse::<usize>().ok()? << 10),
        None => Some(size.strip_suffix('M')?.parse::<usize>().ok()? << 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellc::internals::timing::floor::floors;

    #[test]
    fn sizes_are_read_as_the_system_writes_them() {
        assert_eq!(
            [bytes("32K"), bytes("1M"), bytes("big"), bytes("")],
            [Some(32_768), Some(1 << 20), None, None]
        );
    }

    #[test]
    fn every_level_has_a_rate() {
        let floors = floors();
        let ceilings = Ceilings::measure(&floors[0]).expect("no turn fails");
        let json = ceilings.json();
        let reads = json["reads"].as_array().expect("a list");
        assert_eq!(reads.len(), 5);
        assert!(
            reads.iter().all(|read| read["bytes_per_ns"].as_f64() >= read["median"].as_f64()),
            "{json}"
        );
        assert!(json["gflops"].as_f64() > Some(0.0), "{json}");
        assert!(ceilings.to_string().contains("25000 kB read again and again: "), "{ceilings}");
    }
}
