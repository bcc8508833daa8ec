/* Caches scheduling results by a graph's complete contents. Called by search/best/best.c and
 * predictor/planning/group_order.c. Allocates entries in its heap. */
#include "transform/op_schedule_memo.h"

#include "base/error.h"

#include <string.h>

enum { MOST_NOTES = 24 /* bounded, because a search's heap counts against the budget */ };

/* A graph, serialized as integers, and its order. */
struct note {
  uint64_t hash;
  size_t n_numbers;
  uint64_t *numbers; /* NULL: empty entry */
  int *order;
};

struct mafat_op_schedule_memo {
  struct mafat_heap *heap;
  struct note notes[MOST_NOTES];
  int next; /* next entry to be replaced */
};

int mafat_op_schedule_memo_open(struct mafat_op_schedule_memo **memo, struct mafat_heap *heap)
{
  *memo = mafat_heap_calloc(heap, 1, sizeof **memo);
  if (!*memo) return MAFAT_ENOMEM;
  (*memo)->heap = heap;
  return MAFAT_OK;
}

static void forget(struct mafat_heap *heap, struct note *note)
{
  mafat_heap_free(heap, note->numbers);
  mafat_heap_free(heap, note->order);
  *note = (struct note){.numbers = NULL};
}

void mafat_op_schedule_memo_close(struct mafat_op_schedule_memo **memo)
{
  if (!*memo) return;
  for (int i = 0; i < MOST_NOTES; i++) forget((*memo)->heap, &(*memo)->notes[i]);
  mafat_heap_free((*memo)->heap, *memo);
  *memo = NULL;
}

/* Serializes everything that the order depends on. */
static int write_numbers(struct note *note, const struct mafat_op_graph *g, enum mafat_op_order how,
                         long long effort, struct mafat_heap *heap)
{
  size_t n_uses = (size_t)g->n_uses, n_buffers = (size_t)g->n_buffers,
         n_operators = (size_t)g->n_operators, n = 0;
  uint64_t *w = note->numbers =
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
  note->n_numbers = n;
  note->hash = 14695981039346656037u;
  for (size_t i = 0; i < n; i++) note->hash = (note->hash ^ w[i]) * 1099511628211u;
  return MAFAT_OK;
}

static const struct note *find(const struct mafat_op_schedule_memo *memo, const struct note *like)
{
  for (int i = 0; i < MOST_NOTES; i++) {
    const struct note *note = &memo->notes[i];
    if (note->numbers && note->hash == like->hash && note->n_numbers == like->n_numbers &&
        memcmp(note->numbers, like->numbers, like->n_numbers * sizeof *like->numbers) == 0)
      return note;
  }
  return NULL;
}

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
  struct note note = {.numbers = NULL};
  if (!memo) return sort(g, how, effort, order, heap);
  size_t bytes = (size_t)g->n_operators * sizeof *order;
  int code = write_numbers(&note, g, how, effort, memo->heap);
  const struct note *known = code == MAFAT_OK ? find(memo, &note) : NULL;
  if (known) memcpy(order, known->order, bytes);
  else if (code == MAFAT_OK) code = sort(g, how, effort, order, heap);
  if (code == MAFAT_OK && !known && !(note.order = mafat_heap_calloc(memo->heap, 1, bytes + 1)))
    code = MAFAT_ENOMEM;
  if (code || known) {
    forget(memo->heap, &note);
    return code;
  }
  memcpy(note.order, order, bytes);
  forget(memo->heap, &memo->notes[memo->next]);
  memo->notes[memo->next] = note;
  memo->next = (memo->next + 1) % MOST_NOTES;
  return MAFAT_OK;
}
