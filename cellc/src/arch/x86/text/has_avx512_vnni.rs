/// True if the processor has AVX-512 F, DQ, BW, VL and VNNI, and the system saves all vector registers.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "cpuid is a safe function in newer versions of core")]
fn has_avx512_vnni() -> bool {
    const AVX512F: u32 = 1 << 16;
    const AVX512DQ: u32 = 1 << 17;
    const AVX512BW: u32 = 1 << 30;
    const AVX512VL: u32 = 1 << 31;
    const AVX512_VNNI: u32 = 1 << 11;
    const OPMASK: u64 = 1 << 5;
    const ZMM_HIGH: u64 = 1 << 6;
    const ZMM_16_TO_31: u64 = 1 << 7;
    // SAFETY: cpuid exists on every x86-64
    let leaf7 = unsafe { core::arch::x86_64::__cpuid_count(7, 0) };
    has(AVX512F | AVX512DQ | AVX512BW | AVX512VL, OPMASK | ZMM_HIGH | ZMM_16_TO_31) && leaf7.ecx & AVX512_VNNI != 0
}
