/// True if the processor has AVX2 and the features of [`has`], and the system saves XMM and YMM.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    const AVX2: u32 = 1 << 5;
    const XMM: u64 = 1 << 1;
    const YMM: u64 = 1 << 2;
    has(AVX2, XMM | YMM)
}
