/* Table of the address ranges of program parts, from symbols that the linker script defines. Called
 * by api/footprint.c, which keeps the parts resident that a run uses. Constant data. */
#include "runner/os/parts.h"

/* Defined by the linker script run_inference.ld; NULL in other programs. */
#define PLACE(name) extern const char name[] __attribute__((weak))
PLACE(mafat_program_begin);
PLACE(mafat_program_jumps_end);
#define PART(name, begins, when) PLACE(mafat_linked_##name); PLACE(mafat_linked_##name##_end);
#include "runner/os/parts.def"

static const struct mafat_process_part parts[] = {
#define PART(name, begins, when) {mafat_linked_##name, mafat_linked_##name##_end},
#include "runner/os/parts.def"
};

bool mafat_code_is_placed(void)
{
  return mafat_linked_run != NULL;
}

struct mafat_process_part mafat_code_part(enum mafat_code_part part)
{
  return parts[part];
}

struct mafat_process_part mafat_code_gap_after(enum mafat_code_part part)
{
  return (struct mafat_process_part){parts[part].end, parts[part + 1].begin};
}

struct mafat_process_part mafat_code_jumps(void)
{
  return (struct mafat_process_part){mafat_program_begin, mafat_program_jumps_end};
}
