/* Covers runner/calibrate/{calibrate, calibrate_file, calibrate_fit, calibrate_networks,
 * disk}.c, predictor/cost/calibration.c, base/number.c: calibrations (measured prices of kinds of
 * work) as text and as files, and how prices are fitted to measurements. */
#include "runner/calibrate/calibrate.h"
#include "runner/calibrate/calibrate_file.h"
#include "runner/calibrate/calibrate_fit.h"
#include "runner/calibrate/calibrate_networks.h"

#include "predictor/layout/layout.h"
#include "runner/weights/weights.h"
#include "tests/support/support.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *calibration_suite(void);

/* ---- text ---- */

static struct mafat_calibration sample(void)
{
  struct mafat_calibration c;
  mafat_calibration_defaults(&c, "avx2");
  c.measured = true;
  c.fit_error = .0625;
  c.disk_ns = 1.5;
  for (int t = 0; t < MAFAT_N_TERMS; t++) c.ns[t] = t * .125;
  return c;
}

static char text[4096];

static size_t write_sample(void)
{
  struct mafat_calibration c = sample();
  size_t n = mafat_calibration_write(&c, text, sizeof text);
  ck_assert_uint_lt(n, 2048); /* bytes of the reader's buffer */
  ck_assert_uint_eq(strlen(text), n);
  return n;
}

START_TEST(test_text_comes_back_as_it_was)
{
  struct mafat_calibration c, written = sample();
  struct mafat_diagnostic d = {""};
  size_t n = write_sample();
  ck_assert_msg(mafat_calibration_parse(&c, "avx2", "file", text, n, &d) == MAFAT_OK, "%s", d.text);
  ck_assert(c.measured);
  ck_assert_str_eq(c.cpu, "avx2");
  ck_assert_int_eq(c.lanes, 8);
  ck_assert_double_eq(c.fit_error, written.fit_error);
  ck_assert_double_eq(c.disk_ns, written.disk_ns);
  for (int t = 0; t < MAFAT_N_TERMS; t++) ck_assert_double_eq(c.ns[t], written.ns[t]);
}
END_TEST

START_TEST(test_text_is_the_same_in_every_locale)
{
  static char usual[sizeof text];
  struct mafat_calibration c;
  struct mafat_diagnostic d = {""};
  size_t n = write_sample();
  strcpy(usual, text);
  if (!test_comma_locale()) return;
  ck_assert_uint_eq(write_sample(), n);
  ck_assert_str_eq(text, usual);
  ck_assert_msg(mafat_calibration_parse(&c, "avx2", "file", text, n, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_double_eq(c.disk_ns, 1.5);
  setlocale(LC_ALL, "C");
}
END_TEST

static void check_refused(const char *name, size_t n)
{
  struct mafat_calibration c, built_in;
  struct mafat_diagnostic d = {""};
  mafat_calibration_defaults(&built_in, "avx2");
  ck_assert_msg(mafat_calibration_parse(&c, "avx2", "file", text, n, &d) == MAFAT_EFORMAT, "%s",
                name);
  ck_assert_msg(strncmp(d.text, "file:", 5) == 0, "%s", d.text);
  ck_assert(!c.measured);
  for (int t = 0; t < MAFAT_N_TERMS; t++) ck_assert_double_eq(c.ns[t], built_in.ns[t]);
}

START_TEST(test_text_that_is_cut_short_is_refused)
{
  size_t n = write_sample();
  for (size_t i = 0; i < n; i++) check_refused("cut", i);
  strcat(text, "\n");
  check_refused("one line more", n + 1);
}
END_TEST

static void check_replaced(const char *from, const char *to)
{
  char changed[sizeof text];
  write_sample();
  char *at = strstr(text, from);
  ck_assert_msg(at != NULL, "%s", from);
  snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  strcpy(text, changed);
  check_refused(to, strlen(text));
}

START_TEST(test_numbers_that_cannot_be_are_refused)
{
  check_replaced("disk_ns 1.5", "disk_ns -1.5");
  check_replaced("disk_ns 1.5", "disk_ns nan");
  check_replaced("disk_ns 1.5", "disk_ns inf");
  check_replaced("disk_ns 1.5", "disk_ns 1e30");
  check_replaced("disk_ns 1.5", "disk_ns 1.5x");
  check_replaced("disk_ns 1.5", "disk_ns ");
  check_replaced("disk_ns 1.5", "disk_ns  1.5");
  check_replaced("disk_ns 1.5", "disk_ns 1.50000000000000000000000000000000000000000000");
  check_replaced("disk_ns 1.5\n", "");
  check_replaced("disk_ns", "disc_ns");
  check_replaced("cpu avx2", "cpu avx512");
  check_replaced("calibration 3", "calibration 2");
}
END_TEST

/* ---- files ---- */

static char folder[64];

static void make_folder(void)
{
  strcpy(folder, "/tmp/mafat-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  setenv("XDG_CACHE_HOME", folder, 1);
}

static void remove_folder(void)
{
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  ck_assert_int_eq(system(command), 0);
}

static int n_warnings;

static void warn(void *context, const char *line)
{
  (void)context;
  ck_assert_ptr_nonnull(strstr(line, "built-in"));
  n_warnings++;
}

static const struct mafat_warning_sink warnings = {warn, NULL};

static int n_files(void)
{
  char name[128];
  int n = 0;
  snprintf(name, sizeof name, "%s/mafat", folder);
  DIR *d = opendir(name);
  ck_assert_ptr_nonnull(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

START_TEST(test_what_is_stored_is_loaded)
{
  struct mafat_calibration c, stored = sample();
  struct mafat_diagnostic d = {""};
  char path[MAFAT_CALIBRATION_PATH];
  n_warnings = 0;
  ck_assert_int_eq(mafat_calibration_load(&c, "avx2", &warnings), MAFAT_EIO);
  ck_assert(!c.measured);
  for (int i = 0; i < 2; i++)
    ck_assert_msg(mafat_calibration_store(&stored, path, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(n_files(), 1); /* no temporary file is left */
  ck_assert_int_eq(mafat_calibration_load(&c, "avx2", &warnings), MAFAT_OK);
  ck_assert(c.measured);
  ck_assert_double_eq(c.disk_ns, 1.5);
  /* each level has its own file */
  ck_assert_int_eq(mafat_calibration_load(&c, "avx512", &warnings), MAFAT_EIO);
  ck_assert_int_eq(n_warnings, 0);
  ck_assert_int_eq(truncate(path, 100), 0);
  ck_assert_int_eq(mafat_calibration_load(&c, "avx2", &warnings), MAFAT_EFORMAT);
  ck_assert_int_eq(n_warnings, 1);
  ck_assert(!c.measured);
}
END_TEST

START_TEST(test_there_may_be_no_place_for_it)
{
  struct mafat_calibration c = sample();
  struct mafat_diagnostic d = {""};
  char name[8192];
  setenv("XDG_CACHE_HOME", "relative", 1); /* counts as not set */
  unsetenv("HOME");
  ck_assert_int_eq(mafat_calibration_store(&c, NULL, &d), MAFAT_EIO);
  ck_assert_int_eq(mafat_calibration_load(&c, "avx2", NULL), MAFAT_EIO);
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  ck_assert_int_eq(mafat_calibration_store(&c, NULL, &d), MAFAT_EIO);
  memset(name, '/', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  setenv("XDG_CACHE_HOME", name, 1);
  ck_assert_int_eq(mafat_calibration_store(&c, NULL, &d), MAFAT_EIO);
  ck_assert_int_eq(mafat_calibration_load(&c, "avx2", NULL), MAFAT_EIO);
}
END_TEST

/* A disk that becomes full: the first write stores a part, the next one fails. */
START_TEST(test_a_part_of_it_is_not_stored)
{
  struct mafat_calibration c, stored = sample();
  struct mafat_diagnostic d = {""};
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  for (rlim_t most = 0; most <= 200; most += 100) {
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){most, before.rlim_max});
    int code = mafat_calibration_store(&stored, NULL, &d);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(code, MAFAT_EIO);
    ck_assert_msg(strstr(d.text, strerror(EFBIG)), "%s", d.text);
    ck_assert_int_eq(n_files(), 0);
    ck_assert_int_eq(mafat_calibration_load(&c, "avx2", NULL), MAFAT_EIO);
  }
}
END_TEST

START_TEST(test_every_level_has_built_in_figures)
{
  static const char *const levels[] = {"portable", "neon", "avx2", "avx512"};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    struct mafat_calibration c;
    mafat_calibration_defaults(&c, levels[i]);
    ck_assert_str_eq(c.cpu, levels[i]);
    ck_assert_int_gt(c.lanes, 0);
    ck_assert_int_gt(c.tile_pixels, 0);
    ck_assert_int_gt(c.tile_vectors, 0);
    ck_assert_double_gt(c.ns[MAFAT_TERM_CONV_MACS], 0);
    ck_assert_double_le(c.near_bytes, c.far_bytes);
    for (int t = 0; t < MAFAT_N_TERMS; t++) ck_assert_double_ge(c.ns[t], 0);
  }
}
END_TEST

/* ---- fitting ---- */

START_TEST(test_a_system_is_solved)
{
  /* 2x + y = 5, x + 3y = 10: x = 1, y = 3. */
  const double gram[] = {2, 1, 1, 3}, moment[] = {5, 10};
  double x[2] = {0, 0};
  mafat_fit_solve(2, gram, moment, x);
  ck_assert_double_eq_tol(x[0], 1, 1e-9);
  ck_assert_double_eq_tol(x[1], 3, 1e-9);
}
END_TEST

START_TEST(test_no_number_is_negative)
{
  /* Without the bound x >= 0 the solution is -1, 2. The third column of A is 0: its x becomes 0. */
  const double gram[] = {2, 1, 0, 1, 2, 0, 0, 0, 0}, moment[] = {0, 3, 1};
  double x[3] = {5, 5, 5};
  mafat_fit_solve(3, gram, moment, x);
  ck_assert_double_eq_tol(x[0], 0, 1e-9);
  ck_assert_double_eq_tol(x[1], 1.5, 1e-9);
  ck_assert_double_eq(x[2], 0);
}
END_TEST

START_TEST(test_prices_are_found_again)
{
  enum { N = 300, TERMS = 5 };
  static const double truth[TERMS] = {300, .02, 0, 17, 4};
  double counts[N * TERMS], ns[N], prices[TERMS] = {100, .05, 0, 10, 0}, error;
  struct test_rng rng = test_rng(3);
  for (int i = 0; i < N; i++) {
    static const int most[TERMS] = {4000, 50000000, 1000000, 20000, 100000};
    ns[i] = 0;
    for (int t = 0; t < TERMS; t++) {
      counts[i * TERMS + t] = test_random_chance(&rng, 60) ? test_random_int(&rng, 0, most[t]) : 0;
      ns[i] += counts[i * TERMS + t] * truth[t];
    }
    /* 2 % of noise; in a tenth of the measurements another program runs, so they take twice as
     * long. */
    ns[i] *= 1 + test_random_int(&rng, -20, 20) * 1e-3;
    if (test_random_chance(&rng, 10)) ns[i] *= 2;
  }
  ck_assert_int_eq(mafat_fit_prices(N, TERMS, counts, ns, prices, &error), MAFAT_OK);
  ck_assert_double_lt(error, .03);
  for (int t = 0; t < TERMS; t++)
    if (truth[t] > 0) ck_assert_msg(fabs(prices[t] / truth[t] - 1) < .1, "%d: %g", t, prices[t]);
  ck_assert_double_lt(prices[2], .002);
}
END_TEST

START_TEST(test_what_is_not_measured_keeps_pace)
{
  /* Measured times are twice those of the guessed prices; the second kind of work was not
   * measured. */
  const double counts[] = {1000, 0, 2000, 0, 3000, 0}, ns[] = {20e3, 40e3, 60e3};
  double prices[2] = {10, 7}, error;
  ck_assert_int_eq(mafat_fit_prices(3, 2, counts, ns, prices, &error), MAFAT_OK);
  ck_assert_double_eq_tol(prices[0], 20, .1);
  ck_assert_double_eq_tol(prices[1], 14, .1);
}
END_TEST

/* ---- the networks that are measured ---- */

START_TEST(test_networks_exist_at_every_scale)
{
  static const struct mafat_calibrate_scale scales[] = {{1, 1}, {2, 1}, {2, 2}, {4, 2}, {4, 4}};
  struct mafat_diagnostic d = {""};
  for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
    for (int i = 0; i < MAFAT_CALIBRATE_NETWORKS; i++) {
      struct mafat_network *n;
      struct stat st;
      char name[] = "/tmp/mafat-test-XXXXXX";
      int code = mafat_calibrate_network(&n, i, scales[s], &d), fd = mkstemp(name);
      ck_assert_msg(code == MAFAT_OK, "%d at scale %zu: %s", i, s, d.text);
      ck_assert_int_eq(mafat_calibrate_write_weights(n, fd, &d), MAFAT_OK);
      ck_assert_int_eq(fstat(fd, &st), 0);
      ck_assert_uint_eq((size_t)st.st_size, 20 + (size_t)mafat_weights_payload_bytes(n));
      close(fd);
      unlink(name);
      mafat_network_close(&n);
    }
}
END_TEST

/* Leaves the file of a process that was killed, and whose id this process has now. */
static void leave_file(void)
{
  char name[128];
  snprintf(name, sizeof name, "%s/mafat", folder);
  ck_assert_int_eq(mkdir(name, 0700), 0);
  snprintf(name, sizeof name, "%s/mafat/calibrating-%ld-0", folder, (long)getpid());
  int fd = open(name, O_WRONLY | O_CREAT, 0600);
  ck_assert_int_ge(fd, 0);
  close(fd);
}

START_TEST(test_calibrating_leaves_nothing_behind)
{
  struct mafat_calibrate_options options = {.size = sizeof options};
  struct mafat_calibration c;
  struct mafat_calibration_facts facts = {.size = sizeof facts};
  struct mafat_diagnostic d = {""};
  options.seconds = .1;
  options.memory_bytes = 64 << 20;
  leave_file();
  int code = mafat_calibrate_measure(&c, mafat_kernels_find(NULL), &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert(c.measured);
  ck_assert_double_gt(c.ns[MAFAT_TERM_CONV_MACS], 0);
  ck_assert_double_gt(c.disk_ns, 0);
  ck_assert_int_eq(n_files(), 0);
  mafat_calibrate_describe(&facts, &c);
  ck_assert_str_eq(facts.cpu, mafat_kernels_find(NULL)->name);
  ck_assert_double_gt(facts.conv_gflops, 0);
  ck_assert_double_gt(facts.disk_gbs, 0);
  options.memory_bytes = 1 << 20;
  ck_assert_int_eq(mafat_calibrate_measure(&c, mafat_kernels_find(NULL), &options, &d),
                   MAFAT_ELIMIT);
  ck_assert(!c.measured);
}
END_TEST

Suite *calibration_suite(void)
{
  Suite *suite = suite_create("calibration");
  TCase *tcase = tcase_create("text");
  tcase_add_test(tcase, test_text_comes_back_as_it_was);
  tcase_add_test(tcase, test_text_is_the_same_in_every_locale);
  tcase_add_test(tcase, test_text_that_is_cut_short_is_refused);
  tcase_add_test(tcase, test_numbers_that_cannot_be_are_refused);
  tcase_add_test(tcase, test_every_level_has_built_in_figures);
  suite_add_tcase(suite, tcase);
  tcase = tcase_create("files");
  tcase_set_timeout(tcase, 120);
  tcase_add_checked_fixture(tcase, make_folder, remove_folder);
  tcase_add_test(tcase, test_what_is_stored_is_loaded);
  tcase_add_test(tcase, test_there_may_be_no_place_for_it);
  tcase_add_test(tcase, test_a_part_of_it_is_not_stored);
  tcase_add_test(tcase, test_calibrating_leaves_nothing_behind);
  suite_add_tcase(suite, tcase);
  tcase = tcase_create("fit");
  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_a_system_is_solved);
  tcase_add_test(tcase, test_no_number_is_negative);
  tcase_add_test(tcase, test_prices_are_found_again);
  tcase_add_test(tcase, test_what_is_not_measured_keeps_pace);
  tcase_add_test(tcase, test_networks_exist_at_every_scale);
  suite_add_tcase(suite, tcase);
  return suite;
}
