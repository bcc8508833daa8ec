/* Lists of sources: how rows of an operand are found among them, and how lists are made.
 *
 * All bands are cut into slices at the same channels, and each slice's channels lie alike in all of
 * them: in the same places of their blocks, or within one block; in blocks that are equally wide. So
 * pieces (predictor/plan/packing.h), and with them the order of summation, packed weights and the floats
 * between pixels, are those of the first band for the whole map, and whoever reads a row needs to
 * look for nothing but where it begins. */
#ifndef MAFAT_NETWORK_SOURCES_H
#define MAFAT_NETWORK_SOURCES_H

#include "base/box.h"
#include "network/layer.h"

/* Of all bands. */
static inline int mafat_sources_count(const struct mafat_sources *s)
{
  return s->n * s->n_bands;
}

/* The row of the operand that source `index` of the list begins at. */
static inline int mafat_sources_row(const struct mafat_sources *s, int index)
{
  int row = 0;
  for (int i = 0; i + s->n <= index; i += s->n) row += s->list[i].n_rows;
  return row;
}

/* Rows of the tensor of source `index` among rows `in` of the operand, which lie in the map. */
static inline struct mafat_span mafat_sources_rows(const struct mafat_sources *s, int index, struct mafat_span in)
{
  const struct mafat_source *source = &s->list[index];
  if (s->n_bands == 1 && source->first_row == 0) return in; /* most are so */
  int row = mafat_sources_row(s, index);
  struct mafat_span held = mafat_span_clip(mafat_span(in.begin - row, in.end - row), source->n_rows);
  if (mafat_span_is_empty(held)) return mafat_span(0, 0);
  return mafat_span(held.begin + source->first_row, held.end + source->first_row);
}

/* Slice `index` where it holds row *y of the operand, which becomes the tensor's. */
static inline const struct mafat_source *mafat_sources_at(const struct mafat_sources *s, int index, int *y)
{
  const struct mafat_source *source = &s->list[index];
  for (; *y >= source->n_rows; source += s->n) *y -= source->n_rows;
  *y += source->first_row;
  return source;
}

/* ---- made of others ----
 *
 * Lists are the caller's to free. MAFAT_ENOMEM, MAFAT_EUNSUPPORTED: more than MAFAT_MAX_SOURCES; then
 * what should grow is as it was. Tensors are not looked at here: whether the result is an operand,
 * mafat_network_check_operand (network.h) says. */

/* Some rows and channels of what `from` is; neither is empty. */
int mafat_sources_part(struct mafat_sources *out, const struct mafat_sources *from, struct mafat_span rows,
                       struct mafat_span channels);
/* `more`, of as many rows, behind what there is. */
int mafat_sources_join_channels(struct mafat_sources *to, const struct mafat_sources *more);
/* `below`, of as many channels, under what there is; each is cut into slices where the other one is, too. */
int mafat_sources_join_rows(struct mafat_sources *to, const struct mafat_sources *below);

#endif
