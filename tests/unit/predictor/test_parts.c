/* Covers predictor/plan/{parts, partition}.c, predictor/schedule/{schedule_parts, parts_inputs,
 * parts_order, parts_scratch, rows_parts}.c: layers that are split into parts. Each partition
 * buffer and scratch is alive exactly as long as it is needed. */
#include "predictor/plan/parts.h"
#include "predictor/planning/planning.h"
#include "predictor/schedule/schedule.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdlib.h>

Suite *parts_suite(void);

struct subject {
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct mafat_network *network;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
};

#define require(holds, s, ...) \
  do { \
    if (!(holds)) test_fail_case((s)->cfg, (s)->text, __VA_ARGS__); \
  } while (0)

/* Opens a random network with a split plan. False: the random splits do not fit the network. */
static bool open_subject(struct subject *s, int seed)
{
  struct test_rng rng = test_rng(77000 + (uint64_t)seed);
  struct test_network_style style = test_network_style();
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = (enum mafat_algorithm)(seed % MAFAT_N_ALGORITHMS);
  options.n_threads = 1 + seed % 3;
  options.packed = seed % 2;
  options.keep_all = seed % 5 == 4;
  test_random_network(&rng, &style, s->cfg, sizeof s->cfg);
  s->network = test_network(s->cfg);
  if (!test_random_split(&rng, s->network, &options, s->text, sizeof s->text)) {
    mafat_network_close(&s->network);
    return false;
  }
  s->plan = test_plan_with(s->network, s->text, &options);
  s->layout = test_layout(s->network, s->plan);
  return true;
}

static void close_subject(struct subject *s)
{
  mafat_layout_close(&s->layout);
  mafat_plan_close(&s->plan);
  mafat_network_close(&s->network);
}

/* ---- all buffers ---- */

/* Checks that buffers that are alive together do not overlap. */
static void check_places(const struct subject *s)
{
  const struct mafat_layout *l = s->layout;
  for (int i = 0; i < l->n_buffers; i++)
    for (int j = 0; j < i; j++) {
      const struct mafat_buffer *a = &l->buffers[i], *b = &l->buffers[j];
      bool together = a->first <= b->last && b->first <= a->last && a->bytes && b->bytes;
      bool beside = a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset;
      require(!together || beside, s, "buffers %d and %d of tensors %d and %d overlap", j, i,
              b->tensor, a->tensor);
      require(a->offset + a->bytes <= l->total_bytes, s, "buffer %d is outside the arena", i);
    }
}

/* ---- parts ---- */

static const struct mafat_buffer *buffer_of(const struct subject *s, int tensor, int buffer_index)
{
  return &s->layout->buffers[s->layout->tensors[tensor].buffer + buffer_index];
}

/* True if the buffer is alive at both times of a position. */
static bool lives(const struct mafat_buffer *b, int position)
{
  return b->first <= 2 * position && 2 * position + 1 <= b->last;
}

/* Checks that the buffers that a part reads were written and are alive, and that its output's
 * buffer is alive. */
static void check_buffers(const struct subject *s, int p, int position, bool **made)
{
  const struct mafat_layer_part *part = &s->plan->parts->list[p];
  int own = mafat_parts_made(s->plan, part, part->layer);
  if (part->layer < s->plan->n_layers) {
    struct mafat_buffer_walk w = mafat_parts_reads(s->plan, s->network, part);
    while (mafat_parts_reads_next(&w)) {
      const struct mafat_buffer *b = buffer_of(s, w.tensor, w.buffer_index);
      require(b->last >= 2 * position + 1 && b->first <= 2 * position, s,
              "part %d of layer %d reads tensor %d's buffer %d, which is not alive", p, part->layer,
              w.tensor, w.buffer_index);
      require(!s->layout->tensors[w.tensor].partition || made[w.tensor][w.buffer_index], s,
              "no part has written tensor %d's buffer %d", w.tensor, w.buffer_index);
    }
  }
  require(lives(buffer_of(s, part->layer, own), position), s,
          "part %d of layer %d writes a buffer that is not alive", p, part->layer);
  made[part->layer][own] = true;
}

/* Checks that a part's scratch is large enough and alive at its step; returns its bytes. */
static size_t check_scratch(const struct subject *s, int p, int position)
{
  const struct mafat_layout *l = s->layout;
  struct mafat_step step = {.layer = s->plan->parts->list[p].layer, .part = p};
  if (step.layer >= s->plan->n_layers) return 0;
  int buffer = mafat_layout_scratch_buffer(l, &step);
  size_t bytes = mafat_scratch_bytes(mafat_layout_scratch(l, &step), l->n_workers);
  require((bytes > 0) == (buffer >= 0), s,
          "part %d of layer %d: a scratch buffer does not match its record", p, step.layer);
  if (buffer < 0) return 0;
  require(l->buffers[buffer].bytes >= bytes && lives(&l->buffers[buffer], position), s,
          "part %d of layer %d has too little scratch", p, step.layer);
  return (bytes + 63) / 64 * 64;
}

/* Bytes alive at a time, without the scratch of parts. */
static size_t live_at(const struct mafat_layout *l, int time)
{
  size_t sum = 0;
  for (int b = 0; b < l->n_buffers; b++) {
    bool of_parts = b >= l->run_buffers && b < l->run_buffers + l->part_scratch->n_runs;
    if (!of_parts && l->buffers[b].first <= time && time <= l->buffers[b].last)
      sum += l->buffers[b].bytes;
  }
  return sum;
}

/* Checks all parts, and that the peak is no more than what they need one after the other. */
static void check_parts(const struct subject *s)
{
  const struct mafat_parts *parts = s->plan->parts;
  int n = mafat_network_n_tensors(s->network);
  size_t bound = 0;
  bool **made = calloc((size_t)n, sizeof *made);
  for (int t = 0; t < n; t++)
    made[t] = calloc((size_t)mafat_partition_n_parts(&parts->partitions[t]), sizeof **made);
  for (int g = 0; g < s->plan->n_groups; g++) {
    int position = s->plan->groups[g].positions.begin;
    for (int p = parts->at[g]; p < parts->at[g + 1]; p++, position++) {
      check_buffers(s, p, position, made);
      size_t scratch = check_scratch(s, p, position);
      for (int time = 2 * position; time < 2 * position + 2; time++)
        if (live_at(s->layout, time) + scratch > bound) bound = live_at(s->layout, time) + scratch;
    }
  }
  for (int time = 0; time < 2 * s->plan->n_positions; time++)
    if (live_at(s->layout, time) > bound) bound = live_at(s->layout, time);
  require(s->layout->bound_bytes == bound, s, "bound %zu, but the parts need %zu",
          s->layout->bound_bytes, bound);
  require(s->layout->total_bytes >= bound, s, "an arena of %zu bytes below its bound",
          s->layout->total_bytes);
  for (int t = 0; t < n; t++) free(made[t]);
  free(made);
}

/* Checks that only layers of groups with parts are divided. */
static void check_members(const struct subject *s)
{
  for (int l = 0; l < s->plan->n_layers; l++) {
    bool split = mafat_cut_has_parts(&mafat_plan_group(s->plan, l)->cut);
    require(split || mafat_partition_n_parts(&s->plan->parts->partitions[l]) == 1, s,
            "layer %d is cut, but not its group", l);
  }
}

/* Checks that the rows of the input are read in order, each once. */
static void check_inputs(const struct subject *s)
{
  struct mafat_schedule *schedule;
  struct mafat_step step;
  int rows = 0, picture = mafat_network_picture(s->network),
      h = mafat_network_picture_shape(s->network).h;
  ck_assert_int_eq(mafat_schedule_open(&schedule, s->network, s->plan), MAFAT_OK);
  while (mafat_schedule_next(schedule, &step)) {
    if (step.layer != picture) continue;
    require(step.kind == MAFAT_STEP_INPUT && step.out.y.begin == rows && step.out.y.end <= h, s,
            "the input's row %d comes after row %d", step.out.y.begin, rows);
    rows = step.out.y.end;
  }
  mafat_schedule_close(&schedule);
}

/* In random split plans, the buffers of each part are alive at its step, and not longer than
 * necessary. */
START_TEST(each_part_finds_what_it_needs_and_no_more_is_alive)
{
  static struct subject s;
  if (!open_subject(&s, _i)) return;
  check_places(&s);
  check_parts(&s);
  check_inputs(&s);
  check_members(&s);
  close_subject(&s);
}
END_TEST

/* ---- which tensors are stored in partition buffers ---- */

#define NET "[net]\nwidth=16\nheight=24\nchannels=3\n"
#define CONV(filters) \
  "[convolutional]\nfilters=" #filters "\nsize=3\nstride=1\npad=1\nactivation=leaky\n"

static const struct {
  const char *plan;
  int input, first, second; /* expected buffers of the input, and of the outputs of layers 0, 1 */
} buffer_rows[] = {
    {"split(h4:0-3)", 7, 4, 4},              /* some rows of the input are read by two parts */
    {"split(h2:0-3)", 3, 2, 2},
    {"split(h[10]:0-3)", 3, 2, 2},
    {"split(h2:0-1)/2/split(h3:2-3)", 3, 2, 2}, /* a later split group can read partition buffers */
    {"split(h2:0)/1/split(h3:1-3)", 3, 2, 3},
    {"split(h2:0-1)/2/1x1", 3, 2, 2},        /* a later group of whole maps can, too */
    /* a later group by rows, in panels or in tiles cannot */
    {"split(h2:0-1)/2/rows1", 3, 2, 1},
    {"split(h2:0-1)/2/panels", 3, 2, 1},
    {"split(h2:0-1)/2/2x2", 3, 2, 1},
    {"rows2:bricks:direct/NoCut", 7, 4, 4},  /* one buffer for each step */
    {"rows4:early:bricks:direct/NoCut", 3, 2, 2},
    {"rows2:bricks:direct/2/rows4:bricks:direct", 7, 4, 4},
    {"rows2:bricks:direct/2/1x1", 7, 4, 4},
    {"rows2:bricks:direct/2/rows2", 7, 4, 1},
    {"1x1/1/rows2:bricks:direct", 1, 1, 4},
    {"1x1/1/split(h2:1-3)", 1, 1, 2},
    {"rows2/1/split(h2:1-3)", 1, 1, 2},
    {"split(c2:0-1)", 1, 2, 1},              /* the input has a single channel block */
    {"split(w2:0-3)", 1, 1, 1},              /* a window reads columns of two parts */
    {"split(h3:1-2)", 1, 1, 3},              /* layer 0 reads the whole input */
};

static int buffers_of(const struct mafat_layout *l, int tensor)
{
  return l->tensors[tensor].partition ? mafat_partition_n_buffers(l->tensors[tensor].partition) : 1;
}

/* Tensors have as many buffers as each row says. */
START_TEST(tensors_have_partition_buffers)
{
  struct mafat_network *n = test_network(NET CONV(64) CONV(64) CONV(32) CONV(16));
  struct mafat_plan *plan = test_plan(n, buffer_rows[_i].plan);
  struct mafat_layout *l = test_layout(n, plan);
  ck_assert_int_eq(buffers_of(l, 4), buffer_rows[_i].input);
  ck_assert_int_eq(buffers_of(l, 0), buffer_rows[_i].first);
  ck_assert_int_eq(buffers_of(l, 1), buffer_rows[_i].second);
  ck_assert_int_eq(buffers_of(l, 3), 1); /* an output is whole */
  mafat_layout_close(&l);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* Each partition buffer of the input, and of a tensor that a later group reads, dies with its last
 * reader. */
START_TEST(buffers_die_one_by_one_across_groups)
{
  struct mafat_network *n = test_network(NET CONV(32) CONV(32) CONV(32));
  struct mafat_plan *plan = test_plan(n, "split(h3:0)/1/split(h3:1-2)/order=postorder");
  struct mafat_layout *l = test_layout(n, plan);
  /* 5 parts of the input and 3 of layer 0, then 3 parts of layer 1 and 3 of layer 2 alternately */
  ck_assert_int_eq(plan->n_positions, 14);
  ck_assert_int_eq(buffers_of(l, 3), 5);
  const struct mafat_buffer *input = &l->buffers[l->tensors[3].buffer],
                            *crossing = &l->buffers[l->tensors[0].buffer];
  for (int i = 0; i < 5; i++) {
    ck_assert_int_eq(input[i].tag, MAFAT_TAG_INPUT);
    if (i) ck_assert_int_gt(input[i].first, input[i - 1].first);
    if (i) ck_assert_int_ge(input[i].last, input[i - 1].last);
  }
  ck_assert_int_lt(input[0].last, input[4].first);
  for (int i = 1; i < 3; i++)
    ck_assert(crossing[i].first > crossing[i - 1].first &&
              crossing[i].last >= crossing[i - 1].last);
  ck_assert_int_lt(crossing[0].last, 2 * plan->n_positions - 1);
  ck_assert_int_ge(crossing[0].last, 2 * plan->groups[1].positions.begin);
  ck_assert(mafat_layout_takes_rows(l));
  mafat_layout_close(&l);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* ---- scratch ---- */

/* Parts of the convolutions need more than four times the scratch of the maxpool's parts. Parts of
 * equal size share a scratch record. */
START_TEST(scratch_counts_where_it_is_used)
{
  struct mafat_network *n = test_network(NET CONV(32) "[maxpool]\nsize=3\nstride=1\n" CONV(32));
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_WINOGRAD;
  struct mafat_plan *plan = test_plan_with(n, "split(h3:0-2)/order=postorder", &options);
  struct mafat_layout *l = test_layout(n, plan);
  size_t least = SIZE_MAX, most = 0;
  for (int p = 0; p < plan->parts->n; p++) {
    if (plan->parts->list[p].layer >= plan->n_layers) continue;
    size_t bytes = mafat_scratch_bytes(&l->part_scratch->records[l->part_scratch->record_of[p]], 1);
    if (bytes < least) least = bytes;
    if (bytes > most) most = bytes;
  }
  ck_assert_uint_gt(most, 4 * least);
  ck_assert_uint_lt(l->part_scratch->n_records, 9);
  mafat_layout_close(&l);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

Suite *parts_suite(void)
{
  Suite *suite = suite_create("parts");
  TCase *t = tcase_create("parts");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, each_part_finds_what_it_needs_and_no_more_is_alive, 0, test_seeds(400));
  tcase_add_loop_test(t, tensors_have_partition_buffers, 0,
                      (int)(sizeof buffer_rows / sizeof *buffer_rows));
  tcase_add_test(t, buffers_die_one_by_one_across_groups);
  tcase_add_test(t, scratch_counts_where_it_is_used);
  suite_add_tcase(suite, t);
  return suite;
}
