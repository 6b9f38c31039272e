//! The bound as text.

use super::{JOINS, Profile};
use crate::activation::{self, Error, exact};
use crate::model::{Activation, CellKind, ResetGate, ValidModel, ValidNode, ValidOp};
use crate::options::Arithmetic;

/// The bound as text, for models whose weights are known at run time only: what `|generated - exact|` of every unit does
/// not exceed in one step.
///
/// Simpler and wider than [`super::bound`]: the gates' ranges are not used. There is one for single steps of RNN and GRU.
pub fn formula(model: &ValidModel, profile: &Profile) -> Vec<String> {
    let covered = |op: &ValidOp| match op {
        ValidOp::Cell(cell) => cell.sequence.is_none() && matches!(cell.kind, CellKind::Rnn | CellKind::Gru(_)),
        _ => false,
    };
    let in_f32 = |node: &ValidNode| {
        node.op.gates().into_iter().all(|gate| profile.products.of(&node.name, gate) == Arithmetic::F32)
    };
    if !model.nodes.iter().all(in_f32) {
        return vec!["none: with weights that are given at run time, only products in f32 have one".to_owned()];
    }
    if !model.nodes.iter().all(|node| covered(&node.op)) {
        return vec![
            "none: with weights that are given at run time, only single steps of RNN and GRU have one".to_owned(),
        ];
    }
    let joins = JOINS + usize::from(!profile.fused);
    let mut lines = vec![
        "u = 2^-24; G(n) = (1+u)^n - 1; for a sum of I terms w x, H terms r v and b:".to_owned(),
        "S = sum |w x| + sum |r v| + |b|,".to_owned(),
        format!(
            "E = G(I+{joins}) sum |w x| + G(H+{joins}) sum |r v| + u |b| + (I+H+9) 2^-149 \
             + (1+G(I+{joins})) sum |w| err(x) + (1+G(H+{joins})) sum |r| err(v)"
        ),
    ];
    let error = |a: Activation| error_text(a, profile);
    let range = |a: Activation| range_text(a, profile);
    for (i, cell) in model.cells().into_iter().enumerate() {
        if model.cells().len() > 1 {
            lines.push(format!("cell {i}, whose inputs err by what the cells before it say:"));
        }
        let f = cell.activations[0];
        let Some(reset) = cell.kind.reset_gate() else {
            lines.push(format!("RNNCell: error <= {}", error(f)));
            continue;
        };
        let g = cell.activations[1];
        let image = activation::image(f, f64::MAX);
        let rest = match (image.least >= 0.0 && image.most <= 1.0, image.most == 1.0) {
            (true, _) => "1".to_owned(),
            (_, true) => "2".to_owned(),
            _ => format!("(1+{})", range(f)),
        };
        lines.push(format!("GRUCell: err(z), err(r) = {}; |z|, |r| <= {}; |1-z| <= {rest}", error(f), range(f)));
        lines.push(match reset {
            ResetGate::BeforeMatMul => format!(
                "v = r h: err(v) = |r| err(h) + |h| err(r) + u |r||h| + 2^-149; err(n) = {}; |n| <= {}",
                error(g),
                range(g)
            ),
            ResetGate::AfterMatMul => format!(
                "n = g(s + r m), m = Rh h + Rbh: S = S_s+E_s + |r| (S_m+E_m), \
                 E = (1+u) (E_s + |r| E_m + err(r) (S_m+E_m)) + {} u S + 2^-148; err(n) = {}; |n| <= {}",
                if profile.fused { 2 } else { 3 },
                error(g),
                range(g)
            ),
        });
        lines.push(format!(
            "error <= (1+u) (|1-z| err(n) + |z| err(h) + err(z) (|h|+|n|) + {} u (|1-z||n| + |z||h|) + 2^-147)",
            if profile.fused { 4 } else { 5 }
        ));
    }
    if profile.flush_below.is_some() {
        let flushed = "and 2^-100, as small states become 0; err(x), err(h) <= 2^-100 of inputs, for the same reason";
        lines.push(flushed.to_owned());
    }
    lines
}

/// What an activation of a sum makes of the sum's error E, as text.
fn error_text(activation: Activation, profile: &Profile) -> String {
    let image = activation::image(activation, f64::from(f32::MAX));
    let own = activation::error(activation, profile.accuracy, profile.fused);
    let mut text = match image.slope {
        1.0 => "E".to_owned(),
        0.25 => "E/4".to_owned(),
        slope => format!("{slope} E"),
    };
    if image.jump > 0.0 {
        text += &format!(" + {}", image.jump);
    }
    let limit = image.least.abs().max(image.most.abs());
    match own.ulp {
        0.0 => {}
        // just below 1 the spacing is u
        ulp if limit == 1.0 => text += &format!(" + {ulp} u"),
        ulp if limit.is_finite() => text += &format!(" + {} u {limit} + 2^-149", 2.0 * ulp),
        ulp => text += &format!(" + {} u ({}) + 2^-149", 2.0 * ulp, range_text(activation, profile)),
    }
    if own.relative > 0.0 {
        // three digits, never below what is stated
        text += &format!(" + {:.2e}", own.relative * 1.0051);
        if limit != 1.0 {
            text += &format!(" ({})", range_text(activation, profile));
        }
    }
    if own.of_argument > 0.0 {
        text += &format!(" + {:e} (S+E)", own.of_argument);
    }
    if own.absolute > 0.0 {
        text += &format!(" + {:e}", own.absolute);
    }
    text
}

/// What the computed activation of a sum does not exceed in magnitude, as text.
fn range_text(activation: Activation, profile: &Profile) -> String {
    let image = activation::image(activation, f64::from(f32::MAX));
    let limit = image.least.abs().max(image.most.abs());
    if limit.is_finite() {
        return limit.to_string();
    }
    let sum = match (image.slope, exact(activation, 0.0).abs()) {
        (1.0, 0.0) => "S+E".to_owned(),
        (slope, 0.0) => format!("{slope} (S+E)"),
        (slope, at_zero) => format!("{slope} (S+E) + {at_zero}"),
    };
    match activation::error(activation, profile.accuracy, profile.fused) {
        Error { ulp: 0.0, relative: 0.0, .. } => sum,
        // wider than what any function without a limit adds
        Error { relative: 0.0, .. } => format!("(1+5u) ({sum}) + 2^-149"),
        Error { relative, .. } => format!("(1+{:.2e}) ({sum}) + 2^-149", relative * 1.0051),
    }
}
