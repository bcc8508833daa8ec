/* Plans by their specs, none of which another one beats in both bytes and milliseconds;
 * and how such a front is found: specs are laid out, and kept where none beats them. */
#ifndef MAFAT_SEARCH_COMMON_FRONT_H
#define MAFAT_SEARCH_COMMON_FRONT_H

#include "search/common/request.h"

/* A plan, by its spec, and what it is predicted to need. */
struct mafat_candidate {
  struct mafat_spec *spec;
  int threads;
  size_t charge_bytes, resident_bytes, arena_bytes;
  double ms;
  double crowd;            /* of plans with the same arena: the more layers run where it is nearly full, the more */
  uint64_t redundant_macs; /* that are computed again */
};

/* What this spec is predicted to need and take by its threads. MAFAT_EINVAL: it is none for the network; MAFAT_ENOMEM;
 * MAFAT_ELIMIT. */
int mafat_candidate_measure(struct mafat_candidate *c, const struct mafat_search_request *request,
                            const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Is a candidate better than another one? Of two that differ in bytes alone the smaller one is no worse. */
typedef bool (*mafat_candidate_better)(const struct mafat_candidate *c, const struct mafat_candidate *than);

/* The same, where it is better; its offsets are assigned only where they may be few enough. c->arena_bytes before: so few are
 * known not to be; 0: nothing is known. */
int mafat_candidate_measure_better(struct mafat_candidate *c, const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, mafat_candidate_better is_better,
                                   const struct mafat_candidate *than, bool *better, struct mafat_diagnostic *d);

/* More bytes, fewer milliseconds, strictly. Never empty, once it is found. */
struct mafat_front {
  struct mafat_heap *heap;      /* of its own: the front itself, the list, the specs */
  struct mafat_candidate *list; /* (n), by charge_bytes: the first needs least, the last is the fastest */
  int n;
};

/* An empty one. MAFAT_ENOMEM. */
int mafat_front_open(struct mafat_front **out);

/* Adds a plan for the options' threads with its prediction, for an arena without holes; a spec that is none
 * for the network is passed over. MAFAT_ENOMEM. */
int mafat_front_add(struct mafat_front *front, const struct mafat_search_request *request,
                    const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Of candidates by (bytes, ms), in any order, keeps those that no other beats;
 * sorts them by bytes. Specs of the others are closed. */
void mafat_front_reduce(struct mafat_front *front);

/* Of each plan the arena as it is: what others beat then goes. */
int mafat_front_assign_offsets(struct mafat_front *front, const struct mafat_search_request *request,
                        struct mafat_diagnostic *d);

/* What a search that knows one number of threads finds: `find` adds it to an empty front, with a heap for what is made on the way, and
 * until when it may look. Errors: those of `find`; MAFAT_ENOMEM. */
int mafat_front_find(struct mafat_front **out, const struct mafat_search_request *request,
                     int (*find)(struct mafat_front *front, const struct mafat_search_request *request, struct mafat_diagnostic *d),
                     struct mafat_diagnostic *d);

/* The fastest plan that needs at most `budget` bytes; NULL if there is none. */
const struct mafat_candidate *mafat_front_within(const struct mafat_front *front, size_t budget);
void mafat_front_close(struct mafat_front **front);

#endif
