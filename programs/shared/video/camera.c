/* Opens a Video4Linux camera and gets its frames. Called by programs/run_inference/video.c. Opens
 * and maps the device; mafat_camera_close releases both. */
#include "include/mafat_video.h"
#include "programs/shared/video/camera.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Buffers to ask for: one frame is in use while two are filled. Times are milliseconds. */
enum {
  WANTED_BUFFERS = 3, LEAST_BUFFERS = 2, PATIENCE_MS = 10000, SLICE_MS = 250, PAUSE_MS = 10,
  PAGE = 4096
};

/* Usable formats of the driver, in the order in which they are tried: first those with the fewest
 * bytes per pixel, JPEGs last. */
static const struct {
  __u32 code;
  const char *name;
} formats[] = {{V4L2_PIX_FMT_YUV420, "yuv420p"}, {V4L2_PIX_FMT_NV12, "nv12"},
               {V4L2_PIX_FMT_YUYV, "yuyv"},      {V4L2_PIX_FMT_RGB24, "rgb24"},
               {V4L2_PIX_FMT_MJPEG, "mjpeg"},    {V4L2_PIX_FMT_JPEG, "mjpeg"}};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static int ask(const struct mafat_camera *c, unsigned long request, void *argument)
{
  int answer;
  do answer = ioctl(c->fd, request, argument);
  while (answer < 0 && errno == EINTR);
  return answer;
}

static int refuse(const struct mafat_camera *c, const char *what, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EIO, "%s: cannot %s: %s", c->path, what, strerror(errno));
}

/* ---- opening ---- */

static int check_device(const struct mafat_camera *c, struct mafat_diagnostic *d)
{
  struct v4l2_capability cap = {0};
  if (ask(c, VIDIOC_QUERYCAP, &cap) < 0)
    return errno == ENOTTY || errno == EINVAL
               ? mafat_fail(d, MAFAT_EUNSUPPORTED,
                            "%s: expected a camera (Video4Linux), found none", c->path)
               : refuse(c, "ask what it can do", d);
  __u32 can = cap.capabilities & V4L2_CAP_DEVICE_CAPS ? cap.device_caps : cap.capabilities;
  if (!(can & V4L2_CAP_VIDEO_CAPTURE) || !(can & V4L2_CAP_STREAMING))
    return mafat_fail(
        d, MAFAT_EUNSUPPORTED,
        "%s: expected a camera that streams single-planar frames, found a device that does not",
        c->path);
  return MAFAT_OK;
}

static const char *name_of(__u32 code)
{
  for (int i = 0; i < N_FORMATS; i++)
    if (formats[i].code == code) return formats[i].name;
  return NULL;
}

/* Asks the driver for a format. Returns false if the driver chose another one, as it does if it
 * lacks the requested one. */
static bool set_format(const struct mafat_camera *c, struct v4l2_format *f, __u32 code,
                       const struct mafat_frame_facts *request)
{
  struct v4l2_pix_format *pix = &f->fmt.pix;
  if (request) {
    pix->width = (__u32)request->width;
    pix->height = (__u32)request->height;
  }
  pix->pixelformat = code;
  pix->field = V4L2_FIELD_NONE;
  pix->bytesperline = pix->sizeimage = 0;
  return ask(c, VIDIOC_S_FMT, f) == 0 && pix->pixelformat == code &&
         (!request ||
          (pix->width == (__u32)request->width && pix->height == (__u32)request->height));
}

static int choose_format(struct mafat_camera *c, const char *request, struct v4l2_format *f,
                         struct mafat_diagnostic *d)
{
  struct mafat_frame_facts wished = {.size = sizeof wished};
  int code = request ? mafat_frame_describe(request, &wished, d) : MAFAT_OK;
  if (code) return code;
  *f = (struct v4l2_format){.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
  if (ask(c, VIDIOC_G_FMT, f) < 0) return refuse(c, "ask for its frames", d);
  if (!request && name_of(f->fmt.pix.pixelformat) && set_format(c, f, f->fmt.pix.pixelformat, NULL))
    return MAFAT_OK;
  for (int i = 0; i < N_FORMATS; i++)
    if ((!request || strcmp(formats[i].name, wished.format) == 0) &&
        set_format(c, f, formats[i].code, request ? &wished : NULL))
      return MAFAT_OK;
  const __u32 has = f->fmt.pix.pixelformat;
  if (request)
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: expected frames of %.60s, the camera offers %ux%u of %c%c%c%c", c->path,
                      request, f->fmt.pix.width, f->fmt.pix.height, (int)(has & 127),
                      (int)(has >> 8 & 127), (int)(has >> 16 & 127), (int)(has >> 24 & 127));
  return mafat_fail(
      d, MAFAT_EUNSUPPORTED,
      "%s: expected a camera of yuv420p, nv12, yuyv, rgb24 or mjpeg, found none of them", c->path);
}

/* Takes over the driver's format, if its frames are what the model reads: rows without gaps. */
static int take_format(struct mafat_camera *c, const struct v4l2_format *f,
                       struct mafat_diagnostic *d)
{
  const struct v4l2_pix_format *pix = &f->fmt.pix;
  struct mafat_frame_facts facts = {.size = sizeof facts};
  snprintf(c->text, sizeof c->text, "%ux%u:%s", pix->width, pix->height, name_of(pix->pixelformat));
  int code = mafat_frame_describe(c->text, &facts, d);
  if (code) return code;
  c->frame_bytes = facts.bytes;
  c->varies = facts.varies;
  size_t row = strcmp(facts.format, "rgb24") == 0 ? 3 : strcmp(facts.format, "yuyv") == 0 ? 2 : 1;
  if (!facts.varies && pix->bytesperline && pix->bytesperline != row * pix->width)
    return mafat_fail(
        d, MAFAT_EUNSUPPORTED,
        "%s: expected rows of %zu bytes, the camera's have %u: another width may do (--video)",
        c->path, row * pix->width, pix->bytesperline);
  return MAFAT_OK;
}

static void find_rate(struct mafat_camera *c)
{
  struct v4l2_streamparm p = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
  const struct v4l2_fract *t = &p.parm.capture.timeperframe;
  if (ask(c, VIDIOC_G_PARM, &p) == 0 && t->numerator && t->denominator &&
      t->denominator < 1u << 31 && t->numerator < 1u << 31)
    c->rate = (struct mafat_frame_rate){(int)t->denominator, (int)t->numerator};
}

static size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static int map_buffers(struct mafat_camera *c, struct mafat_diagnostic *d)
{
  struct v4l2_requestbuffers r = {
      .count = WANTED_BUFFERS, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
  if (ask(c, VIDIOC_REQBUFS, &r) < 0) return refuse(c, "get buffers", d);
  if (r.count < LEAST_BUFFERS || r.count > MAFAT_CAMERA_BUFFERS)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: expected %d to %d buffers, the camera gives %u",
                      c->path, LEAST_BUFFERS, MAFAT_CAMERA_BUFFERS, r.count);
  c->mapped_bytes = 0;
  for (; c->n_buffers < (int)r.count; c->n_buffers++) {
    struct v4l2_buffer b = {.index = (__u32)c->n_buffers,
                            .type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
                            .memory = V4L2_MEMORY_MMAP};
    if (ask(c, VIDIOC_QUERYBUF, &b) < 0) return refuse(c, "ask for a buffer", d);
    if (!c->varies && b.length < c->frame_bytes)
      return mafat_fail(d, MAFAT_EUNSUPPORTED,
                        "%s: expected buffers of %zu bytes, the camera's have %u", c->path,
                        c->frame_bytes, b.length);
    void *at = mmap(NULL, b.length, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, (off_t)b.m.offset);
    if (at == MAP_FAILED) return refuse(c, "map a buffer", d);
    c->buffers[c->n_buffers].at = at;
    c->buffers[c->n_buffers].bytes = b.length;
    c->mapped_bytes += pages(b.length);
  }
  return MAFAT_OK;
}

static int open_device(struct mafat_camera *c, const char *request, bool map,
                       struct mafat_diagnostic *d)
{
  struct v4l2_format f;
  c->fd = open(c->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (c->fd < 0) return refuse(c, "open", d);
  int code = check_device(c, d);
  if (code == MAFAT_OK) code = choose_format(c, request, &f, d);
  if (code == MAFAT_OK) code = take_format(c, &f, d);
  if (code) return code;
  find_rate(c);
  c->mapped_bytes =
      WANTED_BUFFERS * pages(f.fmt.pix.sizeimage > c->frame_bytes || c->varies ? f.fmt.pix.sizeimage
                                                                               : c->frame_bytes);
  return map ? map_buffers(c, d) : MAFAT_OK;
}

int mafat_camera_open(struct mafat_camera *c, const char *path, const char *request, bool map,
                      struct mafat_diagnostic *d)
{
  *c = (struct mafat_camera){.fd = -1, .path = path, .held = -1};
  int code = open_device(c, request, map, d);
  if (code) mafat_camera_close(c);
  return code;
}

/* ---- frames ---- */

static int give_back(struct mafat_camera *c, int index, struct mafat_diagnostic *d)
{
  struct v4l2_buffer b = {
      .index = (__u32)index, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
  return ask(c, VIDIOC_QBUF, &b) < 0 ? refuse(c, "give a buffer back", d) : MAFAT_OK;
}

int mafat_camera_start(struct mafat_camera *c, struct mafat_diagnostic *d)
{
  int type = V4L2_BUF_TYPE_VIDEO_CAPTURE, code = MAFAT_OK;
  for (int i = 0; i < c->n_buffers && code == MAFAT_OK; i++) code = give_back(c, i, d);
  if (code == MAFAT_OK && ask(c, VIDIOC_STREAMON, &type) < 0) code = refuse(c, "start", d);
  return code;
}

static double now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Waits until a frame is ready. Returns false after the time. If the device has an error or is
 * gone, returns true, and getting a frame then reports the reason. */
static bool wait_for_frame(const struct mafat_camera *c, int milliseconds)
{
  struct pollfd one = {.fd = c->fd, .events = POLLIN};
  return poll(&one, 1, milliseconds) == 1;
}

/* Waits a little after the driver announced a frame and then had none, as some do after errors. */
static int pause_for_frame(void)
{
  poll(NULL, 0, PAUSE_MS);
  return MAFAT_OK;
}

/* Gets a ready frame into c->held. A frame that the driver marks as damaged is given back. */
static int take_frame(struct mafat_camera *c, size_t *n, long long *lost,
                      struct mafat_diagnostic *d)
{
  struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
  *n = 0;
  if (ask(c, VIDIOC_DQBUF, &b) < 0)
    return errno == EAGAIN ? pause_for_frame() : refuse(c, "take a frame", d);
  if (b.index >= (__u32)c->n_buffers)
    return mafat_fail(d, MAFAT_EIO, "%s: damaged: the driver's buffer %u is none", c->path,
                      b.index);
  if (c->counted && b.sequence - c->next < 1u << 31)
    *lost += b.sequence - c->next; /* a driver may begin again to count frames from 0 */
  c->counted = true;
  c->next = b.sequence + 1;
  size_t bytes = b.bytesused && c->varies ? b.bytesused : c->frame_bytes;
  bool good = !(b.flags & V4L2_BUF_FLAG_ERROR) && bytes <= c->buffers[b.index].bytes &&
              (c->varies || !b.bytesused || b.bytesused >= bytes);
  if (!good) {
    ++*lost;
    return give_back(c, (int)b.index, d);
  }
  c->held = (int)b.index;
  *n = bytes < c->frame_bytes ? bytes : c->frame_bytes;
  return MAFAT_OK;
}

int mafat_camera_next(struct mafat_camera *c, unsigned char **frame, size_t *n, bool newest,
                      long long *lost, const volatile int *stop, struct mafat_diagnostic *d)
{
  const double ends_ms = now_ms() + PATIENCE_MS;
  int code = c->held >= 0 ? give_back(c, c->held, d) : MAFAT_OK;
  c->held = -1;
  *lost = 0;
  *n = 0;
  while (code == MAFAT_OK && !*stop && *n == 0) {
    /* computed before waiting, since this process may have been stopped */
    bool late = now_ms() >= ends_ms;
    if (wait_for_frame(c, SLICE_MS)) code = take_frame(c, n, lost, d);
    if (code == MAFAT_OK && *n == 0 && late && !*stop)
      code = mafat_fail(d, MAFAT_EIO,
                        "%s: expected a frame, none that is whole has come for %d seconds", c->path,
                        PATIENCE_MS / 1000);
  }
  while (code == MAFAT_OK && newest && *n && wait_for_frame(c, 0)) {
    int older = c->held;
    size_t bytes;
    code = take_frame(c, &bytes, lost, d);
    if (code || bytes == 0) break;
    *n = bytes;
    ++*lost;
    code = give_back(c, older, d);
  }
  if (code == MAFAT_OK && *n) *frame = c->buffers[c->held].at;
  return code;
}

void mafat_camera_close(struct mafat_camera *c)
{
  for (int i = 0; i < c->n_buffers; i++) munmap(c->buffers[i].at, c->buffers[i].bytes);
  if (c->fd >= 0) close(c->fd);
  *c = (struct mafat_camera){.fd = -1, .held = -1};
}
