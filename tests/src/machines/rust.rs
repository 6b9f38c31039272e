//! The trials of generated Rust without std: a library that is linked in place of the objects of
//! generated C.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::Language;
use cellc::internals::emit::names::Field;
use cellc::internals::emit::signature::{Argument, Signature, Tensors};
use cellc::internals::kernel::Element;

use super::cost::STEPS;
use super::program::{types, values};
use super::{Machine, Trial, write};
use crate::driver::{run, write_files};

const MANIFEST: &str = r#"[package]
name = "trials"
version = "0.0.0"
edition = "2021"

[lib]
path = "lib.rs"
crate-type = ["staticlib"]

[profile.release]
panic = "abort"
codegen-units = 1

[workspace]
"#;

const HEAD: &str = r#"#![no_std]

use core::mem::{size_of, zeroed};
use core::ptr;

extern "C" {
    fn machine_write(bytes: *const u8, size: usize);
    fn machine_begin();
    fn machine_end();
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

fn give<T>(values: &T) {
    unsafe { machine_write((values as *const T).cast(), size_of::<T>()) }
}

/// Whole numbers, as f32.
fn give_whole<T, S: Copy + Whole>(values: &T) {
    let count = size_of::<T>() / size_of::<S>();
    let all = unsafe { core::slice::from_raw_parts((values as *const T).cast::<S>(), count) };
    all.iter().for_each(|value| give(&value.as_f32()));
}

trait Whole {
    fn as_f32(self) -> f32;
}

impl Whole for u8 {
    fn as_f32(self) -> f32 {
        self.into()
    }
}

impl Whole for i32 {
    fn as_f32(self) -> f32 {
        self as f32
    }
}

impl Whole for i64 {
    fn as_f32(self) -> f32 {
        self as f32
    }
}

fn take<T, S>(values: &mut T, given: &S) {
    assert!(size_of::<T>() == size_of::<S>());
    unsafe { ptr::copy_nonoverlapping((given as *const S).cast::<u8>(), (values as *mut T).cast(), size_of::<S>()) }
}
"#;

impl Machine {
    /// Writes and compiles the library of the trials for a target of Rust. Returns its path.
    pub(super) fn library(&self, folder: &Path, trials: &[Trial], target: &str) -> PathBuf {
        let subjects: Vec<_> = trials.iter().map(|trial| trial.subject.clone()).collect();
        write_files(folder, &subjects, Language::Rust);
        let modules: String =
            trials.iter().map(|trial| format!("mod {};\n", trial.subject.name)).collect();
        let callers: String = trials.iter().map(caller).collect();
        write(folder, "lib.rs", &format!("{HEAD}\n{modules}{callers}"));
        write(folder, "Cargo.toml", MANIFEST);
        let mut cargo = Command::new(self.compiler[0]);
        cargo
            .args(["build", "--quiet", "--release", "-Zbuild-std=core", "--target", target])
            .current_dir(folder);
        // Debian's rustc and cargo, which have sources of core; the next run reuses the build
        let kept = folder.with_file_name("machines-rust");
        cargo
            .env("RUSTC", "/usr/bin/rustc")
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", &kept);
        cargo.env_remove("RUSTFLAGS").env_remove("RUSTUP_TOOLCHAIN");
        run(&mut cargo);
        let library = folder.join("libtrials.a");
        fs::copy(kept.join(target).join("release/libtrials.a"), &library)
            .expect("cargo has made it");
        library
    }
}

/// The Rust type in which the library stores the elements of an input or an output.
fn stored(field: &Field) -> String {
    let stored = types(field).0.replace("uint32_t", "u32").replace("uint8_t", "u8");
    stored.replace("int32_t", "i32").replace("int64_t", "i64")
}

/// The functions of one trial: `<name>_trial`, `<name>_count`.
fn caller(Trial { subject, rounds }: &Trial) -> String {
    let (interface, m) = (&subject.compilation.interface, &subject.name);
    let variable = |field: &Field| format!("p{}", field.index);
    let given = |field: &Field| format!("{}_P{}", m.to_uppercase(), field.index);
    let taken = || interface.inputs.iter().chain(&interface.weights);
    let each = |fields: &[&Field], line: &dyn Fn(&Field) -> String| {
        fields.iter().map(|field| format!("    {}\n", line(field))).collect::<String>()
    };
    let statics: String = taken()
        .map(|field| {
            let calls: Vec<_> =
                subject.calls.iter().map(|call| values(field, &call[field.index])).collect();
            let calls = calls.join(",\n").replace(['{'], "[").replace(['}'], "]");
            let (name, stored, len) = (given(field), stored(field), field.len());
            format!("static {name}: [[{stored}; {len}]; {}] = [\n{calls}];\n", subject.calls.len())
        })
        .collect();
    let take = |fields: &[&Field], call: &str| {
        each(fields, &|field| format!("take(&mut {}, &{}[{call}]);", variable(field), given(field)))
    };
    let outputs = match &interface.outputs[..] {
        [_] => "unsafe { zeroed() }".to_owned(),
        _ => format!("{m}::Outputs::new()"),
    };
    let given_back = |field: &Field, place: &str| match field.element {
        Element::F32 => format!("        give(&{place});\n"),
        _ => format!("        give_whole::<_, {}>(&{place});\n", stored(field)),
    };
    let give: String = match &interface.outputs[..] {
        [field] => given_back(field, "y"),
        several => {
            several.iter().map(|field| given_back(field, &format!("y.{}", field.name))).collect()
        }
    };
    let (mut pack, mut packed) = (String::new(), "");
    if !interface.weights.is_empty() {
        let fields: String =
            interface.weights.iter().map(|f| format!("{}: &{}, ", f.name, variable(f))).collect();
        pack = format!(
            "    let mut packed = {m}::Packed::new();\n    {m}::pack(&{m}::Weights {{ {fields} }}, &mut packed);\n"
        );
        packed = "&packed";
    }
    let inputs = |tensors: &Tensors<'_>| {
        let value = tensors.value(|field| format!("&{}", variable(field)));
        tensors.record.map_or(value.clone(), |_| format!("&{m}::{}", &value[1..]))
    };
    let step = Signature::step(interface).spelled(|argument| match argument {
        Argument::Inputs(tensors) => inputs(tensors),
        _ => "&mut y".to_owned(),
    });
    let states = interface.states.iter().map(|state| &interface.inputs[state.input]);
    let set: String = states
        .map(|field| format!("        cell.set_{}(&{});\n", field.name, variable(field)))
        .collect();
    let (ty, calls) = (&interface.type_name, subject.calls.len());
    let start = |fields: &[&Field]| {
        let declare =
            each(fields, &|field| format!("let mut {} = unsafe {{ zeroed() }};", variable(field)));
        let first = take(fields, "0");
        format!(
            "{declare}    let mut y = {outputs};\n{first}{pack}    let mut cell = {m}::{ty}::new({packed});\n"
        )
    };
    let all: Vec<_> = taken().collect();
    let (start_of_trial, take) = (start(&all), take(&all, "call"));
    // only inputs that a step reads: the types of other inputs could not be inferred
    let start_of_count =
        start(&interface.step_inputs().chain(&interface.weights).collect::<Vec<_>>());
    format!(
        r#"
{statics}
#[no_mangle]
pub extern "C" fn {m}_trial() {{
{start_of_trial}
    let name = cell.isa().name();
    unsafe {{ machine_write(name.as_ptr(), name.len()) }}
    give(&b'\n');
    for call in (0..{rounds}).flat_map(|_| 0..{calls}) {{
{take}        cell.step({step});
{give}    }}
    for call in 0..{calls} {{
{take}{set}        cell.step({step});
{give}    }}
}}

#[no_mangle]
pub extern "C" fn {m}_count() {{
{start_of_count}
    unsafe {{ machine_begin() }}
    for _ in 0..{STEPS} {{
        cell.step({step});
    }}
    unsafe {{ machine_end() }}
}}
"#
    )
}
