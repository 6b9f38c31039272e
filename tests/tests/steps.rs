//! A run-time number of steps: calls of any lengths give the bits of all steps at once, in every
//! language.

use std::fs;
use std::path::Path;
use std::process::Command;

use cellc::internals::compile::compile;
use cellc::internals::front::openvino;
use cellc::{Language, Options, Precision};
use cellc_tests::corpus;
use cellc_tests::driver::{self, run};
use cellc_tests::model_file::{ModelFile, Port, Stored};
use cellc_tests::subject::{Subject, bits};

/// Two GRU layers and a dense head, which PyTorch exported with every size open.
const CASE: &str = "torch_gru2_head";

fn subject(name: &str, steps: Option<usize>) -> Subject {
    let case = corpus::case(CASE);
    let (batch, inputs) = (1, case.runs[0].shapes[0][2]);
    let shape = vec![Some(batch), steps, Some(inputs)];
    let options = Options::default()
        .with_name(Some(name.to_owned()))
        .with_shapes(vec![("x".to_owned(), shape)]);
    let compilation =
        compile(&case.model, &options).unwrap_or_else(|problems| panic!("{problems:?}"));
    Subject { name: name.to_owned(), compilation, calls: Vec::new() }
}

/// The indices of the bodies of one step and of all steps with equal bits, and the name of the
/// instruction set of all steps. A small network of one step has a scalar body, with the bits of
/// bodies without fused multiply-add.
pub(crate) fn bodies(one: &Subject, all: &Subject) -> Vec<(usize, usize, &'static str)> {
    let own = |name: &str, fused: bool| match one.isas().collect::<Vec<_>>()[..] {
        [_] => (!fused).then_some(0),
        _ => one.isas().position(|(own, _)| own == name),
    };
    let found = all
        .isas()
        .enumerate()
        .filter_map(|(isa, (name, fused))| Some((own(name, fused)?, isa, name)));
    let found: Vec<_> = found.collect();
    assert!(!found.is_empty());
    found
}

pub(crate) fn x(steps: usize, inputs: usize) -> Vec<f32> {
    (0..steps * inputs).map(|i| ((i * 37 % 64) as f32 - 32.0) / 32.0).collect()
}

#[test]
fn one_after_the_other_gives_the_bits_of_all_at_once() {
    let (steps, one) = (5, subject("stepwise", None));
    let all = subject("at_once", Some(steps));
    let inputs = one.model().parameters[0].shape.iter().product();
    let x = x(steps, inputs);
    for (own, isa, name) in bodies(&one, &all) {
        let expected: Vec<u32> =
            all.interpret(isa, std::slice::from_ref(&x))[0].iter().copied().map(bits).collect();
        let mut variables = one.variables();
        let mut found: Vec<u32> = Vec::new();
        for step in x.chunks(inputs) {
            let results = one.interpret_from(own, &[step.to_vec()], &mut variables);
            found.extend(results[0].iter().copied().map(bits));
        }
        assert_eq!(found, expected, "{name}");
    }
}

/// A GRU of ONNX with steps on the first axis, x `[steps, 1, 6]`, and its state as an input and an
/// output.
#[test]
fn steps_on_the_first_axis_give_the_bits_of_all_at_once() {
    let case = corpus::case_in(&corpus::onnx_folder().join("steps_first"))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let of = |steps: Option<usize>| {
        let shape = vec![steps, Some(1), Some(6)];
        let options = Options::default().with_shapes(vec![("x".to_owned(), shape)]);
        let compilation =
            compile(&case.model, &options).unwrap_or_else(|problems| panic!("{problems:?}"));
        Subject { name: "steps_first".to_owned(), compilation, calls: Vec::new() }
    };
    let (one, all, steps) = (of(None), of(Some(7)), 7);
    assert!(one.model().steps.is_some());
    let (x, h) = (x(steps, 6), x(1, 11));
    for (own, isa, name) in bodies(&one, &all) {
        let expected = all.interpret(isa, &[x.clone(), h.clone()]);
        let (mut y, mut h) = (Vec::new(), h.clone());
        for step in x.chunks(6) {
            let mut results = one.interpret(own, &[step.to_vec(), h]);
            h = results.pop().expect("the state");
            y.append(&mut results[0]);
        }
        let all_bits = |values: &[f32]| values.iter().copied().map(bits).collect::<Vec<_>>();
        assert_eq!([&y, &h].map(|v| all_bits(v)), [0, 1].map(|i| all_bits(&expected[i])), "{name}");
    }
}

/// Sums over the steps so far, as in cumulative layer norms: x `[1, steps, 5]`.
#[test]
fn sums_of_the_steps_so_far_give_the_bits_of_all_at_once() {
    let case = corpus::case_in(&corpus::onnx_folder().join("cumulative_norm"))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let of = |steps: Option<usize>| {
        let shape = vec![Some(1), steps, Some(5)];
        let options = Options::default().with_shapes(vec![("x".to_owned(), shape)]);
        let compilation =
            compile(&case.model, &options).unwrap_or_else(|problems| panic!("{problems:?}"));
        Subject { name: "cumulative_norm".to_owned(), compilation, calls: Vec::new() }
    };
    let (one, all, steps) = (of(None), of(Some(7)), 7);
    // three sums, the sum before each step, and the step before
    assert_eq!(one.model().variables.len(), 5);
    let mut x = x(steps, 5);
    // a sum below 2^-100 is 0 for the next step, too
    x[..10].fill(3e-31);
    for (own, isa, name) in bodies(&one, &all) {
        let expected = all.interpret(isa, std::slice::from_ref(&x));
        let mut variables = one.variables();
        let mut found = [Vec::new(), Vec::new()];
        for step in x.chunks(5) {
            let results = one.interpret_from(own, &[step.to_vec()], &mut variables);
            found.iter_mut().zip(results).for_each(|(all, mut step)| all.append(&mut step));
        }
        let all_bits = |values: &[f32]| values.iter().copied().map(bits).collect::<Vec<_>>();
        assert_eq!(found.map(|v| all_bits(&v)), [0, 1].map(|i| all_bits(&expected[i])), "{name}");
    }
}

/// The output of both programs: the bits of the results.
pub(crate) fn lines(output: &str) -> Vec<u32> {
    output.lines().map(|line| u32::from_str_radix(line, 16).expect("hexadecimal")).collect()
}

/// The output of a main program in Rust next to generated modules.
pub(crate) fn printed_in_rust(folder: &Path, main: &str) -> String {
    fs::write(folder.join("main.rs"), main).expect("a file");
    let program = folder.join("main");
    let mut command = driver::rustc();
    run(command
        .args(["--edition=2021", "-Dwarnings", "-O"])
        .arg(folder.join("main.rs"))
        .arg("-o")
        .arg(&program));
    printed(&program)
}

/// The output of a main program in C next to a generated source, by compiler.
pub(crate) fn printed_in_c(folder: &Path, main: &str, source: &str) -> Vec<(&'static str, String)> {
    fs::write(folder.join("main.c"), main).expect("a file");
    let by = |compiler: &'static str| {
        let program = folder.join(format!("main-{compiler}"));
        let mut command = Command::new(compiler);
        command
            .current_dir(folder)
            .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "main.c", source]);
        run(command.arg("-o").arg(&program));
        (compiler, printed(&program))
    };
    driver::c_compilers().into_iter().map(by).collect()
}

fn printed(program: &Path) -> String {
    let output = Command::new(program).output().expect("it starts");
    let (printed, problems) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}: {printed}{problems}", output.status);
    printed.into_owned()
}

/// The outputs of all steps by the best instruction set, interpreted.
fn expected(steps: usize) -> Vec<u32> {
    let all = subject("at_once", Some(steps));
    let inputs = all.model().parameters[0].shape[2];
    let names: Vec<&str> = all.isas().map(|(name, _)| name).collect();
    // the best instruction sets are for integers only
    let isa =
        driver::isas().iter().rev().find_map(|best| names.iter().position(|name| name == best));
    let isa = isa.expect("there is a generic one");
    all.interpret(isa, &[x(steps, inputs)])[0].iter().copied().map(bits).collect()
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn slices_in_pieces_give_the_bits_of_all_at_once_in_rust() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("steps-rust");
    let one = subject("stepwise", None);
    let (inputs, outputs) = (one.model().parameters[0].shape[2], one.model().results[0].shape[2]);
    driver::write_files(&folder, std::slice::from_ref(&one), Language::Rust);
    let numbers: Vec<String> = x(5, inputs).iter().map(|v| format!("{v:?}")).collect();
    let main = format!(
        "mod stepwise;
        fn main() {{
            let x: [f32; {}] = [{}];
            let x = x.as_chunks::<{inputs}>().0;
            let mut y = [[0.0; {outputs}]; 5];
            let mut net = stepwise::Stepwise::new();
            assert_eq!(net.steps(&x[..2], &mut y[..3]), Err(stepwise::UnequalSteps));
            let error: &dyn core::error::Error = &stepwise::UnequalSteps;
            assert_eq!(error.to_string(), \"the slices do not hold the same number of steps\");
            assert_eq!(net.steps(&[], &mut []), Ok(()));
            assert_eq!(net.steps(&x[..2], &mut y[..2]), Ok(()));
            assert_eq!(net.steps(&x[2..], &mut y[2..]), Ok(()));
            let first = y;
            net.reset();
            assert_eq!(net.steps(x, &mut y), Ok(()));
            assert_eq!(first, y);
            for value in y.as_flattened() {{ println!(\"{{:x}}\", value.to_bits()); }}
        }}",
        5 * inputs,
        numbers.join(", ")
    );
    assert_eq!(lines(&printed_in_rust(&folder, &main)), expected(5));
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn steps_in_pieces_give_the_bits_of_all_at_once_in_c() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("steps-c");
    let one = subject("stepwise", None);
    let (inputs, outputs) = (one.model().parameters[0].shape[2], one.model().results[0].shape[2]);
    driver::write_files(&folder, std::slice::from_ref(&one), Language::C);
    let numbers: Vec<String> = x(5, inputs).iter().map(|v| format!("{v:?}f")).collect();
    let main = format!(
        "#include \"stepwise.h\"
        #include <stdint.h>
        #include <stdio.h>
        #include <string.h>
        int main(void) {{
            static const float x[] = {{{}}};
            float y[5 * {outputs}];
            stepwise net;
            stepwise_init(&net);
            stepwise_steps(&net, 0, x, y);
            stepwise_steps(&net, 2, x, y);
            stepwise_steps(&net, 3, x + 2 * {inputs}, y + 2 * {outputs});
            for (int i = 0; i < 5 * {outputs}; i++) {{
                uint32_t bits;
                memcpy(&bits, &y[i], 4);
                printf(\"%x\\n\", (unsigned)bits);
            }}
            return 0;
        }}",
        numbers.join(", ")
    );
    for (compiler, printed) in printed_in_c(&folder, &main, "stepwise.c") {
        assert_eq!(lines(&printed), expected(5), "{compiler}");
    }
}

/// The placeholder for an open number of steps in the text of a model.
pub(crate) const OPEN: usize = 7777;

/// Convolutions over time of an input `[1, 1, steps]`, with all padding in front, except for
/// `behind` elements of the first: one with dilation, one depthwise with a padding value other than
/// 0, and one with a single tap.
fn convolutions(name: &str, behind: usize, steps: Option<usize>) -> Result<Subject, String> {
    let mut file = ModelFile::default();
    let mut seed = 0;
    let mut weights = |file: &mut ModelFile, shape: &[usize]| {
        let values = (0..shape.iter().product::<usize>()).map(|_| {
            seed = (seed * 37 + 11) % 64;
            (seed as f32 - 32.0) / 64.0
        });
        file.constant(shape, Stored::F32, values.collect::<Vec<_>>().into_iter())
    };
    let wide = [1, 6, OPEN + behind];
    let x = file.parameter("x", &[1, 1, OPEN]);
    let w = weights(&mut file, &[6, 1, 3]);
    let data = format!("strides=\"1\" dilations=\"2\" pads_begin=\"4\" pads_end=\"{behind}\"");
    let y = file.operation("Convolution", "opset1", &data, &[&x, &w], &wide);
    let bias = weights(&mut file, &[1, 6, 1]);
    let y = file.operation("Add", "opset1", "", &[&y, &bias], &wide);
    let y = file.operation("Tanh", "opset1", "", &[&y], &wide);
    let [begin, end] = [[0, 0, 2], [0; 3]].map(|pads| file.integers(&[3], &pads));
    let value = file.constant(&[], Stored::F32, [0.25].into_iter());
    let padded = [1, 6, OPEN + behind + 2];
    let y = file.operation(
        "Pad",
        "opset1",
        "pad_mode=\"constant\"",
        &[&y, &begin, &end, &value],
        &padded,
    );
    let w = weights(&mut file, &[6, 1, 1, 3]);
    let y = file.operation(
        "GroupConvolution",
        "opset1",
        "strides=\"1\" dilations=\"1\"",
        &[&y, &w],
        &wide,
    );
    let w = weights(&mut file, &[1, 6, 1]);
    let plain = "strides=\"1\" dilations=\"1\"";
    let y = file.operation("Convolution", "opset1", plain, &[&y, &w], &[1, 1, OPEN + behind]);
    file.result(&y);
    let mut text = file.text();
    for more in 0..=behind + 2 {
        text = text.replace(&(OPEN + more).to_string(), "-1");
    }
    let model = openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", file.weights)))
        .map_err(|said| format!("{said:?}"))?
        .model;
    let shape = vec![Some(1), Some(1), steps];
    let options = Options::default()
        .with_name(Some(name.to_owned()))
        .with_shapes(vec![("x".to_owned(), shape)]);
    let compilation = compile(&model, &options).map_err(|problems| format!("{problems:?}"))?;
    Ok(Subject { name: name.to_owned(), compilation, calls: Vec::new() })
}

/// The last inputs are kept from step to step. A reset sets them to the padding in front of the
/// first step.
#[test]
fn convolutions_over_time_give_the_bits_of_all_at_once() {
    let (steps, one) = (9, convolutions("stepwise", 0, None).expect("one step"));
    let all = convolutions("at_once", 0, Some(steps)).expect("all of them");
    let x = x(steps, 1);
    for (own, isa, name) in bodies(&one, &all) {
        let expected: Vec<u32> =
            all.interpret(isa, std::slice::from_ref(&x))[0].iter().copied().map(bits).collect();
        let mut variables = one.variables();
        let found: Vec<u32> = x
            .iter()
            .flat_map(|&x| one.interpret_from(own, &[vec![x]], &mut variables)[0].clone())
            .map(bits)
            .collect();
        assert_eq!(found, expected, "{name}");
        assert!(expected.windows(2).any(|pair| pair[0] != pair[1]), "{name}");
    }
}

/// Only a call knows the number of steps, so values computed from this number are no constants of a
/// model of one step.
#[test]
fn numbers_of_steps_in_arithmetic_are_refused() {
    let refused = layer(None, |file, x| {
        let shape = file.operation("ShapeOf", "opset3", "output_type=\"i64\"", &[x], &[3]);
        let [last, axis] = [2, 0].map(|at| file.integers(&[], &[at]));
        let steps =
            file.operation("Gather", "opset8", "batch_dims=\"0\"", &[&shape, &last, &axis], &[]);
        let steps = file.operation("Convert", "opset1", "destination_type=\"f32\"", &[&steps], &[]);
        file.operation("Divide", "opset1", "", &[x, &steps], &[1, 4, OPEN])
    });
    let said = refused.expect_err("it is refused");
    assert!(said.contains("computes with the number of steps, which only a call knows"), "{said}");
}

/// Later inputs are not available yet.
#[test]
fn convolutions_that_look_ahead_are_refused() {
    let problem = convolutions("ahead", 3, None).expect_err("it is refused");
    assert!(problem.contains("looks 3 steps ahead"), "{problem}");
}

/// An ONNX case with an input of this shape. `None`: the axis of steps.
fn onnx_case(case: &str, name: &str, shape: Vec<Option<usize>>) -> Subject {
    let case = corpus::case_in(&corpus::onnx_folder().join(case))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let options = Options::default()
        .with_name(Some(name.to_owned()))
        .with_shapes(vec![("x".to_owned(), shape)]);
    let compilation =
        compile(&case.model, &options).unwrap_or_else(|problems| panic!("{problems}"));
    Subject { name: name.to_owned(), compilation, calls: Vec::new() }
}

/// Asserts that steps `[1, channels, 1]`, one after another, give the bits of all steps `[1,
/// channels, steps]` at once.
pub(crate) fn assert_stepwise(one: &Subject, all: &Subject, steps: usize) {
    let channels = one.model().parameters[0].shape.iter().product::<usize>();
    let outputs = one.model().results[0].shape.iter().product::<usize>();
    let x = x(steps, channels);
    let whole: Vec<f32> =
        (0..channels * steps).map(|i| x[i % steps * channels + i / steps]).collect();
    for (own, isa, name) in bodies(one, all) {
        let expected = &all.interpret(isa, std::slice::from_ref(&whole))[0];
        let mut variables = one.variables();
        for (t, step) in x.chunks(channels).enumerate() {
            let found = &one.interpret_from(own, &[step.to_vec()], &mut variables)[0];
            let found: Vec<u32> = found.iter().copied().map(bits).collect();
            let expected: Vec<u32> = (0..outputs).map(|m| bits(expected[m * steps + t])).collect();
            assert_eq!(found, expected, "{name}, step {t}");
        }
        assert!(expected.windows(2).any(|pair| pair[0] != pair[1]), "{name}");
    }
}

/// Residual blocks of convolutions with several channels, a depthwise convolution, and pools: the
/// needed earlier steps of each are kept.
#[test]
fn a_tcn_gives_the_bits_of_all_steps_at_once() {
    let of = |case, name, steps| onnx_case(case, name, vec![Some(1), Some(3), steps]);
    // six convolutions in blocks, a depthwise one, two pools; four convolutions in blocks
    for (case, variables) in [("tcn", 9), ("tcn_cut", 4)] {
        let one = of(case, "stepwise", None);
        assert_eq!(one.model().variables.len(), variables, "{case}");
        for steps in [5, 41] {
            assert_stepwise(&one, &of(case, "at_once", Some(steps)), steps);
        }
    }
}

/// Padding in front of the first step, then functions and operations that move elements, then
/// convolutions.
#[test]
fn pads_in_front_of_other_operations_give_the_bits_of_all_steps_at_once() {
    let of = |name, steps| onnx_case("pads_in_front", name, vec![Some(1), steps, Some(3)]);
    let one = of("stepwise", None);
    assert_eq!(one.model().variables.len(), 4);
    for steps in [2, 23] {
        let (all, x) = (of("at_once", Some(steps)), x(steps, 3));
        for (own, isa, name) in bodies(&one, &all) {
            let all_bits = |values: &[f32]| values.iter().copied().map(bits).collect::<Vec<_>>();
            let expected = all_bits(&all.interpret(isa, std::slice::from_ref(&x))[0]);
            let mut variables = one.variables();
            let step = |x: &[f32], variables: &mut _| {
                one.interpret_from(own, &[x.to_vec()], variables)[0].clone()
            };
            let found: Vec<f32> = x.chunks(3).flat_map(|x| step(x, &mut variables)).collect();
            assert_eq!(all_bits(&found), expected, "{name}");
        }
    }
}

/// Planes of time and frequency: the axis of frequencies is no axis of steps.
#[test]
fn planes_give_the_bits_of_all_steps_at_once() {
    let of = |name, steps| onnx_case("causal_planes", name, vec![Some(1), Some(2), steps, Some(9)]);
    let (steps, one) = (17, of("stepwise", None));
    assert_eq!(one.model().variables.len(), 3);
    let all = of("at_once", Some(steps));
    // the axis of steps lies between channels and frequencies
    let x = x(steps, 18);
    let whole: Vec<f32> =
        (0..18 * steps).map(|i| x[i / 9 % steps * 18 + i / (9 * steps) * 9 + i % 9]).collect();
    for (own, isa, name) in bodies(&one, &all) {
        let expected = &all.interpret(isa, std::slice::from_ref(&whole))[0];
        let mut variables = one.variables();
        for (t, step) in x.chunks(18).enumerate() {
            let found = &one.interpret_from(own, &[step.to_vec()], &mut variables)[0];
            let found: Vec<u32> = found.iter().copied().map(bits).collect();
            let expected: Vec<u32> =
                (0..18).map(|m| bits(expected[m / 9 * 9 * steps + t * 9 + m % 9])).collect();
            assert_eq!(found, expected, "{name}, step {t}");
        }
    }
}

/// Layers of an IR over time, of an input `[1, 4, steps]`.
pub(crate) fn layer(
    steps: Option<usize>,
    build: impl FnOnce(&mut ModelFile, &Port) -> Port,
) -> Result<Subject, String> {
    layer_in(Precision::F32, steps, build)
}

fn layer_in(
    precision: Precision,
    steps: Option<usize>,
    build: impl FnOnce(&mut ModelFile, &Port) -> Port,
) -> Result<Subject, String> {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, 4, OPEN]);
    let y = build(&mut file, &x);
    file.result(&y);
    let mut text = file.text();
    for more in OPEN - 8..OPEN + 8 {
        text = text.replace(&more.to_string(), "-1");
    }
    let model = openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", file.weights)))
        .map_err(|said| format!("{said:?}"))?
        .model;
    let shape = vec![Some(1), Some(4), steps];
    let options = Options::default()
        .with_precision(Some(precision))
        .with_shapes(vec![("x".to_owned(), shape)]);
    let compilation = compile(&model, &options).map_err(|problems| format!("{problems:?}"))?;
    Ok(Subject { name: "layer".to_owned(), compilation, calls: Vec::new() })
}

pub(crate) fn drawn(file: &mut ModelFile, shape: &[usize]) -> Port {
    let count = shape.iter().product::<usize>();
    file.constant(shape, Stored::F32, (0..count).map(|i| ((i * 29 % 31) as f32 - 15.0) / 16.0))
}

/// A convolution of an IR, of four channels to three.
fn convolved(file: &mut ModelFile, x: &Port, data: &str, steps: usize) -> Port {
    let w = drawn(file, &[3, 4, 3]);
    file.operation("Convolution", "opset1", data, &[x, &w], &[1, 3, steps])
}

#[test]
fn layers_of_several_channels_give_the_bits_of_all_steps_at_once() {
    let steps = 19;
    let causal = "strides=\"1\" dilations=\"2\" pads_begin=\"4\" pads_end=\"0\"";
    let pool = "strides=\"1\" kernel=\"3\" pads_begin=\"2\" pads_end=\"0\" rounding_type=\"floor\"";
    let each = "strides=\"1\" dilations=\"1\" pads_begin=\"2\" pads_end=\"0\"";
    let both = "strides=\"1\" dilations=\"2\" pads_begin=\"4\" pads_end=\"4\"";
    let planes = "strides=\"1,1\" dilations=\"1,1\" pads_begin=\"1,1\" pads_end=\"0,1\"";
    let each_plane = "strides=\"1,1\" dilations=\"1,1\" pads_begin=\"0,1\" pads_end=\"0,1\"";
    let built = |of: usize, steps| {
        layer(steps, |file, x| match of {
            0 => convolved(file, x, causal, OPEN),
            1 => file.operation("MaxPool", "opset1", pool, &[x], &[1, 4, OPEN]),
            2 => {
                let data = format!("{pool} exclude-pad=\"false\"");
                file.operation("AvgPool", "opset1", &data, &[x], &[1, 4, OPEN])
            }
            3 => {
                // two outputs for each of two groups
                let w = drawn(file, &[2, 2, 2, 3]);
                file.operation("GroupConvolution", "opset1", each, &[x, &w], &[1, 4, OPEN])
            }
            // padded on both sides, with the steps that look ahead cut off
            4 => {
                let y = convolved(file, x, both, OPEN + 4);
                let bias = drawn(file, &[1, 3, 1]);
                let y = file.operation("Add", "opset1", "", &[&y, &bias], &[1, 3, OPEN + 4]);
                let y = file.operation("Tanh", "opset1", "", &[&y], &[1, 3, OPEN + 4]);
                let [start, stop, step, axis] = [0, -4, 1, 2].map(|at| file.integers(&[1], &[at]));
                file.operation(
                    "Slice",
                    "opset8",
                    "",
                    &[&y, &start, &stop, &step, &axis],
                    &[1, 3, OPEN],
                )
            }
            // a cut that keeps as many elements as there are steps
            5 => {
                let y = convolved(file, x, both, OPEN + 4);
                let shape = file.operation("ShapeOf", "opset3", "output_type=\"i64\"", &[x], &[3]);
                let [start, step, axis] = [0, 1, 2].map(|at| file.integers(&[1], &[at]));
                let zero = file.integers(&[], &[0]);
                let steps = file.operation(
                    "Gather",
                    "opset8",
                    "batch_dims=\"0\"",
                    &[&shape, &axis, &zero],
                    &[1],
                );
                file.operation(
                    "Slice",
                    "opset8",
                    "",
                    &[&y, &start, &steps, &step, &axis],
                    &[1, 3, OPEN],
                )
            }
            // a gate of two convolutions, one of which is read twice; a residual is read again
            // after the cut
            6 => {
                let [a, b] = [0, 1].map(|_| convolved(file, x, both, OPEN + 4));
                let wide = [1, 3, OPEN + 4];
                let a = file.operation("Tanh", "opset1", "", &[&a], &wide);
                let s = file.operation("Sigmoid", "opset1", "", &[&b], &wide);
                let b = file.operation("Multiply", "opset1", "", &[&b, &s], &wide);
                let y = file.operation("Multiply", "opset1", "", &[&a, &b], &wide);
                let [start, stop, step, axis] = [0, -4, 1, 2].map(|at| file.integers(&[1], &[at]));
                file.operation(
                    "Slice",
                    "opset8",
                    "",
                    &[&y, &start, &stop, &step, &axis],
                    &[1, 3, OPEN],
                )
            }
            // reflection along an axis other than the steps
            7 => {
                let [begin, end] = [[0, 2, 0], [0, 1, 0]].map(|pads| file.integers(&[3], &pads));
                let reflect = "pad_mode=\"reflect\"";
                file.operation("Pad", "opset1", reflect, &[x, &begin, &end], &[1, 7, OPEN])
            }
            // convolutions over time and over the channels of an input, which is padded on both
            // sides
            _ => {
                let order = file.integers(&[3], &[0, 2, 1]);
                let y = file.operation("Transpose", "opset1", "", &[x, &order], &[1, OPEN, 4]);
                let one = file.integers(&[1], &[1]);
                let y = file.operation("Unsqueeze", "opset1", "", &[&y, &one], &[1, 1, OPEN, 4]);
                let w = drawn(file, &[3, 1, 2, 3]);
                let y =
                    file.operation("Convolution", "opset1", planes, &[&y, &w], &[1, 3, OPEN, 4]);
                let w = drawn(file, &[3, 1, 1, 3, 3]);
                let [begin, end] = [[0, 0, 2, 0], [0; 4]].map(|pads| file.integers(&[4], &pads));
                let y = file.operation(
                    "Pad",
                    "opset1",
                    "pad_mode=\"constant\"",
                    &[&y, &begin, &end],
                    &[1, 3, OPEN + 2, 4],
                );
                let y = file.operation(
                    "GroupConvolution",
                    "opset1",
                    each_plane,
                    &[&y, &w],
                    &[1, 3, OPEN, 4],
                );
                let order = file.integers(&[4], &[0, 1, 3, 2]);
                file.operation("Transpose", "opset1", "", &[&y, &order], &[1, 3, 4, OPEN])
            }
        })
        .unwrap_or_else(|problems| panic!("{of}: {problems}"))
    };
    for of in 0..9 {
        assert_stepwise(&built(of, None), &built(of, Some(steps)), steps);
    }
}

/// A constant to the left of a tensor with steps in its columns, and several constants that each
/// multiply a part.
#[test]
fn products_with_constants_give_the_bits_of_all_steps_at_once() {
    let steps = 11;
    for precision in [Precision::F32, Precision::Int8, Precision::Int8x16, Precision::Int16] {
        let left = |steps| {
            layer_in(precision, steps, |file, x| {
                let w = drawn(file, &[3, 4]);
                let data = "transpose_a=\"false\" transpose_b=\"false\"";
                let y = file.operation("MatMul", "opset1", data, &[&w, x], &[1, 3, OPEN]);
                let bias = drawn(file, &[3, 1]);
                file.operation("Add", "opset1", "", &[&y, &bias], &[1, 3, OPEN])
            })
            .unwrap_or_else(|problems| panic!("{precision:?}: {problems}"))
        };
        assert_stepwise(&left(None), &left(Some(steps)), steps);
        // a layer of one output has several chains
        let one = |steps| {
            layer_in(precision, steps, |file, x| {
                let x = file.operation("Concat", "opset1", "axis=\"1\"", &[x, x], &[1, 8, OPEN]);
                let w = drawn(file, &[1, 8]);
                let data = "transpose_a=\"false\" transpose_b=\"false\"";
                file.operation("MatMul", "opset1", data, &[&w, &x], &[1, 1, OPEN])
            })
            .unwrap_or_else(|problems| panic!("{precision:?}: {problems}"))
        };
        assert_stepwise(&one(None), &one(Some(steps)), steps);
        let parts = |steps| {
            layer_in(precision, steps, |file, x| {
                let parts = file.integers(&[4], &[1, 2, 2, -1]);
                let y = file.operation(
                    "Reshape",
                    "opset1",
                    "special_zero=\"false\"",
                    &[x, &parts],
                    &[1, 2, 2, OPEN],
                );
                let w = drawn(file, &[2, 3, 2]);
                let data = "transpose_a=\"true\" transpose_b=\"true\"";
                let y = file.operation("MatMul", "opset1", data, &[&y, &w], &[1, 2, OPEN, 3]);
                let order = file.integers(&[4], &[0, 1, 3, 2]);
                let y = file.operation("Transpose", "opset1", "", &[&y, &order], &[1, 2, 3, OPEN]);
                file.operation("Tanh", "opset1", "", &[&y], &[1, 2, 3, OPEN])
            })
            .unwrap_or_else(|problems| panic!("{precision:?}: {problems}"))
        };
        assert_stepwise(&parts(None), &parts(Some(steps)), steps);
    }
}

/// Linear attention keeps its matrices. The first state is a constant.
#[test]
fn linear_attention_gives_the_bits_of_all_steps_at_once() {
    let built = |steps| {
        layer_in(Precision::F32, steps, |file, x| {
            let order = file.integers(&[3], &[0, 2, 1]);
            let x = file.operation("Transpose", "opset1", "", &[x, &order], &[1, OPEN, 4]);
            let heads = file.integers(&[4], &[1, -1, 2, 2]);
            let data = "special_zero=\"false\"";
            let x = file.operation("Reshape", "opset1", data, &[&x, &heads], &[1, OPEN, 2, 2]);
            let last = file.integers(&[1], &[3]);
            let means = "keep_dims=\"false\"";
            let gate = file.operation("ReduceMean", "opset1", means, &[&x, &last], &[1, OPEN, 2]);
            let rate = file.operation("Sigmoid", "opset1", "", &[&gate], &[1, OPEN, 2]);
            let state = drawn(file, &[1, 2, 2, 2]);
            let shapes = [vec![1, OPEN, 2, 2], vec![1, 2, 2, 2]];
            let inputs = [&x, &x, &x, &state, &gate, &rate];
            let outputs =
                file.operations("GatedDeltaNet", "ie_internal_opset", "", &inputs, &shapes);
            let joined = file.integers(&[3], &[1, -1, 4]);
            let y = [&outputs[0], &joined];
            let y = file.operation("Reshape", "opset1", data, &y, &[1, OPEN, 4]);
            file.operation("Transpose", "opset1", "", &[&y, &order], &[1, 4, OPEN])
        })
        .unwrap_or_else(|problems| panic!("{problems}"))
    };
    assert_stepwise(&built(None), &built(Some(9)), 9);
}

/// The windows of CausalConvWithState are found as states, for one step, several steps and an open
/// number of steps. Single steps leave the outputs and the windows of all steps at once.
#[test]
fn windows_of_state_give_the_bits_of_all_steps_at_once() {
    let of = |name, steps| onnx_case("windows_of_state", name, vec![Some(1), Some(6), steps]);
    let one = of("stepwise", None);
    // fewer steps than a window has elements, and more
    for steps in [1, 2, 7] {
        let all = of("at_once", Some(steps));
        for model in [one.model(), all.model()] {
            let pairs = model.states.iter().map(|pair| (pair.parameter, pair.result));
            assert_eq!(pairs.collect::<Vec<_>>(), [(1, 1), (2, 2)], "{steps} steps");
        }
        let (x, first) = (x(steps, 6), [x(3, 6), x(2, 6)]);
        let whole: Vec<f32> = (0..6 * steps).map(|i| x[i % steps * 6 + i / steps]).collect();
        for (own, isa, name) in bodies(&one, &all) {
            let expected = all.interpret(isa, &[whole.clone(), first[0].clone(), first[1].clone()]);
            let mut states = first.clone();
            for (t, step) in x.chunks(6).enumerate() {
                let [past1, past2] = states;
                let mut found = one.interpret(own, &[step.to_vec(), past1, past2]);
                let y: Vec<u32> = found[0].iter().copied().map(bits).collect();
                let right: Vec<u32> = (0..6).map(|m| bits(expected[0][m * steps + t])).collect();
                assert_eq!(y, right, "{name}, step {t} of {steps}");
                states = [found.remove(1), found.remove(1)];
            }
            assert_eq!(states[..], expected[1..], "{name}, after {steps} steps");
        }
    }
}

/// `y[:, :, -1]` and `y[:, :, -1:]`: a call gives the values of its last step.
#[test]
fn the_last_step_is_taken_out_of_all() {
    let steps = 7;
    let causal = "strides=\"1\" dilations=\"2\" pads_begin=\"4\" pads_end=\"0\"";
    for slices in [false, true] {
        let last = |steps| {
            let build = |file: &mut ModelFile, x: &Port| {
                let y = convolved(file, x, causal, OPEN);
                let [last, end, one, axis] =
                    [-1, i64::MAX, 1, 2].map(|number| file.integers(&[1], &[number]));
                let taken = match slices {
                    true => file.operation(
                        "Slice",
                        "opset8",
                        "",
                        &[&y, &last, &end, &one, &axis],
                        &[1, 3, 1],
                    ),
                    false => {
                        file.operation("Gather", "opset8", "", &[&y, &last, &axis], &[1, 3, 1])
                    }
                };
                file.operation("Tanh", "opset1", "", &[&taken], &[1, 3, 1])
            };
            layer(steps, build).unwrap_or_else(|problems| panic!("{problems}"))
        };
        let (one, all) = (last(None), last(Some(steps)));
        assert_eq!(
            one.model().steps.as_ref().map(|steps| steps.results.clone()),
            Some(vec![false])
        );
        let x = x(steps, 4);
        let whole: Vec<f32> = (0..4 * steps).map(|i| x[i % steps * 4 + i / steps]).collect();
        for (own, isa, name) in bodies(&one, &all) {
            let expected = &all.interpret(isa, std::slice::from_ref(&whole))[0];
            let mut variables = one.variables();
            let found = x
                .chunks(4)
                .map(|step| one.interpret_from(own, &[step.to_vec()], &mut variables)[0].clone());
            assert_eq!(found.last().as_ref(), Some(expected), "{name}");
        }
    }
}

#[test]
fn what_looks_ahead_is_refused_with_the_number_of_steps() {
    let data = |begin: usize, end: usize, stride: usize| {
        format!("strides=\"{stride}\" dilations=\"1\" pads_begin=\"{begin}\" pads_end=\"{end}\"")
    };
    let pool = |kernel: usize, end: usize| {
        format!(
            "strides=\"1\" kernel=\"{kernel}\" pads_begin=\"0\" pads_end=\"{end}\" rounding_type=\"floor\""
        )
    };
    let refused = |wanted: &str, build: &dyn Fn(&mut ModelFile, &Port) -> Port| {
        let problem =
            layer(None, build).err().unwrap_or_else(|| panic!("it is not refused: {wanted}"));
        assert!(problem.contains(wanted), "{problem} does not say {wanted}");
    };
    refused("looks 1 step ahead", &|file, x| convolved(file, x, &data(1, 1, 1), OPEN));
    refused("looks 2 steps ahead", &|file, x| convolved(file, x, &data(0, 0, 1), OPEN - 2));
    refused("looks 2 steps ahead", &|file, x| {
        file.operation("MaxPool", "opset1", &pool(3, 2), &[x], &[1, 4, OPEN])
    });
    refused(
        "moves 2 steps at a time: for an output at every step, it looks 1 step ahead",
        &|file, x| convolved(file, x, &data(2, 0, 2), OPEN / 2 + 1),
    );
    refused("reflects steps at a side: it looks 2 steps ahead", &|file, x| {
        let [begin, end] = [[0, 0, 2], [0; 3]].map(|pads| file.integers(&[3], &pads));
        let padded = file.operation(
            "Pad",
            "opset1",
            "pad_mode=\"reflect\"",
            &[x, &begin, &end],
            &[1, 4, OPEN + 2],
        );
        convolved(file, &padded, &data(0, 0, 1), OPEN)
    });
    for (step, why) in [(0, "it takes single steps out of them"), (-2, "combines different steps")]
    {
        refused(why, &|file, x| {
            let [place, axis] = [step, 2].map(|number| file.integers(&[], &[number]));
            file.operation("Gather", "opset8", "", &[x, &place, &axis], &[1, 4])
        });
    }
    refused("looks as many steps ahead as there are", &|file, x| {
        let axes = file.integers(&[1], &[2]);
        file.operation("ReduceMean", "opset1", "keep_dims=\"true\"", &[x, &axes], &[1, 4, 1])
    });
}

/// Several rows would lie between a step and the next.
#[test]
fn what_does_not_go_step_by_step_is_refused() {
    let case = corpus::case(CASE);
    let shape = vec![Some(2), None, Some(10)];
    let options = Options::default().with_shapes(vec![("x".to_owned(), shape)]);
    let problems = compile(&case.model, &options).expect_err("it is refused");
    assert!(format!("{problems:?}").contains("several rows"), "{problems:?}");
}

/// An LSTM with an open number of steps whose states are inputs and outputs in addition to y: x
/// `[1, steps, 2]`, h and c `[1, 1, 5]`.
fn lstm_with_states() -> Subject {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, OPEN, 2]);
    let [h, c] = ["h", "c"].map(|name| file.parameter(name, &[1, 1, 5]));
    let shape = file.operation("ShapeOf", "opset3", "output_type=\"i64\"", &[&x], &[3]);
    let [axis, first] = [[1], [0]].map(|index| file.integers(&[1], &index));
    let lengths =
        file.operation("Gather", "opset8", "batch_dims=\"0\"", &[&shape, &axis, &first], &[1]);
    let [w, r, b] = [&[1, 20, 2][..], &[1, 20, 5], &[1, 20]].map(|shape| drawn(&mut file, shape));
    let data = "hidden_size=\"5\" activations=\"sigmoid,tanh,tanh\" direction=\"forward\"";
    let outputs: [(&str, &[usize]); 3] =
        [("y", &[1, 1, OPEN, 5]), ("h_out", &[1, 1, 5]), ("c_out", &[1, 1, 5])];
    let outputs =
        file.named("LSTMSequence", "opset5", data, &[&x, &h, &c, &lengths, &w, &r, &b], &outputs);
    outputs.iter().for_each(|output| {
        file.result(output);
    });
    let text = file.text().replace(&OPEN.to_string(), "-1");
    let model = openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", file.weights)))
        .unwrap_or_else(|said| panic!("{said:?}"))
        .model;
    let shape = vec![Some(1), None, Some(2)];
    let options = Options::default()
        .with_name(Some("net".to_owned()))
        .with_shapes(vec![("x".to_owned(), shape)]);
    let compilation = compile(&model, &options).unwrap_or_else(|problems| panic!("{problems:?}"));
    Subject { name: "net".to_owned(), compilation, calls: Vec::new() }
}

/// States that are outputs, too, are in the struct and in the outputs after any number of steps.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn states_that_are_outputs_take_turns_in_rust() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("steps-states-rust");
    driver::write_files(&folder, &[lstm_with_states()], Language::Rust);
    let numbers: Vec<String> = x(10, 2).iter().map(|v| format!("{v:?}")).collect();
    let main = format!(
        "mod net;
        fn main() {{
            let x: [f32; 20] = [{}];
            let (mut x, mut one, mut all) = (x.as_chunks::<2>().0, net::Net::new(), net::Net::new());
            let (mut h_out, mut c_out) = ([7.0; 5], [7.0; 5]);
            assert_eq!(all.steps(&[], &mut [], &mut h_out, &mut c_out), Ok(()));
            assert_eq!((h_out, c_out, all.h()), ([7.0; 5], [7.0; 5], &[0.0; 5]));
            for count in [1, 2, 3, 4] {{
                let (now, later) = x.split_at(count);
                x = later;
                let mut y = [[0.0; 5]; 4];
                assert_eq!(all.steps(now, &mut y[..count], &mut h_out, &mut c_out), Ok(()));
                let mut outputs = net::Outputs::new();
                for (x, y) in now.iter().zip(&y) {{
                    one.step(x, &mut outputs);
                    assert_eq!(&outputs.y, y);
                }}
                assert_eq!((h_out, c_out), (outputs.h_out, outputs.c_out));
                assert_eq!((all.h(), all.c()), (one.h(), one.c()));
                assert!(h_out[0] != 0.0 && h_out[0] != c_out[0]);
            }}
        }}",
        numbers.join(", ")
    );
    printed_in_rust(&folder, &main);
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn states_that_are_outputs_take_turns_in_c() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("steps-states-c");
    driver::write_files(&folder, &[lstm_with_states()], Language::C);
    let numbers: Vec<String> = x(10, 2).iter().map(|v| format!("{v:?}f")).collect();
    let main = format!(
        "#include \"net.h\"
        #include <string.h>
        int main(void) {{
            static const float all_x[] = {{{}}};
            const float *x = all_x;
            float y[4 * 5], h_out[5] = {{7}}, c_out[5], one_y[5], one_h[5], one_c[5];
            net one, all;
            net_init(&one);
            net_init(&all);
            net_steps(&all, 0, x, y, h_out, c_out);
            if (h_out[0] != 7 || all.h[0] != 0) return 1;
            for (size_t count = 1; count <= 4; count++) {{
                net_steps(&all, count, x, y, h_out, c_out);
                for (size_t i = 0; i < count; i++) {{
                    net_step(&one, x, one_y, one_h, one_c);
                    if (memcmp(y + 5 * i, one_y, sizeof one_y) != 0) return 2;
                    x += 2;
                }}
                if (memcmp(h_out, one_h, sizeof one_h) != 0 || memcmp(c_out, one_c, sizeof one_c) != 0) return 3;
                if (memcmp(all.h, one.h, sizeof one_h) != 0 || memcmp(all.c, one.c, sizeof one_c) != 0) return 4;
                if (h_out[0] == 0 || h_out[0] == c_out[0]) return 5;
            }}
            return 0;
        }}",
        numbers.join(", ")
    );
    assert!(!printed_in_c(&folder, &main, "net.c").is_empty());
}
