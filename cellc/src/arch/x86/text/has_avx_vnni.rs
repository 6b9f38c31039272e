/// True if the processor has AVX-VNNI and the features of [`has`], and the system saves XMM and YMM.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "cpuid is a safe function in newer versions of core")]
fn has_avx_vnni() -> bool {
    const AVX_VNNI: u32 = 1 << 4;
    // SAFETY: cpuid exists on every x86-64
    let leaf7 = unsafe { core::arch::x86_64::__cpuid_count(7, 1) };
    has(0, 0) && leaf7.eax & AVX_VNNI != 0
}
