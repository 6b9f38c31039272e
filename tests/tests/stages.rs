//! Every stage of the pipeline on tiny models, as `--emit` prints it.

use cellc::compile::{Compilation, compile};
use cellc::front::openvino;
use cellc::kernel::Program;
use cellc::options::{Accuracy, Language, Options};
use cellc::target::Isa;
use cellc_tests::corpus;

/// A case of the corpus, compiled for the generic body and the instruction sets named.
fn compilation(case: &str, isas: &[&str], language: Language) -> Compilation {
    compilation_with(case, isas, Options { language, ..Options::default() })
}

fn compilation_with(case: &str, isas: &[&str], options: Options) -> Compilation {
    let (model, _) = openvino::read(&corpus::folder().join(case).join("model.xml"), None).expect("the corpus is right");
    let isas = isas.iter().map(|name| Isa::from_name(name).expect("a known name")).collect();
    let name = Some("tiny".to_string());
    compile(&model, &Options { name, isas: Some(isas), ..options }).expect("the corpus compiles")
}

fn files(compilation: &Compilation) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("source is UTF-8");
    compilation.emit("tiny").into_iter().map(|f| (f.name, text(&f.bytes))).collect()
}

fn stages(case: &str) {
    let rust = compilation(case, &[], Language::Rust);
    insta::assert_snapshot!(format!("{case}_model"), rust.model.to_string());
    insta::assert_snapshot!(format!("{case}_plan"), rust.plan.to_string());
    insta::assert_snapshot!(format!("{case}_kernel"), rust.programs[0].1.to_string());
    let c = compilation(case, &[], Language::C);
    for (name, text) in files(&rust).into_iter().chain(files(&c)) {
        insta::assert_snapshot!(format!("{case}_{name}"), text);
    }
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
    let (_, avx512) = &all.programs[2];
    insta::assert_snapshot!("gru_cell_128_fp16_kernel_avx512", avx512.to_string());
    for (_, program) in &all.programs {
        assert_eq!(program.buffers, avx512.buffers);
        assert_eq!(program.packing, avx512.packing);
    }
}

/// The header says how far they are off, and its bounds follow.
#[test]
fn activations_at_less_than_the_default() {
    for accuracy in [Accuracy::Fast, Accuracy::Audio] {
        let options = Options { accuracy, ..Options::default() };
        let compilation = compilation_with("lstm_cell", &["avx512"], options);
        let functions = compilation.programs[1].1.functions.clone();
        let functions = Program { functions, ..Program::default() };
        let text = format!("{}\n\n{functions}", compilation.header.join("\n"));
        insta::assert_snapshot!(format!("activations_{}", accuracy.name()), text);
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for language in [Language::Rust, Language::C] {
        let once = compilation("gru_cell_lbr1", &["avx2", "avx512"], language);
        let again = compilation("gru_cell_lbr1", &["avx2", "avx512"], language);
        assert_eq!(once.emit("tiny"), again.emit("tiny"));
    }
}
