/* The Pareto front of plans by bytes and milliseconds, and functions that predict candidates and
 * build the front. Nothing is run. Included by search/best, search/common and search/least.
 * Allocates in a heap of the front; temporary memory is in request->options->heap. */
#ifndef MAFAT_SEARCH_COMMON_FRONT_H
#define MAFAT_SEARCH_COMMON_FRONT_H

#include "search/common/request.h"

/* A candidate: a plan's spec with its predictions. */
struct mafat_candidate {
  struct mafat_spec *spec; /* owned by the front; the functions that measure do not set it */
  int threads;
  size_t charge_bytes, resident_bytes, arena_bytes;
  double ms;
  /* tie-break for plans with the same arena, less is better: grows with the number of layers that
   * nearly fill the arena */
  double tie_break;
  uint64_t redundant_macs; /* products computed again where tiles overlap */
};

/* Predicts memory and time of a spec for c->threads threads, with offsets assigned. Returns
 * MAFAT_OK, MAFAT_ENOMEM, MAFAT_EINVAL (the spec is invalid for the network) or MAFAT_ELIMIT (sizes
 * overflow). */
int mafat_candidate_measure(struct mafat_candidate *c, const struct mafat_search_request *request,
                            const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Returns true if c is better than `than`. Must be monotonic in bytes: if c is better, it is also
 * better with fewer bytes. */
typedef bool (*mafat_candidate_better)(const struct mafat_candidate *c,
                                       const struct mafat_candidate *than);

/* Predicts a spec as mafat_candidate_measure and sets *better. Offsets are assigned, which is slow,
 * only if the candidate could be better. c->arena_bytes on entry: a known lower bound of the arena;
 * 0: none. */
int mafat_candidate_measure_better(struct mafat_candidate *c,
                                   const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, mafat_candidate_better is_better,
                                   const struct mafat_candidate *than, bool *better,
                                   struct mafat_diagnostic *d);

/* After a search, the front has at least one plan. */
struct mafat_front {
  struct mafat_heap *heap;      /* owns the front, the list and the specs */
  /* (n) once reduced: by rising charge_bytes and falling ms, so the last one is the fastest */
  struct mafat_candidate *list;
  int n;
  size_t search_bytes; /* peak of the search's temporary heap */
};

/* Makes an empty front. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_front_open(struct mafat_front **out);

/* Appends a copy of a spec for options->n_threads, predicted as if the arena had no gaps. Skips
 * specs that are invalid for the network or whose sizes overflow. Returns MAFAT_OK or
 * MAFAT_ENOMEM. */
int mafat_front_add(struct mafat_front *front, const struct mafat_search_request *request,
                    const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Adds a copy of a measured candidate. MAFAT_ENOMEM. */
int mafat_front_put(struct mafat_front *front, const struct mafat_candidate *c);

/* Writes the options' `algorithms`, if there are any, into the candidate's spec, which is in
 * `heap`. MAFAT_ENOMEM. */
int mafat_candidate_name_algorithms(struct mafat_candidate *c,
                                    const struct mafat_search_request *request,
                                    struct mafat_heap *heap, struct mafat_diagnostic *d);

/* Removes candidates that another one beats in (bytes, ms), closes their specs, and sorts the rest
 * by bytes. */
void mafat_front_reduce(struct mafat_front *front);

/* Predicts every plan again with offsets assigned, so that gaps in the arena count, tries better
 * orders of layers, and reduces the front. */
int mafat_front_assign_offsets(struct mafat_front *front,
                               const struct mafat_search_request *request,
                               struct mafat_diagnostic *d);

/* Runs a search for one number of threads. `find` gets an empty front to fill, and a request with a
 * temporary heap and with plan_ends set. The caller closes *out. Returns MAFAT_OK, MAFAT_ENOMEM or
 * an error of `find`. */
int mafat_front_find(struct mafat_front **out, const struct mafat_search_request *request,
                     int (*find)(struct mafat_front *front,
                                 const struct mafat_search_request *request,
                                 struct mafat_diagnostic *d),
                     struct mafat_diagnostic *d);

/* The fastest plan within `budget` bytes; NULL: none. */
const struct mafat_candidate *mafat_front_within(const struct mafat_front *front, size_t budget);
void mafat_front_close(struct mafat_front **front);

#endif
