//! Helpers of the tests in `tests/`: the corpus, models drawn at random, and drivers of generated
//! code.

pub mod agreement;
pub mod browser;
pub mod chain;
pub mod command;
pub mod corpus;
pub mod driver;
pub mod emulated_amx;
pub mod given_weights;
pub mod kept;
pub mod kernels;
pub mod machines;
pub mod model_file;
pub mod random;
pub mod recipe;
pub mod selection;
pub mod skipped;
pub mod subject;
pub mod tiled;
pub mod tiny;
