/* Covers predictor/cost/predict.c: the categories of memory that add up to the predicted
 * charge, and sums that overflow. */
#include "predictor/cost/predict.h"

#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>

Suite *predict_suite(void);

static struct mafat_network *network;
static struct mafat_plan *plan;
static struct mafat_layout *layout;

static void lay(const char *text)
{
  network = test_network("[net]\nwidth=64\nheight=64\nchannels=3\n"
                         "[convolutional]\nfilters=32\nsize=3\npad=1\nactivation=leaky\n"
                         "[maxpool]\nsize=2\nstride=2\n");
  plan = test_plan(network, text);
  layout = test_layout(network, plan);
}

static void make_layout(void)
{
  lay("1x1/NoCut");
}

static void release_layout(void)
{
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_network_close(&network);
}

/* Lays out another plan. */
static void lay_again(const char *text)
{
  release_layout();
  lay(text);
}

static struct mafat_prediction predict(size_t process, size_t image, size_t file)
{
  struct mafat_footprint footprint = {
      .process_bytes = process, .image_bytes = image, .file_bytes = file};
  struct mafat_prediction p;
  mafat_predict(&p, layout, &footprint);
  return p;
}

/* The categories of the prediction add up to the layout's bytes. */
START_TEST(test_the_parts_are_those_of_the_layout)
{
  struct mafat_prediction p = predict(1 << 20, 0, 0);
  size_t live = p.activations + p.scratch + p.input;
  ck_assert_uint_eq(live, layout->bound_bytes);
  ck_assert_uint_eq(p.weights, mafat_packed_bytes(network, 2));
  ck_assert_uint_ge(p.resident_bytes, p.process + p.weights + layout->total_bytes);
  ck_assert_uint_le(p.resident_bytes, p.process + p.weights + layout->total_bytes + 3 * MAFAT_PAGE);
  ck_assert_uint_eq(p.charge_bytes, p.resident_bytes + p.kernel + MAFAT_CHARGE_AHEAD);
}
END_TEST

/* The reserve adds to the charge, not to resident bytes. */
START_TEST(test_the_reserve_is_charged_and_not_resident)
{
  struct mafat_footprint footprint = {.process_bytes = 1 << 20};
  struct mafat_prediction none = predict(1 << 20, 0, 0), p;
  ck_assert_uint_eq(none.reserve, 0);
  footprint.reserve_bytes = 123456;
  mafat_predict(&p, layout, &footprint);
  ck_assert_uint_eq(p.reserve, 123456);
  ck_assert_uint_eq(p.charge_bytes, none.charge_bytes + 123456);
  ck_assert_uint_eq(p.resident_bytes, none.resident_bytes);
  footprint.reserve_bytes = SIZE_MAX;
  mafat_predict(&p, layout, &footprint);
  ck_assert_uint_eq(p.charge_bytes, SIZE_MAX);
}
END_TEST

/* If choosing the plan needs more memory than running it, the predicted charge is that of
 * choosing. */
START_TEST(test_no_plan_costs_less_than_its_search)
{
  struct mafat_footprint footprint = {
      .process_bytes = 1 << 20, .opening_bytes = 1 << 20, .reserve_bytes = 123456};
  struct mafat_prediction small, large;
  mafat_predict(&small, layout, &footprint);
  ck_assert_uint_gt(small.charge_bytes, mafat_predict_opening(&footprint));
  footprint.opening_bytes = small.charge_bytes;
  mafat_predict(&large, layout, &footprint);
  ck_assert_uint_eq(large.charge_bytes, mafat_predict_opening(&footprint));
  ck_assert_uint_gt(large.charge_bytes, small.charge_bytes + 123456 + MAFAT_CHARGE_AHEAD);
  ck_assert_uint_eq(large.resident_bytes, small.resident_bytes);
  footprint.opening_bytes = SIZE_MAX;
  ck_assert_uint_eq(mafat_predict_opening(&footprint), SIZE_MAX);
}
END_TEST

/* mafat_predict_charge_with gives the same charge as a prediction for the larger process. */
START_TEST(test_a_larger_process_is_counted_to_the_byte)
{
  for (size_t process = 1 << 20; process < 24 << 20; process += 777777)
    for (size_t more = 0; more < 6 << 20; more += 99 * 4096) {
      struct mafat_prediction p = predict(process, 0, 0), larger = predict(process + more, 0, 0);
      ck_assert_uint_eq(mafat_predict_charge_with(p.charge_bytes, p.resident_bytes, more),
                        larger.charge_bytes);
    }
  ck_assert_uint_eq(mafat_predict_charge_with(SIZE_MAX, SIZE_MAX, 4096), SIZE_MAX);
}
END_TEST

/* A whole picture is decoded before the layers run, so the charge is the larger of the decoder's
 * and the layers' need. */
START_TEST(test_a_small_decoder_hides_behind_the_layers)
{
  ck_assert_uint_eq(predict(0, 4096, 0).charge_bytes, predict(0, 0, 0).charge_bytes);
  ck_assert_uint_gt(predict(0, 64 << 20, 0).charge_bytes, (64 << 20) + predict(0, 0, 0).process);
  ck_assert_uint_eq(predict(0, 64 << 20, 0).resident_bytes, predict(0, 0, 0).resident_bytes);
  ck_assert_uint_eq(predict(0, 0, 8192).charge_bytes, predict(0, 0, 0).charge_bytes + 8192);
}
END_TEST

static size_t charge_of(size_t image, size_t turned)
{
  struct mafat_footprint footprint = {.image_bytes = image, .turned_bytes = turned};
  struct mafat_prediction p;
  mafat_predict(&p, layout, &footprint);
  ck_assert_uint_eq(p.resident_bytes, predict(0, 0, 0).resident_bytes);
  ck_assert_uint_eq(p.image, image);
  return p.charge_bytes;
}

/* A picture that is read row by row is decoded while layers run: the decoder and the converted
 * picture add to the arena. */
START_TEST(test_a_picture_by_rows_lies_beside_the_layers)
{
  lay_again("rows/NoCut");
  size_t none = charge_of(0, 0);
  ck_assert_uint_eq(charge_of(4096, 0), none + 4096);
  ck_assert_uint_eq(charge_of(8192, 64 << 20), none + 8192 + (64 << 20));
  ck_assert_uint_eq(charge_of(0, SIZE_MAX - 4096), SIZE_MAX);
  ck_assert_uint_eq(charge_of(SIZE_MAX, 1), SIZE_MAX);
}
END_TEST

/* The reader of float files stays resident for the next run if inputs are whole; if they are read
 * row by row, it is freed after the last row. */
START_TEST(test_what_reads_floats_is_resident_beside_whole_inputs)
{
  const struct mafat_footprint footprint = {.floats_bytes = 3 * MAFAT_PAGE};
  struct mafat_prediction none, p;
  for (int rows = 0; rows < 2; rows++) {
    lay_again(rows ? "rows/NoCut" : "1x1/NoCut");
    none = predict(0, 0, 0);
    mafat_predict(&p, layout, &footprint);
    ck_assert_uint_eq(p.image, 3 * MAFAT_PAGE);
    ck_assert_uint_eq(p.resident_bytes, none.resident_bytes + (rows ? 0 : 3 * MAFAT_PAGE));
    ck_assert_uint_ge(p.charge_bytes, none.charge_bytes + 3 * MAFAT_PAGE);
  }
}
END_TEST

/* turned_bytes (a converted picture that cannot be read row by row) do not count if the plan reads
 * the picture as a whole. */
START_TEST(test_a_whole_picture_is_never_turned)
{
  static const char *const texts[] = {"1x1/NoCut", "2x2/NoCut", "panels/NoCut", "1x1/1/rows"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    lay_again(texts[i]);
    ck_assert_uint_eq(charge_of(4096, 64 << 20), charge_of(0, 0));
    ck_assert_uint_gt(charge_of(64 << 20, 0), charge_of(0, 0));
  }
}
END_TEST

/* Loaded weights are counted once: in the arena. */
START_TEST(test_loaded_weights_are_in_the_arena)
{
  size_t bytes = mafat_packed_bytes(network, 2), kept = layout->total_bytes;
  lay_again("1x1:loaded/NoCut");
  struct mafat_prediction p = predict(0, 0, 0);
  ck_assert_uint_eq(layout->kept_bytes, 0);
  ck_assert_uint_ge(layout->total_bytes, kept + bytes);
  ck_assert_uint_eq(p.weights, bytes);
  ck_assert_uint_eq(p.weights + p.activations + p.scratch + p.input + p.io, layout->bound_bytes);
  ck_assert_uint_eq(p.resident_bytes,
                    p.process + (layout->total_bytes + MAFAT_PAGE - 1) / MAFAT_PAGE * MAFAT_PAGE);
}
END_TEST

/* Each thread but the first adds a stack in the process and one in the kernel. */
START_TEST(test_threads_are_counted_apart)
{
  struct mafat_prediction one = predict(1 << 20, 0, 0);
  layout->n_workers = 3;
  struct mafat_prediction three = predict(1 << 20, 0, 0);
  ck_assert_uint_eq(one.threads, 0);
  ck_assert_uint_eq(three.threads, 2 * MAFAT_THREAD_PAGES);
  ck_assert_uint_eq(three.process, one.process);
  ck_assert_uint_eq(three.resident_bytes, one.resident_bytes + three.threads);
  ck_assert_uint_ge(three.charge_bytes, one.charge_bytes + three.threads + 2 * MAFAT_THREAD_CHARGE);
}
END_TEST

/* Memory for returned detections counts beyond MAFAT_DETECTIONS_SHARE; so does memory for boxes
 * past the arena's end. */
START_TEST(test_detections_are_counted)
{
  static const int most[] = {0, 1, 5000, 12288, 1000000};
  release_layout();
  network = test_network("[net]\nwidth=64\nheight=64\nchannels=3\n"
                         "[convolutional]\nfilters=18\nsize=1\nactivation=linear\n"
                         "[yolo]\nclasses=1\nnum=3\nmask=0,1,2\nanchors=1,1, 2,2, 3,3\n");
  plan = test_plan(network, "1x1/NoCut");
  for (int i = 0; i < 5; i++) {
    plan->most_boxes = most[i];
    mafat_layout_close(&layout);
    layout = test_layout(network, plan);
    struct mafat_prediction p = predict(1 << 20, 0, 0);
    size_t boxes = i == 0 ? 4096 : i == 4 ? 12288 : (size_t)most[i];
    ck_assert_uint_eq(layout->most_boxes, boxes);
    size_t bytes = boxes * 24 + layout->mapped_bytes - layout->total_bytes, share = 128 << 10;
    size_t late = bytes < share ? 0 : (bytes - share + MAFAT_PAGE - 1) / MAFAT_PAGE * MAFAT_PAGE;
    ck_assert_uint_eq(p.charge_bytes, p.resident_bytes + p.kernel + MAFAT_CHARGE_AHEAD + late);
    ck_assert_int_eq(late > 0, i > 2);
  }
}
END_TEST

/* Page tables need eight bytes of kernel memory for each page of 4096. */
START_TEST(test_page_tables_grow_with_what_is_mapped)
{
  struct mafat_prediction small = predict(0, 0, 0), large = predict((size_t)512 << 20, 0, 0);
  ck_assert_uint_ge(large.kernel, small.kernel + (1 << 20));
  ck_assert_uint_le(large.kernel, small.kernel + (1 << 20) + MAFAT_PAGE);
}
END_TEST

static void check_peak(const char *text, int layer)
{
  lay_again(text);
  struct mafat_prediction p = predict(0, 0, 0);
  ck_assert(!p.peak.kept && p.peak.tag == MAFAT_TAG_ACTIVATIONS);
  ck_assert_int_eq(p.peak.layer, layer);
  ck_assert_uint_le(p.peak.bytes, p.activations + p.scratch + p.input + p.weights + p.io);
}

/* The prediction names the largest buffer at the peak. */
START_TEST(test_the_buffer_that_decides_the_peak_has_a_name)
{
  check_peak("1x1/NoCut", 1);
  check_peak("1x1/1/1x1", 0);
}
END_TEST

/* The peak may be the kept weights. */
START_TEST(test_kept_weights_may_decide_it)
{
  release_layout();
  network = test_network("[net]\nwidth=8\nheight=8\nchannels=3\n"
                         "[convolutional]\nfilters=256\nsize=3\npad=1\nactivation=leaky\n"
                         "[convolutional]\nfilters=256\nsize=3\npad=1\nactivation=leaky\n");
  plan = test_plan(network, "1x1/NoCut");
  layout = test_layout(network, plan);
  struct mafat_prediction p = predict(0, 0, 0);
  ck_assert(p.peak.kept);
  ck_assert_uint_eq(p.peak.bytes, layout->kept_bytes);
}
END_TEST

/* A prediction holds if it is not below the measurement, and at most 2 % and the slack above. */
START_TEST(test_a_prediction_is_never_below_and_little_above)
{
  size_t measured = (size_t)100 << 20, most = measured + measured / 50 + MAFAT_PREDICT_SLACK;
  ck_assert(mafat_predict_holds(measured, measured));
  ck_assert(!mafat_predict_holds(measured - 1, measured));
  ck_assert(mafat_predict_holds(most, measured));
  ck_assert(!mafat_predict_holds(most + 1, measured));
}
END_TEST

/* Scratch of a Winograd convolution with this many filters on a map of side x side. */
static size_t winograd_scratch(int filters, int side, int n_threads)
{
  char cfg[256];
  struct mafat_scratch scratch;
  snprintf(cfg, sizeof cfg, "[net]\nwidth=%d\nheight=%d\nchannels=3\n"
           "[convolutional]\nfilters=64\nsize=3\npad=1\nactivation=leaky\n"
           "[convolutional]\nfilters=%d\nsize=3\npad=1\nactivation=leaky\n", side, side, filters);
  release_layout();
  network = test_network(cfg);
  plan = test_plan(network, "1x1/NoCut");
  layout = test_layout(network, plan);
  plan->algorithms[1] = MAFAT_WINOGRAD;
  plan->n_threads = n_threads;
  ck_assert_int_eq(mafat_scratch_plan(plan, network, 1, side, side, &scratch), MAFAT_OK);
  return mafat_scratch_bytes(&scratch, n_threads);
}

/* If only one of eight threads has work, there is Winograd scratch for one thread only. */
START_TEST(test_threads_without_work_have_no_turn)
{
  size_t one = winograd_scratch(32, 4, 1), eight = winograd_scratch(32, 4, 8);
  ck_assert_uint_lt(eight, one + one / 4);
  ck_assert_uint_gt(winograd_scratch(256, 64, 8), 4 * winograd_scratch(256, 64, 1) / 2);
}
END_TEST

/* Sums that overflow are SIZE_MAX. */
START_TEST(test_sums_saturate)
{
  ck_assert_uint_eq(predict(0, SIZE_MAX, 0).charge_bytes, SIZE_MAX);
  ck_assert_uint_eq(predict(SIZE_MAX - 5, 0, 0).charge_bytes, SIZE_MAX);
  ck_assert_uint_eq(predict(0, 0, SIZE_MAX).charge_bytes, SIZE_MAX);
}
END_TEST

Suite *predict_suite(void)
{
  Suite *s = suite_create("predict");
  TCase *t = tcase_create("predict");
  tcase_add_checked_fixture(t, make_layout, release_layout);
  tcase_add_test(t, test_the_parts_are_those_of_the_layout);
  tcase_add_test(t, test_the_reserve_is_charged_and_not_resident);
  tcase_add_test(t, test_no_plan_costs_less_than_its_search);
  tcase_add_test(t, test_a_larger_process_is_counted_to_the_byte);
  tcase_add_test(t, test_a_small_decoder_hides_behind_the_layers);
  tcase_add_test(t, test_a_picture_by_rows_lies_beside_the_layers);
  tcase_add_test(t, test_what_reads_floats_is_resident_beside_whole_inputs);
  tcase_add_test(t, test_a_whole_picture_is_never_turned);
  tcase_add_test(t, test_loaded_weights_are_in_the_arena);
  tcase_add_test(t, test_threads_are_counted_apart);
  tcase_add_test(t, test_detections_are_counted);
  tcase_add_test(t, test_page_tables_grow_with_what_is_mapped);
  tcase_add_test(t, test_the_buffer_that_decides_the_peak_has_a_name);
  tcase_add_test(t, test_kept_weights_may_decide_it);
  tcase_add_test(t, test_a_prediction_is_never_below_and_little_above);
  tcase_add_test(t, test_threads_without_work_have_no_turn);
  tcase_add_test(t, test_sums_saturate);
  suite_add_tcase(s, t);
  return s;
}
