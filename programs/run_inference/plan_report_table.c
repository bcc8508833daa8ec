/* Writes the output of --predict --sweep and --pareto, to the caller's writer: a line for each
 * plan, or an array of JSON objects. Makes a dry run for each type of packed weights. Called by
 * predict.c. */
#include "programs/shared/progress.h"
#include "programs/run_inference/plan_report.h"

#include <math.h>

/* One line of the table. */
struct budget_row {
  size_t budget_bytes; /* sweep: budget of this line */
  bool taken;          /* sweep: the plan fits; front: the plan chosen for the dry run's budget */
  const char *plan;
  size_t charge_bytes;
  double ms;
  int threads;
  size_t paper_bytes;  /* the paper's prediction, by which the greedy search chose the plan */
};

struct budget_table {
  const struct mafat_report_request *request;
  bool sweep; /* false: the front (--pareto) */
  bool json;
  struct mafat_writer *writer;
};

enum { MIB_WIDTH = 11, MS_WIDTH = 10 };

/* ---- weights packed smaller ---- */

const char *mafat_packings_name(int index)
{
  static const char *const names[MAFAT_PACKINGS] = {
#define TYPE(CONSTANT, name, array, bits, exponent, weights) weights
#define FLOATS
#define NONE
#define NARROW(packing, ...) packing,
#define SCALED NARROW
#include "network/dtypes.def"
  };
  return names[index];
}

int mafat_packings_open(struct mafat_packings *p, const struct mafat_dry_run *dry_run,
                        struct mafat_diagnostic *d)
{
  *p = (struct mafat_packings){{NULL}};
  for (int i = 0; i < MAFAT_PACKINGS; i++) {
    mafat_progress_count(i + 2, MAFAT_PACKINGS + 1);
    int code = mafat_dry_run_pack(&p->of[i], dry_run, mafat_packings_name(i), d);
    if (code && code != MAFAT_EUNSUPPORTED) return code;
  }
  return MAFAT_OK;
}

void mafat_packings_close(struct mafat_packings *p)
{
  for (int i = 0; i < MAFAT_PACKINGS; i++) mafat_dry_run_close(&p->of[i]);
}

static const struct mafat_dry_run *packing_of(const struct budget_table *t, int index)
{
  return t->request->packings ? t->request->packings->of[index] : NULL;
}

/* Finds the fastest plan within the budget, and its index in the front. Returns false if no plan
 * fits; *found is then the plan that needs the least memory. */
static bool find_within(const struct mafat_dry_run *dry_run, size_t budget, int *index,
                        struct mafat_front_facts *found)
{
  struct mafat_front_facts next = {.size = sizeof next};
  mafat_dry_run_front(dry_run, *index = 0, found);
  if (found->charge_bytes > budget) return false;
  for (int i = 1; mafat_dry_run_front(dry_run, i, &next) == MAFAT_OK && next.charge_bytes <= budget;
       i++) {
    *index = i;
    *found = next;
  }
  return true;
}

/* ---- rows ---- */

static void put_packing_heads(const struct budget_table *t)
{
  for (int i = 0; i < MAFAT_PACKINGS; i++) {
    if (!packing_of(t, i)) continue;
    for (int ms = 0; ms < 2; ms++) {
      mafat_writer_put(t->writer, "   ");
      mafat_writer_put(t->writer, mafat_packings_name(i));
      mafat_writer_put(t->writer, ms ? "_ms" : "_MiB");
    }
  }
}

static void begin(const struct budget_table *t)
{
  if (t->json) {
    mafat_json_begin(t->writer, "[");
    return;
  }
  if (t->sweep) mafat_writer_put(t->writer, "budget_MiB  fits");
  else mafat_writer_put(t->writer, "taken");
  mafat_writer_put(t->writer, "  needs_MiB        ms");
  if (t->sweep && t->request->facts.greedy) mafat_writer_put(t->writer, "  paper_MiB");
  if (t->request->facts.threads == MAFAT_THREADS_AUTO) mafat_writer_put(t->writer, "  threads");
  put_packing_heads(t);
  mafat_writer_put(t->writer, "  plan\n");
}

static void put_cell(struct mafat_writer *w, double value, int decimals, int width)
{
  char capacity[MAFAT_NUMBER_ROOM];
  mafat_writer_put(w, " "); /* separates columns even if a number fills its column */
  mafat_writer_put_right(w, mafat_format_fixed(capacity, value, decimals), width - 1);
}

static void put_packing_cells(const struct budget_table *t, size_t budget)
{
  struct mafat_front_facts f = {.size = sizeof f};
  int index;
  for (int i = 0; i < MAFAT_PACKINGS; i++) {
    if (!packing_of(t, i)) continue;
    bool fits = find_within(packing_of(t, i), budget, &index, &f);
    put_cell(t->writer, (double)f.charge_bytes / 1048576, 1, MIB_WIDTH);
    put_cell(t->writer, fits ? f.latency_ms : INFINITY, 1, MS_WIDTH);
  }
}

static void put_line(const struct budget_table *t, const struct budget_row *r)
{
  struct mafat_writer *w = t->writer;
  if (t->sweep) put_cell(w, (double)r->budget_bytes / 1048576, 1, 10);
  mafat_writer_put_right(w, r->taken ? "yes" : t->sweep ? "no" : "-", t->sweep ? 6 : 5);
  put_cell(w, (double)r->charge_bytes / 1048576, 1, MIB_WIDTH);
  put_cell(w, r->ms, 1, MS_WIDTH);
  if (t->sweep && t->request->facts.greedy)
    put_cell(w, (double)r->paper_bytes / 1048576, 1, MIB_WIDTH);
  if (t->request->facts.threads == MAFAT_THREADS_AUTO) put_cell(w, r->threads, 0, 9);
  put_packing_cells(t, r->budget_bytes);
  mafat_writer_put(w, "  ");
  mafat_writer_put(w, r->plan);
  mafat_writer_put(w, "\n");
}

static void put_choice(struct mafat_writer *w, const char *taken, const struct budget_row *r)
{
  mafat_json_key(w, taken);
  mafat_writer_put(w, r->taken ? "true" : "false");
  mafat_json_string(w, "plan", r->plan);
  mafat_json_count(w, "threads", r->threads);
  mafat_json_count(w, "predicted_charge_bytes", (int64_t)r->charge_bytes);
  mafat_json_number(w, "predicted_latency_ms", r->ms);
}

static void put_packing_objects(const struct budget_table *t, size_t budget)
{
  struct mafat_writer *w = t->writer;
  struct mafat_front_facts f = {.size = sizeof f};
  int index;
  mafat_json_key(w, "packed");
  mafat_json_begin(w, "[");
  for (int i = 0; i < MAFAT_PACKINGS; i++) {
    if (!packing_of(t, i)) continue;
    bool fits = find_within(packing_of(t, i), budget, &index, &f);
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_string(w, "weights", mafat_packings_name(i));
    put_choice(w, "fits",
               &(struct budget_row){budget, fits, f.text, f.charge_bytes, f.latency_ms, f.threads,
                                    0});
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
}

static void put_object(const struct budget_table *t, const struct budget_row *r)
{
  struct mafat_writer *w = t->writer;
  mafat_json_separate(w);
  mafat_json_begin(w, "{");
  if (t->sweep) mafat_json_count(w, "memory_budget_bytes", (int64_t)r->budget_bytes);
  put_choice(w, t->sweep ? "fits" : "taken", r);
  if (t->request->packings) put_packing_objects(t, r->budget_bytes);
  if (t->sweep && t->request->facts.greedy)
    mafat_json_count(w, "paper_bytes", (int64_t)r->paper_bytes);
  mafat_json_end(w, "}");
}

static void put_row(const struct budget_table *t, const struct budget_row *r)
{
  if (t->json) put_object(t, r);
  else put_line(t, r);
}

static int end(const struct budget_table *t)
{
  if (t->json) {
    mafat_json_end(t->writer, "]");
    mafat_writer_put(t->writer, "\n");
    t->writer->comma = false;
  }
  return mafat_writer_flush(t->writer, NULL);
}

static void sweep_best(const struct budget_table *t, size_t budget, bool *any)
{
  struct mafat_front_facts f = {.size = sizeof f};
  int index;
  bool fits = find_within(t->request->dry_run, budget, &index, &f);
  if (fits) *any = true;
  put_row(t,
          &(struct budget_row){budget, fits, f.text, f.charge_bytes, f.latency_ms, f.threads, 0});
}

static int sweep_greedy(const struct budget_table *t, size_t budget, bool *any,
                        struct mafat_diagnostic *d)
{
  struct mafat_plan_report *a;
  struct mafat_paper_facts paper = {.size = sizeof paper};
  int code = mafat_dry_run_report(&a, t->request->dry_run, budget, d);
  if (code == MAFAT_OK) code = mafat_plan_report_paper(a, &paper, d);
  if (code == MAFAT_OK) {
    struct mafat_plan_facts p = {.size = sizeof p};
    mafat_plan_report_describe(a, &p);
    if (p.fits) *any = true;
    put_row(t, &(struct budget_row){budget, p.fits, p.text, p.memory.charge_bytes, p.latency_ms,
                                    p.threads, paper.bytes});
  }
  mafat_plan_report_close(&a);
  return code;
}

int mafat_plan_report_write_sweep(const struct mafat_report_request *q, const size_t *budgets,
                                  int n, bool json, struct mafat_writer *w, bool *any,
                                  struct mafat_diagnostic *d)
{
  struct budget_table t = {q, true, json, w};
  int code = MAFAT_OK;
  *any = false;
  begin(&t);
  for (int i = 0; i < n && code == MAFAT_OK; i++) {
    if (q->facts.greedy) code = sweep_greedy(&t, budgets[i], any, d);
    else sweep_best(&t, budgets[i], any);
  }
  return code ? code : end(&t);
}

int mafat_plan_report_write_front(const struct mafat_report_request *q, bool json,
                                  struct mafat_writer *w, bool *any)
{
  struct budget_table t = {q, false, json, w};
  struct mafat_front_facts f = {.size = sizeof f};
  int taken;
  *any = find_within(q->dry_run, q->facts.budget_bytes, &taken, &f);
  begin(&t);
  for (int i = 0; mafat_dry_run_front(q->dry_run, i, &f) == MAFAT_OK; i++)
    put_row(&t, &(struct budget_row){0, *any && i == taken, f.text, f.charge_bytes, f.latency_ms,
                                     f.threads, 0});
  return end(&t);
}
