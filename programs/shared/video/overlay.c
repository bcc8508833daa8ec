/* Draws boxes on frames and writes the frames as y4m. Called by programs/run_inference/video.c
 * for --overlay. Changes the frame; writes to an open descriptor. */
#include "include/mafat_video.h"
#include "programs/shared/video/overlay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ---- */

static int refuse(const struct mafat_overlay *o, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EIO, "%s: cannot write frames: %s", o->path, strerror(errno));
}

static int write_bytes(const struct mafat_overlay *o, const unsigned char *bytes, size_t n,
                       struct mafat_diagnostic *d)
{
  while (n > 0) {
    ssize_t done = write(o->fd, bytes, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) {
      /* Another process may have made the shared pipe non-blocking. */
      struct pollfd ready = {.fd = o->fd, .events = POLLOUT};
      if (poll(&ready, 1, -1) >= 0 || errno == EINTR) continue;
    }
    if (done == 0) errno = EIO; /* otherwise a device that accepts nothing would be tried forever */
    if (done <= 0) return refuse(o, d);
    bytes += done;
    n -= (size_t)done;
  }
  return MAFAT_OK;
}

int mafat_overlay_open(struct mafat_overlay *o, int fd, const char *path, const char *frames,
                       struct mafat_frame_rate rate, struct mafat_diagnostic *d)
{
  static const char *const names[] = {[MAFAT_OVERLAY_YUV420P] = "yuv420p",
                                      [MAFAT_OVERLAY_NV12] = "nv12",
                                      [MAFAT_OVERLAY_YUYV] = "yuyv",
                                      [MAFAT_OVERLAY_RGB24] = "rgb24",
                                      [MAFAT_OVERLAY_JPEG] = "mjpeg"},
                           *const colours[] = {"420jpeg", "420jpeg", "422", "444", "420jpeg"};
  enum { USUAL_RATE = 25 }; /* the rate that ffmpeg assumes for raw frames */
  struct mafat_frame_facts facts = {.size = sizeof facts};
  char line[128];
  int code = mafat_frame_describe(frames, &facts, d), kind = 0;
  if (code) return code;
  while (kind < MAFAT_OVERLAY_JPEG && strcmp(facts.format, names[kind]) != 0) kind++;
  bool full = strcmp(facts.format, "yuvj420p") == 0;
  *o = (struct mafat_overlay){.fd = fd,
                              .path = path,
                              .kind = full ? MAFAT_OVERLAY_YUV420P : (enum mafat_overlay_kind)kind,
                              .width = facts.width,
                              .height = facts.height,
                              .full = full || kind == MAFAT_OVERLAY_JPEG};
  if (!rate.frames) rate = (struct mafat_frame_rate){USUAL_RATE, 1};
  int n = snprintf(line, sizeof line, "YUV4MPEG2 W%d H%d F%d:%d Ip A1:1 C%s%s\n", facts.width,
                   facts.height, rate.frames, rate.seconds, colours[kind],
                   o->full ? " XCOLORRANGE=FULL" : " XCOLORRANGE=LIMITED");
  return write_bytes(o, (const unsigned char *)line, (size_t)n, d);
}

/* ---- drawing ---- */

struct overlay_rect {
  int x0, y0, x1, y1; /* x1 and y1 are excluded */
};

struct colour {
  unsigned char rgb[3], yuv[3];
};

static unsigned char byte_of(double x)
{
  return (unsigned char)(x < 0 ? 0 : x > 255 ? 255 : x + .5);
}

/* Converts a colour by BT.601; full: to full range. */
static void find_yuv(const unsigned char *rgb, unsigned char *yuv, bool full)
{
  const double y = .299 * rgb[0] + .587 * rgb[1] + .114 * rgb[2], u = (rgb[2] - y) / 1.772,
               v = (rgb[0] - y) / 1.402;
  yuv[0] = byte_of(full ? y : 16 + y * 219 / 255);
  yuv[1] = byte_of(128 + (full ? u : u * 224 / 255));
  yuv[2] = byte_of(128 + (full ? v : v * 224 / 255));
}

static struct colour colour_of(const struct mafat_overlay *o, int class_id)
{
  static const unsigned char list[][3] = {{255, 56, 56},  {72, 219, 105}, {0, 148, 255},
                                          {255, 196, 0},  {203, 56, 255}, {0, 226, 226},
                                          {255, 112, 31}, {163, 255, 0},  {100, 115, 255},
                                          {255, 149, 200}};
  struct colour c;
  memcpy(c.rgb, list[(unsigned)class_id % (sizeof list / sizeof *list)], sizeof c.rgb);
  find_yuv(c.rgb, c.yuv, o->full);
  return c;
}

/* Fills a rectangle of samples. Samples are `step` bytes apart, and the plane's rows `row` bytes
 * long. */
static void fill(unsigned char *plane, size_t row, int step, struct overlay_rect r,
                 unsigned char value)
{
  for (int y = r.y0; y < r.y1; y++)
    for (int x = r.x0; x < r.x1; x++) plane[(size_t)y * row + (size_t)(x * step)] = value;
}

/* Returns the rectangle in chroma samples, each of which covers two columns and, if `rows`, two
 * rows of pixels. */
static struct overlay_rect halved(struct overlay_rect r, bool rows)
{
  return (struct overlay_rect){r.x0 / 2, rows ? r.y0 / 2 : r.y0, (r.x1 + 1) / 2,
                               rows ? (r.y1 + 1) / 2 : r.y1};
}

static void fill_rect(const struct mafat_overlay *o, unsigned char *frame, struct overlay_rect r,
                      const struct colour *c)
{
  const size_t w = (size_t)o->width, pixels = w * (size_t)o->height, half = (w + 1) / 2,
               quarter = half * (((size_t)o->height + 1) / 2);
  switch (o->kind) {
  case MAFAT_OVERLAY_YUV420P:
    fill(frame, w, 1, r, c->yuv[0]);
    fill(frame + pixels, half, 1, halved(r, true), c->yuv[1]);
    fill(frame + pixels + quarter, half, 1, halved(r, true), c->yuv[2]);
    return;
  case MAFAT_OVERLAY_NV12:
    fill(frame, w, 1, r, c->yuv[0]);
    for (int i = 0; i < 2; i++)
      fill(frame + pixels + i, 2 * half, 2, halved(r, true), c->yuv[1 + i]);
    return;
  case MAFAT_OVERLAY_YUYV:
    fill(frame, 2 * w, 2, r, c->yuv[0]);
    for (int i = 0; i < 2; i++) fill(frame + 1 + 2 * i, 2 * w, 4, halved(r, false), c->yuv[1 + i]);
    return;
  case MAFAT_OVERLAY_RGB24:
    for (int i = 0; i < 3; i++) fill(frame + i, 3 * w, 3, r, c->rgb[i]);
    return;
  case MAFAT_OVERLAY_JPEG: return; /* draw_on_row() draws on JPEGs */
  }
}

/* Returns the coordinate as an integer inside [0, most]. */
static int clip(float x, int most)
{
  return x > (float)most ? most : x > 0 ? (int)x : 0;
}

static struct overlay_rect both(struct overlay_rect a, struct overlay_rect b)
{
  return (struct overlay_rect){a.x0 > b.x0 ? a.x0 : b.x0, a.y0 > b.y0 ? a.y0 : b.y0,
                               a.x1 < b.x1 ? a.x1 : b.x1, a.y1 < b.y1 ? a.y1 : b.y1};
}

enum { SIDES = 4 };

/* Finds the four lines of the box. They are inside it and begin at even pixels, where chroma
 * samples are. */
static void find_sides(const struct mafat_overlay *o, const struct mafat_detection *b,
                       struct overlay_rect sides[SIDES])
{
  const struct overlay_rect r = {clip(b->x, o->width) & ~1, clip(b->y, o->height) & ~1,
                                 clip(b->x + b->w, o->width), clip(b->y + b->h, o->height)};
  const int line = 2 + o->height / 480 * 2;
  sides[0] = both(r, (struct overlay_rect){r.x0, r.y0, r.x1, r.y0 + line});
  sides[1] = both(r, (struct overlay_rect){r.x0, (r.y1 & ~1) - line, r.x1, r.y1});
  sides[2] = both(r, (struct overlay_rect){r.x0, r.y0, r.x0 + line, r.y1});
  sides[3] = both(r, (struct overlay_rect){(r.x1 & ~1) - line, r.y0, r.x1, r.y1});
}

static void draw_box(const struct mafat_overlay *o, unsigned char *frame,
                     const struct mafat_detection *b)
{
  const struct colour c = colour_of(o, b->class_id);
  struct overlay_rect sides[SIDES];
  find_sides(o, b, sides);
  for (int i = 0; i < SIDES; i++) fill_rect(o, frame, sides[i], &c);
}

/* ---- frames ---- */

/* Writes n samples that are `step` bytes apart. */
static int write_plane(struct mafat_overlay *o, const unsigned char *from, size_t step, size_t n,
                       struct mafat_diagnostic *d)
{
  enum { PIECE = sizeof o->piece };
  int code = MAFAT_OK;
  if (step == 1) return write_bytes(o, from, n, d);
  for (size_t i = 0; i < n && code == MAFAT_OK; i += PIECE) {
    size_t some = n - i < PIECE ? n - i : PIECE;
    for (size_t k = 0; k < some; k++) o->piece[k] = from[(i + k) * step];
    code = write_bytes(o, o->piece, some, d);
  }
  return code;
}

/* Weights of red, green and blue for Y, U and V, in units of 2^-16, and the value to add: [0]
 * limited range, [1] full range. */
static const int weights[2][3][4] = {
    {{16829, 33039, 6416, 16}, {-9714, -19070, 28784, 128}, {28784, -24103, -4681, 128}},
    {{19595, 38470, 7471, 0}, {-11059, -21709, 32768, 128}, {32768, -27439, -5329, 128}}};

static unsigned char of_rgb(const unsigned char *rgb, const int *k)
{
  enum { SHIFT = 16 };
  const int sum =
      (k[0] * rgb[0] + k[1] * rgb[1] + k[2] * rgb[2] + (k[3] << SHIFT) + (1 << (SHIFT - 1))) >>
      SHIFT;
  return (unsigned char)(sum > 255 ? 255 : sum);
}

/* Converts n pixels to one plane, Y, U or V (`which` 0, 1 or 2), and writes it. */
static int write_of_rgb(struct mafat_overlay *o, const unsigned char *rgb, int which, size_t n,
                        struct mafat_diagnostic *d)
{
  enum { PIECE = sizeof o->piece };
  int code = MAFAT_OK;
  for (size_t i = 0; i < n && code == MAFAT_OK; i += PIECE) {
    size_t some = n - i < PIECE ? n - i : PIECE;
    for (size_t j = 0; j < some; j++, rgb += 3) o->piece[j] = of_rgb(rgb, weights[o->full][which]);
    code = write_bytes(o, o->piece, some, d);
  }
  return code;
}

static int write_planes(struct mafat_overlay *o, const unsigned char *frame,
                        struct mafat_diagnostic *d)
{
  const size_t w = (size_t)o->width, h = (size_t)o->height, pixels = w * h,
               quarter = ((w + 1) / 2) * ((h + 1) / 2);
  int code = MAFAT_OK;
  switch (o->kind) {
  case MAFAT_OVERLAY_YUV420P: return write_bytes(o, frame, pixels + 2 * quarter, d);
  case MAFAT_OVERLAY_NV12:
    code = write_plane(o, frame, 1, pixels, d);
    for (int i = 0; i < 2 && code == MAFAT_OK; i++)
      code = write_plane(o, frame + pixels + i, 2, quarter, d);
    return code;
  case MAFAT_OVERLAY_YUYV:
    code = write_plane(o, frame, 2, pixels, d);
    for (int i = 0; i < 2 && code == MAFAT_OK; i++)
      code = write_plane(o, frame + 1 + 2 * i, 4, pixels / 2, d);
    return code;
  case MAFAT_OVERLAY_RGB24:
    for (int i = 0; i < 3 && code == MAFAT_OK; i++) code = write_of_rgb(o, frame, i, pixels, d);
    return code;
  case MAFAT_OVERLAY_JPEG: break; /* write_jpeg() writes JPEGs */
  }
  return code;
}

/* ---- JPEGs ---- */

/* The state of writing a JPEG, which is decoded row by row. */
struct overlay_rows {
  struct mafat_overlay *o;
  const struct mafat_detections *detections;
  unsigned char *chroma[2]; /* planes of U and V */
};

static void draw_on_row(const struct overlay_rows *r, unsigned char *rgb, int y)
{
  for (size_t i = r->detections ? r->detections->n : 0; i-- > 0;) {
    const struct mafat_detection *b = &r->detections->list[i];
    const struct colour c = colour_of(r->o, b->class_id);
    struct overlay_rect sides[SIDES];
    find_sides(r->o, b, sides);
    for (int k = 0; k < SIDES; k++)
      for (int x = sides[k].x0; x < sides[k].x1 && y >= sides[k].y0 && y < sides[k].y1; x++)
        memcpy(rgb + 3 * x, c.rgb, sizeof c.rgb);
  }
}

/* Stores the mean chroma of each two by two pixels. An odd row is averaged with the values of the
 * row above. */
static void take_chroma(const struct overlay_rows *r, const unsigned char *rgb, int y)
{
  const int w = r->o->width, half = (w + 1) / 2;
  for (int i = 0; i < 2; i++) {
    unsigned char *row = r->chroma[i] + (size_t)(y / 2) * (size_t)half;
    const int *k = weights[1][1 + i];
    for (int x = 0; x < half; x++) {
      const unsigned char *left = rgb + 6 * x, *right = 2 * x + 1 < w ? left + 3 : left;
      const int both_sides = (of_rgb(left, k) + of_rgb(right, k) + 1) / 2;
      row[x] = (unsigned char)(y % 2 ? (row[x] + both_sides) / 2 : both_sides);
    }
  }
}

static int flush_piece(struct mafat_overlay *o, struct mafat_diagnostic *d)
{
  int code = write_bytes(o, o->piece, o->n_piece, d);
  o->n_piece = 0;
  return code;
}

static int take_row(void *context, unsigned char *rgb, int y, struct mafat_diagnostic *d)
{
  struct overlay_rows *r = context;
  struct mafat_overlay *o = r->o;
  int code = MAFAT_OK;
  draw_on_row(r, rgb, y);
  take_chroma(r, rgb, y);
  for (int x = 0; x < o->width && code == MAFAT_OK; x++) {
    if (o->n_piece == sizeof o->piece) code = flush_piece(o, d);
    o->piece[o->n_piece++] = of_rgb(rgb + 3 * x, weights[1][0]);
  }
  return code;
}

static int write_jpeg(struct mafat_overlay *o, struct mafat_model *model,
                      const struct mafat_overlay_frame *f,
                      const struct mafat_detections *detections, struct mafat_diagnostic *d)
{
  const size_t quarter = (((size_t)o->width + 1) / 2) * (((size_t)o->height + 1) / 2);
  struct overlay_rows rows = {o, detections, {f->bytes + f->n, f->bytes + f->n + quarter}};
  o->n_piece = 0;
  int code = mafat_model_frame_rows(model, f->bytes, f->n, take_row, &rows, d);
  if (code == MAFAT_OK) code = flush_piece(o, d);
  return code ? code : write_bytes(o, rows.chroma[0], 2 * quarter, d);
}

/* Checks that the buffer has space for chroma after the JPEG, before any byte of the frame is
 * written. */
static int check_room(const struct mafat_overlay *o, const struct mafat_overlay_frame *f,
                      struct mafat_diagnostic *d)
{
  const size_t chroma = 2 * (((size_t)o->width + 1) / 2) * (((size_t)o->height + 1) / 2);
  if (o->kind != MAFAT_OVERLAY_JPEG || (chroma <= f->capacity && f->n <= f->capacity - chroma))
    return MAFAT_OK;
  return mafat_fail(d, MAFAT_EUNSUPPORTED,
                    "--overlay expects JPEGs of at most %zu bytes here, found one of %zu: a "
                    "decoder before it, such as ffmpeg, makes y4m of them",
                    chroma < f->capacity ? f->capacity - chroma : 0, f->n);
}

/* ---- all of it ---- */

int mafat_overlay_write(struct mafat_overlay *o, struct mafat_model *model,
                        const struct mafat_overlay_frame *frame,
                        const struct mafat_detections *detections, struct mafat_diagnostic *d)
{
  static const unsigned char header[] = "FRAME\n";
  int code = check_room(o, frame, d);
  if (code == MAFAT_OK) code = write_bytes(o, header, sizeof header - 1, d);
  if (code) return code;
  if (o->kind == MAFAT_OVERLAY_JPEG) return write_jpeg(o, model, frame, detections, d);
  for (size_t i = detections ? detections->n : 0; i-- > 0;)
    /* backwards, so that the most confident box is on top */
    draw_box(o, frame->bytes, &detections->list[i]);
  return write_planes(o, frame->bytes, d);
}
