/* From files' orders to panels of quads (packing.h: where sums are whole numbers): a pure function of memory. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H
#define MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H

#include "runner/weights/pack.h"

/* As mafat_pack, of a layer that sums integers: the part's weights are bytes, its biases int32 where floats would be, its
 * scales those of the weights. With a panel's last weights come its biases, multipliers and shifts. */
void mafat_pack_integers(const struct mafat_network *n, int layer, const struct mafat_pack_part *part,
                         struct mafat_piece *pieces, struct mafat_packed_panels panels);

/* The same of one panel, the one that begins at `filter`, of weights that were floats: as mafat_narrow_panel made it int8, with
 * its scales and biases. A sloped rectifier goes into the factors of negative sums. Where a bias is too large for
 * what its filter's weights are multiplied by, these become coarser. pieces: room for mafat_pack_pieces. */
void mafat_pack_integers_narrowed(const struct mafat_network *n, int layer, int filter, const char *narrow,
                                  struct mafat_piece *pieces, char *to);

/* Of packed bytes from byte `into` of the layer's on, which begin and end with a word: the first number of a panel that none of
 * these functions makes. What kernels shift by, and take off inputs, is within the bounds that they count on; and what they read behind
 * a piece's last channel, whatever it is, is multiplied by 0. */
struct mafat_integer_fault {
  const char *what; /* NULL: there is none. Else what has it: "multiplier", ... */
  int filter;
  double found;     /* NaN, too */
};
struct mafat_integer_fault mafat_pack_integers_find_fault(const struct mafat_layer *l, size_t into, const char *data, size_t bytes);

#endif
