/* A model's inside: what include/mafat.h keeps opaque. Network, plan, layout, weights
 * and executor, in the order in which they are made. */
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

/* What the next run is to take for an input: floats, or those in a file; neither: nothing was said. */
struct mafat_model_input {
  const float *floats; /* the caller's */
  char *path;          /* owned */
  struct mafat_raw_input raw; /* while that file is read */
  struct mafat_file_order order;
};

struct mafat_model {
  struct mafat_network *network;
  int n_layers;
  struct mafat_surroundings around;
  size_t budget_bytes;
  const char *budget_source;
  bool best_effort;
  struct mafat_weights_kind kind; /* of the weights file */
  enum mafat_algorithm algorithm; /* what the plan was made with */
  struct mafat_choice choice;     /* plan and layout */
  struct mafat_lock lock;
  struct mafat_own_range heap; /* that is locked, too; end 0: none */
  struct mafat_weights *weights;
  struct mafat_executor *executor;
  atomic_bool canceled;        /* the run under way; by another thread */
  struct mafat_model_input *inputs; /* of the network; owned */
  const struct mafat_kernels *kernels;
  const struct mafat_rank_link *link; /* the caller's; NULL: it runs alone */
  struct mafat_placement ahead[MAFAT_MOST_RANKS]; /* [run % their number]: pictures that ranks are still at */
  long long n_begun, n_finished;      /* of them */
  uint64_t plan_sum;                  /* what all ranks have to have in common of the plan */
  struct mafat_picture picture;
  struct mafat_frame_format frame; /* of video; width 0: none are run */
  size_t frame_decoder_bytes;      /* of the prediction: heap that makes rows of them */
  struct mafat_placement placement; /* of the last run's picture: what boxes are relative to */
  bool calibrated;          /* latency is predicted by this machine's calibration */
  double load_ms;           /* reading and packing the weights that are kept */
  double image_ms, layers_ms; /* of the last run: its input; all else */
  bool input_failed;        /* the last run failed for its input, not for running */
  struct mafat_pressure pressure;
  struct mafat_stall last, stall; /* as read last; what the last run waited */
  double last_ms;                 /* when it was read */
  struct {
    void (*ran)(void *context, const struct mafat_step_facts *step);
    void *context;
  } watch;
};

/* Where the link has pictures run ahead: how many have been begun; takes what came of the first that has not been finished, which is
 * the last run's from here on. */
long long mafat_model_n_begun(const struct mafat_model *m);
int mafat_model_finish(struct mafat_model *m, struct mafat_diagnostic *d);

/* The bytes of running a picture with these surroundings. */
void mafat_model_predict(const struct mafat_model *m, struct mafat_prediction *p);

/* ---- running, for api/inputs.c ---- */

/* What a run that was asked for takes away, and what it wants to be given. */
int mafat_model_begin_run(struct mafat_model *m, const void *given, const char *what, struct mafat_diagnostic *d);
/* What the next input needs in place of the one before. */
int mafat_model_take_surroundings(struct mafat_model *m, const struct mafat_surroundings *around, const char *name,
                                  const char *doing, struct mafat_diagnostic *d);
/* Runs on an opened picture, and closes it. */
int mafat_model_run_image(struct mafat_model *m, struct mafat_image **image, double opened_at, struct mafat_diagnostic *d);
/* Runs on the sources that the executor has; what opening them took is part of the input's time. */
int mafat_model_run_opened(struct mafat_model *m, double opened_at, struct mafat_diagnostic *d);
/* What boxes are relative to where there is no picture. */
void mafat_model_forget_picture(struct mafat_model *m);
/* Gives sources to the inputs from `first` on, as they were set; what they read is to be closed. MAFAT_EINVAL: one was not. */
int mafat_model_open_inputs(struct mafat_model *m, int first, struct mafat_diagnostic *d);
void mafat_model_close_inputs(struct mafat_model *m);
/* From here to mafat_executor_unhold_output nobody runs in a shared arena. */
int mafat_model_hold_output(const struct mafat_model *m, struct mafat_diagnostic *d);

/* How mafat_detect reads this model's last run, while its output is held; thresholds are Darknet's. */
struct mafat_detect_input mafat_model_detect_input(const struct mafat_model *m);

#endif
