/* Output bits of a network with random weights and input, the same on every machine. Included by
 * golden.c and outputs.c. */
#ifndef MAFAT_TESTS_GOLDEN_OUTPUTS_H
#define MAFAT_TESTS_GOLDEN_OUTPUTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Classes of kernels (runner/kernels/kernels.h). All instruction-set levels of one class compute
 * the same bits. */
enum golden_class { GOLDEN_PLAIN, GOLDEN_FUSED, GOLDEN_N_CLASSES };

struct golden_outputs {
  uint64_t hashes[GOLDEN_N_CLASSES];
  bool there[GOLDEN_N_CLASSES]; /* true: this processor has a level of the class */
  int runs;                     /* number of runs */
  int differs; /* number (from 0) of a plan whose output differs from the first plan's; -1: none */
};

/* Runs plans of the network, with an input of at most 96 pixels a side if the cfg allows it. If
 * the network has more than 20 million weights, *ran is false and nothing is run. Returns MAFAT_OK
 * or an error of reading, planning or running. */
int golden_outputs_run(struct golden_outputs *o, bool *ran, const char *cfg,
                       struct mafat_diagnostic *d);

#endif
