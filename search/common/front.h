/* The Pareto front of plans by bytes and milliseconds, and functions that measure candidates and
 * build the front. Included by search/best, search/common and search/least. Allocates in the
 * front's heap and in the options'. */
#ifndef MAFAT_SEARCH_COMMON_FRONT_H
#define MAFAT_SEARCH_COMMON_FRONT_H

#include "search/common/request.h"

/* A candidate: a plan's spec with its predictions. */
struct mafat_candidate {
  struct mafat_spec *spec;
  int threads;
  size_t charge_bytes, resident_bytes, arena_bytes;
  double ms;
  /* tie-break for plans with the same arena: grows with the number of layers that nearly fill it */
  double tie_break;
  uint64_t redundant_macs; /* computed again in overlaps */
};

/* Predicts memory and time of a spec. MAFAT_EINVAL: invalid for the network; MAFAT_ENOMEM;
 * MAFAT_ELIMIT. */
int mafat_candidate_measure(struct mafat_candidate *c, const struct mafat_search_request *request,
                            const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Is a candidate better than another one? If only bytes differ, the smaller one must not be
 * worse. */
typedef bool (*mafat_candidate_better)(const struct mafat_candidate *c,
                                       const struct mafat_candidate *than);

/* Measures a candidate and sets *better. Offsets are assigned only if the candidate could be
 * better. c->arena_bytes on entry: a known lower bound; 0: none. */
int mafat_candidate_measure_better(struct mafat_candidate *c,
                                   const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, mafat_candidate_better is_better,
                                   const struct mafat_candidate *than, bool *better,
                                   struct mafat_diagnostic *d);

/* By strictly rising bytes and falling milliseconds. Not empty once found. */
struct mafat_front {
  struct mafat_heap *heap;      /* owns the front, the list and the specs */
  /* (n) by charge_bytes: the first needs least, the last is the fastest */
  struct mafat_candidate *list;
  int n;
};

/* Makes an empty front. MAFAT_ENOMEM. */
int mafat_front_open(struct mafat_front **out);

/* Adds a plan for the options' threads, with predictions for an arena without gaps. Skips specs
 * that are invalid for the network. MAFAT_ENOMEM. */
int mafat_front_add(struct mafat_front *front, const struct mafat_search_request *request,
                    const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Removes candidates that another one beats in (bytes, ms), closes their specs, and sorts the rest
 * by bytes. */
void mafat_front_reduce(struct mafat_front *front);

/* Assigns offsets for every plan, so that gaps count, and reduces the front again. */
int mafat_front_assign_offsets(struct mafat_front *front,
                               const struct mafat_search_request *request,
                               struct mafat_diagnostic *d);

/* Runs a search for one number of threads: `find` fills an empty front and uses a temporary heap
 * and the request's deadline. Errors of `find`; MAFAT_ENOMEM. */
int mafat_front_find(struct mafat_front **out, const struct mafat_search_request *request,
                     int (*find)(struct mafat_front *front,
                                 const struct mafat_search_request *request,
                                 struct mafat_diagnostic *d),
                     struct mafat_diagnostic *d);

/* The fastest plan within `budget` bytes; NULL: none. */
const struct mafat_candidate *mafat_front_within(const struct mafat_front *front, size_t budget);
void mafat_front_close(struct mafat_front **front);

#endif
