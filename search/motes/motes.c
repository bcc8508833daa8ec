/* The search "motes": a beam search over partition schemes, cell by cell. Called by
 * search/smallest/smallest.c, and by api/ through search/searches.c. Allocates from a heap of its
 * own, which it frees; the caller closes the front. Runs plans if the request has a timer. */
#include "search/motes/motes.h"

#include "search/common/effort.h"
#include "search/motes/cells.h"
#include "search/motes/schemes.h"
#include "search/motes/seen.h"
#include "search/motes/state.h"

#include <string.h>

enum { DELTA, MEASURE, BEAM, CELLS, N_WORDS };

#define WORD MAFAT_SEARCH_WORD
static const struct mafat_search_word words[N_WORDS] = {
    WORD(DELTA, "delta", NUMBER, "X", "1.05", 1, 1000,
         "limit of the plan's time, in multiples of the time of the plan\n"
         "with whole maps\n"),
    WORD(MEASURE, "measure", FLAG, NULL, NULL, 0, 0,
         "measure times by running plans on zeros, instead of predicting\n"
         "them; runs whole maps first, also with --predict; is slower, see\n"
         "--plan-time, and needs memory, which is predicted\n"),
    WORD(BEAM, "beam", COUNT, "N", "8", 1, 64,
         "number of states that it keeps\n"),
    WORD(CELLS, "cells", TEXT, "N,N,...", NULL, 0, 0,
         "layers with which the network's cells begin; default: found\n"
         "from its graph\n")};
#undef WORD

enum {
  MOST_EVALUATIONS = 12000000, /* default effort, in layers (common/effort.h) */
  MOST_PASSES = 6       /* greatest number of passes over all cells */
};

struct beam_search {
  const struct mafat_search_request *request;
  struct mafat_heap *heap;
  struct mafat_motes_meter meter;
  struct mafat_search_value words[N_WORDS];
  /* capacity of the beam, in states: the option "beam"; the one of the current search */
  int most, width;
  struct mafat_motes_state *beam, *old;  /* (n_beam), (n_old) states, sorted by is_less */
  int n_beam, n_old;
  struct mafat_motes_state best;         /* best state with offsets so far; ms 0: none yet */
  struct mafat_cells *cells;
  bool *opened;              /* [cell]: it was tried in this pass */
  bool *bottlenecks;         /* [tensor]: it is in use at the peak of the best state */
  bool *within;              /* [layer]: it is in the current cell */
  struct mafat_scheme_families families; /* of the current cell */
  int **kept;                /* (n_kept) lists of layers that states refer to */
  int n_kept;
  struct mafat_motes_seen seen; /* states tried with the current width of the beam */
  double limit_ms;           /* greatest time of a plan, in ms */
  struct mafat_diagnostic *d;
};

static bool may_go_on(const struct beam_search *s)
{
  return mafat_effort_left(s->request, s->meter.evaluations);
}

/* True if a is better than b. If both are within the time limit, the one with fewer bytes is
 * better, then the one with the smaller tie-break, then the faster one. Otherwise the faster one is
 * better, then the one with fewer bytes. The tie-break is smaller if fewer layers are near the
 * peak: if several cells are equally full, each has to be improved before the bytes get fewer. */
static bool is_less(const struct beam_search *s, const struct mafat_motes_state *a,
                    const struct mafat_motes_state *b)
{
  bool both = a->ms <= s->limit_ms && b->ms <= s->limit_ms;
  if (both && a->bytes != b->bytes) return a->bytes < b->bytes;
  if (both && (a->tie_break < b->tie_break || a->tie_break > b->tie_break))
    return a->tie_break < b->tie_break;
  if (a->ms < b->ms || a->ms > b->ms) return a->ms < b->ms;
  return a->bytes < b->bytes;
}

/* ---- beam ---- */

static bool is_measured(const struct beam_search *s) { return s->request->timer.time; }

/* True if both states have the same bytes, tie-break and predicted time. Measured times are
 * ignored, because they are never the same. */
static bool are_equal(const struct beam_search *s, const struct mafat_motes_state *a,
                      const struct mafat_motes_state *b)
{
  bool same_ms = is_measured(s) || (!(a->ms < b->ms) && !(a->ms > b->ms));
  return a->bytes == b->bytes && same_ms && !(a->tie_break < b->tie_break) &&
         !(a->tie_break > b->tie_break);
}

/* True if the state belongs in the beam: no equal state is in the beam, and the beam has a free
 * place or a worse state. */
static bool enters(const struct beam_search *s, const struct mafat_motes_state *state)
{
  for (int i = 0; i < s->n_beam; i++)
    if (are_equal(s, &s->beam[i], state)) return false;
  return s->n_beam < s->width || is_less(s, state, &s->beam[s->width - 1]);
}

static void keep(struct beam_search *s, const struct mafat_motes_state *state)
{
  int at = s->n_beam;
  if (!enters(s, state)) return;
  for (; at > 0 && is_less(s, state, &s->beam[at - 1]); at--) s->beam[at] = s->beam[at - 1];
  s->beam[at] = *state;
  if (s->n_beam < s->width) s->n_beam++;
}

/* True if the state would belong in the beam with this number of bytes. If times are measured, the
 * time of the state is not known yet and counts as 0. */
static bool may_enter(const struct beam_search *s, const struct mafat_motes_state *state,
                      size_t bytes)
{
  struct mafat_motes_state less = *state;
  less.bytes = bytes;
  if (is_measured(s)) less.ms = 0;
  return enters(s, &less);
}

/* Measures the time of a state, if times are measured. Returns MAFAT_ELIMIT if the state would not
 * belong in the beam anyway, or if there is not enough memory to run it. */
static int measure(struct beam_search *s, struct mafat_motes_state *state)
{
  if (!is_measured(s)) return MAFAT_OK;
  return may_enter(s, state, state->bytes) ? mafat_motes_time(&s->meter, state) : MAFAT_ELIMIT;
}

/* Predicts a state and adds it to the beam if it belongs there. Skips states that were tried
 * before. */
static int try(struct beam_search *s, struct mafat_motes_state *state)
{
  bool seen;
  int code = mafat_motes_see(&s->seen, state, &seen, s->heap);
  if (code || seen) return code;
  code = mafat_motes_outline(&s->meter, state, false);
  /* Another order of layers may need fewer bytes, so it is tried for states that are nearly good
   * enough. */
  if (code == MAFAT_OK && may_enter(s, state, state->bytes - state->bytes / 8))
    code = mafat_motes_outline(&s->meter, state, true);
  if (code == MAFAT_OK) code = measure(s, state);
  if (code == MAFAT_OK) keep(s, state);
  return code == MAFAT_EINVAL || code == MAFAT_ELIMIT ? MAFAT_OK : code;
}

/* Removes the state's schemes that split a layer of `scheme` along the same axis. */
static void clear_for(struct mafat_motes_state *state, const struct mafat_scheme *scheme)
{
  int n = 0;
  for (int i = 0; i < state->n; i++)
    if (!mafat_schemes_clash(&state->schemes[i], scheme)) state->schemes[n++] = state->schemes[i];
  state->n = n;
}

/* Adds to the beam the old state and, for each number of parts, the old state with the scheme of
 * the family. */
static int extend(struct beam_search *s, const struct mafat_motes_state *old,
                  const struct mafat_scheme_family *family)
{
  struct mafat_motes_state state = *old;
  int code = MAFAT_OK;
  keep(s, old);
  clear_for(&state, &family->scheme);
  if (state.n == MAFAT_MOST_SCHEMES) return MAFAT_OK;
  int at = state.n++;
  for (int i = 0; i < family->n_numbers && code == MAFAT_OK && may_go_on(s); i++) {
    state.schemes[at] = family->scheme;
    state.schemes[at].n = family->numbers[i];
    if (mafat_motes_parts(&state, &state.schemes[at]) > MAFAT_MOST_MOTES_PARTS) break;
    code = try(s, &state);
  }
  return code;
}

static int extend_all(struct beam_search *s, const struct mafat_scheme_family *family)
{
  int code = MAFAT_OK;
  struct mafat_motes_state *swap = s->old;
  s->old = s->beam;
  s->beam = swap;
  s->n_old = s->n_beam;
  s->n_beam = 0;
  for (int i = 0; i < s->n_old && code == MAFAT_OK; i++) code = extend(s, &s->old[i], family);
  return code;
}

/* ---- cells ---- */

static uint64_t tensor_bytes(const struct beam_search *s, int tensor)
{
  const struct mafat_network *n = s->request->network;
  return mafat_dtype_bytes(mafat_network_tensor_type(n, tensor),
                           (uint64_t)mafat_shape_elements(mafat_network_tensor_shape(n, tensor)));
}

/* Bytes of the bottlenecks that layers of the cell write or read. */
static uint64_t cell_bytes(const struct beam_search *s, int cell)
{
  const struct mafat_network *n = s->request->network;
  uint64_t sum = 0;
  for (int t = 0; t < mafat_network_n_tensors(n); t++) {
    int maker = mafat_network_operator(n, t);
    bool own =
        s->bottlenecks[t] && maker < s->request->n_layers && s->cells->cell_of[maker] == cell;
    for (int l = 0; l < s->request->n_layers && s->bottlenecks[t] && !own; l++)
      own = s->cells->cell_of[l] == cell && mafat_reads_meet(mafat_layer_reads(&n->layers[l]), t);
    if (own) sum += tensor_bytes(s, t);
  }
  return sum;
}

static int next_cell(const struct beam_search *s)
{
  int best = -1;
  uint64_t most = 0;
  for (int c = 0; c < s->cells->n; c++) {
    uint64_t bytes = s->opened[c] ? 0 : cell_bytes(s, c);
    if (bytes <= most) continue;
    most = bytes;
    best = c;
  }
  return best;
}

/* Keeps a list of layers until the search ends, because states refer to it. On MAFAT_ENOMEM, frees
 * the list. */
static int keep_list(struct beam_search *s, int *layers)
{
  int **grown = mafat_heap_realloc(s->heap, s->kept, (size_t)(s->n_kept + 1) * sizeof *grown);
  if (!grown) {
    mafat_heap_free(s->heap, layers);
    return MAFAT_ENOMEM;
  }
  s->kept = grown;
  s->kept[s->n_kept++] = layers;
  return MAFAT_OK;
}

static int keep_lists(struct beam_search *s)
{
  int code = MAFAT_OK;
  for (int i = 0; i < s->families.n; i++)
    if (keep_list(s, s->families.list[i].scheme.layers)) code = MAFAT_ENOMEM;
  return code;
}

static int open_cell(struct beam_search *s, int cell)
{
  s->opened[cell] = true;
  for (int l = 0; l < s->request->n_layers; l++) s->within[l] = s->cells->cell_of[l] == cell;
  s->families.n = 0;
  int code = mafat_schemes_find(&s->families, s->request->network, s->request->n_layers, s->within,
                                s->bottlenecks);
  if (code == MAFAT_OK) code = keep_lists(s);
  else mafat_schemes_free(&s->families);
  for (int i = 0; i < s->families.n && code == MAFAT_OK && may_go_on(s); i++)
    code = extend_all(s, &s->families.list[i]);
  return code;
}

/* ---- similar cells ---- */

/* First layer of a cell; -1: none. */
static int first_of(const struct beam_search *s, int cell)
{
  for (int l = 0; l < s->request->n_layers; l++)
    if (s->cells->cell_of[l] == cell) return l;
  return -1;
}

static bool are_alike(const struct mafat_layer *a, const struct mafat_layer *b)
{
  return a->type == b->type && a->out.h == b->out.h && a->out.w == b->out.w &&
         a->out.c == b->out.c && a->groups == b->groups;
}

/* Writes to `layers` the numbers of the scheme's layers plus `by`. Returns false if one of these
 * layers has another kind or shape than the layer of the scheme. */
static bool shift(const struct beam_search *s, const struct mafat_scheme *scheme, int by,
                  int *layers)
{
  const struct mafat_layer *all = s->request->network->layers;
  for (int i = 0; i < scheme->n_layers; i++) {
    int l = scheme->layers[i];
    if (l + by < 0 || l + by >= s->request->n_layers || !are_alike(&all[l], &all[l + by]))
      return false;
    layers[i] = l + by;
  }
  return true;
}

/* Tries the best state, with its schemes of a cell repeated in another cell, if that is similar. */
static int try_alike(struct beam_search *s, int cell, int other)
{
  struct mafat_motes_state state = s->beam[0], best = state;
  int from = first_of(s, cell), to = first_of(s, other), by = to - from;
  if (from < 0 || to < 0) return MAFAT_OK;
  for (int i = 0; i < best.n; i++) {
    struct mafat_scheme scheme = best.schemes[i];
    if (s->cells->cell_of[scheme.layers[0]] != cell) continue;
    scheme.layers = mafat_heap_calloc(s->heap, (size_t)scheme.n_layers, sizeof *scheme.layers);
    if (!scheme.layers) return MAFAT_ENOMEM;
    if (keep_list(s, scheme.layers)) return MAFAT_ENOMEM;
    if (!shift(s, &best.schemes[i], by, scheme.layers)) return MAFAT_OK;
    clear_for(&state, &scheme);
    if (state.n == MAFAT_MOST_SCHEMES) return MAFAT_OK;
    state.schemes[state.n++] = scheme;
  }
  return try(s, &state);
}

/* Tries to repeat the schemes of a cell in each similar cell. Otherwise, if several cells are
 * equally full, the peak would get smaller only when the last of them is split. */
static int spread(struct beam_search *s, int cell)
{
  int code = MAFAT_OK;
  for (int other = 0; other < s->cells->n && code == MAFAT_OK && may_go_on(s); other++)
    if (other != cell) code = try_alike(s, cell, other);
  return code;
}

enum { ASSIGNED = 3 }; /* number of states of the beam whose offsets are assigned after a pass */

/* Assigns offsets for the beam's first states, and sets s->best. (The beam compares states by live
 * bytes, with simple orders of layers, because these are quick to compute.) The best order is tried
 * only for the first state. */
static int assign_first(struct beam_search *s)
{
  int code = MAFAT_OK;
  for (int i = 0;
       i < ASSIGNED && i < s->n_beam && code == MAFAT_OK && (may_go_on(s) || s->best.ms <= 0);
       i++) {
    struct mafat_motes_state state = s->beam[i];
    code = mafat_motes_assign_offsets(&s->meter, &state, s->limit_ms, i == 0);
    if (code == MAFAT_OK && (s->best.ms <= 0 || is_less(s, &state, &s->best))) s->best = state;
  }
  return code == MAFAT_ELIMIT ? MAFAT_OK : code;
}

/* Tries to remove each scheme from the best state, which may save time. */
static int simplify(struct beam_search *s)
{
  int code = MAFAT_OK;
  for (int i = s->beam[0].n - 1; i >= 0 && code == MAFAT_OK && may_go_on(s); i--) {
    struct mafat_motes_state state = s->beam[0];
    if (i >= state.n) continue;
    memmove(&state.schemes[i], &state.schemes[i + 1],
            (size_t)(state.n - i - 1) * sizeof *state.schemes);
    state.n--;
    code = try(s, &state);
  }
  return code;
}

static int open_cells(struct beam_search *s)
{
  int code = mafat_motes_bottlenecks(s->bottlenecks, &s->meter, &s->beam[0]), cell;
  memset(s->opened, 0, (size_t)s->cells->n * sizeof *s->opened);
  while (code == MAFAT_OK && may_go_on(s) && (cell = next_cell(s)) >= 0) {
    code = open_cell(s, cell);
    if (code == MAFAT_OK) code = spread(s, cell);
    if (code == MAFAT_OK) code = mafat_motes_bottlenecks(s->bottlenecks, &s->meter, &s->beam[0]);
  }
  return code;
}

/* Makes passes over all cells as long as the bytes get fewer. In a later pass, splits may be within
 * the time limit that were too slow before. */
static int search_cells(struct beam_search *s)
{
  int code = MAFAT_OK;
  for (int pass = 0; pass < MOST_PASSES && code == MAFAT_OK && may_go_on(s); pass++) {
    size_t before = s->beam[0].bytes;
    code = open_cells(s);
    if (code == MAFAT_OK) code = simplify(s);
    if (code == MAFAT_OK) code = assign_first(s);
    if (s->beam[0].bytes >= before) break;
  }
  return code;
}

/* Searches first with a narrow beam, which finds most improvements early. Then starts again with
 * the full beam. whole: the state without schemes. */
static int search_widths(struct beam_search *s, const struct mafat_motes_state *whole)
{
  enum { NARROW = 2 };
  const int widths[] = {mafat_min(s->most, NARROW), s->most};
  int code = MAFAT_OK;
  for (int i = 0; i < 2 && code == MAFAT_OK && (i == 0 || widths[i] > widths[0]) && may_go_on(s);
       i++) {
    s->width = widths[i];
    s->n_beam = 0;
    mafat_motes_forget(&s->seen, s->heap);
    keep(s, whole);
    code = search_cells(s);
  }
  return code;
}

/* ---- plan ---- */

static int make_front(struct mafat_front *front, struct beam_search *s)
{
  struct mafat_spec *spec = NULL;
  struct mafat_candidate c = {.threads = s->request->options->n_threads};
  int code = mafat_motes_spec(&spec, &s->meter, &s->best);
  if (code == MAFAT_OK) code = mafat_candidate_measure(&c, s->request, spec, s->d);
  if (code == MAFAT_OK && !(front->list = mafat_heap_calloc(front->heap, 1, sizeof *front->list)))
    code = MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = mafat_spec_copy(&c.spec, spec, front->heap);
  if (code == MAFAT_OK) front->list[front->n++] = c;
  mafat_spec_close(&spec);
  return code;
}

/* Measures the plan of whole maps several times and keeps the shortest time, because a time that is
 * too long would make the limit too high. Does nothing if times are predicted. */
static int measure_whole(struct beam_search *s, struct mafat_motes_state *whole)
{
  enum { TIMES = 5 };
  int code = MAFAT_OK;
  for (int i = 0; i < TIMES && code == MAFAT_OK && is_measured(s); i++) {
    double before = whole->ms;
    code = mafat_motes_time(&s->meter, whole);
    if (i > 0 && before < whole->ms) whole->ms = before;
  }
  return code;
}

/* Makes the cells that the words list, or finds them. */
static int find_cells(struct beam_search *s)
{
  const struct mafat_search_request *r = s->request;
  const struct mafat_search_value *v = &s->words[CELLS];
  if (!v->given) return mafat_cells_find(&s->cells, r->network, r->n_layers, s->heap);
  char *text = mafat_heap_calloc(s->heap, v->length + 1, 1);
  if (!text) return MAFAT_ENOMEM;
  memcpy(text, v->text, v->length);
  int code = mafat_cells_read(&s->cells, text, r->network, r->n_layers, s->heap, s->d);
  mafat_heap_free(s->heap, text);
  return code;
}

static int run(struct beam_search *s, struct mafat_front *front)
{
  struct mafat_motes_state whole = {.n = 0};
  const struct mafat_search_request *r = s->request;
  int code = find_cells(s);
  if (code) return code;
  s->meter.cell_of = s->cells->cell_of;
  code = mafat_motes_outline(&s->meter, &whole, true);
  if (code == MAFAT_EINVAL || code == MAFAT_ELIMIT)
    return mafat_fail(s->d, MAFAT_ELIMIT,
                      "%s: the memory of every plan is too large to compute", r->network->path);
  if (code == MAFAT_OK) code = measure_whole(s, &whole);
  s->limit_ms = whole.ms * s->words[DELTA].number;
  if (code == MAFAT_OK &&
      !(s->opened = mafat_heap_calloc(s->heap, (size_t)s->cells->n + 1, sizeof *s->opened)))
    code = MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = search_widths(s, &whole);
  return code ? code : make_front(front, s);
}

static int run_in(struct mafat_front *front, const struct mafat_search_request *r,
                  struct mafat_diagnostic *d)
{
  struct mafat_heap *heap = r->options->heap;
  struct beam_search *s = mafat_heap_calloc(heap, 1, sizeof *s);
  if (!s) return MAFAT_ENOMEM;
  *s = (struct beam_search){.request = r,
                            .heap = heap,
                            .d = d,
                            .meter = {.request = r,
                                      .heap = heap,
                                      .evaluations =
                                          r->evaluations ? r->evaluations : MOST_EVALUATIONS,
                                      .d = d}};
  int code = mafat_search_words_read(s->words, &mafat_searching_motes, r->words, d);
  if (code) {
    mafat_heap_free(heap, s);
    return code;
  }
  s->most = (int)s->words[BEAM].number;
  s->families.heap = heap;
  s->beam = mafat_heap_calloc(heap, (size_t)s->most + 1, sizeof *s->beam);
  s->old = mafat_heap_calloc(heap, (size_t)s->most + 1, sizeof *s->old);
  s->bottlenecks =
      mafat_heap_calloc(heap, (size_t)mafat_network_n_tensors(r->network), sizeof *s->bottlenecks);
  s->within = mafat_heap_calloc(heap, (size_t)r->n_layers, sizeof *s->within);
  code = s->beam && s->old && s->bottlenecks && s->within ? run(s, front) : MAFAT_ENOMEM;
  for (int i = 0; i < s->n_kept; i++) mafat_heap_free(heap, s->kept[i]);
  mafat_heap_free(heap, s->kept);
  mafat_motes_forget(&s->seen, heap);
  mafat_cells_close(&s->cells);
  mafat_heap_free(heap, s->opened);
  mafat_heap_free(heap, s->beam);
  mafat_heap_free(heap, s->old);
  mafat_heap_free(heap, s->bottlenecks);
  mafat_heap_free(heap, s->within);
  mafat_heap_free(heap, s);
  return code;
}

int mafat_search_motes(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d)
{
  return mafat_front_find(out, request, run_in, d);
}

const struct mafat_search mafat_searching_motes = {
    .name = "motes",
    .finds = "MOTES'",
    .unfit = "this is what the plan of --search motes needs, which keeps all weights in memory",
    .help = "the beam search MOTES over split layers\n",
    .one_plan = true,
    .timed = true,
    .timed_by = "measure",
    .words = words,
    .n_words = N_WORDS,
    .find = mafat_search_motes};
