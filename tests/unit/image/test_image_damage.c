/* Covers runner/image/{bmp, jpeg, png, ppm}.c: files that are cut, damaged, too large, or no
 * pictures are refused with a reason, or are harmless. Writes pictures to a folder in /tmp. One
 * test sets a seccomp filter in a child process. */
#include <check.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <png.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/picture_reader.h"
#include "tests/support/picture_writer.h"

Suite *image_damage_suite(void);

/* ---- Damage. ---- */

static void write_case(int i, const char *to)
{
  switch (i) {
  case 0:
    picture_write_jpeg(to, 29, 21, &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 6});
    break;
  case 1:
    picture_write_jpeg(to, 29, 21, &(struct jpeg_style){.colours = JPEG_YCC, .progressive = true});
    break;
  case 2:
    picture_write_jpeg(to, 29, 21, &(struct jpeg_style){.colours = JPEG_CMYK, .restart_rows = 1});
    break;
  case 3:
    picture_write_png(to, 29, 21,
                      &(struct png_style){.colour = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 16});
    break;
  case 4:
    picture_write_png(
        to, 29, 21,
        &(struct png_style){
            .colour = PNG_COLOR_TYPE_PALETTE, .depth = 4, .interlaced = true, .orientation = 5});
    break;
  case 5: picture_write_ppm(to, 29, 21, '6', 255); break;
  case 6: picture_write_ppm(to, 29, 21, '5', 1000); break;
  case 7: picture_write_ppm(to, 29, 21, '3', 255); break;
  case 8: picture_write_bmp(to, 29, 21, &(struct bmp_style){.bits = 24}); break;
  case 9: picture_write_bmp(to, 29, 21, &(struct bmp_style){.bits = 4}); break;
  }
}

enum { N_CASES = 10, N_JPEGS = 3, PLAIN_PPM = 7, END_MARKER_BYTES = 2 };

START_TEST(truncated_files_are_refused)
{
  size_t n;
  write_case(_i, picture_path);
  uint8_t *bytes = picture_read_bytes(picture_path, &n);
  /* A plain (ASCII) file without its final white space or last digits is still valid; so is a JPEG
   * without its end marker. */
  size_t end = _i == PLAIN_PPM ? n - 4 : _i < N_JPEGS ? n - END_MARKER_BYTES : n;
  for (size_t k = 1; k < end; k += k < 700 ? 1 : 7) {
    picture_write_bytes(picture_path, bytes, k);
    picture_must_fail(MAFAT_EFORMAT);
  }
  picture_write_bytes(picture_path, bytes, 0);
  picture_must_fail(MAFAT_EFORMAT);
  free(bytes);
}
END_TEST

static void count_warning(void *context, const char *text)
{
  ck_assert_ptr_nonnull(strstr(text, "no end marker"));
  ++*(int *)context;
}

/* A JPEG without its end marker, with half of it, or with zeros instead of it gives the pixels of
 * the complete file and a warning. This holds for decoding row by row and at a smaller size,
 * too. */
START_TEST(a_jpeg_without_end_marker_warns)
{
  enum { W = 24, H = 16 };
  static float wanted[W * H * 3], found[W * H * 3];
  int warned = 0;
  const struct mafat_warning_sink sink = {count_warning, &warned};
  for (int i = 0; i < 6; i++) {
    const struct mafat_image_input input = {W, H, 3, .fit = MAFAT_FIT_LETTERBOX,
                                            .shrinks = i >= N_JPEGS, .warnings = &sink};
    size_t n;
    picture_write_jpeg(picture_path, 61, 52,
                       &(struct jpeg_style){.colours = i % 2 ? JPEG_YCC : JPEG_CMYK, .h = 2, .v = 2,
                                            .progressive = i % N_JPEGS == 1,
                                            .restart_rows = i % N_JPEGS == 2});
    uint8_t *bytes = picture_read_bytes(picture_path, &n);
    ck_assert_int_eq(picture_read(&input, wanted), MAFAT_OK);
    ck_assert_int_eq(warned, 0);
    for (size_t kept = 0; kept < END_MARKER_BYTES; kept++) {
      picture_write_bytes(picture_path, bytes, n - END_MARKER_BYTES + kept);
      ck_assert_msg(picture_read(&input, found) == MAFAT_OK, "%s", picture_diagnostic.text);
      ck_assert_mem_eq(found, wanted, sizeof wanted);
      ck_assert_int_eq(warned, 1);
      warned = 0;
    }
    memset(bytes + n - END_MARKER_BYTES, 0, END_MARKER_BYTES);
    picture_write_bytes(picture_path, bytes, n);
    ck_assert_msg(picture_read(&input, found) == MAFAT_OK, "%s", picture_diagnostic.text);
    ck_assert_mem_eq(found, wanted, sizeof wanted);
    ck_assert_int_eq(warned, 1);
    warned = 0;
    free(bytes);
  }
}
END_TEST

/* JPEG data that ends early is refused; libjpeg would fill the picture with grey. */
START_TEST(jpeg_data_may_not_end_early)
{
  for (int i = 0; i < 3; i++) {
    size_t n;
    write_case(i, picture_path);
    uint8_t *bytes = picture_read_bytes(picture_path, &n);
    memcpy(bytes + n - 40, "\xff\xd9", 2);
    picture_write_bytes(picture_path, bytes, n - 38);
    free(bytes);
    picture_must_fail(MAFAT_EFORMAT);
  }
}
END_TEST

START_TEST(damaged_files_are_harmless)
{
  size_t n;
  static float pixels[32 * 32 * 3];
  static const struct mafat_image_input input = {32, 32, 3, .fit = MAFAT_FIT_LETTERBOX};
  write_case(_i, picture_path);
  uint8_t *bytes = picture_read_bytes(picture_path, &n);
  for (size_t k = 0; k < n; k += k < 700 ? 1 : 7) {
    uint8_t kept = bytes[k];
    static const uint8_t values[] = {0, 0xff, 0x80};
    for (size_t v = 0; v < sizeof values; v++) {
      bytes[k] = values[v];
      picture_write_bytes(picture_path, bytes, n);
      struct mafat_image *im = NULL;
      picture_diagnostic.text[0] = 0;
      int code = mafat_image_open(&im, picture_path, &input, &picture_diagnostic);
      if (code == MAFAT_OK && mafat_image_bytes(im) < (size_t)8 << 20)
        code = mafat_image_read(im, &(struct mafat_image_target){pixels, 96}, &picture_diagnostic);
      mafat_image_close(&im);
      ck_assert(code == MAFAT_OK || picture_diagnostic.text[0]);
    }
    bytes[k] = kept;
  }
  free(bytes);
}
END_TEST

/* libjpeg accepts up to 10 components; pictures have 1, 3 or 4. */
START_TEST(other_numbers_of_components_are_refused)
{
  static const uint8_t kinds[] = {0xc0, 0xc2}; /* baseline, progressive */
  for (size_t k = 0; k < sizeof kinds; k++)
    for (int n = 2; n <= 11; n++) {
      if (n == 3 || n == 4) continue;
      FILE *f = fopen(picture_path, "wb");
      ck_assert_ptr_nonnull(f);
      const uint8_t frame[] = {0xff, 0xd8, 0xff, kinds[k], 0, (uint8_t)(8 + 3 * n),
                               8,    0,    8,    0,        8, (uint8_t)n},
                    scan[] = {0xff, 0xda, 0, 8, 1, 0, 0, 0, 0, 0};
      fwrite(frame, 1, sizeof frame, f);
      for (int i = 0; i < n; i++) fwrite((const uint8_t[]){(uint8_t)i, 0x11, 0}, 1, 3, f);
      fwrite(scan, 1, sizeof scan, f);
      ck_assert_int_eq(fclose(f), 0);
      picture_must_fail(MAFAT_EUNSUPPORTED);
    }
}
END_TEST

START_TEST(libraries_print_nothing)
{
  char log[160];
  snprintf(log, sizeof log, "%s/log", picture_folder);
  int old = dup(STDERR_FILENO), fd = open(log, O_RDWR | O_CREAT, 0600);
  ck_assert_int_ge(fd, 0);
  dup2(fd, STDERR_FILENO);
  for (int i = 0; i < N_CASES; i++) {
    size_t n;
    static float pixels[32 * 32 * 3];
    write_case(i, picture_path);
    uint8_t *bytes = picture_read_bytes(picture_path, &n);
    for (size_t k = 40; k < n; k += 11) {
      uint8_t kept = bytes[k];
      bytes[k] ^= 0xff;
      picture_write_bytes(picture_path, bytes, n);
      picture_read(&(struct mafat_image_input){32, 32, 3, .fit = MAFAT_FIT_LETTERBOX}, pixels);
      bytes[k] = kept;
    }
    free(bytes);
  }
  dup2(old, STDERR_FILENO);
  close(old);
  struct stat st;
  ck_assert_int_eq(fstat(fd, &st), 0);
  ck_assert_int_eq(st.st_size, 0);
  close(fd);
  unlink(log);
}
END_TEST

/* ---- Changes. ---- */

enum { CHANGED_SIDE = 200 };

static const struct mafat_image_input changed_input = {CHANGED_SIDE, CHANGED_SIDE, 3,
                                                       .fit = MAFAT_FIT_STRETCH};

/* Reads the rows of a picture until an error. After the first row, changes some bytes in the middle
 * of the file, or cuts it there. */
static int read_changed(bool cut)
{
  struct mafat_image *im;
  float row[CHANGED_SIDE * 3];
  struct stat st;
  int code = mafat_image_open(&im, picture_path, &changed_input, &picture_diagnostic);
  ck_assert_int_eq(code, MAFAT_OK);
  for (int y = 0; y < CHANGED_SIDE && code == MAFAT_OK; y++) {
    code = mafat_image_read_row(im, row, &picture_diagnostic);
    if (y > 0) continue;
    int fd = open(picture_path, O_WRONLY);
    ck_assert(fd >= 0 && fstat(fd, &st) == 0);
    if (cut) ck_assert_int_eq(ftruncate(fd, st.st_size / 2), 0);
    else ck_assert_int_eq(pwrite(fd, "\1\2\3\4", 4, st.st_size / 2), 4);
    close(fd);
  }
  mafat_image_close(&im);
  return code;
}

/* A picture that another program overwrites during the read is refused. */
START_TEST(a_picture_that_is_written_to_is_of_no_use)
{
  for (int cut = 0; cut < 2; cut++) {
    if (_i == 0) picture_write_ppm(picture_path, CHANGED_SIDE, CHANGED_SIDE, '6', 255);
    else if (_i == 1)
      picture_write_jpeg(picture_path, CHANGED_SIDE, CHANGED_SIDE,
                         &(struct jpeg_style){.colours = JPEG_YCC});
    else
      picture_write_png(picture_path, CHANGED_SIDE, CHANGED_SIDE,
                        &(struct png_style){.colour = PNG_COLOR_TYPE_RGB, .depth = 16});
    ck_assert_int_eq(read_changed(cut), MAFAT_EIO);
    ck_assert_ptr_nonnull(strstr(picture_diagnostic.text, "was written to"));
  }
}
END_TEST

/* ---- Linux kernels. ---- */

/* Makes preadv2 return 0 bytes without an error from now on. Returns false
 * if the system has no seccomp filters. */
static bool empty_preadv2(void)
{
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_preadv2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In Linux 5.9 and 5.10, a read from the page cache may return 0 bytes before the end of a file
 * (readv(2)). This is not mistaken for the end. A truncated picture is still reported. */
START_TEST(a_cache_that_gives_nothing_is_not_the_end)
{
  enum { WITHOUT_FILTERS = 77 };
  static float pixels[32 * 32 * 3];
  const struct mafat_image_input input = {32, 32, 3, .fit = MAFAT_FIT_LETTERBOX};
  int status;
  write_case(_i, picture_path);
  fflush(NULL);
  pid_t child = fork();
  ck_assert(child >= 0);
  if (child == 0) {
    if (!empty_preadv2()) _exit(WITHOUT_FILTERS);
    if (picture_read(&input, pixels) != MAFAT_OK) _exit(1);
    struct stat st;
    if (stat(picture_path, &st) != 0 || truncate(picture_path, st.st_size / 2) != 0) _exit(2);
    _exit(picture_read(&input, pixels) == MAFAT_EFORMAT ? 0 : 3);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  if (WEXITSTATUS(status) == WITHOUT_FILTERS)
    printf("skip pictures under a seccomp filter: the system has none\n");
  else ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* ---- Files that are no pictures, or too large. ---- */

static const struct {
  const char *bytes;
  int code;
} texts[] = {
    {"", MAFAT_EFORMAT},
    {"P", MAFAT_EFORMAT},
    {"P6", MAFAT_EFORMAT},
    {"hello, world", MAFAT_EFORMAT},
    {"GIF89a", MAFAT_EFORMAT},
    {"P4\n8 1\n\xff", MAFAT_EUNSUPPORTED},
    {"P1\n1 1\n1", MAFAT_EUNSUPPORTED},
    {"P7\nWIDTH 1\n", MAFAT_EUNSUPPORTED},
    {"P6\n", MAFAT_EFORMAT},
    {"P6\n1 x 255\n", MAFAT_EFORMAT},
    {"P6\n-1 1 255\n", MAFAT_EFORMAT},
    {"P6\n0 1 255\n", MAFAT_EFORMAT},
    {"P6\n1 0 255\n", MAFAT_EFORMAT},
    {"P6\n1 1 0\n", MAFAT_EFORMAT},
    {"P6\n1 1 65536\n", MAFAT_EFORMAT},
    {"P6\n1048577 1 255\n", MAFAT_EUNSUPPORTED},
    {"P5\n1 99999999999999999999 255\n", MAFAT_EUNSUPPORTED},
    {"P3\n1 1 255\n1 2 -3", MAFAT_EFORMAT},
    {"P3\n1 1 255\n1 2 # 3", MAFAT_EFORMAT},
    {"\xff\xd8\xff", MAFAT_EFORMAT},
    {"\xff\xd8\xff\xd9", MAFAT_EFORMAT},
    {"\xff\xd8\xff\xe1", MAFAT_EFORMAT},
    {"\x89PNG\r\n\x1a\n", MAFAT_EFORMAT},
};

START_TEST(other_content_is_refused)
{
  picture_write_bytes(picture_path, texts[_i].bytes, strlen(texts[_i].bytes));
  picture_must_fail(texts[_i].code);
}
END_TEST

START_TEST(other_files_are_refused)
{
  picture_must_fail(MAFAT_EIO); /* missing */
  ck_assert_int_eq(mkfifo(picture_path, 0600), 0);
  picture_must_fail(MAFAT_EIO);
  unlink(picture_path);
  char kept[sizeof picture_path];
  memcpy(kept, picture_path, sizeof picture_path);
  memcpy(picture_path, picture_folder, sizeof picture_folder);
  picture_must_fail(MAFAT_EIO);
  strcpy(picture_path, "/dev/zero");
  picture_must_fail(MAFAT_EIO);
  memcpy(picture_path, kept, sizeof picture_path);
}
END_TEST

START_TEST(other_inputs_are_refused)
{
  static const struct mafat_image_input inputs[] = {
      {0, 8, 3, .fit = MAFAT_FIT_LETTERBOX},
      {8, -1, 3, .fit = MAFAT_FIT_LETTERBOX},
      {8, 8, 2, .fit = MAFAT_FIT_LETTERBOX},
      {8, 8, 4, .fit = MAFAT_FIT_STRETCH}};
  picture_write_ppm(picture_path, 2, 2, '6', 255);
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    struct mafat_image *im = NULL;
    ck_assert_int_eq(mafat_image_open(&im, picture_path, &inputs[i], NULL), MAFAT_EINVAL);
    ck_assert_ptr_null(im);
  }
}
END_TEST

static size_t declared_bytes(bool whole)
{
  static const struct mafat_image_input input = {32, 32, 3, .fit = MAFAT_FIT_LETTERBOX};
  struct mafat_image *im = NULL;
  int code = mafat_image_open(&im, picture_path, &input, &picture_diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", picture_diagnostic.text);
  ck_assert_int_eq(mafat_image_describe(im)->whole, whole);
  size_t bytes = mafat_image_bytes(im);
  mafat_image_close(&im);
  return bytes;
}

/* Overwrites the width and height in the frame header, which begins with this marker. */
static void declare_jpeg(const char *marker, int side)
{
  size_t n;
  uint8_t *bytes = picture_read_bytes(picture_path, &n);
  uint8_t *frame = memmem(bytes, n, marker, 2);
  ck_assert_ptr_nonnull(frame);
  for (int i = 5; i < 9; i++) frame[i] = (uint8_t)(i % 2 ? side >> 8 : side);
  picture_write_bytes(picture_path, bytes, n);
  free(bytes);
}

static void declare_png(int side)
{
  size_t n;
  uint8_t *bytes = picture_read_bytes(picture_path, &n);
  for (int i = 0; i < 8; i++) bytes[16 + i] = (uint8_t)(side >> (24 - 8 * (i % 4)));
  uint32_t crc = (uint32_t)crc32(0, bytes + 12, 17);
  for (int i = 0; i < 4; i++) bytes[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
  picture_write_bytes(picture_path, bytes, n);
  free(bytes);
}

/* A small file can declare a large picture. mafat_image_bytes returns the memory that decoding
 * would need, and too large pictures are refused. */
START_TEST(bombs_declare_themselves)
{
  for (int whole = 0; whole < 2; whole++) {
    const char *marker = whole ? "\xff\xca" : "\xff\xc2";
    picture_write_jpeg(
        picture_path, 16, 16,
        &(struct jpeg_style){.colours = JPEG_YCC, .progressive = true, .arithmetic = whole});
    declare_jpeg(marker, 30000);
    if (whole) ck_assert_uint_gt(declared_bytes(true), (size_t)30000 * 30000 * 3 * 2);
    else ck_assert_uint_lt(declared_bytes(false), (size_t)8 << 20);
    if (!whole) picture_must_fail(MAFAT_EFORMAT);
    declare_jpeg(marker, 60000);
    picture_must_fail(MAFAT_EUNSUPPORTED);
  }

  const struct png_style interlaced = {
      .colour = PNG_COLOR_TYPE_RGB, .depth = 8, .interlaced = true};
  picture_write_png(picture_path, 16, 16, &interlaced);
  declare_png(30000);
  ck_assert_uint_gt(declared_bytes(true), (size_t)30000 * 30000 * 3);
  declare_png(60000);
  picture_must_fail(MAFAT_EUNSUPPORTED);
}
END_TEST

/* Writes end-of-band runs for n blocks without coefficients: a run EOBk is a code of 4 bits
 * followed by k bits. */
static size_t put_empty_blocks(uint8_t *to, unsigned n)
{
  size_t bits = 0;
  memset(to, 0, 64);
  while (n > 0) {
    unsigned k = 0;
    while (k < 14 && n >> (k + 1)) k++;
    const unsigned run = n >> (k + 1) ? (2u << k) - 1 : n,
                   code = k << k | (run - (1u << k));
    for (unsigned i = 4 + k; i-- > 0; bits++)
      to[bits / 8] = (uint8_t)(to[bits / 8] | (code >> i & 1) << (7 - bits % 8));
    n -= run;
  }
  for (; bits % 8; bits++) to[bits / 8] = (uint8_t)(to[bits / 8] | 1 << (7 - bits % 8));
  return bits / 8;
}

/* Writes a table of codes of 4 bits for end-of-band runs. */
static void write_run_table(FILE *f)
{
  static const uint8_t runs[] = {0xff, 0xc4, 0, 34, 0x10, 0, 0, 0, 15};
  fwrite(runs, 1, sizeof runs, f);
  for (int i = 0; i < 12; i++) putc(0, f);
  for (int i = 0; i < 15; i++) putc(i << 4, f);
}

/* Writes a scan without coefficients. band: the last bytes of its header. */
static void write_empty_scan(FILE *f, const uint8_t band[3], const uint8_t *run, size_t n)
{
  static const uint8_t begin[] = {0xff, 0xda, 0, 8, 1, 1, 0};
  fwrite(begin, 1, sizeof begin, f);
  fwrite(band, 1, 3, f);
  for (size_t i = 0; i < n; i++) { /* in JPEG data, a byte FF is followed by 0 */
    putc(run[i], f);
    if (run[i] == 0xff) putc(0, f);
  }
}

/* Writes the beginning of a black progressive JPEG: its header, and a scan of averages. */
static FILE *begin_black(unsigned width, unsigned height)
{
  static const uint8_t tables[] = {0xff, 0xd8, 0xff, 0xdb, 0, 67, 0},
                       averages[] = {0xff, 0xc4, 0, 20, 0, 1}, /* code 0: no difference */
                       first[] = {0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0};
  const uint8_t frame[] = {0xff, 0xc2, 0, 11, 8, (uint8_t)(height >> 8), (uint8_t)height,
                           (uint8_t)(width >> 8), (uint8_t)width, 1, 1, 0x11, 0};
  FILE *f = fopen(picture_path, "wb");
  ck_assert_ptr_nonnull(f);
  fwrite(tables, 1, sizeof tables, f);
  for (int i = 0; i < 64; i++) putc(1, f);
  fwrite(frame, 1, sizeof frame, f);
  fwrite(averages, 1, sizeof averages, f);
  for (int i = 0; i < 16; i++) putc(0, f);
  write_run_table(f);
  fwrite(first, 1, sizeof first, f);
  for (unsigned i = 0; i < ((width + 7) / 8 * ((height + 7) / 8) + 7) / 8; i++) putc(0, f);
  return f;
}

static void end_black(FILE *f)
{
  fwrite("\xff\xd9", 1, 2, f);
  ck_assert_int_eq(fclose(f), 0);
}

/* Writes a black progressive JPEG: a scan of averages, then empty scans of a few bytes each. */
static void write_scans(unsigned width, unsigned height, int scans)
{
  uint8_t run[64];
  const size_t n = put_empty_blocks(run, (width + 7) / 8 * ((height + 7) / 8));
  FILE *f = begin_black(width, height);
  for (int i = 1; i < scans; i++) write_empty_scan(f, (const uint8_t[]){1, 63, 0}, run, n);
  end_black(f);
}

/* A picture may have as many scans as its size allows. */
START_TEST(scans_are_limited_by_pixels)
{
  static const struct {
    unsigned width, height;
    int scans;
    bool read;
  } rows[] = {{64, 64, 2, true},      {64, 64, 500, true},     {64, 64, 501, false},
              {1000, 800, 100, true}, {1000, 800, 116, false}, {4000, 3000, 36, true},
              {4000, 3000, 39, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    write_scans(rows[i].width, rows[i].height, rows[i].scans);
    if (rows[i].read) free(picture_must_read(8, 8, 1, MAFAT_FIT_STRETCH));
    else picture_must_fail(MAFAT_EUNSUPPORTED);
  }
}
END_TEST

/* Each scan of a picture may have tables of its own. If there are many, libjpeg reads them, which
 * keeps only the last ones. */
START_TEST(scans_may_have_their_own_tables)
{
  enum { SIDE = 40, BANDS = 63 };
  const struct mafat_image_input input = {SIDE, SIDE, 1, .fit = MAFAT_FIT_STRETCH};
  static const int own[] = {0, 20, BANDS, BANDS + 1, 2 * BANDS};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    uint8_t run[64];
    const size_t n = put_empty_blocks(run, 25);
    FILE *f = begin_black(SIDE, SIDE);
    for (int k = 0; k < 2 * BANDS; k++) {
      const uint8_t band = (uint8_t)(1 + k % BANDS);
      if (k < own[i]) write_run_table(f);
      write_empty_scan(f, (const uint8_t[]){band, band, k < BANDS ? 1 : 0x10}, run, n);
    }
    end_black(f);
    struct mafat_image *im;
    ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, NULL), MAFAT_OK);
    ck_assert_int_eq(mafat_image_describe(im)->whole, own[i] > BANDS);
    ck_assert_int_eq(mafat_image_describe(im)->n_scans, 1 + 2 * BANDS);
    mafat_image_close(&im);
    float *pixels = picture_must_read(SIDE, SIDE, 1, MAFAT_FIT_STRETCH);
    for (int at = 0; at < SIDE * SIDE; at++) ck_assert(pixels[at] == pixels[0]);
    free(pixels);
  }
}
END_TEST

Suite *image_damage_suite(void)
{
  static const int n_texts = sizeof texts / sizeof *texts;
  Suite *suite = suite_create("image_damage");
  TCase *damage = picture_case(suite, "damage", 120);
  tcase_add_loop_test(damage, truncated_files_are_refused, 0, N_CASES);
  tcase_add_test(damage, a_jpeg_without_end_marker_warns);
  tcase_add_test(damage, jpeg_data_may_not_end_early);
  tcase_add_loop_test(damage, damaged_files_are_harmless, 0, N_CASES);
  tcase_add_test(damage, scans_are_limited_by_pixels);
  tcase_add_test(damage, scans_may_have_their_own_tables);
  tcase_add_test(damage, other_numbers_of_components_are_refused);
  tcase_add_test(damage, libraries_print_nothing);
  tcase_add_loop_test(damage, a_picture_that_is_written_to_is_of_no_use, 0, 3);
  tcase_add_loop_test(damage, a_cache_that_gives_nothing_is_not_the_end, 0, N_CASES);
  tcase_add_loop_test(damage, other_content_is_refused, 0, n_texts);
  tcase_add_test(damage, other_files_are_refused);
  tcase_add_test(damage, other_inputs_are_refused);
  tcase_add_test(damage, bombs_declare_themselves);
  return suite;
}
