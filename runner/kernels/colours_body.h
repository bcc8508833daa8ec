/* The kernel of colours.h, written once and compiled for each level: the including file defines COLOURS_NAME. Plain C, in runs that
 * compilers make vectors of. */
#include "runner/kernels/colours.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { COLOUR_RUN = 64 /* pixels at a time, an even number */ };

/* The upper half of a product, rounded down. */
INLINE int16_t colour_share(int16_t value, int16_t share)
{
  return (int16_t)((int32_t)value * share >> 16);
}

INLINE uint8_t colour_byte(int16_t sixteenths)
{
  enum { MOST = 16 * 256 - 1 };
  const int16_t above = sixteenths < 0 ? 0 : sixteenths, value = above > MOST ? MOST : above;
  return (uint8_t)(value >> 4);
}

/* Red, green and blue side by side. */
INLINE void colour_weave(const uint8_t *restrict red, const uint8_t *restrict green, const uint8_t *restrict blue, uint8_t *restrict rgb)
{
  for (int i = 0; i < COLOUR_RUN; i++) {
    rgb[3 * i] = red[i];
    rgb[3 * i + 1] = green[i];
    rgb[3 * i + 2] = blue[i];
  }
}

/* A run of pixels, two of which have their chroma in common. The rounding makes up for three products that are rounded down. */
static __attribute__((noinline)) void colour_run(const struct mafat_colour_rule *rule, const uint8_t *restrict luma, const uint8_t *restrict u,
                       const uint8_t *restrict v, uint8_t *restrict rgb)
{
  enum { HALF_AND_FLOORS = 8 + 1, SHIFT = 128 };
  int16_t chroma[3][COLOUR_RUN];
  uint8_t planes[3][COLOUR_RUN];
  for (int i = 0; i < COLOUR_RUN / 2; i++) {
    const int16_t du = (int16_t)((u[i] - 128) * SHIFT), dv = (int16_t)((v[i] - 128) * SHIFT);
    chroma[0][2 * i] = chroma[0][2 * i + 1] = colour_share(dv, rule->v_red);
    chroma[1][2 * i] = chroma[1][2 * i + 1] = (int16_t)(colour_share(du, rule->u_green) + colour_share(dv, rule->v_green));
    chroma[2][2 * i] = chroma[2][2 * i + 1] = colour_share(du, rule->u_blue);
  }
  for (int i = 0; i < COLOUR_RUN; i++) {
    const int16_t y = (int16_t)(colour_share((int16_t)((luma[i] - rule->black) * SHIFT), rule->luma) + HALF_AND_FLOORS);
    planes[0][i] = colour_byte((int16_t)(y + chroma[0][i]));
    planes[1][i] = colour_byte((int16_t)(y + chroma[1][i]));
    planes[2][i] = colour_byte((int16_t)(y + chroma[2][i]));
  }
  colour_weave(planes[0], planes[1], planes[2], rgb);
}

/* Every step-th byte, n of them. */
INLINE const uint8_t *colour_gather(const uint8_t *restrict from, int step, uint8_t *restrict to, int n)
{
  if (step == 1) return from;
  for (int i = 0; i < n; i++) to[i] = from[i * step];
  return to;
}

INLINE void colour_row(const struct mafat_colour_call *c, const int luma_step, const int chroma_step)
{
  uint8_t luma[COLOUR_RUN], u[COLOUR_RUN / 2], v[COLOUR_RUN / 2], rgb[3 * COLOUR_RUN];
  int x = 0;
  for (; x + COLOUR_RUN <= c->n; x += COLOUR_RUN)
    colour_run(c->rule, colour_gather(c->luma + x * luma_step, luma_step, luma, COLOUR_RUN),
               colour_gather(c->u + x / 2 * chroma_step, chroma_step, u, COLOUR_RUN / 2),
               colour_gather(c->v + x / 2 * chroma_step, chroma_step, v, COLOUR_RUN / 2), c->rgb + 3 * x);
  if (x == c->n) return;
  for (int i = 0; i < COLOUR_RUN; i++) { /* the last pixel again and again */
    const int from = x + i < c->n ? x + i : c->n - 1;
    luma[i] = c->luma[from * luma_step];
    u[i / 2] = c->u[from / 2 * chroma_step];
    v[i / 2] = c->v[from / 2 * chroma_step];
  }
  colour_run(c->rule, luma, u, v, rgb);
  memcpy(c->rgb + 3 * x, rgb, 3 * (size_t)(c->n - x));
}

void COLOURS_NAME(const struct mafat_colour_call *c)
{
  if (c->luma_step == 2) colour_row(c, 2, 4);
  else if (c->chroma_step == 2) colour_row(c, 1, 2);
  else colour_row(c, 1, 1);
}
