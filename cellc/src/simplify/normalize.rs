//! Normalizations: means, variances and the arithmetic with them, as reductions and work element by
//! element.

use super::translator::Translator;
use crate::core::{Geometry, Known, counted};
use crate::model::{Activation, Elementwise, Node, Normalization, Reduction, Tensor, shape_text};

const ROOT: Elementwise = Elementwise::Activation(Activation::Sqrt);

impl Translator<'_, '_> {
    pub(super) fn normalize(&mut self, node: &Node, normalization: Normalization) {
        let Some(inputs) = self.inputs(node) else { return };
        if self.floats(node, normalization, &inputs).is_none() {
            return;
        }
        let known = match normalization {
            Normalization::Batch { eps } => self.batch_norm(node, &inputs, eps),
            Normalization::Layer { axis, eps, root_mean_square } => {
                self.layer_norm(node, &inputs, axis, eps, root_mean_square)
            }
            Normalization::Group { groups, eps } => self.group_norm(node, &inputs, groups, eps),
            Normalization::Variance { first, eps, inside, divides } => {
                self.axes_of(node, &inputs, first).and_then(|axes| {
                    self.centred(node, &inputs[0], &axes, divides.then_some((eps, inside)))
                })
            }
            Normalization::Length { eps, adds } => self
                .axes_of(node, &inputs, 0)
                .and_then(|axes| self.unit_length(node, &inputs[0], &axes, eps, adds)),
        };
        if let Some(known) = known {
            self.set(node, 0, known);
        }
    }

    /// True if a normalisation computes each place along this axis of its first input alone.
    pub(super) fn normalizes_inside(
        &self,
        node: &Node,
        normalization: Normalization,
        axis: usize,
    ) -> bool {
        let Some(x) = self.input(node, 0) else { return false };
        let rank = self.shape_of(&x).len() as i64;
        match normalization {
            Normalization::Batch { .. } => axis != 1,
            Normalization::Layer { axis: first, .. } => {
                (axis as i64) < if first < 0 { first + rank } else { first }
            }
            Normalization::Variance { first, .. } if node.inputs.len() < 2 => axis < first,
            Normalization::Variance { .. } | Normalization::Length { .. } => {
                let axes = self.input(node, 1);
                let axes = axes.as_ref().and_then(Known::tensor).and_then(|axes| {
                    (0..axes.len()).map(|at| axes.get_i64(at)).collect::<Option<Vec<i64>>>()
                });
                axes.is_some_and(|axes| axes.iter().all(|&own| own.rem_euclid(rank) != axis as i64))
            }
            Normalization::Group { .. } => axis == 0,
        }
    }

    /// Refuses integers, and a NaN or infinite `eps`.
    fn floats(
        &mut self,
        node: &Node,
        normalization: Normalization,
        inputs: &[Known],
    ) -> Option<()> {
        use Normalization as N;
        let (eps, numbers) = match normalization {
            N::Batch { eps } | N::Layer { eps, .. } | N::Group { eps, .. } => (eps, inputs),
            // the second input is the axes
            N::Variance { eps, .. } | N::Length { eps, .. } => (eps, &inputs[..1]),
        };
        if !(eps.is_finite() && eps >= 0.0) {
            let found = format!("a normalization with an epsilon of {eps}");
            self.error(
                node,
                &node.origin,
                found,
                "a finite number of 0 or more",
                "correct the number",
            );
            return None;
        }
        self.all_floats(node, numbers)
    }

    /// The axes given by the second input, else all from `first` on.
    fn axes_of(&mut self, node: &Node, inputs: &[Known], first: usize) -> Option<Vec<usize>> {
        let rank = self.shape_of(&inputs[0]).len();
        if inputs.len() > 1 {
            let given = self.integers(node, 1, "the axes")?;
            if given.is_empty() {
                let found = "a normalization along no axes";
                self.error(node, &node.origin, found, "one axis or more", "correct the axes");
                return None;
            }
            return self.listed_axes(node, &given, rank);
        }
        if first >= rank {
            let found = format!(
                "a normalization of a tensor of {rank} dimensions along those from {first} on"
            );
            self.error(
                node,
                &node.origin,
                found,
                format!("more than {first}"),
                "reshape the input",
            );
            return None;
        }
        Some((first..rank).collect())
    }

    fn batch_norm(&mut self, node: &Node, inputs: &[Known], eps: f32) -> Option<Known> {
        use Elementwise as E;
        let shape = self.shape_of(&inputs[0]);
        let channels = shape.get(1).copied();
        for known in &inputs[1..] {
            let own = self.shape_of(known);
            if own.len() != 1 || Some(own[0]) != channels {
                let found = format!(
                    "{} for each place along axis 1 of {}",
                    shape_text(&own),
                    shape_text(&shape)
                );
                self.error(node, &node.origin, found, "one number for each", "correct the shapes");
                return None;
            }
        }
        let mut numbers = Vec::new();
        for known in &inputs[1..] {
            numbers.push(self.by_channel(node, known, shape.len())?);
        }
        let [scale, shift, mean, variance] = &numbers[..] else { return None };
        let all = [scale, shift, mean, variance].map(|known| known.tensor().cloned());
        if let [Some(scale), Some(shift), Some(mean), Some(variance)] = all {
            // constants are computed in f64 and rounded once
            let count = scale.len();
            let factor =
                |i: usize| scale.get_f64(i) / (variance.get_f64(i) + f64::from(eps)).sqrt();
            let factors: Vec<f32> = (0..count).map(|i| factor(i) as f32).collect();
            let offset = |i: usize| (shift.get_f64(i) - mean.get_f64(i) * factor(i)) as f32;
            let offsets: Vec<f32> = (0..count).map(offset).collect();
            let element = inputs[0].element();
            let constant = |values: &[f32]| {
                Some(Known::Constant(Tensor::from_f32(scale.shape().to_vec(), values)?, element))
            };
            let scaled =
                self.computed(node, E::Multiply, vec![inputs[0].clone(), constant(&factors)?])?;
            return self.computed(node, E::Add, vec![scaled, constant(&offsets)?]);
        }
        let eps = self.number_like(variance, eps)?;
        let variance = self.computed(node, E::Add, vec![variance.clone(), eps])?;
        let deviation = self.computed(node, ROOT, vec![variance])?;
        let factor = self.computed(node, E::Divide, vec![scale.clone(), deviation])?;
        let centred = self.computed(node, E::Subtract, vec![inputs[0].clone(), mean.clone()])?;
        let scaled = self.computed(node, E::Multiply, vec![centred, factor])?;
        self.computed(node, E::Add, vec![scaled, shift.clone()])
    }

    /// A number for each place along axis 1 of a tensor of that rank.
    fn by_channel(&mut self, node: &Node, known: &Known, rank: usize) -> Option<Known> {
        let mut shape = vec![1; rank];
        shape[1] = self.shape_of(known)[0];
        self.view(node, known, Geometry::reshaped(shape))
    }

    fn layer_norm(
        &mut self,
        node: &Node,
        inputs: &[Known],
        axis: i64,
        eps: f32,
        root_mean_square: bool,
    ) -> Option<Known> {
        use Elementwise as E;
        let rank = self.shape_of(&inputs[0]).len();
        let first = match counted(axis, rank) {
            Some(first) => first,
            None => self.axis(node, axis, rank)?,
        };
        let axes: Vec<usize> = (first..rank).collect();
        let mut value = match root_mean_square {
            false => self.centred(node, &inputs[0], &axes, Some((eps, true)))?,
            true => {
                let squares = self.squared(node, &inputs[0])?;
                let mean = self.reduced(node, Reduction::Mean, &squares, &axes, true)?;
                let deviation = self.root(node, &mean, eps, true)?;
                self.computed(node, E::Divide, vec![inputs[0].clone(), deviation])?
            }
        };
        for (known, function) in inputs[1..].iter().zip([E::Multiply, E::Add]) {
            let before = self.shape_of(&value);
            value = self.computed(node, function, vec![value, known.clone()])?;
            let after = self.shape_of(&value);
            if after != before {
                let found = format!(
                    "a scale or shift that makes {} of {}",
                    shape_text(&after),
                    shape_text(&before)
                );
                self.error(
                    node,
                    &node.origin,
                    found,
                    "one that broadcasts to the input",
                    "correct the shapes",
                );
                return None;
            }
        }
        Some(value)
    }

    fn group_norm(
        &mut self,
        node: &Node,
        inputs: &[Known],
        groups: usize,
        eps: f32,
    ) -> Option<Known> {
        use Elementwise as E;
        let shape = self.shape_of(&inputs[0]);
        let channels = shape.get(1).copied().filter(|_| shape.len() > 2).unwrap_or_default();
        let groups = if groups == 0 { channels } else { groups };
        if groups == 0 || channels % groups != 0 {
            let found =
                format!("{groups} groups of the places along axis 1 of {}", shape_text(&shape));
            let valid = "three dimensions or more, and as many groups as divide axis 1";
            self.error(node, &node.origin, found, valid, "correct the number of groups");
            return None;
        }
        let mut numbers = Vec::new();
        for known in &inputs[1..] {
            let own = self.shape_of(known);
            let per_group = own == [groups] && groups != channels;
            if !per_group && own != [channels] {
                let found = format!(
                    "scale or shift of shape {} for {}",
                    shape_text(&own),
                    shape_text(&shape)
                );
                self.error(
                    node,
                    &node.origin,
                    found,
                    format!("[{channels}] or [{groups}]"),
                    "correct the shape",
                );
                return None;
            }
            let mut known = known.clone();
            if per_group {
                let each = Geometry {
                    offset: 0,
                    strides: vec![1, 0],
                    shape: vec![groups, channels / groups],
                };
                known = self.view(node, &known, each)?;
                known = self.view(node, &known, Geometry::reshaped(vec![channels]))?;
            }
            numbers.push(self.by_channel(node, &known, shape.len())?);
        }
        // each group becomes a row
        let rest: usize = shape[1..].iter().product::<usize>() / groups;
        let rows = self.view(node, &inputs[0], Geometry::reshaped(vec![shape[0], groups, rest]))?;
        let value = self.centred(node, &rows, &[2], Some((eps, true)))?;
        let value = self.view(node, &value, Geometry::reshaped(shape))?;
        let scaled = self.computed(node, E::Multiply, vec![value, numbers[0].clone()])?;
        self.computed(node, E::Add, vec![scaled, numbers[1].clone()])
    }

    /// A tensor minus its mean along axes, divided by the standard deviation if `eps` is given. The
    /// truth value of `eps` is true if `eps` is added to the variance, not to the deviation.
    fn centred(
        &mut self,
        node: &Node,
        input: &Known,
        axes: &[usize],
        divides: Option<(f32, bool)>,
    ) -> Option<Known> {
        use Elementwise as E;
        let mean = self.reduced(node, Reduction::Mean, input, axes, true)?;
        let centred = self.computed(node, E::Subtract, vec![input.clone(), mean])?;
        let Some((eps, inside)) = divides else { return Some(centred) };
        let squares = self.squared(node, &centred)?;
        let variance = self.reduced(node, Reduction::Mean, &squares, axes, true)?;
        let deviation = self.root(node, &variance, eps, inside)?;
        self.computed(node, E::Divide, vec![centred, deviation])
    }

    /// The root of a sum; `eps` is added to the sum or to the root.
    fn root(&mut self, node: &Node, sum: &Known, eps: f32, inside: bool) -> Option<Known> {
        let eps = self.number_like(sum, eps)?;
        let under = match inside {
            true => self.computed(node, Elementwise::Add, vec![sum.clone(), eps.clone()])?,
            false => sum.clone(),
        };
        let root = self.computed(node, ROOT, vec![under])?;
        if inside { Some(root) } else { self.computed(node, Elementwise::Add, vec![root, eps]) }
    }

    fn unit_length(
        &mut self,
        node: &Node,
        input: &Known,
        axes: &[usize],
        eps: f32,
        adds: bool,
    ) -> Option<Known> {
        let sum = self.reduced(node, Reduction::SumSquare, input, axes, true)?;
        let length = match adds {
            true => self.root(node, &sum, eps, true)?,
            false => {
                let eps = self.number_like(&sum, eps)?;
                let sum = self.computed(node, Elementwise::Maximum, vec![sum, eps])?;
                self.computed(node, ROOT, vec![sum])?
            }
        };
        self.computed(node, Elementwise::Divide, vec![input.clone(), length])
    }
}
