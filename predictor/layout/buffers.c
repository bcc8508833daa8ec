/* Creates the buffers of a layout, with sizes and lifetimes; maker.c assigns their offsets. Called
 * by maker.c after lives.c and extents.c. Fills the layout that the caller allocated; frees its own
 * temporary arrays. */
#include "predictor/layout/maker.h"

#include "predictor/schedule/fetches.h"
#include "predictor/plan/fusion.h"
#include "predictor/plan/parts.h"
#include "predictor/ranks/rank_parts.h"

#include <assert.h>
#include <limits.h>

/* Appends a buffer, its size rounded up to 64 bytes; returns its index. */
static int add_buffer(struct mafat_layout_maker *m, enum mafat_tag tag, int tensor, size_t bytes,
                      struct mafat_times times)
{
  struct mafat_layout *layout = m->layout;
  layout->buffers[layout->n_buffers] =
      (struct mafat_buffer){tag, tensor, (bytes + 63) / 64 * 64, 0, times.first, times.last};
  return layout->n_buffers++;
}

static enum mafat_tag map_tag(const struct mafat_layout_maker *m, int tensor)
{
  return mafat_network_is_input(m->network, tensor) ? MAFAT_TAG_INPUT : MAFAT_TAG_ACTIVATIONS;
}

/* Bytes of a partition buffer, with the padding columns that it contains. */
static size_t partition_buffer_bytes(const struct mafat_layout_maker *m, int tensor,
                                     struct mafat_partition_buffer b)
{
  const struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  struct mafat_shape shape = mafat_network_tensor_shape(m->network, tensor);
  int cols = mafat_span_size(b.box.x) + (b.box.x.begin == 0 ? t->left : 0) +
             (b.box.x.end == shape.w ? t->right : 0);
  uint64_t pixels = (uint64_t)cols * (uint64_t)mafat_span_size(b.box.y);
  return (size_t)mafat_dtype_bytes(
      mafat_network_tensor_type(m->network, tensor),
      pixels *
          (uint64_t)mafat_partition_pixel(m->layout->tensors[tensor].partition, shape, b.channels));
}

/* Creates the partition buffers of a tensor. */
static void size_partition_buffers(struct mafat_layout_maker *m, int tensor)
{
  struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  const struct mafat_partition *c = t->partition;
  int n = mafat_partition_n_buffers(c);
  t->of_rows = c->n[MAFAT_ALONG_W] == 1 && (c->sums || c->n[MAFAT_ALONG_C] == 1) && !c->lanes;
  if (t->of_rows) {
    struct mafat_shape shape = mafat_network_tensor_shape(m->network, tensor);
    t->rows = shape.h;
    t->cols = t->left + shape.w + t->right;
    t->row_bytes = (size_t)mafat_pixel_width(shape.c) * (size_t)t->cols * t->element_bytes;
  }
  for (int i = 0; i < n; i++) {
    struct mafat_partition_buffer b =
        mafat_partition_buffer_at(t->partition, mafat_network_tensor_shape(m->network, tensor), i);
    struct mafat_times times = m->partition_buffers[m->first_partition_buffer[tensor] + i];
    bool read = times.first <= times.last; /* rows of an input may have no reader */
    int buffer = add_buffer(m, map_tag(m, tensor), tensor,
                            read ? partition_buffer_bytes(m, tensor, b) : 0, times);
    if (i == 0) t->buffer = buffer;
  }
}

/* Tensor that owns the buffer of this one: itself, or the end of a chain of sharing tensors. */
static int owner_of(const struct mafat_layout_maker *m, int tensor)
{
  for (int other; (other = mafat_plan_shares_with(m->plan, tensor)) >= 0; tensor = other) {}
  return tensor;
}

/* Finds the number of row slots of each in-place ring, which several maps share: enough for each
 * map alone, and for the rows of the map that it overwrites plus the overlap distance. */
static void size_rings(struct mafat_layout_maker *m)
{
  const int *ring_shared_with = m->plan->ring_shared_with,
            *overlap_distance = m->plan->overlap_distance;
  for (int l = 0; l < m->plan->n_layers; l++) {
    if (ring_shared_with[l] < 0) continue;
    int *slots = &m->slots[owner_of(m, l)];
    *slots = mafat_max(*slots, mafat_max(m->extents[l].rows, m->extents[ring_shared_with[l]].rows +
                                                                 overlap_distance[l]));
  }
}

/* Sets a tensor's number of row slots, and the slot of its row 0. A tensor that overwrites another
 * one in a ring begins overlap_distance slots before that one. */
static void find_slots(struct mafat_layout_maker *m, int tensor)
{
  struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  int owner = owner_of(m, tensor);
  t->rows = mafat_max(m->extents[tensor].rows, m->slots[owner]);
  for (int other; tensor != owner; tensor = other) {
    other = mafat_plan_shares_with(m->plan, tensor);
    t->first_slot = (t->first_slot + t->rows - m->plan->overlap_distance[tensor]) % t->rows;
  }
}

static int size_tensor(struct mafat_layout_maker *m, int tensor);

/* Gives the tensor the buffer of the tensor that it overwrites, and extends the buffer's lifetime.
 * Returns the buffer; -1: sizes overflow. */
static int share_place(struct mafat_layout_maker *m, int tensor)
{
  int other = mafat_plan_shares_with(m->plan, tensor);
  if (m->layout->tensors[other].buffer < 0 && size_tensor(m, other)) return -1;
  const struct mafat_tensor_layout *t = &m->layout->tensors[tensor],
                                   *place = &m->layout->tensors[other];
  assert(place->buffer >= 0 && t->rows == place->rows && t->cols == place->cols &&
         t->row_bytes == place->row_bytes);
  struct mafat_buffer *b = &m->layout->buffers[place->buffer];
  b->first = mafat_min(b->first, m->lives[tensor].first);
  b->last = mafat_max(b->last, m->lives[tensor].last);
  return place->buffer;
}

/* Finds the row size and slots of a tensor, and creates its buffer or shares that of another
 * tensor. */
static int size_tensor(struct mafat_layout_maker *m, int tensor)
{
  struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  const struct mafat_extent *e = &m->extents[tensor];
  enum mafat_dtype type = mafat_network_tensor_type(m->network, tensor);
  /* set also for a tensor of which nothing is held: it may be in the first band of an operand */
  t->element_bytes = (unsigned char)mafat_dtype_bytes(type, 1);
  if (e->rows == 0) return MAFAT_OK;
  if (t->buffer >= 0) return MAFAT_OK; /* already set by a tensor that shares it */
  t->external = m->schedule->usage[tensor].external && !t->partition;
  find_slots(m, tensor);
  t->cols = e->cols;
  uint64_t row_bytes = mafat_dtype_bytes(type, (uint64_t)e->pixel_width * (uint64_t)t->cols);
  size_t bytes;
  t->row_bytes = (size_t)row_bytes;
  if (row_bytes > SIZE_MAX || __builtin_mul_overflow(t->row_bytes, (size_t)t->rows, &bytes) ||
      bytes > SIZE_MAX / 4)
    return MAFAT_ELIMIT;
  if (t->partition) {
    size_partition_buffers(m, tensor);
    return MAFAT_OK;
  }
  if (owner_of(m, tensor) != tensor)
    return (t->buffer = share_place(m, tensor)) < 0 ? MAFAT_ELIMIT : MAFAT_OK;
  t->buffer = add_buffer(m, map_tag(m, tensor), tensor, bytes, m->lives[tensor]);
  return MAFAT_OK;
}

static int size_outputs(struct mafat_layout_maker *m, int layer)
{
  int code = MAFAT_OK;
  for (int k = 0; k < mafat_layer_n_outputs(&m->network->layers[layer]) && code == MAFAT_OK; k++)
    code = size_tensor(m, mafat_network_output(m->network, layer, k));
  return code;
}

/* Returns the scratch buffer of a layer. Scratch is dead after each step, so layers whose steps
 * alternate share one buffer, which is large enough for each of them. */
static int share_scratch(struct mafat_layout_maker *m, int layer, size_t bytes)
{
  struct mafat_layout *layout = m->layout;
  const struct mafat_group *g = mafat_plan_group(m->plan, layer);
  if (!mafat_group_takes_turns(g))
    return add_buffer(m, MAFAT_TAG_SCRATCH, layer, bytes, mafat_times_of_step(m, layer));
  for (int i = g->at.begin; m->plan->members[i] != layer; i++) {
    int shared = layout->scratch_buffers[m->plan->members[i]];
    if (shared < 0) continue;
    size_t rounded = (bytes + 63) / 64 * 64;
    if (layout->buffers[shared].bytes < rounded) layout->buffers[shared].bytes = rounded;
    return shared;
  }
  return add_buffer(m, MAFAT_TAG_SCRATCH, layer, bytes, mafat_times_of_group(g));
}

static int size_scratch(struct mafat_layout_maker *m, int layer)
{
  const struct mafat_extent *e = &m->extents[layer];
  m->layout->scratch_buffers[layer] = -1;
  if (e->out_rows == 0) return MAFAT_OK;
  /* parts have their own scratch: size_part_scratch */
  if (mafat_cut_has_parts(&mafat_plan_group(m->plan, layer)->cut)) return MAFAT_OK;
  struct mafat_scratch *s = &m->layout->scratch[layer];
  int code = mafat_scratch_plan(m->plan, m->network, layer, e->out_rows, e->out_cols, s);
  size_t bytes = mafat_scratch_bytes(s, m->layout->n_workers);
  if (code || bytes == 0) return code;
  if (bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
  m->layout->scratch_buffers[layer] = share_scratch(m, layer, bytes);
  return MAFAT_OK;
}

/* Creates a buffer for the integer sums of each part of the map, if the layer sums its input
 * channels in several parts. */
static int size_sums(struct mafat_layout_maker *m, int layer)
{
  const struct mafat_layer *l = &m->network->layers[layer];
  if (!mafat_parts_keep_sums(m->plan, m->network, layer)) return MAFAT_OK;
  const struct mafat_partition *c = &m->plan->parts->partitions[layer];
  m->layout->sums_buffers[layer] = m->layout->n_buffers;
  for (int i = 0; i < mafat_partition_n_buffers(c); i++) {
    uint64_t bytes = mafat_parts_sums_bytes(l, mafat_partition_buffer_at(c, l->out, i).box);
    if (bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
    add_buffer(m, MAFAT_TAG_SCRATCH, layer, (size_t)bytes,
               m->partition_buffers[m->first_sums[layer] + i]);
  }
  return MAFAT_OK;
}

/* True if the plan's rank has parts of the layer. */
static bool runs_here(const struct mafat_layout_maker *m, int layer)
{
  return m->plan->rank < 0 || m->parts[layer].first <= m->parts[layer].last;
}

/* Creates the buffer of a video frame, which exists before the first step. It lives until it has
 * been converted: all at once at time 0, or row by row until the input's last row is read. If
 * plan->frame_stays, it lives to the end of the run. */
static int size_frame(struct mafat_layout_maker *m)
{
  int picture = m->layout->picture;
  const struct mafat_times *input = &m->lives[picture];
  bool by_rows = m->plan->group_of[picture] >= 0 || m->layout->tensors[picture].partition;
  struct mafat_times times = {0, by_rows && input->last > 0 ? input->last : 0};
  if (m->plan->frame_bytes == 0) return MAFAT_OK;
  if (m->plan->frame_bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
  if (m->plan->frame_stays) times.last = 2 * m->plan->n_positions - 1;
  m->layout->frame_buffer = add_buffer(m, MAFAT_TAG_INPUT, picture, m->plan->frame_bytes, times);
  return MAFAT_OK;
}

/* Adds the kept weights of a step's layers to kept_bytes, and creates buffers for loaded
 * weights. */
static int size_weights(struct mafat_layout_maker *m, int layer)
{
  struct mafat_layout *layout = m->layout;
  for (int l = layer; l >= 0; l = mafat_fusion_inside(m->plan, l)) {
    size_t bytes = mafat_packed_layer_bytes(&m->network->layers[l]);
    if (bytes == 0 || m->plan->placement[l] == MAFAT_STREAMED) continue;
    if (bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
    if (m->plan->placement[l] == MAFAT_KEPT) bytes = mafat_rank_kept_bytes(m->plan, m->network, l);
    bytes = (bytes + 63) / 64 * 64;
    if (m->plan->placement[l] == MAFAT_LOADED)
      layout->weights_buffers[l] =
          add_buffer(m, MAFAT_TAG_WEIGHTS, l, bytes, mafat_times_of_weights(m, layer));
    else if (__builtin_add_overflow(layout->kept_bytes, bytes, &layout->kept_bytes))
      return MAFAT_ELIMIT;
  }
  return MAFAT_OK;
}

/* Creates the buffers for reading weights that are not kept: the ring, and those for a panel and
 * for scales and biases. They live from the first step that needs such weights to the last. */
static int size_io(struct mafat_layout_maker *m)
{
  struct mafat_layout *layout = m->layout;
  struct mafat_fetch_sizes sizes;
  struct mafat_times times = {INT_MAX, -1};
  int code = mafat_fetches_size(m->network, m->plan, &sizes);
  if (code) return code;
  layout->bytes_read = sizes.bytes_read;
  for (int layer = 0; layer < m->plan->n_layers; layer++) {
    if (!mafat_schedule_runs(m->schedule, layer)) continue;
    struct mafat_times step = mafat_times_of_weights(m, layer);
    for (int l = layer; l >= 0; l = mafat_fusion_inside(m->plan, l)) {
      if (m->plan->placement[l] == MAFAT_KEPT) continue;
      if (step.first < times.first) times.first = step.first;
      if (step.last > times.last) times.last = step.last;
    }
  }
  if (times.last < 0) return MAFAT_OK;
  const size_t bytes[] = {sizes.ring_bytes ? sizes.ring_bytes + MAFAT_FETCH_ALIGNMENT : 0,
                          sizes.panel_bytes, sizes.affine_bytes};
  int *const buffers[] = {&layout->ring_buffer, &layout->panel_buffer, &layout->affine_buffer};
  for (int i = 0; i < 3; i++) {
    if (bytes[i] > SIZE_MAX / 4) return MAFAT_ELIMIT;
    if (bytes[i]) *buffers[i] = add_buffer(m, MAFAT_TAG_IO, -1, bytes[i], times);
  }
  return MAFAT_OK;
}

/* Sets the scratch of each layer in parts to that of its largest part. */
static void find_most_scratch(struct mafat_layout_maker *m)
{
  struct mafat_layout *layout = m->layout;
  const struct mafat_parts_scratch *s = layout->part_scratch;
  for (int p = 0; p < m->plan->parts->n; p++) {
    int layer = m->plan->parts->list[p].layer;
    if (s->record_of[p] < 0) continue;
    const struct mafat_scratch *record = &s->records[s->record_of[p]];
    if (mafat_scratch_bytes(record, layout->n_workers) <=
        mafat_scratch_bytes(&layout->scratch[layer], layout->n_workers))
      continue;
    layout->scratch[layer] = *record;
    layout->scratch_buffers[layer] = layout->run_buffers + s->run_of[p];
  }
}

/* Bytes of all buffers created so far, at each time. The caller frees the list; NULL: out of
 * memory. */
static size_t *live_bytes(const struct mafat_layout_maker *m)
{
  size_t *live = mafat_heap_calloc(m->work, 2 * (size_t)m->plan->n_positions + 1, sizeof *live);
  if (!live) return NULL;
  for (const struct mafat_buffer *b = m->layout->buffers;
       b < m->layout->buffers + m->layout->n_buffers; b++) {
    if (b->first > b->last) continue;
    live[b->first] += b->bytes;
    live[b->last + 1] -= b->bytes; /* may wrap around; the sums below are right */
  }
  for (int time = 1; time < 2 * m->plan->n_positions; time++) live[time] += live[time - 1];
  return live;
}

/* Creates the scratch buffers of parts. Called last, because which parts share a buffer depends on
 * the bytes of all other buffers. */
static int size_part_scratch(struct mafat_layout_maker *m)
{
  struct mafat_layout *layout = m->layout;
  struct mafat_parts_scratch *s = layout->part_scratch;
  const struct mafat_parts *parts = m->plan->parts;
  if (!s) return MAFAT_OK;
  size_t *live = live_bytes(m);
  if (!live) return MAFAT_ENOMEM;
  mafat_parts_scratch_join(s, parts->n, live, 2 * m->plan->n_positions);
  mafat_heap_free(m->work, live);
  layout->run_buffers = layout->n_buffers;
  for (int p = 0, next = 0; p < parts->n; p++) {
    if (s->run_of[p] != next) continue;
    const struct mafat_scratch_run *run = &s->runs[next++];
    add_buffer(m, MAFAT_TAG_SCRATCH, parts->list[p].layer, run->bytes,
               (struct mafat_times){2 * run->first, 2 * run->last + 1});
  }
  find_most_scratch(m);
  return MAFAT_OK;
}

int mafat_layout_list_buffers(struct mafat_layout_maker *m)
{
  int code = MAFAT_OK;
  size_rings(m);
  for (int i = m->network->n_layers; i < mafat_network_n_operators(m->network) && code == MAFAT_OK;
       i++)
    code = size_tensor(m, i);
  for (int l = 0; l < m->plan->n_layers && code == MAFAT_OK; l++) {
    code = size_outputs(m, l);
    if (code == MAFAT_OK) code = size_scratch(m, l);
    if (code == MAFAT_OK) code = size_sums(m, l);
    if (code == MAFAT_OK && mafat_schedule_runs(m->schedule, l) && runs_here(m, l))
      code = size_weights(m, l);
  }
  if (code == MAFAT_OK) code = size_frame(m);
  if (code == MAFAT_OK && !m->outline) code = size_io(m);
  return code == MAFAT_OK ? size_part_scratch(m) : code;
}
