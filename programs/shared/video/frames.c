/* Reads video frames from a pipe or file. Called by programs/run_inference/video.c. Waits at the
 * descriptor, and drops a regular file's pages from the page cache. */
#include "include/mafat_video.h"
#include "programs/shared/video/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_MOST = 1024 }; /* bytes of a line of y4m */
static const char name[] = "standard input";

/* ---- bytes ---- */

/* Reads up to n bytes. Returns their number; 0: the end, or *stop became nonzero; -1: see errno.
 * A signal that arrives just before the wait does not interrupt it, so each wait is short. Works
 * also if another process has made the pipe non-blocking. */
static ssize_t read_some(const struct mafat_frames *f, unsigned char *to, size_t n,
                         const volatile int *stop)
{
  enum { SLICE_MS = 250 };
  struct pollfd one = {.fd = f->fd, .events = POLLIN};
  while (!(stop && *stop)) {
    int there = poll(&one, 1, SLICE_MS);
    if (there == 0 || (there < 0 && errno == EINTR)) continue;
    ssize_t got = read(f->fd, to, n);
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
  }
  return 0;
}

/* Reads n bytes, or fewer at the end or if *stop became nonzero. Returns their number; errno is 0
 * if the end was reached. -1: see errno. */
static ssize_t read_bytes(const struct mafat_frames *f, unsigned char *to, size_t n,
                          const volatile int *stop)
{
  size_t done = 0;
  while (done < n) {
    ssize_t got = read_some(f, to + done, n - done, stop);
    if (got < 0) return -1;
    if (got == 0) {
      errno = 0;
      break;
    }
    done += (size_t)got;
  }
  return (ssize_t)done;
}

static int refuse_read(struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EIO, "%s: cannot read frames: %s", name, strerror(errno));
}

/* Reads a line without its newline. *length is HEADER_MOST if it is longer. Returns false at the
 * end (errno 0) or after an error (errno). */
static bool read_line(const struct mafat_frames *f, char line[HEADER_MOST], size_t *length,
                      const volatile int *stop)
{
  errno = 0;
  for (*length = 0; *length < HEADER_MOST; ++*length) {
    if (read_bytes(f, (unsigned char *)line + *length, 1, stop) != 1) return false;
    if (line[*length] == '\n') return true;
  }
  return true;
}

/* ---- y4m ---- */

static const char magic[] = "YUV4MPEG2";

/* Reads digits and moves *text after them. Returns the number; -1: no digits, or it is above
 * `most`. */
static int read_number(const char **text, const char *end, int most)
{
  int n = 0, digits = 0;
  for (; *text < end && **text >= '0' && **text <= '9'; ++*text, digits++) {
    if (n > (INT_MAX - 9) / 10) return -1;
    n = n * 10 + (**text - '0');
  }
  return digits && n <= most ? n : -1;
}

static bool is_text(const char *word, const char *end, const char *text)
{
  return (size_t)(end - word) == strlen(text) && memcmp(word, text, (size_t)(end - word)) == 0;
}

struct y4m_header {
  int width, height;
  struct mafat_frame_rate rate;
  bool full;
};

static bool read_rate(struct mafat_frame_rate *rate, const char *word, const char *end)
{
  int frames = read_number(&word, end, INT_MAX);
  if (frames < 0 || word == end || *word++ != ':') return false;
  int seconds = read_number(&word, end, INT_MAX);
  if (seconds < 0 || word != end) return false;
  if (frames > 0 && seconds > 0) *rate = (struct mafat_frame_rate){frames, seconds};
  return true;
}

/* Checks the y4m word for the colour format. The position of chroma samples is ignored. */
static int check_colours(const char *word, const char *end, struct mafat_diagnostic *d)
{
  static const char *const known[] = {"420", "420jpeg", "420mpeg2", "420paldv"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is_text(word, end, known[i])) return MAFAT_OK;
  return mafat_fail(
      d, MAFAT_EUNSUPPORTED,
      "%s: expected y4m frames of 4:2:0 with 8 bits (ffmpeg -pix_fmt yuv420p), found C%.*s", name,
      (int)(end - word < 40 ? end - word : 40), word);
}

/* Reads one word of the header: a letter and its value. */
static int take_word(struct y4m_header *h, const char *word, const char *end,
                     struct mafat_diagnostic *d)
{
  const char *value = word + 1;
  bool good = true;
  switch (*word) {
  case 'W': good = (h->width = read_number(&value, end, 1 << 20)) > 0 && value == end; break;
  case 'H': good = (h->height = read_number(&value, end, 1 << 20)) > 0 && value == end; break;
  case 'F': good = read_rate(&h->rate, value, end); break;
  case 'C': return check_colours(value, end, d);
  case 'X': h->full = h->full || is_text(value, end, "COLORRANGE=FULL"); break;
  default: break; /* interlacing and the shape of pixels are ignored */
  }
  return good ? MAFAT_OK
              : mafat_fail(d, MAFAT_EFORMAT, "%s: damaged y4m header: found %.*s", name,
                           (int)(end - word < 40 ? end - word : 40), word);
}

int mafat_frames_read_header(struct mafat_frames *f, const char *line, size_t length,
                             struct mafat_diagnostic *d)
{
  struct y4m_header h = {0};
  const char *end = line + length, *word = line + sizeof magic - 1;
  if (length < sizeof magic || memcmp(line, magic, sizeof magic - 1) != 0 || *word != ' ')
    return mafat_fail(
        d, MAFAT_EFORMAT,
        "%s: expected a y4m header (%s), found none: raw frames are --video WIDTHxHEIGHT:FORMAT",
        name, magic);
  while (word < end) {
    const char *begin = word + 1, *space = memchr(begin, ' ', (size_t)(end - begin));
    word = space ? space : end;
    int code = begin < word ? take_word(&h, begin, word, d) : MAFAT_OK;
    if (code) return code;
  }
  if (!h.width || !h.height)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: damaged y4m header: expected a width and a height",
                      name);
  f->rate = h.rate;
  snprintf(f->text, sizeof f->text, "%dx%d:%s", h.width, h.height, h.full ? "yuvj420p" : "yuv420p");
  return MAFAT_OK;
}

static int open_y4m(struct mafat_frames *f, struct mafat_diagnostic *d)
{
  char line[HEADER_MOST];
  size_t length;
  f->kind = MAFAT_FRAMES_Y4M;
  if (read_line(f, line, &length, NULL)) return mafat_frames_read_header(f, line, length, d);
  if (errno) return refuse_read(d);
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a y4m header, found %s", name,
                    length ? "the end of it" : "nothing");
}

/* Reads the header of a frame. *more: false at the end of the stream or if *stop became nonzero. */
static int read_frame_header(struct mafat_frames *f, bool *more, const volatile int *stop,
                             struct mafat_diagnostic *d)
{
  static const char usual[] = "FRAME\n";
  char line[HEADER_MOST];
  size_t length = sizeof usual - 1;
  ssize_t got = read_bytes(f, (unsigned char *)line, length, stop);
  *more = got > 0 && !(stop && *stop);
  if (got < 0) return refuse_read(d);
  if (!*more || ((size_t)got == length && memcmp(line, usual, length) == 0)) return MAFAT_OK;
  errno = 0;
  bool whole = (size_t)got == length && memcmp(line, usual, length - 1) == 0 &&
               line[length - 1] == ' ' && read_line(f, line, &length, stop) && length < HEADER_MOST;
  *more = !(stop && *stop); /* after a stop the rest of the line is not read */
  if (whole || !*more) return MAFAT_OK;
  return errno ? refuse_read(d)
               : mafat_fail(
                     d, MAFAT_EFORMAT,
                     "%s: frame %lld: expected FRAME and a newline (y4m), found something else",
                     name, f->n);
}

/* ---- opening ---- */

int mafat_frames_open(struct mafat_frames *f, int fd, const char *video, struct mafat_diagnostic *d)
{
  struct mafat_frame_facts facts = {.size = sizeof facts};
  struct stat st;
  f->fd = fd;
  f->n = 0;
  f->begin = f->end = 0;
  f->rate = (struct mafat_frame_rate){0, 0};
  f->split = (struct mafat_jpeg_split){.at = MAFAT_JPEG_AT_START};
  f->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  f->kind = MAFAT_FRAMES_RAW;
  snprintf(f->text, sizeof f->text, "%s", video);
  int code = strcmp(video, "y4m") == 0 ? open_y4m(f, d) : MAFAT_OK;
  if (code == MAFAT_OK) code = mafat_frame_describe(f->text, &facts, d);
  if (code) return code;
  f->frame_bytes = facts.bytes;
  if (facts.varies) f->kind = MAFAT_FRAMES_JPEG;
  return MAFAT_OK;
}

/* ---- the next one ---- */

/* Drops the pages of the file that were read from the page cache, since they are not needed
 * again. */
static void mind_page_cache(const struct mafat_frames *f)
{
  if (f->is_file) posix_fadvise(f->fd, 0, lseek(f->fd, 0, SEEK_CUR), POSIX_FADV_DONTNEED);
}

static int read_raw(struct mafat_frames *f, unsigned char *capacity, size_t *n,
                    const volatile int *stop, struct mafat_diagnostic *d)
{
  ssize_t got = read_bytes(f, capacity, f->frame_bytes, stop);
  if (got < 0) return refuse_read(d);
  if (stop && *stop) return MAFAT_OK;
  if (f->n == 0 && f->kind == MAFAT_FRAMES_RAW && (size_t)got >= sizeof magic &&
      memcmp(capacity, magic, sizeof magic - 1) == 0)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected raw frames, found a y4m header: --video y4m",
                      name);
  if ((size_t)got == f->frame_bytes) *n = (size_t)got;
  if (*n || (got == 0 && f->kind == MAFAT_FRAMES_RAW)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: frame %lld is short: expected %zu bytes, found %zd",
                    name, f->n, f->frame_bytes, got);
}

/* If all bytes of f->ahead are used, reads more. *end: there are none, or *stop became nonzero. */
static int read_ahead(struct mafat_frames *f, bool *end, const volatile int *stop,
                      struct mafat_diagnostic *d)
{
  *end = false;
  if (f->begin < f->end) return MAFAT_OK;
  ssize_t got = read_some(f, f->ahead, sizeof f->ahead, stop);
  if (got < 0) return refuse_read(d);
  f->begin = 0;
  f->end = (size_t)got;
  *end = got == 0;
  return MAFAT_OK;
}

/* Skips zero bytes: some writers pad each picture with them. */
static void skip_filling(struct mafat_frames *f)
{
  while (f->begin < f->end && f->ahead[f->begin] == 0) f->begin++;
}

static int refuse_jpeg(const struct mafat_frames *f, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EFORMAT, "%s: frame %lld: expected %s of a JPEG, found byte 0x%02x",
                    name, f->n, f->split.at <= MAFAT_JPEG_AT_SOI ? "the beginning" : "a marker",
                    f->split.found);
}

static int read_jpeg(struct mafat_frames *f, unsigned char *capacity, size_t *n,
                     const volatile int *stop, struct mafat_diagnostic *d)
{
  size_t taken = 0;
  bool end;
  do {
    int code = read_ahead(f, &end, stop, d);
    if (code || (stop && *stop)) return code;
    if (end)
      return taken ? mafat_fail(d, MAFAT_EFORMAT,
                                "%s: frame %lld is short: the JPEG has no end marker", name, f->n)
                   : MAFAT_OK;
    if (taken == 0) skip_filling(f);
    size_t some = mafat_jpeg_split(&f->split, f->ahead + f->begin, f->end - f->begin);
    if (f->split.damaged) return refuse_jpeg(f, d);
    if (some > f->frame_bytes - taken)
      return mafat_fail(d, MAFAT_EFORMAT,
                        "%s: frame %lld: expected a JPEG of at most %zu bytes, found more", name,
                        f->n, f->frame_bytes);
    memcpy(capacity + taken, f->ahead + f->begin, some);
    f->begin += some;
    taken += some;
  } while (!f->split.ended || taken == 0);
  *n = taken;
  return MAFAT_OK;
}

int mafat_frames_next(struct mafat_frames *f, unsigned char *capacity, size_t *n,
                      const volatile int *stop, struct mafat_diagnostic *d)
{
  bool more = true;
  int code = f->kind == MAFAT_FRAMES_Y4M ? read_frame_header(f, &more, stop, d) : MAFAT_OK;
  *n = 0;
  if (code || !more) return code;
  code = f->kind == MAFAT_FRAMES_JPEG ? read_jpeg(f, capacity, n, stop, d)
                                      : read_raw(f, capacity, n, stop, d);
  if (*n) f->n++;
  mind_page_cache(f);
  return code;
}

bool mafat_frames_waiting(const struct mafat_frames *f, int milliseconds)
{
  struct pollfd one = {.fd = f->fd, .events = POLLIN};
  return f->begin < f->end || (poll(&one, 1, milliseconds) == 1 && (one.revents & POLLIN));
}
