/* Implements --predict: reports plans without running the network. Called by run_inference.c and
 * programs/mafat_serve/mafat_serve.c. Opens and closes a dry run, which reads the model's files;
 * prints on standard output and standard error; writes the file of --map. */
#include "base/mebibytes.h"
#include "programs/shared/progress.h"
#include "programs/run_inference/plan_report.h"
#include "programs/run_inference/map.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/session.h"

#include <string.h>

/* Results of the functions below, for the exit status and the error message. */
struct said {
  bool report; /* a report was written to standard output */
  bool map_failed;
};

/* Returns a request for a report on the dry run, with the options that all reports need. */
static struct mafat_report_request make_request(const struct mafat_session *s,
                                                const struct mafat_dry_run *dry_run)
{
  struct mafat_report_request q = {.dry_run = dry_run,
                                   .cfg = s->options.cfg,
                                   .picture = mafat_session_picture(s),
                                   .facts.size = sizeof q.facts};
  mafat_dry_run_describe(dry_run, &q.facts);
  q.own_weights = !s->options.weights && !q.facts.weights_assumed;
  return q;
}

/* Reports one plan, and returns an error if it does not fit the budget. The report is printed in
 * either case. */
static int report_one(struct mafat_session *s, const struct mafat_report_request *asked,
                      struct said *said)
{
  struct mafat_plan_report *a;
  struct mafat_paper_facts paper = {.size = sizeof paper};
  int code = mafat_dry_run_report(&a, asked->dry_run, 0, &s->d);
  if (code == MAFAT_OK && s->options.paper) code = mafat_plan_report_paper(a, &paper, &s->d);
  struct mafat_report_request q = *asked;
  struct mafat_transfer_report *transfers = NULL;
  q.fast_bytes = s->options.fast_memory;
  q.objective = s->options.objective;
  if (code == MAFAT_OK && q.fast_bytes)
    code = mafat_plan_report_transfers(&transfers, a, q.fast_bytes,
                                       s->options.plan ? q.objective : NULL, &s->d);
  q.transfers = transfers;
  if (code == MAFAT_OK) {
    said->report = true;
    code = s->options.json ? mafat_plan_report_write_json(&q, a, &s->out)
                           : mafat_plan_report_write_text(&q, a, &s->out);
    if (code == MAFAT_OK && s->options.map) {
      code = mafat_map_write(s->options.map, &q, a, &s->d);
      said->map_failed = code != MAFAT_OK;
    }
    if (code == MAFAT_OK && !s->options.best_effort)
      code = mafat_plan_report_check(a, &s->d);
  }
  mafat_transfer_report_close(&transfers);
  mafat_plan_report_close(&a);
  return code;
}

/* Reports a plan for each budget of --sweep, and plans with weights of narrower types. The greedy
 * search has no plans of the second kind, because it ignores, like the paper, how weights are
 * stored. */
static int report_sweep(struct mafat_session *s, const struct mafat_report_request *request,
                        bool *any)
{
  struct mafat_options *o = &s->options;
  struct mafat_report_request q = *request;
  struct mafat_packings packings = {{NULL}};
  if (!o->sweep.n)
    o->sweep.n = mafat_dry_run_budgets(q.dry_run, o->sweep.list, MAFAT_OPTION_SIZES_ROOM);
  int code = q.facts.greedy ? MAFAT_OK : mafat_packings_open(&packings, q.dry_run, &s->d);
  mafat_progress_end();
  if (!q.facts.greedy) q.packings = &packings;
  if (code == MAFAT_OK)
    code =
        mafat_plan_report_write_sweep(&q, o->sweep.list, o->sweep.n, o->json, &s->out, any, &s->d);
  mafat_packings_close(&packings);
  return code;
}

static int report_table(struct mafat_session *s, const struct mafat_report_request *q,
                        struct said *said)
{
  struct mafat_options *o = &s->options;
  struct mafat_front_facts least = {.size = sizeof least};
  bool any;
  int code = o->sweep.given ? report_sweep(s, q, &any)
                            : mafat_plan_report_write_front(q, o->json, &s->out, &any);
  if (code || any) return code;
  said->report = true;
  mafat_dry_run_front(q->dry_run, 0, &least);
  size_t budget = o->sweep.given ? o->sweep.list[o->sweep.n - 1] : q->facts.budget_bytes;
  return mafat_fail(&s->d, MAFAT_ELIMIT,
                    "%.200s: does not fit: needs %.1f MiB, the %s is %.1f MiB; %zuK would do",
                    o->cfg, mafat_mebibytes_up(least.charge_bytes),
                    o->sweep.given ? "largest budget" : "budget", mafat_mebibytes_down(budget),
                    (least.charge_bytes + 1023) >> 10);
}

int mafat_session_predict(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_options m = mafat_session_model_options(s);
  struct mafat_dry_run *dry_run = NULL;
  struct said said = {0};
  int code = mafat_session_check_output(s, "map", o->map);
  if (o->sweep.given) {
    mafat_progress_begin("looking for plans", o->quiet);
    /* plans are made for the given type of weights, and for each narrower type */
    mafat_progress_count(1, MAFAT_PACKINGS + 1);
  }
  /* the prediction counts their memory, as a run needs it */
  if (code == MAFAT_OK) code = mafat_session_read_names(s);
  if (code == MAFAT_OK) code = mafat_session_open_dry_run(s, &dry_run, &m, &s->d);
  if (code == MAFAT_OK) {
    struct mafat_report_request q = make_request(s, dry_run);
    code = mafat_session_check_picture(s, &q.facts);
    if (code == MAFAT_OK) code = mafat_inputs_take(NULL, dry_run, o, &s->d);
    if (code == MAFAT_OK) code = mafat_dumps_read(NULL, NULL, dry_run, o, &s->d);
    if (code == MAFAT_OK)
      code = o->ranks                      ? mafat_plan_report_write_ranks(&q, o, &s->out, &s->d)
             : o->sweep.given || o->pareto ? report_table(s, &q, &said)
                                           : report_one(s, &q, &said);
    if (code == MAFAT_OK) mafat_session_report_fork(s, q.facts.fork_sign);
    if (code == MAFAT_OK)
      mafat_session_report_decode(s, q.facts.decode, q.facts.decode_sign, &q.facts.picture);
  }
  mafat_dry_run_close(&dry_run);
  mafat_names_close(&s->names);
  mafat_progress_end();
  if (code == MAFAT_OK) return 0;
  int status = said.map_failed ? EXIT_RUNNING : mafat_session_exit_status(code);
  if (s->out.error) {
    mafat_fail(&s->d, MAFAT_EIO, "cannot write to standard output: %s", strerror(s->out.error));
    status = EXIT_RUNNING;
  } else if (o->json && !said.report) {
    mafat_output_error_json(mafat_session_picture(s), s->d.text, status, &s->out);
  }
  mafat_session_complain(s->d.text);
  return status;
}
