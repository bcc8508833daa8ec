/* Covers runner/weights/{reads, reads_aio, reads_now, reads_thread, reads_uring}.c: asynchronous
 * reads get the bytes of the file by every method, without filling the page cache, and report
 * errors of the file and of the kernel. Seccomp filters in a child process make the kernel refuse
 * calls. Writes temporary files in /var/tmp and /dev/shm. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAFAT_WITHOUT_URING
#include <liburing.h>
#endif

#include "runner/os/process.h"
#include "runner/weights/reads.h"
#include "runner/weights/reads_method.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

Suite *reads_suite(void);

enum {
  FILE_BYTES = 1500 * 1024 + 777, /* a multiple of no block or page */
  MOST_READ = 80 << 10,
  PAGE = 4096,
  UNSUPPORTED_CALL = -1
};

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup UNSUPPORTED_CALL
#define SYS_io_uring_enter UNSUPPORTED_CALL
#endif
#ifndef SYS_io_setup
#define SYS_io_setup UNSUPPORTED_CALL
#define SYS_io_submit UNSUPPORTED_CALL
#endif

static const char *const method_names[] = {
    [MAFAT_READS_URING] = "io_uring", [MAFAT_READS_AIO] = "aio", [MAFAT_READS_THREAD] = "thread"};

/* ---- files ---- */

struct file {
  char path[64];
  size_t bytes;
  unsigned char *content;
};

static void write_at(const char *path, size_t offset, const void *bytes, size_t n)
{
  int fd = open(path, O_WRONLY);
  ck_assert(fd >= 0 && pwrite(fd, bytes, n, (off_t)offset) == (ssize_t)n && close(fd) == 0);
}

/* Makes a file that is not in the page cache and was modified long ago. */
static struct file make_file(const char *folder, size_t bytes)
{
  static const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
  struct file f = {.bytes = bytes, .content = malloc(bytes + 1)};
  struct test_rng rng = test_rng(bytes);
  for (size_t i = 0; i < bytes; i++) f.content[i] = (unsigned char)test_random(&rng);
  snprintf(f.path, sizeof f.path, "%s/mafat-reads-XXXXXX", folder);
  int fd = mkstemp(f.path);
  ck_assert_msg(fd >= 0, "%s: %s", f.path, strerror(errno));
  ck_assert(write(fd, f.content, bytes) == (ssize_t)bytes && fsync(fd) == 0 &&
            futimens(fd, long_ago) == 0);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  return f;
}

static void remove_file(struct file *f)
{
  unlink(f->path);
  free(f->content);
}

static bool is_tmpfs(const char *path)
{
  struct statfs s;
  return statfs(path, &s) == 0 && s.f_type == 0x01021994;
}

/* Number of the file's pages in the page cache. */
static size_t cached_pages(const struct file *f)
{
  static unsigned char resident[FILE_BYTES / PAGE + 1];
  size_t pages = (f->bytes + PAGE - 1) / PAGE, n = 0;
  int fd = open(f->path, O_RDONLY);
  void *map = mmap(NULL, f->bytes, PROT_READ, MAP_SHARED, fd, 0);
  ck_assert(fd >= 0 && map != MAP_FAILED && pages <= sizeof resident);
  ck_assert_int_eq(mincore(map, f->bytes, resident), 0);
  for (size_t i = 0; i < pages; i++) n += resident[i] & 1;
  munmap(map, f->bytes);
  close(fd);
  return n;
}

static bool has_method(const char *path, enum mafat_read_queue_method method)
{
  struct mafat_diagnostic d = {""};
  struct mafat_read_queue *r = NULL;
  int code = mafat_read_queue_open(&r, path, method, &d);
  ck_assert_msg(code == MAFAT_OK || code == MAFAT_EUNSUPPORTED, "%s", d.text);
  mafat_read_queue_close(&r);
  return code == MAFAT_OK;
}

static struct mafat_read_queue *open_reads(const struct file *f,
                                           enum mafat_read_queue_method method)
{
  struct mafat_diagnostic d = {""};
  struct mafat_read_queue *r = NULL;
  int code = mafat_read_queue_open(&r, f->path, method, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  size_t alignment = mafat_read_queue_alignment(r);
  ck_assert(alignment > 0 && alignment <= PAGE && (alignment & (alignment - 1)) == 0);
  ck_assert_uint_eq(mafat_read_queue_file_bytes(r), f->bytes);
  ck_assert_uint_eq(mafat_read_queue_bytes(r), 0);
  if (method != MAFAT_READS_AUTO)
    ck_assert_str_eq(mafat_read_queue_method_name(r), method_names[method]);
  return r;
}

static char *map_memory(size_t bytes)
{
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(memory != MAP_FAILED);
  return memory;
}

/* ---- kernels that refuse ---- */

struct refusals {
  long calls[4]; /* ended by 0 */
  /* errno of a refused call */
  int error;
  bool direct;   /* refuses O_DIRECT */
};

#ifdef SYS_fcntl64
enum { FCNTL = SYS_fcntl64 };
#else
enum { FCNTL = SYS_fcntl };
#endif

/* Makes the kernel refuse calls until the process ends. False if the system has no filters (an
 * emulator). */
static bool refuse(const struct refusals *r)
{
  struct sock_filter code[32];
  unsigned short n = 0;
#define ADD(...) code[n++] = (struct sock_filter)__VA_ARGS__
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
  for (int i = 0; i < 4 && r->calls[i]; i++) {
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->calls[i], 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)r->error));
  }
  if (r->direct) {
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]) +
                                               (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECT, 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FCNTL, 0, 3)); /* only F_SETFL passes such flags */
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]) +
                                               (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECT, 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL));
  }
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
  const struct sock_fprog program = {.len = n, .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Runs the body in a child under the filter. */
static void run_refused(const struct refusals *refusals, void (*body)(const void *),
                        const void *argument)
{
  enum { WITHOUT_FILTERS = 77 };
  fflush(NULL);
  pid_t child = fork();
  ck_assert(child >= 0);
  if (child == 0) {
    if (!refuse(refusals)) _exit(WITHOUT_FILTERS);
    body(argument);
    _exit(0);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == WITHOUT_FILTERS) {
    printf("skip reads under a seccomp filter: the system has none\n");
    return;
  }
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                "the child under the filter ended by status %d", status);
}

/* ---- each method, direct and ordinary ---- */

struct way {
  const struct file *file;
  enum mafat_read_queue_method method;
  bool cached; /* reads a file that is in the page cache; `method` is not used */
};

enum { N_METHODS = 3, N_WAYS = 2 * N_METHODS };

/* Runs the body in way i: first each method with direct reads, then each with ordinary reads. */
static void run_way(int i, const struct file *file, void (*body)(const void *))
{
  static const struct refusals no_direct = {.direct = true};
  const struct way way = {
      .file = file, .method = (enum mafat_read_queue_method)(MAFAT_READS_URING + i % N_METHODS)};
  if (!has_method(file->path, way.method))
    printf("skip reads by %s: refused\n", method_names[way.method]);
  else if (i < N_METHODS) body(&way);
  else run_refused(&no_direct, body, &way);
}

struct request {
  size_t offset, bytes;
  char *memory;
};

static struct request random_request(struct test_rng *rng, const struct mafat_read_queue *r,
                                     char *memory)
{
  size_t a = mafat_read_queue_alignment(r), file = (size_t)mafat_read_queue_file_bytes(r);
  size_t offset = a * (size_t)test_random_int(rng, 0, (int)((file - 1) / a));
  size_t bytes =
      a * (size_t)test_random_int(rng, 1, (int)(test_random_chance(rng, 50) ? MOST_READ / a : 4));
  return (struct request){.offset = offset, .bytes = bytes, .memory = memory};
}

/* Waits for a request and compares its bytes with the file's, up to the end of the file. Returns
 * their number. */
static size_t await_request(struct mafat_read_queue *r, const struct file *f, unsigned slot,
                            const struct request *q)
{
  struct mafat_diagnostic d = {""};
  size_t there = f->bytes - q->offset < q->bytes ? f->bytes - q->offset : q->bytes;
  int code = mafat_read_queue_wait(r, slot, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_msg(memcmp(q->memory, f->content + q->offset, there) == 0, "%zu bytes at %zu", q->bytes,
                q->offset);
  return there;
}

static void submit(struct mafat_read_queue *r, unsigned slot, const struct request *q)
{
  struct mafat_diagnostic d = {""};
  int code = mafat_read_queue_submit(r, slot, q->memory, q->bytes, q->offset, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
}

static void ignore_tick(int number)
{
  (void)number;
}

/* Sends SIGALRM to the process every so many microseconds, to interrupt waits; 0 stops it. */
static void tick(int microseconds)
{
  struct sigaction action = {.sa_handler = ignore_tick};
  const struct itimerval every = {.it_interval.tv_usec = microseconds,
                                  .it_value.tv_usec = microseconds};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
}

static struct mafat_read_queue *open_cached(const struct file *f)
{
  struct mafat_diagnostic d = {""};
  struct mafat_read_queue *r = NULL;
  ck_assert_msg(mafat_read_queue_open_cached(&r, f->path, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_str_eq(mafat_read_queue_method_name(r), "read");
  ck_assert(!mafat_read_queue_direct(r));
  return r;
}

/* Reads random ranges with all slots busy, and waits for them in any order. */
static void read_at_random(const void *argument)
{
  const struct way *w = argument;
  struct mafat_read_queue *r = w->cached ? open_cached(w->file) : open_reads(w->file, w->method);
  char *memory = map_memory((size_t)MAFAT_READS_DEPTH * MOST_READ);
  struct request requests[MAFAT_READS_DEPTH] = {{0}};
  struct test_rng rng = test_rng(17);
  size_t expected = 0;
  tick(700);
  for (int i = 0; i < 800; i++) {
    unsigned slot = (unsigned)test_random_int(&rng, 0, MAFAT_READS_DEPTH - 1);
    struct request *q = &requests[slot];
    if (q->bytes) expected += await_request(r, w->file, slot, q);
    *q = random_request(&rng, r, memory + slot * (size_t)MOST_READ);
    submit(r, slot, q);
  }
  tick(0);
  for (unsigned slot = 0; slot < MAFAT_READS_DEPTH; slot++)
    if (requests[slot].bytes) expected += await_request(r, w->file, slot, &requests[slot]);
  ck_assert_uint_eq(mafat_read_queue_bytes(r), expected);
  mafat_read_queue_close(&r);
  ck_assert_ptr_null(r);
  munmap(memory, (size_t)MAFAT_READS_DEPTH * MOST_READ);
}

START_TEST(random_ranges_have_the_bytes_of_the_file)
{
  struct file f = make_file("/var/tmp", FILE_BYTES);
  run_way(_i, &f, read_at_random);
  remove_file(&f);
}
END_TEST

/* Uses tmpfs, whose files the system does not drop from the page cache during the test. */
START_TEST(a_file_in_the_page_cache_is_read_from_there_and_stays)
{
  if (!is_tmpfs("/dev/shm")) {
    printf("skip reads from the page cache: /dev/shm is no tmpfs\n");
    return;
  }
  struct file f = make_file("/dev/shm", FILE_BYTES);
  const struct way way = {.file = &f, .cached = true};
  read_at_random(&way);
  ck_assert_uint_eq(cached_pages(&f), (f.bytes + PAGE - 1) / PAGE);
  remove_file(&f);
}
END_TEST

START_TEST(a_file_in_memory_is_read_too)
{
  if (!is_tmpfs("/dev/shm")) {
    printf("skip reads of tmpfs: /dev/shm is no tmpfs\n");
    return;
  }
  struct file f = make_file("/dev/shm", FILE_BYTES);
  run_way(_i, &f, read_at_random);
  remove_file(&f);
}
END_TEST

/* Reads from the last aligned position to far past the end. */
static void read_end(const void *argument)
{
  const struct way *w = argument;
  struct mafat_read_queue *r = open_reads(w->file, w->method);
  char *memory = map_memory(2 * MOST_READ);
  size_t a = mafat_read_queue_alignment(r), last = (w->file->bytes - 1) / a * a;
  const struct request requests[] = {
      {last, a, memory}, {last, MOST_READ, memory}, {0, MOST_READ, memory + MOST_READ}};
  for (int i = 0; i < 3; i++) {
    submit(r, 5, &requests[i]);
    await_request(r, w->file, 5, &requests[i]);
  }
  mafat_read_queue_close(&r);
  munmap(memory, 2 * MOST_READ);
}

START_TEST(a_range_may_go_past_the_end)
{
  static const size_t sizes[] = {1, 63, 512, 4095, 4096, 4097, 12288 + 511, 70000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct file f = make_file("/var/tmp", sizes[i]);
    run_way(_i, &f, read_end);
    remove_file(&f);
  }
}
END_TEST

/* Reads a file with a hole, at positions beyond 4 GiB. */
static void read_far(const void *argument)
{
  const struct way *w = argument;
  const uint64_t far = UINT64_C(5) << 30;
  struct mafat_diagnostic d = {""};
  struct mafat_read_queue *r = NULL;
  char *memory = map_memory(2 * PAGE);
  ck_assert_msg(mafat_read_queue_open(&r, w->file->path, w->method, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_uint_eq(mafat_read_queue_file_bytes(r), far + 3);
  ck_assert_msg(mafat_read_queue_submit(r, 0, memory, PAGE, far, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_msg(mafat_read_queue_submit(r, 1, memory + PAGE, PAGE, far - PAGE, &d) == MAFAT_OK,
                "%s", d.text);
  ck_assert_msg(mafat_read_queue_wait(r, 0, &d) == MAFAT_OK &&
                    mafat_read_queue_wait(r, 1, &d) == MAFAT_OK,
                "%s", d.text);
  ck_assert_int_eq(memcmp(memory, "far", 3), 0);
  ck_assert_int_eq(memory[PAGE], 0);
  mafat_read_queue_close(&r);
  munmap(memory, 2 * PAGE);
}

START_TEST(positions_have_more_than_32_bits)
{
  struct file f = make_file("/var/tmp", 0);
  int fd = open(f.path, O_WRONLY);
  if (pwrite(fd, "far", 3, (off_t)5 << 30) == 3) run_way(_i, &f, read_far);
  else printf("skip reads beyond 4 GiB: cannot make so large a file in /var/tmp\n");
  close(fd);
  remove_file(&f);
}
END_TEST

static void leave_no_pages(const void *argument)
{
  const struct way *w = argument;
  struct mafat_read_queue *r = open_reads(w->file, w->method);
  enum {
    STREAMS = 3,
    PIECE = 300 * 64,
    ROOM = 5 * PAGE
  }; /* pieces are not whole pages unless the alignment requires it */
  size_t a = mafat_read_queue_alignment(r), piece = PIECE / a * a;
  char *memory = map_memory(STREAMS * ROOM);
  struct request requests[STREAMS] = {{0}};
  unsigned slot = 0;
  for (size_t offset = 0; offset < w->file->bytes; offset += piece, slot = (slot + 1) % STREAMS) {
    if (requests[slot].bytes) await_request(r, w->file, slot, &requests[slot]);
    requests[slot] =
        (struct request){.offset = offset, .bytes = piece, .memory = memory + slot * ROOM};
    submit(r, slot, &requests[slot]);
  }
  for (unsigned s = 0; s < STREAMS; s++) await_request(r, w->file, s, &requests[s]);
  ck_assert_uint_eq(cached_pages(w->file), 0);
  mafat_read_queue_close(&r);
  ck_assert_uint_eq(cached_pages(w->file), 0);
  munmap(memory, STREAMS * ROOM);
}

START_TEST(nothing_stays_in_the_page_cache)
{
  struct file f = make_file("/var/tmp", FILE_BYTES);
  if (cached_pages(&f) > 0)
    printf("skip the test of the page cache: files in /var/tmp cannot be dropped from it\n");
  else run_way(_i, &f, leave_no_pages);
  remove_file(&f);
}
END_TEST

static void allocate_nothing(const void *argument)
{
  const struct way *w = argument;
  struct mafat_read_queue *r = open_reads(w->file, w->method);
  char *memory = map_memory((size_t)MAFAT_READS_DEPTH * PAGE);
  long asked, unfreed;
  failing_malloc_arm(-1);
  for (int round = 0; round < 3; round++) {
    for (unsigned slot = 0; slot < MAFAT_READS_DEPTH; slot++)
      mafat_read_queue_submit(r, slot, memory + slot * (size_t)PAGE, PAGE, slot * (uint64_t)PAGE,
                              NULL);
    for (unsigned slot = 0; slot < MAFAT_READS_DEPTH; slot++) mafat_read_queue_wait(r, slot, NULL);
  }
  asked = failing_malloc_disarm(&unfreed);
  ck_assert_int_eq(asked, 0);
  ck_assert_int_eq(unfreed, 0);
  ck_assert_uint_eq(mafat_read_queue_bytes(r), 3ull * MAFAT_READS_DEPTH * PAGE);
  ck_assert(memcmp(memory, w->file->content, (size_t)MAFAT_READS_DEPTH * PAGE) == 0);
  mafat_read_queue_close(&r);
  munmap(memory, (size_t)MAFAT_READS_DEPTH * PAGE);
}

START_TEST(submitting_and_waiting_allocate_nothing)
{
  struct file f = make_file("/var/tmp", FILE_BYTES);
  run_way(_i, &f, allocate_nothing);
  remove_file(&f);
}
END_TEST

/* Closing waits for all reads, so memory can be unmapped after it. */
static void close_while_reading(const void *argument)
{
  const struct way *w = argument;
  struct mafat_read_queue *r = open_reads(w->file, w->method);
  size_t bytes = (size_t)16 * MOST_READ;
  char *memory = map_memory(bytes);
  for (unsigned slot = 0; slot < 16; slot++)
    submit(r, slot,
           &(struct request){slot * (size_t)MOST_READ, MOST_READ,
                             memory + slot * (size_t)MOST_READ});
  mafat_read_queue_close(&r);
  ck_assert(memcmp(memory, w->file->content, bytes) == 0);
  munmap(memory, bytes);
}

START_TEST(closing_waits_for_what_is_under_way)
{
  struct file f = make_file("/var/tmp", FILE_BYTES);
  run_way(_i, &f, close_while_reading);
  remove_file(&f);
}
END_TEST

/* ---- what goes wrong ---- */

static void read_truncated(const void *argument)
{
  const struct way *w = argument;
  enum { END = 100001, BEFORE = 98304 };
  struct mafat_diagnostic d = {""};
  struct mafat_read_queue *r = open_reads(w->file, w->method);
  char *memory = map_memory(MOST_READ), expected[128];
  ck_assert_int_eq(mafat_reads_check(r, &d), MAFAT_OK);
  ck_assert_int_eq(truncate(w->file->path, END), 0);
  static const struct { size_t offset, bytes, end;
  } rows[] = {{BEFORE, PAGE, END},
              {BEFORE - PAGE, MOST_READ, END},
              {BEFORE + 2 * PAGE, MOST_READ, BEFORE + 2 * PAGE}};
  for (int i = 0; i < 3; i++) {
    int code = mafat_read_queue_submit(r, 1, memory, rows[i].bytes, rows[i].offset, &d);
    if (code == MAFAT_OK) code = mafat_read_queue_wait(r, 1, &d);
    ck_assert_msg(code == MAFAT_EFORMAT, "%s: %s", mafat_error_name(code), d.text);
    snprintf(expected, sizeof expected, "%s: ended while being read, at byte %zu", w->file->path,
             rows[i].end);
    ck_assert_str_eq(d.text, expected);
  }
  const struct request whole = {0, MOST_READ, memory}; /* the bytes that remain can still be read */
  submit(r, 1, &whole);
  await_request(r, w->file, 1, &whole);
  snprintf(expected, sizeof expected, "%s: had %d bytes when opened, now %d", w->file->path,
           FILE_BYTES, END);
  ck_assert_int_eq(mafat_reads_check(r, &d), MAFAT_EIO);
  ck_assert_str_eq(d.text, expected);
  mafat_read_queue_close(&r);
  munmap(memory, MOST_READ);
}

START_TEST(a_file_that_became_shorter_is_bad)
{
  struct file f = make_file("/var/tmp", FILE_BYTES);
  run_way(_i, &f, read_truncated);
  remove_file(&f);
}
END_TEST

/* A read into inaccessible memory fails, at submission or at the wait; the slot's next read
 * works. */
static void read_into_nowhere(const void *argument)
{
  const struct way *w = argument;
  struct mafat_diagnostic d = {""};
  struct mafat_read_queue *r = open_reads(w->file, w->method);
  char *memory = map_memory(4 * PAGE);
  ck_assert_int_eq(mprotect(memory + 2 * PAGE, 2 * PAGE, PROT_NONE), 0);
  for (size_t good = 0; good <= 2 * PAGE; good += PAGE) {
    int code = mafat_read_queue_submit(r, 7, memory + 2 * PAGE - good, good + PAGE, PAGE, &d);
    if (code == MAFAT_OK) code = mafat_read_queue_wait(r, 7, &d);
    ck_assert_int_eq(code, MAFAT_EIO);
    ck_assert_msg(strstr(d.text, ": cannot read at byte ") && strstr(d.text, strerror(EFAULT)),
                  "%s", d.text);
    const struct request sound = {0, 2 * PAGE, memory};
    submit(r, 7, &sound);
    await_request(r, w->file, 7, &sound);
  }
  mafat_read_queue_close(&r);
  munmap(memory, 4 * PAGE);
}

START_TEST(an_error_is_reported_and_leaves_the_slot_usable)
{
  struct file f = make_file("/var/tmp", FILE_BYTES);
  run_way(_i, &f, read_into_nowhere);
  remove_file(&f);
}
END_TEST

static void make_longer(const struct file *f)
{
  write_at(f->path, f->bytes, "x", 1);
}

static void write_into(const struct file *f)
{
  write_at(f->path, 1000, "x", 1);
}

static void remove_name(const struct file *f)
{
  unlink(f->path);
}

static void replace(const struct file *f)
{
  struct file other = make_file("/var/tmp", f->bytes);
  ck_assert_int_eq(rename(other.path, f->path), 0);
  remove_file(&other);
}

static const struct change {
  void (*make)(const struct file *f);
  const char *says;
} changes[] = {
    {make_longer, "had 5000 bytes when opened, now 5001"},
    {write_into, "was written to after it was opened"},
    {remove_name, "was removed or replaced after it was opened"},
    {replace, "was removed or replaced after it was opened"},
};

START_TEST(a_file_that_is_not_what_was_opened_is_noticed)
{
  struct mafat_diagnostic d = {""};
  struct file f = make_file("/var/tmp", 5000);
  struct mafat_read_queue *r = open_reads(&f, MAFAT_READS_AUTO);
  ck_assert_int_eq(mafat_reads_check(r, &d), MAFAT_OK);
  changes[_i].make(&f);
  ck_assert_int_eq(mafat_reads_check(r, &d), MAFAT_EIO);
  ck_assert_msg(strstr(d.text, f.path) && strstr(d.text, changes[_i].says), "%s", d.text);
  mafat_read_queue_close(&r);
  remove_file(&f);
}
END_TEST

static void check_refused(const char *path, int expected, const char *says)
{
  for (int method = MAFAT_READS_AUTO; method <= MAFAT_READS_THREAD; method++) {
    struct mafat_diagnostic d = {""};
    struct mafat_read_queue *r = NULL;
    int code = mafat_read_queue_open(&r, path, (enum mafat_read_queue_method)method, &d);
    ck_assert_ptr_null(r);
    ck_assert_msg(code == expected && strstr(d.text, path) && strstr(d.text, says), "%s: %s",
                  mafat_error_name(code), d.text);
  }
}

START_TEST(what_is_no_regular_file_is_refused)
{
  char folder[] = "/var/tmp/mafat-reads-XXXXXX", path[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/pipe", folder);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  check_refused(path, MAFAT_EIO, "expected a regular file"); /* a FIFO: no wait for a writer */
  check_refused(folder, MAFAT_EIO, "expected a regular file");
  check_refused("/dev/null", MAFAT_EIO, "expected a regular file");
  unlink(path);
  check_refused(path, MAFAT_EIO, "cannot open: No such file or directory");
  rmdir(folder);
}
END_TEST

START_TEST(an_empty_file_opens)
{
  struct mafat_diagnostic d = {""};
  struct file f = make_file("/var/tmp", 0);
  struct mafat_read_queue *r = open_reads(&f, MAFAT_READS_AUTO);
  ck_assert_int_eq(mafat_reads_check(r, &d), MAFAT_OK);
  mafat_read_queue_close(&r);
  mafat_read_queue_close(&r);
  mafat_read_queue_close(NULL);
  remove_file(&f);
}
END_TEST

START_TEST(refused_memory_is_reported_and_nothing_leaks)
{
  struct file f = make_file("/var/tmp", 5000);
  long n = 1, unfreed;
  for (long i = -1; i < n; i++) {
    struct mafat_diagnostic d = {""};
    struct mafat_read_queue *r = NULL;
    failing_malloc_arm(i);
    int code = mafat_read_queue_open(&r, f.path, MAFAT_READS_AUTO, &d);
    mafat_read_queue_close(&r);
    long asked = failing_malloc_disarm(&unfreed);
    if (i < 0) n = asked;
    ck_assert_msg(code == (i < 0 ? MAFAT_OK : MAFAT_ENOMEM), "allocation %ld: %s", i, d.text);
    ck_assert_msg(unfreed == 0, "allocation %ld: %ld blocks leak", i, unfreed);
    ck_assert_msg(i < 0 || strstr(d.text, "out of memory"), "allocation %ld: \"%s\"", i, d.text);
  }
  ck_assert_int_ge(n, 3);
  remove_file(&f);
}
END_TEST

/* ---- the next method, where the kernel refuses one ---- */

static const struct fallback {
  const char *name;
  struct refusals refusals;
  bool no_uring, no_aio;
} fallbacks[] = {
    {"nothing", {.error = EPERM}, false, false},
    {"io_uring_setup, EPERM", {.calls = {SYS_io_uring_setup}, .error = EPERM}, true, false},
    {"io_uring_setup, ENOSYS", {.calls = {SYS_io_uring_setup}, .error = ENOSYS}, true, false},
    {"io_uring_setup, ENOMEM", {.calls = {SYS_io_uring_setup}, .error = ENOMEM}, true, false},
    {"io_uring_enter", {.calls = {SYS_io_uring_enter}, .error = EPERM}, true, false},
    {"io_uring_setup, io_setup",
     {.calls = {SYS_io_uring_setup, SYS_io_setup}, .error = EPERM},
     true,
     true},
    {"io_uring_setup, io_submit",
     {.calls = {SYS_io_uring_setup, SYS_io_submit}, .error = ENOSYS},
     true,
     true},
    {"O_DIRECT", {.direct = true}, false, false},
    {"O_DIRECT, io_uring_setup",
     {.calls = {SYS_io_uring_setup}, .error = EPERM, .direct = true},
     true,
     false},
};

struct expectation {
  const struct file *file;
  const struct fallback *row;
  const char *method;
  bool direct;
};

static void open_as_expected(const void *argument)
{
  const struct expectation *e = argument;
  const struct way way = {.file = e->file, .method = MAFAT_READS_AUTO};
  struct mafat_read_queue *r = open_reads(e->file, MAFAT_READS_AUTO);
  ck_assert_msg(strcmp(mafat_read_queue_method_name(r), e->method) == 0,
                "refused: %s; expected %s, found %s", e->row->name, e->method,
                mafat_read_queue_method_name(r));
  ck_assert_int_eq(mafat_read_queue_direct(r), e->direct);
  mafat_read_queue_close(&r);
  read_at_random(&way);
  struct mafat_diagnostic d = {""};
  if (!e->row->no_uring) return;
  ck_assert_int_eq(mafat_read_queue_open(&r, e->file->path, MAFAT_READS_URING, &d),
                   MAFAT_EUNSUPPORTED);
  ck_assert_msg(strstr(d.text, e->file->path) != NULL, "%s", d.text);
  ck_assert_ptr_null(r);
}

START_TEST(where_the_kernel_refuses_a_method_the_next_is_taken)
{
  const struct fallback *row = &fallbacks[_i];
  struct file f = make_file("/var/tmp", FILE_BYTES);
  struct mafat_read_queue *r = open_reads(&f, MAFAT_READS_AUTO);
  struct expectation e = {
      .file = &f, .row = row, .direct = mafat_read_queue_direct(r) && !row->refusals.direct};
  mafat_read_queue_close(&r);
  bool uring = has_method(f.path, MAFAT_READS_URING) && !row->no_uring;
  bool aio = e.direct && has_method(f.path, MAFAT_READS_AIO) && !row->no_aio;
  e.method = uring ? "io_uring" : aio ? "aio" : "thread";
  run_refused(&row->refusals, open_as_expected, &e);
  remove_file(&f);
}
END_TEST

static void find_unreadable(const void *argument)
{
  const struct file *f = argument;
  struct mafat_diagnostic d = {""};
  struct mafat_read_queue *r = NULL;
  ck_assert_int_eq(mafat_read_queue_open(&r, f->path, MAFAT_READS_AUTO, &d), MAFAT_EIO);
  ck_assert_msg(strstr(d.text, f->path) && strstr(d.text, strerror(EIO)), "%s", d.text);
  ck_assert_ptr_null(r);
}

START_TEST(a_file_that_cannot_be_read_does_not_open)
{
  static const struct refusals rows[] = {
      {.calls = {SYS_pread64, SYS_io_uring_enter, SYS_io_submit}, .error = EIO},
      {.calls = {SYS_pread64, SYS_io_uring_enter, SYS_io_submit}, .error = EIO, .direct = true},
  };
  struct file f = make_file("/var/tmp", 5000);
  run_refused(&rows[_i], find_unreadable, &f);
  remove_file(&f);
}
END_TEST

static void count_cached(const void *argument)
{
  const struct file *f = argument;
  int fd = open(f->path, O_RDWR);
  ck_assert_int_ge(fd, 0);
  ck_assert_uint_eq(mafat_process_cached_bytes_of(fd, f->bytes),
                    (f->bytes + PAGE - 1) / PAGE * PAGE);
  ck_assert_int_eq(ftruncate(fd, 3 * PAGE), 0);
  ck_assert_int_eq(ftruncate(fd, 8 * PAGE + 1), 0); /* a hole is not in memory */
  ck_assert_uint_eq(mafat_process_cached_bytes_of(fd, 8 * PAGE + 1), 3 * PAGE);
  close(fd);
}

/* Cached bytes are counted by cachestat, and in another way if the kernel lacks it. */
START_TEST(what_is_cached_of_a_file_is_counted)
{
  static const struct refusals rows[] = {{.error = EPERM}, {.calls = {451}, .error = ENOSYS}};
  if (!is_tmpfs("/dev/shm")) {
    printf("skip counting what is cached: /dev/shm is no tmpfs\n");
    return;
  }
  struct file f = make_file("/dev/shm", FILE_BYTES);
  run_refused(&rows[_i], count_cached, &f);
  remove_file(&f);
}
END_TEST

#ifndef MAFAT_WITHOUT_URING
/* System call filters do not see entries of an io_uring ring, so the ring itself must refuse all
 * operations but reads. */
START_TEST(a_ring_can_do_nothing_but_read)
{
  void *memory = calloc(1, mafat_read_queue_uring.ring_bytes);
  struct io_uring_cqe *done;
  if (mafat_read_queue_uring.open(memory) == 0) {
    struct io_uring *ring = memory; /* its first member */
    const int refused[] = {IORING_OP_OPENAT, IORING_OP_WRITEV, IORING_OP_CONNECT, IORING_OP_NOP};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
      struct io_uring_sqe *entry = io_uring_get_sqe(ring);
      io_uring_prep_nop(entry);
      entry->opcode = (uint8_t)refused[i];
      ck_assert_int_eq(io_uring_submit(ring), 1);
      ck_assert_int_eq(io_uring_wait_cqe(ring, &done), 0);
      ck_assert_int_eq(done->res, -EACCES);
      io_uring_cqe_seen(ring, done);
    }
    ck_assert_int_ne(io_uring_register_eventfd(ring, 0), 0);
    mafat_read_queue_uring.close(memory);
  }
  free(memory);
}
END_TEST
#endif

Suite *reads_suite(void)
{
  Suite *suite = suite_create("reads");
  TCase *ways = tcase_create("ways");
  tcase_set_timeout(ways, 60);
#ifndef MAFAT_WITHOUT_URING
  tcase_add_test(ways, a_ring_can_do_nothing_but_read);
#endif
  tcase_add_loop_test(ways, random_ranges_have_the_bytes_of_the_file, 0, N_WAYS);
  tcase_add_test(ways, a_file_in_the_page_cache_is_read_from_there_and_stays);
  tcase_add_loop_test(ways, a_file_in_memory_is_read_too, 0, N_WAYS);
  tcase_add_loop_test(ways, a_range_may_go_past_the_end, 0, N_WAYS);
  tcase_add_loop_test(ways, positions_have_more_than_32_bits, 0, N_WAYS);
  tcase_add_loop_test(ways, nothing_stays_in_the_page_cache, 0, N_WAYS);
  tcase_add_loop_test(ways, submitting_and_waiting_allocate_nothing, 0, N_WAYS);
  tcase_add_loop_test(ways, closing_waits_for_what_is_under_way, 0, N_WAYS);
  tcase_add_loop_test(ways, a_file_that_became_shorter_is_bad, 0, N_WAYS);
  tcase_add_loop_test(ways, an_error_is_reported_and_leaves_the_slot_usable, 0, N_WAYS);
  suite_add_tcase(suite, ways);
  TCase *files = tcase_create("files");
  tcase_set_timeout(files, 60);
  tcase_add_loop_test(files, a_file_that_is_not_what_was_opened_is_noticed, 0,
                      sizeof changes / sizeof *changes);
  tcase_add_test(files, what_is_no_regular_file_is_refused);
  tcase_add_test(files, an_empty_file_opens);
  tcase_add_test(files, refused_memory_is_reported_and_nothing_leaks);
  suite_add_tcase(suite, files);
  TCase *refused = tcase_create("refused");
  tcase_set_timeout(refused, 60);
  tcase_add_loop_test(refused, where_the_kernel_refuses_a_method_the_next_is_taken, 0,
                      sizeof fallbacks / sizeof *fallbacks);
  tcase_add_loop_test(refused, a_file_that_cannot_be_read_does_not_open, 0, 2);
  tcase_add_loop_test(refused, what_is_cached_of_a_file_is_counted, 0, 2);
  suite_add_tcase(suite, refused);
  return suite;
}
