/* Cases of picture kernels: bytes to floats, and interpolation between two lines. Called by
 * kernel_check.c. */
#include "tests/kernel_check/check.h"

/* Returns n random bytes. Half of the time they end where a guard page begins; else they are
 * aligned like floats. */
static uint8_t *input_bytes(int n)
{
  const size_t floats = ((size_t)n + 3) / 4;
  uint8_t *bytes = (uint8_t *)input_floats(floats);
  if (one_in(2)) bytes += 4 * floats - (size_t)n;
  for (int i = 0; i < n; i++) bytes[i] = (uint8_t)random_in(0, 255);
  return bytes;
}

/* --- scale_bytes --- */

struct scale_bytes_call {
  const uint8_t *bytes;
  float *out;
  int n;
};

static void run_scale_bytes(const struct mafat_kernels *k, const void *call)
{
  const struct scale_bytes_call *c = call;
  k->scale_bytes(c->bytes, c->out, c->n);
}

void check_scale_bytes(struct kernel_check *check)
{
  struct scale_bytes_call call = {.n = one_in(2) ? random_in(1, 100) : random_in(1, 2000)};
  inputs_reset();
  call.bytes = input_bytes(call.n);
  struct check_call run = {.kernel = "scale_bytes",
                           .run = run_scale_bytes,
                           .call = &call,
                           .n_views = 1,
                           .ordinary = true};
  run.views[0] =
      (struct check_view){.n_rows = 1, .n_cols = 1, .n_lanes = call.n, .pixel_floats = call.n};
  check_place_outputs(&run, false);
  call.out = run.views[0].rows[0];
  for (int i = 0; i < call.n; i++)
    run.exact[i] = (struct check_value){call.bytes[i] / 255., 0x1p-24};
  snprintf(run.text, sizeof run.text, "%d bytes", call.n);
  check_run(check, &run);
}

/* --- resample --- */

static void run_resample(const struct mafat_kernels *k, const void *call)
{
  k->resample(call);
}

static float random_weight(void)
{
  return one_in(4) ? (float)random_in(0, 1) : (1 + random_float()) / 2;
}

/* Fills random taps in ascending or descending order. A tap is between two neighbouring pixels or
 * at one pixel. */
static void random_taps(struct mafat_resample_tap *taps, int n_taps, int n_pixels, int n_channels)
{
  const bool down = one_in(2);
  for (int i = 0; i < n_taps; i++) {
    int first =
        n_taps > 1 ? (int)((long)i * (n_pixels - 1) / (n_taps - 1)) : random_in(0, n_pixels - 1);
    int second = first + 1 < n_pixels && !one_in(5) ? first + 1 : first;
    if (down) first = n_pixels - 1 - first, second = n_pixels - 1 - second;
    const float weight = random_weight();
    taps[i] =
        (struct mafat_resample_tap){first * n_channels, second * n_channels, 1 - weight, weight};
  }
}

static double between(const struct mafat_resample_call *c, const struct mafat_resample_tap *t,
                      int channel)
{
  double sum = 0;
  for (int i = 0; i < 2; i++)
    sum += (double)c->weights[i] *
           ((double)t->first_weight * c->lines[i][t->first + channel] +
            (double)t->second_weight * c->lines[i][t->second + channel]) /
           255;
  return sum;
}

void check_resample(struct kernel_check *check)
{
  struct mafat_resample_tap taps[300];
  const int n_channels = one_in(3) ? 1 : 3;
  struct mafat_resample_call call = {.weights = {random_weight(), random_weight()},
                                     .column = one_in(3),
                                     .taps = taps,
                                     .n_pixels = random_in(1, one_in(2) ? 20 : 300),
                                     .n_channels = n_channels};
  const int n_pixels = random_in(1, MAFAT_RESAMPLE_BYTES / n_channels);
  random_taps(taps, call.n_pixels, n_pixels, n_channels);
  call.n_bytes = n_pixels * n_channels;
  call.begin = one_in(2) ? 0 : random_in(1, 1000);
  for (int i = 0; i < call.n_pixels; i++) taps[i].first += call.begin, taps[i].second += call.begin;
  inputs_reset();
  for (int i = 0; i < 2; i++) call.lines[i] = input_bytes(call.n_bytes) - call.begin;
  call.out_stride = (size_t)n_channels + (size_t)(call.column ? random_in(0, 40) : 0);
  struct check_call run = {
      .kernel = "resample", .run = run_resample, .call = &call, .n_views = 1, .ordinary = true};
  run.views[0] = (struct check_view){.n_rows = 1,
                                     .n_cols = call.n_pixels,
                                     .n_lanes = n_channels,
                                     .pixel_floats = (int)call.out_stride};
  check_place_outputs(&run, false);
  call.out = run.views[0].rows[0];
  for (int i = 0; i < call.n_pixels; i++)
    for (int k = 0; k < n_channels; k++)
      run.exact[i * n_channels + k] =
          (struct check_value){between(&call, &taps[i], k), 6 * 0x1p-24};
  snprintf(run.text, sizeof run.text, "a %s of %d pixels, %d channels, from %d bytes",
           call.column ? "column" : "row", call.n_pixels, n_channels, call.n_bytes);
  check_run(check, &run);
}
