/* Packs float32 weights: compiles pack_body.h. Called by mafat_pack() in runner/weights/pack.c. */
#define ELEMENT float
#define PACK mafat_pack_floats
#include "runner/weights/pack_body.h"
