/* Covers programs/run_inference/names.c: files of labels. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/run_inference/names.h"
#include "tests/support/tree.h"

Suite *names_suite(void);

/* ---- One file. ---- */

static char folder[64], path[96];
static struct mafat_diagnostic diagnostic;

static void make_folder(void)
{
  strcpy(folder, "/tmp/mafat-names-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/labels", folder);
}

static void remove_folder(void)
{
  unlink(path);
  ck_assert_int_eq(rmdir(folder), 0);
}

static struct mafat_names *must_read(const char *bytes, size_t n)
{
  struct mafat_names *names = NULL;
  test_write_file(path, bytes, n);
  int code = mafat_names_read(&names, path, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  return names;
}

static void must_fail(int code)
{
  struct mafat_names *names = (struct mafat_names *)1;
  diagnostic.text[0] = 0;
  ck_assert_int_eq(mafat_names_read(&names, path, &diagnostic), code);
  ck_assert_ptr_null(names);
  ck_assert_msg(strncmp(diagnostic.text, path, strlen(path)) == 0, "%s", diagnostic.text);
}

static void check_label(const struct mafat_names *names, int class, const char *expected)
{
  char capacity[MAFAT_NAMES_ROOM];
  ck_assert_str_eq(mafat_names_label(names, class, capacity), expected);
}

/* ---- Reading. ---- */

struct row {
  const char *text;
  int n;
  const char *labels[4];
};

static const struct row rows[] = {
    {"", 0, {"class 0", "class 1"}},
    {"\n", 1, {"class 0", "class 1"}},
    {"person", 1, {"person", "class 1"}},
    {"person\n", 1, {"person", "class 1"}},
    {"person\nbicycle\ncar\n", 3, {"person", "bicycle", "car", "class 3"}},
    {"person\nbicycle\ncar", 3, {"person", "bicycle", "car", "class 3"}},
    {"person\r\nbicycle\r\n", 2, {"person", "bicycle", "class 2"}},
    {"person\r\nbicycle\r", 2, {"person", "bicycle", "class 2"}},
    {"person\n\n\r\ncar\n", 4, {"person", "class 1", "class 2", "car"}},
    {"\xef\xbb\xbfperson\nbicycle\n", 2, {"person", "bicycle"}},
    {"\xef\xbb\xbf", 1, {"class 0", "class 1"}},
    {"\xef\xbb", 1, {"\xef\xbb", "class 1"}},
    {"traffic light\n \tstop sign \n", 2, {"traffic light", " \tstop sign ", "class 2"}},
    {"a\rb\n\xff\n", 2, {"a\rb", "\xff", "class 2"}},
};

START_TEST(test_lines)
{
  const struct row *row = &rows[_i];
  struct mafat_names *names = must_read(row->text, strlen(row->text));
  ck_assert_int_eq(mafat_names_count(names), row->n);
  for (int i = 0; i < 4 && row->labels[i]; i++) check_label(names, i, row->labels[i]);
  mafat_names_close(&names);
  ck_assert_ptr_null(names);
}
END_TEST

START_TEST(test_no_such_class)
{
  struct mafat_names *names = must_read("person\n", 7);
  check_label(names, -1, "class -1");
  check_label(names, INT_MAX, "class 2147483647");
  check_label(names, INT_MIN, "class -2147483648");
  mafat_names_close(&names);
  check_label(NULL, 17, "class 17");
  ck_assert_int_eq(mafat_names_count(NULL), 0);
  mafat_names_close(&names);
}
END_TEST

START_TEST(test_growth)
{
  enum { LINES = 5000, EACH = 8 };
  char *text = malloc(LINES * EACH + 1);
  ck_assert_ptr_nonnull(text);
  for (int i = 0; i < LINES; i++) snprintf(text + i * EACH, EACH + 1, "x%06d\n", i);
  struct mafat_names *names = must_read(text, LINES * EACH);
  ck_assert_int_eq(mafat_names_count(names), LINES);
  for (int i = 0; i < LINES; i++) {
    char expected[16];
    snprintf(expected, sizeof expected, "x%06d", i);
    check_label(names, i, expected);
  }
  mafat_names_close(&names);
  free(text);
}
END_TEST

static struct mafat_names *read_repeated(char byte, size_t n)
{
  char *text = malloc(n);
  ck_assert_ptr_nonnull(text);
  memset(text, byte, n);
  test_write_file(path, text, n);
  free(text);
  struct mafat_names *names = NULL;
  diagnostic.text[0] = 0;
  int code = mafat_names_read(&names, path, &diagnostic);
  ck_assert_int_eq(code, names ? MAFAT_OK : MAFAT_EFORMAT);
  return names;
}

START_TEST(test_limits)
{
  struct mafat_names *names = read_repeated('x', MAFAT_NAMES_MAX_BYTES);
  ck_assert_int_eq(mafat_names_count(names), 1);
  mafat_names_close(&names);
  ck_assert_ptr_null(read_repeated('x', MAFAT_NAMES_MAX_BYTES + 1));

  names = read_repeated('\n', MAFAT_NAMES_MAX_LABELS);
  ck_assert_int_eq(mafat_names_count(names), MAFAT_NAMES_MAX_LABELS);
  mafat_names_close(&names);
  ck_assert_ptr_null(read_repeated('\n', MAFAT_NAMES_MAX_LABELS + 1));
}
END_TEST

/* mafat_names_read_within fails with MAFAT_ELIMIT if the text and the table of lines together need
 * more than the given number of bytes. */
START_TEST(test_memory)
{
  struct mafat_names *names = NULL;
  enum { N = 100000 };
  names = read_repeated('\n', N);
  mafat_names_close(&names);
  for (int i = 0; i < 2; i++) {
    size_t most = i ? (N + 1) * 5 - 2 : N;
    ck_assert_int_eq(mafat_names_read_within(&names, path, most, &diagnostic), MAFAT_ELIMIT);
    ck_assert_ptr_null(names);
    ck_assert_ptr_nonnull(strstr(diagnostic.text, "does not fit: labels need at least 0."));
  }
  ck_assert_int_eq(mafat_names_read_within(&names, path, (N + 1) * 5, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_names_count(names), N);
  mafat_names_close(&names);
}
END_TEST

START_TEST(test_bad_files)
{
  must_fail(MAFAT_EIO); /* no such file */
  test_write_file(path, "per\0son\n", 8);
  must_fail(MAFAT_EFORMAT);
  unlink(path);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  must_fail(MAFAT_EIO);
  ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

START_TEST(test_endless_device)
{
  struct mafat_names *names = NULL;
  ck_assert_int_eq(mafat_names_read(&names, "/dev/zero", NULL), MAFAT_EFORMAT);
  ck_assert_ptr_null(names);
}
END_TEST

START_TEST(test_pipe)
{
  struct mafat_names *names = NULL;
  int ends[2];
  char name[32];
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], "person\ncar\n", 11), 11);
  close(ends[1]);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
  ck_assert_int_eq(mafat_names_read(&names, name, &diagnostic), MAFAT_OK);
  check_label(names, 1, "car");
  mafat_names_close(&names);
  close(ends[0]);
}
END_TEST

Suite *names_suite(void)
{
  Suite *s = suite_create("names");
  TCase *reading = tcase_create("reading");
  tcase_set_timeout(reading, 60);
  tcase_add_checked_fixture(reading, make_folder, remove_folder);
  tcase_add_loop_test(reading, test_lines, 0, sizeof rows / sizeof *rows);
  tcase_add_test(reading, test_no_such_class);
  tcase_add_test(reading, test_growth);
  tcase_add_test(reading, test_limits);
  tcase_add_test(reading, test_memory);
  tcase_add_test(reading, test_bad_files);
  tcase_add_test(reading, test_endless_device);
  tcase_add_test(reading, test_pipe);
  suite_add_tcase(s, reading);
  return s;
}
