//! Generated C compiles with every compiler without a warning, needs no foreign symbol, and gives
//! the bits of the interpreter under all flags of the compiler.

mod cases;
mod driver;
mod toolchain;

use std::fs;
use std::path::Path;

use cellc::internals::arch;
use cellc::{AppleResetGate, Arch, Builder, Framework, Language};
use cellc::{Fma, Isa, Options, Precision, Tuning, Unroll, WeightsAs};
use cellc_tests::skipped::{Far, ONE_LINE, compiler_works, has, skip};

use toolchain::{
    Compiler, GCC, STRICT, compilers, exported, folder, foreign, gcc, object, run, succeed,
    undefined,
};

/// Generated C has at most 100 columns, apart from the numbers of weights.
#[test]
fn lines_have_at_most_a_hundred_columns() {
    for case in ["gru_cell_128_fp16", "gru_cell_min", "onnx_lstm", "rnnoise_step_f32"] {
        for target in ["any", "portable", "cortex-m4f", "x86-64"] {
            let arch = Arch::from_name(target).expect("a target");
            let options = Options::default().with_target(arch);
            for file in cases::compiled(case, &options).emit("net") {
                let text = String::from_utf8(file.bytes.to_vec()).expect("C is ASCII");
                let is_code = |line: &&str| !line.trim_start().starts_with("0x");
                let long: Vec<_> =
                    text.lines().filter(is_code).filter(|line| line.len() > 100).collect();
                assert!(long.is_empty(), "{case}, {target}: {long:#?}");
            }
        }
    }
}

/// Flags that decide which contractions a compiler may make, and how far it optimises.
fn flag_sets() -> Vec<&'static [&'static str]> {
    if !cfg!(target_arch = "x86_64") {
        return vec![
            &["-std=c11", "-O0"],
            &["-std=c11", "-O3"],
            &["-std=gnu11", "-O2"],
            &["-std=gnu11", "-O3"],
        ];
    }
    vec![
        &["-std=c11", "-O0"],
        &["-std=gnu11", "-O0", "-mfma"],
        &["-std=c11", "-O2", "-mfma"],
        &["-std=gnu11", "-O2", "-march=native"],
        &["-std=c11", "-O3", "-march=native"],
        &["-std=gnu11", "-O3"],
        &["-std=gnu11", "-O3", "-mfma"],
        &["-std=gnu11", "-Os", "-mfma"],
    ]
}

/// The options for the generic body alone, for properties that do not depend on the bodies.
fn generic() -> Options {
    Options::default().with_isas(Some(Vec::new()))
}

/// An object has the functions that its header declares, and no others, for every model.
/// `conformance` checks that objects need no foreign functions.
#[test]
fn objects_define_what_headers_declare() {
    let of_isas = ["init_isa", "isa_available", "isa_detect", "isa_name", "run_on"];
    let Some(gcc) = gcc().filter(|_| has("nm")) else { return };
    for case in ["gru_cell_min", "gru_cell_params", "stateful_gru", "constant_output", "ti_gru"] {
        let compilation = cases::compiled(case, &Options::default().with_fma(Fma::Off));
        let folder = folder(&format!("objects-{case}"));
        cases::write(&folder, &compilation, "net");
        let mut expected = vec!["alignment", "init", "reset", "run", "size", "step"];
        let parts = [
            (compilation.interface.has_isas(), &of_isas[..]),
            (!compilation.interface.weights.is_empty(), &["pack"]),
            (!compilation.interface.variables.is_empty(), &["state_reset"]),
        ];
        expected
            .extend(parts.iter().filter(|(is_there, _)| *is_there).flat_map(|(_, names)| *names));
        let mut expected: Vec<_> = expected.iter().map(|name| format!("net_{name}")).collect();
        expected.sort();
        object(&folder, gcc, "net.c", "net.o", &["-std=c11", "-Os"]);
        assert_eq!(foreign(&folder, "net.o").unwrap_or_default(), [""; 0], "{case}");
        assert_eq!(exported(&folder, "net.o"), expected, "{case}");
    }
}

#[test]
fn no_flag_changes_a_bit() {
    // gcc takes one half of the flags for each case, and clang the other half: both take all flags
    // in both profiles
    for (case, fma, unroll, half) in [
        ("gru_cell_clip", Fma::Auto, Unroll::None, 0),
        ("gru_cell_clip", Fma::Off, Unroll::None, 1),
        ("gru_cell_lbr1", Fma::Auto, Unroll::Auto, 1),
        ("gru_cell_params", Fma::Off, Unroll::Auto, 0),
    ] {
        let compilation = cases::compiled(
            case,
            &Options::default().with_fma(fma).with_tuning(Tuning::default().with_unroll(unroll)),
        );
        let folder = folder(&format!("flags-{case}-{fma:?}"));
        cases::write(&folder, &compilation, "net");
        let calls = driver::calls(&compilation);
        for compiler in compilers() {
            let half = if compiler == GCC { half } else { 1 - half };
            let taken = flag_sets().into_iter().enumerate().filter(|(at, _)| at % 2 == half);
            for (_, flags) in taken {
                object(&folder, compiler, "net.c", "net.o", flags);
                assert_eq!(foreign(&folder, "net.o").unwrap_or_default(), [""; 0], "{flags:?}");
                driver::check(&folder, compiler, &["net.o"], &calls);
            }
        }
    }
}

/// Without the pragma, gcc fuses operations that must stay split: the test of the flags would
/// notice.
#[test]
#[cfg(target_arch = "x86_64")]
fn split_operations_stay_split_because_of_the_pragma() {
    let Some(gcc) = gcc().filter(|_| has("objdump")) else { return };
    let options = Options::default().with_fma(Fma::Off);
    let compilation = cases::compiled("gru_cell_clip", &options);
    let folder = folder("contraction");
    cases::write(&folder, &compilation, "net");
    let text = fs::read_to_string(folder.join("net.c")).expect("written");
    let pragma = "#pragma GCC optimize(\"fp-contract=off\")\n";
    assert!(text.contains(pragma));
    fs::write(folder.join("without.c"), text.replace(pragma, "")).expect("written");
    let fused = |source: &str| {
        object(&folder, gcc, source, "net.o", &["-std=gnu11", "-O2", "-mfma"]);
        let listing =
            String::from_utf8(succeed(&folder, "objdump", &["-d", "net.o"])).expect("ASCII");
        listing.matches("vfmadd").count()
    };
    assert_eq!(fused("net.c"), 0);
    assert!(fused("without.c") > 0);
}

/// The test for foreign symbols can fail.
#[test]
fn a_call_of_libm_would_be_seen() {
    let Some(gcc) = gcc() else { return };
    let folder = folder("foreign");
    fs::write(
        folder.join("planted.c"),
        "#include <math.h>\nfloat f(float x) { return tanhf(x); }\n",
    )
    .expect("written");
    object(&folder, gcc, "planted.c", "planted.o", &["-O2"]);
    if let Some(foreign) = foreign(&folder, "planted.o") {
        assert_eq!(foreign, ["tanhf"]);
    }
}

/// No access outside of an array, and no undefined behaviour.
#[test]
fn sanitisers_find_nothing() {
    let folder = folder("sanitisers");
    let flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    for compiler in compilers() {
        if !compiler_works(compiler.c, &flags, ONE_LINE, Far::Run) {
            skip(&format!("no sanitisers of {}", compiler.c));
            continue;
        }
        for case in ["gru_cell_clip", "gru_cell_params", "rnn_cell_relu_clip"] {
            let compilation = cases::compiled(case, &Options::default());
            cases::write(&folder, &compilation, "net");
            object(&folder, compiler, "net.c", "net.o", &flags);
            let objects = ["net.o", "-fsanitize=address,undefined"];
            driver::check(&folder, compiler, &objects, &driver::calls(&compilation));
        }
    }
}

#[test]
fn the_header_is_cpp_too() {
    let folder = folder("cpp");
    for case in ["gru_cell_lbr1", "gru_cell_params"] {
        let compilation = cases::compiled(case, &Options::default());
        cases::write(&folder, &compilation, "net");
        fs::write(
            folder.join("main.cpp"),
            "#include \"net.h\"
#include \"net.h\"
int main() { return net_isa_available(net_isa_detect()) && net_isa_name(NET_ISA_GENERIC)[0] == 'g' ? 0 : 1; }\n",
        )
        .expect("written");
        for compiler in compilers() {
            object(&folder, compiler, "net.c", "net.o", &["-O1"]);
            for standard in ["-std=c++11", "-std=gnu++20"].into_iter().filter(|_| has(compiler.cpp))
            {
                let arguments = [STRICT, &[standard, "main.cpp", "net.o", "-o", "main"]].concat();
                succeed(&folder, compiler.cpp, &arguments);
                succeed(&folder, "./main", &[]);
            }
        }
    }
}

/// Flags that permit a compiler to change results.
const FAST_MATH: [&str; 6] = [
    "-ffast-math",
    "-Ofast",
    "-ffinite-math-only",
    "-funsafe-math-optimizations",
    "-freciprocal-math",
    "-fno-signed-zeros",
];

/// The remedy in a refusal works for every flag: the file then compiles, and its bits are right.
#[test]
fn fast_math_is_refused_with_its_remedy() {
    let compilation = cases::compiled("gru_cell_clip", &Options::default());
    let folder = folder("fast-math");
    cases::write(&folder, &compilation, "net");
    let calls = driver::calls(&compilation);
    for compiler in compilers() {
        // clang defines no macro for the other flags
        for flag in if compiler == GCC { &FAST_MATH[..] } else { &FAST_MATH[..3] } {
            let output = run(&folder, compiler.c, &[flag, "-c", "net.c"]);
            assert!(!output.status.success(), "{} {flag}", compiler.c);
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(text.contains("add -fno-fast-math for this file alone"), "{text}");
            let line =
                "set_source_files_properties(net.c PROPERTIES COMPILE_OPTIONS -fno-fast-math)";
            assert!(text.contains(line), "{text}");
        }
        // clang warns about a flag that another flag overrides
        for flag in FAST_MATH {
            object(
                &folder,
                compiler,
                "net.c",
                "net.o",
                &["-fsyntax-only", flag, "-fno-fast-math", "-Wno-error"],
            );
        }
        object(&folder, compiler, "net.c", "net.o", &["-Ofast", "-fno-fast-math", "-Wno-error"]);
        driver::check(&folder, compiler, &["net.o"], &calls);
    }
}

/// Only the preprocessor runs, with the macros of a big-endian machine.
#[test]
fn narrow_weights_are_refused_where_the_most_significant_byte_is_first() {
    let Some(gcc) = gcc() else { return };
    let refused = "take --precision f32, bf16, int16 or int8";
    let options = |precision| Options::default().with_precision(Some(precision));
    let all = [
        (refused, options(Precision::F16)),
        (refused, options(Precision::Int8x16)),
        // 32-bit words are the same in every order of bytes
        ("", options(Precision::F32)),
        ("", options(Precision::Bf16)),
        ("", options(Precision::Int16)),
        ("", options(Precision::Int8)),
        ("--weights-as inline", Options::default().with_weights_as(WeightsAs::File)),
    ];
    for (remedy, options) in all {
        let folder = folder("big-endian");
        cases::write(&folder, &cases::compiled("gru_cell_128_f32", &options), "net");
        let big = [
            "-E",
            "-o",
            "/dev/null",
            "-Wno-builtin-macro-redefined",
            "-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__",
        ];
        let output = run(&folder, gcc.c, &[&big[..], &["net.c"]].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), remedy.is_empty(), "{text}");
        assert!(text.contains(remedy), "{text}");
    }
}

/// A network of few weights is computed in scalars, without extensions of compilers. An assembler
/// directive includes a file of weights.
#[test]
fn files_of_small_networks_say_which_extensions_they_take() {
    for (weights_as, is_bare) in [(WeightsAs::Inline, true), (WeightsAs::File, false)] {
        let options = Options::default().with_weights_as(weights_as);
        let folder = folder("bare");
        cases::write(&folder, &cases::compiled("gru_cell_min", &options), "net");
        let text = fs::read_to_string(folder.join("net.c")).expect("the source");
        assert_eq!(text.contains("C11 without extensions"), is_bare, "{weights_as:?}");
        assert_eq!(text.contains("__asm__("), !is_bare, "{weights_as:?}");
    }
}

/// Only the preprocessor runs, with the macros of other machines. A machine whose vectors flush
/// subnormal numbers compiles a body of one lane, a body that computes such a step again, or no
/// body.
#[test]
fn vectors_that_flush_are_refused_where_nothing_takes_their_place() {
    let Some(gcc) = gcc() else { return };
    let folder = folder("flushing-vectors");
    fs::write(folder.join("arm_mve.h"), "").expect("the header of Helium's intrinsics");
    let isas = |names: &[&str]| {
        Some(names.iter().map(|name| Isa::from_name(name).expect("an instruction set")).collect())
    };
    let all = [
        (None, true),
        (isas(&[]), false),
        (isas(&["avx2"]), false),
        (isas(&["scalar"]), true),
        (isas(&["helium"]), true),
    ];
    for (isas, compiles) in all {
        let options = Options::default().with_isas(isas);
        cases::write(&folder, &cases::compiled("gru_cell_min", &options), "net");
        for (machine, is_refused) in
            [("-D__ARM_FEATURE_MVE=3", !compiles), ("-D__ARM_NEON=1", !compiles), ("-DNONE", false)]
        {
            let output = run(
                &folder,
                gcc.c,
                &["-E", "-o", "/dev/null", "-U__SSE2__", "-I.", machine, "net.c"],
            );
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.success(),
                !is_refused,
                "{:?} {machine}: {text}",
                options.machine.isas
            );
            assert_eq!(text.contains("generate it with scalar in --isa"), is_refused, "{text}");
        }
    }
}

/// The refusal is one line, without further messages.
#[test]
fn the_source_is_no_cpp() {
    let compilation = cases::compiled("gru_cell_min", &Options::default());
    let folder = folder("source-as-cpp");
    cases::write(&folder, &compilation, "net");
    for compiler in compilers().into_iter().filter(|compiler| has(compiler.cpp)) {
        let output = run(&folder, compiler.cpp, &["-x", "c++", "-c", "net.c"]);
        assert!(!output.status.success(), "{}", compiler.cpp);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("compile this file as C, and include its header in C++"), "{text}");
        assert_eq!(text.matches("error:").count(), 1, "{text}");
    }
}

/// The line for CMake works in a project whose other files are compiled with -ffast-math, one of
/// them C++.
#[test]
fn the_line_for_cmake_helps() {
    let folder = folder("fast-math-cmake");
    if !has("cmake") {
        return;
    }
    let compilation = cases::compiled("gru_cell_clip", &generic());
    cases::write(&folder, &compilation, "net");
    fs::write(
        folder.join("main.cpp"),
        "#ifndef __FAST_MATH__
#error \"the other files keep the flag\"
#endif
#include \"net.h\"
int main() { net cell; net_init(&cell); return 0; }\n",
    )
    .expect("written");
    let project = |line: &str| {
        let text = format!(
            "cmake_minimum_required(VERSION 3.11)\nproject(p C CXX)\nadd_compile_options(-ffast-math)\nadd_executable(p main.cpp net.c)\n{line}\n"
        );
        fs::write(folder.join("CMakeLists.txt"), text).expect("written");
        succeed(&folder, "cmake", &["-S", ".", "-B", "build"]);
        run(&folder, "cmake", &["--build", "build"])
    };
    let refused = project("");
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&[refused.stdout, refused.stderr].concat()).into_owned();
    let start = text.find("set_source_files_properties(").expect("the line is said");
    let line = &text[start..][..text[start..].find(')').expect("its end") + 1];
    let built = project(line);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    succeed(&folder, "./build/p", &[]);
}

/// A file of weights next to the source is found from the working directory, by -I and by name, and
/// is included by the assembler or by `#embed`.
#[test]
fn weights_in_a_file() {
    let options = generic().with_weights_as(WeightsAs::File);
    let compilation = cases::compiled("gru_cell_clip_lbr1", &options);
    let folder = folder("weights-file");
    let beside = folder.join("src");
    fs::create_dir(&beside).expect("a folder");
    cases::write(&beside, &compilation, "net");
    let weights = "net.c.weights.bin";
    let contents = fs::read(beside.join(weights)).expect("the file of weights");
    assert!(contents.starts_with(&compilation.packed.bytes));
    // a file without the tail, a file that is too short, and a file that is too long
    let (short, long) = (&contents[..contents.len() - 1], [&contents[..], &[0]].concat());
    let others: [&[u8]; 3] = [&compilation.packed.bytes, short, &long];
    let calls = driver::calls(&compilation);
    fs::copy(beside.join("net.h"), folder.join("net.h")).expect("copied");
    let elsewhere = format!("-DNET_WEIGHTS_FILE=\"{}\"", beside.join(weights).display());
    for compiler in compilers() {
        object(&beside, compiler, "net.c", "../net.o", &["-O2"]);
        driver::check(&folder, compiler, &["net.o"], &calls);
        for flags in [
            &["-O2", "-Isrc", "-fPIC", "-g"],
            &["-O1", "-Isrc", "-std=gnu11", "-fPIE"],
            // the assembler runs when linking, in another folder; clang needs a linker that may be
            // missing
            &["-O2", &elsewhere, "-fPIE", if compiler == GCC { "-flto" } else { "-g" }],
        ] {
            object(&folder, compiler, "src/net.c", "net.o", flags);
            driver::check(&folder, compiler, &["net.o"], &calls);
        }
        let output = run(&folder, compiler.c, &["-c", "src/net.c"]);
        assert!(!output.status.success(), "the weights cannot be found from here");
        for other in others {
            fs::write(folder.join("other.bin"), other).expect("written");
            let output =
                run(&folder, compiler.c, &["-DNET_WEIGHTS_FILE=\"other.bin\"", "-c", "src/net.c"]);
            assert!(!output.status.success(), "{} bytes are not those of this source", other.len());
        }
        fs::write(folder.join("embed.c"), "#ifndef __has_embed\n#error none\n#endif\n")
            .expect("written");
        if run(&folder, compiler.c, &["-c", "embed.c"]).status.success() {
            object(&folder, compiler, "src/net.c", "net.o", &["-O2", "-DNET_EMBED"]);
            driver::check(&folder, compiler, &["net.o"], &calls);
        } else {
            skip(&format!("no #embed in {}", compiler.c));
            let output = run(&folder, compiler.c, &["-DNET_EMBED", "-c", "src/net.c"]);
            assert!(String::from_utf8_lossy(&output.stderr).contains("--weights-as inline"));
        }
    }
}

/// Several generated files in one program, and in one translation unit.
#[test]
fn files_do_not_meet() {
    let folder = folder("together");
    let cases = ["gru_cell_lbr0", "gru_cell_lbr1", "rnn_cell_tanh", "gru_cell_params"];
    let mut unit = String::new();
    let mut main = String::new();
    for case in cases {
        let options = Options::default().with_name(Some(case.to_owned()));
        let compilation = cases::compiled(case, &options);
        cases::write(&folder, &compilation, case);
        unit += &format!("#include \"{case}.c\"\n");
        main = format!("#include \"{case}.h\"\n{main}");
    }
    fs::write(folder.join("unit.c"), unit).expect("written");
    fs::write(
        folder.join("main.c"),
        main + "int main(void) { return (int)gru_cell_lbr0_isa_detect() < 0; }\n",
    )
    .expect("written");
    for compiler in compilers() {
        object(&folder, compiler, "unit.c", "unit.o", &["-O1"]);
        let mut objects = Vec::new();
        for case in cases {
            let name = format!("{case}.o");
            object(&folder, compiler, &format!("{case}.c"), &name, &["-O1"]);
            objects.push(name);
        }
        object(&folder, compiler, "main.c", "main.o", &[]);
        let mut arguments = vec!["main.o", "-o", "main"];
        arguments.extend(objects.iter().map(String::as_str));
        succeed(&folder, compiler.c, &arguments);
        succeed(&folder, "./main", &[]);
    }
}

/// A file that includes itself compiles from another folder, with other paths in its messages, and
/// under another name.
#[test]
fn a_file_that_includes_itself_is_found() {
    let options = Options::default().with_target(&arch::X86_64);
    let compilation = cases::compiled("gru_cell_params", &options);
    let folder = folder("itself");
    fs::create_dir(folder.join("sources")).expect("a folder");
    cases::write(&folder.join("sources"), &compilation, "net");
    let source = folder.join("sources/net.c");
    assert!(fs::read_to_string(&source).expect("written").contains("#include NET_FILE"));
    let renamed = folder.join("sources/renamed.c");
    for compiler in compilers() {
        object(
            &folder,
            compiler,
            "sources/net.c",
            "net.o",
            &["-ffile-prefix-map=sources=elsewhere"],
        );
        fs::rename(&source, &renamed).expect("renamed");
        object(&folder, compiler, &renamed.to_string_lossy(), "renamed.o", &[]);
        let named = "-DNET_FILE=\"renamed.c\"";
        object(&folder, compiler, "sources/renamed.c", "named.o", &[named]);
        fs::rename(&renamed, &source).expect("renamed");
    }
}

/// Names of a model that have a meaning in C or in the generated file, or that end a comment.
#[test]
fn no_name_becomes_code() {
    let folder = folder("names");
    let case = cases::corpus().join("gru_cell_lbr1");
    let xml = fs::read_to_string(case.join("model.xml")).expect("the model");
    fs::copy(case.join("model.bin"), folder.join("model.bin")).expect("copied");
    assert!(xml.contains("names=\"x\"") && xml.contains("name=\"cell\""));
    let names = [
        "i",
        "j",
        "k",
        "inputs",
        "outputs",
        "packed",
        "self",
        "isa",
        "memcpy",
        "size_t",
        "uint32_t",
        "linux",
        "unix",
        "errno",
        "net_load4",
        "net_f32x16",
        "net_tanh4_generic",
        "net_cell0_generic",
        "net_run",
        "net_weight_data",
        "net",
        "*/ int x; /*",
        "??/",
        "// \\",
        "&quot;); system(&quot;ls",
        "&#10;#error&#10;",
        "\u{202e}x",
        "__attribute__",
        "NULL",
        "near",
    ];
    for (i, name) in names.iter().enumerate() {
        let text = xml
            .replace("names=\"x\"", &format!("names=\"{name}\""))
            .replace("name=\"cell\"", &format!("name=\"{name}\""));
        let path = folder.join("model.xml");
        fs::write(&path, text).expect("written");
        let model = cellc::internals::front::formats::read(&path, &Default::default())
            .expect("any name is read")
            .model;
        let options = Options::default()
            .with_name(Some("net".to_owned()))
            .with_language(cellc::Language::C)
            .with_isas(Some(vec![if i % 2 == 0 { &arch::AVX2 } else { &arch::AVX512 }]));
        let compilation =
            cellc::internals::compile::compile(&model, &options).expect("any name is compiled");
        cases::write(&folder, &compilation, "net");
        for compiler in compilers() {
            object(&folder, compiler, "net.c", "net.o", &["-std=gnu11", "-fsyntax-only"]);
        }
        fs::write(
            folder.join("all.c"),
            "#include <errno.h>\n#include <math.h>\n#include <stdio.h>\n#include <unistd.h>\n#include \"net.h\"\n",
        )
        .expect("written");
        if let Some(gcc) = gcc() {
            object(&folder, gcc, "all.c", "all.o", &["-std=gnu11"]);
            assert_eq!(undefined(&folder, "all.o").unwrap_or_default(), [""; 0]);
        }
    }
}

/// The user names the files on disk: the names may contain anything.
#[test]
fn no_file_name_becomes_code() {
    let folder = folder("file-names");
    for stem in ["a b", "a\"b", "a\\b", "gr\u{fc}", "a'b", "a??)b", "a%sb"] {
        for weights_as in [WeightsAs::Inline, WeightsAs::File] {
            let compilation =
                cases::compiled("gru_cell_min", &Options::default().with_weights_as(weights_as));
            cases::write(&folder, &compilation, stem);
            let calls = driver::calls(&compilation);
            fs::copy(folder.join(format!("{stem}.h")), folder.join("net.h")).expect("copied");
            // gcc's own assembly is wrong if the name of the source contains a quote
            fs::copy(folder.join(format!("{stem}.c")), folder.join("source.c")).expect("copied");
            for compiler in compilers() {
                object(&folder, compiler, "source.c", "net.o", &["-O1", "-std=c11"]);
                driver::check(&folder, compiler, &["net.o"], &calls);
            }
        }
    }
}

#[test]
fn same_input_same_bytes() {
    let text = || cases::compiled("gru_cell_clip", &Options::default()).emit("net");
    assert_eq!(text(), text());
    for file in text() {
        let text = String::from_utf8(file.bytes.to_vec()).expect("C is text");
        assert!(text.is_ascii() && !text.contains(env!("CARGO_MANIFEST_DIR")), "{}", file.name);
        assert!(
            text.lines().all(|line| line.len() <= 120 && line.trim_end() == line),
            "{}",
            file.name
        );
    }
}

/// Each body as the only one besides the generic body, and the generic body alone.
#[test]
fn any_list_of_instruction_sets() {
    for isas in [vec![], vec![&arch::AVX2], vec![&arch::AVX512]] {
        let folder = folder(&format!("isas-{}", isas.first().map_or("none", |isa| isa.name)));
        let only = isas.is_empty();
        let compilation =
            cases::compiled("gru_cell_relu", &Options::default().with_isas(Some(isas)));
        cases::write(&folder, &compilation, "net");
        if only {
            let text = fs::read_to_string(folder.join("net.c")).expect("written");
            assert!(!text.contains("immintrin.h") && !text.contains("cpuid"));
        }
        for compiler in compilers() {
            object(&folder, compiler, "net.c", "net.o", &["-O2"]);
            let ran = driver::check(&folder, compiler, &["net.o"], &driver::calls(&compilation));
            assert!(!only || ran == 1);
        }
    }
}

/// Run-time weights of Apple's operation, in Apple's terms, give the bits of equal constant
/// weights.
#[test]
fn apples_weights_at_run_time() {
    const SIZES: [(&str, usize); 6] = [
        ("input_hidden_weight", 15 * 3),
        ("hidden_hidden_weight", 15 * 5),
        ("bias", 15),
        ("input_bias", 15),
        ("input", 4 * 2 * 3),
        ("initial_hidden_states", 2 * 5),
    ];
    // values for which a sum of two is rounded
    let value = |i: usize| ((i * 7919 + 12345) % 99991) as f32 / 49999.0 - 1.0;
    let arrays: Vec<Vec<f32>> = SIZES
        .iter()
        .enumerate()
        .map(|(k, (_, len))| (0..*len).map(|i| value(1000 * k + i)).collect())
        .collect();
    let mut data = String::new();
    for ((name, _), values) in SIZES.iter().zip(&arrays) {
        let values: Vec<_> = values.iter().map(|value| format!("{value:e}f")).collect();
        data += &format!("static const float {name}[] = {{{}}};\n", values.join(", "));
    }
    for gate in [
        AppleResetGate::BeforeMatMul,
        AppleResetGate::AfterMatMul,
        AppleResetGate::AfterMatMulOuterBias,
    ] {
        let tensors = if gate == AppleResetGate::AfterMatMul { 4 } else { 3 };
        let folder = folder(&format!("apple-{gate:?}"));
        let given: Vec<&[f32]> = arrays[..tensors].iter().map(|values| &values[..]).collect();
        let builder = Builder::apple_gru(5, 3, 4)
            .batch(2)
            .reset_gate(gate)
            .isa([])
            .language(Language::C)
            .out_dir(&folder);
        builder.clone().name("run_time").compile().expect("weights at run time");
        builder
            .name("baked")
            .weights_of(Framework::Apple, &given)
            .compile()
            .expect("weights in the source");
        let weights: Vec<_> =
            SIZES[..tensors].iter().map(|(name, _)| format!(".{name} = {name}")).collect();
        let main = format!(
            "#include \"baked.h\"
#include \"run_time.h\"
#include <string.h>
{data}
static run_time_packed packed;
static float outputs[2][40], states[2][10];
int main(void) {{
    const run_time_weights weights = {{{}}};
    run_time cell;
    baked same;
    run_time_pack(&weights, &packed);
    run_time_init(&cell, &packed);
    baked_init(&same);
    memcpy(cell.initial_hidden_states, initial_hidden_states, sizeof cell.initial_hidden_states);
    memcpy(same.initial_hidden_states, initial_hidden_states, sizeof same.initial_hidden_states);
    run_time_step(&cell, input, outputs[0], states[0]);
    baked_step(&same, input, outputs[1], states[1]);
    if (outputs[0][39] == 0) return 2;
    return memcmp(outputs[0], outputs[1], sizeof outputs[0]) || memcmp(states[0], states[1], sizeof states[0]);
}}
",
            weights.join(", ")
        );
        fs::write(folder.join("main.c"), main).expect("written");
        for compiler in compilers() {
            for name in ["run_time", "baked"] {
                object(&folder, compiler, &format!("{name}.c"), &format!("{name}.o"), &["-O2"]);
            }
            succeed(&folder, compiler.c, &["-w", "main.c", "run_time.o", "baked.o", "-o", "main"]);
            succeed(&folder, "./main", &[]);
        }
    }
}

/// The C compiler includes a large model's weights without reading them as text.
#[test]
fn the_file_of_weights_is_not_text() {
    let compilation =
        cases::compiled("gru_cell_128_f32", &Options::default().with_weights_as(WeightsAs::File));
    let source = compilation.emit("net").pop().expect("the source");
    let weights = compilation.packed.bytes.len();
    assert!(source.bytes.len() < weights, "{} bytes, and {weights} of weights", source.bytes.len());
    let names: Vec<_> = compilation.emit("net").into_iter().map(|file| file.name).collect();
    assert_eq!(
        names,
        ["net.c.weights.bin", "net.h", "net.c"].map(|name| Path::new(name).display().to_string())
    );
}

/// The bytes of a section of an object; 0 without such a section.
fn section(folder: &Path, object: &str, name: &str) -> usize {
    let listing = String::from_utf8(succeed(folder, "objdump", &["-h", object]))
        .expect("objdump prints ASCII");
    let rows = listing.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let size = |row: Vec<&str>| {
        (row.get(1) == Some(&name)).then(|| usize::from_str_radix(row[2], 16).expect("a size"))
    };
    rows.filter_map(size).sum()
}

/// Firmware puts weights into a named section of its linker, both inline weights and weights in a
/// file.
#[test]
fn weights_go_to_the_section_that_is_named() {
    if !has("objdump") {
        return;
    }
    const ARM: Compiler = Compiler { c: "arm-none-eabi-gcc", cpp: "arm-none-eabi-g++" };
    let named = "-DNET_WEIGHTS_SECTION=\".qspi\"";
    for weights_as in [WeightsAs::Inline, WeightsAs::File] {
        let compilation = cases::compiled("gru_cell_lbr1", &generic().with_weights_as(weights_as));
        let bytes = compilation.packed.bytes.len();
        let folder = folder(&format!("sections-{weights_as:?}"));
        cases::write(&folder, &compilation, "net");
        let arm = has(ARM.c).then_some((ARM, "-mcpu=cortex-m4"));
        for (compiler, machine) in
            compilers().into_iter().map(|compiler| (compiler, "-O1")).chain(arm)
        {
            let sizes = |flag: &str| {
                object(&folder, compiler, "net.c", "net.o", &["-std=c11", machine, flag]);
                [".qspi", ".rodata"].map(|name| section(&folder, "net.o", name))
            };
            let [none, together] = sizes("-DNOTHING");
            assert_eq!(none, 0, "{compiler:?} {weights_as:?}");
            assert!(together >= bytes, "{compiler:?} {weights_as:?}: {together}, not {bytes}");
            let [alone, rest] = sizes(named);
            assert_eq!(alone, bytes, "{compiler:?} {weights_as:?}");
            // the weights are aligned to 64 bytes, after the other data
            let others = together - bytes;
            assert!(
                rest <= others && others < rest + 64,
                "{compiler:?} {weights_as:?}: {rest}, {others} with weights"
            );
            if compiler != ARM {
                driver::check(&folder, compiler, &["net.o"], &driver::calls(&compilation));
            }
        }
    }
}

/// The commands and the linker script of docs/microcontrollers.md put weights, state and code
/// where the page says.
#[test]
fn firmware_is_linked_as_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/microcontrollers.md");
    let page = fs::read_to_string(page).expect("the page");
    let block = |start: &str| {
        let mut blocks = page.split("```").skip(1).step_by(2);
        blocks
            .find(|block| block.contains(start))
            .and_then(|block| block.split_once('\n'))
            .expect(start)
            .1
            .to_owned()
    };
    let compiler = "arm-none-eabi-gcc";
    if !has(compiler) || !has("nm") {
        return;
    }
    let folder = folder("firmware");
    let case = Builder::new(cases::corpus().join("gru_cell_lbr1").join("model.xml")).name("gru");
    let target = Arch::from_name("cortex-m4f").expect("a target");
    case.target(target).language(Language::C).out_dir(&folder).compile().expect("it is compiled");
    let state = block("section(\".dtcm\")").replace("static gru net;", "gru net;");
    let handler =
        block("DMA1_Stream5_IRQHandler").split_once("\n").expect("a function").1.to_owned();
    let main = "int main(void) { gru_init(&net); for (;;) { } }";
    let arrays =
        "float input[GRU_X_SIZE], output[GRU_H_OUT_SIZE];\nvoid DMA1_Stream5_IRQHandler(void);";
    fs::write(
        folder.join("main.c"),
        format!("#include \"gru.h\"\n{arrays}\n{state}{handler}{main}\n"),
    )
    .expect("written");
    fs::write(folder.join("firmware.ld"), block("MEMORY {")).expect("written");
    let words: Vec<String> = block("GRU_WEIGHTS_SECTION=\".qspi\"' -c")
        .replace('\'', "")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    succeed(&folder, words[0], &words[1..]);
    let (machine, _) = words[1..].split_at(3);
    let link = [
        "-nostartfiles",
        "--specs=nosys.specs",
        "-Wl,-e,main",
        "-T",
        "firmware.ld",
        "main.c",
        "gru.o",
        "-o",
        "firmware",
    ];
    succeed(&folder, compiler, &[machine, &link].concat());
    let symbols = String::from_utf8(succeed(&folder, "nm", &["firmware"])).expect("ASCII");
    let at = |symbol: &str| {
        let line =
            symbols.lines().find(|line| line.ends_with(&format!(" {symbol}"))).expect(symbol);
        u32::from_str_radix(&line[..8], 16).expect("an address") >> 24
    };
    let places = ["gru_weight_data", "net", "gru_step", "main"].map(at);
    assert_eq!(places, [0x90, 0x20, 0x00, 0x08]);
}

/// The struct holds all that a step changes: a file for a machine without detection of instruction
/// sets has no memory of its own.
#[test]
fn firmware_has_no_memory_of_its_own() {
    let compiler = "arm-none-eabi-gcc";
    if !has(compiler) || !has("nm") {
        return;
    }
    for case in ["gru_cell_min", "stateful_gru", "ti_gru"] {
        let folder = folder(&format!("memory-{case}"));
        let builder = Builder::new(cases::corpus().join(case).join("model.xml"))
            .name("net")
            .language(Language::C);
        builder.interface("cellc_model.h").out_dir(&folder).compile().expect("it is compiled");
        let flags = [STRICT, &["-mcpu=cortex-m4", "-std=c11", "-Os", "-c", "net.c", "-o", "net.o"]]
            .concat();
        succeed(&folder, compiler, &flags);
        let sizes = [".data", ".bss", ".rodata"].map(|name| section(&folder, "net.o", name));
        assert!(sizes[0] == 0 && sizes[1] == 0 && sizes[2] > 0, "{case}: {sizes:?}");
    }
}
