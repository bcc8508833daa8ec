/* Command line, clock and JSON report of the peers: programs that run other libraries for
 * comparison, in C and C++. The report's fields are named as in run_inference --json. Included by
 * the peer_ programs of this folder. Opens files, prints, and ends the program after an error.
 *     peer [--repeat N] [--dump FILE] MODEL.cfg MODEL.weights PICTURE
 *     peer [--repeat N] [--dump FILE] MODEL INPUT      for models that are one file
 *     peer --idle       loads no model: reports resident bytes of the libraries */
#ifndef MAFAT_EXPERIMENTS_PEERS_PEER_H
#define MAFAT_EXPERIMENTS_PEERS_PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PEER_MAX_REPEAT = 20000 };

struct peer {
  const char *version;
  int repeat, idle;
  /* file for the last layer's output (or all outputs of a model) as float32, or NULL */
  const char *dump;
  /* MODEL INPUT: cfg is the model, weights NULL, picture the input */
  const char *cfg, *weights, *picture;
  FILE *out; /* the real standard output; the libraries' output is dropped */
  int n_latencies, n_detections;
  double load_ms, image_ms, layers_ms; /* image_ms, layers_ms: of the last run */
  double latencies_ms[PEER_MAX_REPEAT];
};

static inline double peer_now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline void peer_fail(const char *what)
{
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* Reads a field that a file in /proc/self has in kB, and returns it in bytes; -1: missing. */
static inline long peer_bytes_of(const char *path, const char *format)
{
  char line[256];
  long kilobytes = -1;
  FILE *file = fopen(path, "r");
  while (file && kilobytes < 0 && fgets(line, sizeof line, file)) sscanf(line, format, &kilobytes);
  if (file) fclose(file);
  return kilobytes < 0 ? -1 : kilobytes * 1024;
}

static inline long peer_resident_bytes(void)
{
  return peer_bytes_of("/proc/self/smaps_rollup", "Rss: %ld");
}

static inline long peer_peak_bytes(void)
{
  return peer_bytes_of("/proc/self/status", "VmHWM: %ld");
}

static inline void peer_begin_files(struct peer *p, int argc, char **argv, int n_files)
{
  int i = 1;
  memset(p, 0, sizeof *p);
  p->repeat = 1;
  for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
    if (strcmp(argv[i], "--idle") == 0) p->idle = 1;
    else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc) p->repeat = atoi(argv[++i]);
    else if (strcmp(argv[i], "--dump") == 0 && i + 1 < argc) p->dump = argv[++i];
    else peer_fail("expected --repeat N, --dump FILE or --idle");
  }
  if (p->repeat < 1 || p->repeat > PEER_MAX_REPEAT)
    peer_fail("--repeat expects a number from 1 to 20000");
  if (!p->idle && argc - i != n_files)
    peer_fail(n_files == 3 ? "expected MODEL.cfg MODEL.weights PICTURE" : "expected MODEL INPUT");
  if (!p->idle) {
    p->cfg = argv[i];
    p->weights = n_files == 3 ? argv[i + 1] : NULL;
    p->picture = argv[argc - 1];
  }
  p->out = fdopen(dup(STDOUT_FILENO), "w");
  if (!p->out || !freopen("/dev/null", "w", stdout)) peer_fail("no standard output");
}

static inline void peer_begin(struct peer *p, int argc, char **argv)
{
  peer_begin_files(p, argc, argv, 3);
}

/* Adds a run: reading the picture took from time `before` to `between`, the layers until now. */
static inline void peer_add_run(struct peer *p, double before, double between)
{
  double now = peer_now_ms();
  p->image_ms = between - before;
  p->layers_ms = now - between;
  p->latencies_ms[p->n_latencies++] = now - before;
}

static inline void peer_dump(const struct peer *p, const float *values, size_t n)
{
  FILE *file = fopen(p->dump, "wb");
  if (!file || fwrite(values, sizeof *values, n, file) != n || fclose(file) != 0)
    peer_fail("cannot write --dump");
}

static inline void peer_report(const struct peer *p)
{
  fprintf(p->out, "{\"version\":\"%s\",\"measured_resident_bytes\":%ld,\"vm_hwm_bytes\":%ld",
          p->version, peer_resident_bytes(), peer_peak_bytes());
  if (!p->idle) {
    fprintf(p->out,
            ",\"load_ms\":%.6f,\"image_ms\":%.6f,\"layers_ms\":%.6f,\"n_detections\":%d,"
            "\"latencies_ms\":[",
            p->load_ms, p->image_ms, p->layers_ms, p->n_detections);
    for (int i = 0; i < p->n_latencies; i++)
      fprintf(p->out, "%s%.6f", i ? "," : "", p->latencies_ms[i]);
    fputc(']', p->out);
  }
  fputs("}\n", p->out);
  if (fclose(p->out) != 0) peer_fail("cannot write to standard output");
}

#endif
