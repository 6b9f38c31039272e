//! Whether what is timed is right: every contender against the float64 reference, in the same run.

use std::path::PathBuf;

use cellc::front::openvino;
use cellc::model::{Parameter, ValidModel};
use cellc::options::Options;
use cellc::reference::reference;
use cellc::timing::agreement::Agreement;
use cellc::validate::validate;

use crate::contender::Contender;
use crate::workload::{Variant, Workload};

/// Calls that are checked: so many, or fewer where they are long.
const CALLS: usize = 32;

/// Multiply-adds of the reference after which no further call is begun.
const MULTIPLY_ADDS: usize = 20_000_000;

/// The largest error of an output, relative to the larger of 1 and the reference, that is still the same function: a hundred
/// roundings of f32. A gate, a weight or a bias that is out of place is off by far more.
pub(crate) const TOLERANCE: f64 = 1e-5;

/// The OpenVINO IR that the build wrote; its weights are beside it.
pub(crate) fn model_file(workload: &Workload, variant: Variant) -> PathBuf {
    PathBuf::from(concat!(env!("OUT_DIR"), "/")).join(workload.file(variant) + ".xml")
}

/// What should come out of every call from state zero on.
pub(crate) struct Expected {
    variants: Vec<(Variant, Vec<Vec<f64>>)>,
}

impl Expected {
    /// In float64, each call with the state that the one before left.
    ///
    /// # Errors
    /// If a model cannot be read.
    pub(crate) fn new(workload: &Workload) -> Result<Self, String> {
        let one = |variant| Ok((variant, outputs(workload, variant)?));
        Ok(Self { variants: workload.variants().into_iter().map(one).collect::<Result<_, String>>()? })
    }

    fn of(&self, variant: Variant) -> &[Vec<f64>] {
        self.variants.iter().find(|(v, _)| *v == variant).map_or(&[], |(_, calls)| calls)
    }
}

fn outputs(workload: &Workload, variant: Variant) -> Result<Vec<Vec<f64>>, String> {
    let model = model(workload, variant)?;
    let inputs: Vec<f64> = workload.inputs(variant).into_iter().map(f64::from).collect();
    let zero = |p: &Parameter| vec![0.0; p.shape.iter().product()];
    let mut parameters: Vec<Vec<f64>> = model.parameters.iter().map(zero).collect();
    let calls = (MULTIPLY_ADDS / workload.multiply_adds()).clamp(2, CALLS);
    let mut all = Vec::new();
    for x in inputs.chunks_exact(workload.input_len(variant)).cycle().take(calls) {
        parameters[0] = x.to_vec();
        let mut results = reference(&model, &parameters, &[]).results;
        for pair in &model.states {
            parameters[pair.parameter].clone_from(&results[pair.result]);
        }
        all.push(results.swap_remove(0));
    }
    Ok(all)
}

/// The model that the build wrote.
///
/// # Errors
/// If it is gone.
pub(crate) fn model(workload: &Workload, variant: Variant) -> Result<ValidModel, String> {
    let (model, _) = openvino::read(&model_file(workload, variant), None).map_err(|error| error.to_string())?;
    Ok(validate(&model, &Options::default()).map_err(|error| error.to_string())?.0)
}

/// Checks a contender from state zero on.
///
/// # Errors
/// If it is not the function of the workload, or fails.
pub(crate) fn check(
    workload: &Workload,
    expected: &Expected,
    contender: &mut dyn Contender,
) -> Result<Agreement, String> {
    let mut agreement = Agreement::default();
    contender.reset()?;
    for (call, expected) in expected.of(contender.variant()).iter().enumerate() {
        let outputs = contender.call()?;
        if let Some(j) = agreement.see(&outputs, expected, TOLERANCE) {
            let (name, isa) = (contender.name(), contender.isa().unwrap_or(""));
            let [got, expected] = [outputs.get(j).map(f32::to_string), expected.get(j).map(f64::to_string)]
                .map(|value| value.unwrap_or_else(|| "missing".to_owned()));
            return Err(format!(
                "{} {name} {isa}: element {j} of call {call} is {got}, the reference says {expected}",
                workload.name
            ));
        }
    }
    Ok(agreement)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cellc::timing::floor::Work;

    use super::{Expected, check, model};
    use crate::contender::{Contender, contenders};
    use crate::workload::{Variant, WORKLOADS};

    #[test]
    fn every_contender_is_right() {
        // without optimisation the longest sequence takes minutes; a run of the bench checks it too
        for workload in WORKLOADS.iter().filter(|workload| workload.multiply_adds() < 10_000_000) {
            let expected = Expected::new(workload).expect("a reference");
            for mut contender in contenders(workload) {
                check(workload, &expected, &mut *contender).unwrap_or_else(|problem| panic!("{problem}"));
            }
        }
    }

    /// 3 x 128 x (16 + 128) weights and 4 x 128 biases, and the like.
    #[test]
    fn floors_do_what_the_workloads_do() {
        for (name, bytes) in [("W1", 223_232), ("W8b", 223_232), ("W9", 74_240), ("W11b", 6_299_648), ("W12b", 27_044)]
        {
            let workload = WORKLOADS.iter().find(|workload| workload.name == name).expect("a workload");
            let work = Work::of(&model(workload, Variant::Itself).expect("a model"));
            assert_eq!((work.weight_bytes(), work.multiply_adds()), (bytes, workload.multiply_adds()), "{name}");
        }
    }

    /// A contender whose last element is off by a little.
    struct Off(Box<dyn Contender>);

    impl Contender for Off {
        fn name(&self) -> &str {
            "off"
        }

        fn reset(&mut self) -> Result<(), String> {
            self.0.reset()
        }

        fn call(&mut self) -> Result<Vec<f32>, String> {
            let mut out = self.0.call()?;
            if let Some(last) = out.last_mut() {
                *last += 1e-4;
            }
            Ok(out)
        }

        fn run(&mut self, calls: usize) -> Result<Duration, String> {
            self.0.run(calls)
        }
    }

    #[test]
    fn a_wrong_contender_is_refused() {
        let workload = &WORKLOADS[0];
        let expected = Expected::new(workload).expect("a reference");
        let right = contenders(workload).remove(0);
        let problem = check(workload, &expected, &mut Off(right)).expect_err("it is wrong");
        assert!(problem.contains("element 127 of call 0"), "{problem}");
    }
}
