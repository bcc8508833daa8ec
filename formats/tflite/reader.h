/* State and functions that the parts of the .tflite reader share. Included by formats/tflite.
 * The functions read the file and allocate blocks of limited total size, freed with the model. */
#ifndef MAFAT_FORMATS_TFLITE_READER_H
#define MAFAT_FORMATS_TFLITE_READER_H

#include "formats/tflite/model.h"

/* Block of memory for names and lists. */
struct mafat_tflite_block {
  struct mafat_tflite_block *next;
  size_t used, capacity;
  int32_t data[];
};

/* State of reading a file. */
struct mafat_tflite_reader {
  struct mafat_flat f;
  struct mafat_tflite *model;
  struct mafat_tflite_code_entry {
    int code, version;
    const char *name;
  } *codes; /* (n_codes) operator codes of the file */
  int n_codes;
  struct mafat_flat_vector buffers; /* tables with the data of constants */
  uint32_t *buffer_offsets;         /* [buffer]: stored offset, for mafat_flat_element */
};

/* Like calloc, also for n = 0, counted as memory for reading; the caller frees it. NULL: failed,
 * recorded in f. */
void *mafat_tflite_zeros(struct mafat_flat *f, size_t n, size_t bytes);
/* Like mafat_tflite_zeros, for a list of which only n_used entries will be written: the others take
 * no memory pages. */
void *mafat_tflite_sparse(struct mafat_flat *f, size_t n, size_t n_used, size_t bytes);
/* Allocates memory for names and lists, owned by the model. NULL: failed. */
void *mafat_tflite_keep(struct mafat_tflite_reader *r, size_t bytes);
/* Reads a string for messages; never NULL. Long strings are truncated. */
const char *mafat_tflite_keep_string(struct mafat_tflite_reader *r,
                                     const struct mafat_flat_table *t, int field);
/* Reads a list of integers, *n of them. NULL: failed. */
const int32_t *mafat_tflite_keep_list(struct mafat_tflite_reader *r,
                                      const struct mafat_flat_table *t, int field, int *n);
/* Reads the stored offsets of a vector of tables; the caller frees them. Fails if there are more
 * than `most`. what: name of these tables in messages. */
uint32_t *mafat_tflite_offsets(struct mafat_flat *f, const struct mafat_flat_vector *v,
                               uint32_t most, const char *what);

/* Reads a tensor from its table. */
void mafat_tflite_read_tensor(struct mafat_tflite_reader *r, const struct mafat_flat_table *t,
                              struct mafat_tflite_tensor *to);
/* Reads the preprocessing of pictures from the metadata. */
void mafat_tflite_read_picture(const struct mafat_tflite_reader *r,
                               const struct mafat_flat_table *model);
/* Checks that every tensor is made once, and before it is read. */
void mafat_tflite_check_order(struct mafat_tflite_reader *r);

#endif
