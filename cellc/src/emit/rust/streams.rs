//! Independent streams in Rust: the state of a row, steps of active rows, steps of many states.

use super::RustFile;
use super::steps::zipped;
use crate::emit::elements::spelling;
use crate::emit::names::Field;
use crate::emit::signature::{Argument, Signature, StepTensor, Tensors};
use crate::emit::tensors::{self, flat};
use crate::emit::text::{List, Word, listed, part, when};

/// The largest state, in f32, that is `Copy`.
const LARGEST_COPY: usize = 1024;

/// The items for independent streams, and the methods of the struct.
pub(super) fn items(file: &RustFile<'_>, lists: &[List], words: &[Word]) -> String {
    let Some(streams) = file.interface.layout.streams else { return String::new() };
    let stream_words = Streams { file, streams };
    let lists = [stream_words.lists(), lists.to_vec()].concat();
    let words = [stream_words.words(), words.to_vec()].concat();
    listed(part(include_str!("text/streams.rs"), "streams"), &lists, &words)
}

/// A file of independent streams.
struct Streams<'f> {
    file: &'f RustFile<'f>,
    streams: usize,
}

impl Streams<'_> {
    /// Elements of a tensor in a row.
    fn len(&self, field: &Field) -> usize {
        field.len() / self.streams
    }

    /// The type of a row.
    fn row(&self, field: &Field) -> String {
        format!("[{}; {}]", spelling(field.element).rust, self.len(field))
    }

    /// The states in the struct, then the variables; true for variables.
    fn kept(&self) -> impl Iterator<Item = (&Field, bool)> {
        let pairs = self.file.states().map(|(state, _)| (state, false));
        pairs.chain(self.file.interface.variables.iter().map(|variable| (variable, true)))
    }

    fn lists(&self) -> Vec<List> {
        let pairs = self.file.states().map(|(state, output)| {
            let outputs = Signature::step(self.file.interface).outputs().expression(output);
            let rows = match flat(output) {
                true => format!("{outputs}.as_chunks::<{}>().0", self.len(output)),
                false => outputs,
            };
            [self.kept_words((state, false)), vec![("OUTPUT_ROWS", rows)]].concat()
        });
        let variables = self.kept().filter(|(_, is_variable)| *is_variable);
        let (inputs, outputs): (Vec<_>, Vec<_>) =
            self.file.interface.step_tensors().partition(|tensor| !tensor.written);
        let flat_inputs = inputs.iter().filter(|tensor| flat(tensor.field));
        let of_group = if self.is_in_place() { &[][..] } else { &outputs[..] };
        vec![
            ("flat inputs", flat_inputs.map(|tensor| self.input_words(tensor.field)).collect()),
            (
                "outputs of a group",
                of_group.iter().map(|tensor| self.output_words(tensor)).collect(),
            ),
            ("kept", self.kept().map(|kept| self.kept_words(kept)).collect()),
            ("kept in pairs", pairs.collect()),
            ("kept as variables", variables.map(|kept| self.kept_words(kept)).collect()),
            // a group of one row leaves no remaining rows
            when("several rows", self.streams > 1),
            ("many inputs", inputs.iter().map(|tensor| self.input_words(tensor.field)).collect()),
            ("many outputs", outputs.iter().map(|tensor| self.output_words(tensor)).collect()),
        ]
    }

    fn kept_words(&self, (field, is_variable): (&Field, bool)) -> Vec<Word> {
        let (name, len) = (&field.name, self.len(field));
        let kind = if is_variable { "variable" } else { "state" };
        let path = format!("self.{}{name}", if is_variable { "state." } else { "" });
        let (rows, rows_mut) = match is_variable || flat(field) {
            false => (path.clone(), path),
            true => (
                format!("{path}.as_chunks::<{len}>().0"),
                format!("{path}.as_chunks_mut::<{len}>().0"),
            ),
        };
        let given = match !is_variable && self.file.is_flushed_before(field) {
            true => format!("flushed(&row_state.{name})"),
            false => format!("row_state.{name}"),
        };
        let first = match is_variable {
            true => format!(
                "state.{name}.as_chunks::<{len}>().0.first().copied().unwrap_or([0.0; {len}])"
            ),
            false => format!("[0.0; {len}]"),
        };
        vec![
            ("FIELD_ROWS_MUT", rows_mut),
            ("FIELD_ROWS", rows),
            ("FIELD_GIVEN", given),
            ("FIELD_KIND", kind.to_owned()),
            ("FIRST_ROW", first),
            ("ROW_LEN", len.to_string()),
            ("FIELD", name.clone()),
        ]
    }

    /// The words for the rows of an input.
    fn input_words(&self, field: &Field) -> Vec<Word> {
        let rows = if flat(field) { "rows.as_chunks_mut().0" } else { "rows" };
        vec![
            ("ROWS_ZERO", tensors::zero(field)),
            ("rows_MUT", rows.to_owned()),
            ("FIELD", field.name.clone()),
        ]
    }

    /// True if a step writes the rows of a group in place: for a single output with rows.
    fn is_in_place(&self) -> bool {
        matches!(&self.file.interface.outputs[..], [one] if !flat(one))
    }

    fn output_words(&self, tensor: &StepTensor<'_>) -> Vec<Word> {
        let field = tensor.field;
        let from = match Signature::step(self.file.interface).outputs().record {
            Some(_) => format!("outputs.{}", field.name),
            None => "outputs".to_owned(),
        };
        let rows = if flat(field) { format!("{from}.as_chunks().0") } else { format!("&{from}") };
        vec![("FROM_ROWS", rows), ("FIELD", field.name.clone())]
    }

    fn words(&self) -> Vec<Word> {
        let interface = self.file.interface;
        let total: usize = self.kept().map(|(field, _)| self.len(field)).sum();
        let chained = |each: &str| {
            let (first, others) =
                self.kept().fold((String::new(), String::new()), |so_far, kept| {
                    let name = &kept.0.name;
                    match so_far {
                        (first, _) if first.is_empty() => {
                            (format!("{name}.{each}()"), String::new())
                        }
                        (first, others) => {
                            (first, format!("{others}.chain(STATE.{name}.{each}())"))
                        }
                    }
                });
            first + &others
        };
        let params = interface.step_tensors().map(|tensor| {
            let mutable = if tensor.written { "mut " } else { "" };
            format!("{}: &{mutable}[{}]", tensor.field.name, self.row(tensor.field))
        });
        let unequal = interface
            .step_tensors()
            .map(|tensor| format!("{}.len() != states.len()", tensor.field.name));
        let chunks: Vec<_> = interface
            .step_tensors()
            .map(|tensor| {
                let mutable = if tensor.written { "_mut" } else { "" };
                let name = tensor.field.name.clone();
                let rows = self.streams;
                let chunks = format!("{name}.as_chunks{mutable}::<{rows}>().0.iter{mutable}()");
                (name, chunks)
            })
            .collect();
        let (names, places) = zipped(&chunks);
        let step = Signature::step(interface);
        let outputs = match step.outputs() {
            Tensors { record: Some(record), .. } => format!("{record}::new()"),
            Tensors { fields, .. } => tensors::zero(fields[0]),
        };
        let args = step.spelled(|argument| match argument {
            Argument::Inputs(tensors) => tensors.value(|field| field.name.clone()),
            Argument::Outputs(_) => "&mut outputs".to_owned(),
            other => other.name().to_owned(),
        });
        let outputs = format!("let mut outputs = {outputs};");
        let of_group = match self.is_in_place() {
            true => args.replace("&mut outputs", &interface.outputs[0].name),
            false => args.clone(),
        };
        let kept = self.kept().map(|(field, _)| (&*field.name, self.len(field)));
        let hash = self.file.state_hash(kept);
        vec![
            ("TAKEN_SELF", if total <= LARGEST_COPY { "self" } else { "&self" }.to_owned()),
            ("COPIED", if total <= LARGEST_COPY { "Copy," } else { "" }.to_owned()),
            ("ROW_BYTES", (8 + 4 * total).to_string()),
            ("LAYOUT_HASH", format!("[{:?}, {:?}]", &hash[..4], &hash[4..])),
            ("KEPT_CHAINED_MUT", chained("iter_mut").replace("STATE", "state")),
            ("KEPT_CHAINED", chained("iter").replace("STATE", "self")),
            ("STREAM_COUNT", self.streams.to_string()),
            ("MANY_PARAMETERS: ()", params.collect::<Vec<_>>().join(", ")),
            ("MANY_NAMES", names),
            ("MANY_PLACES", places),
            ("OUTPUTS_OF_GROUP;", if self.is_in_place() { String::new() } else { outputs.clone() }),
            ("STEP_OF_GROUP;", format!("self.step_rows(states, {of_group});")),
            ("MANY_STEP;", format!("self.step_rows(states, {args});")),
            ("UNEQUAL", unequal.collect::<Vec<_>>().join(" || ")),
            ("OUTPUTS;", outputs),
        ]
    }
}
