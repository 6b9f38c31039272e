//! The error of a model on its own states over many steps, measured for the comment at the top of a
//! file and for `cellc check`.

use std::cell::RefCell;

use crate::bound::{self, Seen, states};
use crate::core::CoreModel;
use crate::encoding::Arithmetic;
use crate::kernel::{BodyRef, Program, Role, interpret};
use crate::numerics::Precisions;
use crate::pack;
use crate::random::Random;
use crate::reference::{FLOAT64, Float64, Outcome, QuantisationCache, initial_variables};
use crate::request::Range;

/// The seed of the drawn inputs.
pub(crate) const SEED: u64 = 1;

/// The maximum work of all steps of the interpreter, as [`bound::work`] counts: a tenth of a
/// second. The number of steps depends on the model alone, so files for different targets state
/// errors of the same steps.
const MOST_WORK: usize = 1 << 22;

/// The maximum work of all steps of [`IntegerRuns`] for the header, or of the only step of the
/// reference, as [`bound::work`] counts: half a second.
const MOST_WORK_OF_ONE_RUN: usize = 1 << 28;

/// The maximum number of measured steps.
pub(crate) const STEPS: usize = 256;
/// The maximum number of measured steps with integer products.
pub(crate) const INTEGER_STEPS: usize = 1000;
/// The minimum number of steps. If the work allows fewer, no step is measured.
const FEWEST: usize = 8;

/// The measured errors of all results.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FreeRun {
    /// The number of measured steps. 0: only one step of the reference was computed, so `results`
    /// has the values of the step and no errors.
    pub(crate) steps: usize,
    /// True if the kernels of the last instruction set were interpreted. False for the reference of
    /// integer products, and if no step was measured.
    pub(crate) interpreted: bool,
    /// By result.
    pub(crate) results: Vec<Gathered>,
}

/// Errors and values of one result or variable over all steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gathered {
    /// The largest distance from the reference.
    pub(crate) error: f64,
    /// The least of 0 and the values of the reference.
    low: f64,
    /// The largest of 0 and the values of the reference.
    high: f64,
    /// The sum of the squares of all distances, and their number.
    squares: f64,
    count: usize,
    /// The sum of the squares of the reference's finite values.
    power: f64,
}

impl Gathered {
    /// Adds the distance of a value from the reference.
    pub(crate) fn add(&mut self, exact: f64, error: f64) {
        if exact.is_finite() {
            (self.low, self.high) = (self.low.min(exact), self.high.max(exact));
            self.power += exact * exact;
        }
        self.error = if error.is_nan() { f64::INFINITY } else { self.error.max(error) };
        self.squares += error * error;
        self.count += 1;
    }

    /// The largest magnitude of the reference.
    pub(crate) fn largest(&self) -> f64 {
        self.high.max(-self.low)
    }

    /// The power of the reference over the power of the distances, in decibels. Infinite if all
    /// distances are 0, NaN if the reference is 0, too.
    pub(crate) fn snr(&self) -> f64 {
        10.0 * (self.power / self.squares).log10()
    }

    /// The range of the reference and the largest distance; no distance if `steps` is 0.
    pub(crate) fn seen(&self, steps: usize) -> Seen {
        Seen { low: self.low, high: self.high, error: (steps > 0).then_some(self.error) }
    }

    /// The root of the mean square of the distances.
    pub(crate) fn rms(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}

/// The names of the layers with other products than f32, each once.
pub(crate) fn layers_in_integers(model: &CoreModel, precisions: &Precisions) -> Vec<String> {
    let mut layers = Vec::new();
    for node in model.all_nodes().into_iter().filter(|node| node.op.has_precision()) {
        if precisions.get(node.op.first_value()).arithmetic() != Arithmetic::F32
            && !layers.contains(&node.name)
        {
            layers.push(node.name.clone());
        }
    }
    layers
}

/// Runs of the reference, each on its own states: one with all products of the options, and one for
/// each layer with integer products alone.
pub(crate) struct IntegerRuns {
    memory: RefCell<QuantisationCache>,
    runs: Vec<Run>,
}

struct Run {
    /// The only layer with integer products. `None`: every layer has the products of the options.
    layer: Option<String>,
    precisions: Precisions,
    /// The states after the previous step. Empty before the first step.
    states: Vec<Vec<f64>>,
    variables: Vec<Vec<f64>>,
    /// By result, then by variable.
    gathered: Vec<Gathered>,
}

impl Run {
    fn new(model: &CoreModel, layer: Option<String>, precisions: Precisions) -> Self {
        let gathered = vec![Gathered::default(); model.results.len() + model.variables.len()];
        Self {
            layer,
            precisions,
            states: Vec::new(),
            variables: initial_variables(model),
            gathered,
        }
    }
}

impl IntegerRuns {
    /// The runs before the first step. The model has constant weights.
    pub(crate) fn new(model: &CoreModel, precisions: &Precisions) -> Self {
        let layers = layers_in_integers(model, precisions);
        let mut runs = vec![Run::new(model, None, precisions.clone())];
        if layers.len() > 1 {
            let alone = |layer: String| {
                let only = precisions.only(model, &layer);
                Run::new(model, Some(layer), only)
            };
            runs.extend(layers.into_iter().map(alone));
        }
        Self { memory: RefCell::default(), runs }
    }

    /// A step of each run, with the Parameters and results of the exact step. `fresh`: true for a
    /// step without earlier states.
    pub(crate) fn step(
        &mut self,
        model: &CoreModel,
        parameters: &[Vec<f64>],
        exact: &Outcome<f64>,
        fresh: bool,
    ) {
        for run in &mut self.runs {
            if fresh {
                run.states.clear();
                run.variables = initial_variables(model);
            }
            let mut given = parameters.to_vec();
            for (pair, state) in model.states.iter().zip(&run.states) {
                given[pair.parameter].clone_from(state);
            }
            let arithmetic =
                Float64 { precisions: run.precisions.clone(), memory: Some(&self.memory) };
            let found = arithmetic.outcome(model, &given, &run.variables);
            for (gathered, (found, exact)) in
                run.gathered.iter_mut().zip(found.parts().zip(exact.parts()))
            {
                found
                    .iter()
                    .zip(exact)
                    .for_each(|(found, exact)| gathered.add(*exact, (found - exact).abs()));
            }
            run.states =
                model.states.iter().map(|pair| found.results[pair.result].clone()).collect();
            run.variables = found.variables;
        }
    }

    /// The distances of the run in which all layers have the products of the options.
    fn whole(&self) -> &[Gathered] {
        &self.runs[0].gathered
    }

    /// The distances for each layer with integer products alone, if several layers have them.
    pub(crate) fn layers(&self) -> impl Iterator<Item = (&str, &[Gathered])> {
        self.runs.iter().filter_map(|run| Some((run.layer.as_deref()?, &run.gathered[..])))
    }
}

/// The reference on its own states, with drawn inputs.
struct ReferenceRun<'a> {
    model: &'a CoreModel,
    range: Range,
    random: Random,
    memory: RefCell<QuantisationCache>,
    /// The Parameters of the step.
    parameters: Vec<Vec<f64>>,
    variables: Vec<Vec<f64>>,
    /// The states after the step, by pair.
    next: Vec<Vec<f64>>,
}

impl<'a> ReferenceRun<'a> {
    fn new(model: &'a CoreModel, range: Range) -> Self {
        let parameters =
            model.parameters.iter().map(|p| vec![0.0; p.shape.iter().product()]).collect();
        let (random, variables) = (Random::new(SEED), initial_variables(model));
        Self {
            model,
            range,
            random,
            memory: RefCell::default(),
            parameters,
            variables,
            next: Vec::new(),
        }
    }

    /// Computes the next step. Rows of matrices stay in memory for later steps.
    fn step(&mut self) -> Outcome<f64> {
        self.draw();
        let arithmetic = Float64 { precisions: Precisions::F32, memory: Some(&self.memory) };
        let outcome = arithmetic.outcome(self.model, &self.parameters, &self.variables);
        self.next =
            self.model.states.iter().map(|pair| outcome.results[pair.result].clone()).collect();
        self.variables.clone_from(&outcome.variables);
        outcome
    }

    /// Computes one step without a memory of rows, which takes 80 MB for ten million weights.
    fn only_step(mut self) -> Outcome<f64> {
        self.draw();
        FLOAT64.outcome(self.model, &self.parameters, &self.variables)
    }

    /// Draws the inputs of the next step. The inputs of states take the states after the last step.
    fn draw(&mut self) {
        let Self { model, range, .. } = *self;
        let held = states(model);
        for (i, parameter) in model.parameters.iter().enumerate() {
            if let Some(at) = model.states.iter().position(|pair| pair.parameter == i) {
                if let Some(state) = self.next.get_mut(at) {
                    self.parameters[i] = std::mem::take(state);
                }
                continue;
            }
            let len = self.parameters[i].len();
            self.parameters[i] = match parameter.largest_drawn() {
                Some(most) => {
                    self.random.lengths(len, most).into_iter().map(|length| length as f64).collect()
                }
                None => {
                    let most = if held.contains(&i) { range.h } else { range.x };
                    self.random.varied(len, most).into_iter().map(f64::from).collect()
                }
            };
        }
    }
}

/// Runs steps of the code and of the float64 reference, each on its own states, from the initial
/// states. The kernels are interpreted; a model with integer products is run by the reference of
/// integer products instead. If the work is too much, the float64 reference alone takes one step.
/// `None` if even one step is too much work, or for run-time weights.
pub(crate) fn measure(
    model: &CoreModel,
    body: BodyRef<'_>,
    precisions: &Precisions,
    range: Range,
) -> Option<FreeRun> {
    if model.parameters.iter().any(|parameter| parameter.weight) {
        return None;
    }
    let drawn = ReferenceRun::new(model, range);
    if layers_in_integers(model, precisions).is_empty() {
        if let Some(steps) = steps(STEPS, MOST_WORK, bound::work(model)) {
            let results = of_program(model, body, steps, drawn);
            return Some(FreeRun { steps, interpreted: true, results });
        }
    } else {
        let mut runs = IntegerRuns::new(model, precisions);
        let work = bound::work(model).saturating_mul(runs.runs.len() + 1);
        if let Some(steps) = steps(INTEGER_STEPS, MOST_WORK_OF_ONE_RUN, work) {
            of_integers(&mut runs, steps, drawn);
            let results = |all: &[Gathered]| all[..model.results.len()].to_vec();
            return Some(FreeRun { steps, interpreted: false, results: results(runs.whole()) });
        }
    }
    (bound::work(model) <= MOST_WORK_OF_ONE_RUN).then(|| {
        let mut results = vec![Gathered::default(); model.results.len()];
        for (gathered, exact) in results.iter_mut().zip(&drawn.only_step().results) {
            exact.iter().for_each(|exact| gathered.add(*exact, 0.0));
        }
        FreeRun { steps: 0, interpreted: false, results }
    })
}

/// At most `wanted` steps of work `each`, within the limit `most`. `None` below the fewest steps.
fn steps(wanted: usize, most: usize, each: usize) -> Option<usize> {
    Some(wanted.min(most / each.max(1))).filter(|steps| *steps >= FEWEST)
}

fn of_integers(runs: &mut IntegerRuns, steps: usize, mut drawn: ReferenceRun<'_>) {
    for step in 0..steps {
        let exact = drawn.step();
        runs.step(drawn.model, &drawn.parameters, &exact, step == 0);
    }
}

fn of_program(
    model: &CoreModel,
    body: BodyRef<'_>,
    steps: usize,
    mut drawn: ReferenceRun<'_>,
) -> Vec<Gathered> {
    let mut memory = memory(model, body.program);
    let buffer = |role: Role| body.program.find(role).map(|id| id.0);
    let mut results = vec![Gathered::default(); model.results.len()];
    let mut states: Vec<Vec<f32>> = Vec::new();
    for _ in 0..steps {
        let expected = drawn.step();
        for (i, values) in drawn.parameters.iter().enumerate() {
            let Some(at) = buffer(Role::Parameter(i)) else { continue };
            let state = model
                .states
                .iter()
                .position(|pair| pair.parameter == i)
                .and_then(|pair| states.get(pair));
            memory[at] = state
                .cloned()
                .unwrap_or_else(|| values.iter().map(|value| *value as f32).collect());
        }
        interpret(body, &mut memory);
        let at =
            |result: usize| buffer(Role::Result(result)).expect("verify: every result is written");
        for (i, (gathered, exact)) in results.iter_mut().zip(&expected.results).enumerate() {
            for (exact, got) in exact.iter().zip(&memory[at(i)]) {
                gathered.add(*exact, (exact - f64::from(*got)).abs());
            }
        }
        states = model.states.iter().map(|pair| memory[at(pair.result)].clone()).collect();
    }
    results
}

/// Memory before the first step, the weights packed.
fn memory(model: &CoreModel, program: &Program) -> Vec<Vec<f32>> {
    let initial = initial_variables(model);
    let contents = |role: Role, len: usize| match role {
        Role::Constant(i) => (0..len).map(|k| model.constants[i].get_f32(k)).collect(),
        Role::Variable(i) => {
            let values: Vec<_> = initial[i].iter().map(|value| *value as f32).collect();
            program.variable_memory(i, &values, 0)
        }
        _ => vec![0.0; len],
    };
    let mut memory: Vec<Vec<f32>> =
        program.buffers.iter().map(|b| contents(b.role, b.len)).collect();
    pack::pack_memory(program, &mut memory);
    memory
}
