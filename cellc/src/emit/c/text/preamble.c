#include <stddef.h>
#include <stdint.h>

#if !defined(__GNUC__) && !defined(__clang__)
#error "this file uses the vector types of gcc and clang: generate it with --target portable for other compilers"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \
    || defined(__NO_SIGNED_ZEROS__) || __FINITE_MATH_ONLY__
#error "-ffast-math changes the results: the order and the rounding of every operation are part of them"
#error "add -fno-fast-math for this file alone, behind the flags of the others; in CMake by the line:"
#error "set_source_files_properties(SOURCE_FILE PROPERTIES COMPILE_OPTIONS -fno-fast-math)"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ < 0 || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "float must be computed as float (FLOAT_FLAGS)"
#endif
REFUSED

/* A multiplication and an addition stay two operations, whatever -std and -m are: fused operations are written as such.
 * (Only clang's -ffp-contract=fast overrides this.) */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif IS_GCC
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
TUNING
#endif
