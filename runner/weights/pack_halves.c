/* Packs float16 weights as 16-bit patterns: compiles pack_body.h. Called by mafat_pack() in
 * runner/weights/pack.c. */
#include <stdint.h>

#define ELEMENT uint16_t
#define PACK mafat_pack_halves
#include "runner/weights/pack_body.h"
