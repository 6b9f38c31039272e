
/* What gcc would take through the registers of the core, predicates and the lanes of a quotient. */

/* c if a < b, else d. As b > a: what Helium calls less holds where either is NaN. */
UPPER_INLINE float32x4_t PREFIX_where_less(float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d) {
    float32x4_t result;
    mve_pred16_t less;
    __asm__("vcmp.f32 gt, %q3, %q2\n\tvpsel %q0, %q4, %q5"
        : "=w"(result), "=&Up"(less)
        : "w"(a), "w"(b), "w"(c), "w"(d));
    return result;
}

/* a, or 0 if its magnitude is below a limit: as integers, of which none is subnormal. */
UPPER_INLINE float32x4_t PREFIX_not_below(float32x4_t a, float32x4_t limit) {
    float32x4_t result;
    mve_pred16_t small;
    __asm__("vcmp.u32 hi, %q2, %q3\n\tvpsel %q0, %q4, %q5"
        : "=w"(result), "=&Up"(small)
        : "w"(limit), "w"(vabsq_f32(a)), "w"(vdupq_n_f32(0.0f)), "w"(a));
    return result;
}

/* Values of binary16. In q0 alone: for other registers GNU's assembler (2.40) gets the instruction wrong. */
UPPER_INLINE float32x4_t PREFIX_halves(const uint16_t *from) {
    register uint32x4_t half __asm__("q0") = vldrhq_u32(from);
    __asm__("vcvtb.f32.f16 q0, q0" : "+w"(half));
    return vreinterpretq_f32_u32(half);
}
