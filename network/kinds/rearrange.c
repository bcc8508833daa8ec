/* Shapes and geometry of kind rearrange: a strided copy of elements between maps; checks and
 * normalizes its parts. Called by api/, formats/, predictor/, programs/make_weights, runner/ and
 * search/ through mafat_kind_rearrange, its entry in the table of kinds (network/kind.h) and
 * network/rearrange.h, and by network/kinds/split.c. infer sets the layer's output shape; nothing
 * is allocated. */
#include "network/rearrange.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

#include <stdlib.h>
#include <string.h>

/* limit of input positions, which may be outside the map, and of the distance between the first and
 * the last position of an atom */
enum { FARTHEST = 1 << 30 };

/* ---- checking parts ---- */

/* Smallest and largest index, both included. */
struct reach {
  long long least, most;
};

static void extend(struct reach *r, long long by)
{
  if (by < 0) r->least += by;
  else r->most += by;
}

/* True if sizes, axes and steps are valid. */
static bool is_sound(const struct mafat_atom *a)
{
  return a->size >= 1 && a->out_axis >= 0 && a->out_axis < MAFAT_N_AXES && a->in_axis >= 0 &&
         a->in_axis < MAFAT_N_AXES && llabs((a->size - 1LL) * a->out_step) < FARTHEST &&
         llabs((a->size - 1LL) * a->in_step) < FARTHEST && (a->size == 1 || a->out_step != 0);
}

/* True if the part writes only inside an output with this extent along the axis, and reads at
 * positions within FARTHEST. All atoms were checked before, so sums cannot overflow. */
static bool fits(const struct mafat_part *p, int axis, int extent)
{
  struct reach out = {p->out_first[axis], p->out_first[axis]},
               in = {p->in_first[axis], p->in_first[axis]};
  for (int i = 0; i < p->n_atoms; i++) {
    const struct mafat_atom *a = &p->atoms[i];
    if (a->out_axis == axis) extend(&out, (a->size - 1LL) * a->out_step);
    if (a->in_axis == axis) extend(&in, (a->size - 1LL) * a->in_step);
  }
  return out.least >= 0 && out.most < extent && in.least > -FARTHEST && in.most < FARTHEST;
}

/* Returns the error in a part; NULL: none. */
static const char *find_fault(const struct mafat_part *p, struct mafat_shape out)
{
  if (p->n_atoms < 0 || p->n_atoms > MAFAT_MAX_ATOMS) return "has too many strided dimensions";
  if (p->outside < MAFAT_OUTSIDE_FILL || p->outside > MAFAT_OUTSIDE_EDGE)
    return "has an unknown rule for reads outside its input";
  for (int i = 0; i < p->n_atoms; i++)
    if (!is_sound(&p->atoms[i])) return "has an invalid size, axis or step";
  if (fits(p, MAFAT_AXIS_H, out.h) && fits(p, MAFAT_AXIS_W, out.w) && fits(p, MAFAT_AXIS_C, out.c))
    return NULL;
  return "writes outside its output";
}

/* ---- normalizing atoms ---- */

/* Makes all out_steps positive, and removes atoms of size 1. */
static void make_positive(struct mafat_part *p)
{
  int n = 0;
  for (int i = 0; i < p->n_atoms; i++) {
    struct mafat_atom a = p->atoms[i];
    if (a.size == 1) continue;
    if (a.in_step == 0) a.in_axis = a.out_axis;
    if (a.out_step < 0) {
      p->out_first[a.out_axis] += (a.size - 1) * a.out_step;
      p->in_first[a.in_axis] += (a.size - 1) * a.in_step;
      a.out_step = -a.out_step;
      a.in_step = -a.in_step;
    }
    p->atoms[n++] = a;
  }
  p->n_atoms = n;
}

static bool comes_before(const struct mafat_atom *a, const struct mafat_atom *b)
{
  return a->out_axis != b->out_axis ? a->out_axis < b->out_axis : a->out_step > b->out_step;
}

static void sort_atoms(struct mafat_part *p)
{
  for (int i = 1; i < p->n_atoms; i++)
    for (int k = i; k > 0 && comes_before(&p->atoms[k], &p->atoms[k - 1]); k--) {
      struct mafat_atom a = p->atoms[k];
      p->atoms[k] = p->atoms[k - 1];
      p->atoms[k - 1] = a;
    }
}

/* True if both atoms can be merged: in both maps, a step of `a` is as long as all steps of `b`. */
static bool are_one(const struct mafat_atom *a, const struct mafat_atom *b)
{
  return a->out_axis == b->out_axis && a->in_axis == b->in_axis &&
         a->out_step == (long long)b->size * b->out_step &&
         a->in_step == (long long)b->size * b->in_step;
}

static void merge_atoms(struct mafat_part *p)
{
  int n = 0;
  for (int i = 0; i < p->n_atoms; i++) {
    struct mafat_atom a = p->atoms[i];
    if (n > 0 && are_one(&p->atoms[n - 1], &a)) {
      a.size *= p->atoms[n - 1].size;
      n--;
    }
    p->atoms[n++] = a;
  }
  p->n_atoms = n;
}

/* True if no output position is written twice: each step is longer than all smaller steps along its
 * axis together. */
static bool is_injective(const struct mafat_part *p)
{
  long long below = 0;
  for (int i = p->n_atoms - 1; i >= 0; i--) {
    const struct mafat_atom *a = &p->atoms[i];
    if (i + 1 == p->n_atoms || a->out_axis != a[1].out_axis) below = 0;
    if (a->out_step <= below) return false;
    below += (a->size - 1LL) * a->out_step;
  }
  return true;
}

MAFAT_PART(opening)
const char *mafat_part_settle_atoms(struct mafat_part *p, struct mafat_shape out)
{
  const char *fault = find_fault(p, out);
  if (fault) return fault;
  make_positive(p);
  sort_atoms(p);
  merge_atoms(p);
  return is_injective(p) ? NULL : "writes an output element twice";
}

/* Returns the smallest extent of an axis that contains all elements that the part writes. */
MAFAT_PART(opening) static int extent_of(const struct mafat_part *p, int axis)
{
  struct reach out = {p->out_first[axis], p->out_first[axis]};
  for (int i = 0; i < p->n_atoms; i++)
    if (is_sound(&p->atoms[i]) && p->atoms[i].out_axis == axis)
      extend(&out, (p->atoms[i].size - 1LL) * p->atoms[i].out_step);
  return out.most < FARTHEST ? (int)out.most + 1 : FARTHEST;
}

MAFAT_PART(opening) struct mafat_shape mafat_part_shape(const struct mafat_part *p)
{
  return (struct mafat_shape){extent_of(p, MAFAT_AXIS_H), extent_of(p, MAFAT_AXIS_W),
                              extent_of(p, MAFAT_AXIS_C)};
}

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  struct mafat_rearrange *r = l->rearrange;
  if (!r || r->n_parts != l->n_operands)
    return mafat_kind_refuse(context, "expects one part for each operand");
  int code = mafat_kind_put_out(l, context, r->shape.h, r->shape.w, r->shape.c);
  for (int k = 0; k < r->n_parts && code == MAFAT_OK; k++) {
    const char *fault = mafat_part_settle_atoms(&r->parts[k], l->out);
    if (fault) return mafat_kind_refuse(context, fault);
  }
  return code;
}

/* ---- input span of an output span ---- */

/* State of find, which finds the input indices along an axis that a range of outputs reads. */
struct atom_walk {
  const struct mafat_part *part;
  int axis, end;      /* axis of input and output; index after the last atom with this out_axis */
  struct reach found; /* smallest and largest input index; empty at first */
};

/* Returns the largest output offset that the atoms from the i-th on can give. */
static long long reach_below(const struct atom_walk *w, int i)
{
  long long below = 0;
  for (; i < w->end; i++) below += (w->part->atoms[i].size - 1LL) * w->part->atoms[i].out_step;
  return below;
}

static long long step_of(const struct atom_walk *w, int i)
{
  const struct mafat_atom *a = &w->part->atoms[i];
  return a->in_axis == w->axis ? a->in_step : 0;
}

/* Adds the input indices of all outputs of the atoms from the i-th on. */
static void find_all(struct atom_walk *w, int i, long long at)
{
  struct reach all = {at, at};
  for (; i < w->end; i++) extend(&all, (w->part->atoms[i].size - 1LL) * step_of(w, i));
  if (all.least < w->found.least) w->found.least = all.least;
  if (all.most > w->found.most) w->found.most = all.most;
}

/* Adds the input indices that outputs [begin, end) read, by the atoms from the i-th on. The indices
 * of the earlier atoms are fixed: `at` is the input that they select, and begin and end are counted
 * from the output that they select. For an index of atom i strictly between the first and the last
 * that the range touches, the range contains all outputs of the later atoms. */
static void find(struct atom_walk *w, int i, long long begin, long long end, long long at)
{
  if (end <= 0 || begin > reach_below(w, i)) return;
  if (begin <= 0 && end > reach_below(w, i)) {
    find_all(w, i, at);
    return;
  }
  const struct mafat_atom *a = &w->part->atoms[i];
  long long below = reach_below(w, i + 1), step = step_of(w, i);
  long long first = begin <= below ? 0 : (begin - below + a->out_step - 1) / a->out_step;
  long long last = (end - 1) / a->out_step;
  if (last >= a->size) last = a->size - 1;
  if (last > first + 1) {
    find_all(w, i + 1, at + (first + 1) * step);
    find_all(w, i + 1, at + (last - 1) * step);
  }
  find(w, i + 1, begin - first * a->out_step, end - first * a->out_step, at + first * step);
  if (last > first)
    find(w, i + 1, begin - last * a->out_step, end - last * a->out_step, at + last * step);
}

/* Returns the map's indices that are read for the indices r. Those of r that are outside the map
 * are replaced by the rule `outside`. */
static struct mafat_span settle(enum mafat_outside outside, struct reach r, int extent)
{
  struct mafat_span s = mafat_span_clip(mafat_span((int)r.least, (int)r.most + 1), extent);
  if (mafat_span_is_empty(s)) s = mafat_span(0, 0);
  if (outside == MAFAT_OUTSIDE_FILL || (r.least >= 0 && r.most < extent)) return s;
  /* Farther out than one reflection, any index of the map may be read. */
  bool far = r.least <= -extent || r.most >= 2LL * extent - 1;
  if (far && outside == MAFAT_OUTSIDE_REFLECT) return mafat_span(0, extent);
  struct reach beside[] = {{r.least, r.most < 0 ? r.most : -1},
                           {r.least < extent ? extent : r.least, r.most}};
  for (int i = 0; i < 2; i++) {
    if (beside[i].most < beside[i].least) continue;
    int a = mafat_part_settle(outside, (int)beside[i].least, extent);
    int b = mafat_part_settle(outside, (int)beside[i].most, extent);
    s = mafat_span_hull(s, mafat_span(a < b ? a : b, (a < b ? b : a) + 1));
  }
  return s;
}

struct mafat_span mafat_part_in_span(const struct mafat_part *p, struct mafat_shape shape,
                                     bool axis_y, struct mafat_span out)
{
  int axis = axis_y ? MAFAT_AXIS_H : MAFAT_AXIS_W;
  struct mafat_span atoms = mafat_part_atoms(p, axis);
  struct atom_walk w = {p, axis, atoms.end, {FARTHEST, -FARTHEST}};
  find(&w, atoms.begin, (long long)out.begin - p->out_first[axis],
       (long long)out.end - p->out_first[axis], p->in_first[axis]);
  if (w.found.most < w.found.least) return mafat_span(0, 0);
  for (int i = 0; i < p->n_atoms; i++)
    if (p->atoms[i].out_axis != axis && p->atoms[i].in_axis == axis)
      extend(&w.found, (p->atoms[i].size - 1LL) * p->atoms[i].in_step);
  return settle(p->outside, w.found, axis_y ? shape.h : shape.w);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  return mafat_part_in_span(&l->rearrange->parts[operand], l->operands[operand].shape, axis_y, out);
}

const struct mafat_kind mafat_kind_rearrange = {
    .name = "rearrange",
    .keeps = true,
    .along = MAFAT_ALONG_MAP,
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = mafat_kind_numbers_kept,
};
