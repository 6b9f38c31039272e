//! The multiply-adds of a product: sums over the rows of packed weights of one phase.

use super::{PanelWeights, Rows, SumVector, Vectors, Words, added, first_row, suffix};
use crate::encoding::WeightFormat;
use crate::kernel::{Expr, LaneOp, Place, Stmt, Tiles, Var};
use crate::lower::builder::{load, op};
use crate::plan::{Panels, Phase, Values};

/// The accumulators of some neighbouring columns of a sum.
#[derive(Clone)]
struct Accumulator {
    /// The first of the columns, in elements or words from the start of a row of weights.
    at: usize,
    lanes: usize,
    /// One for each operand.
    vars: Vec<Var>,
}

/// An element of an operand, or a word of them, in every lane.
struct Splat {
    /// The index of the word, among the words that one word of weights multiplies.
    part: usize,
    lanes: usize,
    value: Expr,
}

/// How the rows of weights of a phase are multiplied and added.
struct Accumulation {
    /// The suffix of the phase in names.
    name: &'static str,
    /// One list per chain. Row k adds to chain `k % chains.len()`.
    chains: Vec<Vec<Accumulator>>,
    /// Words of integers, if the product has them.
    words: Option<Words>,
    /// The operations that multiply a word of weights, one for each word of elements; one for
    /// floats.
    operations: &'static [LaneOp],
    /// Elements of a row of weights. With interleaved words, elements of one of the interleaved
    /// rows.
    len: usize,
    /// Rows of weights.
    count: usize,
    /// Where the first row starts.
    rows: Place,
    /// True on one lane: words of integers are loaded in pairs, of neighbouring rows and of
    /// neighbouring columns.
    in_pairs: bool,
    /// The operation that multiplies a vector of weights by one lane of a vector of elements.
    by_lane: Option<fn(usize) -> LaneOp>,
}

/// The statements of one iteration of a loop over rows of weights.
struct Iteration {
    statements: Vec<Stmt>,
    /// Elements of the next row, loaded with those of the row before.
    next: Vec<Splat>,
    /// For each operand, a vector of words of elements, of which each row multiplies one lane.
    vectors: Vec<Option<Expr>>,
}

impl Rows<'_, '_, '_> {
    /// The sums over the rows of one phase: the chains, added up and scaled. One list for each of
    /// `vectors`, with an entry per part. `None` for parts of sums without weights in the phase.
    pub(super) fn accumulate(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        phase: Phase,
        weights: PanelWeights,
        vectors: &Vectors,
        parts: &[SumVector],
    ) -> Vec<Vec<Option<Expr>>> {
        let product = self.product();
        let words = self.words(phase);
        if let Some(words) = words.filter(|words| words.abreast > 1) {
            return self.accumulate_across(body, panels, phase, weights, vectors, (parts, words));
        }
        let operands = &vectors.rows(self.taken_at_once(phase))[..];
        let taking_part: Vec<_> =
            parts.iter().filter(|part| self.takes_part(phase, part)).collect();
        let registers = taking_part.iter().map(|part| part.lanes.div_ceil(self.lanes()));
        let chains = self.plan.chains(phase, registers.sum::<usize>() * operands.len(), self.isa());
        let len = product.row_of(phase, panels.columns, 0).1 / product.abreast;
        let rows = weights.rows.at(first_row(panels, phase));
        if let ([part], 1) = (parts, len)
            && self.chains_are_lanes(chains)
        {
            let sums = self.accumulate_chains(body, phase, rows, operands, part);
            let scaled = |sum| vec![Some(self.scaled(panels, weights, phase, part, sum, None))];
            return sums.into_iter().map(scaled).collect();
        }
        if taking_part.is_empty() {
            return vec![vec![None; parts.len()]; operands.len()];
        }
        let mut sum = Accumulation {
            name: suffix(phase),
            chains: vec![Vec::new(); chains],
            words,
            operations: words.map_or(&[LaneOp::MulAdd][..], |words| words.operations),
            len,
            count: words.map_or(product.phase_rows(phase), |words| {
                words.of_weights(product.phase_rows(phase))
            }),
            rows,
            in_pairs: self.loads_several() && words.is_some() && product.abreast == 1,
            by_lane: self.by_lane(phase, panels.columns),
        };
        for part in taking_part {
            let start = self.start(panels, phase, weights, part);
            let position = product.position(phase, part.sum);
            let at =
                product.row_of(phase, panels.columns, position).0 / product.abreast + part.lane;
            self.declare(body, &mut sum, part, (at, start), operands.len());
        }
        self.mark(&sum, phase, operands.len());
        let last = product.row_of(phase, panels.columns, product.active(phase) - 1).0;
        let between = if product.sums_are_apart(panels.columns) { last } else { 0 };
        self.add_rows(body, &sum, operands, (between, weights.short * product.abreast));
        sum.add_chains_of_integers(body);
        let row = |row: usize| {
            let mut sums = (0..).map(|part| sum.value(part, row));
            let each = |part: &SumVector| {
                let sum = self.takes_part(phase, part).then(|| sums.next()).flatten()?;
                Some(self.scaled(panels, weights, phase, part, sum, vectors.scale(row)))
            };
            parts.iter().map(each).collect()
        };
        (0..operands.len()).map(row).collect()
    }

    /// True if the sum of a part has rows of weights in a phase.
    fn takes_part(&self, phase: Phase, part: &SumVector) -> bool {
        self.product().sums[part.sum].gate(phase).is_some()
    }

    /// True if one lane has an instruction that loads several words.
    fn loads_several(&self) -> bool {
        self.isa().lanes == 1 && self.isa().code.loads > 1 && !self.has_one_text()
    }

    /// True if all instruction sets share the text of the loop over rows.
    fn has_one_text(&self) -> bool {
        self.builder.lowering.plan.values.of_product(self.product()) == Values::OneText
    }

    /// The operation of the instruction set that multiplies a vector of weights by one lane of a
    /// vector of words.
    fn by_lane(&self, phase: Phase, columns: usize) -> Option<fn(usize) -> LaneOp> {
        let in_word = self.words(phase)?.each;
        match in_word {
            _ if self.isa().by_lane().all(|own| own.in_word != in_word) => None,
            2 if self.product().is_apart(phase, columns) => Some(LaneOp::DotApart),
            4 => Some(LaneOp::DotQuadsOf),
            _ => None,
        }
    }

    /// Declares the accumulators of a part, whose first column stands at `at`: for each chain, one
    /// for each operand. The first chain of integers begins at `start`.
    fn declare(
        &mut self,
        body: &mut Vec<Stmt>,
        sum: &mut Accumulation,
        part: &SumVector,
        (at, start): (usize, Option<Expr>),
        operands: usize,
    ) {
        let chains = sum.chains.len();
        for (chain, accumulators) in sum.chains.iter_mut().enumerate() {
            let vars = (0..operands).map(|row| {
                let mut name = format!("{}_{}", part.name, sum.name);
                if chains > 1 {
                    name.push_str(&chain.to_string());
                }
                if operands > 1 {
                    name.push_str(&format!("_{row}"));
                }
                match sum.words {
                    Some(words) => {
                        let start = start.clone().filter(|_| words.is_unsigned && chain == 0);
                        self.builder.integer_sum(body, &name, part.lanes, start)
                    }
                    None => self.builder.accumulator(
                        body,
                        &name,
                        part.lanes,
                        Expr::f32(0.0, part.lanes),
                    ),
                }
            });
            accumulators.push(Accumulator { at, lanes: part.lanes, vars: vars.collect() });
        }
    }

    /// Marks the chains of a single gate, and the deferred sums.
    fn mark(&mut self, sum: &Accumulation, phase: Phase, operands: usize) {
        let vectors =
            || sum.chains.iter().flatten().filter(|all| all.lanes > 1).flat_map(|all| &all.vars);
        if phase == Phase::Input && self.keeps_late_apart() {
            self.builder.meanwhile(vectors());
        }
        // the sums of several operands are stored
        if sum.chains.len() > 1 && self.product().active(phase) == 1 && operands == 1 {
            self.builder.chains(vectors());
        }
    }

    /// Adds the terms of all rows: a loop over rows, several per iteration, then the remaining
    /// rows. The window of an iteration spans its rows and `between` elements more, from the first
    /// sum's rows to the last sum's rows, and ends `short` elements early.
    fn add_rows(
        &mut self,
        body: &mut Vec<Stmt>,
        sum: &Accumulation,
        operands: &[Place],
        (between, short): (usize, usize),
    ) {
        let format = self.product().format;
        let packed = |rows: usize| match sum.words {
            Some(_) => rows * sum.len,
            None => format.encoding(rows).len(rows) * sum.len,
        };
        let taken = self.rows_at_once(sum);
        let turns = sum.count / taken;
        // for each operand, where the words of each part start
        let words =
            |of: &Place| (0..sum.operations.len()).map(|part| of.at(part * sum.count)).collect();
        let operands: Vec<Vec<Place>> = operands.iter().map(words).collect();
        if turns > 1 {
            let step = packed(taken);
            let (row, walk) =
                self.builder.stride("row", sum.rows, (between + step - short, step), false);
            let bytes = step * format.encoding(0).element().size();
            if let ([_], Some(at_once)) =
                (&operands[..], self.plan.turns_at_once(turns, bytes, self.isa()))
            {
                self.builder.unrolled_by(&walk, at_once);
            }
            let mut walks = vec![walk];
            let mut elements = Vec::new();
            for parts in &operands {
                let mut windows = Vec::new();
                for part in parts {
                    let (window, walk) = self.builder.walk("element", *part, taken, false);
                    windows.push(window);
                    walks.push(walk);
                }
                elements.push(windows);
            }
            let statements = self.iteration(sum, row, &elements, taken);
            body.push(Stmt::For {
                count: turns,
                turn: None,
                backwards: None,
                walks,
                body: statements,
            });
        } else {
            body.extend(self.iteration(sum, sum.rows, &operands, turns * taken));
        }
        let done = turns * taken;
        let rest: Vec<Vec<_>> =
            operands.iter().map(|parts| parts.iter().map(|of| of.at(done)).collect()).collect();
        body.extend(self.iteration(sum, sum.rows.at(packed(done)), &rest, sum.count - done));
    }

    /// Rows of weights per iteration.
    fn rows_at_once(&self, sum: &Accumulation) -> usize {
        let chains = sum.chains.len();
        let mut rows = self.plan.turn_rows(chains, self.isa());
        if sum.in_pairs {
            // a single iteration becomes two, or four with two operations, as code memory is scarce
            rows *= if sum.operations.len() == 1 { 2 } else { 1 };
            rows = if sum.count == rows { rows / 2 / sum.operations.len() } else { rows };
        }
        rows
    }

    /// The multiply-adds of `taken` rows of weights that start at `rows`, by the elements of each
    /// operand.
    fn iteration(
        &mut self,
        sum: &Accumulation,
        rows: Place,
        elements: &[Vec<Place>],
        taken: usize,
    ) -> Vec<Stmt> {
        let vectors = vec![None; elements.len()];
        let mut iteration = Iteration { statements: Vec::new(), next: Vec::new(), vectors };
        for k in 0..taken {
            self.add_row(&mut iteration, sum, rows, elements, (k, taken));
        }
        iteration.statements
    }

    /// The multiply-adds of row `k` of `taken`.
    fn add_row(
        &mut self,
        iteration: &mut Iteration,
        sum: &Accumulation,
        rows: Place,
        elements: &[Vec<Place>],
        (k, taken): (usize, usize),
    ) {
        let lanes = self.isa().lanes;
        let lane = k % lanes;
        if lane == 0 {
            iteration.vectors.fill(None);
        }
        let lane_of_vector = (k - lane + lanes <= taken).then_some(lane);
        let mut splats: Vec<Vec<Splat>> = elements.iter().map(|_| Vec::new()).collect();
        if let [parts] = elements
            && sum.in_pairs
        {
            splats[0] = self.elements_of_two_rows(iteration, sum, parts, (k, taken));
        }
        for group in sum.loaded_together(k, self.loads_several()) {
            let mut weights = Vec::new();
            for accumulator in &group {
                weights.push(self.named_weight(
                    iteration,
                    sum,
                    (rows, k),
                    accumulator,
                    elements.len(),
                ));
            }
            for ((row, elements), splats) in elements.iter().enumerate().zip(&mut splats) {
                for (part, (element, operation)) in elements.iter().zip(sum.operations).enumerate()
                {
                    for (accumulator, weight) in group.iter().zip(&weights) {
                        let by_lane = sum.by_lane.filter(|_| accumulator.lanes == lanes);
                        let operation =
                            by_lane.map_or(*operation, |of| of(lane_of_vector.unwrap_or(0)));
                        let value = match lane_of_vector {
                            Some(lane) if by_lane.is_some() => {
                                self.vector(iteration, sum, row, element.at(k - lane))
                            }
                            _ => self.splat(
                                iteration,
                                sum,
                                splats,
                                (part, accumulator.lanes),
                                element.at(k),
                            ),
                        };
                        let var = accumulator.vars[row];
                        let args = vec![weight.clone(), value, Expr::Var(var)];
                        iteration.statements.push(Stmt::Set { var, value: op(operation, args) });
                    }
                }
            }
        }
    }

    /// The words of elements of row `k`. One instruction loads the words of rows k and k + 1, if
    /// row k + 1 exists.
    fn elements_of_two_rows(
        &mut self,
        iteration: &mut Iteration,
        sum: &Accumulation,
        parts: &[Place],
        (k, taken): (usize, usize),
    ) -> Vec<Splat> {
        let mut splats = std::mem::take(&mut iteration.next);
        if splats.is_empty() && k + 1 < taken {
            for (part, of) in parts.iter().enumerate() {
                for (k, to) in [(k, &mut splats), (k + 1, &mut iteration.next)] {
                    let bits = op(LaneOp::ToBits, vec![load(of.at(k), 1)]);
                    let name = format!("{}_k", sum.name);
                    let value = self.builder.let_bits(&mut iteration.statements, &name, 1, bits);
                    to.push(Splat { part, lanes: 1, value });
                }
            }
        }
        splats
    }

    /// The weights of row `k` for an accumulator. A variable holds the weights if several
    /// operations use them or if one instruction loads several words.
    fn named_weight(
        &mut self,
        iteration: &mut Iteration,
        sum: &Accumulation,
        (rows, k): (Place, usize),
        accumulator: &Accumulator,
        operands: usize,
    ) -> Expr {
        let (lanes, integers) = (accumulator.lanes, sum.words.is_some());
        let is_bytes = self.product().format == WeightFormat::Int8Pair;
        let to = &mut iteration.statements;
        match (self.weight(rows, sum.len, k, accumulator.at, lanes), operands) {
            (Expr::Op(LaneOp::ToBits, mut bytes), 1) if sum.in_pairs && is_bytes => {
                op(LaneOp::ToBits, vec![self.builder.let_(to, "w", lanes, bytes.remove(0))])
            }
            // the operation that multiplies integers of weights also loads them
            (weight, 1)
                if self.isa().code.loads == 1
                    || self.has_one_text()
                    || integers && !sum.in_pairs && sum.by_lane.is_none() =>
            {
                weight
            }
            (weight, _) if integers => self.builder.let_bits(to, "w", lanes, weight),
            (weight, _) => self.builder.let_(to, "w", lanes, weight),
        }
    }

    /// A vector of words of an operand. Loaded once for all rows that multiply one of its lanes.
    fn vector(
        &mut self,
        iteration: &mut Iteration,
        sum: &Accumulation,
        row: usize,
        from: Place,
    ) -> Expr {
        if let Some(vector) = &iteration.vectors[row] {
            return vector.clone();
        }
        let lanes = self.isa().lanes;
        let words = op(LaneOp::ToBits, vec![load(from, lanes)]);
        let name = format!("{}_k", sum.name);
        let vector = self.builder.let_bits(&mut iteration.statements, &name, lanes, words);
        iteration.vectors[row] = Some(vector.clone());
        vector
    }

    /// The element at `from` in every lane. Loaded once for all accumulators of a row with equally
    /// many lanes.
    fn splat(
        &mut self,
        iteration: &mut Iteration,
        sum: &Accumulation,
        splats: &mut Vec<Splat>,
        (part, lanes): (usize, usize),
        from: Place,
    ) -> Expr {
        if let Some(splat) = splats.iter().find(|splat| (splat.part, splat.lanes) == (part, lanes))
        {
            return splat.value.clone();
        }
        let splat = Expr::Splat { from, lanes };
        let name = format!("{}_k", sum.name);
        let value = match sum.words {
            Some(_) => {
                let bits = op(LaneOp::ToBits, vec![splat]);
                self.builder.let_bits(&mut iteration.statements, &name, lanes, bits)
            }
            None => self.builder.let_(&mut iteration.statements, name, lanes, splat),
        };
        splats.push(Splat { part, lanes, value: value.clone() });
        value
    }

    /// True if lanes are the chains of a sum without neighbours in its rows: weights and elements
    /// of neighbouring rows are then neighbours in memory.
    fn chains_are_lanes(&self, chains: usize) -> bool {
        let format = self.product().format;
        self.lanes() > 1
            && chains >= 4
            && !format.is_of_integers()
            && format != WeightFormat::Bf16Pair
    }

    /// The sums of one column for each operand, with lanes as chains. Scratch memory passes the
    /// lanes to the final additions.
    fn accumulate_chains(
        &mut self,
        body: &mut Vec<Stmt>,
        phase: Phase,
        rows: Place,
        operands: &[Place],
        part: &SumVector,
    ) -> Vec<Expr> {
        let (name, count) = (suffix(phase), self.product().phase_rows(phase));
        let chains = self.product().chains(phase);
        let width = chains.min(self.lanes());
        let vectors: Vec<usize> = (0..chains).step_by(width).collect();
        let mut accumulators: Vec<Vec<Var>> = Vec::new();
        for operand in 0..operands.len() {
            let sum = |at: &usize| {
                let name = format!("{}_{name}{at}_{operand}", part.name);
                self.builder.accumulator(body, &name, width, Expr::f32(0.0, width))
            };
            accumulators.push(vectors.iter().map(sum).collect());
        }
        let (row, walk) = self.builder.walk("row", rows, chains, false);
        let (mut walks, mut turn) = (vec![walk], Vec::new());
        let mut elements = Vec::new();
        for operand in operands {
            let (element, walk) = self.builder.walk("element", *operand, chains, false);
            elements.push(element);
            walks.push(walk);
        }
        for (v, at) in vectors.iter().enumerate() {
            let weight = self.weight(row, 1, *at, 0, width);
            let weight = self.builder.let_(&mut turn, "w", width, weight);
            for (element, sums) in elements.iter().zip(&accumulators) {
                let args = vec![weight.clone(), load(element.at(*at), width), Expr::Var(sums[v])];
                turn.push(Stmt::Set { var: sums[v], value: op(LaneOp::MulAdd, args) });
            }
        }
        body.push(Stmt::For {
            count: count / chains,
            turn: None,
            backwards: None,
            walks,
            body: turn,
        });
        let room = Place::from(self.builder.lane_room(name, chains * operands.len()));
        let done = count / chains * chains;
        let mut all = Vec::new();
        for (number, (operand, sums)) in operands.iter().zip(accumulators).enumerate() {
            let room = room.at(number * chains);
            for (at, sum) in vectors.iter().zip(sums) {
                body.push(Stmt::Store { to: room.at(*at), value: Expr::Var(sum) });
            }
            let sum = |chain: usize| {
                let sum = load(room.at(chain), 1);
                match done + chain {
                    k if k < count => op(
                        LaneOp::MulAdd,
                        vec![self.weight(rows, 1, k, 0, 1), load(operand.at(k), 1), sum],
                    ),
                    _ => sum,
                }
            };
            all.push(added(&(0..chains).map(sum).collect::<Vec<_>>()));
        }
        all
    }

    /// The sums over the rows of one phase, with operations that add the products of all lanes to
    /// one sum. Lanes are neighbouring elements of an operand; each column has a sum of its own.
    /// Scratch memory collects the sums of a vector of columns.
    fn accumulate_across(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        phase: Phase,
        weights: PanelWeights,
        vectors: &Vectors,
        (parts, words): (&[SumVector], Words),
    ) -> Vec<Vec<Option<Expr>>> {
        let product = self.product();
        let columns = |part: &SumVector| {
            if product.sums[part.sum].gate(phase).is_some() { part.lanes } else { 0 }
        };
        let all: usize = parts.iter().map(columns).sum();
        if all == 0 {
            return vec![vec![None; parts.len()]; vectors.count];
        }
        let room = Place::from(self.builder.lane_room(suffix(phase), all * vectors.count));
        let mut terms = vec![Vec::new(); vectors.count];
        let mut met = 0;
        for part in parts {
            if columns(part) == 0 {
                terms.iter_mut().for_each(|terms| terms.push(None));
                continue;
            }
            let (first, step) =
                product.row_of(phase, panels.columns, product.position(phase, part.sum));
            let tiles = Tiles {
                elements: vectors.elements,
                weights: weights
                    .rows
                    .at(first_row(panels, phase) + first + part.lane * words.abreast),
                to: room.at(met),
                rows: vectors.count,
                words: self.taken_at_once(phase),
                in_word: words.each,
                abreast: words.abreast,
                step,
                columns: part.lanes,
                panels: 1,
                stride: product.packed_rows(phase) / words.abreast * step,
                pitch: all,
            };
            body.push(Stmt::Tiles(tiles));
            for (row, terms) in terms.iter_mut().enumerate() {
                let sum = load(room.at(row * all + met), part.lanes);
                let sum = op(LaneOp::FromSigned, vec![op(LaneOp::ToBits, vec![sum])]);
                terms.push(Some(self.scaled(
                    panels,
                    weights,
                    phase,
                    part,
                    sum,
                    vectors.scale(row),
                )));
            }
            met += part.lanes;
        }
        terms
    }
}

impl Accumulation {
    /// The accumulators of row `k` in the order of its weights, in groups with joint loads. With
    /// `several`, one instruction loads a group of neighbours; words of integers are loaded in
    /// pairs, to use few registers.
    fn loaded_together(&self, k: usize, several: bool) -> Vec<Vec<&Accumulator>> {
        let mut accumulators: Vec<&Accumulator> =
            self.chains[k % self.chains.len()].iter().collect();
        accumulators.sort_by_key(|accumulator| accumulator.at);
        let mut groups: Vec<Vec<&Accumulator>> = Vec::new();
        for accumulator in accumulators {
            let continues = |group: &&mut Vec<&Accumulator>| {
                let is_neighbour =
                    group.last().is_some_and(|last| last.at + last.lanes == accumulator.at);
                (is_neighbour || !several) && !(self.in_pairs && group.len() == 2)
            };
            match groups.last_mut().filter(continues) {
                Some(group) => group.push(accumulator),
                None => groups.push(vec![accumulator]),
            }
        }
        groups
    }

    /// Adds the other chains of integers to the first.
    fn add_chains_of_integers(&self, body: &mut Vec<Stmt>) {
        let Some((first, others)) = self.chains.split_first().filter(|_| self.words.is_some())
        else {
            return;
        };
        for (sum, chain) in others.iter().flat_map(|chain| first.iter().zip(chain)) {
            for (&var, &chain) in sum.vars.iter().zip(&chain.vars) {
                let value = op(LaneOp::WrappingAdd, vec![Expr::Var(var), Expr::Var(chain)]);
                body.push(Stmt::Set { var, value });
            }
        }
    }

    /// The complete sum of a part for operand `row`.
    fn value(&self, part: usize, row: usize) -> Expr {
        match self.words {
            Some(_) => op(LaneOp::FromSigned, vec![Expr::Var(self.chains[0][part].vars[row])]),
            None => added(
                &self.chains.iter().map(|all| Expr::Var(all[part].vars[row])).collect::<Vec<_>>(),
            ),
        }
    }
}
