//! One layer of a WaveNet.

use super::super::super::causal::{Causal, Conv, ConvSizes, Signal, total};
use super::super::functions::Function;
use super::super::weights::Weights;

/// The use of the second half of a layer's channels.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Gate {
    /// There is no second half.
    None,
    /// The first half is multiplied by the function of the second.
    Gated(Function),
    /// The function of the second half says how much of the first half passes the activation.
    Blended(Function),
}

/// The places at which the condition scales, and possibly shifts, the channels, in the order of the
/// weights.
pub(super) const FILMS: [&str; 8] = [
    "conv_pre_film",
    "conv_post_film",
    "input_mixin_pre_film",
    "input_mixin_post_film",
    "activation_pre_film",
    "activation_post_film",
    "layer1x1_post_film",
    "head1x1_post_film",
];

/// A scale, and possibly a shift, of each channel by the condition ("feature-wise linear
/// modulation").
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Film {
    /// From the condition to the scales, then the shifts.
    pub projection: ConvSizes,
    pub shift: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    /// The dilated convolution.
    pub conv: ConvSizes,
    /// From the condition to the outputs of `conv`.
    pub mixin: ConvSizes,
    /// From the activation to the next layer.
    pub layer1x1: ConvSizes,
    /// From the activation to the head. `None`: unchanged.
    pub head1x1: Option<ConvSizes>,
    /// By place of [`FILMS`].
    pub films: [Option<Film>; FILMS.len()],
    pub activation: Function,
    pub gate: Gate,
}

/// The projection of a [`Film`], with weights.
struct FilmWeights {
    projection: Conv,
    shift: bool,
}

impl Layer {
    /// The number of weights of the layer.
    pub(super) fn weights(&self) -> u64 {
        let convs = [self.conv, self.mixin, self.layer1x1].into_iter().chain(self.head1x1);
        let films = self.films.iter().flatten().map(|film| film.projection);
        total(convs.chain(films).map(ConvSizes::weights))
    }

    /// Adds the layer. Returns the input of the next layer and the addend of the head.
    pub(super) fn add(
        &self,
        net: &mut Causal,
        name: &str,
        weights: &mut Weights,
        x: &Signal,
        condition: &Signal,
    ) -> (Signal, Signal) {
        let [conv, mixin, layer1x1] =
            [self.conv, self.mixin, self.layer1x1].map(|sizes| weights.conv(sizes));
        let head1x1 = self.head1x1.map(|sizes| weights.conv(sizes));
        let films = self.films.map(|film| {
            let film = film?;
            Some(FilmWeights { projection: weights.conv(film.projection), shift: film.shift })
        });
        let film = |net: &mut Causal, key_path: usize, x: Signal| match &films[key_path] {
            Some(film) => film.add(net, &format!("{name}_{}", FILMS[key_path]), &x, condition),
            None => x,
        };
        let at = |part: &str| format!("{name}_{part}");
        let input = film(net, 0, x.clone());
        let convolved = net.convolution(name, &conv, &input);
        let convolved = film(net, 1, convolved);
        let mixed = film(net, 2, condition.clone());
        let mixed = net.convolution(&at("mixin"), &mixin, &mixed);
        let mixed = film(net, 3, mixed);
        let sum = net.add(&at("sum"), &convolved, &mixed);
        let sum = film(net, 4, sum);
        let activated = self.activated(net, name, &sum);
        let activated = film(net, 5, activated);
        let change = net.convolution(&at("1x1"), &layer1x1, &activated);
        let change = film(net, 6, change);
        let next = net.add(&at("out"), x, &change);
        let head = match head1x1 {
            Some(conv) => {
                let head = net.convolution(&at("head_1x1"), &conv, &activated);
                film(net, 7, head)
            }
            None => activated,
        };
        (next, head)
    }

    /// The activation, with the gate.
    fn activated(&self, net: &mut Causal, name: &str, sum: &Signal) -> Signal {
        let at = |part: &str| format!("{name}_{part}");
        let function = match &self.gate {
            Gate::None => return self.activation.add(net, &at("activation"), sum),
            Gate::Gated(function) | Gate::Blended(function) => function,
        };
        let [first, second] = net.halves(&at("gate"), sum);
        let activated = self.activation.add(net, &at("activation"), &first);
        let gate = function.add(net, &at("gate_activation"), &second);
        if let Gate::Gated(_) = self.gate {
            return net.multiply(&at("gated"), &activated, &gate);
        }
        // gate * activated + (1 - gate) * first
        let passed = net.multiply(&at("blend"), &gate, &activated);
        let one = net.number(&at("one"), 1.0, gate.channels());
        let complement = net.subtract(&at("blend_other"), &one, &gate);
        let kept = net.multiply(&at("blend_kept"), &complement, &first);
        net.add(&at("blended"), &passed, &kept)
    }
}

impl FilmWeights {
    fn add(&self, net: &mut Causal, name: &str, x: &Signal, condition: &Signal) -> Signal {
        let projected = net.convolution(name, &self.projection, condition);
        if !self.shift {
            return net.multiply(&format!("{name}_scaled"), x, &projected);
        }
        let [scale, shift] = net.halves(&format!("{name}_parts"), &projected);
        let scaled = net.multiply(&format!("{name}_scaled"), x, &scale);
        net.add(&format!("{name}_shifted"), &scaled, &shift)
    }
}
