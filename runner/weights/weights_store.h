/* Internal state of open weights. Included by weights.c and weights_open.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_WEIGHTS_STORE_H
#define MAFAT_RUNNER_WEIGHTS_WEIGHTS_STORE_H

#include "predictor/layout/layout.h"
#include "runner/weights/pack.h"
#include "runner/weights/stream.h"
#include "runner/weights/weights_file.h"

/* First row and column of a part of a map. */
struct corner {
  int y, x;
};

/* Verification state of a layer's weights. */
struct trust {
  bool checked;      /* all bytes have been read once and verified */
  uint64_t left;     /* packed: bytes not read yet */
  uint64_t checksum; /* packed: sum over the bytes read */
  /* packed, map partitioned by pixels and channels: parts at this corner add to the checksum; y -1:
   * none yet */
  struct corner counted;
};

/* State of a step whose layer is streamed. */
struct streamed {
  int layer; /* -1: none */
  struct mafat_span filters, channels;
  bool shares;         /* parts at other pixels read the same data again */
  struct corner corner; /* of this part */
  const char *panels[MAFAT_MAX_THREADS]; /* packed file: the slice of each panel in the ring */
};

struct mafat_weights {
  const struct mafat_network *network;
  const struct mafat_plan *plan;     /* NULL: all weights are kept */
  const struct mafat_layout *layout;
  int n_layers;
  struct mafat_weights_file *file;
  char *kept;                        /* one mapping */
  size_t kept_bytes;
  struct mafat_lock *lock;           /* set while opening; NULL: no locking */
  bool locked;                       /* `kept` is locked in memory */
  struct mafat_packed_panels *panels; /* [layer]: kept, loaded, or the panels of the step */
  struct trust *trust;               /* [layer] */
  struct mafat_block_slice *block_slices;        /* buffer for packing */
  char *whole; /* temporary: complete panels of which a rank keeps some channels; NULL except while
                  opening */
  float *affine;                     /* scales, then biases, of the layer that is packed */
  struct mafat_fetches *fetches;     /* of a run; NULL if runs read nothing */
  struct mafat_stream *stream;
  size_t ring_bytes;
  struct streamed step;
  char *arena;
  bool begun;                        /* the run has used the ring */
  /* reads at opening; the file is closed afterwards if runs read nothing */
  uint64_t bytes_read;
  const char *method;
  bool direct;
};

/* Verifies fetched data, and copies or packs it to its destination. */
int mafat_weights_take_in(struct mafat_weights *w, const struct mafat_fetch *fetch,
                          const char *data, struct mafat_diagnostic *d);
/* Discards the verification state of layers that were not read completely. */
void mafat_weights_forget_parts(struct mafat_weights *w);

#endif
