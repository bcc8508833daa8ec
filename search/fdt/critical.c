/* A chain is found from both ends: what stands on the floor by chains, and, upside down, what hangs from the
 * total by them. What does both is in one. Sorted, so that many buffers take no longer than their sorting. */
#include "search/fdt/critical.h"

#include "include/mafat.h"

#include <stdbool.h>
#include <stdlib.h>

struct item {
  struct mafat_fdt_place at;
  int buffer;
  bool reached;
};

static int rising(uint64_t a, uint64_t b)
{
  return (a > b) - (a < b);
}

static int compare_ends(const void *a, const void *b)
{
  return rising(((const struct item *)a)->at.end, ((const struct item *)b)->at.end);
}

static int compare_begins(const void *a, const void *b)
{
  return rising(((const struct item *)a)->at.begin, ((const struct item *)b)->at.begin);
}

static int compare_sizes(const void *a, const void *b)
{
  const struct item *x = a, *y = b;
  int by_size = rising(y->at.end - y->at.begin, x->at.end - x->at.begin);
  return by_size ? by_size : (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

/* The first that ends there or above. */
static int first_ending(const struct item *items, int n, uint64_t end)
{
  int low = 0, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (items[middle].at.end < end) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Keeps those that chains lead to from 0. Of equal ends the first one says whether any is reached. */
static int keep_reached(struct item *items, int n)
{
  int kept = 0, first = 0;
  qsort(items, (size_t)n, sizeof *items, compare_ends);
  for (int i = 0; i < n; i++) items[i].reached = false;
  for (int i = 0; i < n; i++) {
    if (items[i].at.end != items[first].at.end) first = i;
    int below = first_ending(items, n, items[i].at.begin);
    bool stands = items[i].at.begin == 0 || (items[below].at.end == items[i].at.begin && items[below].reached);
    if (!stands) continue;
    if (i > first && !items[first].reached) {
      struct item swapped = items[first];
      items[first] = items[i];
      items[i] = swapped;
      items[first].reached = true;
    } else {
      items[i].reached = true;
    }
  }
  for (int i = 0; i < n; i++)
    if (items[i].reached) items[kept++] = items[i];
  return kept;
}

static void turn(struct item *items, int n, uint64_t total)
{
  for (int i = 0; i < n; i++)
    items[i].at = (struct mafat_fdt_place){.begin = total - items[i].at.end, .end = total - items[i].at.begin};
}

/* Those of chains that no other one lies beside: each chain covers every byte once, so has to have them. */
static int keep_alone(struct item *items, int n)
{
  uint64_t most = 0;
  int kept = 0;
  qsort(items, (size_t)n, sizeof *items, compare_begins);
  for (int i = 0; i < n; i++) {
    items[i].reached = most <= items[i].at.begin && (i + 1 == n || items[i + 1].at.begin >= items[i].at.end);
    if (items[i].at.end > most) most = items[i].at.end;
  }
  for (int i = 0; i < n; i++)
    if (items[i].reached) items[kept++] = items[i];
  return kept;
}

int mafat_fdt_critical(const struct mafat_fdt_place *places, int n, uint64_t total, enum mafat_fdt_reading reading,
                       struct mafat_heap *heap, int *critical, int *n_critical)
{
  int kept = 0;
  *n_critical = 0;
  if (n == 0) return MAFAT_OK;
  struct item *items = mafat_heap_calloc(heap, (size_t)n, sizeof *items);
  if (!items) return MAFAT_ENOMEM;
  for (int i = 0; i < n; i++)
    if (places[i].begin < places[i].end && places[i].end <= total) items[kept++] = (struct item){.at = places[i], .buffer = i};
  kept = keep_reached(items, kept);
  turn(items, kept, total);
  kept = keep_reached(items, kept);
  turn(items, kept, total);
  if (reading == MAFAT_FDT_ALONE) kept = keep_alone(items, kept);
  qsort(items, (size_t)kept, sizeof *items, compare_sizes);
  for (int i = 0; i < kept; i++) critical[i] = items[i].buffer;
  *n_critical = kept;
  mafat_heap_free(heap, items);
  return MAFAT_OK;
}
