//! Checks the matrices of a model for the given precisions.

use std::collections::BTreeSet;

use crate::check::subject::CheckContext;
use crate::check::unrounded::unrounded;
use crate::core::{CoreModel, CoreNode, CoreOp};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, message, quoted};
use crate::encoding::{Arithmetic, WeightFormat};
use crate::model::Model;
use crate::numerics::{Precisions, matrices};
use crate::request::flag;
use crate::request::{Options, Precision};
use crate::rules::report::{at_layer, layer_named, whole_model};
use crate::rules::unused::Unused;

/// Refuses wrong names of layers, f16 and bf16 in a model with run-time weights, and weights
/// outside the range of a format. Reports weights stored in 8 bits, and values of f16 and bf16 that
/// are computed in f32.
pub(crate) fn precision(
    context: CheckContext,
    core: &CoreModel,
    precisions: &Precisions,
    diagnostics: &mut Diagnostics,
) {
    let CheckContext { model, options, .. } = context;
    named_layers(options, core, diagnostics);
    let mut problems = Vec::new();
    if let Some(parameter) = core.parameters.iter().find(|parameter| parameter.weight) {
        let name = parameter.names.first().map_or("an input".to_owned(), |name| quoted(name));
        let mut layers: Vec<_> =
            core.all_nodes().into_iter().filter(|n| n.op.has_precision()).collect();
        layers.dedup_by(|a, b| a.name == b.name);
        for node in layers {
            let format = options.numerics.precision_in(&node.name).stored();
            if format == WeightFormat::F32 || format.is_of_integers() {
                continue;
            }
            let found = format!(
                "{} for {} in a model with weights that are given at run time, as {name} is",
                format.name(),
                quoted(&node.name)
            );
            let problem = at_layer(model, layer_named(model, &node.name), found)
                .valid("f32, int16, int8x16 or int8");
            problems.push(
                problem.help("choose one of these, or make the weights constants of the model"),
            );
        }
    }
    let mut refused = BTreeSet::new();
    for matrix in matrices(core) {
        let (format, layer) = (matrix.format(precisions), &matrix.node.name);
        if format == WeightFormat::F32 {
            continue;
        }
        let too_large = matrix.elements().find(|k| !format.holds(matrix.tensor.get_f32(*k)));
        // one error for all gates of a matrix
        if let Some(k) = too_large.filter(|_| refused.insert((layer, matrix.name))) {
            let value = matrix.tensor.get_f32(k);
            let name = stored_as(options, layer).unwrap_or_default();
            let found = format!(
                "element {k} of {} of {} is {value:e}: {name} cannot hold it",
                matrix.name,
                quoted(layer)
            );
            let problem = at_layer(model, layer_named(model, layer), found);
            problems.push(match format {
                WeightFormat::F16 => problem
                    .valid("-65504 to 65504")
                    .help("the other precisions have the range of f32"),
                _ => problem
                    .valid("finite numbers")
                    .help("leave the option out, or correct the model"),
            });
        }
    }
    problems.into_iter().for_each(|problem| diagnostics.push(problem));
    exact_in_8_bits(context.model, precisions, diagnostics);
    if let Some(warning) = unrounded(context.model) {
        diagnostics.push(warning);
    }
}

/// Reports weights of a quantised model stored in 8 bits.
fn exact_in_8_bits(model: &Model, precisions: &Precisions, diagnostics: &mut Diagnostics) {
    let [count, scaled] = precisions.quantised_weights();
    let option = flag::PRECISION.setting();
    if scaled > 0 {
        let found = format!(
            "{scaled} weights and what they multiply are whole numbers of 8 bits with scales \
             of the model: they are multiplied as integers, with these scales and exact sums"
        );
        let help = message!(
            "f32 for {} multiplies them as f32, and takes four bytes for each weight",
            option
        );
        diagnostics.push(Diagnostic::notice(whole_model(model), found).help(help));
    }
    if count > 0 {
        let stored = || precisions.quantised().filter(|quantised| quantised.is_stored_alone());
        let as_integers = stored().all(|quantised| quantised.has_x());
        let scaled = stored().any(|quantised| !quantised.has_integer_weights());
        let property = if scaled {
            "are what 8 bits and a scale for each row hold"
        } else {
            "are whole numbers of 8 bits"
        };
        let multiplied = if as_integers { ", and multiplied as an integer" } else { "" };
        let results = if scaled {
            "; results differ from those of f32 by rounding"
        } else {
            ", with the same results"
        };
        let found =
            format!("{count} weights {property}: each is stored in one byte{multiplied}{results}");
        let help = match as_integers {
            true => {
                message!("f32 for {} takes four bytes for each, and multiplies them as f32", option)
            }
            false => message!(
                "f32 for {} takes four bytes for each, and less time where they fit the \
                 caches",
                option
            ),
        };
        diagnostics.push(Diagnostic::notice(whole_model(model), found).help(help));
    }
}

/// The name of the format of a layer's matrices in messages. `None`: f32.
fn stored_as(options: &Options, layer: &str) -> Option<String> {
    let precision = options.numerics.precision_in(layer);
    match (precision.arithmetic(), precision.stored()) {
        (_, WeightFormat::F32) => None,
        (Arithmetic::F32, format) => Some(format.name().to_owned()),
        (arithmetic, _) => Some(arithmetic.name().to_owned()),
    }
}

/// Refuses precisions for layers that do not take them, and two precisions for one layer. Warns of
/// a precision that no layer uses.
fn named_layers(options: &Options, core: &CoreModel, diagnostics: &mut Diagnostics) {
    let nodes = core.all_nodes();
    let mut seen = BTreeSet::new();
    // several layers may have one name, which is listed once
    let known = nodes.iter().filter(|node| node.op.has_precision() && seen.insert(&node.name));
    let known: Vec<_> = known.map(|node| node.name.clone()).collect();
    let product =
        |node: &&CoreNode| matches!(node.op, CoreOp::MatMul(_)).then(|| node.name.clone());
    let products: BTreeSet<_> = nodes.iter().filter_map(product).collect();
    let option = flag::PRECISION_OF.setting();
    let mut problems = Vec::new();
    let stores = |precision: Precision, node: &CoreNode| {
        node.op.has_precision()
            && (precision.arithmetic() != Arithmetic::F32 || node.op.is_product())
    };
    let asked = options.numerics.precision.filter(|precision| *precision != Precision::F32);
    if let Some(precision) =
        asked.filter(|precision| !nodes.iter().any(|node| stores(*precision, node)))
    {
        problems.push(Unused::Precision(precision).warning());
    }
    for (i, (layer, precision)) in options.numerics.precision_of.iter().enumerate() {
        let name = quoted(layer);
        let stays_f32 = core.names_in_f32().find(|(name, _)| name == layer).map(|(_, why)| why);
        let found = match stays_f32 {
            _ if options.numerics.precision_of[..i].iter().any(|(before, _)| before == layer) => {
                message!("{} names {} twice", option, name)
            }
            _ if known.contains(layer) => {
                let halves =
                    *precision != Precision::F32 && precision.arithmetic() == Arithmetic::F32;
                if !halves || nodes.iter().any(|node| node.name == *layer && node.op.is_product()) {
                    continue;
                }
                message!(
                    "{} gives {} to {}, a depthwise convolution",
                    option,
                    precision.name(),
                    name
                )
            }
            // f32 is legal for layers that stay f32, and for a MatMul, which integer precisions may
            // turn into a dense layer
            _ if *precision == Precision::F32
                && (stays_f32.is_some() || products.contains(layer)) =>
            {
                continue;
            }
            Some(why) => message!("{} names {}, which stays f32 ({})", option, name, why),
            None => {
                message!("{} names {}, which is no cell, dense layer or convolution", option, name)
            }
        };
        let named: Vec<_> =
            known.iter().filter(|name| !name.is_empty()).map(|name| quoted(name)).collect();
        let valid = match (known.len(), named.len()) {
            (0, _) => "the model has no cell, dense layer or convolution".to_owned(),
            (_, 0) => "the layers of the model have no names".to_owned(),
            _ => named.join(", "),
        };
        problems.push(
            Diagnostic::error(Origin::Unknown, found)
                .valid(valid)
                .help(message!("correct {}", option)),
        );
    }
    problems.into_iter().for_each(|problem| diagnostics.push(problem));
}
