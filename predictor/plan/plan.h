/* A plan: groups of layers, how each group's work is divided, the execution order, algorithms, and
 * where weights are. Plain data, made from a spec (spec.h), a network and options by planning.h.
 * Plans and all of their lists are in the options' heap. Used by predictor/, search/ and api/. */
#ifndef MAFAT_PREDICTOR_PLAN_PLAN_H
#define MAFAT_PREDICTOR_PLAN_PLAN_H

#include "base/heap.h"
#include "network/network.h"
#include "predictor/plan/spec.h"

struct mafat_plan_options {
  enum mafat_algorithm algorithm; /* used if the spec names none; default MAFAT_AUTO */
  int n_threads;                  /* default 1 */
  int small_bytes; /* in groups by rows that stream their weights: layers with packed weights of at
                      most this size are loaded instead; default 81920 */
  bool packed; /* weights come from a packed file, in kernel order; default false: in the order of
                  the model's own file */
  bool transposed; /* connected layers are stored transposed in Darknet's file. They cannot be read
                      in parts, so they are kept whatever the spec says; default false */
  int most_boxes; /* capacity for detected boxes (boxes_room.h); default 0: from the network */
  size_t frame_bytes; /* video: frame in the arena from the start of a run until it is converted to
                         the input; default 0: none */
  bool frame_stays;   /* the frame stays until boxes are drawn on it; default false */
  int only_rank;  /* number, from 1 on, of the rank that this plan is for; default 0: all work, on
                     one device */
  bool sums_apart; /* several devices: each computes its float sums from zero, and the last one adds
                      them, which changes bits; default false: sums are continued from rank to
                      rank */
  bool keep_all;  /* every layer's output exists, without fusion; default false */
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
  int *row_bounds;          /* (n_rows + 1) first rows of the tiles on the group's output map, and
                               its height; NULL if not a grid */
  int *col_bounds;          /* (n_cols + 1) the same for columns */
  struct mafat_group_weights weights; /* from the spec; plan->placement has each layer's */
  struct mafat_span positions; /* its positions in time: one for each layer or part */
};

struct mafat_parts; /* plan/partition.h */

struct mafat_plan {
  struct mafat_heap *heap; /* the options' heap */
  int n_layers; /* only the first n_layers of the network run */
  struct mafat_group *groups; /* (n_groups) in execution order */
  int n_groups;
  int n_threads;
  int most_boxes; /* from the options */
  size_t frame_bytes; /* from the options, as is the next */
  bool frame_stays;
  int *group_of; /* [tensor]: group that makes it. Inputs: 0 if the first group is by rows, which
                    reads them row by row; else -1: they are read before all groups */
  int *members;  /* layers group by group, ascending in each */
  enum mafat_op_order op_order; /* method by which `order` was found */
  int *order;    /* layers in execution order, group by group */
  int *position; /* [layer]: its position in time. Members of a panel fusion have the position of
                    their convolution; a layer in parts has that of its first part */
  int n_positions;
  struct mafat_ranks ranks; /* from the spec */
  int rank;                 /* the only rank whose steps are in this plan; -1: it has all steps */
  struct mafat_span *own_filters; /* [layer]: filters, in whole panels, whose weights this rank
                                     keeps; NULL: all filters of all layers */
  struct mafat_span *own_channels; /* [layer]: input channels whose weights this rank keeps, if the
                                      layer sums them in several parts; empty: all */
  struct mafat_parts *parts; /* NULL: no group has parts */
  enum mafat_algorithm wanted;      /* the options' algorithm; a group may name another */
  enum mafat_algorithm *algorithms; /* [layer]: MAFAT_DIRECT or a Winograd algorithm */
  int *depthwise_rows; /* [layer]: the spec's rows of a depthwise layer that are computed at a time
                          inside the 1x1 that reads it; 0: in a step of its own; -1: not given;
                          NULL: none given */
  int *inner; /* [layer]: layer computed inside its step (fusion.h); -1: none */
  int *outer; /* [layer]: layer in whose step it is computed; -1: it has a step of its own */
  int *table; /* [layer]: constant in which it looks up values, which is read from kept weights and
                 not stored as a tensor; -1: none */
  bool packed;                     /* the weights file is in kernel order */
  enum mafat_weight_placement *placement; /* [layer]: placement of its weights, if it has any */
  bool in_place;  /* from the spec */
  int *place_of;  /* [tensor]: tensor whose buffer it reuses (planning/in_place.h); -1: none */
  int *ring_shared_with;  /* [tensor]: tensor whose dead rows it overwrites in a shared ring
                             (planning/in_place_rings.h); -1: none */
  int *overlap_distance;       /* [tensor]: rows by which it is ahead of that tensor */
  int *panel_producer; /* [layer]: convolution of its panel fusion (order.h), which may be the layer
                          itself; -1: none */
};

void mafat_plan_defaults(struct mafat_plan_options *options);
/* True if the layer's weights are kept, whatever the spec says. */
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

/* Tensor whose buffer this one uses, in place or in a ring; -1: it has its own. */
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

/* Innermost layer of a step of `layer`, which reads the step's input; `layer` if nothing is
 * inside. */
static inline int mafat_plan_reader(const struct mafat_plan *plan, int layer)
{
  while (plan->inner[layer] >= 0) layer = plan->inner[layer];
  return layer;
}

/* Layer in whose step `layer` is computed; `layer` if it has a step of its own. */
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

/* Rows (axis_y) or columns of a map of this extent that belong to tile row (or column) `part`. The
 * group's bounds, which are those of its output map, are scaled to the extent. */
struct mafat_span mafat_group_share(const struct mafat_group *g, bool axis_y, int part, int extent);

#endif
