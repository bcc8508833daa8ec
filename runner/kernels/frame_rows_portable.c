/* Video kernels in plain C: compiles frame_rows_body.h. Selected by runner/kernels/frame_rows.c. */
#define FRAME_ROWS_TABLE mafat_frame_kernels_portable
#include "runner/kernels/frame_rows_body.h"
