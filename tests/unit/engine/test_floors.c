/* Covers predictor/kinds/kinds.c: each kind of layer has a row in the kinds table of every
 * folder that has one. */
#include <check.h>

#include "predictor/kind.h"
#include "runner/engine/kinds/kind.h"

Suite *floors_suite(void);

/* True for kinds that no step computes: they rename a tensor, or are inputs of a run. */
static bool is_not_computed(const struct mafat_kind *kind)
{
  return kind->alias || kind->input;
}

/* A kind that steps compute has an entry in the predictor's table and in the runner's. Other kinds
 * have none. */
START_TEST(every_kind_is_on_every_floor)
{
  for (int t = 0; t < MAFAT_N_LAYER_TYPES; t++) {
    const struct mafat_kind *kind = mafat_kind_of((enum mafat_layer_type)t);
    const struct mafat_predictor_kind *priced = mafat_predictor_kind((enum mafat_layer_type)t);
    const struct mafat_runner_kind *run = mafat_runner_kind((enum mafat_layer_type)t);
    if (is_not_computed(kind)) {
      ck_assert_msg(!priced && !run, "%s is not computed, and has an entry", kind->name);
      continue;
    }
    ck_assert_msg(priced && priced->count, "the predictor does not know [%s]", kind->name);
    ck_assert_msg(run && run->run, "the runner does not know [%s]", kind->name);
    ck_assert_msg(kind->head == (run->decode != NULL), "%s: kinds with boxes decode them",
                  kind->name);
    ck_assert_msg(run->sharing != MAFAT_ALONE || !(kind->along & MAFAT_ALONG_ROWS),
                  "%s: rows are not shared", kind->name);
    ck_assert_msg(!kind->flat || (run->prepare && priced->scratch), "%s: nobody lists its input",
                  kind->name);
  }
}
END_TEST

START_TEST(no_two_kinds_share_an_entry)
{
  for (int t = 0; t < MAFAT_N_LAYER_TYPES; t++)
    for (int other = 0; other < t; other++) {
      enum mafat_layer_type a = (enum mafat_layer_type)t, b = (enum mafat_layer_type)other;
      if (is_not_computed(mafat_kind_of(a)) || is_not_computed(mafat_kind_of(b))) continue;
      ck_assert_ptr_ne(mafat_predictor_kind(a), mafat_predictor_kind(b));
      ck_assert_ptr_ne(mafat_runner_kind(a), mafat_runner_kind(b));
    }
}
END_TEST

Suite *floors_suite(void)
{
  Suite *suite = suite_create("floors");
  TCase *tables = tcase_create("tables");
  tcase_add_test(tables, every_kind_is_on_every_floor);
  tcase_add_test(tables, no_two_kinds_share_an_entry);
  suite_add_tcase(suite, tables);
  return suite;
}
