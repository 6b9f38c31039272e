//! Every case of the corpus through the float64 reference, the interpreter, and generated Rust and
//! C on every instruction set that this machine has.

use std::path::{Path, PathBuf};

use cellc::internals::bound::bound;
use cellc::internals::numerics::Loss;
use cellc::{Accuracy, Fma, Language, Options, Precision, WeightsAs};
use cellc_tests::agreement::{self, exact};
use cellc_tests::chain;
use cellc_tests::corpus::{self, Case, Run};
use cellc_tests::driver;
use cellc_tests::given_weights::{self, Weights};
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random;
use cellc_tests::selection::{covering, with_fewer_bodies};
use cellc_tests::subject::{Subject, Values, assert_same, bits, of_subjects};
use half::f16;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Every case compiled for the shapes of some of its runs: (case, subject, indices of the runs).
fn compiled(cases: &[Case], fma: Fma) -> Vec<(&Case, Subject, Vec<usize>)> {
    let ending = if fma == Fma::Off { "_off" } else { "" };
    with_options(cases, &Options::default().with_fma(fma), ending)
}

fn with_options<'a>(
    cases: &'a [Case],
    options: &Options,
    ending: &str,
) -> Vec<(&'a Case, Subject, Vec<usize>)> {
    let subjects = |case| {
        Case::subjects(case, options, ending).into_iter().map(move |(s, runs)| (case, s, runs))
    };
    cases.iter().flat_map(subjects).collect()
}

/// Cells one after another: both places of the reset gate, weights baked in and given at run time.
fn chains() -> Vec<Subject> {
    let all =
        [("chain_lbr0", false, false), ("chain_lbr1", true, false), ("chain_params", false, true)];
    all.map(|(name, after, at_run_time)| {
        chain::subject(name, &Options::default(), after, at_run_time)
    })
    .into()
}

/// A dense layer with every finite 16-bit number as a weight, one for each output; and a dense
/// layer with every 8-bit number in each row and the scale 1.
fn every_number() -> [Subject; 2] {
    let halves = (0..=u16::MAX)
        .map(f16::from_bits)
        .filter(|half| half.is_finite())
        .map(f16::to_f32)
        .collect();
    let bytes: Vec<f32> = (0..255).map(|k| k as f32 - 127.0).collect();
    let rows = (0..7)
        .flat_map(|row| bytes[row * 31..].iter().chain(&bytes[..row * 31]))
        .copied()
        .collect();
    let all: [(&str, Vec<f32>, usize, Option<Precision>); 2] =
        [("every_half", halves, 1, Some(Precision::F16)), ("every_byte", rows, bytes.len(), None)];
    all.map(|(name, weights, inputs, precision)| {
        let outputs = weights.len() / inputs;
        let mut file = ModelFile::default();
        let x = file.parameter("x", &[1, inputs]);
        let matrix = file.constant(&[outputs, inputs], Stored::F32, weights.into_iter());
        let y = file.named(
            "MatMul",
            "opset1",
            "transpose_a=\"false\" transpose_b=\"true\"",
            &[&x, &matrix],
            &[("y", &[1, outputs])],
        );
        file.result(&y[0]);
        let options = Options::default().with_precision(precision).with_weights_as(WeightsAs::File);
        let subject = random::compiled(name, file, options, 1);
        // x tells the rows' elements apart, and every sum is exact
        let x = (0..inputs).map(|k| 1.0 + (k % 7) as f32).collect();
        Subject { calls: vec![vec![x]], ..subject }
    })
}

/// Cells of every kind and dense layers with their matrices in every format; some with a file of
/// weights.
fn formats() -> Vec<Subject> {
    let cases = [
        "gru_cell_128_fp16",
        "gru_cell_lbr0",
        "lstm_cell_fp16",
        "rnn_cell_relu_clip",
        "torch_gru2_head_static",
    ];
    let mut all = Vec::new();
    for (k, name) in cases.iter().enumerate() {
        let case = corpus::case(name);
        for precision in [Precision::F16, Precision::Bf16] {
            let weights_as = if k == 0 { WeightsAs::File } else { WeightsAs::Auto };
            let options =
                Options::default().with_precision(Some(precision)).with_weights_as(weights_as);
            let ending = format!("_{}", precision.name());
            all.extend(
                Case::subjects(&case, &options, &ending).into_iter().map(|(subject, _)| subject),
            );
        }
        // a deferred product, and rows that are computed together; random models have the other
        // forms
        let integers = [Precision::Int8, Precision::Int8x16, Precision::Int16];
        for precision in integers
            .into_iter()
            .filter(|_| matches!(*name, "gru_cell_lbr0" | "torch_gru2_head_static"))
        {
            let options = Options::default().with_precision(Some(precision));
            let ending = format!("_in_{}", precision.name());
            all.extend(
                Case::subjects(&case, &options, &ending).into_iter().map(|(subject, _)| subject),
            );
        }
    }
    // weights with rows of every kind, packed at run time
    for precision in [Precision::Int8, Precision::Int8x16, Precision::Int16] {
        for (ending, weights, after) in
            [("", Weights::Given, true), ("_but_r", Weights::GivenButR, false)]
        {
            let options = Options::default().with_precision(Some(precision));
            let name = format!("given{ending}_in_{}", precision.name());
            all.push(given_weights::subject(
                &name,
                &options,
                weights,
                after,
                if after { 1 } else { 3 },
            ));
        }
    }
    all
}

/// Compiled without fused multiply-add too: a cell of every kind, a sequence, a head, an iterator.
/// The generic body is unfused in all cases.
const UNFUSED_TOO: [&str; 7] = [
    "gru_cell_lbr0",
    "gru_cell_lbr1",
    "lstm_cell_clip",
    "rnn_cell_tanh",
    "gru_seq_bi_lens_param",
    "int8_gru_head",
    "ti_gru",
];

/// Compiled with less exact activations, too: together the cases have every activation that
/// differs.
const QUICK_TOO: [(Accuracy, [&str; 3]); 2] = [
    (Accuracy::Fast, ["gru_cell_128_fp16", "onnx_gru_bi_activations", "torch_gru2_head_static"]),
    (Accuracy::Audio, ["lstm_cell", "onnx_gru_bi_activations", "gru_cell_tanh_sigmoid"]),
];

/// One half of all cases and chains: two tests compile one half each. Some cases have both profiles
/// and activations of every level.
fn subjects(half: usize) -> Vec<Subject> {
    let cases = corpus::cases();
    let named =
        |names: &[&str]| -> Vec<Case> { names.iter().map(|name| corpus::case(name)).collect() };
    let only = |all: Vec<(&Case, Subject, Vec<usize>)>| {
        all.into_iter().map(|(_, subject, _)| subject).collect()
    };
    let mut all: Vec<Subject> = only(compiled(&cases, Fma::Auto));
    all.extend::<Vec<_>>(only(compiled(&named(&UNFUSED_TOO), Fma::Off)));
    for (accuracy, names) in QUICK_TOO {
        let options = Options::default().with_accuracy(accuracy);
        all.extend::<Vec<_>>(only(with_options(
            &named(&names),
            &options,
            &format!("_{}", accuracy.name()),
        )));
    }
    let all = all.into_iter().chain(chains()).enumerate();
    all.filter(|(nth, _)| nth % 2 == half).map(|(_, subject)| subject).collect()
}

#[test]
fn cells_in_a_chain_are_exact_on_every_instruction_set() {
    for subject in chains() {
        let reference = subject.reference(&subject.calls[0]);
        for (isa, (name, _)) in subject.isas().enumerate() {
            for (result, exact) in subject.interpret(isa, &subject.calls[0]).iter().zip(&reference)
            {
                let error = largest_error(result.iter().map(|v| f64::from(*v)), exact);
                assert!(error <= 1e-6, "{} on {name}: {error:e}", subject.name);
            }
        }
    }
}

#[test]
fn every_element_is_within_its_bound_and_the_case_s_tolerance() {
    // the number of elements whose bound is below the tolerance of the case
    let mut narrower = 0;
    for fma in [Fma::Auto, Fma::Off] {
        for (case, subject, runs) in compiled(&corpus::cases(), fma) {
            assert!(
                fma == Fma::Auto || subject.isas().all(|(_, fused)| !fused),
                "{}",
                subject.name
            );
            // by instruction set: the variables kept from call to call
            let mut variables: Vec<_> = subject.isas().map(|_| subject.variables()).collect();
            for (call, run) in runs.iter().enumerate() {
                agreement::on_all_isas(
                    &subject,
                    &subject.calls[call],
                    &mut variables,
                    |name, compared| {
                        for ((i, place), found, right, limit) in
                            compared.elements().filter(|e| e.0.0 < case.tolerance.len())
                        {
                            // the oracle continues from its own variables; the bound is for a step
                            // from the program's variables
                            let tolerance = case.tolerance[i];
                            let errors = [
                                (found - case.runs[*run].oracle[i][place]).abs(),
                                (found - right).abs(),
                            ];
                            let allowed = [
                                tolerance,
                                tolerance.min(if limit.is_nan() { f64::INFINITY } else { limit }),
                            ];
                            assert!(
                                errors[0] <= allowed[0] && errors[1] <= allowed[1],
                                "{} run {run} on {name}, result {i} element {place}: off by {errors:?}, allowed {allowed:?}",
                                subject.name
                            );
                            narrower += usize::from(allowed[1] < tolerance);
                        }
                        let results = &compared.found.results;
                        assert!(
                            results
                                .iter()
                                .map(Vec::len)
                                .eq(case.runs[*run].oracle.iter().map(Vec::len)),
                            "{}",
                            subject.name
                        );
                    },
                );
            }
        }
    }
    assert!(narrower > 1000, "{narrower} elements are held to their own bound");
}

#[test]
fn what_a_format_of_weights_costs_is_within_the_bound() {
    for subject in formats() {
        let variables = exact(&subject.variables());
        let mut worst = 0.0f64;
        for call in &subject.calls {
            let given = exact(call);
            let right = subject.reference(call);
            for (isa, name, fused) in subject.distinct() {
                let limits =
                    bound(subject.model(), &subject.compilation.profile(fused), &given, &variables);
                let found = subject.interpret(isa, call);
                let values = found.iter().zip(&right).zip(&limits.results);
                for ((found, right), limit) in values.flat_map(|((f, r), l)| f.iter().zip(r).zip(l))
                {
                    let error = (f64::from(*found) - right).abs();
                    assert!(
                        error <= *limit,
                        "{} on {name}: {found:e}, not {right:e}, bound {limit:e}",
                        subject.name
                    );
                    worst = worst.max(error / limit);
                }
            }
        }
        assert!(worst > 1e-4, "{}: a bound that is never approached, {worst:e}", subject.name);
    }
}

/// The results on an instruction set, as bits.
fn all_bits(subject: &Subject, isa: usize, call: &[Vec<f32>]) -> Vec<Vec<u32>> {
    let results = subject.interpret(isa, call);
    results.iter().map(|r| r.iter().map(|v| bits(*v)).collect()).collect()
}

#[test]
fn half_the_bits_lose_nothing_of_a_model_of_half_precision() {
    for name in ["gru_cell_fp16", "gru_cell_128_fp16", "lstm_cell_fp16"] {
        let case = corpus::case(name);
        let subjects = |precision| {
            let options = Options::default().with_precision(Some(precision));
            Case::subjects(&case, &options, "").into_iter().map(|(subject, _)| subject)
        };
        for (whole, half) in subjects(Precision::F32).zip(subjects(Precision::F16)) {
            let losses = Loss::by_format(half.model(), &half.compilation.precisions);
            let [loss] = &losses[..] else { panic!("{name}: {losses:?}") };
            assert!(
                loss.exact == loss.weights && loss.weights > 0 && loss.largest == 0.0,
                "{name}: {loss}"
            );
            let bytes = |subject: &Subject| subject.compilation.packed.bytes.len();
            assert!(
                bytes(&half) * 10 < bytes(&whole) * 7,
                "{name}: {} of {} bytes",
                bytes(&half),
                bytes(&whole)
            );
            for isa in 0..whole.isas().count() {
                for call in &whole.calls {
                    assert_eq!(all_bits(&whole, isa, call), all_bits(&half, isa, call), "{name}");
                }
            }
        }
    }
}

#[test]
fn whole_numbers_are_stored_in_8_bits_unless_a_precision_is_given() {
    let case = corpus::case_in(&corpus::onnx_folder().join("emb_bilstm_dyn"))
        .unwrap_or_else(|e| panic!("{e}"));
    let subjects = |precision_is_given: bool| {
        let precision = precision_is_given.then_some(Precision::F32);
        let options = Options::default().with_precision(precision);
        Case::subjects(&case, &options, "").into_iter().map(|(subject, _)| subject)
    };
    for (as_f32, in_8_bits) in subjects(true).zip(subjects(false)) {
        let losses =
            |subject: &Subject| Loss::by_format(subject.model(), &subject.compilation.precisions);
        assert!(losses(&as_f32).is_empty());
        let losses = losses(&in_8_bits);
        let [loss] = &losses[..] else { panic!("{losses:?}") };
        assert!(
            loss.format.name() == "int8" && loss.exact == loss.weights && loss.weights > 256,
            "{loss}"
        );
        let bytes = |subject: &Subject| subject.compilation.packed.bytes.len();
        assert!(
            bytes(&as_f32) - bytes(&in_8_bits) > 2 * loss.weights,
            "{} bytes",
            bytes(&in_8_bits)
        );
        // all products are of integers, except for the product of the embedding
        let plans = &in_8_bits.compilation.plan.products;
        assert!(
            plans
                .iter()
                .filter(|product| product.multiples.x.is_some_and(|x| x.magnitude() == 255))
                .count()
                >= 2,
            "{}",
            in_8_bits.compilation.plan
        );
        // the second has bodies for more instruction sets
        for isa in 0..as_f32.isas().count() {
            let (name, _) = as_f32.isas().nth(isa).expect("counted");
            let at = in_8_bits.isas().position(|(other, _)| other == name).expect("all are there");
            for call in &as_f32.calls {
                assert_eq!(all_bits(&as_f32, isa, call), all_bits(&in_8_bits, at, call));
            }
        }
        let vnni = in_8_bits
            .isas()
            .position(|(name, _)| name == "avx512_vnni")
            .expect("integers are multiplied");
        for call in &as_f32.calls {
            // both fuse
            assert_eq!(all_bits(&in_8_bits, vnni - 1, call), all_bits(&in_8_bits, vnni, call));
        }
    }
}

/// Weights from DequantizeLinear stay in 8 bits, with exactly their values in f32.
#[test]
fn dequantised_weights_are_stored_in_8_bits_unless_a_precision_is_given() {
    let case = corpus::case_in(&corpus::onnx_folder().join("dequantized_gru"))
        .unwrap_or_else(|e| panic!("{e}"));
    let stored = |precision_is_given: bool| {
        let precision = precision_is_given.then_some(Precision::F32);
        let options = Options::default().with_precision(precision);
        let compilation =
            cellc::internals::compile::compile(&case.model, &options).expect("it compiles");
        let losses = Loss::by_format(&compilation.model, &compilation.precisions);
        (losses, compilation.packed.bytes.len(), compilation.description.header.join(" "))
    };
    let ((losses, in_8_bits, header), (as_f32, bytes, _)) = (stored(false), stored(true));
    assert!(as_f32.is_empty());
    let [loss] = &losses[..] else { panic!("{losses:?}") };
    assert!(loss.format.name() == "int8" && loss.exact == loss.weights, "{loss}");
    assert_eq!(loss.weights, 72 * 12 + 72 * 24 + 24 * 16);
    assert!(bytes - in_8_bits > 2 * loss.weights, "{bytes} and {in_8_bits} bytes");
    assert!(header.contains("lossless"), "{header}");
}

/// Integers stored as floats are multiplied as integers, with the bits of f32, NaN and infinities
/// included.
#[test]
fn whole_numbers_multiply_as_integers() {
    let case = corpus::case_in(&corpus::onnx_folder().join("lstm_dyn_s8_channel"))
        .unwrap_or_else(|e| panic!("{e}"));
    let subjects = |precision_is_given: bool| {
        let precision = precision_is_given.then_some(Precision::F32);
        let options = Options::default().with_precision(precision);
        Case::subjects(&case, &options, "").into_iter().map(|(subject, _)| subject)
    };
    for (as_f32, as_integers) in subjects(true).zip(subjects(false)) {
        let plans = &as_integers.compilation.plan;
        assert!(plans.products.iter().all(|product| product.multiples.x.is_some()), "{plans}");
        for (isa, (name, _)) in as_f32.isas().enumerate() {
            let at =
                as_integers.isas().position(|(other, _)| other == name).expect("all are there");
            for bad in [0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut call = as_f32.calls[0].clone();
                call[0][1] = bad;
                assert_eq!(
                    all_bits(&as_f32, isa, &call),
                    all_bits(&as_integers, at, &call),
                    "{name} {bad}"
                );
            }
        }
    }
}

/// Runs the Rust of subjects with some of their bodies: with `flags_of_forms` those that together
/// have every form, and with `flags` the others.
fn generated_rust(half: usize, flags: &[&str], flags_of_forms: &[&str]) {
    let subjects = subjects(half);
    let expected = subjects.iter().flat_map(|s| s.expected(&driver::isas())).collect();
    let subjects = with_fewer_bodies(&subjects, Language::Rust);
    let forms = covering(&subjects);
    let (forms, rest): (Vec<_>, Vec<_>) =
        subjects.into_iter().enumerate().partition(|(at, _)| forms.contains(at));
    for (part, subjects, flags) in [("forms", forms, flags_of_forms), ("rest", rest, flags)] {
        let subjects: Vec<_> = subjects.into_iter().map(|(_, subject)| subject).collect();
        let folder = folder(&format!("conformance-rust-{half}-{part}"));
        let found = driver::rust(&folder, &subjects, flags);
        assert_same("rust", &of_subjects(&expected, &subjects), &found);
    }
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn generated_rust_is_the_interpreter_bit_for_bit() {
    generated_rust(0, &["-Copt-level=1"], &["-Copt-level=3"]);
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn generated_rust_of_the_other_half_is_too() {
    generated_rust(1, &["-Copt-level=1"], &["-Copt-level=1", driver::ASSERTED]);
}

/// The object needs only the functions that compilers call for arrays: no panic, no allocation, no
/// input or output.
fn generated_c(half: usize, level: &str) {
    let (subjects, isas) = (subjects(half), driver::isas());
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let subjects = with_fewer_bodies(&subjects, Language::C);
    // a flag that permits contraction, and instructions for it; `c` tries other flags
    let mut flags = vec!["-std=gnu11", level];
    if isas.contains(&"avx2") {
        flags.push("-mfma");
    }
    for (compiler, subjects) in driver::c_compilers_with(&subjects) {
        let folder = folder(&format!("conformance-c{level}"));
        let found = driver::c(&folder, &subjects, compiler, &flags);
        assert_same(&format!("{compiler} {flags:?}"), &of_subjects(&expected, &subjects), &found);
        for Subject { name, .. } in &subjects {
            let foreign = driver::foreign(&folder, &format!("{name}.o"));
            assert_eq!(foreign.unwrap_or_default(), [""; 0], "{name}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn generated_c_is_the_interpreter_bit_for_bit() {
    generated_c(0, "-O2");
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn generated_c_of_the_other_half_is_too() {
    generated_c(1, "-Os");
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn weights_in_every_format_are_the_interpreter_s_bit_for_bit() {
    let mut subjects: Vec<Subject> = formats().into_iter().chain(every_number()).collect();
    // a weight of the first cell that is not finite
    for subject in subjects.iter_mut().filter(|subject| !subject.compilation.packed.is_baked()) {
        let mut call = subject.calls[0].clone();
        call[1][5] = f32::NEG_INFINITY;
        subject.calls.push(call);
    }
    let isas = driver::isas();
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let in_c = with_fewer_bodies(&subjects, Language::C);
    for (compiler, subjects) in driver::c_compilers_with(&in_c) {
        let found = driver::c(&folder("formats-c"), &subjects, compiler, &["-std=gnu11", "-O1"]);
        assert_same(compiler, &of_subjects(&expected, &subjects), &found);
    }
    // rustc takes long: the weights with every 16-bit and 8-bit number, and subjects that have
    // every form
    let subjects = with_fewer_bodies(&subjects, Language::Rust);
    let forms = covering(&subjects);
    let is_taken =
        |(k, subject): &(usize, Subject)| forms.contains(k) || subject.name.starts_with("every_");
    let subjects: Vec<_> =
        subjects.into_iter().enumerate().filter(is_taken).map(|(_, subject)| subject).collect();
    let found = driver::rust(&folder("formats-rust"), &subjects, &["-Copt-level=1"]);
    assert_same("rust", &of_subjects(&expected, &subjects), &found);
}

/// `most`: 19 of 20 results have an error of at most this many times the error of OpenVINO, which
/// fuses multiply-add.
#[test]
fn the_median_error_is_at_most_openvinos_and_19_of_20_are_near_it() {
    for (fma, profile, most) in [(Fma::Auto, "fused", 2.0), (Fma::Off, "unfused", 2.5)] {
        let mut ratios = Vec::new();
        for (case, subject, runs) in compiled(&corpus::cases(), fma) {
            // the scalar body of a small network fuses nothing
            let Some(isa) = subject.isas().position(|(_, fused)| fused == (fma == Fma::Auto))
            else {
                continue;
            };
            let mut variables = subject.variables();
            for (call, run) in runs.iter().enumerate() {
                let Run { oracle, openvino, .. } = &case.runs[*run];
                let results = subject.interpret_from(isa, &subject.calls[call], &mut variables);
                // the worst result of a call, relative to the largest value of the result
                let (mut ours, mut theirs) = (0.0f64, 0.0f64);
                for (i, result) in results.iter().enumerate() {
                    let largest =
                        oracle[i].iter().copied().map(f64::abs).fold(f64::MIN_POSITIVE, f64::max);
                    let error = |values: &[f32]| {
                        largest_error(values.iter().map(|v| f64::from(*v)), &oracle[i]) / largest
                    };
                    (ours, theirs) = (ours.max(error(result)), theirs.max(error(&openvino[i])));
                }
                if theirs > 0.0 {
                    ratios.push((ours / theirs, format!("{} run {run}", subject.name)));
                }
            }
        }
        assert!(ratios.len() >= 25, "{} ratios", ratios.len());
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let values: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
        let (median, high) = (percentile(&values, 50.0), percentile(&values, 95.0));
        println!(
            "{profile}: error over OpenVINO's: median {median:.4}, 95th percentile {high:.4}, {} results",
            values.len()
        );
        for (ratio, name) in ratios.iter().rev().take(3) {
            println!("  {ratio:.3} {name}");
        }
        assert!(
            median <= 1.0 && high <= most,
            "{profile}: median {median}, 95th percentile {high}"
        );
    }
}

/// The largest distance, NaN if there is one.
fn largest_error(values: impl Iterator<Item = f64>, oracle: &[f64]) -> f64 {
    values
        .zip(oracle)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |a, b| if b.is_nan() || b > a { b } else { a })
}

/// A percentile of sorted values, interpolated linearly.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let at = percent / 100.0 * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64)
}
