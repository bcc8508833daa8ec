/* Writes random numbers to an open file, with a progress bar on standard error. Called by
 * make_weights.c and like.c. Allocates a buffer, which numbers_close frees. */
#include "programs/make_weights/numbers.h"

#include <stdlib.h>

#include "programs/shared/progress.h"

enum {
  BUFFER_FLOATS = 64 * 1024,
  PROGRESS_BYTES = 64 * 1000 * 1000 /* smaller files need no bar */
};

/* Returns the next random number, from -1 to just below 1: the upper 24 bits of xorshift64* (Vigna
 * 2016, "An experimental exploration of Marsaglia's xorshift generators, scrambled"). */
static inline float next_random(uint64_t *state)
{
  uint64_t x = *state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return (float)(int32_t)(x * 0x2545f4914f6cdd1dULL >> 40) * 0x1p-23f - 1;
}

/* Maps any seed to a state that is not 0, even the seed 0 (the mixing function of splitmix64). */
static uint64_t seed_state(uint64_t seed)
{
  uint64_t z = seed + 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return z ? z : 1;
}

static void show_progress(struct numbers_file *w)
{
  if (w->total > 0) mafat_progress_show((double)w->done / (double)w->total);
}

void numbers_flush(struct numbers_file *w)
{
  fwrite(w->buffer, sizeof *w->buffer, w->n, w->file);
  w->done += w->n;
  w->n = 0;
  show_progress(w);
}

void numbers_put(struct numbers_file *w, uint64_t n, float centre, float spread)
{
  while (n > 0 && !ferror(w->file)) {
    size_t capacity = BUFFER_FLOATS - w->n;
    size_t now = n < capacity ? (size_t)n : capacity;
    for (size_t i = 0; i < now; i++)
      w->buffer[w->n + i] = centre + spread * next_random(&w->state);
    w->n += now;
    n -= now;
    if (w->n == BUFFER_FLOATS) numbers_flush(w);
  }
}

bool numbers_open(struct numbers_file *w, FILE *file, uint64_t seed, uint64_t total, bool quiet)
{
  *w = (struct numbers_file){.file = file, .state = seed_state(seed), .total = total};
  mafat_progress_begin("writing weights", quiet || total < PROGRESS_BYTES / sizeof(float));
  w->buffer = malloc(BUFFER_FLOATS * sizeof *w->buffer);
  return w->buffer != NULL;
}

void numbers_close(struct numbers_file *w)
{
  numbers_flush(w);
  mafat_progress_end();
  free(w->buffer);
  w->buffer = NULL;
}
