/* A plugin of qemu-user, loaded by tests/arm/count.sh. Counts the instructions of each kind that
 * run between the functions bench_begin and bench_end of kernel_check (--bench --once), and
 * prints the counts on stdout. An emulator's clock means nothing, so the number of instructions,
 * and of multiply-adds among them, stands in for a layer's time. Caches, latencies and parallel
 * execution are not modelled.
 *
 * QEMU's plugin interface (version 1, in QEMU 7.2 and later) is declared here as far as it is
 * used, because Debian 12 has no package with its header. The plugin's argument functions=on
 * also prints a line for each function that ran more than 1 % of the instructions. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
enum { ADD_U64 = 0, NO_REGISTERS = 0 };

#define EXPORTED __attribute__((visibility("default")))
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t i);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *instruction);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
                                           void (*translated)(plugin_id id,
                                                              struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation,
                                              void *counter, uint64_t n);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
                                          void (*executed)(unsigned cpu, void *data), int flags,
                                          void *data);
EXPORTED extern int qemu_plugin_version;
EXPORTED int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv);

int qemu_plugin_version = 1;

/* Kinds of instructions. An instruction whose text has "sp" is counted as ON_STACK in addition
 * to LOAD or STORE: it probably spills or restores a register. */
enum { ALL, MULTIPLY_ADD, ARITHMETIC, LOAD, STORE, ON_STACK, N_KINDS };

/* A translated block: instructions executed one after the other. */
struct block {
  struct block *next;
  const char *function;
  uint64_t n[N_KINDS];
  uint64_t times, times_before; /* executions so far; executions when counting began */
};

static struct block *blocks;
static bool by_function;

static bool begins(const char *text, const char *const *words)
{
  for (; *words; words++)
    if (strncmp(text, *words, strlen(*words)) == 0) return true;
  return false;
}

/* Adds one to the counters of an instruction, given its disassembled text. The same prefixes
 * serve aarch64 and armv7; armv7's vector instructions have a v before them. */
static void classify(const char *text, uint64_t n[N_KINDS])
{
  static const char *const multiply_adds[] = {"fmla", "fmadd", "mla.f", "fma.f", NULL};
  static const char *const loads[] = {"ld", "pop", NULL}, *const stores[] = {"st", "push", NULL};
  static const char *const arithmetic[] = {"fm",    "fa",    "fs",    "fc",    "fd",    "bsl",
                                           "bit",   "bif",   "mul.f", "add.f", "sub.f", "cgt.f",
                                           "cge.f", "max.f", "abs.f", NULL};
  const bool loads_or_stores =
      begins(text + (*text == 'v'), loads) || begins(text + (*text == 'v'), stores);
  n[ALL]++;
  if (*text == 'v') text++;
  if (begins(text, multiply_adds)) n[MULTIPLY_ADD]++;
  else if (begins(text, arithmetic)) n[ARITHMETIC]++;
  else if (begins(text, loads)) n[LOAD]++;
  else if (begins(text, stores)) n[STORE]++;
  if (loads_or_stores && strstr(text, "sp")) n[ON_STACK]++;
}

static void begin(unsigned cpu, void *data)
{
  (void)cpu, (void)data;
  for (struct block *b = blocks; b; b = b->next) b->times_before = b->times;
}

static void print_counts(const uint64_t n[N_KINDS])
{
  for (int k = 0; k < N_KINDS; k++) printf(" %llu", (unsigned long long)n[k]);
}

static uint64_t add_block(const struct block *b, uint64_t n[N_KINDS])
{
  const uint64_t times = b->times - b->times_before;
  for (int k = 0; k < N_KINDS; k++) n[k] += times * b->n[k];
  return times * b->n[ALL];
}

/* Prints each function once, at its first block in the list. */
static void print_functions(uint64_t all)
{
  for (const struct block *b = blocks; b; b = b->next) {
    uint64_t n[N_KINDS] = {0};
    const struct block *first = blocks;
    while (strcmp(first->function, b->function) != 0) first = first->next;
    if (first != b) continue;
    for (; first; first = first->next)
      if (strcmp(first->function, b->function) == 0) add_block(first, n);
    if (n[ALL] * 100 <= all) continue;
    printf("\n- %s", b->function);
    print_counts(n);
  }
}

static void end(unsigned cpu, void *data)
{
  (void)cpu, (void)data;
  uint64_t n[N_KINDS] = {0};
  for (const struct block *b = blocks; b; b = b->next) add_block(b, n);
  print_counts(n);
  if (by_function) print_functions(n[ALL]);
  fflush(stdout);
}

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
  (void)id;
  struct block *b = calloc(1, sizeof *b);
  if (!b) abort();
  const size_t n = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < n; i++) {
    char *text = qemu_plugin_insn_disas(qemu_plugin_tb_get_insn(block, i));
    classify(text, b->n);
    free(text);
  }
  const char *function = n > 0 ? qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(block, 0)) : NULL;
  b->function = function && *function ? function : "?";
  b->next = blocks;
  blocks = b;
  if (strcmp(b->function, "bench_begin") == 0)
    qemu_plugin_register_vcpu_tb_exec_cb(block, begin, NO_REGISTERS, NULL);
  if (strcmp(b->function, "bench_end") == 0)
    qemu_plugin_register_vcpu_tb_exec_cb(block, end, NO_REGISTERS, NULL);
  qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &b->times, 1);
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
  (void)info;
  for (int i = 0; i < argc; i++) by_function = by_function || strcmp(argv[i], "functions=on") == 0;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
