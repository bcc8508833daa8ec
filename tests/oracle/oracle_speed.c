/* Layers of a network timed in turn: Debian's libdarknet, ours untiled, ours in
 * tiles, one thread, the same input. Prints medians and the ratio to Darknet.
 *     oracle_speed CFG WEIGHTS LAYERS PLAN [RUNS]                            */
#include "runner/executor.h"
#include "runner/process.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/oracle/oracle.h"

enum { MAX_RUNS = 99 };

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *ms, int n)
{
  qsort(ms, (size_t)n, sizeof *ms, compare);
  return ms[n / 2];
}

/* One of ours: plan, layout, executor. */
struct ours {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_executor *executor;
  double ms[MAX_RUNS];
};

static int open_ours(struct ours *o, const struct mafat_network *n, struct mafat_weights *w, int layers,
                     const char *text, struct mafat_diagnostic *d)
{
  struct mafat_executor_options options;
  int code;
  mafat_executor_defaults(&options);
  if ((code = mafat_plan_read(&o->plan, text, n, layers, NULL, d)) ||
      (code = mafat_layout_make(&o->layout, n, o->plan, d)))
    return code;
  return mafat_executor_open(&o->executor, n, o->plan, o->layout, w, &options, d);
}

static void close_ours(struct ours *o)
{
  mafat_executor_close(&o->executor);
  mafat_layout_close(&o->layout);
  mafat_plan_close(&o->plan);
}

static void time_ours(struct ours *o, const float *input, int run)
{
  mafat_executor_set_input(o->executor, input);
  double before = mafat_process_now_ms();
  mafat_executor_run(o->executor, NULL);
  o->ms[run] = mafat_process_now_ms() - before;
}

int main(int argc, char **argv)
{
  static struct ours whole, tiles;
  static double darknet_ms[MAX_RUNS];
  struct mafat_network *n = NULL;
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d;
  int layers = argc > 3 ? atoi(argv[3]) : 0, runs = argc > 5 ? atoi(argv[5]) : 3;
  if (argc < 5 || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr, "oracle_speed: expected CFG WEIGHTS LAYERS PLAN [RUNS]\n");
    return 2;
  }
  if (mafat_network_read(&n, argv[1], NULL, &d) || mafat_weights_open(&w, argv[2], n, layers, NULL, &d) ||
      open_ours(&whole, n, w, layers, "1x1/NoCut", &d) || open_ours(&tiles, n, w, layers, argv[4], &d)) {
    fprintf(stderr, "oracle_speed: %s\n", d.text);
    return 2;
  }
  network *darknet;
  if (oracle_load(&darknet, argv[1], argv[2], &d)) {
    fprintf(stderr, "oracle_speed: %s\n", d.text);
    return 1;
  }
  darknet->n = layers;
  float *input = oracle_noise(darknet);
  for (int run = 0; input && run < runs; run++) {
    double before = mafat_process_now_ms();
    network_predict(darknet, input);
    darknet_ms[run] = mafat_process_now_ms() - before;
    time_ours(&whole, input, run);
    time_ours(&tiles, input, run);
  }
  double reference = median(darknet_ms, runs), a = median(whole.ms, runs), b = median(tiles.ms, runs);
  printf("%-12s %10s %8s %10s\n", "", "ms", "ratio", "arena MB");
  printf("%-12s %10.1f %8.2f %10s\n", "Darknet", reference, 1.0, "");
  printf("%-12s %10.1f %8.2f %10.2f\n", "1x1/NoCut", a, reference / a, (double)whole.layout->total_bytes / 1048576);
  printf("%-12s %10.1f %8.2f %10.2f\n", argv[4], b, reference / b, (double)tiles.layout->total_bytes / 1048576);
  free(input);
  free_network(darknet);
  close_ours(&whole);
  close_ours(&tiles);
  mafat_weights_close(&w);
  mafat_network_close(&n);
  return 0;
}
