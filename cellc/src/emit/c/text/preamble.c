
#ifdef __cplusplus
#error "compile this file as C, and include its header in C++"
#else

//* pool
#include <sched.h>
//.
//* no extensions
#include <float.h>
//.
#include <stdint.h>

CONDITIONS

//* extensions
#if !defined(__GNUC__) && !defined(__clang__)
#error "this file is for gcc and clang: generate it with --target portable for other compilers"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \
    || defined(__NO_SIGNED_ZEROS__) || __FINITE_MATH_ONLY__
#error "-ffast-math changes the results: every operation's order and rounding are part of them"
#error "add -fno-fast-math for this file alone, behind other flags; in CMake by the line:"
//.
//* no extensions
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "this file is C11 without extensions: -std=c11 of gcc and clang, /std:c11 of MSVC"
#endif
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || defined(__ASSOCIATIVE_MATH__) \
    || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__) \
    || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "-ffast-math changes the results: take /fp:precise of MSVC; with gcc and clang"
#error "add -fno-fast-math for this file alone, behind other flags; in CMake by the line:"
//.
#error "set_source_files_properties(SOURCE_FILE PROPERTIES COMPILE_OPTIONS -fno-fast-math)"
#endif
//* extensions
#if __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
//.
//* no extensions
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
//.
#error "float must be computed as float (FLOAT_FLAGS)"
#endif
//* refused
#if REFUSED
#error "this file is made for ARCHITECTURE: HELP"
#endif
//.
//* for tests
/* Machines other than Arm compile this file too, for tests: they compute the same bits, except for the
 * sign and payload of a NaN. */
//.

//* baseline refused
#if (FLUSHES)AND_NO_OTHER
#error "INSTEAD"
#endif
//.

//* extensions
/* Fused operations are written as such. The compiler fuses no other ones, whatever -std and -m are.
 * clang's -ffp-contract=fast ignores the pragma and changes the results: leave it out here. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
TUNING
#endif
//.
//* no extensions
/* The compiler fuses no multiplication with an addition. clang's -ffp-contract=fast ignores the
 * pragma and changes the results: leave it out here. */
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
//* called
#define UPPER_CALLED static __attribute__((noinline, unused))
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
/* A row of weights. Loads add a constant to an address for nothing here: clang is kept from adding
 * it before. */
#if ADDS_OFFSETS
#define UPPER_ROW(row) __asm__("" : "+r"(row))
#else
#define UPPER_ROW(row) (void)(row)
#endif
//.
//* kept
/* A sum that stays in memory while a loop adds up others: clang would spill a sum of that loop in
 * every row of weights, where vectors have four numbers. */
#if defined(__clang__) && defined(__SSE2__)
#define UPPER_KEPT(is_kept, sum) \
    do { \
        if (is_kept) { \
            __asm__("" : "+m"(sum)); \
        } \
    } while (0)
#else
#define UPPER_KEPT(is_kept, sum) (void)(sum)
#endif
//.
//* passes
/* Before the next columns are multiplied: their elements are read again. Compilers would keep every
 * element of the columns before on the stack, in all lanes of a vector. */
#define UPPER_READ_AGAIN() __asm__ volatile("" : : : "memory")
//.
//* unrolled
/* Before a loop over weights: unrolls it so many times, but not with -Os. In a short loop each load
 * moves on by less than 8 KiB an iteration, and the prefetcher of Zen 5 then slows it down: up to
 * 1.4 times as long with weights in the L2 cache. */
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
