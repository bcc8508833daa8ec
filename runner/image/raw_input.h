/* A file of elements, raw or NumPy's .npy, as the input source of a run. Most files are stored
 * plane by plane (channel by channel), but a plan reads rows. So the file is read in bands; a band
 * is some rows of every plane. While layers compute, the next band is read. Reads bypass the page
 * cache unless the file is cached already. Opening opens the file and maps buffers; closing undoes
 * both. Included by api/footprint.c and api/model.h. */
#ifndef MAFAT_RUNNER_IMAGE_RAW_INPUT_H
#define MAFAT_RUNNER_IMAGE_RAW_INPUT_H

#include <stdbool.h>

#include "runner/engine/executor.h"
#include "runner/weights/reads.h"

/* An input file while it is read. Each band has a read for each plane, or group of planes. Reads
 * are numbered in the order of use. A read has a buffer until the last row of its band is used. */
struct mafat_raw_input {
  const char *path;
  int input;         /* index of the network's input */
  const struct mafat_file_order *order; /* owned by the caller */
  enum mafat_dtype type; /* type of the file's elements */
  uint64_t begin;    /* offset of the elements in the file */
  struct mafat_read_queue *reads;
  char *memory;      /* mapping with the read buffers and perhaps a row of floats, or MAP_FAILED */
  size_t memory_bytes;
  bool keeps_memory; /* set by the caller: closing keeps `memory` for the next file */
  size_t read_bytes; /* bytes of one read buffer */
  int band_rows;     /* rows of a plane in one read */
  int band_planes;   /* planes in one read; more than 1 only if the read has all rows of them */
  int n_places;      /* number of read buffers */
  /* numbers of reads that were submitted, that are done, and whose buffers are free again */
  long long submitted, awaited, released;
};

/* Returns an input that is not open; closing it is allowed. */
struct mafat_raw_input mafat_raw_input_none(void);
/* Opens a file for input number `input`. Either it has exactly the input's elements, little-endian
 * and of the type order->type; or it is a .npy file (version 1 to 3) of that type or of floats,
 * with the dimensions of order->view, not counting leading dimensions of 1. *r must be an input
 * that is not open. MAFAT_EIO, MAFAT_EFORMAT, MAFAT_EUNSUPPORTED, MAFAT_ENOMEM. */
int mafat_raw_input_open(struct mafat_raw_input *r, const char *path, int input,
                         const struct mafat_file_order *order, struct mafat_diagnostic *d);
/* Returns the source, to be passed to mafat_executor_set_source. When the last row is read, the
 * source closes the input. */
struct mafat_input_source mafat_raw_input_source(struct mafat_raw_input *r);
/* Closes the file, and frees the memory unless keeps_memory is set. */
void mafat_raw_input_close(struct mafat_raw_input *r);
/* Closes the file, and frees the memory in any case. */
void mafat_raw_input_release(struct mafat_raw_input *r);

/* Returns the bytes of memory that reading a file of this order needs, in addition to the network's
 * input. */
size_t mafat_raw_input_bytes(const struct mafat_file_order *order);

#endif
