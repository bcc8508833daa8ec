/* Covers {network, predictor, runner/engine}/kinds/postprocess.c: boxes computed from a detector's
 * outputs, compared with a simple version of TFLite's algorithm, which sorts whole lists. */
#include "tests/support/problem.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *postprocess_suite(void);

/* ---- the simple version ---- */

struct candidate {
  float score;
  int anchor, class, number; /* number: of equal scores, the lower number comes first */
};

struct expected {
  const struct test_problem *problem;
  int n, columns;
  float (*boxes)[4];
  double (*values)[7]; /* [column] */
};

static float at(const struct test_problem *p, int operand, int anchor, int c)
{
  return (float)test_problem_at(p, operand, c, 0, anchor);
}

static float score_of(const struct test_problem *p, int anchor, int class)
{
  int first = p->layer->operands[1].shape.c - p->layer->postprocess->classes;
  return at(p, 1, anchor, first + class);
}

static void decode(const struct test_problem *p, int anchor, float *box)
{
  const struct mafat_postprocess *o = p->layer->postprocess;
  double a[4], v[4];
  for (int i = 0; i < 4; i++) {
    a[i] = (double)at(p, 2, anchor, i);
    v[i] = (double)at(p, 0, anchor, i);
  }
  float y = (float)(v[0] / (double)o->y_scale * a[2] + a[0]),
        x = (float)(v[1] / (double)o->x_scale * a[3] + a[1]);
  float h = (float)(.5 * exp(v[2] / (double)o->h_scale) * a[2]),
        w = (float)(.5 * exp(v[3] / (double)o->w_scale) * a[3]);
  box[0] = y - h, box[1] = x - w, box[2] = y + h, box[3] = x + w;
}

static float overlap(const float *a, const float *b)
{
  float area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
  if (area_a <= 0 || area_b <= 0) return 0;
  float h = fmaxf(fminf(a[2], b[2]) - fmaxf(a[0], b[0]), 0),
        w = fmaxf(fminf(a[3], b[3]) - fmaxf(a[1], b[1]), 0);
  return h * w / (area_a + area_b - h * w);
}

static int compare(const void *a, const void *b)
{
  const struct candidate *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? 1 : -1;
  return (x->number > y->number) - (x->number < y->number);
}

/* Sorts the candidates by score and moves those that are not suppressed to the front. Returns the
 * number of these, at most `most`. */
static int suppress(const struct expected *e, struct candidate *list, int n, int most)
{
  int left = 0;
  qsort(list, (size_t)n, sizeof *list, compare);
  for (int i = 0; i < n && left < most; i++) {
    bool covered = false;
    for (int k = 0; k < left; k++)
      if (overlap(e->boxes[list[k].anchor], e->boxes[list[i].anchor]) >
          e->problem->layer->postprocess->most_overlap)
        covered = true;
    if (!covered) list[left++] = list[i];
  }
  return left;
}

static void report(struct expected *e, int column, const struct candidate *c)
{
  for (int i = 0; i < 4; i++) e->values[column][i] = (double)e->boxes[c->anchor][i];
  e->values[column][4] = c->class;
  e->values[column][5] = (double)c->score;
}

static void expect_fast(struct expected *e, struct candidate *list)
{
  const struct test_problem *p = e->problem;
  const struct mafat_postprocess *o = p->layer->postprocess;
  struct candidate classes[64];
  int n = 0;
  for (int a = 0; a < p->layer->in.w; a++) {
    float best = score_of(p, a, 0);
    for (int c = 1; c < o->classes; c++) best = fmaxf(best, score_of(p, a, c));
    if (best >= o->least_score) list[n++] = (struct candidate){best, a, 0, a};
  }
  e->n = suppress(e, list, n, o->detections);
  for (int i = 0; i < e->n; i++) {
    for (int c = 0; c < o->classes; c++)
      classes[c] = (struct candidate){score_of(p, list[i].anchor, c), list[i].anchor, c, c};
    qsort(classes, (size_t)o->classes, sizeof *classes, compare);
    for (int k = 0; k < o->classes && k < o->classes_per_detection; k++)
      report(e, i * o->classes_per_detection + k, &classes[k]);
  }
}

static void expect_regular(struct expected *e, struct candidate *list)
{
  const struct test_problem *p = e->problem;
  const struct mafat_postprocess *o = p->layer->postprocess;
  int all = 0;
  for (int c = 0; c < o->classes; c++) {
    int n = 0;
    for (int a = 0; a < p->layer->in.w; a++) {
      if (score_of(p, a, c) < o->least_score) continue;
      list[all + n] = (struct candidate){score_of(p, a, c), a, c, all + n};
      n++;
    }
    all += suppress(e, list + all, n, o->detections_per_class);
    for (int i = 0; i < all; i++) list[i].number = i;
  }
  qsort(list, (size_t)all, sizeof *list, compare);
  e->n = all < o->detections ? all : o->detections;
  for (int i = 0; i < e->n; i++) report(e, i, &list[i]);
}

static struct expected expect(const struct test_problem *p)
{
  size_t anchors = (size_t)p->layer->in.w;
  struct expected e = {.problem = p, .columns = p->layer->out.w};
  struct candidate *list = calloc(anchors * (size_t)p->layer->postprocess->classes, sizeof *list);
  e.boxes = calloc(anchors, sizeof *e.boxes);
  e.values = calloc((size_t)e.columns, sizeof *e.values);
  ck_assert(list && e.boxes && e.values);
  for (int a = 0; a < (int)anchors; a++) decode(p, a, e.boxes[a]);
  if (p->layer->postprocess->regular) expect_regular(&e, list);
  else expect_fast(&e, list);
  free(list);
  return e;
}

static double meaning(const void *problem, int c, int y, int x)
{
  const struct expected *e = problem;
  ck_assert_int_eq(y, 0);
  return c == 6 ? e->n : e->values[x][c];
}

/* ---- tests ---- */

static struct mafat_postprocess random_parameters(struct test_rng *rng)
{
  return (struct mafat_postprocess){.detections = test_random_int(rng, 1, 20),
                                    .classes_per_detection = test_random_int(rng, 1, 3),
                                    .detections_per_class = test_random_int(rng, 1, 12),
                                    .classes = test_random_int(rng, 1, 20),
                                    .regular = test_random_chance(rng, 50),
                                    .least_score = (float)test_random_int(rng, -10, 9) / 10,
                                    .most_overlap = (float)test_random_int(rng, 0, 10) / 10,
                                    .y_scale = 10,
                                    .x_scale = 9,
                                    .h_scale = 5,
                                    .w_scale = 4};
}

START_TEST(outputs_are_detections)
{
  struct test_rng rng = test_rng(93000 + (uint64_t)_i);
  for (int i = 0; i < 4; i++) {
    struct test_problem p;
    struct mafat_postprocess parameters = random_parameters(&rng);
    int anchors = test_random_int(&rng, 2, 60);
    struct mafat_shape boxes = {1, anchors, test_random_int(&rng, 4, 6)}, others = {1, anchors, 4};
    struct mafat_shape scores = {1, anchors, parameters.classes + test_random_int(&rng, 0, 1)};
    test_problem_open(&p, &rng, MAFAT_POSTPROCESS, boxes, others);
    test_problem_add(&p, &rng, boxes);
    test_problem_add(&p, &rng, scores);
    test_problem_add(&p, &rng, others);
    p.layer->postprocess = malloc(sizeof *p.layer->postprocess);
    *p.layer->postprocess = parameters;
    p.tolerance = 1e-6;
    test_problem_infer(&p);
    struct expected e = expect(&p);
    test_problem_check(&p, &(struct test_meaning){meaning, &e, i});
    free(e.boxes);
    free(e.values);
    test_problem_close(&p);
  }
}
END_TEST

START_TEST(shapes_are_checked)
{
  static const struct mafat_shape others[][2] = {{{1, 5, 4}, {1, 5, 3}},
                                                 {{1, 4, 4}, {1, 5, 4}},
                                                 {{1, 5, 2}, {1, 5, 4}},
                                                 {{2, 5, 4}, {1, 5, 4}}};
  struct test_rng rng = test_rng(1);
  struct mafat_diagnostic d = {""};
  const struct mafat_infer_context context = {"test.cfg", 1, 6, "postprocess", &d};
  const struct mafat_shape *o = others[_i];
  struct test_problem p;
  test_problem_open(&p, &rng, MAFAT_POSTPROCESS, o[0], o[1]);
  p.layer->postprocess = malloc(sizeof *p.layer->postprocess);
  *p.layer->postprocess = (struct mafat_postprocess){
      .detections = 2, .classes_per_detection = 1, .detections_per_class = 2, .classes = 3};
  test_problem_add(&p, &rng, (struct mafat_shape){1, o[1].w, 4});
  test_problem_add(&p, &rng, o[0]);
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(d.text, "expects boxes, scores and anchors"));
  test_problem_add(&p, &rng, o[1]);
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(d.text, "expects boxes and scores of 3 classes for each anchor"));
  test_problem_close(&p);
}
END_TEST

Suite *postprocess_suite(void)
{
  Suite *s = suite_create("postprocess");
  TCase *t = tcase_create("postprocess");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, outputs_are_detections, 0, test_seeds(20));
  tcase_add_loop_test(t, shapes_are_checked, 0, 4);
  suite_add_tcase(s, t);
  return s;
}
