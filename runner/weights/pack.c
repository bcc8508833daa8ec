/* Packs weights into panels: finds panels and channel blocks, checks that weights are finite, and
 * calls the packing function of a type. Called by runner/weights and by
 * runner/engine/kinds/integer/conv.c. Touches only its arguments. */
#include "runner/weights/pack.h"

#include <string.h>

/* In NaN and infinity all exponent bits are set, in no other value: adding one to these bits then
 * sets the sign bit. */
static uint32_t carry_of_exponent(const float *x)
{
  uint32_t bits;
  memcpy(&bits, x, sizeof bits);
  return (bits & 0x7f800000u) + 0x00800000u;
}

bool mafat_pack_is_finite(const float *x, size_t n)
{
  enum { LANES = 8 };
  uint32_t carries[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t k = 0; k < LANES; k++) carries[k] |= carry_of_exponent(&x[i + k]);
  for (; i < n; i++) carries[0] |= carry_of_exponent(&x[i]);
  for (size_t k = 1; k < LANES; k++) carries[0] |= carries[k];
  return !(carries[0] >> 31);
}

static bool are_halves_finite(const char *halves, size_t n, uint16_t exponent)
{
  bool finite = true;
  for (size_t i = 0; i < n; i++) {
    uint16_t half;
    memcpy(&half, halves + i * sizeof half, sizeof half);
    finite = finite && (half & exponent) != exponent;
  }
  return finite;
}

bool mafat_pack_weights_are_finite(enum mafat_dtype type, const void *weights, size_t bytes)
{
  const struct mafat_dtype_traits *t = &mafat_dtypes[type];
  if (!t->exponent) return true;
  if (t->bits == 32) return mafat_pack_is_finite(weights, bytes / sizeof(float));
  return are_halves_finite(weights, bytes / sizeof(uint16_t), (uint16_t)t->exponent);
}

int mafat_pack_panel_begin(const struct mafat_layer *l, int filter)
{
  if (!mafat_layer_is_grouped(l)) return filter / MAFAT_PANEL * MAFAT_PANEL;
  /* in grouped layers a panel begins where a channel block or a group begins */
  int per_group = l->filters / l->groups,
      block = filter / MAFAT_CHANNEL_BLOCK * MAFAT_CHANNEL_BLOCK;
  int group = filter / per_group * per_group;
  return mafat_layer_is_depthwise(l) || block > group ? block : group;
}

int mafat_pack_list(const struct mafat_layer *l, int filter, struct mafat_block_slice *block_slices)
{
  if (mafat_layer_is_flat(l) || mafat_layer_is_depthwise(l)) {
    block_slices[0] = (struct mafat_block_slice){.n = mafat_layer_matrix(l).inputs};
    return 1;
  }
  int per_group = l->in.c / l->groups, group = filter / (l->filters / l->groups);
  struct mafat_span channels = {group * per_group, (group + 1) * per_group};
  return mafat_block_slices(mafat_layer_sources(l), channels, block_slices,
                            mafat_pack_block_slices(l));
}

int mafat_pack_block_slices(const struct mafat_layer *l)
{
  if (!mafat_layer_convolves(l)) return 1;
  return mafat_block_slices(mafat_layer_sources(l), mafat_span(0, l->in.c), NULL, 0);
}

void mafat_pack(const struct mafat_layer *l, const struct mafat_pack_part *part,
                struct mafat_block_slice *block_slices, struct mafat_packed_panels panels)
{
  switch (mafat_dtypes[part->constant->type].bits) {
  case 16: mafat_pack_halves(l, part, block_slices, panels); break;
  case 8: mafat_pack_bytes(l, part, block_slices, panels); break;
  default: mafat_pack_floats(l, part, block_slices, panels); break;
  }
}
