/* Checks that each layer that reads or writes integers is of a kind that supports them. Called by
 * the readers in formats/graph and formats/packed. Writes only the diagnostic. */
#include "network/network.h"

/* True if the layer reads or writes integers. */
static bool has_numbers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  bool some = l->out_type != MAFAT_F32;
  for (int k = 1; k < mafat_layer_n_outputs(l); k++)
    some = some || l->more->list[k - 1].type != MAFAT_F32;
  for (struct mafat_reads r = mafat_layer_reads(l); !some && mafat_reads_next(&r);)
    some = mafat_network_tensor_type(n, r.source->tensor) != MAFAT_F32;
  return some;
}

/* Returns NULL if all sources of a map have the same type and quantization parameters, else the
 * fault. */
static const char *find_mixture(const struct mafat_network *n, const struct mafat_sources *sources)
{
  for (int i = 1; i < mafat_sources_count(sources); i++) {
    int first = sources->list[0].tensor, other = sources->list[i].tensor;
    enum mafat_dtype type = mafat_network_tensor_type(n, first);
    if (type != mafat_network_tensor_type(n, other)) return "reads a map of integers and floats";
    if (type != MAFAT_F32 &&
        !mafat_quantization_equals(mafat_network_tensor_quantization(n, first),
                                   mafat_network_tensor_quantization(n, other)))
      return "reads a map of integers with several scales or zero points";
  }
  return NULL;
}

static const char *find_fault(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  const char *fault = NULL;
  for (int k = 0; k < l->n_operands && !fault; k++)
    fault = find_mixture(n, &l->operands[k].sources);
  if (fault) return fault;
  return mafat_kind_of(l->type)->numbers ? mafat_kind_of(l->type)->numbers(n, layer)
                                         : "is not run on integers";
}

int mafat_network_check_numbers(const struct mafat_network *n, struct mafat_diagnostic *d)
{
  for (int l = 0; l < n->n_layers; l++) {
    const char *fault =
        mafat_layer_is_alias(&n->layers[l]) || !has_numbers(n, l) ? NULL : find_fault(n, l);
    if (fault)
      return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: layer %d [%s] %s", n->path, l,
                        mafat_layer_type_name(n->layers[l].type), fault);
  }
  return MAFAT_OK;
}
