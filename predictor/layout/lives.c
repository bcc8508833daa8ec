/* Finds the lifetimes of tensors and partition buffers, in the times of struct mafat_buffer
 * (layout.h). Called by maker.c and buffers.c. Fills the maker's lists; allocates nothing. */
#include "predictor/layout/maker.h"

#include "predictor/plan/parts.h"
#include "predictor/plan/weight_placement.h"

#include <limits.h>

struct mafat_times mafat_times_of_group(const struct mafat_group *g)
{
  return (struct mafat_times){2 * g->positions.begin, 2 * g->positions.end - 1};
}

struct mafat_times mafat_times_of_step(const struct mafat_layout_maker *m, int layer)
{
  const struct mafat_group *g = mafat_plan_group(m->plan, layer);
  int position = m->plan->position[layer];
  if (mafat_group_takes_turns(g)) return mafat_times_of_group(g);
  return (struct mafat_times){2 * position, 2 * position + 1};
}

struct mafat_times mafat_times_of_weights(const struct mafat_layout_maker *m, int layer)
{
  const struct mafat_group *g = mafat_plan_group(m->plan, layer);
  if (mafat_group_lifetime(g) == MAFAT_LIFE_PARTS) return m->parts[layer];
  return mafat_group_lifetime(g) == MAFAT_LIFE_ONCE ? mafat_times_of_step(m, layer)
                                                    : mafat_times_of_group(g);
}

static void widen(struct mafat_times *t, int time)
{
  if (time < t->first) t->first = time;
  if (time > t->last) t->last = time;
}

/* Extends the life of a tensor to `time`. */
static void live(struct mafat_layout_maker *m, int tensor, int time)
{
  widen(&m->lives[tensor], time);
}

/* Extends the life of a tensor and all its partition buffers to `time`. */
static void live_whole(struct mafat_layout_maker *m, int tensor, int time)
{
  const struct mafat_partition *c = m->layout->tensors[tensor].partition;
  live(m, tensor, time);
  for (int b = 0; c && b < mafat_partition_n_buffers(c); b++)
    widen(&m->partition_buffers[m->first_partition_buffer[tensor] + b], time);
}

static void live_through(struct mafat_layout_maker *m, int tensor, struct mafat_times times)
{
  live(m, tensor, times.first);
  live(m, tensor, times.last);
}

/* Extends the lives of the tensors that a step of `layer` reads. If layers run more than once, in
 * tiles or rows, tensors from outside the group live until the group's last step. If Winograd
 * transforms the whole input first, the input's life ends with that transform, so the output can
 * reuse its buffer. */
static void note_reads(struct mafat_layout_maker *m, int layer)
{
  int group = m->plan->group_of[layer], begin = 2 * m->plan->position[layer];
  const struct mafat_group *g = &m->plan->groups[group];
  bool once = mafat_group_lifetime(g) == MAFAT_LIFE_ONCE;
  bool ahead = once && mafat_plan_transforms(m->plan, m->network, layer);
  for (struct mafat_reads r = mafat_plan_reads(m->plan, m->network, layer); mafat_reads_next(&r);) {
    int t = r.source->tensor, time = ahead && r.operand == 0 ? begin : begin + 1;
    live_whole(m, t,
               !once && !mafat_plan_makes(m->plan, group, t) ? mafat_times_of_group(g).last : time);
  }
}

/* Extends the lives of the tensors that a layer reads and writes, for groups without parts. */
static void note_step(struct mafat_layout_maker *m, int layer)
{
  const struct mafat_group *g = mafat_plan_group(m->plan, layer);
  enum mafat_lifetime life = mafat_group_lifetime(g);
  int begin = 2 * m->plan->position[layer], end = begin + 1;
  int producer = m->plan->panel_producer[layer] >= 0 ? m->plan->panel_producer[layer] : layer;
  bool once = life == MAFAT_LIFE_ONCE;
  struct mafat_times made = {
      once && mafat_plan_transforms(m->plan, m->network, producer) ? end : begin, end};
  note_reads(m, layer);
  for (int k = 0; k < mafat_layer_n_outputs(&m->network->layers[layer]); k++) {
    int tensor = mafat_network_output(m->network, layer, k);
    const struct mafat_usage *u = &m->schedule->usage[tensor];
    if (!mafat_usage_is_read(u)) continue;
    bool through = life == MAFAT_LIFE_GROUP || (!once && u->external);
    live_through(m, tensor, through ? mafat_times_of_group(g) : made);
    if (u->last_use == m->plan->n_layers) live(m, tensor, 2 * m->plan->n_positions - 1);
  }
}

/* Extends the life of the integer sums that a part writes or continues. */
static void note_sums(struct mafat_layout_maker *m, const struct mafat_layer_part *part, int time)
{
  const struct mafat_partition *c = &m->plan->parts->partitions[part->layer];
  if (!mafat_parts_keep_sums(m->plan, m->network, part->layer) || (part->act && !part->sums))
    return;
  widen(&m->partition_buffers[m->first_sums[part->layer] +
                              mafat_partition_find_buffer(c, 0, part->out.y.begin,
                                                          part->out.x.begin)],
        time);
}

/* Extends the life of a tensor, and of one of its partition buffers if it has any. */
static void note_partition_buffer(struct mafat_layout_maker *m, int tensor, int buffer_index,
                                  int time)
{
  live(m, tensor, time);
  if (m->layout->tensors[tensor].partition)
    widen(&m->partition_buffers[m->first_partition_buffer[tensor] + buffer_index], time);
}

static void note_buffers_read(struct mafat_layout_maker *m, const struct mafat_layer_part *part,
                              int time)
{
  struct mafat_buffer_walk w = mafat_parts_reads(m->plan, m->network, part);
  while (mafat_parts_reads_next(&w)) note_partition_buffer(m, w.tensor, w.buffer_index, time);
}

/* Extends the lives of a part's outputs to both times of its step. */
static void note_buffers_made(struct mafat_layout_maker *m, const struct mafat_layer_part *part,
                              int begin)
{
  for (int k = 0; k < mafat_layer_n_outputs(&m->network->layers[part->layer]); k++) {
    int tensor = mafat_network_output(m->network, part->layer, k);
    const struct mafat_usage *u = &m->schedule->usage[tensor];
    if (!mafat_usage_is_read(u)) continue;
    int buffer_index = mafat_parts_made(m->plan, part, tensor);
    note_partition_buffer(m, tensor, buffer_index, begin);
    note_partition_buffer(m, tensor, buffer_index, begin + 1);
    if (u->last_use == m->plan->n_layers) live(m, tensor, 2 * m->plan->n_positions - 1);
  }
}

/* Extends the lives of the tensors that a group's parts read and write; finds the times of its
 * layers. */
static void note_parts(struct mafat_layout_maker *m, int group)
{
  const struct mafat_parts *parts = m->plan->parts;
  int begin = 2 * m->plan->groups[group].positions.begin;
  for (int p = parts->at[group]; p < parts->at[group + 1]; p++, begin += 2) {
    const struct mafat_layer_part *part = &parts->list[p];
    if (part->layer < m->plan->n_layers && part->act == MAFAT_PART_COMPUTE)
      note_buffers_read(m, part, begin + 1);
    note_buffers_made(m, part, begin);
    for (int phase = 0; phase < 2; phase++) {
      note_sums(m, part, begin + phase);
      if (part->act == MAFAT_PART_COMPUTE) widen(&m->parts[part->layer], begin + phase);
    }
  }
}

/* Lets an input live from the start of the run, because the caller writes it before. Inputs in
 * partition buffers, and the inputs of a plan for one rank, are left out: steps read these. */
static void note_input(struct mafat_layout_maker *m, int input)
{
  const struct mafat_usage *u = &m->schedule->usage[input];
  if (!u->needed || mafat_parts_partition(m->plan, input) || m->plan->rank >= 0) return;
  live(m, input, 0);
  /* an output of the network is an alias of the input */
  if (u->last_use == m->plan->n_layers) live(m, input, 2 * m->plan->n_positions - 1);
  if (!u->external) live_through(m, input, mafat_times_of_group(mafat_plan_group(m->plan, input)));
}

void mafat_layout_find_lives(struct mafat_layout_maker *m)
{
  int n_tensors = mafat_network_n_tensors(m->network);
  int inputs_end = mafat_network_n_operators(m->network);
  for (int t = 0; t < n_tensors; t++) m->lives[t] = (struct mafat_times){INT_MAX, -1};
  for (int l = 0; l < m->plan->n_layers; l++)
    if (mafat_schedule_runs(m->schedule, l) &&
        !mafat_cut_has_parts(&mafat_plan_group(m->plan, l)->cut))
      note_step(m, l);
  for (int g = 0; g < m->plan->n_groups; g++)
    if (mafat_cut_has_parts(&m->plan->groups[g].cut)) note_parts(m, g);
  for (int i = m->network->n_layers; i < inputs_end; i++) note_input(m, i);
}
