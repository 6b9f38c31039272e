//! Compares computed values with the reference and its bounds.

use cellc::internals::bound::bound;
use cellc::internals::reference::{Outcome, reference};

use crate::subject::{Subject, bits};

/// f32 as f64.
pub fn exact(values: &[Vec<f32>]) -> Vec<Vec<f64>> {
    values.iter().map(|all| all.iter().map(|v| f64::from(*v)).collect()).collect()
}

/// A step on one instruction set, with the reference and its error bounds.
#[derive(Debug)]
pub struct Compared {
    /// The values computed by the program.
    pub found: Outcome<f64>,
    /// The values of the reference.
    pub right: Outcome<f64>,
    /// The maximum distances between the two.
    pub limits: Outcome<f64>,
}

impl Compared {
    /// Interprets one step by the program of an instruction set, and updates the variables.
    pub fn step(
        subject: &Subject,
        isa: usize,
        parameters: &[Vec<f32>],
        variables: &mut [Vec<f32>],
    ) -> Self {
        let (_, fused) = subject.isas().nth(isa).expect("an instruction set");
        let (given, before) = (exact(parameters), exact(variables));
        let results = subject.interpret_from(isa, parameters, variables);
        let right = reference(subject.model(), &given, &before);
        let profile = &subject.compilation.profile(fused);
        let limits = bound(subject.model(), profile, &given, &before);
        Self {
            found: Outcome { results: exact(&results), variables: exact(variables) },
            right,
            limits,
        }
    }

    /// Every element: indices of part and element, computed value, value of the reference, and
    /// maximum distance.
    pub fn elements(&self) -> impl Iterator<Item = ((usize, usize), f64, f64, f64)> {
        let all = self.found.parts().zip(self.right.parts()).zip(self.limits.parts()).enumerate();
        all.flat_map(|(part, ((found, right), limits))| {
            assert_eq!((found.len(), right.len()), (right.len(), limits.len()));
            let elements = found.iter().zip(right).zip(limits).enumerate();
            elements.map(move |(place, ((found, right), limit))| {
                ((part, place), *found, *right, *limit)
            })
        })
    }
}

/// Computes a step on every instruction set, each with its own variables, and updates them. `judge`
/// sees the first instruction set that fuses multiply-add, and the first that does not. The others
/// have the same bits; only distinct bodies are interpreted.
///
/// # Panics
/// If the bits differ.
pub fn on_all_isas(
    subject: &Subject,
    parameters: &[Vec<f32>],
    variables: &mut [Vec<Vec<f32>>],
    mut judge: impl FnMut(&str, &Compared),
) {
    let bits = |results: &[Vec<f32>]| -> Vec<Vec<u32>> {
        results.iter().map(|result| result.iter().copied().map(bits).collect()).collect()
    };
    let mut first: [Option<Vec<Vec<u32>>>; 2] = [None, None];
    for (isa, name, fused) in subject.distinct() {
        let own = &mut variables[isa];
        if let Some(first) = &first[usize::from(fused)] {
            let found = bits(&subject.interpret_from(isa, parameters, own));
            assert!(*first == found, "{}: other bits on {name}", subject.name);
            continue;
        }
        let compared = Compared::step(subject, isa, parameters, own);
        judge(name, &compared);
        let singles =
            compared.found.results.iter().map(|values| values.iter().map(|v| *v as f32).collect());
        first[usize::from(fused)] = Some(bits(&singles.collect::<Vec<Vec<f32>>>()));
    }
}
