/* Parses the command line of memory_limit, and lists of CPUs. Called by memory_limit.c and group.c.
 * Uses the global variables of getopt_long. */
#include "programs/memory_limit/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "programs/shared/refused_option.h"

const char options_help[] =
    "usage: % [options] -- PROGRAM [ARGUMENT]...\n"
    "       % --check [--json]\n"
    "Runs a command in a control group of its own (v1 or v2) under a memory limit, and\n"
    "reports how it ended, what it took, what it swapped and read.\n"
    "\n"
    "What it may use\n"
    "  --limit SIZE|none     memory: 10M, 10.5M, 16384K, bytes; default: none\n"
    "  --swap SIZE|none|all  swap besides; default: all. none: what would swap is killed\n"
    "  --cpus LIST           0 or 0-1,3: by a cpuset where one can be made, else by its\n"
    "                        affinity\n"
    "  --timeout SECONDS     then everything in the group is killed\n"
    "How it starts\n"
    "  --evict FILE          drop it from the page cache first; may be repeated\n"
    "  --join PROCS          a further group's cgroup.procs file that the command joins;\n"
    "                        may be repeated\n"
    "  --parent GROUP        make the group below this one, a path in the memory hierarchy\n"
    "What it says\n"
    "  -o, --output FILE     the report; default: standard error\n"
    "  --format text|json|csv, --json, --csv\n"
    "  --timeline FILE       CSV of samples of memory and swap\n"
    "  --interval MS         between two samples; default: 10\n"
    "  --check               say what is possible on this machine, and what is missing\n"
    "  -h, --help            print this help\n"
    "  -V, --version         print the version\n"
    "\n"
    "Standard input, output and error are the command's. When it has ended, what it left\n"
    "running is killed and the group is removed.\n"
    "Exit status: 0 the command ended with 0; 1 it ended otherwise; 2 misuse, or it cannot\n"
    "be done here; 128 + N after signal N.\n"
    "\n"
    "Examples\n"
    "  % --limit 16M --swap none -- run_inference a.cfg a.weights dog.jpg\n"
    "  % --limit 64M --json -o report.json --timeline t.csv -- sleep 1\n";

/* Sizes must be smaller: cgroup v1 treats this size and larger ones as no limit, if a page has 64
 * KiB. */
#define MOST_BYTES (INT64_MAX / 65536 * 65536)

enum {
  LIMIT = 256, SWAP, CPUS, TIMEOUT, EVICT, JOIN, PARENT, OUTPUT, FORMAT, JSON, CSV, TIMELINE,
  INTERVAL,
  CHECK
};

static const struct option long_options[] = {{"limit", required_argument, NULL, LIMIT},
                                             {"swap", required_argument, NULL, SWAP},
                                             {"cpus", required_argument, NULL, CPUS},
                                             {"timeout", required_argument, NULL, TIMEOUT},
                                             {"evict", required_argument, NULL, EVICT},
                                             {"join", required_argument, NULL, JOIN},
                                             {"parent", required_argument, NULL, PARENT},
                                             {"output", required_argument, NULL, OUTPUT},
                                             {"format", required_argument, NULL, FORMAT},
                                             {"json", no_argument, NULL, JSON},
                                             {"csv", no_argument, NULL, CSV},
                                             {"timeline", required_argument, NULL, TIMELINE},
                                             {"interval", required_argument, NULL, INTERVAL},
                                             {"check", no_argument, NULL, CHECK},
                                             {"version", no_argument, NULL, 'V'},
                                             {"help", optional_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

/* "10M", "10.5M", "16384K" or bytes, at least 1; fractions of a byte are dropped. */
static bool read_size(const char *text, int64_t *bytes)
{
  if (!isdigit((unsigned char)*text)) return false;
  int64_t unit = 1, whole = 0;
  const char *at = text, *fraction = NULL;
  for (; isdigit((unsigned char)*at); at++)
    if (__builtin_mul_overflow(whole, 10, &whole) ||
        __builtin_add_overflow(whole, *at - '0', &whole))
      return false;
  if (*at == '.') {
    fraction = ++at;
    if (!isdigit((unsigned char)*at)) return false;
    while (isdigit((unsigned char)*at)) at++;
  }
  switch (*at) {
  case 'k': case 'K': unit = 1 << 10; at++; break;
  case 'm': case 'M': unit = 1 << 20; at++; break;
  case 'g': case 'G': unit = 1 << 30; at++; break;
  default: break;
  }
  if (unit > 1 && (strcmp(at, "iB") == 0 || strcmp(at, "B") == 0)) at += strlen(at);
  if (*at || (fraction && unit == 1) || __builtin_mul_overflow(whole, unit, bytes)) return false;
  double share = 0, digit = .1;
  for (; fraction && isdigit((unsigned char)*fraction); fraction++, digit /= 10)
    share += digit * (*fraction - '0');
  if (__builtin_add_overflow(*bytes, (int64_t)(share * (double)unit), bytes)) return false;
  return *bytes > 0 && *bytes < MOST_BYTES;
}

static bool read_number(const char *text, double least, double most, double *value)
{
  char *end;
  if (!isdigit((unsigned char)*text) && *text != '.') return false;
  *value = strtod(text, &end);
  return end != text && !*end && isfinite(*value) && *value >= least && *value <= most;
}

bool cpus_read(const char *text, cpu_set_t *set)
{
  CPU_ZERO(set);
  for (;;) {
    char *end;
    if (!isdigit((unsigned char)*text)) return false;
    unsigned long first = strtoul(text, &end, 10), last = first;
    if (*end == '-') {
      text = end + 1;
      if (!isdigit((unsigned char)*text)) return false;
      last = strtoul(text, &end, 10);
    }
    if (last < first || last >= CPU_SETSIZE) return false;
    for (; first <= last; first++) CPU_SET(first, set);
    if (!*end) return true;
    if (*end != ',') return false;
    text = end + 1;
  }
}

static bool expected(struct why *why, const char *option, const char *what, const char *found)
{
  return why_not(why, "option %s expects %s, found '%s'", option, what, found);
}

static bool take_format(struct limit_options *o, const char *value, struct why *why)
{
  if (strcmp(value, "text") == 0) o->format = FORMAT_TEXT;
  else if (strcmp(value, "json") == 0) o->format = FORMAT_JSON;
  else if (strcmp(value, "csv") == 0) o->format = FORMAT_CSV;
  else return expected(why, "--format", "text, json or csv", value);
  return true;
}

static bool take_path(const char **list, int *n, int capacity, const char *option,
                      const char *value, struct why *why)
{
  if (!*value) return expected(why, option, "a path", value);
  if (*n == capacity) return why_not(why, "option %s may be given %d times", option, capacity);
  list[(*n)++] = value;
  return true;
}

static bool take(struct limit_options *o, int option, const char *value, struct why *why)
{
  int n = 0;
  double number;
  switch (option) {
  case LIMIT:
    if (strcmp(value, "none") == 0) o->limit_bytes = NO_LIMIT;
    else if (!read_size(value, &o->limit_bytes))
      return expected(why, "--limit", "a size such as 10M, or none", value);
    return true;
  case SWAP:
    if (strcmp(value, "none") == 0) o->swap_bytes = 0;
    else if (strcmp(value, "all") == 0) o->swap_bytes = NO_LIMIT;
    else if (!read_size(value, &o->swap_bytes))
      return expected(why, "--swap", "a size such as 64M, none or all", value);
    return true;
  case CPUS:
    if (!cpus_read(value, &o->cpu_set))
      return expected(why, "--cpus", "a list of CPUs such as 0 or 0-1,3", value);
    o->cpus = value;
    return true;
  case TIMEOUT:
    if (!read_number(value, 1e-3, 1e9, &o->timeout_s))
      return expected(why, "--timeout", "seconds, from 0.001 to a thousand million", value);
    return true;
  case INTERVAL:
    if (!read_number(value, 1, 1e6, &number) || number != floor(number))
      return expected(why, "--interval", "whole milliseconds from 1", value);
    o->interval_ms = (int)number;
    return true;
  case EVICT: return take_path(o->evicts, &o->n_evicts, MAX_EVICTS, "--evict", value, why);
  case JOIN: return take_path(o->joins, &o->n_joins, MAX_JOINS, "--join", value, why);
  case PARENT: return take_path(&o->parent, &n, 1, "--parent", value, why);
  case TIMELINE: return take_path(&o->timeline, &n, 1, "--timeline", value, why);
  case 'o': case OUTPUT: return take_path(&o->output, &n, 1, "-o, --output", value, why);
  case FORMAT: return take_format(o, value, why);
  case JSON: o->format = FORMAT_JSON; return true;
  case CSV: o->format = FORMAT_CSV; return true;
  case CHECK: o->check = true; return true;
  case 'V': o->version = true; return true;
  default: o->help = true; return true;
  }
}

bool options_read(struct limit_options *o, int argc, char **argv, struct why *why)
{
  *o = (struct limit_options){.limit_bytes = NO_LIMIT, .swap_bytes = NO_LIMIT, .interval_ms = 10};
  char unknown[MAFAT_REFUSED_ROOM];
  opterr = 0;
  for (;;) {
    int at = optind, option = getopt_long(argc, argv, "+:o:hV", long_options, NULL);
    if (option < 0) break;
    const char *word = argv[at];
    if (option == ':') return why_not(why, "option %s expects a value, found nothing", word);
    if (option == '?' && strncmp(word, "--", 2) == 0 && optopt)
      return why_not(why, "option %s: no value is expected", word);
    if (option == '?') {
      mafat_refused_unknown(unknown, word, long_options);
      return why_not(why, "%s", unknown);
    }
    if (!take(o, option, optarg, why)) return false;
    if (o->help || o->version) return true;
  }
  o->command = optind < argc ? argv + optind : NULL;
  if (o->check && o->command) return why_not(why, "--check runs no command, found %s", *o->command);
  if (o->check && o->format == FORMAT_CSV)
    return why_not(why, "--check answers in text or JSON, not CSV");
  if (!o->check && !o->command)
    return why_not(why, "expected -- PROGRAM [ARGUMENT]..., found nothing; see --help");
  return true;
}
