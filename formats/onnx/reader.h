/* Functions that the files of the ONNX reader share. Functions that read a message return MAFAT_OK
 * or the error found in it. Included by formats/onnx. Reads the file through base/model_file.h;
 * allocates in the model's memory. */
#ifndef MAFAT_FORMATS_ONNX_READER_H
#define MAFAT_FORMATS_ONNX_READER_H

#include "formats/onnx/names.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/wire.h"

struct mafat_onnx_reader {
  struct mafat_onnx *model;
  struct mafat_wire_source source;
  int file; /* index of the file being read, among the model's files */
};

/* Makes a reader of one of the model's files. */
struct mafat_onnx_reader mafat_onnx_reader_of(struct mafat_onnx *m, struct mafat_model_file *file,
                                              struct mafat_diagnostic *d);

enum { MAFAT_ONNX_MAX_TEXT = 4096 }; /* longest name or text */

/* Allocates n * bytes zeroed bytes from the model's memory. NULL: w has failed. */
void *mafat_onnx_take(struct mafat_onnx_reader *r, struct mafat_wire *w, size_t n, size_t bytes);
/* Copies a field's text to the model's memory. Returns "" if w has failed. */
const char *mafat_onnx_text(struct mafat_onnx_reader *r, struct mafat_wire *w,
                            const struct mafat_wire_field *f);
/* True if a list of `counted` entries still has room for entry n. If not, the file has changed
 * since they were counted, and w fails. */
bool mafat_onnx_is_short(struct mafat_wire *w, size_t n, size_t counted);
/* Finds or adds the value with that name; it lives as long as the model. NULL: w has failed. */
struct mafat_onnx_value *mafat_onnx_refer(struct mafat_onnx_reader *r, struct mafat_wire *w,
                                          const char *name);
/* Like mafat_onnx_refer, with the field's text as the name. NULL also if the text is "". */
struct mafat_onnx_value *mafat_onnx_refer_field(struct mafat_onnx_reader *r, struct mafat_wire *w,
                                                const struct mafat_wire_field *f);
/* Finds the value whose name is in field `number` of a message; NULL: none, or the message is
 * damaged. */
struct mafat_onnx_value *mafat_onnx_find_field(struct mafat_onnx_reader *r, struct mafat_wire w,
                                               int number);
/* Finds or adds a file; returns its index. -1: w has failed. */
int mafat_onnx_refer_file(struct mafat_onnx_reader *r, struct mafat_wire *w, const char *path);

/* Read TensorProto, NodeProto, TypeProto, GraphProto. The destination must be zeroed memory, such
 * as from mafat_onnx_take. */
int mafat_onnx_read_tensor(struct mafat_onnx_reader *r, struct mafat_wire w,
                           struct mafat_onnx_tensor *t);
int mafat_onnx_read_node(struct mafat_onnx_reader *r, struct mafat_wire w, int index,
                         struct mafat_onnx_node *n);
int mafat_onnx_read_type(struct mafat_onnx_reader *r, struct mafat_wire w,
                         struct mafat_onnx_info *info);
int mafat_onnx_read_graph(struct mafat_onnx_reader *r, struct mafat_wire w);
/* Sorts nodes so that each comes after the nodes that make its inputs; keeps the file's order if it
 * is valid. MAFAT_EFORMAT: a cycle. */
int mafat_onnx_sort_nodes(struct mafat_onnx_reader *r, struct mafat_wire *w,
                          struct mafat_onnx_node *nodes, int n);

/* Reads a file that holds a single tensor and adds it to the model's files under `path`. path NULL:
 * it is the model's own file. */
int mafat_onnx_read_tensor_file(struct mafat_onnx *m, const char *path,
                                struct mafat_model_file *file, struct mafat_onnx_tensor **out,
                                struct mafat_diagnostic *d);

/* Returns the number of the TensorProto field for elements of a type, if they are not stored as raw
 * bytes; 0: none. */
int mafat_onnx_typed_field(int type);
/* Returns the wire type of that field's elements. */
enum mafat_wire_type mafat_onnx_typed_wire(int field);
/* Returns "" for "ai.onnx", because ONNX's own domain has both names; other names unchanged. */
const char *mafat_onnx_domain(const char *name);

#endif
