/* An abstract graph, which orders are found for, and a walk through an order that keeps count of what is alive.
 *
 * Operators read and make buffers. A buffer lives from the first operator that makes a part of it to the last that
 * reads it; who makes parts of the same buffer does so in the file's order, so that sums stay what they are. What
 * nobody makes is there from the start. A step takes what is alive, what its operator makes, and what that works in;
 * then what was read for the last time dies. The most that is taken at a time is the order's *peak*. */
#ifndef MAFAT_TRANSFORM_SORTER_H
#define MAFAT_TRANSFORM_SORTER_H

#include "base/heap.h"
#include "include/mafat.h"

#include <stdbool.h>
#include <stdint.h>

struct mafat_sort_use {
  int operator, buffer;
  bool makes; /* or a part of it; else reads, */
  bool gives; /* and gives its place, as far as it reaches, to what the operator makes, where it is read for the last time */
};

struct mafat_sort_graph {
  int n_operators, n_buffers, n_uses;
  const struct mafat_sort_use *uses; /* operator by operator; of each in the order of its operands, none twice */
  const uint64_t *bytes; /* [buffer] */
  const bool *kept;      /* [buffer]: to the end; NULL: none is */
  const uint64_t *work;  /* [operator]: bytes that it works in; NULL: none does */
  const bool *in_place;  /* [operator]: what it makes takes the place of something that it reads for the last time
                            and that is as large, if there is such; NULL: none does so */
};

/* What was found for an order. */
struct mafat_sorted {
  uint64_t peak;
  bool least; /* proven: no order has a smaller one */
};

/* Lists of numbers: that of i is items[at[i]] up to items[at[i + 1]]. */
struct mafat_lists {
  int *at, *items;
};

/* A use, with what the walk has to know of its buffer beside it. */
struct mafat_sort_fact {
  uint64_t bytes;
  unsigned buffer : 29, makes : 1, gives : 1, kept : 1;
};

struct mafat_sorter {
  struct mafat_heap *heap;
  const struct mafat_sort_graph *graph;
  struct mafat_lists uses;          /* [operator]: numbers of its uses */
  struct mafat_sort_fact *facts;    /* of these, in the order of the lists */
  struct mafat_lists before, after; /* [operator]: who has to run before it; who waits for it */
  int *n_makers, *n_readers;        /* [buffer] */
  uint64_t bound;                   /* no peak is smaller: what the operator that needs most has to have */
  /* The walk. */
  int *missing;                     /* [operator]: how many it waits for; below 0: it has run */
  int *makers_left, *readers_left;  /* [buffer] */
  uint64_t live, peak;              /* now; so far */
};

/* The graph has to stay. MAFAT_EINVAL: operators wait for each other in a circle. MAFAT_ENOMEM. */
int mafat_sorter_open(struct mafat_sorter **out, const struct mafat_sort_graph *graph, struct mafat_heap *heap);
void mafat_sorter_close(struct mafat_sorter **s);

/* What a step would take, and what would be alive behind it. */
struct mafat_sort_step {
  uint64_t top, after;
};

/* Nothing has run. */
void mafat_walk_begin(struct mafat_sorter *s);
/* Running an operator now, which waits for nobody. */
struct mafat_sort_step mafat_walk_look(const struct mafat_sorter *s, int operator);
void mafat_walk_run(struct mafat_sorter *s, int operator);
/* The same where live and peak are the caller's to keep. */
void mafat_walk_pass(struct mafat_sorter *s, int operator);
/* As if the operator, which ran last, had not; live and peak are the caller's to bring back. */
void mafat_walk_undo(struct mafat_sorter *s, int operator);

/* The peak of any order that is possible. */
uint64_t mafat_sort_peak(struct mafat_sorter *s, const int *order);

/* As numbered, but none before those that it waits for. Returns how many could run. */
int mafat_sort_file(struct mafat_sorter *s, int *order);
/* sort_parallel.c: begins with an order, in which stays what is not series-parallel. Is the peak proven to be the
 * least? */
int mafat_sort_parallel(struct mafat_sorter *s, int *order, bool *least);
/* sort_best.c: begins with an order, and replaces it by better ones. */
int mafat_sort_improve(struct mafat_sorter *s, long long effort, int *order, struct mafat_sorted *sorted);

static inline bool mafat_sort_is_kept(const struct mafat_sorter *s, int buffer)
{
  return s->graph->kept && s->graph->kept[buffer];
}

#endif
