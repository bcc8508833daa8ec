/* Sizes for people: MiB with one decimal, printed as "%.1f MiB". JSON and tables of numbers for
 * programs have bytes. Included by api/, programs/mafat, programs/pack_weights,
 * programs/run_inference and runner/calibrate. Pure inline functions. */
#ifndef MAFAT_BASE_MEBIBYTES_H
#define MAFAT_BASE_MEBIBYTES_H

#include <stddef.h>

static inline double mafat_mebibytes(size_t bytes)
{
  return (double)bytes / (1 << 20);
}

/* For messages that print a need and the budget that it exceeds. The need is rounded up to a tenth
 * and the budget down, so that the printed need is larger than the printed budget. */
static inline double mafat_mebibytes_up(size_t bytes)
{
  const size_t whole = bytes >> 20, rest = bytes & ((1 << 20) - 1);
  return (double)whole + (double)((rest * 10 + (1 << 20) - 1) >> 20) / 10;
}

static inline double mafat_mebibytes_down(size_t bytes)
{
  const size_t whole = bytes >> 20, rest = bytes & ((1 << 20) - 1);
  return (double)whole + (double)(rest * 10 >> 20) / 10;
}

#endif
