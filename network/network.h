/* A network as plain data: layers, shapes, edges. A reader in formats/ creates it without reading
 * weights. It does not change after the model is opened.
 *
 * A network consists of *operators*: its layers and its inputs. Inputs read no tensor; a run reads
 * their rows from a source. A *tensor* is one of an operator's outputs; most operators have one.
 * Arrays with one entry per tensor are indexed by the tensor's index. Layers that only rename
 * (route, dropout, cost) have no tensor: their readers read the renamed tensors, as a list of
 * sources. A concatenation therefore never exists in memory.
 *
 * Layers come first, so that a layer's index is the number that users see: 0 is the first section
 * after [net]. Inputs follow all layers, even if fewer layers are run; they have no number
 * (mafat_network_number). The first output of an operator has the operator's index. Other outputs
 * have indices after the inputs, in the order of their layers.
 *
 * Included by nearly all folders. Allocates lists of outputs and frees networks; other functions
 * are pure. */
#ifndef MAFAT_NETWORK_NETWORK_H
#define MAFAT_NETWORK_NETWORK_H

#include "base/error.h"
#include "base/file_state.h"
#include "network/kind.h"
#include "network/picture.h"
#include "network/port.h"

/* The Darknet fork that a network is for: pjreddie's (MAFAT_FORK_DARKNET) or AlexeyAB's. It
 * determines batch normalization, the conversion of pictures, and non-maximum suppression
 * (doc/forks.md). */
enum mafat_fork { MAFAT_FORK_AUTO, MAFAT_FORK_DARKNET, MAFAT_FORK_ALEXEYAB };

/* Properties of the file format that a network was read from (struct mafat_reader in
 * formats/readers.h). All fields but the name are zero for Darknet's format. */
struct mafat_format {
  const char *name;
  bool own_weights; /* constants are in the network's own files; else in a separate weights file */
  /* the order of parallel branches is arbitrary: another execution order may need less memory */
  bool any_order;
  bool relative_boxes;  /* exporters write boxes relative to the input's size, not in pixels */
  float pad;            /* pixel value around a letterboxed picture; 0: Darknet's */
};

/* The operator that makes a tensor, and which of its outputs the tensor is. */
struct mafat_maker {
  int layer, output;
};

struct mafat_outputs_head; /* runner/detect/heads/head.h */

enum { MAFAT_DECODED_OUTPUTS = 12 };

/* How the outputs of a file without detection layers are decoded to boxes or classes. The choice
 * comes from the user, the file or the outputs' shapes. */
struct mafat_decoded {
  const struct mafat_outputs_head *head; /* NULL: outputs are not decoded */
  bool nothing;              /* decode nothing, not even detection layers */
  bool declared;                 /* chosen by the user or the file, not guessed */
  int outputs[MAFAT_DECODED_OUTPUTS]; /* outputs that the head reads, in the order that it
                                         expects */
  uint64_t boxes;            /* number of boxes; 0: the outputs are classes of the whole picture */
  int classes, points;       /* per box */
  bool best;                 /* each box has only its best class */
  bool shares;               /* box coordinates are relative to the input's size, not in pixels */
  char sign[120];            /* reason for the choice: "output [1, 3549, 85]" */
};

struct mafat_network {
  char *path;               /* path of the cfg or model, for messages */
  enum mafat_fork fork;     /* not MAFAT_FORK_AUTO after reading */
  /* reason for the choice: "line 7: mosaic=1 in [net]"; "": default or requested */
  char fork_sign[120];
  bool letterbox;           /* keep the picture's aspect ratio; else stretch it */
  struct mafat_layer *layers; /* (n_layers + n_inputs), inputs last; at least one input */
  int n_layers, n_inputs;
  /* (n_more) makers of the tensors after the operators' first outputs; owned */
  struct mafat_maker *makers;
  int n_more;
  struct mafat_format format;
  struct mafat_constants *constants; /* constant.h; Darknet: offsets in the weights file */
  char **files; /* (n_files) paths of other files that hold constants; owned, with the list */
  int n_files;
  /* state of the files when the network was read: [0] of path, [f] of files[f - 1]; NULL:
   * unknown */
  struct mafat_file_state *states;
  float *values;            /* (n_values) constants that are in no file; owned */
  size_t n_values;
  struct mafat_picture_declared picture;
  struct mafat_stored_options stored; /* from the packed file with the weights */
  int n_sources;            /* total over all operands checked so far */
  bool cut;                 /* the cfg has more layers, which are unsupported */
  /* named inputs (n_inputs) and outputs (n_outputs), owned; NULL and n_outputs 0 for Darknet, where
   * they have no names */
  struct mafat_port *inputs, *outputs;
  int n_outputs;
  struct mafat_decoded decoded;
};

void mafat_network_close(struct mafat_network **network);
/* Keeps the first n layers, and the inputs. Does not touch layers after one that is all zero. */
void mafat_network_shorten(struct mafat_network *network, int n);

/* Requests more layers as outputs, besides the last of the first n_layers and the heads. Their maps
 * exist whole and live to the end of a run in every later plan. MAFAT_EINVAL: no such layer. */
int mafat_network_ask_for(struct mafat_network *n, int n_layers, const int *layers, int count,
                          struct mafat_diagnostic *d);

const char *mafat_activation_name(enum mafat_activation activation);

static inline int mafat_network_n_operators(const struct mafat_network *n)
{
  return n->n_layers + n->n_inputs;
}

/* Length of an array with one entry per tensor. */
static inline int mafat_network_n_tensors(const struct mafat_network *n)
{
  return mafat_network_n_operators(n) + n->n_more;
}

/* Returns the index of the tensor that is output `output` of an operator:
 *   for (int k = 0; k < mafat_layer_n_outputs(l); k++) ... mafat_network_output(n, layer, k) */
static inline int mafat_network_output(const struct mafat_network *n, int layer, int output)
{
  return output ? mafat_network_n_operators(n) + n->layers[layer].more->first + output - 1 : layer;
}

static inline struct mafat_maker mafat_network_maker(const struct mafat_network *n, int tensor)
{
  /* fast path: most tensors, called often */
  if (tensor < n->n_layers) return (struct mafat_maker){tensor, 0};
  int more = tensor - mafat_network_n_operators(n);
  return more < 0 ? (struct mafat_maker){tensor, 0} : n->makers[more];
}

/* Returns the index of the operator that makes a tensor. */
static inline int mafat_network_operator(const struct mafat_network *n, int tensor)
{
  return mafat_network_maker(n, tensor).layer;
}

static inline const struct mafat_layer *mafat_network_made_by(const struct mafat_network *n,
                                                              int tensor)
{
  return &n->layers[mafat_network_operator(n, tensor)];
}

/* Returns a tensor's entry among its layer's further outputs; NULL: it is the first output. */
static inline struct mafat_output *mafat_network_more(const struct mafat_network *n, int tensor)
{
  if (tensor < n->n_layers) return NULL;
  struct mafat_maker m = mafat_network_maker(n, tensor);
  return m.output ? &n->layers[m.layer].more->list[m.output - 1] : NULL;
}

/* Assigns indices to the layer's further outputs. Called once per layer, in order, after infer.
 * MAFAT_ENOMEM. */
int mafat_network_add_outputs(struct mafat_network *n, int layer);

/* The input for decoded pictures, which the first layer reads. */
static inline int mafat_network_picture(const struct mafat_network *n)
{
  return n->n_layers;
}

static inline struct mafat_shape mafat_network_picture_shape(const struct mafat_network *n)
{
  return n->layers[mafat_network_picture(n)].out;
}

/* Returns the storage order of input `index` in a file: row-major by its dimensions, or channel by
 * channel (Darknet). */
static inline void mafat_network_input_order(const struct mafat_network *n, int index,
                                             struct mafat_file_order *order)
{
  struct mafat_shape shape = n->layers[n->n_layers + index].out;
  if (n->inputs) mafat_file_order_make(order, &n->inputs[index].view, shape);
  else mafat_file_order_planes(order, shape);
  order->type = n->inputs ? n->inputs[index].type : MAFAT_F32;
}

/* Returns the default predecessor of a layer: the layer above it in the cfg, or the picture. */
static inline int mafat_network_above(const struct mafat_network *n, int layer)
{
  return layer > 0 ? layer - 1 : mafat_network_picture(n);
}

/* Returns an operator's number for users: a layer's index; -1 for an input. */
static inline int mafat_network_number(const struct mafat_network *n, int index)
{
  return index < n->n_layers ? index : -1;
}

static inline struct mafat_shape mafat_network_tensor_shape(const struct mafat_network *n,
                                                            int tensor)
{
  const struct mafat_output *more = mafat_network_more(n, tensor);
  return more ? more->shape : n->layers[tensor].out;
}

/* Type of a tensor's elements. */
static inline enum mafat_dtype mafat_network_tensor_type(const struct mafat_network *n, int tensor)
{
  const struct mafat_output *more = mafat_network_more(n, tensor);
  return more ? more->type : n->layers[tensor].out_type;
}

/* Quantization parameters of a tensor. */
static inline const struct mafat_quantization *mafat_network_tensor_quantization(
    const struct mafat_network *n, int tensor)
{
  const struct mafat_output *more = mafat_network_more(n, tensor);
  return more ? &more->quantization : &n->layers[tensor].quantization;
}

/* True for an input of the network, which no layer makes. */
static inline bool mafat_network_is_input(const struct mafat_network *n, int tensor)
{
  return tensor >= n->n_layers && tensor < mafat_network_n_operators(n);
}

/* True if one of the layer's outputs after its first is requested. */
static inline bool mafat_layer_has_asked(const struct mafat_layer *l)
{
  bool any = false;
  for (int k = 1; k < mafat_layer_n_outputs(l); k++) any = any || l->more->list[k - 1].asked;
  return any;
}

/* True if the tensor is an output of a network of the first n_layers: a requested tensor, a head's,
 * or the first output of the last layer unless another output of that layer is requested. Not for
 * layers that rename: ask for the renamed tensors. */
static inline bool mafat_network_is_output(const struct mafat_network *n, int n_layers, int tensor)
{
  struct mafat_maker m = mafat_network_maker(n, tensor);
  const struct mafat_layer *l = &n->layers[m.layer];
  if (m.output ? l->more->list[m.output - 1].asked : l->output) return true;
  return m.output == 0 &&
         (mafat_layer_is_head(l) || (m.layer == n_layers - 1 && !mafat_layer_has_asked(l)));
}

/* Makes the tensor an output of the network, readable after a run. */
static inline void mafat_network_keep(struct mafat_network *n, int tensor)
{
  struct mafat_output *more = mafat_network_more(n, tensor);
  *(more ? &more->asked : &n->layers[tensor].output) = true;
}

/* Returns the layer whose only output is this tensor; -1: none, or an input. */
static inline int mafat_network_sole_maker(const struct mafat_network *n, int tensor)
{
  return tensor >= 0 && tensor < n->n_layers && !n->layers[tensor].more ? tensor : -1;
}

/* Type of an operand; all its sources have the same type. */
static inline enum mafat_dtype mafat_network_operand_type(const struct mafat_network *n, int layer,
                                                          int operand)
{
  return mafat_network_tensor_type(n, n->layers[layer].operands[operand].sources.list[0].tensor);
}

/* Type of the first operand, or of the output if the layer reads nothing. */
static inline enum mafat_dtype mafat_network_in_type(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  return l->n_operands && l->operands[0].sources.list ? mafat_network_operand_type(n, layer, 0)
                                                      : l->out_type;
}

/* Quantization parameters of an operand; they are the same for all its sources. */
static inline struct mafat_quantization mafat_network_in_quantization(const struct mafat_network *n,
                                                                      int layer, int operand)
{
  return *mafat_network_tensor_quantization(
      n, n->layers[layer].operands[operand].sources.list[0].tensor);
}

/* Checks that all layers with integers are supported. MAFAT_EUNSUPPORTED: the diagnostic names the
 * layer and the reason. */
int mafat_network_check_numbers(const struct mafat_network *n, struct mafat_diagnostic *d);

/* Returns the tensor if the sources are one whole tensor; else -1. */
static inline int mafat_network_sole_tensor(const struct mafat_network *n,
                                            const struct mafat_sources *sources)
{
  if (mafat_sources_count(sources) != 1) return -1;
  const struct mafat_source *s = sources->list;
  struct mafat_shape shape = mafat_network_tensor_shape(n, s->tensor);
  return s->n == shape.c && s->n_rows == shape.h ? s->tensor : -1;
}

/* Checks that an operand's sources are parts of tensors made before `layer` and make up its shape
 * as network/sources.h requires. Readers of files must call this: nothing later checks it.
 * MAFAT_EFORMAT, MAFAT_EUNSUPPORTED. */
int mafat_network_check_operand(const struct mafat_network *n, int layer, int operand,
                                const struct mafat_infer_context *context);
/* Checks all operands of a layer like mafat_network_check_operand, and adds the number of their
 * sources to n->n_sources. Called once for each layer that is read. MAFAT_EUNSUPPORTED also if
 * n->n_sources exceeds MAFAT_MAX_ALL_SOURCES. */
int mafat_network_take_operands(struct mafat_network *n, int layer,
                                const struct mafat_infer_context *context);

/* Returns the sources of operator `index`'s first output. For a layer that renames, these are the
 * renamed tensors. Otherwise it is the whole tensor: a list of one source, stored in *self. */
struct mafat_sources mafat_network_output_sources(const struct mafat_network *n, int index,
                                                  struct mafat_source *self);
/* Returns the whole tensor as a list of one source, stored in *self. */
struct mafat_sources mafat_network_tensor_sources(const struct mafat_network *n, int tensor,
                                                  struct mafat_source *self);

#endif
