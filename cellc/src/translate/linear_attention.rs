//! The translation of linear attention.

use super::elementwise::compute;
use super::operands::{Operands, all_floats, shapes_differ};
use super::refusal::Rule;
use crate::core::{
    AttentionSizes, CoreBuilder, CoreOp, Decay, Geometry, Known, LinearAttention, Source,
};
use crate::model::{self, ElementType, Heads, MathFunction, legal_groups, shape_text};

/// Linear attention. Outputs: `[N, T, heads * V]`, or for [`Heads::Axis`] `[N, T, heads, V]`, with
/// the larger number of heads, and the last state.
pub(super) fn linear_attention(
    core: &mut CoreBuilder,
    args: &Operands,
    attention: &model::LinearAttention,
) -> Rule<Vec<Known>> {
    let inputs = args.all()?;
    all_floats(&inputs)?;
    let sizes = sizes(core, attention, &inputs[..3])?;
    let AttentionSizes { batch, steps, heads, queries, key, value } = sizes;
    let mut rest = inputs[3..].iter();
    let of_state = vec![batch, heads, key, value];
    core.computable(&of_state)?;
    let state = match attention.has_past.then(|| rest.next()).flatten() {
        Some(state) => with_shape(core, state, "a past state", &of_state)?,
        None => {
            core.foldable(&of_state, ElementType::F32)?;
            let zero = Known::number_like(&inputs[0], 0.0);
            let zeros = Geometry { offset: 0, strides: vec![0; 4], shape: of_state.clone() };
            core.view(&zero, zeros)?
        }
    };
    let decay = match attention.rule.has_decay().then(|| rest.next()).flatten() {
        Some(decay) => Some(decay_of(core, decay, sizes)?),
        None => None,
    };
    let rate = match attention.rule.has_rate().then(|| rest.next()).flatten() {
        Some(rate) => Some(rate_of(core, rate, sizes)?),
        None => None,
    };
    let [query, keys] = [0, 1].map(|at| of_each_head(core, &inputs[at], sizes));
    let [query, keys, values, state] =
        [&query?, &keys?, &inputs[2], &state].map(|known| core.source(known));
    let of_y = vec![batch, steps, heads * queries * value];
    core.computable(&of_y)?;
    let [y, last] = [of_y, of_state].map(|shape| core.value(shape));
    core.emit(CoreOp::LinearAttention(LinearAttention {
        sizes,
        query: query?,
        key: keys?,
        value: values?,
        state: state?,
        decay,
        rate,
        scale: attention.scale.unwrap_or((1.0 / (key as f64).sqrt()) as f32),
        y: Some(y),
        last: Some(last),
    }));
    let known = |value| Known::Source(Source::Value(value), ElementType::F32);
    let mut y = known(y);
    if attention.heads == Heads::Axis {
        y = core.view(&y, Geometry::reshaped(vec![batch, steps, heads * queries, value]))?;
    }
    Ok(vec![y, known(last)])
}

/// The sizes of a linear attention, from the queries, keys and values.
fn sizes(
    core: &CoreBuilder,
    attention: &model::LinearAttention,
    inputs: &[Known],
) -> Rule<AttentionSizes> {
    let shapes: Vec<_> = inputs.iter().map(|input| core.shape_of(input)).collect();
    let wrong =
        |valid: &str| shapes_differ(&shapes, valid, "correct the shapes, or the numbers of heads");
    let (split, valid): (Vec<_>, _) = match attention.heads {
        Heads::Axis => (
            shapes.iter().map(|shape| <[usize; 4]>::try_from(&shape[..]).ok()).collect(),
            "query [N, T, H, K], key [N, T, H, K] and value [N, T, H, V]".to_owned(),
        ),
        Heads::Joined { queries, keys, .. } => {
            let nouns =
                [(queries, "query element"), (keys, "key element"), (keys, "value element")];
            let by = |(shape, (heads, noun)): (&Vec<usize>, (i64, &str))| {
                let &[rows, steps, width] = &shape[..] else { return Ok(None) };
                let heads = legal_groups("head", heads, &[(width, noun)])?;
                Ok(Some([rows, steps, heads, width / heads]))
            };
            (
                shapes.iter().zip(nouns).map(by).collect::<Rule<_>>()?,
                format!(
                    "query [N, T, {queries} K], key [N, T, {keys} K] and value [N, T, {keys} V]"
                ),
            )
        }
    };
    let [Some(query), Some(key), Some(value)] = split[..] else { return Err(wrong(&valid)) };
    let [batch, steps, heads, of_value] = value;
    let same = [query, key].iter().all(|sizes_of_input| sizes_of_input[..2] == [batch, steps])
        && query[3] == key[3];
    if !same || query[3] == 0 || of_value == 0 {
        return Err(wrong(&valid));
    }
    let numbers = [query, key, value].map(|sizes_of_input| sizes_of_input[2] as i64);
    if let Some(wrong) = attention.heads.wrong_numbers(numbers) {
        return Err(wrong.into());
    }
    let queries = (query[2] / heads).max(1);
    Ok(AttentionSizes { batch, steps, heads, queries, key: key[3], value: of_value })
}

/// A tensor, refused unless its shape is `valid`.
fn with_shape(core: &CoreBuilder, known: &Known, what: &str, valid: &[usize]) -> Rule<Known> {
    let shape = core.shape_of(known);
    if shape != valid {
        let valid = format!("{what} of {}", shape_text(valid));
        return Err(shapes_differ(&[shape], &valid, "correct its shape"));
    }
    Ok(known.clone())
}

/// The factors of the state from their logarithms.
fn decay_of(core: &mut CoreBuilder, decay: &Known, sizes: AttentionSizes) -> Rule<Decay> {
    let AttentionSizes { batch, steps, heads, key, .. } = sizes;
    let shape = core.shape_of(decay);
    let of_heads = shape == [batch, steps, heads];
    if !of_heads && shape != [batch, steps, heads * key] {
        let [one, other] = [heads, heads * key].map(|width| shape_text(&[batch, steps, width]));
        let valid = format!("a decay of {one} or {other}");
        return Err(shapes_differ(&[shape], &valid, "correct its shape"));
    }
    let factors = compute(core, MathFunction::Exp, vec![decay.clone()])?;
    let source = core.source(&factors)?;
    Ok(if of_heads { Decay::OfHeads(source) } else { Decay::OfKeys(source) })
}

/// The rate of each head. One rate for all heads is repeated.
fn rate_of(core: &mut CoreBuilder, rate: &Known, sizes: AttentionSizes) -> Rule<Source> {
    let AttentionSizes { batch, steps, heads, .. } = sizes;
    let of_all = vec![batch, steps, heads];
    if core.shape_of(rate) != [batch, steps, 1] {
        let rate = with_shape(core, rate, "a beta", &of_all)?;
        return Ok(core.source(&rate)?);
    }
    let strides = vec![steps as isize, 1, 0];
    let rate = core.view(rate, Geometry { offset: 0, strides, shape: of_all })?;
    Ok(core.source(&rate)?)
}

/// Queries or keys with at least one head for every matrix. Neighbouring matrices that share a head
/// get copies of the head.
fn of_each_head(core: &mut CoreBuilder, known: &Known, sizes: AttentionSizes) -> Rule<Known> {
    let AttentionSizes { batch, steps, heads, key, .. } = sizes;
    let width = core.shape_of(known)[2..].iter().product::<usize>();
    let given = width / key;
    if given >= heads {
        return Ok(known.clone());
    }
    let strides = [steps * width, width, key, 0, 1].map(|stride| stride as isize).to_vec();
    let shape = vec![batch, steps, given, heads / given, key];
    let repeated = core.view(known, Geometry { offset: 0, strides, shape })?;
    Ok(core.view(&repeated, Geometry::reshaped(vec![batch, steps, heads * key]))?)
}
