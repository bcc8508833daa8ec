/* A cache of arena sizes (known_arenas.h). Called by search/least/least.c. Changes the caller's
 * cache. Only the hash function allocates, from the plan's heap; it frees before it returns. */
#include "search/common/known_arenas.h"

/* Mixes bits, so that close values get unrelated hashes. */
static uint64_t mix(uint64_t x)
{
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t mafat_known_arenas_hash(const struct mafat_layout *layout, const struct mafat_plan *plan)
{
  const int n_times = 2 * plan->n_positions;
  /* [time]: number of the times up to this one at which a buffer's use begins or has just ended */
  int *ranks = mafat_heap_calloc(plan->heap, (size_t)n_times + 2, sizeof *ranks);
  uint64_t sum = 1;
  if (!ranks) return 0;
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *buffer = &layout->buffers[b];
    if (buffer->first <= buffer->last) ranks[buffer->first] = ranks[buffer->last + 1] = 1;
  }
  for (int time = 1; time <= n_times; time++) ranks[time] += ranks[time - 1];
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *buffer = &layout->buffers[b];
    if (buffer->first > buffer->last) continue; /* never live */
    sum += mix(((uint64_t)ranks[buffer->first] << 32 | (unsigned)ranks[buffer->last + 1]) ^
               mix(buffer->bytes));
  }
  mafat_heap_free(plan->heap, ranks);
  return sum;
}

size_t mafat_known_arenas_find(const struct mafat_known_arenas *known, uint64_t lives)
{
  const size_t at = lives % MAFAT_KNOWN_ARENAS;
  return lives && known->of[at].lives == lives ? known->of[at].bytes : 0;
}

void mafat_known_arenas_note(struct mafat_known_arenas *known, uint64_t lives, size_t bytes)
{
  const size_t at = lives % MAFAT_KNOWN_ARENAS;
  known->of[at].lives = lives;
  known->of[at].bytes = bytes;
}
