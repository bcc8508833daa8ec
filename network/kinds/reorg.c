/* Blocks of pixels as channels of one pixel, or back, in Darknet's order. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_reorg = {
    .name = "reorg",
    .in_span = mafat_kind_whole_span,
};
