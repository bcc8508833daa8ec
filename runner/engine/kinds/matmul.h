/* Division of a product of two maps into units, for float and integer kinds. Internal to these
 * kinds. Included by runner/engine/kinds/integer/matmul.c. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_MATMUL_H
#define MAFAT_RUNNER_ENGINE_KINDS_MATMUL_H

#include "runner/engine/kinds/kind.h"

/* A unit of work: some outputs of one row. */
struct mafat_product_part {
  int y;
  struct mafat_span cols, filters; /* filters: at most a panel */
};

/* Takes the worker's next unit; false: none is left. */
bool mafat_product_take(const struct mafat_worker *w, const struct mafat_step *step,
                        struct mafat_product_part *part);

/* Row of an operand for row y of the output; an operand with one row is used for all rows. */
static inline int mafat_product_row(const struct mafat_layer *l, int operand, int y)
{
  return l->operands[operand].shape.h == 1 ? 0 : y;
}

#endif
