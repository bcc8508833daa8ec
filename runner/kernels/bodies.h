/* All float kernels for one instruction-set level (base/levels.def). They are written once, with
 * the operations of vector.h, and compiled for each level. The including file defines LEVEL_NAME,
 * LEVEL_TABLE and LEVEL_VECTOR. It may define LEVEL_NARROW, the table of a level of the same class
 * (kernels.h) that computes calls with few filters. The executor's kinds (runner/engine/kinds) call
 * the kernels through struct mafat_kernels. Included by portable.c and the levels' sources in x86
 * and arm. */
#include "runner/kernels/kernels.h"
#include "runner/kernels/levels.h"
#include "runner/kernels/vector.h"

#include "base/part.h"
#include "runner/kernels/activation.h"
#include "runner/kernels/finish.h"

/* Puts a kernel that few networks need into a program part of its own (runner/os/parts.def,
 * LEVEL). */
#define LEVEL_PART(name) MAFAT_PART_ON_LINE(LEVEL_NAME "_" name, __LINE__)

#include "runner/kernels/conv.h"
#include "runner/kernels/depthwise.h"
#include "runner/kernels/elementwise.h"
#include "runner/kernels/product.h"
#include "runner/kernels/resample.h"
#include "runner/kernels/widen.h"
#include "runner/kernels/winograd.h"

const struct mafat_kernels LEVEL_TABLE = {
    .name = LEVEL_NAME,
    .fused = VECTOR_FUSED,
    .conv = conv,
    .winograd = WINOGRAD_KERNELS,
    .product = product,
    .depthwise = depthwise,
    .maxpool = maxpool,
    .avgpool = avgpool,
    .blend = blend,
    .scale = scale_channels,
    .activate = activate_array,
    .softmax = softmax,
    .scale_bytes = scale_bytes,
    .resample = resample,
    .widen = {
#define TYPE(CONSTANT, name, array, bits, exponent, weights) [MAFAT_##CONSTANT] = weights,
#define FLOATS NULL
#define NONE NULL
#define NARROW(packing, WIDER, elements) widen_##elements
#define SCALED NARROW
#include "network/dtypes.def"
    },
};
