/* Finds this process's cgroups, their memory limit and their pressure file. Called by
 * runner/os/budget.c, headroom.c and pressure.c, and by `mafat doctor`. Reads /proc and /sys
 * through the stack; caches the mounts of this system once per process. */
#include "runner/os/groups.h"

#include "runner/os/lines.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool mafat_groups_number(const char *root, const char *path, const char *key, uint64_t *value)
{
  struct mafat_lines l;
  bool found = false;
  size_t n = strlen(key);
  if (!mafat_lines_open(&l, root, path)) return false;
  while (mafat_lines_next(&l)) {
    const char *at = l.line + n;
    if (found || strncmp(l.line, key, n) != 0) continue;
    while (*at == ' ' || *at == '\t') at++;
    if (*at < '0' || *at > '9') continue;
    *value = strtoull(at, NULL, 10);
    found = true;
  }
  return found;
}

/* ---- cgroups ---- */

/* A cgroup hierarchy, and this process's path in it. */
struct hierarchy {
  bool v2;
  char path[MAFAT_PATH_ROOM];
};

/* A mount of a hierarchy that counts memory, from /proc/self/mountinfo. */
struct mount {
  bool v2;
  char root[MAFAT_PATH_ROOM];  /* cgroup that is mounted */
  char point[MAFAT_PATH_ROOM];
};

static bool has_word(const char *list, const char *word)
{
  size_t n = strlen(word);
  for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
    if (strncmp(at, word, n) == 0 && (at[n] == '\0' || at[n] == ',')) return true;
  return false;
}

/* Parses "4:cpu,memory:/a/b", or "0::/a/b" for v2. */
static bool read_group(struct hierarchy *h, char *line)
{
  char *controllers = strchr(line, ':');
  char *path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path) return false;
  *path++ = '\0';
  h->v2 = *++controllers == '\0';
  return (h->v2 || has_word(controllers, "memory")) &&
         snprintf(h->path, sizeof h->path, "%s", path) < MAFAT_PATH_ROOM;
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

/* Parses "36 35 0:31 ROOT POINT rw,noatime master:1 - cgroup cgroup rw,memory". */
static bool read_mount(struct mount *m, char *line)
{
  char *fields[5], *rest = line, *field;
  for (int i = 0; i < 5; i++)
    if (!(fields[i] = next_field(&rest))) return false;
  while ((field = next_field(&rest)) && strcmp(field, "-") != 0) {}
  const char *type = next_field(&rest), *source = next_field(&rest);
  m->v2 = source && strcmp(type, "cgroup2") == 0;
  if (!m->v2 && !(source && strcmp(type, "cgroup") == 0 && rest && has_word(rest, "memory")))
    return false;
  return unescape(m->root, fields[3]) && unescape(m->point, fields[4]);
}

/* ---- mounts ---- */

enum { UNREAD, BEING_READ, READ, TOO_LONG };

/* Mounts of this system, read once per process. */
static struct {
  atomic_int state;
  size_t bytes;
  char texts[1 << 10]; /* per mount: version as '1' or '2', root, NUL, point, NUL */
} known;

/* Iterator over mounts. */
struct mounts {
  bool is_known;
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
  *to = m->v2 ? '2' : '1';
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

/* Returns false if the mounts cannot be read. */
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
  m->v2 = *at++ == '2';
  size_t root = strlen(at) + 1, point = strlen(at + root) + 1;
  memcpy(m->root, at, root);
  memcpy(m->point, at + root, point);
  all->next += 1 + root + point;
  return true;
}

/* ---- limits ---- */

/* True if the path leaves the visible cgroup namespace, so that it has no name. */
static bool leads_out(const char *path)
{
  return strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0');
}

/* Returns the path relative to the mounted cgroup; NULL if it is not below it. */
static const char *below(const char *path, const char *root)
{
  size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
  if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0')) return NULL;
  return leads_out(path + n) ? NULL : path + n;
}

static bool read_number(const char *root, const char *point, const char *path, int length,
                        const char *file, const char *key, uint64_t *value)
{
  char name[MAFAT_PATH_ROOM];
  int n = snprintf(name, sizeof name, "%s%.*s/%s", point, length, path, file);
  return n > 0 && (size_t)n < sizeof name && mafat_groups_number(root, name, key, value);
}

/* Lowers the limit in *least. Of cgroups with the same limit, the outermost wins: it is charged
 * most. */
static void take_limit(const char *root, const char *point, const char *path, int length,
                       const char *file, const char *key, struct mafat_limited_group *least)
{
  uint64_t limit;
  if (!read_number(root, point, path, length, file, key, &limit) || limit > least->limit) return;
  least->limit = limit;
  int n = snprintf(least->folder, sizeof least->folder, "%s%.*s", point, length, path);
  if (n < 0 || (size_t)n >= sizeof least->folder) least->folder[0] = '\0';
}

/* True if a v1 cgroup counts its descendants' memory. Old kernels make this optional. */
static bool counts_descendants(const char *root, const char *point, const char *path, int length)
{
  uint64_t hierarchical;
  return !read_number(root, point, path, length, "memory.use_hierarchy", "", &hierarchical) ||
         hierarchical != 0;
}

/* Finds the least limit of cgroup `path` and its mounted ancestors. */
static void take_limits(const char *root, const char *point, const char *path, bool v2,
                        struct mafat_limited_group *least)
{
  int whole = (int)strlen(path), length = whole;
  if (strcmp(point, "/") == 0) point = "";
  while (length > 0 && path[length - 1] == '/') length--;
  /* The kernel's own figure includes ancestors beyond the mount. */
  if (!v2)
    take_limit(root, point, path, length, "memory.stat", "hierarchical_memory_limit ", least);
  for (bool own = true;; own = false) {
    if (v2) take_limit(root, point, path, length, "memory.max", "", least);
    else if (own || counts_descendants(root, point, path, length))
      take_limit(root, point, path, length, "memory.limit_in_bytes", "", least);
    if (length == 0) return;
    while (length > 0 && path[length - 1] != '/') length--;
    if (length > 0) length--;
  }
}

/* Applies the limits of a hierarchy's mounts: of those that contain the process's cgroup or, with
 * `any`, of every mount. True if there was such a mount. */
static bool ask_mounts(const char *root, const struct hierarchy *h, bool any,
                       struct mafat_limited_group *least)
{
  struct mounts all;
  struct mount m;
  bool asked = false;
  if (!open_mounts(&all, root)) return false;
  while (next_mount(&all, &m)) {
    if (m.v2 != h->v2) continue;
    const char *path = any ? "" : below(h->path, m.root);
    if (!path) continue;
    take_limits(root, m.point, path, h->v2, least);
    asked = true;
  }
  return asked;
}

/* In a container, its own cgroup may be mounted under another name than the process sees: then
 * every mount counts. If mounts cannot be read, tries the usual folders. */
static void ask_hierarchy(const char *root, const struct hierarchy *h,
                          struct mafat_limited_group *least)
{
  if (ask_mounts(root, h, false, least) || ask_mounts(root, h, true, least)) return;
  const char *path = leads_out(h->path) ? "" : h->path;
  if (h->v2) {
    take_limits(root, "/sys/fs/cgroup", path, true, least);
    take_limits(root, "/sys/fs/cgroup/unified", path, true, least);
  } else {
    take_limits(root, "/sys/fs/cgroup/memory", path, false, least);
  }
}

void mafat_groups_find_limit(struct mafat_limited_group *least, const char *root)
{
  struct mafat_lines l;
  struct hierarchy h;
  *least = (struct mafat_limited_group){.limit = UINT64_MAX};
  if (!mafat_lines_open(&l, root, "/proc/self/cgroup")) return;
  while (mafat_lines_next(&l)) {
    if (!read_group(&h, l.line)) continue;
    uint64_t before = least->limit;
    ask_hierarchy(root, &h, least);
    if (least->limit < before) least->v2 = h.v2;
  }
}

/* ---- pressure ---- */

/* The hierarchy's root is no cgroup: it has no type file, and its pressure is the whole
 * system's. */
static bool is_group(const char *folder)
{
  char name[MAFAT_PATH_ROOM];
  int n = snprintf(name, sizeof name, "%s/cgroup.type", folder);
  int fd = n > 0 && (size_t)n < sizeof name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static bool find_folder(const char *root, const struct hierarchy *h, char folder[MAFAT_PATH_ROOM])
{
  struct mounts all;
  struct mount m;
  bool found = false;
  if (!open_mounts(&all, root)) return false;
  while (next_mount(&all, &m)) {
    const char *path = m.v2 ? below(h->path, m.root) : NULL;
    if (found || !path) continue;
    int n = snprintf(folder, MAFAT_PATH_ROOM, "%s%s%s", root, m.point,
                     strcmp(path, "/") == 0 ? "" : path);
    found = n > 0 && n < MAFAT_PATH_ROOM && is_group(folder);
  }
  return found;
}

int mafat_groups_open_pressure(const char *root)
{
  struct mafat_lines l;
  struct hierarchy h;
  char folder[MAFAT_PATH_ROOM], path[MAFAT_PATH_ROOM];
  bool found = false;
  if (!mafat_lines_open(&l, root, "/proc/self/cgroup")) return -1;
  while (mafat_lines_next(&l))
    if (!found && read_group(&h, l.line) && h.v2) found = find_folder(root, &h, folder);
  int n = found ? snprintf(path, MAFAT_PATH_ROOM, "%s/memory.pressure", folder) : -1;
  return n > 0 && n < MAFAT_PATH_ROOM ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}
