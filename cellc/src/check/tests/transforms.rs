//! Gathers and scatters at computed places, Fourier transforms, attention.

use super::operations::{both_ways, counting, gives};
use super::*;
use crate::model::{Dft, GatherNd, SpectralWindow};

/// The output of an operation on counted numbers and on indices.
fn at_places(
    op: &Op,
    shape: &[usize],
    of_indices: &[usize],
    indices: &[f64],
) -> (Vec<usize>, Vec<f64>) {
    let mut graph = Graph::default();
    let x = graph.input_of("x", shape, ElementType::F32);
    let i = graph.input_of("i", of_indices, ElementType::I64);
    let y = graph.op(op.clone(), &[x, i]);
    graph.result("y", y);
    computed(&graph, &[counting(shape), indices.to_vec()]).remove(0)
}

#[test]
fn parts_are_taken_at_places_that_are_known_or_computed() {
    let of = |batch_dims: i64| GatherNd { batch_dims, flattens_batch: false };
    let wide = (
        &[2usize, 2, 4][..],
        &[4.0, 5.0, 6.0, 7.0, 20.0, 21.0, 22.0, 23.0, 16.0, 17.0, 18.0, 19.0, 0.0, 1.0, 2.0, 3.0][..],
    );
    for (gather, of_indices, indices, wanted) in [
        (of(0), &[2usize, 2, 2][..], &[0i64, 1, 1, -1, -1, 1, 0, 0][..], wide),
        (
            of(0),
            &[2, 1],
            &[-1, 0],
            (&[2, 3, 4], &[&counting(&[24])[12..], &counting(&[24])[..12]].concat()),
        ),
        (of(1), &[2, 2], &[2, 1, 0, -1], (&[2], &[9.0, 15.0])),
        (
            of(1),
            &[2, 1, 1],
            &[-1, 1],
            (&[2, 1, 4], &[8.0, 9.0, 10.0, 11.0, 16.0, 17.0, 18.0, 19.0]),
        ),
        (of(2), &[2, 3, 1], &[0, 1, 2, 3, -1, -2], (&[2, 3], &[0.0, 5.0, 10.0, 15.0, 19.0, 22.0])),
        (
            GatherNd { batch_dims: 2, flattens_batch: true },
            &[2, 3, 1],
            &[0, 1, 2, 3, -1, -2],
            (&[6], &[0.0, 5.0, 10.0, 15.0, 19.0, 22.0]),
        ),
    ] {
        let build = |g: &mut Graph, x| {
            let tensor = Tensor::from_i64(of_indices.to_vec(), indices).unwrap();
            let indices = g.tensor(tensor);
            g.op(Op::GatherNd(gather), &[x, indices])
        };
        gives(&[2, 3, 4], build, wanted);
        let numbers: Vec<f64> = indices.iter().map(|&i| i as f64).collect();
        let got = at_places(&Op::GatherNd(gather), &[2, 3, 4], of_indices, &numbers);
        assert_eq!(got, (wanted.0.to_vec(), wanted.1.to_vec()), "{gather:?} {indices:?}");
    }
    // indices beyond an end are clamped
    let got = at_places(&Op::GatherNd(of(0)), &[2, 3], &[2, 2], &[5.0, 1.0, 0.0, -9.0]);
    assert_eq!(got, (vec![2], vec![4.0, 0.0]));
}

#[test]
fn parts_are_replaced_at_places_that_are_computed() {
    for (combine, wanted) in [
        (None, [60.0, 70.0, 2.0, 3.0, 20.0, 30.0]),
        (Some(Binary::Add), [60.0, 71.0, 2.0, 3.0, 24.0, 35.0]),
        (Some(Binary::Maximum), [60.0, 70.0, 2.0, 3.0, 20.0, 30.0]),
    ] {
        let mut graph = Graph::default();
        let x = graph.input_of("x", &[3, 2], ElementType::F32);
        let i = graph.input_of("i", &[2, 1], ElementType::I64);
        let new = graph.floats(&[2, 2], &[20.0, 30.0, 60.0, 70.0]);
        let y = graph.op(Op::ScatterNd { combine }, &[x, i, new]);
        graph.result("y", y);
        let got = computed(&graph, &[counting(&[3, 2]), vec![-1.0, 0.0]]);
        assert_eq!(got, [(vec![3, 2], wanted.to_vec())], "{combine:?}");
    }
}

/// The Fourier transform of complex numbers, by its definition.
fn transform(x: &[[f64; 2]], length: usize, inverse: bool) -> Vec<[f64; 2]> {
    let sign = if inverse { 1.0 } else { -1.0 };
    (0..length)
        .map(|k| {
            let terms = x.iter().take(length).enumerate().map(|(j, [re, im])| {
                let (sine, cosine) =
                    (sign * std::f64::consts::TAU * (j * k) as f64 / length as f64).sin_cos();
                [re * cosine - im * sine, re * sine + im * cosine]
            });
            let sum = terms.fold([0.0, 0.0], |a, b| [a[0] + b[0], a[1] + b[1]]);
            if inverse { sum.map(|v| v / length as f64) } else { sum }
        })
        .collect()
}

#[track_caller]
fn near(got: &[f64], wanted: &[f64]) {
    assert_eq!(got.len(), wanted.len());
    assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-5), "{got:?}\n{wanted:?}");
}

#[test]
fn transforms_of_one_axis() {
    let data: Vec<f64> = (0..10).map(|i| f64::from(i * i % 7) - 2.5).collect();
    let pairs: Vec<[f64; 2]> = data.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
    for length in [3usize, 5, 8] {
        let build = |dft: Dft| {
            move |g: &mut Graph, x| {
                let (axis, length) = (g.int(0), g.int(length as i64));
                vec![g.op(Op::Dft(dft), &[x, axis, length])]
            }
        };
        let of = |inverse: bool, one_sided: bool| Dft { inverse, one_sided, parts_of_real: false };
        for inverse in [false, true] {
            let got = both_ways(&[5, 2], &data, build(of(inverse, false))).remove(0);
            assert_eq!(got.0, [length, 2]);
            near(&got.1, &transform(&pairs, length, inverse).concat());
        }
        let real: Vec<[f64; 2]> = data.iter().map(|&v| [v, 0.0]).collect();
        let spectrum = transform(&real, length, false);
        let half = &spectrum[..length / 2 + 1];
        let got = both_ways(&[10], &data, build(of(false, true))).remove(0);
        assert_eq!(got.0, [length / 2 + 1, 2]);
        near(&got.1, &half.concat());
        // the inverse transform
        let got = both_ways(&[length / 2 + 1, 2], &half.concat(), build(of(true, true))).remove(0);
        assert_eq!(got.0, [length]);
        near(&got.1, &data[..length.min(10)]);
    }
}

#[test]
fn a_transform_has_one_length_for_each_axis() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 4, 2]);
    let (axis, lengths) = (graph.ints(&[1]), graph.ints(&[-1, -1]));
    let op = Op::Dft(Dft { inverse: false, one_sided: false, parts_of_real: false });
    let y = graph.op(op, &[x, axis, lengths]);
    graph.result("y", y);
    let said = core_model(&graph.0, &Options::default()).expect_err("two lengths").to_string();
    assert!(said.contains("the lengths of the transform: [-1, -1] for 1 axis"), "{said}");
}

#[test]
fn transforms_of_several_axes_and_of_an_axis_inside() {
    let of = |inverse: bool| Dft { inverse, one_sided: true, parts_of_real: false };
    let data = counting(&[2, 4, 3]);
    // the transform and its inverse
    let build = |g: &mut Graph, x| {
        let (axes, sizes) = (g.ints(&[0, 2, -2]), g.ints(&[2, 3, 4]));
        let y = g.op(Op::Dft(of(false)), &[x, axes]);
        vec![y, g.op(Op::Dft(of(true)), &[y, axes, sizes])]
    };
    let got = both_ways(&[2, 4, 3], &data, build);
    assert_eq!([&got[0].0[..], &got[1].0], [&[2, 3, 3, 2][..], &[2, 4, 3]]);
    near(&got[0].1[..2], &[data.iter().sum(), 0.0]);
    near(&got[1].1, &data);
}

#[test]
fn frames_have_spectra_with_a_window_that_is_known_or_computed() {
    let data: Vec<f64> = (0..11).map(|i| f64::from(i * i % 5) - 1.5).collect();
    let window = [0.5, 1.0, 0.25, -1.0];
    let wanted: Vec<f64> = (0..3)
        .flat_map(|frame| {
            let part: Vec<[f64; 2]> =
                (0..4).map(|j| [data[frame * 3 + j] * window[j], 0.0]).collect();
            transform(&part, 4, false)[..3].concat()
        })
        .collect();
    let build = |g: &mut Graph, x| {
        let (step, length) = (g.int(3), g.int(4));
        let window = g.floats(&[4], &window.map(|v| v as f32));
        vec![g.op(Op::Stft { one_sided: true }, &[x, step, length, window])]
    };
    let got = both_ways(&[1, 11], &data, build).remove(0);
    assert_eq!(got.0, [1, 3, 3, 2]);
    near(&got.1, &wanted);
    let mut graph = Graph::default();
    let [x, w] = [("x", &[1, 11, 1][..]), ("w", &[4])]
        .map(|(name, shape)| graph.input_of(name, shape, ElementType::F32));
    let (step, length) = (graph.int(3), graph.int(4));
    let y = graph.op(Op::Stft { one_sided: true }, &[x, step, length, w]);
    graph.result("y", y);
    near(&computed(&graph, &[data, window.to_vec()])[0].1, &wanted);
}

#[test]
fn windows_are_constants() {
    let of = |cosines: [f64; 3], periodic: bool, size: i64| {
        let mut graph = Graph::default();
        let size = graph.int(size);
        let y = graph.op(Op::SpectralWindow(SpectralWindow { cosines, periodic }), &[size]);
        graph.result("y", y);
        computed(&graph, &[]).remove(0).1
    };
    near(&of([0.5, -0.5, 0.0], true, 4), &[0.0, 0.5, 1.0, 0.5]);
    near(&of([0.5, -0.5, 0.0], false, 5), &[0.0, 0.5, 1.0, 0.5, 0.0]);
    near(&of([0.42, -0.5, 0.08], false, 3), &[0.0, 1.0, 0.0]);
}

#[test]
fn attention_with_masks() {
    let (queries, keys) = (2, 3);
    let data: Vec<f64> = (0..4).map(|i| f64::from(i) / 2.0 - 0.75).collect();
    let [key, value] = [[0.5f32, -1.0, 1.5, 0.25, -0.5, 2.0], [1.0f32, 2.0, -3.0, 4.0, 0.5, -6.0]];
    let seen = |kind: usize, query: usize, at: usize| match kind {
        0 => 0.0,
        1 if at > query => f64::NEG_INFINITY,
        2 if (query + at) % 2 == 1 => f64::NEG_INFINITY,
        3 => query as f64 - at as f64,
        _ => 0.0,
    };
    for kind in 0..4 {
        for scale in [None, Some(0.3f32)] {
            let build = |g: &mut Graph, x| {
                let (k, v) = (
                    g.floats(&[1, 3, 2], &[key].concat()),
                    g.floats(&[1, 3, 2], &[value].concat()),
                );
                let mask = match kind {
                    2 => g.bytes(&[queries, keys], ElementType::Bool, &[1, 0, 1, 0, 1, 0]),
                    3 => g.floats(&[queries, keys], &[0.0, -1.0, -2.0, 1.0, 0.0, -1.0]),
                    _ => g.floats(&[], &[0.0]),
                };
                let scale = scale.map(|scale| g.floats(&[], &[scale]));
                let inputs: Vec<ValueId> = [x, k, v, mask].into_iter().chain(scale).collect();
                vec![g.op(Op::Attention { causal: kind == 1 }, &inputs)]
            };
            let got = both_ways(&[1, queries, 2], &data, build).remove(0);
            let by = scale.map_or(0.5f64.sqrt(), f64::from);
            let wanted: Vec<f64> = (0..queries)
                .flat_map(|q| {
                    let score = |s: usize| {
                        let product: f64 =
                            (0..2).map(|e| data[q * 2 + e] * f64::from(key[s * 2 + e])).sum();
                        (product * by + seen(kind, q, s)).exp()
                    };
                    let sum: f64 = (0..keys).map(score).sum();
                    (0..2)
                        .map(move |e| {
                            (0..keys).map(|s| score(s) / sum * f64::from(value[s * 2 + e])).sum()
                        })
                        .collect::<Vec<f64>>()
                })
                .collect();
            assert_eq!(got.0, [1, queries, 2]);
            near(&got.1, &wanted);
        }
    }
}
