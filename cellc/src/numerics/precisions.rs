//! The precision of every product.

use std::collections::BTreeMap;

use super::quantised::{Quantised, quantised};
use crate::core::{CoreModel, CoreNode};
use crate::encoding::{Arithmetic, WeightFormat};
use crate::request::{Numerics, Precision};

/// A tensor whose elements are integers times one scale, up to rounding in f32.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Multiples {
    /// The scale; 1 for integers.
    pub scale: f32,
    /// The least integer.
    pub least: i16,
    /// The largest integer.
    pub most: i16,
    /// Upper limit for the distance of an element from its multiple of the scale; 0 if the scale is
    /// 1.
    pub off: f64,
}

impl Multiples {
    /// The largest magnitude of the integers.
    pub fn magnitude(&self) -> u16 {
        self.least.unsigned_abs().max(self.most.unsigned_abs())
    }

    /// True if signed bytes hold the integers.
    pub fn in_bytes(&self) -> bool {
        self.least >= i8::MIN.into() && self.most <= i8::MAX.into()
    }
}

/// An operand of a layer's matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vector {
    /// The operand x of W, of a dense layer or of a convolution.
    X,
    /// The state h of a cell, without a reset gate applied.
    H,
}

/// The precision of one product: what was asked for, and the integers of a quantised model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProductPrecision {
    /// The precision that was asked for.
    asked: Precision,
    /// The integers that a quantised model multiplies.
    quantised: Option<Quantised>,
}

impl ProductPrecision {
    /// The arithmetic that was asked for. F32 if the product multiplies integers of a quantised
    /// model, with the model's scales: integers need no further rounding.
    pub fn arithmetic(&self) -> Arithmetic {
        if self.has_own_integers() { Arithmetic::F32 } else { self.asked.arithmetic() }
    }

    /// True if the product multiplies integers of the model, with the model's scales, for every
    /// precision that was asked for.
    pub(crate) fn has_own_integers(&self) -> bool {
        self.quantised.as_ref().is_some_and(|quantised| quantised.is_stored() && quantised.has_x())
    }

    /// The format that was asked for, in which f32 products read matrices.
    pub(crate) fn storage(&self) -> WeightFormat {
        self.asked.storage()
    }

    /// The format of matrices for the arithmetic. Disregards the storage of the model's integers.
    pub(crate) fn multiplied(&self) -> WeightFormat {
        self.arithmetic().stored(self.storage())
    }

    /// The format in which the generated file keeps matrices.
    pub(crate) fn stored(&self) -> WeightFormat {
        let format = match &self.quantised {
            Some(quantised) if quantised.is_stored() => quantised.format(),
            _ => self.storage(),
        };
        self.arithmetic().stored(format)
    }

    /// The format of matrices that multiply the model's integers. `None` if the product has no
    /// matrix in 8 bits, or if all scales are 1.
    pub(crate) fn own_format(&self) -> Option<WeightFormat> {
        self.quantised
            .as_ref()
            .filter(|quantised| quantised.is_stored() && quantised.is_scaled())
            .map(Quantised::format)
    }

    /// The quantisation of an operand of length `len`, if the product multiplies the model's
    /// integers.
    pub(crate) fn own(&self, vector: Vector, len: usize) -> Option<Multiples> {
        self.quantised.as_ref()?.in_arithmetic(self.arithmetic(), vector, len)
    }

    /// The quantisation of the operand that a row of weights multiplies: `x` or `h`, by its length.
    /// `None` if the operand is neither or is not quantised.
    pub(crate) fn own_of_row(&self, [x, h]: [Option<usize>; 2]) -> Option<Multiples> {
        let vector = x.map(|len| (Vector::X, len)).or(h.map(|len| (Vector::H, len)));
        vector.and_then(|(vector, len)| self.own(vector, len))
    }
}

/// The precision of every product of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Precisions {
    /// The precision of each operation, by the operation's first value. Empty for
    /// [`Precisions::F32`].
    by_value: BTreeMap<usize, ProductPrecision>,
}

/// The precision of every operation for [`Precisions::F32`].
const F32: &ProductPrecision = &ProductPrecision { asked: Precision::F32, quantised: None };

impl Precisions {
    /// All products in f32.
    pub const F32: Self = Self { by_value: BTreeMap::new() };

    /// The precisions that were asked for, and the integers of a quantised model.
    pub fn new(model: &CoreModel, asked: &Numerics) -> Self {
        let mut products = Self::asked(model, asked);
        for (value, quantised) in quantised(model, asked, &products) {
            products.by_value.entry(value).or_default().quantised = Some(quantised);
        }
        products
    }

    /// The precisions that were asked for, without the integers of a quantised model.
    pub(crate) fn asked(model: &CoreModel, asked: &Numerics) -> Self {
        let default_of = |node: &CoreNode| ProductPrecision {
            asked: asked.precision_in(&node.name),
            quantised: None,
        };
        let nodes = model.all_nodes().into_iter();
        Self {
            by_value: nodes
                .flat_map(|node| node.op.outputs().first().map(|first| (*first, default_of(node))))
                .collect(),
        }
    }

    /// The precision of the operation with this first value.
    ///
    /// # Panics
    /// If the model has no operation with this first value, unless the precisions are
    /// [`Self::F32`].
    pub fn get(&self, value: usize) -> &ProductPrecision {
        if self.by_value.is_empty() {
            return F32;
        }
        self.by_value
            .get(&value)
            .unwrap_or_else(|| panic!("numerics: no operation has the first value {value}"))
    }

    /// True if a matrix of some product has one of these numbers of integers per 32-bit word.
    pub(crate) fn multiply_packed(&self, integers_per_word: &[usize]) -> bool {
        let stored = |precision: &ProductPrecision| {
            [precision.asked.stored(), precision.stored()].map(|format| format.in_word(usize::MAX))
        };
        self.by_value.values().any(|precision| {
            stored(precision).iter().any(|count| integers_per_word.contains(count))
        })
    }

    /// Counts the weights that a quantised model stores in 8 bits: first the weights of products
    /// for which [`Quantised::is_scaled`] is false, then the weights of the other products.
    pub(crate) fn quantised_weights(&self) -> [usize; 2] {
        let mut counts = [0; 2];
        for quantised in self.quantised().filter(|quantised| quantised.is_stored()) {
            counts[usize::from(quantised.is_scaled())] += quantised.count;
        }
        counts
    }

    /// The quantised products.
    pub(crate) fn quantised(&self) -> impl Iterator<Item = &Quantised> {
        self.by_value.values().filter_map(|precision| precision.quantised.as_ref())
    }

    /// These precisions, with f32 asked for all layers except `layer`.
    pub(crate) fn only(&self, model: &CoreModel, layer: &str) -> Self {
        let mut only = self.clone();
        for node in model.all_nodes().into_iter().filter(|node| node.name != layer) {
            only.by_value.entry(node.op.first_value()).or_default().asked = Precision::F32;
        }
        only
    }
}
