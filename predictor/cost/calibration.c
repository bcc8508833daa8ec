/* Built-in prices of all kernel levels, for machines without a calibration, and the names of terms.
 * Called by api/model.c and runner/calibrate/. Changes only the struct that it fills in. */
#include "predictor/cost/calibration.h"

#include "base/tuning.h"

#include <stdio.h>
#include <string.h>

static const char *const term_names[MAFAT_N_TERMS] = {
    "step", "unit", "conv_macs", "point_macs", "winograd_macs", "taps", "runs", "tiles",
    "narrow_taps", "pooled", "costly", "logistic", "winograd_inputs", "winograd_kernels",
    "winograd_outputs", "depthwise_macs", "pool_taps", "pool_outputs", "moved", "gathered",
    "reordered", "box_values", "class_values", "dense_macs", "weights_far", "weights_cold",
    "read_far", "read_cold", "written_first", "written_far", "written_cold", "winograd_far",
    "winograd_cold", "integer_calls", "integer_macs", "integer_taps", "integer_runs",
    "integer_tiles", "integer_depthwise", "integer_outputs", "integer_blended", "integer_mapped"};

const char *mafat_term_name(enum mafat_term term)
{
  return term_names[term];
}

/* Nanoseconds per unit of each term, measured by `run_inference --calibrate` on one core of a
 * fourth-generation AMD EPYC at 3.7 GHz. For avx2 and avx512 the convolution terms (products, taps,
 * tiles, transforms) were fitted separately, to the least processor time of each layer of six
 * networks. */
static const double avx512_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 230, [MAFAT_TERM_UNIT] = 262, [MAFAT_TERM_CONV_MACS] = 0.0178,
    [MAFAT_TERM_POINT_MACS] = 0.0176, [MAFAT_TERM_WINOGRAD_MACS] = 0.0178,
    [MAFAT_TERM_TAPS] = 0.0779, [MAFAT_TERM_RUNS] = 2.66, [MAFAT_TERM_TILES] = 7.6,
    [MAFAT_TERM_NARROW_TAPS] = 0.768, [MAFAT_TERM_POOLED] = 0.0959, [MAFAT_TERM_COSTLY] = 0.45,
    [MAFAT_TERM_LOGISTIC] = 0.45, [MAFAT_TERM_WINOGRAD_INPUTS] = 10.8,
    [MAFAT_TERM_WINOGRAD_KERNELS] = 2.1, [MAFAT_TERM_WINOGRAD_OUTPUTS] = 4.93,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.0248, [MAFAT_TERM_POOL_TAPS] = 0.0367,
    [MAFAT_TERM_POOL_OUTPUTS] = 0.169, [MAFAT_TERM_MOVED] = 0.275, [MAFAT_TERM_GATHERED] = 0.371,
    [MAFAT_TERM_REORDERED] = 12.6, [MAFAT_TERM_BOX_VALUES] = 0.27, [MAFAT_TERM_CLASS_VALUES] = 4.17,
    [MAFAT_TERM_DENSE_MACS] = 0.0531, [MAFAT_TERM_WEIGHTS_FAR] = 0.0222,
    [MAFAT_TERM_WEIGHTS_COLD] = 0.00196, [MAFAT_TERM_READ_FAR] = 0.0353,
    [MAFAT_TERM_READ_COLD] = 0.114, [MAFAT_TERM_WRITTEN_FIRST] = 0.0852,
    [MAFAT_TERM_WRITTEN_FAR] = 0.0173, [MAFAT_TERM_WRITTEN_COLD] = 0.0113,
    [MAFAT_TERM_WINOGRAD_FAR] = 0.0211, [MAFAT_TERM_WINOGRAD_COLD] = 0.106};

static const double avx2_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 306, [MAFAT_TERM_CONV_MACS] = 0.013, [MAFAT_TERM_POINT_MACS] = 0.0125,
    [MAFAT_TERM_WINOGRAD_MACS] = 0.0159, [MAFAT_TERM_TAPS] = 0.393, [MAFAT_TERM_RUNS] = 3.07,
    [MAFAT_TERM_TILES] = 2.8, [MAFAT_TERM_NARROW_TAPS] = 1.44, [MAFAT_TERM_POOLED] = 0.0731,
    [MAFAT_TERM_COSTLY] = 1.5, [MAFAT_TERM_LOGISTIC] = 0.55, [MAFAT_TERM_WINOGRAD_INPUTS] = 9.98,
    [MAFAT_TERM_WINOGRAD_KERNELS] = 2.4, [MAFAT_TERM_WINOGRAD_OUTPUTS] = 6.73,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.0326, [MAFAT_TERM_POOL_TAPS] = 0.0556,
    [MAFAT_TERM_POOL_OUTPUTS] = 0.278, [MAFAT_TERM_MOVED] = 0.312, [MAFAT_TERM_GATHERED] = 0.367,
    [MAFAT_TERM_REORDERED] = 12.6, [MAFAT_TERM_BOX_VALUES] = 0.275,
    [MAFAT_TERM_CLASS_VALUES] = 4.01, [MAFAT_TERM_DENSE_MACS] = 0.138,
    [MAFAT_TERM_WEIGHTS_FAR] = 0.04, [MAFAT_TERM_WEIGHTS_COLD] = 0.00297,
    [MAFAT_TERM_READ_FAR] = 0.045, [MAFAT_TERM_READ_COLD] = 0.148,
    [MAFAT_TERM_WRITTEN_FIRST] = 0.0774, [MAFAT_TERM_WRITTEN_FAR] = 0.00891,
    [MAFAT_TERM_WRITTEN_COLD] = 0.0126, [MAFAT_TERM_WINOGRAD_FAR] = 0.00898,
    [MAFAT_TERM_WINOGRAD_COLD] = 0.114};

static const double portable_ns[MAFAT_N_TERMS] = {
    [MAFAT_TERM_STEP] = 246, [MAFAT_TERM_UNIT] = 75.1, [MAFAT_TERM_CONV_MACS] = 0.0575,
    [MAFAT_TERM_POINT_MACS] = 0.0683, [MAFAT_TERM_WINOGRAD_MACS] = 0.0589,
    [MAFAT_TERM_TAPS] = 0.0702, [MAFAT_TERM_RUNS] = 4.8, [MAFAT_TERM_TILES] = 0.905,
    [MAFAT_TERM_NARROW_TAPS] = 3.68, [MAFAT_TERM_POOLED] = 0.536, [MAFAT_TERM_COSTLY] = 2.5,
    [MAFAT_TERM_LOGISTIC] = 1.45, [MAFAT_TERM_WINOGRAD_INPUTS] = 44,
    [MAFAT_TERM_WINOGRAD_KERNELS] = 5.12, [MAFAT_TERM_WINOGRAD_OUTPUTS] = 2.21,
    [MAFAT_TERM_DEPTHWISE_MACS] = 0.0682, [MAFAT_TERM_POOL_TAPS] = 0.203,
    [MAFAT_TERM_POOL_OUTPUTS] = 0.276, [MAFAT_TERM_MOVED] = 0.718, [MAFAT_TERM_GATHERED] = 0.279,
    [MAFAT_TERM_REORDERED] = 12.6, [MAFAT_TERM_BOX_VALUES] = 2.44, [MAFAT_TERM_CLASS_VALUES] = 7.47,
    [MAFAT_TERM_DENSE_MACS] = 0.0445, [MAFAT_TERM_WEIGHTS_FAR] = 0.0633,
    [MAFAT_TERM_WEIGHTS_COLD] = 0.00656, [MAFAT_TERM_READ_FAR] = 0.014,
    [MAFAT_TERM_READ_COLD] = 0.141, [MAFAT_TERM_WRITTEN_FIRST] = 0.112,
    [MAFAT_TERM_WRITTEN_FAR] = 0.0717, [MAFAT_TERM_WRITTEN_COLD] = 0.0127,
    [MAFAT_TERM_WINOGRAD_FAR] = 0.0182, [MAFAT_TERM_WINOGRAD_COLD] = 0.291};

/* Prices of a kernel level; fields of the same names are explained in calibration.h. */
struct prices {
  double near_bytes, far_bytes;
  const double *ns;       /* [term] */
  double slower;          /* factor on ns */
  double disk_ns, disk_wait_ns;
};

static const struct prices portable_prices = {1 << 20, 12 << 20, portable_ns, 1, 1, 90e3};
/* Not measured: a Cortex-A72 at 1.5 GHz with an SD card, assumed four times slower than the
 * portable kernels on the EPYC. */
static const struct prices neon_prices = {512 << 10, 1 << 20, portable_ns, 4, 25, 500e3};
static const struct prices avx2_prices = {1 << 20, 12 << 20, avx2_ns, 1, 1, 90e3};
static const struct prices avx512_prices = {1 << 20, 12 << 20, avx512_ns, 1, 1, 90e3};

/* Rows of base/levels.def. The first is the slowest; it is used for unknown levels. */
static const struct level_prices {
  const char *name;
  int lanes, tile_pixels, tile_vectors, few_filters, few_pixels;
  const char *integers;
  const struct prices *prices;
} levels[] = {
#define ITSELF 0, 0
#define FEW(name, NAME) MAFAT_NARROW_FILTERS, MAFAT_##NAME##_PIXELS
#define LEVEL(name, NAME, machine, features, few, frames, integers) \
  {#name, \
   MAFAT_##NAME##_LANES, \
   MAFAT_##NAME##_PIXELS, \
   MAFAT_##NAME##_SEGMENTS * MAFAT_CHANNEL_BLOCK / MAFAT_##NAME##_LANES, \
   few, \
   #integers, \
   &name##_prices},
#include "base/levels.def"
};

enum { N_INTEGER_TERMS = MAFAT_N_TERMS - MAFAT_TERM_INTEGER_CALLS };

/* Register tile and prices of one set of integer kernels. The prices were fitted to the least
 * processor time of each layer of seven int8 networks under five plans; for avx512 without VNNI
 * only products were fitted, to single layers. */
struct integers {
  int lanes, pixels, vectors; /* sums per vector; pixels and vectors of a register tile */
  double ns[N_INTEGER_TERMS]; /* nanoseconds per unit, from MAFAT_TERM_INTEGER_CALLS on */
};

static const struct integers portable_integers = {
    4, 2, 2, {179, 0.107, 0.05, 0, 0, 0.498, 8.44, 8.66, 3.29}};
static const struct integers avx2_integers = {
    8, 4, 2, {130, 0.0123, 0.0498, 0.621, 1.97, 0.0218, 0.284, 0.49, 4.12}};
static const struct integers avx512_integers = {
    16, 12, 2, {108, 0.0103, 0.0601, 2.61, 26.1, 0.0155, 0.136, 0.381, 4.04}};
static const struct integers avx512vnni_integers = {
    16, 14, 2, {108, 0.004, 0.0601, 2.61, 26.1, 0.0155, 0.136, 0.381, 4.04}};
/* The following three are not measured: avx2 with dot-product instructions, an Arm core with sdot,
 * and a Cortex-A72. */
static const struct integers avxvnni_integers = {
    8, 6, 2, {130, 0.008, 0.0498, 0.621, 1.97, 0.0218, 0.284, 0.49, 4.12}};
static const struct integers neondot_integers = {4, 6, 4, {300, 0.03, 0.2, 3, 8, 0.1, 0.8, 1, 8}};
static const struct integers neon_integers = {4, 6, 2, {500, 0.17, 0.5, 5, 10, 0.25, 2, 2, 12}};

static const struct {
  const char *name;
  const struct integers *kernels;
} integers[] = {
#define INTEGERS(name, ...) {#name, &name##_integers},
#include "base/levels.def"
};

enum { N_INTEGERS = sizeof integers / sizeof *integers };

void mafat_calibration_set_integers(struct mafat_calibration *c, const char *kernels)
{
  int i = N_INTEGERS - 1;
  while (i > 0 && strcmp(kernels, integers[i].name) != 0) i--; /* unknown: the slowest */
  const struct integers *k = integers[i].kernels;
  c->integer_lanes = k->lanes;
  c->integer_pixels = k->pixels;
  c->integer_vectors = k->vectors;
  for (int t = 0; !c->measured && t < N_INTEGER_TERMS; t++)
    c->ns[MAFAT_TERM_INTEGER_CALLS + t] = k->ns[t];
}

enum { N_LEVELS = sizeof levels / sizeof *levels };

void mafat_calibration_defaults(struct mafat_calibration *c, const char *cpu)
{
  int i = N_LEVELS - 1;
  while (i > 0 && strcmp(cpu, levels[i].name) != 0) i--; /* unknown: the slowest */
  const struct level_prices *l = &levels[i];
  const struct prices *p = l->prices;
  *c = (struct mafat_calibration){.lanes = l->lanes,
                                  .tile_pixels = l->tile_pixels,
                                  .tile_vectors = l->tile_vectors,
                                  .few_filters = l->few_filters,
                                  .few_pixels = l->few_pixels,
                                  .near_bytes = p->near_bytes,
                                  .far_bytes = p->far_bytes,
                                  .thread_step_ns = 2000 * p->slower,
                                  .disk_ns = p->disk_ns,
                                  .disk_wait_ns = p->disk_wait_ns,
                                  .read_ns = 20e3 * p->slower,
                                  .copy_ns = 0.15 * p->slower,
                                  .pack_ns = 0.25 * p->slower};
  snprintf(c->cpu, sizeof c->cpu, "%s", cpu);
  for (int t = 0; t < MAFAT_N_TERMS; t++) c->ns[t] = p->ns[t] * p->slower;
  mafat_calibration_set_integers(c, l->integers);
}
