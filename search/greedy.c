#include "search/greedy.h"

int mafat_search_greedy(struct mafat_greedy_choice *choice, const struct mafat_network *n, int n_layers,
                        size_t limit_bytes, size_t bias_bytes, struct mafat_diagnostic *d)
{
  (void)choice;
  (void)n_layers;
  (void)limit_bytes;
  (void)bias_bytes;
  return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: the greedy search is not there yet", n->path);
}
