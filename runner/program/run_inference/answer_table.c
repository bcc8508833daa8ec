/* --predict --sweep and --pareto: a plan a line, or one array of objects. */
#include "runner/program/run_inference/answer.h"

/* A line. */
struct row {
  size_t budget_bytes; /* sweep */
  bool taken;          /* sweep: it fits; front: it is what the query's budget takes */
  const char *plan;
  size_t charge_bytes;
  double ms;
  int threads;
  size_t paper_bytes;  /* greedy: what it went by */
};

struct table {
  const struct mafat_question *question;
  bool sweep; /* else the front */
  bool json;
  struct mafat_writer *writer;
};

enum { MB_WIDTH = 10, MS_WIDTH = 10 };

static void begin(const struct table *t)
{
  if (t->json) {
    mafat_json_begin(t->writer, "[");
    return;
  }
  if (t->sweep) mafat_writer_put(t->writer, "budget_MB  fits");
  else mafat_writer_put(t->writer, "taken");
  mafat_writer_put(t->writer, "  needs_MB        ms");
  if (t->sweep && t->question->facts.greedy) mafat_writer_put(t->writer, "  paper_MB");
  if (t->question->facts.threads == 0) mafat_writer_put(t->writer, "  threads");
  mafat_writer_put(t->writer, "  plan\n");
}

static void put_cell(struct mafat_writer *w, double value, int decimals, int width)
{
  char room[MAFAT_NUMBER_ROOM];
  mafat_writer_put(w, " "); /* also where a number is wider */
  mafat_writer_put_right(w, mafat_format_fixed(room, value, decimals), width - 1);
}

static void put_line(const struct table *t, const struct row *r)
{
  struct mafat_writer *w = t->writer;
  if (t->sweep) put_cell(w, (double)r->budget_bytes / 1048576, 2, 9);
  mafat_writer_put_right(w, r->taken ? "yes" : t->sweep ? "no" : "-", t->sweep ? 6 : 5);
  put_cell(w, (double)r->charge_bytes / 1048576, 2, MB_WIDTH);
  put_cell(w, r->ms, 1, MS_WIDTH);
  if (t->sweep && t->question->facts.greedy) put_cell(w, (double)r->paper_bytes / 1048576, 2, MB_WIDTH);
  if (t->question->facts.threads == 0) put_cell(w, r->threads, 0, 9);
  mafat_writer_put(w, "  ");
  mafat_writer_put(w, r->plan);
  mafat_writer_put(w, "\n");
}

static void put_object(const struct table *t, const struct row *r)
{
  struct mafat_writer *w = t->writer;
  mafat_json_separate(w);
  mafat_json_begin(w, "{");
  if (t->sweep) mafat_json_count(w, "memory_budget_bytes", (int64_t)r->budget_bytes);
  mafat_json_key(w, t->sweep ? "fits" : "taken");
  mafat_writer_put(w, r->taken ? "true" : "false");
  mafat_json_string(w, "plan", r->plan);
  mafat_json_count(w, "threads", r->threads);
  mafat_json_count(w, "predicted_charge_bytes", (int64_t)r->charge_bytes);
  mafat_json_number(w, "predicted_latency_ms", r->ms);
  if (t->sweep && t->question->facts.greedy) mafat_json_count(w, "paper_bytes", (int64_t)r->paper_bytes);
  mafat_json_end(w, "}");
}

static void put_row(const struct table *t, const struct row *r)
{
  if (t->json) put_object(t, r);
  else put_line(t, r);
}

static int end(const struct table *t)
{
  if (t->json) {
    mafat_json_end(t->writer, "]");
    mafat_writer_put(t->writer, "\n");
    t->writer->comma = false;
  }
  return mafat_writer_flush(t->writer, NULL);
}

/* The fastest plan within the budget; false, and the least one, if there is none. */
static bool find_within(const struct table *t, size_t budget, int *index, struct mafat_front_facts *found)
{
  struct mafat_front_facts next;
  mafat_query_front(t->question->query, *index = 0, found);
  if (found->charge_bytes > budget) return false;
  for (int i = 1; mafat_query_front(t->question->query, i, &next) == MAFAT_OK && next.charge_bytes <= budget; i++) {
    *index = i;
    *found = next;
  }
  return true;
}

static void sweep_best(const struct table *t, size_t budget, bool *any)
{
  struct mafat_front_facts f;
  int index;
  bool fits = find_within(t, budget, &index, &f);
  if (fits) *any = true;
  put_row(t, &(struct row){budget, fits, f.text, f.charge_bytes, f.latency_ms, f.threads, 0});
}

static int sweep_greedy(const struct table *t, size_t budget, bool *any, struct mafat_diagnostic *d)
{
  struct mafat_answer *a;
  struct mafat_paper_facts paper;
  int code = mafat_query_answer(&a, t->question->query, budget, d);
  if (code == MAFAT_OK) code = mafat_answer_paper(a, &paper, d);
  if (code == MAFAT_OK) {
    struct mafat_plan_facts p;
    mafat_answer_describe(a, &p);
    if (p.fits) *any = true;
    put_row(t, &(struct row){budget, p.fits, p.text, p.memory.charge_bytes, p.latency_ms, p.threads, paper.bytes});
  }
  mafat_answer_close(&a);
  return code;
}

int mafat_answer_write_sweep(const struct mafat_question *q, const size_t *budgets, int n, bool json,
                             struct mafat_writer *w, bool *any, struct mafat_diagnostic *d)
{
  struct table t = {q, true, json, w};
  int code = MAFAT_OK;
  *any = false;
  begin(&t);
  for (int i = 0; i < n && code == MAFAT_OK; i++) {
    if (q->facts.greedy) code = sweep_greedy(&t, budgets[i], any, d);
    else sweep_best(&t, budgets[i], any);
  }
  return code ? code : end(&t);
}

int mafat_answer_write_front(const struct mafat_question *q, bool json, struct mafat_writer *w, bool *any)
{
  struct table t = {q, false, json, w};
  struct mafat_front_facts f;
  int taken;
  *any = find_within(&t, q->facts.budget_bytes, &taken, &f);
  begin(&t);
  for (int i = 0; mafat_query_front(q->query, i, &f) == MAFAT_OK; i++)
    put_row(&t, &(struct row){0, *any && i == taken, f.text, f.charge_bytes, f.latency_ms, f.threads, 0});
  return end(&t);
}
