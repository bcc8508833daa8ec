/* Reads a text file, such as a cfg, into one string. Included by formats/darknet/cfg.c. Allocates
 * the text; drops the file from the page cache. */
#ifndef MAFAT_BASE_TEXT_FILE_H
#define MAFAT_BASE_TEXT_FILE_H

#include "base/model_source.h"

/* Reads a file from its beginning, or a pipe to its end, into *text, which ends with a NUL after
 * *bytes bytes; the caller frees it. `what` names the expected content in messages: "a cfg file".
 * Returns MAFAT_EIO, MAFAT_ENOMEM, or MAFAT_EFORMAT if the text is longer than max_bytes. *text is
 * NULL after a failure. */
int mafat_text_source_read(const struct mafat_model_source *source, const char *what,
                           size_t max_bytes, char **text, size_t *bytes,
                           struct mafat_diagnostic *d);

#endif
