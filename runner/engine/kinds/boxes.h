/* Decoders of heads in boxes_decode.c, called through the table entries in boxes.c after a run.
 * Included by boxes_decode.c. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_BOXES_H
#define MAFAT_RUNNER_ENGINE_KINDS_BOXES_H

#include "runner/engine/decoding.h"

void mafat_boxes_decode_region(struct mafat_decoding *d);
void mafat_boxes_decode_yolo(struct mafat_decoding *d);
void mafat_boxes_decode_gaussian_yolo(struct mafat_decoding *d);

#endif
