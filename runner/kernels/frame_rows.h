/* Video kernels: conversion of YUV rows to RGB, and resizing of lines. The conversion uses integer
 * arithmetic, so all levels give the same bytes. Resizing gives the same bits as `resample` in
 * runner/kernels/kernels.h; each stored row is resized once. These kernels have tables of their own
 * because runs on pictures never enter them. Kernels allocate nothing. Included by runner/image and
 * runner/kernels. */
#ifndef MAFAT_RUNNER_KERNELS_FRAME_ROWS_H
#define MAFAT_RUNNER_KERNELS_FRAME_ROWS_H

#include "runner/kernels/kernels.h"

/* Coefficients of YUV to RGB, in units of 2^-13. `luma` scales luma above `black`, the others
 * chroma above 128. Green's are negative. */
struct mafat_colour_rule {
  int16_t luma, v_red, u_green, v_green, u_blue;
  int16_t black;
};

/* A row of n pixels to convert; two pixels share u and v. Steps are bytes between samples of luma
 * and chroma: 1 and 1 (planes), 1 and 2 (u and v interleaved), 2 and 4 (all interleaved). */
struct mafat_colour_call {
  const struct mafat_colour_rule *rule;
  const uint8_t *luma, *u, *v;
  int luma_step, chroma_step;
  uint8_t *rgb; /* (n, 3) */
  int n;
};

/* Sources of eight pixels of a resized line in one plane. Each pixel mixes two of 16 bytes that a
 * group of four pixels shares. A shuffle index is the byte's position and three times
 * MAFAT_PLANE_NONE, which gives a 32-bit integer. */
enum { MAFAT_PLANE_PIXELS = 8, MAFAT_PLANE_NONE = 0x80 };

struct mafat_plane_taps {
  float first_weight[MAFAT_PLANE_PIXELS], second_weight[MAFAT_PLANE_PIXELS];
  uint8_t first[4 * MAFAT_PLANE_PIXELS], second[4 * MAFAT_PLANE_PIXELS];
  /* offsets of the 16 bytes for the first and the last four pixels; all 16 must be readable */
  int at[2];
};

struct mafat_frame_kernels {
  /* Converts to the nearest byte, or one beside it: sums of sixteenths that were each rounded
   * down. */
  void (*colour)(const struct mafat_colour_call *c);
  /* Resizes the first line alone: first * a + second * b of bytes / 255. */
  void (*across)(const struct mafat_resample_call *c);
  /* out = weights[0] * first + weights[1] * second, n floats. */
  void (*between)(const float *first, const float *second, const float weights[2], float *out,
                  int n);
  /* The same in planes, with identical bits. A level has all three or, if they gain nothing, none.
   * Converts to planes of red, green and blue, n bytes each, in c->rgb. */
  void (*colour_planes)(const struct mafat_colour_call *c);
  /* Resizes them to lines of 8 * n pixels, plane after plane. */
  void (*across_planes)(const struct mafat_plane_taps *taps, int n, const uint8_t *planes,
                        int width, float *out);
  /* Mixes two such lines to n pixels of three floats. */
  void (*between_planes)(const float *first, const float *second, const float weights[2],
                         float *out, int n);
};

/* Returns the video kernels of a kernel level, by name. */
const struct mafat_frame_kernels *mafat_frame_kernels_find(const char *level);

/* tables of the levels; portable is plain C */
extern const struct mafat_frame_kernels mafat_frame_kernels_portable, mafat_frame_kernels_avx2;

#endif
