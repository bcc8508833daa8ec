/* A file of raw floats as the source of a run's input. It lies channel by channel, and a
 * plan asks for rows: some rows of every channel, a band, are read at once, and the next
 * ones while the layers run, past the page cache unless the file is in it already. */
#ifndef MAFAT_RUNNER_IMAGE_RAW_INPUT_H
#define MAFAT_RUNNER_IMAGE_RAW_INPUT_H

#include "runner/executor.h"
#include "runner/weights/reads.h"

/* The reads of a file, one for each channel of each band, in the order in which they are
 * used; each has its place in the memory until the band's last row is taken. */
struct mafat_raw_input {
  const char *path;
  struct mafat_shape shape;
  struct mafat_reads *reads;
  char *memory;
  size_t read_bytes; /* room for each */
  int band_rows;
  int n_places;      /* for reads at a time */
  long long submitted, awaited, released; /* reads so far */
};

/* Little-endian floats, channel by channel, row by row: exactly those of the
 * shape. MAFAT_EIO, MAFAT_EFORMAT, MAFAT_ENOMEM. */
int mafat_raw_input_open(struct mafat_raw_input *r, const char *path, struct mafat_shape shape,
                         struct mafat_diagnostic *d);
struct mafat_input_source mafat_raw_input_source(struct mafat_raw_input *r);
void mafat_raw_input_close(struct mafat_raw_input *r);

/* What reading floats of that shape takes beside the network's input. */
size_t mafat_raw_input_bytes(struct mafat_shape shape);

#endif
