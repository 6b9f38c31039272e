//! Loops over the panels of a product, and over passes of columns within a panel.

use super::RowGroup;
use crate::kernel::{BufferId, Place, Stmt};
use crate::plan::{self, Blocks, Panels};

/// An operand or result of the pointwise part of a cell or a dense layer, or stored sums, and how a
/// loop over units and rows steps through the elements.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Column {
    pub(in crate::lower) name: &'static str,
    pub(in crate::lower) start: Place,
    pub(in crate::lower) written: bool,
    /// Elements per unit. 0: one element for all units.
    pub(in crate::lower) width: usize,
    /// True if each row has elements of its own.
    pub(in crate::lower) each_row: bool,
    /// True if the place starts at the first unit that this kernel computes, not at unit 0: results
    /// of one of two threads, and scratch memory.
    pub(in crate::lower) relative: bool,
    /// True if the column stores the x terms of late sums. Used only if x terms are
    /// [deferred](RowGroup::keeps_late_apart).
    pub(in crate::lower) takes_late: bool,
}

impl Column {
    /// A column with one element for each unit of each row.
    pub(in crate::lower) fn new(name: &'static str, place: Place, written: bool) -> Self {
        Self {
            name,
            start: place,
            written,
            width: 1,
            each_row: true,
            relative: written,
            takes_late: false,
        }
    }

    /// Elements per row.
    pub(in crate::lower) fn row(&self, units: usize) -> usize {
        if self.width == 0 { 1 } else { self.width * units }
    }
}

/// The operands of the pointwise part of a panel.
pub(in crate::lower) struct Panel<'p> {
    pub(in crate::lower) panels: &'p Panels,
    /// The biases and peepholes of the panel. `None` for stored sums, which include biases.
    pub(in crate::lower) biases: Option<Place>,
    /// The place of the panel in each [`Column`].
    pub(in crate::lower) columns: &'p [Place],
}

/// The place of a panel's weights for one stage.
#[derive(Clone, Copy)]
pub(super) struct PanelWeights {
    /// The start of the panel's block, from which offsets of phases count.
    pub(super) rows: Place,
    /// The biases, peepholes, scales and zero-point corrections.
    pub(super) biases: Place,
    /// Columns by which the window of rows ends before the panel does.
    pub(super) short: usize,
}

/// Columns of a panel whose sums one pass over its rows computes.
pub(super) struct PanelColumns {
    /// The vectors of columns, each as (first column, lanes).
    pub(super) vectors: Vec<(usize, usize)>,
    pub(super) weights: PanelWeights,
    /// The place of these columns in each [`Column`].
    pub(super) columns: Vec<Place>,
}

/// The phases that one pass over a panel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Input alone.
    Input,
    /// Input and Hidden.
    Early,
    /// ResetHidden.
    Late,
}

impl<'a, 'm> RowGroup<'_, 'a, 'm> {
    /// A loop over the panels of a group. `body` receives the weights of the stage, if `weights`
    /// names one, and the place of the panel in each of `columns`.
    pub(super) fn panels(
        &mut self,
        panels: &Panels,
        weights: Option<Stage>,
        columns: &[Column],
        mut body: impl FnMut(&mut Self, Option<PanelWeights>, &[Place]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let blocks = weights.map(|stage| {
            (panels.blocks(stage == Stage::Late), panels.biases(stage == Stage::Late))
        });
        // of a separate buffer of biases, x terms alone read only the scales
        let scaled = self.product().layout.format.has_scales();
        let apart = self.weights.biases.filter(|_| scaled || weights != Some(Stage::Input));
        let start = self.first;
        let first = |column: &Column| {
            let unit = if column.relative { panels.first - start } else { panels.first };
            column.start.at(unit * column.width)
        };
        if panels.count == 1 || weights.is_some() && self.leaves_out_zeros() {
            let mut stmts = Vec::new();
            for panel in 0..panels.count {
                let place =
                    |column: &Column| first(column).at(panel * panels.columns * column.width);
                let places: Vec<_> = columns.iter().map(place).collect();
                let weights = blocks.map(|(early, late): (Blocks, Blocks)| {
                    let at =
                        |panel_blocks: Blocks| panel_blocks.offset + panel * panel_blocks.stride;
                    let rows = Place::from(self.weights.rows).at(at(early));
                    let biases = apart.map_or(rows, |biases| Place::from(biases).at(at(late)));
                    PanelWeights { rows, biases, short: 0 }
                });
                stmts.extend(body(self, weights, &places));
            }
            return stmts;
        }
        let mut walks = Vec::new();
        let mut walk = |this: &mut Self, name, start: BufferId, Blocks { offset, stride }| {
            // stride 0: panels have no elements in this buffer, as weights are in indexed blocks or
            // as there are no biases
            if stride == 0 {
                return Place::from(start).at(offset);
            }
            let (place, walk) =
                this.builder.walk(name, Place::from(start).at(offset), stride, false);
            walks.push(walk);
            place
        };
        let weights = blocks.map(|(rows, biases)| {
            let rows = walk(self, "panel", self.weights.rows, rows);
            let biases = apart.map_or(rows, |buffer| walk(self, "bias_panel", buffer, biases));
            PanelWeights { rows, biases, short: 0 }
        });
        let mut places = Vec::new();
        for column in columns {
            if column.width == 0 {
                places.push(column.start);
                continue;
            }
            let name = format!("{}_panel", column.name);
            let len = panels.columns * column.width;
            let (place, walk) = self.builder.walk(&name, first(column), len, column.written);
            places.push(place);
            walks.push(walk);
        }
        let body = body(self, weights, &places);
        vec![Stmt::For {
            count: panels.count,
            counter: None,
            backwards: self.backwards,
            walks,
            body,
        }]
    }

    /// `body` for every pass over the columns of a panel. Neighbouring passes of equal width become
    /// a loop in two cases: the instruction set [limits passes](plan::most_per_pass); or [passes
    /// form loops](Self::walks_columns), all passes have one width and, by `loops`, an instruction
    /// set has several passes.
    pub(super) fn passes(
        &mut self,
        (panels, stage, loops): (&Panels, Stage, bool),
        weights: PanelWeights,
        (columns, places): (&[Column], &[Place]),
        passes: &[Vec<(usize, usize)>],
        mut body: impl FnMut(&mut Self, &PanelColumns) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let widths =
            |pass: &[(usize, usize)]| pass.iter().map(|(_, lanes)| *lanes).collect::<Vec<_>>();
        let mut stmts = Vec::new();
        for same in passes.chunk_by(|a, b| widths(a) == widths(b)) {
            let is_loop = if self.walks_columns() {
                loops && same.len() == passes.len()
            } else {
                same.len() > 1 && plan::most_per_pass(self.isa()).is_some()
            };
            if !is_loop {
                for vectors in same {
                    let vectors = self.values(vectors);
                    stmts.extend(body(
                        self,
                        &PanelColumns { vectors, weights, columns: places.to_vec() },
                    ));
                }
                continue;
            }
            let (first, width) = (same[0][0].0, widths(&same[0]).iter().sum::<usize>());
            // a window moves with the passes and ends with the panel in the last pass, so the
            // window is `before` columns shorter than the panel
            let before = first + (same.len() - 1) * width;
            let mut walks = Vec::new();
            let late = stage == Stage::Late;
            let abreast = self.product().layout.words_together();
            let rows = match panels.blocks(late).stride {
                0 => weights.rows,
                stride => {
                    let (rows, of_rows) = self.builder.stride(
                        "pass",
                        weights.rows.at(first * abreast),
                        (stride - before * abreast, width * abreast),
                        false,
                    );
                    if self.walks_columns() {
                        self.builder.passes(&of_rows);
                    }
                    walks.push(of_rows);
                    rows
                }
            };
            let mut walk =
                |this: &mut Self, name: &str, start: Place, len: usize, written: bool| {
                    let (place, walk) =
                        this.builder.stride(name, start.at(first), (len, width), written);
                    walks.push(walk);
                    place
                };
            let biases = match weights.biases == weights.rows && abreast == 1 {
                true => rows,
                false => walk(
                    self,
                    "bias_pass",
                    weights.biases,
                    panels.biases(late).stride - before,
                    false,
                ),
            };
            let of_column = |(column, place): (&Column, &Place)| match column.width {
                0 => *place,
                1 => walk(self, &format!("{}_pass", column.name), *place, width, column.written),
                stmts => {
                    let len = stmts * panels.columns - before;
                    walk(self, &format!("{}_pass", column.name), *place, len, column.written)
                }
            };
            let columns = columns.iter().zip(places).map(of_column).collect();
            let vectors: Vec<_> = same[0].iter().map(|(at, lanes)| (at - first, *lanes)).collect();
            let vectors = self.values(&vectors);
            let iteration = body(
                self,
                &PanelColumns {
                    vectors,
                    weights: PanelWeights { rows, biases, short: before },
                    columns,
                },
            );
            stmts.push(Stmt::repeat(same.len(), walks, iteration));
        }
        stmts
    }
}
