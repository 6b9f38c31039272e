/* WebAssembly has no C library: clang makes an instruction of each call. */
#ifndef STRING_H
#define STRING_H
#include <stddef.h>
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
#endif
