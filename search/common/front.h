/* The Pareto front of plans by bytes and milliseconds, and functions that predict candidates and
 * build the front. No plan is run. Included by search/best, search/common and search/least; called
 * also by api/ and the other searches, through search.h. A front a heap of its own; temporary
 * memory is in request->options->heap. */
#ifndef MAFAT_SEARCH_COMMON_FRONT_H
#define MAFAT_SEARCH_COMMON_FRONT_H

#include "search/common/request.h"

/* A candidate: a plan's spec with its predictions. */
struct mafat_candidate {
  struct mafat_spec *spec; /* owned by the front; mafat_candidate_measure* do not set it */
  int threads;
  size_t charge_bytes, resident_bytes, arena_bytes;
  double ms;
  /* tie-break for plans with the same arena: grows with the number of layers that nearly fill the
   * arena; the smaller value is better */
  double tie_break;
  uint64_t redundant_macs; /* multiply-adds that are computed again where tiles overlap */
};

/* Predicts memory and time of a spec for c->threads threads, from a layout with offsets, and sets
 * the other members of *c. Returns MAFAT_OK, MAFAT_ENOMEM, MAFAT_EINVAL (the spec is invalid for
 * the network) or MAFAT_ELIMIT (sizes overflow). */
int mafat_candidate_measure(struct mafat_candidate *c, const struct mafat_search_request *request,
                            const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Returns true if c is better than `than`. If it returns true, it must also return true for fewer
 * bytes of c. */
typedef bool (*mafat_candidate_better)(const struct mafat_candidate *c,
                                       const struct mafat_candidate *than);

/* Like mafat_candidate_measure, but also sets *better to is_better(c, than), and assigns offsets,
 * which is slow, only if the candidate could be better. If it could not, *c has lower bounds of
 * bytes. On entry, c->arena_bytes is a known lower bound of the arena; 0: none. */
int mafat_candidate_measure_better(struct mafat_candidate *c,
                                   const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, mafat_candidate_better is_better,
                                   const struct mafat_candidate *than, bool *better,
                                   struct mafat_diagnostic *d);

/* A front that a search returns has at least one plan. */
struct mafat_front {
  struct mafat_heap *heap;      /* owns the front, the list and the specs */
  /* n candidates. mafat_front_reduce sorts them by ascending charge_bytes and descending ms, so the
   * last one is then the fastest */
  struct mafat_candidate *list;
  int n;
  size_t search_bytes; /* peak of the search's temporary heap */
};

/* Makes an empty front. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_front_open(struct mafat_front **out);

/* Predicts a spec for options->n_threads threads and appends a copy of it to the list. Offsets are
 * not assigned: the prediction assumes an arena without gaps. Skips specs that are invalid for the
 * network or whose sizes overflow. Returns MAFAT_OK or MAFAT_ENOMEM. */
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

/* Predicts every plan again from a layout with offsets, so that gaps in the arena count. Tries
 * better orders of layers, and reduces the front. Returns as mafat_candidate_measure does. */
int mafat_front_assign_offsets(struct mafat_front *front,
                               const struct mafat_search_request *request,
                               struct mafat_diagnostic *d);

/* Runs a search for one number of threads. `find` gets an empty front, which it fills, and a copy
 * of the request with a temporary heap and with plan_ends set. The caller closes *out. Returns
 * MAFAT_OK, MAFAT_ENOMEM or an error of `find`. */
int mafat_front_find(struct mafat_front **out, const struct mafat_search_request *request,
                     int (*find)(struct mafat_front *front,
                                 const struct mafat_search_request *request,
                                 struct mafat_diagnostic *d),
                     struct mafat_diagnostic *d);

/* Returns the fastest plan whose charge_bytes are at most `budget`; NULL: none. */
const struct mafat_candidate *mafat_front_within(const struct mafat_front *front, size_t budget);
void mafat_front_close(struct mafat_front **front);

#endif
