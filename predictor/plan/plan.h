/* A plan: groups of layers, their order, how each group's work is divided, and where weights are.
 * Plain data, made from a spec (spec.h), a network and options (planning.h), without weights. Used
 * by predictor/, search/ and api/. */
#ifndef MAFAT_PREDICTOR_PLAN_PLAN_H
#define MAFAT_PREDICTOR_PLAN_PLAN_H

#include "base/heap.h"
#include "network/network.h"
#include "predictor/plan/spec.h"

struct mafat_plan_options {
  enum mafat_algorithm algorithm; /* used if the spec names none; default MAFAT_AUTO */
  int n_threads;                  /* default 1 */
  int small_bytes; /* layers with packed weights of at most this size are loaded instead of streamed
                      row by row; default 81920 */
  bool packed; /* weights come from a packed file, in kernel order; default false: in Darknet's
                  order */
  bool transposed; /* connected layers are stored transposed in Darknet's file. They cannot be read
                      in parts, so they are kept whatever the spec says; default false */
  int most_boxes; /* capacity for detections (boxes_room.h); default 0: chosen by the network */
  size_t frame_bytes; /* frame of video that exists when a run begins, until it is converted to the
                         input; default 0: none */
  bool frame_stays;   /* the frame stays until boxes are known, to draw them on it; default false */
  int only_rank;  /* number, from 1 on, of the rank that this plan is for; default 0: all work, on
                     one device */
  bool sums_apart; /* several devices: float sums are not continued from rank to rank, but added on
                      the last one, which changes bits; default false */
  bool keep_all;  /* every layer's output exists, without fusion; default false */
  struct mafat_heap *heap; /* heap of the plan and of all that is made from it; default NULL: the C
                              library's */
  struct mafat_op_schedule_memo *orders; /* orders found for earlier plans; default NULL: none */
};

/* A set of layers that run together, in sequence. */
struct mafat_group {
  struct mafat_span at;     /* range of its layers in plan->members and in plan->order */
  struct mafat_cut cut;     /* inner boundaries of an uneven grid point into row_bounds and
                               col_bounds */
  int *row_bounds;          /* (n_rows + 1) rows of the output map: 0 ... h; NULL if not a grid */
  int *col_bounds;          /* (n_cols + 1) */
  struct mafat_group_weights weights; /* the spec's words; plan->placement has what applies to a
                                         layer */
  struct mafat_span positions; /* its steps in time: one for each layer or part */
};

struct mafat_parts; /* plan/partition.h */

struct mafat_plan {
  struct mafat_heap *heap; /* the options' heap */
  int n_layers; /* layers [0, n_layers) of the network run */
  struct mafat_group *groups; /* (n_groups) in execution order */
  int n_groups;
  int n_threads;
  int most_boxes; /* from the options */
  size_t frame_bytes; /* from the options, as is the next */
  bool frame_stays;
  int *group_of; /* [tensor]: group that makes it; of an input the first group, if that reads it by
                    rows, else -1: it exists before all groups */
  int *members;  /* layers group by group, ascending in each */
  enum mafat_op_order op_order; /* scheduling of `order` */
  int *order;    /* layers in execution order, group by group */
  int *position; /* [layer]: its step in time. Members of a panel fusion have their convolution's; a
                    layer in parts has its first part's */
  int n_positions;
  struct mafat_ranks ranks; /* the spec's words about ranks */
  int rank;                 /* rank whose steps these are; -1: all ranks' */
  struct mafat_span *own_filters; /* [layer]: filters in whole panels whose weights a rank keeps;
                                     NULL: all, of all layers */
  struct mafat_span *own_channels; /* [layer]: input channels of these, if the layer sums them part
                                      by part; empty: all */
  struct mafat_parts *parts; /* parts of split groups; NULL: no group is split */
  enum mafat_algorithm wanted;      /* the options', used unless a group names another */
  enum mafat_algorithm *algorithms; /* [layer]: MAFAT_DIRECT or a Winograd algorithm */
  int *depthwise_rows; /* [layer]: rows of a depthwise layer computed at a time inside the 1x1 that
                          reads it, as the spec says; 0: computed by itself; -1: not given; NULL:
                          none given */
  int *inner; /* [tensor]: layer computed inside its step (fusion.h), or -1 */
  int *outer; /* [tensor]: layer in whose step it is computed, or -1: its own */
  int *table; /* [tensor]: constant in which it looks up values. The table is read from kept weights
                 and is not a tensor; or -1 */
  bool packed;                     /* the weights file is in kernel order */
  enum mafat_weight_placement *placement; /* [layer]: for layers with weights */
  bool in_place;  /* from the spec */
  int *place_of;  /* [tensor]: tensor whose buffer the output reuses, or -1 (planning/in_place.h) */
  int *ring_shared_with;  /* [tensor]: tensor whose rows it overwrites in a shared ring as they die,
                             or -1 (planning/in_place_rings.h) */
  int *overlap_distance;       /* [tensor]: rows by which it is ahead of that tensor */
  int *panel_producer; /* [tensor]: convolution whose panels the layer consumes one by one; itself
                          for that convolution, or -1 (order.h) */
};

void mafat_plan_defaults(struct mafat_plan_options *options);
/* True if the layer's weights are kept in every plan. */
static inline bool mafat_plan_must_keep(const struct mafat_plan_options *options,
                                        const struct mafat_layer *l)
{
  return options->transposed && l->type == MAFAT_CONNECTED;
}

void mafat_plan_close(struct mafat_plan **plan);

/* True if the layer's output reuses the buffer of an operand. False before the order is found. */
static inline bool mafat_plan_is_in_place(const struct mafat_plan *plan, int layer)
{
  return plan->place_of && plan->place_of[layer] >= 0;
}

/* Filters of a layer whose weights this plan keeps in memory. */
static inline struct mafat_span mafat_plan_own_filters(const struct mafat_plan *plan,
                                                       const struct mafat_network *n, int layer)
{
  return plan && plan->own_filters ? plan->own_filters[layer]
                                   : mafat_span(0, n->layers[layer].out.c);
}

/* Rows of a depthwise layer inside its 1x1, as in the plan's text; 0: by itself; -1: not given. */
static inline int mafat_plan_depthwise_rows(const struct mafat_plan *plan, int layer)
{
  return plan->depthwise_rows && layer < plan->n_layers ? plan->depthwise_rows[layer] : -1;
}

/* Tensor with which this one shares its buffer; -1: none. */
static inline int mafat_plan_shares_with(const struct mafat_plan *plan, int tensor)
{
  return plan->ring_shared_with && plan->ring_shared_with[tensor] >= 0
             ? plan->ring_shared_with[tensor]
             : plan->place_of[tensor];
}

/* Group that runs a layer. */
static inline const struct mafat_group *mafat_plan_group(const struct mafat_plan *plan, int layer)
{
  return &plan->groups[plan->group_of[layer]];
}

/* True if the tensor is made while that group runs. */
static inline bool mafat_plan_makes(const struct mafat_plan *plan, int group, int tensor)
{
  return plan->group_of[tensor] == group;
}

/* Layer whose input a step of `layer` reads: the innermost one, or itself. */
static inline int mafat_plan_reader(const struct mafat_plan *plan, int layer)
{
  while (plan->inner[layer] >= 0) layer = plan->inner[layer];
  return layer;
}

/* Layer in whose step `layer` is computed: the outermost one, or itself. */
static inline int mafat_plan_outermost(const struct mafat_plan *plan, int layer)
{
  while (plan->outer[layer] >= 0) layer = plan->outer[layer];
  return layer;
}

/* Sources of a step's input. */
static inline const struct mafat_sources *mafat_plan_sources(const struct mafat_plan *plan,
                                                             const struct mafat_network *n,
                                                             int layer)
{
  return mafat_layer_sources(&n->layers[mafat_plan_reader(plan, layer)]);
}

/* Sources of any operand of a step. */
static inline const struct mafat_sources *mafat_plan_operand(const struct mafat_plan *plan,
                                                             const struct mafat_network *n,
                                                             int layer, int operand)
{
  return operand ? &n->layers[layer].operands[operand].sources : mafat_plan_sources(plan, n, layer);
}

/* Starts a walk over all that a step of `layer` reads (kind.h): the innermost layer's input, then
 * other operands of the layer. */
static inline struct mafat_reads mafat_plan_reads(const struct mafat_plan *plan,
                                                  const struct mafat_network *n, int layer)
{
  const struct mafat_sources *sources = mafat_plan_sources(plan, n, layer);
  return (struct mafat_reads){.layer = &n->layers[layer],
                              .sources = sources,
                              .end = mafat_sources_count(sources),
                              .first_alone = plan->table && plan->table[layer] >= 0};
}

static inline bool mafat_group_is_tiled(const struct mafat_group *g)
{
  return mafat_cut_is_tiled(&g->cut);
}

/* Part of tile row (or column) `part` of a grid in a map of `extent` rows of the group. Given
 * bounds are those of the group's output map. */
struct mafat_span mafat_group_share(const struct mafat_group *g, bool axis_y, int part, int extent);

#endif
