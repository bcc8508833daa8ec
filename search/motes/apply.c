/* Makes a spec from partition schemes (apply.h). First finds the nodes: sets of layers that must
 * run together. Then orders nodes and other layers, and makes each node a split group. Called by
 * search/motes (state.c, motes.c). Allocates from the caller's heap; the caller closes the spec. */
#include "search/motes/apply.h"

#include "base/blocks.h"

/* from this number of groups on, groups of whole maps need not end with cells */
enum { MOST_GROUPS = 512 };

/* State of making a spec. A node is a set of layers that run together; its number is that of one of
 * its schemes. Other layers have the node -1. */
struct applying {
  const struct mafat_network *network;
  int n_layers;
  const struct mafat_scheme *const *schemes;
  int n; /* number of schemes */
  /* [scheme]: union-find of schemes that run together; the smallest one is the node's number */
  int together[MAFAT_MOST_SCHEMES];
  int *scheme_of; /* [layer]: a scheme of its node; -1: it is in no node */
  const int *cell_of; /* [layer]: its cell; groups of whole maps end with cells; NULL: no cells */
  int cell;           /* cell of the layer that was added last */
  bool apart;         /* see mafat_schemes_apply */
  /* [layer], for the node that close_node works on. below: the layer reads outputs of the node,
   * directly or through other layers. above: the node reads outputs of the layer in this way */
  bool *below, *above;
  bool busy[MAFAT_MOST_SCHEMES];  /* [node]: emit_node has begun; used to detect cycles */
  int *group_of;  /* [layer]: its group; -1: none yet */
  int node_at[2 * MOST_GROUPS]; /* [group]: its node; -1: a group of whole maps */
  int n_groups;
  struct mafat_spec *spec;
  struct mafat_heap *heap;
};

bool mafat_scheme_holds(const struct mafat_scheme *s, int layer)
{
  int low = 0, high = s->n_layers;
  while (low < high) {
    int middle = (low + high) / 2;
    if (s->layers[middle] < layer) low = middle + 1;
    else high = middle;
  }
  return low < s->n_layers && s->layers[low] == layer;
}

bool mafat_schemes_clash(const struct mafat_scheme *a, const struct mafat_scheme *b)
{
  for (int i = 0; a->axis == b->axis && i < a->n_layers; i++)
    if (mafat_scheme_holds(b, a->layers[i])) return true;
  return false;
}

/* ---- nodes ---- */

static int root_of(const struct applying *a, int scheme)
{
  while (scheme >= 0 && a->together[scheme] != scheme) scheme = a->together[scheme];
  return scheme;
}

static void unite(struct applying *a, int one, int other)
{
  one = root_of(a, one);
  other = root_of(a, other);
  if (one < other) a->together[other] = one;
  else a->together[one] = other;
}

static void put(struct applying *a, int layer, int scheme)
{
  if (a->scheme_of[layer] >= 0) unite(a, a->scheme_of[layer], scheme);
  else a->scheme_of[layer] = scheme;
}

static int node_of(const struct applying *a, int layer)
{
  return root_of(a, a->scheme_of[layer]);
}

/* The first scheme that splits the layer along the axis; -1: none. */
static int cutter_of(const struct applying *a, int layer, enum mafat_split_axis axis)
{
  for (int s = 0; s < a->n; s++)
    if (a->schemes[s]->axis == axis && mafat_scheme_holds(a->schemes[s], layer)) return s;
  return -1;
}

/* Puts the layers of a scheme into a node and, unless a->apart, unites the scheme with schemes of
 * the same axis whose outputs it reads. */
static void join_scheme(struct applying *a, int scheme)
{
  const struct mafat_scheme *s = a->schemes[scheme];
  for (int i = 0; i < s->n_layers; i++) {
    put(a, s->layers[i], scheme);
    for (struct mafat_reads r = mafat_layer_reads(&a->network->layers[s->layers[i]]);
         !a->apart && mafat_reads_next(&r);) {
      int t = mafat_network_operator(a->network, r.source->tensor);
      int other = t < a->n_layers && a->scheme_of[t] >= 0 ? cutter_of(a, t, s->axis) : -1;
      if (other >= 0) unite(a, scheme, other);
    }
  }
}

/* Adds to a node the layers between its layers: those that read outputs of the node and whose
 * outputs the node reads. Returns true if there are any. */
static bool close_node(struct applying *a, int node)
{
  const struct mafat_layer *layers = a->network->layers;
  bool any = false;
  for (int l = 0; l < a->n_layers; l++) {
    a->below[l] = a->above[l] = false;
    for (struct mafat_reads r = mafat_layer_reads(&layers[l]);
         mafat_reads_next(&r) && !a->below[l];) {
      int maker = mafat_network_operator(a->network, r.source->tensor);
      a->below[l] = maker < l && (a->below[maker] || node_of(a, maker) == node);
    }
  }
  for (int l = a->n_layers - 1; l >= 0; l--)
    for (struct mafat_reads r = mafat_layer_reads(&layers[l]); mafat_reads_next(&r);) {
      int maker = mafat_network_operator(a->network, r.source->tensor);
      if (maker < l && (a->above[l] || node_of(a, l) == node)) a->above[maker] = true;
    }
  for (int l = 0; l < a->n_layers; l++) {
    if (!a->below[l] || !a->above[l] || node_of(a, l) == node || mafat_layer_is_alias(&layers[l]))
      continue;
    put(a, l, node);
    node = root_of(a, node);
    any = true;
  }
  return any;
}

static void find_nodes(struct applying *a)
{
  for (int l = 0; l < a->n_layers; l++) a->scheme_of[l] = -1;
  for (int s = 0; s < a->n; s++) a->together[s] = s;
  for (int pass = 0; pass < 2; pass++) /* the second pass knows the splits of all layers */
    for (int s = 0; s < a->n; s++) join_scheme(a, s);
  for (bool any = true; any;) {
    any = false;
    for (int s = 0; s < a->n; s++)
      if (a->together[s] == s) any = close_node(a, s) || any;
  }
}

/* ---- order of groups ---- */

static int emit(struct applying *a, int layer);

/* Emits (adds to groups) the operands of a layer that are not in the layer's node. */
static int emit_sources(struct applying *a, int layer)
{
  int code = MAFAT_OK, node = node_of(a, layer);
  for (struct mafat_reads r = mafat_layer_reads(&a->network->layers[layer]);
       code == MAFAT_OK && mafat_reads_next(&r);) {
    int t = mafat_network_operator(a->network, r.source->tensor);
    if (t < a->n_layers && (node < 0 || node_of(a, t) != node)) code = emit(a, t);
  }
  return code;
}

/* Emits the operands of a node, then the node as a group. Returns MAFAT_EINVAL if an operand needs
 * the node itself. */
static int emit_node(struct applying *a, int node)
{
  int code = MAFAT_OK;
  if (a->busy[node]) return MAFAT_EINVAL;
  a->busy[node] = true;
  for (int l = 0; l < a->n_layers && code == MAFAT_OK; l++)
    if (node_of(a, l) == node) code = emit_sources(a, l);
  for (int l = 0; l < a->n_layers && code == MAFAT_OK; l++)
    if (node_of(a, l) == node) a->group_of[l] = a->n_groups;
  if (code == MAFAT_OK) a->node_at[a->n_groups++] = node;
  return code;
}

/* Emits a layer after its operands. A layer without a node joins the last group if that is a group
 * of whole maps of the same cell; otherwise it begins a group. An alias always joins the last
 * group. */
static int emit(struct applying *a, int layer)
{
  int node = node_of(a, layer);
  bool alias = mafat_layer_is_alias(&a->network->layers[layer]);
  if (a->group_of[layer] >= 0) return MAFAT_OK;
  if (node >= 0) return emit_node(a, node);
  int code = emit_sources(a, layer);
  if (code) return code;
  bool begins = a->n_groups == 0 || (!alias && (a->node_at[a->n_groups - 1] >= 0 ||
                                                (a->cell_of && a->cell_of[layer] != a->cell)));
  if (begins && a->n_groups >= MOST_GROUPS) begins = a->node_at[a->n_groups - 1] >= 0;
  if (begins) a->node_at[a->n_groups++] = -1;
  if (!alias && a->cell_of) a->cell = a->cell_of[layer];
  a->group_of[layer] = a->n_groups - 1;
  return MAFAT_OK;
}

/* Emits all layers cell by cell; then the aliases, which are in no cell. */
static int emit_all(struct applying *a)
{
  int code = MAFAT_OK, last = 0;
  for (int l = 0; l < a->n_layers; l++) {
    a->group_of[l] = -1;
    if (a->cell_of) last = mafat_max(last, a->cell_of[l]);
  }
  for (int cell = 0; cell <= last && code == MAFAT_OK; cell++)
    for (int l = 0; l < a->n_layers && code == MAFAT_OK; l++)
      if (!a->cell_of || a->cell_of[l] == cell) code = emit(a, l);
  for (int l = 0; l < a->n_layers && code == MAFAT_OK; l++) code = emit(a, l);
  return code;
}

/* ---- spec ---- */

/* Adds a split of a range of layers by a scheme. */
static int add_split(struct applying *a, struct mafat_group_spec *g, const struct mafat_scheme *s,
                     struct mafat_span layers)
{
  struct mafat_splits *splits = &g->cut.as.split;
  struct mafat_split *grown =
      mafat_heap_realloc(a->heap, splits->list, (size_t)(splits->n + 1) * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  splits->list = grown;
  grown[splits->n++] = (struct mafat_split){.axis = s->axis, .n = s->n, .layers = layers};
  return MAFAT_OK;
}

/* Adds the splits of a scheme: one for each run of its layers without other layers of the group in
 * between. */
static int add_splits(struct applying *a, struct mafat_group_spec *g, int group,
                      const struct mafat_scheme *s)
{
  int first = -1, last = -1, code = MAFAT_OK;
  for (int l = s->layers[0]; l <= s->layers[s->n_layers - 1] && code == MAFAT_OK; l++) {
    bool held = mafat_scheme_holds(s, l);
    if (held && first < 0) first = l;
    if (held) last = l;
    if (held || first < 0 || a->group_of[l] != group ||
        mafat_layer_is_alias(&a->network->layers[l]))
      continue;
    code = add_split(a, g, s, mafat_span(first, last + 1));
    first = -1;
  }
  return code || first < 0 ? code : add_split(a, g, s, mafat_span(first, last + 1));
}

static int add_group(struct applying *a, int group, bool direct)
{
  struct mafat_group_spec *g = mafat_spec_add(a->spec);
  int code = MAFAT_OK;
  if (!g) return MAFAT_ENOMEM;
  g->algorithms[MAFAT_DIRECT].given = direct; /* the algorithm that needs the fewest bytes */
  if (a->node_at[group] >= 0) g->cut = (struct mafat_cut){.kind = MAFAT_CUT_SPLIT};
  for (int s = 0; s < a->n && code == MAFAT_OK; s++)
    if (a->node_at[group] >= 0 && root_of(a, s) == a->node_at[group])
      code = add_splits(a, g, group, a->schemes[s]);
  return code ? code : mafat_group_spec_set_layers(a->heap, g, group, a->group_of, a->n_layers);
}

static int make_spec(struct applying *a, bool direct)
{
  int code = (a->spec = mafat_spec_new(a->heap)) ? MAFAT_OK : MAFAT_ENOMEM;
  for (int g = 0; g < a->n_groups && code == MAFAT_OK; g++) code = add_group(a, g, direct);
  if (code == MAFAT_OK) a->spec->groups[a->n_groups - 1].end = 0;
  return code;
}

static int apply(struct applying *a, bool direct)
{
  int code = MAFAT_OK;
  find_nodes(a);
  code = emit_all(a);
  return code ? code : make_spec(a, direct);
}

int mafat_schemes_apply(struct mafat_spec **out, const struct mafat_network *network, int n_layers,
                        const struct mafat_scheme *const *schemes, int n, const int *cell_of,
                        bool apart, bool direct, struct mafat_heap *heap)
{
  struct applying a = {.network = network,
                       .n_layers = n_layers,
                       .schemes = schemes,
                       .n = n,
                       .cell_of = cell_of,
                       .cell = -1,
                       .apart = apart,
                       .heap = heap};
  *out = NULL;
  a.scheme_of = mafat_heap_calloc(heap, 2 * (size_t)n_layers, sizeof *a.scheme_of);
  a.below = mafat_heap_calloc(heap, 2 * (size_t)n_layers, sizeof *a.below);
  int code = a.scheme_of && a.below ? MAFAT_OK : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    a.group_of = a.scheme_of + n_layers;
    a.above = a.below + n_layers;
    code = apply(&a, direct);
  }
  mafat_heap_free(heap, a.scheme_of);
  mafat_heap_free(heap, a.below);
  if (code) mafat_spec_close(&a.spec);
  *out = a.spec;
  return code;
}
