/* A file of numbers as the source of a run's input, raw or as NumPy writes an array. It lies plane by plane, as a
 * rule channel by channel, and a plan asks for rows: some rows of every plane, a band, are read at once, and the
 * next ones while the layers run, past the page cache unless the file is in it already. */
#ifndef MAFAT_RUNNER_IMAGE_RAW_INPUT_H
#define MAFAT_RUNNER_IMAGE_RAW_INPUT_H

#include <stdbool.h>

#include "runner/engine/executor.h"
#include "runner/weights/reads.h"

/* The reads of a file, one for each plane of each band, in the order in which they are
 * used; each has its place in the memory until the band's last row is taken. */
struct mafat_raw_input {
  const char *path;
  int input;         /* of the network */
  const struct mafat_file_order *order; /* the caller's */
  enum mafat_dtype type; /* of the file's elements */
  uint64_t begin;    /* where they begin in it */
  struct mafat_reads *reads;
  char *memory;
  size_t memory_bytes;
  bool keeps_memory; /* for the next file, of the same order; the caller's */
  size_t read_bytes; /* room for each */
  int band_rows;
  int n_places;      /* for reads at a time */
  long long submitted, awaited, released; /* reads so far */
};

/* One that is not open: it may be closed. */
struct mafat_raw_input mafat_raw_input_none(void);
/* Little-endian numbers of the order's type, float32, int32 or int64, in that order: exactly those of the shape; or a .npy file
 * (version 1 to 3) of them, or of floats, whose dimensions are the order's view's but for ones in front. MAFAT_EIO, MAFAT_EFORMAT, MAFAT_ENOMEM. */
int mafat_raw_input_open(struct mafat_raw_input *r, const char *path, int input, const struct mafat_file_order *order,
                         struct mafat_diagnostic *d);
struct mafat_input_source mafat_raw_input_source(struct mafat_raw_input *r);
void mafat_raw_input_close(struct mafat_raw_input *r);
/* Closes it, and gives memory back that it kept. */
void mafat_raw_input_release(struct mafat_raw_input *r);

/* What reading floats of that order takes beside the network's input. */
size_t mafat_raw_input_bytes(const struct mafat_file_order *order);

#endif
