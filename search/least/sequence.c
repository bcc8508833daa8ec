/* Orders layers for grouping (sequence.h): layers that free memory come as early as possible, some
 * others as late as possible. Called by search/least (grouping.c, least.c) and search/best/best.c.
 * Allocates from the caller's heap; the caller closes the sequence. */
#include "search/least/sequence.h"

#include "base/blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A layer moves late if the operands that are then needed longer have at most this many times the
 * bytes of its output. It is above 1, because one of the operands can be small, such as a bias. */
static const double SLACK = 1.05;

enum {
  /* greatest number of look-ups of operands and readers; real networks need a tenth of it. Layers
   * that remain then stay in the file's order */
  EFFORT = 100 * 1000 * 1000,
  LARGEST_SET = 10, /* greatest number of layers that move early together */
  FURTHEST = 400    /* layers move early by fewer than this many places in the file's order */
};

struct sequencer {
  const struct mafat_network *network;
  struct mafat_sequence *sequence;
  int n;          /* number of placed layers */
  bool *placed;   /* [layer or input] */
  int *left;      /* [tensor]: number of unplaced readers; one more for an output of the network */
  long long *effort; /* remaining look-ups */
  /* readers of all tensors, sorted by tensor, then by layer; [tensor]: index of its first reader in
   * `readers`, with one entry more for the end */
  int *readers_at, *readers;
};

static double bytes_of(const struct sequencer *q, int tensor)
{
  struct mafat_shape s = mafat_network_tensor_shape(q->network, tensor);
  return (double)s.h * s.w * s.c * mafat_dtype_size(mafat_network_tensor_type(q->network, tensor));
}

/* Bytes of all the layer's outputs. */
static double made_bytes(const struct sequencer *q, int layer)
{
  double bytes = 0;
  for (int k = 0; k < mafat_layer_n_outputs(&q->network->layers[layer]); k++)
    bytes += bytes_of(q, mafat_network_output(q->network, layer, k));
  return bytes;
}

/* Lists the tensors that a layer reads, each once. Returns their number, at most `capacity`. */
static int list_reads(const struct sequencer *q, int layer, int *tensors, int capacity)
{
  int n = 0;
  if (mafat_layer_is_alias(&q->network->layers[layer])) return 0;
  for (struct mafat_reads r = mafat_layer_reads(&q->network->layers[layer]);
       mafat_reads_next(&r);) {
    int i = 0;
    while (i < n && tensors[i] != r.source->tensor) i++;
    if (i == n && n < capacity) tensors[n++] = r.source->tensor;
    *q->effort -= 1 + i;
  }
  return n;
}

enum { MOST_READS = 256 }; /* greatest number of tensors of a layer; others are ignored */

static bool is_ready(const struct sequencer *q, int layer)
{
  int tensors[MOST_READS], n = list_reads(q, layer, tensors, MOST_READS);
  for (int i = 0; i < n; i++)
    if (!q->placed[mafat_network_operator(q->network, tensors[i])]) return false;
  return true;
}

/* Appends a layer to the sequence. Returns the bytes that it frees minus the bytes of its
 * outputs. */
static double put(struct sequencer *q, int layer)
{
  int tensors[MOST_READS], n = list_reads(q, layer, tensors, MOST_READS);
  double gain = -made_bytes(q, layer);
  q->placed[layer] = true;
  q->sequence->layers[q->n++] = layer;
  for (int i = 0; i < n; i++)
    if (--q->left[tensors[i]] == 0) gain += bytes_of(q, tensors[i]);
  return gain;
}

/* Removes the last layer from the sequence. */
static void take_back(struct sequencer *q)
{
  int layer = q->sequence->layers[--q->n];
  int tensors[MOST_READS], n = list_reads(q, layer, tensors, MOST_READS);
  q->placed[layer] = false;
  for (int i = 0; i < n; i++) q->left[tensors[i]]++;
}

/* ---- early layers ---- */

/* Returns the first reader of the tensor that is ready, if it comes before the layer `best` in the
 * file or if best is -1; else `best`. */
static int find_reader(const struct sequencer *q, int tensor, int best)
{
  for (int k = q->readers_at[tensor]; k < q->readers_at[tensor + 1]; k++) {
    int l = q->readers[k];
    --*q->effort;
    if (!q->placed[l] && (best < 0 || l < best) && is_ready(q, l)) return l;
  }
  return best;
}

/* Returns the first layer in the file that is ready and has a tensor in common with a layer at
 * position `first` or later in the sequence; -1: none. */
static int find_next(const struct sequencer *q, int first)
{
  int best = -1;
  for (int i = first; i < q->n; i++) {
    int tensors[MOST_READS], n = list_reads(q, q->sequence->layers[i], tensors, MOST_READS);
    for (int k = 0; k < mafat_layer_n_outputs(&q->network->layers[q->sequence->layers[i]]); k++)
      best = find_reader(q, mafat_network_output(q->network, q->sequence->layers[i], k), best);
    for (int k = 0; k < n; k++) best = find_reader(q, tensors[k], best);
  }
  return best;
}

/* Places the layer, and then layers that have tensors in common with it, up to the layer where the
 * bytes freed so far are most. Returns the bytes that they free minus those of their outputs. If
 * that is never above 0, places no layer and returns 0. */
static double put_what_frees(struct sequencer *q, int layer)
{
  int before = q->n, kept = q->n;
  double sum = 0, best = 0;
  for (int l = layer; l >= 0 && q->n < before + LARGEST_SET; l = find_next(q, before)) {
    sum += put(q, l);
    if (sum <= best) continue;
    best = sum;
    kept = q->n;
  }
  while (q->n > kept) take_back(q);
  return best;
}

/* True if the first row (or column) of the layer's output needs all rows (or columns) of the
 * tensor. */
static bool needs_whole(const struct sequencer *q, int layer, int tensor)
{
  const struct mafat_layer *l = &q->network->layers[layer];
  for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);) {
    struct mafat_shape in = l->operands[r.operand].shape;
    if (r.source->tensor != tensor) continue;
    if (in.h > 1 && l->out.h > 1 &&
        mafat_span_size(mafat_layer_in_span(l, r.operand, true, mafat_span(0, 1))) == in.h)
      return true;
    if (in.w > 1 && l->out.w > 1 &&
        mafat_span_size(mafat_layer_in_span(l, r.operand, false, mafat_span(0, 1))) == in.w)
      return true;
  }
  return false;
}

/* True if a reader of one of the layer's outputs needs the whole output for each row or column that
 * it computes. */
static bool is_read_whole(const struct sequencer *q, int layer)
{
  for (int i = 0; i < mafat_layer_n_outputs(&q->network->layers[layer]); i++) {
    int tensor = mafat_network_output(q->network, layer, i);
    for (int k = q->readers_at[tensor]; k < q->readers_at[tensor + 1]; k++)
      if (needs_whole(q, q->readers[k], tensor)) return true;
  }
  return false;
}

/* Places a ready layer that frees at least the bytes of its outputs and whose output is read as a
 * whole (is_read_whole). Returns false if there is none. */
static bool hoist_whole(struct sequencer *q, int first)
{
  for (int l = first; l < mafat_min(first + FURTHEST, q->sequence->n_layers); l++) {
    if (q->placed[l] || mafat_layer_is_alias(&q->network->layers[l]) || !is_ready(q, l) ||
        !is_read_whole(q, l))
      continue;
    if (put(q, l) >= 0) return true;
    take_back(q);
  }
  return false;
}

/* Places the set of layers with common tensors that frees most (put_what_frees). Returns false if
 * no set frees more than the bytes of its outputs. */
static bool hoist_one(struct sequencer *q, int first)
{
  int best = -1, before = q->n;
  double most = 0;
  for (int l = first; l < mafat_min(first + FURTHEST, q->sequence->n_layers) && *q->effort > 0;
       l++) {
    if (q->placed[l] || mafat_layer_is_alias(&q->network->layers[l]) || !is_ready(q, l)) continue;
    double freed = put_what_frees(q, l);
    while (q->n > before) take_back(q);
    if (freed > most) most = freed, best = l;
  }
  if (best >= 0) put_what_frees(q, best);
  return best >= 0;
}

/* ---- making ---- */

static void note_readers(struct sequencer *q, bool put_down)
{
  for (int l = 0; l < q->sequence->n_layers; l++) {
    int tensors[MOST_READS], n = list_reads(q, l, tensors, MOST_READS);
    for (int i = 0; i < n; i++) {
      if (put_down) q->readers[q->readers_at[tensors[i]]++] = l;
      else q->readers_at[tensors[i] + 1]++;
    }
  }
}

static int list_readers(struct sequencer *q)
{
  int n = mafat_network_n_tensors(q->network);
  note_readers(q, false);
  for (int t = 0; t < n; t++) {
    q->left[t] = q->readers_at[t + 1];
    q->readers_at[t + 1] += q->readers_at[t];
  }
  q->readers =
      mafat_heap_calloc(q->sequence->heap, (size_t)q->readers_at[n] + 1, sizeof *q->readers);
  if (!q->readers) return MAFAT_ENOMEM;
  note_readers(q, true);
  for (int t = n - 1; t >= 0; t--) q->readers_at[t + 1] = q->readers_at[t];
  q->readers_at[0] = 0;
  return MAFAT_OK;
}

/* Calls `note` with each output tensor of the network. */
static void for_outputs(struct sequencer *q, void (*note)(struct sequencer *q, int tensor))
{
  int n_layers = q->sequence->n_layers;
  for (int l = 0; l < n_layers; l++) {
    struct mafat_source self;
    if (!mafat_network_is_output(q->network, n_layers, l)) continue;
    struct mafat_sources out = mafat_network_output_sources(q->network, l, &self);
    for (int i = 0; i < mafat_sources_count(&out); i++) note(q, out.list[i].tensor);
  }
  for (int t = mafat_network_n_operators(q->network); t < mafat_network_n_tensors(q->network); t++)
    if (mafat_network_operator(q->network, t) < n_layers &&
        mafat_network_is_output(q->network, n_layers, t))
      note(q, t);
}

static void keep(struct sequencer *q, int tensor)
{
  q->left[tensor]++;
}

static void put_all(struct sequencer *q)
{
  for (int t = q->network->n_layers; t < mafat_network_n_operators(q->network); t++)
    q->placed[t] = true;
  for (int l = 0; l < q->sequence->n_layers; l++) {
    if (q->placed[l]) continue;
    put(q, l);
    while (!mafat_layer_is_alias(&q->network->layers[l]) && *q->effort > 0 &&
           (hoist_one(q, l) || hoist_whole(q, l))) {}
  }
}

/* ---- late layers ---- */

/* First position at which an output of the layer is read; n_layers: no layer reads it. */
static int first_read(const struct sequencer *q, const int *place, int layer)
{
  int first = q->sequence->n_layers;
  for (int i = 0; i < mafat_layer_n_outputs(&q->network->layers[layer]); i++) {
    int tensor = mafat_network_output(q->network, layer, i);
    for (int k = q->readers_at[tensor]; k < q->readers_at[tensor + 1]; k++)
      first = mafat_min(first, place[q->readers[k]]);
  }
  return first;
}

/* Bytes that are needed longer if the layer moves to just before position `to`: the bytes of its
 * operands that no layer from `to` on reads. */
static double outlived(const struct sequencer *q, const int *place, int layer, int to)
{
  int tensors[MOST_READS], n = list_reads(q, layer, tensors, MOST_READS);
  double bytes = 0;
  for (int i = 0; i < n; i++) {
    bool later = q->left[tensors[i]] > 0;
    *q->effort -= q->readers_at[tensors[i] + 1] - q->readers_at[tensors[i]];
    for (int k = q->readers_at[tensors[i]]; k < q->readers_at[tensors[i] + 1]; k++)
      later = later || (q->readers[k] != layer && place[q->readers[k]] >= to);
    if (!later) bytes += bytes_of(q, tensors[i]);
  }
  return bytes;
}

static void move(struct mafat_sequence *s, int *place, int from, int to)
{
  int layer = s->layers[from];
  for (int i = from; i + 1 < to; i++) {
    s->layers[i] = s->layers[i + 1];
    place[s->layers[i]] = i;
  }
  s->layers[to - 1] = layer;
  place[layer] = to - 1;
}

/* Moves layers late, from the last layer to the first, so that a layer moves before those that it
 * reads. */
static int sink_all(struct sequencer *q)
{
  struct mafat_sequence *s = q->sequence;
  int *place =
      mafat_heap_calloc(s->heap, (size_t)mafat_network_n_tensors(q->network), sizeof *place);
  if (!place) return MAFAT_ENOMEM;
  for (int i = 0; i < s->n_layers; i++) place[s->layers[i]] = i;
  for (int i = s->n_layers - 1; i >= 0 && *q->effort > 0; i--) {
    int l = s->layers[i], to = first_read(q, place, l);
    if (mafat_layer_is_alias(&q->network->layers[l]) || to == s->n_layers || to <= i + 1 ||
        is_read_whole(q, l))
      continue;
    if (made_bytes(q, l) * SLACK >= outlived(q, place, l, to)) move(s, place, i, to);
  }
  mafat_heap_free(s->heap, place);
  return MAFAT_OK;
}

static void let_cross(struct sequencer *q, int tensor)
{
  q->left[tensor] = q->sequence->n_layers;
}

/* Sets sequence->crossing, the live bytes at each position. A map crosses the positions after the
 * layer that makes it, up to that of its last reader. */
static int find_crossing(struct sequencer *q)
{
  const struct mafat_sequence *s = q->sequence;
  int n_tensors = mafat_network_n_tensors(q->network), *last = q->left;
  int *place = mafat_heap_calloc(s->heap, (size_t)n_tensors, sizeof *place);
  if (!place) return MAFAT_ENOMEM;
  for (int t = 0; t < n_tensors; t++) place[t] = last[t] = -1;
  for (int i = 0; i < s->n_layers; i++)
    for (int k = 0; k < mafat_layer_n_outputs(&q->network->layers[s->layers[i]]); k++)
      place[mafat_network_output(q->network, s->layers[i], k)] = i;
  for (int t = 0; t < n_tensors; t++)
    for (int k = q->readers_at[t]; k < q->readers_at[t + 1]; k++)
      last[t] = mafat_max(last[t], place[q->readers[k]]);
  for_outputs(q, let_cross);
  for (int t = 0; t < n_tensors; t++)
    for (int i = place[t] + 1; i <= last[t]; i++) s->crossing[i] += bytes_of(q, t);
  mafat_heap_free(s->heap, place);
  return MAFAT_OK;
}

static int open_sequencer(struct sequencer *q, int n_layers, struct mafat_heap *heap)
{
  size_t n_tensors = (size_t)mafat_network_n_tensors(q->network);
  struct mafat_sequence *s = q->sequence = mafat_heap_calloc(heap, 1, sizeof *s);
  if (!s) return MAFAT_ENOMEM;
  s->heap = heap;
  s->n_layers = n_layers;
  s->layers = mafat_heap_calloc(heap, (size_t)n_layers, sizeof *s->layers);
  s->crossing = mafat_heap_calloc(heap, (size_t)n_layers + 1, sizeof *s->crossing);
  q->placed = mafat_heap_calloc(heap, n_tensors, sizeof *q->placed);
  q->left = mafat_heap_calloc(heap, n_tensors, sizeof *q->left);
  q->readers_at = mafat_heap_calloc(heap, n_tensors + 1, sizeof *q->readers_at);
  return s->layers && s->crossing && q->placed && q->left && q->readers_at ? list_readers(q)
                                                                           : MAFAT_ENOMEM;
}

static int give(struct sequencer *q, int code, struct mafat_sequence **out)
{
  *out = q->sequence;
  if (!*out) return code;
  mafat_heap_free((*out)->heap, q->placed);
  mafat_heap_free((*out)->heap, q->left);
  mafat_heap_free((*out)->heap, q->readers_at);
  mafat_heap_free((*out)->heap, q->readers);
  if (code) mafat_sequence_close(out);
  return code;
}

int mafat_sequence_make(struct mafat_sequence **out, const struct mafat_network *n, int n_layers,
                        bool late, struct mafat_heap *heap)
{
  long long effort = EFFORT;
  struct sequencer q = {.network = n, .effort = &effort};
  int code = open_sequencer(&q, n_layers, heap);
  if (code == MAFAT_OK) {
    for_outputs(&q, keep);
    put_all(&q);
    if (late) code = sink_all(&q);
    if (code == MAFAT_OK) code = find_crossing(&q);
  }
  return give(&q, code, out);
}

int mafat_sequence_of(struct mafat_sequence **out, const struct mafat_network *n, const int *layers,
                      int n_layers, struct mafat_heap *heap)
{
  long long effort = EFFORT;
  struct sequencer q = {.network = n, .effort = &effort};
  int code = open_sequencer(&q, n_layers, heap);
  if (code == MAFAT_OK) {
    memcpy(q.sequence->layers, layers, (size_t)n_layers * sizeof *layers);
    code = find_crossing(&q);
  }
  return give(&q, code, out);
}

void mafat_sequence_close(struct mafat_sequence **sequence)
{
  if (!sequence || !*sequence) return;
  struct mafat_heap *heap = (*sequence)->heap;
  mafat_heap_free(heap, (*sequence)->layers);
  mafat_heap_free(heap, (*sequence)->crossing);
  mafat_heap_free(heap, *sequence);
  *sequence = NULL;
}

/* ---- positions of cuts ---- */

/* Goes from a position forwards (by = 1) or backwards (by = -1) to the next position with a lower
 * `crossing` (forwards: or an equal one). Returns how far `crossing` rises on the way; INFINITY: no
 * such position. */
static double ridge(const struct mafat_sequence *s, int place, int by)
{
  double most = 0, own = s->crossing[place];
  for (int i = place + by; i > 0 && i < s->n_layers; i += by) {
    if (s->crossing[i] < own || (by > 0 && s->crossing[i] <= own)) return most - own;
    if (s->crossing[i] > most) most = s->crossing[i];
  }
  return INFINITY;
}

/* Rank of a position as a cut; a higher rank is better. Local minima of `crossing` rank by their
 * prominence. All other positions rank below these, by how much `crossing` rises to the next
 * position. */
static double rank_of(const struct mafat_sequence *s, int place)
{
  const double valley = 1e15; /* more than any live bytes */
  double depth = fmin(ridge(s, place, -1), ridge(s, place, 1));
  return depth > 0 ? valley + depth : fmax(0, s->crossing[place + 1] - s->crossing[place]);
}

static int falling(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

int mafat_sequence_places(const struct mafat_sequence *s, int *places, int most)
{
  int n = 0;
  double *ranks = mafat_heap_calloc(s->heap, 2 * (size_t)s->n_layers, sizeof *ranks);
  if (!ranks) return 0;
  double *sorted = ranks + s->n_layers;
  for (int i = 1; i < s->n_layers; i++) sorted[i] = ranks[i] = rank_of(s, i);
  qsort(sorted, (size_t)s->n_layers, sizeof *sorted, falling);
  double least = most < s->n_layers ? sorted[most] : 0;
  for (int i = 1; i < s->n_layers && n < most; i++)
    if (ranks[i] > least) places[n++] = i;
  mafat_heap_free(s->heap, ranks);
  return n;
}
