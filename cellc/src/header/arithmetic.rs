//! The header's lines about arithmetic: precision, fused multiply-adds, NaN, accuracy.

use std::collections::BTreeSet;

use crate::core::{
    CoreModel, CoreNode, CoreOp, Factor, FixedMatrices, FixedProduct, OutputNumbers,
};
use crate::encoding::{Arithmetic, WeightFormat};
use crate::math;
use crate::numerics::{Loss, Precisions, Vector};
use crate::plan::Plan;
use crate::request::{Accuracy, Numerics, Options};
use crate::summary::{denormals, escape};

/// The lines about arithmetic, followed by the losses of the formats of weights.
pub(super) fn lines(
    model: &CoreModel,
    (plan, precisions): (&Plan, &Precisions),
    options: &Options,
) -> Vec<String> {
    let mut lines = vec![format!("Arithmetic: f32; {}.", multiply_adds(plan))];
    lines.extend(integers(model, precisions, &options.numerics));
    let modes = match options.numerics.keep_denormals {
        true => "",
        false => " With a processor's flush-to-zero modes (FTZ, DAZ) on, results may differ.",
    };
    lines.push(format!("{}{modes}", denormals(options)));
    lines.push(not_finite(model));
    lines.extend(not_finite_exceptions(model).into_iter().map(str::to_owned));
    let guards = plan.products.iter().any(|product| product.product.layout.guards_sums());
    lines.extend(guards.then(|| GUARDED.to_owned()));
    let profiles: Vec<_> = plan.isas.iter().map(|planned| planned.fuses).collect();
    lines.extend(activations(model, plan.accuracy, &profiles));
    lines.push(String::new());
    let losses = Loss::by_format(model, precisions);
    if !losses.is_empty() {
        lines.extend(losses.iter().map(Loss::to_string));
        lines.push(String::new());
    }
    lines
}

/// True if a model keeps values from step to step.
fn keeps_states(model: &CoreModel) -> bool {
    !model.states.is_empty() || !model.variables.is_empty()
}

/// The line about the effect of NaN and infinities in inputs.
fn not_finite(model: &CoreModel) -> String {
    let choices = choices(model);
    let through = match &choices[..] {
        [] => String::new(),
        [one] => format!(", also through {one}"),
        [others @ .., last] => format!(", also through {} and {last}", others.join(", ")),
    };
    let kept = if keeps_states(model) { ", and in the states until they are reset" } else { "" };
    format!(
        "A NaN in an input stays a NaN in everything that is computed from it{through}{kept}. \
         Infinities follow IEEE 754: inf - inf and 0 * inf are NaN."
    )
}

/// The functions of a model that choose one of two numbers.
fn choices(model: &CoreModel) -> Vec<&'static str> {
    let nodes = model.all_nodes();
    let is_clipped = |op: &CoreOp| matches!(op, CoreOp::Cell(cell) if cell.clip.is_some());
    let mut names: BTreeSet<String> =
        nodes.iter().map(|node| node.kind.to_ascii_lowercase()).collect();
    names.extend(
        model.functions().into_iter().map(|function| function.label().to_ascii_lowercase()),
    );
    let clips = nodes.iter().any(|node| is_clipped(&node.op));
    let has = |parts: &[&str]| {
        let is_choice = |name: &String| !name.contains("softmax") && !name.starts_with("arg");
        names.iter().any(|name| is_choice(name) && parts.iter().any(|part| name.contains(part)))
    };
    let found = [
        ("clip", clips || has(&["clip", "clamp"])),
        ("relu", has(&["relu"])),
        ("max", has(&["max"])),
        ("min", has(&["min"])),
    ];
    found.into_iter().filter(|(_, found)| *found).map(|(name, _)| name).collect()
}

/// An exception to [`not_finite`]: operations that choose elements by their order.
const UNORDERED: &str =
    "Exception: TopK, ArgMax and ArgMin put a NaN behind all numbers, and its place is 0.";

/// An exception to [`not_finite`]: powers.
const POWERS: &str = "Exception: a power of an infinity, of a zero of either sign or of -1, where \
                      the exponent is negative, infinite or not a whole number, may be NaN or \
                      have the other sign.";

/// The exceptions to [`not_finite`] for a model.
pub(crate) fn not_finite_exceptions(model: &CoreModel) -> Vec<&'static str> {
    let nodes = model.all_nodes();
    let has = |is: &dyn Fn(&CoreNode) -> bool| nodes.iter().any(|node| is(node));
    let chooses =
        has(&|node| node.op.facts().numbers == OutputNumbers::Chosen).then_some(UNORDERED);
    let powers = has(&|node| model.powers.contains(&node.layer)).then_some(POWERS);
    chooses.into_iter().chain(powers).collect()
}

/// The words about instruction sets with and without fused multiply-adds, and about the order of
/// sums, which is the same on all instruction sets.
fn multiply_adds(plan: &Plan) -> String {
    let names = |fused: bool| -> Vec<_> {
        plan.isas
            .iter()
            .filter(|planned| planned.fuses == fused)
            .map(|planned| planned.isa.name)
            .collect()
    };
    let fusing = match (&names(true)[..], &names(false)[..]) {
        ([], _) => "no multiply-add is fused".to_owned(),
        (_, []) => "every multiply-add is fused".to_owned(),
        (fused, not) => {
            format!("multiply-adds are fused on {}, not on {}", fused.join(", "), not.join(", "))
        }
    };
    let order = "all instruction sets sum in the same order";
    if plan.isas.len() > 1 { format!("{fusing}; {order}") } else { fusing }
}

/// The lines about the arithmetic of matrix products, with names of layers if formats or
/// arithmetics of layers differ. Empty if all products are f32 in one format, as the user asked.
pub(crate) fn integers(
    model: &CoreModel,
    precisions: &Precisions,
    asked: &Numerics,
) -> Vec<String> {
    let mut layers: Vec<(WeightFormat, Arithmetic, Vec<String>)> = Vec::new();
    for node in model.all_nodes().into_iter().filter(|node| node.op.has_precision()) {
        let precision = precisions.get(node.op.first_value());
        if precision.own_format().is_some() {
            continue;
        }
        let (format, arithmetic) = (precision.storage(), precision.arithmetic());
        let name = format!("\"{}\"", escape(&node.name));
        match layers.iter_mut().find(|(other, known, _)| (*other, *known) == (format, arithmetic)) {
            Some((.., names)) if names.contains(&name) => {}
            Some((.., names)) => names.push(name),
            None => layers.push((format, arithmetic, vec![name])),
        }
    }
    let mut lines = Vec::new();
    if layers.len() > 1 {
        let each = |(format, arithmetic, names): &(WeightFormat, Arithmetic, Vec<String>)| {
            let precision =
                if *arithmetic == Arithmetic::F32 { format.name() } else { arithmetic.name() };
            format!("{} in {precision}", names.join(", "))
        };
        lines
            .push(format!("Matrices: {}.", layers.iter().map(each).collect::<Vec<_>>().join("; ")));
    }
    lines.extend(
        layers.iter().filter_map(|(_, arithmetic, _)| in_integers(*arithmetic)).map(str::to_owned),
    );
    let in_windows = |node: &&CoreNode| {
        let product = node.op.facts().product;
        product.is_some_and(|product| matches!(product.matrices, FixedMatrices::Windows(_)))
            && precisions.get(node.op.first_value()).arithmetic() != Arithmetic::F32
    };
    lines.extend(model.all_nodes().iter().any(in_windows).then(|| WINDOWS.to_owned()));
    let in_f32 =
        model.in_f32_by_reason(|layer| asked.precision_in(layer).arithmetic() != Arithmetic::F32);
    let quoted = |layers: &[&str]| {
        layers.iter().map(|layer| format!("\"{}\"", escape(layer))).collect::<Vec<_>>().join(", ")
    };
    let reasons: Vec<_> =
        in_f32.iter().map(|(why, layers)| format!("{} ({why})", quoted(layers))).collect();
    if !reasons.is_empty() {
        lines.push(format!("Layers that stay f32: {}.", reasons.join("; ")));
    }
    let packed = model.parameters.iter().any(|parameter| parameter.weight);
    if packed && layers.iter().any(|(_, arithmetic, _)| *arithmetic != Arithmetic::F32) {
        lines.push(ROUNDED_ROWS.to_owned());
    }
    for (vector, letter) in [(Vector::X, "x"), (Vector::H, "h")] {
        let mut listed: [Vec<String>; 2] = Default::default();
        for node in model.all_nodes() {
            let factor =
                node.op.facts().product.and_then(|FixedProduct { x, h, .. }| match vector {
                    Vector::X => Some(x),
                    Vector::H => h,
                });
            let multiples =
                |factor: Factor| precisions.get(node.op.first_value()).own(vector, factor.len);
            let Some(v) = factor.and_then(multiples) else { continue };
            let names = &mut listed[usize::from(v.scale != 1.0)];
            let name = format!("\"{}\"", escape(&node.name));
            let name = match v.scale {
                1.0 => name,
                scale => format!("{name} ({scale:e})"),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let [whole, multiples] = listed.map(|names| names.join(", "));
        if !whole.is_empty() {
            lines.push(format!(
                "{letter} consists of integers: products are integers, with exact sums, in {whole}."
            ));
        }
        if !multiples.is_empty() {
            let multiplied = format!(
                "{letter} is multiplied as integers by the model's own scale, with exact sums,"
            );
            lines.push(format!("{multiplied} in {multiples}."));
        }
    }
    lines
}

/// The line about sums if products with blocks of zero weights are left out.
const GUARDED: &str = "Products with blocks of zero weights are left out: a vector with NaN or \
                       infinity makes every sum of its matrix NaN.";

/// The line about depthwise convolutions in integers.
const WINDOWS: &str = "Depthwise convolutions with stride 1 and at least 8 output positions \
                       multiply integers: each channel of x is rounded once, to 16 bits with one \
                       scale. A channel with NaN or infinity becomes NaN.";

/// The line about the rounding of run-time weights.
const ROUNDED_ROWS: &str = "pack rounds each row of a matrix to integers times one scale, as \
                            cellc rounds weights when compiling: results have the same bits. A \
                            row of weights with NaN or infinity becomes NaN, and so does every \
                            result computed from the row.";

fn in_integers(arithmetic: Arithmetic) -> Option<&'static str> {
    match arithmetic {
        Arithmetic::F32 => None,
        Arithmetic::Int8 => Some(
            "Matrices are multiplied as 8-bit integers: at every step x, h and inputs of dense \
             layers are rounded to integers up to 127 times one scale for each row of a batch. \
             Vectors of up to 4 elements have 16 bits. Sums are exact. Biases, results of \
             activation functions and states are f32.",
        ),
        Arithmetic::Int8x16 => Some(
            "Matrices of 8-bit integers are multiplied by integers of up to 16 bits: at every \
             step x, h and inputs of dense layers are rounded to integers times one scale for \
             each row of a batch; longer vectors have smaller integers. Sums are exact. Biases, \
             results of activation functions and states are f32.",
        ),
        Arithmetic::Int16 => Some(
            "Matrices are multiplied as integers of up to 16 bits: at every step x, h and inputs \
             of dense layers are rounded to integers times one scale for each row of a batch; \
             longer vectors have smaller integers. Each row of weights is scaled to the largest \
             integers for which no sum can exceed 32 bits. Sums are exact. Biases, results of \
             activation functions and states are f32.",
        ),
    }
}

/// The lines about the errors of activation functions. Empty if the accuracy is exact.
pub(crate) fn activations(model: &CoreModel, accuracy: Accuracy, profiles: &[bool]) -> Vec<String> {
    if accuracy == Accuracy::Exact {
        return Vec::new();
    }
    let mut lines = vec![format!("Activations: {}.", accuracy.name())];
    for function in model.functions() {
        if let Some(error) = math::stated(function, accuracy, profiles) {
            lines.push(format!("  {}: at most {error}", function.label()));
        }
    }
    lines
}
