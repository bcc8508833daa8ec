/* Runs pictures in a pipeline over the ranks. Called by mafat_ranks.c for --pipeline. Runs the
 * model and prints results. */
#include "programs/mafat_ranks/pipeline.h"

#include "api/model.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/session.h"

#include <stdio.h>
#include <string.h>

/* A picture in the pipeline. */
struct begun {
  const char *path;
  double at_ms, image_ms; /* at_ms: clock when it was begun; image_ms: time of decoding */
  bool failed; /* begin() failed: there are no results to report */
  struct mafat_process_facts before; /* facts when the picture was begun */
};

struct picture_pipeline {
  struct mafat_session *session;
  struct begun list[MAFAT_MOST_RANKS]; /* picture number k is at k % MAFAT_MOST_RANKS */
  long long n_begun, n_done;
  int n_reported, status;
};

static void fail(struct picture_pipeline *p, const char *path, int status)
{
  struct mafat_session *s = p->session;
  if (s->options.json) mafat_output_error_json(path, s->d.text, status, &s->out);
  mafat_session_complain(s->d.text);
  p->status = p->status == EXIT_RUNNING || status == EXIT_RUNNING ? EXIT_RUNNING : EXIT_INPUT;
}

/* Finishes the oldest picture in the pipeline and reports its results. */
static void finish(struct picture_pipeline *p)
{
  struct mafat_session *s = p->session;
  const struct begun *b = &p->list[p->n_done++ % MAFAT_MOST_RANKS];
  int status = mafat_model_finish(s->model, &s->d) ? EXIT_RUNNING : 0;
  struct mafat_session_times times = {.image_ms = b->image_ms,
                                      .layers_ms = mafat_session_now_ms() - b->at_ms - b->image_ms};
  s->latencies_ms[0] = times.image_ms + times.layers_ms;
  if (b->failed && status == 0) return;
  if (status == 0) status = mafat_session_report(s, b->path, &times, &b->before);
  if (status) fail(p, b->path, status);
  else p->n_reported++;
}

static void finish_all(struct picture_pipeline *p)
{
  while (p->n_done < p->n_begun) finish(p);
}

/* Begins a picture. If this fails, finishes the pictures that are in the pipeline, and then reports
 * the failure, so that reports are in the order of the pictures. */
static void begin(struct picture_pipeline *p, const char *path)
{
  struct mafat_session *s = p->session;
  struct begun *b = &p->list[p->n_begun % MAFAT_MOST_RANKS];
  struct mafat_run_facts run = {.size = sizeof run};
  *b = (struct begun){
      .path = path, .at_ms = mafat_session_now_ms(), .before.size = sizeof b->before};
  mafat_process_measure(&b->before);
  int code = mafat_model_run_picture(s->model, path, &s->d);
  mafat_model_last_run(s->model, &run);
  b->image_ms = run.image_ms;
  b->failed = code != MAFAT_OK;
  p->n_begun = mafat_model_n_begun(s->model);
  if (code == MAFAT_OK) return;
  struct mafat_diagnostic d = s->d;
  finish_all(p);
  s->d = d;
  fail(p, path, run.input_failed ? mafat_session_exit_status(code) : EXIT_RUNNING);
}

const char *mafat_pipeline_refuses(const struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  if (o->inputs.n) return "--pipeline makes no sense with --input: it runs pictures";
  if (o->repeat > 1)
    return "--pipeline makes no sense with --repeat: a picture is run as often as it is named";
  for (int i = 0; i < o->n_images; i++)
    if (strcmp(o->images[i], "-") == 0) return "--pipeline expects pictures, found a list (-)";
  return NULL;
}

int mafat_pipeline_run(struct mafat_session *s)
{
  struct picture_pipeline p = {.session = s};
  const struct mafat_options *o = &s->options;
  double begun_ms = mafat_session_now_ms();
  int ahead = s->model->link->ahead;
  for (int i = 0; i < o->n_images && !s->out.error; i++) {
    begin(&p, o->images[i]);
    if (p.n_begun - p.n_done > ahead) finish(&p);
  }
  finish_all(&p);
  double seconds = (mafat_session_now_ms() - begun_ms) * 1e-3;
  char text[120];
  snprintf(text, sizeof text, "%d pictures in %.3f s, %.2f a second", p.n_reported, seconds,
           p.n_reported / seconds);
  if (!o->quiet) mafat_session_complain(text);
  return p.status;
}
