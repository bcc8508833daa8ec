/* How long structs of the public header were in version 0.1.0: functions that are not told, those
 * of the plain names, are for programs that were linked with it, and touch so much and no more. */
#ifndef MAFAT_API_UNSIZED_H
#define MAFAT_API_UNSIZED_H

#include "include/mafat.h"

/* Struct, its last field then, its bytes where pointers have 64 bits, and where they have 32 (but
 * numbers of 64 bits are aligned as such: not on i386). */
#define MAFAT_UNSIZED(X) \
  X(model_options, warnings, 144, 76) \
  X(model_facts, plan, 320, 216) \
  X(layer_facts, ms, 112, 96) \
  X(group_facts, paper_bytes, 328, 320) \
  X(run_facts, weights_read_bytes, 40, 40) \
  X(process_facts, major_faults, 40, 32) \
  X(check, off_bytes, 32, 16) \
  X(query_facts, n_front, 72, 48) \
  X(front_facts, latency_ms, 32, 24) \
  X(paper_facts, tile_col, 24, 20) \
  X(calibrate_options, warnings, 56, 40) \
  X(calibration_facts, fit_error, 1160, 1160)

struct mafat_alignment {
  char one;
  uint64_t aligned;
};

/* With the padding behind the last field, to a multiple of `to`. */
#define MAFAT_THROUGH(type, last, to) ((offsetof(type, last) + sizeof ((type *)0)->last + (to) - 1) / (to) * (to))
/* A struct may have been padded to pointers where a field that came later asks for more. */
#define MAFAT_WAS(type, last, lp64, ilp32) \
  (MAFAT_THROUGH(type, last, _Alignof(void *)) == (sizeof(void *) == 8 ? lp64 : ilp32) ? MAFAT_THROUGH(type, last, _Alignof(void *)) \
                                                                                      : MAFAT_THROUGH(type, last, _Alignof(type)))

enum {
#define X(name, last, lp64, ilp32) MAFAT_UNSIZED_##name = MAFAT_WAS(struct mafat_##name, last, lp64, ilp32),
  MAFAT_UNSIZED(X)
#undef X
};

#define X(name, last, lp64, ilp32) \
  _Static_assert((size_t)MAFAT_UNSIZED_##name == (sizeof(void *) == 8 ? lp64 : ilp32) || \
                 offsetof(struct mafat_alignment, aligned) == 4, "struct mafat_" #name " has changed");
MAFAT_UNSIZED(X)
#undef X

#endif
