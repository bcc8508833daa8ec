/* Covers api/{dry_run, choose, option_fields}.c, runner/calibrate/{calibrate, disk}.c: dry runs,
 * which give plans and their costs for budgets without running a model; and calibration. Each test
 * has a temporary folder with weights and a picture (tests/support/api.h); the calibration is
 * stored there, too. */
#include "include/mafat_pack.h"
#include "include/mafat_ranks.h"
#include "tests/support/api.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *api_dry_runs_suite(void);

/* ---- asking without running ---- */

START_TEST(test_a_dry_run_knows_what_it_assumed)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_dry_run_facts f = {.size = sizeof f};
  options.memory_bytes = 12345678;
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
  mafat_dry_run_describe(q, &f);
  ck_assert(f.input_h == 24 && f.input_w == 32 && f.input_c == 3 &&
            f.n_layers == API_DETECTOR_LAYERS);
  ck_assert(f.budget_bytes == 12345678 && strcmp(f.budget_source, "memory_bytes") == 0);
  ck_assert(f.n_inputs == 1 && f.n_outputs == 1);
  ck_assert(f.weights_assumed && f.picture_assumed && !f.floats_only && !f.packed &&
            !f.plan_given && !f.greedy);
  ck_assert(f.threads == 1 && f.bias_bytes == 31 << 20 && f.n_front >= 1);
  ck_assert_uint_eq(f.n_weights, 8 * 27 + 14 * 8);
  mafat_dry_run_close(&q);
  mafat_dry_run_close(&q);
  mafat_dry_run_close(NULL);
  q = api_open_dry_run(api_five_channels, &options); /* not for a picture */
  mafat_dry_run_describe(q, &f);
  ck_assert(f.floats_only && !f.picture_assumed);
  mafat_dry_run_close(&q);
}
END_TEST

START_TEST(test_the_front_trades_bytes_for_milliseconds)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_front_facts last = {0}, f = {.size = sizeof f};
  struct mafat_dry_run_facts facts = {.size = sizeof facts};
  int n = 0;
  options.memory_bytes = 1 << 30;
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
  for (; mafat_dry_run_front(q, n, &f) == MAFAT_OK; n++) {
    ck_assert(n == 0 || (f.charge_bytes > last.charge_bytes && f.latency_ms < last.latency_ms));
    ck_assert_int_eq(f.threads, 1);
    last = f;
  }
  mafat_dry_run_describe(q, &facts);
  ck_assert_int_eq(n, facts.n_front);
  ck_assert_int_eq(mafat_dry_run_front(q, -1, &f), MAFAT_EINVAL);
  /* with budget enough, a model takes the first plan, which is about as fast as the fastest */
  struct mafat_plan_report *a;
  struct mafat_plan_facts plan = {.size = sizeof plan};
  ck_assert_int_eq(mafat_dry_run_report(&a, q, 0, NULL), MAFAT_OK);
  mafat_plan_report_describe(a, &plan);
  ck_assert_double_le(plan.latency_ms, 1.05 * last.latency_ms);
  ck_assert_uint_le(plan.memory.charge_bytes, last.charge_bytes * 11 / 10);
  struct mafat_model *m = api_open_model(api_detector, NULL);
  ck_assert_str_eq(mafat_model_plan(m), plan.text);
  mafat_model_close(&m);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
  /* a search that is named takes the fastest */
  options.search = "best";
  q = api_open_dry_run(api_detector, &options);
  mafat_dry_run_front(q, facts.n_front - 1, &last);
  ck_assert_int_eq(mafat_dry_run_report(&a, q, 0, NULL), MAFAT_OK);
  mafat_plan_report_describe(a, &plan);
  ck_assert_str_eq(plan.text, last.text);
  ck_assert_uint_eq(plan.memory.charge_bytes, last.charge_bytes);
  ck_assert_double_eq(plan.latency_ms, last.latency_ms);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
}
END_TEST

START_TEST(test_a_plan_report_says_whether_it_fits)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_front_facts least = {.size = sizeof least};
  struct mafat_plan_facts plan = {.size = sizeof plan};
  struct mafat_plan_report *a;
  options.memory_bytes = 1 << 30;
  options.search = "best"; /* without it, the first plan may need less than this search */
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
  mafat_dry_run_front(q, 0, &least);
  ck_assert_int_eq(mafat_dry_run_report(&a, q, least.charge_bytes, &d), MAFAT_OK);
  mafat_plan_report_describe(a, &plan);
  ck_assert(plan.fits && mafat_plan_report_check(a, &d) == MAFAT_OK);
  api_check_sum(&plan.memory);
  mafat_plan_report_close(&a);
  ck_assert_int_eq(mafat_dry_run_report(&a, q, least.charge_bytes - 1, &d), MAFAT_OK);
  mafat_plan_report_describe(a, &plan);
  ck_assert(!plan.fits && strcmp(plan.text, least.text) == 0);
  ck_assert_int_eq(mafat_plan_report_check(a, &d), MAFAT_ELIMIT);
  ck_assert_ptr_nonnull(strstr(d.text, "does not fit"));
  mafat_plan_report_close(&a);
  mafat_plan_report_close(&a);
  mafat_plan_report_close(NULL);
  mafat_dry_run_close(&q);
}
END_TEST

START_TEST(test_every_search_is_listed_and_finds_a_plan)
{
  struct mafat_search_facts f = {.size = sizeof f};
  struct mafat_dry_run_facts facts = {.size = sizeof facts};
  struct mafat_plan_facts plan = {.size = sizeof plan};
  struct mafat_plan_report *a;
  struct mafat_diagnostic d;
  int n = 0;
  for (; mafat_search_describe(n, &f) == MAFAT_OK; n++) {
    struct mafat_model_options options = {.size = sizeof options};
    options.search = f.name;
    struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
    mafat_dry_run_describe(q, &facts);
    ck_assert_str_eq(facts.search, f.name);
    ck_assert_str_eq(facts.searched, f.searched);
    ck_assert(facts.greedy == f.by_paper && facts.one_plan == f.one_plan);
    ck_assert_msg(mafat_dry_run_report(&a, q, 0, &d) == MAFAT_OK, "%s: %s", f.name, d.text);
    mafat_plan_report_describe(a, &plan);
    ck_assert(plan.text[0] != '\0');
    mafat_plan_report_close(&a);
    mafat_dry_run_close(&q);
  }
  ck_assert_int_ge(n, 3);
  ck_assert_int_eq(mafat_search_describe(-1, &f), MAFAT_EINVAL);
}
END_TEST

/* The caller may change the texts of its options after the dry run is opened, except
 * memory_name. */
START_TEST(test_texts_of_options_are_read_while_a_dry_run_is_opened)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_plan_report *a;
  char motes[] = "motes:cells=1,2", separable[] = "separable:objective=transfers",
       plan[] = "panels:apart/NoCut";
  options.search = motes;
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options), *packed;
  memset(motes, 'x', sizeof motes - 1);
  ck_assert_msg(mafat_dry_run_report(&a, q, 0, &d) == MAFAT_OK, "%s", d.text);
  mafat_plan_report_close(&a);
  ck_assert_msg(mafat_dry_run_pack(&packed, q, "int8", &d) == MAFAT_OK, "%s", d.text);
  ck_assert_msg(mafat_dry_run_report(&a, packed, 0, &d) == MAFAT_OK, "%s", d.text);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&packed);
  mafat_dry_run_close(&q);
  options = (struct mafat_model_options){.size = sizeof options};
  options.search = separable;
  q = api_open_dry_run(api_detector, &options);
  memset(separable, 'x', sizeof separable - 1);
  ck_assert_msg(mafat_dry_run_report(&a, q, 0, &d) == MAFAT_OK, "%s", d.text);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
  options = (struct mafat_model_options){.size = sizeof options};
  options.plan = plan;
  q = api_open_dry_run(api_detector, &options);
  memset(plan, 'x', sizeof plan - 1);
  ck_assert_msg(mafat_dry_run_report(&a, q, 0, &d) == MAFAT_OK, "%s", d.text);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
}
END_TEST

START_TEST(test_closing_nothing_is_nothing)
{
  struct mafat_arena *arena = NULL;
  struct mafat_model *model = NULL;
  struct mafat_dry_run *dry_run = NULL;
  struct mafat_plan_report *report = NULL;
  struct mafat_transfer_report *transfers = NULL;
  struct mafat_ranks_report *ranks = NULL;
  struct mafat_detections *detections = NULL;
  struct mafat_pack *pack = NULL;
  mafat_arena_close(NULL), mafat_arena_close(&arena);
  mafat_model_close(NULL), mafat_model_close(&model);
  mafat_dry_run_close(NULL), mafat_dry_run_close(&dry_run);
  mafat_plan_report_close(NULL), mafat_plan_report_close(&report);
  mafat_transfer_report_close(NULL), mafat_transfer_report_close(&transfers);
  mafat_ranks_report_close(NULL), mafat_ranks_report_close(&ranks);
  mafat_detections_close(NULL), mafat_detections_close(&detections);
  mafat_pack_close(NULL), mafat_pack_close(&pack);
}
END_TEST

START_TEST(test_budgets_rise)
{
  struct mafat_model_options options = {.size = sizeof options};
  size_t budgets[16];
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
  int n = mafat_dry_run_budgets(q, budgets, 16);
  ck_assert_int_ge(n, 1);
  for (int i = 1; i < n; i++) ck_assert_uint_gt(budgets[i], budgets[i - 1]);
  ck_assert_int_eq(mafat_dry_run_budgets(q, budgets, 0), 0);
  mafat_dry_run_close(&q);
  options.search = "greedy";
  q = api_open_dry_run(api_detector, &options);
  ck_assert_int_eq(mafat_dry_run_budgets(q, budgets, 16), 9); /* the paper's Table 1 */
  ck_assert_uint_eq(budgets[0], 16 << 20);
  mafat_dry_run_close(&q);
}
END_TEST

/* With smaller weights, a plan that keeps them needs less memory. The dry run from which the one
 * with smaller weights is made does not change. */
START_TEST(test_a_dry_run_of_smaller_weights)
{
  static const char *const types[] = {"float32", "fp16", "int8", "int4"};
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_dry_run_facts facts = {.size = sizeof facts};
  struct mafat_front_facts before = {.size = sizeof before}, after = {.size = sizeof after},
                           f = {.size = sizeof f};
  struct mafat_diagnostic d;
  struct mafat_dry_run *packed;
  size_t last = 0;
  options.plan = "1x1";
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
  mafat_dry_run_front(q, 0, &before);
  for (int t = 0; t < 4; t++) {
    struct mafat_plan_report *a;
    struct mafat_plan_facts plan = {.size = sizeof plan};
    ck_assert_msg(mafat_dry_run_pack(&packed, q, types[t], &d) == MAFAT_OK, "%s", d.text);
    mafat_dry_run_describe(packed, &facts);
    ck_assert(facts.packed && !facts.weights_assumed && facts.plan_given &&
              facts.n_layers == API_DETECTOR_LAYERS);
    ck_assert_int_eq(mafat_dry_run_report(&a, packed, 0, &d), MAFAT_OK);
    mafat_plan_report_describe(a, &plan);
    ck_assert_msg(t == 0 || plan.memory.weights < last, "%s: %zu bytes", types[t],
                  plan.memory.weights);
    last = plan.memory.weights;
    mafat_plan_report_close(&a);
    if (t == 2) {
      struct mafat_dry_run *again;
      ck_assert_int_eq(mafat_dry_run_pack(&again, packed, "fp16", &d), MAFAT_EUNSUPPORTED);
      ck_assert_ptr_null(again);
    }
    mafat_dry_run_close(&packed);
  }
  mafat_dry_run_front(q, 0, &after);
  ck_assert(after.charge_bytes == before.charge_bytes && after.text == before.text);
  ck_assert_int_eq(mafat_dry_run_front(q, 0, &f), MAFAT_OK);
  ck_assert_int_eq(mafat_dry_run_pack(&packed, q, "int7", &d), MAFAT_EINVAL);
  ck_assert_ptr_null(packed);
  ck_assert_int_eq(mafat_dry_run_pack(&packed, q, NULL, NULL), MAFAT_EINVAL);
  mafat_dry_run_close(&q);
}
END_TEST

/* Facts about the paper's algorithm exist for plans in tiles only. The options need not exist after
 * the dry run is opened. */
START_TEST(test_the_paper_knows_tiles_only)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_paper_facts paper = {.size = sizeof paper};
  struct mafat_group_facts g = {.size = sizeof g};
  struct mafat_layer_facts l = {.size = sizeof l};
  struct mafat_plan_report *a;
  char plan[32] = "3x2/2/1x1";
  options.plan = plan;
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
  strcpy(plan, "overwritten");
  ck_assert_int_eq(mafat_dry_run_report(&a, q, 0, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_plan_report_paper(a, &paper, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_plan_report_group(a, 0, &g), MAFAT_OK);
  ck_assert(g.tile_rows == 3 && g.tile_cols == 2 && g.rows == 0 && !g.panels);
  ck_assert_str_eq(g.cut, "3x2");
  ck_assert_str_eq(g.weights, "kept");
  ck_assert(paper.layer >= 0 && paper.tile_row >= 0 && paper.tile_col >= 0);
  ck_assert_int_eq(mafat_plan_report_group(a, paper.group, &g), MAFAT_OK);
  ck_assert(paper.layer >= g.first && paper.layer <= g.last);
  ck_assert_uint_eq(paper.bytes, g.paper_bytes + (31 << 20));
  ck_assert_int_eq(mafat_plan_report_layer(a, 0, &l), MAFAT_OK);
  ck_assert_uint_eq(l.macs, 24 * 32 * 27 * 8); /* its pool's tiles do not overlap */
  ck_assert_int_eq(mafat_plan_report_layer(a, API_DETECTOR_LAYERS, &l), MAFAT_EINVAL);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
  options.plan = "rows4/NoCut";
  q = api_open_dry_run(api_detector, &options);
  ck_assert_int_eq(mafat_dry_run_report(&a, q, 0, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_plan_report_paper(a, &paper, &d), MAFAT_EUNSUPPORTED);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
  options.plan = "99x99/NoCut";
  q = api_open_dry_run(api_detector, &options);
  ck_assert_int_eq(mafat_dry_run_report(&a, q, 0, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(a);
  mafat_dry_run_close(&q);
}
END_TEST

/* A report's buffers add up to its plan's bytes, and buffers that are live together do not
 * overlap. */
START_TEST(test_an_arena_buffer_by_buffer)
{
  static const char *const plans[] = {"1x1/NoCut", "rows2/NoCut", "3x2/2/1x1",
                                      "rows4:streamed/2/panels:loaded"};
  static const char *const tags[] = {
#define TAG(CONSTANT, name) name,
#include "base/tags.def"
  };
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_plan_facts plan = {.size = sizeof plan};
  struct mafat_arena_facts arena = {.size = sizeof arena};
  struct mafat_buffer_facts list[64], beyond = {.size = sizeof beyond};
  struct mafat_layer_facts layer = {.size = sizeof layer};
  struct mafat_plan_report *a;
  size_t alive[5] = {0}, sum = 0;
  options.plan = plans[_i];
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &options);
  ck_assert_int_eq(mafat_dry_run_report(&a, q, 0, NULL), MAFAT_OK);
  mafat_plan_report_describe(a, &plan);
  mafat_plan_report_arena(a, &arena);
  ck_assert(arena.bytes == plan.arena_bytes && arena.bound_bytes == plan.arena_bound_bytes);
  ck_assert(arena.n_buffers > 0 && arena.n_buffers <= 64 && arena.peak_time < arena.n_times);
  for (int i = 0; i < arena.n_buffers; i++) {
    const struct mafat_buffer_facts *b = &list[i];
    list[i].size = sizeof list[i];
    ck_assert_int_eq(mafat_plan_report_buffer(a, i, &list[i]), MAFAT_OK);
    ck_assert(b->first >= 0 && b->first <= b->last && b->last < arena.n_times &&
              b->offset + b->bytes <= arena.bytes);
    ck_assert((b->input >= 0) == (strcmp(b->tag, "input") == 0) &&
              (b->rows > 0) == (strcmp(b->what, "map") == 0));
    ck_assert((b->layer < 0) == (b->input >= 0 || strcmp(b->tag, "io") == 0));
    for (int k = 0; k < i; k++)
      ck_assert(list[k].last < b->first || b->last < list[k].first ||
                list[k].offset + list[k].bytes <= b->offset ||
                b->offset + b->bytes <= list[k].offset);
    for (int t = 0; t < 5; t++)
      if (strcmp(b->tag, tags[t]) == 0 && b->first <= arena.peak_time && arena.peak_time <= b->last)
        alive[t] += b->bytes;
  }
  for (int t = 0; t < 5; t++) sum += alive[t];
  ck_assert_uint_eq(sum, arena.bound_bytes);
  ck_assert(alive[0] == plan.memory.input && alive[1] == plan.memory.activations &&
            alive[2] == plan.memory.scratch);
  ck_assert_int_eq(mafat_plan_report_buffer(a, arena.n_buffers, &beyond), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_plan_report_buffer(a, -1, &beyond), MAFAT_EINVAL);
  for (int l = 0; mafat_plan_report_layer(a, l, &layer) == MAFAT_OK; l++)
    ck_assert(layer.position >= 0 && 2 * layer.position + 1 < arena.n_times);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
}
END_TEST

/* Measured milliseconds need a search that uses them, and weights, since plans are run. */
START_TEST(test_measuring_is_for_a_search_and_weights)
{
  static const struct {
    const char *search, *why;
  } refused[] = {{"best:measure", "--search best expects no words, found measure"},
                 {"least:measure", "--search least expects no words"},
                 {"motes:measure", "expected a weights file, because the search runs plans"}};
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_dry_run *q, *packed;
  struct mafat_plan_report *a;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    options.search = refused[i].search;
    ck_assert_int_eq(mafat_dry_run_open(&q, api_cfg(api_detector), NULL, &options, &d),
                     MAFAT_EINVAL);
    ck_assert_msg(strstr(d.text, refused[i].why), "%s", d.text);
  }
  api_cut_weights(8 + 8 * 27 + 14 + 14 * 8);
  ck_assert_msg(mafat_dry_run_open(&q, api_cfg(api_detector), api_weights, &options, &d) ==
                    MAFAT_OK,
                "%s", d.text);
  ck_assert_msg(mafat_dry_run_report(&a, q, 0, &d) == MAFAT_OK, "%s", d.text);
  mafat_plan_report_close(&a);
  /* plans for weights that do not exist yet are predicted */
  ck_assert_msg(mafat_dry_run_pack(&packed, q, "int8", &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(unlink(api_weights), 0);
  ck_assert_msg(mafat_dry_run_report(&a, packed, 0, &d) == MAFAT_OK, "%s", d.text);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&packed);
  ck_assert_int_eq(mafat_dry_run_report(&a, q, 0, &d), MAFAT_EIO);
  mafat_dry_run_close(&q);
}
END_TEST

START_TEST(test_a_dry_run_that_cannot_be_opened)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_dry_run *q;
  ck_assert_int_eq(mafat_dry_run_open(&q, "/nonexistent.cfg", NULL, &options, &d), MAFAT_EIO);
  ck_assert_ptr_null(q);
  ck_assert_int_eq(mafat_dry_run_open(&q, api_cfg(api_detector), "/nonexistent.weights", &options,
                                      &d),
                   MAFAT_EIO);
  options.cpu = "sse";
  ck_assert_int_eq(mafat_dry_run_open(&q, api_cfg(api_detector), NULL, &options, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(q);
}
END_TEST

/* The text of a plan is complete, however long, and read again it gives the same plan. */
START_TEST(test_the_text_of_a_plan_is_whole)
{
  enum { LAYERS = 700, ROOM = 1 << 16 };
  static char cfg[ROOM], plan[ROOM];
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_plan_report *a;
  struct mafat_plan_facts f = {.size = sizeof f};
  struct mafat_model *m;
  size_t n = (size_t)snprintf(cfg, ROOM, "[net]\nwidth=8\nheight=8\nchannels=3\n"), at = 0;
  for (int i = 0; i < LAYERS; i++) {
    n += (size_t)snprintf(cfg + n, ROOM - n,
                          "[convolutional]\nfilters=1\nsize=1\nactivation=linear\n");
    if (i) at += (size_t)snprintf(plan + at, ROOM - at, "1x1:loaded/%d/", i);
  }
  snprintf(plan + at, ROOM - at, "1x1:loaded");
  options.memory_bytes = (size_t)1 << 30;
  options.plan = plan;
  struct mafat_dry_run *q = api_open_dry_run(cfg, &options);
  ck_assert_msg(mafat_dry_run_report(&a, q, 0, &d) == MAFAT_OK, "%s", d.text);
  mafat_plan_report_describe(a, &f);
  ck_assert(strcmp(f.text, plan) == 0);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
  api_cut_weights(2 * LAYERS + 2);
  ck_assert_msg(mafat_model_open(&m, api_cfg(cfg), api_weights, &options, &d) == MAFAT_OK, "%s",
                d.text);
  ck_assert(strcmp(mafat_model_plan(m), plan) == 0);
  mafat_model_close(&m);
}
END_TEST

/* Missing lists of constants or outputs are refused. */
START_TEST(test_lists_that_are_missing_are_refused)
{
  static const char *const nothing[] = {NULL};
  static const struct {
    const char *const *list;
    int n;
    const char *says;
  } cases[] = {{NULL, 1, "1 of them in no list"},
               {NULL, -1, "-1 of them in no list"},
               {nothing, 1, "constant 0, found nothing"}};
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_dry_run *q;
  options.constants = cases[_i].list;
  options.n_constants = cases[_i].n;
  ck_assert_int_eq(mafat_dry_run_open(&q, api_cfg(api_detector), NULL, &options, &d), MAFAT_EINVAL);
  ck_assert_msg(strstr(d.text, cases[_i].says), "%s", d.text);
}
END_TEST

/* If a picture that may fail cannot be opened, an ordinary picture is assumed. */
START_TEST(test_a_picture_that_may_fail_is_an_ordinary_one)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_dry_run *q;
  struct mafat_plan_report *ordinary, *failed;
  struct mafat_plan_facts f = {.size = sizeof f}, g = {.size = sizeof g};
  options.plan = "1x1/NoCut";
  q = api_open_dry_run(api_detector, &options);
  ck_assert_int_eq(mafat_dry_run_report(&ordinary, q, 0, &d), MAFAT_OK);
  mafat_plan_report_describe(ordinary, &f);
  mafat_plan_report_close(&ordinary);
  mafat_dry_run_close(&q);
  options.picture = "/nonexistent.jpg";
  ck_assert_int_eq(mafat_dry_run_open(&q, api_cfg(api_detector), NULL, &options, &d), MAFAT_EIO);
  options.picture_may_fail = true;
  q = api_open_dry_run(api_detector, &options);
  ck_assert_int_eq(mafat_dry_run_report(&failed, q, 0, &d), MAFAT_OK);
  mafat_plan_report_describe(failed, &g);
  ck_assert_uint_eq(f.memory.image, g.memory.image);
  mafat_plan_report_close(&failed);
  mafat_dry_run_close(&q);
}
END_TEST

/* ---- measuring the machine ---- */

static void see_share(void *context, double share)
{
  double *last = context;
  ck_assert(share >= *last && share <= 1);
  *last = share;
}

START_TEST(test_a_calibration_is_kept_and_used)
{
  struct mafat_calibrate_options options = {.size = sizeof options};
  struct mafat_calibration_facts found = {.size = sizeof found};
  struct mafat_model_options model = {.size = sizeof model};
  struct mafat_plan_facts plan = {.size = sizeof plan};
  struct mafat_diagnostic d;
  struct mafat_plan_report *a;
  double share = 0;
  setenv("XDG_CACHE_HOME", api_folder, 1);
  options.cpu = "sse";
  ck_assert_int_eq(mafat_calibrate(&found, &options, &d), MAFAT_EINVAL);
  options.cpu = "portable";
  options.seconds = .1;
  options.memory_bytes = 64 << 20;
  options.progress = see_share;
  options.context = &share;
  int code = mafat_calibrate(&found, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_double_eq(share, 1);
  ck_assert_str_eq(found.cpu, "portable");
  ck_assert_ptr_eq(strstr(found.path, api_folder), found.path);
  ck_assert_int_eq(access(found.path, R_OK), 0);
  ck_assert(found.conv_gflops > 0 && found.depthwise_gflops > 0 && found.disk_gbs > 0);
  model.cpu = "portable";
  struct mafat_dry_run *q = api_open_dry_run(api_detector, &model);
  ck_assert_int_eq(mafat_dry_run_report(&a, q, 0, &d), MAFAT_OK);
  mafat_plan_report_describe(a, &plan);
  ck_assert(plan.calibrated);
  mafat_plan_report_close(&a);
  mafat_dry_run_close(&q);
}
END_TEST

Suite *api_dry_runs_suite(void)
{
  Suite *suite = suite_create("api_dry_runs");
  TCase *dry_runs = api_case(suite, "queries", 30);
  tcase_add_test(dry_runs, test_a_dry_run_knows_what_it_assumed);
  tcase_add_test(dry_runs, test_the_front_trades_bytes_for_milliseconds);
  tcase_add_test(dry_runs, test_a_plan_report_says_whether_it_fits);
  tcase_add_test(dry_runs, test_every_search_is_listed_and_finds_a_plan);
  tcase_add_test(dry_runs, test_texts_of_options_are_read_while_a_dry_run_is_opened);
  tcase_add_test(dry_runs, test_closing_nothing_is_nothing);
  tcase_add_test(dry_runs, test_budgets_rise);
  tcase_add_test(dry_runs, test_a_dry_run_of_smaller_weights);
  tcase_add_test(dry_runs, test_the_paper_knows_tiles_only);
  tcase_add_loop_test(dry_runs, test_an_arena_buffer_by_buffer, 0, 4);
  tcase_add_test(dry_runs, test_measuring_is_for_a_search_and_weights);
  tcase_add_test(dry_runs, test_a_dry_run_that_cannot_be_opened);
  tcase_add_test(dry_runs, test_the_text_of_a_plan_is_whole);
  tcase_add_loop_test(dry_runs, test_lists_that_are_missing_are_refused, 0, 3);
  tcase_add_test(dry_runs, test_a_picture_that_may_fail_is_an_ordinary_one);

  TCase *calibrating = api_case(suite, "calibrating", 240);
  tcase_add_test(calibrating, test_a_calibration_is_kept_and_used);
  return suite;
}
