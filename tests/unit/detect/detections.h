/* Asking for detections, and looking at them; a failure fails the test, with the diagnostic. */
#ifndef MAFAT_TESTS_UNIT_DETECT_DETECTIONS_H
#define MAFAT_TESTS_UNIT_DETECT_DETECTIONS_H

#include "runner/detect/detect.h"

/* Input of detection from all layers of the network, with capacity for all boxes, in the same
 * memory each time. The caller sets the function that reads values. */
struct mafat_detect_input test_detect_input(const struct mafat_network *n, int picture_w,
                                            int picture_h);
/* So many, to be closed. */
struct mafat_detections *test_detect(const struct mafat_network *n,
                                     const struct mafat_detect_input *in, size_t boxes);

struct test_box {
  int class;
  double confidence, x, y, w, h;
};

/* Within so much of each side. */
void test_check_box(const struct mafat_detection *found, const struct test_box *wanted,
                    double tolerance);

#endif
