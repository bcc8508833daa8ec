/* Runs a network on pictures with a callback after each layer. Called by calibrate.c and measure.c.
 * Opens weights and an executor; allocates. */
#include "api/packing/observe.h"

#include "predictor/planning/planning.h"
#include "runner/image/input.h"
#include "api/picture.h"

#include <stdlib.h>

struct mafat_observer {
  const struct mafat_network *network;
  struct mafat_picture picture;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_weights *weights;
  struct mafat_executor *executor;
  mafat_reported *reported;
  void *context;
};

static void observe(void *context, struct mafat_executor *e, const struct mafat_step *step)
{
  const struct mafat_observer *o = context;
  if (step->kind == MAFAT_STEP_COMPUTE && step->layer < o->network->n_layers)
    o->reported(o->context, e, step->layer);
}

/* Uses direct convolutions, because Winograd's rounding would add to the errors. */
static int open_executor(struct mafat_observer *o, struct mafat_model_source *weights,
                         struct mafat_diagnostic *d)
{
  const struct mafat_network *n = o->network;
  struct mafat_plan_options plain;
  const struct mafat_model_options usual = {.size = sizeof usual};
  struct mafat_executor_options options = {
      .kernels = mafat_kernels_find(NULL), .observe = observe, .observe_context = o};
  mafat_plan_defaults(&plain);
  plain.keep_all = true;
  plain.algorithm = MAFAT_DIRECT;
  int code = mafat_picture_make(&o->picture, n, &usual, options.kernels, d);
  if (code == MAFAT_OK) code = mafat_plan_read(&o->plan, "1x1/NoCut", n, n->n_layers, &plain, d);
  if (code == MAFAT_OK) code = mafat_layout_make(&o->layout, n, o->plan, d);
  if (code == MAFAT_OK)
    code = mafat_weights_open_kept_source(&o->weights, weights, n, n->n_layers, NULL, d);
  return code ? code
              : mafat_executor_open(&o->executor, n, o->plan, o->layout, o->weights, &options, d);
}

int mafat_observer_open(struct mafat_observer **out, const struct mafat_network *n,
                        struct mafat_model_source *weights, mafat_reported *reported, void *context,
                        struct mafat_diagnostic *d)
{
  *out = NULL;
  if (n->n_inputs != 1)
    return mafat_fail(d, MAFAT_EINVAL, "%s: has %d inputs, expected one, a picture", n->path,
                      n->n_inputs);
  struct mafat_observer *o = calloc(1, sizeof *o);
  if (!o) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  *o = (struct mafat_observer){.network = n, .reported = reported, .context = context};
  int code = open_executor(o, weights, d);
  if (code == MAFAT_OK) *out = o;
  else mafat_observer_close(&o);
  return code;
}

int mafat_observer_run(struct mafat_observer *o, const char *picture, struct mafat_diagnostic *d)
{
  struct mafat_image *image = NULL;
  struct mafat_picture_input input = {0};
  bool numbers =
      mafat_network_tensor_type(o->network, mafat_network_picture(o->network)) != MAFAT_F32;
  int code = mafat_image_open(&image, picture, &o->picture.input, d);
  if (code == MAFAT_OK)
    code = mafat_input_picture_open(&input, image, mafat_network_picture_shape(o->network), false,
                                    numbers, d);
  if (code == MAFAT_OK) {
    mafat_executor_set_source(o->executor, 0, mafat_input_picture_source(&input));
    code = mafat_executor_run(o->executor, d);
  }
  mafat_input_picture_close(&input);
  mafat_image_close(&image);
  return code;
}

void mafat_observer_close(struct mafat_observer **observer)
{
  if (!observer || !*observer) return;
  struct mafat_observer *o = *observer;
  mafat_executor_close(&o->executor);
  mafat_weights_close(&o->weights);
  mafat_layout_close(&o->layout);
  mafat_plan_close(&o->plan);
  free(o);
  *observer = NULL;
}
