/* Makes a layout from a plan, in full or reduced (mafat_layout_make, outline and sketch). Called by
 * api/, search/, predictor/planning/, predictor/transfers/ and runner/calibrate/. Allocates the
 * layout from the plan's heap; frees temporary memory and the schedule before it returns. */
#include "predictor/layout/maker.h"

#include "predictor/plan/boxes_room.h"
#include "predictor/layout/offsets.h"
#include "predictor/plan/parts.h"
#include "predictor/plan/winograd.h"

#include <limits.h>
#include <string.h>

enum { IDLE_BYTES = 64 /* for a rank without work: an arena is never empty */ };

/* Finds the time with the most live bytes, these bytes by tag, and the peak of each group. */
static int find_peaks(struct mafat_layout_maker *m)
{
  struct mafat_layout *layout = m->layout;
  size_t n_times = 2 * (size_t)m->plan->n_positions, live[MAFAT_N_TAGS] = {0};
  size_t(*changes)[MAFAT_N_TAGS]; /* negative changes wrap around, and so do their sums back */
  changes = mafat_heap_calloc(m->work, n_times + 1, sizeof *changes);
  if (!changes) return MAFAT_ENOMEM;
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *buffer = &layout->buffers[b];
    if (buffer->first > buffer->last) continue; /* no reader */
    changes[buffer->first][buffer->tag] += buffer->bytes;
    changes[buffer->last + 1][buffer->tag] -= buffer->bytes;
  }
  int g = 0;
  for (size_t time = 0; time < n_times; time++) {
    size_t sum = 0;
    while ((int)time >= 2 * m->plan->groups[g].positions.end) g++;
    for (int tag = 0; tag < MAFAT_N_TAGS; tag++) sum += live[tag] += changes[time][tag];
    if (sum > layout->groups[g].peak_bytes) layout->groups[g].peak_bytes = sum;
    if (sum <= layout->bound_bytes) continue;
    layout->bound_bytes = sum;
    layout->peak_time = (int)time;
    memcpy(layout->tag_bytes, live, sizeof live);
  }
  mafat_heap_free(m->work, changes);
  return MAFAT_OK;
}

/* Assigns offsets to all buffers. Consecutive maps prefer opposite ends of the arena (block.h:
 * end_hint), because in a chain of layers only neighbours are alive together. */
static int assign_offsets(const struct mafat_layout_maker *m)
{
  struct mafat_layout *layout = m->layout;
  struct mafat_block *blocks =
      mafat_heap_calloc(m->work, (size_t)layout->n_buffers + 1, sizeof *blocks);
  if (!blocks) return MAFAT_ENOMEM;
  size_t sum = 0;
  int code = MAFAT_OK, hint = 0;
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *from = &layout->buffers[b];
    if (__builtin_add_overflow(sum, from->bytes, &sum)) code = MAFAT_ELIMIT;
    bool map = from->tag == MAFAT_TAG_INPUT || from->tag == MAFAT_TAG_ACTIVATIONS;
    if (map) hint = hint == 1 ? 2 : 1;
    blocks[b] = (struct mafat_block){.bytes = from->bytes, .first = from->first, .last = from->last,
                                     .end_hint = map ? hint : 0};
  }
  if (code == MAFAT_OK) {
    layout->total_bytes = mafat_offsets_assign(blocks, layout->n_buffers, m->work);
    if (layout->total_bytes == SIZE_MAX) code = MAFAT_ENOMEM;
    for (int b = 0; b < layout->n_buffers; b++) layout->buffers[b].offset = blocks[b].offset;
  }
  mafat_heap_free(m->work, blocks);
  return code;
}

/* ---- after the last step ---- */

/* Buffer of a tensor that is read after the run; NULL: none. `tensor` may also be the number of
 * tensors: this means the video frame, if it stays until boxes are drawn. */
static const struct mafat_buffer *output_buffer(const struct mafat_layout_maker *m, int tensor)
{
  const struct mafat_layout *l = m->layout;
  if (tensor == mafat_network_n_tensors(m->network))
    return l->frame_buffer >= 0 && m->plan->frame_stays ? &l->buffers[l->frame_buffer] : NULL;
  int buffer = l->tensors[tensor].buffer;
  return buffer >= 0 && m->schedule->usage[tensor].last_use == m->plan->n_layers
             ? &l->buffers[buffer]
             : NULL;
}

/* Bytes of all outputs and of the frame that stays. */
static size_t outputs_bytes(const struct mafat_layout_maker *m)
{
  size_t sum = 0;
  for (int t = 0; t <= mafat_network_n_tensors(m->network); t++) {
    const struct mafat_buffer *b = output_buffer(m, t);
    if (b) sum += b->bytes;
  }
  return sum;
}

/* Lowest offset at which `bytes` bytes overlap no output. */
static size_t lowest_beside_outputs(const struct mafat_layout_maker *m, size_t bytes)
{
  size_t at = 0;
  for (bool moved = true; moved;) { /* few outputs: a handful of rounds */
    moved = false;
    for (int t = 0; t <= mafat_network_n_tensors(m->network); t++) {
      const struct mafat_buffer *b = output_buffer(m, t);
      if (!b || b->offset >= at + bytes || b->offset + b->bytes <= at) continue;
      at = b->offset + b->bytes;
      moved = true;
    }
  }
  return at;
}

/* Places the memory for detected boxes where no output is: after the last step all other buffers
 * are dead. If it does not fit in the arena, it extends past the arena's end. */
static void place_boxes(struct mafat_layout_maker *m)
{
  struct mafat_layout *layout = m->layout;
  layout->mapped_bytes = layout->total_bytes;
  layout->most_boxes = mafat_boxes_most(m->network, m->plan->n_layers, m->plan->most_boxes);
  layout->box_points = m->network->decoded.points;
  if (layout->most_boxes == 0 || m->outline) return;
  size_t bytes = mafat_boxes_room_bytes(layout->most_boxes);
  layout->boxes_offset = m->sketch ? outputs_bytes(m) : lowest_beside_outputs(m, bytes);
  if (layout->boxes_offset + bytes > layout->total_bytes)
    layout->mapped_bytes = layout->boxes_offset + bytes;
}

/* Bit set of the Winograd sizes that the plan uses. */
static unsigned list_winograds(const struct mafat_plan *plan)
{
  unsigned list = 0;
  for (int l = 0; l < plan->n_layers; l++) {
    const struct mafat_winograd *w = mafat_winograd_of(plan->algorithms[l]);
    if (w) list |= 1u << w->size;
  }
  return list;
}

/* True if there are 8-bit tensors. Kernels may read past the end of these (base/tuning.h:
 * MAFAT_READ_BEHIND). */
static bool has_bytes(const struct mafat_layout_maker *m)
{
  for (int t = 0; t < mafat_network_n_tensors(m->network); t++)
    if (m->layout->tensors[t].element_bytes == 1) return true;
  return false;
}

/* Finds the tensors that are stored in partition buffers. Returns the number of all partition
 * buffers, including those of integer sums. */
static int find_partition_buffers(struct mafat_layout_maker *m)
{
  int n = 0;
  for (int t = 0; t < mafat_network_n_tensors(m->network); t++) {
    m->layout->tensors[t].partition = mafat_parts_partition(m->plan, t);
    if (m->layout->tensors[t].partition)
      n += mafat_partition_n_buffers(m->layout->tensors[t].partition);
    if (mafat_parts_keep_sums(m->plan, m->network, t))
      n += mafat_partition_n_buffers(&m->plan->parts->partitions[t]);
  }
  return n;
}

/* Allocates the maker's lists for plans with parts. The caller frees them. */
static int open_parts(struct mafat_layout_maker *m, size_t n_partition_buffers)
{
  int n_tensors = mafat_network_n_tensors(m->network), n = 0;
  m->partition_buffers =
      mafat_heap_calloc(m->work, n_partition_buffers + 1, sizeof *m->partition_buffers);
  m->first_partition_buffer =
      mafat_heap_calloc(m->work, (size_t)n_tensors, sizeof *m->first_partition_buffer);
  m->first_sums = mafat_heap_calloc(m->work, (size_t)n_tensors, sizeof *m->first_sums);
  m->parts = mafat_heap_calloc(m->work, (size_t)n_tensors, sizeof *m->parts);
  m->layout->sums_buffers =
      mafat_heap_calloc(m->layout->heap, (size_t)n_tensors, sizeof *m->layout->sums_buffers);
  if (!m->partition_buffers || !m->first_partition_buffer || !m->first_sums || !m->parts ||
      !m->layout->sums_buffers)
    return MAFAT_ENOMEM;
  memset(m->layout->sums_buffers, -1, (size_t)n_tensors * sizeof *m->layout->sums_buffers);
  for (size_t b = 0; b < n_partition_buffers; b++)
    m->partition_buffers[b] = (struct mafat_times){INT_MAX, -1};
  for (int t = 0; t < n_tensors; t++) {
    m->parts[t] = (struct mafat_times){INT_MAX, -1};
    m->first_partition_buffer[t] = n;
    if (m->layout->tensors[t].partition)
      n += mafat_partition_n_buffers(m->layout->tensors[t].partition);
    m->first_sums[t] = n;
    if (mafat_parts_keep_sums(m->plan, m->network, t))
      n += mafat_partition_n_buffers(&m->plan->parts->partitions[t]);
  }
  return MAFAT_OK;
}

/* Bytes of the records that only plans with parts have; n_buffers: buffers of parts. The process
 * footprint counts all other records, whose number depends on the network alone. */
static size_t records_of_parts(const struct mafat_layout_maker *m, size_t n_buffers)
{
  const struct mafat_parts *parts = m->plan->parts;
  const struct mafat_parts_scratch *s = m->layout->part_scratch;
  /* the C library's overhead of an allocation, once for each part and once for each tensor */
  enum { BLOCK = 16 };
  size_t of_a_part =
      sizeof *parts->list + sizeof *s->record_of + sizeof *s->run_of + sizeof *s->runs + BLOCK;
  return (size_t)parts->n * of_a_part + (size_t)s->n_records * sizeof *s->records +
         (size_t)parts->n_tensors *
             (sizeof *parts->partitions + sizeof *m->layout->sums_buffers + BLOCK) +
         n_buffers * sizeof *m->layout->buffers;
}

/* Makes m->layout. The caller closes it after a failure, and frees the maker's lists. */
static int make(struct mafat_layout_maker *m)
{
  struct mafat_layout *layout = m->layout;
  size_t n = (size_t)m->plan->n_layers, n_tensors = (size_t)mafat_network_n_tensors(m->network);
  int code = mafat_schedule_open(&m->schedule, m->network, m->plan);
  layout->heap = m->plan->heap;
  layout->n_layers = m->plan->n_layers;
  layout->picture = mafat_network_picture(m->network);
  layout->n_inputs = m->network->n_inputs;
  layout->n_workers = m->plan->n_threads;
  layout->winograds = list_winograds(m->plan);
  layout->ring_buffer = layout->panel_buffer = layout->affine_buffer = layout->frame_buffer = -1;
  layout->tensors = mafat_heap_calloc(layout->heap, n_tensors, sizeof *layout->tensors);
  if (!layout->tensors) return MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = mafat_parts_scratch_open(&layout->part_scratch, m->plan, m->network);
  if (code) return code;
  size_t n_partition_buffers = (size_t)find_partition_buffers(m),
         n_runs = layout->part_scratch ? (size_t)layout->part_scratch->n_runs : 0;
  /* at most: scratch and weights of each layer, tensors, partition buffers, scratch of parts, three
   * I/O buffers and a frame */
  layout->buffers =
      mafat_heap_calloc(layout->heap, 2 * n + n_tensors + n_partition_buffers + n_runs + 4,
                        sizeof *layout->buffers);
  layout->scratch = mafat_heap_calloc(layout->heap, n, sizeof *layout->scratch);
  layout->scratch_buffers = mafat_heap_calloc(layout->heap, n, sizeof *layout->scratch_buffers);
  layout->weights_buffers = mafat_heap_calloc(layout->heap, n, sizeof *layout->weights_buffers);
  layout->layer_macs = mafat_heap_calloc(layout->heap, n, sizeof *layout->layer_macs);
  layout->groups =
      mafat_heap_calloc(layout->heap, (size_t)m->plan->n_groups, sizeof *layout->groups);
  m->extents = mafat_heap_calloc(m->work, n_tensors, sizeof *m->extents);
  m->lives = mafat_heap_calloc(m->work, n_tensors, sizeof *m->lives);
  m->slots = mafat_heap_calloc(m->work, n_tensors, sizeof *m->slots);
  if (m->plan->parts && code == MAFAT_OK) {
    layout->parts_bytes = records_of_parts(m, n_partition_buffers + n_runs);
    code = open_parts(m, n_partition_buffers);
  }
  if (code || !layout->weights_buffers || !m->lives || !layout->buffers || !layout->scratch ||
      !layout->scratch_buffers || !layout->layer_macs || !layout->groups || !m->extents ||
      !m->slots)
    return MAFAT_ENOMEM;
  for (size_t l = 0; l < n; l++) layout->weights_buffers[l] = -1;
  for (size_t t = 0; t < n_tensors; t++) layout->tensors[t].buffer = -1;
  mafat_layout_find_lives(m);
  mafat_layout_find_extents(m);
  code = mafat_layout_list_buffers(m);
  if (code == MAFAT_OK && !m->outline && !m->sketch) code = assign_offsets(m);
  if (code == MAFAT_OK) code = find_peaks(m);
  if (m->outline || m->sketch) layout->total_bytes = layout->bound_bytes;
  if (layout->total_bytes == 0) layout->total_bytes = IDLE_BYTES;
  if (has_bytes(m)) layout->total_bytes += MAFAT_READ_BEHIND;
  if (code == MAFAT_OK) place_boxes(m);
  return code;
}

static int make_layout(struct mafat_layout **out, struct mafat_layout_maker m,
                       struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_heap *heap = m.plan->heap;
  /* If the plan is in the C library's heap (NULL), temporary memory comes from a heap of its own,
   * because it would leave gaps in the C library's heap. */
  struct mafat_heap *own = NULL;
  int code = heap ? MAFAT_OK : mafat_heap_open(&own);
  m.work = own ? own : heap;
  m.layout = mafat_heap_calloc(heap, 1, sizeof *m.layout);
  if (code == MAFAT_OK) code = m.layout ? make(&m) : MAFAT_ENOMEM;
  mafat_schedule_close(&m.schedule);
  mafat_heap_free(m.work, m.extents);
  mafat_heap_free(m.work, m.lives);
  mafat_heap_free(m.work, m.partition_buffers);
  mafat_heap_free(m.work, m.first_partition_buffer);
  mafat_heap_free(m.work, m.first_sums);
  mafat_heap_free(m.work, m.parts);
  mafat_heap_free(m.work, m.slots);
  mafat_heap_close(&own);
  if (code == MAFAT_OK) {
    *out = m.layout;
    return MAFAT_OK;
  }
  mafat_layout_close(&m.layout);
  return mafat_fail(d, code, "%s: %s", m.network->path,
                    code == MAFAT_ELIMIT ? "the plan's buffers are larger than the address space"
                                         : "out of memory");
}

int mafat_layout_make(struct mafat_layout **out, const struct mafat_network *n,
                      const struct mafat_plan *plan, struct mafat_diagnostic *d)
{
  return make_layout(out, (struct mafat_layout_maker){.network = n, .plan = plan}, d);
}

int mafat_layout_outline(struct mafat_layout **out, const struct mafat_network *n,
                         const struct mafat_plan *plan, struct mafat_diagnostic *d)
{
  return make_layout(out, (struct mafat_layout_maker){.network = n, .plan = plan, .outline = true},
                     d);
}

int mafat_layout_sketch(struct mafat_layout **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, struct mafat_diagnostic *d)
{
  return make_layout(out, (struct mafat_layout_maker){.network = n, .plan = plan, .sketch = true},
                     d);
}
