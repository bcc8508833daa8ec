/* Weights of int8. */
#include <stdint.h>

#define ELEMENT int8_t
#define PACK mafat_pack_bytes
#include "runner/weights/pack_body.h"
