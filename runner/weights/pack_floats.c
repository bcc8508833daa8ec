/* Weights of float32. */
#define ELEMENT float
#define PACK mafat_pack_floats
#include "runner/weights/pack_body.h"
