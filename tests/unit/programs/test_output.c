/* Covers programs/run_inference/output.c: answers as text and as JSON. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <json-c/json.h>

#include "programs/run_inference/output.h"
#include "tests/support/support.h"

Suite *output_suite(void);

/* ---- Written output. ---- */

static int memory_fd;
static struct mafat_writer writer;
static char written[1 << 20];

static void open_writer(void)
{
  memory_fd = memfd_create("output", 0);
  ck_assert_int_ge(memory_fd, 0);
  mafat_writer_open(&writer, memory_fd);
}

static void close_writer(void)
{
  close(memory_fd);
  setlocale(LC_ALL, "C");
}

/* Returns everything that was written since the last call. */
static const char *take(void)
{
  ssize_t n = pread(memory_fd, written, sizeof written - 1, 0);
  ck_assert_int_ge(n, 0);
  written[n] = 0;
  ck_assert_int_eq(ftruncate(memory_fd, 0), 0);
  ck_assert_int_eq(lseek(memory_fd, 0, SEEK_SET), 0);
  return written;
}

/* Returns what was written, which must be one line with a JSON object. */
static struct json_object *take_object(void)
{
  const char *text = take();
  size_t length = strlen(text);
  ck_assert(length > 0 && strchr(text, '\n') == text + length - 1);
  struct json_tokener *tokener = json_tokener_new();
  ck_assert_ptr_nonnull(tokener);
  json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  struct json_object *root = json_tokener_parse_ex(tokener, text, (int)length - 1);
  enum json_tokener_error error = json_tokener_get_error(tokener);
  ck_assert_msg(error == json_tokener_success, "%s: %s", json_tokener_error_desc(error), text);
  ck_assert_uint_eq(json_tokener_get_parse_end(tokener), length - 1);
  json_tokener_free(tokener);
  ck_assert(json_object_is_type(root, json_type_object));
  return root;
}

static struct json_object *member(struct json_object *object, const char *key)
{
  struct json_object *value = NULL;
  ck_assert_msg(json_object_object_get_ex(object, key, &value), "no %s in %s", key, written);
  return value;
}

static void check_string(struct json_object *object, const char *key, const char *expected)
{
  struct json_object *value = member(object, key);
  ck_assert_msg(json_object_is_type(value, json_type_string), "%s in %s", key, written);
  ck_assert_str_eq(json_object_get_string(value), expected);
}

static void check_count(struct json_object *object, const char *key, int64_t expected)
{
  struct json_object *value = member(object, key);
  ck_assert_msg(json_object_is_type(value, json_type_int), "%s in %s", key, written);
  ck_assert_int_eq(json_object_get_int64(value), expected);
}

static void check_number(struct json_object *object, const char *key, double expected)
{
  double found = json_object_get_double(member(object, key));
  ck_assert_msg(fabs(found - expected) <= 1e-8 * fabs(expected), "%s in %s", key, written);
}

static void check_null(struct json_object *object, const char *key)
{
  ck_assert_msg(member(object, key) == NULL, "%s in %s", key, written);
}

/* ---- A report with everything in it. ---- */

static struct mafat_detection boxes[] = {{17, .94f, 131.25f, 220.5f, 183, 319},
                                         {1, .5f, -12.75f, 1e9f, 0, .1f}};
static struct mafat_detections detections = {.list = boxes, .n = 2, .left_out = 7};
static const double latencies[] = {12.5, 12.25, 13};

static struct mafat_run_report full_report(void)
{
  return (struct mafat_run_report){.image = "dog.jpg",
                                   .network_w = 608,
                                   .network_h = 416,
                                   .fork = "darknet",
                                   .n_layers = 32,
                                   .plan = "5x5/8/2x2",
                                   .algorithm = "direct",
                                   .cpu = "avx2",
                                   .threads = 1,
                                   .memory_budget_bytes = 67108864,
                                   .arena_bytes = 5000000000,
                                   .predicted_charge_bytes = 3,
                                   .predicted_resident_bytes = 4,
                                   .measured_resident_bytes = 5,
                                   .vm_hwm_bytes = 6,
                                   .load_ms = 100.125,
                                   .image_ms = .5,
                                   .layers_ms = 12,
                                   .latency_ms = 12.5,
                                   .latencies_ms = latencies,
                                   .n_latencies = 3,
                                   .total_ms = 140,
                                   .swap_in_bytes = 0,
                                   .swap_out_bytes = 8192,
                                   .swap_scope = "cgroup",
                                   .major_faults = 2,
                                   .weights_read_bytes = 203934260,
                                   .kind = MAFAT_MODEL_DETECTOR,
                                   .detections = &detections,
                                   .reserve_bytes = 262144,
                                   .lock = "off",
                                   .lock_reason = "no group",
                                   .locked_bytes = 0,
                                   .sandbox = "seccomp",
                                   .stall_scope = "system",
                                   .stall_some_us = 12,
                                   .stall_full_us = 11};
}

static struct json_object *run_object(const struct mafat_run_report *r)
{
  ck_assert_int_eq(mafat_output_run_json(r, &writer), MAFAT_OK);
  return take_object();
}

START_TEST(test_run_json)
{
  struct mafat_run_report r = full_report();
  struct json_object *o = run_object(&r), *network = member(o, "network");
  check_string(o, "image", "dog.jpg");
  check_count(network, "width", 608);
  check_count(network, "height", 416);
  check_count(network, "layers", 32);
  check_string(network, "fork", "darknet");
  check_string(o, "plan", "5x5/8/2x2");
  check_string(o, "algorithm", "direct");
  check_count(o, "threads", 1);
  check_string(o, "cpu", "avx2");
  check_count(o, "memory_budget_bytes", 67108864);
  check_count(o, "arena_bytes", 5000000000);
  check_count(o, "predicted_charge_bytes", 3);
  check_count(o, "predicted_resident_bytes", 4);
  check_count(o, "measured_resident_bytes", 5);
  check_count(o, "vm_hwm_bytes", 6);
  check_number(o, "load_ms", 100.125);
  check_number(o, "image_ms", .5);
  check_number(o, "layers_ms", 12);
  check_number(o, "latency_ms", 12.5);
  check_number(o, "total_ms", 140);
  check_count(o, "swap_in_bytes", 0);
  check_count(o, "swap_out_bytes", 8192);
  check_string(o, "swap_scope", "cgroup");
  check_count(o, "major_faults", 2);
  check_count(o, "weights_read_bytes", 203934260);
  check_count(o, "boxes_left_out", 7);
  check_count(o, "reserve_bytes", 262144);
  check_string(o, "lock", "off");
  check_string(o, "lock_reason", "no group");
  check_count(o, "locked_bytes", 0);
  check_string(o, "sandbox", "seccomp");
  check_string(o, "stall_scope", "system");
  check_count(o, "stall_some_us", 12);
  check_count(o, "stall_full_us", 11);
  ck_assert_int_eq(json_object_object_length(o), 33);

  struct json_object *list = member(o, "latencies_ms");
  ck_assert_uint_eq(json_object_array_length(list), 3);
  for (size_t i = 0; i < 3; i++)
    ck_assert(json_object_get_double(json_object_array_get_idx(list, i)) == latencies[i]);
  json_object_put(o);
}
END_TEST

START_TEST(test_run_json_detections)
{
  struct mafat_run_report r = full_report();
  struct json_object *o = run_object(&r), *list = member(o, "detections");
  ck_assert_uint_eq(json_object_array_length(list), 2);
  for (size_t i = 0; i < 2; i++) {
    struct json_object *d = json_object_array_get_idx(list, i), *box = member(d, "box");
    check_string(d, "label", i ? "class 1" : "class 17");
    check_count(d, "class", boxes[i].class_id);
    /* Nine digits are enough to restore every float exactly. */
    ck_assert((float)json_object_get_double(member(d, "confidence")) == boxes[i].confidence);
    ck_assert((float)json_object_get_double(member(box, "x")) == boxes[i].x);
    ck_assert((float)json_object_get_double(member(box, "y")) == boxes[i].y);
    ck_assert((float)json_object_get_double(member(box, "width")) == boxes[i].w);
    ck_assert((float)json_object_get_double(member(box, "height")) == boxes[i].h);
  }
  json_object_put(o);
}
END_TEST

START_TEST(test_run_json_unknown)
{
  static const char *const keys[] = {
      "image", "plan", "algorithm", "threads", "cpu", "memory_budget_bytes", "arena_bytes",
      "predicted_charge_bytes", "predicted_resident_bytes", "measured_resident_bytes",
      "vm_hwm_bytes", "load_ms", "image_ms", "layers_ms", "latency_ms", "total_ms",
      "swap_in_bytes", "swap_out_bytes", "swap_scope", "major_faults", "weights_read_bytes"};
  struct mafat_run_report r;
  mafat_run_report_defaults(&r);
  struct json_object *o = run_object(&r);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) check_null(o, keys[i]);
  check_null(member(o, "network"), "width");
  ck_assert_uint_eq(json_object_array_length(member(o, "detections")), 0);
  ck_assert_uint_eq(json_object_array_length(member(o, "latencies_ms")), 0);
  json_object_put(o);
}
END_TEST

START_TEST(test_run_json_classes)
{
  static const struct mafat_class_score scores[] = {{281, .5f}, {0, .25f}};
  struct mafat_run_report r = full_report();
  r.kind = MAFAT_MODEL_CLASSIFIER;
  r.detections = NULL;
  r.classes = scores;
  r.n_classes = 2;
  struct json_object *o = run_object(&r), *list = member(o, "classes");
  ck_assert_uint_eq(json_object_array_length(member(o, "detections")), 0);
  ck_assert_uint_eq(json_object_array_length(list), 2);
  struct json_object *first = json_object_array_get_idx(list, 0);
  check_string(first, "label", "class 281");
  check_count(first, "class", 281);
  check_number(first, "confidence", .5);
  check_number(json_object_array_get_idx(list, 1), "confidence", .25);
  json_object_put(o);
}
END_TEST

START_TEST(test_strange_numbers)
{
  static const double strange[] = {NAN,      INFINITY, -INFINITY, DBL_MAX,
                                   -DBL_MAX, DBL_MIN,  1e-310,    -0.};
  enum { N = sizeof strange / sizeof *strange };
  struct mafat_run_report r = full_report();
  r.latencies_ms = strange;
  r.n_latencies = N;
  for (int i = 0; i < N; i++) {
    r.latency_ms = strange[i];
    struct json_object *o = run_object(&r);
    if (isfinite(strange[i]))
      check_number(o, "latency_ms", strange[i]);
    else
      check_null(o, "latency_ms");
    json_object_put(o);
    ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
    ck_assert(strstr(take(), "nan") == NULL && strstr(written, "inf") == NULL);
  }
}
END_TEST

/* ---- Text from outside. ---- */

/* The member KEY_bytes: the text in hexadecimal digits if it is not UTF-8, else absent. */
static void check_bytes(struct json_object *o, const char *key, const char *raw, bool valid)
{
  char digits[512] = "";
  struct json_object *found = NULL;
  for (size_t i = 0; raw[i]; i++) sprintf(digits + 2 * i, "%02x", (unsigned char)raw[i]);
  bool there = json_object_object_get_ex(o, key, &found);
  ck_assert_msg(there == !valid, "%s: %s", key, digits);
  if (there) ck_assert_str_eq(json_object_get_string(found), digits);
}

#define FFFD "\xef\xbf\xbd"

static const struct {
  const char *raw, *json, *plain; /* plain: NULL if equal to json */
} strings[] = {
    {"", "", NULL},
    {"a \"quoted\" \\ back/slash", "a \"quoted\" \\ back/slash", NULL},
    {"\x01\x02\b\t\n\v\f\r\x1b[31m\x1f\x7f", "\x01\x02\b\t\n\v\f\r\x1b[31m\x1f\x7f",
     "?????????[31m??"},
    {"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x95", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x95",
     NULL},
    {"\xc2\x80\xc2\x9b" "1m\xc2\xa0", "\xc2\x80\xc2\x9b" "1m\xc2\xa0", "??1m\xc2\xa0"},
    {"\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", "\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", NULL},
    {"\xff\xfe", FFFD FFFD, NULL},
    {"caf\xe9.jpg", "caf" FFFD ".jpg", NULL},
    {"\x80"
     "a\xbf",
     FFFD "a" FFFD, NULL},
    {"\xc0\xaf \xc1\xbf", FFFD FFFD " " FFFD FFFD, NULL}, /* overlong encodings */
    {"\xe0\x9f\xbf", FFFD FFFD FFFD, NULL},
    {"\xf0\x8f\xbf\xbf", FFFD FFFD FFFD FFFD, NULL},
    {"\xed\xa0\x80 \xed\x9f\xbf", FFFD FFFD FFFD " \xed\x9f\xbf", NULL}, /* a surrogate */
    {"\xf4\x90\x80\x80 \xf4\x8f\xbf\xbf", FFFD FFFD FFFD FFFD " \xf4\x8f\xbf\xbf", NULL},
    {"\xf5\x80\x80\x80", FFFD FFFD FFFD FFFD, NULL},
    {"cut \xc3", "cut " FFFD, NULL},
    {"cut \xe2\x82", "cut " FFFD FFFD, NULL},
    {"cut \xf0\x9f\x90", "cut " FFFD FFFD FFFD, NULL},
    {"\xe2\"\\", FFFD "\"\\", NULL},
};

START_TEST(test_strings)
{
  const char *json = strings[_i].json, *plain = strings[_i].plain ? strings[_i].plain : json;
  char expected[256];
  struct mafat_run_report r = full_report();
  r.image = r.plan = strings[_i].raw;
  struct json_object *o = run_object(&r);
  check_string(o, "image", json);
  check_string(o, "plan", json);
  bool valid = !strstr(json, FFFD);
  check_bytes(o, "image_bytes", r.image, valid);
  check_bytes(o, "plan_bytes", r.plan, valid);
  json_object_put(o);

  ck_assert_int_eq(mafat_output_error_json(strings[_i].raw, strings[_i].raw, 2, &writer), MAFAT_OK);
  o = take_object();
  check_string(o, "image", json);
  check_string(o, "error", json);
  check_count(o, "exit_code", 2);
  check_bytes(o, "image_bytes", strings[_i].raw, valid);
  check_bytes(o, "error_bytes", strings[_i].raw, valid);
  ck_assert_int_eq(json_object_object_length(o), valid ? 3 : 5);
  json_object_put(o);

  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
  snprintf(expected, sizeof expected, "%s: 2 detections", plain);
  ck_assert_msg(strncmp(take(), expected, strlen(expected)) == 0, "%s", written);
}
END_TEST

START_TEST(test_random_bytes)
{
  char bytes[9000]; /* more than the buffer */
  srand(1);
  for (int round = 0; round < 50; round++) {
    size_t n = (size_t)rand() % sizeof bytes;
    for (size_t i = 0; i < n; i++)
      bytes[i] = (char)(rand() % 3 ? 1 + rand() % 255 : "\xc2\xe2\xf0\x80\"\\"[rand() % 6]);
    bytes[n ? n - 1 : 0] = 0;
    ck_assert_int_eq(mafat_output_error_json(bytes, NULL, 1, &writer), MAFAT_OK);
    struct json_object *o = take_object();
    check_null(o, "error");
    json_object_put(o);
  }
}
END_TEST

START_TEST(test_labels)
{
  char path[] = "/tmp/mafat-output-XXXXXX";
  struct mafat_names *names = NULL;
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, "person\n\"dog\"\x1b\xff\n", 15), 15);
  close(fd);
  ck_assert_int_eq(mafat_names_read(&names, path, NULL), MAFAT_OK);
  unlink(path);
  struct mafat_run_report r = full_report();
  r.names = names;
  struct json_object *o = run_object(&r), *list = member(o, "detections");
  check_string(json_object_array_get_idx(list, 0), "label", "class 17");
  check_string(json_object_array_get_idx(list, 1), "label", "\"dog\"\x1b" FFFD);
  json_object_put(o);
  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
  ck_assert_ptr_nonnull(strstr(take(), "\n  \"dog\"?" FFFD " 50 %"));
  mafat_names_close(&names);
}
END_TEST

/* ---- Text. ---- */

START_TEST(test_run_text)
{
  struct mafat_run_report r = full_report();
  r.latency_ms = 12.345;
  r.measured_resident_bytes = 6500000;
  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
  ck_assert_str_eq(take(), "dog.jpg: 2 detections in 12.3 ms, memory 6.2 of 64.0 MiB\n"
                           "  class 17 94 %  (131, 221) 183 x 319\n"
                           "  class 1 50 %  (-13, 1000000000) 0 x 0\n");
  struct mafat_detections one = {.list = boxes, .n = 1}, none = {.n = 0};
  boxes[0].x = -.4f;
  r.detections = &one;
  r.memory_budget_bytes = -1;
  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
  ck_assert_str_eq(take(), "dog.jpg: 1 detection in 12.3 ms, memory 6.2 MiB\n"
                           "  class 17 94 %  (0, 221) 183 x 319\n");
  boxes[0].x = 131.25f;
  r.detections = &none;
  r.latency_ms = NAN;
  r.measured_resident_bytes = -1;
  r.image = NULL;
  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
  ck_assert_str_eq(take(), "input: 0 detections\n");
}
END_TEST

START_TEST(test_run_text_of_other_networks)
{
  static const struct mafat_class_score scores[] = {{281, .47125f}, {0, .25f}};
  struct mafat_run_report r = full_report();
  r.detections = NULL;
  r.kind = MAFAT_MODEL_OTHER;
  r.measured_resident_bytes = 6500000;
  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
  ck_assert_str_eq(take(), "dog.jpg: run in 12.5 ms, memory 6.2 of 64.0 MiB\n");
  r.kind = MAFAT_MODEL_CLASSIFIER;
  r.classes = scores;
  r.n_classes = 2;
  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
  ck_assert_str_eq(take(), "dog.jpg: classified in 12.5 ms, memory 6.2 of 64.0 MiB\n  class 281 "
                           "47.1 %\n  class 0 25.0 %\n");
}
END_TEST

START_TEST(test_table)
{
  static const struct mafat_report_row rows[] = {
      {MAFAT_ROW_GROUP, 0, 7, "5x5 tiles", 100, 2500000000, 12582912},
      {MAFAT_ROW_LAYER, 0, 0, "convolutional 3x3", 10.5, 315000000, 1048576},
      {MAFAT_ROW_LAYER, 1, 1, NULL, NAN, -1, -1},
      {MAFAT_ROW_GROUP, 8, 8, "a name that is longer than its column is", 0, 0, 0},
      {MAFAT_ROW_TOTAL, 0, 0, "", 1e300, INT64_MAX, INT64_MAX}};
  ck_assert_int_eq(mafat_output_table(rows, 4, &writer), MAFAT_OK);
  ck_assert_str_eq(take(), "layers                                                  ms            "
                           "MACs   GMAC/s           bytes\n"
                           "0-7         5x5 tiles                              100.000      "
                           "2500000000    25.00        12582912\n"
                           "  0         convolutional 3x3                       10.500       "
                           "315000000    30.00         1048576\n"
                           "  1                                                      -             "
                           "  -        -               -\n"
                           "8           a name that is longer than its column is     0.000         "
                           "      0        -               0\n");
  ck_assert_int_eq(mafat_output_table(&rows[4], 1, &writer), MAFAT_OK);
  ck_assert_ptr_nonnull(strstr(take(), "\ntotal "));
}
END_TEST

/* ---- Locales. ---- */

START_TEST(test_locale)
{
  struct mafat_run_report r = full_report();
  if (!test_comma_locale()) return;
  struct json_object *o = run_object(&r);
  ck_assert_ptr_nonnull(strstr(written, "\"load_ms\":100.125,"));
  json_object_put(o);
  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_OK);
  ck_assert_ptr_nonnull(strstr(take(), "in 12.5 ms"));
}
END_TEST

/* ---- Descriptors. ---- */

START_TEST(test_errors_stay)
{
  struct mafat_run_report r = full_report();
  struct mafat_diagnostic d;
  int full = open("/dev/full", O_WRONLY);
  ck_assert_int_ge(full, 0);
  mafat_writer_open(&writer, full);
  ck_assert_int_eq(mafat_output_run_json(&r, &writer), MAFAT_EIO);
  writer.fd = memory_fd; /* as if the disk had room again */
  ck_assert_int_eq(mafat_output_run_text(&r, &writer), MAFAT_EIO);
  ck_assert_int_eq(mafat_writer_flush(&writer, &d), MAFAT_EIO);
  ck_assert_ptr_nonnull(strstr(d.text, strerror(ENOSPC)));
  ck_assert_str_eq(take(), "");
  close(full);
}
END_TEST

static void *read_slowly(void *fd)
{
  size_t *n = calloc(1, sizeof *n);
  char part[777];
  ssize_t got;
  while ((got = read(*(int *)fd, part, sizeof part)) > 0) {
    *n += (size_t)got;
    usleep(200);
  }
  return n;
}

/* A slow reader of a non-blocking pipe, which causes partial writes and EAGAIN, gets all bytes. */
START_TEST(test_full_pipe)
{
  int ends[2];
  pthread_t reader;
  void *n_read;
  struct mafat_detections many = {.list = calloc(4000, sizeof *boxes), .n = 4000};
  struct mafat_run_report r = full_report();
  r.detections = &many;
  ck_assert_ptr_nonnull(many.list);
  ck_assert_int_eq(mafat_output_run_json(&r, &writer), MAFAT_OK);
  size_t expected = strlen(take());
  ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
  ck_assert_int_eq(fcntl(ends[0], F_SETFL, 0), 0);
  ck_assert_int_eq(pthread_create(&reader, NULL, read_slowly, &ends[0]), 0);
  mafat_writer_open(&writer, ends[1]);
  ck_assert_int_eq(mafat_output_run_json(&r, &writer), MAFAT_OK);
  close(ends[1]);
  ck_assert_int_eq(pthread_join(reader, &n_read), 0);
  ck_assert_uint_eq(*(size_t *)n_read, expected);
  free(n_read);
  free(many.list);
  close(ends[0]);
}
END_TEST

START_TEST(test_closed_pipe)
{
  int ends[2];
  struct mafat_run_report r = full_report();
  ck_assert_int_eq(pipe(ends), 0);
  close(ends[0]);
  signal(SIGPIPE, SIG_IGN);
  mafat_writer_open(&writer, ends[1]);
  ck_assert_int_eq(mafat_output_run_json(&r, &writer), MAFAT_EIO);
  ck_assert_int_eq(writer.error, EPIPE);
  close(ends[1]);
}
END_TEST

Suite *output_suite(void)
{
  Suite *s = suite_create("output");
  TCase *writing = tcase_create("writing");
  tcase_set_timeout(writing, 60);
  tcase_add_checked_fixture(writing, open_writer, close_writer);
  tcase_add_test(writing, test_run_json);
  tcase_add_test(writing, test_run_json_detections);
  tcase_add_test(writing, test_run_json_unknown);
  tcase_add_test(writing, test_run_json_classes);
  tcase_add_test(writing, test_strange_numbers);
  tcase_add_loop_test(writing, test_strings, 0, sizeof strings / sizeof *strings);
  tcase_add_test(writing, test_random_bytes);
  tcase_add_test(writing, test_labels);
  tcase_add_test(writing, test_run_text);
  tcase_add_test(writing, test_run_text_of_other_networks);
  tcase_add_test(writing, test_table);
  tcase_add_test(writing, test_locale);
  tcase_add_test(writing, test_errors_stay);
  tcase_add_test(writing, test_full_pipe);
  tcase_add_test(writing, test_closed_pipe);
  suite_add_tcase(s, writing);
  return s;
}
