/* Normalizes the channels of each quantized pixel: softmax, and layer normalization. Called by the
 * executor through the table in kinds.c. Writes the step's output and the worker's scratch, in the
 * arena; allocates nothing. */
#include "runner/kernels/integer_functions.h"
#include "runner/kernels/requantize.h"
#include "runner/engine/kinds/integer/integer.h"

#include <math.h>
#include <string.h>

/* ---- copies between a pixel of a map and contiguous bytes ---- */

enum { MOST_RUNS = 32 };

/* Pixels of a map. The list has the runs of contiguous channels of one pixel, that at column x. */
struct norm_pixels {
  const struct mafat_tensors *tensors;
  const struct mafat_sources *sources;
  int channels, x, n;      /* n: number of runs in the list */
  struct mafat_span known; /* columns for which the list is valid and has all channels */
  char *at[MOST_RUNS];     /* address of the run's first channel at column x */
  int step[MOST_RUNS];     /* bytes from a column to the next */
  int first[MOST_RUNS], count[MOST_RUNS]; /* first channel of the run, and number of its channels */
};

/* Lists the runs of pixel (y, x) from channel `first` on, as many as the list can hold. Returns the
 * channel after the last run. */
static int list_runs(struct norm_pixels *p, int first, int y, int x)
{
  struct mafat_runs runs = mafat_runs_of(p->sources, mafat_span(first, p->channels));
  int end = p->tensors->network->layers[p->sources->list[0].tensor].out.w, c = first;
  p->x = x;
  p->n = 0;
  for (struct mafat_run run; p->n < MOST_RUNS && mafat_runs_next(&runs, &run); c += run.n, p->n++) {
    int row = y;
    const struct mafat_source *s = mafat_sources_at(p->sources, run.source, &row);
    int channel =
        run.block * MAFAT_CHANNEL_BLOCK + run.lane - p->sources->list[run.source].first + s->first;
    const struct mafat_row_view view =
        mafat_tensors_row_view(p->tensors, s->tensor, channel, row, x);
    p->at[p->n] = view.at;
    p->step[p->n] = (int)view.pixel_bytes;
    p->first[p->n] = c;
    p->count[p->n] = run.n;
    end = mafat_min(end, view.box.x.end);
  }
  p->known = mafat_span(x, first == 0 && c == p->channels ? end : x);
  return c;
}

/* Copies all channels of pixel (y, x) of the map to `pixel` or, if `put`, from `pixel`. */
static void pass_pixel(struct norm_pixels *p, int y, int x, uint8_t *pixel, bool put)
{
  bool known = x > p->known.begin && x < p->known.end;
  for (int c = 0; c < p->channels;) {
    c = known ? p->channels : list_runs(p, c, y, x);
    for (int i = 0; i < p->n; i++) {
      char *at = p->at[i] + (ptrdiff_t)(x - p->x) * p->step[i];
      if (put) memcpy(at, pixel + p->first[i], (size_t)p->count[i]);
      else memcpy(pixel + p->first[i], at, (size_t)p->count[i]);
    }
  }
}

/* ---- functions ---- */

struct softmax {
  int32_t exponentials[256]; /* for TFLite models, set by mafat_integer_exponentials */
  double exact[256];         /* for ONNX models, set by mafat_integer_exponentials_even */
  bool even;                 /* the model is of ONNX, which rounds ties to even */
};

static void open_softmax(struct softmax *s, const struct mafat_layer *l, float scale)
{
  s->even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  if (s->even) mafat_integer_exponentials_even(s->exact, scale);
  else
    mafat_integer_exponentials(s->exponentials, scale,
                               l->normalize->beta > 0 ? l->normalize->beta : 1);
}

static void run_softmax(const struct softmax *s, const struct mafat_layer *l, uint8_t *pixel)
{
  if (s->even) mafat_integer_softmax_even(s->exact, pixel, pixel, l->in.c, &l->quantization);
  else mafat_integer_softmax(s->exponentials, pixel, pixel, l->in.c);
}

/* Returns the floats from channel c to the end of its channel block. The operand has one pixel.
 * NULL: the layer does not have that operand. */
static const float *floats_at(const struct mafat_tensors *t, const struct mafat_layer *l,
                              int operand, int c)
{
  return operand < l->n_operands ? mafat_tensors_read(t, &l->operands[operand].sources, 0, c, 0, 0)
                                 : NULL;
}

/* Normalizes a pixel's channels: y = (x - mean) / sqrt(variance + epsilon), then times operand 1
 * and plus operand 2, if the layer has these. Sums are integers, so they are exact. */
static void run_layer(const struct mafat_tensors *t, const struct mafat_layer *l,
                      const struct mafat_quantization *in, uint8_t *pixel)
{
  int64_t sum = 0, squares = 0;
  for (int c = 0; c < l->in.c; c++) {
    int number = pixel[c] - in->zero;
    sum += number;
    squares += number * number;
  }
  double scale = (double)in->scale, mean = (double)sum / l->in.c,
         variance = fmax((double)squares / l->in.c - mean * mean, 0);
  double factor = scale / sqrt(scale * scale * variance + (double)l->normalize->epsilon);
  for (int b = 0; b < l->in.c; b += MAFAT_CHANNEL_BLOCK) {
    const float *times = floats_at(t, l, 1, b), *plus = floats_at(t, l, 2, b);
    for (int c = b; c < mafat_min(b + MAFAT_CHANNEL_BLOCK, l->in.c); c++) {
      float y = (float)((pixel[c] - in->zero - mean) * factor);
      if (times) y *= times[c - b];
      if (plus) y += plus[c - b];
      pixel[c] = mafat_put_even(&l->quantization, y / l->quantization.scale);
    }
  }
}

static int run_normalize(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_quantization in = mafat_network_in_quantization(t->network, step->layer, 0);
  uint8_t *pixel = (uint8_t *)w->slot_memory + w->scratch->pixel_offset;
  bool is_softmax = l->normalize->how == MAFAT_NORMALIZE_SOFTMAX;
  struct softmax softmax;
  const struct mafat_source own = {.tensor = step->layer, .n = l->in.c, .n_rows = l->out.h};
  const struct mafat_sources outputs = {.list = (struct mafat_source *)&own, .n = 1, .n_bands = 1};
  struct norm_pixels in_pixels = {
      .tensors = t, .sources = mafat_layer_sources(l), .channels = l->in.c};
  struct norm_pixels out_pixels = {.tensors = t, .sources = &outputs, .channels = l->in.c};
  if (is_softmax) open_softmax(&softmax, l, in.scale);
  for (int y = step->out.y.begin; y < step->out.y.end; y++) {
    in_pixels.known = out_pixels.known = mafat_span(0, 0);
    for (int x = step->out.x.begin; x < step->out.x.end; x++) {
      pass_pixel(&in_pixels, y, x, pixel, false);
      if (is_softmax) run_softmax(&softmax, l, pixel);
      else run_layer(t, l, &in, pixel);
      pass_pixel(&out_pixels, y, x, pixel, true);
    }
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_normalize = {.run = run_normalize,
                                                          .sharing = MAFAT_SHARED_BY_ROWS};
