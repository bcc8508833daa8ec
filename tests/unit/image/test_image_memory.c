/* Covers runner/image/{image, jpeg, png}.c: reading a picture uses no more heap than
 * mafat_image_bytes returns, and little of the page cache. */
#include <check.h>
#include <fcntl.h>
#include <malloc.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/os/process.h"
#include "tests/support/picture_reader.h"
#include "tests/support/picture_writer.h"
#include "tests/support/support.h"

Suite *image_memory_suite(void);

/* ---- The heap. ---- */

static size_t heap_in_use(void)
{
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/* Reads a picture and returns the largest heap measured after a row, in bytes. The libraries
 * allocate before the first row and free after the last. Valgrind and sanitizers make the result 0.
 * Sets *promised to the result of mafat_image_bytes. */
static size_t measure_rows(int c, bool shrinks, size_t *promised)
{
  struct mafat_image_input input = {416, 416, c, .fit = MAFAT_FIT_LETTERBOX, .shrinks = shrinks};
  float row[416 * 3];
  size_t before = heap_in_use(), most = 0;
  struct mafat_image *im = NULL;
  ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, NULL), MAFAT_OK);
  *promised = mafat_image_bytes(im);
  for (int y = 0; y < input.h; y++) {
    int code = mafat_image_read_row(im, row, &picture_diagnostic);
    ck_assert_msg(code == MAFAT_OK, "%s", picture_diagnostic.text);
    size_t now = heap_in_use();
    if (now > before && now - before > most) most = now - before;
  }
  mafat_image_close(&im);
  return most;
}

/* Compares the heap used for reading picture_path with mafat_image_bytes. small: the promised heap
 * must be below 1 MB. */
static void check_memory(const char *kind, bool small)
{
  for (int i = 0; i < 4; i++) {
    size_t promised, most = measure_rows(i % 2 ? 3 : 1, i / 2, &promised);
    ck_assert_msg(most <= promised, "%s: %zu bytes used, %zu promised", kind, most, promised);
    ck_assert_msg(most == 0 || promised <= most + most / 2 + 100000,
                  "%s: %zu bytes used, %zu promised", kind, most, promised);
    if (small) ck_assert_msg(promised < 1000000, "%s: %zu bytes", kind, promised);
  }
}

START_TEST(bytes_bound_what_is_used)
{
  enum { W = 4000, H = 3000 };
  switch (_i) {
  case 0:
    picture_write_jpeg(picture_path, W, H,
                       &(struct jpeg_style){.colours = JPEG_YCC, .h = 2, .v = 2, .orientation = 2});
    check_memory("baseline JPEG", true);
    const struct mafat_image_input input = {416, 416, 3, .fit = MAFAT_FIT_LETTERBOX};
    size_t promised, assumed = mafat_image_bytes_assumed(&input);
    measure_rows(3, false, &promised);
    ck_assert_uint_ge(assumed, promised);
    size_t shrunk,
        less = mafat_image_bytes_assumed(&(struct mafat_image_input){416, 416, 3, .shrinks = true});
    measure_rows(3, true, &shrunk);
    ck_assert_uint_ge(less, shrunk);
    ck_assert_uint_lt(shrunk, promised / 2);
    ck_assert_uint_lt(less, assumed / 2);
    ck_assert_uint_lt(assumed, 1000000);
    break;
  case 1:
    picture_write_png(picture_path, W, H,
                      &(struct png_style){.colour = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 16});
    check_memory("PNG", true);
    break;
  case 2:
    picture_write_ppm(picture_path, W, H, '6', 255);
    check_memory("PPM", true);
    break;
  case 6:
    picture_write_bmp(picture_path, W, H, &(struct bmp_style){.bits = 24});
    check_memory("BMP", true);
    break;
  case 3:
    picture_write_jpeg(picture_path, W, H, &(struct jpeg_style){.colours = JPEG_CMYK});
    check_memory("CMYK JPEG", true);
    break;
  case 4:
    picture_write_jpeg(
        picture_path, W, H,
        &(struct jpeg_style){.colours = JPEG_YCC, .h = 2, .v = 2, .progressive = true});
    check_memory("progressive JPEG", true);
    break;
  case 7:
    picture_write_jpeg(picture_path, W / 2, H / 2,
                       &(struct jpeg_style){
                           .colours = JPEG_YCC, .h = 2, .progressive = true, .arithmetic = true});
    check_memory("JPEG of which libjpeg keeps the coefficients", false);
    break;
  case 8:
    picture_write_jpeg(picture_path, W, H,
                       &(struct jpeg_style){.colours = JPEG_CMYK, .progressive = true});
    check_memory("progressive CMYK JPEG", true);
    break;
  case 5:
    picture_write_png(
        picture_path, W / 4, H / 4,
        &(struct png_style){.colour = PNG_COLOR_TYPE_RGB, .depth = 8, .interlaced = true});
    check_memory("interlaced PNG", false);
    break;
  }
}
END_TEST

/* ---- The page cache. ---- */

/* Bytes of the picture's file that are in the page cache. */
static size_t cached_bytes(void)
{
  size_t n = 0;
  int fd = open(picture_path, O_RDONLY);
  struct stat st;
  ck_assert(fd >= 0 && fstat(fd, &st) == 0);
  void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
  ck_assert(map != MAP_FAILED);
  n = mafat_process_resident_bytes_of(map, (size_t)st.st_size);
  munmap(map, (size_t)st.st_size);
  close(fd);
  return n;
}

static void evict(void)
{
  int fd = open(picture_path, O_RDONLY);
  ck_assert(fd >= 0 && fsync(fd) == 0);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

/* Large files leave little in the page cache. Opening a PNG file skips over all of its chunks;
 * opening a progressive JPEG reads it, and its scans are then read at many places. */
START_TEST(large_files_take_little_page_cache)
{
  enum { W = 1200, H = 900 };
  static float row[64 * 3];
  const struct mafat_image_input input = {64, 48, 3, .fit = MAFAT_FIT_STRETCH};
  const struct png_style style = {.colour = PNG_COLOR_TYPE_RGB, .depth = 8};
  /* of the progressive JPEG: 10 scans, each with two chunks of 8192 bytes in the page cache */
  const size_t scans = 10 * 2 * 8192, window = _i == 2 ? scans : _i ? MAFAT_IMAGE_PIXELS_WINDOW
                                                                  : MAFAT_IMAGE_FILE_WINDOW;
  struct mafat_image *im;
  if (_i == 2)
    picture_write_jpeg(picture_path, W, H,
                       &(struct jpeg_style){.colours = JPEG_YCC, .progressive = true});
  else if (_i) picture_write_ppm(picture_path, W, H, '6', 255);
  else picture_write_png(picture_path, W, H, &style);
  evict();
  if (cached_bytes() > 0) {
    printf("skip the page cache: what is written to %s stays in it\n", picture_folder);
    return;
  }
  ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, &picture_diagnostic), MAFAT_OK);
  ck_assert_uint_eq(mafat_image_file_bytes(im), window);
  ck_assert_uint_le(cached_bytes(), window);
  for (int y = 0; y < input.h; y++) {
    ck_assert_int_eq(mafat_image_read_row(im, row, &picture_diagnostic), MAFAT_OK);
    ck_assert_uint_le(cached_bytes(), window);
  }
  mafat_image_close(&im);
  ck_assert_uint_eq(cached_bytes(), 0);
}
END_TEST

/* Pages of the file that were in the page cache before reading stay there. Tries three times,
 * because other programs may drop the caches meanwhile. */
START_TEST(a_cached_file_stays_cached)
{
  enum { SIDE = 400 };
  size_t n, before = 1, after = 0;
  picture_write_ppm(picture_path, SIDE, SIDE, '6', 255);
  for (int i = 0; i < 3 && after < before; i++) {
    free(picture_read_bytes(picture_path, &n));
    ck_assert_uint_gt(n, MAFAT_IMAGE_PIXELS_WINDOW);
    before = cached_bytes();
    free(picture_must_read(SIDE, SIDE, 3, MAFAT_FIT_STRETCH));
    after = cached_bytes();
  }
  ck_assert_uint_ge(after, before);
}
END_TEST

Suite *image_memory_suite(void)
{
  Suite *suite = suite_create("image_memory");
  TCase *memory = picture_case(suite, "memory", 120);
  tcase_add_loop_test(memory, bytes_bound_what_is_used, 0, test_slow_rows(9));
  tcase_add_loop_test(memory, large_files_take_little_page_cache, 0, 3);
  tcase_add_test(memory, a_cached_file_stays_cached);
  return suite;
}
