/* Answers without running: which plan a model would take, what it would cost, and
 * what the least is. Reads no weights, and of a picture the header. */
#ifndef MAFAT_RUNNER_QUERY_H
#define MAFAT_RUNNER_QUERY_H

#include "include/mafat.h"
#include "predictor/paper.h"
#include "runner/choose.h"
#include "runner/kernels.h"
#include "runner/writer.h"

/* What is asked, and all that does not depend on the budget. */
struct mafat_query {
  struct mafat_network *network;
  int n_layers;
  const struct mafat_kernels *kernels;
  struct mafat_surroundings around;
  struct mafat_choice_basis basis;
  struct mafat_choice_request request; /* points into this struct */
  struct mafat_front *front;
  const char *cfg, *picture;           /* the caller's; picture: NULL, none was named */
  bool weights_assumed;                /* no file was named: Darknet's */
  bool floats_only;
};

/* weights: NULL, Darknet's file is assumed. o->picture: NULL, an ordinary picture
 * is assumed, or raw floats where the network's channels are no picture's. The options
 * and paths must outlive the query. Errors as of mafat_model_open, but nothing is
 * said of what does not fit. */
int mafat_query_open(struct mafat_query **out, const char *cfg, const char *weights,
                     const struct mafat_model_options *o, struct mafat_diagnostic *d);
void mafat_query_close(struct mafat_query **query);

/* One budget's answer. */
struct mafat_answer {
  size_t budget_bytes;
  struct mafat_choice choice;
  const struct mafat_candidate *least; /* of all plans, whether or not one was given; the query's */
  struct mafat_paper_prediction *paper; /* NULL: the plan has more than tiles */
};

/* By the request's budget. What does not fit is an answer, too. With `paper`, that the
 * paper's predictor knows nothing of the plan is MAFAT_EUNSUPPORTED. */
int mafat_query_answer(struct mafat_answer *a, const struct mafat_query *q, bool paper, struct mafat_diagnostic *d);
void mafat_answer_close(struct mafat_answer *a);

/* Budgets that tell something about this network, ascending: from the least to one that
 * no plan fills; for the greedy search those of the paper. At most `room`; returns how many. */
int mafat_query_budgets(const struct mafat_query *q, size_t *budgets, int room);

/* ---- writing: MAFAT_EIO when the descriptor refuses, now or earlier ---- */

int mafat_query_write_text(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w);
int mafat_query_write_json(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w);

/* A table with a row for each budget. As JSON one array of objects, on one line. *any:
 * does one of them suffice? Also errors as of mafat_query_answer. */
int mafat_query_write_sweep(const struct mafat_query *q, const size_t *budgets, int n, bool json,
                            struct mafat_writer *w, bool *any, struct mafat_diagnostic *d);
/* The same of all the best plans; *any: does one of them fit the query's budget? */
int mafat_query_write_front(const struct mafat_query *q, bool json, struct mafat_writer *w, bool *any);

/* ---- words and figures that text and JSON share ---- */

enum { MAFAT_CUT_TEXT = 256 };

/* How a group is cut, as in a plan: "rows4", "5x5:balanced"; without where its weights are. */
void mafat_query_cut_text(const struct mafat_plan *plan, int group, char text[MAFAT_CUT_TEXT]);
const char *mafat_residence_name(enum mafat_residence weights); /* "kept", "loaded", "streamed" */

struct mafat_part {
  const char *name; /* "process" */
  size_t bytes;
  bool before;      /* the layers run, and not while they do: no part of their sum */
};

enum { MAFAT_PARTS = 12 };

/* What the charge consists of, the last part being the rest: gaps of the arena, rounding
 * up, what is charged ahead. Returns how many parts. */
int mafat_query_parts(const struct mafat_answer *a, struct mafat_part parts[MAFAT_PARTS]);

#endif
