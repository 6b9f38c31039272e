//! The inputs of successive calls in files of one folder: `r<k>_in<i>.npy` or `.bin`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::compile::core_model;
use crate::core::CoreModel;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, listed, quoted};
use crate::emit::names::Interface;
use crate::front::bounded::{self, Limit};
use crate::harness::InputElements;
use crate::model::{Dim, ElementType, Model, Op, SizesOf, Tensor, ValueId};
use crate::request::{Options, Threads};
use crate::rules::names::parameter_names;

use super::npy;

/// Limit for the file of an input.
const LIMIT: Limit = Limit { file_kind: "the file of an input", bytes: 2 << 30 };
/// Limit for the file of a recorded output.
const RECORDED_LIMIT: Limit = Limit { file_kind: "a recorded output", bytes: 2 << 30 };
/// Limit for the `case.json` next to the file of an input.
const CASE_LIMIT: Limit = Limit { file_kind: "case.json", bytes: 16 << 20 };

/// A size that the file of a call determines.
const ANY_COUNT: Dim = Dim::Dynamic { min: 1, max: None };

/// Valid contents of a Parameter, before a call fixes the sizes left open by the model.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// Name in messages.
    pub(crate) label: String,
    /// Names in the model.
    pub(crate) names: Vec<String>,
    /// Name in generated code.
    pub(crate) field: String,
    /// The shape. `None`: any shape.
    pub(crate) shape: Option<Vec<Dim>>,
    /// Its element type.
    pub(crate) element: ElementType,
    /// True if generated code keeps the Parameter as a state in its struct.
    pub(crate) is_state: bool,
    /// The steps in the file of a call.
    pub(crate) steps: FileSteps,
}

/// The steps in the file of an input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FileSteps {
    /// One value for all steps of a call.
    Shared,
    /// A value for each step, along an open axis of the shape.
    OpenAxis,
    /// Samples of this shape, as many as the file has.
    Samples(Vec<usize>),
}

impl Expected {
    /// True if the input has a value for each step.
    pub(crate) fn has_steps(&self) -> bool {
        self.steps != FileSteps::Shared
    }

    /// True if the file of a call may have this shape.
    fn allows(&self, shape: &[usize]) -> bool {
        let fits = |open: &Vec<Dim>| {
            open.len() == shape.len() && open.iter().zip(shape).all(|(d, &n)| size_fits(d, n))
        };
        match &self.steps {
            FileSteps::Samples(one) => frames(shape, one).is_some(),
            FileSteps::Shared | FileSteps::OpenAxis => self.shape.as_ref().is_none_or(fits),
        }
    }
}

/// Valid contents of a model's Parameters.
///
/// # Errors
/// All errors of a model without open sizes; the errors of a model with open sizes show when a call
/// fixes these sizes.
pub(crate) fn expected(model: &Model, options: &Options) -> Result<Vec<Expected>, Diagnostics> {
    let mut inputs: Vec<_> = model
        .parameters
        .iter()
        .map(|&parameter| {
            let node = &model.nodes[parameter];
            let value = &model.values[node.outputs[0].0];
            let (label, names) = (node.label(), parameter_names(model, parameter));
            let (shape, element) = (value.shape.clone(), value.element);
            Expected {
                label,
                names,
                field: String::new(),
                shape,
                element,
                is_state: false,
                steps: FileSteps::Shared,
            }
        })
        .collect();
    let known = |e: &Expected| e.shape.as_ref().is_some_and(|shape| !shape.iter().any(is_open));
    let valid = core_model(model, options);
    let (steps, streams) = valid
        .as_ref()
        .map_or((false, false), |(valid, _)| (valid.steps.is_some(), valid.streams.is_some()));
    let (name, pool) = (
        options.output.name.as_deref().unwrap_or_default(),
        options.machine.threads == Threads::Two,
    );
    let fields = Interface::input_fields(
        name,
        [pool, steps, streams],
        inputs.iter().map(|e| (&e.names[..], e.element)),
    );
    inputs.iter_mut().zip(fields).for_each(|(expected, field)| expected.field = field);
    match valid {
        Ok((valid, _)) => {
            for (i, (expected, parameter)) in inputs.iter_mut().zip(valid.parameters).enumerate() {
                expected.is_state = valid.states.iter().any(|pair| pair.parameter == i);
                let has_steps = valid.steps.as_ref().is_some_and(|steps| steps.parameters[i]);
                let shape = parameter.shape.iter().copied().map(Dim::Fixed);
                if !has_steps {
                    expected.shape = Some(shape.collect());
                    continue;
                }
                if model.sizes == SizesOf::Sample {
                    expected.shape = Some([ANY_COUNT].into_iter().chain(shape).collect());
                    expected.steps = FileSteps::Samples(parameter.shape);
                    continue;
                }
                expected.steps = FileSteps::OpenAxis;
                // a Parameter with a value for each step stays open unless a size is given: a call
                // determines its number of steps
                let given =
                    options.bindings.shapes.iter().find(|(name, _)| parameter.names.contains(name));
                let dims = expected.shape.iter_mut().flatten();
                for (dim, size) in dims.zip(given.map_or(&[][..], |(_, sizes)| sizes)) {
                    *dim = size.map_or(*dim, Dim::Fixed);
                }
            }
            Ok(inputs)
        }
        Err(diagnostics) if inputs.iter().all(known) => Err(diagnostics),
        Err(_) => Ok(inputs),
    }
}

/// Sets the Parameters' sizes to those of one call. Returns options without open sizes in
/// `--shape`.
pub(crate) fn fix_shapes(model: &mut Model, options: &Options, shapes: &[Vec<usize>]) -> Options {
    let mut options = options.clone();
    for (name, sizes) in &mut options.bindings.shapes {
        let names = |parameter: &&usize| parameter_names(model, **parameter).contains(name);
        let Some(input) = model.parameters.iter().position(|parameter| names(&parameter)) else {
            continue;
        };
        for (size, &known) in sizes.iter_mut().zip(&shapes[input]) {
            size.get_or_insert(known);
        }
    }
    // drop `--batch` if the files already have this size at an open first dimension
    let open_batches = |value: ValueId| {
        matches!(model.values[value.0].shape.as_deref(), Some([Dim::Dynamic { .. }, ..]))
    };
    let of_inputs: Vec<bool> =
        model.parameters.iter().map(|&node| open_batches(model.nodes[node].outputs[0])).collect();
    let agrees = |(open, shape): (&bool, &Vec<usize>)| {
        *open && shape.first().copied() == options.bindings.batch_size()
    };
    let variables = model.nodes.iter().any(|node| matches!(node.op, Op::ReadValue { .. }));
    if of_inputs.iter().zip(shapes).any(agrees) && !variables {
        options.bindings.batch = None;
    }
    model.open_axes.clear();
    model.sizes = SizesOf::Calls;
    for (&node, shape) in model.parameters.iter().zip(shapes) {
        let value = model.nodes[node].outputs[0];
        model.values[value.0].shape = Some(shape.iter().map(|&size| Dim::Fixed(size)).collect());
    }
    options
}

/// The files of all calls in order, with one entry per Parameter. `None`: no file for a state.
#[derive(Debug, PartialEq)]
pub(crate) struct Calls {
    pub(crate) files: Vec<Vec<Option<PathBuf>>>,
    /// True if a file was assigned to an input by name instead of by index.
    pub(crate) by_field: bool,
}

impl Calls {
    /// The files of a folder, or a single file for the only input other than states.
    pub(crate) fn at(path: &Path, parameters: &[Expected]) -> Result<Self, Diagnostic> {
        if !path.is_file() {
            return Self::find(path, parameters);
        }
        let inputs: Vec<&Expected> =
            parameters.iter().filter(|expected| !expected.is_state).collect();
        match inputs[..] {
            [input] => Self::given(&[(input.field.clone(), path.to_owned())], parameters),
            _ => {
                let names: Vec<_> = inputs.iter().map(|input| &input.field[..]).collect();
                let found = format!("is one file, and the model has {} inputs", inputs.len());
                let help = "give each with --input NAME=FILE, or the folder that holds \
                    r<k>_in<i>.npy or .bin";
                Err(problem(path, found).valid(names.join(", ")).help(help))
            }
        }
    }

    /// Finds the files of a model with these Parameters in a folder. Other files are ignored.
    pub(crate) fn find(folder: &Path, parameters: &[Expected]) -> Result<Self, Diagnostic> {
        let unreadable = |error: &dyn Display| {
            problem(folder, format!("cannot be read: {error}")).help(
                "name a file of one input, .npy or .bin, or the folder that holds \
                    r<k>_in<i>.npy or .bin",
            )
        };
        let mut files: BTreeMap<usize, BTreeMap<usize, PathBuf>> = BTreeMap::new();
        let mut by_field = false;
        for entry in fs::read_dir(folder).map_err(|e| unreadable(&e))? {
            let path = entry.map_err(|e| unreadable(&e))?.path();
            let Some((call, input, named)) = call_and_input(&path, parameters) else { continue };
            by_field |= named;
            let known = files.entry(call).or_default().entry(input).or_default();
            if *known != PathBuf::new() && known.file_stem() != path.file_stem() {
                let other = known.file_name().unwrap_or_default().display().to_string();
                let found = format!("is the same input of call {call} as {}", quoted(&other));
                return Err(problem(&path, found).help("remove one of the two"));
            }
            // A .npy takes precedence over a .bin, because it has a shape.
            if *known == PathBuf::new() || path.extension().is_some_and(|e| e == "npy") {
                *known = path;
            }
        }
        let Some(&last) = files.keys().next_back() else {
            return Err(problem(folder, "holds no inputs").help(
                "name them r<k>_in<i>.npy (or .bin): the i-th Parameter of the k-th call, both \
                 counted from 0; or r<k>_NAME.npy, NAME as in generated code",
            ));
        };
        let mut calls = Vec::new();
        for call in 0..=last {
            let mut found = files.remove(&call).unwrap_or_default();
            let mut inputs = Vec::new();
            for (i, Expected { label, field, is_state, .. }) in parameters.iter().enumerate() {
                let file = found.remove(&i);
                if file.is_none() && !is_state {
                    let file =
                        format!("r{call}_in{i}.npy or .bin for {label}, nor r{call}_{field}.npy");
                    return Err(
                        problem(folder, format!("holds no {file}")).help(needed(parameters, last))
                    );
                }
                inputs.push(file);
            }
            if let Some(path) = found.into_values().next() {
                return Err(problem(
                    &path,
                    format!("the model has no such input: it has {}", parameters.len()),
                ));
            }
            calls.push(inputs);
        }
        Ok(Self { files: calls, by_field })
    }

    /// One call with the files given by the names of Parameters.
    pub(crate) fn given(
        given: &[(String, PathBuf)],
        parameters: &[Expected],
    ) -> Result<Self, Diagnostic> {
        let names: Vec<_> = parameters.iter().map(|p| (&p.names[..], &p.field[..])).collect();
        let mut files = vec![None; parameters.len()];
        for (name, path) in given {
            let file = &mut files
                [named(&names, name, "in").map_err(|wrong| wrong.help("correct --input"))?];
            if file.replace(path.clone()).is_some() {
                let found = format!("two files are given for the input {}", quoted(name));
                return Err(Diagnostic::error(Origin::Unknown, found)
                    .help("give one --input for each input"));
            }
        }
        let missing = |(file, expected): (Option<PathBuf>, &Expected)| {
            let found = || format!("no file is given for {}", expected.label);
            let help = || format!("add --input {}=FILE", expected.field);
            match file.is_some() || expected.is_state {
                true => Ok(file),
                false => Err(Diagnostic::error(Origin::Unknown, found()).help(help())),
            }
        };
        let call = files.into_iter().zip(parameters).map(missing).collect::<Result<_, _>>()?;
        Ok(Self { files: vec![call], by_field: true })
    }
}

/// A list of the inputs that need files, for calls 0 to `last`.
fn needed(parameters: &[Expected], last: usize) -> String {
    let fields = |is_state: bool| -> Vec<String> {
        let inputs = parameters.iter().filter(|expected| expected.is_state == is_state);
        inputs.map(|expected| expected.field.clone()).collect()
    };
    let (inputs, states) = (fields(false), fields(true));
    let plural = |names: &[String]| if names.len() == 1 { "" } else { "s" };
    let calls =
        if last == 0 { "call 0 needs".to_owned() } else { format!("calls 0 to {last} each need") };
    let kept = match states.len() {
        0 => String::new(),
        _ => format!("; the state{} {} may have files", plural(&states), listed(&states)),
    };
    format!("{calls} the input{} {}{kept}", plural(&inputs), listed(&inputs))
}

/// Index of the input or output named `name`: by its names in the model, by its name in generated
/// code (second in each pair), or by `fallback` followed by its index.
pub(crate) fn named(
    all: &[(&[String], &str)],
    name: &str,
    fallback: &str,
) -> Result<usize, Diagnostic> {
    let kind = if fallback == "in" { "input" } else { "output" };
    let list = || all.iter().map(|(_, field)| *field).collect::<Vec<_>>().join(", ");
    let wrong = |found: String| Diagnostic::error(Origin::Unknown, found).valid(list());
    let found: Vec<usize> =
        (0..all.len()).filter(|&i| all[i].0.iter().any(|n| n == name)).collect();
    match found[..] {
        [one] => Ok(one),
        // names in generated code are unique, names in the model may not be
        _ => (0..all.len())
            .find(|&i| all[i].1 == name)
            .or_else(|| (0..all.len()).find(|i| format!("{fallback}{i}") == name))
            .ok_or_else(|| match found.is_empty() {
                true => wrong(format!("the model has no {kind} {}", quoted(name))),
                false => wrong(format!("the model has several {kind}s {}", quoted(name))),
            }),
    }
}

/// Files of recorded outputs, `r<k>_out<j>.npy` or `r<k>_NAME.npy`, in a folder with inputs.
/// `outputs`: names of each output in the model and in generated code. Each result is a call, an
/// index in `outputs`, and a path.
pub(crate) fn recorded_outputs(
    folder: &Path,
    parameters: &[Expected],
    outputs: &[(&[String], &str)],
) -> Result<Vec<(usize, usize, PathBuf)>, Diagnostic> {
    let mut found: Vec<(usize, usize, PathBuf)> = Vec::new();
    for entry in
        fs::read_dir(folder).map_err(|error| problem(folder, format!("cannot be read: {error}")))?
    {
        let path =
            entry.map_err(|error| problem(folder, format!("cannot be read: {error}")))?.path();
        if call_and_input(&path, parameters).is_some()
            || path.extension().is_none_or(|extension| extension != "npy")
        {
            continue;
        }
        let Some((call, name)) = call_and_name(&path) else { continue };
        let by_number = name.strip_prefix("out").and_then(number);
        let by_field = || outputs.iter().position(|(_, field)| *field == name);
        let by_name = || outputs.iter().position(|(names, _)| names.iter().any(|own| own == name));
        let Some(output) = by_number.or_else(by_field).or_else(by_name) else { continue };
        if output >= outputs.len() {
            return Err(problem(
                &path,
                format!("the model has no such output: it has {}", outputs.len()),
            ));
        }
        if let Some((.., other)) =
            found.iter().find(|(known, at, _)| (*known, *at) == (call, output))
        {
            let other = other.file_name().unwrap_or_default().display().to_string();
            let duplicate = format!("is the same output of call {call} as {}", quoted(&other));
            return Err(problem(&path, duplicate).help("remove one of the two"));
        }
        found.push((call, output, path));
    }
    found.sort();
    Ok(found)
}

/// Reads an array of any type and shape.
pub(crate) fn read_npy(path: &Path) -> Result<Tensor, Diagnostic> {
    let bytes = bounded::read(path, &RECORDED_LIMIT)
        .map_err(|error| problem(path, format!("cannot be read: {error}")))?;
    let length = bytes.len();
    let npy::Header { shape, element, start } =
        npy::read_header(&bytes).map_err(|what| problem(path, what))?;
    Tensor::new(shape, element, Arc::new(bytes), start..length)
        .ok_or_else(|| problem(path, "holds fewer bytes than its shape needs"))
}

/// Reads one input. The file determines sizes left open by `expected`.
pub(crate) fn read(path: &Path, expected: &Expected) -> Result<Tensor, Diagnostic> {
    let wrong = |what: String| problem(path, format!("{what} ({})", expected.label));
    let bytes = bounded::read(path, &LIMIT)
        .map_err(|error| problem(path, format!("cannot be read: {error}")))?;
    let length = bytes.len();
    let (shape, element, start) = if path.extension().is_none_or(|e| e != "bin") {
        let npy::Header { shape, element, start } = npy::read_header(&bytes).map_err(wrong)?;
        if element.is_float() != expected.element.is_float() {
            let kind = if expected.element.is_float() {
                "floating point numbers"
            } else {
                "whole numbers"
            };
            return Err(wrong(format!("its elements are {}; {kind} are needed", element.name())));
        }
        if let Some(axis) = shape.iter().position(|&size| size == 0) {
            return Err(wrong(format!(
                "its shape is {shape:?}: dimension {axis} has the size 0, so it holds no elements"
            )));
        }
        if let Some(open) = expected.shape.as_deref().filter(|_| !expected.allows(&shape)) {
            let refusal = wrong(format!("its shape is {shape:?}; {} is needed", print_shape(open)));
            return Err(as_calls(refusal, path, &shape, open, expected));
        }
        (shape, element, start)
    } else {
        let shape = raw_shape(length, expected)
            .or_else(|why| described_shape(path, length, expected).ok_or(why));
        (shape.map_err(wrong)?, expected.element, 0)
    };
    Tensor::new(shape, element, Arc::new(bytes), start..length)
        .ok_or_else(|| problem(path, "holds fewer bytes than its shape needs"))
}

/// Adds help to an error about a file with several steps for a model of one step per call: a script
/// that writes one file for each step. Other errors are unchanged.
fn as_calls(
    refusal: Diagnostic,
    path: &Path,
    shape: &[usize],
    open: &[Dim],
    expected: &Expected,
) -> Diagnostic {
    let call_shape: Option<Vec<usize>> = open
        .iter()
        .map(|dim| if let Dim::Fixed(size) = dim { Some(*size) } else { None })
        .collect();
    let Some(call_shape) = call_shape else { return refusal };
    let Ok(Some(axis)) = axis_of_steps(shape, &call_shape) else { return refusal };
    let (file, field) =
        (path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""), &expected.field);
    let steps = shape[axis];
    let help = format!(
        "one call takes one of its {steps} steps: these lines write each as the file of a call; \
         then pass --inputs steps"
    );
    refusal.help(help).lines([
        "python3 - <<'END'".to_owned(),
        "import numpy, os".to_owned(),
        format!("x = numpy.load(\"{file}\")"),
        "os.makedirs(\"steps\", exist_ok=True)".to_owned(),
        format!("for k in range({steps}):"),
        format!(
            "    numpy.save(f\"steps/r{{k}}_{field}.npy\", numpy.take(x, k, \
            {axis}).reshape({call_shape:?}))"
        ),
        "END".to_owned(),
    ])
}

/// The axis of steps in a tensor, for steps of shape `one`. `None` if the tensor is one step. `Err`
/// if the tensor is not a series of such steps.
pub(crate) fn axis_of_steps(shape: &[usize], one: &[usize]) -> Result<Option<usize>, ()> {
    if shape == one {
        return Ok(None);
    }
    if shape.len() == one.len() {
        let differ: Vec<usize> = (0..one.len()).filter(|&axis| shape[axis] != one[axis]).collect();
        return match differ[..] {
            [axis] if one[axis] == 1 => Ok(Some(axis)),
            _ => Err(()),
        };
    }
    // axes of size 1 may be omitted, except the axis of steps
    let squeezed = |shape: &[usize]| -> Vec<usize> {
        shape.iter().copied().filter(|&size| size != 1).collect()
    };
    if squeezed(shape) == squeezed(one) {
        return Ok(None);
    }
    let fits = |axis: usize| {
        let rest = [&shape[..axis], &shape[axis + 1..]].concat();
        squeezed(&rest) == squeezed(one)
    };
    (0..shape.len()).find(|&axis| shape[axis] != 1 && fits(axis)).map(Some).ok_or(())
}

/// The number of steps of shape `one` in a tensor. `None` if the tensor is not a series of such
/// steps.
pub(crate) fn frames(shape: &[usize], one: &[usize]) -> Option<usize> {
    axis_of_steps(shape, one).ok().map(|axis| axis.map_or(1, |axis| shape[axis]))
}

/// The indices of the elements of step `frame` in a tensor of several steps of shape `one`. `None`
/// if the tensor is not a series of such steps.
pub(crate) fn places(shape: &[usize], one: &[usize], frame: usize) -> Option<Vec<usize>> {
    let Some(axis) = axis_of_steps(shape, one).ok()? else {
        return Some((0..one.iter().product()).collect());
    };
    let (inner, frames) = (shape[axis + 1..].iter().product::<usize>(), shape[axis]);
    let outer = shape[..axis].iter().product::<usize>();
    Some(
        (0..outer)
            .flat_map(|o| (0..inner).map(move |i| (o * frames + frame) * inner + i))
            .collect(),
    )
}

/// The number of steps in the files of one call, for a model compiled for one step. 1 if no input
/// has a value for each step.
pub(crate) fn steps_of_call(
    files: &[Option<PathBuf>],
    parameters: &[Expected],
    model: &CoreModel,
) -> Result<usize, Diagnostic> {
    let mut found: Option<(usize, &Path)> = None;
    for ((path, expected), parameter) in files.iter().zip(parameters).zip(&model.parameters) {
        let Some(path) = path.as_deref().filter(|_| expected.has_steps()) else { continue };
        let tensor = read(path, expected)?;
        let steps = frames(tensor.shape(), &parameter.shape).ok_or_else(|| {
            problem(
                path,
                format!("its shape is {:?}; {:?} is one step", tensor.shape(), parameter.shape),
            )
        })?;
        match found {
            Some((other, first)) if other != steps => {
                let first = first.display();
                return Err(problem(
                    path,
                    format!("it holds {steps} steps, and {first} holds {other}"),
                ));
            }
            _ => found = Some((steps, path)),
        }
    }
    Ok(found.map_or(1, |(steps, _)| steps))
}

/// The elements of one step, of shape `one`, from a tensor of shape `shape`.
pub(crate) fn one_step(
    numbers: &InputElements,
    shape: &[usize],
    one: &[usize],
    step: usize,
) -> InputElements {
    // a tensor without an axis of steps has the same elements in all steps
    let step = if frames(shape, one) == Some(1) { 0 } else { step };
    let places = places(shape, one, step).expect("shapes were compared");
    match numbers {
        InputElements::Floats(values) => {
            InputElements::Floats(places.into_iter().map(|index| values[index]).collect())
        }
        InputElements::Integers(values) => {
            InputElements::Integers(places.into_iter().map(|index| values[index]).collect())
        }
    }
}

/// The shape of raw elements. The number of bytes determines the open size, if there is one.
fn raw_shape(bytes: usize, expected: &Expected) -> Result<Vec<usize>, String> {
    let needs_npy = "; give it with --shape, or write the input as .npy, which holds its shape";
    let Some(open) = &expected.shape else {
        return Err(format!("the model does not say its shape{needs_npy}"));
    };
    let shape = print_shape(open);
    let unknown = open.iter().filter(|d| matches!(d, Dim::Dynamic { .. })).count();
    let known = open
        .iter()
        .try_fold(expected.element.size(), |n, d| match d {
            Dim::Fixed(size) => n.checked_mul(*size),
            Dim::Dynamic { .. } => Some(n),
        })
        .ok_or_else(|| format!("shape {shape} overflows"))?;
    let name = expected.element.name();
    match unknown {
        0 if bytes != known => {
            Err(format!("it holds {bytes} bytes; {shape} of {name} needs {known}"))
        }
        0 | 1 => {
            let size = bytes.checked_div(known).unwrap_or(0);
            let fits = unknown == 0
                || (bytes == known * size && open.iter().any(|d| is_open(d) && size_fits(d, size)));
            if !fits {
                return Err(format!(
                    "it holds {bytes} bytes, which fits no size of {shape} of {name}"
                ));
            }
            Ok(open.iter().map(|d| if let Dim::Fixed(n) = d { *n } else { size }).collect())
        }
        _ => {
            Err(format!("raw elements do not say which of the sizes {shape} are meant{needs_npy}"))
        }
    }
}

/// The shape of a file according to a `case.json` in the same folder, in `runs[..].inputs[..]`.
/// `None` unless the model allows the shape.
fn described_shape(path: &Path, bytes: usize, expected: &Expected) -> Option<Vec<usize>> {
    let case = bounded::read(&path.with_file_name("case.json"), &CASE_LIMIT).ok()?;
    let case: serde_json::Value = serde_json::from_slice(&case).ok()?;
    let inputs =
        case["runs"].as_array()?.iter().filter_map(|run| run["inputs"].as_array()).flatten();
    let mut named =
        inputs.filter(|input| input["file"].as_str().is_some_and(|file| path.ends_with(file)));
    let sizes = named.next()?["shape"].as_array()?;
    let shape: Vec<usize> =
        sizes.iter().map(|size| usize::try_from(size.as_u64()?).ok()).collect::<Option<_>>()?;
    let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    (expected.allows(&shape) && expected.element.bytes(count) == Some(bytes)).then_some(shape)
}

fn is_open(dim: &Dim) -> bool {
    matches!(dim, Dim::Dynamic { .. })
}

fn size_fits(dim: &Dim, size: usize) -> bool {
    match *dim {
        Dim::Fixed(n) => n == size,
        Dim::Dynamic { min, max } => size >= min.max(1) && max.is_none_or(|max| size <= max),
    }
}

/// A shape in messages: `[?, 16]` or `[1..8, 16]`.
fn print_shape(shape: &[Dim]) -> String {
    let sizes: Vec<_> = shape
        .iter()
        .map(|dim| match *dim {
            Dim::Fixed(n) => n.to_string(),
            Dim::Dynamic { min: 0 | 1, max: None } => "?".to_owned(),
            Dim::Dynamic { min, max: None } => format!("{min}.."),
            Dim::Dynamic { min, max: Some(max) } => format!("{min}..{max}"),
        })
        .collect();
    format!("[{}]", sizes.join(", "))
}

/// Call, input, and true if the input was found by name: (2, 1, false) for `r2_in1.npy`, (2, 1,
/// true) for `r2_h.npy` if input 1 is named h. `None` for other files.
fn call_and_input(path: &Path, parameters: &[Expected]) -> Option<(usize, usize, bool)> {
    path.extension().filter(|e| *e == "npy" || *e == "bin")?;
    let (call, input) = call_and_name(path)?;
    match input.strip_prefix("in").and_then(number) {
        Some(input) => Some((call, input, false)),
        // a name in generated code takes precedence over a name in the model
        None => {
            let by_field = parameters.iter().position(|expected| expected.field == input);
            let by_name = || {
                parameters
                    .iter()
                    .position(|expected| expected.names.iter().any(|name| name == input))
            };
            Some((call, by_field.or_else(by_name)?, true))
        }
    }
}

/// Call and name: 2 and `NAME` for `r2_NAME.npy`.
fn call_and_name(path: &Path) -> Option<(usize, &str)> {
    let (call, name) = path.file_stem()?.to_str()?.strip_prefix('r')?.split_once('_')?;
    Some((number(call)?, name))
}

/// A number without leading zeros or signs, so that r0 and r00 are not the same call.
fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|n: &usize| n.to_string() == text)
}

fn problem(path: &Path, what: impl Display) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Element;

    const BATCH: Dim = Dim::Dynamic { min: 1, max: None };

    fn expected(shape: &[Dim], element: ElementType) -> Expected {
        let (label, names) = ("input \"x\"".to_owned(), vec!["X".to_owned()]);
        Expected {
            label,
            names,
            field: "x".to_owned(),
            shape: Some(shape.to_vec()),
            element,
            is_state: false,
            steps: FileSteps::Shared,
        }
    }

    fn f32s(shape: &[Dim]) -> Expected {
        expected(shape, ElementType::F32)
    }

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    fn find(files: &[&str], parameters: usize) -> Result<Vec<Vec<String>>, String> {
        let folder = folder(&files.iter().map(|f| (*f, &b""[..])).collect::<Vec<_>>());
        let name = |path: &Option<PathBuf>| {
            path.as_ref().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
        };
        match Calls::find(folder.path(), &vec![f32s(&[]); parameters]) {
            Ok(calls) => {
                Ok(calls.files.iter().map(|call| call.iter().map(name).collect()).collect())
            }
            Err(diagnostic) => Err(diagnostic.to_string()),
        }
    }

    #[test]
    fn calls_are_found_in_order_among_other_files() {
        let files = [
            "r1_in0.npy",
            "r0_in0.bin",
            "r0_in1.bin",
            "r0_in1.npy",
            "r1_in1.bin",
            "r0_ov0.bin",
            "r00_in5.bin",
        ];
        assert_eq!(
            find(&files, 2).unwrap(),
            [["r0_in0.bin", "r0_in1.npy"], ["r1_in0.npy", "r1_in1.bin"]]
        );
        let many: Vec<_> = (0..12).map(|k| format!("r{k}_in0.npy")).collect();
        let calls = find(&many.iter().map(String::as_str).collect::<Vec<_>>(), 1).unwrap();
        assert_eq!(calls.concat(), many);
    }

    #[test]
    fn gaps_are_named() {
        for (files, message) in [
            (&["x.npy"][..], "holds no inputs"),
            (&["r0_in0.npy"], "no r0_in1.npy"),
            (&["r1_in0.npy", "r1_in1.npy"], "no r0_in0.npy"),
            (
                &["r0_in0.npy", "r0_in1.npy", "r0_in2.npy"],
                "r0_in2.npy: the model has no such input: it has 2",
            ),
        ] {
            let error = find(files, 2).unwrap_err();
            assert!(error.contains(message), "{error:?} does not say {message:?}");
        }
        assert!(Calls::find(Path::new("no/such/folder"), &[]).is_err());
    }

    #[test]
    fn a_state_needs_no_file() {
        let folder = folder(&[("r0_in0.npy", b""), ("x.npy", b"")]);
        let state = Expected { field: "h".to_owned(), is_state: true, ..f32s(&[]) };
        let files = |calls: Calls| -> Vec<bool> {
            calls.files.concat().iter().map(Option::is_some).collect()
        };
        let parameters = [f32s(&[]), state];
        assert_eq!(files(Calls::find(folder.path(), &parameters).unwrap()), [true, false]);
        // a single file belongs to the only input other than states
        let file = folder.path().join("x.npy");
        assert_eq!(files(Calls::at(&file, &parameters).unwrap()), [true, false]);
        let two = [f32s(&[]), Expected { field: "y".to_owned(), ..f32s(&[]) }];
        let refused = Calls::at(&file, &two).unwrap_err();
        assert!(refused.found.contains("is one file, and the model has 2 inputs"), "{refused}");
    }

    #[test]
    fn recorded_outputs_are_found_by_place_or_name() {
        let files = [
            "r0_in0.npy",
            "r0_out1.npy",
            "r1_y.npy",
            "r1_x.npy",
            "r1_state.npy",
            "r0_out0.bin",
            "other.npy",
        ];
        // generated code has another value named state, so this output is named state_2
        let names = ["Y", "state"].map(|name| [name.to_owned()]);
        let outputs = [(&names[0][..], "y"), (&names[1][..], "state_2")];
        let found = |files: &[&str]| {
            let folder = folder(&files.iter().map(|file| (*file, &b""[..])).collect::<Vec<_>>());
            recorded_outputs(folder.path(), &[f32s(&[])], &outputs).map(|found| {
                let named = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
                found
                    .into_iter()
                    .map(|(call, output, path)| (call, output, named(path)))
                    .collect::<Vec<_>>()
            })
        };
        // r1_x.npy holds the input x, not an output
        let file = |name: &str| name.to_owned();
        let wanted =
            [(0, 1, file("r0_out1.npy")), (1, 0, file("r1_y.npy")), (1, 1, file("r1_state.npy"))];
        assert_eq!(found(&files).unwrap(), wanted);
        let input = f32s(&[]);
        for name in [&input.names[0], &input.field] {
            let path = PathBuf::from(format!("r3_{name}.npy"));
            assert_eq!(call_and_input(&path, std::slice::from_ref(&input)), Some((3, 0, true)));
        }
        for (files, message) in [
            (&["r0_out0.npy", "r0_y.npy"], "the same output"),
            (&["r0_out0.npy", "r0_out2.npy"], "no such output"),
        ] {
            assert!(found(files).unwrap_err().found.contains(message), "{files:?}");
        }
    }

    fn read_one(name: &str, bytes: &[u8], expected: &Expected) -> Result<Tensor, String> {
        let folder = folder(&[(name, bytes)]);
        read(&folder.path().join(name), expected).map_err(|diagnostic| diagnostic.to_string())
    }

    #[test]
    fn an_npy_brings_the_sizes_that_are_open() {
        let file = npy::write(Element::F32, &[3, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        for shape in [&[Dim::Fixed(3), Dim::Fixed(2)], &[BATCH, Dim::Fixed(2)], &[BATCH, BATCH]] {
            let tensor = read_one("a.npy", &file, &f32s(shape)).unwrap();
            assert_eq!((tensor.shape(), tensor.get_f32(5)), (&[3, 2][..], 5.0));
        }
    }

    #[test]
    fn raw_elements_decide_one_size() {
        let bytes = [0u8; 24];
        let tensor =
            |shape: &[Dim]| read_one("a.bin", &bytes, &f32s(shape)).map(|t| t.shape().to_vec());
        assert_eq!(tensor(&[Dim::Fixed(3), Dim::Fixed(2)]).unwrap(), [3, 2]);
        assert_eq!(tensor(&[BATCH, Dim::Fixed(2)]).unwrap(), [3, 2]);
        let half = expected(&[BATCH, Dim::Fixed(2)], ElementType::F16);
        assert_eq!(read_one("a.bin", &bytes, &half).unwrap().shape(), [6, 2]);
    }

    #[test]
    fn a_case_says_the_shapes_of_raw_elements() {
        let case = br#"{"runs": [{"inputs": [{"file": "r0_in0.bin", "shape": [3, 2]}]}]}"#;
        let folder =
            folder(&[("case.json", case), ("r0_in0.bin", &[0; 24]), ("r1_in0.bin", &[0; 24])]);
        let shape = |name: &str, expected: &Expected| {
            read(&folder.path().join(name), expected)
                .map(|tensor| tensor.shape().to_vec())
                .map_err(|error| error.to_string())
        };
        assert_eq!(shape("r0_in0.bin", &f32s(&[BATCH, BATCH])).unwrap(), [3, 2]);
        for (name, expected) in [
            ("r1_in0.bin", f32s(&[BATCH, BATCH])),
            ("r0_in0.bin", f32s(&[BATCH, BATCH, Dim::Fixed(2)])),
            ("r0_in0.bin", expected(&[BATCH, BATCH], ElementType::F64)),
        ] {
            assert!(shape(name, &expected).unwrap_err().contains("do not say which"), "{name}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let f32_file = npy::write(Element::F32, &[1, 2], &[0.0; 2]);
        let fixed = f32s(&[Dim::Fixed(1), Dim::Fixed(3)]);
        let open = f32s(&[BATCH, Dim::Fixed(3)]);
        let range = f32s(&[Dim::Dynamic { min: 2, max: Some(4) }, Dim::Fixed(2)]);
        let lengths = expected(&[BATCH, Dim::Fixed(2)], ElementType::I64);
        for (name, bytes, expected, message) in [
            ("a.npy", &f32_file[..], &fixed, "shape is [1, 2]; [1, 3] is needed"),
            ("a.npy", &f32_file, &open, "shape is [1, 2]; [?, 3] is needed"),
            ("a.npy", &f32_file, &range, "shape is [1, 2]; [2..4, 2] is needed"),
            ("a.npy", &f32_file, &lengths, "elements are f32; whole numbers are needed"),
            ("a.npy", b"junk", &fixed, "no .npy file"),
            (
                "a.npy",
                &npy::write(Element::F32, &[0, 3], &[]),
                &open,
                "its shape is [0, 3]: dimension 0 has the size 0",
            ),
            ("a.bin", &[0; 11], &fixed, "11 bytes; [1, 3] of f32 needs 12"),
            ("a.bin", &[0; 13], &open, "13 bytes, which fits no size of [?, 3]"),
            ("a.bin", &[], &open, "0 bytes, which fits no size"),
            ("a.bin", &[0; 40], &range, "40 bytes, which fits no size of [2..4, 2]"),
            ("a.bin", &[0; 12], &f32s(&[BATCH, BATCH]), "do not say which of the sizes [?, ?]"),
            ("a.bin", &[0; 12], &f32s(&[Dim::Fixed(usize::MAX), Dim::Fixed(3)]), "overflows"),
        ] {
            let error = read_one(name, bytes, expected).unwrap_err();
            assert!(error.contains(message), "{error:?} does not say {message:?}");
        }
        assert!(
            read(Path::new("no/such.npy"), &fixed).unwrap_err().found.contains("cannot be read")
        );
    }
}
