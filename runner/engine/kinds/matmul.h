/* What products of two maps share, of floats and of whole numbers. Internal to these kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_MATMUL_H
#define MAFAT_RUNNER_ENGINE_KINDS_MATMUL_H

#include "runner/engine/kinds/kind.h"

/* A unit of work: outputs of one row. */
struct mafat_product_part {
  int y;
  struct mafat_span cols, filters; /* a panel of them at most */
};

/* The next part of a step for this worker; false: there is none left. */
bool mafat_product_take(const struct mafat_worker *w, const struct mafat_step *step, struct mafat_product_part *part);

/* The row of an operand that row y of the output is made from. */
static inline int mafat_product_row(const struct mafat_layer *l, int operand, int y)
{
  return l->operands[operand].shape.h == 1 ? 0 : y;
}

#endif
