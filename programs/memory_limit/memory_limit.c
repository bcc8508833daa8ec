/* Program memory_limit: runs a command in its own control group (cgroup), under a memory limit, and
 * reports how it ended. Creates the group, starts the command and writes the reports. The group is
 * removed in any case: guard.h does it if this process is killed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "programs/memory_limit/check.h"
#include "programs/memory_limit/files.h"
#include "programs/memory_limit/group.h"
#include "programs/memory_limit/guard.h"
#include "programs/memory_limit/options.h"
#include "programs/memory_limit/place.h"
#include "programs/memory_limit/report.h"
#include "programs/memory_limit/watch.h"
#include "programs/shared/streams.h"

enum { ENDED_OTHERWISE = 1, CANNOT = 2, AFTER_SIGNAL = 128, TIMELINE_BUFFER = 1 << 20 };

static const char *program; /* name that messages begin with */

static int cannot(const struct why *why, const struct limit_place *p)
{
  if (p && *p->help) fprintf(stderr, "%s: %s; this would help: %s\n", program, why->text, p->help);
  else fprintf(stderr, "%s: %s\n", program, why->text);
  return CANNOT;
}

static int print_help(void)
{
  mafat_streams_put_named(options_help, program);
  return mafat_streams_say(program, "") == 0 ? 0 : ENDED_OTHERWISE;
}

/* ---- a group, from creation to removal ---- */

struct session {
  pid_t parent; /* process that started this one */
  struct limit_place place;
  struct limit_group group;
  struct guard guard;
  struct signals signals;
};

/* Makes the group, with its guard. On failure removes all that was made. */
static bool session_begin(struct session *s, const struct limit_options *o, struct why *why)
{
  if (!group_name(&s->group, &s->place, getpid(), o->cpus != NULL, why)) return false;
  signals_block(&s->signals, s->parent);
  prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans of the command become our children */
  group_sweep(&s->place);
  if (!group_is_free(&s->group, why) || !guard_start(&s->guard, &s->group, why)) return false;
  return place_prepare(&s->place, o->cpus != NULL, s->guard.pid, why) &&
         group_make(&s->group, o, why);
}

static bool session_end(struct session *s)
{
  bool gone = group_remove(&s->group);
  guard_end(&s->guard);
  place_restore(&s->place);
  return gone;
}

/* ---- --check ---- */

static int check(struct session *s, struct limit_options *o, bool found, struct why why)
{
  struct limit_check c = {.possible = found, .why = why};
  struct output output;
  if (!output_open(&output, o->output, STDOUT_FILENO, &why)) return cannot(&why, NULL);
  char cpu[16];
  int first = 0;
  /* Try a small limit, below those of the groups above, and one of our CPUs. */
  if (sched_getaffinity(0, sizeof o->cpu_set, &o->cpu_set) == 0)
    while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &o->cpu_set)) first++;
  snprintf(cpu, sizeof cpu, "%d", first);
  o->limit_bytes = 1 << 20;
  o->cpus = cpu;
  if (found) c.possible = session_begin(s, o, &c.why);
  check_machine(&c, c.possible ? &s->group : NULL);
  if (found) session_end(s);
  bool written = output_empty(&output, &why) && check_write(output.fd, &c, &s->place, o->format);
  output_close(&output, true);
  if (!written) fprintf(stderr, "%s: the answer cannot be written\n", program);
  return c.possible && written ? 0 : CANNOT;
}

/* ---- a command ---- */

static int status_of(const struct limit_watch *w)
{
  if (w->outcome == OUTCOME_INTERRUPTED) return AFTER_SIGNAL + w->interrupted_by;
  return w->outcome == OUTCOME_EXIT && w->exit_status == 0 ? 0 : ENDED_OTHERWISE;
}

/* Truncates the file and opens a stream on it, which the command does not inherit. */
static FILE *timeline_begin(struct output *timeline, struct why *why)
{
  static char buffer[TIMELINE_BUFFER];
  FILE *samples =
      output_empty(timeline, why) ? fdopen(fcntl(timeline->fd, F_DUPFD_CLOEXEC, 0), "w") : NULL;
  if (samples) setvbuf(samples, buffer, _IOFBF, sizeof buffer);
  else why_not(why, "%s cannot be written", timeline->path);
  return samples;
}

/* Makes the group, runs the command, and writes the reports. All checks that need no group were
 * done before. Returns the exit status. */
static int run_inside(struct session *s, const struct limit_options *o, const char *path,
                      struct output *report, struct output *timeline)
{
  struct why why;
  struct limit_watch w;
  FILE *samples = NULL;
  const char *failed = NULL; /* what could not be written */
  bool begun = session_begin(s, o, &why), ran = false;
  if (begun && timeline->path) begun = (samples = timeline_begin(timeline, &why)) != NULL;
  if (begun) ran = watch_run(&w, &s->group, o, path, &s->signals, samples, &why);
  if (samples && ferror(samples)) failed = timeline->path;
  if (samples && fclose(samples) != 0) failed = timeline->path;
  bool gone = session_end(s);
  struct why left;
  if (!gone && !why_not(&left, "%s cannot be removed", s->group.folder)) cannot(&left, NULL);
  if (!ran) return cannot(&why, NULL);
  if (!output_empty(report, &why) || !report_write(report->fd, o, &s->group, &w))
    failed = report->path ? report->path : "the report";
  if (!failed) return status_of(&w);
  why_not(&why, "%s cannot be written", failed);
  return cannot(&why, NULL);
}

/* Fails if report and timeline are the same file, or one of them is a file of --evict. Called
 * before any output is truncated. */
static bool outputs_are_apart(const struct limit_options *o, const struct output *report,
                              const struct output *timeline, struct why *why)
{
  if (report->path && timeline->path && file_is(report->fd, timeline->path))
    return why_not(why, "-o and --timeline expect a file each, found %s twice", timeline->path);
  for (int i = 0; i < o->n_evicts; i++)
    if ((report->path && file_is(report->fd, o->evicts[i])) ||
        (timeline->path && file_is(timeline->fd, o->evicts[i])))
      return why_not(
          why, "-o and --timeline expect files of their own, found %s, which the command reads",
          o->evicts[i]);
  return true;
}

static int run(struct session *s, const struct limit_options *o)
{
  char path[PATH_ROOM];
  struct why why;
  struct output report, timeline;
  if (!program_find(path, sizeof path, o->command[0], &why)) return cannot(&why, NULL);
  for (int i = 0; i < o->n_evicts; i++)
    if (!file_evict(o->evicts[i], &why)) return cannot(&why, NULL);
  if (!output_open(&report, o->output, STDERR_FILENO, &why)) return cannot(&why, NULL);
  if (!output_open(&timeline, o->timeline, -1, &why)) {
    output_close(&report, false);
    return cannot(&why, NULL);
  }
  bool apart = outputs_are_apart(o, &report, &timeline, &why);
  int status = apart ? run_inside(s, o, path, &report, &timeline) : cannot(&why, NULL);
  output_close(&report, status != CANNOT);
  output_close(&timeline, status != CANNOT);
  return status;
}

/* Opens closed standard streams, so that no file of ours gets their numbers. The command still
 * finds them closed. */
static void fill_standard_streams(void)
{
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 &&
        open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
      return;
}

int main(int argc, char **argv)
{
  static struct session session;
  struct limit_options o;
  program = mafat_streams_installed(argv[0], "mafat-limit", "memory_limit");
  session.parent = getppid();
  struct why why = {""};
  bool in_scope = place_in_scope();
  fill_standard_streams();
  if (!options_read(&o, argc, argv, &why)) return cannot(&why, NULL);
  if (o.help) return print_help();
  if (o.version) return mafat_streams_say_version(program) == 0 ? 0 : ENDED_OTHERWISE;
  bool found = place_find(&session.place, o.parent, in_scope, &why);
  if (!found && session.place.scope_may_help) place_enter_scope(argv);
  if (o.check) return check(&session, &o, found, why);
  return found ? run(&session, &o) : cannot(&why, &session.place);
}
