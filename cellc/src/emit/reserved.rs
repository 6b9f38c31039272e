//! Reserved words: keywords of the languages, and names of the C library.

use crate::arch::TARGETS;

/// Names of the C library that are built into compilers, or that common headers or the headers of
/// generated C declare (glibc's with `_GNU_SOURCE`).
#[rustfmt::skip]
pub(super) const C_LIBRARY: &[&str] = &[
    "a64l", "abort", "abs", "acos", "acosh", "aligned_alloc", "alloca", "arc4random", "arc4random_buf",
    "arc4random_uniform", "asctime", "asctime_r", "asin", "asinh", "at_quick_exit", "atan", "atan2", "atanh", "atexit",
    "atof", "atoi", "atol", "atoll", "basename", "bcmp", "bcopy", "blkcnt64_t", "blkcnt_t", "blksize_t", "bsearch",
    "bzero", "caddr_t", "calloc", "canonicalize_file_name", "cbrt", "ceil", "clearenv", "clock", "clock_adjtime",
    "clock_getcpuclockid", "clock_getres", "clock_gettime", "clock_nanosleep", "clock_settime", "clock_t", "clockid_t",
    "comparison_fn_t", "conj", "copysign", "cos", "cosh", "cpu_set_t", "ctime", "ctime_r", "daddr_t", "daylight",
    "dev_t", "difftime", "div", "div_t", "drand48", "drand48_data", "drand48_r", "drem", "dysize", "ecvt", "ecvt_r",
    "erand48", "erand48_r", "erf", "erfc", "errno_t", "execv", "exit", "exp", "exp10", "exp2", "explicit_bzero",
    "expm1", "fabs", "fcvt", "fcvt_r", "fd_mask", "fd_set", "fdim", "ffs", "ffsl", "ffsll", "floor", "fma", "fmax",
    "fmin", "fmod", "fork", "fprintf", "fputc", "fputs", "free", "frexp", "fsblkcnt64_t", "fsblkcnt_t", "fscanf",
    "fsfilcnt64_t", "fsfilcnt_t", "fsid_t", "fwrite", "gamma", "gcvt", "getc", "getcpu", "getdate", "getdate_err",
    "getdate_r", "getenv", "getloadavg", "getpt", "gets", "getsubopt", "gid_t", "gmtime", "gmtime_r", "grantpt",
    "hypot", "id_t", "ilogb", "index", "initstate", "initstate_r", "ino64_t", "ino_t", "int16_t", "int32_t", "int64_t",
    "int8_t", "int_fast16_t", "int_fast32_t", "int_fast64_t", "int_fast8_t", "int_least16_t", "int_least32_t",
    "int_least64_t", "int_least8_t", "intmax_t", "intptr_t", "isalnum", "isalpha", "isdigit", "isinf", "isnan",
    "itimerspec", "j0", "j1", "jn", "jrand48", "jrand48_r", "key_t", "l64a", "labs", "lcong48", "lcong48_r", "ldexp",
    "ldiv", "ldiv_t", "lgamma", "link", "linux", "llabs", "lldiv", "lldiv_t", "locale_t", "localtime", "localtime_r",
    "loff_t", "log", "log10", "log1p", "log2", "logb", "lrand48", "lrand48_r", "lrint", "lround", "malloc",
    "max_align_t", "mblen", "mbstowcs", "mbtowc", "memccpy", "memchr", "memcmp", "memcpy", "memfrob", "memmem",
    "memmove", "mempcpy", "memrchr", "memset", "mkdtemp", "mkostemp", "mkostemp64", "mkostemps", "mkostemps64",
    "mkstemp", "mkstemp64", "mkstemps", "mkstemps64", "mktemp", "mktime", "mode_t", "modf", "mrand48", "mrand48_r",
    "nan", "nanosleep", "nearbyint", "nlink_t", "nrand48", "nrand48_r", "off64_t", "off_t", "on_exit", "pid_t",
    "posix_memalign", "posix_openpt", "pow", "pow10", "printf", "pselect", "pthread_attr_t", "pthread_barrier_t",
    "pthread_barrierattr_t", "pthread_cond_t", "pthread_condattr_t", "pthread_key_t", "pthread_mutex_t",
    "pthread_mutexattr_t", "pthread_once_t", "pthread_rwlock_t", "pthread_rwlockattr_t", "pthread_spinlock_t",
    "pthread_t", "ptrdiff_t", "ptsname", "ptsname_r", "putc", "putchar", "putenv", "puts", "qecvt", "qecvt_r", "qfcvt",
    "qfcvt_r", "qgcvt", "qsort", "qsort_r", "quad_t", "quick_exit", "raise", "rand", "rand_r", "random", "random_data",
    "random_r", "rawmemchr", "read", "realloc", "reallocarray", "realpath", "register_t", "remainder", "remove",
    "rename", "rindex", "rint", "round", "rpmatch", "rsize_t", "scalb", "scanf", "secure_getenv", "seed48", "seed48_r",
    "select", "setenv", "setns", "setstate", "setstate_r", "sigabbrev_np", "sigdescr_np", "signal", "signbit",
    "significand", "sigset_t", "sin", "sincos", "sinh", "snprintf", "sprintf", "sqrt", "srand", "srand48", "srand48_r",
    "srandom", "srandom_r", "sscanf", "ssize_t", "stderr", "stdin", "stdout", "stpcpy", "stpncpy", "strcasecmp",
    "strcasecmp_l", "strcasestr", "strcat", "strchr", "strchrnul", "strcmp", "strcoll", "strcoll_l", "strcpy",
    "strcspn", "strdup", "strerror", "strerror_l", "strerror_r", "strerrordesc_np", "strerrorname_np", "strfromd",
    "strfromf", "strfromf128", "strfromf32", "strfromf32x", "strfromf64", "strfromf64x", "strfroml", "strfry",
    "strftime", "strftime_l", "strlen", "strncasecmp", "strncasecmp_l", "strncat", "strncmp", "strncpy", "strndup",
    "strnlen", "strpbrk", "strptime", "strptime_l", "strrchr", "strsep", "strsignal", "strspn", "strstr", "strtod",
    "strtod_l", "strtof", "strtof128", "strtof128_l", "strtof32", "strtof32_l", "strtof32x", "strtof32x_l", "strtof64",
    "strtof64_l", "strtof64x", "strtof64x_l", "strtof_l", "strtok", "strtok_r", "strtol", "strtol_l", "strtold",
    "strtold_l", "strtoll", "strtoll_l", "strtoq", "strtoul", "strtoul_l", "strtoull", "strtoull_l", "strtouq",
    "strverscmp", "strxfrm", "strxfrm_l", "suseconds_t", "system", "tan", "tanh", "tgamma", "time", "time_t", "timegm",
    "timelocal", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "timer_t",
    "timespec", "timespec_get", "timespec_getres", "timeval", "timex", "timezone", "tm", "tolower", "toupper", "trunc",
    "tzname", "tzset", "u_char", "u_int", "u_int16_t", "u_int32_t", "u_int64_t", "u_int8_t", "u_long", "u_quad_t",
    "u_short", "uid_t", "uint", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "uint_fast16_t", "uint_fast32_t",
    "uint_fast64_t", "uint_fast8_t", "uint_least16_t", "uint_least32_t", "uint_least64_t", "uint_least8_t", "uintmax_t",
    "uintptr_t", "ulong", "unix", "unlockpt", "unsetenv", "unshare", "useconds_t", "ushort", "valloc", "vprintf",
    "wcstombs", "wctomb", "write", "y0", "y1", "yn",
];

/// Prefixes of names in headers for threads.
pub(super) const OF_THREADS: [&str; 2] = ["pthread", "sched"];

/// Keywords and reserved words of Rust (all editions), C11, C23 and C++, and lower-case macros of
/// compilers and C headers.
#[rustfmt::skip]
pub(super) const RESERVED: &[&str] = &[
    "abstract", "alignas", "alignof", "and", "and_eq", "as", "asm", "async", "auto", "await", "become", "bitand",
    "bitor", "bool", "box", "break", "case", "catch", "char", "class", "co_await", "co_return", "co_yield", "compl",
    "complex", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "crate", "decltype",
    "default", "delete", "do", "double", "dyn", "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern",
    "f32", "f64", "false", "far", "final", "float", "fn", "for", "friend", "gen", "goto", "i16", "i32", "i386", "i64",
    "i8", "if", "impl", "in", "inline", "int", "isize", "let", "linux", "long", "loop", "macro", "macro_rules", "main",
    "match", "mod", "move", "mut", "mutable", "namespace", "near", "new", "noexcept", "not", "not_eq", "null",
    "nullptr", "operator", "or", "or_eq", "override", "priv", "private", "protected", "pub", "public", "raw", "ref",
    "register", "reinterpret_cast", "requires", "restrict", "return", "safe", "self", "short", "signed", "size_t",
    "sizeof", "static", "static_assert", "static_cast", "stderr", "stdin", "stdout", "str", "struct", "super", "switch",
    "template", "this", "thread_local", "throw", "trait", "true", "try", "type", "typedef", "typeid", "typename",
    "typeof", "typeof_unqual", "u16", "u32", "u64", "u8", "union", "unix", "unsafe", "unsigned", "unsized", "use",
    "using", "usize", "virtual", "void", "volatile", "wchar_t", "where", "while", "xor", "xor_eq", "yield",
];

/// True if a header of some target's intrinsics may declare the name.
pub(super) fn is_intrinsic(name: &str) -> bool {
    TARGETS.iter().any(|arch| (arch.c.declares)(name))
}
