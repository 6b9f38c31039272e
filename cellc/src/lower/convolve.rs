//! Convolutions. Windows move by one element over x, which is stored in lines. If windows have
//! strides, x is stored in phases. Lanes are positions: each weight multiplies vectors of
//! positions.
//!
//! A tile holds the sums of some output channels at some vectors of positions in registers. Each
//! sum runs over all input channels and taps. If the number of positions exceeds the number of
//! lanes and is no multiple of it, the last vector overlaps the vector before and computes the
//! shared elements twice. A tile with a single channel uses a narrow last vector instead, if one
//! narrow vector holds the remaining positions.
//!
//! A depthwise convolution in integers multiplies words of two elements by words of two taps. A
//! channel of x is rounded with one scale. The word of a position holds the elements under the two
//! taps of a pair.

use std::ops::Range;

use super::builder::{KernelBuilder, Lowered, MovingPlace, copy, load, op};
use super::pointwise::Epilogue;
use super::product::{Scale, for_rows};
use crate::core::{Convolve, Pairs, PhaseRun, TapLoop, offsets, strides, window_shape};
use crate::kernel::{Expr, LaneOp, Place, Scalar, Stmt, Var, Walk};
use crate::model::counted;
use crate::plan::{self, Along};

/// The places of x, weights, operands and output for a part of a convolution.
#[derive(Clone)]
struct ConvolutionPlaces {
    /// The first element of the input channels.
    x: Place,
    /// The weights of the output channels, tile after tile.
    w: Place,
    /// The scales of a convolution in integers. `None`: f32.
    scales: Option<Scales>,
    /// The first position of the output channels.
    out: Place,
    /// The operands of the epilogue.
    operands: Vec<Place>,
}

/// The scales of integer sums.
#[derive(Clone, Copy)]
struct Scales {
    /// The scale of the first output channel's weights.
    w: Place,
    /// The scale of the input channel.
    x: Place,
}

/// Upper limit for the channels of x that are padded together, if groups have few channels.
const MOST_PADDED: usize = 16;

/// Upper limit for unrolled multiply-adds of one channel on cores without vectors, where loop
/// overhead takes as long as the multiply-adds.
const MOST_IN_LINE: usize = 128;

/// LLVM is told not to unroll a loop over channels with at most this number of taps in all
/// channels. LLVM would unroll completely and compute one sum after the other: each multiply-add
/// waits for the one before (4 channels, 3 taps on AVX2: 1.7 times as long).
const FEW_TAPS: usize = 16;

/// Elements of a phase that one iteration copies.
const APART_AT_ONCE: usize = 8;

/// Elements at equal distances.
#[derive(Clone, Copy)]
struct Spaced {
    /// The number of elements.
    count: usize,
    /// The distance between elements to read.
    from: usize,
    /// The distance between elements to write.
    to: usize,
}

impl Spaced {
    fn read(&self) -> usize {
        self.from
    }

    fn written(&self) -> usize {
        self.to
    }
}

/// The quantisation of x.
struct Integers {
    /// The scale of x.
    scale: Scale,
    /// The distance between the two elements of a word, as in [`Pairs`](crate::core::Pairs).
    second: usize,
    /// Scratch memory: one channel, rounded.
    rounded: Place,
    /// Scratch memory: the words of several channels.
    words: Place,
    /// Scratch memory: the scales of the channels in `words`.
    scales: Place,
}

/// Copies of x, some channels at once.
enum Copies {
    /// Channels with padding.
    Padded(Place),
    /// Channels in integers.
    Words(Integers),
}

impl Copies {
    /// The place of the first channel's copy.
    fn place(&self) -> Place {
        match self {
            Self::Padded(padded) => *padded,
            Self::Words(integers) => integers.words,
        }
    }
}

/// The parameters of a convolution that all its parts share.
struct ConvolutionContext<'m> {
    convolution: &'m Convolve,
    /// The layout of each operand of the epilogue along channels and positions.
    along: Vec<Along>,
    epilogue: Epilogue<'m>,
    /// The number of output channels whose weights are interleaved.
    packed: usize,
    /// A tile: its output channels and its vectors of positions.
    tile: (usize, usize),
    /// The taps, or pairs of taps, by dimension.
    taps: Vec<Vec<TapLoop>>,
    /// The number of taps or pairs.
    count: usize,
    /// The largest offset of a tap or pair, in elements.
    reach: usize,
    /// Elements of a channel with its padding; in integers, words of two elements.
    length: usize,
}

/// The sums that registers hold at once.
struct Tile<'v> {
    /// Output channels, as a range of the interleaved channels.
    channels: Range<usize>,
    /// The number of interleaved channels.
    packed: usize,
    /// Vectors of positions, each as (first position, lanes).
    vectors: &'v [(usize, usize)],
}

impl Tile<'_> {
    /// True if the last vector shares elements with the vector before it.
    fn has_overlap(&self) -> bool {
        matches!(self.vectors, [.., (before, lanes), (last, _)] if *last < before + lanes)
    }
}

/// The windows of x from which the vectors of a tile are loaded.
#[derive(Clone, Copy)]
struct Loaded {
    /// The window of all vectors.
    all: Place,
    /// A second window over the same elements, for an overlapping last vector. `None`: no overlap.
    last: Option<Place>,
}

impl Loaded {
    /// The windows `elements` elements further on.
    fn at(self, elements: usize) -> Self {
        Self { all: self.all.at(elements), last: self.last.map(|last| last.at(elements)) }
    }

    /// The place from which vector `v` of the tile is loaded.
    fn vector(&self, tile: &Tile<'_>, v: usize) -> Place {
        let last_vector = self.last.filter(|_| v + 1 == tile.vectors.len());
        last_vector.unwrap_or(self.all).at(tile.vectors[v].0)
    }
}

impl ConvolutionContext<'_> {
    /// Elements of an operand for `channels` output channels. `None` if all channels share the
    /// elements.
    fn operand(&self, along: Along, channels: usize) -> Option<usize> {
        match along {
            Along::Both => Some(channels * self.convolution.positions),
            Along::Rows => Some(channels),
            Along::Columns | Along::Nothing => None,
        }
    }
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn convolve(&mut self, convolution: &'m Convolve) -> Lowered {
        let Convolve { batch, groups, inputs, outputs, start, positions, .. } = *convolution;
        let mut body = Vec::new();
        let x = self.lowering.source(convolution.x);
        let whole = self.lowering.plan.windows.get(&convolution.out);
        let pairs = whole.map(|_| Pairs::new(convolution));
        let in_phases = !convolution.phases.is_empty();
        let is_padded =
            (in_phases || convolution.length > convolution.unpadded_length()) && pairs.is_none();
        // a copy of x line by line flushes x, so x needs no flushed copy before
        let flushes = !in_phases && (is_padded || pairs.is_some());
        let x = if flushes { x } else { self.flushed_tensor(&mut body, "x", convolution.x, x) };
        let epilogue = self.epilogue(convolution.out, positions);
        let along = epilogue.along();
        let operands: Vec<Place> =
            self.operand_rows(&epilogue, positions).into_iter().map(|(place, _)| place).collect();
        let packed = self.lowering.memory.convolutions[&convolution.out];
        let out = self.stored(convolution.out);
        let mut parts = ConvolutionPlaces { x, w: packed.rows.into(), scales: None, out, operands };
        let taps = pairs.as_ref().map_or(&convolution.taps, |pairs| &pairs.taps).clone();
        let offsets = offsets(&taps);
        let reach = *offsets.iter().max().expect("check: a window has taps");
        let length = if pairs.is_some() { start + positions + reach } else { convolution.length };
        let vectors = positions.div_ceil(self.lowering.isa.lanes);
        let arch = self.lowering.plan.arch;
        let work = ConvolutionContext {
            convolution,
            along,
            epilogue,
            packed: plan::window_channels(outputs, arch),
            tile: plan::window_tile(outputs, vectors, (self.lowering.isa, pairs.is_some()), arch),
            taps,
            count: offsets.len(),
            reach,
            length,
        };
        let some = (MOST_PADDED / inputs).clamp(1, groups);
        let some = (1..=some).rev().find(|some| groups.is_multiple_of(*some)).unwrap_or(1);
        let copies = match (whole, pairs) {
            (Some(&(arithmetic, own)), Some(pairs)) => {
                let chosen = Scale::of_x(own, arithmetic.largest(convolution.offsets().len()));
                let chosen = chosen.expect("plan: windows in integers have a range");
                Some(Copies::Words(self.channels_in_words(
                    &mut body,
                    &work,
                    chosen,
                    pairs.second,
                    some,
                )))
            }
            _ if is_padded => Some(Copies::Padded(self.padded_channels(&mut body, &work, some))),
            _ => None,
        };
        let is_of_integers = matches!(copies, Some(Copies::Words(_)));
        if let Some(Copies::Words(words)) = &copies {
            let w = packed.biases.expect("lower: rows of integers have scales").into();
            parts.scales = Some(Scales { w, x: words.scales });
        }
        let (given, weights) = (convolution.unpadded_length(), outputs * inputs * work.count);
        let channels = [groups * inputs * given, 0, groups * outputs, 0];
        body.extend(self.repeated(&work, batch, channels, &parts, |builder, parts| {
            let channels =
                |groups| [groups * inputs * given, groups * weights, groups * outputs, 0];
            match &copies {
                None => builder.repeated(&work, groups, channels(1), parts, |builder, parts| {
                    builder.group(&work, parts)
                }),
                Some(copies) => {
                    let iterations = groups / some;
                    builder.repeated(&work, iterations, channels(some), parts, |builder, parts| {
                        builder.copied_groups(&work, copies, some, parts)
                    })
                }
            }
        }));
        let names = work.epilogue.names();
        let (kernel, groups) = (shape(&convolution.taps), counted(groups, "group"));
        let suffix = if is_of_integers { ", in integers" } else { "" };
        let doc = format!(
            "Convolution of {inputs} to {outputs} channels in {groups}, windows of \
             {kernel}{suffix}{names}."
        );
        Lowered::new(doc, body)
    }

    /// Scratch memory for some channels with padding of 0.
    fn padded_channels(
        &mut self,
        body: &mut Vec<Stmt>,
        work: &ConvolutionContext<'m>,
        some: usize,
    ) -> Place {
        let ConvolutionContext { convolution, length, .. } = *work;
        let channels = some * convolution.inputs;
        let padded = self.stack_or_state_buffer("padded", channels * length, 1);
        let rows = [MovingPlace::new("padded_channel", padded, length, true)];
        body.extend(match convolution.phases.is_empty() {
            false => self.zeros(padded, channels * length),
            true => for_rows(self, channels, &rows, |builder, places| {
                builder.pads(convolution, places[0])
            }),
        });
        padded
    }

    /// Scratch memory for one channel as rounded elements and some channels as words.
    fn channels_in_words(
        &mut self,
        body: &mut Vec<Stmt>,
        work: &ConvolutionContext<'m>,
        (scale, as_integers): (Scale, String),
        second: usize,
        some: usize,
    ) -> Integers {
        let ConvolutionContext { convolution, length, .. } = *work;
        body.push(Stmt::Comment(format!("x {as_integers}")));
        let behind = (length + second).saturating_sub(convolution.length);
        let rounded = self.stack_or_state_buffer("rounded_channel", convolution.length + behind, 1);
        body.extend(self.pads(convolution, rounded));
        body.extend(self.zeros(rounded.at(convolution.length), behind));
        let words = self.stack_or_state_buffer("words", some * length, 1);
        let scales = self.scratch("scales", some).into();
        Integers { scale, second, rounded, words, scales }
    }

    /// Copies the channels of `some` groups, then convolves these groups. With several groups,
    /// loads do not wait for the stores just before.
    fn copied_groups(
        &mut self,
        work: &ConvolutionContext<'m>,
        copies: &Copies,
        some: usize,
        parts: &ConvolutionPlaces,
    ) -> Vec<Stmt> {
        let ConvolutionContext { convolution, length, .. } = *work;
        let Convolve { inputs, outputs, .. } = *convolution;
        let to = copies.place();
        let mut rows = vec![
            MovingPlace::new("channel", parts.x, convolution.unpadded_length(), false),
            MovingPlace::new("padded_channel", to, length, true),
        ];
        if let Copies::Words(words) = copies {
            rows.push(MovingPlace::new("scale", words.scales, 1, true));
        }
        let mut body = for_rows(self, some * inputs, &rows, |builder, places| match copies {
            Copies::Padded(_) if !convolution.phases.is_empty() => {
                builder.phases(convolution, places[0], places[1])
            }
            Copies::Padded(_) => {
                builder.lines(convolution, places[0], places[1], |builder, from, to, len| {
                    builder.copy_elements(convolution.x, from, to, len)
                })
            }
            Copies::Words(words) => {
                builder.words_of(convolution, words, [places[0], places[1], places[2]], length)
            }
        });
        let parts = ConvolutionPlaces { x: to, ..parts.clone() };
        let channels = [inputs * length, outputs * inputs * work.count, outputs, 1];
        body.extend(
            self.repeated(work, some, channels, &parts, |builder, parts| {
                builder.group(work, parts)
            }),
        );
        body
    }

    /// Fills the padding of a channel with 0.
    fn pads(&mut self, convolution: &Convolve, to: Place) -> Vec<Stmt> {
        let mut zeros = self.zeros(to, convolution.pads.0);
        if convolution.lines.1 > 0 {
            let rows = [MovingPlace::new(
                "padded_line",
                to.at(convolution.pads.0),
                convolution.line(),
                true,
            )];
            zeros.extend(for_rows(self, convolution.lines.0, &rows, |builder, places| {
                builder.zeros(places[0], convolution.lines.1)
            }));
        }
        zeros
            .extend(self.zeros(to.at(convolution.length - convolution.pads.1), convolution.pads.1));
        zeros
    }

    /// Copies each line of a channel into the padded channel at `to`, with `line`.
    fn lines(
        &mut self,
        convolution: &Convolve,
        from: Place,
        to: Place,
        mut line: impl FnMut(&mut Self, Place, Place, usize) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let (lines, gap) = convolution.lines;
        let len = convolution.unpadded_length() / lines;
        let rows = [
            MovingPlace::new("line", from, len, false),
            MovingPlace::new("padded_line", to.at(convolution.pads.0), convolution.line(), true),
        ];
        for_rows(self, lines, &rows, |builder, places| {
            line(builder, places[0], places[1].at(gap), len)
        })
    }

    /// Copies a channel of x into its phases.
    fn phases(&mut self, convolution: &Convolve, from: Place, to: Place) -> Vec<Stmt> {
        let sizes: Vec<usize> = convolution.phases.iter().map(|axis| axis.size).collect();
        let distances = strides(&sizes);
        // for each combination of the axes' phases: the first element in x, its place in the copy,
        // and the loops
        let mut copies: Vec<(Place, Place, Vec<Spaced>)> = vec![(from, to, Vec::new())];
        for (axis, distance) in convolution.phases.iter().zip(distances) {
            let runs = (0..axis.count).map(|i| axis.run(i)).filter(|run| run.count > 0);
            let runs: Vec<_> = runs.collect();
            let along = |(from, to, dims): (Place, Place, Vec<Spaced>)| {
                let next = |run: &PhaseRun| {
                    let apart =
                        Spaced { count: run.count, from: axis.stride * distance, to: axis.step };
                    let dims = [&dims[..], &[apart]].concat();
                    (from.at(run.from * distance), to.at(run.to), dims)
                };
                runs.iter().map(next).collect::<Vec<_>>()
            };
            copies = copies.into_iter().flat_map(along).collect();
        }
        copies.into_iter().flat_map(|(from, to, dims)| self.apart(&dims, from, to)).collect()
    }

    /// Copies elements at equal distances.
    fn apart(&mut self, dims: &[Spaced], from: Place, to: Place) -> Vec<Stmt> {
        let Some((dim, inner)) = dims.split_first() else {
            return vec![Stmt::Store { to, value: load(from, 1) }];
        };
        if inner.is_empty() && (dim.from, dim.to) == (1, 1) {
            return vec![copy(from, to, dim.count)];
        }
        // several elements per iteration, at constant places in windows: compilers vectorise the
        // copy
        let at_once = if inner.is_empty() { APART_AT_ONCE } else { 1 };
        let iterations = if dim.count < 2 * at_once { 0 } else { dim.count / at_once };
        let [read, write] = [Spaced::read as fn(&Spaced) -> usize, Spaced::written].map(|step| {
            let reach = inner.iter().map(|apart| (apart.count - 1) * step(apart)).sum::<usize>();
            (reach + (at_once - 1) * step(dim) + 1, at_once * step(dim))
        });
        let mut body = Vec::new();
        if iterations > 0 {
            let (source, source_walk) = self.stride("phase_row", from, read, false);
            let (out, out_walk) = self.stride("out_row", to, write, true);
            let iteration = (0..at_once)
                .flat_map(|k| self.apart(inner, source.at(k * dim.from), out.at(k * dim.to)))
                .collect();
            let walks = vec![source_walk, out_walk];
            body.push(Stmt::repeat(iterations, walks, iteration));
        }
        for k in iterations * at_once..dim.count {
            body.extend(self.apart(inner, from.at(k * dim.from), to.at(k * dim.to)));
        }
        body
    }

    /// One channel as `length` words of two elements, and its scale.
    fn words_of(
        &mut self,
        convolution: &Convolve,
        integers: &Integers,
        [from, words, to_scale]: [Place; 3],
        length: usize,
    ) -> Vec<Stmt> {
        let Integers { scale, second, rounded, .. } = *integers;
        let mut body = Vec::new();
        let factor =
            self.scale_of(&mut body, (convolution.unpadded_length(), scale), from, to_scale);
        body.extend(self.lines(convolution, from, rounded, |builder, from, to, len| {
            builder.rounded(convolution.x, factor, from, to, len)
        }));
        body.extend(self.pairs(rounded, second, words, length));
        body
    }

    /// A loop over rows or groups. Each iteration moves x by `x` elements, the weights by `w`
    /// elements, the outputs by `channels` channels, and the scales of x by `scales` elements.
    fn repeated(
        &mut self,
        work: &ConvolutionContext<'m>,
        count: usize,
        [x, w, channels, scales]: [usize; 4],
        parts: &ConvolutionPlaces,
        mut body: impl FnMut(&mut Self, &ConvolutionPlaces) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut rows = vec![
            MovingPlace::new("x_part", parts.x, x, false),
            MovingPlace::new("out_part", parts.out, channels * work.convolution.positions, true),
        ];
        rows.extend((w > 0).then_some(MovingPlace::new("w_part", parts.w, w, false)));
        let of_integers = parts.scales.filter(|_| w > 0);
        rows.extend(
            of_integers.map(|scales| MovingPlace::new("w_scale_part", scales.w, channels, false)),
        );
        rows.extend(
            of_integers
                .filter(|_| scales > 0)
                .map(|scale_rows| MovingPlace::new("scale_part", scale_rows.x, scales, false)),
        );
        let first = rows.len();
        let walked = |at: usize| work.operand(work.along[at], channels).map(|len| (at, len));
        let moving: Vec<_> = (0..work.along.len()).filter_map(walked).collect();
        rows.extend(
            moving
                .iter()
                .map(|&(at, len)| MovingPlace::new("operand_part", parts.operands[at], len, false)),
        );
        for_rows(self, count, &rows, |builder, places| {
            let mut row_parts = ConvolutionPlaces { x: places[0], out: places[1], ..parts.clone() };
            if w > 0 {
                row_parts.w = places[2];
            }
            row_parts.scales = parts.scales.map(|scale_rows| match of_integers {
                None => scale_rows,
                Some(_) => {
                    Scales { w: places[3], x: if scales > 0 { places[4] } else { scale_rows.x } }
                }
            });
            for ((at, _), place) in moving.iter().zip(&places[first..]) {
                row_parts.operands[*at] = *place;
            }
            body(builder, &row_parts)
        })
    }

    /// All positions of a group: a loop over blocks of vectors, then the remaining positions.
    fn group(&mut self, work: &ConvolutionContext<'m>, parts: &ConvolutionPlaces) -> Vec<Stmt> {
        let Convolve { inputs, outputs, start, positions, .. } = *work.convolution;
        let length = work.length;
        let lanes = self.lowering.isa.lanes;
        let mut body = Vec::new();
        if positions < lanes {
            return self.channels(
                work,
                parts,
                &plan::vectors(positions, lanes),
                (length, start, positions),
            );
        }
        let width = work.tile.1 * lanes;
        let full = positions / width;
        let mut done = 0;
        if full > 1 {
            let len = (inputs - 1) * length + work.reach + width;
            let (x, walk) = self.stride("x_block", parts.x.at(start), (len, width), false);
            let mut walks = vec![walk];
            let len = (outputs - 1) * positions + width;
            let (out, walk) = self.stride("out_block", parts.out, (len, width), true);
            walks.push(walk);
            let mut block_parts = ConvolutionPlaces { x, out, ..parts.clone() };
            for (place, along) in block_parts.operands.iter_mut().zip(&work.along) {
                let len = match along {
                    Along::Both => len,
                    Along::Columns => width,
                    Along::Rows | Along::Nothing => continue,
                };
                let (block, walk) = self.stride("operand_block", *place, (len, width), false);
                *place = block;
                walks.push(walk);
            }
            let vectors: Vec<_> = (0..work.tile.1).map(|v| (v * lanes, lanes)).collect();
            let block = self.channels(work, &block_parts, &vectors, (work.reach + width, 0, width));
            body.push(Stmt::repeat(full, walks, block));
            done = full * width;
        }
        // vectors of equal size; the last vector ends at the last position
        let mut rest: Vec<_> =
            (done..positions).step_by(lanes).map(|at| (at.min(positions - lanes), lanes)).collect();
        // With a single channel, a narrow last vector costs no more loads than an overlapping one.
        // A narrow vector crosses cache lines less often, and LLVM would assemble an overlapping
        // vector from its neighbour. With several channels, each weight would be loaded twice, once
        // per width.
        if let [narrow] = plan::vectors(positions % lanes, lanes)[..]
            && work.tile.0 == 1
            && let Some(last) = rest.last_mut()
        {
            *last = (positions - narrow.1, narrow.1);
        }
        let passes = rest.len().div_ceil(work.tile.1).max(1);
        for vectors in rest.chunks(rest.len().div_ceil(passes).max(1)) {
            body.extend(self.channels(work, parts, vectors, (length, start, positions)));
        }
        body
    }

    /// Some vectors of positions for all output channels. A channel of x has `x_width` elements in
    /// the window, and the first tap starts at element `first`. A channel of the output has `width`
    /// elements in the window.
    fn channels(
        &mut self,
        work: &ConvolutionContext<'m>,
        parts: &ConvolutionPlaces,
        vectors: &[(usize, usize)],
        (x_width, first, width): (usize, usize, usize),
    ) -> Vec<Stmt> {
        let Convolve { inputs, outputs, positions, .. } = *work.convolution;
        let mut body = Vec::new();
        let mut done = 0;
        for (iterations, count) in plan::equal_parts(outputs, work.packed) {
            let mut run_parts = parts.clone();
            run_parts.w = parts.w.at(done * inputs * work.count);
            run_parts.out = parts.out.at(done * positions);
            run_parts.scales = parts.scales.map(|scales| Scales { w: scales.w.at(done), ..scales });
            for (place, along) in run_parts.operands.iter_mut().zip(&work.along) {
                *place = place.at(work.operand(*along, done).unwrap_or(0));
            }
            done += iterations * count;
            if iterations == 1 {
                body.extend(self.packed(work, &run_parts, count, vectors, (x_width, first)));
                continue;
            }
            let len = (count - 1) * positions + width;
            let (out, walk) =
                self.stride("out_tile", run_parts.out, (len, count * positions), true);
            let mut walks = vec![walk];
            let (w, walk) = self.walk("w_tile", run_parts.w, count * inputs * work.count, false);
            walks.push(walk);
            let mut tile_parts = ConvolutionPlaces { w, out, ..run_parts };
            tile_parts.scales = tile_parts.scales.map(|scales| {
                let (w, walk) = self.walk("w_scale_tile", scales.w, count, false);
                walks.push(walk);
                Scales { w, ..scales }
            });
            for (place, along) in tile_parts.operands.iter_mut().zip(&work.along) {
                let lens = match along {
                    Along::Both => (len, count * positions),
                    Along::Rows => (count, count),
                    Along::Columns | Along::Nothing => continue,
                };
                let (tile, walk) = self.stride("operand_tile", *place, lens, false);
                *place = tile;
                walks.push(walk);
            }
            let tiles = self.packed(work, &tile_parts, count, vectors, (x_width, first));
            body.push(Stmt::repeat(iterations, walks, tiles));
        }
        body
    }

    /// Some vectors of positions for the output channels with interleaved weights, tile by tile.
    fn packed(
        &mut self,
        work: &ConvolutionContext<'m>,
        parts: &ConvolutionPlaces,
        packed: usize,
        vectors: &[(usize, usize)],
        x: (usize, usize),
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let mut done = 0;
        for (tiles, count) in plan::equal_parts(packed, work.tile.0) {
            for _ in 0..tiles {
                let tile = Tile { channels: done..done + count, packed, vectors };
                body.extend(self.tile(work, parts, &tile, x));
                done += count;
            }
        }
        body
    }

    /// The sums of a tile over all channels and taps, then the epilogue.
    fn tile(
        &mut self,
        work: &ConvolutionContext<'m>,
        parts: &ConvolutionPlaces,
        tile: &Tile<'_>,
        (x_width, first): (usize, usize),
    ) -> Vec<Stmt> {
        let Tile { channels, packed, vectors } = tile;
        let Convolve { inputs, positions, .. } = *work.convolution;
        let length = work.length;
        let mut body = Vec::new();
        let mut sums: Vec<Vec<Var>> = Vec::new();
        for m in channels.clone() {
            let sum = |(v, (_, lanes)): (usize, &(usize, usize))| match parts.scales {
                None => self.accumulator(
                    &mut body,
                    &format!("y{m}_{v}"),
                    *lanes,
                    Expr::f32(0.0, *lanes),
                ),
                Some(_) => self.integer_sum(&mut body, &format!("y{m}_{v}"), *lanes, None),
            };
            sums.push(vectors.iter().enumerate().map(sum).collect());
        }
        if inputs > 1 || tile.has_overlap() {
            let (x, walk) = self.stride("channel", parts.x, (x_width, length), false);
            let (w, w_walk) = self.walk("w", parts.w, packed * work.count, false);
            let mut walks = vec![walk, w_walk];
            let mut loaded = Loaded { all: x.at(first), last: None };
            if tile.has_overlap() {
                let (x, walk) = self.stride("channel_again", parts.x, (x_width, length), false);
                loaded.last = Some(x.at(first));
                self.unrelated(walk.window);
                walks.push(walk);
            }
            if work.count == 1 {
                self.kept(&walks[0], tile);
            } else if self.lowering.isa.lanes > 1 && inputs * work.count <= FEW_TAPS {
                self.unrolled_by(&walks[0], 1);
            }
            let mut channel = Vec::new();
            self.taps(&mut channel, &work.taps, loaded, w, tile, &sums);
            body.push(Stmt::repeat(inputs, walks, channel));
        } else {
            let loaded = Loaded { all: parts.x.at(first), last: None };
            self.taps(&mut body, &work.taps, loaded, parts.w, tile, &sums);
        }
        // an overlapping last vector is stored after all others
        let last = if tile.has_overlap() { vectors.len() - 1 } else { vectors.len() };
        let others = channels.clone().flat_map(|m| (0..last).map(move |v| (m, v)));
        let lasts = channels.clone().flat_map(|m| (last..vectors.len()).map(move |v| (m, v)));
        for (m, v) in others.chain(lasts) {
            let ((at, lanes), sum) = (vectors[v], Expr::Var(sums[m - channels.start][v]));
            let place = |(place, along): (&Place, &Along)| match along {
                Along::Both => place.at(m * positions + at),
                Along::Columns => place.at(at),
                Along::Rows => place.at(m),
                Along::Nothing => *place,
            };
            let operands: Vec<_> = parts.operands.iter().zip(&work.along).map(place).collect();
            let sum = parts.scales.map_or(sum.clone(), |scales| {
                [scales.w.at(m), scales.x]
                    .into_iter()
                    .fold(op(LaneOp::FromSigned, vec![sum]), |sum, from| {
                        op(LaneOp::Mul, vec![sum, Expr::Splat { from, lanes }])
                    })
            });
            let value = self.finish_vector(&mut body, &work.epilogue, sum, lanes, &operands);
            body.push(Stmt::Store { to: parts.out.at(m * positions + at), value });
        }
        body
    }

    /// The taps of one channel, in order: a loop over each dimension, because in unrolled code LLVM
    /// sees that vectors of neighbouring taps share elements and assembles one vector from another:
    /// three times as long. Few taps are unrolled on cores without vectors.
    fn taps(
        &mut self,
        body: &mut Vec<Stmt>,
        taps: &[Vec<TapLoop>],
        loaded: Loaded,
        w: Place,
        tile: &Tile<'_>,
        sums: &[Vec<Var>],
    ) {
        if self.lowering.isa.lanes == 1
            && sums.len() * tile.vectors.len() * offsets(taps).len() <= MOST_IN_LINE
        {
            for (tap, at) in offsets(taps).into_iter().enumerate() {
                self.tap(body, loaded.at(at), w.at(tap * tile.packed), tile, sums);
            }
            return;
        }
        let Some((along, rest)) = taps.split_first() else {
            return self.tap(body, loaded, w, tile, sums);
        };
        let mut done = 0;
        for tap_loop in along {
            let first = (loaded.at(tap_loop.first), w.at(done * offsets(rest).len() * tile.packed));
            done += tap_loop.outer.0 * tap_loop.inner.0;
            let loops: Vec<_> =
                [tap_loop.outer, tap_loop.inner].into_iter().filter(|l| l.0 > 1).collect();
            self.tap_loops(body, &loops, rest, first, tile, sums);
        }
    }

    /// The taps of one channel along one dimension in nested `loops`. Each iteration adds the taps
    /// along the remaining dimensions. The window of a loop reaches over all taps inside.
    fn tap_loops(
        &mut self,
        body: &mut Vec<Stmt>,
        loops: &[(usize, usize)],
        rest: &[Vec<TapLoop>],
        (loaded, w): (Loaded, Place),
        tile: &Tile<'_>,
        sums: &[Vec<Var>],
    ) {
        let Some((&(count, stride), inner)) = loops.split_first() else {
            return self.taps(body, rest, loaded, w, tile, sums);
        };
        let inside = offsets(rest);
        let within: usize = inner.iter().map(|(count, stride)| (count - 1) * stride).sum();
        let taps = inner.iter().map(|(count, _)| count).product::<usize>() * inside.len();
        let (last, lanes) = *tile.vectors.last().expect("lower: a tile has vectors");
        let most = inside.iter().max().expect("check: a window has taps");
        let len = within + most + last + lanes;
        let (all, walk) = self.stride("tap", loaded.all, (len, stride), false);
        let (w, w_walk) = self.walk("w", w, tile.packed * taps, false);
        let mut walks = vec![walk, w_walk];
        let last = loaded.last.map(|last| {
            let (last, walk) = self.stride("tap_again", last, (len, stride), false);
            walks.push(walk);
            last
        });
        let mut iteration = Vec::new();
        if taps == 1 {
            self.kept(&walks[0], tile);
        }
        self.tap_loops(&mut iteration, inner, rest, (Loaded { all, last }, w), tile, sums);
        body.push(Stmt::repeat(count, walks, iteration));
    }

    /// Stops compilers from unrolling a loop over taps or channels, if a weight multiplies one
    /// vector only. In an unrolled loop LLVM may compute each sum into the register of its weight,
    /// and spills if two registers per sum and one for x exceed the registers (8 channels, 8 taps
    /// on AVX2: 1.57 times as long).
    fn kept(&mut self, walk: &Walk, tile: &Tile<'_>) {
        if tile.vectors.len() == 1 && 2 * tile.channels.len() + 1 > self.lowering.isa.registers {
            self.unrolled_by(walk, 1);
        }
    }

    /// One tap, or one pair of taps, of one channel.
    fn tap(
        &mut self,
        body: &mut Vec<Stmt>,
        loaded: Loaded,
        w: Place,
        tile: &Tile<'_>,
        sums: &[Vec<Var>],
    ) {
        let vectors = tile.vectors;
        let weights: Vec<Place> = tile.channels.clone().map(|m| w.at(m)).collect();
        // integer sums take words as bits, f32 sums take floats
        let as_word = self.locals()[sums[0][0].0].ty.scalar == Scalar::U32;
        let taken = |value: Expr| if as_word { op(LaneOp::ToBits, vec![value]) } else { value };
        let held =
            |this: &mut Self, body: &mut Vec<Stmt>, name: &str, lanes: usize, value: Expr| {
                match as_word {
                    true => this.let_bits(body, name, lanes, taken(value)),
                    false => this.let_(body, name, lanes, value),
                }
            };
        let add = |sum: Var, x: Expr, w: Expr| {
            let operation = if as_word { LaneOp::DotPairs } else { LaneOp::MulAdd };
            Stmt::Set { var: sum, value: op(operation, vec![x, w, Expr::Var(sum)]) }
        };
        // variables hold the weights or the vectors of x, whichever are fewer
        if weights.len() < vectors.len() {
            let mut known: Vec<(usize, Vec<Expr>)> = Vec::new();
            for (v, &(_, lanes)) in vectors.iter().enumerate() {
                let from = loaded.vector(tile, v);
                if known.iter().all(|(known, _)| *known != lanes) {
                    let splat =
                        |w: &Place| held(self, body, "w_k", lanes, Expr::Splat { from: *w, lanes });
                    known.push((lanes, weights.iter().map(splat).collect()));
                }
                let (_, of_width) =
                    known.iter().find(|(known, _)| *known == lanes).expect("lower: held above");
                let x = match weights.len() {
                    1 => taken(load(from, lanes)),
                    _ => held(self, body, "x_k", lanes, load(from, lanes)),
                };
                for (w, sums) in of_width.iter().zip(sums) {
                    body.push(add(sums[v], x.clone(), w.clone()));
                }
            }
            return;
        }
        let x = vectors.iter().enumerate().map(|(v, &(_, lanes))| {
            let value = load(loaded.vector(tile, v), lanes);
            held(self, body, "x_k", lanes, value)
        });
        let x: Vec<_> = x.collect();
        for (w, sums) in weights.iter().zip(sums) {
            let mut known: Vec<(usize, Expr)> = Vec::new();
            for ((x, sum), &(_, lanes)) in x.iter().zip(sums).zip(vectors) {
                let w = match known.iter().find(|(l, _)| *l == lanes) {
                    Some((_, w)) => w.clone(),
                    None => {
                        let w = held(self, body, "w_k", lanes, Expr::Splat { from: *w, lanes });
                        known.push((lanes, w.clone()));
                        w
                    }
                };
                body.push(add(*sum, x.clone(), w));
            }
        }
    }
}

/// The numbers of taps by dimension: `3 x 3`.
fn shape(taps: &[Vec<TapLoop>]) -> String {
    window_shape(taps).iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}
