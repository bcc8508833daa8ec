/* A spec: a plan's text as a struct. It says which groups there are, how each is divided, where its
 * weights are, and which algorithms it uses. A spec needs no network; planning.h makes a plan from
 * a spec and a network. Searches produce specs. Used by predictor/, search/ and api/. Specs are
 * allocated from a heap that the caller names; mafat_spec_close frees them.
 *
 * The text is the paper's notation, extended (mafat-plan(7)):
 *   5x5/8/2x2             layers 0..7 in 5 x 5 tiles, the rest in 2 x 2
 *   2x2/NoCut             one group
 *   4x4/4/3x3/12/1x1      any number of groups, a cut after any layer
 *   5x5:balanced/8/2x2    boundaries that minimize the largest tile's bytes
 *   [100,204]x[152]/8/1x1 inner boundaries on the group's output map: rows 0, 100, 204, end;
 *                         columns 0, 152, end
 *   rows4/12/1x1          layers 0..11 as a pipeline of rolling windows of rows; each step computes
 *                         at least four rows of a layer ("rows" without a number: four)
 *   rows4:early/NoCut     layers whose output is smaller than their input run as soon as they can,
 *                         instead of on demand
 *   rows4:bricks/NoCut    the output of each step is a buffer with its own lifetime, instead of a
 *                         rolling window
 *   rows4/12/panels       layers 12 and later as whole maps, 32 filters (a panel) at a time. If
 *                         only 1x1 convolutions and pools read a convolution, they process each
 *                         panel of it as soon as the panel is computed, and the convolution's whole
 *                         output is never stored. With "panels:apart" the output is stored
 *   rows4:loaded/12/panels:streamed
 *                         weights of the first group are read in each run and stay in memory while
 *                         the group runs; those of the second are read one panel at a time, just
 *                         before they are used. Default: they stay in memory from run to run
 *   panels:streamed4      the ring of streamed weights holds four reads instead of eight
 *   rows4:loaded300       layers with at most 300 KB of weights are loaded; other layers' weights
 *                         are streamed, again for each step (1 KB is 1024 bytes). "rows4:streamed"
 *                         loads layers with at most 80 KB
 *   rows4:direct/12/panels:direct22,26-28
 *                         algorithm of the convolutions of the whole group, or of some layers
 *                         (direct, winograd or winograd-large). Default: the options' algorithm
 *   1x1:dw0               depthwise layers have steps of their own. "1x1:dw4": they are fused into
 *                         the 1x1 convolution that reads them, which computes 4 of their rows at a
 *                         time. "1x1:dw(0:3,4:7-9)": layer 3 has its own steps, layers 7 to 9 are
 *                         fused, 4 rows at a time. Default: fused, with as many rows as fit the
 *                         caches
 *   split(h4:12-17,c8:3-5)/order=postorder
 *                         layers 12..17 in 4 parts by rows (w would be columns), layers 3..5 in 8
 *                         parts by channels: each part of layer 5 continues the sums over its input
 *                         channels. "h[20,30]:12-17": boundaries at rows 20 and 30 of layer 17's
 *                         output. Layers that no split names run whole
 *   rows4/12,40,44-45/1x1
 *                         layers 40, 44 and 45 run in the first group too. No layer of a group may
 *                         read the output of a later group
 *   rows4/12/1x1/order=best
 *                         execution order of the layers in each group that is not by rows: file
 *                         (as in the file), postorder, forward, sp or best (transform/op_order.h)
 *   1x1/order=best/inplace
 *                         where possible, a layer's output reuses the buffer of an operand that no
 *                         later step reads (planning/in_place.h); the order takes this into account
 *   split(h6:0-12,c6:13)/ranks=6
 *                         six devices (ranks 0 to 5) share the parts (ranks/rank_parts.h). The last
 *                         part of a layer runs on rank 0, as do layers that are not split.
 *                         "/ranks=6,8-11:2": layers 8 to 11, if not split, run on rank 2.
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
  MAFAT_USUAL_ROWS = 4, /* minimum rows of a step, if the spec has no number */
  MAFAT_USUAL_RING = 8, /* reads that a ring of streamed weights holds, if the spec has no number */
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
  bool balanced;    /* boundaries are computed for the network (planning/balance.h); the text has
                       ":balanced" instead of them */
};

/* How a group is divided. */
struct mafat_cut {
  enum mafat_cut_kind kind;
  union {
    struct mafat_grid grid;
    struct {
      int least;                    /* minimum rows of a step; 0: MAFAT_USUAL_ROWS */
      bool early;                   /* layers whose output is smaller than their input run as soon
                                       as they can */
      bool partitioned;                  /* the output of each step is a buffer with its own
                                            lifetime (plan/partition.h) */
    } rows;
    struct { bool apart; } panels;  /* apart: no convolution is computed panel by panel together
                                       with its readers */
    struct mafat_splits split;
  } as;
};

/* Placement of a group's weights. */
struct mafat_group_weights {
  enum mafat_weight_placement placement;
  int ring;      /* streamed: reads in the ring; 0: MAFAT_USUAL_RING */
  int loaded_kb; /* streamed: layers with at most this many KiB of packed weights are loaded
                    instead; 0: the spec has no number */
};

/* Word that names the layers of one algorithm: ":direct", ":winograd22,26-28". */
struct mafat_algorithm_word {
  bool given;
  struct mafat_span *layers; /* (n) ascending; n is 0 for the whole group */
  int n;
};

/* An entry of ":dw4" or ":dw(0:3,4:7-9)": depthwise layers of a group. */
struct mafat_depthwise_word {
  int rows; /* rows computed at a time inside the 1x1 that reads the layer; 0: not fused into it */
  struct mafat_span layers; /* empty: the whole group */
};

/* A group. It has all layers with numbers below `end` that are in no earlier group, and `more`. */
struct mafat_group_spec {
  int end; /* number of the first layer after the group; 0 in the last group: all layers that run */
  struct mafat_span *more; /* (n_more) further layers, with numbers from `end` on */
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
/* Formats a spec: writes at most `capacity` bytes including the NUL, and returns the length of the
 * whole text without the NUL. Defaults are left out. mafat_spec_read gets the same spec from the
 * text, unless the spec has both in_place and ranks, which a text cannot combine. */
size_t mafat_spec_write(const struct mafat_spec *spec, char *text, size_t capacity);
/* Formats a spec into memory that the caller frees with free(). NULL: out of memory. */
char *mafat_spec_text(const struct mafat_spec *spec);
/* Compares the texts of two specs as strcmp does, up to 8191 characters. With `length`, a shorter
 * text comes before a longer one. */
int mafat_spec_compare(const struct mafat_spec *a, const struct mafat_spec *b, bool length);

/* Make an empty spec; add a group with defaults (one tile, weights kept), or add a copy of `group`.
 * NULL or MAFAT_ENOMEM: out of memory. All memory is from the spec's heap. */
struct mafat_spec *mafat_spec_new(struct mafat_heap *heap);
struct mafat_group_spec *mafat_spec_add(struct mafat_spec *spec);
int mafat_spec_append(struct mafat_spec *spec, const struct mafat_group_spec *group);
/* Deep copies. On failure (false, out of memory) the caller frees the partial copy. */
bool mafat_ranks_copy(struct mafat_heap *heap, struct mafat_ranks *out,
                      const struct mafat_ranks *from);
bool mafat_splits_copy(struct mafat_heap *heap, struct mafat_splits *out,
                       const struct mafat_splits *from);
void mafat_splits_free(struct mafat_heap *heap, struct mafat_splits *splits);
/* Appends layers to a word. They must come after the layers that the word already has.
 * MAFAT_ENOMEM. */
int mafat_algorithm_word_add(struct mafat_heap *heap, struct mafat_algorithm_word *word,
                             struct mafat_span layers);
/* Appends a depthwise word to a group. MAFAT_ENOMEM. */
int mafat_depthwise_word_add(struct mafat_heap *heap, struct mafat_group_spec *group,
                             struct mafat_depthwise_word word);
/* Sets the layers of a group that has none yet (end and more) to those with group_of[layer] ==
 * number. Groups are numbered in execution order. MAFAT_ENOMEM. */
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
/* Finds an algorithm by its name. False: no algorithm has this name. */
bool mafat_algorithm_find(enum mafat_algorithm *algorithm, const char *name);

#endif
