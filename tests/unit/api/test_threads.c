/* Covers api/model.c: models in separate threads, which open, run and close at the same time, give
 * the same bits as alone. */
#include "include/mafat_plan.h"

#include "tests/support/support.h"

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *threads_suite(void);

enum { THREADS = 4, CYCLES = 4, RUNS = 2 };

/* Models by rows and by whole maps, with kept weights and with streamed ones, with one worker and
 * with two. */
static const struct {
  const char *cfg, *plan;
  int threads;
} kinds[THREADS] = {
    {"[net]\nwidth=40\nheight=32\nchannels=3\n"
     "[convolutional]\nfilters=24\nsize=3\npad=1\nbatch_normalize=1\nactivation=mish\n[maxpool]"
     "\nsize=2\nstride=2\n"
     "[convolutional]\nfilters=7\nsize=1\nactivation=linear\n[yolo]\nclasses=2\nnum=1\nanchors=9,"
     "8\n",
     NULL, 1},
    {"[net]\nwidth=28\nheight=28\nchannels=1\n"
     "[convolutional]\nfilters=40\nsize=5\npad=1\nactivation=relu\n[convolutional]\nfilters="
     "48\nsize=3\npad=1\n"
     "[connected]\noutput=10\nactivation=linear\n[softmax]\n",
     "rows2:streamed/2/panels:streamed", 1},
    {"[net]\nwidth=33\nheight=21\nchannels=3\n"
     "[convolutional]\nfilters=96\nsize=3\npad=1\nactivation=leaky\n[convolutional]\nfilters="
     "32\nsize=1\n"
     "[shortcut]\nfrom=0\nactivation=linear\n[upsample]\nstride=2\n",
     "panels/NoCut", 2},
    {"[net]\nwidth=40\nheight=40\nchannels=3\n"
     "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=swish\n[convolutional]\nfilters="
     "16\ngroups=16\nsize=3\npad=1\n"
     "[convolutional]\nfilters=30\nsize=1\nactivation=logistic\n[avgpool]\n",
     "3x2/NoCut", 2},
};

struct subject {
  struct test_model_files files;
  struct mafat_model_options options;
  float *input, *alone, *output;
  size_t n_inputs, n_outputs;
  pthread_barrier_t *start;
  struct mafat_model *model; /* stays open during the test */
  int good, refused;
  struct mafat_diagnostic d; /* an unexpected error; "": none */
};

static struct mafat_model *open_model(struct subject *s)
{
  struct mafat_model *m;
  struct mafat_diagnostic d; /* undefined after a success */
  if (mafat_model_open(&m, s->files.cfg, s->files.weights, &s->options, &d) != MAFAT_OK) s->d = d;
  return m;
}

static size_t floats(int h, int w, int c)
{
  return (size_t)h * (size_t)w * (size_t)c;
}

static void open_subject(struct subject *s, int kind)
{
  struct test_rng rng = test_rng((uint64_t)kind);
  int h, w, c;
  *s = (struct subject){.files = test_model_files(kinds[kind].cfg, (uint64_t)kind)};
  s->options = (struct mafat_model_options){.size = sizeof s->options};
  s->options.floats_only = true;
  s->options.plan = kinds[kind].plan;
  s->options.threads = kinds[kind].threads;
  s->options.algorithm = "direct"; /* searches may choose differently each time */
  struct mafat_model *m = open_model(s);
  ck_assert_msg(m != NULL, "%s", s->d.text);
  mafat_model_input_shape(m, &h, &w, &c);
  s->n_inputs = floats(h, w, c);
  mafat_model_output_shape(m, &h, &w, &c);
  s->n_outputs = floats(h, w, c);
  s->input = malloc(s->n_inputs * sizeof *s->input);
  s->alone = malloc(s->n_outputs * sizeof *s->alone);
  s->output = malloc(s->n_outputs * sizeof *s->output);
  for (size_t i = 0; i < s->n_inputs; i++)
    s->input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  ck_assert_int_eq(mafat_model_run_floats(m, s->input, s->n_inputs, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, s->alone, NULL),
                   MAFAT_OK);
  mafat_model_close(&m);
}

static void close_subject(struct subject *s)
{
  test_model_files_close(&s->files);
  free(s->input);
  free(s->alone);
  free(s->output);
}

/* Runs and reads outputs; counts refusals because another model is running or has run. */
static void run_once(struct subject *s, struct mafat_model *m)
{
  struct mafat_diagnostic d;
  int code = mafat_model_run_floats(m, s->input, s->n_inputs, &d);
  if (code == MAFAT_OK)
    code = mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, s->output, &d);
  if (code == MAFAT_EINVAL) s->refused++;
  else if (code != MAFAT_OK) s->d = d;
  else if (memcmp(s->output, s->alone, s->n_outputs * sizeof *s->output) != 0)
    mafat_fail(&s->d, 0, "other bits than alone");
  else s->good++;
}

static void *open_run_close(void *argument)
{
  struct subject *s = argument;
  pthread_barrier_wait(s->start);
  for (int i = 0; i < CYCLES && !s->d.text[0]; i++) {
    struct mafat_model *m = open_model(s);
    for (int r = 0; m && r < RUNS; r++) run_once(s, m);
    mafat_model_close(&m);
  }
  return NULL;
}

/* Runs a picture, for whose decoder the arena may give pages back. */
static void run_a_picture(struct subject *s)
{
  static const unsigned char pixels[64 * 64 * 3];
  struct mafat_diagnostic d;
  int h, w, c;
  mafat_model_input_shape(s->model, &h, &w, &c);
  int code = mafat_model_run_pixels(s->model, pixels, w, h, c, (size_t)w * (size_t)c, &d);
  if (code != MAFAT_OK && code != MAFAT_EINVAL) s->d = d;
}

static void *run_often(void *argument)
{
  struct subject *s = argument;
  pthread_barrier_wait(s->start);
  for (int i = 0; i < 20 * RUNS; i++) {
    run_once(s, s->model);
    if (i % 8 == 3) run_a_picture(s);
    if (i % 8 == 7) mafat_model_rest(s->model);
  }
  return NULL;
}

static void run_threads(struct subject *subjects, int n, void *(*live)(void *))
{
  pthread_t threads[THREADS];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, (unsigned)n);
  for (int i = 0; i < n; i++) {
    subjects[i].start = &start;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, live, &subjects[i]), 0);
  }
  for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&start);
}

START_TEST(test_separate_models_in_separate_threads_have_the_bits_that_they_have_alone)
{
  struct subject subjects[THREADS];
  int n = _i ? THREADS : 2;
  for (int i = 0; i < n; i++) open_subject(&subjects[i], i);
  run_threads(subjects, n, open_run_close);
  for (int i = 0; i < n; i++) {
    ck_assert_msg(!subjects[i].d.text[0], "thread %d: %s", i, subjects[i].d.text);
    ck_assert_int_eq(subjects[i].good, CYCLES * RUNS);
    close_subject(&subjects[i]);
  }
}
END_TEST

/* True if this process may lock memory. */
static bool may_lock(void)
{
  struct subject s;
  open_subject(&s, 0);
  s.options.lock = "on";
  struct mafat_model *m = open_model(&s);
  bool may = m != NULL;
  mafat_model_close(&m);
  close_subject(&s);
  return may;
}

/* If two threads use one arena, the second one is refused and computes nothing, or its results are
 * right; with and without locked memory. */
START_TEST(test_two_threads_that_want_one_arena_get_bits_or_a_refusal)
{
  struct subject subjects[2];
  struct mafat_arena *arena;
  const char *lock = _i == 0 ? "off" : "on";
  if (_i && !may_lock()) return;
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  for (int i = 0; i < 2; i++) open_subject(&subjects[i], i);
  for (int i = 0; i < 2; i++) {
    subjects[i].options.arena = arena;
    subjects[i].options.lock = lock;
    subjects[i].model = open_model(&subjects[i]);
    ck_assert_msg(subjects[i].model != NULL, "%s", subjects[i].d.text);
  }
  run_threads(subjects, 2, run_often);
  ck_assert_int_gt(subjects[0].good + subjects[1].good, 0);
  for (int i = 0; i < 2; i++) {
    ck_assert_msg(!subjects[i].d.text[0], "thread %d: %s", i, subjects[i].d.text);
    ck_assert_int_eq(subjects[i].good + subjects[i].refused, 20 * RUNS);
    mafat_model_close(&subjects[i].model);
    close_subject(&subjects[i]);
  }
  mafat_arena_close(&arena);
}
END_TEST

/* Runs and closes the parent's model in a child process. Returns the child's exit status: 0: right
 * bits, 1: wrong bits, 2: refused with a reason. */
static int live_in_a_child(struct subject *s)
{
  struct mafat_diagnostic d = {""};
  alarm(20); /* ends a wait for threads, which fork does not copy */
  int code = mafat_model_run_floats(s->model, s->input, s->n_inputs, &d);
  if (code == MAFAT_OK)
    code = mafat_model_read_layer(s->model, mafat_model_n_layers(s->model) - 1, s->output, NULL);
  mafat_model_close(&s->model);
  if (code) return code == MAFAT_EINVAL && strstr(d.text, "fork") ? 2 : 3;
  return memcmp(s->output, s->alone, s->n_outputs * sizeof *s->output) != 0;
}

START_TEST(test_a_child_runs_what_needs_no_threads_and_closes_all)
{
  static const int expected[THREADS] = {0, 2, 2, 2};
  struct subject s;
  open_subject(&s, _i);
  s.model = open_model(&s);
  ck_assert_msg(s.model != NULL, "%s", s.d.text);
  run_once(&s, s.model);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) _exit(live_in_a_child(&s));
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
  ck_assert_int_eq(WEXITSTATUS(status), expected[_i]);
  run_once(&s, s.model);
  ck_assert_int_eq(s.good, 2);
  mafat_model_close(&s.model);
  close_subject(&s);
}
END_TEST

/* Workers block signals, because handlers of the program may need more stack than workers have. */
START_TEST(test_workers_take_no_signals)
{
  struct subject s;
  char path[64], line[128];
  int threads = 0, blocked = 0;
  open_subject(&s, 2);
  s.model = open_model(&s);
  ck_assert_msg(s.model != NULL, "%s", s.d.text);
  DIR *tasks = opendir("/proc/self/task");
  ck_assert_ptr_nonnull(tasks);
  for (struct dirent *t; (t = readdir(tasks));) {
    if (t->d_name[0] == '.' || atoi(t->d_name) == getpid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", t->d_name);
    FILE *file = fopen(path, "r");
    unsigned long long mask = 0;
    while (file && fgets(line, sizeof line, file))
      if (sscanf(line, "SigBlk: %llx", &mask) == 1) break;
    if (file) fclose(file);
    threads++;
    blocked += (mask >> (SIGINT - 1) & 1) && (mask >> (SIGUSR1 - 1) & 1);
  }
  closedir(tasks);
  ck_assert_int_ge(threads, 1);
  ck_assert_int_ge(blocked, 1); /* not all: a sanitizer has threads too */
  sigset_t own;
  ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &own), 0);
  ck_assert_int_eq(sigismember(&own, SIGINT), 0);
  mafat_model_close(&s.model);
  close_subject(&s);
}
END_TEST

Suite *threads_suite(void)
{
  Suite *s = suite_create("threads");
  TCase *t = tcase_create("threads");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(
      t, test_separate_models_in_separate_threads_have_the_bits_that_they_have_alone, 0, 2);
  tcase_add_loop_test(t, test_two_threads_that_want_one_arena_get_bits_or_a_refusal, 0, 2);
  tcase_add_loop_test(t, test_a_child_runs_what_needs_no_threads_and_closes_all, 0, THREADS);
  tcase_add_test(t, test_workers_take_no_signals);
  suite_add_tcase(s, t);
  return s;
}
