/* Where the parts of this program's code are, by parts.def: of programs that are linked by run_inference.ld. */
#ifndef MAFAT_RUNNER_OS_PARTS_H
#define MAFAT_RUNNER_OS_PARTS_H

#include "runner/os/process.h"

#include <stdbool.h>

enum mafat_code_part {
#define PART(name, begins, when) MAFAT_CODE_##name,
#include "runner/os/parts.def"
  MAFAT_N_CODE_PARTS
};

/* Is this program's code in parts? Otherwise all of them are empty. */
bool mafat_code_is_placed(void);
struct mafat_process_part mafat_code_part(enum mafat_code_part part);
/* From the end of a part to the next one. */
struct mafat_process_part mafat_code_gap_behind(enum mafat_code_part part);
/* The program's headers, and its jumps to functions of the C library that are chosen at the start. */
struct mafat_process_part mafat_code_jumps(void);

#endif
