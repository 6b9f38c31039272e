//! Delay lines: convolutions over time that keep their histories in place give the bits of the
//! whole sequence, for any taps and dilation, in calls of any length.

use std::path::Path;

use cellc::Language;
use cellc_tests::driver;
use cellc_tests::model_file::{ModelFile, Port};
use cellc_tests::subject::{Subject, bits};

use crate::steps::{
    OPEN, assert_stepwise, bodies, drawn, layer, lines, printed_in_c, printed_in_rust, x,
};

/// Numbers for the choices of a stream.
struct Choices(u64);

impl Choices {
    fn pick(&mut self, of: &[usize]) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        of[(self.0 >> 33) as usize % of.len()]
    }
}

/// A causal convolution of `taps` taps.
fn convolution(
    file: &mut ModelFile,
    x: &Port,
    [groups, outputs]: [usize; 2],
    [taps, dilation]: [usize; 2],
) -> Port {
    let (inputs, pads) = (x.shape[1], (taps - 1) * dilation);
    let data =
        format!("strides=\"1\" dilations=\"{dilation}\" pads_begin=\"{pads}\" pads_end=\"0\"");
    let out = [1, outputs, OPEN];
    match groups {
        1 => {
            let w = drawn(file, &[outputs, inputs, taps]);
            file.operation("Convolution", "opset1", &data, &[x, &w], &out)
        }
        _ => {
            let w = drawn(file, &[groups, outputs / groups, inputs / groups, taps]);
            file.operation("GroupConvolution", "opset1", &data, &[x, &w], &out)
        }
    }
}

/// One to three random convolutions, some with a residual.
fn stream(seed: u64, steps: Option<usize>) -> Subject {
    let build = |file: &mut ModelFile, x: &Port| {
        let mut choices = Choices(seed);
        let mut y: Option<Port> = None;
        for _ in 0..choices.pick(&[1, 2, 3]) {
            let from = y.as_ref().unwrap_or(x);
            let inputs = from.shape[1];
            let outputs = choices.pick(&[1, 2, 3, 4, 8, inputs]);
            let common = inputs.min(outputs);
            let divides = inputs.is_multiple_of(common) && outputs.is_multiple_of(common);
            let groups = choices.pick(&[1, 1, if divides { common } else { 1 }]);
            let shape = [choices.pick(&[1, 2, 3, 5, 20]), choices.pick(&[1, 2, 3, 7, 16])];
            let sum = convolution(file, from, [groups, outputs], shape);
            let wide = [1, outputs, OPEN];
            let next = file.operation("Tanh", "opset1", "", &[&sum], &wide);
            let next = match (inputs == outputs).then(|| choices.pick(&[0, 1])) {
                Some(1) => file.operation("Add", "opset1", "", &[&next, from], &wide),
                _ => next,
            };
            y = Some(next);
        }
        y.expect("a convolution")
    };
    layer(steps, build).unwrap_or_else(|problems| panic!("stream {seed}: {problems}"))
}

#[test]
fn random_streams_give_the_bits_of_all_steps_at_once() {
    let (mut lines, mut together) = (0, 0);
    for seed in 0..16 {
        let one = stream(seed, None);
        let program = &one.compilation.program;
        assert_eq!(program.delay_lines.len(), one.model().variables.len(), "stream {seed}");
        lines += program.delay_lines.len();
        together += usize::from(program.steps_at_once > 1);
        assert_stepwise(&one, &stream(seed, Some(41)), 41);
        assert_together(&one, &stream(seed, Some(STEPS)), seed);
    }
    assert!(lines > 16);
    assert!(together > 12, "{together}");
}

/// Checks that steps computed together give the bits of a whole sequence, in calls of any length.
fn assert_together(one: &Subject, all: &Subject, seed: u64) {
    let most = one.compilation.program.steps_at_once;
    if most == 1 {
        return;
    }
    let outputs = one.model().results[0].shape.iter().product::<usize>();
    let x = x(STEPS, 4);
    let whole: Vec<f32> = (0..4 * STEPS).map(|i| x[i % STEPS * 4 + i / STEPS]).collect();
    let mut choices = Choices(seed);
    let mut calls = Vec::new();
    while calls.iter().sum::<usize>() < STEPS {
        let left = STEPS - calls.iter().sum::<usize>();
        calls.push(choices.pick(&[1, 2, 5, most - 1, most]).min(left));
    }
    for (own, isa, name) in bodies(one, all) {
        let y = &all.interpret(isa, std::slice::from_ref(&whole))[0];
        let expected: Vec<u32> =
            (0..outputs * STEPS).map(|i| bits(y[i % outputs * STEPS + i / outputs])).collect();
        let found = one.interpret_calls(own, &x, &calls);
        let found: Vec<u32> = found.into_iter().map(bits).collect();
        assert_eq!(found, expected, "stream {seed} on {name} in calls of {calls:?}");
    }
}

/// Two convolutions: histories of ten steps in rows of five, and of three in one row.
fn two(steps: Option<usize>) -> Subject {
    let build = |file: &mut ModelFile, x: &Port| {
        let y = convolution(file, x, [1, 3], [3, 5]);
        let y = file.operation("Tanh", "opset1", "", &[&y], &[1, 3, OPEN]);
        convolution(file, &y, [1, 2], [4, 1])
    };
    let subject = layer(steps, build).unwrap_or_else(|problems| panic!("{problems}"));
    Subject { name: "layer".to_owned(), ..subject }
}

const STEPS: usize = 180;

/// Lengths of calls.
const PIECES: [usize; 9] = [0, 1, 7, 2, 30, 4, 64, 67, 5];

/// All outputs of the best instruction set, interpreted, step after step.
fn expected() -> Vec<u32> {
    let all = two(Some(STEPS));
    let names: Vec<&str> = all.isas().map(|(name, _)| name).collect();
    let isa =
        driver::isas().iter().rev().find_map(|best| names.iter().position(|name| name == best));
    let x = x(STEPS, 4);
    let whole: Vec<f32> = (0..4 * STEPS).map(|i| x[i % STEPS * 4 + i / STEPS]).collect();
    let y = &all.interpret(isa.expect("there is a generic one"), &[whole])[0];
    (0..2 * STEPS).map(|i| bits(y[i % 2 * STEPS + i / 2])).collect()
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn calls_of_any_length_give_the_bits_of_all_at_once_in_rust() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("delay-lines-rust");
    let one = two(None);
    let name = &one.compilation.interface.type_name;
    driver::write_files(&folder, std::slice::from_ref(&one), Language::Rust);
    let numbers: Vec<String> = x(STEPS, 4).iter().map(|v| format!("{v:?}")).collect();
    let main = format!(
        "mod layer;
        fn main() {{
            let x: [f32; {}] = [{}];
            let x = x.as_chunks::<4>().0;
            let mut y = [[0.0f32; 2]; {STEPS}];
            let mut net = layer::{name}::new();
            net.steps(&x[..9], &mut y[..9]).unwrap();
            net.reset();
            let mut done = 0;
            for n in {PIECES:?} {{
                net.steps(&x[done..done + n], &mut y[done..done + n]).unwrap();
                done += n;
                net = net.clone();
            }}
            for value in y.as_flattened() {{ println!(\"{{:x}}\", value.to_bits()); }}
        }}",
        4 * STEPS,
        numbers.join(", ")
    );
    assert_eq!(lines(&printed_in_rust(&folder, &main)), expected());
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn calls_of_any_length_give_the_bits_of_all_at_once_in_c() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("delay-lines-c");
    let one = two(None);
    let name = &one.compilation.interface.function;
    driver::write_files(&folder, std::slice::from_ref(&one), Language::C);
    let numbers: Vec<String> = x(STEPS, 4).iter().map(|v| format!("{v:?}f")).collect();
    let pieces: Vec<String> = PIECES.iter().map(usize::to_string).collect();
    let main = format!(
        "#include \"layer.h\"
        #include <stdint.h>
        #include <stdio.h>
        #include <string.h>
        int main(void) {{
            static const float x[] = {{{}}};
            static const int pieces[] = {{{}}};
            float y[2 * {STEPS}];
            static {name} net;
            {name}_init(&net);
            {name}_steps(&net, 9, x, y);
            {name}_reset(&net);
            int done = 0;
            for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++) {{
                {name}_steps(&net, (size_t)pieces[i], x + done * 4, y + done * 2);
                done += pieces[i];
            }}
            for (int i = 0; i < 2 * {STEPS}; i++) {{
                uint32_t bits;
                memcpy(&bits, &y[i], 4);
                printf(\"%x\\n\", (unsigned)bits);
            }}
            return 0;
        }}",
        numbers.join(", "),
        pieces.join(", ")
    );
    for (compiler, printed) in printed_in_c(&folder, &main, "layer.c") {
        assert_eq!(lines(&printed), expected(), "{compiler}");
    }
}

/// The header lists the steps of the taps, and the kernels read and write the rings.
#[test]
fn a_stream_as_text() {
    const LINES: usize = 120;
    let one = two(None);
    let header = one.compilation.description.header.join("\n");
    let (_, equations) = header.split_once("Equations:").expect("a small network has equations");
    let (equations, _) = equations.split_once("\nScratch memory").expect("memory is stated");
    insta::assert_snapshot!("stream_header", equations);
    let isa = one.isas().position(|(name, _)| name == "avx2").expect("x86-64 has it");
    let text = one.compilation.program.body(isa).to_string();
    let of_steps = text.find("kernel enter_steps").expect("kernels of several steps");
    let lines: Vec<&str> = text[of_steps..].lines().take(LINES).collect();
    insta::assert_snapshot!("stream_kernels", lines.join("\n"));
}
