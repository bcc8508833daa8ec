/* Kinds of layers and their properties. Each kind has a struct mafat_kind, defined by a file in
 * network/kinds/. Files of the same names in predictor/kinds/ and runner/engine/kinds/ predict and
 * compute the steps of that kind. Other code asks for a property here and never compares kinds.
 * Included by network/kinds/kinds.h, network/merge.c and network/network.h. The functions change
 * only the layer whose output shapes they infer. */
#ifndef MAFAT_NETWORK_KIND_H
#define MAFAT_NETWORK_KIND_H

#include "base/box.h"
#include "base/error.h"
#include "network/sources.h"

#include <stddef.h>
#include <stdint.h>

/* Dimensions along which a layer can be split into steps. */
enum {
  MAFAT_ALONG_ROWS = 1,    /* rows of the output, from a range of rows of the input */
  MAFAT_ALONG_COLS = 2,    /* columns of the output, from a range of columns of the input */
  MAFAT_ALONG_MAP = MAFAT_ALONG_ROWS | MAFAT_ALONG_COLS,
  MAFAT_ALONG_FILTERS = 4, /* channels of the output */
  MAFAT_ALONG_INPUTS = 8   /* channels of the input, summed part by part */
};

/* Layout of a layer's weights in memory, as the kernels read them. */
enum mafat_weights_form {
  MAFAT_WEIGHTS_NONE,
  MAFAT_WEIGHTS_PANELS, /* a matrix, in panels of filters with their scales and biases */
  MAFAT_WEIGHTS_PIXELS, /* one matrix per output pixel, in the file's order */
  MAFAT_WEIGHTS_NUMBERS, /* values without a matrix, in the file's order */
  MAFAT_WEIGHTS_AFFINE   /* one scale and one bias per channel */
};

/* A layer's weight matrix: one row of inputs x taps weights per filter. Taps are the pixels of a
 * window. A filter of a grouped convolution has the inputs of its group only. */
struct mafat_matrix {
  int filters, inputs, taps; /* all 0: no matrix */
};

/* Weights per filter. */
static inline uint64_t mafat_matrix_row(struct mafat_matrix m)
{
  return (uint64_t)m.inputs * (uint64_t)m.taps;
}

/* Number of floats that a layer reads from a .weights file. */
struct mafat_weight_counts {
  uint64_t biases, normalization, weights; /* normalization: scales, means and variances together */
};

/* Context of a message about a layer: "yolo.cfg:41: layer [conv] ...". */
struct mafat_infer_context {
  const char *path;
  int line, layer;
  const char *name;
  struct mafat_diagnostic *d;
};

struct mafat_network;

/* Turns the layer into an alias of its first operand: it renames that tensor and computes
 * nothing. */
void mafat_layer_become_alias(struct mafat_layer *l);

struct mafat_kind {
  const char *name;                /* unique; the cfg's word: "convolutional" */
  unsigned along;                  /* MAFAT_ALONG_* bits */
  enum mafat_weights_form weights;
  bool input;      /* network input: reads no tensor; a run reads its rows from a source */
  bool alias;      /* renames its input: no tensor and no step of its own */
  bool inert;      /* alias of the whole output of the layer above */
  bool head;       /* its output is boxes, counted by `boxes` */
  bool convolves;  /* sums windows over the channels of each group, by the convolution kernels */
  bool pools;      /* takes the maximum of each window */
  bool blends;     /* combines operands element by element */
  bool flat;       /* reads all elements of its input as channels of one pixel */
  bool classifies; /* its output is a probability for each class */
  bool constant;   /* reads no tensor: its only operand has the output's shape and no sources */
  /* output channel c depends only on channel c of each operand (or on the operand's only
   * channel) */
  bool lanewise;
  /* output elements are copies, maxima, means or interpolations of the last operand's elements, so
   * the output usually has that operand's quantization parameters */
  bool keeps;
  /* the output may overwrite the first operand, which has the same shape and type: each element of
   * the operand is read before the output's element is written there */
  bool in_place;
  bool multiplies; /* multiplies its first operand by its second, by the convolution kernels */
  bool mergeable;  /* output is determined by the input and the fields that merge.c compares */
  bool within;     /* a step may read and write only some channels of a channel block
                      (base/blocks.h); only for floats */
  bool looks_up; /* copies columns of its second operand; the first operand has their indices */
  /* not in any cfg: its code is resident only for networks that use it (api/footprint.c) */
  bool apart;

  /* Checks the parameters against the shapes of the operands. Sets l->out and, for several outputs,
   * l->more. */
  int (*infer)(struct mafat_layer *l, const struct mafat_infer_context *context);
  /* Returns the rows (axis_y) or columns of an operand that output span `out` needs, clipped to the
   * map; all of them along an axis that cannot be split. `out` is not empty. */
  struct mafat_span (*in_span)(const struct mafat_layer *l, int operand, bool axis_y,
                               struct mafat_span out);
  /* bits of `along` that the layer's parameters exclude; NULL: none */
  unsigned (*not_along)(const struct mafat_layer *l);
  /* Returns the columns of zero padding that windows read beside the input; NULL: none. */
  void (*pads)(const struct mafat_layer *l, int *left, int *right);
  struct mafat_matrix (*matrix)(const struct mafat_layer *l);        /* NULL: no matrix */
  struct mafat_weight_counts (*counts)(const struct mafat_layer *l); /* NULL: no weights */
  /* Returns the multiply-accumulates for this many pixels and filters of the output and channels of
   * the input (mafat_layer_channels); NULL: none. */
  uint64_t (*macs)(const struct mafat_layer *l, uint64_t pixels, int filters, int channels);
  /* number of boxes of a head, each with all classes; NULL: not a head */
  uint64_t (*boxes)(const struct mafat_layer *l);
  /* Returns NULL if a layer with integers as input or output is supported, else the reason why not;
   * the text follows "layer [conv] ". NULL function: the kind supports no integers. */
  const char *(*numbers)(const struct mafat_network *n, int layer);
};

extern const struct mafat_kind *const mafat_kinds[MAFAT_N_LAYER_TYPES];

static inline const struct mafat_kind *mafat_kind_of(enum mafat_layer_type type)
{
  return mafat_kinds[type];
}

/* The kind's name; "unknown" for an invalid type. */
const char *mafat_layer_type_name(enum mafat_layer_type type);

/* Derives the output shapes from the fields that the reader of the model's file has set: kind,
 * parameters, operands and their shapes. If the layer is invalid, the diagnostic says why. */
int mafat_layer_infer(struct mafat_layer *l, const struct mafat_infer_context *context);

/* Returns the rows (axis_y) or columns of an operand that output span `out` needs, clipped to the
 * map. If `out` needs only padding, returns the pixel beside the padding; if it is empty, an empty
 * span. */
struct mafat_span mafat_layer_in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                      struct mafat_span out);

/* Columns of zero padding that a convolution reads beside its input map's edges. */
void mafat_layer_pads(const struct mafat_layer *l, int *left, int *right);

struct mafat_matrix mafat_layer_matrix(const struct mafat_layer *l);
struct mafat_weight_counts mafat_layer_weight_counts(const struct mafat_layer *l);

/* Return the number of multiply-accumulates for `pixels` pixels of the output map: the first for
 * all filters and input channels, the second for the given numbers of them. */
uint64_t mafat_layer_macs(const struct mafat_layer *l, uint64_t pixels);
uint64_t mafat_layer_part_macs(const struct mafat_layer *l, uint64_t pixels, int filters,
                               int channels);

/* Number of boxes that a head computes, each with all its classes; 0 for other kinds. */
uint64_t mafat_layer_boxes(const struct mafat_layer *l);

/* ---- outputs ---- */

static inline int mafat_layer_n_outputs(const struct mafat_layer *l)
{
  return l->more ? 1 + l->more->n : 1;
}

static inline struct mafat_shape mafat_layer_output_shape(const struct mafat_layer *l, int output)
{
  return output ? l->more->list[output - 1].shape : l->out;
}

/* Steps count rows, columns and channels of the first output. Along an axis that can be split, all
 * outputs have the same extent, and their corresponding parts are computed together. An output with
 * another extent than the first is computed whole. Converts a span of an axis with `extent` to the
 * span of an axis with extent `other`. */
static inline struct mafat_span mafat_span_across(struct mafat_span span, int extent, int other)
{
  return extent == other || mafat_span_is_empty(span) ? span : mafat_span(0, other);
}

/* Returns the part of an output that is computed together with part `first` of the first output. */
static inline struct mafat_box mafat_layer_out_box(const struct mafat_layer *l, int output,
                                                   struct mafat_box first)
{
  struct mafat_shape s = mafat_layer_output_shape(l, output);
  return (struct mafat_box){mafat_span_across(first.y, l->out.h, s.h),
                            mafat_span_across(first.x, l->out.w, s.w)};
}

static inline struct mafat_span mafat_layer_out_channels(const struct mafat_layer *l, int output,
                                                         struct mafat_span first)
{
  return mafat_span_across(first, l->out.c, mafat_layer_output_shape(l, output).c);
}

/* Returns the part of the first output that is computed together with part `box` of output
 * `output`. */
static inline struct mafat_box mafat_layer_first_box(const struct mafat_layer *l, int output,
                                                     struct mafat_box box)
{
  struct mafat_shape s = mafat_layer_output_shape(l, output);
  return (struct mafat_box){mafat_span_across(box.y, s.h, l->out.h),
                            mafat_span_across(box.x, s.w, l->out.w)};
}

/* ---- operands ---- */

/* Sources of the input, that is, of the first operand. */
static inline const struct mafat_sources *mafat_layer_sources(const struct mafat_layer *l)
{
  return &l->operands[0].sources;
}

/* Iterates over all slices that a layer reads:
 *   for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);) ... r.source */
struct mafat_reads {
  const struct mafat_source *source; /* current slice */
  int operand;                       /* index of its operand */
  const struct mafat_layer *layer;
  const struct mafat_sources *sources; /* sources of that operand */
  int next, end;                       /* position in their list, and its length */
  bool first_alone;                    /* read only the first operand */
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

/* Returns the rows of the current source's tensor that are rows `in` of the operand. */
static inline struct mafat_span mafat_reads_rows(const struct mafat_reads *r, struct mafat_span in)
{
  return mafat_sources_rows(r->sources, r->next - 1, in);
}

/* True if the rest of the iteration reads `tensor`. */
static inline bool mafat_reads_meet(struct mafat_reads r, int tensor)
{
  while (mafat_reads_next(&r))
    if (r.source->tensor == tensor) return true;
  return false;
}

/* ---- properties ---- */

/* True if the layer only renames its input and computes no tensor. */
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

/* Dimensions along which this layer can be split into steps. */
static inline unsigned mafat_layer_along(const struct mafat_layer *l)
{
  const struct mafat_kind *kind = mafat_kind_of(l->type);
  return kind->not_along ? kind->along & ~kind->not_along(l) : kind->along;
}

/* True if a box of the output can be computed from a box of the input, which may have to span all
 * columns. Other kinds (reorg, softmax, connected, heads ...) need whole maps. */
static inline bool mafat_layer_is_tileable(const struct mafat_layer *l)
{
  return (mafat_kind_of(l->type)->along & MAFAT_ALONG_MAP) == MAFAT_ALONG_MAP &&
         (mafat_layer_along(l) & MAFAT_ALONG_ROWS);
}

static inline bool mafat_layer_convolves(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->convolves;
}

/* A convolution whose filters read only the channels of their group. */
static inline bool mafat_layer_is_grouped(const struct mafat_layer *l)
{
  return mafat_layer_convolves(l) && l->groups > 1;
}

/* A convolution whose filters all read all channels. */
static inline bool mafat_layer_is_ungrouped(const struct mafat_layer *l)
{
  return mafat_layer_convolves(l) && l->groups == 1;
}

/* One group per channel and one filter per group. */
static inline bool mafat_layer_is_depthwise(const struct mafat_layer *l)
{
  return mafat_layer_is_grouped(l) && l->groups == l->in.c && l->groups == l->filters;
}

/* True if output channels of a lanewise kind depend on several input channels because of the
 * layer's parameters. */
static inline bool mafat_layer_mixes_channels(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->lanewise && !(mafat_layer_along(l) & MAFAT_ALONG_FILTERS);
}

/* A 1x1 convolution: each pixel by itself, over all channels. */
static inline bool mafat_layer_is_pointwise(const struct mafat_layer *l)
{
  return mafat_layer_is_ungrouped(l) && mafat_window_is_pixel(&l->window);
}

/* True if output channel c depends only on channel c of the operands. */
static inline bool mafat_layer_is_lanewise(const struct mafat_layer *l)
{
  return (mafat_kind_of(l->type)->lanewise && !mafat_layer_mixes_channels(l)) ||
         mafat_layer_is_depthwise(l);
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

/* True if the layer's code is resident only for networks that use it: no cfg has such layers. */
static inline bool mafat_layer_is_apart(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->apart || l->activation.kind >= MAFAT_N_KERNEL_ACTIVATIONS ||
         l->blend >= MAFAT_N_KERNEL_BLENDS;
}

/* True if steps of the layer may cover some channels of a channel block. */
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

/* Returns the number of channels of the input as steps count them; if the kind is flat, the number
 * of all its elements. */
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

/* True if the weights stay in the file's order and are copied unchanged. */
static inline bool mafat_layer_copies_weights(const struct mafat_layer *l)
{
  enum mafat_weights_form form = mafat_layer_weights_form(l);
  return form == MAFAT_WEIGHTS_PIXELS || form == MAFAT_WEIGHTS_NUMBERS;
}

static inline bool mafat_layer_has_panels(const struct mafat_layer *l)
{
  return mafat_layer_weights_form(l) == MAFAT_WEIGHTS_PANELS;
}

/* True for a matrix with int8 weights and 8-bit output, summed in integers. */
static inline bool mafat_layer_sums_integers(const struct mafat_layer *l)
{
  return l->weights_type == MAFAT_I8 && l->out_type == MAFAT_U8 && mafat_layer_has_panels(l);
}

/* True if the layer supports weights of this type. Integer layers support only the type that they
 * have. In float layers, narrow types need weights in panels; types with shared scales also need a
 * layer without groups. */
static inline bool mafat_layer_takes_weights(const struct mafat_layer *l, enum mafat_dtype type)
{
  if (l->out_type != MAFAT_F32) return type == l->weights_type;
  if (!mafat_dtypes[type].narrow) return type == MAFAT_F32;
  return mafat_layer_has_panels(l) && (!mafat_dtypes[type].scaled || l->groups <= 1);
}

/* Returns the narrowest type that the layer supports for its weights and that is at least as wide
 * as `wanted`. If that is no narrower than the present type, returns the present type. */
static inline enum mafat_dtype mafat_layer_narrowest(const struct mafat_layer *l,
                                                     enum mafat_dtype wanted)
{
  while (wanted != MAFAT_F32 && !mafat_layer_takes_weights(l, wanted))
    wanted = mafat_dtypes[wanted].wider;
  bool less = mafat_dtypes[wanted].bits < mafat_dtypes[l->weights_type].bits;
  return less && mafat_layer_takes_weights(l, wanted) ? wanted : l->weights_type;
}

/* True if the kernels widen the weights to floats. */
static inline bool mafat_layer_widens(const struct mafat_layer *l)
{
  return mafat_dtypes[l->weights_type].narrow && l->out_type == MAFAT_F32;
}

#endif
