/* Runs a plan: walks the schedule and computes every step in one arena of exactly
 * layout->mapped_bytes, or in the first bytes of a shared one. Opening maps the arena. A run calls
 * no allocator and no system call that maps memory. Included by api, runner/calibrate/calibrate.c
 * and runner/image. */
#ifndef MAFAT_RUNNER_ENGINE_EXECUTOR_H
#define MAFAT_RUNNER_ENGINE_EXECUTOR_H

#include <stdatomic.h>

#include "predictor/layout/layout.h"
#include "predictor/schedule/schedule.h"
#include "runner/engine/arena.h"
#include "runner/kernels/kernels.h"
#include "runner/weights/weights.h"

struct mafat_executor;

/* Performs steps that send or receive (schedule.h). It begins to send, waits for the end, or
 * receives the bytes of a part, as listed by mafat_executor_segments. */
struct mafat_exchanger {
  int (*exchange)(void *context, struct mafat_executor *e, const struct mafat_step *step,
                  struct mafat_diagnostic *d);
  void *context;
};

struct mafat_executor_options {
  const struct mafat_kernels *kernels; /* default: the best of this CPU */
  struct mafat_arena *arena; /* shared arena; NULL, the default: an own one */
  struct mafat_lock *lock;   /* locks its arena; NULL, the default: not locked. Used only while
                                opening */
  /* Called after every step, while the layer's tensor is alive; may be NULL. */
  void (*observe)(void *context, struct mafat_executor *e, const struct mafat_step *step);
  void *observe_context;
  struct mafat_exchanger exchanger; /* for a rank's plan; default: none */
  const atomic_bool *canceled; /* set by another thread to end a run between two steps. NULL, the
                                  default: never */
};

void mafat_executor_defaults(struct mafat_executor_options *options);

/* Network, plan, layout and weights stay the caller's and must outlive the executor. */
int mafat_executor_open(struct mafat_executor **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, const struct mafat_layout *layout,
                        struct mafat_weights *weights,
                        const struct mafat_executor_options *options, struct mafat_diagnostic *d);
void mafat_executor_close(struct mafat_executor **e);

/* Source of an input. Called for rows [rows), in order, as the plan needs them; each row once.
 * Fails with a code and a diagnostic. */
struct mafat_input_source {
  int (*read_rows)(void *context, struct mafat_executor *e, struct mafat_span rows,
                   struct mafat_diagnostic *d);
  void *context;
};

/* Sets the source of an input for all following runs. The context stays the caller's. */
void mafat_executor_set_source(struct mafat_executor *e, int input,
                               struct mafat_input_source source);
/* Sets floats in that order as source; both must live until the run is over. */
void mafat_executor_set_floats(struct mafat_executor *e, int input,
                               const struct mafat_file_order *order, const float *floats);
/* Sets the first input, in CHW order whatever its dimensions. */
void mafat_executor_set_input(struct mafat_executor *e, const float *chw);

/* For sources, during read_rows. Returns row y of the first input at pixel 0, channels interleaved;
 * only for inputs of at most 16 channels. NULL if no layer that runs reads the input; then no
 * source is called. *row_floats: distance to row y + 1. */
float *mafat_executor_input_row(struct mafat_executor *e, int y, size_t *row_floats);
/* Sets row y of a quantized first input from such a row of floats. */
void mafat_executor_set_input_pixels(struct mafat_executor *e, int y, const float *pixels);
/* Sets row y of channel c of an input with any number of channels. line: that row, or its plane's
 * row, in the order. */
void mafat_executor_set_input_row(struct mafat_executor *e, int input,
                                  const struct mafat_file_order *order, int c, int y,
                                  const float *line);

/* The same for an 8-bit input, from values as in the model's file: signed ones become unsigned. */
void mafat_executor_set_input_numbers(struct mafat_executor *e, int input,
                                      const struct mafat_file_order *order,
                                      struct mafat_span channels, int y, const unsigned char *line);

/* Sets all channels of row y of an input whose order has no planes. line: that row, in the
 * order. */
void mafat_executor_set_input_line(struct mafat_executor *e, int input,
                                   const struct mafat_file_order *order, int y, const float *line);

/* Sets these channels of a float input of one pixel. values: one for each. */
void mafat_executor_set_input_channels(struct mafat_executor *e, int input,
                                       struct mafat_span channels, const float *values);

/* Called for every step, with its begin and end time (mafat_process_now_ms). */
struct mafat_step_watch {
  void (*ran)(void *context, const struct mafat_step *step, double from_ms, double to_ms);
  void *context;
};

/* Sets the watch of the following runs. NULL function, the default: none. */
void mafat_executor_set_watch(struct mafat_executor *e, struct mafat_step_watch watch);

int mafat_executor_run(struct mafat_executor *e, struct mafat_diagnostic *d);
/* For a rank that makes no output: receives the others' output, which a run leaves out. */
int mafat_executor_receive(struct mafat_executor *e, struct mafat_diagnostic *d);
/* For sources: true if the run shall end; then return MAFAT_ECANCELED. */
bool mafat_executor_is_canceled(const struct mafat_executor *e);
/* True if the last run failed in its source. */
bool mafat_executor_source_failed(const struct mafat_executor *e);
/* Milliseconds spent in the source in the last run. */
double mafat_executor_input_ms(const struct mafat_executor *e);

/* Returns `bytes` of the arena to the system until they are touched again, outside of the input and
 * a waiting frame. Used to decode a whole picture between runs, when the arena's contents do not
 * matter. */
void mafat_executor_make_room(struct mafat_executor *e, size_t bytes);
/* Returns all pages to the system, unless another user's output is in the arena. */
void mafat_executor_rest(struct mafat_executor *e);

/* Invalidates the last output, because another run was requested. */
void mafat_executor_drop_output(struct mafat_executor *e);
/* Around reading an output in a shared arena: true if there is a valid output. None is valid after
 * a failed run, after pages were returned, or after another user's run. If true, no other user runs
 * until unhold. */
bool mafat_executor_hold_output(struct mafat_executor *e);
void mafat_executor_unhold_output(struct mafat_executor *e);
/* Copies the output of layer `layer` (also of an alias) as floats in CHW order. Valid for network
 * outputs after a run, and in observe for the step's layer. */
void mafat_executor_read_output(const struct mafat_executor *e, int layer, float *chw);
/* Elements [first, first + n) of a view of the concatenated sources, in row-major order. Valid as
 * above. */
void mafat_executor_read_view(const struct mafat_executor *e, const struct mafat_sources *sources,
                              const struct mafat_view *view, long long first, long long n,
                              float *out);
/* For tests, in observe: replaces values that later layers read. The layer's whole output must have
 * a tensor of its own. */
void mafat_executor_write_output(struct mafat_executor *e, int layer, const float *chw);
/* One element of a head or output tensor. */
float mafat_executor_output_at(const struct mafat_executor *e, int layer, int c, int y, int x);

/* `n` runs of `bytes` each, `stride` apart. */
struct mafat_executor_segment {
  char *at;
  size_t bytes, stride;
  int n;
};

/* Lists the memory of the elements that a step sends or receives, without padding, in an order
 * common to all ranks. Returns the number of segments; writes at most `capacity`. */
int mafat_executor_segments(const struct mafat_executor *e, const struct mafat_step *step,
                            struct mafat_executor_segment *segments, int capacity);
const struct mafat_layer_part *mafat_executor_part(const struct mafat_executor *e,
                                                   const struct mafat_step *step);

/* Memory for a frame of video when a run begins; NULL: the layout has none. */
void *mafat_executor_frame_room(struct mafat_executor *e);

/* While the output is held: memory for the layout's most_boxes boxes. Overwrites the result of the
 * previous call, not the output. */
void *mafat_executor_boxes_room(const struct mafat_executor *e);

/* All of the arena, or 0. */
size_t mafat_executor_locked_bytes(const struct mafat_executor *e);
/* Arena's address, for tests of touched memory. */
const void *mafat_executor_arena(const struct mafat_executor *e);
/* Milliseconds of each layer in the last run, [layer]. */
const double *mafat_executor_layer_ms(const struct mafat_executor *e);

#endif
