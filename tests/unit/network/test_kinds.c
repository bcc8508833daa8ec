/* Covers network/kind.c, network/kinds/{avgpool, crop, dense, kinds, local, norm, reorg3d,
 * resize, softmax}.c: the properties in the table of kinds do not contradict each other, and agree
 * with what the kinds' functions return for random layers. */
#include <check.h>
#include <string.h>

#include "network/network.h"
#include "tests/support/support.h"

Suite *kinds_suite(void);

/* ---- entries of the table ---- */

static const struct mafat_kind *kind_of(int type)
{
  return mafat_kind_of((enum mafat_layer_type)type);
}

START_TEST(every_type_has_its_own_kind)
{
  for (int t = 0; t < MAFAT_N_LAYER_TYPES; t++) {
    const struct mafat_kind *k = kind_of(t);
    ck_assert_msg(k && k->name && *k->name, "type %d has no kind or name", t);
    ck_assert_str_eq(k->name, mafat_layer_type_name((enum mafat_layer_type)t));
    ck_assert_msg(k->infer && k->in_span, "%s lacks a function", k->name);
    for (int other = 0; other < t; other++) {
      ck_assert_ptr_ne(k, kind_of(other));
      ck_assert_str_ne(k->name, kind_of(other)->name);
    }
  }
  ck_assert_str_eq(mafat_layer_type_name(MAFAT_N_LAYER_TYPES), "unknown");
}
END_TEST

START_TEST(properties_do_not_contradict_each_other)
{
  for (int t = 0; t < MAFAT_N_LAYER_TYPES; t++) {
    const struct mafat_kind *k = kind_of(t);
    bool matrix = k->weights == MAFAT_WEIGHTS_PANELS || k->weights == MAFAT_WEIGHTS_PIXELS;
    const char *name = k->name;
    ck_assert_msg((k->matrix != NULL) == matrix, "%s: `matrix` contradicts `weights`", name);
    ck_assert_msg((k->macs != NULL) == (matrix || k->multiplies),
                  "%s: only kinds that multiply have `macs`", name);
    ck_assert_msg((k->counts != NULL) == (k->weights != MAFAT_WEIGHTS_NONE),
                  "%s: only kinds with weights have `counts`", name);
    ck_assert_msg(!(k->along & MAFAT_ALONG_INPUTS) || k->weights == MAFAT_WEIGHTS_PANELS,
                  "%s: sums by parts need panels", name);
    ck_assert_msg(!k->convolves || (matrix && k->pads),
                  "%s: a convolution needs weights and padding", name);
    ck_assert_msg(!k->alias || (!matrix && !k->head && !k->pools && !k->blends),
                  "%s: an alias must compute nothing", name);
    ck_assert_msg(!k->input || (!k->alias && !matrix && !k->head),
                  "%s: an input must compute nothing", name);
    ck_assert_msg(!k->inert || k->alias, "%s: an inert kind must be an alias", name);
    ck_assert_msg(!k->flat || !(k->along & MAFAT_ALONG_MAP),
                  "%s: a kind that reads a list cannot be split along rows or columns", name);
    ck_assert_msg(k->convolves + k->pools + k->blends + k->head + k->classifies + k->multiplies <=
                      1,
                  "%s: at most one of these may be set", name);
  }
}
END_TEST

/* ---- random layers ---- */

/* Checks the span of the input that each single row (axis_y) or column of the output needs. */
static void check_axis(const struct mafat_layer *l, const char *cfg, int index, bool axis_y)
{
  int in = axis_y ? l->in.h : l->in.w, out = axis_y ? l->out.h : l->out.w;
  bool can_split = mafat_kind_of(l->type)->along & (axis_y ? MAFAT_ALONG_ROWS : MAFAT_ALONG_COLS);
  struct mafat_span empty = mafat_layer_in_span(l, 0, axis_y, mafat_span(1, 1)), before = {0, 0};
  if (!mafat_span_is_empty(empty))
    test_fail_case(cfg, "-", "layer %d reads something for an empty output", index);
  for (int i = 0; i < out; i++) {
    struct mafat_span s = mafat_layer_in_span(l, 0, axis_y, mafat_span(i, i + 1));
    struct mafat_span so_far = mafat_layer_in_span(l, 0, axis_y, mafat_span(0, i + 1));
    if (mafat_span_is_empty(s) || s.begin < 0 || s.end > in || so_far.end != s.end ||
        s.begin < before.begin)
      test_fail_case(cfg, "-", "layer %d reads %d to %d for output %d", index, s.begin, s.end, i);
    if (!can_split && (s.begin != 0 || s.end != in))
      test_fail_case(cfg, "-", "layer %d cannot be split, yet reads only %d to %d", index, s.begin,
                     s.end);
    before = s;
  }
}

/* Checks the spans of an operand other than the first. Some of its last pixels may be unread. */
static void check_other_operand(const struct mafat_layer *l, int operand, const char *cfg,
                                int index, bool axis_y)
{
  struct mafat_shape shape = l->operands[operand].shape;
  int from = axis_y ? shape.h : shape.w, out = axis_y ? l->out.h : l->out.w;
  struct mafat_span all = mafat_layer_in_span(l, operand, axis_y, mafat_span(0, out)),
                    hull = {0, 0};
  for (int i = 0; i < out; i++)
    hull = mafat_span_hull(hull, mafat_layer_in_span(l, operand, axis_y, mafat_span(i, i + 1)));
  if (all.begin != 0 || all.end < 1 || all.end > from || hull.begin != all.begin ||
      hull.end != all.end)
    test_fail_case(cfg, "-", "layer %d reads %d to %d of operand %d", index, all.begin, all.end,
                   operand);
}

/* Checks the layer's numbers of weights and multiply-accumulates against its matrix. */
static void check_matrix(const struct mafat_layer *l, const char *cfg, int index)
{
  const struct mafat_matrix m = mafat_layer_matrix(l);
  const struct mafat_weight_counts counts = mafat_layer_weight_counts(l);
  uint64_t pixels = (uint64_t)l->out.h * (uint64_t)l->out.w, row = mafat_matrix_row(m),
           macs = mafat_layer_macs(l, pixels);
  uint64_t matrices = mafat_layer_weights_form(l) == MAFAT_WEIGHTS_PIXELS ? pixels : 1;
  if (counts.weights != matrices * row * (uint64_t)m.filters)
    test_fail_case(cfg, "-", "layer %d: %llu weights", index, (unsigned long long)counts.weights);
  if (macs != pixels * row * (uint64_t)m.filters)
    test_fail_case(cfg, "-", "layer %d: %llu multiply-accumulates", index,
                   (unsigned long long)macs);
  if (m.filters == 0) return;
  if (m.filters != l->out.c || mafat_layer_channels(l) % m.inputs)
    test_fail_case(cfg, "-", "layer %d: a matrix of %d x %d", index, m.filters, m.inputs);
  if (!(mafat_kind_of(l->type)->along & MAFAT_ALONG_INPUTS) || mafat_layer_is_grouped(l)) return;
  uint64_t first = mafat_layer_part_macs(l, pixels, 1, 1),
           rest = mafat_layer_part_macs(l, pixels, 1, m.inputs - 1);
  if ((first + rest) * (uint64_t)m.filters != macs)
    test_fail_case(cfg, "-", "layer %d: multiply-accumulates of parts do not add up", index);
}

START_TEST(random_layers_agree_with_their_kinds)
{
  for (int seed = 0; seed < 200; seed++) {
    struct test_rng rng = test_rng((uint64_t)seed);
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM];
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    for (int i = 0; i < n->n_layers; i++) {
      for (int axis_y = 0; axis_y <= 1; axis_y++) {
        check_axis(&n->layers[i], cfg, i, axis_y);
        for (int k = 1; k < n->layers[i].n_operands; k++)
          check_other_operand(&n->layers[i], k, cfg, i, axis_y);
      }
      check_matrix(&n->layers[i], cfg, i);
    }
    mafat_network_close(&n);
  }
}
END_TEST

Suite *kinds_suite(void)
{
  Suite *suite = suite_create("kinds");
  TCase *table = tcase_create("table");
  tcase_add_test(table, every_type_has_its_own_kind);
  tcase_add_test(table, properties_do_not_contradict_each_other);
  tcase_add_test(table, random_layers_agree_with_their_kinds);
  suite_add_tcase(suite, table);
  return suite;
}
