/* Makes the table of spans (spans.h): for each span, number of rows, greatest algorithm and weight
 * placement, adds up the costs of the span's blocks. Called by search/best/proposer.c. Allocates
 * from request->options->heap. */
#include "search/best/spans.h"

#include <math.h>
#include <string.h>

/* values of mafat_span_option.loaded_kb that are tried */
static const short thresholds_kb[] = {1200, 600, 300, 150};

enum {
  N_THRESHOLDS = sizeof thresholds_kb / sizeof *thresholds_kb,
  /* all weights kept; all loaded; layers up to a threshold loaded, larger ones streamed (one rule
   * for each threshold); all streamed */
  N_PLACEMENT_RULES = 3 + N_THRESHOLDS,
  MAX_ROWS = 16,
  MAX_OPTIONS = MAX_ROWS * MAFAT_N_CHOICES * N_PLACEMENT_RULES
};

/* Contribution of one block to a group by rows. */
struct block_cost {
  float ns, reading_ns;        /* times of computing, and of reading weights */
  float windows;               /* bytes of the rows that are kept of the block's maps */
  float loaded, scratch, kept; /* bytes of loaded weights; of the largest scratch of a layer; of
                                  kept weights */
};

int mafat_spans_cut_candidate(const struct mafat_costs *c, int rows, bool streamed)
{
  for (int w = 0; w < c->n_cut_candidates; w++)
    if (c->cut_candidates[w].cut == MAFAT_CANDIDATE_ROWS && c->cut_candidates[w].rows == rows &&
        c->cut_candidates[w].streamed == streamed)
      return w;
  return 0;
}

enum mafat_weight_placement mafat_spans_weight_placement(const struct mafat_costs *c,
                                                         const struct mafat_span_option *o,
                                                         int layer)
{
  if (o->placement_rule == MAFAT_PLACE_KEPT) return MAFAT_KEPT;
  if (o->placement_rule == MAFAT_PLACE_LOADED) return MAFAT_LOADED;
  bool loaded =
      mafat_cost_of(c, mafat_spans_cut_candidate(c, o->rows, true), MAFAT_DIRECT, layer)->loaded ||
      (o->placement_rule == MAFAT_PLACE_SMALL_LOADED &&
       c->weights_bytes[layer] <= (float)o->loaded_kb * 1024);
  return loaded ? MAFAT_LOADED : MAFAT_STREAMED;
}

/* State of making the table. */
struct builder {
  const struct mafat_costs *costs;
  const struct mafat_search_request *request;
  struct mafat_spans *spans;
  /* (n_rows) indices of the candidates by rows with kept or loaded weights, and of the candidates
   * with the same numbers of rows and streamed weights */
  int cut_candidates[MAX_ROWS], streamed_candidates[MAX_ROWS], n_rows;
  int n_placement_rules;     /* 1: all weights are kept */
  struct block_cost *blocks; /* [rows][most - MAFAT_DIRECT][placement rule][block] */
  bool *indivisible; /* [block]: it has a layer that cannot be split by rows, so no span has it */
  float *whole;      /* [begin][end]: bytes of whole maps that the span makes for later readers */
  float *before;     /* [begin]: bytes of maps that earlier blocks make and that are read at or
                        after block `begin` */
  int n_options, capacity;
};

/* The last algorithm of the table of costs. */
static int last_algorithm(const struct mafat_costs *c)
{
  return MAFAT_DIRECT + (int)mafat_costs_choices(c) - 1;
}

static struct block_cost *block_at(const struct builder *b, int rows, int most, int placement_rule,
                                   int block)
{
  size_t algorithm = (size_t)(most - MAFAT_DIRECT), n = mafat_costs_choices(b->costs);
  return &b->blocks[(((size_t)rows * n + algorithm) * N_PLACEMENT_RULES + (size_t)placement_rule) *
                        (size_t)b->costs->n_blocks +
                    (size_t)block];
}

static void list_cut_candidates(struct builder *b)
{
  for (int w = 0; w < b->costs->n_cut_candidates; w++) {
    const struct mafat_cut_candidate *cut_candidate = &b->costs->cut_candidates[w];
    if (cut_candidate->cut != MAFAT_CANDIDATE_ROWS) continue;
    if (!cut_candidate->streamed) b->cut_candidates[b->n_rows++] = w;
    else {
      b->n_placement_rules = N_PLACEMENT_RULES;
      for (int r = 0; r < b->n_rows; r++)
        if (b->costs->cut_candidates[b->cut_candidates[r]].rows == cut_candidate->rows)
          b->streamed_candidates[r] = w;
    }
  }
}

/* ---- blocks ---- */

/* Returns an option with this number of rows and placement rule number `number`. Its costs are
 * 0. */
static struct mafat_span_option placement_rule_of(int rows, int number)
{
  struct mafat_span_option o = {.rows = (short)rows, .placement_rule = MAFAT_PLACE_STREAMED};
  if (number < 2) o.placement_rule = (unsigned char)number;
  else if (number - 2 < N_THRESHOLDS) o.placement_rule = MAFAT_PLACE_SMALL_LOADED;
  if (o.placement_rule == MAFAT_PLACE_SMALL_LOADED) o.loaded_kb = thresholds_kb[number - 2];
  return o;
}

static void add_layer(const struct builder *b, struct block_cost *block, int rows,
                      enum mafat_algorithm most, int placement_rule, int layer)
{
  const struct mafat_costs *c = b->costs;
  const struct mafat_calibration *k = b->request->calibration;
  bool packed = b->request->options->packed;
  float weights = c->weights_bytes[layer];
  struct mafat_span_option option =
      placement_rule_of(c->cut_candidates[b->cut_candidates[rows]].rows, placement_rule);
  enum mafat_weight_placement placement = mafat_spans_weight_placement(c, &option, layer);
  int cut_candidate =
      placement == MAFAT_STREAMED ? b->streamed_candidates[rows] : b->cut_candidates[rows];
  const struct mafat_layer_cost *taken =
      mafat_cost_of(c, cut_candidate, mafat_cost_fastest(c, cut_candidate, most, layer), layer);
  /* The rows kept are those for algorithm `most`, even if this layer uses another one: they depend
   * on the layers that read the map, and Winograd needs more rows. */
  block->windows += mafat_cost_of(c, cut_candidate, most, layer)->held_bytes;
  float reads = placement == MAFAT_STREAMED ? taken->reads : placement == MAFAT_LOADED ? 1 : 0;
  float copying = !packed ? (float)k->pack_ns : placement == MAFAT_LOADED ? (float)k->copy_ns : 0;
  block->ns += taken->ns + reads * weights * copying;
  block->reading_ns += reads * weights * (float)k->disk_ns;
  if (placement == MAFAT_LOADED) block->loaded += weights;
  if (placement == MAFAT_KEPT) block->kept += weights;
  if (taken->scratch_bytes > block->scratch) block->scratch = taken->scratch_bytes;
}

static void add_blocks(struct builder *b)
{
  const struct mafat_costs *c = b->costs;
  for (int block = 0; block < c->n_blocks; block++)
    for (int l = c->cuts[block]; l < c->cuts[block + 1]; l++) {
      if (c->indivisible[l]) b->indivisible[block] = true;
      if (!c->runs[l]) continue;
      for (int rows = 0; rows < b->n_rows; rows++)
        for (int most = MAFAT_DIRECT; most <= last_algorithm(c); most++)
          for (int placement_rule = 0; placement_rule < b->n_placement_rules; placement_rule++)
            add_layer(b, block_at(b, rows, most, placement_rule, block), rows,
                      (enum mafat_algorithm)most, placement_rule, l);
    }
}

/* ---- maps that outlive a span ---- */

static int block_of(const struct mafat_costs *c, int layer)
{
  int block = 0;
  while (c->cuts[block + 1] <= layer) block++;
  return block;
}

/* True if a group by rows keeps all rows of the map; then block_cost.windows includes them. */
static bool is_held_whole(const struct builder *b, int tensor)
{
  const struct mafat_network *n = b->costs->network;
  int layer = mafat_network_operator(n, tensor);
  float whole = 0;
  for (int k = 0; k < mafat_layer_n_outputs(&n->layers[layer]); k++)
    whole += b->costs->map_bytes[mafat_network_output(n, layer, k)];
  return mafat_cost_of(b->costs, b->cut_candidates[0], MAFAT_DIRECT, layer)->held_bytes >=
         0.99f * whole;
}

static void add_outliving(struct builder *b)
{
  const struct mafat_costs *c = b->costs;
  int n = c->n_blocks;
  for (int t = 0; t < mafat_network_n_tensors(c->network); t++) {
    if (c->map_bytes[t] == 0 || c->last_use[t] < 0) continue;
    int made = mafat_network_is_input(c->network, t)
                   ? -1
                   : block_of(c, mafat_network_operator(c->network, t));
    int used = c->last_use[t] >= c->n_layers ? n : block_of(c, c->last_use[t]);
    for (int begin = made + 1; begin <= used && begin < n; begin++)
      b->before[begin] += c->map_bytes[t];
    for (int begin = 0; begin <= made && !is_held_whole(b, t); begin++)
      for (int end = made + 1; end <= (used < n ? used : n); end++)
        b->whole[begin * (n + 1) + end] += c->map_bytes[t];
  }
}

/* ---- options of a span ---- */

/* True if a needs no more arena bytes, kept bytes and time than b, up to 0.2 % of the time. */
static bool beats(const struct mafat_span_option *a, const struct mafat_span_option *b)
{
  return a->ns <= b->ns * 1.002f && a->bytes <= b->bytes && a->kept_bytes <= b->kept_bytes;
}

/* Adds an option to a span's list unless an option in the list beats it, and removes options that
 * it beats. Returns the new length of the list. */
static int put(struct mafat_span_option *list, int n, const struct mafat_span_option *option)
{
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (beats(&list[i], option)) return n;
  for (int i = 0; i < n; i++)
    if (!beats(option, &list[i])) list[kept++] = list[i];
  list[kept++] = *option;
  return kept;
}

static void add(struct block_cost *sum, const struct block_cost *block)
{
  sum->ns += block->ns;
  sum->reading_ns += block->reading_ns;
  sum->windows += block->windows;
  sum->loaded += block->loaded;
  sum->kept += block->kept;
  if (block->scratch > sum->scratch) sum->scratch = block->scratch;
}

static int append(struct builder *b, const struct mafat_span_option *list, int n)
{
  if (n == 0) return MAFAT_OK;
  if (b->n_options + n > b->capacity) {
    int capacity = b->capacity + b->capacity / 4 + n + 1024;
    struct mafat_span_option *grown =
        mafat_heap_realloc(b->spans->heap, b->spans->options, (size_t)capacity * sizeof *grown);
    if (!grown) return MAFAT_ENOMEM;
    b->spans->options = grown;
    b->capacity = capacity;
  }
  memcpy(b->spans->options + b->n_options, list, (size_t)n * sizeof *list);
  b->n_options += n;
  return MAFAT_OK;
}

/* Makes the options of all spans that begin at a block. Each span has one block more than the span
 * before, so its costs are added to the same sums. */
static int build_from(struct builder *b, int begin)
{
  enum { N = MAX_ROWS * MAFAT_N_CHOICES * N_PLACEMENT_RULES };
  struct block_cost sums[N];
  int n = b->costs->n_blocks;
  memset(sums, 0, sizeof sums);
  bool open = true;
  for (int end = begin + 1; end <= n; end++) {
    struct mafat_span_option list[MAX_OPTIONS];
    int count = 0, at = 0;
    b->spans->at[begin * (n + 1) + end] = b->n_options;
    open = open && !b->indivisible[end - 1];
    for (int rows = 0; open && rows < b->n_rows; rows++)
      for (int most = last_algorithm(b->costs); most >= MAFAT_DIRECT; most--)
        for (int placement_rule = 0; placement_rule < b->n_placement_rules; placement_rule++) {
          struct block_cost *sum = &sums[at++];
          add(sum, block_at(b, rows, most, placement_rule, end - 1));
          struct mafat_span_option option = placement_rule_of(
              b->costs->cut_candidates[b->cut_candidates[rows]].rows, placement_rule);
          option.bytes = sum->windows + sum->loaded + sum->scratch +
                         b->whole[begin * (n + 1) + end] + (begin ? b->before[begin] : 0);
          option.kept_bytes = sum->kept;
          option.ns = (float)mafat_spans_overlap(sum->ns, sum->reading_ns);
          option.most = (unsigned char)most;
          if (isfinite(option.ns)) count = put(list, count, &option);
        }
    if (append(b, list, count)) return MAFAT_ENOMEM;
  }
  return MAFAT_OK;
}

static int build(struct builder *b)
{
  struct mafat_heap *heap = b->spans->heap;
  int n = b->costs->n_blocks;
  list_cut_candidates(b);
  b->blocks = mafat_heap_calloc(
      heap, (size_t)b->n_rows * mafat_costs_choices(b->costs) * N_PLACEMENT_RULES * (size_t)n,
      sizeof *b->blocks);
  b->indivisible = mafat_heap_calloc(heap, (size_t)n, sizeof *b->indivisible);
  b->whole = mafat_heap_calloc(heap, (size_t)n * (size_t)(n + 1), sizeof *b->whole);
  b->before = mafat_heap_calloc(heap, (size_t)n + 1, sizeof *b->before);
  b->spans->at = mafat_heap_calloc(heap, (size_t)n * (size_t)(n + 1) + 1, sizeof *b->spans->at);
  b->spans->n_blocks = n;
  if (!b->blocks || !b->indivisible || !b->whole || !b->before || !b->spans->at)
    return MAFAT_ENOMEM;
  add_blocks(b);
  add_outliving(b);
  for (int begin = 0; begin < n; begin++) {
    for (int end = 0; end <= begin; end++) b->spans->at[begin * (n + 1) + end] = b->n_options;
    if (build_from(b, begin)) return MAFAT_ENOMEM;
  }
  b->spans->at[n * (n + 1)] = b->n_options;
  return MAFAT_OK;
}

int mafat_spans_make(struct mafat_spans **out, const struct mafat_costs *costs,
                     const struct mafat_search_request *r)
{
  struct builder b = {.costs = costs, .request = r, .n_placement_rules = 1};
  struct mafat_heap *heap = r->options->heap;
  *out = NULL;
  b.spans = mafat_heap_calloc(heap, 1, sizeof *b.spans);
  if (b.spans) b.spans->heap = heap;
  int code = b.spans ? build(&b) : MAFAT_ENOMEM;
  mafat_heap_free(heap, b.blocks);
  mafat_heap_free(heap, b.indivisible);
  mafat_heap_free(heap, b.whole);
  mafat_heap_free(heap, b.before);
  if (code == MAFAT_OK) *out = b.spans;
  else mafat_spans_close(&b.spans);
  return code;
}

void mafat_spans_close(struct mafat_spans **spans)
{
  if (!spans || !*spans) return;
  struct mafat_heap *heap = (*spans)->heap;
  mafat_heap_free(heap, (*spans)->options);
  mafat_heap_free(heap, (*spans)->at);
  mafat_heap_free(heap, *spans);
  *spans = NULL;
}
