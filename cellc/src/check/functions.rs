//! Legality of the numbers that choose a function: parameters of activations, bounds, and the like,
//! as attributes or as constant inputs.

use super::report::refusal;
use crate::diagnostic::{Diagnostics, Origin};
use crate::model::{Activation, Composed, Elementwise, Node, PARAMETERS, Primitive, Unary};

/// A parameter with a number that is refused.
pub(crate) struct WrongParameter {
    /// The name of the attribute; min for the two bounds of a Clamp.
    pub(crate) name: &'static str,
    found: String,
    valid: &'static str,
}

impl WrongParameter {
    /// What was found, what is valid, and help.
    pub(crate) fn text(&self) -> [String; 3] {
        let help = match self.name {
            "min" => "correct min or max".to_owned(),
            name => format!("correct {name}"),
        };
        [self.found.clone(), self.valid.to_owned(), help]
    }
}

/// The parameters of a function that are infinite or NaN, the alpha 0 of a Celu, and bounds of a
/// Clamp that are NaN or in the wrong order. 0 and negative numbers are legal elsewhere.
pub(crate) fn wrong_parameters(function: Elementwise) -> Vec<WrongParameter> {
    match function {
        Elementwise::Primitive(Primitive::Activation(activation)) => of_activation(activation),
        Elementwise::Primitive(Primitive::Unary(Unary::Clamp { min, max })) if !(min <= max) => {
            let found = format!("Clamp from {min} to {max}");
            vec![WrongParameter { name: "min", found, valid: "min of max or less" }]
        }
        Elementwise::Composed(Composed::Celu { alpha }) if !alpha.is_finite() || alpha == 0.0 => {
            let found = format!("alpha of Celu is {alpha}");
            vec![WrongParameter { name: "alpha", found, valid: "a finite number other than 0" }]
        }
        _ => Vec::new(),
    }
}

fn of_activation(activation: Activation) -> Vec<WrongParameter> {
    let function = format!("the activation {}", activation.name());
    let parameters = PARAMETERS.into_iter().zip(activation.parameters());
    parameters.filter_map(|(name, value)| not_finite(&function, name, value)).collect()
}

/// The refusal of a parameter of a function if the parameter is infinite or NaN.
pub(crate) fn not_finite(function: &str, name: &'static str, value: f32) -> Option<WrongParameter> {
    let found = format!("{name} of {function} is {value}");
    (!value.is_finite()).then_some(WrongParameter { name, found, valid: "a finite number" })
}

/// Refuses a node whose function has wrong parameters. `list`: the place of the attribute that
/// lists the functions of a cell; `None`: each parameter is an attribute. True if all are legal.
pub(crate) fn check_parameters(
    node: &Node,
    list: Option<&Origin>,
    function: impl Into<Elementwise>,
    diagnostics: &mut Diagnostics,
) -> bool {
    let wrong = wrong_parameters(function.into());
    for parameter in &wrong {
        let origin = list.unwrap_or_else(|| node.attribute_origin(parameter.name));
        let [found, valid, help] = parameter.text();
        diagnostics.push(refusal(node, origin, found, valid, help));
    }
    wrong.is_empty()
}
