//! Invariants of programs, for lowering and for every pass.
//!
//! Apart from types and bounds, the invariants follow from the generated languages. Rust borrows a
//! buffer while a loop walks the buffer. Generated code must compile without warnings, so no
//! declaration may be unused.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{
    Base, BlockSums, Body, BodyRef, Buffer, BufferId, Copied, CopiedDim, Element, Encoding, Expr,
    Kernel, LaneOp, Place, Program, Role, Scalar, ScalarFunction, Stmt, Tiles, Type, Var, Walk,
};

/// Checks a program. The error describes the first violation.
pub fn verify(program: &Program) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for buffer in &program.buffers {
        role(buffer)?;
        let several = matches!(buffer.role, Role::Weights | Role::Table);
        if !several && !seen.insert(buffer.role) {
            return Err(format!("buffer {:?}: a second buffer for {:?}", buffer.name, buffer.role));
        }
        if is_own(buffer.role) {
            return Err(format!(
                "buffer {:?}: a {:?} that all bodies share",
                buffer.name, buffer.role
            ));
        }
    }
    tables(program)?;
    flushed(program)?;
    packing(program).map_err(|e| format!("packing: {e}"))?;
    program.bodies().try_for_each(verify_body)
}

/// Checks the body for one instruction set.
fn verify_body(body: BodyRef<'_>) -> Result<(), String> {
    scratch(body)?;
    block(body)?;
    step_block(body)?;
    for function in &body.functions {
        verify_function(body, function)
            .map_err(|e| format!("function {:?}: {e}", function.name))?;
    }
    let mut written = BTreeSet::new();
    let mut called = BTreeSet::new();
    for kernel in &body.kernels {
        let used = verify_kernel(body, kernel, false, &mut called)
            .map_err(|e| format!("kernel {:?}: {e}", kernel.name))?;
        written.extend(used);
    }
    let mut parts: BTreeMap<BufferId, Vec<(usize, usize)>> = BTreeMap::new();
    for id in written {
        let (whole, at) = body.whole(id);
        parts.entry(whole).or_default().push((at, body.buffer(id).len));
    }
    for (i, buffer) in body.program.buffers.iter().enumerate() {
        let mut parts = parts.remove(&BufferId(i)).unwrap_or_default();
        parts.sort_unstable();
        let end =
            parts.into_iter().try_fold(0, |end, (at, len)| (at <= end).then(|| end.max(at + len)));
        if matches!(buffer.role, Role::Result(_)) && end != Some(buffer.len) {
            return Err(format!("no kernel writes buffer {:?}, a result", buffer.name));
        }
    }
    for group in body.groups().chain(body.of_steps().chunks(1)) {
        apart(body, group)?;
    }
    match body.functions.iter().enumerate().find(|(i, _)| !called.contains(i)) {
        Some((_, function)) => Err(format!("no kernel calls function {:?}", function.name)),
        None => Ok(()),
    }
}

/// Checks the kernels that compute several steps together: their input and output are in the block.
fn step_block(body: BodyRef<'_>) -> Result<(), String> {
    let Some(step_block) = &body.step_block else { return Ok(()) };
    if step_block.kernels > body.kernels.len() {
        return Err("more kernels of several steps than kernels".to_owned());
    }
    for id in [step_block.input, step_block.output] {
        if body.block_place(id).is_none() {
            return Err(format!("buffer {} of several steps is not in the block", id.0));
        }
    }
    Ok(())
}

/// True if a buffer with this role belongs to one body.
fn is_own(role: Role) -> bool {
    matches!(role, Role::Scratch | Role::Part { .. })
}

/// True if packing may read a buffer with this role.
fn is_source(role: Role) -> bool {
    matches!(role, Role::Parameter(_) | Role::Constant(_))
}

/// Checks size and element type of a buffer against its role.
fn role(buffer: &Buffer) -> Result<(), String> {
    if buffer.len == 0 {
        return Err(format!("buffer {:?} is empty", buffer.name));
    }
    let fits = match buffer.role {
        Role::Parameter(_) | Role::Result(_) => {
            matches!(buffer.element, Element::F32 | Element::I32 | Element::I64 | Element::Bool)
        }
        Role::Table => matches!(buffer.element, Element::U32 | Element::U16 | Element::U8),
        Role::Backwards => buffer.element == Element::U32 && buffer.len == 1,
        Role::Phase(steps) => buffer.element == Element::U32 && buffer.len == 1 && steps > 1,
        Role::Weights => buffer.element.is_loaded(),
        _ => buffer.element == Element::F32,
    };
    match fits {
        true => Ok(()),
        false => {
            Err(format!("buffer {:?}: a {:?} of {}", buffer.name, buffer.role, buffer.element))
        }
    }
}

/// Checks a body's private buffers: scratch of one or several kernels, and parts.
fn scratch(body: BodyRef<'_>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for buffer in &body.scratch {
        role(buffer)?;
        if let Role::Part { whole, at } = buffer.role {
            let whole = find(body, whole)?;
            let inside = at.checked_add(buffer.len).is_some_and(|end| end <= whole.len);
            if !inside || !matches!(whole.role, Role::Result(_) | Role::Variable(_) | Role::Scratch)
            {
                return Err(format!("buffer {:?} is no part of {:?}", buffer.name, whole.name));
            }
            if !seen.insert(buffer.role) {
                return Err(format!(
                    "buffer {:?}: a second buffer for {:?}",
                    buffer.name, buffer.role
                ));
            }
        }
        if !is_own(buffer.role) {
            return Err(format!("buffer {:?}: a {:?} of one body alone", buffer.name, buffer.role));
        }
    }
    let params: BTreeSet<BufferId> =
        body.kernels.iter().flat_map(|k| &k.params).map(|param| param.0).collect();
    let mut owner: BTreeMap<BufferId, usize> = BTreeMap::new();
    for (i, kernel) in body.kernels.iter().enumerate() {
        for id in &kernel.scratch {
            if params.contains(id)
                || *owner.entry(*id).or_insert(i) != i
                || body.get(*id).is_none_or(|b| b.role != Role::Scratch)
            {
                return Err(format!(
                    "kernel {:?}: buffer {} is not its own scratch",
                    kernel.name, id.0
                ));
            }
        }
    }
    Ok(())
}

/// Checks the buffers flushed before the first kernel: all are float parameters.
fn flushed(program: &Program) -> Result<(), String> {
    for id in &program.flushed_before {
        let buffer = shared(program, *id)?;
        if !matches!(buffer.role, Role::Parameter(_)) || buffer.element != Element::F32 {
            return Err(format!("buffer {:?} cannot be flushed before all else", buffer.name));
        }
    }
    Ok(())
}

fn shared(program: &Program, id: BufferId) -> Result<&Buffer, String> {
    program.buffers.get(id.0).ok_or_else(|| format!("no buffer {}", id.0))
}

fn find(body: BodyRef<'_>, id: BufferId) -> Result<&Buffer, String> {
    body.get(id).ok_or_else(|| format!("no buffer {}", id.0))
}

/// Checks tables: each has contents, once.
fn tables(program: &Program) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (id, values) in &program.tables {
        let buffer = shared(program, *id)?;
        if buffer.role != Role::Table || buffer.len != values.len() || !seen.insert(*id) {
            return Err(format!(
                "table {:?} is no buffer for these {} values",
                buffer.name,
                values.len()
            ));
        }
    }
    let has_values = |i: usize| seen.contains(&BufferId(i));
    match program.buffers.iter().enumerate().find(|(i, b)| b.role == Role::Table && !has_values(*i))
    {
        Some((_, buffer)) => Err(format!("table {:?} has no contents", buffer.name)),
        None => Ok(()),
    }
}

/// The memory of a buffer's elements: a range of the block (`None`) or of a buffer.
fn region(body: BodyRef<'_>, id: BufferId) -> (Option<BufferId>, Range<usize>) {
    let (whole, at) = body.whole(id);
    let len = body.buffer(id).len;
    match body.block_place(whole) {
        Some(start) => (None, start + at..start + at + len),
        None => (Some(whole), at..at + len),
    }
}

/// Checks a group of concurrent kernels: at most two, and neither writes memory used by the other.
/// A single kernel must not use memory under two names if it writes one of the two.
fn apart(body: BodyRef<'_>, group: &[Kernel]) -> Result<(), String> {
    let name = &group[0].name;
    if group.len() > 2 || group[0].concurrent {
        return Err(format!("kernel {name:?}: {} at the same time", group.len()));
    }
    let params = || {
        group
            .iter()
            .enumerate()
            .flat_map(|(k, kernel)| kernel.params.iter().map(move |param| (k, *param)))
    };
    for (k, (id, _)) in params().filter(|(_, param)| param.1) {
        let (whole, range) = region(body, id);
        for (_, (other, _)) in params().filter(|(kernel, param)| (*kernel, param.0) != (k, id)) {
            let (other_of, other_range) = region(body, other);
            if whole == other_of && range.start < other_range.end && other_range.start < range.end {
                let (one, two) = (&body.buffer(id).name, &body.buffer(other).name);
                return Err(format!("kernel {name:?}: {one:?} is written where {two:?} is used"));
            }
        }
    }
    Ok(())
}

/// Checks the block: parts lie inside, and parts of one kernel are disjoint.
fn block(body: BodyRef<'_>) -> Result<(), String> {
    let range = |id: BufferId, at: usize| at..at + body.buffer(id).len;
    let kernel_scratch: BTreeSet<BufferId> =
        body.kernels.iter().flat_map(|k| &k.scratch).copied().collect();
    let mut places: BTreeMap<BufferId, usize> = BTreeMap::new();
    for (id, at) in &body.block {
        let buffer = find(body, *id)?;
        let twice = places.insert(*id, *at).is_some();
        if buffer.role != Role::Scratch || kernel_scratch.contains(id) || twice {
            return Err(format!("buffer {:?} has no place in the block", buffer.name));
        }
        if at % body.program.aligned_elements() != 0
            || at.checked_add(buffer.len).is_none_or(|end| end > body.block_len)
        {
            return Err(format!("buffer {:?} at {at} is not inside the block", buffer.name));
        }
    }
    for kernel in &body.kernels {
        let shared = |id: &BufferId| body.get(*id).is_some_and(|b| b.role == Role::Scratch);
        let whole = |(id, _): &(BufferId, bool)| {
            if body.get(*id).is_some() { body.whole(*id).0 } else { *id }
        };
        if let Some(id) =
            kernel.params.iter().map(whole).filter(shared).find(|id| !places.contains_key(id))
        {
            let name = &body.buffer(id).name;
            return Err(format!(
                "kernel {:?}: {name:?} outlives it and has no place in the block",
                kernel.name
            ));
        }
        let part = |(id, _): &(BufferId, bool)| places.get(id).map(|at| (range(*id, *at), *id));
        let mut parts: Vec<_> = kernel.params.iter().filter_map(part).collect();
        parts.sort_unstable_by_key(|(range, id)| (range.start, *id));
        if let Some(pair) = parts.windows(2).find(|pair| pair[1].0.start < pair[0].0.end) {
            let (a, b) = (&body.buffer(pair[0].1).name, &body.buffer(pair[1].1).name);
            return Err(format!(
                "kernel {:?}: {a:?} and {b:?} share a place in the block",
                kernel.name
            ));
        }
    }
    match body.block.is_sorted() {
        true => Ok(()),
        false => Err("the block does not list its buffers in order".to_owned()),
    }
}

/// The destination of a copy: the first element, and the loops.
type CopyDestination = (Place, Vec<(usize, usize)>);

/// Checks packing: only copies from parameters and constants to weights. Additions need an earlier
/// copy to the same destination.
fn packing(program: &Program) -> Result<(), String> {
    let (kernel, own) = (&program.packing, Body::default());
    if kernel.body.iter().any(|stmt| !matches!(stmt, Stmt::Copy(_))) || !kernel.scratch.is_empty() {
        return Err("it does more than to copy".to_owned());
    }
    if kernel.params.iter().any(|(id, written)| {
        !written && shared(program, *id).is_ok_and(|from| !is_source(from.role))
    }) {
        return Err("it goes from a parameter or a constant to weights".to_owned());
    }
    let mut before: BTreeSet<CopyDestination> = BTreeSet::new();
    for (copied, ..) in kernel.copies() {
        let destination =
            (copied.to, copied.dims.iter().map(|d| (d.extent, d.to_stride)).collect());
        if !copied.add {
            before.insert(destination);
        } else if !before.contains(&destination) {
            return Err("it adds to what is not written".to_owned());
        }
    }
    verify_kernel(BodyRef { program, body: &own }, kernel, true, &mut BTreeSet::new()).map(drop)
}

fn verify_function(body: BodyRef<'_>, function: &ScalarFunction) -> Result<(), String> {
    let scalar = Type { scalar: Scalar::F32, lanes: 1 };
    if function.params == 0 || function.locals.len() < function.params {
        return Err("a function has arguments, the first of its locals".to_owned());
    }
    if function.locals.iter().any(|l| l.ty.lanes != 1)
        || function.locals[..function.params].iter().any(|l| l.ty != scalar)
    {
        return Err("a function is scalar, its arguments f32".to_owned());
    }
    let Some(result) = &function.result else {
        return if function.body.is_empty() {
            Ok(())
        } else {
            Err("a body without a result".to_owned())
        };
    };
    let mut checker = Checker::new(body, &function.locals, false);
    for i in 0..function.params {
        checker.vars[i] = Some(Scope { mutable: false, read: false, set: false });
        checker.live.push(Var(i));
    }
    for stmt in &function.body {
        match stmt {
            Stmt::Let { mutable: false, .. } | Stmt::Comment(_) => checker.stmt(stmt)?,
            _ => return Err("a function has Let and Comment only".to_owned()),
        }
    }
    if checker.expr(result)? != scalar {
        return Err("the result is not a scalar f32".to_owned());
    }
    checker.leave(0)
}

/// Checks a kernel. Returns the buffers with stores.
fn verify_kernel(
    body: BodyRef<'_>,
    kernel: &Kernel,
    packs: bool,
    called: &mut BTreeSet<usize>,
) -> Result<BTreeSet<BufferId>, String> {
    let mut checker = Checker { packs, ..Checker::new(body, &kernel.locals, true) };
    for (id, written) in
        kernel.params.iter().copied().chain(kernel.scratch.iter().map(|id| (*id, true)))
    {
        let buffer = find(body, id)?;
        let writable = match buffer.role {
            Role::Weights => packs,
            role => !packs && (is_own(role) || matches!(role, Role::Result(_) | Role::Variable(_))),
        };
        if written && !writable {
            return Err(format!("it writes buffer {:?}, which is read only", buffer.name));
        }
        if checker.known(Base::Buffer(id)).is_some() {
            return Err(format!("buffer {:?} is declared twice", buffer.name));
        }
        let known = Viewable::new(Base::Buffer(id), &buffer.name, buffer.len, buffer.element);
        checker.enter(Viewable { writable: written, ..known });
    }
    for stmt in &kernel.body {
        checker.stmt(stmt)?;
    }
    checker.leave(0)?;
    let mut stored = BTreeSet::new();
    for known in &checker.bases {
        if !known.loaded && !known.stored {
            return Err(format!("buffer {:?} is declared and not used", known.name));
        }
        if known.writable != known.stored {
            return Err(format!("buffer {:?} is declared as written and is not", known.name));
        }
        if let (Base::Buffer(id), true) = (known.base, known.stored) {
            stored.insert(id);
        }
    }
    called.extend(checker.called);
    Ok(stored)
}

/// An accessible buffer or window.
struct Viewable {
    base: Base,
    name: String,
    len: usize,
    element: Element,
    writable: bool,
    /// The number of live loops with a walk over the base.
    walked: usize,
    /// True if the walk of a live loop writes.
    walked_mutably: bool,
    loaded: bool,
    stored: bool,
}

impl Viewable {
    fn new(base: Base, name: &str, len: usize, element: Element) -> Self {
        let (name, walked) = (name.to_owned(), 0);
        Self {
            base,
            name,
            len,
            element,
            writable: false,
            walked,
            walked_mutably: false,
            loaded: false,
            stored: false,
        }
    }
}

/// A variable in scope.
struct Scope {
    mutable: bool,
    read: bool,
    set: bool,
}

struct Checker<'a> {
    body: BodyRef<'a>,
    locals: &'a [super::Local],
    /// True for kernels: calls and memory accesses are allowed.
    kernel: bool,
    /// True for packing: copies may add and encode.
    packs: bool,
    bases: Vec<Viewable>,
    /// By buffer or window: its index in `bases`.
    places: BTreeMap<Base, usize>,
    /// By variable: its scope. `None`: not in scope.
    vars: Vec<Option<Scope>>,
    /// The variables in scope, in order of definition.
    live: Vec<Var>,
    called: BTreeSet<usize>,
}

impl<'a> Checker<'a> {
    fn new(body: BodyRef<'a>, locals: &'a [super::Local], kernel: bool) -> Self {
        let vars = locals.iter().map(|_| None).collect();
        Self {
            body,
            locals,
            kernel,
            packs: false,
            bases: Vec::new(),
            places: BTreeMap::new(),
            vars,
            live: Vec::new(),
            called: BTreeSet::new(),
        }
    }

    fn name(&self, var: Var) -> String {
        self.locals.get(var.0).map_or_else(|| format!("var {}", var.0), |l| format!("{:?}", l.name))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), String> {
        match stmt {
            Stmt::Let { var, mutable, value } => {
                let ty = self.expr(value)?;
                self.define(*var, *mutable, ty)
            }
            Stmt::Set { var, value } => {
                let ty = self.expr(value)?;
                match self.vars.get_mut(var.0) {
                    Some(Some(scope)) if scope.mutable => scope.set = true,
                    _ => {
                        return Err(format!(
                            "{} is set and is no accumulator in scope",
                            self.name(*var)
                        ));
                    }
                }
                let local = &self.locals[var.0];
                if local.ty != ty {
                    return Err(format!("{:?} is {}, its new value {ty}", local.name, local.ty));
                }
                Ok(())
            }
            Stmt::Store { to, value } => {
                let ty = self.expr(value)?;
                if ty.scalar != Scalar::F32 {
                    return Err(format!("a store of {ty}"));
                }
                if ty.lanes > 1
                    && self.known(to.base).is_some_and(|known| known.element != Element::F32)
                {
                    return Err(format!("a store of {ty} to integers"));
                }
                self.written(*to, ty.lanes)
            }
            Stmt::Pick { at, count, walk, body } => {
                if self.expr(at)? != (Type { scalar: Scalar::U32, lanes: 1 }) {
                    return Err("the number of a place is a u32".to_owned());
                }
                if walk.reverse {
                    return Err(format!(
                        "{:?}, of which one place is used, is no other window",
                        walk.name
                    ));
                }
                self.repeated(*count, None, std::slice::from_ref(walk), body, None)
            }
            Stmt::For { count, counter, backwards, walks, body } => {
                if let Some(var) = backwards
                    && self.expr(&Expr::Var(*var))? != (Type { scalar: Scalar::U32, lanes: 1 })
                {
                    return Err(format!("{} is no direction", self.name(*var)));
                }
                match body.split_last() {
                    Some((Stmt::LeaveUnless { less }, rest)) => {
                        self.repeated(*count, *counter, walks, rest, Some(less))
                    }
                    _ => self.repeated(*count, *counter, walks, body, None),
                }
            }
            Stmt::If { less, then, otherwise } => {
                self.condition(less)?;
                if then.is_empty() && otherwise.is_empty() {
                    return Err("a condition on which nothing depends".to_owned());
                }
                for branch in [then, otherwise] {
                    let first = self.live.len();
                    branch.iter().try_for_each(|stmt| self.stmt(stmt))?;
                    self.leave(first)?;
                }
                Ok(())
            }
            Stmt::LeaveUnless { .. } => {
                Err("a loop is left where its body does not end".to_owned())
            }
            Stmt::Copy(copied) => self.copied(copied),
            Stmt::Tiles(tiles) => self.tiles(tiles),
            Stmt::Blocks(sums) => self.block_sums(sums),
            Stmt::Comment(_) => Ok(()),
        }
    }

    fn condition(&mut self, (a, b): &(Expr, Expr)) -> Result<(), String> {
        let count = Type { scalar: Scalar::U32, lanes: 1 };
        match self.expr(a)? == count && self.expr(b)? == count {
            true => Ok(()),
            false => Err("a condition compares two u32".to_owned()),
        }
    }

    fn define(&mut self, var: Var, mutable: bool, ty: Type) -> Result<(), String> {
        let local = self.locals.get(var.0).ok_or_else(|| format!("no local {}", var.0))?;
        if local.ty != ty {
            return Err(format!("{:?} is {}, its value {ty}", local.name, local.ty));
        }
        if self.vars[var.0].is_some() {
            return Err(format!("{:?} is defined twice", local.name));
        }
        self.vars[var.0] = Some(Scope { mutable, read: false, set: false });
        self.live.push(var);
        Ok(())
    }

    /// Checks a store to `n` elements.
    fn written(&mut self, to: Place, n: usize) -> Result<(), String> {
        let known = self.target(to, n)?;
        if !known.writable {
            return Err(format!("a store into {:?}, which is read only", known.name));
        }
        if known.walked > 0 {
            return Err(format!("a store into {:?} while a loop walks it", known.name));
        }
        known.stored = true;
        Ok(())
    }

    fn tiles(&mut self, tiles: &Tiles) -> Result<(), String> {
        let Tiles { abreast, step, .. } = *tiles;
        if ![2, 4].contains(&tiles.in_word)
            || abreast == 0
            || !tiles.words.is_multiple_of(abreast)
            || step == 0
        {
            return Err(format!(
                "words of {} elements, {abreast} abreast of {}",
                tiles.in_word, tiles.words
            ));
        }
        let none = tiles.words == 0 || tiles.columns == 0;
        let reach = tiles.reach().filter(|_| !none);
        let [elements, weights, sums] =
            reach.ok_or("sums of nothing, or of more than there can be")?;
        if tiles.pitch < tiles.panels * tiles.columns {
            return Err("sums that are written twice".to_owned());
        }
        if [tiles.elements.base, tiles.weights.base].contains(&tiles.to.base) {
            return Err("sums within what they are made of".to_owned());
        }
        let of_bytes =
            tiles.in_word == 2 && self.target(tiles.weights, weights)?.element == Element::I8Pair;
        for (from, n, narrow) in
            [(tiles.elements, elements, false), (tiles.weights, weights, of_bytes)]
        {
            self.load(from, n, 1, narrow)?;
        }
        self.written(tiles.to, sums)
    }

    fn block_sums(&mut self, sums: &BlockSums) -> Result<(), String> {
        if sums.rows == 0 || sums.block_rows == 0 || sums.present == 0 {
            return Err("sums of no blocks".to_owned());
        }
        let [(elements, words), (weights, len), counts, inputs] = sums.read();
        if !words.is_multiple_of(sums.product.element_words()) {
            return Err(format!("blocks of a vector of {words} words"));
        }
        if [elements.base, weights.base].contains(&sums.to.base) {
            return Err("sums within what they are made of".to_owned());
        }
        for (from, n) in [(elements, words), (weights, len)] {
            self.load(from, n, 1, false)?;
        }
        for (from, n) in [counts, inputs] {
            self.target(from, n)?.loaded = true;
            let table = self.body.program.tables.iter();
            let mut table = table.filter(|(id, _)| Base::Buffer(*id) == from.base);
            let Some((_, values)) = table.next() else {
                return Err("blocks without a table".to_owned());
            };
            let values = &values[from.offset..from.offset + n];
            let is_right = match from == sums.counts {
                true => values.iter().map(|n| *n as usize).sum::<usize>() == sums.present,
                false => values
                    .iter()
                    .all(|at| (*at as usize) < sums.words / sums.product.element_words()),
            };
            if !is_right {
                return Err("a table that does not fit its blocks".to_owned());
            }
        }
        self.written(sums.to, sums.sums())
    }

    fn copied(&mut self, copied: &Copied) -> Result<(), String> {
        let Copied { from, to, dims, add, encoding, abreast, interleaves_halves, words, blocks } =
            copied;
        let bounds = bounds(copied).ok_or("a copy of nothing, or of more than there can be")?;
        let distance = bounds.to - to.offset + 1;
        if from.base == to.base {
            return Err("a copy within one buffer".to_owned());
        }
        let is_twice = |dim: &CopiedDim| dim.to_stride == 0 && dim.extent > 1;
        if blocks.is_none() && copied.written().iter().any(is_twice) {
            return Err("a copy that writes an element twice".to_owned());
        }
        let read = Place { offset: bounds.from.0, ..*from };
        self.load(read, bounds.from.1 - bounds.from.0 + 1, 1, false)?;
        if *abreast == 0 || *abreast > 1 && *encoding == Encoding::F32 {
            return Err(format!("a copy of {abreast} elements abreast that it does not encode"));
        }
        if *interleaves_halves {
            let in_fours = |dim: &CopiedDim| dim.to_stride.is_multiple_of(4);
            let is_whole = match &dims[..] {
                [outer @ .., columns, row] => {
                    columns.to_stride == 1
                        && columns.extent.is_multiple_of(4)
                        && outer.iter().chain([row]).all(in_fours)
                }
                _ => false,
            };
            let of_pairs =
                matches!(encoding, Encoding::Int16Pair | Encoding::Int8Pair | Encoding::Int8Wide);
            if !of_pairs || *abreast > 1 || !is_whole || !to.offset.is_multiple_of(4) {
                return Err("halves apart of what is not four words side by side".to_owned());
            }
        }
        let in_pairs = [Encoding::Int8Wide, Encoding::Int16Pair].contains(encoding);
        let line = dims.last().map_or(0, |line| line.extent);
        if words
            .is_some_and(|words| !in_pairs || !(words..=words.saturating_mul(2)).contains(&line))
        {
            return Err("a copy into words that do not hold two elements of a line each".to_owned());
        }
        let is_of_kernels = *encoding == Encoding::LowBytes;
        if is_of_kernels {
            let is_line = matches!(dims[..], [CopiedDim { extent, from_stride: 1, to_stride: 1 }]
                if extent.is_multiple_of(4));
            if self.packs || *add || !is_line {
                return Err("low bytes of what is not one line of fours in a kernel".to_owned());
            }
        } else if !self.packs && (*add || *encoding != Encoding::F32) {
            return Err("a copy that adds or encodes, and does not pack".to_owned());
        }
        self.written(*to, distance)?;
        match self.known(to.base).filter(|known| known.element != encoding.element()) {
            Some(known) => Err(format!(
                "a copy of {} into {:?}, which holds {}",
                encoding.element(),
                known.name,
                known.element
            )),
            None => Ok(()),
        }
    }

    /// Checks a loop or a pick. `unless`: the loop ends if the first value is not below the second.
    fn repeated(
        &mut self,
        count: usize,
        counter: Option<Var>,
        walks: &[Walk],
        body: &[Stmt],
        unless: Option<&(Expr, Expr)>,
    ) -> Result<(), String> {
        if count == 0 || u32::try_from(count).is_err() {
            return Err(format!("a loop of {count} iterations"));
        }
        let (first_var, first_base) = (self.live.len(), self.bases.len());
        if let Some(counter) = counter {
            self.define(counter, false, Type { scalar: Scalar::U32, lanes: 1 })?;
        }
        let mut windows = Vec::new();
        for walk in walks {
            let name = &walk.name;
            if walk.len == 0 {
                return Err(format!("window {name:?} is empty"));
            }
            let n = walk.reach(count).ok_or("a loop that is too long")?;
            let base = self.target(walk.start, n).map_err(|e| format!("window {name:?}: {e}"))?;
            if walk.written && (!base.writable || base.walked > 0) {
                return Err(format!(
                    "window {name:?} writes {:?}, which is read only or walked already",
                    base.name
                ));
            }
            base.walked += 1;
            base.walked_mutably = walk.written;
            let window = Base::Window(walk.window);
            if self.known(window).is_some() || windows.iter().any(|k: &Viewable| k.base == window) {
                return Err(format!("window {name:?} is bound already"));
            }
            let element = self.known(walk.start.base).ok_or("a base that went away")?.element;
            windows.push(Viewable {
                writable: walk.written,
                ..Viewable::new(window, name, walk.len, element)
            });
        }
        windows.into_iter().for_each(|window| self.enter(window));
        for stmt in body {
            self.stmt(stmt)?;
        }
        unless.map_or(Ok(()), |less| self.condition(less))?;
        self.leave(first_var)?;
        for (walk, window) in walks.iter().zip(self.bases.split_off(first_base)) {
            self.places.remove(&window.base);
            if !window.loaded && !window.stored {
                return Err(format!("window {:?} is not used", window.name));
            }
            if window.writable != window.stored {
                return Err(format!("window {:?} is said to be written and is not", window.name));
            }
            let base = self.known(walk.start.base).ok_or("a base that went away")?;
            base.walked -= 1;
            base.walked_mutably = false;
            base.loaded |= window.loaded;
            base.stored |= window.stored;
        }
        Ok(())
    }

    /// Ends the scope of the variables from `first_var` on.
    fn leave(&mut self, first_var: usize) -> Result<(), String> {
        for var in self.live.split_off(first_var) {
            let scope = self.vars[var.0].take().ok_or("a value that went away")?;
            if !scope.read {
                return Err(format!("{} is not used", self.name(var)));
            }
            if scope.mutable && !scope.set {
                return Err(format!("{} is an accumulator and is never set", self.name(var)));
            }
        }
        Ok(())
    }

    /// Adds an accessible buffer or window.
    fn enter(&mut self, known: Viewable) {
        self.places.insert(known.base, self.bases.len());
        self.bases.push(known);
    }

    fn known(&mut self, base: Base) -> Option<&mut Viewable> {
        self.places.get(&base).map(|&at| &mut self.bases[at])
    }

    /// The base of an access to `n` elements: in bounds, and not borrowed by a loop with writes.
    fn target(&mut self, place: Place, n: usize) -> Result<&mut Viewable, String> {
        let known =
            self.known(place.base).ok_or_else(|| format!("{:?} is not in reach", place.base))?;
        if place.offset.checked_add(n).is_none_or(|end| end > known.len) {
            return Err(format!(
                "elements {}+{n} of {:?}, which has {}",
                place.offset, known.name, known.len
            ));
        }
        if known.walked_mutably {
            return Err(format!("an access to {:?} while a loop writes it", known.name));
        }
        Ok(known)
    }

    /// Checks a load of f32, or with `narrow` of a type that loads convert to f32.
    fn load(&mut self, from: Place, n: usize, lanes: usize, narrow: bool) -> Result<Type, String> {
        if !self.kernel {
            return Err("a function has no memory".to_owned());
        }
        let known = self.target(from, n)?;
        known.loaded = true;
        if known.element != Element::F32 && !(narrow && known.element.is_loaded()) {
            return Err(format!("{:?} holds {}, read as f32", known.name, known.element));
        }
        typed(Type { scalar: Scalar::F32, lanes })
    }

    fn expr(&mut self, expr: &Expr) -> Result<Type, String> {
        match expr {
            Expr::Load { from, lanes } => self.load(*from, *lanes, *lanes, true),
            Expr::Splat { from, lanes } => self.load(*from, 1, *lanes, false),
            Expr::Length { from, most, .. } => {
                if !self.kernel {
                    return Err("a function has no memory".to_owned());
                }
                let known = self.target(*from, 1)?;
                known.loaded = true;
                if known.element.is_loaded() {
                    return Err(format!(
                        "a length of {:?}, which holds {}",
                        known.name, known.element
                    ));
                }
                if i32::try_from(*most).is_err() {
                    return Err(format!("a length of up to {most}"));
                }
                Ok(Type { scalar: Scalar::U32, lanes: 1 })
            }
            Expr::Const { ty, .. } => typed(*ty),
            Expr::Var(var) => {
                let Some(Some(scope)) = self.vars.get_mut(var.0) else {
                    return Err(format!("{} is used out of its scope", self.name(*var)));
                };
                scope.read = true;
                Ok(self.locals[var.0].ty)
            }
            Expr::Op(operation, args) => {
                let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
                operation_type(*operation, &args)
            }
            Expr::Call(function, args) => {
                let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
                let callee = self
                    .body
                    .functions
                    .get(*function)
                    .ok_or_else(|| format!("no function {function}"))?;
                if !self.kernel {
                    return Err("a function that calls".to_owned());
                }
                if args.len() != callee.params {
                    return Err(format!(
                        "{:?} takes {} arguments, not {}",
                        callee.name,
                        callee.params,
                        args.len()
                    ));
                }
                if args.iter().any(|a| a.scalar != Scalar::F32 || a.lanes != args[0].lanes) {
                    return Err(format!("{:?} called with {args:?}", callee.name));
                }
                self.called.insert(*function);
                Ok(args[0])
            }
        }
    }
}

/// The elements that a copy touches.
struct Bounds {
    /// The first and the last read element.
    from: (usize, usize),
    /// The last written element.
    to: usize,
}

fn bounds(copied: &Copied) -> Option<Bounds> {
    let Copied { from, to, dims, .. } = copied;
    let mut bounds = Bounds { from: (from.offset, from.offset), to: to.offset };
    for dim in dims {
        let distance = dim.extent.checked_sub(1)?.checked_mul(dim.from_stride.unsigned_abs())?;
        if dim.from_stride < 0 {
            bounds.from.0 = bounds.from.0.checked_sub(distance)?;
        } else {
            bounds.from.1 = bounds.from.1.checked_add(distance)?;
        }
    }
    if let Some(blocks) = &copied.blocks {
        bounds.to = bounds.to.checked_add(blocks.reach().max(1) - 1)?;
        return Some(bounds).filter(|bounds| bounds.from.1 < usize::MAX);
    }
    for dim in copied.written() {
        bounds.to =
            bounds.to.checked_add(dim.extent.checked_sub(1)?.checked_mul(dim.to_stride)?)?;
    }
    // the number of elements must not overflow
    (bounds.from.1 < usize::MAX && bounds.to < usize::MAX).then_some(bounds)
}

fn typed(ty: Type) -> Result<Type, String> {
    if ty.lanes > 0 { Ok(ty) } else { Err(format!("{} lanes", ty.lanes)) }
}

/// The type of an operation's result.
fn operation_type(operation: LaneOp, args: &[Type]) -> Result<Type, String> {
    let (operands, scalar) = match operation {
        LaneOp::Add | LaneOp::Sub | LaneOp::Mul | LaneOp::Div | LaneOp::Max | LaneOp::Min => {
            (2, Scalar::F32)
        }
        LaneOp::MaxMagnitude => (2, Scalar::F32),
        LaneOp::MulAdd => (3, Scalar::F32),
        LaneOp::SelectLess => (4, Scalar::F32),
        LaneOp::Flush | LaneOp::ToBits => (1, Scalar::F32),
        LaneOp::FromBits | LaneOp::FromSigned => (1, Scalar::U32),
        LaneOp::DotPairs | LaneOp::DotQuads | LaneOp::DotUnsignedQuads => (3, Scalar::U32),
        LaneOp::WidenAndMultiplyEven | LaneOp::WidenAndMultiplyOdd => (3, Scalar::U32),
        LaneOp::DotPairsByLane(lane) | LaneOp::DotQuadsByLane(lane) => {
            if args.first().is_none_or(|a| a.lanes < 2 || a.lanes <= lane) {
                return Err(format!("lane {lane} of {args:?}"));
            }
            (3, Scalar::U32)
        }
        LaneOp::WrappingAdd | LaneOp::WrappingSub | LaneOp::And | LaneOp::Or | LaneOp::Xor => {
            (2, Scalar::U32)
        }
        LaneOp::ShiftLeft(by) | LaneOp::ShiftRight(by) => {
            if by > 31 {
                return Err(format!("a shift by {by}"));
            }
            (1, Scalar::U32)
        }
    };
    match args {
        [first, ..]
            if args.len() == operands
                && args.iter().all(|a| a == first)
                && first.scalar == scalar =>
        {
            Ok(Type { scalar: operation.result(), ..*first })
        }
        _ => Err(format!("{operation:?} of {args:?}")),
    }
}
