/* A picture as the input source of a run. It is decoded while the run reads the input, row by row
 * if the plan reads the input by rows. Allocates memory for one row, or for a whole picture that
 * EXIF turns (rotates or mirrors); closing frees it. Reads the picture's file. Included by
 * api/footprint.c, api/model.c and api/packing/observe.c. */
#ifndef MAFAT_RUNNER_IMAGE_INPUT_H
#define MAFAT_RUNNER_IMAGE_INPUT_H

#include "runner/engine/executor.h"
#include "runner/image/image.h"

struct mafat_picture_input {
  struct mafat_image *image; /* owned by the caller */
  struct mafat_shape shape;  /* shape of the network's input */
  float *whole; /* (h, w, c): memory for a picture that EXIF turns, which is decoded as a whole
                   before its first row is used; NULL: not needed */
  int next_row; /* first row that is not read yet */
  float *line;  /* memory for one row, if the input is quantized; NULL: the input is floats */
};

/* Returns the bytes of heap that are needed in addition to mafat_image_bytes() if the plan reads
 * the input by rows: those of a turned picture, else 0. */
size_t mafat_input_turned_bytes(const struct mafat_image *image, struct mafat_shape shape);

/* Prepares an open picture as a source. by_rows: the plan reads the input by rows, not as a whole.
 * integers: the input is quantized. MAFAT_OK or MAFAT_ENOMEM. */
int mafat_input_picture_open(struct mafat_picture_input *p, struct mafat_image *image,
                             struct mafat_shape shape, bool by_rows, bool integers,
                             struct mafat_diagnostic *d);
/* Returns the source, to be passed to mafat_executor_set_source. *p must live until the last run
 * that uses the source is over. */
struct mafat_input_source mafat_input_picture_source(struct mafat_picture_input *p);
/* Called after the run: decodes the rows that the plan did not read, to find out whether the file
 * is damaged. */
int mafat_input_picture_finish(struct mafat_picture_input *p, struct mafat_diagnostic *d);
/* Frees the memory; does not close the picture. */
void mafat_input_picture_close(struct mafat_picture_input *p);

#endif
