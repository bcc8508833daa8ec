/* Covers predictor/plan/fusion.c: which layers are fused into the steps of their readers; the spans
 * and sources of fused steps; the number of multiplications, which fusion does not change. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "predictor/plan/fusion.h"
#include "predictor/layout/layout.h"
#include "predictor/planning/planning.h"
#include "predictor/schedule/schedule.h"
#include "predictor/plan/winograd.h"
#include "tests/support/support.h"

Suite *fusion_suite(void);

#define NET "[net]\nheight=21\nwidth=26\nchannels=8\n"
#define CONV "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
#define CONV8 "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"
#define DEPTHWISE "[convolutional]\nfilters=8\ngroups=8\nsize=3\npad=1\nactivation=leaky\n"
#define POINTWISE "[convolutional]\nfilters=8\nsize=1\nactivation=leaky\n"
#define POOL "[maxpool]\nsize=2\nstride=2\n"
#define HEAD \
  "[convolutional]\nfilters=18\nsize=1\n[yolo]\nclasses=1\nnum=3\nmask=0,1,2\nanchors=1,2,3,4,5,6\n"

/* ---- which layers ---- */

struct row {
  const char *what, *cfg, *plan;
  const char *inner; /* expected, for each layer that runs: layer inside its step, or - */
};

static const struct row rows[] = {
    {"a convolution in its maxpool", NET CONV POOL, "1x1", "- 0"},
    {"a 1x1 convolution in its maxpool", NET POINTWISE POOL, "1x1", "- 0"},
    {"a convolution of stride 2 in its maxpool",
     NET "[convolutional]\nfilters=9\nsize=5\nstride=2\npad=1\n" POOL, "1x1", "- 0"},
    {"maxpool without padding", NET CONV "[maxpool]\nsize=2\nstride=2\npadding=0\n", "1x1", "- 0"},
    {"each of two pairs", NET CONV POOL CONV POOL, "1x1", "- 0 - 2"},
    {"a tiled group", NET CONV POOL CONV POOL, "3x4", "- 0 - 2"},
    {"after a renaming layer", NET CONV "[route]\nlayers=-1\n" POOL, "1x1", "- - 0"},
    {"after dropout", NET CONV "[dropout]\nprobability=.5\n" POOL, "1x1", "- - 0"},
    {"the maxpool is an output of the network", NET CONV POOL "[route]\nlayers=1\n", "1x1",
     "- 0 -"},

    {"maxpool 3x3", NET CONV "[maxpool]\nsize=3\nstride=2\n", "1x1", "- -"},
    {"maxpool of stride 1", NET CONV "[maxpool]\nsize=2\nstride=1\n", "1x1", "- -"},
    {"windows that begin before the map", NET CONV "[maxpool]\nsize=2\nstride=2\npadding=2\n",
     "1x1", "- -"},
    {"a convolution with groups", NET "[convolutional]\nfilters=8\ngroups=2\nsize=3\npad=1\n" POOL,
     "1x1", "- -"},
    {"a depthwise convolution before a maxpool", NET DEPTHWISE POOL, "1x1", "- -"},
    {"a maxpool of the input", NET POOL CONV, "1x1", "- -"},
    {"a maxpool of a maxpool", NET POOL POOL, "1x1", "- -"},
    {"a maxpool of an upsample", NET "[upsample]\nstride=2\n" POOL, "1x1", "- -"},
    {"another layer reads the convolution",
     NET CONV POOL "[route]\nlayers=0\n" CONV8 POOL "[route]\nlayers=1,4\n", "1x1", "- - - - 3 -"},
    {"nobody needs the other reader", NET CONV POOL "[route]\nlayers=0\n" POOL, "1x1", "- - - 0"},
    {"nobody needs the maxpool", NET CONV POOL "[route]\nlayers=0\n" CONV, "1x1", "- - - -"},
    {"a detection head reads the convolution", NET HEAD "[route]\nlayers=0\n" POOL, "1x1",
     "- - - -"},
    {"the convolution is the network's output instead", NET CONV POOL "[route]\nlayers=0\n", "1x1",
     "- - -"},
    {"the convolution is another output of the network",
     NET CONV POOL HEAD "[route]\nlayers=0\n", "1x1",
     "- - - - -"},
    {"half of the convolution's channels",
     NET CONV "[route]\nlayers=-1\ngroups=2\ngroup_id=0\n" POOL, "1x1", "- - -"},
    {"a concatenation", NET CONV CONV8 "[route]\nlayers=0,1\n" POOL, "1x1", "- - - -"},
    {"a cut between them", NET CONV POOL, "1x1/1/1x1", "- -"},
    {"a cut after them", NET CONV POOL CONV, "1x1/2/1x1", "- 0 -"},
    {"a cut between the first two only", NET CONV POOL CONV POOL, "2x2/1/3x3", "- - - 2"},
    {"the run ends between them", NET CONV POOL CONV POOL, "1x1", "-"},
    {"the run ends after the first two", NET CONV POOL CONV POOL, "1x1", "- 0"},
    {"the run ends between the next two", NET CONV POOL CONV POOL, "1x1", "- 0 -"},

    {"a depthwise convolution in a 1x1", NET DEPTHWISE POINTWISE, "1x1", "- 0"},
    {"a depthwise convolution of stride 2 in a 1x1",
     NET "[convolutional]\nfilters=8\ngroups=8\nsize=3\nstride=2\npad=1\n" POINTWISE, "1x1", "- 0"},
    {"pad=1 does not pad a 1x1",
     NET DEPTHWISE "[convolutional]\nfilters=12\nsize=1\npad=1\n", "1x1",
     "- 0"},
    {"two depthwise pairs", NET DEPTHWISE POINTWISE DEPTHWISE POINTWISE, "1x1", "- 0 - 2"},
    {"a depthwise convolution in a 1x1 in a maxpool: the maxpool stays",
     NET DEPTHWISE POINTWISE POOL, "1x1", "- 0 -"},
    {"a 1x1 of stride 2", NET DEPTHWISE "[convolutional]\nfilters=12\nsize=1\nstride=2\n", "1x1",
     "- -"},
    {"a 1x1 with padding", NET DEPTHWISE "[convolutional]\nfilters=12\nsize=1\npadding=1\n", "1x1",
     "- -"},
    {"a 1x1 with groups", NET DEPTHWISE "[convolutional]\nfilters=12\nsize=1\ngroups=2\n", "1x1",
     "- -"},
    {"a 3x3 after a depthwise convolution", NET DEPTHWISE CONV, "1x1", "- -"},
    {"groups of two channels before a 1x1",
     NET "[convolutional]\nfilters=8\ngroups=4\nsize=3\npad=1\n" POINTWISE, "1x1", "- -"},
    {"more filters than groups before a 1x1",
     NET "[convolutional]\nfilters=16\ngroups=8\nsize=3\npad=1\n" POINTWISE, "1x1", "- -"},
    {"a shortcut reads the depthwise convolution", NET DEPTHWISE POINTWISE "[shortcut]\nfrom=-2\n",
     "1x1", "- - 1"},
    {"a cut between the depthwise convolution and the 1x1", NET DEPTHWISE POINTWISE, "1x1/1/1x1",
     "- -"},

    {"a word of the plan forbids fusing depthwise convolutions", NET DEPTHWISE POINTWISE, "1x1:dw0",
     "- -"},
    {"a word of the plan forbids it for one of two pairs",
     NET DEPTHWISE POINTWISE DEPTHWISE POINTWISE, "1x1:dw(0:2)", "- 0 - -"},
    {"a word of the plan forbids it for one pair and gives the rows of the other",
     NET DEPTHWISE POINTWISE DEPTHWISE POINTWISE,
     "rows2:dw(0:0,3:1-3)", "- - - 2"},
    {"the word applies to its own group only",
     NET DEPTHWISE POINTWISE DEPTHWISE POINTWISE, "1x1:dw0/2/1x1",
     "- - - 2"},
    {"the 1x1 is still fused with the shortcut",
     NET CONV8 DEPTHWISE POINTWISE "[shortcut]\nfrom=0\n",
     "1x1:dw0", "- - - 2"},

    {"a convolution in its shortcut", NET POINTWISE CONV8 "[shortcut]\nfrom=-2\n", "1x1", "- - 1"},
    {"all three in one step", NET CONV8 DEPTHWISE POINTWISE "[shortcut]\nfrom=0\n", "1x1",
     "- - 1 2"},
    {"a shortcut that adds every second pixel of a larger map",
     "[net]\nheight=20\nwidth=26\nchannels=8\n" CONV8 POOL CONV8 "[shortcut]\nfrom=0\n", "1x1",
     "- - - 2"},
    {"a shortcut that adds fewer channels", NET CONV8 CONV "[shortcut]\nfrom=0\n", "1x1", "- - 1"},
    {"a shortcut that adds more channels", NET CONV CONV8 "[shortcut]\nfrom=0\n", "1x1", "- - 1"},
    {"a shortcut that adds a smaller map",
     "[net]\nheight=20\nwidth=26\nchannels=8\n" CONV8 POOL CONV8 "[upsample]\nstride=2\n" CONV8
     "[shortcut]\nfrom=2\n",
     "1x1", "- 0 - - - -"},
    {"a shortcut that adds the convolution to itself", NET CONV8 "[shortcut]\nfrom=-1\n", "1x1",
     "- -"},
    {"a depthwise convolution before a shortcut", NET CONV8 DEPTHWISE "[shortcut]\nfrom=0\n", "1x1",
     "- - -"},
    {"a shortcut whose convolution is read again",
     NET CONV8 CONV8 "[shortcut]\nfrom=0\n[shortcut]\nfrom=1\n", "1x1", "- - - -"},
    {"a cut before the shortcut", NET CONV8 CONV8 "[shortcut]\nfrom=0\n", "1x1/2/1x1", "- - -"},
    {"the shortcut's other operand is from before the cut",
     NET CONV8 CONV8 "[shortcut]\nfrom=0\n", "1x1/1/1x1",
     "- - 1"},
};

/* Writes the fused layer of each layer's steps, in the form of `inner` in struct row. */
static void write_inner(const struct mafat_plan *plan, char *text, size_t capacity)
{
  size_t used = 0;
  text[0] = '\0';
  for (int l = 0; l < plan->n_layers; l++) {
    const char *space = l ? " " : "";
    used += (size_t)(plan->inner[l] < 0
                         ? snprintf(text + used, capacity - used, "%s-", space)
                         : snprintf(text + used, capacity - used, "%s%d", space, plan->inner[l]));
  }
}

/* Checks that plan->inner and plan->outer agree. */
static void check_pairs(const struct mafat_plan *plan, const char *what)
{
  for (int l = 0; l < plan->n_layers; l++) {
    int inner = plan->inner[l], outer = plan->outer[l];
    ck_assert_msg(inner < l && (inner < 0 || plan->outer[inner] == l), "%s: layer %d", what, l);
    ck_assert_msg(outer < 0 || (outer < plan->n_layers && plan->inner[outer] == l), "%s: layer %d",
                  what, l);
  }
}

/* Makes the row's plan, for as many layers as its `inner` has words. */
static struct mafat_plan *read_plan(const struct mafat_network *n, const struct row *r,
                                    bool keep_all)
{
  struct mafat_plan_options options;
  struct mafat_diagnostic d = {""};
  struct mafat_plan *plan = NULL;
  int n_layers = 1;
  for (const char *at = r->inner; *at; at++) n_layers += *at == ' ';
  mafat_plan_defaults(&options);
  options.keep_all = keep_all;
  int code = mafat_plan_read(&plan, r->plan, n, n_layers, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s: %s", r->what, d.text);
  return plan;
}

/* Exactly the layers of each row are fused. */
START_TEST(these_layers_are_computed_inside_their_readers)
{
  const struct row *r = &rows[_i];
  char inner[256];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan *plan = read_plan(n, r, false);
  write_inner(plan, inner, sizeof inner);
  ck_assert_msg(strcmp(inner, r->inner) == 0, "%s: %s, expected %s", r->what, inner, r->inner);
  check_pairs(plan, r->what);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* With keep_all, no layer is fused. */
START_TEST(nothing_is_when_all_layers_are_kept)
{
  const struct row *r = &rows[_i];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan *plan = read_plan(n, r, true);
  for (int l = 0; l < plan->n_layers; l++)
    ck_assert_msg(plan->inner[l] == -1 && plan->outer[l] == -1, "%s: layer %d", r->what, l);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* In random plans, fused layers are convolutions in the same group as their reader. */
START_TEST(pairs_of_random_plans_are_sound)
{
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct test_rng rng = test_rng(21000 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  test_random_plan(&rng, n, n->n_layers, text, sizeof text);
  struct mafat_plan *plan = test_plan(n, text);
  check_pairs(plan, cfg);
  for (int l = 0; l < n->n_layers; l++) {
    int inner = plan->inner[l];
    if (inner < 0) continue;
    if (plan->group_of[l] != plan->group_of[inner]) test_fail_case(cfg, text, "layer %d", l);
    if (n->layers[inner].type != MAFAT_CONVOLUTIONAL || mafat_layer_is_head(&n->layers[l]))
      test_fail_case(cfg, text, "layer %d in layer %d", inner, l);
  }
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* ---- geometry ---- */

static struct mafat_plan *plan_by(const struct mafat_network *n, enum mafat_algorithm algorithm)
{
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = algorithm;
  return test_plan_with(n, "1x1", &options);
}

/* mafat_fusion_inner_span and _in_span follow the spans of all layers inside a step. */
START_TEST(spans_go_back_through_all_layers_of_a_step)
{
  struct mafat_network *n = test_network(rows[_i].cfg);
  struct mafat_plan *plan = read_plan(n, &rows[_i], false);
  for (int l = 0; l < plan->n_layers; l++) {
    if (mafat_layer_is_alias(&n->layers[l]) || !mafat_layer_is_tileable(&n->layers[l])) continue;
    for (int axis = 0; axis < 2; axis++) {
      int extent = axis ? n->layers[l].out.h : n->layers[l].out.w;
      for (int begin = 0; begin < extent; begin++)
        for (int end = begin + 1; end <= extent; end++) {
          struct mafat_span out = mafat_span(begin, end), expected_inner = out, expected = out;
          for (int k = l; k >= 0; k = plan->inner[k]) {
            expected_inner = expected;
            /* Winograd reads the inputs of whole tiles of 4 pixels. */
            if (plan->algorithms[k] == MAFAT_WINOGRAD)
              expected =
                  mafat_span_round_out(expected, 4, axis ? n->layers[k].out.h : n->layers[k].out.w);
            expected = mafat_layer_in_span(&n->layers[k], 0, axis, expected);
          }
          struct mafat_span inner = mafat_fusion_inner_span(plan, n, l, axis, out);
          struct mafat_span in = mafat_fusion_in_span(plan, n, l, 0, axis, out);
          ck_assert_msg(inner.begin == expected_inner.begin && inner.end == expected_inner.end,
                        "%s: layer %d, [%d, %d): inside [%d, %d)", rows[_i].what, l, begin, end,
                        inner.begin, inner.end);
          ck_assert_msg(in.begin == expected.begin && in.end == expected.end,
                        "%s: layer %d, [%d, %d): reads [%d, %d)", rows[_i].what, l, begin, end,
                        in.begin, in.end);
        }
    }
  }
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

struct span_row {
  const char *cfg;
  int layer;
  struct mafat_span out, inner, in; /* along the width, 26 */
};

static const struct span_row span_rows[] = {
    {NET CONV POOL, 1, {0, 13}, {0, 26}, {0, 26}},
    {NET CONV POOL, 1, {2, 5}, {4, 10}, {3, 11}},
    {NET CONV POOL, 1, {0, 1}, {0, 2}, {0, 3}},
    {NET CONV POOL, 1, {12, 13}, {24, 26}, {23, 26}},
    {NET CONV POOL, 0, {2, 5}, {2, 5}, {1, 6}},
    {NET DEPTHWISE POINTWISE, 1, {2, 5}, {2, 5}, {1, 6}},
    {NET "[convolutional]\nfilters=8\ngroups=8\nsize=3\nstride=2\npad=1\n" POINTWISE, 1, {2, 5}, {2,
     5}, {3, 10}},
    {NET CONV8 DEPTHWISE POINTWISE "[shortcut]\nfrom=0\n", 3, {2, 5}, {2, 5}, {1, 6}},
};

/* Each row's span of outputs needs the expected spans of the fused layer and of the input. */
START_TEST(spans_of_known_steps)
{
  const struct span_row *r = &span_rows[_i];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan *plan = test_plan(n, "1x1");
  struct mafat_span inner = mafat_fusion_inner_span(plan, n, r->layer, false, r->out);
  struct mafat_span in = mafat_fusion_in_span(plan, n, r->layer, 0, false, r->out);
  ck_assert_msg(inner.begin == r->inner.begin && inner.end == r->inner.end,
                "row %d: inside [%d, %d)", _i, inner.begin, inner.end);
  ck_assert_msg(in.begin == r->in.begin && in.end == r->in.end, "row %d: reads [%d, %d)", _i,
                in.begin, in.end);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* A step reads what its innermost layer reads. */
START_TEST(sources_are_those_of_the_innermost_layer)
{
  struct mafat_network *n =
      test_network(NET CONV8 DEPTHWISE POINTWISE "[shortcut]\nfrom=0\n" CONV POOL);
  struct mafat_plan *plan = test_plan(n, "1x1");
  static const int readers[] = {0, 1, 1, 1, 4, 4};
  for (int l = 0; l < n->n_layers; l++) {
    ck_assert_int_eq(mafat_plan_reader(plan, l), readers[l]);
    ck_assert_ptr_eq(mafat_plan_sources(plan, n, l), mafat_layer_sources(&n->layers[readers[l]]));
  }
  ck_assert_int_eq(mafat_plan_sources(plan, n, 5)->list[0].tensor, 3);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* Boxes are multiples of a Winograd tile where Winograd is used, or of half a tile if the output is
 * pooled. */
START_TEST(boxes_are_rounded_to_tiles)
{
  static const int direct[] = {1, 1, 1, 1, 1, 1}, winograd[] = {4, 2, 1, 4, 4, 1};
  struct mafat_network *n =
      test_network(NET CONV8 POOL POINTWISE CONV8 "[shortcut]\nfrom=-2\n" POINTWISE);
  for (int a = MAFAT_AUTO; a <= MAFAT_WINOGRAD; a++) {
    struct mafat_plan *plan = plan_by(n, (enum mafat_algorithm)a);
    for (int l = 0; l < n->n_layers; l++) {
      int granularity = mafat_fusion_granularity(plan, n, l);
      if (a == MAFAT_AUTO) ck_assert(granularity == direct[l] || granularity == winograd[l]);
      else ck_assert_int_eq(granularity, a == MAFAT_DIRECT ? direct[l] : winograd[l]);
    }
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

/* ---- work and memory ---- */

static bool is_balanced(const struct mafat_cut *cut)
{
  return mafat_cut_is_tiled(cut) && cut->as.grid.balanced;
}

/* True if the readers need all of the layer's output. A pool without padding may leave out the last
 * row or column. */
static bool is_read_whole(const struct mafat_network *n, int layer)
{
  struct mafat_shape out = n->layers[layer].out;
  for (int r = 0; r < n->n_layers; r++)
    for (struct mafat_reads reads = mafat_layer_reads(&n->layers[r]); mafat_reads_next(&reads);) {
      const struct mafat_layer *reader = &n->layers[r];
      if (reads.source->tensor != layer) continue;
      struct mafat_span down =
          mafat_layer_in_span(reader, reads.operand, true, (struct mafat_span){0, reader->out.h});
      struct mafat_span across =
          mafat_layer_in_span(reader, reads.operand, false, (struct mafat_span){0, reader->out.w});
      if (down.end < out.h || across.end < out.w) return false;
    }
  return true;
}

/* Fusion does not change the multiplications of any layer, except where pixels that no reader needs
 * are left out. */
START_TEST(multiplications_are_conserved)
{
  bool less = false;
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct test_rng rng = test_rng(22000 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  struct mafat_plan_options options;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  test_random_plan(&rng, n, n->n_layers, text, sizeof text);
  mafat_plan_defaults(&options);
  options.algorithm = (enum mafat_algorithm)(_i % 3);
  struct mafat_plan *fused = test_plan_with(n, text, &options);
  options.keep_all = true;
  struct mafat_plan *kept = test_plan_with(n, text, &options);
  for (int g = 0; g < fused->n_groups; g++)
    /* balanced boundaries depend on bytes, so those of the two plans differ */
    if (is_balanced(&fused->groups[g].cut)) goto done;
  struct mafat_layout *a = test_layout(n, fused), *b = test_layout(n, kept);
  for (int l = 0; l < n->n_layers; l++) {
    if (a->layer_macs[l] < b->layer_macs[l] && fused->outer[l] >= 0 && !is_read_whole(n, l))
      less = true;
    else if (a->layer_macs[l] != b->layer_macs[l])
      test_fail_case(cfg, text, "%s, layer %d: %llu fused, %llu kept",
                     mafat_algorithm_name(options.algorithm), l,
                     (unsigned long long)a->layer_macs[l], (unsigned long long)b->layer_macs[l]);
  }
  ck_assert(less ? a->macs < b->macs : a->macs == b->macs);
  if (!less) ck_assert_uint_eq(a->redundant_macs, b->redundant_macs);
  mafat_layout_close(&a);
  mafat_layout_close(&b);
done:
  mafat_plan_close(&fused);
  mafat_plan_close(&kept);
  mafat_network_close(&n);
}
END_TEST

/* Checks that fused layers have neither buffers nor steps. */
static void check_no_buffer(const struct mafat_network *n, const struct mafat_plan *plan,
                            const struct mafat_layout *layout, const char *what)
{
  struct mafat_schedule *s;
  struct mafat_step step;
  for (int l = 0; l < plan->n_layers; l++) {
    if (plan->outer[l] < 0) continue;
    ck_assert_msg(layout->tensors[l].buffer == -1, "%s: layer %d has a buffer", what, l);
    for (int b = 0; b < layout->n_buffers; b++)
      ck_assert_msg(layout->buffers[b].tag != MAFAT_TAG_ACTIVATIONS ||
                        layout->buffers[b].tensor != l,
                    "%s: layer %d has a buffer", what, l);
  }
  ck_assert_int_eq(mafat_schedule_open(&s, n, plan), MAFAT_OK);
  while (mafat_schedule_next(s, &step))
    ck_assert_msg(plan->outer[step.layer] < 0, "%s: layer %d has a step of its own", what,
                  step.layer);
  mafat_schedule_close(&s);
}

/* A fused layer's output has no buffer. */
START_TEST(fused_layers_have_no_buffer)
{
  struct mafat_network *n = test_network(rows[_i].cfg);
  struct mafat_plan *plan = read_plan(n, &rows[_i], false);
  struct mafat_layout *layout = test_layout(n, plan);
  check_no_buffer(n, plan, layout, rows[_i].what);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* A convolution's map of 64 x 64 x 32 floats, which is the peak without fusion, is not stored if
 * the convolution is fused into its pool. */
START_TEST(the_map_between_is_saved)
{
  struct mafat_network *n =
      test_network("[net]\nheight=64\nwidth=64\nchannels=3\n"
                   "[convolutional]\nfilters=32\nsize=3\npad=1\nactivation=leaky\n" POOL);
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  struct mafat_plan *fused = test_plan_with(n, "1x1", &options);
  options.keep_all = true;
  struct mafat_plan *kept = test_plan_with(n, "1x1", &options);
  struct mafat_layout *a = test_layout(n, fused), *b = test_layout(n, kept);
  size_t map = 64 * 64 * 32 * sizeof(float), pooled = map / 4,
         input = 64 * (1 + 64 + 1) * 3 * sizeof(float);
  ck_assert_uint_ge(b->total_bytes, map + pooled);
  ck_assert_uint_eq(a->tag_bytes[MAFAT_TAG_ACTIVATIONS], pooled);
  ck_assert_uint_eq(a->total_bytes, pooled + input + a->tag_bytes[MAFAT_TAG_SCRATCH]);
  ck_assert_uint_lt(a->tag_bytes[MAFAT_TAG_SCRATCH], pooled);
  mafat_layout_close(&a);
  mafat_layout_close(&b);
  mafat_plan_close(&fused);
  mafat_plan_close(&kept);
  mafat_network_close(&n);
}
END_TEST

Suite *fusion_suite(void)
{
  enum { N_ROWS = sizeof rows / sizeof *rows };
  Suite *s = suite_create("fusion");
  TCase *t = tcase_create("fusion");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, these_layers_are_computed_inside_their_readers, 0, N_ROWS);
  tcase_add_loop_test(t, nothing_is_when_all_layers_are_kept, 0, N_ROWS);
  tcase_add_loop_test(t, pairs_of_random_plans_are_sound, 0, test_seeds(100));
  tcase_add_loop_test(t, spans_go_back_through_all_layers_of_a_step, 0, N_ROWS);
  tcase_add_loop_test(t, spans_of_known_steps, 0, sizeof span_rows / sizeof *span_rows);
  tcase_add_test(t, sources_are_those_of_the_innermost_layer);
  tcase_add_test(t, boxes_are_rounded_to_tiles);
  tcase_add_loop_test(t, multiplications_are_conserved, 0, test_seeds(200));
  tcase_add_loop_test(t, fused_layers_have_no_buffer, 0, N_ROWS);
  tcase_add_test(t, the_map_between_is_saved);
  suite_add_tcase(s, t);
  return s;
}
