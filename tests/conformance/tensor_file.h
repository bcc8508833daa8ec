/* Tensors as the conformance models' inputs and outputs hold them: files of one TensorProto. */
#ifndef MAFAT_TESTS_CONFORMANCE_TENSOR_FILE_H
#define MAFAT_TESTS_CONFORMANCE_TENSOR_FILE_H

#include "formats/onnx/onnx.h"

struct tensor_file {
  char path[512];
  int type, rank; /* rank: -1: it could not be read */
  int64_t dims[MAFAT_ONNX_MAX_RANK];
  uint64_t n;
  double *values; /* NULL: of another type than numbers, or nobody asked */
};

/* FOLDER/test_data_set_0/KIND_INDEX.pb; `values` are its closer's to free. */
int tensor_file_read(struct tensor_file *t, const char *folder, const char *kind, int index,
                     bool values, struct mafat_diagnostic *d);
/* The same of a file's path. */
int tensor_file_open(struct tensor_file *t, const char *path, bool values,
                     struct mafat_diagnostic *d);
void tensor_file_close(struct tensor_file *t);

#endif
