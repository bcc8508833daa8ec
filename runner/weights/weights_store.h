/* Inside of weights.c and weights_open.c: what an open store consists of. */
#ifndef MAFAT_RUNNER_WEIGHTS_WEIGHTS_STORE_H
#define MAFAT_RUNNER_WEIGHTS_WEIGHTS_STORE_H

#include "predictor/layout/layout.h"
#include "runner/weights/pack.h"
#include "runner/weights/stream.h"
#include "runner/weights/weights_file.h"

/* Where parts of a map begin. */
struct corner {
  int y, x;
};

/* What is known of a layer's weights in the file. */
struct trust {
  bool checked;      /* all of them have been read once, and were good */
  uint64_t left;     /* packed: bytes that have not been */
  uint64_t checksum; /* packed: of those that have */
  struct corner counted; /* packed, of a map that is cut both by pixels and by channels: what parts read that begin here; y -1: none yet */
};

/* Of a step whose layer is streamed. */
struct streamed {
  int layer; /* -1: no layer is */
  struct mafat_span filters, channels;
  bool shares;         /* what it reads is read anew by parts of other pixels, */
  struct corner corner; /* and it is a part that begins here */
  const char *panels[MAFAT_MAX_THREADS]; /* packed file: the slice of each panel, in the ring */
};

struct mafat_weights {
  const struct mafat_network *network;
  const struct mafat_plan *plan;     /* NULL: all is kept */
  const struct mafat_layout *layout;
  int n_layers;
  struct mafat_weights_file *file;
  char *kept;                        /* one mapping */
  size_t kept_bytes;
  struct mafat_lock *lock;           /* while it is opened; NULL: none */
  bool locked;                       /* the mapping */
  struct mafat_packed_panels *panels; /* [layer]: kept, loaded, or the panels that a step needs */
  struct trust *trust;               /* [layer] */
  struct mafat_piece *pieces;        /* room for packing */
  char *whole;                       /* panels of which a rank keeps some channels, while they are packed; NULL: of none */
  float *affine;                     /* of the layer that is being packed: scales, then biases */
  struct mafat_fetches *fetches;     /* of a run: NULL where it reads nothing */
  struct mafat_stream *stream;
  size_t ring_bytes;
  struct streamed step;
  char *arena;
  bool begun;                        /* a run has something in the ring, or has had */
  /* Of reads that are over, where runs read nothing. */
  uint64_t bytes_read;
  const char *method;
  bool direct;
};

/* Checks what was read, and copies or packs it to its place. */
int mafat_weights_take_in(struct mafat_weights *w, const struct mafat_fetch *fetch, const char *data,
                          struct mafat_diagnostic *d);
/* Of layers that have not been read once as a whole: the parts that have do not count. */
void mafat_weights_forget_parts(struct mafat_weights *w);

#endif
