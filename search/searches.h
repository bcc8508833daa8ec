/* The table of searches, and look-up by name. Included by api/choose.h; called by api/ (choose.c,
 * dry_run.c). Allocates nothing. */
#ifndef MAFAT_SEARCH_SEARCHES_H
#define MAFAT_SEARCH_SEARCHES_H

#include "search/common/search.h"

/* Returns search number `index`, from 0 on; NULL: there are fewer. Search 0 is the default. */
const struct mafat_search *mafat_search_at(int index);

/* Finds the search that `text` names, and checks its words. text: for example "best" or
 * "motes:beam=8,delta=1.05"; NULL: the default search. *words: the part of `text` after the colon;
 * "" if there is none. Returns MAFAT_OK or MAFAT_EINVAL; the diagnostic lists the searches, or the
 * words of the search. */
int mafat_search_find(const struct mafat_search **search, const char **words, const char *text,
                      struct mafat_diagnostic *d);

#endif
