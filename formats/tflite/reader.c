/* Copies names and lists of a .tflite file to the model's memory. Called by formats/tflite
 * (tflite.c, tensors.c, order.c). Reads the file; allocates blocks of limited total size, which are
 * freed with the model. */
#include "formats/tflite/reader.h"

#include <stdlib.h>

enum { MAX_NAME = 1 << 10, BLOCK_BYTES = 8000 };

void *mafat_tflite_zeros(struct mafat_flat *f, size_t n, size_t bytes)
{
  return mafat_tflite_sparse(f, n, n, bytes);
}

void *mafat_tflite_sparse(struct mafat_flat *f, size_t n, size_t n_used, size_t bytes)
{
  bool taken =
      !f->code && mafat_allowance_take_sparse(f->file->source->allowance, n, n_used, bytes);
  void *p = taken ? calloc(n ? n : 1, bytes) : NULL;
  if (!p) mafat_flat_fail(f, MAFAT_ENOMEM, "out of memory");
  return p;
}

void *mafat_tflite_keep(struct mafat_tflite_reader *r, size_t bytes)
{
  struct mafat_tflite *m = r->model;
  struct mafat_tflite_block *b = m->blocks;
  bytes = (bytes + 3) / 4 * 4;
  m->list_bytes += bytes;
  if (m->list_bytes > MAFAT_TFLITE_MAX_LIST_BYTES)
    mafat_flat_fail(&r->f, MAFAT_EUNSUPPORTED,
                    "its names and lists of tensors need more than %d bytes",
                    MAFAT_TFLITE_MAX_LIST_BYTES);
  if (r->f.code) return NULL;
  if (!b || b->capacity - b->used < bytes) {
    size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    b = mafat_allowance_take(r->f.file->source->allowance, 1, sizeof *b + capacity)
            ? malloc(sizeof *b + capacity)
            : NULL;
    if (!b) {
      mafat_flat_fail(&r->f, MAFAT_ENOMEM, "out of memory");
      return NULL;
    }
    *b = (struct mafat_tflite_block){m->blocks, 0, capacity};
    m->blocks = b;
  }
  void *p = (char *)b->data + b->used;
  b->used += bytes;
  return p;
}

const char *mafat_tflite_keep_string(struct mafat_tflite_reader *r,
                                     const struct mafat_flat_table *t, int field)
{
  struct mafat_flat_vector v = mafat_flat_vector(&r->f, t, field, 1);
  uint32_t n = v.n < MAX_NAME ? v.n : MAX_NAME;
  char *text = mafat_tflite_keep(r, n + 1);
  if (!text) return "";
  mafat_flat_copy(&r->f, &v, n, 1, text);
  text[n] = 0;
  return text;
}

const int32_t *mafat_tflite_keep_list(struct mafat_tflite_reader *r,
                                      const struct mafat_flat_table *t, int field, int *n)
{
  struct mafat_flat_vector v = mafat_flat_vector(&r->f, t, field, sizeof(int32_t));
  int32_t *list = mafat_tflite_keep(r, (size_t)v.n * sizeof *list);
  *n = 0;
  if (!list) return NULL;
  mafat_flat_copy(&r->f, &v, v.n, sizeof *list, list);
  *n = (int)v.n;
  return list;
}

uint32_t *mafat_tflite_offsets(struct mafat_flat *f, const struct mafat_flat_vector *v,
                               uint32_t most, const char *what)
{
  if (v->n > most)
    mafat_flat_fail(f, MAFAT_EUNSUPPORTED, "expected at most %u %s, found %u", most, what, v->n);
  uint32_t *list = mafat_tflite_zeros(f, v->n, sizeof *list);
  if (list) mafat_flat_copy(f, v, v->n, sizeof *list, list);
  return list;
}
