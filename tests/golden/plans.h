/* The twenty plans that every network is asked for: fixed texts, and what the searches find with
 * built-in prices, with a process footprint that is the same everywhere. */
#ifndef MAFAT_TESTS_GOLDEN_PLANS_H
#define MAFAT_TESTS_GOLDEN_PLANS_H

#include "search/best/best.h"

enum { GOLDEN_N_PLANS = 21, GOLDEN_PLAN_ROOM = 8192 };

/* The best plans for weights of both kinds: Darknet's with one thread, packed ones with up to two.
 */
struct golden_searches {
  const struct mafat_network *network;
  struct mafat_calibration calibration; /* the portable level's built-in prices */
  struct mafat_front *fronts[2];        /* [packed] */
};

int golden_search(struct golden_searches *s, const struct mafat_network *n,
                  struct mafat_diagnostic *d);
void golden_searches_close(struct golden_searches *s);

/* Plan `number` (from 0 on) as it is asked for. */
struct golden_request {
  char text[GOLDEN_PLAN_ROOM];
  struct mafat_plan_options options;
  bool runs; /* any run of such requests gives the same bits: they leave algorithms to shapes */
};

/* MAFAT_ENOMEM, MAFAT_ELIMIT. */
int golden_request_make(struct golden_request *r, int number, const struct golden_searches *s,
                        struct mafat_diagnostic *d);
/* The same of those that are fixed texts, without a search; false for others. */
bool golden_request_fixed(struct golden_request *r, int number, const struct mafat_network *n);

/* "winograd, packed, 2 threads", at most `capacity` bytes. */
void golden_request_describe(const struct golden_request *r, char *words, size_t capacity);

#endif
