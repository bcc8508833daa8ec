/* Collects the contents of a memory map, a picture of the arena over the time of a run: steps of
 * layers, buffers, and live bytes at each time. Called by map.c, map_draw.c and
 * programs/mafat_serve/work.c. Allocates; mafat_map_close frees. */
#include "programs/run_inference/map.h"

#include <stdlib.h>
#include <string.h>

static const char *const tags[MAFAT_MAP_TAGS] = {
#define TAG(CONSTANT, name) [MAFAT_MAP_##CONSTANT] = name,
#include "base/tags.def"
};

const char *mafat_map_tag_name(int tag)
{
  return tags[tag];
}

int mafat_map_tag_of(const struct mafat_buffer_facts *buffer)
{
  int tag = 0;
  while (tag < MAFAT_MAP_TAGS - 1 && strcmp(buffer->tag, tags[tag]) != 0) tag++;
  return tag;
}

/* True for a layer with output bytes in the arena and a step of its own. */
static bool has_step(const struct mafat_layer_facts *layer)
{
  return layer->inside < 0 && layer->arena_bytes > 0;
}

static int group_of(const struct mafat_map *m, int layer)
{
  struct mafat_layer_facts facts = {.size = sizeof facts};
  return mafat_plan_report_layer(m->report, layer, &facts) == MAFAT_OK ? facts.group : 0;
}

/* Fills in the step at each position of the execution order; at a position without a step, its
 * layer is -1. */
static void place_steps(struct mafat_map *m, int n_positions)
{
  struct mafat_layer_facts layer = {.size = sizeof layer};
  for (int i = 0; i < n_positions; i++) {
    int part = mafat_plan_report_part(m->report, i);
    m->steps[i] = (struct mafat_map_step){part, part < 0 ? 0 : group_of(m, part), i, 0};
  }
  for (int l = 0; mafat_plan_report_layer(m->report, l, &layer) == MAFAT_OK; l++) {
    struct mafat_map_step *step = &m->steps[layer.position];
    if (!has_step(&layer) || mafat_plan_report_part(m->report, layer.position) >= 0) continue;
    if (step->layer >= 0) step->more++;
    else *step = (struct mafat_map_step){l, layer.group, layer.position, 0};
  }
}

/* Lists the steps, and skips positions without a step. */
static void find_steps(struct mafat_map *m)
{
  int n = m->arena.n_times / 2;
  place_steps(m, n);
  for (int position = 0; position < n; position++) {
    m->columns[position] = m->n_steps;
    if (m->steps[position].layer >= 0) m->steps[m->n_steps++] = m->steps[position];
  }
  if (m->n_steps == 0)
    m->steps[m->n_steps++] = (struct mafat_map_step){0, 0, 0, 0}; /* nothing is computed */
  m->columns[n] = m->n_steps;
}

/* Computes the live bytes at each time: adds each buffer's bytes where its lifetime begins,
 * subtracts them where it ends, and then sums over time. Differences may be negative; the unsigned
 * numbers wrap, and the sums are right. */
static void find_alive(struct mafat_map *m)
{
  for (int i = 0; i < m->arena.n_buffers; i++) {
    const struct mafat_buffer_facts *b = &m->buffers[i];
    if (b->first > b->last) continue;
    m->alive[b->first][mafat_map_tag_of(b)] += b->bytes;
    m->alive[b->last + 1][mafat_map_tag_of(b)] -= b->bytes;
  }
  for (int time = 1; time <= m->arena.n_times; time++)
    for (int tag = 0; tag < MAFAT_MAP_TAGS; tag++) m->alive[time][tag] += m->alive[time - 1][tag];
}

/* Finds the times of the peak: those at which all buffers of the peak are alive. No other buffer is
 * alive then, because the sum would exceed the peak. */
static void find_peak(struct mafat_map *m)
{
  m->peak_begin = 0;
  m->peak_end = m->arena.n_times;
  for (int i = 0; i < m->arena.n_buffers; i++) {
    const struct mafat_buffer_facts *b = &m->buffers[i];
    if (!mafat_map_is_at_peak(m, b)) continue;
    if (b->first > m->peak_begin) m->peak_begin = b->first;
    if (b->last < m->peak_end) m->peak_end = b->last + 1;
  }
}

/* Lists the buffers that have a lifetime. A part of a feature map that no layer reads has none. */
static void find_buffers(struct mafat_map *m)
{
  int n = 0;
  for (int i = 0; i < m->arena.n_buffers; i++) {
    m->buffers[n].size = sizeof m->buffers[n];
    mafat_plan_report_buffer(m->report, i, &m->buffers[n]);
    if (m->buffers[n].first <= m->buffers[n].last) n++;
  }
  m->arena.n_buffers = n;
}

int mafat_map_find(struct mafat_map *m, const struct mafat_report_request *q,
                   const struct mafat_plan_report *a)
{
  m->request = q;
  m->report = a;
  m->plan.size = sizeof m->plan;
  m->arena.size = sizeof m->arena;
  mafat_plan_report_describe(a, &m->plan);
  mafat_plan_report_arena(a, &m->arena);
  size_t n_times = (size_t)m->arena.n_times, n_positions = n_times / 2,
         n_buffers = (size_t)m->arena.n_buffers;
  m->buffers = calloc(n_buffers + 1, sizeof *m->buffers);
  m->steps = calloc(n_positions + 1, sizeof *m->steps);
  m->columns = calloc(n_positions + 1, sizeof *m->columns);
  m->alive = calloc(n_times + 1, sizeof *m->alive);
  if (!m->buffers || !m->steps || !m->columns || !m->alive) return MAFAT_ENOMEM;
  find_buffers(m);
  find_steps(m);
  find_alive(m);
  find_peak(m);
  return MAFAT_OK;
}

void mafat_map_close(struct mafat_map *m)
{
  free(m->buffers);
  free(m->steps);
  free(m->columns);
  free(m->alive);
}

size_t mafat_map_alive(const struct mafat_map *m, int time)
{
  size_t sum = 0;
  for (int tag = 0; tag < MAFAT_MAP_TAGS; tag++) sum += m->alive[time][tag];
  return sum;
}

int mafat_map_step_at(const struct mafat_map *m, int time)
{
  int step = m->columns[time / 2];
  return step < m->n_steps ? step : m->n_steps - 1;
}

double mafat_map_begin(const struct mafat_map *m, int time)
{
  int position = time / 2, column = m->columns[position];
  bool own = column < m->n_steps && m->steps[column].position == position;
  return column + (own && time % 2 ? .5 : 0);
}
