/* The table of searches, and look-up by name. To add a search, define its struct mafat_search in a
 * folder of its own and add its name to SEARCHES. Called by api/ (choose.c, dry_run.c). Allocates
 * nothing. */
#include "search/searches.h"

#include <stdio.h>
#include <string.h>

#define SEARCHES(SEARCH) /* in the order of --help; the first is the default */ \
  SEARCH(best) \
  SEARCH(least) \
  SEARCH(fdt) \
  SEARCH(motes) \
  SEARCH(separable) \
  SEARCH(greedy)

#define DECLARE(name) extern const struct mafat_search mafat_searching_##name;
#define POINT_AT(name) &mafat_searching_##name,
SEARCHES(DECLARE)
static const struct mafat_search *const searches[] = {SEARCHES(POINT_AT)};

enum { N_SEARCHES = sizeof searches / sizeof *searches };

const struct mafat_search *mafat_search_at(int index)
{
  return index >= 0 && index < N_SEARCHES ? searches[index] : NULL;
}

int mafat_search_find(const struct mafat_search **search, const char **words, const char *text,
                      struct mafat_diagnostic *d)
{
  struct mafat_search_value values[MAFAT_MOST_SEARCH_WORDS];
  char names[128] = "";
  size_t n = text ? strcspn(text, ":") : 0, length = 0;
  *words = text && text[n] ? text + n + 1 : "";
  for (int i = 0; i < N_SEARCHES; i++) {
    *search = searches[i];
    if (!text || (strlen(searches[i]->name) == n && memcmp(text, searches[i]->name, n) == 0))
      return mafat_search_words_read(values, *search, *words, d);
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                               searches[i]->name);
  }
  *search = NULL;
  return mafat_fail(d, MAFAT_EINVAL, "expected a search (%s), found %.*s", names,
                    n < 60 ? (int)n : 60, text);
}
