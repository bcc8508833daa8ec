/* Finds chains of layers, and the paths around a tensor. Called by search/fdt (flow.c, fdt.c,
 * published.c). Only mafat_sole_readers_make allocates, in the caller's heap. */
#include "search/fdt/paths.h"

#include "base/blocks.h"
#include "network/dtype.h"

#include <string.h>

/* ---- chains ---- */

/* Returns the only tensor that a layer reads, apart from constants. -1: the layer reads several
 * tensors or parts of tensors, or it or the layer that makes the tensor has several outputs. */
static int find_above(const struct mafat_sole_readers *l, int layer)
{
  const struct mafat_layer *it = &l->network->layers[layer];
  int above = -1;
  if (it->more) return -1;
  for (int o = 0; o < it->n_operands; o++) {
    const struct mafat_sources *sources = &it->operands[o].sources;
    int tensor = mafat_network_sole_tensor(l->network, sources);
    if (mafat_sources_count(sources) == 0) continue;
    if (tensor >= 0 && mafat_kind_of(mafat_network_made_by(l->network, tensor)->type)->constant)
      continue;
    if (tensor < 0 || above >= 0 || mafat_network_made_by(l->network, tensor)->more) return -1;
    above = tensor;
  }
  return above;
}

static void find_below(struct mafat_sole_readers *l)
{
  enum { SEVERAL = -2 };
  int n_tensors = mafat_network_n_tensors(l->network);
  for (int t = 0; t < n_tensors; t++) l->below[t] = -1;
  for (int i = 0; i < l->n_layers; i++) {
    const struct mafat_layer *layer = &l->network->layers[i];
    if (mafat_layer_is_alias(layer)) continue;
    for (struct mafat_reads r = mafat_layer_reads(layer); mafat_reads_next(&r);) {
      int *below = &l->below[r.source->tensor];
      *below = *below == -1 && l->above[i] == r.source->tensor ? i : SEVERAL;
    }
  }
  for (int t = 0; t < n_tensors; t++)
    if (l->below[t] < 0 || (!mafat_network_is_input(l->network, t) &&
                            mafat_network_is_output(l->network, l->n_layers, t)))
      l->below[t] = -1;
}

int mafat_sole_readers_make(struct mafat_sole_readers **out, const struct mafat_network *n,
                            int n_layers, struct mafat_heap *heap)
{
  size_t n_tensors = (size_t)mafat_network_n_tensors(n);
  struct mafat_sole_readers *l = *out = mafat_heap_calloc(heap, 1, sizeof *l);
  if (!l) return MAFAT_ENOMEM;
  *l = (struct mafat_sole_readers){.heap = heap, .network = n, .n_layers = n_layers};
  l->above = mafat_heap_calloc(heap, 2 * n_tensors, sizeof *l->above);
  if (!l->above) {
    mafat_sole_readers_close(out);
    return MAFAT_ENOMEM;
  }
  l->below = l->above + n_tensors;
  for (int i = 0; i < n_layers; i++)
    l->above[i] = mafat_layer_is_alias(&n->layers[i]) ? -1 : find_above(l, i);
  find_below(l);
  return MAFAT_OK;
}

void mafat_sole_readers_close(struct mafat_sole_readers **lines)
{
  if (!lines || !*lines) return;
  struct mafat_heap *heap = (*lines)->heap;
  mafat_heap_free(heap, (*lines)->above);
  mafat_heap_free(heap, *lines);
  *lines = NULL;
}

uint64_t mafat_tensor_bytes(const struct mafat_network *n, int tensor)
{
  return mafat_dtype_bytes(mafat_network_tensor_type(n, tensor),
                           (uint64_t)mafat_shape_elements(mafat_network_tensor_shape(n, tensor)));
}

/* ---- roles ---- */

/* Role of a layer in a path along channels (paths.h): none, PART, or FDTO or FDTI. */
enum path_block { BLOCK_NONE, BLOCK_PART, BLOCK_FAN };

static struct mafat_shape shape_above(const struct mafat_sole_readers *l, int layer)
{
  return l->network->layers[l->above[layer]].out;
}

/* Role of a layer in a path along channels. in: the layer is below the critical tensor, so it may
 * be FDTI; else it is above and may be FDTO. A layer that looks up rows of a table makes all
 * channels from one index, so it can be FDTO but not FDTI. */
static enum path_block depth_block(const struct mafat_sole_readers *l, int layer, bool in)
{
  const struct mafat_layer *it = &l->network->layers[layer];
  unsigned along = mafat_layer_along(it);
  if (l->above[layer] < 0 || !(along & MAFAT_ALONG_FILTERS)) return BLOCK_NONE;
  if (mafat_layer_is_lanewise(it)) {
    if (shape_above(l, layer).c == it->out.c && !it->operands[0].broadcast) return BLOCK_PART;
    return in ? BLOCK_NONE : BLOCK_FAN;
  }
  if (!(along & MAFAT_ALONG_INPUTS) || mafat_layer_is_grouped(it)) return BLOCK_NONE;
  return in && mafat_layer_is_flat(it) && (it->in.h > 1 || it->in.w > 1) ? BLOCK_NONE : BLOCK_FAN;
}

static bool cuts(enum mafat_tiling tiling, bool axis_y)
{
  return tiling == MAFAT_TILE_BOTH || tiling == (axis_y ? MAFAT_TILE_ROWS : MAFAT_TILE_COLS);
}

static int extent(struct mafat_shape s, bool axis_y)
{
  return axis_y ? s.h : s.w;
}

/* True if neighboring rows (or columns) of the output are computed from common rows of the input,
 * along an axis that the tiling divides. */
static bool overlaps(const struct mafat_sole_readers *l, int layer, enum mafat_tiling tiling)
{
  const struct mafat_layer *it = &l->network->layers[layer];
  for (int axis_y = 0; axis_y < 2; axis_y++) {
    int at = extent(it->out, axis_y) / 2;
    if (!cuts(tiling, axis_y) || at < 1) continue;
    struct mafat_span a = mafat_layer_in_span(it, 0, axis_y, mafat_span(at - 1, at));
    struct mafat_span b = mafat_layer_in_span(it, 0, axis_y, mafat_span(at, at + 1));
    if (b.begin < a.end) return true;
  }
  return false;
}

/* True if the layer can be split by this tiling: it can be computed in tiles, and its input and
 * output have at least two rows (or columns) along each axis that the tiling divides. */
static bool map_block(const struct mafat_sole_readers *l, int layer, enum mafat_tiling tiling)
{
  const struct mafat_layer *it = &l->network->layers[layer];
  if (l->above[layer] < 0 || !mafat_layer_is_tileable(it)) return false;
  for (int axis_y = 0; axis_y < 2; axis_y++)
    if (cuts(tiling, axis_y) &&
        (extent(it->out, axis_y) < 2 || extent(shape_above(l, layer), axis_y) < 2))
      return false;
  return true;
}

/* ---- walking ---- */

/* The next layer of a walk down a chain, to readers (by > 0), or up, to producers (by < 0); -1: the
 * chain ends. */
static int next_layer(const struct mafat_sole_readers *l, int layer, int by)
{
  if (by > 0) return l->below[layer];
  int above = l->above[layer];
  return above >= 0 && above < l->n_layers && l->below[above] == layer ? above : -1;
}

static int first_layer(const struct mafat_sole_readers *l, int tensor, int by)
{
  return by > 0 ? l->below[tensor] : tensor;
}

static int depth_lengths(int *lengths, const struct mafat_sole_readers *l, int tensor, int by)
{
  int n = 0, length = 0;
  for (int layer = first_layer(l, tensor, by); layer >= 0 && length < MAFAT_MOST_PATH / 2;
       layer = next_layer(l, layer, by)) {
    enum path_block b = depth_block(l, layer, by > 0);
    if (b == BLOCK_NONE) break;
    if (b == BLOCK_FAN) {
      if (by > 0 && length > 0) lengths[n++] = length; /* ends with CONCAT instead of the FDTI */
      lengths[n++] = length + 1;
      return n;
    }
    length++;
  }
  if (length > 0) lengths[n++] = length;
  return n;
}

static int map_lengths(int *lengths, const struct mafat_sole_readers *l, int tensor,
                       enum mafat_tiling tiling, int by)
{
  int n = 0, length = 0;
  for (int layer = first_layer(l, tensor, by); layer >= 0 && length < MAFAT_MOST_PATH / 2;
       layer = next_layer(l, layer, by)) {
    if (!map_block(l, layer, tiling)) break;
    if (length > 0 && overlaps(l, layer, tiling)) lengths[n++] = length;
    length++;
  }
  if (length > 0) lengths[n++] = length;
  return n;
}

int mafat_path_lengths(int lengths[MAFAT_MOST_VERSIONS], const struct mafat_sole_readers *l,
                       int tensor, enum mafat_tiling tiling, int by)
{
  return tiling == MAFAT_TILE_DEPTH ? depth_lengths(lengths, l, tensor, by)
                                    : map_lengths(lengths, l, tensor, tiling, by);
}

/* ---- ends ---- */

/* Chooses how many of the `length` layers above (by < 0) or below the tensor belong to the path, so
 * that it ends at the smallest tensor; among equally small ones, at the nearest. 0: none of these
 * tensors is smaller than `tensor`. */
static int choose_end(const struct mafat_sole_readers *l, int tensor, int length, int by)
{
  uint64_t least = mafat_tensor_bytes(l->network, tensor);
  int layer = first_layer(l, tensor, by), best = 0;
  for (int i = 1; i <= length; i++, layer = next_layer(l, layer, by)) {
    uint64_t bytes = mafat_tensor_bytes(l->network, by > 0 ? layer : l->above[layer]);
    if (bytes < least) {
      least = bytes;
      best = i;
    }
  }
  return best;
}

static void fill(struct mafat_path *p, const struct mafat_sole_readers *l, int tensor,
                 enum mafat_tiling tiling, int up, int down)
{
  memset(p, 0, sizeof *p);
  p->tiling = tiling;
  p->n = MAFAT_LEAST_TILES;
  p->length = up + down;
  int layer = tensor;
  for (int i = up - 1; i >= 0; i--, layer = layer >= 0 ? next_layer(l, layer, -1) : -1)
    p->layers[i] = layer;
  layer = l->below[tensor];
  for (int i = 0; i < down; i++, layer = next_layer(l, layer, 1)) p->layers[up + i] = layer;
  p->fan_out = tiling == MAFAT_TILE_DEPTH && depth_block(l, p->layers[0], false) == BLOCK_FAN;
  p->fan_in = tiling == MAFAT_TILE_DEPTH && down > 0 &&
              depth_block(l, p->layers[p->length - 1], true) == BLOCK_FAN;
}

static bool is_known(const struct mafat_path *paths, int n, const struct mafat_path *p)
{
  for (int i = 0; i < n; i++)
    if (paths[i].tiling == p->tiling && paths[i].length == p->length &&
        paths[i].layers[0] == p->layers[0])
      return true;
  return false;
}

static int find_tiling(struct mafat_path *paths, int n, int capacity,
                       const struct mafat_sole_readers *l, int tensor, enum mafat_tiling tiling)
{
  int ups[MAFAT_MOST_VERSIONS], downs[MAFAT_MOST_VERSIONS];
  int n_ups = mafat_path_lengths(ups, l, tensor, tiling, -1),
      n_downs = mafat_path_lengths(downs, l, tensor, tiling, 1);
  for (int i = 0; i < n_ups; i++)
    for (int k = 0; k < n_downs && n < capacity; k++) {
      int up = choose_end(l, tensor, ups[i], -1), down = choose_end(l, tensor, downs[k], 1);
      if (up == 0 || down == 0) continue;
      fill(&paths[n], l, tensor, tiling, up, down);
      if (!is_known(paths, n, &paths[n]) &&
          mafat_path_most_parts(l, &paths[n], tensor) >= MAFAT_LEAST_TILES)
        n++;
    }
  return n;
}

int mafat_paths_find(struct mafat_path *paths, int capacity, const struct mafat_sole_readers *l,
                     int tensor)
{
  int n = 0;
  for (int tiling = 0; tiling < MAFAT_N_TILINGS; tiling++)
    n = find_tiling(paths, n, capacity, l, tensor, (enum mafat_tiling)tiling);
  return n;
}

bool mafat_path_of_input(struct mafat_path *path, const struct mafat_sole_readers *l, int input)
{
  int length = 0;
  for (int layer = l->below[input]; layer >= 0 && length < MAFAT_MOST_PATH / 2;
       layer = l->below[layer], length++)
    if (!map_block(l, layer, MAFAT_TILE_ROWS) || overlaps(l, layer, MAFAT_TILE_ROWS)) break;
  int down = choose_end(l, input, length, 1);
  if (down == 0) return false;
  fill(path, l, input, MAFAT_TILE_ROWS, 0, down);
  path->of_input = true;
  return mafat_path_most_parts(l, path, input) >= MAFAT_LEAST_TILES;
}

int mafat_path_most_parts(const struct mafat_sole_readers *l, const struct mafat_path *p,
                          int tensor)
{
  struct mafat_shape s = mafat_network_tensor_shape(l->network, tensor);
  if (p->tiling == MAFAT_TILE_DEPTH) return mafat_min(MAFAT_MOST_TILES, s.c);
  struct mafat_shape end = l->network->layers[p->layers[p->length - 1]].out; /* tiles of this map */
  int rows = mafat_min(s.h, end.h), cols = mafat_min(s.w, end.w);
  if (p->tiling == MAFAT_TILE_ROWS) return mafat_min(MAFAT_MOST_TILES, rows);
  if (p->tiling == MAFAT_TILE_COLS) return mafat_min(MAFAT_MOST_TILES, cols);
  return mafat_min(MAFAT_MOST_TILES_BOTH, mafat_min(rows, cols));
}

struct mafat_span mafat_path_part(int extent, int n, int i)
{
  int small = extent / n, larger = extent % n;
  int begin = i * small + mafat_min(i, larger);
  return mafat_span(begin, begin + small + (i < larger));
}
