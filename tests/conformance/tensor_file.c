/* Reads files with one TensorProto. Called by select.c and run_model.c. */
#include "tests/conformance/tensor_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_values(struct tensor_file *to, const struct mafat_onnx *m,
                       const struct mafat_onnx_tensor *t, struct mafat_diagnostic *d)
{
  to->values = malloc((size_t)(t->n + 1) * sizeof *to->values);
  if (!to->values) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", to->path);
  return mafat_onnx_tensor_doubles(m, t, 0, (size_t)t->n, to->values, d);
}

int tensor_file_open(struct tensor_file *t, const char *path, bool values,
                     struct mafat_diagnostic *d)
{
  struct mafat_model_file *file;
  struct mafat_onnx *m = NULL;
  const struct mafat_onnx_tensor *tensor;
  *t = (struct tensor_file){.rank = -1};
  snprintf(t->path, sizeof t->path, "%s", path);
  int code = mafat_model_file_open(&file, t->path, d);
  if (code) return code;
  code = mafat_onnx_read_one(&m, &tensor, file, d);
  if (code == MAFAT_OK && values) code = read_values(t, m, tensor, d);
  if (code == MAFAT_OK) {
    t->type = tensor->type;
    t->rank = tensor->rank;
    t->n = tensor->n;
    memcpy(t->dims, tensor->dims, (size_t)tensor->rank * sizeof *t->dims);
  }
  mafat_onnx_close(&m);
  mafat_model_file_close(&file);
  return code;
}

int tensor_file_read(struct tensor_file *t, const char *folder, const char *kind, int index,
                     bool values, struct mafat_diagnostic *d)
{
  char path[512];
  snprintf(path, sizeof path, "%s/test_data_set_0/%s_%d.pb", folder, kind, index);
  return tensor_file_open(t, path, values, d);
}

void tensor_file_close(struct tensor_file *t)
{
  free(t->values);
  t->values = NULL;
}
