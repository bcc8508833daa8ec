/* Struct of the type mafat_model, which is opaque in include/mafat.h: network, plan, layout,
 * weights and executor, opened in this order. Included by api/ and programs/mafat_ranks. Opening a
 * model reads files, maps and locks memory, and starts threads. */
#ifndef MAFAT_API_MODEL_H
#define MAFAT_API_MODEL_H

#include <stdatomic.h>

#include "include/mafat_plan.h"
#include "api/choose.h"
#include "runner/detect/detect.h"
#include "runner/engine/executor.h"
#include "runner/image/image.h"
#include "runner/image/raw_input.h"
#include "api/rank_link.h"
#include "runner/os/own.h"
#include "runner/os/pressure.h"
#include "api/picture.h"

/* Input for the next runs: floats, or a file; neither: it is not set. */
struct mafat_model_input {
  const float *floats; /* the caller's */
  char *path;          /* owned */
  struct mafat_raw_input raw; /* while the file is read */
  struct mafat_file_order order;
};

struct mafat_model {
  struct mafat_network *network;
  int n_layers;
  struct mafat_footprint footprint;
  size_t budget_bytes;
  const char *budget_source;
  bool best_effort;
  struct mafat_weights_kind kind; /* type of the weights file */
  enum mafat_algorithm algorithm; /* option `algorithm` with which the plan was made */
  struct mafat_choice choice;     /* plan and layout */
  struct mafat_lock lock;
  struct mafat_own_range heap; /* locked part of the heap; end 0: none */
  struct mafat_weights *weights;
  struct mafat_executor *executor;
  atomic_bool canceled;        /* cancels the current run; set by another thread */
  struct mafat_warning_sink warnings; /* the caller's; also used by runs */
  struct mafat_model_input *inputs; /* one for each input of the network; owned */
  const struct mafat_kernels *kernels;
  const struct mafat_rank_link *link; /* the caller's; NULL: a single device */
  struct mafat_placement ahead[MAFAT_MOST_RANKS]; /* [run % MAFAT_MOST_RANKS]: placements of
                                                     pictures begun and not finished */
  long long n_begun, n_finished;      /* number of pictures begun and finished */
  uint64_t plan_sum;                  /* checksum of the plan, equal on all ranks */
  struct mafat_picture picture;
  struct mafat_frame_format frame; /* format of video frames; width 0: no frames */
  size_t frame_decoder_bytes;      /* part of the prediction: heap that converts frames to rows */
  struct mafat_placement placement; /* of the last run's picture in the input; boxes are converted
                                       by it */
  bool calibrated;          /* latency is predicted with this machine's calibration */
  double load_ms;           /* time to read and pack kept weights */
  double image_ms, layers_ms; /* of the last run: time for its input; remaining time */
  bool input_failed;        /* the last run failed because of its input */
  struct mafat_pressure pressure;
  struct mafat_stall last, stall; /* last: counters as read most recently; stall: their increase
                                     during the last run */
  double last_ms;                 /* time when `last` was read */
  struct { /* callback of mafat_model_set_watch */
    void (*ran)(void *context, const struct mafat_step_facts *step);
    void *context;
  } watch;
};

/* For a link whose rank 0 begins pictures ahead (rank_link.h). mafat_model_n_begun returns the
 * number of pictures begun. mafat_model_finish receives the results of the oldest unfinished
 * picture, which then count as those of the last run. */
long long mafat_model_n_begun(const struct mafat_model *m);
int mafat_model_finish(struct mafat_model *m, struct mafat_diagnostic *d);

/* Predicts a run with the current process footprint. */
void mafat_model_predict(const struct mafat_model *m, struct mafat_prediction *p);

/* ---- runs, for api/inputs.c and api/frames.c ---- */

/* Begins a run: invalidates the last output and checks that the input is given (`given` not NULL;
 * `what` for messages). */
int mafat_model_begin_run(struct mafat_model *m, const void *given, const char *what,
                          struct mafat_diagnostic *d);
/* Replaces the process footprint by that of the next input. MAFAT_ELIMIT: the run would exceed the
 * budget; `name` and `doing` for the message. */
int mafat_model_take_footprint(struct mafat_model *m, const struct mafat_footprint *footprint,
                               const char *name, const char *doing, struct mafat_diagnostic *d);
/* Runs on an open picture and closes it. */
int mafat_model_run_image(struct mafat_model *m, struct mafat_image **image, double opened_at,
                          struct mafat_diagnostic *d);
/* Runs on the sources set in the executor. The time since opened_at counts as input time. */
int mafat_model_run_opened(struct mafat_model *m, double opened_at, struct mafat_diagnostic *d);
/* Resets `placement`, for runs without a picture: boxes are then in pixels of the input. */
void mafat_model_forget_picture(struct mafat_model *m);
/* Sets the executor's sources for input `first` and all later ones. The caller then calls
 * mafat_model_close_inputs. MAFAT_EINVAL: an input is not set. */
int mafat_model_open_inputs(struct mafat_model *m, int first, struct mafat_diagnostic *d);
void mafat_model_close_inputs(struct mafat_model *m);
/* Checks that there is a valid output, and prevents other runs in a shared arena until
 * mafat_executor_unhold_output. MAFAT_EINVAL: there is none. */
int mafat_model_hold_output(const struct mafat_model *m, struct mafat_diagnostic *d);

/* Input of mafat_detect for the last run, while its output is held; thresholds are Darknet's. */
struct mafat_detect_input mafat_model_detect_input(const struct mafat_model *m);

#endif
