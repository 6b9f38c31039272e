//! Checks what every pass must keep true.
use super::Program;
/// What is wrong with a program, or nothing.
pub fn verify(_program: &Program) -> Result<(), String> {
    Ok(())
}
