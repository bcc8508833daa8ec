/* Packed files written, a step at a time: what is asked for, what comes out, and the two kinds of work. With weights of some type,
 * measured or not (narrowing.c); with activations as whole numbers, too (numbering.c). The file is written again until it is good. */
#ifndef MAFAT_API_PACKING_PACKING_H
#define MAFAT_API_PACKING_PACKING_H

#include "runner/weights/packer.h"

struct mafat_pictures {
  const char *const *list;
  int n;
};

struct mafat_packing {
  int fd;           /* that is being written, */
  const char *path; /* under this name for the time being, */
  const char *out;  /* to be called so */
  struct mafat_model_source *weights;
  struct mafat_packed_origin origin;
  struct mafat_warning_sink warnings;
  enum mafat_dtype type;            /* of weights */
  bool whole_numbers;               /* activations, by what is seen of: */
  struct mafat_pictures calibrate;
  struct mafat_pictures measure;    /* none: nothing is measured; with whole numbers: by the same */
  double most_error;                /* of a layer, from where on it is kept wider; INFINITY: none is */
  struct mafat_network *network;    /* as the model has it; its types become those that are packed */
  /* The network once more, as the model has it. */
  int (*read)(void *context, struct mafat_network **n, struct mafat_diagnostic *d);
  void *context;
};

enum { MAFAT_PACKING_WAYS = 4 };

/* How far it is, and what it has come to. */
struct mafat_packing_run {
  struct mafat_packer *packer; /* of what is being written; NULL: that is to begin */
  int pass;
  struct mafat_pack_layer_facts *layers; /* NULL: nothing was measured */
  int n_layers;
  struct mafat_pack_way_facts ways[MAFAT_PACKING_WAYS];
  int n_ways;
  double error, largest; /* of the outputs */
};

int mafat_packing_no_memory(const struct mafat_packing *p, struct mafat_diagnostic *d);
/* Begins to write anew, whatever was written before. */
int mafat_packing_begin(const struct mafat_packing *p, struct mafat_packing_run *run, const struct mafat_network *n,
                        const struct mafat_packed_origin *origin, struct mafat_diagnostic *d);
/* Goes on; *written: all of it. */
int mafat_packing_write(struct mafat_packing_run *run, bool *written, struct mafat_diagnostic *d);
/* Each layer's weights as the type has them, or wider. */
void mafat_packing_choose_types(struct mafat_network *n, enum mafat_dtype wanted);

struct mafat_narrowing;
struct mafat_numbering;

int mafat_narrowing_open(struct mafat_narrowing **out, const struct mafat_packing *p, struct mafat_diagnostic *d);
int mafat_numbering_open(struct mafat_numbering **out, const struct mafat_packing *p, struct mafat_diagnostic *d);
/* *done: the file is as it shall be. */
int mafat_narrowing_step(struct mafat_narrowing *w, struct mafat_packing_run *run, bool *done, struct mafat_diagnostic *d);
int mafat_numbering_step(struct mafat_numbering *q, struct mafat_packing_run *run, bool *done, struct mafat_diagnostic *d);
void mafat_narrowing_close(struct mafat_narrowing **narrowing);
void mafat_numbering_close(struct mafat_numbering **numbering);

#endif
