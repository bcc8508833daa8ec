/* Reads and writes a machine's calibration as a text file in the user's cache folder. Called by
 * api/choose.c when a model is opened, by programs/mafat/doctor.c, by calibrate.c, which stores a
 * new one, and by experiments/separable. Reads environment variables, and /proc for the name of the
 * file; when it stores, creates the folder and replaces the file. Allocates nothing. */
#include "runner/calibrate/calibrate_file.h"

#include "base/number.h"
#include "runner/kernels/integer.h"
#include "runner/kernels/kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  FILE_ROOM = 2048, /* most bytes of a calibration file */
  NAME_ROOM = 32    /* most bytes of a word or a kernel level's name */
};

static const char first_line[] = "mafat calibration 3\n";

/* ---- text ---- */

/* Fields that are stored before the prices of the terms. */
static const struct {
  const char *name;
  size_t offset;
  double least, most;
} fields[] = {
#define FIELD(NAME, LEAST, MOST) {#NAME, offsetof(struct mafat_calibration, NAME), LEAST, MOST}
    FIELD(fit_error, 0, 1e3),       FIELD(near_bytes, 1024, 1e12), FIELD(far_bytes, 1024, 1e12),
    FIELD(thread_step_ns, 0, 1e10), FIELD(disk_ns, 0, 1e9),        FIELD(disk_wait_ns, 0, 1e12),
    FIELD(read_ns, 0, 1e10),        FIELD(copy_ns, 0, 1e9),        FIELD(pack_ns, 0, 1e9)
#undef FIELD
};

enum { N_FIELDS = sizeof fields / sizeof *fields };
static const double MOST_NS = 1e9; /* most nanoseconds of one unit of any term */

static double *field_of(struct mafat_calibration *c, int i)
{
  return (double *)((char *)c + fields[i].offset);
}

struct calibration_reader {
  const char *name, *at, *end;
  int line;
  struct mafat_diagnostic *d;
};

/* Reads a line, which must begin with `word` and a space; copies the rest of the line to
 * `value`. */
static int read_line(struct calibration_reader *r, const char *word, char *value, size_t capacity)
{
  size_t n = strlen(word), left = (size_t)(r->end - r->at);
  const char *end = memchr(r->at, '\n', left);
  r->line++;
  if (!end || (size_t)(end - r->at) < n + 2 || memcmp(r->at, word, n) != 0 || r->at[n] != ' ' ||
      (size_t)(end - r->at) - n > capacity)
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s:%d: expected \"%s VALUE\"", r->name, r->line, word);
  size_t length = (size_t)(end - r->at) - n - 1;
  memcpy(value, r->at + n + 1, length);
  value[length] = '\0';
  r->at = end + 1;
  return MAFAT_OK;
}

static int read_number(struct calibration_reader *r, const char *word, double least, double most,
                       double *value)
{
  char text[NAME_ROOM];
  const char *end = text;
  int code = read_line(r, word, text, sizeof text);
  if (code) return code;
  double number = text[0] >= '0' && text[0] <= '9' ? (double)mafat_number_read(text, &end) : 0;
  if (end == text || *end != '\0' || !(number >= least && number <= most))
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s:%d: expected %s from %g to %g, found %s", r->name,
                      r->line, word, least, most, text);
  *value = number;
  return MAFAT_OK;
}

static int read_all(struct mafat_calibration *c, const char *cpu, struct calibration_reader *r)
{
  char level[NAME_ROOM];
  int code;
  size_t n = sizeof first_line - 1;
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, first_line, n) != 0)
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s:1: expected \"%.*s\"", r->name, (int)n - 1,
                      first_line);
  r->at += n;
  r->line = 1;
  if ((code = read_line(r, "cpu", level, sizeof level))) return code;
  if (strcmp(level, cpu) != 0)
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s:%d: expected cpu %s, found %s", r->name, r->line,
                      cpu, level);
  for (int i = 0; i < N_FIELDS; i++)
    if ((code = read_number(r, fields[i].name, fields[i].least, fields[i].most, field_of(c, i))))
      return code;
  for (int t = 0; t < MAFAT_N_TERMS; t++)
    if ((code = read_number(r, mafat_term_name((enum mafat_term)t), 0, MOST_NS, &c->ns[t])))
      return code;
  /* the last line proves that the file is complete and has nothing extra */
  if (r->end - r->at != 4 || memcmp(r->at, "end\n", 4) != 0)
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s:%d: expected \"end\"", r->name, r->line + 1);
  return MAFAT_OK;
}

int mafat_calibration_parse(struct mafat_calibration *c, const char *cpu, const char *name,
                            const char *text, size_t bytes, struct mafat_diagnostic *d)
{
  struct calibration_reader r = {name, text, text + bytes, 0, d};
  mafat_calibration_defaults(c, cpu);
  int code = read_all(c, cpu, &r);
  if (code) mafat_calibration_defaults(c, cpu);
  else c->measured = true;
  return code;
}

struct calibration_writer {
  char *text;
  size_t capacity, length;
};

static void write_text(struct calibration_writer *w, const char *text)
{
  for (; *text; text++, w->length++)
    if (w->length + 1 < w->capacity) w->text[w->length] = *text;
}

static void write_line(struct calibration_writer *w, const char *word, double value)
{
  char line[64];
  snprintf(line, sizeof line, "%s %.6g\n", word, value);
  mafat_number_point(line);
  write_text(w, line);
}

size_t mafat_calibration_write(const struct mafat_calibration *c, char *text, size_t capacity)
{
  struct mafat_calibration copy = *c;
  struct calibration_writer w = {text, capacity, 0};
  write_text(&w, first_line);
  write_text(&w, "cpu ");
  write_text(&w, c->cpu);
  write_text(&w, "\n");
  for (int i = 0; i < N_FIELDS; i++) write_line(&w, fields[i].name, *field_of(&copy, i));
  for (int t = 0; t < MAFAT_N_TERMS; t++)
    write_line(&w, mafat_term_name((enum mafat_term)t), c->ns[t]);
  write_text(&w, "end\n");
  if (capacity > 0) text[w.length < capacity ? w.length : capacity - 1] = '\0';
  return w.length;
}

/* ---- file ---- */

/* Reads at most `capacity` bytes of a file. Returns their number; 0: the file cannot be read. */
static size_t read_file(const char *path, char *text, size_t capacity)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for a FIFO's writer */
  size_t n = 0;
  if (fd < 0) return 0;
  for (ssize_t got; n < capacity && (got = read(fd, text + n, capacity - n)) > 0;) n += (size_t)got;
  close(fd);
  return n;
}

/* Returns the FNV-1a hash of n bytes, beginning with state h. */
static uint64_t hash(uint64_t h, const char *text, size_t n)
{
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
  return h;
}

/* Hashes the first line of `text` that begins with `word`. If there is none, returns h. */
static uint64_t hash_line(uint64_t h, const char *text, const char *word)
{
  size_t n = strlen(word);
  for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
    if (strncmp(line, word, n) == 0) {
      const char *end = strchr(line, '\n');
      return hash(h, line, end ? (size_t)(end - line) : strlen(line));
    }
  return h;
}

static uint64_t machine_hash(void)
{
  static const char *const words[] = {"model name", "CPU implementer", "CPU part"};
  char text[FILE_ROOM];
  uint64_t h = 0xcbf29ce484222325u;
  h = hash(h, text, read_file("/proc/sys/kernel/hostname", text, sizeof text - 1));
  text[read_file("/proc/cpuinfo", text, sizeof text - 1)] = '\0';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) h = hash_line(h, text, words[i]);
  return h;
}

static int fail_folder(const char *path, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EIO, "%s: cannot make the folder: %s", path, strerror(errno));
}

int mafat_calibration_folder(char *path, size_t capacity, bool make, struct mafat_diagnostic *d)
{
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  /* relative paths are ignored, as the XDG specification requires */
  bool own = cache && cache[0] == '/';
  if (!own && (!home || home[0] != '/'))
    return mafat_fail(d, MAFAT_EIO, "no cache folder: neither XDG_CACHE_HOME nor HOME names one");
  int n = snprintf(path, capacity, "%s%s", own ? cache : home, own ? "" : "/.cache");
  if (n < 0 || (size_t)n + NAME_ROOM > capacity)
    return mafat_fail(d, MAFAT_EIO, "the cache folder's name is too long");
  if (make && mkdir(path, 0700) != 0 && errno != EEXIST) return fail_folder(path, d);
  snprintf(path + n, capacity - (size_t)n, "/mafat");
  if (make && mkdir(path, 0700) != 0 && errno != EEXIST) return fail_folder(path, d);
  return MAFAT_OK;
}

static int file_path(char *path, size_t capacity, const char *cpu, bool make,
                     struct mafat_diagnostic *d)
{
  int code = mafat_calibration_folder(path, capacity, make, d);
  if (code) return code;
  size_t n = strlen(path);
  int length = snprintf(path + n, capacity - n, "/calibration-%s-%016llx", cpu,
                        (unsigned long long)machine_hash());
  if (length < 0 || (size_t)length >= capacity - n)
    return mafat_fail(d, MAFAT_EIO, "the cache folder's name is too long");
  return MAFAT_OK;
}

void mafat_calibration_choose_integers(struct mafat_calibration *c)
{
  const struct mafat_kernels *kernels = mafat_kernels_find(c->cpu);
  if (kernels) mafat_calibration_set_integers(c, mafat_integer_kernels_find(kernels)->name);
}

int mafat_calibration_load(struct mafat_calibration *c, const char *cpu,
                           const struct mafat_warning_sink *warnings)
{
  char path[MAFAT_CALIBRATION_PATH], text[FILE_ROOM];
  struct mafat_diagnostic d;
  mafat_calibration_defaults(c, cpu);
  mafat_calibration_choose_integers(c);
  if (file_path(path, sizeof path, cpu, false, NULL)) return MAFAT_EIO;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return MAFAT_EIO;
  close(fd);
  int code = mafat_calibration_parse(c, cpu, path, text, read_file(path, text, sizeof text), &d);
  mafat_calibration_choose_integers(c);
  if (code)
    mafat_warn(warnings, "%s; the built-in calibration is used (--calibrate makes a new one)",
               d.text);
  return code;
}

/* Writes a file and waits until it is on the disk. Returns 0, or errno. */
static int write_file(const char *path, const char *text, size_t bytes)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), error = 0;
  if (fd < 0) return errno;
  for (size_t done = 0; done < bytes && !error;) {
    ssize_t n = write(fd, text + done, bytes - done);
    if (n > 0) done += (size_t)n;
    else error = n < 0 ? errno : ENOSPC;
  }
  if (!error && fsync(fd) != 0) error = errno;
  if (close(fd) != 0 && !error) error = errno;
  return error;
}

int mafat_calibration_store(const struct mafat_calibration *c, char *path,
                            struct mafat_diagnostic *d)
{
  char own[MAFAT_CALIBRATION_PATH], temporary[MAFAT_CALIBRATION_PATH + NAME_ROOM], text[FILE_ROOM];
  int code = file_path(own, sizeof own, c->cpu, true, d);
  if (code) return code;
  size_t bytes = mafat_calibration_write(c, text, sizeof text);
  if (bytes >= sizeof text) return mafat_fail(d, MAFAT_EIO, "%s: the calibration is too long", own);
  snprintf(temporary, sizeof temporary, "%s.%ld", own, (long)getpid());
  int error = write_file(temporary, text, bytes);
  if (!error && rename(temporary, own) != 0) error = errno;
  if (error) {
    code = mafat_fail(d, MAFAT_EIO, "%s: cannot write: %s", own, strerror(error));
    unlink(temporary);
    return code;
  }
  if (path) memcpy(path, own, strlen(own) + 1);
  return MAFAT_OK;
}
