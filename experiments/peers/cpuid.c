/* Hides AVX-512 from libraries that hold.py copied: preloaded, it answers their CPUID
 * instructions like a processor with AVX2. In the copies an undefined instruction of two bytes
 * replaces each CPUID. The handler of its signal, SIGILL, sets the registers to CPUID's answer
 * without AVX-512 and later extensions.
 *     gcc -O2 -shared -fPIC -Wl,-z,initfirst -o cpuid.so cpuid.c */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

enum { UNDEFINED_BYTES = 2 };

/* Bits of CPUID's leaf 7 that are cleared.
 * Subleaf 0, EBX: AVX512F, DQ, IFMA, PF, ER, CD, BW, VL; ECX: VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ;
 *   EDX: 4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX-TILE, AMX-INT8.
 * Subleaf 1, EAX: AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA; EDX: AVX-VNNI-INT8, AVX-NE-CONVERT,
 *   AVX10. */
static const unsigned later_b =
    1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31;
static const unsigned later_c = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14;
static const unsigned later_d =
    1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
static const unsigned later_a1 = 1u << 4 | 1u << 5 | 1u << 21 | 1u << 23;
static const unsigned later_d1 = 1u << 4 | 1u << 5 | 1u << 19;

static void answer(int signal, siginfo_t *info, void *context)
{
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned leaf = (unsigned)registers[REG_RAX], subleaf = (unsigned)registers[REG_RCX];
  unsigned a, b, c, d;
  (void)signal, (void)info;
  __cpuid_count(leaf, subleaf, a, b, c, d);
  if (leaf == 7 && subleaf == 0) b &= ~later_b, c &= ~later_c, d &= ~later_d;
  if (leaf == 7 && subleaf == 1) a &= ~later_a1, d &= ~later_d1;
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
  registers[REG_RIP] += UNDEFINED_BYTES;
}

typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);

/* Ignores changes of SIGILL's handler, because Node resets all signals to their defaults. */
int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
  static sigaction_function next;
  if (!next) next = (sigaction_function)dlsym(RTLD_NEXT, "sigaction");
  return signal == SIGILL ? 0 : next(signal, action, old);
}

__attribute__((constructor)) static void handle(void)
{
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction_function next = (sigaction_function)dlsym(RTLD_NEXT, "sigaction");
  next(SIGILL, &action, NULL);
}
