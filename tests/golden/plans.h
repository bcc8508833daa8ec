/* The 21 plans of the golden hashes: fixed texts, and results of searches with built-in prices
 * and a fixed process footprint. Included by golden.c, outputs.c and plans.c. */
#ifndef MAFAT_TESTS_GOLDEN_PLANS_H
#define MAFAT_TESTS_GOLDEN_PLANS_H

#include "search/best/best.h"

enum { GOLDEN_N_PLANS = 21, GOLDEN_PLAN_ROOM = 8192 };

/* Pareto fronts for both kinds of weights files: Darknet's with one thread, packed ones with up
 * to two threads. */
struct golden_searches {
  const struct mafat_network *network;
  struct mafat_calibration calibration; /* the portable level's built-in prices */
  struct mafat_front *fronts[2];        /* [0]: for Darknet's files; [1]: for packed files */
};

int golden_search(struct golden_searches *s, const struct mafat_network *n,
                  struct mafat_diagnostic *d);
void golden_searches_close(struct golden_searches *s);

/* The request for plan `number`, from 0. */
struct golden_request {
  char text[GOLDEN_PLAN_ROOM];
  struct mafat_plan_options options;
  bool runs; /* true: outputs.c runs the plan; all plans that it runs give the same output bits */
};

/* Makes the request for plan `number`, from 0. Returns MAFAT_OK, MAFAT_ENOMEM or MAFAT_ELIMIT. */
int golden_request_make(struct golden_request *r, int number, const struct golden_searches *s,
                        struct mafat_diagnostic *d);
/* Makes the request for a plan with a fixed text, which needs no search. False: plan `number` has
 * no fixed text. */
bool golden_request_fixed(struct golden_request *r, int number, const struct mafat_network *n);

/* Describes the options like "winograd, packed, 2 threads", in at most `capacity` bytes. */
void golden_request_describe(const struct golden_request *r, char *words, size_t capacity);

#endif
