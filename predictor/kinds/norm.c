/* Counts the work of batchnorm layers: a copy. Called by cost/work.c through the table in kinds.c.
 * Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

const struct mafat_predictor_kind mafat_predictor_batchnorm = {.count = mafat_count_moved};
