/* The subset of Check (https://libcheck.github.io/check) that the suites use, for builds with only
 * libc. The macros and the summary line are those of Check. Each test runs in a process of its own,
 * or all in one with CK_FORK=no in the environment. Suites include it as <check.h>, because
 * -Itests/arm comes before the system's folders; check.c implements it. */
#ifndef MAFAT_TESTS_ARM_CHECK_H
#define MAFAT_TESTS_ARM_CHECK_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

typedef struct Suite Suite;
typedef struct TCase TCase;
typedef struct SRunner SRunner;
enum print_output { CK_ENV };

Suite *suite_create(const char *name);
void suite_add_tcase(Suite *s, TCase *t);
TCase *tcase_create(const char *name);
void tcase_set_timeout(TCase *t, double seconds);
void tcase_add_checked_fixture(TCase *t, void (*setup)(void), void (*teardown)(void));
void check_add_test(TCase *t, const char *name, void (*run)(int), int first, int end);
#define tcase_add_test(t, test) check_add_test(t, #test, test, 0, 1)
#define tcase_add_loop_test(t, test, first, end) check_add_test(t, #test, test, first, end)

SRunner *srunner_create(Suite *s); /* s may be NULL */
void srunner_add_suite(SRunner *runner, Suite *s);
void srunner_run_all(SRunner *runner, enum print_output mode);
int srunner_ntests_failed(const SRunner *runner);
void srunner_free(SRunner *runner); /* frees its suites, too */

#define START_TEST(name) static void name(int _i __attribute__((unused)))
#define END_TEST

/* Prints the message and ends the test's process. */
void check_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

#define ck_abort_msg(...) check_fail(__FILE__, __LINE__, __VA_ARGS__)
#define ck_assert_msg(expression, ...) \
  ((expression) ? (void)0 : check_fail(__FILE__, __LINE__, __VA_ARGS__))
#define ck_assert(expression) ck_assert_msg(expression, "%s", #expression)

#define CHECK_COMPARE(type, shown, a, op, b) \
  do { \
    type check_a = (a); \
    type check_b = (b); \
    ck_assert_msg(check_a op check_b, "%s %s %s: %s is " shown ", %s is " shown, #a, #op, #b, #a, \
                  check_a, #b, check_b); \
  } while (0)
#define CHECK_INT(a, op, b) CHECK_COMPARE(long long, "%lld", a, op, b)
#define CHECK_UINT(a, op, b) CHECK_COMPARE(unsigned long long, "%llu", a, op, b)
#define ck_assert_int_eq(a, b) CHECK_INT(a, ==, b)
#define ck_assert_int_ne(a, b) CHECK_INT(a, !=, b)
#define ck_assert_int_lt(a, b) CHECK_INT(a, <, b)
#define ck_assert_int_le(a, b) CHECK_INT(a, <=, b)
#define ck_assert_int_gt(a, b) CHECK_INT(a, >, b)
#define ck_assert_int_ge(a, b) CHECK_INT(a, >=, b)
#define ck_assert_uint_eq(a, b) CHECK_UINT(a, ==, b)
#define ck_assert_uint_ne(a, b) CHECK_UINT(a, !=, b)
#define ck_assert_uint_lt(a, b) CHECK_UINT(a, <, b)
#define ck_assert_uint_le(a, b) CHECK_UINT(a, <=, b)
#define ck_assert_uint_gt(a, b) CHECK_UINT(a, >, b)
#define ck_assert_uint_ge(a, b) CHECK_UINT(a, >=, b)
#define ck_assert_ptr_eq(a, b) CHECK_COMPARE(const void *, "%p", a, ==, b)
#define ck_assert_ptr_ne(a, b) CHECK_COMPARE(const void *, "%p", a, !=, b)
#define ck_assert_ptr_null(a) ck_assert_ptr_eq(a, NULL)
#define ck_assert_ptr_nonnull(a) ck_assert_ptr_ne(a, NULL)

#define CHECK_STRINGS(a, op, b) \
  do { \
    const char *check_a = (a), *check_b = (b); \
    ck_assert_msg(check_a &&check_b &&strcmp(check_a, check_b) op 0, \
                  "%s %s %s: %s is \"%s\", %s is \"%s\"", #a, #op, #b, #a, \
                  check_a ? check_a : "(null)", #b, check_b ? check_b : "(null)"); \
  } while (0)
#define ck_assert_str_eq(a, b) CHECK_STRINGS(a, ==, b)
#define ck_assert_str_ne(a, b) CHECK_STRINGS(a, !=, b)
#define ck_assert_mem_eq(a, b, bytes) \
  ck_assert_msg(memcmp(a, b, bytes) == 0, "%s and %s differ in their first %s bytes", #a, #b, \
                #bytes)

/* The comparison is written so that a NaN on either side fails. */
#define CHECK_DOUBLES(a, b, tolerance) \
  do { \
    double check_a = (a), check_b = (b), check_within = (tolerance); \
    ck_assert_msg(fabs(check_a - check_b) <= check_within, \
                  "%s and %s: %.17g and %.17g differ by more than %g", #a, #b, check_a, check_b, \
                  check_within); \
  } while (0)
#define ck_assert_double_eq_tol(a, b, tolerance) CHECK_DOUBLES(a, b, tolerance)
#define ck_assert_float_eq_tol(a, b, tolerance) CHECK_DOUBLES(a, b, tolerance)
#define CHECK_DOUBLE(a, op, b) CHECK_COMPARE(double, "%.17g", a, op, b)
#define ck_assert_double_eq(a, b) CHECK_DOUBLE(a, ==, b)
#define ck_assert_float_eq(a, b) CHECK_DOUBLE((double)(a), ==, (double)(b))
#define ck_assert_float_lt(a, b) CHECK_DOUBLE((double)(a), <, (double)(b))
#define ck_assert_float_gt(a, b) CHECK_DOUBLE((double)(a), >, (double)(b))
#define ck_assert_double_lt(a, b) CHECK_DOUBLE(a, <, b)
#define ck_assert_double_le(a, b) CHECK_DOUBLE(a, <=, b)
#define ck_assert_double_gt(a, b) CHECK_DOUBLE(a, >, b)
#define ck_assert_double_ge(a, b) CHECK_DOUBLE(a, >=, b)

#endif
