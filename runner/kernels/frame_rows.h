/* Rows of video: as red, green and blue, of whole numbers alone, so that all levels give the same bytes; and lines of the resized
 * picture, each stored row resized once, to the bits of kernels.h' resample. In tables of their own, for no run of pictures enters them. */
#ifndef MAFAT_RUNNER_KERNELS_FRAME_ROWS_H
#define MAFAT_RUNNER_KERNELS_FRAME_ROWS_H

#include "runner/kernels/kernels.h"

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

/* What eight pixels of the resized line are made of, in a plane: each of two bytes out of 16 that four of them have in common. The first one's place
 * in these, and three bytes of PLANE_NONE: shuffled so, they are numbers of 32 bits. */
enum { MAFAT_PLANE_PIXELS = 8, MAFAT_PLANE_NONE = 0x80 };

struct mafat_plane_taps {
  float first_weight[MAFAT_PLANE_PIXELS], second_weight[MAFAT_PLANE_PIXELS];
  uint8_t first[4 * MAFAT_PLANE_PIXELS], second[4 * MAFAT_PLANE_PIXELS];
  int at[2]; /* where these 16 bytes begin, which all may be read, of the first four pixels and the others */
};

struct mafat_frame_kernels {
  /* To the nearest byte, or the one beside it: sums of sixteenths, each of which was rounded down. */
  void (*colour)(const struct mafat_colour_call *c);
  /* Part of the first line alone, resized: first * a + second * b, of bytes / 255. */
  void (*across)(const struct mafat_resample_call *c);
  /* out = weights[0] * first + weights[1] * second, of n floats. */
  void (*between)(const float *first, const float *second, const float weights[2], float *out, int n);
  /* The same with colours apart until the end, to the same bits; all three or, where a level has nothing better than these above, none. Planes of
   * red, green and blue, of n bytes each, in c->rgb; */
  void (*colour_planes)(const struct mafat_colour_call *c);
  /* of them lines of eight times n pixels, a plane behind the other; */
  void (*across_planes)(const struct mafat_plane_taps *taps, int n, const uint8_t *planes, int width, float *out);
  /* of two such lines n pixels, of three floats each. */
  void (*between_planes)(const float *first, const float *second, const float weights[2], float *out, int n);
};

/* Of a level of kernels, by its name. */
const struct mafat_frame_kernels *mafat_frame_kernels_find(const char *level);

/* The levels' own; the first is plain C. */
extern const struct mafat_frame_kernels mafat_frame_kernels_portable, mafat_frame_kernels_avx2;

#endif
