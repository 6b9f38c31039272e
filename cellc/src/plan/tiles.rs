//! Tiles: whether they compute the sums of a product, and for how many rows.

use super::choose::most_tile_rows;
use super::cost::{self, TileCycles};
use super::panels::Panels;
use super::product::Product;
use super::reason::NoTiles;
use crate::arch::Isa;

impl Product {
    /// True if tiles compute the sums of at least one phase for `rows` rows: if tiles save time, or
    /// as `asked`.
    pub(super) fn has_tiles(
        &self,
        rows: usize,
        panels: &[Panels],
        asked: Option<bool>,
        isa: &Isa,
    ) -> bool {
        (2..=most_tile_rows(isa)).contains(&rows)
            && self.fits_tiles_somewhere()
            && asked.unwrap_or_else(|| TileCycles::new(self, panels, rows, isa).pay())
    }

    /// The reason against tiles for `rows` rows, on an instruction set with tiles.
    pub(super) fn without_tiles(
        &self,
        rows: usize,
        panels: &[Panels],
        asked: Option<bool>,
        isa: &Isa,
    ) -> NoTiles {
        match asked {
            Some(false) => NoTiles::Asked,
            _ if !(2..=most_tile_rows(isa)).contains(&rows) => NoTiles::Rows(most_tile_rows(isa)),
            _ => {
                let TileCycles { rows, by_tiles, by_vectors } =
                    TileCycles::new(self, panels, rows, isa);
                NoTiles::Slower { rows, by_tiles, by_vectors }
            }
        }
    }

    /// Rows per tile: equal parts of all rows, unless the parts are too small.
    pub(super) fn tile_rows(&self, isa: &Isa) -> usize {
        let row_count = self.together;
        let equal = row_count.div_ceil(row_count.div_ceil(most_tile_rows(isa).max(1)));
        if equal < cost::LEAST_TILE_ROWS { row_count.min(most_tile_rows(isa)) } else { equal }
    }
}
