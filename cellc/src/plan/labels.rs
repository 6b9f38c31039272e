//! Names of operations in generated code: `dense1`, and `dense1_weights`, `dense1_bias`,
//! `dense1_out` for its memory.

use std::collections::BTreeMap;

use super::Fusion;
use crate::core::{CoreModel, Source};

/// The names of a model's operations and constants, equal in the bodies of all instruction sets.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// By value: the operation whose kernel computes the value.
    operations: BTreeMap<usize, String>,
    /// By constant: the name of the first reader and the role of the constant in the reader.
    constants: BTreeMap<usize, String>,
}

impl Labels {
    /// The names in a model with these fused operations.
    pub fn new(model: &CoreModel, fusion: &Fusion) -> Self {
        let nodes = model.all_nodes();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut operations = BTreeMap::new();
        for node in &nodes {
            let facts = node.op.facts();
            let count = counts.entry(facts.name).or_default();
            let label = format!("{}{count}", facts.name);
            *count += 1;
            operations.extend(facts.outputs.into_iter().map(|value| (value, label.clone())));
        }
        for chain in fusion.chains() {
            // a reduction gives its name to the pointwise operations that its kernel computes
            let root = operations[&chain.reduced.unwrap_or(chain.root)].clone();
            let links = chain.links.iter().chain(chain.reduced.map(|_| &chain.root));
            operations.extend(links.map(|link| (*link, root.clone())));
        }
        let mut constants = BTreeMap::new();
        let mut same: BTreeMap<String, usize> = BTreeMap::new();
        for node in &nodes {
            let (label, role) = (&operations[&node.op.first_value()], node.op.facts().constants);
            for source in node.op.reads() {
                if let Source::Constant(index) = source {
                    constants.entry(index).or_insert_with(|| {
                        let name = format!("{label}_{role}");
                        let count = same.entry(name.clone()).or_default();
                        *count += 1;
                        if *count == 1 { name } else { format!("{name}_{count}") }
                    });
                }
            }
        }
        Self { operations, constants }
    }

    /// The name of the operation whose kernel computes a value. A fused operation has the name of
    /// the first operation of the kernel, or of the reduction that computes the chain.
    pub fn operation(&self, value: usize) -> &str {
        &self.operations[&value]
    }

    /// The name of a constant: the first reader and the role of the constant in the reader, or a
    /// number if no operation reads the constant.
    pub fn constant(&self, index: usize) -> String {
        self.constants.get(&index).cloned().unwrap_or_else(|| format!("constant{index}"))
    }
}
