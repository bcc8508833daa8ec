#include "predictor/calibration.h"

#include <stdio.h>
#include <string.h>

static const char *const term_names[MAFAT_N_TERMS] = {
    "step", "unit", "conv_macs", "point_macs", "winograd_macs", "taps", "runs", "tiles", "narrow_taps",
    "pooled", "costly", "winograd_inputs", "winograd_kernels", "winograd_outputs",
    "depthwise_macs", "pool_taps", "pool_outputs", "moved", "gathered", "reordered", "box_values",
    "class_values", "dense_macs", "weights_far", "weights_cold", "read_far", "read_cold",
    "written_far", "written_cold", "winograd_far", "winograd_cold"};

const char *mafat_term_name(enum mafat_term term)
{
  return term_names[term];
}

/* Measured on an AMD EPYC of the fourth generation at about 3.7 GHz, one core of two. */
static const double avx512_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 380, [MAFAT_TERM_UNIT] = 419, [MAFAT_TERM_CONV_MACS] = 0.019,
    [MAFAT_TERM_POINT_MACS] = 0.0212, [MAFAT_TERM_WINOGRAD_MACS] = 0.0204, [MAFAT_TERM_TILES] = 17.1,
    [MAFAT_TERM_NARROW_TAPS] = 1.45, [MAFAT_TERM_POOLED] = 0.118, [MAFAT_TERM_COSTLY] = 1,
    [MAFAT_TERM_WINOGRAD_INPUTS] = 17.6, [MAFAT_TERM_WINOGRAD_KERNELS] = 4.05,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.0138, [MAFAT_TERM_POOL_TAPS] = 0.0356, [MAFAT_TERM_POOL_OUTPUTS] = 0.895,
    [MAFAT_TERM_MOVED] = 0.22, [MAFAT_TERM_GATHERED] = 0.646, [MAFAT_TERM_REORDERED] = 15.7,
    [MAFAT_TERM_BOX_VALUES] = 0.702, [MAFAT_TERM_CLASS_VALUES] = 5.68, [MAFAT_TERM_DENSE_MACS] = 0.02,
    [MAFAT_TERM_WEIGHTS_FAR] = 0.0129, [MAFAT_TERM_WEIGHTS_COLD] = 0.00186, [MAFAT_TERM_READ_FAR] = 0.011,
    [MAFAT_TERM_READ_COLD] = 0.0406, [MAFAT_TERM_WRITTEN_FAR] = 0.0128, [MAFAT_TERM_WRITTEN_COLD] = 0.0383,
    [MAFAT_TERM_WINOGRAD_FAR] = 0.00844, [MAFAT_TERM_WINOGRAD_COLD] = 0.115};

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
