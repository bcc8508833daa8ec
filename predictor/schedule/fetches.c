/* Iterates over the reads of a run from its weights file, without reading (fetches.h). Called by
 * predictor/ (layout/buffers.c, cost/latency.c), search/best/proposer.c and runner/weights. Only
 * the open functions allocate: from the plan's heap or, for whole layers, from the C library's. */
#include "predictor/schedule/fetches.h"

#include "predictor/plan/fusion.h"
#include "predictor/plan/packing.h"
#include "predictor/ranks/rank_parts.h"

#include <limits.h>
#include <string.h>

/* Stages of fetching a layer, in this order. */
enum stage {
  STAGE_AFFINE, /* values of each filter: biases and normalization */
  STAGE_NORMALIZATION, /* normalization, if it is not stored right after the biases */
  STAGE_WEIGHTS,
  STAGE_DONE
};

struct mafat_fetches {
  struct mafat_heap *heap;           /* the plan's; NULL in fetches of whole layers */
  const struct mafat_network *network;
  const struct mafat_plan *plan;     /* NULL in fetches of whole layers */
  const struct mafat_plan *keeper;   /* fetches of whole layers: plan of the rank whose panels are
                                        fetched; NULL: all panels */
  struct mafat_schedule *schedule;   /* NULL in fetches of whole layers */
  int n_layers;
  const struct mafat_constants *constants; /* NULL: those of a packed file, in kernel order at
                                              unknown positions */
  size_t most_bytes;                 /* greatest size of a read of weights; 0: default */
  bool *wanted;                      /* [layer]: fetches of whole layers: fetch this one */
  bool *loaded;                      /* [layer]: begun in this run; loaded layers are read once */
  int affine_layer;                  /* layer whose biases and normalization are in the affine
                                        buffer; -1: none */
  struct mafat_step step;            /* step whose weights are fetched */
  long long step_number;
  int layer;                         /* layer of the step that is fetched; -1: no more layers */
  int next_layer;                    /* fetches of whole layers: first layer not yet fetched */
  enum stage stage;
  bool streamed;                     /* fetch only what the step needs of the layer */
  int filter, row;                   /* next filter and row to fetch */
  unsigned parts;                    /* bit set of parts not yet fetched */
  uint64_t done;                     /* bytes of the layer's packed weights before the next copy */
};

/* ---- sizes of a layer ---- */

static bool has_too_many_rows(const struct mafat_fetches *f, int layer)
{
  const struct mafat_layer *l = &f->network->layers[layer];
  if (!f->constants || !mafat_layer_has_panels(l)) return false;
  enum mafat_order order = (enum mafat_order)f->constants->layers[layer].weights.order;
  return order != MAFAT_ORDER_READY && !mafat_order_has_filters(order) &&
         mafat_order_rows(l, order) == INT_MAX;
}

/* Checks that the bytes of a fetch cannot overflow: it is not much larger than the packed weights
 * of its layer. */
static int check_sizes(const struct mafat_fetches *f)
{
  for (int l = 0; l < f->n_layers; l++)
    if (mafat_packed_layer_bytes(&f->network->layers[l]) > SIZE_MAX / 4 || has_too_many_rows(f, l))
      return MAFAT_ELIMIT;
  return MAFAT_OK;
}

/* Constants of the current layer. If they are unknown: packed weights at position 0. */
static const struct mafat_layer_constants *constants_of(const struct mafat_fetches *f)
{
  static const struct mafat_layer_constants somewhere = {.weights = {.order = MAFAT_ORDER_READY}};
  return f->constants ? &f->constants->layers[f->layer] : &somewhere;
}

/* True if the layer's weights are stored in kernel order. */
static bool is_ready(const struct mafat_fetches *f)
{
  return constants_of(f)->weights.order == MAFAT_ORDER_READY;
}

/* True if scales and biases must be folded from several constants (network/constant.h). */
static bool is_in_parts(const struct mafat_fetches *f)
{
  return mafat_constants_in_parts(constants_of(f), (uint64_t)f->network->layers[f->layer].out.c);
}

/* Sets the file range of a fetch: n values of a constant, from value `first` on. */
static void place(struct mafat_fetch *fetch, const struct mafat_constant *c, uint64_t first,
                  uint64_t n)
{
  fetch->file = c->file;
  fetch->position = mafat_constant_at(c, first);
  fetch->bytes = (size_t)mafat_constant_bytes(c, n);
}

/* ---- opening ---- */

static int open_common(struct mafat_fetches **out, const struct mafat_network *n, int n_layers,
                       const struct mafat_constants *constants, struct mafat_heap *heap)
{
  *out = NULL;
  struct mafat_fetches *f = mafat_heap_calloc(heap, 1, sizeof *f);
  if (!f) return MAFAT_ENOMEM;
  f->heap = heap;
  f->network = n;
  f->n_layers = n_layers;
  f->constants = constants;
  f->wanted = mafat_heap_calloc(f->heap, (size_t)n_layers + 1, sizeof *f->wanted);
  f->loaded = mafat_heap_calloc(f->heap, (size_t)n_layers + 1, sizeof *f->loaded);
  int code = f->wanted && f->loaded ? check_sizes(f) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) *out = f;
  else mafat_fetches_close(&f);
  return code;
}

int mafat_fetches_open(struct mafat_fetches **out, const struct mafat_network *n,
                       const struct mafat_plan *plan, const struct mafat_constants *constants)
{
  struct mafat_fetches *f;
  *out = NULL;
  if (!constants && !plan->packed) constants = n->constants;
  int code = open_common(&f, n, plan->n_layers, constants, plan->heap);
  if (code) return code;
  f->plan = plan;
  if ((code = mafat_schedule_open(&f->schedule, n, plan))) {
    mafat_fetches_close(&f);
    return code;
  }
  mafat_fetches_rewind(f);
  *out = f;
  return MAFAT_OK;
}

int mafat_fetches_open_layers(struct mafat_fetches **out, const struct mafat_network *n,
                              int n_layers, const bool *wanted,
                              const struct mafat_constants *constants, size_t most_bytes)
{
  int code = open_common(out, n, n_layers, constants, NULL);
  if (code) return code;
  (*out)->most_bytes = most_bytes;
  for (int l = 0; l < n_layers; l++) (*out)->wanted[l] = !wanted || wanted[l];
  mafat_fetches_rewind(*out);
  return MAFAT_OK;
}

void mafat_fetches_restrict(struct mafat_fetches *f, const struct mafat_plan *plan)
{
  f->keeper = plan;
  mafat_fetches_rewind(f);
}

void mafat_fetches_close(struct mafat_fetches **fetches)
{
  if (!fetches || !*fetches) return;
  struct mafat_fetches *f = *fetches;
  mafat_schedule_close(&f->schedule);
  mafat_heap_free(f->heap, f->wanted);
  mafat_heap_free(f->heap, f->loaded);
  mafat_heap_free(f->heap, f);
  *fetches = NULL;
}

void mafat_fetches_rewind(struct mafat_fetches *f)
{
  if (f->schedule) mafat_schedule_rewind(f->schedule);
  memset(f->loaded, 0, (size_t)f->n_layers * sizeof *f->loaded);
  f->affine_layer = f->layer = -1;
  f->next_layer = 0;
  f->step_number = f->schedule ? -1 : 0;
}

/* ---- layer by layer ---- */

/* Starts f->layer: chooses its first stage. */
static void begin_layer(struct mafat_fetches *f)
{
  const struct mafat_layer *l = &f->network->layers[f->layer];
  enum mafat_weight_placement placement = f->plan ? f->plan->placement[f->layer] : MAFAT_LOADED;
  f->streamed = placement == MAFAT_STREAMED;
  f->stage = STAGE_DONE;
  f->parts = (1u << MAFAT_N_PARTS) - 1;
  f->done = mafat_rank_kept_before(f->keeper, f->network, f->layer);
  f->filter = f->streamed ? f->step.filters.begin
                          : mafat_plan_own_filters(f->keeper, f->network, f->layer).begin;
  f->row = 0;
  if (placement == MAFAT_KEPT || mafat_packed_layer_bytes(l) == 0) return;
  if (placement == MAFAT_LOADED && f->loaded[f->layer]) return;
  f->loaded[f->layer] = true;
  if (is_ready(f) || mafat_layer_copies_weights(l)) {
    f->stage = STAGE_WEIGHTS;
    return;
  }
  /* Whole filters were fetched for the step with the first channels; steps with other channels use
   * the same filters. */
  if (f->streamed && f->step.channels.begin > 0) return;
  f->stage = f->streamed && f->affine_layer == f->layer ? STAGE_WEIGHTS : STAGE_AFFINE;
  /* the affine buffer now has this layer's values */
  if (mafat_layer_has_panels(l) || is_in_parts(f)) f->affine_layer = f->layer;
}

/* Moves to the next layer, which may need weights; false at the end. */
static bool next_layer(struct mafat_fetches *f)
{
  if (!f->schedule) {
    while (f->next_layer < f->n_layers && !f->wanted[f->next_layer]) f->next_layer++;
    if (f->next_layer == f->n_layers) return false;
    f->layer = f->next_layer++;
    begin_layer(f);
    return true;
  }
  if (f->layer >= 0) f->layer = mafat_fusion_inside(f->plan, f->layer);
  while (f->layer < 0) {
    if (!mafat_schedule_next(f->schedule, &f->step)) return false;
    f->step_number++;
    if (mafat_fetches_step_has_weights(&f->step)) f->layer = f->step.layer;
  }
  begin_layer(f);
  return true;
}

/* ---- the stages ---- */

/* Fetches biases and normalization, in one read if they are adjacent. */
static void fetch_affine(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  const struct mafat_layer_constants *c = constants_of(f);
  bool joined = c->normalization.n > 0 && c->normalization.at == mafat_constant_end(&c->biases);
  place(fetch, &c->biases, 0, c->biases.n + (joined ? c->normalization.n : 0));
  fetch->filters = mafat_span(0, f->network->layers[f->layer].out.c);
  fetch->kind = c->biases.n == 0 ? MAFAT_FETCH_NORMALIZATION
                : joined         ? MAFAT_FETCH_AFFINE
                                 : MAFAT_FETCH_BIASES;
  fetch->last = c->weights.n == 0;
  f->stage = fetch->last                         ? STAGE_DONE
             : c->normalization.n > 0 && !joined ? STAGE_NORMALIZATION
                                                 : STAGE_WEIGHTS;
}

/* Fetches the parts that are left, as many as are adjacent in the file. If the layer has no parts,
 * the fetch is a fill of 0. */
static void fetch_parts(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  const struct mafat_layer_constants *c = constants_of(f);
  const struct mafat_constant zero = mafat_constant_fill(0, 1);
  struct mafat_stretch s = mafat_constants_stretch(c, f->parts);
  if (s.parts == 0) place(fetch, &zero, 0, 1);
  else fetch->file = s.file, fetch->position = s.at, fetch->bytes = (size_t)s.bytes;
  fetch->kind = MAFAT_FETCH_PARTS;
  fetch->filters = mafat_span(0, f->network->layers[f->layer].out.c);
  fetch->parts = s.parts;
  f->parts &= ~s.parts;
  fetch->folds = mafat_constants_stretch(c, f->parts).parts == 0;
  if (!fetch->folds) return;
  fetch->last = c->weights.n == 0;
  f->stage = fetch->last ? STAGE_DONE : STAGE_WEIGHTS;
}

/* Fetches a normalization that is not stored next to the biases. */
static void fetch_normalization(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  const struct mafat_constant *c = &constants_of(f)->normalization;
  fetch->kind = MAFAT_FETCH_NORMALIZATION;
  fetch->filters = mafat_span(0, f->network->layers[f->layer].out.c);
  place(fetch, c, 0, c->n);
  f->stage = STAGE_WEIGHTS;
}

/* Returns `bytes`, or f->most_bytes if that is less. */
static size_t at_most(const struct mafat_fetches *f, size_t bytes)
{
  return f->most_bytes && f->most_bytes < bytes ? f->most_bytes : bytes;
}

/* Default bytes of a fetch. A fetch of narrow weights has as many weights as one of floats, so it
 * has fewer bytes and rings are smaller. */
static size_t usual_bytes(const struct mafat_layer *l)
{
  size_t bytes = (size_t)mafat_dtype_bytes(l->weights_type, MAFAT_FETCH_BYTES / sizeof(float));
  return bytes > MAFAT_FETCH_LEAST_BYTES ? bytes : MAFAT_FETCH_LEAST_BYTES;
}

/* Number of filters (or rows), of `bytes` bytes each, to read in one fetch; at most `left`. It is a
 * multiple of MAFAT_PANEL or, if fewer fit into a fetch, a power of two. So the next fetch starts
 * at a panel or at a vector of filters. */
static int how_many(const struct mafat_fetches *f, uint64_t bytes, int left)
{
  uint64_t fit = at_most(f, MAFAT_FETCH_FILTERS_BYTES) / bytes;
  if (fit >= (uint64_t)left) return left;
  int n = fit < 1 ? 1 : (int)fit;
  if (n >= MAFAT_PANEL) return n - n % MAFAT_PANEL;
  while (n & (n - 1)) n &= n - 1;
  return n;
}

size_t mafat_fetches_channel_bytes(const struct mafat_fetches *f, const bool *wanted)
{
  size_t most = 0;
  for (int layer = 0; layer < f->n_layers; layer++) {
    const struct mafat_layer *l = &f->network->layers[layer];
    if (!wanted[layer] || !mafat_rank_keeps_channels(f->keeper, layer)) continue;
    /* bytes of a row at one byte for each weight: the narrowest type in files that are not
     * packed */
    uint64_t row = mafat_matrix_row(mafat_layer_matrix(l));
    uint64_t n = (uint64_t)MAFAT_FETCH_FILTERS_BYTES / row + 2 * MAFAT_PANEL;
    int filters = n >= (uint64_t)l->out.c ? l->out.c : (int)n / MAFAT_PANEL * MAFAT_PANEL;
    size_t bytes = mafat_packed_offset(l, filters);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* Fetches some whole filters. */
static void fetch_filters(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  const struct mafat_layer *l = &f->network->layers[f->layer];
  const struct mafat_constant *weights = &constants_of(f)->weights;
  uint64_t row = mafat_matrix_row(mafat_layer_matrix(l)),
           bytes = mafat_constant_bytes(weights, row);
  int end = f->streamed ? f->step.filters.end
                        : mafat_plan_own_filters(f->keeper, f->network, f->layer).end;
  fetch->kind = MAFAT_FETCH_FILTERS;
  fetch->filters = mafat_span(f->filter, f->filter + how_many(f, bytes, end - f->filter));
  place(fetch, weights, (uint64_t)f->filter * row, (uint64_t)mafat_span_size(fetch->filters) * row);
  f->filter = fetch->filters.end;
  if (f->filter == end) f->stage = STAGE_DONE;
  fetch->last = !f->streamed && f->stage == STAGE_DONE;
}

/* Fetches some rows of weights that are not stored filter by filter. */
static void fetch_transposed(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  const struct mafat_layer *l = &f->network->layers[f->layer];
  const struct mafat_constant *weights = &constants_of(f)->weights;
  enum mafat_order order = (enum mafat_order)weights->order;
  uint64_t row = mafat_order_row(l, order), bytes = mafat_constant_bytes(weights, row);
  int rows = mafat_order_rows(l, order);
  fetch->kind = MAFAT_FETCH_TRANSPOSED;
  fetch->filters = mafat_span(0, l->out.c);
  fetch->channels = mafat_span(f->row, f->row + how_many(f, bytes, rows - f->row));
  place(fetch, weights, (uint64_t)f->row * row, (uint64_t)mafat_span_size(fetch->channels) * row);
  f->row = fetch->channels.end;
  if (f->row == rows) f->stage = STAGE_DONE;
  fetch->last = f->stage == STAGE_DONE;
}

/* Fetches a chunk of weights that are copied unchanged: packed weights, or weights that kernels use
 * in the file's order. */
static void fetch_copy(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  const struct mafat_layer_constants *c = constants_of(f);
  const struct mafat_layer *l = &f->network->layers[f->layer];
  bool all = !f->keeper || mafat_rank_keeps_channels(f->keeper, f->layer);
  uint64_t end = all ? mafat_packed_layer_bytes(l)
                     : mafat_rank_kept_before(f->keeper, f->network, f->layer) +
                           mafat_rank_kept_bytes(f->keeper, f->network, f->layer);
  uint64_t left = end - f->done;
  const struct mafat_constant *first = is_ready(f) || c->biases.n == 0 ? &c->weights : &c->biases;
  fetch->kind = MAFAT_FETCH_COPY;
  fetch->into = f->done;
  fetch->file = first->file;
  fetch->position = first->at + (first->file == MAFAT_CONSTANT_FILL ? 0 : f->done);
  size_t capacity = at_most(f, usual_bytes(l));
  fetch->bytes = left < capacity ? (size_t)left : capacity;
  f->done += fetch->bytes;
  if (fetch->bytes == left) f->stage = STAGE_DONE;
  fetch->last = f->stage == STAGE_DONE;
}

/* Fetches the step's channels of one panel, or of several adjacent panels with all channels. */
static void fetch_slice(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  const struct mafat_layer *l = &f->network->layers[f->layer];
  struct mafat_span channels = f->step.channels, panel = {f->filter, mafat_panel_end(l, f->filter)};
  struct mafat_matrix m = mafat_layer_matrix(l);
  size_t width = (size_t)mafat_panel_width(mafat_span_size(panel));
  bool finishes = channels.end == m.inputs;
  size_t first = mafat_panel_offset(l, width, channels.begin),
         begin = mafat_packed_offset(l, panel.begin) + first;
  size_t bytes = mafat_panel_offset(l, width, channels.end) - first +
                 (finishes ? mafat_panel_affine_bytes(width) : 0);
  if (finishes && channels.begin == 0) bytes = mafat_packed_offset(l, panel.end) - begin;
  while (finishes && channels.begin == 0 && panel.end < f->step.filters.end) {
    size_t more = mafat_packed_offset(l, mafat_panel_end(l, panel.end)) - begin;
    if (more > usual_bytes(l)) break;
    bytes = more;
    panel.end = mafat_panel_end(l, panel.end);
  }
  fetch->kind = MAFAT_FETCH_SLICE;
  fetch->filters = panel;
  fetch->channels = channels;
  fetch->into = begin;
  fetch->position = constants_of(f)->weights.at + fetch->into;
  fetch->bytes = bytes;
  f->filter = panel.end;
  if (f->filter >= f->step.filters.end) f->stage = STAGE_DONE;
}

static void fetch_weights(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  const struct mafat_layer *l = &f->network->layers[f->layer];
  if (is_ready(f) && f->streamed) fetch_slice(f, fetch);
  else if (is_ready(f) || mafat_layer_copies_weights(l)) fetch_copy(f, fetch);
  else if (!mafat_order_has_filters((enum mafat_order)constants_of(f)->weights.order))
    fetch_transposed(f, fetch);
  else fetch_filters(f, fetch);
}

bool mafat_fetches_next(struct mafat_fetches *f, struct mafat_fetch *fetch)
{
  while (f->layer < 0 || f->stage == STAGE_DONE)
    if (!next_layer(f)) return false;
  *fetch = (struct mafat_fetch){.layer = f->layer, .step = f->step_number};
  if (f->stage == STAGE_AFFINE && is_in_parts(f)) fetch_parts(f, fetch);
  else if (f->stage == STAGE_AFFINE) fetch_affine(f, fetch);
  else if (f->stage == STAGE_NORMALIZATION) fetch_normalization(f, fetch);
  else fetch_weights(f, fetch);
  return true;
}

/* ---- sizes of a run ---- */

int mafat_fetches_affine_rows(const struct mafat_layer_constants *c)
{
  int rows = 0;
  for (int p = 0; p < MAFAT_N_PARTS; p++)
    rows += p == MAFAT_PART_BIASES || p == MAFAT_PART_SCALES ||
            mafat_constants_part(c, (enum mafat_constant_part)p)->n > 0;
  return rows;
}

static size_t most(size_t a, size_t b)
{
  return a > b ? a : b;
}

/* Enlarges the sizes of the panel and affine buffers if the current layer needs more. */
static void size_packing(const struct mafat_fetches *f, struct mafat_fetch_sizes *sizes)
{
  const struct mafat_layer *l = &f->network->layers[f->layer];
  if (is_ready(f) || mafat_layer_copies_weights(l) ||
      (!mafat_layer_has_panels(l) && !is_in_parts(f)))
    return;
  size_t rows = (size_t)mafat_fetches_affine_rows(constants_of(f));
  sizes->affine_bytes = most(sizes->affine_bytes, rows * (size_t)l->out.c * sizeof(float));
  if (!f->streamed) return;
  struct mafat_span filters = f->step.filters;
  sizes->panel_bytes = most(sizes->panel_bytes, mafat_packed_offset(l, filters.end) -
                                                    mafat_packed_offset(l, filters.begin));
}

/* Greatest number of reads in the ring that a group of the plan names; at least
 * MAFAT_RING_READS. */
static size_t reads_in_ring(const struct mafat_plan *plan)
{
  int reads = MAFAT_RING_READS;
  for (int g = 0; g < plan->n_groups; g++)
    if (plan->groups[g].weights.ring > reads) reads = plan->groups[g].weights.ring;
  return (size_t)reads;
}

/* Ring space of the last MAFAT_READS_DEPTH fetches; no more than these can be read at once. */
struct under_way {
  /* bytes of each of these fetches in the ring, their sum, and the greatest sum so far */
  size_t windows[MAFAT_READS_DEPTH], bytes, most_bytes;
  unsigned n; /* number of fetches so far */
};

static void add_under_way(struct under_way *u, size_t window)
{
  size_t *oldest = &u->windows[u->n++ % MAFAT_READS_DEPTH];
  u->bytes += window - *oldest;
  *oldest = window;
  u->most_bytes = most(u->most_bytes, u->bytes);
}

int mafat_fetches_size(const struct mafat_network *n, const struct mafat_plan *plan,
                       struct mafat_fetch_sizes *sizes)
{
  struct mafat_fetches *f;
  struct mafat_fetch fetch;
  /* bytes in the ring: of the step that needs most; of the current step, whose slices must be in
   * the ring together; of all fetches */
  size_t largest = 0, slices = 0, all = 0;
  struct under_way under_way = {.n = 0};
  long long step = -1;
  *sizes = (struct mafat_fetch_sizes){0};
  int code = mafat_fetches_open(&f, n, plan, NULL);
  if (code) return code;
  while (mafat_fetches_next(f, &fetch)) {
    size_t window = mafat_fetch_window(fetch.bytes);
    if (fetch.step != step || fetch.kind != MAFAT_FETCH_SLICE) slices = 0;
    if (__builtin_add_overflow(slices, window, &slices)) code = MAFAT_ELIMIT;
    uint64_t bytes = fetch.file < MAFAT_CONSTANT_VALUES ? fetch.bytes : 0;
    if (__builtin_add_overflow(sizes->bytes_read, bytes, &sizes->bytes_read)) code = MAFAT_ELIMIT;
    if (__builtin_add_overflow(all, window, &all)) all = SIZE_MAX;
    largest = most(largest, slices);
    add_under_way(&under_way, window);
    step = fetch.step;
    size_packing(f, sizes);
  }
  /* Space for twice the largest step, so that the weights of one step are read while those of
   * another are used. If steps are small, space for more reads. */
  size_t usual = largest < mafat_fetch_window(MAFAT_FETCH_BYTES)
                     ? largest
                     : mafat_fetch_window(MAFAT_FETCH_BYTES);
  if (__builtin_mul_overflow(largest, (size_t)2, &sizes->ring_bytes)) code = MAFAT_ELIMIT;
  size_t wanted = usual * reads_in_ring(plan);
  sizes->ring_bytes =
      most(sizes->ring_bytes, wanted < under_way.most_bytes ? wanted : under_way.most_bytes);
  /* Space for the filters of the next panel, which are read while the current panel is used. Each
   * read needs its own alignment units. */
  size_t ahead =
      sizes->panel_bytes ? mafat_fetch_window(sizes->panel_bytes) + 8 * MAFAT_FETCH_ALIGNMENT : 0;
  sizes->ring_bytes = most(sizes->ring_bytes, ahead);
  /* A run that reads fewer bytes than the ring has needs no larger ring. */
  if (sizes->ring_bytes > all) sizes->ring_bytes = all;
  mafat_fetches_close(&f);
  return code;
}
