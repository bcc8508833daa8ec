/* The secret that callers have to show. */
#ifndef MAFAT_PROGRAM_SERVE_TOKEN_H
#define MAFAT_PROGRAM_SERVE_TOKEN_H

#include "include/mafat.h"

enum { MAFAT_TOKEN_ROOM = 513, MAFAT_TOKEN_LEAST = 8 }; /* a longer one does not fit into a request's head beside others */

/* The first line of the file, or, path NULL, what the environment has as MAFAT_SERVE_TOKEN, and has no longer then. "": there is
 * none. MAFAT_EIO, MAFAT_EINVAL: it is too short or long, or holds what cannot be sent. */
int mafat_token_read(char token[MAFAT_TOKEN_ROOM], const char *path, struct mafat_diagnostic *d);

#endif
