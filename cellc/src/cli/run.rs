//! `cellc run`: the generated code on inputs from files.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cellc::compile;
use cellc::files::{self, NewFile};
use cellc::front::openvino;
use cellc::options::Options;

use super::arguments::RunArguments;
use super::calls::{self, Calls, Expected};
use super::harness::Harness;
use super::progress::Progress;
use super::stdout::cannot_write;
use super::{Failure, npy, report};

/// Runs every call and writes the results once all are there.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let progress = Progress::start("reading the model");
    let weights = arguments.model.weights.as_deref();
    let (mut model, warnings) = openvino::read(arguments.model.path(), weights)?;
    progress.suspend(|| report(&warnings));
    let options = Options { name: Some("model".to_owned()), ..arguments.options() };

    progress.stage("reading the inputs");
    let expected = calls::expected(&model, &options)?;
    let Calls(calls) = Calls::find(&arguments.inputs, &expected)?;
    // The calls of each distinct set of input shapes: one compilation serves them all.
    let mut by_shapes: Vec<(Vec<Vec<usize>>, Vec<usize>)> = Vec::new();
    for (k, paths) in calls.iter().enumerate() {
        let shape = |(path, expected): (_, &Expected)| Ok(calls::read(path, expected)?.shape().to_vec());
        let shapes = paths.iter().map(PathBuf::as_path).zip(&expected).map(shape).collect::<Result<_, Failure>>()?;
        match by_shapes.iter_mut().find(|(known, _)| *known == shapes) {
            Some((_, calls)) => calls.push(k),
            None => by_shapes.push((shapes, vec![k])),
        }
    }
    let mut results = Vec::new();
    let mut warned = false;
    for (shapes, numbers) in by_shapes {
        progress.stage("compiling");
        calls::fix_shapes(&mut model, &shapes);
        let compilation = compile::compile(&model, &options)?;
        if !warned {
            progress.suspend(|| report(&compilation.warnings));
            warned = true;
        }
        let mut harness = Harness::start(&compilation, options.language, arguments.execute.isa.as_deref())?;
        progress.count("running", numbers.len());
        for k in numbers {
            let parameters =
                calls[k].iter().zip(&expected).map(|(path, expected)| Ok(calls::values(&calls::read(path, expected)?)));
            let parameters = parameters.collect::<Result<Vec<_>, Failure>>()?;
            for (field, values) in compilation.interface.outputs.iter().zip(harness.call(&parameters, true)?) {
                let path = arguments.outputs.join(format!("r{k}_out{}.npy", field.index));
                results.push(NewFile { path, bytes: Arc::new(npy::write_f32(&field.shape, &values)) });
            }
            progress.advance();
        }
    }
    fs::create_dir_all(&arguments.outputs).map_err(|error| cannot_write(&arguments.outputs, error))?;
    files::write_all(&results)?;
    Ok(())
}
