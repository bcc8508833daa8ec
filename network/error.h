/* Error codes and the one-line diagnostic that every reader fills.
 *
 * A function that can fail returns MAFAT_OK or one of the negative codes; what
 * a person needs to know (file, line, what was expected, what was found) goes
 * into the caller's struct mafat_diagnostic. Only the programs' main files
 * print it. */
#ifndef MAFAT_NETWORK_ERROR_H
#define MAFAT_NETWORK_ERROR_H

#include <stdbool.h>
#include <stddef.h>

enum {
  MAFAT_OK = 0,
  MAFAT_ENOMEM = -1,       /* the system refused memory */
  MAFAT_EIO = -2,          /* a file could not be opened, read or written */
  MAFAT_EFORMAT = -3,      /* a file's content is damaged or inconsistent */
  MAFAT_EUNSUPPORTED = -4, /* well-formed, but not something this build runs */
  MAFAT_ELIMIT = -5,       /* a plan or size exceeds a limit or the budget */
  MAFAT_EINVAL = -6        /* an argument or option makes no sense */
};

struct mafat_diagnostic {
  char text[512];
};

/* Receives warnings: text is one line without a newline. NULL is "nobody". */
struct mafat_warning_sink {
  void (*warn)(void *context, const char *text);
  void *context;
};

/* A short English name for a code; never NULL, also for unknown codes. */
const char *mafat_error_name(int code);

/* Formats into d (which may be NULL) and returns code, so that a reader can
 * say `return mafat_fail(d, MAFAT_EFORMAT, "...", ...)`. */
int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void mafat_warn(const struct mafat_warning_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
