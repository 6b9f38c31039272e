//! The multiply-adds of an x whose elements are the taps of a delay line.

use super::rows::{Accumulation, WeightRow};
use super::{RowGroup, TapPlaces};
use crate::kernel::{Place, Stmt};
use crate::plan::Microkernel;

/// Upper limit for taps of a channel whose multiply-adds are unrolled.
const MOST_IN_LINE: usize = 16;

impl RowGroup<'_, '_, '_> {
    /// Adds the terms of all taps: a loop over channels, for each the earlier taps and the newest.
    /// The arguments are those of [`RowGroup::add_rows`].
    pub(super) fn add_taps(
        &mut self,
        body: &mut Vec<Stmt>,
        sum: &Accumulation,
        taps: TapPlaces,
        (between, short): (usize, usize),
    ) {
        let TapPlaces { row, earlier, newest } = taps;
        let spans = |rows: usize| between + rows * sum.len - short;
        if row.channels == 1 {
            return self.add_channel(body, sum, sum.rows, (taps, spans(1)));
        }
        let row_weights = (row.earlier + 1) * sum.len;
        let builder = &mut *self.builder;
        let (weights, of_weights) =
            builder.stride("row", sum.rows, (spans(row.earlier + 1), row_weights), false);
        let reach = (row.earlier - 1) * row.distance + 1;
        let (earlier, of_earlier) = builder.stride("earlier", earlier, (reach, row.stride), false);
        let (newest, of_newest) = builder.stride("newest", newest, (1, row.newest_stride), false);
        let mut channel = Vec::new();
        let taps = TapPlaces { row, earlier, newest };
        self.add_channel(&mut channel, sum, weights, (taps, spans(1)));
        body.push(Stmt::repeat(row.channels, vec![of_weights, of_earlier, of_newest], channel));
    }

    /// Adds the terms of one channel. `span`: elements from the first to the last weight of a row.
    fn add_channel(
        &mut self,
        body: &mut Vec<Stmt>,
        sum: &Accumulation,
        first: Place,
        (taps, span): (TapPlaces, usize),
    ) {
        let TapPlaces { row, earlier, newest } = taps;
        if row.earlier > MOST_IN_LINE {
            let (weights, of_weights) =
                self.builder.stride("tap_row", first, (span, sum.len), false);
            let (tap, of_taps) = self.builder.stride("tap", earlier, (1, row.distance), false);
            let mut iteration = Vec::new();
            self.add_tap(&mut iteration, sum, (weights, 0), tap);
            body.push(Stmt::repeat(row.earlier, vec![of_weights, of_taps], iteration));
        } else {
            for k in 0..row.earlier {
                self.add_tap(body, sum, (first, k), earlier.at(k * row.distance));
            }
        }
        self.add_tap(body, sum, (first, row.earlier), newest);
    }

    /// Adds the terms of one tap: the weights of row `k` from `first` on, times one element.
    fn add_tap(
        &mut self,
        body: &mut Vec<Stmt>,
        sum: &Accumulation,
        (first, k): (Place, usize),
        element: Place,
    ) {
        let elements = [vec![element]];
        let row = WeightRow { sum, first, elements: &elements, element: 0, k, count: k + 1 };
        self.add_row(body, &mut *Self::multiply_add(Microkernel::Broadcast, 1), row);
    }
}
