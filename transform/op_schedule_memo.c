/* Caches execution orders. An entry is found by the complete graph, so graphs with equal hashes are
 * never confused. Called by search/best/best.c and predictor/planning/group_order.c. Allocates the
 * cache and its entries in the heap that its opener gives. */
#include "transform/op_schedule_memo.h"

#include "base/error.h"

#include <string.h>

enum { MOST_ENTRIES = 24 /* few, because they count against the memory budget of a search */ };

/* An entry of the cache. */
struct entry {
  uint64_t hash; /* hash of the key */
  size_t key_size;
  uint64_t *key; /* the graph, the method and the effort, as integers; NULL: empty entry */
  int *order;
};

struct mafat_op_schedule_memo {
  struct mafat_heap *heap;
  struct entry entries[MOST_ENTRIES];
  int next; /* index of the entry to be replaced next */
};

int mafat_op_schedule_memo_open(struct mafat_op_schedule_memo **memo, struct mafat_heap *heap)
{
  *memo = mafat_heap_calloc(heap, 1, sizeof **memo);
  if (!*memo) return MAFAT_ENOMEM;
  (*memo)->heap = heap;
  return MAFAT_OK;
}

static void clear(struct mafat_heap *heap, struct entry *entry)
{
  mafat_heap_free(heap, entry->key);
  mafat_heap_free(heap, entry->order);
  *entry = (struct entry){.key = NULL};
}

void mafat_op_schedule_memo_close(struct mafat_op_schedule_memo **memo)
{
  if (!*memo) return;
  for (int i = 0; i < MOST_ENTRIES; i++) clear((*memo)->heap, &(*memo)->entries[i]);
  mafat_heap_free((*memo)->heap, *memo);
  *memo = NULL;
}

/* Fills the entry's key with everything on which the order depends. */
static int write_key(struct entry *entry, const struct mafat_op_graph *g, enum mafat_op_order how,
                         long long effort, struct mafat_heap *heap)
{
  size_t n_uses = (size_t)g->n_uses, n_buffers = (size_t)g->n_buffers,
         n_operators = (size_t)g->n_operators, n = 0;
  uint64_t *w = entry->key =
      mafat_heap_calloc(heap, 5 + n_uses + 2 * n_buffers + 2 * n_operators, sizeof *w);
  if (!w) return MAFAT_ENOMEM;
  w[n++] = (uint64_t)how;
  w[n++] = (uint64_t)effort;
  w[n++] = n_operators;
  w[n++] = n_buffers;
  w[n++] = n_uses;
  for (size_t i = 0; i < n_uses; i++) {
    const struct mafat_op_use *u = &g->uses[i];
    w[n++] = (uint64_t)u->operator<< 33 |(uint64_t) u->buffer << 2 | (uint64_t)u->makes << 1 |
             (uint64_t)u->gives;
  }
  for (size_t b = 0; b < n_buffers; b++) {
    w[n++] = g->bytes[b];
    w[n++] = g->kept && g->kept[b];
  }
  for (size_t o = 0; o < n_operators; o++) {
    w[n++] = g->work ? g->work[o] : 0;
    w[n++] = g->in_place && g->in_place[o];
  }
  entry->key_size = n;
  entry->hash = 14695981039346656037u;
  for (size_t i = 0; i < n; i++) entry->hash = (entry->hash ^ w[i]) * 1099511628211u;
  return MAFAT_OK;
}

/* Returns the cached entry with the same key, or NULL. */
static const struct entry *find(const struct mafat_op_schedule_memo *memo, const struct entry *like)
{
  for (int i = 0; i < MOST_ENTRIES; i++) {
    const struct entry *entry = &memo->entries[i];
    if (entry->key && entry->hash == like->hash && entry->key_size == like->key_size &&
        memcmp(entry->key, like->key, like->key_size * sizeof *like->key) == 0)
      return entry;
  }
  return NULL;
}

/* Schedules the graph. */
static int sort(const struct mafat_op_graph *g, enum mafat_op_order how, long long effort,
                int *order, struct mafat_heap *heap)
{
  struct mafat_op_scheduler *s = NULL;
  struct mafat_op_schedule_result sorted;
  int code = mafat_op_scheduler_open(&s, g, heap);
  if (code == MAFAT_OK) code = mafat_op_schedule(s, how, effort, order, &sorted);
  mafat_op_scheduler_close(&s);
  return code;
}

int mafat_op_schedule_with_memo(struct mafat_op_schedule_memo *memo, const struct mafat_op_graph *g,
                                enum mafat_op_order how, long long effort, int *order,
                                struct mafat_heap *heap)
{
  struct entry entry = {.key = NULL};
  if (!memo) return sort(g, how, effort, order, heap);
  size_t bytes = (size_t)g->n_operators * sizeof *order;
  int code = write_key(&entry, g, how, effort, memo->heap);
  const struct entry *known = code == MAFAT_OK ? find(memo, &entry) : NULL;
  if (known) memcpy(order, known->order, bytes);
  else if (code == MAFAT_OK) code = sort(g, how, effort, order, heap);
  if (code == MAFAT_OK && !known && !(entry.order = mafat_heap_calloc(memo->heap, 1, bytes + 1)))
    code = MAFAT_ENOMEM;
  if (code || known) {
    clear(memo->heap, &entry);
    return code;
  }
  memcpy(entry.order, order, bytes);
  clear(memo->heap, &memo->entries[memo->next]);
  memo->entries[memo->next] = entry;
  memo->next = (memo->next + 1) % MOST_ENTRIES;
  return MAFAT_OK;
}
