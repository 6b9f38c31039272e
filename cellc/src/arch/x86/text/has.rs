/// True if the processor has AVX, AVX2, FMA, F16C and the features `leaf7_ebx` (bits of ebx of cpuid leaf 7), and the system saves XMM, YMM and the registers `xcr0` (bits of XCR0).
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "cpuid is a safe function in newer versions of core")]
fn has(leaf7_ebx: u32, xcr0: u64) -> bool {
    const FMA: u32 = 1 << 12;
    const XSAVE: u32 = 1 << 26;
    const OSXSAVE: u32 = 1 << 27;
    const AVX: u32 = 1 << 28;
    const F16C: u32 = 1 << 29;
    const LEAF1: u32 = FMA | XSAVE | OSXSAVE | AVX | F16C;
    const AVX2: u32 = 1 << 5;
    const XMM: u64 = 1 << 1;
    const YMM: u64 = 1 << 2;
    let (leaf7_ebx, xcr0) = (AVX2 | leaf7_ebx, XMM | YMM | xcr0);
    // SAFETY: cpuid exists on every x86-64; xgetbv is called only if cpuid says that it is enabled
    unsafe {
        core::arch::x86_64::__cpuid(0).eax >= 7
            && core::arch::x86_64::__cpuid(1).ecx & LEAF1 == LEAF1
            && core::arch::x86_64::__cpuid_count(7, 0).ebx & leaf7_ebx == leaf7_ebx
            && core::arch::x86_64::_xgetbv(0) & xcr0 == xcr0
    }
}
