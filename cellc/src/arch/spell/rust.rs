//! Rust: rules of targets, and the spelling of vectors of instruction sets.

/// Rules of a target for generated Rust.
#[derive(Clone, Copy, Debug)]
pub struct RustRules {
    /// The `cfg` without which the file stops with a `compile_error!`. Empty: none.
    pub held: &'static str,
    /// The remedy that the `compile_error!` names.
    pub otherwise: &'static str,
    /// The attribute of structs whose fields are loaded as vectors. Empty: none.
    pub structs: &'static str,
}

/// The spelling of an instruction set in Rust.
#[derive(Clone, Copy)]
pub struct RustSpelling {
    /// Rust's feature names, comma separated. Empty: the compiler assumes the features.
    pub features: &'static str,
    /// A fused multiply-add `a * b + c` of f32 scalars, by intrinsics or assembly. Empty:
    /// none.
    pub mul_add: &'static str,
    /// The `cfg` of `mul_add`, if the file also compiles for other machines. On other machines,
    /// software computes the same bits.
    pub mul_add_where: &'static str,
    /// The vector registers. Vectors of other lengths are arrays of lanes.
    pub vectors: &'static [RustVector],
    /// Helper functions, each after a line `//: NAME`.
    pub functions: &'static str,
}

/// A vector register in Rust, by the intrinsics of `core::arch`.
#[derive(Clone, Copy, Debug)]
pub struct RustVector {
    /// The number of f32 lanes.
    pub lanes: usize,
    /// The module of `core::arch` with the intrinsics.
    pub processor: &'static str,
    /// The `cfg` of the type. Empty: the body is compiled only for machines with the type.
    pub condition: &'static str,
    /// The type of f32 lanes.
    pub register: &'static str,
    /// The type of the bits of the lanes.
    pub integers: &'static str,
    /// Operations by name, as expressions of their operands `a`, `b`, `c` and `d`. Earlier lists
    /// take precedence.
    pub operations: &'static [&'static [(&'static str, &'static str)]],
    /// The helper functions of the file that operations call: the operation, and the function.
    pub helpers: &'static [(&'static str, &'static str)],
}

impl RustVector {
    /// The condition for a processor's module in `core::arch`.
    pub fn condition_of(processor: &str) -> String {
        format!("target_arch = {processor:?}")
    }

    /// The feature with the baseline vectors of a processor, and the name of these vectors. All
    /// targets of rustc for the processor have the feature, except targets with floats in software.
    /// `None`: no vectors belong to the baseline.
    pub fn baseline_of(processor: &str) -> Option<(&'static str, &'static str)> {
        match processor {
            "x86_64" => Some(("sse2", "SSE2")),
            "aarch64" => Some(("neon", "Neon")),
            _ => None,
        }
    }

    /// The expression for an operation. `None`: the register has no such operation.
    pub fn operation(&self, name: &str) -> Option<&'static str> {
        self.operations
            .iter()
            .copied()
            .flatten()
            .find(|(other, _)| *other == name)
            .map(|(_, text)| *text)
    }
}
