/* The kernels, written once on vector.h and compiled once per level. The
 * including file defines LEVEL_NAME and LEVEL_TABLE. */
#include "runner/kernels.h"

#include "runner/kernels/vector.h"

#include "runner/kernels/activation.h"

#include <float.h>

#define INLINE static inline __attribute__((always_inline))

enum {
  MAX_VECTORS = MAFAT_CHANNEL_BLOCK / VECTOR_LANES, /* vectors in a segment */
  /* Pixels per tile: with two vectors of 8, 12 accumulators, 2 weights and a
   * broadcast fill 15 of 16 registers; with four of 4, two pixels fill 14. */
  TILE_PIXELS = VECTOR_LANES == 8 ? 6 : 2
};

/* ---- convolution ---- */

/* Out of line: seventeen activations in every tile would be 300 KB of code. */
static __attribute__((noinline)) void activate_lanes(float *lanes, enum mafat_activation a)
{
  activate_array(lanes, VECTOR_LANES, a);
}

/* y = activation(sum * scale + bias) for one vector of filters. */
INLINE vec finish_vector(vec sum, const float *scale, const float *bias, enum mafat_activation a)
{
  vec y = vec_madd(sum, vec_load(scale), vec_load(bias));
  if (a == MAFAT_LEAKY) return vec_max(y, vec_mul(y, vec_all(0.1f)));
  if (a == MAFAT_RELU) return vec_max(y, vec_all(0.0f));
  if (a == MAFAT_LINEAR) return y;
  float lanes[VECTOR_LANES];
  vec_store(lanes, y);
  activate_lanes(lanes, a);
  return vec_load(lanes);
}

/* P output pixels x NV vectors of filters, kept in registers over the whole
 * sum. SIZE is the window where it is known at compile time, else 0. */
INLINE void conv_tile(const struct mafat_conv_call *c, const struct mafat_conv_segment *segment,
                      int first_filter, int row, int col, const int P, const int NV,
                      const int SIZE)
{
  const int size = SIZE ? SIZE : c->size;
  const int width = c->width, stride = c->stride;
  float *out = segment->rows[row] + (size_t)col * (size_t)segment->pixel_floats;
  const size_t out_step = (size_t)segment->pixel_floats;
  vec sum[TILE_PIXELS][MAX_VECTORS];
#pragma GCC unroll 8
  for (int p = 0; p < P; p++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++)
      sum[p][v] = c->start ? vec_all(0.0f)
                           : vec_load_n(out + (size_t)p * out_step + v * VECTOR_LANES,
                                        segment->n_filters - v * VECTOR_LANES);

  const float *w = c->weights + first_filter;
  for (int i = 0; i < c->n_pieces; i++) {
    const struct mafat_conv_piece *piece = &c->pieces[i];
    const size_t pixel = (size_t)piece->pixel_floats, step = pixel * (size_t)stride;
    const int n = piece->n_channels;
    for (int ky = 0; ky < size; ky++) {
      const float *in = piece->rows[row * stride + ky] + (size_t)col * step;
      for (int kx = 0; kx < size; kx++, in += pixel)
        for (int ch = 0; ch < n; ch++, w += width) {
          vec weight[MAX_VECTORS];
#pragma GCC unroll 4
          for (int v = 0; v < NV; v++) weight[v] = vec_load(w + v * VECTOR_LANES);
#pragma GCC unroll 8
          for (int p = 0; p < P; p++) {
            vec x = vec_all(in[(size_t)p * step + (size_t)ch]);
#pragma GCC unroll 4
            for (int v = 0; v < NV; v++) sum[p][v] = vec_madd(x, weight[v], sum[p][v]);
          }
        }
    }
  }

#pragma GCC unroll 8
  for (int p = 0; p < P; p++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) {
      int filter = first_filter + v * VECTOR_LANES;
      vec y = c->finish ? finish_vector(sum[p][v], c->scale + filter, c->bias + filter, c->activation)
                        : sum[p][v];
      vec_store_n(out + (size_t)p * out_step + v * VECTOR_LANES, y,
                  segment->n_filters - v * VECTOR_LANES);
    }
}

typedef void (*tile_function)(const struct mafat_conv_call *c,
                              const struct mafat_conv_segment *segment, int first_filter, int row,
                              int col);

#define TILE(P, NV, SIZE) \
  static void tile_##P##_##NV##_##SIZE(const struct mafat_conv_call *c, \
                                       const struct mafat_conv_segment *segment, \
                                       int first_filter, int row, int col) \
  { \
    conv_tile(c, segment, first_filter, row, col, P, NV, SIZE); \
  }

/* Tables of tiles: [window 1, 3 or other][vectors - 1][pixels - 1]. */
#if VECTOR_LANES == 8
#define TILES(NV, SIZE) \
  TILE(1, NV, SIZE) TILE(2, NV, SIZE) TILE(3, NV, SIZE) TILE(4, NV, SIZE) TILE(5, NV, SIZE) \
  TILE(6, NV, SIZE)
#define TILE_ROW(NV, SIZE) \
  {tile_1_##NV##_##SIZE, tile_2_##NV##_##SIZE, tile_3_##NV##_##SIZE, \
   tile_4_##NV##_##SIZE, tile_5_##NV##_##SIZE, tile_6_##NV##_##SIZE}
#define TILE_SIZES(SIZE) TILES(1, SIZE) TILES(2, SIZE)
#define TILE_TABLE(SIZE) {TILE_ROW(1, SIZE), TILE_ROW(2, SIZE)}
#else
#define TILES(NV, SIZE) TILE(1, NV, SIZE) TILE(2, NV, SIZE)
#define TILE_ROW(NV, SIZE) {tile_1_##NV##_##SIZE, tile_2_##NV##_##SIZE}
#define TILE_SIZES(SIZE) TILES(1, SIZE) TILES(2, SIZE) TILES(3, SIZE) TILES(4, SIZE)
#define TILE_TABLE(SIZE) \
  {TILE_ROW(1, SIZE), TILE_ROW(2, SIZE), TILE_ROW(3, SIZE), TILE_ROW(4, SIZE)}
#endif

TILE_SIZES(0)
TILE_SIZES(1)
TILE_SIZES(3)

static const tile_function tiles[3][MAX_VECTORS][TILE_PIXELS] = {TILE_TABLE(0), TILE_TABLE(1),
                                                                 TILE_TABLE(3)};

static void conv(const struct mafat_conv_call *c)
{
  int first_filter = 0;
  for (int s = 0; s < c->n_segments; s++) {
    const struct mafat_conv_segment *segment = &c->segments[s];
    int vectors = (segment->n_filters + VECTOR_LANES - 1) / VECTOR_LANES;
    const tile_function *row_of_tiles = tiles[c->size == 1 ? 1 : c->size == 3 ? 2 : 0][vectors - 1];
    /* Tiles of nearly equal width: 19 columns are 5 + 5 + 5 + 4, not 3 x 6 + 1. */
    int n_tiles = (c->n_cols + TILE_PIXELS - 1) / TILE_PIXELS;
    for (int row = 0; row < c->n_rows; row++)
      for (int t = 0, col = 0; t < n_tiles; t++) {
        int pixels = (c->n_cols - col + n_tiles - t - 1) / (n_tiles - t);
        row_of_tiles[pixels - 1](c, segment, first_filter, row, col);
        col += pixels;
      }
    first_filter += segment->n_filters;
  }
}

/* ---- depthwise ---- */

INLINE void depthwise_tile(const struct mafat_depthwise_call *c, int row, int col, const int P)
{
  const size_t in_pixel = (size_t)c->in_pixel_floats, step = in_pixel * (size_t)c->stride;
  for (int v = 0; v < c->n_channels; v += VECTOR_LANES) {
    const int lanes = c->n_channels - v;
    const float *w = c->weights + v;
    vec sum[4];
#pragma GCC unroll 4
    for (int p = 0; p < P; p++) sum[p] = vec_all(0.0f);
    for (int ky = 0; ky < c->size; ky++) {
      const float *in = c->rows[row * c->stride + ky] + (size_t)col * step + v;
      for (int kx = 0; kx < c->size; kx++, w += c->width, in += in_pixel) {
        vec weight = vec_load_n(w, lanes);
#pragma GCC unroll 4
        for (int p = 0; p < P; p++)
          sum[p] = vec_madd(vec_load_n(in + (size_t)p * step, lanes), weight, sum[p]);
      }
    }
    vec scale = vec_load_n(c->scale + v, lanes), bias = vec_load_n(c->bias + v, lanes);
    float s[VECTOR_LANES], b[VECTOR_LANES];
    vec_store(s, scale);
    vec_store(b, bias);
#pragma GCC unroll 4
    for (int p = 0; p < P; p++)
      vec_store_n(c->out[row] + (size_t)(col + p) * (size_t)c->out_pixel_floats + v,
                  finish_vector(sum[p], s, b, c->activation), lanes);
  }
}

static void depthwise(const struct mafat_depthwise_call *c)
{
  for (int row = 0; row < c->n_rows; row++) {
    int col = 0;
    for (; col + 4 <= c->n_cols; col += 4) depthwise_tile(c, row, col, 4);
    for (; col < c->n_cols; col++) depthwise_tile(c, row, col, 1);
  }
}

/* ---- the rest: bound by memory, not arithmetic ---- */

static void maxpool(const struct mafat_pool_call *c)
{
  const size_t in_pixel = (size_t)c->in_pixel_floats;
  for (int col = 0; col < c->n_cols; col++) {
    int x0 = c->first_col + col * c->stride, x1 = x0 + c->size;
    if (x0 < c->in_begin) x0 = c->in_begin;
    if (x1 > c->in_end) x1 = c->in_end;
    float *out = c->out + (size_t)col * (size_t)c->out_pixel_floats;
    for (int v = 0; v < c->n_channels; v += VECTOR_LANES) {
      const int lanes = c->n_channels - v;
      vec most = vec_all(-FLT_MAX);
      for (int r = 0; r < c->n_rows; r++)
        for (int x = x0; x < x1; x++)
          most = vec_max(vec_load_n(c->rows[r] + (size_t)x * in_pixel + v, lanes), most);
      vec_store_n(out + v, most, lanes);
    }
  }
}

static void add(const struct mafat_add_call *c)
{
  for (int col = 0; col < c->n_cols; col++) {
    const float *x = c->x + (size_t)col * (size_t)c->x_pixel_floats;
    const float *z = c->z ? c->z + (size_t)col * (size_t)c->z_pixel_floats : NULL;
    float *y = c->y + (size_t)col * (size_t)c->y_pixel_floats;
    for (int ch = 0; ch < c->n_channels; ch++)
      y[ch] = z ? scalar_madd(c->beta, z[ch], c->alpha * x[ch]) : x[ch];
    if (c->activation != MAFAT_LINEAR) activate_array(y, (size_t)c->n_channels, c->activation);
  }
}

static void scale_channels(const float *x, int x_pixel_floats, float *y, int y_pixel_floats,
                           int n_cols, int n_channels, const float *scale, const float *bias,
                           enum mafat_activation activation)
{
  for (int col = 0; col < n_cols; col++) {
    const float *from = x + (size_t)col * (size_t)x_pixel_floats;
    float *to = y + (size_t)col * (size_t)y_pixel_floats;
    for (int ch = 0; ch < n_channels; ch++) to[ch] = scalar_madd(from[ch], scale[ch], bias[ch]);
    activate_array(to, (size_t)n_channels, activation);
  }
}

static void softmax(const float *in, float *out, size_t n, float temperature)
{
  float largest = -FLT_MAX;
  double sum = 0; /* a float loses a digit over a thousand classes */
  for (size_t i = 0; i < n; i++)
    if (in[i] > largest) largest = in[i];
  for (size_t i = 0; i < n; i++) out[i] = exponential(in[i] / temperature - largest / temperature);
  for (size_t i = 0; i < n; i++) sum += out[i];
  for (size_t i = 0; i < n; i++) out[i] = (float)(out[i] / sum);
}

const struct mafat_kernels LEVEL_TABLE = {
    .name = LEVEL_NAME,
    .fused = VECTOR_FUSED,
    .conv = conv,
    .depthwise = depthwise,
    .maxpool = maxpool,
    .add = add,
    .scale = scale_channels,
    .activate = activate_array,
    .softmax = softmax,
};
