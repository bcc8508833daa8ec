/* The search "motes": a beam search over partition schemes that opens the cells of memory
 * bottlenecks one by one, as published. A state is a plan of this project and is measured like any
 * other. Included by search/smallest/smallest.c; api/ reaches it through its row in
 * search/searches.c. Allocates in a heap of its own; may run plans through the request's timer. */
#ifndef MAFAT_SEARCH_MOTES_MOTES_H
#define MAFAT_SEARCH_MOTES_MOTES_H

#include "search/common/search.h"

/* Finds a front of one plan: groups of whole maps and split groups, weights kept, nothing
 * computed twice. Deterministic, except if milliseconds are measured. MAFAT_ENOMEM;
 * MAFAT_ELIMIT: no plan has representable bytes, or too little memory to time whole maps; errors
 * of the request's timer. */
int mafat_search_motes(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_motes;

#endif
