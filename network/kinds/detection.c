/* The first YOLO's head: a list of numbers for a grid of cells. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_detection = {
    .name = "detection",
    .head = true,
    .in_span = mafat_kind_whole_span,
};
