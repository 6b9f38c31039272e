//! Operations that move elements (blocks, reversed sequences, resizing), normalization, einsum and
//! powers.

use super::choices::Choices;
use super::drawing::{Drawing, Item, integers};
use crate::model_file::{Port, Stored};

impl Drawing {
    pub(super) fn blocks(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let axes = choices.pick("axes", &[2, 1, 3]);
        let size = choices.pick("size", &[2, 1, 3]).min(if axes == 3 { 2 } else { 3 });
        let power: usize = std::iter::repeat_n(size, axes).product();
        let (batch, channels) =
            (choices.pick("batch", &[1, 2]), choices.pick("channels", &[1, 2, 3]));
        let spatial: Vec<usize> = (0..axes).map(|_| choices.pick("spatial", &[2, 1, 3])).collect();
        let mode = choices.pick("mode", &["blocks_first", "depth_first"]);
        let narrow = [&[batch, channels * power], &spatial[..]].concat();
        let wide: Vec<usize> =
            [batch, channels].into_iter().chain(spatial.iter().map(|n| n * size)).collect();
        let (kind, from, to) = match choices.one_in("to_depth", 2) {
            true => ("SpaceToDepth", wide, narrow),
            false => ("DepthToSpace", narrow, wide),
        };
        let x = self.fit(&port, &from);
        let data = format!("mode=\"{mode}\" block_size=\"{size}\"");
        let port = self.file.operation(kind, "opset1", &data, &[&x], &to);
        self.push(port, most);
    }

    /// Reverses the first elements of every sequence.
    pub(super) fn reversed(&mut self, choices: &mut Choices<'_>, Item { mut port, most }: Item) {
        if port.shape.len() == 1 {
            port = self.fit(&port, &[2, 5]);
        }
        let rank = port.shape.len();
        let batch = choices.below("batch_axis", rank);
        let steps = (batch + 1 + choices.below("behind", rank - 1)) % rank;
        let sequences = port.shape[batch];
        let lengths = if self.level == 0 && choices.one_in("at_run_time", 2) {
            self.whole(choices, &[sequences])
        } else {
            let lengths: Vec<i64> = (0..sequences)
                .map(|_| choices.below("length", port.shape[steps] + 1) as i64)
                .collect();
            self.file.integers(&[sequences], &lengths)
        };
        let data = format!("batch_axis=\"{batch}\" seq_axis=\"{steps}\"");
        let port = self.file.operation(
            "ReverseSequence",
            "opset1",
            &data,
            &[&port, &lengths],
            &port.shape.clone(),
        );
        self.push(port, most);
    }

    pub(super) fn resized(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let x = self.channels_first(choices, &port);
        let mode = choices.pick("mode", &["nearest", "linear_onnx", "cubic"]);
        let scalings = [
            "half_pixel",
            "asymmetric",
            "align_corners",
            "pytorch_half_pixel",
            "tf_half_pixel_for_nn",
        ];
        let scaling = choices.pick("scaling", &scalings);
        let nearest = choices.pick(
            "nearest",
            &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"],
        );
        // engines do not agree on align_corners by factors, except for the nearest element
        let by_size =
            choices.one_in("by_size", 2) || scaling == "align_corners" && mode != "nearest";
        let first = 2 + choices.below("first", x.shape.len() - 2);
        let axes: Vec<usize> = (first..x.shape.len()).collect();
        let mut shape = x.shape.clone();
        let mut factors = Vec::new();
        for &axis in &axes {
            let size = shape[axis];
            if by_size {
                shape[axis] = choices.pick("size", &[9, 3, 1, size, 2 * size]);
                factors.push(shape[axis] as f32 / size as f32);
            } else {
                let factor = choices.pick("factor", &[2.0, 0.5, 1.5, 3.0, 1.4, 0.75]);
                shape[axis] = (factor * size as f32) as usize;
                factors.push(factor);
            }
        }
        let sizes: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
        let [sizes, on] =
            [sizes, axes].map(|all| self.file.integers(&[all.len()], &integers(&all)));
        let factors = self.file.constant(&[factors.len()], Stored::F32, factors.into_iter());
        let by = if by_size { "sizes" } else { "scales" };
        let data = format!(
            "mode=\"{mode}\" coordinate_transformation_mode=\"{scaling}\" nearest_mode=\"{nearest}\" shape_calculation_mode=\"{by}\""
        );
        let port = match choices.one_in("opset4", 2) {
            true => self.file.operation(
                "Interpolate",
                "opset4",
                &data,
                &[&x, &sizes, &factors, &on],
                &shape,
            ),
            false => {
                let to = if by_size { &sizes } else { &factors };
                self.file.operation("Interpolate", "opset11", &data, &[&x, to, &on], &shape)
            }
        };
        self.push(port, if mode == "cubic" { 2.0 * most } else { most });
    }

    /// Normalizes with constants for each channel, in groups of channels, or by the length of
    /// vectors.
    pub(super) fn normalized(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let x = self.channels_first(choices, &port);
        let (shape, channels) = (x.shape.clone(), x.shape[1]);
        let mut numbers = |drawing: &mut Self| drawing.constant(choices, &[channels], 1.0);
        let [scale, shift, mean, spread] = [(); 4].map(|()| numbers(self));
        let (port, most) = match choices.pick("kind", &["Batch", "Group", "Length"]) {
            "Batch" => {
                let least = self.number(0.25);
                let positive = self.plain("Abs", &spread);
                let variance =
                    self.file.operation("Add", "opset1", "", &[&positive, &least], &[channels]);
                let inputs = [&x, &scale, &shift, &mean, &variance];
                let data = "epsilon=\"0.01\"";
                (
                    self.file.operation("BatchNormInference", "opset5", data, &inputs, &shape),
                    2.0 * most + 3.0,
                )
            }
            "Group" => {
                let divisors: Vec<usize> =
                    (1..=channels).filter(|n| channels.is_multiple_of(*n)).collect();
                let groups = choices.pick("groups", &divisors);
                let data = format!("num_groups=\"{groups}\" epsilon=\"0.1\"");
                (
                    self.file.operation(
                        "GroupNormalization",
                        "opset12",
                        &data,
                        &[&x, &scale, &shift],
                        &shape,
                    ),
                    20.0,
                )
            }
            _ => {
                let axes = choices.pick("axes", &[&[1][..], &[-1], &[1, 2]]);
                let axes = self.file.integers(&[axes.len()], axes);
                let mode = choices.pick("mode", &["add", "max"]);
                let data = format!("eps=\"0.01\" eps_mode=\"{mode}\"");
                (self.file.operation("NormalizeL2", "opset1", &data, &[&x, &axes], &shape), 1.0)
            }
        };
        self.push(port, most);
    }

    pub(super) fn einsum(&mut self, choices: &mut Choices<'_>, first: Item) {
        let equations = [
            "ab,bc->ac",
            "abc,adc->abd",
            "ab,ab->a",
            "a,b->ab",
            "abc->cab",
            "ab->a",
            "ab,cb,c->ac",
        ];
        let equation = choices.pick("equation", &equations);
        let sizes: Vec<usize> = (0..4).map(|_| choices.pick("size", &[3, 1, 2, 5, 8])).collect();
        let shape = |letters: &str| {
            letters.bytes().map(|letter| sizes[usize::from(letter - b'a')]).collect::<Vec<_>>()
        };
        let (from, to) = equation.split_once("->").expect("an arrow");
        let (mut ports, mut most): (Vec<Port>, f32) = (Vec::new(), 64.0);
        for letters in from.split(',') {
            let item = if ports.is_empty() { first.clone() } else { self.item(choices) };
            most *= item.most;
            ports.push(self.fit(&item.port, &shape(letters)));
        }
        let inputs: Vec<&Port> = ports.iter().collect();
        let data = format!("equation=\"{}\"", equation.replace('>', "&gt;"));
        let port = self.file.operation("Einsum", "opset7", &data, &inputs, &shape(to));
        self.push(port, most);
    }

    /// A power with a constant or a computed exponent.
    pub(super) fn power(&mut self, choices: &mut Choices<'_>, Item { port, .. }: Item) {
        let shape = port.shape.clone();
        let near = self.file.operation("Clamp", "opset1", "min=\"-3\" max=\"3\"", &[&port], &shape);
        let (half, size) = (self.number(0.5), self.plain("Abs", &near));
        let positive = self.file.operation("Add", "opset1", "", &[&size, &half], &shape);
        let exponents =
            [Some(2.0), Some(3.0), Some(0.5), Some(-1.0), Some(1.5), Some(-0.3), Some(2.4), None];
        let (base, exponent) = match choices.pick("exponent", &exponents) {
            Some(whole @ (2.0 | 3.0)) => (near, self.number(whole)),
            Some(other) => (positive, self.number(other)),
            None => {
                let other = self.item(choices);
                let other = self.fit(&other.port, &shape);
                (positive, self.plain("Tanh", &other))
            }
        };
        let port = self.file.operation("Power", "opset1", "", &[&base, &exponent], &shape);
        self.push(port, 27.0);
    }
}
