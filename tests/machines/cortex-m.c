/* A Cortex-M without an operating system: its vectors, its start, and semihosting, by which QEMU writes and ends. */

#include <stdint.h>

#include "machine.h"

/* of the linker script; in words */
extern uint32_t stack_top[], data_start[], data_end[], data_load[], bss_start[], bss_end[];

int main(void);

/* Operations of Arm's semihosting. */
enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_EXIT = 0x18 };

/* Reasons of SYS_EXIT, of which QEMU makes the status 0 or 1. */
enum { STOPPED = 0x20026, FAILED = 0x20023 };

static int host(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void machine_write(const void *bytes, size_t size) {
    static int console = -1;
    if (console < 0) {
        /* the console, opened for writing bytes, and the length of its name */
        const uintptr_t open[] = {(uintptr_t)":tt", 5, 3};
        console = host(SYS_OPEN, open);
    }
    const uintptr_t write[] = {(uintptr_t)console, (uintptr_t)bytes, size};
    host(SYS_WRITE, write);
}

static void stop(int reason) {
    for (;;) host(SYS_EXIT, (const void *)reason);
}

static void fault(void) { stop(FAILED); }

static void start(void) {
    *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; /* CPACR: the floating-point unit, where there is one */
    __asm__ volatile("dsb\n\tisb");
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end;) *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
    stop(main() == 0 ? STOPPED : FAILED);
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {stack_top,
             {start, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault}};
