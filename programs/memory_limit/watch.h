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
  int signal;         /* that ended it; 0: none */
  int interrupted_by; /* the signal that ended the watch; 0: none */
  double wall_ms, user_ms, system_ms;
  struct group_memory at_exit;    /* as the process stood at its exit */
  struct process_memory process;
  struct group_events events;     /* once everything in the group was gone */
  int64_t anon_peak_bytes, cache_peak_bytes,
      swap_peak_bytes;            /* of the samples; swap also of the kernel's own */
  struct system_swap system_swap; /* from start to end */
  int64_t block_reads;            /* of 512 bytes */
  int64_t n_samples;
};

/* The signals that end the watch, that of the parent's end, and SIGCHLD. Blocked from
 * before the group is made to the end, so that none comes at a wrong moment, as are those
 * of a write that fails: that is an error like others. The command gets what was before. */
struct signals {
  sigset_t watched, before;
  pid_t parent; /* who started us */
};
void signals_block(struct signals *s, pid_t parent);

/* Runs the command at `path` in the group, kills what it leaves. `timeline` may be NULL.
 * False with the reason if it could not be run. */
bool watch_run(struct limit_watch *w, const struct limit_group *g, const struct limit_options *o,
               const char *path, const struct signals *s, FILE *timeline, struct why *why);

const char *outcome_name(enum limit_outcome outcome);

#endif
