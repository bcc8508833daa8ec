/* Copies elements of maps to other positions. A part describes one copy as nested loops; an atom is
 * one of these loops (network/rearrange.h). If the parts do not cover the output, first fills it
 * with a value. Called by the executor through the table in kinds.c; split.c, rearrange_pixels.c,
 * rearrange_lanes.c and integer/rearrange.c call functions of rearrange.h. Writes the step's output
 * in the arena; allocates nothing. */
#include "runner/engine/kinds/rearrange.h"

int mafat_copy_locate(const struct mafat_part *part, int axis, int out, struct mafat_place *in)
{
  struct mafat_span atoms = mafat_part_atoms(part, axis);
  int rest = out - part->out_first[axis], n = 1;
  if (rest < 0) return 0;
  for (int i = atoms.begin; i < atoms.end; i++) {
    const struct mafat_atom *a = &part->atoms[i];
    int index = mafat_min(rest / a->out_step, a->size - 1);
    rest -= index * a->out_step;
    in->at[a->in_axis] += index * a->in_step;
    n = a->out_step == 1 ? a->size - index : 1;
  }
  return rest == 0 ? n : 0;
}

bool mafat_copy_next_row(struct mafat_copy_rows *rows)
{
  const struct mafat_part *p = rows->copy->part;
  while (rows->y < rows->copy->box.y.end) {
    rows->in = (struct mafat_place){
        {p->in_first[MAFAT_AXIS_H], p->in_first[MAFAT_AXIS_W], p->in_first[MAFAT_AXIS_C]}};
    if (mafat_copy_locate(p, MAFAT_AXIS_H, rows->y++, &rows->in)) return true;
  }
  return false;
}

/* ---- columns ---- */

/* Returns the index of the longest of the atoms that run over columns of the output and along
 * in_axis of the input. If there is none, returns `best`. */
static int longest(const struct mafat_part *p, int in_axis, int best)
{
  struct mafat_span atoms = mafat_part_atoms(p, MAFAT_AXIS_W);
  bool found = false;
  for (int i = atoms.begin; i < atoms.end; i++) {
    if (p->atoms[i].in_axis != in_axis || (found && p->atoms[i].size <= p->atoms[best].size))
      continue;
    best = i;
    found = true;
  }
  return best;
}

struct mafat_copy_columns mafat_copy_columns(const struct mafat_strided_copy *m,
                                             struct mafat_place from, bool by_channels)
{
  const struct mafat_part *p = m->part;
  struct mafat_span atoms = mafat_part_atoms(p, MAFAT_AXIS_W);
  struct mafat_copy_columns c = {.copy = m, .from = from, .n_turns = 1, .step = 1};
  c.atom = longest(p, MAFAT_AXIS_W, by_channels ? longest(p, MAFAT_AXIS_C, -1) : -1);
  if (c.atom < 0) {
    c.n_turns = mafat_span_size(m->box.x);
    c.in_axis = MAFAT_AXIS_W;
    return c;
  }
  for (int i = atoms.begin; i < atoms.end; i++)
    if (i != c.atom) c.n_turns *= p->atoms[i].size;
  c.step = p->atoms[c.atom].out_step;
  c.in_axis = p->atoms[c.atom].in_axis;
  c.in_step = p->atoms[c.atom].in_step;
  return c;
}

/* Sets *c to the output columns of a turn, clipped to the box. A part may have more atoms over
 * columns than c->atom; there is a turn for each combination of their indices. False: no column is
 * in the box. */
static bool take_turn(struct mafat_copy_columns *c, int turn)
{
  const struct mafat_part *p = c->copy->part;
  struct mafat_span atoms = mafat_part_atoms(p, MAFAT_AXIS_W), box = c->copy->box.x;
  int x = p->out_first[MAFAT_AXIS_W];
  c->in = c->from;
  for (int i = atoms.end - 1; i >= atoms.begin; i--) {
    const struct mafat_atom *a = &p->atoms[i];
    if (i == c->atom) continue;
    x += turn % a->size * a->out_step;
    c->in.at[a->in_axis] += turn % a->size * a->in_step;
    turn /= a->size;
  }
  int first = x >= box.begin ? 0 : mafat_divide_up(box.begin - x, c->step);
  int end =
      x >= box.end ? 0 : mafat_min(mafat_divide_up(box.end - x, c->step), p->atoms[c->atom].size);
  c->x = x + first * c->step;
  c->n = end - first;
  c->in.at[c->in_axis] += first * c->in_step;
  return c->n > 0;
}

bool mafat_copy_next_columns(struct mafat_copy_columns *c)
{
  while (c->next < c->n_turns) {
    int turn = c->next++;
    if (c->atom >= 0) {
      if (take_turn(c, turn)) return true;
      continue;
    }
    c->x = c->copy->box.x.begin + turn;
    c->n = 1;
    c->in = c->from;
    if (mafat_copy_locate(c->copy->part, MAFAT_AXIS_W, c->x, &c->in)) return true;
  }
  return false;
}

/* ---- elements ---- */

struct mafat_copy_channel mafat_copy_find(const struct mafat_strided_copy *m, struct mafat_place in)
{
  const struct mafat_sources *sources = &m->operand->sources;
  int source = 0, c = in.at[MAFAT_AXIS_C];
  for (; c >= sources->list[source].n; source++) c -= sources->list[source].n;
  const struct mafat_source *s = &sources->list[source];
  int channel = s->first + c, lane = channel % MAFAT_CHANNEL_BLOCK;
  return (struct mafat_copy_channel){
      mafat_tensors_read(m->tensors, sources, source, channel, in.at[MAFAT_AXIS_H],
                         in.at[MAFAT_AXIS_W]),
      mafat_tensors_pixel_floats(m->tensors, s->tensor, channel / MAFAT_CHANNEL_BLOCK),
      mafat_min(c, lane), mafat_min(s->n - c, MAFAT_CHANNEL_BLOCK - lane) - 1};
}

/* ---- steps ---- */

/* True if the parts write every element of the output. */
static bool covers_all(const struct mafat_layer *l)
{
  const struct mafat_rearrange *r = l->rearrange;
  long long elements = 0;
  for (int k = 0; k < r->n_parts; k++) {
    const struct mafat_part *p = &r->parts[k];
    if (p->outside == MAFAT_OUTSIDE_FILL && mafat_part_leaves(p, l->operands[k].shape))
      return false;
    elements += mafat_part_elements(p);
  }
  return elements == mafat_shape_elements(l->out);
}

static void fill(const struct mafat_worker *w, int layer, struct mafat_box box)
{
  const struct mafat_layer *l = &w->tensors->network->layers[layer];
  for (int block = 0; block < mafat_n_blocks(l->out.c); block++) {
    size_t floats = (size_t)mafat_tensors_pixel_floats(w->tensors, layer, block) *
                    (size_t)mafat_span_size(box.x);
    for (int y = box.y.begin; y < box.y.end; y++) {
      float *row = mafat_tensors_pixel(w->tensors, layer, block, y, box.x.begin);
      for (size_t i = 0; i < floats; i++) row[i] = l->rearrange->fill;
    }
  }
}

void mafat_copy_floats(const struct mafat_strided_copy *m)
{
  if (mafat_part_run(m->part) > 1) mafat_copy_pixels(m);
  else mafat_copy_lanes(m);
}

static void rearrange(const struct mafat_worker *w, int layer, struct mafat_box box)
{
  const struct mafat_layer *l = &w->tensors->network->layers[layer];
  if (!covers_all(l)) fill(w, layer, box);
  for (int k = 0; k < l->n_operands; k++) {
    struct mafat_strided_copy copy = {w->tensors, &l->operands[k], &l->rearrange->parts[k], layer,
                                      box};
    mafat_copy_floats(&copy);
  }
}

enum { SHARES = 4 }; /* a step is divided into this many shares for each worker */

/* The workers share rows. A map with a single row, such as a list of tokens, is shared by
 * columns. */
static int run_rearrange(const struct mafat_worker *w, const struct mafat_step *step)
{
  bool by_rows = mafat_span_size(step->out.y) > 1;
  struct mafat_span all = by_rows ? step->out.y : step->out.x;
  int extent = mafat_span_size(all), n_workers = mafat_team_size(w->team);
  int shares = n_workers == 1 ? 1 : mafat_min(extent, SHARES * n_workers);
  for (int unit; (unit = mafat_team_take(w->team, w->index, shares)) >= 0;) {
    struct mafat_span share = mafat_span_share(extent, shares, unit);
    struct mafat_box box = step->out;
    *(by_rows ? &box.y : &box.x) = mafat_span(all.begin + share.begin, all.begin + share.end);
    rearrange(w, step->layer, box);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_rearrange = {.run = run_rearrange,
                                                         .sharing = MAFAT_SHARED_BY_UNITS};
