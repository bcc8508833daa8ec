/* Counts the work of integer convolutions, for the predicted time. Called by predictor/kinds/.
 * Changes only the counts; allocates nothing. As in the kernels (runner/kernels/integer_conv.h), a
 * register tile (a few vectors of sums, kept in registers) adds up quads; a quad is the products of
 * four channels, added in one step. Then sums are rescaled to outputs, one vector at a time. */
#include "predictor/cost/counting.h"

#include "predictor/plan/packing.h"

/* A register tile with fewer vectors of sums than this takes as long as one with this many. */
enum { SUMS = 8 };

bool mafat_counting_is_integer(const struct mafat_counting *c)
{
  return mafat_network_in_type(c->context->network, c->index) != MAFAT_F32;
}

/* Wider vectors look up more values at a time (runner/kernels/integer_vector.h). */
double mafat_counting_lookup(const struct mafat_counting *c)
{
  const int lanes = c->context->calibration->integer_lanes;
  return lanes >= 16 ? 0.02 : lanes >= 8 ? 0.06 : 0.25;
}

/* The loops over the inputs of one output. */
struct quads {
  double runs, n; /* number of inner loops; number of quads in all of them */
};

static struct quads quads_of(const struct mafat_layer *l, int channels)
{
  const struct mafat_window *w = &l->window;
  const int full = channels / MAFAT_CHANNEL_BLOCK, rest = channels % MAFAT_CHANNEL_BLOCK;
  const double apart = w->x.size, together = w->x.dilation > 1 ? apart : 1;
  return (struct quads){
      w->y.size * (full * together + (rest ? (rest % MAFAT_QUAD ? apart : together) : 0)),
      mafat_window_area(w) *
          (full * (double)(MAFAT_CHANNEL_BLOCK / MAFAT_QUAD) + mafat_divide_up(rest, MAFAT_QUAD))};
}

/* Counts n sums rescaled to outputs. TFLite's rule costs 1. ONNX's rule (MAFAT_REQUANTIZE_EVEN) was
 * measured at 0.58 (AVX-512) and 0.76 (AVX2) of that. */
static void count_outputs(struct mafat_counting *c, double n)
{
  const double even = 0.65;
  mafat_count(c, MAFAT_TERM_INTEGER_OUTPUTS,
              n * (c->layer->quantization.rounding == MAFAT_REQUANTIZE_EVEN ? even : 1));
}

/* Counts the work of one panel (`filters` filters that are computed together) for rows x cols
 * pixels. quads: of one output. */
static void count_panel(struct mafat_counting *c, int filters, double rows, int cols,
                        struct quads quads)
{
  const struct mafat_calibration *k = c->context->calibration;
  const int vectors = mafat_divide_up(filters, k->integer_lanes),
            across = mafat_divide_up(cols, k->integer_pixels);
  const int down = mafat_divide_up(vectors, k->integer_vectors);
  const double tiles = rows * across * down, sums = (double)cols / across * vectors / down;
  mafat_count(c, MAFAT_TERM_INTEGER_MACS,
              tiles * (sums < SUMS ? SUMS : sums) * k->integer_lanes * MAFAT_QUAD * quads.n);
  mafat_count(c, MAFAT_TERM_INTEGER_TAPS, tiles * quads.n);
  mafat_count(c, MAFAT_TERM_INTEGER_RUNS, tiles * quads.runs);
  mafat_count(c, MAFAT_TERM_INTEGER_TILES, tiles);
  count_outputs(c, rows * cols * vectors * k->integer_lanes);
}

void mafat_count_integers(struct mafat_counting *c, double blocks)
{
  const struct mafat_layer *l = c->layer;
  const struct quads quads = quads_of(l, l->in.c / l->groups);
  for (int f = c->filters.begin, end; f < c->filters.end; f = end) {
    end = mafat_min(mafat_panel_end(l, f), c->filters.end);
    count_panel(c, end - f, mafat_span_size(c->box.y), mafat_span_size(c->box.x), quads);
    mafat_count(c, MAFAT_TERM_INTEGER_CALLS, blocks);
  }
}

/* Returns the cost of one output: computing its products, with one instruction for a pair of window
 * rows, and assembling the columns of inputs that they read. In windows that are 3 columns wide,
 * neighboring outputs share assembled columns, but only in whole vectors of channels (`whole`). */
static double depthwise_work(const struct mafat_layer *l, int lanes, bool whole)
{
  enum { WIDE = 16, COLUMN = 2, ALONE = 4 };
  const struct mafat_taps x = l->window.x;
  const int pixels = lanes == WIDE ? 8 : 4;
  const double pairs = mafat_divide_up(l->window.y.size, 2);
  if (x.size != 3 || x.dilation > 1 || !whole) return pairs * x.size * ALONE;
  return pairs * (x.size + COLUMN * (double)((pixels - 1) * x.stride + x.size) / pixels);
}

void mafat_count_integer_depthwise(struct mafat_counting *c, double blocks)
{
  const struct mafat_layer *l = c->layer;
  const int lanes = c->context->calibration->integer_lanes, whole = l->out.c / lanes * lanes;
  const double pixels = mafat_counting_pixels(c), rest = mafat_round_up(l->out.c, lanes) - whole;
  mafat_count(c, MAFAT_TERM_INTEGER_CALLS, blocks * mafat_n_blocks(l->out.c));
  mafat_count(
      c, MAFAT_TERM_INTEGER_DEPTHWISE,
      pixels * (whole * depthwise_work(l, lanes, true) + rest * depthwise_work(l, lanes, false)));
  count_outputs(c, pixels * (whole + rest));
}
