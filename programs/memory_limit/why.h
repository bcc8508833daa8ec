/* Reason why something failed: one line for the user, without the program's name. Included by
 * files.h, options.h and place.h. */
#ifndef MAFAT_MEMORY_LIMIT_WHY_H
#define MAFAT_MEMORY_LIMIT_WHY_H

#include <stdbool.h>

struct why {
  char text[1024];
};

/* Writes the reason and returns false, so that callers can return this value. */
__attribute__((format(printf, 2, 3))) bool why_not(struct why *why, const char *format, ...);

#endif
