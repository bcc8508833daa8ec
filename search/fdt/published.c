/* Counts memory and operations of a network as the publications do (published.h). Called only by
 * tests, which compare the results with the publications' tables. Temporary memory is in
 * lines->heap. */
#include "search/fdt/published.h"

#include "network/dtype.h"

struct account {
  const struct mafat_sole_readers *lines;
  const struct mafat_path *path;
  int *last;      /* [tensor]: its last reader; n_layers: an output of the network; -1: no reader */
  uint64_t alive; /* bytes of the whole tensors that exist at the current step */
  struct mafat_published *out;
};

static const struct mafat_layer *layer_of(const struct account *a, int layer)
{
  return &a->lines->network->layers[layer];
}

struct mafat_span mafat_path_span(const struct mafat_sole_readers *l, const struct mafat_path *p,
                                  int at, bool axis_y, int part)
{
  const struct mafat_layer *layers = l->network->layers;
  struct mafat_shape end = layers[p->layers[p->length - 1]].out;
  bool cut =
      p->tiling == MAFAT_TILE_BOTH || p->tiling == (axis_y ? MAFAT_TILE_ROWS : MAFAT_TILE_COLS);
  struct mafat_shape own = layers[p->layers[at]].out;
  if (!cut) return mafat_span(0, axis_y ? own.h : own.w);
  struct mafat_span span = mafat_path_part(axis_y ? end.h : end.w, p->n, part);
  for (int i = p->length - 1; i > at; i--)
    span = mafat_layer_in_span(&layers[p->layers[i]], 0, axis_y, span);
  return span;
}

/* ---- parts ---- */

static int n_parts(const struct mafat_path *p)
{
  return p->tiling == MAFAT_TILE_BOTH ? p->n * p->n : p->n;
}

struct share {
  uint64_t pixels;
  int channels;
};

/* The share of the path's layer number `at` that part number `part` computes. The last layer of a
 * fan-in is computed as a whole, as partial sums. */
static struct share share_of(const struct account *a, int at, int part)
{
  const struct mafat_path *p = a->path;
  int c = layer_of(a, p->layers[at])->out.c;
  struct mafat_span rows =
      mafat_path_span(a->lines, p, at, true, p->tiling == MAFAT_TILE_BOTH ? part / p->n : part);
  struct mafat_span cols =
      mafat_path_span(a->lines, p, at, false, p->tiling == MAFAT_TILE_BOTH ? part % p->n : part);
  bool cut = p->tiling == MAFAT_TILE_DEPTH && !(p->fan_in && at == p->length - 1);
  return (struct share){(uint64_t)mafat_span_size(rows) * (uint64_t)mafat_span_size(cols),
                        cut ? mafat_span_size(mafat_path_part(c, p->n, part)) : c};
}

static uint64_t share_bytes(const struct account *a, int at, struct share s)
{
  return s.pixels * (uint64_t)s.channels *
         mafat_dtype_bytes(layer_of(a, a->path->layers[at])->out_type, 8) / 8;
}

/* Multiply-adds of the share. For the partial sums of a fan-in they are 1/n of those of the
 * layer. */
static uint64_t share_macs(const struct account *a, int at, struct share s, int part)
{
  const struct mafat_path *p = a->path;
  const struct mafat_layer *l = layer_of(a, p->layers[at]);
  if (!p->fan_in || at != p->length - 1)
    return mafat_layer_part_macs(l, s.pixels, s.channels, mafat_layer_channels(l));
  return mafat_layer_part_macs(
      l, s.pixels, s.channels,
      mafat_span_size(mafat_path_part(mafat_layer_channels(l), p->n, part)));
}

static void note(struct account *a, uint64_t bytes)
{
  if (bytes > a->out->bytes) a->out->bytes = bytes;
}

/* ---- steps ---- */

static void free_read(struct account *a, int layer)
{
  const struct mafat_layer *l = layer_of(a, layer);
  for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);) {
    int *last = &a->last[r.source->tensor];
    if (*last != layer) continue;
    a->alive -= mafat_tensor_bytes(a->lines->network, r.source->tensor);
    *last = -1; /* count each tensor once */
  }
}

/* Bytes of the layer's outputs. unread: only of those without a reader. */
static uint64_t made_bytes(const struct account *a, int layer, bool unread)
{
  uint64_t bytes = 0;
  for (int k = 0; k < mafat_layer_n_outputs(layer_of(a, layer)); k++) {
    int tensor = mafat_network_output(a->lines->network, layer, k);
    if (!unread || a->last[tensor] < 0) bytes += mafat_tensor_bytes(a->lines->network, tensor);
  }
  return bytes;
}

static void run_whole(struct account *a, int layer)
{
  const struct mafat_layer *l = layer_of(a, layer);
  if (mafat_layer_is_alias(l)) return;
  a->alive += made_bytes(a, layer, false);
  note(a, a->alive);
  a->out->macs += mafat_layer_macs(l, (uint64_t)l->out.h * (uint64_t)l->out.w);
  a->alive -= made_bytes(a, layer, true);
  free_read(a, layer);
}

/* Counts all parts of the path, one after the other. The path's input is freed when the last part
 * has computed its first layer. */
static void run_parts(struct account *a)
{
  const struct mafat_path *p = a->path;
  int first = p->layers[0], last = p->layers[p->length - 1], n = n_parts(p);
  uint64_t done = 0;
  for (int part = 0; part < n; part++) {
    uint64_t before = 0;
    for (int at = 0; at < p->length; at++) {
      struct share s = share_of(a, at, part);
      uint64_t bytes = share_bytes(a, at, s);
      bool merged = p->fan_in && at == p->length - 1 && part > 0;
      note(a, a->alive + done + before + (merged ? 0 : bytes));
      a->out->macs += share_macs(a, at, s, part);
      if (at == 0 && part == n - 1) free_read(a, first);
      before = bytes;
    }
    if (!p->fan_in || part == 0) done += before;
  }
  a->alive += mafat_tensor_bytes(a->lines->network, last);
}

static void find_last(struct account *a)
{
  const struct mafat_network *n = a->lines->network;
  for (int t = 0; t < mafat_network_n_tensors(n); t++) a->last[t] = -1;
  for (int i = 0; i < a->lines->n_layers; i++)
    if (!mafat_layer_is_alias(&n->layers[i]))
      for (struct mafat_reads r = mafat_layer_reads(&n->layers[i]); mafat_reads_next(&r);)
        a->last[r.source->tensor] = i;
  for (int t = 0; t < mafat_network_n_tensors(n); t++)
    if (mafat_network_operator(n, t) < a->lines->n_layers &&
        mafat_network_is_output(n, a->lines->n_layers, t))
      a->last[t] = a->lines->n_layers;
  for (int t = n->n_layers; t < mafat_network_n_operators(n); t++)
    if (a->last[t] >= 0) a->alive += mafat_tensor_bytes(n, t);
}

/* The whole path is counted as if it ran when its last layer does: then all its operands exist, and
 * no other layer reads its inner tensors. */
int mafat_published_find(struct mafat_published *out, const struct mafat_sole_readers *lines,
                         const struct mafat_path *path)
{
  struct account a = {.lines = lines, .path = path, .out = out};
  *out = (struct mafat_published){0, 0};
  a.last = mafat_heap_calloc(lines->heap, (size_t)mafat_network_n_tensors(lines->network),
                             sizeof *a.last);
  if (!a.last) return MAFAT_ENOMEM;
  find_last(&a);
  for (int i = 0, at = 0; i < lines->n_layers; i++) {
    if (!path || at >= path->length || path->layers[at] != i) run_whole(&a, i);
    else if (++at == path->length) run_parts(&a);
  }
  mafat_heap_free(lines->heap, a.last);
  return MAFAT_OK;
}
