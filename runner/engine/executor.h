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

/* Exchanges data with other ranks. `exchange` performs one step of kind send, wait or receive
 * (schedule.h). mafat_executor_segments lists the memory that the step sends or receives. */
struct mafat_exchanger {
  int (*exchange)(void *context, struct mafat_executor *e, const struct mafat_step *step,
                  struct mafat_diagnostic *d);
  void *context;
};

struct mafat_executor_options {
  const struct mafat_kernels *kernels; /* default: the best of this CPU */
  struct mafat_arena *arena; /* shared arena; NULL, the default: the executor opens its own */
  struct mafat_lock *lock;   /* locks the arena's memory; NULL, the default: not locked. Used only
                                while opening */
  /* Called after every step, while the layer's tensor is alive; may be NULL. */
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

/* Source of an input. The executor calls read_rows for consecutive ranges of rows, each row once,
 * when the plan needs them. read_rows stores them with the functions below. Returns MAFAT_OK, or an
 * error code with a diagnostic. */
struct mafat_input_source {
  int (*read_rows)(void *context, struct mafat_executor *e, struct mafat_span rows,
                   struct mafat_diagnostic *d);
  void *context;
};

/* Sets the source of an input for all following runs. The caller still owns its context. */
void mafat_executor_set_source(struct mafat_executor *e, int input,
                               struct mafat_input_source source);
/* Makes `floats`, stored in that order, the source of an input. Both must live until the last run
 * is over. */
void mafat_executor_set_floats(struct mafat_executor *e, int input,
                               const struct mafat_file_order *order, const float *floats);
/* The same for the first input, always in CHW order. */
void mafat_executor_set_input(struct mafat_executor *e, const float *chw);

/* For sources, during read_rows. Returns the memory of row y of the first input, channels
 * interleaved; only for float inputs of at most 16 channels. NULL: no layer of the plan reads the
 * input. *row_floats: floats from row y to row y + 1. */
float *mafat_executor_input_row(struct mafat_executor *e, int y, size_t *row_floats);
/* Quantizes a row of floats, channels interleaved, as row y of a quantized first input. */
void mafat_executor_set_input_pixels(struct mafat_executor *e, int y, const float *pixels);
/* Sets row y of channel c of any input. `line` begins with row y of all channels if the order has
 * one plane, or with row y of channel c if it has a plane for each channel. */
void mafat_executor_set_input_row(struct mafat_executor *e, int input,
                                  const struct mafat_file_order *order, int c, int y,
                                  const float *line);

/* Sets row y of some channels of an 8-bit input, from quantized values as in the model's file.
 * Converts signed ones to unsigned. */
void mafat_executor_set_input_numbers(struct mafat_executor *e, int input,
                                      const struct mafat_file_order *order,
                                      struct mafat_span channels, int y, const unsigned char *line);

/* Sets all channels of row y of an input whose order has one plane; `line` is row y in that
 * order. */
void mafat_executor_set_input_line(struct mafat_executor *e, int input,
                                   const struct mafat_file_order *order, int y, const float *line);

/* Sets these channels of a float input of one pixel. values: one for each channel. */
void mafat_executor_set_input_channels(struct mafat_executor *e, int input,
                                       struct mafat_span channels, const float *values);

/* `ran` is called after every step, with its begin and end time (mafat_process_now_ms). */
struct mafat_step_watch {
  void (*ran)(void *context, const struct mafat_step *step, double from_ms, double to_ms);
  void *context;
};

/* Sets the watch of the following runs. Default: ran is NULL. */
void mafat_executor_set_watch(struct mafat_executor *e, struct mafat_step_watch watch);

int mafat_executor_run(struct mafat_executor *e, struct mafat_diagnostic *d);
/* For a plan that only receives outputs from other ranks, after their run: performs its receive
 * steps and no others. */
int mafat_executor_receive(struct mafat_executor *e, struct mafat_diagnostic *d);
/* For sources: true if the run is canceled; the source then returns MAFAT_ECANCELED. */
bool mafat_executor_is_canceled(const struct mafat_executor *e);
/* True if the last run failed in its source. */
bool mafat_executor_source_failed(const struct mafat_executor *e);
/* Milliseconds spent in the source in the last run. */
double mafat_executor_input_ms(const struct mafat_executor *e);

/* Returns up to `bytes` of the arena's pages to the system, but not those of the picture's input
 * and a frame. Called before a whole picture is decoded between runs. */
void mafat_executor_make_room(struct mafat_executor *e, size_t bytes);
/* Returns all pages to the system, unless another user's output is in the arena. */
void mafat_executor_rest(struct mafat_executor *e);

/* Invalidates the last output, because another run was requested. */
void mafat_executor_drop_output(struct mafat_executor *e);
/* Called before reading an output: true if it is valid, and then no other user of a shared arena
 * can run until unhold. It is invalid after a failed run, after pages were returned, and after
 * another user's run. */
bool mafat_executor_hold_output(struct mafat_executor *e);
void mafat_executor_unhold_output(struct mafat_executor *e);
/* Copies the output of layer `layer` (also of an alias) as floats in CHW order. Valid for network
 * outputs after a run, and in observe for the step's layer. */
void mafat_executor_read_output(const struct mafat_executor *e, int layer, float *chw);
/* Copies elements [first, first + n) of a view of the concatenated sources, in row-major order.
 * Valid as above. */
void mafat_executor_read_view(const struct mafat_executor *e, const struct mafat_sources *sources,
                              const struct mafat_view *view, long long first, long long n,
                              float *out);
/* In observe: replaces the layer's output, before later layers read it. The layer must have a
 * tensor of its own that holds its whole map. */
void mafat_executor_write_output(struct mafat_executor *e, int layer, const float *chw);
/* Returns one element of a layer's output, dequantized; valid as above. */
float mafat_executor_output_at(const struct mafat_executor *e, int layer, int c, int y, int x);

/* `n` ranges of `bytes` each, `stride` bytes from one to the next. */
struct mafat_executor_segment {
  char *at;
  size_t bytes, stride;
  int n;
};

/* Lists the memory of the elements that a step sends or receives, without padding, in an order
 * common to all ranks. Returns the number of segments; writes at most `capacity`. */
int mafat_executor_segments(const struct mafat_executor *e, const struct mafat_step *step,
                            struct mafat_executor_segment *segments, int capacity);
/* Returns the part that a step of a split group computes, sends or receives. */
const struct mafat_layer_part *mafat_executor_part(const struct mafat_executor *e,
                                                   const struct mafat_step *step);

/* Returns the arena's memory for the next video frame, to be filled before its run. NULL: the
 * layout has none. Invalidates outputs of other users. */
void *mafat_executor_frame_room(struct mafat_executor *e);

/* Returns the arena's memory for the layout's most_boxes boxes, to be used while the output is
 * held. The memory is the same in every call and does not overlap the output. */
void *mafat_executor_boxes_room(const struct mafat_executor *e);

/* Bytes of the arena that are locked: all or 0. */
size_t mafat_executor_locked_bytes(const struct mafat_executor *e);
/* Arena's address, for tests of touched memory. */
const void *mafat_executor_arena(const struct mafat_executor *e);
/* [operator]: milliseconds of each layer and input in the last run; owned by the executor. */
const double *mafat_executor_layer_ms(const struct mafat_executor *e);

#endif
