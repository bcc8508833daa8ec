/* Covers predictor/plan/packing.c: the layout of packed weights, in panels, blocks and slices. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "predictor/plan/packing.h"
#include "tests/support/support.h"

Suite *packing_suite(void);

/* ---- channel blocks ---- */

/* The last channel block is only as wide as its channels need, rounded up. */
START_TEST(blocks_are_as_wide_as_they_need_to_be)
{
  static const struct {
    int channels, n_blocks, last_width, pixel_floats;
  } rows[] = {{1, 1, 1, 1},    {2, 1, 2, 2},    {3, 1, 3, 3},    {4, 1, 4, 4},      {5, 1, 8, 8},
              {13, 1, 16, 16}, {16, 1, 16, 16}, {17, 2, 1, 17},  {19, 2, 3, 19},    {21, 2, 8, 24},
              {24, 2, 8, 24},  {33, 3, 1, 33},  {96, 6, 16, 96}, {255, 16, 16, 256}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int c = rows[i].channels, sum = 0;
    ck_assert_msg(mafat_n_blocks(c) == rows[i].n_blocks, "%d channels: %d blocks", c,
                  mafat_n_blocks(c));
    ck_assert_msg(mafat_block_width(c, rows[i].n_blocks - 1) == rows[i].last_width,
                  "%d channels: last block %d", c, mafat_block_width(c, rows[i].n_blocks - 1));
    ck_assert_msg(mafat_pixel_width(c) == rows[i].pixel_floats, "%d channels: %d floats", c,
                  mafat_pixel_width(c));
    for (int b = 0; b < mafat_n_blocks(c); b++) sum += mafat_block_width(c, b);
    ck_assert_int_eq(sum, mafat_pixel_width(c));
  }
}
END_TEST

/* ---- block slices ---- */

/* Finds the tensor and channel of input channel `index`. */
static void find_channel(const struct mafat_sources *sources, int index, int *tensor, int *channel)
{
  int i = 0;
  while (index >= sources->list[i].n) index -= sources->list[i++].n;
  *tensor = sources->list[i].tensor;
  *channel = sources->list[i].first + index;
}

/* True if channel c of the block slice is the layer's input channel `position`. */
static bool holds_channel(const struct mafat_block_slice *p, int c,
                          const struct mafat_sources *sources, int position)
{
  int tensor, channel;
  find_channel(sources, position, &tensor, &channel);
  return p->tensor == tensor && p->block * MAFAT_CHANNEL_BLOCK + p->lane + c == channel;
}

static void check_block_slices(const struct mafat_sources *sources, struct mafat_span channels)
{
  struct mafat_block_slice block_slices[64];
  int n = mafat_block_slices(sources, channels, block_slices, 64), position = channels.begin;
  ck_assert_int_le(n, 64);
  ck_assert_int_eq(n, mafat_block_slices(sources, channels, NULL, 0));
  for (int p = 0; p < n; p++) {
    bool fits =
        block_slices[p].n > 0 && block_slices[p].lane + block_slices[p].n <= MAFAT_CHANNEL_BLOCK;
    if (!fits || block_slices[p].position != position)
      ck_abort_msg("block slice %d is misplaced", p);
    for (int c = 0; c < block_slices[p].n; c++, position++)
      if (!holds_channel(&block_slices[p], c, sources, position))
        ck_abort_msg("channel %d is missing", position);
  }
  ck_assert_int_eq(position, channels.end);
}

/* The block slices of random sources contain each input channel once, in order. */
START_TEST(block_slices_cover_every_channel_once_in_order)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  for (int trial = 0; trial < 400; trial++) {
    struct mafat_source list[5];
    struct mafat_sources sources = {list, test_random_int(&rng, 1, 5), 1};
    int total = 0;
    for (int i = 0; i < sources.n; i++) {
      list[i] = (struct mafat_source){i - 1, test_random_int(&rng, 0, 40),
                                      test_random_int(&rng, 1, 100), 0, 1};
      total += list[i].n;
    }
    int begin = test_random_int(&rng, 0, total - 1);
    check_block_slices(&sources, mafat_span(0, total));
    check_block_slices(&sources, mafat_span(begin, test_random_int(&rng, begin + 1, total)));
  }
}
END_TEST

/* Block slices are in the documented order of summation: source by source, in blocks of 16 channels
 * that are not merged across sources. */
START_TEST(block_slices_end_at_blocks_and_sources)
{
  struct mafat_source list[] = {{4, 0, 24, 0, 1}, {2, 8, 40, 0, 1}};
  struct mafat_sources sources = {list, 2, 1};
  static const struct mafat_block_slice expected[] = {{4, 0, 0, 16, 0, 0},
                                                      {4, 1, 0, 8, 16, 0},
                                                      {2, 0, 8, 8, 24, 1},
                                                      {2, 1, 0, 16, 32, 1},
                                                      {2, 2, 0, 16, 48, 1}};
  struct mafat_block_slice block_slices[8];
  ck_assert_int_eq(mafat_block_slices(&sources, mafat_span(0, 64), block_slices, 8), 5);
  for (int i = 0; i < 5; i++)
    ck_assert_mem_eq(&block_slices[i], &expected[i], sizeof *block_slices);
}
END_TEST

/* mafat_block_slices writes at most `capacity` block slices, and returns the number of all. */
START_TEST(block_slices_stop_at_the_capacity)
{
  struct mafat_source source = {0, 0, 100, 0, 1};
  struct mafat_sources sources = {&source, 1, 1};
  struct mafat_block_slice block_slices[3] = {{0}, {0}, {.tensor = 77}};
  ck_assert_int_eq(mafat_block_slices(&sources, mafat_span(0, 100), block_slices, 2), 7);
  ck_assert_int_eq(block_slices[2].tensor, 77);
  ck_assert_int_eq(mafat_block_slices(&sources, mafat_span(5, 5), block_slices, 2), 0);
}
END_TEST

/* mafat_slice_end returns the first end of a block slice at which the slice has at least n
 * channels, or the last end. */
START_TEST(slices_end_with_the_first_block_slice_that_makes_n)
{
  struct test_rng rng = test_rng(500 + (uint64_t)_i);
  for (int trial = 0; trial < 400; trial++) {
    struct mafat_source list[5];
    struct mafat_sources sources = {list, test_random_int(&rng, 1, 5), 1};
    struct mafat_block_slice block_slices[64];
    int total = 0, wanted = test_random_int(&rng, 1, 120);
    for (int i = 0; i < sources.n; i++) {
      list[i] = (struct mafat_source){i - 1, test_random_int(&rng, 0, 40),
                                      test_random_int(&rng, 1, 100), 0, 1};
      total += list[i].n;
    }
    int n = mafat_block_slices(&sources, mafat_span(0, total), block_slices, 64), next = 0;
    ck_assert_int_le(n, 64);
    for (int channel = 0, end; channel < total; channel = end) {
      end = mafat_slice_end(&sources, channel, wanted);
      int expected = channel;
      while (expected < total && expected - channel < wanted) expected += block_slices[next++].n;
      ck_assert_msg(end == expected, "%d channels from %d of %d: up to %d, expected %d", wanted,
                    channel, total, end, expected);
    }
    ck_assert_int_eq(next, n);
  }
}
END_TEST

/* For known sources, mafat_slice_end returns the expected ends. */
START_TEST(slices_of_known_sources)
{
  struct mafat_source list[] = {{4, 0, 24, 0, 1},
                                {2, 8, 40, 0, 1}}; /* block slices end at 16, 24, 32, 48, 64 */
  struct mafat_sources sources = {list, 2, 1};
  static const struct {
    int channel, n, end;
  } rows[] = {{0, 1, 16},   {0, 16, 16},  {0, 17, 24}, {0, 24, 24},  {0, 25, 32},  {0, 33, 48},
              {0, 64, 64},  {0, 1000, 64}, {16, 8, 24}, {16, 9, 32}, {24, 1, 32}, {32, 17, 64},
              {48, 16, 64}, {48, 17, 64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    ck_assert_msg(mafat_slice_end(&sources, rows[i].channel, rows[i].n) == rows[i].end,
                  "%d from %d: %d", rows[i].n, rows[i].channel,
                  mafat_slice_end(&sources, rows[i].channel, rows[i].n));
}
END_TEST

/* The number of elements that store some channels of a pixel is that of their channel blocks. */
START_TEST(parts_of_a_pixel_are_whole_blocks)
{
  ck_assert_int_eq(mafat_pixel_width_of(70, mafat_span(0, 70)), mafat_pixel_width(70));
  ck_assert_int_eq(mafat_pixel_width_of(70, mafat_span(32, 64)), 32);
  ck_assert_int_eq(mafat_pixel_width_of(70, mafat_span(64, 70)), 8);
  ck_assert_int_eq(mafat_pixel_width_of(70, mafat_span(32, 70)), 40);
  ck_assert_int_eq(mafat_pixel_width_of(3, mafat_span(0, 3)), 3);
}
END_TEST

/* ---- panels ---- */

struct shape {
  int in_c, filters, size, groups;
};

static const struct shape shapes[] = {
    {3, 32, 3, 1},   {3, 5, 3, 1},     {64, 33, 1, 1},  {17, 96, 5, 1},
    {32, 32, 3, 32}, {33, 33, 3, 33},  {24, 24, 3, 24}, {24, 48, 3, 24},
    {32, 64, 3, 8},  {96, 96, 1, 24},  {60, 40, 3, 5},  {6, 9, 3, 3},
    {16, 16, 1, 2},  {256, 425, 1, 1}, {10, 200, 3, 2}, {1, 1, 1, 1},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static struct mafat_network *network_of(const struct shape *s)
{
  char cfg[256];
  snprintf(
      cfg, sizeof cfg,
      "[net]\nheight=8\nwidth=8\nchannels=%d\n[convolutional]\nfilters=%d\nsize=%d\ngroups=%d\n",
      s->in_c, s->filters, s->size, s->groups);
  return test_network(cfg);
}

/* Panels contain each filter once and do not cross groups. If a layer has groups, its panels do not
 * cross channel blocks. */
START_TEST(panels_cover_every_filter_within_groups_and_blocks)
{
  struct mafat_network *n = network_of(&shapes[_i]);
  const struct mafat_layer *l = &n->layers[0];
  bool depthwise = mafat_layer_is_depthwise(l);
  int per_group = l->filters / l->groups, first = 0;
  while (first < l->filters) {
    int end = mafat_panel_end(l, first), last = end - 1;
    ck_assert_msg(end > first && end - first <= MAFAT_PANEL, "row %d: panel %d..%d", _i, first,
                  end);
    if (depthwise)
      ck_assert_msg(first % MAFAT_CHANNEL_BLOCK == 0 && end - first <= MAFAT_CHANNEL_BLOCK,
                    "row %d", _i);
    else if (l->groups > 1)
      ck_assert_msg(first / per_group == last / per_group &&
                        first / MAFAT_CHANNEL_BLOCK == last / MAFAT_CHANNEL_BLOCK,
                    "row %d: panel %d..%d crosses a group or a block", _i, first, end);
    first = end;
  }
  ck_assert_int_eq(first, l->filters);
  mafat_network_close(&n);
}
END_TEST

/* Integer panels store quads of channels, which do not cross block slices: each block slice is
 * rounded up to quads. */
START_TEST(panels_of_integers_have_quads)
{
  struct mafat_network *n = network_of(&shapes[_i]);
  struct mafat_layer *l = &n->layers[0];
  bool depthwise = mafat_layer_is_depthwise(l);
  int per_group = l->in.c / l->groups, taps = mafat_window_area(&l->window);
  size_t bytes = 0;
  l->weights_type = MAFAT_I8;
  l->out_type = MAFAT_U8;
  for (int first = 0; first < l->filters; first = mafat_panel_end(l, first)) {
    int begin = first / (l->filters / l->groups) * per_group, quads = 0;
    for (int c = begin, end; c < begin + per_group; c = end) {
      end = mafat_min((c / MAFAT_CHANNEL_BLOCK + 1) * MAFAT_CHANNEL_BLOCK, begin + per_group);
      quads += (end - c + 3) / 4;
    }
    int width = (mafat_panel_end(l, first) - first + 7) / 8 * 8, row = depthwise ? 1 : 4 * quads;
    ck_assert_uint_eq(mafat_quads_taps(l, first), (size_t)(row * taps));
    ck_assert_uint_eq(mafat_packed_offset(l, first), bytes);
    bytes += (size_t)width * ((size_t)(row * taps) + 3 * sizeof(int32_t));
  }
  ck_assert_uint_eq(mafat_packed_layer_bytes(l), bytes);
  mafat_network_close(&n);
}
END_TEST

/* The offset of a panel is the size of all panels before it. */
START_TEST(offsets_are_the_sums_of_the_panels_before)
{
  struct mafat_network *n = network_of(&shapes[_i]);
  const struct mafat_layer *l = &n->layers[0];
  size_t bytes = 0, taps = (size_t)(l->in.c / l->groups * mafat_window_area(&l->window));
  for (int first = 0; first < l->filters; first = mafat_panel_end(l, first)) {
    int width = (mafat_panel_end(l, first) - first + 7) / 8 * 8;
    ck_assert_msg(mafat_packed_offset(l, first) == bytes, "row %d, filter %d: %zu, expected %zu",
                  _i, first, mafat_packed_offset(l, first), bytes);
    ck_assert_int_eq(mafat_panel_width(mafat_panel_end(l, first) - first), width);
    bytes += (size_t)width * (taps + 2) * sizeof(float); /* weights, then scale and bias */
  }
  ck_assert_msg(mafat_packed_layer_bytes(l) == bytes, "row %d: %zu bytes, expected %zu", _i,
                mafat_packed_layer_bytes(l), bytes);
  ck_assert_uint_eq(mafat_packed_bytes(n, 1), (bytes + 63) / 64 * 64);
  mafat_network_close(&n);
}
END_TEST

/* mafat_packed_bytes adds up all layers, each rounded up to 64 bytes. */
START_TEST(layers_add_up_each_aligned)
{
  for (int seed = 0; seed < 200; seed++) {
    struct test_rng rng = test_rng((uint64_t)seed);
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM];
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    size_t before = 0;
    for (int l = 0; l < n->n_layers; l++) {
      struct mafat_weight_counts counts = mafat_layer_weight_counts(&n->layers[l]);
      size_t bytes = mafat_packed_layer_bytes(&n->layers[l]);
      ck_assert_msg((bytes == 0) == (counts.biases + counts.normalization + counts.weights == 0),
                    "layer %d\n%s", l, cfg);
      ck_assert_msg(bytes >= counts.weights * sizeof(float),
                    "layer %d has fewer bytes than weights\n%s", l, cfg);
      ck_assert_uint_eq(mafat_packed_bytes(n, l), before);
      before += (bytes + 63) / 64 * 64;
    }
    ck_assert_uint_eq(mafat_packed_bytes(n, n->n_layers), before);
    mafat_network_close(&n);
  }
}
END_TEST

/* Sizes of a batchnorm, a connected and a softmax layer. */
START_TEST(connected_and_others)
{
  struct mafat_network *n =
      test_network("[net]\nheight=3\nwidth=5\nchannels=7\n[batchnorm]\n[connected]\noutput=41\n"
                   "[softmax]\n");
  ck_assert_uint_eq(mafat_packed_layer_bytes(&n->layers[0]), 4 * 2 * 8);
  ck_assert_uint_eq(mafat_packed_layer_bytes(&n->layers[1]), 4 * (32 + 16) * (3 * 5 * 7 + 2));
  ck_assert_uint_eq(mafat_packed_offset(&n->layers[1], 32), 4 * 32 * (3 * 5 * 7 + 2));
  ck_assert_uint_eq(mafat_packed_layer_bytes(&n->layers[2]), 0);
  mafat_network_close(&n);
}
END_TEST

Suite *packing_suite(void)
{
  Suite *suite = suite_create("packing");
  TCase *channels = tcase_create("channels");
  tcase_set_timeout(channels, 60);
  tcase_add_test(channels, blocks_are_as_wide_as_they_need_to_be);
  tcase_add_loop_test(channels, block_slices_cover_every_channel_once_in_order, 0, 5);
  tcase_add_test(channels, block_slices_end_at_blocks_and_sources);
  tcase_add_test(channels, block_slices_stop_at_the_capacity);
  tcase_add_loop_test(channels, slices_end_with_the_first_block_slice_that_makes_n, 0, 5);
  tcase_add_test(channels, slices_of_known_sources);
  tcase_add_test(channels, parts_of_a_pixel_are_whole_blocks);
  suite_add_tcase(suite, channels);
  TCase *weights = tcase_create("weights");
  tcase_set_timeout(weights, 60);
  tcase_add_loop_test(weights, panels_cover_every_filter_within_groups_and_blocks, 0, N_SHAPES);
  tcase_add_loop_test(weights, offsets_are_the_sums_of_the_panels_before, 0, N_SHAPES);
  tcase_add_loop_test(weights, panels_of_integers_have_quads, 0, N_SHAPES);
  tcase_add_test(weights, layers_add_up_each_aligned);
  tcase_add_test(weights, connected_and_others);
  suite_add_tcase(suite, weights);
  return suite;
}
