/* What the files of the ONNX reader share. Functions that read a message return its code. */
#ifndef MAFAT_FORMATS_ONNX_READER_H
#define MAFAT_FORMATS_ONNX_READER_H

#include "formats/onnx/names.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/wire.h"

struct mafat_onnx_reader {
  struct mafat_onnx *model;
  struct mafat_wire_source source;
  int file; /* of the model's files: the one that is being read */
};

/* Of one of the model's files. */
struct mafat_onnx_reader mafat_onnx_reader_of(struct mafat_onnx *m, struct mafat_model_file *file,
                                              struct mafat_diagnostic *d);

enum { MAFAT_ONNX_MAX_TEXT = 4096 }; /* of names and the like */

/* NULL: w has failed. */
void *mafat_onnx_take(struct mafat_onnx_reader *r, struct mafat_wire *w, size_t n, size_t bytes);
/* The field's text, which lasts as long as the model. */
const char *mafat_onnx_text(struct mafat_onnx_reader *r, struct mafat_wire *w, const struct mafat_wire_field *f);
/* Lists are counted, then read: is there room for one more than n? A file that changes meanwhile fails w. */
bool mafat_onnx_is_short(struct mafat_wire *w, size_t n, size_t counted);
/* The value of that name, which lasts as long as the model; a new one where there is none. NULL: w has failed. */
struct mafat_onnx_value *mafat_onnx_refer(struct mafat_onnx_reader *r, struct mafat_wire *w, const char *name);
/* The same by the field's text; "": NULL. */
struct mafat_onnx_value *mafat_onnx_refer_field(struct mafat_onnx_reader *r, struct mafat_wire *w,
                                                const struct mafat_wire_field *f);
/* The number of a file. -1: w has failed. */
int mafat_onnx_refer_file(struct mafat_onnx_reader *r, struct mafat_wire *w, const char *path);

/* TensorProto, NodeProto, TypeProto, GraphProto. What they fill is cleared before. */
int mafat_onnx_read_tensor(struct mafat_onnx_reader *r, struct mafat_wire w, struct mafat_onnx_tensor *t);
int mafat_onnx_read_node(struct mafat_onnx_reader *r, struct mafat_wire w, int index, struct mafat_onnx_node *n);
int mafat_onnx_read_type(struct mafat_onnx_reader *r, struct mafat_wire w, struct mafat_onnx_info *info);
int mafat_onnx_read_graph(struct mafat_onnx_reader *r, struct mafat_wire w);

/* A file that holds one tensor and nothing else, which becomes a file of the model by this path; NULL: its own. */
int mafat_onnx_read_tensor_file(struct mafat_onnx *m, const char *path, struct mafat_model_file *file,
                                struct mafat_onnx_tensor **out, struct mafat_diagnostic *d);

/* The typed field that numbers of a type lie in where they are not bytes; 0: of none. */
int mafat_onnx_typed_field(int type);
/* How that field's numbers are written. */
enum mafat_wire_type mafat_onnx_typed_wire(int field);
/* ONNX's own domain has two names. */
const char *mafat_onnx_domain(const char *name);

#endif
