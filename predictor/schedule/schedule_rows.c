/* Generates the steps of a group by rows. Called by schedule.c and rows_parts.c through
 * mafat_generator_rows, and by planning/in_place_rings.c. Allocates its state from the plan's heap.
 *
 * Every layer keeps a rolling window of the rows that its readers still need. The next step is
 * found by demand: from an unfinished output of the group (begin_waiting), the search goes back to
 * a layer whose sources have all rows that its next step needs. A layer that waits for rows is
 * checked again after each step of its source. With `early`, layers whose output is smaller than
 * their input run as soon as their sources are ready, because their output rows need less memory
 * than their input rows. */
#include "predictor/schedule/schedule.h"

#include "predictor/plan/fusion.h"
#include "predictor/plan/packing.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/plan/winograd.h"

enum {
  /* Least pixels of a step, for each of the least rows that the plan gives the group: "rows4" has
   * steps of at least 4 * STEP_PIXELS pixels. A step has fixed costs: calls, row pointers, and
   * Winograd's transform of weights. So steps of narrow maps have more rows. */
  STEP_PIXELS = 48,
  STREAMED_STEP_PIXELS = 144, /* so that a step takes no less time than reading its weights again */
  WINOGRAD_STEP_PIXELS = 192,
  /* for quantized maps: steps have just the least rows, because such networks run in few KB */
  INTEGER_STEP_PIXELS = 1
};

/* ---- state ---- */

/* A layer that reads a tensor. */
struct row_reader {
  int layer;
  unsigned short operand, source; /* number of the operand, and of the source in it */
};

struct rows_state {
  int at;                    /* index in plan->members of the first output that may be unfinished */
  int *done;                 /* [layer or input]: number of finished rows */
  int *waiting, n_waiting;   /* stack of layers; each waits for rows of the entry above it */
  int *fresh, n_fresh;       /* stack of layers and inputs with new rows; their readers may run
                                early */
  signed char *change;       /* [layer]: -1 if its output is smaller than its input, else 1; 0: not
                                computed yet */
  struct row_reader *readers;    /* readers of all tensors, sorted by tensor, then by layer */
  int *readers_at;           /* [tensor]: index of its first reader in `readers`; one entry more */
};

static struct rows_state *state_of(const struct mafat_schedule *s)
{
  return s->states[MAFAT_CUT_ROWS];
}

static struct row_reader reader_of(int layer, const struct mafat_reads *r)
{
  return (struct row_reader){layer, (unsigned short)r->operand, (unsigned short)(r->next - 1)};
}

/* Calls `note` for each read of a tensor by a layer with steps. */
static void for_readers(const struct mafat_schedule *s, struct rows_state *rows,
                        void (*note)(struct rows_state *rows, struct row_reader reader, int tensor))
{
  for (int l = 0; l < s->plan->n_layers; l++)
    if (mafat_schedule_runs(s, l))
      for (struct mafat_reads r = mafat_plan_reads(s->plan, s->network, l); mafat_reads_next(&r);)
        note(rows, reader_of(l, &r), r.source->tensor);
}

static void count_reader(struct rows_state *r, struct row_reader reader, int tensor)
{
  (void)reader;
  r->readers_at[tensor + 1]++;
}

static void put_reader(struct rows_state *r, struct row_reader reader, int tensor)
{
  r->readers[r->readers_at[tensor]++] = reader;
}

/* Fills readers and readers_at, by counting sort. */
static int list_readers(const struct mafat_schedule *s, struct rows_state *r)
{
  int n = mafat_network_n_tensors(s->network);
  r->readers_at = mafat_heap_calloc(s->plan->heap, (size_t)n + 1, sizeof *r->readers_at);
  if (!r->readers_at) return MAFAT_ENOMEM;
  for_readers(s, r, count_reader);
  for (int t = 0; t < n; t++) r->readers_at[t + 1] += r->readers_at[t];
  r->readers = mafat_heap_calloc(s->plan->heap, (size_t)r->readers_at[n] + 1, sizeof *r->readers);
  if (!r->readers) return MAFAT_ENOMEM;
  for_readers(s, r, put_reader);
  for (int t = n - 1; t >= 0; t--) r->readers_at[t + 1] = r->readers_at[t];
  r->readers_at[0] = 0;
  return MAFAT_OK;
}

static int rows_open(void **state, const struct mafat_schedule *s)
{
  struct rows_state *r = *state = mafat_heap_calloc(s->plan->heap, 1, sizeof *r);
  if (!r) return MAFAT_ENOMEM;
  r->done = mafat_heap_calloc(s->plan->heap, (size_t)mafat_network_n_operators(s->network),
                              sizeof *r->done);
  r->waiting = mafat_heap_calloc(s->plan->heap, (size_t)s->plan->n_layers, sizeof *r->waiting);
  r->fresh = mafat_heap_calloc(s->plan->heap, (size_t)s->plan->n_layers + 1, sizeof *r->fresh);
  r->change = mafat_heap_calloc(s->plan->heap, (size_t)s->plan->n_layers, sizeof *r->change);
  return r->done && r->waiting && r->fresh && r->change ? list_readers(s, r) : MAFAT_ENOMEM;
}

static void rows_close(struct mafat_heap *heap, void *state)
{
  struct rows_state *r = state;
  mafat_heap_free(heap, r->done);
  mafat_heap_free(heap, r->waiting);
  mafat_heap_free(heap, r->fresh);
  mafat_heap_free(heap, r->change);
  mafat_heap_free(heap, r->readers);
  mafat_heap_free(heap, r->readers_at);
  mafat_heap_free(heap, r);
}

static void rows_begin(struct mafat_schedule *s)
{
  const struct mafat_group *g = &s->plan->groups[s->group];
  struct rows_state *r = state_of(s);
  r->at = g->at.begin;
  r->n_waiting = r->n_fresh = 0;
  for (int i = g->at.begin; i < g->at.end; i++) r->done[s->plan->members[i]] = 0;
  for (int i = s->network->n_layers; i < mafat_network_n_operators(s->network); i++)
    r->done[i] = s->usage[i].external ? s->network->layers[i].out.h : 0;
}

/* ---- steps ---- */

static bool is_done(const struct mafat_schedule *s, int l)
{
  return state_of(s)->done[l] >= s->network->layers[l].out.h;
}

/* Rows of layer l's next step: the group's least rows, or more if the map is narrow. */
static struct mafat_span next_rows(const struct mafat_schedule *s, int l)
{
  int least = s->plan->groups[s->group].cut.as.rows.least;
  const struct mafat_layer *layer = &s->network->layers[l];
  int innermost = mafat_plan_reader(s->plan, l), begin = state_of(s)->done[l];
  bool winograd = mafat_plan_winograd(s->plan, l) != NULL;
  int width = s->network->layers[innermost].out.w;
  /* placement is NULL while rows_parts.c lists the steps: weights are placed later */
  bool streamed = s->plan->placement && s->plan->placement[innermost] == MAFAT_STREAMED;
  long long pixels = winograd   ? WINOGRAD_STEP_PIXELS
                     : streamed ? STREAMED_STEP_PIXELS
                                : STEP_PIXELS;
  if (layer->out_type != MAFAT_F32 && !streamed) pixels = INTEGER_STEP_PIXELS;
  pixels *= least;
  int rows = (int)((pixels + width - 1) / width);
  /* with fused pooling, each output row needs two rows of the convolution */
  if (mafat_fusion_pools(s->plan, s->network, l)) rows = (rows + 1) / 2;
  if (rows < least) rows = least;
  rows = mafat_round_up(rows, mafat_fusion_granularity(s->plan, s->network, l));
  /* If less than half a step would be left after this step, it gets all remaining rows. */
  int left = layer->out.h - begin;
  return mafat_span(begin, left < rows + rows / 2 ? layer->out.h : begin + rows);
}

enum { NONE = -1 };

/* Rows of a tensor that a reader still needs. */
static struct mafat_span rows_needed(const struct mafat_schedule *s, struct row_reader reader)
{
  int l = reader.layer;
  const struct mafat_sources *sources = mafat_plan_operand(s->plan, s->network, l, reader.operand);
  struct mafat_span left = {state_of(s)->done[l], s->network->layers[l].out.h};
  struct mafat_span in = mafat_fusion_in_span(s->plan, s->network, l, reader.operand, true, left);
  return mafat_sources_rows(sources, reader.source, in);
}

int mafat_schedule_first_row(const struct mafat_schedule *s, int t)
{
  const struct rows_state *r = state_of(s);
  int first = mafat_network_tensor_shape(s->network, t).h;
  for (int i = r->readers_at[t]; i < r->readers_at[t + 1]; i++) {
    int l = r->readers[i].layer;
    if (s->plan->group_of[l] != s->group || is_done(s, l)) continue;
    struct mafat_span in = rows_needed(s, r->readers[i]);
    if (!mafat_span_is_empty(in)) first = mafat_min(first, in.begin);
  }
  return first;
}

/* True for an unfinished output of the group. */
static bool is_asked_for(const struct mafat_schedule *s, int l)
{
  return s->usage[l].any_external && !is_done(s, l) && mafat_schedule_runs(s, l);
}

/* True if a smaller fraction of layer a is done than of b. */
static bool is_less_done(const struct mafat_schedule *s, int a, int b)
{
  const int *done = state_of(s)->done;
  return (long long)done[a] * s->network->layers[b].out.h <
         (long long)done[b] * s->network->layers[a].out.h;
}

/* Pushes an unfinished output of the group on the stack; false if all outputs are done. In formats
 * with any_order, it is the output of which the smallest fraction is done. If outputs were finished
 * one after the other, a tensor that several of them read would have to be kept as a whole. In
 * Darknet's networks, which have few outputs, the first unfinished output is pushed. */
static bool begin_waiting(struct mafat_schedule *s)
{
  struct rows_state *r = state_of(s);
  bool alternate = s->network->format.any_order;
  int end = s->plan->groups[s->group].at.end, least = NONE;
  while (r->at < end && !is_asked_for(s, s->plan->members[r->at])) r->at++;
  for (int i = r->at; i < end && (alternate || least == NONE); i++) {
    int l = s->plan->members[i];
    if (is_asked_for(s, l) && (least == NONE || is_less_done(s, l, least))) least = l;
  }
  if (least == NONE) return false;
  r->waiting[r->n_waiting++] = least;
  return true;
}

/* Returns a step of layer or input l, whose sources must be ready, and counts its rows as done. */
static struct mafat_step compute_rows(struct mafat_schedule *s, int l, struct mafat_span rows)
{
  struct mafat_span x = {0, s->network->layers[l].out.w};
  state_of(s)->done[l] = rows.end;
  int keep = mafat_min(mafat_schedule_first_row(s, l), rows.begin);
  return mafat_schedule_step(s, l, (struct mafat_box){rows, x},
                             (struct mafat_box){{keep, rows.end}, x});
}

/* Finds the first source of layer l that is not ready for a step that computes `rows`: some rows
 * that the step reads are missing. Returns the layer or input that makes the source, and sets *end
 * to the end of the rows that it must have made. NONE: the step can run. */
static int lacking(const struct mafat_schedule *s, int l, struct mafat_span rows, int *end)
{
  int operand = -1;
  struct mafat_span in = {0, 0};
  for (struct mafat_reads r = mafat_plan_reads(s->plan, s->network, l); mafat_reads_next(&r);) {
    if (r.operand != operand)
      in = mafat_fusion_in_span(s->plan, s->network, l, r.operand, true, rows);
    operand = r.operand;
    if (!mafat_plan_makes(s->plan, s->group, r.source->tensor)) continue;
    int maker = mafat_network_operator(s->network, r.source->tensor);
    *end = mafat_reads_rows(&r, in).end;
    if (state_of(s)->done[maker] < *end) return maker;
  }
  return NONE;
}

/* Approximate bytes of a map. */
static double map_bytes(const struct mafat_network *n, int tensor)
{
  struct mafat_shape s = mafat_network_tensor_shape(n, tensor);
  return (double)s.h * s.w * s.c * mafat_dtype_size(mafat_network_tensor_type(n, tensor));
}

/* Approximate bytes of the layer's outputs that have readers. */
static double made_bytes(const struct mafat_schedule *s, int layer)
{
  double bytes = 0;
  for (int k = 0; k < mafat_layer_n_outputs(&s->network->layers[layer]); k++) {
    int tensor = mafat_network_output(s->network, layer, k);
    if (mafat_usage_is_read(&s->usage[tensor])) bytes += map_bytes(s->network, tensor);
  }
  return bytes;
}

/* True if the layer's outputs have fewer bytes than its inputs. */
static bool shrinks(const struct mafat_schedule *s, int layer)
{
  signed char *change = &state_of(s)->change[layer];
  if (*change) return *change < 0;
  double in = 0;
  for (struct mafat_reads r = mafat_plan_reads(s->plan, s->network, layer); mafat_reads_next(&r);)
    in += map_bytes(s->network, r.source->tensor) * r.source->n /
          mafat_network_tensor_shape(s->network, r.source->tensor).c;
  *change = made_bytes(s, layer) < in ? -1 : 1;
  return *change < 0;
}

static bool runs_early(const struct mafat_schedule *s, int l)
{
  return mafat_plan_makes(s->plan, s->group, l) && !is_done(s, l) && shrinks(s, l);
}

/* Finds a reader of the tensor that may run early and whose next step can run now; NONE: none. */
static int find_early_reader(const struct mafat_schedule *s, int tensor)
{
  const struct rows_state *r = state_of(s);
  for (int i = r->readers_at[tensor], end; i < r->readers_at[tensor + 1]; i++) {
    int l = r->readers[i].layer;
    if (runs_early(s, l) && lacking(s, l, next_rows(s, l), &end) == NONE) return l;
  }
  return NONE;
}

/* Finds a layer that may run early and whose next step can run now; NONE: none. */
static int find_early(const struct mafat_schedule *s)
{
  struct rows_state *r = state_of(s);
  for (; r->n_fresh > 0; r->n_fresh--) {
    int maker = r->fresh[r->n_fresh - 1];
    for (int k = 0; k < mafat_layer_n_outputs(&s->network->layers[maker]); k++) {
      int l = find_early_reader(s, mafat_network_output(s->network, maker, k));
      if (l != NONE) return l;
    }
  }
  return NONE;
}

/* Issues a step or, if its layer is divided into panels, the first part of the step. Always
 * true. */
static bool give(struct mafat_schedule *s, struct mafat_step *step)
{
  struct rows_state *r = state_of(s);
  if (s->plan->groups[s->group].cut.as.rows.early && r->n_fresh <= s->plan->n_layers)
    r->fresh[r->n_fresh++] = step->layer;
  if (step->kind == MAFAT_STEP_INPUT || !s->plan->placement ||
      !mafat_plan_divides(s->plan, s->network, step->layer))
    return true;
  mafat_schedule_divide(s, *step);
  return mafat_schedule_next_part(s, step);
}

static bool rows_next(struct mafat_schedule *s, struct mafat_step *step)
{
  struct rows_state *r = state_of(s);
  if (s->division.going && mafat_schedule_next_part(s, step)) return true;
  int early = find_early(s);
  if (early != NONE) {
    /* The step changes which rows exist, so the stack is built again from its first layer. */
    r->n_waiting = mafat_min(r->n_waiting, 1);
    *step = compute_rows(s, early, next_rows(s, early));
    return give(s, step);
  }
  if (r->n_waiting == 1 && is_done(s, r->waiting[0])) r->n_waiting = 0;
  if (r->n_waiting == 0 && !begin_waiting(s)) return false;
  for (;;) {
    int l = r->waiting[r->n_waiting - 1], end;
    struct mafat_span rows = next_rows(s, l);
    int source = lacking(s, l, rows, &end);
    /* A step of an input delivers exactly the rows that are needed. */
    if (source != NONE && mafat_layer_is_input(&s->network->layers[source])) {
      *step = compute_rows(s, source, mafat_span(r->done[source], end));
      return give(s, step);
    }
    if (source != NONE) {
      r->waiting[r->n_waiting++] = source;
      continue;
    }
    r->n_waiting--;
    *step = compute_rows(s, l, rows);
    return give(s, step);
  }
}

const struct mafat_generator mafat_generator_rows = {rows_open, rows_close, rows_begin, rows_next};
