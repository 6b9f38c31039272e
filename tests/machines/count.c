/* A plugin for QEMU: how many instructions the guest executes between its calls of machine_begin and machine_end, a line in a file for each
 * pair of them.
 *
 *     gcc -O2 -shared -fPIC -o count.so count.c
 *     qemu-aarch64 -plugin ./count.so,to=counts.txt program
 *
 * Debian has no header of the plugins' interface: what is declared here is what is used of it, in version 1, that of QEMU 5 to 8. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { ADD_U64 = 0, NO_REGISTERS = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int, void *, uint64_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int, void *);

EXPORTED int qemu_plugin_version = 1;

static uint64_t executed, begun;
static FILE *to;

static void begin(unsigned processor, void *unused) {
    (void)processor, (void)unused;
    begun = executed;
}

static void end(unsigned processor, void *unused) {
    (void)processor, (void)unused;
    fprintf(to, "%llu\n", (unsigned long long)(executed - begun));
    fflush(to); /* a guest without an operating system ends QEMU with itself */
}

/* Functions are entered at the start of a block of code; an interrupt can only come there too, so that blocks are executed whole. */
static void translated(plugin_id id, struct qemu_plugin_tb *block) {
    (void)id;
    const char *symbol = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(block, 0));
    if (symbol && strcmp(symbol, "machine_begin") == 0) {
        qemu_plugin_register_vcpu_tb_exec_cb(block, begin, NO_REGISTERS, NULL);
    } else if (symbol && strcmp(symbol, "machine_end") == 0) {
        qemu_plugin_register_vcpu_tb_exec_cb(block, end, NO_REGISTERS, NULL);
    }
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed, qemu_plugin_tb_n_insns(block));
}

EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments) {
    (void)info;
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "to=", 3) == 0) to = fopen(arguments[i] + 3, "w");
    }
    if (to == NULL) return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
