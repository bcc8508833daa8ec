#include "predictor/calibration.h"

#include <stdio.h>
#include <string.h>

static const char *const term_names[MAFAT_N_TERMS] = {
    "step", "unit", "conv_macs", "point_macs", "winograd_macs", "taps", "runs", "tiles", "narrow_taps",
    "pooled", "costly", "winograd_inputs", "winograd_kernels", "winograd_outputs",
    "depthwise_macs", "pool_taps", "pool_outputs", "moved", "gathered", "reordered", "box_values",
    "class_values", "dense_macs", "weights_far", "weights_cold", "read_far", "read_cold",
    "written_first", "written_far", "written_cold", "winograd_far", "winograd_cold"};

const char *mafat_term_name(enum mafat_term term)
{
  return term_names[term];
}

/* Nanoseconds, as `run_inference --calibrate` found them on an AMD EPYC of the fourth
 * generation at 3.7 GHz, one core of two. */
static const double avx512_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 233, [MAFAT_TERM_UNIT] = 252, [MAFAT_TERM_CONV_MACS] = 0.0171,
    [MAFAT_TERM_POINT_MACS] = 0.0179, [MAFAT_TERM_WINOGRAD_MACS] = 0.0176, [MAFAT_TERM_TAPS] = 0.0776,
    [MAFAT_TERM_RUNS] = 2.06, [MAFAT_TERM_TILES] = 12.2, [MAFAT_TERM_NARROW_TAPS] = 0.838,
    [MAFAT_TERM_POOLED] = 0.112, [MAFAT_TERM_COSTLY] = 0.545, [MAFAT_TERM_WINOGRAD_INPUTS] = 12.5,
    [MAFAT_TERM_WINOGRAD_KERNELS] = 2.58, [MAFAT_TERM_DEPTHWISE_MACS] = 0.0222, [MAFAT_TERM_POOL_TAPS] = 0.0381,
    [MAFAT_TERM_POOL_OUTPUTS] = 0.179, [MAFAT_TERM_MOVED] = 0.305, [MAFAT_TERM_GATHERED] = 0.562,
    [MAFAT_TERM_REORDERED] = 12.6, [MAFAT_TERM_BOX_VALUES] = 0.306, [MAFAT_TERM_CLASS_VALUES] = 3.98,
    [MAFAT_TERM_DENSE_MACS] = 0.0786, [MAFAT_TERM_WEIGHTS_FAR] = 0.0322, [MAFAT_TERM_WEIGHTS_COLD] = 0.00203,
    [MAFAT_TERM_READ_FAR] = 0.0306, [MAFAT_TERM_READ_COLD] = 0.0719, [MAFAT_TERM_WRITTEN_FIRST] = 0.0584,
    [MAFAT_TERM_WRITTEN_FAR] = 0.0171, [MAFAT_TERM_WRITTEN_COLD] = 0.0108, [MAFAT_TERM_WINOGRAD_FAR] = 0.0133,
    [MAFAT_TERM_WINOGRAD_COLD] = 0.106};

static const double avx2_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 317, [MAFAT_TERM_CONV_MACS] = 0.0107, [MAFAT_TERM_POINT_MACS] = 0.0137,
    [MAFAT_TERM_WINOGRAD_MACS] = 0.0142, [MAFAT_TERM_TAPS] = 0.652, [MAFAT_TERM_RUNS] = 1.82,
    [MAFAT_TERM_TILES] = 9, [MAFAT_TERM_NARROW_TAPS] = 1.47, [MAFAT_TERM_POOLED] = 0.079,
    [MAFAT_TERM_COSTLY] = 3.72, [MAFAT_TERM_WINOGRAD_INPUTS] = 12.4, [MAFAT_TERM_WINOGRAD_KERNELS] = 2.21,
    [MAFAT_TERM_WINOGRAD_OUTPUTS] = 0.868, [MAFAT_TERM_DEPTHWISE_MACS] = 0.0309,
    [MAFAT_TERM_POOL_TAPS] = 0.0545, [MAFAT_TERM_POOL_OUTPUTS] = 0.299, [MAFAT_TERM_MOVED] = 0.367,
    [MAFAT_TERM_GATHERED] = 0.398, [MAFAT_TERM_REORDERED] = 12.7, [MAFAT_TERM_BOX_VALUES] = 0.299,
    [MAFAT_TERM_CLASS_VALUES] = 3.84, [MAFAT_TERM_DENSE_MACS] = 0.138, [MAFAT_TERM_WEIGHTS_FAR] = 0.0826,
    [MAFAT_TERM_WEIGHTS_COLD] = 0.00323, [MAFAT_TERM_READ_FAR] = 0.0417, [MAFAT_TERM_READ_COLD] = 0.0891,
    [MAFAT_TERM_WRITTEN_FIRST] = 0.0486, [MAFAT_TERM_WRITTEN_FAR] = 0.0112, [MAFAT_TERM_WRITTEN_COLD] = 0.0216,
    [MAFAT_TERM_WINOGRAD_FAR] = 0.00817, [MAFAT_TERM_WINOGRAD_COLD] = 0.117};

static const double portable_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 348, [MAFAT_TERM_UNIT] = 85.2, [MAFAT_TERM_CONV_MACS] = 0.0579,
    [MAFAT_TERM_POINT_MACS] = 0.0695, [MAFAT_TERM_WINOGRAD_MACS] = 0.0642, [MAFAT_TERM_TAPS] = 0.0838,
    [MAFAT_TERM_RUNS] = 3.26, [MAFAT_TERM_TILES] = 2.89, [MAFAT_TERM_NARROW_TAPS] = 3.8,
    [MAFAT_TERM_POOLED] = 0.75, [MAFAT_TERM_COSTLY] = 6.84, [MAFAT_TERM_WINOGRAD_INPUTS] = 56.3,
    [MAFAT_TERM_WINOGRAD_KERNELS] = 5.89, [MAFAT_TERM_WINOGRAD_OUTPUTS] = 2.31,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.0914, [MAFAT_TERM_POOL_TAPS] = 0.208, [MAFAT_TERM_POOL_OUTPUTS] = 0.314,
    [MAFAT_TERM_GATHERED] = 0.289, [MAFAT_TERM_REORDERED] = 12.7, [MAFAT_TERM_BOX_VALUES] = 2.62,
    [MAFAT_TERM_CLASS_VALUES] = 7.53, [MAFAT_TERM_DENSE_MACS] = 0.101, [MAFAT_TERM_WEIGHTS_FAR] = 0.0812,
    [MAFAT_TERM_WEIGHTS_COLD] = 0.0065, [MAFAT_TERM_READ_FAR] = 0.0125, [MAFAT_TERM_READ_COLD] = 0.13,
    [MAFAT_TERM_WRITTEN_FIRST] = 0.137, [MAFAT_TERM_WRITTEN_FAR] = 0.0772, [MAFAT_TERM_WRITTEN_COLD] = 0.0121,
    [MAFAT_TERM_WINOGRAD_FAR] = 0.0175, [MAFAT_TERM_WINOGRAD_COLD] = 0.301};

#ifdef __arm__
enum { NEON_PIXELS = 2 };
#else
enum { NEON_PIXELS = 6 };
#endif

/* What a kernel level is like. */
static const struct level {
  const char *name;
  int lanes, tile_pixels, tile_vectors;
  double near_bytes, far_bytes;
  const double *ns;
  double slower;          /* than where ns was measured */
  double disk_ns, disk_wait_ns;
} levels[] = {
    {"avx512", 16, 14, 2, 1 << 20, 12 << 20, avx512_ns, 1, 1, 90e3},
    {"avx2", 8, 6, 2, 1 << 20, 12 << 20, avx2_ns, 1, 1, 90e3},
    /* Not measured: what a Cortex-A72 at 1.5 GHz with an SD card would be like if all it does
     * took four times as long as the portable kernels take here. */
    {"neon", 4, NEON_PIXELS, 4, 512 << 10, 1 << 20, portable_ns, 4, 25, 500e3},
    {"portable", 4, 2, 4, 1 << 20, 12 << 20, portable_ns, 1, 1, 90e3},
};

enum { N_LEVELS = sizeof levels / sizeof *levels };

void mafat_calibration_defaults(struct mafat_calibration *c, const char *cpu)
{
  int i = 0;
  while (i + 1 < N_LEVELS && strcmp(cpu, levels[i].name) != 0) i++; /* others: the slowest */
  const struct level *l = &levels[i];
  *c = (struct mafat_calibration){.lanes = l->lanes, .tile_pixels = l->tile_pixels, .tile_vectors = l->tile_vectors,
                                  .near_bytes = l->near_bytes, .far_bytes = l->far_bytes,
                                  .thread_step_ns = 2000 * l->slower, .disk_ns = l->disk_ns,
                                  .disk_wait_ns = l->disk_wait_ns, .read_ns = 20e3 * l->slower,
                                  .copy_ns = 0.15 * l->slower, .pack_ns = 0.25 * l->slower};
  snprintf(c->cpu, sizeof c->cpu, "%s", cpu);
  for (int t = 0; t < MAFAT_N_TERMS; t++) c->ns[t] = l->ns[t] * l->slower;
}
