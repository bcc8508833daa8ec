#define FRAME_ROWS_TABLE mafat_frame_kernels_portable
#include "runner/kernels/frame_rows_body.h"
