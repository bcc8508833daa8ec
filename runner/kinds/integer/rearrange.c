/* Elements of maps in other places, byte by byte. */
#include "runner/kinds/rearrange.h"
#include "runner/kinds/integer/integer.h"

#include <string.h>

static void fill(const struct mafat_tensors *t, const struct mafat_layer *l, int layer, struct mafat_box box)
{
  for (int block = 0; block < mafat_n_blocks(l->out.c); block++)
    for (int y = box.y.begin; y < box.y.end; y++)
      memset(mafat_tensors_address(t, layer, block, y, box.x.begin), (int)l->rearrange->fill,
             mafat_tensors_pixel_bytes(t, layer, block) * (size_t)mafat_span_size(box.x));
}

/* Is there something to read? Settles where. */
static bool settle(const struct mafat_moving *m, struct mafat_place *in)
{
  for (int a = 0; a < MAFAT_N_AXES; a++) {
    in->at[a] = mafat_part_settle(m->part->outside, in->at[a], mafat_moving_extent(m, a));
    if (in->at[a] < 0) return false;
  }
  return true;
}

static void move_pixel(const struct mafat_moving *m, int y, int x, struct mafat_place pixel)
{
  int channels = m->tensors->network->layers[m->layer].out.c, bytes;
  for (int c = 0; c < channels; c++) {
    struct mafat_place in = pixel;
    if (!mafat_moving_locate(m->part, MAFAT_AXIS_C, c, &in) || !settle(m, &in)) continue;
    mafat_tensors_address(m->tensors, m->layer, c / MAFAT_CHANNEL_BLOCK, y, x)[c % MAFAT_CHANNEL_BLOCK] =
        (char)*mafat_integer_behind(m->tensors, &m->operand->sources, in.at[MAFAT_AXIS_C], in.at[MAFAT_AXIS_H], in.at[MAFAT_AXIS_W], &bytes);
  }
}

static int run_rearrange(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  fill(w->tensors, l, step->layer, step->out);
  for (int k = 0; k < l->n_operands; k++) {
    struct mafat_moving m = {w->tensors, &l->operands[k], &l->rearrange->parts[k], step->layer, step->out};
    for (struct mafat_moving_rows rows = mafat_moving_rows(&m); mafat_moving_next_row(&rows);)
      for (int x = step->out.x.begin; x < step->out.x.end; x++) {
        struct mafat_place in = rows.in;
        if (mafat_moving_locate(m.part, MAFAT_AXIS_W, x, &in)) move_pixel(&m, rows.y - 1, x, in);
      }
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_rearrange = {.run = run_rearrange, .sharing = MAFAT_SHARED_BY_ROWS};
