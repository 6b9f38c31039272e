//! The table of functions of one floating-point number.

use std::fmt;

use super::{Activation, CurveShape};

/// The table of functions other than activations. A row has the meaning, the name and the shape of
/// the curve.
macro_rules! functions {
    ($($(#[$meaning:meta])* $function:ident $name:literal $curve:ident)*) => {
        /// A function of one floating-point number, as in C's `math.h`: an activation of a cell, or
        /// a function for models only. `crate::math` has its value, its arithmetic and its error
        /// bounds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum MathFunction {
            /// An activation function.
            Activation(Activation),
            $($(#[$meaning])* $function,)*
        }

        impl MathFunction {
            /// Every function other than activations.
            #[cfg(test)]
            pub(crate) const OTHERS: [Self; [$($name),*].len()] = [$(Self::$function),*];

            /// The lower-case name.
            pub fn name(self) -> &'static str {
                match self {
                    Self::Activation(activation) => activation.name(),
                    $(Self::$function => $name,)*
                }
            }

            /// The shape of the curve.
            pub(crate) fn curve(self) -> CurveShape {
                match self {
                    Self::Activation(activation) => activation.curve(),
                    $(Self::$function => CurveShape::$curve,)*
                }
            }

            /// The function with a [`Self::label`]. `None` for other texts.
            pub(crate) fn from_label(label: &str) -> Option<Self> {
                match label {
                    $($name => Some(Self::$function),)*
                    _ => label.parse().ok().map(Self::Activation),
                }
            }
        }
    };
}

functions! {
    /// exp(v)
    Exp "exp" Curve
    /// log(v)
    Log "log" Curve
    /// v v
    Square "square" Curve
    /// the root of v
    Sqrt "sqrt" Curve
    /// the largest whole number that is not above v
    Floor "floor" Stairs
    /// the whole number that is nearest to v, the even one of two
    Round "round" Stairs
    /// v without its fraction
    Truncate "truncate" Stairs
    /// the error function of v
    Erf "erf" Curve
    /// the sine of v
    Sin "sin" Curve
    /// the cosine of v
    Cos "cos" Curve
    /// the arc tangent of v
    Atan "atan" Curve
}

impl MathFunction {
    /// The parameters of an activation: none, alpha, or alpha and beta. None for other functions.
    pub(crate) fn parameters(self) -> Vec<f32> {
        match self {
            Self::Activation(activation) => activation.parameters(),
            _ => Vec::new(),
        }
    }

    /// The name and the parameters, to the last bit: `exp`, `leakyrelu(0.01)`.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Activation(activation) => activation.label(),
            _ => self.name().to_owned(),
        }
    }
}

impl From<Activation> for MathFunction {
    fn from(activation: Activation) -> Self {
        Self::Activation(activation)
    }
}

impl fmt::Display for MathFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::MathFunction;

    #[test]
    fn labels_lead_back() {
        for function in MathFunction::OTHERS {
            assert_eq!(MathFunction::from_label(&function.label()), Some(function));
        }
        assert_eq!(MathFunction::from_label("softmax"), None);
    }
}
