#include "runner/image/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- pictures ---- */

static size_t row_floats(struct mafat_shape s)
{
  return (size_t)s.w * (size_t)s.c;
}

size_t mafat_input_turned_bytes(const struct mafat_image *image, struct mafat_shape shape)
{
  return mafat_image_describe(image)->turned ? row_floats(shape) * (size_t)shape.h * sizeof(float) : 0;
}

int mafat_input_picture_open(struct mafat_picture_input *p, struct mafat_image *image,
                             struct mafat_shape shape, bool by_rows, struct mafat_diagnostic *d)
{
  *p = (struct mafat_picture_input){.image = image, .shape = shape};
  size_t bytes = by_rows ? mafat_input_turned_bytes(image, shape) : 0;
  if (bytes == 0) return MAFAT_OK;
  p->whole = malloc(bytes);
  return p->whole ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "out of memory for a turned picture");
}

/* All of it into the arena, or beside it. */
static int read_whole(struct mafat_picture_input *p, float *pixels, size_t stride, struct mafat_diagnostic *d)
{
  struct mafat_image_target target = {pixels, stride};
  p->next_row = p->shape.h;
  return mafat_image_read(p->image, &target, d);
}

static int read_picture(void *context, struct mafat_executor *e, struct mafat_span rows,
                        struct mafat_diagnostic *d)
{
  struct mafat_picture_input *p = context;
  size_t stride, row_bytes = row_floats(p->shape) * sizeof(float);
  float *pixels = mafat_executor_input_row(e, rows.begin, &stride);
  int code = MAFAT_OK;
  if (rows.begin == 0 && rows.end == p->shape.h && !p->whole) return read_whole(p, pixels, stride, d);
  if (p->whole && p->next_row == 0) code = read_whole(p, p->whole, row_floats(p->shape), d);
  for (int y = rows.begin; y < rows.end && code == MAFAT_OK; y++) {
    pixels = mafat_executor_input_row(e, y, &stride);
    if (p->whole) {
      memcpy(pixels, p->whole + (size_t)y * row_floats(p->shape), row_bytes);
      continue;
    }
    code = mafat_image_read_row(p->image, pixels, d);
    p->next_row = y + 1;
  }
  return code;
}

struct mafat_input_source mafat_input_picture_source(struct mafat_picture_input *p)
{
  return (struct mafat_input_source){read_picture, p};
}

int mafat_input_picture_finish(struct mafat_picture_input *p, struct mafat_diagnostic *d)
{
  if (p->next_row == p->shape.h || p->next_row == 0) return MAFAT_OK;
  float *row = malloc(row_floats(p->shape) * sizeof(float));
  int code = row ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "out of memory for a picture's last rows");
  for (; code == MAFAT_OK && p->next_row < p->shape.h; p->next_row++) code = mafat_image_read_row(p->image, row, d);
  free(row);
  return code;
}

void mafat_input_picture_close(struct mafat_picture_input *p)
{
  free(p->whole);
  p->whole = NULL;
}

/* ---- raw floats ---- */

int mafat_input_raw_open(struct mafat_raw_input *r, const char *path, struct mafat_shape shape,
                         struct mafat_diagnostic *d)
{
  size_t row_bytes = (size_t)shape.w * sizeof(float), expected = row_bytes * (size_t)shape.h * (size_t)shape.c;
  struct stat st;
  *r = (struct mafat_raw_input){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .shape = shape};
  int code = MAFAT_OK; /* O_NONBLOCK: a FIFO must not hang us */
  if (r->fd < 0 || fstat(r->fd, &st) != 0) {
    code = mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", path, strerror(errno));
  } else if (!S_ISREG(st.st_mode)) {
    code = mafat_fail(d, MAFAT_EIO, "%s: expected a regular file of %zu bytes (%d x %d x %d floats)", path,
                      expected, shape.c, shape.h, shape.w);
  } else if ((uint64_t)st.st_size != expected) {
    code = mafat_fail(d, MAFAT_EFORMAT, "%s: expected a file of %zu bytes (%d x %d x %d floats), found %lld", path,
                      expected, shape.c, shape.h, shape.w, (long long)st.st_size);
  } else if (!(r->row = malloc(row_bytes))) {
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  }
  if (code) mafat_input_raw_close(r);
  return code;
}

static int read_raw_row(struct mafat_raw_input *r, int c, int y, struct mafat_diagnostic *d)
{
  size_t bytes = (size_t)r->shape.w * sizeof(float);
  off_t at = ((off_t)c * r->shape.h + y) * (off_t)bytes;
  for (size_t got = 0; got < bytes;) {
    ssize_t n = pread(r->fd, (char *)r->row + got, bytes - got, at + (off_t)got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", r->path, n ? strerror(errno) : "it became shorter");
    got += (size_t)n;
  }
  return MAFAT_OK;
}

static int read_raw(void *context, struct mafat_executor *e, struct mafat_span rows, struct mafat_diagnostic *d)
{
  struct mafat_raw_input *r = context;
  for (int c = 0; c < r->shape.c; c++)
    for (int y = rows.begin; y < rows.end; y++) {
      int code = read_raw_row(r, c, y, d);
      if (code) return code;
      mafat_executor_set_input_row(e, c, y, r->row);
    }
  return MAFAT_OK;
}

struct mafat_input_source mafat_input_raw_source(struct mafat_raw_input *r)
{
  return (struct mafat_input_source){read_raw, r};
}

void mafat_input_raw_close(struct mafat_raw_input *r)
{
  if (r->fd >= 0) close(r->fd);
  free(r->row);
  r->row = NULL;
  r->fd = -1;
}
