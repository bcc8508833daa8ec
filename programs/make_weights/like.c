/* Copies an ONNX or TFLite model with random weights. Called by make_weights.c for --like. Reads
 * the model's files, allocates, and writes to an open file. */
#include "programs/make_weights/like.h"

#include "base/model_file.h"
#include "network/constant.h"
#include "programs/make_weights/numbers.h"
#include "programs/make_weights/recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* n floats from byte `at` of the file on. The new floats are uniform in [centre - spread, centre +
 * spread]. */
struct patch {
  uint64_t at, n;
  bool as_they_were; /* centre and spread follow from the range of the old values */
  float centre, spread;
};

struct patches {
  int file; /* index of the model file that the patches belong to */
  struct patch *list;
  size_t n;
};

/* ---- constants to replace ---- */

static void add(struct patches *p, const struct mafat_constant *c, bool as_they_were, float centre,
                float spread)
{
  if (c->n > 1 && mafat_constant_is_read(c) && (int)c->file == p->file && c->type == MAFAT_F32)
    p->list[p->n++] = (struct patch){c->at, c->n, as_they_were, centre, spread};
}

/* Adds a layer's constants. At the end of a shortcut's branch (recipe.h), the biases and the scales
 * are multiplied by r->branch, and the weights if there are no scales. */
static void add_layer(struct patches *p, const struct mafat_layer *l,
                      const struct mafat_layer_constants *c, const struct recipe *r)
{
  bool normalized = c->parts && c->parts->variances.n > 0,
       scaled = c->parts && c->parts->scales.n > 1;
  bool alone = mafat_layer_weights_form(l) == MAFAT_WEIGHTS_AFFINE && !normalized;
  add(p, &c->weights, !mafat_layer_has_panels(l), 0, r->limit * (scaled ? 1 : r->branch));
  add(p, &c->biases, alone, 0, .1f * r->branch);
  if (!c->parts) return;
  add(p, &c->parts->scales, alone, r->branch, .1f * r->branch);
  add(p, &c->parts->offsets, alone, 0, .1f);
  add(p, &c->parts->means, alone, 0, .1f);
  add(p, &c->parts->variances, false, 1, .2f);
}

static int by_place(const void *a, const void *b)
{
  const struct patch *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

/* Sorts the patches by offset. If several layers share constants, keeps one patch of these. */
static void settle(struct patches *p)
{
  size_t n = 0;
  uint64_t end = 0;
  qsort(p->list, p->n, sizeof *p->list, by_place);
  for (size_t i = 0; i < p->n; i++) {
    if (p->list[i].at < end) continue;
    p->list[n++] = p->list[i];
    end = p->list[i].at + p->list[i].n * sizeof(float);
  }
  p->n = n;
}

static int find_patches(struct patches *p, const struct mafat_network *n,
                        struct mafat_diagnostic *d)
{
  enum { OF_A_LAYER = MAFAT_N_PARTS + 1 };
  struct recipe *recipes;
  int code = make_recipes(&recipes, n, d);
  if (code) return code;
  p->list = calloc((size_t)n->n_layers * OF_A_LAYER, sizeof *p->list);
  for (int l = 0; p->list && l < n->n_layers; l++)
    add_layer(p, &n->layers[l], &n->constants->layers[l], &recipes[l]);
  free(recipes);
  if (!p->list) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  settle(p);
  return MAFAT_OK;
}

/* ---- the copy ---- */

enum { SOME = 16 << 10 }; /* bytes that are read at a time */

static int find_range(struct patch *p, struct mafat_model_file *from, struct mafat_diagnostic *d)
{
  float some[SOME / sizeof(float)], least = INFINITY, most = -INFINITY;
  for (uint64_t done = 0; done < p->n;) {
    uint64_t left = p->n - done, capacity = sizeof some / sizeof *some;
    size_t n = (size_t)(left < capacity ? left : capacity);
    int code = mafat_model_file_read(from, p->at + done * sizeof *some, n * sizeof *some, some, d);
    if (code) return code;
    for (size_t i = 0; i < n; i++) {
      if (isfinite(some[i])) least = fminf(least, some[i]), most = fmaxf(most, some[i]);
    }
    done += n;
  }
  bool found = least <= most;
  p->spread = found ? most / 2 - least / 2 : 1; /* most - least may overflow a float */
  p->centre = found ? least + p->spread : 0;
  return MAFAT_OK;
}

static int copy(FILE *to, struct mafat_model_file *from, uint64_t at, uint64_t end,
                struct mafat_diagnostic *d)
{
  char some[SOME];
  while (at < end && !ferror(to)) {
    size_t n = end - at < sizeof some ? (size_t)(end - at) : sizeof some;
    int code = mafat_model_file_read(from, at, n, some, d);
    if (code) return code;
    fwrite(some, 1, n, to);
    at += n;
  }
  return MAFAT_OK;
}

static int write_copy(struct numbers_file *to, struct mafat_model_file *from, struct patches *p,
                      struct mafat_diagnostic *d)
{
  uint64_t at = 0;
  int code = MAFAT_OK;
  for (size_t i = 0; i < p->n && code == MAFAT_OK; i++) {
    struct patch *next = &p->list[i];
    uint64_t bytes = next->n * sizeof(float);
    if (next->at > from->bytes || bytes > from->bytes - next->at)
      return mafat_fail(d, MAFAT_EFORMAT,
                        "%s: expected %llu numbers from byte %llu on, found the end of the file",
                        from->path, (unsigned long long)next->n, (unsigned long long)next->at);
    if (next->as_they_were) code = find_range(next, from, d);
    if (code == MAFAT_OK) code = copy(to->file, from, at, next->at, d);
    numbers_put(to, next->n, next->centre, next->spread);
    numbers_flush(to);
    at = next->at + bytes;
  }
  return code ? code : copy(to->file, from, at, from->bytes, d);
}

int like_write(FILE *file, const struct mafat_network *n, int number, uint64_t seed, bool quiet,
               struct mafat_diagnostic *d)
{
  struct patches p = {.file = number};
  struct mafat_model_file *from = NULL;
  struct numbers_file to;
  uint64_t total = 0;
  int code = find_patches(&p, n, d);
  if (code == MAFAT_OK)
    code = mafat_model_file_open(&from, number ? n->files[number - 1] : n->path, d);
  for (size_t i = 0; i < p.n; i++) total += p.list[i].n;
  if (code == MAFAT_OK && !numbers_open(&to, file, seed + (uint64_t)number, total, quiet))
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  if (code == MAFAT_OK) {
    code = write_copy(&to, from, &p, d);
    numbers_close(&to);
  }
  mafat_model_file_close(&from);
  free(p.list);
  return code;
}
