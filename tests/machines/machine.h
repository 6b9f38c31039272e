/* What a program of the tests asks of the machine that it runs on. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

/* Writes bytes to the host's standard output, as they are. */
void machine_write(const void *bytes, size_t size);

/* What is executed from one to the other is counted, where the emulator counts. */
void machine_begin(void);
void machine_end(void);

#endif
