/* A network run on pictures, whole maps, each layer by itself, while somebody is told of every output. */
#ifndef MAFAT_API_PACKING_OBSERVE_H
#define MAFAT_API_PACKING_OBSERVE_H

#include "base/model_source.h"
#include "network/network.h"
#include "runner/engine/executor.h"

/* Of a layer that has been computed; what it put out may be read, and written over. */
typedef void mafat_told(void *context, struct mafat_executor *e, int layer);

struct mafat_observer;

/* The network stays the caller's, and as it is. MAFAT_EINVAL: it has not one input, a picture; what opening gives. */
int mafat_observer_open(struct mafat_observer **out, const struct mafat_network *n, struct mafat_model_source *weights, mafat_told *told,
                        void *context, struct mafat_diagnostic *d);
int mafat_observer_run(struct mafat_observer *o, const char *picture, struct mafat_diagnostic *d);
void mafat_observer_close(struct mafat_observer **o);

#endif
