/* The start of a Cortex-M4F, its timer and its stack; what is printed goes to QEMU by newlib's semihosting. */

#include "board.h"

#include <stdlib.h>

/* of the linker script */
extern uint32_t stack_top[], stack_bottom[], data_start[], data_end[], data_load[], bss_start[], bss_end[];

int main(void);
void initialise_monitor_handles(void);

/* newlib calls them, where there are constructors */
void _init(void);
void _init(void) {}
void _fini(void);
void _fini(void) {}

void board_start(void);
void board_start(void) {
    *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; /* CPACR: the floating-point unit */
    __asm__ volatile("dsb\n\tisb");
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end;) *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
    initialise_monitor_handles();
    exit(main());
}

static void fault(void) { _Exit(1); }

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {stack_top,
             {board_start, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault,
              fault}};

/* SysTick counts down from its reload value. */
#define TIMER_CONTROL (*(volatile uint32_t *)0xe000e010)
#define TIMER_RELOAD (*(volatile uint32_t *)0xe000e014)
#define TIMER_VALUE (*(volatile uint32_t *)0xe000e018)
#define TIMER_LARGEST 0xffffffu

void board_timer_start(void) {
    TIMER_RELOAD = TIMER_LARGEST;
    TIMER_VALUE = 0;
    TIMER_CONTROL = 5; /* enabled, by the processor's clock */
}

uint32_t board_timer_ticks(void) { return TIMER_LARGEST - TIMER_VALUE; }

uint32_t board_stack_of(void (*function)(void *), void *argument) {
    const uint32_t paint = 0xc0ffee00;
    volatile uint32_t *const here = __builtin_frame_address(0);
    /* a little room for what this function itself pushes */
    for (volatile uint32_t *at = stack_bottom; at < here - 8; at++) *at = paint;
    function(argument);
    volatile uint32_t *lowest = stack_bottom;
    while (lowest < here && *lowest == paint) lowest++;
    return (uint32_t)((here - lowest) * (int)sizeof *lowest);
}
