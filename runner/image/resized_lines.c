/* Resizes lines of a picture with the kernels of runner/kernels, in segments of as many pixels as a
 * kernel's buffer can hold. Called by runner/image/image.c. Touches only its arguments. */
#include "runner/image/decoder.h"
#include "runner/kernels/frame_rows.h"

#include <string.h>

/* Returns the number of resized pixels for which the stored pixels fit in a kernel's buffer. */
static int pixels_at_once(const struct mafat_image_across *across)
{
  enum { ENDS = 4 }; /* additional stored pixels: neighbours at both ends, and rounding */
  const struct mafat_image_axis *axis = &across->axis;
  const float most = MAFAT_RESAMPLE_BYTES / 3 - ENDS;
  return axis->scale * (float)axis->n <= most ? axis->n : 1 + (int)(most / axis->scale);
}

/* Sets c->begin and c->n_bytes to the range of stored bytes that the taps read. Positions of taps
 * are monotonic, except that the second pixel of the last tap may be before the second pixel of the
 * tap before it (mafat_image_row_tap). So it is enough to look at the first tap and the last
 * two. */
static void find_bytes(struct mafat_resample_call *c)
{
  const struct mafat_resample_tap *head = c->taps, *tail = c->taps + c->n_pixels - 1,
                                  *before = tail > head ? tail - 1 : tail;
  const int ends[] = {head->first,    head->second, before->first,
                      before->second, tail->first,  tail->second};
  int last = c->begin = ends[0];
  for (size_t i = 1; i < sizeof ends / sizeof *ends; i++) {
    if (ends[i] < c->begin) c->begin = ends[i];
    if (ends[i] > last) last = ends[i];
  }
  c->n_bytes = last + c->n_channels - c->begin;
}

static void resample(const struct mafat_image_across *across,
                     void (*kernel)(const struct mafat_resample_call *),
                     struct mafat_resample_call *c)
{
  const int n = across->axis.n, most = pixels_at_once(across);
  c->n_channels = across->channels;
  for (int i = 0; i < n; i += most) {
    c->taps = across->taps + i;
    c->n_pixels = most < n - i ? most : n - i;
    find_bytes(c);
    kernel(c);
    c->out += (size_t)c->n_pixels * c->out_stride;
  }
}

void mafat_image_resample_row(const struct mafat_image_across *across,
                              const struct mafat_resample_tap *line, const uint8_t *first,
                              const uint8_t *second, float *out)
{
  if (across->straight && line->first_weight == 1 && line->second_weight == 0) {
    across->kernels->scale_bytes(first + across->axis.first * across->channels, out,
                                 across->axis.n * across->channels);
    return;
  }
  resample(across, across->kernels->resample,
           &(struct mafat_resample_call){.lines = {first, second},
                                         .out = out,
                                         .out_stride = (size_t)across->channels,
                                         .weights = {line->first_weight, line->second_weight}});
}

void mafat_image_resample_column(const struct mafat_image_across *across,
                                 const struct mafat_resample_tap *line, const uint8_t *first,
                                 const uint8_t *second, float *out, size_t stride)
{
  resample(across, across->kernels->resample,
           &(struct mafat_resample_call){.lines = {first, second},
                                         .column = true,
                                         .out = out,
                                         .out_stride = stride,
                                         .weights = {line->first_weight, line->second_weight}});
}

static int least_of(const struct mafat_resample_tap *taps, int n)
{
  int least = taps[0].first;
  for (int i = 0; i < n; i++) {
    if (taps[i].first < least) least = taps[i].first;
    if (taps[i].second < least) least = taps[i].second;
  }
  return least;
}

bool mafat_image_plane_taps(struct mafat_plane_taps *planes, const struct mafat_resample_tap *taps,
                            int n, int channels)
{
  enum { FOUR = MAFAT_PLANE_PIXELS / 2, BYTES = 16 };
  for (int x = 0; x < n; x += FOUR) {
    struct mafat_plane_taps *p = &planes[x / MAFAT_PLANE_PIXELS];
    const int half = x / FOUR % 2, least = least_of(taps + x, n - x < FOUR ? n - x : FOUR);
    p->at[half] = least / channels;
    if (half == 0) p->at[1] = p->at[0]; /* overwritten if the group has a second half */
    for (int i = half * FOUR; i < MAFAT_PLANE_PIXELS; i++) {
      const int at = x / MAFAT_PLANE_PIXELS * MAFAT_PLANE_PIXELS + i;
      const struct mafat_resample_tap *tap = &taps[at < n && at < x + FOUR ? at : x];
      const int first = (tap->first - least) / channels, second = (tap->second - least) / channels;
      if (first >= BYTES || second >= BYTES) return false;
      p->first_weight[i] = tap->first_weight;
      p->second_weight[i] = tap->second_weight;
      memset(p->first + 4 * i, MAFAT_PLANE_NONE, 4);
      memset(p->second + 4 * i, MAFAT_PLANE_NONE, 4);
      p->first[4 * i] = (uint8_t)first;
      p->second[4 * i] = (uint8_t)second;
    }
  }
  return true;
}

/* Returns the number of groups of MAFAT_PLANE_PIXELS pixels in n pixels. */
static int eights(int n)
{
  return (n + MAFAT_PLANE_PIXELS - 1) / MAFAT_PLANE_PIXELS;
}

void mafat_image_resample_across(const struct mafat_image_across *across, const uint8_t *stored,
                                 float *out)
{
  if (across->planes) {
    across->lines->across_planes(across->planes, eights(across->axis.n), stored, across->axis.from,
                                 out);
    return;
  }
  resample(across, across->lines->across,
           &(struct mafat_resample_call){
               .lines = {stored, stored}, .out = out, .out_stride = (size_t)across->channels});
}

void mafat_image_resample_between(const struct mafat_image_across *across,
                                  const struct mafat_resample_tap *line, const float *first,
                                  const float *second, float *out)
{
  const float weights[] = {line->first_weight, line->second_weight};
  if (across->planes) across->lines->between_planes(first, second, weights, out, across->axis.n);
  else across->lines->between(first, second, weights, out, across->axis.n * across->channels);
}
