//! The equations of cells as text: for the header of generated code, for comments above kernels,
//! and for the pages of macros.

use super::{CoreCell, WeightSource};
use crate::model::{CellKind, Coupled, ResetGate};

/// The equations of a cell, one for each gate or state; the last one gives the new states.
/// `activations`: the names of the functions. `clip` formats a sum as the argument of a function.
fn equations(
    kind: CellKind,
    activations: &[impl AsRef<str>],
    clip: impl Fn(&str) -> String,
    coupled: Option<Coupled>,
    peepholes: bool,
) -> Vec<String> {
    let function = |index: usize| activations[index].as_ref();
    let f = function(0);
    match kind {
        CellKind::Rnn => vec![format!("h' = {f}({})", clip("W x + R h + B"))],
        CellKind::Gru(reset) | CellKind::Augru(reset) => {
            let g = function(1);
            let candidate = match reset {
                ResetGate::BeforeMatMul => clip("Wh x + Rh (r.h) + Bh"),
                ResetGate::AfterMatMul => clip("Wh x + Wbh + r.(Rh h + Rbh)"),
            };
            let attention = if kind.has_attention() { "(1 - a)." } else { "" };
            vec![
                format!("z = {attention}{f}({})", clip("Wz x + Rz h + Bz")),
                format!("r = {f}({})", clip("Wr x + Rr h + Br")),
                format!("n = {g}({candidate})"),
                "h' = (1 - z).n + z.h".to_owned(),
            ]
        }
        CellKind::Lstm => {
            let (g, h) = (function(1), function(2));
            let sum = |gate: char| {
                let peephole = match gate {
                    'f' if peepholes => " + Pf.c",
                    'i' if peepholes => " + Pi.c",
                    'o' if peepholes => " + Po.c'",
                    _ => "",
                };
                clip(&format!("W{gate} x + R{gate} h + B{gate}{peephole}"))
            };
            let gate = |name: char, is: Coupled| match coupled {
                Some(gate) if gate == is => gate.equation().to_owned(),
                _ => format!("{name} = {f}({})", sum(name)),
            };
            vec![
                gate('f', Coupled::Forget),
                gate('i', Coupled::Input),
                format!("c~ = {g}({})", sum('c')),
                format!("o = {f}({})", sum('o')),
                format!("c' = f.c + i.c~, h' = o.{h}(c')"),
            ]
        }
    }
}

/// The equations with functions f, g, h and `clip`, for the pages of macros.
pub fn general_equations(kind: CellKind, coupled: Option<Coupled>, peepholes: bool) -> Vec<String> {
    equations(kind, &["f", "g", "h"], |sum| format!("clip({sum})"), coupled, peepholes)
}

impl CoreCell {
    /// The equations with the functions and the clip of the cell, and `with B = 0` if a bias tensor
    /// is missing.
    pub fn equations(&self) -> Vec<String> {
        let activations: Vec<String> =
            self.activations.iter().map(|activation| activation.label()).collect();
        let clip = |sum: &str| match self.clip {
            None => sum.to_string(),
            Some(clip) => format!("clip({sum}, -{clip}, {clip})"),
        };
        let mut lines =
            equations(self.kind, &activations, clip, self.coupled, self.weights.p.is_some());
        if let (true, Some(last)) = (self.weights.b.contains(&WeightSource::Zero), lines.last_mut())
        {
            last.push_str(" with B = 0");
        }
        lines
    }
}
