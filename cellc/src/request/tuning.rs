//! Decisions of the planner that users make.

use super::{CommandWords, Options};

/// How far to unroll loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unroll {
    /// Fully if the planner's limit allows, else tiled loops; on x86, loops over weights from the
    /// L2 cache by 32 rows or more.
    #[default]
    Auto,
    /// Fully, whatever it costs.
    Full,
    /// Never beyond the tile: every loop stays short.
    None,
}

/// Decisions of the planner; `None` leaves a decision to the planner. Results keep their bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// How far to unroll loops.
    pub unroll: Unroll,
    /// Columns of a panel: neighbouring units whose weights are packed together.
    pub panel_columns: Option<usize>,
    /// Rows of a batch, or steps of a sequence, per weight read.
    pub rows_at_once: Option<usize>,
    /// True if every other step reads the panels from the last to the first.
    pub alternate: Option<bool>,
    /// True if the x terms of all steps of a sequence are computed before the first step.
    pub input_first: Option<bool>,
    /// True if pointwise operations join the kernel of their operand, in registers.
    pub fuse: Option<bool>,
    /// True if an If computes only the taken side, even if the sides are small.
    pub branches: Option<bool>,
    /// True if two threads share a cell, with [`Threads::Two`](super::Threads::Two).
    pub halves: Option<bool>,
    /// True if tiles (AMX) compute the sums of several rows.
    pub tiles: Option<bool>,
}

impl Tuning {
    /// The decisions that differ from their defaults.
    pub(super) fn given(&self, words: &mut CommandWords) {
        match self.unroll {
            Unroll::Auto => {}
            Unroll::Full => words.option("--unroll", "full"),
            Unroll::None => words.option("--unroll", "none"),
        }
        let choices = self.choices();
        if !choices.is_empty() {
            words.option("--tune", &choices.join(","));
        }
    }

    /// The chosen values as KEY=VALUE.
    fn choices(&self) -> Vec<String> {
        let Self {
            unroll: _,
            panel_columns,
            rows_at_once,
            alternate,
            input_first,
            fuse,
            branches,
            halves,
            tiles,
        } = self;
        let size = |key: &str, size: &Option<usize>| size.map(|size| format!("{key}={size}"));
        let on = |key: &str, on: &Option<bool>| {
            on.map(|on| format!("{key}={}", if on { "on" } else { "off" }))
        };
        let all = [
            size("panel-columns", panel_columns),
            size("rows-at-once", rows_at_once),
            on("alternate", alternate),
            on("input-first", input_first),
            on("fuse", fuse),
            on("branches", branches),
            on("halves", halves),
            on("tiles", tiles),
        ];
        all.into_iter().flatten().collect()
    }
}

setters! {
    Tuning;
    /// Sets how far to unroll loops.
    with_unroll(unroll: Unroll);
    /// Sets the columns of a panel.
    with_panel_columns(panel_columns: Option<usize>);
    /// Sets the rows of a batch, or steps of a sequence, per weight read.
    with_rows_at_once(rows_at_once: Option<usize>);
    /// Sets whether every other step reads the panels from the last to the first.
    with_alternate(alternate: Option<bool>);
    /// Sets whether the x terms of all steps are computed before the first step.
    with_input_first(input_first: Option<bool>);
    /// Sets whether pointwise operations join the kernel of their operand.
    with_fuse(fuse: Option<bool>);
    /// Sets whether an If computes only the taken side.
    with_branches(branches: Option<bool>);
    /// Sets whether two threads share a cell.
    with_halves(halves: Option<bool>);
    /// Sets whether tiles (AMX) compute the sums of several rows.
    with_tiles(tiles: Option<bool>);
}

setters! {
    Options;
    /// Sets the decisions of the planner.
    with_tuning(tuning: Tuning);
}
