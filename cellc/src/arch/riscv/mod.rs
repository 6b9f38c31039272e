//! RISC-V: cores with F, with or without vectors, and cores without F.

mod work;

use super::spell::{declares_vector, gcc};
use super::{
    Arch, CRules, CSpelling, CVector, Calls, Code, Condition, DataLayout, Detection, EstimatedIn,
    GENERIC, Isa, IsaId, NEUTRAL_CODE, NEUTRAL_COSTS, ONE_LANE, RustSpelling, SCALAR_FMA, SOFT,
};

/// One lane with F. Rust has no safe function for the fused multiply-add; the assembly only reads
/// and writes its operands.
static RISCV_F: Isa = Isa {
    // panels are as wide as for vectors: a loop over passes of four columns
    code: Code { vectors_per_pass: 4, calls: Calls::SeveralValues, ..SCALAR_FMA.code },
    rust: RustSpelling {
        mul_add: MUL_ADD,
        mul_add_where: "target_arch = \"riscv64\"",
        ..SCALAR_FMA.rust
    },
    ..SCALAR_FMA
};

/// Rust: a scalar fused multiply-add, in assembly.
const MUL_ADD: &str = "{
        let mut sum = c;
        // SAFETY: the instruction computes a number and nothing else
        unsafe {
            core::arch::asm!(\"fmadd.s {0}, {1}, {2}, {0}\", inout(freg) sum, in(freg) a, in(freg) b, options(pure, nomem, nostack));
        }
        sum
    }";

/// A vector type with `lanes` lanes. Operators of C spell all operations except the fused
/// multiply-add.
const fn lanes(lanes: usize) -> CVector {
    CVector { lanes, mul_add: "__builtin_elementwise_fma({0}, {1}, {2})", ..CVector::PLAIN }
}

/// RISC-V vectors of 128 bits or more. A value of sixteen lanes is a group of at most four
/// registers: a load or a multiply-add of the group is one instruction.
pub static RVV: Isa = Isa {
    id: IsaId::Rvv,
    name: "rvv",
    lanes: 16,
    registers: 8,
    integer_registers: 8,
    fma: true,
    detection: Detection::Compiling(Condition {
        c: concat!(has_vectors!(rvv), " && defined(__clang__) && __clang_major__ >= 17"),
        rust: "",
    }),
    instructions: Some(work::RVV),
    code: Code { vectors_per_pass: 2, ..NEUTRAL_CODE },
    c: CSpelling { vectors: &[lanes(16), lanes(8), lanes(4), lanes(2)], ..GENERIC.c },
    ..GENERIC
};

/// RVV in a file for every machine: the generic body with fused multiply-adds.
pub(super) static RVV_OF_ANY: Isa = Isa {
    lanes: 4,
    body_of: Some(&GENERIC),
    registers: GENERIC.registers,
    integer_registers: GENERIC.integer_registers,
    code: Code { vectors_per_pass: GENERIC.code.vectors_per_pass, ..RVV.code },
    c: CSpelling { vectors: &[lanes(4), lanes(2)], ..RVV.c },
    ..RVV
};

/// RISC-V of 64 bits with F.
pub static RISCV64: Arch = Arch {
    name: "riscv64",
    triples: &["riscv64gc-"],
    baseline: &RISCV_F,
    isas: &[&RVV],
    instructions: Some(work::RISCV64),
    // of the widest cores
    instructions_per_cycle: 8,
    costs: NEUTRAL_COSTS,
    estimated_in: EstimatedIn::C,
    c: CRules {
        compiler: &["riscv64-linux-gnu-gcc"],
        pragmas: &[gcc::OF_RISC_V],
        declares: declares_vector,
        refused: (
            "defined(__riscv) && !defined(__riscv_flen)",
            "compile it with -march=rv64gc, or generate it with --target any",
        ),
        ..ONE_LANE.c
    },
    memory: DataLayout {
        alignment: 8,
        most_elements: 1 << 28,
        // one vector
        line: 64,
        ..ONE_LANE.memory
    },
    ..ONE_LANE
};

/// 32-bit RISC-V with floats in software.
pub static RISCV32: Arch = Arch {
    name: "riscv32",
    triples: &["riscv32i-", "riscv32im-", "riscv32imc-", "riscv32imac-"],
    baseline: &SOFT,
    instructions: Some(work::RISCV32),
    instructions_per_cycle: 2,
    ..ONE_LANE
};
