/* Structs of the types mafat_dry_run and mafat_plan_report, which are opaque in
 * include/mafat_plan.h. Included by api/dry_run.c, api/rank_dry_run.c and api/transfers.c.
 * Declares types only. */
#ifndef MAFAT_API_DRY_RUN_H
#define MAFAT_API_DRY_RUN_H

#include "include/mafat_plan.h"
#include "predictor/cost/paper.h"
#include "api/choose.h"
#include "api/model_files.h"
#include "runner/kernels/kernels.h"
#include "api/picture.h"

/* Everything that does not depend on the budget. A dry run reads no weights (unless plans are
 * timed), and of a picture only its header. */
struct mafat_dry_run {
  struct mafat_network *network;       /* after mafat_dry_run_pack: a copy that owns its layers; the
                                          original network owns the rest */
  int n_layers;
  const struct mafat_kernels *kernels;
  struct mafat_footprint footprint;
  struct mafat_footprint raw_footprint; /* if picture_assumed: the footprint for raw inputs instead
                                           of the assumed picture */
  struct mafat_picture picture;
  struct mafat_choice_basis basis;
  struct mafat_choice_request request; /* its pointers point into this struct */
  struct mafat_front *front;
  char **front_texts;  /* (front->n) */
  char *plan;                          /* from the options; NULL: search */
  char *words;                         /* parameters of the search; NULL: none */
  struct mafat_model_files files;      /* while opening: all files; afterwards only the file of the
                                          weights with which plans are timed, or NULL */
  bool borrows;                        /* network, plan, words and files belong to another dry
                                          run */
  int threads;                         /* from the options */
  size_t memory_bytes;                 /* from the options; 0: no budget */
  bool weights_assumed;                /* no weights file is given; Darknet's order is assumed */
  bool floats_only, picture_assumed;   /* as in mafat_dry_run_facts */
};

/* Result for one budget. */
struct mafat_plan_report {
  const struct mafat_dry_run *dry_run;
  struct mafat_choice_request request;  /* copy of the dry run's request, with this budget */
  struct mafat_choice choice;
  struct mafat_paper_prediction *paper; /* NULL: the plan has groups other than tiles */
};

#endif
