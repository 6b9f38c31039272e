//! The command `cellc`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
