//! Linear attention.

use super::{Domain, Evaluation};
use crate::core::{AttentionSizes, Decay, LinearAttention, PointwiseFunction};
use crate::model::Binary;

/// The operands of one head in one step.
struct Step<'a, V> {
    query: &'a [V],
    key: &'a [V],
    value: &'a [V],
    /// One factor for the head, or one for each element of the key. `None`: no decay.
    decay: Option<&'a [V]>,
    rate: Option<&'a V>,
}

impl<A: Domain> Evaluation<'_, A> {
    pub(super) fn linear_attention(&mut self, attention: &LinearAttention) {
        let AttentionSizes { batch, steps, heads, queries, key, value } = attention.sizes;
        let [query, keys, values] =
            [attention.query, attention.key, attention.value].map(|source| self.get(source));
        let (decay, rate) =
            (attention.decay.map(|d| self.get(d.source())), attention.rate.map(|r| self.get(r)));
        let of_decay = if matches!(attention.decay, Some(Decay::OfKeys(_))) { key } else { 1 };
        let mut state = self.get(attention.state);
        let mut y = vec![self.arithmetic.constant(0.0); batch * steps * heads * queries * value];
        for n in 0..batch {
            for t in 0..steps {
                for h in 0..heads {
                    let at = (n * steps + t) * heads + h;
                    let step = Step {
                        query: &query[at * queries * key..][..queries * key],
                        key: &keys[at * key..][..key],
                        value: &values[at * value..][..value],
                        decay: decay.as_ref().map(|decay| &decay[at * of_decay..][..of_decay]),
                        rate: rate.as_ref().map(|rate| &rate[at]),
                    };
                    let matrix = &mut state[(n * heads + h) * key * value..][..key * value];
                    let y = &mut y[at * queries * value..][..queries * value];
                    self.attention_step(attention, &step, matrix, y);
                }
            }
        }
        for (out, values) in [(attention.y, y), (attention.last, state)] {
            if let Some(out) = out {
                self.values[out] = values;
            }
        }
    }

    /// One step of one head. `matrix` is the state of the head, `[key, value]`.
    fn attention_step(
        &self,
        attention: &LinearAttention,
        step: &Step<'_, A::Value>,
        matrix: &mut [A::Value],
        y: &mut [A::Value],
    ) {
        use Binary::{Add, Multiply, Subtract};
        let of_two = |function: Binary, a: &A::Value, b: &A::Value| {
            self.arithmetic.pointwise(function.into(), &[a.clone(), b.clone()])
        };
        let AttentionSizes { key, value, .. } = attention.sizes;
        let of_keys = step.decay.filter(|_| matches!(attention.decay, Some(Decay::OfKeys(_))));
        let of_head = step.decay.filter(|_| of_keys.is_none()).map(|decay| &decay[0]);
        let mut added = step.value.to_vec();
        if let Some(rate) = step.rate {
            let read: Vec<_> = match of_keys {
                Some(decay) => {
                    step.key.iter().zip(decay).map(|(k, d)| of_two(Multiply, k, d)).collect()
                }
                None => step.key.to_vec(),
            };
            for (j, added) in added.iter_mut().enumerate() {
                let mut old = self.sum_of_rows(attention, matrix, j, &read);
                if let Some(decay) = of_head {
                    old = of_two(Multiply, decay, &old);
                }
                *added = of_two(Multiply, rate, &of_two(Subtract, added, &old));
            }
        }
        for (i, row) in matrix.chunks_exact_mut(value).enumerate() {
            let decay = of_keys.map(|decay| &decay[i]).or(of_head);
            for (element, added) in row.iter_mut().zip(&added) {
                let kept = decay.map_or_else(|| element.clone(), |d| of_two(Multiply, element, d));
                let new = of_two(Add, &of_two(Multiply, &step.key[i], added), &kept);
                *element = self.arithmetic.flushed(new);
            }
        }
        let scale = self.arithmetic.constant(f64::from(attention.scale));
        for (k, y) in y.iter_mut().enumerate() {
            let query = &step.query[k / value * key..][..key];
            let sum = self.sum_of_rows(attention, matrix, k % value, query);
            *y = self.arithmetic.flushed(of_two(Multiply, &scale, &sum));
        }
    }

    /// The dot product of a column of `matrix` and `factors`, in the order of the kernels: several
    /// chains, added pairwise.
    fn sum_of_rows(
        &self,
        attention: &LinearAttention,
        matrix: &[A::Value],
        column: usize,
        factors: &[A::Value],
    ) -> A::Value {
        let chains = attention.chains();
        let rows = factors.len() / chains;
        let chain = |c: usize| {
            let term = |r: usize| {
                let i = r * chains + c;
                (matrix[i * attention.sizes.value + column].clone(), factors[i].clone())
            };
            self.arithmetic.dot((0..rows).map(term))
        };
        let mut sums: Vec<_> = (0..chains).map(chain).collect();
        while sums.len() > 1 {
            let second = sums.split_off(sums.len() / 2);
            let add = |(a, b): (A::Value, A::Value)| {
                self.arithmetic.pointwise(PointwiseFunction::Binary(Binary::Add), &[a, b])
            };
            sums = sums.into_iter().zip(second).map(add).collect();
        }
        sums.remove(0)
    }
}
