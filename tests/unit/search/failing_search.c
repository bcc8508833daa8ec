/* Repeats a search and makes another allocation fail each time. Called by test_best.c and
 * test_least.c. */
#include "tests/unit/search/failing_search.h"

#include "tests/support/failing_malloc.h"

#include <check.h>

void test_failing_search(const struct mafat_search_request *request)
{
  bool failed = true;
  for (long at = 0; failed; at += 1 + at / 16) {
    struct mafat_front *f;
    struct mafat_diagnostic d = {""};
    long unfreed;
    failing_malloc_arm(at);
    int code = mafat_search_front(&f, request, &d);
    mafat_front_close(&f);
    long asked = failing_malloc_disarm(&unfreed);
    ck_assert_int_eq(unfreed, 0);
    failed = asked > at;
    ck_assert_msg(code == (failed ? MAFAT_ENOMEM : MAFAT_OK), "allocation %ld of %ld: %s", at,
                  asked, mafat_error_name(code));
    ck_assert_msg(!failed || d.text[0], "allocation %ld: no message", at);
  }
}
