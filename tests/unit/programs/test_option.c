/* Covers programs/shared/option.c: options that are not among a program's arguments are
 * read from environment variables. */
#include <check.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>

#include "programs/shared/option.h"

Suite *option_suite(void);

enum { ONE = 1, OTHER = 2 }; /* programs */
enum { COUNT, SECRET, FLAG, FOREIGN, N_ROWS };

struct values {
  int count, foreign;
  const char *secret;
  bool flag;
};

static const struct texts {
  char none[1], count[6], range[5], flag[5], foreign[8];
} texts = {"", "count", "1-64", "flag", "foreign"};

#define AT(text) offsetof(struct texts, text)
#define MEMBER(name) offsetof(struct values, name)
static const struct mafat_option rows[N_ROWS] = {
    [COUNT] = {.name = AT(count),
               .values = AT(range),
               .type = MAFAT_OPTION_COUNT,
               .member = MEMBER(count),
               .programs = ONE | OTHER},
    [SECRET] = {.name = AT(none),
                .type = MAFAT_OPTION_TEXT,
                .member = MEMBER(secret),
                .programs = ONE},
    [FLAG] = {.name = AT(flag), .type = MAFAT_OPTION_FLAG, .member = MEMBER(flag), .programs = ONE},
    [FOREIGN] = {.name = AT(foreign),
                 .values = AT(range),
                 .type = MAFAT_OPTION_COUNT,
                 .member = MEMBER(foreign),
                 .programs = OTHER}};

static const struct mafat_option_variable variables[] = {{COUNT, "OPTION_COUNT"},
                                                         {SECRET, "OPTION_SECRET"},
                                                         {FLAG, "OPTION_FLAG"},
                                                         {FOREIGN, "OPTION_FOREIGN"}};
static const struct mafat_option_table table = {rows, N_ROWS, (const char *)&texts, variables,
                                                sizeof variables / sizeof *variables};

static void clear(void)
{
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i].name);
}

/* Reads the words as the arguments of main: the program's name is first, NULL is last. Returns the
 * result of reading. */
static enum mafat_option_answer read_words(struct mafat_option_reader *r, struct values *v,
                                           char **words)
{
  int n = 0;
  enum mafat_option_answer answer;
  while (words[n]) n++;
  *v = (struct values){0};
  mafat_option_begin(r, &table, ONE, n, words);
  r->others = OTHER;
  while ((answer = mafat_option_next(r, v)) == MAFAT_OPTION_READ) continue;
  return answer;
}
#define READ(...) read_words(&r, &v, (char *[]){(char *)"program", __VA_ARGS__, NULL})

START_TEST(test_variable)
{
  struct mafat_option_reader r;
  struct values v;
  setenv("OPTION_COUNT", "7", 1);
  setenv("OPTION_SECRET", "a secret", 1);
  setenv("OPTION_FLAG", "", 1);
  ck_assert_int_eq(READ((char *)"argument"), MAFAT_OPTION_END);
  ck_assert_int_eq(v.count, 7);
  ck_assert_str_eq(v.secret, "a secret");
  ck_assert(v.flag && r.given[COUNT] && r.given[SECRET] && r.given[FLAG]);
  ck_assert_int_eq(optind, 1);
}
END_TEST

START_TEST(test_option_comes_first)
{
  struct mafat_option_reader r;
  struct values v;
  setenv("OPTION_COUNT", "not looked at", 1);
  ck_assert_int_eq(READ((char *)"--count", (char *)"3"), MAFAT_OPTION_END);
  ck_assert_int_eq(v.count, 3);
}
END_TEST

START_TEST(test_bad_value)
{
  struct mafat_option_reader r;
  struct values v;
  setenv("OPTION_COUNT", "65", 1);
  ck_assert_int_eq(READ((char *)"argument"), MAFAT_OPTION_BAD_VALUE);
  ck_assert_str_eq(r.refused, "OPTION_COUNT expects a number from 1 to 64, found 65");
}
END_TEST

/* An option of another program is read if it is an argument, so that the caller can refuse it. Its
 * environment variable is not read. */
START_TEST(test_other_program)
{
  struct mafat_option_reader r;
  struct values v;
  setenv("OPTION_FOREIGN", "7", 1);
  ck_assert_int_eq(READ((char *)"argument"), MAFAT_OPTION_END);
  ck_assert(v.foreign == 0 && !r.given[FOREIGN]);
  ck_assert_int_eq(READ((char *)"--foreign", (char *)"5"), MAFAT_OPTION_END);
  ck_assert(v.foreign == 5 && r.given[FOREIGN]);
}
END_TEST

/* Reading variables does not look at the arguments again. */
START_TEST(test_arguments_after_dashes)
{
  struct mafat_option_reader r;
  struct values v;
  char *words[] = {(char *)"program", (char *)"a", (char *)"--", (char *)"--count", NULL};
  setenv("OPTION_FLAG", "1", 1);
  ck_assert_int_eq(read_words(&r, &v, words), MAFAT_OPTION_END);
  ck_assert_int_eq(optind, 2);
  ck_assert_str_eq(words[2], "a");
  ck_assert_str_eq(words[3], "--count");
}
END_TEST

START_TEST(test_row_without_name)
{
  struct mafat_option_reader r;
  struct values v;
  ck_assert_int_eq(READ((char *)"--=a secret"), MAFAT_OPTION_REFUSED);
  ck_assert_ptr_null(v.secret);
}
END_TEST

Suite *option_suite(void)
{
  Suite *s = suite_create("option");
  TCase *environment = tcase_create("environment");
  tcase_add_checked_fixture(environment, clear, clear);
  tcase_add_test(environment, test_variable);
  tcase_add_test(environment, test_option_comes_first);
  tcase_add_test(environment, test_bad_value);
  tcase_add_test(environment, test_other_program);
  tcase_add_test(environment, test_arguments_after_dashes);
  tcase_add_test(environment, test_row_without_name);
  suite_add_tcase(s, environment);
  return s;
}
