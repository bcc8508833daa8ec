/* Command line of memory_limit. Included by programs/memory_limit. */
#ifndef MAFAT_MEMORY_LIMIT_OPTIONS_H
#define MAFAT_MEMORY_LIMIT_OPTIONS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "programs/memory_limit/why.h"

enum { MAX_JOINS = 8, MAX_EVICTS = 64 };
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

/* Sizes of what may be without a limit. */
#define NO_LIMIT INT64_MAX

struct limit_options {
  int64_t limit_bytes; /* NO_LIMIT: a group without one */
  int64_t swap_bytes;  /* besides the limit; NO_LIMIT: all there is */
  const char *cpus;    /* as it was given, or NULL */
  cpu_set_t cpu_set;   /* what it means */
  double timeout_s;    /* 0: none */
  int interval_ms;
  const char *evicts[MAX_EVICTS], *joins[MAX_JOINS];
  int n_evicts, n_joins;
  const char *timeline, *output; /* paths, or NULL */
  const char *parent;            /* the group to make ours below, or NULL */
  enum format format;
  bool check, help, version;
  char **command; /* its words, ended by NULL; NULL with check, help and version */
};

extern const char options_help[];

/* The strings belong to argv. */
bool options_read(struct limit_options *o, int argc, char **argv, struct why *why);

/* "0-1,3" to a set of CPUs. */
bool cpus_read(const char *text, cpu_set_t *set);

#endif
