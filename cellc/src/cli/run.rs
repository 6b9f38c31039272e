//! `cellc run`: the generated code on inputs from files.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cellc::compile;
use cellc::diagnostic::{Diagnostic, Origin};
use cellc::emit::names::Interface;
use cellc::files::{self, NewFile};
use cellc::model::Op;
use cellc::options::Options;

use super::arguments::RunArguments;
use super::calls::{self, Calls, Expected, Numbers};
use super::harness::{Harness, Variables};
use super::progress::Progress;
use super::stdout::cannot_write;
use super::{Failure, npy, report};

/// Runs every call and writes the results once all are there.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let progress = Progress::start("reading the model");
    let (mut model, warnings) = arguments.model.read()?;
    progress.suspend(|| report(&warnings));
    let options = Options { name: Some("model".to_owned()), ..arguments.options() };

    progress.stage("reading the inputs");
    let expected = calls::expected(&model, &options)?;
    let Calls(calls) = Calls::find(&arguments.inputs, &expected)?;
    // The calls of each distinct set of input shapes: one compilation serves them all.
    let mut shapes: Vec<Vec<Vec<usize>>> = Vec::new();
    let mut order = Vec::new();
    for (k, paths) in calls.iter().enumerate() {
        let shape = |(path, expected): (_, &Expected)| Ok(calls::read(path, expected)?.shape().to_vec());
        let call = paths.iter().map(PathBuf::as_path).zip(&expected).map(shape).collect::<Result<_, Failure>>()?;
        let known = shapes.iter().position(|shapes| *shapes == call).unwrap_or_else(|| {
            shapes.push(call);
            shapes.len() - 1
        });
        order.push((known, k));
    }
    // Calls that leave nothing to the next may come in any order: then one program runs at a time.
    let keeps = model.nodes.iter().any(|node| matches!(node.op, Op::ReadValue { .. } | Op::Assign { .. }));
    if !keeps {
        order.sort();
    }
    progress.count("running", calls.len());
    let mut programs: BTreeMap<usize, Running> = BTreeMap::new();
    let mut results = Vec::new();
    let mut warned = false;
    // The program of the call before, and what it left.
    let mut before: Option<(usize, Vec<Vec<f32>>)> = None;
    for (shape, k) in order {
        if !keeps {
            programs.retain(|&at, _| at == shape);
        }
        let Running { harness, interface } = match programs.entry(shape) {
            Entry::Occupied(running) => running.into_mut(),
            Entry::Vacant(place) => {
                progress.stage("compiling");
                calls::fix_shapes(&mut model, &shapes[shape]);
                let compilation = compile::compile(&model, &options)?;
                if !warned {
                    progress.suspend(|| report(&compilation.warnings));
                    warned = true;
                }
                let harness = Harness::start(&compilation, options.language, arguments.execute.isa.as_deref())?;
                progress.stage("running");
                place.insert(Running { harness, interface: compilation.interface })
            }
        };
        let read = |(path, expected): (&PathBuf, &Expected)| Ok(Numbers::of(&calls::read(path, expected)?));
        let parameters = calls[k].iter().zip(&expected).map(read).collect::<Result<Vec<_>, Failure>>()?;
        let variables = match &before {
            None => Variables::Initial,
            Some((program, _)) if *program == shape => Variables::Kept,
            Some((_, left)) => Variables::Given(fitting(left, interface, k)?),
        };
        let outcome = harness.call(&parameters, true, variables)?;
        for (field, values) in interface.outputs.iter().zip(&outcome.results) {
            let path = arguments.outputs.join(format!("r{k}_out{}.npy", field.index));
            results.push(NewFile { path, bytes: Arc::new(npy::write_f32(&field.shape, values)) });
        }
        before = Some((shape, outcome.variables));
        progress.advance();
    }
    fs::create_dir_all(&arguments.outputs).map_err(|error| cannot_write(&arguments.outputs, error))?;
    files::write_all(&results)?;
    Ok(())
}

/// Generated code for inputs of certain shapes.
struct Running {
    harness: Harness,
    interface: Interface,
}

/// The variables that another program left, if they are those of this one.
fn fitting<'a>(left: &'a [Vec<f32>], interface: &Interface, call: usize) -> Result<&'a [Vec<f32>], Diagnostic> {
    for (field, values) in interface.variables.iter().zip(left) {
        if values.len() != field.len() {
            let (name, found, shape) = (&field.name, values.len(), &field.shape);
            return Err(Diagnostic::error(
                Origin::Unknown,
                format!("call {call} needs {shape:?} of variable {name:?}, which holds {found} elements after the call before"),
            )
            .help("the variables' sizes follow the inputs': run calls of each shape by themselves"));
        }
    }
    Ok(left)
}
