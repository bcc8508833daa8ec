/* Lists of sources: finding an operand's rows, and building lists.
 *
 * All bands are divided into slices at the same channels. A slice's channels have the same
 * alignment to channel blocks in all bands, and the blocks have the same width. So channel blocks
 * (predictor/plan/packing.h), order of summation and packed weights of the first band hold for the
 * whole map. A reader of a row only needs the position where it begins.
 *
 * Included by formats/graph and network/. Allocates lists, which the caller frees. */
#ifndef MAFAT_NETWORK_SOURCES_H
#define MAFAT_NETWORK_SOURCES_H

#include "base/box.h"
#include "network/layer.h"

/* Sources of all bands. */
static inline int mafat_sources_count(const struct mafat_sources *s)
{
  return s->n * s->n_bands;
}

/* First row of source `index` in the operand. */
static inline int mafat_sources_row(const struct mafat_sources *s, int index)
{
  int row = 0;
  for (int i = 0; i + s->n <= index; i += s->n) row += s->list[i].n_rows;
  return row;
}

/* Rows of the tensor of source `index` that hold rows `in` of the operand. `in` lies in the map. */
static inline struct mafat_span mafat_sources_rows(const struct mafat_sources *s, int index,
                                                   struct mafat_span in)
{
  const struct mafat_source *source = &s->list[index];
  if (s->n_bands == 1 && source->first_row == 0) return in; /* the common case */
  int row = mafat_sources_row(s, index);
  struct mafat_span held =
      mafat_span_clip(mafat_span(in.begin - row, in.end - row), source->n_rows);
  if (mafat_span_is_empty(held)) return mafat_span(0, 0);
  return mafat_span(held.begin + source->first_row, held.end + source->first_row);
}

/* Slice `index` of the band that holds row *y of the operand; *y becomes the tensor's row. */
static inline const struct mafat_source *mafat_sources_at(const struct mafat_sources *s, int index,
                                                          int *y)
{
  const struct mafat_source *source = &s->list[index];
  for (; *y >= source->n_rows; source += s->n) *y -= source->n_rows;
  *y += source->first_row;
  return source;
}

/* ---- building lists ----
 *
 * The caller frees the lists. MAFAT_ENOMEM; MAFAT_EUNSUPPORTED: more than MAFAT_MAX_SOURCES. After
 * a failure the destination is unchanged. Tensors are not checked here; mafat_network_check_operand
 * (network.h) does that. */

/* Selects rows and channels of `from`; neither is empty. */
int mafat_sources_part(struct mafat_sources *out, const struct mafat_sources *from,
                       struct mafat_span rows, struct mafat_span channels);
/* Appends the channels of `more`, which has the same rows. */
int mafat_sources_join_channels(struct mafat_sources *to, const struct mafat_sources *more);
/* Appends the rows of `below`, which has the same channels; both are divided at the slices of each
 * other. */
int mafat_sources_join_rows(struct mafat_sources *to, const struct mafat_sources *below);

#endif
