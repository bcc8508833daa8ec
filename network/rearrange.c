/* Computes properties of the parts of a strided copy (rearrange.h). Called by
 * formats/graph/copying.c and by the kinds rearrange, split and topk in network/, predictor/ and
 * runner/. Pure functions. */
#include "network/rearrange.h"

struct mafat_span mafat_part_atoms(const struct mafat_part *part, int out_axis)
{
  struct mafat_span s = {0, 0};
  while (s.begin < part->n_atoms && part->atoms[s.begin].out_axis < out_axis) s.begin++;
  for (s.end = s.begin; s.end < part->n_atoms && part->atoms[s.end].out_axis == out_axis;) s.end++;
  return s;
}

/* Atoms are sorted: of those on the channels, the last has the smallest step. If there is none, a
 * pixel has one channel. */
int mafat_part_run(const struct mafat_part *part)
{
  struct mafat_span atoms = mafat_part_atoms(part, MAFAT_AXIS_C);
  if (mafat_span_is_empty(atoms)) return 1;
  const struct mafat_atom *a = &part->atoms[atoms.end - 1];
  return a->out_step == 1 && a->in_axis == MAFAT_AXIS_C && a->in_step == 1 ? a->size : 0;
}

long long mafat_part_elements(const struct mafat_part *part)
{
  long long elements = 1;
  for (int i = 0; i < part->n_atoms; i++) elements *= part->atoms[i].size;
  return elements;
}

bool mafat_part_leaves(const struct mafat_part *part, struct mafat_shape operand)
{
  const int extents[MAFAT_N_AXES] = {operand.h, operand.w, operand.c};
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) {
    long long least = part->in_first[axis], most = least;
    for (int i = 0; i < part->n_atoms; i++) {
      const struct mafat_atom *a = &part->atoms[i];
      if (a->in_axis != axis) continue;
      if (a->in_step < 0) least += (a->size - 1LL) * a->in_step;
      else most += (a->size - 1LL) * a->in_step;
    }
    if (least < 0 || most >= extents[axis]) return true;
  }
  return false;
}

int mafat_part_settle(enum mafat_outside outside, int at, int extent)
{
  if (at >= 0 && at < extent) return at;
  if (outside == MAFAT_OUTSIDE_FILL) return -1;
  if (outside == MAFAT_OUTSIDE_EDGE) return at < 0 ? 0 : extent - 1;
  if (extent == 1) return 0;
  int period = 2 * (extent - 1), within = at % period;
  if (within < 0) within += period;
  return within < extent ? within : period - within;
}
