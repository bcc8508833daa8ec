/* A network from a .cfg of Darknet's, or of AlexeyAB's fork. */
#ifndef MAFAT_FORMATS_DARKNET_DARKNET_H
#define MAFAT_FORMATS_DARKNET_DARKNET_H

#include "formats/darknet/cfg.h"
#include "formats/readers.h"

/* What somebody wants otherwise than the cfg has it. */
struct mafat_darknet_wish {
  int width, height; /* of the input; 0: the cfg's */
  enum mafat_fork fork; /* MAFAT_FORK_AUTO: what the cfg's keys say */
  int n_layers;      /* 0, or: what comes after so many layers may be unreadable, and then is left out */
};

/* `wish` may be NULL: all of the cfg as it is. MAFAT_EINVAL: sizes that no input has. */
int mafat_darknet_read(struct mafat_network **out, const char *path, const struct mafat_darknet_wish *wish,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
int mafat_darknet_make(struct mafat_network **out, struct mafat_cfg *cfg, const struct mafat_darknet_wish *wish,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);

#endif
