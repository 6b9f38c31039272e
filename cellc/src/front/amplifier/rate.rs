//! Sample rates: the rate of a model, and another rate of the generated code.

use super::json::Json;
use super::refusal;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Severity, message};
use crate::front::state_delay::StateDelay;
use crate::model::LedgerEntry;

/// The largest rate of a model, in Hz.
const MOST_RATE: u32 = 1 << 24;

/// The largest quotient of the rate of the code and the rate of the model.
const MOST_QUOTIENT: usize = 64;

/// The rates of a model and of the generated code, in Hz.
#[derive(Clone, Copy)]
pub(super) struct Rates {
    model: u64,
    code: u64,
}

impl Rates {
    /// Code at the rate of the model: 1 stands for both rates.
    pub(super) const EQUAL: Self = Self { model: 1, code: 1 };

    /// The rates of a model and of its code. `stored`: the keys of the file that give the rate,
    /// each with its value. `default`: the rate of a file without these keys. `code`: the rate of
    /// the code, `None` for the rate of the model. Without `code`, the result does not depend on a
    /// stored rate, and an invalid stored rate is a warning.
    ///
    /// # Errors
    /// If a rate of the code is given, and a rate of the file is invalid or missing, two rates
    /// differ, or the code's rate is too far above the model's.
    pub(super) fn new(
        stored: &[(&str, Json)],
        default: Option<u64>,
        code: Option<usize>,
        warnings: &mut Diagnostics,
    ) -> Result<Self, Diagnostic> {
        let model = stored_rate(stored);
        let Some(code) = code else {
            let wrong = model.err().into_iter();
            warnings.extend(Diagnostics(
                wrong.map(|wrong| Diagnostic { severity: Severity::Warning, ..wrong }).collect(),
            ));
            return Ok(Self::EQUAL);
        };
        let setting = super::super::sample_rate_setting();
        let Some(model) = model?.or(default) else {
            let found = message!("{} is given, and the file has no sample rate", setting);
            return Err(refusal("", found)
                .valid("a \"samplerate\" in the file")
                .help("add the rate of the recordings, \"samplerate\": 48000, to the file"));
        };
        let most = model * MOST_QUOTIENT as u64;
        match u64::try_from(code) {
            Ok(code) if code <= most => Ok(Self { model, code }),
            _ => {
                let found = format!("code at {code} Hz of a model at {model} Hz");
                let refused = refusal("", found).valid(format!("at most {most} Hz"));
                Err(refused.help(message!("correct {}", setting)))
            }
        }
    }

    /// The distance of the taps of a convolution, in samples of the code.
    ///
    /// # Errors
    /// If the distance is no whole number.
    pub(super) fn dilation(self, dilation: usize, key_path: &str) -> Result<usize, Diagnostic> {
        let Self { model, code } = self;
        let scaled = dilation as u64 * code;
        if scaled.is_multiple_of(model) {
            return Ok(usize::try_from(scaled / model).unwrap_or(usize::MAX));
        }
        let found = format!(
            "a dilation of {dilation} at {model} Hz is {} samples at {code} Hz",
            scaled as f64 / model as f64
        );
        let refused = refusal(key_path, found).valid("dilations that stay whole numbers");
        Err(refused.help(self.advice()))
    }

    /// Number of values of earlier samples at the rate of the code. `past`: the number at the rate
    /// of the model.
    pub(super) fn past(self, past: u64) -> u64 {
        past.saturating_mul(self.code) / self.model
    }

    /// The delay of the states of recurrent layers.
    ///
    /// # Errors
    /// If the code's rate is below the model's.
    pub(super) fn state_delay(self) -> Result<StateDelay, Diagnostic> {
        let Self { model, code } = self;
        if code < model {
            let found = format!("a recurrent layer at {model} Hz, computed at {code} Hz");
            let refused = refusal("", found).valid(format!(
                "{model} Hz or more: the state of one sample of the model ago lies between two \
                 states of the code"
            ));
            return Err(refused.help(self.advice()));
        }
        Ok(StateDelay {
            steps: usize::try_from(code / model).unwrap_or(usize::MAX),
            fraction: (code % model) as f32 / model as f32,
        })
    }

    fn advice(self) -> String {
        let Self { model, .. } = self;
        format!("compile the model at {model} Hz or a multiple of it, and let the host resample")
    }

    /// The rate of the code, in Hz. `None` for the model's.
    pub(super) fn code_rate(self) -> Option<u64> {
        Some(self.code).filter(|code| *code != self.model)
    }

    /// The ledger entry for code at another rate than the model's.
    pub(super) fn ledger(self) -> Option<LedgerEntry> {
        self.code_rate().map(|code| LedgerEntry {
            attribute: "sample_rate of the code".to_owned(),
            text: Some(code.to_string()),
            meaning: format!("dilations and states are those of a model at {} Hz", self.model),
            origin: Origin::Unknown,
        })
    }
}

/// The rate in a file, in Hz. `None` without a key.
///
/// # Errors
/// If a rate is invalid, or two rates differ.
fn stored_rate(stored: &[(&str, Json)]) -> Result<Option<u64>, Diagnostic> {
    let mut model = None;
    for (key, value) in stored {
        let key_path = format!("\"{key}\"");
        let valid = || format!("a whole number of Hz from 1 to {MOST_RATE}");
        let rate = hertz(value).ok_or_else(|| {
            refusal(&key_path, format!("the sample rate is {value}")).valid(valid())
        })?;
        if let Some(other) = model.filter(|other| *other != rate) {
            let found = format!("a sample rate of {rate} Hz and one of {other} Hz");
            return Err(refusal(&key_path, found).valid("one sample rate"));
        }
        model = Some(rate);
    }
    Ok(model)
}

/// The whole number of Hz in a number or a text.
fn hertz(value: &Json) -> Option<u64> {
    let rate = match value {
        Json::Number(rate) => *rate,
        Json::Text(text) => text.parse().ok()?,
        _ => return None,
    };
    let is_legal = rate.fract() == 0.0 && (1.0..=f64::from(MOST_RATE)).contains(&rate);
    is_legal.then_some(rate as u64)
}
