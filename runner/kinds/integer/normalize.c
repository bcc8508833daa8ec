/* The channels of each pixel normalized among themselves: softmax, and layers' means and variances. */
#include "runner/kernels/integer_functions.h"
#include "runner/kernels/requantize.h"
#include "runner/kinds/integer/integer.h"

#include <math.h>
#include <string.h>

/* ---- a pixel's bytes, side by side ---- */

static void take_pixel(const struct mafat_tensors *t, const struct mafat_layer *l, int y, int x, uint8_t *pixel)
{
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), mafat_span(0, l->in.c));
  for (struct mafat_run run; mafat_runs_next(&runs, &run);)
    memcpy(pixel + run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane, mafat_runs_read_bytes(t, mafat_layer_sources(l), &run, y, x),
           (size_t)run.n);
}

static void put_pixel(const struct mafat_tensors *t, int layer, int y, int x, const uint8_t *pixel)
{
  int channels = t->network->layers[layer].in.c;
  for (int c = 0; c < channels; c += MAFAT_CHANNEL_BLOCK)
    memcpy(mafat_tensors_address(t, layer, c / MAFAT_CHANNEL_BLOCK, y, x), pixel + c, (size_t)mafat_min(MAFAT_CHANNEL_BLOCK, channels - c));
}

/* ---- what becomes of it ---- */

struct softmax {
  int32_t exponentials[256]; /* TFLite's */
  double exact[256];         /* ONNX's */
  bool even;
};

static void open_softmax(struct softmax *s, const struct mafat_layer *l, float scale)
{
  s->even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  if (s->even) mafat_integer_exponentials_even(s->exact, scale);
  else mafat_integer_exponentials(s->exponentials, scale, l->normalize->beta > 0 ? l->normalize->beta : 1);
}

static void run_softmax(const struct softmax *s, const struct mafat_layer *l, uint8_t *pixel)
{
  if (s->even) mafat_integer_softmax_even(s->exact, pixel, pixel, l->in.c, &l->quantization);
  else mafat_integer_softmax(s->exponentials, pixel, pixel, l->in.c);
}

/* Floats of an operand from channel c on, a block of them at most; NULL: there is no such operand. */
static const float *floats_at(const struct mafat_tensors *t, const struct mafat_layer *l, int operand, int c)
{
  return operand < l->n_operands ? mafat_tensors_read(t, &l->operands[operand].sources, 0, c, 0, 0) : NULL;
}

/* By exact sums of the numbers; what comes of them is a float, rounded once. */
static void run_layer(const struct mafat_tensors *t, const struct mafat_layer *l, const struct mafat_quantization *in, uint8_t *pixel)
{
  int64_t sum = 0, squares = 0;
  for (int c = 0; c < l->in.c; c++) {
    int number = pixel[c] - in->zero;
    sum += number;
    squares += number * number;
  }
  double scale = (double)in->scale, mean = (double)sum / l->in.c, variance = fmax((double)squares / l->in.c - mean * mean, 0);
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
  if (is_softmax) open_softmax(&softmax, l, in.scale);
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    for (int x = step->out.x.begin; x < step->out.x.end; x++) {
      take_pixel(t, l, y, x, pixel);
      if (is_softmax) run_softmax(&softmax, l, pixel);
      else run_layer(t, l, &in, pixel);
      put_pixel(t, step->layer, y, x, pixel);
    }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_normalize = {.run = run_normalize, .sharing = MAFAT_SHARED_BY_ROWS};
