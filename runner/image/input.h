/* A picture as the input source of a run. It is decoded when the run reads the input, row by row if
 * the plan reads rows. Allocates a row or a whole turned picture. Included by api/footprint.c,
 * api/model.c and api/packing/observe.c. */
#ifndef MAFAT_RUNNER_IMAGE_INPUT_H
#define MAFAT_RUNNER_IMAGE_INPUT_H

#include "runner/engine/executor.h"
#include "runner/image/image.h"

struct mafat_picture_input {
  struct mafat_image *image; /* owned by the caller */
  struct mafat_shape shape;  /* the network's input */
  float *whole; /* (h, w, c) a turned picture, decoded before the first row; NULL: not needed */
  int next_row; /* first row not read yet */
  float *line;  /* buffer of one row for a quantized input; NULL: the input is floats */
};

/* Returns the heap needed besides mafat_image_bytes() if the plan reads rows. */
size_t mafat_input_turned_bytes(const struct mafat_image *image, struct mafat_shape shape);

/* Prepares an open picture as a source. `by_rows`: the plan reads rows, not the whole picture;
 * `integers`: the input is quantized. MAFAT_ENOMEM. */
int mafat_input_picture_open(struct mafat_picture_input *p, struct mafat_image *image,
                             struct mafat_shape shape, bool by_rows, bool integers,
                             struct mafat_diagnostic *d);
struct mafat_input_source mafat_input_picture_source(struct mafat_picture_input *p);
/* Called after the run: decodes the rows that the plan did not read, to find damage. */
int mafat_input_picture_finish(struct mafat_picture_input *p, struct mafat_diagnostic *d);
void mafat_input_picture_close(struct mafat_picture_input *p);

#endif
