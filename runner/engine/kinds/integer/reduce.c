/* Computes means over rows, columns or channels of quantized maps, and argmin and argmax along one
 * axis. Called by the executor through the table in kinds.c. Writes the step's output in the arena;
 * allocates nothing. */
#include "runner/kernels/integer_functions.h"
#include "runner/engine/kinds/integer/integer.h"

/* Computes the means of a run's channels for one output pixel. */
static void reduce_pixel(const struct mafat_worker *w, const struct mafat_step *step,
                         const struct mafat_run *run, int y, int x)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_quantization in = mafat_network_in_quantization(t->network, step->layer, 0);
  struct mafat_multiplier scale =
      mafat_multiplier((double)in.scale / (double)l->quantization.scale);
  struct mafat_span rows = l->reduce->rows ? mafat_span(0, l->in.h) : mafat_span(y, y + 1);
  struct mafat_span cols = l->reduce->cols ? mafat_span(0, l->in.w) : mafat_span(x, x + 1);
  /* the sums of one row fit in 32 bits, but the sums of a map do not */
  int64_t sums[MAFAT_CHANNEL_BLOCK] = {0};
  for (int r = rows.begin; r < rows.end; r++) {
    int32_t of_row[MAFAT_CHANNEL_BLOCK] = {0};
    w->integers->add_pixels(mafat_runs_read_bytes(t, mafat_layer_sources(l), run, r, cols.begin),
                            (int)mafat_tensors_pixel_bytes(t, run->tensor, run->block),
                            mafat_span_size(cols), run->n, of_row);
    for (int i = 0; i < run->n; i++) sums[i] += of_row[i];
  }
  bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  int n = mafat_span_size(rows) * mafat_span_size(cols);
  uint8_t *out =
      (uint8_t *)mafat_tensors_address(t, step->layer, run->out_block, y, x) + run->out_lane;
  for (int i = 0; i < run->n; i++)
    out[i] = even ? mafat_integer_mean_even(sums[i], n, &in, &l->quantization)
                  : mafat_integer_mean(sums[i], n, in.zero, scale, &l->quantization);
}

/* ---- means over channels: pixel by pixel ---- */

/* Rows and columns of the input that an output pixel is computed from. */
struct integer_region {
  struct mafat_span rows, cols;
};

static struct integer_region region_of(const struct mafat_layer *l, int y, int x)
{
  return (struct integer_region){mafat_layer_in_span(l, 0, true, mafat_span(y, y + 1)),
                                 mafat_layer_in_span(l, 0, false, mafat_span(x, x + 1))};
}

static int64_t sum_of(const struct mafat_worker *w, const struct mafat_layer *l,
                      const struct integer_region *r)
{
  const struct mafat_tensors *t = w->tensors;
  int64_t sum = 0;
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), mafat_span(0, l->in.c));
  for (struct mafat_run run; mafat_runs_next(&runs, &run);)
    for (int y = r->rows.begin; y < r->rows.end; y++) {
      const uint8_t *row = mafat_runs_read_bytes(t, mafat_layer_sources(l), &run, y, r->cols.begin);
      size_t pixel = mafat_tensors_pixel_bytes(t, run.tensor, run.block);
      for (int x = 0; x < mafat_span_size(r->cols); x++, row += pixel)
        for (int i = 0; i < run.n; i++) sum += row[i];
    }
  return sum;
}

static void mean_of_pixel(const struct mafat_worker *w, const struct mafat_step *step, int y, int x)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  struct mafat_quantization in = mafat_network_in_quantization(w->tensors->network, step->layer, 0);
  struct integer_region r = region_of(l, y, x);
  int n = mafat_span_size(r.rows) * mafat_span_size(r.cols) * l->in.c;
  struct mafat_multiplier scale =
      mafat_multiplier((double)in.scale / (double)l->quantization.scale);
  int64_t sum = sum_of(w, l, &r);
  *(uint8_t *)mafat_tensors_address(w->tensors, step->layer, 0, y, x) =
      l->quantization.rounding == MAFAT_REQUANTIZE_EVEN
          ? mafat_integer_mean_even(sum, n, &in, &l->quantization)
          : mafat_integer_mean(sum, n, in.zero, scale, &l->quantization);
}

/* ---- argmin and argmax ---- */

/* Returns the input value for output (c, y, x) that has index `at` along the reduced axis. */
static int value_at(const struct mafat_worker *w, const struct mafat_layer *l, int c, int y, int x,
                    int at)
{
  const struct mafat_reduce *r = l->reduce;
  int bytes;
  return *mafat_integer_source_at(w->tensors, mafat_layer_sources(l), r->channels ? at : c,
                                  r->rows ? at : y, r->cols ? at : x, &bytes);
}

static int find_place(const struct mafat_worker *w, const struct mafat_layer *l, int c, int y,
                      int x)
{
  const struct mafat_reduce *r = l->reduce;
  int n = r->channels ? l->in.c
          : r->rows   ? l->in.h
                      : l->in.w,
      place = 0, best = value_at(w, l, c, y, x, 0);
  for (int at = 1; at < n; at++) {
    int value = value_at(w, l, c, y, x, at);
    bool better = r->how == MAFAT_REDUCE_ARG_MAX ? value > best : value < best;
    if (better || (r->last && value == best)) best = value, place = at;
  }
  return place;
}

static void find_places(const struct mafat_worker *w, const struct mafat_step *step, int y, int x)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  for (int c = step->filters.begin; c < step->filters.end; c++)
    *mafat_tensors_element(w->tensors, step->layer, c, y, x) = (float)find_place(w, l, c, y, x);
}

/* ---- the kind ---- */

static int run_pixels(const struct mafat_worker *w, const struct mafat_step *step,
                      void (*pixel)(const struct mafat_worker *w, const struct mafat_step *step,
                                    int y, int x))
{
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    for (int x = step->out.x.begin; x < step->out.x.end; x++) pixel(w, step, y, x);
  return MAFAT_OK;
}

static int run_reduce(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  if (l->reduce->how != MAFAT_REDUCE_MEAN) return run_pixels(w, step, find_places);
  if (l->reduce->channels) return run_pixels(w, step, mean_of_pixel);
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  for (struct mafat_run run; mafat_runs_next(&runs, &run);)
    for (int y = step->out.y.begin; y < step->out.y.end; y++)
      for (int x = step->out.x.begin; x < step->out.x.end; x++) reduce_pixel(w, step, &run, y, x);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_reduce = {.run = run_reduce,
                                                       .sharing = MAFAT_SHARED_BY_ROWS};
