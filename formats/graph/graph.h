/* A network under construction, which the readers of ONNX and TFLite files extend operator by
 * operator.
 *
 * Operators exchange *values*. A value is a map (a tensor computed at run time), or a constant that
 * is in the file or was computed while reading. Its view (network/view.h) says which element is
 * stored where. Most operators that only move elements change the view and add no layer. If an
 * operator needs its input in another layout, a rearrange layer copies it.
 *
 * Included by formats/graph; called by formats/onnx and formats/tflite, which include compute.h or
 * shape.h. Allocates the network; reads constants of the model's file through
 * mafat_graph_numbers. */
#ifndef MAFAT_FORMATS_GRAPH_GRAPH_H
#define MAFAT_FORMATS_GRAPH_GRAPH_H

#include "base/allowance.h"
#include "network/view.h"
#include "network/constant.h"
#include "network/network.h"

/* pixel value around a letterboxed picture in YOLOv5, YOLOv8 and YOLOX */
enum { MAFAT_GRAPH_PAD = 114 };

enum mafat_value_form {
  MAFAT_VALUE_NONE,    /* absent input */
  MAFAT_VALUE_MAP,     /* map, described by `sources` */
  /* constant in a file or in the network's values, or one repeated value; `place` says where */
  MAFAT_VALUE_PLACE,
  MAFAT_VALUE_NUMBERS  /* constant in memory, in `numbers` */
};

/* Quantization of an integer constant in the file: real = scale * (value - zero). */
struct mafat_scales {
  struct mafat_constant list; /* one scale, or one per index of `dimension`; n is 0: none */
  int dimension;              /* index of the dimension along which the scales vary */
  float scale;                /* the first scale */
  int zero;                   /* common zero point */
  unsigned run : 31;          /* consecutive values with the same scale */
  unsigned real : 1;          /* operators read dequantized floats instead of the integers */
};

struct mafat_value {
  struct mafat_view view;       /* dimensions, and where elements are; NUMBERS: row-major */
  enum mafat_value_form form;
  int maker; /* layer whose whole output this is, if nothing else reads that output; else -1 */
  int readers;                  /* number of nodes that still have to read the value */
  struct mafat_shape shape;     /* MAP only */
  struct mafat_sources sources; /* MAP only; owned */
  struct mafat_constant place;  /* PLACE only */
  struct mafat_scales scales;   /* PLACE only */
  double *numbers;              /* NUMBERS only, row-major; owned */
};

/* Callback of the format's reader: reads n values of a constant in a file, from value `first` on,
 * as doubles. */
struct mafat_graph_numbers {
  int (*read)(void *context, const struct mafat_constant *place, uint64_t first, uint64_t n,
              double *to, struct mafat_diagnostic *d);
  void *context;
};

/* Meaning of a tensor's stored elements: their type, and the quantization parameters of
 * integers. */
struct mafat_meaning {
  enum mafat_dtype type; /* element type */
  struct mafat_quantization numbers;
};

struct mafat_graph {
  struct mafat_network *network; /* has room for most_layers; n_layers are present */
  int n_layers;
  const char *operator_name;     /* of the node being imported, for messages */
  const char *node_name;
  int node;                      /* index in the file */
  struct mafat_meaning makes;    /* type of the outputs of computing layers; floats unless set */
  struct mafat_graph_numbers numbers;
  /* values of constants examined, values stored in memory, sources listed: totals over all nodes */
  long long n_looked_at, n_kept, n_sources;
  struct mafat_allowance *allowance; /* memory for reading; NULL: no limit */
  size_t lent_bytes; /* part of the allowance that the importer of node lent_node may hold */
  int lent_node;
  struct mafat_diagnostic *d;
  int code; /* code of the first mafat_graph_fail, for functions that only return NULL */
};

/* calloc and free, counted in the allowance. NULL: out of memory, or refused. */
void *mafat_graph_alloc(struct mafat_graph *g, size_t n, size_t bytes);
void mafat_graph_free(struct mafat_graph *g, void *block, size_t n, size_t bytes);

/* A few bytes of a hostile file could request millions of values or thousands of sources. These
 * functions add to the totals above and fail beyond a limit: MAFAT_EUNSUPPORTED. */
int mafat_graph_look_at(struct mafat_graph *g, long long n_numbers);
int mafat_graph_keep(struct mafat_graph *g, long long n_numbers);
int mafat_graph_list_sources(struct mafat_graph *g, long long n_sources);
/* Counts a list of n_sources sources, and the time to make it: for each source, the whole list is
 * searched. */
int mafat_graph_cut_sources(struct mafat_graph *g, long long n_sources);
/* Reads the first n values of a constant in a file, and counts them with mafat_graph_look_at. */
int mafat_graph_read_numbers(struct mafat_graph *g, const struct mafat_constant *place, uint64_t n,
                             double *to);

/* Allocates a graph with an empty network, which can get most_layers layers, but at most
 * MAFAT_MAX_LAYERS. MAFAT_ENOMEM. */
int mafat_graph_open(struct mafat_graph **out, const char *path, int most_layers, int n_inputs,
                     struct mafat_diagnostic *d);
void mafat_graph_close(struct mafat_graph **graph);
/* Closes the graph. Returns its network in *out if `code`, the result of importing, is MAFAT_OK;
 * else returns the code of the first failure. */
int mafat_graph_finish(struct mafat_network **out, struct mafat_graph **graph, int code);

/* Reports "model.onnx: Conv 'stem.0': ...", and returns `code`. */
int mafat_graph_fail(struct mafat_graph *g, int code, const char *format, ...) MAFAT_PRINTF(3, 4);
/* Reports in the same way that memory ran out, and returns MAFAT_ENOMEM. */
int mafat_graph_fail_memory(struct mafat_graph *g);

/* ---- values ---- */

void mafat_value_clear(struct mafat_value *v);
/* Copies a value; *out owns the copy. Constants in a file are not read. */
int mafat_value_copy(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *v);

/* Returns the atom (network/view.h) of dimension dim if the dimension has only this one and it is
 * the outermost atom on rows or channels: a range of the dimension is then a range of rows or
 * channels. Else NULL. */
struct mafat_view_atom *mafat_value_outermost(struct mafat_value *v, int dim);

static inline bool mafat_value_is_constant(const struct mafat_value *v)
{
  return v->form == MAFAT_VALUE_PLACE || v->form == MAFAT_VALUE_NUMBERS;
}

/* Type and quantization of a map; floats for other values. */
static inline struct mafat_meaning mafat_value_meaning(const struct mafat_graph *g,
                                                       const struct mafat_value *map)
{
  if (map->form != MAFAT_VALUE_MAP) return (struct mafat_meaning){.type = MAFAT_F32};
  int tensor = map->sources.list[0].tensor;
  return (struct mafat_meaning){mafat_network_tensor_type(g->network, tensor),
                                *mafat_network_tensor_quantization(g->network, tensor)};
}

/* True for a map of integers. */
static inline bool mafat_value_is_integer(const struct mafat_graph *g, const struct mafat_value *v)
{
  return v->form == MAFAT_VALUE_MAP && mafat_value_meaning(g, v).type != MAFAT_F32;
}

/* True for a constant of integers with scales that is read as integers. */
static inline bool mafat_value_is_quantized(const struct mafat_value *v)
{
  return v->form == MAFAT_VALUE_PLACE && v->scales.list.n > 0 && !v->scales.real;
}

/* True for values in a file that kernels can widen to floats. */
static inline bool mafat_value_is_narrow(const struct mafat_value *v)
{
  return v->form == MAFAT_VALUE_PLACE && mafat_constant_is_read(&v->place) &&
         mafat_dtypes[v->place.type].narrow;
}

/* Quantization parameters that a quantized constant has when it is stored as unsigned bytes, the
 * form of 8-bit tensors. */
static inline struct mafat_quantization mafat_value_quantization(const struct mafat_value *v)
{
  return mafat_quantization(
      v->scales.scale, v->scales.zero + (v->place.type == MAFAT_I8 ? MAFAT_SIGNED_TO_BYTE : 0));
}

static inline long long mafat_value_elements(const struct mafat_value *v)
{
  return mafat_view_elements(&v->view);
}

/* Makes a constant in memory with these dimensions; the caller fills in its values. */
int mafat_value_make_numbers(struct mafat_graph *g, struct mafat_value *out, int n_dims,
                             const long long *dims);
/* Returns all values of a constant, row-major; the caller frees *numbers. Fails if there are more
 * than `most`. */
int mafat_value_numbers(struct mafat_graph *g, const struct mafat_value *v, long long most,
                        double **numbers);
/* Returns the value of a constant with one element, in any number of dimensions. */
int mafat_value_number(struct mafat_graph *g, const struct mafat_value *v, double *number);
/* Returns all values as integers: for shapes, axes, pads. */
int mafat_value_integers(struct mafat_graph *g, const struct mafat_value *v, int most,
                         long long *integers, int *n);

/* ---- layers ---- */

/* Makes the value of input `index` of the network, with dimension k on axis axes[k]. */
int mafat_graph_input(struct mafat_graph *g, int index, struct mafat_value *out, int n_dims,
                      const long long *dims, const int *axes);

/* Names input `index`, or adds a named output. Both copy the value. Outputs live to the end of a
 * run. */
int mafat_graph_name_input(struct mafat_graph *g, int index, const char *name,
                           enum mafat_dtype type, const struct mafat_value *v);
int mafat_graph_name_output(struct mafat_graph *g, const char *name, const struct mafat_value *v);

/* Adds an empty layer. NULL: too many layers, with a message. */
struct mafat_layer *mafat_graph_add_layer(struct mafat_graph *g, enum mafat_layer_type type);
/* Adds an operand to the layer: a whole map. */
int mafat_graph_add_operand(struct mafat_graph *g, struct mafat_layer *l,
                            const struct mafat_value *v);
/* Infers the output's shape and checks the operands. */
int mafat_graph_end_layer(struct mafat_graph *g, struct mafat_layer *l);
/* Makes a value of the layer's first output, with view `view`. */
int mafat_graph_output(struct mafat_graph *g, struct mafat_value *out, const struct mafat_layer *l,
                       const struct mafat_view *view);
/* Like mafat_graph_output, for output `output` of a layer with several; 0 is the first. */
int mafat_graph_output_of(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_layer *l, int output, const struct mafat_view *view);
/* Returns a second reference to a value, for a node that reads it more than once. The caller must
 * not clear it. It counts as one more reader, so that operators are not folded into the layer that
 * made the value. */
static inline struct mafat_value mafat_value_again(const struct mafat_value *v)
{
  struct mafat_value again = *v;
  if (again.readers < 2) again.readers = 2;
  return again;
}

/* Returns the layer that made the value, if the layer may still be changed because only the current
 * node reads the value, once. Else NULL. */
struct mafat_layer *mafat_graph_maker(struct mafat_graph *g, const struct mafat_value *v);

#endif
