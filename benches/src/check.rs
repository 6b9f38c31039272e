//! Whether what is timed is right: every contender against the float64 reference, in the same run.

use cellc::internals::arch::Isa;
use cellc::internals::bound::{Profile, bound};
use cellc::internals::core::{CoreModel, Parameter};
use cellc::internals::numerics::Precisions;
use cellc::internals::reference::{Outcome, reference};
use cellc::internals::timing::agreement::Agreement;

use crate::contender::{Contender, model, place};
use crate::trade::Trade;
use crate::workload::{Variant, Workload};

/// Calls that are checked: so many, or fewer where they are long.
const CALLS: usize = 32;

/// Calls that are held against a bound, which takes longer: so many at most.
const BOUNDED: usize = 8;

/// Multiply-adds of the reference after which no further call is begun.
const MULTIPLY_ADDS: usize = 20_000_000;

/// The largest error of an output, relative to the larger of 1 and the reference, that is still the
/// same function: a hundred roundings of f32. A gate, a weight or a bias that is out of place is
/// off by far more.
pub(crate) const TOLERANCE: f64 = 1e-5;

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
        Ok(Self {
            variants: workload.variants().into_iter().map(one).collect::<Result<_, String>>()?,
        })
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
    let rows: Vec<&[f64]> = inputs.chunks_exact(workload.input_len(variant)).collect();
    for call in 0..calls {
        parameters[0] = rows[place(call, rows.len(), workload.lead_in())].to_vec();
        let mut results = reference(&model, &parameters, &[]).results;
        for pair in &model.states {
            parameters[pair.parameter].clone_from(&results[pair.result]);
        }
        all.push(results.swap_remove(0));
    }
    Ok(all)
}

/// Checks a contender from state zero on, each call with the state that its own one before left.
///
/// # Errors
/// If an output is further than `tolerance` from the reference, relative to the larger of 1 and the
/// reference, or it fails.
pub(crate) fn check(
    workload: &Workload,
    expected: &Expected,
    contender: &mut dyn Contender,
    tolerance: f64,
) -> Result<Agreement, String> {
    let mut agreement = Agreement::default();
    contender.reset()?;
    for (call, expected) in expected.of(contender.variant()).iter().enumerate() {
        let outputs = contender.call()?;
        if let Some(j) = agreement.see(&outputs, expected, tolerance) {
            let (name, isa) = (contender.name(), contender.isa().unwrap_or(""));
            let [got, expected] =
                [outputs.get(j).map(f32::to_string), expected.get(j).map(f64::to_string)]
                    .map(|value| value.unwrap_or_else(|| "missing".to_owned()));
            return Err(format!(
                "{} {name} {isa}: element {j} of call {call} is {got}, the reference says {expected}",
                workload.name
            ));
        }
    }
    Ok(agreement)
}

/// How far single calls are from the reference, beside what cellc says that they are at most.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    /// The largest error.
    pub(crate) error: f64,
    /// The bound where it was found.
    pub(crate) bound: f64,
    /// The largest error over its own bound.
    pub(crate) share: f64,
}

/// Holds kernels of a workload against the bounds that cellc states, call by call from the kernel's
/// own state.
pub(crate) struct Bounds {
    model: CoreModel,
    /// What is expected, and how far a kernel may be from that: kernels with equal bits are in the
    /// same states.
    known: Vec<Known>,
}

/// A step that was computed.
struct Known {
    profile: Profile,
    parameters: Vec<Vec<f64>>,
    expected: Outcome<f64>,
    bounds: Outcome<f64>,
}

impl Bounds {
    /// # Errors
    /// If the model cannot be read.
    pub(crate) fn new(workload: &Workload) -> Result<Self, String> {
        Ok(Self { model: model(workload, Variant::Itself)?, known: Vec::new() })
    }

    /// # Errors
    /// If a bound is broken, or the kernel fails.
    pub(crate) fn hold(
        &mut self,
        workload: &Workload,
        kernel: &mut dyn Contender,
    ) -> Result<Held, String> {
        let isa = kernel.isa().unwrap_or("");
        let fused = Isa::from_name(isa).is_some_and(|isa| isa.fma);
        let numerics = kernel.trade().map(Trade::options).unwrap_or_default().numerics;
        let profile = Profile::new(fused, &numerics, &Precisions::new(&self.model, &numerics));
        let label = format!(
            "{} {} {} {isa}",
            workload.name,
            kernel.name(),
            kernel.trade().map_or("", Trade::name)
        );
        let inputs: Vec<f64> =
            workload.inputs(Variant::Itself).into_iter().map(f64::from).collect();
        let zero = |p: &Parameter| vec![0.0; p.shape.iter().product()];
        let mut parameters: Vec<Vec<f64>> = self.model.parameters.iter().map(zero).collect();
        let mut held = Held::default();
        kernel.reset()?;
        let calls = (MULTIPLY_ADDS / workload.multiply_adds()).clamp(2, BOUNDED);
        let rows: Vec<&[f64]> = inputs.chunks_exact(workload.input_len(Variant::Itself)).collect();
        for call in 0..calls {
            parameters[0] = rows[place(call, rows.len(), workload.lead_in())].to_vec();
            kernel.call()?;
            let outputs = kernel.outputs();
            let (expected, bounds) = self.step(&profile, &parameters);
            for (r, (got, (expected, bounds))) in
                outputs.iter().zip(expected.iter().zip(bounds)).enumerate()
            {
                for (j, (got, (expected, bound))) in
                    got.iter().zip(expected.iter().zip(bounds)).enumerate()
                {
                    let error = (f64::from(*got) - expected).abs();
                    // a NaN is wrong too, and so is a bound that says nothing
                    if !(error <= *bound && bound.is_finite()) {
                        return Err(format!(
                            "{label}: element {j} of result {r} of call {call} is {got}, the reference says {expected} within {bound:e}"
                        ));
                    }
                    if error >= held.error {
                        (held.error, held.bound) = (error, *bound);
                    }
                    if *bound > 0.0 {
                        held.share = held.share.max(error / bound);
                    }
                }
            }
            for pair in &self.model.states {
                parameters[pair.parameter] =
                    outputs[pair.result].iter().copied().map(f64::from).collect();
            }
        }
        Ok(held)
    }

    /// The results, and their bounds.
    fn step(&mut self, profile: &Profile, parameters: &[Vec<f64>]) -> (&[Vec<f64>], &[Vec<f64>]) {
        let same = |known: &Known| known.profile == *profile && known.parameters == parameters;
        let at = self.known.iter().position(same).unwrap_or_else(|| {
            let expected = reference(&self.model, parameters, &[]);
            let bounds = bound(&self.model, profile, parameters, &[]);
            self.known.push(Known {
                profile: profile.clone(),
                parameters: parameters.to_vec(),
                expected,
                bounds,
            });
            self.known.len() - 1
        });
        let known = &self.known[at];
        (&known.expected.results, &known.bounds.results)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cellc::internals::timing::Cores;
    use cellc::internals::timing::floor::LeastWork;

    use super::{Bounds, Expected, Isa, TOLERANCE, check, model};
    use crate::contender::{Contender, contenders, traded};
    use crate::trade::{Trade, trades};
    use crate::workload::{Variant, WORKLOADS};

    #[test]
    fn every_contender_is_right() {
        // without optimisation the longest sequence takes minutes; a run of the bench checks it too
        for workload in WORKLOADS.iter().filter(|workload| workload.multiply_adds() < 10_000_000) {
            let expected = Expected::new(workload).expect("a reference");
            for mut contender in contenders(workload) {
                check(workload, &expected, &mut *contender, TOLERANCE)
                    .unwrap_or_else(|problem| panic!("{problem}"));
            }
        }
    }

    #[test]
    fn every_trade_is_within_its_bound_and_none_is_without_effect() {
        let cores = Cores::pin(None).expect("a core");
        for (workload, trades) in
            trades().filter(|(workload, _)| workload.multiply_adds() < 1_000_000)
        {
            let (expected, mut bounds) = (
                Expected::new(workload).expect("a reference"),
                Bounds::new(workload).expect("a model"),
            );
            let mut kernels = traded(workload, trades, &cores);
            let mut seen = Vec::new();
            for kernel in &mut kernels {
                bounds.hold(workload, &mut **kernel).unwrap_or_else(|problem| panic!("{problem}"));
                let bits =
                    check(workload, &expected, &mut **kernel, f64::INFINITY).expect("it runs").bits;
                seen.push((
                    kernel.name().to_owned(),
                    kernel.isa().map(str::to_owned),
                    kernel.trade(),
                    bits,
                ));
            }
            for (name, isa, trade, bits) in &seen {
                let on = |on: Option<&str>| {
                    seen.iter().find(|(n, i, t, _)| t.is_none() && n == name && i.as_deref() == on)
                };
                let mut extended =
                    isa.as_deref().and_then(Isa::from_name).into_iter().flat_map(Isa::extended);
                let default =
                    on(isa.as_deref()).or_else(|| extended.find_map(|isa| on(Some(isa.name))));
                let default = default.unwrap_or_else(|| {
                    panic!("{name} {isa:?} {trade:?} has none with default options")
                });
                let same =
                    matches!(trade, None | Some(Trade::Threads | Trade::ThreadsBusy | Trade::Keep));
                assert_eq!(*bits == default.3, same, "{} {name} {isa:?} {trade:?}", workload.name);
            }
        }
    }

    #[test]
    fn a_broken_bound_is_refused() {
        let (workload, _) = trades().next().expect("a workload");
        let right = contenders(workload).remove(0);
        let problem = Bounds::new(workload)
            .expect("a model")
            .hold(workload, &mut Off(right))
            .map(drop)
            .expect_err("it is wrong");
        assert!(problem.contains("of result 0 of call 0"), "{problem}");
    }

    /// 3 x 128 x (16 + 128) weights and 4 x 128 biases, and the like.
    #[test]
    fn floors_do_what_the_workloads_do() {
        for (name, bytes) in [
            ("GRU 16 -> 128", 223_232),
            ("GRU 16 -> 128, batch 32", 223_232),
            ("RNN 16 -> 128", 74_240),
            ("GRU 512 -> 512, 100 steps", 6_299_648),
            ("LSTM 1 -> 40, dense", 27_044),
        ] {
            let workload =
                WORKLOADS.iter().find(|workload| workload.name == name).expect("a workload");
            let work = LeastWork::count(&model(workload, Variant::Itself).expect("a model"));
            assert_eq!(
                (work.weight_bytes(), work.multiply_adds()),
                (bytes, workload.multiply_adds()),
                "{name}"
            );
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

        fn outputs(&self) -> Vec<Vec<f32>> {
            let mut all = self.0.outputs();
            all[0][0] += 1e-4;
            all
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
        let problem =
            check(workload, &expected, &mut Off(right), TOLERANCE).expect_err("it is wrong");
        assert!(problem.contains("element 127 of call 0"), "{problem}");
    }
}
