/* Defines mafat_pack_halves, which packs 16-bit float weights as bit patterns: compiles
 * pack_body.h. Called by mafat_pack() in runner/weights/pack.c. Touches only its arguments. */
#include <stdint.h>

#define ELEMENT uint16_t
#define PACK mafat_pack_halves
#include "runner/weights/pack_body.h"
