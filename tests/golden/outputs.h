/* The bits that a network puts out, by random weights and an input that are the same everywhere. */
#ifndef MAFAT_TESTS_GOLDEN_OUTPUTS_H
#define MAFAT_TESTS_GOLDEN_OUTPUTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Classes of kernels (runner/kernels/kernels.h): levels of one agree bit for bit. */
enum golden_class { GOLDEN_PLAIN, GOLDEN_FUSED, GOLDEN_N_CLASSES };

struct golden_outputs {
  uint64_t hashes[GOLDEN_N_CLASSES];
  bool there[GOLDEN_N_CLASSES]; /* false: this processor has no such level */
  int runs;                     /* how many there were */
  int differs; /* number, from 0 on, of a plan that gave other bits than the first; -1: none */
};

/* Runs plans of the network with an input of at most 96 pixels a side, where it can have that.
 * *ran: false for networks of more than 20 million weights, of which nothing is run. Errors of
 * reading, planning, running. */
int golden_outputs_run(struct golden_outputs *o, bool *ran, const char *cfg,
                       struct mafat_diagnostic *d);

#endif
