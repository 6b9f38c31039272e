//! Kernels that cellc generated in C.

#[cfg(c_kernels)]
#[allow(unsafe_code, reason = "C is called")]
mod linked {
    use std::ffi::c_int;
    use std::time::Duration;

    use cellc::timing::turns::timed;

    use super::super::Contender;
    use crate::workload::{Variant, Workload};

    /// A model of some size with its state, whatever they are.
    #[repr(C)]
    struct Model {
        _opaque: [u8; 0],
    }

    struct Kernel {
        isa: &'static str,
        variant: Variant,
        /// As many bytes as the model has, in words that are aligned for it.
        model: Vec<[u64; 8]>,
        inputs: Vec<f32>,
        input_len: usize,
        /// Calls since the state was zero.
        calls: usize,
        output_len: usize,
        reset: unsafe extern "C" fn(*mut Model),
        run: unsafe extern "C" fn(*mut Model, *const f32, usize, usize),
        output: unsafe extern "C" fn(*const Model) -> *const f32,
    }

    impl Kernel {
        fn rows(&self) -> usize {
            self.inputs.len() / self.input_len
        }
    }

    impl Contender for Kernel {
        fn name(&self) -> &str {
            "cellc C"
        }

        fn isa(&self) -> Option<&str> {
            Some(self.isa)
        }

        fn variant(&self) -> Variant {
            self.variant
        }

        fn reset(&mut self) -> Result<(), String> {
            // unsafe: the model was initialised
            unsafe { (self.reset)(self.model.as_mut_ptr().cast()) };
            self.calls = 0;
            Ok(())
        }

        fn call(&mut self) -> Result<Vec<f32>, String> {
            let row = &self.inputs[self.calls % self.rows() * self.input_len..][..self.input_len];
            self.calls += 1;
            let model = self.model.as_mut_ptr().cast();
            // unsafe: the model was initialised, one row is there, and the output is as long as the workload says
            Ok(unsafe {
                (self.run)(model, row.as_ptr(), 1, 1);
                std::slice::from_raw_parts((self.output)(model), self.output_len).to_vec()
            })
        }

        fn run(&mut self, calls: usize) -> Result<Duration, String> {
            let (model, rows) = (self.model.as_mut_ptr().cast(), self.rows());
            // unsafe: the model was initialised, and so many rows are there
            Ok(timed(|| unsafe { (self.run)(model, self.inputs.as_ptr(), rows, calls) }))
        }
    }

    macro_rules! kernels {
        ($(($workload:literal, $variant:ident,
            $available:ident, $size:ident, $init:ident, $reset:ident, $run:ident, $output:ident),)*) => {
            unsafe extern "C" {
                $(
                    fn $available(isa: c_int) -> c_int;
                    fn $size() -> usize;
                    fn $init(model: *mut Model, isa: c_int);
                    fn $reset(model: *mut Model);
                    fn $run(model: *mut Model, x: *const f32, rows: usize, calls: usize);
                    fn $output(model: *const Model) -> *const f32;
                )*
            }

            /// Those for the instruction sets that this machine has.
            pub(in super::super) fn kernels(workload: &Workload) -> Vec<Box<dyn Contender>> {
                let mut all: Vec<Box<dyn Contender>> = Vec::new();
                $(
                    if workload.name == $workload {
                        // the enumerators of the generated C are numbered in this order
                        for (number, isa) in (0..).zip(cellc::target::ALL) {
                            // unsafe: it reads nothing but the processor's description
                            if unsafe { $available(number) } == 0 {
                                continue;
                            }
                            // unsafe: it reads nothing
                            let words = unsafe { $size() }.div_ceil(size_of::<[u64; 8]>());
                            let mut model = vec![[0; 8]; words];
                            // unsafe: it writes a model, which fits
                            unsafe { $init(model.as_mut_ptr().cast(), number) };
                            all.push(Box::new(Kernel {
                                isa: isa.name,
                                variant: Variant::$variant,
                                model,
                                inputs: workload.inputs(Variant::$variant),
                                input_len: workload.input_len(Variant::$variant),
                                calls: 0,
                                output_len: workload.output_len(Variant::$variant),
                                reset: $reset,
                                run: $run,
                                output: $output,
                            }));
                        }
                    }
                )*
                all
            }
        };
    }

    include!(concat!(env!("OUT_DIR"), "/c_kernels.rs"));
}

#[cfg(c_kernels)]
pub(super) use linked::kernels;

/// None: the build found no C compiler.
#[cfg(not(c_kernels))]
pub(super) fn kernels(_: &crate::workload::Workload) -> Vec<Box<dyn super::Contender>> {
    Vec::new()
}
