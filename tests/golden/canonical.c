/* Writes the texts whose hashes are the golden hashes: plan, steps, buffers, reads, costs. Called
 * by golden.c. A change of any format here changes the hashes. Writes to the caller's FILE;
 * allocates on the heap and frees. */
#include "tests/golden/canonical.h"

#include "network/constant.h"
#include "predictor/schedule/fetches.h"
#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"
#include "predictor/cost/predict.h"
#include "predictor/schedule/schedule.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 1024 };

const char *golden_aspect_name(enum golden_aspect aspect)
{
  static const char *const names[GOLDEN_N_ASPECTS] = {"plan", "steps", "arena", "reads", "cost"};
  return names[aspect];
}

static void put(struct golden_text *text, const char *words, size_t length)
{
  text->hash = golden_hash(text->hash, words, length);
  if (text->show) fwrite(words, 1, length, text->show);
}

void golden_say(struct golden_text *text, const char *format, ...)
{
  char line[MAX_LINE];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (length >= MAX_LINE) abort(); /* no line can be that long */
  put(text, line, (size_t)length);
}

/* Returns the operator's index as text, in the given buffer, or "input" if it has no number in the
 * cfg. */
static const char *name_of(const struct mafat_network *n, int operator, char capacity[12])
{
  snprintf(capacity, 12, "%d", operator);
  return mafat_network_number(n, operator) < 0 ? "input" : capacity;
}

#define NAME_OF(c, operator) name_of((c)->network, operator, (char[12]){0})

/* ---- the plan ---- */

static int write_text(struct golden_text *t, const struct golden_case *c)
{
  struct mafat_spec *spec;
  int code = mafat_plan_spec(&spec, c->plan, c->network);
  char *words = code ? NULL : mafat_spec_text(spec);
  mafat_spec_close(&spec);
  if (!words) return MAFAT_ENOMEM;
  put(t, words, strlen(words));
  golden_say(t, "\nthreads %d, weights %s\n", c->plan->n_threads,
             c->plan->packed ? "packed" : "darknet");
  free(words);
  return MAFAT_OK;
}

static void write_bounds(struct golden_text *t, const char *what, const int *bounds, int n)
{
  golden_say(t, ", %s", what);
  for (int i = 0; i <= n; i++) golden_say(t, " %d", bounds[i]);
}

static void write_groups(struct golden_text *t, const struct mafat_plan *plan)
{
  for (int i = 0; i < plan->n_groups; i++) {
    const struct mafat_group *g = &plan->groups[i];
    golden_say(t, "group %d", i);
    if (g->cut.kind == MAFAT_CUT_GRID) {
      write_bounds(t, "rows", g->row_bounds, g->cut.as.grid.n_rows);
      write_bounds(t, "columns", g->col_bounds, g->cut.as.grid.n_cols);
    }
    golden_say(t, ", layers");
    for (int l = 0; l < plan->n_layers; l++)
      if (plan->group_of[l] == i) golden_say(t, " %d", l);
    golden_say(t, "\n");
  }
}

static const char *placement_name(enum mafat_weight_placement placement)
{
  static const char *const names[] = {"kept", "loaded", "streamed"};
  return names[placement];
}

static void write_layer(struct golden_text *t, const struct golden_case *c, int layer)
{
  const struct mafat_layer *l = &c->network->layers[layer];
  struct mafat_weight_counts counts = mafat_layer_weight_counts(l);
  golden_say(t, "layer %d %s", layer, mafat_layer_type_name(l->type));
  if (l->type == MAFAT_CONVOLUTIONAL)
    golden_say(t, ", %s", mafat_algorithm_name(c->plan->algorithms[layer]));
  if (counts.biases + counts.normalization + counts.weights > 0)
    golden_say(t, ", %s", placement_name(c->plan->placement[layer]));
  if (c->plan->inner[layer] >= 0) golden_say(t, ", computes %d", c->plan->inner[layer]);
  if (c->plan->outer[layer] >= 0) golden_say(t, ", within %d", c->plan->outer[layer]);
  if (c->plan->panel_producer[layer] >= 0)
    golden_say(t, ", panels of %d", c->plan->panel_producer[layer]);
  golden_say(t, "\n");
}

static int write_plan(struct golden_text *t, const struct golden_case *c)
{
  int code = write_text(t, c);
  if (code) return code;
  write_groups(t, c->plan);
  golden_say(t, "order");
  for (int i = 0; i < c->plan->n_layers; i++) golden_say(t, " %d", c->plan->order[i]);
  golden_say(t, "\n");
  for (int l = 0; l < c->plan->n_layers; l++) write_layer(t, c, l);
  return MAFAT_OK;
}

/* ---- steps ---- */

static const char *step_name(enum mafat_step_kind kind)
{
  static const char *const names[] = {"compute", "transform", "input"};
  return names[kind];
}

static void write_box(struct golden_text *t, const char *what, struct mafat_box b)
{
  golden_say(t, ", %s %d-%d,%d-%d", what, b.y.begin, b.y.end, b.x.begin, b.x.end);
}

static void write_span(struct golden_text *t, const char *what, struct mafat_span s)
{
  golden_say(t, ", %s %d-%d", what, s.begin, s.end);
}

static int write_steps(struct golden_text *t, const struct golden_case *c)
{
  struct mafat_schedule *schedule;
  struct mafat_step step;
  int code = mafat_schedule_open(&schedule, c->network, c->plan);
  if (code) return code;
  mafat_schedule_rewind(schedule);
  while (mafat_schedule_next(schedule, &step)) {
    golden_say(t, "%s %s", step_name(step.kind), NAME_OF(c, step.layer));
    write_box(t, "out", step.out);
    write_box(t, "held", step.held);
    write_span(t, "held channels", step.held_channels);
    write_span(t, "filters", step.filters);
    write_span(t, "channels", step.channels);
    golden_say(t, "\n");
  }
  mafat_schedule_close(&schedule);
  return MAFAT_OK;
}

/* ---- the arena ---- */

/* Times in lifetimes: the step at position k of the execution order runs at time 2k + 1, and its
 * separate Winograd transform, if any, at time 2k. The network's input is alive from time 0. */
static void write_life(struct golden_text *t, const struct mafat_buffer *b)
{
  if (b->first > b->last) golden_say(t, ", never alive");
  else golden_say(t, ", alive %d-%d", b->first, b->last);
}

static void write_buffer(struct golden_text *t, const struct golden_case *c, const char *role,
                         int index)
{
  if (index < 0) return;
  const struct mafat_buffer *b = &c->layout->buffers[index];
  golden_say(t, "  %s: %s of %s, %zu bytes at %zu", role, mafat_tag_name(b->tag),
             NAME_OF(c, b->tensor), b->bytes, b->offset);
  write_life(t, b);
  golden_say(t, "\n");
}

static void write_map(struct golden_text *t, const struct golden_case *c, int tensor)
{
  const struct mafat_tensor_layout *m = &c->layout->tensors[tensor];
  golden_say(t, "%s", NAME_OF(c, tensor));
  if (m->buffer >= 0)
    golden_say(t, ": %s, %d rows of %zu bytes, %d columns, padding %d and %d",
               m->external ? "whole" : "part", m->rows, m->row_bytes, m->cols, m->left, m->right);
  golden_say(t, "\n");
  write_buffer(t, c, "map", m->buffer);
}

static int write_arena(struct golden_text *t, const struct golden_case *c)
{
  const struct mafat_layout *layout = c->layout;
  golden_say(t, "arena %zu bytes, at least %zu, peak at %d; kept weights %zu\n",
             layout->total_bytes, layout->bound_bytes, layout->peak_time, layout->kept_bytes);
  for (int tag = 0; tag < MAFAT_N_TAGS; tag++)
    golden_say(t, "%s %zu\n", mafat_tag_name((enum mafat_tag)tag), layout->tag_bytes[tag]);
  write_map(t, c, mafat_network_picture(c->network));
  for (int l = 0; l < layout->n_layers; l++) {
    write_map(t, c, l);
    write_buffer(t, c, "weights", layout->weights_buffers[l]);
    write_buffer(t, c, "scratch", layout->scratch_buffers[l]);
    golden_say(t, "  works in %zu bytes\n",
               mafat_scratch_bytes(&layout->scratch[l], layout->n_workers));
  }
  write_buffer(t, c, "ring", layout->ring_buffer);
  write_buffer(t, c, "panel", layout->panel_buffer);
  write_buffer(t, c, "affine", layout->affine_buffer);
  return MAFAT_OK;
}

/* ---- reads ---- */

static const char *fetch_name(enum mafat_fetch_kind kind)
{
  static const char *const names[] = {"slice",  "copy",          "filters", "transposed",
                                      "biases", "normalization", "affine",  "parts"};
  return names[kind];
}

/* Offsets in a packed file depend on the file's alignment, so only the layer's byte counts are
 * written. Offsets in Darknet's file are counted from the end of its header. */
static void write_fetch(struct golden_text *t, const struct golden_case *c,
                        const struct mafat_fetch *f)
{
  golden_say(t, "%s of %d", fetch_name(f->kind), f->layer);
  write_span(t, "filters", f->filters);
  write_span(t, "channels", f->channels);
  golden_say(t, ", %zu bytes", f->bytes);
  if (!c->plan->packed)
    golden_say(t, " from %" PRIu64, f->position - c->network->constants->layers[0].biases.at);
  if (f->kind == MAFAT_FETCH_SLICE || f->kind == MAFAT_FETCH_COPY)
    golden_say(t, " to %" PRIu64, f->into);
  golden_say(t, ", for step %lld%s\n", f->step, f->last ? ", last" : "");
}

static int write_reads(struct golden_text *t, const struct golden_case *c)
{
  struct mafat_fetch_sizes sizes;
  struct mafat_fetches *fetches;
  struct mafat_fetch fetch;
  int code = mafat_fetches_size(c->network, c->plan, &sizes);
  if (code == MAFAT_OK) code = mafat_fetches_open(&fetches, c->network, c->plan, NULL);
  if (code) return code;
  golden_say(t, "%" PRIu64 " bytes, ring %zu, panel %zu, affine %zu\n", sizes.bytes_read,
             sizes.ring_bytes, sizes.panel_bytes, sizes.affine_bytes);
  mafat_fetches_rewind(fetches);
  while (mafat_fetches_next(fetches, &fetch)) write_fetch(t, c, &fetch);
  mafat_fetches_close(&fetches);
  return MAFAT_OK;
}

/* ---- costs ---- */

/* Writes numbers of multiply-adds. "again": computed more than once; "padded": including those
 * that kernels do on padding. */
static void write_macs(struct golden_text *t, const struct golden_case *c)
{
  const struct mafat_layout *layout = c->layout;
  golden_say(t, "macs %" PRIu64 ", again %" PRIu64 ", padded %" PRIu64 "\n", layout->macs,
             layout->redundant_macs, layout->padded_macs);
  for (int g = 0; g < c->plan->n_groups; g++) {
    const struct mafat_group_cost *cost = &layout->groups[g];
    golden_say(t,
               "group %d: peak %zu bytes, macs %" PRIu64 ", again %" PRIu64 ", padded %" PRIu64
               "\n",
               g, cost->peak_bytes, cost->macs, cost->redundant_macs, cost->padded_macs);
  }
  for (int l = 0; l < layout->n_layers; l++)
    golden_say(t, "layer %d: macs %" PRIu64 "\n", l, layout->layer_macs[l]);
}

static void write_bytes(struct golden_text *t, const struct golden_case *c)
{
  static const struct mafat_footprint nothing;
  struct mafat_prediction p;
  mafat_predict(&p, c->layout, &nothing);
  golden_say(t, "weights %zu, activations %zu, scratch %zu, input %zu, io %zu, threads %zu\n",
             p.weights, p.activations, p.scratch, p.input, p.io, p.threads);
  golden_say(t, "resident %zu, charge %zu, of that kernel %zu\n", p.resident_bytes, p.charge_bytes,
             p.kernel);
  golden_say(t, "largest: %s of %s, %zu\n",
             p.peak.kept ? "kept weights" : mafat_tag_name(p.peak.tag),
             p.peak.kept ? "all" : NAME_OF(c, p.peak.layer), p.peak.bytes);
}

static int write_cost(struct golden_text *t, const struct golden_case *c)
{
  struct mafat_latency ms;
  int code = mafat_latency_predict(&ms, c->network, c->plan, c->layout, c->calibration);
  if (code) return code;
  write_macs(t, c);
  write_bytes(t, c);
  golden_say(t, "ms %.9g, computing %.9g, reading %.9g, waiting %.9g\n", ms.total_ms, ms.compute_ms,
             ms.reading_ms, ms.waiting_ms);
  return MAFAT_OK;
}

int golden_write(struct golden_text *text, enum golden_aspect aspect, const struct golden_case *c)
{
  static int (*const write[GOLDEN_N_ASPECTS])(struct golden_text *, const struct golden_case *) = {
      write_plan, write_steps, write_arena, write_reads, write_cost};
  return write[aspect](text, c);
}
