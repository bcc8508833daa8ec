/* A plan: groups of layers, how each group's work is divided, the execution order, algorithms, and
 * where weights are. Plain data, made from a spec (spec.h), a network and options by planning.h.
 * A plan and all of its lists are allocated from the options' heap; mafat_plan_close frees them.
 * Used by predictor/, search/, runner/ and api/. */
#ifndef MAFAT_PREDICTOR_PLAN_PLAN_H
#define MAFAT_PREDICTOR_PLAN_PLAN_H

#include "base/heap.h"
#include "network/network.h"
#include "predictor/plan/spec.h"

struct mafat_plan_options {
  enum mafat_algorithm algorithm; /* used if the spec names none; default MAFAT_AUTO */
  int n_threads;                  /* default 1 */
  int small_bytes; /* layers whose packed weights have at most this many bytes are loaded instead of
                      streamed, in groups by rows; default 81920 */
  bool packed; /* weights come from a packed file, in kernel order; default false: in the order of
                  the model's own file */
  bool transposed; /* Darknet's file stores the weights of connected layers transposed. They cannot
                      be read in parts, so they are kept whatever the spec says; default false */
  int most_boxes; /* capacity for detected boxes (boxes_room.h); default 0: from the network */
  size_t frame_bytes; /* size of a video frame that is in the arena from the start of a run until it
                         has been converted to the input; default 0: no frame */
  bool frame_stays;   /* the frame stays in the arena until boxes are drawn on it; default false */
  int only_rank;  /* number, from 1 on, of the rank that this plan is for; default 0: all work, on
                     one device */
  bool sums_apart; /* with several devices, each device sums its floats from zero and the last one
                      adds the sums, which changes bits; default false: each rank continues the sums
                      of the rank before it */
  bool keep_all;  /* no layer is fused into another, so every layer's output is stored; default
                     false */
  struct mafat_heap *heap; /* heap of the plan, and of schedules and layouts made from it; default
                              NULL: the C library's */
  struct mafat_op_schedule_memo *orders; /* cache of orders found for earlier plans, not owned;
                                            default NULL: none */
  const enum mafat_algorithm *algorithms; /* [layer]: used instead of `algorithm` where the spec
                                             names none; default NULL */
};

/* A set of layers that run together. Groups run one after the other. */
struct mafat_group {
  struct mafat_span at;     /* range of its layers in plan->members and in plan->order */
  struct mafat_cut cut;     /* inner boundaries of an uneven grid point into row_bounds and
                               col_bounds */
  int *row_bounds;          /* (n_rows + 1) first row of each tile on the group's output map, then
                               the map's height; NULL if not a grid */
  int *col_bounds;          /* (n_cols + 1) first column of each tile, then the map's width */
  struct mafat_group_weights weights; /* from the spec; each layer's placement: plan->placement */
  struct mafat_span positions; /* the group's positions in time: one for each layer or part */
};

struct mafat_parts; /* plan/partition.h */

struct mafat_plan {
  struct mafat_heap *heap; /* the options' heap */
  int n_layers; /* only the first n_layers of the network run */
  struct mafat_group *groups; /* (n_groups) in execution order */
  int n_groups;
  int n_threads;
  int most_boxes; /* from the options */
  size_t frame_bytes; /* from the options */
  bool frame_stays;   /* from the options */
  int *group_of; /* [tensor]: group that makes the tensor. For inputs: 0 if the first group is by
                    rows and reads them row by row; -1 if they are read before all groups */
  int *members;  /* layers group by group, ascending in each */
  enum mafat_op_order op_order; /* method by which `order` was found */
  int *order;    /* layers in execution order, group by group */
  int *position; /* [layer]: its position in time. Members of a panel fusion have the position of
                    their convolution; a divided layer has the position of its first part */
  int n_positions;
  struct mafat_ranks ranks; /* from the spec */
  int rank;                 /* rank (from 0) whose steps this plan has; -1: the steps of all */
  struct mafat_span *own_filters; /* [layer]: filters, in whole panels, whose weights this rank
                                     keeps; NULL: all filters of all layers */
  struct mafat_span *own_channels; /* [layer]: input channels whose weights this rank keeps, if
                                      parts share the sum over channels; empty: all channels */
  struct mafat_parts *parts; /* NULL: no group has parts */
  enum mafat_algorithm wanted;      /* the options' algorithm; a group's spec may name another */
  enum mafat_algorithm *algorithms; /* [layer]: MAFAT_DIRECT or a Winograd algorithm */
  int *depthwise_rows; /* [layer]: for a depthwise layer fused into the 1x1 that reads it, the rows
                          computed at a time, as the spec says; 0: the layer has a step of its own;
                          -1: the spec says nothing. NULL: the spec has no such number */
  int *inner; /* [layer]: the layer that is computed inside its step (fusion.h); -1: none */
  int *outer; /* [layer]: the layer in whose step it is computed; -1: it has a step of its own */
  int *table; /* [layer]: constant layer in which this layer looks up values. The constant is read
                 from the kept weights and not stored as a tensor. -1: none */
  bool packed;                     /* the weights file is in kernel order */
  enum mafat_weight_placement *placement; /* [layer]: placement of its weights, if it has any */
  bool in_place;  /* from the spec */
  int *place_of;  /* [tensor]: tensor whose buffer it reuses (planning/in_place.h); -1: none */
  int *ring_shared_with;  /* [tensor]: tensor whose dead rows it overwrites in a shared ring
                             (planning/in_place_rings.h); -1: none */
  int *overlap_distance; /* [tensor]: slots from its row 0 to row 0 of ring_shared_with[tensor],
                            whose allocation includes these slots */
  int *panel_producer; /* [layer]: convolution of its panel fusion (order.h), which may be the layer
                          itself; -1: none */
};

void mafat_plan_defaults(struct mafat_plan_options *options);
/* True if the layer's weights are kept in memory, whatever the spec says. */
static inline bool mafat_plan_must_keep(const struct mafat_plan_options *options,
                                        const struct mafat_layer *l)
{
  return options->transposed && l->type == MAFAT_CONNECTED;
}

void mafat_plan_close(struct mafat_plan **plan);

/* True if the layer's output reuses the buffer of an operand. False while the plan is being made,
 * before place_of is filled. */
static inline bool mafat_plan_is_in_place(const struct mafat_plan *plan, int layer)
{
  return plan->place_of && plan->place_of[layer] >= 0;
}

/* Filters of a layer whose weights this plan's rank keeps; NULL plan: all. */
static inline struct mafat_span mafat_plan_own_filters(const struct mafat_plan *plan,
                                                       const struct mafat_network *n, int layer)
{
  return plan && plan->own_filters ? plan->own_filters[layer]
                                   : mafat_span(0, n->layers[layer].out.c);
}

/* Entry of plan->depthwise_rows; -1 if there is no list. */
static inline int mafat_plan_depthwise_rows(const struct mafat_plan *plan, int layer)
{
  return plan->depthwise_rows && layer < plan->n_layers ? plan->depthwise_rows[layer] : -1;
}

/* Tensor whose buffer `tensor` uses, in place or in a ring; -1: it has a buffer of its own. */
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

/* True if group number `group` makes the tensor. */
static inline bool mafat_plan_makes(const struct mafat_plan *plan, int group, int tensor)
{
  return plan->group_of[tensor] == group;
}

/* Innermost layer that is fused into a step of `layer`. It reads the step's input. `layer` itself
 * if no layer is fused into it. */
static inline int mafat_plan_reader(const struct mafat_plan *plan, int layer)
{
  while (plan->inner[layer] >= 0) layer = plan->inner[layer];
  return layer;
}

/* Outermost layer, in whose step `layer` is computed; `layer` if it has a step of its own. */
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

/* Sources of an operand of a step: operand 0 is the step's input, others are those of `layer`. */
static inline const struct mafat_sources *mafat_plan_operand(const struct mafat_plan *plan,
                                                             const struct mafat_network *n,
                                                             int layer, int operand)
{
  return operand ? &n->layers[layer].operands[operand].sources : mafat_plan_sources(plan, n, layer);
}

/* Starts a walk over all tensors that a step of `layer` reads: the innermost layer's input, then
 * the other operands of `layer`. */
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

/* Rows (axis_y) or columns that belong to tile row (or column) `part`, on a map with `extent` rows
 * or columns. The group's bounds are those of its output map; they are scaled to `extent`. */
struct mafat_span mafat_group_share(const struct mafat_group *g, bool axis_y, int part, int extent);

#endif
