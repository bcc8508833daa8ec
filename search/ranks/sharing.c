/* Distributes layers to several devices: solves the integer programs of DeeperThings (Stahl et al.)
 * by dynamic programming (sharing.h). Called by search/ranks/rank_specs.c. Fills the caller's
 * lists. Temporary memory is in the caller's heap. */
#include "search/ranks/sharing.h"

int mafat_sharing_switch(const struct mafat_rank_layer *list, int n, int n_ranks)
{
  int best = 0;
  for (int from = 1; from <= n; from++)
    if (mafat_ranks_hold(list, n, from, n_ranks) < mafat_ranks_hold(list, n, best, n_ranks))
      best = from;
  return best;
}

/* ---- schemes ---- */

/* State of a layer's input. It depends on the schemes of the layers before. */
enum input_state {
  ON_ROOT,    /* the root (rank 0) has it: any scheme except FUSED_IN is possible */
  EVERYWHERE, /* every rank has all of it: FAN_OUT or FUSED_OUT */
  SLICED,     /* each rank has a slice: FUSED_IN */
  /* it is the output of a fan-out and the root has gathered it: FAN_IN. (If this layer were a
   * fan-out, its input would be EVERYWHERE) */
  GATHERED,
  N_STATES
};

struct sharing_choice {
  uint64_t exchange; /* traffic of this and all later layers, in shares (schemes.h) */
  enum mafat_weight_sharing scheme;
  bool after; /* the layer is a fan-out whose output goes to every rank */
};

static bool may_be(enum input_state state, enum mafat_weight_sharing scheme)
{
  static const unsigned schemes[N_STATES] = {
      [ON_ROOT] = 1u << MAFAT_FAN_OUT | 1u << MAFAT_FAN_IN | 1u << MAFAT_FUSED_OUT,
      [EVERYWHERE] = 1u << MAFAT_FAN_OUT | 1u << MAFAT_FUSED_OUT,
      [SLICED] = 1u << MAFAT_FUSED_IN,
      [GATHERED] = 1u << MAFAT_FAN_IN};
  return schemes[state] >> scheme & 1;
}

static enum input_state after(enum mafat_weight_sharing scheme, bool reused)
{
  if (scheme == MAFAT_FAN_OUT) return reused ? EVERYWHERE : GATHERED;
  return scheme == MAFAT_FUSED_OUT ? SLICED : ON_ROOT;
}

/* True if the output of the last layer may be in this state. */
static bool may_end(enum input_state state)
{
  return state == ON_ROOT || state == GATHERED;
}

static struct sharing_choice choose(const struct mafat_rank_layer *l, enum input_state state,
                                    const struct sharing_choice *next, int n_ranks)
{
  struct sharing_choice best = {.exchange = UINT64_MAX};
  for (int scheme = 0; scheme < MAFAT_N_SCHEMES; scheme++) {
    if (!may_be(state, (enum mafat_weight_sharing)scheme)) continue;
    for (int reused = 0; reused <= (scheme == MAFAT_FAN_OUT); reused++) {
      uint64_t rest = next[after((enum mafat_weight_sharing)scheme, reused)].exchange;
      if (rest == UINT64_MAX) continue;
      rest += mafat_scheme_exchange((enum mafat_weight_sharing)scheme, l, n_ranks,
                                    state == EVERYWHERE, reused);
      if (rest < best.exchange)
        best = (struct sharing_choice){rest, (enum mafat_weight_sharing)scheme, reused};
    }
  }
  return best;
}

int mafat_sharing_schemes(enum mafat_weight_sharing *schemes, uint64_t *exchange,
                          const struct mafat_rank_layer *list, int n, int n_ranks,
                          struct mafat_heap *heap)
{
  struct sharing_choice(*choices)[N_STATES] =
      mafat_heap_calloc(heap, (size_t)n + 1, sizeof *choices);
  if (!choices) return MAFAT_ENOMEM;
  for (int s = 0; s < N_STATES; s++)
    choices[n][s].exchange = may_end((enum input_state)s) ? 0 : UINT64_MAX;
  for (int i = n - 1; i >= 0; i--)
    for (int s = 0; s < N_STATES; s++)
      choices[i][s] = choose(&list[i], (enum input_state)s, choices[i + 1], n_ranks);
  *exchange = choices[0][ON_ROOT].exchange;
  enum input_state state = ON_ROOT;
  for (int i = 0; i < n; i++) {
    const struct sharing_choice *c = &choices[i][state];
    schemes[i] = c->scheme;
    state = after(c->scheme, c->after);
  }
  mafat_heap_free(heap, choices);
  return MAFAT_OK;
}

/* ---- whole layers ---- */

/* Best distributions of the first i of n layers to the first r devices; index r * (n + 1) + i. */
struct sharing_table {
  uint64_t *least; /* the greatest load of a device */
  int *last, n;    /* first layer of the last device; number of layers */
};

/* Load of a range of layers. By memory: the largest input and output of a layer, and all weights,
 * in values. By work: multiplications, in `sum`. */
struct load {
  uint64_t widest, sum;
};

/* Adds a layer to a load, and returns the load as one number. */
static uint64_t add(struct load *load, const struct mafat_rank_layer *l,
                    const struct mafat_sharing_measure *measure)
{
  if (measure->by_work) return load->sum += l->multiplications;
  if (l->in + l->out > load->widest) load->widest = l->in + l->out;
  load->sum += l->weights;
  return load->widest + load->sum;
}

/* Fills the table for r devices. Among equally good distributions, the last device gets the most
 * layers. */
static void fill_row(struct sharing_table *t, const struct mafat_rank_layer *list, int r,
                     const struct mafat_sharing_measure *measure)
{
  uint64_t *row = t->least + (size_t)r * (size_t)(t->n + 1), *before = row - (t->n + 1);
  for (int end = 0; end <= t->n; end++) {
    struct load load = {0, 0};
    row[end] = UINT64_MAX;
    for (int begin = end; begin >= 0; begin--) {
      uint64_t own = begin < end ? add(&load, &list[begin], measure) : 0;
      if (measure->shares) own = (uint64_t)((double)own / measure->shares[r - 1]);
      uint64_t most = own > before[begin] ? own : before[begin];
      if (most > row[end] || most == UINT64_MAX) continue;
      row[end] = most;
      t->last[r * (t->n + 1) + end] = begin;
    }
  }
}

int mafat_sharing_layers(int *bounds, uint64_t *most, const struct mafat_rank_layer *list, int n,
                         int n_ranks, const struct mafat_sharing_measure *measure,
                         struct mafat_heap *heap)
{
  size_t cells = (size_t)(n_ranks + 1) * (size_t)(n + 1);
  struct sharing_table t = {mafat_heap_calloc(heap, cells, sizeof *t.least),
                            mafat_heap_calloc(heap, cells, sizeof *t.last), n};
  bool enough = t.least && t.last;
  if (enough) {
    for (int i = 1; i <= n; i++) t.least[i] = UINT64_MAX; /* no device has any layer */
    for (int r = 1; r <= n_ranks; r++) fill_row(&t, list, r, measure);
    *most = t.least[cells - 1];
    bounds[n_ranks] = n;
    for (int r = n_ranks; r > 0; r--) bounds[r - 1] = t.last[r * (n + 1) + bounds[r]];
  }
  mafat_heap_free(heap, t.least);
  mafat_heap_free(heap, t.last);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}

/* ---- runs, by exchanged values ---- */

/* Best distributions of the first i of n layers to the first r ranks; index r * (n + 1) + i. */
struct run_search {
  const struct mafat_rank_layer *list;
  const bool *shared; /* [layer]: all ranks compute it together */
  uint64_t *least;    /* fewest values that cross between ranks */
  int *last, n;       /* first layer of the last run; number of layers */
};

/* Tries all runs of rank r that begin at layer `begin` and do not exceed the rank's capacity. */
static void extend_run(const struct run_search *s, int r, int begin, uint64_t capacity)
{
  const size_t row = (size_t)(r + 1) * (size_t)(s->n + 1);
  const uint64_t before = s->least[row - (size_t)(s->n + 1) + (size_t)begin];
  uint64_t widest = 0, weights = 0;
  if (before == UINT64_MAX) return;
  for (int end = begin; end <= s->n; end++) {
    if (end > begin && !s->shared[end - 1]) {
      const struct mafat_rank_layer *l = &s->list[end - 1];
      widest = l->in + l->out > widest ? l->in + l->out : widest;
      weights += l->weights;
    }
    if (widest + weights > capacity) return;
    uint64_t crosses = before;
    if (end > begin && r > 0) crosses += s->list[begin].in; /* the input of the run's first layer */
    /* the network's output, sent to rank 0 */
    if (end > begin && r > 0 && end == s->n) crosses += s->list[end - 1].out;
    if (crosses >= s->least[row + (size_t)end]) continue;
    s->least[row + (size_t)end] = crosses;
    s->last[row + (size_t)end] = begin;
  }
}

int mafat_sharing_runs(int *rank, uint64_t *crosses, const struct mafat_rank_layer *list,
                       const bool *shared, int n, int n_ranks, const uint64_t *capacity,
                       struct mafat_heap *heap)
{
  size_t cells = (size_t)(n_ranks + 1) * (size_t)(n + 1);
  struct run_search s = {list, shared, mafat_heap_calloc(heap, cells, sizeof *s.least),
                         mafat_heap_calloc(heap, cells, sizeof *s.last), n};
  int code = s.least && s.last ? MAFAT_OK : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    for (size_t i = 1; i < cells; i++) s.least[i] = UINT64_MAX;
    for (int r = 0; r < n_ranks; r++)
      for (int begin = 0; begin <= n; begin++) extend_run(&s, r, begin, capacity[r]);
    *crosses = s.least[cells - 1];
    if (*crosses == UINT64_MAX) code = MAFAT_ELIMIT;
  }
  for (int r = n_ranks, end = n; r > 0 && code == MAFAT_OK; r--) {
    int begin = s.last[(size_t)r * (size_t)(n + 1) + (size_t)end];
    for (int i = begin; i < end; i++) rank[i] = shared[i] ? -1 : r - 1;
    end = begin;
  }
  mafat_heap_free(heap, s.least);
  mafat_heap_free(heap, s.last);
  return code;
}
