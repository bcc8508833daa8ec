/* Covers {network, predictor, runner/engine}/kinds/split.c: the split layer has several outputs,
 * each a part of its input. The atoms of a part (network/rearrange.h) select its elements. */
#include "network/rearrange.h"
#include "tests/support/problem.h"

#include <check.h>
#include <stdlib.h>

Suite *split_suite(void);

/* The expected element of an output. Each part has one atom per axis. */
static double moved(const void *problem, int c, int y, int x)
{
  const struct test_problem *p = problem;
  const struct mafat_part *part = &p->layer->rearrange->parts[p->output];
  const int at[MAFAT_N_AXES] = {[MAFAT_AXIS_H] = y, [MAFAT_AXIS_W] = x, [MAFAT_AXIS_C] = c};
  int in[MAFAT_N_AXES];
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) in[axis] = part->in_first[axis];
  for (int i = 0; i < part->n_atoms; i++)
    in[part->atoms[i].in_axis] += at[part->atoms[i].out_axis] * part->atoms[i].in_step;
  return test_problem_at(p, 0, in[MAFAT_AXIS_C], in[MAFAT_AXIS_H], in[MAFAT_AXIS_W]);
}

/* Adds an atom that reads n consecutive positions of an axis, forwards (step 1) or backwards. */
static void add_atom(struct mafat_part *p, int axis, int first, int n, int step)
{
  p->in_first[axis] = step < 0 ? first + n - 1 : first;
  p->atoms[p->n_atoms++] = (struct mafat_atom){.size = n,
                                               .out_axis = (signed char)axis,
                                               .out_step = 1,
                                               .in_axis = (signed char)axis,
                                               .in_step = step};
}

/* Parts that are consecutive slices along one axis, as those of ONNX's Split, or random boxes. */
static struct mafat_rearrange *random_parts(struct test_rng *rng, struct mafat_shape s, int n)
{
  struct mafat_rearrange *r = calloc(1, sizeof *r + (size_t)n * sizeof *r->parts);
  const int extents[MAFAT_N_AXES] = {s.h, s.w, s.c};
  int cut = test_random_int(rng, 0, MAFAT_N_AXES), first = 0;
  if (cut < MAFAT_N_AXES && extents[cut] < n) cut = MAFAT_N_AXES;
  r->n_parts = n;
  for (int k = 0; k < n; k++)
    for (int axis = 0; axis < MAFAT_N_AXES; axis++) {
      int size = extents[axis], from = 0;
      if (axis == cut)
        size = k == n - 1 ? size - first : test_random_int(rng, 1, size - first - (n - 1 - k)),
        from = first, first += size;
      else if (cut == MAFAT_N_AXES)
        size = test_random_int(rng, 1, size), from = test_random_int(rng, 0, extents[axis] - size);
      add_atom(&r->parts[k], axis, from, size, test_random_chance(rng, 20) ? -1 : 1);
    }
  return r;
}

START_TEST(outputs_are_parts)
{
  struct test_rng rng = test_rng(82000 + (uint64_t)_i);
  struct test_problem p;
  struct mafat_shape s = {test_random_int(&rng, 1, 9), test_random_int(&rng, 1, 24),
                          test_random_int(&rng, 1, 50)};
  int n = test_random_int(&rng, 2, 5);
  test_problem_open(&p, &rng, MAFAT_SPLIT, s, s);
  test_problem_add(&p, &rng, s);
  p.layer->rearrange = random_parts(&rng, s, n);
  p.tolerance = 0;
  for (p.output = 0; p.output < n; p.output++) {
    test_problem_infer(&p);
    test_problem_check(&p, &(struct test_meaning){moved, &p, _i});
  }
  test_problem_close(&p);
}
END_TEST

START_TEST(parts_are_checked)
{
  struct test_rng rng = test_rng(1);
  struct test_problem p;
  struct mafat_diagnostic d = {""};
  const struct mafat_infer_context context = {"test.cfg", 1, 6, "split", &d};
  const struct mafat_shape s = {3, 4, 2};
  test_problem_open(&p, &rng, MAFAT_SPLIT, s, s);
  test_problem_add(&p, &rng, s);
  p.layer->rearrange = random_parts(&rng, s, 2);
  p.layer->rearrange->parts[1].in_first[MAFAT_AXIS_W] += 100;
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  ck_assert_str_eq(d.text, "test.cfg:1: layer [split] reads outside its input");
  p.layer->rearrange->n_parts = 1;
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  test_problem_close(&p);
}
END_TEST

Suite *split_suite(void)
{
  Suite *s = suite_create("split");
  TCase *t = tcase_create("split");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, outputs_are_parts, 0, test_seeds(60));
  tcase_add_test(t, parts_are_checked);
  suite_add_tcase(s, t);
  return s;
}
