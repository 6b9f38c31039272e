//! The messages of the macros about wrong declarations: each message at its key, and all messages
//! of a declaration at once.

use std::env;
use std::fs::{self, File};
use std::path::Path;

use cellc_tests::{command, driver};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder for the model");
    for file in ["model.xml", "model.bin", "model.onnx"]
        .map(Path::new)
        .into_iter()
        .filter(|file| from.join(file).exists())
    {
        fs::copy(from.join(file), to.join(file)).expect("a model");
    }
}

#[test]
fn wrong_declarations() {
    // the folder that the macros take for the folder of the package
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    let (here, models) = (Path::new(env!("CARGO_MANIFEST_DIR")), package.join("models"));
    for case in ["gru_cell_lbr1", "gru_cell_clip_lbr1", "rnn_cell_tanh", "gru_cell_batchdyn"] {
        copy(&here.join("corpus").join(case), &models.join(case));
    }
    copy(&here.join("onnx/cases/gru_lens_bi_dyn"), &models.join("lengths"));
    for case in ["lstm_cell", "two_cells", "cut", "large"] {
        copy(&here.join("tests/ui/models").join(case), &models.join(case));
    }
    // an RNN cell of 1000 x (1125 + 1000 + 1) weights, all of them zero
    let zeros = File::create(models.join("large/model.bin")).expect("a file of weights");
    zeros.set_len(4 * 1000 * 2126).expect("a file of weights");

    let tensors = [
        "apple_gru_after",
        "pytorch_gru",
        "pytorch_gru_two_layers_both_ways",
        "pytorch_gru_with_head",
        "pytorch_lstm",
    ];
    for file in tensors.map(|name| format!("{name}.safetensors")) {
        fs::copy(here.join("frameworks").join(&file), models.join(&file))
            .expect("a file of tensors");
    }
    fs::write(models.join("cut.safetensors"), [200, 0, 0, 0, 0, 0, 0, 0, b'{'])
        .expect("a file of tensors");

    // parameters that no activation of the cell has: the model is read with a warning
    copy(&here.join("corpus/gru_cell_lbr1"), &models.join("alpha"));
    let text = fs::read_to_string(models.join("alpha/model.xml")).expect("a model");
    let with_alpha = text.replace("activations_alpha=\"\"", "activations_alpha=\"1.5, 2.5\"");
    assert_ne!(text, with_alpha);
    fs::write(models.join("alpha/model.xml"), with_alpha).expect("a model");

    let cases = fs::read_dir(here.join("tests/ui")).expect("cases");
    let mut cases: Vec<_> = cases.map(|entry| entry.expect("a case").path()).collect();
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    assert!(cases.len() >= 8, "{} cases", cases.len());
    let runtime = command::runtime();
    let differ: Vec<String> =
        cases.iter().filter_map(|case| difference(&package, &runtime, case)).collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// The messages of a case if they differ from the file next to it. If `CELLC_BLESS` is set, the
/// file is written anew.
fn difference(package: &Path, runtime: &Path, case: &Path) -> Option<String> {
    // messages contain the path from the folder of the package
    let name = Path::new("tests/ui").join(case.file_name().expect("a file"));
    fs::create_dir_all(package.join("tests/ui")).expect("a folder");
    fs::copy(case, package.join(&name)).expect("a case");
    let mut rustc = driver::rustc();
    rustc.current_dir(package).env("CARGO_MANIFEST_DIR", package);
    rustc.args(["--edition=2024", "--emit=metadata", "--out-dir=."]).arg(&name);
    rustc.arg("--extern").arg(format!("cellc_runtime={}", runtime.display()));
    for folder in
        [runtime.with_file_name("deps").as_path(), runtime.parent().expect("it lies in a folder")]
    {
        rustc.arg("-L").arg(format!("dependency={}", folder.display()));
    }
    let output = rustc.output().expect("rustc starts");
    assert!(!output.status.success(), "{} compiles", name.display());
    let said = String::from_utf8(output.stderr).expect("messages are UTF-8");
    // the messages end with the count of errors
    let said =
        said.split("error: aborting due to").next().unwrap_or_default().trim_end().to_owned()
            + "\n";
    let kept = case.with_extension("stderr");
    if env::var_os("CELLC_BLESS").is_some() {
        fs::write(&kept, &said).expect("messages can be written");
    }
    let expected = fs::read_to_string(&kept).unwrap_or_default();
    (said != expected).then(|| format!("{} says\n{said}\ninstead of\n{expected}", name.display()))
}
