/* Covers predictor/layout/{layout, buffers, extents, lives, maker}.c,
 * predictor/planning/in_place_rings.c, predictor/schedule/scratch.c, predictor/plan/boxes_room.c:
 * replays the steps of random plans and checks that no step overwrites bytes that a later step
 * reads. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/plan/boxes_room.h"
#include "predictor/plan/fusion.h"
#include "predictor/layout/layout.h"
#include "predictor/plan/order.h"
#include "predictor/planning/planning.h"
#include "predictor/cost/predict.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/schedule/schedule.h"
#include "predictor/plan/winograd.h"
#include "tests/support/support.h"

Suite *layout_suite(void);

enum { CASES = 40, NETWORKS_PER_CASE = 75, UNIT = 64 };

/* A random network, a plan and its layout; the seed names the case. */
struct subject {
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct mafat_network *network;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
};

/* Opens a random network and plan. chain: without routes and shortcuts. */
static struct subject open_with(int seed, bool chain, const struct mafat_plan_options *options)
{
  struct subject s;
  struct test_rng rng = test_rng((uint64_t)seed);
  struct test_network_style style = test_network_style();
  style.edges = !chain;
  test_random_network(&rng, &style, s.cfg, sizeof s.cfg);
  s.network = test_network(s.cfg);
  if (!chain && seed % 3 == 2) test_several_outputs(s.network, (uint64_t)seed, 40);
  /* sometimes inner layers are outputs, too; not in chains */
  for (int l = 0; !chain && seed % 7 == 3 && l < s.network->n_layers; l++)
    s.network->layers[l].output = l * 11 % 3 == seed % 3;
  test_random_plan(&rng, s.network, s.network->n_layers, s.text, sizeof s.text);
  s.plan = test_plan_with(s.network, s.text, options);
  s.layout = test_layout(s.network, s.plan);
  return s;
}

static struct subject open_subject(int seed, bool chain)
{
  return open_with(seed, chain, NULL);
}

/* Opens a random network and plan with any algorithm, number of threads and kind of weights file,
 * and sometimes a video frame. */
static struct subject open_varied(int seed)
{
  static const int threads[] = {1, 1, 2, 8};
  struct mafat_plan_options options = {.algorithm = (enum mafat_algorithm)(seed % 3),
                                       .n_threads = threads[seed / 3 % 4],
                                       .packed = seed % 2,
                                       .frame_bytes =
                                           seed % 4 == 1 ? (size_t)(seed % 97 * 500 + 1) : 0,
                                       .frame_stays = seed % 8 == 5,
                                       .keep_all = seed % 5 == 4};
  return open_with(seed, false, &options);
}

static void close_subject(struct subject *s)
{
  mafat_layout_close(&s->layout);
  mafat_plan_close(&s->plan);
  mafat_network_close(&s->network);
}

#define require(holds, s, ...) \
  do { \
    if (!(holds)) test_fail_case((s)->cfg, (s)->text, __VA_ARGS__); \
  } while (0)

/* ---- replay: the owner of each 64 bytes of the arena ----
 *
 * The replay does not use lifetimes. A step becomes the owner of the bytes that it writes; the
 * bytes that it reads must still belong to the tensor that was written there. */

/* An owner is the number of a tensor, or one of these values + the number of a layer. The buffers
 * of streamed weights are IO + 0, 1, 2; a ring is RING + its buffer. */
enum {
  NOBODY = -2, SCRATCH = 1 << 20, WEIGHTS = 2 << 20, IO = 3 << 20, RING = 4 << 20, N_IO = 3,
  FRAME = 5 << 20
};

/* Content of one column of a slot of an in-place ring: a pixel of row `row` of `tensor`. */
struct slot {
  int tensor, row;
};

struct replay {
  const struct subject *s;
  int *owners; /* [unit of UNIT bytes]: owner of these bytes */
  bool *begun; /* [tensor]: a step has written it */
  bool *loaded; /* [layer]: its weights were loaded */
  bool reading; /* some weights were read, so the I/O buffers may hold data read ahead */
  struct mafat_box *boxes; /* [tensor]: box that its buffer holds now */
  bool *in_ring; /* [tensor]: it shares an in-place ring */
  struct slot **rings; /* [buffer][slot][column]; NULL for buffers that are no in-place rings */
};

/* Makes `owner` the owner of a buffer. */
static void claim(struct replay *r, int buffer, int owner)
{
  const struct mafat_buffer *b = &r->s->layout->buffers[buffer];
  require(b->offset % UNIT == 0 && b->bytes % UNIT == 0 && b->bytes > 0 &&
              b->offset + b->bytes <= r->s->layout->total_bytes,
          r->s, "buffer %d is outside the arena", buffer);
  for (size_t i = b->offset / UNIT; i < (b->offset + b->bytes) / UNIT; i++) r->owners[i] = owner;
}

static void check_owned(const struct replay *r, int buffer, int owner, int reader)
{
  const struct mafat_buffer *b = &r->s->layout->buffers[buffer];
  for (size_t i = b->offset / UNIT; i < (b->offset + b->bytes) / UNIT; i++)
    require(r->owners[i] == owner, r->s,
            "at layer %d, byte %zu of buffer %d (owner %d) belongs to %d", reader,
            i * UNIT - b->offset, buffer, owner, r->owners[i]);
}

/* ---- rings ---- */

/* Returns the tensor that owns the buffer of `tensor`. */
static int root_of(const struct replay *r, int tensor)
{
  for (int other; (other = mafat_plan_shares_with(r->s->plan, tensor)) >= 0; tensor = other) {}
  return tensor;
}

static void find_rings(struct replay *r)
{
  const struct mafat_plan *plan = r->s->plan;
  int n = mafat_network_n_tensors(r->s->network);
  for (int o = 0; o < n; o++)
    for (int t = 0; plan->ring_shared_with[o] >= 0 && t < n; t++)
      r->in_ring[t] = r->in_ring[t] || root_of(r, t) == root_of(r, o);
  for (int t = 0; t < n; t++) {
    const struct mafat_tensor_layout *l = &r->s->layout->tensors[t];
    if (!r->in_ring[t] || l->buffer < 0 || r->rings[l->buffer]) continue;
    int n_columns = l->rows * mafat_network_tensor_shape(r->s->network, t).w;
    r->rings[l->buffer] = malloc((size_t)n_columns * sizeof(struct slot));
    for (int i = 0; i < n_columns; i++) r->rings[l->buffer][i] = (struct slot){NOBODY, 0};
  }
}

static struct slot *slot_of(const struct replay *r, int tensor, int y)
{
  const struct mafat_tensor_layout *l = &r->s->layout->tensors[tensor];
  return &r->rings[l->buffer][(l->first_slot + y) % l->rows *
                              mafat_network_tensor_shape(r->s->network, tensor).w];
}

static int owner_of(const struct replay *r, int tensor)
{
  return r->in_ring[tensor] ? RING + r->s->layout->tensors[tensor].buffer : tensor;
}

static void check_box_owned(const struct replay *r, int tensor, struct mafat_box box, int reader)
{
  for (int y = box.y.begin; y < box.y.end && r->in_ring[tensor]; y++)
    for (int x = box.x.begin; x < box.x.end; x++) {
      const struct slot *slot = slot_of(r, tensor, y) + x;
      require(slot->tensor == tensor && slot->row == y, r->s,
              "at layer %d, column %d of row %d of tensor %d is of row %d of %d", reader, x, y,
              tensor, slot->row, slot->tensor);
    }
}

/* Checks that a box fits into the tensor's buffer, with the padding at the edges of the map. */
static void check_size(const struct replay *r, int tensor, struct mafat_box held,
                       struct mafat_span channels)
{
  const struct mafat_tensor_layout *t = &r->s->layout->tensors[tensor];
  struct mafat_shape shape = mafat_network_tensor_shape(r->s->network, tensor);
  size_t element = mafat_dtype_bytes(mafat_network_tensor_type(r->s->network, tensor), 1),
         pixel = 0;
  size_t most = (size_t)t->cols * (size_t)mafat_pixel_width(shape.c) * element;
  int cols = mafat_span_size(held.x) + (held.x.begin == 0 ? t->left : 0) +
             (held.x.end == shape.w ? t->right : 0);
  for (int b = channels.begin / MAFAT_CHANNEL_BLOCK; b < mafat_n_blocks(channels.end); b++)
    pixel += (size_t)mafat_block_width(shape.c, b) * element;
  require(mafat_span_size(held.y) <= t->rows && cols <= t->cols, r->s,
          "tensor %d's box exceeds its buffer", tensor);
  require(t->element_bytes == element && t->row_bytes >= (size_t)t->cols * pixel &&
              t->row_bytes <= most &&
              t->row_bytes * (size_t)t->rows <= r->s->layout->buffers[t->buffer].bytes,
          r->s, "tensor %d's rows exceed its buffer", tensor);
  if (mafat_order_is_panel_producer(r->s->plan, tensor))
    require(t->row_bytes <=
                (size_t)t->cols * (size_t)(MAFAT_PANEL * r->s->plan->n_threads) * element,
            r->s, "tensor %d is more than a panel", tensor);
  else
    require(t->row_bytes == most, r->s, "tensor %d lacks channels", tensor);
}

static void check_source(const struct replay *r, const struct mafat_step *step, int tensor,
                         struct mafat_box read)
{
  const struct mafat_tensor_layout *t = &r->s->layout->tensors[tensor];
  if (mafat_box_is_empty(read)) return;
  require(t->buffer >= 0, r->s, "layer %d reads tensor %d, which has no buffer", step->layer,
          tensor);
  check_owned(r, t->buffer, owner_of(r, tensor), step->layer);
  check_box_owned(r, tensor, read, step->layer);
  struct mafat_box held = r->boxes[tensor];
  require(t->external || (held.y.begin <= read.y.begin && read.y.end <= held.y.end &&
                          held.x.begin <= read.x.begin && read.x.end <= held.x.end),
          r->s, "layer %d reads beyond the box that is held of tensor %d", step->layer, tensor);
}

/* Checks the input, or the other operands, of a step. A buffer that the output reuses was checked
 * before. */
static void check_operands(const struct replay *r, const struct mafat_step *step, bool input)
{
  const struct mafat_network *n = r->s->network;
  for (struct mafat_reads read = mafat_plan_reads(r->s->plan, n, step->layer);
       mafat_reads_next(&read);)
    if ((read.operand == 0) == input && read.source->tensor != r->s->plan->place_of[step->layer])
      check_source(
          r, step, read.source->tensor,
          (struct mafat_box){
              mafat_reads_rows(&read, mafat_fusion_in_span(r->s->plan, n, step->layer, read.operand,
                                                           true, step->out.y)),
              mafat_fusion_in_span(r->s->plan, n, step->layer, read.operand, false, step->out.x)});
}

/* An output of a step. */
struct made {
  int tensor;
  struct mafat_box out, held;
};

/* True if rows, panels or sums of earlier steps must still be in the buffer that the step
 * writes. */
static bool goes_on(const struct replay *r, const struct mafat_step *step, const struct made *m)
{
  if (!r->begun[m->tensor]) return false;
  if (r->s->layout->tensors[m->tensor].external) return true;
  bool input = step->kind == MAFAT_STEP_INPUT,
       wide = !input && mafat_order_is_panel_producer(r->s->plan, step->layer);
  bool transformed = !input && mafat_plan_transforms(r->s->plan, r->s->network, step->layer);
  return m->held.y.begin < m->out.y.begin || (step->filters.begin > 0 && !wide) ||
         (step->channels.begin > 0 && !transformed);
}

static void write_tensor(struct replay *r, const struct mafat_step *step, const struct made *m,
                         struct mafat_span channels)
{
  const struct mafat_tensor_layout *out = &r->s->layout->tensors[m->tensor];
  struct mafat_shape shape = mafat_network_tensor_shape(r->s->network, m->tensor);
  require(out->buffer >= 0, r->s, "tensor %d of layer %d has no buffer", m->tensor, step->layer);
  check_size(r, m->tensor, out->external ? mafat_box_full(shape.h, shape.w) : m->held, channels);
  if (goes_on(r, step, m)) check_owned(r, out->buffer, owner_of(r, m->tensor), step->layer);
  claim(r, out->buffer, owner_of(r, m->tensor));
  for (int y = m->out.y.begin; y < m->out.y.end && r->in_ring[m->tensor]; y++)
    for (int x = m->out.x.begin; x < m->out.x.end; x++)
      slot_of(r, m->tensor, y)[x] = (struct slot){m->tensor, y};
  r->begun[m->tensor] = true;
  r->boxes[m->tensor] = m->held;
}

/* Writes the outputs that have readers; others have no buffer. */
static void write_outputs(struct replay *r, const struct mafat_schedule *schedule,
                          const struct mafat_step *step)
{
  const struct mafat_layer *l = &r->s->network->layers[step->layer];
  for (int k = 0; k < mafat_layer_n_outputs(l); k++) {
    struct made m = {mafat_network_output(r->s->network, step->layer, k),
                     mafat_layer_out_box(l, k, step->out), mafat_schedule_held(schedule, step, k)};
    if (mafat_usage_is_read(&schedule->usage[m.tensor]))
      write_tensor(r, step, &m, mafat_layer_out_channels(l, k, step->held_channels));
    else
      require(r->s->layout->tensors[m.tensor].buffer < 0, r->s,
              "nobody reads tensor %d, which has a buffer", m.tensor);
  }
}

static void check_written(const struct replay *r, const struct mafat_step *step)
{
  for (int k = 0; k < mafat_layer_n_outputs(&r->s->network->layers[step->layer]); k++) {
    int tensor = mafat_network_output(r->s->network, step->layer, k),
        buffer = r->s->layout->tensors[tensor].buffer;
    if (buffer >= 0) check_owned(r, buffer, owner_of(r, tensor), step->layer);
  }
}

/* Checks that the map whose buffer the output reuses has the same pixels at the same offsets. */
static void check_place(const struct replay *r, const struct mafat_step *step)
{
  int place = r->s->plan->place_of[step->layer];
  if (place < 0) return;
  const struct mafat_tensor_layout *from = &r->s->layout->tensors[place],
                                   *to = &r->s->layout->tensors[step->layer];
  check_source(r, step, place, step->out);
  require(from->buffer == to->buffer && from->row_bytes == to->row_bytes &&
              from->rows == to->rows && from->cols == to->cols && from->left == to->left &&
              from->right == to->right && from->first_slot == to->first_slot &&
              from->element_bytes == to->element_bytes,
          r->s, "layer %d cannot reuse the buffer of tensor %d", step->layer, place);
  struct mafat_box held = r->boxes[place];
  require(from->external || (held.y.begin == step->held.y.begin && held.y.end == step->held.y.end &&
                             held.x.begin == step->held.x.begin && held.x.end == step->held.x.end),
          r->s, "layer %d has other pixels than tensor %d, whose place it takes", step->layer,
          place);
}

/* ---- weights ---- */

static int io_buffer(const struct mafat_layout *layout, int i)
{
  return i == 0 ? layout->ring_buffer : i == 1 ? layout->panel_buffer : layout->affine_buffer;
}

/* Reads weights from the file into the I/O buffers. Data of earlier reads must still be there. */
static void read_weights(struct replay *r, int layer)
{
  for (int i = 0; i < N_IO; i++) {
    int buffer = io_buffer(r->s->layout, i);
    if (buffer < 0) continue;
    if (r->reading) check_owned(r, buffer, IO + i, layer);
    claim(r, buffer, IO + i);
  }
  r->reading = true;
}

/* Reads the weights of all layers of a step; loaded ones only before the first step of their layer
 * in the group. */
static void take_weights(struct replay *r, const struct mafat_step *step)
{
  const struct mafat_layout *layout = r->s->layout;
  for (int l = step->layer; l >= 0; l = r->s->plan->inner[l]) {
    size_t bytes = mafat_packed_layer_bytes(&r->s->network->layers[l]);
    int buffer = layout->weights_buffers[l];
    bool loaded = bytes > 0 && r->s->plan->placement[l] == MAFAT_LOADED;
    require((buffer >= 0) == loaded, r->s, "layer %d: its buffer of weights is missing or useless",
            l);
    if (bytes == 0 || r->s->plan->placement[l] == MAFAT_KEPT) continue;
    if (!loaded || !r->loaded[l]) read_weights(r, step->layer);
    if (!loaded) continue;
    require(layout->buffers[buffer].bytes >= bytes &&
                layout->buffers[buffer].tag == MAFAT_TAG_WEIGHTS,
            r->s, "layer %d's weights have no buffer of their size", l);
    if (!r->loaded[l]) claim(r, buffer, WEIGHTS + l);
    r->loaded[l] = true;
  }
}

static void check_weights(const struct replay *r, const struct mafat_step *step)
{
  for (int l = step->layer; l >= 0; l = r->s->plan->inner[l]) {
    if (r->s->layout->weights_buffers[l] >= 0)
      check_owned(r, r->s->layout->weights_buffers[l], WEIGHTS + l, step->layer);
    if (r->s->plan->placement[l] != MAFAT_STREAMED) continue;
    for (int i = 0; i < N_IO; i++)
      if (io_buffer(r->s->layout, i) >= 0)
        check_owned(r, io_buffer(r->s->layout, i), IO + i, step->layer);
  }
}

/* ---- steps ---- */

/* Checks that the scratch of a Winograd layer holds transformed values, weights and sums, in this
 * order, and is no larger. A turn is a few rows of Winograd tiles that are transformed together. Up
 * to n_turns threads compute turns at the same time. Each of these has its own values, weights and
 * sums, except that values and weights may be shared. */
static void check_turns(const struct replay *r, int layer)
{
  const struct mafat_scratch *s = &r->s->layout->scratch[layer];
  size_t n = (size_t)s->n_turns, floats = sizeof(float);
  size_t values = s->values_floats * floats * (s->shared_values ? 1 : n);
  size_t kernels = s->kernel_floats * floats * (s->keep_weights ? 1 : n),
         sums = s->sums_floats * floats * n;
  require(n >= 1 && s->n_turns <= r->s->plan->n_threads, r->s, "layer %d has %zu turns at a time",
          layer, n);
  require(s->values_offset == 0 && values <= s->kernel_offset &&
              s->kernel_offset + kernels <= s->sums_offset &&
              s->sums_offset + sums <= s->shared_bytes,
          r->s, "layer %d's values, weights and sums exceed its scratch", layer);
  require(s->shared_bytes < values + kernels + sums + 3 * 64, r->s,
          "layer %d has more scratch than it needs", layer);
}

/* Checks that scratch is large enough for the tiles of a turn, or of the whole step if values are
 * shared, and for one turn of each thread that has work. Values that several threads need must be
 * shared. */
static void check_winograd(const struct replay *r, const struct mafat_step *step)
{
  const struct mafat_plan *plan = r->s->plan;
  const struct mafat_network *n = r->s->network;
  const struct mafat_scratch *s = &r->s->layout->scratch[step->layer];
  const struct mafat_winograd *g = mafat_plan_winograd(plan, step->layer);
  const struct mafat_layer *l = &n->layers[mafat_plan_reader(plan, step->layer)];
  int across = mafat_winograd_tiles(
      g, mafat_span_size(mafat_fusion_inner_span(plan, n, step->layer, false, step->out.x)));
  int down = mafat_winograd_tiles(
      g, mafat_span_size(mafat_fusion_inner_span(plan, n, step->layer, true, step->out.y)));
  int turn = mafat_min(s->tile_rows, down), turns = mafat_divide_up(down, s->tile_rows);
  int panels = mafat_divide_up(mafat_span_size(step->filters), MAFAT_PANEL);
  size_t points = (size_t)g->points,
         width = (size_t)mafat_panel_width(mafat_min(l->out.c, MAFAT_PANEL));
  size_t channels = (size_t)(s->keep_weights ? l->in.c : s->turn_channels);
  bool divides = mafat_plan_transforms(plan, n, step->layer), own = !s->shared_values;
  require(s->values_floats >= points * (size_t)(across * (own ? turn : down)) * (size_t)l->in.c,
          r->s, "layer %d has too little scratch for values", step->layer);
  require(s->kernel_floats >= points * channels * width, r->s,
          "layer %d has too little scratch for weights", step->layer);
  require(s->sums_floats >= points * (size_t)(across * turn) * width, r->s,
          "layer %d has too little scratch for sums", step->layer);
  if (divides) require(turns == 1 && !own, r->s, "layer %d has %d turns", step->layer, turns);
  if (step->kind == MAFAT_STEP_TRANSFORM) return;
  require(s->n_turns >= mafat_min(turns * panels, plan->n_threads), r->s,
          "layer %d has too few turns", step->layer);
  bool whole = mafat_span_size(step->out.y) == n->layers[step->layer].out.h;
  if (own && whole && panels > 1 && plan->n_threads > 1)
    require(turns > plan->n_threads, r->s, "layer %d's values are made by each thread",
            step->layer);
}

/* Checks the scratch of a step and makes the layer its owner. If an earlier step put the
 * transformed input there, it must not be overwritten. */
static void use_scratch(struct replay *r, const struct mafat_step *step)
{
  const struct mafat_layout *layout = r->s->layout;
  int scratch = layout->scratch_buffers[step->layer];
  bool transforms = mafat_plan_transforms(r->s->plan, r->s->network, step->layer);
  size_t bytes = mafat_scratch_bytes(&layout->scratch[step->layer], r->s->plan->n_threads);
  require((scratch >= 0) == (bytes > 0), r->s,
          "layer %d: its scratch buffer is missing or useless", step->layer);
  require(scratch < 0 || layout->buffers[scratch].bytes >= bytes, r->s,
          "layer %d has too little scratch", step->layer);
  if (mafat_plan_winograd(r->s->plan, step->layer)) {
    check_turns(r, step->layer);
    check_winograd(r, step);
  }
  if (transforms && step->kind == MAFAT_STEP_COMPUTE)
    check_owned(r, scratch, SCRATCH + step->layer, step->layer);
  if (scratch >= 0) claim(r, scratch, SCRATCH + step->layer);
}

/* Replays a step: claims its scratch, reads its weights and writes its outputs. After that,
 * everything that the step reads must still be in the arena. After a separate transform step the
 * input is not read again. */
static void run_step(struct replay *r, const struct mafat_schedule *schedule,
                     const struct mafat_step *step)
{
  const struct mafat_layout *layout = r->s->layout;
  bool transform = step->kind == MAFAT_STEP_TRANSFORM;
  if (step->kind == MAFAT_STEP_INPUT) {
    write_outputs(r, schedule, step);
    if (layout->frame_buffer >= 0)
      check_owned(r, layout->frame_buffer, FRAME, step->layer); /* the input is converted from it */
    return;
  }
  int scratch = layout->scratch_buffers[step->layer];
  use_scratch(r, step);
  take_weights(r, step);
  check_place(r, step);
  if (!transform) write_outputs(r, schedule, step);
  if (transform || !mafat_plan_transforms(r->s->plan, r->s->network, step->layer))
    check_operands(r, step, true);
  if (!transform) check_operands(r, step, false);
  if (!transform) check_written(r, step);
  if (scratch >= 0) check_owned(r, scratch, SCRATCH + step->layer, step->layer);
  check_weights(r, step);
}

/* Checks that the network's outputs are complete after the last step. */
static void check_outputs(const struct replay *r)
{
  const struct mafat_network *n = r->s->network;
  for (int l = 0; l < n->n_layers; l++) {
    struct mafat_source self;
    struct mafat_sources out = mafat_network_output_sources(n, l, &self);
    if (!mafat_network_is_output(n, n->n_layers, l)) continue;
    for (int i = 0; i < mafat_sources_count(&out); i++) {
      int t = out.list[i].tensor;
      check_owned(r, r->s->layout->tensors[t].buffer, owner_of(r, t), n->n_layers);
      struct mafat_shape shape = mafat_network_tensor_shape(n, t);
      check_box_owned(r, t, mafat_box_full(shape.h, shape.w), n->n_layers);
    }
  }
  for (int t = mafat_network_n_operators(n); t < mafat_network_n_tensors(n); t++)
    if (mafat_network_is_output(n, n->n_layers, t))
      check_owned(r, r->s->layout->tensors[t].buffer, owner_of(r, t), n->n_layers);
}

static void replay(const struct subject *s)
{
  size_t n = (size_t)mafat_network_n_tensors(s->network), units = s->layout->total_bytes / UNIT;
  struct replay r = {.s = s,
                     .owners = malloc(units * sizeof(int)),
                     .begun = calloc(n, sizeof(bool)),
                     .loaded = calloc(n, sizeof(bool)),
                     .boxes = calloc(n, sizeof(struct mafat_box)),
                     .in_ring = calloc(n, sizeof(bool)),
                     .rings = calloc((size_t)s->layout->n_buffers + 1, sizeof(struct slot *))};
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  ck_assert_int_eq(mafat_schedule_open(&schedule, s->network, s->plan), MAFAT_OK);
  for (size_t i = 0; i < units; i++) r.owners[i] = NOBODY;
  find_rings(&r);
  if (s->layout->frame_buffer >= 0) claim(&r, s->layout->frame_buffer, FRAME);
  while (mafat_schedule_next(schedule, &step)) run_step(&r, schedule, &step);
  check_outputs(&r);
  if (s->layout->frame_buffer >= 0 && s->plan->frame_stays)
    check_owned(&r, s->layout->frame_buffer, FRAME, s->network->n_layers);
  mafat_schedule_close(&schedule);
  free(r.owners);
  free(r.begun);
  free(r.loaded);
  free(r.boxes);
  free(r.in_ring);
  for (int b = 0; b < s->layout->n_buffers; b++) free(r.rings[b]);
  free(r.rings);
}

/* In random plans, no step overwrites bytes that a later step reads. */
START_TEST(no_step_overwrites_what_a_later_one_reads)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_varied(_i * NETWORKS_PER_CASE + i);
    replay(&s);
    close_subject(&s);
  }
}
END_TEST

/* ---- sums ---- */

/* The bytes of all tags at the peak add up to the largest sum of live buffers. */
START_TEST(bytes_by_tag_add_up_to_the_bound)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_varied(_i * NETWORKS_PER_CASE + i);
    const struct mafat_layout *layout = s.layout;
    size_t bound = 0, tags = 0, live = 0;
    for (int time = 0; time < 2 * layout->n_layers; time++) {
      size_t sum = 0;
      for (int b = 0; b < layout->n_buffers; b++)
        if (layout->buffers[b].first <= time && time <= layout->buffers[b].last)
          sum += layout->buffers[b].bytes;
      if (time == layout->peak_time) live = sum;
      if (sum > bound) bound = sum;
    }
    for (int t = 0; t < MAFAT_N_TAGS; t++) tags += layout->tag_bytes[t];
    require(layout->bound_bytes == bound && live == bound && tags == bound, &s,
            "bound %zu, by tags %zu, not %zu", layout->bound_bytes, tags, bound);
    require(layout->total_bytes >= bound, &s, "total %zu below the bound %zu", layout->total_bytes,
            bound);
    size_t peak = 0;
    for (int g = 0; g < s.plan->n_groups; g++)
      if (layout->groups[g].peak_bytes > peak) peak = layout->groups[g].peak_bytes;
    require(peak == bound, &s, "the groups' peak is %zu, the bound %zu", peak, bound);
    close_subject(&s);
  }
}
END_TEST

/* Checks that the memory for boxes overlaps neither an output nor a frame that stays. */
static void check_boxes_beside(const struct subject *s, size_t begin, size_t end)
{
  const struct mafat_buffer *frame =
      s->layout->frame_buffer < 0 ? NULL : &s->layout->buffers[s->layout->frame_buffer];
  if (frame && s->plan->frame_stays)
    require(end <= frame->offset || begin >= frame->offset + frame->bytes, s,
            "boxes at offset %zu overlap the frame", begin);
  for (int layer = 0; layer < s->plan->n_layers; layer++) {
    struct mafat_source self;
    struct mafat_sources out = mafat_network_output_sources(s->network, layer, &self);
    for (int t = 0; t < mafat_sources_count(&out) &&
                    mafat_network_is_output(s->network, s->plan->n_layers, layer);
         t++) {
      const struct mafat_buffer *b =
          &s->layout->buffers[s->layout->tensors[out.list[t].tensor].buffer];
      bool beside = end <= b->offset || begin >= b->offset + b->bytes;
      require(beside, s, "boxes at offset %zu overlap the output of layer %zu", begin,
              (size_t)layer);
    }
  }
}

/* The memory for boxes overlaps no output. It may extend past the arena's end; the arena's size
 * does not depend on the number of boxes. */
START_TEST(boxes_lie_beside_the_outputs)
{
  static const int wanted[] = {0, 1, 1000000};
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_varied(_i * NETWORKS_PER_CASE + i);
    size_t total = s.layout->total_bytes;
    for (int k = 0; k < 3; k++) {
      s.plan->most_boxes = wanted[k];
      mafat_layout_close(&s.layout);
      s.layout = test_layout(s.network, s.plan);
      const struct mafat_layout *l = s.layout;
      size_t begin = l->boxes_offset, end = begin + mafat_boxes_room_bytes(l->most_boxes);
      size_t most = mafat_boxes_most(s.network, s.plan->n_layers, wanted[k]);
      require(l->most_boxes == most, &s, "%zu boxes, not %zu", l->most_boxes, most);
      require(l->total_bytes == total, &s, "the arena has %zu bytes, not %zu", l->total_bytes,
              total);
      require(l->mapped_bytes == (end > total ? end : total), &s, "mapped are %zu bytes",
              l->mapped_bytes);
      check_boxes_beside(&s, begin, end);
    }
    close_subject(&s);
  }
}
END_TEST

/* kept_bytes is the size of the kept weights, which are outside the arena. Loaded weights have
 * buffers in the arena. */
START_TEST(kept_weights_lie_outside)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_varied(_i * NETWORKS_PER_CASE + i);
    struct mafat_usage *usage = calloc((size_t)mafat_network_n_tensors(s.network), sizeof *usage);
    size_t kept = 0, loaded = 0, buffers = 0;
    mafat_usage_find(s.network, s.plan, usage);
    for (int l = 0; l < s.network->n_layers; l++) {
      int outer = l;
      while (s.plan->outer[outer] >= 0) outer = s.plan->outer[outer];
      if (!usage[outer].needed) continue;
      size_t bytes = (mafat_packed_layer_bytes(&s.network->layers[l]) + UNIT - 1) / UNIT * UNIT;
      if (s.plan->placement[l] == MAFAT_KEPT) kept += bytes;
      if (s.plan->placement[l] == MAFAT_LOADED) loaded += bytes;
    }
    for (int b = 0; b < s.layout->n_buffers; b++)
      if (s.layout->buffers[b].tag == MAFAT_TAG_WEIGHTS) buffers += s.layout->buffers[b].bytes;
    require(s.layout->kept_bytes == kept, &s, "%zu bytes of weights are kept, not %zu", kept,
            s.layout->kept_bytes);
    require(buffers == loaded, &s, "%zu bytes of weights are loaded, not %zu", loaded, buffers);
    free(usage);
    close_subject(&s);
  }
}
END_TEST

static void make_untiled(struct subject *s)
{
  mafat_layout_close(&s->layout);
  mafat_plan_close(&s->plan);
  strcpy(s->text, "untiled");
  ck_assert_int_eq(mafat_plan_untiled(&s->plan, s->network, s->network->n_layers, NULL, NULL),
                   MAFAT_OK);
  s->layout = test_layout(s->network, s->plan);
}

/* The arena of an untiled chain has the size of the lower bound. */
START_TEST(untiled_chains_waste_nothing)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_subject(_i * NETWORKS_PER_CASE + i, true);
    make_untiled(&s);
    require(s.layout->total_bytes == s.layout->bound_bytes, &s, "total %zu, bound %zu",
            s.layout->total_bytes, s.layout->bound_bytes);
    close_subject(&s);
  }
}
END_TEST

/* The arena of a tiled chain has the size of the lower bound. If there is a ring buffer for
 * streamed weights, which is alive during several groups, it has at most 1 % more. */
START_TEST(tiled_chains_waste_nothing)
{
  for (int i = 0; i < 1500; i++) {
    struct subject s = open_subject(i, true);
    size_t bound = s.layout->bound_bytes, waste = s.layout->ring_buffer < 0 ? 0 : bound / 100;
    require(s.layout->total_bytes >= bound && s.layout->total_bytes <= bound + waste, &s,
            "total %zu, bound %zu", s.layout->total_bytes, bound);
    close_subject(&s);
  }
}
END_TEST

/* The arena of a network with routes and shortcuts is at most 10 % above the lower bound, and 0.1 %
 * on average. */
START_TEST(graphs_waste_little)
{
  double total = 0, bound = 0;
  for (int i = 0; i < 500; i++) {
    struct subject s = open_subject(i, false);
    require((double)s.layout->total_bytes <= 1.1 * (double)s.layout->bound_bytes, &s,
            "total %zu, bound %zu", s.layout->total_bytes, s.layout->bound_bytes);
    total += (double)s.layout->total_bytes;
    bound += (double)s.layout->bound_bytes;
    close_subject(&s);
  }
  ck_assert_msg(total <= 1.001 * bound, "on average %.2f %% above the bound",
                100 * (total / bound - 1));
}
END_TEST

/* Multiply-accumulates of a layer for a box of its output. */
static uint64_t layer_macs(const struct mafat_layer *l, struct mafat_box box)
{
  uint64_t pixels = (uint64_t)mafat_box_area(box), inputs = (uint64_t)(l->in.h * l->in.w * l->in.c);
  if (l->type == MAFAT_CONVOLUTIONAL)
    return pixels * (uint64_t)(l->filters * (l->in.c / l->groups) * mafat_window_area(&l->window));
  if (l->type == MAFAT_LOCAL)
    return pixels * (uint64_t)(l->filters * l->in.c * mafat_window_area(&l->window));
  return l->type == MAFAT_CONNECTED ? inputs * (uint64_t)l->out.c : 0;
}

/* Share of a box's multiply-accumulates (macs) that a step executes, given its filters and
 * channels. */
static uint64_t part_of(const struct subject *s, const struct mafat_step *step, uint64_t macs)
{
  const struct mafat_layer *reader = &s->network->layers[mafat_plan_reader(s->plan, step->layer)];
  int channels =
      reader->type == MAFAT_CONNECTED ? reader->in.h * reader->in.w * reader->in.c : reader->in.c;
  uint64_t all = (uint64_t)s->network->layers[step->layer].out.c * (uint64_t)channels;
  return macs / all * (uint64_t)mafat_span_size(step->filters) *
         (uint64_t)mafat_span_size(step->channels);
}

static uint64_t count_macs(const struct subject *s, int group)
{
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  uint64_t macs = 0;
  ck_assert_int_eq(mafat_schedule_open(&schedule, s->network, s->plan), MAFAT_OK);
  while (mafat_schedule_next(schedule, &step)) {
    if (step.group != group || step.kind != MAFAT_STEP_COMPUTE) continue;
    struct mafat_box box = step.out;
    bool whole = !mafat_plan_divides(s->plan, s->network, step.layer) &&
                 !mafat_order_is_panel_consumer(s->plan, step.layer);
    for (int l = step.layer; l >= 0; l = s->plan->inner[l]) {
      const struct mafat_layer *layer = &s->network->layers[l];
      macs += whole ? layer_macs(layer, box) : part_of(s, &step, layer_macs(layer, box));
      box = (struct mafat_box){mafat_layer_in_span(layer, 0, true, box.y),
                               mafat_layer_in_span(layer, 0, false, box.x)};
    }
  }
  mafat_schedule_close(&schedule);
  return macs;
}

/* The layout's multiply-accumulates are the sums over all steps. */
START_TEST(macs_are_those_of_the_steps)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_varied(_i * NETWORKS_PER_CASE + i);
    uint64_t sum = 0;
    for (int g = 0; g < s.plan->n_groups; g++) {
      uint64_t macs = count_macs(&s, g);
      require(s.layout->groups[g].macs == macs, &s,
              "group %d has %llu multiply-accumulates, not %llu", g, (unsigned long long)macs,
              (unsigned long long)s.layout->groups[g].macs);
      sum += macs;
    }
    require(s.layout->macs == sum, &s, "the groups' multiply-accumulates do not add up");
    close_subject(&s);
  }
}
END_TEST

/* An untiled plan has no redundant multiply-accumulates. */
START_TEST(a_single_tile_computes_nothing_twice)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_subject(_i * NETWORKS_PER_CASE + i, false);
    make_untiled(&s);
    require(s.layout->redundant_macs == 0, &s, "redundant work");
    close_subject(&s);
  }
}
END_TEST

/* ---- the paper's network ---- */

struct paper_row {
  const char *plan;
  bool keep_all; /* as in the paper; else maxpools are fused */
  double redundant_percent; /* in percent of the untiled multiply-accumulates */
  size_t total_bytes;
};

/* The percentages follow from the paper's tiles. The bytes are not the paper's, which counts an
 * im2col matrix that this program does not have (135 MiB of scratch, input and output for layer 2).
 * They are those of the layout when this test was written; enter smaller ones here. */
static const struct paper_row paper_rows[] = {
    {"1x1/NoCut", true, 0, 59224128},
    {"2x2/NoCut", true, 24.7, 26919488},
    {"5x5/NoCut", true, 119.6, 15455040},
    {"5x5/8/2x2", true, 13.7, 10621760},
    {"3x3/8/2x2", true, 11.1, 15229760},
    {"4x4/4/3x3/12/1x1", true, 8.7, 14336832},
    {"1x1/NoCut", false, 0, 17919744},
    {"5x5/8/2x2", false, 13.7, 8424064},
};

/* The first 16 layers of YOLOv2 have the redundant work and the bytes of each row. */
START_TEST(yolov2_costs_what_the_paper_and_we_know)
{
  const struct paper_row *row = &paper_rows[_i];
  struct mafat_network *n = test_darknet_network("yolov2.cfg");
  struct mafat_plan *plan = NULL, *untiled = NULL;
  if (!n) return; /* Debian's darknet package is not installed */
  struct mafat_plan_options options = test_plain_options();
  options.keep_all = row->keep_all;
  ck_assert_int_eq(mafat_plan_read(&plan, row->plan, n, 16, &options, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_plan_untiled(&untiled, n, 16, &options, NULL), MAFAT_OK);
  struct mafat_layout *layout = test_layout(n, plan), *whole = test_layout(n, untiled);
  double percent = 100. * (double)layout->redundant_macs / (double)whole->macs;
  ck_assert_msg(layout->macs == whole->macs + layout->redundant_macs, "%s: work is missing",
                row->plan);
  ck_assert_msg(percent > row->redundant_percent - .05 && percent < row->redundant_percent + .05,
                "%s: %.2f %% redundant, expected %.1f %%", row->plan, percent,
                row->redundant_percent);
  ck_assert_msg(layout->total_bytes == layout->bound_bytes, "%s: a chain wastes bytes", row->plan);
  ck_assert_msg(layout->total_bytes == row->total_bytes, "%s: %zu bytes, expected %zu", row->plan,
                layout->total_bytes, row->total_bytes);
  mafat_layout_close(&layout);
  mafat_layout_close(&whole);
  mafat_plan_close(&plan);
  mafat_plan_close(&untiled);
  mafat_network_close(&n);
}
END_TEST

/* ---- edges of the range ---- */

/* Buffers larger than the address space are rejected. Two tensors are alive at once: with 2^39
 * floats each, their bytes exceed 32 bits; with 2^29 floats each, the sum would wrap to 0. */
START_TEST(buffers_beyond_the_address_space_are_refused)
{
  static const int channels[] = {2048, 8, 4};
  char cfg[128];
  struct mafat_diagnostic d = {""};
  struct mafat_layout *layout = NULL;
  const int side = 16384 >> _i;
  const uint64_t bytes = 2ull * (uint64_t)(side * side) * (uint64_t)channels[_i] * 4;
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=%d\nwidth=%d\nchannels=%d\n[batchnorm]\n[batchnorm]\n[batchnorm]\n", side,
           side, channels[_i]);
  struct mafat_network *n = test_network(cfg);
  struct mafat_plan *plan = test_plan(n, "1x1");
  int code = mafat_layout_make(&layout, n, plan, &d);
  if (bytes > SIZE_MAX / 2) {
    ck_assert_int_eq(code, MAFAT_ELIMIT);
    ck_assert_ptr_null(layout);
  } else {
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
    ck_assert_uint_eq(layout->total_bytes, bytes);
  }
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

START_TEST(tags_have_names)
{
  for (int t = 0; t < MAFAT_N_TAGS; t++)
    ck_assert_str_ne(mafat_tag_name((enum mafat_tag)t), "unknown");
  ck_assert_str_eq(mafat_tag_name(MAFAT_N_TAGS), "unknown");
}
END_TEST

/* Two outputs read the same map. If their rows are computed alternately, only a window of the map's
 * rows is stored. If one output is complete before the other begins, as in Darknet's networks, all
 * rows of the map are stored. */
START_TEST(outputs_of_a_group_of_rows_come_in_turn)
{
  struct mafat_network *n = test_network(
      "[net]\nheight=64\nwidth=64\nchannels=3\n"
      "[convolutional]\nfilters=16\nsize=3\npad=1\n[convolutional]\nfilters=16\nsize=3\npad=1\n"
      "[route]\nlayers=-2\n[convolutional]\nfilters=8\nsize=5\npad=1\n");
  n->layers[1].output = true;
  for (int darknet = 0; darknet < 2; darknet++) {
    n->format.any_order = !darknet;
    struct mafat_plan *plan = test_plan(n, "rows1:direct/NoCut");
    struct mafat_layout *l = test_layout(n, plan);
    if (darknet) ck_assert_int_eq(l->tensors[0].rows, 64);
    else ck_assert_int_lt(l->tensors[0].rows, 16);
    mafat_layout_close(&l);
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

/* Maps that [cost] and [dropout] rename have buffers, which are alive only at times within the
 * plan. */
START_TEST(maps_that_are_only_named_live)
{
  static const char *const networks[] = {
      "[cost]\n", "[dropout]\n[cost]\n",
      "[dropout]\n[convolutional]\nfilters=8\nsize=3\npad=1\n[cost]\n"};
  static const char *const texts[] = {"1x1/NoCut",           "rows1/NoCut",
                                      "panels/NoCut",        "split(whole)/NoCut",
                                      "split(whole)/1/1x1",  "split(whole)/1/split(h2:1)",
                                      "rows1/1/split(whole)"};
  char cfg[200];
  snprintf(cfg, sizeof cfg, "[net]\nheight=4\nwidth=4\nchannels=5\n%s", networks[_i]);
  struct mafat_network *n = test_network(cfg);
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    if ((n->n_layers == 1 && !strstr(texts[t], "NoCut")) || (_i < 2 && strstr(texts[t], "h2")))
      continue; /* no second layer, or none that can be split */
    struct mafat_plan *plan = test_plan(n, texts[t]);
    struct mafat_layout *l = test_layout(n, plan);
    size_t bytes = 0;
    ck_assert_int_gt(plan->n_positions, 0);
    for (const struct mafat_buffer *b = l->buffers; b < l->buffers + l->n_buffers; b++) {
      ck_assert_msg(b->first >= 0 && b->first <= b->last && b->last < 2 * plan->n_positions,
                    "%s, %s: from %d to %d of %d", networks[_i], texts[t], b->first, b->last,
                    2 * plan->n_positions);
      bytes += b->bytes;
    }
    ck_assert_uint_ge(bytes, 4 * 4 * 5 * sizeof(float));
    mafat_layout_close(&l);
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

Suite *layout_suite(void)
{
  Suite *suite = suite_create("layout");
  TCase *arena = tcase_create("arena");
  tcase_set_timeout(arena, 60);
  tcase_add_loop_test(arena, no_step_overwrites_what_a_later_one_reads, 0, test_seeds(CASES));
  tcase_add_loop_test(arena, bytes_by_tag_add_up_to_the_bound, 0, test_seeds(CASES / 4));
  tcase_add_loop_test(arena, boxes_lie_beside_the_outputs, 0, test_seeds(CASES / 4));
  tcase_add_loop_test(arena, kept_weights_lie_outside, 0, test_seeds(CASES / 4));
  tcase_add_loop_test(arena, untiled_chains_waste_nothing, 0, test_seeds(CASES / 2));
  tcase_add_test(arena, outputs_of_a_group_of_rows_come_in_turn);
  tcase_add_loop_test(arena, maps_that_are_only_named_live, 0, 3);
  tcase_add_test(arena, tiled_chains_waste_nothing);
  tcase_add_test(arena, graphs_waste_little);
  suite_add_tcase(suite, arena);
  TCase *costs = tcase_create("costs");
  tcase_set_timeout(costs, 60);
  tcase_add_loop_test(costs, macs_are_those_of_the_steps, 0, test_seeds(CASES / 4));
  tcase_add_loop_test(costs, a_single_tile_computes_nothing_twice, 0, test_seeds(CASES / 4));
  tcase_add_loop_test(costs, yolov2_costs_what_the_paper_and_we_know, 0,
                      sizeof paper_rows / sizeof *paper_rows);
  tcase_add_loop_test(costs, buffers_beyond_the_address_space_are_refused, 0, 3);
  tcase_add_test(costs, tags_have_names);
  suite_add_tcase(suite, costs);
  return suite;
}
