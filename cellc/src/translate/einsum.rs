//! Einsum: sums of products, composed of matrix products.

use super::elementwise::compute;
use super::matmul::product;
use super::operands::Operands;
use super::operands::{all_floats, shapes_differ};
use super::reduce::reduced;
use super::refusal::{Refusal, Rule};
use crate::core::CoreBuilder;
use crate::core::{Geometry, Known, signed, strides};
use crate::model::{Binary, Reduction};

/// The label of a dimension: a letter, or for a dimension of `...` its number, counted from the
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Rest(usize),
    Letter(char),
}

/// A tensor with one label per dimension; no label occurs twice.
struct Labelled {
    known: Known,
    labels: Vec<Label>,
}

/// The largest number of operands.
const MOST_OPERANDS: usize = 32;

/// The terms of an equation: one for each operand, and the optional term of the result.
fn terms(equation: &str) -> (Vec<String>, Option<String>) {
    let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (operands, result) = match text.split_once("->") {
        Some((operands, result)) => (operands.to_owned(), Some(result.to_owned())),
        None => (text, None),
    };
    (operands.split(',').map(str::to_owned).collect(), result)
}

/// The labels of a term. `rest`: the number of dimensions that `...` stands for, from the number of
/// letters. `None` for a term that does not fit.
fn labels(term: &str, rest: impl Fn(usize) -> Option<usize>) -> Option<Vec<Label>> {
    let letters: Vec<char> = term.replace("...", "\u{2026}").chars().collect();
    if !letters.iter().all(|&c| c.is_ascii_alphabetic() || c == '\u{2026}') {
        return None;
    }
    let open = letters.iter().filter(|&&c| c == '\u{2026}').count();
    let rest = rest(letters.len() - open)?;
    if open > 1 || open == 0 && rest > 0 {
        return None;
    }
    let labels_of = |&c: &char| match c {
        '\u{2026}' => (0..rest).rev().map(Label::Rest).collect(),
        letter => vec![Label::Letter(letter)],
    };
    Some(letters.iter().flat_map(labels_of).collect())
}

/// Einsum: transpositions, products and sums, by the letters of the equation.
pub(super) fn einsum(core: &mut CoreBuilder, args: &Operands, equation: &str) -> Rule<Known> {
    let inputs = args.all()?;
    all_floats(&inputs)?;
    let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| core.shape_of(input)).collect();
    let (texts, result) = terms(equation);
    let parsed: Option<Vec<Vec<Label>>> = texts
        .iter()
        .zip(&shapes)
        .map(|(text, shape)| labels(text, |letters| shape.len().checked_sub(letters)))
        .collect();
    let parsed =
        parsed.filter(|parsed| parsed.len() == inputs.len() && texts.len() == inputs.len());
    let result_labels = parsed.as_deref().map(|all| output(all, result.as_deref()));
    let (Some(parsed), Some(Some(output))) = (parsed, result_labels) else {
        let texts: Vec<String> =
            shapes.iter().map(|shape| crate::model::shape_text(shape)).collect();
        let found =
            format!("the equation {equation:?} for inputs of the shapes {}", texts.join(", "));
        let valid = "a letter for each dimension of each input, and the result's letters among \
            them, each once";
        return Err(Refusal::new(found, valid, "correct the equation, or the shapes"));
    };
    if inputs.len() > MOST_OPERANDS {
        let found = format!("{} operands", inputs.len());
        return Err(Refusal::new(found, format!("{MOST_OPERANDS} or fewer"), "split the operator"));
    }
    let mut operands = Vec::new();
    for (known, labels) in inputs.iter().zip(parsed) {
        let operand = each_once(core, known, &labels)?;
        operands.push(operand);
    }
    sum_of_products(core, operands, &output)
}

/// A tensor with each label once: repeated labels select the diagonal.
fn each_once(core: &mut CoreBuilder, known: &Known, labels: &[Label]) -> Rule<Labelled> {
    let shape = core.shape_of(known);
    let row_major = strides(&shape);
    let (mut once, mut sizes, mut steps) = (Vec::new(), Vec::new(), Vec::<usize>::new());
    for (d, &label) in labels.iter().enumerate() {
        match once.iter().position(|&other| other == label) {
            Some(at) if sizes[at] == shape[d] => steps[at] += row_major[d],
            Some(_) => {
                return Err(shapes_differ(
                    &[shape],
                    "equal sizes where a letter stands twice",
                    "correct the equation",
                ));
            }
            None => {
                once.push(label);
                sizes.push(shape[d]);
                steps.push(row_major[d]);
            }
        }
    }
    let known = core.view(known, Geometry { offset: 0, strides: signed(steps), shape: sizes })?;
    Ok(Labelled { known, labels: once })
}

/// The sum of products of the operands, multiplied from the first operand to the last.
fn sum_of_products(
    core: &mut CoreBuilder,
    operands: Vec<Labelled>,
    output: &[Label],
) -> Rule<Known> {
    let mut open = operands.into_iter();
    let mut product = open.next().expect("translate: an equation has an operand");
    let mut rest: Vec<Labelled> = open.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let needed: Vec<Label> = output
            .iter()
            .copied()
            .chain(rest.iter().flat_map(|operand| operand.labels.clone()))
            .collect();
        product = product_of_two(core, product, next, &needed)?;
    }
    let product = without(core, product, |label| output.contains(&label))?;
    ordered(core, &product, output)
}

/// A tensor summed along the labels that are not `kept`.
fn without(core: &mut CoreBuilder, x: Labelled, kept: impl Fn(Label) -> bool) -> Rule<Labelled> {
    let axes: Vec<usize> = (0..x.labels.len()).filter(|&d| !kept(x.labels[d])).collect();
    if axes.is_empty() {
        return Ok(x);
    }
    let known = reduced(core, Reduction::Sum, &x.known, &axes, false)?;
    Ok(Labelled { known, labels: x.labels.into_iter().filter(|&label| kept(label)).collect() })
}

/// A tensor whose dimensions have the order of labels. Missing dimensions have size 1.
fn ordered(core: &mut CoreBuilder, x: &Labelled, order: &[Label]) -> Rule<Known> {
    let shape = core.shape_of(&x.known);
    let row_major = strides(&shape);
    let at = |label: &Label| x.labels.iter().position(|other| other == label);
    let steps: Vec<usize> =
        order.iter().map(|label| at(label).map_or(0, |d| row_major[d])).collect();
    let sizes: Vec<usize> = order.iter().map(|label| at(label).map_or(1, |d| shape[d])).collect();
    Ok(core.view(&x.known, Geometry { offset: 0, strides: signed(steps), shape: sizes })?)
}

/// The product of two tensors, summed along labels that no other term needs.
fn product_of_two(
    core: &mut CoreBuilder,
    a: Labelled,
    b: Labelled,
    needed: &[Label],
) -> Rule<Labelled> {
    let a = without(core, a, |label| needed.contains(&label) || b.labels.contains(&label))?;
    let b = without(core, b, |label| needed.contains(&label) || a.labels.contains(&label))?;
    let (both, of_a): (Vec<Label>, Vec<Label>) =
        a.labels.iter().partition(|label| b.labels.contains(label));
    let of_b: Vec<Label> = b.labels.iter().copied().filter(|label| !both.contains(label)).collect();
    let (batch, summed): (Vec<Label>, Vec<Label>) =
        both.iter().partition(|label| needed.contains(label));
    let sizes = |core: &CoreBuilder, x: &Labelled, labels: &[Label]| -> Vec<usize> {
        let shape = core.shape_of(&x.known);
        labels
            .iter()
            .filter_map(|label| x.labels.iter().position(|other| other == label))
            .map(|d| shape[d])
            .collect()
    };
    let mut labels = [&batch[..], &of_a, &of_b].concat();
    let fits = sizes(core, &a, &summed) == sizes(core, &b, &summed);
    let same = |(label, (a, b)): (&Label, (usize, usize))| {
        a == b || matches!(label, Label::Rest(_)) && a.min(b) == 1
    };
    let of_batch = sizes(core, &a, &batch).into_iter().zip(sizes(core, &b, &batch));
    if !fits || !batch.iter().zip(of_batch).all(same) {
        let shapes = [&a, &b].map(|x| core.shape_of(&x.known));
        return Err(shapes_differ(
            &shapes,
            "one size for each letter",
            "correct the equation, or the shapes",
        ));
    }
    if summed.is_empty() {
        let mut order = labels.clone();
        order.sort_unstable();
        labels = order;
        let factors = vec![ordered(core, &a, &labels)?, ordered(core, &b, &labels)?];
        let known = compute(core, Binary::Multiply, factors)?;
        return Ok(Labelled { known, labels });
    }
    let count = |sizes: &[usize]| sizes.iter().product::<usize>();
    let (rows, columns) = (sizes(core, &a, &of_a), sizes(core, &b, &of_b));
    let inner = count(&sizes(core, &a, &summed));
    let in_order = |core: &mut CoreBuilder,
                    x: &Labelled,
                    order: &[&[Label]],
                    matrix: [usize; 2]|
     -> Rule<Known> {
        let known = ordered(core, x, &order.concat())?;
        let shape = [&sizes(core, x, &batch)[..], &matrix].concat();
        Ok(core.view(&known, Geometry::reshaped(shape))?)
    };
    let left = in_order(core, &a, &[&batch, &of_a, &summed], [count(&rows), inner])?;
    let right = in_order(core, &b, &[&batch, &summed, &of_b], [inner, count(&columns)])?;
    let product = product(core, &[left, right], false, false)?;
    let of_batch = core.shape_of(&product);
    let shape = [&of_batch[..batch.len()], &rows, &columns].concat();
    let known = core.view(&product, Geometry::reshaped(shape))?;
    Ok(Labelled { known, labels })
}

/// The labels of the result: the labels of the term, or without a term `...` and the letters that
/// occur once, in alphabetical order. `None` for a term with other or repeated labels.
fn output(operands: &[Vec<Label>], term: Option<&str>) -> Option<Vec<Label>> {
    let all_labels: Vec<Label> = operands.concat();
    let rest = all_labels
        .iter()
        .filter_map(|label| if let Label::Rest(d) = label { Some(d + 1) } else { None })
        .max();
    let rest = rest.unwrap_or(0);
    let found = match term {
        Some(term) => labels(term, |_| Some(if term.contains("...") { rest } else { 0 }))?,
        None => {
            let mut once: Vec<Label> = all_labels
                .iter()
                .copied()
                .filter(|label| matches!(label, Label::Letter(_)))
                .collect();
            once.retain(|label| all_labels.iter().filter(|other| *other == label).count() == 1);
            once.sort_unstable();
            (0..rest).rev().map(Label::Rest).chain(once).collect()
        }
    };
    let known = found.iter().all(|label| all_labels.contains(label));
    let unique = found.iter().enumerate().all(|(at, label)| !found[..at].contains(label));
    (known && unique).then_some(found)
}
