/* Plans the scratch of a plan's parts (parts of layers, each computed in one step), and chooses
 * runs: consecutive parts that use the same scratch buffer (parts_scratch.h). Called by
 * predictor/layout, and by parts_order.c for the sizes of scratch. Allocates from the plan's heap;
 * mafat_parts_scratch_close frees it. */
#include "predictor/schedule/parts_scratch.h"

#include "base/part.h"
#include "predictor/plan/parts.h"

#include <stdint.h>
#include <string.h>

struct scratch_maker {
  const struct mafat_plan *plan;
  const struct mafat_network *network;
  struct mafat_parts_scratch *scratch;
  int *newest;   /* [layer]: index in scratch->records of its newest record; -1: none yet */
  int *previous; /* [record]: index of the previous record of the same layer; -1: none */
  int capacity;      /* allocated records */
};

/* ---- records ---- */

int mafat_parts_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_layer_part *part, struct mafat_scratch *s)
{
  struct mafat_scratch_request r = {
      plan,          n, part->layer, mafat_span_size(part->out.y), mafat_span_size(part->out.x),
      part->channels};
  return mafat_scratch_plan_step(&r, s);
}

static int grow(struct scratch_maker *m)
{
  int capacity = m->capacity + 64;
  struct mafat_parts_scratch *s = m->scratch;
  struct mafat_scratch *records =
      mafat_heap_realloc(m->plan->heap, s->records, (size_t)capacity * sizeof *records);
  if (records) s->records = records;
  int *previous =
      mafat_heap_realloc(m->plan->heap, m->previous, (size_t)capacity * sizeof *previous);
  if (previous) m->previous = previous;
  if (!records || !previous) return MAFAT_ENOMEM;
  m->capacity = capacity;
  return MAFAT_OK;
}

/* Sets *record to the index of the layer's record that equals *s. Adds such a record if there is
 * none. */
static int find_record(struct scratch_maker *m, int layer, const struct mafat_scratch *s,
                       int *record)
{
  struct mafat_parts_scratch *all = m->scratch;
  for (int i = m->newest[layer]; i >= 0; i = m->previous[i])
    if (memcmp(&all->records[i], s, sizeof *s) == 0) {
      *record = i;
      return MAFAT_OK;
    }
  if (all->n_records == m->capacity && grow(m)) return MAFAT_ENOMEM;
  memcpy(&all->records[all->n_records], s, sizeof *s);
  m->previous[all->n_records] = m->newest[layer];
  m->newest[layer] = *record = all->n_records++;
  return MAFAT_OK;
}

static int find_records(struct scratch_maker *m)
{
  const struct mafat_parts *parts = m->plan->parts;
  int code = MAFAT_OK;
  for (int p = 0; p < parts->n && code == MAFAT_OK; p++) {
    struct mafat_scratch s;
    m->scratch->record_of[p] = -1;
    if (mafat_layer_is_input(&m->network->layers[parts->list[p].layer]) || parts->list[p].act)
      continue;
    code = mafat_parts_scratch_plan(m->plan, m->network, &parts->list[p], &s);
    if (code == MAFAT_OK)
      code = find_record(m, parts->list[p].layer, &s, &m->scratch->record_of[p]);
  }
  return code;
}

/* ---- runs ---- */

/* Adds a part at `position` in the execution order to the last run, if that run ends at the
 * position before and needs the same number of bytes; else to a new run. A part without scratch
 * gets no run. */
static int add_part(struct mafat_parts_scratch *s, int part, int position, int n_workers)
{
  struct mafat_scratch_run *last = s->n_runs ? &s->runs[s->n_runs - 1] : NULL;
  size_t bytes =
      s->record_of[part] < 0 ? 0 : mafat_scratch_bytes(&s->records[s->record_of[part]], n_workers);
  if (bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
  bytes = (bytes + 63) / 64 * 64;
  s->run_of[part] = -1;
  if (bytes == 0) return MAFAT_OK;
  if (last && last->bytes == bytes && last->last + 1 == position) last->last = position;
  else s->runs[s->n_runs++] = (struct mafat_scratch_run){bytes, position, position};
  s->run_of[part] = s->n_runs - 1;
  return MAFAT_OK;
}

static int find_runs(struct scratch_maker *m)
{
  const struct mafat_parts *parts = m->plan->parts;
  struct mafat_parts_scratch *s = m->scratch;
  int code = MAFAT_OK;
  for (int g = 0; g < m->plan->n_groups; g++) {
    int position = m->plan->groups[g].positions.begin;
    for (int p = parts->at[g]; p < parts->at[g + 1] && code == MAFAT_OK; p++, position++)
      code = add_part(s, p, position, m->plan->n_threads);
  }
  return code;
}

static int make(struct scratch_maker *m)
{
  struct mafat_heap *heap = m->plan->heap;
  size_t n = (size_t)m->plan->parts->n, n_layers = (size_t)m->plan->n_layers;
  struct mafat_parts_scratch *s = m->scratch;
  s->record_of = mafat_heap_calloc(heap, n + 1, sizeof *s->record_of);
  s->run_of = mafat_heap_calloc(heap, n + 1, sizeof *s->run_of);
  s->runs = mafat_heap_calloc(heap, n + 1, sizeof *s->runs);
  m->newest = mafat_heap_calloc(heap, n_layers, sizeof *m->newest);
  if (!s->record_of || !s->run_of || !s->runs || !m->newest) return MAFAT_ENOMEM;
  memset(m->newest, -1, n_layers * sizeof *m->newest);
  int code = find_records(m);
  if (code) return code;
  /* The records are kept with the layout, so they are copied to a list without unused memory. */
  struct mafat_scratch *just =
      s->n_records ? mafat_heap_calloc(heap, (size_t)s->n_records, sizeof *just) : NULL;
  if (!just && s->n_records) return MAFAT_ENOMEM;
  if (s->n_records) memcpy(just, s->records, (size_t)s->n_records * sizeof *just);
  mafat_heap_free(heap, s->records);
  s->records = just;
  return find_runs(m);
}

int mafat_parts_scratch_open(struct mafat_parts_scratch **out, const struct mafat_plan *plan,
                             const struct mafat_network *n)
{
  *out = NULL;
  if (!plan->parts) return MAFAT_OK;
  struct scratch_maker m = {.plan = plan, .network = n};
  m.scratch = *out = mafat_heap_calloc(plan->heap, 1, sizeof *m.scratch);
  int code = m.scratch ? make(&m) : MAFAT_ENOMEM;
  mafat_heap_free(plan->heap, m.newest);
  mafat_heap_free(plan->heap, m.previous);
  return code;
}

/* ---- buffers ---- */

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

/* Greatest number of bytes in use at the times [from, until). */
static size_t most_alive(const size_t *live, int from, int until)
{
  size_t most = 0;
  for (int time = from; time < until; time++) most = larger(most, live[time]);
  return most;
}

void mafat_parts_scratch_join(struct mafat_parts_scratch *s, int n_parts, const size_t *live,
                              int n_times)
{
  /* Position p has the times 2 p (a separate transform of the input) and 2 p + 1 (the step). peak:
   * greatest number of bytes in use at any time before runs are merged; beside: greatest value of
   * `live` during the last run that was kept */
  size_t peak = most_alive(live, 0, n_times), beside = 0;
  int n = 0;
  for (int i = 0; i < s->n_runs; i++)
    peak = larger(peak, most_alive(live, 2 * s->runs[i].first, 2 * s->runs[i].last + 2) +
                            s->runs[i].bytes);
  for (int i = 0, p = 0; i < s->n_runs; i++) {
    struct mafat_scratch_run run = s->runs[i], *to = n ? &s->runs[n - 1] : &run;
    size_t bytes = larger(to->bytes, run.bytes);
    size_t beside_both =
        larger(beside, most_alive(live, n ? 2 * to->last + 2 : 2 * run.first, 2 * run.last + 2));
    bool joins = n && bytes + beside_both <= peak;
    if (joins) *to = (struct mafat_scratch_run){bytes, to->first, run.last};
    else s->runs[n++] = run;
    beside = joins ? beside_both : most_alive(live, 2 * run.first, 2 * run.last + 2);
    for (; p < n_parts && s->run_of[p] <= i; p++)
      if (s->run_of[p] == i) s->run_of[p] = n - 1;
  }
  s->n_runs = n;
}

MAFAT_PART(run)
void mafat_parts_scratch_close(struct mafat_heap *heap, struct mafat_parts_scratch **scratch)
{
  struct mafat_parts_scratch *s = *scratch;
  if (!s) return;
  mafat_heap_free(heap, s->records);
  mafat_heap_free(heap, s->record_of);
  mafat_heap_free(heap, s->run_of);
  mafat_heap_free(heap, s->runs);
  mafat_heap_free(heap, s);
  *scratch = NULL;
}
