/* Fills the diagnostics of the public header and formats warnings.
 *
 * A function that can fail returns MAFAT_OK or a negative code. The text for a person (file, line,
 * expected, found) goes into the caller's struct mafat_diagnostic, so that a function can write
 * `return mafat_fail(d, MAFAT_EFORMAT, "...", ...)`. Only programs print it. mafat_fail is declared
 * in include/mafat.h.
 *
 * Included by nearly all folders. Allocates nothing and prints nothing. */
#ifndef MAFAT_BASE_ERROR_H
#define MAFAT_BASE_ERROR_H

#include "include/mafat.h"

/* Formats one line and passes it to the sink, which may be NULL. */
void mafat_warn(const struct mafat_warning_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
