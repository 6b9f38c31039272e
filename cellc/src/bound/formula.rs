//! The bound as text.

use super::{JOINS, Profile, U};
use crate::activation::{self, Error, exact};
use crate::encoding::INT8_MOST;
use crate::model::{Activation, CellKind, ResetGate, ValidCell, ValidModel, ValidNode, ValidOp};
use crate::options::{Arithmetic, WeightFormat};

/// The bound as text, for models whose weights are known at run time only: what `|generated - exact|` of every unit does
/// not exceed in one step.
///
/// Simpler and wider than [`super::bound`]: the gates' ranges are not used. There is one for single steps of RNN, GRU and LSTM.
pub fn formula(model: &ValidModel, profile: &Profile) -> Vec<String> {
    let covered = |op: &ValidOp| match op {
        ValidOp::Cell(cell) => {
            let is_plain = cell.coupled.is_none() && cell.p.is_none();
            cell.sequence.is_none() && (is_plain || !matches!(cell.kind, CellKind::Lstm)) && !cell.kind.has_attention()
        }
        _ => false,
    };
    if !model.nodes.iter().all(|node| covered(&node.op)) {
        return vec![
            "none: with weights that are given at run time, only single steps of RNN, GRU and plain LSTM have one"
                .to_owned(),
        ];
    }
    let integers = |node: &ValidNode| -> Vec<Arithmetic> {
        let arithmetics = node.op.gates().into_iter().map(|gate| profile.products.of(&node.name, gate));
        arithmetics.filter(|arithmetic| *arithmetic != Arithmetic::F32).collect()
    };
    let any_integers = model.nodes.iter().any(|node| !integers(node).is_empty());
    // sums of integers are multiplied by two scales
    let joins = JOINS + usize::from(!profile.fused) + if any_integers { 2 } else { 0 };
    let rounded = match any_integers {
        true => format!(
            " + (1+G(I+{joins})) (q(w) sum |x| + (sum |w| + I q(w)) q(x)) \
             + (1+G(H+{joins})) (q(r) sum |v| + q(r) sum err(v) + (sum |r| + H q(r)) q(v))"
        ),
        false => String::new(),
    };
    let mut lines = vec![
        "u = 2^-24; G(n) = (1+u)^n - 1; for a sum of I terms w x, H terms r v and b:".to_owned(),
        "S = sum |w x| + sum |r v| + |b|,".to_owned(),
        format!(
            "E = G(I+{joins}) sum |w x| + G(H+{joins}) sum |r v| + u |b| + (I+H+9) 2^-149 \
             + (1+G(I+{joins})) sum |w| err(x) + (1+G(H+{joins})) sum |r| err(v){rounded}"
        ),
    ];
    if any_integers {
        let rounded = "q: what rounding to whole numbers changes at most, of the largest of a row of w and r, of x and v; there is no bound \
                       where sum |w| + I q(w) or sum |r| + H q(r) is 1e34 or more:";
        lines.push(rounded.to_owned());
    }
    let error = |a: Activation| error_text(a, profile);
    let range = |a: Activation| range_text(a, profile);
    let cells = model.nodes.iter().filter_map(|node| match &node.op {
        ValidOp::Cell(cell) => Some((node, cell)),
        _ => None,
    });
    for (i, (node, cell)) in cells.enumerate() {
        if model.nodes.len() > 1 {
            lines.push(format!("cell {i}, whose inputs err by what the cells before it say:"));
        }
        lines.extend(rounding(cell, &integers(node)));
        let f = cell.activations[0];
        if cell.kind == CellKind::Lstm {
            lines.extend(lstm(cell, profile));
            continue;
        }
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
        let of_c = if model.cells().iter().any(|cell| cell.kind == CellKind::Lstm) { ", err(c)" } else { "" };
        lines.push(format!(
            "and 2^-100, as small states become 0; err(x), err(h){of_c} <= 2^-100 of inputs, for the same reason"
        ));
    }
    lines
}

/// Of an LSTM's next c and h.
fn lstm(cell: &ValidCell, profile: &Profile) -> [String; 4] {
    let error = |k: usize| error_text(cell.activations[k], profile);
    let range = |k: usize| range_text(cell.activations[k], profile);
    [
        format!(
            "LSTMCell: err(f), err(i), err(o) = {}; |f|, |i|, |o| <= {}; err(g) = {}; |g| <= {}",
            error(0),
            range(0),
            error(1),
            range(1)
        ),
        format!(
            "error of c <= (1+u) (|f| err(c) + |c| err(f) + |i| err(g) + |g| err(i) + {} u (|f||c| + |i||g|) + 2^-147)",
            if profile.fused { 2 } else { 3 }
        ),
        format!("t of h = o t: S = |f||c| + |i||g|, E = error of c; err(t) = {}; |t| <= {}", error(2), range(2)),
        "error of h <= (1+u) (|o| err(t) + |t| err(o) + u |o||t| + 2^-149)".to_owned(),
    ]
}

/// What rounding to whole numbers changes in a cell whose gates have these arithmetics; the coarsest counts for all.
fn rounding(cell: &ValidCell, integers: &[Arithmetic]) -> Option<String> {
    // half of a whole number, and what is rounded on the way
    let share = |range: f64| (0.5 / range + 4.0 * U) * (1.0 + 4.0 * U);
    let coarsest = |of: &dyn Fn(Arithmetic) -> f64| integers.iter().map(|a| of(*a)).reduce(f64::max);
    let of_row = |len: usize| {
        coarsest(&|arithmetic| match arithmetic.stored(WeightFormat::F32) {
            // a row of equal weights has the smallest range
            WeightFormat::Int16 => {
                let most = Arithmetic::most_in_pairs(len) / len as u32;
                share(f64::from(most.saturating_sub(1).clamp(1, 32_767)))
            }
            _ => share(f64::from(INT8_MOST)),
        })
    };
    let of_vector = |len: usize| coarsest(&|a| a.largest(len).map_or(0.0, |range| share(f64::from(range))));
    let (inputs, units) = (cell.input_size, cell.hidden_size);
    let [w, r, x, v] = [of_row(inputs)?, of_row(units)?, of_vector(inputs)?, of_vector(units)?]
        // three digits, never below
        .map(|share| format!("{:.2e}", share * 1.0051));
    // scales are multiples of 2^-149, and ranges below 2^15
    Some(format!(
        "q(w) = {w} max |w| + 2^-134; q(r) = {r} max |r| + 2^-134; \
         q(x) = {x} max |x| + 2^-100; q(v) = {v} max |v| + {v} max err(v) + 2^-100"
    ))
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
        text += &match own.absolute == (-149f64).exp2() {
            true => " + 2^-149".to_owned(),
            false => format!(" + {:e}", own.absolute),
        };
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
