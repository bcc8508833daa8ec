/* Implements mafat_parts_place_inputs of plan/parts.h: inserts the parts that read the network's
 * partitioned inputs, each before the first part that needs it. Called by predictor/planning/lay.c.
 * Frees plan->parts->list and replaces it by a new list from the plan's heap. */
#include "predictor/plan/parts.h"

struct placer {
  struct mafat_plan *plan;
  const struct mafat_network *network;
  struct mafat_layer_part *list; /* the new list */
  int n;
  int *done; /* [input]: number of its partition buffers whose parts are in the list */
};

static bool reads_input_partition(const struct placer *p, int layer)
{
  for (struct mafat_reads r = mafat_plan_reads(p->plan, p->network, layer); mafat_reads_next(&r);)
    if (mafat_network_is_input(p->network, r.source->tensor) &&
        mafat_parts_partition(p->plan, r.source->tensor))
      return true;
  return false;
}

/* Appends the parts that read partition buffers 0 to buffer_index of an input, without those that
 * are in the list already. */
static void read_until(struct placer *p, int input, int buffer_index)
{
  struct mafat_shape shape = mafat_network_tensor_shape(p->network, input);
  for (int *done = &p->done[input - p->network->n_layers]; *done <= buffer_index; (*done)++) {
    struct mafat_partition_buffer b =
        mafat_partition_buffer_at(mafat_parts_partition(p->plan, input), shape, *done);
    p->list[p->n++] = (struct mafat_layer_part){
        .layer = input, .out = b.box, .filters = b.channels, .channels = b.channels};
  }
}

/* Appends the parts that read the network inputs that this part needs, then the part itself. */
static void place_part(struct placer *p, const struct mafat_layer_part *part)
{
  if (reads_input_partition(p, part->layer)) {
    struct mafat_buffer_walk w = mafat_parts_reads(p->plan, p->network, part);
    while (mafat_parts_reads_next(&w))
      if (mafat_network_is_input(p->network, w.tensor) && mafat_parts_partition(p->plan, w.tensor))
        read_until(p, w.tensor, w.buffer_index);
  }
  p->list[p->n++] = *part;
}

static void place_all(struct placer *p)
{
  struct mafat_parts *parts = p->plan->parts;
  for (int g = 0, next = 0; g < p->plan->n_groups; g++) {
    int end = parts->at[g + 1];
    parts->at[g] = p->n;
    for (; next < end; next++) place_part(p, &parts->list[next]);
  }
  parts->at[p->plan->n_groups] = parts->n = p->n;
}

int mafat_parts_place_inputs(struct mafat_plan *plan, const struct mafat_network *n)
{
  struct placer p = {.plan = plan, .network = n};
  size_t more = 0;
  for (int i = n->n_layers; plan->parts && i < mafat_network_n_operators(n); i++)
    if (mafat_parts_partition(plan, i))
      more += (size_t)mafat_partition_n_buffers(mafat_parts_partition(plan, i));
  if (more == 0) return MAFAT_OK;
  p.list = mafat_heap_calloc(plan->heap, (size_t)plan->parts->n + more + 1, sizeof *p.list);
  p.done = mafat_heap_calloc(plan->heap, (size_t)n->n_inputs, sizeof *p.done);
  int code = p.list && p.done ? MAFAT_OK : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    place_all(&p);
    mafat_heap_free(plan->heap, plan->parts->list);
    plan->parts->list = p.list;
  } else {
    mafat_heap_free(plan->heap, p.list);
  }
  mafat_heap_free(plan->heap, p.done);
  return code;
}
