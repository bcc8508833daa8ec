/* Cases of 8-bit integer kernels, compared bit for bit with the rule
 * (tests/kernels/integer_rule.h). Half of the values are limits of their types, half of the
 * biases make sums reach their limits. Called by kernel_check.c. */
#include "tests/kernel_check/check.h"
#include "tests/kernels/integer_rule.h"

#include "base/blocks.h"
#include "predictor/plan/packing.h"

#include <math.h>
#include <string.h>

enum { MAX_IN_ROWS = 64, MAX_SLICES = 12, MAX_OUT_ROWS = 6, BYTES_AFTER = 3 };

/* ---- random values ---- */

/* Random inputs and weights: uniform; half of them at the ends of their type's range; most of them
 * of the largest magnitude (255 and -128). */
enum nastiness { UNIFORM, ENDS, LARGEST, N_NASTINESS };

static uint8_t random_byte(enum nastiness how)
{
  if (how == LARGEST) return one_in(20) ? 0 : 255;
  if (how == ENDS && one_in(2)) return one_in(2) ? 255 : 0;
  return (uint8_t)random_in(0, 255);
}

static int8_t random_weight(enum nastiness how)
{
  if (how == LARGEST) return one_in(20) ? 127 : -128;
  if (how == ENDS && one_in(2)) return one_in(2) ? 127 : -128;
  return (int8_t)random_in(-128, 127);
}

static struct mafat_rule_scale random_scale(int least, int most)
{
  if (one_in(12)) return (struct mafat_rule_scale){0, 0};
  int32_t multiplier = one_in(4)   ? 1 << 30
                       : one_in(3) ? INT32_MAX
                                   : random_in(1 << 30, INT32_MAX - 1);
  return (struct mafat_rule_scale){multiplier,
                                   one_in(8) ? (one_in(2) ? most : least) : random_in(least, most)};
}

static struct mafat_multiplier as_multiplier(struct mafat_rule_scale s)
{
  return (struct mafat_multiplier){s.multiplier, s.shift};
}

static struct mafat_quantization random_output(void)
{
  struct mafat_quantization q = {
      .scale = 1, .zero = random_byte(ENDS), .most = 255, .rounding = MAFAT_REQUANTIZE_FIXED};
  if (one_in(3)) q.rounding = MAFAT_REQUANTIZE_EVEN;
  if (one_in(3)) {
    q.least = (uint8_t)random_in(0, 255);
    q.most = (uint8_t)random_in(q.least, 255);
  }
  return q;
}

static struct mafat_rule_output as_output(const struct mafat_quantization *q)
{
  return (struct mafat_rule_output){q->zero, q->least, q->most};
}

/* Factors of ONNX's rule, as float bits, below 2^(most + 1); some are powers of two, so that
 * halves occur. */
static int32_t factor_of(int usual, int most)
{
  const float f = ldexpf(one_in(2) ? 1 : 1 + (float)random_in(0, (1 << 23) - 1) * 0x1p-23f,
                         one_in(3) ? random_in(-31, most) : random_in(-12, usual));
  int32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static int32_t random_factor(void)
{
  return factor_of(-1, 29);
}

static float as_factor(int32_t bits)
{
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Random rows of bias, multiplier and shift, of n filters each. Biases are small enough that
 * sums stay in 32 bits. */
static struct mafat_integer_finish random_finish(int n, int64_t largest_sum)
{
  int32_t *rows = (int32_t *)(void *)input_floats(3 * (size_t)n);
  const int32_t most = (int32_t)(INT32_MAX - largest_sum);
  const bool small = one_in(2), negative = one_in(2); /* weights with a negative scale */
  const bool alike = /* one factor for both signs, below a half: the usual case */
      one_in(2);
  for (int i = 0; i < n; i++) {
    struct mafat_rule_scale s = random_scale(small ? -12 : -31, small ? -3 : one_in(4) ? 30 : 0);
    rows[i] = one_in(3) ? (one_in(2) ? most : -most) : random_in(-200000, 200000);
    rows[n + i] = negative && one_in(4) ? -s.multiplier : s.multiplier;
    rows[2 * n + i] = s.shift;
  }
  struct mafat_integer_finish to = {rows, rows + n, rows + 2 * n, random_output()};
  if (to.out.rounding == MAFAT_REQUANTIZE_EVEN)
    for (int i = 0; i < n; i++) {
      rows[n + i] = alike ? factor_of(-2, -2) : random_factor();
      rows[2 * n + i] = alike || one_in(2) ? 0 : random_factor(); /* factor of negative sums */
    }
  return to;
}

static uint8_t finished(const struct mafat_integer_finish *to, int filter, int32_t sum)
{
  if (to->out.rounding == MAFAT_REQUANTIZE_EVEN)
    return (uint8_t)mafat_rule_finish_even(sum, as_factor(to->multipliers[filter]),
                                           as_factor(to->shifts[filter]), as_output(&to->out));
  return (uint8_t)mafat_rule_finish(
      sum, (struct mafat_rule_scale){to->multipliers[filter], to->shifts[filter]},
      as_output(&to->out));
}

/* A row of pixels, followed by the bytes that may be read past the end. */
static const uint8_t *input_row(int n_pixels, int channels, int pixel_bytes, enum nastiness how)
{
  size_t n = (size_t)(n_pixels - 1) * (size_t)pixel_bytes + (size_t)channels + BYTES_AFTER;
  uint8_t *row = byte_inputs(n);
  for (size_t i = 0; i < n; i++) row[i] = random_byte(how);
  return row;
}

static struct mafat_taps random_taps(int largest)
{
  int size = one_in(2) ? (one_in(2) ? 1 : 3) : random_in(1, largest);
  return (struct mafat_taps){size, one_in(2) ? 1 : random_in(1, 3),
                             size <= 5 && one_in(4) ? random_in(1, 3) : 1, 0, 0};
}

static struct mafat_window random_window(int largest)
{
  struct mafat_window w;
  w.y = w.x = random_taps(largest);
  if (one_in(3)) w.y = random_taps(largest);
  return w;
}

/* ---- convolution ---- */

static const uint8_t *in_rows[MAX_SLICES][MAX_IN_ROWS];
static uint8_t *out_rows[2][MAX_OUT_ROWS];

/* Runs the kernel without its optional caches, then twice with them: the second time it uses
 * what it stored. */
static void run_conv(const struct mafat_integer_kernels *k, const void *call)
{
  const struct mafat_integer_conv_call *c = call;
  struct mafat_integer_conv_call again = *c;
  uint16_t sorted[8192] = {0};
  struct mafat_integer_input_sums input_sums = {.known = false};
  k->conv(c);
  if (!c->start || !c->finish) return;
  again.input_sums = &input_sums;
  again.sorted = sorted;
  again.sorted_capacity = sizeof sorted / sizeof *sorted;
  k->conv(&again);
  k->conv(&again);
}

/* Makes the rows of an input: contiguous if `follow`, else separate. */
static void make_rows(const uint8_t **rows, int n_rows, int n_cols, int n, int pixel,
                      enum nastiness how, bool follow)
{
  const uint8_t *all = follow ? input_row(n_rows * n_cols, n, pixel, how) : NULL;
  for (int r = 0; r < n_rows; r++)
    rows[r] = all ? all + (size_t)(r * n_cols) * (size_t)pixel : input_row(n_cols, n, pixel, how);
}

static void make_out_rows(uint8_t **rows, int n_rows, int n_cols, int n, int pixel, bool follow)
{
  uint8_t *all = follow ? byte_outputs((size_t)((n_rows * n_cols - 1) * pixel + n), 1) : NULL;
  for (int r = 0; r < n_rows; r++)
    rows[r] = all ? all + (size_t)(r * n_cols) * (size_t)pixel
                  : byte_outputs((size_t)((n_cols - 1) * pixel + n), 1);
}

static int make_block_slices(const struct mafat_integer_conv_call *c,
                             struct mafat_integer_block_slice *block_slices, enum nastiness how)
{
  const bool follow = one_in(2);
  const int n_rows = mafat_taps_inputs(c->window.y, c->n_rows),
            n_cols = mafat_taps_inputs(c->window.x, c->n_cols);
  int quads = 0;
  for (int p = 0; p < c->n_block_slices; p++) {
    const bool dense = c->n_block_slices == 1 && one_in(10);
    const int n = dense ? random_in(1, 300) : one_in(2) ? 16 : random_in(1, 16);
    block_slices[p] =
        (struct mafat_integer_block_slice){in_rows[p], n, one_in(2) ? n : n + random_in(0, 20)};
    make_rows(in_rows[p], n_rows, n_cols, n, block_slices[p].pixel_bytes, how, follow);
    quads += mafat_divide_up(n, 4);
  }
  return quads * mafat_window_area(&c->window);
}

/* Sum of one filter, with weights in their original order. */
static int32_t conv_sum(const struct mafat_integer_conv_call *c, int row, int col, int filter)
{
  const int8_t *w = c->weights + 4 * filter;
  int32_t sum = 0;
  for (int p = 0; p < c->n_block_slices; p++)
    for (int tap = 0; tap < mafat_window_area(&c->window); tap++) {
      const struct mafat_integer_block_slice *block_slice = &c->block_slices[p];
      int y = row * c->window.y.stride + tap / c->window.x.size * c->window.y.dilation;
      int x = col * c->window.x.stride + tap % c->window.x.size * c->window.x.dilation;
      const uint8_t *in = block_slice->rows[y] + (size_t)x * (size_t)block_slice->pixel_bytes;
      for (int ch = 0; ch < block_slice->n_channels; ch++) {
        sum += in[ch] * (w[ch % 4] - c->weights_zero);
        if (ch % 4 == 3 || ch + 1 == block_slice->n_channels) w += 4 * c->width;
      }
    }
  return sum;
}

/* Changes a pair of weights so that sums of their products with uint8 inputs fit in 16 bits:
 * positive weights of the pair add up to at most `reach`, negative ones to at least -reach. reach:
 * 128; 64 or 32 if two or four quads are summed. */
static void make_fit(int8_t *pair, int reach)
{
  pair[0] = (int8_t)mafat_max(-reach, mafat_min(pair[0], reach));
  const int least = pair[0] < 0 ? -reach - pair[0] : -reach,
            most = mafat_min(pair[0] < 0 ? reach : reach - pair[0], 127);
  pair[1] = (int8_t)(one_in(3) ? least : one_in(2) ? most : random_in(least, most));
}

/* Weights of n <= 4 channels, then zeros. `reach` bounds single weights or sums (make_fit); 0:
 * no bound. */
static void make_quad(int8_t *w, int n, enum nastiness how, int reach)
{
  for (int i = 0; i < 4; i++) w[i] = (int8_t)(i < n ? random_weight(how) : 0);
  for (int i = 0; reach && i + 1 < n; i += 2) {
    make_fit(w + i, reach);
    if (one_in(400) && w[i + 1] > -128 && w[i + 1] < 127)
      w[i + 1] = (int8_t)(w[i + 1] + (w[i] < 0 ? -1 : 1));
  }
}

static const int8_t *make_weights(const struct mafat_integer_conv_call *c, int n_quads,
                                  enum nastiness how)
{
  int8_t *weights = (int8_t *)byte_weights((size_t)n_quads * (size_t)c->width * 4), *w = weights;
  const int reaches[] = {0, 128, 64, 32}, usual = reaches[random_in(0, 3)];
  for (int p = 0; p < c->n_block_slices; p++)
    for (int tap = 0; tap < mafat_window_area(&c->window); tap++)
      for (int ch = 0; ch < c->block_slices[p].n_channels; ch += 4)
        for (int f = 0, reach = usual && one_in(4) ? reaches[random_in(1, 3)] : usual; f < c->width;
             f++, w += 4)
          make_quad(w, c->block_slices[p].n_channels - ch, how, reach);
  return weights;
}

static void make_outputs(struct mafat_integer_conv_call *c, int n_filters)
{
  outputs_reset();
  if (!c->finish || !c->start)
    c->sums = byte_outputs((size_t)(c->n_rows * c->n_cols * c->width) * sizeof(int32_t), 4);
  if (c->sums)
    for (int i = 0; i < c->n_rows * c->n_cols * c->width; i++)
      c->sums[i] = random_in(-1000000, 1000000);
  n_filters = (c->end ? mafat_min(c->end, n_filters) : n_filters) - c->first;
  c->n_segments = mafat_divide_up(n_filters, MAFAT_CHANNEL_BLOCK);
  for (int s = 0; c->finish && s < c->n_segments; s++) {
    const int n = mafat_min(MAFAT_CHANNEL_BLOCK, n_filters - s * MAFAT_CHANNEL_BLOCK);
    c->segments[s] =
        (struct mafat_integer_segment){out_rows[s], n, n + (one_in(2) ? 0 : random_in(0, 20))};
    make_out_rows(out_rows[s], c->n_rows, c->n_cols, n, c->segments[s].pixel_bytes, one_in(2));
  }
}

static void expect_conv(const struct mafat_integer_conv_call *c)
{
  for (int row = 0; row < c->n_rows; row++)
    for (int col = 0; col < c->n_cols; col++)
      for (int f = c->first; f < (c->end ? c->end : c->width); f++) {
        const int lane = f % MAFAT_CHANNEL_BLOCK, segment = (f - c->first) / MAFAT_CHANNEL_BLOCK;
        const struct mafat_integer_segment *s = &c->segments[segment];
        int32_t *kept = c->sums ? c->sums + (row * c->n_cols + col) * c->width + f : NULL;
        int32_t sum = conv_sum(c, row, col, f) + (c->start ? c->to.bias[f] : *kept);
        if (!c->finish) *(int32_t *)expected_of(kept) = sum;
        else if (segment < c->n_segments && lane < s->n_filters)
          *(uint8_t *)expected_of(s->rows[row] + (size_t)col * (size_t)s->pixel_bytes + lane) =
              finished(&c->to, f, sum);
      }
}

void check_integer_conv(struct kernel_check *check)
{
  struct mafat_integer_block_slice block_slices[MAX_SLICES];
  const enum nastiness how = (enum nastiness)random_in(0, N_NASTINESS - 1);
  const int n_filters = one_in(3) ? 32 : random_in(1, 32);
  struct mafat_integer_conv_call call = {
      .block_slices = block_slices,
      .n_block_slices = one_in(4) ? random_in(1, MAX_SLICES) : random_in(1, 3),
      .n_rows = random_in(1, 6),
      .n_cols = one_in(3) ? random_in(1, 60) : random_in(1, 20),
      .width = mafat_panel_width(n_filters),
      .weights_zero = one_in(3) ? (one_in(2) ? random_in(-128, 127) : -128) : 0,
      .start = one_in(3) ? one_in(2) : true,
      .finish = one_in(3) ? one_in(2) : true,
      .window = random_window(5)};
  if (n_filters > MAFAT_CHANNEL_BLOCK && one_in(4)) call.first = MAFAT_CHANNEL_BLOCK;
  else if (n_filters > MAFAT_CHANNEL_BLOCK && one_in(4)) call.end = MAFAT_CHANNEL_BLOCK;
  inputs_reset();
  const int n_quads = make_block_slices(&call, block_slices, how);
  call.weights = make_weights(&call, n_quads, how);
  call.to = random_finish(call.width, (int64_t)n_quads * 4 * 255 * (call.weights_zero ? 255 : 128));
  make_outputs(&call, n_filters);
  expect_conv(&call);
  struct check_bytes_call run = {.kernel = "integer_conv", .run = run_conv, .call = &call};
  snprintf(run.text, sizeof run.text,
           "%s, %d slices, %d quads, %d filters from %d to %d, %d x %d, weights' zero %d%s%s",
           window_text(&call.window, (char[80]){0}, 80), call.n_block_slices, n_quads, n_filters,
           call.first, call.end, call.n_rows, call.n_cols, call.weights_zero,
           call.start ? "" : ", goes on", call.finish ? "" : ", does not finish");
  check_run_bytes(check, &run);
}

/* ---- depthwise convolution ---- */

static void run_depthwise(const struct mafat_integer_kernels *k, const void *call)
{
  k->depthwise(call);
}

static void expect_depthwise(const struct mafat_integer_depthwise_call *c)
{
  for (int row = 0; row < c->n_rows; row++)
    for (int col = 0; col < c->n_cols; col++)
      for (int ch = 0; ch < c->n_channels; ch++) {
        int32_t sum = c->to.bias[ch];
        for (int tap = 0; tap < mafat_window_area(&c->window); tap++) {
          int y = row * c->window.y.stride + tap / c->window.x.size * c->window.y.dilation;
          int x = col * c->window.x.stride + tap % c->window.x.size * c->window.x.dilation;
          sum += c->rows[y][(size_t)x * (size_t)c->in_pixel_bytes + (size_t)ch] *
                 (c->weights[tap * c->width + ch] - c->weights_zero);
        }
        *(uint8_t *)expected_of(c->out[row] + (size_t)col * (size_t)c->out_pixel_bytes + ch) =
            finished(&c->to, ch, sum);
      }
}

void check_integer_depthwise(struct kernel_check *check)
{
  const enum nastiness how = (enum nastiness)random_in(0, N_NASTINESS - 1);
  const bool usual = /* 3 x 3 of complete blocks: kernels have special code for it */
      one_in(3);
  const int n = usual || one_in(3) ? 16 : random_in(1, 16);
  struct mafat_integer_depthwise_call call = {
      .rows = in_rows[0],
      .n_channels = n,
      .in_pixel_bytes = n + (usual || one_in(2) ? 0 : random_in(1, 20)),
      .out_pixel_bytes = n + (one_in(2) ? 0 : random_in(1, 20)),
      .n_rows = random_in(1, 5),
      .n_cols = one_in(4) ? random_in(1, 100) : random_in(1, 30),
      .width = mafat_panel_width(n),
      .weights_zero = one_in(3) ? random_in(-128, 127) : 0,
      .window = usual ? mafat_window_square(3, random_in(1, 2), 1) : random_window(11)};
  const int n_rows = mafat_taps_inputs(call.window.y, call.n_rows),
            n_taps = mafat_window_area(&call.window);
  inputs_reset();
  make_rows(in_rows[0], n_rows, mafat_taps_inputs(call.window.x, call.n_cols), n,
            call.in_pixel_bytes, how, one_in(2));
  int8_t *weights = (int8_t *)byte_inputs((size_t)((n_taps - 1) * call.width + n));
  for (int i = 0; i < (n_taps - 1) * call.width + n; i++) weights[i] = random_weight(how);
  call.weights = weights;
  call.to = random_finish(n, (int64_t)n_taps * 255 * 255);
  call.out = out_rows[0];
  outputs_reset();
  make_out_rows(out_rows[0], call.n_rows, call.n_cols, n, call.out_pixel_bytes, one_in(2));
  expect_depthwise(&call);
  struct check_bytes_call run = {
      .kernel = "integer_depthwise", .run = run_depthwise, .call = &call};
  snprintf(run.text, sizeof run.text, "%s, %d channels, %d x %d, weights' zero %d",
           window_text(&call.window, (char[80]){0}, 80), n, call.n_rows, call.n_cols,
           call.weights_zero);
  check_run_bytes(check, &run);
}

/* ---- pooling ---- */

static void run_maxpool(const struct mafat_integer_kernels *k, const void *call)
{
  k->maxpool(call);
}

static void run_avgpool(const struct mafat_integer_kernels *k, const void *call)
{
  k->avgpool(call);
}

static uint8_t pooled(const struct mafat_integer_pool_call *c, int col, int ch, bool mean)
{
  const bool even = c->to.rounding == MAFAT_REQUANTIZE_EVEN;
  int sum = 0, n = 0, most = 0, from = c->from_signed ? 128 : 0;
  float sum_of_floats = 0;
  for (int r = 0; r < c->n_rows; r++)
    for (int kx = 0; kx < c->taps.size; kx++) {
      int x = c->first_col + col * c->taps.stride + kx * c->taps.dilation;
      if (x < c->in_begin || x >= c->in_end) continue;
      int q = c->rows[r][(ptrdiff_t)x * c->in_pixel_bytes + ch];
      sum += q - from;
      sum_of_floats += mafat_rule_dequantise(q, c->in_scale, c->in_zero);
      most = q > most ? q : most;
      n++;
    }
  if (mean && even)
    return (uint8_t)mafat_rule_mean_even(sum_of_floats, n, c->to.scale, as_output(&c->to));
  int y = mean ? mafat_rule_average(sum, n) + from : most;
  return (uint8_t)(y < c->to.least ? c->to.least : y > c->to.most ? c->to.most : y);
}

/* Pools a map of columns in_begin to in_end; each window has a tap inside it. */
static void check_pool(struct kernel_check *check, const char *kernel, bool mean)
{
  const enum nastiness how = (enum nastiness)random_in(0, N_NASTINESS - 1);
  const int n = one_in(2) ? 16 : random_in(1, 16), n_cols = random_in(1, 24),
            begin = random_in(-6, 6);
  const struct mafat_taps taps = {random_in(1, one_in(6) ? 40 : 7), random_in(1, 3),
                                  one_in(4) ? random_in(2, 3) : 1, 0, 0};
  const int pad = random_in(0, taps.size - 1) * taps.dilation,
            reach = (n_cols - 1) * taps.stride + 1;
  struct mafat_integer_pool_call call = {.rows = in_rows[0],
                                         .n_rows = random_in(1, one_in(6) ? 40 : 5),
                                         .taps = taps,
                                         .first_col = begin - pad,
                                         .in_begin = begin,
                                         .in_end =
                                             begin + mafat_max(reach - pad, 1) + random_in(0, 8),
                                         .n_cols = n_cols,
                                         .n_channels = n,
                                         .in_pixel_bytes = n + random_in(0, 9),
                                         .out_pixel_bytes = n + random_in(0, 9),
                                         .to = random_output(),
                                         .from_signed = one_in(2),
                                         .in_zero = random_byte(how),
                                         .in_scale = as_factor(random_factor())};
  call.to.scale = one_in(2) ? call.in_scale : as_factor(random_factor());
  inputs_reset();
  for (int r = 0; r < call.n_rows; r++)
    in_rows[0][r] = input_row(call.in_end - begin, n, call.in_pixel_bytes, how) -
                    (ptrdiff_t)begin * call.in_pixel_bytes;
  outputs_reset();
  call.out = byte_outputs((size_t)((n_cols - 1) * call.out_pixel_bytes + n), 1);
  for (int col = 0; col < n_cols; col++) {
    bool seen = false;
    for (int kx = 0; kx < taps.size; kx++) {
      int x = call.first_col + col * taps.stride + kx * taps.dilation;
      seen |= x >= call.in_begin && x < call.in_end;
    }
    if (!seen) call.n_cols = mafat_min(call.n_cols, col);
  }
  for (int col = 0; col < call.n_cols; col++)
    for (int ch = 0; ch < n; ch++)
      *(uint8_t *)expected_of(call.out + (ptrdiff_t)col * call.out_pixel_bytes + ch) =
          pooled(&call, col, ch, mean);
  if (call.n_cols == 0) return;
  struct check_bytes_call run = {
      .kernel = kernel, .run = mean ? run_avgpool : run_maxpool, .call = &call};
  snprintf(run.text, sizeof run.text,
           "%d rows, size %d stride %d dilation %d, %d channels, %d columns, from %d", call.n_rows,
           taps.size, taps.stride, taps.dilation, n, call.n_cols, pad);
  check_run_bytes(check, &run);
}

void check_integer_maxpool(struct kernel_check *check)
{
  check_pool(check, "integer_maxpool", false);
}

void check_integer_avgpool(struct kernel_check *check)
{
  check_pool(check, "integer_avgpool", true);
}

/* ---- element by element ---- */

static void run_blend(const struct mafat_integer_kernels *k, const void *call)
{
  k->blend(call);
}

static uint8_t blended_even(const struct mafat_integer_blend_call *c, int x, int z)
{
  switch (c->blend) {
  case MAFAT_BLEND_ADD:
    return (uint8_t)mafat_rule_add_even(x, c->x_factor, z, c->z_factor, as_output(&c->to));
  case MAFAT_BLEND_MUL:
    return (uint8_t)mafat_rule_multiply_even(x, z, c->factor, as_output(&c->to));
  default: return (uint8_t)mafat_rule_prelu_even(x, c->x_factor, z, c->factor, as_output(&c->to));
  }
}

static uint8_t blended(const struct mafat_integer_blend_call *c, const struct mafat_rule_add *a,
                       int x, int z)
{
  struct mafat_rule_scale scale = {c->scale.multiplier, c->scale.shift};
  if (c->to.rounding == MAFAT_REQUANTIZE_EVEN) return blended_even(c, x - c->x_zero, z - c->z_zero);
  switch (c->blend) {
  case MAFAT_BLEND_ADD: return (uint8_t)mafat_rule_add(a, x, z);
  case MAFAT_BLEND_MUL:
    return (uint8_t)mafat_rule_multiply(x, c->x_zero, z, c->z_zero, scale, a->out);
  default: return (uint8_t)mafat_rule_prelu(x, c->x_zero, z, c->z_zero, a->x, scale, a->out);
  }
}

void check_integer_blend(struct kernel_check *check)
{
  const enum nastiness how = (enum nastiness)random_in(0, N_NASTINESS - 1);
  const enum mafat_blend kinds[] = {MAFAT_BLEND_ADD, MAFAT_BLEND_MUL, MAFAT_BLEND_PRELU};
  const int n = one_in(2) ? 16 : random_in(1, 16), gap = one_in(2) ? 0 : random_in(1, 9);
  struct mafat_integer_blend_call call = {.blend = kinds[random_in(0, 2)],
                                          .subtract = one_in(3),
                                          .n_cols = random_in(1, 50),
                                          .n_channels = n,
                                          .x_pixel_bytes = n + gap,
                                          .z_pixel_bytes = n + gap,
                                          .y_pixel_bytes = n + gap,
                                          .z_single = one_in(5),
                                          .x_zero = random_byte(how),
                                          .z_zero = random_byte(how),
                                          .to = random_output(),
                                          .x_factor = as_factor(random_factor()),
                                          .z_factor = one_in(3) ? -as_factor(random_factor())
                                                                : as_factor(random_factor()),
                                          .factor = as_factor(random_factor())};
  const bool add = call.blend == MAFAT_BLEND_ADD;
  if (one_in(5)) call.z_pixel_bytes = 0;
  struct mafat_rule_add a = {.x = random_scale(add ? -31 : -12, add ? 0 : 8),
                             .z = random_scale(-31, 0),
                             .result = random_scale(add ? -31 : -20, add ? 0 : 8),
                             .subtract = call.subtract,
                             .x_zero = call.x_zero,
                             .z_zero = call.z_zero,
                             .out = as_output(&call.to)};
  if (add && one_in(2)) {
    struct mafat_rule_add real = mafat_rule_add_of(
        (float)random_in(1, 1000), (float)random_in(1, 1000), (float)random_in(2, 1000));
    a.x = real.x;
    a.z = real.z;
    a.result = real.result;
  }
  call.x_scale = as_multiplier(a.x);
  call.z_scale = as_multiplier(a.z);
  call.scale = as_multiplier(a.result);
  inputs_reset();
  const uint8_t *x = call.x = input_row(call.n_cols, n, call.x_pixel_bytes, how);
  const uint8_t *z = call.z =
      input_row(call.n_cols, call.z_single ? 1 : n, call.z_pixel_bytes, how);
  outputs_reset();
  call.y = byte_outputs((size_t)((call.n_cols - 1) * call.y_pixel_bytes + n), 1);
  for (int col = 0; col < call.n_cols; col++, x += call.x_pixel_bytes, z += call.z_pixel_bytes)
    for (int ch = 0; ch < n; ch++)
      *(uint8_t *)expected_of(call.y + col * call.y_pixel_bytes + ch) =
          blended(&call, &a, x[ch], z[call.z_single ? 0 : ch]);
  struct check_bytes_call run = {.kernel = "integer_blend", .run = run_blend, .call = &call};
  snprintf(run.text, sizeof run.text,
           "blend %d%s, %d channels, %d columns, pixels %d %d%s, shifts %d %d %d", call.blend,
           call.subtract ? ", subtracted" : "", n, call.n_cols, call.x_pixel_bytes,
           call.z_pixel_bytes, call.z_single ? " single" : "", a.x.shift, a.z.shift,
           a.result.shift);
  check_run_bytes(check, &run);
}

struct table_call {
  const uint8_t *x, *table;
  uint8_t *y;
  int32_t *sums;
  int n_cols, n, x_pixel, y_pixel;
};

static void run_table(const struct mafat_integer_kernels *k, const void *call)
{
  const struct table_call *c = call;
  k->table(c->x, c->x_pixel, c->y, c->y_pixel, c->n_cols, c->n, c->table);
}

static void run_sums(const struct mafat_integer_kernels *k, const void *call)
{
  const struct table_call *c = call;
  k->add_pixels(c->x, c->x_pixel, c->n_cols, c->n, c->sums);
}

static struct table_call random_table_call(void)
{
  const int n = one_in(2) ? 16 : random_in(1, 16), gap = one_in(2) ? 0 : random_in(1, 9);
  struct table_call c = {
      .n_cols = random_in(1, 60), .n = n, .x_pixel = n + gap, .y_pixel = n + gap};
  inputs_reset();
  c.x = input_row(c.n_cols, n, c.x_pixel, UNIFORM);
  c.table = byte_inputs(256);
  outputs_reset();
  return c;
}

void check_integer_table(struct kernel_check *check)
{
  struct table_call c = random_table_call();
  c.y = byte_outputs((size_t)((c.n_cols - 1) * c.y_pixel + c.n), 1);
  for (int col = 0; col < c.n_cols; col++)
    for (int i = 0; i < c.n; i++)
      *(uint8_t *)expected_of(c.y + col * c.y_pixel + i) = c.table[c.x[col * c.x_pixel + i]];
  struct check_bytes_call run = {.kernel = "integer_table", .run = run_table, .call = &c};
  snprintf(run.text, sizeof run.text, "%d channels, %d columns", c.n, c.n_cols);
  check_run_bytes(check, &run);
}

void check_integer_sums(struct kernel_check *check)
{
  struct table_call c = random_table_call();
  c.sums = byte_outputs((size_t)c.n * sizeof *c.sums, 4);
  int32_t *sums = expected_of(c.sums);
  for (int col = 0; col < c.n_cols; col++)
    for (int i = 0; i < c.n; i++) sums[i] = (int32_t)((uint32_t)sums[i] + c.x[col * c.x_pixel + i]);
  struct check_bytes_call run = {.kernel = "integer_sums", .run = run_sums, .call = &c};
  snprintf(run.text, sizeof run.text, "%d channels, %d columns", c.n, c.n_cols);
  check_run_bytes(check, &run);
}

/* ---- quantization of floats ---- */

struct reals_call {
  struct mafat_quantization q;
  const float *from;
  uint8_t *to;
  int n;
};

static void run_reals(const struct mafat_integer_kernels *k, const void *call)
{
  const struct reals_call *c = call;
  k->reals(&c->q, c->from, c->to, c->n);
}

/* Values at halves and steps of 1/512, inside and outside the range, their neighbours, and
 * values far beyond. */
void check_integer_reals(struct kernel_check *check)
{
  static const float scales[] = {1, 0.5f, 0.0078125f, 0.1f, 1.0f / 3, 1e-30f, 1e30f};
  static const float ends[] = {NAN, INFINITY, -INFINITY, 1e38f, -1e38f, 1e-40f, -0.0f};
  struct reals_call c = {.q = random_output(), .n = random_in(1, 300)};
  c.q.scale = scales[random_in(0, 6)];
  inputs_reset();
  outputs_reset();
  float *from = input_floats((size_t)c.n);
  for (int i = 0; i < c.n; i++) {
    const float real = (one_in(2) ? (float)random_in(-600, 600) / 2
                                  : (float)random_in(-512 * 600, 512 * 600) / 512) *
                       c.q.scale;
    from[i] = one_in(10)  ? ends[random_in(0, 6)]
              : one_in(3) ? real
                          : nextafterf(real, one_in(2) ? INFINITY : -INFINITY);
  }
  c.from = from;
  c.to = byte_outputs((size_t)c.n, 1);
  for (int i = 0; i < c.n; i++)
    *(uint8_t *)expected_of(c.to + i) = (uint8_t)mafat_quantization_number(&c.q, from[i]);
  struct check_bytes_call run = {.kernel = "integer_reals", .run = run_reals, .call = &c};
  snprintf(run.text, sizeof run.text, "%d reals, scale %g", c.n, (double)c.q.scale);
  check_run_bytes(check, &run);
}
