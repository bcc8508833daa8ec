/* Defines mafat_pack_bytes, which packs int8 weights: compiles pack_body.h. Called by mafat_pack()
 * in runner/weights/pack.c. Touches only its arguments. */
#include <stdint.h>

#define ELEMENT int8_t
#define PACK mafat_pack_bytes
#include "runner/weights/pack_body.h"
