#include "predictor/calibration.h"

#include <stdio.h>
#include <string.h>

static const char *const term_names[MAFAT_N_TERMS] = {
    "step", "unit", "conv_macs", "conv_taps", "conv_runs", "point_macs", "point_taps", "point_runs", "tiles",
    "outputs", "pooled", "costly", "winograd_inputs", "winograd_kernels", "winograd_macs", "winograd_taps",
    "winograd_runs", "winograd_outputs", "winograd_far", "winograd_cold", "depthwise_macs", "depthwise_outputs", "pool_taps", "moved",
    "gathered", "reordered", "box_values", "dense_macs", "weights_far", "weights_cold", "weights_streamed", "maps_far",
    "maps_cold"};

const char *mafat_term_name(enum mafat_term term)
{
  return term_names[term];
}

/* Measured on an AMD EPYC of the fourth generation at about 3.7 GHz, one core of two. */
static const double avx512_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 60, [MAFAT_TERM_UNIT] = 590,
    [MAFAT_TERM_CONV_MACS] = 0.01801, [MAFAT_TERM_CONV_TAPS] = 0.0369, [MAFAT_TERM_CONV_RUNS] = 9.5,
    [MAFAT_TERM_POINT_MACS] = 0.02109, [MAFAT_TERM_TILES] = 16.5, [MAFAT_TERM_POOLED] = 0.064,
    [MAFAT_TERM_COSTLY] = 1, [MAFAT_TERM_WINOGRAD_INPUTS] = 17.8, [MAFAT_TERM_WINOGRAD_KERNELS] = 3.73,
    [MAFAT_TERM_WINOGRAD_MACS] = 0.01919, [MAFAT_TERM_WINOGRAD_RUNS] = 5.56,
    [MAFAT_TERM_WINOGRAD_FAR] = 0.0096, [MAFAT_TERM_WINOGRAD_COLD] = 0.128,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.01195, [MAFAT_TERM_POOL_TAPS] = 0.26, [MAFAT_TERM_MOVED] = 0.142,
    [MAFAT_TERM_GATHERED] = 0.672, [MAFAT_TERM_REORDERED] = 15.8, [MAFAT_TERM_BOX_VALUES] = 1.09,
    [MAFAT_TERM_DENSE_MACS] = 0.02, [MAFAT_TERM_WEIGHTS_FAR] = 0.0188, [MAFAT_TERM_WEIGHTS_COLD] = 0.0112,
    [MAFAT_TERM_WEIGHTS_STREAMED] = 0.0112, [MAFAT_TERM_MAPS_FAR] = 0.013, [MAFAT_TERM_MAPS_COLD] = 0.0405};

void mafat_calibration_defaults(struct mafat_calibration *c, const char *cpu)
{
  *c = (struct mafat_calibration){.lanes = 16, .tile_pixels = 14, .tile_vectors = 2,
                                  .near_bytes = 1 << 20, .far_bytes = 12 << 20,
                                  .thread_step_ns = 2000, .disk_ns = 0.8, .disk_wait_ns = 100e3, .read_ns = 5000,
                                  .copy_ns = 0.1, .pack_ns = 0.12};
  snprintf(c->cpu, sizeof c->cpu, "%s", cpu);
  for (int t = 0; t < MAFAT_N_TERMS; t++) c->ns[t] = avx512_ns[t];
  if (strcmp(cpu, "avx2") == 0) c->lanes = 8, c->tile_pixels = 6;
  if (strcmp(cpu, "neon") == 0) c->lanes = 4, c->tile_pixels = 6, c->tile_vectors = 4;
  if (strcmp(cpu, "portable") == 0) c->lanes = 4, c->tile_pixels = 2, c->tile_vectors = 4;
}
