/* A plan's text as a struct: groups, how each is divided, where its weights are, algorithms.
 * Reading and writing a spec needs no network; applied to a network it becomes a plan (planning.h).
 * Searches produce specs. Used by plan.h, predictor/transfers, predictor/ranks and search/motes.
 *
 * The text, as in the paper and extended (mafat-plan(7)):
 *   5x5/8/2x2             layers 0..7 in 5 x 5 tiles, the rest in 2 x 2
 *   2x2/NoCut             one group
 *   4x4/4/3x3/12/1x1      any number of groups, a cut after any layer
 *   5x5:balanced/8/2x2    boundaries that minimize the largest tile's bytes
 *   [100,204]x[152]/8/1x1 inner boundaries on the group's output map: rows 0, 100, 204, end;
 *                         columns 0, 152, end
 *   rows4/12/1x1          layers 0..11 as a pipeline of rolling windows, at least four rows at a
 *                         time (rows: four)
 *   rows4:early/NoCut     layers whose output is smaller than their input run as soon as they can,
 *                         instead of on demand
 *   rows4/12/panels       the rest as whole maps, 32 filters at a time. If a convolution is read
 *                         only by 1x1s and pools, they consume each panel at once, and the wide map
 *                         never exists (panels:apart: it does)
 *   rows4:loaded/12/panels:streamed
 *                         weights of the rows are read in every run and stay in memory while they
 *                         run; those of the rest are streamed one panel at a time (default: kept
 *                         from run to run)
 *   panels:streamed4      a ring of four reads instead of eight
 *   rows4:loaded300       layers with at most 300 KB of weights are loaded, the others streamed
 *                         again in every step of rows (streamed: 80 KB)
 *   rows4:direct/12/panels:direct22,26-28
 *                         algorithm of convolutions, if not the options': of the whole group, or of
 *                         some layers (:winograd, :winograd-large)
 *   1x1:dw0               depthwise layers run by themselves, not inside the 1x1 that reads them.
 *                         dw4: inside, 4 rows at a time. dw(0:3,4:7-9): layer 3 by itself, layers 7
 *                         to 9 inside, by 4 rows (default: inside, rows chosen)
 *   split(h4:12-17,c8:3-5)/order=postorder
 *                         layers 12..17 in 4 parts by rows (h; w: columns), 3..5 in 8 by channels,
 *                         whose last layer sums its input part by part. h[20,30]:12-17: boundaries
 *                         on the last layer's map. Layers not named run whole
 *   rows4/12,40,44-45/1x1
 *                         layers 40, 44 and 45 run in the first group too. A group is a set of
 *                         layers that reads nothing made by a later group
 *   rows4/12/1x1/order=best
 *                         scheduling of the layers in each group that is not by rows (file,
 *                         postorder, forward, sp, best)
 *   1x1/order=best/inplace
 *                         outputs reuse the buffer of an operand read for the last time, if they
 *                         can (planning/in_place.h); scheduling takes this into account
 *   split(h6:0-12,c6:13)/ranks=6
 *                         six devices share the parts (ranks/rank_parts.h). The last part of a
 *                         layer runs on the first device, as do whole layers. /ranks=6,8-11:2:
 *                         layers 8 to 11 on the third. split(whole)/ranks=2,9-15:1: only whole
 *                         layers */
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
  MAFAT_AUTO,    /* for each layer the one expected to be fastest */
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
  MAFAT_USUAL_ROWS = 4, /* rows in a step */
  MAFAT_USUAL_RING = 8, /* reads in a ring */
  MAFAT_MOST_RANKS = 64
};

enum mafat_cut_kind {
  MAFAT_CUT_GRID,  /* tiles of the output map; 1 x 1: whole maps, layer by layer */
  MAFAT_CUT_ROWS,  /* rolling windows of rows */
  MAFAT_CUT_PANELS, /* some filters of the whole map at a time */
  MAFAT_CUT_SPLIT   /* parts of layers, which run in any order (transform/split.h) */
};

enum { MAFAT_N_CUTS = MAFAT_CUT_SPLIT + 1 };

/* N x M tiles. */
struct mafat_grid {
  int n_rows, n_cols;
  int *rows, *cols; /* (n_rows - 1), (n_cols - 1) inner boundaries on the output map; NULL: even */
  bool balanced;    /* boundaries are computed and not written */
};

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

struct mafat_group_weights {
  enum mafat_weight_placement placement;
  int ring;      /* streamed: reads in the ring; 0: MAFAT_USUAL_RING */
  int loaded_kb; /* streamed: layers with at most so many kilobytes are loaded instead; 0: not
                    given */
};

/* ":direct", ":winograd22,26-28" */
struct mafat_algorithm_word {
  bool given;
  struct mafat_span *layers; /* (n); none: the whole group */
  int n;
};

/* ":dw4", ":dw(0:3,4:7-9)": depthwise layers of a group, and how many of their rows are computed at
 * a time inside the 1x1 that reads them. 0: none, they run by themselves. */
struct mafat_depthwise_word {
  int rows;
  struct mafat_span layers; /* empty: the whole group */
};

/* Layers of a group: all below its end that are in no earlier group, and `more`. */
struct mafat_group_spec {
  int end; /* 0 in the last group: the end of the network or of the layers that run */
  struct mafat_span *more; /* (n_more) */
  int n_more;
  struct mafat_cut cut;
  struct mafat_group_weights weights;
  struct mafat_algorithm_word algorithms[MAFAT_N_ALGORITHMS]; /* starting at MAFAT_DIRECT */
  struct mafat_depthwise_word *depthwise; /* (n_depthwise) */
  int n_depthwise;
};

/* "/ranks=3,8-15:1": number of devices that share the parts. Layers that are not split run on the
 * first device, or on the one named. */
struct mafat_rank_word {
  struct mafat_span layers;
  int rank;
};

struct mafat_ranks {
  int n; /* 0: not given */
  struct mafat_rank_word *words; /* (n_words) */
  int n_words;
};

struct mafat_spec {
  struct mafat_group_spec *groups; /* (n_groups), at least one, in order of their ends */
  int n_groups, capacity; /* room: allocated groups */
  enum mafat_op_order op_order;
  bool in_place;
  struct mafat_ranks ranks;
  char *text; /* source text, for messages; else NULL */
  struct mafat_heap *heap; /* heap of everything but the text */
};

/* Parses a spec. MAFAT_EINVAL with the position and what was expected there; MAFAT_ENOMEM. */
int mafat_spec_read(struct mafat_spec **out, const char *text, struct mafat_diagnostic *d);
/* Formats a spec: writes at most `capacity` bytes including the NUL; returns the required length
 * without it. Defaults are left out. Reading the text gives the same spec. */
size_t mafat_spec_write(const struct mafat_spec *spec, char *text, size_t capacity);
/* Formats a spec into allocated memory, for free(); NULL if out of memory. */
char *mafat_spec_text(const struct mafat_spec *spec);
/* Compares the texts as strcmp does; with `length`, shorter texts come first. */
int mafat_spec_compare(const struct mafat_spec *a, const struct mafat_spec *b, bool length);

/* Builds a spec: an empty one, then group by group, either with defaults (one tile, weights kept)
 * or as a copy of `group`. NULL or MAFAT_ENOMEM if out of memory. Memory that groups point to
 * belongs to the spec's heap. */
struct mafat_spec *mafat_spec_new(struct mafat_heap *heap);
struct mafat_group_spec *mafat_spec_add(struct mafat_spec *spec);
int mafat_spec_append(struct mafat_spec *spec, const struct mafat_group_spec *group);
/* Deep copies. On failure (false, out of memory) the caller frees the partial copy. */
bool mafat_ranks_copy(struct mafat_heap *heap, struct mafat_ranks *out,
                      const struct mafat_ranks *from);
bool mafat_splits_copy(struct mafat_heap *heap, struct mafat_splits *out,
                       const struct mafat_splits *from);
void mafat_splits_free(struct mafat_heap *heap, struct mafat_splits *splits);
/* Appends a layer to a word; it must be after the others. MAFAT_ENOMEM. */
int mafat_algorithm_word_add(struct mafat_heap *heap, struct mafat_algorithm_word *word,
                             struct mafat_span layers);
/* Appends a depthwise word to a group. MAFAT_ENOMEM. */
int mafat_depthwise_word_add(struct mafat_heap *heap, struct mafat_group_spec *group,
                             struct mafat_depthwise_word word);
/* Sets the layers of group number `number`, which has none yet: those with this number in group_of
 * (n_layers). Groups are numbered in execution order. MAFAT_ENOMEM. */
int mafat_group_spec_set_layers(struct mafat_heap *heap, struct mafat_group_spec *group, int number,
                                const int *group_of, int n_layers);
int mafat_spec_copy(struct mafat_spec **out, const struct mafat_spec *spec,
                    struct mafat_heap *heap);
void mafat_spec_close(struct mafat_spec **spec);

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

/* True if the group has a list of parts and partition buffers. */
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
