/* Filling the diagnostics of the public header.
 *
 * A function that can fail returns MAFAT_OK or one of the negative codes; what
 * a person needs to know (file, line, what was expected, what was found) goes
 * into the caller's struct mafat_diagnostic. Only the programs' main files
 * print it. */
#ifndef MAFAT_NETWORK_ERROR_H
#define MAFAT_NETWORK_ERROR_H

#include "include/mafat.h"

/* Formats into d (which may be NULL) and returns code, so that a reader can
 * say `return mafat_fail(d, MAFAT_EFORMAT, "...", ...)`. */
int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Formats one line for the sink, which may be NULL. */
void mafat_warn(const struct mafat_warning_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
