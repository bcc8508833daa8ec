/* How fast a machine computes and reads: what a latency prediction is made from.
 * Plain numbers, measured once by `run_inference --calibrate` and kept as text, or
 * the built-in ones. */
#ifndef MAFAT_PREDICTOR_COST_CALIBRATION_H
#define MAFAT_PREDICTOR_COST_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* What kernels do, as predictor/cost/work.c counts it. */
enum mafat_term {
  MAFAT_TERM_STEP,             /* steps, layers inside them, and turns of these that take some rows at a time */
  MAFAT_TERM_UNIT,             /* kernel calls: a block of rows times a panel */
  MAFAT_TERM_CONV_MACS,        /* products of 3x3 and larger, whole vectors */
  MAFAT_TERM_POINT_MACS,       /* of 1x1 convolutions */
  MAFAT_TERM_WINOGRAD_MACS,    /* of transformed tiles */
  MAFAT_TERM_TAPS,             /* register tiles times taps, of all three */
  MAFAT_TERM_RUNS,             /* inner loops begun */
  MAFAT_TERM_TILES,            /* register tiles begun and stored */
  MAFAT_TERM_NARROW_TAPS,      /* the same of panels that another level computes (few_filters) */
  MAFAT_TERM_POOLED,           /* sums pooled in the store */
  MAFAT_TERM_COSTLY,           /* outputs through exp, tanh and the like */
  MAFAT_TERM_LOGISTIC,         /* through a logistic function or swish */
  MAFAT_TERM_WINOGRAD_INPUTS,  /* tiles times channels transformed */
  MAFAT_TERM_WINOGRAD_KERNELS, /* channels times filters transformed */
  MAFAT_TERM_WINOGRAD_OUTPUTS, /* tiles times filters transformed */
  MAFAT_TERM_DEPTHWISE_MACS,
  MAFAT_TERM_POOL_TAPS,        /* maxpool layers: outputs times the window, where it lies in the map */
  MAFAT_TERM_POOL_OUTPUTS,
  MAFAT_TERM_MOVED,            /* floats copied, added, scaled, activated */
  MAFAT_TERM_GATHERED,         /* floats taken one by one: flattening, upsampling, averages */
  MAFAT_TERM_REORDERED,        /* the same across all of a map: reorg */
  MAFAT_TERM_BOX_VALUES,       /* values of heads, activated row by row */
  MAFAT_TERM_CLASS_VALUES,     /* values of heads taken pixel by pixel; softmax */
  MAFAT_TERM_DENSE_MACS,       /* connected and local layers */
  /* Bytes that lie farther away than a core's own caches, and those of them that
   * come from memory: the price of the latter is on top. */
  MAFAT_TERM_WEIGHTS_FAR,
  MAFAT_TERM_WEIGHTS_COLD,
  MAFAT_TERM_READ_FAR,         /* of maps */
  MAFAT_TERM_READ_COLD,
  MAFAT_TERM_WRITTEN_FIRST,    /* to rolling windows that the run has not touched before */
  MAFAT_TERM_WRITTEN_FAR,
  MAFAT_TERM_WRITTEN_COLD,
  MAFAT_TERM_WINOGRAD_FAR,     /* of transformed inputs */
  MAFAT_TERM_WINOGRAD_COLD,
  /* What kernels of whole numbers do. */
  MAFAT_TERM_INTEGER_CALLS,     /* of a kernel: rows of a panel, of a block of channels */
  MAFAT_TERM_INTEGER_MACS,      /* products of convolutions, whole vectors of quads */
  MAFAT_TERM_INTEGER_TAPS,      /* register tiles times quads */
  MAFAT_TERM_INTEGER_RUNS,      /* inner loops begun */
  MAFAT_TERM_INTEGER_TILES,
  MAFAT_TERM_INTEGER_DEPTHWISE, /* products and columns of pairs of rows, whole vectors */
  MAFAT_TERM_INTEGER_OUTPUTS,   /* sums rescaled, whole vectors */
  MAFAT_TERM_INTEGER_BLENDED,
  MAFAT_TERM_INTEGER_MAPPED,    /* one by one: through tables, floats to numbers and back, pooled and added bytes */
  MAFAT_N_TERMS
};

struct mafat_calibration {
  char cpu[16];  /* kernel level it holds for (base/levels.def) */
  bool measured; /* on this machine; else built-in */
  double fit_error; /* median relative error of what it was made from, layer by layer; 0: not known */
  int lanes, tile_pixels, tile_vectors; /* of the level's kernels: floats of a vector, register tile */
  int few_filters, few_pixels; /* panels of so many filters at most are another level's, whose tiles have so many pixels; 0: none */
  int integer_lanes, integer_pixels, integer_vectors; /* the same of its kernels of whole numbers: sums of a vector */
  double near_bytes, far_bytes; /* what a core's own caches hold; what the cache before memory does */
  double ns[MAFAT_N_TERMS];     /* nanoseconds of one of each */
  double thread_step_ns;        /* more, of a step that several threads share */
  double disk_ns;               /* of a byte, read past the page cache, in a row */
  double disk_wait_ns;          /* until a read returns that nothing else was waiting for */
  double read_ns;               /* of the processor for each read */
  double copy_ns, pack_ns;      /* of the processor for a byte: loaded from a packed file, packed from Darknet's */
};

/* Built-in figures of a kernel level, and of the best kernels of whole numbers that processors of that level usually have. */
void mafat_calibration_defaults(struct mafat_calibration *c, const char *cpu);
/* Those of another row of base/levels.def; prices, too, unless they were measured. */
void mafat_calibration_set_integers(struct mafat_calibration *c, const char *kernels);

/* "conv_macs" ... */
const char *mafat_term_name(enum mafat_term term);

#endif
