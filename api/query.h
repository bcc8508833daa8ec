/* A query's inside, and an answer's: what include/mafat.h keeps opaque. Reads no
 * weights, but where plans are to be timed, and of a picture the header. */
#ifndef MAFAT_API_QUERY_H
#define MAFAT_API_QUERY_H

#include "include/mafat_plan.h"
#include "predictor/cost/paper.h"
#include "api/choose.h"
#include "api/model_files.h"
#include "runner/kernels/kernels.h"
#include "api/picture.h"

/* What is asked, and all that does not depend on the budget. */
struct mafat_query {
  struct mafat_network *network;       /* of a packed one its layers' types alone: all else is the network's that was opened */
  int n_layers;
  const struct mafat_kernels *kernels;
  struct mafat_surroundings around;
  struct mafat_picture picture;
  struct mafat_choice_basis basis;
  struct mafat_choice_request request; /* points into this struct */
  struct mafat_front *front;
  char **front_texts;  /* (front->n) */
  char *plan;                          /* the options'; NULL: search */
  char *words;                         /* of the search; NULL: none */
  struct mafat_model_files files;      /* once it is opened: those that plans are timed with; NULL: none is */
  bool borrows;                        /* network, plan, words and files are another query's */
  int threads;                         /* the options' */
  size_t memory_bytes;                 /* the options'; 0: no budget was given */
  bool weights_assumed;                /* no file was named: Darknet's */
  bool floats_only, picture_assumed;
};

/* One budget's answer. */
struct mafat_answer {
  const struct mafat_query *query;
  struct mafat_choice_request request;  /* the query's, with this budget */
  struct mafat_choice choice;
  struct mafat_paper_prediction *paper; /* NULL: the plan has more than tiles */
};

#endif
