//! Recorded inputs and outputs. If the number of steps is open, each call is checked step by step.

use std::path::{Path, PathBuf};

use crate::cli::Failure;
use crate::cli::arguments::CheckArguments;
use crate::cli::calls::{self, Calls, Expected, frames, one_step, places, steps_of_call};
use crate::compile::Compilation;
use crate::core::{CoreModel, ResultValue};
use crate::diagnostic::{Diagnostic, Origin};
use crate::harness::InputElements;
use crate::model::{Model, Tensor};
use crate::request::Options;

/// The files of all calls.
pub(super) struct Recording {
    parameters: Vec<Expected>,
    /// By call and parameter. `None`: a state that starts at zero and continues from step to step.
    inputs: Vec<Vec<Option<PathBuf>>>,
    /// By call and result.
    outputs: Vec<Vec<Option<PathBuf>>>,
    /// The number of steps of each call.
    frames: Vec<usize>,
    /// The report's name for the source of the inputs.
    pub(super) from: String,
}

/// The contents of the files of one call.
pub(super) struct Call {
    pub(super) inputs: Vec<Option<(InputElements, Vec<usize>)>>,
    outputs: Vec<Option<Tensor>>,
}

impl Recording {
    /// Finds the input files and fixes open sizes of the model, except the number of steps. `None`
    /// if no files are given.
    pub(super) fn open(
        arguments: &CheckArguments,
        model: &mut Model,
        options: &mut Options,
    ) -> Result<Option<Self>, Failure> {
        if arguments.inputs.is_none() && arguments.input.is_empty() {
            return Ok(None);
        }
        let mut parameters = calls::expected(model, options)?;
        let (inputs, from) = match &arguments.inputs {
            Some(path) => (Calls::at(path, &parameters)?.files, path.display().to_string()),
            None => (Calls::given(&arguments.input, &parameters)?.files, "files".to_owned()),
        };
        let has_steps = parameters.iter().any(Expected::has_steps);
        if !has_steps {
            // the first call fixes the sizes: later calls with other shapes are refused when they
            // are read
            let shape = |(path, expected): (&Option<PathBuf>, _)| match path {
                Some(path) => Ok(Some(calls::read(path, expected)?.shape().to_vec())),
                None => Ok(None),
            };
            let shapes = inputs[0]
                .iter()
                .zip(&parameters)
                .map(shape)
                .collect::<Result<Vec<_>, Failure>>()?;
            if let Some(shapes) = shapes.into_iter().collect::<Option<Vec<_>>>() {
                *options = calls::fix_shapes(model, options, &shapes);
                parameters = calls::expected(model, options)?;
            }
        }
        let (frames, outputs) = (vec![1; inputs.len()], vec![Vec::new(); inputs.len()]);
        Ok(Some(Self { parameters, inputs, outputs, frames, from }))
    }

    /// Finds recorded outputs and counts the steps of each call.
    pub(super) fn compiled(
        &mut self,
        arguments: &CheckArguments,
        compilation: &Compilation,
    ) -> Result<(), Failure> {
        let Compilation { model, interface, .. } = compilation;
        let fields: Vec<&str> = interface.outputs.iter().map(|field| &field.name[..]).collect();
        let names: Vec<_> = model
            .results
            .iter()
            .zip(&fields)
            .map(|(result, field)| (&result.names[..], *field))
            .collect();
        self.outputs = vec![vec![None; fields.len()]; self.inputs.len()];
        if let Some(folder) = arguments.inputs.as_deref().filter(|path| path.is_dir()) {
            for (call, output, path) in calls::recorded_outputs(folder, &self.parameters, &names)? {
                if let Some(recorded) =
                    self.outputs.get_mut(call).and_then(|outputs| outputs.get_mut(output))
                {
                    *recorded = Some(path);
                }
            }
        }
        if !arguments.output.is_empty() && self.inputs.len() > 1 {
            let calls = self.inputs.len();
            return Err(Failure::Usage(format!(
                "--output is the recording of one call, and --inputs holds {calls}: name the \
                 recorded outputs r<k>_out<j>.npy and put them beside the inputs"
            )));
        }
        for (name, path) in &arguments.output {
            let output = calls::named(&names, name, "out")
                .map_err(|wrong| wrong.help("correct --output"))?;
            self.outputs[0][output] = Some(path.clone());
        }
        let frames = |files: &Vec<_>| steps_of_call(files, &self.parameters, model);
        self.frames = self.inputs.iter().map(frames).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The number of calls.
    pub(super) fn calls(&self) -> usize {
        self.inputs.len()
    }

    /// True if outputs were recorded.
    pub(super) fn has_outputs(&self) -> bool {
        self.outputs.iter().flatten().any(Option::is_some)
    }

    /// True for several calls of one step each.
    pub(super) fn is_in_single_steps(&self) -> bool {
        self.frames.len() > 1 && self.frames.iter().all(|frames| *frames == 1)
    }

    /// The number of steps of all calls.
    pub(super) fn steps(&self) -> usize {
        self.frames.iter().sum()
    }

    /// The call of a step, and the index of the step in the call.
    pub(super) fn call_and_step(&self, mut step: usize) -> (usize, usize) {
        for (call, frames) in self.frames.iter().enumerate() {
            match step.checked_sub(*frames) {
                None => return (call, step),
                Some(rest) => step = rest,
            }
        }
        unreachable!("check: the recording has as many steps as are taken")
    }

    /// True if the number of steps is not open and the first call has a file for a state.
    pub(super) fn gives_states(&self, model: &CoreModel) -> bool {
        let mut states = model.states.iter().map(|pair| self.inputs[0][pair.parameter].is_some());
        model.steps.is_none() && states.any(|given| given)
    }

    /// Reads the files of a call.
    pub(super) fn call(&self, call: usize) -> Result<Call, Failure> {
        let input = |(path, expected): (&Option<PathBuf>, &Expected)| {
            let Some(path) = path else { return Ok(None) };
            let tensor = calls::read(path, expected)?;
            Ok(Some((InputElements::from_tensor(&tensor), tensor.shape().to_vec())))
        };
        let output = |path: &Option<PathBuf>| path.as_deref().map(calls::read_npy).transpose();
        Ok(Call {
            inputs: self.inputs[call]
                .iter()
                .zip(&self.parameters)
                .map(input)
                .collect::<Result<_, Failure>>()?,
            outputs: self.outputs[call].iter().map(output).collect::<Result<_, _>>()?,
        })
    }

    /// By result, the recorded values of step `frame` of `call`, the call with index `at`. `None`:
    /// no file, or no values for this step.
    pub(super) fn outputs(
        &self,
        call: &Call,
        model: &CoreModel,
        frame: usize,
        at: usize,
    ) -> Result<Vec<Option<Vec<f64>>>, Failure> {
        let results = call.outputs.iter().zip(&model.results).enumerate();
        let of_step = |(i, (tensor, result)): (usize, (&Option<Tensor>, &ResultValue))| {
            let Some(tensor) = tensor else { return Ok(None) };
            let frame_shape = &result.shape[..];
            let wanted = match &model.steps {
                Some(steps) if steps.results[i] => self.frames[at],
                // an output without a time axis belongs to the last step
                Some(_) if frame + 1 < self.frames[at] => return Ok(None),
                _ => 1,
            };
            let at_frame = if wanted == 1 { 0 } else { frame };
            let shape = tensor.shape();
            // the recording may hold only the valid parts of the first axis
            let is_part = |most: &usize| {
                shape.first().is_some_and(|parts| parts <= most) && shape[1..] == frame_shape[1..]
            };
            if result.parts.is_some()
                && shape.len() == frame_shape.len()
                && frame_shape.first().is_some_and(is_part)
            {
                return Ok(Some((0..tensor.len()).map(|index| tensor.get_f64(index)).collect()));
            }
            let places = places(shape, frame_shape, at_frame)
                .filter(|_| frames(shape, frame_shape) == Some(wanted));
            let path = self.outputs[at][i].as_deref().unwrap_or(Path::new(""));
            let places = places.ok_or_else(|| {
                let steps = if wanted == 1 {
                    String::new()
                } else {
                    format!(" for each of {wanted} steps")
                };
                wrong(path, format!("its shape is {shape:?}; {frame_shape:?}{steps} is needed"))
            })?;
            Ok(Some(places.into_iter().map(|index| tensor.get_f64(index)).collect()))
        };
        results.map(of_step).collect()
    }
}

impl Call {
    /// An input of one step, whose shape is `one`.
    pub(super) fn input(&self, i: usize, one: &[usize], frame: usize) -> InputElements {
        let (numbers, shape) = self.inputs[i].as_ref().expect("an input that a file gives");
        one_step(numbers, shape, one, frame)
    }
}

fn wrong(path: &Path, what: String) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lie_along_one_axis() {
        for (shape, one, steps, second) in [
            (&[1, 5, 2][..], &[1, 1, 2][..], Some(5), Some(vec![2, 3])),
            (&[2, 3, 1], &[2, 1, 1], Some(3), Some(vec![1, 4])),
            (&[1, 1, 2], &[1, 1, 2], Some(1), Some(vec![0, 1])),
            // recordings of other programs leave out axes of size 1
            (&[5, 2], &[1, 1, 2], Some(5), Some(vec![2, 3])),
            (&[2], &[1, 1, 2], Some(1), Some(vec![0, 1])),
            (&[1, 5, 2], &[1, 2], Some(5), Some(vec![2, 3])),
            (&[1, 5, 3], &[1, 1, 2], None, None),
            (&[2, 5, 2], &[1, 1, 2], None, None),
            (&[5, 3], &[1, 1, 2], None, None),
        ] {
            assert_eq!(
                (frames(shape, one), places(shape, one, 1)),
                (steps, second),
                "{shape:?} {one:?}"
            );
        }
    }
}
