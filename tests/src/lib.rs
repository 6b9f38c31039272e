//! The tests of cellc stand in `tests/`.
