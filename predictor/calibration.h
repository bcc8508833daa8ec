/* How fast a machine computes and reads: what a latency prediction is made from.
 * Plain numbers, measured once by `run_inference --calibrate` and kept as text, or
 * the built-in ones. */
#ifndef MAFAT_PREDICTOR_CALIBRATION_H
#define MAFAT_PREDICTOR_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "network/error.h"

struct mafat_calibration {
  char cpu[16];  /* kernel level it holds for: "avx512" ... */
  bool measured; /* on this machine; else built-in */
};

/* Built-in figures of a kernel level. */
void mafat_calibration_defaults(struct mafat_calibration *c, const char *cpu);

#endif
