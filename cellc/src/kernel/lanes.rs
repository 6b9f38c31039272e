//! The lengths of the vectors that kernels load from memory and store to it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Base, Body, Expr, Kernel, Local, Stmt, Walk};

/// By buffer or window: the numbers of lanes of vector loads or stores.
type Lanes = BTreeMap<Base, BTreeSet<usize>>;

/// The least number of lanes of a long vector. LLVM moves parts of long vectors through integer
/// registers.
const LONG: usize = 16;

/// The vectors that kernels load and store.
#[derive(Default)]
struct Vectors {
    loaded: Lanes,
    stored: Lanes,
}

impl Vectors {
    /// Adds the vectors of some statements, from the inside out: a load from a window is also a
    /// load from its base.
    fn add(&mut self, body: &[Stmt], locals: &[Local]) {
        for stmt in body {
            match stmt {
                Stmt::Let { value, .. } | Stmt::Set { value, .. } => self.loads(value),
                Stmt::Store { to, value } => {
                    self.loads(value);
                    let lanes = value.ty(locals).lanes;
                    if lanes > 1 {
                        self.stored.entry(to.base).or_default().insert(lanes);
                    }
                }
                Stmt::Copy(copied) => {
                    self.loaded.entry(copied.from.base).or_default();
                }
                Stmt::Tiles(tiles) => {
                    for place in [tiles.elements, tiles.weights, tiles.to] {
                        self.loaded.entry(place.base).or_default();
                    }
                }
                Stmt::Blocks(sums) => {
                    for (place, _) in sums.read() {
                        self.loaded.entry(place.base).or_default();
                    }
                    self.loaded.entry(sums.to.base).or_default();
                }
                Stmt::For { walks, body, .. } => {
                    self.add(body, locals);
                    walks.iter().for_each(|walk| self.leave(walk));
                }
                Stmt::Pick { walk, body, .. } => {
                    self.add(body, locals);
                    self.leave(walk);
                }
                Stmt::If { then, otherwise, .. } => {
                    self.add(then, locals);
                    self.add(otherwise, locals);
                }
                Stmt::LeaveUnless { .. } | Stmt::Comment(_) => {}
            }
        }
    }

    fn leave(&mut self, walk: &Walk) {
        for all in [&mut self.loaded, &mut self.stored] {
            if let Some(lanes) = all.get(&Base::Window(walk.window)).cloned() {
                all.entry(walk.start.base).or_default().extend(lanes);
            }
        }
    }

    fn loads(&mut self, expr: &Expr) {
        match expr {
            Expr::Load { from, lanes } if *lanes > 1 => {
                self.loaded.entry(from.base).or_default().insert(*lanes);
            }
            Expr::Op(_, args) | Expr::Call(_, args) => args.iter().for_each(|arg| self.loads(arg)),
            _ => {}
        }
    }
}

impl Kernel {
    fn vectors(&self) -> Vectors {
        let mut vectors = Vectors::default();
        vectors.add(&self.body, &self.locals);
        vectors
    }

    /// The bases of vector loads, sources of copies, tiles and sums over blocks, for which
    /// alignment to cache lines matters.
    pub fn loaded_lanes(&self) -> BTreeSet<Base> {
        self.vectors().loaded.into_keys().collect()
    }
}

impl Body {
    /// In a body whose vectors have up to `lanes` lanes, marks the buffers that a kernel stores in
    /// long vectors and a later kernel loads in parts of these vectors, as
    /// [`super::Hints::loaded_in_parts`].
    pub fn mark_loads_in_parts(&mut self, lanes: usize) {
        if lanes < LONG {
            return;
        }
        let vectors: Vec<Vectors> = self.kernels.iter().map(Kernel::vectors).collect();
        for (at, kernel) in self.kernels.iter_mut().enumerate() {
            let is_loaded_in_parts = |base: &Base| {
                let parts = |lanes: &BTreeSet<usize>| lanes.iter().any(|lanes| *lanes < LONG);
                vectors[at + 1..].iter().any(|later| later.loaded.get(base).is_some_and(parts))
            };
            let written = kernel.params.iter().filter(|(_, written)| *written).map(|(id, _)| *id);
            let is_marked = |id: &_| {
                let base = Base::Buffer(*id);
                let is_long = |lanes: &BTreeSet<usize>| lanes.iter().any(|lanes| *lanes >= LONG);
                vectors[at].stored.get(&base).is_some_and(is_long) && is_loaded_in_parts(&base)
            };
            kernel.hints.loaded_in_parts = written.filter(is_marked).collect();
        }
    }
}
