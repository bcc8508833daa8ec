/* Runs the command of memory_limit: starts it inside its cgroup, samples its memory while it runs,
 * and measures it when it ends. Forks, and writes samples to the given file. Included by
 * memory_limit.c and report.h. */
#ifndef MAFAT_MEMORY_LIMIT_WATCH_H
#define MAFAT_MEMORY_LIMIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "programs/memory_limit/counters.h"
#include "programs/memory_limit/group.h"
#include "programs/memory_limit/options.h"

enum limit_outcome {
  OUTCOME_EXIT, OUTCOME_OOM, OUTCOME_TIMEOUT, OUTCOME_SIGNAL,
  OUTCOME_INTERRUPTED
};

struct limit_watch {
  enum limit_outcome outcome;
  int exit_status;    /* of the command; -1: it did not exit by itself */
  int signal;         /* signal that ended the command; 0: none */
  int interrupted_by; /* signal that ended the watch; 0: none */
  double wall_ms, user_ms, system_ms;
  struct group_memory at_exit;    /* read when the command's process exits */
  struct process_memory process;
  struct group_events events;     /* read when all processes in the group have ended */
  int64_t anon_peak_bytes, cache_peak_bytes,
      swap_peak_bytes;            /* largest samples; for swap, the kernel's own peak if greater */
  struct system_swap system_swap; /* swap traffic of the system during the run */
  int64_t block_reads;            /* blocks of 512 bytes */
  int64_t n_samples;
};

/* Signals that are blocked before the cgroup is made and until the program ends: those that end the
 * watch, SIGCHLD, and those of failed writes (SIGPIPE, SIGXFSZ), so that the writes return errors.
 * The watch receives the signals when it is ready. */
struct signals {
  sigset_t watched, before; /* blocked signals; signal mask before, which the command gets */
  pid_t parent; /* process that started memory_limit */
};
void signals_block(struct signals *s, pid_t parent);

/* Runs the command at `path` in the cgroup, and kills processes that it leaves there. timeline:
 * file for samples, or NULL. Returns false, with the reason in *why, if the command could not be
 * run. */
bool watch_run(struct limit_watch *w, const struct limit_group *g, const struct limit_options *o,
               const char *path, const struct signals *s, FILE *timeline, struct why *why);

const char *outcome_name(enum limit_outcome outcome);

#endif
