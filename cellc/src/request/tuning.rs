//! Decisions of the planner that users make.

use super::Options;

words! {
    /// How far to unroll loops.
    #[non_exhaustive]
    pub enum Unroll {
        /// The planner decides.
        Auto = "auto",
        /// No loops.
        Full = "full",
        /// Never beyond the tile: the smallest code.
        None = "none",
    }
}

/// The type of a decision: a number, or on and off.
trait Decision: Copy + Sized {
    /// The values in the help.
    const VALUES: &'static str;

    /// Reads a value.
    ///
    /// # Errors
    /// The valid values, if `text` is not valid.
    fn read(key: &str, text: &str) -> Result<Self, String>;

    /// The value as on the command line.
    fn text(self) -> String;
}

impl Decision for usize {
    const VALUES: &'static str = "N";

    fn read(_key: &str, text: &str) -> Result<Self, String> {
        super::flag::positive(text)
    }

    fn text(self) -> String {
        self.to_string()
    }
}

impl Decision for bool {
    const VALUES: &'static str = "on|off";

    fn read(key: &str, text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(format!("{key} is on or off")),
        }
    }

    fn text(self) -> String {
        if self { "on" } else { "off" }.to_owned()
    }
}

/// A key of `--tune`: a decision that users can take from the planner.
pub struct TuningKey {
    /// The key on the command line.
    pub name: &'static str,
    /// The values in the help.
    pub values: &'static str,
    /// The decision: a noun phrase for a number, a condition for on and off.
    pub help: &'static str,
    /// Reads a value and stores it.
    set: fn(&mut Tuning, &str) -> Result<(), String>,
    /// The stored value. `None`: the planner decides.
    given: fn(&Tuning) -> Option<String>,
}

/// The beginning of a decision's doc comment.
macro_rules! doc_of {
    (usize) => {
        "Number of "
    };
    (bool) => {
        "True if "
    };
}

/// Defines [`Tuning`] with a field, a setter and a [`TuningKey`] for each decision.
macro_rules! decisions {
    ($($field:ident, $with:ident: $type:ident = $key:literal, $help:literal;)*) => {
        /// Decisions of the planner; `None` leaves a decision to the planner. Results keep their
        /// bits.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Tuning {
            /// How far to unroll loops.
            pub unroll: Unroll,
            $(#[doc = concat!(doc_of!($type), $help, ".")] pub $field: Option<$type>,)*
        }

        /// The keys of `--tune`.
        pub const TUNING_KEYS: &[TuningKey] = &[$(TuningKey {
            name: $key,
            values: <$type as Decision>::VALUES,
            help: $help,
            set: |tuning, text| {
                tuning.$field = Some(Decision::read($key, text)?);
                Ok(())
            },
            given: |tuning| tuning.$field.map(Decision::text),
        }),*];

        impl Tuning {
            /// Sets how far to unroll loops.
            #[must_use]
            pub fn with_unroll(self, unroll: Unroll) -> Self {
                Self { unroll, ..self }
            }

            $(
                #[doc = concat!("Sets `", $key, "`: ", $help, ".")]
                #[must_use]
                pub fn $with(self, $field: Option<$type>) -> Self {
                    Self { $field, ..self }
                }
            )*
        }
    };
}

decisions! {
    panel_columns, with_panel_columns: usize = "panel-columns",
        "neighbouring units whose weights are packed together";
    rows_at_once, with_rows_at_once: usize = "rows-at-once",
        "batch rows or time steps multiplied per loaded weight";
    alternate, with_alternate: bool = "alternate",
        "every other step reads the panels from last to first";
    input_first, with_input_first: bool = "input-first",
        "W·x of all time steps is computed before the recurrence";
    fuse, with_fuse: bool = "fuse",
        "pointwise operations join the kernel of their operand";
    branches, with_branches: bool = "branches",
        "an If computes only the taken side, even if both sides are small";
    halves, with_halves: bool = "halves",
        "two threads share a cell, with `--threads 2`";
    sparse, with_sparse: bool = "sparse",
        "products leave out blocks of zero weights";
    tiles, with_tiles: bool = "tiles",
        "AMX multiplies integers";
}

impl Tuning {
    /// Reads KEY=VALUE and stores the value.
    pub(super) fn set(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').ok_or("not of the form KEY=VALUE")?;
        let Some(key) = TUNING_KEYS.iter().find(|key| key.name == name) else {
            let names: Vec<&str> = TUNING_KEYS.iter().map(|key| key.name).collect();
            return Err(format!("the keys are {}", names.join(", ")));
        };
        if (key.given)(self).is_some() {
            return Err(format!("{name} is given twice"));
        }
        (key.set)(self, value)
    }

    /// The decisions that users made, each as KEY=VALUE.
    pub(super) fn given(&self) -> Vec<String> {
        let chosen = |key: &TuningKey| Some(format!("{}={}", key.name, (key.given)(self)?));
        TUNING_KEYS.iter().filter_map(chosen).collect()
    }
}

impl Options {
    /// Decisions of the planner.
    #[must_use]
    pub fn with_tuning(self, tuning: Tuning) -> Self {
        Self { tuning, ..self }
    }
}
