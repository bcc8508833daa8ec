/* One function per layer type: computes a step from the tensors of its sources
 * into its own, by filling row pointers and calling kernels. Internal to the
 * executor. */
#ifndef MAFAT_RUNNER_LAYERS_LAYERS_H
#define MAFAT_RUNNER_LAYERS_LAYERS_H

#include "predictor/schedule.h"
#include "runner/kernels/kernels.h"
#include "runner/team.h"
#include "runner/tensors.h"
#include "runner/weights/weights.h"

/* What a step needs beside the tensors; one per worker. */
struct mafat_worker {
  const struct mafat_tensors *tensors;
  const struct mafat_plan *plan;
  const struct mafat_kernels *kernels;
  struct mafat_team *team;             /* those who run this step together */
  struct mafat_weights *weights;
  const struct mafat_scratch *scratch; /* of the step's layer */
  char *shared_memory;                 /* scratch that all workers of the step share */
  char *slot_memory;                   /* this worker's own; NULL when none is needed */
  int index;                           /* 0 ... layout->n_workers - 1 */
};

/* What must be there before any worker begins; the caller does it alone. */
void mafat_layers_prepare(const struct mafat_worker *w, const struct mafat_step *step);
/* This worker's share of a step; all workers of the team call it. MAFAT_OK, or
 * what reading weights failed with. */
int mafat_layers_run(const struct mafat_worker *w, const struct mafat_step *step);

/* The layers that sum, with what is fused into them; in files of their names. */
int mafat_layers_direct(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_layers_winograd(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_layers_connect(const struct mafat_worker *w, const struct mafat_step *step); /* layers_flat.c */
int mafat_layers_local(const struct mafat_worker *w, const struct mafat_step *step);

#endif
