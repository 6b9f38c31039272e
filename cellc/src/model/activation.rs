//! The table of activations, with their parameters and names.

use std::fmt;
use std::str::FromStr;

use super::{CurveShape, NumberError, parse_f32};

/// The table of activations. A row has the formula, the parameters with ONNX's defaults, OpenVINO's
/// name, the name in options and macros, and the shape of its curve.
macro_rules! activations {
    (
        $($(#[$formula:meta])* $cell:ident $({ $($parameter:ident = $default:expr),+ })?
            $name:literal $written:literal $curve:ident)*
    ) => {
        /// An activation function of a cell: ONNX's eleven activations of RNN, GRU and LSTM, with
        /// ONNX's formulas.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)] // the formulas document alpha and beta
        #[non_exhaustive]
        pub enum Activation {
            $($(#[$formula])* $cell $({ $($parameter: f32),+ })?,)*
        }

        impl Activation {
            /// OpenVINO's names of the activations, in the order of messages.
            pub const NAMES: [&'static str; [$($name),*].len()] = [$($name),*];

            /// Every activation, with default parameters. A parameter without a default is 1.
            pub const ALL: [Self; Self::NAMES.len()] = [
                $(Self::$cell $({ $($parameter: or_one($default)),+ })?,)*
            ];

            /// [`Self::NAMES`] as in options, macros and build scripts.
            pub const WRITTEN: [&'static str; Self::NAMES.len()] = [$($written),*];

            /// The activation with exactly this name.
            fn named(name: &str, given: &GivenParameters) -> Result<Self, ActivationError> {
                match name {
                    $($name => Ok(
                        Self::$cell $({ $($parameter: given.$parameter($default)?),+ })?
                    ),)*
                    _ => Err(ActivationError::Name),
                }
            }

            /// OpenVINO's lower-case name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$cell { .. } => $name,)*
                }
            }

            /// The shape of the function's curve.
            pub(super) fn curve(self) -> CurveShape {
                match self {
                    $(Self::$cell { .. } => CurveShape::$curve,)*
                }
            }

            /// The parameters of this activation: none, alpha, or alpha and beta.
            pub fn parameters(self) -> Vec<f32> {
                match self {
                    $(Self::$cell $({ $($parameter),+ })? => vec![$($($parameter),+)?],)*
                }
            }
        }
    };
}

activations! {
    /// max(v, 0)
    Relu "relu" "relu" Ramp
    /// 1 / (1 + exp(-v))
    Sigmoid "sigmoid" "sigmoid" Logistic
    /// tanh(v)
    Tanh "tanh" "tanh" Curve
    /// alpha v + beta
    Affine { alpha = Some(1.0), beta = Some(0.0) } "affine" "affine" Curve
    /// v, alpha v where v < 0
    LeakyRelu { alpha = Some(0.01) } "leakyrelu" "leaky_relu" Bend
    /// v where v >= alpha, else 0
    ThresholdedRelu { alpha = Some(1.0) } "thresholdedrelu" "thresholded_relu" Curve
    /// alpha tanh(beta v)
    ScaledTanh { alpha = None, beta = None } "scaledtanh" "scaled_tanh" Curve
    /// min(max(alpha v + beta, 0), 1)
    HardSigmoid { alpha = Some(0.2), beta = Some(0.5) } "hardsigmoid" "hard_sigmoid" Curve
    /// v, alpha (exp(v) - 1) where v < 0
    Elu { alpha = Some(1.0) } "elu" "elu" Curve
    /// v / (1 + |v|)
    Softsign "softsign" "softsign" Curve
    /// log(1 + exp(v))
    Softplus "softplus" "softplus" Curve
}

/// The default of a parameter, or 1.
const fn or_one(default: Option<f32>) -> f32 {
    match default {
        Some(default) => default,
        None => 1.0,
    }
}

/// The parameters in the input. `None`: absent.
struct GivenParameters {
    alpha: Option<f32>,
    beta: Option<f32>,
}

impl GivenParameters {
    fn alpha(&self, default: Option<f32>) -> Result<f32, ActivationError> {
        self.alpha.or(default).ok_or(ActivationError::Missing("alpha"))
    }

    fn beta(&self, default: Option<f32>) -> Result<f32, ActivationError> {
        self.beta.or(default).ok_or(ActivationError::Missing("beta"))
    }
}

/// The reason for a rejected activation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActivationError {
    /// No activation has this name.
    Name,
    /// This parameter is missing and has no default.
    Missing(&'static str),
    /// The activation does not take this parameter.
    Surplus(&'static str),
    /// A number does not fit into f32. The text names the number and the reason.
    Number(String),
    /// The text is neither a name nor a name with numbers, as in `hard_sigmoid(0.2, 0.5)`.
    Text,
}

/// The names of the parameters, in the order of arguments.
pub const PARAMETERS: [&str; 2] = ["alpha", "beta"];

impl Activation {
    /// The labels of activations, separated by commas.
    pub(crate) fn labels(activations: &[Self]) -> String {
        activations.iter().map(|activation| activation.label()).collect::<Vec<_>>().join(", ")
    }

    /// The activation with a name. Missing parameters take ONNX's defaults. Letter case,
    /// surrounding space and underscores do not matter.
    ///
    /// # Errors
    /// If no activation has this name, or its parameters differ.
    pub fn new(name: &str, alpha: Option<f32>, beta: Option<f32>) -> Result<Self, ActivationError> {
        let name: String =
            name.trim().chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
        let activation = Self::named(&name, &GivenParameters { alpha, beta })?;
        match [alpha, beta].iter().rposition(Option::is_some) {
            Some(last) if last >= activation.parameters().len() => {
                Err(ActivationError::Surplus(PARAMETERS[last]))
            }
            _ => Ok(activation),
        }
    }

    /// The number of parameters of the activation with a name, alpha before beta. `None` for an
    /// unknown name.
    pub fn takes(name: &str) -> Option<usize> {
        Self::new(name, None, None)
            .or_else(|_| Self::new(name, Some(1.0), Some(1.0)))
            .ok()
            .map(|activation| activation.parameters().len())
    }

    /// The name and the parameters, to the last bit: `relu`, `leakyrelu(0.01)`.
    pub fn label(self) -> String {
        let parameters: Vec<String> = self.parameters().iter().map(|v| format!("{v:?}")).collect();
        match &parameters[..] {
            [] => self.name().to_owned(),
            parameters => format!("{}({})", self.name(), parameters.join(", ")),
        }
    }
}

/// Equal if function and parameters are equal, bit by bit: -0 is not 0.
impl PartialEq for Activation {
    fn eq(&self, other: &Self) -> bool {
        let bits = |a: &Self| a.parameters().into_iter().map(f32::to_bits);
        self.name() == other.name() && bits(self).eq(bits(other))
    }
}

impl Eq for Activation {}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

/// Parses the text of a macro or a build script: `tanh`, `leaky_relu(0.01)`, `hard_sigmoid(0.2,
/// 0.5)`.
impl FromStr for Activation {
    type Err = ActivationError;

    fn from_str(text: &str) -> Result<Self, ActivationError> {
        let text = text.trim();
        let (name, list) = match text.split_once('(') {
            None => return Self::new(text, None, None),
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or(ActivationError::Text)?),
        };
        if Self::takes(name).is_none() {
            return Err(ActivationError::Name);
        }
        let mut numbers = [None; 2];
        for (i, text) in list.split(',').enumerate() {
            let number = parse_f32(text).map_err(|error| match error {
                NumberError::Text => ActivationError::Text,
                _ => ActivationError::Number(format!("{} is {error}", text.trim())),
            })?;
            *numbers.get_mut(i).ok_or(ActivationError::Surplus("a third number"))? = Some(number);
        }
        Self::new(name, numbers[0], numbers[1])
    }
}

impl fmt::Display for ActivationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => write!(
                f,
                "no activation has this name: there are {}",
                Activation::WRITTEN.join(", ")
            ),
            Self::Missing(parameter) => write!(f, "{parameter} is missing, which has no default"),
            Self::Surplus(parameter) => write!(f, "the activation does not take {parameter}"),
            Self::Number(problem) => f.write_str(problem),
            Self::Text => {
                f.write_str("neither a name nor a name with numbers: tanh, leaky_relu(0.01)")
            }
        }
    }
}

impl std::error::Error for ActivationError {}

#[cfg(test)]
mod tests {
    use super::{Activation, ActivationError};

    #[test]
    fn names_and_defaults() {
        for name in Activation::NAMES {
            let given = |n: usize| {
                (0..n).map(|i| 0.25 + i as f32).map(Some).chain([None, None]).collect::<Vec<_>>()
            };
            let takes = Activation::takes(name).expect("a listed name");
            for n in 0..=2 {
                let made = Activation::new(name, given(n)[0], given(n)[1]);
                if n > takes {
                    let surplus = super::PARAMETERS[n - 1];
                    assert_eq!(made, Err(ActivationError::Surplus(surplus)), "{name}");
                } else if name == "scaledtanh" && n < 2 {
                    assert_eq!(made, Err(ActivationError::Missing(super::PARAMETERS[n])));
                } else {
                    let made = made.expect("parameters that fit");
                    assert_eq!((made.name(), made.parameters().len()), (name, takes));
                    assert!(
                        made.parameters()
                            .iter()
                            .zip(given(n))
                            .all(|(p, g)| g.is_none_or(|g| g == *p)),
                        "{made}"
                    );
                }
            }
        }
        assert_eq!(Activation::WRITTEN.map(|name| name.replace('_', "")), Activation::NAMES);
        assert!(ActivationError::Name.to_string().contains("leaky_relu"));
        let default = |name| Activation::new(name, None, None).map(Activation::parameters);
        assert_eq!(default("HardSigmoid"), Ok(vec![0.2, 0.5]));
        assert_eq!(default(" leaky_relu "), Ok(vec![0.01]));
        assert_eq!(default("ThresholdedRelu"), Ok(vec![1.0]));
        assert_eq!(default("ELU"), Ok(vec![1.0]));
        assert_eq!(default("affine"), Ok(vec![1.0, 0.0]));
        assert_eq!(
            [default("exp"), default("log"), default("")],
            [const { Err(ActivationError::Name) }; 3]
        );
        // `wrong_parameters` decides whether parameters are legal, not the constructor
        assert_eq!(
            Activation::new("affine", Some(1.0), Some(f32::NAN)),
            Ok(Activation::Affine { alpha: 1.0, beta: f32::NAN })
        );
        assert_eq!(Activation::new("relu", None, Some(1.0)), Err(ActivationError::Surplus("beta")));
    }

    #[test]
    fn labels_lead_back() {
        let activations = [
            Activation::Relu,
            Activation::Softplus,
            Activation::LeakyRelu { alpha: -0.0 },
            Activation::Elu { alpha: 1e-45 },
            Activation::Affine { alpha: f32::MAX, beta: 0.1 },
            Activation::ScaledTanh { alpha: 1.7159, beta: 2.0 / 3.0 },
        ];
        for activation in activations {
            assert_eq!(activation.label().parse(), Ok(activation));
        }
        assert_ne!(Activation::LeakyRelu { alpha: 0.0 }, Activation::LeakyRelu { alpha: -0.0 });
        assert_eq!(Activation::LeakyRelu { alpha: 0.01 }.label(), "leakyrelu(0.01)");
    }

    #[test]
    fn texts() {
        assert_eq!(
            "hard_sigmoid(0.2, 0.5)".parse(),
            Ok(Activation::HardSigmoid { alpha: 0.2, beta: 0.5 })
        );
        assert_eq!(" Leaky_ReLU( 1e-3 ) ".parse(), Ok(Activation::LeakyRelu { alpha: 1e-3 }));
        for (text, error) in [
            ("softmax", ActivationError::Name),
            ("softmax(1)", ActivationError::Name),
            ("elu(", ActivationError::Text),
            ("elu()", ActivationError::Text),
            ("elu(x)", ActivationError::Text),
            ("elu(1)x", ActivationError::Text),
            ("elu(1, 2)", ActivationError::Surplus("beta")),
            ("elu(1, 2, 3)", ActivationError::Surplus("a third number")),
            ("elu(1e-60)", ActivationError::Number("1e-60 is 0 in f32".to_owned())),
            ("elu( 1e60 )", ActivationError::Number("1e60 is beyond the range of f32".to_owned())),
            ("scaled_tanh", ActivationError::Missing("alpha")),
            ("scaled_tanh(1)", ActivationError::Missing("beta")),
            ("exp", ActivationError::Name),
        ] {
            assert_eq!(text.parse::<Activation>(), Err(error), "{text}");
        }
    }
}
