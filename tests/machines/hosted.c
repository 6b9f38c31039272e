/* A machine with an operating system. */

#include <stdio.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

#include "machine.h"

void machine_write(const void *bytes, size_t size) {
#ifdef _WIN32
    _setmode(_fileno(stdout), _O_BINARY); /* no line ends are translated */
#endif
    fwrite(bytes, 1, size, stdout);
}
