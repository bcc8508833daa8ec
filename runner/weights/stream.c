/* Streams the fetches (reads of weights) of a run through a ring in memory. Called by
 * runner/weights/weights.c in runs, by weights_open.c, and by packer.c. Reads files through a read
 * queue. Opening allocates, closing frees; the ring is the caller's memory. */
#include "runner/weights/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A fetch in the ring. Its index in `entries` is also its slot in the read queue. */
struct ring_entry {
  struct mafat_fetch fetch;
  size_t begin, end; /* bytes of the ring that it occupies */
  size_t skip;       /* bytes from `begin` to the fetch's data, because reads begin aligned */
};

struct mafat_stream {
  struct mafat_read_queue *reads;
  struct mafat_fetches *fetches;
  const float *values;
  char *ring;
  size_t ring_bytes;
  struct mafat_fetch next; /* next fetch to submit */
  bool has_next;
  /* Circular queue of n entries, from `first` on. The user has taken the first n_taken of them. */
  struct ring_entry entries[MAFAT_READS_DEPTH];
  unsigned first, n, n_taken;
};

int mafat_stream_open(struct mafat_stream **out, struct mafat_read_queue *reads,
                      struct mafat_fetches *fetches, const float *values)
{
  struct mafat_stream *s = calloc(1, sizeof *s);
  *out = s;
  if (!s) return MAFAT_ENOMEM;
  s->reads = reads;
  s->fetches = fetches;
  s->values = values;
  return MAFAT_OK;
}

void mafat_stream_close(struct mafat_stream **stream)
{
  if (!stream || !*stream) return;
  mafat_stream_stop(*stream);
  free(*stream);
  *stream = NULL;
}

void mafat_stream_rewind(struct mafat_stream *s, char *ring, size_t ring_bytes)
{
  assert(s->n == 0 && (uintptr_t)ring % MAFAT_FETCH_ALIGNMENT == 0);
  s->ring = ring;
  s->ring_bytes = ring_bytes;
  s->first = s->n_taken = 0;
  mafat_fetches_rewind(s->fetches);
  s->has_next = mafat_fetches_next(s->fetches, &s->next);
}

static struct ring_entry *entry_at(struct mafat_stream *s, unsigned i)
{
  return &s->entries[(s->first + i) % MAFAT_READS_DEPTH];
}

static unsigned slot_of(const struct mafat_stream *s, unsigned i)
{
  return (s->first + i) % MAFAT_READS_DEPTH;
}

static bool is_read(const struct mafat_fetch *fetch)
{
  return fetch->file < MAFAT_CONSTANT_VALUES;
}

/* Returns the address of the fetch's data if the model's file is in memory. NULL: the data must be
 * read or generated. */
static const char *in_memory(const struct mafat_stream *s, const struct mafat_fetch *fetch)
{
  const char *memory = is_read(fetch) ? mafat_read_queue_memory(s->reads, fetch->file) : NULL;
  return memory && fetch->position % sizeof(float) == 0 ? memory + fetch->position : NULL;
}

void mafat_stream_stop(struct mafat_stream *s)
{
  for (unsigned i = s->n_taken; i < s->n; i++)
    if (is_read(&entry_at(s, i)->fetch) && !in_memory(s, &entry_at(s, i)->fetch))
      mafat_read_queue_wait(s->reads, slot_of(s, i), NULL);
  s->n = s->n_taken = 0;
  s->has_next = false;
}

/* Finds `bytes` of free contiguous memory, after the newest entry or at the beginning of the ring.
 * False: there is none. */
static bool find_place(const struct mafat_stream *s, size_t bytes, size_t *begin)
{
  *begin = 0;
  if (s->n == 0) return bytes <= s->ring_bytes;
  size_t oldest = s->entries[s->first].begin, newest_end = s->entries[slot_of(s, s->n - 1)].end;
  if (newest_end > oldest) { /* free: after the newest entry, and before the oldest */
    if (s->ring_bytes - newest_end >= bytes) {
      *begin = newest_end;
      return true;
    }
    return bytes <= oldest;
  }
  *begin = newest_end;
  return oldest - newest_end >= bytes;
}

static size_t round_up(size_t bytes, size_t unit)
{
  return (bytes + unit - 1) / unit * unit;
}

/* Generates the data of a fetch that is in no file: copies values of the network, or repeats one
 * value. */
static void make(const struct mafat_stream *s, const struct mafat_fetch *fetch, char *to)
{
  if (fetch->file == MAFAT_CONSTANT_VALUES) {
    memcpy(to, (const char *)s->values + fetch->position, fetch->bytes);
    return;
  }
  uint32_t bits = (uint32_t)fetch->position;
  for (size_t at = 0; at < fetch->bytes; at += sizeof bits) memcpy(to + at, &bits, sizeof bits);
}

/* Submits s->next. False: the ring or the queue is full, or an error occurred (*code). */
static bool submit_next(struct mafat_stream *s, int *code, struct mafat_diagnostic *d)
{
  struct ring_entry *e = entry_at(s, s->n);
  size_t unit = mafat_read_queue_alignment(s->reads);
  size_t skip = is_read(&s->next) ? (size_t)(s->next.position % unit) : 0,
         bytes = round_up(skip + s->next.bytes, unit);
  if (s->n == MAFAT_READS_DEPTH ||
      !find_place(s, round_up(bytes, MAFAT_FETCH_ALIGNMENT), &e->begin))
    return false;
  e->fetch = s->next;
  e->skip = skip;
  e->end = e->begin + round_up(bytes, MAFAT_FETCH_ALIGNMENT);
  if (!is_read(&s->next)) make(s, &s->next, s->ring + e->begin);
  else if (!in_memory(s, &s->next))
    *code = mafat_read_queue_submit_of(s->reads, s->next.file, slot_of(s, s->n), s->ring + e->begin,
                                       bytes, s->next.position - skip, d);
  if (*code) return false;
  s->n++;
  s->has_next = mafat_fetches_next(s->fetches, &s->next);
  return true;
}

int mafat_stream_submit(struct mafat_stream *s, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  while (s->has_next && submit_next(s, &code, d)) {}
  return code;
}

long long mafat_stream_next_step(const struct mafat_stream *s)
{
  if (s->n_taken < s->n) return s->entries[slot_of(s, s->n_taken)].fetch.step;
  return s->has_next ? s->next.step : -1;
}

int mafat_stream_take(struct mafat_stream *s, struct mafat_fetch *fetch, const char **data,
                      struct mafat_diagnostic *d)
{
  int code = mafat_stream_submit(s, d);
  if (code) return code;
  assert(s->n_taken < s->n); /* the ring is large enough for all fetches that a step takes */
  unsigned slot = slot_of(s, s->n_taken++);
  const struct ring_entry *e = &s->entries[slot];
  size_t odd = e->skip % sizeof(float); /* to align it, the data is moved down by this many bytes */
  char *from = s->ring + e->begin + e->skip;
  *fetch = e->fetch;
  *data = in_memory(s, fetch);
  if (*data) return MAFAT_OK;
  *data = from - odd;
  code = is_read(fetch) ? mafat_read_queue_wait(s->reads, slot, d) : MAFAT_OK;
  if (odd && code == MAFAT_OK) memmove(from - odd, from, fetch->bytes);
  return code;
}

void mafat_stream_free(struct mafat_stream *s)
{
  s->first = slot_of(s, s->n_taken);
  s->n -= s->n_taken;
  s->n_taken = 0;
}
