/* A spec: a plan's text as a struct. It has groups, how each is divided, where its weights are, and
 * algorithms. A spec exists without a network; applied to one it becomes a plan (planning.h).
 * Searches produce specs. Used by plan.h, predictor/transfers, predictor/ranks and search/motes.
 *
 * The text, as in the paper and extended (mafat-plan(7)):
 *   5x5/8/2x2             layers 0..7 in 5 x 5 tiles, the rest in 2 x 2
 *   2x2/NoCut             one group
 *   4x4/4/3x3/12/1x1      any number of groups, a cut after any layer
 *   5x5:balanced/8/2x2    boundaries that minimize the largest tile's bytes
 *   [100,204]x[152]/8/1x1 inner boundaries on the group's output map: rows 0, 100, 204, end;
 *                         columns 0, 152, end
 *   rows4/12/1x1          layers 0..11 as a pipeline of rolling windows, at least four rows per
 *                         step ("rows" without a number: four)
 *   rows4:early/NoCut     layers whose output is smaller than their input run as soon as they can,
 *                         instead of on demand
 *   rows4:bricks/NoCut    the output of each step is a buffer with its own lifetime, instead of a
 *                         rolling window
 *   rows4/12/panels       layers 12 and later as whole maps, 32 filters (a panel) at a time. If
 *                         only 1x1 convolutions and pools read a convolution, they process each
 *                         panel as soon as it is computed, and its whole output is never stored.
 *                         "panels:apart": it is stored
 *   rows4:loaded/12/panels:streamed
 *                         weights of the first group are read in each run and stay in memory while
 *                         the group runs; those of the second are read one panel at a time, just
 *                         before they are used. Default: they stay in memory from run to run
 *   panels:streamed4      a ring of four reads instead of eight
 *   rows4:loaded300       layers with at most 300 KB of weights are loaded; others are streamed,
 *                         again for each step. "rows4:streamed" loads layers of at most 80 KB
 *   rows4:direct/12/panels:direct22,26-28
 *                         algorithm of the convolutions of the whole group, or of some layers
 *                         (direct, winograd or winograd-large). Default: the options' algorithm
 *   1x1:dw0               depthwise layers run by themselves, not inside the 1x1 that reads them.
 *                         "dw4": inside, 4 rows at a time. "dw(0:3,4:7-9)": layer 3 by itself,
 *                         layers 7 to 9 inside, 4 rows at a time. Default: inside, with as many
 *                         rows as fit the caches
 *   split(h4:12-17,c8:3-5)/order=postorder
 *                         layers 12..17 in 4 parts by rows (w would be columns), layers 3..5 in 8
 *                         parts by channels: each part of layer 5 continues the sums over its input
 *                         channels. "h[20,30]:12-17": boundaries on layer 17's map. Layers that are
 *                         not named run whole
 *   rows4/12,40,44-45/1x1
 *                         layers 40, 44 and 45 run in the first group too. A group is a set of
 *                         layers that reads nothing made by a later group
 *   rows4/12/1x1/order=best
 *                         execution order of the layers in each group that is not by rows: file
 *                         (as in the file), postorder, forward, sp or best (transform/op_order.h)
 *   1x1/order=best/inplace
 *                         outputs reuse the buffer of an operand that is read for the last time, if
 *                         they can (planning/in_place.h); the order takes this into account
 *   split(h6:0-12,c6:13)/ranks=6
 *                         six devices share the parts (ranks/rank_parts.h). The last part of a
 *                         layer runs on the first device, as do layers that are not split.
 *                         "/ranks=6,8-11:2": layers 8 to 11, if not split, run on the third.
 *                         "split(whole)/ranks=2,9-15:1": no layer is split */
#ifndef MAFAT_PREDICTOR_PLAN_SPEC_H
#define MAFAT_PREDICTOR_PLAN_SPEC_H

#include "base/box.h"
#include "base/error.h"
#include "base/heap.h"
#include "transform/op_order.h"
#include "transform/split.h"

#include <stdbool.h>
#include <stddef.h>

enum mafat_algorithm {
  MAFAT_AUTO,    /* for each layer the algorithm that is expected to be fastest */
  MAFAT_DIRECT,
  MAFAT_WINOGRAD,      /* F(4x4, 3x3) where it applies, else direct */
  MAFAT_WINOGRAD_LARGE, /* F(6x6, 3x3) where it applies, else direct */
  MAFAT_N_ALGORITHMS
};

/* Location of a layer's weights while the plan runs. */
enum mafat_weight_placement {
  MAFAT_KEPT,    /* in separate memory, read when the model is opened */
  MAFAT_LOADED,  /* in the arena, read in every run, while the layer's group runs */
  MAFAT_STREAMED /* in the arena's ring, one panel at a time, just before a step needs them */
};

enum {
  MAFAT_USUAL_ROWS = 4, /* default least rows in a step */
  MAFAT_USUAL_RING = 8, /* default reads in a ring */
  MAFAT_MOST_RANKS = 64
};

enum mafat_cut_kind {
  MAFAT_CUT_GRID,  /* tiles of the output map; 1 x 1: whole maps, layer by layer */
  MAFAT_CUT_ROWS,  /* rolling windows of rows */
  MAFAT_CUT_PANELS, /* whole maps, some filters at a time */
  MAFAT_CUT_SPLIT   /* parts of layers, which may run in any order (transform/split.h) */
};

enum { MAFAT_N_CUTS = MAFAT_CUT_SPLIT + 1 };

/* n_rows x n_cols tiles of the group's output map. */
struct mafat_grid {
  int n_rows, n_cols;
  int *rows, *cols; /* (n_rows - 1), (n_cols - 1) inner boundaries on the output map; NULL: even */
  bool balanced;    /* boundaries are computed for the network; the text has ":balanced" only */
};

/* How a group is divided. */
struct mafat_cut {
  enum mafat_cut_kind kind;
  union {
    struct mafat_grid grid;
    struct {
      int least;                    /* least rows in a step; 0: MAFAT_USUAL_ROWS */
      bool early;                   /* layers whose output is smaller than their input run as soon
                                       as they can */
      bool partitioned;                  /* the output of each step is a buffer with its own
                                            lifetime (plan/partition.h) */
    } rows;
    struct { bool apart; } panels;  /* no panel fusion with readers */
    struct mafat_splits split;
  } as;
};

/* Placement of a group's weights. */
struct mafat_group_weights {
  enum mafat_weight_placement placement;
  int ring;      /* streamed: reads in the ring; 0: MAFAT_USUAL_RING */
  int loaded_kb; /* streamed: layers with at most this many kilobytes are loaded instead; 0: not
                    given */
};

/* Word that names the layers of one algorithm: ":direct", ":winograd22,26-28". */
struct mafat_algorithm_word {
  bool given;
  struct mafat_span *layers; /* (n) ascending; n is 0 for the whole group */
  int n;
};

/* ":dw4", ":dw(0:3,4:7-9)": depthwise layers of a group, and how many of their rows are computed at
 * a time inside the 1x1 that reads them. 0: none, they run by themselves. */
struct mafat_depthwise_word {
  int rows;
  struct mafat_span layers; /* empty: the whole group */
};

/* A group. Its layers are all below its end that are in no earlier group, and `more`. */
struct mafat_group_spec {
  int end; /* 0 in the last group: the end of the network or of the layers that run */
  struct mafat_span *more; /* (n_more) */
  int n_more;
  struct mafat_cut cut;
  struct mafat_group_weights weights;
  struct mafat_algorithm_word algorithms[MAFAT_N_ALGORITHMS]; /* [algorithm]; MAFAT_AUTO: unused */
  struct mafat_depthwise_word *depthwise; /* (n_depthwise) */
  int n_depthwise;
};

/* The word "8-15:1" of "/ranks=3,8-15:1": these layers, if not split, run on this rank. */
struct mafat_rank_word {
  struct mafat_span layers;
  int rank;
};

/* Devices that share the parts of a plan. */
struct mafat_ranks {
  int n; /* number of ranks; 0: not given */
  struct mafat_rank_word *words; /* (n_words) */
  int n_words;
};

struct mafat_spec {
  struct mafat_group_spec *groups; /* (n_groups), at least one, in order of their ends */
  int n_groups, capacity; /* capacity: allocated groups */
  enum mafat_op_order op_order;
  bool in_place;
  struct mafat_ranks ranks;
  char *text; /* source text, for messages, from malloc; NULL: made without a text */
  struct mafat_heap *heap; /* heap of everything but the text */
};

/* Parses a spec into the C library's heap. MAFAT_EINVAL: the diagnostic says where, and what was
 * expected there; MAFAT_ENOMEM. */
int mafat_spec_read(struct mafat_spec **out, const char *text, struct mafat_diagnostic *d);
/* Formats a spec: writes at most `capacity` bytes including the NUL; returns the required length
 * without it. Defaults are left out. Reading the text gives the same spec, unless it has both
 * in_place and ranks, which the text cannot combine. */
size_t mafat_spec_write(const struct mafat_spec *spec, char *text, size_t capacity);
/* Formats a spec into allocated memory, for free(); NULL if out of memory. */
char *mafat_spec_text(const struct mafat_spec *spec);
/* Compares the first 8191 characters of the texts as strcmp does; with `length`, shorter texts come
 * first. */
int mafat_spec_compare(const struct mafat_spec *a, const struct mafat_spec *b, bool length);

/* Makes an empty spec; adds a group with defaults (one tile, weights kept), or a copy of `group`.
 * NULL or MAFAT_ENOMEM: out of memory. Lists of groups are in the spec's heap. */
struct mafat_spec *mafat_spec_new(struct mafat_heap *heap);
struct mafat_group_spec *mafat_spec_add(struct mafat_spec *spec);
int mafat_spec_append(struct mafat_spec *spec, const struct mafat_group_spec *group);
/* Deep copies. On failure (false, out of memory) the caller frees the partial copy. */
bool mafat_ranks_copy(struct mafat_heap *heap, struct mafat_ranks *out,
                      const struct mafat_ranks *from);
bool mafat_splits_copy(struct mafat_heap *heap, struct mafat_splits *out,
                       const struct mafat_splits *from);
void mafat_splits_free(struct mafat_heap *heap, struct mafat_splits *splits);
/* Appends layers to a word, which must come after those that it already has. MAFAT_ENOMEM. */
int mafat_algorithm_word_add(struct mafat_heap *heap, struct mafat_algorithm_word *word,
                             struct mafat_span layers);
/* Appends a depthwise word to a group. MAFAT_ENOMEM. */
int mafat_depthwise_word_add(struct mafat_heap *heap, struct mafat_group_spec *group,
                             struct mafat_depthwise_word word);
/* Sets the layers of an empty group (end and more) to those with group_of[layer] == number. Groups
 * are numbered in execution order. MAFAT_ENOMEM. */
int mafat_group_spec_set_layers(struct mafat_heap *heap, struct mafat_group_spec *group, int number,
                                const int *group_of, int n_layers);
int mafat_spec_copy(struct mafat_spec **out, const struct mafat_spec *spec,
                    struct mafat_heap *heap);
void mafat_spec_close(struct mafat_spec **spec);

/* True for a grid of more than one tile. */
static inline bool mafat_cut_is_tiled(const struct mafat_cut *cut)
{
  return cut->kind == MAFAT_CUT_GRID && (long long)cut->as.grid.n_rows * cut->as.grid.n_cols > 1;
}

static inline struct mafat_cut mafat_cut_grid(int n_rows, int n_cols)
{
  return (struct mafat_cut){.kind = MAFAT_CUT_GRID,
                            .as.grid = {.n_rows = n_rows, .n_cols = n_cols}};
}

static inline struct mafat_cut mafat_cut_rows(int least)
{
  return (struct mafat_cut){.kind = MAFAT_CUT_ROWS, .as.rows = {.least = least}};
}

static inline struct mafat_cut mafat_cut_rows_early(int least)
{
  return (struct mafat_cut){.kind = MAFAT_CUT_ROWS, .as.rows = {.least = least, .early = true}};
}

static inline struct mafat_cut mafat_cut_rows_partitioned(int least, bool early)
{
  return (struct mafat_cut){.kind = MAFAT_CUT_ROWS, .as.rows = {least, early, true}};
}

/* True if the group's layers are divided into parts with partition buffers (partition.h). */
static inline bool mafat_cut_has_parts(const struct mafat_cut *cut)
{
  return cut->kind == MAFAT_CUT_SPLIT || (cut->kind == MAFAT_CUT_ROWS && cut->as.rows.partitioned);
}

static inline struct mafat_cut mafat_cut_panels(bool apart)
{
  return (struct mafat_cut){.kind = MAFAT_CUT_PANELS, .as.panels = {apart}};
}

/* Returns "auto", "direct", "winograd" or "winograd-large". */
const char *mafat_algorithm_name(enum mafat_algorithm algorithm);
bool mafat_algorithm_find(enum mafat_algorithm *algorithm, const char *name);

#endif
