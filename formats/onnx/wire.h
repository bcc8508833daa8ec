/* Protocol buffers' wire format: a message is a stretch of a file, its fields come one behind the other. What a field
 * holds is passed over unless somebody asks for it.
 *
 * A failure ends a message: mafat_wire_next says that there is nothing more, `code` why, and the source's diagnostic
 * says it to people. */
#ifndef MAFAT_FORMATS_ONNX_WIRE_H
#define MAFAT_FORMATS_ONNX_WIRE_H

#include "base/model_file.h"

#include <stdbool.h>

enum mafat_wire_type { MAFAT_WIRE_VARINT = 0, MAFAT_WIRE_FIXED64 = 1, MAFAT_WIRE_BYTES = 2, MAFAT_WIRE_FIXED32 = 5 };

/* What all messages of a file share. What is being read, for messages: NULL and -1 where nobody knows. */
struct mafat_wire_source {
  struct mafat_model_file *file;
  struct mafat_diagnostic *d; /* may be NULL */
  const char *what;           /* "node", "tensor" ... */
  int number;
  const char *kind, *name; /* the node's operator; its name or the tensor's */
  const char *part;        /* of a node: the attribute's name */
};

struct mafat_wire {
  struct mafat_wire_source *source;
  uint64_t at, end;
  int code;
};

/* Of any type, its content is bytes [at, at + bytes). */
struct mafat_wire_field {
  int number;
  enum mafat_wire_type type;
  uint64_t at, bytes;
};

/* ---- messages ---- */

struct mafat_wire mafat_wire_whole(struct mafat_wire_source *source);
/* What the field holds, as a message. Of a field that holds none, one that has failed. */
struct mafat_wire mafat_wire_message(const struct mafat_wire *w, const struct mafat_wire_field *f);
bool mafat_wire_next(struct mafat_wire *w, struct mafat_wire_field *f);

/* How often fields 0 to n - 1 occur in what is left of a message: w stays where it is, but for a failure. */
void mafat_wire_count(struct mafat_wire *w, size_t *counts, int n);

/* Ends the message; returns code. */
int mafat_wire_fail(struct mafat_wire *w, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same of a whole source: path, what was being read, and the text. */
int mafat_wire_source_fail(const struct mafat_wire_source *source, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- what fields hold; a failure is w's, and what is returned then is 0 ---- */

int64_t mafat_wire_int(struct mafat_wire *w, const struct mafat_wire_field *f);
float mafat_wire_float(struct mafat_wire *w, const struct mafat_wire_field *f);
/* All its bytes, which are text: no NUL among them. One is put behind them. */
void mafat_wire_text(struct mafat_wire *w, const struct mafat_wire_field *f, char *to);

/* The numbers of one occurrence of a repeated field, packed or not; `type` is what each is written as. */
struct mafat_wire mafat_wire_numbers(const struct mafat_wire *w, const struct mafat_wire_field *f,
                                     enum mafat_wire_type type);
/* The next of them; false: that was all, or a failure. */
bool mafat_wire_number(struct mafat_wire *numbers, enum mafat_wire_type type, uint64_t *bits);
/* How many there are. */
uint64_t mafat_wire_n_numbers(struct mafat_wire *w, const struct mafat_wire_field *f, enum mafat_wire_type type);

#endif
