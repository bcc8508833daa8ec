/* Runs and times a plan, and writes its line of JSON, with the bytes of the arena as predicted and
 * as used. Called by lay_plans.c. Runs the executor; writes the caller's stream; allocates the
 * plan's group_ms. */
#include "experiments/planners/lay_plans.h"

#include "network/kind.h"
#include "runner/os/process.h"
#include "runner/weights/weights.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- running ---- */

static int hash_outputs(uint64_t *hash, const struct lay_model *m, const struct lay_plan *p,
                        struct mafat_diagnostic *d)
{
  const struct mafat_network *n = m->network;
  *hash = 14695981039346656037u; /* FNV-1a */
  for (int l = 0; l < n->n_layers; l++) {
    if (!mafat_network_is_output(n, n->n_layers, l)) continue;
    size_t bytes = (size_t)mafat_shape_elements(n->layers[l].out) * sizeof(float);
    unsigned char *floats = malloc(bytes);
    if (!floats) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
    mafat_executor_read_output(p->executor, l, (float *)(void *)floats);
    for (size_t i = 0; i < bytes; i++) *hash = (*hash ^ floats[i]) * 1099511628211u;
    free(floats);
  }
  return MAFAT_OK;
}

static int open_executor(struct lay_model *m, struct lay_plan *p, struct mafat_diagnostic *d)
{
  struct mafat_executor_options options;
  int code = MAFAT_OK;
  for (int l = 0; l < p->plan->n_layers; l++)
    if (p->plan->placement[l] != MAFAT_KEPT)
      return mafat_fail(d, MAFAT_EINVAL, "expected plans that keep their weights");
  if (!m->weights)
    code = mafat_weights_open_kept(&m->weights, m->path, m->network, m->network->n_layers, NULL, d);
  mafat_executor_defaults(&options);
  options.kernels = m->kernels;
  if (code == MAFAT_OK)
    code =
        mafat_executor_open(&p->executor, m->network, p->plan, p->layout, m->weights, &options, d);
  for (int i = 0; code == MAFAT_OK && i < m->network->n_inputs; i++)
    mafat_executor_set_floats(p->executor, i, &m->orders[i], m->inputs[i]);
  return code;
}

static void note_touched(const unsigned char *arena, size_t bytes, unsigned char fill,
                         unsigned char *touched)
{
  for (size_t i = 0; i < bytes; i++) touched[i] |= arena[i] != fill;
}

/* Finds the bytes that a run writes: after runs in arenas filled with two different values, a
 * written byte differs from at least one of them. */
static int run_filled(struct lay_model *m, struct lay_plan *p, struct mafat_diagnostic *d)
{
  static const unsigned char fills[] = {0xa5, 0x3c};
  size_t bytes = p->layout->mapped_bytes;
  unsigned char *arena = (unsigned char *)(uintptr_t)mafat_executor_arena(p->executor),
                *touched = calloc(bytes + 1, 1);
  int code = touched ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  for (int i = 0; i < 2 && code == MAFAT_OK; i++) {
    uint64_t hash = 0;
    memset(arena, fills[i], bytes);
    code = mafat_executor_run(p->executor, d);
    if (code == MAFAT_OK) code = hash_outputs(&hash, m, p, d);
    note_touched(arena, bytes, fills[i], touched);
    p->dirty_differs |= hash != p->hash;
  }
  for (size_t i = 0; i < bytes && code == MAFAT_OK; i++) {
    p->touched += touched[i];
    if (touched[i]) p->end = i + 1;
  }
  free(touched);
  return code;
}

int lay_plan_run(struct lay_model *m, struct lay_plan *p, struct mafat_diagnostic *d)
{
  int code = open_executor(m, p, d);
  if (code == MAFAT_OK) code = mafat_executor_run(p->executor, d);
  if (code == MAFAT_OK) code = hash_outputs(&p->hash, m, p, d);
  return code ? code : run_filled(m, p, d);
}

/* Adds up the layers' milliseconds for each group, and keeps the least of all rounds. */
static int note_groups(struct lay_plan *p, int round, struct mafat_diagnostic *d)
{
  const double *layers = mafat_executor_layer_ms(p->executor);
  if (!p->group_ms) p->group_ms = calloc((size_t)p->plan->n_groups, sizeof *p->group_ms);
  if (!p->group_ms) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  for (int g = 0; g < p->plan->n_groups; g++) {
    double sum = 0;
    for (int i = p->plan->groups[g].at.begin; i < p->plan->groups[g].at.end; i++)
      sum += layers[p->plan->members[i]];
    if (round == 0 || sum < p->group_ms[g]) p->group_ms[g] = sum;
  }
  return MAFAT_OK;
}

int lay_plan_time(struct lay_plan *p, int round, struct mafat_diagnostic *d)
{
  double before = mafat_process_now_ms();
  int code = mafat_executor_run(p->executor, d);
  p->ms[round] = mafat_process_now_ms() - before - mafat_executor_input_ms(p->executor);
  return code ? code : note_groups(p, round, d);
}

/* ---- output ---- */

/* True if the buffer's tensor is a constant. */
static bool is_constant(const struct lay_model *m, const struct mafat_buffer *b)
{
  return b->tag == MAFAT_TAG_ACTIVATIONS &&
         mafat_kind_of(m->network->layers[b->tensor].type)->constant;
}

/* Bytes of constants that are live at the peak. */
static size_t constant_bytes(const struct lay_model *m, const struct mafat_layout *l)
{
  size_t sum = 0;
  for (int i = 0; i < l->n_buffers; i++) {
    const struct mafat_buffer *b = &l->buffers[i];
    if (is_constant(m, b) && b->first <= l->peak_time && b->last >= l->peak_time) sum += b->bytes;
  }
  return sum;
}

/* Live bytes at each step, without constants. */
static void put_live(const struct lay_model *m, const struct lay_plan *p, FILE *out)
{
  int n = 2 * p->plan->n_positions;
  int64_t *change = calloc((size_t)n + 2, sizeof *change), live = 0, even = 0;
  if (!change) return;
  for (int i = 0; i < p->layout->n_buffers; i++) {
    const struct mafat_buffer *b = &p->layout->buffers[i];
    if (b->first > b->last || is_constant(m, b)) continue;
    change[b->first] += (int64_t)b->bytes;
    change[b->last + 1] -= (int64_t)b->bytes;
  }
  fputs(", \"live\": [", out);
  for (int t = 0; t < n; t++) {
    live += change[t];
    if (t % 2) fprintf(out, "%s%" PRId64, t > 1 ? ", " : "", live > even ? live : even);
    else even = live;
  }
  fputs("]", out);
  free(change);
}

static void put_groups(const struct lay_plan *p, FILE *out)
{
  fputs(", \"groups\": [", out);
  for (int g = 0; g < p->plan->n_groups; g++) {
    fprintf(out, "%s{\"peak_bytes\": %zu", g ? ", " : "", p->layout->groups[g].peak_bytes);
    if (p->group_ms) fprintf(out, ", \"ms\": %.4f", p->group_ms[g]);
    fputs("}", out);
  }
  fputs("]", out);
}

static void put_canonical(const struct lay_model *m, const struct lay_plan *p, FILE *out)
{
  struct mafat_spec *spec;
  if (mafat_plan_spec(&spec, p->plan, m->network)) return;
  char *text = mafat_spec_text(spec);
  if (text) fprintf(out, "\"plan\": \"%s\", ", text);
  free(text);
  mafat_spec_close(&spec);
}

/* Bytes of the arena after the last buffer. Kernels for bytes may read them, but never write
 * them. */
static size_t after_bytes(const struct mafat_layout *l)
{
  size_t end = 0;
  for (int i = 0; i < l->n_buffers; i++)
    if (l->buffers[i].offset + l->buffers[i].bytes > end)
      end = l->buffers[i].offset + l->buffers[i].bytes;
  return l->total_bytes - end;
}

void lay_plan_write(const struct lay_model *m, const struct lay_plan *p, int rounds, FILE *out)
{
  const struct mafat_layout *l = p->layout;
  fputs("{", out);
  put_canonical(m, p, out);
  fprintf(out,
          "\"arena_bytes\": %zu, \"bound_bytes\": %zu, \"boxes_bytes\": %zu, \"input_bytes\": %zu, "
          "\"activations_bytes\": %zu, \"scratch_bytes\": %zu",
          l->total_bytes, l->bound_bytes, l->mapped_bytes - l->total_bytes,
          l->tag_bytes[MAFAT_TAG_INPUT], l->tag_bytes[MAFAT_TAG_ACTIVATIONS],
          l->tag_bytes[MAFAT_TAG_SCRATCH]);
  fprintf(out, ", \"constant_bytes\": %zu, \"behind_bytes\": %zu", constant_bytes(m, l),
          after_bytes(l));
  fprintf(out, ", \"macs\": %" PRIu64 ", \"redundant_macs\": %" PRIu64, l->macs, l->redundant_macs);
  put_live(m, p, out);
  put_groups(p, out);
  if (p->executor) {
    fprintf(out,
            ", \"hash\": \"%016" PRIx64
            "\", \"dirty_differs\": %s, \"touched_bytes\": %zu, \"touched_end\": %zu",
            p->hash, p->dirty_differs ? "true" : "false", p->touched, p->end);
    fputs(", \"ms\": [", out);
    for (int i = 0; i < rounds; i++) fprintf(out, "%s%.4f", i ? ", " : "", p->ms[i]);
    fputs("]", out);
  }
  fputs("}\n", out);
  fflush(out);
}
