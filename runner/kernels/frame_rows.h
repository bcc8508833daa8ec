/* Video kernels: conversion of YUV rows to RGB, and resizing of lines. The conversion uses integer
 * arithmetic, so all levels give the same bytes. Resizing gives the same bits as `resample` in
 * runner/kernels/kernels.h, but in two steps, so that each stored row is resized once. These
 * kernels have their own tables because runs on pictures never call them. They allocate nothing.
 * Included by runner/image and runner/kernels. */
#ifndef MAFAT_RUNNER_KERNELS_FRAME_ROWS_H
#define MAFAT_RUNNER_KERNELS_FRAME_ROWS_H

#include "runner/kernels/kernels.h"

/* Coefficients of the conversion from YUV to RGB, in units of 2^-13. `luma` is the factor of
 * (luma - black), the others are factors of (chroma - 128); those of green are negative. `black` is
 * the luma of black, not a coefficient. */
struct mafat_colour_rule {
  int16_t luma, v_red, u_green, v_green, u_blue;
  int16_t black;
};

/* A row of n pixels to convert; two neighboring pixels share u and v. Steps are the bytes between
 * samples of luma and of chroma: 1 and 1 (planes), 1 and 2 (u and v interleaved), 2 and 4 (all
 * interleaved). */
struct mafat_colour_call {
  const struct mafat_colour_rule *rule;
  const uint8_t *luma, *u, *v;
  int luma_step, chroma_step;
  uint8_t *rgb; /* (n, 3) */
  int n;
};

/* Describes how eight neighboring pixels of a resized line are computed in one plane. Each pixel is
 * a weighted sum of two bytes of the line, `first` and `second`. A shuffle takes the bytes of four
 * pixels from a vector of 16 bytes. A byte has four shuffle indices, its position and three times
 * MAFAT_PLANE_NONE, so that the shuffle gives a 32-bit integer. */
enum { MAFAT_PLANE_PIXELS = 8, MAFAT_PLANE_NONE = 0x80 };

struct mafat_plane_taps {
  float first_weight[MAFAT_PLANE_PIXELS], second_weight[MAFAT_PLANE_PIXELS];
  uint8_t first[4 * MAFAT_PLANE_PIXELS], second[4 * MAFAT_PLANE_PIXELS];
  /* offsets in the line of the 16 bytes for the first and the last four pixels; all 16 must be
   * readable */
  int at[2];
};

struct mafat_frame_kernels {
  /* Converts to the nearest byte or its neighbor: the terms of a sum are rounded down to 1/16. */
  void (*colour)(const struct mafat_colour_call *c);
  /* Resizes one line, lines[0]: a pixel is the weighted sum of two bytes, each divided by 255. */
  void (*across)(const struct mafat_resample_call *c);
  /* out = weights[0] * first + weights[1] * second, n floats. */
  void (*between)(const float *first, const float *second, const float weights[2], float *out,
                  int n);
  /* The next three functions do what the first three do, but in planes, and give the same bits. A
   * level has all three or, if they are not faster, none (NULL). Converts to planes of red, green
   * and blue, n bytes each, in c->rgb. */
  void (*colour_planes)(const struct mafat_colour_call *c);
  /* Resizes three planes of `width` bytes to lines of 8 * n floats, plane after plane. */
  void (*across_planes)(const struct mafat_plane_taps *taps, int n, const uint8_t *planes,
                        int width, float *out);
  /* Interpolates between two of these lines; stores n pixels of three floats. */
  void (*between_planes)(const float *first, const float *second, const float weights[2],
                         float *out, int n);
};

/* Returns the video kernels of a kernel level, by name. */
const struct mafat_frame_kernels *mafat_frame_kernels_find(const char *level);

/* tables of the levels; portable is plain C */
extern const struct mafat_frame_kernels mafat_frame_kernels_portable, mafat_frame_kernels_avx2;

#endif
