#include "network/constant.h"

#include <stdlib.h>

static const struct {
  const char *name;
  size_t bytes;
} types[MAFAT_N_DTYPES] = {[MAFAT_F32] = {"float32", 4}};

static const char *const orders[MAFAT_N_ORDERS] = {
    [MAFAT_ORDER_FILTERS] = "filters", [MAFAT_ORDER_INPUTS] = "inputs", [MAFAT_ORDER_READY] = "ready"};

struct mafat_constants *mafat_constants_make(int n_layers)
{
  struct mafat_constants *c = calloc(1, sizeof *c + (size_t)n_layers * sizeof *c->layers);
  if (c) c->n_layers = n_layers;
  return c;
}

const char *mafat_dtype_name(enum mafat_dtype type)
{
  return types[type].name;
}

size_t mafat_dtype_bytes(enum mafat_dtype type)
{
  return types[type].bytes;
}

const char *mafat_order_name(enum mafat_order order)
{
  return orders[order];
}
