/* Prints --predict --ranks: what each rank needs, what they exchange, and how long it takes. Called
 * by predict.c. */
#include "include/mafat_ranks.h"
#include "programs/run_inference/plan_report.h"
#include "programs/run_inference/options.h"

enum { MIB_WIDTH = 9, MS_WIDTH = 10, RANKS = 64 };

/* Result for one number of ranks. */
struct rank_row {
  double ms;
  size_t most_bytes; /* largest need of a rank */
  uint64_t exchanged_bytes;
  bool fits;
};

static size_t most_bytes(const struct mafat_ranks_facts *f)
{
  size_t most = 0;
  for (int i = 0; i < f->n_ranks; i++) {
    size_t bytes = f->ranks[i].arena_bytes + f->ranks[i].weights_bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

/* Writes MiB; a few bytes are "<0.1", not "0.0". */
static void put_mib(struct mafat_writer *w, double bytes)
{
  char capacity[MAFAT_NUMBER_ROOM];
  const bool few = bytes > 0 && bytes < (1 << 20) / 20;
  mafat_writer_put_right(w, few ? "<0.1" : mafat_format_fixed(capacity, bytes / (1 << 20), 1),
                         MIB_WIDTH);
}

static void put_ms(struct mafat_writer *w, double ms)
{
  char capacity[MAFAT_NUMBER_ROOM];
  mafat_writer_put_right(w, mafat_format_fixed(capacity, ms, 2), MS_WIDTH);
}

static void put_count(struct mafat_writer *w, int64_t n, int width)
{
  char capacity[MAFAT_NUMBER_ROOM];
  mafat_writer_put_right(w, mafat_format_integer(capacity, n), width);
}

/* ---- text ---- */

static void put_layers(const struct mafat_ranks_facts *f, struct mafat_writer *w)
{
  for (int i = 0; i < f->n_layers; i++) {
    const struct mafat_shared_layer_facts *l = &f->layers[i];
    put_count(w, l->layer, 7);
    mafat_writer_put(w, "  ");
    mafat_writer_put(w, l->type);
    mafat_writer_put(w, ": ");
    mafat_writer_put(w, l->how);
    mafat_writer_put(w, l->layer == f->switch_layer ? " (shared by weights from here on)\n" : "\n");
  }
}

static void put_ranks(const struct mafat_ranks_facts *f, struct mafat_writer *w)
{
  mafat_writer_put(w, "plan ");
  mafat_writer_put_plain(w, f->plan);
  mafat_writer_put(w, f->search ? ", by --search " : "");
  mafat_writer_put(w, f->search ? f->search : "");
  mafat_writer_put(w, "\n");
  put_layers(f, w);
  mafat_writer_put(
      w, "   rank arena,MiB  weights     sent received messages   compute   waiting, ms\n");
  for (int i = 0; i < f->n_ranks; i++) {
    const struct mafat_rank_facts *r = &f->ranks[i];
    put_count(w, i, 7);
    put_mib(w, (double)r->arena_bytes);
    put_mib(w, (double)r->weights_bytes);
    put_mib(w, (double)r->sent_bytes);
    put_mib(w, (double)r->received_bytes);
    put_count(w, r->messages, 9);
    put_ms(w, r->compute_ms);
    put_ms(w, r->waiting_ms);
    mafat_writer_put(w, "\n");
  }
}

static void put_rows(const struct rank_row *rows, int n, struct mafat_writer *w)
{
  int fastest = 0, least = 0;
  for (int i = 1; i < n; i++) {
    if (rows[i].fits && (!rows[fastest].fits || rows[i].ms < rows[fastest].ms)) fastest = i;
    if (rows[i].fits && (!rows[least].fits || rows[i].most_bytes < rows[least].most_bytes))
      least = i;
  }
  mafat_writer_put(w, "  ranks        ms most,MiB exchanged, MiB\n");
  for (int i = 0; i < n; i++) {
    put_count(w, i + 1, 7);
    if (rows[i].fits) {
      put_ms(w, rows[i].ms);
      put_mib(w, (double)rows[i].most_bytes);
      put_mib(w, (double)rows[i].exchanged_bytes);
    }
    mafat_writer_put(w, !rows[i].fits                ? "  does not fit"
                        : i == fastest && i == least ? "  fastest, least memory"
                        : i == fastest               ? "  fastest"
                        : i == least                 ? "  least memory"
                                                     : "");
    mafat_writer_put(w, "\n");
  }
}

/* ---- JSON ---- */

static void put_json(const struct mafat_ranks_facts *f, const struct rank_row *rows, int n,
                     struct mafat_writer *w)
{
  mafat_json_begin(w, "{");
  mafat_json_string(w, "plan", f->plan);
  mafat_json_string(w, "search", f->search);
  mafat_json_count(w, "switch_layer", f->switch_layer);
  mafat_json_number(w, "latency_ms", f->latency_ms);
  mafat_json_count(w, "exchanged_bytes", (int64_t)f->exchanged_bytes);
  mafat_json_key(w, "ranks");
  mafat_json_begin(w, "[");
  for (int i = 0; i < f->n_ranks; i++) {
    const struct mafat_rank_facts *r = &f->ranks[i];
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_count(w, "arena_bytes", (int64_t)r->arena_bytes);
    mafat_json_count(w, "weights_bytes", (int64_t)r->weights_bytes);
    mafat_json_count(w, "sent_bytes", (int64_t)r->sent_bytes);
    mafat_json_count(w, "received_bytes", (int64_t)r->received_bytes);
    mafat_json_count(w, "messages", r->messages);
    mafat_json_number(w, "compute_ms", r->compute_ms);
    mafat_json_number(w, "waiting_ms", r->waiting_ms);
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
  mafat_json_key(w, "layers");
  mafat_json_begin(w, "[");
  for (int i = 0; i < f->n_layers; i++) {
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_count(w, "layer", f->layers[i].layer);
    mafat_json_string(w, "type", f->layers[i].type);
    mafat_json_string(w, "how", f->layers[i].how);
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
  mafat_json_key(w, "numbers_of_ranks");
  mafat_json_begin(w, "[");
  for (int i = 0; i < n; i++) {
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_count(w, "ranks", i + 1);
    mafat_json_number(w, "latency_ms", rows[i].fits ? rows[i].ms : -1);
    mafat_json_count(w, "most_bytes", rows[i].fits ? (int64_t)rows[i].most_bytes : -1);
    mafat_json_count(w, "exchanged_bytes", rows[i].fits ? (int64_t)rows[i].exchanged_bytes : -1);
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
}

/* ---- both ---- */

/* The request for n ranks. The given number of ranks gets half of the time for the search, all
 * smaller numbers the other half. */
static struct mafat_ranks_request request(const struct mafat_options *o, int n_ranks)
{
  const double seconds = o->plan_seconds < 0 ? 0 : (o->plan_seconds + 1e-9) / 2;
  return (struct mafat_ranks_request){.size = sizeof(struct mafat_ranks_request),
                                      .n_ranks = n_ranks,
                                      .search = o->share,
                                      .link_bits_per_second = o->link.bits > 0 ? o->link.bits : 1e9,
                                      .link_seconds = o->link.bits > 0 ? o->link.seconds : 1e-4,
                                      .speeds = o->speed.n ? o->speed.list : NULL,
                                      .memory_bytes = o->memory.n > 1 ? o->memory.list : NULL,
                                      .plan_seconds =
                                          n_ranks < o->ranks ? seconds / (o->ranks - 1) : seconds};
}

static struct rank_row row_of(const struct mafat_ranks_facts *f)
{
  return (struct rank_row){f->latency_ms, most_bytes(f), f->exchanged_bytes, true};
}

/* Fills in rows[i] for i + 1 ranks, i < n - 1; the caller fills in the last row. If that many ranks
 * do not fit, the row stays empty. */
static int find_rows(const struct mafat_report_request *q, const struct mafat_options *o,
                     struct rank_row *rows, int n, struct mafat_diagnostic *d)
{
  for (int i = 0; i < n - 1; i++) {
    struct mafat_ranks_report *a;
    const struct mafat_ranks_request asked = request(o, i + 1);
    int code = mafat_dry_run_ranks(&a, q->dry_run, &asked, d);
    if (code && code != MAFAT_ELIMIT) return code;
    if (code) continue;
    struct mafat_ranks_facts f = {.size = sizeof f};
    mafat_ranks_report_describe(a, &f);
    rows[i] = row_of(&f);
    mafat_ranks_report_close(&a);
  }
  return MAFAT_OK;
}

int mafat_plan_report_write_ranks(const struct mafat_report_request *q,
                                  const struct mafat_options *o, struct mafat_writer *w,
                                  struct mafat_diagnostic *d)
{
  struct rank_row rows[RANKS] = {{0}};
  struct mafat_ranks_report *a;
  const struct mafat_ranks_request asked = request(o, o->ranks);
  int n = o->plan ? 0 : o->ranks;
  int code = mafat_dry_run_ranks(&a, q->dry_run, &asked, d);
  if (code) return code;
  struct mafat_ranks_facts facts = {.size = sizeof facts};
  const struct mafat_ranks_facts *f = &facts;
  mafat_ranks_report_describe(a, &facts);
  if (n) rows[n - 1] = row_of(f);
  code = find_rows(q, o, rows, n, d);
  if (code) {
    mafat_ranks_report_close(&a);
    return code;
  }
  if (o->json) {
    put_json(f, rows, n, w);
    code = mafat_json_finish_line(w);
  } else {
    put_ranks(f, w);
    mafat_writer_put(w, "in ");
    mafat_writer_put_fixed(w, f->latency_ms, 2);
    mafat_writer_put(w, " ms; ranks exchange ");
    mafat_writer_put_fixed(w, (double)f->exchanged_bytes / (1 << 20), 1);
    mafat_writer_put(w, " MiB\n");
    if (n) put_rows(rows, n, w);
    code = mafat_writer_flush(w, d);
  }
  mafat_ranks_report_close(&a);
  return code ? mafat_fail(d, code, "cannot write to standard output") : MAFAT_OK;
}
