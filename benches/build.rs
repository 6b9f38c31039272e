//! Compiles every workload by `cellc::Builder`, in Rust and, where there is a C compiler, in C.

#[path = "src/workload.rs"]
#[expect(dead_code, reason = "the rest is for the program")]
mod workload;

use std::env;
use std::fs;
use std::path::PathBuf;

use cellc::model::{CellKind, ResetGate};
use cellc::{Builder, Error, Language};
use workload::{WORKLOADS, Workload};

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/workload.rs");
    println!("cargo::rustc-check-cfg=cfg(c_kernels)");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut list = String::from("kernels! {\n");
    let mut c = cc::Build::new();
    // what cannot be compiled is left out of the bench, which says so; its own message is enough
    c.cargo_warnings(false).warnings(false).include(&out);
    for workload in &WORKLOADS {
        let Workload { name, input_size, hidden_size, .. } = workload;
        builder(workload).compile()?;
        for path in builder(workload).language(Language::C).compile()? {
            if path.extension().is_some_and(|e| e == "c") {
                c.file(path);
            }
        }
        let module = name.to_lowercase();
        list.push_str(&format!(
            "    ({name:?}, {module:?}, {module}, {name}, {input_size}, {hidden_size}, {module}_isa_available, {module}_init_isa, \
             {module}_step),\n"
        ));
    }
    list.push_str("}\n");
    fs::write(out.join("kernels.rs"), list).expect("OUT_DIR can be written to");
    match c.try_compile("cellc_bench_kernels") {
        Ok(()) => println!("cargo::rustc-cfg=c_kernels"),
        Err(error) => println!("cargo::warning=the C kernels are left out of the bench: {error}"),
    }
    Ok(())
}

fn builder(workload: &Workload) -> Builder {
    let Workload { name, kind, input_size, hidden_size, activations } = *workload;
    let builder = match kind {
        CellKind::Rnn => Builder::rnn(hidden_size, input_size),
        CellKind::Lstm | CellKind::Augru(_) => unreachable!("no workload yet"),
        CellKind::Gru(reset) => {
            Builder::gru(hidden_size, input_size).linear_before_reset(reset == ResetGate::AfterMatMul)
        }
    };
    let [w, r, b] = workload.weights();
    builder.activations(activations.iter().copied()).weight_values(&w, &r, &b).name(name.to_lowercase())
}
