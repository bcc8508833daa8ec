/* Computes exact kernel results in double precision. Called by kernel_check and unit tests. Touches
 * only its arguments. */
#include "tests/kernels/kernel_exact.h"

#include <assert.h>
#include <math.h>

struct mafat_activating mafat_exact_activating(enum mafat_activation kind, float p, float q)
{
  switch (kind) {
  case MAFAT_CLIP: return (struct mafat_activating){kind, p, q}; /* in half of the cases p > q */
  case MAFAT_SLOPED: return (struct mafat_activating){kind, fmaxf(fabsf(p), FLT_MIN), 0};
  case MAFAT_STEEP: return (struct mafat_activating){kind, q * 1.5f, 0};
  case MAFAT_HARD_SIGMOID: return (struct mafat_activating){kind, .2f + .1f * p, .5f + .1f * q};
  case MAFAT_SCALED_ELU: return (struct mafat_activating){kind, 1 + .6f * p, 1 + .05f * q};
  case MAFAT_CELU: return (struct mafat_activating){kind, .2f + fabsf(p), 0};
  case MAFAT_SCALED_SWISH: return (struct mafat_activating){kind, 1.1f + p, 0};
  case MAFAT_AFFINE:
  case MAFAT_THRESHOLDED: return (struct mafat_activating){kind, p, q};
  case MAFAT_POW: return (struct mafat_activating){kind, 3 * p, 0};
  default: return mafat_activating(kind);
  }
}

/* Activations that are computed by functions of the math library. */
static double exact_function(double x, enum mafat_activation kind, double a, double b)
{
  const double sqrt_2 = 1.41421356237309504880, sqrt_8_by_pi = 1.59576912160573071176;
  switch (kind) {
  case MAFAT_SCALED_ELU: return x > 0 ? b * x : a * b * expm1(x);
  case MAFAT_CELU: return x > 0 ? x : a * expm1(x / a);
  case MAFAT_SOFTPLUS: return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
  case MAFAT_SOFTSIGN: return x / (1 + fabs(x));
  case MAFAT_GELU: return x / 2 * erfc(-x / sqrt_2);
  case MAFAT_GELU_TANH: return x / (1 + exp(-sqrt_8_by_pi * (x + .044715 * x * x * x)));
  case MAFAT_SCALED_SWISH: return x / (1 + exp(-a * x));
  case MAFAT_EXACT_TANH: return tanh(x);
  case MAFAT_ERF: return erf(x);
  case MAFAT_ABS: return fabs(x);
  case MAFAT_NEG: return -x;
  case MAFAT_AFFINE: return a * x + b;
  case MAFAT_SIN: return sin(x);
  case MAFAT_COS: return cos(x);
  case MAFAT_THRESHOLDED: return x > a ? x : 0;
  case MAFAT_EXP: return exp(x);
  case MAFAT_LOG: return log(x);
  case MAFAT_SQRT: return sqrt(x);
  case MAFAT_RECIPROCAL: return 1 / x;
  case MAFAT_RSQRT: return 1 / sqrt(x);
  case MAFAT_SQUARE: return x * x;
  case MAFAT_POW: return pow(x, a);
  case MAFAT_CEIL: return ceil(x);
  case MAFAT_FLOOR: return floor(x);
  case MAFAT_ROUND: return nearbyint(x);
  case MAFAT_SIGN: return (x > 0) - (x < 0);
  default: assert(!"activation without a formula"); return 0;
  }
}

double mafat_exact_activation(double x, const struct mafat_activating *f)
{
  const double a = (double)f->a, b = (double)f->b;
  switch (f->kind) {
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
  case MAFAT_CLIP: return fmin(fmax(x, a), b);
  case MAFAT_SLOPED:
  case MAFAT_STEEP: return x > 0 ? x : a * x;
  case MAFAT_HARD_SIGMOID: return fmin(fmax(a * x + b, 0), 1);
  case MAFAT_HARD_SWISH: return x * fmin(fmax(x + 3, 0), 6) / 6;
  default: return exact_function(x, f->kind, a, b);
  }
}

static void accumulate(struct mafat_exact *sum, double a, double b)
{
  sum->value += a * b;
  sum->magnitude += fabs(a * b);
}

struct mafat_exact mafat_exact_finish(struct mafat_exact x, double scale, double bias,
                                      const struct mafat_activating *a)
{
  return (struct mafat_exact){mafat_exact_activation(x.value * scale + bias, a),
                              x.magnitude * fabs(scale) + fabs(bias)};
}

/* The input pixel of a tap of output (row, col). */
static const float *tap_at(const float *const *rows, const struct mafat_window *w, int tap, int row,
                           int col, int pixel_floats)
{
  int ky = tap / w->x.size, kx = tap % w->x.size;
  return rows[row * w->y.stride + ky * w->y.dilation] +
         (size_t)(col * w->x.stride + kx * w->x.dilation) * (size_t)pixel_floats;
}

struct mafat_exact mafat_exact_conv(const struct mafat_conv_call *c, int filter, int row, int col,
                                    double before)
{
  struct mafat_exact sum = {c->start ? 0 : before, c->start ? 0 : fabs(before)};
  const float *w = c->weights + filter;
  for (int p = 0; p < c->n_block_slices; p++) {
    const struct mafat_conv_block_slice *block_slice = &c->block_slices[p];
    for (int tap = 0; tap < mafat_window_area(&c->window); tap++) {
      const float *x =
          tap_at(block_slice->rows, &c->window, tap, row, col, block_slice->pixel_floats);
      for (int ch = 0; ch < block_slice->n_channels; ch++, w += c->width)
        accumulate(&sum, x[ch], *w);
    }
  }
  return c->finish ? mafat_exact_finish(sum, c->scale[filter], c->bias[filter], &c->activation)
                   : sum;
}

struct mafat_exact mafat_exact_depthwise(const struct mafat_depthwise_call *c, int channel, int row,
                                         int col)
{
  struct mafat_exact sum = {0, 0};
  for (int tap = 0; tap < mafat_window_area(&c->window); tap++) {
    const float *x = tap_at(c->rows, &c->window, tap, row, col, c->in_pixel_floats);
    accumulate(&sum, x[channel], c->weights[tap * c->width + channel]);
  }
  return mafat_exact_finish(sum, c->scale[channel], c->bias[channel], &c->activation);
}

/* Computes T x T', for a matrix T of n x m and a matrix x of m x m. */
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

/* Interpolation points of a Winograd size, which determine its matrices. The first is 0, the next
 * are in pairs of opposite sign, and the last is infinity, which is not stored. */
struct points {
  int outputs, n; /* n: number of points, including infinity */
  double at[8];
};

#define ROOT_HALF 0.70710678118654752440
#define ROOT_2 1.41421356237309504880

static const struct points sizes[MAFAT_N_WINOGRADS] = {
    [MAFAT_WINOGRAD_4X4] = {4, 6, {0, ROOT_HALF, -ROOT_HALF, ROOT_2, -ROOT_2}},
    [MAFAT_WINOGRAD_6X6] = {6, 8, {0, 1, -1, 2, -2, 0.5, -0.5}}};

/* Finds the coefficients of the product of (x - p) over all finite points p but point `without`. */
static void polynomial(const struct points *p, int without, double *c)
{
  for (int i = 0; i < p->n; i++) c[i] = i == 0;
  for (int k = 0, degree = 0; k < p->n - 1; k++) {
    if (k == without) continue;
    degree++;
    for (int i = degree; i >= 0; i--) c[i] = (i ? c[i - 1] : 0) - p->at[k] * c[i];
  }
}

/* Product of the differences between point i and each other finite point. */
static double distances(const struct points *p, int i)
{
  double product = 1;
  for (int k = 0; k < p->n - 1; k++)
    if (k != i) product *= p->at[i] - p->at[k];
  return product;
}

/* -1 if the product at point 0 is negative. The rows of point 0 in the matrices G and B' then both
 * change their sign, so that results stay the same. */
static double sign_of(const struct points *p, int i)
{
  return i == 0 && distances(p, 0) < 0 ? -1 : 1;
}

void mafat_exact_winograd_weights(enum mafat_winograd_size size, const double *g,
                                  struct mafat_exact *out)
{
  const struct points *p = &sizes[size];
  double matrix[8][3] = {{0}};
  for (int i = 0; i < p->n - 1; i++) {
    double scale = sign_of(p, i) / distances(p, i);
    matrix[i][0] = scale;
    matrix[i][1] = scale * p->at[i];
    matrix[i][2] = scale * p->at[i] * p->at[i];
  }
  matrix[p->n - 1][2] = 1;
  transform(p->n, 3, matrix[0], g, out);
}

void mafat_exact_winograd_input(enum mafat_winograd_size size, const double *d,
                                struct mafat_exact *out)
{
  const struct points *p = &sizes[size];
  double matrix[64];
  for (int i = 0; i < p->n; i++) {
    polynomial(p, i, matrix + i * p->n);
    for (int j = 0; j < p->n; j++) matrix[i * p->n + j] *= sign_of(p, i);
  }
  transform(p->n, p->n, matrix, d, out);
}

void mafat_exact_winograd_output(enum mafat_winograd_size size, const double *m,
                                 struct mafat_exact *out)
{
  const struct points *p = &sizes[size];
  double matrix[64];
  for (int row = 0; row < p->outputs; row++)
    for (int i = 0; i < p->n; i++)
      matrix[row * p->n + i] = i < p->n - 1 ? pow(p->at[i], row) : row == p->outputs - 1;
  transform(p->outputs, p->n, matrix, m, out);
}
