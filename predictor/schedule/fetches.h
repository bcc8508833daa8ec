/* Fetches: the sequence of a run's reads from its weights file. It depends only on the plan and on
 * the constants' locations in the file. This code lists the reads but reads no file. Called by
 * predictor/layout/buffers.c to size the ring and to count bytes, by predictor/cost/latency.c and
 * search/best to estimate costs, and by runner/weights, which reads ahead of the executor.
 *
 * Reads go to a ring of memory. A step with streamed weights uses the slices of a packed file in
 * the ring. From other files, whole filters are read and then packed into the panel buffer, and
 * once per layer the values of each filter (biases, normalization) are put into the affine buffer.
 * A loaded layer is read in chunks before its first step, and each chunk is copied or packed to
 * where the layer's weights are stored. */
#ifndef MAFAT_PREDICTOR_SCHEDULE_FETCHES_H
#define MAFAT_PREDICTOR_SCHEDULE_FETCHES_H

#include "base/tuning.h"
#include "network/constant.h"
#include "predictor/schedule/schedule.h"

struct mafat_fetch_sizes {
  size_t ring_bytes;   /* ring of reads; 0: nothing is read while the plan runs */
  size_t panel_bytes;  /* panel buffer: filters packed for a step */
  size_t affine_bytes; /* affine buffer: a layer's scales and biases, and the values from which they
                          are computed */
  uint64_t bytes_read; /* bytes that one run needs from files; alignment makes it read more */
};

/* Finds these sizes by a walk over all fetches of a run. Allocates, and frees before it returns.
 * MAFAT_ENOMEM; MAFAT_ELIMIT: a size overflows. */
int mafat_fetches_size(const struct mafat_network *n, const struct mafat_plan *plan,
                       struct mafat_fetch_sizes *sizes);

enum mafat_fetch_kind {
  MAFAT_FETCH_SLICE, /* from a packed file: the weights of the panels `filters` for the input
                        channels `channels`. A slice with the last channels includes scales and
                        biases. A slice of several panels has all channels */
  MAFAT_FETCH_COPY,  /* bytes that are copied unchanged to the layer's packed weights */
  /* from files that are not packed: */
  MAFAT_FETCH_FILTERS,      /* weights of whole filters */
  MAFAT_FETCH_TRANSPOSED,   /* rows `channels` of weights that are not stored filter by filter
                               (packing.h: mafat_order_rows) */
  MAFAT_FETCH_BIASES,       /* biases of all the layer's filters */
  MAFAT_FETCH_NORMALIZATION, /* scales, means and variances; of a batchnorm layer too */
  MAFAT_FETCH_AFFINE,       /* biases and normalization in one read */
  MAFAT_FETCH_PARTS         /* the constants `parts` (network/constant.h), from which scales and
                               biases are computed ("folded") */
};

struct mafat_fetch {
  enum mafat_fetch_kind kind;
  int layer;
  struct mafat_span filters, channels;
  unsigned file;     /* file number, as in constants (network/constant.h) */
  unsigned parts;    /* bit set of 1 << enum mafat_constant_part */
  bool folds;        /* the layer's last parts: folding can begin */
  uint64_t position; /* first byte in the file; for a constant fill, the bits of its float */
  uint64_t into;     /* slices and copies: offset in the layer's packed weights, in bytes */
  size_t bytes;
  bool last;         /* last fetch of a loaded or kept layer */
  long long step;    /* number of the step that needs it, from 0; 0 in fetches of whole layers */
};

struct mafat_fetches;

/* Opens the fetches of a run from a file with these constants. constants NULL: the network's own,
 * but if the plan is for a packed file (plan->packed), positions then count from the start of each
 * layer, so that no file is needed. Allocates from the plan's heap. MAFAT_ENOMEM; MAFAT_ELIMIT: a
 * size overflows. */
int mafat_fetches_open(struct mafat_fetches **out, const struct mafat_network *n,
                       const struct mafat_plan *plan, const struct mafat_constants *constants);
/* Opens the fetches of whole layers, to read weights that are kept: each of the first n_layers
 * layers with wanted[layer] (wanted NULL: all of them), once and in ascending order. most_bytes:
 * greatest size of a read of weights, unless one filter is larger; 0: as in runs. Returns as
 * mafat_fetches_open does. Allocates from the C library's heap. */
int mafat_fetches_open_layers(struct mafat_fetches **out, const struct mafat_network *n,
                              int n_layers, const bool *wanted,
                              const struct mafat_constants *constants, size_t most_bytes);
/* Restricts fetches of whole layers to the panels that the plan's rank keeps. The plan must outlive
 * the fetches. */
void mafat_fetches_restrict(struct mafat_fetches *f, const struct mafat_plan *plan);
/* Upper bound of the bytes, after packing, of one fetch of whole filters of a wanted layer of which
 * the rank keeps only some channels; 0: no such layer. */
size_t mafat_fetches_channel_bytes(const struct mafat_fetches *f, const bool *wanted);
void mafat_fetches_close(struct mafat_fetches **f);
/* Starts again at the first fetch. */
void mafat_fetches_rewind(struct mafat_fetches *f);
/* Returns the next fetch; false at the end. Allocates nothing. */
bool mafat_fetches_next(struct mafat_fetches *f, struct mafat_fetch *fetch);

/* Greatest number of bytes of the ring that a fetch of `bytes` uses: reads are of whole alignment
 * units, and a fetch may begin and end inside one. */
static inline size_t mafat_fetch_window(size_t bytes)
{
  return (bytes + 2 * MAFAT_FETCH_ALIGNMENT - 1) / MAFAT_FETCH_ALIGNMENT * MAFAT_FETCH_ALIGNMENT;
}

/* Number of values for each filter from which its scale and bias are computed, including scale and
 * bias themselves. */
int mafat_fetches_affine_rows(const struct mafat_layer_constants *c);

/* True if the step uses the weights of its layers. False for steps that only prepare, such as
 * reading an input. */
static inline bool mafat_fetches_step_has_weights(const struct mafat_step *step)
{
  return step->kind == MAFAT_STEP_COMPUTE;
}

#endif
