// what the command line would warn about, the compiler warns about
#![deny(warnings)]

cellc_runtime::gru_cell!(pub Alpha<model = "models/alpha/model.xml">);

fn main() {
    let _ = Alpha::new();
}
