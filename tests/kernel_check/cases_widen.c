/* Cases of the kernels that convert narrow weights to floats. Called by kernel_check.c. */
#include "tests/kernel_check/check.h"

#include "base/blocks.h"

#include <math.h>
#include <string.h>

struct widen_call {
  enum mafat_dtype type;
  const void *from;
  float *to;
  int n_rows, width;
};

static void run_widen(const struct mafat_kernels *k, const void *call)
{
  const struct widen_call *c = call;
  k->widen[c->type](c->from, c->n_rows, c->width, c->to);
}

static uint16_t random_half(void)
{
  uint16_t half;
  do half = (uint16_t)random_in(0, UINT16_MAX);
  while ((half & 0x7c00) == 0x7c00);
  return one_in(4) ? half & 0x83ff : half; /* masked: a denormal */
}

static double half_value(uint16_t h)
{
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const double size = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
  return h >> 15 ? -size : size;
}

static size_t widen_bytes(const struct widen_call *c)
{
  const size_t n = (size_t)(c->n_rows * c->width);
  const size_t groups =
      c->type == MAFAT_I4 ? (size_t)mafat_divide_up(c->n_rows, MAFAT_SCALED_ROWS) : 0;
  return (size_t)mafat_dtype_bytes(c->type, n) + groups * (size_t)c->width * sizeof(uint16_t);
}

static void fill_halves(unsigned char *to, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const uint16_t half = random_half();
    memcpy(to + i * sizeof half, &half, sizeof half);
  }
}

static double half_at(const unsigned char *from, int i)
{
  uint16_t half;
  memcpy(&half, from + (size_t)i * sizeof half, sizeof half);
  return half_value(half);
}

/* Fills the bytes with random values and sets their exact results. */
static void fill_numbers(const struct widen_call *c, unsigned char *bytes,
                         struct check_value *exact)
{
  const int n = c->n_rows * c->width, group = MAFAT_SCALED_ROWS * c->width;
  if (c->type == MAFAT_F16) fill_halves(bytes, (size_t)n);
  for (int i = 0; c->type == MAFAT_F16 && i < n; i++)
    exact[i] = (struct check_value){half_at(bytes, i), 0};
  for (int i = 0; c->type == MAFAT_I8 && i < n; i++) {
    const int number = random_in(-128, 127);
    bytes[i] = (unsigned char)number;
    exact[i] = (struct check_value){number, 0};
  }
  for (int first = 0; c->type == MAFAT_I4 && first < n; first += group) {
    const int many = mafat_min(group, n - first);
    unsigned char *scales = bytes + many / 2;
    fill_halves(scales, (size_t)c->width);
    for (int i = 0; i < many; i += 2) {
      const int low = random_in(-8, 7), high = random_in(-8, 7);
      bytes[i / 2] = (unsigned char)((high & 15) << 4 | (low & 15));
      exact[first + i] = (struct check_value){low * half_at(scales, i % c->width), 0};
      exact[first + i + 1] = (struct check_value){high * half_at(scales, (i + 1) % c->width), 0};
    }
    bytes = scales + 2 * c->width;
  }
}

void check_widen(struct kernel_check *check)
{
  static const enum mafat_dtype types[] = {MAFAT_F16, MAFAT_I8, MAFAT_I4};
  struct widen_call call = {.type = types[random_in(0, 2)],
                            .n_rows = one_in(2) ? random_in(1, 40) : random_in(1, 300),
                            .width =
                                MAFAT_PANEL_STEP * random_in(1, MAFAT_PANEL / MAFAT_PANEL_STEP)};
  inputs_reset();
  unsigned char *bytes = (unsigned char *)input_floats((widen_bytes(&call) + 3) / 4);
  call.from = bytes;
  struct check_call run = {
      .kernel = "widen", .run = run_widen, .call = &call, .n_views = 1, .ordinary = true};
  run.views[0] = (struct check_view){
      .n_rows = 1, .n_cols = call.n_rows, .n_lanes = call.width, .pixel_floats = call.width};
  check_place_outputs(&run, false);
  call.to = run.views[0].rows[0];
  fill_numbers(&call, bytes, run.exact);
  snprintf(run.text, sizeof run.text, "%d rows of %d, %s", call.n_rows, call.width,
           mafat_dtype_name(call.type));
  check_run(check, &run);
}
