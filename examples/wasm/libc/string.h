/* What generated C takes of the C library, which WebAssembly has none of: clang makes an instruction of each (-mbulk-memory). */
#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int byte, size_t size);

#endif
