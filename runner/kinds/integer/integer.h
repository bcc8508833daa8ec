/* Kinds of layers that read whole numbers: files of the same names as those of floats. */
#ifndef MAFAT_RUNNER_KINDS_INTEGER_INTEGER_H
#define MAFAT_RUNNER_KINDS_INTEGER_INTEGER_H

#include "runner/kinds/kind.h"

extern const struct mafat_runner_kind mafat_integer_quantize;

#endif
