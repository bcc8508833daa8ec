/* Searches whose allocations fail, one after the other. */
#ifndef MAFAT_TESTS_UNIT_FAILING_SEARCH_H
#define MAFAT_TESTS_UNIT_FAILING_SEARCH_H

#include "search/best/best.h"

/* Each failed allocation is reported with a message, and everything allocated before is freed. */
void test_failing_search(const struct mafat_search_request *request);

#endif
