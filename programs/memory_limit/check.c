/* Implements --check: prints what this machine can do and what is missing. Called by
 * memory_limit.c. Reads /proc and cgroup files. */
#include "programs/memory_limit/check.h"

#include <libcgroup.h>
#include <libproc2/meminfo.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "programs/shared/writer.h"

/* Decodes the octal escapes of /proc/swaps, in place. */
static void unescape(char *text)
{
  char *to = text;
  for (const char *from = text; *from;) {
    unsigned value;
    if (*from == '\\' && sscanf(from + 1, "%3o", &value) == 1 && strlen(from) >= 4) {
      *to++ = (char)value;
      from += 4;
    } else
      *to++ = *from++;
  }
  *to = '\0';
}

/* Reads /proc/swaps, because libproc2 reports the sum of all swap areas, not each area. */
static void find_swaps(struct limit_check *c)
{
  char text[1024];
  long long size, used;
  FILE *file = fopen("/proc/swaps", "re");
  if (!file) return;
  if (!fgets(text, sizeof text, file)) text[0] = '\0';
  while (c->n_swaps < MAX_SWAPS && fgets(text, sizeof text, file)) {
    struct swap_area *s = &c->swaps[c->n_swaps];
    if (sscanf(text, "%255s %31s %lld %lld %d", s->device, s->type, &size, &used, &s->priority) !=
        5)
      continue;
    unescape(s->device);
    s->size_bytes = size * 1024;
    s->used_bytes = used * 1024;
    c->n_swaps++;
  }
  fclose(file);
}

static void find_memory(struct limit_check *c)
{
  struct meminfo_info *info = NULL;
  enum meminfo_item items[] = {MEMINFO_MEM_TOTAL, MEMINFO_MEM_AVAILABLE, MEMINFO_SWAP_TOTAL,
                               MEMINFO_SWAP_FREE};
  int64_t *values[] = {&c->memory_bytes, &c->available_bytes, &c->swap_bytes, &c->swap_free_bytes};
  struct meminfo_stack *stack =
      procps_meminfo_new(&info) < 0 ? NULL : procps_meminfo_select(info, items, 4);
  for (int i = 0; i < 4; i++)
    *values[i] = stack ? (int64_t)stack->head[i].result.ul_int * 1024 : -1;
  if (info) procps_meminfo_unref(&info);
}

static void find_controllers(struct limit_check *c)
{
  static struct cgroup_mount_point mount;
  void *handle = NULL;
  int error = cgroup_get_controller_begin(&handle, &mount);
  for (; error == 0 && c->n_controllers < MAX_CONTROLLERS;
       error = cgroup_get_controller_next(&handle, &mount))
    snprintf(c->controllers[c->n_controllers++], sizeof *c->controllers, "%.31s", mount.name);
  if (handle) cgroup_get_controller_end(&handle);
}

static bool has_file(const struct limit_group *g, const char *name)
{
  char path[PATH_ROOM];
  return path_join(path, g->folder, "", name) && access(path, F_OK) == 0;
}

void check_machine(struct limit_check *c, const struct limit_group *g)
{
  find_controllers(c);
  find_memory(c);
  find_swaps(c);
  if (!g) return;
  c->swap_accounting = g->has_swap_limit;
  c->peak = g->place->version == 1 || has_file(g, "memory.peak");
  c->kill = has_file(g, "cgroup.kill");
  c->cpuset = g->has_cpuset;
}

/* Lists features that this machine could have but lacks. Returns their number. */
static int find_missing(const struct limit_check *c, const char *missing[4])
{
  int n = 0;
  if (!c->swap_accounting)
    missing[n++] = "swap is not accounted for: --swap none and SIZE cannot be kept (swapaccount=1 "
                   "on the kernel's command line)";
  if (!c->peak)
    missing[n++] = "memory.peak (Linux 5.19): peak_bytes is not known, the sampled peaks are";
  if (!c->cpuset) missing[n++] = "cpuset: --cpus sets the affinity instead";
  if (c->n_swaps == 0) missing[n++] = "swap: none is on, what would swap is killed";
  return n;
}

static void write_json(struct mafat_writer *out, const struct limit_check *c,
                       const struct limit_place *p)
{
  const char *missing[4];
  int n = c->possible ? find_missing(c, missing) : 0;
  mafat_json_begin(out, "{");
  mafat_json_key(out, "possible");
  mafat_writer_put(out, c->possible ? "true" : "false");
  mafat_json_string(out, "reason", c->possible ? NULL : c->why.text);
  mafat_json_string(out, "command", c->possible || !*p->help ? NULL : p->help);
  mafat_json_string(out, "layout", layout_name(p->layout));
  mafat_json_string(out, "cgroup", p->version == 0 ? NULL : p->version == 1 ? "v1" : "v2");
  mafat_json_string(out, "means", means_name(p->means));
  mafat_json_string(out, "mount", *p->mount ? p->mount : NULL);
  mafat_json_string(out, "parent", c->possible ? p->parent : NULL);
  mafat_json_key(out, "controllers");
  mafat_json_begin(out, "[");
  for (int i = 0; i < c->n_controllers; i++) mafat_json_string(out, NULL, c->controllers[i]);
  mafat_json_end(out, "]");
  const struct {
    const char *name;
    bool value;
  } flags[] = {{"swap_accounting", c->swap_accounting},
               {"memory_peak", c->peak},
               {"cgroup_kill", c->kill},
               {"cpuset", c->cpuset}};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    mafat_json_key(out, flags[i].name);
    mafat_writer_put(out, !c->possible ? "null" : flags[i].value ? "true" : "false");
  }
  mafat_json_count(out, "memory_bytes", c->memory_bytes);
  mafat_json_count(out, "available_bytes", c->available_bytes);
  mafat_json_count(out, "swap_bytes", c->swap_bytes);
  mafat_json_count(out, "swap_free_bytes", c->swap_free_bytes);
  mafat_json_key(out, "swaps");
  mafat_json_begin(out, "[");
  for (int i = 0; i < c->n_swaps; i++) {
    mafat_json_separate(out);
    mafat_json_begin(out, "{");
    mafat_json_string(out, "device", c->swaps[i].device);
    mafat_json_string(out, "type", c->swaps[i].type);
    mafat_json_count(out, "size_bytes", c->swaps[i].size_bytes);
    mafat_json_count(out, "used_bytes", c->swaps[i].used_bytes);
    mafat_json_number(out, "priority", c->swaps[i].priority);
    mafat_json_end(out, "}");
  }
  mafat_json_end(out, "]");
  mafat_json_key(out, "missing");
  mafat_json_begin(out, "[");
  for (int i = 0; i < n; i++) mafat_json_string(out, NULL, missing[i]);
  mafat_json_end(out, "]");
  mafat_json_finish_line(out);
}

static void put_mebibytes(struct mafat_writer *out, int64_t bytes)
{
  if (bytes < 0) {
    mafat_writer_put(out, "unknown");
    return;
  }
  mafat_writer_put_fixed(out, (double)bytes / 1048576, 0);
  mafat_writer_put(out, " MiB");
}

static void write_text(struct mafat_writer *out, const struct limit_check *c,
                       const struct limit_place *p)
{
  const char *missing[4];
  mafat_writer_put(out, c->possible ? "possible: groups of control groups "
                                    : "not possible; control groups ");
  mafat_writer_put(out, p->version == 0 ? "none" : p->version == 1 ? "v1" : "v2");
  if (p->layout == LAYOUT_HYBRID) mafat_writer_put(out, " (hybrid: v1 and v2 are mounted)");
  if (c->possible) {
    mafat_writer_put(out, ", below ");
    mafat_writer_put_plain(out, p->mount);
    mafat_writer_put(out, *p->parent ? "/" : "");
    mafat_writer_put_plain(out, p->parent);
    mafat_writer_put(out, ", ");
    mafat_writer_put(out, means_text(p->means));
  }
  mafat_writer_put(out, "\ncontrollers:");
  for (int i = 0; i < c->n_controllers; i++) {
    mafat_writer_put(out, " ");
    mafat_writer_put_plain(out, c->controllers[i]);
  }
  mafat_writer_put(out, c->n_controllers ? "\nmemory: " : " none\nmemory: ");
  put_mebibytes(out, c->memory_bytes);
  mafat_writer_put(out, ", available ");
  put_mebibytes(out, c->available_bytes);
  mafat_writer_put(out, "; swap: ");
  put_mebibytes(out, c->swap_bytes);
  mafat_writer_put(out, ", free ");
  put_mebibytes(out, c->swap_free_bytes);
  for (int i = 0; i < c->n_swaps; i++) {
    mafat_writer_put(out, "\n  ");
    mafat_writer_put_plain(out, c->swaps[i].device);
    mafat_writer_put(out, ": ");
    mafat_writer_put_plain(out, c->swaps[i].type);
    mafat_writer_put(out, ", ");
    put_mebibytes(out, c->swaps[i].size_bytes);
    mafat_writer_put(out, ", used ");
    put_mebibytes(out, c->swaps[i].used_bytes);
  }
  mafat_writer_put(out, "\n");
  for (int i = 0, n = c->possible ? find_missing(c, missing) : 0; i < n; i++) {
    mafat_writer_put(out, "missing: ");
    mafat_writer_put(out, missing[i]);
    mafat_writer_put(out, "\n");
  }
  if (c->possible) return;
  mafat_writer_put(out, "reason: ");
  mafat_writer_put_plain(out, c->why.text);
  mafat_writer_put(out, "\n");
  if (!*p->help) return;
  mafat_writer_put(out, "this would help: ");
  mafat_writer_put_plain(out, p->help);
  mafat_writer_put(out, "\n");
}

bool check_write(int fd, const struct limit_check *c, const struct limit_place *p,
                 enum format format)
{
  struct mafat_writer out;
  mafat_writer_open(&out, fd);
  if (format == FORMAT_JSON) write_json(&out, c, p);
  else write_text(&out, c, p);
  return mafat_writer_flush(&out, NULL) == 0;
}
