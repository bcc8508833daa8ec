/* A model with plans of it, as lay_plans.c opens them: for experiments that ask the library what
 * its public header does not tell. */
#ifndef MAFAT_EXPERIMENTS_PLANNERS_LAY_PLANS_H
#define MAFAT_EXPERIMENTS_PLANNERS_LAY_PLANS_H

#include "predictor/planning/planning.h"
#include "predictor/layout/layout.h"
#include "runner/engine/executor.h"
#include "api/model_files.h"

#include <stdio.h>

enum { LAY_MAX_ROUNDS = 256, LAY_MAX_TEXT = 70000 };

struct lay_model {
  const char *path;
  struct mafat_network *network;
  const struct mafat_kernels *kernels;
  struct mafat_weights *weights; /* kept, of all plans; NULL before the first is run */
  float **inputs;                /* [input] */
  struct mafat_file_order *orders;
};

struct lay_plan {
  char *text;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_executor *executor; /* NULL: not run yet */
  uint64_t hash;                   /* of all outputs */
  bool dirty_differs;  /* outputs were others where the arena was filled with something before */
  size_t touched, end; /* bytes of the arena that a run wrote; behind the last of them */
  double ms[LAY_MAX_ROUNDS];
  double *group_ms;                /* [group]: the least of all rounds; NULL: none was timed */
};

/* keep_all: nothing is computed inside its reader. NULL: the diagnostic says why. */
struct lay_plan *lay_plan_open(struct lay_model *m, const char *text, bool keep_all,
                               struct mafat_diagnostic *d);
void lay_plan_close(struct lay_plan *p);

/* The network as it is scheduled: one object of JSON on a line. */
int lay_graph_write(struct lay_model *m, FILE *out, struct mafat_diagnostic *d);

/* Makes the executor, runs it three times: in an arena as it is mapped, and twice in one that was
 * filled before. */
int lay_plan_run(struct lay_model *m, struct lay_plan *p, struct mafat_diagnostic *d);
int lay_plan_time(struct lay_plan *p, int round, struct mafat_diagnostic *d);
void lay_plan_write(const struct lay_model *m, const struct lay_plan *p, int rounds, FILE *out);

#endif
