/* Turns inputs of a model into constants, whose values are in files that the user named. Called by
 * formats/tflite/import.c. Opens and closes these files; adds their paths to the model. */
#include "formats/tflite/tflite.h"

#include <stdlib.h>
#include <string.h>

/* Adds a file to the model's list. Returns its number, counted from 1, or 0 if out of memory. */
static int add_path(struct mafat_tflite *m, const char *path, const struct mafat_model_file *file)
{
  struct mafat_file_state *states = realloc(m->states, (size_t)(m->n_paths + 1) * sizeof *states);
  if (states) m->states = states;
  char **grown = states ? realloc(m->paths, (size_t)(m->n_paths + 1) * sizeof *grown) : NULL;
  if (!grown) return 0;
  states[m->n_paths] = file->opened;
  m->paths = grown;
  grown[m->n_paths] = strdup(path);
  return grown[m->n_paths] ? ++m->n_paths : 0;
}

/* Makes tensor t a constant whose values are in the file, if type and dimensions match. */
static int give(struct mafat_tflite *m, struct mafat_tflite_tensor *t, const char *path,
                struct mafat_model_file *file, struct mafat_diagnostic *d)
{
  struct mafat_array a = {.type = mafat_tflite_type_array((int)t->type),
                          .type_bytes = mafat_tflite_type_bytes((int)t->type),
                          .rank = t->rank};
  if (!a.type)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: a constant of type %s is not read", file->path,
                      mafat_tflite_type_name((int)t->type));
  for (int i = 0; i < t->rank; i++) a.dims[i] = t->unknown >> i & 1 ? -1 : t->shape[i];
  int code = mafat_array_read(&a, file, d);
  if (code) return code;
  for (int i = 0; i < t->rank; i++) {
    if (a.dims[i] > INT32_MAX)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: dimension %d is %lld", file->path, i, a.dims[i]);
    t->shape[i] = (int32_t)a.dims[i];
  }
  t->constant = true;
  t->at = a.at;
  t->bytes = a.n * a.type_bytes;
  t->file = add_path(m, path, file);
  return t->file ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", file->path);
}

int mafat_tflite_give(struct mafat_tflite *m, const struct mafat_model_file *file,
                      const struct mafat_given *given, struct mafat_diagnostic *d)
{
  for (int k = 0; given && k < given->n; k++) {
    struct mafat_tflite_tensor *found = NULL;
    struct mafat_model_file *of;
    const char *text = given->list[k];
    for (int i = 0; i < m->n_inputs; i++) { /* if several input names match, use the longest */
      struct mafat_tflite_tensor *t = &m->tensors[m->inputs[i]];
      if (mafat_given_path(text, t->name) && (!found || strlen(found->name) < strlen(t->name)))
        found = t;
    }
    if (!found) return mafat_given_refuse(file->path, text, d);
    const char *path = mafat_given_path(text, found->name);
    int code = mafat_model_file_open_given(&of, file, path, found->name, d);
    if (code) return code;
    code = give(m, found, path, of, d);
    mafat_model_file_close(&of);
    if (code) return code;
  }
  return MAFAT_OK;
}
