/* Distributes the parts of a plan among ranks and plans their messages (rank_parts.h). Called by
 * predictor/ (planning/lay.c, cost/rank_latency.c, layout/buffers.c, schedule/fetches.c) and
 * runner/weights. Changes the plan; allocates from its heap.
 *
 * Each part has a number, which is the same on all ranks: its position in the execution order of
 * the parts of all ranks. */
#include "predictor/ranks/rank_parts.h"

#include "base/blocks.h"
#include "base/part.h"
#include "network/constant.h"
#include "predictor/plan/packing.h"
#include "predictor/plan/parts.h"
#include "predictor/plan/usage.h"

#include <string.h>

/* Message that carries a part's output, or a region of it, to another rank. */
struct message {
  int part;             /* part that it carries */
  int to;               /* receiving rank */
  int first;            /* part before which it is received; if it is the number of parts, it is
                           received after all parts */
  struct mafat_box box; /* region of the part that is sent */
  bool sums;            /* the message carries sums that the receiver continues */
  int next_made, next_wanted; /* index of the next message that carries the same part; index of the
                                 next message with the same `first`; -1: none */
};

/* Region of a part that another rank needs. */
struct box_want {
  struct mafat_box box; /* empty: the rank needs nothing of the part */
  int first;            /* first part of that rank that needs the region */
};

/* State of taking the parts of one rank (plan->rank) from a plan. */
struct taker {
  struct mafat_plan *plan;
  const struct mafat_network *network;
  const struct mafat_plan_options *options;
  struct mafat_layer_part *all; /* (n) parts of all ranks */
  int n, n_ranks;
  int *rank;                 /* [part]: its rank */
  int *newest, *before;      /* newest[layer or input]: its last part in the list; before[part]: the
                                previous part of the same layer or input; -1: none */
  int *continued_by;         /* [part]: part that continues its sums; -1: none */
  struct box_want *wants;    /* [part * n_ranks + rank] */
  struct message *messages;  /* (n_messages) in the order of the parts that they carry */
  int n_messages;
  int *made, *wanted;        /* made[part]: first message that carries the part; wanted[part]: first
                                message that is received before the part, wanted[n]: first message
                                that is received after all parts; -1: none */
  struct mafat_layer_part *list; /* parts and messages of the plan's rank */
  int n_list;
};

/* ---- ranks ---- */

/* Number of a part among the parts of its layer, counted by rows, then columns, then channels. */
static int ordinal(const struct mafat_partition *c, const struct mafat_layer_part *p)
{
  const int at[MAFAT_N_SPLIT_AXES] = {p->out.y.begin, p->out.x.begin,
                                      c->sums ? p->channels.begin : p->filters.begin};
  int number = 0;
  for (int axis = 0; axis < MAFAT_N_SPLIT_AXES; axis++) {
    int i = 0;
    while (c->bounds[axis] && i + 1 < c->n[axis] && at[axis] >= c->bounds[axis][i + 1]) i++;
    number = number * c->n[axis] + i;
  }
  return number;
}

/* Rank of a layer that is not divided. */
static int rank_of_whole(const struct mafat_plan *plan, int layer)
{
  int rank = 0;
  for (int i = 0; i < plan->ranks.n_words; i++) {
    struct mafat_span layers = plan->ranks.words[i].layers;
    if (layer >= layers.begin && layer < layers.end) rank = plan->ranks.words[i].rank;
  }
  return rank;
}

int mafat_rank_parts_of(const struct mafat_plan *plan, const struct mafat_network *n,
                        const struct mafat_layer_part *part)
{
  const struct mafat_partition *c = &plan->parts->partitions[part->layer];
  int n_parts = mafat_partition_n_parts(c), n_used = mafat_min(n_parts, plan->ranks.n);
  if (mafat_layer_is_input(&n->layers[part->layer])) return 0;
  if (n_parts == 1) return rank_of_whole(plan, part->layer);
  /* consecutive parts in n_used shares of nearly equal size: ranks 1, 2, ..., n_used - 1, 0 */
  return ((int)((long long)ordinal(c, part) * n_used / n_parts) + 1) % n_used;
}

/* ---- producers ---- */

static int channels_of(const struct taker *t, int layer)
{
  return mafat_layer_channels(&t->network->layers[mafat_plan_reader(t->plan, layer)]);
}

/* True if the part's output is complete. False if later parts continue its sums. */
static bool is_last(const struct taker *t, const struct mafat_layer_part *p)
{
  return !t->plan->parts->partitions[p->layer].sums || p->channels.end == channels_of(t, p->layer);
}

/* True if two parts of one layer have the same box. */
static bool same_box(struct mafat_box a, struct mafat_box b)
{
  return a.y.begin == b.y.begin && a.x.begin == b.x.begin;
}

/* Fills newest, before, rank and continued_by. */
static void find_makers(struct taker *t)
{
  for (int i = 0; i < mafat_network_n_tensors(t->network); i++) t->newest[i] = -1;
  for (int i = 0; i < t->n; i++) {
    struct mafat_layer_part *p = &t->all[i];
    t->rank[i] = mafat_rank_parts_of(t->plan, t->network, p);
    t->before[i] = t->newest[p->layer];
    t->newest[p->layer] = i;
    t->continued_by[i] = -1;
    for (int k = t->before[i]; k >= 0 && t->plan->parts->partitions[p->layer].sums;
         k = t->before[k])
      if (same_box(t->all[k].out, p->out) && t->all[k].channels.end == p->channels.begin)
        t->continued_by[k] = i;
  }
}

/* Parts that continue each other's sums form a chain. At the end of the chain, one or several parts
 * run on the same rank as the last one. Returns the first of these. part: any part of the chain. */
static int last_stretch(const struct taker *t, int part)
{
  while (t->continued_by[part] >= 0) part = t->continued_by[part];
  for (int k = t->before[part], next = part; k >= 0; k = t->before[k]) {
    if (!same_box(t->all[k].out, t->all[part].out)) continue;
    if (t->continued_by[k] != next || t->rank[k] != t->rank[part]) return next;
    next = part = k;
  }
  return part;
}

/* For options->sums_apart: makes each rank begin its sums at zero and send them to the rank with
 * the last channels, which adds them. */
static void set_apart(struct taker *t)
{
  for (int i = t->n - 1; i >= 0; i--) {
    struct mafat_layer_part *p = &t->all[i];
    if (!t->plan->parts->partitions[p->layer].sums ||
        mafat_layer_sums_integers(&t->network->layers[p->layer]) || p->channels.begin > 0)
      continue;
    int target = last_stretch(t, i);
    for (int k = i, next; k != target && k >= 0; k = next) {
      next = t->continued_by[k];
      if (next < 0 || t->rank[next] == t->rank[k]) continue;
      t->all[next].apart = next != target;
      t->continued_by[k] = target;
    }
  }
}

/* ---- readers ---- */

static struct mafat_span clip(struct mafat_span a, struct mafat_span b)
{
  return mafat_span(mafat_max(a.begin, b.begin), mafat_min(a.end, b.end));
}

static bool meet(struct mafat_span a, struct mafat_span b)
{
  return a.begin < b.end && b.begin < a.end;
}

/* Smallest span that contains both. */
static struct mafat_span around(struct mafat_span a, struct mafat_span b)
{
  return mafat_span(mafat_min(a.begin, b.begin), mafat_max(a.end, b.end));
}

/* Notes that `rank` needs a box of `part` to compute its own part `first`, unless it computes
 * `part` itself. */
static void want(struct taker *t, int part, int rank, struct mafat_box box, int first)
{
  struct box_want *w = &t->wants[(size_t)part * (size_t)t->n_ranks + (size_t)rank];
  if (rank == t->rank[part]) return;
  if (mafat_box_is_empty(w->box)) *w = (struct box_want){box, first};
  w->box = (struct mafat_box){around(w->box.y, box.y), around(w->box.x, box.x)};
}

/* Notes the regions of other parts that part `reader` reads. */
static void want_reads(struct taker *t, int reader)
{
  struct mafat_buffer_walk w = mafat_parts_reads(t->plan, t->network, &t->all[reader]);
  while (mafat_parts_reads_next(&w)) {
    struct mafat_maker m = mafat_network_maker(t->network, w.tensor);
    const struct mafat_layer *l = &t->network->layers[m.layer];
    struct mafat_box wanted = mafat_layer_first_box(l, m.output, w.wanted.box);
    for (int i = t->newest[m.layer]; i >= 0; i = t->before[i]) {
      const struct mafat_layer_part *p = &t->all[i];
      if (is_last(t, p) && meet(p->out.y, wanted.y) && meet(p->out.x, wanted.x) &&
          meet(mafat_layer_out_channels(l, m.output, p->filters), w.wanted.channels))
        want(t, i, t->rank[reader],
             (struct mafat_box){clip(p->out.y, wanted.y), clip(p->out.x, wanted.x)}, reader);
    }
  }
}

/* True if any of the layer's outputs is an output of the network. */
static bool is_put_out(const struct taker *t, const struct mafat_usage *usage, int layer)
{
  bool any = false;
  for (int k = 0; k < mafat_layer_n_outputs(&t->network->layers[layer]); k++)
    any = any || usage[mafat_network_output(t->network, layer, k)].last_use == t->plan->n_layers;
  return any;
}

/* Fills t->wants: what the parts of each rank read, sums that they continue, and outputs of the
 * network, which rank 0 gets. */
static void find_wants(struct taker *t, const struct mafat_usage *usage)
{
  for (int i = 0; i < t->n; i++) {
    if (!mafat_layer_is_input(&t->network->layers[t->all[i].layer])) want_reads(t, i);
    int next = t->continued_by[i];
    if (next >= 0) want(t, i, t->rank[next], t->all[i].out, next);
  }
  for (int i = 0; i < t->n; i++)
    if (is_put_out(t, usage, t->all[i].layer) && is_last(t, &t->all[i]))
      want(t, i, 0, t->all[i].out, t->n);
}

/* ---- messages ---- */

/* Makes a message for each region in t->wants, and links the lists of messages. */
static int find_messages(struct taker *t)
{
  size_t n = 0;
  for (size_t i = 0; i < (size_t)t->n * (size_t)t->n_ranks; i++)
    n += !mafat_box_is_empty(t->wants[i].box);
  t->messages = mafat_heap_calloc(t->plan->heap, n + 1, sizeof *t->messages);
  if (!t->messages) return MAFAT_ENOMEM;
  for (int i = 0; i <= t->n; i++) t->made[i] = t->wanted[i] = -1;
  for (int i = 0; i < t->n; i++)
    for (int r = 0; r < t->n_ranks; r++) {
      const struct box_want *w = &t->wants[(size_t)i * (size_t)t->n_ranks + (size_t)r];
      if (!mafat_box_is_empty(w->box))
        t->messages[t->n_messages++] = (struct message){
            .part = i, .to = r, .first = w->first, .box = w->box, .sums = t->continued_by[i] >= 0};
    }
  /* Each message is put at the beginning of two lists; from the last one to the first, so that the
   * lists are in ascending order. */
  for (int m = t->n_messages - 1; m >= 0; m--) {
    struct message *message = &t->messages[m];
    message->next_made = t->made[message->part];
    message->next_wanted = t->wanted[message->first];
    t->made[message->part] = t->wanted[message->first] = m;
  }
  return MAFAT_OK;
}

/* ---- parts of this rank ---- */

/* Appends a message to this rank's list, as a part that sends, awaits or receives it. */
static void add_exchange(struct taker *t, int number, enum mafat_part_act act)
{
  const struct message *m = &t->messages[number];
  struct mafat_layer_part part = t->all[m->part];
  part.out = m->box;
  part.act = act;
  part.peer = act == MAFAT_PART_RECEIVE ? t->rank[m->part] : m->to;
  part.message = number;
  part.sums = m->sums;
  part.apart = false;
  part.channels = mafat_span(0, part.channels.end);
  t->list[t->n_list++] = part;
}

/* Appends messages that their receivers need before part `first`. If `received`, these are the
 * messages to this rank; else a wait for each message that this rank sends, until it is sent. */
static void add_wanted(struct taker *t, int first, bool received)
{
  bool sums = false;
  for (int m = t->wanted[first]; m >= 0; m = t->messages[m].next_wanted) {
    if (received && t->messages[m].to == t->plan->rank) {
      add_exchange(t, m, MAFAT_PART_RECEIVE);
      t->list[t->n_list - 1].adds = t->messages[m].sums && sums;
      sums = sums || t->messages[m].sums;
    }
    if (!received && t->rank[t->messages[m].part] == t->plan->rank)
      add_exchange(t, m, MAFAT_PART_WAIT);
  }
}

/* Appends part i if this rank runs it, and the messages before and after it. */
static void add_part(struct taker *t, int i)
{
  bool own = t->rank[i] == t->plan->rank;
  add_wanted(t, i, true);
  if (own) t->list[t->n_list++] = t->all[i];
  for (int m = own ? t->made[i] : -1; m >= 0; m = t->messages[m].next_made)
    add_exchange(t, m, MAFAT_PART_SEND);
  add_wanted(t, i, false);
}

/* Makes the list of this rank's parts and messages. */
static int make_list(struct taker *t)
{
  struct mafat_parts *parts = t->plan->parts;
  t->list = mafat_heap_calloc(t->plan->heap, (size_t)t->n + 2 * (size_t)t->n_messages + 1,
                              sizeof *t->list);
  if (!t->list) return MAFAT_ENOMEM;
  for (int g = 0, i = 0; g < t->plan->n_groups; g++) {
    /* t->all has the whole inputs first, which parts->at does not count */
    int end = parts->at[g + 1] + t->n - parts->n;
    parts->at[g] = t->n_list;
    for (; i < end; i++) add_part(t, i);
  }
  add_wanted(t, t->n, true);
  add_wanted(t, t->n, false);
  parts->at[t->plan->n_groups] = t->n_list;
  return MAFAT_OK;
}

static struct mafat_span along(struct mafat_box box, enum mafat_split_axis axis)
{
  return axis == MAFAT_ALONG_H ? box.y : box.x;
}

/* Region of output m.output of a part that this rank computes or receives; empty: none. */
static struct mafat_box own_region(const struct taker *t, int part, struct mafat_maker m)
{
  const int own = t->plan->rank;
  struct mafat_box box = t->rank[part] == own
                             ? t->all[part].out
                             : t->wants[(size_t)part * (size_t)t->n_ranks + (size_t)own].box;
  return mafat_layer_out_box(&t->network->layers[m.layer], m.output, box);
}

/* Marks the bounds of this rank's regions of a tensor along an axis; if `together`, only the bounds
 * of the span around all regions. False if a bound is inside a region, because a region must be in
 * one partition buffer. This occurs if the rank has several parts of a grid. */
static bool mark_bounds(const struct taker *t, int tensor, enum mafat_split_axis axis,
                        bool together, bool *marks)
{
  const struct mafat_maker m = mafat_network_maker(t->network, tensor);
  struct mafat_span all = {0, 0};
  for (int i = t->newest[m.layer]; i >= 0; i = t->before[i]) {
    struct mafat_span span = along(own_region(t, i, m), axis);
    if (mafat_box_is_empty(own_region(t, i, m))) continue;
    all = mafat_span_is_empty(all) ? span : around(all, span);
    if (!together) marks[span.begin] = marks[span.end] = true;
  }
  if (together) marks[all.begin] = marks[all.end] = true;
  for (int i = t->newest[m.layer]; i >= 0; i = t->before[i]) {
    struct mafat_span span = along(own_region(t, i, m), axis);
    for (int at = span.begin + 1; at < span.end; at++)
      if (marks[at]) return false;
  }
  return true;
}

/* Divides a tensor along one axis at the bounds of the regions that this rank computes or receives.
 * MAFAT_ENOMEM. */
static int recut_axis(struct taker *t, int tensor, enum mafat_split_axis axis, int size)
{
  const bool together = t->plan->parts->across[tensor];
  struct mafat_partition *c = &t->plan->parts->partitions[tensor];
  int n = 0;
  bool *marks = mafat_heap_calloc(t->plan->heap, (size_t)size + 1, sizeof *marks);
  int *bounds = mafat_heap_calloc(t->plan->heap, (size_t)size + 1, sizeof *bounds);
  bool there = marks && bounds, changes = there && mark_bounds(t, tensor, axis, together, marks);
  if (changes) {
    marks[size] = true;
    for (int i = 0; c->bounds[axis] && !together && i <= c->n[axis]; i++)
      marks[c->bounds[axis][i]] = true;
    for (int at = 1; at <= size; at++)
      if (marks[at]) bounds[++n] = at;
    mafat_heap_free(t->plan->heap, c->bounds[axis]);
    c->bounds[axis] = bounds;
    c->n[axis] = n;
  } else {
    mafat_heap_free(t->plan->heap, bounds);
  }
  mafat_heap_free(t->plan->heap, marks);
  return there ? MAFAT_OK : MAFAT_ENOMEM;
}

/* Divides a tensor with parts along rows or columns anew, at the bounds of this rank's regions, so
 * that the rank stores only these regions. If some part reads several parts of one row, the rank
 * gets one buffer that includes all regions. */
static int recut(struct taker *t, int tensor)
{
  struct mafat_parts *parts = t->plan->parts;
  const struct mafat_partition *c = &parts->partitions[tensor];
  struct mafat_shape s = mafat_network_tensor_shape(t->network, tensor);
  bool columns = c->n[MAFAT_ALONG_W] > 1;
  if ((!parts->partitioned[tensor] && !parts->across[tensor]) || c->sums || c->n[MAFAT_ALONG_C] > 1)
    return MAFAT_OK;
  int code = recut_axis(t, tensor, MAFAT_ALONG_H, s.h);
  if (code == MAFAT_OK && columns) code = recut_axis(t, tensor, MAFAT_ALONG_W, s.w);
  parts->partitioned[tensor] = true;
  return code;
}

/* ---- weights ---- */

/* True if some panels of the layer can be read from the weights file without the others. */
static bool has_own_panels(const struct taker *t, int layer)
{
  const struct mafat_layer *l = &t->network->layers[layer];
  const struct mafat_constants *c = t->network->constants;
  enum mafat_order order =
      c ? (enum mafat_order)c->layers[layer].weights.order : MAFAT_ORDER_FILTERS;
  if (mafat_plan_must_keep(t->options, l)) return false;
  return mafat_layer_has_panels(l) && !mafat_layer_is_grouped(l) &&
         (order == MAFAT_ORDER_READY || mafat_order_has_filters(order));
}

/* Extends own_channels by the channels that a part sums. Only of float weights that stay in memory
 * from run to run can a rank keep some channels without the others. */
static void add_channels(struct taker *t, const struct mafat_layer_part *p)
{
  const struct mafat_layer *l = &t->network->layers[p->layer];
  struct mafat_span *own = &t->plan->own_channels[p->layer];
  if (!t->plan->parts->partitions[p->layer].sums || t->plan->placement[p->layer] != MAFAT_KEPT ||
      l->weights_type != MAFAT_F32)
    return;
  if (mafat_span_is_empty(*own)) *own = p->channels;
  *own = mafat_span(mafat_min(own->begin, p->channels.begin), mafat_max(own->end, p->channels.end));
}

/* Fills own_channels, and own_filters: the panels whose weights this rank's parts need. For layers
 * without parts on this rank, such as fused ones, own_filters has all filters. */
static int find_own_filters(struct taker *t)
{
  struct mafat_plan *plan = t->plan;
  plan->own_filters =
      mafat_heap_calloc(plan->heap, (size_t)plan->n_layers + 1, sizeof *plan->own_filters);
  plan->own_channels =
      mafat_heap_calloc(plan->heap, (size_t)plan->n_layers + 1, sizeof *plan->own_channels);
  if (!plan->own_filters || !plan->own_channels) return MAFAT_ENOMEM;
  for (int i = 0; i < plan->parts->n; i++) {
    const struct mafat_layer_part *p = &plan->parts->list[i];
    if (p->act || p->layer >= plan->n_layers || !has_own_panels(t, p->layer)) continue;
    add_channels(t, p);
    struct mafat_span *own = &plan->own_filters[p->layer];
    int begin = p->filters.begin / MAFAT_PANEL * MAFAT_PANEL;
    int end =
        mafat_min(mafat_round_up(p->filters.end, MAFAT_PANEL), t->network->layers[p->layer].out.c);
    if (mafat_span_is_empty(*own)) *own = mafat_span(begin, end);
    *own = mafat_span(mafat_min(own->begin, begin), mafat_max(own->end, end));
  }
  for (int l = 0; l < plan->n_layers; l++)
    if (mafat_span_is_empty(plan->own_filters[l]))
      plan->own_filters[l] = mafat_span(0, t->network->layers[l].out.c);
  return MAFAT_OK;
}

/* ---- entry points ---- */

/* Fills t->all: first a part for each input that is read as a whole, then the plan's parts. */
static int collect(struct taker *t, const struct mafat_usage *usage)
{
  const struct mafat_parts *parts = t->plan->parts;
  t->all = mafat_heap_calloc(t->plan->heap, (size_t)parts->n + (size_t)t->network->n_inputs + 1,
                             sizeof *t->all);
  if (!t->all) return MAFAT_ENOMEM;
  for (int i = t->network->n_layers; i < mafat_network_n_operators(t->network); i++) {
    struct mafat_shape s = mafat_network_tensor_shape(t->network, i);
    if (!usage[i].needed || mafat_parts_partition(t->plan, i)) continue;
    t->all[t->n++] = (struct mafat_layer_part){
        .layer = i, .out = mafat_box_full(s.h, s.w), .filters = {0, s.c}, .channels = {0, s.c}};
  }
  memcpy(t->all + t->n, parts->list, (size_t)parts->n * sizeof *t->all);
  t->n += parts->n;
  return MAFAT_OK;
}

/* Allocates the lists; mafat_rank_parts_take frees them. */
static int open_taker(struct taker *t)
{
  struct mafat_heap *heap = t->plan->heap;
  size_t n = (size_t)t->n + 1, n_tensors = (size_t)mafat_network_n_tensors(t->network);
  t->rank = mafat_heap_calloc(heap, n, sizeof *t->rank);
  t->newest = mafat_heap_calloc(heap, n_tensors, sizeof *t->newest);
  t->before = mafat_heap_calloc(heap, n, sizeof *t->before);
  t->continued_by = mafat_heap_calloc(heap, n, sizeof *t->continued_by);
  t->wants = mafat_heap_calloc(heap, n * (size_t)t->n_ranks, sizeof *t->wants);
  t->made = mafat_heap_calloc(heap, n, sizeof *t->made);
  t->wanted = mafat_heap_calloc(heap, n, sizeof *t->wanted);
  return t->rank && t->newest && t->before && t->continued_by && t->wants && t->made && t->wanted
             ? MAFAT_OK
             : MAFAT_ENOMEM;
}

static int take(struct taker *t, struct mafat_usage *usage)
{
  mafat_usage_find(t->network, t->plan, usage);
  int code = collect(t, usage);
  if (code || (code = open_taker(t))) return code;
  find_makers(t);
  if (t->options->sums_apart) set_apart(t);
  find_wants(t, usage);
  if ((code = find_messages(t)) || (code = make_list(t))) return code;
  for (int i = 0; i < mafat_network_n_tensors(t->network) && code == MAFAT_OK; i++)
    code = recut(t, i);
  if (code) return code;
  struct mafat_layer_part *list = t->plan->parts->list;
  t->plan->parts->list = t->list;
  t->plan->parts->n = t->n_list;
  t->list = list; /* freed later */
  return find_own_filters(t);
}

int mafat_rank_parts_take(struct mafat_plan *plan, const struct mafat_network *n,
                          const struct mafat_plan_options *options, struct mafat_diagnostic *d)
{
  struct taker t = {.plan = plan, .network = n, .options = options, .n_ranks = plan->ranks.n};
  struct mafat_usage *usage =
      mafat_heap_calloc(plan->heap, (size_t)mafat_network_n_tensors(n), sizeof *usage);
  int code = usage ? take(&t, usage) : MAFAT_ENOMEM;
  void *const lists[] = {usage,   t.all,      t.rank, t.newest, t.before, t.continued_by,
                         t.wants, t.messages, t.made, t.wanted, t.list};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) mafat_heap_free(plan->heap, lists[i]);
  return code ? mafat_fail(d, code, "out of memory") : MAFAT_OK;
}

MAFAT_PART(run)
/* True if the rank keeps only some filters of the layer. */
static bool has_some(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return plan && plan->own_filters &&
         mafat_span_size(plan->own_filters[layer]) < n->layers[layer].out.c;
}

MAFAT_PART(run) bool mafat_rank_keeps_channels(const struct mafat_plan *plan, int layer)
{
  return plan && plan->own_channels && !mafat_span_is_empty(plan->own_channels[layer]);
}

MAFAT_PART(run)
/* Bytes that the rank keeps of a panel of `filters` filters: only its channels, but all scales and
 * biases. */
static size_t kept_panel_bytes(const struct mafat_plan *plan, const struct mafat_layer *l,
                               int layer, int filters)
{
  size_t width = (size_t)mafat_panel_width(filters);
  struct mafat_span own = plan->own_channels[layer];
  return mafat_panel_offset(l, width, own.end) - mafat_panel_offset(l, width, own.begin) +
         mafat_panel_affine_bytes(width);
}

MAFAT_PART(run)
size_t mafat_rank_kept_panel(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer, int first_filter)
{
  const struct mafat_layer *l = &n->layers[layer];
  size_t bytes =
      (size_t)(first_filter / MAFAT_PANEL) * kept_panel_bytes(plan, l, layer, MAFAT_PANEL);
  int rest = first_filter % MAFAT_PANEL; /* filters of the last panel, if it is not full */
  return rest ? bytes + kept_panel_bytes(plan, l, layer, rest) : bytes;
}

MAFAT_PART(run)
size_t mafat_rank_kept_before(const struct mafat_plan *plan, const struct mafat_network *n,
                              int layer)
{
  return has_some(plan, n, layer)
             ? mafat_packed_offset(&n->layers[layer], plan->own_filters[layer].begin)
             : 0;
}

MAFAT_PART(run)
size_t mafat_rank_kept_bytes(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (mafat_rank_keeps_channels(plan, layer))
    return mafat_rank_kept_panel(plan, n, layer, l->out.c);
  if (!has_some(plan, n, layer)) return mafat_packed_layer_bytes(l);
  return mafat_packed_offset(l, plan->own_filters[layer].end) -
         mafat_packed_offset(l, plan->own_filters[layer].begin);
}

MAFAT_PART(run)
uint64_t mafat_rank_part_values(const struct mafat_network *n, const struct mafat_layer_part *part,
                                int output)
{
  const struct mafat_layer *l = &n->layers[part->layer];
  uint64_t pixels = (uint64_t)mafat_box_area(mafat_layer_out_box(l, output, part->out));
  return pixels * (uint64_t)mafat_span_size(mafat_layer_out_channels(l, output, part->filters));
}
