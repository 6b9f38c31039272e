//! Tiles: whether they compute the sums of a product, and for how many rows.

use super::cost;
use super::panels::Panels;
use super::product::Product;
use crate::arch::Isa;

impl Product {
    /// True if tiles compute the sums of a phase for `rows` rows: if tiles save time, or as
    /// `asked`.
    pub(super) fn has_tiles(
        &self,
        rows: usize,
        panels: &[Panels],
        asked: Option<bool>,
        isa: &Isa,
    ) -> bool {
        (2..=isa.tile_rows()).contains(&rows)
            && self.fits_tiles_somewhere()
            && asked.unwrap_or_else(|| cost::TileCycles::new(self, panels, rows, isa).pay())
    }

    /// Rows per tile: equal parts of all rows, unless the parts are too small.
    pub(super) fn tile_rows(&self, isa: &Isa) -> usize {
        let all = self.together;
        let equal = all.div_ceil(all.div_ceil(isa.tile_rows().max(1)));
        if equal < cost::LEAST_TILE_ROWS { all.min(isa.tile_rows()) } else { equal }
    }
}
