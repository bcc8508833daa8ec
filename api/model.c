/* Opens, runs and closes models: implements include/mafat.h. Called by programs/, examples/,
 * darknet_patch/ and the Python bindings, by other files of api/ (facts.c, frames.c, inputs.c,
 * ports.c), and by base/sized.c for the version. Reads files, maps and locks memory, starts
 * threads. */
#include "api/model.h"

#include "predictor/cost/paper.h"
#include "runner/image/input.h"
#include "runner/engine/kinds/kind.h"
#include "runner/os/headroom.h"
#include "runner/os/process.h"
#include "api/footprint.h"
#include "api/unfit.h"
#include "api/rank_choice.h"
#include "base/mebibytes.h"
#include "base/sized.h"
#include "api/model_files.h"
#include "formats/packed/packed.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char *mafat_version(void)
{
  return MAFAT_VERSION;
}

/* ---- opening ---- */

void mafat_model_predict(const struct mafat_model *m, struct mafat_prediction *p)
{
  mafat_predict(p, m->choice.layout, &m->footprint);
}

size_t mafat_model_charge_bytes(const struct mafat_model *m)
{
  struct mafat_prediction p;
  mafat_model_predict(m, &p);
  return p.charge_bytes;
}

/* Chooses the plan for all ranks; each rank chooses the same. */
static int choose_for_ranks(struct mafat_rank_choice *found, struct mafat_choice_request *request,
                            const struct mafat_model *m, const struct mafat_model_options *o,
                            struct mafat_diagnostic *d)
{
  struct mafat_calibration same; /* built-in: a measured one would differ between ranks */
  mafat_calibration_defaults(&same, MAFAT_LEVEL_OF_RANKS);
  const struct mafat_rank_choice_request r = {.network = m->network,
                                              .n_layers = m->n_layers,
                                              .n_ranks = m->link->n_ranks,
                                              .options = request->search.options,
                                              .plan = o->plan,
                                              .search = o->search,
                                              .memory_bytes =
                                                  o->memory_bytes ? o->memory_bytes : SIZE_MAX,
                                              .budgets = m->link->budgets,
                                              .speeds = m->link->speeds,
                                              .ahead = m->link->ahead > 0,
                                              .calibration = &same,
                                              .wire = {m->link->bits_per_second, m->link->seconds}};
  int code = mafat_rank_choose(found, &r, d);
  request->plan = found->text;
  /* mafat_rank_choose checked the budgets. They exclude MPI's memory, so they are not checked
   * again */
  request->best_effort = true;
  return code;
}

/* Chooses the given plan, or searches for one. */
static int choose_plan(struct mafat_model *m, struct mafat_model_source *weights,
                       const struct mafat_model_options *o, const struct mafat_opening *opening,
                       struct mafat_diagnostic *d)
{
  struct mafat_choice_request request;
  struct mafat_choice_basis basis;
  struct mafat_rank_choice ranks = {.text = NULL};
  struct mafat_model_options options = *o;
  if (m->link) options.search = NULL; /* names a search for ranks here */
  int code = mafat_choose_prepare(&request, &basis, &options, opening, &m->kind,
                                  m->kernels->name, d);
  if (code == MAFAT_OK) mafat_choose_time(&request, weights, m->kernels);
  if (code == MAFAT_OK && m->link) {
    /* processors may be used by other ranks */
    basis.options.n_threads = request.search.most_threads ? 1 : basis.options.n_threads;
    request.search.most_threads = 0;
    basis.options.sums_apart = m->link->sums_apart;
    code = choose_for_ranks(&ranks, &request, m, o, d);
  }
  if (code) {
    mafat_rank_choice_close(&ranks);
    return code;
  }
  request.search.network = m->network;
  request.search.n_layers = m->n_layers;
  request.search.footprint = &m->footprint;
  if (m->link) basis.options.only_rank = m->link->rank + 1;
  m->budget_bytes = request.budget_bytes;
  m->budget_source = request.budget_source;
  mafat_choice_close(&m->choice);
  code = mafat_choose(&m->choice, &request, d);
  if (code == MAFAT_OK && m->link)
    m->plan_sum =
        mafat_rank_identity_plan(ranks.text, m->choice.plan) + (m->link->sums_apart ? 1 : 0);
  mafat_rank_choice_close(&ranks);
  mafat_choose_add_traces(&m->footprint, &m->choice.traces);
  m->algorithm = m->choice.algorithm;
  m->calibrated = basis.calibration.measured;
  return code;
}

/* Decides what to lock. Called when a plan is chosen, before its arena and weights are mapped. A
 * shared arena is locked as a whole. */
static int decide_lock(struct mafat_model *m, struct mafat_diagnostic *d)
{
  const struct mafat_layout *l = m->choice.layout;
  size_t arena =
      m->footprint.arena_bytes > l->mapped_bytes ? m->footprint.arena_bytes : l->mapped_bytes;
  return mafat_lock_decide(&m->lock, mafat_model_charge_bytes(m), l->kept_bytes + arena, "", d);
}

/* Makes headroom in the cgroup for everything that is charged afterwards. Called before arena and
 * weights are mapped. Assumes that opening has used half of the reserve. The cgroup's counter
 * contains pages that processors have charged ahead, up to MAFAT_CHARGE_AHEAD; near the limit they
 * charge page by page. Not inlined: its stack is free again when a run begins. */
static __attribute__((noinline)) void make_headroom(const struct mafat_model *m)
{
  struct mafat_prediction p;
  mafat_model_predict(m, &p);
  size_t here = p.process + p.kernel + p.reserve / 2 + MAFAT_CHARGE_AHEAD;
  mafat_footprint_settle(&m->footprint, m->network, m->kernels, m->choice.layout,
                         p.charge_bytes - here);
  mafat_headroom_make(p.charge_bytes, here, "");
}

void mafat_model_forget_picture(struct mafat_model *m)
{
  struct mafat_shape in = mafat_network_picture_shape(m->network);
  m->placement = mafat_placement_make(MAFAT_FIT_STRETCH, in.w, in.h, in.w, in.h);
}

/* Opens weights and executor of the plan. Not inlined, so that its stack does not count when the
 * process is measured. */
static __attribute__((noinline)) int open_plan(struct mafat_model *m,
                                               struct mafat_model_source *source,
                                               const struct mafat_model_options *o,
                                               struct mafat_diagnostic *d)
{
  int code;
  double before = mafat_process_now_ms();
  struct mafat_weights_options weights = {.lock = &m->lock};
  if ((code = mafat_weights_open_source(&m->weights, source, m->network, m->choice.plan,
                                        m->choice.layout, &weights, &o->warnings, d)))
    return code;
  mafat_footprint_forget_import();
  m->load_ms = mafat_process_now_ms() - before;
  struct mafat_executor_options options;
  mafat_executor_defaults(&options);
  options.kernels = m->kernels;
  options.arena = o->arena;
  options.lock = &m->lock;
  options.canceled = &m->canceled;
  if (m->link) options.exchanger = m->link->exchanger;
  mafat_pressure_open(&m->pressure, "");
  mafat_process_trim_heap(); /* returns what searching and reading have freed */
  code = mafat_executor_open(&m->executor, m->network, m->choice.plan, m->choice.layout, m->weights,
                             &options, d);
  if (code == MAFAT_OK && m->lock.on)
    m->heap = mafat_footprint_lock(&m->footprint, m->network, m->kernels, m->choice.layout);
  return code;
}

/* Fails if neither the model nor the caller has the weights. Called when the model is known to be a
 * cfg. */
static int check_weights(const struct mafat_model_files *files, const struct mafat_files_taken *t,
                         struct mafat_diagnostic *d)
{
  if (t->own_weights || files->weights) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL,
                    "%.200s: a cfg holds no weights: expected its weights file beside it, found "
                    "none",
                    mafat_model_files_name(&t->model));
}

/* Warns if the plan fits the caller's budget, but not what is free in the cgroups. */
static void warn_of_groups(const struct mafat_model *m, const struct mafat_budget *machine)
{
  size_t charge = mafat_model_charge_bytes(m);
  if (!machine->of_groups || m->link || charge <= machine->bytes) return;
  mafat_warn(&m->warnings,
             "%.200s: needs %.1f MiB of the budget (%.40s) of %.1f MiB, but only %.1f MiB are free "
             "below the cgroup's limit: it may swap or be killed",
             m->network->path, mafat_mebibytes_up(charge), m->budget_source,
             mafat_mebibytes_down(m->budget_bytes), mafat_mebibytes_down(machine->bytes));
}

static int open_model(struct mafat_model *m, struct mafat_model_files *files,
                      const struct mafat_files_taken *t, const struct mafat_model_options *o,
                      struct mafat_diagnostic *d)
{
  int code;
  m->best_effort = o->best_effort;
  m->link = o->link;
  m->kernels = mafat_kernels_find(o->cpu);
  if (!m->kernels)
    return mafat_fail(d, MAFAT_EINVAL, "expected a kernel level (%s), found %.60s",
                      mafat_kernels_names(), o->cpu);
  if ((code = mafat_lock_find(&m->lock.mode, o->lock, d))) return code;
  if (!files->model && (code = mafat_model_files_open(files, &t->model, t->own_weights, d)))
    return code;
  struct mafat_opening opening;
  if ((code = mafat_choose_network(&m->network, &m->n_layers, files->model, o, &opening, d)))
    return code;
  if ((code = check_weights(files, t, d))) return code;
  if ((code = mafat_kinds_check(m->network, m->n_layers, d))) return code;
  m->warnings = o->warnings;
  m->inputs = calloc((size_t)m->network->n_inputs, sizeof *m->inputs);
  if (!m->inputs) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", m->network->path);
  for (int i = 0; i < m->network->n_inputs; i++) {
    m->inputs[i].raw = mafat_raw_input_none();
    mafat_network_input_order(m->network, i, &m->inputs[i].order);
  }
  mafat_model_forget_picture(m);
  /* A missing file is reported only when a plan fits. Probing comes before the process is measured,
   * so that the measurement includes the heap that it uses. */
  if (files->weights) mafat_weights_probe(files->weights, &m->kind, NULL);
  if (m->kind.packed && files->weights != files->model)
    code = mafat_packed_types(m->network, files->weights, d);
  if (code == MAFAT_ENOMEM) return code;
  if ((code = mafat_picture_make(&m->picture, m->network, o, m->kernels, d))) return code;
  m->picture.input.canceled = &m->canceled;
  m->picture.input.warnings = &m->warnings;
  if (mafat_choose_is_timed(o) && (code = mafat_model_files_open_weights(files, t->own_weights, d)))
    return code;
  if (o->frames && (code = mafat_frame_format_read(&m->frame, o->frames, d))) return code;
  struct mafat_footprint_request request = {
      m->network, o->picture, o->picture_may_fail, o->floats_only, m->kernels, o->arena,
      mafat_choose_reserve(o), &m->picture.input, o->frames ? &m->frame : NULL, o->beside_bytes,
      o->frames_stay, mafat_model_files_absent_bytes(files),
      mafat_allowance_passing(&opening.reading)};
  /* reading weights may need as much memory as the arena, so the arena's pages are returned
   * first */
  if (o->arena) mafat_arena_forget(o->arena, NULL);
  if ((code = mafat_footprint_measure(&m->footprint, &request, d))) return code;
  if (o->frames)
    m->frame_decoder_bytes = mafat_image_frame_bytes(&m->frame, &m->picture.input, o->frames_stay);
  if (m->link) m->footprint.late_bytes += m->link->late_bytes;
  code = choose_plan(m, files->weights, o, &opening, d);
  if (code == MAFAT_ELIMIT && o->picture_may_fail && m->footprint.file_bytes) {
    /* no plan fits with the first of several pictures: choose one for a typical picture, and reject
     * this picture when it is run */
    mafat_footprint_assume_picture(&m->footprint, m->network, &m->picture.input);
    code = choose_plan(m, files->weights, o, &opening, d);
  }
  if (code || (code = decide_lock(m, d))) return code;
  warn_of_groups(m, &opening.machine);
  make_headroom(m);
  code = mafat_model_files_open_weights(files, t->own_weights, d);
  return code ? code : open_plan(m, files->weights, o, d);
}

/* Opens a model that is one of several ranks. Fails if a rank differs (rank_identity.h). */
static int open_rank(struct mafat_model *m, struct mafat_model_files *files,
                     const struct mafat_files_taken *t, const struct mafat_model_options *o,
                     struct mafat_diagnostic *d)
{
  struct mafat_rank_identity id;
  mafat_model_files_open(files, &t->model, t->own_weights, NULL);
  mafat_rank_identity_find(&id, files->model, files->weights, o->cpu);
  int code = o->link->opening(o->link->context, &id, d);
  if (code) return code;
  code = open_model(m, files, t, o, d);
  return o->link->opened(o->link->context, code, m->plan_sum, d);
}

int mafat_model_open_files(struct mafat_model **out, const struct mafat_file *model,
                           const struct mafat_file *weights,
                           const struct mafat_model_options *options, struct mafat_diagnostic *d)
{
  struct mafat_model_options o;
  struct mafat_files_taken taken;
  *out = NULL;
  if (!model) return mafat_fail(d, MAFAT_EINVAL, "expected a model, found none");
  int code = mafat_sized_take(&o, sizeof o, options, d);
  if (code == MAFAT_OK) code = mafat_model_files_take(&taken, model, weights, d);
  if (code) return code;
  struct mafat_model *m = calloc(1, sizeof *m);
  if (!m)
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", mafat_model_files_name(&taken.model));
  m->pressure.fd = -1;
  if (o.link && o.link->budgets) o.memory_bytes = o.link->budgets[o.link->rank];
  struct mafat_model_files files = {NULL, NULL};
  code = o.link ? open_rank(m, &files, &taken, &o, d) : open_model(m, &files, &taken, &o, d);
  mafat_model_files_close(&files);
  if (code == MAFAT_OK) *out = m;
  else mafat_model_close(&m);
  return code;
}

int mafat_model_open(struct mafat_model **out, const char *cfg_path, const char *weights_path,
                     const struct mafat_model_options *options, struct mafat_diagnostic *d)
{
  const struct mafat_file model = {.size = sizeof model, .path = cfg_path},
                          weights = {.size = sizeof weights, .path = weights_path};
  return mafat_model_open_files(out, cfg_path ? &model : NULL, weights_path ? &weights : NULL,
                                options, d);
}

void mafat_model_close(struct mafat_model **model)
{
  if (!model || !*model) return;
  struct mafat_model *m = *model;
  mafat_pressure_close(&m->pressure);
  mafat_executor_close(&m->executor);
  mafat_weights_close(&m->weights);
  mafat_choice_close(&m->choice);
  for (int i = 0; m->inputs && i < m->network->n_inputs; i++) {
    mafat_raw_input_release(&m->inputs[i].raw);
    free(m->inputs[i].path);
  }
  free(m->inputs);
  mafat_network_close(&m->network);
  free(m);
  *model = NULL;
}

/* ---- runs ---- */

int mafat_model_take_footprint(struct mafat_model *m, const struct mafat_footprint *footprint,
                               const char *name, const char *doing, struct mafat_diagnostic *d)
{
  struct mafat_prediction p;
  char need[MAFAT_UNFIT_ROOM], picture[MAFAT_UNFIT_ROOM];
  mafat_predict(&p, m->choice.layout, footprint);
  if (p.charge_bytes > m->budget_bytes && !m->best_effort && !m->link)
    return mafat_fail(
        d, MAFAT_ELIMIT, "%.200s: does not fit: %s %s%s", name, doing,
        mafat_unfit_describe(need, p.charge_bytes, m->budget_bytes, m->budget_source),
        mafat_unfit_picture(picture, m->choice.layout, footprint, m->budget_bytes));
  for (int i = 0; footprint->floats_bytes < m->footprint.floats_bytes && i < m->network->n_inputs;
       i++)
    mafat_raw_input_release(&m->inputs[i].raw);
  m->footprint = *footprint;
  /* The prediction assumes that the arena returns memory to the kernel before a picture is decoded
   * whole. */
  if (!mafat_layout_takes_rows(m->choice.layout))
    mafat_executor_make_room(m->executor, footprint->image_bytes);
  return MAFAT_OK;
}

/* Opens a picture, in a file or in memory, and checks that its decoder fits the budget. */
static int open_picture(struct mafat_model *m, const char *path,
                        const struct mafat_image_pixels *pixels, struct mafat_image **image,
                        struct mafat_diagnostic *d)
{
  const struct mafat_image_input *input = &m->picture.input;
  int code = mafat_footprint_check_input(input, m->network, d);
  if (code == MAFAT_OK)
    code = pixels ? mafat_image_open_pixels(image, pixels, input, d)
                  : mafat_image_open(image, path, input, d);
  if (code) return code;
  struct mafat_footprint footprint = m->footprint;
  mafat_footprint_set_picture(&footprint, *image, m->network);
  if ((code = mafat_model_take_footprint(m, &footprint, pixels ? "pixels" : path,
                                         "decoding this picture", d)))
    return code;
  m->placement = *mafat_image_placement(*image);
  return MAFAT_OK;
}

/* Reads the counters of memory pressure before a run. If the last run ended just before, uses its
 * values, because reading takes as long as a layer of a small network. */
static void begin_stall(struct mafat_model *m)
{
  const double at_once_ms = 0.1;
  m->stall = (struct mafat_stall){0};
  if (mafat_process_now_ms() - m->last_ms > at_once_ms) mafat_pressure_read(&m->pressure, &m->last);
}

static void end_stall(struct mafat_model *m)
{
  struct mafat_stall now;
  if (mafat_pressure_read(&m->pressure, &now))
    m->stall = (struct mafat_stall){now.some_us - m->last.some_us, now.full_us - m->last.full_us};
  m->last = now;
  m->last_ms = mafat_process_now_ms();
}

int mafat_model_run_opened(struct mafat_model *m, double opened_at, struct mafat_diagnostic *d)
{
  double before = mafat_process_now_ms();
  mafat_own_lock_more(&m->heap); /* opening the input may have made the heap larger */
  int code = m->link ? m->link->begin(m->link->context, d) : MAFAT_OK;
  if (code == MAFAT_OK) m->ahead[m->n_begun++ % MAFAT_MOST_RANKS] = m->placement;
  if (code == MAFAT_OK) code = mafat_executor_run(m->executor, d);
  /* after success, and after a failure of an input, the other ranks have ended the run, too */
  bool together = code == MAFAT_OK || mafat_executor_source_failed(m->executor);
  if (m->link) m->link->ended(m->link->context, together ? MAFAT_OK : code, d);
  double input_ms = mafat_executor_input_ms(m->executor);
  m->input_failed = code && mafat_executor_source_failed(m->executor);
  end_stall(m);
  m->image_ms = before - opened_at + input_ms;
  m->layers_ms = m->last_ms - before - input_ms;
  return code;
}

long long mafat_model_n_begun(const struct mafat_model *m)
{
  return m->n_begun;
}

int mafat_model_finish(struct mafat_model *m, struct mafat_diagnostic *d)
{
  int code = mafat_executor_receive(m->executor, d);
  m->placement = m->ahead[m->n_finished++ % MAFAT_MOST_RANKS];
  return code;
}

static int run_source(struct mafat_model *m, struct mafat_input_source source, double opened_at,
                      struct mafat_diagnostic *d)
{
  mafat_executor_set_source(m->executor, 0, source);
  return mafat_model_run_opened(m, opened_at, d);
}

int mafat_model_run_image(struct mafat_model *m, struct mafat_image **image, double opened_at,
                          struct mafat_diagnostic *d)
{
  struct mafat_picture_input input = {0};
  bool integers =
      mafat_network_tensor_type(m->network, mafat_network_picture(m->network)) != MAFAT_F32;
  int code = mafat_input_picture_open(&input, *image, mafat_network_picture_shape(m->network),
                                      mafat_layout_takes_rows(m->choice.layout), integers, d);
  if (code == MAFAT_OK) code = mafat_model_open_inputs(m, 1, d);
  if (code == MAFAT_OK) {
    code = run_source(m, mafat_input_picture_source(&input), opened_at, d);
    if (code == MAFAT_OK && (code = mafat_input_picture_finish(&input, d))) {
      m->input_failed = code != MAFAT_ECANCELED;
      mafat_executor_drop_output(m->executor);
    }
  }
  mafat_model_close_inputs(m);
  mafat_input_picture_close(&input);
  mafat_image_close(image);
  mafat_own_trim(&m->heap);
  return code;
}

static int run_picture(struct mafat_model *m, const char *path,
                       const struct mafat_image_pixels *pixels, struct mafat_diagnostic *d)
{
  double before = mafat_process_now_ms();
  struct mafat_image *image = NULL;
  int code = open_picture(m, path, pixels, &image, d);
  if (code == MAFAT_OK) return mafat_model_run_image(m, &image, before, d);
  m->input_failed = code != MAFAT_ECANCELED;
  mafat_image_close(&image);
  mafat_own_trim(&m->heap);
  return code;
}

int mafat_model_begin_run(struct mafat_model *m, const void *given, const char *what,
                          struct mafat_diagnostic *d)
{
  m->input_failed = true;
  atomic_store(&m->canceled, false);
  begin_stall(m);
  mafat_executor_drop_output(m->executor);
  return given ? MAFAT_OK
               : mafat_fail(d, MAFAT_EINVAL, "%s: expected %s, found none", m->network->path, what);
}

int mafat_model_run_picture(struct mafat_model *m, const char *path, struct mafat_diagnostic *d)
{
  int code = mafat_model_begin_run(m, path, "a picture's path", d);
  if (code) return code;
  return run_picture(m, path, NULL, d);
}

int mafat_model_run_pixels(struct mafat_model *m, const unsigned char *pixels, int w, int h,
                           int channels, size_t stride, struct mafat_diagnostic *d)
{
  struct mafat_image_pixels p = {pixels, w, h, channels, stride};
  int code = mafat_model_begin_run(m, pixels, "pixels", d);
  if (code) return code;
  return run_picture(m, NULL, &p, d);
}

void mafat_model_cancel(struct mafat_model *m)
{
  atomic_store(&m->canceled, true);
}

static void report_watch(void *context, const struct mafat_step *step, double from_ms, double to_ms)
{
  const struct mafat_model *m = context;
  const struct mafat_step_facts facts = {
      .layer = mafat_network_number(m->network, step->layer),
      .channel_begin = step->filters.begin, .channel_end = step->filters.end,
      .row_begin = step->out.y.begin, .row_end = step->out.y.end,
      .col_begin = step->out.x.begin, .col_end = step->out.x.end,
      .from_ms = from_ms, .to_ms = to_ms};
  m->watch.ran(m->watch.context, &facts);
}

void mafat_model_set_watch(struct mafat_model *m,
                           void (*ran)(void *context, const struct mafat_step_facts *step),
                           void *context)
{
  m->watch.ran = ran;
  m->watch.context = context;
  mafat_executor_set_watch(m->executor, (struct mafat_step_watch){ran ? report_watch : NULL, m});
}

/* ---- outputs ---- */

static float output_at(const void *context, int layer, int c, int y, int x)
{
  const struct mafat_model *m = context;
  return mafat_executor_output_at(m->executor, layer, c, y, x);
}

static void read_numbers(const void *context, int output, long long first, int n, float *numbers)
{
  const struct mafat_model *m = context;
  const struct mafat_port *port = &m->network->outputs[output];
  mafat_executor_read_view(m->executor, &port->sources, &port->view, first, n, numbers);
}

struct mafat_detect_input mafat_model_detect_input(const struct mafat_model *m)
{
  struct mafat_detect_input in;
  mafat_detect_defaults(&in);
  in.at = output_at;
  in.read = read_numbers;
  in.context = m;
  in.placement = m->placement;
  in.n_layers = m->n_layers;
  in.capacity = mafat_executor_boxes_room(m->executor);
  in.most_boxes = m->choice.layout->most_boxes;
  return in;
}

int mafat_model_hold_output(const struct mafat_model *m, struct mafat_diagnostic *d)
{
  if (mafat_executor_hold_output(m->executor)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL,
                    "%s: no output to read: the model has not run, or its last run failed, or it "
                    "has rested since, or another model has used its arena",
                    m->network->path);
}

int mafat_model_detect(const struct mafat_model *m, float thresh, float nms,
                       struct mafat_detections **out, struct mafat_diagnostic *d)
{
  *out = NULL;
  int code = mafat_model_hold_output(m, d);
  if (code) return code;
  struct mafat_detect_input in = mafat_model_detect_input(m);
  in.thresh = thresh;
  in.nms = nms;
  code = mafat_detect(out, m->network, &in, d);
  mafat_executor_unhold_output(m->executor);
  return code;
}

int mafat_model_classify(const struct mafat_model *m, struct mafat_class_score *top, int k, int *n,
                         struct mafat_diagnostic *d)
{
  *n = 0;
  int code = mafat_model_hold_output(m, d);
  if (code) return code;
  struct mafat_detect_input in = mafat_model_detect_input(m);
  code = mafat_classify(top, k, n, m->network, &in, d);
  mafat_executor_unhold_output(m->executor);
  return code;
}

static void put_shape(struct mafat_shape s, int *h, int *w, int *c)
{
  *h = s.h;
  *w = s.w;
  *c = s.c;
}

void mafat_model_input_shape(const struct mafat_model *m, int *h, int *w, int *c)
{
  put_shape(mafat_network_picture_shape(m->network), h, w, c);
}

int mafat_model_n_layers(const struct mafat_model *m)
{
  return m->n_layers;
}

int mafat_model_layer_shape(const struct mafat_model *m, int layer, int *h, int *w, int *c)
{
  if (layer < 0 || layer >= m->n_layers) return MAFAT_EINVAL;
  put_shape(m->network->layers[layer].out, h, w, c);
  return MAFAT_OK;
}

void mafat_model_output_shape(const struct mafat_model *m, int *h, int *w, int *c)
{
  mafat_model_layer_shape(m, m->n_layers - 1, h, w, c);
}

/* Holds the output of a layer (mafat_model_hold_output). Fails if there is none. */
static int hold_layer(const struct mafat_model *m, int layer, struct mafat_diagnostic *d)
{
  if (layer < 0 || layer >= m->n_layers)
    return mafat_fail(d, MAFAT_EINVAL, "%s: expected a layer from 0 to %d, found %d",
                      m->network->path, m->n_layers - 1, layer);
  if (!mafat_network_is_output(m->network, m->n_layers, layer))
    return mafat_fail(d, MAFAT_EINVAL,
                      "%s: layer %d [%s] cannot be read: it is not an output of the network",
                      m->network->path, layer,
                      mafat_layer_type_name(m->network->layers[layer].type));
  return mafat_model_hold_output(m, d);
}

int mafat_model_read_layer(const struct mafat_model *m, int layer, float *chw,
                           struct mafat_diagnostic *d)
{
  int code = hold_layer(m, layer, d);
  if (code) return code;
  mafat_executor_read_output(m->executor, layer, chw);
  mafat_executor_unhold_output(m->executor);
  return MAFAT_OK;
}

int mafat_model_read_row(const struct mafat_model *m, int layer, int c, int y, float *row,
                         struct mafat_diagnostic *d)
{
  int code = hold_layer(m, layer, d);
  if (code) return code;
  struct mafat_shape s = m->network->layers[layer].out;
  if (c < 0 || c >= s.c || y < 0 || y >= s.h)
    code = mafat_fail(
        d, MAFAT_EINVAL,
        "%s: layer %d: expected a row of %d x %d (channels, height), found channel %d, row %d",
        m->network->path, layer, s.c, s.h, c, y);
  for (int x = 0; code == MAFAT_OK && x < s.w; x++)
    row[x] = mafat_executor_output_at(m->executor, layer, c, y, x);
  mafat_executor_unhold_output(m->executor);
  return code;
}

void mafat_model_rest(struct mafat_model *m)
{
  mafat_executor_rest(m->executor);
}

const char *mafat_model_plan(const struct mafat_model *m)
{
  return m->choice.text;
}
