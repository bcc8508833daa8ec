/* Chooses how pictures are converted to a model's input: as the options say, else as the options
 * that the packed file stores say, else as the model file declares, else as is usual for the head
 * that decodes the outputs, else as Darknet does. Allocates nothing. Included by api/. */
#ifndef MAFAT_API_PICTURE_H
#define MAFAT_API_PICTURE_H

#include "include/mafat.h"
#include "network/network.h"
#include "runner/image/image.h"

/* Must not be copied or moved, because it contains pointers into itself. */
struct mafat_picture {
  struct mafat_image_input input;
  struct mafat_pixel_rule rule; /* if input.rule is NULL, this is Darknet's rule */
  const char *source;  /* source of mean and scale: "options", "file", "head" or "default" */
  const char *assumed; /* head whose usual preprocessing is used for some value; NULL: none */
};

/* Values of `source`. Defined in picture.c, because runs report them, and the strings of
 * picture_options.c are dropped from memory before the first run. */
extern const struct mafat_picture_sources {
  const char *options, *file, *head;
} mafat_picture_sources;

/* Sets *p for a network and the model's options. MAFAT_EINVAL: invalid options. */
int mafat_picture_make(struct mafat_picture *p, const struct mafat_network *n,
                       const struct mafat_model_options *o, const struct mafat_kernels *kernels,
                       struct mafat_diagnostic *d);

/* Changes *p from Darknet's rule to what the file and the options say. Called by
 * mafat_picture_make; implemented in picture_options.c. */
int mafat_picture_follow(struct mafat_picture *p, const struct mafat_network *n,
                         const struct mafat_model_options *o, struct mafat_diagnostic *d);

#endif
