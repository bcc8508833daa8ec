/* Lists of sources: finding an operand's rows, and building lists. An operand consists of bands of
 * rows, and each band of slices of channels (struct mafat_sources in network/layer.h).
 *
 * All bands are divided into slices at the same channels. A slice's channels have the same
 * alignment to channel blocks in all bands, and the blocks have the same width. Therefore the order
 * of summation and the packed weights are the same for all bands, and a kernel only needs the
 * address where each row begins.
 *
 * Included by formats/graph and network/. Allocates lists, which the caller frees. */
#ifndef MAFAT_NETWORK_SOURCES_H
#define MAFAT_NETWORK_SOURCES_H

#include "base/box.h"
#include "network/layer.h"

/* Returns the number of sources in all bands. */
static inline int mafat_sources_count(const struct mafat_sources *s)
{
  return s->n * s->n_bands;
}

/* Returns the row of the operand where source `index` begins. */
static inline int mafat_sources_row(const struct mafat_sources *s, int index)
{
  int row = 0;
  for (int i = 0; i + s->n <= index; i += s->n) row += s->list[i].n_rows;
  return row;
}

/* Returns the rows of source `index`'s tensor that hold rows `in` of the operand; empty if the
 * source has none of them. `in` is inside the map. */
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

/* Returns slice `index` of the band that holds row *y of the operand; *y becomes the tensor's
 * row. */
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
 * a failure `to` is unchanged, and out->list is NULL. Tensors are not checked here;
 * mafat_network_check_operand (network.h) does that. */

/* Selects rows and channels of `from`; neither is empty. */
int mafat_sources_part(struct mafat_sources *out, const struct mafat_sources *from,
                       struct mafat_span rows, struct mafat_span channels);
/* Appends the channels of `more`, which has the same rows. */
int mafat_sources_join_channels(struct mafat_sources *to, const struct mafat_sources *more);
/* Appends the rows of `below`, which has the same channels. The slices of the result end wherever a
 * slice of either list ends. */
int mafat_sources_join_rows(struct mafat_sources *to, const struct mafat_sources *below);

#endif
