/* A text file read whole: cfg files, lists of labels. */
#ifndef MAFAT_BASE_TEXT_FILE_H
#define MAFAT_BASE_TEXT_FILE_H

#include "base/model_source.h"

/* Reads at most max_bytes into *text, which gets a NUL behind its *bytes bytes
 * and is the caller's to free. `what` says in messages what was expected: "a
 * cfg file". Pipes are read to their end. MAFAT_EIO, MAFAT_ENOMEM;
 * MAFAT_EFORMAT: longer than max_bytes. *text is NULL after a failure. */
int mafat_text_file_read(const char *path, const char *what, size_t max_bytes, char **text,
                         size_t *bytes, struct mafat_diagnostic *d);
/* The same of a source, from its beginning. */
int mafat_text_source_read(const struct mafat_model_source *source, const char *what, size_t max_bytes, char **text,
                           size_t *bytes, struct mafat_diagnostic *d);

#endif
