//! Products that leave out blocks of zeros give the bits of products with all weights.

use std::path::Path;

use cellc::internals::arch::{AVX_VNNI, AVX2, AVX512, AVX512_VNNI, GENERIC};
use cellc::internals::kernel::{Expr, LaneOp, Stmt};
use cellc::internals::plan::Unrolled;
use cellc::{Language, Options, Precision, Tuning};
use cellc_tests::driver;
use cellc_tests::machines::{BY_HAND, CORTEX_M3, CORTEX_M4F, Machine, Trial};
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random;
use cellc_tests::subject::{Subject, assert_same};
use cellc_tests::tiled::{CALLS, values};

/// Weights of `units` rows and `inputs` columns, gate after gate: of the blocks of 8 rows by 4
/// columns, `zeros` in 10 are zero.
fn pruned(units: usize, inputs: usize, zeros: usize, seed: usize) -> Vec<f32> {
    let is_zero = |row: usize, column: usize| {
        let block = row / 8 * inputs.div_ceil(4) + column / 4;
        (block * 7 + block / 10 * 3 + seed) % 10 < zeros
    };
    let all = values(units * inputs, seed).enumerate();
    all.map(|(at, value)| if is_zero(at / inputs, at % inputs) { 0.0 } else { value }).collect()
}

/// Gates of a cell.
fn gates(kind: &str) -> usize {
    match kind {
        "GRUCell" => 3,
        _ => 1,
    }
}

/// A cell whose W and R have zeros, and a dense layer behind it.
fn model(kind: &str, attributes: &str, [inputs, units]: [usize; 2], zeros: usize) -> ModelFile {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, inputs]);
    let h = file.parameter("h", &[1, units]);
    let rows = gates(kind) * units;
    let biases = if attributes.contains("linear_before_reset") { rows + units } else { rows };
    let w = pruned(rows, inputs, zeros, 1);
    let w = file.constant(&[rows, inputs], Stored::F32, w.into_iter());
    let r = pruned(rows, units, zeros, 2);
    let r = file.constant(&[rows, units], Stored::F32, r.into_iter());
    let b = file.constant(&[biases], Stored::F32, values(biases, 3));
    let new = file.cell("cell", kind, attributes, &[&x, &h, &w, &r, &b]);
    let transposed = "transpose_a=\"false\" transpose_b=\"true\"";
    let outputs = 24;
    let dense = pruned(outputs, units, zeros, 4);
    let dense = file.constant(&[outputs, units], Stored::F32, dense.into_iter());
    let y = file.operation("MatMul", "opset1", transposed, &[&new, &dense], &[1, outputs]);
    file.result(&new);
    file.result(&y);
    file
}

/// Options for a precision: integers on instruction sets with dot products of bytes, floats on
/// those with fused multiply-adds.
fn options(precision: Precision, sparse: bool) -> Options {
    let tuning = Tuning::default().with_sparse(Some(sparse));
    let isas = match precision {
        Precision::Int8 => vec![&GENERIC, &AVX_VNNI, &AVX512_VNNI],
        _ => vec![&GENERIC, &AVX2, &AVX512],
    };
    let options = Options::default().with_precision(Some(precision)).with_isas(Some(isas));
    options.with_tuning(tuning)
}

/// Kinds of cells with sizes of whole blocks, at the edges of panels, and of no whole blocks.
const CASES: [(&str, &str, [usize; 2]); 4] = [
    ("GRUCell", "linear_before_reset=\"true\"", [36, 48]),
    ("GRUCell", "", [32, 40]),
    ("RNNCell", "", [40, 56]),
    ("RNNCell", "", [33, 48]),
];

/// The number of statements outside of loops that multiply and add, in all kernels of an
/// instruction set.
fn products(subject: &Subject, isa: usize) -> usize {
    let is_product = |stmt: &&Stmt| {
        matches!(stmt, Stmt::Set { value: Expr::Op(op, _), .. }
            if op.is_dot() || *op == LaneOp::MulAdd)
    };
    let kernels = subject.compilation.program.bodies[isa].kernels.iter();
    kernels.map(|kernel| kernel.body.iter().filter(is_product).count()).sum()
}

/// The results of a call on an instruction set.
fn results(subject: &Subject, isa: usize, call: &[Vec<f32>]) -> Vec<Vec<f32>> {
    subject.interpret(isa, call)
}

#[test]
fn products_without_zeros_have_the_bits_of_all_weights() {
    let mut subjects = Vec::new();
    let precisions = [Precision::Int8, Precision::F32];
    let zeros = [0, 5, 9, 10];
    for (precision, (at, zeros)) in precisions.into_iter().flat_map(|precision| {
        (0..CASES.len()).flat_map(move |at| zeros.map(|zeros| (precision, (at, zeros))))
    }) {
        let (kind, attributes, sizes) = CASES[at];
        let compiled = |sparse: bool| {
            let name = format!("sparse_{precision:?}_{at}_{zeros}").to_lowercase();
            let file = model(kind, attributes, sizes, zeros);
            random::compiled(&name, file, options(precision, sparse), CALLS)
        };
        let (dense, sparse) = (compiled(false), compiled(true));
        let inputs = if precision == Precision::Int8 { 4 } else { 1 };
        let of_blocks = sizes[0] % inputs == 0;
        let plans = &sparse.compilation.plan.products;
        let leaves_out = plans[0].unrolled == Unrolled::WithoutZeros;
        assert_eq!(leaves_out, zeros > 0 && of_blocks, "{}", sparse.name);
        let last = sparse.isas().count() - 1;
        if leaves_out {
            let full: usize = plans.iter().map(|plan| plan.product.multiply_adds()).sum();
            let (found, blocks) = (products(&sparse, last), full / inputs / 8);
            assert!(found <= blocks * (10 - zeros) / 10 + blocks / 20, "{found} of {blocks}");
        }
        for call in &dense.calls {
            let bits = |subject: &Subject| -> Vec<Vec<u32>> {
                let results = results(subject, last, call).into_iter();
                results
                    .map(|all| all.into_iter().map(cellc_tests::subject::bits).collect())
                    .collect()
            };
            assert_eq!(bits(&dense), bits(&sparse), "{}", sparse.name);
        }
        // a vector that is not finite makes every sum NaN, on every instruction set
        let mut not_finite = dense.calls[0].clone();
        not_finite[0][3] = f32::INFINITY;
        for isa in 0..sparse.isas().count() {
            let is_nan = results(&sparse, isa, &not_finite)[0].iter().all(|v| v.is_nan());
            assert!(is_nan || !leaves_out, "{} on instruction set {isa}", sparse.name);
        }
        subjects.extend((zeros == 5 && of_blocks).then_some(sparse));
    }
    let isas = driver::isas();
    let expected = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for compiler in driver::c_compilers() {
        let found = driver::c(&folder("sparse-c"), &subjects, compiler, &["-std=gnu11", "-O1"]);
        assert_same(compiler, &expected, &found);
    }
    let found = driver::rust(&folder("sparse-rust"), &subjects, &["-Copt-level=1"]);
    assert_same("rust", &expected, &found);
    assert!(subjects.iter().all(|s| !s.files(Language::C).is_empty()));
}

/// Kinds of cells with sizes of whole blocks, and of no whole blocks in any direction.
const CASES_OF_ONE_LANE: [(&str, &str, [usize; 2]); 5] = [
    ("GRUCell", "linear_before_reset=\"true\"", [36, 48]),
    ("GRUCell", "", [33, 42]),
    ("RNNCell", "", [6, 7]),
    ("RNNCell", "", [40, 57]),
    ("GRUCell", "linear_before_reset=\"true\"", [130, 8]),
];

/// Models with blocks of 4 x 4 weights, of which `zeros` in 10 are zero, for a machine.
fn indexed(machine: &Machine, precision: Precision, zeros: usize, is_sparse: bool) -> Vec<Subject> {
    let tuning = Tuning::default().with_sparse(Some(is_sparse));
    let options = (machine.options)().with_precision(Some(precision)).with_tuning(tuning);
    let cases = CASES_OF_ONE_LANE.into_iter().enumerate();
    let compiled = |(at, (kind, attributes, sizes)): (usize, (&str, &str, [usize; 2]))| {
        let name = format!("indexed_{}_{precision:?}_{at}_{zeros}", machine.name);
        let name = name.replace('-', "_").to_lowercase();
        random::compiled(&name, model(kind, attributes, sizes, zeros), options.clone(), CALLS)
    };
    cases.map(compiled).collect()
}

/// True if a product leaves out blocks by an index.
fn has_index(subject: &Subject) -> bool {
    let mut plans = subject.compilation.plan.products.iter();
    plans.any(|plan| plan.product.layout.indexed().is_some())
}

/// Models with an index whose bits are those of all weights, for a machine.
fn with_the_bits_of_all(machine: &Machine, precision: Precision, zeros: usize) -> Vec<Trial> {
    let all = [false, true].map(|is_sparse| indexed(machine, precision, zeros, is_sparse));
    let [dense, sparse] = all;
    let mut trials = Vec::new();
    for (dense, sparse) in dense.iter().zip(sparse) {
        let is_small = sparse.name.contains("_2_");
        assert!(!has_index(dense));
        assert!(has_index(&sparse) || zeros < 9 || is_small, "{}", sparse.name);
        assert!(!has_index(&sparse) || zeros > 0, "{}", sparse.name);
        for call in &dense.calls {
            let bits = |subject: &Subject| -> Vec<Vec<u32>> {
                let bits = |all: Vec<f32>| all.into_iter().map(cellc_tests::subject::bits);
                results(subject, 0, call).into_iter().map(|all| bits(all).collect()).collect()
            };
            assert_eq!(bits(dense), bits(&sparse), "{}", sparse.name);
        }
        let mut not_finite = dense.calls[0].clone();
        not_finite[0][3] = f32::INFINITY;
        let is_nan = results(&sparse, 0, &not_finite)[0].iter().all(|v| v.is_nan());
        let cell = &sparse.compilation.plan.products[0].product;
        assert!(is_nan || cell.layout.indexed().is_none(), "{}", sparse.name);
        trials.extend(has_index(&sparse).then_some(Trial { subject: sparse, rounds: 1 }));
    }
    trials
}

/// Runs models with an index on a machine.
fn run_with_index(machine: &Machine, precisions: &[Precision]) {
    let cases = precisions.iter().flat_map(|precision| [0, 5, 9, 10].map(|n| (*precision, n)));
    let trials: Vec<_> =
        cases.flat_map(|(precision, n)| with_the_bits_of_all(machine, precision, n)).collect();
    assert!(trials.len() > 8 * precisions.len(), "{}", trials.len());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sparse-{}", machine.name));
    if !machine.is_here() {
        return;
    }
    let flags: &[&str] = if machine.rust.is_empty() { &["-std=gnu11", "-O2"] } else { &[] };
    for (trial, tried) in trials.iter().zip(machine.try_all(&folder, &trials, flags)) {
        assert_eq!(trial.expected(&tried.isa), tried.bits, "{}", trial.subject.name);
    }
}

#[test]
fn one_lane_multiplies_the_blocks_of_an_index_alone() {
    let of_integers = [Precision::Int8, Precision::Int8x16, Precision::Int16];
    run_with_index(&CORTEX_M4F, &[&of_integers[..], &[Precision::F32]].concat());
    let in_rust = BY_HAND.iter().find(|machine| machine.name == "cortex-m4f-rust");
    run_with_index(in_rust.expect("a machine for Rust"), &of_integers);
    run_with_index(&CORTEX_M3, &[Precision::Int8, Precision::Int16]);
}

/// A GRU of equally many inputs and units, of whose blocks of 4 x 4 weights a third is not zero.
fn third(units: usize, precision: Precision, is_sparse: bool) -> Trial {
    let mut file = ModelFile::default();
    let [x, h] = ["x", "h"].map(|name| file.parameter(name, &[1, units]));
    let matrix = |seed: usize| {
        let all = values(3 * units * units, seed).enumerate();
        let is_zero = |at: usize| {
            let block = at / units / 4 * (units / 4) + at % units / 4;
            !(block.wrapping_mul(2_654_435_761) / 1024).is_multiple_of(3)
        };
        all.map(move |(at, value)| if is_zero(at) { 0.0 } else { value })
    };
    let shape = [3 * units, units];
    let [w, r] = [1, 2].map(|seed| file.constant(&shape, Stored::F32, matrix(seed)));
    let b = file.constant(&[4 * units], Stored::F32, values(4 * units, 3));
    let reset_after = "linear_before_reset=\"true\"";
    let new = file.cell("cell", "GRUCell", reset_after, &[&x, &h, &w, &r, &b]);
    file.result(&new);
    let tuning = Tuning::default().with_sparse(Some(is_sparse));
    let options = (CORTEX_M4F.options)().with_precision(Some(precision)).with_tuning(tuning);
    let name = format!("third_{units}_{}_{is_sparse}", precision.name());
    let mut subject = random::compiled(&name, file, options, 1);
    subject.calls.truncate(1);
    Trial { subject, rounds: 1 }
}

#[test]
fn a_third_of_the_blocks_takes_less_than_half_of_instructions_and_flash() {
    if !CORTEX_M4F.counts_here() {
        return;
    }
    let cases = [64, 128, 256].into_iter().flat_map(|units| {
        [Precision::Int8, Precision::Int16, Precision::F32].map(|precision| (units, precision))
    });
    // larger matrices of f32 do not fit the machine
    let cases = cases.filter(|(units, precision)| *units < 256 || *precision != Precision::F32);
    let both = |(units, precision)| [false, true].map(|sparse| third(units, precision, sparse));
    let trials: Vec<Trial> = cases.flat_map(both).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sparse-third");
    let costs = CORTEX_M4F.costs(&folder, &trials, &["-std=gnu11", "-O2"]);
    for (pair, costs) in trials.chunks(2).zip(costs.chunks(2)) {
        let bytes = |at: usize| {
            let compilation = &pair[at].subject.compilation;
            let tables = compilation.program.tables.iter();
            let tables: usize = tables.map(|(id, _)| compilation.program.buffer(*id).bytes()).sum();
            compilation.packed.bytes.len() + tables + costs[at].code as usize
        };
        let instructions = |at: usize| costs[at].instructions.expect("QEMU counts them") as usize;
        let (flash, steps) = ([0, 1].map(bytes), [0, 1].map(instructions));
        let name = &pair[1].subject.name;
        println!("{name}: instructions {steps:?}, bytes of flash {flash:?}");
        assert!(flash[1] * 100 <= flash[0] * 48, "{name}: {flash:?}");
        assert!(steps[1] * 100 <= steps[0] * 70, "{name}: {steps:?}");
    }
}
