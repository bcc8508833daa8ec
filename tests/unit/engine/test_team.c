/* Covers runner/engine/team.c: every unit is taken once, a worker takes its own share first, a run
 * sees the writes of the run before, waiting workers sleep and wake, and failures are reported.
 * Replaces libc's pthread_create in the whole test program, so that calls can fail. */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner/engine/team.h"
#include "tests/support/failing_malloc.h"

Suite *team_suite(void);

static const int sizes[] = {1, 2, 3, 8};

enum { N_SIZES = sizeof sizes / sizeof *sizes, MOST_UNITS = 1000 };

static struct mafat_team *open_team(int n_workers)
{
  struct mafat_diagnostic d = {""};
  struct mafat_team *team = NULL;
  int code = mafat_team_open(&team, n_workers, &d);
  ck_assert_msg(code == MAFAT_OK, "%d workers: %s", n_workers, d.text);
  ck_assert_int_eq(mafat_team_size(team), n_workers);
  return team;
}

/* ---- workers ---- */

struct roll_call {
  int n;
  atomic_int calls[MAFAT_TEAM_MOST];
  pthread_t threads[MAFAT_TEAM_MOST];
};

/* A task in which the caller waits for the other workers, so that each gets a call. */
static void answer(void *context, int worker)
{
  struct roll_call *r = context;
  r->threads[worker] = pthread_self();
  atomic_fetch_add(&r->calls[worker], 1);
  for (int w = 1; worker == 0 && w < r->n; w++)
    while (!atomic_load(&r->calls[w])) sched_yield();
}

START_TEST(a_worker_is_called_once_on_a_thread_of_its_own)
{
  struct mafat_team *team = open_team(sizes[_i]);
  struct roll_call r = {.n = sizes[_i]};
  mafat_team_run(team, answer, &r);
  for (int w = 0; w < MAFAT_TEAM_MOST; w++)
    ck_assert_int_eq(atomic_load(&r.calls[w]), w < sizes[_i]);
  ck_assert_msg(pthread_equal(r.threads[0], pthread_self()), "worker 0 is not the caller");
  for (int w = 1; w < sizes[_i]; w++)
    for (int v = 0; v < w; v++)
      ck_assert_msg(!pthread_equal(r.threads[w], r.threads[v]), "workers %d and %d", v, w);
  mafat_team_close(&team);
  ck_assert_ptr_null(team);
}
END_TEST

/* ---- units ---- */

struct counting {
  struct mafat_team *team;
  int n;
  atomic_int taken[MOST_UNITS];
  atomic_bool strange; /* a worker got a unit that does not exist */
};

static void count_units(void *context, int worker)
{
  struct counting *c = context;
  for (int unit; (unit = mafat_team_take(c->team, worker, c->n)) != -1;)
    if (unit >= 0 && unit < c->n) atomic_fetch_add(&c->taken[unit], 1);
    else atomic_store(&c->strange, true);
}

START_TEST(every_unit_is_taken_once)
{
  static const int units[] = {0, 1, 2, 3, 7, 8, 9, 17, MOST_UNITS};
  struct mafat_team *team = open_team(sizes[_i]);
  for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
    struct counting c = {.team = team, .n = units[k]};
    mafat_team_run(team, count_units, &c);
    ck_assert(!atomic_load(&c.strange));
    for (int u = 0; u < units[k]; u++)
      ck_assert_msg(atomic_load(&c.taken[u]) == 1, "%d workers: unit %d of %d was taken %d times",
                    sizes[_i], u, units[k], atomic_load(&c.taken[u]));
  }
  mafat_team_close(&team);
}
END_TEST

/* Records which parts of each unit workers took. */
struct parting {
  struct mafat_team *team;
  int n, parts;
  atomic_int taken[MOST_UNITS]; /* for each unit, one bit for each part */
  atomic_int n_parts[MOST_UNITS];
  atomic_bool strange;
};

static void count_parts(void *context, int worker)
{
  struct parting *p = context;
  for (struct mafat_team_part t; mafat_team_take_part(p->team, worker, p->n, p->parts, &t);) {
    if (t.unit < 0 || t.unit >= p->n || t.part < 0 || t.part >= t.n_parts ||
        atomic_fetch_or(&p->taken[t.unit], 1 << t.part) & 1 << t.part)
      atomic_store(&p->strange, true);
    else atomic_store(&p->n_parts[t.unit], t.n_parts);
  }
}

/* True if the unit is the last one of a worker's share. */
static bool ends_a_share(int size, int n, int unit)
{
  for (int w = 0; w < size; w++)
    if (unit + 1 == n * (w + 1) / size && unit >= n * w / size) return true;
  return false;
}

START_TEST(every_part_is_taken_once_and_only_last_units_have_several)
{
  static const int units[] = {0, 1, 2, 3, 7, 8, 9, 17, MOST_UNITS}, parts[] = {1, 2, 4};
  int size = sizes[_i];
  struct mafat_team *team = open_team(size);
  for (size_t k = 0; k < sizeof units / sizeof *units; k++)
    for (size_t m = 0; m < sizeof parts / sizeof *parts; m++) {
      struct parting p = {.team = team, .n = units[k], .parts = parts[m]};
      mafat_team_run(team, count_parts, &p);
      ck_assert(!atomic_load(&p.strange));
      for (int u = 0; u < units[k]; u++) {
        int expected = size > 1 && ends_a_share(size, units[k], u) ? parts[m] : 1;
        ck_assert_msg(atomic_load(&p.n_parts[u]) == expected &&
                          atomic_load(&p.taken[u]) == (1 << expected) - 1,
                      "%d workers: unit %d of %d in %d parts: %x of %d", size, u, units[k],
                      parts[m], (unsigned)atomic_load(&p.taken[u]), atomic_load(&p.n_parts[u]));
      }
    }
  mafat_team_close(&team);
}
END_TEST

struct greedy {
  struct mafat_team *team;
  int worker, n; /* the worker that takes all n units; the others start when it is done */
  int order[MOST_UNITS], n_taken;
  atomic_bool done;
  atomic_int late; /* units that the other workers still got */
};

static void take_all(void *context, int worker)
{
  struct greedy *g = context;
  if (worker == g->worker) {
    for (int unit; (unit = mafat_team_take(g->team, worker, g->n)) != -1;)
      g->order[g->n_taken++] = unit;
    atomic_store(&g->done, true);
    return;
  }
  while (!atomic_load(&g->done)) sched_yield();
  if (mafat_team_take(g->team, worker, g->n) != -1) atomic_fetch_add(&g->late, 1);
}

/* Worker w takes its share [n * w / size, n * (w + 1) / size) first, then the next worker's units,
 * and so on around. */
START_TEST(a_share_comes_first_then_the_others_are_helped)
{
  static const int units[] = {1, 2, 5, 16, 41};
  int size = sizes[_i];
  struct mafat_team *team = open_team(size);
  for (int worker = 0; worker < size; worker++)
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
      int n = units[k], first = n * worker / size;
      struct greedy g = {.team = team, .worker = worker, .n = n};
      mafat_team_run(team, take_all, &g);
      ck_assert_int_eq(g.n_taken, n);
      ck_assert_int_eq(atomic_load(&g.late), 0);
      for (int i = 0; i < n; i++)
        ck_assert_msg(g.order[i] == (first + i) % n,
                      "worker %d of %d took unit %d as number %d of %d", worker, size, g.order[i],
                      i, n);
    }
  mafat_team_close(&team);
}
END_TEST

/* ---- writes of other workers ---- */

struct relay {
  struct mafat_team *team;
  int n, run; /* the caller writes `run` between runs */
  int cells[MAFAT_TEAM_MOST];
};

/* In every run, a worker increments a cell that another worker had in the run before. */
static void pass_on(void *context, int worker)
{
  struct relay *r = context;
  for (int unit; (unit = mafat_team_take(r->team, worker, r->n)) != -1;) {
    int *cell = &r->cells[(unit + r->run) % r->n]; /* not atomic: the runs order them */
    if (*cell == r->run) (*cell)++;
  }
}

START_TEST(a_run_sees_what_the_last_one_wrote)
{
  enum { RUNS = 300 };
  struct mafat_team *team = open_team(sizes[_i]);
  struct relay r = {.team = team, .n = sizes[_i]};
  for (; r.run < RUNS; r.run++) mafat_team_run(team, pass_on, &r);
  for (int w = 0; w < r.n; w++) ck_assert_int_eq(r.cells[w], RUNS);
  mafat_team_close(&team);
}
END_TEST

/* ---- many runs, and pauses ---- */

struct tally {
  struct mafat_team *team;
  int n; /* units of a run */
  atomic_int units;
};

static void count_call(void *context, int worker)
{
  struct tally *t = context;
  while (mafat_team_take(t->team, worker, t->n) != -1)
    atomic_fetch_add_explicit(&t->units, 1, memory_order_relaxed);
}

/* Many short runs end in time, also with more workers than processors. */
START_TEST(many_short_runs_end)
{
  int runs = sizes[_i] <= 2 ? 10000 : 500;
  struct mafat_team *team = open_team(sizes[_i]);
  struct tally tally = {.team = team, .n = sizes[_i]};
  for (int run = 0; run < runs; run++) mafat_team_run(team, count_call, &tally);
  ck_assert_int_eq(atomic_load(&tally.units), sizes[_i] * runs);
  mafat_team_close(&team);
}
END_TEST

/* A team works after pauses about as long as a worker waits before it sleeps, and after longer
 * ones. */
START_TEST(a_sleeping_team_wakes)
{
  enum { LONG_PAUSES = 10, SHORT_PAUSES = 100 };
  struct mafat_team *team = open_team(sizes[_i]);
  struct tally tally = {.team = team, .n = sizes[_i]};
  for (int run = 0; run < LONG_PAUSES; run++) {
    mafat_team_run(team, count_call, &tally);
    usleep(20000);
  }
  for (int run = 0; run < SHORT_PAUSES; run++) {
    mafat_team_run(team, count_call, &tally);
    usleep((useconds_t)(run % 50 * 20));
  }
  ck_assert_int_eq(atomic_load(&tally.units), sizes[_i] * (LONG_PAUSES + SHORT_PAUSES));
  mafat_team_close(&team);
}
END_TEST

static double processor_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

START_TEST(a_waiting_team_takes_no_processor)
{
  struct mafat_team *team = open_team(4);
  struct tally tally = {.team = team, .n = 4};
  mafat_team_run(team, count_call, &tally);
  double before = processor_ms();
  usleep(300000);
  double busy =
      processor_ms() - before; /* three spinning threads would take 300 on each processor */
  ck_assert_msg(busy < 150, "%.0f ms of processor time in a pause of 300 ms", busy);
  mafat_team_close(&team);
}
END_TEST

/* ---- opening and closing ---- */

START_TEST(a_team_may_be_closed_without_a_run)
{
  struct mafat_team *team;
  for (int n = 1; n <= 4; n++) {
    team = open_team(n);
    mafat_team_close(&team);
    ck_assert_ptr_null(team);
    mafat_team_close(&team);
  }
  team = open_team(MAFAT_TEAM_MOST);
  mafat_team_close(&team);
  team = open_team(3);
  usleep(20000); /* until the workers sleep */
  mafat_team_close(&team);
  mafat_team_close(NULL);
}
END_TEST

static int failing_thread = -1; /* the pthread_create that fails, from 0; -1: none */
static atomic_int n_threads;    /* calls of pthread_create, by any suite */

/* Replaces libc's pthread_create and calls it, unless this call is to fail. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
  typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  union {
    void *object;
    create *function;
  } libc = {dlsym(RTLD_NEXT, "pthread_create")};
  if (n_threads++ == failing_thread) return EAGAIN;
  return libc.function(thread, attributes, start, argument);
}

/* If a thread cannot be started, the started ones end and nothing leaks. */
START_TEST(a_refused_thread_is_reported)
{
  int size = sizes[_i];
  for (int fail = 0; fail < size - 1; fail++) {
    struct mafat_diagnostic d = {""};
    struct mafat_team *team = NULL;
    long unfreed;
    n_threads = 0;
    failing_thread = fail;
    failing_malloc_arm(-1);
    int code = mafat_team_open(&team, size, &d);
    failing_malloc_disarm(&unfreed);
    failing_thread = -1;
    ck_assert_int_eq(n_threads, fail + 1); /* it gives up at the first failure */
    ck_assert_msg(code == MAFAT_ENOMEM && !team, "thread %d of %d: %s", fail, size,
                  mafat_error_name(code));
    ck_assert_int_eq(unfreed, 0);
    ck_assert_msg(strncmp(d.text, "cannot start ", 13) == 0 && strstr(d.text, strerror(EAGAIN)),
                  "%s", d.text);
  }
  n_threads = 0;
  struct mafat_team *team = open_team(size);
  ck_assert_int_eq(n_threads, size - 1); /* one worker is the caller: it starts no thread */
  mafat_team_close(&team);
}
END_TEST

Suite *team_suite(void)
{
  Suite *s = suite_create("team");
  TCase *t = tcase_create("team");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, a_worker_is_called_once_on_a_thread_of_its_own, 0, N_SIZES);
  tcase_add_loop_test(t, every_unit_is_taken_once, 0, N_SIZES);
  tcase_add_loop_test(t, every_part_is_taken_once_and_only_last_units_have_several, 0, N_SIZES);
  tcase_add_loop_test(t, a_share_comes_first_then_the_others_are_helped, 0, N_SIZES);
  tcase_add_loop_test(t, a_run_sees_what_the_last_one_wrote, 0, N_SIZES);
  tcase_add_loop_test(t, many_short_runs_end, 0, N_SIZES);
  tcase_add_loop_test(t, a_sleeping_team_wakes, 0, N_SIZES);
  tcase_add_test(t, a_waiting_team_takes_no_processor);
  tcase_add_test(t, a_team_may_be_closed_without_a_run);
  tcase_add_loop_test(t, a_refused_thread_is_reported, 0, N_SIZES);
  suite_add_tcase(s, t);
  return s;
}
