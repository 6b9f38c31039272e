//! The sizes of an amplifier model.

use super::parse_f32;

/// The size that is compiled of an amplifier model with several sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelSize {
    /// The largest size.
    Largest,
    /// The smallest size.
    Smallest,
    /// The size that Neural Amp Modeler takes at this place of its size control, from 0 to 1.
    Control(f32),
}

impl ModelSize {
    /// True unless the place of the size control is below 0, above 1 or NaN.
    pub(crate) fn is_legal(self) -> bool {
        match self {
            Self::Control(control) => (0.0..=1.0).contains(&control),
            Self::Largest | Self::Smallest => true,
        }
    }

    /// Reads a size as on the command line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "largest" => Ok(Self::Largest),
            "smallest" => Ok(Self::Smallest),
            _ => match parse_f32(text).map(Self::Control) {
                Ok(size) if size.is_legal() => Ok(size),
                _ => Err("largest, smallest or a number from 0 to 1 is needed".to_owned()),
            },
        }
    }

    /// The size as on the command line.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Largest => "largest".to_owned(),
            Self::Smallest => "smallest".to_owned(),
            Self::Control(control) => control.to_string(),
        }
    }
}
