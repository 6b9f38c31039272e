//! Types, values and attributes as Rust spells them.

use crate::emit::names::Interface;
use crate::emit::walk::Block;
use crate::kernel::Element;
use crate::target::Isa;

/// The type that `step` takes when it takes several inputs.
pub(in crate::emit) fn step_inputs_type(interface: &Interface) -> Option<&'static str> {
    match interface.step_inputs().count() {
        0 | 1 => None,
        n if n == interface.inputs.len() => Some("Inputs"),
        _ => Some("StepInputs"),
    }
}

/// A tensor's type: `[[f32; I]; N]` for `[N, I]`, `[f32; I]` for `[1, I]`, else one flat array.
pub(in crate::emit) fn array(shape: &[usize]) -> String {
    match *shape {
        [n, i] if n != 1 => format!("[[f32; {i}]; {n}]"),
        _ => format!("[f32; {}]", shape.iter().product::<usize>()),
    }
}

pub(super) fn flat(shape: &[usize]) -> bool {
    !matches!(*shape, [n, _] if n != 1)
}

pub(super) fn nested(shape: &[usize]) -> String {
    shape.iter().rev().fold("f32".to_string(), |ty, n| format!("[{ty}; {n}]"))
}

pub(in crate::emit) fn zero(shape: &[usize]) -> String {
    match *shape {
        [n, i] if n != 1 => format!("[[0.0; {i}]; {n}]"),
        _ => format!("[0.0; {}]", shape.iter().product::<usize>()),
    }
}

/// An element's type.
pub(in crate::emit) fn element(element: Element) -> &'static str {
    match element {
        Element::F32 => "f32",
        Element::I32 => "i32",
        Element::I64 => "i64",
        Element::U32 => "u32",
    }
}

pub(super) fn block_type(block: &Block) -> String {
    let element = if block.bytes { "[u8; 4]" } else { element(block.element) };
    format!("[{element}; {}]", block.len)
}

pub(super) fn cfg(isa: &Isa) -> String {
    isa.arch.map(|arch| format!("#[cfg(target_arch = {arch:?})]")).unwrap_or_default()
}

pub(super) fn attribute(isa: &Isa) -> String {
    if isa.rust_features.is_empty() {
        String::new()
    } else {
        format!("#[target_feature(enable = {:?})]", isa.rust_features)
    }
}

pub(super) fn has(isa: &Isa) -> String {
    let cpuid = isa.cpuid;
    format!("has({:#x}, {:#x}, {:#x})", cpuid.leaf1_ecx, cpuid.leaf7_ebx, cpuid.xcr0)
}
