/* What the parts of a reader of .tflite files share. */
#ifndef MAFAT_FORMATS_TFLITE_READER_H
#define MAFAT_FORMATS_TFLITE_READER_H

#include "formats/tflite/model.h"

/* Names and lists lie in blocks, which go together. */
struct mafat_tflite_block {
  struct mafat_tflite_block *next;
  size_t used, room;
  int32_t data[];
};

/* What is read once and used again and again. */
struct mafat_tflite_reader {
  struct mafat_flat f;
  struct mafat_tflite *model;
  struct mafat_tflite_code_entry {
    int code, version;
    const char *name;
  } *codes;
  int n_codes;
  struct mafat_flat_vector buffers;
  uint32_t *buffer_offsets;
};

/* calloc; NULL: a failure, which stays in f. */
void *mafat_tflite_zeros(struct mafat_flat *f, size_t n, size_t bytes);
/* Of names and lists that belong to the model. NULL: a failure. */
void *mafat_tflite_keep(struct mafat_tflite_reader *r, size_t bytes);
/* Never NULL. Long ones are cut: they are for messages, and for people. */
const char *mafat_tflite_keep_string(struct mafat_tflite_reader *r, const struct mafat_flat_table *t, int field);
const int32_t *mafat_tflite_keep_list(struct mafat_tflite_reader *r, const struct mafat_flat_table *t, int field, int *n);
/* Of a vector of tables, to be freed; more than `most` are refused. */
uint32_t *mafat_tflite_offsets(struct mafat_flat *f, const struct mafat_flat_vector *v, uint32_t most, const char *what);

/* A tensor from its table. */
void mafat_tflite_read_tensor(struct mafat_tflite_reader *r, const struct mafat_flat_table *t, struct mafat_tflite_tensor *to);
/* What the metadata says of pictures, into the model. */
void mafat_tflite_read_picture(const struct mafat_tflite_reader *r, const struct mafat_flat_table *model);
/* Is everything made, once, before it is read? */
void mafat_tflite_check_order(struct mafat_tflite_reader *r);

#endif
