/// True if the processor has the features of [`has`], and the system saves XMM and YMM.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    has(0, 0)
}
