/* A file system in memory whose files misbehave: hostile_files FOLDER. Started by
 * tests/faults/hostile_files.sh; needs libfuse3. A text written to its file .control chooses the
 * misbehaviour:
 *
 *   off              no misbehaviour; all counters are set to 0
 *   short N          reads return up to N bytes less than requested, but never 0 bytes; direct
 *                    reads (past the page cache) lose whole blocks. Drawn for each read.
 *   slow N           each read or write takes a random time of up to N ms
 *   at K CHANGE NAME changes the file NAME just before its read K, from 0. CHANGE: shrink (to half
 *                    its size), grow, rewrite (other bytes), touch (only its time), gone (removes
 *                    it), or fail (the read fails)
 *   full N           the disk is full after N more bytes
 *   nolinks          a file cannot get a second name
 *
 * After every change, the program checks what would remain if the power failed now: only data
 * covered by fsync. A file is checked if its name is final: without the suffix .part or a suffix
 * of six letters or digits. The file .verdict has two numbers: changes to names and bytes, and
 * how many of these changes left a final file incomplete. */
#define FUSE_USE_VERSION 35
#include <fuse3/fuse.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILES = 64, NAME_ROOM = 256, BLOCK = 4096 };

struct content {
  char *bytes;
  size_t n, capacity;
};

/* A file. It is freed when it has no name left and is not open. */
struct file {
  /* number of its names; number of open descriptors */
  int names, opens;
  mode_t mode;
  struct timespec changed;
  struct content now;
  bool synced; /* its content is covered by fsync */
  int reads;   /* number of reads since `off` */
};

static struct name {
  char text[NAME_ROOM]; /* "": free */
  struct file *file;
} names[MOST_FILES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  /* values of the control words: short (less, in bytes), slow (delay_ms), at (at: the read, or -1;
   * change; name), full (left: bytes that still fit), nolinks */
  size_t less;
  unsigned delay_ms;
  int at;
  char change[16], name[NAME_ROOM];
  size_t left;
  bool full, no_links;
} faults = {.at = -1};
/* the two numbers of .verdict; state of the random numbers */
static unsigned n_changes, n_parts, state = 1;

static unsigned draw(unsigned below)
{
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

/* ---- names ---- */

static struct name *find(const char *path)
{
  for (int i = 0; i < MOST_FILES; i++)
    if (names[i].text[0] && strcmp(names[i].text, path + 1) == 0) return &names[i];
  return NULL;
}

static struct name *add(const char *path, struct file *file)
{
  for (int i = 0; i < MOST_FILES; i++) {
    if (names[i].text[0]) continue;
    snprintf(names[i].text, NAME_ROOM, "%s", path + 1);
    names[i].file = file;
    file->names++;
    return &names[i];
  }
  return NULL;
}

static void free_unused(struct file *file)
{
  if (file->names || file->opens) return;
  free(file->now.bytes);
  free(file);
}

static void remove_name(struct name *name)
{
  struct file *file = name->file;
  name->text[0] = '\0';
  file->names--;
  free_unused(file);
}

/* ---- check of the state that a power failure would leave ---- */

static bool is_final(const char *name)
{
  const char *end = strrchr(name, '.');
  return !end ||
         (strcmp(end, ".part") != 0 &&
          (strlen(end) != 7 ||
           strspn(end + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != 6));
}

/* Called after each change. A file that got its final name before its fsync counts as incomplete
 * until the fsync. */
static void judge(void)
{
  n_changes++;
  for (int i = 0; i < MOST_FILES; i++)
    if (names[i].text[0] && is_final(names[i].text) && !names[i].file->synced) {
      n_parts++;
      return;
    }
}

static void change(struct file *file)
{
  file->synced = false;
  clock_gettime(CLOCK_REALTIME, &file->changed);
}

/* ---- misbehaviour ---- */

static bool resize(struct content *c, size_t n)
{
  if (n > c->capacity) {
    size_t capacity = n + n / 2 + 4096;
    char *bytes = realloc(c->bytes, capacity);
    if (!bytes) return false;
    c->bytes = bytes;
    c->capacity = capacity;
  }
  if (n > c->n) memset(c->bytes + c->n, 0, n - c->n);
  c->n = n;
  return true;
}

/* Applies `at K CHANGE NAME` if it is this read's turn. False: this read must fail. */
static bool disturb(struct name *name, struct file *file)
{
  if (faults.at < 0 || strcmp(name ? name->text : "", faults.name) != 0 ||
      file->reads++ != faults.at)
    return true;
  if (strcmp(faults.change, "fail") == 0) return false;
  if (strcmp(faults.change, "gone") == 0) remove_name(name);
  if (strcmp(faults.change, "shrink") == 0) resize(&file->now, file->now.n / 2);
  if (strcmp(faults.change, "grow") == 0) resize(&file->now, file->now.n + 4096);
  if (strcmp(faults.change, "rewrite") == 0)
    for (size_t i = 0; i < file->now.n; i++) file->now.bytes[i] = (char)(file->now.bytes[i] + 1);
  clock_gettime(CLOCK_REALTIME, &file->changed);
  return true;
}

/* Returns a shorter size for a read: a random number of whole blocks, at least one. Returns n if
 * that is less than two blocks. */
static size_t shorten(size_t n, size_t block)
{
  size_t blocks = n / block, most = (faults.less + block - 1) / block;
  if (blocks < 2) return n;
  return (blocks - draw((unsigned)(most < blocks - 1 ? most : blocks - 1) + 1)) * block;
}

static void wait_a_little(void)
{
  pthread_mutex_lock(&lock);
  unsigned us = faults.delay_ms ? draw(faults.delay_ms * 1000) : 0;
  pthread_mutex_unlock(&lock);
  if (us) usleep(us);
}

static void set_control(const char *text)
{
  size_t n;
  unsigned ms;
  if (strncmp(text, "off", 3) == 0) {
    memset(&faults, 0, sizeof faults);
    faults.at = -1;
    n_changes = n_parts = 0;
    for (int i = 0; i < MOST_FILES; i++)
      if (names[i].text[0]) {
        names[i].file->reads = 0;
        names[i].file->synced = true;
      }
  } else if (sscanf(text, "short %zu", &n) == 1) faults.less = n;
  else if (sscanf(text, "slow %u", &ms) == 1) faults.delay_ms = ms;
  else if (sscanf(text, "full %zu", &n) == 1) {
    faults.full = true;
    faults.left = n;
  } else if (strncmp(text, "nolinks", 7) == 0) faults.no_links = true;
  else sscanf(text, "at %d %15s %255s", &faults.at, faults.change, faults.name);
}

/* ---- operations ---- */

static const char control[] = "/.control", verdict[] = "/.verdict";

static struct file *opened(struct fuse_file_info *info)
{
  return (struct file *)(uintptr_t)info->fh;
}

static void *begin(struct fuse_conn_info *connection, struct fuse_config *config)
{
  (void)connection;
  config->direct_io = 1; /* each read reaches us, and its result is not cached */
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  config->hard_remove = 1;
  return NULL;
}

static int do_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
  memset(st, 0, sizeof *st);
  st->st_uid = getuid();
  st->st_gid = getgid();
  if (strcmp(path, "/") == 0) {
    st->st_mode = S_IFDIR | 0755;
    st->st_nlink = 2;
    return 0;
  }
  if (strcmp(path, control) == 0 || strcmp(path, verdict) == 0) {
    st->st_mode = S_IFREG | 0644;
    st->st_nlink = 1;
    return 0;
  }
  pthread_mutex_lock(&lock);
  struct name *name = find(path);
  const struct file *file = info ? opened(info) : name ? name->file : NULL;
  if (file) {
    st->st_mode = S_IFREG | (file->mode & 07777);
    st->st_nlink = (nlink_t)file->names;
    st->st_size = (off_t)file->now.n;
    st->st_mtim = st->st_ctim = file->changed;
    st->st_ino = (ino_t)(uintptr_t)file;
  }
  pthread_mutex_unlock(&lock);
  return file ? 0 : -ENOENT;
}

static int do_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t offset,
                      struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
  (void)offset, (void)info, (void)flags;
  if (strcmp(path, "/") != 0) return -ENOTDIR;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_FILES; i++)
    if (names[i].text[0]) fill(to, names[i].text, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  return 0;
}

static int do_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
  struct file *file = calloc(1, sizeof *file);
  if (!file) return -ENOMEM;
  pthread_mutex_lock(&lock);
  bool there = add(path, file);
  file->mode = mode;
  file->opens = 1;
  change(file);
  if (there) judge();
  pthread_mutex_unlock(&lock);
  if (there) info->fh = (uintptr_t)file;
  else free(file);
  return there ? 0 : -ENOSPC;
}

static int do_open(const char *path, struct fuse_file_info *info)
{
  if (strcmp(path, control) == 0 || strcmp(path, verdict) == 0) return 0;
  pthread_mutex_lock(&lock);
  struct name *name = find(path);
  if (name) {
    name->file->opens++;
    info->fh = (uintptr_t)name->file;
  }
  pthread_mutex_unlock(&lock);
  return name ? 0 : -ENOENT;
}

static int do_release(const char *path, struct fuse_file_info *info)
{
  (void)path;
  if (!info->fh) return 0;
  pthread_mutex_lock(&lock);
  opened(info)->opens--;
  free_unused(opened(info));
  pthread_mutex_unlock(&lock);
  return 0;
}

static int read_verdict(char *to, size_t n, off_t at)
{
  char text[64];
  int length = snprintf(text, sizeof text, "%u %u\n", n_changes, n_parts);
  if (at >= length) return 0;
  if (n > (size_t)(length - at)) n = (size_t)(length - at);
  memcpy(to, text + at, n);
  return (int)n;
}

static int do_read(const char *path, char *to, size_t n, off_t at, struct fuse_file_info *info)
{
  if (path && strcmp(path, verdict) == 0) return read_verdict(to, n, at);
  if (!info->fh) return 0;
  wait_a_little();
  struct file *file = opened(info);
  pthread_mutex_lock(&lock);
  bool works = disturb(path ? find(path) : NULL, file);
  size_t there = (size_t)at < file->now.n ? file->now.n - (size_t)at : 0;
  if (n > there) n = there;
  if (faults.less) n = shorten(n, info->flags & O_DIRECT ? BLOCK : 1);
  if (n) memcpy(to, file->now.bytes + at, n);
  pthread_mutex_unlock(&lock);
  return works ? (int)n : -EIO;
}

static int do_write(const char *path, const char *from, size_t n, off_t at,
                    struct fuse_file_info *info)
{
  if (path && strcmp(path, control) == 0) {
    char text[NAME_ROOM + 32];
    snprintf(text, sizeof text, "%.*s", (int)n, from);
    pthread_mutex_lock(&lock);
    set_control(text);
    pthread_mutex_unlock(&lock);
    return (int)n;
  }
  if (!info->fh) return -EINVAL;
  wait_a_little();
  struct file *file = opened(info);
  pthread_mutex_lock(&lock);
  int done = (int)n;
  if (faults.full && n > faults.left) done = faults.left ? (int)faults.left : -ENOSPC;
  if (done > 0 && (size_t)at + (size_t)done > file->now.n &&
      !resize(&file->now, (size_t)at + (size_t)done))
    done = -ENOSPC;
  if (done > 0) {
    if (faults.full) faults.left -= (size_t)done;
    memcpy(file->now.bytes + at, from, (size_t)done);
    change(file);
    judge();
  }
  pthread_mutex_unlock(&lock);
  return done;
}

static int do_truncate(const char *path, off_t n, struct fuse_file_info *info)
{
  if (strcmp(path, control) == 0) return 0;
  pthread_mutex_lock(&lock);
  struct name *name = find(path);
  struct file *file = info && info->fh ? opened(info) : name ? name->file : NULL;
  int code = !file ? -ENOENT : resize(&file->now, (size_t)n) ? 0 : -ENOSPC;
  if (code == 0) {
    change(file);
    judge();
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static int do_fsync(const char *path, int data, struct fuse_file_info *info)
{
  (void)path, (void)data;
  if (!info->fh) return 0;
  pthread_mutex_lock(&lock);
  opened(info)->synced = true;
  pthread_mutex_unlock(&lock);
  return 0;
}

static int do_unlink(const char *path)
{
  pthread_mutex_lock(&lock);
  struct name *name = find(path);
  if (name) {
    remove_name(name);
    judge();
  }
  pthread_mutex_unlock(&lock);
  return name ? 0 : -ENOENT;
}

static int do_rename(const char *from, const char *to, unsigned flags)
{
  pthread_mutex_lock(&lock);
  struct name *name = find(from), *other = find(to);
  int code = !name ? -ENOENT : flags & 1 && other ? -EEXIST : flags & ~1u ? -EINVAL : 0;
  if (code == 0) {
    if (other && other != name) remove_name(other);
    snprintf(name->text, NAME_ROOM, "%s", to + 1);
    judge();
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static int do_link(const char *from, const char *to)
{
  pthread_mutex_lock(&lock);
  struct name *name = find(from);
  int code = !name                 ? -ENOENT
             : faults.no_links       ? -EPERM
             : find(to)            ? -EEXIST
             : add(to, name->file) ? 0
                                   : -ENOSPC;
  if (code == 0) judge();
  pthread_mutex_unlock(&lock);
  return code;
}

static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
  pthread_mutex_lock(&lock);
  struct name *name = find(path);
  struct file *file = info && info->fh ? opened(info) : name ? name->file : NULL;
  if (file) file->mode = mode;
  pthread_mutex_unlock(&lock);
  return file ? 0 : -ENOENT;
}

static int do_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
  (void)path, (void)times, (void)info;
  return 0;
}

int main(int argc, char **argv)
{
  static const struct fuse_operations operations = {.init = begin,
                                                    .getattr = do_getattr,
                                                    .readdir = do_readdir,
                                                    .create = do_create,
                                                    .open = do_open,
                                                    .release = do_release,
                                                    .read = do_read,
                                                    .write = do_write,
                                                    .truncate = do_truncate,
                                                    .fsync = do_fsync,
                                                    .unlink = do_unlink,
                                                    .rename = do_rename,
                                                    .link = do_link,
                                                    .chmod = do_chmod,
                                                    .utimens = do_utimens};
  if (argc != 2) return 2;
  return fuse_main(3, ((char *[]){argv[0], (char *)"-f", argv[1], NULL}), &operations, NULL);
}
