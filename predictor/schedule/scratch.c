/* Plans the scratch of a step: calls the function of its innermost layer's kind. Called by
 * predictor/layout, predictor/planning, predictor/schedule and search/best/costs.c, and by
 * predictor/kinds to append memory to a record. Fills the caller's record; allocates nothing. */
#include "predictor/schedule/scratch.h"

#include "predictor/plan/fusion.h"
#include "predictor/kind.h"

#include <stdint.h>
#include <string.h>

bool mafat_scratch_append(size_t *part_bytes, size_t *offset, size_t n, size_t size)
{
  size_t bytes;
  *offset = *part_bytes;
  if (__builtin_mul_overflow(n, size, &bytes) || __builtin_add_overflow(bytes, (size_t)63, &bytes))
    return false;
  return !__builtin_add_overflow(*part_bytes, bytes / 64 * 64, part_bytes);
}

bool mafat_scratch_append_floats(size_t *part_bytes, size_t *offset, size_t n)
{
  return mafat_scratch_append(part_bytes, offset, n, sizeof(float));
}

bool mafat_scratch_append_elements(size_t *part_bytes, size_t *offset, enum mafat_dtype type,
                                   size_t n)
{
  uint64_t bytes = mafat_dtype_bytes(type, n);
  return bytes <= SIZE_MAX && mafat_scratch_append(part_bytes, offset, (size_t)bytes, 1);
}

bool mafat_scratch_append_tables(struct mafat_scratch *s, enum mafat_dtype type)
{
  size_t block_slice = type == MAFAT_F32 ? MAFAT_SCRATCH_BLOCK_SLICE : MAFAT_SCRATCH_INTEGER_PIECE;
  size_t *slot = &s->slot_bytes;
  return mafat_scratch_append(slot, &s->block_slices_offset, (size_t)s->n_block_slices,
                              block_slice) &&
         mafat_scratch_append(slot, &s->in_offset, (size_t)s->n_block_slices * (size_t)s->in_rows,
                              8) &&
         mafat_scratch_append(slot, &s->out_offset, 2 * (size_t)s->rows_per_call, 8);
}

bool mafat_scratch_append_widened(struct mafat_scratch *s, size_t floats)
{
  s->widened_floats = floats;
  return floats == 0 || mafat_scratch_append_floats(&s->slot_bytes, &s->widened_offset, floats);
}

bool mafat_scratch_plan_lanes(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  /* integers: room for all channels of one pixel, a byte each */
  if (mafat_network_in_type(r->network, r->layer) != MAFAT_F32)
    return mafat_scratch_append(&s->slot_bytes, &s->pixel_offset,
                                (size_t)r->network->layers[r->layer].in.c, 1);
  int channels = r->network->layers[r->layer].in.c;
  s->lanes = r->cols > 1 && channels <= MAFAT_LANES_CHANNELS ? MAFAT_LANES : 1;
  return mafat_scratch_append_floats(&s->slot_bytes, &s->pixel_offset,
                                     (size_t)channels * (size_t)s->lanes);
}

bool mafat_scratch_plan_flat(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = &r->network->layers[r->layer];
  if (__builtin_mul_overflow((size_t)l->in.h * (size_t)l->in.w, (size_t)l->in.c, &s->flat_floats))
    return false;
  return mafat_scratch_append_floats(&s->shared_bytes, &s->flat_offset, s->flat_floats);
}

int mafat_scratch_plan_step(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  const struct mafat_predictor_kind *kind =
      mafat_predictor_kind(r->network->layers[mafat_plan_reader(r->plan, r->layer)].type);
  memset(s, 0, sizeof *s);
  return !kind->scratch || kind->scratch(r, s) ? MAFAT_OK : MAFAT_ELIMIT;
}

int mafat_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n, int layer,
                       int rows, int cols, struct mafat_scratch *s)
{
  int channels = mafat_layer_channels(&n->layers[mafat_plan_reader(plan, layer)]);
  struct mafat_scratch_request request = {plan, n, layer, rows, cols, mafat_span(0, channels)};
  return mafat_scratch_plan_step(&request, s);
}

size_t mafat_scratch_bytes(const struct mafat_scratch *s, int n_workers)
{
  size_t bytes;
  if (__builtin_mul_overflow(s->slot_bytes, (size_t)n_workers, &bytes) ||
      __builtin_add_overflow(bytes, s->shared_bytes, &bytes))
    return SIZE_MAX;
  return bytes;
}
