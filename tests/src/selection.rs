//! Some of many subjects that have every form of generated code: what a second compiler of a
//! language takes, where the first takes all.

use std::collections::{BTreeMap, BTreeSet};

use cellc::internals::kernel::Body;

use crate::subject::Subject;

/// In how many subjects of a selection each form is, unless there are fewer.
const TIMES: usize = 2;

/// What the bodies of a subject are made of: by instruction set the kinds of kernels, and the
/// operations and statements in them.
fn forms(subject: &Subject) -> BTreeSet<String> {
    let bodies = subject.isas().zip(&subject.compilation.program.bodies);
    bodies
        .flat_map(|((isa, _), body)| {
            words(body).into_iter().map(move |word| format!("{isa} {word}"))
        })
        .collect()
}

/// The names of kernels without their numbers, and those of the variants of enums.
fn words(body: &Body) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for kernel in &body.kernels {
        words.insert(kernel.name.replace(|c: char| c.is_ascii_digit(), ""));
        let text = format!("{:?}", kernel.body);
        let all = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.extend(
            all.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
                .map(str::to_owned),
        );
    }
    words
}

/// The places of the subjects that are taken, in their order: each one adds more than any other of
/// what is missing.
pub fn covering(subjects: &[Subject]) -> Vec<usize> {
    let forms: Vec<_> = subjects.iter().map(forms).collect();
    chosen(&forms).into_iter().collect()
}

fn chosen(forms: &[BTreeSet<String>]) -> BTreeSet<usize> {
    let mut missing: BTreeMap<&String, usize> = BTreeMap::new();
    for form in forms.iter().flatten() {
        let times = missing.entry(form).or_default();
        *times = TIMES.min(*times + 1);
    }
    let mut taken = BTreeSet::new();
    loop {
        let adds = |at: &usize| forms[*at].iter().filter(|form| missing.contains_key(form)).count();
        let left = (0..forms.len()).filter(|at| !taken.contains(at));
        let Some((_, at)) = left.map(|at| (adds(&at), at)).max().filter(|(most, _)| *most > 0)
        else {
            return taken;
        };
        taken.insert(at);
        for form in &forms[at] {
            if let Some(times) = missing.get_mut(form) {
                *times -= 1;
                if *times == 0 {
                    missing.remove(form);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeSet, chosen};

    #[test]
    fn every_form_is_taken_twice_or_as_often_as_it_is_there() {
        let all = ["ab", "a", "ac", "abc", "ad", "a"]
            .map(|forms| forms.chars().map(String::from).collect());
        // of what has a alone nothing is needed; the fifth alone has d
        assert_eq!(chosen(&all), BTreeSet::from([0, 2, 3, 4]));
    }
}
