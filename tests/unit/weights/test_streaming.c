/* Covers runner/weights/stream.c, predictor/schedule/fetches.c: weights that are read while a plan
 * runs. For every weight placement, file format and read method, a slice has the same bytes as with
 * kept weights. */
#include "predictor/schedule/fetches.h"
#include "predictor/plan/fusion.h"
#include "predictor/planning/planning.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "runner/weights/weights_file.h"

#include "tests/support/network_files.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/weight_files.h"
#include "tests/support/weight_walks.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *streaming_suite(void);

static struct mafat_diagnostic diagnostic;

/* ---- networks and plans ---- */

static struct mafat_network *random_network(uint64_t seed, bool whole_maps)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(seed);
  struct test_network_style style = test_network_style();
  style.whole_maps = whole_maps;
  style.max_macs = 300000;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  return test_network(cfg);
}

/* ---- the same bytes ---- */

static void compare_plans(const struct mafat_network *n, enum mafat_read_queue_method method)
{
  struct mafat_weights *kept = test_open_kept(test_darknet_path, n, n->n_layers);
  for (int text = 0; text < test_slow_rows(TEST_N_PLACEMENTS); text++)
    for (int n_threads = 1; n_threads <= 3; n_threads += 2)
      for (int packed = 0; packed < 2; packed++) {
        struct mafat_plan *plan = test_placement_plan(n, text, n_threads, packed);
        if (plan)
          test_compare_run(n, plan, packed ? test_packed_path : test_darknet_path, method, kept);
        mafat_plan_close(&plan);
      }
  mafat_weights_close(&kept);
}

START_TEST(packed_files_hold_what_is_kept)
{
  struct mafat_network *n = random_network((uint64_t)_i + 1, true);
  test_write_both(n, (uint64_t)_i);
  struct mafat_weights *a = test_open_kept(test_darknet_path, n, n->n_layers);
  struct mafat_weights *b = test_open_kept(test_packed_path, n, n->n_layers);
  ck_assert_uint_eq(mafat_weights_bytes(a), mafat_weights_bytes(b));
  for (int l = 0; l < n->n_layers; l++)
    if (mafat_packed_layer_bytes(&n->layers[l]))
      test_compare_layer(n, l, a, b, mafat_span(0, n->layers[l].out.c),
                         mafat_span(0, test_inputs_of(&n->layers[l])));
  ck_assert_msg(mafat_packer_check(test_packed_path, NULL, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  mafat_weights_close(&a);
  mafat_weights_close(&b);
  mafat_network_close(&n);
}
END_TEST

START_TEST(any_placement_gives_the_same_slices)
{
  struct mafat_network *n = random_network((uint64_t)_i + 100, true);
  test_write_both(n, (uint64_t)_i);
  compare_plans(n, MAFAT_READS_AUTO);
  mafat_network_close(&n);
}
END_TEST

START_TEST(any_way_of_reading_gives_the_same_slices)
{
  struct mafat_network *n = test_network(test_wide_cfg);
  test_write_both(n, 1);
  compare_plans(n, (enum mafat_read_queue_method)_i);
  mafat_network_close(&n);
}
END_TEST

/* ---- what is read ---- */

START_TEST(fetches_are_counted_and_come_in_order)
{
  struct mafat_network *n = _i ? random_network((uint64_t)_i, true) : test_network(test_wide_cfg);
  for (int text = 0; text < TEST_N_PLACEMENTS; text++)
    for (int packed = 0; packed < 2; packed++) {
      struct mafat_plan *plan = test_placement_plan(n, text, 2, packed);
      struct mafat_fetches *fetches;
      struct mafat_fetch_sizes sizes;
      struct mafat_fetch f;
      uint64_t bytes = 0;
      long long step = 0;
      size_t of_step = 0, most_of_step = 0, all = 0; /* bytes in the ring */
      if (!plan) continue;
      ck_assert_int_eq(mafat_fetches_size(n, plan, &sizes), MAFAT_OK);
      ck_assert_int_eq(mafat_fetches_open(&fetches, n, plan, NULL), MAFAT_OK);
      while (mafat_fetches_next(fetches, &f)) {
        ck_assert_int_ge(f.step, step);
        ck_assert_int_ne(plan->placement[f.layer], MAFAT_KEPT);
        ck_assert_uint_gt(f.bytes, 0);
        ck_assert_int_eq(f.kind == MAFAT_FETCH_SLICE,
                         packed && plan->placement[f.layer] == MAFAT_STREAMED);
        of_step = f.step == step && f.kind == MAFAT_FETCH_SLICE
                      ? of_step + mafat_fetch_window(f.bytes)
                      : mafat_fetch_window(f.bytes);
        most_of_step = of_step > most_of_step ? of_step : most_of_step;
        all += mafat_fetch_window(f.bytes);
        step = f.step;
        bytes += f.bytes;
      }
      ck_assert_uint_eq(bytes, sizes.bytes_read);
      /* The ring holds the weights of two steps, even of those that read the most, or all weights
       * that are read. */
      ck_assert_uint_le(2 * most_of_step < all ? 2 * most_of_step : all, sizes.ring_bytes);
      ck_assert_uint_le(sizes.ring_bytes, all);
      mafat_fetches_close(&fetches);
      mafat_plan_close(&plan);
    }
  mafat_network_close(&n);
}
END_TEST

START_TEST(each_byte_is_read_once_where_each_layer_runs_once)
{
  struct mafat_network *n = test_network(test_wide_cfg);
  struct mafat_fetch_sizes sizes;
  uint64_t image = 0;
  for (int l = 0; l < n->n_layers; l++) image += mafat_packed_layer_bytes(&n->layers[l]);
  for (int packed = 0; packed < 2; packed++) {
    struct mafat_plan *plan = test_placement_plan(n, 0, 1 + _i, packed);
    ck_assert_int_eq(mafat_fetches_size(n, plan, &sizes), MAFAT_OK);
    ck_assert_uint_eq(sizes.bytes_read, packed ? image : mafat_weights_payload_bytes(n));
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

START_TEST(kept_plans_read_nothing)
{
  struct mafat_network *n = test_network(test_wide_cfg);
  struct mafat_plan *plan = test_plan(n, "rows4/3/panels");
  struct mafat_fetch_sizes sizes;
  ck_assert_int_eq(mafat_fetches_size(n, plan, &sizes), MAFAT_OK);
  ck_assert(sizes.ring_bytes == 0 && sizes.panel_bytes == 0 && sizes.affine_bytes == 0 &&
            sizes.bytes_read == 0);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* ---- what goes wrong ---- */

/* Opens weights for a plan of the wide network, calls `meddle`, and runs up to three times, until a
 * run fails. Returns the code of the failure, or MAFAT_OK. */
static int run_wide(const char *path, int text, bool packed, void (*meddle)(const char *path))
{
  struct mafat_network *n = test_network(test_wide_cfg);
  struct mafat_plan *plan = test_placement_plan(n, text, 1, packed);
  struct test_arena a = test_make_arena(n, plan);
  struct mafat_weights *w;
  int code = mafat_weights_open(&w, path, n, plan, &a.layout, NULL, NULL, &diagnostic);
  if (code == MAFAT_OK && meddle) meddle(path);
  for (int i = 0; i < 3 && code == MAFAT_OK; i++)
    code = test_walk(n, plan, w, a.memory, NULL, &diagnostic);
  if (code && w)
    ck_assert_int_ne(test_walk(n, plan, w, a.memory, NULL, &diagnostic),
                     MAFAT_OK); /* later runs fail too */
  mafat_weights_close(&w);
  test_free_arena(&a);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
  return code;
}

/* Position in the file of the middle of a layer's weights. */
static long middle_of(const char *path, int layer)
{
  struct mafat_packed *p = test_describe(path);
  struct mafat_packed_entry e = p->entries[layer];
  mafat_packed_close(&p);
  return (long)(e.offset + e.bytes / 8 * 4);
}

START_TEST(a_damaged_layer_is_found_however_it_is_read)
{
  static const int damaged[] = {0, 1, 4, 7, 8};
  char expected[64];
  float x = 1000;
  test_write_wide();
  struct mafat_network *n = test_network(test_wide_cfg);
  int layer = damaged[_i];
  test_overwrite(test_packed_path, middle_of(test_packed_path, layer), &x, sizeof x);
  snprintf(expected, sizeof expected, "layer %d [", layer);
  for (int text = -1; text < TEST_N_PLACEMENTS; text++) {
    struct mafat_weights *w = NULL;
    diagnostic.text[0] = 0;
    int code =
        text < 0 ? mafat_weights_open_kept(&w, test_packed_path, n, n->n_layers, NULL, &diagnostic)
                 : run_wide(test_packed_path, text, true, NULL);
    ck_assert_int_eq(code, MAFAT_EFORMAT);
    ck_assert_msg(strstr(diagnostic.text, expected) && strstr(diagnostic.text, "damaged"), "%s",
                  diagnostic.text);
  }
  ck_assert_int_eq(mafat_packer_check(test_packed_path, NULL, &diagnostic), MAFAT_EFORMAT);
  mafat_network_close(&n);
}
END_TEST

/* Each weight counts once in the checksum of a layer, even if it is read several times. Here rows
 * and channels are both cut, and some weights are read again before others are read for the first
 * time. Undamaged files must pass, and damaged ones must be found. With 104 filters the last panel
 * is narrower than the others. */
START_TEST(what_parts_of_a_map_share_counts_once)
{
  static const char *const texts[] = {"split(h2:0-2,c2:0-2):streamed/order=postorder",
                                      "split(h2:0-2,c[96]:0-2):streamed/order=postorder",
                                      "split(h3:0-2,c[32]:0-2):streamed/order=best",
                                      "split(h2:0-2,w2:0-2,c[64,96]:0-2):streamed/order=best"};
  char cfg[256];
  int filters = _i % 2 ? 104 : 128;
  snprintf(cfg, sizeof cfg, "[net]\nwidth=16\nheight=16\nchannels=3\n"
                            "[convolutional]\nfilters=%d\nsize=3\npad=1\nbatch_normalize=1\n"
                            "[convolutional]\nfilters=%d\nsize=3\npad=1\ngroups=%d\n"
                            "[convolutional]\nfilters=40\nsize=1\n", filters, filters, filters);
  struct mafat_network *n = test_network(cfg);
  struct mafat_plan_options o;
  struct mafat_plan *plan;
  mafat_plan_defaults(&o);
  o.packed = true;
  int code = mafat_plan_read(&plan, texts[_i / 2], n, n->n_layers, &o, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  test_write_both(n, 7);
  struct mafat_weights *kept = test_open_kept(test_packed_path, n, n->n_layers);
  test_compare_run(n, plan, test_packed_path, MAFAT_READS_AUTO, kept);
  mafat_weights_close(&kept);
  for (int layer = 0; layer < n->n_layers; layer++) {
    float x = 1000;
    struct mafat_weights *w;
    struct test_arena a = test_make_arena(n, plan);
    test_write_both(n, 7);
    test_damage(test_packed_path, middle_of(test_packed_path, layer), &x, sizeof x);
    ck_assert_int_eq(mafat_weights_open(&w, test_packed_path, n, plan, &a.layout, NULL, NULL,
                                        &diagnostic),
                     MAFAT_OK);
    ck_assert_msg(test_walk(n, plan, w, a.memory, NULL, &diagnostic) == MAFAT_EFORMAT, "layer %d",
                  layer);
    ck_assert_ptr_nonnull(strstr(diagnostic.text, "damaged"));
    mafat_weights_close(&w);
    test_free_arena(&a);
  }
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

static void cut_short(const char *path)
{
  ck_assert_int_eq(truncate(path, 100000), 0);
}

static void replace(const char *path)
{
  char other[80];
  snprintf(other, sizeof other, "%s.new", path);
  close(open(other, O_CREAT | O_WRONLY, 0600));
  ck_assert_int_eq(rename(other, path), 0);
}

static void write_into(const char *path)
{
  float x = .5f;
  usleep(20000); /* modification times have the resolution of clock ticks */
  test_overwrite(path, 5000, &x, sizeof x);
}

START_TEST(a_file_that_changes_while_it_is_used_is_an_error)
{
  static void (*const meddlers[])(const char *) = {cut_short, replace, write_into};
  for (int text = 0; text < 3; text++)
    for (int packed = 0; packed < 2; packed++) {
      test_write_wide();
      int code =
          run_wide(packed ? test_packed_path : test_darknet_path, text, packed, meddlers[_i]);
      ck_assert_msg(code == MAFAT_EIO || code == MAFAT_EFORMAT, "%d", code);
    }
}
END_TEST

START_TEST(weights_that_are_no_numbers_are_refused_in_the_first_run)
{
  float nan = __builtin_nanf("");
  struct mafat_network *n = test_network(test_wide_cfg);
  for (int text = 0; text < TEST_N_PLACEMENTS; text++) {
    test_write_darknet(n, 3);
    long places[] = {20, (long)(mafat_weights_payload_bytes(n) / 8 * 4),
                     (long)mafat_weights_payload_bytes(n) + 16};
    test_overwrite(test_darknet_path, places[_i], &nan, sizeof nan);
    ck_assert_int_eq(run_wide(test_darknet_path, text, false, NULL), MAFAT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(diagnostic.text, "not finite"));
    ck_assert_int_eq(test_pack(n, &diagnostic), MAFAT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(diagnostic.text, "not finite"));
  }
  mafat_network_close(&n);
}
END_TEST

/* Weights of a transposed connected layer can be read in parts only if the file is packed. A plan
 * that is made for an unpacked file with such layers keeps these weights. */
START_TEST(transposed_layers_want_packing)
{
  struct mafat_plan_options o;
  struct mafat_weights_kind kind;
  int32_t version[3] = {1001, 0, 0};
  struct mafat_network *n =
      test_network("[net]\nwidth=20\nheight=20\nchannels=3\n"
                   "[convolutional]\nfilters=70\nsize=3\npad=1\n"
                   "[connected]\noutput=150\nbatch_normalize=1\n[connected]\noutput=37\n");
  test_write_darknet(n, 4);
  test_overwrite(test_darknet_path, 0, version, sizeof version);
  ck_assert_int_eq(truncate(test_darknet_path, 16 + (off_t)mafat_weights_payload_bytes(n)), 0);
  ck_assert_msg(test_pack(n, &diagnostic) == MAFAT_OK, "%s", diagnostic.text);
  struct mafat_weights *kept = test_open_kept(test_darknet_path, n, n->n_layers), *w;
  for (int packed = 0; packed < 2; packed++) {
    struct mafat_plan *plan = test_placement_plan(n, 0, 1, packed);
    struct test_arena a = test_make_arena(n, plan);
    if (packed) {
      test_compare_run(n, plan, test_packed_path, MAFAT_READS_AUTO, kept);
    } else {
      ck_assert_int_eq(mafat_weights_open(&w, test_darknet_path, n, plan, &a.layout, NULL, NULL,
                                          &diagnostic),
                       MAFAT_EUNSUPPORTED);
      ck_assert_ptr_nonnull(strstr(diagnostic.text, "pack_weights"));
    }
    test_free_arena(&a);
    mafat_plan_close(&plan);
  }
  ck_assert_int_eq(test_weights_kind(test_packed_path, &kind, &diagnostic), MAFAT_OK);
  ck_assert(kind.packed && !kind.transposed);
  ck_assert_int_eq(test_weights_kind(test_darknet_path, &kind, &diagnostic), MAFAT_OK);
  ck_assert(!kind.packed && kind.transposed);
  mafat_plan_defaults(&o);
  o.transposed = true;
  for (int text = 0; text < TEST_N_PLACEMENTS; text++) {
    struct mafat_plan *plan = test_placement_plan_with(n, text, &o);
    if (!plan) continue;
    ck_assert_int_eq(plan->placement[1], MAFAT_KEPT);
    test_compare_run(n, plan, test_darknet_path, MAFAT_READS_AUTO, kept);
    mafat_plan_close(&plan);
  }
  mafat_weights_close(&kept);
  mafat_network_close(&n);
}
END_TEST

START_TEST(files_are_reported_apart)
{
  struct mafat_weights_kind kind;
  test_write_wide();
  ck_assert_int_eq(test_weights_kind(test_darknet_path, &kind, &diagnostic), MAFAT_OK);
  ck_assert(!kind.packed && !kind.transposed);
  ck_assert_int_eq(test_weights_kind(test_packed_path, &kind, &diagnostic), MAFAT_OK);
  ck_assert(kind.packed && !kind.transposed);
  ck_assert_int_eq(test_weights_kind("/no/such/file", &kind, &diagnostic), MAFAT_EIO);
  ck_assert_int_eq(run_wide(test_packed_path, 0, false, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(run_wide(test_darknet_path, 0, true, NULL), MAFAT_EINVAL);
}
END_TEST

START_TEST(every_failed_allocation_is_reported)
{
  struct mafat_network *n = test_network(test_wide_cfg);
  test_write_both(n, 5);
  for (int packed = 0; packed < 2; packed++) {
    struct mafat_plan *plan = test_placement_plan(n, 2, 2, packed);
    struct test_arena a = test_make_arena(n, plan);
    int code = MAFAT_ENOMEM;
    for (long fail_at = 0; code != MAFAT_OK; fail_at++) {
      struct mafat_weights *w;
      long unfreed;
      failing_malloc_arm(fail_at);
      code = mafat_weights_open(&w, packed ? test_packed_path : test_darknet_path, n, plan,
                                &a.layout, NULL, NULL, NULL);
      if (code) ck_assert_ptr_null(w);
      mafat_weights_close(&w);
      long asked = failing_malloc_disarm(&unfreed);
      ck_assert_int_eq(unfreed, 0);
      if (code) ck_assert_int_eq(code, MAFAT_ENOMEM);
      else ck_assert_int_le(asked, fail_at);
      ck_assert_int_lt(fail_at, 200);
    }
    test_free_arena(&a);
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

Suite *streaming_suite(void)
{
  Suite *s = suite_create("streaming");
  TCase *t = tcase_create("streaming");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, test_make_weight_files, test_remove_weight_files);
  tcase_add_loop_test(t, packed_files_hold_what_is_kept, 0, test_seeds(12));
  tcase_add_loop_test(t, any_placement_gives_the_same_slices, 0, test_seeds(4));
  tcase_add_loop_test(t, any_way_of_reading_gives_the_same_slices, MAFAT_READS_AUTO,
                      MAFAT_READS_THREAD + 1);
  tcase_add_loop_test(t, fetches_are_counted_and_come_in_order, 0, test_seeds(20));
  tcase_add_loop_test(t, each_byte_is_read_once_where_each_layer_runs_once, 0, 3);
  tcase_add_test(t, kept_plans_read_nothing);
  tcase_add_loop_test(t, a_damaged_layer_is_found_however_it_is_read, 0, 5);
  tcase_add_loop_test(t, what_parts_of_a_map_share_counts_once, 0, 8);
  tcase_add_loop_test(t, a_file_that_changes_while_it_is_used_is_an_error, 0, 3);
  tcase_add_loop_test(t, weights_that_are_no_numbers_are_refused_in_the_first_run, 0, 3);
  tcase_add_test(t, transposed_layers_want_packing);
  tcase_add_test(t, files_are_reported_apart);
  tcase_add_test(t, every_failed_allocation_is_reported);
  suite_add_tcase(s, t);
  return s;
}
