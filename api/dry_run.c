/* Implements dry runs and plan reports (include/mafat_plan.h). Called by programs/ and the Python
 * bindings. Reads models, chooses plans. Allocates dry runs and reports, which the functions that
 * close them free. */
#include "api/dry_run.h"

#include "formats/darknet/fork.h"
#include "predictor/plan/partition.h"
#include "predictor/planning/planning.h"
#include "runner/detect/heads/head.h"
#include "api/facts.h"
#include "api/ports.h"
#include "runner/os/budget.h"
#include "api/footprint.h"
#include "base/sized.h"
#include "runner/weights/weights.h"
#include "formats/packed/packed.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of heap that a process needs to run a model, but not for a dry run: model, inputs, times,
 * plan reports, outputs, the names of some hundred classes; and a page for fragmentation. */
enum { RUNNERS_HEAP = 20 << 10 };

/* ---- opening ---- */

static int look_around(struct mafat_dry_run *q, const struct mafat_model_options *o,
                       const struct mafat_allowance *reading, struct mafat_diagnostic *d)
{
  int channels = mafat_network_picture_shape(q->network).c;
  int code = mafat_picture_make(&q->picture, q->network, o, q->kernels, d);
  if (code) return code;
  q->floats_only = o->floats_only || (!o->picture && !o->frames && channels != 1 && channels != 3);
  q->picture_assumed = !o->picture && !o->frames && !q->floats_only;
  struct mafat_frame_format frame;
  if (o->frames && (code = mafat_frame_format_read(&frame, o->frames, d))) return code;
  struct mafat_footprint_request request = {
      q->network, o->picture, o->picture_may_fail, q->floats_only, q->kernels, o->arena,
      mafat_choose_reserve(o), &q->picture.input, o->frames ? &frame : NULL, o->beside_bytes,
      o->frames_stay, mafat_model_files_absent_bytes(&q->files), mafat_allowance_passing(reading)};
  code = mafat_footprint_measure(&q->footprint, &request, d);
  q->footprint.process_bytes += RUNNERS_HEAP;
  if (code || !q->picture_assumed) return code;
  request.floats_only = true;
  code = mafat_footprint_measure(&q->raw_footprint, &request, d);
  q->raw_footprint.process_bytes += RUNNERS_HEAP;
  return code;
}

/* Formats the canonical text of a plan. */
static int write_text(char **text, const struct mafat_dry_run *q, const struct mafat_candidate *c,
                      struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = q->basis.options;
  struct mafat_plan *plan;
  struct mafat_spec *spec = NULL;
  options.n_threads = c->threads;
  int code = mafat_plan_make(&plan, c->spec, q->network, q->n_layers, &options, d);
  if (code) return code;
  code = mafat_plan_spec(&spec, plan, q->network);
  if (code == MAFAT_OK && !(*text = mafat_spec_text(spec))) code = MAFAT_ENOMEM;
  mafat_spec_close(&spec);
  mafat_plan_close(&plan);
  return code ? mafat_fail(d, code, "%s: out of memory", q->network->path) : MAFAT_OK;
}

/* Formats the texts of the front's plans. */
static int write_front(struct mafat_dry_run *q, struct mafat_diagnostic *d)
{
  q->front_texts = calloc((size_t)q->front->n, sizeof *q->front_texts);
  int code = q->front_texts ? MAFAT_OK
                            : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", q->network->path);
  for (int i = 0; i < q->front->n && code == MAFAT_OK; i++)
    code = write_text(&q->front_texts[i], q, &q->front->list[i], d);
  return code;
}

/* Searches for the Pareto front of the network's plans. The dry run owns the front. */
static int find_front(struct mafat_dry_run *q, struct mafat_diagnostic *d)
{
  struct mafat_search_request *s = &q->request.search;
  s->network = q->network;
  s->n_layers = q->n_layers;
  s->options = &q->basis.options;
  s->calibration = &q->basis.calibration;
  s->footprint = &q->footprint;
  /* uses search `best`, whatever the options say, because the front shows what is possible */
  int code = mafat_choose_search(&q->front, mafat_search_at(0), s, NULL, &q->request.traces, d);
  if (code) return code;
  q->request.front = q->front;
  return write_front(q, d);
}

/* If the search times plans: sets the weights to time them with, and this machine's memory as the
 * budget of timing. */
static int prepare_timing(struct mafat_dry_run *q, struct mafat_model_source *weights,
                          struct mafat_diagnostic *d)
{
  struct mafat_budget budget;
  if (!q->request.is_timed) return MAFAT_OK;
  if (q->weights_assumed)
    return mafat_fail(d, MAFAT_EINVAL, "expected a weights file, because the search runs plans");
  mafat_budget_find(&budget, "");
  mafat_choose_time(&q->request, weights, q->kernels);
  q->request.timed.budget_bytes = budget.bytes;
  q->request.timed.budget_source = budget.source;
  return MAFAT_OK;
}

static int open_dry_run(struct mafat_dry_run *q, const struct mafat_file *model,
                        const struct mafat_file *weights, const struct mafat_model_options *o,
                        struct mafat_diagnostic *d)
{
  int code;
  struct mafat_weights_kind kind = {0};
  q->threads = o->threads ? o->threads : 1;
  q->memory_bytes = o->memory_bytes;
  q->kernels = mafat_kernels_find(o->cpu);
  if (!q->kernels)
    return mafat_fail(d, MAFAT_EINVAL, "expected a kernel level (%s), found %.60s",
                      mafat_kernels_names(), o->cpu);
  if ((code = mafat_model_files_open(&q->files, model, weights, d))) return code;
  /* a model file with a graph is not probed for weights: it may be a pipe, and its constants may be
   * in other files */
  struct mafat_model_files *files = &q->files;
  bool graph = !weights && mafat_reader_of(files->model)->graph;
  q->weights_assumed = !weights && !files->weights;
  struct mafat_opening opening;
  struct mafat_model_options here = *o; /* the requested budget does not limit the reading of the
                                           model here: a dry run only predicts */
  here.memory_bytes = 0;
  if ((code =
           mafat_choose_network(&q->network, &q->n_layers, files->model, &here, &opening, d)))
    return code;
  if (weights && (code = mafat_model_files_open_weights(files, weights, d))) return code;
  if (files->weights && !graph && (code = mafat_weights_probe(files->weights, &kind, d)))
    return code;
  if (kind.packed && files->weights != files->model &&
      (code = mafat_packed_types(q->network, files->weights, d)))
    return code;
  if ((code = look_around(q, o, &opening.reading, d))) return code;
  if ((code = mafat_choose_prepare(&q->request, &q->basis, o, &opening, &kind, q->kernels->name,
                                   d)))
    return code;
  if (o->plan && !(q->request.plan = q->plan = strdup(o->plan)))
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", q->network->path);
  const char *words = q->request.search.words;
  q->request.search.words = NULL;
  if (*words && !(q->request.search.words = q->words = strdup(words)))
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", q->network->path);
  if ((code = prepare_timing(q, files->weights, d))) return code;
  q->request.best_effort = true; /* plans that do not fit are reported, too */
  return find_front(q, d);
}

int mafat_dry_run_open_files(struct mafat_dry_run **out, const struct mafat_file *model,
                             const struct mafat_file *weights,
                             const struct mafat_model_options *options, struct mafat_diagnostic *d)
{
  struct mafat_model_options o;
  struct mafat_files_taken taken;
  *out = NULL;
  if (!model) return mafat_fail(d, MAFAT_EINVAL, "expected the path of a cfg");
  int code = mafat_sized_take(&o, sizeof o, options, d);
  if (code == MAFAT_OK) code = mafat_model_files_take(&taken, model, weights, d);
  if (code) return code;
  struct mafat_dry_run *q = calloc(1, sizeof *q);
  if (!q)
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", mafat_model_files_name(&taken.model));
  code = open_dry_run(q, &taken.model, taken.own_weights, &o, d);
  if (!q->request.timed.weights) mafat_model_files_close(&q->files);
  if (code == MAFAT_OK) *out = q;
  else mafat_dry_run_close(&q);
  return code;
}

int mafat_dry_run_open(struct mafat_dry_run **out, const char *cfg, const char *weights_path,
                     const struct mafat_model_options *options, struct mafat_diagnostic *d)
{
  const struct mafat_file model = {.size = sizeof model, .path = cfg},
                          weights = {.size = sizeof weights, .path = weights_path};
  return mafat_dry_run_open_files(out, cfg ? &model : NULL, weights_path ? &weights : NULL, options,
                                  d);
}

void mafat_dry_run_close(struct mafat_dry_run **dry_run)
{
  if (!dry_run || !*dry_run) return;
  for (int i = 0; (*dry_run)->front_texts && i < (*dry_run)->front->n; i++)
    free((*dry_run)->front_texts[i]);
  free((*dry_run)->front_texts);
  mafat_front_close(&(*dry_run)->front);
  if ((*dry_run)->borrows) {
    free((*dry_run)->network);
  } else {
    mafat_network_close(&(*dry_run)->network);
    free((*dry_run)->plan);
    free((*dry_run)->words);
    mafat_model_files_close(&(*dry_run)->files);
  }
  free(*dry_run);
  *dry_run = NULL;
}

/* ---- dry run of a file to be packed ---- */

/* Returns a copy of a network that has its own layers and shares all else. It is one allocation.
 * NULL: out of memory. */
static struct mafat_network *borrow_network(const struct mafat_network *n)
{
  struct with_layers {
    struct mafat_network network;
    struct mafat_layer layers[];
  } *copy;
  size_t n_layers = (size_t)mafat_network_n_operators(n);
  copy = malloc(sizeof *copy + n_layers * sizeof *copy->layers);
  if (!copy) return NULL;
  copy->network = *n;
  copy->network.layers = memcpy(copy->layers, n->layers, n_layers * sizeof *copy->layers);
  return &copy->network;
}

/* Gives the weights of each layer the narrowest type that the layer supports and that is not
 * narrower than `type`. Returns the number of layers changed. */
static int narrow_layers(struct mafat_network *n, enum mafat_dtype type)
{
  int changed = 0;
  for (int l = 0; l < n->n_layers; l++) {
    enum mafat_dtype narrow = mafat_layer_narrowest(&n->layers[l], type);
    changed += narrow != n->layers[l].weights_type && mafat_layer_has_panels(&n->layers[l]);
    n->layers[l].weights_type = narrow;
  }
  return changed;
}

static int pack_dry_run(struct mafat_dry_run *q, const struct mafat_dry_run *of,
                        enum mafat_dtype type, struct mafat_diagnostic *d)
{
  *q = *of;
  q->borrows = true;
  q->front = NULL;
  q->front_texts = NULL;
  q->request.timed.weights = NULL; /* the packed file does not exist yet */
  q->weights_assumed = false;
  q->basis.options.packed = true;
  q->basis.options.transposed = false;
  q->network = borrow_network(of->network);
  if (!q->network) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", of->network->path);
  if (narrow_layers(q->network, type) == 0 && type != MAFAT_F32)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: no layer's weights can be stored as %s",
                      of->network->path, mafat_dtype_name(type));
  return find_front(q, d);
}

int mafat_dry_run_pack(struct mafat_dry_run **out, const struct mafat_dry_run *of,
                       const char *weights, struct mafat_diagnostic *d)
{
  enum mafat_dtype type;
  *out = NULL;
  if (!weights || !mafat_dtype_find_packing(&type, weights))
    return mafat_fail(d, MAFAT_EINVAL, "expected a type of weights (%s), found %.60s",
                      mafat_dtype_packings, weights ? weights : "none");
  struct mafat_dry_run *q = malloc(sizeof *q);
  if (!q) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", of->network->path);
  int code = pack_dry_run(q, of, type, d);
  if (code == MAFAT_OK) *out = q;
  else mafat_dry_run_close(&q);
  return code;
}

static uint64_t count_weights(const struct mafat_dry_run *q)
{
  uint64_t sum = 0;
  for (int l = 0; l < q->n_layers; l++)
    sum += mafat_layer_weight_counts(&q->network->layers[l]).weights;
  return sum;
}

static struct mafat_ports ports_of(const struct mafat_dry_run *q)
{
  return (struct mafat_ports){q->network, q->n_layers};
}

int mafat_dry_run_describe(const struct mafat_dry_run *q, struct mafat_dry_run_facts *out)
{
  struct mafat_shape in = mafat_network_picture_shape(q->network);
  const struct mafat_ports ports = ports_of(q);
  const struct mafat_dry_run_facts f = {
      .input_h = in.h, .input_w = in.w, .input_c = in.c,
      .n_layers = q->n_layers,
      .cpu = q->kernels->name,
      .budget_bytes = q->request.budget_bytes,
      .budget_source = q->request.budget_source,
      .packed = q->basis.options.packed,
      .weights_assumed = q->weights_assumed,
      .floats_only = q->floats_only,
      .picture_assumed = q->picture_assumed,
      .plan_given = q->plan != NULL,
      .greedy = q->request.by->pick != NULL,
      .threads = q->threads,
      .bias_bytes = q->request.bias_bytes,
      .n_front = q->front->n,
      .fork = mafat_fork_name(q->network->fork),
      .fork_sign = q->network->fork_sign[0] ? q->network->fork_sign : NULL,
      .reserve_bytes = q->footprint.reserve_bytes,
      .picture = mafat_facts_picture(&q->picture),
      .decode = mafat_head_name(q->network),
      .decode_sign = q->network->decoded.sign[0] ? q->network->decoded.sign : NULL,
      .least = strcmp(q->request.by->name, "least") == 0,
      .n_weights = count_weights(q),
      .search = q->plan ? NULL : q->request.by->name,
      .searched = q->plan ? NULL : q->request.by->finds,
      .one_plan = q->request.by->one_plan,
      .n_inputs = mafat_ports_count(&ports, MAFAT_PORTS_IN),
      .n_outputs = mafat_ports_count(&ports, MAFAT_PORTS_OUT)};
  return mafat_sized_give(out, &f, sizeof f);
}

int mafat_dry_run_describe_input(const struct mafat_dry_run *q, int index,
                                 struct mafat_port_facts *out)
{
  const struct mafat_ports p = ports_of(q);
  return mafat_ports_describe(&p, MAFAT_PORTS_IN, index, out);
}

int mafat_dry_run_describe_output(const struct mafat_dry_run *q, int index,
                                  struct mafat_port_facts *out)
{
  const struct mafat_ports p = ports_of(q);
  return mafat_ports_describe(&p, MAFAT_PORTS_OUT, index, out);
}

int mafat_search_describe(int index, struct mafat_search_facts *out)
{
  const struct mafat_search *s = mafat_search_at(index);
  if (!s) return MAFAT_EINVAL;
  const struct mafat_search_facts f = {.name = s->name,
                                       .searched = s->finds,
                                       .one_plan = s->one_plan,
                                       .by_paper = s->pick != NULL,
                                       .timed = s->timed,
                                       .help = s->help,
                                       .words = s->words,
                                       .n_words = s->n_words};
  return mafat_sized_give(out, &f, sizeof f);
}

int mafat_search_check(const char *search, struct mafat_diagnostic *d)
{
  const struct mafat_search *found;
  const char *words;
  return mafat_search_find(&found, &words, search, d);
}

/* ---- many budgets ---- */

/* Budgets of Table 1 of the MAFAT paper, in MB (2^20 bytes). */
static const int paper_budgets[] = {16, 32, 48, 64, 80, 96, 128, 192, 256};

/* Returns, in bytes, the smallest of 1, 1.5, 2, 3, 4, 6, 8, 12 ... MB that is larger; 0: it is not
 * addressable. */
static size_t rounder_than(size_t bytes)
{
  for (size_t step = (size_t)1 << 20; step <= SIZE_MAX / 4; step *= 2) {
    if (step > bytes) return step;
    if (step + step / 2 > bytes) return step + step / 2;
  }
  return 0;
}

/* Rounds up to a multiple of 256 KB. */
static size_t quarter_from(size_t bytes)
{
  size_t quarter = (size_t)1 << 18;
  return bytes > SIZE_MAX - quarter ? bytes : (bytes + quarter - 1) / quarter * quarter;
}

int mafat_dry_run_budgets(const struct mafat_dry_run *q, size_t *budgets, int capacity)
{
  int n = 0;
  if (q->request.by->pick) {
    for (; n < capacity && n < (int)(sizeof paper_budgets / sizeof *paper_budgets); n++)
      budgets[n] = (size_t)paper_budgets[n] << 20;
    return n;
  }
  size_t least = q->front->list[0].charge_bytes,
         most = q->front->list[q->front->n - 1].charge_bytes;
  for (size_t next = quarter_from(least); next && n < capacity; next = rounder_than(next)) {
    budgets[n++] = next;
    if (next >= most) break;
  }
  return n;
}

int mafat_dry_run_front(const struct mafat_dry_run *q, int index, struct mafat_front_facts *out)
{
  if (index < 0 || index >= q->front->n) return MAFAT_EINVAL;
  const struct mafat_candidate *c = &q->front->list[index];
  const struct mafat_front_facts f = {.text = q->front_texts[index],
                                      .threads = c->threads,
                                      .charge_bytes = c->charge_bytes,
                                      .latency_ms = c->ms};
  return mafat_sized_give(out, &f, sizeof f);
}

/* ---- one budget ---- */

static bool has_tiles_only(const struct mafat_plan *plan)
{
  for (int g = 0; g < plan->n_groups; g++)
    if (plan->groups[g].cut.kind != MAFAT_CUT_GRID) return false;
  return true;
}

static int report(struct mafat_plan_report *a, const struct mafat_dry_run *q, size_t budget_bytes,
                  struct mafat_diagnostic *d)
{
  a->dry_run = q;
  a->request = q->request;
  if (budget_bytes) a->request.budget_bytes = budget_bytes;
  int code = mafat_choose(&a->choice, &a->request, d);
  if (code || !has_tiles_only(a->choice.plan)) return code;
  code = mafat_paper_predict(&a->paper, q->network, a->choice.plan, q->request.bias_bytes, d);
  return code == MAFAT_EUNSUPPORTED ? MAFAT_OK : code;
}

int mafat_dry_run_report(struct mafat_plan_report **out, const struct mafat_dry_run *q,
                         size_t budget_bytes, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_plan_report *a = calloc(1, sizeof *a);
  if (!a) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", q->network->path);
  int code = report(a, q, budget_bytes, d);
  if (code == MAFAT_OK) *out = a;
  else mafat_plan_report_close(&a);
  return code;
}

void mafat_plan_report_close(struct mafat_plan_report **report)
{
  if (!report || !*report) return;
  mafat_paper_prediction_close(&(*report)->paper);
  mafat_choice_close(&(*report)->choice);
  free(*report);
  *report = NULL;
}

/* Charge of the same plan on files of raw values. */
static size_t raw_charge(const struct mafat_plan_report *a)
{
  struct mafat_footprint raw = a->dry_run->raw_footprint;
  struct mafat_prediction p;
  mafat_choose_add_traces(&raw, &a->choice.traces);
  mafat_predict(&p, a->choice.layout, &raw);
  return p.charge_bytes;
}

int mafat_plan_report_describe(const struct mafat_plan_report *a, struct mafat_plan_facts *out)
{
  struct mafat_plan_facts f;
  mafat_facts_plan(&f, a->dry_run->network, &a->choice, &a->choice.prediction);
  f.calibrated = a->dry_run->basis.calibration.measured;
  if (a->dry_run->picture_assumed) f.raw_charge_bytes = raw_charge(a);
  return mafat_sized_give(out, &f, sizeof f);
}

int mafat_plan_report_layer(const struct mafat_plan_report *a, int layer,
                            struct mafat_layer_facts *out)
{
  struct mafat_layer_facts f;
  int code = mafat_facts_layer(&f, a->dry_run->network, &a->choice, layer);
  return code ? code : mafat_sized_give(out, &f, sizeof f);
}

int mafat_plan_report_group(const struct mafat_plan_report *a, int group,
                            struct mafat_group_facts *out)
{
  struct mafat_group_facts f;
  int code = mafat_facts_group(&f, &a->choice, group);
  if (code) return code;
  if (a->paper) f.paper_bytes = a->paper->groups[group].peak_bytes;
  return mafat_sized_give(out, &f, sizeof f);
}

/* ---- arena of a plan ---- */

int mafat_plan_report_arena(const struct mafat_plan_report *a, struct mafat_arena_facts *out)
{
  const struct mafat_layout *l = a->choice.layout;
  const struct mafat_arena_facts f = {.bytes = l->total_bytes,
                                      .bound_bytes = l->bound_bytes,
                                      .n_buffers = l->n_buffers,
                                      .n_times = 2 * a->choice.plan->n_positions,
                                      .peak_time = l->peak_time};
  return mafat_sized_give(out, &f, sizeof f);
}

static const char *what_it_holds(const struct mafat_layout *l, int index)
{
  switch (l->buffers[index].tag) {
  case MAFAT_TAG_SCRATCH: return "scratch";
  case MAFAT_TAG_WEIGHTS: return "weights";
  case MAFAT_TAG_IO:
    return index == l->ring_buffer ? "ring" : index == l->panel_buffer ? "panel" : "affine";
  default: return index == l->frame_buffer ? "frame" : "map";
  }
}

int mafat_plan_report_buffer(const struct mafat_plan_report *a, int index,
                             struct mafat_buffer_facts *out)
{
  const struct mafat_layout *l = a->choice.layout;
  const struct mafat_network *n = a->dry_run->network;
  if (index < 0 || index >= l->n_buffers) return MAFAT_EINVAL;
  const struct mafat_buffer *b = &l->buffers[index];
  bool map = b->tag == MAFAT_TAG_INPUT || b->tag == MAFAT_TAG_ACTIVATIONS;
  const struct mafat_buffer_facts f = {
      .tag = mafat_tag_name(b->tag),
      .what = what_it_holds(l, index),
      .layer = mafat_network_number(n, mafat_network_operator(n, b->tensor)),
      .input = b->tag == MAFAT_TAG_INPUT ? b->tensor - n->n_layers : -1,
      .offset = b->offset,
      .bytes = b->bytes,
      .first = b->first,
      .last = b->last,
      .rows = map && index != l->frame_buffer ? l->tensors[b->tensor].rows : 0};
  return mafat_sized_give(out, &f, sizeof f);
}

int mafat_plan_report_part(const struct mafat_plan_report *a, int position)
{
  const struct mafat_plan *plan = a->choice.plan;
  const struct mafat_parts *parts = plan->parts;
  for (int g = 0; parts && g < plan->n_groups; g++) {
    const struct mafat_span *at = &plan->groups[g].positions;
    if (position >= at->begin && position < at->end)
      return parts->at[g + 1] > parts->at[g]
                 ? mafat_network_number(a->dry_run->network,
                                        parts->list[parts->at[g] + position - at->begin].layer)
                 : -1;
  }
  return -1;
}

int mafat_plan_report_check(const struct mafat_plan_report *a, struct mafat_diagnostic *d)
{
  return a->choice.fits ? MAFAT_OK : mafat_choice_refuse(&a->choice, &a->request, d);
}

int mafat_plan_report_paper(const struct mafat_plan_report *a, struct mafat_paper_facts *out,
                            struct mafat_diagnostic *d)
{
  if (!a->paper) {
    struct mafat_paper_prediction *none;
    int code =
        mafat_paper_predict(&none, a->dry_run->network, a->choice.plan, a->request.bias_bytes, d);
    mafat_paper_prediction_close(&none); /* called only for the diagnostic */
    return code ? code : MAFAT_EUNSUPPORTED;
  }
  const struct mafat_paper_group *peak = &a->paper->groups[a->paper->peak_group];
  const struct mafat_paper_facts f = {.bytes = a->paper->bytes,
                                      .group = a->paper->peak_group,
                                      .layer = peak->peak_layer,
                                      .tile_row = peak->tile_row,
                                      .tile_col = peak->tile_col};
  return mafat_sized_give(out, &f, sizeof f);
}
