/* A model's inside: what include/mafat.h keeps opaque. Network, plan, layout, weights
 * and executor, in the order in which they are made. */
#ifndef MAFAT_RUNNER_MODEL_H
#define MAFAT_RUNNER_MODEL_H

#include "include/mafat.h"
#include "runner/choose.h"
#include "runner/detect.h"
#include "runner/executor.h"
#include "runner/image/image.h"
#include "runner/memory/pressure.h"

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
  struct mafat_weights *weights;
  struct mafat_executor *executor;
  const struct mafat_kernels *kernels;
  bool shrinks; /* pictures: struct mafat_image_input */
  int picture_w, picture_h; /* of the last run: what boxes are relative to */
  bool calibrated;          /* latency is predicted by this machine's calibration */
  double load_ms;           /* reading and packing the weights that are kept */
  double image_ms, layers_ms; /* of the last run: its input; all else */
  bool input_failed;        /* the last run failed for its input, not for running */
  struct mafat_pressure pressure;
  struct mafat_stall before, stall; /* when the last run began; what it waited */
  struct {
    void (*ran)(void *context, const struct mafat_step_facts *step);
    void *context;
  } watch;
};

/* The bytes of running a picture with these surroundings. */
void mafat_model_predict(const struct mafat_model *m, struct mafat_prediction *p);

/* How mafat_detect reads this model's last run, while its output is held; thresholds are Darknet's. */
struct mafat_detect_input mafat_model_detect_input(const struct mafat_model *m);

#endif
