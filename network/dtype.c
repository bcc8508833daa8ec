/* The table of element types (dtypes.def). Used by all folders through dtype.h; its look-up is
 * called by api/ (dry_run.c, packing/pack.c). Constant data. */
#include "network/dtype.h"

#include <stddef.h>
#include <string.h>

const struct mafat_dtype_traits mafat_dtypes[MAFAT_N_DTYPES] = {
#define TYPE(CONSTANT, text, array_text, n_bits, exponent_bits, weights) \
  [MAFAT_##CONSTANT] = { \
      .name = text, .array = array_text, .bits = n_bits, .exponent = exponent_bits, weights},
#define FLOATS .packing = "float32", .wider = MAFAT_F32
#define NONE
#define NARROW(text, WIDER, elements) .narrow = true, .packing = text, .wider = MAFAT_##WIDER
#define SCALED(text, WIDER, elements) .scaled = true, NARROW(text, WIDER, elements)
#include "network/dtypes.def"
};

const char mafat_dtype_packings[] =
#define TYPE(CONSTANT, text, array_text, n_bits, exponent_bits, weights) weights
#define FLOATS "float32"
#define NONE
#define NARROW(text, WIDER, elements) ", " text
#define SCALED NARROW
#include "network/dtypes.def"
    ;

bool mafat_dtype_find_packing(enum mafat_dtype *type, const char *packing)
{
  for (int t = 0; t < MAFAT_N_DTYPES; t++)
    if (mafat_dtypes[t].packing && strcmp(mafat_dtypes[t].packing, packing) == 0) {
      *type = (enum mafat_dtype)t;
      return true;
    }
  return false;
}
