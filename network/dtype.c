#include "network/dtype.h"

const struct mafat_dtype_traits mafat_dtypes[MAFAT_N_DTYPES] = {
    [MAFAT_F32] = {.name = "float32", .bytes = sizeof(float)},
};
