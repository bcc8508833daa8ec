/* Draws detections on a picture: a coloured box for each, and a label with class and confidence.
 * The most confident one is drawn last, so it is on top. gd opens the font's file and caches the
 * font, which mafat_annotate_draw_close() frees. Included by annotate.c. */
#ifndef MAFAT_PROGRAMS_ANNOTATE_DRAW_H
#define MAFAT_PROGRAMS_ANNOTATE_DRAW_H

#include <stddef.h>

#include <gd.h>

#include "programs/annotate/json.h"

/* Draws the detections with a confidence of at least `thresh` that are at least partly inside the
 * true-colour picture; *n_drawn is their number. A confidence above 1 is shown as 100 %. Returns
 * MAFAT_OK, or MAFAT_ENOMEM; then nothing is drawn. */
int mafat_annotate_draw(gdImagePtr im, const struct mafat_annotate_report *report, double thresh,
                        size_t *n_drawn);
void mafat_annotate_draw_close(void);

#endif
