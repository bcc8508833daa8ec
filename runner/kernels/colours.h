/* Rows of video as red, green and blue, of whole numbers alone: all levels give the same bytes. In a table of their own,
 * for no run of pictures enters them. */
#ifndef MAFAT_RUNNER_KERNELS_COLOURS_H
#define MAFAT_RUNNER_KERNELS_COLOURS_H

#include <stdint.h>

/* What luma and chroma become: of each 2^-13 of a unit, for so much luma above black, and chroma above 128. Green's are below 0. */
struct mafat_colour_rule {
  int16_t luma, v_red, u_green, v_green, u_blue;
  int16_t black;
};

/* A row of video, n pixels, as red, green and blue: two pixels have one u and one v. Steps are bytes from one to the
 * next: 1 and 1 (planes), 1 and 2 (u and v in turns), 2 and 4 (all in turns). */
struct mafat_colour_call {
  const struct mafat_colour_rule *rule;
  const uint8_t *luma, *u, *v;
  int luma_step, chroma_step;
  uint8_t *rgb; /* (n, 3) */
  int n;
};

/* To the nearest byte, or the one beside it: sums of sixteenths, each of which was rounded down. */
typedef void mafat_colours(const struct mafat_colour_call *c);

/* Of a level of kernels, by its name. */
mafat_colours *mafat_colours_find(const char *level);

/* The levels' own; the first is plain C. */
mafat_colours mafat_colours_portable, mafat_colours_avx2;

#endif
