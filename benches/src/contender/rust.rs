//! Kernels that cellc generated in Rust.

use std::hint::black_box;
use std::time::Duration;

use cellc::internals::timing::turns::timed;
use cellc_runtime::Cell;

use super::{Contender, place};
use crate::trade::Trade;
use crate::workload::{Variant, Workload};

/// What a model reads or writes: an array, or rows of them.
trait Array: Sized {
    fn flat(&self) -> &[f32];

    fn rows(all: &[f32]) -> Vec<Self>;
}

impl<const N: usize> Array for [f32; N] {
    fn flat(&self) -> &[f32] {
        self
    }

    fn rows(all: &[f32]) -> Vec<Self> {
        all.as_chunks().0.to_vec()
    }
}

impl<const N: usize, const M: usize> Array for [[f32; N]; M] {
    fn flat(&self) -> &[f32] {
        self.as_flattened()
    }

    fn rows(all: &[f32]) -> Vec<Self> {
        all.as_chunks().0.as_chunks().0.to_vec()
    }
}

struct Kernel<C: Cell, X> {
    variant: Variant,
    trade: Option<Trade>,
    cell: C,
    inputs: Vec<X>,
    /// Inputs that are not taken again.
    lead_in: usize,
    /// Calls since the state was zero.
    calls: usize,
    out: Box<C::Output>,
    /// The outputs in the order of the model.
    outputs: fn(&C::Output) -> Vec<&[f32]>,
    /// Starts the helper, of a cell that has one.
    start: fn(&mut C) -> bool,
}

impl<C, X> Contender for Kernel<C, X>
where
    C: for<'a> Cell<Input<'a> = &'a X>,
{
    fn name(&self) -> &str {
        "cellc Rust"
    }

    fn isa(&self) -> Option<&str> {
        Some(self.cell.isa_name())
    }

    fn variant(&self) -> Variant {
        self.variant
    }

    fn trade(&self) -> Option<Trade> {
        self.trade
    }

    fn start_helper(&mut self) -> bool {
        (self.start)(&mut self.cell)
    }

    fn reset(&mut self) -> Result<(), String> {
        self.cell.reset();
        self.calls = 0;
        Ok(())
    }

    fn call(&mut self) -> Result<Vec<f32>, String> {
        let row = place(self.calls, self.inputs.len(), self.lead_in);
        self.cell.step(&self.inputs[row], &mut self.out);
        self.calls += 1;
        Ok(self.outputs().swap_remove(0))
    }

    fn outputs(&self) -> Vec<Vec<f32>> {
        (self.outputs)(&self.out).into_iter().map(<[f32]>::to_vec).collect()
    }

    fn run(&mut self, calls: usize) -> Result<Duration, String> {
        Ok(timed(|| {
            for x in self.inputs[self.lead_in..].iter().cycle().take(calls) {
                self.cell.step(black_box(x), &mut self.out);
            }
            black_box(&mut self.out);
        }))
    }
}

/// One of them: in a function of its own, as the outputs of all would not fit into one frame.
fn kernel<C, X>(
    workload: &Workload,
    variant: Variant,
    trade: Option<Trade>,
    cell: impl FnOnce() -> C,
    outputs: fn(&C::Output) -> Vec<&[f32]>,
    start: fn(&mut C) -> bool,
) -> Box<dyn Contender>
where
    C: for<'a> Cell<Input<'a> = &'a X> + 'static,
    X: Array + 'static,
{
    Box::new(Kernel {
        variant,
        trade,
        cell: cell(),
        inputs: X::rows(&workload.inputs(variant)),
        lead_in: workload.lead_in(),
        calls: 0,
        out: Box::new(C::zeroed_output()),
        outputs,
        start,
    })
}

/// A module for each generated file, and the contenders that are in it.
macro_rules! kernels {
    ($(($workload:literal, $variant:ident, $trade:expr, $file:literal, $module:ident, $cell:ident, $input:ty, $outputs:expr,
        $start:expr),)*) => {
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
                    for isa in cellc::internals::arch::ALL.iter().filter_map(|isa| $module::Isa::from_name(isa.name)) {
                        let cell = || $module::$cell::with_isa(isa);
                        all.push(kernel::<_, $input>(workload, Variant::$variant, $trade, cell, $outputs, $start));
                    }
                }
            )*
            all
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/rust_kernels.rs"));
