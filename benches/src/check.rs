//! Whether what is timed is right: every contender against the float64 reference, in the same run.

use cellc::reference::reference;

use crate::contender::Contender;
use crate::workload::Workload;

/// Steps that are checked.
const STEPS: usize = 32;

/// The largest error of a step, relative to the larger of 1 and the reference, that is still the same function: a hundred
/// roundings of f32. A gate, a weight or a bias that is out of place is off by far more.
const TOLERANCE: f64 = 1e-5;

/// What a contender computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Checked {
    /// The largest error of one step from the contender's own state, in units of 2^-23 of the larger of 1 and the reference.
    pub(crate) error: f64,
    /// FNV-1a over the bits of every output: equal for contenders that agree bit for bit.
    pub(crate) bits: u32,
}

/// Checks a contender from state zero on.
///
/// # Errors
/// If it is not the function of the workload.
pub(crate) fn check(workload: &Workload, contender: &mut dyn Contender) -> Result<Checked, String> {
    let model = workload.model();
    let inputs = workload.inputs(STEPS);
    let mut state = vec![0.0f32; workload.hidden_size];
    let mut largest = 0.0f64;
    let mut bits = 0x811c_9dc5u32;
    contender.reset();
    for (step, x) in inputs.chunks_exact(workload.input_size).enumerate() {
        let wide = |v: &[f32]| v.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
        let expected = reference(&model, &[wide(x), wide(&state)], &[]).results;
        contender.step(x, &mut state);
        for (j, (got, expected)) in state.iter().zip(&expected[0]).enumerate() {
            let error = (f64::from(*got) - expected).abs() / expected.abs().max(1.0);
            // a NaN is wrong too
            if error.is_nan() || error > TOLERANCE {
                return Err(format!(
                    "{} {} {}: element {j} of step {step} is {got}, the reference says {expected}",
                    workload.name,
                    contender.name(),
                    contender.isa().unwrap_or("")
                ));
            }
            largest = largest.max(error);
            for byte in got.to_le_bytes() {
                bits = (bits ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        }
    }
    Ok(Checked { error: largest * f64::from(1 << 23), bits })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::contender::{Contender, contenders};
    use crate::workload::WORKLOADS;

    #[test]
    fn every_contender_is_right() {
        for workload in &WORKLOADS {
            for mut contender in contenders(workload) {
                check(workload, &mut *contender).unwrap_or_else(|problem| panic!("{problem}"));
            }
        }
    }

    /// A contender whose last element is off by a little.
    struct Off(Box<dyn Contender>);

    impl Contender for Off {
        fn name(&self) -> &str {
            "off"
        }

        fn isa(&self) -> Option<&str> {
            None
        }

        fn reset(&mut self) {
            self.0.reset();
        }

        fn step(&mut self, x: &[f32], out: &mut [f32]) {
            self.0.step(x, out);
            if let Some(last) = out.last_mut() {
                *last += 1e-4;
            }
        }

        fn run(&mut self, inputs: &[f32], steps: usize) {
            self.0.run(inputs, steps);
        }
    }

    #[test]
    fn a_wrong_contender_is_refused() {
        let workload = &WORKLOADS[0];
        let right = contenders(workload).remove(0);
        let problem = check(workload, &mut Off(right)).expect_err("it is wrong");
        assert!(problem.contains("element 127 of step 0"), "{problem}");
    }
}
