/* A model as plain data: layers, shapes, edges. Made by a reader in formats/, never
 * changed afterwards, made without weights.
 *
 * A network consists of *operators*: its layers, and its inputs, which read nothing
 * and whose rows a run asks a source for. A *tensor* is one of an operator's outputs, most have
 * a single one; arrays of what belongs to a tensor are indexed by its index. Layers that only
 * rename (route, dropout, cost) have no tensor of their own: whoever reads them reads
 * the tensors behind them, as a list of sources. A concatenation therefore never exists
 * in memory.
 *
 * Layers come first, so that a layer's index is the number that users know it by: 0 is the
 * first section behind [net]. Inputs lie behind all layers, also where fewer are run; to
 * users they have no number (mafat_network_number). The first output of an operator has the operator's
 * index; the other outputs of layers have indexes after the inputs, in the order of their layers. */
#ifndef MAFAT_NETWORK_NETWORK_H
#define MAFAT_NETWORK_NETWORK_H

#include "base/error.h"
#include "base/file_state.h"
#include "network/kind.h"
#include "network/picture.h"
#include "network/port.h"

/* Which Darknet a network was trained by: what a batch normalization is, how a picture becomes the input,
 * and which boxes go (doc/forks.md). */
enum mafat_fork { MAFAT_FORK_AUTO, MAFAT_FORK_DARKNET, MAFAT_FORK_ALEXEYAB };

/* What follows from the format of the file that a network was read from; its row in formats/readers.c says so. Zeros are Darknet's. */
struct mafat_format {
  const char *name;
  bool own_weights;     /* constants are in the files that the network was read from; else in a file of weights */
  bool any_order;       /* files list parallel branches in any order: another order may need less memory */
  bool relative_boxes;  /* exporters write boxes in shares of the input's sides, not in pixels */
  float pad;            /* byte around a letterboxed picture; 0: that of Darknet */
};

/* Which operator makes a tensor, as which of its outputs. */
struct mafat_maker {
  int layer, output;
};

struct mafat_outputs_head; /* runner/detect/heads/head.h */

enum { MAFAT_DECODED_OUTPUTS = 12 };

/* What the outputs of a file that has no layers for it hold, boxes or classes: as its reader was told, or by their
 * dimensions. */
struct mafat_decoded {
  const struct mafat_outputs_head *head; /* NULL: none reads them */
  bool nothing;              /* nor shall layers that are heads be read */
  bool told;                 /* no guess */
  int outputs[MAFAT_DECODED_OUTPUTS]; /* those that are read, in the head's order */
  uint64_t boxes;            /* 0: classes of the whole picture */
  int classes, points;       /* of each box */
  bool best;                 /* a box is told with its best class alone */
  bool shares;               /* boxes are of an input whose sides are 1, and not of its pixels */
  char sign[120];            /* by what it was recognized: "output [1, 3549, 85]" */
};

struct mafat_network {
  char *path;               /* of the cfg, for messages */
  enum mafat_fork fork;     /* never MAFAT_FORK_AUTO once it has been read */
  char fork_sign[120];      /* by what it was decided: "line 7: mosaic=1 in [net]"; "": nothing, or a wish */
  bool letterbox;           /* keep the picture's proportions; else stretch it */
  struct mafat_layer *layers; /* (n_layers), and behind them (n_inputs), at least one */
  int n_layers, n_inputs;
  struct mafat_maker *makers; /* (n_more) of the tensors after the operators' first ones; owned */
  int n_more;
  struct mafat_format format;
  struct mafat_constants *constants; /* constant.h: in the file of weights that it usually comes with */
  char **files;             /* (n_files) paths of those that hold constants, beside the model's own; owned, as are they */
  int n_files;
  struct mafat_file_state *states; /* [0: at path; f: files[f - 1]] as they were when the network was read; NULL: nobody knows */
  float *values;            /* (n_values) constants that no file has; owned */
  size_t n_values;
  struct mafat_picture_said picture;
  int n_sources;            /* of all operands, of those that were taken */
  bool cut;                 /* the cfg goes on, with layers that cannot be read */
  struct mafat_port *inputs, *outputs; /* (n_inputs), (n_outputs) by name, owned; NULL, 0: Darknet's, which have none */
  int n_outputs;
  struct mafat_decoded decoded;
};

void mafat_network_close(struct mafat_network **network);
/* Leaves the first n layers, and the inputs. */
void mafat_network_shorten(struct mafat_network *network, int n);

/* Asks for layers that shall be outputs beside the last of the first n_layers and the heads:
 * their maps exist whole and live to the end of a run, in any plan that is made from here on.
 * MAFAT_EINVAL: no such layer. */
int mafat_network_ask_for(struct mafat_network *n, int n_layers, const int *layers, int count,
                          struct mafat_diagnostic *d);

const char *mafat_activation_name(enum mafat_activation activation);

static inline int mafat_network_n_operators(const struct mafat_network *n)
{
  return n->n_layers + n->n_inputs;
}

/* Entries of an array that has one for each tensor. */
static inline int mafat_network_n_tensors(const struct mafat_network *n)
{
  return mafat_network_n_operators(n) + n->n_more;
}

/* The tensor that is output `output` of an operator:
 *     for (int k = 0; k < mafat_layer_n_outputs(l); k++) ... mafat_network_output(n, layer, k) */
static inline int mafat_network_output(const struct mafat_network *n, int layer, int output)
{
  return output ? mafat_network_n_operators(n) + n->layers[layer].more->first + output - 1 : layer;
}

static inline struct mafat_maker mafat_network_maker(const struct mafat_network *n, int tensor)
{
  if (tensor < n->n_layers) return (struct mafat_maker){tensor, 0}; /* most are, and this is asked for often */
  int more = tensor - mafat_network_n_operators(n);
  return more < 0 ? (struct mafat_maker){tensor, 0} : n->makers[more];
}

/* The operator that makes a tensor, and its index. */
static inline int mafat_network_operator(const struct mafat_network *n, int tensor)
{
  return mafat_network_maker(n, tensor).layer;
}

static inline const struct mafat_layer *mafat_network_made_by(const struct mafat_network *n, int tensor)
{
  return &n->layers[mafat_network_operator(n, tensor)];
}

/* An output after the first of its layer; NULL: it is a first one. */
static inline struct mafat_output *mafat_network_more(const struct mafat_network *n, int tensor)
{
  if (tensor < n->n_layers) return NULL;
  struct mafat_maker m = mafat_network_maker(n, tensor);
  return m.output ? &n->layers[m.layer].more->list[m.output - 1] : NULL;
}

/* Gives the outputs of the layer after its first one their indexes; after infer, once, layer by layer. MAFAT_ENOMEM. */
int mafat_network_add_outputs(struct mafat_network *n, int layer);

/* The input that pictures are decoded into, which the first layer reads. */
static inline int mafat_network_picture(const struct mafat_network *n)
{
  return n->n_layers;
}

static inline struct mafat_shape mafat_network_picture_shape(const struct mafat_network *n)
{
  return n->layers[mafat_network_picture(n)].out;
}

/* How input `index` lies in a file: in the order of its dimensions, or, of Darknet's, channel by channel. */
static inline void mafat_network_input_order(const struct mafat_network *n, int index, struct mafat_file_order *order)
{
  struct mafat_shape shape = n->layers[n->n_layers + index].out;
  if (n->inputs) mafat_file_order_make(order, &n->inputs[index].view, shape);
  else mafat_file_order_planes(order, shape);
  order->type = n->inputs ? n->inputs[index].type : MAFAT_F32;
}

/* What comes before layer `layer` where nothing else is said: the layer above, or the picture. */
static inline int mafat_network_above(const struct mafat_network *n, int layer)
{
  return layer > 0 ? layer - 1 : mafat_network_picture(n);
}

/* The number that users know the operator by: a layer's own, -1 of an input or of none. */
static inline int mafat_network_number(const struct mafat_network *n, int index)
{
  return index < n->n_layers ? index : -1;
}

static inline struct mafat_shape mafat_network_tensor_shape(const struct mafat_network *n, int tensor)
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

/* What the integers of a tensor mean. */
static inline const struct mafat_quantization *mafat_network_tensor_quantization(const struct mafat_network *n, int tensor)
{
  const struct mafat_output *more = mafat_network_more(n, tensor);
  return more ? &more->quantization : &n->layers[tensor].quantization;
}

/* Is it one of the network's inputs, which no layer makes? */
static inline bool mafat_network_is_input(const struct mafat_network *n, int tensor)
{
  return tensor >= n->n_layers && tensor < mafat_network_n_operators(n);
}

/* Is one of the layer's outputs after its first one asked for? */
static inline bool mafat_layer_has_asked(const struct mafat_layer *l)
{
  bool any = false;
  for (int k = 1; k < mafat_layer_n_outputs(l); k++) any = any || l->more->list[k - 1].asked;
  return any;
}

/* Is the tensor an output of the first n_layers: the first one of the last of them, where no other of its outputs is asked
 * for, a head's, or one that was asked for? Of layers that rename: are those behind it? */
static inline bool mafat_network_is_output(const struct mafat_network *n, int n_layers, int tensor)
{
  struct mafat_maker m = mafat_network_maker(n, tensor);
  const struct mafat_layer *l = &n->layers[m.layer];
  if (m.output ? l->more->list[m.output - 1].asked : l->output) return true;
  return m.output == 0 && (mafat_layer_is_head(l) || (m.layer == n_layers - 1 && !mafat_layer_has_asked(l)));
}

/* Makes it an output of the network, which can be read after a run. */
static inline void mafat_network_keep(struct mafat_network *n, int tensor)
{
  struct mafat_output *more = mafat_network_more(n, tensor);
  *(more ? &more->asked : &n->layers[tensor].output) = true;
}

/* The layer whose only output the tensor is; -1: there is none, or it is an input. */
static inline int mafat_network_sole_maker(const struct mafat_network *n, int tensor)
{
  return tensor >= 0 && tensor < n->n_layers && !n->layers[tensor].more ? tensor : -1;
}

/* Type of an operand: all its sources have the same. */
static inline enum mafat_dtype mafat_network_operand_type(const struct mafat_network *n, int layer, int operand)
{
  return mafat_network_tensor_type(n, n->layers[layer].operands[operand].sources.list[0].tensor);
}

/* Of the first operand; of what reads nothing, as what it puts out. */
static inline enum mafat_dtype mafat_network_in_type(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  return l->n_operands && l->operands[0].sources.list ? mafat_network_operand_type(n, layer, 0) : l->out_type;
}

/* What the numbers of an operand mean: all its sources' mean the same. */
static inline struct mafat_quantization mafat_network_in_quantization(const struct mafat_network *n, int layer, int operand)
{
  return *mafat_network_tensor_quantization(n, n->layers[layer].operands[operand].sources.list[0].tensor);
}

/* Can each layer that reads or puts out whole numbers be? MAFAT_EUNSUPPORTED: the diagnostic says which cannot, and why. */
int mafat_network_check_numbers(const struct mafat_network *n, struct mafat_diagnostic *d);

/* The tensor all of which, and nothing else, the sources are; -1: none is. */
static inline int mafat_network_sole_tensor(const struct mafat_network *n, const struct mafat_sources *sources)
{
  if (mafat_sources_count(sources) != 1) return -1;
  const struct mafat_source *s = sources->list;
  struct mafat_shape shape = mafat_network_tensor_shape(n, s->tensor);
  return s->n == shape.c && s->n_rows == shape.h ? s->tensor : -1;
}

/* Are the sources of an operand of layer `layer` parts of tensors that are made before it, and do they
 * make up its shape, as network/sources.h has it? MAFAT_EFORMAT, MAFAT_EUNSUPPORTED: the diagnostic says
 * what is wrong. For readers of files: nobody behind them asks again. */
int mafat_network_check_operand(const struct mafat_network *n, int layer, int operand,
                                const struct mafat_subject *subject);
/* All of a layer that is read from a file, once. As above; MAFAT_EUNSUPPORTED, too: with the layers before it more than MAFAT_MAX_ALL_SOURCES. */
int mafat_network_take_operands(struct mafat_network *n, int layer, const struct mafat_subject *subject);

/* What a tensor, or the output of a layer that only renames, consists of: itself, or what is renamed. */
struct mafat_sources mafat_network_output_sources(const struct mafat_network *n, int index,
                                                  struct mafat_source *self);
/* All of a tensor. */
struct mafat_sources mafat_network_tensor_sources(const struct mafat_network *n, int tensor, struct mafat_source *self);

#endif
