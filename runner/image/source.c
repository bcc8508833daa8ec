/* Reads a picture's file through one small buffer, limits how much of it is in the page cache, and
 * reads the EXIF orientation. Called by image.c and the decoders in runner/image. Reads with pread
 * and preadv2; reads ahead and drops pages of the page cache with posix_fadvise; closes the
 * descriptor. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/open_file.h"
#include "runner/image/decoder.h"
#include "runner/image/image.h"

int mafat_image_source_check(const struct mafat_image_source *source, const char *name,
                             struct mafat_diagnostic *d)
{
  if (!source->canceled || !atomic_load(source->canceled)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_ECANCELED, "%s: reading was canceled", name);
}

ssize_t mafat_image_source_peek(int fd, off_t offset, uint8_t *bytes, size_t n)
{
  return mafat_read_some(fd, bytes, n, offset);
}

/* Reads bytes only if they are in the page cache, so that the cache does not grow. Returns their
 * number; 0 at the end of the file; -1 if they are not cached, or that is unknown. (preadv2 of
 * Linux 5.9 and 5.10 may return 0 before the end.) */
static ssize_t read_from_cache(const struct mafat_image_source *source, off_t at, uint8_t *bytes,
                               size_t n)
{
#ifdef RWF_NOWAIT
  struct iovec piece = {bytes, n};
  ssize_t got = source->missed ? -1 : preadv2(source->fd, &piece, 1, at, RWF_NOWAIT);
  return got == 0 && (uint64_t)at < source->opened.bytes ? -1 : got;
#else
  (void)source, (void)at, (void)bytes, (void)n;
  return -1;
#endif
}

static bool is_large(const struct mafat_image_source *source)
{
  return source->opened.known && source->opened.bytes > (uint64_t)source->window;
}

/* Called before each read of bytes that may not be cached. Asks the kernel to read ahead in small
 * steps, and drops pages after use. Without this, the pages that we read, and the megabytes that
 * the kernel reads ahead, would fill the cgroup's memory. Small files stay cached. */
static void mind_page_cache(struct mafat_image_source *source)
{
  off_t piece = source->window / 4; /* two quarters are read ahead, one holds used pages */
  if (!source->missed) source->ours = source->dropped = source->asked = source->position;
  source->missed = true;
  if (source->position + piece >= source->asked) {
    off_t end = source->position + 2 * piece;
    posix_fadvise(source->fd, source->asked, end - source->asked, POSIX_FADV_WILLNEED);
    source->asked = end;
  }
  /* Drops more often than once for each quarter, because pages that others use, or that are part of
   * a larger folio, are not dropped at first, but perhaps the next time. */
  if (!is_large(source) || source->position - source->dropped < piece / 2) return;
  posix_fadvise(source->fd, source->ours, source->position - source->ours, POSIX_FADV_DONTNEED);
  source->dropped = source->position;
}

off_t mafat_image_source_drop(const struct mafat_image_source *source, off_t from, off_t to)
{
  if (!is_large(source) || to - from < source->window / 2) return from;
  /* the last page is not dropped if it is only partly in the range: it is needed next */
  off_t page = (off_t)sysconf(_SC_PAGESIZE), whole = to / page * page;
  posix_fadvise(source->fd, from, whole - from, POSIX_FADV_DONTNEED);
  return whole;
}

void mafat_image_source_forget(const struct mafat_image_source *source)
{
  if (source->dropped > source->ours)
    posix_fadvise(source->fd, source->ours, 0, POSIX_FADV_DONTNEED);
}

void mafat_image_source_close(struct mafat_image_source *source)
{
  if (source->fd < 0) return;
  mafat_image_source_forget(source);
  close(source->fd);
}

int mafat_image_source_fill(struct mafat_image_source *source)
{
  struct stat st;
  if (source->fd < 0) return 0;
  if (source->position == 0) {
    posix_fadvise(source->fd, 0, 0, POSIX_FADV_RANDOM); /* only we read ahead, not the kernel */
    if (fstat(source->fd, &st) == 0) source->opened = mafat_file_state(&st);
    source->window = MAFAT_IMAGE_FILE_WINDOW;
  }
  ssize_t got = read_from_cache(source, source->position, source->buffer, sizeof source->buffer);
  if (got < 0) {
    mind_page_cache(source);
    got = mafat_image_source_peek(source->fd, source->position, source->buffer,
                                  sizeof source->buffer);
  }
  if (got < 0) return -1;
  source->position += got;
  source->next = source->buffer;
  source->left = (size_t)got;
  return got > 0;
}

void mafat_image_source_restart(struct mafat_image_source *again,
                                const struct mafat_image_source *source)
{
  again->canceled = source->canceled;
  again->fd = source->fd;
  again->position = source->fd < 0 ? source->position : 0;
  again->next = source->next;
  again->left = source->fd < 0 ? source->left : 0;
}

ssize_t mafat_image_source_read(struct mafat_image_source *source, off_t at, uint8_t *buffer,
                                size_t n, const uint8_t **bytes)
{
  *bytes = buffer;
  if (source->fd < 0) {
    *bytes = source->next + at;
    return (ssize_t)source->left - at;
  }
  ssize_t got = read_from_cache(source, at, buffer, n);
  if (got >= 0) return got;
  if (!source->missed || at < source->ours) source->ours = at;
  source->missed = true;
  source->dropped = source->ours + 1; /* at the end, drops what was read ahead */
  got = mafat_image_source_peek(source->fd, at, buffer, n);
  if (got <= 0) return got;
  posix_fadvise(source->fd, at + got, (off_t)n, POSIX_FADV_WILLNEED);
  if (is_large(source)) posix_fadvise(source->fd, at, got, POSIX_FADV_DONTNEED);
  return got;
}

bool mafat_image_source_changed(const struct mafat_image_source *source)
{
  struct stat st;
  if (source->fd < 0 || fstat(source->fd, &st) != 0) return false;
  struct mafat_file_state now = mafat_file_state(&st);
  return !mafat_file_state_same(&now, &source->opened);
}

/* A TIFF structure of `length` bytes at an offset of a file. It is read a few bytes at a time,
 * because EXIF data may have 64 kB and only one number is needed. */
struct tiff {
  int fd;
  off_t offset;
  size_t length;
  bool little_endian;
};

static bool tiff_read(const struct tiff *tiff, size_t at, uint8_t *bytes, size_t n)
{
  if (at > tiff->length || n > tiff->length - at) return false;
  return mafat_image_source_peek(tiff->fd, tiff->offset + (off_t)at, bytes, n) == (ssize_t)n;
}

static unsigned tiff_u16(const struct tiff *tiff, const uint8_t *p)
{
  return tiff->little_endian ? p[0] | (unsigned)p[1] << 8 : (unsigned)p[0] << 8 | p[1];
}

static uint32_t tiff_u32(const struct tiff *tiff, const uint8_t *p)
{
  uint32_t a = tiff_u16(tiff, p), b = tiff_u16(tiff, p + 2);
  return tiff->little_endian ? a | b << 16 : a << 16 | b;
}

int mafat_image_exif_orientation(int fd, off_t offset, size_t length)
{
  enum { UPRIGHT = 1, TAG_ORIENTATION = 0x0112, ENTRY_BYTES = 12 };
  struct tiff tiff = {fd, offset, length, false};
  uint8_t header[8], count[2], entry[ENTRY_BYTES];

  if (!tiff_read(&tiff, 0, header, sizeof header)) return UPRIGHT;
  if (header[0] != header[1] || (header[0] != 'I' && header[0] != 'M')) return UPRIGHT;
  tiff.little_endian = header[0] == 'I';
  if (tiff_u16(&tiff, header + 2) != 42) return UPRIGHT;

  size_t at = tiff_u32(&tiff, header + 4);
  if (!tiff_read(&tiff, at, count, sizeof count)) return UPRIGHT;
  at += sizeof count;
  for (unsigned n = tiff_u16(&tiff, count); n > 0; n--, at += ENTRY_BYTES) {
    if (!tiff_read(&tiff, at, entry, sizeof entry)) return UPRIGHT;
    if (tiff_u16(&tiff, entry) != TAG_ORIENTATION) continue;
    unsigned orientation = tiff_u16(&tiff, entry + 8);
    return orientation >= 1 && orientation <= 8 ? (int)orientation : UPRIGHT;
  }
  return UPRIGHT;
}
