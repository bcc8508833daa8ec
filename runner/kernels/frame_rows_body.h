/* Video kernels of frame_rows.h, written once in plain C that compilers vectorize, and compiled for
 * each level. The including file defines FRAME_ROWS_TABLE, and FRAME_ROWS_PLANES if the level has
 * kernels for planes. Products and sums are never fused. Included by frame_rows_portable.c and
 * runner/kernels/x86/frame_rows_avx2.c. */
#include "runner/kernels/frame_rows.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- resizing ---- */

/* defined by resample.h, but not used by some levels */
static void resample(const struct mafat_resample_call *c) __attribute__((unused));
#include "runner/kernels/resample.h"

/* Resizes a line. Each pixel is stored as a whole vector, whose excess lanes the next pixels
 * overwrite. The last pixels are stored without excess lanes. */
INLINE void across_channels(const struct mafat_resample_call *c, const float *line,
                            const int n_channels)
{
  const struct mafat_resample_tap *restrict tap = c->taps;
  const int n_next = (RESAMPLE_LANES - 1) / n_channels,
            n_whole = c->n_pixels > n_next ? c->n_pixels - n_next : 0;
  float *restrict out = c->out;
  for (int i = 0; i < n_whole; i++, tap++, out += n_channels) {
    const quad v = pixel_between(tap, line, c->begin);
    memcpy(out, &v, sizeof v);
  }
  for (int i = n_whole; i < c->n_pixels; i++, tap++, out += n_channels) {
    const quad v = pixel_between(tap, line, c->begin);
    memcpy(out, &v, (size_t)n_channels * sizeof *out);
  }
}

static void across(const struct mafat_resample_call *c)
{
  float line[RESAMPLE_ROOM];
  scale_bytes(c->lines[0] + c->begin, line, c->n_bytes);
  memset(line + c->n_bytes, 0, RESAMPLE_LANES * sizeof(float));
  if (c->n_channels == 3) across_channels(c, line, 3);
  else across_channels(c, line, 1);
}

static void between(const float *restrict first, const float *restrict second,
                    const float weights[2], float *restrict out, int n)
{
  const float above = weights[0], below = weights[1];
  for (int i = 0; i < n; i++) out[i] = above * first[i] + below * second[i];
}

/* ---- colours ---- */

enum { COLOUR_RUN = 64 /* pixels at a time; even */ };

/* Returns the upper 16 bits of a product, rounded toward minus infinity. */
INLINE int16_t colour_share(int16_t value, int16_t share)
{
  return (int16_t)((int32_t)value * share >> 16);
}

/* Rounds down a pixel value, given in sixteenths, and clamps it to 0 to 255. */
INLINE uint8_t colour_byte(int16_t sixteenths)
{
  enum { MOST = 16 * 256 - 1 };
  const int16_t above = sixteenths < 0 ? 0 : sixteenths, value = above > MOST ? MOST : above;
  return (uint8_t)(value >> 4);
}

/* Interleaves red, green and blue. */
INLINE void colour_weave(const uint8_t *restrict red, const uint8_t *restrict green,
                         const uint8_t *restrict blue, uint8_t *restrict rgb)
{
  for (int i = 0; i < COLOUR_RUN; i++) {
    rgb[3 * i] = red[i];
    rgb[3 * i + 1] = green[i];
    rgb[3 * i + 2] = blue[i];
  }
}

/* Converts COLOUR_RUN pixels; two neighbors share chroma. Values are in sixteenths. Adding
 * HALF_AND_FLOORS, 8 + 1, makes colour_byte round to the nearest; the 1 makes up for the up to
 * three products that were rounded down. */
static __attribute__((noinline)) void colour_run(const struct mafat_colour_rule *rule,
                                                 const uint8_t *restrict luma,
                                                 const uint8_t *restrict u,
                                                 const uint8_t *restrict v, uint8_t *restrict rgb)
{
  enum { HALF_AND_FLOORS = 8 + 1, SHIFT = 128 };
  int16_t chroma[3][COLOUR_RUN];
  uint8_t planes[3][COLOUR_RUN];
  for (int i = 0; i < COLOUR_RUN / 2; i++) {
    const int16_t du = (int16_t)((u[i] - 128) * SHIFT), dv = (int16_t)((v[i] - 128) * SHIFT);
    chroma[0][2 * i] = chroma[0][2 * i + 1] = colour_share(dv, rule->v_red);
    chroma[1][2 * i] = chroma[1][2 * i + 1] =
        (int16_t)(colour_share(du, rule->u_green) + colour_share(dv, rule->v_green));
    chroma[2][2 * i] = chroma[2][2 * i + 1] = colour_share(du, rule->u_blue);
  }
  for (int i = 0; i < COLOUR_RUN; i++) {
    const int16_t y =
        (int16_t)(colour_share((int16_t)((luma[i] - rule->black) * SHIFT), rule->luma) +
                  HALF_AND_FLOORS);
    planes[0][i] = colour_byte((int16_t)(y + chroma[0][i]));
    planes[1][i] = colour_byte((int16_t)(y + chroma[1][i]));
    planes[2][i] = colour_byte((int16_t)(y + chroma[2][i]));
  }
  colour_weave(planes[0], planes[1], planes[2], rgb);
}

/* Returns n bytes of `from`, `step` bytes apart. They are copied to `to`, unless step is 1. */
INLINE const uint8_t *colour_gather(const uint8_t *restrict from, int step, uint8_t *restrict to,
                                    int n)
{
  if (step == 1) return from;
  for (int i = 0; i < n; i++) to[i] = from[i * step];
  return to;
}

INLINE void colour_row(const struct mafat_colour_call *c, const int luma_step,
                       const int chroma_step)
{
  uint8_t luma[COLOUR_RUN], u[COLOUR_RUN / 2], v[COLOUR_RUN / 2], rgb[3 * COLOUR_RUN];
  int x = 0;
  for (; x + COLOUR_RUN <= c->n; x += COLOUR_RUN)
    colour_run(c->rule, colour_gather(c->luma + x * luma_step, luma_step, luma, COLOUR_RUN),
               colour_gather(c->u + x / 2 * chroma_step, chroma_step, u, COLOUR_RUN / 2),
               colour_gather(c->v + x / 2 * chroma_step, chroma_step, v, COLOUR_RUN / 2),
               c->rgb + 3 * x);
  if (x == c->n) return;
  for (int i = 0; i < COLOUR_RUN; i++) { /* the last pixel is repeated */
    const int from = x + i < c->n ? x + i : c->n - 1;
    luma[i] = c->luma[from * luma_step];
    u[i / 2] = c->u[from / 2 * chroma_step];
    v[i / 2] = c->v[from / 2 * chroma_step];
  }
  colour_run(c->rule, luma, u, v, rgb);
  memcpy(c->rgb + 3 * x, rgb, 3 * (size_t)(c->n - x));
}

static void colour(const struct mafat_colour_call *c)
{
  if (c->luma_step == 2) colour_row(c, 2, 4);
  else if (c->chroma_step == 2) colour_row(c, 1, 2);
  else colour_row(c, 1, 1);
}

#ifndef FRAME_ROWS_PLANES
#define FRAME_ROWS_PLANES .colour_planes = NULL
#endif

const struct mafat_frame_kernels FRAME_ROWS_TABLE = {
    .colour = colour, .across = across, .between = between, FRAME_ROWS_PLANES};
