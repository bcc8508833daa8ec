/* Fetches: the sequence of a run's reads from its weights file. It depends only on the plan and on
 * the constants' locations in the file; this code reads no file. Called by
 * predictor/layout/buffers.c to size the ring and to count bytes, by predictor/cost/latency.c and
 * search/best to estimate costs, and by runner/weights, which reads ahead of the executor.
 *
 * A streamed step reads its slices from a packed file into the ring, where they stay while the step
 * runs. From other files it reads whole filters, which are packed into the panel buffer, and once
 * per layer the per-filter values, into the affine buffer. A loaded layer is read in chunks before
 * its first step, and each chunk is copied or packed to its destination. */
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
  uint64_t bytes_read; /* bytes that one run reads, without alignment */
};

/* Finds these sizes by a walk over all fetches of a run. MAFAT_ENOMEM; MAFAT_ELIMIT on overflow. */
int mafat_fetches_size(const struct mafat_network *n, const struct mafat_plan *plan,
                       struct mafat_fetch_sizes *sizes);

enum mafat_fetch_kind {
  MAFAT_FETCH_SLICE, /* packed file: input channels `channels` of the panels `filters`. The last
                        channels come with scales and biases. Several panels are fetched together
                        only with all channels */
  MAFAT_FETCH_COPY,  /* values copied unchanged to the layer's packed weights */
  /* files that are not packed: */
  MAFAT_FETCH_FILTERS,      /* weights of whole filters */
  MAFAT_FETCH_TRANSPOSED,   /* rows `channels` of weights that are not stored filter by filter
                               (packing.h: mafat_order_rows) */
  MAFAT_FETCH_BIASES,       /* biases of all the layer's filters */
  MAFAT_FETCH_NORMALIZATION, /* scales, means and variances; also of a batchnorm layer */
  MAFAT_FETCH_AFFINE,       /* biases and normalization in one read */
  MAFAT_FETCH_PARTS         /* `parts` (network/constant.h) that are folded into scales and
                               biases */
};

struct mafat_fetch {
  enum mafat_fetch_kind kind;
  int layer;
  struct mafat_span filters, channels;
  unsigned file;     /* file number, as in constants (network/constant.h) */
  unsigned parts;    /* bit set of 1 << enum mafat_constant_part */
  bool folds;        /* these are the layer's last parts: folding can begin */
  uint64_t position; /* byte in the file; for a constant fill, the bits of its float */
  uint64_t into;     /* slices and copies: first byte in the layer's packed weights */
  size_t bytes;
  bool last;         /* last fetch of a loaded or kept layer */
  long long step;    /* number of the step that needs it, from 0; whole layers: 0 */
};

struct mafat_fetches;

/* Opens the fetches of a run from a file with these constants. constants NULL: the network's own.
 * For a plan of a packed file, NULL means that no file is needed: positions count from the start of
 * each layer. MAFAT_ENOMEM; MAFAT_ELIMIT on overflow. */
int mafat_fetches_open(struct mafat_fetches **out, const struct mafat_network *n,
                       const struct mafat_plan *plan, const struct mafat_constants *constants);
/* Opens the fetches of whole layers, for reading kept weights: those of the first n_layers with
 * wanted[layer] (NULL: all), each once and in order. most_bytes: largest read of weights, unless
 * one filter is larger; 0: as in runs. */
int mafat_fetches_open_layers(struct mafat_fetches **out, const struct mafat_network *n,
                              int n_layers, const bool *wanted,
                              const struct mafat_constants *constants, size_t most_bytes);
/* Restricts fetches of whole layers to the panels that the plan's rank keeps. The plan must outlive
 * the fetches. */
void mafat_fetches_restrict(struct mafat_fetches *f, const struct mafat_plan *plan);
/* Largest packed size of one fetch of whole filters, among wanted layers of which the rank keeps
 * only some channels; 0: there are none. */
size_t mafat_fetches_channel_bytes(const struct mafat_fetches *f, const bool *wanted);
void mafat_fetches_close(struct mafat_fetches **f);
void mafat_fetches_rewind(struct mafat_fetches *f);
/* Returns the next fetch; false at the end. Allocates nothing. */
bool mafat_fetches_next(struct mafat_fetches *f, struct mafat_fetch *fetch);

/* Most bytes of the ring that a fetch uses: it may begin and end inside an alignment unit. */
static inline size_t mafat_fetch_window(size_t bytes)
{
  return (bytes + 2 * MAFAT_FETCH_ALIGNMENT - 1) / MAFAT_FETCH_ALIGNMENT * MAFAT_FETCH_ALIGNMENT;
}

/* Number of values that folding needs for each filter: scale and bias, and the parts that the layer
 * has in addition. */
int mafat_fetches_affine_rows(const struct mafat_layer_constants *c);

/* True if the step uses the weights of its layers; false if it only prepares. */
static inline bool mafat_fetches_step_has_weights(const struct mafat_step *step)
{
  return step->kind == MAFAT_STEP_COMPUTE;
}

#endif
