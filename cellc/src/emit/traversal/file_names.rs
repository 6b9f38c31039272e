//! Names of buffers, kernels and functions of a file.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::block::Block;
use crate::emit::names::{Interface, Scope};
use crate::kernel::{Body, BodyRef, BufferId, Element, Kernel, Program, Role};
use crate::pack::Packed;

/// The most kernels with one function each. In larger programs, kernels that differ only
/// in memory share a function.
const MOST_APART: usize = 64;

/// The most kernel groups called by one function.
pub(in crate::emit) const MOST_CALLED: usize = 64;

/// The names of buffers and functions, shared by all kernels of a file.
pub(in crate::emit) struct FileNames {
    /// By buffer: the name in kernels.
    pub(in crate::emit) buffers: Vec<Block>,
    /// By function.
    pub(in crate::emit) functions: Vec<String>,
    /// By kernel: its function, and true if the function is written for this kernel instead of an
    /// equal earlier one.
    pub(in crate::emit) kernels: Vec<(String, bool)>,
    /// The functions that call groups of kernels. Empty if one function calls all kernels.
    pub(in crate::emit) runs: Vec<String>,
    /// As `runs`, for the kernels that compute several steps together.
    pub(in crate::emit) runs_of_steps: Vec<String>,
    /// Names that locals of functions must not hide: functions and other declarations of the file.
    pub(super) outer: Rc<Scope>,
    /// Names that locals of kernels must not hide: also buffers and kernels.
    pub(super) scope: Rc<Scope>,
}

/// Names declared by the text of a dialect, not to be hidden by a program.
pub(in crate::emit) struct TakenNames<'a> {
    /// Around kernels and functions.
    pub(in crate::emit) around: Vec<&'a str>,
    /// Inside kernels: the counters of copy loops.
    pub(in crate::emit) counters: Vec<String>,
    /// The suffix of the names that the dialect declares for a function besides its own name.
    pub(in crate::emit) suffix: &'static str,
}

impl FileNames {
    /// The names for a body: fields have the names of the interface; `taken` are further
    /// declarations.
    pub(in crate::emit) fn new(
        body: BodyRef<'_>,
        taken: &TakenNames<'_>,
        interface: &Interface,
        packed: &Packed,
    ) -> Self {
        let parameter = |i: usize| {
            let mut fields = interface.inputs.iter().chain(&interface.weights);
            fields.find(|f| f.index == i).expect("every parameter is a field").name.clone()
        };
        let mut scope = Scope::new(&taken.around);
        let functions: Vec<_> = body.functions.iter().map(|f| scope.unique(&f.name)).collect();
        let declared: Vec<_> =
            functions.iter().map(|name| format!("{name}{}", taken.suffix)).collect();
        scope.take(declared.iter().map(String::as_str));
        let outer = Rc::new(scope);
        let mut scope = Scope::within(Rc::clone(&outer));
        scope.take(taken.counters.iter().map(String::as_str));
        let private: BTreeSet<BufferId> =
            body.kernels.iter().flat_map(|kernel| kernel.scratch.iter().copied()).collect();
        let mut buffers: Vec<Block> = body
            .buffers()
            .enumerate()
            .map(|(i, buffer)| {
                let whole = body.whole(BufferId(i)).0;
                let hint = match body.buffer(whole).role {
                    Role::Parameter(i) => parameter(i),
                    Role::Result(i) => interface.outputs[i].name.clone(),
                    Role::Variable(i) => interface.variables[i].name.clone(),
                    _ => buffer.name.clone(),
                };
                let hint = if whole.0 == i { hint } else { format!("{hint}_part") };
                let bytes = match buffer.role {
                    Role::Weights => {
                        packed.run_time_at(BufferId(i)).is_none() || buffer.element != Element::F32
                    }
                    Role::Constant(_) => packed.run_time_at(BufferId(i)).is_none(),
                    Role::Parameter(_) | Role::Result(_) | Role::Variable(_) => false,
                    Role::Table | Role::Backwards | Role::Phase(_) => false,
                    Role::Scratch | Role::Part { .. } => false,
                };
                let name = match private.contains(&BufferId(i)) {
                    true => hint,
                    false => scope.unique(&hint),
                };
                Block { name, len: buffer.len, element: buffer.element, bytes, group: None }
            })
            .collect();
        let mut functions_of: BTreeMap<_, String> = BTreeMap::new();
        let kernels = body.kernels.iter().enumerate().map(|(at, kernel)| {
            let concurrent =
                kernel.concurrent || body.kernels.get(at + 1).is_some_and(|next| next.concurrent);
            if body.kernels.len() <= MOST_APART || concurrent {
                return (scope.unique(&kernel.name), true);
            }
            let blocks = kernel.params.iter().map(|(id, _)| id).chain(&kernel.scratch);
            let memory = blocks
                .map(|id| (body.buffer(*id).role.kind(), buffers[id.0].len, buffers[id.0].element));
            match functions_of.entry((kernel.anonymous(), memory.collect::<Vec<_>>())) {
                Entry::Occupied(equal) => (equal.get().clone(), false),
                Entry::Vacant(new) => (new.insert(scope.unique(&kernel.name)).clone(), true),
            }
        });
        let kernels = kernels.collect();
        let mut parts = |calls: usize, name: &str| -> Vec<String> {
            let parts = if calls > MOST_CALLED { calls.div_ceil(MOST_CALLED) } else { 0 };
            (0..parts).map(|part| scope.unique(&format!("{name}{part}"))).collect()
        };
        let runs = parts(body.groups().count(), "run");
        let runs_of_steps = parts(body.of_steps().len(), "several");
        let scope = Rc::new(scope);
        // a kernel's private memory shares no name with the file; other kernels may have the name
        for kernel in &body.kernels {
            let mut kernel_scope = Scope::within(Rc::clone(&scope));
            for id in &kernel.scratch {
                let block = &mut buffers[id.0];
                block.name = kernel_scope.unique(&block.name);
            }
        }
        Self { buffers, functions, kernels, runs, runs_of_steps, outer, scope }
    }

    /// The body that packs run-time weights, for [`FileNames::new`] and the printers of kernels.
    pub(in crate::emit) fn packing(program: &Program) -> Body {
        Body { kernels: vec![program.packing.clone()], ..Body::default() }
    }

    /// The kernels to write, with their names.
    pub(in crate::emit) fn written<'p>(
        &'p self,
        body: &'p Body,
    ) -> impl Iterator<Item = (&'p Kernel, &'p String)> {
        let kernels = body.kernels.iter().zip(&self.kernels);
        kernels.filter(|(_, (_, written))| *written).map(|(kernel, (name, _))| (kernel, name))
    }

    /// The block of a buffer.
    pub(in crate::emit) fn buffer(&self, id: BufferId) -> &Block {
        &self.buffers[id.0]
    }
}
