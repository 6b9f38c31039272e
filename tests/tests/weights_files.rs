//! `cellc net.safetensors`: PyTorch's weights on the command line, described by options or by the
//! file's own metadata.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cellc_tests::command::program;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use tempfile::TempDir;

/// A folder to run the command in.
struct Place(TempDir);

/// Exit status, standard output and standard error.
type Done = (i32, String, String);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn cellc(&self, arguments: &str) -> Done {
        let mut command = Command::new(program());
        command.args(arguments.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        let output = command.output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code().expect("an exit status"), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn done(&self, arguments: &str) -> String {
        let (status, stdout, stderr) = self.cellc(arguments);
        assert_eq!((status, &stderr[..]), (0, ""), "{arguments}");
        stdout
    }

    #[track_caller]
    fn refused(&self, status: i32, arguments: &str, words: &[&str]) {
        let (found, _, stderr) = self.cellc(arguments);
        assert_eq!(found, status, "{arguments}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{arguments}: {word:?} is not said:\n{stderr}");
        }
    }

    /// Runs calls with these inputs. Returns the results and the messages.
    #[track_caller]
    fn run(&self, arguments: &str, calls: &[&[f32]]) -> (Vec<Vec<f32>>, String) {
        let folder = tempfile::tempdir_in(self.0.path()).unwrap();
        for (k, call) in calls.iter().enumerate() {
            let bytes: Vec<u8> = call.iter().flat_map(|v| v.to_le_bytes()).collect();
            fs::write(folder.path().join(format!("r{k}_in0.bin")), bytes).unwrap();
        }
        let folder = folder.path().display();
        let (status, _, stderr) =
            self.cellc(&format!("run {arguments} --inputs {folder} --outputs {folder} --emit c"));
        assert_eq!(status, 0, "{arguments}: {stderr}");
        let read = |k| {
            let bytes = fs::read(format!("{folder}/r{k}_out0.npy")).unwrap();
            let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
            bytes[header..].as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        };
        ((0..calls.len()).map(read).collect(), stderr)
    }

    /// Writes a file of tensors.
    fn write(&self, name: &str, tensors: &[(&str, &[usize])], metadata: &[(&str, &str)]) {
        let bytes: Vec<Vec<u8>> = tensors
            .iter()
            .enumerate()
            .map(|(seed, (_, shape))| {
                values(shape.iter().product(), seed).iter().flat_map(|v| v.to_le_bytes()).collect()
            })
            .collect();
        let views = tensors.iter().zip(&bytes).map(|((name, shape), bytes)| {
            (*name, TensorView::new(Dtype::F32, shape.to_vec(), bytes).expect("as many values"))
        });
        let metadata =
            metadata.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let file = safetensors::serialize(views, Some(metadata)).expect("tensors");
        fs::write(self.path(name), file).unwrap();
    }
}

/// Values from -1 to 1 that vary.
fn values(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 + seed * 101) % 64) as f32 / 32.0 - 1.0).collect()
}

fn framework(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("frameworks").join(format!("{name}.safetensors"))
}

/// A tensor of a file, as f32.
fn of_file(name: &str, tensor: &str) -> Vec<f32> {
    let bytes = fs::read(framework(name)).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    file.tensor(tensor)
        .unwrap()
        .data()
        .as_chunks()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect()
}

#[track_caller]
fn near(got: &[f32], wanted: &[f32]) {
    assert_eq!(got.len(), wanted.len());
    for (got, wanted) in got.iter().zip(wanted) {
        assert!((got - wanted).abs() < 3e-6, "{got} is not {wanted}");
    }
}

/// A small model of an amplifier: an RNN of 2 units and 2 inputs, and a dense layer with 2 inputs.
const AMP: [(&str, &[usize]); 6] = [
    ("rec.weight_ih_l0", &[2, 2]),
    ("rec.weight_hh_l0", &[2, 2]),
    ("rec.bias_ih_l0", &[2]),
    ("rec.bias_hh_l0", &[2]),
    ("lin.weight", &[2, 2]),
    ("lin.bias", &[2]),
];
const SAID: [(&str, &str); 6] = [
    ("format", "pt"),
    ("cellc.cell", "rnn"),
    ("cellc.prefix", "rec"),
    ("cellc.head", "lin"),
    ("cellc.head_activation", "sigmoid"),
    ("cellc.skip", "true"),
];

#[test]
fn networks_of_pytorch_give_what_pytorch_gives() {
    let place = Place::new();
    let (x, out) = (of_file("pytorch_gru_with_head", "x"), of_file("pytorch_gru_with_head", "out"));
    let net = framework("pytorch_gru_with_head").display().to_string();
    let options = "--cell gru --prefix gru --head fc --head-activation sigmoid --hidden-size 5 --input-size 3 --layers 2";
    // the first row of the batch, step by step
    let calls: Vec<&[f32]> = x[..12].chunks_exact(3).collect();
    let (got, said) = place.run(&format!("{net} {options}"), &calls);
    near(&got.concat(), &out[..8]);
    // the file has inputs and results, too
    assert!(
        said.contains("no layer uses \"") && said.contains("the file has \"hn\" [2, 2, 5]"),
        "{said}"
    );

    // both directions: all steps of two rows in one call
    let name = "pytorch_lstm_both_ways_with_head";
    let (x, out) = (of_file(name, "x"), of_file(name, "out"));
    let options = "--cell=lstm --prefix=lstm --head=fc --head-activation=sigmoid --sequence=4 --batch=2 --direction=bidirectional";
    let net = framework(name).display().to_string();
    near(&place.run(&format!("{net} {options}"), &[&x]).0[0], &out);
}

#[test]
fn options_and_metadata_say_the_same() {
    let place = Place::new();
    place.write("amp.safetensors", &AMP, &[("format", "pt")]);
    place.write("said.safetensors", &AMP, &SAID);
    let options = "--cell rnn --prefix rec --head lin --head-activation sigmoid --skip";
    let calls: [&[f32]; 3] = [&[0.5, -0.25], &[1.0, 0.125], &[-0.75, 0.0]];
    let (got, _) = place.run(&format!("amp.safetensors {options}"), &calls);

    let tensor = |i: usize| {
        values(AMP[i].1.iter().product(), i).into_iter().map(f64::from).collect::<Vec<f64>>()
    };
    let [w, r, bi, bh, dense, bias] = [0, 1, 2, 3, 4, 5].map(tensor);
    let row = |m: &[f64], i: usize, v: &[f64; 2]| m[2 * i] * v[0] + m[2 * i + 1] * v[1];
    let mut h = [0.0; 2];
    for (call, got) in calls.iter().zip(&got) {
        let x = [f64::from(call[0]), f64::from(call[1])];
        h = [0, 1].map(|i| (row(&w, i, &x) + bi[i] + row(&r, i, &h) + bh[i]).tanh());
        let out =
            [0, 1].map(|i| (1.0 / (1.0 + (-row(&dense, i, &h) - bias[i]).exp()) + x[i]) as f32);
        near(got, &out);
    }
    assert_eq!(place.run("said.safetensors", &calls), (got, String::new()));
    // an option may repeat the metadata, and every command reads such a file
    place.done(&format!("said.safetensors {options} -o amp.c"));
    assert!(fs::read_to_string(place.path("amp.c")).unwrap().contains(" *   skip: true"));
    let checked = place.done("check said.safetensors --steps 3 --emit c");
    assert!(checked.contains("every error is within its bound"), "{checked}");
    assert!(place.done("inspect said.safetensors").contains("RNNCell"));
    assert!(
        place
            .done("said.safetensors --batch 3 --emit model")
            .contains("parameter 0 \"x\": f32 [3, 2]")
    );

    place.refused(
        1,
        "said.safetensors --skip=false --head out -o x.c",
        &[
            "--head is out here and lin in the metadata of said.safetensors",
            "--skip is false here and true in the metadata",
            "leave --skip out",
        ],
    );
    for (key, value, words) in [
        ("cellc.units", "2", &["the key \"cellc.units\"", "cellc.hidden_size"][..]),
        ("cellc.skip", "yes", &["cellc.skip is \"yes\"", "true or false"]),
        ("cellc.hidden_size", "3", &["--hidden-size is 3", "and 2 in wrong.safetensors"]),
        (
            "cellc.clip",
            "1e400",
            &["cellc.clip is \"1e400\"", "0 for no clipping, or a number above it that f32 holds"],
        ),
        ("cellc.activations", "tangent", &["no activation has this name"]),
        ("cellc.gate_order", "ifco", &["--gate-order is ifco, and the cell is rnn"]),
    ] {
        let metadata: BTreeMap<&str, &str> = SAID.into_iter().chain([(key, value)]).collect();
        place.write("wrong.safetensors", &AMP, &metadata.into_iter().collect::<Vec<_>>());
        place.refused(1, "wrong.safetensors -o x.c", words);
    }
}

#[test]
fn what_is_missing_is_said_with_what_the_file_holds() {
    let place = Place::new();
    place.write("amp.safetensors", &AMP, &[]);
    let lstm: [(&str, &[usize]); 6] = [
        ("net.weight_ih_l0", &[8, 1]),
        ("net.weight_hh_l0", &[8, 2]),
        ("net.weight_ih_l1", &[8, 2]),
        ("net.weight_hh_l1", &[8, 2]),
        ("net.more", &[3]),
        ("other", &[1, 2, 3]),
    ];
    place.write("lstm.safetensors", &lstm, &[]);
    place.write("two.safetensors", &lstm[..4], &[]);
    let projections: [(&str, &[usize]); 3] =
        [("weight_ih_l0", &[8, 1]), ("weight_hh_l0", &[8, 1]), ("weight_hr_l0", &[1, 2])];
    place.write("projections.safetensors", &projections, &[]);
    let both: [(&str, &[usize]); 4] = [
        ("weight_ih_l0", &[6, 1]),
        ("weight_hh_l0", &[6, 2]),
        ("weight_ih_l0_reverse", &[6, 1]),
        ("weight_hh_l0_reverse", &[6, 2]),
    ];
    place.write("both.safetensors", &both, &[]);
    for (arguments, words) in [
        (
            "amp.safetensors",
            &[
                "no kind of cell is given for the weights in amp.safetensors",
                "an RNN of 2 units and 2 inputs (--cell rnn --prefix rec)",
            ][..],
        ),
        ("amp.safetensors", &["a dense layer from 2 to 2 (--head lin)"]),
        (
            "lstm.safetensors",
            &[
                "an LSTM of 2 units and 1 input, 2 layers (--cell lstm --prefix net)",
                "\"other\" [1, 2, 3]",
            ],
        ),
        (
            "amp.safetensors --cell rnn",
            &["no tensor \"weight_ih_l0\"", "the file has it in \"rec\"", "--prefix"],
        ),
        (
            "amp.safetensors --cell rnn --prefix rec --head out",
            &["\"out.weight\"", "the file has it in \"lin\"", "--head"],
        ),
        (
            "amp.safetensors --cell gru --prefix rec",
            &["are those of an RNN: 2 rows of 2", "6 rows"],
        ),
        (
            "amp.safetensors --cell rnn --prefix rec --head-activation relu",
            &["--head-activation is given without --head"],
        ),
        (
            "amp.safetensors --cell rnn --prefix rec --linear-before-reset",
            &["--linear-before-reset is given, and RNNCell has none"],
        ),
        (
            "both.safetensors --cell gru --linear-before-reset=false --sequence 2 --direction bidirectional",
            &["PyTorch's GRU computes it as true"],
        ),
        (
            "lstm.safetensors --cell lstm --prefix net",
            &["no layer uses \"net.more\" in lstm.safetensors", "remove it"],
        ),
        (
            "two.safetensors --cell lstm --prefix net --layers 1",
            &["the file has 2 layers: leave out --layers"],
        ),
        ("two.safetensors --cell lstm --prefix net --skip", &["--skip adds 1 input to 2 outputs"]),
        ("projections.safetensors --cell lstm", &["weight_hr_l0", "proj_size"]),
        ("projections.safetensors", &["weight_hr_l0", "proj_size"]),
        (
            "both.safetensors --cell gru",
            &["weight_ih_l0_reverse", "both ways", "--direction bidirectional"],
        ),
        ("both.safetensors --cell gru --direction reverse --sequence 2", &["weight_ih_l0_reverse"]),
        (
            "amp.safetensors --cell rnn --prefix rec --direction reverse",
            &["a direction is given for one step", "--sequence"],
        ),
    ] {
        place.refused(1, &format!("{arguments} -o x.c"), words);
    }
    assert!(!place.path("x.c").exists());
}

/// A layer of another kind beside the recurrent ones would be left out of the result.
#[test]
fn layers_that_no_option_declares_are_refused_by_name() {
    let place = Place::new();
    for (name, shape, what) in [
        ("norm.weight", &[2][..], "a normalization"),
        ("norm.running_mean", &[2], "a normalization"),
        ("conv.weight", &[2, 3, 3], "a convolution"),
        ("conv.weight", &[2, 1, 3, 3], "a convolution"),
        ("att.in_proj_weight", &[6, 2], "an attention"),
    ] {
        let module = name.split('.').next().unwrap_or_default();
        let bias = format!("{module}.bias");
        let tensors = [&AMP[..], &[(name, shape), (&bias, &[2])]].concat();
        place.write("other.safetensors", &tensors, &SAID);
        let is = format!("is {what}, which no declared layer computes");
        let words = [&format!("\"{name}\" in")[..], &is, "torch.onnx.export(", "dynamic_shapes="];
        place.refused(1, "other.safetensors -o out.rs", &words);
        // unknown layers are reported before missing options
        place.write("other.safetensors", &tensors, &[]);
        place.refused(1, "other.safetensors -o out.rs", &words);
        place.refused(1, "other.safetensors --cell rnn --prefix rec -o out.rs", &words);
    }
    // another dense layer may belong to an unused part of the network
    place.write("more.safetensors", &[&AMP[..], &[("other.weight", &[3, 2][..])]].concat(), &SAID);
    let (status, _, stderr) = place.cellc("more.safetensors -o out.rs");
    assert!(status == 0 && stderr.contains("no layer uses \"other.weight\""), "{stderr}");
    assert!(
        stderr.contains("no option declares \"other\"") && !stderr.contains("--head"),
        "{stderr}"
    );
}

/// A layer in front of the recurrent ones needs the whole network. Only a matrix that fits is
/// suggested as head.
#[test]
fn layers_that_no_option_declares_lead_to_onnx() {
    let place = Place::new();
    place.write("first.safetensors", &[&AMP[..], &[("inp.weight", &[2, 3][..])]].concat(), &[]);
    let (status, _, stderr) = place.cellc("first.safetensors --cell rnn --prefix rec -o out.rs");
    let onnx = "no option declares \"inp\": for a network that computes them, torch.onnx.export(";
    assert!(status == 0 && stderr.contains(onnx) && stderr.contains("(--head lin)"), "{stderr}");
    assert!(!stderr.contains("--head inp") && !stderr.contains("an RNN of"), "{stderr}");
    place.refused(
        1,
        "first.safetensors -o out.rs",
        &[onnx, "(--cell rnn --prefix rec)", "(--head lin)"],
    );
}

#[test]
fn options_go_with_the_files_that_they_are_for() {
    let place = Place::new();
    place.write("said.safetensors", &AMP, &SAID);
    let gru = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus/gru_cell_min/model.xml")
        .display()
        .to_string();
    for option in [
        "--cell=gru",
        "--prefix=a",
        "--head=a",
        "--head-activation=relu",
        "--skip",
        "--layers=1",
        "--hidden-size=1",
        "--input-size=1",
        "--sequence=2",
        "--direction=forward",
        "--clip=1",
        "--linear-before-reset",
        "--gate-order=rzn",
        "--activations=sigmoid,tanh",
    ] {
        let name = option.split('=').next().unwrap();
        place.refused(
            2,
            &format!("{gru} {option} --emit plan"),
            &[name, "is for PyTorch's weights", "is a model"],
        );
        place.refused(2, &format!("check {gru} {option}"), &[name, "is for PyTorch's weights"]);
    }
    place.refused(2, "said.safetensors --weights w.bin --emit plan", &["--weights is for models"]);
    place.refused(
        1,
        "said.safetensors --shape x=1,2 --emit plan",
        &["--shape is for models in files, not for declared layers", "remove --shape"],
    );
    for wrong in [
        "--cell=lstmm",
        "--layers=0",
        "--clip=1e-60",
        "--clip=1e60",
        "--gate-order=rrr",
        "--direction=up",
        "--skip=1",
    ] {
        let name = wrong.split('=').next().unwrap();
        place.refused(2, &format!("said.safetensors {wrong} -o x.c"), &[name, "is needed"]);
    }
    place.refused(
        2,
        "said.safetensors --sequence=? -o x.c",
        &["a whole number of steps from 1 is needed"],
    );
    let said = place.cellc("said.safetensors --head-activation=bogus -o x.c").2;
    assert!(said.contains("no activation has this name") && !said.contains("is needed"), "{said}");
    place.refused(
        2,
        &format!("{gru} --activations fast --emit plan"),
        &["no activation has this name"],
    );
    let model = place.done("said.safetensors --activations relu --emit model");
    assert!(model.contains("RNNCell, relu"), "{model}");
}

#[test]
fn a_number_that_f32_does_not_hold_is_refused_and_one_that_is_not_finite_is_warned_about() {
    let place = Place::new();
    let shapes: [(&str, &[usize]); 2] = [("weight_ih", &[2, 1]), ("weight_hh", &[2, 2])];
    let write = |largest: f64| {
        let numbers = |len: usize| -> Vec<u8> {
            (0..len).flat_map(|k| (largest / (k + 1) as f64).to_le_bytes()).collect()
        };
        let bytes = shapes.map(|(_, shape)| numbers(shape.iter().product()));
        let tensors = shapes.iter().zip(&bytes).map(|((name, shape), bytes)| {
            (*name, TensorView::new(Dtype::F64, shape.to_vec(), bytes).expect("as many numbers"))
        });
        let file = safetensors::serialize(tensors, None).expect("a file");
        fs::write(place.path("net.safetensors"), file).expect("it is written");
    };
    write(3e38);
    place.done("net.safetensors --cell rnn -o net.c");
    write(1e60);
    place.refused(
        1,
        "net.safetensors --cell rnn -o net.c",
        &["\"weight_hh\"", "\"weight_ih\"", "1e60", "more than f32 holds"],
    );
    for (number, said) in [(f64::NAN, "NaN"), (f64::NEG_INFINITY, "-inf")] {
        write(number);
        let (status, _, stderr) = place.cellc("net.safetensors --cell rnn -o net.c");
        assert_eq!(status, 0, "{stderr}");
        for name in ["weight_ih", "weight_hh"] {
            let warning = format!("warning: \"{name}\" in net.safetensors holds {said}");
            assert_eq!(stderr.matches(&warning).count(), 1, "{stderr}");
        }
    }
}
