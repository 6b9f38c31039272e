//! Corpus cases, compiled to C.

use std::fs;
use std::path::{Path, PathBuf};

use cellc::internals::compile::{Compilation, compile};
use cellc::{Language, Options};
use cellc_tests::corpus;

/// The corpus.
pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// A case, compiled to C under the name `net`.
pub(crate) fn compiled(case: &str, options: &Options) -> Compilation {
    let corpus_case = corpus::case(case);
    let model = corpus_case.fixed(&corpus_case.runs.last().expect("a case has runs").shapes);
    let mut options = options.clone().with_language(Language::C);
    options.output.name.get_or_insert_with(|| "net".to_owned());
    compile(&model, &options).unwrap_or_else(|problems| panic!("{case}: {problems:?}"))
}

/// Writes a compilation's files as `<stem>.c`, `<stem>.h` and, if there is one, the file of
/// weights.
pub(crate) fn write(folder: &Path, compilation: &Compilation, stem: &str) {
    for file in compilation.emit(stem) {
        fs::write(folder.join(&file.name), &*file.bytes).expect("the folder can be written to");
    }
}
