/* Weights of float16, whose bits are moved. */
#include <stdint.h>

#define ELEMENT uint16_t
#define PACK mafat_pack_halves
#include "runner/weights/pack_body.h"
