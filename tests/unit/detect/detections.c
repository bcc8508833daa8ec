/* Detects boxes and checks the result. Called by the suites in this folder. */
#include "tests/unit/detect/detections.h"

#include "predictor/plan/boxes_room.h"

#include <check.h>

struct mafat_detect_input test_detect_input(const struct mafat_network *n, int picture_w,
                                            int picture_h)
{
  static char memory[8 << 20];
  const struct mafat_shape shape = mafat_network_picture_shape(n);
  enum mafat_fit fit = n->letterbox ? MAFAT_FIT_LETTERBOX : MAFAT_FIT_STRETCH;
  struct mafat_detect_input in;
  mafat_detect_defaults(&in);
  in.capacity = memory;
  in.most_boxes = mafat_boxes_most(n, n->n_layers, 1000000);
  ck_assert_uint_le(mafat_boxes_room_bytes(in.most_boxes), sizeof memory);
  in.placement = mafat_placement_make(fit, picture_w, picture_h, shape.w, shape.h);
  in.n_layers = n->n_layers;
  return in;
}

struct mafat_detections *test_detect(const struct mafat_network *n,
                                     const struct mafat_detect_input *in, size_t boxes)
{
  struct mafat_diagnostic d;
  struct mafat_detections *found = NULL;
  int code = mafat_detect(&found, n, in, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_uint_eq(found->n, boxes);
  return found;
}

void test_check_box(const struct mafat_detection *found, const struct test_box *wanted,
                    double tolerance)
{
  ck_assert_int_eq(found->class_id, wanted->class);
  ck_assert_double_eq_tol((double)found->confidence, wanted->confidence, 1e-6);
  ck_assert_double_eq_tol((double)found->x, wanted->x, tolerance);
  ck_assert_double_eq_tol((double)found->y, wanted->y, tolerance);
  ck_assert_double_eq_tol((double)found->w, wanted->w, tolerance);
  ck_assert_double_eq_tol((double)found->h, wanted->h, tolerance);
}
