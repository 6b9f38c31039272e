//! Weights of PyTorch in the two parts of `weight_norm`, tensors of normalizations and of projections.

use super::export::EXPORT_WITH_OPEN_STEPS;

/// The remedy where one of these tensors is a magnitude or direction of `weight_norm`.
pub(crate) fn remedy_of_weight_norm<'n>(names: impl Iterator<Item = &'n str>) -> Option<String> {
    let is_recurrent = |name: &str| name.contains("weight_hh_l") || name.contains("weight_ih_l");
    let mut found: Option<(String, &'static str)> = None;
    for name in names.filter(|name| is_recurrent(name)) {
        let old = name.strip_suffix("_g").or_else(|| name.strip_suffix("_v"));
        if let Some(tensor) = old {
            found = Some((tensor.to_owned(), "torch.nn.utils.remove_weight_norm"));
        } else if let Some((tensor, _)) = name.split_once(".original") {
            let tensor = tensor.replace("parametrizations.", "");
            found = Some((tensor, "torch.nn.utils.parametrize.remove_parametrizations"));
        }
        if found.is_some() {
            break;
        }
    }
    let (tensor, remove) = found?;
    let (module, own) = tensor.rsplit_once('.').unwrap_or(("", &tensor));
    let module = if module.is_empty() { "net".to_owned() } else { format!("net.{module}") };
    Some(format!(
        "the weights are in the two parts of weight_norm: before saving, {remove}({module}, \"{own}\"), and so for \
         each of its weights; or {EXPORT_WITH_OPEN_STEPS}, which computes them"
    ))
}

/// The first tensor of a normalization: LayerNorm, BatchNorm and their like have a weight of one axis,
/// and recurrent and dense layers have none. `tensors`: names, and the number of axes.
pub(super) fn normalization<'n>(mut tensors: impl Iterator<Item = (&'n str, usize)>) -> Option<&'n str> {
    let is_normal = |&(name, axes): &(&str, usize)| match name.rsplit('.').next().unwrap_or(name) {
        "running_mean" | "running_var" | "gamma" => true,
        "weight" => axes == 1,
        _ => false,
    };
    tensors.find(is_normal).map(|(name, _)| name)
}

/// The first of these tensors of a recurrent module that is a projection.
pub(crate) fn projection<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names.find(|name| name.rsplit('.').next().is_some_and(|own| own.starts_with("weight_hr_l")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_norm_has_a_remedy() {
        let old = remedy_of_weight_norm(["rec.weight_hh_l0_g", "rec.weight_hh_l0_v"].into_iter()).expect("one");
        assert!(old.contains("remove_weight_norm(net.rec, \"weight_hh_l0\")"), "{old}");
        let new = ["rec.parametrizations.weight_ih_l0.original0"];
        let new = remedy_of_weight_norm(new.into_iter()).expect("one");
        assert!(new.contains("remove_parametrizations(net.rec, \"weight_ih_l0\")"), "{new}");
        assert_eq!(remedy_of_weight_norm(["rec.weight_ih_l0"].into_iter()), None);
    }
}
