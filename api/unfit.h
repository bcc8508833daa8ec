/* Message about a need that exceeds the memory budget. Included by api/choose.c, api/model.c and
 * api/plan_timer.c. Fills the caller's text; allocates nothing. */
#ifndef MAFAT_API_UNFIT_H
#define MAFAT_API_UNFIT_H

#include <stddef.h>

struct mafat_footprint;
struct mafat_layout;

enum { MAFAT_UNFIT_ROOM = 192 };

/* Formats "needs 8.6 MiB, the budget (--memory) is 4.0 MiB; --memory 8896K would do"; returns text.
 * charge and budget are in bytes. source: origin of the budget. A source without blanks is an
 * option's name, and is repeated before the proposed budget. */
const char *mafat_unfit_describe(char text[MAFAT_UNFIT_ROOM], size_t charge, size_t budget,
                                 const char *source);
/* The same if the charge is only a lower bound: "needs at least 8.6 MiB, the budget (--memory) is
 * 4.0 MiB". */
const char *mafat_unfit_describe_least(char text[MAFAT_UNFIT_ROOM], size_t charge, size_t budget,
                                       const char *source);

/* Formats "; the program that opens it takes 31.4 MiB by itself" if that is much, as for a Python
 * interpreter; else "". process_bytes: resident bytes before the plan is opened. Returns text. */
const char *mafat_unfit_caller(char text[MAFAT_UNFIT_ROOM], size_t process_bytes);

/* Formats "; decoding the picture takes 72.0 MiB of it: ..." if the layout fits the budget but for
 * the picture's decoder; else "". Returns text. */
const char *mafat_unfit_picture(char text[MAFAT_UNFIT_ROOM], const struct mafat_layout *layout,
                                const struct mafat_footprint *footprint, size_t budget);

#endif
