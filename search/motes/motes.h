/* MOTES: partition schemes found by a beam search that opens the cells of memory bottlenecks one after the other, as
 * published, but that a state is a plan of ours, which is measured as any other. */
#ifndef MAFAT_SEARCH_MOTES_MOTES_H
#define MAFAT_SEARCH_MOTES_MOTES_H

#include "search/common/search.h"

/* A front of one plan: groups of whole maps and split groups, weights kept, nothing computed twice. The same request gives the same
 * plan, but where milliseconds are measured. MAFAT_ENOMEM; MAFAT_ELIMIT: no plan has countable bytes, or there is no room to time whole
 * maps; what else the request's timer says. */
int mafat_search_motes(struct mafat_front **out, const struct mafat_search_request *request, struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_motes;

#endif
