#include "network/dtype.h"

const struct mafat_dtype_traits mafat_dtypes[MAFAT_N_DTYPES] = {
    [MAFAT_F32] = {.name = "float32", .bits = 32},
    [MAFAT_F16] = {.name = "float16", .bits = 16},
    [MAFAT_I8] = {.name = "int8", .bits = 8},
    [MAFAT_U8] = {.name = "uint8", .bits = 8},
    [MAFAT_I16] = {.name = "int16", .bits = 16},
    [MAFAT_I32] = {.name = "int32", .bits = 32},
    [MAFAT_I4] = {.name = "int4", .bits = 4},
};
