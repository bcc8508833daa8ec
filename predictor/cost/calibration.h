/* A calibration: the speed of a machine's kernels and disk, as prices for latency prediction
 * (latency.h). `run_inference --calibrate` measures it once and stores it as text; without it,
 * built-in prices are used. Used by predictor/cost, predictor/transfers, search/common,
 * runner/calibrate and api/. */
#ifndef MAFAT_PREDICTOR_COST_CALIBRATION_H
#define MAFAT_PREDICTOR_COST_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Kinds of work, counted by predictor/cost/work.c. Comments name the unit that is counted. */
enum mafat_term {
  /* steps, and layers fused into them; a depthwise layer inside a 1x1 convolution counts once for
   * each block of rows */
  MAFAT_TERM_STEP,
  MAFAT_TERM_UNIT,             /* kernel calls, each for a block of rows and a panel */
  MAFAT_TERM_CONV_MACS,        /* products of kernels 3x3 and larger, in whole vectors */
  MAFAT_TERM_POINT_MACS,       /* products of 1x1 convolutions */
  MAFAT_TERM_WINOGRAD_MACS,    /* products of transformed tiles */
  MAFAT_TERM_TAPS,             /* register tiles times taps, of all three kinds above */
  MAFAT_TERM_RUNS,             /* inner loops entered */
  MAFAT_TERM_TILES,            /* register tiles loaded and stored */
  MAFAT_TERM_NARROW_TAPS,      /* taps of narrow panels (few_filters) */
  MAFAT_TERM_POOLED,           /* sums of convolutions with fused pooling */
  MAFAT_TERM_COSTLY,           /* outputs activated one float at a time */
  MAFAT_TERM_LOGISTIC,         /* outputs activated by a vectorized logistic function */
  MAFAT_TERM_WINOGRAD_INPUTS,  /* tiles times channels transformed */
  MAFAT_TERM_WINOGRAD_KERNELS, /* channels times filters transformed */
  MAFAT_TERM_WINOGRAD_OUTPUTS, /* tiles times filters transformed */
  MAFAT_TERM_DEPTHWISE_MACS,
  MAFAT_TERM_POOL_TAPS,        /* maxpool layers: outputs times the part of the window inside the
                                  map */
  MAFAT_TERM_POOL_OUTPUTS,
  MAFAT_TERM_MOVED,            /* floats copied, added, scaled, activated */
  MAFAT_TERM_GATHERED,         /* floats copied one by one: flattening, upsampling, averages */
  MAFAT_TERM_REORDERED,        /* floats copied one by one across the whole map: reorg */
  MAFAT_TERM_BOX_VALUES,       /* values of detection heads, activated row by row */
  MAFAT_TERM_CLASS_VALUES,     /* values of detection heads, read pixel by pixel; softmax */
  MAFAT_TERM_DENSE_MACS,       /* products of connected and local layers */
  /* Bytes farther away than a core's own caches (far), and those among them that come from memory
   * (cold). The price of cold bytes is added to that of far bytes. */
  MAFAT_TERM_WEIGHTS_FAR,
  MAFAT_TERM_WEIGHTS_COLD,
  MAFAT_TERM_READ_FAR,         /* bytes of maps */
  MAFAT_TERM_READ_COLD,
  MAFAT_TERM_WRITTEN_FIRST,    /* bytes of rolling windows written for the first time in a run */
  MAFAT_TERM_WRITTEN_FAR,
  MAFAT_TERM_WRITTEN_COLD,
  MAFAT_TERM_WINOGRAD_FAR,     /* bytes of transformed inputs */
  MAFAT_TERM_WINOGRAD_COLD,
  /* Work of integer kernels. A quad is four input channels of one tap. */
  MAFAT_TERM_INTEGER_CALLS,     /* kernel calls, each for a block of rows and a panel or channel
                                   block */
  MAFAT_TERM_INTEGER_MACS,      /* products of convolutions, in whole vectors of quads */
  MAFAT_TERM_INTEGER_TAPS,      /* register tiles times quads */
  MAFAT_TERM_INTEGER_RUNS,      /* inner loops entered */
  MAFAT_TERM_INTEGER_TILES,     /* register tiles */
  MAFAT_TERM_INTEGER_DEPTHWISE, /* work of depthwise outputs, in whole vectors; its unit is defined
                                   in counting_integers.c (depthwise_work) */
  MAFAT_TERM_INTEGER_OUTPUTS,   /* sums rescaled, in whole vectors */
  MAFAT_TERM_INTEGER_BLENDED,   /* outputs of element-wise operations */
  MAFAT_TERM_INTEGER_MAPPED,    /* values looked up in a table, quantized or dequantized */
  MAFAT_N_TERMS
};

struct mafat_calibration {
  char cpu[16];  /* kernel level (base/levels.def) */
  bool measured; /* measured on this machine; false: built in */
  double fit_error; /* median relative error of the fit over layers; 0: unknown */
  int lanes, tile_pixels, tile_vectors; /* floats per vector; pixels and vectors of filters of a
                                           register tile */
  /* a panel of at most few_filters filters is narrow: another level computes it, with register
   * tiles of few_pixels; 0: no panel is narrow */
  int few_filters, few_pixels;
  /* as lanes, tile_pixels and tile_vectors, for integer kernels; integer_lanes: sums per vector */
  int integer_lanes, integer_pixels, integer_vectors;
  double near_bytes, far_bytes; /* bytes in a core's own caches; in the last cache before memory */
  double ns[MAFAT_N_TERMS];     /* nanoseconds for one unit of each term */
  double thread_step_ns;        /* added for each step if there are several threads */
  double disk_ns;               /* for one byte read sequentially, past the page cache */
  double disk_wait_ns;          /* latency of a read when no other is queued */
  double read_ns;               /* processor time for each read */
  double copy_ns, pack_ns;      /* processor time for one byte of weights: copied from a packed
                                   file; packed from another file */
};

/* Built-in prices of a kernel level, with the integer kernels that processors of that level usually
 * have. */
void mafat_calibration_defaults(struct mafat_calibration *c, const char *cpu);
/* Selects the integer kernels of another row of base/levels.def, and sets their prices, unless
 * these were measured. */
void mafat_calibration_set_integers(struct mafat_calibration *c, const char *kernels);

/* Returns the term's name in lower case, such as "conv_macs". */
const char *mafat_term_name(enum mafat_term term);

#endif
