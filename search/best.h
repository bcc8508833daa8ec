/* The best plans there are for a network: which bytes buy which milliseconds. */
#ifndef MAFAT_SEARCH_BEST_H
#define MAFAT_SEARCH_BEST_H

#include "predictor/calibration.h"
#include "predictor/predict.h"

struct mafat_search_request {
  const struct mafat_network *network;
  int n_layers;
  const struct mafat_plan_options *options; /* algorithm: MAFAT_AUTO leaves the choice, layer by layer, to the search */
  const struct mafat_surroundings *around;
  const struct mafat_calibration *calibration;
  int most_threads; /* 0: as many as the options have; else up to so many, as the search finds best */
};

/* A plan, by its text (plan.h), and what it is predicted to need. */
struct mafat_candidate {
  char *text;
  int threads;
  size_t charge_bytes, resident_bytes;
  double ms;
};

/* Plans none of which another one beats in both bytes and milliseconds: more bytes,
 * fewer milliseconds, strictly. Never empty. */
struct mafat_front {
  struct mafat_candidate *list; /* (n), by charge_bytes: the first needs least, the last is the fastest */
  int n;
};

/* The same request gives the same front, whatever budget is asked of it later: so a
 * larger budget never gives a slower plan. MAFAT_ENOMEM; MAFAT_ELIMIT: no plan has
 * countable bytes. */
int mafat_search_front(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);
void mafat_front_close(struct mafat_front **front);

/* The fastest plan that needs at most `budget` bytes; NULL if there is none. */
const struct mafat_candidate *mafat_front_within(const struct mafat_front *front, size_t budget);

#endif
