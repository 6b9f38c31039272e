//! The machines.

use cellc::internals::arch;
use cellc::{Fma, Language, Options, WeightsAs};

/// A machine that generated C is compiled for, and where that runs. In arguments `FOLDER` stands
/// for `tests/machines`.
#[derive(Debug)]
pub struct Machine {
    /// Its name.
    pub name: &'static str,
    /// The compiler, and what it always takes.
    pub compiler: &'static [&'static str],
    /// Rust's name for the machine where Rust is compiled for it, by a cargo, and the linker
    /// compiles the C around it; else nothing.
    pub rust: &'static str,
    /// What it takes besides to compile, after all else.
    pub flags: &'static [&'static str],
    /// What links, if not the compiler.
    pub linker: &'static [&'static str],
    /// What is given to that besides.
    pub link: &'static [&'static str],
    /// The files of `tests/machines` that every program has.
    pub start: &'static [&'static str],
    /// The emulator, and what it takes before the program.
    pub emulator: &'static [&'static str],
    /// The program that lists the sections of an object.
    pub size: &'static str,
    /// How cellc is told of the machine.
    pub options: fn() -> Options,
    /// Whether the least significant byte of a number comes first: weights of fewer bits are laid
    /// out for that.
    pub little_endian: bool,
}

/// How QEMU runs a program without an operating system.
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

/// How a program without an operating system is linked.
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

/// C for every machine.
fn any() -> Options {
    Options::default().with_language(Language::C)
}

/// The options of a target, for Rust.
macro_rules! rust {
    ($name:ident) => {
        || Options::default().with_target(&arch::$name)
    };
}

/// The same, with the weights in files beside it.
fn files() -> Options {
    any().with_weights_as(WeightsAs::File)
}

/// The body that every machine has, alone.
fn generic() -> Options {
    Options::default().with_isas(Some(Vec::new()))
}

/// What is the same for all Linux.
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
};

/// In Wine, with objects in COFF.
const WINDOWS: Machine = Machine {
    name: "x86_64-windows",
    compiler: &["x86_64-w64-mingw32-gcc-posix"],
    emulator: &["/usr/lib/wine/wine64"],
    size: "x86_64-w64-mingw32-size",
    ..LINUX
};

/// What is the same for all Cortex-M.
const CORTEX_M: Machine = Machine {
    compiler: &[],
    link: bare!("an386.ld"),
    start: &["cortex-m.c", "marks.c"],
    size: "arm-none-eabi-size",
    options: generic,
    ..LINUX
};

/// Without a floating-point unit.
pub static CORTEX_M3: Machine = Machine {
    name: "cortex-m3",
    compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"],
    emulator: board!("mps2-an385"),
    options: target!(CORTEX_M3),
    ..CORTEX_M
};

const CORTEX_M4F_GCC: &[&str] =
    &["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"];

/// With a floating-point unit of single precision.
pub static CORTEX_M4F: Machine = Machine {
    name: "cortex-m4f",
    compiler: CORTEX_M4F_GCC,
    emulator: board!("mps2-an386"),
    options: target!(CORTEX_M4F),
    ..CORTEX_M
};

/// With Helium.
pub static CORTEX_M55: Machine = Machine {
    name: "cortex-m55",
    compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"],
    link: bare!("an547.ld"),
    emulator: board!("mps3-an547"),
    options: target!(CORTEX_M55),
    ..CORTEX_M
};

/// What is the same for all compilers.
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
    ..LINUX
};

/// Linux on RISC-V.
const RISCV64: Machine = Machine {
    name: "riscv64",
    compiler: &["riscv64-linux-gnu-gcc"],
    emulator: &["qemu-riscv64"],
    size: "riscv64-linux-gnu-size",
    options: target!(RISCV64),
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
    ..LINUX_ON_AARCH64
};

/// The same with the dot products of bytes.
pub static AARCH64_DOTPROD: Machine = Machine {
    name: "aarch64-dotprod",
    compiler: &["aarch64-linux-gnu-gcc", "-march=armv8.2-a+dotprod"],
    emulator: &["qemu-aarch64", "-cpu", "max"],
    ..AARCH64
};

/// What is the same for all compilers that make programs for this machine.
const HERE: Machine = Machine { emulator: &["env"], options: target!(PORTABLE), ..LINUX };

/// C without extensions, by this machine's compilers: as strict as they can be, where they may
/// fuse, and by one that knows C11 and little else.
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

/// The others: `tests/machines/all` installs their tools.
pub static BY_HAND: [Machine; 29] = [
    // what a file that is made for any machine costs there
    Machine {
        name: "cortex-m4f-any",
        compiler: CORTEX_M4F_GCC,
        emulator: board!("mps2-an386"),
        options: any,
        ..CORTEX_M
    },
    // what Rust there is compared with
    Machine {
        name: "cortex-m4f-unfused",
        options: || (CORTEX_M4F.options)().with_fma(Fma::Off),
        ..CORTEX_M4F
    },
    Machine { name: "aarch64-any", compiler: &["aarch64-linux-gnu-gcc"], ..LINUX_ON_AARCH64 },
    Machine { name: "armhf-vfp-any", ..ARMHF },
    Machine { name: "riscv64-any", options: any, ..RISCV64 },
    Machine {
        name: "aarch64-rust-any",
        compiler: &["/usr/bin/cargo"],
        rust: "aarch64-unknown-linux-gnu",
        linker: &["aarch64-linux-gnu-gcc"],
        options: Options::default,
        ..LINUX_ON_AARCH64
    },
    Machine { name: "cortex-m55-any", options: any, ..CORTEX_M55 },
    // its instructions are those of a Cortex-M3 too, whose board has more memory
    Machine {
        name: "cortex-m0",
        compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
        emulator: board!("mps2-an385"),
        options: target!(CORTEX_M0),
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
    Machine { name: "armhf-vfp", options: target!(ARMV7), ..ARMHF },
    Machine {
        name: "armhf-neon",
        compiler: &["arm-linux-gnueabihf-gcc", "-mfpu=neon"],
        options: target!(ARMV7),
        ..ARMHF
    },
    Machine {
        name: "armhf-neon-fma",
        compiler: &["arm-linux-gnueabihf-gcc", "-mfpu=neon-vfpv4"],
        options: target!(ARMV7),
        ..ARMHF
    },
    Machine {
        name: "armhf-neon-any",
        compiler: &["arm-linux-gnueabihf-gcc", "-mfpu=neon-vfpv4"],
        ..ARMHF
    },
    RISCV64,
    // as compilers for firmware do: constants are at fixed addresses, and those of activations one
    // load each
    Machine { name: "riscv64-no-pie", flags: &["-fno-pie"], ..RISCV64 },
    // vectors of 128 bits
    RISCV64_VECTOR,
    Machine { name: "riscv64-vector-any", options: any, ..RISCV64_VECTOR },
    // without a floating-point unit; Linux's system calls and nothing else of it
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
        ..LINUX
    },
    // the other order of bytes
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
