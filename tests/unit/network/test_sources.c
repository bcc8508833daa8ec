/* Covers network/sources.c: joining lists of sources and taking parts of them, compared element by
 * element with the maps that the lists stand for; and checks of operands. */
#include "network/network.h"
#include "base/blocks.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *sources_suite(void);

/* ---- lists and the maps they stand for ---- */

/* The place where a row of a channel of a map is stored: a tensor, and a row and channel of it. */
struct meaning {
  int tensor, row, channel;
};

enum { MOST_ROWS = 48, MOST_CHANNELS = 160 };

/* A list of sources, and where each element of the map that it stands for is stored. */
struct map {
  struct mafat_sources sources;
  int rows, channels;
  struct meaning at[MOST_ROWS][MOST_CHANNELS];
};

/* A map that is a random part of one tensor. */
static struct map *random_leaf(struct test_rng *rng, int rows, int channels)
{
  struct map *m = calloc(1, sizeof *m);
  struct mafat_source *s = calloc(1, sizeof *s);
  *s = (struct mafat_source){test_random_int(rng, 0, 9), test_random_int(rng, 0, 40), channels,
                             test_random_int(rng, 0, 9), rows};
  if (test_random_chance(rng, 50)) s->first -= s->first % 16;
  m->sources = (struct mafat_sources){s, 1, 1};
  m->rows = rows;
  m->channels = channels;
  for (int y = 0; y < rows; y++)
    for (int c = 0; c < channels; c++)
      m->at[y][c] = (struct meaning){s->tensor, s->first_row + y, s->first + c};
  return m;
}

static void release(struct map *m)
{
  free(m->sources.list);
  free(m);
}

/* Compares all bands and slices of the list with the map. */
static void check_map(const struct map *m)
{
  const struct mafat_sources *s = &m->sources;
  int rows = 0, seen = 0;
  for (int b = 0; b < s->n_bands; b++) {
    const struct mafat_source *band = &s->list[b * s->n];
    ck_assert_int_eq(mafat_sources_row(s, b * s->n), rows);
    ck_assert_int_eq(mafat_sources_row(s, b * s->n + s->n - 1), rows);
    for (int i = 0, channel = 0; i < s->n; channel += band[i++].n) {
      ck_assert_int_eq(band[i].n, s->list[i].n);
      ck_assert_int_eq(band[i].n_rows, band->n_rows);
      for (int k = 0; k < band->n_rows; k++) {
        int y = rows + k;
        ck_assert_ptr_eq(mafat_sources_at(s, i, &y), &band[i]);
        ck_assert_int_eq(y, band[i].first_row + k);
        for (int c = 0; c < band[i].n; c++, seen++) {
          const struct meaning *at = &m->at[rows + k][channel + c];
          ck_assert_int_eq(at->tensor, band[i].tensor);
          ck_assert_int_eq(at->row, y);
          ck_assert_int_eq(at->channel, band[i].first + c);
        }
      }
    }
    rows += band->n_rows;
  }
  ck_assert_int_eq(rows, m->rows);
  ck_assert_int_eq(seen, m->rows * m->channels);
}

/* Checks that slice i of all bands begins at the same lane of a block, or is within one block. */
static void check_lanes(const struct mafat_sources *s)
{
  for (int i = 0; i < mafat_sources_count(s); i++) {
    int lane = s->list[i].first % 16, first = s->list[i % s->n].first % 16, n = s->list[i].n;
    ck_assert(lane == first || (lane + n <= 16 && first + n <= 16));
  }
}

/* ---- maps made of other maps ---- */

/* A random map of this size, made by up to `depth` steps of joining and taking parts. */
static struct map *random_map(struct test_rng *rng, int rows, int channels, int depth);

static struct map *joined_rows(struct test_rng *rng, int rows, int channels, int depth)
{
  int above = test_random_int(rng, 1, rows - 1);
  struct map *m = random_map(rng, above, channels, depth),
             *below = random_map(rng, rows - above, channels, depth);
  ck_assert_int_eq(mafat_sources_join_rows(&m->sources, &below->sources), MAFAT_OK);
  for (int y = above; y < rows; y++) memcpy(m->at[y], below->at[y - above], sizeof m->at[y]);
  m->rows = rows;
  check_lanes(&m->sources);
  release(below);
  return m;
}

static struct map *joined_channels(struct test_rng *rng, int rows, int channels, int depth)
{
  int before = test_random_int(rng, 1, channels - 1);
  struct map *m = random_map(rng, rows, before, depth),
             *after = random_map(rng, rows, channels - before, depth);
  ck_assert_int_eq(mafat_sources_join_channels(&m->sources, &after->sources), MAFAT_OK);
  for (int y = 0; y < rows; y++)
    memcpy(&m->at[y][before], after->at[y], (size_t)after->channels * sizeof m->at[y][0]);
  m->channels = channels;
  release(after);
  return m;
}

static struct map *part(struct test_rng *rng, int rows, int channels, int depth)
{
  struct map *all =
      random_map(rng, test_random_int(rng, rows, mafat_min(rows + 6, MOST_ROWS)),
                 test_random_int(rng, channels, mafat_min(channels + 20, MOST_CHANNELS)), depth);
  struct map *m = calloc(1, sizeof *m);
  int y = test_random_int(rng, 0, all->rows - rows),
      c = test_random_int(rng, 0, all->channels - channels);
  ck_assert_int_eq(mafat_sources_part(&m->sources, &all->sources, mafat_span(y, y + rows),
                                      mafat_span(c, c + channels)),
                   MAFAT_OK);
  m->rows = rows;
  m->channels = channels;
  for (int k = 0; k < rows; k++)
    memcpy(m->at[k], &all->at[y + k][c], (size_t)channels * sizeof m->at[k][0]);
  release(all);
  return m;
}

static struct map *random_map(struct test_rng *rng, int rows, int channels, int depth)
{
  int way = depth > 0 ? test_random_int(rng, 0, 3) : 3;
  struct map *m = way == 0 && rows > 1       ? joined_rows(rng, rows, channels, depth - 1)
                  : way == 1 && channels > 1 ? joined_channels(rng, rows, channels, depth - 1)
                  : way == 2                 ? part(rng, rows, channels, depth - 1)
                                             : random_leaf(rng, rows, channels);
  check_map(m);
  return m;
}

START_TEST(parts_and_joins_hold_the_right_elements)
{
  struct test_rng rng = test_rng(61000 + (uint64_t)_i);
  for (int i = 0; i < 50; i++)
    release(random_map(&rng, test_random_int(&rng, 1, MOST_ROWS),
                       test_random_int(&rng, 1, MOST_CHANNELS), 4));
}
END_TEST

/* Rows of the operand are converted to rows of the source's tensor. */
START_TEST(rows_are_converted)
{
  static const struct {
    int first;               /* first row of the tensor */
    int above;               /* rows of the operand before the source; 0: it is the only source */
    struct mafat_span in, expected; /* in: rows of the operand; expected: rows of the tensor */
  } rows[] = {
      {0, 0, {0, 8}, {0, 8}},    {0, 0, {2, 5}, {2, 5}},    {3, 0, {2, 5}, {5, 8}},
      {3, 10, {8, 12}, {3, 5}},  {3, 10, {16, 18}, {9, 11}}, {3, 10, {0, 10}, {0, 0}},
      {3, 10, {12, 12}, {0, 0}}, {0, 10, {5, 9}, {0, 0}},   {0, 10, {9, 18}, {0, 8}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct mafat_source list[] = {{0, 0, 1, 0, rows[i].above}, {0, 0, 1, rows[i].first, 8}};
    int bands = rows[i].above ? 2 : 1;
    struct mafat_sources sources = {list + 2 - bands, 1, bands};
    struct mafat_span found = mafat_sources_rows(&sources, bands - 1, rows[i].in);
    ck_assert_msg(found.begin == rows[i].expected.begin && found.end == rows[i].expected.end,
                  "case %zu: found %d to %d", i, found.begin, found.end);
  }
}
END_TEST

/* A list of 64 x 64 sources, the largest allowed, cannot be joined with another list. The attempt
 * leaves it unchanged. */
START_TEST(too_many_sources_are_refused)
{
  struct mafat_source single = {0, 0, 1, 0, 1};
  struct mafat_sources one = {&single, 1, 1}, row = {calloc(1, sizeof single), 1, 1}, all;
  *row.list = single;
  for (int i = 1; i < 64; i++) ck_assert_int_eq(mafat_sources_join_channels(&row, &one), MAFAT_OK);
  ck_assert_int_eq(mafat_sources_part(&all, &row, mafat_span(0, 1), mafat_span(0, 64)), MAFAT_OK);
  for (int i = 1; i < 64; i++) ck_assert_int_eq(mafat_sources_join_rows(&all, &row), MAFAT_OK);
  struct mafat_sources before = all;
  ck_assert_int_eq(mafat_sources_join_rows(&all, &row), MAFAT_EUNSUPPORTED);
  ck_assert_mem_eq(&all, &before, sizeof all);
  ck_assert_int_eq(mafat_sources_count(&all), MAFAT_MAX_SOURCES);
  free(all.list);
  free(row.list);
}
END_TEST

/* ---- checks of operands ---- */

/* Layer 2 reads the operand, of 8 rows, 10 columns and 36 channels. Tensor 0 has 36 channels,
 * tensor 1 has 40, the input (tensor 4) has 36. */
#define CFG \
  "[net]\nheight=8\nwidth=10\nchannels=36\n[conv]\nfilters=36\n[conv]\nfilters=40\n[activation]" \
  "\nactivation=relu\n" \
  "[maxpool]\nsize=2\nstride=2\n"

enum { READER = 2 };

struct fault_row {
  struct mafat_source list[4];
  int n, n_bands;
  const char *fault; /* part of the expected message; NULL: none */
};

static const struct fault_row fault_rows[] = {
    {{{0, 0, 36, 0, 8}}, 1, 1, NULL},
    {{{4, 0, 36, 0, 8}}, 1, 1, NULL},
    {{{0, 0, 36, 4, 4}, {4, 0, 36, 0, 4}}, 1, 2, NULL},
    {{{0, 0, 32, 4, 4}, {1, 4, 4, 0, 4}, {1, 0, 32, 4, 4}, {1, 4, 4, 4, 4}}, 2, 2, NULL},
    {{{0, 0, 36, 0, 8}}, 0, 1, "reads nothing"},
    {{{0, 0, 36, 0, 8}}, 1, 0, "reads nothing"},
    {{{0, 0, 36, 0, 8}}, 1, -1, "reads nothing"},
    {{{0, 0, 36, 0, 8}}, 1 << 20, 1 << 20, "has too many sources"},
    {{{0, 0, 36, 0, 8}}, 65, 64, "has too many sources"},
    {{{2, 0, 36, 0, 8}}, 1, 1, "reads a tensor that is not made before it"},
    {{{-1, 0, 36, 0, 8}}, 1, 1, "reads a tensor that is not made before it"},
    {{{5, 0, 36, 0, 8}}, 1, 1, "reads a tensor that is not made before it"},
    {{{0, 1, 36, 0, 8}}, 1, 1, "reads channels outside a map"},
    {{{0, -1, 36, 0, 8}}, 1, 1, "reads channels outside a map"},
    {{{0, 0, 0, 0, 8}}, 1, 1, "reads channels outside a map"},
    {{{0, 0, 0x7fffffff, 0, 8}}, 1, 1, "reads channels outside a map"},
    {{{0, 0, 36, 1, 8}}, 1, 1, "reads rows outside a map"},
    {{{0, 0, 36, -1, 8}}, 1, 1, "reads rows outside a map"},
    {{{0, 0, 36, 0, 0}}, 1, 1, "reads rows outside a map"},
    {{{0, 0, 36, 0, 0x7fffffff}}, 1, 1, "reads rows outside a map"},
    {{{0, 0, 36, 0, 7}}, 1, 1, "has sources with more or fewer rows than its shape"},
    {{{0, 0, 36, 0, 8}, {0, 0, 36, 0, 1}}, 1, 2,
     "has sources with more or fewer rows than its shape"},
    {{{0, 0, 35, 0, 8}}, 1, 1, "has sources with more or fewer channels than its shape"},
    {{{1, 0, 40, 0, 8}}, 1, 1, "has sources with more or fewer channels than its shape"},
    {{{0, 0, 32, 0, 4}, {0, 32, 4, 0, 3}}, 2, 1,
     "has a band of sources with different numbers of rows"},
    {{{0, 0, 32, 0, 4}, {0, 32, 4, 0, 4}, {0, 0, 16, 0, 4}, {0, 16, 20, 0, 4}}, 2, 2,
     "are cut at different channels"},
    {{{1, 0, 36, 0, 4}, {1, 4, 36, 0, 4}}, 1, 2, "are aligned differently in their blocks"},
    {{{1, 0, 36, 0, 4}, {0, 0, 36, 0, 4}}, 1, 2, "are in blocks of different widths"},
};

/* Invalid operands are refused. The message begins with the file and line. */
START_TEST(invalid_operands_are_refused)
{
  const struct fault_row *r = &fault_rows[_i];
  struct mafat_network *n = test_network(CFG);
  struct mafat_operand *o = n->layers[READER].operands;
  struct mafat_source *own = o->sources.list, list[4];
  struct mafat_diagnostic d = {""};
  memcpy(list, r->list, sizeof list);
  o->shape = (struct mafat_shape){8, 10, 36};
  o->sources = (struct mafat_sources){list, r->n, r->n_bands};
  int code = mafat_network_check_operand(
      n, READER, 0, &(struct mafat_infer_context){"test.cfg", 7, READER, "relu", &d});
  ck_assert_msg((code == MAFAT_OK) == !r->fault, "case %d: %d, %s", _i, code, d.text);
  ck_assert_msg(!r->fault || strstr(d.text, r->fault), "case %d: %s", _i, d.text);
  ck_assert_msg(!r->fault || strncmp(d.text, "test.cfg:7: ", 12) == 0, "case %d: %s", _i, d.text);
  o->sources = (struct mafat_sources){own, 1, 1};
  mafat_network_close(&n);
}
END_TEST

Suite *sources_suite(void)
{
  Suite *s = suite_create("sources");
  TCase *lists = tcase_create("lists"), *faults = tcase_create("faults");
  tcase_set_timeout(lists, 60);
  tcase_add_loop_test(lists, parts_and_joins_hold_the_right_elements, 0, test_seeds(20));
  tcase_add_test(lists, rows_are_converted);
  tcase_add_test(lists, too_many_sources_are_refused);
  suite_add_tcase(s, lists);
  tcase_add_loop_test(faults, invalid_operands_are_refused, 0,
                      sizeof fault_rows / sizeof *fault_rows);
  suite_add_tcase(s, faults);
  return s;
}
