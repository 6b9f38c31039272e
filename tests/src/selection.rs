//! Selects subjects that together have every form of generated code. A second compiler of a
//! language compiles the selection, the first compiles all subjects.

use std::collections::{BTreeMap, BTreeSet};

use cellc::Language;
use cellc::internals::kernel::Body;

use crate::subject::Subject;

/// The number of selected subjects with a form, unless fewer subjects have the form.
const TIMES: usize = 2;

/// The forms in the bodies of a subject: by instruction set, the kinds of kernels, and the
/// operations and statements in the kernels.
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

/// The names of kernels without digits, and the names of enum variants in the bodies of kernels.
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

/// The indices of the selected subjects, sorted. Each selected subject adds as many missing forms
/// as possible.
pub fn covering(subjects: &[Subject]) -> Vec<usize> {
    let forms: Vec<_> = subjects.iter().map(forms).collect();
    chosen(&forms).into_iter().collect()
}

/// The subjects, each with some of its bodies. Together the bodies have every form, as in
/// [`covering`], and each subject keeps one body with vectors or more. Where the forms leave a
/// choice, the two languages keep different bodies.
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
        // subjects with `a` alone are not needed; only the fifth has `d`
        assert_eq!(chosen(&all), BTreeSet::from([0, 2, 3, 4]));
    }
}
