/* Covers api/model.c, runner/engine/executor.c: another thread cancels a run. It ends within one
 * step, and the model runs again with the same bits. */
#include "include/mafat_plan.h"
#include "tests/support/support.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

Suite *cancel_suite(void);

enum { W = 48, H = 40, INPUTS = 3 * W * H, RUNS = 100 };

static const char cfg[] =
    "[net]\nwidth=48\nheight=40\nchannels=3\n"
    "[convolutional]\nfilters=24\nsize=3\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=48\nsize=3\npad=1\nactivation=leaky\n"
    "[convolutional]\nfilters=16\nsize=1\nactivation=linear\n";

static const struct {
  const char *plan;
  int threads;
} kinds[] = {{"rows1/NoCut", 1},
             {"rows1:streamed/2/panels:streamed", 1},
             {"rows1/NoCut", 2},
             {"rows1:streamed/2/panels:streamed", 2}};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct subject {
  struct test_model_files files;
  struct mafat_model *model;
  float input[INPUTS];
  float *alone, *output;
  size_t n_outputs;
  int n_steps;        /* number of steps of a run */
  int at;             /* index of the step after which the callback cancels the run; -1: never */
  int waits_at;       /* index of the step after which the run waits for `canceled`; -1: never */
  atomic_bool canceled; /* the other thread has canceled the run */
  atomic_int n_ran;   /* steps that this run has done */
};

static void ran(void *context, const struct mafat_step_facts *step)
{
  struct subject *s = context;
  (void)step;
  int number = atomic_fetch_add(&s->n_ran, 1);
  if (number == s->at) mafat_model_cancel(s->model);
  while (number == s->waits_at && !atomic_load(&s->canceled)) sched_yield();
}

static int run(struct subject *s, struct mafat_diagnostic *d)
{
  atomic_store(&s->n_ran, 0);
  return mafat_model_run_floats(s->model, s->input, INPUTS, d);
}

static int read(const struct subject *s, float *output)
{
  return mafat_model_read_output(s->model, NULL, output, s->n_outputs, NULL);
}

static void open_subject(struct subject *s, int kind)
{
  struct mafat_model_options options = {.size = sizeof options,
                                        .floats_only = true,
                                        .plan = kinds[kind].plan,
                                        .best_effort = true,
                                        .threads = kinds[kind].threads,
                                        .algorithm = "direct"};
  struct mafat_port_facts port = {.size = sizeof port};
  struct mafat_diagnostic d;
  s->files = test_model_files(cfg, 1);
  s->at = s->waits_at = -1;
  for (int i = 0; i < INPUTS; i++) s->input[i] = (float)(i % 101) / 101;
  ck_assert_msg(mafat_model_open(&s->model, s->files.cfg, s->files.weights, &options, &d) ==
                    MAFAT_OK,
                "%s", d.text);
  ck_assert_int_eq(mafat_model_describe_output(s->model, 0, &port), MAFAT_OK);
  s->n_outputs = port.n;
  s->alone = malloc(port.n * sizeof *s->alone);
  s->output = malloc(port.n * sizeof *s->output);
  mafat_model_set_watch(s->model, ran, s);
  mafat_model_cancel(s->model); /* no effect between runs */
  ck_assert_msg(run(s, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(read(s, s->alone), MAFAT_OK);
  s->n_steps = atomic_load(&s->n_ran);
  ck_assert_int_gt(s->n_steps, 30);
}

static void close_subject(struct subject *s)
{
  mafat_model_close(&s->model);
  test_model_files_close(&s->files);
  free(s->alone);
  free(s->output);
}

/* Expects that no output can be read after a canceled run. */
static void check_nothing(const struct subject *s)
{
  struct mafat_run_facts f = {.size = sizeof f};
  ck_assert_int_eq(read(s, s->output), MAFAT_EINVAL);
  mafat_model_last_run(s->model, &f);
  ck_assert(!f.input_failed);
}

static void check_whole_run(struct subject *s)
{
  struct mafat_diagnostic d;
  s->at = s->waits_at = -1;
  ck_assert_msg(run(s, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(read(s, s->output), MAFAT_OK);
  ck_assert_int_eq(memcmp(s->output, s->alone, s->n_outputs * sizeof *s->output), 0);
}

START_TEST(test_a_run_ends_after_the_step_in_which_it_is_canceled)
{
  static struct subject s;
  struct mafat_diagnostic d;
  open_subject(&s, _i);
  for (int at = 0; at < s.n_steps - 1; at++) {
    s.at = at;
    ck_assert_int_eq(run(&s, &d), MAFAT_ECANCELED);
    ck_assert_ptr_nonnull(strstr(d.text, "canceled"));
    ck_assert_int_eq(atomic_load(&s.n_ran), at + 1);
    check_nothing(&s);
    if (at % 16 == 0) check_whole_run(&s);
  }
  s.at = s.n_steps - 1; /* after the last step it has no effect */
  ck_assert_int_eq(run(&s, &d), MAFAT_OK);
  check_whole_run(&s);
  close_subject(&s);
}
END_TEST

/* Argument of the other thread, which waits for a step of the run and cancels it. */
struct canceler {
  struct subject *subject;
  int at;       /* number of steps to wait for */
  int n_before; /* number of steps done when it was canceled */
};

static void *cancel(void *argument)
{
  struct canceler *c = argument;
  while (atomic_load(&c->subject->n_ran) < c->at) sched_yield();
  mafat_model_cancel(c->subject->model);
  c->n_before = atomic_load(&c->subject->n_ran);
  atomic_store(&c->subject->canceled, true);
  return NULL;
}

/* Another thread cancels runs after a random number of steps. Every second run waits for that
 * thread, because on a busy machine all runs could end before they are canceled. */
START_TEST(test_another_thread_cancels_at_random_moments)
{
  static struct subject s;
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_diagnostic d;
  int n_canceled = 0;
  open_subject(&s, _i);
  for (int i = 0; i < RUNS; i++) {
    struct canceler c = {.subject = &s, .at = test_random_int(&rng, 1, s.n_steps - 1)};
    pthread_t thread;
    s.waits_at = i % 2 ? c.at - 1 : -1;
    atomic_store(&s.canceled, false);
    atomic_store(&s.n_ran, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel, &c), 0);
    int code = run(&s, &d);
    int n_ran = atomic_load(&s.n_ran);
    atomic_store(&s.n_ran, s.n_steps); /* the run may have ended before c.at steps */
    pthread_join(thread, NULL);
    ck_assert_msg(code == MAFAT_ECANCELED || (code == MAFAT_OK && i % 2 == 0), "%d: %s", code,
                  d.text);
    if (code == MAFAT_OK) continue;
    ck_assert_int_le(n_ran, i % 2 ? c.at : c.n_before + 1);
    check_nothing(&s);
    n_canceled++;
    if (i % 10 == 0) check_whole_run(&s);
  }
  ck_assert_int_ge(n_canceled, RUNS / 2);
  check_whole_run(&s);
  close_subject(&s);
}
END_TEST

Suite *cancel_suite(void)
{
  Suite *s = suite_create("cancel");
  TCase *t = tcase_create("cancel");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, test_a_run_ends_after_the_step_in_which_it_is_canceled, 0, KINDS);
  tcase_add_loop_test(t, test_another_thread_cancels_at_random_moments, 0, KINDS);
  suite_add_tcase(s, t);
  return s;
}
