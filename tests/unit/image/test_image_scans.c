/* Covers runner/image/{jpeg_markers, jpeg_rows, jpeg_baseline, jpeg, source}.c: JPEGs of several
 * scans have the pixels that libjpeg decodes when it keeps all coefficients, and are refused if
 * libjpeg warns of damage. Writes pictures to a folder in /tmp. */
#include <check.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "tests/support/picture_reader.h"
#include "tests/support/picture_writer.h"
#include "tests/support/random.h"
#include "tests/support/support.h"

Suite *image_scans_suite(void);

enum { MOST_SCANS = 600, COEFS = 64 };

/* The scans of a file. */
struct script {
  jpeg_scan_info scans[MOST_SCANS];
  int n;
};

/* ---- random files ---- */

/* Adds a scan of n components: coefficients first to last, with the bits from `low` on. high: the
 * scans before had the bits from `high` on; 0: they had none. */
static void add_scan(struct script *s, const int *components, int n, int first, int last, int high,
                     int low)
{
  ck_assert_int_lt(s->n, MOST_SCANS);
  jpeg_scan_info *scan = &s->scans[s->n++];
  *scan = (jpeg_scan_info){n, {0}, first, last, high, low};
  for (int i = 0; i < n; i++) scan->component_index[i] = components[i];
}

/* Divides the components into groups of neighbors, and adds a scan for each. */
static void add_groups(struct script *s, struct test_rng *r, int n, int last, int high, int low)
{
  int all[4] = {0, 1, 2, 3};
  for (int i = 0, size; i < n; i += size) {
    size = test_random_int(r, 1, n - i);
    add_scan(s, all + i, size, 0, last, high, low);
  }
}

/* Adds the scans of one component's coefficients from first to last: the bits from `low` on, and
 * then each bit below. */
static void add_band(struct script *s, struct test_rng *r, int component, int first, int last)
{
  int low = test_random_int(r, 0, 3);
  add_scan(s, &component, 1, first, last, 0, low);
  for (; low > 0; low--) {
    int middle = test_random_int(r, 0, 3) ? last : test_random_int(r, first, last);
    add_scan(s, &component, 1, first, middle, low, low - 1);
    if (middle < last) add_scan(s, &component, 1, middle + 1, last, low, low - 1);
  }
}

/* Adds the scans of a progressive file: DC, then AC in bands, then the remaining bits of DC. Bands
 * that begin at coefficient 10 or later may be left out, because libjpeg only smooths if one of the
 * first nine AC coefficients is missing. */
static void make_progressive(struct script *s, struct test_rng *r, int n)
{
  int low = test_random_int(r, 0, 2);
  add_groups(s, r, n, 0, 0, low);
  for (int i = 0; i < n; i++)
    for (int first = 1, last; first < COEFS; first = last + 1) {
      last = test_random_int(r, 0, 2) ? test_random_int(r, first, COEFS - 1) : COEFS - 1;
      if (first < 10 || test_random_int(r, 0, 9)) add_band(s, r, i, first, last);
    }
  for (; low > 0; low--) add_groups(s, r, n, 0, low, low - 1);
}

/* Adds the scans that complete the file of the test other_files_are_decoded_whole. */
static void make_rest(struct script *s)
{
  const int luma = 0, blue = 1, red = 2;
  add_scan(s, &luma, 1, 6, 63, 0, 0);
  add_scan(s, &blue, 1, 1, 63, 0, 0);
  add_scan(s, &red, 1, 1, 63, 0, 0);
}

/* Adds the scans of a file that is not progressive: each scan has some components, with all their
 * coefficients. */
static void make_sequential(struct script *s, struct test_rng *r, int n)
{
  do {
    s->n = 0;
    add_groups(s, r, n, COEFS - 1, 0, 0);
  } while (s->n == 1);
}

/* A file to be written. */
struct file {
  int width, height, n; /* n: components */
  bool progressive, arithmetic;
  bool large_mcu; /* more than 10 blocks in an MCU of all components */
  struct script script;
};

static void set_style(struct jpeg_compress_struct *cinfo, const struct file *f, struct test_rng *r)
{
  static const int sides[] = {1, 1, 1, 2, 2, 4};
  int blocks;
  cinfo->image_width = (JDIMENSION)f->width;
  cinfo->image_height = (JDIMENSION)f->height;
  cinfo->input_components = f->n;
  cinfo->in_color_space = f->n == 1 ? JCS_GRAYSCALE : f->n == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(cinfo);
  if (f->n == 4 && test_random_chance(r, 50)) jpeg_set_colorspace(cinfo, JCS_YCCK);
  if (f->n == 3 && test_random_chance(r, 20)) jpeg_set_colorspace(cinfo, JCS_RGB);
  jpeg_set_quality(cinfo, TEST_PICK(r, ((int[]){1, 10, 50, 90, 98, 100})), false);
  do {
    blocks = 0;
    for (int i = 0; i < f->n; i++) {
      cinfo->comp_info[i].h_samp_factor = TEST_PICK(r, sides);
      cinfo->comp_info[i].v_samp_factor = TEST_PICK(r, sides);
      blocks += cinfo->comp_info[i].h_samp_factor * cinfo->comp_info[i].v_samp_factor;
      cinfo->comp_info[i].quant_tbl_no = i && test_random_chance(r, 50) ? 1 : 0;
    }
  } while ((blocks > 10) != f->large_mcu);
  if (test_random_chance(r, 40)) cinfo->restart_interval = (unsigned)test_random_int(r, 1, 30);
  if (test_random_chance(r, 10)) cinfo->restart_in_rows = 1;
  cinfo->arith_code = f->arithmetic;
  cinfo->optimize_coding = !f->arithmetic && test_random_chance(r, 50);
  cinfo->scan_info = f->script.scans;
  cinfo->num_scans = f->script.n;
}

static void ignore_message(j_common_ptr cinfo, int level)
{
  (void)cinfo, (void)level;
}

static void write_file(const struct file *f, struct test_rng *r)
{
  FILE *file = fopen(picture_path, "wb");
  ck_assert_ptr_nonnull(file);
  struct jpeg_compress_struct cinfo;
  struct jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  errors.emit_message = ignore_message; /* quantization too coarse for baseline */
  jpeg_create_compress(&cinfo);
  jpeg_stdio_dest(&cinfo, file);
  set_style(&cinfo, f, r);
  jpeg_start_compress(&cinfo, TRUE);
  uint8_t *row = malloc((size_t)f->width * (size_t)f->n);
  int noise = TEST_PICK(r, ((int[]){0, 3, 60, 255}));
  for (int y = 0; y < f->height; y++) {
    for (int i = 0; i < f->width * f->n; i++) {
      int x = (int)(picture_sample(i / f->n, y, i % f->n) >> 8) + test_random_int(r, 0, noise);
      row[i] = (uint8_t)(x > 255 ? x - 255 : x);
    }
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  free(row);
  fclose(file);
}

static void write_random(struct file *f, struct test_rng *r)
{
  *f = (struct file){.width = test_random_int(r, 1, 150),
                     .height = test_random_int(r, 1, 150),
                     .n = TEST_PICK(r, ((int[]){1, 3, 3, 3, 4})),
                     .progressive = true};
  if (f->n > 1 && test_random_chance(r, 20)) f->progressive = false;
  if (f->progressive) make_progressive(&f->script, r, f->n);
  else make_sequential(&f->script, r, f->n);
  write_file(f, r);
}

/* ---- reading ---- */

/* Rows that libjpeg decodes from bytes by itself. */
struct wanted {
  struct jpeg_error_mgr errors;
  jmp_buf escape;
  bool damaged, ended; /* ended: the end marker was not found */
  uint8_t *rows; /* (height, width, n) */
  int width, height, n;
};

static void on_error(j_common_ptr cinfo)
{
  struct wanted *w = cinfo->client_data;
  w->damaged = true;
  longjmp(w->escape, 1);
}

static void on_message(j_common_ptr cinfo, int level)
{
  struct wanted *w = cinfo->client_data;
  int message = cinfo->err->msg_code;
  if (level < 0 && (message == JWRN_ARITH_BAD_CODE || message == JWRN_HIT_MARKER ||
                    message == JWRN_HUFF_BAD_CODE || message == JWRN_MUST_RESYNC))
    w->damaged = true;
  if (level < 0 && message == JWRN_JPEG_EOF) w->ended = true;
}

static void decode_rows(struct wanted *w, struct jpeg_decompress_struct *cinfo,
                        const uint8_t *bytes, size_t n, int channels, int shrunk)
{
  if (setjmp(w->escape)) return;
  jpeg_create_decompress(cinfo);
  jpeg_mem_src(cinfo, bytes, (unsigned long)n);
  jpeg_read_header(cinfo, TRUE);
  cinfo->out_color_space = cinfo->num_components == 4 ? JCS_CMYK
                           : channels == 3            ? JCS_RGB
                                                      : JCS_GRAYSCALE;
  cinfo->scale_denom = (unsigned)shrunk;
  cinfo->scale_num = 1;
  if ((size_t)cinfo->image_width * cinfo->image_height > 1 << 22) on_error((j_common_ptr)cinfo);
  jpeg_start_decompress(cinfo);
  w->width = (int)cinfo->output_width;
  w->height = (int)cinfo->output_height;
  w->n = cinfo->output_components;
  size_t stride = (size_t)w->width * (size_t)w->n;
  w->rows = malloc(stride * (size_t)w->height);
  for (uint8_t *row = w->rows; cinfo->output_scanline < cinfo->output_height; row += stride)
    jpeg_read_scanlines(cinfo, &row, 1);
  jpeg_finish_decompress(cinfo);
}

static struct wanted *decode(const uint8_t *bytes, size_t n, int channels, int shrunk)
{
  struct wanted *w = calloc(1, sizeof *w);
  struct jpeg_decompress_struct cinfo = {.err = jpeg_std_error(&w->errors), .client_data = w};
  w->errors.error_exit = on_error;
  w->errors.emit_message = on_message;
  decode_rows(w, &cinfo, bytes, n, channels, shrunk);
  jpeg_destroy_decompress(&cinfo);
  return w;
}

static int compare_row(void *context, unsigned char *row, int y, struct mafat_diagnostic *d)
{
  const struct wanted *w = context;
  const uint8_t *wanted = w->rows + (size_t)y * (size_t)(w->width * w->n);
  (void)d;
  if (w->damaged) return MAFAT_OK;
  if (w->n != 4) {
    ck_assert_mem_eq(row, wanted, (size_t)(w->width * w->n));
    return MAFAT_OK;
  }
  for (int x = 0; x < w->width; x++) /* of CMYK only the conversion to colours is seen */
    for (int k = 0; k < 3; k++) {
      int black = wanted[4 * x + 3], ink = wanted[4 * x + k];
      ck_assert_int_eq(row[3 * x + k], black - ((255 - ink) * black >> 8));
    }
  return MAFAT_OK;
}

/* Reads all rows of a picture, compares them, and closes it. */
static int read_rows(struct mafat_image **im, struct wanted *w)
{
  int code = mafat_image_each_row(*im, compare_row, w, &picture_diagnostic);
  mafat_image_close(im);
  return code;
}

/* Compares the file's rows with libjpeg's, also those of the same bytes as a video frame. Returns
 * mafat_image_info. */
static struct mafat_image_info compare(int channels, int shrunk)
{
  size_t n;
  uint8_t *bytes = picture_read_bytes(picture_path, &n);
  struct wanted *w = decode(bytes, n, channels, shrunk);
  ck_assert(!w->damaged);
  const struct mafat_image_input input = {w->width, w->height, w->n == 4 ? 3 : channels,
                                          .fit = MAFAT_FIT_STRETCH, .shrinks = shrunk > 1};
  struct mafat_image *im = NULL;
  int code = mafat_image_open(&im, picture_path, &input, &picture_diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", picture_diagnostic.text);
  struct mafat_image_info info = *mafat_image_describe(im);
  code = read_rows(&im, w);
  ck_assert_msg(code == MAFAT_OK, "%s", picture_diagnostic.text);

  char size[64];
  struct mafat_frame frame = {.bytes = bytes, .n = n};
  snprintf(size, sizeof size, "%dx%d:mjpeg", info.width, info.height);
  ck_assert_int_eq(mafat_frame_format_read(&frame.format, size, NULL), MAFAT_OK);
  code = mafat_image_open_frame(&im, &frame, &input, &picture_diagnostic);
  if (code == MAFAT_OK) code = read_rows(&im, w);
  ck_assert_msg(code == MAFAT_OK, "%s", picture_diagnostic.text);
  free(w->rows);
  free(w);
  free(bytes);
  return info;
}

START_TEST(random_scans_give_the_pixels_of_libjpeg)
{
  static const int scales[] = {1, 1, 2, 4, 8};
  struct test_rng r = test_rng((uint64_t)_i);
  for (int i = 0; i < test_seeds(50); i++) {
    struct file f;
    write_random(&f, &r);
    struct mafat_image_info info =
        compare(test_random_chance(&r, 20) ? 1 : 3, TEST_PICK(&r, scales));
    ck_assert(!info.whole);
    ck_assert_int_eq(info.n_scans, f.script.n);
  }
}
END_TEST

/* libjpeg decodes files that cannot be converted, and keeps all their coefficients. */
START_TEST(other_files_are_decoded_whole)
{
  struct test_rng r = test_rng(7);
  const int luma = 0, all[] = {0, 1, 2};
  for (int kind = 0; kind < 3; kind++) {
    struct file f = {.width = 70, .height = 45, .n = 3, .progressive = true};
    for (int i = 0; i < 3; i++) add_scan(&f.script, all + i, 1, 0, 0, 0, 0);
    add_scan(&f.script, &luma, 1, 1, 5, 0, 0);
    if (kind == 0) add_scan(&f.script, &luma, 1, 6, 63, 0, 1); /* chroma has no AC: smoothed */
    else make_rest(&f.script);
    f.arithmetic = kind == 1;
    f.large_mcu = kind == 2;
    write_file(&f, &r);
    ck_assert(compare(3, 1).whole);
  }
}
END_TEST

/* Other segments, fill bytes, and tables that no scan uses may stand between scans. */
START_TEST(segments_between_scans_change_nothing)
{
  static const char fill[] = "\xff\xff\xff", comment[] = "\xff\xfe\0\x08\xff\xd9\xff\xda\0\1",
                    restarts[] = "\xff\xd3\xff\1", junk[] = "junk \xff\0";
  char table[4 + 65] = "\xff\xdb\0\x43";
  const struct {
    const char *bytes;
    size_t n;
  } rows[] = {{fill, 3}, {comment, 10}, {restarts, 4}, {junk, 7}, {table, sizeof table}};
  struct test_rng r = test_rng(3);
  memset(table + 5, 77, 64);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct file f;
    size_t n, at;
    write_random(&f, &r);
    uint8_t *bytes = picture_read_bytes(picture_path, &n), *more = malloc(n + 100);
    const uint8_t *first = memmem(bytes, n, "\xff\xda", 2);
    const uint8_t *second = memmem(first + 2, (size_t)(bytes + n - first - 2), "\xff\xda", 2);
    ck_assert(first && second);
    at = (size_t)(second - bytes);
    memcpy(more, bytes, at);
    memcpy(more + at, rows[i].bytes, rows[i].n);
    memcpy(more + at + rows[i].n, second, n - at);
    picture_write_bytes(picture_path, more, n + rows[i].n);
    ck_assert_int_eq(compare(3, 1).n_scans, f.script.n);
    free(bytes);
    free(more);
  }
}
END_TEST

/* Hundreds of scans are read; more than the limit are refused before anything is decoded. */
START_TEST(the_number_of_scans_has_a_limit)
{
  struct test_rng r = test_rng(1);
  const int all[] = {0, 1, 2};
  for (int most = 300; most <= 501; most += 200 - most % 2) {
    struct file f = {.width = 9, .height = 17, .n = 3, .progressive = true};
    add_scan(&f.script, all, 3, 0, 0, 0, 0);
    for (int low = 2; low >= 0; low--)
      for (int i = 0; i < 3; i++)
        for (int k = 1; k < COEFS && f.script.n < most; k++)
          add_scan(&f.script, all + i, 1, k, k, low == 2 ? 0 : low + 1, low);
    ck_assert_int_eq(f.script.n, most);
    write_file(&f, &r);
    if (most > 500) picture_must_fail(MAFAT_EUNSUPPORTED);
    else ck_assert_int_eq(compare(3, 1).n_scans, most);
  }
}
END_TEST

/* Files with a changed bit are refused if libjpeg warns of damage; otherwise the pixels are equal.
 * If a scan or the end marker is lost, files that libjpeg fills with grey may be refused. */
START_TEST(damage_is_judged_as_by_libjpeg)
{
  struct test_rng r = test_rng(100 + (uint64_t)_i);
  int accepted = 0, n_cases = test_seeds(20);
  for (int i = 0; i < n_cases; i++) {
    struct file f;
    size_t n;
    write_random(&f, &r);
    uint8_t *bytes = picture_read_bytes(picture_path, &n);
    for (int k = 0; k < 40; k++) {
      int at = test_random_int(&r, 3, (int)n - 3), bit = test_random_int(&r, 0, 7);
      bytes[at] ^= (uint8_t)(1 << bit);
      picture_write_bytes(picture_path, bytes, n);
      struct wanted *w = decode(bytes, n, 3, 1);
      struct mafat_image *im = NULL;
      picture_diagnostic.text[0] = 0;
      const struct mafat_image_input input = {64, 64, 3, .fit = MAFAT_FIT_STRETCH};
      int code = mafat_image_open(&im, picture_path, &input, &picture_diagnostic);
      if (code == MAFAT_OK && mafat_image_bytes(im) > (size_t)64 << 20) {
        mafat_image_close(&im);
        code = MAFAT_EFORMAT;
        w->damaged = true;
      }
      if (code == MAFAT_OK) code = read_rows(&im, w);
      ck_assert_msg((code == MAFAT_OK) == !w->damaged || (code && w->ended),
                    "case %d, byte %d, bit %d: %s", i, at, bit,
                    picture_diagnostic.text);
      accepted += code == MAFAT_OK;
      free(w->rows);
      free(w);
      bytes[at] ^= (uint8_t)(1 << bit);
    }
    free(bytes);
  }
  ck_assert_int_gt(accepted, 0);
}
END_TEST

Suite *image_scans_suite(void)
{
  Suite *suite = suite_create("image_scans");
  TCase *scans = picture_case(suite, "scans", 300);
  tcase_add_loop_test(scans, random_scans_give_the_pixels_of_libjpeg, 0, 10);
  tcase_add_test(scans, other_files_are_decoded_whole);
  tcase_add_test(scans, segments_between_scans_change_nothing);
  tcase_add_test(scans, the_number_of_scans_has_a_limit);
  tcase_add_loop_test(scans, damage_is_judged_as_by_libjpeg, 0, 5);
  return suite;
}
