/* Covers base/{allowance, chunks}.c: memory for reading a model. Data that no operator reads takes
 * none, and data that exceeds the limit is refused before it is allocated. */
#include "base/allowance.h"
#include "formats/readers.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/tflite_writer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *allowance_suite(void);

static struct mafat_diagnostic diagnostic;

/* ---- counting ---- */

START_TEST(takes_and_gives_are_counted)
{
  struct mafat_allowance a = {.limit_bytes = 1000};
  ck_assert(mafat_allowance_take(&a, 30, 10) && mafat_allowance_keep(&a, 200));
  ck_assert(!mafat_allowance_take(&a, 1, 501) && a.refused_bytes == 1001 && a.bytes == 500);
  ck_assert(!mafat_allowance_take(&a, SIZE_MAX / 2, 3) && a.refused_bytes == 1001);
  ck_assert(mafat_allowance_take(&a, 1, 500) && a.most_bytes == 1000);
  mafat_allowance_give(&a, 800);
  ck_assert(a.bytes == 200 && a.most_bytes == 1000 && mafat_allowance_passing(&a) == 800);
  ck_assert(mafat_allowance_take(NULL, SIZE_MAX, 8));
  mafat_allowance_give(NULL, 8);
}
END_TEST

/* ---- models ---- */

struct file {
  char *data;
  size_t n;
};

enum { N = 3000 }; /* entries that no operator reads */

static struct file message_file(struct test_message m)
{
  return (struct file){m.data, m.n};
}

/* A chain of n Relu nodes, and `unused` initializers, declared types, properties and domains. */
static struct file make_onnx(int n, int unused)
{
  const int64_t dims[] = {1, 2, 3, 4};
  struct test_message graph = {0}, inner;
  char name[40], before[40] = "x";
  test_onnx_input(&graph, "x", 4, dims);
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "relu_%d", i);
    test_onnx_add(&graph, "Relu", before, name, "");
    memcpy(before, name, sizeof name);
  }
  test_onnx_output(&graph, before, 4, dims);
  for (int i = 0; i < unused; i++) {
    snprintf(name, sizeof name, "nobody reads %d", i);
    test_onnx_floats(&graph, name, 0, NULL, (const double[]){i});
    inner = (struct test_message){0};
    test_put_text(&inner, 1, name);
    test_put_message(&graph, 13, &inner);
  }
  struct test_message file = test_onnx_model(&graph, 13);
  for (int i = 0; i < unused; i++) {
    inner = (struct test_message){0};
    test_put_text(&inner, 1, "some key");
    test_put_text(&inner, 2, "some value");
    test_put_message(&file, 14, &inner);
    inner = (struct test_message){0};
    snprintf(name, sizeof name, "domain.%d", i);
    test_put_text(&inner, 1, name);
    test_put_int(&inner, 2, 1);
    test_put_message(&file, 8, &inner);
  }
  return message_file(file);
}

/* A chain of n RELU operators, and `unused` tensors. */
static struct file make_tflite(int n, int unused)
{
  enum { RELU = 19 };
  static const int codes[] = {RELU};
  int n_tensors = n + 1 + unused;
  struct test_tflite_tensor *tensors = calloc((size_t)n_tensors, sizeof *tensors);
  struct test_tflite_operator *operators = calloc((size_t)n, sizeof *operators);
  for (int i = 0; i < n_tensors; i++)
    tensors[i] = (struct test_tflite_tensor){
        .name = i <= n ? "map" : "nobody reads this", .rank = 4, .shape = {1, 2, 3, 4}};
  for (int i = 0; i < n; i++)
    operators[i] = (struct test_tflite_operator){
        .code = RELU, .n_inputs = 1, .n_outputs = 1, .inputs = {i}, .outputs = {i + 1}};
  const struct test_tflite_model m = {.tensors = tensors,
                                      .operators = operators,
                                      .n_tensors = n_tensors,
                                      .n_operators = n,
                                      .n_inputs = 1,
                                      .n_outputs = 1,
                                      .inputs = {0},
                                      .outputs = {n},
                                      .n_codes = 1,
                                      .codes = codes};
  struct file f;
  f.data = test_tflite_write(&m, &f.n);
  free(tensors);
  free(operators);
  return f;
}

/* A cfg of n layers with comments. */
static struct file make_cfg(int n, int unused)
{
  struct test_message m = {0};
  static const char net[] = "[net]\nwidth=4\nheight=4\nchannels=3\n",
                    layer[] = "[maxpool]\nsize=1\nstride=1\n", comment[] = "# [a] b=c\n\n";
  test_put_bytes(&m, net, sizeof net - 1);
  for (int i = 0; i < n; i++) test_put_bytes(&m, layer, sizeof layer - 1);
  for (int i = 0; i < unused; i++) test_put_bytes(&m, comment, sizeof comment - 1);
  return message_file(m);
}

static struct file (*const makers[])(int n, int unused) = {make_onnx, make_tflite, make_cfg};
enum { N_MAKERS = sizeof makers / sizeof *makers, ONNX = 0, TFLITE, CFG };

static int read_file(const struct file *f, struct mafat_allowance *a)
{
  struct mafat_model_source *source;
  struct mafat_network *network;
  ck_assert_int_eq(mafat_model_source_open_memory(&source, f->data, f->n, "model", &diagnostic),
                   MAFAT_OK);
  source->allowance = a;
  const struct mafat_reading how = {NULL, NULL, NULL};
  int code = mafat_reader_network(&network, source, &how, &diagnostic);
  ck_assert((code == MAFAT_OK) == (network != NULL));
  mafat_network_close(&network);
  mafat_model_source_close(&source);
  return code;
}

static size_t most_bytes(int maker, int n, int unused)
{
  struct mafat_allowance a = {.limit_bytes = SIZE_MAX};
  struct file f = makers[maker](n, unused);
  ck_assert_msg(read_file(&f, &a) == MAFAT_OK, "%s", diagnostic.text);
  free(f.data);
  return a.most_bytes;
}

/* Memory may still be counted for the unused entries themselves: 8 + 64 bytes for each tensor of a
 * .tflite file, and 12 for the text of each comment in a cfg. */
START_TEST(what_nobody_reads_takes_no_memory)
{
  static const size_t each[] = {[ONNX] = 0, [TFLITE] = 8 + 64, [CFG] = 12};
  size_t few = most_bytes(_i, 5, 0), many = most_bytes(_i, 5, N);
  ck_assert_msg(many <= few + 64 + N * each[_i], "%zu bytes with, %zu without", many, few);
}
END_TEST

START_TEST(what_is_read_is_counted)
{
  size_t few = most_bytes(_i, 10, 0), many = most_bytes(_i, 1010, 0);
  ck_assert_uint_ge(many - few, 1000 * sizeof(struct mafat_layer));
  ck_assert_uint_le(many - few, 1000 * 4096);
}
END_TEST

START_TEST(more_than_the_limit_is_refused)
{
  struct file f = makers[_i](40, 3);
  struct mafat_allowance whole = {.limit_bytes = SIZE_MAX};
  ck_assert_int_eq(read_file(&f, &whole), MAFAT_OK);
  for (size_t limit = 0; limit < whole.most_bytes; limit += whole.most_bytes / 40 + 1) {
    struct mafat_allowance a = {.limit_bytes = limit};
    ck_assert_int_ne(read_file(&f, &a), MAFAT_OK);
    ck_assert(a.refused_bytes > limit && a.most_bytes <= limit);
  }
  struct mafat_allowance enough = {.limit_bytes = whole.most_bytes};
  ck_assert(read_file(&f, &enough) == MAFAT_OK && enough.refused_bytes == 0);
  free(f.data);
}
END_TEST

/* A network has at most 4096 layers. */
START_TEST(many_sections_are_refused_before_they_are_stored)
{
  struct mafat_allowance a = {.limit_bytes = SIZE_MAX};
  struct file f = make_cfg(20000, 0);
  ck_assert_int_eq(read_file(&f, &a), MAFAT_EFORMAT);
  ck_assert_str_eq(diagnostic.text, "model: expected at most 4096 layers, found 20000");
  ck_assert_uint_le(a.most_bytes, f.n + 64);
  free(f.data);
}
END_TEST

Suite *allowance_suite(void)
{
  Suite *suite = suite_create("allowance");
  TCase *reading = tcase_create("reading");
  tcase_add_test(reading, takes_and_gives_are_counted);
  tcase_add_loop_test(reading, what_nobody_reads_takes_no_memory, 0, N_MAKERS);
  tcase_add_loop_test(reading, what_is_read_is_counted, 0, N_MAKERS);
  tcase_add_loop_test(reading, more_than_the_limit_is_refused, 0, N_MAKERS);
  tcase_add_test(reading, many_sections_are_refused_before_they_are_stored);
  suite_add_tcase(suite, reading);
  return suite;
}
