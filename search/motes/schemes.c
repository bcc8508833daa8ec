/* Finds the partition schemes of a cell (schemes.h). Called by search/motes/motes.c. Allocates from
 * families->heap; the caller frees the lists of layers. */
#include "search/motes/schemes.h"

#include "base/blocks.h"
#include "search/motes/acg.h"

#include <limits.h>
#include <string.h>

static const enum mafat_acg_axis vertices[MAFAT_N_SPLIT_AXES] = {MAFAT_ACG_H, MAFAT_ACG_W,
                                                                 MAFAT_ACG_C};
static const unsigned along[MAFAT_N_SPLIT_AXES] = {MAFAT_ALONG_ROWS, MAFAT_ALONG_COLS,
                                                   MAFAT_ALONG_FILTERS};

/* Maps with more rows than this are not split by columns, because their parts would have to be in
 * one buffer, so that windows can read across the borders of parts. */
enum { FEW_ROWS = 4 };

/* State for one component of the graph. */
struct scheme_finder {
  struct mafat_scheme_families *out;
  const struct mafat_network *network;
  int n_layers;
  const bool *within, *bottlenecks;
  struct mafat_acg *acg;
  enum mafat_split_axis axis;
  int part; /* the component */
  /* [layer]: number of layers from a bottleneck to it, over layers that can be split; INT_MAX: it
   * cannot be split */
  int *steps;
};

/* ---- extents and numbers of parts ---- */

/* Number of rows, columns or blocks of channels of a layer's output, along f->axis. */
static int length_of(const struct scheme_finder *f, int layer)
{
  struct mafat_shape s = f->network->layers[layer].out;
  return f->axis == MAFAT_ALONG_H   ? s.h
         : f->axis == MAFAT_ALONG_W ? s.w
                                    : mafat_divide_up(s.c, MAFAT_CHANNEL_BLOCK);
}

/* True if the layer sums over the split axis. */
static bool sums(const struct scheme_finder *f, int layer)
{
  return f->axis == MAFAT_ALONG_C && mafat_acg_part(f->acg, layer, MAFAT_ACG_REDUCED) == f->part &&
         (mafat_layer_along(&f->network->layers[layer]) & MAFAT_ALONG_INPUTS) &&
         !mafat_layer_is_flat(&f->network->layers[layer]);
}

/* Greatest number of parts into which a length is split. If the length is large, it is less than
 * the length, so that some parts get two rows (or columns, or blocks) or more. */
static int most_of(int length)
{
  enum { MANY = 16 };
  return length < MANY ? length : length * 3 / 4;
}

/* The numbers of parts that are tried are the divisors of a layer's length. For rows and columns,
 * 12, 16, 20 and 24 (multiples of STEP between the other two) are tried too, because parts may
 * differ in length. */
enum { STEP = 4, LEAST_STEPS = 8, MOST_STEPS = 28 };

static void find_numbers(const struct scheme_finder *f, struct mafat_scheme_family *family)
{
  const struct mafat_scheme *s = &family->scheme;
  int most = MAFAT_MOST_MOTES_PARTS;
  for (int i = 0; i < s->n_layers; i++)
    if (!sums(f, s->layers[i])) most = mafat_min(most, most_of(length_of(f, s->layers[i])));
  for (int n = 2; n <= most && family->n_numbers < MAFAT_MOST_NUMBERS; n++) {
    bool divides = f->axis != MAFAT_ALONG_C && n % STEP == 0 && n > LEAST_STEPS && n < MOST_STEPS;
    for (int i = 0; i < s->n_layers && !divides; i++)
      divides = !sums(f, s->layers[i]) && length_of(f, s->layers[i]) % n == 0;
    if (divides) family->numbers[family->n_numbers++] = n;
  }
}

/* ---- families ---- */

static bool is_known(const struct mafat_scheme_families *all, const struct mafat_scheme *s)
{
  for (int i = 0; i < all->n; i++) {
    const struct mafat_scheme *other = &all->list[i].scheme;
    if (other->axis == s->axis && other->n_layers == s->n_layers &&
        memcmp(other->layers, s->layers, (size_t)s->n_layers * sizeof *s->layers) == 0)
      return true;
  }
  return false;
}

/* Adds a family with the layers of [first, end) whose f->steps is at most most_steps, unless it is
 * known or there is no number of parts for it. */
static int add_family(struct scheme_finder *f, int first, int end, int most_steps)
{
  struct mafat_scheme_families *all = f->out;
  struct mafat_scheme_family family = {.scheme = {.axis = f->axis}};
  struct mafat_scheme *s = &family.scheme;
  if (all->n == MAFAT_MOST_FAMILIES) return MAFAT_OK;
  s->layers = mafat_heap_calloc(all->heap, (size_t)f->n_layers, sizeof *s->layers);
  if (!s->layers) return MAFAT_ENOMEM;
  for (int l = first; l < end; l++)
    if (f->steps[l] <= most_steps) s->layers[s->n_layers++] = l;
  if (s->n_layers > 0 && !is_known(all, s)) find_numbers(f, &family);
  if (family.n_numbers > 0) all->list[all->n++] = family;
  else mafat_heap_free(all->heap, s->layers);
  return MAFAT_OK;
}

/* ---- rows and columns ---- */

/* True if the layer can be split: it is in the cell, its steps can be divided along f->axis, it has
 * more than one row, column or block there, and that axis belongs to the component. */
static bool is_cut(const struct scheme_finder *f, int layer)
{
  const struct mafat_layer *l = &f->network->layers[layer];
  return f->within[layer] && !mafat_layer_is_alias(l) && (mafat_layer_along(l) & along[f->axis]) &&
         length_of(f, layer) > 1 && mafat_acg_part(f->acg, layer, vertices[f->axis]) == f->part;
}

static bool reads_bottleneck(const struct scheme_finder *f, int layer)
{
  for (struct mafat_reads r = mafat_layer_reads(&f->network->layers[layer]); mafat_reads_next(&r);)
    if (f->bottlenecks[r.source->tensor]) return true;
  return false;
}

static bool step_between(struct scheme_finder *f, int a, int b)
{
  int *x = &f->steps[a], *y = &f->steps[b];
  if (*x < INT_MAX - 1 && *y > *x + 1) *y = *x + 1;
  else if (*y < INT_MAX - 1 && *x > *y + 1) *x = *y + 1;
  else return false;
  return true;
}

/* Sets f->steps. A layer that can be split but cannot be reached from a bottleneck gets
 * INT_MAX - 1. */
static void find_steps(struct scheme_finder *f)
{
  bool any = true;
  for (int l = 0; l < f->n_layers; l++)
    f->steps[l] = !is_cut(f, l)                                 ? INT_MAX
                  : f->bottlenecks[l] || reads_bottleneck(f, l) ? 0
                                                                : INT_MAX - 1;
  while (any) {
    any = false;
    for (int l = 0; l < f->n_layers; l++)
      for (struct mafat_reads r = mafat_layer_reads(&f->network->layers[l]);
           f->steps[l] < INT_MAX && mafat_reads_next(&r);) {
        int maker = mafat_network_operator(f->network, r.source->tensor);
        if (maker < f->n_layers && f->steps[maker] < INT_MAX)
          any = step_between(f, l, maker) || any;
      }
  }
}

static int find_on_maps(struct scheme_finder *f)
{
  static const int most[] = {INT_MAX - 1, 4, 2, 1, 0};
  int code = MAFAT_OK;
  find_steps(f);
  for (size_t i = 0; i < sizeof most / sizeof *most && code == MAFAT_OK; i++)
    code = add_family(f, 0, f->n_layers, most[i]);
  return code;
}

/* ---- channels ---- */

/* Adds the families of the layers around a bottleneck that are consecutive in the file and can be
 * split: one with the layer after them, if that sums over the split channels, and one without. */
static int find_run(struct scheme_finder *f, int bottleneck)
{
  const struct mafat_layer *layers = f->network->layers;
  int first = bottleneck, last = bottleneck;
  for (int l = first - 1; l >= 0 && (mafat_layer_is_alias(&layers[l]) || is_cut(f, l)); l--)
    if (is_cut(f, l)) first = l;
  int l = last + 1;
  for (; l < f->n_layers && (mafat_layer_is_alias(&layers[l]) || is_cut(f, l)); l++)
    if (is_cut(f, l)) last = l;
  for (int i = 0; i < f->n_layers; i++)
    f->steps[i] = i >= first && i <= last && is_cut(f, i) ? 0 : INT_MAX;
  bool ends = l < f->n_layers && f->within[l] && sums(f, l);
  if (ends) f->steps[l] = 0;
  int code = ends ? add_family(f, first, l + 1, 0) : MAFAT_OK;
  if (code == MAFAT_OK) code = add_family(f, first, last + 1, 0);
  return code;
}

static int find_on_channels(struct scheme_finder *f)
{
  int code = MAFAT_OK;
  for (int l = 0; l < f->n_layers && code == MAFAT_OK; l++)
    if (f->bottlenecks[l] && is_cut(f, l)) code = find_run(f, l);
  return code;
}

/* ---- all components ---- */

static int part_of(const struct scheme_finder *f, int tensor, enum mafat_acg_axis vertex)
{
  return mafat_acg_part(f->acg, mafat_network_operator(f->network, tensor), vertex);
}

static int find_along(struct scheme_finder *f)
{
  int code = MAFAT_OK;
  enum mafat_acg_axis vertex = vertices[f->axis];
  for (int t = 0; t < mafat_network_n_tensors(f->network) && code == MAFAT_OK; t++) {
    bool seen = !f->bottlenecks[t] || part_of(f, t, vertex) < 0;
    f->part = part_of(f, t, vertex);
    for (int u = 0; u < t && !seen; u++)
      seen = f->bottlenecks[u] && part_of(f, u, vertex) == f->part;
    if (f->axis == MAFAT_ALONG_W && !seen)
      seen = mafat_network_tensor_shape(f->network, t).h > FEW_ROWS;
    if (!seen) code = f->axis == MAFAT_ALONG_C ? find_on_channels(f) : find_on_maps(f);
  }
  return code;
}

int mafat_schemes_find(struct mafat_scheme_families *out, const struct mafat_network *network,
                       int n_layers, const bool *within, const bool *bottlenecks)
{
  struct scheme_finder f = {.out = out,
                            .network = network,
                            .n_layers = n_layers,
                            .within = within,
                            .bottlenecks = bottlenecks};
  f.steps = mafat_heap_calloc(out->heap, (size_t)n_layers, sizeof *f.steps);
  int code = f.steps ? mafat_acg_make(&f.acg, network, n_layers, within, out->heap) : MAFAT_ENOMEM;
  for (int axis = 0; axis < MAFAT_N_SPLIT_AXES && code == MAFAT_OK; axis++) {
    f.axis = (enum mafat_split_axis)axis;
    code = find_along(&f);
  }
  mafat_acg_close(&f.acg);
  mafat_heap_free(out->heap, f.steps);
  return code;
}

void mafat_schemes_free(struct mafat_scheme_families *families)
{
  for (int i = 0; i < families->n; i++)
    mafat_heap_free(families->heap, families->list[i].scheme.layers);
  families->n = 0;
}
