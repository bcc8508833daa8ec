/* Chooses a plan that fits a budget: the plan in the options, or one that a search finds. Predicts
 * its memory and time. Included by api/dry_run.h, api/facts.h and api/model.h; called by
 * api/model.c and api/dry_run.c. Reads the model file, and the weights if plans are timed, but no
 * picture. Allocates the choice, which mafat_choice_close frees. */
#ifndef MAFAT_API_CHOOSE_H
#define MAFAT_API_CHOOSE_H

#include "include/mafat.h"
#include "predictor/cost/latency.h"
#include "api/plan_timer.h"
#include "runner/os/budget.h"
#include "runner/weights/weights.h"
#include "search/searches.h"

/* Memory for opening a model. */
struct mafat_opening {
  struct mafat_budget machine;    /* limit of the cgroups, or available memory (runner/os/budget.h);
                                     the budget if no option gives one */
  struct mafat_allowance reading; /* memory that reading took */
};

/* Memory that a search has used. */
struct mafat_search_traces {
  size_t left_bytes; /* resident bytes that remain after the search, without its front: part of the
                        process footprint */
  size_t heap_bytes; /* largest size of its heap, plus the memory in which plans were timed */
};

struct mafat_choice_request {
  struct mafat_search_request search;
  const char *plan;       /* NULL: search */
  const struct mafat_search *by; /* the search, if there is no plan */
  bool quick;             /* no search is named: search for the plan of this budget first */
  double plan_seconds;    /* with `quick`: how long to search on for a better plan, as in
                             mafat_model_options. The search for all budgets has no time limit, so
                             that outputs do not depend on it */
  double runs;            /* expected number of runs; 0: one */
  bool is_timed;          /* the search times plans */
  struct mafat_plan_timer_options timed; /* set by mafat_choose_time, except the network; weights
                                            NULL: times are predicted */
  size_t bias_bytes;      /* constant that the paper's predictor adds */
  const struct mafat_front *front; /* result of mafat_choose_search with search `best`; NULL:
                                      mafat_choose searches */
  struct mafat_search_traces traces; /* memory of that search */
  size_t budget_bytes;
  const char *budget_source; /* for messages: "cgroup limit" */
  bool best_effort;       /* if nothing fits, choose a plan that exceeds the budget: the given one,
                             the greedy search's fallback, or the smallest */
};

struct mafat_choice {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_prediction prediction;
  struct mafat_latency latency;
  enum mafat_algorithm algorithm; /* option `algorithm` with which the plan was made */
  char *text;                     /* the plan's canonical text; owned */
  bool fits;                      /* prediction.charge_bytes <= budget */
  struct mafat_search_traces traces; /* memory of the search that found the plan; the prediction
                                        counts it */
};

/* Structs that a request points to. */
struct mafat_choice_basis {
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
};

/* Returns the reserve in bytes: that of the options, or the default. */
size_t mafat_choose_reserve(const struct mafat_model_options *o);

/* Reads a model's network, which the caller closes, and sets which layers run, which outputs are
 * read and how they are decoded, from the model's options. Fills *opening. MAFAT_EINVAL: invalid
 * options; MAFAT_ELIMIT: reading does not fit the budget; or an error of reading the model. */
int mafat_choose_network(struct mafat_network **network, int *n_layers,
                         struct mafat_model_source *model, const struct mafat_model_options *o,
                         struct mafat_opening *opening, struct mafat_diagnostic *d);

/* Fills a request from the model's options, with the budget, for weights of `kind` and kernels of
 * level `cpu`. The caller sets the network, its layers and the process footprint, and calls
 * mafat_choose_time. MAFAT_EINVAL: invalid options. */
int mafat_choose_prepare(struct mafat_choice_request *request, struct mafat_choice_basis *basis,
                         const struct mafat_model_options *o, const struct mafat_opening *opening,
                         const struct mafat_weights_kind *kind, const char *cpu,
                         struct mafat_diagnostic *d);

/* True if the options ask for a search that times plans by running them; it needs weights. */
bool mafat_choose_is_timed(const struct mafat_model_options *o);
/* Makes the search time plans with these weights and kernels, if the options ask for it. */
void mafat_choose_time(struct mafat_choice_request *request, struct mafat_model_source *weights,
                       const struct mafat_kernels *kernels);

/* Searches for a Pareto front, which the caller closes. Adds the memory that the search leaves
 * behind to the charges of all plans; a charge is at least the memory that the search needed.
 * timed: as in a request; NULL: times are predicted. Errors of the search (best.h) and of timing
 * (plan_timer.h). */
int mafat_choose_search(struct mafat_front **front, const struct mafat_search *by,
                        const struct mafat_search_request *search,
                        const struct mafat_plan_timer_options *timed,
                        struct mafat_search_traces *traces, struct mafat_diagnostic *d);
/* Adds a search's memory to the process footprint. */
void mafat_choose_add_traces(struct mafat_footprint *footprint,
                             const struct mafat_search_traces *traces);

/* Chooses a plan. If a given plan, or the greedy search's, does not fit with algorithms chosen for
 * each layer, it is made with direct convolution; other searches choose algorithms themselves.
 * MAFAT_ELIMIT: nothing fits; the message has the need and a sufficient budget. Also errors of
 * plans, layouts and searches. Close the choice also after a failure. */
int mafat_choose(struct mafat_choice *choice, const struct mafat_choice_request *request,
                 struct mafat_diagnostic *d);
/* Fills the diagnostic for a plan that does not fit; returns MAFAT_ELIMIT. */
int mafat_choice_refuse(const struct mafat_choice *choice,
                        const struct mafat_choice_request *request, struct mafat_diagnostic *d);
void mafat_choice_close(struct mafat_choice *choice);

#endif
