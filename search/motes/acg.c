/* Builds MOTES' axis connecting graph (acg.h) as a union-find over the axes of operators. Called by
 * search/motes/schemes.c. Allocates from the caller's heap; the caller closes the graph. */
#include "search/motes/acg.h"

#include "network/rearrange.h"

/* ---- vertices ---- */

static int root_of(struct mafat_acg *a, int vertex)
{
  while (a->part[vertex] != vertex) vertex = a->part[vertex] = a->part[a->part[vertex]];
  return vertex;
}

/* Joins the component of axis i of operator `from` and that of axis j of operator `to`. The vertex
 * with the smallest number represents a component. */
static void connect(struct mafat_acg *a, int from, enum mafat_acg_axis i, int to,
                    enum mafat_acg_axis j)
{
  int begin = from * MAFAT_N_ACG_AXES + (int)i, end = to * MAFAT_N_ACG_AXES + (int)j;
  if (a->part[begin] < 0 || a->part[end] < 0) return;
  int u = root_of(a, begin), v = root_of(a, end);
  if (u < v) a->part[v] = u;
  else a->part[u] = v;
}

/* True if the layer sums over channels of its first operand. */
static bool sums(const struct mafat_layer *l)
{
  if (mafat_layer_multiplies(l) || mafat_layer_mixes_channels(l)) return true;
  return (mafat_layer_along(l) & MAFAT_ALONG_INPUTS) && !mafat_layer_is_grouped(l);
}

static int extent_of(struct mafat_shape s, bool axis_y)
{
  return axis_y ? s.h : s.w;
}

/* True if the output has one row (axis_y) or column, which needs all rows or columns of the first
 * operand. */
static bool takes_all(const struct mafat_layer *l, bool axis_y)
{
  return l->n_operands > 0 && extent_of(l->in, axis_y) > 1 && extent_of(l->out, axis_y) == 1 &&
         mafat_span_size(mafat_layer_in_span(l, 0, axis_y, mafat_span(0, 1))) ==
             extent_of(l->in, axis_y);
}

static void add_vertices(struct mafat_acg *a, const struct mafat_network *n, int operator)
{
  const struct mafat_layer *l = &n->layers[operator];
  bool runs = !mafat_layer_is_alias(l), reads = runs && !mafat_layer_is_input(l);
  const bool is[MAFAT_N_ACG_AXES] = {reads && sums(l), /* in the order of enum mafat_acg_axis */
                                     runs, runs, runs, reads && takes_all(l, true),
                                     reads && takes_all(l, false)};
  for (int axis = 0; axis < MAFAT_N_ACG_AXES; axis++) {
    int vertex = operator * MAFAT_N_ACG_AXES + axis;
    a->part[vertex] = is[axis] ? vertex : -1;
  }
}

/* ---- edges ---- */

/* A read of a tensor by a layer. */
struct edge {
  struct mafat_acg *acg;
  const struct mafat_network *network;
  int layer, maker, operand; /* the layer that reads; the one that makes the tensor; the operand of
                                the former */
  const struct mafat_layer *l; /* the layer that reads */
  struct mafat_shape in; /* shape of the tensor */
  bool all_rows, all_channels; /* all rows are read; all channels are read */
};

/* True if a part of the output's rows (axis_y) or columns needs only a part of those of the
 * operand. The extents of output and operand may differ, by a stride or by windows without padding.
 * False for an operand with one row or column, which is broadcast. */
static bool follows(const struct edge *e, bool axis_y)
{
  int in = extent_of(e->l->operands[e->operand].shape, axis_y), out = extent_of(e->l->out, axis_y);
  if (!(mafat_layer_along(e->l) & (axis_y ? MAFAT_ALONG_ROWS : MAFAT_ALONG_COLS)) || in < 2 ||
      out < 2)
    return false;
  struct mafat_span first = mafat_layer_in_span(e->l, e->operand, axis_y, mafat_span(0, 1));
  struct mafat_span last = mafat_layer_in_span(e->l, e->operand, axis_y, mafat_span(out - 1, out));
  return mafat_span_size(first) < in || mafat_span_size(last) < in;
}

static void connect_map(const struct edge *e, bool axis_y)
{
  enum mafat_acg_axis axis = axis_y ? MAFAT_ACG_H : MAFAT_ACG_W;
  if (axis_y && !e->all_rows) return;
  if (follows(e, axis_y)) connect(e->acg, e->maker, axis, e->layer, axis);
  else if (takes_all(e->l, axis_y))
    connect(e->acg, e->maker, axis, e->layer, axis_y ? MAFAT_ACG_REDUCED_H : MAFAT_ACG_REDUCED_W);
}

/* Connects the axes of a matrix product. The product sums over the channels of its first operand,
 * and over the columns of the second one (if the layer is transposed, over its channels). The other
 * one of these axes of the second operand becomes the channels of the product. */
static void connect_factor(const struct edge *e)
{
  bool sums_channels = e->operand == 0 || e->l->transposed;
  connect(e->acg, e->maker, sums_channels ? MAFAT_ACG_C : MAFAT_ACG_W, e->layer, MAFAT_ACG_REDUCED);
  if (e->operand > 0)
    connect(e->acg, e->maker, sums_channels ? MAFAT_ACG_W : MAFAT_ACG_C, e->layer, MAFAT_ACG_C);
}

static int length_of(struct mafat_shape s, int axis)
{
  return axis == MAFAT_AXIS_H ? s.h : axis == MAFAT_AXIS_W ? s.w : s.c;
}

/* Connects the axes of a layer that rearranges its input: if an axis of the input becomes an axis
 * of the output as a whole and in the same order, these two are connected. */
static void connect_moved(const struct edge *e)
{
  static const enum mafat_acg_axis axes[] = {MAFAT_ACG_H, MAFAT_ACG_W, MAFAT_ACG_C};
  const struct mafat_part *p = &e->l->rearrange->parts[e->operand];
  for (int i = 0; i < p->n_atoms; i++) {
    const struct mafat_atom *atom = &p->atoms[i];
    bool whole = atom->size > 1 && atom->in_step == 1 && atom->out_step == 1 &&
                 atom->size == length_of(e->in, atom->in_axis) &&
                 atom->size == length_of(e->l->out, atom->out_axis);
    if (whole) connect(e->acg, e->maker, axes[atom->in_axis], e->layer, axes[atom->out_axis]);
  }
}

static void connect_channels(const struct edge *e)
{
  const struct mafat_layer *l = e->l;
  if (!e->all_channels) return;
  if (e->operand == 0 && sums(l))
    connect(e->acg, e->maker, MAFAT_ACG_C, e->layer, MAFAT_ACG_REDUCED);
  else if (mafat_layer_is_lanewise(l) && e->in.c > 1 && e->in.c == l->out.c)
    connect(e->acg, e->maker, MAFAT_ACG_C, e->layer, MAFAT_ACG_C);
}

static void connect_read(const struct edge *e)
{
  connect_map(e, true);
  connect_map(e, false);
  if (mafat_layer_multiplies(e->l)) connect_factor(e);
  else if (e->l->rearrange && e->all_rows && e->all_channels) connect_moved(e);
  else connect_channels(e);
}

static void connect_layer(struct mafat_acg *a, const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);) {
    struct mafat_shape in = mafat_network_tensor_shape(n, r.source->tensor);
    struct edge e = {
        a, n, layer, r.source->tensor, r.operand, l, in, r.source->n_rows == in.h,
        r.source->n == in.c};
    connect_read(&e);
  }
}

/* ---- graph ---- */

int mafat_acg_make(struct mafat_acg **out, const struct mafat_network *n, int n_layers,
                   const bool *within, struct mafat_heap *heap)
{
  int n_operators = mafat_network_n_operators(n);
  struct mafat_acg *a = *out = mafat_heap_calloc(heap, 1, sizeof *a);
  if (!a) return MAFAT_ENOMEM;
  *a = (struct mafat_acg){.n_operators = n_operators, .heap = heap};
  a->part = mafat_heap_calloc(heap, (size_t)n_operators * MAFAT_N_ACG_AXES, sizeof *a->part);
  if (!a->part) {
    mafat_acg_close(out);
    return MAFAT_ENOMEM;
  }
  for (int i = 0; i < n_operators; i++) add_vertices(a, n, i);
  for (int i = 0; i < n_layers; i++)
    if (!mafat_layer_is_alias(&n->layers[i]) && (!within || within[i])) connect_layer(a, n, i);
  for (int v = 0; v < n_operators * MAFAT_N_ACG_AXES; v++)
    if (a->part[v] >= 0) a->part[v] = root_of(a, v);
  return MAFAT_OK;
}

void mafat_acg_close(struct mafat_acg **acg)
{
  if (!*acg) return;
  struct mafat_heap *heap = (*acg)->heap;
  mafat_heap_free(heap, (*acg)->part);
  mafat_heap_free(heap, *acg);
  *acg = NULL;
}

int mafat_acg_count(const struct mafat_acg *a)
{
  int count = 0;
  for (int v = 0; v < a->n_operators * MAFAT_N_ACG_AXES; v++) {
    bool more = false;
    for (int u = v + 1; a->part[v] == v && !more && u < a->n_operators * MAFAT_N_ACG_AXES; u++)
      more = a->part[u] == v;
    count += more;
  }
  return count;
}
