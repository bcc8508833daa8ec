#include "network/dtype.h"

#include <stddef.h>
#include <string.h>

const struct mafat_dtype_traits mafat_dtypes[MAFAT_N_DTYPES] = {
    [MAFAT_F32] = {.name = "float32", .array = "<f4", .bits = 32, .packing = "float32", .wider = MAFAT_F32},
    [MAFAT_F16] = {.name = "float16", .array = "<f2", .bits = 16, .narrow = true, .packing = "fp16", .wider = MAFAT_F32},
    [MAFAT_I8] = {.name = "int8", .array = "|i1", .bits = 8, .narrow = true, .packing = "int8", .wider = MAFAT_F16},
    [MAFAT_U8] = {.name = "uint8", .array = "|u1", .bits = 8},
    [MAFAT_I16] = {.name = "int16", .array = "<i2", .bits = 16},
    [MAFAT_I32] = {.name = "int32", .array = "<i4", .bits = 32},
    [MAFAT_I64] = {.name = "int64", .array = "<i8", .bits = 64},
    [MAFAT_I4] = {.name = "int4", .array = NULL, .bits = 4, .scaled = true, .narrow = true, .packing = "int4", .wider = MAFAT_I8},
};

bool mafat_dtype_find_packing(enum mafat_dtype *type, const char *packing)
{
  for (int t = 0; t < MAFAT_N_DTYPES; t++)
    if (mafat_dtypes[t].packing && strcmp(mafat_dtypes[t].packing, packing) == 0) {
      *type = (enum mafat_dtype)t;
      return true;
    }
  return false;
}
