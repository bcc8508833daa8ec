/* Counts connections and answers, and writes the counters as metrics. Called by connection.c and
 * server.c. The metrics are written to the file that held the request's body. */
#include "programs/mafat_serve/connection_pool.h"

#include "programs/mafat_serve/work.h"

#include <stdio.h>

enum {
  PAGE = 4096,
  ANSWER = 16 << 10
}; /* ANSWER: least capacity of an answer in bytes, enough for about a hundred boxes */

const int mafat_pool_statuses[MAFAT_POOL_STATUSES] = {200, 400, 401, 403, 404, 405, 408, 411, 413,
                                                      415, 417, 422, 429, 431, 500, 503, 505, 0};

size_t mafat_pool_pages(size_t bytes)
{
  return (bytes + PAGE - 1) / PAGE * PAGE;
}

size_t mafat_pool_need(size_t bytes)
{
  return mafat_pool_pages(bytes < ANSWER ? ANSWER : bytes);
}

void mafat_pool_count(struct mafat_connection_pool *pool, int status)
{
  int i = 0;
  while (i < MAFAT_POOL_STATUSES - 1 && mafat_pool_statuses[i] != status) i++;
  pool->answers[i]++;
}

double mafat_pool_waiting_ms(struct mafat_connection_pool *pool)
{
  const struct mafat_job_queue_counts c = mafat_job_queue_counts(pool->job_queue);
  return c.picture_ms * (c.n_ahead + c.runs);
}

/* ---- metrics ---- */

static void put_head(struct mafat_writer *w, const char *name, const char *type, const char *help)
{
  const char *const words[] = {"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) mafat_writer_put(w, words[i]);
}

static void put_value(struct mafat_writer *w, const char *name, double value)
{
  mafat_writer_put(w, name);
  mafat_writer_put(w, " ");
  mafat_json_put_number(w, value);
  mafat_writer_put(w, "\n");
}

static void put_metric(struct mafat_writer *w, const char *name, const char *type, const char *help,
                       double value)
{
  put_head(w, name, type, help);
  put_value(w, name, value);
}

static void put_answers(struct mafat_writer *w, const struct mafat_connection_pool *pool)
{
  static const char name[] = "mafat_answers_total";
  char line[64];
  put_head(w, name, "counter", "Answers, by the status of HTTP.");
  for (int i = 0; i < MAFAT_POOL_STATUSES; i++) {
    if (!pool->answers[i] || !mafat_pool_statuses[i]) continue;
    snprintf(line, sizeof line, "%s{code=\"%d\"}", name, mafat_pool_statuses[i]);
    put_value(w, line, (double)pool->answers[i]);
  }
}

static void put_pictures(struct mafat_writer *w, const struct mafat_job_queue_counts *c)
{
  static const char name[] = "mafat_picture_seconds";
  char line[64];
  const struct {
    const char *part;
    double ms;
  } parts[] = {{"decode", c->image_ms}, {"layers", c->layers_ms}, {"wait", c->waited_ms}};
  put_metric(w, "mafat_pictures_total", "counter", "Pictures that were answered.",
             (double)c->pictures);
  put_metric(w, "mafat_pictures_refused_total", "counter",
             "Pictures that could not be read, or did not fit.", (double)c->refused_pictures);
  put_metric(w, "mafat_runs_failed_total", "counter",
             "Runs that failed for another reason than their picture.", (double)c->failed_runs);
  put_head(w, name, "counter", "Seconds that pictures took, by what was done.");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    snprintf(line, sizeof line, "%s{part=\"%s\"}", name, parts[i].part);
    put_value(w, line, parts[i].ms * 1e-3);
  }
  put_metric(w, "mafat_pictures_waiting", "gauge", "Requests in line.", c->n_waiting);
  put_metric(w, "mafat_plans_total", "counter", "Answers about plans, and maps.", (double)c->plans);
}

size_t mafat_pool_write_metrics(struct mafat_connection_pool *pool, int fd, size_t capacity)
{
  struct mafat_writer w;
  struct mafat_process_facts process = {.size = sizeof process};
  const struct mafat_job_queue_counts c = mafat_job_queue_counts(pool->job_queue);
  mafat_process_measure(&process);
  mafat_work_begin(&w, fd, capacity);
  put_answers(&w, pool);
  put_pictures(&w, &c);
  put_metric(&w, "mafat_connections", "gauge", "Connections that are open.",
             pool->n_held + pool->n_spare);
  put_metric(&w, "mafat_connections_total", "counter", "Connections that were accepted.",
             (double)pool->accepted);
  put_metric(&w, "mafat_connections_evicted_total", "counter",
             "Of them, those that were closed for others.", (double)pool->evicted);
  put_metric(&w, "mafat_connections_lost_total", "counter",
             "Of them, those that ended before their answer.", (double)pool->lost);
  put_metric(&w, "mafat_body_bytes_total", "counter", "Bytes of bodies that were read.",
             (double)pool->body_bytes);
  put_metric(&w, "mafat_room_bytes", "gauge", "Room for requests and answers.",
             (double)pool->room.capacity);
  put_metric(&w, "mafat_room_used_bytes", "gauge", "Of it, what is in use.",
             (double)pool->room.used);
  if (pool->budget_bytes != SIZE_MAX)
    put_metric(&w, "mafat_budget_bytes", "gauge", "The memory budget.", (double)pool->budget_bytes);
  put_metric(&w, "mafat_predicted_charge_bytes", "gauge",
             "What is predicted to be charged for, at most.", (double)pool->charge_bytes);
  if (process.resident_bytes)
    put_metric(&w, "process_resident_memory_bytes", "gauge", "Resident now.",
               (double)process.resident_bytes);
  put_metric(&w, "process_major_faults_total", "counter", "Pages that had to be read.",
             (double)process.major_faults);
  return mafat_work_end(&w);
}
