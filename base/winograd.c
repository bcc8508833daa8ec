/* Table of the two Winograd tile sizes. Called by predictor/plan/winograd.c, which passes the rows
 * to predictions and kernels. Constant data. */
#include "base/winograd.h"

static const struct mafat_winograd sizes[MAFAT_N_WINOGRADS] = {
    [MAFAT_WINOGRAD_4X4] = {MAFAT_WINOGRAD_4X4, .outputs = 4, .window = 6, .points = 36},
    [MAFAT_WINOGRAD_6X6] = {MAFAT_WINOGRAD_6X6, .outputs = 6, .window = 8, .points = 64,
                            .block = 64},
};

const struct mafat_winograd *mafat_winograd_find(enum mafat_winograd_size size)
{
  return &sizes[size];
}
