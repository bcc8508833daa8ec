/* Finds a cgroup, in v1 or v2 hierarchies, below which memory_limit can create groups. Restarts the
 * program with systemd-run if that helps. Called by memory_limit.c and guard.c; check.c, group.c,
 * report.c and watch.c use its names and small-file functions. Reads and writes cgroup files,
 * creates and removes a cgroup, sets environment variables, forks, and executes systemd-run. */
#include "programs/memory_limit/place.h"

#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"

#define SCOPE_VARIABLE "MAFAT_MEMORY_LIMIT_SCOPE"

const char *layout_name(enum layout layout)
{
  static const char *const names[] = {"none", "v1", "v2", "hybrid"};
  return names[layout];
}

const char *means_name(enum means means)
{
  static const char *const names[] = {NULL, "root", "delegated", "systemd-run"};
  return names[means];
}

const char *means_text(enum means means)
{
  static const char *const texts[] = {"", "as root", "in a group of this user's",
                                      "in a scope of systemd-run's"};
  return texts[means];
}

/* ---- small files ---- */

bool file_read(const char *path, char *text, size_t capacity)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t n = 0;
  ssize_t got = 0;
  while (n < capacity - 1 && (got = read(fd, text + n, capacity - 1 - n)) > 0) n += (size_t)got;
  close(fd);
  text[n] = '\0';
  if (n > 0 && text[n - 1] == '\n') text[n - 1] = '\0';
  return got >= 0 && n < capacity - 1;
}

int file_write(const char *path, const char *text)
{
  int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;
  if (fd < 0) return errno;
  if (write(fd, text, strlen(text)) < 0) error = errno;
  close(fd);
  return error;
}

bool file_has_word(const char *path, const char *word)
{
  char text[4096], *rest = NULL;
  if (!file_read(path, text, sizeof text)) return false;
  for (char *found = strtok_r(text, " \n", &rest); found; found = strtok_r(NULL, " \n", &rest))
    if (strcmp(found, word) == 0) return true;
  return false;
}

bool path_join(char path[PATH_ROOM], const char *mount, const char *group, const char *name)
{
  int n = snprintf(path, PATH_ROOM, "%s%s%s%s%s", mount, *group ? "/" : "", group, *name ? "/" : "",
                   name);
  if (n > 0 && n < PATH_ROOM) return true;
  path[0] = '\0';
  return false;
}

/* True if a component of the path is "..", so that the path may leave its folder. */
static bool climbs(const char *path)
{
  for (size_t n; *path; path += n + (path[n] == '/'))
    if ((n = strcspn(path, "/")) == 2 && memcmp(path, "..", 2) == 0) return true;
  return false;
}

static bool is_writable(const char *path)
{
  return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static bool is_folder(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- what is mounted ---- */

static enum layout find_layout(void)
{
  FILE *mounts = setmntent("/proc/self/mounts", "re");
  bool v1 = false, v2 = false;
  for (struct mntent *m; mounts && (m = getmntent(mounts));) {
    v1 |= strcmp(m->mnt_type, "cgroup") == 0;
    v2 |= strcmp(m->mnt_type, "cgroup2") == 0;
  }
  if (mounts) endmntent(mounts);
  return v1 && v2 ? LAYOUT_HYBRID : v1 ? LAYOUT_V1 : v2 ? LAYOUT_V2 : LAYOUT_NONE;
}

static void find_mount(const char *controller, char mount[PATH_ROOM])
{
  char *found = NULL;
  mount[0] = '\0';
  if (cgroup_get_subsys_mount_point(controller, &found) != 0) return;
  path_join(mount, found, "", "");
  free(found);
}

static int version_of(const char *mount)
{
  struct statfs fs;
  if (!*mount || statfs(mount, &fs) != 0) return 0;
  return (uint32_t)fs.f_type == CGROUP2_SUPER_MAGIC ? 2 : 1;
}

/* Did the kernel's command line switch the controller off? */
static bool is_disabled(const char *controller)
{
  struct controller_data data;
  void *handle = NULL;
  bool disabled = false;
  int error = cgroup_get_all_controller_begin(&handle, &data);
  for (; error == 0; error = cgroup_get_all_controller_next(&handle, &data))
    if (strcmp(data.name, controller) == 0) disabled = !data.enabled;
  if (handle) cgroup_get_all_controller_end(&handle);
  return disabled;
}

/* ---- this process's group ---- */

static void without_slashes(char *path)
{
  size_t n = strlen(path), skip = strspn(path, "/");
  while (n > skip && path[n - 1] == '/') n--;
  memmove(path, path + skip, n - skip);
  path[n - skip] = '\0';
}

static void find_own(struct limit_place *p)
{
  char path[PATH_ROOM], *found = NULL;
  p->own[0] = '\0';
  if (p->version == 1) {
    if (cgroup_get_current_controller_path(getpid(), "memory", &found) != 0) return;
    if (strlen(found) < sizeof p->own) strcpy(p->own, found);
    free(found);
  } else { /* parsed here: libcgroup searches by controller, and v2's line names none */
    char line[PATH_ROOM];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file))
      if (strncmp(line, "0::", 3) == 0) {
        line[strcspn(line, "\n")] = '\0';
        strcpy(p->own, line + 3);
      }
    if (file) fclose(file);
  }
  without_slashes(p->own);
  /* In a container without a cgroup namespace, the path is the host's and does not exist here. */
  if (!path_join(path, p->mount, p->own, "") || !is_folder(path) || climbs(p->own))
    p->own[0] = '\0';
}

/* Is this process alone in its group? */
static bool is_alone(const struct limit_place *p)
{
  char path[PATH_ROOM], text[64];
  return path_join(path, p->mount, p->own, "cgroup.procs") && file_read(path, text, sizeof text) &&
         atol(text) == (long)getpid() && !strchr(text, '\n');
}

/* ---- advice ---- */

__attribute__((format(printf, 2, 3))) static void help_with(struct limit_place *p,
                                                            const char *format, ...)
{
  va_list values;
  if (*p->help) return; /* the earlier help is more specific */
  va_start(values, format);
  vsnprintf(p->help, sizeof p->help, format, values);
  va_end(values);
  mafat_utf8_keep_to_one_line(p->help);
}

/* ---- v2: where controllers can be handed down ---- */

/* True if groups below the parent have the memory controller or can get it. */
static bool can_hand_down(struct limit_place *p, const char *parent, struct why *why)
{
  char folder[PATH_ROOM], path[PATH_ROOM];
  path_join(folder, p->mount, parent, "");
  if (!path_join(path, p->mount, parent, "cgroup.subtree_control"))
    return why_not(why, "%s: too long", parent);
  if (file_has_word(path, "memory")) return true;
  if (!is_writable(path))
    return why_not(why, "%s has no memory controller for groups below it, and is not this user's",
                   folder);
  path_join(path, p->mount, parent, "cgroup.controllers");
  if (geteuid() != 0 && !file_has_word(path, "memory"))
    return why_not(why, "%s has no memory controller", folder);
  path_join(path, p->mount, parent, "cgroup.type");
  if (access(path, F_OK) != 0)
    return true; /* only the real root has no type; it may hold processes and limited groups */
  char pids[64];
  path_join(path, p->mount, parent, "cgroup.procs");
  if (file_read(path, pids, sizeof pids) && !*pids) return true;
  if (strcmp(parent, p->own) == 0 && is_alone(p)) {
    char name[64];
    snprintf(name, sizeof name, "mafat-%d-supervisor", (int)getpid());
    return path_join(p->leaf, p->mount, parent, name) || why_not(why, "%s: too long", folder);
  }
  help_with(p,
            "mkdir %s/others && for p in $(cat %s/cgroup.procs); do echo $p "
            ">%s/others/cgroup.procs; done",
            folder, folder, folder);
  return why_not(why, "%s has processes of its own, so that no limited group can be made below it",
                 folder);
}

/* ---- which parent ---- */

static bool is_usable(struct limit_place *p, const char *parent, struct why *why)
{
  char folder[PATH_ROOM], procs[PATH_ROOM];
  p->leaf[0] = p->help[0] = '\0';
  if (!path_join(folder, p->mount, parent, "") ||
      !path_join(procs, p->mount, parent, "cgroup.procs"))
    return why_not(why, "%s: too long", parent);
  if (!is_folder(folder)) return why_not(why, "%s: there is no such group", folder);
  if (!is_writable(folder)) return why_not(why, "%s is not writable", folder);
  if (p->version == 2 && !can_hand_down(p, parent, why)) return false;
  strcpy(p->parent, parent);
  return true;
}

static bool has_systemd(void) { return access("/run/systemd/system", F_OK) == 0; }

static void help_user(struct limit_place *p)
{
  int uid = (int)geteuid();
  if (p->version == 1)
    help_with(
        p, "mkdir %s/mafat && chown -R %d %s/mafat    (as root; then memory_limit --parent mafat)",
        p->mount, uid, p->mount);
  else if (has_systemd())
    help_with(
        p,
        "loginctl enable-linger %d    (as root: a systemd of this user's, which systemd-run asks)",
        uid);
  else
    help_with(p, "sudo memory_limit ...");
}

static bool take_parent(struct limit_place *p, const char *option, struct why *why)
{
  char parent[PATH_ROOM];
  size_t n = strlen(p->mount);
  if (strncmp(option, p->mount, n) == 0 && (option[n] == '/' || !option[n])) option += n;
  if (!path_join(parent, "", option, "")) return why_not(why, "--parent %s: too long", option);
  without_slashes(parent);
  if (climbs(parent))
    return why_not(why, "--parent expects a group of %s, found '%s'", p->mount, option);
  p->means = geteuid() == 0 ? MEANS_ROOT : MEANS_DELEGATED;
  if (is_usable(p, parent, why)) return true;
  if (geteuid() == 0) help_with(p, "mkdir -p %s/%s", p->mount, parent);
  else
    help_with(p, "mkdir -p %s/%s && chown -R %d %s/%s    (as root)", p->mount, parent,
              (int)geteuid(), p->mount, parent);
  return false;
}

static bool choose_parent(struct limit_place *p, bool in_scope, struct why *why)
{
  struct why other;
  if (geteuid() == 0 && !in_scope) {
    p->means = MEANS_ROOT;
    if (is_usable(p, "", why)) return true;
    char help[sizeof p->help];
    strcpy(help, p->help);
    if (*p->own && is_usable(p, p->own, &other)) return true;
    strcpy(p->help, help);
    help_with(p, "mount -o remount,rw %s    (in a container: run it with --privileged)", p->mount);
    return false;
  }
  p->means = in_scope ? MEANS_SYSTEMD_RUN : MEANS_DELEGATED;
  if (*p->own && is_usable(p, p->own, &other)) return true;
  p->scope_may_help = p->version == 2 && !in_scope;
  bool almost = *p->own && *p->help; /* the group is delegated, but other processes are in it */
  if (almost) *why = other;
  if (almost && !in_scope) return false;
  help_user(p);
  if (in_scope)
    return why_not(why, "systemd-run made a scope without the memory controller: %s", other.text);
  return why_not(why, "groups in %s are root's, and none there is this user's", p->mount);
}

static bool no_controller(struct limit_place *p, int error, struct why *why)
{
  if (p->layout == LAYOUT_NONE) {
    help_with(p, "mount -t cgroup2 none /sys/fs/cgroup    (as root)");
    return why_not(why, "no control groups are mounted");
  }
  if (is_disabled("memory")) {
    help_with(p, "add 'cgroup_enable=memory cgroup_memory=1' to the kernel's command line "
                 "(/boot/firmware/cmdline.txt on a Raspberry Pi) and reboot");
    return why_not(why, "the memory controller is switched off");
  }
  help_with(p,
            "add 'cgroup_enable=memory cgroup_memory=1' to the kernel's command line and reboot");
  return why_not(why, "no hierarchy of control groups has a memory controller%s%s",
                 error ? ": " : "", error ? cgroup_strerror(error) : "");
}

static void drop_message(void *data, int level, const char *format, va_list values)
{
  (void)data, (void)level, (void)format, (void)values;
}

bool place_find(struct limit_place *p, const char *parent, bool in_scope, struct why *why)
{
  *p = (struct limit_place){.layout = find_layout()};
  cgroup_set_logger(drop_message, CGROUP_LOG_ERROR, NULL); /* our own messages say more */
  int error = cgroup_init();
  if (error == 0) {
    find_mount("memory", p->mount);
    find_mount("cpuset", p->cpuset_mount);
  }
  p->version = version_of(p->mount);
  if (p->version == 0) return no_controller(p, error, why);
  find_own(p);
  bool found = parent ? take_parent(p, parent, why) : choose_parent(p, in_scope, why);
  if (!found) p->means = MEANS_NONE;
  return found;
}

/* ---- v2: handing down ---- */

/* Enables the controller in each subtree_control from the top down to the parent. libcgroup is not
 * used for two reasons. It writes even if the controller is already on, which a user with a
 * delegated group may not do. And it skips the top unless the group is directly below it. */
static int hand_down(const struct limit_place *p, const char *controller)
{
  char control[PATH_ROOM], group[PATH_ROOM], word[64];
  snprintf(word, sizeof word, "+%s", controller);
  for (const char *end = p->parent;; end++) {
    size_t n = (size_t)(end - p->parent);
    if (*end && *end != '/' && n > 0) continue;
    memcpy(group, p->parent, n);
    group[n] = '\0';
    if ((n > 0 || !*end || geteuid() == 0) &&
        path_join(control, p->mount, group, "cgroup.subtree_control") &&
        !file_has_word(control, controller)) {
      int error = file_write(control, word);
      if (error && !*end) return error;
    }
    if (!*end) return 0;
  }
}

bool place_prepare(const struct limit_place *p, bool cpuset, pid_t companion, struct why *why)
{
  if (p->version == 1) return true;
  if (*p->leaf) {
    char procs[PATH_ROOM], pid[32];
    if (mkdir(p->leaf, 0755) != 0 && errno != EEXIST)
      return why_not(why, "%s cannot be made: %s", p->leaf, strerror(errno));
    path_join(procs, p->leaf, "", "cgroup.procs");
    const pid_t movers[] = {companion, getpid()};
    for (int i = 0; i < 2; i++) {
      snprintf(pid, sizeof pid, "%d", (int)movers[i]);
      int error = file_write(procs, pid);
      if (error) return why_not(why, "%s cannot be joined: %s", p->leaf, strerror(error));
    }
  }
  int error = hand_down(p, "memory");
  if (error)
    return why_not(why, "%s/%s does not hand the memory controller down: %s", p->mount, p->parent,
                   strerror(error));
  if (cpuset) hand_down(p, "cpuset"); /* if this fails, --cpus sets the affinity instead */
  return true;
}

void place_restore(const struct limit_place *p)
{
  char path[PATH_ROOM], pid[32];
  /* Without a leaf, controllers stay handed down: other groups may rely on them by now. */
  if (!*p->leaf) return;
  path_join(path, p->mount, p->parent, "cgroup.subtree_control");
  file_write(path, "-cpuset");
  file_write(path, "-memory");
  path_join(path, p->mount, p->parent, "cgroup.procs");
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  file_write(path, pid);
  rmdir(p->leaf);
}

/* ---- systemd-run ---- */

bool place_in_scope(void)
{
  /* systemd-run --scope executes the command in its own process, so the pid stays the same. */
  const char *value = getenv(SCOPE_VARIABLE);
  bool in_scope = value && atol(value) == (long)getpid();
  if (in_scope && strchr(value, '+'))
    unsetenv("XDG_RUNTIME_DIR"); /* place_enter_scope() set it for systemd-run */
  unsetenv(SCOPE_VARIABLE);
  return in_scope;
}

#define SYSTEMD_RUN "systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes", "--"

/* True if the user's systemd starts scopes. Forks and executes a trial run. */
static bool scope_works(void)
{
  char *words[] = {SYSTEMD_RUN, "true", NULL};
  int status;
  pid_t child = fork();
  if (child == 0) {
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    execvp(words[0], words);
    _exit(127);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

void place_enter_scope(char **argv)
{
  char *const begin[] = {SYSTEMD_RUN};
  char self[PATH_ROOM], value[32];
  size_t n_begin = sizeof begin / sizeof *begin, n = 0;
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return;
  self[length] = '\0';
  bool add_folder = !getenv("XDG_RUNTIME_DIR");
  if (add_folder) {
    char folder[64];
    snprintf(folder, sizeof folder, "/run/user/%d", (int)geteuid());
    setenv("XDG_RUNTIME_DIR", folder, 1);
  }
  if (!scope_works()) return;
  while (argv[n]) n++;
  char **words = calloc(n_begin + n + 1, sizeof *words);
  if (!words) return;
  memcpy(words, begin, sizeof begin);
  words[n_begin] = self;
  if (n > 1) memcpy(words + n_begin + 1, argv + 1, (n - 1) * sizeof *words);
  snprintf(value, sizeof value, "%d%s", (int)getpid(), add_folder ? "+" : "");
  setenv(SCOPE_VARIABLE, value, 1);
  execvp(words[0], words);
  unsetenv(SCOPE_VARIABLE);
  free(words);
}
