/* A plan: which layers run together, when, how each group's work is cut, and where
 * weights are. Plain data, made from a spec (spec.h), a network and options
 * (planning.h), without weights. */
#ifndef MAFAT_PREDICTOR_PLAN_PLAN_H
#define MAFAT_PREDICTOR_PLAN_PLAN_H

#include "base/heap.h"
#include "network/network.h"
#include "predictor/plan/spec.h"

struct mafat_plan_options {
  enum mafat_algorithm algorithm; /* where the spec says nothing else; default MAFAT_AUTO */
  int n_threads;                  /* default 1 */
  int small_bytes; /* layers whose weights are packed into so many at most are loaded rather than
                      streamed row by row; default 81920 */
  bool packed; /* weights come from a packed file, in kernel order; default false: Darknet's */
  bool transposed; /* Darknet's, and connected layers lie transposed in it: these cannot be read a part
                      at a time, so they are kept, whatever the spec says; default false */
  int most_boxes; /* that detections are made of (boxes_room.h); default 0: by the network */
  size_t frame_bytes; /* of a frame of video that is there when a run begins, until all of it has become the input; default 0: none */
  bool frame_stays;   /* until its boxes are known, too, so that they can be drawn on it; default false */
  int only_rank;  /* what a plan that has ranks makes that one do, from 1 on; default 0: all that there is to do, on one device */
  bool sums_apart; /* of devices: those of floats do not go on from one to the next, but are added on the last; other bits; default false */
  bool keep_all;  /* every layer's output exists: nothing is computed inside its reader; default false */
  struct mafat_heap *heap; /* the plan lies there, and all that is made from it; default NULL: the C library's */
  struct mafat_sort_memo *orders; /* that were found for plans before; default NULL: none are remembered */
};

/* A set of layers, which run together and one behind the other. */
struct mafat_group {
  struct mafat_span at;     /* where its layers stand in plan->members, and in plan->order */
  struct mafat_cut cut;     /* inner boundaries of a grid that is not even point into these: */
  int *row_bounds;          /* (n_rows + 1) on the output map's rows: 0 ... h; NULL where it is no grid */
  int *col_bounds;          /* (n_cols + 1) */
  struct mafat_group_weights weights; /* as the spec has it; what of it applies to a layer: plan->placement */
  struct mafat_span positions; /* of its steps in time: as many as layers, or as parts of them */
};

struct mafat_parts; /* plan/partition.h */

struct mafat_plan {
  struct mafat_heap *heap; /* the options' */
  int n_layers; /* layers [0, n_layers) of the network are run */
  struct mafat_group *groups; /* (n_groups) as they are run */
  int n_groups;
  int n_threads;
  int most_boxes; /* the options' */
  size_t frame_bytes; /* the options', and: */
  bool frame_stays;
  int *group_of; /* [tensor]: that makes it; of an input the first one, where that asks for its rows; else -1: it is
                    there before all groups */
  int *members;  /* the layers group by group, of each rising */
  enum mafat_sorting sorting; /* how that was found */
  int *order;    /* the layers as they are run, group by group too */
  int *position; /* [layer]: of its step in time; the members of a panel fusion have that of its convolution, of a layer in parts
                    it is the first one's */
  int n_positions;
  struct mafat_ranks ranks; /* the spec's words */
  int rank;                 /* whose steps these are; -1: all ranks' */
  struct mafat_span *own_filters; /* [layer]: of a rank, whose weights it keeps, of whole panels; NULL: all of all layers */
  struct mafat_span *own_channels; /* [layer]: and of which input channels, where that sums them part by part; empty: of all */
  struct mafat_parts *parts; /* of groups that are split; NULL: none is */
  enum mafat_algorithm wanted;      /* the options': what no word of a group says otherwise */
  enum mafat_algorithm *algorithms; /* [layer]: MAFAT_DIRECT or one of Winograd's */
  int *depthwise_rows; /* [layer]: of a depthwise one, how many rows are computed at a time inside the 1x1 that reads it, as words of
                          groups say; 0: it is computed by itself; -1: nothing is said of it; NULL: of none */
  int *inner; /* [tensor]: the layer that is computed inside its step (fusion.h), or -1 */
  int *outer; /* [tensor]: the layer in whose step it is computed, or -1: in its own */
  int *table; /* [tensor]: the constant that it looks numbers up in where its weights are kept, so that it is no tensor; or -1 */
  bool packed;                     /* the weights file is in kernel order */
  enum mafat_weight_placement *placement; /* [layer]: of those that have weights */
  bool in_place;  /* the spec's word */
  int *place_of;  /* [tensor]: the tensor whose place the output takes, or -1 (planning/in_place.h) */
  int *ring_shared_with;  /* [tensor]: the tensor whose rows it takes one after the other, as these die, or -1 (planning/in_place_rings.h), */
  int *overlap_distance;       /*             and how many rows before them it lies */
  int *panel_producer; /* [tensor]: the convolution whose panels this layer takes one after the other, itself
               for that convolution, or -1 (order.h) */
};

void mafat_plan_defaults(struct mafat_plan_options *options);
/* Are the layer's weights kept in every plan? */
static inline bool mafat_plan_must_keep(const struct mafat_plan_options *options, const struct mafat_layer *l)
{
  return options->transposed && l->type == MAFAT_CONNECTED;
}

void mafat_plan_close(struct mafat_plan **plan);

/* Does the layer's output take the place of what it reads? None does before the order is found. */
static inline bool mafat_plan_is_in_place(const struct mafat_plan *plan, int layer)
{
  return plan->place_of && plan->place_of[layer] >= 0;
}

/* The filters of a layer whose weights are in memory where they are kept. */
static inline struct mafat_span mafat_plan_own_filters(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return plan && plan->own_filters ? plan->own_filters[layer] : mafat_span(0, n->layers[layer].out.c);
}

/* What the plan's text says of a depthwise layer: rows inside its 1x1, 0: by itself, -1: nothing. */
static inline int mafat_plan_depthwise_rows(const struct mafat_plan *plan, int layer)
{
  return plan->depthwise_rows && layer < plan->n_layers ? plan->depthwise_rows[layer] : -1;
}

/* The tensor whose buffer is this one's, too; -1: it has its own. */
static inline int mafat_plan_shares_with(const struct mafat_plan *plan, int tensor)
{
  return plan->ring_shared_with && plan->ring_shared_with[tensor] >= 0 ? plan->ring_shared_with[tensor] : plan->place_of[tensor];
}

/* The group that runs a layer. */
static inline const struct mafat_group *mafat_plan_group(const struct mafat_plan *plan, int layer)
{
  return &plan->groups[plan->group_of[layer]];
}

/* Is the tensor made while that group runs? */
static inline bool mafat_plan_makes(const struct mafat_plan *plan, int group, int tensor)
{
  return plan->group_of[tensor] == group;
}

/* The layer whose input a step of `layer` reads: the innermost one, or itself. */
static inline int mafat_plan_reader(const struct mafat_plan *plan, int layer)
{
  while (plan->inner[layer] >= 0) layer = plan->inner[layer];
  return layer;
}

/* The layer in whose step `layer` is computed: the outermost one, or itself. */
static inline int mafat_plan_outermost(const struct mafat_plan *plan, int layer)
{
  while (plan->outer[layer] >= 0) layer = plan->outer[layer];
  return layer;
}

/* What the input of a step of `layer` consists of. */
static inline const struct mafat_sources *mafat_plan_sources(const struct mafat_plan *plan,
                                                             const struct mafat_network *n, int layer)
{
  return mafat_layer_sources(&n->layers[mafat_plan_reader(plan, layer)]);
}

/* The same of any of its operands. */
static inline const struct mafat_sources *mafat_plan_operand(const struct mafat_plan *plan, const struct mafat_network *n,
                                                             int layer, int operand)
{
  return operand ? &n->layers[layer].operands[operand].sources : mafat_plan_sources(plan, n, layer);
}

/* A walk over all that a step of `layer` reads (kind.h): that input, and what the layer has beside its own. */
static inline struct mafat_reads mafat_plan_reads(const struct mafat_plan *plan, const struct mafat_network *n,
                                                  int layer)
{
  const struct mafat_sources *sources = mafat_plan_sources(plan, n, layer);
  return (struct mafat_reads){.layer = &n->layers[layer], .sources = sources, .end = mafat_sources_count(sources),
                              .first_alone = plan->table && plan->table[layer] >= 0};
}

static inline bool mafat_group_is_tiled(const struct mafat_group *g)
{
  return mafat_cut_is_tiled(&g->cut);
}

/* The share of tile row (or column) `part` of a grid in a map of `extent` rows that lies
 * in the group, where bounds are given on the group's output map. */
struct mafat_span mafat_group_share(const struct mafat_group *g, bool axis_y, int part, int extent);

#endif
