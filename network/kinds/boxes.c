/* Heads whose cells are pixels: some boxes for each, with their classes. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_region = {
    .name = "region",
    .head = true,
    .in_span = mafat_kind_whole_span,
};

const struct mafat_kind mafat_kind_yolo = {
    .name = "yolo",
    .head = true,
    .in_span = mafat_kind_whole_span,
};
