/* The automatic flow of fused depthwise tiling (flow.h). Called by search/fdt/fdt.c, whose
 * callbacks make and predict plans. Allocates from flow->heap and frees before it returns. */
#include "search/fdt/flow.h"

#include <string.h>

/* The best paths found for one critical buffer: the paths of the current plan and a new path. */
struct best_paths {
  struct mafat_path paths[MAFAT_MOST_APPLIED];
  int n;             /* number of paths; -1: none found that needs fewer bytes than the current */
  size_t bytes;
  int length, parts; /* numbers of layers and parts of the new path; fewer are better if `bytes` are
                        equal */
};

struct flow_run {
  struct mafat_flow *flow;
  struct best_paths best;
  struct mafat_path found[MAFAT_MOST_PATHS]; /* paths around the tensor that is tried */
  bool *tried; /* [tensor]: it was tried for the current plan */
};

int mafat_path_n_parts(const struct mafat_path *p)
{
  return p->tiling == MAFAT_TILE_BOTH ? p->n * p->n : p->n;
}

struct mafat_span mafat_path_layers(const struct mafat_path *p)
{
  return mafat_span(p->layers[0], p->layers[p->length - 1] + 1);
}

/* ---- candidates ---- */

/* True if all layers between the path's first and last are in the path or are aliases. The split of
 * a spec can only name such a range of layers. */
static bool is_run(const struct mafat_flow *f, const struct mafat_path *p)
{
  for (int i = 1; i < p->length; i++)
    for (int l = p->layers[i - 1] + 1; l < p->layers[i]; l++)
      if (!mafat_layer_is_alias(&f->lines->network->layers[l])) return false;
  return true;
}

/* True if a spec can split the path, and the flow allows its tiling. */
static bool is_wanted(const struct mafat_flow *f, const struct mafat_path *p)
{
  enum mafat_fused_tiling other =
      p->tiling == MAFAT_TILE_DEPTH ? MAFAT_FUSED_FFMT : MAFAT_FUSED_FDT;
  return f->tiling != other && is_run(f, p);
}

/* Writes to `paths`, in the order of layers, the path p and those of the current paths that do not
 * overlap it. Returns their number; 0: there would be more than MAFAT_MOST_APPLIED. */
static int join(const struct mafat_flow *f, const struct mafat_path *p, struct mafat_path *paths)
{
  struct mafat_span own = mafat_path_layers(p);
  int n = 0;
  bool placed = false;
  for (int i = 0; i <= f->n_applied; i++) {
    bool end = i == f->n_applied;
    struct mafat_span other =
        end ? mafat_span(own.end, own.end + 1) : mafat_path_layers(&f->applied[i]);
    if (other.begin < own.end && own.begin < other.end) continue;
    if (n + !placed + !end > MAFAT_MOST_APPLIED) return 0;
    if (!placed && other.begin >= own.end) {
      paths[n++] = *p;
      placed = true;
    }
    if (!end) paths[n++] = f->applied[i];
  }
  return n;
}

static bool is_better(const struct flow_run *r, size_t bytes, int length, int parts)
{
  const struct best_paths *b = &r->best;
  if (b->n < 0 || bytes != b->bytes) return bytes < (b->n < 0 ? r->flow->bytes : b->bytes);
  return length != b->length ? length < b->length : parts < b->parts;
}

static int try_path(struct flow_run *r, const struct mafat_path *p)
{
  struct mafat_flow *f = r->flow;
  struct mafat_path joined[MAFAT_MOST_APPLIED];
  int n = join(f, p, joined), parts = mafat_path_n_parts(p);
  size_t bytes;
  if (n == 0) return MAFAT_OK;
  int code = f->callbacks->measure(f->user, &bytes, joined, n, (long long)p->length * parts);
  if (code || !is_better(r, bytes, p->length, parts)) return code;
  memcpy(r->best.paths, joined, (size_t)n * sizeof *joined);
  r->best.n = n;
  r->best.bytes = bytes;
  r->best.length = p->length;
  r->best.parts = parts;
  return f->callbacks->keep(f->user);
}

static int find_paths(struct flow_run *r, int tensor)
{
  const struct mafat_flow *f = r->flow;
  if (tensor < f->lines->n_layers)
    return mafat_paths_find(r->found, MAFAT_MOST_PATHS, f->lines, tensor);
  return f->of_inputs && mafat_network_is_input(f->lines->network, tensor) &&
                 mafat_path_of_input(&r->found[0], f->lines, tensor)
             ? 1
             : 0;
}

static int try_tensor(struct flow_run *r, int tensor)
{
  const struct mafat_flow *f = r->flow;
  int code = MAFAT_OK, n_paths = find_paths(r, tensor);
  for (int i = 0; i < n_paths; i++) {
    struct mafat_path *p = &r->found[i];
    int most = is_wanted(f, p) ? mafat_path_most_parts(f->lines, p, tensor) : 0;
    for (p->n = MAFAT_LEAST_TILES;
         p->n <= most && code == MAFAT_OK && f->callbacks->may_go_on(f->user); p->n++)
      code = try_path(r, p);
  }
  return code;
}

/* ---- flow ---- */

/* Makes these paths the current ones. The callback `take` makes their plan, which was kept, the
 * current plan. */
static int stand(struct mafat_flow *f, const struct mafat_path *paths, int n, size_t bytes)
{
  if (n > 0) memmove(f->applied, paths, (size_t)n * sizeof *paths);
  f->n_applied = n;
  f->bytes = bytes;
  return f->callbacks->take(f->user);
}

/* Tries paths around the critical tensors, until a path around one of them needs fewer bytes. Skips
 * outputs of the network and tensors that were already tried. */
static int try_critical(struct flow_run *r, const int *tensors, int n)
{
  const struct mafat_flow *f = r->flow;
  const struct mafat_network *network = f->lines->network;
  int code = MAFAT_OK, n_layers = f->lines->n_layers;
  memset(r->tried, 0, (size_t)mafat_network_n_tensors(network) * sizeof *r->tried);
  r->best.n = -1;
  for (int i = 0; i < n && code == MAFAT_OK && r->best.n < 0 && f->callbacks->may_go_on(f->user);
       i++) {
    int t = tensors[i];
    if (t < 0 || r->tried[t] ||
        (!mafat_network_is_input(network, t) && mafat_network_is_output(network, n_layers, t)))
      continue;
    r->tried[t] = true;
    code = try_tensor(r, t);
  }
  return code;
}

int mafat_flow_begin(struct mafat_flow *f, const struct mafat_path *paths, int n)
{
  size_t bytes;
  int code = f->callbacks->measure(f->user, &bytes, paths, n, 0);
  if (code || bytes >= f->bytes) return code;
  code = f->callbacks->keep(f->user);
  return code ? code : stand(f, paths, n, bytes);
}

int mafat_flow_run(struct mafat_flow *f)
{
  struct flow_run *r = mafat_heap_calloc(f->heap, 1, sizeof *r);
  if (!r) return MAFAT_ENOMEM;
  r->flow = f;
  r->tried = mafat_heap_calloc(f->heap, (size_t)mafat_network_n_tensors(f->lines->network),
                               sizeof *r->tried);
  int code = r->tried ? MAFAT_OK : MAFAT_ENOMEM;
  for (bool better = true; code == MAFAT_OK && better;) {
    int *tensors = NULL, n = 0;
    code = f->callbacks->find_critical(f->user, &tensors, &n);
    if (code == MAFAT_OK) code = try_critical(r, tensors, n);
    mafat_heap_free(f->heap, tensors);
    better = code == MAFAT_OK && r->best.n >= 0;
    if (better) code = stand(f, r->best.paths, r->best.n, r->best.bytes);
  }
  mafat_heap_free(f->heap, r->tried);
  mafat_heap_free(f->heap, r);
  return code;
}
