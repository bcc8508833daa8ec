/* Covers runner/image/{frame, resized_lines}.c, runner/kernels/frame_rows{, _portable}.c,
 * runner/kernels/x86/frame_rows_avx2.c: frames of video: the texts that name their format, their
 * conversion to pixels, and streams of frames (y4m, JPEGs one after the other). Uses pipes, threads
 * and SIGALRM. */
#include "include/mafat_video.h"
#include "runner/image/frame.h"
#include "runner/image/image.h"
#include "runner/kernels/frame_rows.h"
#include "runner/kernels/kernels.h"
#include "programs/shared/video/camera.h"
#include "programs/shared/video/frames.h"
#include "programs/shared/video/jpeg_split.h"
#include "programs/shared/video/overlay.h"
#include "tests/support/random.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

Suite *frames_suite(void);

static struct mafat_diagnostic diagnostic;

/* ---- texts ---- */

START_TEST(frames_are_reported_by_a_text)
{
  struct mafat_frame_facts f = {.size = sizeof f};
  ck_assert_int_eq(mafat_frame_describe("640x480", &f, NULL), MAFAT_OK);
  ck_assert(f.width == 640 && f.height == 480 && f.bytes == 640 * 480 * 3 / 2 && !f.varies &&
            strcmp(f.format, "yuv420p") == 0);
  ck_assert_int_eq(mafat_frame_describe("5x3:nv12", &f, NULL), MAFAT_OK);
  ck_assert_uint_eq(f.bytes, 15 + 2 * 3 * 2);
  ck_assert_int_eq(mafat_frame_describe("6x3:yuyv", &f, NULL), MAFAT_OK);
  ck_assert_uint_eq(f.bytes, 36);
  ck_assert_int_eq(mafat_frame_describe("5x3:rgb24", &f, NULL), MAFAT_OK);
  ck_assert_uint_eq(f.bytes, 45);
  ck_assert_int_eq(mafat_frame_describe("640x480:mjpeg", &f, NULL), MAFAT_OK);
  ck_assert(f.varies);
}
END_TEST

START_TEST(other_texts_are_refused)
{
  static const char *const texts[] = {
      "", "640", "640x", "x480", "640x480:", "640x480:rgb", "640x480 ", "0x480", "640x0", "-1x4",
      "+6x4", "640X480", "5x3:yuyv", "1048577x1", "99999999999999999999x1", "1048576x1048576",
      "640x480:yuv420p:"};
  struct mafat_frame_facts f = {.size = sizeof f};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ck_assert_msg(mafat_frame_describe(texts[i], &f, &diagnostic) == MAFAT_EINVAL, "%s", texts[i]);
    ck_assert(diagnostic.text[0] && !strchr(diagnostic.text, '\n'));
  }
}
END_TEST

/* ---- bytes ---- */

enum { W = 70, H = 9, HALF = (W + 1) / 2, ROWS = (H + 1) / 2, N_PIXELS = W * H };

static unsigned char y_of[N_PIXELS], u_of[HALF * H],
    v_of[HALF * H]; /* U and V of every row; planes use every second row */

static void make_planes(struct test_rng *rng, bool halved)
{
  for (int i = 0; i < N_PIXELS; i++) y_of[i] = (unsigned char)test_random_int(rng, 0, 255);
  for (int y = 0; y < H; y++)
    for (int x = 0; x < HALF; x++) {
      int i = y * HALF + x;
      u_of[i] = halved && y % 2 ? u_of[i - HALF] : (unsigned char)test_random_int(rng, 0, 255);
      v_of[i] = halved && y % 2 ? v_of[i - HALF] : (unsigned char)test_random_int(rng, 0, 255);
    }
}

/* Writes y_of, u_of and v_of to `to` as a frame of this format. Returns the frame's size in
 * bytes. */
static size_t lay_frame(const char *format, unsigned char *to)
{
  size_t n = 0;
  if (strcmp(format, "yuyv") == 0) {
    for (int y = 0; y < H; y++)
      for (int x = 0; x < HALF; x++) {
        const unsigned char two[] = {y_of[y * W + 2 * x], u_of[y * HALF + x],
                                     y_of[y * W + 2 * x + 1], v_of[y * HALF + x]};
        memcpy(to + n, two, sizeof two);
        n += sizeof two;
      }
    return n;
  }
  memcpy(to, y_of, N_PIXELS);
  n = N_PIXELS;
  bool apart = strcmp(format, "nv12") != 0;
  for (int y = 0; y < H; y += 2)
    for (int x = 0; x < HALF; x++) {
      int i = y / 2 * HALF + x;
      to[N_PIXELS + (apart ? i : 2 * i)] = u_of[y * HALF + x];
      to[N_PIXELS + (apart ? ROWS * HALF + i : 2 * i + 1)] = v_of[y * HALF + x];
    }
  return n + 2 * ROWS * HALF;
}

/* Reads a frame without resizing: the input is as large as the picture. */
static void read_pixels(const char *text, const unsigned char *bytes, size_t n, float *pixels)
{
  struct mafat_frame frame = {.bytes = bytes, .n = n};
  struct mafat_image_input input = {W, H, 3, .fit = MAFAT_FIT_STRETCH};
  struct mafat_image *image;
  ck_assert_int_eq(mafat_frame_format_read(&frame.format, text, &diagnostic), MAFAT_OK);
  ck_assert_msg(mafat_image_open_frame(&image, &frame, &input, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  ck_assert_uint_le(mafat_image_bytes(image),
                    mafat_image_frame_bytes(&frame.format, &input, false));
  ck_assert_int_eq(
      mafat_image_read(image, &(struct mafat_image_target){pixels, W * 3}, &diagnostic), MAFAT_OK);
  mafat_image_close(&image);
}

static double clamp(double x)
{
  return x < 0 ? 0 : x > 255 ? 255 : x;
}

/* Compares pixels with BT.601 in double precision. */
static void check_pixels(const char *format, bool full, const float *pixels)
{
  for (int i = 0; i < N_PIXELS; i++) {
    int c = i / W * HALF + i % W / 2;
    double y = full ? y_of[i] : (y_of[i] - 16) * 255 / 219.,
           u = (u_of[c] - 128) * (full ? 1 : 255 / 224.),
           v = (v_of[c] - 128) * (full ? 1 : 255 / 224.);
    const double rgb[] = {y + 1.402 * v, y - .344136 * u - .714136 * v, y + 1.772 * u};
    for (int k = 0; k < 3; k++)
      ck_assert_msg(fabs((double)pixels[3 * i + k] * 255 - clamp(rgb[k])) <= 1,
                    "%s: pixel %d, channel %d: %g instead of %g", format, i, k,
                    (double)pixels[3 * i + k] * 255, clamp(rgb[k]));
  }
}

START_TEST(colours_are_bt_601_s)
{
  static const struct {
    const char *format;
    bool full;
  } cases[] = {{"yuv420p", false}, {"yuvj420p", true}, {"nv12", false}, {"yuyv", false}};
  static unsigned char frame[4 * N_PIXELS];
  static float pixels[3 * N_PIXELS];
  struct test_rng rng = test_rng((uint64_t)_i + 5);
  char text[40];
  make_planes(&rng, strcmp(cases[_i].format, "yuyv") != 0);
  snprintf(text, sizeof text, "%dx%d:%s", W, H, cases[_i].format);
  read_pixels(text, frame, lay_frame(cases[_i].format, frame), pixels);
  check_pixels(cases[_i].format, cases[_i].full, pixels);
}
END_TEST

/* The fastest level of kernels gives the same bytes as the portable one, and writes no byte after
 * the row. */
START_TEST(levels_give_the_same_colours)
{
  enum { MOST = 200, GUARD = 0xa5, LEVELS = 8 };
  static const struct mafat_colour_rule rule = {9539, 13075, -3209, -6660, 16525, 16};
  unsigned char bytes[4 * MOST], rows[2][3 * MOST + 1];
  const struct mafat_kernels *levels[LEVELS];
  int n_levels = mafat_kernels_list(levels, LEVELS);
  struct test_rng rng = test_rng(77);
  for (int i = 0; i < 600; i++) {
    for (size_t k = 0; k < sizeof bytes; k++)
      bytes[k] = (unsigned char)test_random_int(&rng, 0, 255);
    struct mafat_colour_call c = {&rule, bytes, bytes + MOST, bytes + 2 * MOST,
                                  1,     1,     rows[0],      test_random_int(&rng, 1, MOST)};
    if (i % 3 == 1) c.chroma_step = 2, c.v = c.u + 1;
    if (i % 3 == 2) c.luma_step = 2, c.chroma_step = 4, c.u = bytes + 1, c.v = bytes + 3;
    memset(rows, GUARD, sizeof rows);
    mafat_frame_kernels_portable.colour(&c);
    c.rgb = rows[1];
    mafat_frame_kernels_find(levels[n_levels - 1]->name)->colour(&c);
    ck_assert_mem_eq(rows[0], rows[1], sizeof *rows);
    ck_assert_int_eq(rows[1][3 * c.n], GUARD);
  }
}
END_TEST

START_TEST(rgb24_is_what_it_is)
{
  static unsigned char frame[3 * N_PIXELS];
  static float pixels[3 * N_PIXELS];
  char text[40];
  for (size_t i = 0; i < sizeof frame; i++) frame[i] = (unsigned char)(i * 37);
  snprintf(text, sizeof text, "%dx%d:rgb24", W, H);
  read_pixels(text, frame, sizeof frame, pixels);
  for (size_t i = 0; i < sizeof frame; i++) ck_assert(pixels[i] == (float)(frame[i] / 255.));
}
END_TEST

/* A frame resized to any size gives the same bits as a picture of the same pixels, even if resizing
 * skips rows or uses them twice. */
START_TEST(resized_frames_are_resized_pictures)
{
  static unsigned char bytes[3 * N_PIXELS];
  static float one[3 * 200 * 40], other[3 * 200 * 40];
  struct test_rng rng = test_rng(91);
  for (int i = 0; i < 300; i++) {
    struct mafat_image_input input = {test_random_int(&rng, 1, 200), test_random_int(&rng, 1, 40),
                                      i % 5 ? 3 : 1, .fit = (enum mafat_fit)(i % 4)};
    struct mafat_frame frame = {.bytes = bytes, .n = sizeof bytes};
    struct mafat_image_pixels pixels = {bytes, W, H, 3, 3 * W};
    struct mafat_image_target target = {one, (size_t)(input.w * input.c)};
    struct mafat_image *image;
    for (size_t k = 0; k < sizeof bytes; k++)
      bytes[k] = (unsigned char)test_random_int(&rng, 0, 255);
    ck_assert_int_eq(mafat_frame_format_read(&frame.format, "70x9:rgb24", NULL), MAFAT_OK);
    ck_assert_int_eq(mafat_image_open_frame(&image, &frame, &input, &diagnostic), MAFAT_OK);
    ck_assert_int_eq(mafat_image_read(image, &target, &diagnostic), MAFAT_OK);
    mafat_image_close(&image);
    target.pixels = other;
    ck_assert_int_eq(mafat_image_open_pixels(&image, &pixels, &input, &diagnostic), MAFAT_OK);
    ck_assert_int_eq(mafat_image_read(image, &target, &diagnostic), MAFAT_OK);
    mafat_image_close(&image);
    ck_assert_mem_eq(one, other, (size_t)(input.w * input.h * input.c) * sizeof *one);
  }
}
END_TEST

/* At every level, frames of Y, U and V give the same bits as a picture of their pixels, and use no
 * more memory than predicted. */
START_TEST(resized_colours_are_those_of_pictures)
{
  static const char *const formats[] = {"yuv420p", "yuvj420p", "nv12", "yuyv"};
  enum { LEVELS = 8, MOST = 3 * 200 * 40 };
  static unsigned char bytes[4 * N_PIXELS], rgb[3 * N_PIXELS];
  static float same_size[3 * N_PIXELS], one[MOST], other[MOST];
  const struct mafat_kernels *levels[LEVELS];
  int n_levels = mafat_kernels_list(levels, LEVELS);
  struct test_rng rng = test_rng(92);
  for (int i = 0; i < 400; i++) {
    struct mafat_image_input input = {test_random_int(&rng, 1, 200), test_random_int(&rng, 1, 40),
                                      i % 9 ? 3 : 1, .fit = (enum mafat_fit)(i % 4),
                                      .kernels = levels[i % n_levels]};
    struct mafat_image_pixels pixels = {rgb, W, H, 3, 3 * W};
    struct mafat_image_target target = {one, (size_t)(input.w * input.c)};
    struct mafat_image *image;
    char text[40];
    make_planes(&rng, i % 4 != 3);
    struct mafat_frame frame = {.bytes = bytes, .n = lay_frame(formats[i % 4], bytes)};
    snprintf(text, sizeof text, "%dx%d:%s", W, H, formats[i % 4]);
    read_pixels(text, bytes, frame.n, same_size);
    for (int k = 0; k < 3 * N_PIXELS; k++) rgb[k] = (unsigned char)lrintf(same_size[k] * 255);
    ck_assert_int_eq(mafat_frame_format_read(&frame.format, text, NULL), MAFAT_OK);
    ck_assert_int_eq(mafat_image_open_frame(&image, &frame, &input, &diagnostic), MAFAT_OK);
    ck_assert_uint_le(mafat_image_bytes(image),
                      mafat_image_frame_bytes(&frame.format, &input, false));
    ck_assert_int_eq(mafat_image_read(image, &target, &diagnostic), MAFAT_OK);
    mafat_image_close(&image);
    target.pixels = other;
    ck_assert_int_eq(mafat_image_open_pixels(&image, &pixels, &input, &diagnostic), MAFAT_OK);
    ck_assert_int_eq(mafat_image_read(image, &target, &diagnostic), MAFAT_OK);
    mafat_image_close(&image);
    for (int k = 0; k < input.w * input.h * input.c; k++)
      ck_assert_msg(memcmp(&one[k], &other[k], sizeof *one) == 0,
                    "%s, %s, %dx%dx%d: number %d: %.9g instead of %.9g", text,
                    levels[i % n_levels]->name, input.w, input.h, input.c, k, (double)one[k],
                    (double)other[k]);
  }
}
END_TEST

START_TEST(a_frame_of_another_length_is_refused)
{
  static const unsigned char bytes[64];
  struct mafat_frame frame = {.bytes = bytes, .n = 23};
  struct mafat_image_input input = {4, 4, 3, .fit = MAFAT_FIT_STRETCH};
  struct mafat_image *image;
  ck_assert_int_eq(mafat_frame_format_read(&frame.format, "4x4", &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_image_open_frame(&image, &frame, &input, &diagnostic), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "expected 24 bytes, found 23"));
  ck_assert_int_eq(mafat_frame_format_read(&frame.format, "4x4:mjpeg", &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_image_open_frame(&image, &frame, &input, &diagnostic),
                   MAFAT_EFORMAT); /* no JPEG */
}
END_TEST

/* ---- y4m ---- */

static int read_header(struct mafat_frames *f, const char *line)
{
  *f = (struct mafat_frames){.fd = -1};
  return mafat_frames_read_header(f, line, strlen(line), &diagnostic);
}

START_TEST(headers_of_y4m)
{
  static struct mafat_frames f;
  ck_assert_int_eq(
      read_header(
          &f,
          "YUV4MPEG2 W320 H240 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG XCOLORRANGE=LIMITED"),
      MAFAT_OK);
  ck_assert_str_eq(f.text, "320x240:yuv420p");
  ck_assert(f.rate.frames == 30000 && f.rate.seconds == 1001);
  ck_assert_int_eq(read_header(&f, "YUV4MPEG2 H2 W3 XCOLORRANGE=FULL"), MAFAT_OK);
  ck_assert_str_eq(f.text, "3x2:yuvj420p");
  ck_assert(f.rate.frames == 0);
}
END_TEST

START_TEST(damaged_headers_of_y4m)
{
  static const struct {
    const char *line;
    int code;
  } cases[] = {{"", MAFAT_EFORMAT},
               {"YUV4MPEG2", MAFAT_EFORMAT},
               {"YUV4MPEG2 ", MAFAT_EFORMAT},
               {"YUV4MPEG W3 H2", MAFAT_EFORMAT},
               {"YUV4MPEG2 W3", MAFAT_EFORMAT},
               {"YUV4MPEG2 W3 H0", MAFAT_EFORMAT},
               {"YUV4MPEG2 W3 H2x", MAFAT_EFORMAT},
               {"YUV4MPEG2 W H2", MAFAT_EFORMAT},
               {"YUV4MPEG2 W99999999999 H2", MAFAT_EFORMAT},
               {"YUV4MPEG2 W3 H2 F25", MAFAT_EFORMAT},
               {"YUV4MPEG2 W3 H2 F25:", MAFAT_EFORMAT},
               {"YUV4MPEG2 W3 H2 C444", MAFAT_EUNSUPPORTED},
               {"YUV4MPEG2 W3 H2 C420p10", MAFAT_EUNSUPPORTED}};
  static struct mafat_frames f;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_msg(read_header(&f, cases[i].line) == cases[i].code, "%s", cases[i].line);
    ck_assert(diagnostic.text[0] && !strchr(diagnostic.text, '\n'));
  }
}
END_TEST

static volatile int asked_to_stop;

static void on_alarm(int number)
{
  asked_to_stop = number;
}

/* Reads a frame from a pipe that stays open but gets no more bytes, while SIGALRM arrives again and
 * again. */
static int frames_until_a_signal(struct mafat_frames *f, const char *written, size_t *n)
{
  const struct sigaction action = {.sa_handler = on_alarm}, before = {.sa_handler = SIG_DFL};
  const struct itimerval soon = {.it_interval = {.tv_usec = 20000}, .it_value = {.tv_usec = 20000}},
                         never = {0};
  unsigned char frame[6];
  int ends[2];
  ck_assert(pipe(ends) == 0 &&
            write(ends[1], written, strlen(written)) == (ssize_t)strlen(written));
  ck_assert_int_eq(mafat_frames_open(f, ends[0], "y4m", &diagnostic), MAFAT_OK);
  asked_to_stop = 0;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &soon, NULL);
  int code = mafat_frames_next(f, frame, n, &asked_to_stop, &diagnostic);
  setitimer(ITIMER_REAL, &never, NULL);
  sigaction(SIGALRM, &before, NULL);
  close(ends[0]);
  close(ends[1]);
  return code;
}

/* A signal ends the stream without an error. This holds within a frame, too: the frame is not
 * reported as damaged, because its remaining bytes could have followed. */
START_TEST(a_signal_ends_frames_wherever_one_is)
{
  static const char *const written[] = {"",        "FRA",        "FRAME ",       "FRAME Ip",
                                        "FRAME\n", "FRAME\nabc", "FRAME Ip\nabc"};
  static struct mafat_frames f;
  char text[64];
  size_t n = 1;
  snprintf(text, sizeof text, "YUV4MPEG2 W2 H2\n%s", written[_i]);
  ck_assert_int_eq(frames_until_a_signal(&f, text, &n), MAFAT_OK);
  ck_assert_uint_eq(n, 0);
}
END_TEST

static void *ask_soon(void *arg)
{
  (void)arg;
  usleep(20000);
  asked_to_stop = 1;
  return NULL;
}

/* A request to stop ends the wait even if no signal interrupts it, for example because the request
 * was made just before the wait. Here another thread makes the request. */
START_TEST(a_signal_is_not_slept_over)
{
  static struct mafat_frames f;
  unsigned char frame[6];
  size_t n = 1;
  int ends[2];
  pthread_t asker;
  ck_assert(pipe(ends) == 0);
  ck_assert_int_eq(mafat_frames_open(&f, ends[0], _i ? "2x2" : "2x2:mjpeg", &diagnostic), MAFAT_OK);
  asked_to_stop = 0;
  ck_assert_int_eq(pthread_create(&asker, NULL, ask_soon, NULL), 0);
  ck_assert_int_eq(mafat_frames_next(&f, frame, &n, &asked_to_stop, &diagnostic), MAFAT_OK);
  ck_assert_uint_eq(n, 0);
  pthread_join(asker, NULL);
  close(ends[0]);
  close(ends[1]);
}
END_TEST

/* ---- non-blocking pipes ---- */

enum { SLOW_SIDE = 64, SLOW_BYTES = SLOW_SIDE * SLOW_SIDE * 3 };

/* Opens a pipe that holds fewer than SLOW_BYTES bytes, and makes ends[which] non-blocking. */
static void open_non_blocking(int ends[2], int which)
{
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_ge(fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  ck_assert_int_eq(fcntl(ends[which], F_SETFL, O_NONBLOCK), 0);
}

static void *write_slowly(void *arg)
{
  static const char bytes[] = "YUV4MPEG2 W2 H2\nFRAME\nabcdef";
  for (size_t i = 0; i < sizeof bytes - 1; i++) {
    if (i % 10 == 0) usleep(20000);
    if (write(*(int *)arg, bytes + i, 1) != 1) break;
  }
  close(*(int *)arg);
  return NULL;
}

START_TEST(frames_that_are_not_there_yet_are_waited_for)
{
  static struct mafat_frames f;
  unsigned char frame[6];
  size_t n = 0;
  int ends[2], stop = 0;
  pthread_t writer;
  open_non_blocking(ends, 0);
  ck_assert_int_eq(pthread_create(&writer, NULL, write_slowly, &ends[1]), 0);
  ck_assert_msg(mafat_frames_open(&f, ends[0], "y4m", &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  ck_assert_msg(mafat_frames_next(&f, frame, &n, _i ? &stop : NULL, &diagnostic) == MAFAT_OK,
                "%s", diagnostic.text);
  ck_assert_uint_eq(n, sizeof frame);
  ck_assert_int_eq(mafat_frames_next(&f, frame, &n, &stop, &diagnostic), MAFAT_OK);
  ck_assert_uint_eq(n, 0);
  pthread_join(writer, NULL);
  close(ends[0]);
}
END_TEST

static size_t n_read_slowly;

static void *read_slowly(void *arg)
{
  char bytes[1000];
  ssize_t got;
  usleep(50000);
  while ((got = read(*(int *)arg, bytes, sizeof bytes)) > 0) n_read_slowly += (size_t)got;
  return NULL;
}

START_TEST(overlays_wait_for_who_reads_them)
{
  static struct mafat_overlay o;
  static unsigned char bytes[SLOW_BYTES];
  const struct mafat_overlay_frame frame = {bytes, sizeof bytes, sizeof bytes};
  int ends[2];
  pthread_t reader;
  open_non_blocking(ends, 1);
  n_read_slowly = 0;
  ck_assert_int_eq(pthread_create(&reader, NULL, read_slowly, &ends[0]), 0);
  ck_assert_int_eq(mafat_overlay_open(&o, ends[1], "a pipe", "64x64:rgb24",
                                      (struct mafat_frame_rate){25, 1}, &diagnostic),
                   MAFAT_OK);
  ck_assert_msg(mafat_overlay_write(&o, NULL, &frame, NULL, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  close(ends[1]);
  pthread_join(reader, NULL);
  close(ends[0]);
  ck_assert_uint_gt(n_read_slowly, sizeof bytes);
}
END_TEST

/* ---- where a JPEG ends ---- */

/* A JPEG with a segment that contains an end marker, restart markers, fill bytes before markers,
 * and two scans. */
static const unsigned char jpeg[] = {0xff, 0xd8, 0xff, 0xe0, 0,    6,    0xff, 0xd9, 0xff, 0xd8,
                                     0xff, 0xff, 0xda, 0,    2,    1,    2,    0xff, 0,    3,
                                     0xff, 0xd0, 4,    0xff, 0xff, 0xff, 0xd1, 6,    0xff, 0xff,
                                     0xda, 0,    3,    9,    5,    0xff, 0xd9};

START_TEST(a_jpeg_ends_where_it_ends)
{
  unsigned char bytes[2 * sizeof jpeg];
  memcpy(bytes, jpeg, sizeof jpeg);
  memcpy(bytes + sizeof jpeg, jpeg, sizeof jpeg);
  for (size_t piece = 1; piece <= sizeof bytes; piece++) {
    struct mafat_jpeg_split s = {.at = MAFAT_JPEG_AT_START};
    size_t at = 0, ends = 0;
    while (at < sizeof bytes) {
      size_t left = sizeof bytes - at;
      at += mafat_jpeg_split(&s, bytes + at, piece < left ? piece : left);
      ck_assert(!s.damaged);
      if (s.ended) ck_assert_uint_eq(at, ++ends * sizeof jpeg);
    }
    ck_assert_uint_eq(ends, 2);
  }
}
END_TEST

START_TEST(what_is_no_jpeg_is_seen)
{
  static const unsigned char streams[][6] = {{0, 0xff, 0xd8},
                                             {0xff, 0xd9},
                                             {0xff, 0xd8, 1},
                                             {0xff, 0xd8, 0xff, 0xd8},
                                             {0xff, 0xd8, 0xff, 0xe0, 0, 1},
                                             {0xff, 0xd8, 0xff, 0, 0, 0}};
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    struct mafat_jpeg_split s = {.at = MAFAT_JPEG_AT_START};
    mafat_jpeg_split(&s, streams[i], sizeof *streams);
    ck_assert_msg(s.damaged, "%zu", i);
  }
}
END_TEST

/* ---- cameras ---- */

/* Taking a frame from a camera that was unplugged fails instead of waiting. A pipe without a writer
 * stands in for the camera: it reports a hangup and rejects Video4Linux calls. */
START_TEST(a_camera_that_is_gone_is_not_waited_for)
{
  int ends[2], stop = 0;
  unsigned char *frame;
  size_t n;
  long long lost;
  ck_assert_int_eq(pipe(ends), 0);
  close(ends[1]);
  struct mafat_camera camera = {.fd = ends[0], .path = "a camera", .held = -1};
  ck_assert_int_eq(mafat_camera_next(&camera, &frame, &n, false, &lost, &stop, &diagnostic),
                   MAFAT_EIO);
  ck_assert_msg(strstr(diagnostic.text, "a camera: cannot take a frame: "), "%s", diagnostic.text);
  mafat_camera_close(&camera);
}
END_TEST

Suite *frames_suite(void)
{
  Suite *s = suite_create("frames");
  TCase *t = tcase_create("frames");
  tcase_add_test(t, frames_are_reported_by_a_text);
  tcase_add_test(t, other_texts_are_refused);
  tcase_add_loop_test(t, colours_are_bt_601_s, 0, 4);
  tcase_add_test(t, levels_give_the_same_colours);
  tcase_add_test(t, rgb24_is_what_it_is);
  tcase_add_test(t, resized_frames_are_resized_pictures);
  tcase_add_test(t, resized_colours_are_those_of_pictures);
  tcase_add_test(t, a_frame_of_another_length_is_refused);
  tcase_add_test(t, headers_of_y4m);
  tcase_add_test(t, damaged_headers_of_y4m);
  tcase_add_loop_test(t, a_signal_ends_frames_wherever_one_is, 0, 7);
  tcase_add_loop_test(t, a_signal_is_not_slept_over, 0, 2);
  tcase_add_loop_test(t, frames_that_are_not_there_yet_are_waited_for, 0, 2);
  tcase_add_test(t, overlays_wait_for_who_reads_them);
  tcase_add_test(t, a_jpeg_ends_where_it_ends);
  tcase_add_test(t, what_is_no_jpeg_is_seen);
  tcase_add_test(t, a_camera_that_is_gone_is_not_waited_for);
  suite_add_tcase(s, t);
  return s;
}
