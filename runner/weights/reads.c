/* Asynchronous reads of files that bypass the page cache. Called by runner/weights (packer.c,
 * stream.c, weights.c, weights_file.c, weights_open.c), runner/image/raw_input.c, runner/calibrate,
 * api/model_files.c and programs/mafat/doctor.c. Opens files, with O_DIRECT if possible, may create
 * an io_uring, an AIO context or a thread, and drops pages from the page cache. Opening allocates,
 * closing frees. */
#include "runner/weights/reads.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/open_file.h"
#include "runner/os/process.h"
#include "runner/weights/reads_method.h"

enum {
  MOST_ALIGNMENT = 4096,
  /* alignment in bytes of reads through the page cache: a cache line, although any would do */
  ORDINARY_ALIGNMENT = 64,
  PROBE_BYTES = 2 * MOST_ALIGNMENT,
  PATIENCE_MS = 1000       /* longest wait if the kernel lacks memory for another read */
};

struct file {
  char *path;
  int fd;
  const char *memory; /* contents, if they are in memory; NULL: they are in a file */
  bool direct, cached; /* direct: opened with O_DIRECT; cached: the whole file was in the page cache
                          at opening, and its pages are not dropped */
  size_t alignment;
  uint64_t bytes;
  struct mafat_file_state state;
  struct stat opened; /* result of fstat at opening */
};

struct slot {
  enum { FREE, UNDER_WAY, DONE } state;
  unsigned file;
  char *memory;
  size_t bytes;
  uint64_t offset;
  ssize_t result; /* bytes read, or a negative error number */
};

struct mafat_read_queue {
  struct file *files; /* (n_files) */
  unsigned n_files;
  size_t alignment, page_bytes; /* alignment: the largest alignment of all files, in bytes */
  const struct mafat_read_queue_how *method;
  void *ring; /* the method's state */
  unsigned n_under_way; /* number of pending reads */
  int broken; /* error number with which waiting for a read failed; the state of pending reads is
                 then unknown. 0: none */
  uint64_t bytes_read;
  struct slot slots[MAFAT_READS_DEPTH];
};

/* ---- reading ---- */

static int fail_reading(const struct file *f, int error, uint64_t offset,
                        struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EIO, "%s: cannot read at byte %llu: %s", f->path,
                    (unsigned long long)offset, strerror(error));
}

/* Reads synchronously. */
static ssize_t read_now(int fd, void *to, size_t bytes, uint64_t offset)
{
  ssize_t got;
  do got = pread(fd, to, bytes, (off_t)offset);
  while (got < 0 && errno == EINTR);
  return got < 0 ? -errno : got;
}

/* True if the kernel's refusal `error` may be temporary and the request should be retried. Waits a
 * millisecond unless the request was only interrupted; adds it to *waited_ms. */
static bool may_pass(int error, int *waited_ms)
{
  const struct timespec moment = {.tv_nsec = 1000000};
  if (error == EINTR) return true;
  if ((error != EAGAIN && error != EBUSY) || (*waited_ms)++ >= PATIENCE_MS) return false;
  nanosleep(&moment, NULL);
  return true;
}

/* Performs a read from a source that is in memory. */
static int copy_memory(struct slot *s, const struct file *f)
{
  uint64_t left = f->bytes - s->offset;
  s->result = (ssize_t)(left < s->bytes ? left : s->bytes);
  memcpy(s->memory, f->memory + s->offset, (size_t)s->result);
  s->state = DONE;
  return MAFAT_OK;
}

int mafat_read_queue_submit_of(struct mafat_read_queue *r, unsigned file, unsigned slot,
                               void *memory, size_t bytes, uint64_t offset,
                               struct mafat_diagnostic *d)
{
  if (r->broken) return fail_reading(&r->files[file], r->broken, offset, d);
  assert(slot < MAFAT_READS_DEPTH && r->slots[slot].state == FREE);
  assert(bytes > 0 && offset < mafat_read_queue_file_bytes_of(r, file));
  assert(((uintptr_t)memory | bytes | offset) % r->alignment == 0);
  struct slot *s = &r->slots[slot];
  *s = (struct slot){.file = file, .memory = memory, .bytes = bytes, .offset = offset};
  if (r->files[file].memory) return copy_memory(s, &r->files[file]);
  int error, waited_ms = 0;
  while ((error = r->method->start(r->ring, slot, r->files[file].fd, memory, bytes, offset)) != 0)
    if (!may_pass(error, &waited_ms)) return fail_reading(&r->files[file], error, offset, d);
  s->state = UNDER_WAY;
  r->n_under_way++;
  return MAFAT_OK;
}

/* Waits until any pending read is done. Returns 0 or an error number. */
static int await_one(struct mafat_read_queue *r)
{
  unsigned slot;
  ssize_t result;
  int error, waited_ms = 0;
  while ((error = r->method->next(r->ring, &slot, &result)) != 0)
    if (!may_pass(error, &waited_ms)) return r->broken = error;
  assert(slot < MAFAT_READS_DEPTH && r->slots[slot].state == UNDER_WAY);
  r->slots[slot].state = DONE;
  r->slots[slot].result = result;
  r->n_under_way--;
  return 0;
}

/* If the slot's read was short or interrupted, which is rare, reads the rest. *done: number of
 * bytes read. Fails if the file ends before its size at opening. */
static int complete(struct mafat_read_queue *r, const struct slot *s, size_t *done,
                    struct mafat_diagnostic *d)
{
  const struct file *f = &r->files[s->file];
  uint64_t left = mafat_read_queue_file_bytes_of(r, s->file) - s->offset;
  size_t needed = left < s->bytes ? (size_t)left : s->bytes;
  size_t granule = f->direct ? f->alignment : 1;
  ssize_t got = s->result;
  if (got == -EINTR || got == -EAGAIN || got == -ECANCELED)
    got = read_now(f->fd, s->memory, s->bytes, s->offset);
  for (size_t from = 0;;
       got = read_now(f->fd, s->memory + from, s->bytes - from, s->offset + from)) {
    if (got < 0) return fail_reading(f, (int)-got, s->offset + from, d);
    *done = from + (size_t)got;
    if (*done >= needed) return MAFAT_OK;
    /* direct reads must begin at a multiple of the alignment, so the last partial block is read
     * again; if nothing more was read, the file has become shorter */
    size_t next = *done / granule * granule;
    if (next == from)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: ended while being read, at byte %llu", f->path,
                        (unsigned long long)(s->offset + *done));
    from = next;
  }
}

/* Drops the pages of a read from the page cache, unless they should stay. Includes pages of which
 * the read has only a part, because the kernel would not drop these otherwise. */
static void drop_pages(const struct mafat_read_queue *r, const struct file *f, uint64_t offset,
                       size_t bytes)
{
  uint64_t begin = offset / r->page_bytes * r->page_bytes;
  uint64_t end = (offset + bytes + r->page_bytes - 1) / r->page_bytes * r->page_bytes;
  if (!f->direct && !f->cached && !f->memory)
    posix_fadvise(f->fd, (off_t)begin, (off_t)(end - begin), POSIX_FADV_DONTNEED);
}

int mafat_read_queue_wait(struct mafat_read_queue *r, unsigned slot, struct mafat_diagnostic *d)
{
  assert(slot < MAFAT_READS_DEPTH && r->slots[slot].state != FREE);
  struct slot *s = &r->slots[slot];
  while (s->state == UNDER_WAY) {
    int error = await_one(r);
    if (error) return fail_reading(&r->files[s->file], error, s->offset, d);
  }
  size_t done = 0;
  int code = complete(r, s, &done, d);
  drop_pages(r, &r->files[s->file], s->offset, s->bytes);
  r->bytes_read += done;
  s->state = FREE;
  return code;
}

/* ---- opening ---- */

/* Opens a descriptor that only the queue uses. If other code uses the source's open file, opens the
 * file again, because O_DIRECT would affect that code. */
static int open_file(struct file *f, const struct mafat_model_source *s, struct mafat_diagnostic *d)
{
  char again[32];
  int code = mafat_model_source_check_regular(s, ": weights are not read in order", d);
  if (code) return code;
  f->bytes = s->bytes;
  f->state = s->state;
  f->opened = s->st;
  f->memory = s->memory;
  f->cached = s->stays;
  if (f->memory) return MAFAT_OK;
  snprintf(again, sizeof again, "/proc/self/fd/%d", s->fd);
  if (s->shared) f->fd = open(again, O_RDONLY | O_CLOEXEC | O_DIRECT);
  f->direct = !s->shared || f->fd >= 0;
  if (f->fd < 0) f->fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
  return f->fd < 0 ? mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", f->path, strerror(errno))
                   : MAFAT_OK;
}

/* A file that the process neither owns nor may write counts as not cached, because the kernel
 * always reports such a file as cached. */
bool mafat_read_queue_is_cached(const struct mafat_model_source *s)
{
  size_t bytes = (size_t)s->bytes;
  if (s->fd < 0 || bytes == 0 || bytes != s->bytes) return false;
  if (s->st.st_uid != geteuid() && access(s->path, W_OK) != 0) return false;
  return mafat_process_cached_bytes_of(s->fd, bytes) >= bytes;
}

/* Asks the kernel for the alignment of direct reads in bytes; 0: the file does not support direct
 * reads. False: the kernel does not report it. */
static bool reported_alignment(int fd, size_t *alignment)
{
#ifdef STATX_DIOALIGN
  struct statx x;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &x) != 0 || !(x.stx_mask & STATX_DIOALIGN))
    return false;
  *alignment =
      x.stx_dio_mem_align > x.stx_dio_offset_align ? x.stx_dio_mem_align : x.stx_dio_offset_align;
  return true;
#else
  (void)fd, (void)alignment;
  return false;
#endif
}

/* Tries a direct read with this alignment. Returns 0 or the error number. Reads at offset
 * `alignment` if the file is long enough, because offset 0 has every alignment. */
static int try_alignment(const struct file *f, char *probe, size_t alignment)
{
  uint64_t offset = f->bytes > alignment ? alignment : 0;
  ssize_t got = read_now(f->fd, probe + alignment, alignment, offset);
  return got < 0 ? (int)-got : 0;
}

static void read_ordinarily(struct file *f)
{
  if (f->direct) fcntl(f->fd, F_SETFL, 0);
  f->direct = false;
  f->alignment = ORDINARY_ALIGNMENT;
  posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM); /* no read-ahead */
}

/* Finds the smallest alignment with which direct reads work, or falls back to ordinary reads. It
 * tries, because a file system may accept O_DIRECT and then fail to read. */
static int settle_alignment(struct file *f, char *probe, struct mafat_diagnostic *d)
{
  size_t candidates[] = {512, MOST_ALIGNMENT};
  int n = reported_alignment(f->fd, &candidates[0]) ? 1 : 2;
  /* F_SETFL also clears O_NONBLOCK; io_uring would fail with it instead of waiting for the disk */
  f->direct = f->direct && fcntl(f->fd, F_SETFL, O_DIRECT) == 0;
  for (int i = 0; f->direct && i < n; i++) {
    f->alignment = candidates[i];
    if (f->alignment == 0 || f->alignment > MOST_ALIGNMENT || (f->alignment & (f->alignment - 1)))
      continue;
    int error = try_alignment(f, probe, f->alignment);
    if (!error) return MAFAT_OK;
    if (error == EIO) return fail_reading(f, error, 0, d);
  }
  read_ordinarily(f);
  return MAFAT_OK;
}

static void close_ring(struct mafat_read_queue *r)
{
  while (r->n_under_way && !r->broken && await_one(r) == 0) {}
  if (r->ring) r->method->close(r->ring);
  free(r->ring);
  r->ring = NULL;
  /* reads that are still pending belong to a broken ring: waiting for them has failed */
  for (unsigned i = 0; i < MAFAT_READS_DEPTH; i++) r->slots[i].state = FREE;
  r->n_under_way = 0;
  r->broken = 0;
}

static int open_method(struct mafat_read_queue *r, const struct mafat_read_queue_how *method,
                       struct mafat_diagnostic *d)
{
  r->method = method;
  r->ring = calloc(1, method->ring_bytes);
  if (!r->ring) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", r->files->path);
  int error = method->open(r->ring);
  if (!error) return MAFAT_OK;
  free(r->ring);
  r->ring = NULL;
  return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: cannot be read by %s: %s", r->files->path,
                    method->name, strerror(error));
}

/* Opens a method and reads the file's beginning with it, because a kernel may let a method be
 * opened but not used. */
static int try_method(struct mafat_read_queue *r, const struct mafat_read_queue_how *method,
                      char *probe, struct mafat_diagnostic *d)
{
  int code = open_method(r, method, d);
  if (code) return code;
  if (r->files->bytes > 0) code = mafat_read_queue_submit(r, 0, probe, r->alignment, 0, d);
  if (r->files->bytes > 0 && !code) code = mafat_read_queue_wait(r, 0, d);
  if (code) close_ring(r);
  r->bytes_read = 0;
  return code == MAFAT_EIO ? MAFAT_EUNSUPPORTED : code;
}

/* Opens the wanted method or, for MAFAT_READS_AUTO, the first that works. AIO is asynchronous only
 * for direct reads, so for ordinary reads it is tried last. */
static int choose_method(struct mafat_read_queue *r, enum mafat_read_queue_method wanted,
                         char *probe, struct mafat_diagnostic *d)
{
  static const struct mafat_read_queue_how *const methods[] = {
      [MAFAT_READS_URING] = &mafat_read_queue_uring,
      [MAFAT_READS_AIO] = &mafat_read_queue_aio,
      [MAFAT_READS_THREAD] = &mafat_read_queue_thread};
  if (wanted != MAFAT_READS_AUTO) return try_method(r, methods[wanted], probe, d);
  const enum mafat_read_queue_method second =
      r->files->direct ? MAFAT_READS_AIO : MAFAT_READS_THREAD;
  const enum mafat_read_queue_method third =
      r->files->direct ? MAFAT_READS_THREAD : MAFAT_READS_AIO;
  int code = try_method(r, methods[MAFAT_READS_URING], probe, d);
  if (code == MAFAT_EUNSUPPORTED) code = try_method(r, methods[second], probe, d);
  if (code == MAFAT_EUNSUPPORTED) code = try_method(r, methods[third], probe, d);
  return code == MAFAT_EUNSUPPORTED ? MAFAT_EIO : code;
}

/* Finds the alignment of the file that was added last. If it is the first file, also opens the
 * method. Reads into temporary memory. */
static int try_reading(struct mafat_read_queue *r, enum mafat_read_queue_method method,
                       struct mafat_diagnostic *d)
{
  struct file *f = &r->files[r->n_files - 1];
  char *probe = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->path);
  int code = settle_alignment(f, probe, d);
  if (f->alignment > r->alignment) r->alignment = f->alignment;
  if (code == MAFAT_OK && !r->ring) code = choose_method(r, method, probe, d);
  munmap(probe, PROBE_BYTES);
  return code;
}

static int add_file(struct mafat_read_queue *r, const struct mafat_model_source *source,
                    struct mafat_diagnostic *d)
{
  struct file *files = realloc(r->files, (r->n_files + 1) * sizeof *files);
  if (files) r->files = files;
  char *name = files ? strdup(source->path) : NULL;
  if (!name) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", source->path);
  files[r->n_files] = (struct file){.path = name, .fd = -1};
  return open_file(&files[r->n_files++], source, d);
}

/* Prepares synchronous reads of memory or a cached file. Makes no trial reads, because they take as
 * long as running a small network. */
static int open_now(struct mafat_read_queue *r, struct mafat_diagnostic *d)
{
  if (r->files->memory) r->files->alignment = ORDINARY_ALIGNMENT;
  else read_ordinarily(r->files);
  r->files->cached = true;
  r->alignment = r->files->alignment;
  return open_method(r, &mafat_read_queue_now, d);
}

static int open_reads(struct mafat_read_queue **out, const struct mafat_model_source *source,
                      enum mafat_read_queue_method method, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_read_queue *r = calloc(1, sizeof *r);
  if (!r) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", source->path);
  r->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  int code = add_file(r, source, d);
  if (code == MAFAT_OK)
    code = source->memory || method == MAFAT_READS_NOW ? open_now(r, d)
                                                       : try_reading(r, method, d);
  if (code == MAFAT_OK) *out = r;
  else mafat_read_queue_close(&r);
  return code;
}

int mafat_read_queue_open_source(struct mafat_read_queue **out,
                                 const struct mafat_model_source *source,
                                 enum mafat_read_queue_method method, struct mafat_diagnostic *d)
{
  return open_reads(out, source, method, d);
}

static int open_path(struct mafat_read_queue **out, const char *path,
                     enum mafat_read_queue_method method, bool cached, struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  *out = NULL;
  int code = mafat_model_source_open_regular(&source, path, d);
  if (code == MAFAT_OK && cached && mafat_read_queue_is_cached(source)) method = MAFAT_READS_NOW;
  if (code == MAFAT_OK) code = open_reads(out, source, method, d);
  mafat_model_source_close(&source);
  return code;
}

int mafat_read_queue_open(struct mafat_read_queue **out, const char *path,
                          enum mafat_read_queue_method method, struct mafat_diagnostic *d)
{
  return open_path(out, path, method, false, d);
}

int mafat_read_queue_open_cached(struct mafat_read_queue **out, const char *path,
                                 struct mafat_diagnostic *d)
{
  return open_path(out, path, MAFAT_READS_AUTO, true, d);
}

int mafat_read_queue_add(struct mafat_read_queue *r, const char *path, struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  int code = mafat_model_source_open_regular(&source, path, d);
  if (code == MAFAT_OK) code = add_file(r, source, d);
  mafat_model_source_close(&source);
  return code ? code : try_reading(r, MAFAT_READS_AUTO, d);
}

void mafat_read_queue_close(struct mafat_read_queue **reads)
{
  if (!reads || !*reads) return;
  struct mafat_read_queue *r = *reads;
  close_ring(r);
  for (unsigned i = 0; i < r->n_files; i++) {
    if (r->files[i].fd >= 0) close(r->files[i].fd);
    free(r->files[i].path);
  }
  free(r->files);
  free(r);
  *reads = NULL;
}

/* ---- checks and properties ---- */

static int check_bytes(const struct file *f, struct stat *now, struct mafat_diagnostic *d)
{
  *now = f->opened;
  if (f->memory) return MAFAT_OK;
  if (fstat(f->fd, now) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", f->path, strerror(errno));
  if (now->st_size != f->opened.st_size)
    return mafat_fail(d, MAFAT_EIO, "%s: had %llu bytes when opened, now %llu", f->path,
                      (unsigned long long)f->opened.st_size, (unsigned long long)now->st_size);
  if (now->st_mtim.tv_sec != f->opened.st_mtim.tv_sec ||
      now->st_mtim.tv_nsec != f->opened.st_mtim.tv_nsec)
    return mafat_fail(d, MAFAT_EIO, "%s: was written to after it was opened", f->path);
  return MAFAT_OK;
}

static int check_file(const struct file *f, struct mafat_diagnostic *d)
{
  struct stat now;
  int code = check_bytes(f, &now, d);
  if (code) return code;
  if (now.st_nlink == 0 && f->opened.st_nlink > 0)
    return mafat_fail(d, MAFAT_EIO, "%s: was removed or replaced after it was opened", f->path);
  return MAFAT_OK;
}

int mafat_reads_check(const struct mafat_read_queue *r, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  for (unsigned i = 0; i < r->n_files && code == MAFAT_OK; i++) code = check_file(&r->files[i], d);
  return code;
}

int mafat_read_queue_check_bytes(const struct mafat_read_queue *r, struct mafat_diagnostic *d)
{
  struct stat now;
  int code = MAFAT_OK;
  for (unsigned i = 0; i < r->n_files && code == MAFAT_OK; i++)
    code = check_bytes(&r->files[i], &now, d);
  return code;
}

struct mafat_file_state mafat_read_queue_state(const struct mafat_read_queue *r, unsigned file)
{
  return r->files[file].state;
}

int mafat_reads_compare(const struct mafat_read_queue *r, unsigned file,
                        const struct mafat_file_state *before, struct mafat_diagnostic *d)
{
  return mafat_model_source_same(&r->files[file].state, before, r->files[file].path, d);
}

const char *mafat_read_queue_memory(const struct mafat_read_queue *r, unsigned file)
{
  const char *memory = r->files[file].memory;
  return (uintptr_t)memory % ORDINARY_ALIGNMENT == 0 ? memory : NULL;
}

size_t mafat_read_queue_alignment(const struct mafat_read_queue *r)
{
  return r->alignment;
}

uint64_t mafat_read_queue_file_bytes_of(const struct mafat_read_queue *r, unsigned file)
{
  return r->files[file].bytes;
}

uint64_t mafat_read_queue_bytes(const struct mafat_read_queue *r)
{
  return r->bytes_read;
}

bool mafat_read_queue_waits(const struct mafat_read_queue *r)
{
  return r->method != &mafat_read_queue_now;
}

const char *mafat_read_queue_method_name(const struct mafat_read_queue *r)
{
  return r->files->memory ? "memory" : r->method->name;
}

bool mafat_read_queue_direct(const struct mafat_read_queue *r)
{
  return r->files->direct;
}
