#include "predictor/cost/calibration.h"

#include "base/tuning.h"

#include <stdio.h>
#include <string.h>

static const char *const term_names[MAFAT_N_TERMS] = {
    "step", "unit", "conv_macs", "point_macs", "winograd_macs", "taps", "runs", "tiles", "narrow_taps",
    "pooled", "costly", "logistic", "winograd_inputs", "winograd_kernels", "winograd_outputs",
    "depthwise_macs", "pool_taps", "pool_outputs", "moved", "gathered", "reordered", "box_values",
    "class_values", "dense_macs", "weights_far", "weights_cold", "read_far", "read_cold",
    "written_first", "written_far", "written_cold", "winograd_far", "winograd_cold",
    "integer_calls", "integer_macs", "integer_taps", "integer_runs", "integer_tiles", "integer_depthwise", "integer_outputs",
    "integer_blended", "integer_mapped"};

const char *mafat_term_name(enum mafat_term term)
{
  return term_names[term];
}

/* Nanoseconds, as `run_inference --calibrate` found them on an AMD EPYC of the fourth
 * generation at 3.7 GHz, one core of two. Convolutions' for avx2 and avx512, products,
 * taps, tiles and transforms, were fitted again as it does, to the least processor time
 * of each layer of six networks. */
static const double avx512_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 230, [MAFAT_TERM_UNIT] = 262, [MAFAT_TERM_CONV_MACS] = 0.0178,
    [MAFAT_TERM_POINT_MACS] = 0.0176, [MAFAT_TERM_WINOGRAD_MACS] = 0.0178, [MAFAT_TERM_TAPS] = 0.0779,
    [MAFAT_TERM_RUNS] = 2.66, [MAFAT_TERM_TILES] = 7.6, [MAFAT_TERM_NARROW_TAPS] = 0.768,
    [MAFAT_TERM_POOLED] = 0.0959, [MAFAT_TERM_COSTLY] = 0.45, [MAFAT_TERM_LOGISTIC] = 0.45,
    [MAFAT_TERM_WINOGRAD_INPUTS] = 10.8, [MAFAT_TERM_WINOGRAD_KERNELS] = 2.1, [MAFAT_TERM_WINOGRAD_OUTPUTS] = 4.93,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.0248,
    [MAFAT_TERM_POOL_TAPS] = 0.0367, [MAFAT_TERM_POOL_OUTPUTS] = 0.169, [MAFAT_TERM_MOVED] = 0.275,
    [MAFAT_TERM_GATHERED] = 0.371, [MAFAT_TERM_REORDERED] = 12.6, [MAFAT_TERM_BOX_VALUES] = 0.27,
    [MAFAT_TERM_CLASS_VALUES] = 4.17, [MAFAT_TERM_DENSE_MACS] = 0.0531, [MAFAT_TERM_WEIGHTS_FAR] = 0.0222,
    [MAFAT_TERM_WEIGHTS_COLD] = 0.00196, [MAFAT_TERM_READ_FAR] = 0.0353, [MAFAT_TERM_READ_COLD] = 0.114,
    [MAFAT_TERM_WRITTEN_FIRST] = 0.0852, [MAFAT_TERM_WRITTEN_FAR] = 0.0173, [MAFAT_TERM_WRITTEN_COLD] = 0.0113,
    [MAFAT_TERM_WINOGRAD_FAR] = 0.0211, [MAFAT_TERM_WINOGRAD_COLD] = 0.106};

static const double avx2_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 306, [MAFAT_TERM_CONV_MACS] = 0.013, [MAFAT_TERM_POINT_MACS] = 0.0125,
    [MAFAT_TERM_WINOGRAD_MACS] = 0.0159, [MAFAT_TERM_TAPS] = 0.393, [MAFAT_TERM_RUNS] = 3.07,
    [MAFAT_TERM_TILES] = 2.8, [MAFAT_TERM_NARROW_TAPS] = 1.44, [MAFAT_TERM_POOLED] = 0.0731,
    [MAFAT_TERM_COSTLY] = 1.5, [MAFAT_TERM_LOGISTIC] = 0.55, [MAFAT_TERM_WINOGRAD_INPUTS] = 9.98,
    [MAFAT_TERM_WINOGRAD_KERNELS] = 2.4,
    [MAFAT_TERM_WINOGRAD_OUTPUTS] = 6.73, [MAFAT_TERM_DEPTHWISE_MACS] = 0.0326, [MAFAT_TERM_POOL_TAPS] = 0.0556,
    [MAFAT_TERM_POOL_OUTPUTS] = 0.278, [MAFAT_TERM_MOVED] = 0.312, [MAFAT_TERM_GATHERED] = 0.367,
    [MAFAT_TERM_REORDERED] = 12.6, [MAFAT_TERM_BOX_VALUES] = 0.275, [MAFAT_TERM_CLASS_VALUES] = 4.01,
    [MAFAT_TERM_DENSE_MACS] = 0.138, [MAFAT_TERM_WEIGHTS_FAR] = 0.04, [MAFAT_TERM_WEIGHTS_COLD] = 0.00297,
    [MAFAT_TERM_READ_FAR] = 0.045, [MAFAT_TERM_READ_COLD] = 0.148, [MAFAT_TERM_WRITTEN_FIRST] = 0.0774,
    [MAFAT_TERM_WRITTEN_FAR] = 0.00891, [MAFAT_TERM_WRITTEN_COLD] = 0.0126, [MAFAT_TERM_WINOGRAD_FAR] = 0.00898,
    [MAFAT_TERM_WINOGRAD_COLD] = 0.114};

static const double portable_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 246, [MAFAT_TERM_UNIT] = 75.1, [MAFAT_TERM_CONV_MACS] = 0.0575,
    [MAFAT_TERM_POINT_MACS] = 0.0683, [MAFAT_TERM_WINOGRAD_MACS] = 0.0589, [MAFAT_TERM_TAPS] = 0.0702,
    [MAFAT_TERM_RUNS] = 4.8, [MAFAT_TERM_TILES] = 0.905, [MAFAT_TERM_NARROW_TAPS] = 3.68,
    [MAFAT_TERM_POOLED] = 0.536, [MAFAT_TERM_COSTLY] = 2.5, [MAFAT_TERM_LOGISTIC] = 1.45,
    [MAFAT_TERM_WINOGRAD_INPUTS] = 44,
    [MAFAT_TERM_WINOGRAD_KERNELS] = 5.12, [MAFAT_TERM_WINOGRAD_OUTPUTS] = 2.21,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.0682, [MAFAT_TERM_POOL_TAPS] = 0.203, [MAFAT_TERM_POOL_OUTPUTS] = 0.276,
    [MAFAT_TERM_MOVED] = 0.718, [MAFAT_TERM_GATHERED] = 0.279, [MAFAT_TERM_REORDERED] = 12.6,
    [MAFAT_TERM_BOX_VALUES] = 2.44, [MAFAT_TERM_CLASS_VALUES] = 7.47, [MAFAT_TERM_DENSE_MACS] = 0.0445,
    [MAFAT_TERM_WEIGHTS_FAR] = 0.0633, [MAFAT_TERM_WEIGHTS_COLD] = 0.00656, [MAFAT_TERM_READ_FAR] = 0.014,
    [MAFAT_TERM_READ_COLD] = 0.141, [MAFAT_TERM_WRITTEN_FIRST] = 0.112, [MAFAT_TERM_WRITTEN_FAR] = 0.0717,
    [MAFAT_TERM_WRITTEN_COLD] = 0.0127, [MAFAT_TERM_WINOGRAD_FAR] = 0.0182, [MAFAT_TERM_WINOGRAD_COLD] = 0.291};

#define LEVEL(name, level) \
  name, MAFAT_##level##_LANES, MAFAT_##level##_PIXELS, MAFAT_##level##_SEGMENTS * MAFAT_CHANNEL_BLOCK / MAFAT_##level##_LANES

/* What a kernel level is like. */
static const struct level {
  const char *name;
  int lanes, tile_pixels, tile_vectors;
  double near_bytes, far_bytes;
  const double *ns;
  double slower;          /* than where ns was measured */
  double disk_ns, disk_wait_ns;
} levels[] = {
    {LEVEL("avx512", AVX512), 1 << 20, 12 << 20, avx512_ns, 1, 1, 90e3},
    {LEVEL("avx2", AVX2), 1 << 20, 12 << 20, avx2_ns, 1, 1, 90e3},
    /* Not measured: what a Cortex-A72 at 1.5 GHz with an SD card would be like if all it does
     * took four times as long as the portable kernels take here. */
    {LEVEL("neon", NEON), 512 << 10, 1 << 20, portable_ns, 4, 25, 500e3},
    {LEVEL("portable", PORTABLE), 1 << 20, 12 << 20, portable_ns, 1, 1, 90e3},
};

#undef LEVEL

enum { N_INTEGER_TERMS = MAFAT_N_TERMS - MAFAT_TERM_INTEGER_CALLS };

/* Kernels of whole numbers: their register tiles, and nanoseconds in the order of the terms, fitted to the least processor time
 * of each layer of seven int8 networks under five plans; of avx512 without VNNI products alone, to single layers. A calibration of
 * this machine makes them as much slower as it finds the built-in prices of floats. */
static const struct integers {
  const char *name;
  int lanes, pixels, vectors;
  double ns[N_INTEGER_TERMS];
} integers[] = {
    {"avx512vnni", 16, 14, 2, {108, 0.004, 0.0601, 2.61, 26.1, 0.0155, 0.136, 0.381, 4.04}},
    {"avx512", 16, 12, 2, {108, 0.0103, 0.0601, 2.61, 26.1, 0.0155, 0.136, 0.381, 4.04}},
    {"avx2", 8, 4, 2, {130, 0.0123, 0.0498, 0.621, 1.97, 0.0218, 0.284, 0.49, 4.12}},
    {"portable", 4, 2, 2, {179, 0.107, 0.05, 0, 0, 0.498, 8.44, 8.66, 3.29}},
    /* Not measured: avx2 with products in one instruction; as above, a Cortex-A72, and a core with sdot. */
    {"avxvnni", 8, 6, 2, {130, 0.008, 0.0498, 0.621, 1.97, 0.0218, 0.284, 0.49, 4.12}},
    {"neondot", 4, 6, 4, {300, 0.03, 0.2, 3, 8, 0.1, 0.8, 1, 8}},
    {"neon", 4, 6, 2, {500, 0.17, 0.5, 5, 10, 0.25, 2, 2, 12}},
};

enum { N_INTEGERS = sizeof integers / sizeof *integers, SLOWEST = 3 };

void mafat_calibration_set_integers(struct mafat_calibration *c, const char *kernels)
{
  int i = 0;
  while (i < N_INTEGERS && strcmp(kernels, integers[i].name) != 0) i++;
  const struct integers *k = &integers[i < N_INTEGERS ? i : SLOWEST];
  c->integer_lanes = k->lanes;
  c->integer_pixels = k->pixels;
  c->integer_vectors = k->vectors;
  for (int t = 0; !c->measured && t < N_INTEGER_TERMS; t++) c->ns[MAFAT_TERM_INTEGER_CALLS + t] = k->ns[t];
}

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
  mafat_calibration_set_integers(c, strcmp(cpu, "avx512") == 0 ? "avx512vnni" : cpu);
}
