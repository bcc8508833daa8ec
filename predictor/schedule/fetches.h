/* What a run reads from its weights file, in order. A pure function of the plan and of
 * where the file has the network's constants: the layout walks it dry to size the
 * ring and to count bytes, the weights reader walks it ahead of the executor.
 *
 * From a packed file a streamed step reads its slices as they are; they stay in
 * the ring while the step runs. From Darknet's own file come runs of whole
 * filters, which are packed into the panel buffer; and, where a layer begins, the
 * layer's per-filter values, into the affine buffer. A loaded layer is read in
 * pieces before its first step, and each is copied or packed to its place. */
#ifndef MAFAT_PREDICTOR_SCHEDULE_FETCHES_H
#define MAFAT_PREDICTOR_SCHEDULE_FETCHES_H

#include "base/tuning.h"
#include "network/constant.h"
#include "predictor/schedule/schedule.h"

struct mafat_fetch_sizes {
  size_t ring_bytes;   /* 0: nothing is read while the plan runs */
  size_t panel_bytes;  /* where filters of Darknet's file are packed for a step */
  size_t affine_bytes; /* scales and biases of a layer of Darknet's file, and what they are made of */
  uint64_t bytes_read; /* in one run, without what alignment adds */
};

/* Walks all the fetches of a run. MAFAT_ENOMEM; MAFAT_ELIMIT on overflow. */
int mafat_fetches_size(const struct mafat_network *n, const struct mafat_plan *plan,
                       struct mafat_fetch_sizes *sizes);

enum mafat_fetch_kind {
  MAFAT_FETCH_SLICE, /* packed file: panels `filters`, inputs `channels`; with the last of them scale
                        and bias. Several panels only where channels are all there are */
  MAFAT_FETCH_COPY,  /* floats that go to the layer's packed weights as they are */
  /* Darknet's file: */
  MAFAT_FETCH_FILTERS,      /* weights of whole filters */
  MAFAT_FETCH_TRANSPOSED,   /* weights in an order without filters (packing.h): rows `channels` */
  MAFAT_FETCH_BIASES,       /* of all the layer's filters */
  MAFAT_FETCH_NORMALIZATION, /* their scales, means and variances; of a batchnorm layer, too */
  MAFAT_FETCH_AFFINE,       /* both, one behind the other */
  MAFAT_FETCH_PARTS         /* `parts` of scales and biases (network/constant.h), at their places in it */
};

struct mafat_fetch {
  enum mafat_fetch_kind kind;
  int layer;
  struct mafat_span filters, channels;
  unsigned file;     /* as constants have it (network/constant.h) */
  unsigned parts;    /* as bits */
  bool folds;        /* with these parts all are there */
  uint64_t position; /* byte of the file; of a fill its bits */
  uint64_t into;     /* byte of the packed weights that it begins at: slices and copies */
  size_t bytes;
  bool last;         /* of a loaded (or kept) layer */
  long long step;    /* number of the step that needs it, from 0 on; of layers without a run: 0 */
};

struct mafat_fetches;

/* The fetches of a run from a file that has its constants so. NULL: they are the network's own,
 * or, of a packed file that is not there yet, each layer's begin at byte 0. MAFAT_ENOMEM;
 * MAFAT_ELIMIT on overflow. */
int mafat_fetches_open(struct mafat_fetches **out, const struct mafat_network *n, const struct mafat_plan *plan,
                       const struct mafat_constants *constants);
/* Those of whole layers, each once, in order: of the first n_layers those that are
 * wanted[layer] (NULL: all). Weights come in reads of at most so many bytes, or of one
 * filter (0: as large as those of runs). */
int mafat_fetches_open_layers(struct mafat_fetches **out, const struct mafat_network *n, int n_layers,
                              const bool *wanted, const struct mafat_constants *constants, size_t most_bytes);
/* Of such: a rank's, which keeps some panels only. The plan must outlive it */
void mafat_fetches_restrict(struct mafat_fetches *f, const struct mafat_plan *plan);
/* Of the wanted layers of which a rank keeps some channels: packed bytes of the panels that a fetch fills, at most. */
size_t mafat_fetches_channel_bytes(const struct mafat_fetches *f, const bool *wanted);
void mafat_fetches_close(struct mafat_fetches **f);
void mafat_fetches_rewind(struct mafat_fetches *f);
/* The next one, false at the end. Allocates nothing. */
bool mafat_fetches_next(struct mafat_fetches *f, struct mafat_fetch *fetch);

/* What a fetch of so many bytes takes of a ring at most: it may begin and end within
 * a unit of alignment. */
static inline size_t mafat_fetch_window(size_t bytes)
{
  return (bytes + 2 * MAFAT_FETCH_ALIGNMENT - 1) / MAFAT_FETCH_ALIGNMENT * MAFAT_FETCH_ALIGNMENT;
}

/* Values for each filter that folding the layer's scales and biases takes, these among them. */
int mafat_fetches_affine_rows(const struct mafat_layer_constants *c);

/* Does the step need the weights of its layers, or does it only prepare? */
static inline bool mafat_fetches_step_has_weights(const struct mafat_step *step)
{
  return step->kind == MAFAT_STEP_COMPUTE;
}

#endif
