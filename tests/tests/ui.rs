//! What the macros say about declarations that are wrong: every message at its key, all of them at once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The folder that the macros take for the package's: trybuild compiles the cases in a package of its own.
fn package_of_the_cases() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    target.join("tests/trybuild/cellc-tests")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder for the model");
    for file in
        ["model.xml", "model.bin", "model.onnx"].map(Path::new).into_iter().filter(|file| from.join(file).exists())
    {
        fs::copy(from.join(file), to.join(file)).expect("a model");
    }
}

#[test]
fn wrong_declarations() {
    let (here, models) = (Path::new(env!("CARGO_MANIFEST_DIR")), package_of_the_cases().join("models"));
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

    let tensors =
        ["apple_gru_after", "pytorch_gru", "pytorch_gru_two_layers_both_ways", "pytorch_gru_with_head", "pytorch_lstm"];
    for file in tensors.map(|name| format!("{name}.safetensors")) {
        fs::copy(here.join("frameworks").join(&file), models.join(&file)).expect("a file of tensors");
    }
    fs::write(models.join("cut.safetensors"), [200, 0, 0, 0, 0, 0, 0, 0, b'{']).expect("a file of tensors");

    // parameters that no activation of the cell takes: read, and warned about
    copy(&here.join("corpus/gru_cell_lbr1"), &models.join("alpha"));
    let text = fs::read_to_string(models.join("alpha/model.xml")).expect("a model");
    let with_alpha = text.replace("activations_alpha=\"\"", "activations_alpha=\"1.5, 2.5\"");
    assert_ne!(text, with_alpha);
    fs::write(models.join("alpha/model.xml"), with_alpha).expect("a model");

    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
