/* Finds this process's cgroups, their free memory, processor quota and pressure file. Called by
 * api/choose.c, runner/calibrate/calibrate.c, programs/mafat/doctor.c, and runner/os (budget.c,
 * headroom.c, pressure.c). Reads /proc and /sys; allocates nothing. Static variables
 * keep the mounts of this system, and when no cgroup had a limit. */
#include "runner/os/groups.h"

#include "base/part.h"
#include "runner/os/lines.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

/* Parses a line that begins with `key`, blanks if any, and a number. */
static bool parse_number(const char *line, const char *key, uint64_t *value)
{
  size_t n = strlen(key);
  const char *at = line + n;
  if (strncmp(line, key, n) != 0) return false;
  while (*at == ' ' || *at == '\t') at++;
  if (*at < '0' || *at > '9') return false;
  *value = strtoull(at, NULL, 10);
  return true;
}

bool mafat_groups_number(const char *root, const char *path, const char *key, uint64_t *value)
{
  struct mafat_lines l;
  bool found = false;
  if (!mafat_lines_open(&l, root, path)) return false;
  while (mafat_lines_next(&l))
    if (!found) found = parse_number(l.line, key, value);
  return found;
}

void mafat_groups_find_memory(struct mafat_machine_memory *m, const char *root)
{
  struct sysinfo s;
  struct mafat_lines l;
  bool opened = mafat_lines_open(&l, root, "/proc/meminfo");
  *m = (struct mafat_machine_memory){0, 0};
  while (opened && mafat_lines_next(&l))
    if (!parse_number(l.line, "MemTotal:", &m->total_kb))
      parse_number(l.line, "MemAvailable:", &m->available_kb);
  if (m->total_kb || sysinfo(&s) != 0) return;
  m->total_kb = (uint64_t)s.totalram * s.mem_unit >> 10;
  m->available_kb = ((uint64_t)s.freeram + s.bufferram) * s.mem_unit >> 10;
}

/* ---- cgroups ---- */

/* Kinds of cgroup hierarchies. A v1 hierarchy may have several controllers, and then is of several
 * kinds. */
enum { V2 = 1, V1_MEMORY = 2, V1_CPU = 4 };

/* A cgroup hierarchy, and the path of this process's cgroup in it. */
struct hierarchy {
  int kinds;
  char path[MAFAT_PATH_ROOM];
};

/* A mount of a hierarchy, from /proc/self/mountinfo. */
struct mount {
  int kinds;
  char root[MAFAT_PATH_ROOM];  /* path of the cgroup that is mounted */
  char point[MAFAT_PATH_ROOM]; /* folder where it is mounted */
};

static bool has_word(const char *list, const char *word)
{
  size_t n = strlen(word);
  for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
    if (strncmp(at, word, n) == 0 && (at[n] == '\0' || at[n] == ',')) return true;
  return false;
}

static int v1_kinds(const char *controllers)
{
  return (has_word(controllers, "memory") ? V1_MEMORY : 0) |
         (has_word(controllers, "cpu") ? V1_CPU : 0);
}

/* Parses a line of /proc/self/cgroup, such as "4:cpu,memory:/a/b", or "0::/a/b" for v2. False: it
 * is of no kind that we need. */
static bool read_group(struct hierarchy *h, char *line)
{
  char *controllers = strchr(line, ':');
  char *path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path) return false;
  *path++ = '\0';
  h->kinds = *++controllers == '\0' ? V2 : v1_kinds(controllers);
  return h->kinds && snprintf(h->path, sizeof h->path, "%s", path) < MAFAT_PATH_ROOM;
}

/* Decodes octal escapes of mountinfo paths, such as \040 for a space. */
static bool unescape(char *to, const char *from)
{
  size_t n = 0;
  while (*from) {
    if (n == MAFAT_PATH_ROOM - 1) return false;
    bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                 from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
    to[n++] = octal ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0') : *from;
    from += octal ? 4 : 1;
  }
  to[n] = '\0';
  return true;
}

/* Returns the next field of a line separated by spaces; NULL after the last. */
static char *next_field(char **rest)
{
  char *field = *rest, *end = field ? strchr(field, ' ') : NULL;
  if (end) *end++ = '\0';
  *rest = end;
  return field;
}

/* Parses a line of mountinfo, such as
 * "36 35 0:31 ROOT POINT rw,noatime master:1 - cgroup cgroup rw,memory". False: it is no mount of a
 * hierarchy that we need. */
static bool read_mount(struct mount *m, char *line)
{
  char *fields[5], *rest = line, *field;
  for (int i = 0; i < 5; i++)
    if (!(fields[i] = next_field(&rest))) return false;
  while ((field = next_field(&rest)) && strcmp(field, "-") != 0) {}
  const char *type = next_field(&rest), *source = next_field(&rest);
  m->kinds = !source                                  ? 0
             : strcmp(type, "cgroup2") == 0           ? V2
             : strcmp(type, "cgroup") == 0 && rest ? v1_kinds(rest)
                                                      : 0;
  return m->kinds && unescape(m->root, fields[3]) && unescape(m->point, fields[4]);
}

/* ---- mounts ---- */

enum { UNREAD, BEING_READ, READ, TOO_LONG };

/* Mounts of this system, read once in a process. */
static struct {
  atomic_int state;
  size_t bytes;        /* bytes used in texts; SIZE_MAX: the mounts do not fit */
  char texts[1 << 10]; /* for each mount: kinds (a byte), root, NUL, point, NUL */
} known;

/* Iterator over mounts. */
struct mounts {
  bool is_known;        /* iterates over known.texts, else over /proc/self/mountinfo */
  size_t next;          /* offset in known.texts */
  struct mafat_lines l; /* open if the mounts are not cached */
};

static void keep(const struct mount *m)
{
  size_t root = strlen(m->root) + 1, point = strlen(m->point) + 1,
         left = sizeof known.texts - known.bytes;
  if (1 + root + point > left) {
    known.bytes = SIZE_MAX;
    return;
  }
  char *to = known.texts + known.bytes;
  *to = (char)m->kinds;
  memcpy(to + 1, m->root, root);
  memcpy(to + 1 + root, m->point, point);
  known.bytes += 1 + root + point;
}

static void read_known(struct mafat_lines *l)
{
  struct mount m;
  bool opened = mafat_lines_open(l, "", "/proc/self/mountinfo");
  while (opened && mafat_lines_next(l))
    if (known.bytes != SIZE_MAX && read_mount(&m, l->line)) keep(&m);
  known.state = known.bytes == SIZE_MAX ? TOO_LONG : opened ? READ : UNREAD;
}

/* Starts iterating. False: the mounts cannot be read. */
static bool open_mounts(struct mounts *all, const char *root)
{
  int unread = UNREAD;
  if (!*root && atomic_compare_exchange_strong(&known.state, &unread, BEING_READ))
    read_known(&all->l);
  all->is_known = !*root && known.state == READ;
  all->next = 0;
  return all->is_known || mafat_lines_open(&all->l, root, "/proc/self/mountinfo");
}

static bool next_mount(struct mounts *all, struct mount *m)
{
  while (!all->is_known && mafat_lines_next(&all->l))
    if (read_mount(m, all->l.line)) return true;
  if (!all->is_known || all->next >= known.bytes) return false;
  const char *at = known.texts + all->next;
  m->kinds = *at++;
  size_t root = strlen(at) + 1, point = strlen(at + root) + 1;
  memcpy(m->root, at, root);
  memcpy(m->point, at + root, point);
  all->next += 1 + root + point;
  return true;
}

/* ---- levels ---- */

/* The process's own cgroup, or one of its visible ancestors. Its folder is root, then point, then
 * the first `length` bytes of path. */
struct level {
  const char *root, *point, *path;
  int length, whole;               /* whole: value of `length` at the process's own cgroup */
  bool v2;
};

/* A search of hierarchies of some kinds: calls `take` for each level, from the process's own cgroup
 * outwards. */
struct search {
  int kinds;
  const char *v1_folder; /* usual folder of the v1 hierarchy, if mounts cannot be read */
  void (*take)(const struct level *l, void *found);
  void *found;           /* passed to `take` */
};

/* True if the cgroup is outside of the visible cgroup namespace, so that it has no path here. */
static bool leads_out(const char *path)
{
  return strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0');
}

/* Returns the path relative to cgroup `root`, which is mounted. NULL: the path is not below it. */
static const char *below(const char *path, const char *root)
{
  size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
  if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0')) return NULL;
  return leads_out(path + n) ? NULL : path + n;
}

/* Writes the path of a level's file or, if `file` is "", of its folder. False: it is too long. */
static bool name_file(char path[MAFAT_PATH_ROOM], const struct level *l, const char *file)
{
  int n = snprintf(path, MAFAT_PATH_ROOM, "%s%s%.*s%s%s", l->root, l->point, l->length, l->path,
                   *file ? "/" : "", file);
  return n > 0 && n < MAFAT_PATH_ROOM;
}

static bool read_number(const struct level *l, const char *file, const char *key, uint64_t *value)
{
  char path[MAFAT_PATH_ROOM];
  return name_file(path, l, file) && mafat_groups_number("", path, key, value);
}

/* Opens a file of a level. -1: it cannot be opened. */
static int open_file(const struct level *l, const char *file)
{
  char path[MAFAT_PATH_ROOM];
  return name_file(path, l, file) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* Reads a short file of a level. False: it cannot be opened. */
static bool read_text(const struct level *l, const char *file, char *text, size_t capacity)
{
  int fd = open_file(l, file);
  if (fd < 0) return false;
  mafat_lines_read(fd, text, capacity);
  close(fd);
  return true;
}

/* Calls s->take for cgroup `path` and its ancestors, up to the cgroup that is mounted at
 * `point`. */
static void visit(const struct search *s, const char *root, const char *point, const char *path,
                  bool v2)
{
  struct level l = {root, strcmp(point, "/") == 0 ? "" : point, path, (int)strlen(path), 0, v2};
  while (l.length > 0 && path[l.length - 1] == '/') l.length--;
  for (l.whole = l.length;;) {
    s->take(&l, s->found);
    if (l.length == 0) return;
    while (l.length > 0 && path[l.length - 1] != '/') l.length--;
    if (l.length > 0) l.length--;
  }
}

/* Calls s->take for the levels in each mount of a hierarchy that contains the process's cgroup.
 * any: calls it for the mounted cgroup itself, in every mount of the hierarchy. False: there is no
 * such mount. */
static bool visit_mounts(const struct search *s, const char *root, const struct hierarchy *h,
                         bool any)
{
  struct mounts all;
  struct mount m;
  bool visited = false;
  if (!open_mounts(&all, root)) return false;
  while (next_mount(&all, &m)) {
    if (!(m.kinds & h->kinds & s->kinds)) continue;
    const char *path = any ? "" : below(h->path, m.root);
    if (!path) continue;
    visit(s, root, m.point, path, m.kinds == V2);
    visited = true;
  }
  return visited;
}

/* In a container, the container's cgroup may be mounted, although /proc/self/cgroup names a path
 * that is not below it. Then visits the mounted cgroup of every mount of the hierarchy. If mounts
 * cannot be read, tries the usual folders. */
static void visit_hierarchy(const struct search *s, const char *root, const struct hierarchy *h)
{
  if (visit_mounts(s, root, h, false) || visit_mounts(s, root, h, true)) return;
  const char *path = leads_out(h->path) ? "" : h->path;
  if (h->kinds & V2) {
    visit(s, root, "/sys/fs/cgroup", path, true);
    visit(s, root, "/sys/fs/cgroup/unified", path, true);
  }
  if (h->kinds & s->kinds & ~V2) visit(s, root, s->v1_folder, path, false);
}

static void visit_all(const struct search *s, const char *root)
{
  struct mafat_lines l;
  struct hierarchy h;
  if (mafat_lines_open(&l, root, "/proc/self/cgroup")) {
    while (mafat_lines_next(&l))
      if (read_group(&h, l.line) && h.kinds & s->kinds) visit_hierarchy(s, root, &h);
  } else { /* without /proc, assumes that the mounted cgroups are the process's own */
    h = (struct hierarchy){.kinds = V2 | V1_MEMORY | V1_CPU};
    visit_hierarchy(s, root, &h);
  }
}

/* ---- memory ---- */

/* Bytes charged to a cgroup and its descendants. */
struct charged {
  uint64_t all;
  /* FILES: pages of files, which the kernel can drop; MAPPED: those of them that are mapped;
   * UNEVICTABLE to KERNEL: memory that the kernel cannot drop */
  enum { FILES, MAPPED, UNEVICTABLE, SHARED, ANONYMOUS, KERNEL, N_PARTS } part;
  uint64_t of[N_PARTS]; /* [part] */
  unsigned known; /* bits 1 << part: the kernel reports this part */
};

/* Adds a line of memory.stat. v1 reports the cgroup's own numbers, and then totals that include its
 * descendants; only the totals are used. Some names differ between v1 and v2. */
static void add_stat(struct charged *c, const char *line, bool v2)
{
  static const struct { char part, key[15]; } rows[] = {
      {FILES, "inactive_file "}, {FILES, "active_file "}, {MAPPED, "mapped_file "},
      {MAPPED, "file_mapped "},  {SHARED, "shmem "},      {UNEVICTABLE, "unevictable "},
      {ANONYMOUS, "rss "},       {ANONYMOUS, "anon "},    {KERNEL, "kernel "}};
  static const char total[] = "total_";
  const size_t before = v2 ? 0 : sizeof total - 1;
  if (strncmp(line, total, before) != 0) return;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t n = before + strlen(rows[i].key);
    if (strncmp(line + before, rows[i].key, n - before) != 0) continue;
    c->of[(int)rows[i].part] += strtoull(line + n, NULL, 10);
    c->known |= 1u << rows[i].part;
  }
}

static bool read_charged(struct charged *c, const struct level *l)
{
  struct mafat_lines stat;
  char path[MAFAT_PATH_ROOM];
  *c = (struct charged){0};
  if (!read_number(l, l->v2 ? "memory.current" : "memory.usage_in_bytes", "", &c->all))
    return false;
  if (!l->v2 && read_number(l, "memory.kmem.usage_in_bytes", "", &c->of[KERNEL]))
    c->known |= 1u << KERNEL;
  if (name_file(path, l, "memory.stat") && mafat_lines_open(&stat, "", path))
    while (mafat_lines_next(&stat)) add_stat(c, stat.line, l->v2);
  return true;
}

/* Returns the bytes that the kernel cannot drop. c->all includes pages that each processor has
 * charged in advance. The sum of the parts does not, but it is updated late. The smaller number is
 * nearer to the truth. */
static uint64_t held_bytes(const struct charged *c)
{
  const unsigned needed = 1u << SHARED | 1u << ANONYMOUS | 1u << KERNEL;
  uint64_t held = c->all > c->of[FILES] ? c->all - c->of[FILES] : 0, sum = 0;
  for (int i = UNEVICTABLE; i < N_PARTS; i++) sum += c->of[i];
  return (c->known & needed) == needed && sum < held ? sum : held;
}

/* True if no process of cgroup l is outside the part that is already counted. own: l is this
 * process's own cgroup, and no other process may be in it. Else l is an ancestor, and all its
 * processes must be in the one child that contains this process. */
static bool contains_only(const struct level *l, bool own)
{
  char text[32], expected[32] = "", folder[MAFAT_PATH_ROOM];
  struct stat st;
  if (own) snprintf(expected, sizeof expected, "%d\n", (int)getpid());
  return read_text(l, "cgroup.procs", text, sizeof text) && strcmp(text, expected) == 0 &&
         name_file(folder, l, "") && stat(folder, &st) == 0 &&
         st.st_nlink == (own ? 2 : 3); /* a folder has two links, and one for each child */
}

/* State of the search for the cgroup with the least free memory. */
struct least {
  struct mafat_limited_group *group; /* the cgroup found so far */
  uint64_t machine_bytes; /* memory of the machine; limits of at least as much do not count */
  bool alone;             /* no other process is in the levels visited so far (contains_only) */
};

/* Returns the bytes at a level that belong to other processes and that the kernel cannot drop. */
static uint64_t others_bytes(const struct level *l, const struct charged *c, bool alone)
{
  uint64_t own_kb = 0, held = alone ? c->of[SHARED] : held_bytes(c);
  if (!alone && !mafat_groups_number(l->root, "/proc/self/smaps_rollup", "Anonymous:", &own_kb))
    mafat_groups_number(l->root, "/proc/self/status", "RssAnon:", &own_kb);
  held = held > own_kb << 10 ? held - (own_kb << 10) : 0;
  return held > MAFAT_GROUPS_UNCOUNTED ? held : 0;
}

/* Takes a level's limit, the number after `key` in `file`, if the level has at most as much free
 * memory as the cgroup found so far. Among cgroups with the same free memory, the outermost is
 * taken, because it is charged most. */
static void take_limit(const struct level *l, const char *file, const char *key,
                       const struct least *least)
{
  struct mafat_limited_group *g = least->group, new = {.v2 = l->v2};
  char path[MAFAT_PATH_ROOM];
  struct charged c;
  if (!read_number(l, file, key, &new.limit) || new.limit >= least->machine_bytes) return;
  if (read_charged(&c, l)) new.others = others_bytes(l, &c, least->alone);
  if (new.others > new.limit) new.others = new.limit;
  if (new.limit - new.others > g->limit - g->others) return;
  new.throttles = strcmp(file, "memory.high") == 0;
  new.droppable = c.of[FILES] > c.of[MAPPED] ? c.of[FILES] - c.of[MAPPED] : 0;
  if (name_file(path, l, "")) strcpy(new.folder, path + strlen(l->root));
  *g = new;
}

/* True if a v1 cgroup counts its descendants' memory, which is optional in old kernels. */
static bool counts_descendants(const struct level *l)
{
  uint64_t hierarchical;
  return !read_number(l, "memory.use_hierarchy", "", &hierarchical) || hierarchical != 0;
}

static void take_memory(const struct level *l, void *found)
{
  struct least *least = found;
  bool own = l->length == l->whole;
  least->alone = (own || least->alone) && contains_only(l, own);
  if (l->v2) {
    take_limit(l, "memory.high", "", least);
    take_limit(l, "memory.max", "", least);
    return;
  }
  /* the limit that the kernel computes includes ancestors that are not visible here */
  if (own) take_limit(l, "memory.stat", "hierarchical_memory_limit ", least);
  if (own || counts_descendants(l)) take_limit(l, "memory.limit_in_bytes", "", least);
}

/* Time in ms, modulo 2^32 and odd, when this process last found that no cgroup has a limit; 0:
 * never, or a limit was found after that. */
static atomic_uint unlimited_ms;

static unsigned odd_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return ((unsigned)t.tv_sec * 1000 + (unsigned)(t.tv_nsec / 1000000)) | 1;
}

void mafat_groups_find_limit(struct mafat_limited_group *group, const char *root)
{
  enum { VALID_MS = 100 }; /* opening a model looks for limits six times */
  struct mafat_machine_memory machine;
  unsigned now = odd_ms(), before = *root ? 0 : unlimited_ms;
  *group = (struct mafat_limited_group){.limit = UINT64_MAX};
  if (before && now - before < VALID_MS) return;
  mafat_groups_find_memory(&machine, root);
  struct least least = {group, machine.total_kb ? machine.total_kb << 10 : (uint64_t)1 << 60,
                        false};
  const struct search search = {V2 | V1_MEMORY, "/sys/fs/cgroup/memory", take_memory, &least};
  visit_all(&search, root);
  if (!*root) unlimited_ms = group->limit == UINT64_MAX ? now : 0;
}

/* ---- processors ---- */

/* *found is the least quota so far, in thousandths of a processor; lowers it to a level's quota. */
MAFAT_PART(opening) static void take_quota(const struct level *l, void *found)
{
  uint64_t *least = found, quota_us = 0, period_us = 0;
  char text[64], *end; /* "50000 100000", "max 100000" */
  if (l->v2 && read_text(l, "cpu.max", text, sizeof text)) {
    quota_us = strtoull(text, &end, 10);
    period_us = strtoull(end, NULL, 10);
  } else if (!l->v2) {
    read_number(l, "cpu.cfs_quota_us", "", &quota_us); /* the file has -1 if there is no quota */
    read_number(l, "cpu.cfs_period_us", "", &period_us);
  }
  uint64_t thousandths = period_us ? quota_us * 1000 / period_us : 0;
  if (quota_us && period_us && thousandths < *least) *least = thousandths;
}

MAFAT_PART(opening) uint64_t mafat_groups_quota(const char *root)
{
  uint64_t least = UINT64_MAX;
  const struct search search = {V2 | V1_CPU, "/sys/fs/cgroup/cpu", take_quota, &least};
  visit_all(&search, root);
  return least;
}

MAFAT_PART(opening) int mafat_groups_processors(int allowed, const char *root)
{
  uint64_t whole = mafat_groups_quota(root) / 1000;
  int n = whole < (uint64_t)allowed ? (int)whole : allowed;
  return n < 1 ? 1 : n;
}

/* ---- pressure ---- */

/* Opens memory.pressure of the process's own cgroup. Ignores the root of the hierarchy, which has
 * no cgroup.type, because its pressure is that of the whole system. */
static void take_pressure(const struct level *l, void *found)
{
  int *fd = found, type = *fd < 0 && l->length == l->whole ? open_file(l, "cgroup.type") : -1;
  if (type < 0) return;
  close(type);
  *fd = open_file(l, "memory.pressure");
}

int mafat_groups_open_pressure(const char *root)
{
  int fd = -1;
  const struct search search = {V2, "", take_pressure, &fd};
  visit_all(&search, root);
  return fd;
}
