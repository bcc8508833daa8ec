/* Covers formats/packed/{packed, bytes, hash, index}.c, formats/darknet/constants.c,
 * runner/weights/weights_file.c: a packed Darknet model holds its whole network, and is refused if
 * any byte was changed. */
#include "formats/darknet/darknet.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "runner/weights/weights_file.h"

#include "tests/support/network_files.h"
#include "tests/support/weight_files.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Suite *packed_suite(void);

static struct mafat_diagnostic diagnostic;

START_TEST(header_and_index_are_checked)
{
  struct mafat_network *n = test_network(test_wide_cfg);
  uint64_t index_bytes;
  test_write_wide();
  FILE *file = fopen(test_packed_path, "rb");
  fseek(file, TEST_INDEX_BYTES_AT, SEEK_SET);
  ck_assert_uint_eq(fread(&index_bytes, sizeof index_bytes, 1, file), 1);
  fclose(file);
  for (long at = 0; at < MAFAT_PACKED_ALIGNMENT + (long)index_bytes; at += 5) {
    if (at >= TEST_HEADER_BYTES && at < MAFAT_PACKED_ALIGNMENT) continue;
    struct mafat_weights *w;
    unsigned char byte;
    int fd = open(test_packed_path, O_RDONLY);
    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    close(fd);
    byte ^= 0x10;
    test_overwrite(test_packed_path, at, &byte, 1);
    ck_assert_int_ne(
        mafat_weights_open_kept(&w, test_packed_path, n, n->n_layers, NULL, &diagnostic), MAFAT_OK);
    ck_assert_int_ne(mafat_packer_check(test_packed_path, NULL, &diagnostic), MAFAT_OK);
    byte ^= 0x10;
    test_overwrite(test_packed_path, at, &byte, 1);
  }
  mafat_network_close(&n);
}
END_TEST

/* A cfg whose packed model is small enough to change each of its bytes. */
static const char *const small_cfg = "[net]\nheight=8\nwidth=8\nchannels=3\nbatch=64\n[conv]"
                                     "\nbatch_normalize=1\nfilters=10\nsize=3\npad=1\n"
                                     "activation=leaky\n[max]\nsize=2\n[route]\nlayers=-1,0\n["
                                     "shortcut]\nfrom=-1\nactivation=linear\n"
                                     "[convolutional]\nsize=1\nfilters=16\n[yolo]\nanchors=1.25,2,"
                                     "3,4,5,6\nmask=0,2\nnum=3\nclasses=3\n";

static void write_small_with(const struct mafat_stored_options *options)
{
  struct mafat_cfg *cfg;
  struct mafat_network *n;
  ck_assert_int_eq(mafat_cfg_parse(&cfg, "small.cfg", small_cfg, strlen(small_cfg), &diagnostic),
                   MAFAT_OK);
  ck_assert_int_eq(mafat_darknet_make(&n, cfg, NULL, NULL, &diagnostic), MAFAT_OK);
  int fd = test_weights_file(n, 3), out = open(test_packed_path, O_RDWR | O_TRUNC | O_CREAT, 0600);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const struct mafat_packed_origin origin = {.cfg = cfg, .options = options};
  int code = mafat_packer_write(path, n, &origin, out, test_packed_path, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  close(fd);
  close(out);
  mafat_cfg_close(&cfg);
  mafat_network_close(&n);
}

static void write_small(void)
{
  write_small_with(NULL);
}

static void same_operands(const struct mafat_operand *a, const struct mafat_operand *b)
{
  ck_assert(a->broadcast == b->broadcast && memcmp(&a->shape, &b->shape, sizeof a->shape) == 0);
  ck_assert_int_eq(a->sources.n, b->sources.n);
  for (int i = 0; i < a->sources.n; i++)
    ck_assert_mem_eq(&a->sources.list[i], &b->sources.list[i], sizeof a->sources.list[i]);
}

/* Compares networks without their names. */
static void same_networks(const struct mafat_network *a, const struct mafat_network *b)
{
  ck_assert(a->n_layers == b->n_layers && a->n_inputs == b->n_inputs);
  ck_assert(a->letterbox == b->letterbox);
  for (int l = 0; l < mafat_network_n_tensors(a); l++) {
    struct mafat_layer x = a->layers[l], y = b->layers[l];
    ck_assert_int_eq(x.n_operands, y.n_operands);
    for (int k = 0; k < x.n_operands; k++) same_operands(&x.operands[k], &y.operands[k]);
    ck_assert_int_eq(x.head.n_anchors, y.head.n_anchors);
    if (x.head.anchors)
      ck_assert_mem_eq(x.head.anchors, y.head.anchors,
                       2 * (size_t)x.head.n_anchors * sizeof(float));
    x.operands = y.operands = NULL;
    x.head.anchors = y.head.anchors = NULL;
    ck_assert_msg(memcmp(&x, &y, sizeof x) == 0, "layer %d differs", l);
  }
}

static void count_warning(void *context, const char *text)
{
  (void)text;
  ++*(int *)context;
}

START_TEST(a_packed_model_holds_its_network)
{
  int n_warnings = 0;
  struct mafat_network *wanted = test_network(small_cfg), *found;
  struct mafat_weights *w;
  struct mafat_warning_sink sink = {count_warning, &n_warnings};
  write_small();
  int code = test_packed_network_read(&found, test_packed_path, NULL, &sink, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(n_warnings, 0); /* unknown keys of the cfg are not packed */
  ck_assert_str_eq(found->path, test_packed_path);
  same_networks(wanted, found);
  ck_assert_int_eq(mafat_weights_open_kept(&w, test_packed_path, found, found->n_layers, NULL,
                                           &diagnostic),
                   MAFAT_OK);
  mafat_weights_close(&w);
  mafat_network_close(&found);
  mafat_network_close(&wanted);
}
END_TEST

/* True if the packed model is refused. Tries all ways of opening it; each must give a message. */
static bool is_refused(const struct mafat_network *n)
{
  struct mafat_weights *w;
  struct mafat_network *found;
  diagnostic.text[0] = 0;
  int opened = mafat_weights_open_kept(&w, test_packed_path, n, n->n_layers, NULL, &diagnostic);
  ck_assert(opened == MAFAT_OK || diagnostic.text[0]);
  mafat_weights_close(&w);
  diagnostic.text[0] = 0;
  int read = test_packed_network_read(&found, test_packed_path, NULL, NULL, &diagnostic);
  ck_assert(read == MAFAT_OK || diagnostic.text[0]);
  mafat_network_close(&found);
  return opened != MAFAT_OK;
}

static void check_bytes(const struct mafat_network *n, const char *whole, long from, long bytes,
                        long step)
{
  for (long at = from; at < from + bytes; at += step) {
    char byte = (char)(whole[at] ^ 0x10);
    test_overwrite(test_packed_path, at, &byte, 1);
    ck_assert_msg(is_refused(n), "a change of byte %ld was not noticed", at);
    test_overwrite(test_packed_path, at, &whole[at], 1);
  }
}

/* Changes of bytes of header, index and weights are noticed; those of padding are not checked. */
START_TEST(every_changed_byte_is_noticed)
{
  uint64_t index_bytes;
  static char whole[1 << 16];
  struct mafat_network *n = test_network(small_cfg);
  write_small();
  struct mafat_packed *p = test_describe(test_packed_path);
  int fd = open(test_packed_path, O_RDONLY);
  ck_assert_uint_eq((uint64_t)read(fd, whole, sizeof whole), p->file_bytes);
  close(fd);
  memcpy(&index_bytes, whole + TEST_INDEX_BYTES_AT, sizeof index_bytes);
  check_bytes(n, whole, 0, TEST_HEADER_BYTES, 1);
  check_bytes(n, whole, MAFAT_PACKED_ALIGNMENT, (long)index_bytes, 3);
  for (int l = 0; l < p->n_layers; l++)
    check_bytes(n, whole, (long)p->entries[l].offset, (long)p->entries[l].bytes, 29);
  for (long bytes = (long)p->file_bytes - 1; bytes >= 0;
       bytes -= bytes > 2 * MAFAT_PACKED_ALIGNMENT ? 1021 : 97) {
    ck_assert_int_eq(truncate(test_packed_path, bytes), 0);
    ck_assert_msg(is_refused(n), "cutting to %ld bytes was not noticed", bytes);
  }
  mafat_packed_close(&p);
  mafat_network_close(&n);
}
END_TEST

/* ---- options ---- */

static const struct mafat_stored_options stored[] = {
    {.numbers = 0},
    {.numbers = MAFAT_STORED_MEAN, .mean = {1.5f, -2, 300}},
    {.numbers = MAFAT_STORED_SCALE, .scale = {1 / 3.f, 0, -7}},
    {.numbers = MAFAT_STORED_PAD, .pad = 255},
    {.channels = "gray"},
    {.resize = "letterbox"},
    {.decode = "fastestdet"},
    {.numbers = MAFAT_STORED_MEAN | MAFAT_STORED_SCALE | MAFAT_STORED_PAD,
     .mean = {1, 2, 3},
     .scale = {4, 5, 6},
     .pad = 7,
     .channels = "bgr",
     .resize = "corner"}};
enum { N_STORED = sizeof stored / sizeof *stored, ALL_STORED = N_STORED - 1 };

static void same_options(const struct mafat_stored_options *found,
                         const struct mafat_stored_options *wanted)
{
  ck_assert_uint_eq(found->numbers, wanted->numbers);
  ck_assert_mem_eq(found->mean, wanted->mean, sizeof found->mean);
  ck_assert_mem_eq(found->scale, wanted->scale, sizeof found->scale);
  ck_assert_float_eq(found->pad, wanted->pad);
  ck_assert_str_eq(found->channels, wanted->channels);
  ck_assert_str_eq(found->resize, wanted->resize);
  ck_assert_str_eq(found->decode, wanted->decode);
}

/* Options are read back as stored, from the packed file alone and for a network made from the cfg.
 * A file without options has version 2, which older versions of mafat read. */
START_TEST(options_are_stored)
{
  struct mafat_network *found, *of_cfg = test_network(small_cfg);
  write_small_with(&stored[_i]);
  struct mafat_packed *p = test_describe(test_packed_path);
  ck_assert_uint_eq(p->version, _i == 0 ? 2 : 6);
  mafat_packed_close(&p);
  ck_assert_msg(test_packed_network_read(&found, test_packed_path, NULL, NULL, &diagnostic) ==
                    MAFAT_OK, "%s", diagnostic.text);
  same_options(&found->stored, &stored[_i]);
  ck_assert_int_eq(test_packed_types(of_cfg, test_packed_path, &diagnostic), MAFAT_OK);
  same_options(&of_cfg->stored, &stored[_i]);
  mafat_network_close(&found);
  mafat_network_close(&of_cfg);
}
END_TEST

/* The index ends with the options, which take OPTIONS_BYTES here. Offsets are in bytes from their
 * first. */
enum { OPTIONS_BYTES = 56, PAD_AT = 28, CHANNELS_AT = 32 };

/* Options that no version of mafat writes are refused, even if all checksums are right. */
START_TEST(invalid_options_are_refused)
{
  static const struct {
    long at;
    uint32_t word;
  } changes[] = {{0, 8},                     /* an unknown bit */
                 {0, 3},                     /* a pad that is not stored is not 0 */
                 {0, 6},                     /* nor is a mean */
                 {8, 0x7fc00000},            /* a mean of NaN */
                 {20, 0x7f800000},           /* an infinite scale */
                 {PAD_AT, 0x43800000},       /* a pad of 256 */
                 {PAD_AT, 0xbf800000},       /* a pad of -1 */
                 {CHANNELS_AT, 3},           /* a text without its final zero byte */
                 {CHANNELS_AT, 0},           /* a text without bytes */
                 {CHANNELS_AT, 0x7fffffff},  /* a text longer than the index */
                 {CHANNELS_AT + 4, 0x41}};   /* a text with a second zero byte */
  static char whole[1 << 16];
  uint64_t index_bytes;
  struct mafat_network *n = test_network(small_cfg);
  write_small_with(&stored[ALL_STORED]);
  ck_assert(!is_refused(n));
  int fd = open(test_packed_path, O_RDONLY);
  ssize_t bytes = read(fd, whole, sizeof whole);
  close(fd);
  memcpy(&index_bytes, whole + TEST_INDEX_BYTES_AT, sizeof index_bytes);
  char *options = whole + MAFAT_PACKED_ALIGNMENT + index_bytes - OPTIONS_BYTES;
  ck_assert_str_eq(options + CHANNELS_AT + 4, "bgr");
  memcpy(options + changes[_i].at, &changes[_i].word, sizeof changes[_i].word);
  test_seal_packed(whole);
  test_overwrite(test_packed_path, 0, whole, (size_t)bytes);
  ck_assert(is_refused(n));
  ck_assert_msg(strstr(diagnostic.text, "the index is damaged"), "%s", diagnostic.text);
  mafat_network_close(&n);
}
END_TEST

START_TEST(another_cfg_is_refused)
{
  static const char *const changes[][2] = {
      {"filters=400", "filters=401"},   {"groups=70", "groups=35"},
      {"layers=-1,-3", "layers=-3,-1"}, {"filters=100\nsize=3", "filters=100\nsize=5"},
      {"output=40", "output=41"},       {"[softmax]\n", ""}};
  char cfg[1024];
  struct mafat_weights *w;
  test_write_wide();
  const char *at = strstr(test_wide_cfg, changes[_i][0]);
  snprintf(cfg, sizeof cfg, "%.*s%s%s", (int)(at - test_wide_cfg), test_wide_cfg, changes[_i][1],
           at + strlen(changes[_i][0]));
  struct mafat_network *n = test_network(cfg);
  ck_assert_int_eq(mafat_weights_open_kept(&w, test_packed_path, n, n->n_layers, NULL, &diagnostic),
                   MAFAT_EFORMAT);
  ck_assert_msg(strstr(diagnostic.text, "another network"), "%s", diagnostic.text);
  mafat_network_close(&n);
}
END_TEST

Suite *packed_suite(void)
{
  Suite *s = suite_create("packed");
  TCase *t = tcase_create("packed");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, test_make_weight_files, test_remove_weight_files);
  tcase_add_test(t, header_and_index_are_checked);
  tcase_add_test(t, a_packed_model_holds_its_network);
  tcase_add_test(t, every_changed_byte_is_noticed);
  tcase_add_loop_test(t, another_cfg_is_refused, 0, 6);
  tcase_add_loop_test(t, options_are_stored, 0, N_STORED);
  tcase_add_loop_test(t, invalid_options_are_refused, 0, 11);
  suite_add_tcase(s, t);
  return s;
}
