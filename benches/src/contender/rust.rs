//! Kernels that cellc generated in Rust.

use std::hint::black_box;

use cellc_runtime::Cell;

use super::Contender;
use crate::workload::Workload;

struct Kernel<C, const I: usize, const H: usize> {
    cell: C,
    out: [f32; H],
}

impl<C, const I: usize, const H: usize> Contender for Kernel<C, I, H>
where
    C: for<'a> Cell<Input<'a> = &'a [f32; I], Output = [f32; H]>,
{
    fn name(&self) -> &str {
        "cellc Rust"
    }

    fn isa(&self) -> Option<&str> {
        Some(self.cell.isa_name())
    }

    fn reset(&mut self) {
        self.cell.reset();
    }

    fn step(&mut self, x: &[f32], out: &mut [f32]) {
        self.cell.step(x.try_into().expect("a row of x"), &mut self.out);
        out.copy_from_slice(&self.out);
    }

    fn run(&mut self, inputs: &[f32], steps: usize) {
        for x in inputs.as_chunks().0.iter().cycle().take(steps) {
            self.cell.step(black_box(x), &mut self.out);
        }
        black_box(&mut self.out);
    }
}

/// A module for each generated file, and the contenders that are in it.
macro_rules! kernels {
    ($(($workload:literal, $file:literal, $module:ident, $cell:ident, $inputs:literal, $units:literal, $($c:ident),*),)*) => {
        $(
            #[allow(unsafe_code, reason = "generated code calls the body of an instruction set, with its reason")]
            #[allow(unreachable_pub, reason = "generated files are written to be published")]
            mod $module {
                cellc_runtime::include_model!($file);
            }
        )*

        /// Those for the instruction sets that this machine has.
        pub(super) fn kernels(workload: &Workload) -> Vec<Box<dyn Contender>> {
            let mut all: Vec<Box<dyn Contender>> = Vec::new();
            $(
                if workload.name == $workload {
                    for isa in cellc::target::ALL.iter().filter_map(|isa| $module::Isa::from_name(isa.name)) {
                        let cell = $module::$cell::with_isa(isa);
                        all.push(Box::new(Kernel::<_, $inputs, $units> { cell, out: [0.0; $units] }));
                    }
                }
            )*
            all
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
