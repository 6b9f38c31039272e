//! The machines.

use cellc::internals::arch;
use cellc::{Fma, Language, Options, WeightsAs};

/// A machine that generated code is compiled for, and its emulator. In arguments, `FOLDER` stands
/// for `tests/machines`.
#[derive(Debug)]
pub struct Machine {
    /// The name.
    pub name: &'static str,
    /// The compiler with its fixed arguments.
    pub compiler: &'static [&'static str],
    /// The target of Rust; empty for C. With a target, `compiler` is a cargo, and `linker` compiles
    /// the C around the Rust.
    pub rust: &'static str,
    /// Further arguments of the compiler, after all others.
    pub flags: &'static [&'static str],
    /// The linker with its fixed arguments. Empty: the compiler links.
    pub linker: &'static [&'static str],
    /// Further arguments of the linker.
    pub link: &'static [&'static str],
    /// The files of `tests/machines` in every program.
    pub start: &'static [&'static str],
    /// The emulator with its arguments in front of the program.
    pub emulator: &'static [&'static str],
    /// The program that lists the sections of an object.
    pub size: &'static str,
    /// The options of cellc for the machine.
    pub options: fn() -> Options,
    /// True if the least significant byte of a number comes first. Weights of fewer bits are laid
    /// out for this order of bytes.
    pub little_endian: bool,
    /// The estimate of `cellc inspect`, for comparison with counts. `None`: no estimate is compared.
    pub estimate: Option<Estimate>,
}

/// The estimate of `cellc inspect` for a machine.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The instruction set that the compiler's flags select. `None`: the usual one of the target.
    pub isa: Option<&'static str>,
    /// The maximum difference between an estimate and a count, in percent.
    pub most_off: u64,
}

impl Estimate {
    const USUAL: Self = Self { isa: None, most_off: 15 };

    const fn of_isa(isa: &'static str) -> Self {
        Self { isa: Some(isa), ..Self::USUAL }
    }

    /// For machines with rows of a batch that share 8-bit weights.
    const SHARED_WEIGHTS: Self = Self { most_off: 17, ..Self::USUAL };
}

/// The command of QEMU for a board without an operating system.
macro_rules! board {
    ($name:literal) => {
        &[
            "qemu-system-arm",
            "-M",
            $name,
            "-display",
            "none",
            "-serial",
            "none",
            "-monitor",
            "none",
            "-semihosting-config",
            "enable=on,target=native",
            "-kernel",
        ]
    };
}

/// The arguments that link a program without an operating system.
macro_rules! bare {
    ($script:literal) => {
        &["-nostartfiles", "-LFOLDER", concat!("-T", $script)]
    };
}

/// The options of a target.
macro_rules! target {
    ($name:ident) => {
        || Options::default().with_target(&arch::$name).with_language(Language::C)
    };
}

/// The options for C on any machine.
fn any() -> Options {
    Options::default().with_language(Language::C)
}

/// The options of a target, for Rust.
macro_rules! rust {
    ($name:ident) => {
        || Options::default().with_target(&arch::$name)
    };
}

/// The options for C on any machine, with the weights in files.
fn files() -> Options {
    any().with_weights_as(WeightsAs::File)
}

/// The options for the generic body alone.
fn generic() -> Options {
    Options::default().with_isas(Some(Vec::new()))
}

/// The common properties of all machines with Linux.
const LINUX: Machine = Machine {
    name: "",
    compiler: &[],
    rust: "",
    flags: &[],
    linker: &[],
    link: &["-static"],
    start: &["hosted.c", "marks.c"],
    emulator: &[],
    size: "size",
    options: any,
    little_endian: true,
    estimate: None,
};

/// Windows, emulated by Wine. Objects are in COFF.
const WINDOWS: Machine = Machine {
    name: "x86_64-windows",
    compiler: &["x86_64-w64-mingw32-gcc-posix"],
    emulator: &["/usr/lib/wine/wine64"],
    size: "x86_64-w64-mingw32-size",
    ..LINUX
};

/// The common properties of all Cortex-M.
const CORTEX_M: Machine = Machine {
    compiler: &[],
    link: bare!("an386.ld"),
    start: &["cortex-m.c", "marks.c"],
    size: "arm-none-eabi-size",
    options: generic,
    ..LINUX
};

/// Cortex-M3, without a floating-point unit.
pub static CORTEX_M3: Machine = Machine {
    name: "cortex-m3",
    compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"],
    emulator: board!("mps2-an385"),
    options: target!(CORTEX_M3),
    estimate: Some(Estimate::USUAL),
    ..CORTEX_M
};

const CORTEX_M4F_GCC: &[&str] =
    &["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"];

/// Cortex-M4F, with a floating-point unit of single precision.
pub static CORTEX_M4F: Machine = Machine {
    name: "cortex-m4f",
    compiler: CORTEX_M4F_GCC,
    emulator: board!("mps2-an386"),
    options: target!(CORTEX_M4F),
    estimate: Some(Estimate::USUAL),
    ..CORTEX_M
};

/// Cortex-M55, with Helium.
pub static CORTEX_M55: Machine = Machine {
    name: "cortex-m55",
    compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"],
    link: bare!("an547.ld"),
    emulator: board!("mps3-an547"),
    options: target!(CORTEX_M55),
    estimate: Some(Estimate::SHARED_WEIGHTS),
    ..CORTEX_M
};

/// Linux on Arm of 64 bits, without a compiler.
const LINUX_ON_AARCH64: Machine =
    Machine { emulator: &["qemu-aarch64"], size: "aarch64-linux-gnu-size", ..LINUX };

/// Linux on Arm of 32 bits.
const ARMHF: Machine = Machine {
    compiler: &["arm-linux-gnueabihf-gcc"],
    emulator: &["qemu-arm"],
    size: "arm-linux-gnueabihf-size",
    ..LINUX
};

/// Linux on RISC-V with vectors of 128 bits.
const RISCV64_VECTOR: Machine = Machine {
    name: "riscv64-vector",
    compiler: &["clang-19", "--target=riscv64-linux-gnu", "-march=rv64gcv"],
    linker: &["riscv64-linux-gnu-gcc"],
    emulator: &["qemu-riscv64", "-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0"],
    size: "riscv64-linux-gnu-size",
    options: target!(RISCV64),
    // clang compiles vectors of 16, 8, 4 and 2 lanes differently
    estimate: Some(Estimate { most_off: 30, ..Estimate::of_isa("rvv") }),
    ..LINUX
};

/// Linux on RISC-V.
const RISCV64: Machine = Machine {
    name: "riscv64",
    compiler: &["riscv64-linux-gnu-gcc"],
    emulator: &["qemu-riscv64"],
    size: "riscv64-linux-gnu-size",
    options: target!(RISCV64),
    estimate: Some(Estimate::SHARED_WEIGHTS),
    ..LINUX
};

/// WebAssembly in node.
const WASM: Machine = Machine {
    name: "wasm32",
    compiler: &["clang-19", "--target=wasm32", "-isystem", "FOLDER/wasm"],
    link: &["-nostdlib", "-Wl,--no-entry", "-Wl,--export=main", "-Wl,--allow-undefined"],
    start: &["wasm/wasm.c", "marks.c"],
    emulator: &["node", "FOLDER/wasm/run.mjs"],
    size: "llvm-size-19",
    options: target!(WASM32),
    ..LINUX
};

/// Linux on Arm of 64 bits.
pub static AARCH64: Machine = Machine {
    name: "aarch64",
    compiler: &["aarch64-linux-gnu-gcc"],
    options: target!(AARCH64),
    estimate: Some(Estimate::USUAL),
    ..LINUX_ON_AARCH64
};

/// Linux on Arm of 64 bits with dot products of bytes.
pub static AARCH64_DOTPROD: Machine = Machine {
    name: "aarch64-dotprod",
    compiler: &["aarch64-linux-gnu-gcc", "-march=armv8.2-a+dotprod"],
    emulator: &["qemu-aarch64", "-cpu", "max"],
    estimate: None,
    ..AARCH64
};

/// This machine, without a compiler.
const HERE: Machine = Machine { emulator: &["env"], options: target!(PORTABLE), ..LINUX };

/// C without extensions on this machine: strict compilers, compilers that may fuse multiply-add,
/// and a compiler that knows little more than C11.
pub static PORTABLE: [Machine; 5] = [
    Machine {
        name: "portable-gcc",
        compiler: &["gcc"],
        flags: &["-std=c11", "-pedantic-errors"],
        ..HERE
    },
    Machine { name: "portable-gcc-fma", compiler: &["gcc"], flags: &["-mavx2", "-mfma"], ..HERE },
    Machine {
        name: "portable-clang",
        compiler: &["clang-19"],
        flags: &["-std=c11", "-pedantic-errors"],
        ..HERE
    },
    Machine { name: "portable-tcc", compiler: &["tcc"], link: &[], ..HERE },
    Machine {
        name: "portable-aarch64",
        compiler: &["aarch64-linux-gnu-gcc"],
        options: target!(PORTABLE),
        ..LINUX_ON_AARCH64
    },
];

/// The machines whose tools `.ci/run` installs.
pub static INSTALLED: [&Machine; 4] = [&CORTEX_M3, &CORTEX_M4F, &CORTEX_M55, &AARCH64];

/// The machines whose tools `tests/machines/all` installs.
pub static BY_HAND: [Machine; 29] = [
    // for the cost of a file for any machine on a Cortex-M4F
    Machine {
        name: "cortex-m4f-any",
        compiler: CORTEX_M4F_GCC,
        emulator: board!("mps2-an386"),
        options: any,
        ..CORTEX_M
    },
    // for comparison with Rust on a Cortex-M4F
    Machine {
        name: "cortex-m4f-unfused",
        options: || (CORTEX_M4F.options)().with_fma(Fma::Off),
        estimate: None,
        ..CORTEX_M4F
    },
    Machine { name: "aarch64-any", compiler: &["aarch64-linux-gnu-gcc"], ..LINUX_ON_AARCH64 },
    Machine { name: "armhf-vfp-any", ..ARMHF },
    Machine { name: "riscv64-any", options: any, estimate: None, ..RISCV64 },
    Machine {
        name: "aarch64-rust-any",
        compiler: &["/usr/bin/cargo"],
        rust: "aarch64-unknown-linux-gnu",
        linker: &["aarch64-linux-gnu-gcc"],
        options: Options::default,
        ..LINUX_ON_AARCH64
    },
    Machine { name: "cortex-m55-any", options: any, estimate: None, ..CORTEX_M55 },
    // Cortex-M0, on the board of a Cortex-M3, which has more memory and all of its instructions
    Machine {
        name: "cortex-m0",
        compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
        emulator: board!("mps2-an385"),
        options: target!(CORTEX_M0),
        estimate: Some(Estimate::USUAL),
        ..CORTEX_M
    },
    Machine {
        name: "cortex-m7",
        compiler: &[
            "arm-none-eabi-gcc",
            "-mcpu=cortex-m7",
            "-mthumb",
            "-mfloat-abi=hard",
            "-mfpu=fpv5-sp-d16",
        ],
        emulator: board!("mps2-an500"),
        options: target!(CORTEX_M7),
        ..CORTEX_M
    },
    Machine {
        name: "cortex-m33",
        compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard"],
        link: bare!("an505.ld"),
        emulator: board!("mps2-an505"),
        options: target!(CORTEX_M33),
        ..CORTEX_M
    },
    Machine {
        name: "aarch64-clang",
        options: target!(AARCH64),
        compiler: &["clang-19", "--target=aarch64-linux-gnu"],
        linker: &["aarch64-linux-gnu-gcc"],
        ..LINUX_ON_AARCH64
    },
    Machine {
        name: "armhf-vfp",
        options: target!(ARMV7),
        estimate: Some(Estimate::USUAL),
        ..ARMHF
    },
    Machine {
        name: "armhf-neon",
        compiler: &["arm-linux-gnueabihf-gcc", "-mfpu=neon"],
        options: target!(ARMV7),
        estimate: Some(Estimate::of_isa("neon")),
        ..ARMHF
    },
    Machine {
        name: "armhf-neon-fma",
        compiler: &["arm-linux-gnueabihf-gcc", "-mfpu=neon-vfpv4"],
        options: target!(ARMV7),
        estimate: Some(Estimate::of_isa("neon_fma")),
        ..ARMHF
    },
    Machine {
        name: "armhf-neon-any",
        compiler: &["arm-linux-gnueabihf-gcc", "-mfpu=neon-vfpv4"],
        ..ARMHF
    },
    RISCV64,
    // without position-independent code, as for firmware: constants have fixed addresses, and each
    // constant of an activation takes one load
    Machine { name: "riscv64-no-pie", flags: &["-fno-pie"], estimate: None, ..RISCV64 },
    // vectors of 128 bits
    RISCV64_VECTOR,
    Machine { name: "riscv64-vector-any", options: any, estimate: None, ..RISCV64_VECTOR },
    // no floating-point unit; the program uses Linux for system calls only
    Machine {
        name: "riscv32",
        compiler: &[
            "riscv64-unknown-elf-gcc",
            "-march=rv32imac",
            "-mabi=ilp32",
            "--specs=picolibc.specs",
        ],
        link: &["-nostartfiles", "-TFOLDER/riscv32.ld"],
        start: &["riscv32.c", "marks.c"],
        emulator: &["qemu-riscv32"],
        size: "riscv64-unknown-elf-size",
        options: target!(RISCV32),
        estimate: Some(Estimate::USUAL),
        ..LINUX
    },
    // big-endian
    Machine {
        name: "s390x",
        compiler: &["s390x-linux-gnu-gcc"],
        flags: &["-fexcess-precision=fast"],
        emulator: &["qemu-s390x"],
        size: "s390x-linux-gnu-size",
        little_endian: false,
        ..LINUX
    },
    WASM,
    Machine { name: "wasm32-simd128", flags: &["-msimd128"], ..WASM },
    WINDOWS,
    Machine { name: "x86_64-windows-files", options: files, ..WINDOWS },
    Machine {
        name: "x86_64-windows-rust",
        compiler: &["/usr/bin/cargo"],
        rust: "x86_64-pc-windows-gnu",
        linker: WINDOWS.compiler,
        options: Options::default,
        ..WINDOWS
    },
    Machine {
        name: "cortex-m4f-rust",
        compiler: &["/usr/bin/cargo"],
        rust: "thumbv7em-none-eabihf",
        linker: CORTEX_M4F_GCC,
        emulator: board!("mps2-an386"),
        options: rust!(CORTEX_M4F),
        ..CORTEX_M
    },
    Machine {
        name: "riscv64-rust",
        compiler: &["/usr/bin/cargo"],
        rust: "riscv64gc-unknown-linux-gnu",
        linker: &["riscv64-linux-gnu-gcc"],
        emulator: &["qemu-riscv64"],
        size: "riscv64-linux-gnu-size",
        options: rust!(RISCV64),
        ..LINUX
    },
    Machine {
        name: "aarch64-rust",
        compiler: &["/usr/bin/cargo"],
        rust: "aarch64-unknown-linux-gnu",
        linker: &["aarch64-linux-gnu-gcc"],
        options: rust!(AARCH64),
        ..LINUX_ON_AARCH64
    },
];
