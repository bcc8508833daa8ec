/* An input or output of a network by its name, and how its elements lie in a map: what files of ONNX and TFLite call
 * their inputs and outputs have a type and up to eight dimensions, in an order of their own. */
#ifndef MAFAT_NETWORK_PORT_H
#define MAFAT_NETWORK_PORT_H

#include "network/layer.h"
#include "network/view.h"

struct mafat_port {
  char *name;                   /* owned, as are the sources */
  struct mafat_view view;       /* its dimensions on the axes of the map that the sources make */
  struct mafat_sources sources; /* of an input: its own tensor */
  struct mafat_shape shape;
};

/* Element `index` of it, its dimensions in row-major order: where in the map. */
static inline void mafat_port_find(const struct mafat_port *p, long long index, int *c, int *y, int *x)
{
  long long places[MAFAT_N_AXES] = {0};
  for (int i = p->view.n_dims; i-- > 0; index /= p->view.dims[i]) mafat_view_add(&p->view, i, index % p->view.dims[i], places);
  *y = (int)places[MAFAT_AXIS_H];
  *x = (int)places[MAFAT_AXIS_W];
  *c = (int)places[MAFAT_AXIS_C];
}

#endif
