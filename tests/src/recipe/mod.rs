//! Recipes: plain data that proptest draws and shrinks. Every recipe is a valid model.
//!
//! A recipe lists operations of the table in `operations.rs`. Each operation finds its operands
//! among earlier values, and draws its sizes and attributes from `Choices` by name. A printed
//! recipe shows these choices. Fewer operations and smaller numbers are simpler models.
//!
//! To add an operation, give it a row in the table and a function that adds it to the model:
//!
//! ```ignore
//! row("elu", [1, 1, 0], OfValue(|drawing, choices, Item { port, most }| {
//!     let alpha = choices.pick("alpha", &[1.0, 0.5, -0.25]);
//!     let of = drawing.file.operation("Elu", "opset1", &format!("alpha=\"{alpha}\""), &[&port], &port.shape);
//!     drawing.push(of, most.max(1.0));
//! })),
//! ```

mod arranged;
mod branches;
mod cells;
mod choices;
mod decisions;
mod drawing;
mod iterator;
mod operations;

use std::env;
use std::fmt::{self, Debug, Formatter};
use std::str::FromStr;

use cellc::internals::random::Random;
use proptest::array::uniform;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::model_file::ModelFile;
use choices::Choices;
use drawing::Drawing;
use operations::{Model, Operation};

/// A runner that draws equal recipes from equal seeds.
pub fn runner(cases: u32, seed: u64) -> TestRunner {
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// The parsed value of a variable of the environment. `None` if it is not set or invalid.
pub fn asked<T: FromStr>(variable: &str) -> Option<T> {
    env::var(variable).ok()?.parse().ok()
}

/// The seed given by `CELLC_SEED`, or 0.
pub fn seed() -> u64 {
    asked("CELLC_SEED").unwrap_or(0)
}

/// The first recipes of a seed.
///
/// # Panics
/// If a recipe cannot be drawn: a fault of the strategy.
pub fn drawn(count: u32, seed: u64) -> Vec<Recipe> {
    let mut runner = runner(count, seed);
    (0..count).map(|_| recipes().new_tree(&mut runner).expect("a recipe").current()).collect()
}

/// A recipe of a model.
#[derive(Clone)]
pub struct Recipe {
    /// The seed of all numbers in constants.
    pub seed: u32,
    /// The shapes of the inputs.
    inputs: Vec<[u8; 4]>,
    /// The operations, in order.
    nodes: Vec<Node>,
    /// Selects the results besides the last value.
    results: Vec<u8>,
    /// Numbers that select options: unrolling, fused multiply-add, and the options of the numerics.
    pub options: [u8; 3],
}

/// An operation with the numbers that decide its choices.
#[derive(Clone, Debug)]
struct Node {
    operation: &'static Operation,
    numbers: [u8; 40],
}

/// All recipes. One in three has only one or two cells.
pub fn recipes() -> impl Strategy<Value = Recipe> {
    let node = |model: Model| {
        (select(operations::in_a(model)), uniform(any::<u8>()))
            .prop_map(|(operation, numbers)| Node { operation, numbers })
    };
    let cells = vec(node(Model::Cells), 1..=2);
    let graph = vec(node(Model::Graph), 1..=9);
    let nodes = proptest::prop_oneof![1 => cells, 2 => graph];
    let inputs = vec(any::<[u8; 4]>(), 1..=3);
    let results = vec(any::<u8>(), 0..=3);
    (any::<u32>(), inputs, nodes, results, any::<[u8; 3]>()).prop_map(
        |(seed, inputs, nodes, results, options)| Recipe { seed, inputs, nodes, results, options },
    )
}

impl Recipe {
    /// The model.
    pub fn file(&self) -> ModelFile {
        self.draw().0
    }

    /// The model, and for each operation its name with what was chosen.
    fn draw(&self) -> (ModelFile, Vec<String>) {
        let mut drawing = Drawing::new(ModelFile::default(), Random::new(u64::from(self.seed)), 0);
        for [rank, sizes @ ..] in &self.inputs {
            let shape = Choices::new(sizes).shape("shape", 1 + usize::from(*rank) % 4);
            let port = drawing.parameter("f32", &shape);
            drawing.push(port, 1.0);
        }
        let mut chosen = Vec::new();
        for Node { operation, numbers } in &self.nodes {
            let mut choices = Choices::new(numbers);
            drawing.draw(operation, &mut choices);
            chosen.push(choices.chosen());
        }
        (drawing.finish(&self.results), chosen)
    }
}

impl Debug for Recipe {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, options {:?}", self.seed, self.options)?;
        self.draw().1.iter().try_for_each(|operation| writeln!(f, "{operation}"))
    }
}

#[cfg(test)]
mod tests {
    use super::drawn;

    /// Printed recipes have the names of choices, in iterators, too.
    #[test]
    fn recipes_name_their_choices() {
        let all: String = drawn(100, 0).iter().map(|recipe| format!("{recipe:?}")).collect();
        for named in [
            "\ncell ",
            " kind=Gru",
            " hidden=",
            "\ntranspose ",
            " axis=",
            "\niterator ",
            " (unary ",
            "\neither ",
        ] {
            assert!(all.contains(named), "{named:?} is not in\n{all}");
        }
    }
}
