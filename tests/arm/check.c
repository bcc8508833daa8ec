/* Implements the subset of Check in check.h, for builds with only libc. Runs each test in a
 * child process and prints the summary. Linked into the cross-built unit tests. */
#include "tests/arm/check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT = 4, FAILED = 1 };

#if defined(__arm__) && defined(__SANITIZE_ADDRESS__)
/* AddressSanitizer expects the last of the 4 GB to be the kernel's, but qemu-user gives it to
 * large allocations. Reserving it prevents that. */
__attribute__((constructor)) static void reserve_fourth_gb(void)
{
  /* Starts one page below 3 GB, so that no mapping ends exactly there, and ends at the pages
   * that the kernel maps in every process. */
  const unsigned begin = 0xbffff000u, end = 0xffff0000u;
  if (syscall(SYS_mmap2, begin, end - begin, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == -1)
    fprintf(stderr, "check.c: cannot reserve the fourth GB of the address space\n");
}
#endif

struct test {
  const char *name;
  void (*run)(int);
  int first, end;
};

struct TCase {
  const char *name;
  double timeout; /* seconds, multiplied by CK_TIMEOUT_MULTIPLIER: emulation is slow */
  void (*setup)(void), (*teardown)(void);
  struct test *tests;
  int n_tests;
};

struct Suite {
  const char *name;
  TCase **cases;
  int n_cases;
};

struct SRunner {
  Suite **suites;
  int n_suites;
  int n_checks, n_failures, n_errors;
};

/* Makes room for one more element. Aborts without memory. */
static void *grow(void *list, int n, size_t element_bytes)
{
  void *grown = realloc(list, ((size_t)n + 1) * element_bytes);
  if (!grown) abort();
  return grown;
}

Suite *suite_create(const char *name)
{
  Suite *s = grow(NULL, 0, sizeof *s);
  *s = (Suite){.name = name};
  return s;
}

void suite_add_tcase(Suite *s, TCase *t)
{
  s->cases = grow(s->cases, s->n_cases, sizeof(TCase *));
  s->cases[s->n_cases++] = t;
}

TCase *tcase_create(const char *name)
{
  TCase *t = grow(NULL, 0, sizeof *t);
  const char *seconds = getenv("CK_DEFAULT_TIMEOUT");
  *t = (TCase){.name = name, .timeout = seconds ? strtod(seconds, NULL) : DEFAULT_TIMEOUT};
  return t;
}

void tcase_set_timeout(TCase *t, double seconds)
{
  t->timeout = seconds;
}

void tcase_add_checked_fixture(TCase *t, void (*setup)(void), void (*teardown)(void))
{
  t->setup = setup;
  t->teardown = teardown;
}

void check_add_test(TCase *t, const char *name, void (*run)(int), int first, int end)
{
  t->tests = grow(t->tests, t->n_tests, sizeof *t->tests);
  t->tests[t->n_tests++] = (struct test){name, run, first, end};
}

SRunner *srunner_create(Suite *s)
{
  SRunner *runner = grow(NULL, 0, sizeof *runner);
  *runner = (SRunner){0};
  if (s) srunner_add_suite(runner, s);
  return runner;
}

void srunner_add_suite(SRunner *runner, Suite *s)
{
  runner->suites = grow(runner->suites, runner->n_suites, sizeof(Suite *));
  runner->suites[runner->n_suites++] = s;
}

void check_fail(const char *file, int line, const char *format, ...)
{
  va_list args;
  printf("%s:%d: ", file, line);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
  fflush(stdout);
  _exit(FAILED);
}

static void run_in_child(const TCase *t, const struct test *test, int i)
{
  const char *multiplier = getenv("CK_TIMEOUT_MULTIPLIER");
  signal(SIGALRM, SIG_DFL);
  alarm((unsigned)(t->timeout * (multiplier ? strtod(multiplier, NULL) : 1)));
  if (t->setup) t->setup();
  test->run(i);
  if (t->teardown) t->teardown();
  exit(EXIT_SUCCESS);
}

/* CK_FORK=no: runs the test in this process, which ends at the first failure. Faster under
 * qemu-user, where each child translates all code again. */
static void run_here(SRunner *runner, const TCase *t, const struct test *test, int i)
{
  if (t->setup) t->setup();
  test->run(i);
  if (t->teardown) t->teardown();
  runner->n_checks++;
}

static void run_test(SRunner *runner, const Suite *s, const TCase *t, const struct test *test,
                     int i)
{
  const char *forks = getenv("CK_FORK");
  int status = 0;
  if (forks && strcmp(forks, "no") == 0) {
    run_here(runner, t, test, i);
    return;
  }
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) run_in_child(t, test, i);
  if (child < 0 || waitpid(child, &status, 0) != child) abort();
  runner->n_checks++;
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) return;
  printf("%s:%s:%s:%d: ", s->name, t->name, test->name, i);
  if (WIFEXITED(status) && WEXITSTATUS(status) == FAILED) {
    printf("failed\n");
    runner->n_failures++;
    return;
  }
  if (WIFSIGNALED(status))
    printf("%s\n", WTERMSIG(status) == SIGALRM ? "timeout" : strsignal(WTERMSIG(status)));
  else printf("left with exit status %d\n", WEXITSTATUS(status));
  runner->n_errors++;
}

void srunner_run_all(SRunner *runner, enum print_output mode)
{
  (void)mode;
  for (int s = 0; s < runner->n_suites; s++)
    for (int c = 0; c < runner->suites[s]->n_cases; c++) {
      const TCase *t = runner->suites[s]->cases[c];
      for (int k = 0; k < t->n_tests; k++)
        for (int i = t->tests[k].first; i < t->tests[k].end; i++)
          run_test(runner, runner->suites[s], t, &t->tests[k], i);
    }
  int failed = srunner_ntests_failed(runner), n = runner->n_checks;
  printf("%d%%: Checks: %d, Failures: %d, Errors: %d\n", n ? 100 * (n - failed) / n : 0, n,
         runner->n_failures, runner->n_errors);
}

int srunner_ntests_failed(const SRunner *runner)
{
  return runner->n_failures + runner->n_errors;
}

void srunner_free(SRunner *runner)
{
  for (int s = 0; s < runner->n_suites; s++) {
    for (int c = 0; c < runner->suites[s]->n_cases; c++) {
      free(runner->suites[s]->cases[c]->tests);
      free(runner->suites[s]->cases[c]);
    }
    free(runner->suites[s]->cases);
    free(runner->suites[s]);
  }
  free(runner->suites);
  free(runner);
}
