/* Imports the custom operator TFLite_Detection_PostProcess. Called by formats/tflite/import.c
 * through its table. Reads the operator's options from the file; adds a layer to the graph. */
#include "formats/tflite/importer.h"
#include "formats/tflite/values.h"

/* Numbers of inputs and outputs; channels of the layer's output: box (0 to 3), class, score, number
 * of detections. */
enum { INPUTS = 3, OUTPUTS = 4, CLASS = 4, SCORE, COUNT };

/* Reshapes an input with dimensions [1, anchors, n] or [anchors, n] to a map of one row, which has
 * a column for each anchor. */
static int lay_input(struct mafat_tflite_importer *i, int index, struct mafat_value *out)
{
  struct mafat_value own;
  const struct mafat_value *in;
  int axes[MAFAT_VIEW_DIMS];
  int code = mafat_tflite_map(i, index, &own, &in), n = in->view.n_dims;
  if (code == MAFAT_OK && (n < 2 || n > 3 || (n == 3 && in->view.dims[0] != 1)))
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "input %d: expected dimensions [1, anchors, n], found %d dimensions",
                            index, n);
  mafat_view_usual_axes(code == MAFAT_OK ? n : 0, axes);
  if (code == MAFAT_OK) code = mafat_graph_lay(i->g, out, in, axes);
  mafat_value_clear(&own);
  return code;
}

static struct mafat_postprocess parameters_of(const struct mafat_tflite_detection *d)
{
  return (struct mafat_postprocess){.detections = d->max_detections,
                                    .classes_per_detection = d->max_classes_per_detection,
                                    .detections_per_class = d->detections_per_class,
                                    .classes = d->num_classes,
                                    .regular = d->use_regular_nms,
                                    .least_score = d->nms_score_threshold,
                                    .most_overlap = d->nms_iou_threshold,
                                    .y_scale = d->y_scale,
                                    .x_scale = d->x_scale,
                                    .h_scale = d->h_scale,
                                    .w_scale = d->w_scale};
}

/* Stores n channels of `all`, beginning with channel `first`, as output `index`. Its dimensions are
 * [1, detections, n], or [1, detections] if n is 1. */
static int put_channels(struct mafat_tflite_importer *i, int index, const struct mafat_value *all,
                        int first, int n)
{
  struct mafat_value part = {.maker = -1};
  struct mafat_value *out = mafat_tflite_out(i, index);
  const long long dims[] = {1, all->view.dims[1], n};
  int code = mafat_graph_slice(i->g, &part, all, 2, first, n, 1);
  if (code == MAFAT_OK) code = mafat_graph_reshape(i->g, out, &part, n > 1 ? 3 : 2, dims);
  mafat_value_clear(&part);
  return code;
}

static int put_count(struct mafat_tflite_importer *i, const struct mafat_value *all)
{
  static const long long one[] = {1};
  struct mafat_value counts = {.maker = -1}, count = {.maker = -1};
  int code = mafat_graph_slice(i->g, &counts, all, 2, COUNT, 1, 1);
  if (code == MAFAT_OK) code = mafat_graph_slice(i->g, &count, &counts, 1, 0, 1, 1);
  if (code == MAFAT_OK)
    code = mafat_graph_reshape(i->g, mafat_tflite_out(i, OUTPUTS - 1), &count, 1, one);
  mafat_value_clear(&counts);
  mafat_value_clear(&count);
  return code;
}

static int put_outputs(struct mafat_tflite_importer *i, const struct mafat_layer *l)
{
  static const struct mafat_graph_dims dims = {3, {-1, MAFAT_AXIS_W, MAFAT_AXIS_C}};
  struct mafat_value all = {.maker = -1};
  int code = mafat_graph_output_on(i->g, &all, l, &dims);
  if (code == MAFAT_OK) code = put_channels(i, 0, &all, 0, CLASS);
  if (code == MAFAT_OK) code = put_channels(i, 1, &all, CLASS, 1);
  if (code == MAFAT_OK) code = put_channels(i, 2, &all, SCORE, 1);
  if (code == MAFAT_OK) code = put_count(i, &all);
  mafat_value_clear(&all);
  return code;
}

static int add_layer(struct mafat_tflite_importer *i, const struct mafat_value *in,
                     const struct mafat_postprocess *parameters)
{
  struct mafat_layer *l = mafat_graph_begin(i->g, MAFAT_POSTPROCESS, &in[0]);
  if (!l) return MAFAT_EUNSUPPORTED;
  l->postprocess = malloc(sizeof *l->postprocess);
  if (!l->postprocess) return mafat_graph_fail_memory(i->g);
  *l->postprocess = *parameters;
  int code = MAFAT_OK;
  for (int k = 1; k < INPUTS && code == MAFAT_OK; k++)
    code = mafat_graph_add_operand(i->g, l, &in[k]);
  if (code == MAFAT_OK) code = mafat_graph_end_layer(i->g, l);
  return code ? code : put_outputs(i, l);
}

static int import_detection(struct mafat_tflite_importer *i)
{
  struct mafat_tflite_detection options;
  struct mafat_value in[INPUTS] = {{.maker = -1}, {.maker = -1}, {.maker = -1}};
  if (i->o->n_inputs != INPUTS || i->o->n_outputs != OUTPUTS)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected %d inputs and %d outputs, found %d and %d", INPUTS, OUTPUTS,
                            i->o->n_inputs, i->o->n_outputs);
  int code = mafat_tflite_detection_read(&options, i->model, i->file, i->o, i->g->d);
  if (code) return code;
  const struct mafat_postprocess parameters = parameters_of(&options);
  for (int k = 0; k < INPUTS && code == MAFAT_OK; k++) code = lay_input(i, k, &in[k]);
  if (code == MAFAT_OK) code = add_layer(i, in, &parameters);
  for (int k = 0; k < INPUTS; k++) mafat_value_clear(&in[k]);
  return code;
}

static int import_custom(struct mafat_tflite_importer *i)
{
  if (strcmp(i->o->name, "TFLite_Detection_PostProcess") == 0) return import_detection(i);
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "this operator is not run");
}

const struct mafat_tflite_row mafat_tflite_custom_rows[] = {
    {MAFAT_TFLITE_CUSTOM, import_custom, 0, 0, true}, {0, NULL, 0, 0, false}};
