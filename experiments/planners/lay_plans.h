/* A model with plans, for experiments that need more than the public header offers. Included by
 * this folder's C files. Opens plans, runs them, and writes JSON to the caller's FILE. Allocates on
 * the heap and reads the weights file. */
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
  struct mafat_weights *weights; /* weights of all layers, in memory, for all plans; NULL before the
                                    first run */
  float **inputs;                /* [input]: values */
  struct mafat_file_order *orders;
};

struct lay_plan {
  char *text;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_executor *executor; /* NULL: not run yet */
  uint64_t hash;                   /* hash of all outputs */
  bool dirty_differs;  /* the outputs changed when the arena was filled with other bytes before the
                          run */
  /* bytes of the arena that a run wrote: their number, and the offset after the last */
  size_t touched, end;
  double ms[LAY_MAX_ROUNDS];       /* [round]: time of the run */
  double *group_ms;                /* [group]: least of all rounds; NULL: not timed */
};

/* Makes a plan and its layout. keep_all: no layer is fused into the layer that reads it. Returns
 * NULL, with the reason in the diagnostic, if the plan is invalid. Ends the program if out of
 * memory. */
struct lay_plan *lay_plan_open(struct lay_model *m, const char *text, bool keep_all,
                               struct mafat_diagnostic *d);
void lay_plan_close(struct lay_plan *p);

/* Writes the graph of the layers whose execution order is planned: a JSON object on one line. */
int lay_graph_write(struct lay_model *m, FILE *out, struct mafat_diagnostic *d);

/* Opens the executor and runs the plan three times: in a fresh arena, and in two filled ones. */
int lay_plan_run(struct lay_model *m, struct lay_plan *p, struct mafat_diagnostic *d);

/* Runs the plan once more and stores its time as that of round `round`. */
int lay_plan_time(struct lay_plan *p, int round, struct mafat_diagnostic *d);

/* Writes the plan's line of JSON. */
void lay_plan_write(const struct lay_model *m, const struct lay_plan *p, int rounds, FILE *out);

#endif
