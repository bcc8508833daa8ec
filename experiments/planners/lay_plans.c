/* Prints a model's graph, or lays out and runs plans. Used by the Python scripts of this folder.
 *
 *   lay_plans --graph MODEL                   prints the layers whose order is planned, what each
 *                                             reads, and the bytes of its output (lay_graph.c)
 *   lay_plans [--rounds N] [--filled] MODEL   reads plans from standard input, one a line, and
 *                                             prints a line of JSON for each
 *
 * A line has the plan's text, arena bytes, peak of live bytes, the number of bytes that a run
 * wrote and the offset after the last one, a hash of all outputs, multiply-adds, live bytes at each
 * step, and each group's peak. With --rounds N each plan is timed N times: once in every round, so
 * that other load on the machine affects all plans. The line then has the milliseconds of each
 * round and the least of each group. --rounds 0, the default, does not run plans, unless --filled
 * is given. Convolutions are direct, with one thread. An invalid plan gives a line with "error". */
#include "experiments/planners/lay_plans.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static struct mafat_diagnostic diagnostic;

static _Noreturn void die(const char *text)
{
  fprintf(stderr, "lay_plans: %s\n", text);
  exit(1);
}

struct lay_plan *lay_plan_open(struct lay_model *m, const char *text, bool keep_all,
                               struct mafat_diagnostic *d)
{
  struct mafat_plan_options options;
  struct lay_plan *p = calloc(1, sizeof *p);
  if (!p || !(p->text = strdup(text))) die("out of memory");
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  options.keep_all = keep_all;
  if (mafat_plan_read(&p->plan, text, m->network, m->network->n_layers, &options, d) == MAFAT_OK &&
      mafat_layout_make(&p->layout, m->network, p->plan, d) == MAFAT_OK)
    return p;
  lay_plan_close(p);
  return NULL;
}

void lay_plan_close(struct lay_plan *p)
{
  mafat_executor_close(&p->executor);
  mafat_layout_close(&p->layout);
  mafat_plan_close(&p->plan);
  free(p->group_ms);
  free(p->text);
  free(p);
}

static void put_error(FILE *out)
{
  fputs("{\"error\": \"", out);
  for (const char *c = diagnostic.text; *c; c++) {
    if (*c == '"' || *c == '\\') fputc('\\', out);
    fputc(*c, out);
  }
  fputs("\"}\n", out);
}

/* Makes inputs: floats from 0 to 1, integers of more than 8 bits from 0 to 999. */
static void make_inputs(struct lay_model *m)
{
  int n = m->network->n_inputs;
  m->inputs = calloc((size_t)n, sizeof *m->inputs);
  m->orders = calloc((size_t)n, sizeof *m->orders);
  for (int i = 0; i < n; i++) {
    struct mafat_shape s = m->network->layers[m->network->n_layers + i].out;
    size_t size = (size_t)mafat_shape_elements(s);
    mafat_network_input_order(m->network, i, &m->orders[i]);
    bool whole = m->orders[i].type == MAFAT_I32 || m->orders[i].type == MAFAT_I64;
    if (!(m->inputs[i] = malloc(size * sizeof(float)))) die("out of memory");
    for (size_t k = 0; k < size; k++)
      m->inputs[i][k] = (float)((k * 2654435761u >> 8) % 1000) / (whole ? 1.f : 1000.f);
  }
}

static void run_plans(struct lay_model *m, int rounds, bool filled)
{
  struct lay_plan **plans = NULL;
  size_t n = 0;
  static char line[LAY_MAX_TEXT];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    if (!(plans = realloc(plans, (n + 1) * sizeof *plans))) die("out of memory");
    struct lay_plan *p = plans[n++] = lay_plan_open(m, line, false, &diagnostic);
    if (p && (rounds || filled) && lay_plan_run(m, p, &diagnostic)) die(diagnostic.text);
    if (!p) put_error(stdout);
    else if (!rounds) lay_plan_write(m, p, 0, stdout);
    if (p && !rounds) lay_plan_close(p);
  }
  for (int round = 0; round < rounds; round++)
    for (size_t i = 0; i < n; i++)
      if (plans[i] && lay_plan_time(plans[i], round, &diagnostic)) die(diagnostic.text);
  for (size_t i = 0; i < n && rounds; i++)
    if (plans[i]) lay_plan_write(m, plans[i], rounds, stdout);
  free(plans);
}

int main(int argc, char **argv)
{
  struct lay_model m = {0};
  bool graph = false, filled = false;
  int rounds = 0;
  static const struct option options[] = {{"graph", no_argument, NULL, 'g'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {"filled", no_argument, NULL, 'f'},
                                          {NULL, 0, NULL, 0}};
  for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
    switch (o) {
    case 'g': graph = true; break;
    case 'f': filled = true; break;
    case 'r': rounds = atoi(optarg); break;
    default: die("see the head of lay_plans.c");
    }
  if (argc - optind != 1 || rounds < 0 || rounds > LAY_MAX_ROUNDS)
    die("expected [--graph | --filled | --rounds N] MODEL");
  m.path = argv[optind];
  m.kernels = mafat_kernels_find(NULL);
  if (mafat_model_network(&m.network, m.path, NULL, NULL, NULL, &diagnostic)) die(diagnostic.text);
  if (graph) {
    if (lay_graph_write(&m, stdout, &diagnostic)) die(diagnostic.text);
  } else {
    make_inputs(&m);
    run_plans(&m, rounds, filled);
  }
  return fflush(stdout) ? 1 : 0;
}
