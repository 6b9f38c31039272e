//! Recipes: plain data that every value of is a valid model, for proptest to draw and to shrink.
//!
//! A recipe lists operations of the table in `operations.rs`. Each finds its operands among the
//! values before it, and draws its sizes and attributes from `Choices` by name; printing a recipe
//! shows them. Fewer operations and smaller numbers are simpler models.
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

/// Draws the same recipes whenever it starts from the same seed.
pub fn runner(cases: u32, seed: u64) -> TestRunner {
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// What a variable of the environment asks for.
pub fn asked<T: FromStr>(variable: &str) -> Option<T> {
    env::var(variable).ok()?.parse().ok()
}

/// The seed that is asked for.
pub fn seed() -> u64 {
    asked("CELLC_SEED").unwrap_or(0)
}

/// The first recipes of a seed.
///
/// # Panics
/// If one cannot be drawn, which would be a fault of the strategy.
pub fn drawn(count: u32, seed: u64) -> Vec<Recipe> {
    let mut runner = runner(count, seed);
    (0..count).map(|_| recipes().new_tree(&mut runner).expect("a recipe").current()).collect()
}

/// A model.
#[derive(Clone)]
pub struct Recipe {
    /// Of all numbers in tensors.
    pub seed: u32,
    /// The shapes of the inputs.
    inputs: Vec<[u8; 4]>,
    /// In order; at the end the model holds their results.
    nodes: Vec<Node>,
    /// The results beside the last value.
    results: Vec<u8>,
    /// Unrolling, profile, flushing.
    pub options: [u8; 3],
}

/// An operation with the numbers that its choices are made by.
#[derive(Clone, Debug)]
struct Node {
    operation: &'static Operation,
    numbers: [u8; 40],
}

/// All recipes. One in three is of cells only, one or two.
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

    /// Another choice is told by its name, in iterators too.
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
