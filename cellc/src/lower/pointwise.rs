//! Pointwise work: in a kernel of its own, or as the epilogue of an operation with its result in
//! registers.

use std::ops::Range;

use super::builder::{KernelBuilder, Lowered, MovingPlace, load};
use super::product::Column;
use super::reduce::ReducedRow;
use crate::core::{CoreOp, Pointwise, PointwiseFunction, Reduce, Source};
use crate::kernel::{Expr, Place, Stmt, Walk};
use crate::model::{Binary, CurveShape};
use crate::plan::{self, Along};

/// The names of the windows that an iteration reads and writes, `width` elements each.
pub(super) fn names_of_windows(width: usize) -> [&'static str; 2] {
    if width == 1 { ["element", "out_element"] } else { ["lanes", "out_lanes"] }
}

/// The pointwise operations fused into an operation. The result of the operation has rows with a
/// fixed number of columns.
#[derive(Clone)]
pub(super) struct Epilogue<'m> {
    /// The value to which the pointwise operations are applied.
    root: usize,
    links: Vec<&'m Pointwise>,
    /// The other operands, each with its layout along rows and columns.
    operands: Vec<(Source, Along)>,
}

impl Epilogue<'_> {
    /// By operand: true if the operand has an element for each column.
    pub(super) fn by_column(&self) -> Vec<bool> {
        self.operands
            .iter()
            .map(|(_, along)| matches!(along, Along::Both | Along::Columns))
            .collect()
    }

    /// True if the epilogue has at most [`MOST_SHORT`] operations of few instructions each.
    pub(super) fn is_short(&self) -> bool {
        let is_short = |link: &&Pointwise| match link.function {
            PointwiseFunction::Binary(binary) => binary != Binary::Divide,
            PointwiseFunction::PRelu => true,
            PointwiseFunction::Math(function) => match function.curve() {
                CurveShape::Ramp | CurveShape::Bend => true,
                CurveShape::Curve | CurveShape::Logistic | CurveShape::Stairs => false,
            },
            PointwiseFunction::Less
            | PointwiseFunction::LessEqual
            | PointwiseFunction::Equal
            | PointwiseFunction::Select => false,
        };
        self.links.len() <= MOST_SHORT && self.links.iter().all(is_short)
    }

    /// The other operands, each with its layout along rows and columns.
    pub(super) fn operands(&self) -> &[(Source, Along)] {
        &self.operands
    }

    /// By operand: its layout along rows and columns.
    pub(super) fn along(&self) -> Vec<Along> {
        self.operands.iter().map(|(_, along)| *along).collect()
    }

    /// The names of the operations, for comments: `, add, relu`.
    pub(super) fn names(&self) -> String {
        self.links.iter().map(|link| format!(", {}", link.function.name())).collect()
    }
}

/// The epilogue of a product, with its result and operands as columns along the units.
#[derive(Clone)]
pub(super) struct End<'m> {
    epilogue: Epilogue<'m>,
    /// The result, then the operands.
    columns: Vec<Column>,
}

impl<'m> End<'m> {
    /// The result, then the operands.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns with elements of their own for each row, for a loop over tiles of `rows` rows.
    pub(super) fn rows(&self, units: usize, rows: usize) -> Vec<MovingPlace> {
        let moving = self.columns.iter().filter(|c| c.each_row);
        moving.map(|c| MovingPlace::new(c.name, c.start, rows * c.row(units), c.written)).collect()
    }

    /// The epilogue for one tile, at the `places` of a loop over [`Self::rows`].
    pub(super) fn at(&self, places: &[Place]) -> Self {
        let mut end = self.clone();
        for (column, place) in end.columns.iter_mut().filter(|c| c.each_row).zip(places) {
            column.start = *place;
        }
        end
    }

    /// The names of the operations, for comments: `, add, relu`.
    pub(super) fn names(&self) -> String {
        self.epilogue.names()
    }

    /// Computes and stores one vector of the result. `places` are the places of [`Self::columns`]
    /// for a panel; `lane` is the first column of the vector.
    pub(super) fn store(
        &self,
        builder: &mut KernelBuilder<'_, 'm>,
        body: &mut Vec<Stmt>,
        places: &[Place],
        (lane, lanes): (usize, usize),
        value: Expr,
    ) {
        let place = |(place, column): (&Place, &Column)| place.at(column.width * lane);
        let places: Vec<_> = places.iter().zip(&self.columns).map(place).collect();
        let value = builder.finish_vector(body, &self.epilogue, value, lanes, &places[1..]);
        body.push(Stmt::Store { to: places[0], value });
    }
}

/// The most operations in one expression. After this many, a variable holds the value, to
/// limit nesting.
const MOST_NESTED: usize = 16;

/// The most operations of a short epilogue.
const MOST_SHORT: usize = 4;

/// Loops over vectors with at most this many iterations are unrolled.
const FEW: usize = 4;

impl<'m> KernelBuilder<'_, 'm> {
    /// The epilogue of the operation that computes `root`, for rows of `columns` elements.
    pub(super) fn epilogue(&self, root: usize, columns: usize) -> Epilogue<'m> {
        let links = self.links(root);
        let handed_on = self.handed_on(root);
        let mut operands: Vec<(Source, Along)> = Vec::new();
        for link in &links {
            let shape = &self.lowering.model.values[link.out].shape;
            for &input in link.inputs.iter().filter(|input| !is_among(handed_on, **input)) {
                let along = plan::along(shape, self.lowering.model.shape(input), columns);
                let operand =
                    (input, along.expect("plan: fused operands lie along rows and columns"));
                if !operands.contains(&operand) {
                    operands.push(operand);
                }
            }
        }
        Epilogue { root, links, operands }
    }

    /// The epilogue of a product, with its result and operands as columns.
    pub(super) fn end(&mut self, root: usize, columns: usize) -> End<'m> {
        let epilogue = self.epilogue(root, columns);
        let mut columns = vec![Column::new("out", self.stored(root), true)];
        let column = |(source, along): &(Source, Along)| Column {
            width: usize::from(matches!(along, Along::Both | Along::Columns)),
            each_row: matches!(along, Along::Both | Along::Rows),
            ..Column::new("operand", self.lowering.source(*source), false)
        };
        columns.extend(epilogue.operands.iter().map(column));
        End { epilogue, columns }
    }

    /// The place of the last fused operation's result, or of `root` if nothing is fused.
    pub(super) fn stored(&mut self, root: usize) -> Place {
        let last = self.lowering.plan.fusion.links(root).last().copied().unwrap_or(root);
        self.lowering.source(Source::Value(last))
    }

    fn links(&self, root: usize) -> Vec<&'m Pointwise> {
        let link = |value: &usize| match &self.lowering.producers[value].op {
            CoreOp::Pointwise(pointwise) => pointwise,
            _ => unreachable!("plan: only pointwise operations are fused"),
        };
        self.lowering.plan.fusion.links(root).iter().map(link).collect()
    }

    /// The values that the fused operations hand on in registers.
    fn handed_on(&self, root: usize) -> &'m [usize] {
        self.lowering.plan.fusion.starting(root).map_or(&[], |chain| &chain.handed_on)
    }

    /// The operands of an epilogue: place and elements per row. `None` if all rows share the
    /// elements.
    pub(super) fn operand_rows(
        &mut self,
        epilogue: &Epilogue<'m>,
        columns: usize,
    ) -> Vec<(Place, Option<usize>)> {
        let row = |(source, along): &(Source, Along)| {
            let place = self.lowering.source(*source);
            match along {
                Along::Both => (place, Some(columns)),
                Along::Rows => (place, Some(1)),
                Along::Columns | Along::Nothing => (place, None),
            }
        };
        epilogue.operands.iter().map(row).collect()
    }

    /// Applies the epilogue to one vector of an operation's result. `operands` are the places of
    /// the operands at the first column of the vector, or of their single element.
    pub(super) fn finish_vector(
        &mut self,
        body: &mut Vec<Stmt>,
        epilogue: &Epilogue<'m>,
        value: Expr,
        lanes: usize,
        operands: &[Place],
    ) -> Expr {
        let operand = |i: usize| {
            let from = operands[i];
            match epilogue.operands[i].1 {
                Along::Both | Along::Columns => load(from, lanes),
                Along::Rows | Along::Nothing => Expr::Splat { from, lanes },
            }
        };
        self.finish_with(body, epilogue, value, lanes, &operand)
    }

    /// Applies the epilogue to one vector of an operation's result. `operand(i)` is the vector of
    /// operand `i`.
    pub(super) fn finish_with(
        &mut self,
        body: &mut Vec<Stmt>,
        epilogue: &Epilogue<'m>,
        mut value: Expr,
        lanes: usize,
        operand: &dyn Fn(usize) -> Expr,
    ) -> Expr {
        value = self.flushed_result(epilogue.root, value);
        for (nth, link) in epilogue.links.iter().enumerate() {
            let inputs: Vec<Option<usize>> = link
                .inputs
                .iter()
                .map(|input| epilogue.operands.iter().position(|(s, _)| s == input))
                .collect();
            if inputs.iter().filter(|i| i.is_none()).count() > 1 || is_deep(nth) {
                value = self.let_(body, "v", lanes, value);
            }
            let taken =
                |i: usize| self.lowering.flushed_element(epilogue.operands[i].0, operand(i));
            let args = inputs.into_iter().map(|i| i.map_or_else(|| value.clone(), taken));
            let args = args.collect();
            value = self.apply(body, link, args, lanes);
            value = self.flushed_result(link.out, value);
        }
        value
    }

    /// A Select with a branch: only the chosen operand is computed, and the result is a copy.
    fn join(&mut self, select: &'m Pointwise) -> Lowered {
        let (to, len) = (
            self.lowering.source(Source::Value(select.out)),
            self.lowering.len(Source::Value(select.out)),
        );
        let flushed = self.lowering.denormals.is_flushed_at(select.out);
        let mut copied = |source: Source| {
            let from = self.lowering.source(source);
            match flushed {
                true => self.flushed_copy(from, to, len),
                false => self.copy_tensor(source, from, to),
            }
        };
        let (then, otherwise) = (copied(select.inputs[1]), copied(select.inputs[2]));
        let less = self.side(select.inputs[0], true);
        Lowered::new(
            "What a condition chooses.".to_owned(),
            vec![Stmt::If { less, then, otherwise }],
        )
    }

    /// Pointwise work in a kernel of its own: nested loops over the merged dimensions of the
    /// operands.
    pub(super) fn pointwise(&mut self, root: &'m Pointwise) -> Lowered {
        if self.lowering.plan.branches.is_join(root.out) {
            return self.join(root);
        }
        let work = self.chain(root);
        let names: Vec<&str> = work.links.iter().map(|link| link.function.name()).collect();
        let names = names.join(", ");
        let shape = &self.lowering.model.values[root.out].shape;
        let axes_repeated = |&s: &Source| repeated(shape, self.lowering.model.shape(s));
        let mut repeats: Vec<Vec<bool>> = work.sources.iter().map(axes_repeated).collect();
        let places: Vec<Place> = work.sources.iter().map(|&s| self.lowering.source(s)).collect();
        let chain = self.lowering.plan.fusion.starting(root.out);
        if let Some(reduced) = chain.and_then(|chain| chain.reduced) {
            let CoreOp::Reduce(reduce) = &self.lowering.producers[&reduced].op else {
                unreachable!("plan: a reduction reads the chain")
            };
            let part = |axes: Range<usize>| -> Vec<Vec<bool>> {
                repeats.iter().map(|operand| operand[axes.clone()].to_vec()).collect()
            };
            let mut dims = merged(&shape[..reduce.first], &part(0..reduce.first));
            dims.retain(|(size, _)| *size > 1);
            let axes = reduce.first..shape.len();
            let size = shape[axes.clone()].iter().product();
            let shared = part(axes).iter().map(|operand| operand.contains(&true)).collect();
            let out = self.lowering.source(Source::Value(reduced));
            let body = self.rows(&work, reduce, (&dims, &(size, shared)), &places, out);
            let name = reduce.combiner.function().name();
            return Lowered::new(
                format!("Rows of {size} elements by {name}, each first: {names}."),
                body,
            );
        }
        let out = self.stored(root.out);
        let steps = self.lowering.steps;
        let mut shape = shape.clone();
        if steps > 1 {
            shape.push(steps);
            for (repeats, source) in repeats.iter_mut().zip(&work.sources) {
                repeats.push(matches!(source, Source::Constant(_)));
            }
        }
        let dims = merged(&shape, &repeats);
        let body = self.level(&work, &dims, &places, out);
        Lowered::new(format!("Element by element: {names}."), body)
    }

    /// The pointwise operations from `root` on, and their operands in memory.
    fn chain(&self, root: &'m Pointwise) -> PointwiseChain<'m> {
        let mut links = vec![root];
        links.extend(self.links(root.out));
        let handed_on = self.handed_on(root.out);
        let mut sources: Vec<Source> = Vec::new();
        for &input in links.iter().flat_map(|link| &link.inputs) {
            if !sources.contains(&input) && !is_among(handed_on, input) {
                sources.push(input);
            }
        }
        PointwiseChain { links, sources }
    }

    /// Reductions whose elements pointwise work computes on the fly: loops over the dimensions
    /// before the reduced ones, and in them the reduction of a row.
    fn rows(
        &mut self,
        work: &PointwiseChain<'m>,
        reduce: &Reduce,
        (dims, row): (&[Dim], &Dim),
        places: &[Place],
        out: Place,
    ) -> Vec<Stmt> {
        let Some(((count, repeats), inner)) = dims.split_first() else {
            let from = places.iter().copied().zip(row.1.iter().copied()).collect();
            let row = ReducedRow { from, ..ReducedRow::new(row.0, reduce.chains, out) };
            return self.reduce_elements(reduce, row, out, |builder, body, elements, lanes| {
                builder.result(work, body, lanes, &elements.operands)
            });
        };
        let len = |operand: usize| -> usize {
            let size_read = |(size, repeats): &Dim| if repeats[operand] { 1 } else { *size };
            inner.iter().chain([row]).map(size_read).product()
        };
        let mut walks: Vec<Walk> = Vec::new();
        let mut within = Vec::new();
        for (i, (&place, repeated)) in places.iter().zip(repeats).enumerate() {
            let mut place = place;
            if !repeated {
                let (part, walk) = self.walk("part", place, len(i), false);
                walks.push(walk);
                place = part;
            }
            within.push(place);
        }
        let rows = inner.iter().map(|(size, _)| size).product();
        let (to, walk) = self.walk("out_part", out, rows, true);
        walks.push(walk);
        let body = self.rows(work, reduce, (inner, row), &within, to);
        vec![Stmt::repeat(*count, walks, body)]
    }

    fn level(
        &mut self,
        work: &PointwiseChain<'m>,
        dims: &[(usize, Vec<bool>)],
        places: &[Place],
        out: Place,
    ) -> Vec<Stmt> {
        let (size, repeats) = &dims[0];
        if dims.len() == 1 {
            return self.innermost(work, *size, repeats, places, out);
        }
        let mut walks: Vec<Walk> = Vec::new();
        let mut inner = Vec::new();
        for (i, (&place, repeated)) in places.iter().zip(repeats).enumerate() {
            if *repeated {
                inner.push(place);
                continue;
            }
            let len = dims[1..].iter().filter(|(_, r)| !r[i]).map(|(n, _)| n).product();
            let (place, walk) = self.walk("part", place, len, false);
            inner.push(place);
            walks.push(walk);
        }
        let len = dims[1..].iter().map(|(n, _)| n).product();
        let (to, walk) = self.walk("out_part", out, len, true);
        walks.push(walk);
        let body = self.level(work, &dims[1..], &inner, to);
        vec![Stmt::repeat(*size, walks, body)]
    }

    fn innermost(
        &mut self,
        work: &PointwiseChain<'m>,
        size: usize,
        repeats: &[bool],
        places: &[Place],
        out: Place,
    ) -> Vec<Stmt> {
        let width = self.lowering.plan.width(self.lowering.isa);
        let mut body = Vec::new();
        let mut done = 0;
        if size / width > FEW {
            let names = names_of_windows(width);
            let mut walks = Vec::new();
            let mut inner = Vec::new();
            for (&place, repeated) in places.iter().zip(repeats) {
                if *repeated {
                    inner.push(place);
                    continue;
                }
                let (place, walk) = self.walk(names[0], place, width, false);
                inner.push(place);
                walks.push(walk);
            }
            let (to, walk) = self.walk(names[1], out, width, true);
            walks.push(walk);
            let mut iteration = Vec::new();
            self.vector(work, &mut iteration, width, repeats, &inner, to);
            body.push(Stmt::repeat(size / width, walks, iteration));
            done = size / width * width;
        }
        for (at, lanes) in plan::vectors(size - done, width) {
            let at = done + at;
            let places: Vec<Place> = places
                .iter()
                .zip(repeats)
                .map(|(place, repeated)| if *repeated { *place } else { place.at(at) })
                .collect();
            self.vector(work, &mut body, lanes, repeats, &places, out.at(at));
        }
        body
    }

    fn vector(
        &mut self,
        work: &PointwiseChain<'m>,
        body: &mut Vec<Stmt>,
        lanes: usize,
        repeats: &[bool],
        places: &[Place],
        out: Place,
    ) {
        let operand = |(&from, &shared): (&Place, &bool)| match shared {
            true => Expr::Splat { from, lanes },
            false => load(from, lanes),
        };
        let operands: Vec<Expr> = places.iter().zip(repeats).map(operand).collect();
        let value = self.result(work, body, lanes, &operands);
        body.push(Stmt::Store { to: out, value });
    }

    /// One vector of the result of a chain. `operands` are the vectors of the operands in memory.
    fn result(
        &mut self,
        work: &PointwiseChain<'m>,
        body: &mut Vec<Stmt>,
        lanes: usize,
        operands: &[Expr],
    ) -> Expr {
        let mut value: Option<Expr> = None;
        for (nth, link) in work.links.iter().enumerate() {
            let chained = link.inputs.iter().filter(|input| !work.sources.contains(input)).count();
            if let Some(before) = value.take_if(|_| chained > 1 || is_deep(nth)) {
                value = Some(self.let_(body, "v", lanes, before));
            }
            let args = link
                .inputs
                .iter()
                .map(|input| match work.sources.iter().position(|s| s == input) {
                    Some(i) => self.lowering.flushed_element(*input, operands[i].clone()),
                    None => value.clone().expect("plan: a link follows what it reads"),
                })
                .collect();
            let made = self.apply(body, link, args, lanes);
            value = Some(self.flushed_result(link.out, made));
        }
        value.expect("lower: there is an operation")
    }
}

/// True if the value before the `nth` operation of a chain must become a variable.
fn is_deep(nth: usize) -> bool {
    nth > 0 && nth.is_multiple_of(MOST_NESTED)
}

/// True if a tensor is one of `values`.
fn is_among(values: &[usize], source: Source) -> bool {
    matches!(source, Source::Value(value) if values.contains(&value))
}

/// The size of a dimension, and by operand: true if the operand is broadcast along the dimension.
type Dim = (usize, Vec<bool>);

/// A chain of pointwise operations, and the operands that memory holds.
struct PointwiseChain<'m> {
    links: Vec<&'m Pointwise>,
    sources: Vec<Source>,
}

/// By dimension of `shape`: true if an operand is broadcast along the dimension.
fn repeated(shape: &[usize], operand: &[usize]) -> Vec<bool> {
    let missing = shape.len().saturating_sub(operand.len());
    let operand_size = |axis: usize| if axis < missing { 1 } else { operand[axis - missing] };
    shape.iter().enumerate().map(|(axis, &n)| n > 1 && operand_size(axis) == 1).collect()
}

/// The dimensions of a shape, merged if all operands treat neighbours alike. Dimensions of size 1
/// are dropped.
fn merged(shape: &[usize], repeats: &[Vec<bool>]) -> Vec<(usize, Vec<bool>)> {
    let mut dims: Vec<(usize, Vec<bool>)> = Vec::new();
    for (axis, &size) in shape.iter().enumerate().filter(|(_, n)| **n > 1) {
        let repeated: Vec<bool> = repeats.iter().map(|r| r[axis]).collect();
        match dims.last_mut() {
            Some((n, before)) if *before == repeated => *n *= size,
            _ => dims.push((size, repeated)),
        }
    }
    if dims.is_empty() {
        dims.push((1, vec![false; repeats.len()]));
    }
    dims
}
