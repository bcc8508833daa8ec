/* Counts the memory of reading a model against a limit. Called by the readers (base/, formats/),
 * and by api/dry_run.c and api/model.c, which ask for the peak. Touches only its arguments. */
#include "base/allowance.h"

#include <stdint.h>

bool mafat_allowance_take(struct mafat_allowance *a, size_t n, size_t bytes_each)
{
  size_t all;
  if (!a) return true;
  if (__builtin_mul_overflow(n, bytes_each, &all) || __builtin_add_overflow(all, a->bytes, &all))
    all = SIZE_MAX;
  if (all > a->limit_bytes) {
    if (!a->refused_bytes) a->refused_bytes = all;
    return false;
  }
  a->bytes = all;
  if (all > a->most_bytes) a->most_bytes = all;
  return true;
}

bool mafat_allowance_take_sparse(struct mafat_allowance *a, size_t n, size_t n_used,
                                 size_t bytes_each)
{
  enum { PAGE = 4096 };
  size_t whole = bytes_each + PAGE;
  bool sparse = n_used < n / (whole / bytes_each + 1);
  return mafat_allowance_take(a, sparse ? n_used : n, sparse ? whole : bytes_each);
}

bool mafat_allowance_keep(struct mafat_allowance *a, size_t bytes)
{
  bool taken = mafat_allowance_take(a, 1, bytes);
  if (a && taken) a->kept_bytes += bytes;
  return taken;
}

void mafat_allowance_give(struct mafat_allowance *a, size_t bytes)
{
  if (a) a->bytes -= bytes < a->bytes ? bytes : a->bytes;
}

size_t mafat_allowance_passing(const struct mafat_allowance *a)
{
  return a->most_bytes > a->kept_bytes ? a->most_bytes - a->kept_bytes : 0;
}
