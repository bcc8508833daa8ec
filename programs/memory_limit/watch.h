/* The command: started inside its group, sampled while it runs, and measured as it ends. Forks.
 * Included by memory_limit.c and report.h. */
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
  int exit_status;    /* -1: it did not exit */
  int signal;         /* signal that ended the command; 0: none */
  int interrupted_by; /* signal that ended the watch; 0: none */
  double wall_ms, user_ms, system_ms;
  struct group_memory at_exit;    /* read when the process exits */
  struct process_memory process;
  struct group_events events;     /* read when all processes in the group have ended */
  int64_t anon_peak_bytes, cache_peak_bytes,
      swap_peak_bytes;            /* largest samples; swap: or the kernel's own peak */
  struct system_swap system_swap; /* from start to end */
  int64_t block_reads;            /* blocks of 512 bytes */
  int64_t n_samples;
};

/* Signals that are blocked from before the group is made to the end: those that end the watch,
 * SIGCHLD, and those of failed writes (SIGPIPE, SIGXFSZ), which become errors. The watch receives
 * them when it is ready. The command gets the earlier mask. */
struct signals {
  sigset_t watched, before;
  pid_t parent; /* process that started memory_limit */
};
void signals_block(struct signals *s, pid_t parent);

/* Runs the command at `path` in the group, and kills processes that it leaves there. timeline: file
 * for samples, or NULL. Returns false, with the reason, if the command could not be run. */
bool watch_run(struct limit_watch *w, const struct limit_group *g, const struct limit_options *o,
               const char *path, const struct signals *s, FILE *timeline, struct why *why);

const char *outcome_name(enum limit_outcome outcome);

#endif
