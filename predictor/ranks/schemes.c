/* Evaluates the formulas of schemes.h. Called by search/ranks/ and api/rank_dry_run.c. Allocates
 * the list of layers, which the caller closes; other functions touch only their arguments. Numbers
 * in parentheses are the numbers of formulas in the thesis that schemes.h names. */
#include "predictor/ranks/schemes.h"

#include "predictor/plan/packing.h"

/* ---- layers ---- */

static uint64_t values(struct mafat_shape s)
{
  return (uint64_t)s.h * (uint64_t)s.w * (uint64_t)s.c;
}

/* Each weight is used once for each output pixel, so a layer has as many weights as
 * multiply-adds divided by output pixels. */
static struct mafat_rank_layer describe(const struct mafat_layer *l, int number)
{
  uint64_t pixels = (uint64_t)l->out.h * (uint64_t)l->out.w, macs = mafat_layer_macs(l, pixels);
  return (struct mafat_rank_layer){.layer = number,
                                   .in = values(l->in),
                                   .out = values(l->out),
                                   .weights = macs / pixels,
                                   .multiplications = macs};
}

int mafat_rank_layers_find(struct mafat_rank_layers *out, const struct mafat_network *n,
                           int n_layers, bool connected, struct mafat_heap *heap)
{
  uint64_t sum = 0, most = UINT64_MAX / 4 / MAFAT_MOST_RANKS;
  *out = (struct mafat_rank_layers){
      .heap = heap, .list = mafat_heap_calloc(heap, (size_t)n_layers, sizeof *out->list)};
  if (!out->list) return MAFAT_ENOMEM;
  for (int i = 0; i < n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    if (!mafat_layer_has_panels(l) || (mafat_layer_is_flat(l) && !connected)) continue;
    struct mafat_rank_layer layer = describe(l, i);
    if (layer.in > most || layer.out > most || layer.weights > most) return MAFAT_ELIMIT;
    if ((sum += layer.in + layer.out + layer.weights) > most) return MAFAT_ELIMIT;
    out->list[out->n++] = layer;
  }
  return MAFAT_OK;
}

void mafat_rank_layers_close(struct mafat_rank_layers *layers)
{
  mafat_heap_free(layers->heap, layers->list);
  *layers = (struct mafat_rank_layers){.list = NULL};
}

/* ---- traffic ---- */

const char *mafat_scheme_name(enum mafat_weight_sharing scheme)
{
  static const char *const names[MAFAT_N_SCHEMES] = {"fan-out", "fan-in", "fused-out", "fused-in"};
  return names[scheme];
}

bool mafat_scheme_reuses(enum mafat_weight_sharing scheme, enum mafat_weight_sharing next)
{
  return scheme == MAFAT_FAN_OUT && (next == MAFAT_FAN_OUT || next == MAFAT_FUSED_OUT);
}

/* (5.8), (5.9), (5.11). If output channels are divided, the input is broadcast, unless every rank
 * has it, and the output is gathered. If input channels are divided, the input is scattered, and
 * each rank's sums of the whole output are gathered. */
uint64_t mafat_scheme_exchange(enum mafat_weight_sharing scheme, const struct mafat_rank_layer *l,
                               int n_ranks, bool before, bool after)
{
  uint64_t others = (uint64_t)n_ranks - 1, all = others * (uint64_t)n_ranks;
  uint64_t broadcast = before ? 0 : l->in * all;
  switch (scheme) {
  case MAFAT_FAN_OUT: return broadcast + l->out * (after ? all : others);
  case MAFAT_FAN_IN: return l->in * others + l->out * all;
  case MAFAT_FUSED_OUT: return broadcast;
  default: return l->out * all;
  }
}

uint64_t mafat_schemes_exchange(const enum mafat_weight_sharing *schemes,
                                const struct mafat_rank_layer *list, int n, int n_ranks)
{
  uint64_t sum = 0;
  bool before = false;
  for (int i = 0; i < n; i++) {
    bool after = i + 1 < n && mafat_scheme_reuses(schemes[i], schemes[i + 1]);
    sum += mafat_scheme_exchange(schemes[i], &list[i], n_ranks, before, after);
    before = after;
  }
  return sum;
}

/* ---- memory ---- */

/* (5.12) */
uint64_t mafat_ranks_hold(const struct mafat_rank_layer *list, int n, int from, int n_ranks)
{
  uint64_t ranks = (uint64_t)n_ranks, widest = 0, weights = 0;
  for (int i = 0; i < n; i++) {
    uint64_t maps = (list[i].in + list[i].out) * (i < from ? 1 : ranks);
    if (maps > widest) widest = maps;
    weights += list[i].weights * (i < from ? ranks : 1);
  }
  return widest + weights;
}

uint64_t mafat_ranks_hold_whole(const struct mafat_rank_layer *list, int begin, int end)
{
  uint64_t widest = 0, weights = 0;
  for (int i = begin; i < end; i++) {
    if (list[i].in + list[i].out > widest) widest = list[i].in + list[i].out;
    weights += list[i].weights;
  }
  return widest + weights;
}

uint64_t mafat_ranks_hand_on(const struct mafat_rank_layer *list, const int *bounds, int n_ranks)
{
  uint64_t sum = 0;
  for (int r = 1; r < n_ranks; r++)
    if (bounds[r] > bounds[r - 1] && bounds[r] < bounds[n_ranks]) sum += list[bounds[r]].in;
  return sum;
}
