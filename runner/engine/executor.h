/* Runs a plan: computes the steps of its schedule in one arena of layout->mapped_bytes, or in the
 * first bytes of a larger shared arena. Opening allocates the executor, maps the arena and starts
 * threads. A run calls no allocator and maps no memory; it may read weights from files, and calls
 * the functions that the caller set. Included by api, experiments/planners, experiments/separable,
 * runner/calibrate and runner/image; called by programs/mafat_ranks. */
#ifndef MAFAT_RUNNER_ENGINE_EXECUTOR_H
#define MAFAT_RUNNER_ENGINE_EXECUTOR_H

#include <stdatomic.h>

#include "predictor/layout/layout.h"
#include "predictor/schedule/schedule.h"
#include "runner/engine/arena.h"
#include "runner/kernels/kernels.h"
#include "runner/weights/weights.h"

struct mafat_executor;

/* Exchanges data with the other ranks, the processes that share one inference. `exchange` performs
 * one step of kind send, wait or receive (schedule.h). mafat_executor_segments lists the memory
 * that the step sends or receives. */
struct mafat_exchanger {
  int (*exchange)(void *context, struct mafat_executor *e, const struct mafat_step *step,
                  struct mafat_diagnostic *d);
  void *context;
};

struct mafat_executor_options {
  const struct mafat_kernels *kernels; /* default: the best of this CPU */
  struct mafat_arena *arena; /* shared arena; NULL, the default: the executor opens its own */
  struct mafat_lock *lock;   /* locks the arena in memory (runner/os/lock.h). It may be freed once
                                the executor is open. NULL, the default: not locked */
  /* Called after every step that computes, before the layer's tensor is overwritten; may be
   * NULL. */
  void (*observe)(void *context, struct mafat_executor *e, const struct mafat_step *step);
  void *observe_context;
  struct mafat_exchanger exchanger; /* for a rank's plan; default: none */
  const atomic_bool *canceled; /* set by another thread to end a run between two steps. NULL, the
                                  default: never */
};

void mafat_executor_defaults(struct mafat_executor_options *options);

/* The caller still owns network, plan, layout and weights, which must outlive the executor. */
int mafat_executor_open(struct mafat_executor **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, const struct mafat_layout *layout,
                        struct mafat_weights *weights,
                        const struct mafat_executor_options *options, struct mafat_diagnostic *d);
void mafat_executor_close(struct mafat_executor **e);

/* Source of an input. In each run the executor calls read_rows for consecutive ranges of rows, each
 * row once, when the plan needs them. read_rows stores the rows with the functions below. It
 * returns MAFAT_OK, or an error code with a diagnostic. */
struct mafat_input_source {
  int (*read_rows)(void *context, struct mafat_executor *e, struct mafat_span rows,
                   struct mafat_diagnostic *d);
  void *context;
};

/* Sets the source of an input for all following runs. The caller still owns its context. */
void mafat_executor_set_source(struct mafat_executor *e, int input,
                               struct mafat_input_source source);
/* Makes `floats`, stored in `order`, the source of an input. Both must live until the last run is
 * over. */
void mafat_executor_set_floats(struct mafat_executor *e, int input,
                               const struct mafat_file_order *order, const float *floats);
/* Makes `chw`, floats in CHW order, the source of the first input. It must live until the last run
 * is over. */
void mafat_executor_set_input(struct mafat_executor *e, const float *chw);

/* This function and those up to mafat_executor_set_input_channels are called by sources, during
 * read_rows. Returns the memory of row y of the first input, with channels interleaved; only for
 * float inputs of at most 16 channels. NULL: no layer of the plan reads the input. *row_floats:
 * floats from the start of row y to the start of row y + 1. */
float *mafat_executor_input_row(struct mafat_executor *e, int y, size_t *row_floats);
/* Sets row y of a quantized first input to `pixels`, floats with channels interleaved, which it
 * quantizes. */
void mafat_executor_set_input_pixels(struct mafat_executor *e, int y, const float *pixels);
/* Sets row y of channel c of any input. `line` begins with row y of all channels if the order has
 * one plane, or with row y of channel c if it has a plane for each channel. */
void mafat_executor_set_input_row(struct mafat_executor *e, int input,
                                  const struct mafat_file_order *order, int c, int y,
                                  const float *line);

/* Sets row y of some channels of an 8-bit input. `line` begins as for mafat_executor_set_input_row,
 * with 8-bit values of the type that the model declares (order->type); signed values are converted
 * to unsigned. */
void mafat_executor_set_input_numbers(struct mafat_executor *e, int input,
                                      const struct mafat_file_order *order,
                                      struct mafat_span channels, int y, const unsigned char *line);

/* Sets all channels of row y of an input whose order has one plane; `line` is row y in that
 * order. */
void mafat_executor_set_input_line(struct mafat_executor *e, int input,
                                   const struct mafat_file_order *order, int y, const float *line);

/* Sets these channels of a float input of one pixel. `values` has one float for each of them. */
void mafat_executor_set_input_channels(struct mafat_executor *e, int input,
                                       struct mafat_span channels, const float *values);

/* `ran` is called after every step, with the times at which the step began and ended
 * (mafat_process_now_ms). */
struct mafat_step_watch {
  void (*ran)(void *context, const struct mafat_step *step, double from_ms, double to_ms);
  void *context;
};

/* Sets the watch for the following runs. Default: ran is NULL. */
void mafat_executor_set_watch(struct mafat_executor *e, struct mafat_step_watch watch);

int mafat_executor_run(struct mafat_executor *e, struct mafat_diagnostic *d);
/* Performs the receive steps of the plan and no others. Called instead of mafat_executor_run for
 * the plan of a rank that computes nothing and only collects the outputs of the other ranks. */
int mafat_executor_receive(struct mafat_executor *e, struct mafat_diagnostic *d);
/* Called by sources. True if the run was canceled; the source then returns MAFAT_ECANCELED. */
bool mafat_executor_is_canceled(const struct mafat_executor *e);
/* True if a source failed in the last run, other than by MAFAT_ECANCELED. */
bool mafat_executor_source_failed(const struct mafat_executor *e);
/* Returns the milliseconds that input steps took in the last run. */
double mafat_executor_input_ms(const struct mafat_executor *e);

/* Returns pages of the arena to the system, up to `bytes`, but not those of the picture's input
 * and a frame. Called before a whole picture is decoded between runs. */
void mafat_executor_make_room(struct mafat_executor *e, size_t bytes);
/* Returns all pages of the arena to the system, unless an executor that shares it runs or has a
 * valid output in it. */
void mafat_executor_rest(struct mafat_executor *e);

/* Invalidates the last run's output, because another run was requested. */
void mafat_executor_drop_output(struct mafat_executor *e);
/* Called before reading an output. Returns true if the output is valid; then no executor that
 * shares the arena can run until mafat_executor_unhold_output. The output is invalid after a failed
 * run, after pages were returned to the system, and after a run of another executor in the
 * arena. */
bool mafat_executor_hold_output(struct mafat_executor *e);
void mafat_executor_unhold_output(struct mafat_executor *e);
/* Copies the output of layer `layer` (also of an alias) as floats in CHW order. Valid for network
 * outputs after a run, and in observe for the step's layer. */
void mafat_executor_read_output(const struct mafat_executor *e, int layer, float *chw);
/* Copies elements [first, first + n) of a view of the concatenated sources, in row-major order.
 * May be called when mafat_executor_read_output may. */
void mafat_executor_read_view(const struct mafat_executor *e, const struct mafat_sources *sources,
                              const struct mafat_view *view, long long first, long long n,
                              float *out);
/* Replaces the layer's output before later layers read it. Called in options.observe. The layer
 * must have a tensor of its own that holds its whole map. */
void mafat_executor_write_output(struct mafat_executor *e, int layer, const float *chw);
/* Returns one element of a layer's output, dequantized. May be called when
 * mafat_executor_read_output may. */
float mafat_executor_output_at(const struct mafat_executor *e, int layer, int c, int y, int x);

/* `n` ranges of `bytes` each. The first begins at `at`; `stride` is the number of bytes from the
 * start of one range to the start of the next. */
struct mafat_executor_segment {
  char *at;
  size_t bytes, stride;
  int n;
};

/* Lists the memory of the elements that a step sends or receives, without padding, in the same
 * order in all ranks. Returns the number of segments, and writes at most `capacity` of them. */
int mafat_executor_segments(const struct mafat_executor *e, const struct mafat_step *step,
                            struct mafat_executor_segment *segments, int capacity);
/* Returns the part that a step of a split group computes, sends or receives. */
const struct mafat_layer_part *mafat_executor_part(const struct mafat_executor *e,
                                                   const struct mafat_step *step);

/* Returns the arena's memory for the next video frame, to be filled before its run. NULL: the
 * layout has none. Invalidates outputs of other users. */
void *mafat_executor_frame_room(struct mafat_executor *e);

/* Returns the arena's memory for layout->most_boxes boxes. It is used while the output is held, and
 * does not overlap the output. */
void *mafat_executor_boxes_room(const struct mafat_executor *e);

/* Returns the arena's size in bytes if all of it is locked in memory, else 0. */
size_t mafat_executor_locked_bytes(const struct mafat_executor *e);
/* Returns the arena's address. Used by tests that check which memory a run touches. */
const void *mafat_executor_arena(const struct mafat_executor *e);
/* [operator]: milliseconds of each layer and input in the last run; owned by the executor. */
const double *mafat_executor_layer_ms(const struct mafat_executor *e);

#endif
