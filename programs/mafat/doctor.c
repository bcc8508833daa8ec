/* Implements `mafat doctor`: finds what this machine has and prints advice. Called by mafat.c.
 * Reads /proc, /sys and a file to time the disk; runs memory_limit --check; prints to stdout. */
#include "programs/mafat/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/magic.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/calibrate/calibrate_file.h"
#include "runner/calibrate/disk.h"
#include "runner/kernels/kernels.h"
#include "runner/os/budget.h"
#include "runner/os/groups.h"
#include "runner/os/lock.h"
#include "runner/os/process.h"
#include "programs/shared/refused_option.h"
#include "programs/shared/streams.h"
#include "programs/shared/writer.h"

/* Exit status, the same as in the project's other programs. */
enum doctor_status { DONE = 0, FAILED = 1, MISUSE = 2 };

enum {
  MOST_LEVELS = 8,
  MOST_DISK_BYTES = 64 << 20, /* largest number of bytes read to time the disk */
  MOST_DISK_MS = 1000,        /* longest total time of these reads */
  SLOW_DISK_MBS = 200         /* MB/s; below, most plans with streamed weights wait for the disk */
};

static const char usage[] =
    "usage: mafat doctor [--json] [FILE]\n"
    "Prints what this machine has for plans, memory budgets and speed, with advice\n"
    "below each line that can be improved. Changes nothing.\n"
    "\n"
    "  FILE       times the disk by reading this file past the page cache, at most 64 MiB\n"
    "             or a second; name the weights that will be read. For a folder, its\n"
    "             largest file. Default: the current folder\n"
    "  --json     print one JSON object\n"
    "  -h, --help     print this text\n"
    "  -V, --version  print the version\n"
    "\n"
    "Exit status: 0, also if something is missing; 2: wrong arguments.\n"
    "Next: mafat predict MODEL predicts memory and time of a network here.\n";

struct disk {
  char path[PATH_MAX];   /* file that was read; "": none is large enough */
  struct mafat_diagnostic why_not; /* why the file could not be read; "": it could */
  const char *method;    /* NULL: not known */
  const char *io_uring;  /* why reads do not use it; NULL: they do, or it was not tried */
  const char *memory;    /* file system that keeps the file in memory; NULL: it is on a disk */
  bool direct;
  struct mafat_disk_pass pass;
};

struct machine {
  const struct mafat_kernels *levels[MOST_LEVELS]; /* slowest first */
  int n_levels, n_processors; /* n_processors: by affinity, which a cpuset restricts */
  uint64_t quota;             /* thousandths of a processor; UINT64_MAX: none */
  bool calibrated;
  struct mafat_machine_memory memory;
  uint64_t swap_kb, swap_free_kb;
  struct mafat_budget budget;
  struct mafat_limited_group group; /* folder "": no limit is in force */
  bool limited, v1, v2; /* v1: has the memory controller */
  char groups[4096];    /* output of `mafat-limit --check`; "": not installed */
  bool lockable;        /* the whole budget can be locked in memory */
  rlim_t memlock;
  struct disk disk;
};

/* ---- measuring the machine ---- */

/* Runs a program and reads its output, truncated to the capacity; "": no output. */
static void listen_to(char *said, size_t capacity, const char *path, const char *option,
                      const char *other)
{
  int ends[2];
  size_t used = 0;
  said[0] = '\0';
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_t child = fork();
  if (child == 0) {
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(ends[1], STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execl(path, path, option, other, (char *)NULL);
    _exit(127);
  }
  bool ends_with_child =
      close(ends[1]) == 0 && child > 0; /* else there would be no end to wait for */
  for (ssize_t n; ends_with_child && used + 1 < capacity; used += (size_t)n) {
    n = read(ends[0], said + used, capacity - 1 - used);
    if (n < 0 && errno == EINTR) n = 0;
    else if (n <= 0) break;
  }
  said[used] = '\0';
  close(ends[0]);
  if (child > 0)
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
}

/* Truncates a line of JSON to the object in it, without the end of the line; "": incomplete. */
static void keep_object(char *line)
{
  size_t n = strcspn(line, "\n");
  bool whole = n > 1 && line[n] == '\n' && line[0] == '{' && line[n - 1] == '}';
  line[whole ? n : 0] = '\0';
}

/* Finds the versions of control groups in /proc/self/cgroup. Each line has number, controllers and
 * path; that of version 2 has number 0 and no controllers. */
static void find_versions(struct machine *m)
{
  struct mafat_lines lines;
  if (!mafat_lines_open(&lines, "", "/proc/self/cgroup")) return;
  while (mafat_lines_next(&lines)) {
    char *controllers = strchr(lines.line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *path = '\0';
    m->v2 |= strcmp(lines.line, "0:") == 0;
    m->v1 |= strstr(controllers, "memory") != NULL;
  }
}

static void find_memory(struct machine *m)
{
  mafat_groups_find_memory(&m->memory, "");
  mafat_groups_number("", "/proc/meminfo", "SwapTotal:", &m->swap_kb);
  mafat_groups_number("", "/proc/meminfo", "SwapFree:", &m->swap_free_kb);
  mafat_budget_find(&m->budget, "");
  mafat_groups_find_limit(&m->group, "");
  m->limited = m->group.limit < UINT64_MAX;
}

static void find_locks(struct machine *m)
{
  struct mafat_lock lock = {.mode = MAFAT_LOCK_ON};
  struct rlimit limit = {0};
  struct mafat_diagnostic d;
  m->lockable = m->budget.bytes != SIZE_MAX &&
                mafat_lock_decide(&lock, 0, m->budget.bytes, "", &d) == MAFAT_OK;
  getrlimit(RLIMIT_MEMLOCK, &limit);
  m->memlock = limit.rlim_cur;
}

static void find_processor(struct machine *m)
{
  struct mafat_calibration calibration;
  const struct mafat_warning_sink nobody = {0};
  m->n_levels = mafat_kernels_list(m->levels, MOST_LEVELS);
  m->n_processors = mafat_process_processors();
  m->quota = mafat_groups_quota("");
  m->calibrated =
      mafat_calibration_load(&calibration, m->levels[m->n_levels - 1]->name, &nobody) == MAFAT_OK;
}

/* Finds the largest readable file of a folder that is large enough to time. */
static void find_largest(char path[PATH_MAX], const char *folder)
{
  off_t most = MAFAT_DISK_LEAST_BYTES - 1;
  struct stat st;
  DIR *open_folder = opendir(folder);
  if (!open_folder) return;
  for (struct dirent *entry; (entry = readdir(open_folder));) {
    int fd = dirfd(open_folder);
    if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size <= most || faccessat(fd, entry->d_name, R_OK, 0) != 0)
      continue;
    if (snprintf(path, PATH_MAX, "%s/%s", folder, entry->d_name) < PATH_MAX) most = st.st_size;
    else path[0] = '\0';
  }
  closedir(open_folder);
}

/* Returns why a file is not read by io_uring; NULL: it can be. A build without liburing reports the
 * same as a kernel without io_uring. */
static const char *refusal_of_io_uring(const char *path)
{
  static struct mafat_diagnostic d;
  struct mafat_read_queue *reads;
  int code = mafat_read_queue_open(&reads, path, MAFAT_READS_URING, &d);
  if (code == MAFAT_OK) mafat_read_queue_close(&reads);
  const char *reason = code ? strrchr(d.text, ':') : NULL;
  return reason ? reason + 2 : NULL;
}

static const char *memory_file_system(const char *path)
{
  struct statfs fs;
  if (statfs(path, &fs) != 0) return NULL;
  return fs.f_type == TMPFS_MAGIC ? "tmpfs" : fs.f_type == RAMFS_MAGIC ? "ramfs" : NULL;
}

/* Times reads of the file. The method is chosen as for a run: if the kernel refuses one, the next
 * one is tried. */
static void time_reads(struct disk *disk, struct mafat_diagnostic *d)
{
  struct mafat_read_queue *reads = NULL;
  if (mafat_read_queue_open(&reads, disk->path, MAFAT_READS_AUTO, d) != MAFAT_OK) return;
  d->text[0] = '\0'; /* drops the messages of the methods that were refused */
  disk->memory = memory_file_system(disk->path);
  disk->method = mafat_read_queue_method_name(reads);
  disk->direct = mafat_read_queue_direct(reads);
  if (strcmp(disk->method, "io_uring") != 0) disk->io_uring = refusal_of_io_uring(disk->path);
  char *memory =
      mmap(NULL, MAFAT_DISK_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  else if (mafat_read_queue_file_bytes(reads) >= MAFAT_DISK_LEAST_BYTES)
    mafat_disk_read_in_a_row(&disk->pass, reads, memory, MOST_DISK_BYTES, MOST_DISK_MS, d);
  mafat_read_queue_close(&reads); /* before munmap: it waits for pending reads into the memory */
  if (memory != MAP_FAILED) munmap(memory, MAFAT_DISK_ROOM);
}

static void find_disk(struct disk *disk, const char *file, bool is_folder)
{
  if (is_folder) find_largest(disk->path, file);
  else snprintf(disk->path, sizeof disk->path, "%s", file);
  if (disk->path[0]) time_reads(disk, &disk->why_not);
}

/* ---- findings ---- */

/* A line of the report, and advice below it, if any. */
struct finding {
  const char *about;
  char text[2 * PATH_MAX], advice[512];
};

enum { MOST_FINDINGS = 10 };

struct findings {
  struct finding of[MOST_FINDINGS];
  int n;
};

static void find(struct findings *f, const char *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void advise(struct findings *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void find(struct findings *f, const char *about, const char *format, ...)
{
  struct finding *new = &f->of[f->n++];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(new->text, sizeof new->text, format, arguments);
  va_end(arguments);
  new->about = about;
  new->advice[0] = '\0';
}

/* Adds advice to the last finding. */
static void advise(struct findings *f, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(f->of[f->n - 1].advice, sizeof f->of[f->n - 1].advice, format, arguments);
  va_end(arguments);
}

static double mebibytes(uint64_t kb)
{
  return (double)kb / 1024;
}

static void judge_processor(struct findings *f, const struct machine *m)
{
  const char *best = m->levels[m->n_levels - 1]->name;
  if (m->quota < UINT64_MAX)
    find(f, "processor", "%d for this process, quota of its control group %.2f; kernels: %s",
         m->n_processors, (double)m->quota * 1e-3, best);
  else find(f, "processor", "%d for this process; kernels: %s", m->n_processors, best);
  if (m->quota < 2000 && m->n_processors > 1)
    advise(f, "--threads auto uses one: with more, all of them wait when the quota is used up");
  else if (strcmp(best, MAFAT_LEVEL_WITHOUT_VECTORS) == 0)
    advise(f, "without AVX2 or NEON layers take several times as long: choose small networks");
  else if (m->n_processors > 1)
    advise(f, "--threads auto uses as many as are predicted to be the fastest");
  find(f, "prediction",
       m->calibrated ? "milliseconds are this machine's own"
                     : "milliseconds are of another machine's built-in figures");
  if (!m->calibrated)
    advise(f, "mafat run --calibrate measures this one, once, in less than a minute");
}

static void judge_limit(struct findings *f, const struct mafat_limited_group *g)
{
  char others[96] = "";
  if (g->others)
    snprintf(others, sizeof others, "; others hold %.1f MiB of it that cannot be dropped",
             (double)g->others / 1048576);
  find(f, "limit", "%.1f MiB by control group%s%s%s%s", (double)g->limit / 1048576,
       g->folder[0] ? " " : "", g->folder, g->throttles ? " (memory.high)" : "", others);
  if (g->throttles)
    advise(f, "above memory.high the kernel slows all processes of the group down, and kills none");
}

static void judge_memory(struct findings *f, const struct machine *m)
{
  find(f, "memory", "%.0f MiB, %.0f available", mebibytes(m->memory.total_kb),
       mebibytes(m->memory.available_kb));
  if (m->budget.bytes == SIZE_MAX) advise(f, "--memory SIZE says what may be used");
  else
    advise(f, "without --memory SIZE a run takes up to %.0f MiB (%s)",
           (double)m->budget.bytes / 1048576, m->budget.source);
  if (m->limited) judge_limit(f, &m->group);
  else {
    find(f, "limit", "no control group limits this process");
    advise(f, "mafat limit --limit 32M -- mafat run ... tries one");
  }
}

/* Finds the line of memory_limit's output that starts with `beginning`; *rest is the text after it.
 * Returns its length; 0: no such line. */
static int said(const struct machine *m, const char *beginning, const char **rest)
{
  size_t n = strlen(beginning);
  for (const char *line = m->groups; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    if (strncmp(line, beginning, n) != 0) continue;
    *rest = line + n;
    return (int)strcspn(*rest, "\n");
  }
  return 0;
}

static void judge_groups(struct findings *f, const struct machine *m)
{
  const char *version = m->v1 ? m->v2 ? "v1 (and v2)" : "v1" : m->v2 ? "v2" : "none", *rest = "";
  int length;
  if (!m->groups[0]) {
    find(f, "cgroups", "%s", version);
    advise(f, "mafat-limit is not installed: it would say whether limits can be set here");
  } else if (said(m, "possible: ", &rest))
    find(f, "cgroups", "%s: limits can be set", version);
  else {
    length = said(m, "reason: ", &rest);
    find(f, "cgroups", "%s: limits cannot be set: %.*s", version, length, rest);
    if ((length = said(m, "this would help: ", &rest)) > 0) advise(f, "%.*s", length, rest);
  }
}

static void judge_swap(struct findings *f, const struct machine *m)
{
  if (m->swap_kb)
    find(f, "swap", "%.0f MiB, %.0f in use", mebibytes(m->swap_kb),
         mebibytes(m->swap_kb - m->swap_free_kb));
  else find(f, "swap", "none: what exceeds a limit is killed; mafat within its budget needs none");
  if (m->lockable) find(f, "locking", "as much as the budget (--lock)");
  else {
    find(f, "locking", "%.1f MiB at most (RLIMIT_MEMLOCK)", (double)m->memlock / 1048576);
    if (m->swap_kb)
      advise(f, "ulimit -l unlimited, LimitMEMLOCK= of a service: else a full group swaps maps and "
                "weights");
  }
}

static void judge_disk(struct findings *f, const struct disk *disk)
{
  double mbs = disk->pass.byte_ns > 0 ? 1e3 / disk->pass.byte_ns : 0;
  if (!disk->path[0]) {
    find(f, "disk", "not timed: no file of 1.2 MB or more in the folder");
    advise(f, "mafat doctor FILE times the disk that holds FILE");
  } else if (disk->why_not.text[0])
    find(f, "disk", "%s", disk->why_not.text);
  else if (disk->pass.bytes == 0) {
    find(f, "disk", "not timed: %s has less than 1.2 MB", disk->path);
    advise(f, "name a larger one on that disk");
  } else {
    find(f, "disk", "%.0f MB/s by %s, %s; %.0f MB of %s", mbs, disk->method,
         disk->memory ? disk->memory : disk->direct ? "O_DIRECT" : "through the page cache",
         (double)disk->pass.bytes * 1e-6, disk->path);
    if (disk->memory)
      advise(f, "%s keeps the file in memory: this is no disk's speed, and the file counts as used "
                "memory", disk->memory);
    else if (!disk->direct)
      advise(f, "the file system has no O_DIRECT: this may be the speed of memory, not of a disk");
    else if (mbs < SLOW_DISK_MBS)
      advise(f, "streamed weights wait for it: mafat pack --weights int8 makes them a quarter");
    else if (disk->io_uring)
      advise(f, "no io_uring (%s: kernel.io_uring_disabled, a container's filter, an old kernel, "
                "or a build without liburing): reads cost more processor time", disk->io_uring);
  }
}

static void write_text(struct mafat_writer *w, const struct findings *f)
{
  enum { COLUMN = 12 };
  for (int i = 0; i < f->n; i++) {
    mafat_writer_put(w, f->of[i].about);
    mafat_writer_put_spaces(w, COLUMN - (int)strlen(f->of[i].about));
    mafat_writer_put_plain(w, f->of[i].text);
    mafat_writer_put(w, "\n");
    if (!f->of[i].advice[0]) continue;
    mafat_writer_put_spaces(w, COLUMN);
    mafat_writer_put(w, "-> ");
    mafat_writer_put_plain(w, f->of[i].advice);
    mafat_writer_put(w, "\n");
  }
}

static void write_bool(struct mafat_writer *w, const char *key, bool value)
{
  mafat_json_key(w, key);
  mafat_writer_put(w, value ? "true" : "false");
}

static int64_t bytes_of(uint64_t kb)
{
  return kb ? (int64_t)(kb << 10) : -1;
}

static void write_disk(struct mafat_writer *w, const struct disk *disk)
{
  bool timed = disk->pass.byte_ns > 0 && !disk->why_not.text[0];
  mafat_json_key(w, "disk");
  mafat_json_begin(w, "{");
  mafat_json_string(w, "file", disk->path[0] ? disk->path : NULL);
  mafat_json_string(w, "method", disk->method);
  mafat_json_string(w, "io_uring_refused", disk->io_uring);
  mafat_json_string(w, "in_memory", disk->memory);
  write_bool(w, "direct", disk->direct);
  mafat_json_count(w, "bytes", timed ? (int64_t)disk->pass.bytes : -1);
  mafat_json_number(w, "mb_s", timed ? 1e3 / disk->pass.byte_ns : NAN);
  mafat_json_end(w, "}");
}

static void write_json(struct mafat_writer *w, const struct machine *m, const struct findings *f)
{
  mafat_json_begin(w, "{");
  mafat_json_string(w, "version", MAFAT_VERSION);
  mafat_json_count(w, "processors", m->n_processors);
  mafat_json_number(w, "processor_quota",
                    m->quota < UINT64_MAX ? (double)m->quota * 1e-3 : NAN);
  mafat_json_key(w, "levels");
  mafat_json_begin(w, "[");
  for (int i = 0; i < m->n_levels; i++) mafat_json_string(w, NULL, m->levels[i]->name);
  mafat_json_end(w, "]");
  write_bool(w, "calibrated", m->calibrated);
  mafat_json_count(w, "memory_bytes", bytes_of(m->memory.total_kb));
  mafat_json_count(w, "available_bytes", bytes_of(m->memory.available_kb));
  mafat_json_count(w, "budget_bytes", m->budget.bytes == SIZE_MAX ? -1 : (int64_t)m->budget.bytes);
  mafat_json_string(w, "budget_source", m->budget.source);
  mafat_json_count(w, "others_bytes", m->limited ? (int64_t)m->group.others : -1);
  write_bool(w, "limit_throttles", m->group.throttles);
  mafat_json_count(w, "limit_bytes", m->limited ? (int64_t)m->group.limit : -1);
  mafat_json_string(w, "limit_folder", m->limited && m->group.folder[0] ? m->group.folder : NULL);
  mafat_json_string(w, "cgroups", m->v1 ? m->v2 ? "hybrid" : "v1" : m->v2 ? "v2" : NULL);
  mafat_json_key(w, "memory_limit");
  mafat_writer_put(w, m->groups[0] ? m->groups : "null");
  mafat_json_count(w, "swap_bytes", (int64_t)(m->swap_kb << 10));
  mafat_json_count(w, "swap_free_bytes", (int64_t)(m->swap_free_kb << 10));
  mafat_json_count(w, "memlock_bytes", m->memlock > INT64_MAX ? -1 : (int64_t)m->memlock);
  write_bool(w, "budget_lockable", m->lockable);
  write_disk(w, &m->disk);
  mafat_json_key(w, "findings");
  mafat_json_begin(w, "[");
  for (int i = 0; i < f->n; i++) {
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_string(w, "about", f->of[i].about);
    mafat_json_string(w, "text", f->of[i].text);
    mafat_json_string(w, "advice", f->of[i].advice[0] ? f->of[i].advice : NULL);
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
  mafat_json_finish_line(w);
}

/* ---- the command line ---- */

static int misused(const char *what, const char *value)
{
  mafat_streams_complain("mafat doctor", "%s '%s'; see --help", what, value);
  return MISUSE;
}

struct doctor_options {
  bool json;
  const char *file;
  bool is_folder;
};

/* Reads the command line. Returns -1 if the program goes on, else its exit status. */
static int read_options(int argc, char **argv, struct doctor_options *o)
{
  enum { JSON = 256 };
  static const struct option names[] = {{"json", no_argument, NULL, JSON},
                                        {"help", optional_argument, NULL, 'h'},
                                        {"version", no_argument, NULL, 'V'},
                                        {NULL, 0, NULL, 0}};
  char refused[MAFAT_REFUSED_ROOM];
  struct stat st;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "hV", names, NULL)) != -1;) {
    switch (c) {
    case JSON: o->json = true; break;
    case 'h': return mafat_streams_say("mafat doctor", usage) == 0 ? DONE : FAILED;
    case 'V':
      return mafat_streams_say("mafat doctor", "mafat doctor " MAFAT_VERSION "\n") == 0 ? DONE
                                                                                        : FAILED;
    default:
      mafat_refused_option(refused, c, names, argv);
      mafat_streams_complain("mafat doctor", "%s", refused);
      return MISUSE;
    }
  }
  if (argc - optind > 1) return misused("expected one FILE at most, found", argv[optind + 1]);
  o->file = optind < argc ? argv[optind] : ".";
  if (stat(o->file, &st) != 0) return misused("cannot find", o->file);
  o->is_folder = S_ISDIR(st.st_mode);
  return -1;
}

int doctor(int argc, char **argv, const char *bin)
{
  static struct machine m;
  static struct findings f;
  struct doctor_options o = {0};
  struct mafat_writer w;
  struct mafat_diagnostic d;
  char memory_limit[PATH_MAX + 32];
  int status = read_options(argc, argv, &o);
  if (status >= 0) return status;
  snprintf(memory_limit, sizeof memory_limit, "%s/mafat-limit", bin);
  if (access(memory_limit, X_OK) != 0) /* the build folder */
    snprintf(memory_limit, sizeof memory_limit, "%s/memory_limit", bin);
  listen_to(m.groups, sizeof m.groups, memory_limit, "--check", o.json ? "--json" : NULL);
  if (o.json) keep_object(m.groups);
  find_memory(&m);
  find_versions(&m);
  find_locks(&m);
  find_processor(&m);
  find_disk(&m.disk, o.file, o.is_folder);

  judge_processor(&f, &m);
  judge_memory(&f, &m);
  if (!o.json) judge_groups(&f, &m); /* JSON includes memory_limit's own object */
  judge_swap(&f, &m);
  judge_disk(&f, &m.disk);
  mafat_writer_open(&w, STDOUT_FILENO);
  if (o.json) write_json(&w, &m, &f);
  else write_text(&w, &f);
  if (mafat_writer_flush(&w, &d) == MAFAT_OK) return DONE;
  fprintf(stderr, "mafat doctor: %s\n", d.text);
  return FAILED;
}
