/* The searches by name. */
#ifndef MAFAT_SEARCH_SEARCHES_H
#define MAFAT_SEARCH_SEARCHES_H

#include "search/common/search.h"

/* NULL where the index is beyond the last. The first is what is taken where none is named. */
const struct mafat_search *mafat_search_at(int index);

/* text: "motes:beam=8,delta=1.05", "best", or NULL, which is the first. *words: behind the colon, in the text; "": none. Words are
 * checked. MAFAT_EINVAL: the message lists the searches, or the search's words. */
int mafat_search_find(const struct mafat_search **search, const char **words, const char *text, struct mafat_diagnostic *d);

#endif
