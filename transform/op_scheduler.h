/* An abstract graph to be scheduled, and a walk through an order that tracks live bytes.
 *
 * Operators read and make buffers. A buffer lives from the first operator that makes a part of it
 * to its last reader. Operators that make parts of the same buffer keep their order in the file, so
 * that sums do not change. Buffers without a maker live from the start. A step needs the live
 * buffers, its operator's outputs and its scratch; then buffers that were read for the last time
 * are freed. The largest need of a step is the order's *peak*.
 *
 * Included by transform/op_schedule.h, transform/op_schedule_best.c and
 * transform/op_schedule_parallel.c. Allocates in the caller's heap. */
#ifndef MAFAT_TRANSFORM_OP_SCHEDULER_H
#define MAFAT_TRANSFORM_OP_SCHEDULER_H

#include "base/heap.h"
#include "include/mafat.h"

#include <stdbool.h>
#include <stdint.h>

struct mafat_op_use {
  int operator, buffer;
  bool makes; /* makes the buffer or a part of it; else reads it */
  /* reads, and if it is the last reader, its output reuses the buffer's bytes (as many as both
   * have) */
  bool gives;
};

struct mafat_op_graph {
  int n_operators, n_buffers, n_uses;
  /* by operator; each operator's in the order of its operands, without duplicates */
  const struct mafat_op_use *uses;
  const uint64_t *bytes; /* [buffer] */
  const bool *kept;      /* [buffer]: lives to the end; NULL: none */
  const uint64_t *work;  /* [operator]: scratch bytes; NULL: none */
  /* [operator]: its output replaces an input of the same size that it reads for the last time, if
   * any; NULL: none does */
  const bool *in_place;
};

/* Result of scheduling. */
struct mafat_op_schedule_result {
  uint64_t peak;
  bool least; /* proven minimal */
};

/* Lists of integers: list i is items[at[i]] to items[at[i + 1]], exclusive. */
struct mafat_lists {
  int *at, *items;
};

/* A use, with the facts about its buffer that the walk needs. */
struct mafat_op_schedule_fact {
  uint64_t bytes;
  unsigned buffer : 29, makes : 1, gives : 1, kept : 1;
};

struct mafat_op_scheduler {
  struct mafat_heap *heap;
  const struct mafat_op_graph *graph;
  struct mafat_lists uses;          /* [operator]: indices of its uses */
  struct mafat_op_schedule_fact *facts;    /* of the uses, in the order of the lists */
  struct mafat_lists before, after; /* [operator]: predecessors; successors */
  int *n_makers, *n_readers;        /* [buffer] */
  uint64_t bound;                   /* lower bound of any peak: the largest need of one operator */
  /* State of the walk. */
  int *missing; /* [operator]: predecessors that have not run; negative: it has run itself */
  int *makers_left, *readers_left;  /* [buffer] */
  uint64_t live, peak;              /* current bytes; maximum so far */
};

/* Opens an operator scheduler; the caller keeps the graph. MAFAT_EINVAL: the graph has a cycle.
 * MAFAT_ENOMEM. */
int mafat_op_scheduler_open(struct mafat_op_scheduler **out, const struct mafat_op_graph *graph,
                            struct mafat_heap *heap);
void mafat_op_scheduler_close(struct mafat_op_scheduler **s);

/* Bytes needed during a step, and live after it. */
struct mafat_op_schedule_step {
  uint64_t top, after;
};

/* Resets the walk to its start. */
void mafat_walk_begin(struct mafat_op_scheduler *s);
/* Evaluates, or runs, an operator whose predecessors have run. */
struct mafat_op_schedule_step mafat_walk_look(const struct mafat_op_scheduler *s, int operator);
void mafat_walk_run(struct mafat_op_scheduler *s, int operator);
/* Runs an operator, but leaves `live` and `peak` to the caller. */
void mafat_walk_pass(struct mafat_op_scheduler *s, int operator);
/* Undoes the last run operator; the caller restores `live` and `peak`. */
void mafat_walk_undo(struct mafat_op_scheduler *s, int operator);

/* The peak of a valid order. */
uint64_t mafat_op_schedule_peak(struct mafat_op_scheduler *s, const int *order);

/* Orders operators by number, but after their predecessors. Returns how many could run. */
int mafat_op_schedule_file(struct mafat_op_scheduler *s, int *order);
/* op_schedule_parallel.c: improves an order in the series-parallel parts of the graph. *least: the
 * peak is proven minimal. */
int mafat_op_schedule_parallel(struct mafat_op_scheduler *s, int *order, bool *least);
/* op_schedule_best.c: improves an order by search. */
int mafat_op_schedule_improve(struct mafat_op_scheduler *s, long long effort, int *order,
                              struct mafat_op_schedule_result *sorted);

static inline bool mafat_op_schedule_is_kept(const struct mafat_op_scheduler *s, int buffer)
{
  return s->graph->kept && s->graph->kept[buffer];
}

#endif
