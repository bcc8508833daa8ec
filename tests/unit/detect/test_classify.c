/* Covers runner/detect/detect.c: finds the layer whose output is the classes, and lists the
 * likeliest classes. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "tests/support/cells.h"
#include "tests/support/support.h"

Suite *classify_suite(void);

static void make_classifier(int h, int w, int c)
{
  cells_start(64, 64, true);
  cells_add_layer(MAFAT_AVGPOOL, h, w, c);
  cells_add_layer(MAFAT_SOFTMAX, h, w, c);
  cells_add_layer(MAFAT_COST, h, w, c);
}

START_TEST(test_classifier_is_recognised)
{
  make_classifier(1, 1, 8);
  ck_assert_int_eq(mafat_classify_layer(&cells_network, 3), 1);
  ck_assert_int_eq(mafat_classify_layer(&cells_network, 2), 1);
  ck_assert_int_eq(mafat_classify_layer(&cells_network, 1), -1);
  ck_assert_int_eq(mafat_classify_layer(&cells_network, 0), -1);
  cells_add_layer(MAFAT_CONVOLUTIONAL, 1, 1, 8);
  ck_assert_int_eq(mafat_classify_layer(&cells_network, 4), -1);
  cells_start(64, 64, true);
  cells_add_layer(MAFAT_COST, 1, 1, 8); /* [cost] only renames a tensor; no layer gives classes */
  ck_assert_int_eq(mafat_classify_layer(&cells_network, 1), -1);
}
END_TEST

/* A [softmax] that no layer reads has no tensor, so it gives no classes. */
START_TEST(test_a_softmax_that_nobody_reads_classifies_nothing)
{
  struct mafat_network *n = test_network("[net]\nwidth=4\nheight=4\nchannels=3\n"
                                         "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n"
                                         "[softmax]\n"
                                         "[route]\nlayers=0\n");
  ck_assert_int_eq(mafat_classify_layer(n, 3), -1);
  ck_assert_int_eq(mafat_classify_layer(n, 2), 1);
  mafat_network_close(&n);
}
END_TEST

START_TEST(test_classify)
{
  static const struct mafat_shape shapes[] = {{1, 1, 8}, {2, 2, 2}};
  static const float values[] = {.1f, .3f, NAN, .2f, .3f, .05f, INFINITY, .05f};
  static const int expected[] = {1, 4, 3, 0, 5, 7};
  struct mafat_class_score top[8];
  for (int s = 0; s < 2; s++) {
    make_classifier(shapes[s].h, shapes[s].w, shapes[s].c);
    memcpy(cells_tensors[1], values, sizeof values);
    for (int k = 1; k <= 8; k++) {
      struct mafat_detect_input in = cells_input(0, 0);
      int n = -1, most = k < 6 ? k : 6;
      ck_assert_int_eq(mafat_classify(top, k, &n, &cells_network, &in, NULL), MAFAT_OK);
      ck_assert_int_eq(n, most);
      for (int i = 0; i < n; i++) {
        ck_assert_int_eq(top[i].class_id, expected[i]);
        ck_assert(top[i].confidence == values[expected[i]]);
      }
    }
  }
}
END_TEST

START_TEST(test_classify_refuses)
{
  struct mafat_class_score top[1];
  int n = 1;
  cells_start(64, 64, true);
  cells_add(MAFAT_YOLO, 4, 4, 2, 2);
  struct mafat_detect_input in = cells_input(9, 9);
  ck_assert_int_eq(mafat_classify(top, 1, &n, &cells_network, &in, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(n, 0);
  make_classifier(1, 1, 8);
  in.n_layers = 3;
  ck_assert_int_eq(mafat_classify(top, 0, &n, &cells_network, &in, NULL), MAFAT_EINVAL);
  in.n_layers = 4;
  ck_assert_int_eq(mafat_classify(top, 1, &n, &cells_network, &in, NULL), MAFAT_EINVAL);
  in.n_layers = 3;
  cells_layers[1].out = (struct mafat_shape){1 << 12, 1 << 12, 1 << 12};
  ck_assert_int_eq(mafat_classify(top, 1, &n, &cells_network, &in, NULL), MAFAT_ELIMIT);
}
END_TEST

Suite *classify_suite(void)
{
  Suite *suite = suite_create("classify");

  TCase *classes = tcase_create("classes");
  tcase_add_test(classes, test_classifier_is_recognised);
  tcase_add_test(classes, test_classify);
  tcase_add_test(classes, test_a_softmax_that_nobody_reads_classifies_nothing);
  tcase_add_test(classes, test_classify_refuses);
  suite_add_tcase(suite, classes);
  return suite;
}
