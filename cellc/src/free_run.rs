//! The error that a model gathers when it goes on from its own states: measured, for the comment at the top of a file.

use crate::bound::states;
use crate::kernel::{BodyRef, Expr, Program, Role, Stmt, interpret};
use crate::model::ValidModel;
use crate::options::Range;
use crate::pack;
use crate::random::Random;
use crate::reference::{initial_variables, reference};

/// Where the drawing of inputs starts.
pub(crate) const SEED: u64 = 1;

/// What the interpreter may do in all: a tenth of a second.
const MOST_WORK: usize = 1 << 20;

/// So many steps are measured where the work allows; below the fewest, none are.
pub(crate) const STEPS: usize = 256;
const FEWEST: usize = 8;

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FreeRun {
    /// Calls of a step.
    pub(crate) steps: usize,
    /// By result.
    pub(crate) results: Vec<Gathered>,
}

/// What was found of one result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gathered {
    /// The largest distance from the reference, which runs on its own states.
    pub(crate) error: f64,
    /// The largest magnitude of the reference.
    pub(crate) largest: f64,
}

/// Runs steps of the interpreter and of the float64 reference, each on its own states, from the initial ones; `None` where that is too much
/// work, or weights are given at run time.
pub(crate) fn measure(model: &ValidModel, body: BodyRef<'_>, range: Range) -> Option<FreeRun> {
    let steps = STEPS.min(MOST_WORK / work(body).max(1));
    if steps < FEWEST || model.parameters.iter().any(|parameter| parameter.weight) {
        return None;
    }
    let mut memory = memory(model, body.program);
    let mut random = Random::new(SEED);
    let held = states(model);
    let buffer = |role: Role| body.program.find(role).map(|id| id.0);
    let mut given: Vec<Vec<f32>> = model.parameters.iter().map(|p| vec![0.0; p.shape.iter().product()]).collect();
    let mut exact: Vec<Vec<f64>> = given.iter().map(|values| vec![0.0; values.len()]).collect();
    let mut exact_variables = initial_variables(model);
    let mut results = vec![Gathered::default(); model.results.len()];
    for _ in 0..steps {
        for (i, parameter) in model.parameters.iter().enumerate() {
            if model.states.iter().any(|pair| pair.parameter == i) {
                continue;
            }
            let len = given[i].len();
            given[i] = match parameter.largest_drawn() {
                Some(most) => random.lengths(len, most).into_iter().map(|length| length as f32).collect(),
                None => random.varied(len, if held.contains(&i) { range.h } else { range.x }),
            };
            exact[i] = given[i].iter().map(|value| f64::from(*value)).collect();
        }
        for (i, values) in given.iter().enumerate() {
            if let Some(at) = buffer(Role::Parameter(i)) {
                memory[at].clone_from(values);
            }
        }
        interpret(body, &mut memory);
        let expected = reference(model, &exact, &exact_variables);
        for (i, (gathered, exact)) in results.iter_mut().zip(&expected.results).enumerate() {
            let at = buffer(Role::Result(i)).expect("verify: every result is written");
            for (exact, got) in exact.iter().zip(&memory[at]) {
                gathered.largest = gathered.largest.max(exact.abs());
                let error = (exact - f64::from(*got)).abs();
                gathered.error = if error.is_nan() { f64::INFINITY } else { gathered.error.max(error) };
            }
        }
        for pair in &model.states {
            let at = buffer(Role::Result(pair.result)).expect("verify: every result is written");
            given[pair.parameter].clone_from(&memory[at]);
            exact[pair.parameter].clone_from(&expected.results[pair.result]);
        }
        exact_variables = expected.variables;
    }
    Some(FreeRun { steps, results })
}

/// Memory before the first step, the weights packed.
fn memory(model: &ValidModel, program: &Program) -> Vec<Vec<f32>> {
    let initial = initial_variables(model);
    let contents = |role: Role, len: usize| match role {
        Role::Constant(i) => (0..len).map(|k| model.constants[i].get_f32(k)).collect(),
        Role::Variable(i) => initial[i].iter().map(|value| *value as f32).collect(),
        _ => vec![0.0; len],
    };
    let mut memory: Vec<Vec<f32>> = program.buffers.iter().map(|b| contents(b.role, b.len)).collect();
    pack::pack_memory(program, &mut memory);
    memory
}

/// How many values the interpreter makes in a step.
fn work(body: BodyRef<'_>) -> usize {
    let functions: Vec<usize> = body.functions.iter().map(|f| of_statements(&f.body, &[])).collect();
    body.kernels.iter().map(|kernel| of_statements(&kernel.body, &functions)).fold(0, usize::saturating_add)
}

/// `functions`: of the body of each that may be called.
fn of_statements(body: &[Stmt], functions: &[usize]) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => of_expr(value, functions),
        Stmt::For { count, body, walks, .. } => {
            count.saturating_mul(of_statements(body, functions).saturating_add(walks.len()))
        }
        Stmt::Pick { at, body, .. } => of_expr(at, functions).saturating_add(of_statements(body, functions)),
        Stmt::If { then, otherwise, .. } => of_statements(then, functions).max(of_statements(otherwise, functions)),
        Stmt::Copy(copied) => copied.dims.iter().map(|dim| dim.extent).fold(1, usize::saturating_mul),
        Stmt::Comment(_) => 0,
    };
    body.iter().map(of).fold(0, usize::saturating_add)
}

fn of_expr(expr: &Expr, functions: &[usize]) -> usize {
    let mut left = vec![expr];
    let mut sum = 0_usize;
    while let Some(expr) = left.pop() {
        sum = sum.saturating_add(1);
        match expr {
            Expr::Op(_, args) => left.extend(args),
            Expr::Call(function, args) => {
                sum = sum.saturating_add(functions.get(*function).copied().unwrap_or(0));
                left.extend(args);
            }
            _ => {}
        }
    }
    sum
}
