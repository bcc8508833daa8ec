/* Covers api/{facts, facts_layers}.c, base/sized.c: facts about models and about this process, also
 * for programs made for another version of the library. Like a program outside the project, this
 * file includes only public headers. */
#include "include/mafat_video.h"
#include "tests/support/api.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

Suite *api_suite(void);

/* ---- models ---- */

START_TEST(test_a_model_describes_itself)
{
  struct mafat_model *m = api_open_model(api_detector, "rows4/2/1x1:loaded");
  struct mafat_model_facts f = {.size = sizeof f};
  mafat_model_describe(m, &f);
  ck_assert_int_eq(f.kind, MAFAT_MODEL_DETECTOR);
  ck_assert(f.input_h == 24 && f.input_w == 32 && f.input_c == 3);
  ck_assert_uint_eq(f.budget_bytes, API_MEMORY_BYTES);
  ck_assert_str_eq(f.budget_source, "memory_bytes");
  ck_assert(!f.packed && f.cpu[0]);
  ck_assert_ptr_nonnull(f.reads_method); /* the second group's convolution is streamed */
  ck_assert_uint_gt(f.kept_weights_bytes, 0);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_a_model_describes_its_plan)
{
  struct mafat_model *m = api_open_model(api_detector, "rows4/2/1x1:loaded");
  struct mafat_plan_facts f = {.size = sizeof f};
  ck_assert_int_eq(mafat_model_describe_plan(m, &f), MAFAT_OK);
  ck_assert_str_eq(f.text, mafat_model_plan(m));
  ck_assert_str_eq(f.algorithm, "auto");
  ck_assert(f.threads == 1 && f.n_layers == API_DETECTOR_LAYERS && f.n_groups == 2);
  ck_assert(f.fits);
  ck_assert_uint_eq(f.memory.charge_bytes, mafat_model_charge_bytes(m));
  api_check_sum(&f.memory);
  ck_assert_uint_ge(f.arena_bytes, f.arena_bound_bytes);
  ck_assert_uint_eq(f.weights_read_bytes, (14 + 14 * 8) * sizeof(float));
  ck_assert_double_gt(f.latency_ms, 0);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_kinds_of_models)
{
  struct mafat_model_facts f = {.size = sizeof f};
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *m = api_open_model(api_classifier, NULL);
  mafat_model_describe(m, &f);
  ck_assert_int_eq(f.kind, MAFAT_MODEL_CLASSIFIER);
  mafat_model_close(&m);
  options.layers = 2;
  ck_assert_int_eq(mafat_model_open(&m, api_cfg(api_classifier), api_weights, &options, NULL),
                   MAFAT_OK);
  mafat_model_describe(m, &f);
  ck_assert_int_eq(f.kind, MAFAT_MODEL_OTHER);
  ck_assert_ptr_null(f.reads_method); /* all weights are kept */
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_groups_and_layers_add_up)
{
  static const char *const plans[] = {"1x1/NoCut", "3x2/2/1x1", "rows2/NoCut", "panels/NoCut",
                                      "rows4:streamed/2/panels:loaded"};
  struct mafat_model *m = api_open_model(api_detector, plans[_i]);
  struct mafat_plan_facts plan = {.size = sizeof plan};
  struct mafat_group_facts g = {.size = sizeof g};
  struct mafat_layer_facts l = {.size = sizeof l};
  uint64_t group_macs = 0, layer_macs = 0, step_macs = 0;
  int next = 0;
  mafat_model_describe_plan(m, &plan);
  for (int i = 0; mafat_model_group(m, i, &g) == MAFAT_OK; i++) {
    ck_assert_int_eq(g.first, next);
    ck_assert_int_ge(g.last, g.first);
    ck_assert_uint_le(g.peak_bytes, plan.arena_bytes);
    ck_assert_ptr_nonnull(strstr(plan.text, g.cut));
    ck_assert_uint_eq(g.paper_bytes, 0);
    group_macs += g.macs;
    for (next = g.first; next <= g.last; next++) {
      ck_assert_int_eq(mafat_model_layer(m, next, &l), MAFAT_OK);
      ck_assert_int_eq(l.group, i);
      ck_assert(l.inside == -1 || (l.inside > next && l.inside <= g.last));
      ck_assert((l.algorithm != NULL) == (strcmp(l.type, "convolutional") == 0));
      ck_assert((l.weights != NULL) == (l.weights_bytes > 0));
      ck_assert_double_eq(l.ms, 0);
      layer_macs += l.macs;
      step_macs += l.step_macs;
    }
  }
  ck_assert_int_eq(next, plan.n_layers);
  ck_assert_uint_eq(group_macs, plan.macs);
  ck_assert_uint_eq(layer_macs, plan.macs);
  ck_assert_uint_eq(step_macs, plan.macs);
  ck_assert_uint_ge(plan.macs - plan.redundant_macs, 24 * 32 * 27 * 8);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_what_is_not_there_is_not_filled)
{
  struct mafat_model *m = api_open_model(api_detector, NULL);
  struct mafat_layer_facts l = {.size = sizeof l, .group = 77};
  struct mafat_group_facts g = {.size = sizeof g, .first = 77};
  ck_assert_int_eq(mafat_model_layer(m, -1, &l), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_layer(m, API_DETECTOR_LAYERS, &l), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_group(m, -1, &g), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_group(m, 1000, &g), MAFAT_EINVAL);
  ck_assert(l.group == 77 && g.first == 77);
  ck_assert_int_eq(mafat_model_layer(m, 1, &l), MAFAT_OK);
  ck_assert_str_eq(l.type, "maxpool");
  ck_assert(l.in_h == 24 && l.in_w == 32 && l.in_c == 8 && l.out_h == 12 && l.out_w == 16 &&
            l.out_c == 8);
  ck_assert(l.kernel_size == 2 && l.stride == 2);
  mafat_model_close(&m);
}
END_TEST

/* ---- programs of other versions ---- */

START_TEST(test_options_of_a_later_version_are_refused_unless_zero)
{
  struct {
    struct mafat_model_options known;
    char later[24];
  } options = {.known.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_dry_run *q;
  const char *cfg = api_cfg(api_detector);
  ck_assert_int_eq(mafat_dry_run_open(&q, cfg, NULL, &options.known, &d), MAFAT_OK);
  mafat_dry_run_close(&q);
  options.later[23] = 1;
  ck_assert_int_eq(mafat_dry_run_open(&q, cfg, NULL, &options.known, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "of a later version"));
  ck_assert_ptr_null(q);
}
END_TEST

START_TEST(test_options_that_a_program_does_not_know_are_the_default)
{
  struct mafat_model_options options;
  struct mafat_dry_run_facts f = {.size = sizeof f};
  struct mafat_dry_run *q;
  memset(&options, 1, sizeof options);
  memset(&options, 0, offsetof(struct mafat_model_options, layers));
  options.size = offsetof(struct mafat_model_options, layers);
  ck_assert_int_eq(mafat_dry_run_open(&q, api_cfg(api_detector), NULL, &options, NULL), MAFAT_OK);
  mafat_dry_run_describe(q, &f);
  ck_assert(f.n_layers == API_DETECTOR_LAYERS && f.threads == 1 && f.input_w == 32);
  ck_assert_uint_eq(f.reserve_bytes, MAFAT_DEFAULT_RESERVE_BYTES);
  mafat_dry_run_close(&q);
}
END_TEST

START_TEST(test_facts_that_the_library_does_not_know_are_zero)
{
  struct {
    struct mafat_layer_facts known;
    char later[24];
  } facts;
  struct mafat_layer_facts begun;
  struct mafat_model *m = api_open_model(api_detector, "1x1/NoCut");
  memset(&facts, 1, sizeof facts);
  facts.known.size = sizeof facts;
  ck_assert_int_eq(mafat_model_layer(m, 0, &facts.known), MAFAT_OK);
  ck_assert_int_eq(facts.known.filters, 8);
  for (size_t i = 0; i < sizeof facts.later; i++) ck_assert_int_eq(facts.later[i], 0);
  memset(&begun, 1, sizeof begun);
  begun.size = offsetof(struct mafat_layer_facts, filters);
  ck_assert_int_eq(mafat_model_layer(m, 0, &begun), MAFAT_OK);
  ck_assert(begun.kernel_size == 3 && begun.filters == 0x01010101);
  mafat_model_close(&m);
}
END_TEST

/* Structs whose size was not set (0 or garbage) are refused. */
START_TEST(test_structs_without_a_size_are_refused)
{
  static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, (size_t)1 << 20, SIZE_MAX};
  struct mafat_diagnostic d = {""};
  struct mafat_dry_run *q;
  struct mafat_model *m = api_open_model(api_detector, "1x1/NoCut");
  struct mafat_model_options options = {.size = sizes[_i]};
  struct mafat_model_facts facts = {.size = sizes[_i], .input_h = 77};
  struct mafat_layer_facts layer = {.size = sizes[_i], .group = 77};
  struct mafat_frame_facts frame = {.size = sizes[_i]};
  struct mafat_calibration_facts calibration = {.size = sizes[_i]};
  ck_assert_int_eq(mafat_dry_run_open(&q, api_cfg(api_detector), NULL, &options, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(q);
  ck_assert_ptr_nonnull(strstr(d.text, "expected .size = sizeof"));
  ck_assert_int_eq(mafat_model_describe(m, &facts), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_layer(m, 0, &layer), MAFAT_EINVAL);
  ck_assert(facts.input_h == 77 && layer.group == 77);
  ck_assert_int_eq(mafat_frame_describe("4x4:nv12", &frame, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_calibrate(&calibration, NULL, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "expected .size = sizeof"));
  mafat_model_close(&m);
}
END_TEST

/* Fields of 0 mean the default. Fields that can have the value 0 are pointers, and NULL means the
 * default. */
START_TEST(test_zero_means_the_default_and_a_pointer_means_its_value)
{
  const size_t none = 0;
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_dry_run_facts f = {.size = sizeof f};
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
  mafat_dry_run_describe(q, &f);
  ck_assert(f.reserve_bytes == MAFAT_DEFAULT_RESERVE_BYTES &&
            f.bias_bytes == MAFAT_DEFAULT_BIAS_BYTES && f.threads == 1);
  mafat_dry_run_close(&q);
  options.reserve_bytes = &none;
  options.search = "greedy:bias=0";
  options.threads = MAFAT_THREADS_AUTO;
  q = api_open_dry_run(api_detector, &options);
  mafat_dry_run_describe(q, &f);
  ck_assert(f.reserve_bytes == 0 && f.bias_bytes == 0 && f.threads == MAFAT_THREADS_AUTO);
  mafat_dry_run_close(&q);
}
END_TEST

/* ---- the process ---- */

START_TEST(test_this_process_is_measured)
{
  struct mafat_process_facts before = {.size = sizeof before}, after = {.size = sizeof after};
  enum { MORE = 8 << 20 };
  mafat_process_measure(&before);
  volatile char *memory = malloc(MORE);
  ck_assert_ptr_nonnull((char *)memory);
  for (int i = 0; i < MORE; i += 1024) memory[i] = 1;
  mafat_process_measure(&after);
  ck_assert_uint_ge(after.resident_bytes, before.resident_bytes + MORE / 2);
  ck_assert_uint_ge(after.peak_bytes, before.resident_bytes + MORE / 2);
  ck_assert_uint_ge(after.major_faults, before.major_faults);
  ck_assert_uint_ge(after.swap_in_bytes, before.swap_in_bytes);
  free((char *)memory);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__
START_TEST(test_more_than_was_predicted_is_reported)
{
  struct mafat_model *m = api_open_model(api_detector, NULL);
  struct mafat_plan_facts plan = {.size = sizeof plan};
  struct mafat_check c = {.size = sizeof c};
  ck_assert_int_eq(mafat_model_run_picture(m, api_picture, NULL), MAFAT_OK);
  mafat_model_describe_plan(m, &plan);
  size_t predicted = plan.memory.resident_bytes;
  mafat_model_check(m, predicted, &c);
  ck_assert(c.holds && c.predicted_bytes == predicted);
  mafat_model_check(m, 0, &c); /* 0: the system did not report it */
  ck_assert(c.holds);
  mafat_model_check(m, predicted + 5000, &c);
  ck_assert(!c.holds && !c.in_arena && c.off_bytes == 5000);
  mafat_model_close(&m);
}
END_TEST
#endif

Suite *api_suite(void)
{
  Suite *suite = suite_create("api");
  TCase *models = api_case(suite, "models", 30);
  tcase_add_test(models, test_a_model_describes_itself);
  tcase_add_test(models, test_a_model_describes_its_plan);
  tcase_add_test(models, test_kinds_of_models);
  tcase_add_loop_test(models, test_groups_and_layers_add_up, 0, 5);
  tcase_add_test(models, test_what_is_not_there_is_not_filled);
  tcase_add_test(models, test_options_of_a_later_version_are_refused_unless_zero);
  tcase_add_test(models, test_options_that_a_program_does_not_know_are_the_default);
  tcase_add_loop_test(models, test_structs_without_a_size_are_refused, 0, 5);
  tcase_add_test(models, test_zero_means_the_default_and_a_pointer_means_its_value);
  tcase_add_test(models, test_facts_that_the_library_does_not_know_are_zero);
  tcase_add_test(models, test_this_process_is_measured);
#ifndef __SANITIZE_ADDRESS__
  tcase_add_test(models, test_more_than_was_predicted_is_reported);
#endif
  return suite;
}
