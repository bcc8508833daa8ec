#include "tests/kernels/kernel_exact.h"

#include <assert.h>
#include <math.h>

double mafat_exact_activation(double x, enum mafat_activation a)
{
  switch (a) {
  case MAFAT_LINEAR: return x;
  case MAFAT_LEAKY: return x > 0 ? x : .1 * x;
  case MAFAT_RELU: return x > 0 ? x : 0;
  case MAFAT_RELU6: return x > 0 ? (x < 6 ? x : 6) : 0;
  case MAFAT_LOGISTIC: return 1 / (1 + exp(-x));
  case MAFAT_MISH: return x * tanh(log1p(exp(x)));
  case MAFAT_SWISH: return x / (1 + exp(-x));
  case MAFAT_ELU: return x >= 0 ? x : exp(x) - 1;
  case MAFAT_SELU: return 1.0507 * (x >= 0 ? x : 1.6732 * (exp(x) - 1));
  case MAFAT_TANH: return tanh(x);
  case MAFAT_HARDTAN: return x < -1 ? -1 : x > 1 ? 1 : x;
  case MAFAT_RAMP: return (x > 0 ? x : 0) + .1 * x;
  case MAFAT_LOGGY: return 2 / (1 + exp(-x)) - 1;
  case MAFAT_PLSE: return x < -4 ? .01 * (x + 4) : x > 4 ? .01 * (x - 4) + 1 : .125 * x + .5;
  case MAFAT_STAIR: {
    double n = floor(x);
    return fmod(n, 2) == 0 ? floor(x / 2) : (x - n) + floor(x / 2);
  }
  case MAFAT_RELIE: return x > 0 ? x : .01 * x;
  case MAFAT_LHTAN: return x < 0 ? .001 * x : x > 1 ? .001 * (x - 1) + 1 : x;
  case MAFAT_HARD_MISH: return x > 0 ? x : x > -2 ? x * x / 2 + x : 0;
  default: assert(!"activation without a formula"); return 0;
  }
}

static void accumulate(struct mafat_exact *sum, double a, double b)
{
  sum->value += a * b;
  sum->magnitude += fabs(a * b);
}

struct mafat_exact mafat_exact_finish(struct mafat_exact x, double scale, double bias,
                                      enum mafat_activation a)
{
  return (struct mafat_exact){mafat_exact_activation(x.value * scale + bias, a),
                              x.magnitude * fabs(scale) + fabs(bias)};
}

/* What a tap of output (row, col) reads, of rows of pixels. */
static const float *tap_at(const float *const *rows, const struct mafat_window *w, int tap, int row, int col,
                           int pixel_floats)
{
  int ky = tap / w->x.size, kx = tap % w->x.size;
  return rows[row * w->y.stride + ky * w->y.dilation] +
         (size_t)(col * w->x.stride + kx * w->x.dilation) * (size_t)pixel_floats;
}

struct mafat_exact mafat_exact_conv(const struct mafat_conv_call *c, int filter, int row, int col,
                                    double before)
{
  struct mafat_exact sum = {c->start ? 0 : before, c->start ? 0 : fabs(before)};
  const float *w = c->weights + (size_t)row * c->weights_row_floats + filter;
  for (int p = 0; p < c->n_pieces; p++) {
    const struct mafat_conv_piece *piece = &c->pieces[p];
    for (int tap = 0; tap < mafat_window_area(&c->window); tap++) {
      const float *x = tap_at(piece->rows, &c->window, tap, row, col, piece->pixel_floats);
      for (int ch = 0; ch < piece->n_channels; ch++, w += c->width) accumulate(&sum, x[ch], *w);
    }
  }
  return c->finish ? mafat_exact_finish(sum, c->scale[filter], c->bias[filter], c->activation) : sum;
}

struct mafat_exact mafat_exact_depthwise(const struct mafat_depthwise_call *c, int channel, int row,
                                         int col)
{
  struct mafat_exact sum = {0, 0};
  for (int tap = 0; tap < mafat_window_area(&c->window); tap++) {
    const float *x = tap_at(c->rows, &c->window, tap, row, col, c->in_pixel_floats);
    accumulate(&sum, x[channel], c->weights[tap * c->width + channel]);
  }
  return mafat_exact_finish(sum, c->scale[channel], c->bias[channel], c->activation);
}

/* T x T', with T of n x m and x of m x m. */
static void transform(int n, int m, const double *t, const double *x, struct mafat_exact *out)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      struct mafat_exact *sum = &out[i * n + j];
      *sum = (struct mafat_exact){0, 0};
      for (int k = 0; k < m; k++)
        for (int l = 0; l < m; l++) accumulate(sum, t[i * m + k] * t[j * m + l], x[k * m + l]);
    }
}

/* The points of interpolation: 0, +-A, +-B, infinity. */
#define A 0.70710678118654752440
#define B 1.41421356237309504880

void mafat_exact_winograd_weights(double g[3][3], struct mafat_exact out[6][6])
{
  static const double matrix[6][3] = {{1, 0, 0},
                                      {-2. / 3, -2. / 3 * A, -1. / 3},
                                      {-2. / 3, 2. / 3 * A, -1. / 3},
                                      {1. / 6, B / 6, 1. / 3},
                                      {1. / 6, -B / 6, 1. / 3},
                                      {0, 0, 1}};
  transform(6, 3, matrix[0], g[0], out[0]);
}

void mafat_exact_winograd_input(double d[6][6], struct mafat_exact out[6][6])
{
  static const double matrix[6][6] = {{1, 0, -2.5, 0, 1, 0},  {0, -B, -2, A, 1, 0},  {0, B, -2, -A, 1, 0},
                                      {0, -A, -0.5, B, 1, 0}, {0, A, -0.5, -B, 1, 0}, {0, 1, 0, -2.5, 0, 1}};
  transform(6, 6, matrix[0], d[0], out[0]);
}

void mafat_exact_winograd_output(double m[6][6], struct mafat_exact out[4][4])
{
  static const double matrix[4][6] = {
      {1, 1, 1, 1, 1, 0}, {0, A, -A, B, -B, 0}, {0, 0.5, 0.5, 2, 2, 0}, {0, A / 2, -A / 2, 2 * B, -2 * B, 1}};
  transform(4, 6, matrix[0], m[0], out[0]);
}
