/* All integer kernels of one level (instruction set, levels.def). They are written once, with the
 * operations of integer_vector.h, and compiled for each level. The including file defines
 * INTEGER_NAME, INTEGER_TABLE and INTEGER_VECTOR. The executor's kinds
 * (runner/engine/kinds/integer) call the kernels through struct mafat_integer_kernels. Included by
 * integer_portable.c and the levels' sources in x86 and arm. */
#include "runner/kernels/integer.h"
#include "runner/kernels/integer_levels.h"
#include "runner/kernels/integer_vector.h"
#include "runner/kernels/requantize.h"
#include "base/blocks.h"

#include "runner/kernels/integer_finish.h"

#include "runner/kernels/integer_conv.h"
#include "runner/kernels/integer_depthwise.h"
#include "runner/kernels/integer_elementwise.h"

const struct mafat_integer_kernels INTEGER_TABLE = {
    .name = INTEGER_NAME,
#ifdef IVEC_FITS
    .sorts = true,
#endif
    .conv = conv,
    .depthwise = depthwise,
    .maxpool = maxpool,
    .avgpool = avgpool,
    .blend = blend,
    .table = table_bytes,
    .add_pixels = add_pixels,
    .reals = reals,
};
