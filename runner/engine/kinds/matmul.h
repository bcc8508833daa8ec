/* Divides a matrix product of two maps into units of work. Touches only its arguments and the
 * team's counter of units. Included by matmul.c and integer/matmul.c in runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_MATMUL_H
#define MAFAT_RUNNER_ENGINE_KINDS_MATMUL_H

#include "runner/engine/kinds/kind.h"

/* A unit of work: the part of output row y that has these columns and filters. */
struct mafat_product_part {
  int y;
  struct mafat_span cols, filters; /* filters: at most a panel */
};

/* Gets the worker's next unit; false: no unit is left. */
bool mafat_product_take(const struct mafat_worker *w, const struct mafat_step *step,
                        struct mafat_product_part *part);

/* Returns the row of an operand that output row y is computed from. An operand with one row is used
 * for all output rows. */
static inline int mafat_product_row(const struct mafat_layer *l, int operand, int y)
{
  return l->operands[operand].shape.h == 1 ? 0 : y;
}

#endif
