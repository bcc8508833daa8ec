/* Covers network/rearrange.c, {network, predictor, runner/engine}/kinds/rearrange.c,
 * runner/engine/kinds/rearrange_{lanes, pixels}.c: with any plan, elements are moved as the layer's
 * atoms (strided dimensions: network/rearrange.h) define; a span of the output reads no more of the
 * input than it needs; invalid atoms are refused. */
#include "network/rearrange.h"
#include "tests/support/problem.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *rearrange_suite(void);

enum { MOST_PARTS = 4 };

/* Expected output of the layer. */
struct problem {
  struct test_problem base;
  struct mafat_layer *layer;
  float *expected; /* [c][h][w] */
};

/* ---- problems ---- */

/* Opens a problem whose operands each have one of two shapes. */
static struct problem begin_problem(struct test_rng *rng, struct mafat_shape one,
                                    struct mafat_shape two, struct mafat_shape out, int n_parts)
{
  struct problem p = {.expected = NULL};
  test_problem_open(&p.base, rng, MAFAT_REARRANGE, one, two);
  p.layer = p.base.layer;
  struct mafat_rearrange *r = p.layer->rearrange =
      calloc(1, sizeof *r + MOST_PARTS * sizeof *r->parts);
  *r = (struct mafat_rearrange){
      .shape = out, .fill = (float)test_random_int(rng, -2, 2), .n_parts = n_parts};
  return p;
}

static void release_problem(struct problem *p)
{
  free(p->expected);
  test_problem_close(&p->base);
}

static struct mafat_shape random_shape(struct test_rng *rng)
{
  return (struct mafat_shape){test_random_int(rng, 1, 12), test_random_int(rng, 1, 20),
                              test_random_int(rng, 1, 45)};
}

static void get_extents(struct mafat_shape s, int extents[MAFAT_N_AXES])
{
  extents[MAFAT_AXIS_H] = s.h;
  extents[MAFAT_AXIS_W] = s.w;
  extents[MAFAT_AXIS_C] = s.c;
}

/* Adds atoms that fill [first, end) of an axis of the output. place_atoms sets where they read. */
static void add_atoms(struct test_rng *rng, struct mafat_part *part, int axis, int first, int end)
{
  int reach = 0, step = test_random_chance(rng, 70) ? 1 : test_random_int(rng, 1, 3);
  part->out_first[axis] = first;
  for (int n = test_random_int(rng, 0, 3); n > 0 && part->n_atoms < MAFAT_MAX_ATOMS; n--) {
    int most = 1 + (end - 1 - first - reach) / step;
    int size = n == 1 && test_random_chance(rng, 60) ? most : test_random_int(rng, 1, most);
    bool back = test_random_chance(rng, 20), kept = test_random_chance(rng, 60);
    part->atoms[part->n_atoms++] =
        (struct mafat_atom){size, (signed char)axis, back ? -step : step,
                            (signed char)(kept ? axis : test_random_int(rng, 0, 2)), 0};
    if (back) part->out_first[axis] += (size - 1) * step;
    reach += (size - 1) * step;
    step = (reach + 1) + (test_random_chance(rng, 80) ? 0 : test_random_int(rng, 0, 2));
  }
}

/* Sets the positions in the operand that the part's atoms read. Sometimes they are past its
 * edges. */
static void place_atoms(struct test_rng *rng, struct mafat_part *part, struct mafat_shape in)
{
  int capacity[MAFAT_N_AXES];
  bool leaves = test_random_chance(rng, 30);
  get_extents(in, capacity);
  part->outside = (enum mafat_outside)test_random_int(rng, 0, 2);
  for (int i = part->n_atoms - 1; i >= 0; i--) {
    struct mafat_atom *a = &part->atoms[i];
    int most = a->size == 1 ? 3 : leaves ? 2 : (capacity[a->in_axis] - 1) / (a->size - 1);
    a->in_step = test_random_chance(rng, 60) ? mafat_min(most, 1) : test_random_int(rng, 0, most);
    capacity[a->in_axis] -= (a->size - 1) * a->in_step;
    if (!test_random_chance(rng, 25)) continue;
    a->in_step = -a->in_step;
    part->in_first[a->in_axis] -= (a->size - 1) * a->in_step;
  }
  for (int axis = 0; axis < MAFAT_N_AXES; axis++)
    part->in_first[axis] +=
        leaves ? test_random_int(rng, -5, 5) : test_random_int(rng, 0, capacity[axis] - 1);
}

/* A problem whose parts follow each other along an axis of the output. */
static struct problem random_problem(struct test_rng *rng)
{
  const struct mafat_shape in[] = {random_shape(rng), random_shape(rng)}, out = random_shape(rng);
  int axis = test_random_int(rng, 0, 2), extents[MAFAT_N_AXES],
      n = test_random_int(rng, 1, MOST_PARTS);
  get_extents(out, extents);
  if (n > extents[axis]) n = extents[axis];
  struct problem p = begin_problem(rng, in[0], in[1], out, n);
  for (int k = 0; k < n; k++) {
    struct mafat_part *part = &p.layer->rearrange->parts[k];
    const struct mafat_shape *shape = &in[test_random_int(rng, 0, 1)];
    test_problem_add(&p.base, rng, *shape);
    for (int other = 0; other < MAFAT_N_AXES; other++) {
      struct mafat_span place =
          mafat_span_share(extents[other], other == axis ? n : 1, other == axis ? k : 0);
      add_atoms(rng, part, other, place.begin, place.end);
    }
    place_atoms(rng, part, *shape);
  }
  return p;
}

/* ---- the expected output ---- */

static bool bring_inside(enum mafat_outside outside, int *at, int extent)
{
  if (*at >= 0 && *at < extent) return true;
  if (outside == MAFAT_OUTSIDE_EDGE || extent == 1) *at = *at < 0 ? 0 : extent - 1;
  while (*at < 0 || *at >= extent) *at = *at < 0 ? -*at : 2 * (extent - 1) - *at;
  return outside != MAFAT_OUTSIDE_FILL;
}

/* Finds the positions in the operand and in the output of the part's element `number`. */
static void element(const struct mafat_part *part, long long number, int in[MAFAT_N_AXES],
                    int out[MAFAT_N_AXES])
{
  memcpy(in, part->in_first, sizeof part->in_first);
  memcpy(out, part->out_first, sizeof part->out_first);
  for (int i = 0; i < part->n_atoms; i++) {
    const struct mafat_atom *a = &part->atoms[i];
    in[a->in_axis] += (int)(number % a->size) * a->in_step;
    out[a->out_axis] += (int)(number % a->size) * a->out_step;
    number /= a->size;
  }
}

static void expect_part(struct problem *p, int k)
{
  const struct mafat_operand *o = &p->layer->operands[k];
  const struct mafat_part *part = &p->layer->rearrange->parts[k];
  struct mafat_shape s = p->layer->rearrange->shape;
  for (long long number = 0; number < mafat_part_elements(part); number++) {
    int in[MAFAT_N_AXES], out[MAFAT_N_AXES];
    element(part, number, in, out);
    bool reads = bring_inside(part->outside, &in[MAFAT_AXIS_H], o->shape.h);
    reads = bring_inside(part->outside, &in[MAFAT_AXIS_W], o->shape.w) && reads;
    if (!bring_inside(part->outside, &in[MAFAT_AXIS_C], o->shape.c) || !reads) continue;
    p->expected[(out[MAFAT_AXIS_C] * s.h + out[MAFAT_AXIS_H]) * s.w + out[MAFAT_AXIS_W]] =
        (float)test_problem_at(&p->base, k, in[MAFAT_AXIS_C], in[MAFAT_AXIS_H], in[MAFAT_AXIS_W]);
  }
}

/* Fills the expected output, then infers the layer. */
static void end_problem(struct problem *p)
{
  struct mafat_rearrange *r = p->layer->rearrange;
  size_t elements = (size_t)mafat_shape_elements(r->shape);
  p->expected = malloc(elements * sizeof *p->expected);
  for (size_t i = 0; i < elements; i++) p->expected[i] = r->fill;
  for (int k = 0; k < r->n_parts; k++) expect_part(p, k);
  test_problem_infer(&p->base);
}

static double expected_output(const void *problem, int c, int y, int x)
{
  const struct problem *p = problem;
  return (double)p->expected[(c * p->layer->out.h + y) * p->layer->out.w + x];
}

static void check(const struct problem *p, int number)
{
  test_problem_check(&p->base, &(struct test_meaning){expected_output, p, number});
}

START_TEST(elements_are_moved_as_atoms_say)
{
  struct test_rng rng = test_rng(47000 + (uint64_t)_i);
  for (int i = 0; i < 10; i++) {
    struct problem p = random_problem(&rng);
    end_problem(&p);
    check(&p, i);
    release_problem(&p);
  }
}
END_TEST

/* ---- geometry ---- */

/* The smallest span of the operand, along the axis, that holds all elements read for a span of the
 * output. */
static struct mafat_span hull_of(const struct mafat_layer *l, int k, int axis,
                                 struct mafat_span out)
{
  const struct mafat_part *part = &l->rearrange->parts[k];
  struct mafat_span hull = {0, 0};
  int extents[MAFAT_N_AXES];
  get_extents(l->operands[k].shape, extents);
  for (long long number = 0; number < mafat_part_elements(part); number++) {
    int from[MAFAT_N_AXES], to[MAFAT_N_AXES];
    element(part, number, from, to);
    if (to[axis] < out.begin || to[axis] >= out.end ||
        !bring_inside(part->outside, &from[axis], extents[axis]))
      continue;
    hull = mafat_span_hull(hull, mafat_span(from[axis], from[axis] + 1));
  }
  return hull;
}

static void check_span(const struct mafat_layer *l, int k, int axis, struct mafat_span out,
                       int number)
{
  struct mafat_span s = mafat_layer_in_span(l, k, axis == MAFAT_AXIS_H, out),
                    least = hull_of(l, k, axis, out);
  struct mafat_shape in = l->operands[k].shape;
  bool holds = s.begin >= 0 && s.end <= (axis == MAFAT_AXIS_H ? in.h : in.w) &&
               (mafat_span_is_empty(least) || (s.begin <= least.begin && s.end >= least.end));
  bool exact = mafat_span_is_empty(least) ? mafat_span_is_empty(s)
                                          : s.begin == least.begin && s.end == least.end;
  if (!holds || (!exact && !mafat_part_leaves(&l->rearrange->parts[k], in)))
    ck_abort_msg("case %d, part %d, axis %d: [%d, %d) reads [%d, %d), should [%d, %d)", number, k,
                 axis, out.begin, out.end, s.begin, s.end, least.begin, least.end);
}

START_TEST(spans_read_no_more_than_they_need)
{
  struct test_rng rng = test_rng(48000 + (uint64_t)_i);
  for (int i = 0; i < 20; i++) {
    struct problem p = random_problem(&rng);
    end_problem(&p);
    for (int k = 0; k < p.layer->n_operands; k++)
      for (int attempt = 0; attempt < 12; attempt++) {
        int axis = attempt % 2, extent = axis == MAFAT_AXIS_H ? p.layer->out.h : p.layer->out.w;
        int begin = test_random_int(&rng, 0, extent - 1);
        check_span(p.layer, k, axis, mafat_span(begin, test_random_int(&rng, begin + 1, extent)),
                   i);
      }
    release_problem(&p);
  }
}
END_TEST

/* ---- rearrangements that occur in models ---- */

#define H MAFAT_AXIS_H
#define W MAFAT_AXIS_W
#define C MAFAT_AXIS_C

/* A part is {atoms, their number, out_first, in_first, outside}; an atom is {size, out_axis,
 * out_step, in_axis, in_step}; out_first and in_first are {row, column, channel}. */
static const struct {
  const char *name;
  struct mafat_shape in, out;
  struct mafat_part parts[MOST_PARTS];
} cases[] = {
    {"channels shuffled", {5, 7, 24}, {5, 7, 24}, {{{{5, H, 1, H, 1}, {7, W, 1, W, 1}, {8, C, 3, C,
     1}, {3, C, 1, C, 8}}, 4, {0}, {0}, 0}}},
    {"focus", {12, 14, 3}, {6, 7, 12}, {{{{6, H, 1, H, 2}, {7, W, 1, W, 2}, {3, C, 1, C, 1}}, 3, {0,
     0, 0}, {0, 0, 0}, 0}, {{{6, H, 1, H, 2}, {7, W, 1, W, 2}, {3, C, 1, C, 1}}, 3, {0, 0, 3}, {1,
     0, 0}, 0}, {{{6, H, 1, H, 2}, {7, W, 1, W, 2}, {3, C, 1, C, 1}}, 3, {0, 0, 6}, {0, 1, 0}, 0},
     {{{6, H, 1, H, 2}, {7, W, 1, W, 2}, {3, C, 1, C, 1}}, 3, {0, 0, 9}, {1, 1, 0}, 0}}},
    {"depth to space, DCR", {4, 5, 32}, {8, 10, 8}, {{{{4, H, 2, H, 1}, {2, H, 1, C, 16}, {5, W, 2,
     W, 1}, {2, W, 1, C, 8}, {8, C, 1, C, 1}}, 5, {0}, {0}, 0}}},
    {"depth to space, CRD", {4, 5, 32}, {8, 10, 8}, {{{{4, H, 2, H, 1}, {2, H, 1, C, 2}, {5, W, 2,
     W, 1}, {2, W, 1, C, 1}, {8, C, 1, C, 4}}, 5, {0}, {0}, 0}}},
    {"columns and channels", {1, 50, 37}, {1, 37, 50}, {{{{37, W, 1, C, 1}, {50, C, 1, W, 1}}, 2,
     {0}, {0}, 0}}},
    {"rows and columns", {6, 9, 20}, {9, 6, 20}, {{{{9, H, 1, W, 1}, {6, W, 1, H, 1}, {20, C, 1, C,
     1}}, 3, {0}, {0}, 0}}},
    {"flattened by channels", {4, 5, 20}, {1, 1, 400}, {{{{20, C, 20, C, 1}, {4, C, 5, H, 1}, {5, C,
     1, W, 1}}, 3, {0}, {0}, 0}}},
    {"flattened by pixels", {4, 5, 20}, {1, 1, 400}, {{{{4, C, 100, H, 1}, {5, C, 20, W, 1}, {20, C,
     1, C, 1}}, 3, {0}, {0}, 0}}},
    {"a list as a map", {1, 1, 400}, {4, 5, 20}, {{{{20, C, 1, C, 20}, {4, H, 1, C, 5}, {5, W, 1, C,
     1}}, 3, {0}, {0}, 0}}},
    {"a pixel as columns", {1, 2, 40}, {1, 5, 8}, {{{{8, C, 1, C, 5}, {5, W, 1, C, 1}}, 2, {0}, {0,
     1, 0}, 0}}},
    {"a pixel as columns, from behind", {1, 2, 40}, {1, 5, 8}, {{{{8, C, 1, C, -5}, {5, W, 1, C,
     -1}}, 2, {0}, {0, 1, 39}, 0}}},
    {"pixels as a list", {4, 5, 20}, {1, 20, 20}, {{{{4, W, 5, H, 1}, {5, W, 1, W, 1}, {20, C, 1, C,
     1}}, 3, {0}, {0}, 0}}},
    {"heads as rows", {1, 10, 48}, {2, 10, 24}, {{{{10, W, 1, W, 1}, {2, H, 1, C, 24}, {24, C, 1, C,
     1}}, 3, {0}, {0}, 0}}},
    {"heads as rows, transposed", {1, 10, 48}, {2, 24, 10}, {{{{10, C, 1, W, 1}, {2, H, 1, C, 24},
     {24, W, 1, C, 1}}, 3, {0}, {0}, 0}}},
    {"pad", {5, 6, 20}, {9, 11, 23}, {{{{5, H, 1, H, 1}, {6, W, 1, W, 1}, {20, C, 1, C, 1}}, 3, {2,
     4, 1}, {0}, 0}}},
    {"reflected", {5, 6, 20}, {9, 11, 20}, {{{{9, H, 1, H, 1}, {11, W, 1, W, 1}, {20, C, 1, C, 1}},
     3, {0}, {-2, -4, 0}, MAFAT_OUTSIDE_REFLECT}}},
    {"edges repeated", {5, 6, 20}, {9, 11, 25}, {{{{9, H, 1, H, 1}, {11, W, 1, W, 1}, {25, C, 1, C,
     1}}, 3, {0}, {-2, -4, -3}, MAFAT_OUTSIDE_EDGE}}},
    {"upside down", {7, 9, 20}, {4, 3, 10}, {{{{4, H, 1, H, -2}, {3, W, 1, W, -3}, {10, C, 1, C,
     -2}}, 3, {0}, {6, 8, 19}, 0}}},
    {"rows dealt in turn", {20, 12, 3}, {20, 12, 3}, {{{{4, H, 5, H, 1}, {5, H, 1, H, 4}, {4, W, 3,
     W, -1}, {3, W, 1, W, 4}, {3, C, 1, C, 1}}, 5, {0}, {0, 3, 0}, 0}}},
    {"channels shuffled by four", {5, 7, 112}, {5, 7, 112}, {{{{5, H, 1, H, 1}, {7, W, 1, W, 1},
     {28, C, 4, C, 1}, {4, C, 1, C, 28}}, 4, {0}, {0}, 0}}},
    {"channels shuffled across blocks", {3, 70, 136}, {3, 70, 136}, {{{{3, H, 1, H, 1}, {70, W, 1,
     W, 1}, {34, C, 4, C, 1}, {4, C, 1, C, 34}}, 4, {0}, {0}, 0}}},
    {"every other channel", {5, 70, 48}, {5, 70, 24}, {{{{5, H, 1, H, 1}, {70, W, 1, W, 1}, {24, C,
     1, C, 2}}, 3, {0}, {0, 0, 1}, 0}}},
    {"expanded", {1, 1, 20}, {5, 6, 20}, {{{{5, H, 1, H, 0}, {6, W, 1, W, 0}, {20, C, 1, C, 1}}, 3,
     {0}, {0}, 0}}},
    {"columns after columns", {6, 5, 20}, {6, 11, 20}, {{{{6, H, 1, H, 1}, {5, W, 1, W, 1}, {20, C,
     1, C, 1}}, 3, {0, 6, 0}, {0}, 0}, {{{6, H, 1, H, 1}, {5, W, 1, W, 1}, {20, C, 1, C, 1}}, 3,
     {0}, {0}, 0}}},
};

#undef H
#undef W
#undef C

static struct problem case_problem(struct test_rng *rng, int number)
{
  int n = 0;
  while (n < MOST_PARTS && cases[number].parts[n].n_atoms) n++;
  struct problem p = begin_problem(rng, cases[number].in, cases[number].in, cases[number].out, n);
  memcpy(p.layer->rearrange->parts, cases[number].parts, (size_t)n * sizeof(struct mafat_part));
  for (int k = 0; k < n; k++) test_problem_add(&p.base, rng, cases[number].in);
  return p;
}

static void check_all_spans(const struct mafat_layer *l, int k, int axis, int number)
{
  int extent = axis == MAFAT_AXIS_H ? l->out.h : l->out.w;
  for (int begin = 0; begin < extent; begin++)
    for (int end = begin + 1; end <= extent; end++)
      check_span(l, k, axis, mafat_span(begin, end), number);
}

START_TEST(rearrangements_of_models_are_right)
{
  struct test_rng rng = test_rng(49000);
  struct problem p = case_problem(&rng, _i);
  end_problem(&p);
  check(&p, _i);
  for (int k = 0; k < p.layer->n_operands; k++) {
    check_all_spans(p.layer, k, MAFAT_AXIS_H, _i);
    check_all_spans(p.layer, k, MAFAT_AXIS_W, _i);
  }
  release_problem(&p);
}
END_TEST

/* The rearrangement "focus" can be split along rows: a span of rows of the output reads only the
 * matching rows of the picture. */
START_TEST(slices_can_be_split_along_rows)
{
  struct test_rng rng = test_rng(1);
  struct problem p = case_problem(&rng, 1);
  end_problem(&p);
  for (int k = 0; k < 4; k++) {
    struct mafat_span rows = mafat_layer_in_span(p.layer, k, true, mafat_span(2, 4));
    ck_assert_int_eq(rows.begin, 4 + k % 2);
    ck_assert_int_eq(rows.end, 7 + k % 2);
  }
  release_problem(&p);
}
END_TEST

/* ---- refusals ---- */

static const struct {
  struct mafat_part part;
  const char *why;
} faults[] = {
    {{{{5, 0, 1, 0, 1}}, 9, {0}, {0}, 0}, "too many strided dimensions"},
    {{{{5, 0, 1, 0, 1}}, -1, {0}, {0}, 0}, "too many strided dimensions"},
    {{{{5, 0, 1, 0, 1}}, 1, {0}, {0}, (enum mafat_outside)3}, "unknown rule"},
    {{{{0, 0, 1, 0, 1}}, 1, {0}, {0}, 0}, "invalid size, axis or step"},
    {{{{5, 3, 1, 0, 1}}, 1, {0}, {0}, 0}, "invalid size, axis or step"},
    {{{{5, 0, 1, -1, 1}}, 1, {0}, {0}, 0}, "invalid size, axis or step"},
    {{{{5, 0, 0, 0, 1}}, 1, {0}, {0}, 0}, "invalid size, axis or step"},
    {{{{2147483647, 0, 2147483647, 0, 1}}, 1, {0}, {0}, 0}, "invalid size, axis or step"},
    {{{{2147483647, 0, 1, 0, -2147483647}}, 1, {0}, {0}, 0}, "invalid size, axis or step"},
    {{{{5, 0, 1, 0, 1}}, 1, {1}, {0}, 0}, "outside its output"},
    {{{{5, 0, -1, 0, 1}}, 1, {3}, {0}, 0}, "outside its output"},
    {{{{5, 0, 1, 0, 1}}, 1, {-1}, {0}, 0}, "outside its output"},
    {{{{5, 0, 1, 0, 1}}, 1, {0}, {2147483647}, 0}, "outside its output"},
    {{{{2, 2, 1, 0, 1}, {3, 2, 1, 0, 1}}, 2, {0}, {0}, 0}, "writes an output element twice"},
    {{{{2, 2, 3, 0, 1}, {3, 2, 2, 0, 1}}, 2, {0}, {0}, 0}, "writes an output element twice"},
};

START_TEST(invalid_atoms_are_refused)
{
  struct test_rng rng = test_rng(1);
  const struct mafat_shape shape = {5, 5, 20};
  struct mafat_diagnostic d = {""};
  struct problem p = begin_problem(&rng, shape, shape, shape, 1);
  p.layer->rearrange->parts[0] = faults[_i].part;
  test_problem_add(&p.base, &rng, shape);
  int code =
      mafat_layer_infer(p.layer, &(struct mafat_infer_context){"test.cfg", 1, 0, "rearrange", &d});
  ck_assert_int_eq(code, MAFAT_EFORMAT);
  ck_assert_msg(strstr(d.text, faults[_i].why) != NULL, "%s", d.text);
  release_problem(&p);
}
END_TEST

Suite *rearrange_suite(void)
{
  Suite *s = suite_create("rearrange");
  TCase *t = tcase_create("rearrange");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, elements_are_moved_as_atoms_say, 0, test_seeds(60));
  tcase_add_loop_test(t, spans_read_no_more_than_they_need, 0, test_seeds(60));
  tcase_add_loop_test(t, rearrangements_of_models_are_right, 0, sizeof cases / sizeof *cases);
  tcase_add_test(t, slices_can_be_split_along_rows);
  tcase_add_loop_test(t, invalid_atoms_are_refused, 0, sizeof faults / sizeof *faults);
  suite_add_tcase(s, t);
  return s;
}
