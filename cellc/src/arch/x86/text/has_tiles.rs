/// Whether Linux lets the program use tiles: from then on it saves them with the registers of the program's threads.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", target_os = "linux"))]
fn has_tiles() -> bool {
    const AMX_TILE_AND_INT8: u32 = 0x300_0000;
    // SAFETY: cpuid exists on every x86-64, in some versions of Rust as a safe function
    #[allow(unused_unsafe)]
    let leaf7_edx = unsafe { core::arch::x86_64::__cpuid_count(7, 0).edx };
    let result: u64;
    // SAFETY: this is arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), which takes numbers and changes no memory of the program
    unsafe {
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
    leaf7_edx & AMX_TILE_AND_INT8 == AMX_TILE_AND_INT8 && result == 0
}
