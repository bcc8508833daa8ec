/* Covers api/packing/{calibrate, measure, narrowing, numbering, observe, pack, paths}.c: packing by
 * the public header: contents of packed files, reported facts, and files left after a failure. */
#include "include/mafat_file.h"
#include "include/mafat_pack.h"
#include "tests/support/api.h"
#include "tests/support/failing_malloc.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *api_packs_suite(void);

/* Three convolutions, the second of which can compute with integers. */
static const char three_convolutions[] =
    "[net]\nwidth=32\nheight=24\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"
    "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
    "[convolutional]\nfilters=14\nsize=1\nactivation=linear\n";
enum {
  THREE_FLOATS = 8 + 8 * 27 + 16 + 16 * 72 + 14 + 14 * 16,
  DETECTOR_FLOATS = 8 + 8 * 27 + 14 + 14 * 8
};

static struct mafat_pack_options options;
static const double nothing_lost = 0;
static struct mafat_diagnostic diagnostic;
static char out[128], part[sizeof out + 5], cfg[96];
static const char *const pictures[] = {api_picture};

static void begin(const char *cfg_text)
{
  options = (struct mafat_pack_options){.size = sizeof options};
  snprintf(out, sizeof out, "%s/out.packed", api_folder);
  snprintf(part, sizeof part, "%s.part", out);
  snprintf(cfg, sizeof cfg, "%s", api_cfg(cfg_text));
  api_cut_weights(cfg_text == three_convolutions ? THREE_FLOATS : DETECTOR_FLOATS);
}

static bool exists(const char *path)
{
  return access(path, F_OK) == 0;
}

static struct mafat_pack *open_pack(void)
{
  struct mafat_pack *pack;
  int code = mafat_pack_open(&pack, cfg, api_weights, out, &options, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  return pack;
}

static int step(struct mafat_pack *pack, bool *done)
{
  int code = mafat_pack_step(pack, done, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  return code;
}

/* Does all steps but the last: all facts are known, but the file does not have its name yet. */
static struct mafat_pack_facts work(struct mafat_pack *pack)
{
  struct mafat_pack_facts facts = {.size = sizeof facts};
  for (bool done = false; !done && facts.n_layers == 0; mafat_pack_describe(pack, &facts))
    step(pack, &done);
  return facts;
}

static void pack_all(void)
{
  struct mafat_pack *pack = open_pack();
  for (bool done = false; !done;) step(pack, &done);
  mafat_pack_close(&pack);
}

static void run(const char *model, const char *weights, float *output)
{
  struct mafat_model *m;
  int code = mafat_model_open(&m, model, weights, NULL, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(mafat_model_run_floats(m, api_input, API_INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, output, NULL), MAFAT_OK);
  mafat_model_close(&m);
}

START_TEST(test_a_packed_file_runs_as_its_model)
{
  static float of_model[API_OUT_H * API_OUT_W * API_OUT_C],
      of_file[API_OUT_H * API_OUT_W * API_OUT_C];
  begin(api_detector);
  pack_all();
  ck_assert(mafat_is_packed(out) && !exists(part));
  run(cfg, api_weights, of_model);
  run(out, NULL, of_file);
  ck_assert_mem_eq(of_model, of_file, sizeof of_file);
}
END_TEST

/* A Darknet file given with a packed file replaces its weights if these are floats; with narrower
 * ones it is refused. */
START_TEST(test_floats_beside_a_packed_file_need_its_floats)
{
  static const char *const types[] = {"float32", "fp16", "int8", "int4", NULL};
  static float own[14 * 24 * 32], beside[14 * 24 * 32];
  struct mafat_model *m;
  begin(three_convolutions);
  options.weights = types[_i];
  if (!types[_i])
    options.activations = "int8", options.calibrate = pictures, options.n_calibrate = 1;
  pack_all();
  int code = mafat_model_open(&m, out, api_weights, NULL, &diagnostic);
  if (_i == 0) {
    ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
    mafat_model_close(&m);
    run(out, NULL, own);
    run(out, api_weights, beside);
    ck_assert_mem_eq(own, beside, sizeof own);
    return;
  }
  ck_assert_int_eq(code, MAFAT_EFORMAT);
  ck_assert_msg(strstr(diagnostic.text, "contains floats, but layer "), "%s", diagnostic.text);
}
END_TEST

/* Integer weights fit only the quantization in their own file. Weights from a file that was made
 * with other pictures have another quantization, and are refused. */
START_TEST(test_integers_are_not_those_of_another_file)
{
  static const char *dark[] = {NULL};
  static float of_file[14 * 24 * 32], of_copy[14 * 24 * 32];
  char other[sizeof out], picture[sizeof out];
  struct mafat_model *m;
  struct mafat_dry_run *q;
  begin(three_convolutions);
  options.activations = "int8";
  options.calibrate = pictures;
  options.n_calibrate = 1;
  pack_all();
  run(out, NULL, of_file);
  snprintf(other, sizeof other, "%s/other.packed", api_folder);
  ck_assert_int_eq(rename(out, other), 0);
  pack_all(); /* packed again: an equal file */
  run(out, other, of_copy);
  ck_assert_mem_eq(of_file, of_copy, sizeof of_file);
  snprintf(picture, sizeof picture, "%s/dark.ppm", api_folder);
  FILE *file = fopen(picture, "wb");
  ck_assert_ptr_nonnull(file);
  fputs("P6\n1 1\n255\n\1\2\3", file);
  ck_assert_int_eq(fclose(file), 0);
  options.calibrate = dark;
  dark[0] = picture;
  options.replace = true;
  pack_all();
  ck_assert_int_eq(mafat_model_open(&m, out, other, NULL, &diagnostic), MAFAT_EFORMAT);
  ck_assert_msg(strstr(diagnostic.text, "packed for another network than "), "%s", diagnostic.text);
  ck_assert_int_eq(mafat_dry_run_open(&q, out, other, NULL, &diagnostic), MAFAT_EFORMAT);
  unlink(other);
  unlink(picture);
}
END_TEST

START_TEST(test_shares_rise_and_the_last_step_names_the_file)
{
  struct mafat_pack_facts f = {.size = sizeof f};
  double share = 0;
  begin(api_detector);
  struct mafat_pack *pack = open_pack();
  ck_assert(!exists(part));
  for (bool done = false; !done;) {
    ck_assert(!exists(out));
    step(pack, &done);
    mafat_pack_describe(pack, &f);
    ck_assert_str_eq(f.path, part);
    ck_assert(f.share >= share && f.share <= 1 && f.pass == 0 && f.n_layers == 0 &&
              f.n_candidates == 0);
    share = f.share;
    ck_assert(exists(done ? out : part) && !exists(done ? part : out));
  }
  ck_assert_double_eq(share, 1);
  bool done = false;
  ck_assert(step(pack, &done) == MAFAT_OK && done);
  mafat_pack_close(&pack);
  mafat_pack_close(&pack);
  mafat_pack_close(NULL);
  ck_assert(exists(out));
}
END_TEST

START_TEST(test_closed_at_any_step_it_leaves_nothing)
{
  begin(three_convolutions);
  options.activations = "int8";
  options.calibrate = pictures;
  options.n_calibrate = 1;
  for (int steps = 0, all = 1000; steps < all; steps++) {
    struct mafat_pack *pack = open_pack();
    bool done = false;
    for (int i = 0; i < steps && !done; i++) step(pack, &done);
    mafat_pack_close(&pack);
    if (done) all = steps;
    ck_assert(!exists(part) && exists(out) == done);
  }
}
END_TEST

START_TEST(test_what_is_measured_is_reported_before_the_file_is_there)
{
  struct mafat_pack_layer_facts l = {.size = sizeof l};
  begin(api_detector);
  options.weights = "int8";
  options.measure = api_picture;
  struct mafat_pack *pack = open_pack();
  struct mafat_pack_facts f = work(pack);
  ck_assert(!exists(out) && f.n_layers == 2 && f.n_candidates == 0 && f.error > 0 && f.error < .1 &&
            f.pass == 0);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(mafat_pack_layer(pack, i, &l), MAFAT_OK);
    ck_assert(l.layer == 2 * i && strcmp(l.type, "convolutional") == 0 &&
              strcmp(l.computes, "float32") == 0);
    ck_assert(strcmp(l.weights, "int8") == 0 && l.bytes > 0 && l.error > 0 && !l.kept);
  }
  ck_assert_int_eq(mafat_pack_layer(pack, 2, &l), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_pack_layer(pack, -1, &l), MAFAT_EINVAL);
  mafat_pack_close(&pack);
  options.keep_above = &nothing_lost; /* no loss is allowed: all layers become wider */
  pack = open_pack();
  f = work(pack);
  ck_assert_int_eq(f.pass, 2);
  for (int i = 0; i < 2; i++) {
    mafat_pack_layer(pack, i, &l);
    ck_assert(strcmp(l.weights, "float32") == 0 && l.error == 0 && l.kept);
  }
  mafat_pack_close(&pack);
}
END_TEST

START_TEST(test_the_best_integer_candidate_is_taken)
{
  struct mafat_pack_candidate_facts candidate = {.size = sizeof candidate};
  struct mafat_pack_layer_facts l = {.size = sizeof l};
  double taken = INFINITY, least = INFINITY;
  begin(three_convolutions);
  options.activations = "int8";
  options.calibrate = pictures;
  options.n_calibrate = 1;
  struct mafat_pack *pack = open_pack();
  struct mafat_pack_facts f = work(pack);
  ck_assert_int_eq(f.n_candidates, 2); /* no channels can be equalized */
  for (int i = 0; i < f.n_candidates; i++) {
    ck_assert_int_eq(mafat_pack_candidate(pack, i, &candidate), MAFAT_OK);
    ck_assert(candidate.error > 0 && !candidate.equalized);
    if (candidate.taken) taken = candidate.error;
    least = fmin(least, candidate.error);
  }
  ck_assert(taken == least && f.error == taken);
  ck_assert_int_eq(mafat_pack_candidate(pack, f.n_candidates, &candidate), MAFAT_EINVAL);
  ck_assert_int_eq(f.n_layers, 3);
  for (int i = 0; i < 3; i++) {
    mafat_pack_layer(pack, i, &l);
    ck_assert_str_eq(l.computes, i == 1 ? "int8" : "float32");
  }
  mafat_pack_close(&pack);
}
END_TEST

START_TEST(test_a_file_that_is_there_stays)
{
  struct mafat_pack *pack;
  begin(api_detector);
  pack_all();
  ck_assert_int_eq(mafat_pack_open(&pack, cfg, api_weights, out, &options, &diagnostic),
                   MAFAT_EINVAL);
  ck_assert(!pack && strstr(diagnostic.text, "exists; replace replaces it"));
  options.replace_name = "--force";
  ck_assert_int_eq(mafat_pack_open(&pack, cfg, api_weights, out, &options, &diagnostic),
                   MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "--force replaces it"));
  options.replace = true;
  ck_assert_int_eq(mafat_pack_open(&pack, cfg, api_weights, api_weights, &options, &diagnostic),
                   MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "found the weights"));
  pack_all();
  ck_assert(exists(out));
}
END_TEST

/* A file that another program creates during packing is not overwritten. */
START_TEST(test_a_file_that_comes_meanwhile_stays)
{
  begin(api_detector);
  struct mafat_pack *pack = open_pack();
  bool done = false;
  int code = MAFAT_OK;
  ck_assert_ptr_nonnull(fclose(fopen(out, "w")) == 0 ? out : NULL);
  while (!done && code == MAFAT_OK) code = mafat_pack_step(pack, &done, &diagnostic);
  ck_assert(code == MAFAT_EIO && !done && strstr(diagnostic.text, "exists"));
  mafat_pack_close(&pack);
  struct stat st;
  ck_assert(stat(out, &st) == 0 && st.st_size == 0 && !exists(part));
}
END_TEST

/* Packing fails if another process has locked the part file, or if it is a link to another file;
 * neither file is changed. */
START_TEST(test_a_file_that_another_writes_is_not_touched)
{
  struct stat st;
  bool done;
  begin(api_detector);
  for (int is_link = 0; is_link < 2; is_link++) {
    FILE *theirs = fopen(is_link ? cfg : part, is_link ? "r" : "w");
    ck_assert(theirs && (is_link ? symlink(cfg, part) == 0
                                 : fputs("theirs", theirs) > 0 && fflush(theirs) == 0 &&
                                       flock(fileno(theirs), LOCK_EX) == 0));
    struct mafat_pack *pack;
    int code = mafat_pack_open(&pack, cfg, api_weights, out, &options, &diagnostic);
    if (code == MAFAT_OK) code = mafat_pack_step(pack, &done, &diagnostic);
    ck_assert_msg(code == (is_link ? MAFAT_EINVAL : MAFAT_EIO), "%s", diagnostic.text);
    ck_assert_ptr_nonnull(
        strstr(diagnostic.text, is_link ? "found the cfg" : "another process writes it"));
    mafat_pack_close(&pack);
    ck_assert(stat(part, &st) == 0 && st.st_size > 0 && !exists(out));
    fclose(theirs);
    unlink(part);
  }
  ck_assert(symlink(api_picture, part) == 0 && stat(part, &st) == 0 && st.st_size > 0);
  off_t size = st.st_size;
  struct mafat_pack *pack = open_pack();
  ck_assert_int_eq(mafat_pack_step(pack, &done, &diagnostic), MAFAT_EIO);
  mafat_pack_close(&pack);
  ck_assert(stat(part, &st) == 0 && st.st_size == size);
  unlink(part);
}
END_TEST

START_TEST(test_paths_that_are_missing)
{
  struct mafat_pack *pack;
  begin(api_detector);
  ck_assert_int_eq(mafat_pack_open(&pack, NULL, api_weights, out, &options, &diagnostic),
                   MAFAT_EINVAL);
  ck_assert_int_eq(mafat_pack_open(&pack, cfg, api_weights, NULL, &options, &diagnostic),
                   MAFAT_EINVAL);
  ck_assert(!pack && strstr(diagnostic.text, "expected the paths"));
  ck_assert_int_eq(mafat_pack_open(&pack, cfg, NULL, out, &options, &diagnostic), MAFAT_EINVAL);
  ck_assert(!mafat_is_packed(NULL) && !mafat_holds_weights(NULL));
}
END_TEST

static const char *const nothing[] = {NULL};
static const double below = -1, no_number = NAN, half = .5;

static const struct refused {
  struct mafat_pack_options options;
  const char *says;
} refused[] = {
    {{.activations = "int8", .n_calibrate = 1}, "a list of 1 pictures, found NULL"},
    {{.activations = "int8", .calibrate = nothing, .n_calibrate = 1}, "picture 0, found nothing"},
    {{.n_constants = 2}, "2 of them in no list"},
    {{.constants = nothing, .n_constants = 1}, "constant 0, found nothing"},
    {{.weights = "int7"}, "found 'int7'"},
    {{.activations = "fp16"}, "found 'fp16'"},
    {{.activations = "int8"}, "pictures to calibrate by"},
    {{.activations = "int8", .weights = "fp16", .calibrate = pictures, .n_calibrate = 1},
     "expected weights of int8"},
    {{.calibrate = pictures, .n_calibrate = 1}, "expected activations of int8"},
    {{.measure = api_picture, .keep_above = &below}, "0 or more"},
    {{.measure = api_picture, .keep_above = &no_number}, "0 or more"},
    {{.keep_above = &half}, "a picture to measure by"},
    {{.constants = pictures, .n_constants = 1}, "constants are only for ONNX and TFLite models"},
    {{.fork = "darkent"}, "darkent"},
};

START_TEST(test_options_that_make_no_sense_are_refused)
{
  struct mafat_pack *pack;
  begin(api_detector);
  struct mafat_pack_options asked = refused[_i].options;
  asked.size = sizeof asked;
  int code = mafat_pack_open(&pack, cfg, api_weights, out, &asked, &diagnostic);
  ck_assert_msg(code == MAFAT_EINVAL && !pack && strstr(diagnostic.text, refused[_i].says), "%s",
                diagnostic.text);
  ck_assert(!exists(out) && !exists(part));
}
END_TEST

/* Packs until the end or an error; returns the code. */
static int pack_or_fail(void)
{
  struct mafat_pack *pack;
  int code = mafat_pack_open(&pack, cfg, api_weights, out, &options, &diagnostic);
  for (bool done = false; code == MAFAT_OK && !done;)
    code = mafat_pack_step(pack, &done, &diagnostic);
  mafat_pack_close(&pack);
  return code;
}

START_TEST(test_refused_memory_leaves_nothing)
{
  long unfreed;
  begin(three_convolutions);
  options.replace = true;
  if (_i) {
    options.activations = "int8";
    options.calibrate = pictures;
    options.n_calibrate = 1;
  } else {
    options.weights = "int8";
    options.measure = api_picture;
  }
  ck_assert_int_eq(pack_or_fail(), MAFAT_OK); /* the first call allocates what is never freed */
  unlink(out);
  failing_malloc_arm(-1);
  int code = pack_or_fail();
  long n = failing_malloc_disarm(&unfreed);
  ck_assert(code == MAFAT_OK && unfreed == 0 && n > 50);
  unlink(out);
  long stride = n / 200 + 1; /* every allocation of a small packing, a sample of a long one */
  for (long i = 0; i < n; i += stride) {
    failing_malloc_arm(i);
    code = pack_or_fail();
    failing_malloc_disarm(&unfreed);
    ck_assert_msg(code == MAFAT_ENOMEM, "allocation %ld of %ld: %s: %s", i, n,
                  mafat_error_name(code), diagnostic.text);
    ck_assert_msg(unfreed == 0 && !exists(part) && !exists(out),
                  "allocation %ld of %ld: %ld blocks leak", i, n, unfreed);
  }
}
END_TEST

Suite *api_packs_suite(void)
{
  Suite *suite = suite_create("api_packs");
  TCase *packs = api_case(suite, "packs", 20);
  tcase_add_test(packs, test_a_packed_file_runs_as_its_model);
  tcase_add_test(packs, test_shares_rise_and_the_last_step_names_the_file);
  tcase_add_test(packs, test_closed_at_any_step_it_leaves_nothing);
  tcase_add_test(packs, test_what_is_measured_is_reported_before_the_file_is_there);
  tcase_add_test(packs, test_the_best_integer_candidate_is_taken);
  tcase_add_test(packs, test_a_file_that_is_there_stays);
  tcase_add_test(packs, test_a_file_that_comes_meanwhile_stays);
  tcase_add_test(packs, test_a_file_that_another_writes_is_not_touched);
  tcase_add_test(packs, test_paths_that_are_missing);
  tcase_add_test(packs, test_integers_are_not_those_of_another_file);
  tcase_add_loop_test(packs, test_floats_beside_a_packed_file_need_its_floats, 0, 5);
  tcase_add_loop_test(packs, test_options_that_make_no_sense_are_refused, 0,
                      sizeof refused / sizeof *refused);
  TCase *memory = api_case(suite, "memory", 60);
  tcase_add_loop_test(memory, test_refused_memory_leaves_nothing, 0, 2);
  return suite;
}
