//! Every form of kernels, in Rust and in C, on every instruction set of this machine, gives the
//! bits of the interpreter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::internals::arch::PlannedIsa;
use cellc::internals::compile::compile;
use cellc::internals::front::openvino;
use cellc::internals::kernel::Body;
use cellc::internals::plan::Phase;
use cellc::{Language, Options, Precision, Tuning, Unroll};
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::selection::with_fewer_bodies;
use cellc_tests::subject::{Subject, Values, assert_same, bits, of_subjects};
use cellc_tests::tiled::{Layer, values};
use cellc_tests::{driver, kernels, random};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn generated_rust_is_the_interpreter() {
    let subjects = [kernels::subject("made_by_hand")];
    let expected = subjects[0].expected_of_each_body(&driver::isas());
    // without optimisation every subtraction is checked
    for level in ["-Copt-level=0", "-Copt-level=3"] {
        let found = driver::rust(&folder("kernels-rust"), &subjects, &[level, driver::ASSERTED]);
        assert_same(level, &expected, &found);
    }
}

#[test]
fn generated_c_is_the_interpreter() {
    let subjects = [kernels::subject("made_by_hand")];
    let expected = subjects[0].expected_of_each_body(&driver::isas());
    for compiler in driver::c_compilers() {
        for flags in [&["-std=c11", "-O0"][..], &["-std=gnu11", "-O3"]] {
            let found = driver::c(&folder("kernels-c"), &subjects, compiler, flags);
            assert_same(&format!("{compiler} {flags:?}"), &expected, &found);
        }
    }
}

/// Cells with unrolled loops over rows: with iterations left over, every format of weights, few
/// sums and many.
fn unrolled_cells() -> Vec<Subject> {
    let of = |precision| Options::default().with_precision(Some(precision));
    let layer = |kind, inputs, units| Layer { kind, attributes: "", rows: 1, inputs, units };
    vec![
        layer("GRUCell", 90, 48).subject("unrolled_gru", of(Precision::F32), false),
        layer("LSTMCell", 35, 50).subject("unrolled_lstm", of(Precision::F32), true),
        layer("RNNCell", 77, 121).subject("unrolled_rnn", of(Precision::F32), false),
        layer("LSTMCell", 70, 130).subject("unrolled_int8", of(Precision::Int8), false),
        Layer { attributes: r#"linear_before_reset="true""#, ..layer("GRUCell", 24, 129) }.subject(
            "unrolled_int16",
            of(Precision::Int16),
            false,
        ),
    ]
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn unrolled_loops_give_the_same_bits() {
    let subjects = unrolled_cells();
    let isas = driver::isas();
    for subject in &subjects {
        let bodies = || subject.isas().zip(&subject.compilation.program.bodies);
        let is_unrolled =
            |body: &Body| body.kernels.iter().any(|kernel| !kernel.hints.unrolled_by.is_empty());
        let on: Vec<_> =
            bodies().filter(|(_, body)| is_unrolled(body)).map(|((isa, _), _)| isa).collect();
        assert!(on.iter().any(|isa| isa.starts_with("avx512")), "{} on {on:?}", subject.name);
        assert!(!on.contains(&"generic"), "{}", subject.name);
        // integers are processed in alternating order, too, in chains; the step after the first is
        // in reverse order
        let plan = &subject.compilation.plan.products[0];
        let of_integers =
            subject.compilation.options.numerics.precision.unwrap_or_default() != Precision::F32;
        assert_eq!(plan.alternate, of_integers, "{}", subject.name);
        let columns = plan.panels[0].columns;
        let in_chains =
            |own: &PlannedIsa| plan.choice(Phase::Hidden, columns, 1, own.isa).chains.count(4) > 1;
        assert_eq!(
            subject.compilation.plan.isas.iter().any(in_chains),
            of_integers,
            "{}",
            subject.name
        );
    }
    let layer = Layer { kind: "GRUCell", attributes: "", rows: 1, inputs: 90, units: 48 };
    let kept = layer.subject(
        "kept",
        Options::default().with_tuning(Tuning::default().with_unroll(Unroll::None)),
        false,
    );
    assert!(
        kept.compilation
            .program
            .bodies
            .iter()
            .flat_map(|body| &body.kernels)
            .all(|kernel| kernel.hints.unrolled_by.is_empty())
    );
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let in_c = with_fewer_bodies(&subjects, Language::C);
    for (compiler, taken) in driver::c_compilers_with(&in_c) {
        let found = driver::c(&folder("unrolled-c"), &taken, compiler, &["-std=gnu11", "-O1"]);
        assert_same(compiler, &of_subjects(&expected, &taken), &found);
    }
    let in_rust = with_fewer_bodies(&subjects, Language::Rust);
    let found = driver::rust(&folder("unrolled-rust"), &in_rust, &["-Copt-level=1"]);
    assert_same("rust", &of_subjects(&expected, &in_rust), &found);
}

/// A program that uses a model through the trait alone.
const BY_TRAIT: &str = r#"mod made_by_hand;

use cellc_runtime::{Cell, Element, Port};

fn check<C: Cell>(cell: &mut C, input: C::Input<'_>) {
    let port = |name, shape, element| Port { name, shape, element };
    let inputs = [
        port("x", &[2, 3, 4], Element::F32),
        port("sequence_lengths", &[2], Element::I64),
        port("block_2", &[1], Element::I32),
    ];
    assert_eq!(C::INPUTS, inputs);
    assert_eq!(C::OUTPUTS, [port("y", &[2, 12], Element::F32), port("mixed", &[90], Element::F32), port("integers", &[62], Element::F32)]);
    assert_eq!(C::STATES, [port("state_1", &[2, 2], Element::F32), port("step_2", &[3], Element::F32)]);
    cell.step(input, &mut C::zeroed_output());
}

fn main() {
    let mut cell = made_by_hand::MadeByHand::new();
    let first = *cell.state_1();
    let (x, sequence_lengths, block_2) = (&[1.0; 24], &[2, 3], &[1]);
    check(&mut cell, &made_by_hand::Inputs { x, sequence_lengths, block_2 });
    assert!(*cell.state_1() != first && *cell.step_2() != [0.0; 3]);
    Cell::reset(&mut cell);
    assert!(*cell.state_1() == first && *cell.step_2() == [0.0; 3]);
}
"#;

#[test]
fn the_trait_tells_of_variables_and_integers() {
    let mut subject = kernels::subject("made_by_hand");
    subject.compilation.options.output.runtime = true;
    let folder = folder("kernels-trait");
    driver::write_files(&folder, &[subject], Language::Rust);
    fs::write(folder.join("main.rs"), BY_TRAIT).expect("a file");
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/lib.rs");
    let rustc = || {
        let mut command = driver::rustc();
        command.current_dir(&folder).args(["--edition=2024", "-Dwarnings"]);
        command
    };
    driver::run(
        rustc()
            .args([
                "--crate-type=rlib",
                "--crate-name=cellc_runtime",
                "--check-cfg=cfg(feature, values(any()))",
            ])
            .arg(runtime),
    );
    driver::run(rustc().args([
        "--extern=cellc_runtime=libcellc_runtime.rlib",
        "main.rs",
        "-o",
        "main",
    ]));
    driver::run(&mut Command::new(folder.join("main")));
}

/// The source of a model in Rust.
fn in_rust(file: ModelFile) -> String {
    let text = file.text();
    let model = openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", file.weights)))
        .unwrap_or_else(|said| panic!("{said:?}"))
        .model;
    let compilation =
        compile(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    let subject = Subject { name: "net".to_owned(), compilation, calls: Vec::new() };
    let files = subject.files(Language::Rust);
    String::from_utf8_lossy(&files.last().expect("the source").bytes).into_owned()
}

/// Planes are convolved as one line with gaps. Pointwise operations with a constant for each
/// channel are computed in the convolution, before the gaps are removed.
#[test]
fn a_convolution_over_planes_adds_its_bias() {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, 2, 9, 8]);
    let drawn = |file: &mut ModelFile, shape: &[usize]| {
        let count = shape.iter().product::<usize>();
        file.constant(shape, Stored::F32, (0..count).map(|i| (i as f32 - 5.0) / 8.0))
    };
    let (w, bias, slope) =
        (drawn(&mut file, &[3, 2, 3, 3]), drawn(&mut file, &[1, 3, 1, 1]), drawn(&mut file, &[1]));
    let out = [1, 3, 9, 8];
    let data = "strides=\"1,1\" dilations=\"1,1\" pads_begin=\"1,1\" pads_end=\"1,1\"";
    let y = file.operation("Convolution", "opset1", data, &[&x, &w], &out);
    let y = file.operation("Add", "opset1", "", &[&y, &bias], &out);
    let y = file.operation("Relu", "opset1", "", &[&y], &out);
    let y = file.operation("Multiply", "opset1", "", &[&slope, &y], &out);
    file.result(&y);
    let text = in_rust(file);
    assert!(
        text.contains("windows of 3 x 3, add, relu, multiply.") && !text.contains("fn pointwise"),
        "{text}"
    );
}

/// Instruction sets whose vectors a model cannot fill to a half are the last choice.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn a_small_model_runs_with_short_vectors() {
    let detected = |file: ModelFile| {
        let text = in_rust(file);
        let detect = text.split("fn ask()").nth(1).expect("it asks the processor");
        let place = |kind: &str| detect.find(kind).expect("it is among them");
        place("Kind::Avx2") < place("Kind::Avx512")
    };
    // a product of 64 weights or more is not computed in scalars
    let product = |elements: usize| {
        let mut file = ModelFile::default();
        let x = file.parameter("x", &[1, 8]);
        let w = file.constant(&[8, elements], Stored::F32, (0..elements * 8).map(|i| i as f32));
        let attributes = "transpose_a=\"false\" transpose_b=\"false\"";
        let y = file.operation("MatMul", "opset1", attributes, &[&x, &w], &[1, elements]);
        file.result(&y);
        file
    };
    assert_eq!([8, 9].map(|elements| detected(product(elements))), [true, false]);
}

/// A GRU with 7 rows: a cell, or a sequence of one step. The rows of the sequence may have lengths.
fn of_one_step(kind: &str, are_given: bool) -> Subject {
    let (rows, inputs, units) = (7, 5, 20);
    let mut file = ModelFile::default();
    let is_cell = kind == "GRUCell";
    let with_one =
        |first: usize, last: usize| if is_cell { vec![first, last] } else { vec![first, 1, last] };
    let mut ports = vec![
        file.parameter("x", &with_one(rows, inputs)),
        file.parameter("h", &with_one(rows, units)),
    ];
    if !is_cell {
        ports.push(match are_given {
            true => file.parameter_of("lengths", "i64", &[rows]),
            false => file.integers(&[rows], &[1; 7]),
        });
    }
    for (seed, last) in [Some(inputs), Some(units), None].into_iter().enumerate() {
        let mut shape = if is_cell { vec![3 * units] } else { vec![1, 3 * units] };
        shape.extend(last);
        let values = values(shape.iter().product(), seed);
        ports.push(file.constant(&shape, Stored::F32, values));
    }
    let (set, direction) =
        if is_cell { ("opset3", "") } else { ("opset5", "direction=\"reverse\"") };
    let outputs = [vec![rows, 1, 1, units], with_one(rows, units)];
    let data = format!("hidden_size=\"{units}\" {direction}");
    for output in file.operations(
        kind,
        set,
        &data,
        &ports.iter().collect::<Vec<_>>(),
        &outputs[usize::from(is_cell)..],
    ) {
        file.result(&output);
    }
    random::compiled("one_step", file, Options::default(), 5)
}

#[test]
fn a_sequence_of_one_step_computes_its_rows_together() {
    let [cell, sequence, by_length] =
        [("GRUCell", false), ("GRUSequence", false), ("GRUSequence", true)]
            .map(|(kind, given)| of_one_step(kind, given));
    let loads = |subject: &Subject, isa: usize| {
        let kernels = &subject.compilation.program.bodies[isa].kernels;
        kernels
            .iter()
            .map(|kernel| format!("{:?}", kernel.body).matches("MulAdd").count())
            .sum::<usize>()
    };
    for (isa, (name, _)) in cell.isas().enumerate() {
        assert_eq!(loads(&sequence, isa), loads(&cell, isa), "{name}");
        for call in &cell.calls {
            let [h] = &cell.interpret(isa, call)[..] else { panic!("a cell has one result") };
            let of = |result: &Vec<f32>| result.iter().copied().map(bits).collect::<Vec<_>>();
            let found = sequence.interpret(isa, call);
            assert_eq!(found.iter().map(of).collect::<Vec<_>>(), [of(h), of(h)], "{name}");
        }
    }
    let says = |subject: &Subject, text: &str| subject.compilation.plan.to_string().contains(text);
    assert!(says(&sequence, "rows at once") && !says(&sequence, "one row at a time"));
    assert!(
        says(&by_length, "one row at a time: each has a length")
            && !says(&by_length, "rows at once")
    );
}
