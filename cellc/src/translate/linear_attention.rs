//! Linear attention.

use super::elementwise::compute;
use super::operands::{Operands, all_floats, shapes_differ};
use super::refusal::{Refusal, Rule};
use crate::core::{
    AttentionSizes, CoreBuilder, CoreOp, Decay, Geometry, Known, LinearAttention, Source,
};
use crate::model::{self, Activation, ElementType, shape_text};

/// Inputs: query `[N, T, query heads * K]`, key `[N, T, heads * K]`, value `[N, T, heads * V]`, then
/// where present decay, rate, and past state `[N, heads, K, V]`. Outputs: `[N, T, heads * V]` with
/// the larger number of heads, and the last state.
pub(super) fn linear_attention(
    core: &mut CoreBuilder,
    args: &Operands,
    of: &model::LinearAttention,
) -> Rule<Vec<Known>> {
    let inputs = args.all()?;
    all_floats(&inputs)?;
    let shapes: Vec<_> = inputs.iter().map(|input| core.shape_of(input)).collect();
    let (sizes, query_heads) = sizes(args, of, &shapes)?;
    let AttentionSizes { batch, steps, heads, key, value, .. } = sizes;
    let mut rest = inputs[3..].iter().zip(&shapes[3..]);
    let decay = match rest.next().filter(|_| of.rule.has_decay()) {
        Some((decay, shape)) => Some(decay_of(core, decay, shape, sizes)?),
        None => None,
    };
    let mut rest = inputs[3 + usize::from(decay.is_some())..].iter();
    let rate = match rest.next().filter(|_| of.rule.has_rate()) {
        Some(rate) => Some(rate_of(core, rate, sizes)?),
        None => None,
    };
    let of_state = vec![batch, heads, key, value];
    let state = match inputs.last().filter(|_| of.has_past) {
        Some(state) => {
            let shape = core.shape_of(state);
            if shape != of_state {
                let valid = format!("a past state of {}", shape_text(&of_state));
                return Err(shapes_differ(&[shape], &valid, "correct its shape"));
            }
            state.clone()
        }
        None => {
            core.foldable(&of_state, ElementType::F32)?;
            let zero = Known::number_like(&inputs[0], 0.0);
            let zeros = Geometry { offset: 0, strides: vec![0; 4], shape: of_state.clone() };
            core.view(&zero, zeros)?
        }
    };
    let query = of_each_head(core, &inputs[0], sizes, query_heads)?;
    let of_y = vec![batch, steps, heads * sizes.queries * value];
    core.computable(&of_y)?;
    core.computable(&of_state)?;
    let [query, key, value, state] =
        [&query, &inputs[1], &inputs[2], &state].map(|known| core.source(known));
    let (query, key, value, state) = (query?, key?, value?, state?);
    let [y, last] = [of_y, of_state].map(|shape| core.value(shape));
    core.emit(CoreOp::LinearAttention(LinearAttention {
        sizes,
        query,
        key,
        value,
        state,
        decay,
        rate,
        scale: of.scale.unwrap_or((1.0 / (sizes.key as f64).sqrt()) as f32),
        y: Some(y),
        last: Some(last),
    }));
    core.note_layer_value(last);
    let known = |value| Known::Source(Source::Value(value), ElementType::F32);
    Ok(vec![known(y), known(last)])
}

/// The sizes, with every head of the queries of its own, and the heads of the queries.
fn sizes(
    args: &Operands,
    of: &model::LinearAttention,
    shapes: &[Vec<usize>],
) -> Rule<(AttentionSizes, usize)> {
    let [query, key, value, ..] = shapes else { return Err(Refusal::Reported) };
    let count = |heads: i64, what: &str| {
        usize::try_from(heads).ok().filter(|heads| *heads > 0).ok_or_else(|| {
            let found = format!("{what}={heads}");
            let origin = args.node.attribute_origin(what);
            Refusal::at(origin, found, "1 or more", "export the model again")
        })
    };
    let query_heads = count(of.query_heads, "q_num_heads")?;
    let heads = count(of.heads, "kv_num_heads")?;
    if !query_heads.is_multiple_of(heads) && !heads.is_multiple_of(query_heads) {
        let found = format!("q_num_heads={query_heads} and kv_num_heads={heads}");
        let origin = args.node.attribute_origin("q_num_heads");
        let valid = "a multiple of kv_num_heads";
        return Err(Refusal::at(origin, found, valid, "export the model again"));
    }
    let of_head = |shape: &[usize], heads: usize| match shape {
        &[_, _, width] if width.is_multiple_of(heads) && width > 0 => Some(width / heads),
        _ => None,
    };
    let fits = of_head(query, query_heads)
        .zip(of_head(value, heads))
        .filter(|(width, _)| of_head(key, heads) == Some(*width))
        .filter(|_| query[..2] == key[..2] && key[..2] == value[..2]);
    let Some((width, of_value)) = fits else {
        let valid = format!(
            "query [N, T, {query_heads} K], key [N, T, {heads} K] and value [N, T, {heads} V]"
        );
        return Err(shapes_differ(&shapes[..3], &valid, "correct the shapes, or the heads"));
    };
    let sizes = AttentionSizes {
        batch: query[0],
        steps: query[1],
        heads,
        queries: (query_heads / heads).max(1),
        key: width,
        value: of_value,
    };
    Ok((sizes, query_heads))
}

/// The factors of the state from their logarithms.
fn decay_of(
    core: &mut CoreBuilder,
    decay: &Known,
    shape: &[usize],
    sizes: AttentionSizes,
) -> Rule<Decay> {
    let AttentionSizes { batch, steps, heads, key, .. } = sizes;
    let with_width = |width: usize| shape == [batch, steps, width];
    let of_heads = with_width(heads);
    if !of_heads && !with_width(heads * key) {
        let valid = format!(
            "a decay of {} or {}",
            shape_text(&[batch, steps, heads]),
            shape_text(&[batch, steps, heads * key])
        );
        return Err(shapes_differ(&[shape.to_vec()], &valid, "correct its shape"));
    }
    let factors = compute(core, Activation::Exp, vec![decay.clone()])?;
    let source = core.source(&factors)?;
    Ok(if of_heads { Decay::OfHeads(source) } else { Decay::OfKeys(source) })
}

/// The rate of each head.
fn rate_of(core: &mut CoreBuilder, rate: &Known, sizes: AttentionSizes) -> Rule<Source> {
    let AttentionSizes { batch, steps, heads, .. } = sizes;
    let shape = core.shape_of(rate);
    let of_all = [batch, steps, heads];
    if shape == of_all {
        return Ok(core.source(rate)?);
    }
    if shape != [batch, steps, 1] {
        let valid =
            format!("a beta of {} or {}", shape_text(&of_all), shape_text(&[batch, steps, 1]));
        return Err(shapes_differ(&[shape], &valid, "correct its shape"));
    }
    let strides = vec![steps as isize, 1, 0];
    let rate = core.view(rate, Geometry { offset: 0, strides, shape: of_all.to_vec() })?;
    Ok(core.source(&rate)?)
}

/// The queries, with a query for every matrix: neighbouring matrices may share one.
fn of_each_head(
    core: &mut CoreBuilder,
    query: &Known,
    sizes: AttentionSizes,
    query_heads: usize,
) -> Rule<Known> {
    let AttentionSizes { batch, steps, heads, key, .. } = sizes;
    if query_heads >= heads {
        return Ok(query.clone());
    }
    let width = query_heads * key;
    let strides = [steps * width, width, key, 0, 1].map(|stride| stride as isize).to_vec();
    let shape = vec![batch, steps, query_heads, heads / query_heads, key];
    let repeated = core.view(query, Geometry { offset: 0, strides, shape })?;
    Ok(core.view(&repeated, Geometry::reshaped(vec![batch, steps, heads * key]))?)
}
