/* Macros for two columns of base/levels.def, machine and features. A machine is a macro that is
 * called with a level's table: it gives the table, or NULL if this build is for another machine.
 * Features are conditions on the processor, each with a leading &&. The including file defines
 * EVERYWHERE, the machine of the portable level. Queries the processor. Included by the sources
 * that select kernels (kernels.c, integer.c, frame_rows.c). */
#ifndef MAFAT_RUNNER_KERNELS_PROCESSOR_H
#define MAFAT_RUNNER_KERNELS_PROCESSOR_H

#include <stdbool.h>

#define BASIC

/* MAFAT_WITHOUT_VECTORS is defined by check-msan, because memory sanitizers do not see vector
 * stores. */
#if defined(__x86_64__) && !defined(MAFAT_WITHOUT_VECTORS)
#include <cpuid.h>
#define X86(table) (table)
/* reads features that the compiler's runtime has found by cpuid before main() */
#define CPU(feature) && __builtin_cpu_supports(#feature)
#ifndef CPU_7_1 /* tests override it (tests/avxvnni.sh) */
#define CPU_7_1(bit) && mafat_processor_leaf_7_1(bit)
#endif

/* True if bit number `bit` of eax is set in cpuid leaf 7, sub-leaf 1. */
static inline bool mafat_processor_leaf_7_1(int bit)
{
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> bit & 1);
}
#else
#define X86(table) NULL
#define CPU(feature)
#define CPU_7_1(bit)
#endif

#if defined(__aarch64__) || defined(__arm__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define ARM(table) (table)
#else
#define ARM(table) NULL
#endif

#ifdef __arm__
#define CPU_ARM32(feature) && (getauxval(AT_HWCAP) & HWCAP_##feature)
#else
#define CPU_ARM32(feature)
#endif

#ifdef __aarch64__
#define ARM64(table) (table)
#define CPU_ARM64(feature) && (getauxval(AT_HWCAP) & HWCAP_##feature)
#else
#define ARM64(table) NULL
#define CPU_ARM64(feature)
#endif

#endif
