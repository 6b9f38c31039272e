//! The traversal of a kernel program for all dialects. The traversal decides the statements; a
//! [`Dialect`] spells them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter, Write};
use std::rc::Rc;

use crate::arch::Calls;
use crate::emit::names::{Interface, Scope};
use crate::emit::rows::AddedRow;
use crate::encoding::Arithmetic;
use crate::kernel::{
    Base, BlockSums, Body, BodyRef, BufferId, Copied, CopiedDim, Element, Encoding, Expr, Function,
    Kernel, LaneOp, Local, Loops, Place, Program, Role, Scalar, Stmt, Tiles, Type, Var, Walk,
    WindowId,
};
use crate::pack::Packed;

/// The text of an expression.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) kind: TextKind,
}

/// The binding strength of an expression as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A literal.
    Number,
    /// A name, a call.
    Atom,
    /// A product or quotient: no parentheses next to `+` and `-` in C.
    Product,
    /// Any other expression with an operator.
    Compound,
}

impl Text {
    pub(super) fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: TextKind::Number }
    }

    pub(super) fn atom(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: TextKind::Atom }
    }

    pub(super) fn product(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: TextKind::Product }
    }

    pub(super) fn compound(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: TextKind::Compound }
    }

    /// The operand, in parentheses if needed.
    pub(super) fn operand(self) -> String {
        match self.kind {
            TextKind::Number | TextKind::Atom => self.text,
            TextKind::Product | TextKind::Compound => format!("({})", self.text),
        }
    }
}

/// A buffer or window with its name in the generated code.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) name: String,
    /// The number of elements.
    pub(super) len: usize,
    /// The element type.
    pub(super) element: Element,
    /// True for weights and constants in the file, and for narrow weights.
    pub(super) bytes: bool,
    /// In a loop over the column groups of a panel: the offset of the panel in the block, and the
    /// group.
    pub(super) group: Option<(usize, Rc<ColumnGroup>)>,
}

/// The columns of a panel in one iteration of a loop over column groups.
#[derive(Debug)]
pub(super) struct ColumnGroup {
    /// The name of the group in the loop.
    pub(super) name: String,
    /// The number of columns.
    pub(super) width: usize,
    /// The number of columns of the panel.
    pub(super) columns: usize,
}

impl Block {
    /// The index in the block of an element of the first column group.
    fn at(&self, offset: usize) -> usize {
        self.group.as_ref().map_or(0, |(start, _)| *start) + offset
    }
}

/// Declarations of sums over rows of weights. A row adds, to each sum, the weights of the sum's
/// columns times one element.
pub(super) struct RowSums<'a> {
    /// The sums.
    pub(super) names: Vec<&'a str>,
    /// Columns of each sum.
    pub(super) lanes: usize,
    /// The block of the weights, and the index of the first weight.
    pub(super) weights: (&'a Block, usize),
    /// The distance between rows of weights, in elements.
    pub(super) step: usize,
    /// The distance between the weights of neighbouring sums, in elements.
    pub(super) sum_stride: usize,
    /// The block of the elements, one for each row, and the index of the first element.
    pub(super) elements: (&'a Block, usize),
    /// The number of rows.
    pub(super) rows: usize,
    /// Unroll factor of the rows.
    pub(super) at_once: usize,
    /// The loop that adds up other sums while the values of these sums are kept. `None`: no loop.
    pub(super) next: Option<SumLoop>,
}

/// A loop that adds rows of weights to the sums of some gates.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumLoop {
    pub(super) gates: usize,
    pub(super) rows: usize,
}

/// A row of weights to add, with the names of its parts in the generated code.
pub(super) struct RowText<'a> {
    pub(super) sums: Vec<&'a str>,
    pub(super) weights: (&'a Block, usize),
    pub(super) element: (&'a Block, usize),
    pub(super) row: &'a AddedRow,
}

/// One moving window of a loop.
pub(super) struct MovingWindow<'a> {
    pub(super) window: &'a Block,
    /// The buffer or window that contains the window.
    pub(super) block: &'a Block,
    /// The start of the first window in `block`.
    pub(super) offset: usize,
    /// The distance between windows, in elements.
    pub(super) step: usize,
    pub(super) written: bool,
    /// True if the loop walks from the last window to the first.
    pub(super) reverse: bool,
    /// The variable that holds the number of windows, if compilers must not know the number.
    pub(super) count: Option<&'a str>,
    /// True if compilers must not know the addresses of the windows: see
    /// [`Hints::unrelated`](crate::kernel::Hints::unrelated).
    pub(super) hides_place: bool,
    /// True if the windows are the column groups of a panel's passes.
    pub(super) is_pass: bool,
}

/// True if a loop loads vectors from overlapping windows: LLVM would merge iterations and assemble
/// vectors from each other.
fn takes_overlapping(walks: &[Walk], body: &[Stmt]) -> bool {
    let plain =
        |stmt: &Stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Set { .. } | Stmt::Comment(_));
    walks.iter().any(|walk| walk.step < walk.len) && body.iter().all(plain)
}

impl MovingWindow<'_> {
    /// True if the windows overlap or have gaps.
    pub(super) fn is_apart(&self) -> bool {
        self.step != self.window.len
    }
}

/// The innermost loop of a copy.
pub(super) struct Copying<'a> {
    pub(super) from: &'a Block,
    /// The first element to read.
    pub(super) read: Subscript,
    pub(super) to: &'a Block,
    /// The first element to write.
    pub(super) write: Subscript,
    /// The number of consecutive elements to write.
    pub(super) run: usize,
    /// True to repeat one element; otherwise elements are read consecutively.
    pub(super) repeated: bool,
    /// True to add to the destination, without repetition.
    pub(super) add: bool,
}

/// A row of weights to pack as integers.
pub(super) struct Line<'a> {
    pub(super) from: &'a Block,
    /// The first weight.
    pub(super) read: Subscript,
    /// The number of weights.
    pub(super) count: usize,
    /// The distance between weights, in elements.
    pub(super) stride: usize,
    pub(super) to: &'a Block,
    /// The first element to write.
    pub(super) write: Subscript,
    /// The number of neighbouring elements in a group.
    pub(super) abreast: usize,
    /// The distance between groups, in elements.
    pub(super) step: usize,
    /// True if the halves of four words are interleaved.
    pub(super) interleaves_halves: bool,
    pub(super) row: LineRow,
    pub(super) part: LinePart,
}

/// The integer format of a row of weights.
#[derive(Clone, Copy)]
pub(super) enum LineRow {
    /// Integers of 8 bits.
    Bytes,
    /// Integers of 16 bits, with the upper limit for the sum of their magnitudes.
    Pairs(u32),
}

/// The part of a packed row to write.
#[derive(Clone, Copy)]
pub(super) enum LinePart {
    /// Integers in the bits of f32 elements, with their number per element.
    Words(usize),
    /// Two bytes in each element.
    Pairs,
    Scale,
    /// The zero-point correction.
    Start,
}

/// An offset and multiples of counters.
#[derive(Clone)]
pub(super) struct Subscript {
    offset: usize,
    /// The largest value.
    last: usize,
    /// The positive terms, then the negative terms, in this order to avoid values below 0.
    terms: [String; 2],
}

impl Subscript {
    fn new(offset: usize) -> Self {
        Self { offset, last: offset, terms: [String::new(), String::new()] }
    }

    /// The largest value.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// The value, if the subscript has no counters.
    pub(super) fn constant(&self) -> Option<usize> {
        self.terms.iter().all(String::is_empty).then_some(self.offset)
    }

    /// The subscript of the element `by` elements after this one.
    fn moved(&self, by: isize) -> Self {
        let offset = self
            .offset
            .checked_add_signed(by)
            .expect("emit: a copy reads and writes from the start on");
        Self { offset, last: self.last.saturating_add_signed(by.max(0)), ..self.clone() }
    }

    /// Adds a multiple of the counter of a loop with `count` iterations.
    fn add_turns(&mut self, counter: &str, count: usize, stride: isize) {
        self.last += (count - 1) * usize::try_from(stride).unwrap_or(0);
        self.add(counter, stride);
    }

    pub(super) fn add(&mut self, counter: &str, stride: isize) {
        let (sign, terms) = if stride < 0 { ('-', 1) } else { ('+', 0) };
        let _ = match stride.unsigned_abs() {
            0 => Ok(()),
            1 => write!(self.terms[terms], " {sign} {counter}"),
            stride => write!(self.terms[terms], " {sign} {counter} * {stride}"),
        };
    }
}

impl Display for Subscript {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { offset, terms: [added, subtracted], .. } = self;
        match added.strip_prefix(" + ") {
            Some(added) if *offset == 0 => write!(f, "{added}{subtracted}"),
            _ => write!(f, "{offset}{added}{subtracted}"),
        }
    }
}

/// The contents of private memory of a kernel after its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrivateMemory {
    /// Undefined values: the previous contents of the stack.
    Undefined,
    /// Zeros.
    Zero,
}

/// The statements after the leading stores of 0 in private memory.
fn without_zeros<'b>(mut body: &'b [Stmt], kernel: &Kernel) -> &'b [Stmt] {
    while let [Stmt::Store { to: Place { base: Base::Buffer(id), .. }, value }, rest @ ..] = body
        && kernel.scratch.contains(id)
        && *value == Expr::f32(0.0, 1)
    {
        body = rest;
    }
    body
}

/// The least and the largest number of neighbouring values that one statement loads.
#[derive(Clone, Copy)]
pub(super) struct LoadsTogether {
    pub(super) least: usize,
    pub(super) most: usize,
}

impl LoadsTogether {
    /// Each value has a statement of its own.
    pub(super) const ALONE: Self = Self { least: 2, most: 1 };
}

/// The place of an expression: a kernel, whose values have several lanes, or a function, whose
/// values have a single lane that stands for any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Kernel,
    Function,
}

/// The answer of a dialect to a statement that needs a function of the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Support {
    /// The dialect has written the statement.
    Written,
    /// The dialect has no function: simpler statements follow.
    Missing,
}

/// The form of loops over column groups of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassForm {
    /// Windows walk over the columns.
    Windows,
    /// Blocks name their pass; there are no windows.
    Named,
}

/// The loops with a hint for the unroll factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnrollHints {
    /// Loops with an unroll factor.
    OnUnrolled,
    /// Also loops of sums without unrolling, with the factor 1.
    OnAllSums,
}

/// The spelling of statements and expressions in one language.
pub(super) trait Dialect {
    /// Begins a kernel with these parameters; `true` marks a written block.
    fn begin_kernel(&mut self, kernel: &Kernel, name: &str, params: &[(&Block, bool)]);
    /// The contents of private memory after its declaration.
    fn private_memory(&self) -> PrivateMemory;
    /// Declares private memory of a kernel. `vectors` is true if vectors are loaded from the
    /// memory, false for single elements.
    fn scratch(&mut self, block: &Block, vectors: bool);
    fn end_kernel(&mut self);
    /// The functions to write: the index in `functions`, and the number of lanes. Functions do not
    /// call functions.
    fn wanted(&self, functions: &[String]) -> Vec<(usize, usize)>;
    fn begin_function(&mut self, doc: &[String], name: &str, lanes: usize, params: &[String]);
    /// Ends a function with its result.
    fn end_function(&mut self, name: &str, lanes: usize, result: Text);
    fn load(&mut self, from: &Block, offset: usize, lanes: usize) -> Text;
    fn splat(&mut self, from: &Block, offset: usize, lanes: usize) -> Text;
    fn constant(&mut self, bits: u32, ty: Type, context: Context) -> Text;
    /// An operation on `args`. `ty` is the type of the result.
    fn operation(&mut self, operation: LaneOp, ty: Type, args: Vec<Text>, context: Context)
    -> Text;
    fn call(&mut self, function: &str, lanes: usize, args: Vec<Text>) -> Text;
    fn declare(&mut self, name: &str, ty: Type, mutable: bool, value: Text, context: Context);
    fn assign(&mut self, name: &str, value: Text);
    fn store(&mut self, to: &Block, offset: usize, lanes: usize, value: Text);
    /// An integer minus `least`, clamped to 0..=`most`.
    fn length(&mut self, from: &Block, offset: usize, least: i32, most: usize) -> Text;
    /// Begins a loop of a copy at the given nesting depth, and returns the name of the counter.
    fn begin_turns(&mut self, depth: usize, count: usize) -> String;
    fn copy(&mut self, copying: Copying<'_>);
    /// Writes `words` words, each of the low bytes of four neighbours.
    fn low_bytes(&mut self, to: (&Block, usize), from: (&Block, usize), words: usize);
    /// Computes sums of products of integers in tiles. `places`: the block and the first element of
    /// the elements, the weights and the sums.
    fn tiles(&mut self, places: [(&Block, usize); 3], tiles: &Tiles);
    /// Computes sums of products over blocks of weights. `places`: the block of memory and the
    /// first element of the elements, the weights, the counts, the inputs and the sums.
    fn blocks(&mut self, places: [(&Block, usize); 5], sums: &BlockSums);
    /// Packs a row of weights.
    fn pack_line(&mut self, line: Line<'_>);
    fn begin_for(
        &mut self,
        count: usize,
        turn: Option<&str>,
        backwards: Option<&str>,
        walks: &[MovingWindow<'_>],
    );
    /// The number of values, or of their bits, that one statement loads from a block.
    fn loads(&self, _from: &Block, _ty: Type) -> LoadsTogether {
        LoadsTogether::ALONE
    }
    /// Declares neighbouring values of a type, loaded from a place.
    fn declare_loads(&mut self, _names: &[&str], _from: &Block, _offset: usize, _ty: Type) {
        unreachable!("emit: this dialect loads one value at a time")
    }
    /// The form of function calls. With [`Calls::SeveralValues`], [`Self::declare_calls`] writes
    /// several calls.
    fn calls(&self) -> Calls {
        Calls::OneValue
    }
    /// Declares the results of a function for several arguments, through temporary values named
    /// after `between`.
    fn declare_calls(
        &mut self,
        _names: &[&str],
        _between: &str,
        _function: &str,
        _args: Vec<Text>,
    ) {
        unreachable!("emit: this dialect calls a function for one value at a time")
    }
    /// The form of loops over column groups of a panel.
    fn passes(&self) -> PassForm {
        PassForm::Windows
    }
    /// Begins a loop over column groups of a panel.
    fn begin_passes(&mut self, _group: &ColumnGroup) {
        unreachable!("emit: this dialect walks over passes by windows")
    }
    /// Declares sums of rows by one function.
    fn row_sums(&mut self, _sums: &RowSums<'_>) -> Support {
        Support::Missing
    }
    /// Adds a row of weights by one function.
    fn add_row(&mut self, _row: &RowText<'_>) -> Support {
        Support::Missing
    }
    /// Before a loop: the unroll factor for the compiler.
    fn unrolled_by(&mut self, _count: usize, _turns: usize) {
        unreachable!("emit: this dialect unrolls loops")
    }
    /// The loops with a hint for the unroll factor.
    fn unroll_hints(&self) -> UnrollHints {
        UnrollHints::OnUnrolled
    }
    /// Declares a number of iterations that compilers must not know.
    fn hidden_count(&mut self, _name: &str, _count: usize) {}
    /// At the start of a loop of sums: a window that the loop reads.
    fn row(&mut self, _window: &Block) {}
    /// At the start of a loop with independent iterations: vectors computed and stored, or integers
    /// added to vectors in any order.
    fn only_vectors(&mut self) {}
    /// A computed vector has been flushed and stored.
    fn after_flush(&mut self) {}
    /// After a loop: a vector with partial sums of one gate, or with deferred sums.
    fn after_sums(&mut self, _chain: &str) {}
    /// After stores of vectors to private memory that is then loaded across vector boundaries or
    /// element by element.
    fn read_otherwise(&mut self, _of: &Block) {}

    /// At the end of a kernel: a buffer that the kernel stored in long vectors, of which a later
    /// kernel loads parts.
    fn loaded_in_parts(&mut self, _of: &Block) {}
    /// Before a pass over elements that an earlier pass of the same code has read: the arrays of
    /// the elements, and true for private arrays.
    fn read_again(&mut self, _elements: &[(&Block, bool)]) {}
    /// Before a store to a part of a vector that was stored earlier.
    fn stored_again(&mut self, _to: &Block) {}
    /// The vector registers of a value with `lanes` lanes, as (first lane, lanes).
    fn registers(&self, lanes: usize) -> Vec<(usize, usize)> {
        vec![(0, lanes)]
    }
    /// Begins a block with a window at one of several places. `most`: the last place, if `at` may
    /// be larger.
    fn begin_pick(
        &mut self,
        at: Text,
        count: usize,
        most: Option<usize>,
        walking: &MovingWindow<'_>,
    );
    fn begin_if(&mut self, a: Text, b: Text);
    fn begin_else(&mut self);
    /// Leaves the enclosing loop unless the first number is below the second.
    fn leave_unless(&mut self, a: Text, b: Text);
    /// Ends a loop or a condition.
    fn end_block(&mut self);
    fn comment(&mut self, text: &str);
}

/// The names, in both languages, of operations on lanes without an operator.
pub(super) fn function_name(operation: LaneOp) -> &'static str {
    match operation {
        LaneOp::Add => "add",
        LaneOp::Sub => "sub",
        LaneOp::Mul => "mul",
        LaneOp::Div => "div",
        LaneOp::MulAdd => "mul_add",
        LaneOp::Max => "max",
        LaneOp::Min => "min",
        LaneOp::MaxMagnitude => "max_magnitude",
        LaneOp::SelectLess => "select_less",
        LaneOp::Flush => "flush",
        LaneOp::ToBits => "to_bits",
        LaneOp::FromBits => "from_bits",
        LaneOp::FromSigned => "from_signed",
        LaneOp::DotPairs => "dot_pairs",
        LaneOp::DotQuads => "dot_quads",
        LaneOp::DotUnsignedQuads => "dot_unsigned_quads",
        LaneOp::DotPairsByLane(_) => "dot_apart",
        LaneOp::DotQuadsByLane(_) => "dot_quads_of",
        LaneOp::WidenAndMultiplyEven => "dot_even_bytes",
        LaneOp::WidenAndMultiplyOdd => "dot_odd_bytes",
        LaneOp::ShiftLeft(_) => "shift_left",
        LaneOp::And => "and",
        LaneOp::Or => "or",
        LaneOp::Xor => "xor",
        LaneOp::WrappingAdd => "wrapping_add",
        LaneOp::WrappingSub | LaneOp::ShiftRight(_) => {
            unreachable!("emit: integer arithmetic on several lanes stands in functions only")
        }
    }
}

/// The place and type of an expression that is only a load, of values or of bits.
fn loaded(value: &Expr) -> Option<(Place, Type)> {
    match value {
        Expr::Load { from, lanes } => Some((*from, Type::f32(*lanes))),
        Expr::Op(LaneOp::ToBits, args) => match args[..] {
            [Expr::Load { from, lanes }] => Some((from, Type { scalar: Scalar::U32, lanes })),
            _ => None,
        },
        _ => None,
    }
}

/// Consecutive independent calls of a function of one argument: the variable and the arguments of
/// each call.
fn same_calls<'a>(
    var: Var,
    function: usize,
    args: &'a [Expr],
    others: &'a [Stmt],
) -> Vec<(Var, &'a [Expr])> {
    let mut calls = vec![(var, args)];
    for stmt in others {
        match stmt {
            Stmt::Let { var, mutable: false, value: Expr::Call(next, args) }
                if *next == function
                    && !args.iter().any(|arg| {
                        arg.any(&mut |part| calls.iter().any(|(var, _)| *part == Expr::Var(*var)))
                    }) =>
            {
                calls.push((*var, args));
            }
            _ => break,
        }
    }
    calls
}

/// True if a loop sums integers: unlike f32 sums, integer sums may be formed in any order.
fn has_integer_sums(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| matches!(stmt, Stmt::Set { value: Expr::Op(operation, _), .. } if operation.is_dot()))
}

/// True if a loop body changes a value that is declared before the loop.
fn is_set(body: &[Stmt], sum: Var) -> bool {
    let first = body.iter().find_map(|stmt| match stmt {
        Stmt::Let { var, .. } if *var == sum => Some(false),
        Stmt::Set { var, .. } if *var == sum => Some(true),
        _ => None,
    });
    first == Some(true)
}

/// True if a statement changes one of the values.
fn sets(stmt: &Stmt, vars: &[Var]) -> bool {
    match stmt {
        Stmt::Set { var, .. } => vars.contains(var),
        Stmt::For { body, .. } | Stmt::Pick { body, .. } => {
            body.iter().any(|stmt| sets(stmt, vars))
        }
        Stmt::If { then, otherwise, .. } => {
            then.iter().chain(otherwise).any(|stmt| sets(stmt, vars))
        }
        _ => false,
    }
}

/// Vectors that the statements of a block have stored, by buffer or window: first element and
/// lanes.
#[derive(Default)]
struct Stored(BTreeMap<Base, BTreeMap<usize, usize>>);

impl Stored {
    /// Adds a vector. True if the vector partly overlaps an earlier vector; all earlier vectors of
    /// the buffer or window are then removed.
    fn overlaps(&mut self, to: Place, lanes: usize) -> bool {
        let vectors = self.0.entry(to.base).or_default();
        let before = vectors.range(..to.offset + lanes).next_back();
        let shares = |(at, wide): (&usize, &usize)| {
            at + wide > to.offset && (*at, *wide) != (to.offset, lanes)
        };
        let overlaps = before.is_some_and(shares);
        if overlaps {
            vectors.clear();
        }
        vectors.insert(to.offset, lanes);
        overlaps
    }
}

/// True if a statement is a store to a buffer or window.
fn stores_to(stmt: &Stmt, base: Base) -> bool {
    matches!(stmt, Stmt::Store { to, .. } if to.base == base)
}

/// True if a store is the last vector store to a place and later loads cross the boundaries of the
/// stored vectors. `done`: the statements up to the store.
fn is_read_across(done: &[Stmt], locals: &[Local], rest: &[Stmt], dialect: &impl Dialect) -> bool {
    let stored = |stmt: &Stmt| match stmt {
        Stmt::Store { to, value } => Some((*to, value.ty(locals).lanes)),
        _ => None,
    };
    let Some((last, _)) = done.last().and_then(stored) else { return false };
    let store_to_base = |stmt: &Stmt| stored(stmt).filter(|(to, _)| to.base == last.base);
    if rest.first().and_then(store_to_base).is_some() {
        return false;
    }
    let parts = |(place, lanes): (Place, usize)| {
        dialect
            .registers(lanes)
            .into_iter()
            .map(move |(first, lanes)| (place.offset + first, lanes))
    };
    let ends: Vec<_> = done
        .iter()
        .rev()
        .map_while(store_to_base)
        .flat_map(parts)
        .map(|(first, lanes)| first + lanes)
        .collect();
    let across = |from: &Place, lanes: usize| {
        let ends_within =
            |(first, lanes)| ends.iter().any(|end| (first + 1..first + lanes).contains(end));
        from.base == last.base && parts((*from, lanes)).any(ends_within)
    };
    rest.iter().any(|stmt| match stmt {
        Stmt::Let { value, .. } | Stmt::Store { value, .. } => value
            .any(&mut |part| matches!(part, Expr::Load { from, lanes } if across(from, *lanes))),
        _ => false,
    })
}

/// The most kernels with one function each. In larger programs, kernels that differ only
/// in memory share a function.
const MOST_APART: usize = 64;

/// The most kernel groups called by one function.
pub(super) const MOST_CALLED: usize = 64;

/// The names of buffers and functions, shared by all kernels of a file.
pub(super) struct FileNames {
    /// By buffer: the name in kernels.
    pub(super) buffers: Vec<Block>,
    /// By function.
    pub(super) functions: Vec<String>,
    /// By kernel: its function, and true if the function is written for this kernel instead of an
    /// equal earlier one.
    pub(super) kernels: Vec<(String, bool)>,
    /// The functions that call groups of kernels. Empty if one function calls all kernels.
    pub(super) runs: Vec<String>,
    /// As `runs`, for the kernels that compute several steps together.
    pub(super) runs_of_steps: Vec<String>,
    /// Names that locals of functions must not hide: functions and other declarations of the file.
    outer: Rc<Scope>,
    /// Names that locals of kernels must not hide: also buffers and kernels.
    scope: Rc<Scope>,
}

/// Names declared by the text of a dialect, not to be hidden by a program.
pub(super) struct TakenNames<'a> {
    /// Around kernels and functions.
    pub(super) around: Vec<&'a str>,
    /// Inside kernels: the counters of copy loops.
    pub(super) counters: Vec<String>,
    /// The suffix of the names that the dialect declares for a function besides its own name.
    pub(super) suffix: &'static str,
}

impl FileNames {
    /// The names for a body: fields have the names of the interface; `taken` are further
    /// declarations.
    pub(super) fn new(
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
    pub(super) fn packing(program: &Program) -> Body {
        Body { kernels: vec![program.packing.clone()], ..Body::default() }
    }

    /// The kernels to write, with their names.
    pub(super) fn written<'p>(
        &'p self,
        body: &'p Body,
    ) -> impl Iterator<Item = (&'p Kernel, &'p String)> {
        let kernels = body.kernels.iter().zip(&self.kernels);
        kernels.filter(|(_, (_, written))| *written).map(|(kernel, (name, _))| (kernel, name))
    }

    /// The block of a buffer.
    pub(super) fn buffer(&self, id: BufferId) -> &Block {
        &self.buffers[id.0]
    }

    /// Writes all kernels of a body.
    pub(super) fn all_kernels(&self, body: BodyRef<'_>, dialect: &mut impl Dialect) {
        for (kernel, name) in self.written(body.body) {
            let params: Vec<_> =
                kernel.params.iter().map(|(id, written)| (self.buffer(*id), *written)).collect();
            dialect.begin_kernel(kernel, name, &params);
            self.kernel(kernel, dialect);
            dialect.end_kernel();
        }
    }

    /// Walks the body of a kernel.
    fn kernel(&self, kernel: &Kernel, dialect: &mut impl Dialect) {
        let mut scope = Scope::within(Rc::clone(&self.scope));
        scope.take(kernel.scratch.iter().map(|id| &self.buffer(*id).name[..]));
        let mut walk = Traversal {
            shared: self,
            locals: &kernel.locals,
            names: vec![String::new(); kernel.locals.len()],
            kernel,
            windows: Vec::new(),
            wholes: BTreeMap::new(),
            hidden: BTreeMap::new(),
            scope,
            context: Context::Kernel,
        };
        // conditions around the whole kernel come before preparations
        let (mut body, mut conditions) = (&kernel.body[..], 0);
        while let [Stmt::If { less: (a, b), then, otherwise }] = body
            && otherwise.is_empty()
        {
            let (a, b) = (walk.expr(a, dialect), walk.expr(b, dialect));
            dialect.begin_if(a, b);
            (body, conditions) = (then, conditions + 1);
        }
        let loaded = kernel.loaded_lanes();
        for id in &kernel.scratch {
            dialect.scratch(self.buffer(*id), loaded.contains(&Base::Buffer(*id)));
        }
        if dialect.private_memory() == PrivateMemory::Zero {
            body = without_zeros(body, kernel);
        }
        walk.hide_counts(body, dialect);
        walk.block(body, dialect);
        for id in &kernel.hints.loaded_in_parts {
            dialect.loaded_in_parts(self.buffer(*id));
        }
        (0..conditions).for_each(|_| dialect.end_block());
    }

    /// Writes the functions for kernels, in as many variants as the dialect needs.
    pub(super) fn all_functions(&self, body: BodyRef<'_>, dialect: &mut impl Dialect) {
        for (at, lanes) in dialect.wanted(&self.functions) {
            self.function(&body.functions[at], &self.functions[at], lanes, dialect);
        }
    }

    fn function(&self, function: &Function, name: &str, lanes: usize, dialect: &mut impl Dialect) {
        let mut scope = Scope::within(Rc::clone(&self.outer));
        let mut names = vec![String::new(); function.locals.len()];
        for (name, param) in names.iter_mut().zip(&function.locals).take(function.params) {
            *name = scope.unique(&param.name);
        }
        dialect.begin_function(&function.doc, name, lanes, &names[..function.params]);
        let none = Kernel::default();
        let mut walk = Traversal {
            shared: self,
            locals: &function.locals,
            names,
            kernel: &none,
            windows: Vec::new(),
            wholes: BTreeMap::new(),
            hidden: BTreeMap::new(),
            scope,
            context: Context::Function,
        };
        walk.block(&function.body, dialect);
        let result = function.result.as_ref().expect("emit: activations are expanded");
        let result = walk.expr(result, dialect);
        dialect.end_function(name, lanes, result);
    }
}

struct Traversal<'a> {
    shared: &'a FileNames,
    locals: &'a [Local],
    names: Vec<String>,
    /// The kernel. Empty for functions.
    kernel: &'a Kernel,
    windows: Vec<Option<Block>>,
    /// The buffers behind windows of passes.
    wholes: BTreeMap<WindowId, BufferId>,
    /// By number of iterations: the variable that hides the number from compilers.
    hidden: BTreeMap<usize, String>,
    scope: Scope,
    context: Context,
}

impl Traversal<'_> {
    fn base(&self, base: Base) -> &Block {
        match base {
            Base::Buffer(id) => self.shared.buffer(id),
            Base::Window(WindowId(i)) => {
                self.windows[i].as_ref().expect("emit: a window is used inside its loop")
            }
        }
    }

    /// Binds a window to its memory.
    fn enter(&mut self, WindowId(i): WindowId, window: Block) {
        if self.windows.len() <= i {
            self.windows.resize(i + 1, None);
        }
        self.windows[i] = Some(window);
    }

    /// True if compilers must not unroll a loop.
    fn is_kept(&self, walks: &[Walk], body: &[Stmt]) -> bool {
        let is_kept = |(window, turns): &(WindowId, usize)| {
            *turns == 1 && walks.first().is_some_and(|walk| walk.window == *window)
        };
        self.kernel.hints.unrolled_by.iter().any(is_kept)
            || self.kernel.hints.meanwhile.iter().any(|var| is_set(body, *var))
    }

    /// Declares the numbers of iterations of all loops that compilers must not unroll.
    fn hide_counts(&mut self, body: &[Stmt], dialect: &mut impl Dialect) {
        for stmt in body {
            match stmt {
                Stmt::For { count, walks, body, .. } => {
                    if self.is_kept(walks, body) && !self.hidden.contains_key(count) {
                        let name = self.scope.unique("turns");
                        dialect.hidden_count(&name, *count);
                        self.hidden.insert(*count, name);
                    }
                    self.hide_counts(body, dialect);
                }
                Stmt::Pick { body, .. } => self.hide_counts(body, dialect),
                Stmt::If { then, otherwise, .. } => {
                    self.hide_counts(then, dialect);
                    self.hide_counts(otherwise, dialect);
                }
                _ => {}
            }
        }
    }

    fn has_only_vectors(&self, body: &[Stmt]) -> bool {
        let computes = |stmt: &Stmt| match stmt {
            Stmt::Store { value, .. } => {
                !matches!(value, Expr::Const { .. }) && value.ty(self.locals).lanes > 1
            }
            _ => false,
        };
        let plain =
            |stmt: &Stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Store { .. } | Stmt::Comment(_));
        body.iter().any(computes) && body.iter().all(plain)
    }

    fn declare(&mut self, stmt: &Stmt, dialect: &mut impl Dialect) {
        if let Stmt::Let { var, mutable, value } = stmt {
            let value = self.expr(value, dialect);
            dialect.declare(
                &self.names[var.0],
                self.locals[var.0].ty,
                *mutable,
                value,
                self.context,
            );
        }
    }

    /// Names the values that a block declares. The names hide no surrounding buffer, function or
    /// value.
    fn name_values(&mut self, body: &[Stmt]) {
        for stmt in body {
            if let Stmt::Let { var, .. } = stmt {
                self.names[var.0] = self.scope.unique(&self.locals[var.0].name);
            }
        }
    }

    fn block(&mut self, body: &[Stmt], dialect: &mut impl Dialect) {
        self.name_values(body);
        let mut at = 0;
        let mut stored = Stored::default();
        while let Some(stmt) = body.get(at) {
            let (done, others) = body.split_at(at + 1);
            at += match stmt {
                Stmt::Let { .. } => self.values(&body[at..], dialect),
                Stmt::Store { to, value } => {
                    self.store((*to, value), [done, others], &mut stored, dialect);
                    1
                }
                stmt => {
                    self.statement(stmt, dialect);
                    1
                }
            };
            let ends_pass = matches!(stmt, Stmt::Store { .. } | Stmt::Copy(_));
            if ends_pass && self.kernel.loops == Loops::WithoutZeros {
                self.read_again(others, dialect);
            }
        }
    }

    /// Tells the dialect if a pass over elements begins: the next statements declare sums.
    fn read_again(&self, body: &[Stmt], dialect: &mut impl Dialect) {
        let declared = body.iter().take_while(|stmt| matches!(stmt, Stmt::Let { .. }));
        let sums = declared.filter(|stmt| matches!(stmt, Stmt::Let { mutable: true, .. })).count();
        if sums == 0 {
            return;
        }
        let mut bases = BTreeSet::new();
        let pass = body.iter().take_while(|stmt| !matches!(stmt, Stmt::Store { .. }));
        for stmt in pass {
            if let Stmt::Let { value, .. } = stmt {
                value.any(&mut |expr| {
                    if let Expr::Splat { from: Place { base, .. }, .. } = expr {
                        bases.insert(*base);
                    }
                    false
                });
            }
        }
        let is_private =
            |base: Base| matches!(base, Base::Buffer(id) if self.kernel.scratch.contains(&id));
        let elements: Vec<_> =
            bases.into_iter().map(|base| (self.base(base), is_private(base))).collect();
        dialect.read_again(&elements);
    }

    /// Declares the first value of some statements, together with the next values if the dialect
    /// has one text for all. Returns the number of statements.
    fn values(&mut self, body: &[Stmt], dialect: &mut impl Dialect) -> usize {
        if let [Stmt::Let { var, value: Expr::Call(function, args), .. }, others @ ..] = body
            && dialect.calls() == Calls::SeveralValues
        {
            let calls = same_calls(*var, *function, args, others);
            if let [_] = calls[..] {
                self.declare(&body[0], dialect);
                return 1;
            }
            let args = calls.iter().flat_map(|(_, args)| *args);
            let args = args.map(|arg| self.expr(arg, dialect)).collect();
            let between = self.scope.unique("values");
            let names: Vec<_> = calls.iter().map(|(var, _)| &*self.names[var.0]).collect();
            dialect.declare_calls(&names, &between, &self.shared.functions[*function], args);
            return calls.len();
        }
        if let Some((sums, statements)) = self.zero_sums(body)
            && dialect.row_sums(&sums) == Support::Written
        {
            return statements;
        }
        match self.adds_row(body, dialect) {
            Some(statements) => statements,
            None => self.loads(body, dialect),
        }
    }

    /// Declares the first value of some statements. If the value is a load, the next values in
    /// memory follow in the same statement, as many as the dialect loads together. Returns the
    /// number of statements.
    fn loads(&mut self, body: &[Stmt], dialect: &mut impl Dialect) -> usize {
        let first = match &body[0] {
            Stmt::Let { value, .. } => loaded(value),
            _ => None,
        };
        let first = first.map(|(from, ty)| (from, ty, self.base(from.base)));
        let is_next = |(at, stmt): (usize, &Stmt)| match stmt {
            Stmt::Let { var, mutable: false, value } => {
                let (from, ty, _) = first?;
                let next = (from.at(at * ty.lanes), ty);
                (loaded(value) == Some(next)).then_some(&*self.names[var.0])
            }
            _ => None,
        };
        let together =
            first.map_or(LoadsTogether::ALONE, |(_, ty, block)| dialect.loads(block, ty));
        let names: Vec<_> =
            body.iter().take(together.most).enumerate().map_while(is_next).collect();
        match first {
            Some((from, ty, block)) if names.len() >= together.least => {
                dialect.declare_loads(&names, block, from.offset, ty);
                names.len()
            }
            _ => {
                self.declare(&body[0], dialect);
                1
            }
        }
    }

    /// Stores a vector. `done` are the statements up to the store, `others` the statements after.
    fn store(
        &mut self,
        (to, value): (Place, &Expr),
        [done, others]: [&[Stmt]; 2],
        stored: &mut Stored,
        dialect: &mut impl Dialect,
    ) {
        let lanes = value.ty(self.locals).lanes;
        let kept = match value {
            Expr::Op(LaneOp::Flush, args) => lanes > 1 && !matches!(args[..], [Expr::Load { .. }]),
            _ => false,
        };
        let value = self.expr(value, dialect);
        if stored.overlaps(to, lanes) {
            dialect.stored_again(self.base(to.base));
        }
        let base = self.base(to.base);
        dialect.store(base, base.at(to.offset), lanes, value);
        if kept {
            dialect.after_flush();
        }
        let is_read_otherwise = |id: &BufferId| {
            is_read_across(done, self.locals, others, dialect)
                || self.kernel.hints.elements.contains(id)
                    && !others.iter().any(|stmt| stores_to(stmt, to.base))
        };
        let whole = match to.base {
            Base::Buffer(id) => Some(id),
            Base::Window(window) => self.wholes.get(&window).copied(),
        };
        if whole.is_some_and(|id| self.kernel.scratch.contains(&id) && is_read_otherwise(&id)) {
            dialect.read_otherwise(self.base(to.base));
        }
    }

    fn statement(&mut self, stmt: &Stmt, dialect: &mut impl Dialect) {
        match stmt {
            Stmt::Let { .. } | Stmt::Store { .. } => {
                unreachable!("emit: the block looks at the statements around")
            }
            Stmt::Set { var, value } => {
                let value = self.expr(value, dialect);
                dialect.assign(&self.names[var.0], value);
            }
            Stmt::For { count, walks, body, .. }
                if dialect.passes() == PassForm::Named && self.is_pass(walks) =>
            {
                self.passes(*count, walks, body, dialect)
            }
            Stmt::For { count, turn, backwards, walks, body } => {
                self.repeated(*count, [*turn, *backwards], (walks, body), dialect);
            }
            Stmt::Pick { at, count, walk, body } => self.picked((at, *count), walk, body, dialect),
            Stmt::If { less: (a, b), then, otherwise } => {
                let (a, b) = (self.expr(a, dialect), self.expr(b, dialect));
                dialect.begin_if(a, b);
                self.block(then, dialect);
                if !otherwise.is_empty() {
                    dialect.begin_else();
                    self.block(otherwise, dialect);
                }
                dialect.end_block();
            }
            Stmt::LeaveUnless { less: (a, b) } => {
                let (a, b) = (self.expr(a, dialect), self.expr(b, dialect));
                dialect.leave_unless(a, b);
            }
            Stmt::Copy(copied) => self.copy(copied, dialect),
            Stmt::Tiles(tiles) => {
                let places = [tiles.elements, tiles.weights, tiles.to];
                dialect.tiles(places.map(|place| (self.base(place.base), place.offset)), tiles);
            }
            Stmt::Blocks(sums) => {
                let places = [sums.elements, sums.weights, sums.counts, sums.inputs, sums.to];
                dialect.blocks(places.map(|place| (self.base(place.base), place.offset)), sums);
            }
            Stmt::Comment(text) => dialect.comment(text),
        }
    }

    /// A loop.
    fn repeated(
        &mut self,
        count: usize,
        [turn, backwards]: [Option<Var>; 2],
        (walks, body): (&[Walk], &[Stmt]),
        dialect: &mut impl Dialect,
    ) {
        // a window's name is free again after its loop
        let around = Rc::new(std::mem::take(&mut self.scope));
        self.scope = Scope::within(around);
        let windows: Vec<Block> = walks.iter().map(|w| self.window(w)).collect();
        if let Some(turn) = turn {
            self.names[turn.0] = self.scope.unique(&self.locals[turn.0].name);
        }
        let has_sums = body.iter().any(|stmt| matches!(stmt, Stmt::Set { .. }));
        let meanwhile: Vec<_> =
            self.kernel.hints.meanwhile.iter().filter(|var| is_set(body, **var)).collect();
        let hidden = self.hidden.get(&count).filter(|_| self.is_kept(walks, body));
        let rows = walks.iter().position(|w| !w.written && w.step == w.len);
        let walking: Vec<_> = walks
            .iter()
            .zip(&windows)
            .enumerate()
            .map(|(at, (w, window))| MovingWindow {
                window,
                block: self.base(w.start.base),
                offset: self.base(w.start.base).at(w.start.offset),
                step: w.step,
                written: w.written,
                reverse: w.reverse,
                count: hidden.filter(|_| rows == Some(at)).map(String::as_str),
                hides_place: self.kernel.hints.unrelated.contains(&w.window),
                is_pass: self.kernel.hints.passes.contains(&w.window),
            })
            .collect();
        let first = walks.first().map(|walk| walk.window);
        match self.kernel.hints.unrolled_by.iter().find(|(window, _)| first == Some(*window)) {
            Some((_, turns)) => dialect.unrolled_by(count, *turns),
            None if has_sums && dialect.unroll_hints() == UnrollHints::OnAllSums => {
                dialect.unrolled_by(count, 1)
            }
            None => {}
        }
        let name = |var: Option<Var>| var.map(|var| &*self.names[var.0]);
        dialect.begin_for(count, name(turn), name(backwards), &walking);
        drop(walking);
        for (walk, window) in walks.iter().zip(windows) {
            if has_sums && !walk.written {
                dialect.row(&window);
            }
            self.enter(walk.window, window);
        }
        if self.has_only_vectors(body) || takes_overlapping(walks, body) || has_integer_sums(body) {
            dialect.only_vectors();
        }
        self.block(body, dialect);
        dialect.end_block();
        self.scope = std::mem::take(&mut self.scope).leave();
        for var in
            self.kernel.hints.chains.iter().filter(|var| is_set(body, **var)).chain(meanwhile)
        {
            dialect.after_sums(&self.names[var.0]);
        }
    }

    /// The body for one of `count` windows: the window with a computed index.
    fn picked(
        &mut self,
        (at, count): (&Expr, usize),
        walk: &Walk,
        body: &[Stmt],
        dialect: &mut impl Dialect,
    ) {
        let is_inside = matches!(at, Expr::Length { most, .. } if *most < count);
        let most = (!is_inside).then(|| count - 1);
        let at = self.expr(at, dialect);
        let around = Rc::new(std::mem::take(&mut self.scope));
        self.scope = Scope::within(around);
        let name = self.scope.unique(&walk.name);
        let block = self.base(walk.start.base);
        let window = Block { name, len: walk.len, ..block.clone() };
        let (offset, step) = (walk.start.offset, walk.step);
        let walking = MovingWindow {
            window: &window,
            block,
            offset,
            step,
            written: walk.written,
            reverse: false,
            count: None,
            hides_place: false,
            is_pass: false,
        };
        dialect.begin_pick(at, count, most, &walking);
        self.enter(walk.window, window);
        self.block(body, dialect);
        dialect.end_block();
        self.scope = std::mem::take(&mut self.scope).leave();
    }

    /// Adds the row of the first statements with a function of the dialect, if any. Returns the
    /// number of these statements.
    fn adds_row(&self, body: &[Stmt], dialect: &mut impl Dialect) -> Option<usize> {
        let row = AddedRow::first_of(body)?;
        let at = |place: Place| {
            let block = self.base(place.base);
            (block, block.at(place.offset))
        };
        let sums = row.sums.iter().map(|var| &*self.names[var.0]).collect();
        let text = RowText { sums, weights: at(row.weights), element: at(row.element), row: &row };
        let support = dialect.add_row(&text);
        (support == Support::Written).then_some(row.statements)
    }

    /// The window of a walk. Within a column group, the window holds all columns of the panel.
    fn window(&mut self, walk: &Walk) -> Block {
        let name = self.scope.unique(&walk.name);
        let block = self.base(walk.start.base);
        let group = block.group.as_ref().map(|(_, group)| (0, Rc::clone(group)));
        let columns_beyond = group.as_ref().map_or(0, |(_, group)| group.columns - group.width);
        Block { name, len: walk.len + columns_beyond, group, ..block.clone() }
    }

    /// True if a loop runs over column groups of a panel.
    fn is_pass(&self, walks: &[Walk]) -> bool {
        walks.first().is_some_and(|walk| self.kernel.hints.passes.contains(&walk.window))
    }

    /// A loop over the column groups of a panel.
    fn passes(&mut self, count: usize, walks: &[Walk], body: &[Stmt], dialect: &mut impl Dialect) {
        let around = Rc::new(std::mem::take(&mut self.scope));
        self.scope = Scope::within(around);
        let width = walks[0].step;
        let name = self.scope.unique("columns");
        let group = Rc::new(ColumnGroup { name, width, columns: width * count });
        dialect.begin_passes(&group);
        for walk in walks {
            let block = self.base(walk.start.base).clone();
            let window =
                Block { group: Some((block.at(walk.start.offset), Rc::clone(&group))), ..block };
            if let Base::Buffer(id) = walk.start.base {
                self.wholes.insert(walk.window, id);
            }
            self.enter(walk.window, window);
        }
        self.block(body, dialect);
        dialect.end_block();
        self.scope = std::mem::take(&mut self.scope).leave();
    }

    /// The sums of a loop that only adds rows of weights: each iteration reads one row and one
    /// element.
    fn row_sums<'s>(
        &'s self,
        count: usize,
        walks: &'s [Walk],
        body: &[Stmt],
    ) -> Option<RowSums<'s>> {
        let ([rows, elements], Some((sums, lanes, first, sum_stride))) =
            (walks, self.kernel.row_sums(walks, body))
        else {
            return None;
        };
        let weights = self.base(rows.start.base);
        let at_once = self
            .kernel
            .hints
            .unrolled_by
            .iter()
            .find(|(window, _)| *window == rows.window)
            .map_or(1, |(_, turns)| *turns);
        Some(RowSums {
            names: sums.iter().map(|var| &*self.names[var.0]).collect(),
            lanes,
            weights: (weights, weights.at(rows.start.offset) + first),
            step: rows.step,
            sum_stride,
            elements: (self.base(elements.start.base), elements.start.offset),
            rows: count,
            at_once,
            next: None,
        })
    }

    /// The sums of a loop after declarations of sums with initial value 0, if no other statement
    /// changes the sums; also the number of statements, the declarations and the loop.
    fn zero_sums<'s>(&'s self, body: &'s [Stmt]) -> Option<(RowSums<'s>, usize)> {
        let zero = |stmt: &Stmt| match stmt {
            Stmt::Let { var, mutable: true, value: Expr::Const { bits: 0, .. } } => Some(*var),
            _ => None,
        };
        let declared: Vec<Var> = body.iter().map_while(zero).collect();
        let [Stmt::For { count, turn: None, backwards: None, walks, body }, rest @ ..] =
            &body[declared.len()..]
        else {
            return None;
        };
        let (vars, ..) = self.kernel.row_sums(walks, body)?;
        let is_declared =
            vars.len() == declared.len() && vars.iter().all(|var| declared.contains(var));
        let is_complete = !rest.iter().any(|stmt| sets(stmt, &declared));
        let sums = self.row_sums(*count, walks, body).filter(|_| is_declared && is_complete)?;
        let next = self
            .zero_sums(rest)
            .map(|(next, _)| SumLoop { gates: next.names.len(), rows: next.rows });
        Some((RowSums { next, ..sums }, declared.len() + 1))
    }

    /// A copy with as few loops as possible.
    fn copy(&self, copied: &Copied, dialect: &mut impl Dialect) {
        if copied.encoding == Encoding::LowBytes {
            let [to, from] =
                [copied.to, copied.from].map(|place| (self.base(place.base), place.offset));
            let line = copied.dims.last().map_or(0, |line| line.extent);
            return dialect.low_bytes(to, from, Encoding::LowBytes.len(line));
        }
        let (outer, line) = match copied.dims.split_last() {
            Some((line, outer)) if copied.encoding != Encoding::F32 => (outer, Some(line)),
            _ => (&copied.dims[..], None),
        };
        let (mut loops, run, repeated) = match line {
            None => runs(outer),
            Some(_) => (outer.iter().copied().filter(|dim| dim.extent != 1).collect(), 1, false),
        };
        assert!(!(copied.add && repeated), "emit: one element is added to several");
        // gcc keeps loops of a few elements at -O2: each element has a statement instead
        let is_short =
            |dim: &mut CopiedDim| line.is_none() && run == 1 && dim.extent <= WRITTEN_OUT;
        let single = CopiedDim { extent: 1, from_stride: 0, to_stride: 0 };
        let written_out = loops.pop_if(is_short).unwrap_or(single);
        let (mut read, mut write) =
            (Subscript::new(copied.from.offset), Subscript::new(copied.to.offset));
        for (depth, dim) in loops.iter().enumerate() {
            let i = dialect.begin_turns(depth, dim.extent);
            read.add_turns(&i, dim.extent, dim.from_stride);
            write.add_turns(&i, dim.extent, dim.to_stride.cast_signed());
        }
        let (from, to) = (self.base(copied.from.base), self.base(copied.to.base));
        match line {
            None => {
                for (k, nth) in (0..written_out.extent).zip(0_isize..) {
                    let read = read.moved(nth * written_out.from_stride);
                    let write = write.moved((k * written_out.to_stride).cast_signed());
                    dialect.copy(Copying { from, read, to, write, run, repeated, add: copied.add });
                }
            }
            Some(line) => {
                assert!(copied.words.is_none(), "emit: such words are of weights that are known");
                let (row, part) = line_of(copied.encoding, line.extent);
                let stride = usize::try_from(line.from_stride)
                    .expect("emit: rows of weights are read forwards");
                let (count, abreast, step) = (line.extent, copied.abreast, line.to_stride);
                dialect.pack_line(Line {
                    from,
                    read,
                    count,
                    stride,
                    to,
                    write,
                    abreast,
                    step,
                    interleaves_halves: copied.interleaves_halves,
                    row,
                    part,
                });
            }
        }
        loops.iter().for_each(|_| dialect.end_block());
    }

    fn expr(&mut self, expr: &Expr, dialect: &mut impl Dialect) -> Text {
        match expr {
            Expr::Load { from: Place { base, offset }, lanes } => {
                let block = self.base(*base);
                dialect.load(block, block.at(*offset), *lanes)
            }
            Expr::Splat { from: Place { base, offset }, lanes } => {
                let block = self.base(*base);
                dialect.splat(block, block.at(*offset), *lanes)
            }
            Expr::Length { from: Place { base, offset }, least, most } => {
                dialect.length(self.base(*base), *offset, *least, *most)
            }
            Expr::Const { bits, ty } => dialect.constant(*bits, *ty, self.context),
            Expr::Var(var) => Text::atom(self.names[var.0].clone()),
            Expr::Op(operation, args) => {
                let ty = expr.ty(self.locals);
                let args = args.iter().map(|a| self.expr(a, dialect)).collect();
                dialect.operation(*operation, ty, args, self.context)
            }
            Expr::Call(function, args) => {
                let lanes = expr.ty(self.locals).lanes;
                let args = args.iter().map(|a| self.expr(a, dialect)).collect();
                dialect.call(&self.shared.functions[*function], lanes, args)
            }
        }
    }
}

/// Copies of at most this many scattered elements have one statement per element.
const WRITTEN_OUT: usize = 4;

/// The integer format of a row of weights, and the part to write.
fn line_of(encoding: Encoding, count: usize) -> (LineRow, LinePart) {
    let pairs = LineRow::Pairs(Arithmetic::most_in_pairs(count));
    match encoding {
        Encoding::Int8Quad => (LineRow::Bytes, LinePart::Words(4)),
        Encoding::Int8Wide => (LineRow::Bytes, LinePart::Words(2)),
        Encoding::Int8Pair => (LineRow::Bytes, LinePart::Pairs),
        Encoding::Int8Scale => (LineRow::Bytes, LinePart::Scale),
        Encoding::Int8Start => (LineRow::Bytes, LinePart::Start),
        Encoding::Int16Pair => (pairs, LinePart::Words(2)),
        Encoding::Int16Scale => (pairs, LinePart::Scale),
        Encoding::F32
        | Encoding::F16
        | Encoding::Bf16Pair
        | Encoding::Int8
        | Encoding::Int8Neighbours
        | Encoding::Int16Neighbours => {
            unreachable!("emit: {encoding:?} is for weights that are known")
        }
        Encoding::LowBytes => unreachable!("emit: low bytes have no rows of weights"),
    }
}

/// The loops of a copy, with contiguous neighbours merged; then, for an innermost loop that writes
/// consecutive elements, the number of elements, and true if all are read from one place.
fn runs(dims: &[CopiedDim]) -> (Vec<CopiedDim>, usize, bool) {
    let mut loops: Vec<CopiedDim> = Vec::new();
    for dim in dims.iter().filter(|dim| dim.extent != 1) {
        let joins = |outer: &CopiedDim| {
            let stride = isize::try_from(dim.extent)
                .ok()
                .and_then(|extent| dim.from_stride.checked_mul(extent));
            Some(outer.from_stride) == stride
                && Some(outer.to_stride) == dim.to_stride.checked_mul(dim.extent)
        };
        match loops.last_mut().filter(|outer| joins(outer)) {
            Some(outer) => *outer = CopiedDim { extent: outer.extent * dim.extent, ..*dim },
            None => loops.push(*dim),
        }
    }
    match loops.last().copied() {
        Some(CopiedDim { extent, from_stride: from_stride @ (0 | 1), to_stride: 1 }) => {
            loops.pop();
            (loops, extent, from_stride == 0)
        }
        _ => (loops, 1, false),
    }
}

/// A finite f32 in a notation that both languages read back exactly; in decimal if short.
pub(super) fn decimal(value: f32) -> String {
    let text = format!("{value:?}");
    debug_assert_eq!(text.parse::<f32>().map(f32::to_bits), Ok(value.to_bits()));
    text
}
