/* Builds lists of sources: slices of tensors that together are an operand. A list has n_bands bands
 * (ranges of rows), each of n slices (ranges of channels). A new list is a part of another one, or
 * joins two along channels or rows. Called by formats/graph (graph.c, joining.c, shape.c).
 * Allocates lists, which the caller frees. */
#include "network/sources.h"

#include "base/blocks.h"
#include "base/error.h"

#include <stdlib.h>

/* ---- boundaries ---- */

/* Returns the end of the band that contains a row. */
static int band_end(const struct mafat_sources *s, int row)
{
  int end = 0;
  for (int b = 0; b < s->n_bands && end <= row; b++) end += s->list[b * s->n].n_rows;
  return end;
}

/* Returns the end of the slice that contains a channel. */
static int slice_end(const struct mafat_sources *s, int channel)
{
  int end = 0;
  for (int i = 0; i < s->n && end <= channel; i++) end += s->list[i].n;
  return end;
}

static int all_rows(const struct mafat_sources *s)
{
  return mafat_sources_row(s, mafat_sources_count(s));
}

static int all_channels(const struct mafat_sources *s)
{
  int n = 0;
  for (int i = 0; i < s->n; i++) n += s->list[i].n;
  return n;
}

/* Returns the source with these rows and channels of the operand, which are in one band and one
 * slice. */
static struct mafat_source cell(const struct mafat_sources *s, struct mafat_span rows,
                                struct mafat_span channels)
{
  int band = 0, slice = 0, row = 0, channel = 0;
  for (; row + s->list[band * s->n].n_rows <= rows.begin; band++)
    row += s->list[band * s->n].n_rows;
  for (; channel + s->list[slice].n <= channels.begin; slice++) channel += s->list[slice].n;
  const struct mafat_source *from = &s->list[band * s->n + slice];
  return (struct mafat_source){from->tensor, from->first + channels.begin - channel,
                               mafat_span_size(channels), from->first_row + rows.begin - row,
                               mafat_span_size(rows)};
}

/* ---- building lists ---- */

/* Allocates a list of n slices in each of n_bands bands. */
static int make_room(struct mafat_sources *s, int n, int n_bands)
{
  *s = (struct mafat_sources){NULL, 0, 0};
  if (n > MAFAT_MAX_SOURCES || n_bands > MAFAT_MAX_SOURCES || n * n_bands > MAFAT_MAX_SOURCES)
    return MAFAT_EUNSUPPORTED;
  *s = (struct mafat_sources){malloc((size_t)(n * n_bands) * sizeof *s->list), n, n_bands};
  return s->list ? MAFAT_OK : MAFAT_ENOMEM;
}

/* Frees list *to and replaces it by `made`, unless `code` is an error. Returns `code`. */
static int replace(struct mafat_sources *to, int code, struct mafat_sources made)
{
  if (code) return code;
  free(to->list);
  *to = made;
  return MAFAT_OK;
}

int mafat_sources_part(struct mafat_sources *out, const struct mafat_sources *from,
                       struct mafat_span rows, struct mafat_span channels)
{
  int n = 0, n_bands = 0;
  for (int c = channels.begin; c < channels.end; c = slice_end(from, c)) n++;
  for (int y = rows.begin; y < rows.end; y = band_end(from, y)) n_bands++;
  int code = make_room(out, n, n_bands);
  struct mafat_source *next = out->list;
  for (int y = rows.begin, below; y < rows.end && code == MAFAT_OK; y = below) {
    below = mafat_min(band_end(from, y), rows.end);
    for (int c = channels.begin, end_channel; c < channels.end; c = end_channel) {
      end_channel = mafat_min(slice_end(from, c), channels.end);
      *next++ = cell(from, mafat_span(y, below), mafat_span(c, end_channel));
    }
  }
  return code;
}

int mafat_sources_join_channels(struct mafat_sources *to, const struct mafat_sources *more)
{
  struct mafat_sources made;
  int rows = all_rows(to), n_bands = 0;
  for (int y = 0; y < rows; y = mafat_min(band_end(to, y), band_end(more, y))) n_bands++;
  int code = make_room(&made, to->n + more->n, n_bands);
  struct mafat_source *next = made.list;
  for (int y = 0, below; y < rows && code == MAFAT_OK; y = below) {
    below = mafat_min(band_end(to, y), band_end(more, y));
    for (int k = 0; k < 2; k++) {
      const struct mafat_sources *s = k ? more : to;
      for (int c = 0, n = all_channels(s), end_channel; c < n; c = end_channel) {
        end_channel = slice_end(s, c);
        *next++ = cell(s, mafat_span(y, below), mafat_span(c, end_channel));
      }
    }
  }
  return replace(to, code, made);
}

/* Extends `lanes` by the positions that `channel` has within its channel block in each band. */
static void note_lanes(const struct mafat_sources *s, int channel, struct mafat_span *lanes)
{
  for (int b = 0, y = 0; b < s->n_bands; y += s->list[b++ * s->n].n_rows) {
    int lane =
        cell(s, mafat_span(y, y + 1), mafat_span(channel, channel + 1)).first % MAFAT_CHANNEL_BLOCK;
    *lanes = mafat_span_hull(*lanes, mafat_span(lane, lane + 1));
  }
}

/* Returns the end of the slice that begins at `channel` when two lists are joined by rows: the
 * nearest slice end in either list. If the channel's position in its block differs between bands,
 * the slice also ends where a channel block ends. */
static int joined_end(const struct mafat_sources *a, const struct mafat_sources *b, int channel)
{
  struct mafat_span lanes = {0, 0};
  int end = mafat_min(slice_end(a, channel), slice_end(b, channel));
  note_lanes(a, channel, &lanes);
  note_lanes(b, channel, &lanes);
  return mafat_span_size(lanes) == 1
             ? end
             : mafat_min(end, channel + MAFAT_CHANNEL_BLOCK - (lanes.end - 1));
}

int mafat_sources_join_rows(struct mafat_sources *to, const struct mafat_sources *below)
{
  struct mafat_sources made;
  int channels = all_channels(to), n = 0;
  for (int c = 0; c < channels; c = joined_end(to, below, c)) n++;
  int code = make_room(&made, n, to->n_bands + below->n_bands);
  for (int c = 0, i = 0, end_channel; c < channels && code == MAFAT_OK; c = end_channel, i++) {
    struct mafat_source *next = &made.list[i];
    end_channel = joined_end(to, below, c);
    for (int k = 0; k < 2; k++) {
      const struct mafat_sources *s = k ? below : to;
      for (int y = 0, rows = all_rows(s), end; y < rows; y = end, next += n) {
        end = band_end(s, y);
        *next = cell(s, mafat_span(y, end), mafat_span(c, end_channel));
      }
    }
  }
  return replace(to, code, made);
}
