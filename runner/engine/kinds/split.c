/* Copies parts of a map, of floats or integers, to separate outputs. Skips outputs that no layer
 * reads. Called by the executor through the tables in kinds.c and integer/kinds.c. Writes the
 * step's outputs in the arena; allocates nothing. */
#include "runner/engine/kinds/rearrange.h"

enum { SHARES = 4 }; /* an output's rows are divided into this many shares for each worker */

/* Workers take units from the team; a unit is a share of the rows of one output. */
static int run_split(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_network *n = w->tensors->network;
  const struct mafat_layer *l = &n->layers[step->layer];
  int n_outputs = mafat_layer_n_outputs(l), n_workers = mafat_team_size(w->team);
  bool by_rows = mafat_layer_along(l) & MAFAT_ALONG_ROWS && n_workers > 1;
  int shares = by_rows ? mafat_min(mafat_span_size(step->out.y), SHARES * n_workers) : 1;
  for (int unit; (unit = mafat_team_take(w->team, w->index, shares * n_outputs)) >= 0;) {
    int k = unit % n_outputs, tensor = mafat_network_output(n, step->layer, k);
    if (!mafat_tensors_has(w->tensors, tensor)) continue;
    struct mafat_strided_copy m = {w->tensors, &l->operands[0], &l->rearrange->parts[k], tensor,
                                   mafat_layer_out_box(l, k, step->out)};
    struct mafat_span share = mafat_span_share(mafat_span_size(m.box.y), shares, unit / n_outputs);
    m.box.y = mafat_span(m.box.y.begin + share.begin, m.box.y.begin + share.end);
    if (l->out_type == MAFAT_F32) mafat_copy_floats(&m);
    else mafat_copy_bytes(&m);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_split = {.run = run_split,
                                                     .sharing = MAFAT_SHARED_BY_UNITS};
