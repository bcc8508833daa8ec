/* Covers network/{network, merge}.c, network/kinds/{alias, boxes, detection, input, reorg}.c,
 * formats/darknet/{darknet, fork, sections}.c: networks made from cfg files: shapes, sources,
 * parameters, refused files, warnings, the choice between the two forks of Darknet, and merging of
 * equal layers. */
#include <check.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/darknet/darknet.h"
#include "formats/darknet/fork.h"
#include "network/merge.h"
#include "network/network.h"
#include "tests/support/support.h"

Suite *network_suite(void);

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* ---- shapes against Darknet's formulas ---- */

struct shape_row {
  const char *sections; /* text after a [net] of height 13, width 17 and 24 channels */
  int h, w, c;          /* of the last layer */
};

static const struct shape_row shape_rows[] = {
    /* (h + 2 * pad - size) / stride + 1 */
    {"[convolutional]\n", 13, 17, 1},
    {"[conv]\nfilters=5\nsize=3\n", 11, 15, 5},
    {"[convolutional]\nfilters=5\nsize=3\npad=1\n", 13, 17, 5},
    {"[convolutional]\nfilters=5\nsize=3\npad=1\npadding=7\n", 13, 17,
     5}, /* pad=1 means half the size */
    {"[convolutional]\nfilters=5\nsize=3\npadding=2\n", 15, 19, 5},
    {"[convolutional]\nfilters=5\nsize=2\npad=1\n", 14, 18, 5},
    {"[convolutional]\nfilters=5\nsize=3\npad=1\nstride=2\n", 7, 9, 5},
    {"[convolutional]\nfilters=5\nsize=7\npad=1\nstride=3\n", 5, 6, 5},
    {"[convolutional]\nfilters=48\nsize=3\npad=1\ngroups=24\n", 13, 17, 48},
    /* (h + padding - size) / stride + 1, padding = size - 1 unless given */
    {"[maxpool]\nsize=2\nstride=2\n", 7, 9, 24},
    {"[max]\nstride=2\n", 7, 9, 24}, /* size defaults to the stride */
    {"[maxpool]\n", 13, 17, 24},
    {"[maxpool]\nsize=2\nstride=1\n", 13, 17, 24},
    {"[maxpool]\nsize=2\nstride=2\npadding=0\n", 6, 8, 24},
    {"[maxpool]\nsize=3\nstride=2\npadding=1\n", 6, 8, 24},
    {"[maxpool]\nsize=13\nstride=1\n", 13, 17, 24},
    {"[local_avgpool]\nsize=3\nstride=2\n", 7, 9, 24},
    {"[local_avg]\nstride=2\nstride_x=3\npadding=0\n", 6, 6, 24},
    {"[avgpool]\n", 1, 1, 24},
    {"[avg]\n", 1, 1, 24},
    {"[dropout]\n[route]\nlayers=0,0\n", 13, 17, 48},
    {"[dropout]\n[route]\nlayers=-1\ngroups=3\ngroup_id=2\n", 13, 17, 8},
    {"[conv]\nfilters=7\n[conv]\nfilters=9\n[shortcut]\nfrom=-2\n", 13, 17, 9},
    {"[conv]\nfilters=7\n[conv]\nfilters=9\n[conv]\nfilters=8\n[shortcut]\nfrom=-2,0,-3\n", 13, 17,
     8},
    {"[avgpool]\n[scale_channels]\nfrom=-1\n", 1, 1, 24},
    {"[dropout]\n[avgpool]\n[scale_channels]\nfrom=0\n", 13, 17, 24},
    {"[dropout]\n[conv]\n[scale_channels]\nfrom=-2\nscale_wh=1\n", 13, 17, 24},
    {"[dropout]\n[conv]\nfilters=24\n[sam]\nfrom=-2\n", 13, 17, 24},
    {"[upsample]\n", 26, 34, 24},
    {"[upsample]\nstride=3\n", 39, 51, 24},
    {"[conv]\nsize=2\nfilters=24\n[reorg]\nstride=2\n", 6, 8, 96},
    {"[reorg]\nstride=2\nreverse=1\n", 26, 34, 6},
    {"[reorg]\nstride=2\nextra=5\n", 1, 1, 13 * 17 * 24 + 5},
    {"[conv]\nsize=2\nfilters=5\n[reorg3d]\nstride=4\n", 3, 4, 80},
    {"[connected]\noutput=10\n", 1, 1, 10},
    {"[conn]\n", 1, 1, 1},
    /* local: (h - size) / stride + 1 without pad, (h - 1) / stride + 1 with pad */
    {"[local]\nfilters=2\nsize=3\nstride=2\n", 6, 8, 2},
    {"[local]\nfilters=2\nsize=3\nstride=2\npad=1\n", 7, 9, 2},
    {"[batchnorm]\n", 13, 17, 24},
    {"[crop]\ncrop_height=10\ncrop_width=12\n", 10, 12, 24},
    {"[activation]\nactivation=relu\n", 13, 17, 24},
    {"[dropout]\nprobability=.5\n", 13, 17, 24},
    {"[cost]\n", 13, 17, 24},
    {"[softmax]\ngroups=3\n", 13, 17, 24},
    {"[soft]\n", 13, 17, 24},
    {"[region]\nclasses=3\nnum=3\ncoords=4\n", 13, 17, 24},
    {"[yolo]\nclasses=3\nnum=6\nmask=3,4,5\nanchors=1,2,3,4,5,6,7,8,9,10,11,12\n", 13, 17, 24},
    {"[Gaussian_yolo]\nclasses=3\nnum=6\nmask=3,4\n", 13, 17, 24},
    {"[yolo]\nclasses=3\nnum=3\nanchors=1,2,3,4,5,6,7,8\n", 13, 17, 24},
    {"[yolo]\nclasses=3\nnum=3\nmask=0,2,3\nanchors=1,2,3,4,5,6,7,8\n", 13, 17,
     24}, /* as in cspx-p7-mish.cfg */
    {"[connected]\noutput=44\n[detection]\nclasses=1\ncoords=4\nside=2\nnum=2\n", 1, 1, 44},
};

static struct mafat_network *after_net(const char *sections)
{
  char text[4096];
  snprintf(text, sizeof text, "[net]\nheight=13\nwidth=17\nchannels=24\n%s", sections);
  return test_network(text);
}

START_TEST(shapes_equal_darknets)
{
  const struct shape_row *r = &shape_rows[_i];
  struct mafat_network *n = after_net(r->sections);
  struct mafat_shape out = n->layers[n->n_layers - 1].out;
  ck_assert_msg(out.h == r->h && out.w == r->w && out.c == r->c, "%s: found %d x %d x %d",
                r->sections, out.h, out.w, out.c);
  mafat_network_close(&n);
}
END_TEST

/* The table of shapes has a row for each layer type that a cfg can have. */
START_TEST(shapes_are_tested_of_every_type)
{
  bool seen[MAFAT_N_LAYER_TYPES] = {false};
  for (int i = 0; i < COUNT(shape_rows); i++) {
    struct mafat_network *n = after_net(shape_rows[i].sections);
    seen[n->layers[n->n_layers - 1].type] = true;
    seen[n->layers[mafat_network_picture(n)].type] = true;
    mafat_network_close(&n);
  }
  for (int t = 0; t < MAFAT_N_LAYER_TYPES; t++) {
    const struct mafat_kind *kind = mafat_kind_of((enum mafat_layer_type)t);
    if (kind->apart || kind->constant) continue; /* no cfg has it */
    ck_assert_msg(seen[t], "no row for %s", mafat_layer_type_name((enum mafat_layer_type)t));
  }
}
END_TEST

START_TEST(every_activation_is_read_by_its_name)
{
  for (int a = 0; a < MAFAT_N_ACTIVATIONS; a++) {
    const char *name = mafat_activation_name((enum mafat_activation)a);
    char sections[64];
    ck_assert_msg(name && *name && strcmp(name, "unknown"), "activation %d", a);
    if (a >= MAFAT_N_DARKNET_ACTIVATIONS) continue;
    snprintf(sections, sizeof sections, "[activation]\nactivation=%s\n", name);
    struct mafat_network *n = after_net(sections);
    ck_assert_msg((int)n->layers[0].activation.kind == a, "%s", name);
    mafat_network_close(&n);
  }
  ck_assert_str_eq(mafat_activation_name(MAFAT_N_ACTIVATIONS), "unknown");
}
END_TEST

START_TEST(defaults_equal_darknets)
{
  struct mafat_network *n =
      after_net("[convolutional]\n[activation]\n[connected]\n[local]\n[shortcut]\nfrom=-2\n"
                "[upsample]\n[softmax]\n");
  const struct mafat_layer *l = n->layers;
  ck_assert(mafat_window_is_pixel(&l[0].window) && l[0].groups == 1 && !l[0].batch_normalize);
  ck_assert_int_eq(l[0].activation.kind, MAFAT_LOGISTIC);
  ck_assert_int_eq(l[1].activation.kind, MAFAT_LINEAR);
  ck_assert_int_eq(l[2].activation.kind, MAFAT_LOGISTIC);
  ck_assert_int_eq(l[3].activation.kind, MAFAT_LOGISTIC);
  ck_assert(l[4].activation.kind == MAFAT_LINEAR && l[4].alpha == 1 && l[4].beta == 1);
  ck_assert(l[5].factor == 2 && l[5].scale == 1);
  ck_assert(l[6].n_softmaxes == 1 && l[6].temperature == 1);
  ck_assert(n->letterbox);
  mafat_network_close(&n);
}
END_TEST

START_TEST(heads_hold_their_parameters)
{
  struct mafat_network *n = test_network(
      "[net]\nheight=4\nwidth=4\nchannels=18\nletter_box=0\n"
      "[yolo]\nclasses=4\nnum=3\nmask=2,0\nanchors=1,2, 3,4, 5,6\nscale_x_y=1.5\nnew_coords=1\n"
      "[region]\nclasses=13\nnum=1\nsoftmax=1\nbackground=1\n"
      "[Gaussian_yolo]\nclasses=9\nscale_x_y=1.5\nyolo_point=right_bottom\nnms_kind=diounms\nbeta_"
      "nms=.7\n");
  const struct mafat_head *yolo = &n->layers[0].head, *region = &n->layers[1].head,
                          *gaussian = &n->layers[2].head;
  static const float masked[] = {5, 6, 1, 2};
  ck_assert(!n->letterbox);
  ck_assert(yolo->classes == 4 && yolo->n_anchors == 2 && yolo->coords == 4 &&
            yolo->scale_xy == 1.5f && yolo->new_coords);
  ck_assert_mem_eq(yolo->anchors, masked, sizeof masked);
  ck_assert(region->classes == 13 && region->n_anchors == 1 && region->softmax &&
            region->background);
  ck_assert(region->anchors[0] == .5f &&
            region->anchors[1] == .5f); /* Darknet's default if anchors are missing */
  ck_assert(gaussian->classes == 9 && gaussian->n_anchors == 1 && gaussian->coords == 8 &&
            gaussian->scale_xy == 1.5f);
  ck_assert(gaussian->point == MAFAT_POINT_RIGHT_BOTTOM && gaussian->nms == MAFAT_NMS_DIOU &&
            gaussian->beta_nms == .7f);
  mafat_network_close(&n);
}
END_TEST

/* ---- edges ---- */

static const struct mafat_sources *operand(const struct mafat_layer *l, int k)
{
  ck_assert_int_lt(k, l->n_operands);
  return &l->operands[k].sources;
}

static void check_source(const struct mafat_sources *sources, int i, int tensor, int first, int n)
{
  const struct mafat_source *s = &sources->list[i];
  ck_assert_int_lt(i, sources->n);
  ck_assert_msg(s->tensor == tensor && s->first == first && s->n == n,
                "source %d: found %d+%d of tensor %d", i, s->first, s->n, s->tensor);
}

/* A layer that reads an alias (a layer that only renames its input) gets the sources of that
 * input. */
START_TEST(renaming_layers_are_skipped)
{
  struct mafat_network *n = after_net("[dropout]\n"                     /* 0: the input */
                                      "[conv]\nfilters=20\n[dropout]\n" /* 1, 2 */
                                      "[conv]\nfilters=40\n"            /* 3 */
                                      "[route]\nlayers=-1,-2,0\n"       /* 4: 40 + 20 + 24 */
                                      "[route]\nlayers=4\ngroups=4\ngroup_id=1\n" /* 5: 21..42 */
                                      "[cost]\n[conv]\nfilters=2\n[route]\nlayers=6,3\n");
  const struct mafat_layer *l = n->layers;
  check_source(operand(&l[1], 0), 0, mafat_network_picture(n), 0, 24);
  check_source(operand(&l[3], 0), 0, 1, 0, 20);
  ck_assert_int_eq(operand(&l[4], 0)->n, 3);
  check_source(operand(&l[4], 0), 0, 3, 0, 40);
  check_source(operand(&l[4], 0), 1, 1, 0, 20);
  check_source(operand(&l[4], 0), 2, mafat_network_picture(n), 0, 24);
  ck_assert_int_eq(operand(&l[7], 0)->n, 2);
  check_source(operand(&l[7], 0), 0, 3, 21, 19);
  check_source(operand(&l[7], 0), 1, 1, 0, 2);
  ck_assert_int_eq(operand(&l[8], 0)->n, 3);
  check_source(operand(&l[8], 0), 2, 3, 0, 40);
  ck_assert_int_eq(l[8].out.c, 61);
  mafat_network_close(&n);
}
END_TEST

START_TEST(route_groups_take_the_same_part_of_each_source)
{
  struct mafat_network *n = after_net(
      "[conv]\nfilters=20\n[conv]\nfilters=40\n[route]\nlayers=0,1\ngroups=2\ngroup_id=1\n");
  ck_assert_int_eq(n->layers[2].out.c, 30);
  check_source(operand(&n->layers[2], 0), 0, 0, 10, 10);
  check_source(operand(&n->layers[2], 0), 1, 1, 20, 20);
  mafat_network_close(&n);
}
END_TEST

/* The number of the input's tensor is the number of layers, even after the network is shortened. */
START_TEST(inputs_stay_after_the_layers)
{
  struct mafat_network *n =
      after_net("[dropout]\n[conv]\nfilters=24\n[shortcut]\nfrom=0\n[conv]\n");
  for (int end = 4; end >= 3; end--) {
    if (end < n->n_layers) mafat_network_shorten(n, end);
    int picture = mafat_network_picture(n);
    ck_assert_int_eq(picture, end);
    ck_assert_int_eq(mafat_network_n_tensors(n), end + 1);
    ck_assert(mafat_layer_is_input(&n->layers[picture]) && n->layers[picture].out.c == 24);
    check_source(operand(&n->layers[1], 0), 0, picture, 0, 24);
    check_source(operand(&n->layers[2], 0), 0, 1, 0, 24);
    check_source(operand(&n->layers[2], 1), 0, picture, 0, 24);
    ck_assert_int_eq(mafat_network_number(n, end - 1), end - 1);
    ck_assert_int_eq(mafat_network_number(n, picture), -1);
    ck_assert_int_eq(mafat_network_above(n, 0), picture);
    ck_assert_int_eq(mafat_network_above(n, 2), 1);
  }
  mafat_network_close(&n);
}
END_TEST

START_TEST(shortcuts_add_the_channels_both_have)
{
  struct mafat_network *n =
      after_net("[conv]\nfilters=20\n[conv]\nfilters=8\n[shortcut]\nfrom=0\nalpha=2\nbeta=.5\n"
                "[conv]\nfilters=50\n[route]\nlayers=0,1\n[shortcut]\nfrom=-2\n");
  const struct mafat_layer *l = n->layers;
  check_source(operand(&l[2], 0), 0, 1, 0, 8);
  check_source(operand(&l[2], 1), 0, 0, 0, 8);
  ck_assert(l[2].operands[1].shape.c == 20 && l[2].alpha == 2 && l[2].beta == .5f);
  ck_assert_int_eq(operand(&l[5], 0)->n, 2);
  check_source(operand(&l[5], 1), 0, 3, 0, 28);
  mafat_network_close(&n);
}
END_TEST

START_TEST(blends_have_an_operand_for_each_of_their_maps)
{
  struct mafat_network *n =
      after_net("[conv]\nfilters=20\n[conv]\nfilters=8\n[shortcut]\nfrom=0,-1\n[avgpool]\n"
                "[scale_channels]\nfrom=1\n[conv]\nfilters=1\n[scale_channels]\nfrom=-2\n"
                "scale_wh=1\n[sam]\nfrom=4\nactivation=relu\n");
  const struct mafat_layer *sum = &n->layers[2], *scaled = &n->layers[4], *masked = &n->layers[6],
                           *sam = &n->layers[7];
  check_source(operand(sum, 0), 0, 1, 0, 8);
  check_source(operand(sum, 1), 0, 0, 0, 8);
  check_source(operand(sum, 2), 0, 1, 0, 8);
  ck_assert(sum->blend == MAFAT_BLEND_ADD && sum->n_operands == 3);
  check_source(operand(scaled, 0), 0, 1, 0, 8); /* the map is always operand 0 */
  check_source(operand(scaled, 1), 0, 3, 0, 8);
  ck_assert(scaled->blend == MAFAT_BLEND_MUL && scaled->operands[1].broadcast &&
            !scaled->operands[0].broadcast);
  check_source(operand(masked, 1), 0, 5, 0, 1);
  ck_assert(masked->blend == MAFAT_BLEND_MUL && masked->operands[1].broadcast);
  check_source(operand(sam, 0), 0, 6, 0, 8);
  check_source(operand(sam, 1), 0, 4, 0, 8);
  ck_assert(sam->blend == MAFAT_BLEND_MUL && !sam->operands[1].broadcast &&
            sam->activation.kind == MAFAT_RELU);
  mafat_network_close(&n);
}
END_TEST

START_TEST(depthwise_is_one_filter_a_channel)
{
  struct mafat_network *n = after_net(
      "[conv]\nfilters=24\ngroups=24\n[conv]\nfilters=48\ngroups=24\n[conv]\nfilters=24\n");
  ck_assert(mafat_layer_is_depthwise(&n->layers[0]));
  ck_assert(!mafat_layer_is_depthwise(&n->layers[1]));
  ck_assert(!mafat_layer_is_depthwise(&n->layers[2]));
  mafat_network_close(&n);
}
END_TEST

/* A [net] with `inputs` and without a size is a network whose input is a list of numbers. */
START_TEST(a_network_may_read_a_list_of_numbers)
{
  struct mafat_network *n = test_network("[net]\ninputs=30\n[connected]\noutput=4\n");
  struct mafat_shape in = mafat_network_picture_shape(n);
  ck_assert(in.h == 1 && in.w == 1 && in.c == 30);
  mafat_network_close(&n);
}
END_TEST

/* mafat_layer_pads returns how many columns left and right of the input the windows reach. */
START_TEST(pads_are_columns_that_windows_reach)
{
  for (int seed = 0; seed < 300; seed++) {
    struct test_rng rng = test_rng((uint64_t)seed);
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM];
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    for (int i = 0; i < n->n_layers; i++) {
      const struct mafat_layer *l = &n->layers[i];
      int left, right, first = -l->window.x.before,
                       last = mafat_taps_span(l->window.x, mafat_span(0, l->out.w)).end - 1;
      mafat_layer_pads(l, &left, &right);
      if (l->type != MAFAT_CONVOLUTIONAL) ck_assert(left == 0 && right == 0);
      else if (left != -first || right != (last >= l->in.w ? last - l->in.w + 1 : 0))
        test_fail_case(cfg, "-", "layer %d: found pads %d and %d", i, left, right);
    }
    mafat_network_close(&n);
  }
}
END_TEST

/* ---- weights and work ---- */

struct count_row {
  const char *sections;
  unsigned biases, normalization, weights, macs;
};

static const struct count_row count_rows[] = {
    {"[conv]\nfilters=5\nsize=3\npad=1\n", 5, 0, 5 * 24 * 9, 13 * 17 * 5 * 24 * 9},
    {"[conv]\nfilters=5\nsize=3\npad=1\nbatch_normalize=1\n", 5, 15, 5 * 24 * 9,
     13 * 17 * 5 * 24 * 9},
    {"[conv]\nfilters=24\nsize=3\npad=1\ngroups=24\n", 24, 0, 24 * 9, 13 * 17 * 24 * 9},
    {"[conv]\nfilters=48\nsize=1\ngroups=4\n", 48, 0, 48 * 6, 13 * 17 * 48 * 6},
    {"[connected]\noutput=3\nbatch_normalize=1\n", 3, 9, 3 * 13 * 17 * 24, 3 * 13 * 17 * 24},
    {"[local]\nfilters=2\nsize=3\n", 11 * 15 * 2, 0, 11 * 15 * 2 * 24 * 9, 11 * 15 * 2 * 24 * 9},
    {"[batchnorm]\n", 0, 72, 0, 0},
    {"[maxpool]\nsize=2\nstride=2\n", 0, 0, 0, 0},
    {"[softmax]\n", 0, 0, 0, 0},
};

START_TEST(weights_and_work_are_counted)
{
  const struct count_row *r = &count_rows[_i];
  struct mafat_network *n = after_net(r->sections);
  const struct mafat_layer *l = &n->layers[0];
  struct mafat_weight_counts counts = mafat_layer_weight_counts(l);
  ck_assert_msg(counts.biases == r->biases && counts.normalization == r->normalization &&
                    counts.weights == r->weights,
                "%s: %u, %u, %u", r->sections, (unsigned)counts.biases,
                (unsigned)counts.normalization, (unsigned)counts.weights);
  ck_assert_msg(mafat_layer_macs(l, (uint64_t)(l->out.h * l->out.w)) == r->macs, "%s", r->sections);
  mafat_network_close(&n);
}
END_TEST

/* ---- refusing ---- */

struct refusal {
  const char *text;
  int code;
  const char *message;
};

#define NET "[net]\nheight=8\nwidth=8\nchannels=4\n"
#define ZEROS4 "0,0,0,0,"
#define ZEROS16 ZEROS4 ZEROS4 ZEROS4 ZEROS4

static const struct refusal refusals[] = {
    {"[conv]\n", MAFAT_EFORMAT, "a.cfg:1: expected the first section to be [net], found [conv]"},
    {"[net]\nheight=8\nwidth=8\n", MAFAT_EFORMAT,
     "a.cfg:1: [net] expects height, width and channels, found 8 x 8 x 0"},
    {"[net]\nheight=8\nwidth=8\nchannels=3\ninputs=5\n[conv]\n", MAFAT_EFORMAT,
     "a.cfg:1: [net] has inputs=5, but height x width x channels is 192"},
    {"[net]\nheight=-8\n", MAFAT_EFORMAT, "a.cfg:2: height expects 0 to 1048576, found -8"},
    {NET, MAFAT_EFORMAT, "a.cfg: expected layers after [net], found none"},
    {NET "[lstm]\n", MAFAT_EUNSUPPORTED, "a.cfg:5: layer [lstm] is not supported"},
    {NET "\n\n[net]\n", MAFAT_EUNSUPPORTED, "a.cfg:7: layer [net] is not supported"},
    {NET "[conv]\nactivation=gelu\n", MAFAT_EUNSUPPORTED,
     "a.cfg:6: activation [gelu] is not supported"},
    {NET "[conv]\nfilters=0\n", MAFAT_EFORMAT, "a.cfg:6: filters expects 1 to 1048576, found 0"},
    {NET "[conv]\nsize=3\nstride=0\n", MAFAT_EFORMAT, "a.cfg:7: stride expects 1 to 4096, found 0"},
    {NET "[conv]\nsize=three\n", MAFAT_EFORMAT, "a.cfg:6: size expects an integer, found three"},
    {NET "[conv]\nsize=9\n", MAFAT_EFORMAT,
     "a.cfg:5: layer [conv] has a window larger than its padded input"},
    {NET "[conv]\ngroups=3\nfilters=3\n", MAFAT_EFORMAT,
     "expects groups that divide both channels and filters"},
    {NET "[conv]\ngroups=4\nfilters=3\n", MAFAT_EFORMAT,
     "expects groups that divide both channels and filters"},
    {NET "[conv]\nsize=3\ndilation=2\n", MAFAT_EUNSUPPORTED,
     "with dilation expects an odd size and pad=1"},
    {NET "[conv]\n[conv]\nshare_index=0\n", MAFAT_EUNSUPPORTED,
     "a.cfg:7: share_index=0 in [conv] is not supported"},
    {NET "[conv]\nxnor=1\n", MAFAT_EUNSUPPORTED, "a.cfg:6: xnor=1 in [conv] is not supported"},
    {NET "[maxpool]\nsize=2\nmaxpool_depth=1\n", MAFAT_EUNSUPPORTED,
     "a.cfg:7: maxpool_depth=1 in [maxpool] is not supported"},
    {NET "[maxpool]\nsize=9\npadding=0\n", MAFAT_EFORMAT,
     "has a window larger than its padded input"},
    {NET "[maxpool]\nsize=2\npadding=4\n", MAFAT_EFORMAT, "has a window that sees only padding"},
    {NET "[local_avgpool]\nsize=2\npadding=4\n", MAFAT_EFORMAT,
     "has a window that sees only padding"},
    {NET "[reorg3d]\nreverse=1\n", MAFAT_EUNSUPPORTED,
     "a.cfg:6: reverse=1 in [reorg3d] is not supported"},
    {NET "[reorg3d]\nstride=5\n", MAFAT_EFORMAT,
     "a.cfg:5: layer [reorg3d] expects a map divisible by stride"},
    {NET "[conv]\nfilters=10\n[Gaussian_yolo]\nclasses=1\nyolo_point=middle\n", MAFAT_EUNSUPPORTED,
     "a.cfg:9: yolo_point=middle in [Gaussian_yolo] is not supported"},
    {NET "[route]\nlayers=-1\n", MAFAT_EFORMAT,
     "a.cfg:5: layers in layer 0 [route] expects an earlier layer, found -1"},
    {NET "[conv]\n[route]\nlayers=1\n", MAFAT_EFORMAT,
     "layers in layer 1 [route] expects an earlier layer, found 1"},
    {NET "[conv]\n[route]\nlayers=0,-5\n", MAFAT_EFORMAT, "expects an earlier layer, found -5"},
    {NET "[conv]\n[route]\n", MAFAT_EFORMAT, "a.cfg:6: layer [route] expects layers=, found none"},
    {NET "[conv]\n[conv]\nsize=3\n[route]\nlayers=0,1\n", MAFAT_EFORMAT,
     "a.cfg:8: route expects maps of one size, found 8 x 8 and 6 x 6 (layer 1)"},
    {NET "[conv]\nfilters=5\n[route]\nlayers=0\ngroups=2\n", MAFAT_EFORMAT,
     "expects groups that divide its sources' channels"},
    {NET "[conv]\n[route]\nlayers=0\ngroups=2\ngroup_id=2\n", MAFAT_EFORMAT,
     "group_id expects 0 to 1, found 2"},
    {NET "[conv]\n[shortcut]\n", MAFAT_EFORMAT, "expects from=, found none"},
    {NET "[conv]\n[shortcut]\nfrom=" ZEROS16 ZEROS16 ZEROS16 ZEROS16 "0\n", MAFAT_EUNSUPPORTED,
     "has too many sources"},
    {NET "[conv]\n[maxpool]\nsize=2\nstride=2\n[shortcut]\nfrom=-1,-2\n", MAFAT_EFORMAT,
     "expects maps of one size"},
    {NET "[conv]\n[conv]\nfilters=2\n[sam]\nfrom=-2\n", MAFAT_EFORMAT, "cannot combine"},
    {NET "[conv]\n[conv]\n[sam]\nfrom=-2,-1\n", MAFAT_EUNSUPPORTED, "has too many sources"},
    {NET "[conv]\n[conv]\n[sam]\n", MAFAT_EFORMAT, "expects from=, found none"},
    {NET "[conv]\n[conv]\n[scale_channels]\nfrom=-2\n", MAFAT_EFORMAT,
     "expects 1 x 1 x 1 above it"},
    {NET "[conv]\nfilters=3\n[avgpool]\n[scale_channels]\nfrom=-2\nscale_wh=1\n", MAFAT_EFORMAT,
     "x 1 above it"},
    {NET "[conv]\n[conv]\n[shortcut]\nfrom=-2\nweights_type=per_feature\n", MAFAT_EUNSUPPORTED,
     "weights_type"},
    {NET "[conv]\n[shortcut]\nfrom=1\n", MAFAT_EFORMAT,
     "from in layer 1 [shortcut] expects an earlier layer, found 1"},
    {NET "[conv]\n[crop]\ncrop_height=8\ncrop_width=3\n[shortcut]\nfrom=0\n", MAFAT_EFORMAT,
     "shortcut expects maps that differ by one integer factor, found 8 x 8 and 8 x 3"},
    {NET "[conv]\n[shortcut]\nfrom=0\nweights_type=per_channel\n", MAFAT_EUNSUPPORTED,
     "weights_type=per_channel in [shortcut] is not supported"},
    {NET "[reorg]\nstride=3\n", MAFAT_EFORMAT, "expects channels divisible by stride squared"},
    {NET "[conv]\nsize=2\nfilters=4\n[reorg]\nstride=2\n", MAFAT_EFORMAT,
     "and a map divisible by stride"},
    {NET "[local]\nsize=9\n", MAFAT_EFORMAT, "has a window larger than its input"},
    {NET "[crop]\ncrop_height=9\ncrop_width=3\n", MAFAT_EFORMAT,
     "layer [crop] is larger than its input"},
    {NET "[softmax]\ngroups=3\n", MAFAT_EFORMAT, "expects groups that divide its inputs"},
    {NET "[softmax]\ntree=a.tree\n", MAFAT_EUNSUPPORTED,
     "tree=a.tree in [softmax] is not supported"},
    {NET "[yolo]\nclasses=1\nnum=1\n", MAFAT_EFORMAT,
     "a.cfg:5: layer [yolo] expects 6 input channels (boxes x (classes + coordinates + 1)), found "
     "4"},
    {NET "[yolo]\nclasses=1\nnum=1\nmask=1\n", MAFAT_EFORMAT,
     "expects a mask of numbers below num="},
    {NET "[region]\nclasses=1\nnum=1\nanchors=1,2,3,4\n", MAFAT_EFORMAT,
     "has more anchors than num= allows"},
    {NET "[region]\nclasses=1\nnum=2\nanchors=1,2,3\n", MAFAT_EFORMAT,
     "a.cfg:8: anchors expects a width and a height for each of num=2 boxes, found 3 numbers"},
    {NET "[yolo]\nclasses=1\nnum=3\nanchors=1,2,3,4\n", MAFAT_EFORMAT, "num=3 boxes, found 4"},
    {NET "[yolo]\nclasses=1\nnum=1\nanchors=1 2,3 4\n", MAFAT_EFORMAT,
     "a.cfg:8: anchors expects commas between numbers, found blanks"},
    {NET "[yolo]\nclasses=1\nnum=2\nanchors=1,2, 3, 4\nmask=0 1\n", MAFAT_EFORMAT,
     "a.cfg:9: mask expects commas between numbers, found blanks"},
    {NET "[region]\nclasses=1\ncoords=5\n", MAFAT_EFORMAT, "coords expects 4 to 4, found 5"},
    {NET "[detection]\nclasses=1\ncoords=4\nside=2\n", MAFAT_EFORMAT,
     "layer [detection] expects 24 inputs, found 256"},
    {NET "[detection]\nclasses=1\n", MAFAT_EFORMAT, "expects coords=4"},
    /* sizes that overflow */
    {"[net]\nheight=1048576\nwidth=1048576\nchannels=3\n[conv]\n", MAFAT_EFORMAT,
     "[net] is too large: 1048576 x 1048576 x 3"},
    {"[net]\nheight=20000\nwidth=20000\nchannels=1048576\n[conv]\n", MAFAT_EFORMAT,
     "[net] is too large"},
    {"[net]\nheight=2147483648\n[conv]\n", MAFAT_EFORMAT, "height=2147483648 is out of range"},
    {"[net]\nheight=1048577\n[conv]\n", MAFAT_EFORMAT,
     "height expects 0 to 1048576, found 1048577"},
    {NET "[upsample]\nstride=4096\n", MAFAT_EFORMAT, "would put out 32768 x 32768 x 4"},
    {NET "[upsample]\nstride=512\n[upsample]\nstride=512\n", MAFAT_EFORMAT,
     "layer 1 [upsample] would put out 2097152 x 2097152 x 4"},
    {NET "[conv]\nfilters=1048576\n[conv]\nfilters=1048576\n", MAFAT_EFORMAT,
     "would have more than a terabyte of weights"},
    {NET "[upsample]\nstride=1024\n[conv]\nfilters=1048576\n", MAFAT_EFORMAT,
     "layer 1 [conv] would put out 8192 x 8192 x 1048576"},
    {NET "[upsample]\nstride=1024\n[connected]\noutput=67108864\n", MAFAT_EFORMAT,
     "would have more than a terabyte of weights"},
};

START_TEST(invalid_networks_are_refused)
{
  const struct refusal *r = &refusals[_i];
  struct mafat_diagnostic d = {""};
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", r->text, strlen(r->text), &d), MAFAT_OK);
  int code = mafat_darknet_make(&n, cfg, NULL, NULL, &d);
  ck_assert_msg(code == r->code && n == NULL, "%s: %s: %s", r->text, mafat_error_name(code),
                d.text);
  ck_assert_msg(strstr(d.text, r->message) != NULL && strncmp(d.text, "a.cfg:", 6) == 0, "%s: %s",
                r->text, d.text);
  mafat_cfg_close(&cfg);
}
END_TEST

START_TEST(too_many_layers_are_refused)
{
  struct mafat_diagnostic d = {""};
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  static char text[1 << 16] = NET;
  for (int i = 0; i <= MAFAT_MAX_LAYERS; i++) strcat(text + i * 10, "[dropout]\n");
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, strlen(text), &d), MAFAT_OK);
  ck_assert_int_eq(mafat_darknet_make(&n, cfg, NULL, NULL, &d), MAFAT_EFORMAT);
  ck_assert_str_eq(d.text, "a.cfg: expected at most 4096 layers, found 4097");
  mafat_cfg_close(&cfg);
}
END_TEST

/* Each route doubles the number of sources, so a chain of 40 routes must be refused. */
START_TEST(routes_of_routes_are_refused)
{
  struct mafat_diagnostic d = {""};
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  char text[2048] = "[net]\nheight=1\nwidth=1\nchannels=1\n[dropout]\n";
  for (int i = 0; i < 24; i++) strcat(text, "[route]\nlayers=-1,-1\n");
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, strlen(text), &d), MAFAT_OK);
  ck_assert_int_eq(mafat_darknet_make(&n, cfg, NULL, NULL, &d), MAFAT_EUNSUPPORTED);
  ck_assert_msg(strstr(d.text, "[route] has too many sources") != NULL, "%s", d.text);
  mafat_cfg_close(&cfg);
}
END_TEST

/* A line can add an operand of thousands of sources, so a small file could need gigabytes. Their
 * total number is limited. */
START_TEST(too_many_sources_in_all_are_refused)
{
  struct mafat_diagnostic d = {""};
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  char text[8192] = "[net]\nheight=1\nwidth=1\nchannels=1\n[dropout]\n";
  for (int i = 0; i < 11; i++) strcat(text, "[route]\nlayers=-1,-1\n");
  size_t length = strlen(text);
  for (int i = 0; i < 60; i++)
    strcat(text, "[activation]\n[route]\nlayers=11\n"); /* adds 2048 sources */
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, strlen(text), &d), MAFAT_OK);
  ck_assert_msg(mafat_darknet_make(&n, cfg, NULL, NULL, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_le(n->n_sources, MAFAT_MAX_ALL_SOURCES);
  mafat_network_close(&n);
  mafat_cfg_close(&cfg);
  text[length] = '\0';
  for (int i = 0; i < 130; i++) strcat(text, "[activation]\n[route]\nlayers=11\n");
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, strlen(text), &d), MAFAT_OK);
  ck_assert_int_eq(mafat_darknet_make(&n, cfg, NULL, NULL, &d), MAFAT_EUNSUPPORTED);
  ck_assert_msg(strstr(d.text,
                       "expected at most 262144 sources of all layers, found more in layer [") !=
                    NULL,
                "%s", d.text);
  ck_assert_ptr_null(n);
  mafat_cfg_close(&cfg);
}
END_TEST

/* ---- warnings ---- */

/* The warnings received: how many, and the last one. */
struct received_warnings {
  int n;
  char text[512];
};

static void listen(void *context, const char *text)
{
  struct received_warnings *received = context;
  snprintf(received->text, sizeof received->text, "%s", text);
  received->n++;
}

/* Makes a network of the cfg and returns its warnings. */
static struct received_warnings warnings_of(const char *text)
{
  struct received_warnings received = {0, ""};
  struct mafat_warning_sink sink = {listen, &received};
  struct mafat_diagnostic d = {""};
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, strlen(text), &d), MAFAT_OK);
  ck_assert_msg(mafat_darknet_make(&n, cfg, NULL, &sink, &d) == MAFAT_OK, "%s", d.text);
  mafat_network_close(&n);
  mafat_cfg_close(&cfg);
  return received;
}

START_TEST(unknown_keys_are_named_with_their_line)
{
  struct received_warnings received = warnings_of(NET "[conv]\nfilters=2\nfliters=3\n");
  ck_assert_int_eq(received.n, 1);
  ck_assert_str_eq(received.text, "a.cfg:7: unknown key fliters in [conv] is ignored");
  ck_assert_int_eq(warnings_of(NET "hieght=3\n[conv]\nfliters=2\n[maxpool]\nfilters=3\n").n, 3);
}
END_TEST

/* After 100 warnings, a last one says that there are more. */
START_TEST(warnings_end_after_a_hundred)
{
  static char text[1 << 16] = NET;
  size_t at = strlen(text);
  for (int i = 0; i < 300; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%skey%d=1\n", i % 100 ? "" : "[maxpool]\n",
                           i);
  struct received_warnings received = warnings_of(text);
  ck_assert_int_eq(received.n, 101);
  ck_assert_msg(
      strstr(received.text, ": more keys from here on are unknown, or were given before") != NULL,
      "%s", received.text);
}
END_TEST

/* Keys that only training uses cause no warnings. */
START_TEST(training_keys_cause_no_warnings)
{
  struct received_warnings received = warnings_of(
      "[net]\nbatch=64\nsubdivisions=8\nheight=8\nwidth=8\nchannels=12\nmomentum=0.9\n"
      "decay=0.0005\nangle=0\nsaturation = 1.5\nexposure = 1.5\nhue=.1\nlearning_rate=0.001\n"
      "burn_in=1000\nmax_batches = 500200\npolicy=steps\nsteps=400000,450000\nscales=.1,.1\n"
      "[dropout]\nprobability=.5\n[yolo]\nclasses=1\nnum=2\njitter=.3\nignore_thresh = .7\n"
      "truth_thresh = 1\nrandom=1\n[cost]\ntype=sse\n");
  ck_assert_msg(received.n == 0, "%s", received.text);
}
END_TEST

/* Makes a network and checks its fork, its letterboxing and the line of the cfg that decided the
 * fork. wished: the fork that the caller requests. */
static void expect_fork(const char *text, enum mafat_fork wished, enum mafat_fork fork,
                        bool letterbox, const char *sign)
{
  const struct mafat_darknet_overrides overrides = {.fork = wished};
  struct mafat_diagnostic d;
  struct mafat_network *n;
  struct mafat_cfg *cfg;
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "a.cfg", text, strlen(text), &d), MAFAT_OK);
  ck_assert_msg(mafat_darknet_make(&n, cfg, &overrides, NULL, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(n->fork, fork);
  ck_assert(n->letterbox == letterbox);
  ck_assert_str_eq(n->fork_sign, sign);
  ck_assert(n->fork == MAFAT_FORK_ALEXEYAB || n->layers[n->n_layers - 1].head.nms == MAFAT_NMS_IOU);
  mafat_network_close(&n);
  mafat_cfg_close(&cfg);
}

/* A cfg is AlexeyAB's if it has a key or value that the original Darknet does not read. */
START_TEST(the_fork_is_decided_by_keys_of_one_fork)
{
  const char plain[] = NET "[conv]\nfilters=6\n[yolo]\nclasses=1\n",
             own[] = NET "[conv]\nactivation=mish\n";
  expect_fork(plain, MAFAT_FORK_AUTO, MAFAT_FORK_DARKNET, true, "");
  expect_fork(NET "letter_box=0\n[conv]\nfilters=6\n", MAFAT_FORK_AUTO, MAFAT_FORK_DARKNET, false,
              "");
  expect_fork(plain, MAFAT_FORK_ALEXEYAB, MAFAT_FORK_ALEXEYAB, false, "");
  expect_fork(NET "[conv]\nfilters=6\n[yolo]\nclasses=1\nnms_kind=diounms\n", MAFAT_FORK_DARKNET,
              MAFAT_FORK_DARKNET, true, "");
  expect_fork(own, MAFAT_FORK_DARKNET, MAFAT_FORK_DARKNET, true, "");
  expect_fork(own, MAFAT_FORK_AUTO, MAFAT_FORK_ALEXEYAB, false,
              "line 6: activation=mish in [conv]");
  expect_fork(NET "mosaic=1\nletter_box=1\n[conv]\n", MAFAT_FORK_AUTO, MAFAT_FORK_ALEXEYAB, true,
              "line 5: mosaic=1 in [net]");
  expect_fork(NET "[conv]\n[conv]\n[conv]\n[route]\nlayers=0\ngroups=1\n", MAFAT_FORK_AUTO,
              MAFAT_FORK_ALEXEYAB, false, "line 10: groups=1 in [route]");
  expect_fork(NET "[conv]\nfilters=6\n[yolo]\nclasses=1\nmax_delta=5\n", MAFAT_FORK_AUTO,
              MAFAT_FORK_ALEXEYAB, false, "line 9: max_delta=5 in [yolo]");
}
END_TEST

/* All cfgs of Debian's darknet package, if installed, are the original Darknet's. */
START_TEST(debians_cfgs_are_the_original_forks)
{
  DIR *folder = opendir("/usr/share/darknet/cfg");
  int seen = 0;
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[300];
    struct mafat_cfg *cfg;
    char sign[100];
    snprintf(path, sizeof path, "/usr/share/darknet/cfg/%s", entry->d_name);
    if (!strstr(path, ".cfg") || mafat_cfg_read(&cfg, path, NULL) != MAFAT_OK) continue;
    ck_assert_msg(mafat_fork_decide(cfg, sign, sizeof sign) == MAFAT_FORK_DARKNET, "%s: %s", path,
                  sign);
    mafat_cfg_close(&cfg);
    seen++;
  }
  if (folder) closedir(folder);
  ck_assert(!folder || seen > 40);
}
END_TEST

/* A head's method of non-maximum suppression and its beta are read. */
START_TEST(suppression_is_read)
{
  static const char *const keys[] = {"", "nms_kind=default\n", "nms_kind=greedynms\nbeta_nms=.7\n",
                                     "beta_nms=.25\nnms_kind=diounms\n"};
  const enum mafat_nms kinds[] = {MAFAT_NMS_IOU, MAFAT_NMS_IOU, MAFAT_NMS_GREEDY, MAFAT_NMS_DIOU};
  const float betas[] = {.6f, .6f, .7f, .25f};
  for (int i = 0; i < 4; i++) {
    char text[256];
    snprintf(text, sizeof text, "[conv]\nfilters=6\n[yolo]\nclasses=1\n%s", keys[i]);
    struct mafat_network *n = after_net(text);
    ck_assert_int_eq(n->layers[1].head.nms, kinds[i]);
    ck_assert(n->layers[1].head.beta_nms == betas[i]);
    mafat_network_close(&n);
  }
}
END_TEST

/* [detection] without letter_box causes a warning, because Darknet's programs differ in this
 * case. */
START_TEST(letterboxed_boxes_of_detection_are_reported)
{
  static const char *const letter_boxes[] = {"", "letter_box=0\n", "letter_box=1\n"};
  for (int i = 0; i < 3; i++) {
    char cfg[256];
    snprintf(cfg, sizeof cfg,
             NET "%s[connected]\noutput=11\n[detection]\nclasses=1\nnum=2\nside=1\ncoords=4\n",
             letter_boxes[i]);
    struct received_warnings received = warnings_of(cfg);
    ck_assert_int_eq(received.n, i == 0);
    if (i == 0)
      ck_assert_ptr_nonnull(strstr(
          received.text,
          "a.cfg:7: boxes of [detection] are as Darknet's detector test gives them"));
  }
}
END_TEST

/* ---- cfgs of Debian's darknet package ---- */

static const struct {
  const char *name;
  int n_layers;
} files[] = {{"yolov1.cfg", 32},      {"yolov1-tiny.cfg", 16},  {"yolov2.cfg", 32},
             {"yolov2-tiny.cfg", 16}, {"yolov3.cfg", 107},      {"yolov3-tiny.cfg", 24},
             {"yolov3-spp.cfg", 114}, {"densenet201.cfg", 305}, {"resnet50.cfg", 69},
             {"resnext50.cfg", 69},   {"darknet19.cfg", 26},    {"alexnet.cfg", 14}};

START_TEST(known_networks_are_read)
{
  struct mafat_network *n = test_darknet_network(files[_i].name);
  if (!n) return; /* not installed */
  ck_assert_msg(n->n_layers == files[_i].n_layers, "%s has %d layers, expected %d", files[_i].name,
                n->n_layers, files[_i].n_layers);
  mafat_network_close(&n);
}
END_TEST

/* ---- layers that compute the same ---- */

static const char twice[] = "[net]\nheight=8\nwidth=8\nchannels=3\n\n"
                            "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n\n"
                            "[activation]\nactivation=relu\n\n"
                            "[route]\nlayers=0\n\n"
                            "[activation]\nactivation=relu\n\n" /* 3: equal to 1 */
                            "[route]\nlayers=0\n\n"
                            "[activation]\nactivation=leaky\n\n" /* 5: another activation */
                            "[route]\nlayers=3\n\n"
                            "[activation]\nactivation=leaky\n\n" /* 7: reads 3, after merging 1 */
                            "[route]\nlayers=1,3,5,7\n\n"
                            "[convolutional]\nfilters=2\nsize=1\nactivation=linear\n\n";

START_TEST(equal_layers_are_merged)
{
  static const int read[] = {1, 1, 5, 7};
  struct mafat_network *n = test_network(twice);
  ck_assert_int_eq(mafat_network_merge(n), MAFAT_OK);
  ck_assert(mafat_layer_is_alias(&n->layers[3]) && n->layers[3].out.c == 4);
  ck_assert(!mafat_layer_is_alias(&n->layers[1]) && !mafat_layer_is_alias(&n->layers[5]) &&
            !mafat_layer_is_alias(&n->layers[7]));
  ck_assert_int_eq(n->layers[7].operands->sources.list->tensor, 1);
  const struct mafat_sources *s = mafat_layer_sources(&n->layers[9]);
  ck_assert_int_eq(mafat_sources_count(s), 4);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(s->list[i].tensor, read[i]);
  ck_assert_int_eq(mafat_network_merge(n), MAFAT_OK); /* again: changes nothing */
  ck_assert_int_eq(n->layers[7].operands->sources.list->tensor, 1);
  mafat_network_close(&n);
}
END_TEST

Suite *network_suite(void)
{
  Suite *suite = suite_create("network");
  TCase *shapes = tcase_create("shapes");
  tcase_add_loop_test(shapes, shapes_equal_darknets, 0, COUNT(shape_rows));
  tcase_add_test(shapes, shapes_are_tested_of_every_type);
  tcase_add_test(shapes, every_activation_is_read_by_its_name);
  tcase_add_test(shapes, defaults_equal_darknets);
  tcase_add_test(shapes, heads_hold_their_parameters);
  tcase_add_test(shapes, a_network_may_read_a_list_of_numbers);
  tcase_add_test(shapes, pads_are_columns_that_windows_reach);
  tcase_add_loop_test(shapes, weights_and_work_are_counted, 0, COUNT(count_rows));
  tcase_add_loop_test(shapes, known_networks_are_read, 0, COUNT(files));
  suite_add_tcase(suite, shapes);
  TCase *edges = tcase_create("edges");
  tcase_add_test(edges, renaming_layers_are_skipped);
  tcase_add_test(edges, route_groups_take_the_same_part_of_each_source);
  tcase_add_test(edges, inputs_stay_after_the_layers);
  tcase_add_test(edges, shortcuts_add_the_channels_both_have);
  tcase_add_test(edges, blends_have_an_operand_for_each_of_their_maps);
  tcase_add_test(edges, depthwise_is_one_filter_a_channel);
  suite_add_tcase(suite, edges);
  TCase *refusing = tcase_create("refusing");
  tcase_add_loop_test(refusing, invalid_networks_are_refused, 0, COUNT(refusals));
  tcase_add_test(refusing, too_many_layers_are_refused);
  tcase_add_test(refusing, routes_of_routes_are_refused);
  tcase_add_test(refusing, too_many_sources_in_all_are_refused);
  suite_add_tcase(suite, refusing);
  TCase *warnings = tcase_create("warnings");
  tcase_add_test(warnings, unknown_keys_are_named_with_their_line);
  tcase_add_test(warnings, warnings_end_after_a_hundred);
  tcase_add_test(warnings, training_keys_cause_no_warnings);
  tcase_add_test(warnings, the_fork_is_decided_by_keys_of_one_fork);
  tcase_add_test(warnings, debians_cfgs_are_the_original_forks);
  tcase_add_test(warnings, suppression_is_read);
  tcase_add_test(warnings, letterboxed_boxes_of_detection_are_reported);
  suite_add_tcase(suite, warnings);
  TCase *merging = tcase_create("merging");
  tcase_add_test(merging, equal_layers_are_merged);
  suite_add_tcase(suite, merging);
  return suite;
}
