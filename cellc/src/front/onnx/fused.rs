//! Fused operators that ONNX Runtime's optimiser writes in place of several operators, domain
//! `com.microsoft`.

use super::graph::{Call, GraphReader, Outputs};
use super::operators;
use super::remedies::BEFORE_OPTIMISATION;
use super::windows;
use crate::diagnostic::quoted;
use crate::model::{Activation, Binary, Composed, Elementwise, Normalization, Op, ValueId};

/// An activation named by an attribute. `attribute`: the attributes with the activation's
/// parameters, for messages.
struct NamedActivation {
    name: String,
    parameters: Vec<f32>,
    attribute: &'static str,
}

impl NamedActivation {
    /// Applies the activation to a value. `None` after an error.
    fn apply(&self, reader: &mut GraphReader<'_>, x: ValueId) -> Option<ValueId> {
        let function: Elementwise = match (&self.name[..], &self.parameters[..]) {
            ("Clip", &[min, max]) => {
                let bounds = [min, max].map(|bound| Some(reader.number_like(x, bound)));
                return operators::clipped(reader, x, bounds);
            }
            ("Selu", &[alpha, gamma]) => {
                let [alpha, gamma] = [alpha, gamma].map(|number| reader.number_like(x, number));
                return Some(reader.elementwise(Composed::Selu, &[x, alpha, gamma]));
            }
            ("Celu", &[alpha]) => Composed::Celu { alpha }.into(),
            ("HardSwish", &[]) => Composed::HardSwish.into(),
            ("ThresholdedRelu", &[alpha]) => Composed::ThresholdedRelu { alpha }.into(),
            (name, parameters) => match self.activation(name, parameters) {
                Ok(activation) => activation.into(),
                Err(why) => {
                    let found = format!("the activation {}: {why}", quoted(name));
                    let valid =
                        "an activation of ONNX Runtime's optimiser, with all its parameters";
                    reader.error(found, valid, BEFORE_OPTIMISATION);
                    return None;
                }
            },
        };
        Some(reader.elementwise(function, &[x]))
    }

    fn activation(&self, name: &str, parameters: &[f32]) -> Result<Activation, String> {
        let wrong = || format!("{} numbers in {}", parameters.len(), self.attribute);
        match name {
            "Clip" | "Selu" | "Celu" | "HardSwish" | "ThresholdedRelu" => return Err(wrong()),
            _ => {}
        }
        let takes = Activation::takes(name).ok_or("no function of this name is known")?;
        if takes != parameters.len() {
            return Err(wrong());
        }
        let parameter = |at: usize| parameters.get(at).copied();
        Activation::new(name, parameter(0), parameter(1)).map_err(|error| error.to_string())
    }
}

/// FusedConv: a convolution plus the optional tensor Z, then an optional activation of the sum.
pub(super) fn conv(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let name = call.attributes.text("activation").filter(|name| !name.is_empty());
    let parameters = call.attributes.floats("activation_params").unwrap_or_default();
    let inputs = call.inputs.iter().take(3).copied().collect();
    let mut inner = Call {
        version: call.version,
        inputs,
        written: 1,
        read: vec![true],
        attributes: call.attributes,
    };
    let mut y = windows::conv(reader, &mut inner)?[0];
    if let Some(z) = call.input(3) {
        y = reader.elementwise(Binary::Add, &[y, z]);
    }
    match name {
        Some(name) => {
            y = NamedActivation { name, parameters, attribute: "activation_params" }
                .apply(reader, y)?
        }
        None if parameters.is_empty() => {}
        None => {
            let found = "activation_params without an activation";
            reader.error(found, "the attribute activation", "remove the attribute");
            return None;
        }
    }
    Some(vec![y])
}

/// FusedGemm: Gemm and an activation of its output.
pub(super) fn gemm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let name = call.attributes.text("activation");
    let names = ["activation_alpha", "activation_beta", "activation_gamma"];
    let [alpha, beta, gamma] = names.map(|name| call.attributes.float(name));
    let y = operators::gemm(reader, call)?[0];
    let Some(name) = name else {
        let help = BEFORE_OPTIMISATION;
        reader.error("no activation", "the attribute activation", help);
        return None;
    };
    // Selu takes alpha and gamma, other activations take alpha and beta
    let (taken, left) = match &name[..] {
        "Selu" => (vec![alpha, gamma], [beta].to_vec()),
        _ => (vec![alpha, beta], [gamma].to_vec()),
    };
    if left.iter().any(Option::is_some) {
        let found = format!("a parameter that the activation {} does not take", quoted(&name));
        reader.error(found, names.join(", "), "remove the attribute");
        return None;
    }
    let given = taken.iter().take_while(|value| value.is_some()).count();
    if taken[given..].iter().any(Option::is_some) {
        let found = format!("the activation {} without {}", quoted(&name), names[given]);
        reader.error(found, "all parameters of the activation", "give the attribute");
        return None;
    }
    let parameters = taken.into_iter().flatten().collect();
    let activation = NamedActivation {
        name,
        parameters,
        attribute: "activation_alpha, activation_beta and activation_gamma",
    };
    Some(vec![activation.apply(reader, y)?])
}

/// An operand of FusedMatMul, and true if the product transposes the operand. `batch`: transBatchA
/// or transBatchB if the node sets the attribute; then the operand's first dimension moves to the
/// last but one. `None` after an error.
fn operand(
    reader: &mut GraphReader<'_>,
    value: ValueId,
    transposed: bool,
    batch: Option<&str>,
) -> Option<(ValueId, bool)> {
    let rank = reader.rank(value);
    let Some(attribute) = batch else {
        // a vector is not transposed
        return Some((value, transposed && rank != Some(1)));
    };
    let Some(rank) = rank.filter(|&rank| rank > 1) else {
        let found = format!(
            "{attribute}=1 of a tensor of an unknown number of dimensions, or of fewer than two"
        );
        return reader.inexpressible(
            found,
            "0, or a tensor whose number of dimensions is written",
            BEFORE_OPTIMISATION,
        );
    };
    let rank = rank as i64;
    let order: Vec<i64> = (1..rank - 1).chain([0, rank - 1]).collect();
    let order = reader.integers(&order);
    Some((reader.op(Op::Transpose, vec![value, order]), transposed))
}

/// `alpha A B`, each matrix optionally transposed.
pub(super) fn matmul(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let alpha = call.attributes.finite("alpha").unwrap_or(1.0);
    let [of_a, of_b] = ["transA", "transB"].map(|name| call.attributes.flag(name, false));
    let [batch_a, batch_b] = ["transBatchA", "transBatchB"]
        .map(|name| call.attributes.flag(name, false).then_some(name));
    let (a, transpose_a) = operand(reader, call.x(), of_a, batch_a)?;
    let (b, transpose_b) = operand(reader, call.input(1)?, of_b, batch_b)?;
    let y = reader.op(Op::MatMul { transpose_a, transpose_b }, vec![a, b]);
    Some(vec![operators::scaled(reader, y, alpha)])
}

/// Gelu of `x + bias`.
pub(super) fn gelu(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    function: impl Into<Elementwise>,
) -> Outputs {
    let mut x = call.x();
    if let Some(bias) = call.input(1) {
        x = reader.elementwise(Binary::Add, &[x, bias]);
    }
    Some(vec![reader.elementwise(function, &[x])])
}

/// `x sigmoid(alpha x)`.
pub(super) fn quick_gelu(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let alpha = call.attributes.finite("alpha").unwrap_or(1.702);
    let alpha = reader.number_like(x, alpha);
    Some(vec![reader.elementwise(Composed::Swish { scaled: true }, &[x, alpha])])
}

/// LayerNormalization or RMSNormalization of `input + skip + bias`. The sum is the fourth output.
pub(super) fn skip_norm(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    root_mean_square: bool,
) -> Outputs {
    let eps = call.attributes.float("epsilon").unwrap_or(1e-12);
    let (x, skip, gamma) = (call.x(), call.input(1)?, call.input(2)?);
    let (beta, bias) =
        if root_mean_square { (None, call.input(3)) } else { (call.input(3), call.input(4)) };
    if call.is_read(1) || call.is_read(2) {
        return reader.inexpressible(
            "the mean or the deviation as an output",
            "the outputs 0 and 3",
            BEFORE_OPTIMISATION,
        );
    }
    let mut sum = reader.elementwise(Binary::Add, &[x, skip]);
    if let Some(bias) = bias {
        sum = reader.elementwise(Binary::Add, &[sum, bias]);
    }
    let normalization = Normalization::Layer { axis: -1, eps, root_mean_square };
    let inputs = [Some(sum), Some(gamma), beta].into_iter().flatten().collect();
    let y = reader.op(Op::Normalize(normalization), inputs);
    // outputs 1 and 2 are not read, so any value may stand for them
    Some(vec![y, sum, sum, sum])
}
