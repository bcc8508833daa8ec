/* Computes edit distances between short words. Called by mafat.c and refused_option.c when they
 * reject a word. Touches only its arguments. */
#include "programs/shared/nearest.h"

#include <string.h>

enum { WORD_ROOM = 32 }; /* longer words are never near */

static size_t least(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* Returns the least number of insertions, deletions, changed letters and swaps of neighbouring
 * letters that turn `a` into `b`. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
  unsigned char rows[3][WORD_ROOM + 1];
  for (size_t j = 0; j <= n_b; j++) rows[0][j] = (unsigned char)j;
  for (size_t i = 1; i <= n_a; i++) {
    unsigned char *row = rows[i % 3];
    const unsigned char *above = rows[(i + 2) % 3], *swapped = rows[(i + 1) % 3];
    row[0] = (unsigned char)i;
    for (size_t j = 1; j <= n_b; j++) {
      size_t d = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1u);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d = least(d, swapped[j - 2] + 1u);
      row[j] = (unsigned char)d;
    }
  }
  return rows[n_a % 3][n_b];
}

bool mafat_nearest_try(struct mafat_nearest *n, const char *candidate)
{
  size_t length = strlen(candidate);
  if (n->length > WORD_ROOM || length > WORD_ROOM) return false;
  size_t d = distance(n->word, n->length, candidate, length);
  if (d > length / 2 || (n->best && d >= n->distance)) return false;
  n->best = candidate;
  n->distance = d;
  return true;
}
