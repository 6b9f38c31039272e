//! Fields of [`Options`](super::Options) as texts of the command line.

use std::path::PathBuf;

use super::bindings::{is_size, shape_text};
use super::{Bindings, Precision, Range, Tuning, Words, listed, size_text};
use crate::arch::{self, Arch, Isa};
use crate::model::ModelSize;

/// A field that a flag sets.
pub(super) trait FlagField {
    /// Stores a value, or adds it if the flag may be repeated. A switch has the value "".
    ///
    /// # Errors
    /// The valid values, if the text is not valid.
    fn set(&mut self, text: &str) -> Result<(), String>;

    /// The values other than the default, as [`Self::set`] takes them.
    fn given(&self) -> Vec<String>;
}

impl FlagField for bool {
    fn set(&mut self, _text: &str) -> Result<(), String> {
        *self = true;
        Ok(())
    }

    fn given(&self) -> Vec<String> {
        self.then(String::new).into_iter().collect()
    }
}

impl<T: Words> FlagField for T {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = T::from_word(text).ok_or_else(words_of::<T>)?;
        Ok(())
    }

    fn given(&self) -> Vec<String> {
        (*self != T::default()).then(|| self.word().to_owned()).into_iter().collect()
    }
}

/// The value of an optional field.
trait SingleValue: Sized {
    fn read(text: &str) -> Result<Self, String>;
    fn text(&self) -> String;
}

impl<T: SingleValue> FlagField for Option<T> {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Some(T::read(text)?);
        Ok(())
    }

    fn given(&self) -> Vec<String> {
        self.iter().map(T::text).collect()
    }
}

impl SingleValue for usize {
    fn read(text: &str) -> Result<Self, String> {
        positive(text)
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl SingleValue for String {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn text(&self) -> String {
        self.clone()
    }
}

impl SingleValue for PathBuf {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }

    fn text(&self) -> String {
        self.to_string_lossy().into_owned()
    }
}

impl SingleValue for ModelSize {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn text(&self) -> String {
        ModelSize::text(*self)
    }
}

impl SingleValue for Precision {
    fn read(text: &str) -> Result<Self, String> {
        Self::from_word(text).ok_or_else(words_of::<Self>)
    }

    fn text(&self) -> String {
        self.name().to_owned()
    }
}

/// A value for a name of the model: a layer, an input or a dimension.
trait NamedValue: Sized {
    fn read(text: &str) -> Result<(String, Self), String>;
    fn text(&self) -> String;
}

impl<T: NamedValue> FlagField for Vec<(String, T)> {
    fn set(&mut self, text: &str) -> Result<(), String> {
        self.push(T::read(text)?);
        Ok(())
    }

    fn given(&self) -> Vec<String> {
        self.iter().map(|(name, value)| format!("{name}={}", value.text())).collect()
    }
}

/// The shape of an input.
impl NamedValue for Vec<Option<usize>> {
    fn read(text: &str) -> Result<(String, Self), String> {
        // split at the last '=': names may contain '=', sizes cannot
        let (name, sizes) =
            text.rsplit_once('=').ok_or("an input's name, '=' and its sizes are needed: x=1,16")?;
        let size = |text: &str| if text == "?" { Ok(None) } else { positive(text).map(Some) };
        let sizes = sizes.split(',').map(|text| size(text.trim())).collect::<Result<_, _>>()?;
        Ok((name.to_owned(), sizes))
    }

    fn text(&self) -> String {
        shape_text(self)
    }
}

/// The size of a dimension.
impl NamedValue for Option<usize> {
    fn read(text: &str) -> Result<(String, Self), String> {
        Bindings::dim_of(text)
    }

    fn text(&self) -> String {
        size_text(*self)
    }
}

/// The number of a constant input.
impl NamedValue for String {
    fn read(text: &str) -> Result<(String, Self), String> {
        Bindings::constant_of(text)
    }

    fn text(&self) -> String {
        self.clone()
    }
}

/// The precision of a layer.
impl NamedValue for Precision {
    fn read(text: &str) -> Result<(String, Self), String> {
        Self::of_layer(text)
    }

    fn text(&self) -> String {
        self.name().to_owned()
    }
}

impl FlagField for &'static Arch {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Arch::from_name(text).ok_or("the name of a target is needed")?;
        Ok(())
    }

    fn given(&self) -> Vec<String> {
        (self.name != arch::TARGETS[0].name).then(|| self.name.to_owned()).into_iter().collect()
    }
}

impl FlagField for Option<Vec<&'static Isa>> {
    fn set(&mut self, text: &str) -> Result<(), String> {
        let isa = Isa::from_name(text);
        let isa = isa.ok_or_else(|| arch::ALL.map(|isa| isa.name).join(", "))?;
        self.get_or_insert_default().push(isa);
        Ok(())
    }

    fn given(&self) -> Vec<String> {
        let names = |isas: &Vec<&Isa>| isas.iter().map(|isa| isa.name).collect::<Vec<_>>();
        self.iter().map(|isas| names(isas).join(",")).collect()
    }
}

impl FlagField for Tuning {
    fn set(&mut self, text: &str) -> Result<(), String> {
        Tuning::set(self, text)
    }

    fn given(&self) -> Vec<String> {
        let choices = Tuning::given(self).join(",");
        (!choices.is_empty()).then_some(choices).into_iter().collect()
    }
}

impl FlagField for Range {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Self::read(text)?;
        Ok(())
    }

    fn given(&self) -> Vec<String> {
        let text = || format!("{},{}", self.x, self.h);
        (*self != Self::default()).then(text).into_iter().collect()
    }
}

/// The words of an option, in a sentence.
fn words_of<T: Words>() -> String {
    listed(&T::words().iter().map(|word| word.text).collect::<Vec<_>>())
}

/// Reads a number above 0.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size) if is_size(size) => Ok(size),
        Ok(size) => Err(format!("{size} is no size: at least 1 is needed")),
        Err(_) => Err("a whole number from 1 is needed".to_owned()),
    }
}
