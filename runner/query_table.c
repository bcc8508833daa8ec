/* --predict --sweep and --pareto: a plan a line, or one array of objects. */
#include "runner/query.h"

/* A line. */
struct row {
  size_t budget_bytes; /* sweep */
  bool taken;          /* sweep: it fits; front: it is what the query's budget takes */
  const char *plan;
  size_t charge_bytes;
  double ms;
  int threads;         /* 0: as the options say */
  size_t paper_bytes;  /* greedy: what it went by */
};

struct table {
  const struct mafat_query *query;
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
  if (t->sweep && t->query->request.greedy) mafat_writer_put(t->writer, "  paper_MB");
  if (t->query->request.search.most_threads) mafat_writer_put(t->writer, "  threads");
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
  if (t->sweep && t->query->request.greedy) put_cell(w, (double)r->paper_bytes / 1048576, 2, MB_WIDTH);
  if (t->query->request.search.most_threads) put_cell(w, r->threads, 0, 9);
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
  mafat_json_count(w, "threads", r->threads ? r->threads : t->query->basis.options.n_threads);
  mafat_json_count(w, "predicted_charge_bytes", (int64_t)r->charge_bytes);
  mafat_json_number(w, "predicted_latency_ms", r->ms);
  if (t->sweep && t->query->request.greedy) mafat_json_count(w, "paper_bytes", (int64_t)r->paper_bytes);
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

static void sweep_best(const struct table *t, size_t budget, bool *any)
{
  const struct mafat_candidate *found = mafat_front_within(t->query->front, budget);
  const struct mafat_candidate *c = found ? found : &t->query->front->list[0];
  if (found) *any = true;
  put_row(t, &(struct row){budget, found != NULL, c->text, c->charge_bytes, c->ms, c->threads, 0});
}

static int sweep_greedy(const struct table *t, size_t budget, bool *any, struct mafat_diagnostic *d)
{
  struct mafat_query query = *t->query;
  struct mafat_answer a;
  query.request.budget_bytes = budget;
  int code = mafat_query_answer(&a, &query, true, d);
  if (code == MAFAT_OK) {
    const struct mafat_choice *c = &a.choice;
    if (c->fits) *any = true;
    put_row(t, &(struct row){budget, c->fits, c->text, c->prediction.charge_bytes, c->latency.total_ms, c->plan->n_threads, a.paper->bytes});
  }
  mafat_answer_close(&a);
  return code;
}

int mafat_query_write_sweep(const struct mafat_query *q, const size_t *budgets, int n, bool json,
                            struct mafat_writer *w, bool *any, struct mafat_diagnostic *d)
{
  struct table t = {q, true, json, w};
  int code = MAFAT_OK;
  *any = false;
  begin(&t);
  for (int i = 0; i < n && code == MAFAT_OK; i++) {
    if (q->request.greedy) code = sweep_greedy(&t, budgets[i], any, d);
    else sweep_best(&t, budgets[i], any);
  }
  return code ? code : end(&t);
}

int mafat_query_write_front(const struct mafat_query *q, bool json, struct mafat_writer *w, bool *any)
{
  struct table t = {q, false, json, w};
  const struct mafat_candidate *taken = mafat_front_within(q->front, q->request.budget_bytes);
  *any = taken != NULL;
  begin(&t);
  for (int i = 0; i < q->front->n; i++) {
    const struct mafat_candidate *c = &q->front->list[i];
    put_row(&t, &(struct row){0, c == taken, c->text, c->charge_bytes, c->ms, c->threads, 0});
  }
  return end(&t);
}
