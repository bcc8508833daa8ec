/* Reads the counters of cgroups (with libcgroup), processes (/proc) and the system (libproc2).
 * Called by watch.c. The counters_system functions keep a libproc2 handle until
 * counters_system_close. */
#include "programs/memory_limit/counters.h"

#include <ctype.h>
#include <dirent.h>
#include <libcgroup.h>
#include <libproc2/vmstat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line of a counter file. */
struct counter_line {
  const char *name;
  int64_t *value;
};

static void take_line(const char *name, const char *value, const struct counter_line *lines,
                      size_t n_lines)
{
  for (size_t i = 0; i < n_lines; i++)
    if (strcmp(name, lines[i].name) == 0) *lines[i].value = strtoll(value, NULL, 10);
}

/* Sets the values of those lines of memory.stat whose names are in `lines`. */
static void read_stat(const struct limit_group *g, const struct counter_line *lines, size_t n_lines)
{
  struct cgroup_stat stat;
  void *handle = NULL;
  memset(&stat, 0, sizeof stat);
  int error = cgroup_read_stats_begin("memory", g->name, &handle, &stat);
  for (; error == 0; error = cgroup_read_stats_next(&handle, &stat)) {
    stat.value[strcspn(stat.value, "\n")] = '\0';
    take_line(stat.name, stat.value, lines, n_lines);
  }
  if (handle) cgroup_read_stats_end(&handle);
}

/* Does what read_stat does, for another file whose lines are a name and a number. */
static void read_lines(const struct limit_group *g, const char *file,
                       const struct counter_line *lines, size_t n_lines)
{
  void *handle = NULL;
  char name[64], text[256], key[128], value[64];
  snprintf(name, sizeof name, "%s", file);
  int error = cgroup_read_value_begin("memory", g->name, name, &handle, text, sizeof text);
  for (; error == 0; error = cgroup_read_value_next(&handle, text, sizeof text))
    if (sscanf(text, "%127s %63s", key, value) == 2) take_line(key, value, lines, n_lines);
  if (handle) cgroup_read_value_end(&handle);
}

/* Reads a file with one number; NOT_COUNTED: unreadable. */
static int64_t read_number(const struct limit_group *g, const char *file)
{
  void *handle = NULL;
  char name[64], text[64];
  snprintf(name, sizeof name, "%s", file);
  int error = cgroup_read_value_begin("memory", g->name, name, &handle, text, sizeof text);
  if (handle) cgroup_read_value_end(&handle);
  return error || !isdigit((unsigned char)*text) ? NOT_COUNTED : strtoll(text, NULL, 10);
}

#define N_LINES(lines) (sizeof(lines) / sizeof *(lines))

void counters_memory(const struct limit_group *g, struct group_memory *m)
{
  bool v1 = g->place->version == 1;
  *m = (struct group_memory){NOT_COUNTED, NOT_COUNTED, NOT_COUNTED, NOT_COUNTED};
  const struct counter_line lines[] = {{v1 ? "total_rss" : "anon", &m->anon_bytes},
                               {v1 ? "total_cache" : "file", &m->cache_bytes},
                               {v1 ? "total_swap" : "", &m->swap_bytes}};
  m->usage_bytes = read_number(g, v1 ? "memory.usage_in_bytes" : "memory.current");
  read_stat(g, lines, N_LINES(lines));
  if (!v1) m->swap_bytes = read_number(g, "memory.swap.current");
}

/* Estimates the swap peak of a v1 cgroup: the peak of memory and swap together, minus the peak of
 * memory. v1 charges pages in batches for each processor, and its peaks include refused charges. So
 * both peaks can be too high, by up to one batch for each processor. If the difference is not
 * greater than that, returns 0. */
static int64_t swap_peak_v1(const struct limit_group *g, int64_t peak_bytes)
{
  int64_t both = read_number(g, "memory.memsw.max_usage_in_bytes");
  int64_t batch = 64 * sysconf(_SC_PAGESIZE) * sysconf(_SC_NPROCESSORS_ONLN);
  if (both == NOT_COUNTED || peak_bytes == NOT_COUNTED) return NOT_COUNTED;
  return both - peak_bytes > batch ? both - peak_bytes : 0;
}

/* Returns how many times the limit of memory, or the limit of memory plus swap, was hit. If both
 * limits are equal, the limit of memory plus swap is hit first. Newer kernels count such a hit only
 * in memory.failcnt. */
static int64_t limit_hits_v1(const struct limit_group *g)
{
  int64_t memory = read_number(g, "memory.failcnt"), both = read_number(g, "memory.memsw.failcnt");
  return memory == NOT_COUNTED ? memory : memory + (both == NOT_COUNTED ? 0 : both);
}

void counters_events(const struct limit_group *g, struct group_events *e)
{
  bool v1 = g->place->version == 1;
  memset(e, -1, sizeof *e); /* NOT_COUNTED */
  const struct counter_line stat[] = {
      {v1 ? "total_pgmajfault" : "pgmajfault", &e->major_faults},
      {v1 ? "total_workingset_refault_anon" : "workingset_refault_anon", &e->refaults_anon},
      {v1 ? "total_workingset_refault_file" : "workingset_refault_file", &e->refaults_file},
      {"pswpin", &e->swap_ins},
      {"pswpout", &e->swap_outs}};
  const struct counter_line events[] = {{"oom_kill", &e->oom_kills},
                                        {v1 ? "" : "max", &e->limit_hits}};
  read_stat(g, stat, N_LINES(stat));
  read_lines(g, v1 ? "memory.oom_control" : "memory.events", events, N_LINES(events));
  e->peak_bytes = read_number(g, v1 ? "memory.max_usage_in_bytes" : "memory.peak");
  if (v1) e->limit_hits = limit_hits_v1(g);
  e->swap_peak_bytes = v1 ? swap_peak_v1(g, e->peak_bytes) : read_number(g, "memory.swap.peak");
}

/* ---- the process: read from /proc; libproc2 reports neither VmHWM nor io ---- */

static void read_proc(pid_t pid, const char *file, const struct counter_line *lines, size_t n_lines)
{
  char path[64], text[256], key[64];
  long long value;
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
  FILE *in = fopen(path, "re");
  while (in && fgets(text, sizeof text, in))
    if (sscanf(text, "%63[^:]: %lld", key, &value) == 2)
      for (size_t i = 0; i < n_lines; i++)
        if (strcmp(key, lines[i].name) == 0)
          *lines[i].value = value * (strstr(text, " kB") ? 1024 : 1);
  if (in) fclose(in);
}

void counters_process(pid_t pid, struct process_memory *p)
{
  *p = (struct process_memory){NOT_COUNTED, NOT_COUNTED, NOT_COUNTED};
  const struct counter_line status[] = {{"VmHWM", &p->vm_hwm_bytes},
                                        {"RssAnon", &p->resident_anon_bytes}};
  const struct counter_line io[] = {{"read_bytes", &p->read_bytes}};
  read_proc(pid, "status", status, N_LINES(status));
  read_proc(pid, "io", io, N_LINES(io));
}

static int64_t resident_of(const char *folder)
{
  char path[64];
  long long pages = NOT_COUNTED;
  snprintf(path, sizeof path, "%s/statm", folder);
  FILE *in = fopen(path, "re");
  if (!in) return NOT_COUNTED;
  bool read = fscanf(in, "%*d %lld", &pages) == 1;
  fclose(in);
  return read ? pages * sysconf(_SC_PAGESIZE) : NOT_COUNTED;
}

int64_t counters_resident(pid_t pid)
{
  char folder[48];
  snprintf(folder, sizeof folder, "/proc/%d", (int)pid);
  int64_t bytes = resident_of(folder);
  if (bytes != 0) return bytes;
  snprintf(folder, sizeof folder, "/proc/%d/task", (int)pid);
  DIR *threads = opendir(folder);
  for (struct dirent *entry; bytes == 0 && threads && (entry = readdir(threads));) {
    if (!isdigit((unsigned char)*entry->d_name)) continue;
    snprintf(folder, sizeof folder, "/proc/%d/task/%.10s", (int)pid, entry->d_name);
    int64_t of_thread = resident_of(folder);
    if (of_thread > 0) bytes = of_thread;
  }
  if (threads) closedir(threads);
  return bytes;
}

/* ---- the system ---- */

void counters_system_open(struct counters_system *s)
{
  *s = (struct counters_system){.page_bytes = sysconf(_SC_PAGESIZE)};
  if (procps_vmstat_new(&s->info) < 0) s->info = NULL;
  struct system_swap now = counters_system_read(s, 1);
  if (!s->info) return;
  s->in_pages = (uint64_t)(now.in_bytes / s->page_bytes);
  s->out_pages = (uint64_t)(now.out_bytes / s->page_bytes);
}

struct system_swap counters_system_read(struct counters_system *s, int fresh)
{
  enum vmstat_item items[] = {VMSTAT_PSWPIN, VMSTAT_PSWPOUT};
  unsigned long in = 0, out = 0;
  if (!s->info) return (struct system_swap){NOT_COUNTED, NOT_COUNTED};
  struct vmstat_stack *stack = fresh ? procps_vmstat_select(s->info, items, 2) : NULL;
  if (stack) {
    in = stack->head[0].result.ul_int;
    out = stack->head[1].result.ul_int;
  } else {
    in = VMSTAT_GET(s->info, VMSTAT_PSWPIN, ul_int);
    out = VMSTAT_GET(s->info, VMSTAT_PSWPOUT, ul_int);
  }
  return (struct system_swap){(int64_t)(in - s->in_pages) * s->page_bytes,
                              (int64_t)(out - s->out_pages) * s->page_bytes};
}

void counters_system_close(struct counters_system *s)
{
  if (s->info) procps_vmstat_unref(&s->info);
}
