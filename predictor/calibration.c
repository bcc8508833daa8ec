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
    [MAFAT_TERM_STEP] = 269, [MAFAT_TERM_UNIT] = 274, [MAFAT_TERM_CONV_MACS] = 0.0173,
    [MAFAT_TERM_POINT_MACS] = 0.0178, [MAFAT_TERM_WINOGRAD_MACS] = 0.0176, [MAFAT_TERM_RUNS] = 2.05,
    [MAFAT_TERM_TILES] = 13.1, [MAFAT_TERM_NARROW_TAPS] = 0.852, [MAFAT_TERM_POOLED] = 0.104,
    [MAFAT_TERM_COSTLY] = 0.621, [MAFAT_TERM_WINOGRAD_INPUTS] = 13.7, [MAFAT_TERM_WINOGRAD_KERNELS] = 2.9,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.0144, [MAFAT_TERM_POOL_TAPS] = 0.0371, [MAFAT_TERM_POOL_OUTPUTS] = 0.205,
    [MAFAT_TERM_MOVED] = 0.241, [MAFAT_TERM_GATHERED] = 0.578, [MAFAT_TERM_REORDERED] = 12.6,
    [MAFAT_TERM_BOX_VALUES] = 0.388, [MAFAT_TERM_CLASS_VALUES] = 4.19, [MAFAT_TERM_DENSE_MACS] = 0.0474,
    [MAFAT_TERM_WEIGHTS_FAR] = 0.0285, [MAFAT_TERM_WEIGHTS_COLD] = 0.00201, [MAFAT_TERM_READ_FAR] = 0.0175,
    [MAFAT_TERM_READ_COLD] = 0.0493, [MAFAT_TERM_WRITTEN_FIRST] = 0.1, [MAFAT_TERM_WRITTEN_FAR] = 0.0167, [MAFAT_TERM_WRITTEN_COLD] = 0.0186,
    [MAFAT_TERM_WINOGRAD_FAR] = 0.00918, [MAFAT_TERM_WINOGRAD_COLD] = 0.104};

static const double avx2_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 344, [MAFAT_TERM_CONV_MACS] = 0.0117, [MAFAT_TERM_POINT_MACS] = 0.0155,
    [MAFAT_TERM_WINOGRAD_MACS] = 0.0157, [MAFAT_TERM_TAPS] = 0.631, [MAFAT_TERM_RUNS] = 2.05,
    [MAFAT_TERM_TILES] = 7.93, [MAFAT_TERM_NARROW_TAPS] = 1.52, [MAFAT_TERM_POOLED] = 0.111,
    [MAFAT_TERM_COSTLY] = 2.55, [MAFAT_TERM_WINOGRAD_INPUTS] = 17.7, [MAFAT_TERM_WINOGRAD_KERNELS] = 2.42,
    [MAFAT_TERM_WINOGRAD_OUTPUTS] = 0.922, [MAFAT_TERM_DEPTHWISE_MACS] = 0.0205,
    [MAFAT_TERM_POOL_TAPS] = 0.0521, [MAFAT_TERM_POOL_OUTPUTS] = 0.37, [MAFAT_TERM_MOVED] = 0.294,
    [MAFAT_TERM_GATHERED] = 0.58, [MAFAT_TERM_REORDERED] = 12.7, [MAFAT_TERM_BOX_VALUES] = 0.397,
    [MAFAT_TERM_CLASS_VALUES] = 4, [MAFAT_TERM_DENSE_MACS] = 0.0575, [MAFAT_TERM_WEIGHTS_FAR] = 0.0753,
    [MAFAT_TERM_WEIGHTS_COLD] = 0.00329, [MAFAT_TERM_READ_FAR] = 0.0266, [MAFAT_TERM_READ_COLD] = 0.0621,
    [MAFAT_TERM_WRITTEN_FIRST] = 0.1, [MAFAT_TERM_WRITTEN_FAR] = 0.0141, [MAFAT_TERM_WRITTEN_COLD] = 0.0447, [MAFAT_TERM_WINOGRAD_FAR] = 0.0102,
    [MAFAT_TERM_WINOGRAD_COLD] = 0.121};

static const double portable_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 278, [MAFAT_TERM_CONV_MACS] = 0.0566, [MAFAT_TERM_POINT_MACS] = 0.0638,
    [MAFAT_TERM_WINOGRAD_MACS] = 0.0528, [MAFAT_TERM_TAPS] = 0.11, [MAFAT_TERM_RUNS] = 6.17,
    [MAFAT_TERM_TILES] = 2.98, [MAFAT_TERM_NARROW_TAPS] = 3.7, [MAFAT_TERM_POOLED] = 0.391,
    [MAFAT_TERM_COSTLY] = 6.63, [MAFAT_TERM_WINOGRAD_INPUTS] = 45.3, [MAFAT_TERM_WINOGRAD_KERNELS] = 4.9,
    [MAFAT_TERM_WINOGRAD_OUTPUTS] = 2.17, [MAFAT_TERM_DEPTHWISE_MACS] = 0.0555, [MAFAT_TERM_POOL_TAPS] = 0.161,
    [MAFAT_TERM_POOL_OUTPUTS] = 0.611, [MAFAT_TERM_MOVED] = 0.91, [MAFAT_TERM_GATHERED] = 0.334,
    [MAFAT_TERM_REORDERED] = 12.8, [MAFAT_TERM_BOX_VALUES] = 2.14, [MAFAT_TERM_CLASS_VALUES] = 8.67,
    [MAFAT_TERM_DENSE_MACS] = 0.0989, [MAFAT_TERM_WEIGHTS_FAR] = 0.0787, [MAFAT_TERM_WEIGHTS_COLD] = 0.0058,
    [MAFAT_TERM_READ_FAR] = 0.0203, [MAFAT_TERM_READ_COLD] = 0.104, [MAFAT_TERM_WRITTEN_FIRST] = 0.1, [MAFAT_TERM_WRITTEN_FAR] = 0.0589,
    [MAFAT_TERM_WRITTEN_COLD] = 0.0169, [MAFAT_TERM_WINOGRAD_FAR] = 0.0184, [MAFAT_TERM_WINOGRAD_COLD] = 0.293};

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
