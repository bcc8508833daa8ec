/* Addresses of the parts of this program (parts.def), if it is linked by run_inference.ld. */
#ifndef MAFAT_RUNNER_OS_PARTS_H
#define MAFAT_RUNNER_OS_PARTS_H

#include "runner/os/process.h"

#include <stdbool.h>

enum mafat_code_part {
#define PART(name, begins, when) MAFAT_CODE_##name,
#include "runner/os/parts.def"
  MAFAT_N_CODE_PARTS
};

/* false: all parts are empty */
bool mafat_code_is_placed(void);
struct mafat_process_part mafat_code_part(enum mafat_code_part part);
/* from the end of a part to the next one */
struct mafat_process_part mafat_code_gap_behind(enum mafat_code_part part);
/* The program's headers, and its jumps to C library functions that are chosen at the start. */
struct mafat_process_part mafat_code_jumps(void);

#endif
