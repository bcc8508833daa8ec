/* Repeats a search and makes a different allocation fail each time. Called by test_best.c and
 * test_least.c. */
#ifndef MAFAT_TESTS_UNIT_FAILING_SEARCH_H
#define MAFAT_TESTS_UNIT_FAILING_SEARCH_H

#include "search/best/best.h"

/* Checks that the search reports the failed allocation with MAFAT_ENOMEM and a message, and frees
 * everything. Tries each of the first allocations, later ones in growing steps. */
void test_failing_search(const struct mafat_search_request *request);

#endif
