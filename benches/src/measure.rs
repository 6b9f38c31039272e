//! Time: all that belong to one workload take turns, in one thread on one core.

use std::time::{Duration, Instant};

/// One who takes turns: runs as many steps as it is told.
pub(crate) type Turn<'a> = Box<dyn FnMut(usize) + 'a>;

/// How long a sample should take: long beside a reading of the clock, short beside the time slice of a scheduler.
const SAMPLE: Duration = Duration::from_micros(50);

/// Nanoseconds a step, a sample for each round.
#[derive(Clone, Debug)]
pub(crate) struct Samples(Vec<f64>);

/// Takes `rounds` samples of everyone, each round in another order of the same ring, so that a slower or faster spell of the machine falls
/// on all.
pub(crate) fn measure(turns: &mut [Turn<'_>], rounds: usize) -> Vec<Samples> {
    let steps: Vec<usize> = turns.iter_mut().map(|turn| calibrate(turn)).collect();
    let mut samples = vec![Samples(Vec::with_capacity(rounds)); turns.len()];
    for round in 0..rounds {
        for i in 0..turns.len() {
            let i = (i + round) % turns.len();
            // caches and branch predictors know the one before
            turns[i](steps[i].div_ceil(8));
            let start = Instant::now();
            turns[i](steps[i]);
            samples[i].0.push(start.elapsed().as_secs_f64() * 1e9 / steps[i] as f64);
        }
    }
    samples
}

/// How many steps a sample takes.
fn calibrate(turn: &mut Turn<'_>) -> usize {
    let mut steps = 1;
    loop {
        let start = Instant::now();
        turn(steps);
        if start.elapsed() >= SAMPLE {
            return steps;
        }
        steps *= 2;
    }
}

impl Samples {
    /// The shortest.
    pub(crate) fn best(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Those below which a part of the samples are: 0.5 gives the median.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// Round by round, over another's.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }
}
