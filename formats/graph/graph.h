/* A network under construction, as the readers of ONNX and TFLite files make it, operator by operator. What passes
 * between operators is a *value*: a map, or numbers that the file holds or that were worked out while reading. Nearly
 * all operators that only move elements change a value's view and nothing else; where an operator needs its input on
 * certain axes and it lies otherwise, one layer of kind `arrange` copies it. */
#ifndef MAFAT_FORMATS_GRAPH_GRAPH_H
#define MAFAT_FORMATS_GRAPH_GRAPH_H

#include "network/view.h"
#include "network/constant.h"
#include "network/network.h"

enum { MAFAT_GRAPH_PAD = 114 }; /* byte around a letterboxed picture: that of YOLOv5, YOLOv8 and YOLOX */

enum mafat_value_form {
  MAFAT_VALUE_NONE,    /* an input that is left out */
  MAFAT_VALUE_MAP,     /* sources */
  MAFAT_VALUE_PLACE,   /* numbers of a file, or one that is repeated */
  MAFAT_VALUE_NUMBERS  /* known already */
};

/* Of a constant of whole numbers: real = scale * (number - zero), as the file has them. */
struct mafat_scales {
  struct mafat_constant list; /* one scale, or one for each place along a dimension; n is 0: none */
  int dimension;
  float scale;                /* the first one */
  int zero;                   /* of all of them */
  unsigned run : 31;          /* numbers side by side that have the same scale */
  unsigned real : 1;          /* the constant stands for what its numbers mean: floats */
};

struct mafat_value {
  struct mafat_view view;       /* of a place: of its numbers; of numbers: row-major */
  enum mafat_value_form form;
  int maker;                    /* the layer whose whole output this is, as long as nobody else reads it; -1 */
  int readers;                  /* that are still to come */
  struct mafat_shape shape;     /* a map's, as are the sources, that belong to the value */
  struct mafat_sources sources;
  struct mafat_constant place;
  struct mafat_scales scales;   /* of a place */
  double *numbers;              /* of NUMBERS, in row-major order; belong to the value */
};

/* Reads numbers of a place, as doubles. */
struct mafat_graph_numbers {
  int (*read)(void *context, const struct mafat_constant *place, uint64_t first, uint64_t n, double *to,
              struct mafat_diagnostic *d);
  void *context;
};

/* What an operator makes. */
struct mafat_meaning {
  enum mafat_dtype type; /* of a tensor's elements */
  struct mafat_quantization numbers;
};

struct mafat_graph {
  struct mafat_network *network; /* of as many layers as there is room for; n_layers of them are there */
  int n_layers;
  const char *operator_name;     /* of the node that is being imported, for messages */
  const char *node_name;
  int node;
  struct mafat_meaning makes;    /* layers that compute something put it out so; floats, where nobody says otherwise */
  struct mafat_graph_numbers numbers;
  long long n_looked_at, n_kept, n_sources; /* of all operators so far: below */
  struct mafat_diagnostic *d;
  int code; /* of the first mafat_graph_fail: of what returned no more than NULL, too */
};

/* A node of few bytes may ask for millions of numbers, which stay to the end, and for a list of thousands of sources; what all nodes
 * together ask for ends somewhere. MAFAT_EUNSUPPORTED: that is more. */
int mafat_graph_look_at(struct mafat_graph *g, long long n_numbers);
int mafat_graph_keep(struct mafat_graph *g, long long n_numbers);
int mafat_graph_list_sources(struct mafat_graph *g, long long n_sources);
/* The same of a list that is made of lists of so many, entry by entry, each of which is looked for. */
int mafat_graph_cut_sources(struct mafat_graph *g, long long n_sources);
/* Numbers of a place, which are looked at. */
int mafat_graph_read_numbers(struct mafat_graph *g, const struct mafat_constant *place, uint64_t n, double *to);

/* For at most so many layers. MAFAT_ENOMEM; MAFAT_EUNSUPPORTED: more than a network can have. */
int mafat_graph_open(struct mafat_graph **out, const char *path, int most_layers, int n_inputs,
                     struct mafat_diagnostic *d);
void mafat_graph_close(struct mafat_graph **graph);
/* The network that has come of it, or NULL and, where `code` says that making it failed, what failed first; the
 * graph is closed. */
int mafat_graph_finish(struct mafat_network **out, struct mafat_graph **graph, int code);

/* "model.onnx: Conv 'stem.0': ..." */
int mafat_graph_fail(struct mafat_graph *g, int code, const char *format, ...) MAFAT_PRINTF(3, 4);

/* ---- values ---- */

void mafat_value_clear(struct mafat_value *v);
/* A map that is another's, with a view of its own. */
int mafat_value_copy(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *v);

/* The only atom of a dimension, where it is the outermost one of its axis: a part of the dimension is a part of the
 * map. NULL: it is not. */
struct mafat_view_atom *mafat_value_outermost(struct mafat_value *v, int dim);

static inline bool mafat_value_is_constant(const struct mafat_value *v)
{
  return v->form == MAFAT_VALUE_PLACE || v->form == MAFAT_VALUE_NUMBERS;
}

/* Of a map; what is none is floats. */
static inline struct mafat_meaning mafat_value_meaning(const struct mafat_graph *g, const struct mafat_value *map)
{
  if (map->form != MAFAT_VALUE_MAP) return (struct mafat_meaning){.type = MAFAT_F32};
  int tensor = map->sources.list[0].tensor;
  return (struct mafat_meaning){mafat_network_tensor_type(g->network, tensor), *mafat_network_tensor_quantization(g->network, tensor)};
}

static inline bool mafat_value_is_integer(const struct mafat_graph *g, const struct mafat_value *v)
{
  return v->form == MAFAT_VALUE_MAP && mafat_value_meaning(g, v).type != MAFAT_F32;
}

static inline bool mafat_value_is_quantized(const struct mafat_value *v)
{
  return v->form == MAFAT_VALUE_PLACE && v->scales.list.n > 0 && !v->scales.real;
}

/* Numbers of a file that kernels can widen to floats. */
static inline bool mafat_value_is_narrow(const struct mafat_value *v)
{
  return v->form == MAFAT_VALUE_PLACE && mafat_constant_is_read(&v->place) && mafat_dtypes[v->place.type].narrow;
}

/* Such a constant's numbers as tensors hold them: unsigned bytes. */
static inline struct mafat_quantization mafat_value_quantization(const struct mafat_value *v)
{
  return mafat_quantization(v->scales.scale, v->scales.zero + (v->place.type == MAFAT_I8 ? MAFAT_SIGNED_TO_BYTE : 0));
}

static inline long long mafat_value_elements(const struct mafat_value *v)
{
  return mafat_view_elements(&v->view);
}

/* Numbers that are known from here on: so many, of these dimensions, filled by the caller. */
int mafat_value_make_numbers(struct mafat_graph *g, struct mafat_value *out, int n_dims, const long long *dims);
/* All of a constant's numbers, in row-major order; *numbers is the caller's to free. Refuses more than `most`. */
int mafat_value_numbers(struct mafat_graph *g, const struct mafat_value *v, long long most, double **numbers);
/* Of a constant of one number, in however many dimensions: that. */
int mafat_value_number(struct mafat_graph *g, const struct mafat_value *v, double *number);
/* All as whole numbers: of shapes, axes, pads. */
int mafat_value_integers(struct mafat_graph *g, const struct mafat_value *v, int most, long long *integers, int *n);

/* ---- layers ---- */

/* Input number `index` of the network, its dimensions on these axes. */
int mafat_graph_input(struct mafat_graph *g, int index, struct mafat_value *out, int n_dims, const long long *dims,
                      const int *axes);

/* The network's input of that number, or an output more, by a name: a copy. Outputs live to the end of a run. */
int mafat_graph_name_input(struct mafat_graph *g, int index, const char *name, enum mafat_dtype type,
                           const struct mafat_value *v);
int mafat_graph_name_output(struct mafat_graph *g, const char *name, const struct mafat_value *v);

/* A layer more, of which nothing is known yet; NULL: there is no room, which is told. Valid until the next one. */
struct mafat_layer *mafat_graph_add_layer(struct mafat_graph *g, enum mafat_layer_type type);
/* An operand more of it: all of a map. */
int mafat_graph_add_operand(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *v);
/* Finds the shape of its output, and checks its operands. */
int mafat_graph_end_layer(struct mafat_graph *g, struct mafat_layer *l);
/* What it puts out, with a view of the caller's. */
int mafat_graph_output(struct mafat_graph *g, struct mafat_value *out, const struct mafat_layer *l,
                       const struct mafat_view *view);
/* The same of output `output` of a layer that has several; 0 is the first. */
int mafat_graph_output_of(struct mafat_graph *g, struct mafat_value *out, const struct mafat_layer *l, int output,
                          const struct mafat_view *view);
/* The same value, not to be cleared, for a node that reads it more than once: what is made of it leaves its maker as it is. */
static inline struct mafat_value mafat_value_again(const struct mafat_value *v)
{
  struct mafat_value again = *v;
  if (again.readers < 2) again.readers = 2;
  return again;
}

/* The layer that made the value, where it can still be changed: nobody but the node at hand reads it, and only once. NULL: none. */
struct mafat_layer *mafat_graph_maker(struct mafat_graph *g, const struct mafat_value *v);

#endif
