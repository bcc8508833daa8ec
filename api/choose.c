/* Chooses a plan for a budget. Called by api/model.c and api/dry_run.c. Reads the model file, and
 * may run plans to time them. Allocates the choice, which mafat_choice_close frees. */
#include "api/choose.h"

#include "base/blocks.h"
#include "base/part.h"
#include "formats/darknet/darknet.h"
#include "formats/darknet/fork.h"
#include "predictor/planning/planning.h"
#include "runner/os/groups.h"
#include "runner/calibrate/calibrate_file.h"
#include "runner/detect/heads/heads.h"
#include "runner/os/process.h"
#include "api/footprint.h"
#include "api/unfit.h"
#include "search/greedy/greedy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BOXES = 1000000 }; /* upper limit of the option max_boxes */

static const double AT_ONCE = 1e-9; /* time limit, in seconds, of a named search with --plan-time 0:
                                       the search ends at once */

void mafat_choose_add_traces(struct mafat_footprint *footprint,
                             const struct mafat_search_traces *traces)
{
  footprint->process_bytes += traces->left_bytes;
  footprint->heap_bytes = traces->heap_bytes;
}

static int write_text(struct mafat_choice *c, const struct mafat_network *n)
{
  struct mafat_spec *spec;
  int code = mafat_plan_spec(&spec, c->plan, n);
  if (code) return code;
  c->text = mafat_spec_text(spec);
  mafat_spec_close(&spec);
  return c->text ? MAFAT_OK : MAFAT_ENOMEM;
}

/* Makes the plan and layout of a spec and predicts their cost. */
static int take(struct mafat_choice *c, const struct mafat_choice_request *r,
                enum mafat_algorithm algorithm, int threads, const struct mafat_spec *spec,
                struct mafat_diagnostic *d)
{
  const struct mafat_search_request *s = &r->search;
  struct mafat_plan_options options = *s->options;
  mafat_choice_close(c);
  c->algorithm = options.algorithm = algorithm;
  options.n_threads = threads;
  c->fits = false;
  int code = mafat_plan_make(&c->plan, spec, s->network, s->n_layers, &options, d);
  if (code == MAFAT_OK) code = mafat_layout_make(&c->layout, s->network, c->plan, d);
  if (code) return code;
  struct mafat_footprint footprint = *s->footprint;
  mafat_choose_add_traces(&footprint, &c->traces);
  mafat_predict(&c->prediction, c->layout, &footprint);
  c->fits = c->prediction.charge_bytes <= r->budget_bytes;
  code = write_text(c, s->network);
  if (code == MAFAT_OK)
    code = mafat_latency_predict(&c->latency, s->network, c->plan, c->layout, s->calibration);
  if (code == MAFAT_OK) return MAFAT_OK;
  return mafat_fail(d, code, "%s: %s", s->network->path,
                    code == MAFAT_ENOMEM ? "out of memory" : "sizes overflow");
}

/* Makes the plan of a spec. If it does not fit with algorithms chosen for each layer, uses direct
 * convolution, which needs the least scratch. */
static int take_spec(struct mafat_choice *c, const struct mafat_choice_request *r,
                     const struct mafat_spec *spec, struct mafat_diagnostic *d)
{
  enum mafat_algorithm algorithm = r->search.options->algorithm;
  int threads = r->search.most_threads ? r->search.most_threads : r->search.options->n_threads;
  int code = take(c, r, algorithm, threads, spec, d);
  if (algorithm != MAFAT_AUTO || c->fits || r->search.options->only_rank ||
      (code && code != MAFAT_ELIMIT))
    return code;
  size_t bytes = code ? SIZE_MAX : c->prediction.charge_bytes;
  code = take(c, r, MAFAT_DIRECT, threads, spec, d);
  if (code || c->prediction.charge_bytes < bytes) return code;
  return take(c, r, algorithm, threads, spec, d);
}

static int take_text(struct mafat_choice *c, const struct mafat_choice_request *r,
                     struct mafat_diagnostic *d)
{
  struct mafat_spec *spec;
  int code = mafat_spec_read(&spec, r->plan, d);
  if (code == MAFAT_OK) code = take_spec(c, r, spec, d);
  mafat_spec_close(&spec);
  return code;
}

/* Returns the resident bytes without the program's code. Code does not count, because code that
 * only searches enter is dropped later. */
static size_t own_bytes(void)
{
  size_t all = mafat_process_resident_bytes(), code = mafat_process_code_bytes();
  return all > code ? all - code : 0;
}

/* Returns the bytes that opening may take besides the resident ones: what the budget leaves. If the
 * machine has more memory, returns at least usual_bytes, so that opening gets far enough to report
 * the least budget that fits. Of the program's code only CODE bytes count in that case, because the
 * kernel drops code if memory is short. */
static size_t opening_room(size_t budget_bytes, size_t machine_bytes, size_t resident_bytes,
                           size_t reserve_bytes, size_t usual_bytes)
{
  enum { CODE = 512 << 10 };
  const struct mafat_footprint now = {.opening_bytes = resident_bytes,
                                      .reserve_bytes = reserve_bytes};
  size_t taken = mafat_predict_opening(&now),
         room = budget_bytes > taken ? budget_bytes - taken : 0;
  if (room < usual_bytes) {
    const struct mafat_footprint least = {.opening_bytes = CODE + own_bytes()};
    size_t held = mafat_predict_opening(&least),
           all = machine_bytes > held ? machine_bytes - held : 0;
    if (all > usual_bytes) all = usual_bytes;
    if (room < all) room = all;
  }
  return room - room / MAFAT_PAGE_TABLE; /* with its page tables */
}

/* Searches with a timer; *timer_bytes: the most memory that timing a plan needed. */
static int find_timed(struct mafat_front **front, const struct mafat_search *by,
                      const struct mafat_search_request *search,
                      const struct mafat_plan_timer_options *timed, size_t *timer_bytes,
                      struct mafat_diagnostic *d)
{
  struct mafat_search_request request = *search;
  struct mafat_plan_timer_options options = *timed;
  struct mafat_plan_timer *timer;
  options.network = search->network;
  options.n_layers = search->n_layers;
  options.footprint = search->footprint;
  int code = mafat_plan_timer_open(&timer, &options, d);
  if (code) return code;
  request.timer = mafat_plan_timer_for_search(timer);
  code = by->find(front, &request, d);
  *timer_bytes = mafat_plan_timer_most_bytes(timer);
  mafat_plan_timer_close(&timer);
  return code;
}

/* Limit of the search's memory. */
static size_t search_room(const struct mafat_search_request *r)
{
  enum { USUAL = 64 << 20 };
  if (!r->machine_bytes) return SIZE_MAX;
  return opening_room(r->memory_bytes, r->machine_bytes, r->footprint->opening_bytes,
                      r->footprint->reserve_bytes, USUAL);
}

/* Fills the diagnostic for a search that needs more memory than there is. */
static int refuse_search(const struct mafat_search_request *r, const struct mafat_allowance *memory,
                         struct mafat_diagnostic *d)
{
  char need[MAFAT_UNFIT_ROOM], caller[MAFAT_UNFIT_ROOM];
  struct mafat_footprint footprint = *r->footprint;
  footprint.heap_bytes = memory->refused_bytes;
  return mafat_fail(d, MAFAT_ELIMIT, "%.200s: does not fit: planning it %s%s", r->network->path,
                    mafat_unfit_describe_least(need, mafat_predict_opening(&footprint),
                                               r->memory_bytes, r->memory_source),
                    mafat_unfit_caller(caller, footprint.process_bytes));
}

int mafat_choose_search(struct mafat_front **front, const struct mafat_search *by,
                        const struct mafat_search_request *search,
                        const struct mafat_plan_timer_options *timed,
                        struct mafat_search_traces *traces, struct mafat_diagnostic *d)
{
  size_t timer_bytes = 0;
  size_t before = own_bytes();
  /* The memory for opening the model is known only after the search. Until then, charges count the
   * memory of runs only. */
  struct mafat_footprint running = *search->footprint;
  running.opening_bytes = running.reading_bytes = running.program_bytes = 0;
  struct mafat_allowance memory = {.limit_bytes = search_room(search)};
  struct mafat_search_request request = *search;
  request.footprint = &running;
  request.allowance = &memory;
  int code = timed && timed->weights ? find_timed(front, by, &request, timed, &timer_bytes, d)
                                     : by->find(front, &request, d);
  if (code && memory.refused_bytes) return refuse_search(search, &memory, d);
  if (code) return code;
  mafat_process_trim_heap();
  /* the front's heap does not count, because it is freed before a plan runs */
  size_t after = own_bytes(), gone = mafat_heap_bytes((*front)->heap);
  traces->left_bytes = after > before + gone ? after - before - gone : 0;
  traces->heap_bytes =
      mafat_heap_most_bytes((*front)->heap) + (*front)->search_bytes + timer_bytes;
  struct mafat_footprint footprint = *search->footprint;
  mafat_choose_add_traces(&footprint, traces);
  size_t opening = mafat_predict_opening(&footprint);
  for (int i = 0; i < (*front)->n; i++) {
    struct mafat_candidate *c = &(*front)->list[i];
    size_t charge =
        mafat_predict_charge_with(c->charge_bytes, c->resident_bytes, traces->left_bytes);
    c->resident_bytes += traces->left_bytes;
    c->charge_bytes = charge > opening ? charge : opening;
  }
  /* Page tables are rounded up, so the charges of two plans may be equal now. */
  mafat_front_reduce(*front);
  return MAFAT_OK;
}

/* Assumed milliseconds that a search takes for each layer, and assumed share of a run's time that a
 * better plan saves. Constants, not measured, so that the decision is the same every time. */
static const double MS_OF_A_LAYER = 2, GAIN = 0.02;

/* True if the runs with a better plan are expected to save more time than the search takes. */
static bool pays(const struct mafat_choice_request *r, const struct mafat_candidate *found)
{
  if (r->plan_seconds < 0 || r->plan_seconds > 0) return r->plan_seconds > 0;
  double runs = r->runs > 1 ? r->runs : 1;
  int n_searches = 1, most = r->search.most_threads; /* one for each number of threads that
                                                        search/best/best.c tries: 1, 2, 4, ...,
                                                        most */
  for (int threads = 1; threads < most; threads = mafat_min(2 * threads, most)) n_searches++;
  return runs * found->ms * GAIN > n_searches * r->search.n_layers * MS_OF_A_LAYER;
}

/* Continues with a longer search. Keeps the first front if that search fails, or finds no plan
 * within the budget. */
static void search_on(struct mafat_front **made, struct mafat_choice *c,
                      const struct mafat_choice_request *r, struct mafat_search_request *search)
{
  struct mafat_front *more = NULL;
  struct mafat_search_traces traces;
  search->plan_seconds = r->plan_seconds;
  int code = mafat_choose_search(&more, r->by, search, NULL, &traces, NULL);
  if (code == MAFAT_OK && mafat_front_within(more, r->budget_bytes)) {
    mafat_front_close(made);
    *made = more;
    c->traces = traces;
  } else {
    mafat_front_close(&more);
  }
}

/* Searches for a plan for the budget that computes whole maps (search/best/quick.h), and searches
 * on for a better one if that pays. *made has no plan if whole maps do not fit. */
static int find_quickly(struct mafat_front **made, struct mafat_choice *c,
                        const struct mafat_choice_request *r, struct mafat_diagnostic *d)
{
  enum { TRACES = 32 << 10 }; /* allowance for what the search leaves in memory */
  struct mafat_search_request search = r->search;
  search.plan_seconds = -1;
  search.budget_bytes = r->budget_bytes > TRACES ? r->budget_bytes - TRACES : 1;
  int code = mafat_choose_search(made, r->by, &search, NULL, &c->traces, d);
  const struct mafat_candidate *found = code ? NULL : mafat_front_within(*made, r->budget_bytes);
  if (found && pays(r, found)) search_on(made, c, r, &search);
  return code;
}

/* Sets *front to a front with a plan for the budget, if there is one: a new front, which is *made
 * and which the caller closes, or r->front. */
static int find(const struct mafat_front **front, struct mafat_front **made,
                struct mafat_choice *c, const struct mafat_choice_request *r,
                struct mafat_diagnostic *d)
{
  int code = r->quick ? find_quickly(made, c, r, d) : MAFAT_OK;
  *front = *made;
  if (code || (*made && mafat_front_within(*made, r->budget_bytes))) return code;
  mafat_front_close(made);
  *front = r->front;
  c->traces = r->traces;
  if (r->front && r->by == mafat_search_at(0)) return MAFAT_OK;
  code = mafat_choose_search(made, r->by, &r->search, &r->timed, &c->traces, d);
  *front = *made;
  return code;
}

static int take_found(struct mafat_choice *c, const struct mafat_choice_request *r,
                      struct mafat_diagnostic *d)
{
  struct mafat_front *made = NULL;
  const struct mafat_front *front;
  int code = find(&front, &made, c, r, d);
  if (code) return code;
  const struct mafat_candidate *found = mafat_front_within(front, r->budget_bytes);
  if (!found) found = &front->list[0];
  code = take(c, r, r->search.options->algorithm, found->threads, found->spec, d);
  mafat_front_close(&made);
  return code;
}

static int take_picked(struct mafat_choice *c, const struct mafat_choice_request *r,
                       struct mafat_diagnostic *d)
{
  struct mafat_spec *spec = NULL;
  int code = r->by->pick(&spec, &r->search, r->budget_bytes, d);
  if (code == MAFAT_OK) code = take_spec(c, r, spec, d);
  mafat_spec_close(&spec);
  return code;
}

size_t mafat_choose_reserve(const struct mafat_model_options *o)
{
  return o->reserve_bytes ? *o->reserve_bytes : MAFAT_DEFAULT_RESERVE_BYTES;
}

/* Returns the caller's budget; 0 bytes: none. */
static struct mafat_budget asked_budget(const struct mafat_model_options *o)
{
  return (struct mafat_budget){.bytes = o->memory_bytes,
                               .source = o->memory_name ? o->memory_name : "memory_bytes"};
}

/* Reads the network within what the budget leaves. */
static int read_network(struct mafat_network **network, struct mafat_model_source *model,
                        const struct mafat_reading *how, const struct mafat_model_options *o,
                        struct mafat_opening *opening, struct mafat_diagnostic *d)
{
  enum { USUAL = 4 << 20 };
  char need[MAFAT_UNFIT_ROOM], caller[MAFAT_UNFIT_ROOM];
  struct mafat_allowance *a = &opening->reading;
  struct mafat_budget *machine = &opening->machine,
                      budget = asked_budget(o);
  size_t resident = mafat_process_resident_bytes(), reserve = mafat_choose_reserve(o);
  mafat_budget_find(machine, "");
  if (!budget.bytes || budget.bytes > machine->bytes || o->best_effort) budget = *machine;
  *a = (struct mafat_allowance){
      .limit_bytes = opening_room(budget.bytes, machine->bytes, resident, reserve, USUAL)};
  model->allowance = a;
  int code = mafat_reader_network(network, model, how, d);
  model->allowance = NULL;
  if (code == MAFAT_OK || !a->refused_bytes) return code;
  const struct mafat_footprint full = {.opening_bytes = resident + a->refused_bytes,
                                       .reserve_bytes = reserve};
  return mafat_fail(d, MAFAT_ELIMIT, "%.200s: does not fit: reading it %s%s", model->path,
                    mafat_unfit_describe_least(need, mafat_predict_opening(&full), budget.bytes,
                                               budget.source),
                    mafat_unfit_caller(caller, resident));
}

int mafat_choose_network(struct mafat_network **network, int *n_layers,
                         struct mafat_model_source *model, const struct mafat_model_options *o,
                         struct mafat_opening *opening, struct mafat_diagnostic *d)
{
  struct mafat_darknet_overrides overrides = {
      .width = o->width, .height = o->height, .n_layers = o->layers};
  struct mafat_given given = {o->constants, o->n_constants};
  int code = mafat_fork_find(&overrides.fork, o->fork, d);
  if (code == MAFAT_OK) code = mafat_given_check(&given, d);
  if (code) return code;
  mafat_footprint_begin(mafat_reader_of(model)->imports);
  code = read_network(network, model, &(struct mafat_reading){&overrides, &given, &o->warnings}, o,
                      opening, d);
  if (code) return code;
  int all = (*network)->n_layers;
  *n_layers = o->layers ? o->layers : all;
  if (*n_layers < 1 || *n_layers > all)
    code = mafat_fail(d, MAFAT_EINVAL, "%s: expected 1 to %d layers (--layers), found %d",
                      model->path, all, *n_layers);
  if (code == MAFAT_OK)
    code = mafat_network_ask_for(*network, *n_layers, o->outputs, o->n_outputs, d);
  const char *stored = o->decode || *n_layers < all ? "" : (*network)->stored.decode;
  if (code == MAFAT_OK)
    code = mafat_heads_choose(*network, *n_layers, *stored ? stored : o->decode, d);
  if (*stored) (*network)->decoded.sign[0] = '\0'; /* the file names the decoder */
  if (code) mafat_network_close(network);
  return code;
}

static int processors(void)
{
  int n = mafat_groups_processors(mafat_process_processors(), "");
  return n > MAFAT_MAX_THREADS ? MAFAT_MAX_THREADS : n;
}

/* Finds the search that `text` names, and its parameters. It is called for a given plan, too,
 * because the paper's predictor adds the parameter "bias" of the search. */
static int take_search(struct mafat_choice_request *r, const char *text, struct mafat_diagnostic *d)
{
  int code = mafat_search_find(&r->by, &r->search.words, text, d);
  if (code) return code;
  r->bias_bytes = mafat_greedy_bias(r->by->pick ? r->search.words : NULL);
  r->is_timed = !r->plan && mafat_search_is_timed(r->by, r->search.words);
  return MAFAT_OK;
}

bool mafat_choose_is_timed(const struct mafat_model_options *o)
{
  const struct mafat_search *by;
  const char *words;
  if (o->plan || o->link || mafat_search_find(&by, &words, o->search, NULL)) return false;
  return mafat_search_is_timed(by, words);
}

int mafat_choose_prepare(struct mafat_choice_request *r, struct mafat_choice_basis *basis,
                         const struct mafat_model_options *o, const struct mafat_opening *opening,
                         const struct mafat_weights_kind *kind, const char *cpu,
                         struct mafat_diagnostic *d)
{
  struct mafat_budget budget = asked_budget(o);
  mafat_plan_defaults(&basis->options);
  basis->options.algorithm = MAFAT_AUTO;
  basis->options.n_threads = o->threads && o->threads != MAFAT_THREADS_AUTO ? o->threads : 1;
  basis->options.packed = kind->packed;
  basis->options.transposed = kind->transposed;
  if (o->max_boxes < 0 || o->max_boxes > MOST_BOXES)
    return mafat_fail(d, MAFAT_EINVAL, "expected 1 to %d boxes, found %d", MOST_BOXES,
                      o->max_boxes);
  if (o->max_boxes) basis->options.most_boxes = o->max_boxes;
  struct mafat_frame_format frame;
  if (o->frames && mafat_frame_format_read(&frame, o->frames, d)) return MAFAT_EINVAL;
  if (o->frames && !o->frames_outside)
    basis->options.frame_bytes = mafat_frame_format_bytes(&frame);
  basis->options.frame_stays = o->frames_stay;
  if (o->algorithm && !mafat_algorithm_find(&basis->options.algorithm, o->algorithm))
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected an algorithm (auto, direct, winograd, winograd-large), found %.60s",
                      o->algorithm);
  if (!(o->plan_seconds <= 1e6))
    return mafat_fail(d, MAFAT_EINVAL, "expected at most 1000000 seconds to plan");
  if (!(o->runs >= 0)) return mafat_fail(d, MAFAT_EINVAL, "expected 0 or more runs");
  mafat_calibration_load(&basis->calibration, cpu, &o->warnings);
  if (!budget.bytes) budget = opening->machine;
  *r = (struct mafat_choice_request){
      .search = {.options = &basis->options, .calibration = &basis->calibration,
                 .plan_seconds = !o->search ? 0 : o->plan_seconds < 0 ? AT_ONCE : o->plan_seconds,
                 .memory_bytes = o->best_effort ? opening->machine.bytes : budget.bytes,
                 .machine_bytes = opening->machine.bytes,
                 .memory_source = o->best_effort ? opening->machine.source : budget.source,
                 .most_threads = o->threads == MAFAT_THREADS_AUTO ? processors() : 0},
      .plan = o->plan,
      .quick = !o->search,
      .plan_seconds = o->plan_seconds,
      .runs = o->runs,
      .budget_bytes = budget.bytes, .budget_source = budget.source, .best_effort = o->best_effort};
  return take_search(r, o->search, d);
}

void mafat_choose_time(struct mafat_choice_request *r, struct mafat_model_source *weights,
                       const struct mafat_kernels *kernels)
{
  if (r->is_timed)
    r->timed = (struct mafat_plan_timer_options){.weights = weights,
                                                 .kernels = kernels,
                                                 .budget_source = r->budget_source,
                                                 .budget_bytes =
                                                     r->best_effort ? SIZE_MAX : r->budget_bytes};
}

int mafat_choose(struct mafat_choice *c, const struct mafat_choice_request *r,
                 struct mafat_diagnostic *d)
{
  memset(c, 0, sizeof *c);
  int code = r->plan       ? take_text(c, r, d)
             : r->by->pick ? take_picked(c, r, d)
                           : take_found(c, r, d);
  return code || c->fits || r->best_effort ? code : mafat_choice_refuse(c, r, d);
}

int mafat_choice_refuse(const struct mafat_choice *c, const struct mafat_choice_request *r,
                        struct mafat_diagnostic *d)
{
  char need[MAFAT_UNFIT_ROOM], picture[MAFAT_UNFIT_ROOM], caller[MAFAT_UNFIT_ROOM];
  size_t charge = c->prediction.charge_bytes;
  bool reserved = charge < SIZE_MAX && charge - c->prediction.reserve <= r->budget_bytes;
  return mafat_fail(d, MAFAT_ELIMIT, "%.200s: does not fit: %s%s%s%s%s%s", r->search.network->path,
                    mafat_unfit_describe(need, charge, r->budget_bytes, r->budget_source),
                    mafat_unfit_caller(caller, r->search.footprint->process_bytes),
                    mafat_unfit_picture(picture, c->layout, r->search.footprint, r->budget_bytes),
                    r->plan ? "" : "; ", r->plan ? "" : r->by->unfit,
                    reserved ? "; it would without its reserve" : "");
}

MAFAT_PART(run) void mafat_choice_close(struct mafat_choice *c)
{
  mafat_layout_close(&c->layout);
  mafat_plan_close(&c->plan);
  free(c->text);
  c->text = NULL;
}
