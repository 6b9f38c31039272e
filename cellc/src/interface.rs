//! What generated code calls the tensors of a model.

use crate::emit::names::{Field, Interface, Scope, StateField, pascal_case, prefix};
use crate::model::{Parameter, ResultValue, ValidModel};

impl Interface {
    /// The names for `model` under the name that the user or the file system chose.
    pub fn new(model: &ValidModel, name: &str) -> Self {
        let function = prefix(name);
        let mut scope = Scope::members(&function);
        let mut inputs = Vec::new();
        let mut weights = Vec::new();
        for (index, Parameter { names, shape, weight, .. }) in model.parameters.iter().enumerate() {
            let name = scope.field(names, "in", index);
            let list = if *weight { &mut weights } else { &mut inputs };
            list.push(Field { name, index, shape: shape.clone() });
        }
        let outputs = model
            .results
            .iter()
            .enumerate()
            .map(|(index, ResultValue { names, shape, .. })| Field {
                name: scope.field(names, "out", index),
                index,
                shape: shape.clone(),
            })
            .collect::<Vec<_>>();
        let states = model
            .states
            .iter()
            .map(|pair| StateField {
                input: inputs.iter().position(|f: &Field| f.index == pair.parameter).expect("a state is an input"),
                output: pair.result,
            })
            .collect();
        Self { type_name: pascal_case(&function), function, inputs, weights, outputs, states }
    }
}
