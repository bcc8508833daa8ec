/* Which of the two Darknets a cfg was made for: pjreddie's, or AlexeyAB's fork of it. They read the same
 * files and do not compute the same (doc/forks.md). */
#ifndef MAFAT_FORMATS_DARKNET_FORK_H
#define MAFAT_FORMATS_DARKNET_FORK_H

#include "formats/darknet/cfg.h"
#include "network/network.h"

/* The fork of a cfg: AlexeyAB's where it has a section, key or activation that only that reads. letter_box
 * is none of them: whoever runs a cfg may set it. sign: the first of them, "line 7: mosaic=1 in [net]", or "". */
enum mafat_fork mafat_fork_decide(const struct mafat_cfg *cfg, char *sign, size_t room);

/* "auto", "darknet", "alexeyab". */
const char *mafat_fork_name(enum mafat_fork fork);
/* NULL is "auto". MAFAT_EINVAL: none of these. */
int mafat_fork_find(enum mafat_fork *fork, const char *name, struct mafat_diagnostic *d);

#endif
