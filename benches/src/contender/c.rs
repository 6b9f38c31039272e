//! Kernels that cellc generated in C.

#[cfg(c_kernels)]
#[allow(unsafe_code, reason = "C is called")]
mod linked {
    use std::ffi::c_int;
    use std::time::Duration;

    use cellc::internals::numerics::Precisions;
    use cellc::internals::plan::instruction_sets;
    use cellc::internals::timing::turns::timed;
    use cellc::{Language, Options};

    use super::super::{Contender, model, place};
    use crate::trade::Trade;
    use crate::workload::{Variant, Workload};

    /// A model of some size with its state, whatever they are.
    #[repr(C)]
    struct Model {
        _opaque: [u8; 0],
    }

    /// A line of cache, as generated structs are aligned.
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Line {
        _words: [u64; 8],
    }

    struct Kernel {
        isa: &'static str,
        variant: Variant,
        trade: Option<Trade>,
        /// As many bytes as the model has. They must not move.
        model: Vec<Line>,
        inputs: Vec<f32>,
        input_len: usize,
        /// Inputs that are not taken again.
        lead_in: usize,
        /// Calls since the state was zero.
        calls: usize,
        /// Whether there is a helper.
        started: bool,
        start: unsafe extern "C" fn(*mut Model) -> c_int,
        stop: unsafe extern "C" fn(*mut Model),
        reset: unsafe extern "C" fn(*mut Model),
        run: unsafe extern "C" fn(*mut Model, *const f32, usize, usize),
        output: unsafe extern "C" fn(*const Model, usize, *mut usize) -> *const f32,
    }

    impl Drop for Kernel {
        fn drop(&mut self) {
            if self.started {
                // unsafe: the model was initialised, and its helper started
                unsafe { (self.stop)(self.model.as_mut_ptr().cast()) };
            }
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

        fn trade(&self) -> Option<Trade> {
            self.trade
        }

        fn start_helper(&mut self) -> bool {
            // unsafe: the model was initialised, and stays where it is
            self.started = unsafe { (self.start)(self.model.as_mut_ptr().cast()) } != 0;
            self.started
        }

        fn reset(&mut self) -> Result<(), String> {
            // unsafe: the model was initialised
            unsafe { (self.reset)(self.model.as_mut_ptr().cast()) };
            self.calls = 0;
            Ok(())
        }

        fn call(&mut self) -> Result<Vec<f32>, String> {
            let row = place(self.calls, self.inputs.len() / self.input_len, self.lead_in);
            let row = &self.inputs[row * self.input_len..][..self.input_len];
            self.calls += 1;
            // unsafe: the model was initialised, and one row is there
            unsafe { (self.run)(self.model.as_mut_ptr().cast(), row.as_ptr(), 1, 1) };
            Ok(self.outputs().swap_remove(0))
        }

        fn outputs(&self) -> Vec<Vec<f32>> {
            let mut all = Vec::new();
            loop {
                let mut len = 0;
                // unsafe: the model was initialised
                let output =
                    unsafe { (self.output)(self.model.as_ptr().cast(), all.len(), &mut len) };
                if output.is_null() {
                    return all;
                }
                // unsafe: an output is as long as it says
                all.push(unsafe { std::slice::from_raw_parts(output, len) }.to_vec());
            }
        }

        fn run(&mut self, calls: usize) -> Result<Duration, String> {
            let inputs = &self.inputs[self.lead_in * self.input_len..];
            let (model, rows) = (self.model.as_mut_ptr().cast(), inputs.len() / self.input_len);
            // unsafe: the model was initialised, and so many rows are there
            Ok(timed(|| unsafe { (self.run)(model, inputs.as_ptr(), rows, calls) }))
        }
    }

    macro_rules! kernels {
        ($(($workload:literal, $variant:ident, $trade:expr, $available:ident, $size:ident, $init:ident, $start:ident, $stop:ident,
            $reset:ident, $run:ident, $output:ident),)*) => {
            unsafe extern "C" {
                $(
                    fn $available(isa: c_int) -> c_int;
                    fn $size() -> usize;
                    fn $init(model: *mut Model, isa: c_int);
                    fn $start(model: *mut Model) -> c_int;
                    fn $stop(model: *mut Model);
                    fn $reset(model: *mut Model);
                    fn $run(model: *mut Model, x: *const f32, rows: usize, calls: usize);
                    fn $output(model: *const Model, output: usize, len: *mut usize) -> *const f32;
                )*
            }

            /// Those for the instruction sets that this machine has.
            pub(in super::super) fn kernels(workload: &Workload) -> Vec<Box<dyn Contender>> {
                let mut all: Vec<Box<dyn Contender>> = Vec::new();
                $(
                    if workload.name == $workload {
                        // the enumerators of the generated C are numbered in this order
                        let options = $trade.map_or_else(Options::default, Trade::options).with_language(Language::C);
                        let model = model(workload, Variant::$variant).expect("the model of a workload");
                        let precisions = Precisions::new(&model, &options.numerics);
                        for (number, isa) in (0..).zip(instruction_sets(&options, &precisions)) {
                            // unsafe: it reads nothing but the processor's description
                            if unsafe { $available(number) } == 0 {
                                continue;
                            }
                            // unsafe: it reads nothing
                            let lines = unsafe { $size() }.div_ceil(size_of::<Line>());
                            let mut model = vec![Line { _words: [0; 8] }; lines];
                            // unsafe: it writes a model, which fits
                            unsafe { $init(model.as_mut_ptr().cast(), number) };
                            all.push(Box::new(Kernel {
                                isa: isa.name,
                                variant: Variant::$variant,
                                trade: $trade,
                                model,
                                inputs: workload.inputs(Variant::$variant),
                                input_len: workload.input_len(Variant::$variant),
                                lead_in: workload.lead_in(),
                                calls: 0,
                                started: false,
                                start: $start,
                                stop: $stop,
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
