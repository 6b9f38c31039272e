//! Sums of integer products across lanes: assembly, since compilers move the sums between
//! registers.

use std::fmt::Write as _;

use super::wrap;
use crate::arch::{CAcross, Dot, Isa};
use crate::kernel::{Element, Tiles};

/// The numbers of columns that one function may sum.
pub(super) const COLUMNS: [usize; 3] = [1, 2, 4];

/// The operands of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DotOperands {
    /// Quads of bytes.
    Quads,
    /// Pairs of 16 bits.
    Pairs,
    /// Pairs of 16-bit elements and 8-bit weights.
    PairsOfBytes,
}

/// A function for the sums of some columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ColumnSums {
    columns: usize,
    dots: DotOperands,
    /// The number of vectors per column outside the loop.
    rest: usize,
    /// True if the function has a loop.
    has_loop: bool,
    /// True if weights of other columns are between the function's weights.
    is_apart: bool,
}

impl ColumnSums {
    /// The function for the sums of `tiles` with weights of a type, and the iterations of its loop.
    pub(super) fn new(tiles: &Tiles, weights: Element, isa: &Isa) -> (Self, usize) {
        let (iterations, rest) = tiles.iterations(isa.code.rows);
        let dots = match (tiles.in_word, weights) {
            (4, _) => DotOperands::Quads,
            (_, Element::I8Pair) => DotOperands::PairsOfBytes,
            _ => DotOperands::Pairs,
        };
        let is_apart = tiles.step > tiles.columns * tiles.abreast;
        (
            Self { columns: tiles.columns, dots, rest, has_loop: iterations > 0, is_apart },
            iterations,
        )
    }

    /// All functions for an instruction set.
    pub(super) fn all(isa: &Isa) -> Vec<Self> {
        let rests = if isa.has(Dot::Across) { 2 * isa.code.rows } else { 0 };
        let mut functions = Vec::new();
        for (columns, rest) in
            COLUMNS.into_iter().flat_map(|columns| (0..rests).map(move |rest| (columns, rest)))
        {
            for dots in [DotOperands::Quads, DotOperands::Pairs, DotOperands::PairsOfBytes] {
                let variant = |has_loop, is_apart| Self { columns, dots, rest, has_loop, is_apart };
                functions.extend([
                    variant(false, false),
                    variant(false, true),
                    variant(true, false),
                    variant(true, true),
                ]);
            }
        }
        functions
    }

    /// The name in the file.
    pub(super) fn name(self, prefix: &str) -> String {
        let suffix = match self.dots {
            DotOperands::Quads => "quads",
            DotOperands::Pairs => "pairs",
            DotOperands::PairsOfBytes => "pairs_of_bytes",
        };
        let looped = if self.has_loop { "_looped" } else { "" };
        let apart = if self.is_apart { "_apart" } else { "" };
        format!("{prefix}_across{}_{}_{suffix}{looped}{apart}", self.columns, self.rest)
    }

    /// The arguments after the addresses of weights, elements and sums.
    pub(super) fn arguments(self, iterations: usize, tiles: &Tiles) -> String {
        let beyond = (tiles.step - tiles.columns * tiles.abreast)
            * if self.dots == DotOperands::PairsOfBytes { 2 } else { 4 };
        let mut text = String::new();
        for (_, value) in [(self.has_loop, iterations), (self.is_apart, beyond)]
            .into_iter()
            .filter(|(has, _)| *has)
        {
            let _ = write!(text, ", {value}");
        }
        text
    }

    /// The head and the body. `float` and `bits` are the types of four f32 lanes and of their bits.
    pub(super) fn head_and_body(
        self,
        prefix: &str,
        isa: &Isa,
        [float, bits]: [&str; 2],
    ) -> (String, String) {
        let how = isa.c.across.expect("emit: what adds across lanes has a text");
        let weights = if self.dots == DotOperands::PairsOfBytes { "uint16_t" } else { "float" };
        let optional = [(self.has_loop, "turns"), (self.is_apart, "beyond")];
        let present = || optional.iter().filter(|(has, _)| *has).map(|(_, name)| *name);
        let params: String = present().map(|name| format!(", size_t {name}")).collect();
        let (name, inline) = (self.name(prefix), format!("{}_INLINE", prefix.to_ascii_uppercase()));
        let head = format!(
            "{inline} void {name}(const {weights} *weights, const float *elements, float \
             *to{params}) {{"
        );
        let sums: Vec<_> = (0..self.columns).map(|column| format!("sum{column}")).collect();
        let meets = self.columns == 4;
        let mut body = format!("    uint32_t {};\n", sums.join(", "));
        if meets {
            let _ = writeln!(body, "    {bits} all;");
        }
        body.push_str("    __asm__ volatile(\n");
        let lines = self.lines(&how, &sums, isa.code.rows);
        for (at, line) in lines.iter().enumerate() {
            let end = if at + 1 < lines.len() { "\\n\\t" } else { "" };
            let _ = writeln!(body, "        \"{line}{end}\"");
        }
        let pointer =
            if self.dots == DotOperands::PairsOfBytes { how.pointer_to_bytes } else { "+r" };
        let mut outputs = vec![
            format!("[weights]\"{pointer}\"(weights)"),
            "[elements]\"+r\"(elements)".to_owned(),
        ];
        outputs.extend(sums.iter().map(|sum| format!("[{sum}]\"{}\"({sum})", how.sum)));
        outputs.extend(meets.then(|| "[all]\"=w\"(all)".to_owned()));
        let inputs: Vec<_> = present().map(|name| format!("[{name}]\"r\"({name})")).collect();
        let _ = writeln!(body, "        : {}", outputs.join(", "));
        let _ = writeln!(body, "        : {}", inputs.join(", "));
        let _ = writeln!(body, "        : {});", how.clobbered);
        match meets {
            true => {
                let _ = writeln!(body, "    *({float}_in_memory *)to = ({float})all;");
            }
            false => {
                for (column, sum) in sums.iter().enumerate() {
                    let _ = writeln!(body, "    to[{column}] = {prefix}_from_bits({sum});");
                }
            }
        }
        (wrap::lines(&head), body)
    }

    /// The instructions.
    fn lines(self, how: &CAcross, sums: &[String], at_once: usize) -> Vec<String> {
        let (first, next, load) = match self.dots {
            DotOperands::Quads => (how.quads, how.add_quads, how.weights),
            DotOperands::Pairs => (how.pairs, how.add_pairs, how.weights),
            DotOperands::PairsOfBytes => (how.pairs, how.add_pairs, how.pairs_of_bytes),
        };
        let of_sum = |template: &str, sum: &String| template.replace("{0}", sum);
        let mut lines = Vec::new();
        let row = |lines: &mut Vec<String>, multiply: &str| {
            lines.push(how.elements.to_owned());
            for sum in sums {
                lines.extend([load.to_owned(), of_sum(multiply, sum)]);
            }
            lines.extend(self.is_apart.then(|| how.beyond.to_owned()));
        };
        if self.rest == 0 {
            lines.extend(sums.iter().map(|sum| of_sum(how.zero, sum)));
        }
        (0..self.rest).for_each(|at| row(&mut lines, if at == 0 { first } else { next }));
        if self.has_loop {
            lines.push(how.begin.to_owned());
            (0..at_once).for_each(|_| row(&mut lines, next));
            lines.push(how.end.to_owned());
        }
        if sums.len() == 4 {
            lines.extend(how.meet.map(str::to_owned));
        }
        lines
    }
}
