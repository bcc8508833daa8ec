/* Reads inputs and outputs of conformance models: files with one TensorProto each. Included by
 * select.h, and through it by this folder's other files. */
#ifndef MAFAT_TESTS_CONFORMANCE_TENSOR_FILE_H
#define MAFAT_TESTS_CONFORMANCE_TENSOR_FILE_H

#include "formats/onnx/onnx.h"

struct tensor_file {
  char path[512];
  int type, rank; /* type: ONNX's number of the element type; rank -1: the file was not read */
  int64_t dims[MAFAT_ONNX_MAX_RANK];
  uint64_t n;
  double *values; /* NULL: not requested */
};

/* Reads FOLDER/test_data_set_0/KIND_INDEX.pb. Reads the tensor's elements only if `values` is true;
 * tensor_file_close frees them. */
int tensor_file_read(struct tensor_file *t, const char *folder, const char *kind, int index,
                     bool values, struct mafat_diagnostic *d);
/* Reads the file `path` in the same way. */
int tensor_file_open(struct tensor_file *t, const char *path, bool values,
                     struct mafat_diagnostic *d);
void tensor_file_close(struct tensor_file *t);

#endif
