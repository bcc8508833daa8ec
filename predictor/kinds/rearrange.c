/* Counts the work of rearrangements: transposes, slices and other copies of elements
 * (network/rearrange.h). Called by cost/work.c through the table in kinds.c, and by split.c.
 * Allocates nothing. */
#include "predictor/kinds/rearrange.h"

/* Runs of at least this many contiguous channels are copied as a whole; shorter runs channel by
 * channel. */
enum { WHOLE = 4 };

/* Largest number of output columns that the part's innermost loop over columns copies. */
static int columns_of(const struct mafat_part *p)
{
  struct mafat_span atoms = mafat_part_atoms(p, MAFAT_AXIS_W);
  int most = 1;
  for (int i = atoms.begin; i < atoms.end; i++)
    if (p->atoms[i].in_axis != MAFAT_AXIS_H) most = mafat_max(most, p->atoms[i].size);
  return most;
}

/* Cost of a part whose runs are shorter than WHOLE, in gathered elements; measured. Runs of two or
 * three channels cost more than single channels: for single channels, an address is computed once
 * for all columns, and several columns are copied at a time. A part that reads every second channel
 * is cheaper, because vector shuffles pick these channels. */
static double picks_of(const struct mafat_part *p)
{
  if (mafat_part_run(p) > 1) return (double)mafat_part_elements(p) * (1.5 + 20.0 / columns_of(p));
  struct mafat_span atoms = mafat_part_atoms(p, MAFAT_AXIS_C);
  const struct mafat_atom *last = mafat_span_is_empty(atoms) ? NULL : &p->atoms[atoms.end - 1];
  bool others = last && last->in_axis == MAFAT_AXIS_C && last->in_step == 2;
  return (double)mafat_part_elements(p) * (0.5 + (others ? 12.0 : 19.0) / columns_of(p));
}

void mafat_count_rearranged(struct mafat_counting *c, const struct mafat_rearrange *r, double times)
{
  double elements = 0, picked = 0, picks = 0, outputs = mafat_counting_outputs(c) * times,
         bytes = mafat_counting_out_bytes(c) * times;
  for (int k = 0; k < r->n_parts; k++) {
    double n = (double)mafat_part_elements(&r->parts[k]);
    elements += n;
    if (mafat_part_run(&r->parts[k]) >= WHOLE) continue;
    picked += n;
    picks += picks_of(&r->parts[k]);
  }
  if (elements == 0) elements = 1;
  mafat_count_rows(c, MAFAT_TERM_MOVED, outputs * (1 - picked / elements), bytes, bytes);
  mafat_count(c, MAFAT_TERM_GATHERED, outputs * (picks / elements));
}

static void count_rearrange(struct mafat_counting *c)
{
  mafat_count_rearranged(c, c->layer->rearrange, 1);
}

const struct mafat_predictor_kind mafat_predictor_rearrange = {.count = count_rearrange};
