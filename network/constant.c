#include "network/constant.h"

#include <stdlib.h>

static const char *const orders[MAFAT_N_ORDERS] = {
    [MAFAT_ORDER_FILTERS] = "filters",           [MAFAT_ORDER_INPUTS] = "inputs",
    [MAFAT_ORDER_READY] = "ready",               [MAFAT_ORDER_FILTERS_TAPS] = "filters-taps",
    [MAFAT_ORDER_TAPS] = "taps",                 [MAFAT_ORDER_TRANSPOSED] = "transposed"};

struct mafat_constants *mafat_constants_make(int n_layers)
{
  struct mafat_constants *c = calloc(1, sizeof *c + (size_t)n_layers * sizeof *c->layers);
  if (c) c->n_layers = n_layers;
  return c;
}

void mafat_constants_close(struct mafat_constants **constants)
{
  if (!constants || !*constants) return;
  for (int l = 0; l < (*constants)->n_layers; l++) free((*constants)->layers[l].parts);
  free(*constants);
  *constants = NULL;
}

const char *mafat_order_name(enum mafat_order order)
{
  return orders[order];
}
