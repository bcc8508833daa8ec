/* Covers api/{model_files, model_paths}.c, base/{model_source, model_file}.c, formats/readers.c:
 * models of every format give the same bits from paths, descriptors and memory. Also tests the
 * memory charged for files in memory, and files that are cut short. */
#include "include/mafat_file.h"
#include "include/mafat_pack.h"
#include "runner/os/headroom.h"
#include "runner/os/process.h"

#include "tests/support/api.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/onnx_operators.h"
#include "tests/support/support.h"
#include "tests/support/tflite_writer.h"
#include "tests/support/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *files_suite(void);

enum { DETECTOR_FLOATS = 8 + 8 * 27 + 14 + 14 * 8 };
enum { CFG, CFG_AND_PACKED, PACKED, ONNX, TFLITE, N_MODELS, MOST = 1 << 14 };
enum { SIDE = 1024, LARGE_BYTES = SIDE * SIDE * 4 };
enum way { PATH, DESCRIPTOR, MEMORY, N_WAYS };

static struct mafat_diagnostic diagnostic;
static char path[128], weights_path[128];
static bool has_weights;

/* ---- the files ---- */

static const char large_cfg[] = "[net]\ninputs=1024\n[connected]\noutput=1024\nactivation=linear\n";
static bool is_large; /* the model is one matrix of LARGE_BYTES */

static float *make_matrix(size_t header)
{
  float *all = calloc(header + SIDE * SIDE, sizeof *all);
  ck_assert_ptr_nonnull(all);
  for (size_t i = header; i < header + SIDE * SIDE; i++) all[i] = (float)(i % 103) / 103;
  return all;
}

static void write_large_weights(void)
{
  static const int version[5] = {0, 2, 0, 0, 0};
  float *all = make_matrix(5 + SIDE);
  memcpy(all, version, sizeof version);
  test_write_file(api_weights, all, (5 + SIDE + SIDE * SIDE) * sizeof *all);
  free(all);
}

static void write_large_tflite(void)
{
  float *matrix = make_matrix(0);
  const struct test_tflite_tensor list[] = {
      {.name = "x", .rank = 2, .shape = {1, SIDE}},
      {.name = "w", .rank = 2, .shape = {SIDE, SIDE}, .data = matrix, .bytes = LARGE_BYTES},
      {.name = "y", .rank = 2, .shape = {1, SIDE}}};
  static const struct test_tflite_operator dense = {
      .code = 9, .options = 8, .n_inputs = 2, .n_outputs = 1, .inputs = {0, 1}, .outputs = {2}};
  const struct test_tflite_model model = {
      .tensors = list, .operators = &dense, .n_tensors = 3, .n_operators = 1,
      .n_inputs = 1, .n_outputs = 1, .inputs = {0}, .outputs = {2}};
  size_t n;
  char *data = test_tflite_write(&model, &n);
  test_write_file(path, data, n);
  free(data);
  free(matrix);
}

static void write_large_onnx(void)
{
  static const int64_t dims[] = {SIDE, SIDE}, in[] = {1, SIDE};
  float *matrix = make_matrix(0);
  double *numbers = malloc((size_t)SIDE * SIDE * sizeof *numbers);
  struct test_message graph = {0};
  for (int i = 0; i < SIDE * SIDE; i++) numbers[i] = (double)matrix[i];
  test_onnx_add(&graph, "MatMul", "x w", "y", "");
  test_onnx_floats(&graph, "w", 2, dims, numbers);
  test_onnx_input(&graph, "x", 2, in);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_message m = test_onnx_model(&graph, 13);
  test_write_file(path, m.data, m.n);
  free(m.data);
  free(numbers);
  free(matrix);
}

static void write_tflite(void)
{
  static const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  static const struct test_tflite_tensor list[] = {
      {.name = "x", .rank = 4, .shape = {1, 4, 4, 1}},
      {.name = "w", .rank = 4, .shape = {1, 4, 4, 1}, .data = numbers, .bytes = sizeof numbers},
      {.name = "y", .rank = 4, .shape = {1, 4, 4, 1}}};
  static const struct test_tflite_operator add = {
      .code = 0, .n_inputs = 2, .n_outputs = 1, .inputs = {0, 1}, .outputs = {2}};
  const struct test_tflite_model model = {.tensors = list,
                                          .operators = &add,
                                          .n_tensors = 3,
                                          .n_operators = 1,
                                          .n_inputs = 1,
                                          .n_outputs = 1,
                                          .inputs = {0},
                                          .outputs = {2}};
  size_t n;
  char *data = test_tflite_write(&model, &n);
  test_write_file(path, data, n);
  free(data);
}

static void write_onnx(void)
{
  struct test_message m = test_onnx_operator_model(
      &(struct test_onnx_operator){"Conv", "x w", "pads=[1,1,1,1]", 0, NULL});
  test_write_file(path, m.data, m.n);
  free(m.data);
}

static void pack(const char *to)
{
  struct mafat_pack *p;
  bool done = false;
  const struct mafat_pack_options o = {.size = sizeof o, .replace = true};
  const char *cfg = api_cfg(is_large ? large_cfg : api_detector);
  int code = mafat_pack_open(&p, cfg, api_weights, to, &o, &diagnostic);
  while (code == MAFAT_OK && !done) code = mafat_pack_step(p, &done, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  mafat_pack_close(&p);
}

static void make(int model)
{
  if (is_large) write_large_weights();
  else api_cut_weights(DETECTOR_FLOATS);
  has_weights = model == CFG || model == CFG_AND_PACKED;
  snprintf(path, sizeof path, "%s/model", api_folder);
  snprintf(weights_path, sizeof weights_path, "%s", api_weights);
  if (has_weights) snprintf(path, sizeof path, "%s", api_cfg(is_large ? large_cfg : api_detector));
  if (model == CFG_AND_PACKED) snprintf(weights_path, sizeof weights_path, "%s/packed", api_folder);
  if (model == CFG_AND_PACKED) pack(weights_path);
  if (model == PACKED) pack(path);
  if (model == ONNX) (is_large ? write_large_onnx : write_onnx)();
  if (model == TFLITE) (is_large ? write_large_tflite : write_tflite)();
}

static void clear(void)
{
  char packed[128];
  snprintf(packed, sizeof packed, "%s/packed", api_folder);
  unlink(packed);
  snprintf(packed, sizeof packed, "%s/model", api_folder);
  unlink(packed);
}

/* One file of a model, given as a path, a descriptor or memory. */
struct given {
  struct mafat_file file;
  char *data;
};

static struct given give(const char *at, enum way way)
{
  struct given g = {.file = {.size = sizeof g.file, .path = at}};
  if (way == PATH) return g;
  int fd = open(at, O_RDONLY | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  off_t n = lseek(fd, 0, SEEK_END); /* the library must not depend on the position */
  if (way == DESCRIPTOR) {
    g.file.has_fd = true;
    g.file.fd = fd;
    return g;
  }
  g.data = aligned_alloc(64, ((size_t)n + 64) / 64 * 64);
  ck_assert_int_eq(pread(fd, g.data, (size_t)n, 0), n);
  close(fd);
  g.file = (struct mafat_file){.size = sizeof g.file, .data = g.data, .bytes = (size_t)n};
  return g;
}

static void take_back(struct given *g)
{
  if (g->file.has_fd) {
    ck_assert_int_eq(fcntl(g->file.fd, F_GETFL) & O_DIRECT, 0);
    close(g->file.fd);
  }
  free(g->data);
}

static struct mafat_model_options plan_options(const char *plan)
{
  return (struct mafat_model_options){.size = sizeof(struct mafat_model_options),
                                      .memory_bytes = API_MEMORY_BYTES,
                                      .plan = plan,
                                      .floats_only = true};
}

static int open_by(struct mafat_model **m, const struct given *model, const struct given *weights,
                   const struct mafat_model_options *o)
{
  return mafat_model_open_files(m, &model->file, has_weights ? &weights->file : NULL, o,
                                &diagnostic);
}

/* Runs the model twice; returns the number of output floats. */
static size_t run_model(struct mafat_model *m, float *out)
{
  static float floats[MOST];
  struct mafat_port_facts in = {.size = sizeof in}, port = {.size = sizeof port};
  for (int i = 0; i < MOST; i++) floats[i] = (float)(i % 17) / 17;
  mafat_model_describe_input(m, 0, &in);
  mafat_model_describe_output(m, 0, &port);
  ck_assert(in.n <= MOST && port.n <= MOST);
  ck_assert_msg(mafat_model_run_floats(m, floats, in.n, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  ck_assert_int_eq(mafat_model_run_floats(m, floats, in.n, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_output(m, NULL, out, port.n, &diagnostic), MAFAT_OK);
  return port.n;
}

static size_t run_by(enum way way, const char *plan, float *out)
{
  struct given model = give(path, way), weights = give(has_weights ? weights_path : path, way);
  struct mafat_model_options o = plan_options(plan);
  struct mafat_model *m;
  ck_assert_msg(mafat_file_holds_weights(&model.file) == !has_weights, "%s", path);
  ck_assert_msg(open_by(&m, &model, &weights, &o) == MAFAT_OK, "%s", diagnostic.text);
  size_t n = run_model(m, out);
  mafat_model_close(&m);
  take_back(&model);
  take_back(&weights);
  return n;
}

/* ---- tests ---- */

static const char *const plans[] = {"1x1/NoCut", "rows1:streamed/NoCut", "1x1:loaded/NoCut"};

START_TEST(all_ways_give_the_same_bits)
{
  static float by_path[MOST], others[MOST];
  make(_i % N_MODELS);
  const char *plan = plans[_i / N_MODELS];
  size_t n = run_by(PATH, plan, by_path);
  for (enum way way = DESCRIPTOR; way < N_WAYS; way++) {
    ck_assert_uint_eq(run_by(way, plan, others), n);
    ck_assert_msg(memcmp(by_path, others, n * sizeof *others) == 0, "way %d of model %d, plan %s",
                  way, _i % N_MODELS, plan);
  }
  clear();
}
END_TEST

/* Returns how many bytes of the file that holds the weights are in the page cache. Waits until the
 * file is on the disk. */
static size_t cached_bytes(void)
{
  struct stat st;
  int fd = open(has_weights ? weights_path : path, O_RDONLY | O_CLOEXEC);
  ck_assert_int_eq(fsync(fd), 0);
  ck_assert_int_eq(fstat(fd, &st), 0);
  size_t bytes = mafat_process_cached_bytes_of(fd, (size_t)st.st_size);
  close(fd);
  return bytes;
}

/* Running a model leaves its file in the page cache for the next start. Streamed weights are read
 * without the page cache, so that its bytes do not grow. */
START_TEST(a_cached_model_stays_cached)
{
  static float out[MOST];
  if (mafat_headroom_left("") < 64 << 20) {
    printf("skip cached models: the group has too little room\n");
    return;
  }
  make(_i % N_MODELS);
  size_t before = cached_bytes();
  ck_assert_uint_gt(before, 0);
  run_by(PATH, plans[_i / N_MODELS], out);
  ck_assert_uint_eq(cached_bytes(), before);
  clear();
}
END_TEST

/* Maps the file that holds the weights. touched: all pages are resident; else none is. */
static struct mafat_file map_weights(bool touched)
{
  struct mafat_file f = {.size = sizeof f};
  int fd = open(has_weights ? weights_path : path, O_RDONLY | O_CLOEXEC);
  f.bytes = (size_t)lseek(fd, 0, SEEK_END);
  ck_assert_uint_ge(f.bytes, LARGE_BYTES);
  char *all = mmap(NULL, f.bytes, PROT_READ, MAP_PRIVATE | (touched ? MAP_POPULATE : 0), fd, 0);
  ck_assert(all != MAP_FAILED);
  close(fd);
  f.data = all;
  return f;
}

/* The predicted charge in bytes; 0: the model does not fit. */
static size_t charge_of(const struct mafat_file *weights, size_t memory_bytes)
{
  struct mafat_model_options o = plan_options("1x1:streamed/NoCut");
  const struct mafat_file cfg = {.size = sizeof cfg, .path = path};
  struct mafat_model *m;
  if (memory_bytes) o.memory_bytes = memory_bytes;
  const struct mafat_file *model = has_weights ? &cfg : weights,
                          *apart = has_weights ? weights : NULL;
  int code = mafat_model_open_files(&m, model, apart, &o, &diagnostic);
  ck_assert_msg(code == MAFAT_OK || (memory_bytes && code == MAFAT_ELIMIT), "%s", diagnostic.text);
  size_t charge = m ? mafat_model_charge_bytes(m) : 0;
  mafat_model_close(&m);
  return charge;
}

/* Pages of a file in memory are counted in the charge before they are touched. */
START_TEST(memory_is_counted_in_the_budget)
{
  enum { SLACK = 512 << 10 };
  is_large = true;
  make(_i);
  struct mafat_file touched = map_weights(true), absent;
  charge_of(&touched, 0); /* the first call allocates memory that stays in the heap */
  size_t resident = charge_of(&touched, 0);
  munmap((void *)(uintptr_t)touched.data, touched.bytes);
  absent = map_weights(false);
  size_t counted = charge_of(&absent, 0);
  ck_assert_msg(resident > absent.bytes, "%zu bytes of %zu in memory", resident, absent.bytes);
  ck_assert_msg(counted + SLACK > resident && counted < resident + SLACK,
                "%zu bytes, %zu before they are read", resident, counted);
  munmap((void *)(uintptr_t)absent.data, absent.bytes);
  absent = map_weights(false);
  ck_assert_uint_eq(charge_of(&absent, counted - LARGE_BYTES / 2), 0);
  munmap((void *)(uintptr_t)absent.data, absent.bytes);
  clear();
}
END_TEST

/* ---- pipes ---- */

/* Writes a small file to a pipe, closes the end for writing, and returns the other end. */
static int pipe_of(const char *at)
{
  int ends[2], fd = open(at, O_RDONLY | O_CLOEXEC);
  char bytes[32 << 10];
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  ssize_t n = read(fd, bytes, sizeof bytes);
  ck_assert(n > 0 && n < (ssize_t)sizeof bytes);
  ck_assert_int_eq(write(ends[1], bytes, (size_t)n), n);
  close(ends[1]);
  close(fd);
  return ends[0];
}

/* A network can be read from a pipe; weights cannot, because they are read by offset. */
START_TEST(a_pipe_gives_a_network_and_no_weights)
{
  static float by_path[MOST], by_pipe[MOST];
  make(_i);
  size_t n = run_by(PATH, plans[0], by_path);
  struct mafat_model_options o = plan_options(plans[0]);
  struct mafat_file model = {.size = sizeof model, .has_fd = true, .fd = pipe_of(path)};
  struct mafat_file weights = {.size = sizeof weights, .path = weights_path};
  struct mafat_model *m;
  int code = mafat_model_open_files(&m, &model, has_weights ? &weights : NULL, &o, &diagnostic);
  if (has_weights) {
    ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
    run_model(m, by_pipe);
    ck_assert_int_eq(memcmp(by_path, by_pipe, n * sizeof *by_pipe), 0);
    weights.has_fd = true;
    weights.fd = pipe_of(weights_path);
    model = (struct mafat_file){.size = sizeof model, .path = path};
    struct mafat_model *none;
    code = mafat_model_open_files(&none, &model, &weights, &o, &diagnostic);
    ck_assert_ptr_null(none);
    close(weights.fd);
  }
  ck_assert_msg(code == MAFAT_EIO, "%d: %s", code, diagnostic.text);
  const char *said = strstr(diagnostic.text, "expected a regular file, found a pipe");
  ck_assert_msg(said, "%s", diagnostic.text);
  mafat_model_close(&m);
  if (model.has_fd) close(model.fd);
  clear();
}
END_TEST

START_TEST(memory_that_is_cut_short_is_refused)
{
  make(_i);
  struct given whole = give(path, MEMORY),
               weights = give(has_weights ? weights_path : path, MEMORY);
  struct given *cut = has_weights ? &weights : &whole;
  struct mafat_model_options o = plan_options("1x1/NoCut");
  for (size_t bytes = cut->file.bytes; bytes-- > 0; bytes -= bytes / 7) {
    struct mafat_model *m;
    cut->file.bytes = bytes;
    diagnostic.text[0] = '\0';
    int code = open_by(&m, &whole, &weights, &o);
    ck_assert_msg(code != MAFAT_OK && !m && diagnostic.text[0], "model %d cut to %zu bytes", _i,
                  bytes);
  }
  take_back(&whole);
  take_back(&weights);
  clear();
}
END_TEST

START_TEST(every_allocation_may_fail)
{
  make(_i % N_MODELS);
  struct given model = give(path, (enum way)(_i / N_MODELS + 1)),
               weights = give(has_weights ? weights_path : path, (enum way)(_i / N_MODELS + 1));
  struct mafat_model_options o = plan_options("1x1/NoCut");
  struct mafat_model *m;
  long unfreed;
  ck_assert_int_eq(open_by(&m, &model, &weights, &o), MAFAT_OK);
  mafat_model_close(&m);
  failing_malloc_arm(-1);
  ck_assert_int_eq(open_by(&m, &model, &weights, &o), MAFAT_OK);
  mafat_model_close(&m);
  long n = failing_malloc_disarm(&unfreed);
  for (long i = 0; i < n; i += n / 150 + 1) {
    failing_malloc_arm(i);
    int code = open_by(&m, &model, &weights, &o);
    mafat_model_close(&m);
    if (failing_malloc_disarm(&unfreed) <= i)
      continue; /* cached results need fewer allocations */
    ck_assert_msg(code == MAFAT_ENOMEM && unfreed == 0, "allocation %ld of %ld: %s, %ld left", i, n,
                  mafat_error_name(code), unfreed);
  }
  take_back(&model);
  take_back(&weights);
  clear();
}
END_TEST

START_TEST(a_file_says_where_it_is)
{
  struct mafat_file none = {.size = sizeof none}, unsized = {.path = "x"};
  struct mafat_model *m;
  ck_assert_int_eq(mafat_model_open_files(&m, &none, NULL, NULL, &diagnostic), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_open_files(&m, &unsized, NULL, NULL, &diagnostic), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_open_files(&m, NULL, NULL, NULL, &diagnostic), MAFAT_EINVAL);
  ck_assert(!mafat_file_holds_weights(&none) && !mafat_file_holds_weights(NULL));
}
END_TEST

Suite *files_suite(void)
{
  Suite *s = suite_create("files");
  TCase *t = api_case(s, "files", 120);
  tcase_add_loop_test(t, all_ways_give_the_same_bits, 0,
                      N_MODELS * (int)(sizeof plans / sizeof *plans));
  tcase_add_loop_test(t, a_cached_model_stays_cached, 0, 2 * N_MODELS);
  tcase_add_loop_test(t, memory_is_counted_in_the_budget, 0, N_MODELS);
  tcase_add_loop_test(t, a_pipe_gives_a_network_and_no_weights, 0, N_MODELS);
  tcase_add_loop_test(t, memory_that_is_cut_short_is_refused, 0, N_MODELS);
  tcase_add_loop_test(t, every_allocation_may_fail, 0, 2 * N_MODELS);
  tcase_add_test(t, a_file_says_where_it_is);
  return s;
}
