
/* a / b, lane by lane, by the FPU. */
UPPER_INLINE float32x4_t PREFIX_quotient(float32x4_t a, float32x4_t b) {
    register float32x4_t quotient __asm__("q0") = a;
    register float32x4_t by __asm__("q1") = b;
    __asm__("vdiv.f32 s0, s0, s4\n\tvdiv.f32 s1, s1, s5\n\t"
            "vdiv.f32 s2, s2, s6\n\tvdiv.f32 s3, s3, s7"
        : "+w"(quotient)
        : "w"(by));
    return quotient;
}
