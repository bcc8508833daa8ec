/* Functions that 0003-mafat.patch calls in Darknet, besides bridge.h: the command line, and the
 * bridge with this Darknet's own functions. */
#ifndef MAFAT_DARKNET_HOOKS_H
#define MAFAT_DARKNET_HOOKS_H

#include "bridge.h"

/* With -memory SIZE or -plan PLAN, and -threads N, networks are libmafat's from now on. One line
 * and exit status 2 where a value makes no sense. */
void mafat_command(int argc, char **argv);

network *mafat_parse(char *cfg); /* NULL: not done */
bool mafat_resize(network *net, int w, int h);
bool mafat_free(network *net);
bool mafat_has_no_image(const network *net, int i); /* layer i puts nothing out */

#endif
