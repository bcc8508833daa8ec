/* Addresses of this program's parts (runner/os/parts.def), if it was linked with run_inference.ld.
 * Touches nothing: the linker sets the addresses. Included by api/footprint.c. */
#ifndef MAFAT_RUNNER_OS_PARTS_H
#define MAFAT_RUNNER_OS_PARTS_H

#include "runner/os/process.h"

#include <stdbool.h>

enum mafat_code_part {
#define PART(name, begins, when) MAFAT_CODE_##name,
#include "runner/os/parts.def"
  MAFAT_N_CODE_PARTS
};

/* True if the program was linked with parts; else all ranges are empty. */
bool mafat_code_is_placed(void);
struct mafat_process_part mafat_code_part(enum mafat_code_part part);
/* Returns the range from the end of a part to the beginning of the next. The part must not be the
 * last. */
struct mafat_process_part mafat_code_gap_after(enum mafat_code_part part);
/* Returns the beginning of the program: ELF headers, and the jump table of C library functions that
 * are chosen at program start. */
struct mafat_process_part mafat_code_jumps(void);

#endif
