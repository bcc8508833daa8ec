/* --predict: nothing is run. */
#include "programs/shared/progress.h"
#include "programs/run_inference/answer.h"
#include "programs/run_inference/map.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/session.h"

#include <string.h>

/* What has been said when it ends. */
struct said {
  bool answer; /* is on standard output */
  bool map_failed;
};

/* What was asked, beside the query. */
static struct mafat_question make_question(const struct mafat_session *s, const struct mafat_query *query)
{
  struct mafat_question q = {.query = query, .cfg = s->options.cfg, .picture = mafat_session_picture(s),
                             .facts.size = sizeof q.facts};
  mafat_query_describe(query, &q.facts);
  q.own_weights = !s->options.weights && !q.facts.weights_assumed;
  return q;
}

/* What does not fit is told, and drawn, and why the exit status is not 0. */
static int answer_one(struct mafat_session *s, const struct mafat_question *asked, struct said *said)
{
  struct mafat_answer *a;
  struct mafat_paper_facts paper = {.size = sizeof paper};
  int code = mafat_query_answer(&a, asked->query, 0, &s->d);
  if (code == MAFAT_OK && s->options.paper) code = mafat_answer_paper(a, &paper, &s->d);
  struct mafat_question q = *asked;
  struct mafat_moves *moves = NULL;
  q.fast_bytes = s->options.fast_memory;
  q.objective = s->options.objective;
  if (code == MAFAT_OK && q.fast_bytes) code = mafat_answer_moves(&moves, a, q.fast_bytes, s->options.plan ? q.objective : NULL, &s->d);
  q.moves = moves;
  if (code == MAFAT_OK) {
    said->answer = true;
    code = s->options.json ? mafat_answer_write_json(&q, a, &s->out) : mafat_answer_write_text(&q, a, &s->out);
    if (code == MAFAT_OK && s->options.map) {
      code = mafat_map_write(s->options.map, &q, a, &s->d);
      said->map_failed = code != MAFAT_OK;
    }
    if (code == MAFAT_OK && !s->options.best_effort) code = mafat_answer_check(a, &s->d); /* the answer stands */
  }
  mafat_moves_close(&moves);
  mafat_answer_close(&a);
  return code;
}

/* The greedy search is the paper's, which knows nothing of how weights lie. */
static int answer_sweep(struct mafat_session *s, const struct mafat_question *question, bool *any)
{
  struct mafat_options *o = &s->options;
  struct mafat_question q = *question;
  struct mafat_packings packings = {{NULL}};
  if (!o->sweep.n) o->sweep.n = mafat_query_budgets(q.query, o->sweep.list, MAFAT_OPTION_SIZES_ROOM);
  int code = q.facts.greedy ? MAFAT_OK : mafat_packings_open(&packings, q.query, &s->d);
  mafat_progress_end();
  if (!q.facts.greedy) q.packings = &packings;
  if (code == MAFAT_OK) code = mafat_answer_write_sweep(&q, o->sweep.list, o->sweep.n, o->json, &s->out, any, &s->d);
  mafat_packings_close(&packings);
  return code;
}

static int answer_table(struct mafat_session *s, const struct mafat_question *q, struct said *said)
{
  struct mafat_options *o = &s->options;
  struct mafat_front_facts least = {.size = sizeof least};
  bool any;
  int code = o->sweep.given ? answer_sweep(s, q, &any) : mafat_answer_write_front(q, o->json, &s->out, &any);
  if (code || any) return code;
  said->answer = true;
  mafat_query_front(q->query, 0, &least);
  size_t budget = o->sweep.given ? o->sweep.list[o->sweep.n - 1] : q->facts.budget_bytes;
  return mafat_fail(&s->d, MAFAT_ELIMIT, "does not fit: plan %.160s needs %zu bytes, the %s is %zu bytes", least.text,
                    least.charge_bytes, o->sweep.given ? "largest budget" : "budget", budget);
}

int mafat_session_predict(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_options m = mafat_session_model_options(s);
  struct mafat_query *query = NULL;
  struct said said = {0};
  int code = mafat_session_check_output(s, "map", o->map);
  if (o->sweep.given) {
    mafat_progress_begin("looking for plans", o->quiet);
    mafat_progress_count(1, MAFAT_PACKINGS + 1); /* and these weights packed smaller */
  }
  if (code == MAFAT_OK) code = mafat_session_open_query(s, &query, &m, &s->d);
  if (code == MAFAT_OK) {
    struct mafat_question q = make_question(s, query);
    code = mafat_session_check_picture(s, &q.facts);
    if (code == MAFAT_OK) code = mafat_inputs_take(NULL, query, o, &s->d);
    if (code == MAFAT_OK) code = mafat_dumps_read(NULL, NULL, query, o, &s->d);
    if (code == MAFAT_OK) code = o->ranks ? mafat_answer_write_ranks(&q, o, &s->out, &s->d) : o->sweep.given || o->pareto ? answer_table(s, &q, &said) : answer_one(s, &q, &said);
    if (code == MAFAT_OK) mafat_session_tell_fork(s, q.facts.fork_sign);
    if (code == MAFAT_OK) mafat_session_tell_decode(s, q.facts.decode, q.facts.decode_sign);
  }
  mafat_query_close(&query);
  mafat_progress_end();
  if (code == MAFAT_OK) return 0;
  int status = said.map_failed ? EXIT_RUNNING : mafat_session_exit_status(code);
  if (s->out.error) {
    mafat_fail(&s->d, MAFAT_EIO, "cannot write to standard output: %s", strerror(s->out.error));
    status = EXIT_RUNNING;
  } else if (o->json && !said.answer) {
    mafat_output_error_json(mafat_session_picture(s), s->d.text, status, &s->out);
  }
  mafat_session_complain(s->d.text);
  return status;
}
