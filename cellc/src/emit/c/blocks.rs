//! Sums over the blocks of weights that are not zero: one function for each kind of block.

use std::fmt::Write as _;

use super::dialect::{C, plus};
use super::vectors::spaced;
use super::wrap;
use crate::emit::elements::spelling;
use crate::emit::traversal::{Block, BlockOperands, Context, Dialect as _, Text};
use crate::kernel::{BlockProduct, BlockSums, Element, LaneOp, Scalar, Type};

/// A function for the sums of rows of blocks.
#[derive(Clone, Copy)]
struct BlockFunction {
    product: BlockProduct,
    rows: usize,
    /// The element type of the tables of counts and inputs.
    index: Element,
}

impl C<'_> {
    /// Writes a call of the function for blocks of one kind. The function precedes the kernels.
    pub(super) fn block_sums(&mut self, operands: &BlockOperands<'_>, sums: &BlockSums) {
        let BlockOperands { elements, weights, counts, inputs, sums: to } = operands;
        let index = counts.block.element;
        let function = BlockFunction { product: sums.product, rows: sums.rows, index };
        let name = function.name(self.prefix, self.isa.name);
        if !self.needs.rows.contains_key(&name) {
            let text = self.block_function(function, &name);
            self.needs.rows.insert(name.clone(), text);
        }
        let [elements, weights, counts, inputs, to] = [elements, weights, counts, inputs, to]
            .map(|operand| plus(&operand.block.name, operand.offset));
        let block_rows = sums.block_rows;
        let arguments = format!("{weights}, {elements}, {counts}, {inputs}, {to}, {block_rows}");
        self.line(&format!("{name}({arguments});"));
    }

    /// The text of a function.
    fn block_function(&mut self, of: BlockFunction, name: &str) -> String {
        let (outer, depth) = (std::mem::take(&mut self.out), self.within.depth);
        self.within.depth = 1;
        let is_float = of.product.is_float();
        let (sum, zero) = if is_float { ("float", "0.0f") } else { ("uint32_t", "0u") };
        let index = spelling(of.index).c;
        self.line("for (const INDEX *last = counts + block_rows; counts != last; counts++) {");
        self.within.depth = 2;
        let sums: Vec<_> = (0..of.rows).map(|row| format!("sum{row} = {zero}")).collect();
        self.line(&format!("{sum} {};", sums.join(", ")));
        self.line("for (const INDEX *end = inputs + *counts; inputs != end; inputs++) {");
        self.within.depth = 3;
        self.block_products(of);
        self.line(&format!("weights += {};", of.rows * of.product.weight_words()));
        self.within.depth = 2;
        self.line("}");
        for row in 0..of.rows {
            let sum = Text::atom(format!("sum{row}"));
            let value = match is_float {
                true => sum,
                false => {
                    let ty = Type::f32(1);
                    self.operation(LaneOp::FromBits, ty, vec![sum], Context::Kernel)
                }
            };
            self.line(&format!("to[{row}] = {};", value.text));
        }
        self.line(&format!("to += {};", of.rows));
        self.within.depth = 1;
        self.line("}");
        let body = std::mem::replace(&mut self.out, outer).replace("INDEX", index);
        self.within.depth = depth;
        let (rows, inputs) = (of.rows, of.product.inputs());
        let upper = self.prefix.to_ascii_uppercase();
        let called = format!("{upper}_CALLED {}", spaced(self.prefix, self.isa));
        let head = format!(
            "{called}void {name}(const float *restrict weights, const float *restrict elements, \
             const {index} *restrict counts, const {index} *restrict inputs, float *restrict to, \
             size_t block_rows) {{"
        );
        let mut text = format!(
            "/* The sums of {rows} rows for each count: as many blocks of {rows} x {inputs} \
             weights times the elements of their inputs. */\n"
        );
        let _ = write!(text, "{}{body}}}\n\n", wrap::lines(&head));
        text
    }

    /// The products of a block.
    fn block_products(&mut self, of: BlockFunction) {
        let is_float = of.product.is_float();
        let scalar = if is_float { Scalar::F32 } else { Scalar::U32 };
        let ty = Type { scalar, lanes: 1 };
        let words = of.product.element_words();
        let at = match words {
            1 => "elements + *inputs".to_owned(),
            _ => format!("elements + {words} * (size_t)*inputs"),
        };
        self.line(&format!("const float *of_block = {at};"));
        let block = |name: &str| Block {
            name: name.to_owned(),
            len: usize::MAX,
            element: Element::F32,
            bytes: false,
            group: None,
        };
        let elements: Vec<_> = (0..words).map(|word| format!("x{word}")).collect();
        // one by one: a load of several words may have fixed registers, which weights need, too
        for (at, element) in elements.iter().enumerate().filter(|_| is_float) {
            self.block_words(std::slice::from_ref(element), &block("of_block"), at, ty);
        }
        if !is_float {
            self.block_words(&elements, &block("of_block"), 0, ty);
        }
        let words = 0..of.product.weight_words();
        let words_of_rows: Vec<_> =
            words.flat_map(|word| (0..of.rows).map(move |row| (word, row))).collect();
        let together = self.isa.code.loads.clamp(1, if is_float { 8 } else { 2 });
        for (nth, neighbours) in words_of_rows.chunks(together).enumerate() {
            let first = nth * together;
            let names: Vec<_> =
                (first..first + neighbours.len()).map(|w| format!("w{w}")).collect();
            self.block_words(&names, &block("weights"), first, ty);
            for (operation, word, element) in of.product.operations() {
                let operands =
                    neighbours.iter().zip(&names).filter(|((operation, _), _)| operation == word);
                for ((_, row), weight) in operands {
                    let sum = format!("sum{row}");
                    let args = [weight, &elements[*element], &sum];
                    let args = args.map(|arg| Text::atom(arg.clone())).into_iter().collect();
                    let value = self.operation(*operation, ty, args, Context::Kernel);
                    self.line(&format!("{sum} = {};", value.text));
                }
            }
        }
    }

    /// Declares neighbouring words, loaded from memory.
    fn block_words(&mut self, names: &[String], from: &Block, at: usize, ty: Type) {
        match names {
            [name] => {
                let mut value = self.load(from, at, 1);
                if ty.scalar == Scalar::U32 {
                    value = self.operation(LaneOp::ToBits, ty, vec![value], Context::Kernel);
                }
                let ty = if ty.scalar == Scalar::U32 { "uint32_t" } else { "float" };
                self.line(&format!("const {ty} {name} = {};", value.text));
            }
            _ if self.isa.code.loads > 1 => {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                self.declare_loads(&names, from, at, ty);
            }
            _ => {
                for (beyond, name) in names.iter().enumerate() {
                    self.block_words(std::slice::from_ref(name), from, at + beyond, ty);
                }
            }
        }
    }
}

impl BlockFunction {
    fn name(self, prefix: &str, isa: &str) -> String {
        let factors = match self.product {
            BlockProduct::Floats => "floats",
            BlockProduct::FloatQuads => "float_quads",
            BlockProduct::Quads => "quads",
            BlockProduct::WidenedQuads => "widened_quads",
            BlockProduct::Pairs => "pairs",
        };
        format!("{prefix}_blocks{}_{factors}_{}_{isa}", self.rows, self.index)
    }
}
