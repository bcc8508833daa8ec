/* Runs a network on pictures, layer by layer with whole maps, and calls a function after each
 * layer. Included by api/packing/calibrate.c and api/packing/measure.c. Opens weights and an
 * executor; allocates. */
#ifndef MAFAT_API_PACKING_OBSERVE_H
#define MAFAT_API_PACKING_OBSERVE_H

#include "base/model_source.h"
#include "network/network.h"
#include "runner/engine/executor.h"

/* Called after a layer is computed; may read and overwrite its output. */
typedef void mafat_reported(void *context, struct mafat_executor *e, int layer);

struct mafat_observer;

/* The caller still owns the network, which must outlive the observer. MAFAT_EINVAL: the network
 * does not have exactly one input, a picture. Otherwise returns MAFAT_OK, or the error of opening
 * the weights or the executor. */
int mafat_observer_open(struct mafat_observer **out, const struct mafat_network *n,
                        struct mafat_model_source *weights, mafat_reported *reported, void *context,
                        struct mafat_diagnostic *d);
/* Runs the network on the picture file at path `picture`. */
int mafat_observer_run(struct mafat_observer *o, const char *picture, struct mafat_diagnostic *d);
void mafat_observer_close(struct mafat_observer **o);

#endif
