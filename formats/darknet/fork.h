/* Detects the Darknet fork of a cfg: pjreddie's original or AlexeyAB's fork. They read the same
 * files but compute different results (doc/forks.md). Included by api/, formats/darknet and
 * formats/packed. Pure functions. */
#ifndef MAFAT_FORMATS_DARKNET_FORK_H
#define MAFAT_FORMATS_DARKNET_FORK_H

#include "formats/darknet/cfg.h"
#include "network/network.h"

/* Detects AlexeyAB's fork by the first section, key or activation that only it reads. letter_box
 * does not count, because users add it for inference. sign: receives the reason, such as "line 7:
 * mosaic=1 in [net]", or "". */
enum mafat_fork mafat_fork_decide(const struct mafat_cfg *cfg, char *sign, size_t capacity);

/* Returns "auto", "darknet" or "alexeyab". */
const char *mafat_fork_name(enum mafat_fork fork);
/* Finds a fork by its name; NULL is "auto". MAFAT_EINVAL: unknown name. */
int mafat_fork_find(enum mafat_fork *fork, const char *name, struct mafat_diagnostic *d);

#endif
