use std::{fs, io};

use super::*;
use crate::ErrorKind;
use crate::kernel::Role;
use crate::pack;
use crate::request::flag::FLAGS;

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
    assert!(
        compilation.model.parameters.iter().any(|parameter| parameter.weight),
        "weights come at run time"
    );
}

#[test]
fn weights_that_are_given_are_baked_in() {
    let builder = Builder::rnn(8, 3).weight_values(&[0.5; 24], &[0.25; 64], &[1.0; 8]);
    let (compilation, files) = builder.generate().expect("a cell");
    assert_eq!(files.last().map(|file| &file.name[..]), Some("rnn.rs"));
    assert!(compilation.program.bodies.len() > 2, "all instruction sets");
    assert_eq!(
        builder.isa([&crate::arch::AVX2]).generate().expect("a cell").0.program.bodies.len(),
        2
    );
    assert!(compilation.packed.is_baked());
}

#[test]
fn everything_that_is_wrong_is_reported() {
    let text = refused(&Builder::rnn(2, 3).linear_before_reset(true).name("a/b").weight_values(
        &[0.0; 5],
        &[0.0; 3],
        &[],
    ));
    for part in
        ["RNNCell has none", "cannot be the name of a file", "w has 5 values", "r has 3 values"]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_bias_in_the_layout_of_onnx_is_called_by_its_name() {
    let builder = Builder::gru(2, 1).linear_before_reset(true);
    let text = refused(&builder.weight_values(&[0.0; 6], &[0.0; 12], &[0.0; 12]));
    assert!(text.contains("ONNX"), "{text}");
}

#[test]
fn attributes_of_a_file_are_not_overruled() {
    let text = refused(&Builder::new("nowhere.xml").clip(1.0).weight_values(&[], &[], &[]));
    for part in ["`clip` is set", "`weight_values` is set", "nowhere.xml"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

/// Options that only files read are refused for declared layers, not ignored.
#[test]
fn options_of_files_are_refused_for_declared_layers() {
    let gru = || Builder::gru(2, 1);
    for (builder, part) in [
        (gru().shape("x", [1, 1]), "Builder::shape` is for models in files"),
        (gru().sample_rate(96_000), "for amplifier models"),
        (gru().size(ModelSize::Smallest), "for amplifier models"),
        (gru().dim("steps", 3), "Builder::dim` is for models in files"),
        (gru().constant("gain", 1), "Builder::constant` is for models in files"),
    ] {
        let text = refused(&builder);
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_clip_above_zero_is_a_bound() {
    for (clip, bound, is_warned_about) in crate::rules::cell::CLIPS {
        let (compilation, _) = Builder::gru(2, 1).clip(clip).generate().expect("any clip");
        assert_eq!(compilation.model.cells()[0].clip, bound, "{clip}");
        let said = compilation.warnings.to_string();
        assert_eq!(said.contains("the clip"), is_warned_about, "{clip}: {said}");
    }
}

#[test]
fn a_hidden_size_has_the_limits_of_any_other_reader() {
    for size in crate::rules::cell::WRONG_HIDDEN_SIZES {
        let text = refused(&Builder::gru(size, 1));
        assert!(text.contains(&size.to_string()) && text.contains("valid: "), "{size}: {text}");
    }
}

#[test]
fn parameters_of_activations_are_finite() {
    for (alpha, is_legal) in crate::rules::cell::PARAMETERS_OF_ACTIVATIONS {
        let builder = Builder::rnn(2, 1).activations([Activation::LeakyRelu { alpha }]);
        if is_legal {
            builder.generate().expect("a finite parameter");
            continue;
        }
        let text = refused(&builder);
        assert!(text.contains(&format!("alpha of the activation leakyrelu is {alpha}")), "{text}");
    }
}

#[test]
fn numbers_that_no_output_can_have_are_refused() {
    let range = |x: f32, h: f32| Builder::gru(4, 2).range(Range { x, h });
    let tuned = |tuning: Tuning| Builder::gru(4, 2).tuning(tuning);
    let tuning = Tuning::default();
    let cases = [
        (range(f32::NAN, 1.0), "a range of inputs up to NaN", "range"),
        (range(f32::INFINITY, 1.0), "a range of inputs up to inf", "range"),
        (range(1.0, -1.0), "a range of states up to -1", "range"),
        (Builder::gru(4, 2).max_steps(1), "is for models with a graph", "max_steps"),
        (tuned(tuning.with_panel_columns(Some(0))), "a number of panel columns of 0", "tuning"),
        (tuned(tuning.with_rows_at_once(Some(0))), "a number of rows at once of 0", "tuning"),
        (Builder::gru(4, 2).batch(0), "the shape [0, 2]: a size of 0", "shape"),
    ];
    for (builder, found, method) in cases {
        let text = refused(&builder);
        assert!(text.contains(found) && text.contains(method), "{found}: {text}");
    }
    assert!(!ModelSize::Control(f32::NAN).is_legal());
    // the smallest legal numbers
    let least = tuning.with_panel_columns(Some(1)).with_rows_at_once(Some(1));
    tuned(least).range(Range { x: 0.0, h: 0.0 }).generate().expect("numbers that are legal");
}

#[test]
fn weights_that_are_not_finite_are_warned_about() {
    let w = [0.5, f32::NAN];
    let (compilation, _) =
        Builder::rnn(2, 1).weight_values(&w, &[0.5; 4], &[0.0; 2]).generate().expect("a cell");
    let text = compilation.warnings.to_string();
    assert!(text.contains("w of layer 0 holds NaN") && !text.contains("r of layer"), "{text}");
}

#[test]
fn advice_is_in_the_words_of_the_builder() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/gru_cell_lbr0/model.xml");
    let text = refused(&Builder::new(&file).shape("unknown", [1, 1]));
    assert!(text.contains("correct the name in `Builder::shape`"), "{text}");
    let text = refused(&Builder::new(&file).open_shape("unknown", [Some(1), None]));
    assert!(text.contains("correct the name in `Builder::open_shape`"), "{text}");
    // messages name methods of the Builder, never command-line options
    for (builder, found) in [
        (
            Builder::gru(2, 1).direction(Direction::Reverse),
            "valid: a number of steps, `Builder::steps`",
        ),
        (Builder::gru(2, 1).isa([&crate::arch::AVX2; 2]), "help: correct `Builder::isa`"),
        (
            Builder::gru(2, 1).state(State::Pairs(vec![("h".into(), "y".into())])),
            "help: correct `Builder::state`",
        ),
    ] {
        let text = refused(&builder);
        assert!(text.contains(found) && !text.contains("--"), "{found} is not in {text}");
    }
}

#[test]
fn what_every_call_starts_anew_is_a_warning() {
    let both_ways = |steps: usize| {
        let builder = Builder::gru(2, 1).layers(2).steps(steps).direction(Direction::Bidirectional);
        builder.generate().expect("two layers").0
    };
    let (one, many) = (both_ways(1), both_ways(5));
    let text = one.warnings.to_string();
    assert!(
        text.contains("starts every call from the same constant state")
            && text.contains("in `Builder::shape`"),
        "{text}"
    );
    assert!(text.contains("pass `.state(cellc::State::None)`"), "{text}");
    assert_eq!(
        (one.model.restarts.len(), many.model.restarts.len(), many.warnings.0.len()),
        (2, 0, 0)
    );
}

#[test]
fn c_is_a_header_and_a_source() {
    let (_, files) =
        Builder::gru(4, 2).name("denoiser").language(Language::C).generate().expect("a cell");
    let names: Vec<&str> = files.iter().map(|file| &file.name[..]).collect();
    assert_eq!(names, ["denoiser.h", "denoiser.c"]);
    assert!(String::from_utf8_lossy(&files[0].bytes).contains("void denoiser_step("));
}

/// `main` prints "Error: " in front of the text of `Debug`, which therefore has no "error: ".
#[test]
fn an_error_is_called_so_once() {
    let error = Builder::gru(2, 1).layers(0).compile().expect_err("no layer");
    assert!(error.to_string().starts_with("error: 0 layers"), "{error}");
    assert!(format!("{error:?}").starts_with("0 layers"), "{error:?}");
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = env::temp_dir().join(format!("cellc-builder-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let written =
        Builder::gru(2, 1).language(Language::Rust).out_dir(&folder).compile().expect("a cell");
    assert_eq!(written, [folder.join("gru.rs")]);
    assert!(Builder::gru(0, 1).name("none").out_dir(&folder).compile().is_err());
    let left: Vec<_> = fs::read_dir(&folder)
        .expect("the folder")
        .map(|file| file.expect("a file").file_name())
        .collect();
    assert_eq!(left, ["gru.rs"]);
    let in_a_file = folder.join("gru.rs/missing");
    let error = Builder::gru(2, 1).out_dir(&in_a_file).compile().expect_err("a file is no folder");
    assert!(error.to_string().contains("missing"), "{error}");
    let made = folder.join("new/folder");
    let written = Builder::gru(2, 1).language(Language::Rust).out_dir(&made).compile();
    assert_eq!(written.expect("folders are made"), [made.join("gru.rs")]);
    fs::remove_dir_all(&folder).expect("the folder");
}

/// Each failure has its `ErrorKind` and its source.
#[test]
fn errors_have_kinds_and_sources() {
    let io = |error: &Error| {
        let source = std::error::Error::source(error)?;
        Some(source.downcast_ref::<io::Error>().expect("an error of the operating system").kind())
    };
    let missing = env::temp_dir().join("cellc-no-such-folder");
    let kinds = |builder: Builder, out_dir: &Path| {
        let error = builder.out_dir(out_dir).compile().expect_err("refused");
        (error.kind(), io(&error))
    };
    let not_found = Some(io::ErrorKind::NotFound);
    assert_eq!(kinds(Builder::gru(0, 1), &missing), (ErrorKind::Refused, None));
    let in_a_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml/folder");
    let no_folder = Some(io::ErrorKind::NotADirectory);
    assert_eq!(kinds(Builder::gru(2, 1), &in_a_file), (ErrorKind::Write, no_folder));
    assert_eq!(kinds(Builder::new(missing.join("m.xml")), &missing), (ErrorKind::Read, not_found));
    {
        let xml =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/gru_cell_lbr0/model.xml");
        let builder = Builder::new(xml).weights(missing.join("m.bin"));
        assert_eq!(kinds(builder, &missing), (ErrorKind::Read, not_found));
    }
    {
        let builder = Builder::gru(2, 1).safetensors(missing.join("m.safetensors"));
        assert_eq!(kinds(builder, &missing), (ErrorKind::Read, not_found));
    }
}

#[test]
fn sequences_layers_and_other_frameworks() {
    // a bidirectional LSTM of Keras; layer 1 reads 3 inputs, layer 2 the 4 outputs of layer 1
    let (kernel, recurrent, bias) = (|inputs: usize| vec![0.5; inputs * 8], [0.25; 16], [0.0; 8]);
    let layers = |builder: Builder| {
        let sets = [kernel(3), kernel(3), kernel(4), kernel(4)];
        sets.iter().fold(builder, |b, w| b.weights_of(Framework::Keras, &[w, &recurrent, &bias]))
    };
    let both = || Builder::lstm(2, 3).steps(5).layers(2).direction(Direction::Bidirectional);
    let (compilation, _) = layers(both()).generate().expect("a network");
    assert_eq!(compilation.model.cells().len(), 4);
    assert_eq!(compilation.model.results[0].shape, [1, 2, 5, 2]);
    assert!(compilation.model.variables.is_empty(), "both ways, every call starts at zero");
    // forward layers keep their states between calls
    let (compilation, _) = Builder::gru(2, 3).layers(2).generate().expect("a network");
    let names: Vec<&str> =
        compilation.model.variables.iter().map(|variable| &variable.name[..]).collect();
    assert_eq!(names, ["h_l0", "h_l1"]);

    let text = refused(&both().weights_of(Framework::Keras, &[&kernel(3), &recurrent, &bias]));
    assert!(text.contains("the weights of 1 layers and directions are given"), "{text}");
    let text = refused(
        &Builder::lstm(2, 3).weights_of(Framework::Keras, &[&kernel(2), &recurrent, &bias]),
    );
    assert!(
        text.contains("`kernel` has 16 values") && text.contains("24 values, [3, 8]"),
        "{text}"
    );
    let text = refused(&Builder::lstm(2, 3).weights_of(Framework::Keras, &[&kernel(3)]));
    assert!(text.contains("kernel, recurrent_kernel, bias"), "{text}");
    let text = refused(
        &Builder::lstm(2, 3).weights_of(Framework::Apple, &[&kernel(3), &recurrent, &bias]),
    );
    assert!(text.contains("Apple has no LSTMCell"), "{text}");
    let gru = Builder::gru(1, 1).linear_before_reset(false);
    let text =
        refused(&gru.weights_of(Framework::PyTorch, &[&[0.0; 3], &[0.0; 3], &[0.0; 3], &[0.0; 3]]));
    assert!(text.contains("PyTorch's GRU computes it as true"), "{text}");
}

#[test]
fn peepholes_come_after_the_biases() {
    let [w, r, b, p] = [&[0.5; 8][..], &[0.5; 16], &[0.0; 16], &[0.25; 6]];
    let builder = Builder::lstm(2, 1).peepholes(true);
    let (compilation, _) =
        builder.clone().weights_of(Framework::Onnx, &[w, r, b, p]).generate().expect("a cell");
    assert!(compilation.model.cells()[0].weights.p.is_some());
    let text = refused(&builder.steps(2));
    assert!(text.contains("`Builder::peepholes` is given, and LSTMSequence has none"), "{text}");
}

#[test]
fn what_goes_with_nothing_is_refused() {
    let cases = [
        (Builder::gru(2, 1).direction(Direction::Reverse), "a direction is given for one step"),
        (Builder::rnn(2, 1).layers(0), "0 layers"),
        (Builder::gru(2, 1).skip(true), "`Builder::skip` adds 1 input to 2 outputs"),
        (Builder::augru(2, 2).skip(true), "`Builder::skip` is set on an AUGRU"),
        (Builder::apple_gru(2, 2, 3).skip(true), "`Builder::skip` is set on Apple's gru"),
        (Builder::augru(2, 1).layers(2), "several layers of an AUGRU"),
        (
            Builder::augru(2, 1).steps(2).direction(Direction::Reverse),
            "AUGRUSequence with the direction reverse",
        ),
        (
            Builder::gru(2, 1).input_forget(true),
            "`Builder::input_forget` is given, and GRUCell has none",
        ),
        (
            Builder::lstm(2, 1).linear_before_reset(true),
            "`Builder::linear_before_reset` is given, and LSTMCell has none",
        ),
        (
            Builder::gru(2, 1).output_sequence(true),
            "`Builder::output_sequence` is given, and GRUCell has none",
        ),
        (Builder::apple_gru(2, 1, 3).linear_before_reset(true), "apply_reset_gate_after_mat_mul"),
        (
            Builder::apple_gru(2, 1, 3).direction(Direction::Bidirectional),
            "no bidirectional direction",
        ),
        (Builder::apple_gru(2, 1, 3).layers(2), "several layers of Apple's gru"),
        (
            Builder::apple_gru(2, 1, 3)
                .apply_reset_gate_after_mat_mul(true)
                .reset_gate(AppleResetGate::BeforeMatMul),
            "the flag says otherwise",
        ),
        (Builder::gru(1 << 40, 1).steps(1 << 40), "rows of 1099511627776 states"),
        (
            Builder::gru(2, 1).layers(2).weight_values(&[0.0; 6], &[0.0; 12], &[0.0; 6]),
            "weights of 1 layers for 2",
        ),
    ];
    for (builder, found) in cases {
        let text = refused(&builder);
        assert!(text.contains(found), "{found} is not in {text}");
    }
}

/// `len` values from -1 to 1 with 24 bits: f32 sums round.
fn values(len: usize, seed: u32) -> Vec<f32> {
    let bits =
        |i: usize| (i as u32).wrapping_add(seed << 16).wrapping_mul(0x9e37_79b9).rotate_left(13);
    (0..len)
        .map(|i| (bits(i).wrapping_mul(0x85eb_ca6b) >> 8) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}

/// Packs the named weights; returns the block as bits.
fn packed(compilation: &Compilation, given: &[(&str, Vec<f32>)]) -> Vec<u32> {
    let (program, packed) = (&compilation.program, &compilation.packed);
    let mut block = vec![0.0; packed.run_time_len];
    // pack twice: the second pass must overwrite, not accumulate
    for (copied, from, to) in program.packing.copies().chain(program.packing.copies()) {
        let Role::Parameter(i) = program.buffer(from).role else {
            panic!("all weights are inputs")
        };
        let field =
            compilation.interface.weights.iter().find(|field| field.index == i).expect("a weight");
        let (_, from) =
            given.iter().find(|(name, _)| *name == field.name).expect("a weight of that name");
        assert_eq!(from.len(), field.len());
        pack::fill(copied, |at| from[at], &mut block[packed.run_time_at(to).expect("a place")..]);
    }
    block.into_iter().map(f32::to_bits).collect()
}

#[test]
fn apples_weights_at_run_time_are_packed_as_the_same_arrays() {
    const NAMES: [&str; 4] = ["input_hidden_weight", "hidden_hidden_weight", "bias", "input_bias"];
    // one panel; several panels with a narrower last panel
    for (hidden, inputs) in [(5, 3), (70, 4)] {
        let rows = 3 * hidden;
        let all = [(rows * inputs, 1), (rows * hidden, 2), (rows, 3), (rows, 4)]
            .map(|(len, seed)| values(len, seed));
        for gate in AppleResetGate::ALL {
            let builder = Builder::apple_gru(hidden, inputs, 2).reset_gate(gate);
            let (run_time, _) = builder.generate().expect("a sequence");
            let fields: Vec<_> =
                run_time.interface.weights.iter().map(|f| (&f.name[..], f.shape.clone())).collect();
            let shapes = [vec![rows, inputs], vec![rows, hidden], vec![rows], vec![rows]];
            let tensors = if gate == AppleResetGate::AfterMatMul { 4 } else { 3 };
            assert_eq!(fields, NAMES.into_iter().zip(shapes).take(tensors).collect::<Vec<_>>());
            for left_out in 0..=tensors - 2 {
                let known: Vec<&[f32]> =
                    all[..tensors - left_out].iter().map(|tensor| &tensor[..]).collect();
                let (baked, _) = builder
                    .clone()
                    .weights_of(Framework::Apple, &known)
                    .generate()
                    .expect("a sequence");
                let weights = baked.program.find(Role::Weights).expect("a product");
                let wanted = baked.packed.values(&baked.program, weights);
                let wanted: Vec<u32> =
                    wanted.expect("baked").into_iter().map(f32::to_bits).collect();
                // omitted biases are zero
                let given =
                    |i: usize| if i < known.len() { all[i].clone() } else { vec![0.0; rows] };
                let given: Vec<_> = (0..tensors).map(|i| (NAMES[i], given(i))).collect();
                assert_eq!(
                    packed(&run_time, &given)[..wanted.len()],
                    wanted,
                    "{gate:?}, {left_out} left out"
                );
                for (i, (a, b)) in
                    (0..known.len()).flat_map(|i| [(0, 1), (0, 2), (1, 2)].map(|gates| (i, gates)))
                {
                    let mut exchanged = given.clone();
                    let len = exchanged[i].1.len() / 3;
                    let (first, last) = exchanged[i].1.split_at_mut(b * len);
                    first[a * len..][..len].swap_with_slice(&mut last[..len]);
                    assert_ne!(
                        packed(&run_time, &exchanged)[..wanted.len()],
                        wanted,
                        "{gate:?}: {a} and {b} of {i}"
                    );
                }
            }
        }
    }
}

#[test]
fn metadata_of_a_file_say_what_the_builder_need_not() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/pytorch/model/net.safetensors");
    let (compilation, _) = Builder::gru(16, 4).safetensors(&file).generate().expect("a network");
    assert_eq!(compilation.model.results[0].shape, [1, 1], "the head that the metadata name");
    let said = Builder::gru(16, 4)
        .safetensors(&file)
        .prefix("gru")
        .head("fc")
        .head_activation(Activation::Sigmoid);
    let (same, _) = said.generate().expect("a network");
    assert_eq!(same.model, compilation.model);
    let sequence = Builder::gru(16, 4).steps(3).safetensors(&file).generate().expect("a network").0;
    assert_eq!(sequence.model.results[0].shape, [1, 3, 1]);
    for (builder, found) in [
        (
            Builder::gru(16, 4).safetensors(&file).head("out"),
            "`Builder::head` is out here and fc in the metadata",
        ),
        (Builder::lstm(16, 4).safetensors(&file), "the cell is lstm here and gru in the metadata"),
        (
            Builder::gru(16, 4).skip(true).safetensors(&file),
            "`Builder::skip` adds 4 inputs to 1 output",
        ),
        (
            Builder::gru(16, 4).safetensors(&file).head_activation(Activation::Relu),
            "`Builder::head_activation` is relu here and sigmoid in",
        ),
        (Builder::gru(16, 4).layers(2).safetensors(&file), "no tensor \"gru.weight_ih_l1\""),
    ] {
        let text = refused(&builder);
        assert!(text.contains(found), "{found} is not in {text}");
    }
    // all layers of a file; errors must not name a method that was not called
    let two = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/frameworks/pytorch_gru_with_head.safetensors");
    let builder = Builder::gru(5, 3).safetensors(&two).prefix("gru");
    assert_eq!(builder.generate().expect("a network").0.model.cells().len(), 2);
    let text = refused(&Builder::gru(5, 3).safetensors(&two));
    assert!(!text.contains("Builder::layers"), "{text}");
    let text = refused(&builder.layers(1));
    assert!(text.contains("leave out `Builder::layers`, and all are taken"), "{text}");
    {
        let (compilation, files) = Builder::new(&file).generate().expect("a network");
        assert_eq!(compilation.model.results[0].shape, [1, 1]);
        assert_eq!(files.last().map(|file| &file.name[..]), Some("net.rs"));
    }
}

#[test]
fn files_of_tensors() {
    let file =
        |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/frameworks").join(name);
    let net = || {
        Builder::gru(5, 3)
            .layers(2)
            .safetensors(file("pytorch_gru_with_head.safetensors"))
            .prefix("gru.")
    };
    let (compilation, _) =
        net().head("fc").head_activation(Activation::Sigmoid).generate().expect("a network");
    assert_eq!(compilation.model.results[0].shape, [1, 2]);
    assert_eq!(compilation.model.files[0].name, "pytorch_gru_with_head.safetensors");
    assert!(net().language(Language::C).head("fc").generate().is_ok());

    let text =
        refused(&Builder::gru(6, 3).safetensors(file("pytorch_gru.safetensors")).prefix("gru"));
    assert!(text.contains("`Builder::hidden_size` is 6 here and 5 in "), "{text}");
    let text = refused(&net().head("out"));
    assert!(
        text.contains("no tensor \"out.weight\"") && text.contains("`Builder::head`"),
        "{text}"
    );
    let text = refused(&Builder::gru(5, 3).head("fc"));
    assert!(text.contains("`Builder::head` is given without a file of tensors"), "{text}");
    let text = refused(&net().head_activation(Activation::Sigmoid));
    assert!(text.contains("`Builder::head_activation` is given without `Builder::head`"), "{text}");
    let apple = Builder::apple_gru(5, 3, 2).apply_reset_gate_after_mat_mul(true);
    let apple = apple.safetensors(file("apple_gru_after.safetensors")).prefix("apple");
    assert!(apple.generate().is_ok());
    let text = refused(&apple.head("fc"));
    assert!(text.contains("`head` is set on a Builder::apple_gru"), "{text}");
    let text =
        refused(&Builder::lstm(5, 3).safetensors(file("pytorch_gru.safetensors")).prefix("gru"));
    assert!(text.contains("are those of a GRU: 15 rows of 5"), "{text}");
    // sizes beyond any file are refused before allocation
    let text = refused(
        &Builder::gru(usize::MAX, usize::MAX)
            .safetensors(file("pytorch_gru.safetensors"))
            .prefix("gru"),
    );
    assert!(
        text.contains(&format!("`Builder::input_size` is {} here and 3 in ", usize::MAX)),
        "{text}"
    );
    let values = [0.0; 3];
    let text = refused(
        &Builder::gru(usize::MAX, 1).weights_of(Framework::Onnx, &[&values, &values, &values]),
    );
    assert!(text.contains("`R` has 3 values"), "{text}");
    let text = refused(&Builder::gru(0, 0).weights_of(Framework::Keras, &[&[], &[], &[]]));
    assert!(text.contains("0 states and 0 inputs"), "{text}");
    let text =
        refused(&Builder::gru(usize::MAX, usize::MAX).safetensors(file("pytorch_gru.safetensors")));
    assert!(text.contains("no tensor \"weight_ih_l0\""), "{text}");
}

#[test]
fn a_profile_that_makes_generated_rust_slow_is_warned_of() {
    assert_eq!(slow_profile("3", "wasm32", "release", "app"), [""; 0]);
    assert_eq!(slow_profile("", "", "", ""), [""; 0]);
    assert_eq!(slow_profile("s", "x86_64", "release", "app"), [""; 0]);
    let dev = slow_profile("0", "x86_64", "debug", "app");
    assert!(
        dev[0].starts_with("app is compiled with opt-level = 0: ") && dev[0].contains("250 times"),
        "{dev:?}"
    );
    assert_eq!(dev[1..], ["[profile.dev.package.app]", "opt-level = 3"]);
    assert_eq!(slow_profile("s", "wasm32", "release", "app")[1], "[profile.release.package.app]");
}

/// torch.onnx.export writes weights into a file next to the model. Cargo must rebuild if only the
/// file of weights changes.
#[test]
fn cargo_watches_the_weights_beside_an_onnx_file() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/onnx/cases/external_data_noffset");
    let builder = Builder::new(folder.join("model.onnx"));
    let (compilation, _) = builder.generate().expect("the model is read");
    let mut watched = builder.files().expect("names");
    watched.extend(builder.files_beside(&compilation.model.files).expect("names"));
    watched.sort();
    let expected = ["B.bin", "R.bin", "W.bin", "model.onnx"]
        .map(|name| folder.join(name).display().to_string());
    assert_eq!(watched, expected);
}

/// Messages name an option by the Builder's method of its flag.
#[test]
fn every_flag_has_its_method() {
    let source = include_str!("mod.rs");
    for flag in FLAGS {
        let Setting::Flag(names) = flag.setting() else { panic!("{} has a setting", flag.name) };
        let call = method_name(&Setting::Flag(names));
        let name = call.split('(').next().expect("a name");
        let is_written = source.contains(&format!("    pub fn {name}("));
        let is_row = [format!("    {name}("), format!("    {name} = ")];
        assert!(
            is_written || is_row.iter().any(|row| source.contains(row)),
            "--{}: Builder has no method {name}",
            flag.name
        );
    }
}
