
#ifdef __cplusplus
#error "compile this file as C, and include its header in C++"
#else

//* pool
#include <sched.h>
//.
#include <stddef.h>
#include <stdint.h>

CONDITIONS

//* extensions
#if !defined(__GNUC__) && !defined(__clang__)
#error "this file uses extensions of gcc and clang: generate it with --target portable for other compilers"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \
    || defined(__NO_SIGNED_ZEROS__) || __FINITE_MATH_ONLY__
#error "-ffast-math changes the results: the order and the rounding of every operation are part of them"
#error "add -fno-fast-math for this file alone, behind the flags of the others; in CMake by the line:"
//.
//* no extensions
/* C11 without extensions. Of what C11 adds to C99 the file needs _Alignof alone. */
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#error "this file is C11 without extensions: -std=c11 of gcc and clang, /std:c11 of MSVC"
#endif
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \
    || defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "-ffast-math changes the results: the order and the rounding of every operation are part of them"
#error "MSVC: /fp:precise. gcc and clang: add -fno-fast-math for this file alone, behind the flags of the others; in CMake by the line:"
//.
#error "set_source_files_properties(SOURCE_FILE PROPERTIES COMPILE_OPTIONS -fno-fast-math)"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ < 0 || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "float must be computed as float (FLOAT_FLAGS)"
#endif
//* refused
#if REFUSED
#error "this file is made for ARCHITECTURE: HELP"
#endif
//.

//* baseline refused
#if (FLUSHES)AND_NO_OTHER
#error "INSTEAD"
#endif
//.

//* extensions
/* A multiplication and an addition stay two operations, whatever -std and -m are: fused operations are written as such.
 * (Only clang's -ffp-contract=fast overrides this.) */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
TUNING
#endif
//.
//* no extensions
/* A multiplication and an addition stay two operations, whatever the compiler's flags are. (Only clang's -ffp-contract=fast
 * overrides this.) */
#if IS_GCC
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
TUNING
#elif defined(_MSC_VER) && !defined(__clang__)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
//.
//* baseline's header

#include <BASELINE_HEADER>
//.
//* headers

#if CONDITION
HEADERS
#endif
//.

//* extensions
#define UPPER_INLINE static inline __attribute__((always_inline, unused))
//.
//* no extensions
#if defined(__GNUC__) || defined(__clang__)
/* No warning where a function is not called. */
#define UPPER_INLINE static inline __attribute__((unused))
#else
#define UPPER_INLINE static inline
#endif
//.
//* called
#define UPPER_CALLED HOW_CALLED
//.
//* outlined
/* Functions that are copied to one loop and called in others, where calls are cheap. */
#if defined(__aarch64__)
#define UPPER_OUTLINED static __attribute__((noinline, unused))
#else
#define UPPER_OUTLINED UPPER_INLINE
#endif
//.
//* rows
/* A row of weights: here a load adds a constant to an address for nothing, and clang is kept from adding it before. */
#if ADDS_OFFSETS
#define UPPER_ROW(row) __asm__("" : "+r"(row))
#else
#define UPPER_ROW(row) (void)(row)
#endif
//.
//* unrolled
/* In front of a loop over weights: it is unrolled by so many turns, but not with -Os. In a short loop each load
 * instruction moves on by less than 8 KiB a turn, and the prefetcher of Zen 5 then slows it down: up to 1.4 times as long
 * where weights are in the L2 cache. */
#define UPPER_PRAGMA(text) _Pragma(#text)
#if defined(__OPTIMIZE_SIZE__)
#define UPPER_UNROLL(turns)
#elif defined(__clang__)
#define UPPER_UNROLL(turns) UPPER_PRAGMA(clang loop unroll_count(turns))
#else
#define UPPER_UNROLL(turns) UPPER_PRAGMA(GCC unroll turns)
#endif
//.
//* attributes
#define ATTRIBUTE __attribute__((target("FEATURES")))
//.
