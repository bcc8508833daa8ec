/* Builds a network operator by operator: values, layers, inputs and outputs. Called by the
 * importers in formats/onnx and formats/tflite and by formats/graph. Allocates the network; reads
 * constants of the model's file through a callback; limits how many values a file can make it
 * examine or store. */
#include "formats/graph/graph.h"

#include "base/part.h"
#include "network/merge.h"
#include "network/sources.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the network ---- */

MAFAT_PART(opening)
int mafat_graph_fail(struct mafat_graph *g, int code, const char *format, ...)
{
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (!g->code) g->code = code;
  if (!g->operator_name) return mafat_fail(g->d, code, "%s: %s", g->network->path, text);
  if (!g->node_name || !*g->node_name)
    return mafat_fail(g->d, code, "%s: node %d, %.60s: %s", g->network->path, g->node,
                      g->operator_name, text);
  return mafat_fail(g->d, code, "%s: %.60s '%.100s': %s", g->network->path, g->operator_name,
                    g->node_name, text);
}

int mafat_graph_fail_memory(struct mafat_graph *g)
{
  return mafat_graph_fail(g, MAFAT_ENOMEM, "out of memory");
}

int mafat_graph_open(struct mafat_graph **out, const char *path, int most_layers, int n_inputs,
                     struct mafat_diagnostic *d)
{
  *out = NULL;
  if (most_layers > MAFAT_MAX_LAYERS) most_layers = MAFAT_MAX_LAYERS;
  struct mafat_graph *g = calloc(1, sizeof *g);
  struct mafat_network *n = calloc(1, sizeof *n);
  if (n) n->path = strdup(path);
  if (n) n->layers = calloc((size_t)most_layers + (size_t)n_inputs, sizeof *n->layers);
  if (n && n->layers) n->n_layers = most_layers, n->n_inputs = n_inputs;
  if (!g || !n || !n->path || !n->layers) {
    mafat_network_close(&n);
    free(g);
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  }
  n->fork = MAFAT_FORK_DARKNET;
  n->constants = mafat_constants_make(most_layers);
  g->network = n;
  g->d = d;
  if (n->constants) *out = g;
  else mafat_graph_close(&g);
  return *out ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
}

void mafat_graph_close(struct mafat_graph **graph)
{
  if (!graph || !*graph) return;
  mafat_network_close(&(*graph)->network);
  free(*graph);
  *graph = NULL;
}

/* Frees unused memory for layers: there are usually fewer layers than nodes. */
static int shrink(struct mafat_graph *g)
{
  struct mafat_network *n = g->network;
  struct mafat_layer *layers =
      realloc(n->layers, (size_t)mafat_network_n_operators(n) * sizeof *layers);
  if (layers) n->layers = layers;
  size_t bytes = sizeof *n->constants + (size_t)n->n_layers * sizeof *n->constants->layers;
  struct mafat_constants *constants = realloc(n->constants, bytes);
  if (constants) n->constants = constants;
  return layers && constants ? MAFAT_OK : mafat_graph_fail_memory(g);
}

int mafat_graph_finish(struct mafat_network **out, struct mafat_graph **graph, int code)
{
  struct mafat_graph *g = *graph;
  g->operator_name = NULL;
  *out = NULL;
  if (code && g->code) code = g->code;
  if (code == MAFAT_OK && g->n_layers == 0)
    code = mafat_graph_fail(g, MAFAT_EFORMAT, "expected operators, found none");
  if (code == MAFAT_OK) {
    mafat_network_shorten(g->network, g->n_layers);
    g->network->constants->n_layers = g->n_layers;
    code = mafat_network_check_numbers(g->network, g->d);
  }
  if (code == MAFAT_OK && mafat_network_merge(g->network))
    code = mafat_graph_fail_memory(g);
  if (code == MAFAT_OK) code = shrink(g);
  if (code == MAFAT_OK) {
    *out = g->network;
    g->network = NULL;
  }
  mafat_graph_close(graph);
  return code;
}

/* ---- memory ---- */

void *mafat_graph_alloc(struct mafat_graph *g, size_t n, size_t bytes)
{
  return mafat_allowance_take(g->allowance, n, bytes) ? calloc(n, bytes) : NULL;
}

void mafat_graph_free(struct mafat_graph *g, void *block, size_t n, size_t bytes)
{
  if (block) mafat_allowance_give(g->allowance, n * bytes);
  free(block);
}

/* Counts memory that stays until the graph is finished. */
static int take(struct mafat_graph *g, long long n, size_t bytes)
{
  return mafat_allowance_take(g->allowance, (size_t)n, bytes)
             ? MAFAT_OK
             : mafat_graph_fail_memory(g);
}

/* Counts memory that is freed before the next node is imported. */
static int lend(struct mafat_graph *g, size_t bytes)
{
  if (g->lent_node != g->node) {
    mafat_allowance_give(g->allowance, g->lent_bytes);
    g->lent_bytes = 0;
    g->lent_node = g->node;
  }
  int code = take(g, 1, bytes);
  if (code == MAFAT_OK) g->lent_bytes += bytes;
  return code;
}

/* ---- limits over all nodes ---- */

/* Limits of what a file can make the importer compute, independent of its size: values examined,
 * values stored, sources listed. 43 real models examine at most 70000 values, store at most 18300
 * and list at most 2300 sources. A mask of 1024 by 1024, made by three operators, fits. */
enum { MOST_LOOKED_AT = 1 << 27, MOST_KEPT = 1 << 22, MOST_SOURCES = 1 << 21 };

static int add_up(struct mafat_graph *g, long long *sum, long long n, int most, const char *what)
{
  if (n <= most - *sum) {
    *sum += n;
    return MAFAT_OK;
  }
  return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                          "expected at most %d %s in all operators together, found more", most,
                          what);
}

static const char parts[] = "parts of maps";

int mafat_graph_look_at(struct mafat_graph *g, long long n_numbers)
{
  return add_up(g, &g->n_looked_at, n_numbers, MOST_LOOKED_AT,
                "values of constants to examine");
}

int mafat_graph_keep(struct mafat_graph *g, long long n_numbers)
{
  int code = add_up(g, &g->n_kept, n_numbers, MOST_KEPT, "values of constants to compute");
  return code ? code : take(g, n_numbers, sizeof(double));
}

int mafat_graph_list_sources(struct mafat_graph *g, long long n_sources)
{
  int code = add_up(g, &g->n_sources, n_sources, MOST_SOURCES, parts);
  return code ? code : take(g, n_sources, sizeof(struct mafat_source));
}

int mafat_graph_cut_sources(struct mafat_graph *g, long long n_sources)
{
  enum { LOOKS = 64 }; /* comparisons that cost as much time as one copied source */
  int code = mafat_graph_list_sources(g, n_sources);
  return code ? code : add_up(g, &g->n_sources, n_sources * n_sources / LOOKS, MOST_SOURCES, parts);
}

int mafat_graph_read_numbers(struct mafat_graph *g, const struct mafat_constant *place, uint64_t n,
                             double *to)
{
  int code = mafat_graph_look_at(g, (long long)n);
  return code ? code : g->numbers.read(g->numbers.context, place, 0, n, to, g->d);
}

/* ---- values ---- */

void mafat_value_clear(struct mafat_value *v)
{
  free(v->sources.list);
  free(v->numbers);
  *v = (struct mafat_value){.maker = -1};
}

static int copy_sources(struct mafat_graph *g, struct mafat_sources *out,
                        const struct mafat_sources *s)
{
  size_t n = (size_t)mafat_sources_count(s);
  *out = (struct mafat_sources){.list = NULL};
  if (n == 0) return mafat_graph_fail(g, MAFAT_EFORMAT, "an input is left out");
  int code = mafat_graph_list_sources(g, (long long)n);
  if (code) return code;
  *out = *s;
  out->list = malloc(n * sizeof *out->list);
  if (!out->list) return mafat_graph_fail_memory(g);
  memcpy(out->list, s->list, n * sizeof *out->list);
  return MAFAT_OK;
}

int mafat_value_copy(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *v)
{
  *out = *v;
  out->readers = 0;
  if (v->readers > 1) out->maker = -1; /* another node still has to read the value */
  out->sources.list = NULL;
  out->numbers = NULL;
  if (v->form == MAFAT_VALUE_MAP) return copy_sources(g, &out->sources, &v->sources);
  if (v->form != MAFAT_VALUE_NUMBERS) return MAFAT_OK;
  size_t n = (size_t)mafat_value_elements(v);
  int code = mafat_graph_keep(g, (long long)n);
  if (code) return code;
  out->numbers = malloc((n + 1) * sizeof *out->numbers);
  if (!out->numbers) return mafat_graph_fail_memory(g);
  memcpy(out->numbers, v->numbers, n * sizeof *out->numbers);
  return MAFAT_OK;
}

struct mafat_view_atom *mafat_value_outermost(struct mafat_value *v, int dim)
{
  if (v->form != MAFAT_VALUE_MAP || v->view.atoms_of[dim] != 1) return NULL;
  struct mafat_view_atom *atom = &v->view.atoms[mafat_view_first_atom(&v->view, dim)];
  long long extent = atom->axis == MAFAT_AXIS_H   ? v->shape.h
                     : atom->axis == MAFAT_AXIS_C ? v->shape.c
                                                  : -1;
  return atom->step * atom->size == extent ? atom : NULL;
}

int mafat_value_make_numbers(struct mafat_graph *g, struct mafat_value *out, int n_dims,
                             const long long *dims)
{
  enum { MOST = 1 << 26 };
  *out = (struct mafat_value){.form = MAFAT_VALUE_NUMBERS, .maker = -1};
  mafat_view_linear(&out->view, n_dims, dims, MAFAT_AXIS_NUMBERS);
  if (mafat_value_elements(out) > MOST)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "expected at most %d numbers, found %lld", MOST,
                            mafat_value_elements(out));
  int code = mafat_graph_keep(g, mafat_value_elements(out));
  if (code) return code;
  out->numbers = calloc((size_t)mafat_value_elements(out) + 1, sizeof *out->numbers);
  return out->numbers ? MAFAT_OK : mafat_graph_fail_memory(g);
}

/* Returns the offset, in elements, at which a constant stores the element that has index `index`
 * in row-major order. */
static uint64_t number_at(const struct mafat_view *v, long long index)
{
  long long places[MAFAT_N_AXES] = {0};
  for (int i = v->n_dims; i-- > 0; index /= v->dims[i])
    mafat_view_add(v, i, index % v->dims[i], places);
  return (uint64_t)places[MAFAT_AXIS_NUMBERS];
}

static bool is_row_major(const struct mafat_view *v)
{
  struct mafat_view linear;
  mafat_view_linear(&linear, v->n_dims, v->dims, MAFAT_AXIS_NUMBERS);
  return mafat_view_equals(&linear, v);
}

/* Dequantizes all values of a constant in the file. */
static int scale_numbers(struct mafat_graph *g, const struct mafat_scales *s, double *numbers,
                         uint64_t n)
{
  double *scales = malloc((size_t)s->list.n * sizeof *scales);
  if (!scales) return MAFAT_ENOMEM;
  int code = mafat_graph_read_numbers(g, &s->list, s->list.n, scales);
  for (uint64_t i = 0; i < n && code == MAFAT_OK; i++)
    numbers[i] = (double)((float)(numbers[i] - s->zero) * (float)scales[i / s->run % s->list.n]);
  free(scales);
  return code;
}

int mafat_value_numbers(struct mafat_graph *g, const struct mafat_value *v, long long most,
                        double **numbers)
{
  long long n = mafat_value_elements(v);
  *numbers = NULL;
  if (!mafat_value_is_constant(v))
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "expected a constant, found a tensor computed at run time");
  if (n > most)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "expected a constant of at most %lld numbers, found %lld", most, n);
  enum { BY_PLACE = 4 }; /* looking up a value by its position takes as long as copying so many */
  bool in_order = is_row_major(&v->view);
  size_t bytes = ((size_t)n + (size_t)v->place.n + 2) * sizeof(double);
  int code = mafat_graph_look_at(g, in_order ? n : BY_PLACE * n);
  if (code == MAFAT_OK) code = lend(g, bytes);
  if (code) return code;
  /* n + 1 avoids a zero-sized allocation */
  double *out = calloc((size_t)n + 1, sizeof *out), *all = v->numbers;
  code = out ? MAFAT_OK : MAFAT_ENOMEM;
  if (code == MAFAT_OK && v->form == MAFAT_VALUE_PLACE) {
    all = malloc(((size_t)v->place.n + 1) * sizeof *all);
    code = all ? MAFAT_OK : MAFAT_ENOMEM;
    if (code == MAFAT_OK) code = mafat_graph_read_numbers(g, &v->place, v->place.n, all);
    if (code == MAFAT_OK && v->scales.real) code = scale_numbers(g, &v->scales, all, v->place.n);
  }
  if (code == MAFAT_OK && in_order) memcpy(out, all, (size_t)n * sizeof *out);
  for (long long i = 0; code == MAFAT_OK && !in_order && i < n; i++)
    out[i] = all[number_at(&v->view, i)];
  if (all != v->numbers) free(all);
  if (code == MAFAT_ENOMEM) mafat_graph_fail_memory(g);
  if (code) free(out);
  else *numbers = out;
  return code;
}

int mafat_value_number(struct mafat_graph *g, const struct mafat_value *v, double *number)
{
  double *list;
  int code = mafat_value_numbers(g, v, 1, &list);
  if (code) return code;
  *number = *list;
  free(list);
  return mafat_value_elements(v) == 1
             ? MAFAT_OK
             : mafat_graph_fail(g, MAFAT_EFORMAT, "expected one number, found none");
}

int mafat_value_integers(struct mafat_graph *g, const struct mafat_value *v, int most,
                         long long *integers, int *n)
{
  double *numbers;
  int code = mafat_value_numbers(g, v, most, &numbers);
  if (code) return code;
  *n = (int)mafat_value_elements(v);
  for (int i = 0; i < *n; i++) {
    static const double far = 4e18; /* files use the largest integer for "to the end" */
    bool number = numbers[i] == numbers[i];
    integers[i] = !number              ? 0
                  : numbers[i] >= far  ? (long long)far
                  : numbers[i] <= -far ? -(long long)far
                                       : (long long)numbers[i];
    if (!number)
      code = mafat_graph_fail(g, MAFAT_EFORMAT, "expected integers, found %g", numbers[i]);
  }
  free(numbers);
  return code;
}

/* ---- layers ---- */

static int make_map(struct mafat_graph *g, struct mafat_value *out, int tensor,
                    const struct mafat_view *view)
{
  struct mafat_shape s = mafat_network_tensor_shape(g->network, tensor);
  struct mafat_source all = {tensor, 0, s.c, 0, s.h};
  struct mafat_view own = *view; /* a copy: `view` may be the value's own */
  mafat_value_clear(out);
  *out = (struct mafat_value){.form = MAFAT_VALUE_MAP,
                              .view = own,
                              .shape = s,
                              .maker = mafat_network_sole_maker(g->network, tensor)};
  return copy_sources(g, &out->sources, &(struct mafat_sources){&all, 1, 1});
}

int mafat_graph_input(struct mafat_graph *g, int index, struct mafat_value *out, int n_dims,
                      const long long *dims, const int *axes)
{
  long long e[MAFAT_N_AXES];
  struct mafat_view view;
  struct mafat_layer *l = &g->network->layers[g->network->n_layers + index];
  mafat_view_lay(&view, n_dims, dims, axes, e);
  if (e[0] > MAFAT_MAX_EXTENT || e[1] > MAFAT_MAX_EXTENT || e[2] > MAFAT_MAX_EXTENT ||
      e[0] * e[1] > (1 << 28))
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "an input of %lld x %lld x %lld (height, width, channels) is too large",
                            e[0], e[1], e[2]);
  l->type = MAFAT_INPUT_LAYER;
  l->out_type = g->makes.type;
  l->quantization = g->makes.numbers;
  l->out = l->in = (struct mafat_shape){(int)e[0], (int)e[1], (int)e[2]};
  return make_map(g, out, g->network->n_layers + index, &view);
}

struct mafat_layer *mafat_graph_add_layer(struct mafat_graph *g, enum mafat_layer_type type)
{
  if (g->n_layers == g->network->n_layers) {
    mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "expected at most %d layers, found more",
                     g->network->n_layers);
    return NULL;
  }
  size_t bytes = sizeof(struct mafat_layer) + sizeof(struct mafat_layer_constants);
  if (!mafat_allowance_keep(g->allowance, bytes)) {
    mafat_graph_fail_memory(g);
    return NULL;
  }
  struct mafat_layer *l = &g->network->layers[g->n_layers++];
  *l = (struct mafat_layer){.type = type, .line = g->node, .groups = 1};
  return l;
}

int mafat_graph_add_operand(struct mafat_graph *g, struct mafat_layer *l,
                            const struct mafat_value *v)
{
  if (l->n_operands == MAFAT_MAX_OPERANDS)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "expected at most %d inputs, found more",
                            MAFAT_MAX_OPERANDS);
  struct mafat_operand *grown = realloc(l->operands, (size_t)(l->n_operands + 1) * sizeof *grown);
  if (!grown) return mafat_graph_fail_memory(g);
  l->operands = grown;
  struct mafat_operand *o = &grown[l->n_operands++];
  *o = (struct mafat_operand){.shape = v->shape};
  return copy_sources(g, &o->sources, &v->sources);
}

/* Sets the output's type and quantization. Layers that only move elements keep the scale and zero
 * point of their input, and do not clamp. */
static void set_meaning(const struct mafat_graph *g, struct mafat_layer *l)
{
  if (mafat_kind_of(l->type)->constant) return;
  bool keeps = mafat_layer_keeps_numbers(l);
  int from = keeps ? l->operands[l->n_operands - 1].sources.list[0].tensor : -1;
  l->out_type = keeps ? mafat_network_tensor_type(g->network, from) : g->makes.type;
  l->quantization = keeps ? *mafat_network_tensor_quantization(g->network, from) : g->makes.numbers;
  if (keeps && l->out_type != MAFAT_F32) l->quantization.least = 0, l->quantization.most = 255;
}

int mafat_graph_end_layer(struct mafat_graph *g, struct mafat_layer *l)
{
  int index = (int)(l - g->network->layers);
  struct mafat_infer_context context = {g->network->path, g->node, index, g->operator_name, g->d};
  int code = MAFAT_OK;
  bool constant = mafat_kind_of(l->type)->constant;
  if (!constant) code = mafat_network_take_operands(g->network, index, &context);
  if (code == MAFAT_OK && l->n_operands) l->in = l->operands[0].shape;
  if (code == MAFAT_OK) set_meaning(g, l);
  if (code == MAFAT_OK) code = mafat_layer_infer(l, &context);
  return code == MAFAT_OK && mafat_network_add_outputs(g->network, index)
             ? mafat_graph_fail_memory(g)
             : code;
}

int mafat_graph_output(struct mafat_graph *g, struct mafat_value *out, const struct mafat_layer *l,
                       const struct mafat_view *view)
{
  return mafat_graph_output_of(g, out, l, 0, view);
}

int mafat_graph_output_of(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_layer *l, int output, const struct mafat_view *view)
{
  return make_map(g, out,
                  mafat_network_output(g->network, (int)(l - g->network->layers), output), view);
}

/* ---- inputs and outputs by name ---- */

static int set_port(struct mafat_graph *g, struct mafat_port *p, const char *name,
                    const struct mafat_value *v)
{
  *p = (struct mafat_port){.name = strdup(name),
                           .view = v->view,
                           .shape = v->shape,
                           .type = mafat_value_meaning(g, v).type};
  return p->name ? copy_sources(g, &p->sources, &v->sources)
                 : mafat_graph_fail_memory(g);
}

int mafat_graph_name_input(struct mafat_graph *g, int index, const char *name,
                           enum mafat_dtype type, const struct mafat_value *v)
{
  struct mafat_network *n = g->network;
  if (!n->inputs) n->inputs = calloc((size_t)n->n_inputs, sizeof *n->inputs);
  if (!n->inputs) return mafat_graph_fail_memory(g);
  int code = set_port(g, &n->inputs[index], name, v);
  n->inputs[index].type = type;
  return code;
}

/* If an output of the network reads an input of the network, adds a layer that copies it: inputs do
 * not live to the end of a run. */
static int copy_inputs(struct mafat_graph *g, struct mafat_value *v)
{
  bool has_input = false;
  for (int i = 0; i < mafat_sources_count(&v->sources); i++)
    has_input = has_input || mafat_network_is_input(g->network, v->sources.list[i].tensor);
  if (!has_input) return MAFAT_OK;
  struct mafat_layer *l = mafat_graph_add_layer(g, MAFAT_ACTIVATION_LAYER);
  struct mafat_view view = v->view;
  g->makes = mafat_value_meaning(g, v);
  int code = l ? mafat_graph_add_operand(g, l, v) : MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK) code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output(g, v, l, &view);
}

int mafat_graph_name_output(struct mafat_graph *g, const char *name, const struct mafat_value *v)
{
  struct mafat_network *n = g->network;
  struct mafat_value own;
  if (v->form != MAFAT_VALUE_MAP)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "output '%.100s' is a constant", name);
  struct mafat_port *grown = realloc(n->outputs, (size_t)(n->n_outputs + 1) * sizeof *grown);
  if (!grown) return mafat_graph_fail_memory(g);
  n->outputs = grown;
  int code = mafat_value_copy(g, &own, v);
  if (code == MAFAT_OK) code = copy_inputs(g, &own);
  if (code == MAFAT_OK) code = set_port(g, &grown[n->n_outputs++], name, &own);
  for (int i = 0; code == MAFAT_OK && i < mafat_sources_count(&own.sources); i++)
    mafat_network_keep(n, own.sources.list[i].tensor);
  mafat_value_clear(&own);
  return code;
}

struct mafat_layer *mafat_graph_maker(struct mafat_graph *g, const struct mafat_value *v)
{
  if (v->form != MAFAT_VALUE_MAP || v->maker < 0 || v->readers > 1) return NULL;
  return &g->network->layers[v->maker];
}
