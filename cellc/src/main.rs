//! The command `cellc`.

fn main() -> std::process::ExitCode {
    cellc::command()
}
