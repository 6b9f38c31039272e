/* What main needs of the board. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/* Instructions that QEMU executes in a tick of the timer: a nanosecond each, at 25 MHz. On a chip a tick is a cycle. */
#define BOARD_INSTRUCTIONS_A_TICK 40

/* Starts the timer of the core, and how many of its ticks have passed since: 24 bits. */
void board_timer_start(void);
uint32_t board_timer_ticks(void);

/* Calls a function with an argument, and says how many bytes of the stack it took. */
uint32_t board_stack_of(void (*function)(void *), void *argument);

#endif
