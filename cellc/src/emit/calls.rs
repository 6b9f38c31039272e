//! Calls of kernels in a step, and the places of their arguments, without a language's syntax.

use std::collections::{BTreeMap, BTreeSet};

use super::Contents;
use super::names::Field;
use super::traversal::FileNames;
use crate::kernel::{BodyRef, BufferId, Kernel, Role};
use crate::pack::Packed;

/// A call: the kernel, and the name of the function with the kernel's code.
pub(super) type Call<'p> = (&'p Kernel, &'p str);

impl FileNames {
    /// The calls of a step in order. Concurrent calls form a group.
    pub(super) fn calls<'p>(&'p self, body: BodyRef<'p>) -> Vec<Vec<Call<'p>>> {
        let mut names = self.kernels.iter().map(|(name, _)| name.as_str());
        let groups = body.body.groups();
        groups.map(|group| group.iter().zip(names.by_ref()).collect()).collect()
    }

    /// The calls that compute several steps together, in order.
    pub(super) fn calls_of_steps<'p>(&'p self, body: BodyRef<'p>) -> Vec<Vec<Call<'p>>> {
        let kernels = body.body.of_steps().iter();
        let names = self.kernels[body.body.of_step().len()..].iter().map(|(name, _)| name.as_str());
        kernels.zip(names).map(|call| vec![call]).collect()
    }
}

/// The used arguments of a function that calls kernels.
pub(super) struct Uses {
    /// The buffers that the kernels read or write. A part counts as its whole buffer.
    pub(super) buffers: BTreeSet<BufferId>,
    pub(super) pool: bool,
    /// True if the kernels use the block, variables, the reading direction or a count of steps.
    pub(super) memory: bool,
    pub(super) weights: bool,
    pub(super) inputs: bool,
}

impl Uses {
    pub(super) fn new(packed: &Packed, body: BodyRef<'_>, calls: &[Vec<Call<'_>>]) -> Self {
        let params = calls.iter().flatten().flat_map(|(kernel, _)| &kernel.params);
        let buffers: BTreeSet<_> = params.map(|(id, _)| body.whole(*id).0).collect();
        let any = |is: fn(Role) -> bool| buffers.iter().any(|id| is(body.buffer(*id).role));
        Self {
            pool: calls.iter().any(|group| group.len() > 1),
            memory: any(|role| {
                matches!(role, Role::Scratch | Role::Variable(_) | Role::Backwards | Role::Phase(_))
            }),
            weights: any(|role| role == Role::Weights)
                || buffers.iter().any(|id| packed.run_time_at(*id).is_some()),
            inputs: any(|role| matches!(role, Role::Parameter(_))),
            buffers,
        }
    }
}

/// The location of a buffer.
pub(super) enum Location<'a> {
    Input(&'a Field),
    /// A parameter packed at run time.
    Weights(&'a Field),
    Output(&'a Field),
    Variable(&'a Field),
    /// The reading direction of weights, in the state.
    Order,
    /// The number of steps modulo another number, in the state.
    Phase(&'a str),
    /// In the block, at an offset in elements.
    Block(usize),
    /// In a table with these integers.
    Table(&'a [u32]),
    /// In the weights packed at run time, at an offset in elements of the block for the buffer's
    /// element type.
    Packed(usize),
    /// In the constants of the file, at an offset in units of 4 bytes.
    Baked(usize),
    /// In another buffer, at an offset in elements.
    Part(BufferId, usize),
}

/// Disjoint parts of one memory, in order: each part with the number of skipped elements before.
pub(super) struct MemoryParts {
    /// The buffer that contains the parts. `None`: the block.
    pub(super) whole: Option<BufferId>,
    pub(super) parts: Vec<(BufferId, usize)>,
}

/// The memory of a group of concurrent kernels, divided among the kernels.
pub(super) struct Cuts {
    pub(super) cuts: Vec<MemoryParts>,
    /// The buffers that several kernels may share: variables, the reading direction and counts of
    /// steps (false), and parts in `cuts` that no kernel writes (true).
    pub(super) shared: Vec<(BufferId, bool)>,
}

impl Contents<'_> {
    /// The location of a buffer.
    pub(super) fn location<'b>(&'b self, body: BodyRef<'b>, id: BufferId) -> Location<'b> {
        let interface = self.interface;
        let of_index = |fields: &'b [Field], i| fields.iter().find(|field| field.index == i);
        match body.buffer(id).role {
            Role::Parameter(i) => {
                let weights = || of_index(&interface.weights, i).map(Location::Weights);
                let input = of_index(&interface.inputs, i).map(Location::Input);
                input.or_else(weights).expect("emit: every parameter is a field")
            }
            Role::Result(i) => Location::Output(&interface.outputs[i]),
            Role::Variable(i) => Location::Variable(&interface.variables[i]),
            Role::Backwards => Location::Order,
            Role::Phase(steps) => Location::Phase(interface.phase(steps)),
            Role::Scratch => Location::Block(
                body.block_place(id).expect("emit: what kernels share stands in the block"),
            ),
            Role::Table => {
                let table = body.program.tables.iter().find(|(table, _)| *table == id);
                Location::Table(&table.expect("emit: a table has contents").1)
            }
            Role::Weights | Role::Constant(_) => {
                match (self.packed.run_time_at(id), self.packed.baked_at(id)) {
                    (Some(at), _) => Location::Packed(at),
                    (None, at) => {
                        Location::Baked(at.expect("emit: every constant that is read is packed"))
                    }
                }
            }
            Role::Part { whole: buffer, at } => match body.block_place(buffer) {
                Some(start) => Location::Block(start + at),
                None => Location::Part(buffer, at),
            },
        }
    }

    /// Divides memory among a group of concurrent kernels.
    pub(super) fn cuts(&self, body: BodyRef<'_>, group: &[Call<'_>], shared: &FileNames) -> Cuts {
        let mut used: BTreeMap<BufferId, bool> = BTreeMap::new();
        for (id, written) in group.iter().flat_map(|(kernel, _)| &kernel.params) {
            *used.entry(*id).or_default() |= written;
        }
        let mut parts: BTreeMap<Option<BufferId>, Vec<(usize, BufferId)>> = BTreeMap::new();
        let mut only_read = Vec::new();
        for (id, written) in used {
            let (whole, at) = match self.location(body, id) {
                Location::Block(at) => (None, at),
                Location::Part(buffer, at) => (Some(buffer), at),
                Location::Variable(_) | Location::Order | Location::Phase(_) => {
                    only_read.push((id, false));
                    continue;
                }
                _ => continue,
            };
            parts.entry(whole).or_default().push((at, id));
            if !written {
                only_read.push((id, true));
            }
        }
        let cut = |(whole, mut parts): (_, Vec<_>)| {
            parts.sort_unstable();
            let mut end = 0;
            let skipped = |(at, id)| {
                let skipped = at - end;
                end = at + shared.buffer(id).len;
                (id, skipped)
            };
            MemoryParts { whole, parts: parts.into_iter().map(skipped).collect() }
        };
        Cuts { cuts: parts.into_iter().map(cut).collect(), shared: only_read }
    }
}
