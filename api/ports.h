/* What a network takes and puts out, by name: a file's own inputs and outputs, or, where it has none, Darknet's:
 * "data", channel by channel, and "output", the last layer that is run. */
#ifndef MAFAT_API_PORTS_H
#define MAFAT_API_PORTS_H

#include "include/mafat.h"
#include "network/network.h"

struct mafat_ports {
  const struct mafat_network *network;
  int n_layers; /* that are run: of fewer than all only the last one is an output */
};

enum mafat_ports_side { MAFAT_PORTS_IN, MAFAT_PORTS_OUT };

/* Floats of a port. SIZE_MAX: more than can be addressed, so that nobody has as many. */
size_t mafat_ports_floats(long long elements);
int mafat_ports_count(const struct mafat_ports *p, enum mafat_ports_side side);
const char *mafat_ports_input_name(const struct mafat_network *n, int index);
/* name: NULL is the only one. MAFAT_EINVAL: there is none of that name, or there are several. */
int mafat_ports_find(const struct mafat_ports *p, enum mafat_ports_side side, const char *name, int *index,
                     struct mafat_diagnostic *d);
/* MAFAT_EINVAL: no such port, or the size of facts was not set. */
int mafat_ports_describe(const struct mafat_ports *p, enum mafat_ports_side side, int index,
                         struct mafat_port_facts *facts);
void mafat_ports_output_view(const struct mafat_ports *p, int index, struct mafat_view *view);
/* What it consists of; self: room for a source. */
struct mafat_sources mafat_ports_output_sources(const struct mafat_ports *p, int index, struct mafat_source *self);

#endif
