//! Unsupported tensors in files of PyTorch's weights: parts of `weight_norm`, projections, and
//! layers that no option declares.

use super::export::EXPORT_WITH_OPEN_STEPS;

/// The help for recurrent weights split by `weight_norm` into magnitude and direction. `None` if no
/// name is that of a part.
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
        "the weights are in the two parts of weight_norm: before saving, {remove}({module}, \
         \"{own}\"), and so for each of its weights; or {EXPORT_WITH_OPEN_STEPS}, which computes \
         them"
    ))
}

/// The first tensor that belongs neither to a recurrent nor to a dense layer, and the kind of its
/// layer. A weight of one axis belongs to a normalization, a weight of three or more axes to a
/// convolution. `tensors`: names and numbers of axes.
pub(super) fn undeclared<'n>(
    mut tensors: impl Iterator<Item = (&'n str, usize)>,
) -> Option<(&'n str, &'static str)> {
    let layer = |&(name, axes): &(&'n str, usize)| {
        let last_part = name.rsplit('.').next().unwrap_or(name);
        match last_part {
            "running_mean" | "running_var" | "gamma" => Some("a normalization"),
            "weight" if axes == 1 => Some("a normalization"),
            _ if axes >= 3 && name.contains("weight") => Some("a convolution"),
            "in_proj_weight" | "q_proj_weight" | "k_proj_weight" | "v_proj_weight" => {
                Some("an attention")
            }
            _ => None,
        }
    };
    tensors.find_map(|tensor| layer(&tensor).map(|what| (tensor.0, what)))
}

/// The name of the first projection of a recurrent module (`proj_size`).
pub(crate) fn projection<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names.find(|name| name.rsplit('.').next().is_some_and(|own| own.starts_with("weight_hr_l")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_that_no_option_declares_are_told_by_their_tensors() {
        for (name, axes, what) in [
            ("norm.weight", 1, Some("a normalization")),
            ("conv.weight", 3, Some("a convolution")),
            ("conv.weight_v", 3, Some("a convolution")),
            ("planes.parametrizations.weight.original1", 4, Some("a convolution")),
            ("att.in_proj_weight", 2, Some("an attention")),
            ("lin.weight", 2, None),
            ("lin.bias", 1, None),
            ("rec.bias_hh_l0", 1, None),
            ("mel", 3, None),
        ] {
            assert_eq!(
                undeclared([(name, axes)].into_iter()),
                what.map(|what| (name, what)),
                "{name}"
            );
        }
    }

    #[test]
    fn weight_norm_has_a_remedy() {
        let old = remedy_of_weight_norm(["rec.weight_hh_l0_g", "rec.weight_hh_l0_v"].into_iter())
            .expect("one");
        assert!(old.contains("remove_weight_norm(net.rec, \"weight_hh_l0\")"), "{old}");
        let new = ["rec.parametrizations.weight_ih_l0.original0"];
        let new = remedy_of_weight_norm(new.into_iter()).expect("one");
        assert!(new.contains("remove_parametrizations(net.rec, \"weight_ih_l0\")"), "{new}");
        assert_eq!(remedy_of_weight_norm(["rec.weight_ih_l0"].into_iter()), None);
    }
}
