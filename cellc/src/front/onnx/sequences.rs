//! Sequences of tensors. A sequence exists only while a graph is read, as a list of values; the
//! model has tensors only. The elements appended by the iterations of a loop become stacked
//! outputs.

use super::graph::{Call, GraphReader, Level, Outputs};
use super::lists::{Appended, Carried, Chunked, Sequence, SequencePiece};
use crate::model::{Binary, ElementType, Op, Value, ValueId};

/// Operators with a sequence as input.
const TAKE_SEQUENCES: [&str; 7] = [
    "SequenceInsert",
    "SequenceErase",
    "SequenceAt",
    "SequenceLength",
    "ConcatFromSequence",
    "Identity",
    "Loop",
];

/// Advice for a sequence in place of a tensor.
pub(super) const HELP: &str =
    "put its elements together first: ConcatFromSequence, which torch.stack and torch.cat become";

/// Refuses a sequence as an input of an operator on tensors. False after an error.
pub(super) fn check(
    reader: &mut GraphReader<'_>,
    operator: &str,
    inputs: &[Option<ValueId>],
) -> bool {
    let is_sequence =
        |value: &Option<ValueId>| value.is_some_and(|value| reader.sequence(value).is_some());
    let at = inputs.iter().position(is_sequence);
    if let Some(at) = at.filter(|_| !TAKE_SEQUENCES.contains(&operator)) {
        reader.error(format!("a sequence as input {at}"), "tensors", HELP);
        return false;
    }
    true
}

impl GraphReader<'_> {
    /// The sequence of a value of the current level. `None` if the value is a tensor.
    pub(super) fn sequence(&self, value: ValueId) -> Option<&Sequence> {
        self.levels.last()?.sequences.get(&value)
    }

    /// Adds a value to the current level as a stand-in for a sequence.
    pub(super) fn sequence_value(&mut self, sequence: Sequence, element: ElementType) -> ValueId {
        let level = self.level();
        let value = Value {
            names: Vec::new(),
            shape: None,
            element,
            origin: crate::diagnostic::Origin::Unknown,
        };
        let value = level.graph.add(value);
        level.sequences.insert(value, sequence);
        value
    }

    /// The sequence at input 0 of a node and its element type. `None` after an error.
    fn given_sequence(&mut self, call: &Call<'_>) -> Option<(Sequence, ElementType)> {
        let value = call.x();
        let element = self.element(value);
        let found = self.sequence(value).cloned();
        if found.is_none() {
            self.error("a tensor as input 0", "a sequence", "export the model again");
        }
        found.map(|sequence| (sequence, element))
    }

    /// Concatenates lists of integers.
    fn joined(&mut self, lists: Vec<ValueId>) -> ValueId {
        self.op(Op::Concat { axis: 0 }, lists)
    }

    /// The integers in `from..to`. Both bounds are lists of one integer.
    fn counted(&mut self, from: ValueId, to: ValueId) -> ValueId {
        let one = self.integers(&[1]);
        self.op(Op::Range { run_time: false }, vec![from, to, one])
    }

    /// Adds a constant to each element of a list of integers.
    fn sum(&mut self, a: ValueId, b: i64) -> ValueId {
        let b = self.integers(&[b]);
        self.op(Op::elementwise(Binary::Add), vec![a, b])
    }

    fn shape_of(&mut self, value: ValueId) -> ValueId {
        self.op_of(Op::ShapeOf, vec![value], ElementType::I64)
    }

    /// The elements `from..to` of a list. Both bounds are lists of one integer.
    fn part(&mut self, list: ValueId, from: ValueId, to: ValueId) -> ValueId {
        let (one, zero) = (self.integers(&[1]), self.integers(&[0]));
        self.op(Op::Slice, vec![list, from, to, one, zero])
    }

    /// The axis as a list of one integer, counted from the first dimension. A negative axis is
    /// counted from the end of a tensor that has `more` dimensions more than `x`.
    fn axis_as_list(&mut self, x: ValueId, axis: i64, more: i64) -> ValueId {
        if axis >= 0 {
            return self.integers(&[axis]);
        }
        let shape = self.shape_of(x);
        let rank = self.shape_of(shape);
        self.sum(rank, axis + more)
    }

    /// Moves the first axis of a tensor to another position.
    fn with_first_at(&mut self, x: ValueId, axis: ValueId) -> ValueId {
        let shape = self.shape_of(x);
        let (rank, zero, one) = (self.shape_of(shape), self.integers(&[0]), self.integers(&[1]));
        let next = self.sum(axis, 1);
        let (before, after) = (self.counted(one, next), self.counted(next, rank));
        let order = self.joined(vec![before, zero, after]);
        self.op(Op::Transpose, vec![x, order])
    }

    /// Moves an axis of a tensor to the front.
    fn with_in_front(&mut self, x: ValueId, axis: ValueId) -> ValueId {
        let shape = self.shape_of(x);
        let (rank, zero) = (self.shape_of(shape), self.integers(&[0]));
        let next = self.sum(axis, 1);
        let (before, after) = (self.counted(zero, axis), self.counted(next, rank));
        let order = self.joined(vec![axis, before, after]);
        self.op(Op::Transpose, vec![x, order])
    }

    /// Merges an axis of a tensor with the axis behind it.
    fn merged(&mut self, x: ValueId, axis: ValueId) -> ValueId {
        let shape = self.shape_of(x);
        let (zero, all, end) =
            (self.integers(&[0]), self.integers(&[-1]), self.integers(&[i64::MAX]));
        let behind = self.sum(axis, 2);
        let (before, after) = (self.part(shape, zero, axis), self.part(shape, behind, end));
        let shape = self.joined(vec![before, all, after]);
        self.op(Op::Reshape { zero_keeps: false }, vec![x, shape])
    }

    /// Concatenates all elements of a sequence along an axis, or stacks the elements along a new
    /// axis. `None` after an error.
    fn put_together(&mut self, sequence: &Sequence, axis: i64, is_new: bool) -> Option<ValueId> {
        let mut parts = Vec::new();
        for &piece in &sequence.pieces {
            parts.push(match piece {
                SequencePiece::One(value) if is_new => {
                    let axis = self.integers(&[axis]);
                    self.op(Op::Unsqueeze, vec![value, axis])
                }
                SequencePiece::One(value) => value,
                SequencePiece::Stacked(value) => {
                    let axis_list = self.axis_as_list(value, axis, if is_new { 0 } else { -1 });
                    let moved =
                        if axis == 0 { value } else { self.with_first_at(value, axis_list) };
                    if is_new { moved } else { self.merged(moved, axis_list) }
                }
                SequencePiece::Cut(cut) if cut.axis == axis && !is_new => cut.tensor,
                SequencePiece::Cut(_) => return self.reads_cut(),
                SequencePiece::Carried(_) => return self.reads_carried(),
            });
        }
        match parts[..] {
            [] => {
                let help = "leave out what reads it, or export the model again";
                self.error("a sequence without elements", "one element or more", help);
                None
            }
            [one] => Some(one),
            _ => Some(self.op(Op::Concat { axis }, parts)),
        }
    }

    /// The last element of a loop-carried sequence at the start of an iteration. The loop carries
    /// the element as a tensor, and the body gets a Parameter for the tensor. `None` after an
    /// error.
    fn last_of(&mut self, carried: Carried, element: ElementType) -> Option<ValueId> {
        if carried.level != self.levels.len() {
            return self.reads_carried();
        }
        if let Some(&(value, _)) = self.level().last_elements.get(&carried.at) {
            return Some(value);
        }
        let value = self.parameter("", element, None);
        let parameter = self.level().graph.model.parameters.len() - 1;
        self.level().last_elements.insert(carried.at, (value, parameter));
        Some(value)
    }

    /// Adds a Result to the body for each sequence whose last element the body reads: the last
    /// element after the iteration. `None` after an error.
    pub(super) fn last_results(
        &mut self,
        carried: &[(ValueId, Option<Sequence>)],
    ) -> Option<Vec<Last>> {
        let mut results = Vec::new();
        for (at, (_, parameter)) in std::mem::take(&mut self.level().last_elements) {
            let initial = carried[at].1.as_ref().and_then(|sequence| sequence.pieces.last());
            let next = self.level().next_elements.get(&at).copied();
            let (Some(&SequencePiece::One(initial)), Some(next)) = (initial, next) else {
                return self.reads_carried();
            };
            self.result("", next);
            results.push(Last {
                initial,
                parameter,
                result: self.level().graph.model.results.len() - 1,
            });
        }
        Some(results)
    }

    fn reads_carried<T>(&mut self) -> Option<T> {
        let found = "a loop that reads the sequence to which it appends";
        let valid = "sequences that a loop only appends to";
        self.inexpressible(found, valid, "hand on the element that is read as a tensor of its own")
    }

    fn reads_cut<T>(&mut self) -> Option<T> {
        let found = "all parts of a tensor that SplitToSequence cuts at computed places";
        let valid = "single parts, at constant positions from the first on";
        self.error(
            found,
            valid,
            "take each part by its position, or give the length of each part as a constant",
        );
        None
    }

    /// The part of a cut tensor at a position of 0 or more.
    fn part_of(&mut self, cut: Chunked, position: i64) -> ValueId {
        let [start, length] = if cut.one_length {
            let (one, times) = (self.integers(&[1]), self.integers(&[position]));
            let length = self.op(Op::Reshape { zero_keeps: false }, vec![cut.lengths, one]);
            [self.op(Op::elementwise(Binary::Multiply), vec![length, times]), length]
        } else {
            let ends: Vec<ValueId> = (0..=position + 1).map(|at| self.integers(&[at])).collect();
            let lengths: Vec<ValueId> =
                ends.windows(2).map(|at| self.part(cut.lengths, at[0], at[1])).collect();
            let (&length, before) = lengths.split_last().expect("its own");
            let zero = self.integers(&[0]);
            let sum = |sum, &length| self.op(Op::elementwise(Binary::Add), vec![sum, length]);
            [before.iter().fold(zero, sum), length]
        };
        let end = self.op(Op::elementwise(Binary::Add), vec![start, length]);
        let (one, axis) = (self.integers(&[1]), self.integers(&[cut.axis]));
        self.op(Op::Slice, vec![cut.tensor, start, end, one, axis])
    }

    /// The constant position at input `at`. `None` if the input is omitted, computed, or not one
    /// integer.
    fn position(&mut self, call: &Call<'_>, at: usize) -> Option<i64> {
        let tensor = self.known(call.input(at)?)?;
        if tensor.len() == 1 { tensor.get_i64(0) } else { None }
    }

    /// Adds Results to the body for the elements that an iteration adds to each loop-carried
    /// sequence. `level`: depth of the body. `carried`: indices of the sequences among the
    /// loop-carried values. `None` after an error.
    pub(super) fn sequence_results(
        &mut self,
        level: usize,
        carried: &[usize],
    ) -> Option<Vec<Appended>> {
        let outputs = self.level().sequence_outputs.take().unwrap_or_default();
        let mut results = Vec::new();
        for &at in carried {
            let given = outputs.iter().find(|(output, _)| *output == at + 1);
            let pieces = given
                .and_then(|(_, value)| self.sequence(*value))
                .map(|sequence| sequence.pieces.clone());
            let carried = SequencePiece::Carried(Carried { level, at });
            let pieces = pieces.unwrap_or_default();
            let Some(index) = pieces.iter().position(|&piece| piece == carried) else {
                let found = "a loop that replaces a sequence";
                let help = "append to the sequence, or hand on tensors";
                return self.inexpressible(found, "sequences that a loop only appends to", help);
            };
            if let Some(&SequencePiece::One(next)) = pieces[index + 1..].last() {
                self.level().next_elements.insert(at, next);
            }
            let (front, back) =
                (self.stacks(&pieces[..index])?, self.stacks(&pieces[index + 1..])?);
            results.push(Appended { at, front, back });
        }
        let has_other_outputs =
            outputs.iter().any(|(output, _)| !carried.contains(&(output.wrapping_sub(1))));
        if has_other_outputs {
            let help = "put its elements together in the body";
            return self.inexpressible(
                "a loop whose stacked output is a sequence",
                "tensors as stacked outputs",
                help,
            );
        }
        Some(results)
    }

    /// Adds a Result to the body for each piece. Returns a flag for each piece: true if the piece
    /// has several elements. `None` after an error.
    fn stacks(&mut self, pieces: &[SequencePiece]) -> Option<Vec<bool>> {
        let mut merged = Vec::new();
        for &piece in pieces {
            let (value, has_several) = match piece {
                SequencePiece::One(value) => (value, false),
                SequencePiece::Stacked(value) if pieces.len() == 1 => (value, true),
                SequencePiece::Carried(_) => return self.reads_carried(),
                SequencePiece::Cut(_) => return self.reads_cut(),
                SequencePiece::Stacked(_) => {
                    let found = "a loop that appends single elements and those of another loop";
                    self.error(
                        found,
                        "one of the two",
                        "put the elements of the inner loop together",
                    );
                    return None;
                }
            };
            self.result("", value);
            merged.push(has_several);
        }
        Some(merged)
    }

    /// A sequence after a loop: the elements inserted in front, the initial elements, and the
    /// appended elements. `stacks`: the loop's stacked outputs with the added elements.
    pub(super) fn appended(
        &mut self,
        initial: &Sequence,
        list: &Appended,
        stacks: &[ValueId],
    ) -> Sequence {
        let (front, back) = stacks.split_at(list.front.len());
        let mut pieces = Vec::new();
        pieces.extend(self.interleaved(front, &list.front));
        pieces.extend(&initial.pieces);
        pieces.extend(self.interleaved(back, &list.back));
        Sequence { pieces }
    }

    /// The elements of all iterations as one piece, in order of iterations. `merged`: true for
    /// stacks with several elements per iteration.
    fn interleaved(&mut self, stacks: &[ValueId], merged: &[bool]) -> Option<SequencePiece> {
        let zero = self.integers(&[0]);
        match (stacks, merged) {
            ([], _) => None,
            ([one], [false]) => Some(SequencePiece::Stacked(*one)),
            ([one], _) => Some(SequencePiece::Stacked(self.merged(*one, zero))),
            _ => {
                let one = self.integers(&[1]);
                let wide =
                    stacks.iter().map(|&stack| self.op(Op::Unsqueeze, vec![stack, one])).collect();
                let wide = self.op(Op::Concat { axis: 1 }, wide);
                Some(SequencePiece::Stacked(self.merged(wide, zero)))
            }
        }
    }

    /// Adds a value to the body that stands for the loop-carried sequence `at` at the start of an
    /// iteration.
    pub(super) fn carried_sequence(&mut self, at: usize, element: ElementType) -> ValueId {
        let level = self.levels.len();
        let pieces = vec![SequencePiece::Carried(Carried { level, at })];
        self.sequence_value(Sequence { pieces }, element)
    }

    /// Captures a sequence of the surrounding graph, piece by piece, in the level `inner`.
    pub(super) fn captured_sequence(
        &mut self,
        inner: usize,
        value: ValueId,
        name: &str,
    ) -> ValueId {
        let element = self.levels[inner - 1].graph.model.values[value.0].element;
        let mut sequence =
            self.levels[inner - 1].sequences.get(&value).cloned().unwrap_or_default();
        for (at, piece) in sequence.pieces.iter_mut().enumerate() {
            match piece {
                SequencePiece::One(id) | SequencePiece::Stacked(id) => {
                    *id = self.captured(inner, *id, &format!("{name}_{at}"))
                }
                SequencePiece::Cut(cut) => {
                    cut.tensor = self.captured(inner, cut.tensor, &format!("{name}_{at}"));
                    cut.lengths =
                        self.captured(inner, cut.lengths, &format!("{name}_{at}_lengths"));
                }
                SequencePiece::Carried(_) => {}
            }
        }
        let level: &mut Level = &mut self.levels[inner];
        let origin = crate::diagnostic::Origin::Unknown;
        let added = level.graph.add(Value { names: Vec::new(), shape: None, element, origin });
        level.sequences.insert(added, sequence);
        added
    }
}

/// The last element of a sequence as a loop-carried tensor.
pub(super) struct Last {
    /// The element before the first iteration.
    pub(super) initial: ValueId,
    /// Index of the body's Parameter.
    pub(super) parameter: usize,
    /// Index of the body's Result.
    pub(super) result: usize,
}

/// SequenceEmpty.
pub(super) fn empty(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let stated = call.attributes.int("dtype").unwrap_or(1);
    match super::tensors::element_type(i32::try_from(stated).unwrap_or(0)) {
        Ok(element) => Some(vec![reader.sequence_value(Sequence::default(), element)]),
        Err(problem) => {
            reader.report(problem.of(&format!("dtype={stated}")));
            None
        }
    }
}

/// SequenceConstruct.
pub(super) fn construct(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let pieces = call.inputs.iter().copied().flatten().map(SequencePiece::One).collect();
    let element = reader.element(call.x());
    Some(vec![reader.sequence_value(Sequence { pieces }, element)])
}

/// The index of a piece for a position in the sequence, negative from the end. `inserts`: true if
/// the position may be behind the last element. `None` if the position is out of range, or if a
/// piece that counts towards the position has an unknown number of elements.
fn index(pieces: &[SequencePiece], position: i64, inserts: bool) -> Option<usize> {
    let (len, is_one) =
        (pieces.len() as i64, |piece: &SequencePiece| matches!(piece, SequencePiece::One(_)));
    let at = usize::try_from(if position < 0 { position + len } else { position }).ok()?;
    let end = at.checked_add(usize::from(!inserts))?;
    let counted = if position < 0 { pieces.get(at..)? } else { pieces.get(..end)? };
    (end <= pieces.len() && counted.iter().all(is_one)).then_some(at)
}

/// Reports an error for a computed position, or for a position behind pieces with an unknown number
/// of elements.
fn unknown_place(
    reader: &mut GraphReader<'_>,
    call: &Call<'_>,
    input: usize,
    sequence: &Sequence,
    help: &str,
) -> Outputs {
    let position =
        if call.input(input).is_some() { reader.position(call, input) } else { Some(-1) };
    let is_carried = sequence.pieces.iter().any(|piece| matches!(piece, SequencePiece::Carried(_)));
    let is_stacked = sequence.pieces.iter().any(|piece| matches!(piece, SequencePiece::Stacked(_)));
    let count = sequence.pieces.len();
    let found = match position {
        None => "a position in a sequence that no constant says".to_owned(),
        Some(position) if is_carried => {
            format!(
                "position {position} of a sequence that a loop hands from iteration to iteration"
            )
        }
        Some(position) if is_stacked => {
            format!(
                "position {position} of a sequence whose elements a loop appended or \
                 SplitToSequence made: they are one stacked tensor"
            )
        }
        Some(position) => format!("position {position} of a sequence of {count} elements"),
    };
    reader.error(found, "a constant position among elements that were added one by one", help);
    None
}

/// SequenceInsert.
pub(super) fn insert(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (mut sequence, element) = reader.given_sequence(call)?;
    let new = SequencePiece::One(call.input(1)?);
    let at = match call.input(2) {
        None => Some(sequence.pieces.len()),
        Some(_) => {
            reader.position(call, 2).and_then(|position| index(&sequence.pieces, position, true))
        }
    };
    let Some(at) = at else {
        return unknown_place(
            reader,
            call,
            2,
            &sequence,
            "append to the sequence, without a position",
        );
    };
    sequence.pieces.insert(at, new);
    Some(vec![reader.sequence_value(sequence, element)])
}

/// SequenceErase.
pub(super) fn erase(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (mut sequence, element) = reader.given_sequence(call)?;
    let position = if call.input(1).is_some() { reader.position(call, 1) } else { Some(-1) };
    let Some(at) = position.and_then(|position| index(&sequence.pieces, position, false)) else {
        let help = "leave the element in the sequence, and take the others from what \
            ConcatFromSequence gives, by Slice";
        return unknown_place(reader, call, 1, &sequence, help);
    };
    sequence.pieces.remove(at);
    Some(vec![reader.sequence_value(sequence, element)])
}

/// SequenceAt.
pub(super) fn at(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (sequence, element) = reader.given_sequence(call)?;
    let position = reader.position(call, 1);
    if let (Some(-1), Some(&SequencePiece::Carried(carried))) = (position, sequence.pieces.last()) {
        return Some(vec![reader.last_of(carried, element)?]);
    }
    if let (Some(&SequencePiece::Cut(cut)), Some(position @ 0..1000)) =
        (sequence.pieces.first(), position)
    {
        return Some(vec![reader.part_of(cut, position)]);
    }
    let piece_index = position.and_then(|position| index(&sequence.pieces, position, false));
    if let Some(SequencePiece::One(value)) = piece_index.map(|at| sequence.pieces[at]) {
        return Some(vec![value]);
    }
    let (stack, axis) = (reader.put_together(&sequence, 0, true)?, reader.integer(0));
    Some(vec![reader.op(Op::Gather { batch_dims: 0 }, vec![stack, call.input(1)?, axis])])
}

/// SequenceLength.
pub(super) fn length(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (sequence, _) = reader.given_sequence(call)?;
    let is_one = |piece: &&SequencePiece| matches!(piece, SequencePiece::One(_));
    let mut length = reader.integer(sequence.pieces.iter().filter(is_one).count() as i64);
    for piece in sequence.pieces {
        match piece {
            SequencePiece::One(_) => {}
            SequencePiece::Stacked(value) => {
                let (shape, zero, axis) =
                    (reader.shape_of(value), reader.integer(0), reader.integer(0));
                let more = reader.op(Op::Gather { batch_dims: 0 }, vec![shape, zero, axis]);
                length = reader.elementwise(Binary::Add, &[length, more]);
            }
            SequencePiece::Cut(_) => return reader.reads_cut(),
            SequencePiece::Carried(_) => return reader.reads_carried(),
        }
    }
    Some(vec![length])
}

/// ConcatFromSequence.
pub(super) fn concat(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (sequence, _) = reader.given_sequence(call)?;
    let Some(axis) = call.attributes.int("axis") else {
        return reader.missing("axis", "the attribute axis");
    };
    let is_new = call.attributes.flag("new_axis", false);
    Some(vec![reader.put_together(&sequence, axis, is_new)?])
}

/// SplitToSequence.
pub(super) fn split(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let element = reader.element(x);
    let axis = call.attributes.int("axis").unwrap_or(0);
    let keep = call.attributes.flag("keepdims", true);
    let lengths = call.input(1).map(|lengths| reader.known(lengths));
    let pieces = match lengths {
        Some(Some(lengths)) if lengths.shape().len() == 1 && !lengths.is_empty() => {
            let axis = reader.integer(axis);
            let parts = vec![element; lengths.len()];
            let parts =
                reader.ops_of(Op::VariadicSplit, vec![x, axis, call.input(1)?], parts, Vec::new());
            parts.into_iter().map(SequencePiece::One).collect()
        }
        None => {
            let axis_list = reader.axis_as_list(x, axis, 0);
            let mut stack = reader.with_in_front(x, axis_list);
            if keep {
                let next = reader.sum(axis_list, 1);
                stack = reader.op(Op::Unsqueeze, vec![stack, next]);
            }
            vec![SequencePiece::Stacked(stack)]
        }
        // parts of one constant length
        Some(Some(known)) if known.shape().is_empty() => {
            let axis_list = reader.axis_as_list(x, axis, 0);
            let (zero, one, end) =
                (reader.integers(&[0]), reader.integers(&[1]), reader.integers(&[i64::MAX]));
            let (shape, next) = (reader.shape_of(x), reader.sum(axis_list, 1));
            let length = reader.op(Op::Reshape { zero_keeps: false }, vec![call.input(1)?, one]);
            let (before, after, rest) = (
                reader.part(shape, zero, axis_list),
                reader.part(shape, next, end),
                reader.integers(&[-1]),
            );
            let shape = reader.joined(vec![before, rest, length, after]);
            let parts = reader.op(Op::Reshape { zero_keeps: false }, vec![x, shape]);
            let ones = known.get_i64(0) == Some(1);
            let mut stack = reader.with_in_front(parts, axis_list);
            // keepdims=0 squeezes parts of length 1: PyTorch exports unbind in this form, and ONNX
            // Runtime does the same
            if !keep && ones {
                let next = reader.sum(axis_list, 1);
                stack = reader.op(Op::Squeeze { skip: false }, vec![stack, next]);
            }
            vec![SequencePiece::Stacked(stack)]
        }
        Some(_) => {
            let lengths = call.input(1)?;
            let one_length = reader.rank(lengths) == Some(0);
            if !keep && one_length {
                let help = "give the length of each part as a constant, or keepdims=1";
                reader.error("a computed length of parts without their axis", "a constant", help);
                return None;
            }
            vec![SequencePiece::Cut(Chunked { tensor: x, axis, lengths, one_length })]
        }
    };
    Some(vec![reader.sequence_value(Sequence { pieces }, element)])
}
