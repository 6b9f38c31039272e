//! `cellc check`: the generated code against the float64 reference and its own error bound.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use crate::bound::{Profile, bound, states};
use crate::compile::{self, Compilation};
use crate::diagnostic::quoted;
use crate::encoding::Loss;
use crate::free_run::{Gathered, INTEGER_STEPS, IntegerRuns, Part, STEPS, parts};
use crate::harness::{Executable, Numbers, Variables};
use crate::header::integers;
use crate::model::{ElementType, Model, ValidModel};
use crate::options::{Language, Options, Range, Threads};
use crate::random::Random;
use crate::reference::{Outcome, initial_variables, reference};

use super::arguments::CheckArguments;
use super::calls::{self, Calls, Expected};
use super::progress::Progress;
use super::streams::write_stdout;
use super::{Failure, report};

/// Runs the steps, prints one table a result, and fails if a bound is broken.
pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let progress = Progress::start("reading the model");
    let (mut model, warnings) = arguments.model.read()?;
    progress.suspend(|| report(&warnings));
    let mut options = Options { name: Some("model".to_owned()), ..arguments.options() };
    let mut inputs = match &arguments.inputs {
        Some(folder) => Inputs::from_files(folder, &mut model, &mut options)?,
        None => Inputs::Drawn { random: Random::new(arguments.seed), range: arguments.range },
    };
    progress.stage("compiling");
    let compilation = compile::compile(&model, &options)?;
    drop(model);
    progress.suspend(|| report(&compilation.warnings));
    let mut harness = Executable::temporary(&compilation)?.start(arguments.execute.isa.as_deref())?;
    let fused = compilation.plan.isas.iter().any(|(isa, fused)| isa.name == harness.isa() && *fused);
    let options = &compilation.options;
    let profile = &Profile::new(fused, options);

    let model = &compilation.model;
    let has_integers = !parts(model, &options.products()).is_empty();
    let steps = inputs.steps(arguments.steps, has_integers)?;
    let mut integers = has_integers.then(|| IntegerRuns::new(model, &options.products()));
    let mut tables: Vec<Table> = (0..model.results.len() + model.variables.len()).map(|_| Table::default()).collect();
    // The Parameters of a step, as generated code and as the reference take them.
    let mut given: Vec<Numbers> = vec![Numbers::Floats(Vec::new()); model.parameters.len()];
    let mut exact: Vec<Vec<f64>> = vec![Vec::new(); model.parameters.len()];
    // The states and variables with which the reference and the generated code go on, each with its own.
    let mut exact_states: Vec<Vec<f64>> = Vec::new();
    let mut own_states: Vec<Vec<f32>> = Vec::new();
    let mut exact_variables = initial_variables(model);
    let mut own_variables: Vec<Vec<f32>> = Vec::new();
    let keeps = !model.states.is_empty() || !model.variables.is_empty();
    progress.count("checking", steps);
    for step in 0..steps {
        let changed = inputs.next(step, model, &exact_states, &mut given)?;
        let pack = changed.iter().any(|&i| model.parameters[i].weight);
        for i in changed {
            exact[i] = given[i].exact();
        }
        // One step from where the reference has come to, as far as f32 holds it.
        let variables: Vec<Vec<f32>> = exact_variables.iter().map(|v| v.iter().map(|&v| v as f32).collect()).collect();
        let before: Vec<Vec<f64>> = variables.iter().map(|v| v.iter().map(|&v| f64::from(v)).collect()).collect();
        let mut expected = reference(model, &exact, &before);
        let bounds = bound(model, profile, &exact, &before);
        let first = if step == 0 { Variables::Initial } else { Variables::Given(&variables) };
        let mut got = harness.call(&given, pack, first)?;
        for (r, table) in tables.iter_mut().enumerate() {
            table.one_step(step, part(&expected, r), part(&got, r), part(&bounds, r));
        }
        if keeps && step > 0 {
            for (s, pair) in model.states.iter().enumerate() {
                exact[pair.parameter] = std::mem::take(&mut exact_states[s]);
                given[pair.parameter] = Numbers::Floats(std::mem::take(&mut own_states[s]));
            }
            expected = reference(model, &exact, &exact_variables);
            got = harness.call(&given, false, Variables::Given(&own_variables))?;
        }
        for (r, table) in tables.iter_mut().enumerate() {
            table.own_state(part(&expected, r), part(&got, r));
        }
        if let Some(integers) = &mut integers {
            integers.step(model, &exact, &expected);
        }
        if keeps {
            exact_states = model.states.iter().map(|pair| expected.results[pair.result].clone()).collect();
            own_states = model.states.iter().map(|pair| got.results[pair.result].clone()).collect();
            exact_variables = expected.variables;
            own_variables = got.variables;
        }
        progress.advance();
    }
    drop(progress);
    for (part, found) in integers.iter().flat_map(IntegerRuns::parts) {
        // a result that does not depend on a part says nothing of it
        for (table, found) in tables.iter_mut().zip(found).filter(|(_, found)| found.error > 0.0) {
            table.parts.push((part.clone(), *found));
        }
    }
    tables.iter_mut().for_each(|table| table.keeps = keeps);
    print(arguments, &compilation, harness.isa(), fused, steps, &tables)?;
    if tables.iter().any(|table| table.broken > 0) { Err(Failure::Broken) } else { Ok(()) }
}

/// The i-th of the results, and of the variables after them.
fn part<V>(outcome: &Outcome<V>, i: usize) -> &[V] {
    outcome.parts().nth(i).map_or(&[], Vec::as_slice)
}

/// Where the inputs of the steps come from.
enum Inputs {
    Drawn { random: Random, range: Range },
    Files { calls: Vec<Vec<PathBuf>>, expected: Vec<Expected> },
}

impl Inputs {
    fn from_files(folder: &Path, model: &mut Model, options: &mut Options) -> Result<Self, Failure> {
        let expected = calls::expected(model, options)?;
        let calls = Calls::find(folder, &expected)?.files;
        // Sizes that the model leaves open; a later call that differs is refused when it is read.
        let shape = |(path, expected): (&PathBuf, _)| Ok(calls::read(path, expected)?.shape().to_vec());
        let shapes = calls[0].iter().zip(&expected).map(shape).collect::<Result<Vec<_>, Failure>>()?;
        *options = calls::fix_shapes(model, options, &shapes);
        let expected = calls::expected(model, options)?;
        Ok(Self::Files { calls, expected })
    }

    /// How many steps there are, if so many are asked for.
    fn steps(&self, asked: Option<usize>, has_integers: bool) -> Result<usize, Failure> {
        match (self, asked) {
            (Self::Drawn { .. }, _) => Ok(asked.unwrap_or(if has_integers { INTEGER_STEPS } else { STEPS })),
            (Self::Files { calls, .. }, Some(steps)) if steps > calls.len() => {
                Err(Failure::Usage(format!("--steps {steps}, but --inputs holds {} calls", calls.len())))
            }
            (Self::Files { calls, .. }, _) => Ok(asked.unwrap_or(calls.len())),
        }
    }

    /// Sets the Parameters of a step, and says which. Drawn steps go on from `reached`, where the reference has come to.
    fn next(
        &mut self,
        step: usize,
        model: &ValidModel,
        reached: &[Vec<f64>],
        parameters: &mut [Numbers],
    ) -> Result<Vec<usize>, Failure> {
        let mut changed = Vec::new();
        let held = states(model);
        for (i, (parameter, values)) in model.parameters.iter().zip(parameters).enumerate() {
            let state = model.states.iter().position(|pair| pair.parameter == i);
            *values = match self {
                Self::Files { calls, expected } => Numbers::of(&calls::read(&calls[step][i], &expected[i])?),
                Self::Drawn { random, range } => {
                    let len = parameter.shape.iter().product();
                    match (state, parameter.largest_drawn()) {
                        _ if parameter.weight && step > 0 => continue,
                        // As PyTorch initialises: sums stay of order 1 whatever the size.
                        _ if parameter.weight => Numbers::Floats(
                            random.even(len, parameter.shape.last().map_or(1.0, |&n| (n as f32).sqrt().recip())),
                        ),
                        (None, Some(most)) => Numbers::Integers(random.lengths(len, most)),
                        (None, None) if held.contains(&i) => Numbers::Floats(random.varied(len, range.h)),
                        (None, None) => Numbers::Floats(random.varied(len, range.x)),
                        (Some(_), _) if step == 0 => Numbers::Floats(random.varied(len, range.h)),
                        (Some(s), _) => Numbers::Floats(reached[s].iter().map(|&v| v as f32).collect()),
                    }
                }
            };
            changed.push(i);
        }
        Ok(changed)
    }
}

/// What was found about one result.
#[derive(Default)]
struct Table {
    /// The largest magnitude in the reference.
    largest: f64,
    /// The largest error of one step, and the bound where it was found.
    error: f64,
    bound: f64,
    /// The largest error over its own bound.
    share: f64,
    /// Values whose bound is infinite or no number: nothing is claimed of them.
    unbounded: usize,
    /// Values further from the reference than their bound.
    broken: usize,
    /// The first of them.
    first_broken: Option<Broken>,
    /// The errors of the generated code fed with its own state.
    own_state: Gathered,
    /// Whether there is a state.
    keeps: bool,
    /// The errors of each part that is multiplied in integers, where there are several.
    parts: Vec<(Part, Gathered)>,
}

/// A value that is too far from the reference.
struct Broken {
    step: usize,
    element: usize,
    exact: f64,
    got: f32,
    bound: f64,
}

impl Table {
    fn one_step(&mut self, step: usize, exact: &[f64], got: &[f32], bounds: &[f64]) {
        for (element, ((&exact, &got), &bound)) in exact.iter().zip(got).zip(bounds).enumerate() {
            if exact.is_finite() {
                self.largest = self.largest.max(exact.abs());
            }
            let error = error(exact, got);
            if error >= self.error {
                (self.error, self.bound) = (error, bound);
            }
            if !bound.is_finite() {
                self.unbounded += 1;
            } else if error > bound {
                self.broken += 1;
                self.first_broken.get_or_insert(Broken { step, element, exact, got, bound });
            }
            if bound > 0.0 && bound.is_finite() {
                self.share = self.share.max(error / bound);
            }
        }
    }

    fn own_state(&mut self, exact: &[f64], got: &[f32]) {
        for (&exact, &got) in exact.iter().zip(got) {
            self.own_state.add(exact, error(exact, got));
        }
    }
}

/// How far `got` is from `exact`: infinitely far if one of them is no number, or infinite, and the other is not.
fn error(exact: f64, got: f32) -> f64 {
    if (exact.is_nan() && got.is_nan()) || exact as f32 == got {
        // Past the largest f32 the right answer is infinity.
        return if got.is_finite() { (exact - f64::from(got)).abs() } else { 0.0 };
    }
    let error = (exact - f64::from(got)).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

fn print(
    arguments: &CheckArguments,
    compilation: &Compilation,
    isa: &str,
    fused: bool,
    steps: usize,
    tables: &[Table],
) -> Result<(), Failure> {
    let language = match compilation.options.language {
        Language::Rust => "Rust",
        Language::C => "C",
    };
    let profile = if fused { "fused" } else { "unfused" };
    let Range { x, h } = arguments.range;
    let drawn = match &arguments.inputs {
        Some(folder) => format!("inputs from {}", folder.display()),
        None => format!("inputs drawn from seed {} with |x| <= {x}, |h| <= {h}", arguments.seed),
    };
    let plural = if steps == 1 { "" } else { "s" };
    let mut text = format!(
        "{}: {steps} step{plural} of the generated {language} on {isa} ({profile} multiply-add), {drawn}\n",
        arguments.model.path().display()
    );
    let model = &compilation.model;
    let interface = &compilation.interface;
    for line in integers(model, &compilation.options) {
        text += &format!("{line}\n");
    }
    for loss in Loss::of(model, &compilation.options) {
        text += &format!("{loss}\n");
    }
    let floats = model.parameters.iter().map(|p| p.element).filter(|e| e.is_float());
    let elements = floats.chain(model.results.iter().map(|r| r.element));
    let mut others: Vec<_> = elements.filter(|e| *e != ElementType::F32).map(ElementType::name).collect();
    others.sort_unstable();
    others.dedup();
    if !others.is_empty() {
        text += &format!("tensors that are {} in the model are f32 here\n", others.join(", "));
    }
    if compilation.options.threads == Threads::Two {
        let products = compilation.plan.products.iter().filter_map(|product| product.halves.as_ref());
        let halves: Vec<_> = products.map(|[here, there]| format!("{here} and {there}")).collect();
        let halves = if halves.is_empty() { "no cell is worth it".to_owned() } else { halves.join("; ") };
        text += &format!("two threads: {halves}\n");
    }
    for line in &compilation.activations {
        text += &format!("{line}\n");
    }
    for (field, table) in interface.outputs.iter().chain(&interface.variables).zip(tables) {
        text += &format!("\n{} {:?}", field.name, field.shape);
        let variable = interface.variables.iter().any(|v| v.name == field.name);
        if variable {
            text += ", the variable";
        } else if let Some(state) = interface.states.iter().find(|s| interface.outputs[s.output].index == field.index) {
            text += &format!(", the next {}", interface.inputs[state.input].name);
        }
        text += &format!("\n{table}");
        if let Some(Broken { step, element, exact, got, bound }) = &table.first_broken {
            text += &format!(
                "  BROKEN: {} values are further off than their bound; the first is element {element} (counted in C \
                 order) of step {step}: {got:e} where {exact:e} is right within {bound:.3e}\n",
                table.broken
            );
        }
    }
    let broken = tables.iter().any(|table| table.broken > 0);
    text += if broken { "\nthe error bound is broken\n" } else { "\nevery error is within its bound\n" };
    write_stdout(text.as_bytes())?;
    Ok(())
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let line = |f: &mut Formatter<'_>, what: &str, value: f64| {
            let units = value / (self.largest * f64::from(f32::EPSILON));
            let units = if units.is_finite() { format!("{units:.2}") } else { "-".to_owned() };
            writeln!(f, "    {what:<32}{value:>12.3e}{units:>20}")
        };
        writeln!(f, "{:<36}{:>12}{:>20}", "", "absolute", "2^-23 of largest")?;
        writeln!(f, "  {:<34}{:>12.3e}", "largest value of the reference", self.largest)?;
        writeln!(f, "  one step, from the reference's state")?;
        line(f, "largest error", self.error)?;
        line(f, "bound there", self.bound)?;
        writeln!(f, "    {:<32}{:>10.1} %", "largest share of a bound", 100.0 * self.share)?;
        if self.unbounded > 0 {
            writeln!(f, "    {:<32}{:>12}", "values without a finite bound", self.unbounded)?;
        }
        writeln!(f, "  all steps{}", if self.keeps { ", from its own state" } else { "" })?;
        if self.keeps {
            line(f, "largest error", self.own_state.error)?;
        }
        line(f, "rms error", self.own_state.rms())?;
        if !self.parts.is_empty() {
            writeln!(f, "  {:<34}{:>12}{:>20}", "of one gate in integers alone", "largest", "rms")?;
        }
        for (Part { layer, gate }, found) in &self.parts {
            let gate = gate.map_or(String::new(), |gate| format!("{gate} of "));
            writeln!(f, "    {:<32}{:>12.3e}{:>20.3e}", gate + &quoted(layer), found.error, found.rms())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_distance() {
        assert_eq!(error(1.0, 1.0), 0.0);
        assert_eq!(error(0.1, 0.1), 0.1f32 as f64 - 0.1);
        assert_eq!(error(1.0, 1.5), 0.5);
        assert_eq!(error(f64::NAN, f32::NAN), 0.0);
        assert_eq!(error(f64::INFINITY, f32::INFINITY), 0.0);
        assert_eq!(error(1e300, f32::INFINITY), 0.0);
        for (exact, got) in [(f64::NAN, 1.0), (1.0, f32::NAN), (1.0, f32::INFINITY), (f64::INFINITY, f32::NEG_INFINITY)]
        {
            assert_eq!(error(exact, got), f64::INFINITY);
        }
    }

    #[test]
    fn a_broken_bound_is_kept() {
        let mut table = Table::default();
        table.one_step(0, &[1.0, -2.0], &[1.0, -2.0], &[0.0, 0.25]);
        assert_eq!((table.broken, table.share, table.largest), (0, 0.0, 2.0));
        table.one_step(1, &[1.0, 1.0, 1.0], &[1.125, 1.5, 2.0], &[0.25, 0.25, f64::INFINITY]);
        assert_eq!((table.broken, table.unbounded, table.share, table.error), (1, 1, 2.0, 1.0));
        let first = table.first_broken.as_ref().unwrap();
        assert_eq!((first.step, first.element), (1, 1));
        // Without an error there is no share, but with one beyond a bound of zero it is broken all the same.
        table.one_step(2, &[0.0], &[1e-30], &[0.0]);
        assert_eq!(table.broken, 2);
    }
}
