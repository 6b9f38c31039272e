//! Runs generated C on given inputs, and compares the results with the interpreter.

use std::path::Path;

use cellc::Language;
use cellc::internals::compile::Compilation;
use cellc::internals::harness::{self, Executable, Toolchain};
use cellc::internals::random::Random;
use cellc_tests::driver::{isas, values};
use cellc_tests::subject::{Subject, Values, assert_same};

use super::toolchain::Compiler;

/// A model, its calls, and the interpreter's results on the instruction sets of this machine.
pub(crate) struct Expected {
    subject: Subject,
    isas: usize,
    values: Values,
}

/// Links objects of `net.c`, runs them on the calls, and compares bits on every instruction set.
/// Returns the number of instruction sets of this machine.
pub(crate) fn check(
    folder: &Path,
    compiler: Compiler,
    objects: &[&str],
    expected: &Expected,
) -> usize {
    let compiler = vec![compiler.c.into()];
    let toolchain = Toolchain {
        language: Language::C,
        compiler,
        flags: vec!["-w".to_owned()],
        around: Vec::new(),
    };
    let called = harness::Subject::new("net", &expected.subject.compilation);
    let program = Executable::link(folder, &[called], &toolchain, objects)
        .unwrap_or_else(|failed| panic!("{failed}"));
    let found = values(&program, std::slice::from_ref(&expected.subject));
    assert_same(&folder.display().to_string(), &expected.values, &found);
    expected.isas
}

/// Calls that a model must compute correctly: ordinary values, then values at the limits of f32.
pub(crate) fn calls(compilation: &Compilation) -> Expected {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let special = [
        0.0,
        -0.0,
        1e-40,
        -1e-40,
        3e38,
        -3e38,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        20.0,
        -110.0,
    ];
    let calls = (0..5)
        .map(|call| {
            let parameters = compilation.model.parameters.iter();
            parameters
                .map(|parameter| {
                    (0..parameter.shape.iter().product::<usize>())
                        .map(|_| match call {
                            // weights keep an ordinary magnitude
                            3 if !parameter.weight => random.unit() * 40.0,
                            4 if !parameter.weight && random.below(6) == 0 => {
                                random.choice(&special)
                            }
                            _ => random.unit(),
                        })
                        .collect()
                })
                .collect()
        })
        .collect();
    let subject = Subject { name: "net".to_owned(), compilation: compilation.clone(), calls };
    let (known, here) = (subject.isas().map(|(isa, _)| isa), isas());
    let on: Vec<_> = known.filter(|isa| here.contains(isa)).collect();
    Expected { isas: on.len(), values: subject.expected(&on), subject }
}
