/* Cases of kernels without sums over taps: blend, scale, activate, softmax. Called by
 * kernel_check.c. */
#include "tests/kernel_check/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Makes a check call with one row of outputs. */
static struct check_call one_row(const char *kernel,
                                 void (*run)(const struct mafat_kernels *, const void *),
                                 const void *call, int n_cols, int n_lanes, int pixel_floats,
                                 enum value_range v)
{
  struct check_call c = {.kernel = kernel, .run = run, .call = call, .n_views = 1,
                         .ordinary = v == ORDINARY, .denormals = has_denormals(v)};
  c.views[0] = (struct check_view){
      .n_rows = 1, .n_cols = n_cols, .n_lanes = n_lanes, .pixel_floats = pixel_floats};
  return c;
}

/* --- blend --- */

static void run_blend(const struct mafat_kernels *k, const void *call)
{
  k->blend(call);
}

static struct mafat_exact blend_values(const struct mafat_blend_call *c, double x, double z)
{
  double y = c->alpha * x + c->beta * z;
  switch (c->blend) {
  case MAFAT_BLEND_MUL: y = x * z; break;
  case MAFAT_BLEND_MAX: y = fmax(x, z); break;
  case MAFAT_BLEND_MIN: y = fmin(x, z); break;
  case MAFAT_BLEND_DIV: y = x / z; break;
  case MAFAT_BLEND_RDIV: y = z / x; break;
  case MAFAT_BLEND_PRELU: y = x > 0 ? x : z * x; break;
  default: return (struct mafat_exact){y, fabs(c->alpha * x) + fabs(c->beta * z)};
  }
  return (struct mafat_exact){y, fabs(y)};
}

static struct mafat_exact exact_blend(const struct mafat_blend_call *c, int col, int ch)
{
  double x = c->x[col * c->x_pixel_floats + ch];
  struct mafat_exact y = {x, fabs(x)};
  if (c->z) y = blend_values(c, x, c->z[col * c->z_pixel_floats + (c->z_single ? 0 : ch)]);
  y.value = mafat_exact_activation(y.value, &c->activation);
  return y;
}

/* Extra tolerance of a product on 32-bit Arm, which flushes denormal factors to zero. */
static double flushed_product(const struct mafat_blend_call *c, int col, int ch)
{
#if defined(__arm__)
  if (!c->z || c->blend != MAFAT_BLEND_MUL) return 0;
  const double x = c->x[col * c->x_pixel_floats + ch],
               z = c->z[col * c->z_pixel_floats + (c->z_single ? 0 : ch)];
  return FLT_MIN * (fabs(x) + fabs(z));
#else
  (void)c, (void)col, (void)ch;
  return 0;
#endif
}

void check_blend(struct kernel_check *check)
{
  static const char *const names[MAFAT_N_KERNEL_BLENDS] = {
      "added", "multiplied", "the larger", "the less", "divided", "divided reversed", "sloped"};
  const enum value_range values = random_values();
  const int n = one_in(3) ? 16 : random_in(1, 16);
  struct mafat_blend_call call = {
      .blend =
          (enum mafat_blend)(one_in(2) ? MAFAT_BLEND_ADD : random_in(0, MAFAT_N_KERNEL_BLENDS - 1)),
      .n_cols = one_in(8) ? random_in(100, 700) : random_in(1, 40),
      .n_channels = n,
      .z_single = one_in(4),
      .x_pixel_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
      .y_pixel_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
      .alpha = one_in(2) ? 1 : random_float(),
      .beta = one_in(2) ? 1 : random_float(),
      .activation = random_activation()};
  /* Quotients of zeros and denormals are infinite or NaN. */
  if (values != ORDINARY && (call.blend == MAFAT_BLEND_DIV || call.blend == MAFAT_BLEND_RDIV))
    call.blend = MAFAT_BLEND_MUL;
  const int z_channels = call.z_single ? 1 : n;
  const bool one_pixel = one_in(4);
  call.z_pixel_floats = one_pixel ? 0 : z_channels + (one_in(2) ? 0 : random_in(1, 20));
  inputs_reset();
  call.x = input_pixels(call.n_cols, n, call.x_pixel_floats, values);
  call.z = one_in(3)     ? NULL
           : one_pixel ? input_pixels(1, z_channels, z_channels, values)
                       : input_pixels(call.n_cols, z_channels, call.z_pixel_floats, values);
  struct check_call run =
      one_row("blend", run_blend, &call, call.n_cols, n, call.y_pixel_floats, values);
  check_place_outputs(&run, false);
  call.y = run.views[0].rows[0];
  for (int col = 0; col < call.n_cols; col++)
    for (int ch = 0; ch < n; ch++) {
      struct mafat_exact y = exact_blend(&call, col, ch);
      const double tolerance =
          check_tolerance(y, 2, call.activation.kind) + flushed_product(&call, col, ch);
      run.exact[col * n + ch] = (struct check_value){y.value, tolerance};
    }
  snprintf(run.text, sizeof run.text, "%d channels, %d columns, %s%s%s, %s, %s values", n,
           call.n_cols, call.z ? names[call.blend] : "nothing to blend",
           call.z && call.z_single ? ", one channel" : "", call.z && one_pixel ? ", one pixel" : "",
           mafat_activation_name(call.activation.kind), values_name(values));
  check_run(check, &run);
}

/* --- scale --- */

struct scale_call {
  const float *x, *scale, *bias;
  float *y;
  int x_pixel_floats, y_pixel_floats, n_cols, n_channels;
  struct mafat_activating activation;
};

static void run_scale(const struct mafat_kernels *k, const void *call)
{
  const struct scale_call *c = call;
  k->scale(c->x, c->x_pixel_floats, c->y, c->y_pixel_floats, c->n_cols, c->n_channels, c->scale,
           c->bias, c->activation);
}

void check_scale(struct kernel_check *check)
{
  const enum value_range values = random_values();
  const int n = one_in(3) ? 16 : random_in(1, 16);
  struct scale_call call = {.x_pixel_floats = n + random_in(0, 20),
                            .y_pixel_floats = n + random_in(0, 20),
                            .n_cols = one_in(8) ? random_in(100, 700) : random_in(1, 40),
                            .n_channels = n,
                            .activation = random_activation()};
  inputs_reset();
  call.x = input_pixels(call.n_cols, n, call.x_pixel_floats, values);
  call.scale = input_pixels(1, n, n, ORDINARY);
  call.bias = input_pixels(1, n, n, ORDINARY);
  struct check_call run =
      one_row("scale", run_scale, &call, call.n_cols, n, call.y_pixel_floats, values);
  check_place_outputs(&run, false);
  call.y = run.views[0].rows[0];
  for (int col = 0; col < call.n_cols; col++)
    for (int ch = 0; ch < n; ch++) {
      double x = call.x[col * call.x_pixel_floats + ch];
      struct mafat_exact y = mafat_exact_finish((struct mafat_exact){x, fabs(x)}, call.scale[ch],
                                                call.bias[ch], &call.activation);
      run.exact[col * n + ch] =
          (struct check_value){y.value, check_tolerance(y, 1, call.activation.kind)};
    }
  snprintf(run.text, sizeof run.text, "%d channels, %d columns, %s, %s values", n, call.n_cols,
           mafat_activation_name(call.activation.kind), values_name(values));
  check_run(check, &run);
}

/* --- activate --- */

struct activate_call {
  const float *x;
  float *y;
  size_t n;
  struct mafat_activating activation;
};

static void run_activate(const struct mafat_kernels *k, const void *call)
{
  const struct activate_call *c = call;
  memcpy(c->y, c->x, c->n * sizeof *c->y);
  k->activate(c->y, c->n, c->activation);
}

/* Largest error in single precision, relative to max(1, |y|). Simple formulas round once or twice;
 * the others have the exponential's error, 2 ulp, too. */
static const double activation_bounds[MAFAT_EXACT_GENTLE] = {
    [MAFAT_LINEAR] = 0,        [MAFAT_LEAKY] = 1.5e-7,
    [MAFAT_RELU] = 0,          [MAFAT_RELU6] = 0, [MAFAT_LOGISTIC] = 2.5e-7, [MAFAT_MISH] = 4e-7,
    [MAFAT_SWISH] = 4e-7,      [MAFAT_ELU] = 2.5e-7, [MAFAT_SELU] = 4e-7,       [MAFAT_TANH] = 4e-7,
    [MAFAT_HARDTAN] = 0,       [MAFAT_RAMP] = 2e-7,
    [MAFAT_LOGGY] = 4e-7,      [MAFAT_PLSE] = 2.5e-7,
    [MAFAT_STAIR] = 1.5e-7,    [MAFAT_RELIE] = 1.5e-7,
    [MAFAT_LHTAN] = 2e-7,      [MAFAT_HARD_MISH] = 2.5e-7, /* two terms, each up to 2 */
    [MAFAT_CLIP] = 0,          [MAFAT_SLOPED] = 1.5e-7,
    [MAFAT_STEEP] = 1.5e-7,    [MAFAT_HARD_SIGMOID] = 1.5e-7,
    [MAFAT_HARD_SWISH] = 3e-7, [MAFAT_SCALED_ELU] = 5e-7,
    [MAFAT_CELU] = 5e-7,       [MAFAT_SOFTPLUS] = 4e-7,
    [MAFAT_SOFTSIGN] = 2e-7,   [MAFAT_GELU] = 1e-6,
    [MAFAT_GELU_TANH] = 1e-6,  [MAFAT_SCALED_SWISH] = 1e-6,
    [MAFAT_EXACT_TANH] = 4e-7, [MAFAT_ERF] = 6e-7, [MAFAT_ABS] = 0,           [MAFAT_NEG] = 0,
    [MAFAT_AFFINE] = 2.5e-7,   [MAFAT_SIN] = 1.5e-7, [MAFAT_COS] = 1.5e-7,
};

/* Kernels use at least e^-87 as the exponential. Where the exact one is smaller, products of x and
 * the exponential are a little too large. */
static double activation_tolerance(double x, double y, enum mafat_activation a)
{
  double tolerance = activation_bounds[a] * fmax(1, fabs(y)) + FLT_TRUE_MIN;
  return a == MAFAT_SWISH || a == MAFAT_MISH ? tolerance + 2e-38 * fabs(x) : tolerance;
}

void check_activate(struct kernel_check *check)
{
  static const float extremes[] = {0, -0.0f, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-42f, 200, -200};
  const enum value_range values = random_values();
  const float spread = (float)random_in(1, 90);
  struct activate_call call = {.n = (size_t)(one_in(2) ? random_in(1, 40) : random_in(1, 2000)),
                               .activation = random_activation()};
  inputs_reset();
  float *x = input_pixels(1, (int)call.n, (int)call.n, values);
  for (size_t i = 0; i < call.n && values == ORDINARY; i++) x[i] *= spread;
  for (size_t i = 0; i < call.n && values == MIXED; i++)
    if (one_in(8)) x[i] = extremes[random_in(0, 7)];
  call.x = x;
  struct check_call run =
      one_row("activate", run_activate, &call, 1, (int)call.n, (int)call.n, values);
  check_place_outputs(&run, false);
  call.y = run.views[0].rows[0];
  for (size_t i = 0; i < call.n; i++) {
    double y = mafat_exact_activation(x[i], &call.activation);
    run.exact[i] = (struct check_value){y, activation_tolerance(x[i], y, call.activation.kind)};
  }
  snprintf(run.text, sizeof run.text, "%s of %zu %s values",
           mafat_activation_name(call.activation.kind), call.n, values_name(values));
  check_run(check, &run);
}

/* --- softmax --- */

struct softmax_call {
  const float *in;
  float *out;
  size_t n;
  float temperature;
  bool in_place;
};

static void run_softmax(const struct mafat_kernels *k, const void *call)
{
  const struct softmax_call *c = call;
  if (c->in_place) memcpy(c->out, c->in, c->n * sizeof *c->out);
  k->softmax(c->in_place ? c->out : c->in, c->out, c->n, c->temperature);
}

void check_softmax(struct kernel_check *check)
{
  struct softmax_call call = {.n = (size_t)(one_in(2) ? random_in(1, 100) : random_in(1, 2000)),
                              .temperature = one_in(2) ? 1 : (float)random_in(1, 80) / 16,
                              .in_place = one_in(2)};
  const float spread = (float)random_in(1, 100);
  inputs_reset();
  float *x = input_pixels(1, (int)call.n, (int)call.n, ORDINARY);
  double largest = -FLT_MAX, sum = 0;
  for (size_t i = 0; i < call.n; i++) largest = fmax(largest, x[i] *= spread);
  call.in = x;
  struct check_call run =
      one_row("softmax", run_softmax, &call, 1, (int)call.n, (int)call.n, ORDINARY);
  check_place_outputs(&run, false);
  call.out = run.views[0].rows[0];
  for (size_t i = 0; i < call.n; i++) sum += exp((x[i] - largest) / call.temperature);
  for (size_t i = 0; i < call.n; i++) {
    /* The exponent is a difference of two rounded quotients. */
    double y = exp((x[i] - largest) / call.temperature) / sum, exponent = spread / call.temperature;
    run.exact[i] = (struct check_value){y, y * (4e-7 + 4 * exponent * 0x1p-24) + 1e-37};
  }
  snprintf(run.text, sizeof run.text, "%zu values up to %g, temperature %g%s", call.n,
           (double)spread, (double)call.temperature, call.in_place ? ", in place" : "");
  check_run(check, &run);
}
