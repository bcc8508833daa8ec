/* Which plan is run, or would be, for a budget: the given one or what a search finds,
 * and what it is predicted to cost. Without weights and without a picture. */
#ifndef MAFAT_API_CHOOSE_H
#define MAFAT_API_CHOOSE_H

#include "include/mafat.h"
#include "predictor/cost/latency.h"
#include "api/plan_timer.h"
#include "runner/weights/weights.h"
#include "search/searches.h"

/* Of a search, in memory. */
struct mafat_search_traces {
  size_t left_bytes; /* resident when it is over and its front is gone: part of the process from then on */
  size_t heap_bytes; /* its heap, at most, with what plans were timed in */
};

struct mafat_choice_request {
  struct mafat_search_request search;
  const char *plan;       /* NULL: search */
  const struct mafat_search *by; /* the search, where there is no plan */
  bool is_timed;          /* plans are to be timed, see mafat_choose_time */
  struct mafat_plan_timer_options timed; /* is_timed: how; weights NULL: predicted. Of the network what `search` has */
  size_t bias_bytes;      /* of the paper's predictor */
  const struct mafat_front *front; /* of mafat_choose_search by the best, where that is known; NULL: it is searched */
  struct mafat_search_traces traces; /* of that search */
  size_t budget_bytes;
  const char *budget_source; /* for messages: "cgroup limit" */
  bool budget_given;         /* by the caller, who may give another: budget_source is the option's name */
  bool best_effort;       /* where nothing fits: no error; it is the smallest plan, or the one
                             given, or the one that the greedy search falls back to */
};

struct mafat_choice {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_prediction prediction;
  struct mafat_latency latency;
  enum mafat_algorithm algorithm; /* what the plan was made with */
  char *text;                     /* the plan's canonical text; owned */
  bool fits;                      /* prediction.charge_bytes within the budget */
  struct mafat_search_traces traces; /* of the search for it: part of the prediction */
};

/* What a request points at. */
struct mafat_choice_basis {
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
};

/* The reserve that the options ask for, or the default. */
size_t mafat_choose_reserve(const struct mafat_model_options *o);

/* The network of a model, and which of its layers are run and read, as the options of a model have
 * it. MAFAT_EINVAL: no such layers, no such size; what reading the model gives. */
int mafat_choose_network(struct mafat_network **network, int *n_layers, struct mafat_model_source *model,
                         const struct mafat_model_options *o, struct mafat_diagnostic *d);

/* A request as the options of a model have it, budget included; the weights file is
 * of this kind, kernels are of the level `cpu`. What is left to fill in: the network,
 * its layers, its surroundings, and, where plans are to be timed, by what (mafat_choose_time). MAFAT_EINVAL. */
int mafat_choose_prepare(struct mafat_choice_request *request, struct mafat_choice_basis *basis,
                         const struct mafat_model_options *o, const struct mafat_weights_kind *kind, const char *cpu,
                         struct mafat_diagnostic *d);

/* Do the options ask for a search that times plans by running them? Then it has to have weights. */
bool mafat_choose_is_timed(const struct mafat_model_options *o);
/* Where the options ask for it: how long a plan takes is measured, with weights of that file, by these kernels. */
void mafat_choose_time(struct mafat_choice_request *request, struct mafat_model_source *weights, const struct mafat_kernels *kernels);

/* The front of a search that has any, with its traces in the charges of all plans: searching leaves holes in the
 * heap, and no plan costs less than its own search. timed: as in a choice's request; NULL: nothing is. Errors: best.h; plan_timer.h. */
int mafat_choose_search(struct mafat_front **front, const struct mafat_search *by, const struct mafat_search_request *search,
                        const struct mafat_plan_timer_options *timed, struct mafat_search_traces *traces, struct mafat_diagnostic *d);
/* Adds them to what a prediction is made with. */
void mafat_choose_add_traces(struct mafat_surroundings *around, const struct mafat_search_traces *traces);

/* Where a given plan, or the greedy search's, does not fit with algorithms chosen
 * by layer, it is made with direct convolution; the other searches have their own choice of them.
 * MAFAT_ELIMIT when it does not fit: the message names the bytes and the plan. The
 * choice is to be closed even then. Others: what plans, layouts and searches give. */
int mafat_choose(struct mafat_choice *choice, const struct mafat_choice_request *request,
                 struct mafat_diagnostic *d);
/* What is said of one that does not fit: MAFAT_ELIMIT. */
int mafat_choice_refuse(const struct mafat_choice *choice, const struct mafat_choice_request *request,
                        struct mafat_diagnostic *d);
void mafat_choice_close(struct mafat_choice *choice);

#endif
