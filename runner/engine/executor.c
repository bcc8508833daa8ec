/* Runs plans step by step. Called by api/, runner/calibrate/ and programs/mafat_ranks/, and by the
 * input sources in runner/image/ to set rows of the input. Opening allocates, maps the arena and
 * starts threads; closing frees them. A run allocates nothing; it may read weights from files, and
 * calls the sources, the watch and the exchange of ranks. */
#include "runner/engine/executor.h"

#include "predictor/plan/partition.h"
#include "runner/kernels/integer.h"
#include "runner/engine/kinds/kind.h"
#include "runner/os/process.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Source of an input. Fields after `source` are set only by mafat_executor_set_floats. */
struct executor_input {
  struct mafat_input_source source;
  const float *floats;
  const struct mafat_file_order *order;
  int index; /* of the input */
};

struct mafat_executor {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  const struct mafat_layout *layout;
  struct mafat_weights *weights;
  struct mafat_executor_options options;
  const struct mafat_integer_kernels *integers; /* NULL: float network */
  struct mafat_schedule *schedule;
  struct mafat_tensors tensors;
  struct mafat_team *team;
  struct mafat_step step; /* being run by the team */
  int round;              /* current round of the step (mafat_kinds_rounds), from 0 */
  atomic_int step_code;   /* error of a worker in this step, or MAFAT_OK */
  struct executor_input *inputs; /* (n_inputs) */
  struct mafat_file_order planes; /* order of mafat_executor_set_input's floats */
  struct mafat_step_watch watch;
  bool source_failed;     /* an input source returned an error other than MAFAT_ECANCELED */
  int late; /* error of an input source, reported after the run: other ranks still expect this
               rank's messages */
  struct mafat_arena *arena;
  pid_t process;          /* process that opened the executor */
  bool joined;            /* the executor is a user of the arena */
  double *ms;             /* [operator]: time in the last run */
};

void mafat_executor_defaults(struct mafat_executor_options *options)
{
  *options = (struct mafat_executor_options){.kernels = mafat_kernels_find(NULL)};
}

/* True if a run may make the whole arena resident at its first step: then a picture's decoder is
 * predicted to be open beside the arena, and no part of the arena makes room for it. */
static bool may_be_huge(const struct mafat_layout *layout, const struct mafat_lock *lock)
{
  return lock && lock->roomy && mafat_layout_takes_rows(layout);
}

int mafat_executor_open(struct mafat_executor **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, const struct mafat_layout *layout,
                        struct mafat_weights *weights,
                        const struct mafat_executor_options *options, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  *out = NULL;
  struct mafat_executor *e = calloc(1, sizeof *e);
  if (!e) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  e->process = getpid();
  e->network = n;
  e->plan = plan;
  e->layout = layout;
  e->weights = weights;
  e->options = *options;
  e->tensors = (struct mafat_tensors){.network = n, .layout = layout};
  e->tensors.held = calloc((size_t)mafat_network_n_tensors(n), sizeof *e->tensors.held);
  e->ms = calloc((size_t)mafat_network_n_operators(n), sizeof *e->ms);
  e->inputs = calloc((size_t)n->n_inputs, sizeof *e->inputs);
  if (mafat_schedule_open(&e->schedule, n, plan) || !e->tensors.held || !e->ms || !e->inputs) {
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
    goto done;
  }
  if ((code = mafat_team_open(&e->team, layout->n_workers, d))) goto done;
  e->arena = options->arena;
  if (!e->arena) {
    if ((code = mafat_arena_open(&e->arena, d))) goto done;
    if (may_be_huge(layout, options->lock)) mafat_arena_make_huge(e->arena, layout->total_bytes);
  }
  if ((code = mafat_arena_join(e->arena, layout->mapped_bytes, options->lock, n->path, d)))
    goto done;
  e->joined = true;
  for (int t = 0; t < mafat_network_n_tensors(n); t++) {
    struct mafat_shape shape = mafat_network_tensor_shape(n, t);
    e->tensors.held[t] = (struct mafat_held){mafat_box_full(shape.h, shape.w), 0};
    if (mafat_network_tensor_type(n, t) == MAFAT_U8 && !e->integers)
      e->integers = mafat_integer_kernels_find(options->kernels);
  }
done:
  if (code == MAFAT_OK) *out = e;
  else mafat_executor_close(&e);
  return code;
}

void mafat_executor_close(struct mafat_executor **executor)
{
  if (!executor || !*executor) return;
  struct mafat_executor *e = *executor;
  if (e->joined) mafat_arena_leave(e->arena, e);
  if (!e->options.arena) mafat_arena_close(&e->arena);
  mafat_team_close(&e->team);
  mafat_schedule_close(&e->schedule);
  free(e->tensors.held);
  free(e->ms);
  free(e->inputs);
  free(e);
  *executor = NULL;
}

/* A range of bytes that is not yet filled with zeros. Adjacent ranges are merged, for fewer calls
 * of memset. */
struct zeros {
  char *begin, *end;
  int number; /* byte that represents 0 */
};

static void zero_collected(const struct zeros *z)
{
  if (z->end > z->begin) memset(z->begin, z->number, (size_t)(z->end - z->begin));
}

static void zero(struct zeros *z, char *begin, size_t n)
{
  if (begin != z->end) {
    zero_collected(z);
    z->begin = begin;
  }
  z->end = begin + n;
}

/* Zeroes the padding columns of a tensor beside a box, where the box touches the map's left or
 * right edge. The tensor that used the buffer before has left other bytes there. No kernel writes
 * these columns, so worker 0 zeroes them while the other workers compute. A step in place still
 * reads its input's padding in the same buffer, so its output's padding is written after the
 * step. */
static void zero_pads(const struct mafat_tensors *t, int tensor, struct mafat_box box,
                      struct mafat_span channels)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  struct mafat_shape shape = mafat_network_tensor_shape(t->network, tensor);
  int left = box.x.begin == 0 ? l->left : 0, right = box.x.end == shape.w ? l->right : 0;
  int first = channels.begin / MAFAT_CHANNEL_BLOCK, end = mafat_n_blocks(channels.end);
  struct zeros z = {NULL, NULL, mafat_network_tensor_quantization(t->network, tensor)->zero};
  if (left + right == 0) return;
  for (int y = box.y.begin; y < box.y.end; y++) {
    for (int block = first; block < end; block++) {
      size_t pixel = mafat_tensors_pixel_bytes(t, tensor, block);
      char *begin = mafat_tensors_address(t, tensor, block, y, box.x.begin);
      if (left) zero(&z, begin - (size_t)left * pixel, (size_t)left * pixel);
      if (right) zero(&z, begin + (size_t)mafat_span_size(box.x) * pixel, (size_t)right * pixel);
    }
  }
  zero_collected(&z);
}

/* ---- input ---- */

void mafat_executor_set_source(struct mafat_executor *e, int input,
                               struct mafat_input_source source)
{
  e->inputs[input].source = source;
}

void mafat_executor_set_watch(struct mafat_executor *e, struct mafat_step_watch watch)
{
  e->watch = watch;
}

float *mafat_executor_input_row(struct mafat_executor *e, int y, size_t *row_floats)
{
  int picture = mafat_network_picture(e->network);
  const struct mafat_tensor_layout *l = &e->layout->tensors[picture];
  assert(mafat_network_tensor_shape(e->network, picture).c <= MAFAT_CHANNEL_BLOCK);
  *row_floats = l->row_bytes / sizeof(float);
  if (l->buffer < 0) return NULL;
  return mafat_tensors_pixel(&e->tensors, picture, 0, y, 0);
}

void mafat_executor_set_input_pixels(struct mafat_executor *e, int y, const float *pixels)
{
  int picture = mafat_network_picture(e->network);
  struct mafat_shape shape = mafat_network_tensor_shape(e->network, picture);
  if (e->layout->tensors[picture].buffer < 0) return;
  size_t pixel = mafat_tensors_pixel_bytes(&e->tensors, picture, 0), channels = (size_t)shape.c;
  unsigned char *to = (unsigned char *)mafat_tensors_address(&e->tensors, picture, 0, y, 0);
  /* First store the values without gaps at the row's end, then move the pixels to their positions;
   * no pixel overwrites one that is not moved yet. */
  unsigned char *numbers = to + (size_t)shape.w * (pixel - channels);
  e->integers->reals(&e->network->layers[picture].quantization, pixels, numbers, shape.w * shape.c);
  for (int x = 0; x < shape.w && pixel != channels; x++, to += pixel, numbers += channels)
    for (size_t c = 0; c < channels; c++) to[c] = numbers[c];
}

/* Quantizes row y of channel c into the tensor; `row` is that row in the given order. */
static void set_numbers(struct mafat_executor *e, int tensor, const struct mafat_file_order *order,
                        int c, int y, const float *row)
{
  const struct mafat_quantization *q = &e->network->layers[tensor].quantization;
  size_t pixel = mafat_tensors_pixel_bytes(&e->tensors, tensor, c / MAFAT_CHANNEL_BLOCK);
  unsigned char *to =
      (unsigned char *)mafat_tensors_address(&e->tensors, tensor, c / MAFAT_CHANNEL_BLOCK, y, 0) +
      c % MAFAT_CHANNEL_BLOCK;
  enum { AT_ONCE = 128 };
  float reals[AT_ONCE];
  uint8_t numbers[AT_ONCE];
  for (int x = 0, n; x < order->shape.w; x += n) {
    n = mafat_min(order->shape.w - x, AT_ONCE);
    for (int i = 0; i < n; i++) reals[i] = row[mafat_file_order_offset(order, MAFAT_AXIS_W, x + i)];
    e->integers->reals(q, reals, numbers, n);
    for (int i = 0; i < n; i++, to += pixel) *to = numbers[i];
  }
}

void mafat_executor_set_input_row(struct mafat_executor *e, int input,
                                  const struct mafat_file_order *order, int c, int y,
                                  const float *line)
{
  int tensor = e->network->n_layers + input, w = order->shape.w;
  size_t pixel = (size_t)mafat_tensors_pixel_floats(&e->tensors, tensor, c / MAFAT_CHANNEL_BLOCK),
         column = (size_t)order->column;
  float *to = mafat_tensors_element(&e->tensors, tensor, c, y, 0);
  const float *row = line + mafat_file_order_offset(order, MAFAT_AXIS_C, c) +
                     mafat_file_order_offset(order, MAFAT_AXIS_H, y);
  if (mafat_network_tensor_type(e->network, tensor) != MAFAT_F32)
    set_numbers(e, tensor, order, c, y, row);
  else if (column == 1)
    for (int x = 0; x < w; x++) to[(size_t)x * pixel] = row[x];
  else if (column)
    for (int x = 0; x < w; x++) to[(size_t)x * pixel] = row[(size_t)x * column];
  else
    for (int x = 0; x < w; x++)
      to[(size_t)x * pixel] = row[mafat_file_order_offset(order, MAFAT_AXIS_W, x)];
}

/* True if a row in the file's order has the same bytes as in the tensor. */
static bool is_in_map_order(const struct mafat_file_order *o)
{
  int c = o->shape.c;
  return o->column == c && mafat_block_width(c, 0) == c &&
         mafat_file_order_offset(o, MAFAT_AXIS_C, c - 1) == c - 1;
}

/* Copies a row of a channel to pixels that are `pixel` bytes apart. `turn` is xored with each
 * value, to convert signed values to unsigned. */
static void turn_row(unsigned char *to, size_t pixel, const unsigned char *row,
                     const struct mafat_file_order *order, unsigned char turn)
{
  int w = order->shape.w;
  if (order->column)
    for (int x = 0; x < w; x++) to[(size_t)x * pixel] = row[x * order->column] ^ turn;
  else
    for (int x = 0; x < w; x++)
      to[(size_t)x * pixel] = row[mafat_file_order_offset(order, MAFAT_AXIS_W, x)] ^ turn;
}

/* Copies n contiguous bytes and xors each with `turn`, in 64-bit words, because the compiler does
 * not vectorize this loop. */
static void turn_bytes(unsigned char *to, const unsigned char *from, size_t n, unsigned char turn)
{
  const uint64_t turns = turn * UINT64_C(0x0101010101010101);
  size_t i = 0;
  for (uint64_t word; i + sizeof word <= n; i += sizeof word) {
    memcpy(&word, from + i, sizeof word);
    word ^= turns;
    memcpy(to + i, &word, sizeof word);
  }
  for (; i < n; i++) to[i] = from[i] ^ turn;
}

void mafat_executor_set_input_numbers(struct mafat_executor *e, int input,
                                      const struct mafat_file_order *order,
                                      struct mafat_span channels, int y, const unsigned char *line)
{
  int tensor = e->network->n_layers + input;
  const unsigned char turn = order->type == MAFAT_I8 ? MAFAT_SIGNED_TO_BYTE : 0;
  line += mafat_file_order_offset(order, MAFAT_AXIS_H, y);
  if (order->planes == 1 && is_in_map_order(order)) {
    turn_bytes((unsigned char *)mafat_tensors_address(&e->tensors, tensor, 0, y, 0), line,
               (size_t)order->shape.w * (size_t)order->shape.c, turn);
    return;
  }
  for (int c = channels.begin; c < channels.end; c++)
    turn_row((unsigned char *)mafat_tensors_address(&e->tensors, tensor, c / MAFAT_CHANNEL_BLOCK, y,
                                                    0) +
                 c % MAFAT_CHANNEL_BLOCK,
             mafat_tensors_pixel_bytes(&e->tensors, tensor, c / MAFAT_CHANNEL_BLOCK),
             line + mafat_file_order_offset(order, MAFAT_AXIS_C, c), order, turn);
}

void mafat_executor_set_input_line(struct mafat_executor *e, int input,
                                   const struct mafat_file_order *order, int y, const float *line)
{
  int tensor = e->network->n_layers + input;
  if (mafat_network_tensor_type(e->network, tensor) == MAFAT_F32 && is_in_map_order(order))
    memcpy(mafat_tensors_pixel(&e->tensors, tensor, 0, y, 0),
           line + mafat_file_order_offset(order, MAFAT_AXIS_H, y),
           (size_t)order->shape.w * (size_t)order->shape.c * sizeof *line);
  else
    for (int c = 0; c < order->shape.c; c++)
      mafat_executor_set_input_row(e, input, order, c, y, line);
}

void mafat_executor_set_input_channels(struct mafat_executor *e, int input,
                                       struct mafat_span channels, const float *values)
{
  int tensor = e->network->n_layers + input;
  for (int c = channels.begin, end; c < channels.end; c = end) {
    end = (c / MAFAT_CHANNEL_BLOCK + 1) * MAFAT_CHANNEL_BLOCK;
    if (end > channels.end) end = channels.end;
    memcpy(mafat_tensors_element(&e->tensors, tensor, c, 0, 0), values + (c - channels.begin),
           (size_t)(end - c) * sizeof *values);
  }
}

static int read_floats(void *context, struct mafat_executor *e, struct mafat_span rows,
                       struct mafat_diagnostic *d)
{
  const struct executor_input *in = context;
  const struct mafat_file_order *o = in->order;
  (void)d;
  for (int y = rows.begin; y < rows.end; y++) {
    const float *line = in->floats + (o->rows > 1 ? (size_t)y : 0) * o->row_elements;
    if (o->planes == 1) mafat_executor_set_input_line(e, in->index, o, y, line);
    for (int c = 0; c < o->planes && o->planes > 1; c++, line += (size_t)o->rows * o->row_elements)
      mafat_executor_set_input_row(e, in->index, o, c, y, line);
  }
  return MAFAT_OK;
}

void mafat_executor_set_floats(struct mafat_executor *e, int input,
                               const struct mafat_file_order *order, const float *floats)
{
  struct executor_input *in = &e->inputs[input];
  *in = (struct executor_input){
      .floats = floats, .order = order, .index = input, .source = {read_floats, in}};
}

void mafat_executor_set_input(struct mafat_executor *e, const float *chw)
{
  mafat_file_order_planes(&e->planes, mafat_network_picture_shape(e->network));
  mafat_executor_set_floats(e, 0, &e->planes, chw);
}

static int read_input(struct mafat_executor *e, struct mafat_diagnostic *d)
{
  const struct mafat_network *n = e->network;
  int input = e->step.layer - n->n_layers;
  const struct mafat_input_source *source = &e->inputs[input].source;
  int code = source->read_rows ? source->read_rows(source->context, e, e->step.out.y, d)
             : n->n_inputs == 1
                 ? mafat_fail(d, MAFAT_EINVAL, "%s: no input was set", n->path)
                 : mafat_fail(d, MAFAT_EINVAL, "%s: input %d was not set", n->path, input);
  e->source_failed = code != MAFAT_OK && code != MAFAT_ECANCELED;
  return code;
}

/* ---- steps ---- */

/* If the layer is split by its input channels: the buffer of integer sums that the step takes over
 * from an earlier part, or leaves to a later part. Else NULL. */
static int32_t *sums_of(const struct mafat_executor *e)
{
  const struct mafat_step *step = &e->step;
  int sums = e->layout->sums_buffers ? e->layout->sums_buffers[step->layer] : -1;
  if (sums < 0) return NULL;
  sums += mafat_partition_find_buffer(&e->plan->parts->partitions[step->layer], 0,
                                      step->out.y.begin, step->out.x.begin);
  return (int32_t *)(void *)(e->tensors.arena + e->layout->buffers[sums].offset);
}

static struct mafat_worker worker_of(struct mafat_executor *e, int index)
{
  const struct mafat_scratch *scratch = mafat_layout_scratch(e->layout, &e->step);
  int buffer = mafat_layout_scratch_buffer(e->layout, &e->step);
  char *memory = buffer < 0 ? NULL : e->tensors.arena + e->layout->buffers[buffer].offset;
  return (struct mafat_worker){.tensors = &e->tensors,
                               .plan = e->plan,
                               .kernels = e->options.kernels,
                               .integers = e->integers,
                               .team = e->team,
                               .weights = e->weights,
                               .scratch = scratch,
                               .index = index,
                               .round = e->round,
                               .shared_memory = memory,
                               .sums = sums_of(e),
                               .slot_memory = mafat_scratch_slot(scratch, memory, index)};
}

/* Zeroes the padding of the step's outputs. Does nothing if an earlier step computed the same
 * outputs from other input channels. */
static void zero_output_pads(const struct mafat_executor *e)
{
  const struct mafat_step *step = &e->step;
  const struct mafat_layer *l = &e->network->layers[step->layer];
  if (step->channels.begin != mafat_step_first_channel(e->plan, step)) return;
  for (int k = 0; k < mafat_layer_n_outputs(l); k++) {
    int tensor = mafat_network_output(e->network, step->layer, k);
    if (mafat_tensors_has(&e->tensors, tensor))
      zero_pads(&e->tensors, tensor, mafat_layer_out_box(l, k, step->out),
                mafat_layer_out_channels(l, k, step->filters));
  }
}

/* After a step in place, the padding still holds the input's zero point. Overwrites it with the
 * output's zero point if they differ. */
static void turn_pads(const struct mafat_executor *e)
{
  int layer = e->step.layer, place = e->plan->place_of[layer];
  if (place >= 0 && mafat_network_tensor_quantization(e->network, place)->zero !=
                        e->network->layers[layer].quantization.zero)
    zero_output_pads(e);
}

/* Computes one worker's share of the current step. */
static void work(void *context, int index)
{
  struct mafat_executor *e = context;
  bool computes = e->step.kind == MAFAT_STEP_COMPUTE;
  if (index == 0 && e->round == 0 && computes && !mafat_plan_is_in_place(e->plan, e->step.layer))
    zero_output_pads(e);
  struct mafat_worker worker = worker_of(e, index);
  int code = mafat_kinds_run(&worker, &e->step);
  if (code) atomic_store(&e->step_code, code);
}

/* Records which box and channels the buffers of the step's outputs hold from now on. */
static void begin_output(struct mafat_executor *e)
{
  const struct mafat_step *step = &e->step;
  const struct mafat_layer *l = &e->network->layers[step->layer];
  for (int k = 0; k < mafat_layer_n_outputs(l); k++) {
    int tensor = mafat_network_output(e->network, step->layer, k);
    if (e->layout->tensors[tensor].external || !mafat_tensors_has(&e->tensors, tensor)) continue;
    struct mafat_span channels = mafat_layer_out_channels(l, k, step->held_channels);
    e->tensors.held[tensor] = (struct mafat_held){mafat_schedule_held(e->schedule, step, k),
                                                  channels.begin / MAFAT_CHANNEL_BLOCK};
  }
}

static int compute(struct mafat_executor *e, struct mafat_diagnostic *d)
{
  const struct mafat_step *step = &e->step;
  atomic_store(&e->step_code, MAFAT_OK);
  struct mafat_worker caller = worker_of(e, 0);
  if (step->kind == MAFAT_STEP_COMPUTE) mafat_kinds_prepare(&caller, step);
  int code = MAFAT_OK, rounds = mafat_kinds_rounds(&caller, step);
  for (e->round = 0; e->round < rounds && code == MAFAT_OK; e->round++) {
    mafat_team_run(e->team, work, e);
    code = atomic_load(&e->step_code);
  }
  turn_pads(e);
  if (code == MAFAT_OK) return code;
  char text[100];
  mafat_kinds_explain(&caller, step, code, text, sizeof text);
  return mafat_fail(d, code, "%s: layer %d [%s]: %s", e->network->path, step->layer,
                    mafat_layer_type_name(e->network->layers[step->layer].type), text);
}

/* Sends or receives. Received data is held and padded as if computed here. */
static int exchange(struct mafat_executor *e, struct mafat_diagnostic *d)
{
  const struct mafat_exchanger *x = &e->options.exchanger;
  if (!x->exchange)
    return mafat_fail(d, MAFAT_EINVAL, "%s: there is no other rank", e->network->path);
  if (e->step.kind == MAFAT_STEP_RECEIVE) {
    begin_output(e);
    zero_output_pads(e);
  }
  return x->exchange(x->context, e, &e->step, d);
}

static int run_step(struct mafat_executor *e, long long number, struct mafat_diagnostic *d)
{
  const struct mafat_step *step = &e->step;
  int code = mafat_weights_acquire(e->weights, number, step, d);
  if (code) return code;
  if (mafat_step_exchanges(step)) return exchange(e, d);
  if (step->kind != MAFAT_STEP_TRANSFORM) begin_output(e);
  if (step->kind == MAFAT_STEP_INPUT) {
    zero_output_pads(e);
    if (!e->late) code = read_input(e, d);
    if (!e->options.exchanger.exchange) return code;
    e->late = e->late ? e->late : code;
    return MAFAT_OK;
  }
  code = compute(e, d);
  mafat_weights_release_step(e->weights, step);
  return code;
}

bool mafat_executor_is_canceled(const struct mafat_executor *e)
{
  return e->options.canceled && atomic_load(e->options.canceled);
}

/* Called before each step until it returns true. Before an input step, populates the input's buffer
 * and returns false. Before the first other step, populates the arena and returns true. Until then
 * a decoder of a whole picture may be open, and the predicted peak counts only the input and a
 * frame together with the decoder. */
static bool populate(const struct mafat_executor *e)
{
  const struct mafat_step *step = &e->step;
  if (step->kind != MAFAT_STEP_INPUT) {
    mafat_arena_populate(e->arena, e->layout->total_bytes);
    return true;
  }
  int buffer = e->layout->tensors[step->layer].buffer;
  if (buffer >= 0 && step->out.y.begin == 0)
    mafat_arena_populate_part(e->arena, e->layout->buffers[buffer].offset,
                              e->layout->buffers[buffer].bytes);
  return false;
}

static int run_schedule(struct mafat_executor *e, struct mafat_diagnostic *d)
{
  const struct mafat_step *step = &e->step;
  long long number = 0;
  memset(e->ms, 0, (size_t)mafat_network_n_operators(e->network) * sizeof *e->ms);
  mafat_schedule_rewind(e->schedule);
  double before = mafat_process_now_ms();
  bool computes = false;
  while (mafat_schedule_next(e->schedule, &e->step)) {
    if (mafat_executor_is_canceled(e))
      return mafat_fail(d, MAFAT_ECANCELED, "%s: the run was canceled", e->network->path);
    if (!computes) computes = populate(e);
    int code = run_step(e, number++, d);
    if (code) return code;
    double after = mafat_process_now_ms();
    e->ms[step->layer] += after - before;
    if (e->watch.ran) e->watch.ran(e->watch.context, step, before, after);
    before = after;
    if (e->options.observe && step->kind == MAFAT_STEP_COMPUTE)
      e->options.observe(e->options.observe_context, e, step);
  }
  return MAFAT_OK;
}

/* A child of fork() does not have its parent's threads, and io_uring reads would complete in the
 * parent. */
static int check_process(const struct mafat_executor *e, struct mafat_diagnostic *d)
{
  if (mafat_team_is_here(e->team) &&
      (!mafat_weights_reads_in_runs(e->weights) || e->process == getpid()))
    return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL,
                    "%s: was opened before fork(): with threads, or weights that are read in runs, "
                    "only the parent can run it",
                    e->network->path);
}

int mafat_executor_run(struct mafat_executor *e, struct mafat_diagnostic *d)
{
  e->source_failed = false;
  e->late = MAFAT_OK;
  int code = check_process(e, d);
  if (code) return code;
  code = mafat_arena_begin(e->arena, &e->tensors.arena, e->network->path, d);
  if (code) return code;
  mafat_weights_begin(e->weights, e->tensors.arena);
  mafat_team_gather(e->team);
  code = run_schedule(e, d);
  mafat_team_disperse(e->team);
  if (code == MAFAT_OK) code = mafat_weights_end(e->weights, d);
  else mafat_weights_stop(e->weights);
  if (code == MAFAT_OK) code = e->late;
  mafat_arena_end(e->arena, e, code == MAFAT_OK);
  return code;
}

int mafat_executor_receive(struct mafat_executor *e, struct mafat_diagnostic *d)
{
  int code = mafat_arena_begin(e->arena, &e->tensors.arena, e->network->path, d);
  if (code) return code;
  mafat_schedule_rewind(e->schedule);
  while (code == MAFAT_OK && mafat_schedule_next(e->schedule, &e->step))
    if (e->step.kind == MAFAT_STEP_RECEIVE) code = exchange(e, d);
  mafat_arena_end(e->arena, e, code == MAFAT_OK);
  return code;
}

bool mafat_executor_hold_output(struct mafat_executor *e)
{
  return mafat_arena_hold(e->arena, e, &e->tensors.arena);
}

void mafat_executor_unhold_output(struct mafat_executor *e)
{
  mafat_arena_unhold(e->arena);
}

void mafat_executor_drop_output(struct mafat_executor *e)
{
  mafat_arena_drop(e->arena, e);
}

bool mafat_executor_source_failed(const struct mafat_executor *e)
{
  return e->source_failed;
}

double mafat_executor_input_ms(const struct mafat_executor *e)
{
  double ms = 0;
  for (int i = 0; i < e->network->n_inputs; i++) ms += e->ms[e->network->n_layers + i];
  return ms;
}

void mafat_executor_make_room(struct mafat_executor *e, size_t bytes)
{
  size_t begin, end;
  mafat_layout_before_layers(e->layout, &begin, &end);
  mafat_arena_make_room(e->arena, begin, end, bytes);
}

void mafat_executor_rest(struct mafat_executor *e)
{
  mafat_arena_forget(e->arena, e);
}

void mafat_executor_read_output(const struct mafat_executor *e, int layer, float *chw)
{
  struct mafat_source self;
  struct mafat_sources producer = mafat_network_output_sources(e->network, layer, &self);
  mafat_tensors_flatten(&e->tensors, &producer, e->network->layers[layer].out, chw);
}

void mafat_executor_read_view(const struct mafat_executor *e, const struct mafat_sources *sources,
                              const struct mafat_view *view, long long first, long long n,
                              float *out)
{
  mafat_tensors_read_view(&e->tensors, sources, view, first, n, out);
}

void mafat_executor_write_output(struct mafat_executor *e, int layer, const float *chw)
{
  mafat_tensors_unflatten(&e->tensors, layer, e->network->layers[layer].out, chw);
}

float mafat_executor_output_at(const struct mafat_executor *e, int layer, int c, int y, int x)
{
  struct mafat_source self;
  struct mafat_sources producer = mafat_network_output_sources(e->network, layer, &self);
  return mafat_tensors_value(&e->tensors, &producer, c, y, x);
}

const struct mafat_layer_part *mafat_executor_part(const struct mafat_executor *e,
                                                   const struct mafat_step *step)
{
  return &e->plan->parts->list[step->part];
}

/* Box and channels of one output that a step writes. */
struct made_part {
  int tensor;
  struct mafat_box box;
  struct mafat_span channels;
};

/* Segment of row y of a channel block; lanes after the last channel are not sent. */
static struct mafat_executor_segment segment_of(const struct mafat_executor *e,
                                                const struct made_part *m, int block, int y)
{
  size_t pixel = mafat_tensors_pixel_bytes(&e->tensors, m->tensor, block);
  int lanes = mafat_min(m->channels.end - block * MAFAT_CHANNEL_BLOCK, MAFAT_CHANNEL_BLOCK),
      w = mafat_span_size(m->box.x);
  size_t bytes = (size_t)lanes * e->layout->tensors[m->tensor].element_bytes;
  char *at = mafat_tensors_address(&e->tensors, m->tensor, block, y, m->box.x.begin);
  return bytes == pixel ? (struct mafat_executor_segment){at, pixel * (size_t)w, 0, 1}
                        : (struct mafat_executor_segment){at, bytes, pixel, w};
}

/* Lists the segments of the integer sums of all filters, which kernels store panel by panel
 * (kinds/integer/conv.c). The padding at a panel's end is not sent. Returns their number. */
static int segments_of_sums(const struct mafat_step *step, int32_t *sums,
                            struct mafat_executor_segment *segments, int capacity)
{
  const size_t pixels = (size_t)mafat_box_area(step->out);
  int n = 0;
  for (int f = 0, end; f < step->filters.end; f = end, n++) {
    end = mafat_min(f + MAFAT_PANEL, step->filters.end);
    size_t bytes = (size_t)(end - f) * sizeof *sums,
           stride = (size_t)mafat_panel_width(end - f) * sizeof *sums;
    char *at = (char *)(sums + (size_t)f * pixels);
    if (n < capacity)
      segments[n] = bytes == stride
                        ? (struct mafat_executor_segment){at, bytes * pixels, 0, 1}
                        : (struct mafat_executor_segment){at, bytes, stride, (int)pixels};
  }
  return n;
}

int mafat_executor_segments(const struct mafat_executor *e, const struct mafat_step *step,
                            struct mafat_executor_segment *segments, int capacity)
{
  const struct mafat_layer *l = &e->network->layers[step->layer];
  int32_t *sums = mafat_executor_part(e, step)->sums ? sums_of(e) : NULL;
  int n = 0;
  if (sums) return segments_of_sums(step, sums, segments, capacity);
  for (int k = 0; k < mafat_layer_n_outputs(l); k++) {
    struct made_part m = {mafat_network_output(e->network, step->layer, k),
                          mafat_layer_out_box(l, k, step->out),
                          mafat_layer_out_channels(l, k, step->filters)};
    if (!mafat_tensors_has(&e->tensors, m.tensor)) continue;
    for (int y = m.box.y.begin; y < m.box.y.end; y++)
      for (int block = m.channels.begin / MAFAT_CHANNEL_BLOCK;
           block < mafat_n_blocks(m.channels.end); block++, n++)
        if (n < capacity) segments[n] = segment_of(e, &m, block, y);
  }
  return n;
}

void *mafat_executor_boxes_room(const struct mafat_executor *e)
{
  return e->tensors.arena + e->layout->boxes_offset;
}

void *mafat_executor_frame_room(struct mafat_executor *e)
{
  int frame = e->layout->frame_buffer;
  return frame < 0 ? NULL
                   : (char *)mafat_arena_take(e->arena, e) + e->layout->buffers[frame].offset;
}

size_t mafat_executor_locked_bytes(const struct mafat_executor *e)
{
  return mafat_arena_locked_bytes(e->arena);
}

const void *mafat_executor_arena(const struct mafat_executor *e)
{
  return mafat_arena_memory(e->arena);
}

const double *mafat_executor_layer_ms(const struct mafat_executor *e)
{
  return e->ms;
}
