/// True if the processor has AVX-512 F, DQ, BW, VL and VNNI, and AMX with products of bytes, and if Linux grants the program AMX. From then on Linux saves the tiles of all threads.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", target_os = "linux"))]
fn has_tiles() -> bool {
    const AVX512F: u32 = 1 << 16;
    const AVX512DQ: u32 = 1 << 17;
    const AVX512BW: u32 = 1 << 30;
    const AVX512VL: u32 = 1 << 31;
    const AVX512_VNNI: u32 = 1 << 11;
    const OPMASK: u64 = 1 << 5;
    const ZMM_HIGH: u64 = 1 << 6;
    const ZMM_16_TO_31: u64 = 1 << 7;
    const TILE_CONFIGURATION: u64 = 1 << 17;
    const TILES: u64 = 1 << 18;
    const AMX_TILE: u32 = 1 << 24;
    const AMX_INT8: u32 = 1 << 25;
    const TILES_OF_BYTES: u32 = AMX_TILE | AMX_INT8;
    if !has(AVX512F | AVX512DQ | AVX512BW | AVX512VL, OPMASK | ZMM_HIGH | ZMM_16_TO_31 | TILE_CONFIGURATION | TILES) {
        return false;
    }
    let result: u64;
    // SAFETY: cpuid exists on every x86-64; arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) takes numbers and changes no memory of the program
    unsafe {
        let leaf7 = core::arch::x86_64::__cpuid_count(7, 0);
        if leaf7.ecx & AVX512_VNNI == 0 || leaf7.edx & TILES_OF_BYTES != TILES_OF_BYTES {
            return false;
        }
        core::arch::asm!(
            "syscall",
            inlateout("rax") 158_u64 => result,
            in("rdi") 0x1023_u64,
            in("rsi") 18_u64,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}
