/* Fills the public headers' structs of facts about plans, models, pictures and the process. Called
 * by api/dry_run.c and, through the public headers, by programs/ (run_inference, mafat_serve,
 * mafat_ranks), experiments/last_mile and the Python bindings. The functions about the process and
 * mafat_model_check read /proc and cgroup files; the others touch only their arguments. */
#include "api/facts.h"

#include "formats/darknet/fork.h"
#include "runner/detect/heads/head.h"
#include "api/model.h"
#include "api/ports.h"
#include "runner/os/budget.h"
#include "runner/os/process.h"
#include "base/sized.h"

#include <math.h>

/* ---- bytes and plans ---- */

static size_t without(size_t bytes, size_t part)
{
  return part < bytes ? bytes - part : 0;
}

static void fill_memory(struct mafat_memory_facts *m, const struct mafat_layout *l,
                        const struct mafat_prediction *p)
{
  *m = (struct mafat_memory_facts){
#define MEMORY(name, before, label) .name = p->name,
#include "base/tags.def"
      .image_before = !mafat_layout_takes_rows(l),
      .resident_bytes = p->resident_bytes, .charge_bytes = p->charge_bytes};
  const size_t parts[] = {
#define MEMORY(name, before, label) before ? 0 : m->name,
#include "base/tags.def"
  };
  m->rest = m->charge_bytes;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) m->rest = without(m->rest, parts[i]);
}

void mafat_facts_plan(struct mafat_plan_facts *f, const struct mafat_network *n,
                      const struct mafat_choice *c, const struct mafat_prediction *p)
{
  const struct mafat_layout *l = c->layout;
  *f = (struct mafat_plan_facts){
      .text = c->text,
      .algorithm = mafat_algorithm_name(c->algorithm),
      .threads = c->plan->n_threads,
      .n_layers = c->plan->n_layers,
      .n_groups = c->plan->n_groups,
      .fits = c->fits,
      .arena_bytes = l->total_bytes,
      .arena_bound_bytes = l->bound_bytes,
      .peak_name = p->peak.kept ? "kept weights" : mafat_tag_name(p->peak.tag),
      .peak_layer = mafat_network_number(n, mafat_network_operator(n, p->peak.layer)),
      .peak_bytes = p->peak.bytes,
      .macs = l->macs,
      .redundant_macs = l->redundant_macs,
      .padded_macs = l->padded_macs,
      .weights_read_bytes = l->bytes_read,
      .latency_ms = c->latency.total_ms,
      .compute_ms = c->latency.compute_ms,
      .reading_ms = c->latency.reading_ms};
  fill_memory(&f->memory, l, p);
}

/* ---- pictures ---- */

struct mafat_picture_facts mafat_facts_picture(const struct mafat_picture *p)
{
  static const char *const fits[] = {[MAFAT_FIT_LETTERBOX] = "letterbox",
                                     [MAFAT_FIT_STRETCH] = "stretch",
                                     [MAFAT_FIT_CORNER] = "corner",
                                     [MAFAT_FIT_CROP] = "crop"};
  const struct mafat_pixel_rule *r = &p->rule;
  return (struct mafat_picture_facts){.channels = p->input.c == 1   ? "gray"
                                                  : p->input.c != 3 ? NULL
                                                  : r->swapped      ? "bgr"
                                                                    : "rgb",
                                      .resize = fits[p->input.fit],
                                      .mean = {r->mean[0], r->mean[1], r->mean[2]},
                                      .scale = {r->scale[0], r->scale[1], r->scale[2]},
                                      .pad = r->pad,
                                      .source = p->source,
                                      .assumed = p->assumed};
}

/* ---- models ---- */

static enum mafat_model_kind kind_of(const struct mafat_model *m)
{
  if (mafat_detect_has_head(m->network, m->n_layers)) return MAFAT_MODEL_DETECTOR;
  return mafat_classify_is_able(m->network, m->n_layers) ? MAFAT_MODEL_CLASSIFIER
                                                         : MAFAT_MODEL_OTHER;
}

int mafat_model_describe(const struct mafat_model *m, struct mafat_model_facts *out)
{
  struct mafat_prediction p;
  bool reads = mafat_weights_reads_in_runs(m->weights);
  struct mafat_shape in = mafat_network_picture_shape(m->network);
  const struct mafat_ports ports = {m->network, m->n_layers};
  mafat_model_predict(m, &p);
  const struct mafat_model_facts f = {
      .kind = kind_of(m),
      .input_h = in.h,
      .input_w = in.w,
      .input_c = in.c,
      .cpu = m->kernels->name,
      .budget_bytes = m->budget_bytes,
      .budget_source = m->budget_source,
      .packed = m->kind.packed,
      .kept_weights_bytes = mafat_weights_bytes(m->weights),
      .reads_method = reads ? mafat_weights_reads_method(m->weights) : NULL,
      .reads_directly = reads && mafat_weights_reads_directly(m->weights),
      .load_ms = m->load_ms,
      .fork = mafat_fork_name(m->network->fork),
      .fork_sign = m->network->fork_sign[0] ? m->network->fork_sign : NULL,
      .max_boxes = (int)m->choice.layout->most_boxes,
      .reserve_bytes = p.reserve,
      .lock = m->lock.on ? "on" : "off",
      .lock_reason = m->lock.reason,
      .locked_bytes =
          mafat_weights_locked_bytes(m->weights) + mafat_executor_locked_bytes(m->executor),
      .picture = mafat_facts_picture(&m->picture),
      .decode = mafat_head_name(m->network),
      .decode_sign = m->network->decoded.sign[0] ? m->network->decoded.sign : NULL,
      .n_inputs = mafat_ports_count(&ports, MAFAT_PORTS_IN),
      .n_outputs = mafat_ports_count(&ports, MAFAT_PORTS_OUT),
      .n_classes = mafat_detect_classes(m->network, m->n_layers)};
  return mafat_sized_give(out, &f, sizeof f);
}

int mafat_model_describe_plan(const struct mafat_model *m, struct mafat_plan_facts *out)
{
  struct mafat_prediction p;
  struct mafat_plan_facts f;
  mafat_model_predict(m, &p);
  mafat_facts_plan(&f, m->network, &m->choice, &p);
  f.fits = p.charge_bytes <= m->budget_bytes;
  f.calibrated = m->calibrated;
  return mafat_sized_give(out, &f, sizeof f);
}

int mafat_model_last_run(const struct mafat_model *m, struct mafat_run_facts *out)
{
  const struct mafat_run_facts f = {.image_ms = m->image_ms,
                                    .layers_ms = m->layers_ms,
                                    .picture_w = m->placement.picture_w,
                                    .picture_h = m->placement.picture_h,
                                    .input_failed = m->input_failed,
                                    .weights_read_bytes = mafat_weights_bytes_read(m->weights),
                                    .stall_scope = m->pressure.scope,
                                    .stall_some_us = m->stall.some_us,
                                    .stall_full_us = m->stall.full_us};
  return mafat_sized_give(out, &f, sizeof f);
}

/* ---- the process ---- */

int mafat_process_measure(struct mafat_process_facts *out)
{
  struct mafat_process_facts f = {.resident_bytes = mafat_process_resident_bytes(),
                                  .peak_bytes = mafat_process_peak_bytes(),
                                  .major_faults = (uint64_t)mafat_process_major_faults()};
  mafat_process_swap_bytes(&f.swap_in_bytes, &f.swap_out_bytes);
  return mafat_sized_give(out, &f, sizeof f);
}

size_t mafat_process_budget(void)
{
  struct mafat_budget budget;
  mafat_budget_find(&budget, "");
  return budget.bytes;
}

/* True if the charge is so close to the budget that the kernel may have reclaimed code. */
static bool is_tight(const struct mafat_model *m, size_t charge_bytes)
{
  enum { PLENTY = 1 << 20 };
  return charge_bytes >= m->budget_bytes || m->budget_bytes - charge_bytes < PLENTY;
}

/* Compares the process with its prediction, and finds whether the difference is in the arena. The
 * process may be smaller than predicted if the budget is tight, or if the code of shared libraries
 * was estimated. The arena may be smaller if there are more threads than processors, so that some
 * threads found no work. */
static void check_resident(const struct mafat_model *m, size_t resident_bytes,
                           struct mafat_check *c)
{
  struct mafat_prediction p;
  mafat_model_predict(m, &p);
  *c = (struct mafat_check){
      .holds = true, .predicted_bytes = p.resident_bytes, .measured_bytes = resident_bytes};
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  return; /* a sanitizer's shadow memory grows with every access */
#endif
  if (resident_bytes == 0 || mafat_predict_holds(p.resident_bytes, resident_bytes)) return;
  if (p.resident_bytes < resident_bytes) {
    c->holds = false;
    c->off_bytes = resident_bytes - p.resident_bytes;
    return;
  }
  size_t own = m->choice.layout->total_bytes, shared = m->footprint.arena_bytes,
         off = p.resident_bytes - resident_bytes;
  size_t arena = own > shared ? own : shared;
  long long arena_off = (long long)arena - (long long)mafat_process_resident_bytes_of(
                                               mafat_executor_arena(m->executor), arena);
  c->in_arena = 2 * arena_off > (long long)off;
  c->off_bytes = (size_t)(c->in_arena ? arena_off : (long long)off - arena_off);
  if (c->in_arena) c->holds = m->choice.plan->n_threads > mafat_process_processors();
  else c->holds = is_tight(m, p.charge_bytes) || !mafat_process_is_static();
}

int mafat_model_check(const struct mafat_model *m, size_t resident_bytes, struct mafat_check *out)
{
  struct mafat_check c;
  check_resident(m, resident_bytes, &c);
  return mafat_sized_give(out, &c, sizeof c);
}
