#define COLOURS_NAME mafat_colours_avx2
#include "runner/kernels/colours_body.h"
