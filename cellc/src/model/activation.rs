/// An activation function by name; what it computes stands in [`crate::activation`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// max(v, 0)
    Relu,
    /// 1 / (1 + exp(-v))
    Sigmoid,
    /// tanh(v)
    Tanh,
}

impl Activation {
    /// Every activation, in the order in which messages list them.
    pub const ALL: [Self; 3] = [Self::Relu, Self::Sigmoid, Self::Tanh];

    /// Its lower-case name, as OpenVINO writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relu => "relu",
            Self::Sigmoid => "sigmoid",
            Self::Tanh => "tanh",
        }
    }

    /// The activation of that name; letter case and surrounding space do not matter.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim();
        Self::ALL.into_iter().find(|a| a.name().eq_ignore_ascii_case(name))
    }
}
