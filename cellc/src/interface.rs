//! What generated code calls the tensors of a model.

use crate::emit::names::{Field, InPlace, Interface, Scope, StateField, StepFlags, pascal_case, prefix};
use crate::kernel::{Element, Program, Role};
use crate::model::{ElementType, Parameter, ResultValue, Steps, ValidModel, Variable};

impl Interface {
    /// The names for `model` under the name that the user or the file system chose; one of `programs` is what it is
    /// compiled to; `pool`: see [`Interface::pool`].
    pub fn new<'a>(model: &ValidModel, programs: impl Iterator<Item = &'a Program>, name: &str, pool: bool) -> Self {
        let function = prefix(name, pool);
        let elements = model.parameters.iter().map(|parameter| interface_element(parameter.element));
        let mut scope = Scope::members(&function, pool, model.steps.is_some(), elements);
        let mut inputs = Vec::new();
        let mut weights = Vec::new();
        for (index, Parameter { names, shape, weight, element, .. }) in model.parameters.iter().enumerate() {
            let name = scope.field(names, "in", index);
            let list = if *weight { &mut weights } else { &mut inputs };
            list.push(Field { name, index, shape: shape.clone(), element: interface_element(*element) });
        }
        let outputs = model
            .results
            .iter()
            .enumerate()
            .map(|(index, ResultValue { names, shape, .. })| Field {
                name: scope.field(names, "out", index),
                index,
                shape: shape.clone(),
                element: Element::F32,
            })
            .collect::<Vec<_>>();
        let states = model
            .states
            .iter()
            .map(|pair| StateField {
                input: inputs.iter().position(|f: &Field| f.index == pair.parameter).expect("a state is an input"),
                output: pair.result,
            })
            .collect::<Vec<_>>();
        let variables = model
            .variables
            .iter()
            .enumerate()
            .map(|(index, Variable { name, shape, .. })| Field {
                name: scope.field(std::slice::from_ref(name), "variable", index),
                index,
                shape: shape.clone(),
                element: Element::F32,
            })
            .collect();
        let mut in_place = in_place(&inputs, &outputs, &states);
        let (mut block_len, mut alternates) = (0, false);
        for program in programs {
            block_len = block_len.max(program.block_len);
            alternates |= program.buffers.iter().any(|b| b.role == Role::Backwards);
            if let Some(pair) = &mut in_place {
                let (input, output) = (inputs[pair.input].index, outputs[pair.output].index);
                pair.copies |= program.reads_when_written(Role::Parameter(input), Role::Result(output));
            }
        }
        let type_name = pascal_case(&function);
        let flags = |s: &Steps| StepFlags { inputs: s.parameters.clone(), outputs: s.results.clone() };
        let steps = model.steps.as_ref().map(flags);
        Self {
            type_name,
            function,
            inputs,
            weights,
            outputs,
            states,
            variables,
            steps,
            block_len,
            alternates,
            in_place,
            pool,
        }
    }
}

/// The one input and the one output beside states, where they are of one type; a cell's own output may be its state.
fn in_place(inputs: &[Field], outputs: &[Field], states: &[StateField]) -> Option<InPlace> {
    let input = (0..inputs.len()).filter(|i| states.iter().all(|s| s.input != *i)).collect::<Vec<_>>();
    let mut output = (0..outputs.len()).filter(|i| states.iter().all(|s| s.output != *i)).collect::<Vec<_>>();
    if output.is_empty() {
        output = (0..outputs.len()).collect();
    }
    let ([input], [output]) = (&input[..], &output[..]) else { return None };
    let (x, y) = (&inputs[*input], &outputs[*output]);
    let sizes = |field: &Field| field.shape.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
    // what Rust has as an array of rows
    let rows = |field: &Field| matches!(*field.shape, [n, _] if n != 1);
    let same = x.element == Element::F32 && sizes(x) == sizes(y) && rows(x) == rows(y);
    same.then_some(InPlace { input: *input, output: *output, copies: false })
}

/// What a caller hands over: integers as they are, all floats as f32.
fn interface_element(element: ElementType) -> Element {
    match element {
        ElementType::I32 => Element::I32,
        ElementType::I64 => Element::I64,
        _ => Element::F32,
    }
}
