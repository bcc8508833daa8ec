/* Makes, limits, joins, kills and removes a cgroup. Called by memory_limit.c, watch.c and guard.c.
 * Reads and writes cgroup files, directly or through libcgroup; kills processes and sets the
 * affinity of a process. */
#include "programs/memory_limit/group.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libcgroup.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDING = 65536, REMOVE_TRIES = 400, REMOVE_PAUSE_NS = 25000000 };
#define PREFIX "mafat-"

/* ---- values, through libcgroup ---- */

/* Writes a value into a group's file. Returns 0 or an error code of libcgroup. */
static int set_value(const struct limit_group *g, const char *controller, const char *file,
                     const char *value)
{
  struct cgroup *cgroup = cgroup_new_cgroup(g->name);
  struct cgroup_controller *c = cgroup ? cgroup_add_controller(cgroup, controller) : NULL;
  int error = c ? cgroup_add_value_string(c, file, value) : ECGFAIL;
  if (error == 0) error = cgroup_modify_cgroup(cgroup);
  if (cgroup) cgroup_free(&cgroup);
  return error;
}

static bool get_value(const struct limit_group *g, const char *controller, const char *file,
                      char *text, int capacity)
{
  void *handle = NULL;
  char name[64];
  snprintf(name, sizeof name, "%s", file);
  int error = cgroup_read_value_begin(controller, g->name, name, &handle, text, capacity);
  if (handle) cgroup_read_value_end(&handle);
  if (error) return false;
  text[strcspn(text, "\n")] = '\0';
  return true;
}

/* Reads a limit in bytes; NO_LIMIT for "max" (v2) and for the largest value (v1). */
static bool get_bytes(const struct limit_group *g, const char *file, int64_t *bytes)
{
  char text[64];
  if (!get_value(g, "memory", file, text, sizeof text)) return false;
  uint64_t value = strtoull(text, NULL, 10);
  *bytes = strcmp(text, "max") == 0 || value >= (uint64_t)INT64_MAX / 4096 * 4096 ? NO_LIMIT
                                                                                  : (int64_t)value;
  return isdigit((unsigned char)*text) || *bytes == NO_LIMIT;
}

/* Sets a limit and reads it back into *kept: the kernel rounds it to pages or may ignore it. */
static bool set_bytes(const struct limit_group *g, const char *file, int64_t bytes, int64_t *kept,
                      struct why *why)
{
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, bytes);
  int error = set_value(g, "memory", file, text);
  if (error)
    return why_not(why, "%s/%s does not take %s: %s", g->folder, file, text,
                   cgroup_strerror(error));
  if (!get_bytes(g, file, kept)) return why_not(why, "%s/%s cannot be read back", g->folder, file);
  if (*kept == 0 && bytes > 0)
    return why_not(why, "%s/%s: %s bytes are less than a page", g->folder, file, text);
  if (*kept > bytes || bytes - *kept >= ROUNDING)
    return why_not(why, "%s/%s was set to %" PRId64 " and is %" PRId64, g->folder, file, bytes,
                   *kept);
  return true;
}

/* ---- making ---- */

bool group_name(struct limit_group *g, const struct limit_place *p, pid_t pid, bool cpuset,
                struct why *why)
{
  char name[64];
  *g = (struct limit_group){.place = p, .limit_bytes = NO_LIMIT, .swap_bytes = NO_LIMIT};
  snprintf(name, sizeof name, PREFIX "%d", (int)pid);
  if (!path_join(g->folder, p->mount, p->parent, name) ||
      (*p->parent && !path_join(g->name, p->parent, name, "")))
    return why_not(why, "%s/%s: too long", p->mount, p->parent);
  if (!*p->parent) strcpy(g->name, name);
  if (cpuset && p->version == 2) strcpy(g->cpuset_folder, g->folder);
  if (cpuset && p->version == 1 && *p->cpuset_mount)
    path_join(g->cpuset_folder, p->cpuset_mount, p->parent, name);
  return true;
}

bool group_is_free(struct limit_group *g, struct why *why)
{
  if (strcmp(g->folder, g->cpuset_folder) != 0 && access(g->cpuset_folder, F_OK) == 0)
    g->cpuset_folder[0] = '\0';
  if (access(g->folder, F_OK) != 0) return true;
  why_not(why, "%s is there already, and not ours: another container's?", g->folder);
  g->folder[0] = g->cpuset_folder[0] = '\0';
  return false;
}

static bool make_folder(const struct limit_group *g, struct why *why)
{
  if (g->place->version == 2) { /* by hand: see place.c */
    if (mkdir(g->folder, 0755) == 0) return true;
    return why_not(why, "%s cannot be made: %s", g->folder, strerror(errno));
  }
  struct cgroup *cgroup = cgroup_new_cgroup(g->name);
  int error =
      cgroup && cgroup_add_controller(cgroup, "memory") ? cgroup_create_cgroup(cgroup, 1) : ECGFAIL;
  if (cgroup) cgroup_free(&cgroup);
  return !error || why_not(why, "%s cannot be made: %s", g->folder, cgroup_strerror(error));
}

/* Makes the cpuset group with these CPUs. If this fails, the affinity alone restricts them. */
static void make_cpuset(struct limit_group *g, const char *cpus)
{
  char mems[256], effective[4096];
  cpu_set_t asked, kept;
  struct cgroup *cgroup = NULL;
  if (!*g->cpuset_folder) return;
  if (g->place->version == 1) {
    char parent[PATH_ROOM];
    path_join(parent, g->place->cpuset_mount, g->place->parent, "cpuset.mems");
    if (!file_read(parent, mems, sizeof mems)) return;
    cgroup = cgroup_new_cgroup(g->name);
    struct cgroup_controller *c = cgroup ? cgroup_add_controller(cgroup, "cpuset") : NULL;
    bool made = c && cgroup_add_value_string(c, "cpuset.mems", mems) == 0 &&
                cgroup_add_value_string(c, "cpuset.cpus", cpus) == 0 &&
                cgroup_create_cgroup(cgroup, 1) == 0;
    if (cgroup) cgroup_free(&cgroup);
    if (!made || !get_value(g, "cpuset", "cpuset.cpus", effective, sizeof effective)) return;
  } else if (set_value(g, "cpuset", "cpuset.cpus", cpus) != 0 ||
             !get_value(g, "cpuset", "cpuset.cpus.effective", effective, sizeof effective))
    return;
  g->has_cpuset =
      cpus_read(cpus, &asked) && cpus_read(effective, &kept) && CPU_EQUAL(&asked, &kept);
}

static bool limit_swap_v1(struct limit_group *g, const struct limit_options *o, struct why *why)
{
  int64_t both, kept;
  if (o->limit_bytes == NO_LIMIT)
    return why_not(why, "option --swap expects a --limit beside it on control groups v1, which "
                        "limit memory and swap together");
  if (__builtin_add_overflow(g->limit_bytes, o->swap_bytes, &both) || both == NO_LIMIT)
    return why_not(why, "option --swap expects less, found %" PRId64, o->swap_bytes);
  if (!set_bytes(g, "memory.memsw.limit_in_bytes", both, &kept, why)) return false;
  g->swap_bytes = kept - g->limit_bytes;
  return true;
}

static bool limit_swap(struct limit_group *g, const struct limit_options *o, struct why *why)
{
  char path[PATH_ROOM], swaps[512];
  const char *file = g->place->version == 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max";
  g->has_swap_limit = path_join(path, g->folder, "", file) && access(path, F_OK) == 0;
  if (o->swap_bytes == NO_LIMIT) return true;
  if (g->has_swap_limit && g->place->version == 1) return limit_swap_v1(g, o, why);
  if (g->has_swap_limit) return set_bytes(g, file, o->swap_bytes, &g->swap_bytes, why);
  /* Without swap no limit is needed: /proc/swaps has only its heading. */
  if (o->swap_bytes == 0 &&
      (!file_read("/proc/swaps", swaps, sizeof swaps) || !strchr(swaps, '\n')))
    return true;
  return why_not(why, "swap cannot be limited here, as the kernel does not account for it: add "
                      "swapaccount=1 to its command line and reboot");
}

/* Fails if a group above ours has a smaller limit, which would be the effective one. */
static bool limit_is_the_least(const struct limit_group *g, struct why *why)
{
  char path[PATH_ROOM], text[64], group[PATH_ROOM];
  strcpy(group, g->place->parent);
  for (;;) { /* up to the root, which in a container has a limit, too */
    path_join(path, g->place->mount, group,
              g->place->version == 1 ? "memory.limit_in_bytes" : "memory.max");
    if (file_read(path, text, sizeof text) && isdigit((unsigned char)*text) &&
        strtoll(text, NULL, 10) < g->limit_bytes)
      return why_not(why, "%s limits memory to %s bytes already", path, text);
    if (!*group) return true;
    char *slash = strrchr(group, '/');
    *(slash ? slash : group) = '\0';
  }
}

bool group_make(struct limit_group *g, const struct limit_options *o, struct why *why)
{
  if (!make_folder(g, why)) return false;
  const char *file = g->place->version == 1 ? "memory.limit_in_bytes" : "memory.max";
  int64_t unlimited;
  if (!get_bytes(g, file, &unlimited))
    return why_not(why, "%s has no memory controller", g->folder);
  if (o->limit_bytes != NO_LIMIT && !set_bytes(g, file, o->limit_bytes, &g->limit_bytes, why))
    return false;
  if (o->limit_bytes != NO_LIMIT && !limit_is_the_least(g, why)) return false;
  if (!limit_swap(g, o, why)) return false;
  if (o->cpus) make_cpuset(g, o->cpus);
  return true;
}

/* ---- joining ---- */

static bool attach(const struct limit_group *g, const char *controller, pid_t pid, struct why *why)
{
  if (g->place->version == 2) { /* not by libcgroup: it reads the controllers of the parent,
                                   which may be another user's */
    char path[PATH_ROOM], text[32];
    path_join(path, g->folder, "", "cgroup.procs");
    snprintf(text, sizeof text, "%d", (int)pid);
    int error = file_write(path, text);
    return !error || why_not(why, "%s cannot be joined: %s", g->folder, strerror(error));
  }
  struct cgroup *cgroup = cgroup_new_cgroup(g->name);
  int error = cgroup && cgroup_add_controller(cgroup, controller)
                  ? cgroup_attach_task_pid(cgroup, pid)
                  : ECGFAIL;
  if (cgroup) cgroup_free(&cgroup);
  return !error || why_not(why, "%s cannot be joined (%s): %s", g->folder, controller,
                           cgroup_strerror(error));
}

/* True for a cgroup.procs file of a cgroup file system. Root could overwrite any other file. */
static bool is_procs_file(const char *path, const struct statfs *fs)
{
  const char *slash = strrchr(path, '/');
  bool of_groups =
      (uint32_t)fs->f_type == CGROUP_SUPER_MAGIC || (uint32_t)fs->f_type == CGROUP2_SUPER_MAGIC;
  return of_groups && strcmp(slash ? slash + 1 : path, "cgroup.procs") == 0;
}

static bool join_other(const struct limit_group *g, const char *procs, pid_t pid, struct why *why)
{
  struct statfs fs;
  char text[32];
  if (statfs(procs, &fs) != 0) return why_not(why, "--join %s: %s", procs, strerror(errno));
  if (!is_procs_file(procs, &fs))
    return why_not(why, "--join expects a group's cgroup.procs file, found %s", procs);
  if (g->place->version == 2 && (uint32_t)fs.f_type == CGROUP2_SUPER_MAGIC)
    return why_not(
        why, "--join %s: a process is in one group of v2 alone; --parent makes ours below another",
        procs);
  snprintf(text, sizeof text, "%d", (int)pid);
  int error = file_write(procs, text);
  return !error || why_not(why, "--join %s: %s", procs, strerror(error));
}

bool group_join(const struct limit_group *g, const struct limit_options *o, pid_t pid,
                struct why *why)
{
  for (int i = 0; i < o->n_joins; i++)
    if (!join_other(g, o->joins[i], pid, why)) return false;
  if (!attach(g, "memory", pid, why)) return false;
  if (g->has_cpuset && g->place->version == 1 && !attach(g, "cpuset", pid, why)) return false;
  if (!o->cpus) return true;
  /* Needed even inside a cpuset: the process inherited our own affinity. */
  cpu_set_t kept;
  if (sched_setaffinity(pid, sizeof o->cpu_set, &o->cpu_set) == 0 &&
      sched_getaffinity(pid, sizeof kept, &kept) == 0 && CPU_EQUAL(&kept, &o->cpu_set))
    return true;
  return why_not(why, "--cpus %s: not all of them are there for this process", o->cpus);
}

/* ---- the end ---- */

/* Kills the processes of one group. Returns how many were listed. */
static int kill_listed(const char *folder)
{
  char path[PATH_ROOM];
  int pid, n = 0;
  FILE *file = path_join(path, folder, "", "cgroup.procs") ? fopen(path, "re") : NULL;
  for (; file && fscanf(file, "%d", &pid) == 1; n++)
    if (pid > 0) kill(pid, SIGKILL);
  if (file) fclose(file);
  return n;
}

enum removal { KILL, REMOVE_EMPTY, REMOVE };

/* Visits a group after the groups below it. KILL: kills its processes. REMOVE_EMPTY: removes it.
 * REMOVE: removes it if it has no processes, else kills these. libcgroup is not used, because it
 * would move the processes to the parent instead of killing them. */
static void visit(const char *folder, enum removal removal)
{
  char path[PATH_ROOM];
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
        path_join(path, folder, entry->d_name, ""))
      visit(path, removal);
  if (dir) closedir(dir);
  if (removal != REMOVE_EMPTY && (kill_listed(folder) > 0 || removal == KILL)) return;
  /* v1: page cache charged to the group would otherwise keep the group in the kernel. */
  if (removal == REMOVE && path_join(path, folder, "", "memory.force_empty")) file_write(path, "0");
  rmdir(folder);
}

static void kill_below(const char *folder, bool remove)
{
  char path[PATH_ROOM];
  if (!*folder) return;
  /* v2, since Linux 5.14: kills all at once, also processes forked meanwhile. */
  if (path_join(path, folder, "", "cgroup.kill")) file_write(path, "1");
  visit(folder, remove ? REMOVE : KILL);
}

void group_kill(const struct limit_group *g) { kill_below(g->folder, false); }

static bool remove_folder(const char *folder)
{
  struct timespec pause = {0, REMOVE_PAUSE_NS / 25};
  for (int i = 0; i < REMOVE_TRIES; i++) {
    if (!*folder || (access(folder, F_OK) != 0 && errno == ENOENT)) return true;
    if (i > 0) nanosleep(&pause, NULL);
    if (i > 20) pause.tv_nsec = REMOVE_PAUSE_NS;
    kill_below(folder, true);
  }
  return access(folder, F_OK) != 0;
}

bool group_remove(const struct limit_group *g)
{
  /* The kernel refuses to remove a group until the killed processes have left it. */
  bool gone = remove_folder(g->folder);
  return (strcmp(g->folder, g->cpuset_folder) == 0 || remove_folder(g->cpuset_folder)) && gone;
}

/* The PID in "mafat-PID" or "mafat-PID-supervisor"; 0: another name. */
static pid_t pid_in(const char *name)
{
  char *end;
  if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !isdigit((unsigned char)name[strlen(PREFIX)]))
    return 0;
  long pid = strtol(name + strlen(PREFIX), &end, 10);
  return (!*end || strcmp(end, "-supervisor") == 0) && pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/* True if the process is in our PID namespace, not in one below (a container). */
static bool is_numbered_here(int pid)
{
  char path[64], line[256];
  bool here = true;
  int first, second;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "NSpid: %d %d", &first, &second) == 2) here = false;
  if (file) fclose(file);
  return here;
}

enum whose { NOBODYS, OURS, ANOTHERS };

/* Returns whose processes a group and the groups below it hold. Processes of another container
 * have PID 0 or, on v1, are not listed; if none is listed, NOBODYS. */
static enum whose whose_is(const char *folder)
{
  char path[PATH_ROOM];
  int pid;
  enum whose whose = NOBODYS;
  FILE *file = path_join(path, folder, "", "cgroup.procs") ? fopen(path, "re") : NULL;
  while (file && whose != OURS && fscanf(file, "%d", &pid) == 1)
    whose = pid > 0 && is_numbered_here(pid) ? OURS : ANOTHERS;
  if (file) fclose(file);
  DIR *dir = opendir(folder);
  for (struct dirent *entry; whose != OURS && dir && (entry = readdir(dir));) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
        !path_join(path, folder, entry->d_name, ""))
      continue;
    enum whose below = whose_is(path);
    if (below != NOBODYS) whose = below;
  }
  if (dir) closedir(dir);
  return whose;
}

static void sweep_folder(const char *mount, const char *parent)
{
  char folder[PATH_ROOM], path[PATH_ROOM];
  struct stat st;
  if (!*mount || !path_join(folder, mount, parent, "")) return;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    pid_t pid = pid_in(entry->d_name);
    /* Skip groups of running processes. A group with our PID is from an earlier process. */
    if (pid == 0 || (pid != getpid() && (kill(pid, 0) == 0 || errno != ESRCH))) continue;
    if (!path_join(path, folder, entry->d_name, "") || stat(path, &st) != 0 ||
        (geteuid() != 0 && st.st_uid != geteuid()))
      continue;
    enum whose whose = whose_is(path);
    if (whose == OURS) remove_folder(path);
    /* If the group has processes that are not listed, the kernel refuses. */
    if (whose == NOBODYS) visit(path, REMOVE_EMPTY);
  }
  if (dir) closedir(dir);
}

void group_sweep(const struct limit_place *p)
{
  sweep_folder(p->mount, p->parent);
  if (p->version == 1) sweep_folder(p->cpuset_mount, p->parent);
}
