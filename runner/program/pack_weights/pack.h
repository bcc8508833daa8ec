/* A packed file written: with weights of some type, measured or not, or with activations as whole numbers too. */
#ifndef MAFAT_RUNNER_PROGRAM_PACK_WEIGHTS_PACK_H
#define MAFAT_RUNNER_PROGRAM_PACK_WEIGHTS_PACK_H

#include "runner/weights/packer.h"

struct mafat_pictures {
  const char **list;
  int n;
};

struct mafat_packing {
  int fd;           /* that is being written, */
  const char *path; /* under this name for the time being, */
  const char *out;  /* to be called so */
  const char *weights;
  struct mafat_packed_origin origin;
  const struct mafat_packer_progress *progress;
  enum mafat_dtype type;  /* of weights */
  bool whole_numbers;     /* activations, by what is seen of: */
  struct mafat_pictures calibrate;
  struct mafat_pictures measure; /* none: nothing is measured; with whole numbers: by the same */
  double most_error;      /* of a layer, from where on it is kept wider; INFINITY: none is */
  /* The network once more, as the model has it. */
  int (*read)(void *context, struct mafat_network **n, struct mafat_diagnostic *d);
  void *context;
};

/* Of the network as the model has it. Prints what it measured. */
int mafat_pack_file(const struct mafat_packing *p, struct mafat_network *n, struct mafat_diagnostic *d);

#endif
