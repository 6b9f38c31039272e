//! Linear attention. With a rate, a first pass over the matrix computes the sums of the delta rule.
//! The next pass writes the matrix and multiplies the new matrix by queries. Further passes
//! multiply by the queries whose sums do not fit the registers. Lanes are columns.

use super::builder::{KernelBuilder, Lowered, load, op};
use crate::core::{AttentionSizes, Decay, LinearAttention, Source};
use crate::kernel::{Expr, LaneOp, Place, Stmt, Var};
use crate::model::counted;
use crate::plan;

/// A tensor in loops over rows, heads and steps.
struct LoopTensor {
    name: &'static str,
    place: Place,
    /// Elements of one head in one step.
    len: usize,
    /// True if the tensor has elements for each step, with the heads of a step side by side.
    in_steps: bool,
    written: bool,
}

/// The places of one head in one step.
#[derive(Clone, Copy)]
struct Head {
    query: Option<Place>,
    key: Place,
    value: Place,
    decay: Option<Place>,
    rate: Option<Place>,
    /// The state matrix S before the step.
    before: Place,
    /// S after the step, possibly equal to `before`.
    after: Place,
    y: Option<Place>,
}

/// Some neighbouring columns of a head.
struct Columns<'a> {
    attention: &'a LinearAttention,
    /// The vectors of columns, as (first column, lanes).
    vectors: &'a [(usize, usize)],
    /// The number of columns.
    count: usize,
    head: Head,
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn linear_attention(&mut self, attention: &'m LinearAttention) -> Lowered {
        let mut body = Vec::new();
        let operands = self.operands_of_attention(attention, &mut body);
        body.extend(self.over_rows(attention, &operands));
        let AttentionSizes { batch, steps, heads, queries, key, value } = attention.sizes;
        let doc = format!(
            "Linear attention, {} of {}: {} of [{key}, {value}], {} each.",
            counted(batch, "row"),
            counted(steps, "step"),
            counted(heads, "head"),
            if queries == 1 { "1 query".to_owned() } else { format!("{queries} queries") },
        );
        Lowered::new(doc, body)
    }

    /// The tensors of the operation, in the order of the fields of [`Head`]. y is the last one, if
    /// wanted.
    fn operands_of_attention(
        &mut self,
        attention: &'m LinearAttention,
        body: &mut Vec<Stmt>,
    ) -> Vec<LoopTensor> {
        let AttentionSizes { steps, queries, key, value, .. } = attention.sizes;
        let of_decay = match attention.decay {
            Some(Decay::OfHeads(_)) | None => 1,
            Some(Decay::OfKeys(_)) => key,
        };
        let read = [
            // only y depends on the queries, so the queries are not read without y
            ("query", attention.y.map(|_| attention.query), queries * key),
            ("key", Some(attention.key), key),
            ("value", Some(attention.value), value),
            ("decay", attention.decay.map(Decay::source), of_decay),
            ("rate", attention.rate, 1),
        ];
        let mut operands = Vec::new();
        for (name, source, len) in read {
            let Some(source) = source else { continue };
            let place = self.lowering.source(source);
            let place = self.flushed_tensor(body, name, source, place);
            operands.push(LoopTensor { name, place, len, in_steps: true, written: false });
        }
        let matrix = attention.sizes.matrix();
        let before = self.lowering.source(attention.state);
        let after = match attention.last {
            Some(last) => self.lowering.source(Source::Value(last)),
            None => self.block("matrices", self.lowering.len(attention.state)),
        };
        let mut state = |name, place, written| {
            operands.push(LoopTensor { name, place, len: matrix, in_steps: false, written });
        };
        if steps == 1 && before != after {
            state("before", before, false);
        } else if before != after {
            body.extend(self.copy_tensor(attention.state, before, after));
        }
        state("matrix", after, true);
        if let Some(y) = attention.y {
            let place = self.lowering.source(Source::Value(y));
            let len = queries * value;
            operands.push(LoopTensor { name: "y", place, len, in_steps: true, written: true });
        }
        operands
    }

    /// Loops over rows, heads and steps.
    fn over_rows(&mut self, attention: &LinearAttention, operands: &[LoopTensor]) -> Vec<Stmt> {
        let AttentionSizes { batch, steps, heads, .. } = attention.sizes;
        let rows = |operand: &LoopTensor| if operand.in_steps { steps } else { 1 };
        let of_row = |operand: &LoopTensor| rows(operand) * heads * operand.len;
        let of_head =
            |operand: &LoopTensor| (rows(operand) - 1) * heads * operand.len + operand.len;
        let of_step = |operand: &LoopTensor| if operand.in_steps { heads * operand.len } else { 0 };
        let places: Vec<_> = operands.iter().map(|operand| operand.place).collect();
        let windows = |places: &[Place], len: &dyn Fn(&LoopTensor) -> (usize, usize)| {
            let tensors = operands.iter().zip(places);
            tensors
                .map(|(operand, place)| (operand.name, *place, len(operand), operand.written))
                .collect::<Vec<_>>()
        };
        let rows = windows(&places, &|operand| (of_row(operand), of_row(operand)));
        self.with_windows(batch, &rows, &mut |builder, places| {
            let heads_of_row = windows(places, &|operand| (of_head(operand), operand.len));
            builder.with_windows(heads, &heads_of_row, &mut |builder, places| {
                let steps_of_head = windows(places, &|operand| (operand.len, of_step(operand)));
                builder.with_windows(steps, &steps_of_head, &mut |builder, places| {
                    builder.head(attention, operands, places)
                })
            })
        })
    }

    /// A loop that moves windows, each with a length and a stride. For one iteration, the body
    /// without a loop.
    fn with_windows(
        &mut self,
        count: usize,
        windows: &[(&str, Place, (usize, usize), bool)],
        body: &mut dyn FnMut(&mut Self, &[Place]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        if count == 1 {
            let places: Vec<_> = windows.iter().map(|(_, place, ..)| *place).collect();
            return body(self, &places);
        }
        let (mut places, mut walks) = (Vec::new(), Vec::new());
        for &(name, place, (len, stride), written) in windows {
            // a window that stays in place
            if stride == 0 {
                places.push(place);
                continue;
            }
            let (place, walk) = self.stride(name, place, (len, stride), written);
            places.push(place);
            walks.push(walk);
        }
        let body = body(self, &places);
        vec![Stmt::repeat(count, walks, body)]
    }

    /// One step of one head.
    fn head(
        &mut self,
        attention: &LinearAttention,
        operands: &[LoopTensor],
        places: &[Place],
    ) -> Vec<Stmt> {
        let place = |name: &str| {
            let at = operands.iter().position(|operand| operand.name == name)?;
            Some(places[at])
        };
        let after = place("matrix").expect("lower: attention has a state");
        let needed = |name: &str| place(name).expect("lower: attention has its operands");
        let head = Head {
            query: place("query"),
            key: needed("key"),
            value: needed("value"),
            decay: place("decay"),
            rate: place("rate"),
            before: place("before").unwrap_or(after),
            after,
            y: place("y"),
        };
        let mut body = Vec::new();
        let read = self.read_keys(attention, &head, &mut body);
        let isa = self.lowering.isa;
        // a pass needs registers for the sums of one query and for the values to write
        let most = (plan::accumulators(isa) / (attention.chains() + 1)).max(1);
        let vectors = plan::vectors(attention.sizes.value, isa.lanes);
        let mut rest = &vectors[..];
        while let Some(&(first, _)) = rest.first() {
            let width = |pass: &[(usize, usize)]| pass.iter().map(|(_, lanes)| lanes).sum();
            let pass = &rest[..most.min(rest.len())];
            let columns: usize = width(pass);
            let alike = rest.chunks(most).take_while(|other| width(other) == columns).count();
            let from_first: Vec<_> = pass.iter().map(|(at, lanes)| (at - first, *lanes)).collect();
            let pass_vectors = self.lowering.plan.values.of_pass(&from_first, isa);
            body.extend(self.passes_of_head(
                attention,
                (first, columns, alike),
                &pass_vectors,
                (head, read),
            ));
            rest = &rest[(alike * pass.len()).min(rest.len())..];
        }
        body
    }

    /// The keys with which the delta rule reads the matrix. If each key has a decay, the keys times
    /// their decays.
    fn read_keys(
        &mut self,
        attention: &LinearAttention,
        head: &Head,
        body: &mut Vec<Stmt>,
    ) -> Place {
        let (Some(Decay::OfKeys(_)), Some(decay), Some(_)) =
            (attention.decay, head.decay, head.rate)
        else {
            return head.key;
        };
        let len = attention.sizes.key;
        let keys: Place = self.stack_or_state_buffer("decayed_keys", len, 1);
        for (at, lanes) in plan::vectors(len, self.lowering.isa.lanes) {
            let factors = [head.key, decay].map(|place| load(place.at(at), lanes));
            let value = op(LaneOp::Mul, factors.to_vec());
            body.push(Stmt::Store { to: keys.at(at), value });
        }
        keys
    }

    /// The passes over `alike` groups of `count` columns from `first` on.
    fn passes_of_head(
        &mut self,
        attention: &LinearAttention,
        (first, count, alike): (usize, usize, usize),
        vectors: &[(usize, usize)],
        (head, read): (Head, Place),
    ) -> Vec<Stmt> {
        let AttentionSizes { queries, key, value, .. } = attention.sizes;
        let of_matrix = ((key - 1) * value + count, count);
        let in_place = head.before == head.after;
        let mut windows = vec![
            ("value_part", head.value.at(first), (count, count), false),
            ("matrix_part", head.after.at(first), of_matrix, true),
        ];
        if !in_place {
            windows.push(("before_part", head.before.at(first), of_matrix, false));
        }
        if let Some(y) = head.y {
            windows.push(("y_part", y.at(first), ((queries - 1) * value + count, count), true));
        }
        self.with_windows(alike, &windows, &mut |builder, places| {
            let before = if in_place { places[1] } else { places[2] };
            let y = head.y.and(places.last().copied());
            let head = Head { value: places[0], after: places[1], before, y, ..head };
            builder.columns_of_head(&Columns { attention, vectors, count, head }, read)
        })
    }

    /// One step of some columns of a head.
    fn columns_of_head(&mut self, columns: &Columns<'_>, read: Place) -> Vec<Stmt> {
        let mut body = Vec::new();
        let added = self.added_values(columns, read, &mut body);
        let isa = self.lowering.isa;
        let attention = columns.attention;
        let count = match columns.head.y {
            Some(_) => attention.sizes.queries,
            None => 0,
        };
        let lanes: usize = columns.vectors.iter().map(|(_, lanes)| lanes.div_ceil(isa.lanes)).sum();
        let registers = plan::accumulators(isa).saturating_sub(lanes);
        let at_once = (registers / (lanes * attention.chains()).max(1)).max(1);
        let chains: Vec<usize> = (0..count).collect();
        let mut parts = chains.chunks(at_once);
        let first = parts.next().unwrap_or_default();
        self.sum_over_matrix(columns, first, Some(&added), &mut body);
        for part in parts {
            self.sum_over_matrix(columns, part, None, &mut body);
        }
        body
    }

    /// The values whose products with the keys are added to the matrix.
    fn added_values(
        &mut self,
        columns: &Columns<'_>,
        read: Place,
        body: &mut Vec<Stmt>,
    ) -> Vec<Expr> {
        let Columns { attention, head, vectors, .. } = columns;
        let Some(rate) = head.rate else {
            let value = |&(at, lanes)| (lanes, load(head.value.at(at), lanes));
            let values: Vec<_> = vectors.iter().map(value).collect();
            return values
                .into_iter()
                .map(|(lanes, value)| self.let_(body, "added", lanes, value))
                .collect();
        };
        let sums = self.matrix_sums(columns, body, "old");
        self.over_matrix(columns, (head.before, false), &[("read", read)], body, |this, at| {
            let mut iteration = Vec::new();
            for (chain, sums) in sums.iter().enumerate() {
                for (&(column, lanes), &var) in vectors.iter().zip(sums) {
                    let element = load(at.matrix.at(chain * attention.sizes.value + column), lanes);
                    let element = this.flushed_element(attention.state, element);
                    let factor = Expr::Splat { from: at.keys[0].at(chain), lanes };
                    let sum = op(LaneOp::MulAdd, vec![element, factor, Expr::Var(var)]);
                    iteration.push(Stmt::Set { var, value: sum });
                }
            }
            iteration
        });
        let mut added = Vec::new();
        for (v, &(column, lanes)) in vectors.iter().enumerate() {
            let mut old = total(sums.iter().map(|sums| Expr::Var(sums[v])).collect());
            if let (Some(Decay::OfHeads(_)), Some(decay)) = (attention.decay, head.decay) {
                old = op(LaneOp::Mul, vec![Expr::Splat { from: decay, lanes }, old]);
            }
            let wanted = load(head.value.at(column), lanes);
            let error = op(LaneOp::Sub, vec![wanted, old]);
            let value = op(LaneOp::Mul, vec![Expr::Splat { from: rate, lanes }, error]);
            added.push(self.let_(body, "added", lanes, value));
        }
        added
    }

    /// The products of some queries with the matrix. With added values, the matrix is written
    /// first.
    fn sum_over_matrix(
        &mut self,
        columns: &Columns<'_>,
        queries: &[usize],
        added: Option<&[Expr]>,
        body: &mut Vec<Stmt>,
    ) {
        let Columns { attention, head, vectors, .. } = columns;
        let AttentionSizes { key, value, .. } = attention.sizes;
        let sums: Vec<_> = queries.iter().map(|_| self.matrix_sums(columns, body, "y")).collect();
        // without y there are no queries
        let of_queries = head.query.into_iter();
        let of_queries = of_queries
            .flat_map(|place| queries.iter().map(move |query| ("query", place.at(query * key))));
        let mut keys: Vec<_> = of_queries.collect();
        let from = if added.is_some() { head.before } else { head.after };
        if added.is_some() {
            keys.push(("key", head.key));
        }
        let of_keys = matches!(attention.decay, Some(Decay::OfKeys(_)));
        if let Some(decay) = head.decay.filter(|_| added.is_some() && of_keys) {
            keys.push(("decay", decay));
        }
        let rows = (from, added.is_some());
        self.over_matrix(columns, rows, &keys, body, |this, rows| {
            let mut iteration = Vec::new();
            for (chain, v) in
                (0..attention.chains()).flat_map(|c| (0..vectors.len()).map(move |v| (c, v)))
            {
                let sums: Vec<_> = sums.iter().map(|sums| sums[chain][v]).collect();
                let added = added.map(|added| &added[v]);
                this.row_of_matrix(columns, (chain, v), (rows, added), &sums, &mut iteration);
            }
            iteration
        });
        let Some(y) = head.y else { return };
        for (query, sums) in queries.iter().zip(&sums) {
            for (v, &(column, lanes)) in vectors.iter().enumerate() {
                let sum = total(sums.iter().map(|sums| Expr::Var(sums[v])).collect());
                let scaled = op(LaneOp::Mul, vec![Expr::f32(attention.scale, lanes), sum]);
                let value_of_y = self.state(scaled);
                body.push(Stmt::Store { to: y.at(query * value + column), value: value_of_y });
            }
        }
    }

    /// Adds a vector of a row to the sums of the queries. With an added value, the vector is
    /// written first.
    fn row_of_matrix(
        &mut self,
        columns: &Columns<'_>,
        (chain, v): (usize, usize),
        (rows, added): (&RowWindows, Option<&Expr>),
        sums: &[Var],
        iteration: &mut Vec<Stmt>,
    ) {
        let (attention, (column, lanes)) = (columns.attention, columns.vectors[v]);
        let offset = chain * attention.sizes.value + column;
        let factor = |key: usize| Expr::Splat { from: rows.keys[key].at(chain), lanes };
        let mut element = load(rows.matrix.at(offset), lanes);
        if let Some(added) = added {
            element = self.flushed_element(attention.state, element);
            // the factors after those of the queries: the key, and the decay of each key
            let decay = match (attention.decay, columns.head.decay) {
                (Some(Decay::OfHeads(_)), Some(from)) => Some(Expr::Splat { from, lanes }),
                (Some(Decay::OfKeys(_)), _) => Some(factor(sums.len() + 1)),
                _ => None,
            };
            if let Some(decay) = decay {
                element = op(LaneOp::Mul, vec![element, decay]);
            }
            let new = op(LaneOp::MulAdd, vec![factor(sums.len()), added.clone(), element]);
            let new = self.state(new);
            element = self.let_(iteration, "new", lanes, new);
            iteration.push(Stmt::Store { to: rows.written.at(offset), value: element.clone() });
        } else {
            element = self.let_(iteration, "row", lanes, element);
        }
        for (query, &var) in sums.iter().enumerate() {
            let args = vec![element.clone(), factor(query), Expr::Var(var)];
            iteration.push(Stmt::Set { var, value: op(LaneOp::MulAdd, args) });
        }
    }

    /// Sums over the rows of a matrix, by chain and vector.
    fn matrix_sums(
        &mut self,
        columns: &Columns<'_>,
        body: &mut Vec<Stmt>,
        name: &str,
    ) -> Vec<Vec<Var>> {
        let chains = 0..columns.attention.chains();
        let chain = |_| {
            let vectors = columns.vectors.iter();
            vectors
                .map(|(_, lanes)| self.accumulator(body, name, *lanes, Expr::f32(0.0, *lanes)))
                .collect()
        };
        chains.map(chain).collect()
    }

    /// A loop over the rows of a matrix. Each iteration takes one row for each chain. `keys`: names
    /// and places of tensors with an element for each row.
    fn over_matrix(
        &mut self,
        columns: &Columns<'_>,
        (from, writes): (Place, bool),
        keys: &[(&str, Place)],
        body: &mut Vec<Stmt>,
        iteration: impl FnOnce(&mut Self, &RowWindows) -> Vec<Stmt>,
    ) {
        let (chains, sizes) = (columns.attention.chains(), columns.attention.sizes);
        let window = ((chains - 1) * sizes.value + columns.count, chains * sizes.value);
        let in_place = writes && from == columns.head.after;
        let mut windows = vec![("rows", from, window, in_place)];
        if writes && !in_place {
            windows.push(("rows_after", columns.head.after, window, true));
        }
        windows.extend(keys.iter().map(|(name, place)| (*name, *place, (chains, chains), false)));
        let mut iteration = Some(iteration);
        body.extend(self.with_windows(sizes.key / chains, &windows, &mut |builder, places| {
            let apart = usize::from(writes && !in_place);
            let rows = RowWindows {
                matrix: places[0],
                written: places[apart],
                keys: places[1 + apart..].to_vec(),
            };
            iteration.take().map_or_else(Vec::new, |iteration| iteration(builder, &rows))
        }));
    }
}

/// The windows of some rows of a matrix.
struct RowWindows {
    matrix: Place,
    written: Place,
    /// By tensor: the elements for these rows.
    keys: Vec<Place>,
}

/// The sum of chains, added in pairs.
fn total(mut chains: Vec<Expr>) -> Expr {
    while chains.len() > 1 {
        let second = chains.split_off(chains.len() / 2);
        let pairs = chains.into_iter().zip(second);
        chains = pairs.map(|(a, b)| op(LaneOp::Add, vec![a, b])).collect();
    }
    chains.remove(0)
}
