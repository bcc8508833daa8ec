/* Chooses which axes (rows, columns, channels) the dimensions of an input are, if it may be a
 * picture. Called by formats/tflite/import.c. Reads constants; writes only the caller's array. */
#include "formats/tflite/importer.h"
#include "formats/tflite/values.h"

/* Returns the operator that reads a tensor, if exactly one does and reads it once; else NULL. */
static const struct mafat_tflite_operator *only_reader(const struct mafat_tflite_importer *i,
                                                       int tensor)
{
  if (i->slots[tensor].readers != 1) return NULL;
  for (int n = 0; n < i->model->n_operators; n++)
    for (int k = 0; k < i->model->operators[n].n_inputs; k++)
      if (i->model->operators[n].inputs[k] == tensor) return &i->model->operators[n];
  return NULL;
}

/* Follows a chain of elementwise operators that begins at an input, such as (byte - mean) * scale.
 * Returns the tensor at its end. */
static int after_elements(const struct mafat_tflite_importer *i, int tensor)
{
  enum { MOST = 8 }; /* a longer chain is not a normalization */
  static const int codes[] = {MAFAT_TFLITE_CAST, MAFAT_TFLITE_ADD, MAFAT_TFLITE_SUB,
                              MAFAT_TFLITE_MUL,  MAFAT_TFLITE_DIV, MAFAT_TFLITE_NEG};
  for (int n = 0; n < MOST; n++) {
    const struct mafat_tflite_operator *o = only_reader(i, tensor);
    bool known = false;
    for (size_t k = 0; o && k < sizeof codes / sizeof *codes; k++)
      known = known || o->code == codes[k];
    for (int k = 0; known && k < o->n_inputs; k++)
      known =
          o->inputs[k] == tensor || (o->inputs[k] >= 0 && i->model->tensors[o->inputs[k]].constant);
    if (!known || o->n_outputs != 1 ||
        i->model->tensors[o->outputs[0]].rank != i->model->tensors[tensor].rank)
      break;
    tensor = o->outputs[0];
  }
  return tensor;
}

/* True if the permutation moves one dimension to the end and keeps the order of the others. */
static bool moves_one_last(const int64_t *perm, int n)
{
  int64_t last = n ? perm[n - 1] : 0;
  for (int k = 0; k < n - 1; k++)
    if (perm[k] != k + (k >= last)) return false;
  return n > 0 && last >= 0 && last < n;
}

int mafat_tflite_input_axes(const struct mafat_tflite_importer *i, int tensor, int n_dims,
                            int *axes)
{
  int64_t perm[MAFAT_TFLITE_MAX_RANK];
  int usual[MAFAT_VIEW_DIMS], n = 0, n_found = 0, code = MAFAT_OK;
  const struct mafat_tflite_operator *found = NULL;
  tensor = after_elements(i, tensor);
  mafat_view_usual_axes(n_dims, usual);
  memcpy(axes, usual, (size_t)n_dims * sizeof *axes);
  for (int k = 0; k < i->model->n_operators; k++) {
    const struct mafat_tflite_operator *o = &i->model->operators[k];
    if (o->code != MAFAT_TFLITE_TRANSPOSE || o->n_inputs < 2 || o->inputs[0] != tensor) continue;
    found = o;
    n_found++;
  }
  if (!found || n_found != i->slots[tensor].readers || found->inputs[1] < 0 ||
      !i->model->tensors[found->inputs[1]].constant)
    return MAFAT_OK;
  code = mafat_tflite_ints(i->model, i->file, found->inputs[1], MAFAT_TFLITE_MAX_RANK, perm, &n,
                           i->g->d);
  if (code == MAFAT_OK && n == n_dims && moves_one_last(perm, n))
    for (int k = 0; k < n; k++) axes[perm[k]] = usual[k];
  return code;
}
