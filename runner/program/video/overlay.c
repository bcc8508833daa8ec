#include "runner/program/video/overlay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ---- */

static int refuse(const struct mafat_overlay *o, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EIO, "%s: cannot write frames: %s", o->path, strerror(errno));
}

static int write_bytes(const struct mafat_overlay *o, const unsigned char *bytes, size_t n, struct mafat_diagnostic *d)
{
  while (n > 0) {
    ssize_t done = write(o->fd, bytes, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return refuse(o, d);
    bytes += done;
    n -= (size_t)done;
  }
  return MAFAT_OK;
}

int mafat_overlay_open(struct mafat_overlay *o, int fd, const char *path, const char *frames, struct mafat_frame_rate rate, struct mafat_diagnostic *d)
{
  static const char *const names[] = {[MAFAT_OVERLAY_YUV420P] = "yuv420p", [MAFAT_OVERLAY_NV12] = "nv12", [MAFAT_OVERLAY_YUYV] = "yuyv",
                                      [MAFAT_OVERLAY_RGB24] = "rgb24"},
                    *const colours[] = {"420jpeg", "420jpeg", "422", "444"};
  enum { USUAL_RATE = 25 }; /* ffmpeg's, of raw frames */
  struct mafat_frame_facts facts;
  char line[128];
  int code = mafat_frame_describe(frames, &facts, d), kind = 0;
  if (code) return code;
  *o = (struct mafat_overlay){.fd = fd, .path = path, .width = facts.width, .height = facts.height,
                              .full = strcmp(facts.format, "yuvj420p") == 0};
  while (kind < 4 && strcmp(facts.format, names[kind]) != 0) kind++;
  if (o->full) kind = MAFAT_OVERLAY_YUV420P;
  if (kind == 4)
    return mafat_fail(d, MAFAT_EINVAL, "--overlay expects frames that are no JPEGs, found %s: a decoder before it, such as ffmpeg, makes y4m of them", frames);
  o->kind = (enum mafat_overlay_kind)kind;
  if (!rate.frames) rate = (struct mafat_frame_rate){USUAL_RATE, 1};
  int n = snprintf(line, sizeof line, "YUV4MPEG2 W%d H%d F%d:%d Ip A1:1 C%s%s\n", facts.width, facts.height, rate.frames, rate.seconds, colours[kind],
                   o->full ? " XCOLORRANGE=FULL" : " XCOLORRANGE=LIMITED");
  return write_bytes(o, (const unsigned char *)line, (size_t)n, d);
}

/* ---- drawing ---- */

struct rect {
  int x0, y0, x1, y1; /* ends excluded */
};

struct colour {
  unsigned char rgb[3], yuv[3];
};

static unsigned char byte_of(double x) { return (unsigned char)(x < 0 ? 0 : x > 255 ? 255 : x + .5); }

/* BT.601. */
static void find_yuv(const unsigned char *rgb, unsigned char *yuv, bool full)
{
  const double y = .299 * rgb[0] + .587 * rgb[1] + .114 * rgb[2], u = (rgb[2] - y) / 1.772, v = (rgb[0] - y) / 1.402;
  yuv[0] = byte_of(full ? y : 16 + y * 219 / 255);
  yuv[1] = byte_of(128 + (full ? u : u * 224 / 255));
  yuv[2] = byte_of(128 + (full ? v : v * 224 / 255));
}

static struct colour colour_of(const struct mafat_overlay *o, int class_id)
{
  static const unsigned char list[][3] = {{255, 56, 56}, {72, 219, 105}, {0, 148, 255}, {255, 196, 0}, {203, 56, 255}, {0, 226, 226},
                                          {255, 112, 31}, {163, 255, 0}, {100, 115, 255}, {255, 149, 200}};
  struct colour c;
  memcpy(c.rgb, list[(unsigned)class_id % (sizeof list / sizeof *list)], sizeof c.rgb);
  find_yuv(c.rgb, c.yuv, o->full);
  return c;
}

/* A rectangle of samples, `step` bytes apart, in a plane whose rows are `row` bytes long. */
static void fill(unsigned char *plane, size_t row, int step, struct rect r, unsigned char value)
{
  for (int y = r.y0; y < r.y1; y++)
    for (int x = r.x0; x < r.x1; x++) plane[(size_t)y * row + (size_t)(x * step)] = value;
}

/* What of the chroma of two by two, or two by one, pixels it touches. */
static struct rect halved(struct rect r, bool rows)
{
  return (struct rect){r.x0 / 2, rows ? r.y0 / 2 : r.y0, (r.x1 + 1) / 2, rows ? (r.y1 + 1) / 2 : r.y1};
}

static void fill_rect(const struct mafat_overlay *o, unsigned char *frame, struct rect r, const struct colour *c)
{
  const size_t w = (size_t)o->width, pixels = w * (size_t)o->height, half = (w + 1) / 2, quarter = half * (((size_t)o->height + 1) / 2);
  switch (o->kind) {
  case MAFAT_OVERLAY_YUV420P:
    fill(frame, w, 1, r, c->yuv[0]);
    fill(frame + pixels, half, 1, halved(r, true), c->yuv[1]);
    fill(frame + pixels + quarter, half, 1, halved(r, true), c->yuv[2]);
    return;
  case MAFAT_OVERLAY_NV12:
    fill(frame, w, 1, r, c->yuv[0]);
    for (int i = 0; i < 2; i++) fill(frame + pixels + i, 2 * half, 2, halved(r, true), c->yuv[1 + i]);
    return;
  case MAFAT_OVERLAY_YUYV:
    fill(frame, 2 * w, 2, r, c->yuv[0]);
    for (int i = 0; i < 2; i++) fill(frame + 1 + 2 * i, 2 * w, 4, halved(r, false), c->yuv[1 + i]);
    return;
  case MAFAT_OVERLAY_RGB24:
    for (int i = 0; i < 3; i++) fill(frame + i, 3 * w, 3, r, c->rgb[i]);
    return;
  }
}

/* A pixel inside [0, most], wherever the box is. */
static int clip(float x, int most)
{
  return x > (float)most ? most : x > 0 ? (int)x : 0;
}

static struct rect both(struct rect a, struct rect b)
{
  return (struct rect){a.x0 > b.x0 ? a.x0 : b.x0, a.y0 > b.y0 ? a.y0 : b.y0, a.x1 < b.x1 ? a.x1 : b.x1, a.y1 < b.y1 ? a.y1 : b.y1};
}

/* Lines inside the box, on even pixels, where chroma is. */
static void draw_box(const struct mafat_overlay *o, unsigned char *frame, const struct mafat_detection *b)
{
  const struct rect r = {clip(b->x, o->width) & ~1, clip(b->y, o->height) & ~1, clip(b->x + b->w, o->width), clip(b->y + b->h, o->height)};
  const int line = 2 + o->height / 480 * 2;
  const struct rect sides[] = {{r.x0, r.y0, r.x1, r.y0 + line}, {r.x0, (r.y1 & ~1) - line, r.x1, r.y1},
                               {r.x0, r.y0, r.x0 + line, r.y1}, {(r.x1 & ~1) - line, r.y0, r.x1, r.y1}};
  const struct colour c = colour_of(o, b->class_id);
  for (int i = 0; i < 4; i++) fill_rect(o, frame, both(r, sides[i]), &c);
}

/* ---- frames ---- */

/* n samples, each `step` bytes behind the other. */
static int write_plane(struct mafat_overlay *o, const unsigned char *from, size_t step, size_t n, struct mafat_diagnostic *d)
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

/* Red, green and blue become Y, U or V: each pass makes one of them. */
static int write_of_rgb(struct mafat_overlay *o, const unsigned char *rgb, int which, size_t n, struct mafat_diagnostic *d)
{
  static const int weights[3][4] = {{16829, 33039, 6416, 16}, {-9714, -19070, 28784, 128}, {28784, -24103, -4681, 128}}; /* of 2^16 */
  enum { PIECE = sizeof o->piece, SHIFT = 16 };
  const int *k = weights[which], rounded = (k[3] << SHIFT) + (1 << (SHIFT - 1));
  int code = MAFAT_OK;
  for (size_t i = 0; i < n && code == MAFAT_OK; i += PIECE) {
    size_t some = n - i < PIECE ? n - i : PIECE;
    for (size_t j = 0; j < some; j++, rgb += 3) o->piece[j] = (unsigned char)((k[0] * rgb[0] + k[1] * rgb[1] + k[2] * rgb[2] + rounded) >> SHIFT);
    code = write_bytes(o, o->piece, some, d);
  }
  return code;
}

static int write_planes(struct mafat_overlay *o, const unsigned char *frame, struct mafat_diagnostic *d)
{
  const size_t w = (size_t)o->width, h = (size_t)o->height, pixels = w * h, quarter = ((w + 1) / 2) * ((h + 1) / 2);
  int code = MAFAT_OK;
  switch (o->kind) {
  case MAFAT_OVERLAY_YUV420P: return write_bytes(o, frame, pixels + 2 * quarter, d);
  case MAFAT_OVERLAY_NV12:
    code = write_plane(o, frame, 1, pixels, d);
    for (int i = 0; i < 2 && code == MAFAT_OK; i++) code = write_plane(o, frame + pixels + i, 2, quarter, d);
    return code;
  case MAFAT_OVERLAY_YUYV:
    code = write_plane(o, frame, 2, pixels, d);
    for (int i = 0; i < 2 && code == MAFAT_OK; i++) code = write_plane(o, frame + 1 + 2 * i, 4, pixels / 2, d);
    return code;
  case MAFAT_OVERLAY_RGB24:
    for (int i = 0; i < 3 && code == MAFAT_OK; i++) code = write_of_rgb(o, frame, i, pixels, d);
    return code;
  }
  return code;
}

int mafat_overlay_write(struct mafat_overlay *o, unsigned char *frame, const struct mafat_detections *detections, struct mafat_diagnostic *d)
{
  static const unsigned char header[] = "FRAME\n";
  for (size_t i = detections ? detections->n : 0; i-- > 0;) draw_box(o, frame, &detections->list[i]); /* the surest above all */
  int code = write_bytes(o, header, sizeof header - 1, d);
  return code ? code : write_planes(o, frame, d);
}
