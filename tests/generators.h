/* Two small ways of cutting that only the tests know: they prove that layout,
 * executor and kernels take panels and channel slices without knowing who made
 * the steps. */
#ifndef MAFAT_TESTS_GENERATORS_H
#define MAFAT_TESTS_GENERATORS_H

#include "predictor/schedule.h"

/* A group of two convolutions, the second 1x1: as soon as a panel of the first
 * is there, the second takes it as a slice of its input channels. The wide
 * tensor between them never exists (fan-out and fan-in). */
extern const struct mafat_generator test_generator_fused;

/* Whole maps, a panel of filters at a time; convolutions get their input
 * channels in slices that end at pieces, continuing the sums. */
extern const struct mafat_generator test_generator_panels;

#endif
