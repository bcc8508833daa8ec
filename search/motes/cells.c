/* Divides a network into cells (cells.h) by post-dominators, or as a text says. Called by
 * search/motes/motes.c. Allocates from the caller's heap; the caller closes the cells. */
#include "search/motes/cells.h"

#include "network/dtype.h"

#include <ctype.h>
#include <stdlib.h>

/* Graph of the network. Its nodes are the operators (layers and inputs), then the joins, then the
 * end; they are numbered in this order. A join is a list of several tensors that a layer reads as
 * one, a concatenation. The immediate post-dominator of a node is the first node after it that all
 * paths from it to the end pass through. */
struct cell_finder {
  const struct mafat_network *network;
  int n_layers, n_operators, n_joins, end;
  const struct mafat_sources **joins; /* (n_joins) */
  int *first_reader; /* [join]: first layer that reads it */
  int *through;      /* [node]: immediate post-dominator; -1: not known yet */
  int *depth;        /* [node]: number of post-dominators between it and the end, plus 1 */
  bool *place;       /* [node]: a cell ends at it (find_places) */
  int *cell_at;      /* [node]: number of the cell that ends at it; -1: none yet */
  struct mafat_cells *cells;
};

/* ---- joins ---- */

static bool are_equal(const struct mafat_sources *a, const struct mafat_sources *b)
{
  bool equal = a->n == b->n && a->n_bands == b->n_bands;
  for (int i = 0; equal && i < mafat_sources_count(a); i++)
    equal = a->list[i].tensor == b->list[i].tensor;
  return equal;
}

/* Index of the join with these sources; -1: a single tensor, or a join that is not listed yet. */
static int join_of(const struct cell_finder *f, const struct mafat_sources *sources)
{
  for (int j = 0; sources->n > 1 && j < f->n_joins; j++)
    if (are_equal(f->joins[j], sources)) return j;
  return -1;
}

static void find_joins(struct cell_finder *f)
{
  for (int l = 0; l < f->n_layers; l++) {
    const struct mafat_layer *layer = &f->network->layers[l];
    for (int k = 0; k < layer->n_operands && !mafat_layer_is_alias(layer); k++) {
      const struct mafat_sources *s = &layer->operands[k].sources;
      if (s->n < 2 || join_of(f, s) >= 0) continue;
      f->first_reader[f->n_joins] = l;
      f->joins[f->n_joins++] = s;
    }
  }
}

/* ---- post-dominators ---- */

/* The first node that all paths from a and all paths from b to the end pass through. */
static int meet(const struct cell_finder *f, int a, int b)
{
  while (a != b) {
    if (f->depth[a] >= f->depth[b]) a = f->through[a];
    else b = f->through[b];
  }
  return a;
}

/* Notes that a path leads from node `from` to its reader `to`. */
static void lead(struct cell_finder *f, int from, int to)
{
  f->through[from] = f->through[from] < 0 ? to : meet(f, f->through[from], to);
}

/* Sets the depth of a node. Call it when all readers of the node are noted. */
static void settle(struct cell_finder *f, int node)
{
  if (f->through[node] < 0) f->through[node] = f->end;
  f->depth[node] = f->depth[f->through[node]] + 1;
}

static void lead_sources(struct cell_finder *f, const struct mafat_sources *s, int to)
{
  for (int i = 0; i < mafat_sources_count(s); i++)
    lead(f, mafat_network_operator(f->network, s->list[i].tensor), to);
}

static void find_ways(struct cell_finder *f)
{
  for (int i = 0; i <= f->end; i++) f->through[i] = f->cell_at[i] = -1;
  f->depth[f->end] = 0;
  for (int l = f->n_layers - 1; l >= 0; l--) {
    const struct mafat_layer *layer = &f->network->layers[l];
    if (mafat_layer_is_alias(layer)) continue;
    for (int k = 0; k < mafat_layer_n_outputs(layer); k++)
      if (mafat_network_is_output(f->network, f->n_layers, mafat_network_output(f->network, l, k)))
        lead(f, l, f->end);
    settle(f, l);
    for (int k = 0; k < layer->n_operands; k++) {
      int join = join_of(f, &layer->operands[k].sources);
      if (join >= 0) lead(f, f->n_operators + join, l);
      else lead_sources(f, &layer->operands[k].sources, l);
    }
    for (int j = 0; j < f->n_joins; j++) {
      if (f->first_reader[j] != l) continue;
      settle(f, f->n_operators + j);
      lead_sources(f, f->joins[j], f->n_operators + j);
    }
  }
  for (int i = f->n_layers; i < f->n_operators; i++) settle(f, i);
}

/* ---- places ---- */

static uint64_t bytes_of(const struct cell_finder *f, int tensor)
{
  return mafat_dtype_bytes(
      mafat_network_tensor_type(f->network, tensor),
      (uint64_t)mafat_shape_elements(mafat_network_tensor_shape(f->network, tensor)));
}

/* Bytes of all outputs of an operator. */
static uint64_t made_bytes(const struct cell_finder *f, int operator)
{
  uint64_t sum = 0;
  for (int k = 0; k < mafat_layer_n_outputs(&f->network->layers[operator]); k++)
    sum += bytes_of(f, mafat_network_output(f->network, operator, k));
  return sum;
}

static uint64_t node_bytes(const struct cell_finder *f, int node)
{
  uint64_t sum = 0;
  if (node < f->n_operators) return made_bytes(f, node);
  const struct mafat_sources *s = f->joins[node - f->n_operators];
  for (int i = 0; i < mafat_sources_count(s); i++) sum += bytes_of(f, s->list[i].tensor);
  return sum;
}

/* Marks the places where cells end: joins, the end, and bottlenecks. A bottleneck is a
 * post-dominator of the network's input whose output is no larger than those of the post-dominators
 * just before and just after it. */
static void find_places(struct cell_finder *f)
{
  int input = f->n_layers < f->n_operators ? mafat_network_picture(f->network) : f->end;
  uint64_t before = input == f->end ? 0 : node_bytes(f, input);
  for (int j = 0; j < f->n_joins; j++) f->place[f->n_operators + j] = true;
  f->place[f->end] = true;
  for (int node = input == f->end ? f->end : f->through[input]; node != f->end;
       node = f->through[node]) {
    int next = f->through[node];
    uint64_t bytes = node_bytes(f, node);
    if (bytes <= before && next != f->end && bytes <= node_bytes(f, next)) f->place[node] = true;
    before = bytes;
  }
}

/* ---- cells ---- */

static void number(struct cell_finder *f, int node)
{
  if (f->cell_at[node] >= 0) f->cell_at[node] = f->cells->n++;
}

/* Assigns each layer to the cell that ends at the layer or, if it is no place, at the first place
 * after it. Numbers the cells in the order of their ends. */
static void divide(struct cell_finder *f)
{
  int *end_of = f->cells->cell_of; /* [layer]: place at which its cell ends; at last, its cell */
  for (int l = 0; l < f->n_layers; l++) {
    end_of[l] = -1;
    if (mafat_layer_is_alias(&f->network->layers[l])) continue;
    for (end_of[l] = l; !f->place[end_of[l]];) end_of[l] = f->through[end_of[l]];
    f->cell_at[end_of[l]] = 0;
  }
  for (int l = 0; l < f->n_layers; l++) {
    for (int j = 0; j < f->n_joins; j++)
      if (f->first_reader[j] == l) number(f, f->n_operators + j);
    number(f, l);
  }
  number(f, f->end);
  for (int l = 0; l < f->n_layers; l++)
    if (end_of[l] >= 0) f->cells->cell_of[l] = f->cell_at[end_of[l]];
}

/* True if the layer reads outputs of the cell, and reads nothing else but constants. */
static bool follows(const struct cell_finder *f, int layer, int cell)
{
  bool any = false;
  for (struct mafat_reads r = mafat_layer_reads(&f->network->layers[layer]);
       mafat_reads_next(&r);) {
    int maker = mafat_network_operator(f->network, r.source->tensor);
    if (maker >= f->n_layers) return false;
    bool own = f->cells->cell_of[maker] == cell;
    if (!own && !mafat_kind_of(f->network->layers[maker].type)->constant) return false;
    any = any || own;
  }
  return any;
}

/* Bytes of the maps that the cell makes and layers of other cells read. read: working array,
 * [layer]. */
static uint64_t open_bytes(const struct cell_finder *f, int cell, bool *read)
{
  uint64_t sum = 0;
  for (int l = 0; l < f->n_layers; l++) read[l] = false;
  for (int l = 0; l < f->n_layers; l++)
    for (struct mafat_reads r = mafat_layer_reads(&f->network->layers[l]); mafat_reads_next(&r);) {
      int maker = mafat_network_operator(f->network, r.source->tensor);
      if (f->cells->cell_of[l] != cell && f->cells->cell_of[l] >= 0 && maker < f->n_layers)
        read[maker] = true;
    }
  for (int l = 0; l < f->n_layers; l++)
    if (f->cells->cell_of[l] == cell && read[l]) sum += made_bytes(f, l);
  return sum;
}

enum { MOST_FOLLOWING = 3 }; /* greatest number of steps of take_following */

/* Moves layers after the cell's end that read only the cell (follows) into the cell, in up to
 * MOST_FOLLOWING steps. Then undoes steps, so that the fewest bytes are read outside the cell.
 * Returns the number of steps that are left. from, read: working arrays, [layer]. */
static int take_following(struct cell_finder *f, int cell, int *from, bool *read)
{
  uint64_t least = open_bytes(f, cell, read);
  int best = 0;
  for (int l = 0; l < f->n_layers; l++) from[l] = -1;
  for (int step = 1; step <= MOST_FOLLOWING; step++) {
    for (int l = 0; l < f->n_layers; l++)
      read[l] = f->cells->cell_of[l] > cell && follows(f, l, cell);
    for (int l = 0; l < f->n_layers; l++) {
      if (!read[l]) continue;
      from[l] = f->cells->cell_of[l] * (MOST_FOLLOWING + 1) + step;
      f->cells->cell_of[l] = cell;
    }
    uint64_t bytes = open_bytes(f, cell, read);
    if (bytes >= least) continue;
    least = bytes;
    best = step;
  }
  for (int l = 0; l < f->n_layers; l++)
    if (from[l] >= 0 && from[l] % (MOST_FOLLOWING + 1) > best)
      f->cells->cell_of[l] = from[l] / (MOST_FOLLOWING + 1);
  return best;
}

static int find(struct cell_finder *f, struct mafat_heap *heap)
{
  size_t n = (size_t)f->end + 1;
  f->through = mafat_heap_calloc(heap, 4 * n, sizeof *f->through);
  f->place = mafat_heap_calloc(heap, 2 * n, sizeof *f->place);
  if (!f->through || !f->place) return MAFAT_ENOMEM;
  f->depth = f->through + n;
  f->cell_at = f->depth + n;
  int *from = f->cell_at + n;
  bool *read = f->place + n;
  find_ways(f);
  find_places(f);
  divide(f);
  for (int c = 0; c < f->cells->n; c++) take_following(f, c, from, read);
  return MAFAT_OK;
}

static int count_operands(const struct mafat_network *n, int n_layers)
{
  int count = 1;
  for (int l = 0; l < n_layers; l++) count += n->layers[l].n_operands;
  return count;
}

int mafat_cells_find(struct mafat_cells **out, const struct mafat_network *network, int n_layers,
                     struct mafat_heap *heap)
{
  struct cell_finder f = {
      .network = network, .n_layers = n_layers, .n_operators = mafat_network_n_operators(network)};
  int capacity = count_operands(network, n_layers), code = MAFAT_ENOMEM;
  struct mafat_cells *c = f.cells = *out = mafat_heap_calloc(heap, 1, sizeof *c);
  if (!c) return MAFAT_ENOMEM;
  c->heap = heap;
  c->cell_of = mafat_heap_calloc(heap, (size_t)n_layers, sizeof *c->cell_of);
  f.joins = mafat_heap_calloc(heap, (size_t)capacity, sizeof *f.joins);
  f.first_reader = mafat_heap_calloc(heap, (size_t)capacity, sizeof *f.first_reader);
  if (c->cell_of && f.joins && f.first_reader) {
    find_joins(&f);
    f.end = f.n_operators + f.n_joins;
    code = find(&f, heap);
  }
  mafat_heap_free(heap, f.through);
  mafat_heap_free(heap, f.place);
  mafat_heap_free(heap, f.joins);
  mafat_heap_free(heap, f.first_reader);
  if (code) mafat_cells_close(out);
  return code;
}

/* ---- cells from text ---- */

/* Parses a layer number above `last` and below n, and moves *text past it and past a comma. Returns
 * -1 if the number is invalid. *more: true if there was a comma. */
static int take_number(const char **text, int last, int n, bool *more)
{
  char *end;
  if (!isdigit((unsigned char)**text)) return -1;
  long number = strtol(*text, &end, 10);
  if (number <= last || number >= n || (*end != ',' && *end != '\0')) return -1;
  *more = *end == ',';
  *text = *more ? end + 1 : end;
  return (int)number;
}

static int read_cells(struct mafat_cells *c, const char *text, int n_layers,
                      struct mafat_diagnostic *d)
{
  bool more = true;
  for (int last = 0, begin; more; last = begin) {
    begin = take_number(&text, last, n_layers, &more);
    if (begin < 0)
      return mafat_fail(d, MAFAT_EINVAL, "expected a layer between %d and %d (cells), found %.20s",
                        last + 1, n_layers - 1, *text ? text : "nothing");
    c->n++;
    for (int l = begin; l < n_layers; l++) c->cell_of[l] = c->n;
  }
  c->n++;
  return MAFAT_OK;
}

int mafat_cells_read(struct mafat_cells **out, const char *text,
                     const struct mafat_network *network, int n_layers, struct mafat_heap *heap,
                     struct mafat_diagnostic *d)
{
  struct mafat_cells *c = *out = mafat_heap_calloc(heap, 1, sizeof *c);
  if (!c) return MAFAT_ENOMEM;
  c->heap = heap;
  c->cell_of = mafat_heap_calloc(heap, (size_t)n_layers, sizeof *c->cell_of);
  int code = c->cell_of ? read_cells(c, text, n_layers, d) : MAFAT_ENOMEM;
  for (int l = 0; l < n_layers && code == MAFAT_OK; l++)
    if (mafat_layer_is_alias(&network->layers[l])) c->cell_of[l] = -1;
  if (code) mafat_cells_close(out);
  return code;
}

void mafat_cells_close(struct mafat_cells **cells)
{
  if (!*cells) return;
  struct mafat_heap *heap = (*cells)->heap;
  mafat_heap_free(heap, (*cells)->cell_of);
  mafat_heap_free(heap, *cells);
  *cells = NULL;
}
