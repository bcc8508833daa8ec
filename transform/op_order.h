/* Methods of operator scheduling. Included by predictor/plan/spec.h and transform/op_schedule.h.
 * Pure functions. */
#ifndef MAFAT_TRANSFORM_OP_ORDER_H
#define MAFAT_TRANSFORM_OP_ORDER_H

#include <stdbool.h>

enum mafat_op_order {
  MAFAT_OP_ORDER_FILE,      /* in the file's order */
  MAFAT_OP_ORDER_POSTORDER, /* depth-first from the outputs over operands, in post-order */
  MAFAT_OP_ORDER_FORWARD,   /* depth-first from the inputs over readers, in reverse post-order */
  MAFAT_OP_ORDER_SP, /* minimal peak of series-parallel graphs whose buffers have one reader */
  MAFAT_OP_ORDER_BEST,      /* minimal peak, or the best found within the effort */
  MAFAT_N_SORTINGS
};

/* "file", "postorder", "forward", "sp", "best". */
const char *mafat_op_order_name(enum mafat_op_order how);

#endif
