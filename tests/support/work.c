/* Adds up the work of a plan's steps. Called by test_latency.c and test_gather.c. Touches only
 * its arguments. */
#include "tests/support/work.h"

#include "predictor/schedule/schedule.h"

#include <check.h>

struct mafat_work test_work_of(const struct mafat_network *n, const struct mafat_plan *plan,
                               const struct mafat_layout *layout,
                               const struct mafat_calibration *calibration, int layer)
{
  struct mafat_work work = {{0}};
  struct mafat_work_context context;
  struct mafat_schedule *s;
  struct mafat_step step;
  ck_assert_int_eq(mafat_schedule_open(&s, n, plan), MAFAT_OK);
  mafat_work_open(&context, n, plan, layout, calibration);
  mafat_schedule_rewind(s);
  while (mafat_schedule_next(s, &step))
    if (layer == TEST_ALL_LAYERS || step.layer == layer)
      mafat_work_add_step(&context, &step, &work);
  mafat_schedule_close(&s);
  return work;
}
