/* What a plan's text says, as a struct: groups, how each is cut, where its weights
 * are, and what it says of algorithms. No network is needed to read or to write one;
 * laid over a network it becomes a plan (planning.h). Searches make specs.
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
 *   rows4:early/NoCut     layers that put out less than they read run as soon as they
 *                         can, and not when they are asked
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
 *                         that the options give: all of the group's, or some (:winograd,
 *                         :winograd-large)
 *   1x1:dw0               depthwise layers that could be computed inside the 1x1 that reads them
 *                         are by themselves; dw4: inside, 4 rows at a time; dw(0:3,4:7-9):
 *                         layer 3 the one, those of 7 to 9 the other (without it: inside, of as
 *                         many rows as usual)
 *   split(h4:12-17,c8:3-5)/order=postorder
 *                         layers 12..17 in 4 parts by rows (h; w: columns), 3..5 in 8 by channels, the
 *                         last of which sums them up part by part; h[20,30]:12-17: at these
 *                         boundaries of the last layer's map. Layers without a word run whole
 *   rows4/12,40,44-45/1x1
 *                         layers 40, 44 and 45 run in the first group, too, and not in the second: a
 *                         group is a set of layers, which reads nothing that a later one makes
 *   rows4/12/1x1/order=best
 *                         in which order the layers of each group run that is not by rows
 *                         (file, postorder, forward, sp, best)
 *   1x1/order=best/inplace
 *                         outputs take the place of what their layers read for the last time,
 *                         where they can (planning/in_place.h), which orders count on, too
 *   split(h6:0-12,c6:13)/ranks=6
 *                         six devices share the parts (ranks/rank_parts.h): the last part of a layer
 *                         runs on the first, which runs whole layers, too; /ranks=6,8-11:2: these
 *                         on the third; split(whole)/ranks=2,9-15:1: only whole layers */
#ifndef MAFAT_PREDICTOR_PLAN_SPEC_H
#define MAFAT_PREDICTOR_PLAN_SPEC_H

#include "base/box.h"
#include "base/error.h"
#include "base/heap.h"
#include "transform/sorting.h"
#include "transform/split.h"

#include <stdbool.h>
#include <stddef.h>

enum mafat_algorithm {
  MAFAT_AUTO,    /* for each layer the one that is expected to be faster */
  MAFAT_DIRECT,
  MAFAT_WINOGRAD,      /* F(4x4, 3x3), where it applies; the others are direct */
  MAFAT_WINOGRAD_LARGE, /* F(6x6, 3x3), the same */
  MAFAT_N_ALGORITHMS
};

/* Where a layer's weights are while the plan runs. */
enum mafat_weight_placement {
  MAFAT_KEPT,    /* in memory of their own, read when the model is opened */
  MAFAT_LOADED,  /* in the arena, read anew in every run, while the layer's group runs */
  MAFAT_STREAMED /* in the arena's ring, a panel at a time, just before a step needs them */
};

enum {
  MAFAT_USUAL_ROWS = 4, /* in a step */
  MAFAT_USUAL_RING = 8, /* reads in it */
  MAFAT_MOST_RANKS = 64
};

enum mafat_cut_kind {
  MAFAT_CUT_GRID,  /* tiles of the output map; 1 x 1: whole maps, layer by layer */
  MAFAT_CUT_ROWS,  /* rolling windows of rows */
  MAFAT_CUT_PANELS, /* a few filters of the whole map at a time */
  MAFAT_CUT_SPLIT   /* layers in parts, which run in any order (transform/split.h) */
};

enum { MAFAT_N_CUTS = MAFAT_CUT_SPLIT + 1 };

/* N x M tiles. */
struct mafat_grid {
  int n_rows, n_cols;
  int *rows, *cols; /* (n_rows - 1), (n_cols - 1) inner boundaries on the output map; NULL: even shares */
  bool balanced;    /* boundaries are computed, and not written */
};

struct mafat_cut {
  enum mafat_cut_kind kind;
  union {
    struct mafat_grid grid;
    struct {
      int least;                    /* in a step; 0: as many as usual */
      bool early;                   /* what puts out less than it reads runs as soon as it can */
      bool partitioned;                  /* what a step makes is a buffer with a life of its own (plan/partition.h) */
    } rows;
    struct { bool apart; } panels;  /* no layer is computed panel by panel with its readers */
    struct mafat_splits split;
  } as;
};

struct mafat_group_weights {
  enum mafat_weight_placement placement;
  int ring;      /* streamed: reads that the ring holds; 0: as many as usual */
  int loaded_kb; /* streamed: but loaded, where a layer has at most so many kilobytes; 0: not given */
};

/* ":direct", ":winograd22,26-28" */
struct mafat_algorithm_word {
  bool given;
  struct mafat_span *layers; /* (n); none: all of the group */
  int n;
};

/* ":dw4", ":dw(0:3,4:7-9)": depthwise layers of a group, and how many of their rows are computed at a time inside the 1x1 that
 * reads them; 0: none, they are computed by themselves. */
struct mafat_depthwise_word {
  int rows;
  struct mafat_span layers; /* empty: all of the group */
};

/* The layers of a group are all below its end that are in no group before it, and some more. */
struct mafat_group_spec {
  int end; /* of the last group 0: where the network, or what is run of it, ends */
  struct mafat_span *more; /* (n_more) */
  int n_more;
  struct mafat_cut cut;
  struct mafat_group_weights weights;
  struct mafat_algorithm_word algorithms[MAFAT_N_ALGORITHMS]; /* from MAFAT_DIRECT on */
  struct mafat_depthwise_word *depthwise; /* (n_depthwise) */
  int n_depthwise;
};

/* "/ranks=3,8-15:1": how many devices share the parts; layers that are not cut run on the first of them, or on the one named. */
struct mafat_rank_word {
  struct mafat_span layers;
  int rank;
};

struct mafat_ranks {
  int n; /* 0: no word of them */
  struct mafat_rank_word *words; /* (n_words) */
  int n_words;
};

struct mafat_spec {
  struct mafat_group_spec *groups; /* (n_groups): one or more, by their ends */
  int n_groups, room; /* room: groups that there is memory for */
  enum mafat_sorting sorting;
  bool in_place;
  struct mafat_ranks ranks;
  char *text; /* that it was read from, for messages; else NULL */
  struct mafat_heap *heap; /* of all this but the text */
};

/* The one reader. MAFAT_EINVAL with the position and what was expected there; MAFAT_ENOMEM. */
int mafat_spec_read(struct mafat_spec **out, const char *text, struct mafat_diagnostic *d);
/* The one writer: at most `room` bytes with the NUL; returns the length it needs
 * without the NUL. What is as usual is left out; reading it back gives the same spec. */
size_t mafat_spec_write(const struct mafat_spec *spec, char *text, size_t room);
/* The same in memory of its own, for free(); NULL: there is none. */
char *mafat_spec_text(const struct mafat_spec *spec);
/* The order of texts as strcmp has it; of shorter ones first, where `length` says so. */
int mafat_spec_compare(const struct mafat_spec *a, const struct mafat_spec *b, bool length);

/* To make one: an empty spec, then group by group: with all that is usual, one tile and
 * weights kept; or as another group is. NULL, MAFAT_ENOMEM. What groups point at is the spec's,
 * and in its heap. */
struct mafat_spec *mafat_spec_new(struct mafat_heap *heap);
struct mafat_group_spec *mafat_spec_add(struct mafat_spec *spec);
int mafat_spec_append(struct mafat_spec *spec, const struct mafat_group_spec *group);
/* The same in memory of its own; false: out of memory, and what there is of it is to be freed as well. */
bool mafat_ranks_copy(struct mafat_heap *heap, struct mafat_ranks *out, const struct mafat_ranks *from);
bool mafat_splits_copy(struct mafat_heap *heap, struct mafat_splits *out, const struct mafat_splits *from);
void mafat_splits_free(struct mafat_heap *heap, struct mafat_splits *splits);
/* Another layer in a word, the next or one behind. MAFAT_ENOMEM. */
int mafat_algorithm_word_add(struct mafat_heap *heap, struct mafat_algorithm_word *word, struct mafat_span layers);
/* Another depthwise word of a group. MAFAT_ENOMEM. */
int mafat_depthwise_word_add(struct mafat_heap *heap, struct mafat_group_spec *group, struct mafat_depthwise_word word);
/* Tells group number `number` which layers it has: those that have this number in group_of (n_layers). It knew of none
 * before; groups are numbered as they run. MAFAT_ENOMEM. */
int mafat_group_spec_tell(struct mafat_heap *heap, struct mafat_group_spec *group, int number, const int *group_of,
                          int n_layers);
int mafat_spec_copy(struct mafat_spec **out, const struct mafat_spec *spec, struct mafat_heap *heap);
void mafat_spec_close(struct mafat_spec **spec);

static inline bool mafat_cut_is_tiled(const struct mafat_cut *cut)
{
  return cut->kind == MAFAT_CUT_GRID && (long long)cut->as.grid.n_rows * cut->as.grid.n_cols > 1;
}

static inline struct mafat_cut mafat_cut_grid(int n_rows, int n_cols)
{
  return (struct mafat_cut){.kind = MAFAT_CUT_GRID, .as.grid = {.n_rows = n_rows, .n_cols = n_cols}};
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

/* Are there lists of what its layers are made in, and partition buffers? */
static inline bool mafat_cut_has_parts(const struct mafat_cut *cut)
{
  return cut->kind == MAFAT_CUT_SPLIT || (cut->kind == MAFAT_CUT_ROWS && cut->as.rows.partitioned);
}

static inline struct mafat_cut mafat_cut_panels(bool apart)
{
  return (struct mafat_cut){.kind = MAFAT_CUT_PANELS, .as.panels = {apart}};
}

/* "auto", "direct", "winograd", "winograd-large". */
const char *mafat_algorithm_name(enum mafat_algorithm algorithm);
bool mafat_algorithm_find(enum mafat_algorithm *algorithm, const char *name);

#endif
