//! Types, values and attributes of Rust.

use crate::arch::Isa;
use crate::emit::Contents;
use crate::emit::elements::spelling;
use crate::emit::signature::Argument;
use crate::emit::traversal::Block;

/// A parameter of a public function.
pub(super) fn parameter(argument: &Argument<'_>) -> String {
    let ty = match argument {
        Argument::Pool => "&mut dyn Join".to_owned(),
        Argument::Memory(memory) => format!("&mut {}", memory.type_name()),
        Argument::Packed => "&Packed".to_owned(),
        Argument::Inputs(tensors) => format!("&{}", tensors.ty("<'_>")),
        Argument::Outputs(tensors) => format!("&mut {}", tensors.ty("")),
    };
    format!("{}: {ty}", argument.name())
}

/// The array type of a block.
pub(super) fn block_type(block: &Block) -> String {
    let element = match spelling(block.element).rust {
        "" => format!("[u8; {}]", block.element.size()),
        element => element.to_owned(),
    };
    format!("[{element}; {}]", block.len)
}

/// The attribute for the case that none of `conditions` holds.
pub(super) fn none_of(conditions: &[&str]) -> String {
    match conditions {
        [one] => format!("#[cfg(not({one}))]"),
        all => format!("#[cfg(not(any({})))]", all.join(", ")),
    }
}

/// The condition of an instruction set's body, as an attribute.
pub(super) fn cfg(isa: &Isa) -> String {
    isa.condition().map(|condition| format!("#[cfg({})]", condition.rust)).unwrap_or_default()
}

/// The attribute that enables the target features for functions in the body of `isa`. The features
/// of `fused_by`, which shares the body and has fused multiply-add, are enabled under its
/// condition.
pub(super) fn attribute(file: &Contents<'_>, isa: &Isa, fused_by: Option<&Isa>) -> String {
    match (
        isa.rust.features,
        fused_by.and_then(|other| Some((other.rust.features, other.condition()?))),
    ) {
        (_, Some((features, condition))) if !features.is_empty() => {
            format!(
                "#[cfg_attr({}, target_feature(enable = {:?}))]",
                condition.rust,
                file.features(features)
            )
        }
        ("", _) => String::new(),
        (features, _) => format!("#[target_feature(enable = {:?})]", file.features(features)),
    }
}

/// True if a line begins a function with more parameters than clippy allows.
pub(super) fn has_long_list(line: &str) -> bool {
    line.contains("fn ") && line.matches(": ").count() > 7
}
