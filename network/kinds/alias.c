/* Kinds that only rename their input: route (channels of other tensors), and dropout and cost,
 * which only matter in training. Called by api/, formats/, predictor/, programs/make_weights,
 * runner/ and search/ through their entries in the table of kinds (network/kind.h), and by
 * network/merge.c. Changes only the layer; nothing is allocated. */
#include "network/kinds/kinds.h"

void mafat_layer_become_alias(struct mafat_layer *l)
{
  l->type = MAFAT_ROUTE;
  l->in = l->operands->shape = l->out;
}

const struct mafat_kind mafat_kind_route = {
    .name = "route",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .alias = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
};

const struct mafat_kind mafat_kind_dropout = {
    .name = "dropout",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .alias = true,
    .inert = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
};

const struct mafat_kind mafat_kind_cost = {
    .name = "cost",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .alias = true,
    .inert = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
};
