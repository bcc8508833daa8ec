/* Covers api/plan_timer.c: times of plans by a clock that the test controls, and the memory that
 * timing needs. */
#include "base/model_source.h"
#include "api/plan_timer.h"

#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *plan_timer_suite(void);

#define TWO_LAYERS \
  "[net]\nheight=16\nwidth=16\nchannels=3\n[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=" \
  "relu\n" \
  "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n"

/* ---- a clock: run i takes 2 * takes[i] ms, half of them for reading its input; after the list's
 * end each run takes as long as the last of the list ---- */

static const double *takes;
static int n_takes, n_asked; /* n_asked: calls of now_ms, two for each run */

static double takes_in(int run)
{
  return takes[run < n_takes ? run : n_takes - 1];
}

static double now_ms(void)
{
  static double now;
  int run = n_asked / 2;
  if (n_asked++ % 2) now += 2 * takes_in(run); /* the end of a run */
  return now;
}

static double input_ms(const struct mafat_executor *e)
{
  (void)e;
  return takes_in(n_asked / 2 - 1); /* of the run that has just ended */
}

static void set_clock(const double *list, int n)
{
  takes = list;
  n_takes = n;
  n_asked = 0;
}

/* ---- a timer ---- */

static const struct mafat_footprint footprint = {.process_bytes = 900 << 10};

struct timed {
  struct mafat_network *network;
  struct test_model_files files;
  struct mafat_model_source *weights;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_plan_timer_options options;
};

static struct timed prepare(void)
{
  struct timed t = {.network = test_network(TWO_LAYERS), .files = test_model_files(TWO_LAYERS, 1)};
  ck_assert_int_eq(mafat_model_source_open_regular(&t.weights, t.files.weights, NULL), MAFAT_OK);
  t.plan = test_plan(t.network, "1x1/NoCut");
  t.layout = test_layout(t.network, t.plan);
  t.options = (struct mafat_plan_timer_options){.network = t.network,
                                                .n_layers = t.network->n_layers,
                                                .kernels = mafat_kernels_find(NULL),
                                                .footprint = &footprint,
                                                .budget_bytes = SIZE_MAX,
                                                .budget_source = "--memory",
                                                .now_ms = now_ms,
                                                .input_ms = input_ms};
  return t;
}

static void finish(struct timed *t)
{
  mafat_layout_close(&t->layout);
  mafat_plan_close(&t->plan);
  mafat_network_close(&t->network);
  mafat_model_source_close(&t->weights);
  test_model_files_close(&t->files);
}

/* Opens a timer and times the plan once. */
static int time_once(const struct timed *t, double *ms, size_t *most_bytes,
                     struct mafat_diagnostic *d)
{
  struct mafat_plan_timer *timer;
  int code = mafat_plan_timer_open(&timer, &t->options, d);
  if (code)
    return timer ? MAFAT_OK
                 : code; /* A failed open must not return a timer. If it does, MAFAT_OK makes the
                            caller's test fail (an assertion here would allocate). */
  struct mafat_search_timer by = mafat_plan_timer_for_search(timer);
  code = by.time(by.context, t->plan, t->layout, ms, d);
  *most_bytes = mafat_plan_timer_most_bytes(timer);
  mafat_plan_timer_close(&timer);
  return code;
}

static const struct {
  double takes[4];
  int runs; /* expected number of runs */
  double least; /* expected time of the plan in ms */
} clocks[] = {
    {{90, 70, 50, 80}, 4, 50},
    {{90, 10, 10, 10}, 4, 10},
    {{1.6, .5, .5, .5}, 4, .5}, /* after 4 runs and more than 3 ms, runs end */
    {{.26, .26, .26, .26}, 12, .26},
    {{.001, .001, .001, .001}, 64, .001},
};

/* The time of a plan is the least of several runs, without the time of reading the input. */
START_TEST(the_least_of_several_runs_counts)
{
  struct timed t = prepare();
  struct mafat_diagnostic d = {""};
  size_t bytes;
  double ms;
  t.options.weights = t.weights;
  set_clock(clocks[_i].takes, 4);
  ck_assert_msg(time_once(&t, &ms, &bytes, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(n_asked, 2 * clocks[_i].runs);
  ck_assert_double_eq_tol(ms, clocks[_i].least, 1e-9);
  finish(&t);
}
END_TEST

/* Timing a plan needs exactly the bytes of arena and weights that are predicted for a run. */
START_TEST(what_it_takes_is_what_is_predicted)
{
  struct timed t = prepare();
  struct mafat_diagnostic d = {""};
  struct mafat_prediction p;
  size_t bytes;
  double ms;
  t.options.weights = t.weights;
  t.options.now_ms = NULL; /* the machine's clock */
  t.options.input_ms = NULL;
  mafat_predict(&p, t.layout, &footprint);
  t.options.budget_bytes = p.charge_bytes;
  ck_assert_msg(time_once(&t, &ms, &bytes, &d) == MAFAT_OK, "%s", d.text);
  ck_assert(isfinite(ms));
  ck_assert_uint_eq(bytes, p.resident_bytes - footprint.process_bytes);
  ck_assert_uint_ge(bytes, t.layout->mapped_bytes + t.layout->kept_bytes);
  finish(&t);
}
END_TEST

/* A budget that is too small is reported before any weights are read. */
START_TEST(a_budget_may_have_no_room_for_it)
{
  struct timed t = prepare();
  struct mafat_diagnostic d = {""};
  struct mafat_prediction p;
  size_t bytes;
  double ms;
  struct mafat_model_source *none;
  ck_assert_int_eq(mafat_model_source_open_regular(&none, "/dev/null", NULL), MAFAT_OK);
  t.options.weights = none;
  mafat_predict(&p, t.layout, &footprint);
  t.options.budget_bytes = p.charge_bytes - 1;
  ck_assert_int_eq(time_once(&t, &ms, &bytes, &d), MAFAT_ELIMIT);
  ck_assert_msg(strstr(d.text, "measuring the time of a plan needs ") &&
                    strstr(d.text, "the budget (--memory) is "),
                "%s", d.text);
  ck_assert_uint_eq(bytes, 0);
  t.options.budget_bytes++;
  ck_assert_int_eq(time_once(&t, &ms, &bytes, &d), MAFAT_EIO);
  ck_assert_msg(strstr(d.text, "/dev/null: expected a regular file"), "%s", d.text);
  mafat_model_source_close(&none);
  finish(&t);
}
END_TEST

/* Each allocation and each mapping fails in turn: the error is reported, and nothing leaks. */
START_TEST(refused_memory_is_reported)
{
  struct timed t = prepare();
  struct mafat_diagnostic d = {""};
  size_t bytes;
  double ms;
  long unfreed, n_mapped;
  t.options.weights = t.weights;
  t.options.now_ms = NULL;
  t.options.input_ms = NULL;
  /* the first call also allocates memory that is never freed */
  ck_assert_int_eq(time_once(&t, &ms, &bytes, &d), MAFAT_OK);
  failing_malloc_arm(-1);
  failing_mmap_arm(-1);
  int whole = time_once(&t, &ms, &bytes, &d);
  n_mapped = failing_mmap_disarm();
  long n = failing_malloc_disarm(&unfreed);
  ck_assert_msg(whole == MAFAT_OK && unfreed == 0 && n > 10 && n_mapped > 0,
                "%ld allocations, %ld mappings, %ld blocks leak", n, n_mapped, unfreed);
  for (long i = 0; i < n + n_mapped; i++) {
    d.text[0] = '\0';
    failing_malloc_arm(i < n ? i : -1);
    failing_mmap_arm(i < n ? -1 : i - n);
    int code = time_once(&t, &ms, &bytes, &d);
    failing_mmap_disarm();
    failing_malloc_disarm(&unfreed);
    ck_assert_msg(code == MAFAT_ENOMEM && d.text[0] && unfreed == 0,
                  "%ld of %ld and %ld: %s: %s, %ld blocks leak", i, n, n_mapped,
                  mafat_error_name(code), d.text, unfreed);
  }
  finish(&t);
}
END_TEST

Suite *plan_timer_suite(void)
{
  Suite *suite = suite_create("plan_timer");
  TCase *t = tcase_create("plan_timer");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, the_least_of_several_runs_counts, 0,
                      (int)(sizeof clocks / sizeof *clocks));
  tcase_add_test(t, what_it_takes_is_what_is_predicted);
  tcase_add_test(t, a_budget_may_have_no_room_for_it);
  tcase_add_test(t, refused_memory_is_reported);
  suite_add_tcase(suite, t);
  return suite;
}
