/* What each section of a cfg means: the readers behind mafat_darknet_make. */
#ifndef MAFAT_FORMATS_DARKNET_SECTIONS_H
#define MAFAT_FORMATS_DARKNET_SECTIONS_H

#include "formats/darknet/cfg.h"
#include "network/network.h"

/* `width` and `height` in place of the cfg's; 0: the cfg's. */
int mafat_sections_read_net(struct mafat_network *n, struct mafat_cfg *cfg, int width, int height,
                            struct mafat_diagnostic *d);
/* Reads section s as layer `index`; the layers before it are complete. */
int mafat_sections_read_layer(struct mafat_network *n, int index, struct mafat_cfg *cfg,
                              struct mafat_cfg_section *s, struct mafat_diagnostic *d);
/* One warning per key of the network's sections that nothing reads and that is not known from
 * training; and where boxes would lie beside the picture's objects. */
void mafat_sections_warn_unknown(const struct mafat_cfg *cfg, const struct mafat_network *n,
                                 const struct mafat_warning_sink *warnings);

#endif
