/* Ports: inputs and outputs of a network by name. The names are the model file's. A cfg has no
 * names; then "data" is the input, in CHW order, and "output" the last layer that runs. Included by
 * api/dry_run.c, api/facts.c and api/inputs.c. Allocates nothing. */
#ifndef MAFAT_API_PORTS_H
#define MAFAT_API_PORTS_H

#include "include/mafat.h"
#include "network/network.h"

struct mafat_ports {
  const struct mafat_network *network;
  int n_layers; /* number of layers that run; if not all do, the last of them is the only output */
};

enum mafat_ports_side { MAFAT_PORTS_IN, MAFAT_PORTS_OUT };

/* Converts a port's number of elements to size_t. Returns SIZE_MAX, which no buffer can have, if
 * that many floats are not addressable. */
size_t mafat_ports_floats(long long elements);
int mafat_ports_count(const struct mafat_ports *p, enum mafat_ports_side side);
const char *mafat_ports_input_name(const struct mafat_network *n, int index);
/* Finds a port. name NULL: the only port. MAFAT_EINVAL: no port has that name, or name is NULL and
 * there are several. */
int mafat_ports_find(const struct mafat_ports *p, enum mafat_ports_side side, const char *name,
                     int *index, struct mafat_diagnostic *d);
/* Fills the facts of a port. MAFAT_EINVAL: no such port, or facts->size is not set. */
int mafat_ports_describe(const struct mafat_ports *p, enum mafat_ports_side side, int index,
                         struct mafat_port_facts *facts);
void mafat_ports_output_view(const struct mafat_ports *p, int index, struct mafat_view *view);
/* Returns the sources of an output. They may point to *self, so it must outlive them. */
struct mafat_sources mafat_ports_output_sources(const struct mafat_ports *p, int index,
                                                struct mafat_source *self);

#endif
