//! Timing: contenders take turns on one core.

use std::time::{Duration, Instant};

/// A contender: makes the requested number of calls and returns their duration.
pub type Turn<'a> = Box<dyn FnMut(usize) -> Result<Duration, String> + 'a>;

/// The target duration of a sample: long relative to a clock reading, short relative to the time
/// slice of a scheduler.
const SAMPLE: Duration = Duration::from_micros(50);

/// The minimum number of rounds, regardless of time: fewer rounds give no useful median.
const LEAST_ROUNDS: usize = 11;

/// Nanoseconds per call, one sample per round.
#[derive(Clone, Debug)]
pub struct Samples(Vec<f64>);

/// The duration of `work`.
pub fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Takes samples of all contenders, one of each per round. The starting contender rotates from
/// round to round, so slow periods of the machine affect all contenders. Ends after `rounds`
/// rounds, or after `time` and `LEAST_ROUNDS` rounds.
///
/// # Errors
/// The first error of a turn.
pub fn measure(
    turns: &mut [Turn<'_>],
    rounds: usize,
    time: Duration,
) -> Result<Vec<Samples>, String> {
    let calls = turns.iter_mut().map(calibrate).collect::<Result<Vec<usize>, _>>()?;
    let mut samples = vec![Samples(Vec::new()); turns.len()];
    let start = Instant::now();
    for round in 0..rounds {
        if round >= LEAST_ROUNDS && start.elapsed() > time {
            break;
        }
        for i in 0..turns.len() {
            let i = (i + round) % turns.len();
            // warm-up: caches and branch predictors still hold data of the previous contender
            turns[i](calls[i].div_ceil(8))?;
            samples[i].0.push(turns[i](calls[i])?.as_secs_f64() * 1e9 / calls[i] as f64);
        }
    }
    Ok(samples)
}

/// The number of calls per sample: the smallest power of two that takes at least `SAMPLE`.
fn calibrate(turn: &mut Turn<'_>) -> Result<usize, String> {
    let mut calls = 1;
    while turn(calls)? < SAMPLE {
        calls *= 2;
    }
    Ok(calls)
}

impl Samples {
    /// The number of rounds.
    pub fn rounds(&self) -> usize {
        self.0.len()
    }

    /// The shortest sample.
    pub fn best(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// A quantile: the fraction `part` of the samples is smaller. 0.5 gives the median. NaN without
    /// samples.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// The ratios to another contender, round by round.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }

    /// The samples per step, for `steps` steps per call.
    #[must_use]
    pub fn a_step(&self, steps: usize) -> Self {
        Self(self.0.iter().map(|ns| ns / steps as f64).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn everyone_takes_turns_and_every_round_starts_elsewhere() {
        let order = RefCell::new(Vec::new());
        let turn = |name: char| -> Turn<'_> {
            let order = &order;
            Box::new(move |calls| {
                order.borrow_mut().push(name);
                Ok(Duration::from_micros(25 * calls as u64))
            })
        };
        let samples = measure(&mut [turn('a'), turn('b')], 3, Duration::from_secs(100))
            .expect("no turn fails");
        // calibration: one call is too short, two are enough; then a warm-up and a sample of each
        assert_eq!(
            order.borrow().iter().collect::<String>(),
            "aabb".to_string() + "aabb" + "bbaa" + "aabb"
        );
        assert_eq!(samples.iter().map(Samples::rounds).collect::<Vec<_>>(), [3, 3]);
        assert!(
            (samples[0].best() - 25e3).abs() < 1e-6
                && (samples[1].a_step(5).quantile(0.5) - 5e3).abs() < 1e-6
        );
    }

    #[test]
    fn time_ends_it_but_not_before_there_is_a_median() {
        let turn = || -> Turn<'static> { Box::new(|_| Ok(SAMPLE)) };
        let samples = measure(&mut [turn()], 1000, Duration::ZERO).expect("no turn fails");
        assert_eq!(samples[0].rounds(), LEAST_ROUNDS);
        assert!(
            measure(&mut [turn(), Box::new(|_| Err("gone".to_string()))], 1000, Duration::ZERO)
                .is_err()
        );
    }
}
