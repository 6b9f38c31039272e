//! Deep models: every stage processes 10,000 layers in a thread of 2 MiB, also unoptimised. Deeper
//! models are refused by name.

use std::path::Path;
use std::thread;

use cellc::internals::arch::AVX2;
use cellc::internals::bound::bound;
use cellc::internals::compile::compile;
use cellc::internals::diagnostic::{Diagnostics, Severity};
use cellc::internals::front::openvino;
use cellc::internals::front::read_model::ReadModel;
use cellc::internals::reference::reference;
use cellc::{Language, Options};
use cellc_tests::driver;
use cellc_tests::model_file::{Iterated, IteratedInput, IteratedOutput, ModelFile, Port, Stored};
use cellc_tests::subject::{Subject, assert_same, of_subjects};

const DEEP: usize = 10_000;
const TOO_DEEP: usize = 100_000;

/// Runs a function in a thread of 2 MiB, the default stack of std's threads.
fn in_small_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .expect("a thread starts")
        .join()
        .expect("nothing panics")
}

/// An input of this shape, `depth` layers made by `layer`, and an output.
fn chain(
    shape: &[usize],
    depth: usize,
    mut layer: impl FnMut(&mut ModelFile, &Port, usize) -> Port,
) -> ModelFile {
    let mut file = ModelFile::default();
    let mut x = file.parameter("x", shape);
    for i in 0..depth {
        x = layer(&mut file, &x, i);
    }
    file.result(&x);
    file
}

fn unary(file: &mut ModelFile, kind: &str, x: &Port) -> Port {
    file.operation(kind, "opset1", "", &[x], &x.shape.clone())
}

fn binary(file: &mut ModelFile, kind: &str, a: &Port, b: &Port) -> Port {
    file.operation(kind, "opset1", "auto_broadcast=\"numpy\"", &[a, b], &a.shape.clone())
}

fn compiled(file: ModelFile) -> Result<Subject, Diagnostics> {
    let model =
        openvino::read_bytes("deep.xml", file.text().as_bytes(), Some(("deep.bin", file.weights)))?
            .model;
    let compilation = compile(&model, &Options::default().with_name(Some("deep".into())))?;
    Ok(Subject { name: "deep".into(), compilation, calls: Vec::new() })
}

/// All of cellc, from reading a model to dropping it: every printed form, both languages, and the
/// interpreter, compared with the reference and the bound.
fn every_stage(file: ModelFile) {
    let subject = compiled(file).unwrap_or_else(|problems| panic!("it is refused: {problems:?}"));
    let (model, compilation) = (subject.model(), &subject.compilation);
    let inputs: Vec<Vec<f32>> =
        model.parameters.iter().map(|p| vec![0.25; p.shape.iter().product()]).collect();
    let exact: Vec<Vec<f64>> =
        inputs.iter().map(|values| values.iter().map(|v| f64::from(*v)).collect()).collect();
    let wanted = reference(model, &exact, &[]).results;
    let errors =
        bound(model, &compilation.profile(subject.isas().next().expect("generic").1), &exact, &[]);
    for ((given, wanted), most) in
        subject.interpret(0, &inputs).iter().zip(&wanted).zip(&errors.results)
    {
        for ((given, wanted), most) in given.iter().zip(wanted).zip(most) {
            assert!(
                (f64::from(*given) - wanted).abs() <= *most,
                "{given} for {wanted}, at most {most} off"
            );
        }
    }
    let printed = format!(
        "{model}{}{}{}",
        compilation.plan,
        compilation.program,
        compilation.program.body(0)
    );
    assert!(!printed.is_empty());
    for language in [Language::Rust, Language::C] {
        assert!(!subject.files(language).is_empty());
    }
}

#[test]
fn elementwise_operations() {
    in_small_thread(|| {
        every_stage(chain(&[1, 2], DEEP, |file, x, i| {
            unary(file, ["Sigmoid", "ReLU", "Tanh"][i % 3], x)
        }));
    });
}

#[test]
fn operations_with_both_operands_the_same() {
    // a walk over paths instead of operations would take 2^10,000 steps
    in_small_thread(|| {
        every_stage(chain(&[1, 2], DEEP, |file, x, i| {
            binary(file, ["Add", "Multiply"][i % 2], x, x)
        }));
    });
}

#[test]
fn operations_that_read_the_two_before() {
    in_small_thread(|| {
        let mut before: Option<Port> = None;
        every_stage(chain(&[1, 2], DEEP / 4, |file, x, _| {
            let a = before.replace(x.clone()).unwrap_or_else(|| x.clone());
            binary(file, "Maximum", x, &a)
        }));
    });
}

#[test]
fn views() {
    in_small_thread(|| {
        every_stage(chain(&[2, 3], DEEP, |file, x, i| match i % 5 {
            0 | 3 => {
                let order = file.integers(&[2], &[1, 0]);
                let shape = [x.shape[1], x.shape[0]];
                file.operation("Transpose", "opset1", "", &[x, &order], &shape)
            }
            1 => {
                let axis = file.integers(&[1], &[0]);
                file.operation("Unsqueeze", "opset1", "", &[x, &axis], &[1, x.shape[0], x.shape[1]])
            }
            2 => {
                let axis = file.integers(&[1], &[0]);
                file.operation("Squeeze", "opset1", "", &[x, &axis], &x.shape[1..])
            }
            _ => {
                let to = file.integers(&[2], &[2, 3]);
                file.operation("Reshape", "opset1", "special_zero=\"false\"", &[x, &to], &[2, 3])
            }
        }));
    });
}

#[test]
fn parts_that_change_places() {
    in_small_thread(|| {
        every_stage(chain(&[1, 4], DEEP / 2, |file, x, _| {
            let axis = file.integers(&[], &[1]);
            let data = "num_splits=\"2\"";
            let parts =
                file.operations("Split", "opset1", data, &[x, &axis], &[vec![1, 2], vec![1, 2]]);
            file.operation("Concat", "opset1", "axis=\"1\"", &[&parts[1], &parts[0]], &[1, 4])
        }));
    });
}

#[test]
fn constants_that_are_folded() {
    in_small_thread(|| {
        let mut file = ModelFile::default();
        let x = file.parameter("x", &[1, 2]);
        let mut constant = file.constant(&[1, 2], Stored::F32, [0.5, 0.25].into_iter());
        let mut shape = file.integers(&[2], &[0, 1]);
        let one = file.integers(&[], &[1]);
        for i in 0..DEEP {
            constant = binary(&mut file, ["Add", "Divide"][i % 2], &constant, &constant);
            shape = binary(&mut file, ["Add", "Subtract"][i % 2], &shape, &one);
        }
        // an even number of layers: [0, 1] again
        let (even, odd) = (shape.clone(), binary(&mut file, "Add", &shape, &one));
        let sum = binary(&mut file, "Add", &x, &constant);
        let to = binary(&mut file, "Maximum", &even, &odd);
        let y =
            file.operation("Reshape", "opset1", "special_zero=\"false\"", &[&sum, &to], &[1, 2]);
        file.result(&y);
        every_stage(file);
    });
}

#[test]
fn cells_one_after_the_other() {
    const UNITS: usize = 2;
    in_small_thread(|| {
        every_stage(chain(&[1, UNITS], 1000, |file, x, i| {
            let zeros = file.constant(&[1, UNITS], Stored::F32, [0.0; UNITS].into_iter());
            let values = |len: usize| (0..len).map(move |k| ((i + 3 * k) % 7) as f32 / 7.0 - 0.4);
            let w = file.constant(&[3 * UNITS, UNITS], Stored::F32, values(3 * UNITS * UNITS));
            let r = file.constant(&[3 * UNITS, UNITS], Stored::F32, values(3 * UNITS * UNITS));
            let b = file.constant(&[3 * UNITS], Stored::F32, values(3 * UNITS));
            file.cell("", "GRUCell", "", &[x, &zeros, &w, &r, &b])
        }));
    });
}

/// The text of a refusal.
fn refusal(file: ModelFile) -> String {
    let problems = compiled(file).expect_err("it is refused");
    problems.0.iter().map(|problem| format!("{problem:?}\n")).collect()
}

#[test]
fn a_hundred_thousand_layers_are_refused_by_name() {
    in_small_thread(|| {
        let text = refusal(chain(&[1, 2], TOO_DEEP, |file, x, _| unary(file, "Tanh", x)));
        assert!(text.contains("16384 operations") && text.contains("split the model"), "{text}");
        // these models are computed when compiling
        let mut file = ModelFile::default();
        let mut constant = file.constant(&[1, 1], Stored::F32, [0.5].into_iter());
        for _ in 0..TOO_DEEP {
            constant = binary(&mut file, "Multiply", &constant, &constant);
        }
        let x = file.parameter("x", &[1, 1]);
        let y = binary(&mut file, "Add", &x, &constant);
        file.result(&y);
        every_stage(file);
    });
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn compilers_take_what_is_written_for_thousands_of_layers() {
    let subject = in_small_thread(|| {
        let file = chain(&[1, 20], DEEP / 4, |file, x, i| match i % 4 {
            0 => unary(file, "Sigmoid", x),
            1 => binary(file, "Add", x, x),
            2 => unary(file, "Tanh", x),
            _ => {
                let slope = file.constant(
                    &[1, 20],
                    Stored::F32,
                    (0..20).map(|k| ((i + k) % 9) as f32 / 4.0 - 1.0),
                );
                binary(file, "Multiply", x, &slope)
            }
        });
        let subject = compiled(file).unwrap_or_else(|problems| panic!("it is refused: {problems}"));
        Subject { calls: vec![vec![(0..20).map(|k| k as f32 / 10.0 - 1.0).collect()]], ..subject }
    });
    let expected = subject.expected(&driver::isas());
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // the body of the shortest vectors has the longest text; in C, other bodies share it
    let in_rust = [subject.with_bodies(Language::Rust, |_| false)];
    let rust = driver::rust(&folder("depth-rust"), &in_rust, &["-Copt-level=2"]);
    assert_same("rust", &of_subjects(&expected, &in_rust), &rust);
    let compiler = driver::c_compilers()[0];
    let in_c = [subject.with_bodies(Language::C, |isa| isa == AVX2.name)];
    let c = driver::c(&folder("depth-c"), &in_c, compiler, &["-std=c11", "-O2"]);
    assert_same(compiler, &of_subjects(&expected, &in_c), &c);
}

/// x doubled by a body inside `depth` bodies, the innermost counted.
fn nested(depth: usize) -> ModelFile {
    chain(&[2, 2], 1, |file, x, _| nested_in(file, x, depth))
}

fn nested_in(file: &mut ModelFile, x: &Port, depth: usize) -> Port {
    let one = file.constant(&[1, 1], Stored::F32, [0.0].into_iter());
    let mut body = ModelFile::default();
    body.weights = std::mem::take(&mut file.weights);
    let parameter = body.parameter("x", &[2, 2]);
    let y = match depth {
        1 => binary(&mut body, "Add", &parameter, &parameter),
        _ => nested_in(&mut body, &parameter, depth - 1),
    };
    let pieces = IteratedInput { of: x.clone(), parameter, slice: None, next: Some(y.clone()) };
    let trips = body.parameter("trips", &[1, 1]);
    let trip = IteratedInput { of: one, parameter: trips, slice: Some((0, false)), next: None };
    let result = IteratedOutput { of: y, pieces: None, shape: vec![2, 2] };
    file.iterator(Iterated { body, inputs: vec![pieces, trip], outputs: vec![result], until: None })
        .remove(0)
}

#[test]
fn bodies_inside_each_other_to_the_limit() {
    in_small_thread(|| {
        every_stage(nested(8));
        let text = refusal(nested(9));
        assert!(text.contains("more than 8 loops or branches inside each other"), "{text}");
        let text = refusal(nested(100));
        assert!(text.contains("more than 8 loops or branches inside each other"), "{text}");
    });
}

#[test]
fn elements_inside_each_other() {
    in_small_thread(|| {
        let (open, close) = ("<a>".repeat(TOO_DEEP), "</a>".repeat(TOO_DEEP));
        let inside = chain(&[1, 2], 1, |file, x, _| unary(file, "ReLU", x))
            .text()
            .replace("</net>", &format!("{open}{close}</net>"));
        let warnings =
            openvino::read_bytes("deep.xml", inside.as_bytes(), None).expect("it is read").problems;
        assert!(warnings.to_string().contains("is ignored"), "{warnings}");
        // the reader returns the errors of a document beside the model
        let errors = |text: &str| match openvino::read_bytes("deep.xml", text.as_bytes(), None) {
            Ok(ReadModel { problems: diagnostics, .. }) | Err(diagnostics) => {
                let errors = diagnostics.0.iter().filter(|d| d.severity == Severity::Error);
                errors.map(|error| format!("{error:?}")).collect::<String>()
            }
        };
        assert!(errors(&format!("{open}{close}")).contains("root element"));
        assert!(!errors(&open).is_empty());
        // bodies upon bodies, of which nothing else is right
        let bodies =
            "<layers><layer id=\"0\" name=\"\" type=\"TensorIterator\" version=\"opset1\"><body>"
                .repeat(TOO_DEEP);
        let ends = "</body></layer></layers>".repeat(TOO_DEEP);
        let text = format!("<net version=\"11\">{bodies}{ends}</net>");
        assert!(!errors(&text).is_empty());
    });
}
