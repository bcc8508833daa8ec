/* Reads FlatBuffers from an untrusted file: tables whose fields are found by number through a
 * vtable, vectors, strings.
 *
 * Every offset is checked before it is followed. Offsets point forwards only (vtables anywhere), so
 * there are no cycles. The first failure is kept: afterwards every number is 0, and every table and
 * vector is empty.
 *
 * `field` is the number of a field in a table, below MAFAT_FLAT_FIELDS.
 *
 * Included by formats/tflite/operators.h; called by the TFLite reader's files. Reads the file
 * through base/model_file.h; allocates nothing. */
#ifndef MAFAT_FORMATS_TFLITE_FLAT_H
#define MAFAT_FORMATS_TFLITE_FLAT_H

#include "base/model_file.h"

#include <stdbool.h>

enum { MAFAT_FLAT_FIELDS = 16, MAFAT_FLAT_VTABLES = 16, MAFAT_FLAT_IDENTIFIER_BYTES = 8 };

struct mafat_flat_vtable {
  uint64_t at;                        /* 0: none */
  uint16_t table_bytes;               /* bytes of a table with this vtable */
  /* offset of a field in the table; 0: absent, use the default */
  uint16_t fields[MAFAT_FLAT_FIELDS];
};

struct mafat_flat {
  struct mafat_model_file *file;
  struct mafat_diagnostic *d;
  int code; /* error code of the first failure; MAFAT_OK: none */
  /* cache of the vtables read last; many tables share one */
  struct mafat_flat_vtable vtables[MAFAT_FLAT_VTABLES];
  int next_vtable;
};

struct mafat_flat_table {
  uint64_t at; /* 0: absent */
  struct mafat_flat_vtable vtable;
};

struct mafat_flat_vector {
  uint64_t at; /* offset of the first element */
  uint32_t n;
};

/* True if bytes 4 to 7 of a file are this identifier, which has four letters. */
bool mafat_flat_begins(const char beginning[MAFAT_FLAT_IDENTIFIER_BYTES], const char *identifier);

struct mafat_flat mafat_flat(struct mafat_model_file *file, struct mafat_diagnostic *d);
/* Records a failure, unless there is one already. */
void mafat_flat_fail(struct mafat_flat *f, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the root table of the file. */
struct mafat_flat_table mafat_flat_root(struct mafat_flat *f);
/* Returns the root table of a FlatBuffer that begins at byte `at` of the file. Fails if bytes 4 to
 * 7 of the FlatBuffer are not `identifier`. */
struct mafat_flat_table mafat_flat_root_at(struct mafat_flat *f, uint64_t at,
                                           const char *identifier);

/* True if the field is present. */
static inline bool mafat_flat_has(const struct mafat_flat_table *t, int field)
{
  return t->vtable.fields[field] != 0;
}

/* Reads an integer of 1, 2, 4 or 8 bytes, signed or unsigned. Returns `otherwise` if the field is
 * absent. */
int64_t mafat_flat_int(struct mafat_flat *f, const struct mafat_flat_table *t, int field, int bytes,
                       int64_t otherwise);
uint64_t mafat_flat_uint(struct mafat_flat *f, const struct mafat_flat_table *t, int field,
                         int bytes, uint64_t otherwise);
float mafat_flat_float(struct mafat_flat *f, const struct mafat_flat_table *t, int field,
                       float otherwise);
struct mafat_flat_table mafat_flat_table(struct mafat_flat *f, const struct mafat_flat_table *t,
                                         int field);
/* Reads a vector's length and location; fails unless all its elements are inside the file. A string
 * is a vector of bytes. */
struct mafat_flat_vector mafat_flat_vector(struct mafat_flat *f, const struct mafat_flat_table *t,
                                           int field, int element_bytes);

/* Copies the first n elements to `to`. */
void mafat_flat_copy(struct mafat_flat *f, const struct mafat_flat_vector *v, uint32_t n,
                     int element_bytes, void *to);
/* Returns element i of a vector of tables. `offset`: the stored offset of the element, which the
 * caller has copied with mafat_flat_copy. */
struct mafat_flat_table mafat_flat_element(struct mafat_flat *f, const struct mafat_flat_vector *v,
                                           uint32_t i, uint32_t offset);

#endif
