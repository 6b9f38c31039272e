use crate::arch;
use crate::compile::compile_written;
use crate::core::{CoreCell, CoreOp, Dense, PointwiseFunction, Source, WeightSource};
use crate::evaluate::test_models::Written;
use crate::model::{Binary, CellKind, ResetGate};
use crate::pack::Initial;
use crate::random::Random;
use crate::request::{Options, Precision};

const HIDDEN: usize = 16;

/// Elements of W, R and B of a GRU of `HIDDEN` inputs and `HIDDEN` units.
const LENS: [usize; 3] = [3 * HIDDEN * HIDDEN, 3 * HIDDEN * HIDDEN, 3 * HIDDEN];

/// A GRU that is written out for `steps` steps. `weights` gives W, R and B of each step.
fn written_out(
    steps: usize,
    mut weights: impl FnMut(&mut Written) -> [WeightSource; 3],
) -> Written {
    let mut model = Written::default();
    let x = model.parameter(&[1, HIDDEN]);
    let mut h = model.parameter(&[1, HIDDEN]);
    for _ in 0..steps {
        let weights = weights(&mut model);
        let kind = CellKind::Gru(ResetGate::BeforeMatMul);
        let mut cell = CoreCell::new(kind, [1, HIDDEN, HIDDEN], [x, h], weights);
        let out = model.value(&[1, HIDDEN]);
        cell.out.h = Some(out);
        cell.activations = kind.default_activations().to_vec();
        model.push(CoreOp::Cell(cell));
        h = Source::Value(out);
    }
    model.result(h);
    model
}

/// W, R and B with equal values at every call.
fn equal_weights(model: &mut Written) -> [WeightSource; 3] {
    let mut random = Random::new(7);
    LENS.map(|len| model.weight(&[len], &random.even(len, 0.5)))
}

/// Bytes of the baked block of a GRU unrolled over `steps` steps.
fn baked_bytes(
    steps: usize,
    options: &Options,
    weights: impl FnMut(&mut Written) -> [WeightSource; 3],
) -> usize {
    compile_written(written_out(steps, weights).0, options).packed.bytes.len()
}

/// All ways to store weights, for a machine with few instruction sets.
fn stored() -> Vec<Options> {
    let defaults = || Options::default().with_target(&arch::WASM32);
    Precision::ALL.map(|precision| defaults().with_precision(Some(precision))).to_vec()
}

#[test]
fn steps_of_one_cell_share_its_packed_weights() {
    for options in stored() {
        let mut known = None;
        let bytes =
            baked_bytes(3, &options, |model| *known.get_or_insert_with(|| equal_weights(model)));
        assert_eq!(bytes, baked_bytes(1, &options, equal_weights), "{options:?}");
    }
}

#[test]
fn equal_tensors_share_packed_weights_and_others_do_not() {
    for options in stored() {
        let one = baked_bytes(1, &options, equal_weights);
        assert_eq!(baked_bytes(3, &options, equal_weights), one, "{options:?}");
        let mut random = Random::new(8);
        let different =
            |model: &mut Written| LENS.map(|len| model.weight(&[len], &random.even(len, 0.5)));
        assert_eq!(baked_bytes(3, &options, different), 3 * one, "{options:?}");
    }
}

#[test]
fn the_estimate_counts_shared_weights_once() {
    let model = written_out(3, equal_weights);
    let compilation = compile_written(model.0, &Options::default());
    let estimate = &compilation.description.estimate;
    assert_eq!(estimate.weight_bytes, 4 * LENS.iter().sum::<usize>() as u64);
    assert_eq!(
        estimate.constant_bytes + estimate.weight_bytes,
        compilation.packed.bytes.len() as u64
    );
}

#[test]
fn weights_at_run_time_are_packed_once() {
    let packed = |steps| {
        let mut known = None;
        let mut weights = |model: &mut Written| {
            *known.get_or_insert_with(|| {
                LENS.map(|len| {
                    let Source::Parameter(i) = model.parameter(&[len]) else {
                        unreachable!("an input")
                    };
                    model.0.parameters[i].weight = true;
                    WeightSource::Parameter(i)
                })
            })
        };
        let compilation = compile_written(written_out(steps, &mut weights).0, &Options::default());
        let copies = compilation.program.packing.body.len();
        (compilation.packed.run_time_len, copies)
    };
    assert_eq!(packed(3), packed(1));
}

/// A constant of a kernel, an initial state and the weights of a dense layer with one output have
/// equal bits.
#[test]
fn a_constant_shares_the_place_of_weights_with_its_bits() {
    let mut model = Written::default();
    let x = model.parameter(&[1, HIDDEN]);
    let values = Random::new(9).even(HIDDEN, 1.0);
    let constants: Vec<usize> = (0..3).map(|_| model.constant(&[1, HIDDEN], &values)).collect();
    let state = model.variable(&[1, HIDDEN], Some(constants[0]));
    let sum = model.pointwise(
        PointwiseFunction::Binary(Binary::Add),
        &[x, Source::Variable(state)],
        &[1, HIDDEN],
    );
    let sum = model.pointwise(
        PointwiseFunction::Binary(Binary::Add),
        &[sum, Source::Constant(constants[1])],
        &[1, HIDDEN],
    );
    model.0.variables[state].next = Some(sum);
    let out = model.value(&[1, 1]);
    let (w, chains) = (WeightSource::Constant(constants[2]), Dense::chains(HIDDEN, 1));
    let dense =
        Dense { rows: 1, inputs: HIDDEN, outputs: 1, x: sum, w, transposed: false, chains, out };
    model.push(CoreOp::Dense(dense));
    model.result(Source::Value(out));
    let compilation = compile_written(model.0, &Options::default());
    let packed = &compilation.packed;
    assert_eq!(packed.bytes.len(), (4 * HIDDEN).next_multiple_of(64));
    assert_eq!(
        (packed.parts.len(), &packed.initial[..]),
        (2, &[Some(Initial { at: 0, len: HIDDEN, repeat: 1 })][..])
    );
}
