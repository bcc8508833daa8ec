/* Reads the wire format of Protocol Buffers. A message is a range of a file that holds consecutive
 * fields. Contents of fields are read only on request.
 *
 * A failure ends a message: mafat_wire_next returns false, `code` has the error, and the source's
 * diagnostic the message.
 *
 * Included by formats/onnx/reader.h; called by the files of the ONNX reader. Reads the file through
 * base/model_file.h; allocates nothing. */
#ifndef MAFAT_FORMATS_ONNX_WIRE_H
#define MAFAT_FORMATS_ONNX_WIRE_H

#include "base/model_file.h"

#include <stdbool.h>

enum mafat_wire_type {
  MAFAT_WIRE_VARINT = 0,
  MAFAT_WIRE_FIXED64 = 1,
  MAFAT_WIRE_BYTES = 2,
  MAFAT_WIRE_FIXED32 = 5
};

/* State that all messages of a file share. The fields after `d` describe, for diagnostics, what is
 * being read; they are NULL or -1 if unknown. */
struct mafat_wire_source {
  struct mafat_model_file *file;
  struct mafat_diagnostic *d; /* may be NULL */
  const char *what;           /* "node", "tensor" ... */
  int number;
  const char *kind, *name; /* the node's operator; its name or the tensor's */
  const char *part;        /* attribute of the node */
};

/* A message: the rest of it is bytes [at, end) of the file. */
struct mafat_wire {
  struct mafat_wire_source *source;
  uint64_t at, end;
  int code; /* MAFAT_OK until it fails */
};

/* A field; its content is bytes [at, at + bytes) of the file. */
struct mafat_wire_field {
  int number;
  enum mafat_wire_type type;
  uint64_t at, bytes;
};

/* ---- messages ---- */

/* Returns the whole file as a message. */
struct mafat_wire mafat_wire_whole(struct mafat_wire_source *source);
/* Returns the content of a field as a message. It has failed if the field's type is not
 * MAFAT_WIRE_BYTES. */
struct mafat_wire mafat_wire_message(const struct mafat_wire *w, const struct mafat_wire_field *f);
/* Reads the next field's number and type, and skips its content. False: no more, or a failure. */
bool mafat_wire_next(struct mafat_wire *w, struct mafat_wire_field *f);

/* Counts fields 0 to n - 1 in the rest of a message. Changes w only on failure. */
void mafat_wire_count(struct mafat_wire *w, size_t *counts, int n);

/* Fails the message and returns `code`. */
int mafat_wire_fail(struct mafat_wire *w, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports a failure of a source: path, what was being read, and the text. */
int mafat_wire_source_fail(const struct mafat_wire_source *source, int code, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

/* ---- contents of fields; on failure w fails, and the result is 0 ---- */

int64_t mafat_wire_int(struct mafat_wire *w, const struct mafat_wire_field *f);
float mafat_wire_float(struct mafat_wire *w, const struct mafat_wire_field *f);
/* Copies a text of f->bytes bytes without NUL, and appends a NUL. */
void mafat_wire_text(struct mafat_wire *w, const struct mafat_wire_field *f, char *to);

/* Returns one occurrence of a repeated field, packed or not, as a message whose elements
 * mafat_wire_number reads. `type`: wire type of an element. */
struct mafat_wire mafat_wire_numbers(const struct mafat_wire *w, const struct mafat_wire_field *f,
                                     enum mafat_wire_type type);
/* Reads the next element. False: no more, or a failure. */
bool mafat_wire_number(struct mafat_wire *numbers, enum mafat_wire_type type, uint64_t *bits);
/* Counts the elements in one occurrence of a repeated field. */
uint64_t mafat_wire_n_numbers(struct mafat_wire *w, const struct mafat_wire_field *f,
                              enum mafat_wire_type type);

#endif
