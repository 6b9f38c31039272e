/* WebAssembly: machine_write is the host's. */

#include <string.h>

#include "machine.h"

/* Loops that are not turned into calls of themselves. */
__attribute__((no_builtin)) void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    unsigned char *bytes = to;
    for (size_t i = 0; i < size; i++) bytes[i] = ((const unsigned char *)from)[i];
    return to;
}

__attribute__((no_builtin)) void *memmove(void *to, const void *from, size_t size) {
    unsigned char *bytes = to;
    const unsigned char *others = from;
    if (bytes <= others) return memcpy(to, from, size);
    for (size_t i = size; i > 0; i--) bytes[i - 1] = others[i - 1];
    return to;
}

__attribute__((no_builtin)) void *memset(void *to, int byte, size_t size) {
    unsigned char *bytes = to;
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)byte;
    return to;
}

__attribute__((no_builtin)) size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length] != '\0') length++;
    return length;
}
