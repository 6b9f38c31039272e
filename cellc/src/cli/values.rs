//! The values of options on the command line, with their help.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::request::{Accuracy, Fma, Language, Precision, Unroll, WeightsAs};

/// The rows of each option: a value, its name on the command line, and its help, which may be
/// empty.
macro_rules! values {
    ($($option:ident { $($value:ident = $name:literal, $help:literal;)* })*) => {
        $(
            impl ValueEnum for $option {
                fn value_variants<'a>() -> &'a [Self] {
                    &[$(Self::$value),*]
                }

                fn to_possible_value(&self) -> Option<PossibleValue> {
                    let mut rows = [$((Self::$value, $name, $help)),*].into_iter();
                    rows.find(|row| row.0 == *self).map(|(_, name, help)| {
                        let value = PossibleValue::new(name);
                        if help.is_empty() { value } else { value.help(help) }
                    })
                }
            }
        )*
    };
}

values! {
    Language {
        Rust = "rust", "";
        C = "c", "";
    }
    WeightsAs {
        Inline = "inline", "In the source";
        File = "file", "In a .bin file next to the source";
    }
    Unroll {
        Auto = "auto", "";
        Full = "full", "";
        None = "none", "";
    }
    Fma {
        Auto = "auto", "";
        Off = "off", "";
    }
    Accuracy {
        Exact = "exact", "At most 2.5 units in the last place";
        Fast = "fast", "A relative error of at most 2^-18; faster";
        Audio = "audio", "A relative error of at most 2^-15; faster still";
    }
    Precision {
        F32 = "f32", "Weights and products in f32";
        F16 = "f16", "Weights in binary16, products in f32";
        Bf16 = "bf16", "Weights in bfloat16, two in 32 bits; products in f32";
        Int16 = "int16",
            "Weights, x and h as integers of up to 16 bits, within ranges for which no sum exceeds \
             32 bits";
        Int8x16 = "int8x16", "Weights of 8 bits, x and h of up to 16";
        Int8 = "int8", "Weights, x and h of 8 bits";
    }
}
