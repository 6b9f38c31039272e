//! Whether the matrices of a model can be stored and multiplied as the options say.

use std::collections::BTreeSet;

use super::Validation;
use crate::diagnostic::{Diagnostic, Origin, Setting, quoted};
use crate::encoding::{matrices, whole};
use crate::model::{ValidCell, ValidNode, ValidOp, WeightSource};
use crate::options::{Arithmetic, WeightFormat, gate_name};

impl Validation<'_> {
    /// Refuses weights that are known at run time only, unless they are packed as integers, and those that the format cannot hold.
    pub(super) fn weight_format(&mut self) {
        self.named_layers();
        let given = self.options.weight_format;
        let asked = self.options.arithmetic_of.iter().map(|(_, arithmetic)| *arithmetic);
        let mut arithmetics: Vec<_> = std::iter::once(self.options.arithmetic).chain(asked).collect();
        arithmetics.dedup();
        for arithmetic in arithmetics {
            let fits = match arithmetic {
                Arithmetic::F32 => {
                    !matches!(given, WeightFormat::Int16 | WeightFormat::Int8Pair | WeightFormat::Int8Quad)
                }
                Arithmetic::Int16 => given == WeightFormat::F32,
                Arithmetic::Int8 | Arithmetic::Int8x16 => matches!(given, WeightFormat::F32 | WeightFormat::Int8),
            };
            if !fits {
                let (arithmetic, given) = (arithmetic.name(), given.name());
                let found = format!("weights stored as {given} cannot be multiplied in {arithmetic}");
                self.diagnostics.push(self.at_layer(None, found).valid("leave out one of the two"));
            }
        }
        let mut problems = Vec::new();
        let inputs = self.valid.parameters.iter().zip(&self.model.parameters).enumerate();
        for (i, (parameter, &node)) in inputs.filter(|(_, (parameter, _))| parameter.weight) {
            let Some(format) = self.stored_of(WeightSource::Parameter(i)) else { continue };
            let found = format!("{format} for weights that are given at run time, as {:?} is", parameter.names[0]);
            let problem = self.at_layer(Some(&self.model.nodes[node]), found).valid("f32");
            problems.push(problem.help("leave the option out, or make the weights constants of the model"));
        }
        let mut refused = BTreeSet::new();
        for matrix in matrices(&self.valid) {
            let format = matrix.format(self.options);
            if format == WeightFormat::F32 {
                continue;
            }
            let too_large = matrix.elements().find(|k| !format.holds(matrix.tensor.get_f32(*k)));
            // of all gates the first
            if let Some(k) = too_large.filter(|_| refused.insert((matrix.of, matrix.name))) {
                let value = matrix.tensor.get_f32(k);
                let name = self.stored_as(matrix.of, matrix.gate).unwrap_or_default();
                let found =
                    format!("element {k} of {} of {:?} is {value:e}: {name} cannot hold it", matrix.name, matrix.of);
                let problem = self.at_layer(self.layer_named(matrix.of), found);
                problems.push(match format {
                    WeightFormat::F16 => {
                        problem.valid("-65504 to 65504").help("the other formats have the range of f32")
                    }
                    _ => problem.valid("finite numbers").help("leave the option out, or correct the model"),
                });
            }
        }
        problems.into_iter().for_each(|problem| self.diagnostics.push(problem));
        self.exact_in_8_bits();
    }

    /// Says that weights of a quantised model are stored in 8 bits.
    fn exact_in_8_bits(&mut self) {
        let (layers, [count, scaled]) = whole(&self.valid, self.options);
        let option = self.options.wording.of(Setting::Key { name: "weight_format", in_files: "weight_format" });
        if scaled > 0 {
            let found = format!(
                "{scaled} weights and what they multiply are whole numbers of 8 bits with scales of the model: they are multiplied as integers, with these scales and exact sums"
            );
            let help = format!("f32 for {option} multiplies them as f32, and takes four bytes for each weight");
            self.diagnostics.push(Diagnostic::notice(self.somewhere(), found).help(help));
        }
        if count > 0 {
            let stored = || layers.iter().filter(|whole| whole.weights && !whole.is_scaled());
            let as_integers = stored().all(|whole| whole.has_own_x());
            let scaled = stored().any(|whole| !whole.exact);
            let what =
                if scaled { "are what 8 bits and a scale for each row hold" } else { "are whole numbers of 8 bits" };
            let multiplied = if as_integers { ", and multiplied as an integer" } else { "" };
            let results =
                if scaled { "; results differ from those of f32 by rounding" } else { ", with the same results" };
            let found = format!("{count} weights {what}: each is stored in one byte{multiplied}{results}");
            let help = match as_integers {
                true => format!("f32 for {option} takes four bytes for each, and multiplies them as f32"),
                false => format!("f32 for {option} takes four bytes for each, and less time where they fit the caches"),
            };
            self.diagnostics.push(Diagnostic::notice(self.somewhere(), found).help(help));
        }
    }

    /// What messages call how the matrices of a layer, and of that gate of it, are stored; `None`: as f32.
    fn stored_as(&self, layer: &str, gate: Option<char>) -> Option<String> {
        match (self.options.arithmetic_in(layer, gate), self.options.stored(layer, gate)) {
            (_, WeightFormat::F32) => None,
            (Arithmetic::F32, format) => Some(format.name().to_owned()),
            (arithmetic, _) => Some(format!("{} arithmetic", arithmetic.name())),
        }
    }

    /// In which format the first layer that reads the weights stores them that packing does not know: f32 and integers that are multiplied it does.
    fn stored_of(&self, weights: WeightSource) -> Option<String> {
        self.valid.all_nodes().into_iter().find_map(|node| {
            let reads = match &node.op {
                ValidOp::Cell(cell) => {
                    [cell.w, cell.r].contains(&weights) || cell.b.contains(&weights) || cell.p == Some(weights)
                }
                ValidOp::Dense(dense) => dense.w == weights,
                _ => false,
            };
            let mut gates = node.op.gates().into_iter();
            let of = |gate| match self.options.stored(&node.name, gate) {
                WeightFormat::F32 => None,
                format => (!format.is_of_integers()).then(|| format.name().to_owned()),
            };
            reads.then(|| gates.find_map(of)).flatten()
        })
    }

    /// Where weights are given at run time, depthwise convolutions stay f32.
    pub(super) fn beside_given_weights(&mut self) {
        fn each(nodes: &mut [ValidNode], found: &mut Vec<(String, &'static str)>) {
            for ValidNode { op, name, .. } in nodes {
                match op {
                    ValidOp::Convolve(of) if of.is_depthwise() => {
                        of.beside_given = true;
                        found.push((name.clone(), "a model with weights that are given at run time"));
                    }
                    ValidOp::Loop(of) => each(&mut of.body, found),
                    _ => {}
                }
            }
        }
        if self.valid.parameters.iter().any(|parameter| parameter.weight) {
            each(&mut self.valid.nodes, &mut self.valid.in_f32);
        }
    }

    /// Leaves each layer that stays f32 once, and none that is swept away.
    pub(super) fn layers_in_f32(&mut self) {
        let mut left: BTreeSet<String> = BTreeSet::new();
        for node in self.valid.all_nodes() {
            match &node.op {
                ValidOp::MatMul(_) | ValidOp::Convolve(_) if node.op.gates().is_empty() => {
                    left.insert(node.name.clone())
                }
                _ => false,
            };
        }
        self.valid.in_f32.retain(|(layer, _)| left.remove(layer));
    }

    /// Refuses an arithmetic for what multiplies no matrix, two for one layer or gate, and one for a gate whose name is a layer's too.
    fn named_layers(&mut self) {
        let mut known: Vec<_> = self.valid.all_nodes().into_iter().filter(|node| !node.op.gates().is_empty()).collect();
        let of_gates = |node: &&ValidNode| {
            let name = node.name.clone();
            node.op.gates().into_iter().flatten().map(move |gate| gate_name(&name, gate))
        };
        let gates: Vec<_> = known.iter().flat_map(of_gates).collect();
        let with_peepholes = |node: &&&ValidNode| matches!(&node.op, ValidOp::Cell(ValidCell { p: Some(_), .. }));
        let with_peepholes: Vec<_> =
            known.iter().filter(with_peepholes).flat_map(|node| of_gates(node).collect::<Vec<_>>()).collect();
        // several layers may have one name
        let mut seen = BTreeSet::new();
        known.retain(|node| seen.insert(&node.name));
        let known: Vec<_> = known.into_iter().map(|node| node.name.clone()).collect();
        let product = |node: &ValidNode| matches!(node.op, ValidOp::MatMul(_)).then(|| node.name.clone());
        let products: BTreeSet<_> = self.valid.all_nodes().into_iter().filter_map(product).collect();
        let wording = &self.options.wording;
        let option = wording.of(Setting::Key { name: "arithmetic_of", in_files: "arithmetic_of" });
        let mut problems = Vec::new();
        if self.options.arithmetic != Arithmetic::F32 && known.is_empty() {
            let all = wording.of(Setting::Key { name: "arithmetic", in_files: "arithmetic" });
            let found = format!("{all} has no effect: no layer of the model multiplies integers");
            problems.push(Diagnostic::warning(Origin::Unknown, found));
        }
        for (i, (layer, arithmetic)) in self.options.arithmetic_of.iter().enumerate() {
            let in_f32 = self.valid.in_f32.iter().find(|(own, _)| own == layer).map(|(_, why)| why);
            let is_layer = known.contains(layer);
            let found = match self.options.arithmetic_of[..i].iter().any(|(before, _)| before == layer) {
                true => format!("{option} names {} twice", quoted(layer)),
                false if is_layer && gates.contains(layer) => {
                    format!("{option} names {}, which is a layer, and a gate of another one", quoted(layer))
                }
                false if with_peepholes.contains(layer) => {
                    format!("{option} names {}, a gate of a cell that has peepholes", quoted(layer))
                }
                false if is_layer || gates.contains(layer) => continue,
                false => match in_f32 {
                    Some(_) if *arithmetic == Arithmetic::F32 => continue,
                    // what would be a dense layer in integers
                    None if *arithmetic == Arithmetic::F32 && products.contains(layer) => continue,
                    Some(why) => {
                        format!("{option} names {}, which stays f32 ({why})", quoted(layer))
                    }
                    None => {
                        format!("{option} names {}, which is no cell, gate, dense layer or convolution", quoted(layer))
                    }
                },
            };
            let valid = match known.len() {
                0 => "the model has no cell, dense layer or convolution".to_owned(),
                _ => known.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
            };
            let valid = match gates.iter().find(|gate| !with_peepholes.contains(gate)) {
                None => valid,
                Some(gate) => format!("{valid}; of a cell also its gates, as {}", quoted(gate)),
            };
            problems.push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(format!("correct {option}")));
        }
        problems.into_iter().for_each(|problem| self.diagnostics.push(problem));
    }
}
