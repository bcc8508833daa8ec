/* Parts of a split group as operators, bricks as buffers: the order in which they run. */
#include "predictor/parts/parts.h"

#include "predictor/packing.h"
#include "predictor/usage.h"
#include "transform/sort.h"

#include <string.h>

enum { EFFORT = 10 * 1000 * 1000 }; /* looks at operators: some tenths of a second */

struct collection {
  struct mafat_plan *plan;
  const struct mafat_network *network;
  int group;
  struct mafat_usage *usage;
  struct mafat_sort_graph graph;
  struct mafat_sort_use *uses;
  int room;               /* of uses */
  int *first_buffer;      /* [operator]: of its bricks; -1: none yet */
  int *reader_of;         /* [buffer]: the last operator that was seen to use it */
  uint64_t *bytes;
  bool *kept;
  int most_buffers;
};

static int count_buffers(const struct collection *c)
{
  int n = 0;
  for (int t = 0; t < mafat_network_n_operators(c->network); t++) {
    const struct mafat_cutting *bricks = mafat_parts_bricks(c->plan, t);
    n += bricks ? mafat_cutting_n_parts(bricks) : 1;
  }
  return n;
}

static int open_collection(struct collection *c)
{
  struct mafat_heap *heap = c->plan->heap;
  size_t n = (size_t)mafat_network_n_operators(c->network);
  c->most_buffers = count_buffers(c);
  c->usage = mafat_heap_calloc(heap, n, sizeof *c->usage);
  c->first_buffer = mafat_heap_calloc(heap, n + (size_t)c->most_buffers, sizeof *c->first_buffer);
  c->bytes = mafat_heap_calloc(heap, (size_t)c->most_buffers, sizeof *c->bytes);
  c->kept = mafat_heap_calloc(heap, (size_t)c->most_buffers, sizeof *c->kept);
  if (!c->usage || !c->first_buffer || !c->bytes || !c->kept) return MAFAT_ENOMEM;
  c->reader_of = c->first_buffer + n;
  memset(c->first_buffer, -1, (n + (size_t)c->most_buffers) * sizeof *c->first_buffer);
  mafat_usage_find(c->network, c->plan, c->usage);
  c->graph.bytes = c->bytes;
  c->graph.kept = c->kept;
  return MAFAT_OK;
}

static void close_collection(struct collection *c)
{
  mafat_heap_free(c->plan->heap, c->usage);
  mafat_heap_free(c->plan->heap, c->first_buffer);
  mafat_heap_free(c->plan->heap, c->bytes);
  mafat_heap_free(c->plan->heap, c->kept);
  mafat_heap_free(c->plan->heap, c->uses);
}

/* About as the layout has it: without columns of padding. */
static uint64_t brick_bytes(const struct collection *c, int tensor, struct mafat_brick b)
{
  struct mafat_shape s = mafat_network_tensor_shape(c->network, tensor);
  uint64_t pixel = (uint64_t)mafat_pixel_width_of(s.c, b.channels);
  return mafat_dtype_bytes(mafat_network_tensor_type(c->network, tensor), pixel * (uint64_t)mafat_box_area(b.box));
}

/* What lives beyond the group is there in any order. */
static bool is_kept(const struct collection *c, int tensor)
{
  return c->usage[tensor].external;
}

static int buffer_of(struct collection *c, int tensor, int brick)
{
  const struct mafat_cutting *bricks = mafat_parts_bricks(c->plan, tensor);
  struct mafat_shape s = mafat_network_tensor_shape(c->network, tensor);
  int n = bricks ? mafat_cutting_n_parts(bricks) : 1;
  if (c->first_buffer[tensor] >= 0) return c->first_buffer[tensor] + brick;
  c->first_buffer[tensor] = c->graph.n_buffers;
  for (int i = 0; i < n; i++, c->graph.n_buffers++) {
    struct mafat_brick whole = {mafat_box_full(s.h, s.w), mafat_span(0, s.c)};
    c->bytes[c->graph.n_buffers] = brick_bytes(c, tensor, bricks ? mafat_bricks_at(bricks, s, i) : whole);
    c->kept[c->graph.n_buffers] = is_kept(c, tensor);
  }
  return c->first_buffer[tensor] + brick;
}

static int note_use(struct collection *c, int operator, int tensor, int brick, bool makes)
{
  int buffer = buffer_of(c, tensor, brick);
  if (c->reader_of[buffer] == operator) return MAFAT_OK;
  c->reader_of[buffer] = operator;
  if (c->graph.n_uses == c->room) {
    int room = 2 * c->room + 64;
    struct mafat_sort_use *grown = mafat_heap_realloc(c->plan->heap, c->uses, (size_t)room * sizeof *grown);
    if (!grown) return MAFAT_ENOMEM;
    c->uses = grown;
    c->room = room;
  }
  c->uses[c->graph.n_uses++] = (struct mafat_sort_use){.operator = operator, .buffer = buffer, .makes = makes};
  return MAFAT_OK;
}

static int collect(struct collection *c)
{
  const struct mafat_parts *parts = c->plan->parts;
  int code = MAFAT_OK;
  for (int p = parts->at[c->group]; p < parts->at[c->group + 1] && code == MAFAT_OK; p++) {
    const struct mafat_layer_part *part = &parts->list[p];
    int operator = c->graph.n_operators++;
    struct mafat_brick_walk w = mafat_parts_reads(c->plan, c->network, part);
    while (code == MAFAT_OK && mafat_parts_reads_next(&w)) code = note_use(c, operator, w.tensor, w.brick, false);
    if (code == MAFAT_OK) code = note_use(c, operator, part->layer, mafat_parts_made(c->plan, part), true);
  }
  c->graph.uses = c->uses;
  return code;
}

static int sort_parts(struct collection *c)
{
  struct mafat_heap *heap = c->plan->heap;
  struct mafat_parts *parts = c->plan->parts;
  struct mafat_layer_part *list = parts->list + parts->at[c->group];
  struct mafat_sorter *s = NULL;
  struct mafat_sorted sorted;
  size_t n = (size_t)c->graph.n_operators;
  int *order = mafat_heap_calloc(heap, n + 1, sizeof *order);
  struct mafat_layer_part *room = mafat_heap_calloc(heap, n + 1, sizeof *room);
  int code = order && room ? mafat_sorter_open(&s, &c->graph, heap) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = mafat_sort(s, c->plan->sorting, EFFORT, order, &sorted);
  if (code == MAFAT_OK) {
    memcpy(room, list, n * sizeof *room);
    for (size_t i = 0; i < n; i++) list[i] = room[order[i]];
  }
  mafat_sorter_close(&s);
  mafat_heap_free(heap, order);
  mafat_heap_free(heap, room);
  return code;
}

int mafat_parts_sort(struct mafat_plan *plan, const struct mafat_network *n)
{
  int code = MAFAT_OK;
  if (plan->sorting == MAFAT_SORT_FILE) return MAFAT_OK;
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++) {
    struct collection c = {.plan = plan, .network = n, .group = g};
    if (plan->groups[g].cut.kind != MAFAT_CUT_SPLIT) continue;
    code = open_collection(&c);
    if (code == MAFAT_OK) code = collect(&c);
    if (code == MAFAT_OK) code = sort_parts(&c);
    close_collection(&c);
  }
  return code;
}
