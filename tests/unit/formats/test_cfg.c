/* Covers formats/darknet/cfg.c, base/{error, number, text_file}.c: the text of cfg files: sections,
 * keys, numbers and refused lines; and texts of errors. */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/darknet/cfg.h"
#include "tests/support/support.h"

Suite *cfg_suite(void);

static struct mafat_diagnostic diagnostic;

static struct mafat_cfg *must_parse(const char *text)
{
  struct mafat_cfg *cfg = NULL;
  int code = mafat_cfg_parse(&cfg, "a.cfg", text, strlen(text), &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  return cfg;
}

/* ---- lines ---- */

START_TEST(sections_hold_their_options)
{
  struct mafat_cfg *cfg =
      must_parse("# a comment\n[net]\nwidth = 4 16\n\n;another\nheight=\t8\r\n"
                 " [ conv olutional ] \nfilters=3\n[maxpool]\n[route]\nlayers = -1, 2");
  ck_assert_str_eq(cfg->path, "a.cfg");
  ck_assert_int_eq(cfg->n_sections, 4);
  ck_assert_str_eq(cfg->sections[0].type, "net");
  ck_assert_int_eq(cfg->sections[0].line, 2);
  ck_assert_int_eq(cfg->sections[0].n_options, 2);
  ck_assert_str_eq(cfg->sections[0].options[0].key, "width");
  ck_assert_str_eq(cfg->sections[0].options[0].value,
                   "416"); /* blanks are ignored, as in Darknet */
  ck_assert_str_eq(cfg->sections[0].options[1].value, "8");
  ck_assert_int_eq(cfg->sections[0].options[1].line, 6);
  ck_assert_str_eq(cfg->sections[1].type, "convolutional");
  ck_assert_int_eq(cfg->sections[1].line, 7);
  ck_assert_int_eq(cfg->sections[2].n_options, 0);
  ck_assert_str_eq(cfg->sections[3].options[0].value, "-1,2");
  mafat_cfg_close(&cfg);
  ck_assert_ptr_null(cfg);
  mafat_cfg_close(&cfg);
  mafat_cfg_close(NULL);
}
END_TEST

START_TEST(a_value_may_hold_an_equals_sign)
{
  struct mafat_cfg *cfg = must_parse("[net]\na=b=c\n");
  ck_assert_str_eq(cfg->sections[0].options[0].key, "a");
  ck_assert_str_eq(cfg->sections[0].options[0].value, "b=c");
  mafat_cfg_close(&cfg);
}
END_TEST

START_TEST(the_first_value_of_a_key_wins)
{
  struct mafat_cfg *cfg = must_parse("[net]\nwidth=1\nwidth=2\n[net]\nwidth=3\n");
  const struct mafat_cfg_option *o = mafat_cfg_find(&cfg->sections[0], "width");
  ck_assert_str_eq(o->value, "1");
  ck_assert(cfg->sections[0].options[0].used && !cfg->sections[0].options[1].used);
  ck_assert_str_eq(mafat_cfg_find(&cfg->sections[1], "width")->value, "3");
  ck_assert_ptr_null(mafat_cfg_find(&cfg->sections[0], "height"));
  mafat_cfg_close(&cfg);
}
END_TEST

struct refusal {
  const char *text, *message;
};

static const struct refusal refusals[] = {
    {"", "a.cfg: expected a section [net], found none"},
    {"# nothing\n\n", "a.cfg: expected a section [net], found none"},
    {"width=4\n[net]\n", "a.cfg:1: expected [net] before the first option, found width=4"},
    {"[net\n", "a.cfg:1: expected a section like [net], found [net"},
    {"\n[]\n", "a.cfg:2: expected a section like [net], found []"},
    {"[net] # why\n", "a.cfg:1: expected a section like [net], found [net]#why"},
    {"[net]\nwidth\n", "a.cfg:2: expected key=value, found width"},
    {"[net]\nwidth=\n", "a.cfg:2: expected key=value, found width="},
    {"[net]\n\n=4\n", "a.cfg:3: expected key=value, found =4"},
};

START_TEST(invalid_lines_are_refused)
{
  struct mafat_cfg *cfg = NULL;
  const struct refusal *r = &refusals[_i];
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", r->text, strlen(r->text), &diagnostic),
                   MAFAT_EFORMAT);
  ck_assert_ptr_null(cfg);
  ck_assert_str_eq(diagnostic.text, r->message);
}
END_TEST

START_TEST(zero_bytes_are_refused)
{
  struct mafat_cfg *cfg = NULL;
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", "[net]\nwid\0th=4\n", 15, &diagnostic),
                   MAFAT_EFORMAT);
  ck_assert_str_eq(diagnostic.text, "a.cfg:2: expected text, found a zero byte");
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", "\0", 1, &diagnostic), MAFAT_EFORMAT);
}
END_TEST

START_TEST(long_lines_are_quoted_in_part)
{
  static char text[100000];
  struct mafat_cfg *cfg = NULL;
  memset(text, 'x', sizeof text);
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, sizeof text, &diagnostic), MAFAT_EFORMAT);
  ck_assert_uint_lt(strlen(diagnostic.text), 200);
}
END_TEST

START_TEST(sections_of_many_keys_are_refused)
{
  struct mafat_diagnostic d = {""};
  struct mafat_cfg *cfg = NULL;
  char *text = malloc(16 * (MAFAT_CFG_MAX_KEYS + 2)), *end = text + sprintf(text, "[net]\n");
  for (int i = 0; i < MAFAT_CFG_MAX_KEYS; i++) end += sprintf(end, "key%d=1\n", i);
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, (size_t)(end - text), &d), MAFAT_OK);
  mafat_cfg_close(&cfg);
  end += sprintf(end, "key=1\n");
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, (size_t)(end - text), &d), MAFAT_EFORMAT);
  ck_assert_ptr_null(cfg);
  ck_assert_str_eq(d.text,
                   "a.cfg:514: expected at most 512 keys in a section, found one more in [net]");
  free(text);
}
END_TEST

START_TEST(large_files_are_refused)
{
  size_t bytes = (size_t)MAFAT_CFG_MAX_BYTES + 1;
  char *text = malloc(bytes);
  struct mafat_cfg *cfg = NULL;
  memset(text, '\n', bytes);
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, bytes, &diagnostic), MAFAT_EFORMAT);
  ck_assert_str_eq(diagnostic.text, "a.cfg: too large for a cfg file");
  free(text);
}
END_TEST

/* ---- typed look-ups ---- */

struct look_up {
  const char *value;
  int code, expected;
  const char *message;
};

static const struct look_up ints[] = {
    {"7", MAFAT_OK, 7, ""},
    {"-3", MAFAT_OK, -3, ""},
    {"+4", MAFAT_OK, 4, ""},
    {"10", MAFAT_OK, 10, ""},
    {"7 # seven", MAFAT_OK, 7, ""},
    {"7;seven", MAFAT_OK, 7, ""},
    {"7,8", MAFAT_OK, 7, ""}, /* the first one, as Darknet's atoi */
    {"11", MAFAT_EFORMAT, 5, "a.cfg:3: key expects -10 to 10, found 11"},
    {"-11", MAFAT_EFORMAT, 5, "a.cfg:3: key expects -10 to 10, found -11"},
    {"7.5", MAFAT_EFORMAT, 5, "a.cfg:3: key expects an integer, found 7.5"},
    {"7x", MAFAT_EFORMAT, 5, "a.cfg:3: key expects an integer, found 7x"},
    {"seven", MAFAT_EFORMAT, 5, "a.cfg:3: key expects an integer, found seven"},
    {"3000000000", MAFAT_EFORMAT, 5, "a.cfg:3: key=3000000000 is out of range"},
    {"99999999999999999999", MAFAT_EFORMAT, 5, "a.cfg:3: key=99999999999999999999 is out of range"},
};

static struct mafat_cfg *with_value(const char *value)
{
  char text[256];
  snprintf(text, sizeof text, "[net]\n\nkey=%s\n", value);
  return must_parse(text);
}

START_TEST(integers)
{
  const struct look_up *l = &ints[_i];
  struct mafat_cfg *cfg = with_value(l->value);
  int value = 5;
  diagnostic.text[0] = '\0';
  ck_assert_msg(mafat_cfg_int(cfg, &cfg->sections[0], "key", -10, 10, &value, &diagnostic) ==
                    l->code,
                "%s", l->value);
  ck_assert_msg(value == l->expected, "%s: found %d", l->value, value);
  ck_assert_str_eq(diagnostic.text, l->message);
  mafat_cfg_close(&cfg);
}
END_TEST

struct float_look_up {
  const char *value;
  int code;
  float expected;
};

static const struct float_look_up floats[] = {
    {"1.5", MAFAT_OK, 1.5f},     {".25", MAFAT_OK, .25f},    {"-2", MAFAT_OK, -2},
    {"1e-3", MAFAT_OK, 1e-3f},   {"1.1#x", MAFAT_OK, 1.1f},  {"nan", MAFAT_EFORMAT, 5},
    {"inf", MAFAT_EFORMAT, 5},   {"1e99", MAFAT_EFORMAT, 5}, {"x", MAFAT_EFORMAT, 5},
    {"1.5.2", MAFAT_EFORMAT, 5},
};

static void check_fraction(const struct float_look_up *l)
{
  struct mafat_cfg *cfg = with_value(l->value);
  float value = 5;
  ck_assert_msg(mafat_cfg_float(cfg, &cfg->sections[0], "key", &value, &diagnostic) == l->code,
                "%s", l->value);
  ck_assert_msg(value == l->expected, "%s: found %g", l->value, (double)value);
  if (l->code)
    ck_assert_ptr_nonnull(strstr(diagnostic.text, "a.cfg:3: key expects a number, found "));
  mafat_cfg_close(&cfg);
}

START_TEST(fractions)
{
  check_fraction(&floats[_i]);
}
END_TEST

/* Numbers are read the same in any locale, which a program that uses the library may have set. */
START_TEST(numbers_do_not_depend_on_the_locale)
{
  struct mafat_cfg_section *s;
  int n;
  float *list;
  if (!test_comma_locale()) return;
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) check_fraction(&floats[i]);
  struct mafat_cfg *cfg = with_value("1.5,2.25,.5,3,-1.75e1");
  s = &cfg->sections[0];
  ck_assert_int_eq(mafat_cfg_floats(cfg, s, "key", &list, &n, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(n, 5);
  ck_assert(list[0] == 1.5f && list[1] == 2.25f && list[2] == .5f && list[3] == 3 &&
            list[4] == -17.5f);
  free(list);
  mafat_cfg_close(&cfg);
  setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(absent_keys_leave_the_default)
{
  struct mafat_cfg *cfg = must_parse("[net]\n");
  struct mafat_cfg_section *s = &cfg->sections[0];
  int value = 5, n = 7, *list = &value;
  float number = 2.5f, *numbers = &number;
  ck_assert_int_eq(mafat_cfg_int(cfg, s, "key", 0, 1, &value, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_cfg_float(cfg, s, "key", &number, &diagnostic), MAFAT_OK);
  ck_assert(value == 5 && number == 2.5f);
  ck_assert_int_eq(mafat_cfg_ints(cfg, s, "key", &list, &n, &diagnostic), MAFAT_OK);
  ck_assert(list == NULL && n == 0);
  n = 7;
  ck_assert_int_eq(mafat_cfg_floats(cfg, s, "key", &numbers, &n, &diagnostic), MAFAT_OK);
  ck_assert(numbers == NULL && n == 0);
  mafat_cfg_close(&cfg);
}
END_TEST

struct list {
  const char *value;
  int n, first, last; /* n of -1: refused */
};

static const struct list lists[] = {
    {"4", 1, 4, 4},           {"-1,-4", 2, -1, -4},   {"-1, 61, 7", 3, -1, 7}, {"1,2,", 2, 1, 2},
    {"1,2 # and so on", 2, 1, 2}, {"1,,2", -1, 0, 0}, {",1", -1, 0, 0},        {"1,x", -1, 0, 0},
    {"1;2", 1, 1, 1},         {"1.5,2", -1, 0, 0},    {"3,2#three, two", 2, 3, 2},
};

START_TEST(lists_of_numbers)
{
  const struct list *l = &lists[_i];
  struct mafat_cfg *cfg = with_value(l->value);
  int *values = NULL, n = 0, n_floats = 0;
  float *numbers = NULL;
  int code = mafat_cfg_ints(cfg, &cfg->sections[0], "key", &values, &n, &diagnostic);
  ck_assert_msg(code == (l->n < 0 ? MAFAT_EFORMAT : MAFAT_OK), "\"%s\": %s", l->value,
                diagnostic.text);
  if (l->n < 0) {
    ck_assert_msg(values == NULL && strncmp(diagnostic.text, "a.cfg:3: ", 9) == 0, "%s",
                  diagnostic.text);
  } else {
    ck_assert_msg(n == l->n && values[0] == l->first && values[n - 1] == l->last, "\"%s\"",
                  l->value);
    ck_assert_int_eq(mafat_cfg_floats(cfg, &cfg->sections[0], "key", &numbers, &n_floats,
                                      &diagnostic),
                     MAFAT_OK);
    ck_assert_msg(n_floats == n && numbers[n - 1] == (float)l->last, "\"%s\"", l->value);
  }
  free(values);
  free(numbers);
  mafat_cfg_close(&cfg);
}
END_TEST

/* ---- files ---- */

START_TEST(a_file_is_read_like_its_text)
{
  char path[] = "/tmp/mafat-cfg-XXXXXX";
  struct mafat_cfg *cfg = NULL;
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert(write(fd, "[net]\nwidth=8\n", 14) == 14);
  for (int i = 0; i < 5000; i++) ck_assert(write(fd, "[dropout]\n", 10) == 10);
  close(fd);
  int code = mafat_cfg_read(&cfg, path, &diagnostic);
  unlink(path);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_str_eq(cfg->path, path);
  ck_assert_int_eq(cfg->n_sections, 5001);
  mafat_cfg_close(&cfg);
}
END_TEST

START_TEST(unreadable_paths_are_refused)
{
  struct mafat_cfg *cfg = NULL;
  ck_assert_int_eq(mafat_cfg_read(&cfg, "/nowhere/a.cfg", &diagnostic), MAFAT_EIO);
  ck_assert_str_eq(diagnostic.text, "/nowhere/a.cfg: cannot open: No such file or directory");
  ck_assert_int_eq(mafat_cfg_read(&cfg, "/tmp", &diagnostic), MAFAT_EIO);
  ck_assert_str_eq(diagnostic.text, "/tmp: expected a cfg file, found a directory");
  ck_assert_int_eq(mafat_cfg_read(&cfg, "/dev/zero", &diagnostic), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "/dev/zero: expected a cfg file of at most "));
  ck_assert_ptr_null(cfg);
}
END_TEST

/* ---- errors ---- */

START_TEST(every_code_has_a_name)
{
  for (int code = MAFAT_ECANCELED; code <= MAFAT_OK; code++) {
    ck_assert_str_ne(mafat_error_name(code), "unknown error");
    for (int other = MAFAT_ECANCELED; other < code; other++)
      ck_assert_str_ne(mafat_error_name(code), mafat_error_name(other));
  }
  ck_assert_str_eq(mafat_error_name(1), "unknown error");
  ck_assert_str_eq(mafat_error_name(MAFAT_ECANCELED - 1), "unknown error");
}
END_TEST

/* A diagnostic, a sink of warnings and its function may be NULL. */
START_TEST(diagnostic_and_sink_may_be_null)
{
  struct mafat_warning_sink sink = {NULL, NULL};
  ck_assert_int_eq(mafat_fail(NULL, MAFAT_EIO, "%d", 1), MAFAT_EIO);
  mafat_warn(NULL, "%d", 1);
  mafat_warn(&sink, "%d", 1);
}
END_TEST

/* Control characters and invalid UTF-8 in a message are replaced by question marks. */
START_TEST(a_message_is_one_line)
{
  struct mafat_diagnostic d;
  mafat_fail(&d, MAFAT_EIO, "a\nb\x1b[1m\x7f \xc3\xa9");
  ck_assert_str_eq(d.text, "a?b?[1m? \xc3\xa9");
  mafat_fail(
      &d, MAFAT_EIO,
      "\xc2\x9b"
      "31m \x9b"
      "1m \xe0\x82\x9b"
      "m \xc2\xa0 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x82"); /* U+009B acts as ESC [ */
  ck_assert_str_eq(d.text, "??31m ?1m ???m \xc2\xa0 \xe2\x82\xac \xf0\x9f\x98\x80 ??");
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

Suite *cfg_suite(void)
{
  Suite *suite = suite_create("cfg");
  TCase *lines = tcase_create("lines");
  tcase_add_test(lines, sections_hold_their_options);
  tcase_add_test(lines, a_value_may_hold_an_equals_sign);
  tcase_add_test(lines, the_first_value_of_a_key_wins);
  tcase_add_loop_test(lines, invalid_lines_are_refused, 0, COUNT(refusals));
  tcase_add_test(lines, zero_bytes_are_refused);
  tcase_add_test(lines, long_lines_are_quoted_in_part);
  tcase_add_test(lines, sections_of_many_keys_are_refused);
  tcase_add_test(lines, large_files_are_refused);
  suite_add_tcase(suite, lines);
  TCase *values = tcase_create("values");
  tcase_add_loop_test(values, integers, 0, COUNT(ints));
  tcase_add_loop_test(values, fractions, 0, COUNT(floats));
  tcase_add_test(values, numbers_do_not_depend_on_the_locale);
  tcase_add_test(values, absent_keys_leave_the_default);
  tcase_add_loop_test(values, lists_of_numbers, 0, COUNT(lists));
  suite_add_tcase(suite, values);
  TCase *files = tcase_create("files");
  tcase_add_test(files, a_file_is_read_like_its_text);
  tcase_add_test(files, unreadable_paths_are_refused);
  suite_add_tcase(suite, files);
  TCase *errors = tcase_create("errors");
  tcase_add_test(errors, every_code_has_a_name);
  tcase_add_test(errors, diagnostic_and_sink_may_be_null);
  tcase_add_test(errors, a_message_is_one_line);
  suite_add_tcase(suite, errors);
  return suite;
}
