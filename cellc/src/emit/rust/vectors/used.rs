//! The record of the vector lengths, operations and helper functions that modules need.

use std::collections::BTreeSet;

use super::operations::{OPERATIONS, Operation, OperationTrait};
use super::shared_items::OF_NUMBERS;
use crate::arch::{Arch, Isa};
use crate::emit::text::Word;
use crate::kernel::Element;

/// The needs of modules: operations for the file, vector lengths for each module.
#[derive(Clone, Debug, Default)]
pub(in crate::emit::rust) struct Used {
    pub(super) operations: BTreeSet<&'static str>,
    /// Numbers of lanes.
    pub(super) lanes: BTreeSet<usize>,
    /// Helper functions and types of the file that the module names.
    pub(super) shared: BTreeSet<&'static str>,
    /// Helper functions of the file that the module calls by their paths.
    pub(super) by_path: BTreeSet<&'static str>,
    /// Helper functions in the module itself.
    own_functions: BTreeSet<&'static str>,
    /// Activations that the module calls.
    activations: BTreeSet<String>,
    /// True if loops hide their numbers of iterations from compilers.
    hides_counts: bool,
    /// Dot products: the method, and the number of lanes.
    pub(super) dots: BTreeSet<(&'static str, usize)>,
    /// Numbers of sums to which rows of weights are added.
    pub(super) sums: BTreeSet<usize>,
    /// The largest number of rows per iteration in a loop's code.
    pub(super) at_once: usize,
    /// Conversions of weights for additions of rows.
    pub(super) weights: BTreeSet<&'static str>,
    /// Operations on columns of panels.
    pub(super) columns: BTreeSet<&'static str>,
    /// Processors with intrinsics in types.
    pub(super) processors: BTreeSet<&'static str>,
}

/// The traits of dot products of integers, their methods and formulas.
pub(super) const DOTS: [(&str, &str, &str); 3] = [
    (
        "DotPairs",
        "dot_pairs",
        "`c` and the products of the halves of `self` with those of `b`: 16 bits each, with a \
         sign.",
    ),
    (
        "DotQuads",
        "dot_quads",
        "`c` and the products of the bytes of `self` with those of `b`, each with a sign.",
    ),
    (
        "DotUnsignedQuads",
        "dot_unsigned_quads",
        "`c` and the products of the bytes of `self`, with a sign, with those of `b`, without one.",
    ),
];

/// The helper function of a dot product of one lane.
pub(in crate::emit::rust) fn lane_function(dot: &str) -> &'static str {
    match dot {
        "dot_pairs" => "dot_pairs_lane",
        "dot_quads" => "dot_quads_lane",
        "dot_unsigned_quads" => "dot_unsigned_quads_lane",
        "dot_even_bytes" => "dot_even_bytes_lane",
        "dot_odd_bytes" => "dot_odd_bytes_lane",
        other => unreachable!("emit: no dot product is called {other}"),
    }
}

impl Used {
    /// Records an operation of a kernel.
    pub(in crate::emit::rust) fn operation(&mut self, name: &'static str) {
        let found = OPERATIONS.iter().find(|operation| operation.name == name);
        let found =
            found.unwrap_or_else(|| panic!("emit: no operation of vectors is called {name}"));
        self.operations.insert(name);
        self.operations.extend(found.needs);
    }

    /// Records vectors with `lanes` lanes.
    pub(in crate::emit::rust) fn lanes(&mut self, lanes: usize) {
        self.lanes.insert(lanes);
    }

    /// Records a dot product of several lanes.
    pub(in crate::emit::rust) fn dot(&mut self, name: &'static str, lanes: usize) {
        self.dots.insert((name, lanes));
    }

    /// Records additions of weight rows to `count` sums, `at_once` rows per iteration.
    pub(in crate::emit::rust) fn sums(&mut self, count: usize, at_once: usize) {
        self.sums.insert(count);
        self.at_once = self.at_once.max(at_once);
    }

    /// True if a loop over rows of weights adds several rows in each iteration.
    pub(in crate::emit::rust) fn has_unrolled_rows(&self) -> bool {
        self.at_once > 1
    }

    /// True if every sum over rows of weights has one gate.
    pub(in crate::emit::rust) fn has_sums_of_one_gate(&self) -> bool {
        self.sums.iter().all(|count| *count == 1)
    }

    /// Records an operation on columns of panels.
    pub(in crate::emit::rust) fn columns(&mut self, use_of: &'static str) {
        self.columns.insert(use_of);
    }

    /// True if the file takes no columns of a panel but the first ones, and all weights are f32.
    pub(in crate::emit::rust) fn has_first_columns_alone(&self) -> bool {
        self.columns.iter().all(|use_of| *use_of == "first") && self.has_float_weights()
    }

    /// Records the conversion of weights of this element type to f32.
    pub(in crate::emit::rust) fn weights(&mut self, element: Element) {
        let conversion = match element {
            Element::F16 => "from_halves",
            Element::I8 => "from_bytes",
            _ => "from_lanes",
        };
        self.operation(conversion);
        self.weights.insert(conversion);
    }

    /// True if all weights that are added in rows are f32.
    pub(in crate::emit::rust) fn has_float_weights(&self) -> bool {
        self.weights.iter().all(|conversion| *conversion == "from_lanes")
    }

    /// The words for the type of weights in texts.
    pub(super) fn words_of_weights(&self) -> [Word; 5] {
        let (parameter, generics, argument, element, conversion) = match self.has_float_weights() {
            true => ("", "", "", "f32", "V::from_lanes"),
            false => ("T: Weight<V, W>,", "<T: Weight<V, W>>", "T,", "T", "T::vector"),
        };
        let words = [
            ("WEIGHT_PARAMETER", parameter),
            ("WEIGHT_GENERICS", generics),
            ("WEIGHT_ARGUMENT", argument),
            ("WEIGHT", element),
            ("CONVERTED", conversion),
        ];
        words.map(|(word, value)| (word, value.to_owned()))
    }

    /// Records a helper function or type of the file.
    pub(in crate::emit::rust) fn shared(&mut self, name: &'static str) {
        self.shared.insert(name);
    }

    /// Records a helper function of the file that is called by its path.
    pub(in crate::emit::rust) fn by_path(&mut self, name: &'static str) {
        self.by_path.insert(name);
    }

    /// Records a helper function in the module.
    pub(in crate::emit::rust) fn own_function(&mut self, name: &'static str) {
        self.own_functions.insert(name);
    }

    /// The helper functions in the module.
    pub(in crate::emit::rust) fn own_functions(&self) -> &BTreeSet<&'static str> {
        &self.own_functions
    }

    /// Records the call of an activation.
    pub(in crate::emit::rust) fn activation(&mut self, name: &str) {
        self.activations.insert(name.to_owned());
    }

    /// True if an activation is called.
    pub(in crate::emit::rust) fn calls(&self, activation: &str) -> bool {
        self.activations.contains(activation)
    }

    /// Records a variable that hides a number of iterations from compilers.
    pub(in crate::emit::rust) fn hidden_count(&mut self) {
        self.hides_counts = true;
    }

    /// True if kernels have dot products, which are methods of one type only.
    pub(in crate::emit::rust) fn has_dots(&self) -> bool {
        !self.dots.is_empty()
    }

    /// True if small magnitudes become 0.
    pub(in crate::emit::rust) fn flushes(&self) -> bool {
        self.operations.contains("flush") || self.shared.contains("flush")
    }

    /// The traits and types of columns, sums and loops that kernels name. `file`: the needs of the
    /// file.
    pub(super) fn named(&self, file: &Self) -> impl Iterator<Item = &'static str> + use<> {
        let has_columns = ["first", "all"].iter().any(|use_of| self.columns.contains(use_of));
        [
            ("Columns", has_columns && !file.has_first_columns_alone()),
            ("Rows", !self.sums.is_empty()),
            ("Hidden", self.hides_counts),
        ]
        .into_iter()
        .filter_map(|(name, is_named)| is_named.then_some(name))
    }

    /// The imports of kernels outside the modules of instruction sets. `file`: the needs of the
    /// file; `has_vectors`: true if kernels have parameters for types of vectors.
    pub(in crate::emit::rust) fn imported(
        &self,
        file: &Self,
        has_vectors: bool,
    ) -> impl Iterator<Item = &'static str> + '_ {
        let functions = self.shared.iter().copied().filter(|name| !OF_NUMBERS.contains(name));
        let has_bits = self.operations(OperationTrait::Bits).next().is_some();
        let traits = [("Bits", has_bits), ("Vector", has_vectors)];
        let traits = traits.into_iter().filter_map(|(name, is_named)| is_named.then_some(name));
        self.named(file).chain(traits).chain(functions)
    }

    /// Adds the operations that another module uses.
    pub(in crate::emit::rust) fn merge(&mut self, other: &Self) {
        self.shared.extend(&other.shared);
        self.by_path.extend(&other.by_path);
        self.own_functions.extend(&other.own_functions);
        self.activations.extend(other.activations.iter().cloned());
        self.hides_counts |= other.hides_counts;
        self.operations.extend(&other.operations);
        self.lanes.extend(&other.lanes);
        self.dots.extend(&other.dots);
        self.sums.extend(&other.sums);
        self.at_once = self.at_once.max(other.at_once);
        self.weights.extend(&other.weights);
        self.columns.extend(&other.columns);
        self.processors.extend(&other.processors);
    }

    /// Records the processors with intrinsics in the types of a module.
    pub(in crate::emit::rust) fn processors(&mut self, isas: [Option<&Isa>; 2], arch: &Arch) {
        let rows = isas.into_iter().flatten().flat_map(|isa| isa.rust.vectors);
        let rows = rows.filter(|row| !self.lanes.is_empty() && arch.may_be(row.processor));
        self.processors.extend(rows.map(|row| row.processor).collect::<Vec<_>>());
    }

    pub(super) fn operations(
        &self,
        set: OperationTrait,
    ) -> impl Iterator<Item = &'static Operation> + '_ {
        OPERATIONS.iter().filter(move |operation| {
            operation.set == set && self.operations.contains(operation.name)
        })
    }

    pub(super) fn dots(
        &self,
        lanes: usize,
    ) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        let names = DOTS.into_iter().map(|(trait_name, name, _)| (trait_name, name));
        names.filter(move |(_, name)| self.dots.contains(&(*name, lanes)))
    }

    /// True if kernels or activations use the bits of vectors.
    pub(in crate::emit::rust) fn has_bits(&self) -> bool {
        let converts = ["to_bits", "from_bits", "from_signed"]
            .iter()
            .any(|name| self.operations.contains(name));
        converts || !self.dots.is_empty() || self.operations(OperationTrait::Bits).next().is_some()
    }
}
