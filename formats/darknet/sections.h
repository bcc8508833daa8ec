/* Readers of the sections of a cfg: [net] and every kind of layer. Included by
 * formats/darknet/darknet.c. Allocates the layers' data. */
#ifndef MAFAT_FORMATS_DARKNET_SECTIONS_H
#define MAFAT_FORMATS_DARKNET_SECTIONS_H

#include "formats/darknet/cfg.h"
#include "network/network.h"

/* Reads [net] and makes the network's input. `width` and `height` replace the cfg's; 0: the
 * cfg's. */
int mafat_sections_read_net(struct mafat_network *n, struct mafat_cfg *cfg, int width, int height,
                            struct mafat_diagnostic *d);
/* Reads section s as layer `index`; the layers before it are complete. */
int mafat_sections_read_layer(struct mafat_network *n, int index, struct mafat_cfg *cfg,
                              struct mafat_cfg_section *s, struct mafat_diagnostic *d);
/* Warns about each key that no reader used and that is not a known training key. Also warns if
 * boxes would be misplaced relative to the picture. */
void mafat_sections_warn_unknown(const struct mafat_cfg *cfg, const struct mafat_network *n,
                                 const struct mafat_warning_sink *warnings);

#endif
