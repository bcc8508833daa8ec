/* Program: counts the bytes that move between a small fast memory and the slow one, by formula and
 * by copying them, for three choices of units (a unit is one or more layers that are computed
 * together): baseline (each layer alone), latency (least predicted ms), transfers (fewest bytes).
 *
 *   separable [--fast BYTES] [--bytes N] [--logits N] [--units] MODEL
 *
 *   separable --plan TEXT... [--rounds N] [--seconds S] [--cpu LEVEL] MODEL
 *
 * Writes CSV: a line for each choice, with its plan; --units: a line for each unit. --fast BYTES:
 * capacity of the fast memory. --bytes N: bytes of an element and of a weight; --logits N: bytes of
 * an element of the last layer's output; with these, the types in the file are ignored. Predicted
 * ms are for one thread. --plan, repeatable: times plans in turn and writes the least ms of each;
 * "apart" stands for whole maps with no layer inside another's step. Started by run.py. */
#include "experiments/separable/copying.h"
#include "experiments/separable/timing.h"
#include "predictor/planning/planning.h"
#include "predictor/transfers/prices.h"
#include "predictor/transfers/units_spec.h"
#include "runner/calibrate/calibrate_file.h"
#include "runner/kernels/kernels.h"
#include "api/model_files.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void die(const char *text)
{
  fprintf(stderr, "separable: %s\n", text);
  exit(1);
}

enum { N_CHOICES = 3 };
static const char *const names[N_CHOICES] = {"baseline", "latency", "transfers"};

static void print_units(const char *choice, const struct mafat_network *n,
                        const struct mafat_transfers *t, const struct mafat_unit_latency *l)
{
  for (int i = 0; i < t->n; i++) {
    const struct mafat_unit *u = &t->units[i];
    printf("%s,%d,%d,%s,%s,%d,%d,%d,%d,%llu,%llu,%llu,%llu,%llu,%s,%s\n", choice, u->layers[0],
           u->layers[u->n - 1], mafat_layer_type_name(n->layers[u->layers[0]].type),
           mafat_fused_name(u->how), u->extent, u->channels, u->n_rows, u->n_channels,
           (unsigned long long)u->input_bytes, (unsigned long long)u->again_bytes,
           (unsigned long long)u->output_bytes, (unsigned long long)u->weight_bytes,
           (unsigned long long)u->capacity_bytes, u->fits ? "yes" : "no",
           mafat_unit_can_run(l, u) ? "yes" : "not yet");
  }
}

/* Prints the plan as text, in the format of --plan. */
static void print_plan(const struct mafat_network *n, const struct mafat_transfers *t)
{
  struct mafat_spec *spec, *canonical;
  struct mafat_plan *plan;
  struct mafat_diagnostic d;
  if (mafat_units_spec(&spec, n, n->n_layers, t->units, t->n, NULL)) die("out of memory");
  if (mafat_plan_make(&plan, spec, n, n->n_layers, NULL, &d)) die(d.text);
  char *text = mafat_plan_spec(&canonical, plan, n) ? NULL : mafat_spec_text(canonical);
  if (!text) die("out of memory");
  printf(",\"%s\"\n", text);
  free(text);
  mafat_spec_close(&canonical);
  mafat_spec_close(&spec);
  mafat_plan_close(&plan);
}

static void print_choice(const char *choice, const struct mafat_network *n,
                         const struct mafat_transfers_options *o, const struct mafat_transfers *t,
                         const struct mafat_unit_latency *l)
{
  struct copy_counters c = {0};
  double ms = 0;
  int fused[MAFAT_N_FUSED] = {0};
  for (int i = 0; i < t->n; i++) {
    ms += mafat_unit_ms(l, &t->units[i]);
    fused[t->units[i].how]++;
    if (!t->units[i].fits) c.wrong = "a unit has no room";
    else if (copy_unit(&c, n, o, &t->units[i])) die("out of memory");
  }
  printf("%s,%llu,%llu,%llu,", choice, (unsigned long long)t->activation_bytes,
         (unsigned long long)t->again_bytes, (unsigned long long)t->weight_bytes);
  if (c.wrong) printf(",,,");
  else
    printf("%llu,%llu,%llu,", (unsigned long long)(c.in + c.out), (unsigned long long)c.weights,
           (unsigned long long)c.moved);
  for (int i = 1; i < MAFAT_N_FUSED; i++) printf("%d,", fused[i]);
  if (isfinite(ms)) printf("%.4f", ms);
  print_plan(n, t);
}

static void print_times(struct timed_plan *plans, int n_plans, const struct mafat_network *n,
                        const char *path, const char *cpu, int rounds, double seconds)
{
  struct mafat_diagnostic d;
  if (time_plans(plans, n_plans, n, path, cpu, rounds, seconds, &d)) die(d.text);
  printf("plan,ms,convolutions_ms\n");
  for (int i = 0; i < n_plans; i++)
    printf("\"%s\",%.5f,%.5f\n", plans[i].all_maps ? "apart" : plans[i].text, plans[i].ms,
           plans[i].convolutions_ms);
}

/* Gives the unit the fastest extent (rows that are computed at a time), and counts its bytes again.
 * Does nothing if the unit then does not fit the fast memory. */
static void choose_fastest(struct mafat_transfers *t, int index, const struct mafat_network *n,
                         const struct mafat_transfers_options *o,
                         const struct mafat_unit_latency *l)
{
  struct mafat_unit *u = &t->units[index], fastest = *u;
  fastest.extent = mafat_unit_fastest(l, u);
  if (u->how == MAFAT_FUSED_NONE || !mafat_unit_count_at(&fastest, n, o)) return;
  t->activation_bytes += mafat_unit_activations(&fastest) - mafat_unit_activations(u);
  t->again_bytes += fastest.again_bytes - u->again_bytes;
  *u = fastest;
}

int main(int argc, char **argv)
{
  static const struct option options[] = {{"fast", 1, NULL, 'f'},    {"bytes", 1, NULL, 'b'},
                                          {"logits", 1, NULL, 'l'},  {"units", 0, NULL, 'u'},
                                          {"plan", 1, NULL, 'p'},    {"rounds", 1, NULL, 'r'},
                                          {"seconds", 1, NULL, 's'}, {"cpu", 1, NULL, 'c'},
                                          {NULL, 0, NULL, 0}};
  struct mafat_transfers_options o = {.fast_bytes = 65536};
  struct timed_plan plans[MOST_TIMED];
  bool units = false;
  const char *cpu = NULL;
  int rounds = 1 << 30, n_plans = 0;
  double seconds = 0;
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (c == 'f') o.fast_bytes = strtoull(optarg, NULL, 10);
    else if (c == 'b') o.element_bytes = atoi(optarg);
    else if (c == 'l') o.logit_bytes = atoi(optarg);
    else if (c == 'u') units = true;
    else if (c == 'p' && n_plans < MOST_TIMED)
      plans[n_plans++] = (struct timed_plan){strcmp(optarg, "apart") ? optarg : "1x1",
                                             strcmp(optarg, "apart") == 0, 0, 0};
    else if (c == 'r') rounds = atoi(optarg);
    else if (c == 's') seconds = atof(optarg);
    else if (c == 'c') cpu = optarg;
    else return 2;
  }
  if (argc - optind != 1) die("expected one model");
  struct mafat_network *n;
  struct mafat_diagnostic d;
  struct mafat_calibration calibration;
  struct mafat_unit_latency latency;
  if (mafat_model_network(&n, argv[optind], NULL, NULL, NULL, &d)) die(d.text);
  if (n_plans) {
    print_times(plans, n_plans, n, argv[optind], cpu, rounds, seconds);
    mafat_network_close(&n);
    return 0;
  }
  mafat_calibration_load(&calibration, mafat_kernels_find(cpu)->name, NULL);
  mafat_calibration_choose_integers(&calibration);
  struct mafat_plan_options plan_options;
  mafat_plan_defaults(&plan_options);
  if (mafat_unit_latency_open(&latency, n, n->n_layers, &plan_options, &calibration, &d))
    die(d.text);
  if (units)
    printf("choice,first,last,type,how,extent,channels,row_tiles,channel_tiles,input,again,output,"
           "weights,room,fits,runs\n");
  else
    printf("choice,activations,again,weights,copied,copied_weights,moved_inside,dw_pw_rows,pw_dw_"
           "channels,pw_dw_rows,bottleneck_rows,predicted_ms,plan\n");
  for (int i = 0; i < N_CHOICES; i++) {
    struct mafat_unit_price by_ms = {mafat_unit_ms, &latency}, by_bytes = {mafat_unit_bytes, n};
    struct mafat_transfers t;
    int code = i == 0 ? mafat_transfers_unfused(&t, n, n->n_layers, &o)
                      : mafat_transfers_choose(&t, n, n->n_layers, &o, i == 1 ? &by_ms : &by_bytes);
    if (code) die("out of memory");
    for (int k = 0; k < t.n && i == 1; k++) choose_fastest(&t, k, n, &o, &latency);
    if (units) print_units(names[i], n, &t, &latency);
    else print_choice(names[i], n, &o, &t, &latency);
    mafat_transfers_close(&t);
  }
  mafat_unit_latency_close(&latency);
  mafat_network_close(&n);
  return 0;
}
