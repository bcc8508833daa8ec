/* Imports a conformance model, plans and runs it, and compares its outputs with the expected
 * ones. Called by onnx_nodes.c. Reads the model's data files; allocates on the heap and frees. */
#include "tests/conformance/run_model.h"

#include "formats/onnx/import.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-5; /* relative to an output's largest value */

/* ---- input ---- */

static int bind(struct node_trial *t, int input, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  for (int i = 0; i < t->n_inputs && code == MAFAT_OK; i++)
    if (i != input && t->inputs[i].rank >= 0)
      code = mafat_onnx_bind(t->model, t->model->inputs[i]->name, t->inputs[i].path, d);
  return code;
}

/* Returns the number that is added to an integer of the file to get the executor's integer, which
 * is always unsigned. */
static int offset_of(const struct mafat_quantization *q)
{
  return q->is_signed ? MAFAT_SIGNED_TO_BYTE : 0;
}

/* Converts a number of the file to a float: dequantizes integers, and leaves floats as they are. */
static float real_of(const struct mafat_network *n, const struct mafat_port *p, double number)
{
  const struct mafat_quantization *q = &n->layers[p->sources.list->tensor].quantization;
  if (mafat_network_tensor_type(n, p->sources.list->tensor) == MAFAT_F32) return (float)number;
  return (float)((number + offset_of(q) - q->zero) * (double)q->scale);
}

/* Reads the input's file into a new array, in the layout that the executor expects. The caller
 * frees *out. */
static int make_input(float **out, const struct node_trial *t, int input,
                     const struct mafat_network *n, const struct mafat_port *p,
                     struct mafat_diagnostic *d)
{
  struct tensor_file data;
  struct mafat_shape s = p->shape;
  int code = tensor_file_read(&data, t->folder, "input", input, true, d);
  *out = calloc((size_t)mafat_shape_elements(s), sizeof **out);
  if (code == MAFAT_OK && !*out) code = MAFAT_ENOMEM;
  if (code == MAFAT_OK && data.n != (uint64_t)mafat_view_elements(&p->view))
    code = mafat_fail(d, MAFAT_EINVAL, "input '%s' has %lld elements, expected %llu", p->name,
                      mafat_view_elements(&p->view), (unsigned long long)data.n);
  for (uint64_t i = 0; i < data.n && code == MAFAT_OK; i++) {
    int c, y, x;
    mafat_port_find(p, (long long)i, &c, &y, &x);
    (*out)[((size_t)c * (size_t)s.h + (size_t)y) * (size_t)s.w + (size_t)x] =
        real_of(n, p, data.values[i]);
  }
  tensor_file_close(&data);
  return code;
}

/* ---- outputs ---- */

/* Element i of an output. */
static float output_at(const struct mafat_executor *e, const struct mafat_port *p, long long i)
{
  int c, y, x, slice = 0;
  mafat_port_find(p, i, &c, &y, &x);
  for (; c >= p->sources.list[slice].n; slice++) c -= p->sources.list[slice].n;
  const struct mafat_source *s = mafat_sources_at(&p->sources, slice, &y);
  return mafat_executor_output_at(e, s->tensor, s->first + c, y, x);
}

/* Quantizes a float to the integer that the file stores. */
static double number_of(const struct mafat_network *n, const struct mafat_port *p, float real)
{
  const struct mafat_quantization *q = &n->layers[p->sources.list->tensor].quantization;
  if (mafat_network_tensor_type(n, p->sources.list->tensor) == MAFAT_F32) return (double)real;
  return rint((double)real / (double)q->scale) + q->zero - offset_of(q);
}

static int compare(const struct mafat_executor *e, const struct mafat_network *n,
                   const struct mafat_port *p, const struct tensor_file *expected,
                   struct mafat_diagnostic *d)
{
  double largest = 0, worst = 0;
  uint64_t at = 0;
  bool same = p->view.n_dims == expected->rank;
  for (int i = 0; i < expected->rank && same; i++) same = p->view.dims[i] == expected->dims[i];
  if (!same) return mafat_fail(d, MAFAT_EINVAL, "output '%s' has other dimensions", p->name);
  for (uint64_t i = 0; i < expected->n; i++)
    if (isfinite(expected->values[i])) largest = fmax(largest, fabs(expected->values[i]));
  for (uint64_t i = 0; i < expected->n; i++) {
    double found = number_of(n, p, output_at(e, p, (long long)i)), exact = expected->values[i];
    double difference = found == exact || (isnan(found) && isnan(exact)) ? 0 : fabs(found - exact);
    if (difference <= worst) continue; /* false for NaN */
    worst = difference;
    at = i;
    if (!isfinite(difference)) break;
  }
  if (worst <= tolerance * largest) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL, "output '%s': element %llu is %.9g, expected %.9g, of %.3g",
                    p->name, (unsigned long long)at,
                    number_of(n, p, output_at(e, p, (long long)at)), expected->values[at], largest);
}

static int compare_all(const struct mafat_executor *e, const struct mafat_network *n,
                       const struct node_trial *t, struct mafat_diagnostic *d)
{
  int code =
      n->n_outputs == t->n_outputs
          ? MAFAT_OK
          : mafat_fail(d, MAFAT_EINVAL, "has %d outputs, expected %d", n->n_outputs, t->n_outputs);
  for (int i = 0; i < n->n_outputs && code == MAFAT_OK; i++) {
    struct tensor_file expected;
    code = tensor_file_read(&expected, t->folder, "output", i, true, d);
    if (code == MAFAT_OK) code = compare(e, n, &n->outputs[i], &expected, d);
    tensor_file_close(&expected);
  }
  return code;
}

/* Number of elements of all outputs. */
static long long count_outputs(const struct mafat_network *n)
{
  long long all = 0;
  for (int i = 0; i < n->n_outputs; i++) all += mafat_view_elements(&n->outputs[i].view);
  return all;
}

static void read_outputs(const struct mafat_executor *e, const struct mafat_network *n, float *to)
{
  for (int i = 0; i < n->n_outputs; i++)
    for (long long k = 0; k < mafat_view_elements(&n->outputs[i].view); k++)
      *to++ = output_at(e, &n->outputs[i], k);
}

/* ---- a run ---- */

/* Data shared by the runs of all plans. */
struct bench {
  const struct node_trial *trial;
  const struct mafat_network *network;
  struct mafat_weights *weights;
  float *input, *first, *outputs; /* first: outputs of the first plan */
};

static int check_run(const struct bench *b, const struct mafat_executor *e, bool is_first,
                     struct mafat_diagnostic *d)
{
  size_t bytes = (size_t)count_outputs(b->network) * sizeof(float);
  read_outputs(e, b->network, is_first ? b->first : b->outputs);
  if (is_first) return compare_all(e, b->network, b->trial, d);
  return memcmp(b->first, b->outputs, bytes) == 0
             ? MAFAT_OK
             : mafat_fail(d, MAFAT_EINVAL, "puts out other bits than the first plan");
}

static int run_plan(const struct bench *b, const char *text, bool is_first,
                    struct mafat_diagnostic *d)
{
  const struct mafat_network *n = b->network;
  struct mafat_executor_options options;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  struct mafat_executor *e = NULL;
  mafat_executor_defaults(&options);
  int code = mafat_plan_read(&plan, text, n, n->n_layers, NULL, d);
  if (code && !is_first) return MAFAT_OK; /* the plan has more tiles than the map */
  if (code == MAFAT_OK) code = mafat_layout_make(&layout, n, plan, d);
  if (code == MAFAT_OK) code = mafat_executor_open(&e, n, plan, layout, b->weights, &options, d);
  if (code == MAFAT_OK) {
    mafat_executor_set_input(e, b->input);
    code = mafat_executor_run(e, d);
  }
  if (code == MAFAT_OK) code = check_run(b, e, is_first, d);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

static int run_plans(const struct bench *b, struct mafat_diagnostic *d)
{
  static const char *const plans[] = {"1x1:direct/NoCut", "rows1:direct/NoCut",
                                      "panels:direct/NoCut", "2x2:direct/NoCut",
                                      "1x1:direct/order=best"};
  int code = MAFAT_OK;
  for (size_t i = 0; i < sizeof plans / sizeof *plans && code == MAFAT_OK; i++) {
    struct mafat_diagnostic inner = {""};
    code = run_plan(b, plans[i], i == 0, &inner);
    if (code) mafat_fail(d, code, "plan %s: %s", plans[i], inner.text);
  }
  return code;
}

static int run_network(const struct mafat_network *n, const struct node_trial *t, int input,
                       struct mafat_diagnostic *d)
{
  size_t outputs = (size_t)count_outputs(n) + 1;
  struct bench b = {.trial = t,
                    .network = n,
                    .first = malloc(outputs * sizeof(float)),
                    .outputs = malloc(outputs * sizeof(float))};
  int code = b.first && b.outputs ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  if (code == MAFAT_OK)
    code = mafat_weights_open_kept(&b.weights, t->path, n, n->n_layers, NULL, d);
  if (code == MAFAT_OK) code = make_input(&b.input, t, input, n, &n->inputs[0], d);
  if (code == MAFAT_OK) code = run_plans(&b, d);
  free(b.input);
  free(b.first);
  free(b.outputs);
  mafat_weights_close(&b.weights);
  return code;
}

enum model_outcome run_model(struct node_trial *t, struct mafat_diagnostic *d)
{
  struct mafat_network *n = NULL;
  int input = trial_input(t), code = bind(t, input, d);
  if (code) return FAILED;
  code = mafat_onnx_network(&n, t->model, d);
  if (code) return code == MAFAT_EUNSUPPORTED || code == MAFAT_ELIMIT ? REFUSED : FAILED;
  code = run_network(n, t, input, d);
  mafat_network_close(&n);
  return code ? FAILED : PASSED;
}
