//! What the user of a generated file sees, and what its functions do: which items there are, in which order, and which statements their
//! bodies consist of. Languages spell them: an item is a text of that name.

use super::Contents;
use super::names::Field;
use super::signature::Signature;
use crate::options::Language;

/// What a function does, before and after the kernels.
pub(super) enum Statement<'a> {
    /// A variable becomes zero, or the constant that stands there in the baked block.
    Variable(&'a Field, Option<usize>),
    /// The order of weights is that of the first step.
    Order,
    /// Every variable becomes what it is initially.
    State,
    /// A state of the struct becomes zero.
    Zero(&'a Field),
    /// An input may be the same array as that output, and is still read after that is written.
    Copy(&'a Field, &'a Field),
    /// One step as the pure function computes it, on what the struct holds.
    Step,
    /// A state of the struct becomes an output.
    Keep(&'a Field, &'a Field),
}

/// What the struct holds beside its instruction set.
pub(super) enum Member<'a> {
    Packed,
    Pool,
    State,
    /// An input that is a state, and the output that it becomes.
    Kept(&'a Field, &'a Field),
}

/// What the state holds.
pub(super) enum Memory<'a> {
    /// Scratch memory.
    Block,
    Variable(&'a Field),
    /// Of large weights.
    Order,
}

impl Contents<'_> {
    /// The items in order.
    pub(super) fn items(&self, language: Language) -> Vec<&'static str> {
        let (interface, rust) = (self.interface, language == Language::Rust);
        let (function, step) = (Signature::function(interface, language), Signature::step(interface));
        let record = |signature: &Signature<'_>| signature.inputs().is_some_and(|inputs| inputs.record.is_some());
        let steps = interface.steps.is_some();
        [
            ("isa", true),
            ("inputs", record(&function)),
            ("step inputs", rust && record(&step) && !interface.states.is_empty()),
            ("outputs", function.outputs().record.is_some()),
            ("packed", !self.is_baked()),
            ("state", interface.has_state()),
            ("pool", interface.pool && !rust),
            ("function", true),
            ("pool", interface.pool && rust),
            ("unequal steps", steps && rust),
            ("struct", true),
            ("steps", steps && !rust),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect()
    }

    /// What the struct holds beside its instruction set, in order.
    pub(super) fn members(&self, language: Language) -> Vec<Member<'_>> {
        let mut members = vec![(!self.is_baked(), Member::Packed), (self.interface.pool, Member::Pool)];
        if language == Language::C {
            members.reverse();
        }
        members.push((self.interface.has_state(), Member::State));
        members.extend(self.states().map(|(state, output)| (true, Member::Kept(state, output))));
        members.into_iter().filter_map(|(is_there, member)| is_there.then_some(member)).collect()
    }

    /// Whether the struct holds an input as a state.
    pub(super) fn is_kept(&self, input: &Field) -> bool {
        self.states().any(|(state, _)| state == input)
    }

    /// What the state holds, in order.
    pub(super) fn memory(&self) -> Vec<Memory<'_>> {
        let block = (self.interface.block_len > 0).then_some(Memory::Block);
        let order = self.interface.alternates.then_some(Memory::Order);
        block.into_iter().chain(self.interface.variables.iter().map(Memory::Variable)).chain(order).collect()
    }

    /// What resets the state. Rust goes on in the order of weights, on which no result depends.
    pub(super) fn resets_state(&self, language: Language) -> Vec<Statement<'_>> {
        let order = (self.interface.alternates && language == Language::C).then_some(Statement::Order);
        let variables = self.interface.variables.iter().map(|v| Statement::Variable(v, self.initial(v)));
        order.into_iter().chain(variables).collect()
    }

    /// What resets the struct.
    pub(super) fn resets(&self) -> Vec<Statement<'_>> {
        let state = self.interface.has_state().then_some(Statement::State);
        state.into_iter().chain(self.states().map(|(state, _)| Statement::Zero(state))).collect()
    }

    /// What a step of the struct does. Rust has functions of their own for steps in place.
    pub(super) fn steps(&self, language: Language) -> Vec<Statement<'_>> {
        let pair = self.interface.in_place().filter(|_| self.copies() && language == Language::C);
        let copy = pair.map(|(input, output)| Statement::Copy(input, output));
        let keep = self.states().map(|(state, output)| Statement::Keep(state, output));
        copy.into_iter().chain([Statement::Step]).chain(keep).collect()
    }

    /// Whether a step in place needs a copy of its input.
    pub(super) fn copies(&self) -> bool {
        self.interface.in_place.is_some_and(|pair| pair.copies)
    }

    /// What new states are, in words.
    pub(super) fn at_first(&self) -> &'static str {
        if self.starts_at_zero() { "With state zero" } else { "With the initial state" }
    }
}
