//! Inputs of `cellc check`: random or recorded.

use crate::bound::states;
use crate::cli::Failure;
use crate::core::CoreModel;
use crate::harness::InputElements;
use crate::random::Random;
use crate::request::Range;

use super::recording::{Call, Recording};

/// Source of the inputs.
pub(super) enum Source {
    Drawn { seed: u64, range: Range },
    Recorded(Recording),
}

impl Source {
    /// The number of steps: `asked`, if given. Otherwise `drawn` for random inputs, and the length
    /// of a recording.
    ///
    /// # Errors
    /// If `asked` exceeds the length of the recording.
    pub(super) fn steps(&self, asked: Option<usize>, drawn: usize) -> Result<usize, Failure> {
        let Self::Recorded(recording) = self else { return Ok(asked.unwrap_or(drawn)) };
        let recorded = recording.steps();
        match asked {
            Some(asked) if asked > recorded => {
                Err(Failure::Usage(format!("--steps {asked}, but the inputs hold {recorded}")))
            }
            _ => Ok(asked.unwrap_or(recorded)),
        }
    }
}

/// Produces the inputs step by step.
pub(super) struct Inputs<'a> {
    source: &'a Source,
    random: Random,
    /// Index and contents of the recorded call read last.
    call: Option<(usize, Call)>,
}

/// The result of [`Inputs::next`] for a step.
pub(super) struct Next {
    /// Indices of parameters written for this step.
    pub(super) changed: Vec<usize>,
    /// True if states and variables start from their initial values.
    pub(super) fresh: bool,
    /// By result: the recorded values of this step.
    pub(super) recorded: Vec<Option<Vec<f64>>>,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        let seed = if let Source::Drawn { seed, .. } = source { *seed } else { 0 };
        Self { source, random: Random::new(seed), call: None }
    }

    /// Sets the parameters of a step. States continue from `reached`, the reference's states after
    /// the previous step, unless a sequence starts or a file gives the state.
    pub(super) fn next(
        &mut self,
        step: usize,
        model: &CoreModel,
        reached: &[Vec<f64>],
        parameters: &mut [InputElements],
    ) -> Result<Next, Failure> {
        match self.source {
            Source::Drawn { range, .. } => {
                let changed = self.draw(step, model, *range, reached, parameters);
                Ok(Next { changed, fresh: step == 0, recorded: vec![None; model.results.len()] })
            }
            Source::Recorded(recording) => {
                let (at, frame) = recording.call_and_step(step);
                if self.call.as_ref().is_none_or(|(call, _)| *call != at) {
                    self.call = Some((at, recording.call(at)?));
                }
                let (_, call) = self.call.as_ref().expect("it was read");
                let fresh = step == 0 || frame == 0 && model.steps.is_some();
                let mut changed = Vec::new();
                for (i, (parameter, values)) in model.parameters.iter().zip(parameters).enumerate()
                {
                    let state = model.states.iter().position(|pair| pair.parameter == i);
                    *values = match (state, &call.inputs[i]) {
                        // within a call the state continues from step to step
                        (Some(state), Some(_)) if frame > 0 => of_reached(&reached[state]),
                        (Some(state), None) if !fresh => of_reached(&reached[state]),
                        (_, None) => {
                            InputElements::Floats(vec![0.0; parameter.shape.iter().product()])
                        }
                        (_, Some(_)) => call.input(i, &parameter.shape, frame),
                    };
                    changed.push(i);
                }
                Ok(Next { changed, fresh, recorded: recording.outputs(call, model, frame, at)? })
            }
        }
    }

    fn draw(
        &mut self,
        step: usize,
        model: &CoreModel,
        range: Range,
        reached: &[Vec<f64>],
        parameters: &mut [InputElements],
    ) -> Vec<usize> {
        let mut changed = Vec::new();
        let held = states(model);
        let random = &mut self.random;
        for (i, (parameter, values)) in model.parameters.iter().zip(parameters).enumerate() {
            let state = model.states.iter().position(|pair| pair.parameter == i);
            let len = parameter.shape.iter().product();
            *values =
                match (state, parameter.largest_drawn()) {
                    _ if parameter.weight && step > 0 => continue,
                    // as PyTorch initialises weights: sums stay of order 1 for every size
                    _ if parameter.weight => InputElements::Floats(random.even(
                        len,
                        parameter.shape.last().map_or(1.0, |&n| (n as f32).sqrt().recip()),
                    )),
                    (None, Some(most)) => InputElements::Integers(random.lengths(len, most)),
                    (None, None) if held.contains(&i) => {
                        InputElements::Floats(random.varied(len, range.h))
                    }
                    (None, None) => InputElements::Floats(random.varied(len, range.x)),
                    (Some(_), _) if step == 0 => InputElements::Floats(random.varied(len, range.h)),
                    (Some(s), _) => of_reached(&reached[s]),
                };
            changed.push(i);
        }
        changed
    }
}

/// A state of the reference, rounded to f32.
fn of_reached(state: &[f64]) -> InputElements {
    InputElements::Floats(state.iter().map(|&v| v as f32).collect())
}
