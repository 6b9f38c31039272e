//! NaN and infinite inputs: NaN stays NaN, and both languages give the results of the interpreter.

use std::path::Path;

use cellc::internals::arch;
use cellc::internals::compile::compile;
use cellc::internals::front::openvino;
use cellc::internals::model::Activation;
use cellc::{Accuracy, Options};
use cellc::{Tuning, Unroll};
use cellc_tests::driver;
use cellc_tests::model_file::{ModelFile, Port, Stored};
use cellc_tests::subject::{Subject, assert_same};

/// Elements of an input: a vector of the widest instruction set, and a remainder.
const LEN: usize = 16 + 1;

/// A model with every activation in a cell with a clip, and every operation that chooses between
/// values. Results that read `y` come first.
fn file() -> (ModelFile, usize) {
    let mut file = ModelFile::default();
    let shape = [1, LEN];
    let x = file.parameter("x", &shape);
    let y = file.parameter("y", &shape);
    let half = file.constant(&[1], Stored::F32, [0.5].into_iter());
    let mut both = Vec::new();
    let mut of_x = Vec::new();
    for kind in ["Maximum", "Minimum"] {
        both.push(file.operation(kind, "opset1", "auto_broadcast=\"numpy\"", &[&x, &y], &shape));
        both.push(file.operation(kind, "opset1", "auto_broadcast=\"numpy\"", &[&y, &x], &shape));
        of_x.push(file.operation(kind, "opset1", "auto_broadcast=\"numpy\"", &[&x, &half], &shape));
        of_x.push(file.operation(kind, "opset1", "auto_broadcast=\"numpy\"", &[&half, &x], &shape));
    }
    // the slope is read only if an element is negative
    of_x.push(file.operation("PRelu", "opset1", "", &[&x, &y], &shape));
    of_x.push(file.operation("Clamp", "opset1", "min=\"-0.5\" max=\"0.25\"", &[&x], &shape));
    of_x.push(file.operation("Relu", "opset1", "", &[&x], &shape));
    of_x.push(file.operation("Abs", "opset1", "", &[&x], &shape));
    of_x.push(file.operation("SoftMax", "opset1", "axis=\"1\"", &[&x], &shape));
    // one weight for each unit: infinity stays infinity
    let numbers =
        |len: usize, step: usize| (0..len).map(move |i| ((i * step % 7) as f32 - 3.0) / 8.0);
    let zero = file.constant(&shape, Stored::F32, (0..LEN).map(|_| 0.0));
    let state = file.parameter("h", &shape);
    for name in Activation::NAMES {
        let [w, r] =
            [5, 3].map(|step| file.constant(&[LEN, LEN], Stored::F32, numbers(LEN * LEN, step)));
        let b = file.constant(&[LEN], Stored::F32, numbers(LEN, 2));
        let parameters = match Activation::takes(name).expect("a name of the list") {
            0 => "",
            1 => "activations_alpha=\"0.5\"",
            _ => "activations_alpha=\"0.5\" activations_beta=\"0.25\"",
        };
        let attributes = format!("activations=\"{name}\" {parameters} clip=\"2\"");
        let h = if name == "relu" { &state } else { &zero };
        of_x.push(file.cell(name, "RNNCell", &attributes, &[&x, h, &w, &r, &b]));
    }
    let all: Vec<&Port> = both.iter().chain(&of_x).collect();
    all.into_iter().for_each(|port| {
        file.result(port);
    });
    (file, both.len())
}

fn subject(accuracy: Accuracy, calls: &[[Vec<f32>; 2]]) -> Subject {
    let (file, _) = file();
    let (text, bin) = (file.text(), file.weights);
    let model = openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", bin)))
        .expect("a model")
        .model;
    let name = format!("net_{}", accuracy.name());
    let options = Options::default()
        .with_name(Some(name.clone()))
        .with_accuracy(accuracy)
        .with_tuning(Tuning::default().with_unroll(Unroll::None))
        // only the functions differ: one instruction set besides the generic one is enough
        .with_isas((accuracy != Accuracy::Exact).then(|| vec![&arch::AVX2]));
    let compilation = compile(&model, &options);
    let compilation = compilation.unwrap_or_else(|problems| panic!("{problems}"));
    let calls = calls.iter().map(|[x, y]| vec![x.clone(), y.clone(), vec![0.0; LEN]]).collect();
    Subject { name, compilation, calls }
}

#[test]
fn a_nan_stays_one_in_every_language() {
    let numbers = |scale: f32| (0..LEN).map(|i| (i as f32 - 7.0) * scale).collect::<Vec<f32>>();
    let all = |value: f32| vec![value; LEN];
    let one = |value: f32| {
        let mut values = numbers(0.125);
        values[3] = value;
        values
    };
    let inf = f32::INFINITY;
    let calls = [
        [all(f32::NAN), numbers(0.25)],
        [numbers(0.25), all(f32::NAN)],
        [all(-f32::NAN), all(f32::NAN)],
        [one(f32::NAN), numbers(0.5)],
        [all(inf), numbers(0.25)],
        [all(-inf), all(inf)],
        [one(inf), one(-inf)],
    ];
    let (_, both) = file();
    let subjects = Accuracy::ALL.map(|accuracy| subject(accuracy, &calls));
    let isas = driver::isas();
    for subject in &subjects {
        let expected = subject.expected(&isas);
        for ((_, isa, call, way, result), bits) in &expected {
            let nan = bits.iter().all(|bits| f32::from_bits(*bits).is_nan());
            let asked = matches!((call, *result < both), (0 | 2, _) | (1, true));
            assert!(
                nan || !asked,
                "{} on {isa}: result {result} of call {call}, {way:?}",
                subject.name
            );
            assert!(
                !nan || asked || *call > 2,
                "{} on {isa}: result {result} of call {call}",
                subject.name
            );
        }
    }
    let expected = subjects.iter().flat_map(|subject| subject.expected(&isas)).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-finite");
    let found = driver::rust(&folder.join("rust"), &subjects, &["-Copt-level=1"]);
    assert_same("Rust", &expected, &found);
    for compiler in driver::c_compilers() {
        let found = driver::c(&folder.join("c"), &subjects, compiler, &["-std=c11", "-O1"]);
        assert_same(compiler, &expected, &found);
    }
}

/// NaN is never the best element: it comes after all numbers, at place 0.
#[test]
fn nan_is_never_the_best() {
    const COUNT: usize = 3;
    let of = |data: &str| {
        let mut file = ModelFile::default();
        let x = file.parameter("x", &[1, 4]);
        let count = file.integers(&[], &[COUNT as i64]);
        file.best(data, &x, &count, &[1, COUNT]).iter().for_each(|port| {
            file.result(port);
        });
        let text = file.text();
        let model =
            openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", file.weights)))
                .expect("a model")
                .model;
        let compilation =
            compile(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
        Subject { name: "best".to_owned(), compilation, calls: Vec::new() }
    };
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for mode in ["max", "min"] {
        let subject =
            of(&format!("axis=\"1\" mode=\"{mode}\" sort=\"value\" index_element_type=\"i64\""));
        let (low, high) = if mode == "max" { (1.0, 2.0) } else { (2.0, 1.0) };
        let worst = if mode == "max" { -inf } else { inf };
        for (x, values, places) in [
            ([nan, low, nan, high], [high, low, nan], [3.0, 1.0, 0.0]),
            ([low, nan, nan, nan], [low, nan, nan], [0.0, 0.0, 0.0]),
            ([nan, nan, nan, worst], [worst, nan, nan], [3.0, 0.0, 0.0]),
            ([nan; 4], [nan; 3], [0.0; 3]),
            ([low, low, nan, high], [high, low, low], [3.0, 0.0, 1.0]),
        ] {
            let same = |found: &[f64], wanted: &[f32]| {
                found
                    .iter()
                    .zip(wanted)
                    .all(|(a, b)| a.is_nan() && b.is_nan() || *a == f64::from(*b))
            };
            let x = vec![x.to_vec()];
            let reference = subject.reference(&x);
            assert!(
                same(&reference[0], &values) && same(&reference[1], &places),
                "{mode} {x:?}: {reference:?}"
            );
            for isa in 0..subject.isas().count() {
                let found: Vec<Vec<f64>> = subject
                    .interpret(isa, &x)
                    .iter()
                    .map(|values| values.iter().map(|value| f64::from(*value)).collect())
                    .collect();
                assert!(
                    same(&found[0], &values) && same(&found[1], &places),
                    "{mode} {x:?}: {found:?}"
                );
            }
        }
    }
}
