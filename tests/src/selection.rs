//! Some of many subjects that have every form of generated code: what a second compiler of a
//! language takes, where the first takes all.

use std::collections::{BTreeMap, BTreeSet};

use cellc::Language;
use cellc::internals::kernel::Body;

use crate::subject::Subject;

/// In how many subjects of a selection each form is, unless there are fewer.
const TIMES: usize = 2;

/// What the bodies of a subject are made of: by instruction set the kinds of kernels, and the
/// operations and statements in them.
fn forms(subject: &Subject) -> BTreeSet<String> {
    forms_of_bodies(subject).flat_map(|(_, forms)| forms).collect()
}

/// The instruction sets of a subject with the forms of their bodies.
fn forms_of_bodies(
    subject: &Subject,
) -> impl Iterator<Item = (&'static str, BTreeSet<String>)> + use<'_> {
    let bodies = subject.isas().zip(&subject.compilation.program.bodies);
    bodies.map(|((isa, _), body)| {
        (isa, words(body).into_iter().map(|word| format!("{isa} {word}")).collect())
    })
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

/// The subjects, each with some of its bodies: together they have every form, as those of
/// [`covering`] do, and each subject has one body with vectors or more. In one language these are
/// other bodies than in the other, where the forms leave a choice.
pub fn with_fewer_bodies(subjects: &[Subject], language: Language) -> Vec<Subject> {
    let all: Vec<Vec<_>> = subjects.iter().map(|s| forms_of_bodies(s).skip(1).collect()).collect();
    let places: Vec<_> =
        (0..all.len()).flat_map(|at| (0..all[at].len()).map(move |body| (at, body))).collect();
    let forms: Vec<_> = places.iter().map(|&(at, body)| all[at][body].1.clone()).collect();
    let mut taken: BTreeSet<(usize, usize)> =
        chosen(&forms).into_iter().map(|place| places[place]).collect();
    for (at, bodies) in all.iter().enumerate().filter(|(_, bodies)| !bodies.is_empty()) {
        if (0..bodies.len()).all(|body| !taken.contains(&(at, body))) {
            taken.insert((at, (at + usize::from(language == Language::C)) % bodies.len()));
        }
    }
    let with_some = |(at, subject): (usize, &Subject)| {
        let kept: Vec<_> = (0..all[at].len()).filter(|body| taken.contains(&(at, *body))).collect();
        subject.with_bodies(language, |isa| kept.iter().any(|body| all[at][*body].0 == isa))
    };
    subjects.iter().enumerate().map(with_some).collect()
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
