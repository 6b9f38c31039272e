//! Emission: prints a program as source text in Rust or C.

#[cfg(feature = "builder")]
mod c;
mod calls;
mod constants;
pub(crate) mod elements;
#[cfg(feature = "builder")]
mod files;
#[cfg_attr(not(feature = "builder"), expect(dead_code, reason = "hints for gcc"))]
pub(crate) mod hints;
mod layout;
pub mod names;
mod products;
pub(crate) mod record;
mod reserved;
mod rows;
mod rust;
pub mod signature;
mod surface;
pub(crate) mod tensors;
pub(crate) mod text;
mod text_comparison;
mod tokens;
mod traversal;
#[cfg(feature = "builder")]
mod weights;

use std::collections::BTreeSet;

use crate::arch::{Condition, HALVES_FEATURE, Isa, PlannedIsa, Processor};
use crate::kernel::{Body, BodyRef, Element, Program, Role};
use crate::pack::{Initial, Packed};
use crate::request::Options;
#[cfg(feature = "builder")]
pub(crate) use c::INTERFACE;
#[cfg(feature = "builder")]
pub use files::OutputFile;
#[cfg(feature = "builder")]
pub(crate) use files::files;
use names::{Field, HostConstant, Interface};
pub(crate) use tokens::rust_tokens;
#[cfg(feature = "builder")]
pub(crate) use weights::{Tail, WEIGHTS_FILE};

/// The form of the passes over a panel in kernels. A pass computes a group of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passes {
    /// Passes of equal size form a loop.
    Looped,
    /// Each pass has code of its own.
    Separate,
}

/// The contents of a generated file.
pub(crate) struct Contents<'a> {
    pub(crate) options: &'a Options,
    /// The instruction sets of the file, the best last.
    pub(crate) isas: &'a [PlannedIsa],
    /// The program, with a body for each instruction set.
    pub(crate) program: &'a Program,
    pub(crate) packed: &'a Packed,
    /// The form of the passes over a panel.
    pub(crate) passes: Passes,
    pub(crate) interface: &'a Interface,
    /// The number of elements of the model's largest tensor.
    pub(crate) longest: usize,
    /// The lines of the header comment.
    pub(crate) header: &'a [String],
    /// The lines about the cost of a step on the target.
    pub(crate) estimate: Vec<String>,
    /// The lines about the model in the documentation of the struct.
    pub(crate) summary: &'a [String],
    /// SHA-256 of the model's files, in hexadecimal: the graph, then the weights. An unknown digest
    /// is an empty text.
    pub(crate) sha256: Vec<&'a str>,
}

/// Words for the constants with the digests of the model's files. Each file with a known digest has
/// the constant's name, a description of the file, and the digest.
fn digests(sha256: &[&str]) -> Vec<Vec<(&'static str, String)>> {
    let constant = |(at, digest): (usize, &&str)| {
        let (name, file) = match at {
            0 if sha256.len() == 1 => ("MODEL_SHA256".to_owned(), "the model's file"),
            0 => ("MODEL_SHA256".to_owned(), "the model's first file, which has the graph"),
            1 => ("WEIGHTS_SHA256".to_owned(), "the model's file of weights"),
            _ => (format!("WEIGHTS_{at}_SHA256"), "another file of the model's weights"),
        };
        vec![
            ("HASH_OF_FILE", name),
            ("HASHED_FILE", file.to_owned()),
            ("HEXADECIMAL_DIGEST", (*digest).to_owned()),
        ]
    };
    sha256.iter().enumerate().filter(|(_, digest)| !digest.is_empty()).map(constant).collect()
}

/// Words for the constants for the program around the model: name, value and comment.
fn host_constants(interface: &Interface) -> Vec<Vec<(&'static str, String)>> {
    let words = |constant: &HostConstant| {
        vec![
            ("HOST_CONSTANT", constant.name.to_owned()),
            ("HOST_VALUE", constant.value.clone()),
            ("HOST_NOTE", constant.note.to_owned()),
        ]
    };
    interface.host.iter().map(words).collect()
}

/// A body to print, for one or several instruction sets.
#[derive(Clone, Copy)]
struct Spelled<'a> {
    /// The instruction set that names the body.
    isa: &'static Isa,
    /// The first instruction set that shares the body and has fused multiply-add, if `isa` has
    /// none.
    fused_by: Option<&'static Isa>,
    body: BodyRef<'a>,
}

impl<'a> Contents<'a> {
    /// The bodies to print. Instruction sets that share a body have one entry.
    fn bodies(&self) -> impl Iterator<Item = Spelled<'a>> + '_ {
        let planned_bodies = || self.isas.iter().zip(self.program.bodies());
        let named = planned_bodies().filter(|(planned, _)| self.named(planned.isa) == planned.isa);
        named.map(move |(PlannedIsa { isa, .. }, body)| {
            let fused_by = self.fusing(isa).next();
            let fused = planned_bodies().find(|(other, _)| Some(other.isa) == fused_by);
            Spelled { isa, fused_by, body: fused.map_or(body, |(_, body)| body) }
        })
    }

    /// The instruction sets that share the body of `isa` and have fused multiply-add, if `isa` has
    /// none.
    fn fusing(&self, isa: &'static Isa) -> impl Iterator<Item = &'static Isa> + '_ {
        let is_fused = |planned: &&PlannedIsa| planned.fuses;
        let fuses = !self.isas.iter().filter(is_fused).any(|planned| planned.isa == isa);
        let fused_isas = self.isas.iter().filter(is_fused).map(|planned| planned.isa);
        fused_isas.filter(move |other| fuses && *other != isa && self.named(other) == isa)
    }

    /// The instruction set of one lane. Its body repeats a step in which another body flushed
    /// subnormal numbers.
    fn again(&self) -> &'static Isa {
        let of_one_lane = self.isas.iter().map(|planned| planned.isa).find(|isa| isa.lanes == 1);
        of_one_lane.expect("options: what makes 0 of denormals stands beside one lane")
    }

    /// The instruction set that names the body of `isa`.
    fn named(&self, isa: &'static Isa) -> &'static Isa {
        let held = |other: &&'static Isa| self.isas.iter().any(|planned| planned.isa == *other);
        isa.body_of.filter(held).unwrap_or(isa)
    }

    /// The instruction sets that share the body of `isa`.
    fn sharing(&self, isa: &'static Isa) -> impl Iterator<Item = &'static Isa> + '_ {
        self.isas.iter().map(|planned| planned.isa).filter(move |other| self.named(other) == isa)
    }

    /// The instruction sets with a compile-time condition: all but the baseline.
    fn special(&self) -> impl DoubleEndedIterator<Item = &'static Isa> + '_ {
        self.isas.iter().map(|planned| planned.isa).filter(|isa| isa.condition().is_some())
    }

    /// The instruction sets that replace the baseline at compile time, each with its condition. The
    /// compiler takes the first one whose condition is true.
    fn instead(&self) -> impl DoubleEndedIterator<Item = (&'static Isa, Condition)> + '_ {
        let chosen = self.special().rev().filter(|isa| isa.is_chosen_when_compiling());
        chosen.filter_map(|isa| Some((isa, isa.condition()?)))
    }

    /// The conditions under which the baseline's body is not compiled. An instruction set that
    /// shares this body, or that flushes subnormal numbers and repeats steps with this body, adds
    /// no condition.
    fn bodies_instead(&self) -> impl Iterator<Item = Condition> + '_ {
        let cannot_flush = |(isa, _): &(&'static Isa, Condition)| {
            self.named(isa) == *isa && isa.c.flushes.is_none()
        };
        self.instead().filter(cannot_flush).map(|(_, condition)| condition)
    }

    /// The instruction sets detected at run time, best last.
    fn asked(&self) -> impl DoubleEndedIterator<Item = &'static Isa> + '_ {
        self.special().filter(|isa| isa.question().is_some())
    }

    /// The instruction sets detected at run time, best first. Instruction sets whose vectors the
    /// largest tensor fills at most to half come last: their vectors are no faster than shorter
    /// ones, or slower.
    fn best_first(&self) -> Vec<&'static Isa> {
        let mut isas: Vec<_> = self.asked().collect();
        isas.reverse();
        isas.sort_by_key(|isa| if 2 * self.longest <= isa.lanes { isa.lanes } else { 0 });
        isas
    }

    /// The processors that the file detects at run time, each once.
    fn processors(&self) -> Vec<&'static Processor> {
        let mut processors: Vec<&'static Processor> = Vec::new();
        for question in self.isas.iter().filter_map(|planned| planned.isa.question()) {
            if !processors.iter().any(|known| std::ptr::eq(*known, question.processor)) {
                processors.push(question.processor);
            }
        }
        processors
    }

    /// The C headers that bodies need, grouped by the compile-time condition of the body.
    fn headers(&self) -> Vec<(Condition, Vec<&'static str>)> {
        let mut by_condition: Vec<(Condition, Vec<&'static str>)> = Vec::new();
        for (isa, condition) in self.special().filter_map(|isa| Some((isa, isa.condition()?))) {
            // the body's instruction set already includes this header
            let of_body = isa
                .body_of
                .filter(|other| self.named(isa) == *other)
                .map_or("", |isa| isa.c.header);
            let headers =
                [isa.question().map_or("", |question| question.processor.c_header), isa.c.header];
            let headers = headers.map(|header| if header == of_body { "" } else { header });
            for header in headers.into_iter().filter(|header| !header.is_empty()) {
                match by_condition.iter_mut().find(|(known, _)| *known == condition) {
                    Some((_, headers)) if headers.contains(&header) => {}
                    Some((_, headers)) => headers.push(header),
                    None => by_condition.push((condition, vec![header])),
                }
            }
        }
        by_condition
    }

    /// The element types of weights other than f32.
    fn narrow_weights(&self) -> BTreeSet<Element> {
        let weights = self.program.buffers.iter().filter(|buffer| buffer.role == Role::Weights);
        weights.map(|buffer| buffer.element).filter(|element| *element != Element::F32).collect()
    }

    /// True if some weights are binary16.
    fn has_halves_among_weights(&self) -> bool {
        self.program.buffers.iter().any(|buffer| buffer.element == Element::F16)
    }

    /// The processor features in the list `all` that the file requires. The feature for binary16 is
    /// required only if some weights are binary16.
    fn features(&self, all: &str) -> String {
        let is_asked =
            |feature: &&str| *feature != HALVES_FEATURE || self.has_halves_among_weights();
        all.split(',').filter(is_asked).collect::<Vec<_>>().join(",")
    }

    /// True if all weights are known at compile time.
    fn is_baked(&self) -> bool {
        self.packed.is_baked()
    }

    /// True if halves of a cell may run concurrently.
    fn has_halves(&self) -> bool {
        self.program.bodies.iter().any(Body::has_halves)
    }

    /// The inputs whose subnormal numbers are flushed before the first kernel.
    fn flushed_before(&self) -> impl Iterator<Item = &'a Field> {
        let program = self.program;
        let flushed = move |f: &&Field| {
            program
                .flushed_before
                .iter()
                .any(|id| program.buffer(*id).role == Role::Parameter(f.index))
        };
        self.interface.inputs.iter().filter(flushed)
    }

    /// A variable's initial value in the baked block. `None`: zero.
    fn initial(&self, variable: &Field) -> Option<Initial> {
        self.packed.initial.get(variable.index).copied().flatten()
    }

    /// True if all variables start as zero.
    fn starts_at_zero(&self) -> bool {
        self.interface.variables.iter().all(|v| self.initial(v).is_none())
    }

    /// The states of the struct: each state's input, and the output with its next value.
    fn states(&self) -> impl Iterator<Item = (&'a Field, &'a Field)> {
        let interface = self.interface;
        interface
            .states
            .iter()
            .map(|state| (&interface.inputs[state.input], &interface.outputs[state.output]))
    }
}

fn items(contents: &Contents<'_>, form: rust::Form) -> String {
    let mut doc = contents.summary.to_vec();
    doc.push(match contents.keeps_states() {
        true => "Made by cellc; the state lives in the struct, [`Self::step`] advances it.".into(),
        false => "Made by cellc; a step depends on its inputs alone.".into(),
    });
    rust::RustFile::new(contents, &doc, form).text()
}
