/* How a model's pictures become its input: as the options say it, else as the file does, else by rule. */
#ifndef MAFAT_API_PICTURE_H
#define MAFAT_API_PICTURE_H

#include "include/mafat.h"
#include "network/network.h"
#include "runner/image/image.h"

/* Points into itself: stays where it was made. */
struct mafat_picture {
  struct mafat_image_input input;
  struct mafat_pixel_rule rule; /* also where input.rule is NULL */
  const char *source;           /* of mean and scale: "options", "file", "default" */
};

/* MAFAT_EINVAL: the options. */
int mafat_picture_make(struct mafat_picture *p, const struct mafat_network *n, const struct mafat_model_options *o,
                       const struct mafat_kernels *kernels, struct mafat_diagnostic *d);

/* What is not Darknet's own (picture_options.c). */
int mafat_picture_follow(struct mafat_picture *p, const struct mafat_network *n, const struct mafat_model_options *o,
                         struct mafat_diagnostic *d);

#endif
