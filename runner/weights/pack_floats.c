/* Defines mafat_pack_floats, which packs float32 weights: compiles pack_body.h. Called by
 * mafat_pack() in runner/weights/pack.c. Touches only its arguments. */
#define ELEMENT float
#define PACK mafat_pack_floats
#include "runner/weights/pack_body.h"
