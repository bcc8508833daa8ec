/* The search "motes": the published beam search MOTES over partition schemes (apply.h). It goes
 * through the cells (cells.h), those with the most bytes of the memory peak first, and splits their
 * layers. Included by search/smallest/smallest.c; api/ reaches it through search/searches.c.
 * Allocates from a heap of its own, which it frees; the caller closes the front. Runs plans if the
 * request has a timer. */
#ifndef MAFAT_SEARCH_MOTES_MOTES_H
#define MAFAT_SEARCH_MOTES_MOTES_H

#include "search/common/search.h"

/* Finds a front of one plan; the caller closes the front. The plan has groups of whole maps and
 * split groups. All weights stay in memory, and nothing is computed twice. The result is always the
 * same, unless the request has a timer. Returns MAFAT_OK, MAFAT_ENOMEM, MAFAT_EINVAL (invalid
 * request->words), MAFAT_ELIMIT (the byte count of every plan overflows, or there is not enough
 * memory to run the plan of whole maps) or an error of the request's timer. */
int mafat_search_motes(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_motes;

#endif
