//! Recurrent cells compiled by cellc inside a crate.
