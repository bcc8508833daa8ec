/* Detects boxes and checks them. A failure fails the test and prints the diagnostic. Included by
 * the suites in this folder. */
#ifndef MAFAT_TESTS_UNIT_DETECT_DETECTIONS_H
#define MAFAT_TESTS_UNIT_DETECT_DETECTIONS_H

#include "runner/detect/detect.h"

/* Returns the input of a detection from all layers of the network. Its memory is static and has
 * capacity for all boxes; every call uses the same memory. The caller sets the function that reads
 * values. */
struct mafat_detect_input test_detect_input(const struct mafat_network *n, int picture_w,
                                            int picture_h);
/* Detects, expects this number of boxes, and returns them; the caller closes them. */
struct mafat_detections *test_detect(const struct mafat_network *n,
                                     const struct mafat_detect_input *in, size_t boxes);

struct test_box {
  int class;
  double confidence, x, y, w, h;
};

/* Compares class, confidence and each side of a box, within the tolerance. */
void test_check_box(const struct mafat_detection *found, const struct test_box *wanted,
                    double tolerance);

#endif
