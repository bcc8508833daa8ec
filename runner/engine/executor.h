/* Runs a plan: walks the schedule and computes every step inside one arena of
 * exactly layout->mapped_bytes, or the beginning of one that it shares. Opening it maps the arena; running it calls no
 * allocator and makes no system call that maps memory. */
#ifndef MAFAT_RUNNER_ENGINE_EXECUTOR_H
#define MAFAT_RUNNER_ENGINE_EXECUTOR_H

#include <stdatomic.h>

#include "predictor/layout/layout.h"
#include "predictor/schedule/schedule.h"
#include "runner/engine/arena.h"
#include "runner/kernels/kernels.h"
#include "runner/weights/weights.h"

struct mafat_executor;

/* What a step that exchanges (schedule.h) is done by: it begins to send, waits until that is over, or receives, the part's
 * bytes as mafat_executor_pieces has them. */
struct mafat_exchanger {
  int (*exchange)(void *context, struct mafat_executor *e, const struct mafat_step *step, struct mafat_diagnostic *d);
  void *context;
};

struct mafat_executor_options {
  const struct mafat_kernels *kernels; /* default: the best this CPU has */
  struct mafat_arena *arena; /* where it runs; NULL, the default: in one of its own. Of another's it is a user */
  struct mafat_lock *lock;   /* of its arena; NULL, the default: it is not locked. Used by opening only */
  /* Called after every step, with the layer's tensor still alive; may be NULL. */
  void (*observe)(void *context, struct mafat_executor *e, const struct mafat_step *step);
  void *observe_context;
  struct mafat_exchanger exchanger; /* of a rank's plan; default: none */
  const atomic_bool *canceled; /* set by another thread: a run ends between two steps. NULL, the default: never */
};

void mafat_executor_defaults(struct mafat_executor_options *options);

/* Network, plan, layout and weights stay the caller's and must outlive it. */
int mafat_executor_open(struct mafat_executor **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, const struct mafat_layout *layout,
                        struct mafat_weights *weights,
                        const struct mafat_executor_options *options, struct mafat_diagnostic *d);
void mafat_executor_close(struct mafat_executor **e);

/* Where an input of a run comes from: asked for rows [rows) of it, in order, as the
 * plan needs them; each row once. Fails with a code and a diagnostic. */
struct mafat_input_source {
  int (*read_rows)(void *context, struct mafat_executor *e, struct mafat_span rows,
                   struct mafat_diagnostic *d);
  void *context;
};

/* Of the runs that follow, for input `input`, the first of which is 0; what the context points at stays the
 * caller's. */
void mafat_executor_set_source(struct mafat_executor *e, int input, struct mafat_input_source source);
/* Floats in that order; both must live until the run is over. */
void mafat_executor_set_floats(struct mafat_executor *e, int input, const struct mafat_file_order *order,
                               const float *floats);
/* The same of the first input, in CHW order whatever its dimensions. */
void mafat_executor_set_input(struct mafat_executor *e, const float *chw);

/* For sources, while they are asked. Row y of the first input, pixel 0, channels
 * interleaved; only for inputs of at most 16 channels. NULL when no layer that
 * runs reads the input: then no source is asked. *row_floats: to row y + 1. */
float *mafat_executor_input_row(struct mafat_executor *e, int y, size_t *row_floats);
/* Row y of a first input of whole numbers, from such a row of floats. */
void mafat_executor_set_input_pixels(struct mafat_executor *e, int y, const float *pixels);
/* Sets row y of channel c of an input, any number of channels. line: its row, or its plane's, in the order. */
void mafat_executor_set_input_row(struct mafat_executor *e, int input, const struct mafat_file_order *order, int c,
                                  int y, const float *line);

/* The same of an input of 8-bit numbers, from numbers as the model's file has them: signed ones become bytes. */
void mafat_executor_set_input_numbers(struct mafat_executor *e, int input, const struct mafat_file_order *order,
                                      struct mafat_span channels, int y, const unsigned char *line);

/* All channels of row y of an input whose order has no planes. line: its row, in the order. */
void mafat_executor_set_input_line(struct mafat_executor *e, int input, const struct mafat_file_order *order, int y,
                                   const float *line);

/* Told of every step of the runs that follow, when it began and when it ended
 * (mafat_process_now_ms). */
struct mafat_step_watch {
  void (*ran)(void *context, const struct mafat_step *step, double from_ms, double to_ms);
  void *context;
};

/* A function of NULL: nobody is told, as at the start. */
void mafat_executor_set_watch(struct mafat_executor *e, struct mafat_step_watch watch);

int mafat_executor_run(struct mafat_executor *e, struct mafat_diagnostic *d);
/* Of a rank that makes no output itself: takes what the others have made, which a run has left out. */
int mafat_executor_receive(struct mafat_executor *e, struct mafat_diagnostic *d);
/* For sources: shall the run end? Then they fail with MAFAT_ECANCELED. */
bool mafat_executor_is_canceled(const struct mafat_executor *e);
/* Did the last run fail because its source did? */
bool mafat_executor_source_failed(const struct mafat_executor *e);
/* Milliseconds that the source took in the last run. */
double mafat_executor_input_ms(const struct mafat_executor *e);

/* Gives so many bytes of the arena back to the system until they are touched again, and none of the
 * input's, nor of a frame's that may wait there: for decoding a picture as a whole after a run, when nothing in the arena matters. */
void mafat_executor_make_room(struct mafat_executor *e, size_t bytes);
/* Gives all of it back, unless the output of another who shares the arena lies there. */
void mafat_executor_rest(struct mafat_executor *e);

/* What the last run put out is no more to be read, for another one has been asked for. */
void mafat_executor_drop_output(struct mafat_executor *e);
/* Around reading in an arena that is shared: is there an output to read? Not where no run has
 * ended well, or the pages were given back, or another has run in them. If there is, nobody
 * else runs before unhold. */
bool mafat_executor_hold_output(struct mafat_executor *e);
void mafat_executor_unhold_output(struct mafat_executor *e);
/* Copies what layer `layer` puts out (through renaming layers too) as floats in
 * CHW order. Valid for outputs of the network after a run, and within observe
 * for the layer of the step. */
void mafat_executor_read_output(const struct mafat_executor *e, int layer, float *chw);
/* Elements [first, first + n) of a view of what the sources are together, in row-major order. Valid as above. */
void mafat_executor_read_view(const struct mafat_executor *e, const struct mafat_sources *sources,
                              const struct mafat_view *view, long long first, long long n, float *out);
/* For tests, from what observes a step: puts other values there, which later layers then read. The layer's whole output must
 * have a tensor of its own. */
void mafat_executor_write_output(struct mafat_executor *e, int layer, const float *chw);
/* One element of a head or output tensor. */
float mafat_executor_output_at(const struct mafat_executor *e, int layer, int c, int y, int x);

/* `n` runs of so many bytes, one each `stride`. */
struct mafat_executor_piece {
  char *at;
  size_t bytes, stride;
  int n;
};

/* Where the elements lie that a step sends or receives, without padding, in an order that all ranks have; returns how many
 * pieces there are, of which at most `room` are written. */
int mafat_executor_pieces(const struct mafat_executor *e, const struct mafat_step *step, struct mafat_executor_piece *pieces,
                          int room);
const struct mafat_layer_part *mafat_executor_part(const struct mafat_executor *e, const struct mafat_step *step);

/* Where a frame of video lies when a run begins; NULL: the layout has no room for one. */
void *mafat_executor_frame_room(struct mafat_executor *e);

/* While the output is held: room for the boxes in it, of the layout's most_boxes. What the last call
 * left there is lost, the output is not. */
void *mafat_executor_boxes_room(const struct mafat_executor *e);

/* Of the arena: all or none. */
size_t mafat_executor_locked_bytes(const struct mafat_executor *e);
/* The arena, for tests that look at what is touched. */
const void *mafat_executor_arena(const struct mafat_executor *e);
/* Milliseconds per layer of the last run, [layer]. */
const double *mafat_executor_layer_ms(const struct mafat_executor *e);

#endif
