/* Filling the diagnostics of the public header: mafat_fail, which is public, and warnings.
 *
 * A function that can fail returns MAFAT_OK or one of the negative codes; what
 * a person needs to know (file, line, what was expected, what was found) goes
 * into the caller's struct mafat_diagnostic, so that a reader can say
 * `return mafat_fail(d, MAFAT_EFORMAT, "...", ...)`. Only the programs' main files
 * print it. */
#ifndef MAFAT_BASE_ERROR_H
#define MAFAT_BASE_ERROR_H

#include "include/mafat.h"

/* Formats one line for the sink, which may be NULL. */
void mafat_warn(const struct mafat_warning_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
