/* Reads a network from a .cfg of Darknet or of AlexeyAB's fork. Included by api/, formats/packed,
 * programs/make_weights and runner/calibrate. Reads the file and allocates the network. */
#ifndef MAFAT_FORMATS_DARKNET_DARKNET_H
#define MAFAT_FORMATS_DARKNET_DARKNET_H

#include "formats/darknet/cfg.h"
#include "formats/readers.h"

/* Requested deviations from the cfg. */
struct mafat_darknet_overrides {
  int width, height; /* of the input; 0: as in the cfg */
  enum mafat_fork fork; /* MAFAT_FORK_AUTO: detected from the cfg's keys */
  /* If above 0 and some layer after the first n_layers cannot be read, the network ends after
   * n_layers layers instead of failing. A network that can be read is not cut. */
  int n_layers;
};

/* Makes a network from a file, or from a parsed cfg. `overrides` NULL: no deviations. Keys that
 * were used are marked in the cfg. MAFAT_EINVAL: invalid input sizes. */
int mafat_darknet_read(struct mafat_network **out, const char *path,
                       const struct mafat_darknet_overrides *overrides,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
int mafat_darknet_make(struct mafat_network **out, struct mafat_cfg *cfg,
                       const struct mafat_darknet_overrides *overrides,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);

#endif
