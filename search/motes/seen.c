/* A hash set of the states that were tried (seen.h). Called by search/motes/motes.c. Allocates from
 * the caller's heap; mafat_motes_forget frees it. */
#include "search/motes/seen.h"

/* ---- hashes ---- */

static uint64_t mix(uint64_t hash, uint64_t number)
{
  hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_of_scheme(const struct mafat_scheme *s)
{
  uint64_t hash = mix(mix(1, (uint64_t)s->axis), (uint64_t)s->n);
  for (int i = 0; i < s->n_layers; i++) hash = mix(hash, (uint64_t)s->layers[i] + 1);
  return mix(hash, (uint64_t)s->n_layers);
}

/* Returns a hash of the set of the state's schemes, never 0. The hash is a sum, so that the order
 * of the schemes does not matter. */
static uint64_t hash_of(const struct mafat_motes_state *state)
{
  uint64_t sum = 1;
  for (int i = 0; i < state->n; i++) sum += hash_of_scheme(&state->schemes[i]);
  return sum ? sum : 1;
}

/* ---- the table ---- */

/* Returns the index of the slot that has the hash, or else of the free slot where to put it. */
static size_t place_of(const struct mafat_motes_seen *all, uint64_t hash)
{
  size_t at = (size_t)(hash >> 7) & (all->capacity - 1);
  while (all->hashes[at] && all->hashes[at] != hash) at = (at + 1) & (all->capacity - 1);
  return at;
}

static int grow(struct mafat_motes_seen *all, struct mafat_heap *heap)
{
  enum { FIRST_ROOM = 1024 };
  struct mafat_motes_seen more = {.n = all->n,
                                  .capacity = all->capacity ? 2 * all->capacity : FIRST_ROOM};
  more.hashes = mafat_heap_calloc(heap, more.capacity, sizeof *more.hashes);
  if (!more.hashes) return MAFAT_ENOMEM;
  for (size_t i = 0; i < all->capacity; i++)
    if (all->hashes[i]) more.hashes[place_of(&more, all->hashes[i])] = all->hashes[i];
  mafat_heap_free(heap, all->hashes);
  *all = more;
  return MAFAT_OK;
}

int mafat_motes_see(struct mafat_motes_seen *all, const struct mafat_motes_state *state, bool *seen,
                    struct mafat_heap *heap)
{
  uint64_t hash = hash_of(state);
  if (2 * all->n >= all->capacity && grow(all, heap)) return MAFAT_ENOMEM;
  size_t at = place_of(all, hash);
  *seen = all->hashes[at] != 0;
  if (!*seen) all->n++;
  all->hashes[at] = hash;
  return MAFAT_OK;
}

void mafat_motes_forget(struct mafat_motes_seen *all, struct mafat_heap *heap)
{
  mafat_heap_free(heap, all->hashes);
  *all = (struct mafat_motes_seen){NULL, 0, 0};
}
