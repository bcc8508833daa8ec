/* Internal state of open weights (struct mafat_weights). Weights are verified when they are read
 * the first time; this state records which are. Included by weights.c and weights_open.c. */
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
  uint64_t left;     /* packed file: number of bytes that are not read yet */
  uint64_t checksum; /* packed file: checksum of the bytes that are read */
  /* packed file, map divided both by pixels and by channels: only parts with this corner are added
   * to the checksum; y is -1 before the first part is read */
  struct corner counted;
};

/* Streamed layer of the current step. */
struct streamed {
  int layer; /* -1: the step has none */
  struct mafat_span filters, channels;
  bool shares;          /* parts at other pixels read the same weights again */
  struct corner corner; /* corner of the part that the step computes */
  const char *panels[MAFAT_MAX_THREADS]; /* packed file: address of each panel's slice */
};

struct mafat_weights {
  const struct mafat_network *network;
  const struct mafat_plan *plan;     /* NULL: all weights are kept */
  const struct mafat_layout *layout;
  int n_layers;
  struct mafat_weights_file *file;
  char *kept;                        /* mapping with all kept weights; NULL: none are kept */
  size_t kept_bytes;
  struct mafat_lock *lock;           /* set while opening; NULL: no locking */
  bool locked;                       /* `kept` is locked in memory */
  struct mafat_packed_panels *panels; /* [layer]: kept or loaded panels; if the layer is streamed
                                         from a file that is not packed, the panel buffer */
  struct trust *trust;               /* [layer] */
  struct mafat_block_slice *block_slices;        /* temporary memory of packing functions */
  char *whole; /* while opening: complete panels, of which a rank keeps some channels; else NULL */
  float *affine;                     /* scales, then biases, of the layer that is being packed */
  struct mafat_fetches *fetches;     /* fetches of a run; NULL if runs read nothing */
  struct mafat_stream *stream;       /* stream of these fetches; NULL if runs read nothing */
  size_t ring_bytes;                 /* bytes of the ring in the arena */
  struct streamed step;
  char *arena;
  bool begun;                        /* the current run has used the ring */
  /* what opening has read and how, because the file is closed then if runs read nothing */
  uint64_t bytes_read;
  const char *method;
  bool direct;
};

/* Verifies the data of a fetch, and copies or packs it to its destination. MAFAT_EFORMAT:
 * damaged. */
int mafat_weights_take_in(struct mafat_weights *w, const struct mafat_fetch *fetch,
                          const char *data, struct mafat_diagnostic *d);
/* Resets the verification state of layers that were not read completely. */
void mafat_weights_forget_parts(struct mafat_weights *w);

#endif
