/* Command line of memory_limit. Included by programs/memory_limit. */
#ifndef MAFAT_MEMORY_LIMIT_OPTIONS_H
#define MAFAT_MEMORY_LIMIT_OPTIONS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "programs/memory_limit/why.h"

enum { MAX_JOINS = 8, MAX_EVICTS = 64 };
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

/* The value of limit_bytes or swap_bytes that means: no limit. */
#define NO_LIMIT INT64_MAX

struct limit_options {
  int64_t limit_bytes; /* limit of memory, or NO_LIMIT */
  int64_t swap_bytes;  /* limit of swap, in addition to memory, or NO_LIMIT */
  const char *cpus;    /* text of --cpus, or NULL */
  cpu_set_t cpu_set;   /* the CPUs in that text */
  double timeout_s;    /* 0: none */
  int interval_ms;
  const char *evicts[MAX_EVICTS], *joins[MAX_JOINS];
  int n_evicts, n_joins;
  const char *timeline, *output; /* paths, or NULL */
  const char *parent;            /* group below which the new group is made, or NULL */
  enum format format;
  bool check, help, version;
  char **command; /* the command and its arguments, ended by NULL; NULL with check, help, version */
};

extern const char options_help[];

/* Parses the command line. The strings in *o point into argv. Returns false with the reason. */
bool options_read(struct limit_options *o, int argc, char **argv, struct why *why);

/* Parses a list of CPUs such as "0-1,3". Returns false if the text is not such a list. */
bool cpus_read(const char *text, cpu_set_t *set);

#endif
