/* Loads the weights of each step during a run, and returns slices of them to the code that calls
 * kernels. Called by runner/engine/executor.c, runner/engine/kinds and weights_open.c, and for
 * facts (bytes, methods of reading) by api/facts.c, programs/make_weights and programs/mafat_ranks.
 * Reads files through the stream, and writes to the arena; allocates nothing. */
#include "runner/weights/weights.h"

#include "runner/weights/affine.h"
#include "runner/weights/pack_integers.h"
#include "runner/weights/weights_store.h"

#include "predictor/plan/fusion.h"
#include "predictor/plan/partition.h"
#include "predictor/ranks/rank_parts.h"

#include <assert.h>
#include <string.h>

static const char *layer_name(const struct mafat_weights *w, int layer)
{
  return mafat_layer_type_name(w->network->layers[layer].type);
}

/* ---- fetched data ---- */

static int refuse(const struct mafat_weights *w, int layer, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EFORMAT, "%s: layer %d [%s] has weights that are not finite numbers",
                    w->file->name, layer, layer_name(w, layer));
}

/* True if the fetched values are finite. Scales and biases are checked later, when they are
 * folded. */
static bool is_good(const struct mafat_weights *w, const struct mafat_fetch *fetch,
                    const char *data)
{
  bool weights = fetch->kind == MAFAT_FETCH_FILTERS || fetch->kind == MAFAT_FETCH_TRANSPOSED;
  enum mafat_dtype type = (enum mafat_dtype)w->file->constants->layers[fetch->layer].weights.type;
  return fetch->kind == MAFAT_FETCH_NORMALIZATION || fetch->kind == MAFAT_FETCH_AFFINE ||
         fetch->kind == MAFAT_FETCH_PARTS ||
         mafat_pack_weights_are_finite(weights ? type : MAFAT_F32, data, fetch->bytes);
}

/* Detects integers that packing never writes, such as shifts that kernels cannot do. A damaged or
 * malicious file may have them even if its checksum matches. */
static int check_integers(const struct mafat_weights *w, const struct mafat_fetch *fetch,
                          const char *data, struct mafat_diagnostic *d)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  if (!mafat_layer_sums_integers(l)) return MAFAT_OK;
  struct mafat_integer_fault fault =
      mafat_pack_integers_find_fault(l, (size_t)fetch->into, data, fetch->bytes);
  if (!fault.what) return MAFAT_OK;
  return mafat_fail(
      d, MAFAT_EFORMAT,
      "%s: layer %d [%s] is damaged: filter %d has a %s of %.10g, which no packed file has",
      w->file->name, fetch->layer, layer_name(w, fetch->layer), fault.filter, fault.what,
      fault.found);
}

/* True if this fetch is added to the layer's checksum, which must include each byte once. If the
 * map is divided both by pixels and by channels, parts at other pixels read the same weights again.
 * Then only the parts at the corner of the first part count: together they read the whole layer. */
static bool counts(const struct mafat_weights *w, const struct mafat_fetch *fetch, struct trust *t)
{
  const struct corner *at = &w->step.corner;
  if (fetch->kind != MAFAT_FETCH_SLICE || !w->step.shares) return true;
  if (t->counted.y < 0) t->counted = *at;
  return t->counted.y == at->y && t->counted.x == at->x;
}

/* Verifies fetched data, until the layer has been read completely once. */
static int check(struct mafat_weights *w, const struct mafat_fetch *fetch, const char *data,
                 struct mafat_diagnostic *d)
{
  struct trust *t = &w->trust[fetch->layer];
  bool floats = w->network->layers[fetch->layer].out_type == MAFAT_F32;
  if (t->checked) return MAFAT_OK;
  if (!w->file->packed)
    return !floats || is_good(w, fetch, data) ? MAFAT_OK : refuse(w, fetch->layer, d);
  int code = check_integers(w, fetch, data, d);
  if (code || !counts(w, fetch, t)) return code;
  t->checksum += mafat_packed_checksum(data, fetch->into, fetch->bytes);
  t->left -= fetch->bytes;
  if (t->left > 0) return MAFAT_OK;
  code = mafat_packed_check_layer(w->file->packed, w->file->name, w->network, fetch->layer,
                                  t->checksum, d);
  t->checked = code == MAFAT_OK;
  return code;
}

static float *floats_of(struct mafat_packed_panels panels)
{
  return (float *)(void *)panels.bytes;
}

/* Computes scales and biases of the layer's filters from fetched values. Stores them in the affine
 * buffer or, for batchnorm layers, in the layer's panels. */
static int take_affine(struct mafat_weights *w, const struct mafat_fetch *fetch,
                       const float *values, struct mafat_diagnostic *d)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  bool alone = mafat_layer_weights_form(l) == MAFAT_WEIGHTS_AFFINE;
  size_t n = (size_t)l->out.c,
         padded = alone ? (size_t)mafat_round_up(l->in.c, MAFAT_PANEL_STEP) : n;
  float *scale = alone ? floats_of(w->panels[fetch->layer]) : w->affine, *bias = scale + padded;
  if (alone) memset(scale, 0, 2 * padded * sizeof *scale);
  bool good =
      mafat_affine_take(fetch->kind, values, n, mafat_affine_epsilon(w->network), scale, bias);
  return good || w->trust[fetch->layer].checked ? MAFAT_OK : refuse(w, fetch->layer, d);
}

/* Stores fetched parts of scales and biases in the affine buffer. After the last part of a
 * batchnorm layer, copies scales and biases to the layer's panels. */
static int take_parts(struct mafat_weights *w, const struct mafat_fetch *fetch, const char *data,
                      struct mafat_diagnostic *d)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  size_t n = (size_t)l->out.c, padded = (size_t)mafat_round_up(l->in.c, MAFAT_PANEL_STEP);
  if (mafat_layer_sums_integers(l)) {
    mafat_affine_spread_parts(fetch, &w->file->constants->layers[fetch->layer], data, n, w->affine);
    return MAFAT_OK;
  }
  bool good =
      mafat_affine_take_parts(fetch, &w->file->constants->layers[fetch->layer], data, n, w->affine);
  if (!good && !w->trust[fetch->layer].checked) return refuse(w, fetch->layer, d);
  if (!fetch->folds || mafat_layer_weights_form(l) != MAFAT_WEIGHTS_AFFINE) return MAFAT_OK;
  float *scale = floats_of(w->panels[fetch->layer]);
  memset(scale, 0, 2 * padded * sizeof *scale);
  memcpy(scale, w->affine, n * sizeof *scale);
  memcpy(scale + padded, w->affine + n, n * sizeof *scale);
  return MAFAT_OK;
}

static void take_slices(struct mafat_weights *w, const struct mafat_fetch *fetch, const char *data)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  size_t first = mafat_packed_offset(l, fetch->filters.begin);
  for (int f = fetch->filters.begin; f < fetch->filters.end; f = mafat_panel_end(l, f))
    w->step.panels[(f - w->step.filters.begin) / MAFAT_PANEL] =
        data + (mafat_packed_offset(l, f) - first);
}

/* `data` has bytes [from, from + bytes) of a layer, and `to` is for its bytes [at, at + n). Copies
 * the bytes that are in both ranges. */
static void copy_common(char *to, size_t at, size_t n, size_t from, size_t bytes, const char *data)
{
  size_t begin = at > from ? at : from, end = at + n < from + bytes ? at + n : from + bytes;
  if (begin < end) memcpy(to + (begin - at), data + (begin - from), end - begin);
}

/* Copies the weights of the channels that this rank keeps, with scales and biases, to the layer's
 * panels. `data` has packed bytes of the layer, from offset `from` on. */
static void take_channels(struct mafat_weights *w, int layer, size_t from, const char *data,
                          size_t bytes)
{
  const struct mafat_layer *l = &w->network->layers[layer];
  struct mafat_span own = w->plan->own_channels[layer];
  for (int first = 0; first < l->out.c; first = mafat_panel_end(l, first)) {
    size_t width = (size_t)mafat_panel_width(mafat_panel_end(l, first) - first),
           panel = mafat_packed_offset(l, first);
    size_t begin = mafat_panel_offset(l, width, own.begin),
           end = mafat_panel_offset(l, width, own.end);
    char *to = w->panels[layer].bytes + mafat_rank_kept_panel(w->plan, w->network, layer, first);
    copy_common(to, panel + begin, end - begin, from, bytes, data);
    copy_common(to + (end - begin),
                panel + mafat_panel_offset(l, width, mafat_layer_matrix(l).inputs),
                mafat_panel_affine_bytes(width), from, bytes, data);
  }
}

/* Packs filters from a file into w->whole. Then copies, from each panel that is complete, the
 * weights of the channels that this rank keeps. */
static void pack_channels(struct mafat_weights *w, const struct mafat_fetch *fetch,
                          const struct mafat_pack_part *part)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  size_t before = mafat_packed_offset(l, mafat_pack_panel_begin(l, fetch->filters.begin));
  mafat_pack(l, part, w->block_slices, (struct mafat_packed_panels){w->whole, before});
  int end =
      fetch->filters.end == l->out.c ? l->out.c : mafat_pack_panel_begin(l, fetch->filters.end);
  size_t complete = mafat_packed_offset(l, end);
  if (complete > before) take_channels(w, fetch->layer, before, w->whole, complete - before);
}

int mafat_weights_take_in(struct mafat_weights *w, const struct mafat_fetch *fetch,
                          const char *data, struct mafat_diagnostic *d)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  const float *values = (const float *)(const void *)data;
  /* NULL: no layer that this run reads has scales and biases to be folded */
  const float *scale = w->affine, *bias = scale ? scale + l->out.c : NULL;
  const struct mafat_pack_part part = {
      &w->file->constants->layers[fetch->layer].weights, fetch->filters, fetch->channels, values,
      scale, bias};
  struct mafat_packed_panels panels = w->panels[fetch->layer];
  int code = check(w, fetch, data, d);
  if (code) return code;
  switch (fetch->kind) {
  case MAFAT_FETCH_SLICE: take_slices(w, fetch, data); break;
  case MAFAT_FETCH_COPY:
    if (mafat_rank_keeps_channels(w->plan, fetch->layer))
      take_channels(w, fetch->layer, fetch->into, data, fetch->bytes);
    else memcpy(panels.bytes + (fetch->into - panels.before), data, fetch->bytes);
    break;
  case MAFAT_FETCH_FILTERS:
  case MAFAT_FETCH_TRANSPOSED:
    if (mafat_rank_keeps_channels(w->plan, fetch->layer)) pack_channels(w, fetch, &part);
    else if (mafat_layer_sums_integers(l))
      mafat_pack_integers(w->network, fetch->layer, &part, w->block_slices, panels);
    else mafat_pack(l, &part, w->block_slices, panels);
    break;
  case MAFAT_FETCH_PARTS: return take_parts(w, fetch, data, d);
  default: return take_affine(w, fetch, values, d);
  }
  return MAFAT_OK;
}

/* ---- a run ---- */

static char *in_arena(const struct mafat_weights *w, int buffer)
{
  return buffer < 0 ? NULL : w->arena + w->layout->buffers[buffer].offset;
}

static char *ring_in_arena(const struct mafat_weights *w)
{
  uintptr_t at = (uintptr_t)(w->arena + w->layout->buffers[w->layout->ring_buffer].offset);
  return w->arena + w->layout->buffers[w->layout->ring_buffer].offset +
         (MAFAT_FETCH_ALIGNMENT - at % MAFAT_FETCH_ALIGNMENT) % MAFAT_FETCH_ALIGNMENT;
}

void mafat_weights_forget_parts(struct mafat_weights *w)
{
  for (int l = 0; l < w->n_layers; l++)
    if (!w->trust[l].checked)
      w->trust[l] = (struct trust){.left = mafat_packed_layer_bytes(&w->network->layers[l]),
                                   .counted = {-1, -1}};
}

void mafat_weights_begin(struct mafat_weights *w, char *arena)
{
  if (!w->stream) return;
  w->arena = arena;
  w->begun = false;
  w->step.layer = -1;
  w->affine = (float *)(void *)in_arena(w, w->layout->affine_buffer);
  for (int l = 0; l < w->n_layers; l++)
    if (w->layout->weights_buffers[l] >= 0)
      w->panels[l] = (struct mafat_packed_panels){in_arena(w, w->layout->weights_buffers[l]), 0};
  mafat_weights_forget_parts(w); /* discards the parts that a failed first run read */
  mafat_stream_rewind(w->stream, ring_in_arena(w), w->ring_bytes);
}

/* True if the layer's map is divided into parts both by pixels and by channels. */
static bool is_cut_twice(const struct mafat_plan *plan, int layer)
{
  const struct mafat_partition *c = plan->parts ? &plan->parts->partitions[layer] : NULL;
  return c && c->n[MAFAT_ALONG_C] > 1 && c->n[MAFAT_ALONG_H] * c->n[MAFAT_ALONG_W] > 1;
}

/* Sets w->step for the step's streamed layer; w->step.layer is -1 if it has none. */
static void prepare_step(struct mafat_weights *w, const struct mafat_step *step)
{
  w->step.layer = -1;
  if (!mafat_fetches_step_has_weights(step)) return;
  for (int l = step->layer; l >= 0; l = mafat_fusion_inside(w->plan, l)) {
    if (w->plan->placement[l] != MAFAT_STREAMED) continue;
    w->step.layer = l;
    w->step.filters = step->filters;
    w->step.channels = step->channels;
    w->step.shares = is_cut_twice(w->plan, step->layer);
    w->step.corner = (struct corner){step->out.y.begin, step->out.x.begin};
    if (!w->file->packed)
      w->panels[l] = (struct mafat_packed_panels){in_arena(w, w->layout->panel_buffer),
                                                  mafat_packed_offset(&w->network->layers[l],
                                                                      step->filters.begin)};
  }
}

int mafat_weights_acquire(struct mafat_weights *w, long long step_number,
                          const struct mafat_step *step, struct mafat_diagnostic *d)
{
  if (!w->stream) return MAFAT_OK;
  prepare_step(w, step);
  while (mafat_stream_next_step(w->stream) == step_number) {
    struct mafat_fetch fetch;
    const char *data;
    w->begun = true;
    int code = mafat_stream_take(w->stream, &fetch, &data, d);
    if (code == MAFAT_OK) code = mafat_weights_take_in(w, &fetch, data, d);
    if (code) return code;
    /* Slices are the last fetches of a step, and stay in the ring until the step ends. */
    if (fetch.kind != MAFAT_FETCH_SLICE) mafat_stream_free(w->stream);
  }
  return w->begun ? mafat_stream_submit(w->stream, d) : MAFAT_OK;
}

void mafat_weights_release_step(struct mafat_weights *w, const struct mafat_step *step)
{
  (void)step;
  if (!w->stream || !w->begun) return;
  mafat_stream_free(w->stream);
  mafat_stream_submit(w->stream, NULL); /* a failure is retried and reported by acquire */
  w->step.layer = -1;
}

int mafat_weights_end(struct mafat_weights *w, struct mafat_diagnostic *d)
{
  if (!w->stream) return MAFAT_OK;
  assert(mafat_stream_next_step(w->stream) < 0);
  int code = mafat_reads_check(w->file->reads, d);
  for (int l = 0; l < w->n_layers && code == MAFAT_OK; l++)
    w->trust[l].checked = w->trust[l].checked || !w->file->packed;
  return code;
}

void mafat_weights_stop(struct mafat_weights *w)
{
  if (w->stream) mafat_stream_stop(w->stream);
}

/* ---- slices ---- */

/* Points the slice at weights: `narrow` if the layer's type is converted to floats by kernels, else
 * `weights`. */
static void point_at(const struct mafat_layer *l, const char *weights,
                     struct mafat_weights_slice *slice)
{
  bool narrow = mafat_layer_widens(l);
  slice->narrow = narrow ? weights : NULL;
  slice->weights = narrow ? NULL : (const float *)(const void *)weights;
}

/* Fills a slice of a streamed panel, which is in the ring. */
static void slice_in_ring(const struct mafat_weights *w, const struct mafat_layer *l,
                          struct mafat_span filters, struct mafat_span channels,
                          struct mafat_weights_slice *slice)
{
  const struct streamed *s = &w->step;
  const char *panel = s->panels[(filters.begin - s->filters.begin) / MAFAT_PANEL];
  size_t width = (size_t)slice->width, begin = mafat_panel_offset(l, width, s->channels.begin);
  const char *end = panel + (mafat_panel_offset(l, width, s->channels.end) - begin);
  bool complete = s->channels.end == mafat_layer_matrix(l).inputs;
  point_at(l, panel + (mafat_panel_offset(l, width, channels.begin) - begin), slice);
  slice->scale = complete ? (const float *)(const void *)end : NULL;
  slice->bias = complete ? slice->scale + slice->width : NULL;
}

const char *mafat_weights_integer_panel(const struct mafat_weights *w, int layer, int first,
                                        size_t quads_taps)
{
  const struct mafat_layer *l = &w->network->layers[layer];
  struct mafat_packed_panels panels = w->panels[layer];
  if (w->plan && w->plan->placement[layer] == MAFAT_STREAMED && w->file->packed)
    return w->step.panels[(first - w->step.filters.begin) / MAFAT_PANEL];
  return panels.bytes + ((quads_taps ? mafat_integer_panels_before(first, quads_taps)
                                     : mafat_packed_offset(l, first)) -
                         panels.before);
}

const char *mafat_weights_numbers(const struct mafat_weights *w, int layer)
{
  return w->panels[layer].bytes;
}

/* Fills a slice for a rank that keeps the weights of some channels of every panel. */
static void slice_of_channels(const struct mafat_weights *w, int layer, int first,
                              struct mafat_span channels, struct mafat_weights_slice *slice)
{
  const struct mafat_layer *l = &w->network->layers[layer];
  struct mafat_span own = w->plan->own_channels[layer];
  size_t width = (size_t)slice->width, begin = mafat_panel_offset(l, width, own.begin);
  const char *panel =
      w->panels[layer].bytes + mafat_rank_kept_panel(w->plan, w->network, layer, first);
  point_at(l, panel + (mafat_panel_offset(l, width, channels.begin) - begin), slice);
  slice->weights += slice->lane;
  slice->scale =
      (const float *)(const void *)(panel + (mafat_panel_offset(l, width, own.end) - begin)) +
      slice->lane;
  slice->bias = slice->scale + slice->width;
}

int mafat_weights_slice(const struct mafat_weights *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice)
{
  const struct mafat_layer *l = &w->network->layers[layer];
  struct mafat_packed_panels panels = w->panels[layer];
  if (mafat_layer_weights_form(l) == MAFAT_WEIGHTS_AFFINE) {
    *slice = (struct mafat_weights_slice){.scale = floats_of(panels),
                                          .bias = floats_of(panels) +
                                                  mafat_round_up(l->in.c, MAFAT_PANEL_STEP)};
    return MAFAT_OK;
  }
  if (mafat_layer_copies_weights(l)) {
    uint64_t biases = mafat_layer_weight_counts(l).biases;
    *slice = (struct mafat_weights_slice){.bias = floats_of(panels),
                                          .weights = floats_of(panels) + biases};
    return MAFAT_OK;
  }
  int first = mafat_pack_panel_begin(l, filters.begin);
  slice->width = mafat_panel_width(mafat_panel_end(l, first) - first);
  slice->lane = filters.begin - first;
  if (w->plan && w->plan->placement[layer] == MAFAT_STREAMED && w->file->packed) {
    assert(layer == w->step.layer);
    slice_in_ring(w, l, filters, channels, slice);
    return MAFAT_OK;
  }
  size_t width = (size_t)slice->width;
  if (mafat_rank_keeps_channels(w->plan, layer)) {
    slice_of_channels(w, layer, first, channels, slice);
    return MAFAT_OK;
  }
  const char *panel = panels.bytes + (mafat_packed_offset(l, first) - panels.before);
  point_at(l, panel + mafat_panel_offset(l, width, channels.begin), slice);
  if (slice->weights) slice->weights += slice->lane;
  slice->scale =
      (const float *)(const void *)(panel +
                                    mafat_panel_offset(l, width, mafat_layer_matrix(l).inputs)) +
      slice->lane;
  slice->bias = slice->scale + slice->width;
  return MAFAT_OK;
}

void mafat_weights_release(const struct mafat_weights *w, struct mafat_weights_slice *slice)
{
  (void)w;
  memset(slice, 0, sizeof *slice);
}

/* ---- figures for reports ---- */

size_t mafat_weights_bytes(const struct mafat_weights *w)
{
  return w->kept_bytes;
}

size_t mafat_weights_locked_bytes(const struct mafat_weights *w)
{
  return w->locked ? w->kept_bytes : 0;
}

uint64_t mafat_weights_bytes_read(const struct mafat_weights *w)
{
  return w->stream ? mafat_read_queue_bytes(w->file->reads) : w->bytes_read;
}

bool mafat_weights_reads_in_runs(const struct mafat_weights *w)
{
  return w->stream != NULL;
}

const char *mafat_weights_reads_method(const struct mafat_weights *w)
{
  return w->method;
}

bool mafat_weights_reads_directly(const struct mafat_weights *w)
{
  return w->direct;
}

uint64_t mafat_weights_payload_bytes(const struct mafat_network *n)
{
  uint64_t floats = 0;
  for (int l = 0; l < n->n_layers; l++) {
    struct mafat_weight_counts c = mafat_layer_weight_counts(&n->layers[l]);
    floats += c.biases + c.normalization + c.weights;
  }
  return mafat_dtype_bytes(MAFAT_F32, floats); /* Darknet has only floats */
}
