/* Covers runner/image/raw_input.c: a file of raw floats gives the same bits as the floats in
 * memory, under any plan, and leaves the page cache as it was. Writes temporary files in /var/tmp
 * and /dev/shm. */
#include "runner/image/raw_input.h"

#include "formats/tflite/model.h"
#include "formats/tflite/operators.h"
#include "include/mafat.h"
#include "runner/os/process.h"
#include "api/model.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"
#include "tests/support/tflite_writer.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *raw_input_suite(void);

enum { FILTERS = 5 };

/* Shapes whose bands have many rows or only one, shapes with more channels than simultaneous reads,
 * and shapes whose rows are longer than the read buffers. */
static const struct mafat_shape shapes[] = {{24, 32, 3},   {130, 257, 3}, {300, 401, 1},
                                            {40, 401, 20}, {9, 33, 40},   {3, 2000, 70},
                                            {2, 1, 200},   {3, 70000, 1}, {37, 1365, 4},
                                            {1, 5, 2}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

struct input {
  struct mafat_shape shape;
  char path[64];
  size_t n;
  float *floats;
};

static struct input make_input(struct mafat_shape s, const char *folder)
{
  struct input in = {.shape = s, .n = (size_t)s.h * (size_t)s.w * (size_t)s.c};
  in.floats = malloc(in.n * sizeof *in.floats);
  for (size_t i = 0; i < in.n; i++) in.floats[i] = (float)(i * 37 % 10007) / 10007 - .5f;
  snprintf(in.path, sizeof in.path, "%s/mafat-raw-XXXXXX", folder);
  int fd = mkstemp(in.path);
  ck_assert(fd >= 0 &&
            write(fd, in.floats, in.n * sizeof *in.floats) == (ssize_t)(in.n * sizeof *in.floats));
  ck_assert(fsync(fd) == 0 && close(fd) == 0);
  return in;
}

static void remove_input(struct input *in)
{
  unlink(in->path);
  free(in->floats);
}

static void evict(const struct input *in)
{
  int fd = open(in->path, O_RDONLY);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

static size_t cached_bytes(const struct input *in)
{
  size_t bytes = in->n * sizeof *in->floats;
  int fd = open(in->path, O_RDONLY);
  void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  ck_assert(fd >= 0 && map != MAP_FAILED);
  size_t cached = mafat_process_resident_bytes_of(map, bytes);
  munmap(map, bytes);
  close(fd);
  return cached;
}

static struct mafat_model *open_model(struct mafat_shape s, const char *plan)
{
  char cfg[200];
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d = {""};
  struct mafat_model *m;
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=%d\nwidth=%d\nchannels=%d\n[convolutional]\nfilters=%d\nsize=3\npad="
           "1\nactivation=linear\n",
           s.h, s.w, s.c, FILTERS);
  struct test_model_files files = test_model_files(cfg, 7);
  options.plan = plan;
  options.floats_only = true;
  options.memory_bytes = (size_t)1 << 30;
  int code = mafat_model_open(&m, files.cfg, files.weights, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  test_model_files_close(&files);
  return m;
}

/* ---- the floats ---- */

static void compare(struct mafat_model *m, const struct input *in, const char *what)
{
  size_t n = (size_t)in->shape.h * (size_t)in->shape.w * FILTERS;
  float *expected = malloc(n * sizeof *expected), *found = malloc(n * sizeof *found);
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_model_run_floats(m, in->floats, in->n, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, expected, NULL),
                   MAFAT_OK);
  ck_assert_msg(mafat_model_run_raw(m, in->path, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, found, NULL), MAFAT_OK);
  ck_assert_msg(memcmp(expected, found, n * sizeof *found) == 0, "%d x %d x %d, %s: outputs differ",
                in->shape.c, in->shape.h, in->shape.w, what);
  free(expected);
  free(found);
}

START_TEST(any_shape_by_any_plan)
{
  static const char *const plans[] = {"1x1/NoCut", "rows1", "rows3", "2x2/NoCut", "split(h2:0)"};
  struct input in = make_input(shapes[_i], "/var/tmp");
  for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
    if (strcmp(plans[p], "2x2/NoCut") == 0 && (in.shape.h < 2 || in.shape.w < 2)) continue;
    if (strncmp(plans[p], "split", 5) == 0 && in.shape.h < 12)
      continue; /* Winograd computes six rows at a time */
    struct mafat_model *m = open_model(in.shape, plans[p]);
    compare(m, &in, plans[p]);
    evict(&in);
    compare(m, &in, plans[p]);
    mafat_model_close(&m);
  }
  remove_input(&in);
}
END_TEST

/* Replaces the file's contents by numbers of this type, and the floats by their values. */
static void write_numbers(struct input *in, enum mafat_dtype type)
{
  FILE *file = fopen(in->path, "wb");
  ck_assert_ptr_nonnull(file);
  for (size_t i = 0; i < in->n; i++) {
    int32_t narrow = (int32_t)(i * 37 % 10007) - 5000;
    int64_t wide = (int64_t)narrow * (1 << 20);
    in->floats[i] = type == MAFAT_I64 ? (float)wide : (float)narrow;
    fwrite(type == MAFAT_I64 ? (const void *)&wide : &narrow,
           type == MAFAT_I64 ? sizeof wide : sizeof narrow, 1, file);
  }
  ck_assert_int_eq(fclose(file), 0);
}

/* Files of int32 or int64 give the same bits as their values as floats. */
START_TEST(any_shape_of_integers)
{
  static const char *const plans[] = {"1x1/NoCut", "rows3"};
  static const enum mafat_dtype types[] = {MAFAT_I32, MAFAT_I64};
  struct input in = make_input(shapes[_i / 2], "/var/tmp");
  write_numbers(&in, types[_i % 2]);
  for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
    struct mafat_model *m = open_model(in.shape, plans[p]);
    m->inputs[0].order.type = types[_i % 2];
    compare(m, &in, plans[p]);
    compare(m, &in, plans[p]); /* the second run reuses memory of the first */
    mafat_model_close(&m);
  }
  remove_input(&in);
}
END_TEST

/* Writes a .tflite file whose input and output have that type, to `path`. */
static void write_model_of_bytes(const char *path, struct mafat_shape shape, int type)
{
  const float scales[] = {1 / 4.f, 1 / 256.f};
  const int64_t zeros[] = {type == MAFAT_TFLITE_INT8 ? -20 : 108,
                           type == MAFAT_TFLITE_INT8 ? -128 : 0};
  struct test_tflite_tensor tensors[2] = {{.name = "x"}, {.name = "y"}};
  for (int t = 0; t < 2; t++) {
    tensors[t].type = type;
    tensors[t].rank = 4;
    const int64_t dims[] = {1, shape.h, shape.w, shape.c};
    for (int i = 0; i < 4; i++) tensors[t].shape[i] = (int)dims[i];
    tensors[t].n_scales = tensors[t].n_zero_points = 1;
    tensors[t].scales = &scales[t];
    tensors[t].zero_points = &zeros[t];
  }
  const struct test_tflite_operator logistic = {
      .code = MAFAT_TFLITE_LOGISTIC, .n_inputs = 1, .inputs = {0}, .n_outputs = 1, .outputs = {1}};
  const struct test_tflite_model model = {.tensors = tensors,
                                          .n_tensors = 2,
                                          .operators = &logistic,
                                          .n_operators = 1,
                                          .n_inputs = 1,
                                          .inputs = {0},
                                          .n_outputs = 1,
                                          .outputs = {1}};
  size_t n;
  char *data = test_tflite_write(&model, &n);
  FILE *file = fopen(path, "wb");
  ck_assert(file && fwrite(data, 1, n, file) == n && fclose(file) == 0);
  free(data);
}

/* Replaces the file's contents by quantized bytes, and the floats by their values. */
static void write_bytes(struct input *in, int type)
{
  FILE *file = fopen(in->path, "wb");
  ck_assert_ptr_nonnull(file);
  for (size_t i = 0; i < in->n; i++) {
    const int number = (int)(i * 37 % 10007 % 256) - (type == MAFAT_TFLITE_INT8 ? 128 : 0);
    in->floats[i] = (float)(number - (type == MAFAT_TFLITE_INT8 ? -20 : 108)) / 4;
    fputc(number & 0xff, file);
  }
  ck_assert_int_eq(fclose(file), 0);
}

START_TEST(any_shape_of_bytes)
{
  const int type = _i % 2 ? MAFAT_TFLITE_INT8 : MAFAT_TFLITE_UINT8;
  struct input in = make_input(shapes[_i / 2], "/var/tmp");
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d = {""};
  struct mafat_model *m;
  char path[] = "/var/tmp/mafat-bytes-XXXXXX.tflite";
  close(mkstemps(path, (int)strlen(".tflite")));
  write_model_of_bytes(path, in.shape, type);
  write_bytes(&in, type);
  options.decode = "none";
  options.floats_only = true;
  options.memory_bytes = (size_t)1 << 30;
  ck_assert_msg(mafat_model_open(&m, path, NULL, &options, &d) == MAFAT_OK, "%s", d.text);
  float *expected = malloc(in.n * sizeof *expected), *found = malloc(in.n * sizeof *found);
  ck_assert_msg(mafat_model_run_floats(m, in.floats, in.n, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, expected, NULL),
                   MAFAT_OK);
  ck_assert_msg(mafat_model_run_raw(m, in.path, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, found, NULL), MAFAT_OK);
  ck_assert_msg(memcmp(expected, found, in.n * sizeof *found) == 0, "%d x %d x %d: outputs differ",
                in.shape.h, in.shape.w, in.shape.c);
  free(expected);
  free(found);
  mafat_model_close(&m);
  unlink(path);
  remove_input(&in);
}
END_TEST

START_TEST(files_in_memory)
{
  if (access("/dev/shm", W_OK) != 0) return;
  struct input in = make_input((struct mafat_shape){130, 257, 3}, "/dev/shm");
  struct mafat_model *m = open_model(in.shape, "rows2");
  compare(m, &in, "rows2");
  mafat_model_close(&m);
  remove_input(&in);
}
END_TEST

/* ---- the page cache ---- */

START_TEST(what_was_not_in_the_page_cache_is_not_brought_there)
{
  struct input in = make_input((struct mafat_shape){500, 400, 3}, "/var/tmp");
  struct mafat_model *m = open_model(in.shape, _i ? "rows4" : "1x1/NoCut");
  evict(&in);
  if (cached_bytes(&in) > 0) {
    printf("skip the test of the page cache: files in /var/tmp cannot be dropped from it\n");
  } else {
    ck_assert_int_eq(mafat_model_run_raw(m, in.path, NULL), MAFAT_OK);
    ck_assert_uint_eq(cached_bytes(&in), 0);
  }
  mafat_model_close(&m);
  remove_input(&in);
}
END_TEST

/* Runs on a cached file and checks that it stays cached. Returns false without a check if a second
 * file, which is not read, has left the cache: another program has dropped caches. */
static bool try_cached(struct mafat_model *m, struct mafat_shape shape)
{
  struct input in = make_input(shape, "/var/tmp"), other = make_input(shape, "/var/tmp");
  size_t before = cached_bytes(&in), before_other = cached_bytes(&other);
  ck_assert_int_eq(mafat_model_run_raw(m, in.path, NULL), MAFAT_OK);
  size_t after = cached_bytes(&in);
  bool alone = cached_bytes(&other) == before_other;
  if (alone) ck_assert_uint_eq(after, before);
  remove_input(&in);
  remove_input(&other);
  return alone;
}

START_TEST(what_was_there_stays)
{
  const struct mafat_shape shape = {500, 400, 3};
  struct mafat_model *m = open_model(shape, _i ? "rows4" : "1x1/NoCut");
  bool done = false;
  for (int i = 0; i < 5 && !done; i++) done = try_cached(m, shape);
  if (!done) printf("skip the test of the page cache: another program drops caches all the time\n");
  mafat_model_close(&m);
}
END_TEST

/* ---- what goes wrong ---- */

/* Opens the file and closes it again; returns the code of opening. */
static int try_to_open(const struct input *in)
{
  struct mafat_raw_input r = mafat_raw_input_none();
  struct mafat_diagnostic d;
  struct mafat_file_order order;
  mafat_file_order_planes(&order, in->shape);
  int code = mafat_raw_input_open(&r, in->path, 0, &order, &d);
  if (code == MAFAT_OK) mafat_raw_input_close(&r);
  return code;
}

START_TEST(failed_allocations_are_reported)
{
  struct input in = make_input((struct mafat_shape){24, 32, 3}, "/var/tmp");
  long asked, unfreed, fail_at = 0;
  int code;
  do {
    failing_malloc_arm(fail_at);
    code = try_to_open(&in);
    asked = failing_malloc_disarm(&unfreed);
    ck_assert_int_eq(unfreed, 0);
    ck_assert_int_eq(code, fail_at < asked ? MAFAT_ENOMEM : MAFAT_OK);
  } while (fail_at++ < asked);
  ck_assert_int_gt(asked, 1);
  evict(&in); /* cached files are mapped once more, which may fail */
  fail_at = 0;
  do {
    failing_mmap_arm(fail_at);
    code = try_to_open(&in);
    asked = failing_mmap_disarm();
  } while (fail_at++ < asked);
  ck_assert_int_eq(code, MAFAT_OK);
  ck_assert_int_gt(asked, 1);
  remove_input(&in);
}
END_TEST

START_TEST(a_file_that_is_shorter)
{
  struct input in = make_input((struct mafat_shape){130, 257, 3}, "/var/tmp");
  struct mafat_diagnostic d = {""};
  struct mafat_model *m = open_model(in.shape, "1x1/NoCut");
  ck_assert_int_eq(truncate(in.path, (off_t)(in.n * sizeof *in.floats) - 4), 0);
  ck_assert_int_eq(mafat_model_run_raw(m, in.path, &d), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(d.text, "3 x 130 x 257 floats"));
  mafat_model_close(&m);
  remove_input(&in);
}
END_TEST

/* State of a callback that changes the file once, after the first step. */
struct cut {
  const struct input *in;
  bool done;
};

static void cut_file(void *context, const struct mafat_step_facts *step)
{
  struct cut *cut = context;
  (void)step;
  if (cut->done) return;
  cut->done = true;
  ck_assert_int_eq(truncate(cut->in->path, 4096), 0);
}

START_TEST(a_file_that_is_cut_while_it_is_read)
{
  struct input in = make_input((struct mafat_shape){500, 400, 3}, "/var/tmp");
  struct mafat_diagnostic d = {""};
  struct mafat_run_facts f = {.size = sizeof f};
  struct cut cut = {&in, false};
  struct mafat_model *m = open_model(in.shape, "rows2");
  if (_i) evict(&in);
  mafat_model_set_watch(m, cut_file, &cut);
  ck_assert_int_eq(mafat_model_run_raw(m, in.path, &d), MAFAT_EFORMAT);
  ck_assert(cut.done && strstr(d.text, "ended while being read"));
  mafat_model_last_run(m, &f);
  ck_assert(f.input_failed);
  ck_assert_int_eq(mafat_model_run_raw(m, in.path, &d), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(d.text, "found 4096"));
  ck_assert_int_eq(mafat_model_run_floats(m, in.floats, in.n, &d), MAFAT_OK);
  mafat_model_close(&m);
  remove_input(&in);
}
END_TEST

/* Replaces floats from the middle on, which are read after the first step, and keeps the length. */
static void rewrite_file(void *context, const struct mafat_step_facts *step)
{
  struct cut *cut = context;
  const float other[4] = {1, 2, 3, 4};
  (void)step;
  if (cut->done) return;
  cut->done = true;
  int fd = open(cut->in->path, O_WRONLY);
  ck_assert(fd >= 0 &&
            pwrite(fd, other, sizeof other, (off_t)(cut->in->n / 2 * sizeof(float))) ==
                (ssize_t)sizeof other &&
            close(fd) == 0);
}

START_TEST(a_file_that_is_written_to_while_it_is_read)
{
  struct input in = make_input((struct mafat_shape){500, 400, 3}, "/var/tmp");
  struct mafat_diagnostic d = {""};
  struct mafat_run_facts f = {.size = sizeof f};
  struct cut cut = {&in, false};
  struct mafat_model *m = open_model(in.shape, "rows2");
  mafat_model_set_watch(m, rewrite_file, &cut);
  ck_assert_int_eq(mafat_model_run_raw(m, in.path, &d), MAFAT_EIO);
  ck_assert(cut.done && strstr(d.text, "was written to"));
  mafat_model_last_run(m, &f);
  ck_assert(f.input_failed);
  ck_assert_int_eq(mafat_model_run_raw(m, in.path, &d), MAFAT_OK);
  mafat_model_close(&m);
  remove_input(&in);
}
END_TEST

/* Removes the file after the first step, as replacing it by another one would. */
static void replace_file(void *context, const struct mafat_step_facts *step)
{
  struct cut *cut = context;
  (void)step;
  if (!cut->done) ck_assert_int_eq(unlink(cut->in->path), 0);
  cut->done = true;
}

START_TEST(a_file_that_is_replaced_while_it_is_read)
{
  struct input in = make_input((struct mafat_shape){500, 400, 3}, "/var/tmp");
  struct mafat_diagnostic d = {""};
  struct cut cut = {&in, false};
  struct mafat_model *m = open_model(in.shape, "rows2");
  mafat_model_set_watch(m, replace_file, &cut);
  ck_assert_msg(mafat_model_run_raw(m, in.path, &d) == MAFAT_OK && cut.done, "%s", d.text);
  mafat_model_close(&m);
  free(in.floats);
}
END_TEST

Suite *raw_input_suite(void)
{
  Suite *s = suite_create("raw_input");
  TCase *floats = tcase_create("floats"), *cache = tcase_create("cache"),
        *failures = tcase_create("failures");
  tcase_add_loop_test(floats, any_shape_by_any_plan, 0, N_SHAPES);
  tcase_add_loop_test(floats, any_shape_of_integers, 0, 2 * N_SHAPES);
  tcase_add_loop_test(floats, any_shape_of_bytes, 0, 2 * N_SHAPES);
  tcase_add_test(floats, files_in_memory);
  suite_add_tcase(s, floats);
  tcase_add_loop_test(cache, what_was_not_in_the_page_cache_is_not_brought_there, 0, 2);
  tcase_add_loop_test(cache, what_was_there_stays, 0, 2);
  suite_add_tcase(s, cache);
  tcase_add_test(failures, failed_allocations_are_reported);
  tcase_add_test(failures, a_file_that_is_shorter);
  tcase_add_loop_test(failures, a_file_that_is_cut_while_it_is_read, 0, 2);
  tcase_add_test(failures, a_file_that_is_written_to_while_it_is_read);
  tcase_add_test(failures, a_file_that_is_replaced_while_it_is_read);
  suite_add_tcase(s, failures);
  return s;
}
