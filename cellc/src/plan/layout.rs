//! The layout of packed weights in memory, part by part.

use super::{Phase, ProductPlan, Sum};
use crate::kernel::{PanelGroup, PanelPart};

impl ProductPlan {
    /// The panels of packed weights, in order. Empty if words hold several weights, if rows hold
    /// several words of a column, or if blocks have an index.
    pub fn layout(&self) -> Vec<PanelGroup> {
        let product = &self.product;
        let is_plain = |phase| product.packed_rows(phase) == product.phase_rows(phase);
        let is_indexed = product.layout.indexed().is_some();
        if is_indexed
            || product.layout.words_together() > 1
            || !Phase::ALL.into_iter().all(is_plain)
        {
            return Vec::new();
        }
        let groups = [false, true]
            .into_iter()
            .flat_map(|late| self.panels.iter().map(move |panels| (late, panels)));
        let groups = groups.map(|(late, panels)| {
            let (mut parts, mut end) = (Vec::new(), 0);
            let mut add = |operand, at, rows: Option<usize>, sums: Vec<&'static str>| {
                if rows == Some(0) || sums.is_empty() {
                    return;
                }
                let shape: Vec<_> = rows.into_iter().chain([sums.len(), panels.columns]).collect();
                debug_assert!(end <= at, "plan: parts of a panel stand one behind the other");
                end = at + shape.iter().product::<usize>();
                parts.push(PanelPart { content: operand, sums, at, shape });
            };
            let names = |is_so: &dyn Fn(&Sum) -> bool| {
                product.sums.iter().filter(|sum| is_so(sum)).map(|sum| sum.name).collect::<Vec<_>>()
            };
            if self.biases == 0 {
                let biases = names(&|sum| sum.is_late() == late && sum.bias.is_some());
                let peepholes = biases.len() * panels.columns;
                add("biases", 0, None, biases);
                add("peepholes", peepholes, None, names(&|sum| !late && sum.peephole.is_some()));
            }
            let phases = match late {
                true => &[(Phase::ResetHidden, panels.late_rows, "weights of r.h")][..],
                false => &[
                    (Phase::Input, panels.input, "weights of x"),
                    (Phase::Hidden, panels.hidden, "weights of h"),
                ],
            };
            for (phase, at, operand) in phases {
                let rows = product.phase_rows(*phase);
                add(operand, *at, Some(rows), names(&|sum| sum.gate(*phase).is_some()));
            }
            PanelGroup { count: panels.count, columns: panels.columns, units: panels.units, parts }
        });
        groups.filter(|group| !group.parts.is_empty()).collect()
    }
}
