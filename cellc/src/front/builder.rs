//! The build script's way in.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::declared::{CellWeights, DeclaredCell, Said, in_words_of};
use crate::Error;
use crate::compile::{Compilation, compile};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::emit::OutputFile;
use crate::files::{self, NewFile};
use crate::model::{Activation, Model, Tensor};
use crate::options::{Fma, Language, Options, Range, State, Unroll, WeightsAs};
use crate::target::Isa;

/// Compiles a model in a build script, into `OUT_DIR`.
///
/// ```no_run
/// # #[cfg(feature = "openvino")]
/// fn main() -> Result<(), cellc::Error> {
///     cellc::Builder::new("model/denoiser.xml").name("denoiser").compile()?;
///     Ok(())
/// }
/// # #[cfg(not(feature = "openvino"))]
/// # fn main() {}
/// ```
///
/// writes `denoiser.rs`, which the crate brings in by `cellc_runtime::include_model!("denoiser")` and which
/// implements `cellc_runtime::Cell`. Cargo is told to run the build script again when the `.xml` or the `.bin` changes.
///
/// A cell can also be declared rather than read. Its weights are given here, or at run time if they are not:
///
/// ```no_run
/// # fn main() -> Result<(), cellc::Error> {
/// cellc::Builder::gru(128, 16).linear_before_reset(true).clip(3.0).name("denoiser").compile()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    source: Source,
    options: Options,
    out_dir: Option<PathBuf>,
    problems: Diagnostics,
}

#[derive(Clone, Debug)]
enum Source {
    #[cfg(feature = "openvino")]
    File { xml: PathBuf, weights: Option<PathBuf> },
    Cell {
        cell: Box<DeclaredCell>,
        /// W, R and B as they were given.
        weights: Option<[Vec<f32>; 3]>,
    },
}

fn unplaced<T>(value: T) -> Said<T> {
    Said { value, origin: Origin::Unknown }
}

impl Builder {
    /// A model in a file: the `.xml` of an OpenVINO IR, relative to the folder of Cargo.toml.
    ///
    /// Its weights are read from the `.bin` beside it, unless [`Builder::weights`] names another file.
    #[cfg(feature = "openvino")]
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self::of(Source::File { xml: model.into(), weights: None })
    }

    /// A GRU cell: `x [batch, input_size]`, `h [batch, hidden_size]`, gates z, r, h.
    ///
    /// Equations, gate order and layout of the weights are those of OpenVINO's GRUCell-3.
    pub fn gru(hidden_size: usize, input_size: usize) -> Self {
        Self::declared("Builder::gru", true, hidden_size, input_size)
    }

    /// An RNN cell: `x [batch, input_size]`, `h [batch, hidden_size]`, one gate.
    ///
    /// Equation and layout of the weights are those of OpenVINO's RNNCell-3.
    pub fn rnn(hidden_size: usize, input_size: usize) -> Self {
        Self::declared("Builder::rnn", false, hidden_size, input_size)
    }

    fn declared(declared_by: &'static str, gru: bool, hidden_size: usize, input_size: usize) -> Self {
        let cell = DeclaredCell {
            name: unplaced(if gru { "gru" } else { "rnn" }.to_owned()),
            declared_by,
            gru,
            hidden_size: unplaced(hidden_size),
            input_size: unplaced(input_size),
            batch: None,
            linear_before_reset: None,
            clip: None,
            activations: None,
            weights: None,
        };
        Self::of(Source::Cell { cell: Box::new(cell), weights: None })
    }

    fn of(source: Source) -> Self {
        let options = Options { runtime: true, ..Options::default() };
        Self { source, options, out_dir: None, problems: Diagnostics::default() }
    }

    /// The cell, for an attribute that only a declared cell takes.
    #[cfg_attr(not(feature = "openvino"), expect(unused_variables, reason = "every cell is declared"))]
    fn attribute(mut self, name: &str, set: impl FnOnce(&mut DeclaredCell)) -> Self {
        match &mut self.source {
            Source::Cell { cell, .. } => set(cell),
            #[cfg(feature = "openvino")]
            Source::File { xml, .. } => self.problems.push(
                Diagnostic::error(Origin::Unknown, format!("`{name}` is set, and {} has its own", xml.display()))
                    .help(format!("remove `.{name}(..)`: attributes are read from the file")),
            ),
        }
        self
    }

    fn option(mut self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.options);
        self
    }

    /// Where the reset gate of a declared GRU stands: true, after the matrix product (PyTorch, Keras `reset_after`); false
    /// (default, as in OpenVINO), before it.
    pub fn linear_before_reset(mut self, after: bool) -> Self {
        if let Source::Cell { cell, .. } = &self.source
            && !cell.gru
        {
            self.problems.push(
                Diagnostic::error(Origin::Unknown, "`linear_before_reset` is set on an RNN cell")
                    .help("an RNN cell has no reset gate; a cell that has one is declared by `Builder::gru`"),
            );
            return self;
        }
        self.attribute("linear_before_reset", |cell| cell.linear_before_reset = Some(unplaced(after)))
    }

    /// The bound on every pre-activation sum of a declared cell. As in OpenVINO, one that is not positive and finite is none.
    pub fn clip(self, bound: f32) -> Self {
        self.attribute("clip", |cell| cell.clip = Some(unplaced(bound)))
    }

    /// The activations of a declared cell: f and g of a GRU (sigmoid and tanh), f of an RNN (tanh).
    pub fn activations(self, activations: impl IntoIterator<Item = Activation>) -> Self {
        let list = activations.into_iter().collect();
        self.attribute("activations", |cell| cell.activations = Some(unplaced(list)))
    }

    /// The weights of a declared cell, G gates (GRU 3, RNN 1) of `hidden_size` H rows each, in C order: `w [G*H, I]`, `r [G*H, H]`,
    /// and `b`, which is `[H]` for an RNN, `[3H]` for a GRU and `[4H]` for one with `linear_before_reset` (z, r, Wbh, Rbh).
    ///
    /// Without them, weights are given at run time.
    pub fn weight_values(mut self, w: &[f32], r: &[f32], b: &[f32]) -> Self {
        match &mut self.source {
            Source::Cell { weights, .. } => *weights = Some([w, r, b].map(<[f32]>::to_vec)),
            #[cfg(feature = "openvino")]
            Source::File { xml, .. } => {
                let found = format!("`weight_values` is set, and {} has its own", xml.display());
                let help = "remove `.weight_values(..)`, or name another `.bin` by `.weights(..)`";
                self.problems.push(Diagnostic::error(Origin::Unknown, found).help(help));
            }
        }
        self
    }

    /// The `.bin` of a model in a file, if it is not the one beside the `.xml`.
    #[cfg(feature = "openvino")]
    pub fn weights(mut self, file: impl Into<PathBuf>) -> Self {
        match &mut self.source {
            Source::File { weights, .. } => *weights = Some(file.into()),
            Source::Cell { cell, .. } => self.problems.push(
                Diagnostic::error(Origin::Unknown, format!("a file of weights is set on a {}", cell.declared_by))
                    .help("give the values by `.weight_values(..)`; files belong to `Builder::new(\"model.xml\")`"),
            ),
        }
        self
    }

    /// The name of the file in `OUT_DIR`, and of the type and the function in it (`denoiser`: `Denoiser`, `denoiser`).
    ///
    /// Without it, the model file's own name; `gru` or `rnn` for a declared cell.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.option(|options| options.name = Some(name.into()))
    }

    /// The instruction sets for which bodies are written beside the generic one; without it, all of [`crate::target::ALL`].
    ///
    /// ```
    /// use cellc::{Builder, target};
    ///
    /// let builder = Builder::gru(128, 16).isa([&target::AVX2]);
    /// ```
    pub fn isa(self, isas: impl IntoIterator<Item = &'static Isa>) -> Self {
        self.option(|options| options.isas = Some(isas.into_iter().collect()))
    }

    /// The language; Rust without it. C is written as a `.h` and a `.c`.
    pub fn language(self, language: Language) -> Self {
        self.option(|options| options.language = language)
    }

    /// How far loops are unrolled.
    pub fn unroll(self, unroll: Unroll) -> Self {
        self.option(|options| options.unroll = unroll)
    }

    /// Whether multiply-add is fused.
    pub fn fma(self, fma: Fma) -> Self {
        self.option(|options| options.fma = fma)
    }

    /// Which inputs are state that the type holds.
    pub fn state(self, state: State) -> Self {
        self.option(|options| options.state = state)
    }

    /// How many rows are computed at once, where the model leaves it open; 1 for a declared cell.
    pub fn batch(mut self, rows: usize) -> Self {
        match &mut self.source {
            Source::Cell { cell, .. } => cell.batch = Some(unplaced(rows)),
            #[cfg(feature = "openvino")]
            Source::File { .. } => self.options.batch = Some(rows),
        }
        self
    }

    /// The shape of an input, where the model leaves sizes open.
    pub fn shape(self, input: impl Into<String>, shape: impl Into<Vec<usize>>) -> Self {
        self.open_shape(input, shape.into().into_iter().map(Some).collect::<Vec<_>>())
    }

    /// The shape of an input, of which `None` leaves a size open: the number of steps, which every call then says.
    pub fn open_shape(self, input: impl Into<String>, shape: impl Into<Vec<Option<usize>>>) -> Self {
        self.option(|options| options.shapes.push((input.into(), shape.into())))
    }

    /// The magnitudes for which the error bound in the header is computed.
    pub fn range(self, range: Range) -> Self {
        self.option(|options| options.range = range)
    }

    /// Where weights stand.
    pub fn weights_as(self, weights_as: WeightsAs) -> Self {
        self.option(|options| options.weights_as = weights_as)
    }

    /// Whether state values below 2^-100 become 0.
    pub fn flush_denormals(self, flush: bool) -> Self {
        self.option(|options| options.flush_denormals = flush)
    }

    /// Whether generated Rust implements `cellc_runtime::Cell`, for which the crate must depend on cellc-runtime; it does unless told
    /// otherwise.
    pub fn runtime(self, runtime: bool) -> Self {
        self.option(|options| options.runtime = runtime)
    }

    /// Everything that can be chosen about the code at once; replaces what was chosen so far.
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The folder to write to, if it is not `OUT_DIR`.
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Compiles, and writes the files. Returns their paths: the source last, before it what it needs (a `.bin`, a `.h`).
    ///
    /// In a build script, warnings are shown by cargo, which is also told which files the output depends on.
    ///
    /// # Errors
    /// If the model is refused; then nothing is written. If a file cannot be written.
    pub fn compile(&self) -> Result<Vec<PathBuf>, Error> {
        let out_dir = env::var_os("OUT_DIR").map(PathBuf::from);
        let in_build_script = out_dir.is_some();
        let folder = self.out_dir.clone().or(out_dir).ok_or_else(|| {
            Diagnostic::error(Origin::Unknown, "there is no folder to write to: OUT_DIR is not set")
                .help("call `compile` from a build script, or choose a folder by `.out_dir(..)`")
        })?;
        if in_build_script {
            for file in self.files()? {
                println!("cargo::rerun-if-changed={file}");
            }
        }
        let (compilation, files) = self.generate()?;
        if in_build_script {
            for line in compilation.warnings.to_string().lines() {
                println!("cargo::warning={line}");
            }
        }
        let new = |OutputFile { name, bytes }| NewFile { path: folder.join(name), bytes };
        let files: Vec<_> = files.into_iter().map(new).collect();
        files::write_all(&files)?;
        Ok(files.into_iter().map(|file| file.path).collect())
    }

    /// The files that the output depends on.
    fn files(&self) -> Result<Vec<String>, Error> {
        let files = match &self.source {
            Source::Cell { .. } => Vec::new(),
            #[cfg(feature = "openvino")]
            Source::File { xml, weights: Some(weights) } => vec![xml.clone(), weights.clone()],
            #[cfg(feature = "openvino")]
            Source::File { xml, weights: None } => {
                // a model whose weights are all given at run time has no such file, and one that is missing is never fresh
                let beside = Some(xml.with_extension("bin")).filter(|file| file.exists());
                [Some(xml.clone()), beside].into_iter().flatten().collect()
            }
        };
        files.iter().map(|file: &PathBuf| line(file)).collect()
    }

    /// What [`Builder::compile`] writes.
    fn generate(&self) -> Result<(Compilation, Vec<OutputFile>), Error> {
        const WORDS: [(&str, &str); 4] = [
            ("--batch", "`Builder::batch`"),
            ("--shape", "`Builder::shape`"),
            ("--state", "`Builder::state`"),
            ("--weights", "`Builder::weights`"),
        ];
        let in_own_words = |mut problems: Diagnostics| {
            in_words_of(&mut problems, &WORDS);
            problems
        };
        let mut problems = self.problems.clone();
        let name = self.file_name(&mut problems);
        let model = self.model(&mut problems);
        let (Some(name), Some(model), false) = (name, model, problems.has_errors()) else {
            return Err(in_own_words(problems).into());
        };
        let options = Options { name: Some(name.clone()), ..self.options.clone() };
        let mut compilation = match compile(&model, &options) {
            Ok(compilation) => compilation,
            Err(refused) => {
                problems.extend(refused);
                return Err(in_own_words(problems).into());
            }
        };
        // those of reading come first
        problems.extend(std::mem::take(&mut compilation.warnings));
        compilation.warnings = in_own_words(problems);
        let files = compilation.emit(&name);
        Ok((compilation, files))
    }

    fn file_name(&self, problems: &mut Diagnostics) -> Option<String> {
        let name = match (&self.options.name, &self.source) {
            (Some(name), _) => name.clone(),
            (None, Source::Cell { cell, .. }) => cell.name.value.clone(),
            #[cfg(feature = "openvino")]
            (None, Source::File { xml, .. }) => xml.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        if Path::new(&name).file_name() == Some(OsStr::new(&name)) && !name.contains(char::is_control) {
            return Some(name);
        }
        problems.push(
            Diagnostic::error(Origin::Unknown, format!("{name:?} cannot be the name of a file"))
                .valid("letters, digits and _: .name(\"denoiser\")"),
        );
        None
    }

    fn model(&self, problems: &mut Diagnostics) -> Option<Model> {
        match &self.source {
            Source::Cell { cell, weights } => {
                let mut cell = DeclaredCell::clone(cell);
                if let Some(weights) = weights {
                    cell.weights = Some(tensors(&cell, weights, problems)?);
                }
                Some(cell.model())
            }
            #[cfg(feature = "openvino")]
            Source::File { xml, weights } => {
                let (model, found) = match super::openvino::read(xml, weights.as_deref()) {
                    Ok((model, warnings)) => (Some(model), warnings),
                    Err(refused) => (None, refused),
                };
                problems.extend(found);
                model
            }
        }
    }
}

/// Weights as tensors of as many rows as there are; [`crate::validate`] judges them.
fn tensors(cell: &DeclaredCell, weights: &[Vec<f32>; 3], problems: &mut Diagnostics) -> Option<CellWeights> {
    let mut matrix = |name: &str, values: &[f32], columns: usize| {
        let rows = values.len().checked_div(columns).unwrap_or(0);
        let tensor = Tensor::from_f32(vec![rows, columns], values);
        if tensor.is_none() {
            let found = format!("{name} has {} values, which is not a number of rows of {columns}", values.len());
            let gates = cell.kind().gates();
            problems.push(
                Diagnostic::error(Origin::Unknown, found)
                    .layer(cell.declared_by)
                    .valid(format!("{gates} * hidden_size = {} rows", gates.saturating_mul(cell.hidden_size.value))),
            );
        }
        tensor
    };
    let [w, r, b] = weights;
    let (w, r) = (matrix("w", w, cell.input_size.value), matrix("r", r, cell.hidden_size.value));
    Some(CellWeights { w: w?, r: r?, b: Tensor::from_f32(vec![b.len()], b)? })
}

/// A path as the value of a directive to cargo, which is one line.
fn line(path: &Path) -> Result<String, Error> {
    match path.to_str() {
        Some(text) if !text.contains(['\n', '\r']) => Ok(text.to_owned()),
        _ => {
            let found = format!("cargo cannot watch the file {path:?}");
            Err(Diagnostic::error(Origin::Unknown, found).valid("a path in UTF-8 without line breaks").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn refused(builder: &Builder) -> String {
        builder.generate().expect_err("the builder is refused").to_string()
    }

    #[test]
    fn a_declared_cell_becomes_a_file_of_its_name() {
        let builder = Builder::gru(4, 2).linear_before_reset(true).clip(3.0).name("denoiser");
        let (compilation, files) = builder.generate().expect("a cell");
        assert_eq!(files.last().map(|file| &file.name[..]), Some("denoiser.rs"));
        assert_eq!(compilation.interface.type_name, "Denoiser");
        assert_eq!(compilation.model.cells()[0].clip, Some(3.0));
        assert!(compilation.model.parameters.iter().any(|parameter| parameter.weight), "weights come at run time");
    }

    #[test]
    fn weights_that_are_given_are_baked_in() {
        let builder = Builder::rnn(2, 3).weight_values(&[0.5; 6], &[0.25; 4], &[1.0; 2]);
        let (compilation, files) = builder.generate().expect("a cell");
        assert_eq!(files.last().map(|file| &file.name[..]), Some("rnn.rs"));
        assert!(compilation.programs.len() > 2, "all instruction sets");
        assert_eq!(builder.isa([&crate::target::AVX2]).generate().expect("a cell").0.programs.len(), 2);
        assert!(compilation.packed.is_baked());
    }

    #[test]
    fn everything_that_is_wrong_is_reported() {
        let text =
            refused(&Builder::rnn(2, 3).linear_before_reset(true).name("a/b").weight_values(&[0.0; 5], &[0.0; 3], &[]));
        for part in ["no reset gate", "cannot be the name of a file", "w has 5 values", "r has 3 values"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_bias_in_the_layout_of_onnx_is_called_by_its_name() {
        let builder = Builder::gru(2, 1).linear_before_reset(true);
        let text = refused(&builder.weight_values(&[0.0; 6], &[0.0; 12], &[0.0; 12]));
        assert!(text.contains("ONNX"), "{text}");
    }

    #[cfg(feature = "openvino")]
    #[test]
    fn attributes_of_a_file_are_not_overruled() {
        let text = refused(&Builder::new("nowhere.xml").clip(1.0).weight_values(&[], &[], &[]));
        for part in ["`clip` is set", "`weight_values` is set", "nowhere.xml"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn advice_is_in_the_words_of_the_builder() {
        let text = refused(&Builder::gru(2, 1).shape("y", [1, 1]));
        assert!(text.contains("correct the name in `Builder::shape`"), "{text}");
    }

    #[test]
    fn c_is_a_header_and_a_source() {
        let (_, files) = Builder::gru(4, 2).name("denoiser").language(Language::C).generate().expect("a cell");
        let names: Vec<&str> = files.iter().map(|file| &file.name[..]).collect();
        assert_eq!(names, ["denoiser.h", "denoiser.c"]);
        assert!(String::from_utf8_lossy(&files[0].bytes).contains("void denoiser_step("));
    }

    #[test]
    fn files_are_written_whole_or_not_at_all() {
        let folder = env::temp_dir().join(format!("cellc-builder-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let written = Builder::gru(2, 1).language(Language::Rust).out_dir(&folder).compile().expect("a cell");
        assert_eq!(written, [folder.join("gru.rs")]);
        assert!(Builder::gru(0, 1).name("none").out_dir(&folder).compile().is_err());
        let left: Vec<_> =
            fs::read_dir(&folder).expect("the folder").map(|file| file.expect("a file").file_name()).collect();
        assert_eq!(left, ["gru.rs"]);
        let missing = folder.join("missing");
        let error = Builder::gru(2, 1).out_dir(&missing).compile().expect_err("there is no such folder");
        assert!(error.to_string().contains("missing"), "{error}");
        fs::remove_dir_all(&folder).expect("the folder");
    }
}
