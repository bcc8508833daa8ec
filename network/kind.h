/* Kinds of layers: what follows for a layer from what it is. One row for each kind, filled by the
 * file of that name in network/kinds, which knows its shapes, its geometry and its weights; how
 * steps of it are priced and run is in files of the same names on the floors above. Whoever needs
 * to know something about a layer asks for the property here, not for the kind. */
#ifndef MAFAT_NETWORK_KIND_H
#define MAFAT_NETWORK_KIND_H

#include "base/box.h"
#include "base/error.h"
#include "network/sources.h"

#include <stddef.h>
#include <stdint.h>

/* What a step may be a part of. */
enum {
  MAFAT_ALONG_ROWS = 1,    /* rows of the output, from some rows of the input */
  MAFAT_ALONG_COLS = 2,    /* the same of columns */
  MAFAT_ALONG_MAP = MAFAT_ALONG_ROWS | MAFAT_ALONG_COLS,
  MAFAT_ALONG_FILTERS = 4, /* channels of the output, from what weights or channels belong to them */
  MAFAT_ALONG_INPUTS = 8   /* channels of the input, summed one part after the other */
};

/* How a layer's weights lie once they are ready for the kernels. */
enum mafat_weights_form {
  MAFAT_WEIGHTS_NONE,
  MAFAT_WEIGHTS_PANELS, /* a matrix, in panels of filters with their scales and biases */
  MAFAT_WEIGHTS_PIXELS, /* a matrix of its own for every pixel of the output, as the file has them */
  MAFAT_WEIGHTS_NUMBERS, /* no matrix: numbers, as the file has them */
  MAFAT_WEIGHTS_AFFINE   /* a scale and a bias for each channel, nothing else */
};

/* What a layer multiplies its input with: a row of inputs x taps weights for each filter. Taps are
 * the pixels of a window; a filter of a grouped convolution has its group's inputs alone. */
struct mafat_matrix {
  int filters, inputs, taps; /* all 0: none */
};

/* Weights of one filter. */
static inline uint64_t mafat_matrix_row(struct mafat_matrix m)
{
  return (uint64_t)m.inputs * (uint64_t)m.taps;
}

/* Floats that a layer has in a .weights file, and how they are divided. */
struct mafat_weight_counts {
  uint64_t biases, normalization, weights; /* normalization: scales, means and variances together */
};

/* Whom a message is about, in its file's words: "yolo.cfg:41: layer [conv] ...". */
struct mafat_subject {
  const char *path;
  int line, layer;
  const char *name;
  struct mafat_diagnostic *d;
};

struct mafat_network;

/* The layer puts out what is its first operand, and only renames it. */
void mafat_layer_become_alias(struct mafat_layer *l);

struct mafat_kind {
  const char *name;                /* unique; the cfg's word: "convolutional" */
  unsigned along;                  /* MAFAT_ALONG_* */
  enum mafat_weights_form weights;
  bool input;      /* reads nothing: a run asks a source for its rows */
  bool alias;      /* only renames what it reads: no tensor and no step of its own */
  bool inert;      /* an alias of all that the layer above puts out */
  bool head;       /* puts out boxes; how many, `boxes` says */
  bool convolves;  /* sums windows over channels, in groups, by the convolution kernels */
  bool pools;      /* the largest of each window */
  bool blends;     /* its other operands with its input, element by element */
  bool flat;       /* its input's height, width and channels are one list of channels to it */
  bool classifies; /* puts out a probability for each class */
  bool constant;   /* reads no map: its only operand has no sources, and the output's shape */
  bool lanewise;   /* a channel of the output is made of the same one of each operand alone, or of an operand's only one */
  bool keeps;      /* puts out elements of its last operand, the largest of some, or what lies between: numbers mean the same */
  bool in_place;   /* its output may lie where the first operand does, of the same shape and type: no element is read once it is written */
  bool multiplies; /* its first operand by its second, by the convolution kernels */
  bool mergeable;  /* what it puts out follows from its input and what merge.h compares */
  bool within;     /* reads and makes some channels of a block without the others, of floats */
  bool looks_up;   /* copies columns of its second operand, by numbers of the first, from wherever they lie */
  bool apart;      /* no cfg has it: its code is resident for networks that have (api/surroundings.c) */

  /* Checks the parameters against the shapes of the operands, and fills `out` and, of several outputs, `more`. */
  int (*infer)(struct mafat_layer *l, const struct mafat_subject *subject);
  /* What the span `out` of rows (axis_y) or columns of the output reads of an operand: inside the
   * map, and all of it along an axis that it cannot be cut along. `out` is not empty. */
  struct mafat_span (*in_span)(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out);
  unsigned (*not_along)(const struct mafat_layer *l); /* what of `along` the layer's parameters rule out; NULL: nothing */
  /* Zero columns beside the input that windows reach into; NULL: none. */
  void (*pads)(const struct mafat_layer *l, int *left, int *right);
  struct mafat_matrix (*matrix)(const struct mafat_layer *l);        /* NULL: it has none */
  struct mafat_weight_counts (*counts)(const struct mafat_layer *l); /* NULL: without weights */
  /* Multiply-accumulates of so many pixels and filters of the output, from so many channels
   * (mafat_layer_channels); NULL: none. */
  uint64_t (*macs)(const struct mafat_layer *l, uint64_t pixels, int filters, int channels);
  uint64_t (*boxes)(const struct mafat_layer *l); /* that a head puts out, each for all classes; NULL: no head */
  /* Why such a layer of whole numbers, or of some and of floats, cannot be, in words that go on from "layer [conv] ";
   * NULL: it can. Of kinds without: none can. */
  const char *(*numbers)(const struct mafat_network *n, int layer);
};

extern const struct mafat_kind *const mafat_kinds[MAFAT_N_LAYER_TYPES];

static inline const struct mafat_kind *mafat_kind_of(enum mafat_layer_type type)
{
  return mafat_kinds[type];
}

/* The kind's name; "unknown" of what is none. */
const char *mafat_layer_type_name(enum mafat_layer_type type);

/* Makes a layer of what its reader knows: kind, parameters, operands and their shapes. Where no
 * such layer can be, the diagnostic says why. */
int mafat_layer_infer(struct mafat_layer *l, const struct mafat_subject *subject);

/* Span of rows (axis_y) or columns of an operand that the span `out` of a
 * layer's output reads, inside the map; where it reads padding only, the pixel
 * beside it. */
struct mafat_span mafat_layer_in_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out);

/* Zero columns that a convolution reads beside its input map's true edges. */
void mafat_layer_pads(const struct mafat_layer *l, int *left, int *right);

struct mafat_matrix mafat_layer_matrix(const struct mafat_layer *l);
struct mafat_weight_counts mafat_layer_weight_counts(const struct mafat_layer *l);

/* Multiply-accumulates for `pixels` of the output map: for all its filters, or for some of them
 * over some of the input's channels. */
uint64_t mafat_layer_macs(const struct mafat_layer *l, uint64_t pixels);
uint64_t mafat_layer_part_macs(const struct mafat_layer *l, uint64_t pixels, int filters, int channels);

/* What a head puts out, each with all its classes; 0 of others. */
uint64_t mafat_layer_boxes(const struct mafat_layer *l);

/* ---- what it makes ---- */

static inline int mafat_layer_n_outputs(const struct mafat_layer *l)
{
  return l->more ? 1 + l->more->n : 1;
}

static inline struct mafat_shape mafat_layer_output_shape(const struct mafat_layer *l, int output)
{
  return output ? l->more->list[output - 1].shape : l->out;
}

/* Steps count rows, columns and channels of the first output. Along what a layer may be cut, all its outputs have the
 * same extent and are made together; along the others, an output of another extent is made whole. */
static inline struct mafat_span mafat_span_across(struct mafat_span span, int extent, int other)
{
  return extent == other || mafat_span_is_empty(span) ? span : mafat_span(0, other);
}

/* The part of an output that is made with a part of the first one. */
static inline struct mafat_box mafat_layer_out_box(const struct mafat_layer *l, int output, struct mafat_box first)
{
  struct mafat_shape s = mafat_layer_output_shape(l, output);
  return (struct mafat_box){mafat_span_across(first.y, l->out.h, s.h), mafat_span_across(first.x, l->out.w, s.w)};
}

static inline struct mafat_span mafat_layer_out_channels(const struct mafat_layer *l, int output, struct mafat_span first)
{
  return mafat_span_across(first, l->out.c, mafat_layer_output_shape(l, output).c);
}

/* The part of the first output that is made with a part of another. */
static inline struct mafat_box mafat_layer_first_box(const struct mafat_layer *l, int output, struct mafat_box box)
{
  struct mafat_shape s = mafat_layer_output_shape(l, output);
  return (struct mafat_box){mafat_span_across(box.y, s.h, l->out.h), mafat_span_across(box.x, s.w, l->out.w)};
}

/* ---- what it reads ---- */

/* What the input consists of. */
static inline const struct mafat_sources *mafat_layer_sources(const struct mafat_layer *l)
{
  return &l->operands[0].sources;
}

/* A walk over all that a layer reads, slice by slice:
 *     for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);) ... r.source->tensor */
struct mafat_reads {
  const struct mafat_source *source; /* this one */
  int operand;                       /* that it is part of */
  const struct mafat_layer *layer;
  const struct mafat_sources *sources; /* of the operand */
  int next, end;                       /* in their list */
  bool first_alone;                    /* operands behind the first one are no tensors */
};

static inline struct mafat_reads mafat_layer_reads(const struct mafat_layer *l)
{
  const struct mafat_sources *sources = mafat_layer_sources(l);
  return (struct mafat_reads){.layer = l, .sources = sources, .end = mafat_sources_count(sources)};
}

static inline bool mafat_reads_next(struct mafat_reads *r)
{
  while (r->next == r->end) {
    if (++r->operand >= (r->first_alone ? 1 : r->layer->n_operands)) return false;
    r->sources = &r->layer->operands[r->operand].sources;
    r->next = 0;
    r->end = mafat_sources_count(r->sources);
  }
  r->source = &r->sources->list[r->next++];
  return true;
}

/* Rows of the source's tensor among rows `in` of the operand. */
static inline struct mafat_span mafat_reads_rows(const struct mafat_reads *r, struct mafat_span in)
{
  return mafat_sources_rows(r->sources, r->next - 1, in);
}

/* Is something of the tensor among what such a walk has before it? */
static inline bool mafat_reads_meet(struct mafat_reads r, int tensor)
{
  while (mafat_reads_next(&r))
    if (r.source->tensor == tensor) return true;
  return false;
}

/* ---- what others ask ---- */

/* Does it compute a tensor of its own, or only rename what it reads? */
static inline bool mafat_layer_is_alias(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->alias;
}

static inline bool mafat_layer_is_input(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->input;
}

static inline bool mafat_layer_is_inert(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->inert;
}

static inline bool mafat_layer_is_head(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->head;
}

/* What a step of it may be a part of. */
static inline unsigned mafat_layer_along(const struct mafat_layer *l)
{
  const struct mafat_kind *kind = mafat_kind_of(l->type);
  return kind->not_along ? kind->along & ~kind->not_along(l) : kind->along;
}

/* Can a box of the output be computed from a box of the input, which may be all of its columns? The others
 * (reorg's index order, softmax, connected, heads ...) need whole maps. */
static inline bool mafat_layer_is_tileable(const struct mafat_layer *l)
{
  return (mafat_kind_of(l->type)->along & MAFAT_ALONG_MAP) == MAFAT_ALONG_MAP && (mafat_layer_along(l) & MAFAT_ALONG_ROWS);
}

static inline bool mafat_layer_convolves(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->convolves;
}

/* A convolution whose filters read their own group's channels only. */
static inline bool mafat_layer_is_grouped(const struct mafat_layer *l)
{
  return mafat_layer_convolves(l) && l->groups > 1;
}

/* A convolution whose every filter reads all channels. */
static inline bool mafat_layer_is_ungrouped(const struct mafat_layer *l)
{
  return mafat_layer_convolves(l) && l->groups == 1;
}

/* One group per channel and one filter per group. */
static inline bool mafat_layer_is_depthwise(const struct mafat_layer *l)
{
  return mafat_layer_is_grouped(l) && l->groups == l->in.c && l->groups == l->filters;
}

/* Would a channel of its output be made of that channel alone, were it not for its parameters? */
static inline bool mafat_layer_mixes_channels(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->lanewise && !(mafat_layer_along(l) & MAFAT_ALONG_FILTERS);
}

/* Every pixel of all channels by itself: a 1x1 convolution. */
static inline bool mafat_layer_is_pointwise(const struct mafat_layer *l)
{
  return mafat_layer_is_ungrouped(l) && mafat_window_is_pixel(&l->window);
}

/* Is a channel of its output made of that channel of its operands alone? */
static inline bool mafat_layer_is_lanewise(const struct mafat_layer *l)
{
  return (mafat_kind_of(l->type)->lanewise && !mafat_layer_mixes_channels(l)) || mafat_layer_is_depthwise(l);
}

static inline bool mafat_layer_pools(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->pools;
}

static inline bool mafat_layer_blends(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->blends;
}

static inline bool mafat_layer_classifies(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->classifies;
}

static inline bool mafat_layer_multiplies(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->multiplies;
}

static inline bool mafat_layer_is_apart(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->apart || l->activation.kind >= MAFAT_N_KERNEL_ACTIVATIONS ||
         l->blend >= MAFAT_N_KERNEL_BLENDS;
}

static inline bool mafat_layer_goes_within_blocks(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->within && mafat_layer_is_lanewise(l) && l->out_type == MAFAT_F32;
}

static inline bool mafat_layer_looks_up(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->looks_up;
}

static inline bool mafat_layer_keeps_numbers(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->keeps;
}

static inline bool mafat_layer_is_flat(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->flat;
}

/* Channels of the input as steps count them. */
static inline int mafat_layer_channels(const struct mafat_layer *l)
{
  return mafat_layer_is_flat(l) ? l->in.h * l->in.w * l->in.c : l->in.c;
}

static inline enum mafat_weights_form mafat_layer_weights_form(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->weights;
}

static inline bool mafat_layer_has_weights(const struct mafat_layer *l)
{
  return mafat_layer_weights_form(l) != MAFAT_WEIGHTS_NONE;
}

/* Do they lie as the file has them, whoever takes them? */
static inline bool mafat_layer_copies_weights(const struct mafat_layer *l)
{
  enum mafat_weights_form form = mafat_layer_weights_form(l);
  return form == MAFAT_WEIGHTS_PIXELS || form == MAFAT_WEIGHTS_NUMBERS;
}

static inline bool mafat_layer_has_panels(const struct mafat_layer *l)
{
  return mafat_layer_weights_form(l) == MAFAT_WEIGHTS_PANELS;
}

/* A matrix whose sums are whole numbers: of bytes and int8. */
static inline bool mafat_layer_sums_integers(const struct mafat_layer *l)
{
  return l->weights_type == MAFAT_I8 && l->out_type == MAFAT_U8 && mafat_layer_has_panels(l);
}

/* May its weights be of that type? Where sums are of floats, of narrow ones, in panels; of scaled ones, not of groups. */
static inline bool mafat_layer_takes_weights(const struct mafat_layer *l, enum mafat_dtype type)
{
  if (l->out_type != MAFAT_F32) return type == l->weights_type;
  if (!mafat_dtypes[type].narrow) return type == MAFAT_F32;
  return mafat_layer_has_panels(l) && (!mafat_dtypes[type].scaled || l->groups <= 1);
}

/* As narrow as it takes them, at most as wanted, and no wider than they are. */
static inline enum mafat_dtype mafat_layer_narrowest(const struct mafat_layer *l, enum mafat_dtype wanted)
{
  while (wanted != MAFAT_F32 && !mafat_layer_takes_weights(l, wanted)) wanted = mafat_dtypes[wanted].wider;
  bool less = mafat_dtypes[wanted].bits < mafat_dtypes[l->weights_type].bits;
  return less && mafat_layer_takes_weights(l, wanted) ? wanted : l->weights_type;
}

/* Are its weights made floats for the kernels? */
static inline bool mafat_layer_widens(const struct mafat_layer *l)
{
  return mafat_dtypes[l->weights_type].narrow && l->out_type == MAFAT_F32;
}

#endif
