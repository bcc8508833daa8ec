#include "runner/program/pack_weights/measure.h"

#include "network/constant.h"
#include "predictor/planning.h"
#include "runner/executor.h"
#include "runner/image/input.h"
#include "runner/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mafat_measure {
  struct mafat_network *network;
  const struct mafat_kernels *kernels;
  struct mafat_picture picture;
  const char *picture_path;
  float **wide;  /* [layer]: what it puts out with floats; NULL: nobody asks */
  float *narrow; /* of the largest layer */
  /* Of the run under way: */
  struct mafat_measured *layers; /* NULL: the outputs are kept */
  int last;                      /* layer that computes something */
  bool apart;                    /* behind each layer floats' output takes the place of its own */
};

static bool is_asked_for(const struct mafat_measure *m, int layer)
{
  return mafat_layer_has_panels(&m->network->layers[layer]) || layer == m->last;
}

static size_t elements(const struct mafat_measure *m, int layer)
{
  return (size_t)mafat_shape_elements(m->network->layers[layer].out);
}

static struct mafat_measured compare(const float *wide, const float *narrow, size_t n)
{
  double squares = 0, errors = 0, most = 0, largest = 0;
  for (size_t i = 0; i < n; i++) {
    double is = (double)wide[i], error = fabs((double)narrow[i] - is);
    squares += is * is;
    errors += error * error;
    most = fmax(most, fabs(is));
    largest = fmax(largest, error);
  }
  return (struct mafat_measured){squares > 0 ? sqrt(errors / squares) : errors > 0, most > 0 ? largest / most : largest > 0};
}

static void observe(void *context, struct mafat_executor *e, const struct mafat_step *step)
{
  struct mafat_measure *m = context;
  int l = step->layer;
  if (step->kind != MAFAT_STEP_COMPUTE || !is_asked_for(m, l)) return;
  if (!m->layers) {
    mafat_executor_read_output(e, l, m->wide[l]);
    return;
  }
  mafat_executor_read_output(e, l, m->narrow);
  m->layers[l] = compare(m->wide[l], m->narrow, elements(m, l));
  if (m->apart) mafat_executor_write_output(e, l, m->wide[l]);
}

/* ---- a run ---- */

static int run_picture(const struct mafat_measure *m, struct mafat_executor *e, struct mafat_diagnostic *d)
{
  struct mafat_image *image = NULL;
  struct mafat_picture_input input = {0};
  int code = mafat_image_open(&image, m->picture_path, &m->picture.input, d);
  if (code == MAFAT_OK) code = mafat_input_picture_open(&input, image, mafat_network_picture_shape(m->network), false, false, d);
  if (code == MAFAT_OK) {
    mafat_executor_set_source(e, 0, mafat_input_picture_source(&input));
    code = mafat_executor_run(e, d);
  }
  mafat_input_picture_close(&input);
  mafat_image_close(&image);
  return code;
}

/* Whole maps, each layer by itself; convolutions are direct, for Winograd's rounding is none of the weights'. */
static int run(struct mafat_measure *m, const char *weights, struct mafat_diagnostic *d)
{
  struct mafat_network *n = m->network;
  struct mafat_plan_options plain;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  struct mafat_weights *w = NULL;
  struct mafat_executor *e = NULL;
  struct mafat_executor_options options = {.kernels = m->kernels, .observe = observe, .observe_context = m};
  mafat_plan_defaults(&plain);
  plain.keep_all = true;
  plain.algorithm = MAFAT_DIRECT;
  int code = mafat_plan_read(&plan, "1x1/NoCut", n, n->n_layers, &plain, d);
  if (code == MAFAT_OK) code = mafat_layout_make(&layout, n, plan, d);
  if (code == MAFAT_OK) code = mafat_weights_open_kept(&w, weights, n, n->n_layers, NULL, d);
  if (code == MAFAT_OK) code = mafat_executor_open(&e, n, plan, layout, w, &options, d);
  if (code == MAFAT_OK) code = run_picture(m, e, d);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

int mafat_measure_run(struct mafat_measure *m, const char *packed, struct mafat_measured *layers, struct mafat_measured *last,
                      struct mafat_diagnostic *d)
{
  m->layers = layers;
  m->apart = false;
  int code = run(m, packed, d);
  *last = layers[m->last];
  m->apart = true;
  return code ? code : run(m, packed, d);
}

/* ---- opening ---- */

static int allocate(struct mafat_measure *m)
{
  size_t most = 1;
  m->wide = calloc((size_t)m->network->n_layers, sizeof *m->wide);
  for (int l = 0; m->wide && l < m->network->n_layers; l++) {
    if (!is_asked_for(m, l)) continue;
    if (elements(m, l) > most) most = elements(m, l);
    if (!(m->wide[l] = malloc(elements(m, l) * sizeof(float)))) return MAFAT_ENOMEM;
  }
  m->narrow = malloc(most * sizeof *m->narrow);
  return m->wide && m->narrow ? MAFAT_OK : MAFAT_ENOMEM;
}

/* As the model's own file has them, floats more often than not, whatever types the layers are to have. */
static int run_wide(struct mafat_measure *m, const char *weights, struct mafat_diagnostic *d)
{
  struct mafat_network *n = m->network;
  enum mafat_dtype *types = malloc((size_t)n->n_layers * sizeof *types);
  if (!types) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  for (int l = 0; l < n->n_layers; l++) {
    types[l] = n->layers[l].weights_type;
    n->layers[l].weights_type = n->constants ? (enum mafat_dtype)n->constants->layers[l].weights.type : MAFAT_F32;
  }
  int code = run(m, weights, d);
  for (int l = 0; l < n->n_layers; l++) n->layers[l].weights_type = types[l];
  free(types);
  return code;
}

int mafat_measure_open(struct mafat_measure **out, struct mafat_network *n, const char *weights, const char *picture,
                       struct mafat_diagnostic *d)
{
  struct mafat_model_options options;
  *out = NULL;
  if (n->n_inputs != 1) return mafat_fail(d, MAFAT_EINVAL, "%s: has %d inputs: --measure expects one, a picture", n->path, n->n_inputs);
  struct mafat_measure *m = calloc(1, sizeof *m);
  if (!m) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  m->network = n;
  m->last = n->n_layers - 1;
  while (m->last > 0 && mafat_layer_is_alias(&n->layers[m->last])) m->last--;
  m->kernels = mafat_kernels_find(NULL);
  m->picture_path = picture;
  mafat_model_defaults(&options);
  int code = mafat_picture_make(&m->picture, n, &options, m->kernels, d);
  if (code == MAFAT_OK && allocate(m)) code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  if (code == MAFAT_OK) code = run_wide(m, weights, d);
  if (code == MAFAT_OK) *out = m;
  else mafat_measure_close(&m);
  return code;
}

void mafat_measure_close(struct mafat_measure **measure)
{
  if (!measure || !*measure) return;
  struct mafat_measure *m = *measure;
  for (int l = 0; m->wide && l < m->network->n_layers; l++) free(m->wide[l]);
  free(m->wide);
  free(m->narrow);
  free(m);
  *measure = NULL;
}
