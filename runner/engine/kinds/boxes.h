/* Decoders of heads with boxes. boxes.c puts them into the table of kinds, through which
 * runner/detect/detect.c calls them after a run. They read the head's output, report boxes to
 * decoding.h and allocate nothing. Included by boxes.c and boxes_decode.c. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_BOXES_H
#define MAFAT_RUNNER_ENGINE_KINDS_BOXES_H

#include "runner/engine/decoding.h"

void mafat_boxes_decode_region(struct mafat_decoding *d);
void mafat_boxes_decode_yolo(struct mafat_decoding *d);
void mafat_boxes_decode_gaussian_yolo(struct mafat_decoding *d);

#endif
