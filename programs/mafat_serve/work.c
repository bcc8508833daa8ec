/* Runs jobs one at a time and writes their answers. Called by mafat_serve.c, whose main thread runs
 * the jobs, and by connection_pool.c to write its own answers. Runs the model, reads and overwrites
 * the bodies' files, allocates. */
#include "programs/mafat_serve/work.h"

#include "include/mafat_video.h"
#include "programs/run_inference/map.h"
#include "programs/run_inference/output.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CLASSES = 5 }; /* reported classes, as in run_inference */

static const char json[] = "application/json", svg[] = "image/svg+xml";

/* ---- answers ---- */

void mafat_work_begin(struct mafat_writer *w, int fd, size_t capacity)
{
  mafat_writer_open(w, fd);
  w->capacity = capacity;
  if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) w->error = EIO;
}

size_t mafat_work_end(struct mafat_writer *w)
{
  if (mafat_writer_flush(w, NULL) != MAFAT_OK) return 0;
  off_t end = lseek(w->fd, 0, SEEK_CUR);
  return end > 0 ? (size_t)end : 0;
}

/* Writes {"error":TEXT,"status":413} as the answer. */
static void fail(struct mafat_job *job, int status, const char *text)
{
  struct mafat_writer w;
  mafat_work_begin(&w, job->body_fd, job->most_bytes);
  mafat_json_begin(&w, "{");
  mafat_json_string(&w, "error", text);
  mafat_json_count(&w, "status", status);
  mafat_json_finish_line(&w);
  job->status = status;
  job->type = json;
  job->answer_bytes = mafat_work_end(&w);
}

/* ---- a picture ---- */

static int status_of(int code, bool of_input)
{
  if (code == MAFAT_ENOMEM) return 503;
  if (code == MAFAT_ECANCELED) return 429;
  if (!of_input) return 500;
  switch (code) {
  case MAFAT_ELIMIT: return 413;
  case MAFAT_EFORMAT: return 422;
  case MAFAT_EUNSUPPORTED: return 415;
  case MAFAT_EINVAL: return 400;
  default: return 500;
  }
}

/* Replaces the body's path at the start of a message by "the picture": clients do not know the
 * path. */
static void report_picture(const char *path, struct mafat_diagnostic *d)
{
  char rest[sizeof d->text];
  const size_t n = strlen(path);
  if (strncmp(d->text, path, n) != 0) return;
  snprintf(rest, sizeof rest, "%s", d->text + n);
  snprintf(d->text, sizeof d->text, "the picture%.480s", rest);
}

/* Runs the model on the body of a request. *began: false if no run began; then the model's run
 * facts are those of the previous run. */
static int run_body(struct mafat_model *m, const struct mafat_job *job, bool *began,
                    struct mafat_diagnostic *d)
{
  char path[32], text[40];
  const struct mafat_job_frame *f = &job->frame;
  int code;
  *began = true;
  if (f->w) {
    unsigned char *pixels = mmap(NULL, job->body_bytes, PROT_READ, MAP_SHARED, job->body_fd, 0);
    *began = pixels != MAP_FAILED;
    if (!*began) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
    snprintf(text, sizeof text, "%dx%d:%s", f->w, f->h, f->format ? f->format : "");
    code = f->format ? mafat_model_run_frame_of(m, text, pixels, job->body_bytes, d)
                     : mafat_model_run_pixels(m, pixels, f->w, f->h, f->channels,
                                              (size_t)f->w * (size_t)f->channels, d);
    munmap(pixels, job->body_bytes);
    return code;
  }
  snprintf(path, sizeof path, "/proc/self/fd/%d", job->body_fd);
  code = mafat_model_run_picture(m, path, d);
  if (code) report_picture(path, d);
  return code;
}

static void write_found(struct mafat_job *job, const struct mafat_run_report *r,
                        const struct mafat_run_facts *run, double waited_ms)
{
  struct mafat_writer w;
  mafat_work_begin(&w, job->body_fd, job->most_bytes);
  mafat_json_begin(&w, "{");
  mafat_json_count(&w, "width", run->picture_w);
  mafat_json_count(&w, "height", run->picture_h);
  mafat_json_number(&w, "image_ms", run->image_ms);
  mafat_json_number(&w, "layers_ms", run->layers_ms);
  mafat_json_number(&w, "waited_ms", waited_ms);
  mafat_output_found_json(r, &w);
  mafat_json_finish_line(&w);
  job->answer_bytes = mafat_work_end(&w);
}

/* Writes as many boxes as fit in the answer, the most confident first. */
static void write_boxes(struct mafat_job *job, struct mafat_run_report *r,
                        struct mafat_detections *boxes, const struct mafat_run_facts *run,
                        double waited_ms)
{
  for (;;) {
    write_found(job, r, run, waited_ms);
    if (job->answer_bytes || !boxes || boxes->n == 0) break;
    boxes->left_out += boxes->n - boxes->n / 2;
    boxes->n /= 2;
  }
}

static int find(const struct mafat_job_worker *work, struct mafat_job *job,
                const struct mafat_run_facts *run, double waited_ms, struct mafat_diagnostic *d)
{
  struct mafat_session *s = work->session;
  struct mafat_detections *boxes = NULL;
  struct mafat_class_score top[CLASSES];
  struct mafat_model_facts facts = {.size = sizeof facts};
  struct mafat_run_report r;
  int code;
  mafat_model_describe(s->model, &facts);
  mafat_run_report_defaults(&r);
  r.kind = facts.kind;
  r.names = s->names;
  r.classes = top;
  code = facts.kind == MAFAT_MODEL_DETECTOR
             ? mafat_model_detect(s->model, job->thresh, job->nms, &boxes, d)
             : mafat_model_classify(s->model, top, CLASSES, &r.n_classes, d);
  if (code == MAFAT_OK) {
    r.detections = boxes;
    write_boxes(job, &r, boxes, run, waited_ms);
  }
  mafat_detections_close(&boxes);
  return code;
}

/* Adds a hint to the message: if a picture cannot be read and was sent with the type of a form,
 * curl -d has usually damaged it. */
static void explain_form(struct mafat_diagnostic *d)
{
  const size_t n = strlen(d->text);
  snprintf(d->text + n, sizeof d->text - n,
           "; curl -d changes pictures: send them with curl --data-binary @FILE");
}

/* Runs one picture and writes its answer. False: no run began. */
static bool answer_picture(const struct mafat_job_worker *work, struct mafat_job *job,
                           struct mafat_job_queue_run *ran)
{
  struct mafat_diagnostic d = {""};
  struct mafat_run_facts run = {.size = sizeof run};
  struct mafat_model *m = work->session->model;
  const double waited_ms = mafat_session_now_ms() - job->asked_ms;
  bool began;
  int code = run_body(m, job, &began, &d);
  mafat_model_last_run(m, &run);
  const bool of_input = run.input_failed || !began || code == MAFAT_ECANCELED;
  if (code) run.image_ms = run.layers_ms = 0; /* they may be those of the previous picture */
  *ran = (struct mafat_job_queue_run){run.image_ms, run.layers_ms, code && !of_input};
  job->status = 200;
  job->type = json;
  if (code == MAFAT_OK && (code = find(work, job, &run, waited_ms, &d))) ran->failed = true;
  if (code == MAFAT_ECANCELED)
    snprintf(d.text, sizeof d.text, "the picture takes long to decode, and others wait");
  else if (code && of_input && job->form) explain_form(&d);
  if (code) {
    if (ran->failed) mafat_session_complain(d.text);
    fail(job, status_of(code, of_input), d.text);
  } else if (!job->answer_bytes) {
    fail(job, 503, "there is no room for the answer now");
  }
  malloc_trim(0); /* heap that decoder and answer have freed */
  return began;
}

/* ---- a plan ---- */

static void write_budgets(const struct mafat_job_worker *work, struct mafat_writer *w)
{
  struct mafat_front_facts front = {.size = sizeof front};
  mafat_json_key(w, "budgets");
  mafat_json_begin(w, "[");
  for (int i = 0; mafat_dry_run_front(work->dry_run, i, &front) == MAFAT_OK; i++) {
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_count(w, "memory_bytes", (int64_t)front.charge_bytes);
    mafat_json_number(w, "latency_ms", front.latency_ms);
    mafat_json_count(w, "threads", front.threads);
    mafat_json_string(w, "plan", front.text);
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
}

static const char *last_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Writes the running plan and the other plans. */
static void write_running(const struct mafat_job_worker *work, struct mafat_writer *w)
{
  struct mafat_session *s = work->session;
  struct mafat_model_facts f = {.size = sizeof f};
  struct mafat_plan_facts plan = {.size = sizeof plan};
  struct mafat_process_facts process = {.size = sizeof process};
  mafat_model_describe(s->model, &f);
  mafat_model_describe_plan(s->model, &plan);
  mafat_process_measure(&process);
  mafat_json_begin(w, "{");
  mafat_json_string(w, "model", last_name(s->options.cfg));
  mafat_json_string(w, "version", mafat_version());
  mafat_json_count(w, "width", f.input_w);
  mafat_json_count(w, "height", f.input_h);
  mafat_json_count(w, "layers", plan.n_layers);
  mafat_json_string(w, "plan", plan.text);
  mafat_json_string(w, "algorithm", plan.algorithm);
  mafat_json_string(w, "cpu", f.cpu);
  mafat_json_count(w, "threads", plan.threads);
  mafat_json_number(w, "predicted_latency_ms", plan.latency_ms);
  mafat_json_count(w, "memory_budget_bytes",
                   f.budget_bytes == SIZE_MAX ? -1 : (int64_t)f.budget_bytes);
  mafat_json_string(w, "budget_source", f.budget_source);
  mafat_json_count(w, "predicted_charge_bytes", (int64_t)plan.memory.charge_bytes);
  mafat_json_count(w, "measured_resident_bytes",
                   process.resident_bytes ? (int64_t)process.resident_bytes : -1);
  mafat_json_count(w, "server_bytes", (int64_t)work->server_bytes);
  mafat_json_count(w, "room_bytes", (int64_t)work->capacity_bytes);
  mafat_json_string(w, "sandbox", mafat_session_sandbox(s));
  write_budgets(work, w);
  mafat_json_finish_line(w);
}

static struct mafat_report_request make_request(const struct mafat_job_worker *work,
                                                size_t budget_bytes)
{
  struct mafat_report_request q = {.dry_run = work->dry_run,
                                   .cfg = last_name(work->session->options.cfg),
                                   .facts.size = sizeof q.facts};
  mafat_dry_run_describe(work->dry_run, &q.facts);
  if (budget_bytes) {
    q.facts.budget_bytes = budget_bytes;
    q.facts.budget_source = "asked for";
  }
  q.own_weights = !work->session->options.weights;
  return q;
}

static int draw_map(const struct mafat_report_request *q, const struct mafat_plan_report *a,
                    struct mafat_writer *w)
{
  struct mafat_map map = {0};
  int code = mafat_map_find(&map, q, a);
  if (code == MAFAT_OK) mafat_map_draw(&map, w);
  mafat_map_close(&map);
  return code;
}

static int write_answer(const struct mafat_job_worker *work, const struct mafat_job *job,
                        struct mafat_writer *w, struct mafat_diagnostic *d)
{
  struct mafat_plan_report *a = NULL;
  struct mafat_report_request q = make_request(work, job->memory_bytes);
  int code = mafat_dry_run_report(&a, work->dry_run, job->memory_bytes, d);
  if (code == MAFAT_OK && job->kind == MAFAT_JOB_MAP) code = draw_map(&q, a, w);
  else if (code == MAFAT_OK) mafat_plan_report_write_json(&q, a, w);
  mafat_plan_report_close(&a);
  return code;
}

static void report_plan(const struct mafat_job_worker *work, struct mafat_job *job)
{
  struct mafat_diagnostic d = {""};
  struct mafat_writer w;
  int code = MAFAT_OK;
  mafat_work_begin(&w, job->body_fd, job->most_bytes);
  if (job->kind == MAFAT_JOB_PLAN && !job->memory_bytes) write_running(work, &w);
  else code = write_answer(work, job, &w, &d);
  job->status = 200;
  job->type = job->kind == MAFAT_JOB_MAP ? svg : json;
  job->answer_bytes = mafat_work_end(&w);
  if (code == MAFAT_ENOMEM) fail(job, 503, "out of memory"); /* the library's message names files */
  else if (code) fail(job, 400, d.text);
  else if (!job->answer_bytes) fail(job, 503, "there is no room for the answer: see --room");
  malloc_trim(0);
}

/* ---- the loop of jobs ---- */

void mafat_job_worker_run(const struct mafat_job_worker *work)
{
  for (struct mafat_job *job; (job = mafat_job_queue_take(work->job_queue));) {
    struct mafat_job_queue_run run;
    bool began = false;
    if (job->kind == MAFAT_JOB_PICTURE) began = answer_picture(work, job, &run);
    else report_plan(work, job);
    mafat_job_queue_done(work->job_queue, began ? &run : NULL);
  }
}
