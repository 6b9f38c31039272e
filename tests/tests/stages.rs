//! Every stage of the pipeline on tiny models, as `--emit` prints it.

use cellc::internals::arch::{Isa, TARGETS};
use cellc::internals::compile::{Compilation, compile};
use cellc::internals::front::formats::{self, ReadOptions};
use cellc::internals::front::openvino;
use cellc::internals::kernel::{Body, Program};
use cellc::{Accuracy, Language, Options, Threads, Tuning};
use cellc_tests::corpus;
use cellc_tests::model_file::ModelFile;
use cellc_tests::tiny::{cell, head, iterator, sequence};

/// A case of the corpus, compiled for the generic body and these instruction sets.
fn compilation(case: &str, isas: &[&str], language: Language) -> Compilation {
    compilation_with(case, isas, Options::default().with_language(language))
}

fn compilation_with(case: &str, isas: &[&str], options: Options) -> Compilation {
    let model =
        formats::read(&corpus::folder().join(case).join("model.xml"), &ReadOptions::default())
            .expect("the corpus is right")
            .model;
    let isas = isas.iter().map(|name| Isa::from_name(name).expect("a known name")).collect();
    let name = Some("tiny".to_string());
    compile(&model, &options.with_name(name).with_isas(Some(isas))).expect("the corpus compiles")
}

fn files(compilation: &Compilation) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("source is UTF-8");
    compilation.emit("tiny").into_iter().map(|f| (f.name, text(&f.bytes))).collect()
}

fn stages(case: &str) {
    let rust = compilation(case, &[], Language::Rust);
    insta::assert_snapshot!(format!("{case}_model"), rust.model.to_string());
    insta::assert_snapshot!(format!("{case}_plan"), rust.plan.to_string());
    insta::assert_snapshot!(
        format!("{case}_kernel"),
        screens(&rust.program.body(0).to_string(), "kernel ")
    );
    insta::assert_snapshot!(format!("{case}_header"), rust.description.header.join("\n"));
    let c = compilation(case, &[], Language::C);
    for (compilation, ending) in [(&rust, "rs"), (&c, "c")] {
        let text = kernels(compilation, body(compilation));
        insta::assert_snapshot!(format!("{case}_kernels.{ending}"), screens(&text, "static void"));
    }
    for (name, text) in files(&rust).into_iter().chain(files(&c)) {
        let public = |line: &&str| line.trim_start().starts_with("pub ");
        match name.rsplit_once('.') {
            Some((_, "rs")) => {
                let items: Vec<&str> = text.lines().filter(public).collect();
                insta::assert_snapshot!(format!("{case}_items.rs"), items.join("\n"));
            }
            Some((_, "h")) => insta::assert_snapshot!(format!("{case}_{name}"), text),
            _ => {}
        }
    }
}

/// A few screens of a text, from the last line that begins with `begin`.
fn screens(text: &str, begin: &str) -> String {
    const LINES: usize = 140;
    let at = text.rfind(&format!("\n{begin}")).map_or(0, |at| at + 1);
    text[at..].lines().take(LINES).map(|line| format!("{line}\n")).collect()
}

/// The name that a file gives to the section of its only body.
fn body(compilation: &Compilation) -> &'static str {
    compilation.plan.isas[0].isa.name
}

#[test]
fn the_smallest_gru() {
    stages("gru_cell_min");
}

#[test]
fn a_gru_in_a_batch() {
    stages("gru_cell_clip_lbr1");
}

#[test]
fn an_rnn_in_a_batch() {
    stages("rnn_cell_relu_clip");
}

#[test]
fn weights_at_run_time() {
    stages("gru_cell_params");
}

#[test]
fn tiles_differ_by_instruction_set_and_nothing_else_does() {
    let all = compilation("gru_cell_128_fp16", &["avx2", "avx512"], Language::Rust);
    insta::assert_snapshot!("gru_cell_128_fp16_plan", all.plan.to_string());
    let avx512 = all.program.body(2);
    let packing = screens(&all.program.to_string(), "kernel pack");
    insta::assert_snapshot!("gru_cell_128_fp16_packing", packing);
    insta::assert_snapshot!(
        "gru_cell_128_fp16_kernel_avx512",
        screens(&avx512.to_string(), "kernel ")
    );
    for body in &all.program.bodies {
        assert_eq!(body.scratch, avx512.scratch);
    }
}

/// Operations that join the directions of a recurrent layer, or slice its lengths, are part of the
/// layer.
#[test]
fn other_operations_are_no_recurrent_layers() {
    for case in ["rnn_seq_bi", "gru_seq_bi_lens_param"] {
        let header = compilation(case, &[], Language::Rust).description.header;
        let is_of_others = |line: &String| {
            line.starts_with("Other operations") || line.starts_with("Around the cells")
        };
        assert!(!header.iter().any(is_of_others), "{case}");
    }
}

/// The header has equations for small networks, and the number of operations for large ones.
#[test]
fn operations_around_cells_are_equations() {
    for case in ["rnnoise_step_f32", "onnx_gru_bi_activations", "stacked_lstm", "int8_gru_head"] {
        let header = compilation(case, &[], Language::Rust).description.header;
        let from = header
            .iter()
            .position(|line| line == "Around the cells:" || line.starts_with("Other operations"));
        let lines: Vec<_> = header[from.expect("operations around the cells")..]
            .iter()
            .take_while(|line| !line.is_empty())
            .cloned()
            .collect();
        insta::assert_snapshot!(format!("around_the_cells_of_{case}"), lines.join("\n"));
    }
}

/// The header states the errors of less exact activations, and its bounds include them.
#[test]
fn activations_at_less_than_the_default() {
    for accuracy in [Accuracy::Fast, Accuracy::Audio] {
        let options = Options::default().with_accuracy(accuracy);
        let compilation = compilation_with("lstm_cell", &["avx512"], options);
        let functions = compilation.program.bodies[1].functions.clone();
        let functions =
            Program { bodies: vec![Body { functions, ..Body::default() }], ..Program::default() };
        let text =
            format!("{}\n\n{}", compilation.description.header.join("\n"), functions.body(0));
        insta::assert_snapshot!(format!("activations_{}", accuracy.name()), text);
    }
}

/// The kernels of one instruction set in the file's language: the text between the head of the
/// instruction set's section and the functions that all files share.
fn kernels(compilation: &Compilation, isa: &str) -> String {
    let files = files(compilation);
    let (_, text) = files
        .iter()
        .find(|(name, _)| name.ends_with(".rs") || name.ends_with(".c"))
        .expect("a source file");
    let title = format!("\n/* ---- {isa}");
    let (from, to): (String, &[&str]) = match compilation.options.output.language {
        Language::Rust => (format!("\nmod {isa}"), &["V: Vector<L>", "\n}\n"]),
        Language::C if text.contains(&title) => (title, &["\n/* ---- "]),
        // the only body has no title
        Language::C => ("\nstatic void".to_owned(), &["\n/* ", "\nvoid "]),
    };
    let start = text.find(&from).expect("a section of the instruction set");
    let section = &text[start + 1..];
    // a function of lanes or of memory in front of the kernels is no kernel
    let first = match compilation.options.output.language {
        Language::Rust => 0,
        Language::C => {
            section.split("\n/* ---- ").next().and_then(|own| own.find("static void")).unwrap_or(0)
        }
    };
    let rest = &section[first..];
    let end = to.iter().filter_map(|to| rest.find(to)).min().expect("an end");
    let kernels = &rest[..end];
    // the last complete function
    let close =
        if compilation.options.output.language == Language::Rust { "\n    }\n" } else { "\n}\n" };
    let kernels = kernels.rfind(close).map_or(kernels, |at| &kernels[..at + close.len()]);
    kernels.trim_end().to_string()
}

fn drawn(file: &ModelFile, isas: &[&str], options: Options) -> Compilation {
    let (text, weights) = (file.text(), file.weights.clone());
    let model = openvino::read_bytes("tiny.xml", text.as_bytes(), Some(("tiny.bin", weights)))
        .expect("it is right")
        .model;
    let isas = isas.iter().map(|name| Isa::from_name(name).expect("a known name")).collect();
    compile(&model, &options.with_name(Some("tiny".to_string())).with_isas(Some(isas)))
        .expect("it compiles")
}

/// The source of each construct in one of the languages, on one instruction set. The same code
/// prints both languages.
#[test]
fn kernels_of_every_kind_in_source() {
    let after = "linear_before_reset=\"true\"";
    let halves = Options::default()
        .with_threads(Threads::Two)
        .with_tuning(Tuning::default().with_halves(Some(true)).with_panel_columns(Some(2)));
    let plain = Options::default;
    for (name, file, language, isa, options) in [
        ("lstm", cell("LSTMCell", 4, ""), Language::Rust, "generic", plain()),
        ("sequence", sequence(), Language::C, "generic", plain()),
        ("head", head(), Language::Rust, "generic", plain()),
        ("iterator", iterator(), Language::C, "generic", plain()),
        ("halves", cell("GRUCell", 3, after), Language::Rust, "generic", halves),
        ("avx2_gru", cell("GRUCell", 3, after), Language::C, "avx2", plain()),
        ("avx2_head", head(), Language::C, "avx2", plain()),
    ] {
        let isas: &[&str] = if isa == "generic" { &[] } else { &["avx2"] };
        let compilation = drawn(&file, isas, options.with_language(language));
        insta::assert_snapshot!(
            format!("source_{name}"),
            screens(&kernels(&compilation, isa), "no line begins so")
        );
    }
}

#[test]
fn a_second_thread_without_work_is_said() {
    let halves = Tuning::default().with_halves(Some(true)).with_panel_columns(Some(1));
    let nothing_shared = "a second thread has nothing to do, as no cell is shared: ";
    for (tuning, said) in [
        (Tuning::default(), Some(nothing_shared)),
        (halves.with_panel_columns(Some(3)), Some("shared: one panel")),
        (halves.with_halves(Some(false)), Some("shared: asked for")),
        (halves, None),
    ] {
        let file = cell("GRUCell", 3, "linear_before_reset=\"true\"");
        let options = Options::default().with_tuning(tuning).with_threads(Threads::Two);
        let warnings = drawn(&file, &[], options).warnings.to_string();
        assert_eq!(warnings.is_empty(), said.is_none(), "{tuning:?}: {warnings}");
        assert!(said.is_none_or(|said| warnings.contains(said)), "{tuning:?}: {warnings}");
    }
}

/// Generated Rust imports intrinsics if and only if its module `vectors` exports them, for every
/// target.
#[test]
fn intrinsics_are_imported_from_a_module_that_exists() {
    let mut with_intrinsics = 0;
    for target in TARGETS {
        for case in ["lstm_cell", "convolutions_2d"] {
            let path = corpus::folder().join(case).join("model.xml");
            let model =
                formats::read(&path, &ReadOptions::default()).expect("the corpus is right").model;
            let compilation = compile(&model, &Options::default().with_target(target))
                .expect("the corpus compiles");
            let [(_, text), ..] = &files(&compilation)[..] else { panic!("a file") };
            let found = ["use super::vectors::intrinsics::*;", "mod intrinsics {"]
                .map(|line| text.contains(line));
            assert_eq!(found[0], found[1], "{case} for {}", target.name);
            with_intrinsics += usize::from(found[0]);
        }
    }
    assert!(with_intrinsics > 0, "no target has intrinsics");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for language in [Language::Rust, Language::C] {
        let once = compilation("gru_cell_lbr1", &["avx2", "avx512"], language);
        let again = compilation("gru_cell_lbr1", &["avx2", "avx512"], language);
        assert_eq!(once.emit("tiny"), again.emit("tiny"));
    }
}

/// The text that the common interface adds to the files of a model.
#[test]
fn the_common_interface() {
    let plain = compilation("gru_cell_min", &[], Language::C);
    let interface = Some("cellc_model.h".into());
    let options = Options::default().with_language(Language::C).with_interface(interface);
    let with = compilation_with("gru_cell_min", &[], options);
    let mut text = String::new();
    for ((name, plain), (_, with)) in files(&plain).into_iter().zip(files(&with)) {
        // the hash of the header changes with its text
        let lines = |text: &str| {
            text.lines().filter(|line| !line.contains("_H_HASH")).map(str::to_owned).collect()
        };
        let [plain, with]: [Vec<String>; 2] = [lines(&plain), lines(&with)];
        let mut before = plain.iter().peekable();
        let added = with.iter().filter(|line| before.next_if_eq(line).is_none());
        let added = added.map(|line| format!("{line}\n")).collect::<String>();
        assert!(before.next().is_none(), "{name} lost lines");
        text += &format!("// {name}\n{added}");
    }
    insta::assert_snapshot!("common_interface", text);
}
