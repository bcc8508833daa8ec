/* A graph of buffers and of operators that are to be ordered, and a walk that runs the operators
 * one by one and counts the bytes in memory.
 *
 * Operators read and make buffers. A buffer is *live*, that is in memory, from the first operator
 * that makes a part of it to its last reader. A buffer without a maker is live from the start.
 * Operators that make parts of the same buffer keep their order in the file, so that sums are added
 * in the same order. A step runs one operator. During it, memory holds the live buffers, the
 * operator's outputs and its scratch. After it, buffers that were read for the last time are freed.
 * The most bytes that any step needs are the order's *peak*.
 *
 * Included by transform/op_schedule.h, transform/op_schedule_best.c and
 * transform/op_schedule_parallel.c; called by predictor/schedule. Allocates in the caller's
 * heap. */
#ifndef MAFAT_TRANSFORM_OP_SCHEDULER_H
#define MAFAT_TRANSFORM_OP_SCHEDULER_H

#include "base/heap.h"
#include "include/mafat.h"

#include <stdbool.h>
#include <stdint.h>

/* One operator's use of one buffer. */
struct mafat_op_use {
  int operator, buffer;
  bool makes; /* the operator makes the buffer or a part of it; false: it reads the buffer */
  /* The operator reads the buffer, and its output may take over the buffer's memory if no other
   * reader follows. The larger of the two may be only partly shared. */
  bool gives;
};

struct mafat_op_graph {
  int n_operators, n_buffers, n_uses;
  /* Sorted by operator, then in the order of its operands; no use is listed twice. */
  const struct mafat_op_use *uses;
  const uint64_t *bytes; /* [buffer]: its size */
  const bool *kept;      /* [buffer]: it is live to the end; NULL: none is */
  const uint64_t *work;  /* [operator]: bytes of scratch; NULL: none needs any */
  /* [operator]: its output may take the place of an input that it reads for the last time, if that
   * input is at least as large; NULL: none does */
  const bool *in_place;
};

/* Result of scheduling. */
struct mafat_op_schedule_result {
  uint64_t peak;
  bool least; /* no order has a smaller peak */
};

/* Lists of integers, stored one after the other. List i is items[at[i]] to items[at[i + 1] - 1]. */
struct mafat_lists {
  int *at, *items;
};

/* A use and its buffer's properties together, for speed of the walk. */
struct mafat_op_schedule_fact {
  uint64_t bytes;
  unsigned buffer : 29, makes : 1, gives : 1, kept : 1;
};

struct mafat_op_scheduler {
  struct mafat_heap *heap;
  const struct mafat_op_graph *graph;
  struct mafat_lists uses;          /* [operator]: indices of its uses in the graph */
  struct mafat_op_schedule_fact *facts;    /* [i]: facts of the use uses.items[i] */
  struct mafat_lists before, after; /* [operator]: predecessors; successors */
  int *n_makers, *n_readers;        /* [buffer] */
  /* No order has a smaller peak than this: the bytes live from the start or, if more, the most
   * bytes that an operator needs even if nothing else is live. */
  uint64_t bound;
  /* State of the walk. */
  int *missing; /* [operator]: number of predecessors that have not run; negative: it has run */
  int *makers_left, *readers_left;  /* [buffer]: how many have not run */
  uint64_t live, peak;              /* live bytes now; most bytes of a step so far */
};

/* Opens a scheduler of a graph, which must stay until it is closed. Returns MAFAT_EINVAL if the
 * graph has a cycle, MAFAT_ENOMEM if out of memory. */
int mafat_op_scheduler_open(struct mafat_op_scheduler **out, const struct mafat_op_graph *graph,
                            struct mafat_heap *heap);
void mafat_op_scheduler_close(struct mafat_op_scheduler **s);

/* Bytes in memory during a step, and live bytes after it. */
struct mafat_op_schedule_step {
  uint64_t top, after;
};

/* Goes back to the start, where no operator has run. */
void mafat_walk_begin(struct mafat_op_scheduler *s);
/* Returns the bytes that an operator would need next, without running it. All its predecessors must
 * have run. */
struct mafat_op_schedule_step mafat_walk_look(const struct mafat_op_scheduler *s, int operator);
/* Runs an operator whose predecessors have all run, and updates `live` and `peak`. */
void mafat_walk_run(struct mafat_op_scheduler *s, int operator);
/* Runs an operator, but leaves it to the caller to update `live` and `peak`. */
void mafat_walk_pass(struct mafat_op_scheduler *s, int operator);
/* Undoes the operator that ran last. The caller restores `live` and `peak`. */
void mafat_walk_undo(struct mafat_op_scheduler *s, int operator);

/* Returns the peak of an order, in which each operator must come after its predecessors. */
uint64_t mafat_op_schedule_peak(struct mafat_op_scheduler *s, const int *order);

/* Orders operators by number, but each after its predecessors. Returns how many could be ordered:
 * fewer than all if the graph has a cycle. */
int mafat_op_schedule_file(struct mafat_op_scheduler *s, int *order);
/* op_schedule_parallel.c: improves an order where the graph is series-parallel. Sets *least to true
 * if no order has a smaller peak. */
int mafat_op_schedule_parallel(struct mafat_op_scheduler *s, int *order, bool *least);
/* op_schedule_best.c: improves an order by search, within an effort. */
int mafat_op_schedule_improve(struct mafat_op_scheduler *s, long long effort, int *order,
                              struct mafat_op_schedule_result *sorted);

static inline bool mafat_op_schedule_is_kept(const struct mafat_op_scheduler *s, int buffer)
{
  return s->graph->kept && s->graph->kept[buffer];
}

#endif
