/* Functions that 0003-mafat.patch calls in Darknet, besides those of bridge.h: options of the
 * command line, and wrappers that pass this Darknet's own functions to the bridge. */
#ifndef MAFAT_DARKNET_HOOKS_H
#define MAFAT_DARKNET_HOOKS_H

#include "bridge.h"

/* With -memory SIZE or -plan PLAN, libmafat runs all networks made from now on. An invalid value
 * prints one line and ends the process with status 2. */
void mafat_command(int argc, char **argv);

network *mafat_parse(char *cfg); /* NULL: Darknet parses it */

/* True if the bridge did it; false: Darknet does it. */
bool mafat_resize(network *net, int w, int h);
bool mafat_free(network *net);

/* True if libmafat runs layer i and its output is not kept. */
bool mafat_has_no_image(const network *net, int i);

#endif
