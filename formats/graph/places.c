/* Records where layers find their constants, in the model's file or copied to the network's values
 * (an array of floats), and makes feature maps from constants. Called by formats/graph,
 * formats/onnx and formats/tflite. Grows the network's values, which the network frees; may read
 * constants of the file. */
#include "formats/graph/places.h"

#include "base/half.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* limit of floats stored in the network; a model with more of them is probably wrong */
enum { MOST_VALUES = 1 << 26 };

double mafat_graph_number(const char *bytes, enum mafat_dtype type)
{
  float real = 0;
  int32_t integer = 0;
  uint16_t half = 0;
  memcpy(&half, bytes, type == MAFAT_F16 ? sizeof half : 0);
  memcpy(&real, bytes, type == MAFAT_F32 ? sizeof real : 0);
  memcpy(&integer, bytes, type == MAFAT_I32 ? sizeof integer : 0);
  switch (type) {
  case MAFAT_I8: return (signed char)*bytes;
  case MAFAT_U8: return (unsigned char)*bytes;
  case MAFAT_I32: return integer;
  case MAFAT_F16: return (double)mafat_half_value(half);
  default: return (double)real;
  }
}

/* Appends n floats to the network's values; *stored points to them. The last of them is zeroed,
 * because integers of 1 byte may not fill it. */
static int make_room(struct mafat_graph *g, size_t n, float **stored)
{
  struct mafat_network *net = g->network;
  if (n > MOST_VALUES - net->n_values)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "too many constants whose storage in the file does not suit the layer");
  float *grown = realloc(net->values, (net->n_values + n + 1) * sizeof *grown);
  if (!grown) return mafat_graph_fail_memory(g);
  net->values = grown;
  *stored = grown + net->n_values;
  if (n > 0) (*stored)[n - 1] = 0;
  net->n_values += n;
  return MAFAT_OK;
}

static struct mafat_constant place_of(const struct mafat_graph *g, const float *stored, size_t n,
                                      enum mafat_dtype type)
{
  return (struct mafat_constant){.at = (uint64_t)(stored - g->network->values) * sizeof *stored,
                                 .n = n,
                                 .file = MAFAT_CONSTANT_VALUES,
                                 .type = (unsigned)type & 0x1f};
}

int mafat_graph_keep_numbers(struct mafat_graph *g, struct mafat_constant *out,
                             const double *numbers, size_t n)
{
  float *stored;
  int code = make_room(g, n, &stored);
  if (code) return code;
  for (size_t i = 0; i < n; i++) stored[i] = (float)numbers[i];
  *out = place_of(g, stored, n, MAFAT_F32);
  return MAFAT_OK;
}

/* True if the type can represent the number. ONNX may store it in a wider type, so it may be out of
 * range. */
static bool holds(enum mafat_dtype type, double number)
{
  double least = type == MAFAT_U8 ? 0 : type == MAFAT_I8 ? INT8_MIN : INT32_MIN;
  double most = type == MAFAT_U8 ? UINT8_MAX : type == MAFAT_I8 ? INT8_MAX : INT32_MAX;
  return number >= least && number <= most;
}

int mafat_graph_keep_whole(struct mafat_graph *g, struct mafat_constant *out, const double *numbers,
                           size_t n, enum mafat_dtype type)
{
  float *stored;
  size_t size = mafat_dtypes[type].bits / 8;
  int code = make_room(g, (n * size + sizeof *stored - 1) / sizeof *stored, &stored);
  if (code) return code;
  char *to = (char *)stored;
  for (size_t i = 0; i < n; i++, to += size) {
    if (!holds(type, numbers[i]))
      return mafat_graph_fail(g, MAFAT_EFORMAT,
                              "a constant of %s: value %zu, %.12g, is out of range",
                              mafat_dtype_name(type), i, numbers[i]);
    int32_t number = (int32_t)numbers[i]; /* little-endian: its first `size` bytes are stored */
    memcpy(to, &number, size);
  }
  *out = place_of(g, stored, n, type);
  return MAFAT_OK;
}

/* True if the value is a whole constant in the file, whose elements are stored in row-major
 * order. */
static bool is_row_major_in_file(const struct mafat_value *v)
{
  struct mafat_view linear;
  mafat_view_linear(&linear, v->view.n_dims, v->view.dims, MAFAT_AXIS_NUMBERS);
  return v->form == MAFAT_VALUE_PLACE && mafat_view_equals(&linear, &v->view) &&
         v->place.n == (uint64_t)mafat_value_elements(v);
}

bool mafat_graph_place_narrow(struct mafat_graph *g, struct mafat_layer *l,
                              const struct mafat_value *v)
{
  if (!mafat_value_is_narrow(v) || !is_row_major_in_file(v) || v->scales.zero) return false;
  g->network->constants->layers[l - g->network->layers].weights = v->place;
  l->weights_type = (enum mafat_dtype)v->place.type;
  return true;
}

int mafat_graph_place(struct mafat_graph *g, struct mafat_constant *out,
                      const struct mafat_value *v)
{
  bool fill = v->form == MAFAT_VALUE_PLACE && v->place.file == MAFAT_CONSTANT_FILL;
  bool quantized = mafat_value_is_quantized(v), ready = quantized || v->place.type == MAFAT_F32;
  if (fill || (ready && is_row_major_in_file(v))) {
    *out = v->place;
    out->n = (uint64_t)mafat_value_elements(v);
    return MAFAT_OK;
  }
  double *numbers;
  size_t n = (size_t)mafat_value_elements(v);
  int code = mafat_value_numbers(g, v, MOST_VALUES, &numbers);
  if (code) return code;
  code = quantized ? mafat_graph_keep_whole(g, out, numbers, n, (enum mafat_dtype)v->place.type)
                   : mafat_graph_keep_numbers(g, out, numbers, n);
  free(numbers);
  return code;
}

/* Reorders the dimensions of v, and axes[], so that dimensions of the same axis are adjacent.
 * axes[i]: the axis of the map (height, width or channels) that dimension i belongs to. */
static void group_by_axis(struct mafat_view *v, int *axes)
{
  int order[MAFAT_VIEW_DIMS], grouped[MAFAT_VIEW_DIMS], n = 0;
  for (int a = 0; a < MAFAT_N_AXES; a++)
    for (int i = 0; i < v->n_dims; i++)
      if (axes[i] == a) {
        grouped[n] = a;
        order[n++] = i;
      }
  mafat_view_transpose(v, v, order);
  memcpy(axes, grouped, (size_t)n * sizeof *axes);
}

/* Finds the stride, in elements, along each axis of the map. The dimensions of v must be grouped by
 * axis. False: the stride along an axis is not constant. */
static bool find_steps(const struct mafat_view *v, const int *axes, long long steps[MAFAT_N_AXES])
{
  const struct mafat_view_atom *atom = v->atoms + v->n_atoms;
  long long next[MAFAT_N_AXES] = {0};
  memset(steps, 0, MAFAT_N_AXES * sizeof *steps);
  for (int i = v->n_dims; i-- > 0;)
    for (int k = 0; k < v->atoms_of[i]; k++) {
      atom--;
      if (!next[axes[i]]) steps[axes[i]] = atom->step;
      else if (atom->step != next[axes[i]]) return false;
      next[axes[i]] = atom->step * atom->size;
    }
  return true;
}

/* Locates constant v for a map with extents e, and finds its strides. The dimensions of v must be
 * grouped by axis. Quantized values stay in the file if the stride along each axis is constant. */
static int place_map(struct mafat_graph *g, struct mafat_constant *place,
                     struct mafat_strides *strides, const struct mafat_value *v, const int *axes,
                     const long long *e)
{
  long long steps[MAFAT_N_AXES];
  if (mafat_value_is_quantized(v) && find_steps(&v->view, axes, steps)) {
    *place = v->place;
    *strides = (struct mafat_strides){.n = place->n,
                                      .rows = steps[MAFAT_AXIS_H],
                                      .columns = steps[MAFAT_AXIS_W],
                                      .channels = steps[MAFAT_AXIS_C]};
    return MAFAT_OK;
  }
  int code = mafat_graph_place(g, place, v);
  *strides = (struct mafat_strides){.n = place->n,
                                    .rows = e[MAFAT_AXIS_W] * e[MAFAT_AXIS_C],
                                    .columns = e[MAFAT_AXIS_C],
                                    .channels = 1};
  return code;
}

int mafat_graph_constant_map(struct mafat_graph *g, struct mafat_value *out,
                             const struct mafat_value *v, const int *axes)
{
  struct mafat_value grouped;
  struct mafat_view view;
  struct mafat_constant place = {0};
  struct mafat_strides strides;
  long long e[MAFAT_N_AXES];
  int on[MAFAT_VIEW_DIMS];
  if (v->form == MAFAT_VALUE_PLACE && v->scales.list.n > 1)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "an integer constant combined with a map: expected one scale, "
                            "found %llu",
                            (unsigned long long)v->scales.list.n);
  memcpy(on, axes, (size_t)v->view.n_dims * sizeof *on);
  int code = mafat_value_copy(g, &grouped, v);
  if (code) return code;
  group_by_axis(&grouped.view, on);
  mafat_view_lay(&view, v->view.n_dims, v->view.dims, axes, e);
  code = place_map(g, &place, &strides, &grouped, on, e);
  mafat_value_clear(&grouped);
  if (code) return code;
  if (e[0] > MAFAT_MAX_EXTENT || e[1] > MAFAT_MAX_EXTENT || e[2] > INT_MAX / 4)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "a constant of %lld x %lld x %lld is too large",
                            e[0], e[1], e[2]);
  struct mafat_layer *l = mafat_graph_add_layer(g, MAFAT_CONSTANT_LAYER);
  if (!l) return MAFAT_EUNSUPPORTED;
  l->operands = calloc(1, sizeof *l->operands);
  l->strides = calloc(1, sizeof *l->strides);
  if (!l->operands || !l->strides) return mafat_graph_fail_memory(g);
  l->n_operands = 1;
  l->operands->shape = l->in =
      (struct mafat_shape){(int)e[MAFAT_AXIS_H], (int)e[MAFAT_AXIS_W], (int)e[MAFAT_AXIS_C]};
  l->operands->sources.n_bands = 1;
  *l->strides = strides;
  g->network->constants->layers[l - g->network->layers].weights = place;
  if (mafat_value_is_quantized(v)) {
    l->out_type = MAFAT_U8;
    l->quantization = mafat_value_quantization(v);
    l->weights_type = (enum mafat_dtype)place.type;
  }
  code = mafat_graph_end_layer(g, l);
  if (code == MAFAT_OK) code = mafat_graph_output(g, out, l, &view);
  out->maker = -1;
  return code;
}

int mafat_graph_need_map(struct mafat_graph *g, int input, struct mafat_value *own,
                         const struct mafat_value **in)
{
  const struct mafat_value *v = *in;
  int axes[MAFAT_VIEW_DIMS];
  *own = (struct mafat_value){.maker = -1};
  if (v->form == MAFAT_VALUE_MAP) return MAFAT_OK;
  if (v->form == MAFAT_VALUE_NONE)
    return mafat_graph_fail(g, MAFAT_EFORMAT, "input %d is left out", input);
  mafat_view_usual_axes(v->view.n_dims, axes);
  *in = own;
  return mafat_graph_constant_map(g, own, v, axes);
}
