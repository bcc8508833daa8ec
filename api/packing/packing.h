/* Writes packed files step by step, in one of two modes. narrowing.c chooses types of weights, by
 * measured errors if that is requested; numbering.c also quantizes activations. The file is written
 * again until it meets the request. Included by api/packing/narrowing.c, api/packing/numbering.c
 * and api/packing/pack.c. Runs the network on pictures and writes a file; the functions named
 * _close free what those named _open allocate. */
#ifndef MAFAT_API_PACKING_PACKING_H
#define MAFAT_API_PACKING_PACKING_H

#include "include/mafat_pack.h"
#include "runner/weights/packer.h"

struct mafat_pictures {
  const char *const *list;
  int n;
};

/* The request. */
struct mafat_packing {
  int fd;           /* file being written */
  const char *path; /* its temporary name */
  const char *out;  /* its final name */
  struct mafat_model_source *weights;
  struct mafat_packed_origin origin;
  struct mafat_warning_sink warnings;
  enum mafat_dtype type;            /* wanted type of weights */
  bool integers;               /* also quantize activations */
  struct mafat_pictures calibrate; /* integers: pictures for choosing scales */
  struct mafat_pictures measure;    /* empty: nothing is measured; if activations are quantized, the
                                       calibration pictures are used */
  double most_error;                /* largest error of a narrow layer; layers above it get a wider
                                       type. INFINITY: no limit */
  struct mafat_network *network;    /* the model's network; packing sets its types */
  /* Reads the model's network again. */
  int (*read)(void *context, struct mafat_network **n, struct mafat_diagnostic *d);
  void *context;
};

enum { MAFAT_PACKING_CANDIDATES = 4 };

/* Progress and results. */
struct mafat_packing_run {
  struct mafat_packer *packer; /* current writer; NULL: not begun */
  int pass;                    /* number of times that the complete file was rejected, to be written
                                  again */
  struct mafat_pack_layer_facts *layers; /* (n_layers) measured errors; NULL: not measured */
  int n_layers;
  struct mafat_pack_candidate_facts candidates[MAFAT_PACKING_CANDIDATES];
  int n_candidates;
  double error, largest; /* errors of the outputs */
};

/* Fills the diagnostic and returns MAFAT_ENOMEM. */
int mafat_packing_no_memory(const struct mafat_packing *p, struct mafat_diagnostic *d);
/* Begins to write the file from its beginning. */
int mafat_packing_begin(const struct mafat_packing *p, struct mafat_packing_run *run,
                        const struct mafat_network *n, const struct mafat_packed_origin *origin,
                        struct mafat_diagnostic *d);
/* Continues writing; *written: the file is complete. */
int mafat_packing_write(struct mafat_packing_run *run, bool *written, struct mafat_diagnostic *d);
/* Sets the weights' type of each layer to the wanted one, or to the next wider one that the layer
 * supports. */
void mafat_packing_choose_types(struct mafat_network *n, enum mafat_dtype wanted);

struct mafat_narrowing;
struct mafat_numbering;

int mafat_narrowing_open(struct mafat_narrowing **out, const struct mafat_packing *p,
                         struct mafat_diagnostic *d);
int mafat_numbering_open(struct mafat_numbering **out, const struct mafat_packing *p,
                         struct mafat_diagnostic *d);
/* Do one step of writing or measuring. *done: the file meets the request. */
int mafat_narrowing_step(struct mafat_narrowing *w, struct mafat_packing_run *run, bool *done,
                         struct mafat_diagnostic *d);
int mafat_numbering_step(struct mafat_numbering *q, struct mafat_packing_run *run, bool *done,
                         struct mafat_diagnostic *d);
void mafat_narrowing_close(struct mafat_narrowing **narrowing);
void mafat_numbering_close(struct mafat_numbering **numbering);

#endif
