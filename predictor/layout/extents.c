/* Walks the schedule, without computing anything, to find the extents of tensors and steps, and
 * counts multiplications (MACs). Called by maker.c. Fills the maker's lists and the layout's
 * counts; allocates nothing. */
#include "predictor/layout/maker.h"

#include "predictor/plan/fusion.h"
#include "predictor/plan/order.h"
#include "predictor/plan/winograd.h"

/* Finds the numbers of padding columns left and right of each tensor: the most that any of its
 * readers needs. */
static void find_pads(struct mafat_layout_maker *m)
{
  for (int l = 0; l < m->plan->n_layers; l++) {
    if (!mafat_schedule_runs(m->schedule, l)) continue;
    const struct mafat_layer *layer = &m->network->layers[mafat_plan_reader(m->plan, l)];
    int left, right;
    mafat_layer_pads(layer, &left, &right);
    const struct mafat_sources *sources = mafat_layer_sources(layer);
    for (int i = 0; i < mafat_sources_count(sources); i++) {
      struct mafat_tensor_layout *t = &m->layout->tensors[sources->list[i].tensor];
      t->left = mafat_max(t->left, left);
      t->right = mafat_max(t->right, right);
    }
  }
}

/* Gives tensors that share a buffer the same padding, the larger of both. */
static void share_pads(struct mafat_layout_maker *m)
{
  struct mafat_tensor_layout *tensors = m->layout->tensors;
  for (bool grown = true; grown;) { /* until chains of sharing tensors agree */
    grown = false;
    for (int l = 0; l < m->plan->n_layers; l++) {
      int other = mafat_plan_shares_with(m->plan, l);
      if (other < 0) continue;
      struct mafat_tensor_layout *a = &tensors[l], *b = &tensors[other];
      grown = grown || a->left != b->left || a->right != b->right;
      a->left = b->left = mafat_max(a->left, b->left);
      a->right = b->right = mafat_max(a->right, b->right);
    }
  }
}

/* Raises the extent of a tensor (how much of it is held at a time) to a box and some channels. */
static void hold(struct mafat_layout_maker *m, int tensor, struct mafat_box held,
                 struct mafat_span channels)
{
  struct mafat_extent *e = &m->extents[tensor];
  const struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  struct mafat_shape shape = mafat_network_tensor_shape(m->network, tensor);
  int cols = mafat_span_size(held.x) + (held.x.begin == 0 ? t->left : 0) +
             (held.x.end == shape.w ? t->right : 0);
  e->pixel_width = mafat_max(e->pixel_width, mafat_pixel_width_of(shape.c, channels));
  e->rows = mafat_max(e->rows, mafat_span_size(held.y));
  e->cols = mafat_max(e->cols, cols);
}

/* MACs of one layer of a step. */
static uint64_t link_macs(const struct mafat_layer *l, const struct mafat_link *link)
{
  return mafat_layer_part_macs(l, (uint64_t)mafat_box_area(link->box),
                               mafat_span_size(link->filters), mafat_span_size(link->channels));
}

/* Products that the kernels compute for one layer of a step, including the padding of panels and
 * tiles. */
static uint64_t link_padded_macs(const struct mafat_plan *plan, const struct mafat_layer *l,
                                 const struct mafat_link *link)
{
  if (!mafat_layer_has_panels(l)) return link_macs(l, link);
  uint64_t width = 0, filters = (uint64_t)mafat_span_size(link->filters);
  for (int f = link->filters.begin, end; f < link->filters.end; f = end) {
    end = mafat_min(mafat_panel_end(l, f), link->filters.end);
    width += (uint64_t)mafat_panel_width(end - f);
  }
  if (filters == 0) return 0;
  const struct mafat_winograd *winograd = mafat_winograd_of(plan->algorithms[link->layer]);
  if (winograd)
    return (uint64_t)mafat_winograd_tiles(winograd, mafat_span_size(link->box.y)) *
           (uint64_t)mafat_winograd_tiles(winograd, mafat_span_size(link->box.x)) *
           (uint64_t)winograd->points * width * (uint64_t)mafat_span_size(link->channels);
  return link_macs(l, link) / filters * width;
}

static void count_step(struct mafat_layout_maker *m, const struct mafat_step *step)
{
  struct mafat_link links[MAFAT_FUSION_MOST];
  links[0] = (struct mafat_link){step->layer, step->out, step->filters, step->channels};
  for (int i = 0, n = mafat_fusion_links(m->plan, m->network, links); i < n; i++) {
    const struct mafat_layer *l = &m->network->layers[links[i].layer];
    uint64_t macs = link_macs(l, &links[i]);
    m->layout->layer_macs[links[i].layer] += macs;
    m->layout->groups[step->group].macs += macs;
    m->layout->groups[step->group].padded_macs += link_padded_macs(m->plan, l, &links[i]);
  }
}

/* MACs of a layer and of those fused into it, if each output is computed once. */
static uint64_t macs_once(const struct mafat_layout_maker *m, int layer)
{
  uint64_t macs = 0;
  for (int l = layer; l >= 0; l = mafat_fusion_inside(m->plan, l)) {
    struct mafat_shape out = m->network->layers[l].out;
    macs += mafat_layer_macs(&m->network->layers[l], (uint64_t)out.h * (uint64_t)out.w);
  }
  return macs;
}

/* True for the first part of a divided step; the other parts hold the same pixels. Also true for
 * each part of a panel fusion's convolution, because its panels use the buffer one after the
 * other. */
static bool is_first_part(const struct mafat_layout_maker *m, const struct mafat_step *step)
{
  return mafat_step_begins(m->plan, step) ||
         (step->part < 0 && m->plan->panel_producer[step->layer] >= 0);
}

static void hold_outputs(struct mafat_layout_maker *m, const struct mafat_step *step)
{
  const struct mafat_layer *l = &m->network->layers[step->layer];
  if (!l->more) hold(m, step->layer, step->held, step->held_channels);
  for (int k = 0; l->more && k < mafat_layer_n_outputs(l); k++) {
    int tensor = mafat_network_output(m->network, step->layer, k);
    if (mafat_usage_is_read(&m->schedule->usage[tensor]))
      hold(m, tensor, mafat_schedule_held(m->schedule, step, k),
           mafat_layer_out_channels(l, k, step->held_channels));
  }
}

/* Skips the following parts of a divided step. Does nothing in a panel fusion, whose readers run
 * between the parts. */
static void skip_parts(struct mafat_layout_maker *m, const struct mafat_step *step)
{
  if (mafat_schedule_is_dividing(m->schedule, step->layer) &&
      !mafat_order_is_panel_producer(m->plan, step->layer))
    mafat_schedule_skip_parts(m->schedule);
}

/* Walks the schedule, and adds up the MACs of each group, except for the reduced layouts that
 * layout.h calls outlines and sketches. */
static void walk(struct mafat_layout_maker *m)
{
  struct mafat_step step;
  struct mafat_layout *layout = m->layout;
  mafat_schedule_rewind(m->schedule);
  while (mafat_schedule_next(m->schedule, &step)) {
    struct mafat_extent *e = &m->extents[step.layer];
    e->out_rows = mafat_max(e->out_rows, mafat_span_size(step.out.y));
    e->out_cols = mafat_max(e->out_cols, mafat_span_size(step.out.x));
    if (step.kind == MAFAT_STEP_TRANSFORM || step.kind == MAFAT_STEP_SEND ||
        step.kind == MAFAT_STEP_WAIT)
      continue;
    if (is_first_part(m, &step)) hold_outputs(m, &step);
    if (m->outline) skip_parts(m, &step);
    else if (step.kind == MAFAT_STEP_COMPUTE && !m->sketch) count_step(m, &step);
  }
  for (int t = 0; t < mafat_network_n_tensors(m->network); t++) {
    struct mafat_shape shape = mafat_network_tensor_shape(m->network, t);
    if (m->schedule->usage[t].external && m->extents[t].rows > 0)
      hold(m, t, mafat_box_full(shape.h, shape.w), mafat_span(0, shape.c));
  }
  for (int g = 0; g < m->plan->n_groups; g++) {
    uint64_t once = 0;
    for (int i = m->plan->groups[g].at.begin; i < m->plan->groups[g].at.end; i++)
      if (m->extents[m->plan->members[i]].out_rows > 0) once += macs_once(m, m->plan->members[i]);
    struct mafat_group_cost *cost = &layout->groups[g];
    cost->redundant_macs = cost->macs > once ? cost->macs - once : 0;
    layout->macs += cost->macs;
    layout->redundant_macs += cost->redundant_macs;
    layout->padded_macs += cost->padded_macs;
  }
}

void mafat_layout_find_extents(struct mafat_layout_maker *m)
{
  find_pads(m);
  share_pads(m);
  walk(m);
}
