/* Replaces inputs and other values of a model by constants in separate files (TensorProto, raw or
 * .npy). Called when a model is read (import.c, through mafat_onnx_give). Opens these files;
 * allocates in the model's memory. */
#include "formats/onnx/reader.h"

#include <string.h>

/* Returns the declared type and dimensions of a value; rank -1 if unknown or above
 * MAFAT_VIEW_DIMS. */
static struct mafat_array known(const struct mafat_onnx_value *v)
{
  struct mafat_array a = {.rank = -1};
  const struct mafat_onnx_tensor *t = v->initializer;
  int type = v->info ? v->info->type
             : t     ? t->type
                     : MAFAT_ONNX_UNDEFINED,
      rank = v->info ? v->info->rank
             : t     ? t->rank
                     : -1;
  a.type = mafat_onnx_type_array(type);
  a.type_bytes = mafat_onnx_type_bytes(type);
  a.rank = rank > MAFAT_VIEW_DIMS ? -1 : rank;
  for (int i = 0; i < a.rank; i++) a.dims[i] = v->info ? v->info->dims[i].n : t->dims[i];
  return a;
}

/* Checks the tensor against the declared dimensions. */
static int check_tensor(const struct mafat_onnx_value *v, const char *path,
                        struct mafat_diagnostic *d)
{
  const struct mafat_onnx_tensor *t = v->initializer;
  const struct mafat_onnx_info *info = v->info;
  if (!info || info->rank < 0) return MAFAT_OK;
  if (info->type != t->type)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a tensor of type %s, found %s", path,
                      mafat_onnx_type_name(info->type), mafat_onnx_type_name(t->type));
  if (info->rank != t->rank)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a tensor of %d dimensions, found %d", path,
                      info->rank, t->rank);
  for (int i = 0; i < t->rank; i++)
    if (info->dims[i].n >= 0 && info->dims[i].n != t->dims[i])
      return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %lld in dimension %d, found %lld", path,
                        (long long)info->dims[i].n, i, (long long)t->dims[i]);
  return MAFAT_OK;
}

/* Reads a raw or .npy file. */
static int read_array(struct mafat_onnx *m, const struct mafat_onnx_value *v, const char *path,
                      struct mafat_model_file *file, struct mafat_onnx_tensor **out,
                      struct mafat_diagnostic *d)
{
  struct mafat_onnx_reader r = mafat_onnx_reader_of(m, file, d);
  struct mafat_wire w = mafat_wire_whole(&r.source);
  struct mafat_array a = known(v);
  if (!a.type)
    return mafat_fail(d, MAFAT_EINVAL,
                      "%s: the model declares no type for it: expected a tensor in a .pb file",
                      file->path);
  int code = mafat_array_read(&a, file, d);
  struct mafat_onnx_tensor *t = code ? NULL : mafat_onnx_take(&r, &w, 1, sizeof *t);
  int64_t *dims = t ? mafat_onnx_take(&r, &w, (size_t)a.rank, sizeof *dims) : NULL;
  if (!dims) return code ? code : w.code;
  for (int i = 0; i < a.rank; i++) dims[i] = a.dims[i];
  *t = (struct mafat_onnx_tensor){.type = v->info ? v->info->type : v->initializer->type,
                                  .rank = a.rank,
                                  .dims = dims,
                                  .n = a.n,
                                  .form = MAFAT_ONNX_PLACE,
                                  .file = mafat_onnx_refer_file(&r, &w, path),
                                  .at = a.at,
                                  .bytes = a.n * a.type_bytes};
  *out = t;
  return w.code;
}

static bool ends_in_pb(const char *path)
{
  size_t n = strlen(path);
  return n > 3 && strcmp(path + n - 3, ".pb") == 0;
}

int mafat_onnx_bind(struct mafat_onnx *m, const char *name, const char *path,
                    struct mafat_diagnostic *d)
{
  struct mafat_model_file *file;
  struct mafat_onnx_tensor *t = NULL;
  int index = mafat_onnx_names_find(m->values, name);
  struct mafat_onnx_value *v = index < 0 ? NULL : mafat_onnx_names_get(m->values, index);
  if (!v || v->node >= 0)
    return mafat_fail(d, MAFAT_EINVAL, "%s: expected a value that no node makes, found \"%.80s\"",
                      m->file->path, name);
  int code = mafat_model_file_open_given(&file, m->file, path, name, d);
  if (code) return code;
  if (ends_in_pb(path)) code = mafat_onnx_read_tensor_file(m, path, file, &t, d);
  else code = read_array(m, v, path, file, &t, d);
  if (code == MAFAT_OK && t->file)
    code = mafat_model_file_same(file, &mafat_onnx_file(m, t->file)->state, d);
  mafat_model_file_close(&file);
  if (code) return code;
  t->name = v->name;
  if (!v->initializer) v->makers++;
  v->initializer = t;
  return MAFAT_OK;
}

int mafat_onnx_give(struct mafat_onnx *m, const struct mafat_given *given,
                    struct mafat_diagnostic *d)
{
  for (int k = 0; given && k < given->n; k++) {
    const struct mafat_onnx_value *found = NULL;
    const char *text = given->list[k];
    for (int i = 0; i < m->n_inputs; i++) /* if several input names match, use the longest */
      if (mafat_given_path(text, m->inputs[i]->name) &&
          (!found || strlen(found->name) < strlen(m->inputs[i]->name)))
        found = m->inputs[i];
    if (!found) return mafat_given_refuse(m->file->path, text, d);
    const char *path = mafat_given_path(text, found->name);
    int code = mafat_onnx_bind(m, found->name, path, d);
    if (code == MAFAT_OK) code = check_tensor(found, path, d);
    if (code) return code;
  }
  return MAFAT_OK;
}
