/// Whether the processor has tiles of bytes, and Linux lets the program use them: from then on it saves them with the registers of the program's
/// threads.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", target_os = "linux"))]
fn has_tiles() -> bool {
    const TILES_OF_BYTES: u32 = 0x300_0000;
    let result: u64;
    // SAFETY: cpuid exists on every x86-64; arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) takes numbers and changes no memory of the program
    unsafe {
        if core::arch::x86_64::__cpuid_count(7, 0).edx & TILES_OF_BYTES != TILES_OF_BYTES {
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
