//! The weights of a program with a file of weights: their layout, and the file.

use std::fmt::{self, Display, Formatter, Write};
use std::mem::discriminant;
use std::sync::Arc;

use super::Initial;
use crate::core::CoreModel;
use crate::kernel::{BufferId, Kernel, Program};

/// The first bytes of a file of weights.
const MAGIC: [u8; 8] = *b"cellcwt1";

/// The weights of a program with a file of weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Weights, constants of kernels and initial values as little-endian f32; weights are in the
    /// order in which kernels read them.
    pub contents: Arc<Vec<u8>>,
    /// The layout. A generated file takes only weights with an equal [`Layout::program`].
    pub layout: Layout,
}

/// Hashes of everything in which models with interchangeable weights agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The hash of the operations of the model, the shapes of its tensors, and its states.
    pub shapes: u64,
    /// The hash of the program without names, and of the places of all arrays and initial values.
    pub program: u64,
}

impl Display for Layout {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:016x}", self.shapes, self.program)
    }
}

impl Loaded {
    /// The weights of a model. `places`: the offsets of arrays and of initial values.
    pub(super) fn new(
        model: &CoreModel,
        program: &Program,
        places: (&[(BufferId, usize)], &[Option<Initial>]),
        contents: Arc<Vec<u8>>,
    ) -> Self {
        let layout = Layout {
            shapes: shapes(model),
            program: hash(format_args!("{:?} {places:?} {}", nameless(program), contents.len())),
        };
        Self { contents, layout }
    }

    /// The bytes before the weights.
    pub fn head(&self) -> [[u8; 8]; 2] {
        [MAGIC, self.layout.program.to_le_bytes()]
    }

    /// The length of the file in bytes.
    pub fn file_len(&self) -> usize {
        self.head().as_flattened().len() + self.contents.len()
    }

    /// The file.
    pub fn file(&self) -> Vec<u8> {
        [self.head().as_flattened(), &self.contents].concat()
    }
}

/// The hash of the operations of a model, of the shapes of its tensors, and of its states.
fn shapes(model: &CoreModel) -> u64 {
    let operations: Vec<_> =
        model.all_nodes().iter().map(|node| format!("{:?}", discriminant(&node.op))).collect();
    let values: Vec<_> = model.values.iter().map(|value| &value.shape).collect();
    let constants: Vec<_> = model.constants.iter().map(|tensor| tensor.shape()).collect();
    let variables = model.variables.iter().map(|variable| {
        (&variable.shape, variable.initial.is_some(), variable.next.is_some(), variable.history)
    });
    let variables: Vec<_> = variables.collect();
    let kept = (variables, &model.states, &model.steps);
    hash(format_args!("{operations:?} {values:?} {constants:?} {kept:?}"))
}

/// The program without names and documentation of buffers and kernels: neither has an effect on
/// results.
fn nameless(program: &Program) -> Program {
    let mut program = program.clone();
    let of_bodies = program.bodies.iter_mut().flat_map(|body| &mut body.scratch);
    for buffer in program.buffers.iter_mut().chain(of_bodies) {
        buffer.name.clear();
    }
    let clear = |kernel: &mut Kernel| {
        kernel.name.clear();
        kernel.doc.clear();
    };
    clear(&mut program.packing);
    program.bodies.iter_mut().flat_map(|body| &mut body.kernels).for_each(clear);
    program
}

/// FNV-1a of a text, piece by piece.
fn hash(text: fmt::Arguments<'_>) -> u64 {
    struct Hash(u64);
    impl Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            self.0 = text.bytes().fold(self.0, step);
            Ok(())
        }
    }
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    hash.write_fmt(text).expect("a hash takes every text");
    hash.0
}
