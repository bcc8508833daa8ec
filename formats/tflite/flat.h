/* FlatBuffers, read from a file of which nothing is believed: tables whose fields are found by number through a
 * vtable, vectors, strings. Every place is checked before it is read; offsets point forwards, vtables anywhere, so
 * that whoever follows so many of them is done, whatever the file says.
 *
 * The first failure stays: from then on every number is 0, every table and vector empty. */
#ifndef MAFAT_FORMATS_TFLITE_FLAT_H
#define MAFAT_FORMATS_TFLITE_FLAT_H

#include "base/model_file.h"

#include <stdbool.h>

enum { MAFAT_FLAT_FIELDS = 16, MAFAT_FLAT_VTABLES = 16, MAFAT_FLAT_IDENTIFIER_BYTES = 8 };

struct mafat_flat_vtable {
  uint64_t at;                        /* 0: none */
  uint16_t table_bytes;               /* of a table that has it */
  uint16_t fields[MAFAT_FLAT_FIELDS]; /* where a field lies in the table; 0: its default */
};

struct mafat_flat {
  struct mafat_model_file *file;
  struct mafat_diagnostic *d;
  int code; /* of the first failure */
  /* Those that were met last: tables share them, and they lie elsewhere in the file. */
  struct mafat_flat_vtable vtables[MAFAT_FLAT_VTABLES];
  int next_vtable;
};

struct mafat_flat_table {
  uint64_t at; /* 0: there is none */
  struct mafat_flat_vtable vtable;
};

struct mafat_flat_vector {
  uint64_t at; /* of its first element */
  uint32_t n;
};

/* Does a file that begins so have this identifier, of four letters? */
bool mafat_flat_begins(const char beginning[MAFAT_FLAT_IDENTIFIER_BYTES], const char *identifier);

struct mafat_flat mafat_flat(struct mafat_model_file *file, struct mafat_diagnostic *d);
/* A failure of whoever reads; the first one is kept. */
void mafat_flat_fail(struct mafat_flat *f, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

struct mafat_flat_table mafat_flat_root(struct mafat_flat *f);
/* Of a FlatBuffer that begins in that byte of the file. */
struct mafat_flat_table mafat_flat_root_at(struct mafat_flat *f, uint64_t at, const char *identifier);

/* Is it in the table, and not its default? */
static inline bool mafat_flat_has(const struct mafat_flat_table *t, int field)
{
  return t->vtable.fields[field] != 0;
}

/* A whole number of 1, 2, 4 or 8 bytes: with its sign, or without. */
int64_t mafat_flat_int(struct mafat_flat *f, const struct mafat_flat_table *t, int field, int bytes, int64_t otherwise);
uint64_t mafat_flat_uint(struct mafat_flat *f, const struct mafat_flat_table *t, int field, int bytes, uint64_t otherwise);
float mafat_flat_float(struct mafat_flat *f, const struct mafat_flat_table *t, int field, float otherwise);
struct mafat_flat_table mafat_flat_table(struct mafat_flat *f, const struct mafat_flat_table *t, int field);
/* All of its elements lie in the file. A string is a vector of bytes. */
struct mafat_flat_vector mafat_flat_vector(struct mafat_flat *f, const struct mafat_flat_table *t, int field, int element_bytes);

/* The first n elements. */
void mafat_flat_copy(struct mafat_flat *f, const struct mafat_flat_vector *v, uint32_t n, int element_bytes, void *to);
/* Of a vector of tables: element i, whose offset, read by mafat_flat_copy, is given. */
struct mafat_flat_table mafat_flat_element(struct mafat_flat *f, const struct mafat_flat_vector *v, uint32_t i, uint32_t offset);

#endif
