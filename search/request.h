/* What a search is asked for. */
#ifndef MAFAT_SEARCH_REQUEST_H
#define MAFAT_SEARCH_REQUEST_H

#include "predictor/cost/calibration.h"
#include "predictor/plan.h"
#include "predictor/predict.h"

/* Fused tiling along channels (depthwise), along rows and columns (of feature maps), or along any. */
enum mafat_fused_tiling { MAFAT_FUSED_BOTH, MAFAT_FUSED_FDT, MAFAT_FUSED_FFMT };

struct mafat_search_request {
  const struct mafat_network *network;
  int n_layers;
  const struct mafat_plan_options *options; /* algorithm: MAFAT_AUTO leaves the choice, layer by layer, to the search */
  const struct mafat_surroundings *around;
  const struct mafat_calibration *calibration;
  int most_threads; /* 0: as many as the options have; else up to so many, as the search finds best */
  double plan_seconds; /* that the search may take; 0: until it has looked at as much as is usual */
  long long plan_ends; /* by mafat_effort_now, from when the search began; 0: never (effort.h) */
  enum mafat_fused_tiling tiling; /* of fused depthwise tiling alone (fdt/fdt.h); */
  bool hill_climbing; /* so is this: plans are compared by the published way to place buffers, not by ours */
  bool least; /* one plan, that of the least arena (least.h), for one thread if the search is to find how many */
};

#endif
