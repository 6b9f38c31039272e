//! Spells a program in Rust or C, and decides nothing.

pub mod names;
mod walk;
