//! `--precision`: programs against the float64 reference that multiplies the same integers.

use std::path::Path;

use cellc::internals::bound::{Profile, bound};
use cellc::internals::compile::compile;
use cellc::internals::core::Parameter;
use cellc::internals::front::openvino;
use cellc::internals::numerics::{Loss, Precisions};
use cellc::internals::random::Random;
use cellc::internals::reference::reference_in;
use cellc::internals::report::Report;
use cellc::{Language, Options, Precision, State};
use cellc_tests::agreement::{Compared, exact};
use cellc_tests::corpus::{self, Case};
use cellc_tests::driver;
use cellc_tests::given_weights::{self, Weights};
use cellc_tests::model_file::{Branch, ModelFile, Port, Stored};
use cellc_tests::random::{self, compiled};
use cellc_tests::selection::with_fewer_bodies;
use cellc_tests::subject::{Subject, Values, assert_same, bits, of_subjects};

/// Cells of every kind, a batch, sequences, a head.
const CASES: [&str; 7] = [
    "gru_cell_128_f32",
    "gru_cell_lbr1",
    "lstm_cell",
    "rnn_cell_tanh",
    "torch_gru2_head_static",
    "gru_seq_fwd",
    "rnnoise_step_f32",
];

/// The precisions of integers, each with the least distance from f32 that a result must have.
const INTEGERS: [(Precision, f64); 3] =
    [(Precision::Int8, 1e-3), (Precision::Int8x16, 1e-3), (Precision::Int16, 1e-5)];

fn subjects(precision: Precision) -> impl Iterator<Item = Subject> {
    with_options(&CASES, Options::default().with_precision(Some(precision)))
}

fn with_options<'a>(
    cases: &'a [&str],
    options: Options,
) -> impl Iterator<Item = Subject> + use<'a> {
    cases
        .iter()
        .flat_map(move |name| Case::subjects(&corpus::case(name), &options, ""))
        .map(|(subject, _)| subject)
}

/// Two cells and a head, and their names.
const LAYERS: [&str; 3] = [
    "__module.r/aten::gru/GRUSequence",
    "__module.r/aten::gru/GRUSequence_1",
    "__module.head/aten::linear/MatMul",
];

/// The model with a precision for each layer.
fn mixtures() -> impl Iterator<Item = Subject> {
    let mixtures = [
        (Precision::Int8, vec![(LAYERS[1], Precision::Int16), (LAYERS[2], Precision::F32)]),
        (Precision::F32, vec![(LAYERS[0], Precision::Int8x16)]),
    ];
    mixtures.into_iter().flat_map(|(precision, layers)| {
        let precision_of =
            layers.into_iter().map(|(name, precision)| (name.to_owned(), precision)).collect();
        with_options(
            &["torch_gru2_head_static"],
            Options::default().with_precision(Some(precision)).with_precision_of(precision_of),
        )
    })
}

/// A step that agrees with the reference in the precision of each layer, and is within its bound.
fn as_asked(subject: &Subject, isa: usize, call: &[Vec<f32>]) -> Compared {
    let mut variables = subject.variables();
    let before = exact(&variables);
    let compared = Compared::step(subject, isa, call, &mut variables);
    let right =
        reference_in(&subject.compilation.precisions, subject.model(), &exact(call), &before);
    for (found, right) in compared.found.parts().flatten().zip(right.parts().flatten()) {
        assert!(
            (found - right).abs() <= 4e-6 * right.abs().max(1.0),
            "{}: {found} {right}",
            subject.name
        );
    }
    for (at, found, right, limit) in compared.elements() {
        assert!(
            (found - right).abs() <= limit,
            "{}: {at:?}: {found} {right}, bound {limit:e}",
            subject.name
        );
    }
    compared
}

/// Each layer is multiplied in its own precision: programs, bounds and stored weights.
#[test]
fn layers_have_a_precision_of_their_own() {
    let mut sizes = Vec::new();
    for subject in mixtures() {
        let options = &subject.compilation.options;
        let own: Vec<_> = subject
            .compilation
            .plan
            .products
            .iter()
            .map(|product| product.arithmetic.name())
            .collect();
        let [first, second, head] = own[..] else { panic!("{own:?}") };
        match options.numerics.precision {
            Some(Precision::Int8) => assert_eq!([first, second, head], ["int8", "int16", "f32"]),
            _ => assert_eq!([first, second, head], ["int8x16", "f32", "f32"]),
        }
        sizes.push(
            subject
                .compilation
                .plan
                .products
                .iter()
                .map(|product| product.bytes())
                .collect::<Vec<_>>(),
        );
        for call in &subject.calls {
            for isa in 0..subject.isas().count() {
                as_asked(&subject, isa, call);
            }
        }
    }
    let [mixed, one_layer] = &sizes[..] else { panic!("{sizes:?}") };
    // weights of bytes have scales, and those of int8 also have corrections of sums
    assert!(mixed[0] < one_layer[1] / 2 && one_layer[0] < mixed[0], "{sizes:?}");
    assert!(mixed[1] < one_layer[1] && mixed[2] == one_layer[2], "{sizes:?}");
}

/// Layers that do not exist, that multiply nothing, or that are named twice are refused.
#[test]
fn layers_without_a_matrix_are_refused() {
    let refused = |layers: &[&str]| {
        let precision_of =
            layers.iter().map(|layer| ((*layer).to_owned(), Precision::Int8)).collect();
        let options = Options::default().with_precision_of(precision_of);
        let case = corpus::case("torch_gru2_head_static");
        let Err(problems) = compile(&case.model, &options) else { panic!("{layers:?}") };
        problems.to_string()
    };
    let said = refused(&["gru", "__module.r/aten::gru/Squeeze"]);
    for part in [
        "--precision-of names \"gru\", which is no cell, dense layer or convolution",
        "aten::gru/Squeeze\", which",
        LAYERS[2],
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(refused(&[LAYERS[0], LAYERS[0]]).contains("twice"));
}

/// Weights that are multiples of a scale keep the scale and lose nothing: RNNoise's, which are
/// integers from -128 over 256, except for rows with -128 in 8 bits; and weights behind a
/// FakeQuantize, except for its own rounding.
#[test]
fn quantised_weights_are_kept() {
    let lost = |case: &str, precision: Precision| {
        let options = Options::default().with_precision(Some(precision));
        let compilation = compile(&corpus::case(case).model, &options).expect("it compiles");
        let header = compilation.description.header.join(" ");
        let [loss] = Loss::by_format(&compilation.model, &compilation.precisions)[..] else {
            panic!("{case}: one format")
        };
        assert_eq!(header.contains("lossless"), loss.exact == loss.weights, "{header}");
        loss
    };
    let loss = lost("rnnoise_step_f32", Precision::Int16);
    assert_eq!((loss.exact, loss.largest), (loss.weights, 0.0));
    for precision in [Precision::Int8, Precision::Int8x16] {
        let loss = lost("rnnoise_step_f32", precision);
        assert!(loss.exact * 10 > loss.weights * 7 && loss.exact < loss.weights, "{loss:?}");
        assert!(lost("fake_quantized_gru", precision).largest < 1e-6);
        let loss = lost("gru_cell_128_f32", precision);
        assert!(loss.exact * 10 < loss.weights && loss.largest > 1e-3, "{loss:?}");
    }
}

/// Models with scales for operands. By model: the number of products with a scale for x if all else
/// is in f32, the same number if all else is in integers, and the number with a scale for h.
const QUANTISED: [(&str, usize, usize, usize); 5] = [
    ("int8_layers", 2, 3, 0),
    ("qdq_layers", 3, 3, 0),
    ("qdq_gru", 1, 2, 0),
    ("fake_quantized_ti_gru", 1, 1, 1),
    ("fake_quantized_ti_lstm", 1, 1, 1),
];

fn quantised(name: &str, options: &Options) -> impl Iterator<Item = Subject> + use<> {
    let [here, there] = [corpus::folder(), corpus::onnx_folder()].map(|folder| folder.join(name));
    let case = corpus::case_in(if here.exists() { &here } else { &there })
        .unwrap_or_else(|e| panic!("{e}"));
    Case::subjects(&case, options, "").into_iter().map(|(subject, _)| subject)
}

/// Products of two multiples of scales are multiplied as integers and lose nothing, whatever the
/// precision of other products. x of a cell keeps its scale. Bits are equal on every instruction
/// set, and NaN stays NaN.
#[test]
fn scales_of_quantised_models_are_kept() {
    for (name, dense, all, of_h) in QUANTISED {
        for precision in
            [None, Some(Precision::Int8), Some(Precision::Int8x16), Some(Precision::Int16)]
        {
            let options = Options::default().with_precision(precision);
            for subject in quantised(name, &options) {
                let plan = &subject.compilation.plan;
                let own =
                    plan.products.iter().filter(|product| product.multiples.x.is_some()).count();
                assert_eq!(
                    own,
                    if precision.is_none() { dense } else { all },
                    "{name} {precision:?}\n{plan}"
                );
                assert_eq!(
                    plan.products.iter().filter(|product| product.multiples.h.is_some()).count(),
                    of_h,
                    "{name}"
                );
                let header = subject.compilation.description.header.join(" ");
                assert!(header.contains("by the model's own scale"), "{header}");
                for call in &subject.calls {
                    let mut first: Option<Vec<u64>> = None;
                    for isa in 0..subject.isas().count() {
                        let compared =
                            Compared::step(&subject, isa, call, &mut subject.variables());
                        // the state of a cell is rounded in integer precisions
                        let rounded = precision.is_some() && dense < all;
                        for (at, found, right, limit) in compared.elements() {
                            let limit = if rounded {
                                limit
                            } else {
                                limit.min(1e-6 * right.abs().max(4.0))
                            };
                            assert!(
                                (found - right).abs() <= limit,
                                "{name} {at:?}: {found}, not {right}"
                            );
                        }
                        if plan.isas[isa].fuses {
                            let bits: Vec<_> =
                                compared.found.parts().flatten().map(|v| v.to_bits()).collect();
                            assert!(first.get_or_insert_with(|| bits.clone()) == &bits, "{name}");
                        }
                    }
                }
                let mut call = subject.calls[0].clone();
                call[0][0] = f32::NAN;
                let as_f32 = Options::default().with_precision(Some(Precision::F32));
                let as_f32 = quantised(name, &as_f32).next().expect("a subject");
                assert!(
                    as_f32
                        .compilation
                        .plan
                        .products
                        .iter()
                        .all(|product| product.multiples.x.is_none()),
                    "{name}"
                );
                let numbers = |subject: &Subject| {
                    let found = Compared::step(subject, 0, &call, &mut subject.variables()).found;
                    found.parts().flatten().map(|v| v.is_nan()).collect::<Vec<_>>()
                };
                assert_eq!(numbers(&subject), numbers(&as_f32), "{name} {precision:?}");
            }
        }
    }
}

/// One of two GRUs of one name takes a step. x and h of each GRU are rounded to multiples of its
/// scales; without scales they are not rounded.
fn branches_of_one_name(scales: [Option<[f32; 2]>; 2]) -> ModelFile {
    let (inputs, units) = (9, 40);
    let mut file = ModelFile::default();
    let which = file.parameter_of("which", "boolean", &[]);
    let given = [file.parameter("x", &[1, inputs]), file.parameter("h", &[1, units])];
    let branches = [(37, scales[0]), (41, scales[1])].map(|(factor, scales)| {
        let mut body = ModelFile::default();
        body.weights = std::mem::take(&mut file.weights);
        let from = given.each_ref().map(|port| body.parameter("", &port.shape));
        let mut ports: Vec<Port> = (from.iter().enumerate())
            .map(|(operand, port)| {
                let Some(scale) = scales.map(|scales| scales[operand]) else { return port.clone() };
                let ends = [-127.0, 127.0, -127.0, 127.0]
                    .map(|end| body.constant(&[], Stored::F32, [end * scale].into_iter()));
                let [a, b, c, d] = &ends;
                body.operation(
                    "FakeQuantize",
                    "opset1",
                    "levels=\"255\" auto_broadcast=\"numpy\"",
                    &[port, a, b, c, d],
                    &port.shape,
                )
            })
            .collect();
        for shape in [vec![3 * units, inputs], vec![3 * units, units], vec![4 * units]] {
            let values = (0..shape.iter().product())
                .map(|k: usize| (k * factor % 255) as f32 / 1024.0 - 127.0 / 1024.0);
            ports.push(body.constant(&shape, Stored::F32, values));
        }
        let next = body.cell(
            "gru",
            "GRUCell",
            "linear_before_reset=\"true\"",
            &ports.iter().collect::<Vec<_>>(),
        );
        file.weights = std::mem::take(&mut body.weights);
        let inputs = from.into_iter().enumerate().map(|(i, port)| (1 + i, port)).collect();
        Branch { body, inputs, results: vec![next] }
    });
    let next = file.either(&which, &given.each_ref(), branches);
    file.result(&next[0]);
    file
}

#[test]
fn cells_of_one_name_keep_their_own_scales() {
    let scales = [[1.0 / 64.0, 1.0 / 128.0], [1.0 / 32.0, 1.0 / 100.0]];
    for precision in [None, Some(Precision::Int8), Some(Precision::Int16)] {
        let options = Options::default().with_precision(precision);
        let subject = compiled("one_name", branches_of_one_name(scales.map(Some)), options, 7);
        let plan = &subject.compilation.plan;
        let vectors =
            plan.products.iter().map(|product| [product.multiples.x, product.multiples.h]);
        let found: Vec<_> = vectors.map(|own| own.map(|own| own.map(|own| own.scale))).collect();
        assert_eq!(found, scales.map(|scales| scales.map(Some)), "{plan}");
        for which in [0.0, 1.0] {
            for call in &subject.calls[..=random::SATURATING] {
                let mut call = call.clone();
                call[0][0] = which;
                let mut first: Option<Vec<u64>> = None;
                for isa in 0..subject.isas().count() {
                    let compared = Compared::step(&subject, isa, &call, &mut []);
                    for (at, found, right, limit) in compared.elements() {
                        let limit = limit.min(1e-6);
                        assert!(
                            (found - right).abs() <= limit,
                            "{precision:?} {at:?}: {found}, not {right}"
                        );
                    }
                    if plan.isas[isa].fuses {
                        let bits: Vec<_> =
                            compared.found.parts().flatten().map(|v| v.to_bits()).collect();
                        assert!(
                            first.get_or_insert_with(|| bits.clone()) == &bits,
                            "{precision:?}"
                        );
                    }
                }
            }
        }
    }
}

/// A quantised cell multiplies the model's integers, also if a cell of the same name is not
/// quantised. The cell that is not quantised has no scale.
#[test]
fn a_cell_keeps_its_scales_beside_one_of_its_name_without_scales() {
    let scales = [1.0 / 64.0, 1.0 / 128.0];
    let file = branches_of_one_name([Some(scales), None]);
    let subject = compiled("one_is_quantised", file, Options::default(), 7);
    let plan = &subject.compilation.plan;
    let vectors = plan.products.iter().map(|product| [product.multiples.x, product.multiples.h]);
    let found: Vec<_> = vectors.map(|own| own.map(|own| own.map(|own| own.scale))).collect();
    assert_eq!(found, [scales.map(Some), [None; 2]], "{plan}");
    let calls = &subject.calls[..=random::SATURATING];
    for (which, call) in
        [0.0, 1.0].into_iter().flat_map(|which| calls.iter().map(move |call| (which, call)))
    {
        let mut call = call.clone();
        call[0][0] = which;
        for isa in 0..subject.isas().count() {
            for (at, found, right, limit) in
                Compared::step(&subject, isa, &call, &mut []).elements()
            {
                assert!(
                    (found - right).abs() <= limit,
                    "{which} {at:?}: {found}, not {right}, bound {limit:e}"
                );
            }
        }
    }
}

/// Weights packed at run time give the bits of equal constant weights, on every instruction set.
#[test]
fn weights_of_run_time_give_the_bits_of_baked_ones() {
    for (precision, _) in INTEGERS {
        for (after, batch, where_) in
            [(true, 1, Weights::Given), (false, 3, Weights::Given), (true, 1, Weights::GivenButR)]
        {
            let options = Options::default().with_precision(Some(precision));
            let compiled = |weights| given_weights::subject("net", &options, weights, after, batch);
            let (baked, given) = (compiled(Weights::Constant), compiled(where_));
            assert!(!given.compilation.packed.is_baked() && baked.compilation.packed.is_baked());
            for isa in 0..baked.isas().count() {
                let [baked, given] = [&baked, &given].map(|of| of.interpret(isa, &of.calls[0]));
                assert!(baked.iter().flatten().any(|v| *v != 0.0 && v.is_finite()));
                let bits =
                    |all: &[Vec<f32>]| all.iter().flatten().map(|v| bits(*v)).collect::<Vec<_>>();
                assert_eq!(bits(&given), bits(&baked), "{precision:?} {after}");
            }
        }
    }
}

/// A row of run-time weights with a NaN or an infinity makes its unit NaN, and changes no other
/// unit.
#[test]
fn weights_of_run_time_that_are_not_finite_give_no_number() {
    for (precision, _) in INTEGERS {
        let options = Options::default().with_precision(Some(precision));
        let case = corpus::case("gru_cell_params");
        let (subject, _) = Case::subjects(&case, &options, "").remove(0);
        let header = subject.compilation.description.header.join(" ");
        assert!(header.contains("weights with NaN or infinity becomes NaN"), "{header}");
        let [w, r] = [2, 3].map(|i| &subject.model().parameters[i].shape);
        for (bad, isa) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY]
            .into_iter()
            .flat_map(|bad| (0..subject.isas().count()).map(move |isa| (bad, isa)))
        {
            let right = subject.interpret(isa, &subject.calls[0]);
            // the rows of the update gate: no other unit reads them
            for (parameter, len) in [(2, w[1]), (3, r[1])] {
                let mut call = subject.calls[0].clone();
                call[parameter][len] = bad;
                let found = subject.interpret(isa, &call);
                for (unit, (found, right)) in found[0].iter().zip(&right[0]).enumerate() {
                    // unit 1 of 3, in each row of the batch
                    match unit % 3 {
                        1 => assert!(found.is_nan(), "{precision:?} {bad}: {found}"),
                        _ => assert_eq!(
                            found.to_bits(),
                            right.to_bits(),
                            "{precision:?} {bad} {unit}"
                        ),
                    }
                }
            }
        }
    }
}

/// Weights in f16 must be constants.
#[test]
fn halves_are_refused_for_weights_of_run_time() {
    for (precision, refused) in [(Precision::F16, true), (Precision::Int8, false)] {
        let options = Options::default().with_precision(Some(precision));
        let case = corpus::case("gru_cell_params");
        match compile(&case.model, &options) {
            Ok(_) => assert!(!refused),
            Err(problems) => {
                let said = problems.to_string();
                assert!(
                    refused
                        && said.contains(
                            "f16 for \"cell\" in a model with weights that are given at run time"
                        ),
                    "{said}"
                );
            }
        }
    }
}

/// f16 is refused for every layer of a model with run-time weights, also for a layer with constant
/// weights.
#[test]
fn halves_are_refused_beside_weights_of_run_time() {
    let mut file = ModelFile::default();
    let [x, h] = [file.parameter("x", &[1, 3]), file.parameter("h", &[1, 4])];
    let [w, r, b] = [("w", vec![12, 3]), ("r", vec![12, 4]), ("b", vec![12])]
        .map(|(name, shape)| file.parameter(name, &shape));
    let next = file.cell("cell", "GRUCell", "", &[&x, &h, &w, &r, &b]);
    let matrix = file.constant(&[4, 4], Stored::F32, (0..16).map(|k| k as f32 / 7.0));
    let y = file.named(
        "MatMul",
        "opset1",
        "transpose_a=\"false\" transpose_b=\"true\"",
        &[&next, &matrix],
        &[("y", &[1, 4])],
    );
    file.result(&y[0]);
    for (precision, is_refused) in
        [(Precision::Bf16, true), (Precision::F16, true), (Precision::Int16, false)]
    {
        let options = Options::default().with_precision(Some(precision)).with_state(State::None);
        let text = file.text();
        let read = random::accepted("beside", text.as_bytes(), file.weights.clone(), options, 1);
        assert_eq!(read.is_err(), is_refused, "{precision:?}");
        if let Err(problems) = read {
            assert!(
                problems.to_string().contains("in a model with weights that are given at run time"),
                "{problems}"
            );
        }
    }
}

/// A layer of a quantised model that is named by an option has the precision of the option.
#[test]
fn a_named_layer_of_a_quantised_model_is_stored_as_asked() {
    let layer = "cell".to_owned();
    for (precision, format) in
        [(Precision::F32, "f32"), (Precision::F16, "f16"), (Precision::Bf16, "bf16")]
    {
        let options = Options::default().with_precision_of(vec![(layer.clone(), precision)]);
        for subject in quantised("int8_layers", &options) {
            let plan = &subject.compilation.plan;
            let formats: Vec<_> =
                plan.products.iter().map(|product| product.product.layout.format.name()).collect();
            assert!(formats.contains(&format), "{formats:?}");
            for call in &subject.calls {
                as_asked(&subject, 0, call);
            }
        }
    }
}

/// After an earlier rounding, an element between two integers may be rounded to the other integer.
/// This changes what one element of a deferred vector contributes to one step. All other
/// differences are roundings of f32.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn programs_multiply_the_integers_of_the_reference() {
    for (precision, lost) in INTEGERS {
        let (mut near, mut all, mut apart) = (0, 0, 0.0f64);
        for subject in subjects(precision) {
            for call in &subject.calls {
                for isa in 0..subject.isas().count() {
                    let mut variables = subject.variables();
                    let before = exact(&variables);
                    let compared = Compared::step(&subject, isa, call, &mut variables);
                    let right = reference_in(
                        &subject.compilation.precisions,
                        subject.model(),
                        &exact(call),
                        &before,
                    );
                    let found = compared
                        .found
                        .parts()
                        .flatten()
                        .zip(right.parts().flatten())
                        .zip(compared.right.parts().flatten());
                    for ((found, right), as_f32) in found {
                        all += 1;
                        near += usize::from((found - right).abs() <= 4e-6 * right.abs().max(1.0));
                        apart = apart.max((right - as_f32).abs());
                        assert!(
                            (found - right).abs() <= 2e-2 * right.abs().max(1.0),
                            "{}: {found} {right}",
                            subject.name
                        );
                    }
                }
            }
        }
        // elements that were rounded to another integer are few
        assert!(near * 100 >= all * 95, "{precision:?}: {near} of {all} are the reference's");
        assert!(apart > lost, "{precision:?}: no integers were seen, {apart:e}");
    }
}

/// Bounds hold, and include the errors of integers.
#[test]
fn bounds_include_what_integers_lose() {
    let f32_bound = |subject: &Subject, call: &[Vec<f32>]| {
        let profile = &Profile::new(true, &Options::default().numerics, &Precisions::F32);
        let before = exact(&subject.variables());
        bound(subject.model(), profile, &exact(call), &before)
            .parts()
            .flatten()
            .copied()
            .fold(0.0, f64::max)
    };
    for (precision, subject) in
        INTEGERS.iter().flat_map(|(precision, _)| subjects(*precision).map(|s| (*precision, s)))
    {
        for call in &subject.calls {
            let compared = Compared::step(&subject, 0, call, &mut subject.variables());
            for (at, found, right, limit) in compared.elements() {
                let error = (found - right).abs();
                assert!(
                    error <= limit,
                    "{} {at:?}: off by {error:e}, bound {limit:e}",
                    subject.name
                );
            }
            let largest = compared.elements().map(|(.., limit)| limit).fold(0.0, f64::max);
            let times = if precision == Precision::Int16 { 2.0 } else { 10.0 };
            assert!(largest > times * f32_bound(&subject, call), "{}: {largest:e}", subject.name);
        }
    }
}

/// A NaN or an infinity in one row of a batch makes the results of the row NaN, and changes no
/// other row.
#[test]
fn what_is_not_finite_is_no_number() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let cases = ["gru_cell_lbr0", "gru_cell_lbr1", "lstm_cell", "rnn_cell_tanh"];
        for (name, (precision, _)) in
            cases.iter().flat_map(|name| INTEGERS.iter().map(move |each| (name, each)))
        {
            let options = Options::default().with_precision(Some(*precision));
            for (subject, _) in Case::subjects(&corpus::case(name), &options, "") {
                let call = &subject.calls[0];
                for isa in 0..subject.isas().count() {
                    let right = subject.interpret(isa, call);
                    for parameter in [0, 1] {
                        let mut given = call.clone();
                        let last = given[parameter].len() - 1;
                        given[parameter][last] = bad;
                        let found = subject.interpret(isa, &given);
                        for (found, right) in found.iter().zip(&right) {
                            let row = found.len() / 2;
                            assert_eq!(found[..row], right[..row], "{name}");
                            assert!(
                                found[row..].iter().all(|v| v.is_nan()),
                                "{name} {bad} {parameter}: {found:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// A depthwise convolution of 6 channels, in a batch of 2.
struct Windows<'a> {
    each: usize,
    size: &'a [usize],
    taps: &'a [usize],
    dilation: usize,
    pads: usize,
}

impl Windows<'_> {
    /// The shape of x.
    fn x(&self) -> Vec<usize> {
        [&[2, 6], self.size].concat()
    }

    /// Adds the convolution with drawn weights, and a bias.
    fn push(&self, file: &mut ModelFile, x: &Port, mut drawn: impl FnMut(usize) -> Vec<f32>) {
        let Windows { each, size, taps, dilation, pads } = *self;
        let channels = 6 * each;
        let terms: usize = taps.iter().product();
        let w = file.constant(
            &[&[6, each, 1], taps].concat(),
            Stored::F32,
            drawn(channels * terms).into_iter(),
        );
        let wide = [&[1, channels], &vec![1; size.len()][..]].concat();
        let bias = file.constant(&wide, Stored::F32, drawn(channels).into_iter());
        let of = |n: usize| vec![n.to_string(); size.len()].join(",");
        let (strides, dilations, pad) = (of(1), of(dilation), of(pads));
        let data = format!(
            "strides=\"{strides}\" dilations=\"{dilations}\" pads_begin=\"{pad}\" pads_end=\"{pad}\""
        );
        let counts: Vec<usize> = size
            .iter()
            .zip(taps)
            .map(|(size, taps)| size + 2 * pads - (taps - 1) * dilation)
            .collect();
        let out = [&[2, channels], &counts[..]].concat();
        let y = file.operation("GroupConvolution", "opset1", &data, &[x, &w], &out);
        let y = file.operation("Add", "opset1", "", &[&y, &bias], &out);
        file.result(&y);
    }
}

/// Along one axis and several, with and without pads, even and odd windows, dilated windows,
/// several outputs per channel.
const WINDOWS: [Windows<'static>; 6] = [
    Windows { each: 1, size: &[40], taps: &[9], dilation: 1, pads: 4 },
    Windows { each: 3, size: &[37], taps: &[4], dilation: 3, pads: 0 },
    Windows { each: 2, size: &[9, 8], taps: &[3, 3], dilation: 1, pads: 1 },
    Windows { each: 1, size: &[6, 12], taps: &[2, 3], dilation: 1, pads: 0 },
    Windows { each: 1, size: &[8], taps: &[2], dilation: 1, pads: 1 },
    Windows { each: 1, size: &[4, 6, 9], taps: &[1, 2, 2], dilation: 1, pads: 0 },
];

fn depthwise(options: &Options) -> Vec<Subject> {
    let subject = |(k, windows): (usize, &Windows<'_>)| {
        let mut random = Random::new(k as u64 + 1);
        let mut file = ModelFile::default();
        let x = file.parameter("x", &windows.x());
        windows.push(&mut file, &x, |count| random.even(count, 1.0));
        compiled(
            &format!("depthwise_{k}_{}", options.numerics.precision.unwrap_or_default().name()),
            file,
            options.clone(),
            7,
        )
    };
    WINDOWS.iter().enumerate().map(subject).collect()
}

/// Depthwise convolutions over many positions multiply integers, with equal bits on every
/// instruction set, in Rust and in C. Bounds hold, and weights are stored as the header says.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn depthwise_convolutions_multiply_integers() {
    let mut all = Vec::new();
    for (precision, _) in INTEGERS {
        for subject in depthwise(&Options::default().with_precision(Some(precision))) {
            let plan = subject.compilation.plan.to_string();
            let name = if precision == Precision::Int16 { "int16" } else { "int8x16" };
            assert!(
                plan.contains(&format!("windows multiplied in {name}")),
                "{}: {plan}",
                subject.name
            );
            let losses = Loss::by_format(subject.model(), &subject.compilation.precisions);
            assert!(losses.len() == 1 && losses[0].exact < losses[0].weights, "{losses:?}");
            for call in &subject.calls[..2] {
                let mut first: Option<Vec<u64>> = None;
                for isa in 0..subject.isas().count() {
                    let compared = as_asked(&subject, isa, call);
                    let bits: Vec<_> =
                        compared.found.parts().flatten().map(|v| v.to_bits()).collect();
                    assert!(first.get_or_insert_with(|| bits.clone()) == &bits, "{}", subject.name);
                }
            }
            // the others are equal to those of int8
            all.extend(Some(subject).filter(|_| precision != Precision::Int8x16 && all.len() < 9));
        }
    }
    let expected: Vec<_> = all.iter().map(|subject| subject.expected(&driver::isas())).collect();
    let expected: Values = expected.into_iter().flatten().collect();
    let folder = |language: &str| {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("depthwise-{language}"))
    };
    let in_rust = with_fewer_bodies(&all, Language::Rust);
    let found = driver::rust(&folder("rust"), &in_rust, &["-Copt-level=3"]);
    assert_same("Rust", &of_subjects(&expected, &in_rust), &found);
    let in_c = with_fewer_bodies(&all, Language::C);
    for (compiler, taken) in driver::c_compilers_with(&in_c) {
        let found = driver::c(&folder("c"), &taken, compiler, &["-std=gnu11", "-O3"]);
        assert_same("C", &of_subjects(&expected, &taken), &found);
    }
}

/// Random windows are within the bound of the reference, with equal bits on every instruction set.
#[test]
fn drawn_windows_multiply_integers() {
    let mut random = Random::new(3);
    let mut in_integers = 0;
    for k in 0..24 {
        let mut below = |n: usize| ((random.even(1, 0.5)[0] + 0.5) * n as f32) as usize % n;
        let size: Vec<usize> = (0..1 + below(2)).map(|_| 5 + below(9)).collect();
        let taps: Vec<usize> = size.iter().map(|_| 1 + below(5)).collect();
        // no window holds only padding
        let (each, pads) = (1 + below(3), below(*taps.iter().min().expect("an axis")));
        let dilation = if taps.iter().any(|taps| *taps > 3) { 1 } else { 1 + below(2) };
        let precision = INTEGERS[k % 3].0;
        let windows = Windows { each, size: &size, taps: &taps, dilation, pads };
        let mut file = ModelFile::default();
        let x = file.parameter("x", &windows.x());
        windows.push(&mut file, &x, |count| random.even(count, 1.0));
        let subject = compiled(
            &format!("drawn_{k}"),
            file,
            Options::default().with_precision(Some(precision)),
            k as u64,
        );
        in_integers += subject.compilation.plan.windows.len();
        let mut first: [Option<Vec<u64>>; 2] = [None, None];
        for (isa, (name, fused)) in subject.isas().enumerate() {
            let compared = as_asked(&subject, isa, &subject.calls[0]);
            let bits: Vec<_> = compared.found.parts().flatten().map(|v| v.to_bits()).collect();
            let first = first[usize::from(fused)].get_or_insert_with(|| bits.clone());
            assert!(*first == bits, "{} {size:?} {taps:?} on {name}", subject.name);
        }
    }
    assert!(in_integers > 10, "{in_integers}");
}

/// An element that is not finite makes its channel NaN, and changes no other channel.
#[test]
fn a_channel_with_a_nan_is_nan() {
    for (subject, windows) in
        depthwise(&Options::default().with_precision(Some(Precision::Int16))).iter().zip(&WINDOWS)
    {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut call = subject.calls[0].clone();
            call[0][0] = bad;
            for isa in 0..subject.isas().count() {
                let found = &subject.interpret(isa, &call)[0];
                let (channel, others) = found.split_at(found.len() / 12);
                assert_eq!(channel.len() % windows.each, 0);
                assert!(
                    channel.iter().all(|v| v.is_nan()) && others.iter().all(|v| v.is_finite()),
                    "{}",
                    subject.name
                );
            }
        }
    }
}

/// x of integers is not rounded again: with integer weights, integers give the results of f32.
#[test]
fn whole_numbers_in_windows_stay_what_they_are() {
    for (k, windows) in WINDOWS.iter().enumerate() {
        let subject = |precision: Precision| {
            let mut random = Random::new(k as u64 + 1);
            let mut file = ModelFile::default();
            let x = file.parameter("x", &windows.x());
            let hundredfold = file.constant(&[1], Stored::F32, [100.0].into_iter());
            let x = file.operation("Multiply", "opset1", "", &[&x, &hundredfold], &windows.x());
            let x = file.operation("Round", "opset5", "mode=\"half_to_even\"", &[&x], &windows.x());
            let x =
                file.operation("Clamp", "opset1", "min=\"-128\" max=\"127\"", &[&x], &windows.x());
            windows.push(&mut file, &x, |count| {
                random.even(count, 100.0).into_iter().map(f32::round).collect()
            });
            compiled(
                &format!("whole_{k}"),
                file,
                Options::default().with_precision(Some(precision)),
                7,
            )
        };
        // f32 represents these sums
        let right = subject(Precision::F32);
        let right = right.interpret(0, &right.calls[0]);
        for (precision, _) in INTEGERS {
            let subject = subject(precision);
            let plan = subject.compilation.plan.to_string();
            assert!(plan.contains("x is whole numbers up to 128"), "{plan}");
            for isa in 0..subject.isas().count() {
                as_asked(&subject, isa, &subject.calls[0]);
                assert_eq!(
                    subject.interpret(isa, &subject.calls[0]),
                    right,
                    "{} {precision:?}",
                    subject.name
                );
            }
            // a channel with a NaN has no scale
            let mut call = subject.calls[0].clone();
            call[0][0] = f32::NAN;
            let compared = Compared::step(&subject, 0, &call, &mut subject.variables());
            let (channel, others) = compared.limits.results[0].split_at(right[0].len() / 12);
            assert!(
                channel.iter().all(|bound| *bound == f64::INFINITY),
                "{}: {channel:?}",
                subject.name
            );
            assert!(others.iter().all(|bound| bound.is_finite()), "{}: {others:?}", subject.name);
        }
    }
}

/// A dense layer, a cell with run-time or constant weights, and a depthwise convolution, with
/// weights of this magnitude.
fn of_size(precision: Precision, weights: f32, given: bool) -> Subject {
    let mut random = Random::new(5);
    let mut file = ModelFile::default();
    let mut drawn =
        |count: usize| random.even(count, 1.0).into_iter().map(|w| w * weights).collect::<Vec<_>>();
    let [x, h] = [("x", 24), ("h", 9)].map(|(name, len)| file.parameter(name, &[1, len]));
    let matrix = file.constant(&[9, 24], Stored::F32, drawn(9 * 24).into_iter());
    let data = "transpose_a=\"false\" transpose_b=\"true\"";
    let y = file.operation("MatMul", "opset1", data, &[&x, &matrix], &[1, 9]);
    file.result(&y);
    let shapes = [vec![9, 24], vec![9, 9], vec![9]];
    let tensors = shapes.map(|shape| match given {
        true => file.parameter("", &shape),
        false => file.constant(&shape, Stored::F32, drawn(shape.iter().product()).into_iter()),
    });
    let inputs: Vec<&Port> = [&x, &h].into_iter().chain(&tensors).collect();
    let data = "hidden_size=\"9\" activations=\"relu\"";
    let y = file.operations("RNNCell", "opset3", data, &inputs, &[vec![1, 9]]).remove(0);
    file.result(&y);
    let x = file.parameter("plane", &WINDOWS[0].x());
    WINDOWS[0].push(&mut file, &x, drawn);
    compiled(
        &format!("size_{weights:e}"),
        file,
        Options::default().with_precision(Some(precision)),
        7,
    )
}

/// Weights and inputs of every magnitude: if a product with a scale may overflow, there is no
/// bound; underflow is within the bound.
#[test]
fn bounds_hold_for_weights_and_inputs_of_any_size() {
    const SIZES: [f32; 8] = [1e-45, 1e-43, 1e-38, 1e-30, 1.0, 1e30, 1e34, 3e38];
    let near = |size: f32| (1e-10..=1e30).contains(&size);
    for (precision, _) in INTEGERS {
        for (weights, given) in
            SIZES.into_iter().flat_map(|weights| [(weights, true), (weights, false)])
        {
            let subject = of_size(precision, weights, given);
            for x in SIZES {
                let mut random = Random::new(3);
                let values = |parameter: &Parameter| {
                    let size = if parameter.weight { weights } else { x };
                    let drawn = random.even(parameter.shape.iter().product(), 1.0);
                    drawn.into_iter().map(|v| v * size).collect::<Vec<_>>()
                };
                let call: Vec<_> = subject.model().parameters.iter().map(values).collect();
                let compared = Compared::step(&subject, 0, &call, &mut subject.variables());
                for (at, found, right, limit) in compared.elements() {
                    let holds = limit == f64::INFINITY || (found - right).abs() <= limit;
                    let what = format!("{precision:?}, weights {weights:e}, x {x:e}, {at:?}");
                    assert!(holds, "{what}: {found:e}, not {right:e}, bound {limit:e}");
                    let is_claimed =
                        !near(weights) || !near(x) || weights * x > 1e31 || limit.is_finite();
                    assert!(is_claimed, "{what}: no bound");
                }
            }
        }
    }
}

/// The reason why a depthwise convolution stays f32 beside a cell with run-time weights.
const GIVEN: &str = "a model with weights that are given at run time";

/// A depthwise convolution that stays f32 is listed with the reason if integers are requested for
/// the model, and refused if integers are requested for this layer.
#[test]
fn convolutions_that_stay_f32_say_so() {
    for (size, taps, stride, why) in [
        (40, 9, 2, "windows with strides"),
        (9, 4, 1, "fewer than 8 positions"),
        (40, 1, 1, "windows of one element"),
        (40, 9, 1, GIVEN),
    ] {
        let mut file = ModelFile::default();
        if why == GIVEN {
            let inputs = [[1, 3], [1, 4], [4, 3], [4, 4]].map(|shape| file.parameter("", &shape));
            let bias = file.parameter("", &[4]);
            let ports: Vec<_> = inputs.iter().chain([&bias]).collect();
            let h = file.cell("cell", "RNNCell", "", &ports);
            file.result(&h);
        }
        let x = file.parameter("x", &[1, 6, size]);
        let w = file.constant(
            &[6, 1, 1, taps],
            Stored::F32,
            Random::new(1).even(6 * taps, 1.0).into_iter(),
        );
        let data = format!("strides=\"{stride}\" dilations=\"1\" pads_begin=\"0\" pads_end=\"0\"");
        let out = [1, 6, (size - taps) / stride + 1];
        let y = file.operation("GroupConvolution", "opset1", &data, &[&x, &w], &out);
        file.result(&y);
        let weights = Some(("net.bin", file.weights.clone()));
        let model = openvino::read_bytes("net.xml", file.text().as_bytes(), weights)
            .expect("it is read")
            .model;
        let compiled = |precision: Precision, precision_of: Vec<(String, Precision)>| {
            compile(
                &model,
                &Options::default().with_precision(Some(precision)).with_precision_of(precision_of),
            )
        };
        let compilation = compiled(Precision::Int8, Vec::new()).expect("it compiles");
        for language in [Language::Rust, Language::C] {
            compile(
                &model,
                &Options::default().with_precision(Some(Precision::Int8)).with_language(language),
            )
            .expect("it compiles")
            .emit("net");
        }
        let reasons = compilation.model.in_f32_by_reason(|_| true);
        let [(stated, layers)] = &reasons[..] else { panic!("{reasons:?}") };
        let [layer] = layers[..] else { panic!("{layers:?}") };
        let said = format!("Layers that stay f32: \"{layer}\" ({why}).");
        assert!(
            compilation.description.header.join(" ").contains(&said),
            "{said}: {:?}",
            compilation.description.header
        );
        let report = Report::new(&model, &compilation, 0, None);
        assert_eq!(
            (report.in_f32[0].why, &report.in_f32[0].layers),
            (*stated, &vec![layer.to_owned()])
        );
        let in_f32 = compiled(Precision::F32, Vec::new()).expect("it compiles");
        assert!(
            !in_f32.description.header.join(" ").contains("stay f32"),
            "{:?}",
            in_f32.description.header
        );
        compiled(Precision::F32, vec![(layer.to_owned(), Precision::F32)]).expect("it is f32");
        let Err(problems) = compiled(Precision::F32, vec![(layer.to_owned(), Precision::Int16)])
        else {
            panic!("{why}")
        };
        let said = format!("\"{layer}\", which stays f32 ({why})");
        assert!(problems.to_string().contains(&said), "{problems}");
    }
}

/// The header states the bytes of weights, and `inspect` reports precisions that are equal.
#[test]
fn depthwise_convolutions_have_16_bits_in_either_precision_of_8() {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &WINDOWS[0].x());
    WINDOWS[0].push(&mut file, &x, |count| Random::new(1).even(count, 1.0));
    let weights = Some(("net.bin", file.weights.clone()));
    let model =
        openvino::read_bytes("net.xml", file.text().as_bytes(), weights).expect("it is read").model;
    for (precision, said) in [
        (
            Precision::Int8,
            "Weights of depthwise convolutions are rounded as int8 and stored in 16 bits: ",
        ),
        (Precision::Int16, "Weights of depthwise convolutions are stored as int16: "),
    ] {
        let compilation = compile(&model, &Options::default().with_precision(Some(precision)))
            .expect("it compiles");
        assert!(
            compilation.description.header.join(" ").contains(said),
            "{:?}",
            compilation.description.header
        );
        let precisions = Report::new(&model, &compilation, 0, None).precisions.expect("a table");
        let place =
            |name: &str| precisions.names.iter().position(|own| *own == name).expect("a column");
        let in_8_bits = (place("int8"), place("int8x16"));
        assert_eq!(precisions.same, [in_8_bits]);
        assert!(!precisions.without_gain.contains(&in_8_bits), "{precisions:?}");
    }
}

/// The shapes of x, of the constant and of the result of a product; true if the constant is on the
/// left; true if x, or the constant, is transposed.
type Product = (&'static [usize], &'static [usize], &'static [usize], bool, [bool; 2]);

/// One constant on the left, and several constants on either side, for the batch of the constants,
/// of x, or of both.
const PRODUCTS: [Product; 6] = [
    (&[2, 9, 7], &[5, 9], &[2, 5, 7], true, [false, false]),
    (&[7, 9], &[9, 5], &[5, 7], true, [true, true]),
    (&[3, 4, 9], &[3, 9, 5], &[3, 4, 5], false, [false, false]),
    (&[2, 1, 9, 4], &[3, 5, 9], &[2, 3, 4, 5], false, [true, true]),
    (&[2, 3, 6, 9], &[2, 1, 9, 5], &[2, 3, 6, 5], false, [false, false]),
    (&[9, 4], &[2, 3, 5, 9], &[2, 3, 5, 4], true, [false, false]),
];

/// Products with such constants are dense layers: they have the requested precision, and results
/// near those of f32.
#[test]
fn products_with_constants_on_either_side_multiply_integers() {
    for (k, (x, constant, result, left, [x_turned, constant_turned])) in
        PRODUCTS.into_iter().enumerate()
    {
        let subject_of = |options: Options| {
            let mut random = Random::new(k as u64 + 1);
            let mut file = ModelFile::default();
            let x = file.parameter("x", x);
            let count = constant.iter().product();
            let w = file.constant(constant, Stored::F32, random.even(count, 1.0).into_iter());
            let (factors, [a, b]) = match left {
                true => ([&w, &x], [constant_turned, x_turned]),
                false => ([&x, &w], [x_turned, constant_turned]),
            };
            let data = format!("transpose_a=\"{a}\" transpose_b=\"{b}\"");
            let y = file.operation("MatMul", "opset1", &data, &factors, result);
            file.result(&y);
            compiled(&format!("product_{k}"), file, options, 5)
        };
        let subject =
            |precision: Precision| subject_of(Options::default().with_precision(Some(precision)));
        let in_f32 = subject(Precision::F32);
        // operations of this file have no name
        let precision_of = vec![(String::new(), Precision::F32)];
        let kept = Options::default()
            .with_precision(Some(Precision::Int8))
            .with_precision_of(precision_of);
        let kept = subject_of(kept);
        assert_eq!(kept.interpret(0, &kept.calls[0]), in_f32.interpret(0, &in_f32.calls[0]), "{k}");
        let matrices: usize = constant[..constant.len() - 2].iter().product();
        for (precision, _) in INTEGERS {
            let subject = subject(precision);
            let plan = &subject.compilation.plan;
            let own: Vec<_> =
                plan.products.iter().map(|product| product.arithmetic.name()).collect();
            assert_eq!(own, vec![precision.name(); matrices], "{plan}");
            let call = &subject.calls[0];
            let right = in_f32.interpret(0, call);
            for isa in 0..subject.isas().count() {
                as_asked(&subject, isa, call);
                let found = subject.interpret(isa, call);
                for (found, right) in found.iter().flatten().zip(right.iter().flatten()) {
                    assert!((found - right).abs() < 0.1, "{k} {precision:?}: {found}, not {right}");
                }
            }
        }
    }
}
