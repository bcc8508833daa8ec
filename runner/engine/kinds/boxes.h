/* Decoders of heads with boxes, called after a run through the entries of boxes.c in the table of
 * kinds. They pass on boxes (decoding.h) and allocate nothing. Included by boxes_decode.c. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_BOXES_H
#define MAFAT_RUNNER_ENGINE_KINDS_BOXES_H

#include "runner/engine/decoding.h"

void mafat_boxes_decode_region(struct mafat_decoding *d);
void mafat_boxes_decode_yolo(struct mafat_decoding *d);
void mafat_boxes_decode_gaussian_yolo(struct mafat_decoding *d);

#endif
