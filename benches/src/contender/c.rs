//! Kernels that cellc generated in C.

#[cfg(c_kernels)]
#[allow(unsafe_code, reason = "C is called")]
mod linked {
    use std::ffi::c_int;
    use std::hint::black_box;

    use super::super::Contender;
    use crate::workload::Workload;

    /// The generated struct of a model with one state: the instruction set, then h.
    #[repr(C)]
    struct State<const H: usize> {
        isa: c_int,
        h: [f32; H],
    }

    struct Kernel<const I: usize, const H: usize> {
        isa: &'static str,
        state: Box<State<H>>,
        out: [f32; H],
        step: unsafe extern "C" fn(*mut State<H>, *const f32, *mut f32),
    }

    impl<const I: usize, const H: usize> Kernel<I, H> {
        fn advance(&mut self, x: &[f32; I]) {
            // unsafe: the state was initialised by the generated code, x and out are as long as the model says, and none
            // of the three overlaps another
            unsafe { (self.step)(&mut *self.state, x.as_ptr(), self.out.as_mut_ptr()) }
        }
    }

    impl<const I: usize, const H: usize> Contender for Kernel<I, H> {
        fn name(&self) -> &str {
            "cellc C"
        }

        fn isa(&self) -> Option<&str> {
            Some(self.isa)
        }

        fn reset(&mut self) {
            self.state.h = [0.0; H];
        }

        fn step(&mut self, x: &[f32], out: &mut [f32]) {
            self.advance(x.try_into().expect("a row of x"));
            out.copy_from_slice(&self.out);
        }

        fn run(&mut self, inputs: &[f32], steps: usize) {
            for x in inputs.as_chunks().0.iter().cycle().take(steps) {
                self.advance(black_box(x));
            }
            black_box(&mut self.out);
        }
    }

    macro_rules! kernels {
        ($((
            $workload:literal, $file:literal, $module:ident, $cell:ident, $inputs:literal, $units:literal,
            $available:ident, $init:ident, $step:ident
        ),)*) => {
            unsafe extern "C" {
                $(
                    fn $available(isa: c_int) -> c_int;
                    fn $init(state: *mut State<$units>, isa: c_int);
                    fn $step(state: *mut State<$units>, x: *const f32, h_out: *mut f32);
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
                            let mut state = Box::new(State { isa: number, h: [0.0; $units] });
                            // unsafe: it writes the fields of a state, of which this is one
                            unsafe { $init(&mut *state, number) };
                            all.push(Box::new(Kernel::<$inputs, $units> {
                                isa: isa.name,
                                state,
                                out: [0.0; $units],
                                step: $step,
                            }));
                        }
                    }
                )*
                all
            }
        };
    }

    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

#[cfg(c_kernels)]
pub(super) use linked::kernels;

/// None: the build found no C compiler.
#[cfg(not(c_kernels))]
pub(super) fn kernels(_: &crate::workload::Workload) -> Vec<Box<dyn super::Contender>> {
    Vec::new()
}
