/* Covers api/{ports, inputs}.c, network/{port, view}.c, formats/npy/npy.c, runner/image/npy.c:
 * several inputs and outputs by name, of any rank, as floats and as files, under any plan; the
 * order of their dimensions; NumPy files. */
#include "include/mafat.h"
#include "network/port.h"
#include "runner/image/npy.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/random.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *ports_suite(void);

static struct mafat_diagnostic diagnostic;

/* ---- the order of a file ---- */

/* Checks that the file order's planes, rows and strides give the index of each element in the file,
 * and that there are `planes` planes and `rows` rows. */
static void check_order(int n_dims, const long long *dims, const int *axes, int planes, int rows)
{
  struct mafat_view view;
  struct mafat_file_order o;
  long long e[MAFAT_N_AXES];
  mafat_view_lay(&view, n_dims, dims, axes, e);
  struct mafat_shape s = {(int)e[MAFAT_AXIS_H], (int)e[MAFAT_AXIS_W], (int)e[MAFAT_AXIS_C]};
  mafat_file_order_make(&o, &view, s);
  ck_assert_int_eq(o.planes, planes);
  ck_assert_int_eq(o.rows, rows);
  ck_assert_uint_eq(o.row_elements * (size_t)o.rows * (size_t)o.planes,
                    (size_t)mafat_shape_elements(s));
  for (long long i = 0; i < mafat_shape_elements(s); i++) {
    long long at[MAFAT_N_AXES] = {0};
    mafat_view_find(&view, i, at);
    long long line =
        (o.planes > 1 ? at[MAFAT_AXIS_C] * o.rows : 0) + (o.rows > 1 ? at[MAFAT_AXIS_H] : 0);
    long long within = 0;
    for (int a = 0; a < MAFAT_N_AXES; a++) within += mafat_file_order_offset(&o, a, (int)at[a]);
    ck_assert_int_eq(line * (long long)o.row_elements + within, i);
    if (o.column)
      ck_assert_int_eq(mafat_file_order_offset(&o, MAFAT_AXIS_W, (int)at[MAFAT_AXIS_W]),
                       at[MAFAT_AXIS_W] * o.column);
  }
}

START_TEST(files_are_read_plane_by_plane_or_row_by_row)
{
  enum { H = MAFAT_AXIS_H, W = MAFAT_AXIS_W, C = MAFAT_AXIS_C };
  check_order(4, (const long long[]){1, 3, 5, 7}, (const int[]){H, C, H, W}, 3, 5);  /* NCHW */
  check_order(4, (const long long[]){1, 5, 7, 3}, (const int[]){H, H, W, C}, 1, 5);  /* NHWC */
  check_order(4, (const long long[]){1, 1, 5, 7}, (const int[]){H, C, H, W}, 1, 5);
  check_order(3, (const long long[]){4, 5, 6}, (const int[]){H, W, C}, 1, 4);
  check_order(2, (const long long[]){4, 50}, (const int[]){W, C}, 1, 1);
  check_order(1, (const long long[]){50}, (const int[]){C}, 1, 1);
  check_order(0, NULL, NULL, 1, 1);
  check_order(4, (const long long[]){2, 3, 5, 7}, (const int[]){H, C, H, W}, 1,
              1); /* both H dimensions: not adjacent, so read at once */
  check_order(3, (const long long[]){3, 7, 5}, (const int[]){C, W, H}, 1, 1);
  check_order(4, (const long long[]){3, 2, 5, 4}, (const int[]){W, C, W, H}, 1, 1);
  check_order(4, (const long long[]){2, 3, 4, 5}, (const int[]){H, H, W, C}, 1, 6);
}
END_TEST

/* ---- writing NumPy files ---- */

enum { HEADER_ROOM = 256 };

static size_t npy_header(char header[HEADER_ROOM], int rank, const long long *dims)
{
  char text[HEADER_ROOM - 10];
  int n = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
  for (int i = 0; i < rank; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%lld,%s", dims[i], i < rank - 1 ? " " : "");
  n += snprintf(text + n, sizeof text - (size_t)n, "), }");
  size_t bytes = (10 + (size_t)n + 1 + 63) / 64 * 64;
  memcpy(header, "\x93NUMPY\1", 8);
  memset(header + 8, ' ', bytes - 8);
  header[7] = 0;
  header[8] = (char)((bytes - 10) & 0xff);
  header[9] = (char)((bytes - 10) >> 8);
  memcpy(header + 10, text, (size_t)n);
  header[bytes - 1] = '\n';
  return bytes;
}

/* ---- a model of two inputs and two outputs, of ranks 4, 3, 2 and 1 ---- */

enum { C = 3, H = 12, W = 9, N_A = C * H * W, N_B = 5 * 7 };

struct case_ {
  char path[64];
  const char *plan;
  struct mafat_model *model;
  float a[N_A], b[N_B];
};

static void write_file(char *path, const void *bytes, size_t n)
{
  strcpy(path, "/tmp/mafat-ports-XXXXXX");
  int fd = mkstemp(path);
  ck_assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
  close(fd);
}

/* Writes a model whose output "rows" is relu(a), transposed, and whose output "flat" is relu(b) in
 * one dimension. */
static void write_model(char *path)
{
  const int64_t a[] = {1, C, H, W}, b[] = {5, 7}, flat[] = {N_B}, shape[] = {N_B};
  struct test_message graph = {0};
  test_onnx_input(&graph, "a", 4, a);
  test_onnx_input(&graph, "b", 2, b);
  test_onnx_int64s(&graph, "shape", 1, shape);
  test_onnx_add(&graph, "Relu", "a", "a1", "");
  test_onnx_add(&graph, "Transpose", "a1", "rows", "perm=[0,2,3,1]");
  test_onnx_add(&graph, "Relu", "b", "b1", "");
  test_onnx_add(&graph, "Reshape", "b1 shape", "flat", "");
  test_onnx_output(&graph, "rows", 4, (const int64_t[]){1, H, W, C});
  test_onnx_output(&graph, "flat", 1, flat);
  struct test_message file = test_onnx_model(&graph, 13);
  write_file(path, file.data, file.n);
  free(file.data);
}

static void open_case(struct case_ *k, const char *plan)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct test_rng rng = test_rng(7);
  write_model(k->path);
  options.plan = plan;
  options.floats_only = true;
  options.memory_bytes = (size_t)1 << 28;
  int code = mafat_model_open(&k->model, k->path, NULL, &options, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  for (int i = 0; i < N_A; i++) k->a[i] = (float)test_random_int(&rng, -1000, 1000) / 1000;
  for (int i = 0; i < N_B; i++) k->b[i] = (float)test_random_int(&rng, -1000, 1000) / 1000;
}

static void close_case(struct case_ *k)
{
  mafat_model_close(&k->model);
  unlink(k->path);
}

static float relu(float x)
{
  return x > 0 ? x : 0;
}

static void check_outputs(const struct case_ *k)
{
  float rows[N_A], flat[N_B];
  ck_assert_msg(mafat_model_read_output(k->model, "rows", rows, N_A, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  ck_assert_msg(mafat_model_read_output(k->model, "flat", flat, N_B, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  for (int c = 0; c < C; c++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++)
        ck_assert_float_eq(rows[(y * W + x) * C + c], relu(k->a[(c * H + y) * W + x]));
  for (int i = 0; i < N_B; i++) ck_assert_float_eq(flat[i], relu(k->b[i]));
  float part[5];
  ck_assert_int_eq(mafat_model_read_output_part(k->model, "rows", 4, part, 5, NULL), MAFAT_OK);
  ck_assert_mem_eq(part, rows + 4, sizeof part);
}

static const char *const plans[] = {NULL,    "1x1/NoCut",   "rows1",
                                    "rows3", "split(h3:0)", "split(h[1,4]:0)/order=best"};

START_TEST(floats_by_name_under_any_plan)
{
  struct case_ k;
  open_case(&k, plans[_i]);
  ck_assert_int_eq(mafat_model_run_inputs(k.model, &diagnostic), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "input 'a' was not set"));
  ck_assert_int_eq(mafat_model_set_input(k.model, "a", k.a, N_A, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_run_inputs(k.model, &diagnostic), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "input 'b' was not set"));
  ck_assert_int_eq(mafat_model_set_input(k.model, "b", k.b, N_B, NULL), MAFAT_OK);
  for (int i = 0; i < 2; i++) {
    ck_assert_msg(mafat_model_run_inputs(k.model, &diagnostic) == MAFAT_OK, "%s", diagnostic.text);
    check_outputs(&k);
    for (int j = 0; j < N_A; j++) k.a[j] = -k.a[j];
  }
  /* The first input is an argument, the others stay as they were set. */
  ck_assert_int_eq(mafat_model_run_floats(k.model, k.a, N_A, NULL), MAFAT_OK);
  check_outputs(&k);
  close_case(&k);
}
END_TEST

START_TEST(files_by_name_under_any_plan)
{
  struct case_ k;
  char a[64], b[64], bytes[HEADER_ROOM + sizeof k.b];
  open_case(&k, plans[_i]);
  write_file(a, k.a, sizeof k.a);
  size_t header = npy_header(bytes, 2, (const long long[]){5, 7});
  memcpy(bytes + header, k.b, sizeof k.b);
  write_file(b, bytes, header + sizeof k.b);
  ck_assert_int_eq(mafat_model_set_input_file(k.model, "a", a, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_set_input_file(k.model, "b", b, NULL), MAFAT_OK);
  ck_assert_msg(mafat_model_run_inputs(k.model, &diagnostic) == MAFAT_OK, "%s", diagnostic.text);
  check_outputs(&k);
  ck_assert_msg(mafat_model_run_raw(k.model, a, &diagnostic) == MAFAT_OK, "%s", diagnostic.text);
  check_outputs(&k);
  /* A file with another input's length or dimensions is refused. */
  ck_assert_int_eq(mafat_model_set_input_file(k.model, "b", a, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_run_inputs(k.model, &diagnostic), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "5 x 7 floats"));
  unlink(a);
  unlink(b);
  close_case(&k);
}
END_TEST

START_TEST(names_shapes_and_mistakes)
{
  struct case_ k;
  struct mafat_port_facts f = {.size = sizeof f};
  struct mafat_model_facts facts = {.size = sizeof facts};
  open_case(&k, NULL);
  mafat_model_describe(k.model, &facts);
  ck_assert(facts.n_inputs == 2 && facts.n_outputs == 2);
  ck_assert_int_eq(mafat_model_describe_input(k.model, 1, &f), MAFAT_OK);
  ck_assert_str_eq(f.name, "b");
  ck_assert_str_eq(f.type, "float32");
  ck_assert(f.rank == 2 && f.dims[0] == 5 && f.dims[1] == 7 && f.n == N_B);
  ck_assert_int_eq(mafat_model_describe_output(k.model, 0, &f), MAFAT_OK);
  ck_assert(f.rank == 4 && f.dims[1] == H && f.dims[3] == C && f.n == N_A);
  ck_assert_int_eq(mafat_model_describe_output(k.model, 2, &f), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_describe_input(k.model, -1, &f), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_set_input(k.model, "c", k.a, N_A, &diagnostic), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "expected 'a', 'b'"));
  ck_assert_int_eq(mafat_model_set_input(k.model, NULL, k.a, N_A, &diagnostic), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_set_input(k.model, "a", k.a, N_B, &diagnostic), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_read_output(k.model, "rows", k.a, N_A, &diagnostic),
                   MAFAT_EINVAL); /* before a run */
  ck_assert_int_eq(mafat_model_read_output(k.model, "rows", k.a, 3, &diagnostic), MAFAT_EINVAL);
  close_case(&k);
}
END_TEST

/* ---- .npy ---- */

static int read_npy(const char *header, size_t n, const long long *dims, int rank, uint64_t *begin)
{
  char path[64];
  struct mafat_view view;
  enum mafat_dtype type = MAFAT_F32;
  write_file(path, header, n);
  mafat_view_linear(&view, rank, dims, MAFAT_AXIS_NUMBERS);
  int code = mafat_npy_read(path, &view, &type, begin, &diagnostic);
  unlink(path);
  return code;
}

static int read_text(const char *text, const long long *dims, int rank)
{
  char bytes[300] = "\x93NUMPY\1";
  uint64_t begin;
  size_t n = (strlen(text) + 10 + 63) / 64 * 64;
  bytes[8] = (char)(n - 10);
  memset(bytes + 10, ' ', n - 10);
  memcpy(bytes + 10, text, strlen(text));
  return read_npy(bytes, n, dims, rank, &begin);
}

START_TEST(headers_of_arrays)
{
  char header[HEADER_ROOM];
  const long long dims[] = {1, 3, 40, 50}, most[] = {1LL << 40, 1LL << 40, 1LL << 40, 1LL << 40,
                                                     1LL << 40, 1LL << 40, 1LL << 40, 1LL << 40};
  uint64_t begin;
  for (int rank = 0; rank <= 4; rank++) {
    size_t n = npy_header(header, rank, dims);
    ck_assert_uint_eq(n % 64, 0);
    ck_assert_msg(read_npy(header, n, dims, rank, &begin) == MAFAT_OK, "%s", diagnostic.text);
    ck_assert_uint_eq(begin, n);
    for (size_t end = 8; end < n; end += 7)
      ck_assert_int_eq(read_npy(header, end, dims, rank, &begin), MAFAT_EFORMAT);
  }
  ck_assert_uint_le(npy_header(header, 8, most), sizeof header);
  ck_assert_int_eq(read_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 40, 50), }\n",
                             dims, 4),
                   MAFAT_OK);
  ck_assert_int_eq(read_text("{'shape':(1,1,3,40,50),'fortran_order':False,'descr':'<f4'}\n", dims,
                             4),
                   MAFAT_OK);
  ck_assert_int_eq(read_text("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 40, 50), }\n",
                             dims, 4),
                   MAFAT_EUNSUPPORTED);
  ck_assert_int_eq(read_text("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 40, 50), }\n",
                             dims, 4),
                   MAFAT_EUNSUPPORTED);
  ck_assert_int_eq(read_text("{'descr': '<f4', 'fortran_order': False, 'shape': (40, 3, 50), }\n",
                             dims, 4),
                   MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(
      strstr(diagnostic.text, "expected a .npy file of shape (1, 3, 40, 50), found (40, 3, 50)"));
  ck_assert_int_eq(read_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 40, x", dims,
                             4),
                   MAFAT_EFORMAT);
  ck_assert_int_eq(read_text("", dims, 4), MAFAT_EFORMAT);
}
END_TEST

Suite *ports_suite(void)
{
  Suite *s = suite_create("ports");
  TCase *c = tcase_create("ports");
  tcase_set_timeout(c, 60);
  tcase_add_test(c, files_are_read_plane_by_plane_or_row_by_row);
  tcase_add_loop_test(c, floats_by_name_under_any_plan, 0, sizeof plans / sizeof *plans);
  tcase_add_loop_test(c, files_by_name_under_any_plan, 0, sizeof plans / sizeof *plans);
  tcase_add_test(c, names_shapes_and_mistakes);
  tcase_add_test(c, headers_of_arrays);
  suite_add_tcase(s, c);
  return s;
}
