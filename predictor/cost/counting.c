/* Counts the parts of a step's work that several kinds of layers share: register tiles, weights,
 * bytes of maps. Called by predictor/kinds/ for each step. Allocates nothing. */
#include "predictor/cost/counting.h"

#include "predictor/plan/packing.h"

/* ---- shares ---- */

void mafat_count_share(struct mafat_counting *c, double units)
{
  int n = c->context->plan->n_threads;
  double rounds = (double)(((long long)units + n - 1) / n);
  c->threads = units < 1 ? 1 : units / rounds;
}

double mafat_counting_activation_price(const struct mafat_activating *a)
{
  static const double prices[MAFAT_N_ACTIVATIONS] = {
#define DARKNET(CONSTANT, name, price, ...) [MAFAT_##CONSTANT] = price,
#define KERNEL DARKNET
#define FUNCTION DARKNET
#define FREE 0
#define LOGISTICS(n) n
#define SCALAR 1
#include "network/activations.def"
  };
  return prices[a->kind];
}

enum mafat_term mafat_counting_activation_term(const struct mafat_activating *a)
{
  static const unsigned char terms[MAFAT_N_ACTIVATIONS] = {
#define DARKNET(CONSTANT, name, price, ...) [MAFAT_##CONSTANT] = price,
#define KERNEL DARKNET
#define FUNCTION DARKNET
#define FREE MAFAT_TERM_MOVED
#define LOGISTICS(n) MAFAT_TERM_LOGISTIC
#define SCALAR MAFAT_TERM_COSTLY
#include "network/activations.def"
  };
  return (enum mafat_term)terms[a->kind];
}

void mafat_count_activation(struct mafat_counting *c, double outputs)
{
  double price = mafat_counting_activation_price(&c->layer->activation);
  if (price > 0)
    mafat_count(c, mafat_counting_activation_term(&c->layer->activation), outputs * price);
}

/* ---- register tiles ---- */

enum {
  /* Vectors of sums in a register tile. A tile with fewer takes as long, because of the latency of
   * a multiply-add. */
  SUMS = 6
};

struct mafat_width mafat_counting_width(const struct mafat_counting *c)
{
  const struct mafat_calibration *k = c->context->calibration;
  struct mafat_width w = {0, 0, 0, 0};
  for (int f = c->filters.begin, end; f < c->filters.end; f = end, w.panels++) {
    end = mafat_min(mafat_panel_end(c->layer, f), c->filters.end);
    if (end - f <= k->few_filters) {
      w.narrow++;
      continue;
    }
    int vectors = mafat_divide_up(end - f, k->lanes);
    w.vectors += vectors;
    w.tiles += mafat_divide_up(vectors, k->tile_vectors);
  }
  return w;
}

double mafat_counting_runs(const struct mafat_counting *c, struct mafat_span channels)
{
  int n = mafat_span_size(channels);
  int full = n / MAFAT_CHANNEL_BLOCK, rest = n % MAFAT_CHANNEL_BLOCK;
  bool joined = rest < 4 || rest % 4 == 0;
  const struct mafat_window *w = &c->layer->window;
  double apart = w->x.size, together = w->x.dilation > 1 ? apart : 1;
  return w->y.size * (full * together + (rest ? (joined ? together : apart) : 0));
}

void mafat_count_tiles(struct mafat_counting *c, enum mafat_term macs, double rows, int cols,
                       struct mafat_width w, double taps, double runs, double calls)
{
  const struct mafat_calibration *k = c->context->calibration;
  int across = mafat_divide_up(cols, k->tile_pixels);
  double tiles = rows * across * w.tiles, sums = (double)cols / across * w.vectors / w.tiles;
  double begun = sums < SUMS ? SUMS : sums;
  if (w.tiles > 0) mafat_count(c, macs, tiles * begun * k->lanes * taps);
  mafat_count(c, MAFAT_TERM_TAPS, tiles * taps);
  mafat_count(c, MAFAT_TERM_RUNS, tiles * runs);
  mafat_count(c, MAFAT_TERM_TILES, tiles * calls);
  if (w.narrow > 0) {
    double narrow = rows * mafat_divide_up(cols, k->few_pixels) * w.narrow;
    mafat_count(c, MAFAT_TERM_NARROW_TAPS, narrow * taps);
    mafat_count(c, MAFAT_TERM_TILES, narrow * calls);
    mafat_count(c, MAFAT_TERM_RUNS, narrow * runs);
  }
}

/* ---- bytes ---- */

/* Share of `bytes` bytes, touched cyclically, that a cache no longer holds: 0 if they are at most
 * half of the cache, 1 if they are at least twice the cache. */
static double beyond(double bytes, double cache_bytes)
{
  double share = (bytes / cache_bytes - 0.5) / 1.5;
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

void mafat_count_bytes(struct mafat_counting *c, enum mafat_term far, enum mafat_term cold,
                       double bytes, double distance)
{
  const struct mafat_calibration *k = c->context->calibration;
  mafat_count(c, far, bytes * beyond(distance, k->near_bytes));
  mafat_count(c, cold, bytes * beyond(distance, k->far_bytes));
}

static const struct mafat_group *group_of(const struct mafat_counting *c)
{
  return &c->context->plan->groups[c->step->group];
}

/* Bytes of the video frame, if it is alive while the group runs; else 0. Between two steps of a
 * layer, only one row of the frame is touched. */
static double idle_bytes(const struct mafat_counting *c)
{
  const struct mafat_layout *layout = c->context->layout;
  const struct mafat_buffer *frame =
      layout->frame_buffer >= 0 ? &layout->buffers[layout->frame_buffer] : NULL;
  return frame && frame->last >= 2 * group_of(c)->at.begin ? (double)frame->bytes : 0;
}

/* Bytes touched between two steps of the same layer, in a group whose layers alternate. Cached for
 * the group. */
static double turn_bytes(const struct mafat_counting *c)
{
  struct mafat_work_context *context = c->context;
  if (context->turn_group != c->step->group) {
    const struct mafat_group *g = group_of(c);
    double kept = 0;
    for (int i = g->at.begin; i < g->at.end; i++) {
      int l = context->plan->members[i];
      if (context->plan->placement[l] == MAFAT_KEPT)
        kept += (double)mafat_packed_layer_bytes(&context->network->layers[l]);
    }
    context->turn_group = c->step->group;
    context->turn_bytes =
        (double)context->layout->groups[c->step->group].peak_bytes - idle_bytes(c) + kept;
  }
  return context->turn_bytes;
}

bool mafat_counting_takes_turns(const struct mafat_counting *c)
{
  const struct mafat_group *g = group_of(c);
  return g->cut.kind == MAFAT_CUT_ROWS || mafat_group_is_tiled(g);
}

/* True for the first step of a layer in a run. */
static bool is_first_visit(const struct mafat_counting *c)
{
  return c->step->out.y.begin == 0 && c->step->out.x.begin == 0;
}

/* Price of widening a weight relative to copying a float: it is read and written in near memory. */
static const double widened_share = 0.2;

void mafat_count_weights(struct mafat_counting *c, double bytes, double passes)
{
  if (mafat_layer_widens(c->layer))
    mafat_count(c, MAFAT_TERM_MOVED,
                widened_share * passes * bytes / mafat_counting_weight_bytes(c));
  bool streamed = c->context->plan->placement[c->index] == MAFAT_STREAMED;
  double distance = !streamed && mafat_counting_takes_turns(c) && !is_first_visit(c)
                        ? turn_bytes(c)
                        : c->context->run_bytes;
  mafat_count_bytes(c, MAFAT_TERM_WEIGHTS_FAR, MAFAT_TERM_WEIGHTS_COLD, bytes, distance);
  if (passes > 1)
    mafat_count_bytes(c, MAFAT_TERM_WEIGHTS_FAR, MAFAT_TERM_WEIGHTS_COLD, bytes * (passes - 1),
                      2 * bytes);
}

static double in_element(const struct mafat_counting *c)
{
  return mafat_dtype_size(mafat_network_in_type(c->context->network, c->index));
}

/* Bytes of the layer's whole input and output maps. */
static double maps_bytes(const struct mafat_counting *c)
{
  struct mafat_shape out = c->layer->out;
  return mafat_counting_inputs(c) * in_element(c) +
         (double)out.h * out.w * out.c * mafat_dtype_size(c->layer->out_type);
}

/* Share of a step's output rows that are stored in rows of the rolling window which this run has
 * not written before. */
static double fresh_window(const struct mafat_counting *c)
{
  const struct mafat_step *step = c->step;
  int rows = c->context->layout->tensors[step->layer].rows - step->out.y.begin,
      n = mafat_span_size(step->out.y);
  return rows <= 0 ? 0 : rows >= n ? 1 : (double)rows / n;
}

void mafat_count_maps(struct mafat_counting *c, double in_bytes, double out_bytes)
{
  double maps = maps_bytes(c), arena = (double)c->context->layout->total_bytes;
  bool turns = mafat_counting_takes_turns(c);
  double read = turns ? in_bytes + out_bytes : maps;
  double written = turns ? turn_bytes(c) : 2 * maps < arena ? 2 * maps : arena;
  mafat_count_bytes(c, MAFAT_TERM_READ_FAR, MAFAT_TERM_READ_COLD, in_bytes, read);
  if (out_bytes <= 0) return;
  double fresh = group_of(c)->cut.kind == MAFAT_CUT_ROWS ? out_bytes * fresh_window(c) : 0;
  mafat_count(c, MAFAT_TERM_WRITTEN_FIRST, fresh);
  mafat_count_bytes(c, MAFAT_TERM_WRITTEN_FAR, MAFAT_TERM_WRITTEN_COLD, out_bytes - fresh, written);
}

double mafat_counting_in_bytes(const struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  struct mafat_box in = {mafat_layer_in_span(l, 0, true, c->box.y),
                         mafat_layer_in_span(l, 0, false, c->box.x)};
  return (double)mafat_box_area(in) * mafat_span_size(c->channels) * in_element(c);
}

void mafat_count_rows(struct mafat_counting *c, enum mafat_term term, double n, double in_bytes,
                      double out_bytes)
{
  mafat_count_share(c, mafat_span_size(c->step->out.y));
  mafat_count(c, term, n);
  mafat_count_maps(c, in_bytes, out_bytes);
}

void mafat_count_moved(struct mafat_counting *c)
{
  double bytes = mafat_counting_out_bytes(c);
  mafat_count_rows(c, MAFAT_TERM_MOVED, mafat_counting_outputs(c), bytes, bytes);
}

void mafat_count_dense(struct mafat_counting *c, double units, double panels)
{
  double macs =
      (double)mafat_layer_part_macs(c->layer, (uint64_t)mafat_box_area(c->box),
                                    mafat_span_size(c->filters), mafat_span_size(c->channels));
  mafat_count_share(c, units);
  mafat_count(c, MAFAT_TERM_UNIT, panels);
  mafat_count(c, MAFAT_TERM_DENSE_MACS, macs);
  mafat_count_weights(c, macs * mafat_counting_weight_bytes(c), 1);
  c->threads = 1;
  struct mafat_step part = *c->step;
  part.filters = c->filters;
  part.channels = c->channels;
  if (mafat_step_begins(c->context->plan, &part))
    mafat_count(c, MAFAT_TERM_GATHERED, mafat_counting_inputs(c));
}
