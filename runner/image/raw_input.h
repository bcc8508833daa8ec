/* A file of elements, raw or NumPy's .npy, as the input source of a run. Most files are stored
 * plane by plane (channel by channel), but a plan reads rows. So a band, some rows of every plane,
 * is read at a time, and the next band while layers run. Reads bypass the page cache unless the
 * file is cached already. Opening maps buffers. Included by api/footprint.c and api/model.h. */
#ifndef MAFAT_RUNNER_IMAGE_RAW_INPUT_H
#define MAFAT_RUNNER_IMAGE_RAW_INPUT_H

#include <stdbool.h>

#include "runner/engine/executor.h"
#include "runner/weights/reads.h"

/* An input file while it is read: one read for each plane, or group of planes, of each band, in
 * order of use. Each has a buffer until the last row of its band is used. */
struct mafat_raw_input {
  const char *path;
  int input;         /* index of the network's input */
  const struct mafat_file_order *order; /* the caller's */
  enum mafat_dtype type; /* type of the file's elements */
  uint64_t begin;    /* offset of the elements in the file */
  struct mafat_read_queue *reads;
  char *memory;
  size_t memory_bytes;
  bool keeps_memory; /* set by the caller: closing keeps `memory` for the next file */
  size_t read_bytes; /* size of one read buffer */
  int band_rows;     /* rows of a plane in one read */
  int band_planes;   /* planes in one read: several only if band_rows is all rows */
  int n_places;      /* number of read buffers */
  long long submitted, awaited, released; /* numbers of reads so far */
};

/* Returns a closed input, which may be closed again. */
struct mafat_raw_input mafat_raw_input_none(void);
/* Opens a file for input number `input`. Either it has exactly the input's elements, little-endian
 * and of the order's type; or it is a .npy file (version 1 to 3) of that type or of floats, with
 * the view's dimensions, apart from leading dimensions of 1. MAFAT_EIO, MAFAT_EFORMAT,
 * MAFAT_ENOMEM. */
int mafat_raw_input_open(struct mafat_raw_input *r, const char *path, int input,
                         const struct mafat_file_order *order, struct mafat_diagnostic *d);
struct mafat_input_source mafat_raw_input_source(struct mafat_raw_input *r);
void mafat_raw_input_close(struct mafat_raw_input *r);
/* Closes it and frees memory that it kept. */
void mafat_raw_input_release(struct mafat_raw_input *r);

/* Returns the bytes of memory for reading a file of this order, besides the network's input. */
size_t mafat_raw_input_bytes(const struct mafat_file_order *order);

#endif
