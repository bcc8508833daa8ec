/* Calls the functions of a layer's kind. If a kind lacks a function, returns a default, such as 0.
 * Called by all folders through kind.h. Changes only the layer that it infers. */
#include "network/kind.h"

const char *mafat_layer_type_name(enum mafat_layer_type type)
{
  return (unsigned)type < MAFAT_N_LAYER_TYPES ? mafat_kind_of(type)->name : "unknown";
}

int mafat_layer_infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  if (l->n_operands > 0) l->in = l->operands[0].shape; /* an input has none */
  return mafat_kind_of(l->type)->infer(l, context);
}

struct mafat_span mafat_layer_in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                      struct mafat_span out)
{
  return mafat_span_is_empty(out) ? mafat_span(0, 0)
                                  : mafat_kind_of(l->type)->in_span(l, operand, axis_y, out);
}

void mafat_layer_pads(const struct mafat_layer *l, int *left, int *right)
{
  *left = *right = 0;
  if (mafat_kind_of(l->type)->pads) mafat_kind_of(l->type)->pads(l, left, right);
}

struct mafat_matrix mafat_layer_matrix(const struct mafat_layer *l)
{
  const struct mafat_kind *kind = mafat_kind_of(l->type);
  return kind->matrix ? kind->matrix(l) : (struct mafat_matrix){0, 0, 0};
}

struct mafat_weight_counts mafat_layer_weight_counts(const struct mafat_layer *l)
{
  const struct mafat_kind *kind = mafat_kind_of(l->type);
  return kind->counts ? kind->counts(l) : (struct mafat_weight_counts){0, 0, 0};
}

uint64_t mafat_layer_part_macs(const struct mafat_layer *l, uint64_t pixels, int filters,
                               int channels)
{
  const struct mafat_kind *kind = mafat_kind_of(l->type);
  return kind->macs ? kind->macs(l, pixels, filters, channels) : 0;
}

uint64_t mafat_layer_boxes(const struct mafat_layer *l)
{
  const struct mafat_kind *kind = mafat_kind_of(l->type);
  return kind->boxes ? kind->boxes(l) : 0;
}

uint64_t mafat_layer_macs(const struct mafat_layer *l, uint64_t pixels)
{
  return mafat_layer_part_macs(l, pixels, l->out.c, mafat_layer_channels(l));
}
