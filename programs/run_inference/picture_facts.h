/* Writes how a picture is converted to the network's input, to the caller's writer. Included by
 * output.c, plan_report_json.c and plan_report_text.c. */
#ifndef MAFAT_PROGRAM_PICTURE_FACTS_H
#define MAFAT_PROGRAM_PICTURE_FACTS_H

#include "include/mafat.h"
#include "programs/shared/writer.h"

/* Writes the member "picture", such as {"channels":"rgb","mean":[0,0,0],"scale":[1,1,1],
 * "source":"options","resize":"corner","pad":114}; null if facts is NULL or the input accepts no
 * pictures. */
void mafat_picture_json(const struct mafat_picture_facts *facts, struct mafat_writer *w);
/* Writes the same facts as text: "rgb, (byte - 0 0 0) * 1 1 1 (options), corner, pad 114". */
void mafat_picture_text(const struct mafat_picture_facts *facts, struct mafat_writer *w);

#endif
