/* Iterates over the steps of a run: calls the generator of each group, and divides steps into
 * panels and slices. Called by predictor/, search/best/costs.c, search/least/grouping.c,
 * runner/engine, runner/weights/weights_open.c and runner/calibrate/calibrate.c. Allocates from the
 * plan's heap when opened, and nothing later. */
#include "predictor/schedule/schedule.h"

#include "predictor/plan/fusion.h"
#include "predictor/plan/packing.h"
#include "predictor/plan/parts.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/plan/winograd.h"

static const struct mafat_generator *const generators[MAFAT_N_CUTS] = {
    [MAFAT_CUT_GRID] = &mafat_generator_grid,
    [MAFAT_CUT_ROWS] = &mafat_generator_rows,
    [MAFAT_CUT_PANELS] = &mafat_generator_panels,
    [MAFAT_CUT_SPLIT] = &mafat_generator_parts};

enum mafat_lifetime mafat_group_lifetime(const struct mafat_group *g)
{
  if (mafat_cut_has_parts(&g->cut)) return MAFAT_LIFE_PARTS;
  if (g->cut.kind == MAFAT_CUT_ROWS) return MAFAT_LIFE_GROUP;
  return mafat_group_is_tiled(g) ? MAFAT_LIFE_PER_TILE : MAFAT_LIFE_ONCE;
}

/* Index of the generator of a group's steps. Groups by rows with partition buffers use the
 * generator of rows until their parts are found (rows_parts.h), and then the generator of parts. */
static int generator_of(const struct mafat_plan *plan, int group)
{
  const struct mafat_cut *cut = &plan->groups[group].cut;
  return mafat_cut_has_parts(cut) && plan->parts && plan->parts->list ? MAFAT_CUT_SPLIT
                                                                      : (int)cut->kind;
}

/* True if a group uses this generator. */
static bool uses_generator(const struct mafat_plan *plan, int cut)
{
  for (int g = 0; g < plan->n_groups; g++)
    if (generator_of(plan, g) == cut) return true;
  return false;
}

int mafat_schedule_open(struct mafat_schedule **out, const struct mafat_network *n,
                        const struct mafat_plan *plan)
{
  *out = NULL;
  struct mafat_schedule *s = mafat_heap_calloc(plan->heap, 1, sizeof *s);
  if (!s) return MAFAT_ENOMEM;
  s->heap = plan->heap;
  s->network = n;
  s->plan = plan;
  s->usage = mafat_heap_calloc(plan->heap, (size_t)mafat_network_n_tensors(n), sizeof *s->usage);
  int code = s->usage ? MAFAT_OK : MAFAT_ENOMEM;
  if (code == MAFAT_OK) mafat_usage_find(n, plan, s->usage);
  for (int cut = 0; cut < MAFAT_N_CUTS && code == MAFAT_OK; cut++)
    if (uses_generator(plan, cut)) code = generators[cut]->open(&s->states[cut], s);
  if (code) mafat_schedule_close(&s);
  *out = s;
  return code;
}

void mafat_schedule_close(struct mafat_schedule **s)
{
  if (!s || !*s) return;
  struct mafat_heap *heap = (*s)->heap;
  for (int cut = 0; cut < MAFAT_N_CUTS; cut++)
    if ((*s)->states[cut]) generators[cut]->close(heap, (*s)->states[cut]);
  mafat_heap_free(heap, (*s)->usage);
  mafat_heap_free(heap, *s);
  *s = NULL;
}

bool mafat_step_begins(const struct mafat_plan *plan, const struct mafat_step *step)
{
  const struct mafat_layer_part *part = step->part < 0 ? NULL : &plan->parts->list[step->part];
  int filter = part ? part->filters.begin : 0, channel = part ? part->channels.begin : 0;
  return step->filters.begin == filter && step->channels.begin == channel;
}

int mafat_step_first_channel(const struct mafat_plan *plan, const struct mafat_step *step)
{
  const struct mafat_layer_part *part = step->part < 0 ? NULL : &plan->parts->list[step->part];
  return part && part->apart ? part->channels.begin : 0;
}

void mafat_schedule_rewind(struct mafat_schedule *s)
{
  s->group = 0;
  s->begun = s->division.going = false;
  s->inputs_done = 0;
}

/* Sets *step to the reading of the next input that is read as a whole; such inputs are read before
 * all groups. False: none is left. */
static bool next_whole_input(struct mafat_schedule *s, struct mafat_step *step)
{
  while (s->inputs_done < s->network->n_inputs) {
    int input = s->network->n_layers + s->inputs_done++;
    struct mafat_shape shape = mafat_network_tensor_shape(s->network, input);
    struct mafat_box map = mafat_box_full(shape.h, shape.w);
    if (!s->usage[input].external || mafat_parts_partition(s->plan, input) || s->plan->rank >= 0)
      continue;
    *step = mafat_schedule_step(s, input, map, map);
    return true;
  }
  return false;
}

bool mafat_schedule_next(struct mafat_schedule *s, struct mafat_step *step)
{
  if (next_whole_input(s, step)) return true;
  for (; s->group < s->plan->n_groups; s->group++, s->begun = false) {
    const struct mafat_generator *generator = generators[generator_of(s->plan, s->group)];
    if (!s->begun) generator->begin(s);
    s->begun = true;
    if (generator->next(s, step)) return true;
  }
  return false;
}

/* Returns the part of the output that is held after the step. In a group by rows, each output of a
 * layer has a rolling window of its own, with the rows that the readers of this output still
 * need. */
struct mafat_box mafat_schedule_held(const struct mafat_schedule *s, const struct mafat_step *step,
                                     int output)
{
  const struct mafat_layer *l = &s->network->layers[step->layer];
  if (output == 0) return step->held;
  if (step->part >= 0 || s->plan->groups[step->group].cut.kind != MAFAT_CUT_ROWS)
    return mafat_layer_out_box(l, output, step->held);
  struct mafat_box box = mafat_layer_out_box(l, output, step->out);
  box.y.begin =
      mafat_min(box.y.begin,
                mafat_schedule_first_row(s, mafat_network_output(s->network, step->layer, output)));
  return box;
}

struct mafat_step mafat_schedule_step(const struct mafat_schedule *s, int layer,
                                      struct mafat_box out, struct mafat_box held)
{
  const struct mafat_layer *l = &s->network->layers[layer];
  const struct mafat_layer *reader = &s->network->layers[mafat_plan_reader(s->plan, layer)];
  return (struct mafat_step){.kind =
                                 mafat_layer_is_input(l) ? MAFAT_STEP_INPUT : MAFAT_STEP_COMPUTE,
                             .group = s->group,
                             .layer = layer,
                             .part = -1,
                             .out = out,
                             .held = held,
                             .held_channels = {0, l->out.c},
                             .filters = {0, l->out.c},
                             .channels = {0, mafat_layer_channels(reader)}};
}

/* ---- panels and slices ---- */

void mafat_schedule_divide(struct mafat_schedule *s, struct mafat_step step)
{
  s->division = (struct mafat_division){.whole = step,
                                        .going = true,
                                        .filter = step.filters.begin,
                                        .channel = step.channels.begin,
                                        .transformed = !mafat_plan_transforms(s->plan, s->network,
                                                                              step.layer)};
}

/* End of the slice of input channels that begins at division.channel. Slices limit the bytes that
 * are streamed at a time. The slice has all channels if another step could not continue the sums:
 * the output of a convolution with fused pooling is not stored, and integer sums do not fit in
 * 8-bit outputs. */
static int slice_end(const struct mafat_schedule *s)
{
  const struct mafat_division *d = &s->division;
  int reader = mafat_plan_reader(s->plan, d->whole.layer), all = d->whole.channels.end;
  const struct mafat_layer *l = &s->network->layers[reader];
  bool pooled = mafat_fusion_pools(s->plan, s->network, d->whole.layer);
  if (s->plan->placement[reader] != MAFAT_STREAMED ||
      (pooled && s->plan->algorithms[reader] == MAFAT_DIRECT) || mafat_layer_sums_integers(l))
    return all;
  const struct mafat_winograd *winograd = mafat_plan_winograd(s->plan, d->whole.layer);
  if (winograd && winograd->block)
    return mafat_slice_end(mafat_layer_sources(l), d->channel, winograd->block);
  bool flat = mafat_layer_is_flat(l);
  int taps = flat ? 1 : mafat_window_area(&l->window), width = MAFAT_PANEL * s->plan->n_threads;
  int n = MAFAT_SLICE_FLOATS / (width * taps);
  if (n < MAFAT_PANEL) n = MAFAT_PANEL;
  /* Weight types with scales store rows in groups of MAFAT_SCALED_ROWS (packing.h). A slice of a
   * flat layer must end where a group ends. */
  if (mafat_dtypes[l->weights_type].scaled) n = n / MAFAT_SCALED_ROWS * MAFAT_SCALED_ROWS;
  return mafat_min(flat ? d->channel + n : mafat_slice_end(mafat_layer_sources(l), d->channel, n),
                   all);
}

bool mafat_schedule_next_part(struct mafat_schedule *s, struct mafat_step *part)
{
  struct mafat_division *d = &s->division;
  const struct mafat_step *whole = &d->whole;
  *part = *whole;
  if (!d->transformed) {
    d->transformed = true;
    part->kind = MAFAT_STEP_TRANSFORM;
    return true;
  }
  if (d->filter >= whole->filters.end) {
    d->going = false;
    return false;
  }
  part->filters = mafat_span(d->filter, mafat_min(d->filter + MAFAT_PANEL * s->plan->n_threads,
                                                  whole->filters.end));
  part->channels = mafat_span(d->channel, slice_end(s));
  d->channel = part->channels.end;
  if (d->channel < whole->channels.end) return true;
  d->channel = whole->channels.begin;
  d->filter = part->filters.end;
  return true;
}

void mafat_schedule_skip_parts(struct mafat_schedule *s)
{
  struct mafat_division *d = &s->division;
  d->transformed = true;
  d->filter = d->whole.filters.end;
  d->channel = d->whole.channels.begin;
}
