/* Reads and writes pictures: gd for JPEG, PNG and BMP, own code for PPM and PGM. Called by
 * annotate.c. Opens files and allocates; gd's last message is kept in a static buffer. */
#include "programs/annotate/picture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libexif/exif-data.h>

#include "programs/shared/unfinished.h"

enum { JPEG_QUALITY = 92 };

static char gd_message[256]; /* last message of gd or decode_pnm() */

static void keep_gd_message(int priority, const char *format, va_list args)
{
  (void)priority;
  vsnprintf(gd_message, sizeof gd_message, format, args);
  gd_message[strcspn(gd_message, "\n")] = '\0';
}

/* ---- Names ---- */

const char *mafat_annotate_picture_suffix(const char *path)
{
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  return dot && dot != base ? dot : "";
}

static bool has_suffix(const char *path, const char *suffix)
{
  return strcasecmp(mafat_annotate_picture_suffix(path), suffix) == 0;
}

static bool is_jpeg_name(const char *path)
{
  return has_suffix(path, ".jpg") || has_suffix(path, ".jpeg");
}

bool mafat_annotate_picture_can_write(const char *path)
{
  return is_jpeg_name(path) || has_suffix(path, ".png");
}

/* ---- Turning upright ---- */

/* Returns the Exif orientation (1 to 8) of a JPEG file, or of "Exif\0\0" and a TIFF structure; 1 if
 * none is given. */
static int exif_orientation(const unsigned char *data, unsigned bytes)
{
  int orientation = 1;
  ExifData *exif = exif_data_new();
  if (!exif) return orientation;
  /* Without this, libexif fills in missing entries with default values. */
  exif_data_unset_option(exif, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
  exif_data_load_data(exif, data, bytes);
  ExifEntry *entry = exif_content_get_entry(exif->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  if (entry && entry->format == EXIF_FORMAT_SHORT && entry->components == 1 && entry->data &&
      entry->size >= 2) {
    int value = exif_get_short(entry->data, exif_data_get_byte_order(exif));
    if (value >= 1 && value <= 8) orientation = value;
  }
  exif_data_unref(exif);
  return orientation;
}

/* Returns the orientation in the eXIf chunk of a PNG file, which libexif does not look for. */
static int png_orientation(const unsigned char *data, size_t bytes)
{
  enum { SIGNATURE = 8, HEAD = 8, CRC = 4 };
  int orientation = 1;
  for (size_t at = SIGNATURE; at + HEAD <= bytes;) {
    const unsigned char *head = data + at;
    size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (length > bytes - at - HEAD) break;
    if (memcmp(head + 4, "eXIf", 4) == 0) {
      unsigned char *exif = malloc(length + 6);
      if (exif) {
        memcpy(exif, "Exif\0\0", 6);
        memcpy(exif + 6, head + HEAD, length);
        orientation = exif_orientation(exif, (unsigned)length + 6);
      }
      free(exif);
      break;
    }
    at += HEAD + length + CRC;
  }
  return orientation;
}

/* Turns and mirrors as Exif (JEITA CP-3451, tag 0x112) says, and drops transparency, which no
 * detector sees. Frees `stored`. */
static gdImagePtr make_upright(gdImagePtr stored, int orientation)
{
  bool transposed = orientation >= 5;
  bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  int w = gdImageSX(stored), h = gdImageSY(stored);
  gdImagePtr upright = gdImageCreateTrueColor(transposed ? h : w, transposed ? w : h);
  for (int y = 0; upright && y < gdImageSY(upright); y++) {
    for (int x = 0; x < gdImageSX(upright); x++) {
      int sx = transposed ? y : x, sy = transposed ? x : y;
      int color =
          gdImageGetTrueColorPixel(stored, mirror_x ? w - 1 - sx : sx, mirror_y ? h - 1 - sy : sy);
      gdImageTrueColorPixel(upright, x, y) = color & 0xffffff;
    }
  }
  gdImageDestroy(stored);
  return upright;
}

/* ---- Decoding ---- */

/* A damaged JPEG is decoded as far as it goes, with a message. */
static gdImagePtr decode_jpeg(int bytes, void *data)
{
  return gdImageCreateFromJpegPtrEx(bytes, data, 0);
}

struct byte_cursor {
  const unsigned char *next, *end;
};

/* Reads a decimal number after white space and comments, and skips one byte after it. False: no
 * number, or above 2^20. */
static bool read_pnm_number(struct byte_cursor *in, int *out)
{
  enum { LIMIT = 1 << 20 };
  while (in->next < in->end &&
         (*in->next == '#' || *in->next == ' ' || (*in->next >= '\t' && *in->next <= '\r'))) {
    bool comment = *in->next == '#';
    while (comment && in->next < in->end && *in->next != '\n' && *in->next != '\r') in->next++;
    if (in->next < in->end) in->next++;
  }
  if (in->next == in->end || *in->next < '0' || *in->next > '9') return false;
  for (*out = 0; in->next < in->end && *in->next >= '0' && *in->next <= '9'; in->next++)
    if ((*out = *out * 10 + *in->next - '0') > LIMIT) return false;
  if (in->next < in->end) in->next++;
  return true;
}

/* PPM and PGM, plain and raw, which gd does not read. As in OpenCV, only plain samples of 8 bits
 * are scaled by the maximum. */
static gdImagePtr decode_pnm(int bytes, void *data)
{
  struct byte_cursor in = {(unsigned char *)data + 2, (unsigned char *)data + bytes};
  int kind = ((unsigned char *)data)[1], channels = kind == '3' || kind == '6' ? 3 : 1;
  bool plain = kind < '5';
  int width, height, maximum, value;
  gdImagePtr im = NULL;
  if (!read_pnm_number(&in, &width) || !read_pnm_number(&in, &height) ||
      !read_pnm_number(&in, &maximum) || width < 1 || height < 1 || maximum < 1 || maximum > 65535)
    goto damaged;
  size_t sample_bytes = maximum > 255 && !plain ? 2 : 1; /* plain: at least 1 byte */
  if ((size_t)(in.end - in.next) / sample_bytes / (size_t)channels / (size_t)width < (size_t)height)
    goto damaged;
  im = gdImageCreateTrueColor(width, height);
  for (int i = 0; im && i < height; i++) {
    for (int x = 0; x < width; x++) {
      int color = 0;
      for (int c = 0; c < channels; c++) {
        if (plain && !read_pnm_number(&in, &value)) goto damaged;
        if (plain) {
          value = value < maximum ? value : maximum;
          value = maximum > 255 ? value >> 8 : value * 255 / maximum;
        } else {
          value = *in.next;
          in.next += sample_bytes;
        }
        color = color << 8 | value;
      }
      gdImageTrueColorPixel(im, x, i) = channels == 3 ? color : color * 0x10101;
    }
  }
  return im;

damaged:
  snprintf(gd_message, sizeof gd_message, "damaged PPM or PGM, at byte %td",
           in.next - (unsigned char *)data);
  if (im) gdImageDestroy(im);
  return NULL;
}

/* Returns NULL after a failure. *problem then has the reason, and gd_message what gd printed. */
static gdImagePtr decode(unsigned char *data, int bytes, const char **problem)
{
  gdImagePtr stored;
  int orientation = 1;
  if (bytes >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0) {
    stored = decode_jpeg(bytes, data);
    orientation = exif_orientation(data, (unsigned)bytes);
  } else if (bytes >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0) {
    stored = gdImageCreateFromPngPtr(bytes, data);
    orientation = png_orientation(data, (size_t)bytes);
  } else if (bytes >= 2 && memcmp(data, "BM", 2) == 0) {
    stored = gdImageCreateFromBmpPtr(bytes, data);
  } else if (bytes >= 3 && data[0] == 'P' && data[1] && strchr("2356", data[1])) {
    stored = decode_pnm(bytes, data);
  } else {
    *problem = "expected a JPEG, PNG, BMP, PPM or PGM picture, found something else";
    return NULL;
  }
  *problem = "cannot decode the picture";
  return stored ? make_upright(stored, orientation) : NULL;
}

/* ---- Reading ---- */

/* Reads a whole file; *out is the caller's to free. */
static int read_file(unsigned char **out, int *out_bytes, const char *path,
                     struct mafat_diagnostic *d)
{
  const size_t limit = (size_t)1 << 30; /* gd counts bytes in int */
  unsigned char *data = NULL;
  size_t used = 0, capacity = 0, got;
  const char *problem = NULL;
  int code = MAFAT_OK;
  FILE *file = fopen(path, "rb");
  if (!file) {
    snprintf(d->text, sizeof d->text, "cannot open the picture: %s", strerror(errno));
    return MAFAT_EIO;
  }
  do {
    if (used == capacity) {
      capacity = capacity ? 2 * capacity : (size_t)1 << 18;
      unsigned char *grown = capacity <= limit ? realloc(data, capacity) : NULL;
      if (!grown) {
        code = capacity > limit ? MAFAT_ELIMIT : MAFAT_ENOMEM;
        problem = capacity > limit ? "it has 1 GiB or more" : "out of memory";
        goto fail;
      }
      data = grown;
    }
    got = fread(data + used, 1, capacity - used, file);
    used += got;
  } while (got > 0);
  if (ferror(file)) {
    code = MAFAT_EIO;
    problem = strerror(errno);
    goto fail;
  }
  if (used == 0) {
    code = MAFAT_EFORMAT;
    problem = "the file is empty";
    goto fail;
  }
  fclose(file);
  *out = data;
  *out_bytes = (int)used;
  return MAFAT_OK;

fail:
  snprintf(d->text, sizeof d->text, "cannot read the picture: %s", problem);
  fclose(file);
  free(data);
  return code;
}

int mafat_annotate_picture_read(gdImagePtr *out, const char *path, struct mafat_diagnostic *d)
{
  unsigned char *data;
  int bytes;
  const char *problem;
  *out = NULL;
  int code = read_file(&data, &bytes, path, d);
  if (code) return code;
  gdSetErrorMethod(keep_gd_message);
  *gd_message = '\0';
  *out = decode(data, bytes, &problem);
  free(data);
  if (*out)
    snprintf(d->text, sizeof d->text, "%s", gd_message);
  else
    snprintf(d->text, sizeof d->text, "%s%s%s", problem, *gd_message ? ": " : "", gd_message);
  return *out ? MAFAT_OK : MAFAT_EFORMAT;
}

/* ---- Writing ---- */

static bool write_all(int fd, const unsigned char *data, size_t bytes)
{
  while (bytes > 0) {
    ssize_t written = write(fd, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data += written;
    bytes -= (size_t)written;
  }
  return true;
}

/* Writes a file, which gets its name only when it is complete. */
static bool write_file(const char *path, const unsigned char *data, size_t bytes)
{
  int fd = mafat_unfinished_create(path);
  if (fd < 0) return false;
  bool good = write_all(fd, data, bytes);
  int cause = errno;
  if (close(fd) == 0 && good) return mafat_unfinished_finish() == 0;
  if (!good) errno = cause;
  mafat_unfinished_drop();
  return false;
}

int mafat_annotate_picture_write(gdImagePtr im, const char *path, struct mafat_diagnostic *d)
{
  int bytes = 0, code = MAFAT_OK;
  struct stat st;
  gdSetErrorMethod(keep_gd_message);
  gdImageInterlace(im, 0);
  void *data =
      is_jpeg_name(path) ? gdImageJpegPtr(im, &bytes, JPEG_QUALITY) : gdImagePngPtr(im, &bytes);
  if (!data) {
    code = MAFAT_EUNSUPPORTED;
    snprintf(d->text, sizeof d->text, "cannot encode the picture: %s", gd_message);
  } else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
    code = MAFAT_EIO;
    snprintf(d->text, sizeof d->text, "cannot write: it exists, and is no regular file");
  } else if (!write_file(path, data, (size_t)bytes)) {
    code = MAFAT_EIO;
    snprintf(d->text, sizeof d->text, "cannot write: %s", strerror(errno));
  }
  gdFree(data);
  return code;
}
