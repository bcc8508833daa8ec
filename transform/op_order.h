/* The methods by which operators can be ordered, and their names in plans. Included by
 * predictor/plan/spec.h and transform/op_schedule.h; used by predictor/ and search/. Touches
 * nothing. */
#ifndef MAFAT_TRANSFORM_OP_ORDER_H
#define MAFAT_TRANSFORM_OP_ORDER_H

#include <stdbool.h>

enum mafat_op_order {
  MAFAT_OP_ORDER_FILE,      /* in the file's order */
  MAFAT_OP_ORDER_POSTORDER, /* depth-first from the outputs over operands, in post-order */
  MAFAT_OP_ORDER_FORWARD,   /* depth-first from the inputs over readers, in reverse post-order */
  /* "sp": the smallest peak of a series-parallel graph, if each buffer has one reader; a good order
   * of any other graph */
  MAFAT_OP_ORDER_SP,
  MAFAT_OP_ORDER_BEST,      /* the smallest peak, or the best order found within the effort */
  MAFAT_N_SORTINGS          /* number of methods */
};

/* Returns the method's name: "file", "postorder", "forward", "sp" or "best". */
const char *mafat_op_order_name(enum mafat_op_order how);

#endif
