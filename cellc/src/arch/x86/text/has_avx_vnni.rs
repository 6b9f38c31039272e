/// True if the processor has AVX2, AVX-VNNI and the features of [`has`], and the system saves XMM and YMM.
#[cfg(target_arch = "x86_64")]
fn has_avx_vnni() -> bool {
    const AVX2: u32 = 1 << 5;
    const AVX_VNNI: u32 = 1 << 4;
    const XMM: u64 = 1 << 1;
    const YMM: u64 = 1 << 2;
    has([AVX2, 0, AVX_VNNI], XMM | YMM)
}
