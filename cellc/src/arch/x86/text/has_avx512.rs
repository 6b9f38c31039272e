/// True if the processor has AVX-512 F, DQ, BW and VL, and the system saves all vector registers.
#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    const AVX512F: u32 = 1 << 16;
    const AVX512DQ: u32 = 1 << 17;
    const AVX512BW: u32 = 1 << 30;
    const AVX512VL: u32 = 1 << 31;
    const OPMASK: u64 = 1 << 5;
    const ZMM_HIGH: u64 = 1 << 6;
    const ZMM_16_TO_31: u64 = 1 << 7;
    has(AVX512F | AVX512DQ | AVX512BW | AVX512VL, OPMASK | ZMM_HIGH | ZMM_16_TO_31)
}
