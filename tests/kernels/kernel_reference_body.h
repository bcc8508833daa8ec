/* The reference kernels, compiled once per class. Sums are implemented from the contract in
 * kernels.h. It does not list the operations of activations and Winograd transforms, so these use
 * the kernels' own code on vectors of one lane; tests compare their values with kernel_exact.h. The
 * including file defines REFERENCE_FUSED and REFERENCE_TABLE. Included by kernel_reference_fused.c
 * and kernel_reference_plain.c. */
#define LEVEL_VECTOR "tests/kernels/kernel_reference_vector.h"
#define LEVEL_PART(name)
#include "runner/kernels/vector.h"

#include "tests/kernels/kernel_reference.h"

#include "runner/kernels/activation.h"
#include "runner/kernels/finish.h"
#include "runner/kernels/winograd.h"

static float larger(float most, float next)
{
  return next > most ? next : most;
}

/* Address of output `filter` of (row, col). */
static float *conv_output(const struct mafat_conv_call *c, int filter, int row, int col)
{
  int s = filter / MAFAT_CHANNEL_BLOCK;
  return c->segments[s].rows[row] + (size_t)col * (size_t)c->segments[s].pixel_floats +
         filter % MAFAT_CHANNEL_BLOCK;
}

static float conv_sum(const struct mafat_conv_call *c, int filter, int row, int col, float sum)
{
  const float *w = c->weights + filter;
  for (int p = 0; p < c->n_block_slices; p++)
    for (int ky = 0; ky < c->window.y.size; ky++)
      for (int kx = 0; kx < c->window.x.size; kx++) {
        const struct mafat_conv_block_slice *block_slice = &c->block_slices[p];
        const float *x = block_slice->rows[row * c->window.y.stride + ky * c->window.y.dilation] +
                         (size_t)(col * c->window.x.stride + kx * c->window.x.dilation) *
                             (size_t)block_slice->pixel_floats;
        for (int ch = 0; ch < block_slice->n_channels; ch++, w += c->width)
          sum = scalar_madd(x[ch], *w, sum);
      }
  return sum;
}

static float conv_value(const struct mafat_conv_call *c, int filter, int row, int col)
{
  float sum = conv_sum(c, filter, row, col, c->start ? 0.0f : *conv_output(c, filter, row, col));
  if (!c->finish) return sum;
  return activate_scalar(scalar_madd(sum, c->scale[filter], c->bias[filter]), c->activation);
}

static void conv_pooled(const struct mafat_conv_call *c, int filter)
{
  for (int row = 0; row < c->n_rows; row += 2)
    for (int col = 0; col < c->n_cols; col += 2) {
      float most = -FLT_MAX;
      for (int y = row; y < row + 2 && y < c->n_rows; y++)
        for (int x = col; x < col + 2 && x < c->n_cols; x++)
          most = larger(most, conv_value(c, filter, y, x));
      *conv_output(c, filter, row / 2, col / 2) = most;
    }
}

static void conv(const struct mafat_conv_call *c)
{
  int n_filters = 0;
  for (int s = 0; s < c->n_segments; s++) n_filters += c->segments[s].n_filters;
  for (int f = 0; f < n_filters; f++) {
    if (c->pool) {
      conv_pooled(c, f);
      continue;
    }
    for (int row = 0; row < c->n_rows; row++)
      for (int col = 0; col < c->n_cols; col++)
        *conv_output(c, f, row, col) = conv_value(c, f, row, col);
  }
}

static void product(const struct mafat_product_call *c)
{
  for (int p = 0; p < c->n_points; p++)
    for (int tile = 0; tile < c->n_tiles; tile++)
      for (int f = 0; f < c->width; f++) {
        const float *x =
            c->values + (size_t)p * c->values_point + (size_t)tile * (size_t)c->tile_floats;
        const float *w = c->weights + (size_t)p * c->weights_point + f;
        float *out = c->sums + (size_t)p * c->sums_point + (size_t)(tile * c->width + f);
        float sum = c->start || c->apart ? 0.0f : *out;
        for (int ch = 0; ch < c->n_channels; ch++) sum = scalar_madd(x[ch], w[ch * c->width], sum);
        *out = c->apart ? *out + sum : sum;
      }
}

static void depthwise(const struct mafat_depthwise_call *c)
{
  for (int row = 0; row < c->n_rows; row++)
    for (int col = 0; col < c->n_cols; col++)
      for (int ch = 0; ch < c->n_channels; ch++) {
        float sum = 0;
        for (int ky = 0; ky < c->window.y.size; ky++)
          for (int kx = 0; kx < c->window.x.size; kx++) {
            const float *x = c->rows[row * c->window.y.stride + ky * c->window.y.dilation];
            int at = col * c->window.x.stride + kx * c->window.x.dilation;
            sum = scalar_madd(x[(size_t)at * (size_t)c->in_pixel_floats + (size_t)ch],
                              c->weights[(ky * c->window.x.size + kx) * c->width + ch], sum);
          }
        c->out[row][(size_t)col * (size_t)c->out_pixel_floats + (size_t)ch] =
            activate_scalar(scalar_madd(sum, c->scale[ch], c->bias[ch]), c->activation);
      }
}

static void maxpool(const struct mafat_pool_call *c)
{
  for (int col = 0; col < c->n_cols; col++)
    for (int ch = 0; ch < c->n_channels; ch++) {
      float most = -FLT_MAX;
      for (int r = 0; r < c->n_rows; r++)
        for (int kx = 0; kx < c->taps.size; kx++) {
          int x = c->first_col + col * c->taps.stride + kx * c->taps.dilation;
          if (x >= c->in_begin && x < c->in_end)
            most = larger(most, c->rows[r][(ptrdiff_t)x * c->in_pixel_floats + ch]);
        }
      c->out[(size_t)col * (size_t)c->out_pixel_floats + (size_t)ch] = most;
    }
}

static void avgpool(const struct mafat_pool_call *c)
{
  for (int col = 0; col < c->n_cols; col++)
    for (int ch = 0; ch < c->n_channels; ch++) {
      float sum = 0;
      int taps = 0;
      for (int r = 0; r < c->n_rows; r++)
        for (int kx = 0; kx < c->taps.size; kx++) {
          int x = c->first_col + col * c->taps.stride + kx * c->taps.dilation;
          if (x >= c->in_begin - c->padded_before && x < c->in_end + c->padded_after) taps++;
          if (x < c->in_begin || x >= c->in_end) continue;
          sum += c->rows[r][(ptrdiff_t)x * c->in_pixel_floats + ch];
        }
      taps += taps / c->n_rows * c->padded_rows;
      c->out[(size_t)col * (size_t)c->out_pixel_floats + (size_t)ch] = sum / (float)taps;
    }
}

static float blend_values(const struct mafat_blend_call *c, float x, float z)
{
  switch (c->blend) {
  case MAFAT_BLEND_MUL: return x * z;
  case MAFAT_BLEND_MAX: return larger(x, z);
  case MAFAT_BLEND_MIN: return z < x ? z : x;
  case MAFAT_BLEND_DIV: return x / z;
  case MAFAT_BLEND_RDIV: return z / x;
  case MAFAT_BLEND_PRELU: return scalar_madd(z, x < 0.0f ? x : 0.0f, x > 0.0f ? x : 0.0f);
  case MAFAT_BLEND_POW: return (float)pow((double)x, (double)z);
  case MAFAT_BLEND_RPOW: return (float)pow((double)z, (double)x);
  default: break;
  }
  float scaled = c->alpha * x;
  return scalar_madd(c->beta, z, scaled);
}

static void blend(const struct mafat_blend_call *c)
{
  for (int col = 0; col < c->n_cols; col++)
    for (int ch = 0; ch < c->n_channels; ch++) {
      float y = c->x[(size_t)col * (size_t)c->x_pixel_floats + (size_t)ch];
      if (c->z)
        y = blend_values(
            c, y, c->z[(size_t)col * (size_t)c->z_pixel_floats + (size_t)(c->z_single ? 0 : ch)]);
      c->y[(size_t)col * (size_t)c->y_pixel_floats + (size_t)ch] =
          activate_scalar(y, c->activation);
    }
}

static void scale_channels(const float *x, int x_pixel_floats, float *y, int y_pixel_floats,
                           int n_cols, int n_channels, const float *scale, const float *bias,
                           struct mafat_activating activation)
{
  for (int col = 0; col < n_cols; col++)
    for (int ch = 0; ch < n_channels; ch++)
      y[(size_t)col * (size_t)y_pixel_floats + (size_t)ch] = activate_scalar(
          scalar_madd(x[(size_t)col * (size_t)x_pixel_floats + (size_t)ch], scale[ch], bias[ch]),
          activation);
}

static void activate(float *x, size_t n, struct mafat_activating a)
{
  for (size_t i = 0; i < n; i++) x[i] = activate_scalar(x[i], a);
}

static void softmax(const float *in, float *out, size_t n, float temperature)
{
  float largest = -FLT_MAX;
  double sum = 0;
  for (size_t i = 0; i < n; i++) largest = larger(largest, in[i]);
  for (size_t i = 0; i < n; i++) {
    out[i] = exponential(in[i] / temperature - largest / temperature);
    sum += out[i];
  }
  for (size_t i = 0; i < n; i++) out[i] = (float)(out[i] / sum);
}

static void scale_bytes(const uint8_t *bytes, float *out, int n)
{
  for (int i = 0; i < n; i++) out[i] = (float)(bytes[i] / 255.);
}

static float weigh(float a, float b, float first_weight, float second_weight)
{
  float first = first_weight * a, second = second_weight * b;
  return first + second;
}

static float resampled(const struct mafat_resample_call *c, const struct mafat_resample_tap *t,
                       int channel)
{
  float at[2][2]; /* line, tap */
  for (int i = 0; i < 2; i++) {
    at[i][0] = (float)(c->lines[i][t->first + channel] / 255.);
    at[i][1] = (float)(c->lines[i][t->second + channel] / 255.);
  }
  if (c->column)
    return weigh(weigh(at[0][0], at[1][0], c->weights[0], c->weights[1]),
                 weigh(at[0][1], at[1][1], c->weights[0], c->weights[1]), t->first_weight,
                 t->second_weight);
  return weigh(weigh(at[0][0], at[0][1], t->first_weight, t->second_weight),
               weigh(at[1][0], at[1][1], t->first_weight, t->second_weight), c->weights[0],
               c->weights[1]);
}

static void resample(const struct mafat_resample_call *c)
{
  for (int i = 0; i < c->n_pixels; i++)
    for (int k = 0; k < c->n_channels; k++)
      c->out[(size_t)i * c->out_stride + (size_t)k] = resampled(c, &c->taps[i], k);
}

/* A half float of IEEE 754. */
static float widen_half(uint16_t h)
{
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const float sign = h >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * (float)(exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

static void widen_halves(const void *from, int n_rows, int width, float *to)
{
  const uint16_t *at = from;
  for (int i = 0; i < n_rows * width; i++) to[i] = widen_half(at[i]);
}

static void widen_bytes(const void *from, int n_rows, int width, float *to)
{
  const int8_t *at = from;
  for (int i = 0; i < n_rows * width; i++) to[i] = at[i];
}

static void widen_nibbles(const void *from, int n_rows, int width, float *to)
{
  const unsigned char *at = from;
  for (int row = 0; row < n_rows; row += MAFAT_SCALED_ROWS) {
    const int n = n_rows - row < MAFAT_SCALED_ROWS ? n_rows - row : MAFAT_SCALED_ROWS;
    const unsigned char *scales = at + n * width / 2;
    for (int i = 0; i < n * width; i++) {
      const int number = i % 2 ? at[i / 2] >> 4 : at[i / 2] & 15;
      uint16_t scale;
      memcpy(&scale, scales + 2 * (i % width), sizeof scale);
      *to++ = (float)(number < 8 ? number : number - 16) * widen_half(scale);
    }
    at = scales + 2 * width;
  }
}

const struct mafat_kernels REFERENCE_TABLE = {
    .name = "reference",
    .fused = REFERENCE_FUSED,
    .conv = conv,
    .winograd = WINOGRAD_KERNELS,
    .product = product,
    .depthwise = depthwise,
    .maxpool = maxpool,
    .avgpool = avgpool,
    .blend = blend,
    .scale = scale_channels,
    .activate = activate,
    .softmax = softmax,
    .scale_bytes = scale_bytes,
    .resample = resample,
    .widen = {
#define TYPE(CONSTANT, name, array, bits, exponent, weights) [MAFAT_##CONSTANT] = weights,
#define FLOATS NULL
#define NONE NULL
#define NARROW(packing, WIDER, elements) widen_##elements
#define SCALED NARROW
#include "network/dtypes.def"
    },
};
