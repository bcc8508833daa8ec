/* A plan: which layers run together, and how each group's work is cut. Plain
 * data, made from text and a network, without weights.
 *
 * Text, as in the paper and beyond:
 *   5x5/8/2x2             layers 0..7 in 5 x 5 tiles, the rest in 2 x 2
 *   2x2/NoCut             one group
 *   4x4/4/3x3/12/1x1      as many groups as wanted, a cut after any layer
 *   5x5:balanced/8/2x2    boundaries that minimise the largest tile's bytes
 *   [100,204]x[152]/8/1x1 given inner boundaries on the group's output map:
 *                         rows 0, 100, 204, end; columns 0, 152, end
 *   rows4/12/1x1          layers 0..11 as a pipeline of rolling windows, at least
 *                         four rows at a time (rows: by four)
 *   rows4/12/panels       the rest whole maps, 32 filters at a time; where a
 *                         convolution is read by 1x1s and pools only, they take each
 *                         panel as it comes, and the wide map never exists
 *                         (panels:apart: it does)
 *   rows4:loaded/12/panels:streamed
 *                         weights of the rows read in every run, in memory while they
 *                         run; those of the rest streamed a panel at a time (without
 *                         such a word they are kept from run to run)
 *   panels:streamed4      in a ring of four reads instead of eight
 *   rows4:loaded300       layers of at most 300 KB of weights are loaded, the others
 *                         streamed, in every step of rows anew (streamed: 80 KB)
 *   rows4:direct/12/panels:direct22,26-28
 *                         which algorithm convolutions use, where it is not the one
 *                         that the options give: all of the group's, or some (:winograd)
 * A layer that cannot be cut inside a tiled group or one of rows splits it: it
 * becomes a 1x1 group of its own, and what follows starts a new group. */
#ifndef MAFAT_PREDICTOR_PLAN_H
#define MAFAT_PREDICTOR_PLAN_H

#include "network/network.h"

struct mafat_generator; /* schedule.h: one per way of cutting */

enum mafat_algorithm {
  MAFAT_AUTO,    /* for each layer the one that is expected to be faster */
  MAFAT_DIRECT,
  MAFAT_WINOGRAD /* F(4x4, 3x3), where it applies; the others are direct */
};

/* Where a layer's weights are while the plan runs. */
enum mafat_residence {
  MAFAT_KEPT,    /* in memory of their own, read when the model is opened */
  MAFAT_LOADED,  /* in the arena, read anew in every run, while the layer's group runs */
  MAFAT_STREAMED /* in the arena's ring, a panel at a time, just before a step needs them */
};

struct mafat_plan_options {
  enum mafat_algorithm algorithm; /* where the text says nothing else; default MAFAT_AUTO */
  int n_threads;                  /* default 1 */
  int small_floats; /* layers whose weights are packed into so many at most are loaded rather than
                       streamed row by row; default 20480 */
  bool packed; /* weights come from a packed file, in kernel order; default false: Darknet's */
  bool transposed; /* Darknet's, and connected layers lie transposed in it: these cannot be read a part
                      at a time, so they are kept, whatever the text says; default false */
  bool keep_all;  /* every layer's output exists: nothing is computed inside its reader; default false */
};

struct mafat_group {
  int first, end;             /* layers [first, end) */
  int n_rows, n_cols;         /* tiles of the output map: N x M */
  bool balanced;              /* boundaries were computed, not even */
  bool given;                 /* boundaries stood in the text */
  int rows;                   /* 0, or: rolling windows, at least so many rows a step */
  bool panels;                /* a few filters of the whole map at a time */
  bool apart;                 /* panels: no layer is computed panel by panel with its readers */
  int ring;                   /* streamed: reads that the ring holds; 0: as few as can be, or as others want */
  int loaded_kb;              /* streamed: but loaded, where a layer has at most so many kilobytes; 0: not given */
  enum mafat_residence weights; /* as written; what of it applies to a layer: plan->residence */
  int *row_bounds;            /* (n_rows + 1) on the output map's rows: 0 ... h */
  int *col_bounds;            /* (n_cols + 1) */
  const struct mafat_generator *generator;
};

struct mafat_plan {
  int n_layers; /* layers [0, n_layers) of the network are run */
  struct mafat_group *groups;
  int n_groups;
  int n_threads;
  enum mafat_algorithm wanted;      /* the options': what no word of a group says otherwise */
  enum mafat_algorithm *algorithms; /* [layer]: MAFAT_DIRECT or MAFAT_WINOGRAD */
  int *inner; /* [layer]: the layer that is computed inside its step (fusion.h), or -1 */
  int *outer; /* [layer]: the layer in whose step it is computed, or -1: in its own */
  bool packed;                     /* the weights file is in kernel order */
  enum mafat_residence *residence; /* [layer]: of those that have weights */
  int *fan; /* [layer]: the convolution whose panels this layer takes one after the other, itself
               for that convolution, or -1 (order.h) */
  int *order;    /* the layers as they are run */
  int *position; /* [layer]: in order; the members of a fan have that of its convolution */
};

/* Are the layer's steps panels of filters, MAFAT_PANEL for each thread? `layer` as
 * in a step: fused ones go by their outermost. */
bool mafat_plan_divides(const struct mafat_plan *plan, const struct mafat_network *n, int layer);
/* Winograd: is the input transformed in a step of its own, for all the steps of
 * panels that follow? */
bool mafat_plan_transforms(const struct mafat_plan *plan, const struct mafat_network *n, int layer);

void mafat_plan_defaults(struct mafat_plan_options *options);
/* Are the layer's weights kept in every plan? */
static inline bool mafat_plan_must_keep(const struct mafat_plan_options *options, const struct mafat_layer *l)
{
  return options->transposed && l->type == MAFAT_CONNECTED;
}

/* Reads a plan for the first n_layers of a network; without options (NULL) by the
 * defaults. MAFAT_EINVAL with the reason when the text is no plan, or not one
 * for this network. */
int mafat_plan_read(struct mafat_plan **out, const char *text,
                    const struct mafat_network *network, int n_layers,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d);
/* One group of one tile: layer by layer, whole maps. */
int mafat_plan_untiled(struct mafat_plan **out, const struct mafat_network *network, int n_layers,
                       const struct mafat_plan_options *options, struct mafat_diagnostic *d);
void mafat_plan_close(struct mafat_plan **plan);

/* Writes the canonical text, at most `room` bytes with the NUL; returns the
 * length it needs without the NUL. Reading it back gives the same plan; without a
 * network (NULL) words for algorithms are left out. */
size_t mafat_plan_write(const struct mafat_plan *plan, const struct mafat_network *network, char *text, size_t room);

/* The group that runs a layer. */
int mafat_plan_group_of(const struct mafat_plan *plan, int layer);

static inline bool mafat_group_is_tiled(const struct mafat_group *g)
{
  return g->n_rows * g->n_cols > 1;
}

/* The share of tile row (or column) `part` in a map of `extent` rows that lies
 * in the group, where bounds are given on the group's output map. */
struct mafat_span mafat_group_share(const struct mafat_group *g, bool axis_y, int part, int extent);

/* "auto", "direct", "winograd". */
const char *mafat_algorithm_name(enum mafat_algorithm algorithm);
bool mafat_algorithm_find(enum mafat_algorithm *algorithm, const char *name);

#endif
