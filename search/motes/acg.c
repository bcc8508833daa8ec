#include "search/motes/acg.h"

static int root_of(struct mafat_acg *a, int vertex)
{
  while (a->part[vertex] != vertex) vertex = a->part[vertex] = a->part[a->part[vertex]];
  return vertex;
}

/* The least vertex of a part stands for it. */
static void connect(struct mafat_acg *a, int from, enum mafat_acg_axis i, int to, enum mafat_acg_axis j)
{
  int u = root_of(a, from * MAFAT_N_ACG_AXES + i), v = root_of(a, to * MAFAT_N_ACG_AXES + j);
  if (u < v) a->part[v] = u;
  else a->part[u] = v;
}

/* Does it sum channels of its first operand? */
static bool sums(const struct mafat_layer *l)
{
  return (mafat_layer_along(l) & MAFAT_ALONG_INPUTS) && !mafat_layer_is_grouped(l) && !mafat_layer_is_flat(l);
}

static void add_vertices(struct mafat_acg *a, const struct mafat_network *n, int operator)
{
  bool runs = !mafat_layer_is_alias(&n->layers[operator]);
  for (int axis = 0; axis < MAFAT_N_ACG_AXES; axis++) {
    int vertex = operator * MAFAT_N_ACG_AXES + axis;
    a->part[vertex] = runs && (axis != MAFAT_ACG_REDUCED || sums(&n->layers[operator])) ? vertex : -1;
  }
}

/* Lengths of one axis on both sides. Strides divide it; an axis of length 1 beside a longer one is read whole by all parts. */
static bool agree(int in, int out)
{
  return in == out || (in > 1 && out > 1);
}

static void connect_read(struct mafat_acg *a, const struct mafat_network *n, int layer, const struct mafat_reads *r)
{
  const struct mafat_layer *l = &n->layers[layer];
  unsigned along = mafat_layer_along(l);
  int tensor = r->source->tensor;
  struct mafat_shape in = mafat_network_tensor_shape(n, tensor);
  bool all_rows = r->source->n_rows == in.h;
  if ((along & MAFAT_ALONG_ROWS) && all_rows && agree(in.h, l->out.h)) connect(a, tensor, MAFAT_ACG_H, layer, MAFAT_ACG_H);
  if ((along & MAFAT_ALONG_COLS) && agree(in.w, l->out.w)) connect(a, tensor, MAFAT_ACG_W, layer, MAFAT_ACG_W);
  if (r->operand == 0 && sums(l)) connect(a, tensor, MAFAT_ACG_C, layer, MAFAT_ACG_REDUCED);
  else if ((along & MAFAT_ALONG_FILTERS) && mafat_layer_is_lanewise(l) && r->source->n == in.c && in.c == l->out.c)
    connect(a, tensor, MAFAT_ACG_C, layer, MAFAT_ACG_C);
}

int mafat_acg_make(struct mafat_acg **out, const struct mafat_network *n, int n_layers, struct mafat_heap *heap)
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
  for (int i = 0; i < n_layers; i++) {
    if (mafat_layer_is_alias(&n->layers[i])) continue;
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[i]); mafat_reads_next(&r);) connect_read(a, n, i, &r);
  }
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
    for (int u = v + 1; a->part[v] == v && !more && u < a->n_operators * MAFAT_N_ACG_AXES; u++) more = a->part[u] == v;
    count += more;
  }
  return count;
}
