/* A picture as the input source of a run: decoded row by row, when the plan asks for it. Allocates
 * a row or a whole turned picture. Included by api/footprint.c, api/model.c and
 * api/packing/observe.c. */
#ifndef MAFAT_RUNNER_IMAGE_INPUT_H
#define MAFAT_RUNNER_IMAGE_INPUT_H

#include "runner/engine/executor.h"
#include "runner/image/image.h"

struct mafat_picture_input {
  struct mafat_image *image; /* owned by the caller */
  struct mafat_shape shape;  /* the network's input */
  float *whole; /* turned picture, decoded completely if the plan reads rows; NULL: not needed */
  int next_row; /* first row not read yet */
  float *line;  /* buffer of one row for a quantized input; NULL: the input is floats */
};

/* Returns the heap needed beside mafat_image_bytes() if the plan reads rows. */
size_t mafat_input_turned_bytes(const struct mafat_image *image, struct mafat_shape shape);

/* Makes a source from an open picture. `by_rows`: the plan reads rows, not the whole picture;
 * `integers`: the input is quantized. MAFAT_ENOMEM. */
int mafat_input_picture_open(struct mafat_picture_input *p, struct mafat_image *image,
                             struct mafat_shape shape, bool by_rows, bool integers,
                             struct mafat_diagnostic *d);
struct mafat_input_source mafat_input_picture_source(struct mafat_picture_input *p);
/* Reads the rows that the plan did not need, so that a damaged end is noticed. */
int mafat_input_picture_finish(struct mafat_picture_input *p, struct mafat_diagnostic *d);
void mafat_input_picture_close(struct mafat_picture_input *p);

#endif
