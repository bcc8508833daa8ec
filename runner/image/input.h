/* A picture as the source of a run's input, decoded row by row as the plan asks for
 * it. */
#ifndef MAFAT_RUNNER_IMAGE_INPUT_H
#define MAFAT_RUNNER_IMAGE_INPUT_H

#include "runner/engine/executor.h"
#include "runner/image/image.h"

struct mafat_picture_input {
  struct mafat_image *image; /* the caller's */
  struct mafat_shape shape;  /* of the network's input */
  float *whole; /* a turned picture has no rows to pull: where the plan wants rows, it is decoded here */
  int next_row; /* that was not asked for yet */
  float *line;  /* where the input is of whole numbers, a row is decoded here; NULL: of floats */
};

/* Heap beside mafat_image_bytes() when a plan asks for the picture's rows. */
size_t mafat_input_turned_bytes(const struct mafat_image *image, struct mafat_shape shape);

/* A source over an opened picture. `by_rows`: the plan asks for rows, not for all
 * at once; `integers`: as whole numbers. MAFAT_ENOMEM. */
int mafat_input_picture_open(struct mafat_picture_input *p, struct mafat_image *image,
                             struct mafat_shape shape, bool by_rows, bool integers, struct mafat_diagnostic *d);
struct mafat_input_source mafat_input_picture_source(struct mafat_picture_input *p);
/* Reads what the plan did not ask for, so that a damaged end does not go
 * unnoticed. */
int mafat_input_picture_finish(struct mafat_picture_input *p, struct mafat_diagnostic *d);
void mafat_input_picture_close(struct mafat_picture_input *p);

#endif
