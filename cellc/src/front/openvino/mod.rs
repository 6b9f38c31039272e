//! OpenVINO IR: `model.xml` and the `model.bin` beside it.

mod lower;
mod weights;
mod xml;

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::model::{InputFile, Model};
use weights::{Place, Weights};

/// Reads an IR from files. The second part of what is returned holds the warnings.
///
/// Constants are looked up in `weights`, or else in the file beside `xml` that has the same stem and the extension
/// `bin`; it is opened only if a constant needs it.
///
/// # Errors
/// Everything that is wrong with the files.
pub fn read(xml: &Path, weights: Option<&Path>) -> Result<(Model, Diagnostics), Diagnostics> {
    let bytes = weights::read_file(xml, xml::LARGEST_TEXT as u64)
        .map_err(|e| Diagnostic::error(Origin::Unknown, format!("cannot read {}: {e}", quoted(&xml.to_string_lossy()))))
        .map_err(|d| Diagnostics(vec![d.valid("the .xml file of a model that OpenVINO saved")]))?;
    let place = match weights {
        Some(path) => Place::Given(path.to_owned()),
        None => Place::Beside(xml.with_extension("bin")),
    };
    read_from(&xml.to_string_lossy(), &file_name(xml), &bytes, Weights::new(place))
}

/// Reads an IR from memory, without touching the file system. `weights` is the name and the contents of the `.bin` file.
///
/// # Errors
/// Everything that is wrong with the bytes.
pub fn read_bytes(
    name: &str,
    xml: &[u8],
    weights: Option<(&str, Vec<u8>)>,
) -> Result<(Model, Diagnostics), Diagnostics> {
    let place = match weights {
        Some((name, bytes)) => Place::Memory(name.to_owned(), bytes),
        None => Place::Nowhere,
    };
    read_from(name, &file_name(Path::new(name)), xml, Weights::new(place))
}

fn read_from(path: &str, name: &str, bytes: &[u8], mut weights: Weights) -> Result<(Model, Diagnostics), Diagnostics> {
    let document = xml::Document::parse(path, bytes).map_err(|d| Diagnostics(vec![d]))?;
    let (mut model, diagnostics) = lower::lower(&document, &mut weights);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    model.files.push(InputFile { name: name.to_owned(), sha256: sha256(bytes) });
    model.files.extend(weights.into_file());
    Ok((model, diagnostics))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::model::CellKind;
    use crate::options::Options;
    use crate::validate::validate;

    #[test]
    fn the_corpus_is_read() {
        let corpus = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus"));
        let mut cases = 0;
        for case in std::fs::read_dir(corpus).unwrap() {
            let case = case.unwrap().path();
            let name = case.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("gru_cell_") && !name.starts_with("rnn_cell_") {
                continue;
            }
            cases += 1;
            let (model, warnings) = read(&case.join("model.xml"), None).unwrap_or_else(|d| panic!("{name}: {d:?}"));
            assert_eq!(warnings, Diagnostics::default(), "{name}");
            let batch = (name == "gru_cell_batchdyn").then_some(3);
            let options = Options { batch, ..Options::default() };
            let (valid, warnings) = validate(&model, &options).unwrap_or_else(|d| panic!("{name}: {d:?}"));
            assert_eq!(warnings, Diagnostics::default(), "{name}");
            assert_eq!(valid.cells.len(), 1, "{name}");
            assert_eq!(valid.states.len(), 1, "{name}");
            assert_eq!(valid.files.len(), if name == "gru_cell_params" { 1 } else { 2 }, "{name}");
            assert_eq!(valid.cells[0].kind == CellKind::Rnn, name.starts_with("rnn"), "{name}");
        }
        assert!(cases > 0);
    }
}
