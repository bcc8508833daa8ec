/* From files' orders to panels of quads (packing.h: where sums are whole numbers): a pure function of memory. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H
#define MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H

#include "runner/weights/pack.h"

/* As mafat_pack, of a layer that sums integers: the part's weights are bytes, its biases int32 where floats would be, its
 * scales those of the weights. With a panel's last weights come its biases, multipliers and shifts. */
void mafat_pack_integers(const struct mafat_network *n, int layer, const struct mafat_pack_part *part,
                         struct mafat_piece *pieces, struct mafat_packed_panels panels);

#endif
