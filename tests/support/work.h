/* Work of a plan's steps, as the latency model counts it. Included by test_latency.c and
 * test_gather.c. */
#ifndef MAFAT_TESTS_SUPPORT_WORK_H
#define MAFAT_TESTS_SUPPORT_WORK_H

#include "predictor/cost/work.h"
#include "tests/support/support.h"

enum { TEST_ALL_LAYERS = -1 };

/* Returns the work of all steps of a layer, or of all steps (TEST_ALL_LAYERS). */
struct mafat_work test_work_of(const struct mafat_network *n, const struct mafat_plan *plan,
                               const struct mafat_layout *layout,
                               const struct mafat_calibration *calibration, int layer);

#endif
