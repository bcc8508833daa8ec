#include "predictor/work.h"

#include "predictor/fusion.h"
#include "predictor/winograd.h"

void mafat_work_open(struct mafat_work_context *c, const struct mafat_network *n, const struct mafat_plan *plan,
                     const struct mafat_layout *layout, const struct mafat_calibration *calibration)
{
  *c = (struct mafat_work_context){.network = n, .plan = plan, .layout = layout, .calibration = calibration,
                                    .turn_group = -1};
  c->run_bytes = (double)layout->kept_bytes + (double)layout->total_bytes;
}

/* One layer of a step: what the counting functions share. */
struct counting {
  struct mafat_work_context *context;
  const struct mafat_step *step;
  const struct mafat_layer *layer; /* the one that is counted */
  int index;                       /* its number */
  struct mafat_box box;            /* of its output; under a fused maxpool, of sums */
  struct mafat_span filters, channels;
  double threads;                  /* that have something to do, on average */
  double *n;
};

static double pixels_of(struct mafat_box box)
{
  return (double)mafat_box_area(box);
}

static int round_up_division(int n, int by)
{
  return (n + by - 1) / by;
}

static void add(struct counting *c, enum mafat_term term, double n)
{
  c->n[term] += n / c->threads;
}

/* The share of `bytes` touched in turn that a cache has lost: none where half of it
 * holds them, all where twice as much would not. */
static double beyond(double bytes, double cache_bytes)
{
  double share = (bytes / cache_bytes - 0.5) / 1.5;
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* How far `bytes` have to come that were last touched `distance` bytes ago. */
static void add_bytes(struct counting *c, enum mafat_term far, enum mafat_term cold, double bytes, double distance)
{
  const struct mafat_calibration *k = c->context->calibration;
  add(c, far, bytes * beyond(distance, k->near_bytes));
  add(c, cold, bytes * beyond(distance, k->far_bytes));
}

/* Units are shared out whole: the thread that gets most decides. */
static void share(struct counting *c, double units)
{
  int n = c->context->plan->n_threads;
  double rounds = (double)(((long long)units + n - 1) / n);
  c->threads = units < 1 ? 1 : units / rounds;
}

static bool is_costly(enum mafat_activation a)
{
  return a != MAFAT_LINEAR && a != MAFAT_LEAKY && a != MAFAT_RELU && a != MAFAT_RAMP && a != MAFAT_HARDTAN;
}

/* ---- register tiles ---- */

enum {
  SUMS = 6 /* vectors of sums: fewer take as long, for a multiply-add takes that long to end */
};

/* Filters as the kernels cut them: panels, in tiles of so many vectors. */
struct width {
  double vectors; /* in all panels */
  double tiles;   /* groups of tile_vectors */
  double narrow;  /* panels that are computed in half vectors, which are in neither of them */
  int panels;
};

static struct width width_of(const struct counting *c, struct mafat_span filters)
{
  const struct mafat_calibration *k = c->context->calibration;
  struct width w = {0, 0, 0, 0};
  for (int f = filters.begin, end; f < filters.end; f = end, w.panels++) {
    end = mafat_min(mafat_panel_end(c->layer, f), filters.end);
    if (k->lanes == MAFAT_AVX512_LANES && end - f <= MAFAT_NARROW_FILTERS) {
      w.narrow++;
      continue;
    }
    int vectors = round_up_division(end - f, k->lanes);
    w.vectors += vectors;
    w.tiles += round_up_division(vectors, k->tile_vectors);
  }
  return w;
}

/* Inner loops over `channels`: one per block of 16 and row of taps, where a block has
 * nothing between its pixels; another for every tap where it has. */
static double runs_per_tile(const struct mafat_layer *l, struct mafat_span channels)
{
  int n = mafat_span_size(channels);
  int full = n / MAFAT_CHANNEL_BLOCK, rest = n % MAFAT_CHANNEL_BLOCK;
  bool joined = rest < 4 || rest % 4 == 0;
  return (double)l->size * (full + (rest ? (joined ? 1 : l->size) : 0));
}

/* rows x cols pixels of `w` filters from sums of so many taps, which are added in so
 * many calls. */
static void add_tiles(struct counting *c, enum mafat_term macs, double rows, int cols, struct width w, double taps,
                      double runs, double calls)
{
  const struct mafat_calibration *k = c->context->calibration;
  int across = round_up_division(cols, k->tile_pixels);
  double tiles = rows * across * w.tiles, sums = (double)cols / across * w.vectors / w.tiles;
  double begun = sums < SUMS ? SUMS : sums;
  if (w.tiles > 0) add(c, macs, tiles * begun * k->lanes * taps);
  add(c, MAFAT_TERM_TAPS, tiles * taps);
  add(c, MAFAT_TERM_RUNS, tiles * runs);
  add(c, MAFAT_TERM_TILES, tiles * calls);
  if (w.narrow > 0) {
    /* In the kernels of the level below: tiles of six pixels. */
    double narrow = rows * round_up_division(cols, MAFAT_AVX2_PIXELS) * w.narrow;
    add(c, MAFAT_TERM_NARROW_TAPS, narrow * taps);
    add(c, MAFAT_TERM_TILES, narrow * calls);
    add(c, MAFAT_TERM_RUNS, narrow * runs);
  }
}

/* ---- bytes ---- */

static const struct mafat_group *group_of(const struct counting *c)
{
  return &c->context->plan->groups[c->step->group];
}

/* Bytes touched between two visits of a layer in its group: steps take turns in rows
 * and tiles. */
static double turn_bytes(const struct counting *c)
{
  struct mafat_work_context *context = c->context;
  if (context->turn_group != c->step->group) {
    const struct mafat_group *g = group_of(c);
    double kept = 0;
    for (int l = g->first; l < g->end; l++)
      if (context->plan->residence[l] == MAFAT_KEPT) kept += (double)mafat_packed_floats(&context->network->layers[l]) * 4;
    context->turn_group = c->step->group;
    context->turn_bytes = (double)context->layout->groups[c->step->group].peak_bytes + kept;
  }
  return context->turn_bytes;
}

static bool takes_turns(const struct counting *c)
{
  const struct mafat_group *g = group_of(c);
  return g->rows || mafat_group_is_tiled(g);
}

static bool is_first_visit(const struct counting *c)
{
  return c->step->out.y.begin == 0 && c->step->out.x.begin == 0;
}

/* The weights of one pass over the step's filters, and of the passes that follow.
 * Streamed ones were just read: into memory. */
static void add_weights(struct counting *c, double bytes, double passes)
{
  bool streamed = c->context->plan->residence[c->index] == MAFAT_STREAMED;
  double distance = !streamed && takes_turns(c) && !is_first_visit(c) ? turn_bytes(c) : c->context->run_bytes;
  add_bytes(c, MAFAT_TERM_WEIGHTS_FAR, MAFAT_TERM_WEIGHTS_COLD, bytes, distance);
  if (passes > 1) add_bytes(c, MAFAT_TERM_WEIGHTS_FAR, MAFAT_TERM_WEIGHTS_COLD, bytes * (passes - 1), 2 * bytes);
}

static double map_bytes(struct mafat_shape s)
{
  return 4.0 * s.h * s.w * s.c;
}

/* The share of a step's rows that go to a rolling window for the first time in a run. */
static double fresh_window(const struct counting *c)
{
  const struct mafat_step *step = c->step;
  int rows = c->context->layout->tensors[step->layer + 1].rows - step->out.y.begin, n = mafat_span_size(step->out.y);
  return rows <= 0 ? 0 : rows >= n ? 1 : (double)rows / n;
}

/* What a step reads was written by the step before, or lies all around in a map. What
 * it writes goes to where something lay that nobody needs any more: in a rolling window
 * since the last turn, or for the first time; else a layer or two. (A whole map's first
 * lines come as fast as its others: there are many in a row.) */
static void add_maps(struct counting *c, double in_bytes, double out_bytes)
{
  const struct mafat_layer *l = c->layer;
  double maps = map_bytes(l->in) + map_bytes(l->out), arena = (double)c->context->layout->total_bytes;
  bool turns = takes_turns(c);
  double read = turns ? in_bytes + out_bytes : maps, written = turns ? turn_bytes(c) : 2 * maps < arena ? 2 * maps : arena;
  add_bytes(c, MAFAT_TERM_READ_FAR, MAFAT_TERM_READ_COLD, in_bytes, read);
  if (out_bytes <= 0) return;
  double fresh = group_of(c)->rows ? out_bytes * fresh_window(c) : 0;
  add(c, MAFAT_TERM_WRITTEN_FIRST, fresh);
  add_bytes(c, MAFAT_TERM_WRITTEN_FAR, MAFAT_TERM_WRITTEN_COLD, out_bytes - fresh, written);
}

static double in_bytes_of(const struct counting *c)
{
  const struct mafat_layer *l = c->layer;
  struct mafat_box in = {mafat_layer_in_span(l, true, c->box.y), mafat_layer_in_span(l, false, c->box.x)};
  return pixels_of(in) * mafat_span_size(c->channels) * 4;
}

/* ---- convolutions ---- */

static double channels_per_filter(const struct counting *c)
{
  const struct mafat_layer *l = c->layer;
  return l->groups > 1 ? (double)l->in.c / l->groups : mafat_span_size(c->channels);
}

static void count_direct(struct counting *c, const struct mafat_scratch *scratch, bool pool)
{
  const struct mafat_layer *l = c->layer;
  struct width w = width_of(c, c->filters);
  double channels = channels_per_filter(c), taps = (double)l->size * l->size;
  int rows = mafat_span_size(c->box.y), cols = mafat_span_size(c->box.x);
  int per_call = scratch->rows_per_call > 0 ? scratch->rows_per_call : rows;
  double blocks = round_up_division(rows, per_call), pixels = pixels_of(c->box);
  double filters = mafat_span_size(c->filters);
  bool split = !pool && channels * taps * MAFAT_CHANNEL_BLOCK * 4 > MAFAT_SPLIT_BYTES;
  double calls = split ? (double)round_up_division((int)channels, MAFAT_SPLIT_CHANNELS) : 1;
  share(c, l->groups > 1 ? blocks * l->groups : blocks * w.panels);
  add(c, MAFAT_TERM_UNIT, blocks * w.panels * calls);
  add_tiles(c, l->size > 1 ? MAFAT_TERM_CONV_MACS : MAFAT_TERM_POINT_MACS, rows, cols, w, channels * taps,
            runs_per_tile(l, l->groups > 1 ? mafat_span(0, (int)channels) : c->channels), calls);
  double stores = calls * 2 - 1 + (c->channels.begin > 0 ? 1 : 0);
  if (pool) add(c, MAFAT_TERM_POOLED, pixels * filters);
  if (is_costly(l->activation) && c->channels.end == l->in.c) add(c, MAFAT_TERM_COSTLY, pixels * filters);
  add_weights(c, channels * taps * filters * 4, blocks);
  int inner = c->context->plan->inner[c->index];
  bool separable = inner >= 0 && mafat_layer_is_depthwise(&c->context->network->layers[inner]);
  add_maps(c, separable ? 0 : in_bytes_of(c), pixels * filters * (pool ? 1 : 4) * stores);
}

static void count_depthwise(struct counting *c)
{
  const struct mafat_layer *l = c->layer;
  double outputs = pixels_of(c->box) * l->out.c;
  add(c, MAFAT_TERM_DEPTHWISE_MACS, outputs * l->size * l->size);
  if (is_costly(l->activation)) add(c, MAFAT_TERM_COSTLY, outputs);
  /* Inside a 1x1 it writes a few rows, again and again: they stay near. */
  add_maps(c, in_bytes_of(c), c->index == c->step->layer ? outputs * 4 : 0);
}

/* Tiles are transformed `times` times, into values of so many bytes at a time. */
static void count_winograd_input(struct counting *c, double tiles, double times, double turn_values)
{
  double channels = c->layer->in.c, values = tiles * channels * MAFAT_WINOGRAD_PRODUCTS * 4;
  add(c, MAFAT_TERM_WINOGRAD_INPUTS, tiles * channels * times);
  add_maps(c, in_bytes_of(c), 0);
  add_bytes(c, MAFAT_TERM_WINOGRAD_FAR, MAFAT_TERM_WINOGRAD_COLD, values * times, turn_values);
}

/* In turns of a few rows of tiles, or, where a step of its own has transformed the
 * input, in one. */
static void count_winograd(struct counting *c, const struct mafat_scratch *scratch, bool pool)
{
  const struct mafat_layer *l = c->layer;
  struct width w = width_of(c, c->filters);
  int across = mafat_winograd_tiles(mafat_span_size(c->box.x)), down = mafat_winograd_tiles(mafat_span_size(c->box.y));
  bool shared = scratch->shared_values;
  int turn_rows = shared || scratch->tile_rows <= 0 ? down : mafat_min(scratch->tile_rows, down);
  int turns = round_up_division(down, turn_rows);
  double tiles = (double)across * down, channels = mafat_span_size(c->channels), filters = mafat_span_size(c->filters);
  share(c, (double)turns * w.panels);
  if (!shared) {
    /* Who takes a panel of a turn makes the turn's values for itself. */
    double makers = mafat_min(c->context->plan->n_threads, w.panels);
    count_winograd_input(c, tiles, makers, (double)turn_rows * across * MAFAT_WINOGRAD_PRODUCTS * l->in.c * 4);
  }
  add(c, MAFAT_TERM_UNIT, (double)turns * w.panels);
  add(c, MAFAT_TERM_WINOGRAD_KERNELS, channels * filters * (scratch->keep_weights ? 1 : turns));
  for (int turn = 0; turn < turns; turn++) {
    int rows = mafat_min(turn_rows, down - turn * turn_rows), n = rows * across;
    int parts = scratch->turn_channels > 0 && !scratch->keep_weights ? round_up_division((int)channels, scratch->turn_channels) : 1;
    add_tiles(c, MAFAT_TERM_WINOGRAD_MACS, MAFAT_WINOGRAD_PRODUCTS, n, w, channels,
              (double)round_up_division((int)channels, MAFAT_CHANNEL_BLOCK), parts);
    double values = (double)n * MAFAT_WINOGRAD_PRODUCTS * l->in.c * 4;
    add_bytes(c, MAFAT_TERM_WINOGRAD_FAR, MAFAT_TERM_WINOGRAD_COLD, values * w.panels * channels / l->in.c, values);
  }
  if (c->channels.end == l->in.c) {
    add(c, MAFAT_TERM_WINOGRAD_OUTPUTS, tiles * filters);
    if (is_costly(l->activation)) add(c, MAFAT_TERM_COSTLY, pixels_of(c->box) * filters);
    add_maps(c, 0, pixels_of(c->box) * filters * (pool ? 1 : 4));
  }
  add_weights(c, channels * filters * 36, scratch->keep_weights ? 1 : turns);
}

/* ---- other layers ---- */

static double input_floats(const struct mafat_layer *l)
{
  return (double)l->in.h * l->in.w * l->in.c;
}

/* Rows are shared out. */
static void count_rows(struct counting *c, enum mafat_term term, double n, double in_bytes, double out_bytes)
{
  share(c, mafat_span_size(c->step->out.y));
  add(c, term, n);
  add_maps(c, in_bytes, out_bytes);
}

/* Rows (or columns) of windows that lie in the map, summed. */
static double window_taps(const struct mafat_layer *l, struct mafat_span out, int extent)
{
  double taps = 0;
  for (int i = out.begin; i < out.end; i++) {
    int begin = i * l->stride - l->pad, end = mafat_min(begin + l->size, extent);
    taps += end - (begin < 0 ? 0 : begin);
  }
  return taps;
}

static void count_maxpool(struct counting *c)
{
  const struct mafat_layer *l = c->layer;
  double channels = mafat_span_size(c->filters), outputs = pixels_of(c->box) * channels;
  count_rows(c, MAFAT_TERM_POOL_TAPS,
             window_taps(l, c->box.y, l->in.h) * window_taps(l, c->box.x, l->in.w) * channels, in_bytes_of(c),
             outputs * 4);
  add(c, MAFAT_TERM_POOL_OUTPUTS, outputs);
}

/* Where a convolution stands inside, its outputs were just stored; the other map is
 * older. */
static void count_shortcut(struct counting *c, bool fused)
{
  const struct mafat_layer *l = c->layer;
  double outputs = pixels_of(c->box) * mafat_span_size(c->filters);
  int passes = fused || mafat_fusion_adds_alike(l) ? 1 : 2 + (l->activation != MAFAT_LINEAR);
  count_rows(c, MAFAT_TERM_MOVED, outputs * passes, fused ? outputs * 4 : outputs * 8, fused ? 0 : outputs * 4);
  if (is_costly(l->activation)) add(c, MAFAT_TERM_COSTLY, outputs);
}

/* As run_boxes does it (runner/layers/layers.c). */
static void count_boxes(struct counting *c)
{
  const struct mafat_layer *l = c->layer;
  bool by_rows = l->type == MAFAT_YOLO && !l->head.new_coords && l->sources.n == 1 &&
                 l->sources.list[0].first % MAFAT_CHANNEL_BLOCK == 0;
  double outputs = pixels_of(c->box) * mafat_span_size(c->filters);
  if (by_rows) add(c, MAFAT_TERM_CLASS_VALUES, outputs * 4 / (l->head.classes + l->head.coords + 1));
  count_rows(c, by_rows ? MAFAT_TERM_BOX_VALUES : MAFAT_TERM_CLASS_VALUES, outputs, outputs * 4, outputs * 4);
}

static void count_dense(struct counting *c)
{
  const struct mafat_layer *l = c->layer;
  double macs = l->type == MAFAT_LOCAL
                    ? (double)mafat_layer_macs(l, (uint64_t)mafat_box_area(c->box))
                    : (double)mafat_span_size(c->filters) * mafat_span_size(c->channels);
  struct width w = width_of(c, c->filters);
  share(c, l->type == MAFAT_LOCAL ? 1 : w.panels);
  add(c, MAFAT_TERM_UNIT, w.panels);
  add(c, MAFAT_TERM_DENSE_MACS, macs);
  add_weights(c, macs * 4, 1);
  c->threads = 1;
  if (c->filters.begin == 0 && c->channels.begin == 0) add(c, MAFAT_TERM_GATHERED, input_floats(l));
}

static void count_other(struct counting *c, bool fused)
{
  const struct mafat_layer *l = c->layer;
  double outputs = pixels_of(c->box) * mafat_span_size(c->filters), bytes = outputs * 4;
  enum mafat_term pass = is_costly(l->activation) ? MAFAT_TERM_COSTLY : MAFAT_TERM_MOVED;
  switch (l->type) {
  case MAFAT_MAXPOOL: count_maxpool(c); break;
  case MAFAT_AVGPOOL: add(c, MAFAT_TERM_GATHERED, input_floats(l)); break;
  case MAFAT_REORG: add(c, MAFAT_TERM_REORDERED, outputs); break;
  case MAFAT_UPSAMPLE: count_rows(c, MAFAT_TERM_GATHERED, outputs, bytes / 4, bytes); break;
  case MAFAT_SHORTCUT: count_shortcut(c, fused); break;
  case MAFAT_BATCHNORM:
  case MAFAT_CROP: count_rows(c, MAFAT_TERM_MOVED, outputs, bytes, bytes); break;
  case MAFAT_ACTIVATION_LAYER: count_rows(c, pass, outputs, bytes, bytes); break;
  case MAFAT_CONNECTED:
  case MAFAT_LOCAL: count_dense(c); break;
  case MAFAT_YOLO:
  case MAFAT_REGION: count_boxes(c); break;
  default: add(c, MAFAT_TERM_CLASS_VALUES, outputs); break;
  }
}

/* ---- steps ---- */

static void count_layer(struct counting *c, const struct mafat_scratch *scratch, bool pool)
{
  const struct mafat_layer *l = c->layer;
  c->threads = 1;
  if (l->type != MAFAT_CONVOLUTIONAL) count_other(c, c->context->plan->inner[c->index] >= 0);
  else if (c->context->plan->algorithms[c->index] == MAFAT_WINOGRAD) count_winograd(c, scratch, pool);
  else if (mafat_layer_is_depthwise(l)) count_depthwise(c);
  else count_direct(c, scratch, pool);
}

/* A step of its own that transforms the input of those behind it. */
static void count_transform(struct counting *c)
{
  int down = mafat_winograd_tiles(mafat_span_size(c->box.y)), across = mafat_winograd_tiles(mafat_span_size(c->box.x));
  double tiles = (double)across * down, channels = c->layer->in.c;
  share(c, down * (double)mafat_n_blocks(c->layer->in.c));
  count_winograd_input(c, tiles, 1, tiles * channels * MAFAT_WINOGRAD_PRODUCTS * 4);
}

void mafat_work_add_step(struct mafat_work_context *context, const struct mafat_step *step,
                         struct mafat_work *work)
{
  const struct mafat_network *n = context->network;
  if (step->kind == MAFAT_STEP_INPUT) return;
  const struct mafat_scratch *scratch = &context->layout->scratch[step->layer];
  struct mafat_box box = step->out;
  bool pool = false;
  for (int index = step->layer; index >= 0; index = context->plan->inner[index]) {
    const struct mafat_layer *l = &n->layers[index];
    bool innermost = context->plan->inner[index] < 0, wraps = l->type == MAFAT_MAXPOOL && !innermost;
    struct counting c = {.context = context, .step = step, .layer = l, .index = index, .box = box,
                         .filters = step->filters,
                         .channels = innermost ? step->channels : mafat_span(0, l->in.c), .threads = 1,
                         .n = work->n};
    if (mafat_layer_is_depthwise(l) && index != step->layer) c.filters = mafat_span(0, l->out.c);
    add(&c, MAFAT_TERM_STEP, 1);
    if (step->kind != MAFAT_STEP_TRANSFORM) {
      if (!wraps) count_layer(&c, scratch, pool);
    } else if (innermost) {
      count_transform(&c);
    }
    pool = wraps;
    box = (struct mafat_box){mafat_layer_in_span(l, true, box.y), mafat_layer_in_span(l, false, box.x)};
  }
}
