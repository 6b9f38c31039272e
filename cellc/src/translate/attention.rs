//! Scaled dot-product attention, composed of products, a mask and a softmax.

use super::elementwise::compute;
use super::matmul::product;
use super::operands::Operands;
use super::operands::shapes_differ;
use super::refusal::Rule;
use super::softmax::softmax_along;
use crate::core::CoreBuilder;
use crate::core::{Geometry, Known, broadcast};
use crate::model::{Binary, ElementType, Primitive};

/// ScaledDotProductAttention. Inputs: query `[.., L, E]`, key `[.., S, E]`, value `[.., S, V]`,
/// mask (booleans, or numbers to add), scale. `causal`: true for a causal mask in place of the
/// input.
pub(super) fn attention(core: &mut CoreBuilder, args: &Operands, causal: bool) -> Rule<Known> {
    let [query, key, value] = [0, 1, 2].map(|port| args.get(port));
    let (query, key, value) = (query?, key?, value?);
    let shapes = [&query, &key, &value].map(|known| core.shape_of(known));
    if shapes.iter().any(|shape| shape.len() < 2) {
        let valid = "query [.., L, E], key [.., S, E] and value [.., S, V]";
        return Err(shapes_differ(&shapes, valid, "reshape them"));
    }
    let scale = match args.len() {
        5 => args.get(4)?,
        _ => {
            let width = shapes[0][shapes[0].len() - 1] as f64;
            Known::number_like(&query, (1.0 / width.sqrt()) as f32)
        }
    };
    if core.shape_of(&scale).iter().product::<usize>() != 1 {
        let shape = core.shape_of(&scale);
        return Err(shapes_differ(&[shape], "a scale of one number", "correct the scale"));
    }
    let scores = product(core, &[query, key], false, true)?;
    let shape = core.shape_of(&scores);
    let scale = core.view(&scale, Geometry::reshaped(Vec::new()))?;
    let mut scores = compute(core, Binary::Multiply, vec![scores, scale])?;
    if causal {
        let mask = causal_mask(core, shape[shape.len() - 2], shape[shape.len() - 1])?;
        scores = masked(core, scores, mask)?;
    } else if args.len() > 3 {
        let mask = args.get(3)?;
        let of_mask = core.shape_of(&mask);
        if broadcast([&shape[..], &of_mask]).as_ref() != Some(&shape) {
            let valid = "a mask that broadcasts to [.., L, S]";
            return Err(shapes_differ(&[shape, of_mask], valid, "correct the mask"));
        }
        scores = masked(core, scores, mask)?;
    }
    let weights = softmax_along(core, &scores, shape.len() - 1, false)?;
    product(core, &[weights, value], false, false)
}

/// The masked scores. A mask of booleans sets scores to minus infinity where the mask is false. A
/// mask of numbers is added to the scores.
fn masked(core: &mut CoreBuilder, scores: Known, mask: Known) -> Rule<Known> {
    if mask.element() != ElementType::Bool {
        return compute(core, Binary::Add, vec![scores, mask]);
    }
    let none = Known::number_like(&scores, f32::NEG_INFINITY);
    compute(core, Primitive::Select, vec![mask, scores, none])
}

/// A mask that is true for the keys 0 to `i` of query `i`.
fn causal_mask(core: &mut CoreBuilder, queries: usize, keys: usize) -> Rule<Known> {
    let shape = vec![queries, keys];
    core.foldable(&shape, ElementType::Bool)?;
    let seen: Vec<i64> = (0..queries * keys).map(|at| i64::from(at % keys <= at / keys)).collect();
    Ok(Known::integers(shape, &seen, ElementType::Bool))
}
