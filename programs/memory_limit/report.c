/* Writes text, JSON and CSV reports to the caller's descriptor. Called by memory_limit.c. */
#include "programs/memory_limit/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/shared/writer.h"

/* A value of the report: a member of the JSON object, or a column of the CSV. */
struct report_field {
  const char *name;
  enum { WORD, COUNT, MILLISECONDS } kind;
  const char *word; /* NULL: JSON has null */
  int64_t count;    /* NOT_COUNTED: JSON has null */
  double ms;
};

enum { MAX_FIELDS = 48 };

struct fields {
  struct report_field list[MAX_FIELDS];
  int n;
};

static void add_word(struct fields *f, const char *name, const char *word)
{
  f->list[f->n++] = (struct report_field){name, WORD, word, 0, 0};
}

static void add_count(struct fields *f, const char *name, int64_t count)
{
  f->list[f->n++] = (struct report_field){name, COUNT, NULL, count, 0};
}

static void add_ms(struct fields *f, const char *name, double ms)
{
  f->list[f->n++] = (struct report_field){name, MILLISECONDS, NULL, 0, ms};
}

static int64_t pages(int64_t n) { return n == NOT_COUNTED ? n : n * sysconf(_SC_PAGESIZE); }

/* Collects all fields but the command. */
static void collect(struct fields *f, const struct limit_options *o, const struct limit_group *g,
                    const struct limit_watch *w)
{
  const struct group_events *e = &w->events;
  f->n = 0;
  add_word(f, "outcome", outcome_name(w->outcome));
  add_count(f, "exit_status", w->exit_status);
  add_count(f, "signal", w->signal ? w->signal : NOT_COUNTED);
  add_count(f, "limit_bytes", g->limit_bytes == NO_LIMIT ? NOT_COUNTED : g->limit_bytes);
  add_count(f, "swap_limit_bytes", g->swap_bytes == NO_LIMIT ? NOT_COUNTED : g->swap_bytes);
  add_word(f, "cpus", o->cpus);
  add_word(f, "cgroup", g->place->version == 1 ? "v1" : "v2");
  add_word(f, "layout", layout_name(g->place->layout));
  add_word(f, "means", means_name(g->place->means));
  add_word(f, "cpus_by", !o->cpus ? NULL : g->has_cpuset ? "cpuset" : "affinity");
  add_ms(f, "wall_ms", w->wall_ms);
  add_ms(f, "user_ms", w->user_ms);
  add_ms(f, "system_ms", w->system_ms);
  add_count(f, "peak_bytes", e->peak_bytes);
  add_count(f, "limit_hits", e->limit_hits);
  add_count(f, "oom_kills", e->oom_kills);
  add_count(f, "anon_bytes", w->at_exit.anon_bytes);
  add_count(f, "cache_bytes", w->at_exit.cache_bytes);
  add_count(f, "anon_peak_bytes", w->anon_peak_bytes);
  add_count(f, "cache_peak_bytes", w->cache_peak_bytes);
  add_count(f, "vm_hwm_bytes", w->process.vm_hwm_bytes);
  add_count(f, "resident_anon_bytes", w->process.resident_anon_bytes);
  add_count(f, "swap_peak_bytes", w->swap_peak_bytes);
  /* cgroup v1 does not count pages read from swap, but it counts refaults of anonymous pages. */
  add_count(f, "swap_in_bytes", pages(e->swap_ins == NOT_COUNTED ? e->refaults_anon : e->swap_ins));
  add_count(f, "swap_out_bytes", pages(e->swap_outs));
  add_count(f, "system_swap_in_bytes", w->system_swap.in_bytes);
  add_count(f, "system_swap_out_bytes", w->system_swap.out_bytes);
  add_count(f, "major_faults", e->major_faults);
  add_count(f, "refaults_anon", e->refaults_anon);
  add_count(f, "refaults_file", e->refaults_file);
  add_count(f, "read_bytes", w->process.read_bytes);
  add_count(f, "block_reads", w->block_reads);
  add_count(f, "n_samples", w->n_samples);
}

/* ---- JSON ---- */

static bool write_json(struct mafat_writer *out, char *const *command, const struct fields *f)
{
  mafat_json_begin(out, "{");
  mafat_json_strings(out, "command", (const char *const *)command);
  for (const struct report_field *at = f->list; at < f->list + f->n; at++) {
    if (at->kind == WORD) mafat_json_string(out, at->name, at->word);
    else if (at->kind == COUNT) mafat_json_count(out, at->name, at->count);
    else mafat_json_number(out, at->name, round(at->ms * 1e3) / 1e3);
  }
  return mafat_json_finish_line(out) == 0;
}

/* ---- CSV ---- */

/* Writes the command as one CSV field in quotes, its words separated by spaces. */
static void put_command_csv(struct mafat_writer *out, char *const *command)
{
  mafat_writer_put(out, "\"");
  for (char *const *word = command; *word; word++) {
    if (word > command) mafat_writer_put(out, " ");
    for (const char *at = *word; *at; at++) {
      const char text[] = {*at, *at == '"' ? '"' : '\0', '\0'};
      mafat_writer_put(out, text);
    }
  }
  mafat_writer_put(out, "\"");
}

static bool write_csv(struct mafat_writer *out, char *const *command, const struct fields *f)
{
  char capacity[MAFAT_NUMBER_ROOM];
  mafat_writer_put(out, "command");
  for (int i = 0; i < f->n; i++) {
    mafat_writer_put(out, ",");
    mafat_writer_put(out, f->list[i].name);
  }
  mafat_writer_put(out, "\n");
  put_command_csv(out, command);
  for (const struct report_field *at = f->list; at < f->list + f->n; at++) {
    mafat_writer_put(out, ",");
    if (at->kind == WORD && at->word && strchr(at->word, ',')) { /* a list of CPUs */
      mafat_writer_put(out, "\"");
      mafat_writer_put(out, at->word);
      mafat_writer_put(out, "\"");
    } else if (at->kind == WORD && at->word)
      mafat_writer_put(out, at->word);
    else if (at->kind == COUNT && at->count != NOT_COUNTED)
      mafat_writer_put_integer(out, at->count);
    else if (at->kind == MILLISECONDS)
      mafat_writer_put(out, mafat_format_fixed(capacity, at->ms, 3));
  }
  mafat_writer_put(out, "\n");
  return mafat_writer_flush(out, NULL) == 0;
}

/* ---- text ---- */

static void put_size(struct mafat_writer *out, const char *name, int64_t bytes)
{
  mafat_writer_put(out, name);
  if (bytes == NOT_COUNTED) mafat_writer_put(out, " unknown");
  else {
    mafat_writer_put(out, " ");
    mafat_writer_put_fixed(out, (double)bytes / 1048576, 2);
    mafat_writer_put(out, " MiB");
  }
}

static void put_count(struct mafat_writer *out, const char *name, int64_t n)
{
  mafat_writer_put(out, name);
  if (n == NOT_COUNTED) mafat_writer_put(out, "unknown");
  else mafat_writer_put_integer(out, n);
}

static void put_outcome(struct mafat_writer *out, const struct limit_group *g,
                        const struct limit_watch *w)
{
  mafat_writer_put(out, "memory_limit: ");
  if (w->outcome == OUTCOME_OOM) mafat_writer_put(out, "killed, out of memory");
  else if (w->outcome == OUTCOME_TIMEOUT) mafat_writer_put(out, "killed at the time-out");
  else if (w->outcome == OUTCOME_INTERRUPTED)
    put_count(out, "interrupted by signal ", w->interrupted_by);
  else if (w->outcome == OUTCOME_SIGNAL) put_count(out, "ended by signal ", w->signal);
  else put_count(out, "exit status ", w->exit_status);
  mafat_writer_put(out, " after ");
  mafat_writer_put_fixed(out, w->wall_ms, 1);
  mafat_writer_put(out, " ms (user ");
  mafat_writer_put_fixed(out, w->user_ms, 1);
  mafat_writer_put(out, ", system ");
  mafat_writer_put_fixed(out, w->system_ms, 1);
  mafat_writer_put(out, ")\n  control groups ");
  mafat_writer_put(out, g->place->version == 1 ? "v1" : "v2");
  mafat_writer_put(out, g->place->layout == LAYOUT_HYBRID ? " (hybrid) " : " ");
  mafat_writer_put(out, means_text(g->place->means));
}

static bool write_text(struct mafat_writer *out, const struct limit_options *o,
                       const struct limit_group *g, const struct limit_watch *w)
{
  const struct group_events *e = &w->events;
  put_outcome(out, g, w);
  if (g->limit_bytes == NO_LIMIT) mafat_writer_put(out, ", no limit");
  else put_size(out, ", limit", g->limit_bytes);
  if (g->swap_bytes != NO_LIMIT) put_size(out, ", swap at most", g->swap_bytes);
  if (o->cpus) {
    mafat_writer_put(out, ", CPUs ");
    mafat_writer_put_plain(out, o->cpus);
    mafat_writer_put(out, g->has_cpuset ? " (cpuset)" : " (affinity)");
  }
  put_size(out, "\n  memory: peak", e->peak_bytes);
  put_count(out, ", limit hits ", e->limit_hits);
  put_count(out, ", OOM kills ", e->oom_kills);
  put_size(out, "\n  at most: anonymous", w->anon_peak_bytes);
  put_size(out, ", cache", w->cache_peak_bytes);
  put_size(out, "; at its exit:", w->at_exit.anon_bytes);
  put_size(out, ",", w->at_exit.cache_bytes);
  put_size(out, "; process: resident peak", w->process.vm_hwm_bytes);
  put_size(out, "\n  swap: at most", w->swap_peak_bytes);
  put_size(out, ", in", pages(e->swap_ins == NOT_COUNTED ? e->refaults_anon : e->swap_ins));
  put_size(out, ", out", pages(e->swap_outs));
  put_size(out, "; whole system: in", w->system_swap.in_bytes);
  put_size(out, ", out", w->system_swap.out_bytes);
  put_count(out, "\n  major faults ", e->major_faults);
  put_count(out, ", refaults: anonymous ", e->refaults_anon);
  put_count(out, ", of files ", e->refaults_file);
  put_size(out, "; read", w->process.read_bytes);
  put_count(out, "; samples ", w->n_samples);
  mafat_writer_put(out, "\n");
  return mafat_writer_flush(out, NULL) == 0;
}

bool report_write(int fd, const struct limit_options *o, const struct limit_group *g,
                  const struct limit_watch *w)
{
  struct fields fields;
  struct mafat_writer out;
  collect(&fields, o, g, w);
  mafat_writer_open(&out, fd);
  if (o->format == FORMAT_JSON) return write_json(&out, o->command, &fields);
  if (o->format == FORMAT_CSV) return write_csv(&out, o->command, &fields);
  return write_text(&out, o, g, w);
}
